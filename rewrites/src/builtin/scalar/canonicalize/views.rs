//! Views that are the identity, and views of views.

use super::{Replacement, Root};
use crate::builtin::cannot_fail::cannot_fail;
use crate::prelude::*;
use rewright_ir::op::InferCx;
use rewright_ir::ops::view::{broadcast_axes, permutation};
use rewright_ir::{Dim, InstData, SliceSpec};
use smallvec::{SmallVec, smallvec};

impl Root<'_> {
    pub(super) fn view(&self) -> Option<Replacement> {
        let shows_all = match self.data.op.name {
            "transpose" => return self.transpose(),
            "reshape" | "expand_dims" | "squeeze" | "to_array" => return self.reshape(),
            "flip" => return self.flip(),
            "item" => {
                let scalar = self.inner(0, "to_array")?.args[0];
                return Some(Replacement::Value(scalar));
            }
            "slice" if self.data.attrs.slices("at")?.iter().all(|&spec| spec == SliceSpec::FULL) => true,
            "slice" => return self.slice(),
            "broadcast_in_dim" if self.stretches_nothing() => true,
            "broadcast_in_dim" => return self.broadcast(),
            _ => false,
        };
        shows_all.then(|| Replacement::Value(self.arg(0)))
    }

    fn transpose(&self) -> Option<Replacement> {
        let perm = perm_of(self.cx.func(), self.data)?;
        if in_order(&perm) {
            return Some(Replacement::Value(self.arg(0)));
        }
        if let Some(first) = self.inner(0, "transpose") {
            let x = first.args[0];
            let inner = perm_of(self.cx.func(), first)?;
            let both: SmallVec<[usize; 4]> = perm.iter().map(|&axis| inner[axis]).collect();
            if in_order(&both) {
                return Some(Replacement::Value(x));
            }
            return Some(Replacement::Op(self.data.op, smallvec![self.later(x)?.into()], perm_attrs(&both)));
        }
        // The shorter of two forms.
        let attrs = perm_attrs(&perm);
        (attrs != self.data.attrs && attrs.is_empty())
            .then(|| Replacement::Op(self.data.op, smallvec![self.arg(0).into()], attrs))
    }

    /// Ops that keep the elements in row-major order: the shape determines the result.
    fn reshape(&self) -> Option<Replacement> {
        if self.has_shape_of(self.arg(0)) {
            return Some(Replacement::Value(self.arg(0)));
        }
        let first = ["reshape", "expand_dims", "squeeze", "to_array"].iter().find_map(|op| self.certain(op))?;
        let x = first.args[0];
        if self.has_shape_of(x) {
            return Some(Replacement::Value(x));
        }
        let x = self.later(x).filter(|_| self.data.op.name == "reshape")?;
        Some(Replacement::Op(self.data.op, smallvec![x.into()], self.data.attrs.clone()))
    }

    /// True if a value with equally many elements is certain to have the result's shape.
    fn has_shape_of(&self, x: Value) -> bool {
        let (ty, have) = (self.ty(), self.cx.func().ty(x));
        ty == have && (ty.rank() == 1 || !ty.dims().contains(&Dim::Any))
    }

    fn flip(&self) -> Option<Replacement> {
        let axes = |data: &InstData| -> SmallVec<[usize; 4]> {
            let rank = self.ty().rank();
            let from_start = |&axis: &i64| if axis < 0 { axis + rank as i64 } else { axis } as usize;
            let mut axes = match data.attrs.ints("axes") {
                Some(list) => list.iter().map(from_start).collect(),
                None => (0..rank).collect::<SmallVec<[usize; 4]>>(),
            };
            axes.sort_unstable();
            axes
        };
        let here = axes(self.data);
        if here.is_empty() {
            return Some(Replacement::Value(self.arg(0)));
        }
        let first = self.inner(0, "flip")?;
        (axes(first) == here).then(|| Replacement::Value(first.args[0]))
    }

    /// Merges a slice of a slice into one slice, if that needs no unknown extents.
    fn slice(&self) -> Option<Replacement> {
        let first = self.inner(0, "slice")?;
        let x = self.later(first.args[0])?;
        let (inner, outer) = (first.attrs.slices("at")?, self.data.attrs.slices("at")?);
        let dims = self.cx.func().ty(x).dims();
        let at = |list: &[SliceSpec], axis: usize| list.get(axis).copied().unwrap_or(SliceSpec::FULL);
        let count = inner.len().max(outer.len());
        let both: Option<Vec<SliceSpec>> =
            (0..count).map(|axis| of_slice(at(inner, axis), at(outer, axis), *dims.get(axis)?)).collect();
        let attrs = Attrs::new().with("at", Attr::Slices(both?.into()));
        Some(Replacement::Op(self.data.op, smallvec![x.into()], attrs))
    }

    /// The view of this op that the operand is, if it can't fail: it may lose its users then.
    fn certain(&self, op: &str) -> Option<&InstData> {
        let def = self.cx.func().def_inst(self.arg(0))?;
        self.inner(0, op).filter(|_| cannot_fail(self.cx.func(), def))
    }

    /// Merges two broadcasts into one.
    fn broadcast(&self) -> Option<Replacement> {
        let first = self.certain("broadcast_in_dim")?;
        let x = self.later(first.args[0])?;
        let func = self.cx.func();
        let (inner, outer) = (axes_of(func, first)?, axes_of(func, self.data)?);
        let axes: Vec<i64> =
            inner.iter().map(|&axis| outer.get(axis).map(|&axis| axis as i64)).collect::<Option<_>>()?;
        // `?` stands for the extent of the operand, which changes here, so the known dim replaces it.
        let mut dims = self.data.attrs.dims("dims")?.to_vec();
        for (&axis, &between) in outer.iter().zip(self.arg_ty(0).dims()) {
            if dims[axis] == Dim::Any {
                dims[axis] = Some(between).filter(|&dim| dim != Dim::Any)?;
            }
        }
        let attrs = Attrs::new().with("dims", Attr::Dims(dims.into())).with("axes", Attr::Ints(axes.into()));
        Some(Replacement::Op(self.data.op, smallvec![x.into()], attrs))
    }

    /// True if a `broadcast_in_dim` has no new axes and stretches none.
    fn stretches_nothing(&self) -> bool {
        let ty = self.arg_ty(0);
        let (Some(axes), Some(dims)) = (axes_of(self.cx.func(), self.data), self.data.attrs.dims("dims")) else {
            return false;
        };
        // `?` stands for the operand's own extent; an unknown dim may be stretched.
        let kept = |(&want, &have): (&Dim, &Dim)| want == Dim::Any || want == have;
        dims.len() == ty.rank() && in_order(&axes) && dims.iter().zip(ty.dims()).all(kept)
    }
}

