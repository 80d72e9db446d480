//! The driver reaches fixed points, and finds rewrites that have none.

mod common;

use common::{module, names, run, text};
use pretty_assertions::assert_eq;
use rewright_rewrites::{NoObserver, Options, Pipeline, RewriteError};

#[test]
fn a_root_rewrite_runs_to_a_fixed_point() {
    let (module, report) = run(
        "func @f(%x: f64) -> f64 {\nentry:\n  %a = neg %x\n  %b = neg %a\n  %c = neg %b\n  %d = neg %c\n  ret %d\n}",
        "test-neg-neg, test-sweep",
    );
    assert_eq!(text(&module), "func @f(%x: f64) -> f64 {\nentry:\n  ret %x\n}\n");
    assert_eq!(report.applied("test-neg-neg"), 2);
}

#[test]
fn a_rewrite_that_repeats_itself_is_found_out() {
    let error = fails("test-swap");
    let RewriteError::Cycle { steps, forms, .. } = &error else { panic!("{error}") };
    assert_eq!(names(steps), ["test-swap"]);
    assert!(forms[0].contains("add %x, %y") != forms[1].contains("add %x, %y"), "{error}");
    assert!(forms[0].contains("add %y, %x") != forms[1].contains("add %y, %x"), "{error}");
}

fn fails(pipeline: &str) -> RewriteError {
    let mut module = module("func @f(%x: f64, %y: f64) -> f64 {\nentry:\n  %a = add %x, %y\n  ret %a\n}");
    let before = text(&module);
    let pipeline = Pipeline::parse(pipeline).unwrap();
    let error = pipeline.run(&mut module, &Options::default(), &mut NoObserver).unwrap_err();
    assert_eq!(text(&module), before);
    error
}
