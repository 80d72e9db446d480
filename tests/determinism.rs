//! The same input gives the same bytes: whoever registered first, in whichever thread, however many at
//! once, whatever seeds the hash tables of a process have.

use libtest_mimic::{Arguments, Trial};
use rewright::ir::inventory;
use rewright::ir::{InterfaceEntry, OpEntry, StyleEntry};
use rewright::ir::{Registry, print_module};
use rewright::rewrites::rule::RuleEntry;
use rewright::rewrites::{Options, RewriteEntry, RewriteRegistry};
use rewright::{NoObserver, Pipeline, PipelineError};
use rewright_passdump::fixture::{Case, discover};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

/// Names a file. This program then writes what it makes of all fixtures to it and tests nothing: a test
/// compares processes.
const WRITE: &str = "REWRIGHT_DETERMINISM";

fn main() -> ExitCode {
    if let Some(path) = std::env::var_os(WRITE) {
        std::fs::write(path, joined(&all(&Registered::shuffled(4)))).expect("a file");
        return ExitCode::SUCCESS;
    }
    let tests: [(&str, fn()); 5] = [
        ("any_order_of_registration", any_order_of_registration),
        (
            "any_order_of_registration_of_rewrites_gives_the_same_default_pipeline",
            any_order_of_registration_of_rewrites_gives_the_same_default_pipeline,
        ),
        ("any_order_of_registration_of_ops", any_order_of_registration_of_ops),
        ("several_threads_at_once", several_threads_at_once),
        ("several_processes", several_processes),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), tests.into_iter().map(trial).collect()).exit_code()
}

/// The rewrites and rules of this process, in an order of registration.
struct Registered {
    rewrites: Vec<RewriteEntry>,
    rules: Vec<RuleEntry>,
    registry: RewriteRegistry,
}

impl Registered {
    /// In the order of this process.
    fn here() -> Self {
        Registered::in_order(|_, _| ())
    }

    fn shuffled(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        Registered::in_order(|rewrites, rules| {
            random.shuffle(rewrites);
            random.shuffle(rules);
        })
    }

    fn in_order(order: impl FnOnce(&mut [RewriteEntry], &mut [RuleEntry])) -> Self {
        let mut rewrites: Vec<RewriteEntry> = inventory::iter::<RewriteEntry>.into_iter().copied().collect();
        let mut rules: Vec<RuleEntry> = inventory::iter::<RuleEntry>.into_iter().copied().collect();
        order(&mut rewrites, &mut rules);
        let registry = RewriteRegistry::build_with(rewrites.iter().copied(), &rules);
        assert_eq!(registry.errors(), []);
        Registered { rewrites, rules, registry }
    }

    /// A fixture's pipeline, which may have rules of its own.
    fn pipeline(&self, case: &Case) -> Result<Pipeline, PipelineError> {
        let own = case.rules();
        if own.is_empty() {
            return Pipeline::parse_in(&self.registry, &case.fixture.pipeline);
        }
        let rules: Vec<RuleEntry> = own.into_iter().chain(self.rules.iter().copied()).collect();
        let registry = RewriteRegistry::build_with(self.rewrites.iter().copied(), &rules);
        Pipeline::parse_in(&registry, &case.fixture.pipeline)
    }
}

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    discover(&[root]).unwrap_or_else(|e| panic!("{e}"))
}

/// What a fixture's pipeline makes of its program: the text and all remarks, or the error.
fn rewritten(path: &Path, registered: &Registered) -> String {
    let case = Case::load(path).unwrap_or_else(|e| panic!("{e}"));
    let mut module = match case.module() {
        Ok(module) => module,
        Err(error) => return error.to_string(),
    };
    let pipeline = match registered.pipeline(&case) {
        Ok(pipeline) => pipeline,
        Err(error) => return error.to_string(),
    };
    let liberties = case.liberties().unwrap_or_else(|e| panic!("{e}"));
    let options = Options { liberties, ..Options::default() };
    match pipeline.run(&mut module, &options, &mut NoObserver) {
        Err(error) => error.to_string(),
        Ok(report) => {
            let mut text = print_module(&module);
            for remark in &report.remarks {
                // Writing to a string can't fail.
                let _ = writeln!(text, "// {remark}");
            }
            for stats in &report.stats {
                let _ = writeln!(text, "// {}: {} of {}", stats.rewrite, stats.applied, stats.asked);
            }
            text
        }
    }
}

