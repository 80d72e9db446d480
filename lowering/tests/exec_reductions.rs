//! Reductions by kernels against the reference evaluator, bit for bit: every op and dtype, shapes around the sizes at which the order of
//! combination changes, any axes, views of any strides, and work fused before and after.

use crate::support::bits::bits;
use rewright_ir::expr::Monoid;
use rewright_ir::text::parse_module;
use rewright_ir::{Array, DType, Datum, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable, Options, Results};

const OPS: [&str; 8] = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"];

/// Extents at which lanes, leaves and parts begin and end.
const EXTENTS: [usize; 18] = [0, 1, 2, 3, 4, 7, 8, 9, 16, 31, 64, 65, 130, 513, 1100, 2600, 8193, 20_000];

fn special(random: &mut fastrand::Rng) -> f64 {
    [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, 1e308][random.usize(..7)]
}

fn element(dtype: DType, random: &mut fastrand::Rng, specials: bool) -> Scalar {
    let mut float = || match specials && random.u8(..20) == 0 {
        true => special(random),
        false => (random.f64() - 0.5) * 8.0,
    };
    let (re, im) = (float(), float());
    match dtype {
        DType::Bool => Scalar::Bool(random.u8(..10) > 0),
        DType::C64 | DType::C128 => Scalar::C128(num_complex::Complex::new(re, im)).cast(dtype),
        float if float.is_float() => Scalar::F64(re).cast(dtype),
        int => Scalar::U64(random.u64(..)).cast(int),
    }
}

/// An array whose axes lie in memory in any order, every second element of a longer one along the last.
fn array(dtype: DType, shape: &[usize], random: &mut fastrand::Rng) -> Array {
    let specials = random.bool();
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if random.bool() {
        random.shuffle(&mut order);
    }
    let memory: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let lying = Array::from_fn(dtype, &memory, |_| element(dtype, random, specials)).unwrap();
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
    lying.permuted(&back)
}

struct Case {
    text: String,
    arg: Array,
}

fn case(random: &mut fastrand::Rng) -> Case {
    let op = OPS[random.usize(..OPS.len())];
    let dtype = DType::ALL[random.usize(..DType::ALL.len())];
    let rank = random.usize(1..5);
    let limit = [18, 13, 8, 6][rank - 1];
    let shape: Vec<usize> = (0..rank).map(|_| EXTENTS[random.usize(..limit)]).collect();
    let position = op.starts_with("arg");
    let reduced: Vec<usize> = match random.usize(..4) {
        0 => (0..rank).collect(),
        _ if position => vec![random.usize(..rank)],
        1 => vec![rank - 1],
        _ => (0..rank).filter(|_| random.bool()).collect(),
    };
    let keep = random.bool();
    let all = reduced.len() == rank && (position || random.bool());
    let dims: Vec<String> =
        (0..rank).map(|axis| if random.bool() { format!("n{axis}") } else { shape[axis].to_string() }).collect();
    let left: Vec<String> = (0..rank)
        .filter_map(|axis| match reduced.contains(&axis) {
            false => Some(dims[axis].clone()),
            true => keep.then(|| "1".to_string()),
        })
        .collect();
    let to = match (op, dtype) {
        ("argmin" | "argmax", _) => DType::I64,
        ("any" | "all", _) => DType::Bool,
        ("sum" | "prod", _) if dtype.is_unsigned() => DType::U64,
        ("sum" | "prod", _) if dtype.is_int() || dtype.is_bool() => DType::I64,
        _ => dtype,
    };
    let result = if left.is_empty() { to.name().to_string() } else { format!("{}[{}]", to.name(), left.join(", ")) };
    let axes = if all { String::new() } else { format!(", axes={reduced:?}") };
    let keep = if keep { ", keepdims=true" } else { "" };
    let text = format!(
        "func @f(%a: {}[{}]) -> {result} {{\nentry:\n  %0 = {op} %a{axes}{keep}\n  ret %0\n}}",
        dtype.name(),
        dims.join(", ")
    );
    Case { text, arg: array(dtype, &shape, random) }
}

fn same(a: &Datum, b: &Datum) -> bool {
    a.ty() == b.ty() && bits(a) == bits(b)
}

fn executable(text: &str, backend: Backend) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    Executable::compile(&module, "f", Options { backend, ..Options::default() }).unwrap()
}

/// A function, compiled for every backend; the reference evaluator comes first.
struct Compiled<'a> {
    text: &'a str,
    ways: Vec<(Backend, Executable)>,
}

