//! An observer receives every event, in order.

use crate::common::{module, scalars};
use pretty_assertions::assert_eq;
use rewright_ir::print_function;
use rewright_rewrites::prelude::*;
use rewright_rewrites::rule::{Liberties, RuleDef, RuleEntry};
use rewright_rewrites::{Change, Event, Options, Pipeline, RemarkKind, RewriteRegistry};

/// One line an event.
fn watch(body: &str, pipeline: &str, options: &Options) -> (Vec<String>, Result<(), RewriteError>) {
    let mut lines = Vec::new();
    let mut observer = |event: &Event<'_>| {
        lines.push(match event {
            Event::Begin { func } => format!("begin {}", func.name),
            Event::Inferred { func } => format!("inferred {}", func.name),
            Event::NoMatch { rewrite, why, .. } => format!("no {rewrite}: {}", why.reasons()[0].message),
            Event::Match { seq, rewrite, loc, .. } => format!("{seq} match {rewrite} line {}", loc.line),
            Event::Applied { seq, rewrite, changes, .. } => format!("{seq} applied {rewrite}: {}", kinds(changes)),
            Event::Declined { seq, rewrite, .. } => format!("{seq} declined {rewrite}"),
            Event::Failed { seq, rewrite, .. } => format!("{seq} failed {rewrite}"),
            Event::GaveUp { error, .. } => format!("gave up: {}", error.to_string().lines().next().unwrap_or("")),
            Event::Remark(remark) => format!("remark {remark}"),
            Event::End { func } => format!("end {}", func.name),
        });
    };
    let mut module = module(&scalars(body));
    let done = Pipeline::parse(pipeline).unwrap().run(&mut module, options, &mut observer).map(drop);
    (lines, done)
}

fn kinds(changes: &[Change]) -> String {
    let kind = |c: &Change| match c {
        Change::Inserted(_) => "inserted",
        Change::Erased(..) => "erased",
        Change::Replaced { .. } => "replaced",
        _ => "other",
    };
    changes.iter().map(kind).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_event_in_order() {
    let body = "  %a = mul %x, 2.0\n  %b = mul %y, 3.0\n  %c = sub %a, %b\n  %d = exp %c\n  ret %d\n";
    let (lines, done) = watch(body, "test-double, bad-errs, test-one-exp", &Options::default());
    done.unwrap();
    let want = [
        "begin f",
        "0 match test-double line 3",
        "0 applied test-double: inserted replaced erased",
        "remark test-double: @f line 3: an addition is cheaper",
        "no test-double: the factor is not 2",
        "1 match test-one-exp line 3",
        "1 applied test-one-exp: replaced erased",
        // Tried again, because its user's user has changed.
        "no test-double: the factor is not 2",
        "remark test-double: @f line 4: the factor is not 2",
        "end f",
    ];
    assert_eq!(lines, want);
}

#[test]
fn failures_too() {
    let body = "  %a = mul %x, 2.0\n  %b = sin %a\n  ret %b\n";
    let (lines, done) = watch(body, "bad-errs, test-double", &Options::default());
    done.unwrap_err();
    let first = ["begin f", "0 match test-double line 3", "0 applied test-double: inserted replaced erased"];
    let remark = "remark test-double: @f line 3: an addition is cheaper";
    let stop = ["1 match bad-errs line 4", "1 failed bad-errs"];
    assert_eq!(lines, [&first[..], &[remark], &stop].concat());
    let (lines, done) = watch(body, "bad-errs, bad-look", &Options { keep_going: true, ..Options::default() });
    done.unwrap();
    let starts = ["begin f", "0 match bad-errs line 4", "0 failed bad-errs", "gave up: rewrite `bad-look` of", "end f"];
    assert_eq!(lines.len(), starts.len());
    assert!(lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{lines:?}");
}

#[test]
fn the_function_is_as_it_is_at_that_moment() {
    let body = "  %a = mul %x, 2.0\n  ret %a\n";
    let mut forms = Vec::new();
    let mut observer = |event: &Event<'_>| match event {
        Event::Match { func, .. }
        | Event::Applied { func, .. }
        | Event::Declined { func, .. }
        | Event::Failed { func, .. } => {
            forms.push(print_function(func));
        }
        _ => {}
    };
    let mut module = module(&scalars(body));
    Pipeline::parse("test-double").unwrap().run(&mut module, &Options::default(), &mut observer).unwrap();
    assert_eq!(forms, [scalars(body), scalars("  %a = add %x, %x\n  ret %a\n")]);
}

/// Does not match, with a reason, until there is a `neg`.
struct Picky;
impl Rewrite for Picky {
    type Match = Inst;
    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Inst, NoMatch> {
        let func = cx.func();
        let of = |name: &str| func.insts(block).find(|&i| func.inst(i).op.name == name);
        let Some(root) = of("tanh") else { return Err(NoMatch::quiet()) };
        let loc = func.inst(root).loc;
        let two = NoMatch::because("there is no exp").at(loc).and(NoMatch::because("nor anything like it"));
        if of("add").is_some() { Ok(root) } else { Err(two) }
    }
    fn apply(&self, root: Inst, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let x = rw.func().inst(root).args[0];
        rw.note(Default::default(), "at last");
        rw.replace(root, &[x])
    }
}
static PICKY: RewriteDef = RewriteDef::block("watch-picky", "takes out a tanh", &Picky).opt_in();
register_rewrite!(PICKY);

#[test]
fn reasons_that_no_longer_hold_are_no_remarks() {
    let body = "  %a = tanh %x\n  %b = mul %y, 2.0\n  %c = sub %a, %b\n  ret %c\n";
    let (_, report) = crate::common::run(&scalars(body), "watch-picky, test-double");
    let said: Vec<_> = report.remarks.iter().map(|r| (r.kind, r.to_string())).collect();
    let done = "test-double: @f line 4: an addition is cheaper".to_string();
    let note = "watch-picky: @f: at last".to_string();
    assert_eq!(said, [(RemarkKind::Done, done), (RemarkKind::Note, note)]);
    let (_, report) = crate::common::run(&scalars(body), "watch-picky");
    let said: Vec<_> = report.remarks.iter().map(|r| (r.kind, r.loc.line, r.message.as_str())).collect();
    let missed = RemarkKind::Missed;
    assert_eq!(said, [(missed, 3, "there is no exp"), (missed, 3, "nor anything like it")]);
}

#[test]
fn times_only_if_asked_for() {
    let body = "  %a = mul %x, 2.0\n  ret %a\n";
    let time = |options: &Options| {
        let report = crate::common::run_with(&mut module(&scalars(body)), "test-double", options).unwrap();
        report.stats[0].time
    };
    assert!(time(&Options::default()).is_zero());
    assert!(!time(&Options { times: true, ..Options::default() }).is_zero());
}

#[test]
fn an_application_that_would_show_a_failure_is_declined_and_not_tried_again() {
    let text = "func @f(%x: f64[3], %y: f64[2], %go: bool) -> f64[?] {
entry:
  %a = mul 1.0, 2.0
  br_if %go, next(%x), out
next(%q: f64[?]):
  %0 = add %q, %y
  ret %0
out:
  ret %y
}
";
    let mut lines = Vec::new();
    let mut observer = |event: &Event<'_>| match event {
        Event::Match { seq, rewrite, .. } => lines.push(format!("{seq} match {rewrite}")),
        Event::Declined { seq, rewrite, error, .. } => lines.push(format!("{seq} declined {rewrite}: {error}")),
        Event::Applied { seq, rewrite, .. } => lines.push(format!("{seq} applied {rewrite}")),
        Event::Remark(remark) => lines.push(remark.to_string()),
        _ => {}
    };
    let mut module = module(text);
    let report =
        Pipeline::parse("block-args, test-double").unwrap().run(&mut module, &Options::default(), &mut observer);
    let why = "not done, for with more precise types `add` at line 6 fails whenever it runs: `add` can't broadcast f64[3], f64[2] \
               along axis 0 of the result";
    assert!(report.unwrap().failures.is_empty());
    assert_eq!(lines.len(), 6, "{lines:#?}");
    assert!(lines[1].starts_with(&format!("0 declined block-args: {why}")), "{lines:#?}");
    assert_eq!(lines[2..4], ["1 match test-double", "1 applied test-double"]);
    assert!(lines[5].starts_with(&format!("block-args: @f line 6: {why}")), "{lines:#?}");
    assert_eq!(crate::common::text(&module), text.replace("mul 1.0, 2.0", "add 1.0, 1.0"));
}

