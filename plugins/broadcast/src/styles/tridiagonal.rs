//! `f64[n, n; tridiagonal]`: `diag` has n elements, and `below` and `above` have one less. `f64[n, n;
//! sym_tridiagonal]`: `diag` and `above`, which is mirrored below the diagonal.

use super::banded::{self, Band};
use crate::element::{Cell, Element, Leaf, Stored, minus, plus};
use crate::lattice::Broadcasting;
use crate::pattern::Nonzeros;
use crate::register_join;
use rewright::ir::StyleDef;
use rewright::ir::expr::{Affine, BodyRef, Test};
use rewright::{register_interface, register_style};

const BANDS: &[Band] = &[("below", -1), ("diag", 0), ("above", 1)];
const SYMMETRIC: &[Band] = &[("diag", 0), ("above", 1)];

/// A tridiagonal matrix: the main diagonal and the two beside it.
pub static TRIDIAGONAL: StyleDef = StyleDef {
    name: "tridiagonal",
    doc: "a square matrix of a diagonal and the two beside it",
    components: |ty| banded::components(ty, BANDS),
    check: |_| Ok(()),
    element: |array, index| banded::element(array, index, BANDS),
    take: |_, array| banded::take(array, BANDS),
};

/// A symmetric tridiagonal matrix: the main diagonal and the one above it, which is mirrored.
pub static SYM_TRIDIAGONAL: StyleDef = StyleDef {
    name: "sym_tridiagonal",
    doc: "a symmetric matrix of a diagonal and the two beside it",
    components: |ty| banded::components(ty, SYMMETRIC),
    check: |_| Ok(()),
    element: |array, index| {
        let above = [index[0].min(index[1]), index[0].max(index[1])];
        banded::element(array, &above, SYMMETRIC)
    },
    take: |_, array| banded::take(array, SYMMETRIC),
};

register_style!(TRIDIAGONAL);
register_style!(SYM_TRIDIAGONAL);

register_interface!(style "tridiagonal", Broadcasting, &Broadcasting::zeros("tridiagonal"));
register_interface!(style "tridiagonal", Element, &Element(|cell, leaf, at| banded::cell(cell, leaf, at, BANDS)));
register_interface!(style "tridiagonal", Stored, &Stored(|ty| banded::stored(ty, BANDS)));
register_interface!(style "tridiagonal", Nonzeros, &Nonzeros(|array| banded::nonzeros(array, BANDS, false)));

register_interface!(style "sym_tridiagonal", Broadcasting, &Broadcasting::zeros("sym_tridiagonal").only_zeros("tridiagonal"));
register_interface!(style "sym_tridiagonal", Element, &Element(sym_element));
register_interface!(style "sym_tridiagonal", Stored, &Stored(|ty| banded::stored(ty, SYMMETRIC)));
register_interface!(style "sym_tridiagonal", Nonzeros, &Nonzeros(|array| banded::nonzeros(array, SYMMETRIC, true)));

/// Reads elements below the diagonal from the one above it.
fn sym_element(cell: &mut Cell<'_>, leaf: &Leaf, at: &[Affine]) -> Result<BodyRef, String> {
    let below = minus(&at[0], &plus(&at[1], 1)?)?;
    let mirrored = [at[1].clone(), at[0].clone()];
    cell.when(
        &below,
        Test::Zero,
        leaf.ty.dtype(),
        |cell| banded::cell(cell, leaf, &mirrored, SYMMETRIC),
        |cell| banded::cell(cell, leaf, at, SYMMETRIC),
    )
}

register_join!("tridiagonal", "diagonal" => "tridiagonal");
register_join!("tridiagonal", "upper_bidiagonal" => "tridiagonal");
register_join!("tridiagonal", "lower_bidiagonal" => "tridiagonal");
register_join!("tridiagonal", "sym_tridiagonal" => "tridiagonal");
register_join!("sym_tridiagonal", "diagonal" => "sym_tridiagonal");
register_join!("sym_tridiagonal", "upper_bidiagonal" => "tridiagonal");
register_join!("sym_tridiagonal", "lower_bidiagonal" => "tridiagonal");
