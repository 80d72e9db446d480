//! Random array expressions of full generality, on every backend: results and errors are those of the
//! reference evaluator, and no step runs by it.
//!
//! `REWRIGHT_EXPRESSIONS=200000 cargo test -p rewright-lowering --test all general::` runs more of them;
//! `REWRIGHT_SEED` selects others, and `REWRIGHT_FIRST=100000` begins at this one of them.

mod contraction;
mod generate;

use crate::support::bits::bits;
use generate::Generated;
use rewright_ir::text::parse_module;
use rewright_ir::{Datum, EvalError};
use rewright_lowering::exec::{Arg, Backend, Executable, Instead, Options, Results};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The first function of a text, on a backend; `None` if the verifier refuses the text.
fn compile(text: &str, backend: Backend) -> Option<Executable> {
    let module = parse_module(text, "random").ok()?;
    let name = module.functions().next()?.name;
    Some(Executable::compile(&module, name, Options { backend, ..Options::default() }).expect("it compiles"))
}

fn same(found: &Result<Results, EvalError>, wanted: &Result<Results, EvalError>) -> bool {
    match (found, wanted) {
        (Ok(found), Ok(wanted)) => {
            let one = |datum: &Datum| (datum.ty(), bits(datum));
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| one(a) == one(b))
        }
        (Err(found), Err(wanted)) => found.to_string() == wanted.to_string(),
        _ => false,
    }
}

#[test]
fn random_expressions_agree() {
    agree(number("REWRIGHT_EXPRESSIONS", 400), number("REWRIGHT_SEED", 1));
}

#[test]
#[ignore = "a sweep: 3000 random expressions"]
fn many_random_expressions_agree() {
    agree(3000, number("REWRIGHT_SEED", 1));
}

/// Tries random expressions until `count` of them are valid.
fn agree(count: u64, seed: u64) {
    let backends: Vec<Backend> = Backend::available().filter(|b| *b != Backend::Reference).collect();
    let (mut valid, mut succeeded, mut from_arrays, mut scans) = (0, 0, 0, 0);
    let first = number("REWRIGHT_FIRST", 1).max(1);
    let mut index = first - 1;
    while valid < count {
        index += 1;
        assert!(index - first < 20 * count + 1000, "{valid} of {} expressions are valid", index - first);
        let Generated { text, args } = generate::expression(seed.wrapping_mul(1 << 32).wrapping_add(index));
        let Some(reference) = compile(&text, Backend::Reference) else { continue };
        valid += 1;
        let lent: Vec<Arg<'_>> = args.iter().map(Arg::from).collect();
        let wanted = reference.call(&lent);
        succeeded += u64::from(wanted.is_ok());
        scans += u64::from(wanted.is_ok() && text.contains(": scan "));
        from_arrays += u64::from(wanted.is_ok() && text.contains(" init [%"));
        let shown = || -> String { args.iter().map(|arg| format!("{}: {arg}\n", arg.ty())).collect() };
        for &backend in &backends {
            let Some(f) = compile(&text, backend) else { continue };
            let by_reference = f.remarks().iter().find(|remark| remark.instead == Instead::Reference);
            assert_eq!(by_reference, None, "{backend:?}\n{text}");
            let found = f.call(&lent);
            assert!(same(&found, &wanted), "expression {index}, {backend:?}\n{text}{}{found:?}\n{wanted:?}", shown());
            let steps = f.reference_steps();
            assert!(wanted.is_err() || steps.is_empty(), "expression {index}, {backend:?}\n{text}{}{steps:?}", shown());
        }
    }
    println!("{valid} of {index} expressions are valid, {succeeded} of them have results");
    assert!(from_arrays * 100 > valid, "only {from_arrays} reductions start from an array");
    assert!(scans * 20 > valid, "only {scans} scans have results");
    assert!(succeeded * 3 > valid, "only {succeeded} of {valid} expressions have results");
}

