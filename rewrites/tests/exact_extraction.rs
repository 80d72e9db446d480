//! `saturate-exact`: the cheapest form for certain with the cargo feature `exact-extraction`; a clear error
//! without it.

/// The error names the feature.
#[cfg(not(feature = "exact-extraction"))]
#[test]
fn a_build_without_it_says_what_to_do() {
    use rewright_rewrites::{Pipeline, PipelineError};
    let error = Pipeline::parse("fold, saturate-exact").unwrap_err();
    let (name, feature) = ("saturate-exact".to_string(), "exact-extraction");
    assert_eq!(error, PipelineError::NotBuilt { name, at: 6, feature });
    assert!(error.to_string().contains("cargo feature `exact-extraction`"), "{error}");
}

#[cfg(feature = "exact-extraction")]
mod with_the_feature {
    use rewright_ir::{Module, Origin, parse_module, print_module};
    use rewright_rewrites::rule::{Liberties, RuleDef, RuleEntry};
    use rewright_rewrites::{Form, NoObserver, Options, Pipeline, Report, RewriteRegistry, rewrites};

    /// The registry of the process, with its rules replaced by these.
    fn registry(rules: &[(&'static str, &'static str)]) -> RewriteRegistry {
        let entry = |&(name, text): &(&'static str, &'static str)| RuleEntry {
            def: RuleDef { name, text },
            origin: Origin { krate: "test", version: "", file: "test.rs", line: 1 },
        };
        let rules: Vec<RuleEntry> = rules.iter().map(entry).collect();
        RewriteRegistry::build_with(rewrites().iter().filter(|e| !matches!(e.def.form, Form::Rule(_))), &rules)
    }

    fn run(registry: &RewriteRegistry, pipeline: &str, text: &str) -> (Module, Report) {
        let mut module = parse_module(text, "f.ir").unwrap();
        let options = Options { liberties: Liberties::all(), ..Options::default() };
        let pipeline = Pipeline::parse_in(registry, pipeline).unwrap();
        let report = pipeline.run(&mut module, &options, &mut NoObserver).unwrap();
        (module, report)
    }

    fn count(module: &Module, op: &str) -> usize {
        print_module(module).lines().filter(|line| line.contains(&format!("= {op} "))).count()
    }

    /// Six sums, each of a sine, a cosine or a hyperbolic sine. Four of them can use sines, which the
    /// program has; the other two need more, and no single exchange is cheaper. Cosines and hyperbolic sines
    /// alone cover all six.
    const COVER: [(&str, &str); 4] = [
        ("one", "(add (sin ?x:f64) 1) ~> (add (cos ?x) 1) liberties [approximate]"),
        ("two", "(add (sin ?x:f64) 2) ~> (add (cos ?x) 2) liberties [approximate]"),
        ("four", "(add (sin ?x:f64) 4) ~> (add (acos ?x) 4) liberties [approximate]"),
        ("five", "(add (sin ?x:f64) 5) ~> (add (acos ?x) 5) liberties [approximate]"),
    ];
    const SUMS: &str = "func @f(%x: f64[n]) -> f64[n], f64[n], f64[n], f64[n], f64[n], f64[n] {\nentry:\n  %s = sin %x\n  \
        %c = cos %x\n  %h = acos %x\n  %1 = add %s, 1.0\n  %2 = add %s, 2.0\n  %3 = add %c, 3.0\n  %4 = add %s, 4.0\n  \
        %5 = add %s, 5.0\n  %6 = add %h, 6.0\n  ret %1, %2, %3, %4, %5, %6\n}\n";

    #[test]
    fn what_several_exchanges_make_cheaper_is_found() {
        let registry = registry(&COVER);
        let (greedy, report) = run(&registry, "saturate", SUMS);
        assert_eq!((count(&greedy, "sin"), report.applications()), (1, 0));
        let (exact, report) = run(&registry, "saturate-exact", SUMS);
        let left = ["sin", "cos", "acos", "add"].map(|op| count(&exact, op));
        assert_eq!(left, [0, 1, 1, 6], "{}", print_module(&exact));
        assert!(report.remarks[0].message.contains(" is "), "{:?}", report.remarks);
    }

    /// The result is the same in every run.
    #[test]
    fn it_is_deterministic() {
        let registry = registry(&COVER);
        let all: Vec<String> = (0..3).map(|_| print_module(&run(&registry, "saturate-exact", SUMS).0)).collect();
        assert!(all.windows(2).all(|two| two[0] == two[1]));
    }

    /// The original wins among forms of equal cost.
    #[test]
    fn ties_keep_the_original() {
        let registry = registry(&[("same", "(sin ?x:f64) ~> (cos ?x) liberties [approximate]")]);
        let text = "func @f(%x: f64) -> f64, f64 {\nentry:\n  %a = sin %x\n  %b = neg %a\n  ret %a, %b\n}\n";
        let (after, report) = run(&registry, "saturate-exact", text);
        assert_eq!(
            (print_module(&after), report.applications()),
            (print_module(&parse_module(text, "f.ir").unwrap()), 0)
        );
    }

    /// Classes that compute each other: no cycle is chosen.
    #[test]
    fn circles_are_not_chosen() {
        let rules = [
            ("there", "(tan ?x:f64) ~> (neg (tanh ?x)) liberties [approximate]"),
            ("back", "(tanh ?x:f64) ~> (neg (tan ?x)) liberties [approximate]"),
            ("twice", "(neg (neg ?x)) ~> ?x"),
        ];
        let text = "func @f(%x: f64) -> f64, f64 {\nentry:\n  %a = tan %x\n  %b = tanh %x\n  ret %a, %b\n}\n";
        let (after, _) = run(&registry(&rules), "saturate-exact", text);
        let left = ["tan", "tanh", "neg"].map(|op| count(&after, op));
        assert!(left == [1, 0, 1] || left == [0, 1, 1], "{}", print_module(&after));
    }
}
