//! Pipelines reach fixed points, in the order that they state, and try again only near changes.

use crate::common::{module, run, run_with, scalars, text};
use pretty_assertions::assert_eq;
use rewright_ir::Name;
use rewright_rewrites::{Event, Options, Pipeline, Verify};

#[test]
fn root_rewrites_work_until_none_matches() {
    let body = "  %a = neg %x\n  %b = neg %a\n  %c = neg %b\n  %d = neg %c\n  ret %d\n";
    let (module, report) = run(&scalars(body), "test-neg-neg, test-sweep");
    assert_eq!(text(&module), scalars("  ret %x\n"));
    assert_eq!((report.applied("test-neg-neg"), report.applied("test-sweep"), report.applications()), (2, 2, 4));
    assert_eq!(report.applied("no-such"), 0);
}

#[test]
fn later_rewrites_wake_earlier_ones() {
    // The outer negations meet only after `test-share` has merged the sines.
    let body = "  %a = sin %x\n  %b = sin %x\n  %c = mul %a, 2.0\n  %d = mul %b, 2.0\n  %e = sub %c, %d\n  ret %e\n";
    let (module, _) = run(&scalars(body), "test-double, test-share");
    let want = "  %a = sin %x\n  %c = add %a, %a\n  %d = add %a, %a\n  %e = sub %c, %d\n  ret %e\n";
    assert_eq!(text(&module), scalars(want));
}

#[test]
fn nothing_is_asked_twice_without_a_reason() {
    let body = "  %a = neg %x\n  %b = neg %y\n  %c = mul %a, %b\n  ret %c\n";
    let (_, report) = run(&scalars(body), "test-neg-neg, test-double, test-share, test-neg-neg");
    let asked: Vec<u64> = report.stats.iter().map(|s| s.asked).collect();
    // Two for each of the two places in the pipeline; one; no block has a `sin`.
    assert_eq!(asked, [4, 1, 0]);
}

/// The order in which rewrites were applied.
fn applied(pipeline: &str, body: &str) -> Vec<&'static str> {
    let mut seen = Vec::new();
    let mut observer = |event: &Event<'_>| {
        if let Event::Applied { rewrite, .. } = event {
            seen.push(*rewrite);
        }
    };
    let mut module = module(&scalars(body));
    Pipeline::parse(pipeline).unwrap().run(&mut module, &Options::default(), &mut observer).unwrap();
    seen
}

#[test]
fn block_rewrites_take_turns_unless_they_have_a_star() {
    let body = "  %a = exp %x\n  %b = exp %a\n  %c = mul %b, 2.0\n  ret %c\n";
    assert_eq!(applied("test-one-exp, test-double", body), ["test-one-exp", "test-double", "test-one-exp"]);
    assert_eq!(applied("test-one-exp*, test-double", body), ["test-one-exp", "test-one-exp", "test-double"]);
}

#[test]
fn root_rewrites_share_a_worklist_unless_they_have_a_star() {
    let body = "  %a = mul %x, 2.0\n  %b = neg %a\n  %c = neg %b\n  %d = mul %c, 2.0\n  ret %d\n";
    let (double, neg) = ("test-double", "test-neg-neg");
    assert_eq!(applied("test-double, test-neg-neg", body), [double, neg, double]);
    assert_eq!(applied("test-double*, test-neg-neg", body), [double, double, neg]);
}

#[test]
fn each_function_has_its_turn_unless_one_is_asked_for() {
    let text_of = |name: &str| scalars("  %a = mul %x, 2.0\n  ret %a\n").replace("@f", name);
    let both = format!("{}\n{}", text_of("@f"), text_of("@g"));
    let mut module = module(&both);
    let only = Options { only: Some(Name::new("g")), ..Options::default() };
    assert_eq!(run_with(&mut module, "test-double", &only).unwrap().applications(), 1);
    let g = text_of("@g").replace("mul %x, 2.0", "add %x, %x");
    assert_eq!(text(&module), format!("{}\n{g}", text_of("@f")));
    assert_eq!(run_with(&mut module, "test-double", &Options::default()).unwrap().applications(), 1);
}

#[test]
fn a_run_can_be_stopped_after_some_applications() {
    let body = "  %a = mul %x, 2.0\n  %b = mul %a, 2.0\n  %c = exp %b\n  ret %c\n";
    let after = [
        "  %a = mul %x, 2.0\n  %b = mul %a, 2.0\n",
        "  %a = add %x, %x\n  %b = mul %a, 2.0\n",
        "  %a = add %x, %x\n  %b = add %a, %a\n",
    ];
    for (limit, want) in after.into_iter().enumerate() {
        let mut module = module(&scalars(body));
        let options = Options { stop_after: Some(limit as u64), ..Options::default() };
        let report = run_with(&mut module, "test-double, test-one-exp", &options).unwrap();
        assert_eq!(report.applications(), limit as u64);
        assert_eq!(text(&module), scalars(&format!("{want}  %c = exp %b\n  ret %c\n")));
    }
}

#[test]
fn the_empty_pipeline_does_nothing() {
    let body = "  %a = mul %x, 2.0\n  ret %a\n";
    let (module, report) = run(&scalars(body), "");
    assert_eq!((text(&module), report.stats.len()), (scalars(body), 0));
}

#[test]
fn runs_are_repeatable() {
    let body =
        "  %a = sin %x\n  %b = sin %x\n  %c = mul %a, 2.0\n  %d = neg %b\n  %e = neg %d\n  %f = sub %c, %e\n  ret %f\n";
    let pipeline = "test-double, test-neg-neg, test-share, test-sweep";
    let (first, report) = run(&scalars(body), pipeline);
    let mut again = module(&scalars(body));
    let options = Options { verify: Verify::Each, ..Options::default() };
    let second = run_with(&mut again, pipeline, &options).unwrap();
    assert_eq!((text(&first), &report.stats, &report.remarks), (text(&again), &second.stats, &second.remarks));
}
