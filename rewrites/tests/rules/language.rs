//! Each construct of the rule language, applied and checked.

use crate::{apply, registry};
use pretty_assertions::assert_eq;
use rewright_ir::parse_module;
use rewright_rewrites::rule::{Liberties, Rule, parse_rule, soundness};
use rewright_rewrites::{NoObserver, Options, Pipeline, rewrites, rule};
use std::time::{Duration, Instant};

fn rewritten(rule: &'static str, signature: &str, body: &str) -> String {
    apply(&[("rule", rule)], Liberties::empty(), signature, body).0
}

fn stays(rule: &'static str, signature: &str, body: &str) {
    assert_eq!(rewritten(rule, signature, body), body, "{rule}");
}

fn parsed(text: &str) -> Rule {
    parse_rule("rule", text).unwrap_or_else(|e| panic!("{e}"))
}

fn message(text: &str) -> String {
    match parse_rule("bad", text) {
        Ok(rule) => panic!("`{text}` is accepted as {rule}"),
        Err(errors) => errors.to_string(),
    }
}

fn holds(text: &str) {
    let found = soundness::check(&parsed(text));
    if let Some(example) = found.counterexample {
        panic!("{text}: {example}");
    }
    assert!(found.points > 10, "{text}: {} points", found.points);
}

fn fails(text: &str) {
    assert!(soundness::check(&parsed(text)).counterexample.is_some(), "{text}");
}

// --- Compiled-in rules ------------------------------------------------------------------------

rule! { "language.formula": (where (lt ?x:int ?a:const) ?b:const ?x) => (maximum ?x ?b)
if [(or (eq ?a ?b) (eq (add ?b 1) ?a)), (not (eq ?b greatest))] opt_in }
rule! { "language.numbers": (bitand (bitand ?x:u32 0xff_00) 0x0f_f0) => (bitand ?x 0xf00) opt_in }
rule! { "language.wildcard": (mul (sub ?x:int ?x) _) => 0 if [scalar(?x)] opt_in }
rule! { "language.op": (?cmp{lt, le, gt, ge} (neg ?x:float) (neg ?y)) => (?cmp{gt, ge, lt, le} ?x ?y) opt_in }
rule! { "language.roots": (floordiv ?x ?y), (mod ?x ?y) => (divmod ?x ?y).0, (divmod ?x ?y).1 opt_in }
rule! { "language.rest": (concat (neg ?xs:float)... axis=@a) => (neg (concat ?xs... axis=@a)) if [not_nan(?xs)...] opt_in }

#[test]
fn the_macro_takes_each_construct() {
    assert_eq!(rewrites().errors(), []);
    for name in ["formula", "numbers", "wildcard", "op", "roots", "rest"] {
        let name = format!("language.{name}");
        assert!(rewrites().get(&name).is_some(), "{name}");
    }
}

// --- Conditions -------------------------------------------------------------------------------

#[test]
fn conditions_relate_constants() {
    let rule = "(floordiv (floordiv ?x:int ?a:const) ?b:const) => (floordiv ?x [mul ?a ?b]) \
                if [(gt ?a 0), (gt ?b 0), (eq (floordiv (mul ?a ?b) ?b) ?a)]";
    holds(rule);
    let of = |a: i32, b: i32| {
        rewritten(rule, "(%x: i8) -> i8", &format!("%a = floordiv %x, {a}\n%b = floordiv %a, {b}\nret %b"))
    };
    assert_eq!(of(3, 5), "%b = floordiv %x, 15\nret %b");
    // 16 * 16 wraps to 0.
    assert_eq!(of(16, 16).lines().count(), 3);
    assert_eq!(of(3, -5).lines().count(), 3);
}

