//! `full-operands`: replaces operands that are uniform arrays by their scalar value.

use rewright::ir::builder::infer_types;
use rewright::plugin::*;

/// Replaces an operand of an elementwise op that is a `full`, seen through views, by its scalar, if the
/// result keeps its extents. Other rewrites then use the scalar: for integers `x + zeros` becomes `x`.
/// For floats it does not, because -0.0 + 0.0 is 0.0.
pub struct FullOperands;

static FULL_OPERANDS: RewriteDef =
    RewriteDef::root("full-operands", "operands that are filled arrays become scalars", &FullOperands)
        .stage(Stage::AfterInference)
        .before(&["canonicalize"])
        .reach(2);
register_rewrite!(FULL_OPERANDS);

/// Views of a uniform array that have the same value everywhere.
const VIEWS: &[&str] = &["broadcast_in_dim", "transpose", "expand_dims", "slice", "flip", "diagonal"];
/// The longest chain of views that the rewrite follows.
const LONGEST: usize = 16;

impl RootRewrite for FullOperands {
    /// The instruction, the operand, and its replacement.
    type Match = (Inst, usize, Value);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        if !data.op.is_elementwise() || data.args.len() < 2 {
            return Err(NoMatch::quiet());
        }
        let found = (0..data.args.len()).find_map(|n| {
            let value = value_of(cx, data.args[n])?;
            let mut types: Vec<Type> = data.args.iter().map(|&arg| func.ty(arg).clone()).collect();
            types[n] = func.ty(value).clone();
            let mut consts: Vec<Option<Scalar>> = data.args.iter().map(|&arg| func.as_const(arg)).collect();
            consts[n] = func.as_const(value);
            let (_, results) = infer_types(data.op, &types, &consts, data.attrs.clone(), None).ok()?;
            let same = results.iter().eq(data.results.iter().map(|&r| func.ty(r)));
            // The `full` may be the operand that determines an unknown extent.
            let known = results.iter().all(|ty| !ty.dims().contains(&Dim::Any));
            (same && known && cx.reaches(value, root)).then_some((root, n, value))
        });
        found.ok_or(NoMatch::quiet())
    }

    fn apply(&self, (root, operand, value): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        rw.set_use(root, operand, value)
    }
}

/// The common value of all elements of an array.
fn value_of(cx: &MatchCx<'_>, mut array: Value) -> Option<Value> {
    let func = cx.func();
    for _ in 0..LONGEST {
        let data = func.inst(func.def_inst(array).filter(|_| !cx.is_written(array))?);
        match data.op.name {
            "full" => return data.args.first().copied(),
            name if VIEWS.contains(&name) => array = *data.args.first()?,
            _ => return None,
        }
    }
    None
}
