//! `node-extents`: fills in extents of array expressions that later types make known.

use crate::prelude::*;
use rewright_ir::expr::{IndexExpr, SymExpr, extent_sources};
use rewright_ir::{ArrayExpr, Attr, Dim};
use std::sync::Arc;

/// Sets the open extent of an axis of an `arrayexpr` to the extent that its operands have by now, and
/// refines the dims of results along this axis. Fusion keeps the types of values; inlining, or replacing a
/// block parameter, makes them more precise later.
///
/// It is exact because the extent of an open axis is the broadcast of its operands' extents.
pub struct NodeExtents;

static NODE_EXTENTS: RewriteDef =
    RewriteDef::root("node-extents", "gives nodes the extents that their operands are known to have", &NodeExtents)
        .roots(&["arrayexpr"])
        .stage(Stage::AfterInference);
register_rewrite!(NODE_EXTENTS);

impl RootRewrite for NodeExtents {
    type Match = (Inst, ArrayExpr);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let data = cx.func().inst(root);
        let Some(expr) = data.attrs.expr() else { return Err(NoMatch::quiet()) };
        let open =
            expr.axes.iter().any(|axis| axis.hi.is_none()) || expr.outs.iter().any(|o| o.dims.contains(&Dim::Any));
        if !open {
            return Err(NoMatch::quiet());
        }
        let dim = |arg: u32, at: usize| {
            let &value = data.args.get(arg as usize)?;
            cx.func().ty(value).dims().get(at).copied()
        };
        let mut precise = ArrayExpr::clone(expr);
        for (number, axis) in precise.axes.iter_mut().enumerate().filter(|(_, axis)| axis.hi.is_none()) {
            let sources = extent_sources(expr, number as u32);
            let extent = { sources }.try_fold(Dim::Const(1), |all, (arg, at)| all.broadcast(dim(arg, at)?));
            axis.hi = extent.and_then(SymExpr::of_dim);
        }
        refine_outs(&mut precise);
        if precise == **expr { Err(NoMatch::quiet()) } else { Ok((root, precise)) }
    }

    fn apply(&self, (root, expr): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let attrs = rw.func().inst(root).attrs.clone();
        rw.set_attrs(root, attrs.with("expr", Attr::Expr(Arc::new(expr))))
    }
}

/// Results whose positions along a dim are exactly those of an axis from 0 have this axis's extent.
fn refine_outs(expr: &mut ArrayExpr) {
    for out in expr.outs.iter_mut().filter(|out| out.fill.is_none()) {
        for (dim, position) in out.dims.iter_mut().zip(&out.index).filter(|(dim, _)| **dim == Dim::Any) {
            let IndexExpr::Affine(form) = position else { continue };
            let axis = form.as_axis().and_then(|axis| expr.axes.get(axis as usize));
            let axis = axis.filter(|axis| axis.kind.has_results() && axis.lo == SymExpr::default());
            let extent = axis.and_then(|axis| axis.hi.as_ref()).map(|hi| (hi.terms(), hi.constant));
            *dim = match extent {
                Some(([], extent)) => u64::try_from(extent).map_or(Dim::Any, Dim::Const),
                Some(([(name, 1)], 0)) => Dim::Sym(*name),
                _ => Dim::Any,
            };
        }
    }
}
