//! `f64[n, n; tridiagonal]`: `below` and `above` of n - 1 elements each, and `diag` of n between them; `f64[n, n; sym_tridiagonal]`: `diag`, and
//! `above`, which is below it too.

use super::banded::{self, Band};
use rewright::ir::StyleDef;
use rewright::register_style;

const BANDS: &[Band] = &[("below", -1), ("diag", 0), ("above", 1)];
const SYMMETRIC: &[Band] = &[("diag", 0), ("above", 1)];

/// A square matrix of a diagonal and the two beside it.
pub static TRIDIAGONAL: StyleDef = StyleDef {
    name: "tridiagonal",
    doc: "a square matrix of a diagonal and the two beside it",
    components: |dtype, dims| banded::components(dtype, dims, BANDS),
    check: |_| Ok(()),
    element: |array, index| banded::element(array, index, BANDS),
    take: |array| banded::take(array, BANDS),
};

/// A symmetric matrix of a diagonal and the two beside it.
pub static SYM_TRIDIAGONAL: StyleDef = StyleDef {
    name: "sym_tridiagonal",
    doc: "a symmetric matrix of a diagonal and the two beside it",
    components: |dtype, dims| banded::components(dtype, dims, SYMMETRIC),
    check: |_| Ok(()),
    element: |array, index| {
        let above = [index[0].min(index[1]), index[0].max(index[1])];
        banded::element(array, &above, SYMMETRIC)
    },
    take: |array| banded::take(array, SYMMETRIC),
};

register_style!(TRIDIAGONAL);
register_style!(SYM_TRIDIAGONAL);
