//! The rule `cube-neg`: the cube of a negated number is the negated cube.
//!
//! A rule says in one line what a rewrite says in a file, if the pattern and its replacement are terms.
//! `tests/rules.rs` checks all rules of the crate.

use rewright::plugin::*;

// Of complex numbers, the sign of a zero would differ.
rule! { "cube-neg": (cube (neg ?x:real)) => (neg (cube ?x)) }
