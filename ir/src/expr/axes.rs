//! Axes for dims.

use super::{Axis, AxisKind, SymExpr};
use crate::name::Name;
use crate::types::Dim;

/// A parallel axis from 0 for each dim, named `i`, `j`, `k`, `l`, `i4` and so on, without names that are
/// taken. Unknown upper bounds are `None`.
pub fn axes_along(dims: &[Dim], taken: impl Fn(Name) -> bool) -> Vec<Axis> {
    let letters = ["i", "j", "k", "l"].map(String::from).into_iter();
    let names = letters.chain((4..).map(|n| format!("i{n}"))).map(Name::from).filter(|name| !taken(*name));
    let axis = |(&dim, name)| Axis { name, lo: SymExpr::default(), hi: SymExpr::of_dim(dim), kind: AxisKind::Parallel };
    dims.iter().zip(names).map(axis).collect()
}
