//! `components`: replaces a component of an assembled array by the operand that it was assembled from.

use crate::prelude::*;
use rewright_ir::Style;

/// Replaces `component` of `assemble` by the operand. Uses of the array itself still run the checks of
/// `assemble`.
pub struct Components;

static COMPONENTS: RewriteDef =
    RewriteDef::root("components", "a component of an assembled array is the operand of `assemble`", &Components)
        .roots(&["component"])
        .before(&["cse", "array-expr"]);
register_rewrite!(COMPONENTS);

impl RootRewrite for Components {
    type Match = (Inst, Value);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let whole = cx.operand_op(root, 0, "assemble").ok_or(NoMatch::quiet())?;
        let ty = func.ty(func.inst(root).args[0]);
        let all = Style::of(ty).and_then(|style| (style.def().components)(ty)).map_err(|_| NoMatch::quiet())?;
        let name = func.inst(root).attrs.str("name").unwrap_or_default();
        let at = all.iter().position(|component| component.name == name).ok_or(NoMatch::quiet())?;
        let part = func.inst(whole).args.get(at).copied().ok_or(NoMatch::quiet())?;
        if cx.can_replace(root, &[part]) { Ok((root, part)) } else { Err(NoMatch::quiet()) }
    }

    fn apply(&self, (root, part): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        rw.replace(root, &[part])
    }
}
