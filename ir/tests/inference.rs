//! Type inference of untyped functions.

use pretty_assertions::assert_eq;
use rewright_ir::ron::{from_ron, to_ron};
use rewright_ir::{Datum, Limits, Module, Scalar, evaluate, infer_function, parse_module, print_module};

fn module(text: &str) -> Module {
    parse_module(text, "f.ir").unwrap_or_else(|e| panic!("{e}"))
}

/// The module after type inference.
fn inferred(text: &str) -> Result<Module, String> {
    let mut module = module(text);
    let names: Vec<_> = module.names().collect();
    for name in names {
        let mut func = module.get(name).unwrap().clone();
        infer_function(&mut func, &module).map_err(|e| e.to_string())?;
        module.insert(func);
    }
    Ok(module)
}

#[track_caller]
fn becomes(before: &str, after: &str) {
    let found = inferred(before).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(print_module(&found).trim(), after.trim());
}

#[test]
fn straight_line_code_gets_the_types_of_its_ops() {
    becomes(
        "untyped func @f(%x: f32[n], %i: i8) -> f32[n] {\nentry:\n  %a = mul %x, 2\n  %b = add %a, 0.5\n  %q, %r = divmod %i, 3\n  %c = add %b, %r\n  ret %c\n}",
        "func @f(%x: f32[n], %i: i8) -> f32[n] {\nentry:\n  %a = mul %x, 2.0\n  %b = add %a, 0.5\n  %q, %r = divmod %i, 3\n  %c = add %b, %r\n  ret %c\n}",
    );
}

#[test]
fn untyped_text_and_ron_are_read_as_they_are_printed() {
    let text = "untyped func @f(%x: f32[n], %k: i64) -> f32[n] {\nentry:\n  jump head(0, %x, 2:i8)\nhead(%i, %acc, %t: i8):\n  %more = lt %i, %k\n  br_if %more, body, done\nbody:\n  %next = add %i, 1\n  %twice = mul %acc, 2.0\n  jump head(%next, %twice, %t)\ndone:\n  ret %acc\n}\n";
    let module = module(text);
    assert_eq!(print_module(&module), text);
    let ron = to_ron(&module).unwrap();
    assert_eq!(print_module(&from_ron(&ron, "f.ron").unwrap()), text, "{ron}");
}

#[test]
fn loops_go_to_a_fixed_point() {
    // The sum starts as an integer and takes the dtype of its addend; the counter stays an integer.
    becomes(
        "untyped func @f(%x: f32, %n: i64) -> f32 {\nentry:\n  jump head(0, 0)\nhead(%i, %sum):\n  %more = lt %i, %n\n  br_if %more, body, done\nbody:\n  %next = add %i, 1\n  %more_sum = add %sum, %x\n  jump head(%next, %more_sum)\ndone:\n  ret %sum\n}",
        "func @f(%x: f32, %n: i64) -> f32 {\nentry:\n  jump head(0, 0.0)\nhead(%i: i64, %sum: f32):\n  %more = lt %i, %n\n  br_if %more, body, done\nbody:\n  %next = add %i, 1\n  %more_sum = add %sum, %x\n  jump head(%next, %more_sum)\ndone:\n  ret %sum\n}",
    );
}

#[test]
fn branches_promote_and_cast() {
    becomes(
        "untyped func @f(%c: bool, %x: f32, %i: i32) -> f64 {\nentry:\n  br_if %c, left, right\nleft:\n  jump done(%x)\nright:\n  jump done(%i)\ndone(%v):\n  ret %v\n}",
        "func @f(%c: bool, %x: f32, %i: i32) -> f64 {\nentry:\n  br_if %c, left, right\nleft:\n  %0 = cast %x, to=f64\n  jump done(%0)\nright:\n  %1 = cast %i, to=f64\n  jump done(%1)\ndone(%v: f64):\n  ret %v\n}",
    );
}

#[test]
fn extents_that_differ_are_open() {
    let found = inferred("untyped func @f(%c: bool, %x: f64[n, 3], %y: f64[m, 3]) -> f64[?, 3] {\nentry:\n  br_if %c, done(%x), done(%y)\ndone(%v):\n  ret %v\n}").unwrap();
    assert!(print_module(&found).contains("done(%v: f64[?, 3]):"), "{found}");
}

#[test]
fn values_of_weak_literals_get_default_dtypes() {
    becomes(
        "untyped func @f(%c: bool) -> f64 {\nentry:\n  br_if %c, done(1), done(2)\ndone(%v):\n  %h = div %v, 4\n  ret %h\n}",
        "func @f(%c: bool) -> f64 {\nentry:\n  br_if %c, done(1), done(2)\ndone(%v: i64):\n  %h = div %v, 4\n  ret %h\n}",
    );
    // One branch passes an integer, the other a float.
    let found =
        inferred("untyped func @f(%c: bool) -> f64 {\nentry:\n  br_if %c, done(1), done(2.5)\ndone(%v):\n  ret %v\n}")
            .unwrap();
    assert!(print_module(&found).contains("br_if %c, done(1.0), done(2.5)"), "{found}");
}

