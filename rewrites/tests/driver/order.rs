//! The order of the default pipeline: stages, constraints, benefit, name, and never the order of
//! registration.

use crate::common::{Always, module, scalars, text};
use pretty_assertions::assert_eq;
use rewright_rewrites::prelude::*;
use rewright_rewrites::{NoObserver, Options, Pipeline, PipelineError, RewriteEntry, RewriteRegistry};

fn nothing(_: Inst, _: &mut Rewriter<'_>) -> Result<(), RewriteError> {
    Ok(())
}
static NOTHING: Always = Always(nothing);

const fn def(name: &'static str) -> RewriteDef {
    RewriteDef::root(name, "does nothing", &NOTHING).roots(&["sin"])
}

/// A registry of these, and the same entries in the opposite order.
fn registries(defs: &[&'static RewriteDef]) -> [RewriteRegistry; 2] {
    let entry = |def: &&'static RewriteDef| RewriteEntry { def, origin: rewright_ir::origin!() };
    [RewriteRegistry::build(defs.iter().map(entry)), RewriteRegistry::build(defs.iter().rev().map(entry))]
}

fn order(defs: &[&'static RewriteDef]) -> String {
    let [one, other] = registries(defs).map(|r| Pipeline::by_default_of(&r).unwrap().to_string());
    assert_eq!(one, other);
    one
}

#[test]
fn stages_come_first() {
    static A: RewriteDef = def("a").stage(Stage::BeforeLowering).benefit(9);
    static B: RewriteDef = def("b").benefit(5);
    static C: RewriteDef = def("c").stage(Stage::BeforeInference);
    static D: RewriteDef = def("d").opt_in();
    assert_eq!(order(&[&A, &B, &C, &D]), "c, b, a");
}

#[test]
fn then_constraints_then_benefit_then_name() {
    static A: RewriteDef = def("a").after(&["c"]);
    static B: RewriteDef = def("b");
    static C: RewriteDef = def("c");
    static D: RewriteDef = def("d").benefit(2);
    static E: RewriteDef = def("e").before(&["d", "not-linked"]);
    assert_eq!(order(&[&A, &B, &C, &D, &E]), "b, c, a, e, d");
}

#[test]
fn constraints_hold_through_rewrites_that_are_opt_in() {
    static A: RewriteDef = def("a").after(&["b"]);
    static B: RewriteDef = def("b").after(&["c"]).opt_in();
    static C: RewriteDef = def("c");
    static D: RewriteDef = def("d").before(&["b"]);
    assert_eq!(order(&[&A, &B, &C, &D]), "c, d, a");
}

#[test]
fn constraints_that_no_order_meets() {
    static A: RewriteDef = def("a").before(&["b"]);
    static B: RewriteDef = def("b").before(&["c"]);
    static C: RewriteDef = def("c").before(&["a"]);
    static D: RewriteDef = def("d").after(&["c"]);
    for registry in registries(&[&A, &B, &C, &D]) {
        let error = Pipeline::parse_in(&registry, "default").unwrap_err();
        assert!(matches!(&error, PipelineError::Registry(all) if all.len() == 1), "{error}");
        let said = error.to_string();
        for edge in ["`a` before `b` (says rewright-rewrites", "`b` before `c`", "`c` before `a`"] {
            assert!(said.contains(edge), "{said}");
        }
        assert!(!said.contains("`d`"), "{said}");
    }
}

#[test]
fn all_clashes_are_reported_at_once() {
    static A: RewriteDef = def("same");
    static B: RewriteDef = def("same");
    static C: RewriteDef = def("Bad Name");
    static D: RewriteDef = def("d").roots(&["no-such-op"]);
    for registry in registries(&[&A, &B, &C, &D]) {
        let said: Vec<String> = registry.errors().iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("`Bad Name` of rewright-rewrites"), "{said:?}");
        assert!(said[1].contains("starts at op `no-such-op`, which no linked crate registers"), "{said:?}");
        assert!(said[2].contains("`same` is registered twice: by rewright-rewrites"), "{said:?}");
        assert!(Pipeline::parse_in(&registry, "d").is_err());
    }
}

static TO_COS: RewriteDef =
    RewriteDef::root("to-cos", "", &Always(|i, rw| crate::common::becomes(i, rw, "cos"))).roots(&["sin"]);
static TO_TAN: RewriteDef =
    RewriteDef::root("to-tan", "", &Always(|i, rw| crate::common::becomes(i, rw, "tan"))).roots(&["sin"]);

#[test]
fn results_do_not_depend_on_who_registered_first() {
    for registry in registries(&[&TO_TAN, &TO_COS]) {
        let mut module = module(&scalars("  %a = sin %x\n  ret %a\n"));
        let pipeline = Pipeline::by_default_of(&registry).unwrap();
        pipeline.run(&mut module, &Options::default(), &mut NoObserver).unwrap();
        assert_eq!(text(&module), scalars("  %a = cos %x\n  ret %a\n"));
    }
}

#[test]
fn the_rewrites_of_this_process_do_not_clash() {
    assert_eq!(rewright_rewrites::rewrites().errors(), []);
    Pipeline::parse("default").unwrap();
}

/// Constraints are transitive, so a rewrite names its neighbors in the order only.
#[test]
fn built_in_rewrites_name_at_most_two_others_in_their_constraints() {
    for entry in rewright_rewrites::rewrites().iter() {
        let RewriteDef { name, before, after, .. } = entry.def;
        assert!(before.len() + after.len() <= 2, "`{name}` of {}: before {before:?}, after {after:?}", entry.origin);
    }
}

/// The built-in rewrites of the default pipeline, in order.
const ORDER: &str = "\
    extents, dead-branches, components, inline, fold, canonicalize, block-args, \
    jump-threading, merge-blocks, node-extents, operand-casts, cse, gvn, licm, dce, reduce-views, \
    strength-reduction, flat-positions, reads-in-bounds, padded-copies, repeated-values, sink, \
    strided-copies, array-expr, reduce-fusion, scan-fusion, reduce-finish, scalar-finish, \
    reduce-siblings, expr-siblings, node-results";

#[test]
fn the_order_of_the_default_pipeline() {
    let mut shown = Vec::new();
    for entry in rewright_rewrites::rewrites().by_default() {
        if entry.origin.krate == "rewright-rewrites" {
            shown.push(entry.def.name);
        }
    }
    assert_eq!(shown.join(", "), ORDER);
}
