//! Axes from dims.

use super::{Axis, AxisKind, SymExpr};
use crate::name::Name;
use crate::types::Dim;

/// A parallel axis along each dim, from 0: named `i`, `j`, `k`, `l`, `i4` and so on, but for names that are taken. Ends that are not known are left out.
pub fn axes_along(dims: &[Dim], taken: impl Fn(Name) -> bool) -> Vec<Axis> {
    let letters = ["i", "j", "k", "l"].map(String::from).into_iter();
    let names = letters.chain((4..).map(|n| format!("i{n}"))).map(Name::from).filter(|name| !taken(*name));
    let axis = |(&dim, name)| Axis { name, lo: SymExpr::default(), hi: SymExpr::of_dim(dim), kind: AxisKind::Parallel };
    dims.iter().zip(names).map(axis).collect()
}
