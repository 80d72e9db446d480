//! Random nests of functions over arrays of every style give what the same functions give of dense copies.
//!
//! `REWRIGHT_NESTS=100000 cargo test --release -p rewright-broadcast --test nests` is the full run.  `REWRIGHT_NESTS_SEED` is the first seed.

use fastrand::Rng;
use rewright::ir::{Styled, eval, parse_module};
use rewright::lowering::exec::{Arg, Backend, Executable, Options};
use rewright::rewrites::{NoObserver, Pipeline};
use rewright::{Array, DType, Datum, Limits, Module, Name, Scalar, registry};
use rewright_broadcast as _;
use std::fmt::Write;

/// How many nests a normal test run tries.
const CASES: usize = 400;

const LITERALS: [&str; 8] = ["2.0j", "0.0", "1.0", "2.0", "-1.5", "inf", "3", "0"];
/// Those with which float ranges are exact: elements of ranges are rounded once, those of arrays by each function.
const EXACT: [&str; 4] = ["1.0", "2.0", "-1.5", "4"];
const UNARY: [&str; 10] = ["imag", "conj", "neg", "abs", "sin", "cos", "exp", "floor", "not", "isnan"];
const REDUCTIONS: [&str; 6] = ["sum", "any", "all", "argmax", "max", "prod"];
const BINARY: [&str; 11] = ["add", "sub", "mul", "div", "power", "maximum", "lt", "ne", "and", "or", "eq"];

/// Of bools alone, which may be packed.
const LOGIC: ([&str; 2], [&str; 2], [&str; 12]) = (
    ["true", "false"],
    ["not", "abs"],
    ["and", "or", "xor", "eq", "ne", "lt", "le", "gt", "ge", "mul", "maximum", "minimum"],
);

/// A program over lazy arrays, the same one over dense ones, and arguments for both.
struct Case {
    lazy: String,
    dense: String,
    args: Vec<Datum>,
}

fn case(random: &mut Rng) -> Case {
    let n = *random.choice(&[0, 1, 2, 3, 5, 70]).unwrap();
    let (mut params, mut args) = (Vec::new(), Vec::new());
    let logical = random.u8(0..4) == 0;
    for number in 0..random.usize(1..4) {
        let (name, datum) = argument(random, n, logical);
        params.push(format!("%a{number}: {name}"));
        args.push(datum);
    }
    let is_range = |arg: &Datum| arg.as_styled().is_some_and(|styled| styled.style().name() == "range");
    if args.iter().any(is_range) && args.iter().any(|arg| arg.as_scalar().is_some()) {
        return case(random);
    }
    let (literals, unary, binary) = match logical {
        true => (&LOGIC.0[..], &LOGIC.1[..], &LOGIC.2[..]),
        false if args.iter().any(is_range) => (&EXACT[..], &UNARY[..], &BINARY[..]),
        false => (&LITERALS[..], &UNARY[..], &BINARY[..]),
    };
    let (mut values, mut lazy, mut dense) =
        ((0..args.len()).map(|n| format!("%a{n}")).collect::<Vec<_>>(), String::new(), String::new());
    for step in 0..random.usize(1..6) {
        // Late values more often than early ones, so that nests are deep.
        let any = |random: &mut Rng| match random.u8(0..6) {
            0 => random.choice(literals).unwrap().to_string(),
            1 | 2 => random.choice(&values).unwrap().clone(),
            _ => values[values.len() - 1].clone(),
        };
        let (op, operands) = match random.u8(0..8) {
            0..3 => (*random.choice(unary).unwrap(), vec![values[values.len() - 1].clone()]),
            3 => {
                // Of a condition that is no bool the op's own rule makes other literals.
                let tested = any(random);
                let none = literals[literals.len() - 1];
                let _ = writeln!(lazy, "  %c{step} = broadcasted {tested}, {none}, op=\"ne\"");
                let _ = writeln!(dense, "  %c{step} = ne {tested}, {none}");
                ("where", vec![format!("%c{step}"), any(random), any(random)])
            }
            _ => (*random.choice(binary).unwrap(), vec![any(random), any(random)]),
        };
        let list = operands.join(", ");
        let is_finite = |operand: &String| match operand.strip_prefix("%a") {
            Some(number) => {
                !number.parse().is_ok_and(|n: usize| args[n].dtype().is_float() || args[n].dtype().is_complex())
            }
            None => !operand.starts_with('%') && operand != "inf",
        };
        let finite = if operands.iter().all(is_finite) && random.bool() { ", finite=true" } else { "" };
        let _ = writeln!(lazy, "  %{step} = broadcasted {list}, op=\"{op}\"{finite}");
        let _ = writeln!(dense, "  %{step} = {op} {list}");
        values.push(format!("%{step}"));
    }
    let last = &values[values.len() - 1];
    let dense_params: Vec<String> = params.iter().map(|p| p.split(';').next().unwrap().to_string()).collect();
    let dense_params: Vec<String> =
        dense_params.into_iter().map(|p| if p.contains('[') && !p.ends_with(']') { p + "]" } else { p }).collect();
    let (kept, dense_kept) = match random.u8(0..4) {
        0 => {
            let axes = random.choice(&["", ", axes=[-1]", ", axes=[0]", ", axes=[0], keepdims=true"]).unwrap();
            let reduced = format!("{} {last}{axes}", random.choice(&REDUCTIONS).unwrap());
            (reduced.clone(), reduced)
        }
        _ => (format!("materialize {last}"), format!("where true, {last}, {last}")),
    };
    Case {
        lazy: format!("func @f({})RESULT {{\nentry:\n{lazy}  %r = {kept}\n  ret\n}}", params.join(", ")),
        dense: format!("func @f({})RESULT {{\nentry:\n{dense}  %r = {dense_kept}\n  ret\n}}", dense_params.join(", ")),
        args,
    }
}

