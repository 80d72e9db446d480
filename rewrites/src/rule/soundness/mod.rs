//! Checks one rule by itself: proves it, or tests both sides on many values at each dtype.
//!
//! Rules over scalar integers and bools are decided for all values by [`proof`](crate::rule::proof). All
//! other rules, and undecided ones, are tested. A *case* is one combination of dtypes, shapes and
//! attributes. Each case is tested on:
//!
//! - special values (both zeros, infinities, NaN, the ends of ranges) and ordinary ones, in all
//!   combinations up to a limit; all values where the variables have 16 bits together;
//! - for each variable, the rule's constants and their neighbours, the sums, differences, products,
//!   quotients and inverses of two constants, and integers that floats can't represent;
//! - random values from a fixed seed;
//! - boundary values (`boundaries.rs`) and values from a local search (`satisfy.rs`), for elementwise rules
//!   that are not proved.
//!
//! Values that violate a condition are skipped. Each case first gets a few values; the rest of the budget is
//! spread over all cases. The verdict lists everything that was left out.
//!
//! Variables get different shapes where an op is not elementwise or where the template drops an operand. Each
//! axis takes the extents 0 to 3, and those at which the rule's integers may make a difference
//! (`integers.rs`); pairs of axes take combinations of these (`extent_pairs.rs`). Integers that index arrays
//! are drawn from the positions. A case is tested if the driver applies the rule at some types of its shapes,
//! with constant, symbolic or unknown extents (`dynamic.rs`).
//!
//! Rules on arrays are tested on large arrays too: longer than every block of a blocked reduction, with
//! elements of such different magnitudes that the order of a sum shows. At each rank each axis is longer than
//! 8 bits can count; for rules with terms of 8 or 16 bits also longer than 16 bits can count
//! (`long_axes.rs`). The verdict names the extents that were tried (`tried_extents.rs`).
//!
//! Liberties define when two results agree:
//!
//! - none: equal bits, where all NaNs are equal;
//! - `no_nan`, `no_inf`: the same, on values for which no operand and no term of the pattern is NaN, or
//!   infinite;
//! - `no_signed_zeros`, and `approximate`: zeros of either sign are equal;
//! - `contract`, `reciprocal`: one rounding error for each operation, in units of the largest term of either
//!   side;
//! - `reassociate`: the same, where a reduction counts as one operation for each element, and terms are as
//!   large as without cancellation;
//! - `approximate`: 4096 units of the largest term.
//!
//! With the last three, values for which a term of finite operands overflows or underflows are skipped: the
//! order of operations shows there. A NaN on one side only is a difference. So is an infinity that is a
//! constant, or that a division by zero yields. The verdict counts the values that liberties exclude.
//!
//! Where the pattern fails (an integer power with a negative exponent), the template may do anything. Where
//! the pattern does not fail, the template must not fail.

pub(crate) mod attrs;
pub(crate) mod cases;
pub(crate) mod dynamic;
pub(crate) mod extent_cases;

mod assertion;
mod batch;
mod boundaries;
mod counterexample;
mod dtypes;
mod extent_pairs;
mod integers;
mod judgement;
mod long_axes;
mod ordinal;
mod points;
mod positions;
mod random_values;
mod range;
mod remedy;
mod sample;
mod satisfy;
mod search;
mod trial;
mod tried_extents;

pub use assertion::assert_rules_hold;
pub use counterexample::Counterexample;
pub use judgement::{Judgement, judge};
pub use remedy::missing_liberties;

use super::typing::is_elementwise;
use super::{DTypes, Rule};
use search::check_one;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use tried_extents::TriedExtents;

/// The result of checking a rule.
#[derive(Clone, Debug)]
pub struct Soundness {
    /// The number of cases that are proved, or in which both sides were compared.
    pub cases: usize,
    /// The number of other cases for which both sides have the same type: no values were found for them.
    pub valueless: usize,
    /// The number of values that were left out because a term is NaN or infinite.
    pub special: usize,
    /// The number of values that were left out because a term overflows or underflows.
    pub lossy: usize,
    /// The number of combinations of values on which both sides were compared.
    pub points: usize,
    /// The number of cases that are proved, or were tested exhaustively.
    pub proved: usize,
    /// Values for which the sides differ.
    pub counterexample: Option<Counterexample>,
    /// The kinds of values and cases that were not tested, one clause each; empty for a proved rule.
    pub not_tried: Vec<String>,
    /// The variables whose dtypes are narrower than the rule says, with the dtypes for which both sides have
    /// the same type.
    pub narrowed: Vec<(String, DTypes)>,
    /// The dtypes of the variables for which both sides have the same type, if they are others than the rule
    /// says.
    pub only: DTypes,
}

