//! Example arguments: small values that are the same in every run, for a call without `--arg`.

use crate::value::ValueSpec;
use rewright::{DType, Dim, Function, Name, Type};
use std::collections::HashMap;
use std::str::FromStr;

/// The most elements that are written out. Larger arrays are `random:`.
const MOST_ELEMENTS: usize = 16;

/// Integers are 1, 2, 3, and again: valid divisors, and valid positions along an axis of 4.
const CYCLE: usize = 3;

/// Writes example arguments, in the form of `--arg`.
#[derive(Default)]
pub struct ExampleArgs {
    /// The extent of symbols that have none, and of dims `?`.
    extent: usize,
    /// The extents of symbols.
    symbols: HashMap<Name, usize>,
}

impl ExampleArgs {
    /// The extents of a call that is shown.
    pub fn small() -> ExampleArgs {
        ExampleArgs { extent: 4, ..ExampleArgs::default() }
    }

    /// The extents of a call that is measured: of about ten thousand elements, if the rank is at most 2.
    pub fn large(func: &Function) -> ExampleArgs {
        let rank = func.params().iter().map(|&param| func.ty(param).rank()).max().unwrap_or(0);
        let extent = match rank {
            0 | 1 => 10_000,
            2 => 100,
            _ => 20,
        };
        ExampleArgs { extent, ..ExampleArgs::default() }
    }

    /// Takes the extents of symbols from an argument that is given.
    pub fn bind(&mut self, ty: &Type, shape: &[usize]) {
        if ty.is_array() {
            for (dim, &extent) in ty.dims().iter().zip(shape) {
                if let Dim::Sym(name) = dim {
                    self.symbols.insert(*name, extent);
                }
            }
        }
    }

    /// The text of an argument for a parameter, by its index and its type.
    pub fn text(&self, index: usize, ty: &Type) -> String {
        let dtype = ty.dtype();
        if ty.is_scalar() {
            return element(dtype, index);
        }
        let extent = |dim: &Dim| match dim {
            Dim::Const(extent) => *extent as usize,
            Dim::Sym(name) => self.symbols.get(name).copied().unwrap_or(self.extent),
            Dim::Any => self.extent,
        };
        let shape: Vec<usize> = ty.dims().iter().map(extent).collect();
        let is_small = shape.iter().try_fold(1_usize, |len, n| len.checked_mul(*n)).is_some_and(|n| n <= MOST_ELEMENTS);
        if is_small && ty.style().is_none() {
            return list(dtype, &shape, &mut 0);
        }
        let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
        let range = if dtype.is_float() || dtype.is_complex() || dtype == DType::Bool { "" } else { ":1..4" };
        format!("random:{dtype}[{}]{range}", shape.join(", "))
    }

    /// The value of a parameter.
    pub fn value(&self, index: usize, ty: &Type) -> Option<ValueSpec> {
        ValueSpec::from_str(&self.text(index, ty)).ok()
    }
}

/// A nested list of consecutive elements.
fn list(dtype: DType, shape: &[usize], next: &mut usize) -> String {
    let Some((&extent, inner)) = shape.split_first() else {
        *next += 1;
        return element(dtype, *next - 1);
    };
    let items: Vec<String> = (0..extent).map(|_| list(dtype, inner, next)).collect();
    format!("[{}]", items.join(", "))
}

/// The element at a position.
fn element(dtype: DType, at: usize) -> String {
    match dtype {
        DType::Bool => at.is_multiple_of(2).to_string(),
        dtype if dtype.is_float() || dtype.is_complex() => (at + 1).to_string(),
        _ => (at % CYCLE + 1).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(dtype: DType, dims: &[Dim]) -> Type {
        Type::array(dtype, dims.to_vec())
    }

    #[test]
    fn values_count_from_one() {
        let mut examples = ExampleArgs::small();
        let n = Dim::Sym(Name::new("n"));
        assert_eq!(examples.text(0, &array(DType::F64, &[n])), "[1, 2, 3, 4]");
        assert_eq!(examples.text(0, &array(DType::I8, &[Dim::Any])), "[1, 2, 3, 1]");
        assert_eq!(examples.text(0, &array(DType::Bool, &[Dim::Const(2), Dim::Const(1)])), "[[true], [false]]");
        assert_eq!(examples.text(1, &Type::scalar(DType::F32)), "2");
        assert_eq!(examples.text(0, &array(DType::F64, &[])), "1");
        assert_eq!(examples.text(0, &array(DType::I64, &[n, n, n])), "random:i64[4, 4, 4]:1..4");
        examples.bind(&array(DType::F64, &[n]), &[2]);
        assert_eq!(examples.text(0, &array(DType::F64, &[n, Dim::Const(1)])), "[[1], [2]]");
    }
}
