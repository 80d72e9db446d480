//! Random programs give the same bits in the reference evaluator and in every code generator, before and
//! after rewriting.
//!
//! `REWRIGHT_PROGRAMS=100000 cargo test --test random_programs` is the full run. It says how far it is.

#[path = "support/programs/mod.rs"]
mod programs;
#[path = "support/same.rs"]
mod same;

use programs::{Program, Recipe, program, recipes};
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use rewright_ir::{Datum, EvalError, EvalErrorKind, Limits, Module, Name, Outcome, eval};
use rewright_lowering::exec::{Backend, Executable, Options};
use rewright_rewrites::{NoObserver, Pipeline};
use same::same_datum;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;

/// How many programs a normal test run tries, and the sweep.
const CASES: u32 = 400;
const SWEEP: u32 = 2000;

/// The pipelines that rewrite programs.
const PIPELINES: [&str; 2] = ["default", "fold, saturate, default"];

/// A full run reports its progress each time it has run this many programs.
const PART: u32 = 5_000;

/// What one call may use: random loops around random calls may take long.
const LIMITS: Limits = Limits { steps: 1 << 20, elements: 1 << 16, bytes: 1 << 26, depth: 64 };

/// Bands as small as the arrays, so that there are some, of an iteration and of several.
const BANDS: [u64; 3] = [100, 400, 2_000];

/// The outcomes of programs, and how many have each.
type Ends = BTreeMap<String, u32>;