#[test]
fn conditions_have_three_truth_values() {
    let body = "%a = abs %x\nret %a";
    // No facts about `%x`: neither the condition nor its negation is certain.
    stays("(abs ?x:float) => ?x if [nonneg(?x)]", "(%x: f64) -> f64", body);
    stays("(abs ?x:float) => (neg ?x) if [(not nonneg(?x))]", "(%x: f64) -> f64", body);
    stays("(abs ?x:float) => ?x if [(or nonneg(?x) (not nonneg(?x)))]", "(%x: f64) -> f64", body);
    let rule = "(mul ?x:int ?c:const) => (neg (mul ?x [neg ?c])) if [(not nonneg(?c)), (ne ?c -1)]";
    let of = |c: i32| rewritten(rule, "(%x: i32) -> i32", &format!("%m = mul %x, {c}\nret %m"));
    assert_eq!(of(-3), "%0 = mul %x, 3\n%m = neg %0\nret %m");
    assert_eq!(of(3), "%m = mul %x, 3\nret %m");
    assert_eq!(of(-1), "%m = mul %x, -1\nret %m");
    // One part decides although the other is unknown.
    let rule = "(mul ?x:int ?c:const) => (left_shift ?x 1) if [(or (eq ?c 2) nonneg(?x)), (eq ?c 2)]";
    assert_eq!(rewritten(rule, "(%x: i32) -> i32", "%m = mul %x, 2\nret %m"), "%m = left_shift %x, 1\nret %m");
}

#[test]
fn comparisons_of_variables_are_decided_where_certain() {
    let rule = "(sub (minimum ?x:int ?y) (minimum ?z ?w)) => (sub ?y ?w) if [(eq (sub ?x ?y) (sub ?z ?w))]";
    holds("(sub (minimum ?x:i64 ?y) (minimum ?z ?w)) => (sub ?y ?w) if [(eq ?x ?z), (eq ?y ?w)]");
    let signature = "(%x: i32, %y: i32, %z: i32) -> i32";
    let after = rewritten(rule, signature, "%a = minimum %x, %y\n%b = minimum %x, %y\n%d = sub %a, %b\nret %d");
    assert_eq!(after, "%d = sub %y, %y\nret %d");
    stays(rule, signature, "%a = minimum %x, %y\n%b = minimum %x, %z\n%d = sub %a, %b\nret %d");
    let rule = "(floordiv ?x:int ?y) => (div_of ?x ?y)";
    assert!(message(rule).contains("there is no op `div_of`"));
    // Unsigned numbers are not negative.
    let rule = "(maximum ?x:int ?c:const) => ?x if [(ge ?x 0), (eq ?c 0)]";
    assert_eq!(rewritten(rule, "(%x: u8) -> u8", "%m = maximum %x, 0\nret %m"), "ret %x");
    stays(rule, "(%x: i8) -> i8", "%m = maximum %x, 0\nret %m");
    // Floats may be NaN.
    stays("(sub ?x:float ?y) => 0 if [(eq ?x ?y)]", "(%x: f64) -> f64", "%m = sub %x, %x\nret %m");
}

#[test]
fn conditions_that_make_no_sense_are_refused() {
    for (text, wanted) in [
        ("(add ?x ?c:const) => ?x if [(eq ?d 0)]", "`?d` is not in the pattern"),
        ("(add ?x ?c:const) => ?x if [(eqq ?c 0)]", "there is no op `eqq`; did you mean `eq`?"),
        ("(add ?x ?c:const) => ?x if [(add ?c 0)]", "is no bool"),
        ("(add ?x ?c:const) => ?x if [(not)]", "`(not)` has no condition"),
        ("(add ?x ?c:const) => ?x if [(not nonneg(?x) nonneg(?c))]", "here it has 2"),
        ("(add ?x ?c:const) => ?x if [3]", "there is no condition `3`"),
        ("(add ?x ?c:const) => ?x if [(and nonneg(?x)", "the `)` that belongs to this is missing"),
        ("(sum ?x) => (sum ?x) if [(eq (sum ?x) 0)]", "is no elementwise op"),
        ("(cast ?c:const to=@d) => (cast ?c to=@d) if [(eq (cast ?c to=@d) 0)]", "and none that is bound"),
        ("(add ?x:const.nonconst ?y) => ?x", "is `const` and `nonconst`"),
    ] {
        let message = message(text);
        assert!(message.contains(wanted), "{text}\n{message}");
    }
    let deep = format!("(neg ?x) => (neg ?x) if [{}nonneg(?x){}]", "(not ".repeat(5000), ")".repeat(5000));
    assert!(message(&deep).contains("nested no deeper than"));
}

// --- Computed constants, and numbers ----------------------------------------------------------

