//! Readings: how a kernel reads one operand.

use crate::array::LazyArray;
use crate::input::Input;
use crate::line::Line;
use rewright::{DType, EvalError, Scalar};
use smallvec::SmallVec;

/// Extents of an operand or a result.
pub type Shape = SmallVec<[u64; 4]>;

/// How a kernel reads an operand.
pub struct Reading<'a> {
    /// The element type.
    pub dtype: DType,
    /// The extents. Empty for a scalar: arrays of rank 0 are read as scalars.
    pub shape: Shape,
    pub access: Access<'a>,
}

/// The source of the elements.
pub enum Access<'a> {
    /// A parameter without axes.
    Scalar(Scalar),
    /// A constant of the program.
    Constant(Scalar),
    /// An array with run-time strides. Elementwise ops drop its axes of extent 1.
    Memory(&'a LazyArray),
    /// A scalar parameter, the value of all elements.
    Full(Scalar),
    /// A function of a linear form: `first`, plus the index along each axis times its step.
    Line { element: Element, first: i64, steps: SmallVec<[i64; 4]> },
}

/// The function that a constructor applies to the linear form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// The form itself: `iota`.
    Number,
    /// 1 where the form is 0, else 0: `eye` and `delta`.
    IsZero,
    /// 1 where the form is 0 or less, else 0: `tri`.
    IsNotPositive,
}

impl<'a> Reading<'a> {
    /// The reading of a scalar.
    pub fn scalar(scalar: Scalar) -> Reading<'a> {
        Reading { dtype: scalar.dtype(), shape: Shape::new(), access: Access::Scalar(scalar) }
    }

    /// The reading of an array. `computes` tells whether the kernel computes the elements of a
    /// constructor with these extents inline.
    pub fn of(array: &'a LazyArray, computes: impl FnOnce(&[u64]) -> bool) -> Result<Reading<'a>, EvalError> {
        if let Some(error) = array.error() {
            return Err(error.clone());
        }
        let shape = array.extents();
        if shape.is_empty() {
            let scalar = array.get(&[]).ok_or_else(|| EvalError::index("a scalar operand has no element"))?;
            return Ok(Reading::scalar(scalar));
        }
        let computes = computes(&shape);
        if computes && shape.iter().all(|&extent| extent == 1) {
            let origin: Shape = SmallVec::from_elem(0, shape.len());
            let scalar = array.get(&origin).ok_or_else(|| EvalError::index("an operand has no first element"))?;
            return Ok(Reading { dtype: array.dtype(), shape, access: Access::Full(scalar) });
        }
        let is_computed = computes && array.data().is_none();
        let access = match is_computed.then(|| line(array)).flatten() {
            Some(line) => line,
            None => Access::Memory(array),
        };
        Ok(Reading { dtype: array.dtype(), shape, access })
    }
}

/// A constructor as a function of a linear form; `None` if the form overflows `i64`.
pub fn line<'a>(array: &LazyArray) -> Option<Access<'a>> {
    let expr = array.expr();
    if let Input::Full(value) = expr.input() {
        return Some(Access::Full(*value));
    }
    if expr.is_empty() {
        return Some(Access::Full(Scalar::zero(expr.dtype())));
    }
    let line = Line::of(expr)?;
    let (element, offset) = match expr.input() {
        Input::Iota { .. } => (Element::Number, 0),
        Input::Eye(matrix) => (Element::IsZero, matrix.offset),
        Input::Tri(matrix) => (Element::IsNotPositive, matrix.offset),
        Input::Delta { .. } => (Element::IsZero, 0),
        Input::Full(_) | Input::Var { .. } => return None,
    };
    let fits = |number: i128| i64::try_from(number - i128::from(offset)).ok();
    let (first, _, _) = (fits(line.number())?, fits(line.low())?, fits(line.high())?);
    let steps: SmallVec<[i64; 4]> = line.steps().iter().map(|&step| i64::try_from(step).ok()).collect::<Option<_>>()?;
    match steps.iter().all(|&step| step == 0) {
        true => Some(Access::Full(line.at(usize::try_from(line.first()).ok()?))),
        false => Some(Access::Line { element, first, steps }),
    }
}
