//! Shared by the styles of square matrices: the component, triangles, and expressions of their elements.

use crate::element::{Cell, Leaf, Places, minus, plus};
use rewright::ir::expr::{Affine, BodyRef, Condition, SymExpr, Test};
use rewright::ir::{Component, StyleDef, Styled};
use rewright::{DType, Dim, Scalar, Type};

/// A square matrix with a square component, `elements`, as in LAPACK. Each style based on it defines which
/// elements count.
pub const SQUARE: StyleDef = StyleDef {
    name: "square",
    doc: "a square matrix",
    components: |ty| extent(ty.dims()).map(|_| vec![Component::new("elements", ty.dtype(), ty.dims())]),
    check: |_| Ok(()),
    element: |array, index| element(array, true, index[0], index[1]),
    take: |_, array| Ok(vec![array.clone()]),
};

/// The extent of a square matrix; the error says why dims are not those of one.
pub fn extent(dims: &[Dim]) -> Result<Dim, String> {
    match dims {
        [rows, columns] if rows == columns => Ok(*rows),
        // Whether the matrix is square is checked at run time.
        [Dim::Any, n] | [n, Dim::Any] => Ok(*n),
        [rows, columns] => Err(format!("a square matrix is wanted, not {rows} by {columns}")),
        _ => Err(format!("a square matrix is wanted, not rank {}", dims.len())),
    }
}

/// An element of the component if `is_kept`, else zero.
pub fn element(array: &Styled, is_kept: bool, row: usize, column: usize) -> Scalar {
    let element = if is_kept { array.components()[0].get(&[row, column]) } else { None };
    element.unwrap_or(zero(array.dtype()))
}

/// The component's element at a place.
pub fn read(cell: &mut Cell<'_>, leaf: &Leaf, at: &[Affine]) -> BodyRef {
    cell.read_inside(leaf.components[0], at)
}

/// The stored triangle of a matrix. An upper one may include some diagonals below the main one.
#[derive(Clone, Copy)]
pub enum Triangle {
    /// `row <= column + below`.
    Upper(i64),
    /// `column <= row`.
    Lower,
}

impl Triangle {
    /// An affine form that is not positive exactly where an element is stored.
    fn form(self, at: &[Affine]) -> Result<Affine, String> {
        match self {
            Triangle::Upper(below) => minus(&at[0], &plus(&at[1], below)?),
            Triangle::Lower => minus(&at[1], &at[0]),
        }
    }

    /// An element as an expression.
    pub fn cell(self, cell: &mut Cell<'_>, leaf: &Leaf, at: &[Affine]) -> Result<BodyRef, String> {
        let form = self.form(at)?;
        let (dtype, zero) = (leaf.ty.dtype(), BodyRef::Const(leaf.zero));
        cell.when(&form, Test::NotPositive, dtype, |cell| Ok(read(cell, leaf, at)), |_| Ok(zero))
    }

    /// The same with ones on the diagonal.
    pub fn unit_cell(self, cell: &mut Cell<'_>, leaf: &Leaf, at: &[Affine]) -> Result<BodyRef, String> {
        let (dtype, beside) = (leaf.ty.dtype(), minus(&at[0], &at[1])?);
        let one = BodyRef::Const(one(dtype));
        cell.when(&beside, Test::Zero, dtype, |_| Ok(one), |cell| self.cell(cell, leaf, at))
    }

    /// The places of the stored elements.
    pub fn stored(self, ty: &Type) -> Result<Vec<Places>, String> {
        let mut places = everywhere(ty)?;
        for part in &mut places {
            part.guard = vec![Condition { form: self.form(&part.at)?, test: Test::NotPositive }];
        }
        Ok(places)
    }
}

/// The places of all elements.
pub fn everywhere(ty: &Type) -> Result<Vec<Places>, String> {
    let n = SymExpr::of_dim(extent(ty.dims())?).ok_or("its extent is not known")?;
    let at = vec![Affine::axis(0), Affine::axis(1)];
    Ok(vec![Places { extents: vec![n.clone(), n], at, guard: Vec::new() }])
}

/// Zero of a dtype.
pub fn zero(dtype: DType) -> Scalar {
    Scalar::Bool(false).cast(dtype)
}

/// One of a dtype.
pub fn one(dtype: DType) -> Scalar {
    Scalar::Bool(true).cast(dtype)
}
