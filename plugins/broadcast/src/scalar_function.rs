//! The rewrite `scalar-function`: replaces `broadcasted` of scalars by the function itself, since there is
//! nothing to broadcast.

use crate::ops::broadcasted;
use rewright::plugin::*;

/// See the [module's page](self).
pub struct InlineScalarFunction;

static SCALAR_FUNCTION: RewriteDef =
    RewriteDef::root("scalar-function", "`broadcasted` of scalars is the function itself", &InlineScalarFunction)
        .roots(&["broadcasted"])
        .benefit(10);
register_rewrite!(SCALAR_FUNCTION);

impl RootRewrite for InlineScalarFunction {
    type Match = Inst;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        match cx.func().ty(cx.func().inst(root).results[0]).is_scalar() {
            true => Ok(root),
            false => Err(NoMatch::quiet()),
        }
    }

    fn apply(&self, root: Inst, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let applied = match (broadcasted::op(&data.attrs)?, data.attrs.func("callee")) {
            (Some(op), _) => rw.op_with(op.name, data.args, broadcasted::attrs_of_op(&data.attrs))?,
            (None, Some(callee)) => rw.op_with("ufunc", data.args, Attrs::new().with("callee", Attr::Func(callee)))?,
            (None, None) => return Err(RewriteError::new("`broadcasted` applies no function")),
        };
        rw.replace(root, &[applied])
    }
}
