//! Fuzzes nests of lazy functions over arrays of every style, and over views: results must equal those of
//! dense operands. Many cases store to arrays that they read, whole or in part, directly or through a
//! view. Others write results to buffers that overlap their operands.
//!
//! `REWRIGHT_NESTS=100000 cargo test --release -p rewright-broadcast --test all nests::` is the full run.
//! `REWRIGHT_NESTS_SEED` is the first seed.

#![allow(unsafe_code, reason = "buffers that overlap arguments are made from raw parts")]

use fastrand::Rng;
use rewright::ir::{StyleDef, Styled, eval, parse_module};
use rewright::lowering::exec::{Arg, Backend, Executable, Options, ViewMut};
use rewright::ndarray::{ArrayViewD, Axis, ShapeBuilder};
use rewright::rewrites::{NoObserver, Pipeline};
use rewright::{Array, Complex64, DType, Datum, Dim, Limits, Module, Name, Scalar, Type, registry};
use rewright_broadcast::interfaces::Pattern;
use std::fmt::Write;

/// The number of nests in a normal run.
const CASES: usize = 400;

const LITERALS: [&str; 9] = ["2.0j", "0.0", "1.0", "2.0", "-1.5", "inf", "NaN", "3", "0"];
/// Literals for cases with float ranges, for which results are exact: an element of a range is rounded
/// once, an element of an array after each function.
const EXACT: [&str; 8] = ["2.0j", "0.0", "1.0", "2.0", "inf", "NaN", "4", "0"];
const UNARY: [&str; 12] =
    ["imag", "conj", "neg", "abs", "sin", "cos", "exp", "log", "floor", "not", "isnan", "integer_power"];
const VIEWS: [&str; 4] = ["transpose ", "flip ", "flip , axes=[0]", "slice , at=[::-1]"];
/// Pairs of slices of equal length.
const PARTS: [[&str; 2]; 4] = [["[:-1]", "[1:]"], ["[1:]", "[:-1]"], ["[:-1]", "[-2::-1]"], ["[:1]", "[-1:]"]];
const REDUCTIONS: [&str; 6] = ["sum", "any", "all", "argmax", "max", "prod"];
const BINARY: [&str; 14] =
    ["add", "sub", "mul", "mul", "div", "power", "maximum", "atan2", "lt", "ne", "and", "or", "eq", "ldexp"];
/// Functions, unary and binary, for cases with float ranges: none distinguishes the zeros. The sign of a
/// zero in a float range is that of a sum.
const BLIND: (&[&str], &[&str]) = (
    &["imag", "conj", "neg", "abs", "sin", "cos", "exp", "floor", "not", "isnan"],
    &["add", "add", "sub", "mul", "div", "maximum", "lt", "ne", "and", "or", "eq"],
);
/// Functions of scalars: the name, the body, and the value at zero.
const FUNCTIONS: [(&str, &str, &str); 3] =
    [("twice", "mul %x, 2.0", "0.0"), ("cosine", "cos %x", "1.0"), ("next", "add %x, 1.0", "1.0")];

/// Literals, unary and binary ops for cases of bools only, which may be packed.
const LOGIC: ([&str; 2], [&str; 2], [&str; 12]) = (
    ["true", "false"],
    ["not", "abs"],
    ["and", "or", "xor", "eq", "ne", "lt", "le", "gt", "ge", "mul", "maximum", "minimum"],
);

/// A program over lazy arrays, the equivalent one over dense arrays, and arguments for both.
struct Case {
    lazy: String,
    dense: String,
    args: Vec<Datum>,
    /// The parameters that the program stores to.
    stored: Vec<usize>,
}

/// The instructions of both programs.
struct Body {
    lazy: String,
    dense: String,
    /// Values that later steps may use.
    values: Vec<String>,
    steps: usize,
    stored: Vec<usize>,
}

impl Body {
    /// Adds an instruction to both programs, and returns the name of its value.
    fn both(&mut self, text: &str) -> String {
        self.each(text, text)
    }

    fn each(&mut self, lazy: &str, dense: &str) -> String {
        self.steps += 1;
        let name = format!("%{}", self.steps - 1);
        let _ = writeln!(self.lazy, "  {name} = {lazy}");
        let _ = writeln!(self.dense, "  {name} = {dense}");
        name
    }