impl<'a> Compiled<'a> {
    fn new(text: &'a str) -> Compiled<'a> {
        let backends = std::iter::once(Backend::Reference).chain(Backend::available());
        Compiled { text, ways: backends.map(|backend| (backend, executable(text, backend))).collect() }
    }

    /// Runs the function on every backend, and says on what they do not agree.
    fn check(&self, args: &[Array]) -> Result<(), String> {
        let text = self.text;
        let run = |(backend, executable): &(Backend, Executable)| {
            let lent: Vec<Arg<'_>> = args.iter().map(|arg| Arg::View(arg.view())).collect();
            // Calls that are alike are done in a shorter way from the third on.
            let calls = [(); 3].map(|()| executable.call(&lent).map_err(|e| e.to_string()));
            let [first, again, replayed] = calls;
            let alike = |other: &Result<Results, String>| match (&first, other) {
                (Ok(a), Ok(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
                (a, b) => a == b,
            };
            assert!(alike(&again) && alike(&replayed), "{backend:?}, called again: {again:?}, {replayed:?}\n{text}");
            first
        };
        let wanted = run(&self.ways[0]);
        for way in &self.ways[1..] {
            let found = run(way);
            let agree = match (&found, &wanted) {
                (Ok(found), Ok(wanted)) => {
                    found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| same(a, b))
                }
                (found, wanted) => found == wanted,
            };
            if !agree {
                let shapes: Vec<_> = args.iter().map(|a| (a.shape(), a.strides())).collect();
                return Err(format!("{:?} on {shapes:?}\n{text}\nfound  {found:?}\nwanted {wanted:?}", way.0));
            }
        }
        Ok(())
    }
}

fn check(text: &str, args: &[Array]) -> Result<(), String> {
    Compiled::new(text).check(args)
}

/// `REWRIGHT_REDUCTIONS=100000` tries more.
#[test]
fn kernels_combine_as_the_reference_does() {
    try_reductions(std::env::var("REWRIGHT_REDUCTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(300));
}

#[test]
#[ignore = "a sweep: 1500 random reductions"]
fn kernels_combine_as_the_reference_does_in_many_cases() {
    try_reductions(1500);
}

fn try_reductions(count: u64) {
    for seed in 0..count {
        let mut random = fastrand::Rng::with_seed(seed);
        let Case { text, arg } = case(&mut random);
        check(&text, &[arg]).unwrap_or_else(|why| panic!("seed {seed}: {why:.1500}"));
    }
}

#[test]
fn reductions_have_kernels() {
    let all = [
        "sum %a",
        "sum %a, axes=[0]",
        "sum %a, axes=[1]",
        "sum %a, axes=[0, 2]",
        "max %a, axes=[2], keepdims=true",
        "min %a, axes=[0, 1]",
        "argmin %a, axes=[2]",
        "argmax %a, axes=[0]",
        "argmin %a, axes=[1], keepdims=true",
        "prod %a, axes=[2]",
        "prod %a, axes=[0]",
    ];
    for reduction in all {
        let kept = match reduction {
            "sum %a" => "f64",
            "max %a, axes=[2], keepdims=true" => "f64[n, m, 1]",
            "sum %a, axes=[0, 2]" => "f64[m]",
            "min %a, axes=[0, 1]" => "f64[k]",
            "argmin %a, axes=[2]" => "i64[n, m]",
            "argmax %a, axes=[0]" => "i64[m, k]",
            "argmin %a, axes=[1], keepdims=true" => "i64[n, 1, k]",
            "sum %a, axes=[0]" | "prod %a, axes=[0]" => "f64[m, k]",
            "sum %a, axes=[1]" => "f64[n, k]",
            _ => "f64[n, m]",
        };
        let text = format!("func @f(%a: f64[n, m, k]) -> {kept} {{\nentry:\n  %0 = {reduction}\n  ret %0\n}}");
        for backend in [Backend::Interp, Backend::Cranelift] {
            assert_eq!(executable(&text, backend).remarks(), [], "{text}");
        }
    }
}

/// Several reductions of one input, with work before and after.
#[test]
fn reductions_of_expressions() {
    let text = "func @f(%a: f64[n, m], %b: f64[m]) -> f64[n], f64[n], f64[n] {
entry:
  %mean, %var, %most = arrayexpr [i: n, j: reduce m] (x = %a[i, j], y = %b[j]) {
    t0 = mul x, y
    t1 = mul t0, t0
    t2 = abs t0
    yield t0, t1, t2
  } reduce (sum f64) reduce (sum f64) reduce (max f64) finish (s, q, most) {
    t0 = sub q, s
    yield s, t0, most
  } : f64[n], f64[n], f64[n]
  ret %mean, %var, %most
}";
    let mut random = fastrand::Rng::with_seed(1);
    if let Err(errors) = parse_module(text, "test") {
        panic!("{}", errors.render(false));
    }
    for m in [1, 7, 8, 100, 1000] {
        let args = [array(DType::F64, &[5, m], &mut random), array(DType::F64, &[m], &mut random)];
        check(text, &args).unwrap_or_else(|why| panic!("{why:.1500}"));
    }
    assert_eq!(executable(text, Backend::Cranelift).remarks(), []);
}

/// Several short rows are computed at once.
#[test]
fn distances_of_points() {
    let mut random = fastrand::Rng::with_seed(2);
    for dtype in [DType::F64, DType::F32] {
        let of = dtype.name();
        let text = format!(
            "func @f(%x: {of}[m, k], %y: {of}[n, k]) -> {of}[m, n], {of}[m, n] {{
entry:
  %near, %far = arrayexpr [i: m, j: n, l: reduce k] (x = %x[i, l], y = %y[j, l]) {{
    t0 = sub x, y
    t1 = mul t0, t0
    yield t1, t1
  }} reduce (sum {of}) reduce (max {of}) finish (s, most) {{
    t0 = sqrt s
    yield t0, most
  }} : {of}[m, n], {of}[m, n]
  ret %near, %far
}}"
        );
        for n in [1, 2, 7, 8, 9, 16, 19, 40] {
            for k in [1, 2, 8, 9, 16, 17, 31, 32, 33, 64, 65] {
                let args = [array(dtype, &[3, k], &mut random), array(dtype, &[n, k], &mut random)];
                check(&text, &args).unwrap_or_else(|why| panic!("{why:.1500}"));
            }
        }
        assert_eq!(executable(&text, Backend::Auto).remarks(), []);
    }
}

/// Rows that no cache next to the processor holds.
#[test]
fn long_rows() {
    let mut random = fastrand::Rng::with_seed(4);
    for dtype in [DType::F64, DType::F32] {
        let of = dtype.name();
        let text = format!("func @f(%a: {of}[n]) -> {of} {{\nentry:\n  %0 = sum %a\n  ret %0\n}}");
        let lying = Array::from_fn(dtype, &[300_007], |_| element(dtype, &mut random, false)).unwrap();
        check(&text, &[lying]).unwrap_or_else(|why| panic!("{why:.1500}"));
    }
}

/// What is read a second time is read from its end.
#[test]
fn rows_from_their_ends() {
    let mut random = fastrand::Rng::with_seed(5);
    for dtype in [DType::F64, DType::F32, DType::C128] {
        let of = dtype.name();
        let text = format!(
            "func @f(%a: {of}[m, n]) -> {of}[m], {of}[m], {of} {{
entry:
  %0 = sum %a, axes=[1], keepdims=true
  %1 = sub %a, %0
  %2 = mul %1, %1
  %3 = sum %2, axes=[1]
  %4 = sum %a, axes=[1]
  %5 = sum %a
  ret %3, %4, %5
}}"
        );
        for (m, n) in [
            (1, 1),
            (2, 511),
            (1, 512),
            (3, 513),
            (1, 1024),
            (2, 1025),
            (1, 1537),
            (1, 2560),
            (2, 3583),
            (1, 4097),
            (1, 20_000),
        ] {
            let lying = Array::from_fn(dtype, &[m, n], |_| element(dtype, &mut random, false)).unwrap();
            check(&text, &[lying]).unwrap_or_else(|why| panic!("{why:.1500}"));
        }
    }
}

