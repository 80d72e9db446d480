//! Rewrites for the tests, and short ways to run them. None is in the default pipeline.

use rewright_ir::{Module, parse_module, print_module};
use rewright_rewrites::prelude::*;
use rewright_rewrites::{NoObserver, Options, Pipeline, Report, Step};

pub fn module(text: &str) -> Module {
    parse_module(text, "test").unwrap_or_else(|e| panic!("{e:?}"))
}
pub fn text(module: &Module) -> String {
    print_module(module)
}
pub fn run(text: &str, pipeline: &str) -> (Module, Report) {
    let mut module = module(text);
    let pipeline = Pipeline::parse(pipeline).unwrap();
    let report = pipeline.run(&mut module, &Options::default(), &mut NoObserver).unwrap_or_else(|e| panic!("{e}"));
    (module, report)
}
pub fn names(steps: &[Step]) -> Vec<&'static str> {
    steps.iter().map(|s| s.rewrite).collect()
}

struct NegNeg;
impl RootRewrite for NegNeg {
    type Match = (Inst, Value);
    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let inner = cx.operand_op(root, 0, "neg").ok_or(NoMatch::quiet())?;
        let x = cx.func().inst(inner).args[0];
        if cx.can_replace(root, &[x]) { Ok((root, x)) } else { Err(NoMatch::quiet()) }
    }
    fn apply(&self, (root, x): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        rw.replace(root, &[x])
    }
}
static NEG_NEG: RewriteDef = RewriteDef::root("test-neg-neg", "neg (neg x) is x", &NegNeg).roots(&["neg"]).opt_in();

/// Erases what is unused.
struct Sweep;
impl RootRewrite for Sweep {
    type Match = Inst;
    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Inst, NoMatch> {
        let unused = cx.func().inst(root).results.iter().all(|&r| cx.func().use_count(r) == 0);
        if unused && cx.is_pure(root) { Ok(root) } else { Err(NoMatch::quiet()) }
    }
    fn apply(&self, root: Inst, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        rw.erase(root)
    }
}
static SWEEP: RewriteDef = RewriteDef::root("test-sweep", "erases what is unused", &Sweep).opt_in();

struct Swap;
impl RootRewrite for Swap {
    type Match = Inst;
    fn matches(&self, _: &MatchCx<'_>, root: Inst) -> Result<Inst, NoMatch> {
        Ok(root)
    }
    fn apply(&self, root: Inst, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let args = rw.func().inst(root).args.clone();
        rw.replace_with(root, "add", [args[1], args[0]], Attrs::new()).map(drop)
    }
}
static SWAP: RewriteDef = RewriteDef::root("test-swap", "add x y is add y x", &Swap).roots(&["add"]).opt_in();
register_rewrite!(NEG_NEG, SWEEP, SWAP);
