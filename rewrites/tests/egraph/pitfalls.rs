//! Known pitfalls of e-graphs, with their names.

use super::{func, lines, remarks, run_in, saturate, saturate_with};
use rewright_ir::Origin;
use rewright_rewrites::rule::{Liberties, RuleDef, RuleEntry};
use rewright_rewrites::{RewriteRegistry, rewrites};

/// P2, U3: a rule that always matches its own result ends at a limit, and the report names it.
#[test]
fn growth_without_end_is_cut_and_named() {
    let rules = [("grow", "(cos ?x:float) ~> (cos (abs ?x))")];
    let (lines, report) = saturate_with(&rules, "(%x: f64) -> f64", "%a = cos %x\nret %a");
    assert_eq!(lines, ["%a = cos %x", "ret %a"]);
    let [remark] = &remarks(&report)[..] else { panic!("{report:?}") };
    assert!(remark.starts_with("cut (iterations)") && remark.contains("grow (+"), "{remark}");
}

/// U2: with all liberties granted, the worst growth of a small block is cut, and the report names the rules.
#[test]
fn blow_ups_say_by_which_rules() {
    let rules = [
        ("associate", "(add (add ?x:f64 ?y) ?z) <=> (add ?x (add ?y ?z)) liberties [reassociate]"),
        ("square", "(exp ?x:f64) ~> (mul (exp (mul ?x 0.5)) (exp (mul ?x 0.5))) liberties [approximate]"),
    ];
    let (_, report) = saturate_with(&rules, "(%x: f64, %y: f64) -> f64", "%a = exp %x\n%b = add %a, %y\nret %b");
    let remarks = remarks(&report);
    assert!(remarks.iter().all(|r| r.starts_with("cut (") && r.contains("square (+")), "{remarks:?}");
    assert!(!remarks.is_empty());
}

/// U4: shared work is paid once: `exp (2x)` is `(exp x)^2`, and `exp x` exists already.
#[test]
fn sharing_is_counted_once() {
    let rules = [("double", "(exp (mul ?x:f64 2)) ~> (mul (exp ?x) (exp ?x)) liberties [approximate]")];
    let body = "%e = exp %x\n%d = mul %x, 2.0\n%f = exp %d\n%s = add %e, %f\nret %s";
    let (lines, _) = saturate_with(&rules, "(%x: f64) -> f64", body);
    assert_eq!(lines, ["%e = exp %x", "%f = mul %e, %e", "%s = add %e, %f", "ret %s"]);
}

/// P9, U4: work that is shared 40 levels deep stays shared: written as a tree it would have 2^40 parts.
#[test]
fn deep_sharing_stays_shared() {
    let mut body = "%v0 = sin %x\n%w = neg %v0\n%u = neg %w\n%v1 = mul %u, %u\n".to_string();
    for n in 1..40 {
        body += &format!("%v{} = mul %v{n}, %v{n}\n", n + 1);
    }
    let lines = saturate("", "(%x: f64) -> f64", &(body + "ret %v40"));
    assert_eq!(lines.len(), 42, "{lines:#?}");
    assert_eq!(lines[1], "%v1 = mul %v0, %v0");
}

/// An unsound rule that makes two constants equal is detected and named; the block is unchanged.
#[test]
fn rules_that_are_not_true_are_named() {
    let rules = [("less", "(sub ?x:i64 ?x) ~> 1")];
    let text = func("(%x: i64) -> i64", "%a = sub %x, %x\n%b = sub 3, 3\n%c = add %a, %b\nret %c");
    let (out, report) = run_in(&super::registry(&rules), "saturate", Liberties::empty(), &text);
    assert_eq!(lines(&out), ["%a = sub %x, %x", "%b = sub 3, 3", "%c = add %a, %b", "ret %c"]);
    let [remark] = &remarks(&report)[..] else { panic!("{report:?}") };
    assert!(remark.contains("rule `less` makes") && remark.ends_with("which is not true"), "{remark}");
    let ends: Vec<&str> = report.saturation.graphs.iter().map(|graph| &*graph.end).collect();
    assert_eq!(ends, ["contradiction"]);
}

/// The unsound rule is named if constant folding reveals the contradiction later.
#[test]
fn untrue_rules_are_named_where_constants_are_computed_of_what_they_made() {
    let more = RuleEntry {
        def: RuleDef { name: "u3", text: "(add ?x:i32 1) ~> (add ?x 2)" },
        origin: Origin { krate: "test", version: "", file: "test.rs", line: 1 },
    };
    let text = func("(%x: i32) -> i32", "%a = mul %x, 0\n%b = neg %a\n%c = add %b, 1\n%r = mul %c, %x\nret %r");
    let registry = RewriteRegistry::with_rules(&[more]);
    let (_, report) = run_in(&registry, "saturate", Liberties::empty(), &text);
    let [remark] = &remarks(&report)[..] else { panic!("{report:?}") };
    assert!(remark.contains("rule `u3` makes 1 equal to 2, which is not true"), "{remark}");
}

