//! Rewrites that do not terminate are detected quickly, and named.

use crate::common::{Always, becomes, module, names, run_with, scalars, text};
use pretty_assertions::assert_eq;
use rewright_rewrites::prelude::*;
use rewright_rewrites::{Options, RewriteError};
use std::time::{Duration, Instant};

static AGAIN: RewriteDef =
    RewriteDef::root("loop-again", "x + y is x + y", &Always(|i, rw| becomes(i, rw, "add"))).roots(&["add"]).opt_in();

static SWAP: RewriteDef = RewriteDef::root(
    "loop-swap",
    "x + y is y + x",
    &Always(|root, rw| {
        let args = rw.func().inst(root).args.clone();
        rw.replace_with(root, "add", [args[1], args[0]], Attrs::new()).map(drop)
    }),
)
.roots(&["add"])
.opt_in();

static SIN_COS: RewriteDef =
    RewriteDef::root("loop-sin-cos", "wrong", &Always(|i, rw| becomes(i, rw, "cos"))).roots(&["sin"]).opt_in();
static COS_TAN: RewriteDef =
    RewriteDef::root("loop-cos-tan", "wrong", &Always(|i, rw| becomes(i, rw, "tan"))).roots(&["cos"]).opt_in();
static COS_SIN: RewriteDef =
    RewriteDef::root("loop-cos-sin", "wrong", &Always(|i, rw| becomes(i, rw, "sin"))).roots(&["cos"]).opt_in();
static TAN_SIN: RewriteDef =
    RewriteDef::root("loop-tan-sin", "wrong", &Always(|i, rw| becomes(i, rw, "sin"))).roots(&["tan"]).opt_in();

static GROW: RewriteDef = RewriteDef::root(
    "loop-grow",
    "exp x is exp (neg (neg x)), for ever",
    &Always(|root, rw| {
        let x = rw.func().inst(root).args[0];
        let y = rw.op("neg", [x])?;
        let z = rw.op("neg", [y])?;
        rw.replace_with(root, "exp", [z], Attrs::new()).map(drop)
    }),
)
.roots(&["exp"])
.opt_in();

static COUNT: RewriteDef = RewriteDef::root(
    "loop-count",
    "x - c is x - (c + 1)",
    &Always(|root, rw| {
        let args = rw.func().inst(root).args.clone();
        let Some(Scalar::F64(c)) = rw.func().as_const(args[1]) else { return Err(RewriteError::new("no constant")) };
        let next = rw.constant(c + 1.0);
        rw.set_use(root, 1, next)
    }),
)
.roots(&["sub"])
.opt_in();

register_rewrite!(AGAIN, SWAP, SIN_COS, COS_TAN, COS_SIN, TAN_SIN, GROW, COUNT);

/// The error of a pipeline, which must leave the module unchanged and come within a second.
fn fails(pipeline: &str, body: &str, options: &Options) -> RewriteError {
    let mut module = module(&scalars(body));
    let before = text(&module);
    let begun = Instant::now();
    let error = run_with(&mut module, pipeline, options).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(text(&module), before);
    error
}

/// The rewrites of a cycle, sorted, and its forms.
fn cycle(pipeline: &str, body: &str) -> (Vec<&'static str>, [String; 2]) {
    let error = fails(pipeline, body, &Options::default());
    let RewriteError::Cycle { function, steps, forms } = &error else { panic!("{error}") };
    assert_eq!(*function, "f");
    let said = error.to_string();
    assert!(steps.iter().all(|s| said.contains(s.rewrite)) && said.contains(&forms[0]), "{said}");
    let mut names = names(steps);
    names.sort_unstable();
    (names, *forms.clone())
}

#[test]
fn a_rewrite_that_changes_nothing_that_matters() {
    let (names, [a, b]) = cycle("loop-again", "  %a = add %x, %y\n  ret %a\n");
    assert_eq!(names, ["loop-again"]);
    assert_eq!(a, b);
}

#[test]
fn a_rewrite_that_undoes_itself() {
    let (names, [a, b]) = cycle("loop-swap", "  %a = add %x, %y\n  ret %a\n");
    assert_eq!(names, ["loop-swap"]);
    let mut forms = [a.contains("add %x, %y"), b.contains("add %x, %y")];
    forms.sort_unstable();
    assert_eq!(forms, [false, true]);
    // Both forms have the same instructions, each with operands of the same ops.
    let (names, [a, b]) = cycle("loop-swap", "  %s = sin %x\n  %t = sin %y\n  %a = add %s, %t\n  ret %a\n");
    assert_eq!(names, ["loop-swap"]);
    assert_ne!(a, b);
}

#[test]
fn two_rewrites_that_undo_each_other() {
    let (names, forms) = cycle("loop-sin-cos, loop-cos-sin", "  %a = sin %x\n  %b = add %a, %y\n  ret %b\n");
    assert_eq!(names, ["loop-cos-sin", "loop-sin-cos"]);
    assert!(forms[0].contains("= sin %x") != forms[1].contains("= sin %x"), "{forms:?}");
}

