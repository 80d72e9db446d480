//! Tests for matches allocate nothing if no rewrite matches, whatever the size of the block.

#[path = "support/straight.rs"]
mod straight;

use rewright_rewrites::rule::Liberties;
use rewright_rewrites::{MatchCx, Matcher, NoObserver, Options, Pipeline};

/// The number of allocations of `f`, and its result.
fn counted<R>(f: impl FnOnce() -> R) -> (u64, R) {
    let mut result = None;
    let counts = allocation_counter::measure(|| result = Some(f()));
    (counts.count_total, result.expect("it ran"))
}

/// Checks that the rewrites of the default pipeline, each by itself and all together, allocate nothing if
/// none matches.
fn refused(text: &str) {
    let module = straight::module(text);
    let func = module.functions().next().unwrap();
    let default = Pipeline::parse("default").unwrap();
    let names = default.stops().iter().map(|stop| stop.entry.def.name);
    for name in names.chain(["default"]) {
        let matcher = Matcher::new(&Pipeline::parse(name).unwrap(), Liberties::empty());
        let analyses = straight::known(func, &module);
        let cx = MatchCx::new(func, &module, &analyses);
        // The first test initializes the registries.
        matcher.first_match(&MatchCx::new(func, &module, &straight::known(func, &module)));
        let (allocations, found) = counted(|| matcher.first_match(&cx));
        assert_eq!(found, None, "`{name}` matches");
        assert_eq!(allocations, 0, "`{name}` allocates where it finds nothing");
    }
}

#[test]
fn refused_arithmetic_allocates_nothing() {
    refused(&straight::minimal(10));
    refused(&straight::minimal(10_000));
}

#[test]
fn nothing_is_allocated_for_expressions_that_are_fused_already() {
    let mut module = straight::module(&straight::redundant(200, "f64[n]"));
    Pipeline::parse("default").unwrap().run(&mut module, &Options::default(), &mut NoObserver).unwrap();
    let text = module.to_string();
    assert!(text.contains("arrayexpr"), "{text}");
    refused(&text);
}

/// A loop nest with a branch: each parameter gets different values, and each instruction computes another
/// value.
#[test]
fn nothing_is_allocated_for_branches_and_loops() {
    refused(
        "func @f(%x: f64, %y: f64, %n: i64, %m: i64) -> f64 {
entry:
  jump outer(%n, %x)
outer(%i: i64, %a: f64):
  %more = gt %i, 0
  br_if %more, inner(%m, %a), done
inner(%j: i64, %b: f64):
  %less = lt %b, %y
  br_if %less, small, large
small:
  %s = add %b, %x
  jump next(%s)
large:
  %l = div %b, 3.0
  jump next(%l)
next(%c: f64):
  %k = sub %j, 1
  %again = gt %k, 0
  br_if %again, inner(%k, %c), after
after:
  %h = sub %i, 2
  jump outer(%h, %c)
done:
  ret %a
}",
    );
}

#[test]
fn matches_are_found() {
    let module = straight::module(&straight::redundant(100, "f64"));
    let func = module.functions().next().unwrap();
    let analyses = straight::known(func, &module);
    let first = |pipeline: &str| {
        let matcher = Matcher::new(&Pipeline::parse(pipeline).unwrap(), Liberties::empty());
        matcher.first_match(&MatchCx::new(func, &module, &analyses))
    };
    assert_eq!(first("canonicalize"), Some("canonicalize"));
    assert_eq!(first("fold, cse, dce"), Some("cse"));
    assert_eq!(first("fold, dce"), Some("dce"));
    assert_eq!(first("fold"), None);
}

/// A run on a function without matches allocates growing lists, but nothing for each instruction.
#[test]
fn a_run_allocates_nothing_for_each_instruction() {
    let pipeline = Pipeline::parse("default").unwrap();
    let [few, many] = [1_000, 100_000].map(|n| {
        let mut module = straight::module(&straight::minimal(n));
        pipeline.run(&mut module, &Options::default(), &mut NoObserver).unwrap();
        let (allocations, report) = counted(|| pipeline.run(&mut module, &Options::default(), &mut NoObserver));
        assert_eq!(report.unwrap().applications(), 0);
        allocations
    });
    assert!(many < few + 200, "{few} allocations for 1,000 instructions, {many} for 100,000");
}