/// A type and a value of it: of any style, dense, or a scalar.
fn argument(random: &mut Rng, n: usize, logical: bool) -> (String, Datum) {
    let styles: Vec<_> = registry().styles().map(|(style, _)| style).collect();
    let special = [f64::NAN, f64::INFINITY, -0.0];
    let mut element = {
        let mut random = random.fork();
        move |dtype: DType| match random.u8(0..12) {
            0..5 => Scalar::I64(0).cast(dtype),
            5 if dtype.is_float() => Scalar::F64(*random.choice(&special).unwrap()).cast(dtype),
            _ => Scalar::F64(f64::from(random.i8(-40..40)) / 4.0).cast(dtype),
        }
    };
    loop {
        let dtype =
            *random.choice(&[DType::F64, DType::F64, DType::F32, DType::I64, DType::Bool, DType::C128]).unwrap();
        let dtype = if logical { DType::Bool } else { dtype };
        if random.u8(0..8) == 0 {
            return (dtype.to_string(), element(dtype).into());
        }
        let shape: Vec<usize> = match random.u8(0..6) {
            0 => vec![n],
            1 => vec![1, n],
            2 => vec![1, 1],
            _ => vec![n, n],
        };
        let array = Array::from_fn(dtype, &shape, |_| element(dtype)).unwrap();
        let dims: Vec<String> =
            shape.iter().map(|&e| if e == n && n > 1 { "n".into() } else { e.to_string() }).collect();
        let dims: String = dims.join(", ");
        if random.u8(0..4) == 0 {
            return (format!("{dtype}[{dims}]"), array.into());
        }
        let bits = styles.iter().find(|style| style.name == "bits" && logical && random.bool());
        let style = *bits.unwrap_or(random.choice(&styles).unwrap());
        if style.name == "range" && dtype != DType::I64 {
            continue;
        }
        if let Ok(styled) = Styled::of(style, &array).map(Datum::from) {
            let style = if style.name == "dense" { String::new() } else { format!("; {}", style.name) };
            // Tuples say how long they are.
            let dims = if style == "; tuple" { n.to_string() } else { dims };
            return (format!("{dtype}[{dims}{style}]"), styled);
        }
    }
}