/// The operand's axis of each result axis of a `transpose`.
fn perm_of(func: &Function, data: &InstData) -> Option<SmallVec<[usize; 4]>> {
    let args = [func.ty(data.args[0]).clone()];
    permutation(&InferCx { op: data.op, args: &args, consts: &[], attrs: &data.attrs, callee: None }).ok()
}

/// The result's axis of each operand axis of a `broadcast_in_dim`.
fn axes_of(func: &Function, data: &InstData) -> Option<SmallVec<[usize; 4]>> {
    let args = [func.ty(data.args[0]).clone()];
    broadcast_axes(&InferCx { op: data.op, args: &args, consts: &[], attrs: &data.attrs, callee: None }).ok()
}

/// The slice of an axis that is the composition of `inner` and `outer`.
fn of_slice(inner: SliceSpec, outer: SliceSpec, extent: Dim) -> Option<SliceSpec> {
    if inner == SliceSpec::FULL {
        return Some(outer);
    }
    if outer == SliceSpec::FULL {
        return Some(inner);
    }
    if let Dim::Const(extent) = extent {
        let (first, count) = inner.resolve(extent);
        let (start, count) = outer.resolve(count);
        let (start, step) = (first.checked_add(start.checked_mul(inner.step)?)?, inner.step.checked_mul(outer.step)?);
        if count == 0 {
            return Some(SliceSpec { start: None, stop: Some(0), step: 1 });
        }
        let last = start.checked_add(i64::try_from(count - 1).ok()?.checked_mul(step)?)?;
        // A descending slice through position 0 has no stop.
        let stop = if step > 0 { Some(last.checked_add(1)?) } else { Some(last - 1).filter(|&stop| stop >= 0) };
        return Some(SliceSpec { start: Some(start), stop, step });
    }
    // Slices without a stop and with a positive step compose for any extent.
    let from = |spec: SliceSpec| {
        let start = spec.start.unwrap_or(0);
        (spec.step > 0 && spec.stop.is_none() && start >= 0).then_some(start)
    };
    let start = from(inner)?.checked_add(from(outer)?.checked_mul(inner.step)?)?;
    Some(SliceSpec { start: Some(start).filter(|&s| s > 0), stop: None, step: inner.step.checked_mul(outer.step)? })
}

fn in_order(axes: &[usize]) -> bool {
    axes.iter().enumerate().all(|(at, &axis)| at == axis)
}

/// The attributes of a permutation; no attribute means that the axes are reversed.
fn perm_attrs(perm: &[usize]) -> Attrs {
    if perm.iter().rev().enumerate().all(|(at, &axis)| at == axis) {
        return Attrs::new();
    }
    Attrs::new().with("perm", Attr::Ints(perm.iter().map(|&axis| axis as i64).collect()))
}