    /// Materializes a value in the lazy program. In the dense program, `where` copies it.
    fn forced(&mut self, value: &str) -> String {
        self.each(&format!("materialize {value}"), &format!("where true, {value}, {value}"))
    }

    fn store(&mut self, to: usize, value: &str) {
        for text in [&mut self.lazy, &mut self.dense] {
            let _ = writeln!(text, "  store %a{to}, {value}");
        }
        if !self.stored.contains(&to) {
            self.stored.push(to);
        }
    }
}

fn case(random: &mut Rng) -> Case {
    if random.u8(0..8) == 0 {
        return product(random);
    }
    let n = *random.choice(&[0, 1, 2, 3, 5, 70]).unwrap();
    let (mut params, mut args) = (Vec::new(), Vec::new());
    let logical = random.u8(0..4) == 0;
    let is_sparse = !logical && random.u8(0..6) == 0;
    for number in 0..random.usize(1..4) {
        let (name, datum) = argument(random, n, logical, is_sparse);
        params.push(format!("%a{number}: {name}"));
        args.push(datum);
    }
    let of_floats =
        |arg: &Datum| arg.as_styled().is_some_and(|styled| styled.style().name() == "range") && arg.dtype().is_float();
    let has_floats = args.iter().any(of_floats);
    // A scalar argument may be infinite, which float ranges refuse.
    if has_floats && args.iter().any(|arg| arg.as_scalar().is_some()) {
        return case(random);
    }
    let (literals, unary, binary) = match logical {
        true => (&LOGIC.0[..], &LOGIC.1[..], &LOGIC.2[..]),
        false if has_floats => (&EXACT[..], BLIND.0, BLIND.1),
        false => (&LITERALS[..], &UNARY[..], &BINARY[..]),
    };
    let arrays: Vec<usize> =
        (0..args.len()).filter(|&arg| matches!(args[arg], Datum::Array(_)) && !args[arg].shape().is_empty()).collect();
    let has_stores = random.u8(0..3) > 0 && !arrays.is_empty();
    let values = (0..args.len()).map(|n| format!("%a{n}")).collect();
    let mut body = Body { lazy: String::new(), dense: String::new(), values, steps: 0, stored: Vec::new() };
    for _ in 0..random.usize(1..6) {
        if !arrays.is_empty() && random.u8(0..3) == 0 {
            let view = random.choice(&VIEWS).unwrap().replace(' ', &format!(" %a{}", random.choice(&arrays).unwrap()));
            let view = body.both(&view.replacen("%", " %", 1).replace("  ", " "));
            body.values.push(view);
        }
        let as_given = if has_stores { &[][..] } else { &args[..] };
        function(random, (&args, as_given), (literals, unary, binary), has_floats, &mut body);
        if has_stores && random.bool() {
            let to = *random.choice(&arrays).unwrap();
            match random.u8(0..3) {
                // Stores a function of one part of the array to another part.
                0 => {
                    let [from, into] = random.choice(&PARTS).unwrap();
                    let part = body.both(&format!("slice %a{to}, at={from}"));
                    let other = random.choice(&[&part, "2.0", "1"]).unwrap().to_string();
                    let op = random.choice(binary).unwrap();
                    let computed = body
                        .each(&format!("broadcasted {other}, {part}, op=\"{op}\""), &format!("{op} {other}, {part}"));
                    let forced = body.forced(&computed);
                    let updated = body.both(&format!("update %a{to}, {forced}, at={into}"));
                    body.store(to, &updated);
                }
                _ => body.store(to, &body.values[body.values.len() - 1].clone()),
            }
        }
    }
    let last = body.values[body.values.len() - 1].clone();
    let last = match random.u8(0..4) {
        0 => {
            let axes = random.choice(&["", ", axes=[-1]", ", axes=[0]", ", axes=[0], keepdims=true"]).unwrap();
            body.both(&format!("{} {last}{axes}", random.choice(&REDUCTIONS).unwrap()))
        }
        _ => body.forced(&last),
    };
    let dense_params: Vec<String> = params.iter().map(|p| p.split(';').next().unwrap().to_string()).collect();
    let dense_params: Vec<String> =
        dense_params.into_iter().map(|p| if p.contains('[') && !p.ends_with(']') { p + "]" } else { p }).collect();
    let stored: String = body.stored.iter().map(|to| format!(", %a{to}")).collect();
    let functions: String = FUNCTIONS
        .iter()
        .map(|(name, computes, _)| {
            format!("func @{name}(%x: f64) -> f64 {{\nentry:\n  %0 = {computes}\n  ret %0\n}}\n\n")
        })
        .collect();
    let program = |params: &[String], body: &str| {
        format!("{functions}func @f({})RESULT {{\nentry:\n{body}  ret {last}{stored}\n}}", params.join(", "))
    };
    Case { lazy: program(&params, &body.lazy), dense: program(&dense_params, &body.dense), args, stored: body.stored }
}

