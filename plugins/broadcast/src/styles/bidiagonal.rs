//! `f64[n, n; upper_bidiagonal]`: `diag` has n elements, and `above` has one less. `f64[n, n;
//! lower_bidiagonal]`: `below` has one less than `diag`.

use super::banded::{self, Band};
use crate::element::{Element, Stored};
use crate::lattice::Broadcasting;
use crate::pattern::Nonzeros;
use crate::register_join;
use rewright::ir::StyleDef;
use rewright::{register_interface, register_style};

const UPPER: &[Band] = &[("diag", 0), ("above", 1)];
const LOWER: &[Band] = &[("below", -1), ("diag", 0)];

/// An upper bidiagonal matrix: the main diagonal and the one above it.
pub static UPPER_BIDIAGONAL: StyleDef = StyleDef {
    name: "upper_bidiagonal",
    doc: "a square matrix of a diagonal and the one above it",
    components: |ty| banded::components(ty, UPPER),
    check: |_| Ok(()),
    element: |array, index| banded::element(array, index, UPPER),
    take: |_, array| banded::take(array, UPPER),
};

/// A lower bidiagonal matrix: the main diagonal and the one below it.
pub static LOWER_BIDIAGONAL: StyleDef = StyleDef {
    name: "lower_bidiagonal",
    doc: "a square matrix of a diagonal and the one below it",
    components: |ty| banded::components(ty, LOWER),
    check: |_| Ok(()),
    element: |array, index| banded::element(array, index, LOWER),
    take: |_, array| banded::take(array, LOWER),
};

register_style!(UPPER_BIDIAGONAL);
register_style!(LOWER_BIDIAGONAL);

register_interface!(style "upper_bidiagonal", Broadcasting, &Broadcasting::zeros("upper_bidiagonal"));
register_interface!(style "upper_bidiagonal", Element, &Element(|cell, leaf, at| banded::cell(cell, leaf, at, UPPER)));
register_interface!(style "upper_bidiagonal", Stored, &Stored(|ty| banded::stored(ty, UPPER)));
register_interface!(style "upper_bidiagonal", Nonzeros, &Nonzeros(|array| banded::nonzeros(array, UPPER, false)));

register_interface!(style "lower_bidiagonal", Broadcasting, &Broadcasting::zeros("lower_bidiagonal"));
register_interface!(style "lower_bidiagonal", Element, &Element(|cell, leaf, at| banded::cell(cell, leaf, at, LOWER)));
register_interface!(style "lower_bidiagonal", Stored, &Stored(|ty| banded::stored(ty, LOWER)));
register_interface!(style "lower_bidiagonal", Nonzeros, &Nonzeros(|array| banded::nonzeros(array, LOWER, false)));

register_join!("upper_bidiagonal", "lower_bidiagonal" => "tridiagonal");
register_join!("upper_bidiagonal", "diagonal" => "upper_bidiagonal");
register_join!("lower_bidiagonal", "diagonal" => "lower_bidiagonal");
