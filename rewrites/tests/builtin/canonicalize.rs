//! Algebraic identities and canonical forms.

use crate::{becomes, optimized, parse, run};

/// A function of `%x` and `%y` of one type, and of `%c: bool`, with a body that ends in `ret`.
fn function(ty: &str, result: &str, body: &str) -> String {
    let lines: String = body.split("; ").map(|line| format!("  {line}\n")).collect();
    format!("func @f(%x: {ty}, %y: {ty}, %c: bool) -> {result} {{\nentry:\n{lines}}}\n")
}

/// The pipeline turns the body into another one, after unused instructions are removed.
#[track_caller]
fn simplifies(ty: &str, result: &str, body: &str, after: &str) {
    becomes("canonicalize, dce", &function(ty, result, body), &function(ty, result, after));
}
#[track_caller]
fn to_x(ty: &str, body: &str) {
    simplifies(ty, ty, &format!("{body}; ret %0"), "ret %x");
}
#[track_caller]
fn stays(ty: &str, result: &str, body: &str) {
    simplifies(ty, result, body, body);
}

const INTS: [&str; 4] = ["i8", "i64", "u32", "u64[n]"];
const FLOATS: [&str; 3] = ["f32", "f64", "f64[n, 3]"];

#[test]
fn neutral_integers() {
    for ty in INTS {
        for op in ["add", "sub", "bitor", "bitxor", "left_shift", "right_shift"] {
            to_x(ty, &format!("%0 = {op} %x, 0"));
        }
        for op in ["mul", "floordiv", "power"] {
            to_x(ty, &format!("%0 = {op} %x, 1"));
        }
        for op in ["add", "bitor", "bitxor"] {
            to_x(ty, &format!("%0 = {op} 0, %x"));
        }
        to_x(ty, "%0 = mul 1, %x");
    }
    to_x("i32", "%0 = bitand %x, -1");
    to_x("u8", "%0 = bitand 255, %x");
    // The quotient of an integer is a float; a sum with a constant of a wider dtype has that dtype.
    stays("i64", "f64", "%0 = div %x, 1; ret %0");
    stays("i8", "i64", "%0 = add %x, 0:i64; ret %0");
}

#[test]
fn neutral_floats_keep_signed_zeros() {
    for ty in FLOATS {
        to_x(ty, "%0 = mul %x, 1.0");
        to_x(ty, "%0 = div %x, 1.0");
        to_x(ty, "%0 = power %x, 1.0");
        to_x(ty, "%0 = sub %x, 0.0");
        to_x(ty, "%0 = add %x, -0.0");
        to_x(ty, "%0 = add -0.0, %x");
        for body in ["add %x, 0.0", "sub %x, -0.0", "mul %x, 0.0", "floordiv %x, 1.0", "mul %x, -1.0"] {
            stays(ty, ty, &format!("%0 = {body}; ret %0"));
        }
        stays(ty, ty, "%0 = sub %x, %x; ret %0");
        stays(ty, ty, "%0 = div %x, %x; ret %0");
    }
    stays("f32", "f64", "%0 = mul %x, 1.0:f64; ret %0");
    to_x("c128", "%0 = add %x, (-0.0, -0.0)");
    to_x("c64", "%0 = sub %x, (0.0, 0.0)");
    stays("c128", "c128", "%0 = mul %x, (1.0, 0.0); ret %0");
    stays("c128", "c128", "%0 = add %x, (0.0, -0.0); ret %0");
}

#[test]
fn logic() {
    for ty in ["bool", "bool[n]"] {
        for body in
            ["and %x, true", "or %x, false", "xor %x, false", "eq %x, true", "ne %x, false", "and %x, %x", "or %x, %x"]
        {
            to_x(ty, &format!("%0 = {body}"));
        }
        for body in ["add %x, false", "mul %x, true", "bitand true, %x", "bitor %x, false"] {
            to_x(ty, &format!("%0 = {body}"));
        }
        to_x(ty, "%1 = not %x; %0 = not %1");
    }
    // For floats they give a bool.
    stays("f64", "bool", "%0 = and %x, true; ret %0");
    stays("f64", "bool", "%0 = not %x; %1 = not %0; ret %1");
    stays("i64", "bool", "%0 = eq %x, 1; ret %0");
}