/// Functions before and after a product of sparse vectors. The product is evaluated at the intersection
/// of the patterns if zeros absorb and no later function observes the sign of a zero.
fn product(random: &mut Rng) -> Case {
    let n = random.usize(1..9);
    let mut sparse = || loop {
        let (name, datum) = argument(random, n, false, true);
        if name.ends_with("; sparse]") && datum.shape() == [n] {
            return (name, datum);
        }
    };
    let (params, args): (Vec<String>, Vec<Datum>) = [sparse(), sparse()].into_iter().unzip();
    let dims = if n > 1 { "n".to_string() } else { n.to_string() };
    let dense = args.iter().map(|arg| format!("{}[{dims}]", arg.dtype()));
    let mut body = Body { lazy: String::new(), dense: String::new(), values: Vec::new(), steps: 0, stored: Vec::new() };
    let mut apply =
        |op: &str, list: &str| body.each(&format!("broadcasted {list}, op=\"{op}\""), &format!("{op} {list}"));
    let before = random.choice(&["abs", "abs", "abs", "neg", "conj", "real", "pos", "sin"]).unwrap();
    let after = random.choice(&["log", "rsqrt", "pos", "exp", "neg", "conj", "sqrt", "log2"]).unwrap();
    let factor = apply(before, "%a0");
    let product = apply("mul", &format!("{factor}, %a1"));
    let last = apply(after, &product);
    let last = body.forced(&last);
    let program = |types: &[String], body: &str| {
        format!("func @f(%a0: {}, %a1: {})RESULT {{\nentry:\n{body}  ret {last}\n}}", types[0], types[1])
    };
    let (lazy, dense) = (program(&params, &body.lazy), program(&dense.collect::<Vec<_>>(), &body.dense));
    Case { lazy, dense, args, stored: Vec::new() }
}

/// Applies a function to existing values. Recent values are more likely, so that nests are deep. The
/// elements of arguments in `as_given` are those of the call, as no store changes them.
fn function(
    random: &mut Rng,
    (args, as_given): (&[Datum], &[Datum]),
    (literals, unary, binary): (&[&str], &[&str], &[&str]),
    of_float_ranges: bool,
    body: &mut Body,
) {
    let values = body.values.clone();
    let any = |random: &mut Rng| match random.u8(0..6) {
        0 => random.choice(literals).unwrap().to_string(),
        1 | 2 => random.choice(&values).unwrap().clone(),
        _ => values[values.len() - 1].clone(),
    };
    let latest = values[values.len() - 1].clone();
    let is_bools = literals == &LOGIC.0[..];
    let (op, operands) = match random.u8(0..9) {
        0..3 => (*random.choice(unary).unwrap(), vec![latest]),
        3 => ("where", vec![any(random), any(random), any(random)]),
        4 if !is_bools => {
            let (name, _, zero) = random.choice(&FUNCTIONS).unwrap();
            let zero = if random.u8(0..4) > 0 { format!(", zero={zero}:f64") } else { String::new() };
            let value = body.each(&format!("broadcasted @{name}({latest}){zero}"), &format!("ufunc @{name}({latest})"));
            return body.values.push(value);
        }
        _ => {
            let op = *random.choice(binary).unwrap();
            let second = match op {
                "div" if of_float_ranges => random.choice(literals).unwrap().to_string(),
                "ldexp" => random.choice(&["3", "0", "-1"]).unwrap().to_string(),
                _ => any(random),
            };
            (op, vec![any(random), second])
        }
    };
    let list = operands.join(", ");
    let arg_of = |operand: &str| operand.strip_prefix("%a").and_then(|number| number.parse::<usize>().ok());
    let is_exact = |operand: &String| match arg_of(operand) {
        Some(n) => !args[n].dtype().is_float() && !args[n].dtype().is_complex(),
        None => !operand.starts_with('%') && !["inf", "NaN"].contains(&operand.as_str()),
    };
    let parts = |s: Scalar| [s.to_c128().re, s.to_c128().im];
    let is_finite = |operand: &String| match arg_of(operand).and_then(|n| as_given.get(n)) {
        Some(arg) => arg.to_array().iter().all(|element| parts(element).into_iter().all(f64::is_finite)),
        None => is_exact(operand),
    };
    let attrs = if op == "integer_power" { ", n=2" } else { "" };
    let finite = if operands.iter().all(is_finite) && random.bool() { ", finite=true" } else { "" };
    let value = body.each(&format!("broadcasted {list}, op=\"{op}\"{attrs}{finite}"), &format!("{op} {list}{attrs}"));
    let is_absorbed = !finite.is_empty() && op == "mul" && !operands.iter().all(is_exact);
    let value = match is_absorbed {
        // An absorbed product has positive zeros. Adding 0 makes those of the dense program positive,
        // too.
        true => body.each(&format!("broadcasted {value}, 0, op=\"add\""), &format!("add {value}, 0")),
        false => value,
    };
    body.values.push(value);
}

