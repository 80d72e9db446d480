//! `f64[n, n; upper_bidiagonal]`: `diag` of n elements, and `above` of one less; `f64[n, n; lower_bidiagonal]`: `below`, and `diag`.

use super::banded::{self, Band};
use rewright::ir::StyleDef;
use rewright::register_style;

const UPPER: &[Band] = &[("diag", 0), ("above", 1)];
const LOWER: &[Band] = &[("below", -1), ("diag", 0)];

/// A square matrix of a diagonal and the one above it.
pub static UPPER_BIDIAGONAL: StyleDef = StyleDef {
    name: "upper_bidiagonal",
    doc: "a square matrix of a diagonal and the one above it",
    components: |dtype, dims| banded::components(dtype, dims, UPPER),
    check: |_| Ok(()),
    element: |array, index| banded::element(array, index, UPPER),
    take: |array| banded::take(array, UPPER),
};

/// A square matrix of a diagonal and the one below it.
pub static LOWER_BIDIAGONAL: StyleDef = StyleDef {
    name: "lower_bidiagonal",
    doc: "a square matrix of a diagonal and the one below it",
    components: |dtype, dims| banded::components(dtype, dims, LOWER),
    check: |_| Ok(()),
    element: |array, index| banded::element(array, index, LOWER),
    take: |array| banded::take(array, LOWER),
};

register_style!(UPPER_BIDIAGONAL);
register_style!(LOWER_BIDIAGONAL);