#[test]
fn constants_that_decide() {
    simplifies("i64", "i64", "%0 = mul %x, 0; ret %0", "ret 0");
    simplifies("u8", "u8", "%0 = bitand 0, %x; ret %0", "ret 0");
    simplifies("i16", "i16", "%0 = bitor %x, -1; ret %0", "ret -1");
    simplifies("f64", "bool", "%0 = and %x, false; ret %0", "ret false");
    simplifies("f64", "bool", "%0 = or %x, NaN; ret %0", "ret true");
    stays("i64[n]", "i64[n]", "%0 = mul %x, 0; ret %0");
    stays("f64", "f64", "%0 = mul %x, 0.0; ret %0");
}

#[test]
fn one_operand_twice() {
    for op in ["minimum", "maximum", "fmin", "fmax"] {
        to_x("f64[n]", &format!("%0 = {op} %x, %x"));
        to_x("c128", &format!("%0 = {op} %x, %x"));
    }
    to_x("i64[n]", "%0 = bitand %x, %x");
    to_x("f64[?]", "%0 = maximum %x, %x");
    for (op, ty, result, after) in [
        ("sub", "i64", "i64", "0"),
        ("bitxor", "u8", "u8", "0"),
        ("eq", "i64", "bool", "true"),
        ("le", "bool", "bool", "true"),
        ("ne", "u8", "bool", "false"),
        ("gt", "i8", "bool", "false"),
        ("xor", "i8", "bool", "false"),
    ] {
        simplifies(ty, result, &format!("%0 = {op} %x, %x; ret %0"), &format!("ret {after}"));
    }
    for op in ["eq", "ne", "le", "lt"] {
        stays("f64", "bool", &format!("%0 = {op} %x, %x; ret %0"));
    }
    stays("i64[n]", "i64[n]", "%0 = sub %x, %x; ret %0");
}

#[test]
fn inverse_ops_cancel() {
    for (op, ty) in [
        ("neg", "f64[n]"),
        ("neg", "i8"),
        ("neg", "c64"),
        ("invert", "u16[n]"),
        ("conj", "c128[n]"),
        ("flip", "f64[n, m]"),
    ] {
        to_x(ty, &format!("%1 = {op} %x; %0 = {op} %1"));
    }
    to_x("f64[n, m]", "%1 = flip %x, axes=[1]; %0 = flip %1, axes=[-1]");
    stays("f64[n, m]", "f64[n, m]", "%0 = flip %x, axes=[0]; %1 = flip %0, axes=[1]; ret %1");
    simplifies("f64", "f64", "%0 = neg %x; %1 = neg %0; %2 = neg %1; ret %2", "%0 = neg %x; ret %0");
}

#[test]
fn identity_ops_are_removed() {
    for (op, ty) in [
        ("pos", "f64[n]"),
        ("conj", "f64"),
        ("real", "i8"),
        ("abs", "u8[n]"),
        ("abs", "bool"),
        ("floor", "i64"),
        ("trunc", "bool"),
    ] {
        to_x(ty, &format!("%0 = {op} %x"));
    }
    for op in ["abs", "floor", "ceil", "trunc", "rint", "fabs"] {
        simplifies("f64", "f64", &format!("%0 = {op} %x; %1 = {op} %0; ret %1"), &format!("%0 = {op} %x; ret %0"));
    }
    simplifies("c128", "f64", "%0 = abs %x; %1 = abs %0; ret %1", "%0 = abs %x; ret %0");
    stays("i64", "f64", "%0 = rint %x; ret %0");
    stays("f64", "f64", "%0 = exp %x; %1 = exp %0; ret %1");
}

