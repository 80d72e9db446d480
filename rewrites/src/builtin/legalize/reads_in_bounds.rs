//! `reads-in-bounds`: removes boundary modes from reads that are in bounds.

use crate::builtin::fusion::legality::covers;
use crate::prelude::*;
use rewright_ir::expr::{Axis, Index, IndexExpr, Mode, Operand, Source, SymExpr};
use rewright_ir::{ArrayExpr, Attr, Function};
use std::sync::Arc;

/// Marks positions of an `arrayexpr` as proved, in place of `wrap`, `clamp` and `pad`, where the position is
/// an axis that ends with the array. Then a kernel runs the node without a border.
///
/// It is exact: no such read is out of bounds.
pub struct ReadsInBounds;

static READS_IN_BOUNDS: RewriteDef =
    RewriteDef::root("reads-in-bounds", "removes boundary modes from reads that are in bounds", &ReadsInBounds)
        .roots(&["arrayexpr"])
        .stage(Stage::BeforeLowering)
        .before(&["array-expr"])
        .reach(1);
register_rewrite!(READS_IN_BOUNDS);

impl RootRewrite for ReadsInBounds {
    type Match = (Inst, Box<ArrayExpr>);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let data = cx.func().inst(root);
        let expr = data.attrs.expr().filter(|_| data.attrs.str("schedule").is_none()).ok_or(NoMatch::quiet())?;
        let proved = with_proved_positions(cx.func(), &data.args, expr).ok_or(NoMatch::quiet())?;
        Ok((root, Box::new(proved)))
    }

    fn apply(&self, (root, proved): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let attrs = rw.func().inst(root).attrs.clone();
        rw.set_attrs(root, attrs.with("expr", Attr::Expr(Arc::from(proved))))
    }
}

/// The node with positions marked as proved where the axis ends with the array; none if there are no such
/// positions.
fn with_proved_positions(func: &Function, args: &[Value], expr: &ArrayExpr) -> Option<ArrayExpr> {
    let dim = |operand: &Operand, at: usize| match operand.source {
        Source::Array(arg) => func.ty(args[arg as usize]).dims().get(at).copied(),
        _ => None,
    };
    let is_inside = |operand: &Operand, at: usize, index: &Index| {
        let IndexExpr::Affine(form) = &index.expr else { return false };
        let axis = form.as_axis().map(|axis| &expr.axes[axis as usize]);
        let has_mode = matches!(index.mode, Mode::Wrap | Mode::Clamp | Mode::Pad(_));
        let ends = |axis: &Axis| {
            axis.lo == SymExpr::default() && dim(operand, at).is_some_and(|dim| covers(axis.hi.as_ref(), dim))
        };
        has_mode && axis.is_some_and(ends)
    };
    let mut proved: Option<ArrayExpr> = None;
    for (number, operand) in expr.operands.iter().enumerate() {
        for (at, index) in operand.index.iter().enumerate().filter(|(at, index)| is_inside(operand, *at, index)) {
            let proved = proved.get_or_insert_with(|| expr.clone());
            proved.operands[number].index[at] = Index { mode: Mode::Proved, ..index.clone() };
        }
    }
    proved
}