#[test]
fn constants_are_computed_anywhere() {
    let rule = "(mul (add ?x:int ?a:const) ?b:const) => (add (mul ?x ?b) [add (mul ?a ?b) [sub ?a ?a]])";
    holds(rule);
    let after = rewritten(rule, "(%x: i32) -> i32", "%a = add %x, 3\n%m = mul %a, 5\nret %m");
    assert_eq!(after, "%0 = mul %x, 5\n%m = add %0, 15\nret %m");
    // As further results, and alone.
    let rule = "(divmod ?a:const.int ?b:const) => [floordiv ?a ?b], [mod ?a ?b]";
    holds(rule);
    let after = rewritten(rule, "() -> (i32, i32)", "%q, %r = divmod 7:i32, 3:i32\nret %q, %r");
    assert_eq!(after, "ret 2, 1");
}

#[test]
fn patterns_have_computed_operands() {
    let rule = "(where (lt ?k:const ?x:int) ?x [add ?k 1]) => (maximum ?x [add ?k 1]) if [(ne ?k greatest)]";
    holds(rule);
    fails("(where (lt ?k:const ?x:int) ?x [add ?k 1]) => (maximum ?x [add ?k 1])");
    let of = |k: i32, m: i32| {
        rewritten(rule, "(%x: i32) -> i32", &format!("%c = lt {k}, %x\n%w = where %c, %x, {m}\nret %w"))
    };
    assert_eq!(of(4, 5), "%w = maximum %x, 5\nret %w");
    assert_eq!(of(4, 6).lines().count(), 3);
    let unbound = message("(add ?x [add ?k 1]) => ?x");
    assert!(unbound.contains("`?k` is computed with, and stands nowhere else in the pattern"), "{unbound}");
}

#[test]
fn numbers_of_the_dtype() {
    holds("(minimum ?x:int greatest) => ?x");
    holds("(maximum ?x:int least) => ?x");
    holds("(maximum ?x:int greatest) => greatest");
    holds("(minimum ?x:bool greatest) => ?x");
    holds("(bitand ?x all_bits) => ?x");
    holds("(bitor ?x all_bits) => all_bits");
    holds("(left_shift ?x:int width) => 0");
    fails("(minimum ?x:int least) => ?x");
    fails("(left_shift ?x:int [sub width 1]) => 0".replace("[sub width 1]", "7").as_str());
    let rule = "(minimum ?x:int greatest) => ?x";
    for (dtype, greatest) in [("i8", "127"), ("u8", "255"), ("i64", "9223372036854775807")] {
        let after =
            rewritten(rule, &format!("(%x: {dtype}) -> {dtype}"), &format!("%m = minimum %x, {greatest}\nret %m"));
        assert_eq!(after, "ret %x", "{dtype}");
    }
    // At the dtype at which the op computes, not at the constant's own.
    stays(rule, "(%x: i32) -> i32", "%m = minimum %x, 127:i8\nret %m");
    let rule = "(bitand ?x all_bits) => ?x";
    assert_eq!(rewritten(rule, "(%x: bool) -> bool", "%m = bitand %x, true\nret %m"), "ret %x");
    assert_eq!(rewritten(rule, "(%x: i16) -> i16", "%m = bitand %x, -1\nret %m"), "ret %x");
    stays(rule, "(%x: i32) -> i32", "%m = bitand %x, 255:u8\nret %m");
    assert!(message("(neg ?x:complex) => least").contains("has no `least`"));
}

#[test]
fn numbers_are_written_as_elsewhere() {
    let rule = "(bitand (bitand ?x:u32 0xFF_00) 0x0f_f0) => (bitand ?x 0xf00)";
    holds(rule);
    let after = rewritten(rule, "(%x: u32) -> u32", "%a = bitand %x, 65280\n%b = bitand %a, 4080\nret %b");
    assert_eq!(after, "%b = bitand %x, 3840\nret %b");
    holds("(add (add ?x:i32 1_000) -0x10) => (add ?x 984)");
    for wrong in ["0xfg", "0x", "1__0", "1_", "_1", "1.2.3", "12ab", "0x1.5", "--1", "-true", "-least", "infinity"] {
        let message = message(&format!("(add ?x {wrong}) => ?x"));
        assert!(message.contains("is no number") || message.contains("expected `?x`"), "{wrong}: {message}");
    }
    assert!(message("(add ?x 0xfg) => ?x").contains("`0xfg` is no number: numbers are `2`, `-0.5`"));
}

