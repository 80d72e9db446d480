//! The rewrite `form-softsign`, and a rule about what it makes.

use rewright::plugin::*;

rule! { "softsign-neg": (softsign (neg ?x)) => (neg (softsign ?x)) }

/// `x / (|x| + 1)` is `softsign x`.
pub struct FormSoftsign;

static FORM_SOFTSIGN: RewriteDef =
    RewriteDef::root("form-softsign", "x / (|x| + 1) is softsign x", &FormSoftsign).roots(&["div"]).reach(3);
register_rewrite!(FORM_SOFTSIGN);

impl RootRewrite for FormSoftsign {
    type Match = (Inst, Value);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let x = cx.func().inst(root).args[0];
        let more = cx.operand_op(root, 1, "add").ok_or(NoMatch::quiet())?;
        let abs = cx.operand_op(more, 0, "abs").ok_or(NoMatch::quiet())?;
        let one = cx.operand_const(more, 1) == Some(Scalar::one(cx.func().ty(x).dtype()));
        let same = cx.func().inst(abs).args[0] == x && cx.func().ty(x).dtype().is_float();
        match one && same && !cx.is_written(x) {
            true => Ok((root, x)),
            false => Err(NoMatch::quiet()),
        }
    }

    fn apply(&self, (root, x): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let softsign = rw.op("softsign", [x])?;
        rw.replace(root, &[softsign])
    }
}
