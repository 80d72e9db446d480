//! `passdump reduce`.

use crate::programs::large;
use crate::tool::{Ended, has, passdump};

/// The default rewrites and all those with bugs.
const ALL: &str =
    "canonicalize, cse, dce, seed-miscompile, seed-zero, seed-panic, seed-invalid, seed-for-ever, seed-ping, seed-pong";

/// Instructions of a printed program, terminators too.
fn size(text: &str) -> usize {
    text.lines().filter(|l| l.starts_with("  ") && !l.starts_with("//")).count()
}

/// Reduces a program of a thousand instructions with some lines in it; checks that the reduced program is
/// small and has the same failure.
#[track_caller]
fn reduced(seed: &str, rewrite: &str, most: usize, said: &str) -> Ended {
    let program = large(1000, seed);
    assert!(size(&program) >= 1000);
    let found = passdump(&["reduce", "-", "--pipeline", ALL], &program);
    assert_eq!((found.status, found.err.as_str()), (Some(0), ""));
    let left = size(&found.out);
    assert!(left <= most, "{left} instructions:\n{}", found.out);
    has(&found.out, &["// 10", &format!(" instructions reduced to {left}, in "), " runs\n", rewrite, said]);
    let again = passdump(&["run", "-", "--pipeline", rewrite, "--check-each"], &found.out);
    assert_eq!(again.status, Some(1), "{}", found.out);
    has(&again.err, &[said]);
    found
}

pub fn a_miscompile_becomes_small() {
    let found = reduced("  %p = mul %a, %b\n  %r = sub %b, %p\n", "seed-miscompile", 3, "computes something else");
    has(&found.out, &["func @f(", " = mul ", " = sub ", "  ret ", "the pipeline that shows it: seed-miscompile\n"]);
}

pub fn a_miscompile_of_one_value_becomes_small() {
    let small = "func @f(%x: f64[n]) -> f64[n], f64[n] {\nentry:\n  %0 = add %x, 1.0\n  %p = neg %x\n  %r = abs %p\n  ret %r, %0\n}\n";
    let found = passdump(&["reduce", "-", "--pipeline", "seed-zero"], small);
    assert_eq!((found.status, size(&found.out)), (Some(0), 3), "{}{}", found.out, found.err);
    has(&found.out, &["(%x: f64) -> f64", "wanted 0.0, found -0.0"]);
}

pub fn a_panic_becomes_small() {
    reduced("  %p = neg %a\n  %r = exp %p\n", "seed-panic", 3, "it panicked: no exponents today");
}

pub fn an_invalid_program_becomes_small() {
    reduced("  %p = ceil %a\n  %r = floor %p\n", "seed-invalid", 3, "`seed-invalid` of");
}

pub fn what_never_ends_becomes_small() {
    let found = reduced("  %p = sinh %a\n  %r = tan %p\n", "seed-for-ever", 3, "`seed-for-ever` of");
    assert!(found.out.contains("does it ever end") || found.out.contains(" grew from "), "{}", found.out);
}

pub fn rewrites_that_undo_each_other_become_small() {
    let found = reduced("  %p = sqrt %a\n  %r = minimum %b, %p\n", "seed-ping, seed-pong", 3, "undo each other");
    has(&found.out, &["the pipeline that shows it: seed-ping, seed-pong\n"]);
}

pub fn a_command_decides() {
    let program = large(300, "  %p = mul %a, %b\n  %r = sub %b, %p\n");
    let command = "! grep -q ' = sub .*%' {}";
    let found = passdump(&["reduce", "-", "--command", command], &program);
    assert_eq!((found.status, found.err.as_str()), (Some(0), ""));
    assert_eq!(size(&found.out), 2, "{}", found.out);
    has(&found.out, &[" = sub ", "ret", "the command ends with exit status: 1"]);
    assert!(!found.out.contains("pipeline"), "{}", found.out);
    let nothing = passdump(&["reduce", "-", "--command", "true"], &program);
    assert_eq!((nothing.status, nothing.out.as_str()), (Some(1), ""));
    has(&nothing.err, &["there is nothing to reduce: `true` ends with exit status 0"]);
}

pub fn arguments_stay_what_they_are() {
    let program = "func @f(%x: i64, %y: f64[n]) -> i64, f64[n] {\nentry:\n  %a = add %y, 1.0\n  %s = mul %x, %x\n  %0 = eq %s, 152399025\n  \
                   %1 = where %0, 1, 0\n  %2 = mul %1, %x\n  %3 = sub %x, %2\n  ret %3, %a\n}\n";
    let reduce = ["reduce", "-", "--pipeline", "seed-miscompile"];
    // Any other number shows it once the comparison is gone.
    let found = passdump(&[&reduce[..], &["--arg", "x=12345", "--arg", "y=[1]"]].concat(), program);
    assert_eq!((found.status, size(&found.out)), (Some(0), 3), "{}{}", found.out, found.err);
    let nothing = passdump(&reduce, program);
    has(&nothing.err, &["there is nothing to reduce: `@f` computes the same as before"]);
}

pub fn bodies_of_expressions_become_small() {
    let fused = "func @f(%a: f64[n], %b: f64[n], %c: f64) -> f64[n] {
entry:
  %0 = arrayexpr [i: n] (x = %a[i], y = %b[i], z = %c) {
    t0 = mul x, y
    t1 = add t0, z
    t2 = lt t1, y
    t3 = erf t1
    t4 = where t2, t3, x
    t5 = sub t4, 2.0
    yield t5
  } : f64[n]
  ret %0
}
";
    let found = passdump(&["reduce", "-", "--pipeline", "dce", "--command", "! grep -q erf {}"], fused);
    assert_eq!((found.status, found.err.as_str()), (Some(0), ""));
    let body: Vec<&str> = found.out.lines().filter(|line| line.starts_with("    ")).collect();
    assert!(matches!(body[..], [erf, _] if erf.contains(" = erf ")), "{}", found.out);
    assert!(!found.out.contains("%b") && !found.out.contains("%c"), "{}", found.out);
}