#[test]
fn wildcards_match_anything() {
    let rule = "(where true ?x:int _) => ?x";
    assert_eq!(rewritten(rule, "(%x: i32, %y: i32) -> i32", "%w = where true, %x, %y\nret %w"), "ret %x");
    holds("(mul (sub ?x:int ?x) _) => 0 if [scalar(?x)]");
    // Each `_` is another variable.
    holds("(bitand (bitand _ 0) (bitand _:u8 0)) => 0");
    assert_eq!(parsed("(fma _ _ ?x:f64) ~> ?x").to_string(), "(fma _ _ ?x) ~> ?x");
    assert!(message("(neg ?x) => _").contains("`_` matches anything"));
    assert!(message("(neg ?_) => 1").contains("`_` is no name"));
    assert!(message("(neg _x) => 1").contains("expected `?x`, `_`"));
}

// --- Op variables -----------------------------------------------------------------------------

#[test]
fn an_op_may_be_a_variable() {
    let rule = "(?cmp{lt, le, gt, ge} (neg ?x:float) (neg ?y)) => (?cmp ?y ?x)";
    holds(rule);
    for cmp in ["lt", "le", "gt", "ge"] {
        let body = format!("%a = neg %x\n%b = neg %y\n%c = {cmp} %a, %b\nret %c");
        let after = rewritten(rule, "(%x: f64, %y: f64) -> bool", &body);
        assert_eq!(after, format!("%c = {cmp} %y, %x\nret %c"));
    }
    stays(rule, "(%x: f64, %y: f64) -> bool", "%a = neg %x\n%b = neg %y\n%c = eq %a, %b\nret %c");
    // A second list corresponds to the first one.
    let rule = "(?cmp{lt, le, gt, ge} (neg ?x:float) (neg ?y)) => (?cmp{gt, ge, lt, le} ?x ?y)";
    holds(rule);
    let after = rewritten(rule, "(%x: f64, %y: f64) -> bool", "%a = neg %x\n%b = neg %y\n%c = le %a, %b\nret %c");
    assert_eq!(after, "%c = ge %x, %y\nret %c");
    holds("(not (?cmp{lt, le, eq} ?x:int ?y)) => (?cmp{ge, gt, ne} ?x ?y)");
    // Each choice is checked.
    fails("(not (?cmp{eq, lt} ?x:float ?y)) => (?cmp{ne, ge} ?x ?y)");
    fails("(?f{minimum, sub} ?x:int ?y) => (?f ?y ?x)");
    let found = soundness::check(&parsed("(?f{minimum, sub} ?x:int ?y) => (?f ?y ?x)"));
    let example = found.counterexample.expect("it is wrong of `sub`").to_string();
    assert!(example.starts_with("?f = sub, ?x = "), "{example}");
    // Liberties are checked with each choice too.
    let rule = parsed("(not (?cmp{eq, lt} ?x:float ?y)) => (?cmp{ne, ge} ?x ?y)");
    assert_eq!(soundness::missing_liberties(&rule), Some(Liberties::NO_NAN));
    // Two variables are chosen independently.
    assert_eq!(parsed("(?f{minimum, maximum} (?g{add, sub} ?x:int ?y) ?z) ~> (?f ?z (?g ?x ?y))").all().count(), 4);
}

