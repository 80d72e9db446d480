//! Random programs give the same bits in the reference evaluator and in every code generator, before and after rewriting.
//!
//! `REWRIGHT_PROGRAMS=100000 cargo test --release --test random_programs` is the full run.

#[path = "support/programs.rs"]
mod programs;

use programs::{Program, program};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use rewright_ir::{Datum, EvalError, Limits, Module, Name, eval};
use rewright_lowering::exec::{Backend, Executable, Options};
use rewright_rewrites::{NoObserver, Pipeline};

/// How many programs a normal test run tries.
const CASES: u32 = 2000;

#[test]
fn reference_and_code_generators_agree_before_and_after_rewriting() {
    let cases = std::env::var("REWRIGHT_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 5000, ..Config::default() };
    let bytes = proptest::collection::vec(proptest::num::u8::ANY, 0..400);
    if let Err(failure) = TestRunner::new(config).run(&bytes, |bytes| check(&program(&bytes))) {
        panic!("{failure}");
    }
}

fn check(program: &Program) -> Result<(), TestCaseError> {
    let expected = reference(&program.module, &program.args);
    compare(program, "as written", &program.module, &expected)?;
    let mut rewritten = program.module.clone();
    Pipeline::parse("default")
        .map_err(|e| fail(program, &e.to_string()))?
        .run(&mut rewritten, &Default::default(), &mut NoObserver)
        .map_err(|e| fail(program, &format!("rewriting failed: {e}")))?;
    let blame = |error: TestCaseError| match error {
        TestCaseError::Fail(why) => TestCaseError::fail(format!("{why}\nrewritten to\n{rewritten}")),
        reject => reject,
    };
    // An error that only unused work would have raised may be gone.
    let again = reference(&rewritten, &program.args);
    if expected.is_ok() || again.is_err() {
        same(program, "reference, rewritten", &expected, &again).map_err(blame)?;
    }
    compare(program, "rewritten", &rewritten, &again).map_err(blame)
}

/// Results, and arguments after stores.
type Ran = Result<(Vec<Datum>, Vec<Datum>), EvalError>;

fn reference(module: &Module, args: &[Datum]) -> Ran {
    let limits = Limits { elements: 1 << 24, ..Limits::default() };
    eval::evaluate(module, Name::new("f"), args.to_vec(), limits).map(|o| (o.results, o.args))
}

fn compare(program: &Program, stage: &str, module: &Module, expected: &Ran) -> Result<(), TestCaseError> {
    for backend in [Backend::Interp, Backend::Cranelift] {
        let what = format!("{backend:?}, {stage}");
        let executable = Executable::compile(module, "f", Options { backend, ..Options::default() })
            .map_err(|e| fail(program, &format!("{what}: {e}")))?;
        let args: Vec<_> = program.args.iter().map(Into::into).collect();
        let ran = executable.outcome(&args).map(|o| (o.results, o.args));
        same(program, &what, expected, &ran)?;
    }
    Ok(())
}

fn same(program: &Program, what: &str, expected: &Ran, got: &Ran) -> Result<(), TestCaseError> {
    match (expected, got) {
        (Ok(expected), Ok(got)) => {
            let pairs = expected.0.iter().zip(&got.0).chain(expected.1.iter().zip(&got.1));
            for (n, (e, g)) in pairs.enumerate() {
                if !same_datum(e, g) {
                    let text = format!("{what}: result {n} differs\nexpected {e:?}\ngot {g:?}");
                    return Err(fail(program, &text));
                }
            }
            Ok(())
        }
        (Err(_), Err(_)) => Ok(()),
        (e, g) => Err(fail(program, &format!("{what}: expected {e:?}\ngot {g:?}"))),
    }
}

/// Equal bits, any NaN equal to any other.
fn same_datum(a: &Datum, b: &Datum) -> bool {
    let same = |x: rewright_ir::Scalar, y: rewright_ir::Scalar| {
        let part = |x: f64, y: f64| (x.is_nan() && y.is_nan()) || x.to_bits() == y.to_bits();
        let (zx, zy) = (x.to_c128(), y.to_c128());
        x == y || (x.dtype().kind() >= rewright_ir::Kind::Float && part(zx.re, zy.re) && part(zx.im, zy.im))
    };
    match (a, b) {
        (Datum::Scalar(x), Datum::Scalar(y)) => x.dtype() == y.dtype() && same(*x, *y),
        (Datum::Array(x), Datum::Array(y)) => {
            x.dtype() == y.dtype() && x.shape() == y.shape() && x.iter().zip(y.iter()).all(|(x, y)| same(x, y))
        }
        _ => false,
    }
}

fn fail(program: &Program, why: &str) -> TestCaseError {
    TestCaseError::fail(format!("{why}\n{}\nargs {:?}", program.module, program.args))
}
