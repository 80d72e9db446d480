//! What a rewrite can read about the compilation of its function.

use crate::common::{module, scalars};
use rewright_ir::Block;
use rewright_rewrites::prelude::*;
use rewright_rewrites::rule::Liberties;
use rewright_rewrites::{Analyses, NoObserver, Options, Pipeline, Target, rule};
use std::cell::Cell;

rule! { "test-known": (gcd ?x ?x) => (abs ?x) opt_in }

/// Reports the target; matches nothing.
struct Sees;

static SEES: RewriteDef = RewriteDef::block("test-sees", "says how functions are compiled", &Sees).opt_in();
register_rewrite!(SEES);

/// The number of functions that were tried in the run.
#[derive(Default)]
struct Seen(Cell<usize>);

impl Rewrite for Sees {
    type Match = ();

    fn matches(&self, cx: &MatchCx<'_>, _: Block) -> Result<(), NoMatch> {
        let seen = cx.kept_in_run::<Seen>();
        seen.0.set(seen.0.get() + 1);
        let known = cx.rules().iter().any(|rule| rule.def.name == "test-known");
        let Target { codegen, instruction_set, vector_bytes } = cx.target();
        let target = format!("{codegen:?} {instruction_set:?} {vector_bytes:?}");
        let count = seen.0.get();
        Err(NoMatch::because(format!("{count}: {target}, `{}`, known: {known}", cx.liberties())))
    }

    fn apply(&self, (): (), _: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        Err(RewriteError::new("there is nothing to do"))
    }
}

fn said(pipeline: &str, options: &Options) -> Vec<String> {
    let one = scalars("  ret %x\n");
    let mut module = module(&format!("{one}\n{}", one.replace("@f", "@g")));
    let report = Pipeline::parse(pipeline).unwrap().run(&mut module, options, &mut NoObserver).unwrap();
    report.remarks.into_iter().map(|remark| remark.message).collect()
}

#[test]
fn a_rewrite_sees_liberties_target_and_rules() {
    let nothing = said("test-sees", &Options::default());
    assert_eq!(nothing, ["1: None None None, ``, known: false", "2: None None None, ``, known: false"]);
    let target = Target {
        codegen: Some("x64-avx2".to_string()),
        instruction_set: Some("avx2".to_string()),
        vector_bytes: Some(32),
    };
    let options = Options { target, liberties: Liberties::CONTRACT, ..Options::default() };
    let all = said("test-known, test-sees", &options);
    let seen = "Some(\"x64-avx2\") Some(\"avx2\") Some(32), `contract`, known: true";
    assert_eq!(all, [format!("1: {seen}"), format!("2: {seen}")]);
    // A new run has new state.
    assert_eq!(said("test-known, test-sees", &options), all);
    assert_eq!(
        said("test-known, -test-known, test-sees", &options)[0],
        format!("1: {}", seen.replace("true", "false"))
    );
}

#[test]
fn matches_can_be_tried_with_the_options_of_a_run() {
    let module = module(&scalars("  ret %x\n"));
    let func = module.functions().next().unwrap();
    let options = Options { liberties: Liberties::CONTRACT, ..Options::default() };
    let analyses = Analyses::of_run(&Pipeline::parse("test-known").unwrap(), &options);
    let cx = MatchCx::new(func, &module, &analyses);
    assert_eq!(cx.liberties(), Liberties::CONTRACT);
    assert!(cx.target().is_unknown());
    assert!(cx.rules().iter().any(|rule| rule.def.name == "test-known"));
}