/// The verdict on a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It holds for all values at each dtype.
    Proved,
    /// It held on all values that were tested.
    Held,
    /// A counterexample was found.
    Unsound,
    /// No values to test it on were found.
    Untried,
}

impl Soundness {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match self.counterexample {
            Some(_) => Verdict::Unsound,
            // A rule whose conditions exclude all values holds vacuously, and is never applied.
            None if self.points == 0 => Verdict::Untried,
            None if self.proved == self.cases && self.not_tried.is_empty() => Verdict::Proved,
            None => Verdict::Held,
        }
    }
}

/// One line: `proved for all values of 1 case, at bool only`,
/// `held on 12 cases, 3400 values (not tried: ...)`, `unsound: ?x = -0.0 of f64: ...`, or `untried`.
impl fmt::Display for Soundness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cases = if self.cases == 1 { "case" } else { "cases" };
        match (self.verdict(), &self.counterexample) {
            (Verdict::Proved, _) => match self.only == DTypes::none() {
                true => write!(f, "proved for all values of {} {cases}", self.cases),
                false => write!(f, "proved for all values of {} {cases}, at {} only", self.cases, self.only),
            },
            (Verdict::Held, _) => {
                write!(f, "held on {} {cases}, {} values", self.cases, self.points)?;
                if self.proved > 0 {
                    write!(f, ", {} of them proved", self.proved)?;
                }
                match &self.not_tried[..] {
                    [] => Ok(()),
                    not_tried => write!(f, " (not tried: {})", not_tried.join("; ")),
                }
            }
            (Verdict::Unsound, Some(example)) => write!(f, "unsound: {example}"),
            _ => f.write_str(
                "untried: no values were found that satisfy its conditions and for which the pattern can be computed",
            ),
        }
    }
}

/// Checks a few choices of a rule, each in a thread.
fn check_each(choices: &[Rule]) -> Vec<(Soundness, TriedExtents)> {
    if let [only] = choices {
        return vec![check_one(only)];
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = choices.iter().map(|choice| scope.spawn(|| check_one(choice))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Checks a rule, for each choice of its op variables and for several numbers of rest operands.
pub fn check(rule: &Rule) -> Soundness {
    let (mut found, mut tried) = check_one(rule);
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let mut ahead = VecDeque::new();
    for (number, choice) in rule.choices.iter().enumerate() {
        if found.counterexample.is_some() || found.points == 0 {
            break;
        }
        if ahead.is_empty() {
            let end = rule.choices.len().min(number + threads);
            ahead.extend(check_each(&rule.choices[number..end]));
        }
        let Some((more, tried_more)) = ahead.pop_front() else { break };
        tried.restrict(tried_more);
        found.cases += more.cases;
        found.valueless += more.valueless;
        found.special += more.special;
        found.lossy += more.lossy;
        found.proved += more.proved;
        found.only = more.only.iter().fold(found.only, DTypes::with);
        // An op choice without test values leaves the whole rule untried.
        let is_untried = more.points == 0 && choice.choice.lengths == rule.choice.lengths;
        found.points = if is_untried { 0 } else { found.points + more.points };
        found.counterexample = more.counterexample;
        let new: Vec<String> = more.not_tried.into_iter().filter(|what| !found.not_tried.contains(what)).collect();
        found.not_tried.extend(new);
    }
    if !is_elementwise(rule) && found.counterexample.is_none() {
        found.not_tried.extend(tried.not_tried());
    }
    if rule.has_rests() && found.counterexample.is_none() {
        found.not_tried.push("more operands".to_string());
    }
    let counted = [
        (found.valueless, "cases without values: the pattern fails, or a condition or a liberty excludes those drawn"),
        (found.special, "values for which a term is NaN or infinite"),
        (found.lossy, "values for which a term overflows or underflows"),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    found.not_tried.extend(counted.map(|(count, what)| format!("{count} {what}")));
    found
}

impl Default for Soundness {
    fn default() -> Self {
        let (not_tried, narrowed) = Default::default();
        let (cases, valueless, special, lossy) = Default::default();
        Soundness {
            cases,
            valueless,
            special,
            lossy,
            points: 0,
            proved: 0,
            counterexample: None,
            not_tried,
            narrowed,
            only: DTypes::none(),
        }
    }
}
