//! `symmetric` and `hermitian` matrices: the upper triangle of the component `elements` defines the matrix.

use super::square::{SQUARE, Triangle, element, read};
use crate::element::{Cell, Element, Leaf, Stored, minus};
use crate::lattice::{Answer, Applying, Broadcasting};
use crate::register_join;
use rewright::Type;
use rewright::ir::expr::{Affine, BodyRef, Test};
use rewright::ir::{Style, StyleDef};
use rewright::{DType, Loc, Scalar, register_interface, register_style};
use std::cmp::Ordering;

/// A symmetric matrix: each element equals the one mirrored at the diagonal.
pub static SYMMETRIC: StyleDef = StyleDef {
    name: "symmetric",
    doc: "a square matrix whose elements are those on the other side of the diagonal",
    element: |array, at| element(array, true, at[0].min(at[1]), at[0].max(at[1])),
    ..SQUARE
};

/// A Hermitian matrix: each element is the conjugate of the one mirrored at the diagonal. So the imaginary
/// parts on the diagonal are zero, or NaN, as products of infinities have them.
pub static HERMITIAN: StyleDef = StyleDef {
    name: "hermitian",
    doc: "a square matrix whose elements are the conjugates of those on the other side of the diagonal",
    element: |array, at| {
        let above = element(array, true, at[0].min(at[1]), at[0].max(at[1]));
        match at[0].cmp(&at[1]) {
            Ordering::Less => above,
            Ordering::Equal => own_conjugate(above),
            Ordering::Greater => conjugate(above),
        }
    },
    ..SQUARE
};

register_style!(SYMMETRIC);
register_style!(HERMITIAN);

/// The number without its imaginary part, unless that part is NaN.
fn own_conjugate(number: Scalar) -> Scalar {
    match number {
        Scalar::C64(z) if !z.im.is_nan() => Scalar::C64(z.re.into()),
        Scalar::C128(z) if !z.im.is_nan() => Scalar::C128(z.re.into()),
        own => own,
    }
}

fn conjugate(number: Scalar) -> Scalar {
    match number {
        Scalar::C64(z) => Scalar::C64(z.conj()),
        Scalar::C128(z) => Scalar::C128(z.conj()),
        real => real,
    }
}

register_interface!(style "symmetric", Broadcasting, &Broadcasting::zeros("symmetric").only_zeros("dense"));
register_interface!(style "symmetric", Element, &Element(|cell, leaf, at| mirrored(cell, leaf, at, |_, above| Ok(above))));
register_interface!(style "symmetric", Stored, &Stored(|ty| Triangle::Upper(0).stored(ty)));

register_interface!(style "hermitian", Broadcasting, &Broadcasting::zeros("hermitian").only_zeros("dense").rule(conjugates));
register_interface!(style "hermitian", Element, &Element(hermitian));
register_interface!(style "hermitian", Stored, &Stored(|ty| Triangle::Upper(0).stored(ty)));

register_join!("symmetric", "diagonal" => "symmetric");
register_join!("symmetric", "sym_tridiagonal" => "symmetric");
// For complex dtypes, the rule of `hermitian` gives dense results before these joins are considered.
register_join!("hermitian", "diagonal" => "hermitian");
register_join!("hermitian", "sym_tridiagonal" => "hermitian");
register_join!("hermitian", "symmetric" => "hermitian");

/// An element on or above the diagonal; below it, `below` of the mirrored element.
fn mirrored(
    cell: &mut Cell<'_>,
    leaf: &Leaf,
    at: &[Affine],
    below: impl FnOnce(&mut Cell<'_>, BodyRef) -> Result<BodyRef, String>,
) -> Result<BodyRef, String> {
    let other = [at[1].clone(), at[0].clone()];
    let is_above = minus(&at[0], &at[1])?;
    cell.when(
        &is_above,
        Test::NotPositive,
        leaf.ty.dtype(),
        |cell| Ok(read(cell, leaf, at)),
        |cell| {
            let above = read(cell, leaf, &other);
            below(cell, above)
        },
    )
}

/// Ops that commute with conjugation.
const CONJUGATE: [&str; 14] =
    ["neg", "pos", "abs", "conj", "real", "add", "sub", "mul", "div", "square", "reciprocal", "exp", "sin", "cos"];

/// The rule of `hermitian`: the result is Hermitian if the op commutes with conjugation, complex arrays are
/// Hermitian, and constants are real.
fn conjugates(applying: &Applying<'_>) -> Result<Answer, String> {
    let is_complex = |ty: &Type| ty.dtype().is_complex();
    let is_hermitian =
        |(ty, style): (&Type, &Style)| !is_complex(ty) || style.def().name == "hermitian" || ty.is_scalar();
    let is_real = |number: &Scalar| number.to_c128().im == 0.0;
    let fits = applying.types.iter().zip(applying.styles).all(is_hermitian)
        && applying.consts.iter().flatten().all(is_real)
        && applying.op.is_some_and(|op| CONJUGATE.contains(&op.name));
    Ok(match fits || !applying.types.iter().any(is_complex) {
        true => Answer::Join,
        false => Answer::Dense("the function of a conjugate is not known to be the conjugate".into()),
    })
}

/// An element as an expression: conjugates below the diagonal, and no imaginary part on it unless that is
/// NaN.
fn hermitian(cell: &mut Cell<'_>, leaf: &Leaf, at: &[Affine]) -> Result<BodyRef, String> {
    let dtype = leaf.ty.dtype();
    if !dtype.is_complex() {
        return mirrored(cell, leaf, at, |_, above| Ok(above));
    }
    let on_diagonal = minus(&at[0], &at[1])?;
    cell.when(
        &on_diagonal,
        Test::Zero,
        dtype,
        |cell| {
            let element = read(cell, leaf, at);
            let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
            let (real, imag) = (cell.core("real", &[element], part)?, cell.core("imag", &[element], part)?);
            let is_nan = cell.core("ne", &[imag, imag], DType::Bool)?;
            let real = cell.body.cast(real, part, dtype, Loc::default());
            cell.core("where", &[is_nan, element, real], dtype)
        },
        |cell| mirrored(cell, leaf, at, |cell, above| cell.core("conj", &[above], dtype)),
    )
}
