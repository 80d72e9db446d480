//! Maps positions in a view to positions in its operand.

use rewright::expr::{Affine, Axis, SymExpr};
use rewright::{Dim, InstData, SliceSpec, Type};

/// The position in the operand for a position in a view; `None` if it is not an affine form at compile
/// time.
pub fn step(view: &InstData, from: &Type, to: &Type, at: &[Affine]) -> Option<Vec<Affine>> {
    let ints = |name: &str, rank: usize| -> Option<Vec<usize>> {
        view.attrs.ints(name)?.iter().map(|&axis| place(axis, rank)).collect()
    };
    let given = |name: &str| view.attrs.ints(name).is_some();
    match view.op.name {
        "transpose" => {
            let perm = if given("perm") { ints("perm", from.rank())? } else { (0..from.rank()).rev().collect() };
            (0..from.rank()).map(|axis| at.get(perm.iter().position(|&p| p == axis)?).cloned()).collect()
        }
        "broadcast_in_dim" => {
            let last = to.rank().checked_sub(from.rank())?;
            let axes = if given("axes") { ints("axes", to.rank())? } else { (last..to.rank()).collect() };
            let along = |(&dim, &axis): (&Dim, &usize)| match dim {
                Dim::Const(1) => Some(Affine::constant(0)),
                Dim::Any => None,
                dim => at.get(axis).filter(|_| to.dims().get(axis) == Some(&dim)).cloned(),
            };
            from.dims().iter().zip(&axes).map(along).collect()
        }
        "expand_dims" | "squeeze" | "reshape" => reshaped(from.dims(), to.dims(), at),
        "slice" => {
            let specs = view.attrs.slices("at")?;
            let along = |(axis, (form, &dim)): (usize, (&Affine, &Dim))| {
                sliced(form, specs.get(axis).copied().unwrap_or(SliceSpec::FULL), dim)
            };
            at.iter().zip(from.dims()).enumerate().map(along).collect()
        }
        "flip" => {
            let axes = if given("axes") { ints("axes", from.rank())? } else { (0..from.rank()).collect() };
            let turned = SliceSpec { step: -1, ..SliceSpec::FULL };
            let spec = |axis| if axes.contains(&axis) { turned } else { SliceSpec::FULL };
            at.iter().zip(from.dims()).enumerate().map(|(axis, (form, &dim))| sliced(form, spec(axis), dim)).collect()
        }
        "diagonal" => {
            let axis = |name, default| place(view.attrs.int(name).unwrap_or(default), from.rank());
            let (rows, columns) = (axis("axis1", 0)?, axis("axis2", 1)?);
            let offset = view.attrs.int("offset").unwrap_or(0);
            let (along, mut others) = (at.last()?, at.iter());
            let form = |axis: usize| match axis {
                _ if axis == rows => scaled(along, 1, &SymExpr::constant(offset.min(0).checked_neg()?)),
                _ if axis == columns => scaled(along, 1, &SymExpr::constant(offset.max(0))),
                _ => others.next().cloned(),
            };
            (0..from.rank()).map(form).collect()
        }
        _ => None,
    }
}

/// The position before a reshape that only inserts or drops axes of extent 1.
fn reshaped(from: &[Dim], to: &[Dim], at: &[Affine]) -> Option<Vec<Affine>> {
    let is_long = |dim: &Dim| *dim != Dim::Const(1);
    let known = from.iter().chain(to).all(|dim| *dim != Dim::Any);
    if !known || !from.iter().filter(|d| is_long(d)).eq(to.iter().filter(|d| is_long(d))) {
        return None;
    }
    let mut long = to.iter().zip(at).filter(|(dim, _)| is_long(dim)).map(|(_, form)| form.clone());
    from.iter().map(|dim| if is_long(dim) { long.next() } else { Some(Affine::constant(0)) }).collect()
}

/// Maps a position in a slice to the position in the sliced axis.
fn sliced(form: &Affine, spec: SliceSpec, dim: Dim) -> Option<Affine> {
    match (spec, dim) {
        (SliceSpec::FULL, _) => Some(form.clone()),
        (_, Dim::Const(extent)) => {
            let start = i64::try_from(extent).ok().map(|_| spec.resolve(extent).0)?;
            scaled(form, spec.step, &SymExpr::constant(start))
        }
        // Reversal of a symbolic extent: the last element is the first.
        (SliceSpec { start: None, stop: None, step: -1 }, Dim::Sym(name)) => {
            scaled(form, -1, &SymExpr::constant(-1).add_term(name, 1)?)
        }
        _ => None,
    }
}

fn place(axis: i64, rank: usize) -> Option<usize> {
    let from_start = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(from_start).ok().filter(|&axis| axis < rank)
}

/// `factor * form + more`.
fn scaled(form: &Affine, factor: i64, more: &SymExpr) -> Option<Affine> {
    let mut result = form
        .axes()
        .iter()
        .try_fold(Affine::constant(0), |sum, &(axis, step)| sum.add_axis(axis, step.checked_mul(factor)?))?;
    result.offset = more.clone().plus_scaled(&form.offset, factor)?;
    Some(result)
}

/// True if a form is provably a position of a dim, for all values of the axes.
pub fn is_inside(form: &Affine, axes: &[Axis], dim: Dim) -> bool {
    let ends = || -> Option<(SymExpr, SymExpr)> {
        let (mut low, mut high) = (form.offset.clone(), form.offset.clone());
        for &(axis, step) in form.axes() {
            let axis = axes.get(axis as usize)?;
            let last = axis.hi.clone()?.plus_scaled(&SymExpr::constant(1), -1)?;
            let (down, up) = if step > 0 { (&axis.lo, &last) } else { (&last, &axis.lo) };
            (low, high) = (low.plus_scaled(down, step)?, high.plus_scaled(up, step)?);
        }
        let left = SymExpr::of_dim(dim)?.plus_scaled(&high, -1)?;
        Some((low, left))
    };
    let is_at_least = |form: &SymExpr, least: i64| form.as_constant().is_some_and(|c| c >= least);
    ends().is_some_and(|(low, left)| is_at_least(&low, 0) && is_at_least(&left, 1))
}