#[test]
fn three_rewrites_in_a_ring() {
    let (names, _) = cycle("loop-sin-cos, loop-cos-tan, loop-tan-sin", "  %a = sin %x\n  ret %a\n");
    assert_eq!(names, ["loop-cos-tan", "loop-sin-cos", "loop-tan-sin"]);
    // With turns of their own, after much other work.
    let mut body = String::from("  %v0 = sin %x\n");
    for i in 0..1000 {
        body += &format!("  %v{} = mul %v{i}, 2.0\n", i + 1);
    }
    body += "  ret %v1000\n";
    let (names, [a, _]) = cycle("loop-sin-cos*, loop-cos-tan*, loop-tan-sin*, test-double", &body);
    assert_eq!(names, ["loop-cos-tan", "loop-sin-cos", "loop-tan-sin"]);
    assert!(a.lines().count() < 20, "{a}");
}

#[test]
fn many_places_at_once() {
    let mut body = String::from("  %v0 = sin %x\n");
    for i in 0..500 {
        body += &format!("  %v{} = {} %v{i}\n", i + 1, ["sin", "cos", "exp"][i % 3]);
    }
    body += "  ret %v500\n";
    let (names, _) = cycle("loop-sin-cos, loop-cos-sin", &body);
    assert_eq!(names, ["loop-cos-sin", "loop-sin-cos"]);
    let (names, _) = cycle("loop-sin-cos*, loop-cos-tan*, loop-tan-sin*", &body.replace("exp", "neg"));
    assert_eq!(names, ["loop-cos-tan", "loop-sin-cos", "loop-tan-sin"]);
}

#[test]
fn endless_growth() {
    let error = fails("loop-grow, test-double", "  %a = exp %x\n  ret %a\n", &Options::default());
    let RewriteError::Growth { from: 2, to, steps, .. } = &error else { panic!("{error}") };
    assert_eq!((names(steps), *to > 10_000), (vec!["loop-grow"], true));
    let options = Options { max_size: Some(100), ..Options::default() };
    let error = fails("loop-grow", "  %a = exp %x\n  ret %a\n", &options);
    assert!(matches!(&error, RewriteError::Growth { to: 101..110, .. }), "{error}");
}

#[test]
fn endless_change() {
    let error = fails("loop-count", "  %a = sub %x, 1.0\n  ret %a\n", &Options::default());
    let RewriteError::Fuel { step, limit: 10_200, .. } = &error else { panic!("{error}") };
    assert_eq!(step.rewrite, "loop-count");
    let options = Options { fuel: Some(7), ..Options::default() };
    let error = fails("loop-count", "  %a = sub %x, 1.0\n  ret %a\n", &options);
    assert!(error.to_string().contains("`loop-count` of rewright-rewrites"), "{error}");
    assert!(error.to_string().contains("was applied 7 times to `@f`"), "{error}");
}

#[test]
fn long_terminating_runs_are_no_cycles() {
    // The same step a thousand times, at places that look alike.
    let mut body = String::from("  %v0 = exp %x\n");
    for i in 0..1000 {
        body += &format!("  %v{} = sin %v{i}\n", i + 1);
    }
    let mut module = module(&scalars(&format!("{body}  ret %v1000\n")));
    let report = run_with(&mut module, "loop-sin-cos, loop-cos-tan", &Options::default()).unwrap();
    assert_eq!(report.applications(), 2000);
}

#[test]
fn keeping_going_leaves_out_the_guilty_only() {
    let body = "  %a = sub %x, 1.0\n  %b = sin %a\n  %c = exp %b\n  %d = mul %c, 2.0\n  ret %d\n";
    let mut module = module(&scalars(body));
    let options = Options { keep_going: true, ..Options::default() };
    let pipeline = "loop-count, loop-sin-cos, loop-cos-sin, loop-grow, test-double";
    let report = run_with(&mut module, pipeline, &options).unwrap();
    let kinds: Vec<&str> = report
        .failures
        .iter()
        .map(|e| match e {
            RewriteError::Cycle { .. } => "cycle",
            RewriteError::Growth { .. } => "growth",
            RewriteError::Fuel { .. } => "fuel",
            _ => "other",
        })
        .collect();
    assert_eq!((kinds.len(), report.applied("test-double")), (3, 1), "{kinds:?}");
    assert!(["cycle", "growth", "fuel"].iter().all(|k| kinds.contains(k)), "{kinds:?}");
}

#[test]
fn changes_of_endless_rewrites_are_undone() {
    let body = "  %a = exp %x\n  %b = mul %a, 2.0\n  ret %b\n";
    let want = scalars(&body.replace("mul %a, 2.0", "add %a, %a"));
    let options = Options { keep_going: true, fuel: Some(3000), ..Options::default() };
    for endless in ["loop-grow", "loop-again, loop-grow", "loop-grow, loop-swap"] {
        let mut module = module(&scalars(body));
        let report = run_with(&mut module, &format!("test-double, {endless}"), &options).unwrap();
        assert_eq!(text(&module), want, "{endless}");
        assert_eq!((report.failures.len(), report.applications()), (endless.split(',').count(), 1), "{endless}");
        let said = report.remarks.iter().filter(|r| r.rewrite == "test-double").count();
        assert_eq!(said, 1, "{endless}");
    }
}