#[test]
fn op_variables_are_one_rule() {
    let rules = [("cmp", "(?cmp{lt, le, gt, ge} (neg ?x:float) (neg ?y)) => (?cmp ?y ?x)")];
    let registry = registry(&rules);
    assert_eq!(registry.errors(), []);
    assert_eq!(registry.iter().map(|entry| entry.def.name).collect::<Vec<_>>(), ["cmp"]);
    let body = "%a = neg %x\n%b = neg %y\n%c = lt %a, %b\n%d = ge %a, %b\n%e = or %c, %d\nret %e";
    let (_, report) = apply(&rules, Liberties::empty(), "(%x: f64, %y: f64) -> bool", body);
    assert_eq!(report.applied("cmp"), 2);
    // Equality saturation has all choices under one name, and a proof of one passes the check.
    let text = format!("func @f(%x: f64, %y: f64) -> bool {{\nentry:\n{body}\n}}\n");
    let mut module = parse_module(&text, "f.ir").unwrap();
    let all: Vec<_> = rewrites().iter().filter(|e| e.def.name == "saturate").collect();
    let entries: Vec<_> = rules
        .iter()
        .map(|&(name, text)| rewright_rewrites::rule::RuleEntry {
            def: rewright_rewrites::rule::RuleDef { name, text },
            origin: rewright_ir::Origin { krate: "test", version: "", file: "test.rs", line: 1 },
        })
        .collect();
    let registry = rewright_rewrites::RewriteRegistry::build_with(all, &entries);
    let pipeline = Pipeline::parse_in(&registry, "saturate").unwrap();
    let report = pipeline.run(&mut module, &Options::default(), &mut NoObserver).unwrap();
    let used: Vec<(String, u64)> =
        report.saturation.rules.iter().map(|rule| (rule.rule.to_string(), rule.matches)).collect();
    assert!(used.iter().any(|(name, matches)| name == "cmp" && *matches >= 2), "{used:?}");
    assert_eq!(used.iter().filter(|(name, _)| name == "cmp").count(), 1, "{used:?}");
}

#[test]
fn op_variables_that_make_no_sense_are_refused() {
    for (text, wanted) in [
        ("(?f ?x) => ?x", "the op variable `?f` has no ops: `(?f{lt, le} ...)` lists them"),
        ("(?f{} ?x) => ?x", "has at least one op"),
        ("(?f{negg} ?x) => ?x", "there is no op `negg`; did you mean `neg`?"),
        ("(?f{neg, abs} ?x) => (?f{neg} ?x)", "has 2 ops where it is first named, here it has 1"),
        ("(?f{neg, add} ?x) => ?x", "`add` takes 2 operands, here it has 1"),
        ("(?f{neg, lt} ?x ?y) => ?x", "`neg` takes 1 operands"),
        ("(?f{add, lt} ?x:float ?y) => ?x", "`?f` is `lt`: no dtypes"),
        ("(neg ?x) => (?f{neg ?x)", "expected `,`"),
    ] {
        let message = message(text);
        assert!(message.contains(wanted), "{text}\n{message}");
    }
    let list = "lt, le, gt, ge, eq, ne, lt, le, gt, ge";
    let many = format!("(?f{{{list}}} (?g{{{list}}} ?x ?y) ?z) => (?f ?z ?x)");
    assert!(message(&many).contains("at most 64 choices of ops, here it has 100"));
}

// --- Several roots ----------------------------------------------------------------------------

const DIVMOD: &str = "(floordiv ?x ?y), (mod ?x ?y) => (divmod ?x ?y).0, (divmod ?x ?y).1";

#[test]
fn several_roots_are_replaced_at_once() {
    holds(DIVMOD);
    fails("(floordiv ?x:int ?y), (mod ?x ?y) => (divmod ?x ?y).1, (divmod ?x ?y).0");
    let signature = "(%x: i32, %y: i32) -> i32";
    let merged = "%q, %r = divmod %x, %y\n%s = add %q, %r\nret %s";
    for body in [
        "%q = floordiv %x, %y\n%r = mod %x, %y\n%s = add %q, %r\nret %s",
        "%r = mod %x, %y\n%q = floordiv %x, %y\n%s = add %q, %r\nret %s",
    ] {
        assert_eq!(rewritten(DIVMOD, signature, body), merged, "{body}");
    }
    // A user of the first root may stand before the second one.
    let body = "%q = floordiv %x, %y\n%n = neg %q\n%r = mod %x, %y\n%s = add %n, %r\nret %s";
    assert_eq!(rewritten(DIVMOD, signature, body), "%q, %r = divmod %x, %y\n%n = neg %q\n%s = add %n, %r\nret %s");
    // A single root stays, and so do roots with other operands.
    stays(DIVMOD, signature, "%q = floordiv %x, %y\nret %q");
    stays(DIVMOD, signature, "%q = floordiv %x, %y\n%r = mod %y, %x\n%s = add %q, %r\nret %s");
}

