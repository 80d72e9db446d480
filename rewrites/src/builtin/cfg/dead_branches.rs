//! `dead-branches`: takes branches that are decided before there are types.

use crate::prelude::*;
use rewright_ir::{Target, eval_scalar};
use smallvec::SmallVec;

/// In a function without inferred types, replaces a `br_if` or `switch` that depends only on integer and
/// bool constants by a `jump`: unreachable code need not have types. In typed functions `fold` does this,
/// and more.
pub struct DeadBranches;

static DEAD_BRANCHES: RewriteDef =
    RewriteDef::root("dead-branches", "branches that constants decide are taken before type inference", &DeadBranches)
        .roots(&["br_if", "switch"])
        .stage(Stage::BeforeInference)
        .after(&["extents"])
        .reach(DEPTH);
register_rewrite!(DEAD_BRANCHES);

/// The depth of ops to which a condition is evaluated.
const DEPTH: u8 = 4;

impl RootRewrite for DeadBranches {
    type Match = (Block, Target);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let (func, data) = (cx.func(), cx.func().inst(root));
        let decided = data.args.first().filter(|_| func.untyped).and_then(|&v| constant(cx, v, DEPTH));
        let taken = decided.and_then(|scalar| match data.attrs.ints("cases") {
            None => data.targets.get(usize::from(!scalar.truthy())),
            Some(cases) => {
                let number = scalar.to_i128()?;
                let at = cases.iter().position(|&case| i128::from(case) == number).unwrap_or(cases.len());
                data.targets.get(at)
            }
        });
        let block = func.block_of(root);
        taken.zip(block).map(|(target, block)| (block, target.clone())).ok_or(NoMatch::quiet())
    }

    fn apply(&self, (block, target): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        rw.set_terminator(block, "jump", Vec::<Value>::new(), Attrs::new(), [target]).map(drop)
    }
}

/// The integer or bool constant that a value is. These do not depend on the dtypes that inference finds for
/// literals; fractions may.
fn constant(cx: &MatchCx<'_>, value: Value, depth: u8) -> Option<Scalar> {
    let whole = |scalar: &Scalar| scalar.dtype().is_bool() || scalar.dtype() == DType::I64;
    let func = cx.func();
    if let Some(scalar) = func.as_const(value) {
        return Some(scalar).filter(whole);
    }
    let data = func.inst(func.def_inst(value).filter(|_| depth > 0)?);
    let args: Option<SmallVec<[Scalar; 3]>> = data.args.iter().map(|&arg| constant(cx, arg, depth - 1)).collect();
    let ([_], true) = (&data.results[..], data.op.is_elementwise()) else { return None };
    eval_scalar(data.op, &args?, &data.attrs).ok()?.first().copied().filter(whole)
}
