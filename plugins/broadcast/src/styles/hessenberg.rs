//! `f64[n, n; upper_hessenberg]`: an upper triangle and the diagonal below it. Other elements of the
//! component `elements` are ignored.

use super::square::{SQUARE, Triangle, element};
use crate::element::{Element, Stored};
use crate::lattice::Broadcasting;
use crate::register_join;
use rewright::ir::StyleDef;
use rewright::{register_interface, register_style};

/// An upper Hessenberg matrix: zero below the first subdiagonal.
pub static UPPER_HESSENBERG: StyleDef = StyleDef {
    name: "upper_hessenberg",
    doc: "a square matrix with nothing below the diagonal that is below the main one",
    element: |array, at| element(array, at[0] <= at[1] + 1, at[0], at[1]),
    ..SQUARE
};

register_style!(UPPER_HESSENBERG);

register_interface!(style "upper_hessenberg", Broadcasting, &Broadcasting::zeros("upper_hessenberg"));
register_interface!(style "upper_hessenberg", Element, &Element(|cell, leaf, at| Triangle::Upper(1).cell(cell, leaf, at)));
register_interface!(style "upper_hessenberg", Stored, &Stored(|ty| Triangle::Upper(1).stored(ty)));

register_join!("upper_hessenberg", "upper" => "upper_hessenberg");
register_join!("upper_hessenberg", "diagonal" => "upper_hessenberg");
register_join!("upper_hessenberg", "upper_bidiagonal" => "upper_hessenberg");
register_join!("upper_hessenberg", "lower_bidiagonal" => "upper_hessenberg");
register_join!("upper_hessenberg", "tridiagonal" => "upper_hessenberg");
register_join!("upper_hessenberg", "sym_tridiagonal" => "upper_hessenberg");
