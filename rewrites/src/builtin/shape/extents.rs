//! `extents`: folds ranks and extents that a type states.

use crate::prelude::*;
use rewright_ir::Dim;

/// Replaces `rank` of a value whose type is known, and `dim` of an axis whose extent is a constant, by
/// numbers.
///
/// It also runs before type inference, on parameters with known types: code that is selected by a rank
/// (`br_if` on `eq %rank, 2`) often has types only where it is selected. Numba rewrites semantic constants
/// in the same way.
pub struct Extents;

static EXTENTS: RewriteDef = RewriteDef::root("extents", "ranks and extents that a type tells are constants", &Extents)
    .roots(&["rank", "dim"])
    .stage(Stage::BeforeInference)
    .reach(1);
register_rewrite!(EXTENTS);

impl RootRewrite for Extents {
    type Match = (Inst, i64);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let (func, data) = (cx.func(), cx.func().inst(root));
        let ty = func.ty(data.args[0]);
        if !ty.is_known() || cx.is_written(data.results[0]) {
            return Err(NoMatch::quiet());
        }
        let found = match data.attrs.int("axis") {
            _ if data.op.name == "rank" => Some(ty.rank() as i64),
            Some(axis) => extent(ty, axis),
            None => None,
        };
        found.map(|number| (root, number)).ok_or(NoMatch::quiet())
    }

    fn apply(&self, (root, number): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        rw.replace_with_constants(root, &[Scalar::I64(number)])
    }
}

/// The extent of an axis, if it is a constant; a negative axis counts from the end.
fn extent(ty: &Type, axis: i64) -> Option<i64> {
    let axis = if axis < 0 { axis + ty.rank() as i64 } else { axis };
    match ty.dims().get(usize::try_from(axis).ok()?)? {
        Dim::Const(n) => i64::try_from(*n).ok(),
        _ => None,
    }
}
