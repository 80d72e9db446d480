//! Views that fusion reads through: those that only insert, drop, stretch or permute axes.

use crate::MatchCx;
use rewright_ir::{Dim, Function, Inst, InstData, Type, Value, register_interface};
use smallvec::SmallVec;

/// For each axis of a view's operand, the corresponding axis of the result; `None` where the operand's
/// extent is 1.
pub type AxisMap = SmallVec<[Option<usize>; 4]>;

/// Interface of an op whose result is its first operand with axes inserted, dropped, stretched or permuted.
/// Array expressions read the operand itself through the map.
pub struct AxisView {
    /// The map, or `None` if this instruction is no such view.
    pub map: fn(inst: &InstData, operand: &Type, result: &Type) -> Option<AxisMap>,
}

/// A value, with the chain of views that it is the result of.
pub struct Viewed {
    /// The value below all views.
    pub base: Value,
    /// For each axis of the base the axis of the value; `None` if there is no view.
    pub map: Option<AxisMap>,
    /// The views, the outermost (the value itself) first.
    pub views: SmallVec<[Inst; 2]>,
}

/// Follows a chain of views, as long as neither the views nor their operands are stored to or ended.
pub fn look_through(cx: &MatchCx<'_>, value: Value) -> Viewed {
    let func = cx.func();
    let mut seen = Viewed { base: value, map: None, views: SmallVec::new() };
    while let Some(inst) = func.def_inst(seen.base) {
        let data = func.inst(inst);
        let Some(view) = data.op.interface::<AxisView>() else { break };
        let operand = data.args[0];
        let (from, to) = (func.ty(operand), func.ty(seen.base));
        let holds = !cx.is_written(seen.base) && !cx.is_written(operand) && !cx.is_ended(operand);
        if !from.is_array() || from.style().is_some() || !holds {
            break;
        }
        let Some(step) = (view.map)(data, from, to) else { break };
        seen.map = Some(match &seen.map {
            None => step,
            Some(outer) => step.iter().map(|axis| axis.and_then(|a| outer[a])).collect(),
        });
        seen.base = operand;
        seen.views.push(inst);
    }
    seen
}

/// Whether reading the base instead of the view loses no extent of a space with these dims. `lies` maps the
/// view's axes to the space. An axis that the base lacks must have extent 1, or the extent of the space.
pub fn is_exact(func: &Function, value: Value, base: Value, view: &AxisMap, lies: &AxisMap, dims: &[Dim]) -> bool {
    let base_dims = func.ty(base).dims();
    func.ty(value).dims().iter().enumerate().all(|(axis, &dim)| {
        let runs = view.iter().position(|&a| a == Some(axis));
        let covered = runs.is_some_and(|a| base_dims[a] == dim);
        covered || dim == Dim::Const(1) || (dim != Dim::Any && lies[axis].is_some_and(|g| dims[g] == dim))
    })
}

register_interface!("broadcast_in_dim", AxisView, &AxisView { map: broadcast_map });
register_interface!("expand_dims", AxisView, &AxisView { map: expand_map });
register_interface!("squeeze", AxisView, &AxisView { map: squeeze_map });
register_interface!("transpose", AxisView, &AxisView { map: transpose_map });

/// The number of an axis; a negative one counts from the end.
fn axis(written: i64, rank: usize) -> Option<usize> {
    let place = if written < 0 { written + rank as i64 } else { written };
    usize::try_from(place).ok().filter(|&a| a < rank)
}

fn broadcast_map(inst: &InstData, operand: &Type, result: &Type) -> Option<AxisMap> {
    match inst.attrs.ints("axes") {
        Some(axes) => axes.iter().map(|&a| axis(a, result.rank()).map(Some)).collect(),
        None => Some(super::space::align(operand.rank(), result.rank())),
    }
}

fn expand_map(inst: &InstData, _operand: &Type, result: &Type) -> Option<AxisMap> {
    let new: Option<SmallVec<[usize; 4]>> = inst.attrs.ints("axes")?.iter().map(|&a| axis(a, result.rank())).collect();
    let new = new?;
    Some((0..result.rank()).filter(|a| !new.contains(a)).map(Some).collect())
}

fn squeeze_map(inst: &InstData, operand: &Type, result: &Type) -> Option<AxisMap> {
    let dropped: Option<SmallVec<[usize; 4]>> = match inst.attrs.ints("axes") {
        Some(axes) => axes.iter().map(|&a| axis(a, operand.rank())).collect(),
        None => Some((0..operand.rank()).filter(|&a| operand.dims()[a] == Dim::Const(1)).collect()),
    };
    let dropped = dropped?;
    // If an extent is found to be 1 only at run time, the view checks it, so the view stays.
    if dropped.iter().any(|&a| operand.dims()[a] != Dim::Const(1)) || dropped.len() + result.rank() != operand.rank() {
        return None;
    }
    let mut kept = 0..result.rank();
    (0..operand.rank()).map(|a| if dropped.contains(&a) { Some(None) } else { kept.next().map(Some) }).collect()
}

fn transpose_map(inst: &InstData, operand: &Type, _result: &Type) -> Option<AxisMap> {
    let rank = operand.rank();
    match inst.attrs.ints("perm") {
        None => Some((0..rank).rev().map(Some).collect()),
        Some(perm) => {
            let mut map = AxisMap::from_elem(None, rank);
            for (result_axis, &a) in perm.iter().enumerate() {
                map[axis(a, rank)?] = Some(result_axis);
            }
            Some(map)
        }
    }
}
