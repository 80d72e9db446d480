//! Pitfalls of using an e-graph library, with their names in `docs/complaints.md`.

use super::{func, lines, registry, remarks, run_in, saturate_with};
use rewright_ir::Origin;
use rewright_rewrites::rule::{Liberties, RuleDef, RuleEntry};
use rewright_rewrites::{RewriteRegistry, rewrites};
use std::path::Path;
use std::time::Instant;

/// P1: two rules of one name are rejected, with both locations.
#[test]
fn names_of_rules_are_unique() {
    let entry = |line| RuleEntry {
        def: RuleDef { name: "twice", text: "(neg (neg ?x)) => ?x" },
        origin: Origin { krate: "test", version: "", file: "test.rs", line },
    };
    let plain = rewrites().iter().filter(|e| !matches!(e.def.form, rewright_rewrites::Form::Rule(_)));
    let registry = RewriteRegistry::build_with(plain, &[entry(1), entry(2)]);
    let errors: Vec<String> = registry.errors().iter().map(ToString::to_string).collect();
    let both = |e: &String| e.contains("`twice`") && e.contains("test.rs:1") && e.contains("test.rs:2");
    assert!(errors.iter().any(both), "{errors:?}");
}

/// P2: a rule whose pattern is only a variable would match everything, without end: the parser rejects it.
#[test]
fn a_pattern_is_no_variable() {
    let registry = registry(&[("anything", "?x => (mul ?x 1)")]);
    let errors: Vec<String> = registry.errors().iter().map(ToString::to_string).collect();
    assert!(errors.len() == 1 && errors[0].contains("anything"), "{errors:?}");
}

/// P3: an equality reaches all users: `sin` of two equal values is one `sin`, through all levels.
#[test]
fn equality_goes_up_to_all_users() {
    let rules = [("neg-neg", "(neg (neg ?x:f64)) ~> ?x")];
    let body = "%a = neg %x\n%b = neg %a\n%c = sin %b\n%d = sin %x\n%e = exp %c\n%f = exp %d\nret %e, %f";
    let (lines, _) = saturate_with(&rules, "(%x: f64) -> f64, f64", body);
    assert_eq!(lines, ["%c = sin %x", "%e = exp %c", "ret %e, %e"]);
}

/// P4: a rule matches the graph at the start of an iteration, so a chain of rules takes as many iterations;
/// all are applied.
#[test]
fn chains_of_rules_are_followed_to_the_end() {
    let ops = ["sinh", "cosh", "tanh", "asinh", "atan", "tan", "cos", "sin", "exp", "log", "sqrt", "neg"];
    let texts: Vec<String> = ops.windows(2).map(|w| format!("({} ?x:f64) ~> ({} ?x)", w[0], w[1])).collect();
    let rules: Vec<(&'static str, &'static str)> = texts
        .into_iter()
        .zip(["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"])
        .map(|(text, name)| (name, &*text.leak()))
        .collect();
    let (lines, report) = saturate_with(&rules, "(%x: f64) -> f64", "%a = sinh %x\nret %a");
    assert_eq!(lines, ["%a = neg %x", "ret %a"], "{:?}", remarks(&report));
}

/// P5: costs are computed once, not once for each result: a block of many results takes linear time.
#[test]
fn extraction_is_linear_in_results() {
    let took = |n: usize| {
        let mut body = String::new();
        for i in 0..n {
            body += &format!("%a{i} = add %x, {i}.5\n%b{i} = sin %a{i}\n");
        }
        let all: Vec<String> = (0..n).map(|i| format!("%b{i}")).collect();
        let results = vec!["f64"; n].join(", ");
        let text = func(&format!("(%x: f64) -> {results}"), &format!("{body}ret {}", all.join(", ")));
        let begun = Instant::now();
        let (out, _) = run_in(
            &registry(&[("sin-neg", "(sin (neg ?x:f64)) ~> (neg (sin ?x))")]),
            "saturate",
            Liberties::empty(),
            &text,
        );
        assert_eq!(lines(&out).len(), 2 * n + 1);
        begun.elapsed().as_secs_f64() / n as f64
    };
    let once = |n| (0..3).map(|_| took(n)).fold(f64::INFINITY, f64::min);
    let (small, large) = (once(50), once(800));
    assert!(large < 4.0 * small, "{:.1} us a result of 50, {:.1} of 800", small * 1e6, large * 1e6);
}

