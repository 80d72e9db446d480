//! Wrong rules, each with a counterexample in the comment above it, written against the checker.
//!
//! None is proved. The rules that the checker holds nevertheless are listed here. The list may get shorter,
//! never longer.

use rewright_rewrites::rule::parse_rules;
use rewright_rewrites::rule::soundness::{Verdict, check};

/// The files, and the numbers of the rules that hold on all values that are tried.
const FILES: [(&str, &str, &[u32]); 13] = [
    // Needles in products and remainders of 32 and 64 bits, beyond the solver's limit; powers and `lcm`.
    ("ints", include_str!("unsound/ints.ron"), &[2, 3, 8, 34]),
    ("bools", include_str!("unsound/bools.ron"), &[]),
    ("floats", include_str!("unsound/floats.ron"), &[]),
    ("liberties", include_str!("unsound/liberties.ron"), &[]),
    // Longer arrays than are tried, and a sum of squares that is a certain number.
    ("arrays", include_str!("unsound/arrays.ron"), &[3, 5, 27]),
    // Empty arrays, axes of one element, and extents next to the rule's integers.
    ("extents", include_str!("unsound/extents.ron"), &[]),
    // Positions from either end, and at the ends of narrow dtypes.
    ("positions", include_str!("unsound/positions.ron"), &[]),
    // Templates that fail, or have another shape, where types have symbols or unknown extents.
    ("dynamic", include_str!("unsound/dynamic.ron"), &[]),
    // Combinations of extents: factors, sums and differences of the rule's integers.
    ("combinations", include_str!("unsound/combinations.ron"), &[]),
    // Counts and positions of 8 and 16 bits, at each rank.
    ("long-axes", include_str!("unsound/long-axes.ron"), &[]),
    ("general", include_str!("unsound/general.ron"), &[]),
    // Attributes, ranks, zeros of both signs, and the order of sums.
    ("attributes", include_str!("unsound/attributes.ron"), &[]),
    // A threshold within the tolerance of `approximate`, and intermediate overflow.
    ("mixed", include_str!("unsound/mixed.ron"), &[47, 55, 56, 57]),
];

/// A normal run checks one rule of each eight.
const PART: usize = 8;

#[test]
fn no_wrong_rule_is_proved_and_few_are_held_of_a_part() {
    check_each(PART);
}

#[test]
#[ignore = "a sweep: all wrong rules"]
fn no_wrong_rule_is_proved_and_few_are_held() {
    check_each(1);
}

/// Checks the first one of each `step` rules of each file.
fn check_each(step: usize) {
    let mut count = 0;
    let (mut all_held, mut all_known) = (Vec::new(), Vec::new());
    for (file, text, known) in FILES {
        let rules = parse_rules(text, file).unwrap_or_else(|e| panic!("{e}"));
        count += rules.len();
        for rule in rules.iter().step_by(step) {
            let parsed = rule.parse().unwrap_or_else(|e| panic!("{e}"));
            let found = check(&parsed);
            match found.verdict() {
                Verdict::Unsound => {}
                Verdict::Held => all_held.push(rule.entry.def.name),
                verdict => panic!("{}: {verdict:?}: {found}", rule.entry.def.name),
            }
        }
        let is_chosen = |number: &&u32| (**number as usize - 1).is_multiple_of(step);
        all_known.extend(known.iter().filter(is_chosen).map(|number| format!("{file}-{number:02}")));
    }
    assert_eq!(all_held, all_known, "rules that are held");
    assert_eq!(count, 379);
}
