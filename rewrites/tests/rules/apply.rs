//! Matching and application of rules.

use crate::apply;
use pretty_assertions::assert_eq;
use rewright_rewrites::rule::Liberties;

/// One rule, without liberties.
fn rewritten(rule: &'static str, signature: &str, body: &str) -> String {
    apply(&[("rule", rule)], Liberties::empty(), signature, body).0
}

/// A rule that does not apply.
fn stays(rule: &'static str, signature: &str, body: &str) {
    assert_eq!(rewritten(rule, signature, body), body, "{rule}");
}

#[test]
fn nested_terms() {
    let after = rewritten("(neg (neg ?x)) => ?x", "(%x: f64[n]) -> f64[n]", "%a = neg %x\n%b = neg %a\nret %b");
    assert_eq!(after, "ret %x");
}

#[test]
fn commutative_ops_match_either_way_round() {
    let rule = "(add (mul ?a ?b) ?c:float) => (fma ?a ?b ?c)";
    for body in ["%p = mul %x, %y\n%s = add %p, %z\nret %s", "%p = mul %x, %y\n%s = add %z, %p\nret %s"] {
        let after = rewritten(rule, "(%x: f64, %y: f64, %z: f64) -> f64", body);
        assert_eq!(after, "%s = fma %x, %y, %z\nret %s");
    }
}

#[test]
fn the_same_name_is_the_same_value() {
    let rule = "(sub ?x:int ?x) => 0";
    assert_eq!(rewritten(rule, "(%x: i32) -> i32", "%d = sub %x, %x\nret %d"), "ret 0");
    stays(rule, "(%x: i32, %y: i32) -> i32", "%d = sub %x, %y\nret %d");
}

#[test]
fn a_constant_fills_the_extents_of_what_it_replaces() {
    let rule = "(sub ?x:int ?x) => 0";
    let after = rewritten(rule, "(%x: i32[n, 3]) -> i32[n, 3]", "%d = sub %x, %x\nret %d");
    assert_eq!(after, "%d = full 0:i32, dims=[n, 3]\nret %d");
    // The number of elements is unknown.
    stays(rule, "(%x: i32[?]) -> i32[?]", "%d = sub %x, %x\nret %d");
}

#[test]
fn literals_are_of_a_value_whatever_the_dtype() {
    let rule = "(mul ?x 2) => (add ?x ?x)";
    for dtype in ["f64", "f32", "i32", "u8", "c128"] {
        let signature = format!("(%x: {dtype}) -> {dtype}");
        let after = rewritten(rule, &signature, "%d = mul %x, 2\nret %d");
        assert_eq!(after, "%d = add %x, %x\nret %d", "{dtype}");
    }
    stays(rule, "(%x: f64) -> f64", "%d = mul %x, 2.5\nret %d");
    // Zero has two signs.
    stays("(add ?x 0.0) => ?x", "(%x: f64) -> f64", "%d = add %x, -0.0\nret %d");
    assert_eq!(rewritten("(add ?x -0.0) => ?x", "(%x: f64) -> f64", "%d = add %x, -0.0\nret %d"), "ret %x");
}

#[test]
fn constants_are_computed() {
    let rule = "(add (add ?x:int ?a:const) ?b:const) => (add ?x [add ?a ?b])";
    let after = rewritten(rule, "(%x: i8[n]) -> i8[n]", "%a = add %x, 100\n%b = add %a, 100\nret %b");
    assert_eq!(after, "%b = add %x, -56\nret %b");
}

#[test]
fn nothing_is_cast_in_passing() {
    // -(-128) wraps to -128 for i8, but not for i32.
    let rule = "(mul (neg ?x) (neg ?y)) => (mul ?x ?y)";
    stays(rule, "(%x: i8, %y: i32) -> i32", "%a = neg %x\n%b = neg %y\n%c = mul %a, %b\nret %c");
    let after = rewritten(rule, "(%x: i32, %y: i32) -> i32", "%a = neg %x\n%b = neg %y\n%c = mul %a, %b\nret %c");
    assert_eq!(after, "%c = mul %x, %y\nret %c");
}

#[test]
fn results_keep_their_types() {
    // The product may have more elements than either factor.
    let rule = "(mul ?x:int ?y) ~> ?x";
    stays(rule, "(%x: i32[n], %y: i32[m, n]) -> i32[m, n]", "%a = mul %x, %y\nret %a");
    stays("(where ?c ?x ?x) => ?x", "(%c: bool[n], %x: f64) -> f64[n]", "%a = where %c, %x, %x\nret %a");
    let after =
        rewritten("(where ?c ?x ?x) => ?x", "(%c: bool[n], %x: f64[n]) -> f64[n]", "%a = where %c, %x, %x\nret %a");
    assert_eq!(after, "ret %x");
}

