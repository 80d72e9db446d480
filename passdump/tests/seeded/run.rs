//! `passdump run`.

use crate::programs::arrays;
use crate::tool::{has, passdump};

pub fn a_wrong_rewrite_is_shown_with_input_and_diff() {
    let program = arrays("  %0 = mul %x, %y\n  %1 = neg %0\n  %r = sub %0, %1\n");
    let silent = passdump(&["run", "-", "--pipeline", "seed-miscompile"], &program);
    assert_eq!((silent.status, silent.err.as_str()), (Some(0), ""));
    let found = passdump(&["run", "-", "--pipeline", "seed-miscompile", "--check-each"], &program);
    assert_eq!((found.status, found.out.as_str()), (Some(1), ""));
    has(
        &found.err,
        &[
            "rewrite `seed-miscompile` of rewright-passdump (passdump/tests/seeded/rewrites.rs:",
            "failed in `@f` at line 5, in application 1: `@f` computes something else: result 0: element [0]: wanted ",
            "for the input",
            "%x: f64[1] = [",
            "before:",
            "result 0: f64[1] = [",
            "after:",
            "-   %r = sub %0, %1",
            "+   %r = add %0, %1",
            "stdin:5",
        ],
    );
    // Only one input in all is wrong, and it is tried.
    let zero = arrays("  %0 = neg %x\n  %r = abs %0\n").replace("f64[n]", "f64");
    let found = passdump(&["run", "-", "--pipeline", "seed-zero", "--check-each"], &zero);
    has(&found.err, &["wanted 0.0, found -0.0", "%x: f64 = -0.0"]);
    let allowed = passdump(&["run", "-", "--pipeline", "seed-zero", "--check-each", "--ulp", "1"], &zero);
    assert_eq!(allowed.status, Some(0), "{}", allowed.err);
    has(&allowed.out, &["// check-each: @f: checked on ", " inputs"]);
}

pub fn failing_rewrites_can_be_left_out() {
    let program = arrays("  %0 = neg %x\n  %1 = exp %0\n  %2 = mul %1, %y\n  %r = sub %2, %y\n");
    let run = ["run", "-", "--pipeline", "seed-panic, seed-miscompile, dce"];
    let stopped = passdump(&run, &program);
    assert_eq!((stopped.status, stopped.out.as_str()), (Some(1), ""));
    has(&stopped.err, &["`seed-panic` of", "at line 4, in application 1: it panicked: no exponents today"]);
    assert!(!stopped.err.contains("thread 'main'"), "{}", stopped.err);
    let went_on = passdump(&[&run[..], &["--keep-going", "--diff"]].concat(), &program);
    assert_eq!(went_on.status, Some(1));
    has(&went_on.err, &["no exponents today", "stdin:4"]);
    has(&went_on.out, &["seed-miscompile in @f", "// in the end", "exp %0", "add %2, %y"]);
    let both = passdump(&[&run[..], &["--keep-going", "--check-each"]].concat(), &program);
    has(&both.err, &["it panicked", "`seed-miscompile` of", "computes something else"]);
    has(&both.out, &["sub %2, %y"]);
}

pub fn the_whole_function_is_verified() {
    let program = arrays("  %0 = ceil %x\n  %r = floor %0\n");
    for each in [&[][..], &["--verify-each"]] {
        let found = passdump(&[&["run", "-", "--pipeline", "seed-invalid"], each].concat(), &program);
        assert_eq!(found.status, Some(1));
        has(&found.err, &["rewrite `seed-invalid` of", "in application 1"]);
    }
}

pub fn remarks_stand_under_their_lines() {
    let costly =
        "func @f(%x: f64[m], %a: f64[n, m]) -> f64[n, m] {\nentry:\n  %0 = sin %x\n  %1 = add %0, %a\n  ret %1\n}\n";
    let shown = passdump(&["run", "-", "--pipeline", "array-expr", "--remarks"], costly);
    has(&shown.out, &["// array-expr: @f line 3: ", "\n//   3 |   %0 = sin %x\n//     |   ^^^^^^^^^^^\n"]);
    // It can still be read.
    assert_eq!(passdump(&["run", "-", "--pipeline", ""], &shown.out).status, Some(0));
}

pub fn statistics_are_a_table() {
    let program = arrays("  %0 = mul %x, 1.0\n  %r = add %0, 0.5\n");
    let run = ["run", "-", "--pipeline", "canonicalize, dce", "--stats"];
    let shown = passdump(&run, &program);
    let table: Vec<&str> = shown.out.lines().filter(|l| l.starts_with("// ")).collect();
    assert_eq!(table[0], "// rewrite       applied  asked");
    assert!(table.len() == 4 && table[1].starts_with("// canonicalize  1        "), "{table:?}");
    assert!(table[3].starts_with("// in all        "), "{table:?}");
    assert_eq!(passdump(&run, &program).out, shown.out);
    let timed = passdump(&["run", "-", "--pipeline", "canonicalize, dce", "--time"], &program);
    has(&timed.out, &["rewrite ", "applied", "asked", "time\n", "canonicalize", "s\n", "in all", "s\n"]);
}
