//! `flat-positions`: replaces positions in a whole array by positions in its elements as one row.

use crate::prelude::*;
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::{Attr, Dim};

/// Finds a position in an array of several axes in its `reshape` to one axis. `argmax` of all elements
/// counts them in row-major order, which is the order of a `reshape`. The kernel then has one axis, and a
/// contiguous array is not copied.
///
/// It is exact.
pub struct FlatPositions;

static FLAT_POSITIONS: RewriteDef = RewriteDef::root(
    "flat-positions",
    "positions in a whole array are positions in its elements as one row",
    &FlatPositions,
)
.roots(&["argmin", "argmax"])
.stage(Stage::BeforeLowering)
.before(&["array-expr"])
.reach(1);
register_rewrite!(FLAT_POSITIONS);

impl RootRewrite for FlatPositions {
    type Match = Inst;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Inst, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        let of_several = Reduced::of(func, data).is_some_and(|reduced| reduced.axes.len() > 1 && !reduced.keepdims);
        let is_plain = func.ty(data.args[0]).style().is_none();
        if of_several && is_plain { Ok(root) } else { Err(NoMatch::quiet()) }
    }

    fn apply(&self, root: Inst, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let ty = rw.func().ty(data.args[0]).clone();
        let product = ty.dims().iter().try_fold(1u64, |product, dim| match dim {
            Dim::Const(extent) => product.checked_mul(*extent),
            _ => None,
        });
        let flat = product.map_or(Dim::Any, Dim::Const);
        rw.set_point(Point::Before(root));
        rw.set_loc(data.loc);
        let row = rw.op_with("reshape", [data.args[0]], Attrs::new().with("dims", Attr::Dims([flat].into())))?;
        let position = rw.op(data.op.name, [row])?;
        rw.replace(root, &[position])
    }
}
