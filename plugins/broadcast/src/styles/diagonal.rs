//! `f64[n, n; diagonal]`: one component, `diag`, of n elements.

use super::banded::{self, Band};
use crate::element::{Element, Stored};
use crate::lattice::Broadcasting;
use crate::pattern::Nonzeros;
use rewright::ir::StyleDef;
use rewright::{register_interface, register_style};

const BANDS: &[Band] = &[("diag", 0)];

/// A diagonal matrix: zero off the main diagonal.
pub static DIAGONAL: StyleDef = StyleDef {
    name: "diagonal",
    doc: "a square matrix with nothing beside its diagonal",
    components: |ty| banded::components(ty, BANDS),
    check: |_| Ok(()),
    element: |array, index| banded::element(array, index, BANDS),
    take: |_, array| banded::take(array, BANDS),
};

register_style!(DIAGONAL);

register_interface!(style "diagonal", Broadcasting, &Broadcasting::zeros("diagonal"));
register_interface!(style "diagonal", Element, &Element(|cell, leaf, at| banded::cell(cell, leaf, at, BANDS)));
register_interface!(style "diagonal", Stored, &Stored(|ty| banded::stored(ty, BANDS)));
register_interface!(style "diagonal", Nonzeros, &Nonzeros(|array| banded::nonzeros(array, BANDS, false)));
