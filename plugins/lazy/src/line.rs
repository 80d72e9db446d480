//! Constructors as tables: every constructor is a function of one number, a linear form in the position.
//!
//! The form of `iota` is the position, that of `eye` and `tri` the distance above the diagonal, and that
//! of `full` a constant. An index map composes with the form, so the form stays linear in the index of
//! the result. A table of the function, from the lowest to the highest value of the form, read with
//! strides, is the array: n + m - 1 elements represent any view of an n by m `eye`.
//!
//! The form of `delta` has the differences of neighbouring positions as digits, wide enough that only
//! equal positions give 0. A delta of rank 3 needs a table of about 2 n * n elements.

use crate::expr::{LazyExpr, span};
use crate::input::Input;
use rewright::{DType, Scalar};
use smallvec::SmallVec;

/// A constructor under an index map, as a function of a linear form.
pub struct Line<'a> {
    input: &'a Input,
    /// The lowest value of the form.
    low: i128,
    /// The highest value of the form.
    high: i128,
    /// The value of the form at the first element.
    first: i128,
    /// The coefficient of each axis.
    steps: SmallVec<[i128; 4]>,
}

impl<'a> Line<'a> {
    /// The expression as such a function; `None` if it reads an array, or the form overflows.
    pub fn of(expr: &'a LazyExpr) -> Option<Line<'a>> {
        let weights = weights(expr.input())?;
        let sum = |steps: &[i128]| {
            steps
                .iter()
                .zip(&weights)
                .try_fold(0i128, |sum, (step, weight)| sum.checked_add(step.checked_mul(*weight)?))
        };
        let first = sum(expr.start())?;
        let steps: SmallVec<[i128; 4]> = expr.axes().iter().map(|axis| sum(&axis.steps)).collect::<Option<_>>()?;
        let (low, high) = span(first, expr.axes().iter().map(|axis| axis.extent).zip(steps.iter().copied()))?;
        Some(Line { input: expr.input(), low, high, first, steps })
    }

    /// The number of elements of the table.
    pub fn len(&self) -> u128 {
        self.high.abs_diff(self.low).saturating_add(1)
    }

    /// The value of the form at the first element.
    pub fn number(&self) -> i128 {
        self.first
    }

    /// The lowest value of the form.
    pub fn low(&self) -> i128 {
        self.low
    }

    /// The highest value of the form.
    pub fn high(&self) -> i128 {
        self.high
    }

    /// The index of the first element in the table.
    pub fn first(&self) -> i128 {
        self.first - self.low
    }

    /// The stride of each axis in the table.
    pub fn steps(&self) -> &[i128] {
        &self.steps
    }

    /// An element of the table.
    pub fn at(&self, place: usize) -> Scalar {
        let number = self.low + place as i128;
        let one_if = |holds: bool| Scalar::Bool(holds).cast(self.dtype());
        match self.input {
            Input::Full(value) => *value,
            Input::Eye(matrix) => one_if(number == i128::from(matrix.offset)),
            Input::Tri(matrix) => one_if(number <= i128::from(matrix.offset)),
            Input::Delta { .. } => one_if(number == 0),
            Input::Iota { dtype, .. } | Input::Var { dtype, .. } => Scalar::I64(number as i64).cast(*dtype),
        }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.input.dtype()
    }
}

/// The coefficient of each axis of a constructor in its form.
fn weights(input: &Input) -> Option<SmallVec<[i128; 2]>> {
    match input {
        Input::Var { .. } => None,
        Input::Full(_) => Some(SmallVec::new()),
        Input::Iota { .. } => Some(SmallVec::from_slice(&[1])),
        Input::Eye(_) | Input::Tri(_) => Some(SmallVec::from_slice(&[-1, 1])),
        Input::Delta { shape, .. } => {
            // The difference of positions `n` and `n + 1` is a digit. Its place value exceeds the
            // greatest sum of all lower digits.
            let mut weights: SmallVec<[i128; 2]> = SmallVec::from_elem(0, shape.len());
            let mut place: i128 = 1;
            for (n, pair) in shape.windows(2).enumerate().rev() {
                weights[n] += place;
                weights[n + 1] -= place;
                let apart = i128::from(pair[0].max(pair[1]).saturating_sub(1));
                // No digit is above the first one, so its range does not matter.
                place = if n == 0 { place } else { place.checked_add(place.checked_mul(apart)?)? };
            }
            Some(weights)
        }
    }
}