#[test]
fn roots_that_do_not_stand_together_stay() {
    // A store to an operand stands between them.
    let body = "%q = floordiv %x, %y\nstore %x, %y\n%r = mod %x, %y\n%s = add %q, %r\nret %s";
    stays(DIVMOD, "(%x: i32[3], %y: i32[3]) -> i32[3]", body);
    // An operand of the second root is not defined at the first one.
    let rule = "(neg ?x:int), (add ?x ?y) => (neg ?x), (add ?y ?x)";
    let body = "%n = neg %x\n%z = abs %n\n%s = add %x, %z\n%r = mul %s, %z\nret %r";
    stays(rule, "(%x: i32) -> i32", body);
    // They are in two blocks.
    let text = "func @f(%x: i32, %y: i32, %c: bool) -> i32 {\nentry:\n  %q = floordiv %x, %y\n  br_if %c, a, b\na:\n  %r = mod %x, %y\n  ret %r\nb:\n  ret %q\n}\n";
    let registry = registry(&[("divmod", DIVMOD)]);
    let module = parse_module(text, "f.ir");
    if let Ok(mut module) = module {
        let pipeline = Pipeline::parse_in(&registry, "default").unwrap();
        let report = pipeline.run(&mut module, &Options::default(), &mut NoObserver).unwrap();
        assert_eq!(report.applied("divmod"), 0);
    } else {
        panic!("{}", module.unwrap_err());
    }
}

