//! Two hundred rules that are wrong, each with a counterexample in the comment above it, written against
//! the checker.
//!
//! None is proved. Those that are held all the same are listed here: the list may get shorter, never
//! longer.

use rewright_rewrites::rule::parse_rules;
use rewright_rewrites::rule::soundness::{Verdict, check};

/// The files, and the numbers of the rules that hold on all values that are tried.
const FILES: [(&str, &str, &[u32]); 6] = [
    // Needles in products and remainders of 32 and 64 bits, beyond the solver's limit; powers and `lcm`.
    ("ints", include_str!("unsound/ints.ron"), &[2, 3, 4, 5, 6, 8, 12, 34, 43, 46]),
    // Constants of floats that no sum or quotient of two makes, and chains of many variables.
    ("bools", include_str!("unsound/bools.ron"), &[1, 2, 4, 5, 6, 15]),
    // Neighbours of numbers that the rule does not name.
    ("floats", include_str!("unsound/floats.ron"), &[8, 10, 17, 24, 28]),
    // Cancellation, and steps of functions between two roundings.
    ("liberties", include_str!("unsound/liberties.ron"), &[1, 4, 7, 8, 9, 29, 33]),
    // Lengths that are not tried, and extents of 0 beside 1.
    ("arrays", include_str!("unsound/arrays.ron"), &[1, 3, 4, 5, 7, 8, 10, 15, 27]),
    ("general", include_str!("unsound/general.ron"), &[2, 4]),
];

#[test]
fn no_wrong_rule_is_proved_and_few_are_held() {
    let mut count = 0;
    for (file, text, known) in FILES {
        let rules = parse_rules(text, file).unwrap_or_else(|e| panic!("{e}"));
        count += rules.len();
        let mut held = Vec::new();
        for rule in &rules {
            let parsed = rule.parse().unwrap_or_else(|e| panic!("{e}"));
            let found = check(&parsed);
            match found.verdict() {
                Verdict::Unsound => {}
                Verdict::Held => held.push(rule.entry.def.name),
                verdict => panic!("{}: {verdict:?}: {found}", rule.entry.def.name),
            }
        }
        let known: Vec<String> = known.iter().map(|number| format!("{file}-{number:02}")).collect();
        assert_eq!(held, known, "{file}: rules that are held");
    }
    assert_eq!(count, 200);
}