/// A range of any numeric dtype. Ranges of integers may wrap. Ranges of floats stay exact in all results.
fn range(random: &mut Rng, style: &'static StyleDef, n: usize) -> (DType, Datum) {
    let integers =
        [DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::I64, DType::U64];
    if random.u8(0..4) == 0 {
        let [start, step] = [random.i8(-20..20), random.i8(-8..8)].map(|number| f64::from(number) / 4.0);
        let elements = Array::from_fn(DType::F64, &[n], |i| Scalar::F64(start + i as f64 * step)).unwrap();
        return (DType::F64, Styled::of(style, &elements).unwrap().into());
    }
    let dtype = *random.choice(&integers).unwrap();
    let mut number = || match random.u8(0..3) {
        0 => i64::from(random.i8(-3..4)),
        1 => i64::from(random.i8(..)),
        _ => random.i64(..),
    };
    let (start, step) = (number(), number());
    let element = |i: usize| match start.wrapping_add(step.wrapping_mul(i as i64)) {
        wrapped if dtype.is_signed() => Scalar::I64(wrapped).cast(dtype),
        wrapped => Scalar::U64(wrapped as u64).cast(dtype),
    };
    (dtype, Styled::of(style, &Array::from_fn(dtype, &[n], element).unwrap()).unwrap().into())
}

/// A type and a value of it: styled, dense, or a scalar.
fn argument(random: &mut Rng, n: usize, logical: bool, is_sparse: bool) -> (String, Datum) {
    let styles: Vec<_> = registry().styles().map(|(style, _)| style).collect();
    let special = [f64::NAN, f64::INFINITY, -0.0, 1.5e308];
    let mut element = {
        let mut random = random.fork();
        move |dtype: DType| match random.u8(0..12) {
            0..5 => Scalar::I64(0).cast(dtype),
            // The absolute value overflows although both parts are finite.
            5 if dtype.is_complex() && random.bool() => Scalar::C128(Complex64::new(1.5e308, -1.5e308)).cast(dtype),
            5 if dtype.is_complex() => {
                let mut part = || *random.choice(&[0.0, 1.0, 1.5e308, -0.0, f64::INFINITY, f64::NAN]).unwrap();
                Scalar::C128(Complex64::new(part(), part())).cast(dtype)
            }
            5 if dtype.is_float() => Scalar::F64(*random.choice(&special).unwrap()).cast(dtype),
            _ => Scalar::F64(f64::from(random.i8(-40..40)) / 4.0).cast(dtype),
        }
    };
    loop {
        let dtype = *random
            .choice(&[DType::F64, DType::F64, DType::F64, DType::F32, DType::I64, DType::Bool, DType::C128])
            .unwrap();
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
        let is_range = |style: &&&'static StyleDef| style.name == "range" && !logical && !is_sparse;
        if let Some(style) = styles.iter().find(is_range).filter(|_| shape == [n] && random.bool()) {
            let (dtype, datum) = range(random, style, n);
            let n = if n > 1 { "n".to_string() } else { n.to_string() };
            return (format!("{dtype}[{n}; range]"), datum);
        }
        let array = Array::from_fn(dtype, &shape, |_| element(dtype)).unwrap();
        let dims: Vec<String> =
            shape.iter().map(|&e| if e == n && n > 1 { "n".into() } else { e.to_string() }).collect();
        let dims: String = dims.join(", ");
        if random.u8(0..if is_sparse { 12 } else { 4 }) == 0 {
            return (format!("{dtype}[{dims}]"), array.into());
        }
        let bits = styles.iter().find(|style| style.name == "bits" && logical && random.bool());
        let has_pattern = |style: &&&'static StyleDef| is_sparse && style.interface::<Pattern>().is_some();
        let sparse = styles.iter().filter(has_pattern).find(|style| (style.components)(&of_rank(shape.len())).is_ok());
        let style = *bits.or(sparse).unwrap_or(random.choice(&styles).unwrap());
        if style.name == "range" {
            continue;
        }
        if let Ok(styled) = Styled::of(style, &array).map(Datum::from) {
            let style = if style.name == "dense" { String::new() } else { format!("; {}", style.name) };
            // The extent of a tuple is static.
            let dims = if style == "; tuple" { n.to_string() } else { dims };
            return (format!("{dtype}[{dims}{style}]"), styled);
        }
    }
}

