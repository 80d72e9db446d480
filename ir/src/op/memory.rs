//! Memory for the elements of results: an executable gives blocks that earlier calls have left.

use crate::dtype::DType;
use crate::error::EvalError;
use crate::value::{Array, Element};
use ndarray::{ArcArray, IxDyn};

/// Gives memory for elements.
pub trait Memory {
    /// A vector without elements, alone in a buffer that has room for `len`; an error if there is no memory.
    fn vector(&self, dtype: DType, len: usize) -> Result<Array, EvalError>;
}

/// An empty list with room for `len` elements, in memory from `memory` or in new memory. The error says that
/// there is too little. Each page of new memory costs a page fault.
pub fn reserve<T: Element>(memory: Option<&dyn Memory>, len: usize) -> Result<Vec<T>, EvalError> {
    let given = memory.map(|memory| memory.vector(T::DTYPE, len)).transpose()?;
    let mut list = given.and_then(into_list).unwrap_or_default();
    list.try_reserve_exact(len).map_err(|_| EvalError::limit(format!("no memory for {len} elements")))?;
    Ok(list)
}

/// The buffer of a vector, without elements; `None` if somebody else has a share in it.
fn into_list<T: Element>(mut array: Array) -> Option<Vec<T>> {
    let none = ArcArray::from_shape_vec(IxDyn(&[0]), Vec::new()).ok()?;
    let vector = std::mem::replace(T::unwrap_mut(&mut array)?, none);
    let (mut list, _) = vector.try_into_owned_nocopy().ok()?.into_raw_vec_and_offset();
    list.clear();
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives vectors that have room for twice as many.
    struct Twice;

    impl Memory for Twice {
        fn vector(&self, dtype: DType, len: usize) -> Result<Array, EvalError> {
            let list = Vec::<f64>::with_capacity(2 * len);
            assert_eq!(dtype, DType::F64);
            Ok(f64::wrap(ArcArray::from_shape_vec(IxDyn(&[0]), list).unwrap()))
        }
    }

    #[test]
    fn lists_are_in_the_memory_that_is_given() {
        let list: Vec<f64> = reserve(Some(&Twice), 10).unwrap();
        assert_eq!((list.len(), list.capacity()), (0, 20));
        assert_eq!(reserve::<i64>(None, 10).unwrap().capacity(), 10);
        assert!(reserve::<f64>(None, usize::MAX / 8).is_err());
    }
}