/// A loop whose border begins below 0, and whose steps are the innermost loop of a kernel.
#[test]
fn borders_begin_anywhere() {
    for begin in [-9, -2, 0, 1] {
        let text = format!(
            "func @f(%x: f64[8], %w: f64[1]) -> f64[8], f64[8] {{
entry:
  %0 = arrayexpr [k: reduce {begin}..7, i: 8] (x = %x[i], w = %w[wrap(k + 3)]) {{
    yield w, x
  }} reduce (dot f64, f64) finish (s0, s1) {{
    yield s0
  }} : f64[8]
  %1 = arrayexpr [k: reduce {begin}..7, i: 8] (x = %x[clamp(i + k)], w = %w[pad(k, 3.0)]) {{
    t0 = mul x, w
    yield t0
  }} reduce (sum f64) : f64[8]
  ret %0, %1
}}"
        );
        let (x, w) = (ndarray::Array1::from_iter((1..9).map(f64::from)), ndarray::array![2.0]);
        let args: [Arg<'_>; 2] = [(&x).into(), (&w).into()];
        let wanted = compile(&text, Backend::Reference).expect("valid").call(&args);
        assert!(wanted.is_ok());
        for backend in Backend::available() {
            assert!(same(&compile(&text, backend).expect("valid").call(&args), &wanted), "{backend:?} {begin}");
        }
    }
}

#[test]
fn slices_of_the_outermost_axis_run_on_threads() {
    let text = "func @f(%x: f64[n, m], %p: i64[k], %q: i64[k]) -> f64[k, m], f64[k], f64[k, m], f64[k, m] {
entry:
  %0 = arrayexpr [i: k, j: m] (x = %x[gather(%p[i]), clamp(j + 1)], y = %x[gather(%q[i]), pad(j - 1, 2.0)]) {
    t0 = sub x, y
    yield t0
  } : f64[k, m]
  %1 = arrayexpr [i: k, j: reduce m] where j <= i (x = %0[i, j]) {
    yield x
  } reduce (sum f64) : f64[k]
  %2 = arrayexpr [i: k, j: scan m] (x = %0[i, m - j - 1]) {
    yield x
  } reduce (sum f64) init first into ([i, m - j - 1]) : f64[k, m]
  %3 = arrayexpr [i: scan exclusive k, j: m] where i >= j (x = %0[i, j]) {
    yield x
  } reduce (sum f64) into ([i, j] fill 0.5) : f64[k, m]
  ret %0, %1, %2, %3
}";
    let x = ndarray::Array2::from_shape_fn((50, 200), |(i, j)| ((i * 37 + j * 11) % 101) as f64 / 7.0);
    let p = ndarray::Array1::from_shape_fn(2000, |i| (i * 7 % 50) as i64);
    let q = p.mapv(|p| p - 50);
    let args: [Arg<'_>; 3] = [(&x).into(), (&p).into(), (&q).into()];
    let wanted = compile(text, Backend::Reference).expect("valid").call(&args);
    assert!(wanted.is_ok());
    let module = parse_module(text, "threads").expect("valid");
    for backend in Backend::available().filter(|b| *b != Backend::Reference) {
        let options = Options { backend, threads: std::num::NonZeroU32::new(3), ..Options::default() };
        let f = Executable::compile(&module, "f", options).expect("it compiles");
        for _ in 0..3 {
            assert!(same(&f.call(&args), &wanted), "{backend:?}");
        }
        assert_eq!(f.reference_steps(), []);
        // An error in one slice is that of the reference evaluator.
        let mut wrong = p.clone();
        wrong[1700] = 77;
        let args: [Arg<'_>; 3] = [(&x).into(), (&wrong).into(), (&q).into()];
        let wanted = compile(text, Backend::Reference).expect("valid").call(&args);
        assert!(wanted.is_err() && same(&f.call(&args), &wanted), "{backend:?}");
    }
}

#[test]
fn points_are_combined_in_order_whatever_loops_are_jammed() {
    // The element of a result is that of the middle axis, so neither of the other loops may come first.
    let text = "func @f(%x: f32[n, m]) -> f32[3], f32[3] {
entry:
  %0 = arrayexpr [k: n, j: 3, i: m] (x = %x[k, i]) {
    yield x
  } into ([2 - j] fill 0.0 combine sum) : f32[3]
  %1 = arrayexpr [k: 5, j: 3, i: 3] () {
    t0 = exp i
    t1 = cast t0, to=f32
    yield t1
  } into ([2 - j] fill 0.0 combine sum) : f32[3]
  ret %0, %1
}";
    let x = ndarray::Array2::from_shape_fn((7, 5), |(k, i)| 10f32.powi(((k * 5 + i * 3) % 8) as i32) / 3.0);
    let wanted = compile(text, Backend::Reference).expect("valid").call(&[(&x).into()]);
    assert!(wanted.is_ok());
    for backend in Backend::available() {
        let found = compile(text, backend).expect("valid").call(&[(&x).into()]);
        assert!(same(&found, &wanted), "{backend:?}\n{found:?}\n{wanted:?}");
    }
}