#[test]
fn constants_go_to_the_right() {
    simplifies("f64", "f64", "%0 = add 2.0, %x; ret %0", "%0 = add %x, 2.0; ret %0");
    simplifies("i64[n]", "i64[n]", "%0 = bitxor 5, %x; ret %0", "%0 = bitxor %x, 5; ret %0");
    for (op, turned) in [("lt", "gt"), ("le", "ge"), ("gt", "lt"), ("ge", "le"), ("eq", "eq"), ("ne", "ne")] {
        simplifies("f64", "bool", &format!("%0 = {op} 2.0, %x; ret %0"), &format!("%0 = {turned} %x, 2.0; ret %0"));
    }
    simplifies("u64", "bool", "%0 = lt -1, %x; ret %0", "%0 = gt %x, -1; ret %0");
    stays("f64", "f64", "%0 = sub 2.0, %x; ret %0");
    stays("f64", "f64", "%0 = add NaN, %x; ret %0");
}

#[test]
fn two_integer_constants_become_one() {
    simplifies("i64", "i64", "%0 = add %x, 1; %1 = add %0, 2; ret %1", "%0 = add %x, 3; ret %0");
    simplifies("u8[n]", "u8[n]", "%0 = add %x, 200; %1 = add %0, 100; ret %1", "%0 = add %x, 44; ret %0");
    simplifies("i8", "i8", "%0 = mul 100, %x; %1 = mul 3, %0; ret %1", "%0 = mul %x, 44; ret %0");
    simplifies("i64", "i64", "%0 = bitand %x, 6; %1 = bitand %0, 3; ret %1", "%0 = bitand %x, 2; ret %0");
    simplifies("i64", "i64", "%0 = bitxor %x, 6; %1 = bitxor %0, 6; ret %1", "ret %x");
    stays("f64", "f64", "%0 = add %x, 1.0; %1 = add %0, 2.0; ret %1");
    // The first sum wraps at 8 bits.
    stays("i8", "i64", "%0 = add %x, 100; %1 = add %0, 100:i64; ret %1");
}

#[test]
fn casts() {
    to_x("f64[n]", "%0 = cast %x, to=f64");
    for (ty, through) in [
        ("i8", "i64"),
        ("u8", "i16"),
        ("i32[n]", "f64"),
        ("i16", "f32"),
        ("bool", "c64"),
        ("f32", "f64"),
        ("f64", "c128"),
        ("c64", "c128"),
    ] {
        let to = ty.trim_end_matches("[n]");
        to_x(ty, &format!("%1 = cast %x, to={through}; %0 = cast %1, to={to}"));
    }
    for (ty, through) in [
        ("i64", "f64"),
        ("u64", "i64"),
        ("i32", "f32"),
        ("f64", "f32"),
        ("i8", "u8"),
        ("f64", "i64"),
        ("i8", "bool"),
        ("f32", "bool"),
        ("c64", "f64"),
    ] {
        stays(ty, ty, &format!("%0 = cast %x, to={through}; %1 = cast %0, to={ty}; ret %1"));
    }
    simplifies("i8", "u16", "%0 = cast %x, to=i64; %1 = cast %0, to=u16; ret %1", "%0 = cast %x, to=u16; ret %0");
    simplifies("f32", "i8", "%0 = cast %x, to=f64; %1 = cast %0, to=i8; ret %1", "%0 = cast %x, to=i8; ret %0");
    // A cast from float saturates, a cast from integer wraps.
    stays("i32", "i8", "%0 = cast %x, to=f64; %1 = cast %0, to=i8; ret %1");
}

