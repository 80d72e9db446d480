//! Compiled programs touch nothing outside of their operands and results: random ones, whose arrays lie
//! between pages without access rights, as near to one of them as they can, in any order of axes, with
//! gaps, or backwards. Gaps and arguments keep their bytes.
//!
//! `REWRIGHT_GUARDED=100000 cargo test --test guarded` is the full run. An access to such a page ends the
//! process; the program is then in `guarded.ir` in the folder for temporary files of Cargo's target folder.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "memory without access rights")]

#[path = "support/fenced.rs"]
mod fenced;
#[path = "support/programs/mod.rs"]
mod programs;
#[path = "support/same.rs"]
mod same;

use fastrand::Rng;
use fenced::Fenced;
use programs::{Program, Recipe, program, recipes};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use rewright::lowering::exec::{Arg, Backend, Executable, Options, ViewMut};
use rewright_ir::text::parse_module;
use rewright_ir::{Array, DType, Datum, EvalErrorKind, Limits, Module, Name, Outcome, Scalar, eval};
use rewright_rewrites::{NoObserver, Pipeline};
use same::same_datum;
use std::cell::Cell;
use std::num::NonZeroU32;

/// How many programs a normal test run tries, and the sweep.
const CASES: u32 = 100;
const SWEEP: u32 = 500;

const LIMITS: Limits = Limits { steps: 1 << 20, elements: 1 << 16, bytes: 1 << 26, depth: 64 };

#[test]
fn nothing_is_touched_but_operands_and_results() {
    try_programs(std::env::var("REWRIGHT_GUARDED").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES));
}

#[test]
#[ignore = "a sweep: 500 random programs"]
fn nothing_is_touched_but_operands_and_results_of_many_programs() {
    try_programs(SWEEP);
}

fn try_programs(cases: u32) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let calls = Cell::new(0);
    let run = |(recipe, seed): (Recipe, u64)| {
        let program = program(&recipe).map_err(TestCaseError::fail)?;
        let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/guarded.ir");
        let args: String = program.args.iter().map(|d| format!("// {} {d}\n", d.ty())).collect();
        std::fs::write(file, format!("{}\n{args}// layouts by {seed}\n", program.module)).expect("a file");
        let mut rewritten = program.module.clone();
        let pipeline = Pipeline::parse("default").expect("the default pipeline");
        let told = |why: String| TestCaseError::fail(format!("{why}\n{}\n{args}", program.module));
        pipeline.run(&mut rewritten, &Default::default(), &mut NoObserver).map_err(|e| told(e.to_string()))?;
        for module in [&program.module, &rewritten] {
            calls.set(calls.get() + check(module, &program, seed).map_err(told)?);
        }
        Ok(())
    };
    match TestRunner::new(config).run(&(recipes(), any::<u64>()), run) {
        Ok(()) => {}
        Err(TestError::Fail(why, _)) => panic!("{why}"),
        Err(abort) => panic!("{abort}"),
    }
    println!("{} calls", calls.get());
    assert!(calls.get() > cases * 4, "{} calls that end with results test little", calls.get());
}

/// Rows whose points are combined in any order, which are computed a lane each or turned, and rows that are
/// so long that they are searched.
#[test]
fn rows_are_combined_within_their_arrays() {
    let random = &mut Rng::with_seed(5);
    let mut calls = 0;
    for (op, dtype, to) in [
        ("argmax", DType::F64, DType::I64),
        ("argmin", DType::F32, DType::I64),
        ("argmax", DType::U8, DType::I64),
        ("sum", DType::I64, DType::I64),
        ("max", DType::I16, DType::I16),
        ("any", DType::Bool, DType::Bool),
        ("sum", DType::F64, DType::F64),
    ] {
        for (rows, columns) in [(8, 3), (9, 1), (67, 5), (130, 17), (3, 70), (64, 2), (1, 40_000)] {
            let text =
                format!("func @f(%x: {dtype}[n, m]) -> {to}[n] {{\nentry:\n  %r = {op} %x, axes=[1]\n  ret %r\n}}");
            let module = parse_module(&text, "rows.ir").unwrap_or_else(|e| panic!("{}", e.render(false)));
            let mut one = |_| match dtype.is_bool() {
                true => Scalar::Bool(random.bool()),
                false => Scalar::I64(random.i64(0..90)).cast(dtype),
            };
            let x = Array::from_fn(dtype, &[rows, columns], &mut one).expect("it is small");
            let program = Program { module: module.clone(), args: vec![Datum::Array(x)] };
            calls += check(&module, &program, random.u64(..))
                .unwrap_or_else(|why| panic!("{rows} {columns}: {why}\n{text}"));
        }
    }
    let generators = code_generators().count() as u32;
    assert!(generators > 0 && calls == 7 * 7 * 4 * generators, "{calls} calls by {generators} code generators");
}

