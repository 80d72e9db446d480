//! Fuzzes broadcasting with static and symbolic extents. A symbolic extent may match, be 1 (stretched),
//! or be an error. The rewritten program and all backends must agree with the reference evaluation of the
//! original program, in errors and in elements.
//!
//! `REWRIGHT_NESTS=100000 cargo test --release -p rewright-broadcast --test all extents::` is the full run.

use fastrand::Rng;
use rewright::ir::{Styled, eval, parse_module};
use rewright::lowering::exec::{Arg, Backend, Executable, Options};
use rewright::rewrites::{NoObserver, Pipeline};
use rewright::{Array, DType, Datum, Limits, Module, Name, Scalar, registry};
use rewright_broadcast as _;
use std::fmt::Write;

/// The number of nests in a normal run.
const CASES: usize = 150;

/// Static extents.
const KNOWN: [usize; 2] = [3, 2];
/// Run-time extents of a symbolic dimension, as functions of the static one. Matching extents are more
/// frequent.
const SEEN: [fn(usize) -> usize; 6] = [|n| n, |n| n, |n| n, |_| 1, |_| 1, |n| n + 1];

const UNARY: [&str; 4] = ["neg", "abs", "cos", "floor"];
const BINARY: [&str; 6] = ["mul", "mul", "mul", "add", "sub", "maximum"];

/// A program whose result types are left to inference, with arguments.
struct Case {
    text: String,
    args: Vec<Datum>,
}

fn case(random: &mut Rng) -> Case {
    let square = random.bool();
    let dims = if square { vec![KNOWN[0]; 2] } else { KNOWN[..random.usize(1..=2)].to_vec() };
    let exact = random.bool();
    let (mut params, mut args) = (Vec::new(), Vec::new());
    for number in 0..random.usize(2..5) {
        // The first argument has static extents, so that the result has, too.
        let (param, arg) = argument(random, number, &dims, if exact { DType::I64 } else { DType::F64 });
        params.push(param);
        args.push(arg);
    }
    let mut body = String::new();
    let mut last = "%a0".to_string();
    for number in 1..args.len() {
        let (op, one) = (random.choice(&BINARY).unwrap(), random.choice(&UNARY).unwrap());
        let finite = if !exact && random.bool() { ", finite=true" } else { "" };
        let _ = writeln!(body, "  %{number} = broadcasted {last}, %a{number}, op=\"{op}\"{finite}");
        last = format!("%{number}");
        if random.u8(0..4) == 0 {
            let _ = writeln!(body, "  %u{number} = broadcasted {last}, op=\"{one}\"");
            last = format!("%u{number}");
        }
    }
    let end = if random.u8(0..4) == 0 { "sum" } else { "materialize" };
    let text = format!("func @f({})RESULT {{\nentry:\n{body}  %r = {end} {last}\n  ret %r\n}}", params.join(", "));
    Case { text, args }
}

/// A parameter, and an array for it.
fn argument(random: &mut Rng, number: usize, dims: &[usize], dtype: DType) -> (String, Datum) {
    let styles: Vec<_> = registry().styles().map(|(style, _)| style).collect();
    loop {
        let is_known = number == 0 || random.u8(0..3) == 0;
        let seen = random.choice(&SEEN).unwrap();
        let shape: Vec<usize> = dims.iter().map(|&n| if is_known { n } else { seen(n) }).collect();
        let mut element = |_| match random.bool() {
            true => Scalar::I64(0).cast(dtype),
            false => Scalar::I64(random.i64(-9..9)).cast(dtype),
        };
        let array = Array::from_fn(dtype, &shape, &mut element).unwrap();
        let style = if number > 0 && random.bool() { "dense" } else { random.choice(&styles).unwrap().name };
        // Random elements rarely form a range, and the extent of a tuple is static.
        if ["range", "tuple", "lazy", "bits"].contains(&style) {
            continue;
        }
        let style_def = styles.iter().find(|def| def.name == style).unwrap();
        let Some(kept) = structured(style_def.name, &array) else { continue };
        // A square matrix has one symbol for both dimensions.
        let symbols = if shape.len() == 2 && shape[0] == shape[1] { ["n", "n"] } else { ["n", "m"] };
        let name = |axis: usize| if is_known { shape[axis].to_string() } else { format!("{}{number}", symbols[axis]) };
        let dims: Vec<String> = (0..shape.len()).map(name).collect();
        let style = if style == "dense" { String::new() } else { format!("; {style}") };
        return (format!("%a{number}: {dtype}[{}{style}]", dims.join(", ")), kept);
    }
}

