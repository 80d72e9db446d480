//! What styles of square matrices share.

use rewright::ir::{Component, StyleDef, Styled};
use rewright::{DType, Dim, Scalar};

/// A square matrix whose component is one too, as LAPACK has it: `elements`. A style of this kind says what that means.
pub const SQUARE: StyleDef = StyleDef {
    name: "square",
    doc: "a square matrix",
    components: |dtype, dims| extent(dims).map(|_| vec![Component::new("elements", dtype, dims)]),
    check: |_| Ok(()),
    element: |array, index| element(array, true, index[0], index[1]),
    take: |array| Ok(vec![array.clone()]),
};

/// The extent of a square matrix; the error says why dims are not those of one.
pub fn extent(dims: &[Dim]) -> Result<Dim, String> {
    match dims {
        [rows, columns] if rows == columns => Ok(*rows),
        // Whether it is one is seen when it runs.
        [Dim::Any, n] | [n, Dim::Any] => Ok(*n),
        [rows, columns] => Err(format!("a square matrix is wanted, not {rows} by {columns}")),
        _ => Err(format!("a square matrix is wanted, not rank {}", dims.len())),
    }
}

/// An element of the component where it means something, else zero.
pub fn element(array: &Styled, is_kept: bool, row: usize, column: usize) -> Scalar {
    let element = if is_kept { array.components()[0].get(&[row, column]) } else { None };
    element.unwrap_or(zero(array.dtype()))
}

/// Zero of a dtype.
pub fn zero(dtype: DType) -> Scalar {
    Scalar::Bool(false).cast(dtype)
}

/// One of a dtype.
pub fn one(dtype: DType) -> Scalar {
    Scalar::Bool(true).cast(dtype)
}