#[test]
fn reference_and_code_generators_agree_before_and_after_rewriting() {
    try_programs(std::env::var("REWRIGHT_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES));
}

#[test]
#[ignore = "a sweep: 2000 random programs"]
fn reference_and_code_generators_agree_on_many_programs() {
    try_programs(SWEEP);
}

fn try_programs(cases: u32) {
    let ends = RefCell::new(Ends::new());
    let mut done = 0;
    while done < cases {
        let part = PART.min(cases - done);
        let mut config =
            Config { cases: part, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
        if let RngSeed::Fixed(seed) = config.rng_seed {
            config.rng_seed = RngSeed::Fixed(seed + u64::from(done / PART));
        }
        let run = |(recipe, pipeline): (Recipe, &str)| {
            let end = check(&recipe, pipeline)?;
            *ends.borrow_mut().entry(end).or_default() += 1;
            Ok(())
        };
        match TestRunner::new(config).run(&(recipes(), select(&PIPELINES)), run) {
            Ok(()) => {}
            // The bytes say less than the program, which the reason shows.
            Err(TestError::Fail(why, _)) => panic!("{why}"),
            Err(abort) => panic!("{abort}"),
        }
        done += part;
        if cases > PART {
            // Not through `eprintln!`, which a test keeps for itself.
            let _ = writeln!(std::io::stderr(), "{done} of {cases} programs agree: {:?}", ends.borrow());
        }
    }
    let ends = ends.into_inner();
    // Programs that all end with errors would test little.
    assert!(ends.get("results").is_some_and(|&n| n > cases / 4 * 3), "{ends:?}");
}

/// Checks a program and what a pipeline makes of it; says what it ends with.
fn check(recipe: &Recipe, pipeline: &str) -> Result<String, TestCaseError> {
    let program = program(recipe).map_err(TestCaseError::fail)?;
    let expected = reference(&program.module, &program.args);
    compare(&program, "as written", &program.module, &expected)?;
    let mut rewritten = program.module.clone();
    Pipeline::parse(pipeline)
        .map_err(|e| fail(&program, &e.to_string()))?
        .run(&mut rewritten, &Default::default(), &mut NoObserver)
        .map_err(|e| fail(&program, &format!("rewriting failed: {e}")))?;
    let blame = |error: TestCaseError| match error {
        TestCaseError::Fail(why) => TestCaseError::fail(format!("{why}\n--- rewritten by {pipeline}\n{rewritten}")),
        reject => reject,
    };
    let again = reference(&rewritten, &program.args);
    let kept = match (&expected, &again) {
        (Err(before), Err(after)) => before == after || fails_there(&program.module, after),
        // Unused work is eliminated, and its error with it.
        (Err(_), Ok(_)) => true,
        (Ok(_), _) => equal(&expected, &again),
    };
    if !kept {
        let why = format!("reference, rewritten: expected {}\ngot {}", shown(&expected), shown(&again));
        return Err(blame(fail(&program, &why)));
    }
    compare(&program, "rewritten", &rewritten, &again).map_err(blame)?;
    Ok(match expected {
        Ok(_) => "results".to_string(),
        Err(e) => format!("{:?}", e.kind),
    })
}

type Ran = Result<Outcome, EvalError>;

fn reference(module: &Module, args: &[Datum]) -> Ran {
    eval::evaluate(module, Name::new("f"), args.to_vec(), LIMITS)
}

/// The number of recent programs whose functions are kept, so that equal kernels are compiled only once.
const KEPT: usize = 4_000;

thread_local! {
    static LAST: RefCell<VecDeque<Executable>> = const { RefCell::new(VecDeque::new()) };
}

fn keep(executable: Executable) {
    LAST.with_borrow_mut(|last| {
        last.push_back(executable);
        if last.len() > KEPT {
            last.pop_front();
        }
    });
}

fn compare(program: &Program, stage: &str, module: &Module, expected: &Ran) -> Result<(), TestCaseError> {
    // Small calls whose schedules are told are scheduled as large ones are: every second program's.
    let length = module.to_string().len();
    let (times, band_bytes) = (length.is_multiple_of(2), Some(BANDS[length / 2 % BANDS.len()]));
    for backend in Backend::available().filter(|b| !matches!(b, Backend::Reference | Backend::Auto)) {
        let what = format!("{backend:?}, {stage}");
        let options = Options { backend, limits: LIMITS, band_bytes, times, ..Options::default() };
        let executable =
            Executable::compile(module, "f", options).map_err(|e| fail(program, &format!("{what}: {e}")))?;
        let args: Vec<_> = program.args.iter().map(Into::into).collect();
        let first = executable.outcome(&args);
        same(program, &what, expected, &first)?;
        // Calls that are alike are done in a shorter way from the third on. Those that use too much end as
        // the first did.
        if let (Ok(expected), Ok(_)) = (expected, first)
            && backend != Backend::Interp
        {
            let calls = (0..3).map(|_| executable.call(&args)).collect::<Result<Vec<_>, _>>();
            let calls = calls.map_err(|e| fail(program, &format!("{what}, called again: {e}")))?;
            for results in calls {
                let again = Outcome { results: results.into_vec(), ..expected.clone() };
                same(program, &format!("{what}, called again"), &Ok(expected.clone()), &Ok(again))?;
            }
        }
        keep(executable);
    }
    Ok(())
}

fn same(program: &Program, what: &str, expected: &Ran, got: &Ran) -> Result<(), TestCaseError> {
    match equal(expected, got) {
        true => Ok(()),
        false => Err(fail(program, &format!("{what}: expected {}\ngot {}", shown(expected), shown(got)))),
    }
}

/// The same results, arguments after stores and prints; or the same error at the same place, in the same
/// words.
fn equal(expected: &Ran, got: &Ran) -> bool {
    let limited = |ran: &Ran| ran.as_ref().is_err_and(|e| e.kind == EvalErrorKind::Limit);
    match (expected, got) {
        (Ok(expected), Ok(got)) => {
            let pair = |a: &[Datum], b: &[Datum]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_datum(a, b));
            pair(&expected.results, &got.results) && pair(&expected.args, &got.args) && expected.printed == got.printed
        }
        // How much is used until the end differs.
        _ if limited(expected) || limited(got) => true,
        (Err(e), Err(g)) => (e.kind.clone(), e.op, e.loc, words(e)) == (g.kind.clone(), g.op, g.loc, words(g)),
        _ => false,
    }
}

/// The words of an error, without the operands: kernels don't tell these.
fn words(error: &EvalError) -> Option<&str> {
    error.message.split(" (operands").next()
}

/// True if an error after rewriting names an instruction of the program as it was written. Unused work is
/// eliminated and the rest may be reordered, so the error may differ from the original one; but it is one
/// of the program's own. A node fails as a whole where the shapes of its operands don't fit.
fn fails_there(written: &Module, after: &EvalError) -> bool {
    let mut insts = written.functions().flat_map(|f| f.blocks().flat_map(|b| f.insts(b)).map(|i| f.inst(i)));
    let node = after.op == Some("arrayexpr") && after.kind == EvalErrorKind::Shape;
    let named = |op: &str| after.op == Some(op) || node;
    after.kind == EvalErrorKind::Limit || insts.any(|data| data.loc.line == after.loc.line && named(data.op.name))
}

fn shown(ran: &Ran) -> String {
    let list = |data: &[Datum]| data.iter().map(|d| format!("\n{} {d}", d.ty())).collect::<String>();
    match ran {
        Err(e) => format!("{:?} error: {e}", e.kind),
        Ok(o) => format!("results{}\narguments{}\nprinted {:?}", list(&o.results), list(&o.args), o.printed),
    }
}

fn fail(program: &Program, why: &str) -> TestCaseError {
    let args: String = program.args.iter().map(|d| format!("\n{} {d}", d.ty())).collect();
    TestCaseError::fail(format!("{why}\n--- program\n{}\narguments{args}", program.module))
}