/// The array in a style, or `None` if the style does not accept it.
fn structured(style: &str, array: &Array) -> Option<Datum> {
    if style == "dense" {
        return Some(array.clone().into());
    }
    let style = rewright::ir::Style::named(Name::new(style)).ok()?;
    Styled::of(style, array).ok().map(Datum::from)
}

/// The program with the inferred type of its result.
fn typed(text: &str) -> Result<Module, String> {
    let parse = |text: &str| parse_module(text, "case").map_err(|e| e.render(false));
    let untyped = parse(&text.replace("RESULT", "").replace("ret %r", "ret"))?;
    let func = untyped.get(Name::new("f")).ok_or("no function")?;
    let mut made = func.blocks().flat_map(|block| func.insts(block)).filter_map(|inst| func.inst(inst).results.first());
    let last = made.next_back().ok_or("no value")?;
    parse(&text.replace("RESULT", &format!(" -> {}", func.ty(*last))))
}

/// Whether a case has a result (`true`) or an error (`false`); `None` if the program does not type-check.
fn check(case: &Case) -> Result<Option<bool>, String> {
    let Ok(module) = typed(&case.text) else { return Ok(None) };
    let limits = Limits::default();
    let wanted = eval::evaluate(&module, "f", case.args.clone(), limits);
    let right = |found: Result<Datum, String>, by: &str| match (&wanted, found) {
        (Err(_), Err(_)) => Ok(()),
        (Ok(wanted), Ok(found)) if same(&wanted.results[0].to_array(), &found.to_array()) => Ok(()),
        (Ok(wanted), found) => Err(format!("{by} gives {found:?}, not {}", wanted.results[0])),
        (Err(error), Ok(found)) => Err(format!("{by} gives {found}, not the error: {error}")),
    };
    let mut rewritten = module.clone();
    Pipeline::parse("default")
        .map_err(|e| e.to_string())?
        .run(&mut rewritten, &Default::default(), &mut NoObserver)
        .map_err(|e| e.to_string())?;
    let found = eval::evaluate(&rewritten, "f", case.args.clone(), limits).map_err(|e| e.to_string());
    let failed = |why: String| format!("{why}\n{rewritten}");
    right(found.map(|outcome| outcome.results[0].clone()), "the rewritten program").map_err(failed)?;
    let args: Vec<Arg<'_>> = case.args.iter().map(Arg::from).collect();
    for backend in Backend::available() {
        let options = Options { backend, ..Options::default() };
        let f = Executable::compile(&rewritten, Name::new("f"), options).map_err(|e| failed(e.to_string()))?;
        let found = f.call(&args).map(|results| results[0].clone()).map_err(|e| e.to_string());
        right(found, &format!("{backend:?}")).map_err(failed)?;
    }
    Ok(Some(wanted.is_ok()))
}

fn same(a: &Array, b: &Array) -> bool {
    (a.dtype(), a.shape()) == (b.dtype(), b.shape()) && a.iter().zip(b.iter()).all(|(a, b)| a.to_f64() == b.to_f64())
}

#[test]
fn extents_that_are_seen_when_it_runs() {
    let cases = std::env::var("REWRIGHT_NESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..cases as u64 * 10 {
        let case = case(&mut Rng::with_seed(seed));
        match check(&case) {
            Ok(None) => {}
            Ok(Some(true)) => right += 1,
            Ok(Some(false)) => wrong += 1,
            Err(why) => panic!("seed {seed}: {why}\n{}\n{:?}", case.text, case.args),
        }
        if right + wrong == cases {
            break;
        }
    }
    println!("{right} with results, {wrong} with errors");
    assert!(right + wrong == cases && right.min(wrong) > cases / 10, "{right} with results, {wrong} with errors");
}