/// `?x` may have one element, and `?y` many, to which it is broadcast.
#[test]
fn unknown_extents_of_operands_are_not_dropped() {
    let rule = "(sub (add ?x:int ?y) ?y) => ?x";
    let body = "%a = add %x, %y\n%d = sub %a, %y\nret %d";
    let run = |x: &str, y: &str, result: &str| {
        let (after, report) =
            apply(&[("rule", rule)], Liberties::empty(), &format!("(%x: {x}, %y: {y}) -> {result}"), body);
        (after, report.remarks.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let drops = "rule: @f line 4: not applied: the result may have the extents of `?y`, which the template drops";
    for (x, y, result) in
        [("i32[?]", "i32[?]", "i32[?]"), ("i32[n]", "i32[m]", "i32[?]"), ("i32[?]", "i32[n]", "i32[?]")]
    {
        assert_eq!(run(x, y, result), (body.to_string(), vec![drops.to_string()]), "{x}, {y}");
    }
    // The dropped operand can't determine the result's extents.
    let safe = [
        ("i32[n]", "i32[n]", "i32[n]"),
        ("i32[?]", "i32", "i32[?]"),
        ("i32[?]", "i32[1]", "i32[?]"),
        ("i32[n, ?]", "i32[n, 1]", "i32[n, ?]"),
        ("i32[3, ?]", "i32[1]", "i32[3, ?]"),
    ];
    for (x, y, result) in safe {
        assert_eq!(run(x, y, result), ("ret %x".to_string(), vec![]), "{x}, {y}");
    }
    let same = rewritten(rule, "(%x: i32[?]) -> i32[?]", "%a = add %x, %x\n%d = sub %a, %x\nret %d");
    assert_eq!(same, "ret %x");
    // A kept operand has the extent too.
    let rule = "(sub (add ?x:int ?y) (add ?z ?y)) => (sub ?x ?z)";
    let body = "%a = add %x, %y\n%b = add %z, %y\n%d = sub %a, %b\nret %d";
    let after = rewritten(rule, "(%x: i32[?, 2], %y: i32[n, 2], %z: i32[n, 1]) -> i32[?, 2]", body);
    assert_eq!(after, "%d = sub %x, %z\nret %d");
    stays(rule, "(%x: i32[?, 1], %y: i32[n, ?], %z: i32[n, 1]) -> i32[?, ?]", body);
}

/// A reason that no longer holds is not reported.
#[test]
fn reasons_are_forgotten() {
    let rules = [("drop", "(sub (add ?x:int ?y) ?y) => ?x"), ("neg", "(add ?x:int (neg ?y)) => (sub ?x ?y)")];
    let signature = "(%x: i32[?], %y: i32[?]) -> i32[?]";
    let (after, report) =
        apply(&rules, Liberties::empty(), signature, "%n = neg %y\n%a = add %x, %n\n%d = sub %a, %n\nret %d");
    assert_eq!(after.lines().nth(1), Some("%a = sub %x, %y"));
    assert_eq!((report.applied("neg"), report.remarks.len()), (1, 0), "{:?}", report.remarks);
}

#[test]
fn classes_of_dtypes() {
    let rule = "(abs ?x:unsigned) => ?x";
    assert_eq!(rewritten(rule, "(%x: u8) -> u8", "%a = abs %x\nret %a"), "ret %x");
    stays(rule, "(%x: i8) -> i8", "%a = abs %x\nret %a");
}

#[test]
fn attributes_are_bound_and_compared() {
    let rule = "(sum (neg ?x) axes=@a keepdims=@k) => (neg (sum ?x axes=@a keepdims=@k))";
    for attrs in ["", ", axes=[0]", ", axes=[0], keepdims=true"] {
        let ty = if attrs.is_empty() {
            "f64"
        } else if attrs.ends_with("true") {
            "f64[1, m]"
        } else {
            "f64[m]"
        };
        let signature = format!("(%x: f64[n, m]) -> {ty}");
        let after = rewritten(rule, &signature, &format!("%a = neg %x\n%s = sum %a{attrs}\nret %s"));
        let lines: Vec<&str> = after.lines().collect();
        assert!(lines[0].ends_with(&format!("= sum %x{attrs}")), "{after}");
        assert!(lines[1].starts_with("%s = neg"), "{after}");
    }
    // An attribute that the pattern does not mention must be absent.
    stays(
        "(sum (neg ?x)) => (neg (sum ?x))",
        "(%x: f64[n, m]) -> f64[m]",
        "%a = neg %x\n%s = sum %a, axes=[0]\nret %s",
    );
}

#[test]
fn several_results() {
    let rule = "(divmod ?x:int ?y) => (floordiv ?x ?y), (mod ?x ?y)";
    let after = rewritten(rule, "(%x: i64, %y: i64) -> (i64, i64)", "%q, %r = divmod %x, %y\nret %q, %r");
    assert_eq!(after, "%q = floordiv %x, %y\n%r = mod %x, %y\nret %q, %r");
    let rule = "(neg (divmod ?x ?y).1) => (neg (mod ?x ?y))";
    let body = "%q, %r = divmod %x, %y\n%n = neg %r\nret %n";
    let after = rewritten(rule, "(%x: i64, %y: i64) -> i64", body);
    assert_eq!(after.lines().next(), Some("%0 = mod %x, %y"), "{after}");
    stays(rule, "(%x: i64, %y: i64) -> i64", "%q, %r = divmod %x, %y\n%n = neg %q\nret %n");
}

#[test]
fn shared_terms_are_made_once() {
    let rule = "(power ?x:float 4) => (mul (mul ?x ?x) (mul ?x ?x))";
    let after = rewritten(rule, "(%x: f64) -> f64", "%p = power %x, 4.0\nret %p");
    assert_eq!(after, "%0 = mul %x, %x\n%p = mul %0, %0\nret %p");
}

#[test]
fn conditions_must_be_certain() {
    let rule = "(div ?x:float (sqrt ?x)) => (sqrt ?x) if [nonneg(?x)] liberties [approximate]";
    let run = |liberties, body| apply(&[("div-sqrt", rule)], liberties, "(%x: f64) -> f64", body).0;
    let squared = "%s = mul %x, %x\n%r = sqrt %s\n%q = div %s, %r\nret %q";
    assert_eq!(
        run(Liberties::APPROXIMATE, squared),
        "%s = mul %x, %x\n%r = sqrt %s\n%q = sqrt %s\nret %q".replace("%r = sqrt %s\n", "")
    );
    assert_eq!(run(Liberties::empty(), squared), squared);
    let unknown = "%r = sqrt %x\n%q = div %x, %r\nret %q";
    assert_eq!(run(Liberties::all(), unknown), unknown);
}

#[test]
fn a_rule_that_is_named_but_not_granted_says_so() {
    let registry = crate::registry(&[("sub-self", "(sub ?x:float ?x) => 0 liberties [no_nan, no_inf]")]);
    let mut module =
        rewright_ir::parse_module("func @f(%x: f64) -> f64 {\nentry:\n%d = sub %x, %x\nret %d\n}", "f.ir").unwrap();
    let options = rewright_rewrites::Options { liberties: Liberties::NO_NAN, ..Default::default() };
    let run = |pipeline: &str, module: &mut _| {
        let pipeline = rewright_rewrites::Pipeline::parse_in(&registry, pipeline).unwrap();
        pipeline.run(module, &options, &mut rewright_rewrites::NoObserver).unwrap()
    };
    let report = run("sub-self", &mut module);
    assert_eq!(report.applications(), 0);
    let said: Vec<String> = report.remarks.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["sub-self: @f: it is not applied: it takes liberties that are not granted: no_inf"]);
    assert_eq!(run("default", &mut module).remarks, []);
}

#[test]
fn values_before_a_store_are_not_read_after_it() {
    // The inner `neg` reads %x before the store; its user would read it after.
    let rule = "(neg (neg ?x)) => ?x";
    stays(rule, "(%x: f64[n], %y: f64[n]) -> f64[n]", "%a = neg %x\nstore %x, %y\n%b = neg %a\nret %b");
    stays(rule, "(%x: f64[n], %y: f64[n]) -> f64[n]", "%a = neg %x\nstore %a, %y\n%b = neg %a\nret %b");
    stays(rule, "(%x: f64[n]) -> f64[n]", "%a = neg %x\ndel %x\n%b = neg %a\nret %b");
}

#[test]
fn the_best_rule_is_applied() {
    let rules = [
        ("a", "(mul ?x:float 2) => (add ?x ?x)"),
        ("b", "(mul (exp ?x) 2) => (exp (add ?x 1)) benefit 3"),
        ("c", "(mul (log ?x) 2) => (log (add ?x ?x)) opt_in benefit 9"),
    ];
    let run = |body: &str| apply(&rules, Liberties::empty(), "(%x: f64) -> f64", body).0;
    assert_eq!(run("%e = exp %x\n%m = mul %e, 2.0\nret %m"), "%0 = add %x, 1.0\n%m = exp %0\nret %m");
    assert_eq!(run("%e = log %x\n%m = mul %e, 2.0\nret %m"), "%e = log %x\n%m = add %e, %e\nret %m");
}

rewright_rewrites::rule! { "test-log-exp": (log (exp ?x:float)) => ?x liberties [approximate, no_inf] opt_in }

#[test]
fn compiled_in_rules_are_rewrites_as_others_are() {
    let entry = rewright_rewrites::rewrites().get("test-log-exp").unwrap();
    assert!(entry.origin.file.ends_with("apply.rs"), "{}", entry.origin);
    assert_eq!((entry.def.roots, entry.def.by_default), (&["log"][..], false));
    let mut module =
        rewright_ir::parse_module("func @f(%x: f64) -> f64 {\nentry:\n%a = exp %x\n%b = log %a\nret %b\n}", "f.ir")
            .unwrap();
    let pipeline = rewright_rewrites::Pipeline::parse("test-log-exp, dce").unwrap();
    let options = rewright_rewrites::Options { liberties: Liberties::all(), ..Default::default() };
    let report = pipeline.run(&mut module, &options, &mut rewright_rewrites::NoObserver).unwrap();
    assert_eq!(report.applied("test-log-exp"), 1);
    assert!(rewright_ir::print_module(&module).contains("ret %x"));
}
