//! Long functions take linear time. The tests count tries of rewrites; `REWRIGHT_TIMES=1` prints times too.

use crate::run;
use rewright_ir::{Arg, Attrs, Block, DType, Dim, FuncBuilder, Module, Target, Type, Value, ValueDef, parse_module};

const LENGTH: usize = 20_000;

fn alone(b: FuncBuilder<'_>) -> Module {
    let mut module = Module::new();
    module.insert(b.finish());
    module
}

/// A function of `%x: i64` that returns the result of `grow`.
fn chain(grow: impl Fn(&mut FuncBuilder<'_>, Value, usize) -> Value) -> Module {
    let int = Type::scalar(DType::I64);
    let mut b = FuncBuilder::new("f", &[("x", int.clone())], vec![int]);
    let x = b.param(0);
    let last = (0..LENGTH).fold(x, |last, n| grow(&mut b, last, n));
    b.ret([last]).unwrap();
    alone(b)
}

/// Runs a pipeline, and checks that the tries are proportional to the instructions.
fn run_linear(pipeline: &str, mut module: Module) -> usize {
    let before: usize = module.functions().map(|f| f.inst_count()).sum();
    let begun = std::time::Instant::now();
    let report = run(pipeline, &mut module);
    if std::env::var_os("REWRIGHT_TIMES").is_some() {
        eprintln!("{pipeline} on {before}: {:?}", begun.elapsed());
    }
    let asked: u64 = report.stats.iter().map(|s| s.asked).sum();
    assert!(asked <= 8 * before as u64, "asked {asked} times about {before} instructions");
    module.functions().map(|f| f.inst_count()).sum()
}

#[test]
fn chains_of_constants() {
    let m = chain(|b, last, n| match n {
        0 => b.op("add", [1, 2]).unwrap(),
        _ => b.op("bitxor", [last.into(), Arg::from(n as i64)]).unwrap(),
    });
    assert_eq!(run_linear("fold", m), 1);
}

#[test]
fn chains_of_identities() {
    let m = chain(|b, last, _| b.op("mul", [Arg::from(1), last.into()]).unwrap());
    assert_eq!(run_linear("canonicalize, dce", m), 1);
    let m = chain(|b, last, _| b.op("neg", [last]).unwrap());
    assert_eq!(run_linear("canonicalize, dce", m), 1);
    let m = chain(|b, last, _| b.op("add", [last.into(), Arg::from(3)]).unwrap());
    assert_eq!(run_linear("canonicalize, dce", m), 2);
}

#[test]
fn chains_of_copies() {
    let m = chain(|b, last, _| {
        let copies = [b.op("neg", [last]).unwrap(), b.op("neg", [last]).unwrap()];
        b.op("bitand", copies).unwrap()
    });
    assert_eq!(run_linear("cse", m), 2 * LENGTH + 1);
}

#[test]
fn chains_of_nothing() {
    let m = chain(|b, last, _| {
        b.op("neg", [last]).unwrap();
        last
    });
    assert_eq!(run_linear("dce", m), 1);
    let m = chain(|b, last, _| b.op("neg", [last]).unwrap());
    assert_eq!(run_linear("fold, cse, dce", m), LENGTH + 1);
}

#[test]
fn chains_of_blocks() {
    let int = Type::scalar(DType::I64);
    let mut b = FuncBuilder::new("f", &[("x", int.clone())], vec![int.clone()]);
    let exit = b.block("exit", &[("r", int.clone())]);
    b.switch_to(exit);
    b.ret([b.block_param(exit, 0)]).unwrap();
    let first = b.func().entry().unwrap();
    b.switch_to(first);
    let mut last = b.op("add", [1, 1]).unwrap();
    for _ in 0..LENGTH / 10 {
        let next = b.block("next", &[("k", int.clone())]);
        let decided = b.op("ge", [last.into(), Arg::from(0)]).unwrap();
        b.inst("br_if", [decided], Attrs::new(), [to(next, last), to(exit, last)]).unwrap();
        b.switch_to(next);
        last = b.op("add", [b.block_param(next, 0).into(), Arg::from(1)]).unwrap();
    }
    b.inst("jump", Vec::<Value>::new(), Attrs::new(), [to(exit, last)]).unwrap();
    // Each block keeps a jump.
    assert_eq!(run_linear("fold, dce", alone(b)), LENGTH / 10 + 2);
}

/// A function of many blocks. `each` adds one, which the previous block branches to with an integer; it
/// returns the target of that branch.
fn row(count: usize, each: impl Fn(&mut FuncBuilder<'_>, usize, Value, Target) -> Target) -> Module {
    let int = Type::scalar(DType::I64);
    let mut b = FuncBuilder::new("f", &[("x", int.clone()), ("c", Type::scalar(DType::Bool))], vec![int.clone()]);
    let mut last = b.param(0);
    for at in 0..count {
        let block = b.block("next", &[("k", int.clone())]);
        let next = each(&mut b, at, last, to(block, last));
        b.inst("jump", Vec::<Value>::new(), Attrs::new(), [next]).unwrap();
        b.switch_to(block);
        last = b.block_param(block, 0);
    }
    b.ret([last]).unwrap();
    alone(b)
}

fn to(block: Block, arg: Value) -> Target {
    Target { block, args: [arg].into_iter().collect() }
}

#[test]
fn rows_of_blocks_merge() {
    let m = row(LENGTH / 2, |b, _, last, next| to(next.block, b.op("neg", [last]).unwrap()));
    assert_eq!(run_linear("merge-blocks", m), LENGTH / 2 + 1);
    // Empty blocks are all merged.
    assert_eq!(run_linear("merge-blocks", row(LENGTH, |_, _, _, next| next)), 1);
}

#[test]
fn branches_go_far() {
    assert_eq!(run_linear("jump-threading", row(LENGTH, |_, _, _, next| next)), 2);
    // Each decided branch leaves a jump to its target.
    let m = row(LENGTH / 4, |b, _, _, next| {
        let (yes, no) = (b.block("yes", &[]), b.block("no", &[]));
        let end = |block| Target { block, args: [].into_iter().collect() };
        let c = b.param(1);
        b.inst("br_if", [c], Attrs::new(), [end(yes), end(no)]).unwrap();
        b.switch_to(no);
        b.ret([b.param(0)]).unwrap();
        b.switch_to(yes);
        next
    });
    assert_eq!(run_linear("jump-threading, dce", m), 3);
}

#[test]
fn copies_go_far() {
    assert_eq!(run_linear("block-args", row(LENGTH, |_, _, _, next| next)), LENGTH + 1);
    // Each block branches back to itself, with its own parameter.
    let m = row(LENGTH, |b, at, last, next| {
        let c = b.param(1);
        if let (ValueDef::Param(here, _), true) = (b.func().def(last), at > 0) {
            let rest = b.block("rest", &[]);
            let on = Target { block: rest, args: [].into_iter().collect() };
            b.inst("br_if", [c], Attrs::new(), [to(here, last), on]).unwrap();
            b.switch_to(rest);
        }
        next
    });
    assert_eq!(run_linear("block-args", m), 2 * LENGTH);
}

#[test]
fn the_same_in_many_blocks() {
    let m = row(LENGTH, |b, _, last, next| {
        let sums = [b.op("neg", [b.param(0)]).unwrap(), b.op("neg", [b.param(0)]).unwrap()];
        let both = b.op("add", sums).unwrap();
        to(next.block, b.op("add", [both, last]).unwrap())
    });
    assert_eq!(run_linear("gvn", m), 2 * LENGTH + 3);
}

#[test]
fn much_moves_out_of_many_loops() {
    // Each block branches back to itself.
    let m = row(LENGTH / 2, |b, at, last, next| {
        let same = b.op("add", [b.param(0).into(), Arg::from(at as i64)]).unwrap();
        let sum = b.op("add", [same, last]).unwrap();
        if let (ValueDef::Param(here, _), true) = (b.func().def(last), at > 0) {
            let rest = b.block("rest", &[]);
            let on = Target { block: rest, args: [].into_iter().collect() };
            b.inst("br_if", [b.param(1)], Attrs::new(), [to(here, sum), on]).unwrap();
            b.switch_to(rest);
        }
        to(next.block, sum)
    });
    assert_eq!(run_linear("licm", m), 2 * LENGTH);
    // Nested loops.
    let m = row(200, |b, at, last, next| {
        let same = b.op("add", [b.param(0).into(), Arg::from(at as i64)]).unwrap();
        to(next.block, b.op("add", [same, last]).unwrap())
    });
    assert_eq!(run_linear("licm", m), 601);
}

/// The same with arrays: `each` computes an array from the block's parameter.
fn array_row(count: usize, each: impl Fn(&mut FuncBuilder<'_>, Value) -> Value) -> Module {
    let array = Type::array(DType::F64, [Dim::from("n")]);
    let mut b = FuncBuilder::new("f", &[("x", array.clone())], vec![array.clone()]);
    let mut last = b.param(0);
    for _ in 0..count {
        let block = b.block("next", &[]);
        let next = each(&mut b, last);
        b.inst("jump", Vec::<Value>::new(), Attrs::new(), [Target { block, args: [].into_iter().collect() }]).unwrap();
        b.switch_to(block);
        last = next;
    }
    b.ret([last]).unwrap();
    alone(b)
}

#[test]
fn long_chains_sink() {
    let m = array_row(LENGTH / 4, |b, last| b.op("neg", [last]).unwrap());
    assert_eq!(run_linear("sink", m), LENGTH / 2 + 1);
}

#[test]
fn many_dels_are_placed() {
    let m = array_row(LENGTH / 4, |b, last| b.op("neg", [last]).unwrap());
    // All arrays except the argument and the result are ended.
    assert_eq!(run_linear("del-placement", m), 3 * LENGTH / 4);
}

/// Each function calls the previous one twice: fused bodies of expressions would double at each level.
#[test]
fn trees_of_calls() {
    let mut text = String::from("func @f0(%x: f64[n]) -> f64[n] {\nentry:\n  %0 = sin %x\n  ret %0\n}\n");
    for at in 1..40 {
        let call = format!("call @f{}", at - 1);
        text += &format!(
            "func @f{at}(%x: f64[n]) -> f64[n] {{\nentry:\n  %0 = {call}(%x)\n  %1 = {call}(%0)\n  %2 = add %0, %1\n  ret %2\n}}\n"
        );
    }
    let mut module = parse_module(&text, "calls").unwrap();
    let report = run("default", &mut module);
    assert!(module.to_string().len() < 40 * text.len(), "{} bytes", module.to_string().len());
    assert!(report.remarks.iter().any(|remark| remark.message.contains("has more than 64 instructions")));
}

/// Each function calls the next one. Callees are rewritten first, independent of their position, so each
/// call is inlined once.
#[test]
fn chains_of_calls() {
    const FUNCTIONS: usize = 500;
    let link = |at: usize| {
        format!("func @f{at}(%x: f64) -> f64 {{\nentry:\n  %0 = call @f{}(%x)\n  %1 = cos %0\n  ret %1\n}}\n", at + 1)
    };
    let last = format!("func @f{FUNCTIONS}(%x: f64) -> f64 {{\nentry:\n  %0 = sin %x\n  ret %0\n}}\n");
    let links: Vec<String> = (0..FUNCTIONS).map(link).chain([last]).collect();
    let rewritten = |text: String| {
        let mut module = parse_module(&text, "calls").unwrap();
        let report = run("inline", &mut module);
        let applied: u64 = report.stats.iter().map(|stats| stats.applied).sum();
        assert!(applied <= FUNCTIONS as u64, "{applied} calls were inlined");
        let mut functions: Vec<String> = module.functions().map(|func| func.to_string()).collect();
        functions.sort();
        functions
    };
    let forward = rewritten(links.concat());
    let backward = rewritten(links.into_iter().rev().collect());
    assert_eq!(forward, backward);
}