#[test]
fn roots_are_found_through_other_ops() {
    let rule = "(floordiv (neg ?x:i64) ?y), (mod (neg ?x) ?y) => (divmod (neg ?x) ?y).0, (divmod (neg ?x) ?y).1";
    holds(rule);
    let body = "%a = neg %x\n%q = floordiv %a, %y\n%b = neg %x\n%r = mod %b, %y\n%s = add %q, %r\nret %s";
    let after = rewritten(rule, "(%x: i64, %y: i64) -> i64", body);
    assert!(after.contains("divmod") && !after.contains("mod %b"), "{after}");
    // A value with many users does not lead to a root, so time stays linear.
    let many: String = (0..3000).map(|n| format!("%q{n} = floordiv %x, %z{n}\n")).collect();
    let params: String = (0..3000).map(|n| format!(", %z{n}: i64")).collect();
    let begin = Instant::now();
    let _ = rewritten(DIVMOD, &format!("(%x: i64{params}) -> i64"), &format!("{many}ret %q0"));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn roots_that_make_no_sense_are_refused() {
    for (text, wanted) in [
        ("(neg ?x), (neg ?x) => ?x, ?x", "two roots of a pattern are the same term"),
        ("(neg ?x), (abs ?y) => ?x, ?y", "a further root has a variable in common with those before it"),
        ("(neg ?x), ?y => ?x, ?y", "a pattern begins with an op"),
        ("(neg ?x), (abs ?x) => ?x", "the pattern has 2 results, and the template 1"),
        ("(neg ?x), (abs ?x) <=> (abs ?x), (neg ?x)", "with `<=>` both sides are patterns"),
    ] {
        let message = message(text);
        assert!(message.contains(wanted), "{text}\n{message}");
    }
    let text = "(floordiv ?x ?y), (mod ?x ?y) => (divmod ?x ?y), (divmod ?x ?y).1";
    assert_eq!(parsed(text).to_string(), text);
}

// --- Rest variables ---------------------------------------------------------------------------

#[test]
fn rest_variables_stand_for_any_number_of_operands() {
    let rule = "(concat (neg ?xs:float)... axis=@a) => (neg (concat ?xs... axis=@a))";
    holds(rule);
    for count in [1, 2, 5, 40] {
        let params: Vec<String> = (0..count).map(|n| format!("%x{n}: f64[2]")).collect();
        let negs: String = (0..count).map(|n| format!("%n{n} = neg %x{n}\n")).collect();
        let operands: Vec<String> = (0..count).map(|n| format!("%n{n}")).collect();
        let (rows, list) = (2 * count, operands.join(", "));
        let body = format!("{negs}%c = concat {list}, axis=0\nret %c");
        let after = rewritten(rule, &format!("({}) -> f64[{rows}]", params.join(", ")), &body);
        let plain: Vec<String> = (0..count).map(|n| format!("%x{n}")).collect();
        assert_eq!(after, format!("%0 = concat {}\n%c = neg %0\nret %c", plain.join(", ")));
    }
    // All operands match, or the rule does not.
    let signature = "(%x: f64[2], %y: f64[2]) -> f64[4]";
    stays(rule, signature, "%n = neg %x\n%c = concat %n, %y\nret %c");
}

#[test]
fn rest_variables_stand_among_others() {
    let rule = "(concat ?before... (concat ?xs... axis=@a) ?after... axis=@a) \
                => (concat ?before... ?xs... ?after... axis=@a)";
    holds(rule);
    let signature = "(%x: f64[2], %y: f64[3], %z: f64[4]) -> f64[9]";
    for (operands, body) in [
        ("%x, %y, %z", "%i = concat %x, %y, axis=0\n%c = concat %i, %z, axis=0\nret %c"),
        ("%z, %x, %y", "%i = concat %x, %y, axis=0\n%c = concat %z, %i, axis=0\nret %c"),
    ] {
        assert_eq!(rewritten(rule, signature, body), format!("%c = concat {operands}\nret %c"));
    }
    fails("(concat ?x ?xs... axis=@a) => (concat ?xs... ?x axis=@a)");
}

#[test]
fn rest_variables_stand_on_both_sides() {
    let rule = "(add (concat ?xs:i64... axis=@a) (concat ?ys:i64... axis=@a)) => (concat (add ?xs ?ys)... axis=@a) \
                if [same_shape(?xs, ?ys)...]";
    holds(rule);
    let signature = "(%x: i64[2], %y: i64[3], %z: i64[2], %w: i64[3]) -> i64[5]";
    let body = "%a = concat %x, %y, axis=0\n%b = concat %z, %w, axis=0\n%c = add %a, %b\nret %c";
    assert_eq!(rewritten(rule, signature, body), "%0 = add %x, %z\n%1 = add %y, %w\n%c = concat %0, %1\nret %c");
    let body = "%a = concat %x, %y\n%b = concat %w, %z\n%c = add %a, %b\nret %c";
    stays(rule, signature, body);
}

#[test]
fn rest_variables_that_make_no_sense_are_refused() {
    for (text, wanted) in [
        ("(concat ?xs... axis=@a) => ?xs", "`?xs` stands for several operands"),
        ("(concat ?xs... axis=@a) => (concat ?ys... axis=@a)", "is not in the pattern"),
        (
            "(concat (neg (abs ?xs)...)... axis=@a) => (concat ?xs... axis=@a)",
            "`...` inside of the term that `...` repeats",
        ),
        ("(add ?xs...) => 1", "`add` takes 2 operands, here it has 1"),
    ] {
        let message = message(text);
        assert!(message.contains(wanted), "{text}\n{message}");
    }
}

// --- Limits -----------------------------------------------------------------------------------

#[test]
fn rules_that_are_too_large_are_refused_at_once() {
    let begin = Instant::now();
    let vars = |sep: &str| (0..3000).map(|n| format!("?v{n}:int")).collect::<Vec<_>>().join(sep);
    let wide = format!("(concat {0} axis=@a) => (concat {0} axis=@a)", vars(" "));
    assert!(message(&wide).contains("a rule has at most 32 variables"));
    let numbers: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    assert!(message(&format!("(stack {}) => 0", numbers.join(" "))).contains("a rule has at most 256 terms"));
    assert!(message(&format!("(stack {}) => 0", "?x ".repeat(100_000))).contains("a term has at most 256 operands"));
    assert!(
        message(&format!("(neg ?x) => ?x if [{}]", vec!["(lt 1 2)"; 50_000].join(", ")))
            .contains("at most 256 conditions")
    );
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    // 32 variables parse quickly too, whatever their dtypes.
    let begin = Instant::now();
    let some = |count: usize| (0..count).map(|n| format!("?v{n}")).collect::<Vec<_>>().join(" ");
    let fits = format!("(concat {0} axis=@a) => (concat {0} axis=@a)", some(32));
    assert_eq!(parsed(&fits).vars.len(), 32);
    assert!(message(&format!("(concat {0} axis=@a) => (concat {0} axis=@a)", some(33))).contains("at most 32"));
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}
