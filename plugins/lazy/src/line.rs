//! Constructors as tables: every constructor is a function of one number.
//!
//! An `iota` is one of its position, `eye` and `tri` are of how far a position is above the diagonal,
//! `full` is of nothing. That number grows by a constant with each step along an axis, of an index map of
//! it as well. So a table of what the function gives between the lowest and the highest number, read with
//! strides, is the array: n + m - 1 elements are any view of an n by m `eye`. The number of `delta` counts
//! how far each position is from the one before, in digits wide enough that only equal positions make 0: a
//! delta of rank 3 is a table of some 2 n * n elements.

use crate::expr::{LazyExpr, span};
use crate::input::Input;
use rewright::{DType, Scalar};
use smallvec::SmallVec;

/// A constructor seen through a map, as a function of one number.
pub struct Line<'a> {
    input: &'a Input,
    /// The lowest number.
    low: i128,
    /// The highest number.
    high: i128,
    /// The number at the first element.
    first: i128,
    /// What a step along each axis adds.
    steps: SmallVec<[i128; 4]>,
}

impl<'a> Line<'a> {
    /// The expression as such a function. `None` if it reads an array, or the numbers are too large.
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

    /// The number at the first element.
    pub fn number(&self) -> i128 {
        self.first
    }

    /// The lowest number.
    pub fn low(&self) -> i128 {
        self.low
    }

    /// The highest number.
    pub fn high(&self) -> i128 {
        self.high
    }

    /// The place of the first element in the table.
    pub fn first(&self) -> i128 {
        self.first - self.low
    }

    /// How far apart neighbours along each axis are in the table.
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

/// What a step along each axis of a constructor adds to its number.
fn weights(input: &Input) -> Option<SmallVec<[i128; 2]>> {
    match input {
        Input::Var { .. } => None,
        Input::Full(_) => Some(SmallVec::new()),
        Input::Iota { .. } => Some(SmallVec::from_slice(&[1])),
        Input::Eye(_) | Input::Tri(_) => Some(SmallVec::from_slice(&[-1, 1])),
        Input::Delta { shape, .. } => {
            // How far positions `n` and `n + 1` are apart is a digit; each one counts more than all after
            // it can come to.
            let mut weights: SmallVec<[i128; 2]> = SmallVec::from_elem(0, shape.len());
            let mut place: i128 = 1;
            for (n, pair) in shape.windows(2).enumerate().rev() {
                weights[n] += place;
                weights[n + 1] -= place;
                let apart = i128::from(pair[0].max(pair[1]).saturating_sub(1));
                // The first digit may come to anything.
                place = if n == 0 { place } else { place.checked_add(place.checked_mul(apart)?)? };
            }
            Some(weights)
        }
    }
}
