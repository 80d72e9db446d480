//! Triangular matrices: `upper`, `lower`, and `unit_upper` and `unit_lower`, whose diagonals are ones.
//! Elements of the component `elements` outside of the triangle are ignored.

use super::square::{SQUARE, Triangle, element, one};
use crate::element::{Element, Stored};
use crate::lattice::Broadcasting;
use crate::register_join;
use rewright::ir::StyleDef;
use rewright::{register_interface, register_style};

/// An upper triangular matrix: zero below the diagonal.
pub static UPPER: StyleDef = StyleDef {
    name: "upper",
    doc: "a square matrix with nothing below its diagonal",
    element: |array, at| element(array, at[0] <= at[1], at[0], at[1]),
    ..SQUARE
};

/// A lower triangular matrix: zero above the diagonal.
pub static LOWER: StyleDef = StyleDef {
    name: "lower",
    doc: "a square matrix with nothing above its diagonal",
    element: |array, at| element(array, at[0] >= at[1], at[0], at[1]),
    ..SQUARE
};

/// A unit upper triangular matrix: zero below the diagonal, and ones on it.
pub static UNIT_UPPER: StyleDef = StyleDef {
    name: "unit_upper",
    doc: "a square matrix with nothing below its diagonal, and ones on it",
    element: |array, at| match at[0] == at[1] {
        true => one(array.dtype()),
        false => element(array, at[0] < at[1], at[0], at[1]),
    },
    ..SQUARE
};

/// A unit lower triangular matrix: zero above the diagonal, and ones on it.
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

register_interface!(style "upper", Broadcasting, &Broadcasting::zeros("upper"));
register_interface!(style "upper", Element, &Element(|cell, leaf, at| Triangle::Upper(0).cell(cell, leaf, at)));
register_interface!(style "upper", Stored, &Stored(|ty| Triangle::Upper(0).stored(ty)));

register_interface!(style "lower", Broadcasting, &Broadcasting::zeros("lower"));
register_interface!(style "lower", Element, &Element(|cell, leaf, at| Triangle::Lower.cell(cell, leaf, at)));
register_interface!(style "lower", Stored, &Stored(|ty| Triangle::Lower.stored(ty)));

register_interface!(style "unit_upper", Broadcasting, &Broadcasting::zeros("upper"));
register_interface!(style "unit_upper", Element, &Element(|cell, leaf, at| Triangle::Upper(0).unit_cell(cell, leaf, at)));

register_interface!(style "unit_lower", Broadcasting, &Broadcasting::zeros("lower"));
register_interface!(style "unit_lower", Element, &Element(|cell, leaf, at| Triangle::Lower.unit_cell(cell, leaf, at)));

register_join!("upper", "diagonal" => "upper");
register_join!("upper", "upper_bidiagonal" => "upper");
register_join!("lower", "diagonal" => "lower");
register_join!("lower", "lower_bidiagonal" => "lower");
register_join!("upper", "lower" => "dense");
register_join!("upper", "lower_bidiagonal" => "upper_hessenberg");
register_join!("upper", "tridiagonal" => "upper_hessenberg");
register_join!("upper", "sym_tridiagonal" => "upper_hessenberg");
