//! A difference between the results of two forms of a function.

use super::compare::{Slack, compare_with};
use crate::rule::Liberties;
use crate::rule::liberties::TOLERANCE;
use rewright_ir::eval::Floats;
use rewright_ir::{DType, Datum, EvalError, Name, Outcome};
use std::fmt;

/// The result of a call.
pub(super) type Ended = Result<Outcome, EvalError>;

/// An input for which two forms of a function give different results.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The function.
    pub function: Name,
    /// The first difference.
    pub what: String,
    /// The arguments, by the names of the parameters.
    pub input: Vec<(String, Datum)>,
    /// The result of the call before.
    pub before: Result<Outcome, EvalError>,
    /// The result of the call after.
    pub after: Result<Outcome, EvalError>,
    /// The function before and after, as text.
    pub forms: [String; 2],
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`@{}` computes something else: {}", self.function, self.what)?;
        match &self.input[..] {
            [] => write!(f, "\nit has no parameters")?,
            input => {
                write!(f, "\nfor the input")?;
                input.iter().try_for_each(|(name, datum)| shown(f, name, datum))?;
            }
        }
        write!(f, "\nbefore:")?;
        ended(f, &self.before)?;
        write!(f, "\nafter:")?;
        ended(f, &self.after)
    }
}

fn ended(f: &mut fmt::Formatter<'_>, ended: &Ended) -> fmt::Result {
    match ended {
        Err(e) => write!(f, "\n  error: {e}"),
        Ok(outcome) => {
            for (i, result) in outcome.results.iter().enumerate() {
                shown(f, &format!("result {i}"), result)?;
            }
            outcome.printed.iter().try_for_each(|line| write!(f, "\n  prints {line}"))
        }
    }
}

fn shown(f: &mut fmt::Formatter<'_>, name: &str, datum: &Datum) -> fmt::Result {
    let start = format!("  {name}: {} = ", datum.ty());
    let indent = format!("\n{}", " ".repeat(start.chars().count()));
    write!(f, "\n{start}{}", datum.to_string().replace('\n', &indent))
}

/// Products of two smaller numbers do not overflow, at any dtype.
const OVERFLOWING: f64 = 1.8e19;

/// The differences that are allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub ulp: u64,
    pub liberties: Liberties,
}

impl Allowed {
    /// True if the first form met numbers that the liberties exclude.
    pub fn leaves_out(self, floats: Floats) -> bool {
        let liberties = self.liberties;
        liberties.contains(Liberties::NO_NAN) && floats.nan
            || (liberties.contains(Liberties::NO_INF) || liberties.changes_rounding()) && floats.infinite
    }

    /// True if the second form overflowed, as another order of operations may on operands as large as those
    /// that the first form met.
    fn overflows(self, [first, second]: [Floats; 2]) -> bool {
        let may_overflow = self.liberties.changes_rounding() && first.largest > OVERFLOWING;
        may_overflow && (second.infinite || second.nan) && !first.infinite && !first.nan
    }

    /// The allowed difference of a value, given the floats that the first form met; `None` if the value
    /// can't be compared.
    fn slack(self, value: &Datum, floats: Floats) -> Option<Slack> {
        let rounds = self.liberties.changes_rounding();
        let inexact = value.dtype().is_float() || value.dtype().is_complex();
        // Other rounding may change the result of a comparison of floats arbitrarily.
        if rounds && !inexact && floats != Floats::default() {
            return None;
        }
        let unit = match value.dtype() {
            DType::F32 | DType::C64 => f32::EPSILON as f64,
            _ => f64::EPSILON,
        };
        let absolute = if rounds { TOLERANCE * unit * floats.largest } else { 0.0 };
        let zeros = self.liberties.intersects(Liberties::NO_SIGNED_ZEROS | Liberties::APPROXIMATE);
        Some(Slack { absolute, zeros })
    }
}

/// The first difference; `None` if there is none. `floats` are those that each form met.
pub(super) fn differs(before: &Ended, after: &Ended, floats: [Floats; 2], allowed: Allowed) -> Option<String> {
    if allowed.overflows(floats) {
        return None;
    }
    let (before, after) = match (before, after) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(b), Err(a)) if b.kind == a.kind => return None,
        (Err(b), Err(a)) => return Some(format!("it ended with the error \"{b}\", now with \"{a}\"")),
        (Ok(_), Err(a)) => return Some(format!("now it ends with an error: {a}")),
        (Err(b), Ok(_)) => return Some(format!("it ended with an error, and now it does not: {b}")),
    };
    if before.results.len() != after.results.len() {
        return Some(format!("{} results, not {}", after.results.len(), before.results.len()));
    }
    let all = |a: &[Datum], b: &[Datum], what: &str| {
        let compare = |(a, b): (&Datum, &Datum)| match allowed.slack(a, floats[0]) {
            Some(slack) => compare_with(a, b, allowed.ulp.into(), slack),
            None => Ok(()),
        };
        let mut compared = a.iter().zip(b).map(compare).enumerate();
        compared.find_map(|(i, r)| r.err().map(|m| format!("{what} {i}: {m}")))
    };
    let results = all(&before.results, &after.results, "result");
    let args = || all(&before.args, &after.args, "after the call, argument");
    results.or_else(args).or_else(|| (before.printed != after.printed).then(|| "it prints something else".to_string()))
}