/// Sums of bytes are wider than what else is computed.
#[test]
fn statistics_of_bytes() {
    let text = "func @f(%a: u8[n, m]) -> u8[n], u64[n], i64[n], f64[n] {
entry:
  %least, %total, %above, %mean = arrayexpr [i: n, j: reduce m] (x = %a[i, j]) {
    t0 = cast x, to=u64
    t1 = gt x, 128
    t2 = cast t1, to=i64
    t3 = bitxor x, 255
    t4 = cast t3, to=u64
    yield x, t0, t2, t4
  } reduce (min u8) reduce (sum u64) reduce (sum i64) reduce (sum u64) finish (least, total, above, inverse) {
    t0 = cast inverse, to=f64
    yield least, total, above, t0
  } : u8[n], u64[n], i64[n], f64[n]
  ret %least, %total, %above, %mean
}";
    let mut random = fastrand::Rng::with_seed(3);
    for m in [1, 7, 63, 64, 65, 127, 128, 129, 500, 5000] {
        check(text, &[array(DType::U8, &[3, m], &mut random)]).unwrap_or_else(|why| panic!("{why:.1500}"));
    }
    assert_eq!(executable(text, Backend::Auto).remarks(), []);
}

/// Where all elements are the lowest or the highest ones, the first is the answer, however a row is cut.
#[test]
fn positions_in_rows_of_extremes() {
    let floats = [f64::NEG_INFINITY, f64::INFINITY, f64::NAN];
    for dtype in [DType::Bool, DType::U8, DType::I16, DType::U32, DType::I64, DType::F32, DType::F64] {
        let extremes: Vec<Scalar> = match dtype.is_float() {
            true => floats.iter().map(|&x| Scalar::F64(x).cast(dtype)).collect(),
            false => [Monoid::Min, Monoid::Max].iter().filter_map(|monoid| monoid.identity(dtype)).collect(),
        };
        assert!(extremes.len() >= 2);
        for op in ["argmin", "argmax"] {
            let name = dtype.name();
            let text = format!(
                "func @f(%a: {name}[n, m]) -> i64[n], i64 {{\nentry:\n  %0 = {op} %a, axes=[1]\n  %1 = {op} %a\n  ret %0, %1\n}}"
            );
            let compiled = Compiled::new(&text);
            let check = |array: Array| compiled.check(&[array]).unwrap_or_else(|why| panic!("{why:.1500}"));
            for m in EXTENTS.into_iter().filter(|&m| m > 0).chain([33, 35, 63, 600]) {
                for (n, &extreme) in extremes.iter().enumerate() {
                    check(Array::full(extreme, &[3, m]).unwrap());
                    // The last one is another.
                    let other = extremes[(n + 1) % extremes.len()];
                    let element = |i| if (i + 1) % m == 0 { other } else { extreme };
                    check(Array::from_fn(dtype, &[3, m], element).unwrap());
                }
            }
        }
    }
}

