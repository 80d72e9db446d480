//! `f64[n, n; upper_hessenberg]`: an upper triangle and the diagonal below it. What the component `elements` holds elsewhere means nothing.

use super::square::{SQUARE, element};
use rewright::ir::StyleDef;
use rewright::register_style;

/// Nothing below the diagonal that is below the main one.
pub static UPPER_HESSENBERG: StyleDef = StyleDef {
    name: "upper_hessenberg",
    doc: "a square matrix with nothing below the diagonal that is below the main one",
    element: |array, at| element(array, at[0] <= at[1] + 1, at[0], at[1]),
    ..SQUARE
};

register_style!(UPPER_HESSENBERG);
