//! The rewrite `form-cube`: `(x * x) * x` is `cube x`.
//!
//! A rewrite has two halves. `matches` is read-only and fails without allocating, because it runs often;
//! its match has a type of the rewrite's own. `apply` consumes the match, and changes the function through
//! the [`Rewriter`], which checks every step. The result must keep every bit, and here it does: `cube` is
//! defined as the same two products.

use rewright::plugin::*;

/// Finds products of three of the same value.
pub struct FormCube;

static FORM_CUBE: RewriteDef = RewriteDef::root("form-cube", "(x * x) * x is cube x", &FormCube).roots(&["mul"]);
register_rewrite!(FORM_CUBE);

impl RootRewrite for FormCube {
    /// The outer product, and the value whose cube it is.
    type Match = (Inst, Value);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        // Either operand may be the square.
        let cubed = (0..2).find_map(|i| {
            let square = cx.operand_op(root, i, "mul")?;
            let x = cx.func().inst(root).args[1 - i];
            cx.func().inst(square).args.iter().all(|&a| a == x).then_some(x)
        });
        let x = cubed.ok_or(NoMatch::quiet())?;
        // Of bools, `mul` is "and". A value that is stored to may have been another one when it was squared.
        if cx.func().ty(x).dtype() == DType::Bool || cx.is_written(x) {
            return Err(NoMatch::quiet());
        }
        Ok((root, x))
    }

    fn apply(&self, (root, x): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let cube = rw.op("cube", [x])?;
        rw.replace(root, &[cube])
    }
}
