//! Remedies: sets of liberties with which an unsound rule holds.

use super::trial::{Compared, Trial};
use super::{Counterexample, Verdict, check};
use crate::rule::{Liberties, Rule};
use rewright_ir::{Attr, Datum};

/// The limit on liberties in one suggestion.
const MAX_TOGETHER: u32 = 3;

/// From the weakest liberty to the strongest.
const ALL: [Liberties; 7] = [
    Liberties::NO_SIGNED_ZEROS,
    Liberties::NO_NAN,
    Liberties::NO_INF,
    Liberties::CONTRACT,
    Liberties::RECIPROCAL,
    Liberties::REASSOCIATE,
    Liberties::APPROXIMATE,
];

/// The smallest set of further liberties with which a rule holds, of at most three liberties. Each set is
/// checked in full before it is suggested. A set that does not exclude a known counterexample is skipped.
pub fn missing_liberties(rule: &Rule) -> Option<Liberties> {
    let open: Vec<Liberties> = ALL.into_iter().filter(|&one| !rule.liberties.contains(one)).collect();
    let sets = (1..1u32 << open.len()).filter(|set| set.count_ones() <= MAX_TOGETHER);
    let mut sets: Vec<u32> = sets.filter(|&set| is_sensible(rule, pick(&open, set))).collect();
    // Smaller sets first; among equal sizes, the weaker one.
    sets.sort_by_key(|set| (set.count_ones(), *set));
    let mut examples: Vec<Counterexample> = Vec::new();
    for set in sets {
        let with = |rule: &Rule| Rule { liberties: rule.liberties | pick(&open, set), ..rule.clone() };
        let freer = Rule { choices: rule.choices.iter().map(with).collect(), ..with(rule) };
        if examples.iter().any(|example| remains(&freer, example)) {
            continue;
        }
        let found = check(&freer);
        if matches!(found.verdict(), Verdict::Held | Verdict::Proved) {
            return Some(pick(&open, set));
        }
        match found.counterexample {
            Some(example) => examples.push(example),
            // No values are left to compare, and more liberties leave none either.
            None => continue,
        }
    }
    None
}

fn pick(open: &[Liberties], set: u32) -> Liberties {
    let chosen = open.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
    chosen.fold(Liberties::empty(), |all, (_, &one)| all | one)
}

/// Whether a set is worth a check: at most one liberty about rounding, and none of them for integers.
fn is_sensible(rule: &Rule, more: Liberties) -> bool {
    let rounding = Liberties::CONTRACT | Liberties::RECIPROCAL | Liberties::REASSOCIATE | Liberties::APPROXIMATE;
    let inexact = |var: &crate::rule::Var| var.dtypes.iter().any(|d| d.is_float() || d.is_complex());
    (more & rounding).iter().count() <= 1 && (rule.vars.is_empty() || rule.vars.iter().any(inexact))
}

/// Whether the counterexample stays one with these liberties.
fn remains(rule: &Rule, example: &Counterexample) -> bool {
    let ops = |rule: &&Rule| {
        let chosen = rule.chosen.iter().map(|(name, op)| (name.to_string(), op.to_string()));
        chosen.eq(example.ops.iter().cloned()) && rule.vars.len() == example.vars.len()
    };
    let Some(rule) = rule.all().find(ops) else { return false };
    let point: Vec<Datum> = example.vars.iter().map(|(_, value)| value.clone()).collect();
    let attrs: Vec<Option<Attr>> = example.attrs.iter().map(|(_, attr)| attr.clone()).collect();
    matches!(Trial::new(rule, &attrs, &point).compared(), Compared::Differ(_))
}