#[test]
fn scans_of_one_point_are_scans() {
    for (kind, init, from) in [("scan exclusive", "", 0.0), ("scan exclusive", " init 2.5", 2.5), ("scan", "", 6.0)] {
        let text = format!(
            "func @f(%x: f64[3]) -> f64[1, 1] {{
entry:
  %0 = arrayexpr [h: 1, i: {kind} 1, j: reduce 3] (x = %x[j]) {{
    yield x
  }} reduce (sum f64){init} into ([h, i]) : f64[1, 1]
  ret %0
}}"
        );
        let x = ndarray::array![1.0, 2.0, 3.0];
        for backend in Backend::available() {
            let found = compile(&text, backend).expect("valid").call(&[(&x).into()]).expect("it has a value");
            let wanted: Datum = rewright_ir::Array::from(ndarray::array![[from]].into_dyn()).into();
            assert_eq!(bits(&found[0]), bits(&wanted), "{backend:?} {text}");
        }
    }
}

#[test]
fn small_reductions_are_unrolled_into_vectorized_loops() {
    let body = "{\n    t0 = mul x, w\n    yield t0\n  }";
    let convolution = format!(
        "arrayexpr [i: 23, j: 37, a: reduce 5, b: reduce 7] (x = %x[i + a, j + b], w = %w[a, b]) {body} reduce (sum f64)"
    );
    let first = format!(
        "arrayexpr [i: 23, a: reduce 1..5, j: 37] (x = %x[i + a, j], w = %w[a, 2]) {body} reduce (max f64) init first \
         finish (s) {{\n    u0 = sqrt s\n    yield u0\n  }}"
    );
    let region = format!(
        "arrayexpr [a: reduce 5, i: 23, b: reduce 6, j: 37] (x = %x[i + a, j + b], w = %w[a, b]) {body} \
         reduce (f64) region (p, q) {{\n    t0 = sub p, q\n    yield t0\n  }} noassoc nocomm init 2.0"
    );
    let x = ndarray::Array2::from_shape_fn((27, 43), |(i, j)| ((i * 37 + j * 11) % 101) as f64 / 7.0 - 3.0);
    let w = ndarray::Array2::from_shape_fn((5, 7), |(i, j)| ((i * 5 + j * 3) % 11) as f64 / 3.0 - 1.0);
    for expr in [convolution, first, region] {
        let text = format!(
            "func @f(%x: f64[27, 43], %w: f64[5, 7]) -> f64[23, 37] {{\nentry:\n  %0 = {expr} : f64[23, 37]\n  ret %0\n}}\n"
        );
        let args: [Arg<'_>; 2] = [(&x).into(), (&w).into()];
        let wanted = compile(&text, Backend::Reference).expect("valid").call(&args);
        assert!(wanted.is_ok(), "{wanted:?}");
        for backend in Backend::available().filter(|b| *b != Backend::Reference) {
            let f = compile(&text, backend).expect("valid");
            assert_eq!(f.remarks(), [], "{backend:?}\n{text}");
            assert!(same(&f.call(&args), &wanted), "{backend:?}\n{text}");
        }
    }
}

/// Results and errors of every backend are those of the reference evaluator.
fn agrees(text: &str, args: &[Arg<'_>]) {
    parse_module(text, "given").unwrap_or_else(|errors| panic!("{:.2000}", errors.render(false)));
    let wanted = compile(text, Backend::Reference).expect("valid").call(args);
    for backend in Backend::available().filter(|b| *b != Backend::Reference) {
        assert!(same(&compile(text, backend).expect("valid").call(args), &wanted), "{backend:?}\n{text:.2000}");
    }
}

#[test]
fn large_expressions_run_on_small_stacks() {
    let x = ndarray::Array1::from_shape_fn(3, |i| i as f64 + 0.5);
    let args: [Arg<'_>; 1] = [(&x).into()];
    // Reductions, each with accumulators of its own.
    let nested: String = (0..300)
        .map(|n| {
            let from = if n == 0 { "x".to_string() } else { format!("t{}", n - 1) };
            format!(
                "    t{n} = arrayexpr [l: reduce n] (u = {from}, v = %x[l]) {{\n      t0 = mul u, v\n      yield t0\n    }} \
                 reduce (sum f64) : f64\n"
            )
        })
        .collect();
    agrees(
        &format!(
            "func @f(%x: f64[n]) -> f64[n] {{\nentry:\n  %0 = arrayexpr [i: n] (x = %x[i]) {{\n{nested}    yield t299\n  }} : f64[n]\n  ret %0\n}}\n"
        ),
        &args,
    );
    // Conditions.
    let conditions: Vec<String> = (0..2000).map(|n| format!("({n}*i) % {} == 0", n % 3 + 1)).collect();
    agrees(
        &format!(
            "func @f(%x: f64[n]) -> f64[n] {{\nentry:\n  %0 = arrayexpr [i: n] where {} (x = %x[i]) {{\n    yield x\n  }} \
             into ([i] fill 0.0) : f64[n]\n  ret %0\n}}\n",
            conditions.join(" and ")
        ),
        &args,
    );
    // As many axes as an expression may have.
    let nested = |depth: usize| {
        let axes = |prefix: &str| (0..12).map(|n| format!("{prefix}{n}: reduce 1")).collect::<Vec<_>>().join(", ");
        (0..depth).rev().fold(String::new(), |inner, level| {
            let (from, own) = (if level == 0 { "x".into() } else { format!("u{}", level - 1) }, format!("u{level}"));
            let body = match inner.is_empty() {
                true => format!("yield {own}"),
                false => format!("t0 = arrayexpr {inner}\n yield t0"),
            };
            let axes = axes(&format!("a{level}b"));
            format!("[{axes}] ({own} = {from}) {{\n{body}\n}} reduce (sum f64) : f64")
        })
    };
    for depth in [1, 3, 5] {
        agrees(
            &format!(
                "func @f(%x: f64[n]) -> f64[n] {{\nentry:\n  %0 = arrayexpr [i: n] (x = %x[i]) {{\n    t0 = arrayexpr {}\n    \
                 yield t0\n  }} : f64[n]\n  ret %0\n}}\n",
                nested(depth)
            ),
            &args,
        );
    }
}

#[test]
fn extreme_numbers_do_not_overflow() {
    let x = ndarray::Array1::from_shape_fn(3, |i| i as f64 + 0.5);
    let args: [Arg<'_>; 1] = [(&x).into()];
    let (least, most) = (i64::MIN, i64::MAX);
    for (axis, position) in [
        (format!("i: {least}..3"), "clamp(i)".to_string()),
        (format!("i: {most}..{most}"), "clamp(i)".to_string()),
        ("i: 3".to_string(), format!("wrap({most}*i)")),
        ("i: 3".to_string(), format!("pad(i + {most}, 1.0)")),
        ("i: 3".to_string(), format!("(i - {most}) // 2")),
    ] {
        let text = format!(
            "func @f(%x: f64[n]) -> f64[3] {{\nentry:\n  %0 = arrayexpr [{axis}] (x = %x[{position}]) {{\n    yield x\n  }} \
             into ([i] fill 0.0) : f64[3]\n  ret %0\n}}\n"
        );
        if compile(&text, Backend::Reference).is_some() {
            agrees(&text, &args);
        }
    }
}

#[test]
fn reads_without_a_use_are_tested() {
    let x = ndarray::Array2::from_shape_fn((5, 2), |(i, j)| (i * 2 + j) as f64);
    let args: [Arg<'_>; 1] = [(&x).into()];
    for reduced in ["-2..2", "0..2", "1..3"] {
        let text = format!(
            "func @f(%x: f64[n, 2]) -> f64[3, n] {{\nentry:\n  %0 = arrayexpr [i: 3, k: reduce {reduced}, j: n] \
             (x = %x[wrap(i), k]) {{\n    t0 = cos k\n    yield t0\n  }} reduce (max f64) init first : f64[3, n]\n  ret %0\n}}\n"
        );
        agrees(&text, &args);
    }
}
