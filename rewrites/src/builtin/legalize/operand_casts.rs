//! `operand-casts`: casts operands of `concat`, `stack` and `update` before they are copied.

use crate::prelude::*;
use rewright_ir::{Attr, Function, InstData};

/// Casts array operands of `concat`, `stack` and `update` to the dtype of the result by a separate `cast`.
/// The cast is then fused with the operand's producer, and the op only copies. `cse` shares equal casts.
///
/// It is exact: the ops cast their operands in the same way.
pub struct OperandCasts;

static OPERAND_CASTS: RewriteDef = RewriteDef::root(
    "operand-casts",
    "casts operands before elements of another dtype are combined with them",
    &OperandCasts,
)
.roots(&["concat", "stack", "update"])
.stage(Stage::AfterInference)
.after(&["canonicalize"])
.before(&["cse"])
.reach(1);
register_rewrite!(OPERAND_CASTS);

/// The operands that are combined: all except positions.
fn parts(data: &InstData) -> &[Value] {
    if data.op.name == "update" { &data.args[..data.args.len().min(2)] } else { &data.args }
}

/// Whether an operand is an array of another dtype.
fn is_other(func: &Function, data: &InstData, part: Value) -> bool {
    let ty = func.ty(part);
    ty.is_array() && ty.style().is_none() && ty.dtype() != func.ty(data.results[0]).dtype()
}

impl RootRewrite for OperandCasts {
    type Match = Inst;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Inst, NoMatch> {
        let data = cx.func().inst(root);
        let found = parts(data).iter().any(|&part| is_other(cx.func(), data, part));
        if found { Ok(root) } else { Err(NoMatch::quiet()) }
    }

    fn apply(&self, root: Inst, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let to = Attr::DType(rw.func().ty(data.results[0]).dtype());
        rw.set_point(Point::Before(root));
        rw.set_loc(data.loc);
        let mut args = data.args.to_vec();
        for (arg, &part) in args.iter_mut().zip(parts(&data)) {
            if is_other(rw.func(), &data, part) {
                *arg = rw.op_with("cast", [part], Attrs::new().with("to", to.clone()))?;
            }
        }
        let joined = rw.op_with(data.op.name, args, data.attrs.clone())?;
        rw.replace(root, &[joined])
    }
}
