//! Elementwise application, with NumPy's broadcasting.

use crate::dtype::DType;
use crate::error::EvalError;
use crate::op::EvalCx;
use crate::op::{Loop, ResolveLoop, ScalarFn};
use crate::scalar::{Scalar, Scalars};
use crate::value::Elements;
use crate::value::{Array, Datum};
use smallvec::SmallVec;

/// NumPy's broadcast of shapes, aligned at the last axis. `None` if they don't broadcast.
pub fn broadcast_shapes<'a>(shapes: impl IntoIterator<Item = &'a [usize]>) -> Option<Vec<usize>> {
    let mut out: Vec<usize> = Vec::new();
    for shape in shapes {
        if shape.len() > out.len() {
            out.splice(0..0, std::iter::repeat_n(1, shape.len() - out.len()));
        }
        let skip = out.len() - shape.len();
        for (have, &n) in out[skip..].iter_mut().zip(shape) {
            match (*have, n) {
                (a, b) if a == b => {}
                (1, b) => *have = b,
                (_, 1) => {}
                _ => return None,
            }
        }
    }
    Some(out)
}

/// The source of an operand's elements while the result is traversed in row-major order.
enum ElementReader<'a> {
    Scalar(Scalar),
    Array { elements: Elements<'a>, to: DType, strides: SmallVec<[usize; 4]>, offset: usize },
}

impl<'a> ElementReader<'a> {
    fn new(arg: &'a Datum, to: DType, shape: &[usize]) -> Result<Self, EvalError> {
        let array = match arg {
            Datum::Scalar(s) => return Ok(ElementReader::Scalar(s.cast(to))),
            Datum::Array(array) => array,
            Datum::Styled(s) => return Err(EvalError::unsupported(format!("reads dense arrays, got {}", s.ty()))),
        };
        let (elements, strides) = (Elements::of(array), broadcast_strides(array, shape));
        Ok(ElementReader::Array { elements, to, strides, offset: 0 })
    }

    #[inline]
    fn read(&self) -> Scalar {
        match self {
            ElementReader::Scalar(s) => *s,
            ElementReader::Array { elements, to, offset, .. } => elements.at(*offset).cast(*to),
        }
    }

    #[inline]
    fn step(&mut self, axis: usize) {
        if let ElementReader::Array { strides, offset, .. } = self {
            *offset += strides[axis];
        }
    }

    fn rewind(&mut self, axis: usize, extent: usize) {
        if let ElementReader::Array { strides, offset, .. } = self {
            *offset -= strides[axis] * extent;
        }
    }
}

/// The row-major strides of an array broadcast to `shape`: 0 along stretched axes.
fn broadcast_strides(array: &Array, shape: &[usize]) -> SmallVec<[usize; 4]> {
    let own = array.shape();
    let skip = shape.len() - own.len();
    let mut strides: SmallVec<[usize; 4]> = SmallVec::from_elem(0, shape.len());
    let mut stride = 1;
    for axis in (0..own.len()).rev() {
        strides[skip + axis] = if own[axis] == 1 { 0 } else { stride };
        stride *= own[axis];
    }
    strides
}

/// Applies an elementwise op.
pub(super) fn apply(
    cx: &EvalCx<'_>,
    resolve: ResolveLoop,
    scalar: ScalarFn,
    args: &[Datum],
) -> Result<Vec<Datum>, EvalError> {
    let dtypes: SmallVec<[DType; 3]> = args.iter().map(Datum::dtype).collect();
    let found = resolve(&dtypes, cx.attrs).map_err(|why| {
        let given: Vec<_> = dtypes.iter().map(DType::to_string).collect();
        EvalError::value(format!("not defined for {}; {why}", given.join(", ")))
    })?;
    map_elements(cx, &found, args, |xs| scalar(xs, cx.attrs))
}

/// Calls `f` with the operands' elements, cast to the loop's dtypes, for every element of the broadcast
/// shape. The results are scalars if all operands are.
pub fn map_elements(
    cx: &EvalCx<'_>,
    dtypes: &Loop,
    args: &[Datum],
    mut f: impl FnMut(&[Scalar]) -> Result<Scalars, EvalError>,
) -> Result<Vec<Datum>, EvalError> {
    if dtypes.ins.len() != args.len() {
        return Err(EvalError::shape(format!("got {} operands for {}", args.len(), dtypes.ins.len())));
    }
    let mut element: SmallVec<[Scalar; 4]> = SmallVec::new();
    if args.iter().all(|a| matches!(a, Datum::Scalar(_))) {
        let read = args.iter().zip(&dtypes.ins).filter_map(|(a, &to)| Some(a.as_scalar()?.cast(to)));
        element.extend(read);
        let results = f(&element)?;
        check_count(&results, dtypes)?;
        return Ok(results.into_iter().map(Datum::Scalar).collect());
    }
    let shape = broadcast_shapes(args.iter().map(Datum::shape))
        .ok_or_else(|| EvalError::shape("the operands' shapes don't broadcast"))?;
    let len = cx.len(&shape)?;
    cx.spend(len as u64)?;
    let mut readers: SmallVec<[ElementReader<'_>; 4]> =
        args.iter().zip(&dtypes.ins).map(|(a, &to)| ElementReader::new(a, to, &shape)).collect::<Result<_, _>>()?;
    let mut outs: SmallVec<[Elements<'_>; 2]> =
        dtypes.outs.iter().map(|&d| Elements::with_capacity(d, len)).collect::<Result<_, _>>()?;
    let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, shape.len());
    for _ in 0..len {
        element.clear();
        element.extend(readers.iter().map(ElementReader::read));
        let results = f(&element)?;
        check_count(&results, dtypes)?;
        for (out, &value) in outs.iter_mut().zip(&results) {
            out.push(value)?;
        }
        advance(&mut readers, &mut index, &shape);
    }
    outs.into_iter().map(|out| out.into_array(&shape).map(Datum::Array)).collect()
}

/// Advances to the next point in row-major order.
#[inline]
fn advance(readers: &mut [ElementReader<'_>], index: &mut [usize], shape: &[usize]) {
    for axis in (0..shape.len()).rev() {
        index[axis] += 1;
        readers.iter_mut().for_each(|r| r.step(axis));
        if index[axis] < shape[axis] {
            return;
        }
        index[axis] = 0;
        readers.iter_mut().for_each(|r| r.rewind(axis, shape[axis]));
    }
}

fn check_count(results: &Scalars, dtypes: &Loop) -> Result<(), EvalError> {
    if results.len() == dtypes.outs.len() {
        return Ok(());
    }
    Err(EvalError::value(format!("computed {} results where {} were expected", results.len(), dtypes.outs.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_as_in_numpy() {
        let shapes = |list: &[&[usize]]| broadcast_shapes(list.iter().copied());
        assert_eq!(shapes(&[&[3, 1], &[4]]), Some(vec![3, 4]));
        assert_eq!(shapes(&[&[0], &[1]]), Some(vec![0]));
        assert_eq!(shapes(&[&[0], &[2]]), None);
        assert_eq!(shapes(&[&[], &[2, 1, 5], &[7, 1]]), Some(vec![2, 7, 5]));
        assert_eq!(shapes(&[]), Some(vec![]));
    }
}