#[test]
fn selection() {
    simplifies("f64[n]", "f64[n]", "%0 = where true, %x, %y; ret %0", "ret %x");
    simplifies("f64[n]", "f64[n]", "%0 = where false, %x, %y; ret %0", "ret %y");
    to_x("f64[n]", "%0 = where %c, %x, %x");
    to_x("f64[n]", "%1 = gt %x, %y; %0 = where %1, %x, %x");
    to_x("f64[?]", "%0 = where %c, %x, %x");
    // `%y` may have more elements.
    stays("f64[?]", "f64[?]", "%0 = where true, %x, %y; ret %0");
    stays("f64[?]", "f64[?]", "%0 = gt %x, %y; %1 = where %0, %x, %x; ret %1");
    stays("i64", "f64", "%0 = where true, %x, 1.5; ret %0");
    stays("f64", "f64[3]", "%0 = iota dims=[3]; %1 = where true, %x, %0; ret %1");
}

#[test]
fn views_that_show_everything_in_its_place() {
    for (ty, op) in [
        ("f64[n]", "transpose %x"),
        ("f64[n, m]", "transpose %x, perm=[0, -1]"),
        ("f64[n, 3]", "reshape %x, dims=[n, 3]"),
        ("f64[n]", "reshape %x, dims=[?]"),
        ("f64[?]", "reshape %x, dims=[?]"),
        ("f64[n, m]", "slice %x, at=[:]"),
        ("f64[n]", "flip %x, axes=[]"),
        ("f64[n, m]", "broadcast_in_dim %x, dims=[n, m]"),
        ("f64[n, ?]", "broadcast_in_dim %x, dims=[n, ?], axes=[0, 1]"),
        ("f64[n, 1]", "expand_dims %x, axes=[]"),
        ("f64[2, 3]", "squeeze %x"),
        ("f64[n]", "to_array %x"),
    ] {
        to_x(ty, &format!("%0 = {op}"));
    }
    to_x("f64", "%1 = to_array %x; %0 = item %1");
    stays("f64[n, n]", "f64[n, n]", "%0 = transpose %x; ret %0");
    stays("f64[?, ?]", "f64[?, ?]", "%0 = transpose %x; ret %0");
    stays("f64[n, m]", "f64[m, n]", "%0 = reshape %x, dims=[m, n]; ret %0");
    stays("f64[n]", "f64[n]", "%0 = slice %x, at=[::-1]; ret %0");
    stays("f64[1]", "f64[3]", "%0 = broadcast_in_dim %x, dims=[3]; ret %0");
    stays("f64[?]", "f64[3]", "%0 = broadcast_in_dim %x, dims=[3]; ret %0");
    stays("f64[n]", "f64[n, n]", "%0 = broadcast_in_dim %x, dims=[n, n], axes=[0]; ret %0");
}

#[test]
fn views_of_views() {
    to_x("f64[n, m]", "%1 = transpose %x; %0 = transpose %1");
    to_x("f64[n, m, 3]", "%1 = transpose %x, perm=[1, 2, 0]; %0 = transpose %1, perm=[2, 0, 1]");
    simplifies(
        "f64[2, 3, 4]",
        "f64[4, 3, 2]",
        "%0 = transpose %x, perm=[1, 2, 0]; %1 = transpose %0, perm=[1, 0, 2]; ret %1",
        "%0 = transpose %x; ret %0",
    );
    simplifies(
        "f64[2, 3, 4]",
        "f64[4, 2, 3]",
        "%0 = transpose %x, perm=[1, 2, 0]; %1 = transpose %0, perm=[1, 2, 0]; ret %1",
        "%0 = transpose %x, perm=[2, 0, 1]; ret %0",
    );
    simplifies("f64[n, m]", "f64[m, n]", "%0 = transpose %x, perm=[1, 0]; ret %0", "%0 = transpose %x; ret %0");
    simplifies(
        "f64[2, 6]",
        "f64[4, 3]",
        "%0 = reshape %x, dims=[12]; %1 = reshape %0, dims=[4, 3]; ret %1",
        "%0 = reshape %x, dims=[4, 3]; ret %0",
    );
    to_x("f64[2, 6]", "%1 = reshape %x, dims=[12]; %0 = reshape %1, dims=[2, 6]");
    to_x("f64[n]", "%1 = expand_dims %x, axes=[0]; %0 = squeeze %1, axes=[0]");
    // The type of the whole is more precise than those of its parts.
    stays("f64[?]", "f64[m, n]", "%0 = reshape %x, dims=[n, m]; %1 = reshape %0, dims=[m, ?]; ret %1");
}