#[test]
fn calls_know_their_callees() {
    becomes(
        "func @g(%x: f32) -> i8 {\nentry:\n  ret 3\n}\n\nuntyped func @f(%a: f32[n]) -> (i8, i8[n]) {\nentry:\n  %c = call @g(1)\n  %u = ufunc @g(%a)\n  ret %c, %u\n}",
        "func @g(%x: f32) -> i8 {\nentry:\n  ret 3\n}\n\nfunc @f(%a: f32[n]) -> i8, i8[n] {\nentry:\n  %c = call @g(1.0:f32)\n  %u = ufunc @g(%a)\n  ret %c, %u\n}",
    );
}

#[test]
fn blocks_that_cant_be_reached_are_taken_out() {
    becomes(
        "untyped func @f(%x: f64) -> f64 {\nentry:\n  ret %x\nlost(%v):\n  %w = add %v, 1\n  jump lost(%w)\n}",
        "func @f(%x: f64) -> f64 {\nentry:\n  ret %x\n}",
    );
}

#[test]
fn a_typed_function_runs_and_an_untyped_one_does_not() {
    let text = "untyped func @f(%n: i64) -> f64 {\nentry:\n  jump head(0, 0.5)\nhead(%i, %acc):\n  %more = lt %i, %n\n  br_if %more, body, done\nbody:\n  %next = add %i, 1\n  %sum = add %acc, %i\n  jump head(%next, %sum)\ndone:\n  ret %acc\n}";
    let args = || vec![Datum::Scalar(Scalar::I64(4))];
    let refused = evaluate(&module(text), "f", args(), Limits::default()).unwrap_err().to_string();
    assert!(refused.contains("must go through type inference"), "{refused}");
    let outcome = evaluate(&inferred(text).unwrap(), "f", args(), Limits::default()).unwrap();
    assert_eq!(outcome.results, [Datum::Scalar(Scalar::F64(6.5))]);
}

#[test]
fn errors_name_the_types_that_do_not_fit() {
    let cases = [
        (
            "untyped func @f(%c: bool, %x: f64[n]) -> f64[n] {\nentry:\n  br_if %c, done(%x), done(0)\ndone(%v):\n  ret %v\n}",
            "block parameter `%v` gets a scalar on one branch and f64[n] on another",
        ),
        (
            "untyped func @f(%c: bool, %x: f64[n], %y: f64[n, m]) -> f64[n] {\nentry:\n  br_if %c, done(%x), done(%y)\ndone(%v):\n  ret %v\n}",
            "block parameter `%v` gets f64[n] on one branch and f64[n, m] on another",
        ),
        (
            "untyped func @f(%x: f64) -> f64 {\nentry:\n  %a = bitand %x, 1\n  ret %a\n}",
            "`bitand` is not defined for f64",
        ),
        (
            "untyped func @f(%x: f64) -> f32 {\nentry:\n  %a = add %x, 1\n  ret %a\n}",
            "result 0 of `@f` is f32, `ret` gives f64",
        ),
        (
            "untyped func @f(%c: bool) -> f64 {\nentry:\n  jump head(%c)\nhead(%b):\n  br_if %b, one, two\none:\n  jump three(1)\ntwo:\n  jump three(300:i16)\nthree(%v):\n  %w = reshape %v, dims=[3]\n  ret 0.0\n}",
            "`reshape`",
        ),
    ];
    for (text, wanted) in cases {
        match inferred(text) {
            Ok(module) => panic!("{text}\nis accepted as\n{module}"),
            Err(message) => assert!(message.contains(wanted), "{message}"),
        }
    }
    // No errors are reported for values that depend on an invalid one.
    let message =
        inferred("untyped func @f(%x: f64) -> f64 {\nentry:\n  %a = bitand %x, 1\n  %b = add %a, 2\n  ret %b\n}")
            .unwrap_err();
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn what_cant_be_written_in_an_untyped_function() {
    let refused = |text: &str| parse_module(text, "f.ir").unwrap_err().to_string();
    let message = refused("untyped func @f(%x) -> f64 {\nentry:\n  ret %x\n}");
    assert!(message.contains("the parameter's type"), "{message}");
    let message = refused("untyped func @f(%x: f64) -> f64 {\nentry:\n  %a = add %x, 1 : f64\n  ret %a\n}");
    assert!(message.contains("types of results can't be written in an untyped function"), "{message}");
    let message = refused("untyped func @f(%x: f64) -> f64 {\nentry:\n  %a, %b = add %x, 1\n  ret %a\n}");
    assert!(message.contains("`add` has 1 result here, 2 named"), "{message}");
    let message = refused("func @f(%x: f64) -> f64 {\nentry:\n  jump next(%x)\nnext(%y):\n  ret %y\n}");
    assert!(message.contains("the parameter's type"), "{message}");
}
