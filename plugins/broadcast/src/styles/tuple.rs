//! `f64[3; tuple]`: a few elements, as many as the type says. Functions of tuples and scalars give tuples;
//! functions of tuples and arrays give arrays.

use crate::element::{Element, Places, Stored};
use crate::lattice::{Answer, Broadcasting, Keeps};
use rewright::ir::expr::{Affine, SymExpr};
use rewright::ir::{Component, StyleDef};
use rewright::{Dim, Scalar, Type, register_interface, register_style};

/// The maximum number of elements.
const MOST: u64 = 64;

/// A short vector of constant extent.
pub static TUPLE: StyleDef = StyleDef {
    name: "tuple",
    doc: "a few elements, as many as the type says",
    components: |ty| extent(ty).map(|_| vec![Component::new("elements", ty.dtype(), ty.dims())]),
    check: |_| Ok(()),
    element: |array, index| array.components()[0].get(index).unwrap_or(Scalar::Bool(false).cast(array.dtype())),
    take: |_, array| Ok(vec![array.clone()]),
};

register_style!(TUPLE);
register_interface!(style "tuple", Broadcasting, &Broadcasting {
    into: "tuple", keeps: Keeps::Anything, zeros: "dense", rule: |_| Ok(Answer::Join),
});
register_interface!(style "tuple", Element, &Element(|cell, leaf, at| Ok(cell.read_inside(leaf.components[0], at))));
register_interface!(style "tuple", Stored, &Stored(|ty| {
    let extents = vec![SymExpr::constant(extent(ty)? as i64)];
    Ok(vec![Places { extents, at: vec![Affine::axis(0)], guard: Vec::new() }])
}));

fn extent(ty: &Type) -> Result<u64, String> {
    match ty.dims() {
        [Dim::Const(n)] if *n <= MOST => Ok(*n),
        [Dim::Const(n)] => Err(format!("a tuple has at most {MOST} elements, not {n}")),
        [_] => Err("the number of a tuple's elements is part of its type".into()),
        dims => Err(format!("a tuple has one axis, not {}", dims.len())),
    }
}