fn same(a: &Array, b: &Array) -> bool {
    let parts = |s: Scalar| [s.to_c128().re, s.to_c128().im];
    let one = |(a, b): (f64, f64)| a == b || (a.is_nan() && b.is_nan());
    let alike =
        |(a, b): (Scalar, Scalar)| a == b || (a.dtype() != DType::I64 && parts(a).into_iter().zip(parts(b)).all(one));
    (a.dtype(), a.shape()) == (b.dtype(), b.shape()) && a.iter().zip(b.iter()).all(alike)
}

/// The program, with the last value as its result.
fn typed(text: &str) -> Result<Module, String> {
    let parse = |text: &str| parse_module(text, "case").map_err(|e| e.render(false));
    let module = parse(&text.replace("RESULT", ""))?;
    let func = module.get(Name::new("f")).ok_or("no function")?;
    let mut made = func.blocks().flat_map(|block| func.insts(block)).filter_map(|inst| func.inst(inst).results.first());
    let ty = func.ty(*made.next_back().ok_or("no value")?);
    parse(&text.replace("RESULT", &format!(" -> {ty}")).replace("  ret\n", "  ret %r\n"))
}

/// What became of a case: the style of its result, or nothing if there is no such program.
fn check(case: &Case) -> Result<Option<String>, String> {
    let Ok(dense) = typed(&case.dense) else {
        return match typed(&case.lazy) {
            Err(_) => Ok(None),
            Ok(_) => Err("only the dense program is refused".into()),
        };
    };
    let lazy = typed(&case.lazy)?;
    let copies =
        case.args.iter().map(|arg| if arg.as_scalar().is_some() { arg.clone() } else { arg.to_array().into() });
    let limits = Limits::default();
    // Integers have no negative powers.
    let Ok(wanted) = eval::evaluate(&dense, "f", copies.collect(), limits) else { return Ok(None) };
    let wanted = wanted.results[0].clone();
    let right = |found: &Datum, by: &str| match same(&found.to_array(), &wanted.to_array()) {
        true => Ok(()),
        false => Err(format!("{by} gives {found}, dense copies {wanted}")),
    };
    let found = eval::evaluate(&lazy, "f", case.args.clone(), limits).map_err(|e| format!("reference: {e}"))?;
    right(&found.results[0], "the reference evaluator")?;
    let style = found.results[0].as_styled().map_or("dense".to_string(), |s| s.style().to_string());
    let mut rewritten = lazy.clone();
    Pipeline::parse("default")
        .map_err(|e| e.to_string())?
        .run(&mut rewritten, &Default::default(), &mut NoObserver)
        .map_err(|e| e.to_string())?;
    let args: Vec<Arg<'_>> = case.args.iter().map(Arg::from).collect();
    for backend in Backend::available() {
        let options = Options { backend, ..Options::default() };
        let f = Executable::compile(&rewritten, Name::new("f"), options).map_err(|e| format!("{backend:?}: {e}"))?;
        for _ in 0..4 {
            let results = f.call(&args).map_err(|e| format!("{backend:?}: {e}\n{rewritten}"))?;
            let found: Vec<Datum> = results.iter().cloned().collect();
            right(&found[0], &format!("{backend:?}")).map_err(|e| format!("{e}\n{rewritten}"))?;
        }
    }
    Ok(Some(style))
}

#[test]
fn nests_give_what_dense_copies_give() {
    let cases = std::env::var("REWRIGHT_NESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let mut styles = std::collections::BTreeMap::<String, usize>::new();
    let mut tried = 0;
    let first = std::env::var("REWRIGHT_NESTS_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + cases as u64 * 40 {
        let case = case(&mut Rng::with_seed(seed));
        match check(&case) {
            Ok(None) => {}
            Ok(Some(style)) => {
                *styles.entry(style).or_default() += 1;
                tried += 1;
            }
            Err(why) => panic!("seed {seed}: {why}\n{}\n{:?}", case.lazy, case.args),
        }
        if tried == cases {
            break;
        }
    }
    println!("{styles:?}");
    assert!(tried == cases && styles.len() > 5, "{tried} of {cases}: {styles:?}");
}