fn of_rank(rank: usize) -> Type {
    Type::array(DType::F64, vec![Dim::Any; rank])
}

fn same(a: &Array, b: &Array) -> bool {
    let parts = |s: Scalar| [s.to_c128().re, s.to_c128().im];
    let one = |(a, b): (f64, f64)| a == b || (a.is_nan() && b.is_nan());
    let alike =
        |(a, b): (Scalar, Scalar)| a == b || (a.dtype() != DType::I64 && parts(a).into_iter().zip(parts(b)).all(one));
    (a.dtype(), a.shape()) == (b.dtype(), b.shape()) && a.iter().zip(b.iter()).all(alike)
}

/// The program with the inferred types of its results.
fn typed(text: &str) -> Result<Module, String> {
    let parse = |text: &str| parse_module(text, "case").map_err(|e| e.render(false));
    let (start, returned) = text.rsplit_once("  ret ").ok_or("no results")?;
    let returned: Vec<&str> = returned.trim_end_matches("\n}").split(", ").collect();
    let module = parse(&format!("{}  ret\n}}", start.replace("RESULT", "")))?;
    let func = module.get(Name::new("f")).ok_or("no function")?;
    let mut made = func.blocks().flat_map(|block| func.insts(block)).filter_map(|inst| func.inst(inst).results.first());
    let last = func.ty(*made.next_back().ok_or("no value")?).to_string();
    let types = returned.iter().map(|value| match value.strip_prefix("%a").map(str::parse::<usize>) {
        Some(Ok(param)) => func.ty(func.params()[param]).to_string(),
        _ => last.clone(),
    });
    parse(&text.replace("RESULT", &format!(" -> {}", types.collect::<Vec<_>>().join(", "))))
}

/// Facts of a case that agreed: the style of its result, and whether a buffer that overlaps the operands
/// was tested.
type Agreed = (String, bool);