#[test]
fn values_are_not_read_across_a_store() {
    for body in [
        "%0 = neg %x; store %0, 1.0; %1 = neg %0; ret %1",
        "%0 = neg %x; store %x, 1.0; %1 = neg %0; ret %1",
        "store %x, %y; %0 = mul %x, 1.0; store %x, %0; %1 = mul %x, 1.0; ret %1",
        "%0 = mul %x, 1.0; store %0, 2.0; ret %0",
    ] {
        stays("f64[n]", "f64[n]", body);
    }
    stays(
        "f64[n, n, n]",
        "f64[n, n, n]",
        "%0 = transpose %x, perm=[1, 2, 0]; store %x, 1.0; %1 = transpose %0, perm=[1, 2, 0]; ret %1",
    );
    // The order of operands does not determine when they are read.
    simplifies("f64[n]", "f64[n]", "store %x, %y; %0 = mul 2.0, %x; ret %0", "store %x, %y; %0 = mul %x, 2.0; ret %0");
}

#[test]
fn dels_move_to_the_replacement_and_nothing_is_read_after_them() {
    simplifies("f64[n]", "f64[n]", "%0 = neg %x; del %x; %1 = neg %0; del %0; ret %1", "ret %x");
    stays(
        "f64[n, n, n]",
        "f64[n, n, n]",
        "%0 = transpose %x, perm=[1, 2, 0]; del %x; %1 = transpose %0, perm=[1, 2, 0]; ret %1",
    );
}

#[test]
fn branches() {
    let text = |branch: &str, rest: &str| {
        format!("func @f(%c: bool, %k: i64, %x: f64) -> f64 {{\nentry:\n{branch}a(%p: f64):\n  ret %p\n{rest}}}\n")
    };
    becomes("canonicalize", &text("  br_if %c, a(%x), a(%x)\n", ""), &text("  jump a(%x)\n", ""));
    becomes(
        "canonicalize",
        &text("  switch %k, 1: a(%x), 2: a(%x), default: a(%x)\n", ""),
        &text("  jump a(%x)\n", ""),
    );
    becomes("canonicalize", &text("  switch %k, default: a(%x)\n", ""), &text("  jump a(%x)\n", ""));
    let other = "b:\n  ret 0.0\n";
    becomes(
        "canonicalize, dce",
        &text("  %0 = not %c\n  br_if %0, a(%x), b\n", other),
        &text("  br_if %c, b, a(%x)\n", other),
    );
    let of_int = text("  %0 = not %k\n  br_if %0, a(%x), b\n", other);
    becomes("canonicalize, dce", &of_int, &of_int);
    let differ = text("  br_if %c, a(%x), a(0.0)\n", "");
    becomes("canonicalize", &differ, &differ);
}

#[test]
fn one_thing_leads_to_another() {
    let mut module =
        parse(&function("f64[n]", "f64[n]", "%0 = neg %x; %1 = mul 1.0, %0; %2 = neg %1; %3 = add %2, -0.0; ret %3"));
    let report = run("canonicalize, dce", &mut module);
    assert_eq!(module.functions().next().unwrap().inst_count(), 1);
    assert_eq!(report.applied("canonicalize"), 4);
    let after = optimized(
        "default",
        &function(
            "i64",
            "i64",
            "%0 = add 1, %x; %1 = add %0, -1; %2 = mul %1, 2; %3 = mul %x, 2; %4 = sub %2, %3; ret %4",
        ),
    );
    assert!(after.ends_with("entry:\n  ret 0\n}\n"), "{after}");
}
