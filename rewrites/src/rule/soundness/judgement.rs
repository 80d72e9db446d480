//! A verdict as it is shown and kept: words instead of values.

use super::{Verdict, check, missing_liberties};
use crate::rule::{Liberties, Rule};
use serde::{Deserialize, Serialize};

/// What there is to say of a rule's soundness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict with how much was tried, or with the counterexample: [`Soundness`](super::Soundness) as
    /// text.
    pub summary: String,
    /// Notes beside it.
    pub notes: Vec<String>,
    /// The names of all liberties with which an unsound rule holds, if three more do.
    pub remedy: Option<String>,
}

/// Tries a rule, and looks for a remedy if it is unsound.
pub fn judge(rule: &Rule) -> Judgement {
    let found = check(rule);
    let narrowed = found.narrowed.iter().map(|(var, dtypes)| {
        format!("both sides have one type at ?{var} of {dtypes} only: the rule is applied at no other dtype")
    });
    let verdict = found.verdict();
    let remedy = match verdict {
        Verdict::Unsound => missing_liberties(rule).map(|more| (more | rule.liberties).to_string()),
        _ => None,
    };
    Judgement { verdict, summary: found.to_string(), notes: narrowed.collect(), remedy }
}

impl Judgement {
    /// True if the rule may be used.
    pub fn is_good(&self) -> bool {
        matches!(self.verdict, Verdict::Proved | Verdict::Held)
    }

    /// What would make an unsound rule hold.
    pub fn advice(&self, liberties: Liberties) -> String {
        match &self.remedy {
            Some(remedy) => format!("it holds with `liberties [{remedy}]`"),
            None if liberties == Liberties::all() => "it takes all liberties".to_string(),
            None => "no liberties make it hold".to_string(),
        }
    }
}