/// Those of this machine that write machine code.
fn code_generators() -> impl Iterator<Item = Backend> {
    Backend::available().filter(|b| !matches!(b, Backend::Reference | Backend::Auto | Backend::Interp))
}

/// Calls a program four times by each code generator; how many calls gave results.
fn check(module: &Module, program: &Program, seed: u64) -> Result<u32, String> {
    let expected = match eval::evaluate(module, Name::new("f"), program.args.clone(), LIMITS) {
        Err(e) if e.kind == EvalErrorKind::Limit => return Ok(0),
        other => other,
    };
    let mut calls = 0;
    for backend in code_generators() {
        let random = &mut Rng::with_seed(seed);
        let threads = NonZeroU32::new(random.u32(1..4));
        let options = Options { backend, limits: LIMITS, threads, band_bytes: Some(100), ..Options::default() };
        let executable = Executable::compile(module, "f", options).map_err(|e| format!("{backend:?}: {e}"))?;
        for _ in 0..4 {
            let args: Vec<Result<Fenced, &Datum>> = program.args.iter().map(|datum| fenced(datum, random)).collect();
            let before: Vec<Vec<u8>> = args.iter().flatten().map(|arg| arg.memory().to_vec()).collect();
            calls +=
                call(&executable, &args, expected.as_ref().ok(), random).map_err(|e| format!("{backend:?}: {e}"))?;
            if !args.iter().flatten().map(Fenced::memory).eq(before.iter().map(Vec::as_slice)) {
                return Err(format!("{backend:?}: an argument was written to"));
            }
        }
    }
    Ok(calls)
}

/// An array between fences; a datum that is no array is the error.
fn fenced<'d>(datum: &'d Datum, random: &mut Rng) -> Result<Fenced, &'d Datum> {
    datum.as_array().map(|array| Fenced::of(array, random)).ok_or(datum)
}

/// One call into results between fences; how many there were.
fn call(
    executable: &Executable,
    args: &[Result<Fenced, &Datum>],
    expected: Option<&Outcome>,
    random: &mut Rng,
) -> Result<u32, String> {
    let args: Vec<Arg<'_>> = args
        .iter()
        .map(|arg| match arg {
            Ok(array) => Arg::View(array.view()),
            Err(scalar) => Arg::from(*scalar),
        })
        .collect();
    let Some(expected) = expected else {
        return match executable.call(&args) {
            Err(_) => Ok(0),
            Ok(_) => Err("an error is expected".into()),
        };
    };
    let shape = |datum: &Datum| datum.as_array().map(|array| array.shape().to_vec()).unwrap_or_default();
    let mut results: Vec<Fenced> =
        expected.results.iter().map(|datum| Fenced::new(datum.dtype(), &shape(datum), random)).collect();
    let mut places: Vec<ViewMut<'_>> = results.iter_mut().map(Fenced::view_mut).collect();
    executable.call_into(&args, &mut places).map_err(|e| e.to_string())?;
    drop(places);
    for (number, (result, expected)) in results.iter().zip(&expected.results).enumerate() {
        let expected: Array = expected.to_array();
        let got = result.array();
        if !same_datum(&Datum::Array(expected.clone()), &Datum::Array(got.clone())) {
            return Err(format!("result {number} is {got}, not {expected}"));
        }
        if !result.gaps_are_kept() {
            return Err(format!("result {number} was written to beside its elements"));
        }
    }
    Ok(1)
}
