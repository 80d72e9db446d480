//! Rewrites for the tests, and short ways to run them. None is in the default pipeline.

use rewright_ir::{Module, parse_module, print_module};
use rewright_rewrites::prelude::*;
use rewright_rewrites::{NoObserver, Options, Pipeline, Report, Step};
use std::collections::HashMap;

pub fn module(text: &str) -> Module {
    parse_module(text, "test").unwrap_or_else(|e| panic!("{e:?}"))
}
pub fn text(module: &Module) -> String {
    print_module(module)
}

/// A function of two scalars, from its body's text.
pub fn scalars(body: &str) -> String {
    format!("func @f(%x: f64, %y: f64) -> f64 {{\nentry:\n{body}}}\n")
}

pub fn run(text: &str, pipeline: &str) -> (Module, Report) {
    let mut module = module(text);
    let report = run_module(&mut module, pipeline);
    (module, report)
}
pub fn run_module(module: &mut Module, pipeline: &str) -> Report {
    run_with(module, pipeline, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}
pub fn run_with(module: &mut Module, pipeline: &str, options: &Options) -> Result<Report, RewriteError> {
    Pipeline::parse(pipeline).unwrap().run(module, options, &mut NoObserver)
}
pub fn names(steps: &[Step]) -> Vec<&'static str> {
    steps.iter().map(|s| s.rewrite).collect()
}

/// A root rewrite without a condition, from a function.
pub struct Always(pub fn(Inst, &mut Rewriter<'_>) -> Result<(), RewriteError>);
impl RootRewrite for Always {
    type Match = Inst;
    fn matches(&self, _: &MatchCx<'_>, root: Inst) -> Result<Inst, NoMatch> {
        Ok(root)
    }
    fn apply(&self, root: Inst, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        (self.0)(root, rw)
    }
}

/// Replaces an instruction by an op with the same operands.
pub fn becomes(root: Inst, rw: &mut Rewriter<'_>, op: &str) -> Result<(), RewriteError> {
    let args = rw.func().inst(root).args.clone();
    rw.replace_with(root, op, args, Attrs::new()).map(drop)
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

/// Erases unused instructions.
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
static SWEEP: RewriteDef = RewriteDef::root("test-sweep", "erases unused instructions", &Sweep).opt_in();

/// Replaces `x * 2.0` by `x + x`.
struct Double;
impl RootRewrite for Double {
    type Match = (Inst, Value);
    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let args = &cx.func().inst(root).args;
        match cx.operand_const(root, 1) {
            Some(Scalar::F64(2.0)) => Ok((root, args[0])),
            Some(_) => Err(NoMatch::because("the factor is not 2")),
            None => Err(NoMatch::quiet()),
        }
    }
    fn apply(&self, (root, x): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let loc = rw.func().inst(root).loc;
        rw.remark(loc, "an addition is cheaper");
        rw.replace_with(root, "add", [x, x], Attrs::new()).map(drop)
    }
}
static DOUBLE: RewriteDef = RewriteDef::root("test-double", "x * 2 is x + x", &Double).roots(&["mul"]).opt_in();

/// Replaces several `sin`s of one value by the first one.
struct Share;
impl Rewrite for Share {
    type Match = Vec<(Inst, Value)>;
    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        let mut first: HashMap<Value, Value> = HashMap::new();
        let mut found = Vec::new();
        for inst in cx.func().insts(block).filter(|&i| cx.func().inst(i).op.name == "sin") {
            let data = cx.func().inst(inst);
            match first.get(&data.args[0]) {
                Some(&value) => found.push((inst, value)),
                None => {
                    first.insert(data.args[0], data.results[0]);
                }
            }
        }
        if found.is_empty() { Err(NoMatch::quiet()) } else { Ok(found) }
    }
    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        found.into_iter().try_for_each(|(inst, value)| rw.replace(inst, &[value]))
    }
}
static SHARE: RewriteDef = RewriteDef::block("test-share", "equal sines become one", &Share).roots(&["sin"]).opt_in();

/// Moves every `cos` to the end of its block, and a new `sin` with it.
struct Crowd;
impl Rewrite for Crowd {
    type Match = (Vec<Inst>, Inst);
    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        let terminator = cx.func().terminator(block).ok_or(NoMatch::quiet())?;
        let mut found: Vec<Inst> = cx.func().insts(block).collect();
        found.retain(|&i| cx.func().inst(i).op.name == "cos");
        if found.len() + 1 == cx.func().inst_count() { Ok((found, terminator)) } else { Err(NoMatch::quiet()) }
    }
    fn apply(&self, (found, terminator): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        for inst in found {
            let x = rw.func().inst(inst).args[0];
            rw.set_point(Point::Before(terminator));
            rw.op("sin", [x])?;
            rw.move_before(inst, terminator)?;
        }
        Ok(())
    }
}
static CROWD: RewriteDef = RewriteDef::block("test-crowd", "moves cosines to the end", &Crowd).roots(&["cos"]).opt_in();

/// Erases one `exp` of a block in each application.
struct OneExp;
impl Rewrite for OneExp {
    type Match = (Inst, Value);
    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        let inst = cx.func().insts(block).find(|&i| cx.func().inst(i).op.name == "exp").ok_or(NoMatch::quiet())?;
        Ok((inst, cx.func().inst(inst).args[0]))
    }
    fn apply(&self, (inst, x): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        rw.replace(inst, &[x])
    }
}
static ONE_EXP: RewriteDef = RewriteDef::block("test-one-exp", "takes out an exp", &OneExp).roots(&["exp"]).opt_in();

register_rewrite!(NEG_NEG, SWEEP, DOUBLE, SHARE, CROWD, ONE_EXP);
