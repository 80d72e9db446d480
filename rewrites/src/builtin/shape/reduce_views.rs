//! `reduce-views`: replaces reductions of views by reductions of the viewed arrays.

use crate::builtin::cannot_fail::cannot_fail;
use crate::prelude::*;
use rewright_ir::expr::Monoid;
use rewright_ir::op::InferCx;
use rewright_ir::ops::reduced::{Reduced, listed_axes};
use rewright_ir::ops::view::{broadcast_axes, permutation};
use rewright_ir::{Dim, InstData};
use smallvec::SmallVec;

/// Reduces the viewed array instead of the view, so that fewer elements are read, or elements are read in
/// memory order.
///
/// - `transpose`: reduces the corresponding axes and transposes the smaller result, if that makes the
///   reduced rows contiguous. Narrow integers that are summed as wider ones are also widened faster along
///   columns than along strided rows. `flip`: flips the smaller result.
/// - `broadcast_in_dim`: does not traverse the axes that it makes. Extrema, `any` and `all` of copies are
///   those of one copy; a sum of integers becomes a product. For extrema of floats only such axes may be
///   reduced.
/// - `reshape`, `expand_dims`, `squeeze`: a reduction of all elements reads the operand; positions only if
///   the view is one row.
/// - A reduction along axes of extent 1 becomes a view or a cast.
///
/// Each is exact: elements are combined in the same order, or the order does not matter, as for integers.
/// Sums of floats along axes of extent 1 stay, because they turn -0.0 into 0.0.
pub struct ReduceViews;

static REDUCE_VIEWS: RewriteDef =
    RewriteDef::root("reduce-views", "reductions of views become reductions of the arrays behind them", &ReduceViews)
        .roots(&["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"])
        .stage(Stage::AfterInference)
        .after(&["canonicalize"])
        .reach(1);
register_rewrite!(REDUCE_VIEWS);

type AxisList = SmallVec<[usize; 4]>;

/// The new reduction, and the op on its result.
pub struct ViewedReduction {
    root: Inst,
    /// The view that is taken first, of the viewed array: it has fewer elements.
    view: Option<Attrs>,
    operand: Value,
    /// The axes that are reduced; none if the operand only needs the last op.
    axes: Option<AxisList>,
    last: Last,
}

/// The op that is applied last.
enum Last {
    Nothing,
    Transpose(AxisList),
    Flip(AxisList),
    Times(u64),
    /// Drops axes and casts.
    Squeeze(AxisList),
}

impl RootRewrite for ReduceViews {
    type Match = ViewedReduction;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<ViewedReduction, NoMatch> {
        let reduction = Reduction::of(cx, root).ok_or(NoMatch::quiet())?;
        reduction.of_view(cx).or_else(|| reduction.of_one_element(cx)).ok_or(NoMatch::quiet())
    }

    fn apply(&self, found: ViewedReduction, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(found.root);
        let (op, attrs) = (data.op.name, data.attrs.clone());
        let ty = rw.func().ty(data.results[0]).clone();
        let mut value = found.operand;
        if let Some(view) = found.view {
            value = rw.op_with("broadcast_in_dim", [value], view)?;
        }
        if let Some(axes) = found.axes {
            let all = axes.len() == rw.func().ty(value).rank();
            let keeps = attrs.get("keepdims").map(|keeps| ("keepdims", keeps.clone()));
            let axes = (!all).then(|| ("axes", ints(&axes)));
            let attrs = keeps.into_iter().chain(axes).fold(Attrs::new(), |attrs, (name, attr)| attrs.with(name, attr));
            value = rw.op_with(op, [value], attrs)?;
        }
        let of = |name: &'static str, axes: &AxisList| Attrs::new().with(name, ints(axes));
        value = match found.last {
            Last::Nothing => value,
            Last::Transpose(perm) => rw.op_with("transpose", [value], of("perm", &perm))?,
            Last::Flip(axes) => rw.op_with("flip", [value], of("axes", &axes))?,
            Last::Times(count) => rw.op("mul", [value.into(), Arg::from(Scalar::U64(count).cast(ty.dtype()))])?,
            Last::Squeeze(axes) => {
                let whole = rw.func().ty(value).rank();
                if !axes.is_empty() {
                    value = rw.op_with("squeeze", [value], of("axes", &axes))?;
                }
                if whole == axes.len() {
                    value = rw.op("item", [value])?;
                }
                if rw.func().ty(value).dtype() != ty.dtype() {
                    value = rw.op_with("cast", [value], Attrs::new().with("to", Attr::DType(ty.dtype())))?;
                }
                value
            }
        };
        rw.replace(found.root, &[value])
    }
}