/// Runs a case; `None` if the program does not type-check or has no result.
fn check(case: &Case, random: &mut Rng) -> Result<Option<Agreed>, String> {
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
    // Such as negative powers of integers.
    let Ok(wanted) = eval::evaluate(&dense, "f", copies.collect(), limits) else { return Ok(None) };
    let wanted = wanted.results;
    let right = |found: &[Datum], by: &str| {
        for (found, wanted) in found.iter().zip(&wanted) {
            if !same(&found.to_array(), &wanted.to_array()) {
                return Err(format!("{by} gives {found}, dense copies {wanted}"));
            }
        }
        Ok(())
    };
    let found = eval::evaluate(&lazy, "f", case.args.clone(), limits).map_err(|e| format!("reference: {e}"))?;
    right(&found.results, "the reference evaluator")?;
    let style = found.results[0].as_styled().map_or("dense".to_string(), |s| s.style().to_string());
    let mut rewritten = lazy.clone();
    Pipeline::parse("default")
        .map_err(|e| e.to_string())?
        .run(&mut rewritten, &Default::default(), &mut NoObserver)
        .map_err(|e| e.to_string())?;
    let args: Vec<Arg<'_>> = case.args.iter().map(Arg::from).collect();
    let is_dense = matches!(found.results[0], Datum::Array(_));
    let overlap = Overlap::of(case, &dense, random).filter(|_| is_dense);
    for backend in Backend::available() {
        let failed = |e: String| format!("{backend:?}: {e}\n{rewritten}");
        let options = Options { backend, ..Options::default() };
        let f = Executable::compile(&rewritten, Name::new("f"), options).map_err(|e| failed(e.to_string()))?;
        for _ in 0..4 {
            let results = f.call(&args).map_err(|e| failed(e.to_string()))?;
            right(&results.iter().cloned().collect::<Vec<_>>(), "a call").map_err(failed)?;
        }
        if !case.stored.is_empty() {
            // Each argument owns its buffer, so stores happen in place.
            let own = |arg: &Datum| match arg {
                Datum::Array(array) => Array::from_fn(array.dtype(), array.shape(), |at| array.iter().nth(at).unwrap())
                    .map_or_else(|| arg.clone(), Datum::from),
                other => other.clone(),
            };
            let mut args: Vec<Datum> = case.args.iter().map(own).collect();
            f.call_mut(&mut args).map_err(|e| failed(e.to_string()))?;
            let left: Vec<Datum> =
                [wanted[0].clone()].into_iter().chain(case.stored.iter().map(|&to| args[to].clone())).collect();
            right(&left, "the value left in an argument").map_err(failed)?;
        }
        if let Some(overlap) = &overlap {
            overlap.check(&f).map_err(failed)?;
        }
    }
    Ok(Some((style, overlap.is_some())))
}

/// The layout of an array in memory that it shares with others.
#[derive(Clone, Debug)]
struct Where {
    offset: usize,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

impl Where {
    /// A random layout: any axis order, contiguous or not, without two elements at one address.
    fn any(random: &mut Rng, shape: &[usize]) -> Where {
        let step = random.usize(1..3);
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        random.shuffle(&mut axes);
        let (mut strides, mut next) = (vec![0; shape.len()], step);
        for axis in axes {
            strides[axis] = next as isize;
            next *= shape[axis].max(1);
        }
        let mut offset = random.usize(0..4);
        for (stride, &extent) in strides.iter_mut().zip(shape) {
            if random.u8(0..3) == 0 {
                offset += *stride as usize * extent.saturating_sub(1);
                *stride = -*stride;
            }
        }
        Where { offset, shape: shape.to_vec(), strides }
    }

    /// The offsets of the elements, in order.
    fn places(&self) -> Vec<usize> {
        let count: usize = self.shape.iter().product();
        let place = |mut n: usize| {
            let mut at = self.offset as isize;
            for (&extent, stride) in self.shape.iter().zip(&self.strides).rev() {
                at += (n % extent) as isize * stride;
                n /= extent;
            }
            at as usize
        };
        (0..count).map(place).collect()
    }

    fn array(&self, memory: &[f64]) -> Option<Array> {
        let places = self.places();
        Array::from_fn(DType::F64, &self.shape, |n| Scalar::F64(memory[places[n]]))
    }

