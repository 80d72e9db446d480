//! Triangular matrices: `upper`, `lower`, and `unit_upper` and `unit_lower`, whose diagonals are ones. What the component `elements` holds outside of
//! the triangle means nothing.

use super::square::{SQUARE, element, one};
use rewright::ir::StyleDef;
use rewright::register_style;

/// Nothing below the diagonal.
pub static UPPER: StyleDef = StyleDef {
    name: "upper",
    doc: "a square matrix with nothing below its diagonal",
    element: |array, at| element(array, at[0] <= at[1], at[0], at[1]),
    ..SQUARE
};

/// Nothing above the diagonal.
pub static LOWER: StyleDef = StyleDef {
    name: "lower",
    doc: "a square matrix with nothing above its diagonal",
    element: |array, at| element(array, at[0] >= at[1], at[0], at[1]),
    ..SQUARE
};

/// Nothing below the diagonal, and ones on it.
pub static UNIT_UPPER: StyleDef = StyleDef {
    name: "unit_upper",
    doc: "a square matrix with nothing below its diagonal, and ones on it",
    element: |array, at| match at[0] == at[1] {
        true => one(array.dtype()),
        false => element(array, at[0] < at[1], at[0], at[1]),
    },
    ..SQUARE
};

/// Nothing above the diagonal, and ones on it.
pub static UNIT_LOWER: StyleDef = StyleDef {
    name: "unit_lower",
    doc: "a square matrix with nothing above its diagonal, and ones on it",
    element: |array, at| match at[0] == at[1] {
        true => one(array.dtype()),
        false => element(array, at[0] > at[1], at[0], at[1]),
    },
    ..SQUARE
};

register_style!(UPPER);
register_style!(LOWER);
register_style!(UNIT_UPPER);
register_style!(UNIT_LOWER);