fn ints(axes: &[usize]) -> Attr {
    Attr::Ints(axes.iter().map(|&axis| axis as i64).collect())
}

/// A reduction that the rewrite examines.
struct Reduction<'a> {
    root: Inst,
    data: &'a InstData,
    monoid: Monoid,
    operand: Value,
    ty: &'a Type,
    /// The reduced axes, in order.
    axes: AxisList,
    keeps: bool,
}

impl<'a> Reduction<'a> {
    fn of(cx: &MatchCx<'a>, root: Inst) -> Option<Self> {
        let func = cx.func();
        let data = func.inst(root);
        let operand = *data.args.first()?;
        let ty = func.ty(operand);
        let written = cx.is_written(data.results[0]) || cx.is_written(operand);
        let reduced = Reduced::of(func, data).filter(|reduced| !reduced.axes.is_empty() && !written)?;
        let Reduced { monoid, axes, keepdims: keeps, .. } = reduced;
        Some(Reduction { root, data, monoid, operand, ty, axes, keeps })
    }

    fn of_view(&self, cx: &MatchCx<'_>) -> Option<ViewedReduction> {
        let func = cx.func();
        let def = func.def_inst(self.operand)?;
        let view = func.inst(def);
        let (&[x], [_]) = (&view.args[..], &view.results[..]) else { return None };
        // The new reduction reads the array later than the view was made, and reads other elements.
        if cx.is_written(x) || cx.is_ended(x) {
            return None;
        }
        let found = match view.op.name {
            "transpose" => self.of_transpose(func, view, x),
            "flip" => self.of_flip(view, x),
            "broadcast_in_dim" => self.of_broadcast(func, view, x),
            "reshape" | "expand_dims" | "squeeze" => self.of_reshape(func.ty(x), x),
            _ => None,
        };
        // Testing an expression takes time proportional to its length, so this test runs for views only.
        found.filter(|_| cannot_fail(func, def) && cx.reaches(x, self.root))
    }

    /// True if elements may be combined in any order.
    fn is_unordered(&self) -> bool {
        match self.monoid {
            Monoid::ArgMin | Monoid::ArgMax => false,
            Monoid::Any | Monoid::All => true,
            _ => self.ty.dtype().is_bool() || self.ty.dtype().is_int(),
        }
    }

    /// True if integers are summed or multiplied as wider ones, in any order.
    fn is_widened(&self, func: &Function) -> bool {
        let result = func.ty(self.data.results[0]).dtype();
        self.is_unordered() && self.ty.dtype().size() < result.size()
    }

    /// True if rows are combined as trees: the order decides which of 0.0 and -0.0 is the extremum.
    fn is_tree(&self) -> bool {
        matches!(self.monoid, Monoid::Sum | Monoid::Min | Monoid::Max)
    }

    fn found(&self, operand: Value, axes: AxisList, last: Last) -> ViewedReduction {
        ViewedReduction { root: self.root, view: None, operand, axes: Some(axes), last }
    }

    /// The axes that are kept.
    fn kept(&self) -> AxisList {
        (0..self.ty.rank()).filter(|axis| !self.axes.contains(axis)).collect()
    }

    fn of_transpose(&self, func: &Function, view: &InstData, x: Value) -> Option<ViewedReduction> {
        let args = [func.ty(view.args[0]).clone()];
        let perm = permutation(&InferCx { op: view.op, args: &args, consts: &[], attrs: &view.attrs, callee: None });
        let perm = perm.ok()?;
        let inside = |axes: &[usize]| -> AxisList { axes.iter().map(|&axis| perm[axis]).collect() };
        let sorted = |mut axes: AxisList| -> AxisList {
            axes.sort_unstable();
            axes
        };
        let (reduced, kept) = (inside(&self.axes), inside(&self.kept()));
        let (axes, left) = (sorted(reduced.clone()), sorted(kept.clone()));
        let are_rows = axes.last() == Some(&(perm.len() - 1));
        if !are_rows && !self.is_widened(func) {
            return None;
        }
        // A row has the reduced axes after the last kept one.
        let rows = |axes: &[usize], kept: &[usize]| -> usize {
            axes.iter().filter(|&axis| kept.iter().all(|other| other < axis)).count()
        };
        let same_rows = rows(&self.axes, &self.kept()) == rows(&axes, &left);
        if !self.is_unordered() && !(reduced == axes && (same_rows || !self.is_tree())) {
            return None;
        }
        let order: AxisList = match self.keeps {
            true => perm.iter().copied().collect(),
            false => kept.iter().filter_map(|axis| left.iter().position(|other| other == axis)).collect(),
        };
        let in_order = order.iter().enumerate().all(|(at, &axis)| at == axis);
        Some(self.found(x, axes, if in_order { Last::Nothing } else { Last::Transpose(order) }))
    }

