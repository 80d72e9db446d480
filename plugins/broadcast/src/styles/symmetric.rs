//! `symmetric` and `hermitian` matrices, of which the upper triangle of the component `elements` counts.

use super::square::{SQUARE, element};
use rewright::ir::StyleDef;
use rewright::{Scalar, register_style};
use std::cmp::Ordering;

/// Elements are those on the other side of the diagonal.
pub static SYMMETRIC: StyleDef = StyleDef {
    name: "symmetric",
    doc: "a square matrix whose elements are those on the other side of the diagonal",
    element: |array, at| element(array, true, at[0].min(at[1]), at[0].max(at[1])),
    ..SQUARE
};

/// Elements are the conjugates of those on the other side of the diagonal, which is real.
pub static HERMITIAN: StyleDef = StyleDef {
    name: "hermitian",
    doc: "a square matrix whose elements are the conjugates of those on the other side of the diagonal",
    element: |array, at| {
        let above = element(array, true, at[0].min(at[1]), at[0].max(at[1]));
        match at[0].cmp(&at[1]) {
            Ordering::Less => above,
            Ordering::Equal => real(above),
            Ordering::Greater => conjugate(above),
        }
    },
    ..SQUARE
};

register_style!(SYMMETRIC);
register_style!(HERMITIAN);

/// The number without its imaginary part.
fn real(number: Scalar) -> Scalar {
    match number {
        Scalar::C64(z) => Scalar::C64(z.re.into()),
        Scalar::C128(z) => Scalar::C128(z.re.into()),
        real => real,
    }
}

fn conjugate(number: Scalar) -> Scalar {
    match number {
        Scalar::C64(z) => Scalar::C64(z.conj()),
        Scalar::C128(z) => Scalar::C128(z.conj()),
        real => real,
    }
}
