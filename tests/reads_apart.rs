//! Random nodes that read beyond the ends of arrays, at quotients and remainders, or along some of their axes
//! only: the rewrites `reads-in-bounds`, `padded-copies` and `repeated-values` preserve their results, also
//! for empty axes or arrays, positions out of bounds, and unused operands.
//!
//! `REWRIGHT_READS=100000 cargo test --release --test reads_apart` is the full run.

#[path = "support/same.rs"]
mod same;

use fastrand::Rng;
use rewright::ir::{EvalError, eval, parse_module};
use rewright::lowering::exec::{Arg, Backend, Executable, Options};
use rewright::rewrites::{NoObserver, Pipeline};
use rewright::{Array, DType, Datum, Limits, Module, Name, Scalar};
use same::same_datum;

const LIMITS: Limits = Limits { steps: 1 << 22, elements: 1 << 20, bytes: 1 << 28, depth: 64 };
const SYMBOLS: [&str; 3] = ["n", "m", "p"];
const PIPELINES: [&str; 4] = ["reads-in-bounds", "padded-copies", "repeated-values, reads-in-bounds", "default"];

/// A function of some nodes, and arguments.
struct Case {
    text: String,
    args: Vec<Datum>,
}

/// An array that there is: its name and its dims.
type Known = (String, Vec<String>);

fn one_of<'a, T>(rng: &mut Rng, all: &'a [T]) -> &'a T {
    &all[rng.usize(0..all.len())]
}

fn case(rng: &mut Rng) -> Case {
    let dtype = *one_of(rng, &[DType::F64, DType::F32, DType::I64, DType::U8]);
    let extents: Vec<usize> = SYMBOLS.iter().map(|_| *one_of(rng, &[0, 1, 2, 3, 5])).collect();
    let element = |rng: &mut Rng| Scalar::F64(f64::from(rng.u32(0..9)) / 2.0).cast(dtype);
    let sizes = Array::from_fn(DType::Bool, &extents, |_| Scalar::Bool(false)).expect("it is small");
    let (mut params, mut args) = (vec![format!("%s: bool[{}]", SYMBOLS.join(", "))], vec![Datum::Array(sizes)]);
    let mut known: Vec<Known> = Vec::new();
    for k in 0..rng.usize(1..=3) {
        let (mut dims, mut shape) = (Vec::new(), Vec::new());
        for _ in 0..rng.usize(1..=2) {
            let (dim, extent) = match rng.u8(0..6) {
                0 => ("1".to_string(), 1),
                1 => ("3".to_string(), 3),
                2 => ("?".to_string(), rng.usize(0..5)),
                _ => {
                    let at = rng.usize(0..SYMBOLS.len());
                    (SYMBOLS[at].to_string(), extents[at])
                }
            };
            dims.push(dim);
            shape.push(extent);
        }
        params.push(format!("%a{k}: {dtype}[{}]", dims.join(", ")));
        args.push(Array::from_fn(dtype, &shape, |_| element(rng)).expect("it is small").into());
        known.push((format!("%a{k}"), dims));
    }
    let (mut lines, mut results) = (String::new(), Vec::new());
    for k in 0..rng.usize(1..=2) {
        let (node, result) = node(rng, dtype, &known, k);
        lines += &node;
        known.push(result.clone());
        results.push(result);
    }
    let types: Vec<String> = results.iter().map(|(_, dims)| format!("{dtype}[{}]", dims.join(", "))).collect();
    let names: Vec<&str> = results.iter().map(|(name, _)| name.as_str()).collect();
    let (params, types, names) = (params.join(", "), types.join(", "), names.join(", "));
    Case { text: format!("func @f({params}) -> {types} {{\nentry:\n{lines}  ret {names}\n}}"), args }
}

/// A node of one result, or of a sum along its last axis.
fn node(rng: &mut Rng, dtype: DType, known: &[Known], number: usize) -> (String, Known) {
    let mut extents: Vec<String> = SYMBOLS.map(String::from).to_vec();
    rng.shuffle(&mut extents);
    extents.truncate(rng.usize(1..=3));
    if rng.u8(0..3) == 0 {
        extents[0] = one_of(rng, &["2", "1", "0"]).to_string();
    }
    let axes = &["i", "j", "k"][..extents.len()];
    let reduces = axes.len() > 1 && rng.u8(0..3) == 0;
    let last = axes.len() - 1;
    let axis = |(at, name): (usize, &&str)| {
        format!("{name}: {}{}", if reduces && at == last { "reduce " } else { "" }, extents[at])
    };
    let declared: Vec<String> = axes.iter().enumerate().map(axis).collect();
    let mut values: Vec<String> = Vec::new();
    let mut operands = Vec::new();
    for o in 0..rng.usize(1..=3) {
        let (name, dims) = one_of(rng, known);
        let at: Vec<String> = dims.iter().map(|dim| position(rng, dtype, dim, axes, &extents)).collect();
        operands.push(format!("o{o} = {name}[{}]", at.join(", ")));
        values.push(format!("o{o}"));
    }
    let mut body = String::new();
    for t in 0..rng.usize(0..5) {
        let (x, y) = (one_of(rng, &values), one_of(rng, &values));
        let line = match rng.u8(0..5) {
            0 if dtype.is_float() => format!("exp {x}"),
            1 if dtype.is_float() => format!("div {x}, {y}"),
            0 | 1 => format!("floordiv {x}, {y}"),
            2 => format!("cast {}, to={dtype}", one_of(rng, axes)),
            3 => format!("mul {x}, {y}"),
            _ => format!("sub {x}, {y}"),
        };
        body += &format!("    t{t} = {line}\n");
        values.push(format!("t{t}"));
    }
    let value = if rng.u8(0..4) == 0 { one_of(rng, &values).clone() } else { values[values.len() - 1].clone() };
    let dims = extents[..if reduces { last } else { axes.len() }].to_vec();
    let sum = if reduces { format!(" reduce (sum {dtype})") } else { String::new() };
    let (head, ty) = (format!("%r{number} = arrayexpr [{}]", declared.join(", ")), dims.join(", "));
    let text = format!("  {head} ({}) {{\n{body}    yield {value}\n  }}{sum} : {dtype}[{ty}]\n", operands.join(", "));
    (text, (format!("%r{number}"), dims))
}