/// The same if classes are merged by congruence, while sound rules are applied.
#[test]
fn untrue_rules_are_named_where_congruence_shows_it() {
    let rules = [
        ("back", "(sub (add ?x:i64 ?y) ?x) => ?y"),
        ("lost", "(add ?x:i64 1) ~> ?x"),
        ("self", "(sub ?x:i64 ?x) => 0"),
    ];
    let text = func("(%x: i64) -> i64", "%a = add %x, 1\n%b = sub %a, %x\n%c = sub %x, %x\n%r = mul %b, %c\nret %r");
    let (out, report) = run_in(&super::registry(&rules), "saturate", Liberties::empty(), &text);
    assert_eq!(out, text.replace("\n%", "\n  %").replace("\nret", "\n  ret"));
    let [remark] = &remarks(&report)[..] else { panic!("{report:?}") };
    assert!(remark.contains("rule `lost` makes") && remark.ends_with("which is not true"), "{remark}");
}

/// P7: a rule whose condition does not hold adds nothing, so the graph is saturated.
#[test]
fn refused_conditions_add_nothing() {
    let rules = [("root", "(sqrt (mul ?x:f64 ?x)) ~> ?x if [nonneg(?x)] liberties [approximate]")];
    // The node that the template would add must not be there.
    let deep = [("root", "(sqrt (mul ?x:f64 ?x)) ~> (abs (neg ?x)) if [nonneg(?x)] liberties [approximate]")];
    for rules in [&rules, &deep] {
        let (lines, report) = saturate_with(rules, "(%x: f64) -> f64", "%a = mul %x, %x\n%b = sqrt %a\nret %b");
        assert_eq!((lines.len(), remarks(&report)), (3, vec![]));
        let stats = &report.saturation;
        assert!(stats.rules.iter().all(|rule| rule.applied == 0 && rule.nodes == 0), "{stats:?}");
        assert!(stats.graphs.iter().all(|graph| graph.nodes == 3), "{stats:?}");
    }
    let body = "%p = abs %x\n%a = mul %p, %p\n%b = sqrt %a\nret %b";
    let (_, report) = saturate_with(&deep, "(%x: f64) -> f64", body);
    assert!(report.saturation.rules.iter().any(|rule| rule.applied > 0 && rule.nodes > 0), "{:?}", report.saturation);
    let body = "%p = abs %x\n%a = mul %p, %p\n%b = sqrt %a\nret %b";
    assert_eq!(saturate_with(&rules, "(%x: f64) -> f64", body).0, ["%p = abs %x", "ret %p"]);
}

/// U5: neither the order of registration nor other interned names change the result.
#[test]
fn the_order_of_rules_changes_nothing() {
    let mut rules = [
        ("b-left", "(mul (add ?x:i64 ?y) ?z) ~> (add (mul ?x ?z) (mul ?y ?z))"),
        ("a-right", "(add (mul ?x:i64 ?z) (mul ?y ?z)) ~> (mul (add ?x ?y) ?z)"),
        ("d-neg", "(neg (neg ?x:i64)) ~> ?x"),
        ("c-sub", "(sub ?x:i64 ?y) <=> (add ?x (neg ?y))"),
    ];
    let body = "%a = mul %x, %z\n%b = mul %y, %z\n%c = sub %a, %b\n%d = neg %c\n%e = neg %d\n%g = mul %e, %c\nret %g";
    let signature = "(%x: i64, %y: i64, %z: i64) -> i64";
    let first = saturate_with(&rules, signature, body);
    for turn in 0..rules.len() {
        rules.rotate_left(1);
        rules.swap(0, turn % 3);
        let again = saturate_with(&rules, signature, body);
        assert_eq!((&first.0, remarks(&first.1)), (&again.0, remarks(&again.1)));
    }
    assert!(first.0.len() < 7, "{:#?}", first.0);
}

/// U3: a pipeline can leave a rule out.
#[test]
fn one_rule_can_be_left_out() {
    let text = func("(%x: f64) -> f64", "%a = neg %x\n%b = neg %a\n%c = abs %b\nret %c");
    let (out, _) = run_in(rewrites(), "saturate", Liberties::empty(), &text);
    assert_eq!(lines(&out), ["%c = abs %x", "ret %c"]);
    let (out, _) = run_in(rewrites(), "saturate, -neg.neg, -abs.neg", Liberties::empty(), &text);
    assert_eq!(lines(&out).len(), 4);
}