/// Rewrites all fixtures, in order.
fn all(registered: &Registered) -> Vec<String> {
    fixtures().iter().map(|path| rewritten(path, registered)).collect()
}

fn assert_same(one: &[String], other: &[String]) {
    for (path, (one, other)) in fixtures().iter().zip(one.iter().zip(other)) {
        assert_eq!(one, other, "{}", path.display());
    }
    assert_eq!(one.len(), other.len());
}

fn any_order_of_registration() {
    let first = all(&Registered::here());
    assert!(first.iter().any(|text| text.contains("arrayexpr")));
    for seed in [1, 2] {
        assert_same(&first, &all(&Registered::shuffled(seed)));
    }
}

fn any_order_of_registration_of_rewrites_gives_the_same_default_pipeline() {
    let default = |registered: &Registered| {
        Pipeline::by_default_of(&registered.registry).map(|p| p.to_string()).unwrap_or_else(|e| panic!("{e}"))
    };
    let first = default(&Registered::here());
    (0..10).for_each(|seed| assert_eq!(first, default(&Registered::shuffled(seed))));
}

fn any_order_of_registration_of_ops() {
    let mut ops: Vec<&OpEntry> = inventory::iter::<OpEntry>.into_iter().collect();
    let mut interfaces: Vec<&InterfaceEntry> = inventory::iter::<InterfaceEntry>.into_iter().collect();
    let mut styles: Vec<&StyleEntry> = inventory::iter::<StyleEntry>.into_iter().collect();
    let mut random = fastrand::Rng::with_seed(3);
    let mut listed = || {
        random.shuffle(&mut ops);
        random.shuffle(&mut interfaces);
        random.shuffle(&mut styles);
        let registry = Registry::build(ops.iter().copied(), interfaces.iter().copied(), styles.iter().copied());
        assert_eq!(registry.errors(), []);
        let mut text = String::new();
        registry.ops().for_each(|(op, origin)| text += &format!("{op} {origin}\n"));
        registry.styles().for_each(|(style, origin)| text += &format!("{} {origin}\n", style.name));
        text
    };
    let first = listed();
    (0..20).for_each(|_| assert_eq!(first, listed()));
}

/// Each thread has hash seeds of its own, and interns names in an unpredictable order.
fn several_threads_at_once() {
    let threads: Vec<_> = (0..3).map(|_| thread::spawn(|| all(&Registered::here()))).collect();
    let found: Vec<Vec<String>> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    found.iter().skip(1).for_each(|other| assert_same(&found[0], other));
}

/// Each process has hash seeds and addresses of its own.
fn several_processes() {
    let folder = std::env::temp_dir().join(format!("rewright-determinism-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = std::env::current_exe().expect("this program");
    let children: Vec<_> = (0..2)
        .map(|n| {
            let path = folder.join(n.to_string());
            (Command::new(&program).env(WRITE, &path).spawn().expect("a process"), path)
        })
        .collect();
    let here = joined(&all(&Registered::here()));
    for (mut child, path) in children {
        assert!(child.wait().expect("it ran").success());
        let there = std::fs::read_to_string(&path).expect("it wrote");
        assert!(here == there, "another process made something else of the fixtures");
    }
    std::fs::remove_dir_all(&folder).expect("the folder is there");
}

fn joined(texts: &[String]) -> String {
    texts.join("\n----\n")
}