/// P6: facts only grow, and a merge reports exactly whether they did; otherwise rebuilding does not end.
/// Classes in a cycle that improve each other's facts reach a fixed point.
#[test]
fn facts_that_feed_each_other_come_to_rest() {
    let rules = [
        ("abs-sqrt", "(abs ?x:f64) <=> (sqrt (mul ?x ?x)) liberties [approximate]"),
        ("abs-abs", "(abs (abs ?x:f64)) <=> (abs ?x)"),
        ("nonneg", "(abs ?x:f64) ~> ?x if [nonneg(?x)]"),
    ];
    let body = "%a = mul %x, %x\n%b = sqrt %a\n%c = abs %b\n%d = abs %c\n%e = sqrt %d\nret %e";
    let (lines, report) = saturate_with(&rules, "(%x: f64) -> f64", body);
    assert_eq!(lines, ["%b = abs %x", "%e = sqrt %b", "ret %e"]);
    assert!(remarks(&report).iter().all(|r| !r.starts_with("cut (nodes")), "{report:?}");
}

/// P8: the analysis runs again for nodes whose operands were merged with other classes, and uses the facts
/// of those.
#[test]
fn constants_are_found_through_operands_that_became_equal() {
    let rules = [("none", "(sub ?x:i64 ?x) ~> 0")];
    let body = "%a = sub %x, %x\n%b = add %a, 3\n%c = mul %b, 2\n%d = add %c, %x\nret %d";
    let (lines, _) = saturate_with(&rules, "(%x: i64) -> i64", body);
    assert_eq!(lines, ["%d = add 6, %x", "ret %d"]);
}

/// P10: costs that saturate must not hide which form is better.
#[test]
fn huge_arrays_have_costs_too() {
    let huge = "f64[4611686018427387904, 4]";
    let rules = [("less", "(sin (neg ?x:f64)) ~> (neg (abs ?x)) liberties [approximate]")];
    let (lines, _) = saturate_with(&rules, &format!("(%x: {huge}) -> {huge}"), "%a = neg %x\n%b = sin %a\nret %b");
    // Both forms have the greatest cost: the original stays, and nothing overflows.
    assert_eq!(lines, ["%a = neg %x", "%b = sin %a", "ret %b"]);
    let large = "f64[1099511627776]";
    let (lines, _) = saturate_with(&rules, &format!("(%x: {large}) -> {large}"), "%a = neg %x\n%b = sin %a\nret %b");
    assert_eq!(lines, ["%0 = abs %x", "%b = neg %0", "ret %b"]);
}

/// P11: no public signature contains types of the e-graph library, so that it can be replaced.
#[test]
fn the_library_is_not_in_the_public_interface() {
    fn check(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                check(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let uses_egg = text.contains("use egg");
            let public = text.lines().filter(|l| l.trim_start().starts_with("pub ") && !l.contains("pub use crate"));
            let egg = ["egg::", "EGraph", "RecExpr", "EClass", "Id)", "Id>", ": Id", "Graph"];
            let named = public.filter(|l| l.contains("egg::") || uses_egg && egg.iter().any(|name| l.contains(name)));
            found.extend(named.map(|l| format!("{}: {}", path.display(), l.trim())));
        }
    }
    let mut found = Vec::new();
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    // Public items of a private module are not public.
    let lib = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/egraph/mod.rs")).unwrap();
    let hidden = |line: &String| {
        let module = Path::new(line.split(':').next().unwrap()).file_stem().unwrap().to_string_lossy().into_owned();
        lib.contains(&format!("\nmod {module};"))
    };
    found.retain(|line| !hidden(line));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// P12: the library is a published version, not a commit of a repository.
#[test]
fn the_library_is_a_published_version() {
    let lock = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock")).unwrap();
    let egg = lock.split("[[package]]").find(|p| p.contains("name = \"egg\"")).unwrap();
    assert!(egg.contains("source = \"registry+https://github.com/rust-lang/crates.io-index\""), "{egg}");
    assert!(!lock.contains("source = \"git+"));
}

/// A saturation rule is reported as left out only if the pipeline saturates nothing, or its liberties are
/// not granted.
#[test]
fn a_rule_is_said_to_be_left_out_only_where_it_is() {
    let registry = registry(&[
        ("even", "(cos (abs ?x:f64)) ~> (cos ?x) opt_in"),
        ("loose", "(cos (abs ?x:f64)) ~> ?x liberties [approximate] opt_in"),
    ]);
    let text = func("(%x: f64) -> f64", "%a = abs %x\n%b = cos %a\nret %b");
    let run = |pipeline| run_in(&registry, pipeline, Liberties::empty(), &text);
    let (after, report) = run("saturate, even, dce");
    assert_eq!(lines(&after), ["%b = cos %x", "ret %b"]);
    assert!(report.remarks.iter().all(|r| r.rewrite == "saturate"), "{:?}", remarks(&report));
    let (after, report) = run("even, dce");
    assert_eq!(lines(&after), ["%a = abs %x", "%b = cos %a", "ret %b"]);
    assert_eq!(remarks(&report), ["it is not applied: it is for equality saturation only"]);
    let (after, report) = run("saturate, loose, dce");
    assert_eq!(lines(&after), ["%a = abs %x", "%b = cos %a", "ret %b"]);
    assert_eq!(remarks(&report), ["it is not applied: it takes liberties that are not granted: approximate"]);
}