#[test]
fn nothing_to_combine() {
    let empty = |shape: &[usize]| Array::from_fn(DType::F64, shape, |_| Scalar::F64(0.0)).unwrap();
    let function = |op: &str, to: &str| {
        format!("func @f(%a: f64[n, m]) -> {to} {{\nentry:\n  %0 = {op} %a, axes=[1]\n  ret %0\n}}")
    };
    for (op, to) in [("sum", "f64[n]"), ("min", "f64[n]"), ("argmax", "i64[n]"), ("all", "bool[n]")] {
        for shape in [[3, 0], [0, 3], [0, 0]] {
            check(&function(op, to), &[empty(&shape)]).unwrap();
        }
    }
    let sum = executable(&function("sum", "f64[n]"), Backend::Cranelift);
    assert_eq!(
        sum.call(&[(&empty(&[2, 0])).into()]).unwrap(),
        [Datum::Array(Array::full(Scalar::F64(0.0), &[2]).unwrap())]
    );
}

/// What reads a row again goes through it from its end, and through longer ones than caches hold from the beginning: the tree is the same.
#[test]
fn long_rows_come_to_the_same_whichever_way() {
    let text = "func @f(%x: f64[n]) -> f64, f64[] {
entry:
  %0 = sum %x
  %1 = arrayexpr [i: reduce n] (x = %x[i], m = %0) {
    t0 = sub x, m
    t1 = mul t0, t0
    yield t1
  } reduce (sum f64) : f64[]
  ret %0, %1
}";
    let kernels: Vec<Executable> = [Backend::Interp, Backend::Cranelift, Backend::X64Avx2, Backend::X64]
        .into_iter()
        .filter(|backend| Backend::available().any(|b| b == *backend))
        .map(|backend| executable(text, backend))
        .collect();
    // On both sides of four second-level caches, of 256 KiB to 4 MiB.
    let sizes = (17..=21).flat_map(|n| [(1 << n) - 1, 1 << n]);
    for n in sizes.chain([100_000, (1 << 21) + 12_345]) {
        let x = Array::from_fn(DType::F64, &[n], |i| Scalar::F64((i % 1013) as f64 * 0.37 - 100.0)).unwrap();
        let all: Vec<_> = kernels.iter().map(|f| f.call(&[(&x).into()]).unwrap()).collect();
        assert!(all.iter().all(|results| *results == all[0]), "{n}: {all:?}");
    }
}