    fn of_flip(&self, view: &InstData, x: Value) -> Option<ViewedReduction> {
        let flipped = listed_axes(view.attrs.ints("axes"), self.ty.rank());
        if !self.is_unordered() && flipped.iter().any(|axis| self.axes.contains(axis)) {
            return None;
        }
        let kept = self.kept();
        let place = |axis: &usize| match self.keeps {
            true => (!self.axes.contains(axis)).then_some(*axis),
            false => kept.iter().position(|other| other == axis),
        };
        let left: AxisList = flipped.iter().filter_map(place).collect();
        Some(self.found(x, self.axes.clone(), if left.is_empty() { Last::Nothing } else { Last::Flip(left) }))
    }

    fn of_broadcast(&self, func: &Function, view: &InstData, x: Value) -> Option<ViewedReduction> {
        let sums = self.monoid == Monoid::Sum && self.is_unordered();
        if !sums && !matches!(self.monoid, Monoid::Min | Monoid::Max | Monoid::Any | Monoid::All) {
            return None;
        }
        let ty = func.ty(x);
        let args = [ty.clone()];
        let from = broadcast_axes(&InferCx { op: view.op, args: &args, consts: &[], attrs: &view.attrs, callee: None });
        let from = from.ok()?;
        let mut dims = view.attrs.dims("dims")?.to_vec();
        let mut copies: u64 = 1;
        for &axis in &self.axes {
            let inner = from.iter().position(|&to| to == axis);
            let is_made = inner.is_none_or(|inner| ty.dims()[inner] == Dim::Const(1));
            // An empty array has no minimum, and the sum of no copies is no product.
            if let (true, Dim::Const(extent @ 2..)) = (is_made, dims[axis]) {
                copies = copies.checked_mul(extent)?;
                dims[axis] = Dim::Const(1);
            }
        }
        let mixed = self.axes.iter().any(|&axis| dims[axis] != Dim::Const(1));
        if copies == 1 || (mixed && !self.is_unordered()) {
            return None;
        }
        let axes = view.attrs.ints("axes").map(|axes| Attr::Ints(axes.into()));
        let attrs = Attrs::new().with("dims", Attr::Dims(dims.into()));
        let attrs = axes.into_iter().fold(attrs, |attrs, axes| attrs.with("axes", axes));
        let last = if sums { Last::Times(copies) } else { Last::Nothing };
        Some(ViewedReduction { view: Some(attrs), ..self.found(x, self.axes.clone(), last) })
    }

    /// All elements, in the same order. Positions are kept in one row only.
    fn of_reshape(&self, ty: &Type, x: Value) -> Option<ViewedReduction> {
        let all = self.axes.len() == self.ty.rank() && !self.keeps && ty.rank() > 0;
        let one_row = !matches!(self.monoid, Monoid::ArgMin | Monoid::ArgMax) || ty.rank() == 1;
        (all && one_row).then(|| self.found(x, (0..ty.rank()).collect(), Last::Nothing))
    }

    /// One element needs no combination.
    fn of_one_element(&self, cx: &MatchCx<'_>) -> Option<ViewedReduction> {
        let (from, to) = (self.ty.dtype(), cx.func().ty(self.data.results[0]).dtype());
        let is_itself = match self.monoid {
            Monoid::Min | Monoid::Max => true,
            Monoid::Sum => !from.is_float() && !from.is_complex(),
            Monoid::Prod => !from.is_complex(),
            Monoid::Any | Monoid::All => from.is_bool(),
            Monoid::ArgMin | Monoid::ArgMax | Monoid::Dot => false,
        };
        let all_one = self.axes.iter().all(|&axis| self.ty.dims()[axis] == Dim::Const(1));
        if !is_itself || !all_one || (self.keeps && from == to && !cx.can_replace(self.root, &[self.operand])) {
            return None;
        }
        let dropped = if self.keeps { AxisList::new() } else { self.axes.clone() };
        let last = Last::Squeeze(dropped);
        Some(ViewedReduction { root: self.root, view: None, operand: self.operand, axes: None, last })
    }
}
