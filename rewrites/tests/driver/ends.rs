//! `del`s: one value replaces another, and uses after a `del`.

use crate::common::{Always, module, run, run_with, text};
use pretty_assertions::assert_eq;
use rewright_rewrites::prelude::*;
use rewright_rewrites::{Options, Verify};

/// Replaces `sin x` by `x`, for the tests.
static UNSIN: RewriteDef = RewriteDef::root(
    "ends-unsin",
    "takes out a sin",
    &Always(|root, rw| {
        let x = rw.func().inst(root).args[0];
        rw.replace(root, &[x])
    }),
)
.roots(&["sin"])
.opt_in();

static FRESH: RewriteDef =
    RewriteDef::root("ends-fresh", "cos is tan", &Always(|i, rw| crate::common::becomes(i, rw, "tan")))
        .roots(&["cos"])
        .opt_in();

/// Uses the operand of every `tanh` again, before the terminator of the last block.
static LATE: RewriteDef = RewriteDef::root(
    "ends-late",
    "uses a value late",
    &Always(|root, rw| {
        let x = rw.func().inst(root).args[0];
        let last = rw.func().blocks().next_back().and_then(|b| rw.func().terminator(b));
        rw.set_point(Point::Before(last.ok_or_else(|| RewriteError::new("no end"))?));
        rw.op("neg", [x]).map(drop)
    }),
)
.roots(&["tanh"])
.opt_in();

/// Ends the operand of every `exp` directly after it.
static EARLY: RewriteDef = RewriteDef::root(
    "ends-early",
    "ends a value early",
    &Always(|root, rw| {
        let x = rw.func().inst(root).args[0];
        rw.set_point(Point::After(root));
        let del = rewright_ir::builder::find_op("del")?;
        rw.insert(del, [x], Attrs::new()).map(drop)
    }),
)
.roots(&["exp"])
.opt_in();
register_rewrite!(UNSIN, FRESH, LATE, EARLY);

fn arrays(body: &str) -> String {
    format!("func @f(%x: f64[n], %p: bool) -> f64[n] {{\nentry:\n{body}}}\n")
}

#[track_caller]
fn becomes(pipeline: &str, before: &str, after: &str) {
    for verify in [Verify::Last, Verify::Each] {
        let mut module = module(&arrays(before));
        run_with(&mut module, pipeline, &Options { verify, ..Options::default() }).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(text(&module), arrays(after));
    }
}

#[test]
fn of_two_ends_the_last_is_kept() {
    let before = "  %a = neg %x\n  %b = sin %a\n  del %a\n  %c = abs %b\n  del %b\n  ret %c\n";
    becomes("ends-unsin", before, "  %a = neg %x\n  %c = abs %a\n  del %a\n  ret %c\n");
    let before =
        "  %a = neg %x\n  %b = sin %a\n  %c = abs %b\n  del %b\n  %d = abs %a\n  del %a\n  %e = add %c, %d\n  ret %e\n";
    becomes(
        "ends-unsin",
        before,
        "  %a = neg %x\n  %c = abs %a\n  %d = abs %a\n  del %a\n  %e = add %c, %d\n  ret %e\n",
    );
}

#[test]
fn no_del_is_added_to_values_without_one() {
    let before = "  %a = neg %x\n  %b = sin %a\n  %c = abs %b\n  del %b\n  %d = add %a, %c\n  ret %d\n";
    becomes("ends-unsin", before, "  %a = neg %x\n  %c = abs %a\n  %d = add %a, %c\n  ret %d\n");
    let before = "  %a = neg %x\n  %b = sin %a\n  del %a\n  %c = abs %b\n  ret %b\n";
    becomes("ends-unsin", before, "  %a = neg %x\n  %c = abs %a\n  ret %a\n");
}

#[test]
fn a_new_value_inherits_the_end() {
    let before = "  %b = cos %x\n  %c = abs %b\n  del %b\n  ret %c\n";
    becomes("ends-fresh", before, &before.replace("cos", "tan"));
    let before = "  %b = cos %x\n  br_if %p, u, v\nu:\n  del %b\n  ret %x\nv:\n  ret %b\n";
    becomes("ends-fresh", before, &before.replace("cos", "tan").replace("  del %b\n", ""));
}

/// Both checks reject it, and the function is unchanged.
#[track_caller]
fn refused(pipeline: &str, body: &str) {
    for verify in [Verify::Last, Verify::Each] {
        let mut module = module(&arrays(body));
        let error = run_with(&mut module, pipeline, &Options { verify, ..Options::default() }).unwrap_err();
        assert!(matches!(error, RewriteError::Failed { .. }) && error.to_string().contains("`del`"), "{error}");
        assert_eq!(text(&module), arrays(body));
    }
}

#[test]
fn nothing_is_used_after_its_end() {
    refused("ends-late", "  %a = neg %x\n  %b = tanh %a\n  del %a\n  ret %b\n");
    refused("ends-late", "  %a = neg %x\n  %b = tanh %a\n  br_if %p, u, v\nu:\n  del %a\n  jump v\nv:\n  ret %b\n");
    refused("ends-early", "  %a = neg %x\n  %b = exp %a\n  %c = add %a, %b\n  ret %c\n");
    refused("ends-early", "  %a = neg %x\n  %b = exp %a\n  jump u\nu:\n  %c = add %a, %b\n  ret %c\n");
    // Around a loop.
    let looped = "  %a = neg %x\n  jump u\nu:\n  %b = exp %a\n  br_if %p, u, v\nv:\n  ret %b\n";
    refused("ends-early", looped);
}

#[test]
fn uses_before_the_del_are_accepted() {
    // Each once: the rewrites always match.
    let once = |pipeline: &str, body: &str| {
        let mut module = module(&arrays(body));
        let options = Options { stop_after: Some(1), ..Options::default() };
        run_with(&mut module, pipeline, &options).unwrap_or_else(|e| panic!("{e}"));
    };
    once("ends-early", "  %a = neg %x\n  %b = exp %a\n  ret %b\n");
    once("ends-early", "  jump u\nu:\n  %a = neg %x\n  %b = exp %a\n  br_if %p, u, v\nv:\n  ret %b\n");
    once("ends-late", "  %a = neg %x\n  %b = tanh %a\n  br_if %p, u, v\nu:\n  del %a\n  ret %b\nv:\n  ret %b\n");
}

#[test]
fn ends_are_still_known_after_other_changes() {
    let before = "  %a = neg %x\n  %b = sin %a\n  %c = sin %b\n  del %a\n  del %b\n  %d = abs %c\n  del %c\n  ret %d\n";
    let (module, _) = run(&arrays(before), "ends-unsin");
    assert_eq!(text(&module), arrays("  %a = neg %x\n  %d = abs %a\n  del %a\n  ret %d\n"));
}