#[test]
fn a_rewrite_that_is_declined_again_and_again_gives_up() {
    let mut text = "func @f(%x: f64[3], %y: f64[2], %k: i64) -> f64[?] {\nentry:\n  switch %k, 0: b0(%x)".to_string();
    (1..100).for_each(|i| text += &format!(", {i}: b{i}(%x)"));
    text += ", default: b0(%x)\n";
    (0..100).for_each(|i| text += &format!("b{i}(%q_{i}: f64[?]):\n  %s{i} = add %q_{i}, %y\n  ret %s{i}\n"));
    text += "}\n";
    let mut module = module(&text);
    let mut tries = 0;
    let mut observer = |event: &Event<'_>| tries += i32::from(matches!(event, Event::Declined { .. }));
    let report = Pipeline::parse("block-args").unwrap().run(&mut module, &Options::default(), &mut observer).unwrap();
    assert_eq!(tries, 64);
    assert!(
        report.remarks.iter().any(|r| r.message == "64 applications were undone, no more are tried in this function")
    );
}

/// Block rewrites, root rewrites and rules send the same events: matched and applied, with place, changes
/// and a number.
#[test]
fn rewrites_of_every_kind_are_seen() {
    let text = "func @f(%x: f64, %y: f64) -> f64 {
entry:
  %a = mul %x, 2.0
  %b = sub %y, %a
  %c = neg %b
  %d = neg %b
  %e = add %c, %d
  ret %e
}
";
    let rules = [RuleEntry {
        def: RuleDef { name: "test-neg-sub", text: "(neg (sub ?x:f64 ?y)) => (sub ?y ?x) liberties [no_signed_zeros]" },
        origin: rewright_ir::Origin { krate: "test", version: "", file: "test.rs", line: 7 },
    }];
    let registry = RewriteRegistry::with_rules(&rules);
    let mut seen = Vec::new();
    let mut observer = |event: &Event<'_>| match event {
        Event::Match { seq, rewrite, loc, .. } => seen.push(format!("{seq} {rewrite} line {}", loc.line)),
        Event::Applied { seq, rewrite, changes, .. } => {
            assert!(seen.last().is_some_and(|last| last.starts_with(&format!("{seq} {rewrite} "))), "{seen:?}");
            assert!(!changes.is_empty());
        }
        _ => {}
    };
    let options = Options { liberties: Liberties::all(), ..Options::default() };
    // A root rewrite, a block rewrite and a rule.
    let pipeline = Pipeline::parse_in(&registry, "test-double, cse, test-neg-sub").unwrap();
    pipeline.run(&mut module(text), &options, &mut observer).unwrap();
    assert_eq!(seen.len(), 3, "{seen:?}");
    for name in ["test-double line 3", "cse line", "test-neg-sub line 5"] {
        assert!(seen.iter().any(|line| line.contains(name)), "{name}: {seen:?}");
    }
}
