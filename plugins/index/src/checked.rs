//! Positions that are verified at each element, and the errors at run time that say which one is out of
//! bounds.
//!
//! An `arrayexpr` names the operand, the axis and the position from 0. Translation records the position in
//! the text from which each verified one is made, so the error shows that, and counts as the program does.

use crate::explain::slice;
use crate::ranges::{OUT_OF_BOUNDS, shown_range_of};
use rewright::language::Locate;
use rewright::{Accessed, Diagnostic, Diagnostics, EvalError, Loc, OutOfBounds};

/// A position that is verified at each element.
#[derive(Clone, Debug)]
pub(crate) struct CheckedPosition {
    /// The operand or the result.
    pub accessed: Accessed,
    /// The array's name.
    pub array: String,
    pub axis: usize,
    /// The first index of the dim.
    pub first: i64,
    /// The place of the position.
    pub loc: Loc,
    /// The place of the statement.
    pub statement: Loc,
}

impl CheckedPosition {
    fn fits(&self, found: &OutOfBounds) -> bool {
        let is_same = match (&self.accessed, &found.accessed) {
            // Statements that are computed together have their results in one instruction.
            (Accessed::Result(_), Accessed::Result(_)) => true,
            (own, other) => own == other,
        };
        is_same && self.axis == found.axis
    }
}

/// The positions of a program that are verified at each element. They [locate](Locate) the errors of calls.
#[derive(Clone, Debug)]
pub struct CheckedPositions {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The first index of arrays.
    pub(crate) base: i64,
    pub(crate) positions: Vec<CheckedPosition>,
}

impl Locate for CheckedPositions {
    fn locate(&self, error: &EvalError) -> Diagnostics {
        let mut errors = Diagnostics::new(&self.name, &self.text);
        let unlocated = EvalError { loc: Loc::default(), ..error.clone() };
        let plain = || Diagnostic::new(unlocated.to_string()).at(error.loc);
        errors.push(error.out_of_bounds.as_ref().map_or_else(plain, |found| self.outside(found, error.loc)));
        errors
    }
}

impl CheckedPositions {
    /// The error of a position that is out of bounds, in an instruction of the statement at `loc`.
    fn outside(&self, found: &OutOfBounds, loc: Loc) -> Diagnostic {
        let mut all: Vec<&CheckedPosition> = self.positions.iter().filter(|own| own.fits(found)).collect();
        // The location of an instruction also has the name of an op.
        let is_here = |own: &CheckedPosition| (own.statement.start, own.statement.len) == (loc.start, loc.len);
        if all.iter().any(|own| is_here(own)) {
            all.retain(|own| is_here(own));
        }
        all.dedup_by_key(|own| own.loc);
        let (OutOfBounds { position, axis, extent, .. }, is_write) =
            (found, matches!(found.accessed, Accessed::Result(_)));
        let shown = |first: i64| {
            let at = position + i128::from(first);
            (at, shown_range_of(first, first + *extent as i64 - 1, self.base))
        };
        let error = match all[..] {
            [only] => {
                let (at, range) = shown(only.first);
                let text = slice(&self.text, only.loc);
                let message = format!("`{text}` is at {at}, outside of dim {axis} of `{}` with {range}", only.array);
                Diagnostic::new(message).at(only.loc)
            }
            _ => {
                let (at, range) = shown(all.first().map_or(self.base, |own| own.first));
                let of = match all.first().filter(|own| all.iter().all(|other| other.array == own.array)) {
                    Some(own) => format!(" of `{}`", own.array),
                    None => String::new(),
                };
                Diagnostic::new(format!("a position is {at}, outside of dim {axis}{of} with {range}")).at(loc)
            }
        };
        error.help(OUT_OF_BOUNDS[usize::from(is_write)])
    }
}