/// Where a dim is read.
fn position(rng: &mut Rng, dtype: DType, dim: &str, axes: &[&str], extents: &[String]) -> String {
    if let Some(at) = extents.iter().position(|extent| extent == dim).filter(|_| rng.bool()) {
        return match rng.u8(0..4) {
            0 => format!("wrap({})", axes[at]),
            1 => format!("clamp({})", axes[at]),
            _ => axes[at].into(),
        };
    }
    let mut form = one_of(rng, axes).to_string();
    match rng.u8(0..6) {
        0 => form = format!("{form} - {}", one_of(rng, axes)),
        1 => form = format!("{}*{form} + {}", rng.u8(2..4), rng.u8(0..3)),
        2 => form = format!("{form} - {}", rng.u8(1..4)),
        3 => form = rng.u8(0..4).to_string(),
        4 => form = format!("{form} + {}", one_of(rng, &SYMBOLS)),
        _ => {}
    }
    let form = match rng.u8(0..6) {
        0 => format!("({form}) // {}", rng.u8(1..4)),
        1 => format!("({form}) % {}", rng.u8(1..4)),
        _ => form,
    };
    match rng.u8(0..12) {
        0 => format!("check({form})"),
        10.. => form,
        1..4 => format!("wrap({form})"),
        4..7 => format!("clamp({form})"),
        _ => format!("pad({form}, {})", if dtype.is_float() { "2.5" } else { "7" }),
    }
}

fn evaluate(module: &Module, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    eval::evaluate(module, Name::new("f"), args.to_vec(), LIMITS).map(|outcome| outcome.results)
}

fn same(a: &[Datum], b: &[Datum]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_datum(a, b))
}

#[test]
fn extracted_reads_keep_results() {
    let cases = std::env::var("REWRIGHT_READS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_500);
    let (mut changed, mut with_results) = (0, 0);
    for number in 0..cases {
        let mut rng = Rng::with_seed(number);
        let Case { text, args } = case(&mut rng);
        let module = parse_module(&text, "random").unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
        let wanted = evaluate(&module, &args);
        let mut rewritten = module.clone();
        let pipeline = Pipeline::parse(PIPELINES[rng.usize(0..PIPELINES.len())]).expect("it is known");
        pipeline
            .run(&mut rewritten, &Default::default(), &mut NoObserver)
            .unwrap_or_else(|e| panic!("case {number}: {e}\n{text}"));
        changed += u64::from(rewritten.to_string() != module.to_string());
        with_results += u64::from(wanted.is_ok());
        let told = || format!("case {number} ({pipeline:?})\n{text}\n{rewritten}\n{args:?}");
        let after = evaluate(&rewritten, &args);
        if let Ok(wanted) = &wanted {
            let found = after.as_ref().unwrap_or_else(|e| panic!("{e}\n{}", told()));
            assert!(same(wanted, found), "{wanted:?}\n{found:?}\n{}", told());
        }
        let f = Executable::compile(
            &rewritten,
            "f",
            Options { backend: Backend::Auto, limits: LIMITS, ..Options::default() },
        )
        .unwrap_or_else(|e| panic!("{e}\n{}", told()));
        let given: Vec<Arg<'_>> = args.iter().map(Arg::from).collect();
        match (&after, f.call(&given)) {
            (Ok(wanted), Ok(found)) => assert!(same(wanted, &found), "{wanted:?}\n{found:?}\n{}", told()),
            (Err(wanted), Err(found)) => assert_eq!(wanted.kind, found.kind, "{wanted}\n{found}\n{}", told()),
            (wanted, found) => panic!("{wanted:?}\n{found:?}\n{}", told()),
        }
    }
    assert!(changed > cases / 4 && with_results > cases / 2, "{changed} were rewritten, {with_results} had results");
    println!("{cases} nodes agree: {changed} were rewritten, {with_results} had results");
}