    /// # Safety
    ///
    /// All elements lie in memory that begins at `start`, and nothing else writes to it during the
    /// lifetime of the view.
    unsafe fn view<'a>(&self, start: *const f64) -> ArrayViewD<'a, f64> {
        let back = |(&stride, &extent): (&isize, &usize)| stride.min(0).unsigned_abs() * extent.saturating_sub(1);
        let first = self.offset - self.strides.iter().zip(&self.shape).map(back).sum::<usize>();
        let strides: Vec<usize> = self.strides.iter().map(|stride| stride.unsigned_abs()).collect();
        // SAFETY: as the caller says.
        let mut view = unsafe { ArrayViewD::from_shape_ptr(self.shape.clone().strides(strides), start.add(first)) };
        for axis in (0..self.shape.len()).filter(|&axis| self.strides[axis] < 0) {
            view.invert_axis(Axis(axis));
        }
        view
    }
}

/// The arguments and the result of a case in one block of memory.
struct Overlap {
    memory: Vec<f64>,
    /// The layouts of the float arguments in `memory`.
    args: Vec<Option<Where>>,
    others: Vec<Datum>,
    result: Where,
    wanted: Array,
}

impl Overlap {
    /// `None` unless the only result is a float array and at least one argument is one, too.
    fn of(case: &Case, dense: &Module, random: &mut Rng) -> Option<Overlap> {
        let floats = |arg: &Datum| matches!(arg, Datum::Array(Array::F64(array)) if array.ndim() > 0);
        if !case.stored.is_empty() || !case.args.iter().any(floats) {
            return None;
        }
        let place = |arg: &Datum| floats(arg).then(|| Where::any(&mut random.fork(), arg.shape()));
        let args: Vec<Option<Where>> = case.args.iter().map(place).collect();
        let extent = case.args.iter().flat_map(|arg| arg.shape()).max()?;
        let memory: Vec<f64> = (0..2 * extent * extent + 8).map(|_| f64::from(random.i8(-40..40)) / 4.0).collect();
        let known = |(arg, at): (&Datum, &Option<Where>)| match at {
            Some(at) => at.array(&memory).map(Datum::from),
            None if arg.as_scalar().is_some() => Some(arg.clone()),
            None => Some(arg.to_array().into()),
        };
        let copies = case.args.iter().zip(&args).map(known).collect::<Option<Vec<_>>>()?;
        let wanted = eval::evaluate(dense, "f", copies, Limits::default()).ok()?.results.swap_remove(0);
        let Datum::Array(wanted @ Array::F64(_)) = wanted else { return None };
        let result = Where::any(random, wanted.shape());
        Some(Overlap { memory, args, others: case.args.clone(), result, wanted })
    }

    fn check(&self, f: &Executable) -> Result<(), String> {
        let mut memory = self.memory.clone();
        let start = memory.as_mut_ptr();
        let arg = |(at, other)| match at {
            // SAFETY: the view lies inside of `memory`, which nothing else touches until the call has
            // ended.
            Some(at) => unsafe { Where::view(at, start) }.into(),
            None => Arg::from(other),
        };
        let args: Vec<Arg<'_>> = self.args.iter().map(Option::as_ref).zip(&self.others).map(arg).collect();
        let bytes: Vec<isize> = self.result.strides.iter().map(|stride| stride * 8).collect();
        // SAFETY: as above; no two elements are in one place.
        let into =
            unsafe { ViewMut::from_raw(DType::F64, start.add(self.result.offset).cast(), &self.result.shape, &bytes) };
        f.call_into(&args, &mut [into]).map_err(|e| e.to_string())?;
        let found = self.result.array(&memory).ok_or("too large")?;
        match same(&found, &self.wanted) {
            true => Ok(()),
            false => {
                Err(format!("{found} is at {:?}, dense copies give {}; {:?}", self.result, self.wanted, self.args))
            }
        }
    }
}

#[test]
fn nests_give_what_dense_copies_give() {
    let cases = std::env::var("REWRIGHT_NESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let mut styles = std::collections::BTreeMap::<String, usize>::new();
    let (mut tried, mut stored, mut overlapping) = (0, 0, 0);
    let mut seen = ["; range]", "zero=", "finite=true", "ldexp", "\"where\"", "\"log\""].map(|text| (text, 0));
    let first = std::env::var("REWRIGHT_NESTS_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + cases as u64 * 40 {
        let case = case(&mut Rng::with_seed(seed));
        match check(&case, &mut Rng::with_seed(seed)) {
            Ok(None) => {}
            Ok(Some((style, overlaps))) => {
                *styles.entry(style).or_default() += 1;
                tried += 1;
                stored += usize::from(!case.stored.is_empty());
                overlapping += usize::from(overlaps);
                seen.iter_mut().for_each(|(text, count)| *count += usize::from(case.lazy.contains(*text)));
            }
            Err(why) => panic!("seed {seed}: {why}\n{}\n{:?}", case.lazy, case.args),
        }
        if tried == cases {
            break;
        }
    }
    println!("{styles:?}; {stored} store to what they read; {overlapping} have results among their operands; {seen:?}");
    assert!(tried == cases && styles.len() > 5, "{tried} of {cases}: {styles:?}");
    assert!(seen.iter().all(|(_, count)| *count > cases / 80), "{seen:?}");
    assert!(stored.min(overlapping) > cases / 80, "{stored} stores, {overlapping} results among operands");
}
