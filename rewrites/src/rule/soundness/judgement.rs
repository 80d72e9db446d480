//! A verdict in words, for output and for the cache.

use super::{Verdict, check, missing_liberties};
use crate::rule::own_result::matches_own_result;
use crate::rule::{Liberties, Rule};
use serde::{Deserialize, Serialize};

/// The verdict on a rule, with its explanation as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict with its evidence: the numbers of cases and values, or the counterexample.
    pub summary: String,
    /// Further notes.
    pub notes: Vec<String>,
    /// The liberties with which an unsound rule holds, if a remedy was found.
    pub remedy: Option<String>,
}

/// Checks a rule, and searches for a remedy if it is unsound.
pub fn judge(rule: &Rule) -> Judgement {
    let found = check(rule);
    let narrowed = found.narrowed.iter().map(|(var, dtypes)| {
        format!("both sides have one type at ?{var} of {dtypes} only: the rule is applied at no other dtype")
    });
    let endless = rule.all().find(|rule| matches_own_result(rule)).map(|_| {
        "the pattern matches in the rule's own result, so that the greedy driver would apply the rule without \
         end: use `~>`, for equality saturation only, or add a condition"
            .to_string()
    });
    let verdict = found.verdict();
    let remedy = match verdict {
        Verdict::Unsound => missing_liberties(rule).map(|more| (more | rule.liberties).to_string()),
        _ => None,
    };
    Judgement { verdict, summary: found.to_string(), notes: narrowed.chain(endless).collect(), remedy }
}

impl Judgement {
    /// Whether the rule may be used.
    pub fn is_good(&self) -> bool {
        matches!(self.verdict, Verdict::Proved | Verdict::Held)
    }

    /// Advice on how to make an unsound rule hold.
    pub fn advice(&self, liberties: Liberties) -> String {
        match &self.remedy {
            Some(remedy) => format!("it holds with `liberties [{remedy}]`"),
            None if liberties == Liberties::all() => "it takes all liberties".to_string(),
            None => "no liberties make it hold".to_string(),
        }
    }
}
