//! What square matrices of a few diagonals share: each of these is a component, and elsewhere elements are zero.

use super::square::{extent, zero};
use rewright::ir::{Component, Styled};
use rewright::{Array, DType, Dim, Scalar};

/// A diagonal that is kept: the component's name, and how far above the main one it is.
pub type Band = (&'static str, i64);

/// The components of a matrix. Their extents are known where that of the matrix is a constant.
pub fn components(dtype: DType, dims: &[Dim], bands: &[Band]) -> Result<Vec<Component>, String> {
    let n = extent(dims)?;
    let along = |&(name, above): &Band| {
        let dim = match n {
            Dim::Const(n) => Dim::Const(n.saturating_sub(above.unsigned_abs())),
            symbol if above == 0 => symbol,
            _ => Dim::Any,
        };
        Component::new(name, dtype, [dim])
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
