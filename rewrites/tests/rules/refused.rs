//! Rejected rules, each with a message that gives the position and the reason.

use pretty_assertions::assert_eq;
use rewright_rewrites::RewriteRegistryError;
use rewright_rewrites::rule::{parse_rule, parse_rules, soundness};

fn message(text: &str) -> String {
    match parse_rule("bad", text) {
        Ok(rule) => panic!("`{text}` is accepted as {rule}"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn each_with_its_place() {
    let expected = [
        ("(neg ?x) => ?y", "rule `bad`: `?y` is not in the pattern\n  (neg ?x) => ?y\n              ^"),
        ("(sqrtt ?x) => ?x", "rule `bad`: there is no op `sqrtt`; did you mean `sqrt`?\n  (sqrtt ?x) => ?x\n   ^"),
        ("(neg ?x ?y) => ?x", "rule `bad`: `neg` takes 1 operands, here it has 2\n  (neg ?x ?y) => ?x\n   ^"),
    ];
    for (text, wanted) in expected {
        assert_eq!(message(text), wanted);
    }
}

#[test]
fn malformed_rules_are_rejected() {
    let refused = [
        ("", "expected `?x`, `(op ...)` or a number, found the end"),
        ("?x => (neg ?x)", "a pattern begins with an op: it would match everything"),
        ("2 => 3", "a pattern begins with an op"),
        ("(neg ?x)", "expected `=>`, `~>` or `<=>`, found the end"),
        ("(neg ?x => ?x", "expected"),
        ("(neg ?x) => ?x )", "expected `if`, `liberties`, `benefit`, `opt_in` or the end, found `)`"),
        ("(neg ?x) => ?x unless [f(?x)]", "found `unless`"),
        ("(neg ?x:folat) => ?x", "there is no dtype or class `folat`"),
        ("(neg ?x:int.float) => ?x", "no dtype is of all classes of `?x`"),
        ("(lt ?x:float ?y) => ?x", "is of type"),
        ("(neg ?x) => ?x if [nonegg(?x)]", "there is no condition `nonegg`; did you mean `nonneg`?"),
        ("(neg ?x) => ?x if [nonneg(?x, ?x)]", "`nonneg` is about 1 variable, here it has 2"),
        ("(neg ?x) => ?x if [nonneg(?y)]", "`?y` is not in the pattern"),
        ("(neg ?x) => ?x if [((((", "expected an op, found `(`"),
        ("(transpose ?x perm=[0, 0]) => ?x", "names axis 0 twice"),
        ("(sum ?x axes=[7]) => (neg (sum ?x axes=[7]))", "on arrays of up to 5 axes"),
        ("(restyle ?x style=@s) => ?x", "no values of `@s` are known to try"),
        ("(sum ?x axes=[0], keepdims=true) => (sum ?x axes=[0])", "white space separates attributes, and no comma"),
        ("(sum ?x axes=@a, keepdims=@k) => (sum ?x axes=@a)", "white space separates attributes, and no comma"),
        ("(neg ?x) => ?x liberties [fast]", "unknown liberty `fast`; expected one of contract, reassociate"),
        ("(sum ?x) => ?x", "both sides are of one type"),
        ("(sum ?x axis=@a) => ?x", "`sum` has no attribute `axis`"),
        ("(sum ?x axes=maybe) => ?x", "or bind the attribute: `axes=@a`"),
        ("(cast ?x) => ?x", "`cast` has an attribute `to`, which must be given: `to=@a` binds it"),
        ("(sum ?x axes=@a) => (sum ?x axes=@b)", "`@b` is not in the pattern"),
        ("(store ?x ?y) => ?x", "`store` has effects"),
        ("(add [neg ?x] ?y) => ?y", "`?x` is computed with, and stands nowhere else in the pattern"),
        ("(add ?x ?y) => [add ?x ?y]", "a term in brackets is an elementwise op of constants"),
        ("(divmod ?x ?y) => (floordiv ?x ?y)", "the pattern has 2 results, and the template 1"),
        ("(neg (divmod ?x ?y).2) => ?x", "`divmod` has 2 results, so none is number 2"),
        ("(mul ?x ?y) <=> ?x", "with `<=>` both sides are patterns"),
        ("(add ?x:f32 2.5) => (neg ?x:f64)", "classes of a variable belong into the pattern"),
        ("(and ?x 2) => ?x", "no dtypes"),
        ("(add ?x:int ?y:float) => ?x", "`?x` is i8, i16, i32, i64, u8, u16, u32, u64, `?y` is f32, f64"),
        ("(add ?x:int 0) => ?x if [(or)]", "`(or)` has no condition"),
        ("(sub least 1) => greatest", "a variable with a class, such as `?x:i16`, gives it one"),
        ("(add ?x:int 0) => ?x benefit 1 benefit 2", "the clause `benefit` is given twice"),
    ];
    for (text, wanted) in refused {
        let message = message(text);
        assert!(message.contains(wanted), "{text}\n{message}");
    }
}

#[test]
fn every_error_is_reported() {
    let message = message("(neg ?x:folat) => ?x if [nonegg(?x)] liberties [fast]");
    assert_eq!(message.matches("rule `bad`").count(), 3, "{message}");
    // An unknown variable is one error.
    let message = self::message("(add ?x ?y) => ?x if [nonneg(?z)]");
    assert_eq!(message.matches("rule `bad`").count(), 1, "{message}");
}

#[test]
fn any_text_is_refused_or_read() {
    // No part of it may panic or loop, whatever the bytes.
    let text =
        "(add (mul ?x:int.const 2.5e3) [neg ?y]) <=> (sum ?x axes=@a).1, inf if [nonneg(?x)] liberties [no_nan] é";
    cut(text);
    cut(
        "(?f{lt, le} (concat ?x (neg ?y)... axis=@a) [add 0xf_f ?z]), (neg _:int) => _ if [(or (eq ?z least) f(?y)...)]",
    );
    let deep = format!("{}?x{} => ?x", "(neg ".repeat(10_000), ")".repeat(10_000));
    assert!(message(&deep).contains("nested no deeper than"), "a deep term");
}

/// Parses the text without each of its parts.
fn cut(text: &str) {
    let ends: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
    for &end in &ends {
        let _ = parse_rule("cut", &text[..end]);
        for &begin in ends.iter().take_while(|&&begin| begin <= end) {
            let cut = format!("{}{}", &text[..begin], &text[end..]);
            let _ = parse_rule("cut", &cut);
        }
    }
}

#[test]
fn printed_rules_are_parsed_again() {
    let texts = [
        "(add (mul ?x 2) -0.0) => (fma ?x 2 0.0)",
        "(sum (neg ?x) axes=@a keepdims=true) => (neg (sum ?x axes=@a keepdims=true))",
        "(add (add ?x ?a:const) ?b:const) => (add ?x [add ?a ?b])",
        "(exp (add ?x ?y)) <=> (mul (exp ?x) (exp ?y))",
        "(divmod ?x ?y) => (floordiv ?x ?y), (mod ?x ?y)",
    ];
    for text in texts {
        let rule = parse_rule("rule", text).unwrap();
        assert_eq!(rule.to_string(), text.replace(":const", ""));
    }
}

#[test]
fn clashes_are_startup_errors() {
    let registry = crate::registry(&[("twice", "(neg (neg ?x)) => ?x"), ("twice", "(abs (abs ?x)) => (abs ?x)")]);
    assert!(matches!(registry.errors(), [RewriteRegistryError::Duplicate { what: "rule", name: "twice", .. }]));
    let registry = crate::registry(&[("bad", "(neg ?x) => (nge ?x)")]);
    assert!(registry.errors()[0].to_string().contains("written at test (test.rs:1)"), "{}", registry.errors()[0]);
}

#[test]
fn files_of_rules() {
    let text = "[\n  Rule(name: \"one\", rule: \"(neg (neg ?x)) => ?x\"),\n  Rule(name: \"two\", rule: \"(abs (neg ?x)) => (abs ?x)\"),\n]";
    let rules = parse_rules(text, "my.ron").unwrap();
    let lines: Vec<(&str, u32)> = rules.iter().map(|r| (r.entry.def.name, r.entry.origin.line)).collect();
    assert_eq!(lines, [("one", 2), ("two", 3)]);
    // The second rule is wrong for unsigned integers.
    assert_eq!(rules.iter().map(|rule| rule.check().is_ok()).collect::<Vec<_>>(), [true, false]);
    let error = parse_rules("[\n Rule(nam: \"one\", rule: \"\"),\n]", "my.ron").unwrap_err();
    assert_eq!((error.line, error.message.contains("nam")), (2, true), "{error}");
}

#[test]
fn files_state_what_their_rules_take() {
    let of = |more: &str| {
        let text = format!("[\n  Rule(name: \"not-less\", rule: \"(not (lt ?a ?b)) => (ge ?a ?b){more}),\n]");
        let rules = parse_rules(&text, "my.ron").unwrap();
        rules[0].check().map_err(|e| e.to_string())
    };
    let refused = of("\"").unwrap_err();
    assert!(refused.starts_with("my.ron:2: rule `not-less` does not hold: ?a = NaN of f32"), "{refused}");
    assert!(refused.contains("it holds with `liberties [no_nan]`"), "{refused}");
    assert_eq!(of(" liberties [no_nan]\""), Ok(()));
    assert_eq!(of("\", unchecked: true"), Ok(()));
    let never = parse_rules("[Rule(name: \"zero\", rule: \"(neg ?x:int) => ?x\")]", "my.ron").unwrap();
    let refused = never[0].check().unwrap_err().to_string();
    assert!(refused.contains("no liberties make it hold"), "{refused}");
}

#[test]
fn attributes_that_must_be_given() {
    for text in [
        "(neg (slice ?x at=@d)) => (slice (neg ?x) at=@d)",
        "(slice (neg ?x) at=[1:, ::-1]) => (neg (slice ?x at=[1:, ::-1]))",
        "(reshape (reshape ?x dims=@e) dims=@d) => (reshape ?x dims=@d)",
        "(neg (broadcast_in_dim ?x dims=@d axes=@a)) => (broadcast_in_dim (neg ?x) dims=@d axes=@a)",
    ] {
        let rule = parse_rule("rule", text).unwrap_or_else(|e| panic!("{e}"));
        let found = soundness::check(&rule);
        assert!(found.counterexample.is_none() && found.points > 100, "{text}: {found:?}");
    }
    // They are tested with scalars, at the extents that they name, and with open extents.
    for (text, sound) in [
        ("(getitem (neg ?x:float) ?i:i64) => (neg (getitem ?x ?i))", true),
        ("(slice ?x at=[:5]) => ?x", false),
        ("(slice ?x at=[-5:]) => ?x", false),
        ("(transpose (transpose ?x perm=@p) perm=@p) => ?x", false),
        ("(stack ?x ?x axis=@a) => (broadcast_in_dim (expand_dims ?x axes=[0]) dims=[2, ?])", false),
        ("(cast (cast ?x:int to=f64) to=f32) => (cast ?x to=f32)", false),
    ] {
        let rule = parse_rule("rule", text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(soundness::check(&rule).counterexample.is_none(), sound, "{text}");
    }
    let large = parse_rules(
        "[Rule(name: \"large\", rule: \"(neg (full ?v dims=[100000, 100000])) => (full ?v dims=[100000, 100000])\")]",
        "my.ron",
    );
    assert!(large.unwrap()[0].check().unwrap_err().to_string().contains("could be tried on no values"));
    let text = "(slice (slice ?x at=@a) at=@b) => (slice ?x at=@a)";
    let rule = parse_rule("rule", text).unwrap_or_else(|e| panic!("{e}"));
    assert!(soundness::check(&rule).counterexample.is_some());
    assert!(message("(slice ?x at=[0]) => ?x").contains("start:stop:step"));
}
