//! Published examples of index notation, most of them from the documentation and tests of Tullio.jl, with
//! results by hand or by plain loops. They are pasted below a line `set one_based`.

#![allow(clippy::cloned_ref_to_slice_refs, reason = "a list of one argument reads as the others do")]

mod basics;
mod boundary;
mod errors;
mod features;
mod gather;
mod in_place;
mod more;
mod ranges;
mod reductions;

use crate::support::{Named, ints};
use rewright::{Datum, Scalar};

/// A one-based program.
fn one(text: &str) -> String {
    format!("set one_based\n{text}")
}

/// A: squares of 1 to 10.
fn a() -> Named {
    ("A", ints(&(1..=10).map(|i| i * i).collect::<Vec<_>>()))
}

/// Q: squares of -10 to 10.
fn q() -> Named {
    ("Q", ints(&(1..=21).map(|i: i64| (i - 11) * (i - 11)).collect::<Vec<_>>()))
}

/// B: 1 to 5.
fn b() -> Named {
    ("B", ints(&[1, 2, 3, 4, 5]))
}

/// B4: 1 to 4.
fn b4() -> Named {
    ("B4", ints(&[1, 2, 3, 4]))
}

fn scalar(x: f64) -> Datum {
    Scalar::F64(x).into()
}

fn int(x: i64) -> Datum {
    Scalar::I64(x).into()
}
