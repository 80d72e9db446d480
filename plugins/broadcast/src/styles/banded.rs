//! Shared by the styles of banded square matrices: each diagonal is a component, and the other elements are
//! zero.

use super::square::{extent, zero};
use crate::element::{Cell, Leaf, Places, minus, plus};
use rewright::ir::expr::{Affine, BodyRef, IndexExpr, SymExpr, Test};
use rewright::ir::{Component, Styled};
use rewright::{Array, Dim, Scalar, Type};

/// A stored diagonal: the component's name, and the offset above the main diagonal.
pub type Band = (&'static str, i64);

/// The components of a matrix. Their extents are constants if the matrix's extent is a constant.
pub fn components(ty: &Type, bands: &[Band]) -> Result<Vec<Component>, String> {
    let n = extent(ty.dims())?;
    let along = |&(name, above): &Band| {
        let dim = match n {
            Dim::Const(n) => Dim::Const(n.saturating_sub(above.unsigned_abs())),
            symbol if above == 0 => symbol,
            _ => Dim::Any,
        };
        Component::new(name, ty.dtype(), [dim])
    };
    Ok(bands.iter().map(along).collect())
}

/// An element of a matrix.
pub fn element(array: &Styled, index: &[usize], bands: &[Band]) -> Scalar {
    let above = index[1] as i64 - index[0] as i64;
    let found = bands.iter().zip(array.components()).find(|((_, band), _)| *band == above);
    let found = found.and_then(|(_, component)| component.get(&[index[0].min(index[1])]));
    found.unwrap_or(zero(array.dtype()))
}

/// The diagonals of a dense matrix.
pub fn take(array: &Array, bands: &[Band]) -> Result<Vec<Array>, String> {
    let n = array.shape().first().copied().unwrap_or(0);
    let along = |&(_, above): &Band| {
        let (down, right) = ((-above).max(0) as usize, above.max(0) as usize);
        let element = |k| array.get(&[k + down, k + right]).unwrap_or(zero(array.dtype()));
        let len = n.saturating_sub(down + right);
        Array::from_fn(array.dtype(), &[len], element).ok_or_else(|| "it is too large".to_string())
    };
    bands.iter().map(along).collect()
}

/// An element as an expression.
pub fn cell(cell: &mut Cell<'_>, leaf: &Leaf, at: &[Affine], bands: &[Band]) -> Result<BodyRef, String> {
    let Some((&(_, above), rest)) = bands.split_first() else { return Ok(BodyRef::Const(leaf.zero)) };
    let component = leaf.components[leaf.components.len() - bands.len()];
    let beside = minus(&at[1], &plus(&at[0], above)?)?;
    let along = if above < 0 { &at[1] } else { &at[0] };
    let read = |cell: &mut Cell<'_>| Ok(cell.read(component, &[IndexExpr::Affine(along.clone())]));
    cell.when(&beside, Test::Zero, leaf.ty.dtype(), read, |cell| self::cell(cell, leaf, at, rest))
}

/// The places of the diagonals, as affine forms.
pub fn stored(ty: &Type, bands: &[Band]) -> Result<Vec<Places>, String> {
    let n = SymExpr::of_dim(extent(ty.dims())?).ok_or("its extent is not known")?;
    let along = |&(_, above): &Band| {
        let mut extent = n.clone();
        extent.constant -= above.abs();
        let at = [(-above).max(0), above.max(0)].map(|by| plus(&Affine::axis(0), by));
        Ok(Places { extents: vec![extent], at: at.into_iter().collect::<Result<_, String>>()?, guard: Vec::new() })
    };
    bands.iter().map(along).collect()
}

/// The places of the diagonals as positions; a symmetric matrix has those mirrored below the main diagonal,
/// too.
pub fn nonzeros(array: &Styled, bands: &[Band], is_symmetric: bool) -> Vec<Vec<i64>> {
    let n = array.shape()[0] as i64;
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    let mirrored = bands.iter().filter(|(_, above)| is_symmetric && *above != 0).map(|(_, above)| -above);
    for above in bands.iter().map(|&(_, above)| above).chain(mirrored) {
        let (down, right) = ((-above).max(0), above.max(0));
        let along = 0..(n - down - right).max(0);
        rows.extend(along.clone().map(|k| k + down));
        columns.extend(along.map(|k| k + right));
    }
    vec![rows, columns]
}
