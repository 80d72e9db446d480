//! `passdump bisect`.

use crate::programs::{arrays, large};
use crate::tool::{has, passdump};

const PIPELINE: &str = "canonicalize, seed-miscompile, cse, dce";

pub fn the_guilty_application_is_found() {
    let program = large(200, "  %p = mul %a, %b\n  %r = sub %b, %p\n");
    let found = passdump(&["bisect", "-", "--pipeline", PIPELINE], &program);
    assert_eq!((found.status, found.err.as_str()), (Some(0), ""), "{}", found.out);
    has(
        &found.out,
        &[
            "application ",
            ": `seed-miscompile` of rewright-passdump (passdump/tests/seeded/rewrites.rs:",
            "in @f\n",
            "\n-   %r = sub ",
            "\n+   %r = add ",
            "`@f` computes something else: result 0: element [0, 0]: wanted ",
            "for the input",
            "before:",
            "after:",
            " runs)\n",
        ],
    );
    let numbers: Vec<u64> = found.out.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    let (number, all) = (numbers[0], numbers[1]);
    assert!(1 < number && number < all && all > 20, "{number} of {all}");
    let runs = numbers.last().copied().unwrap_or_default();
    assert!(runs <= 3 + u64::from(all.ilog2()) + 1, "{runs} runs for {all} applications");
    // It is the one that `run` shows by that number.
    let steps = passdump(&["run", "-", "--pipeline", PIPELINE, "--diff"], &program);
    has(&steps.out, &[&format!("// {number}: seed-miscompile in @f\n")]);
}

pub fn arguments_show_what_made_up_ones_do_not() {
    // For two numbers alone, whose square stands there.
    let program = "func @f(%x: i64) -> i64 {\nentry:\n  %s = mul %x, %x\n  %0 = eq %s, 152399025\n  %1 = where %0, 1, 0\n  %2 = mul %1, %x\n  \
                   %3 = sub %x, %2\n  ret %3\n}\n";
    let bisect = ["bisect", "-", "--pipeline", "seed-miscompile"];
    let nothing = passdump(&bisect, program);
    assert_eq!((nothing.status, nothing.out.as_str()), (Some(1), ""));
    has(&nothing.err, &["nothing is wrong after 1 application: "]);
    let found = passdump(&[&bisect[..], &["--arg", "x=12345"]].concat(), program);
    has(&found.out, &["application 1 of 1: `seed-miscompile`", "wanted 0, found 24690", "%x: i64 = 12345"]);
    let fixture = format!(
        "Fixture(about: \"\", pipeline: \"seed-miscompile\", input: r#\"{program}\"#, \
         runs: [Run(args: {{\"x\": i64(12345)}}, expect: [i64(0)])])"
    );
    has(&passdump(&["bisect", "-"], &fixture).out, &["application 1 of 1", "wanted 0, found 24690"]);
    has(&passdump(&["run", "-", "--check-each"], &fixture).err, &["wanted 0, found 24690"]);
}

pub fn errors_are_shown_as_they_are() {
    let program = large(200, "  %p = neg %a\n  %r = exp %p\n");
    let found = passdump(&["bisect", "-", "--pipeline", "canonicalize, seed-panic"], &program);
    assert_eq!((found.status, found.err.as_str()), (Some(0), ""));
    has(
        &found.out,
        &["application ", ", which was undone: `seed-panic` of", "it panicked: no exponents today", "%r = exp %p"],
    );
    let looping = arrays("  %0 = sqrt %x\n  %r = minimum %0, %y\n");
    let found = passdump(&["bisect", "-", "--pipeline", "seed-ping, seed-pong"], &looping);
    has(&found.out, &["no single application is to blame", "rewrites undo each other", "`seed-p", "`seed-p"]);
}

pub fn a_command_decides() {
    let program = large(100, "  %p = mul %a, %b\n  %r = sub %b, %p\n");
    let bisect = |command: &str| passdump(&["bisect", "-", "--pipeline", PIPELINE, "--command", command], &program);
    let found = bisect("grep -q ' = sub ' {}");
    assert_eq!((found.status, found.err.as_str()), (Some(0), ""));
    has(&found.out, &["`seed-miscompile` of", "+   %r = add ", "the command ends with exit status: 1"]);
    assert_eq!(bisect("grep -q ' = sub '").out, found.out);
    has(&bisect("false").err, &["the program is wrong before any rewrite: the command ends with exit status: 1"]);
    has(&bisect("true").err, &["nothing is wrong after ", " applications: `true` says so"]);
    has(&bisect("no-such-command").err, &["--command: `no-such-command` can't be run"]);
    let both = passdump(&["bisect", "-", "--command", "true", "--arg", "x=1"], &program);
    assert_eq!(both.status, Some(2), "{}", both.err);
}

/// A lowering with a bug shows once a rewrite makes use of it.
pub fn a_backend_with_a_bug_is_found() {
    let program = "func @f(%x: f64[n], %y: f64[n]) -> f64[n] {\nentry:\n  %0 = neg %x\n  %1 = mul %y, 1.0\n  %2 = add %0, %0\n  \
                   %3 = sub %2, %1\n  ret %3\n}\n";
    let pipeline = ["--pipeline", "canonicalize, seed-to-twice, dce"];
    let by_meaning = passdump(&[&["bisect", "-"], &pipeline[..]].concat(), program);
    has(&by_meaning.err, &["nothing is wrong after "]);
    let found = passdump(&[&["bisect", "-", "--backend", "cranelift"], &pipeline[..]].concat(), program);
    assert_eq!((found.status, found.err.as_str()), (Some(0), ""), "{}", found.out);
    has(&found.out, &["seed-to-twice", "by `cranelift`, and before that by reference meaning", "result 0"]);
    let small = passdump(&[&["reduce", "-", "--backend", "cranelift"], &pipeline[..]].concat(), program);
    assert_eq!((small.status, small.err.as_str()), (Some(0), ""), "{}", small.out);
    has(&small.out, &["= neg %", "= add %", "ret", "by `cranelift`"]);
    assert!(!small.out.contains(" = mul ") && !small.out.contains(" = sub "), "{}", small.out);
}
