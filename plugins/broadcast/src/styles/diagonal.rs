//! `f64[n, n; diagonal]`: one component, `diag`, of n elements.

use super::banded::{self, Band};
use rewright::ir::StyleDef;
use rewright::register_style;

const BANDS: &[Band] = &[("diag", 0)];

/// A square matrix with nothing beside its diagonal.
pub static DIAGONAL: StyleDef = StyleDef {
    name: "diagonal",
    doc: "a square matrix with nothing beside its diagonal",
    components: |dtype, dims| banded::components(dtype, dims, BANDS),
    check: |_| Ok(()),
    element: |array, index| banded::element(array, index, BANDS),
    take: |array| banded::take(array, BANDS),
};

register_style!(DIAGONAL);
