//! Fission of short rows: the bits of the plainest loops, for all dtypes and layouts.

use crate::support::scheduled::{compile, has_fission, is_avx512};
use rewright_ir::{Array, DType, Datum, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable};

fn filled(dtype: DType, shape: &[usize], seed: u64) -> Array {
    let mut random = fastrand::Rng::with_seed(seed);
    let number = |random: &mut fastrand::Rng| Scalar::F64(f64::from(random.u8(0..40)) / 4.0 - 5.0);
    Array::from_fn(dtype, shape, |_| number(&mut random).cast(dtype)).expect("its dtype")
}

fn run(f: &Executable, args: &[Array]) -> (Vec<Array>, bool) {
    let args: Vec<Arg<'_>> = args.iter().map(Arg::from).collect();
    let results = f.call(&args).unwrap_or_else(|e| panic!("{e}"));
    (results.iter().map(Datum::to_array).collect(), has_fission(f))
}

/// Compares all code generators, on one thread and several, with the interpreter's plain loops.
fn check(text: impl Fn(&str) -> String, args: &[Array], asked: &str) {
    let (want, none) = run(&compile(&text("unblocked"), "", Backend::Interp, 1), args);
    assert!(!none);
    for backend in Backend::available().filter(|b| !matches!(b, Backend::Reference)) {
        for (more, threads) in [("serial", 1), ("parallel(threads=2)", 2), ("parallel(threads=3, chunk=77)", 3)] {
            let text = text(&format!("{asked} {more}"));
            let f = compile(&text, "", backend, threads);
            for _ in 0..2 {
                let (found, by) = run(&f, args);
                let same = want.iter().zip(&found).all(|(a, b)| a.same_bits(b));
                assert!(same, "{:?} {threads}: {want:?} {found:?}\n{text}", backend);
                assert!(by || asked.is_empty(), "{backend:?}\n{text}");
            }
        }
    }
}

#[test]
fn sums_of_functions_come_to_the_same_bits() {
    // Along the rows, turned, reversed with gaps, one a row, and the same for all rows.
    let text = |dtype: DType, m: usize, schedule: &str| {
        let (last, wide) = (m - 1, 2 * m);
        format!(
            "func @f(%a: {dtype}[h, w, {m}], %b: {dtype}[h, {m}, w], %c: {dtype}[h, w, {wide}], %d: {dtype}[h, w], %e: {dtype}[{m}]) -> {dtype}[h, w] {{
entry:
  %0 = arrayexpr schedule=\"{schedule}\" [i: h, j: w, k: reduce {m}] (a = %a[i, j, k], b = %b[i, k, j], c = %c[i, j, {last} - k], d = %d[i, j], e = %e[k]) {{
    t0 = exp a
    t1 = mul t0, b
    t2 = add t1, c
    t3 = mul d, d
    t4 = sub t2, t3
    t5 = mul t4, e
    t6 = sin t5
    yield t6
  }} reduce (sum {dtype}) : {dtype}[h, w]
  ret %0
}}"
        )
    };
    for dtype in [DType::F64, DType::F32, DType::C64, DType::C128] {
        for (h, w, m) in [(1, 1_500, 3), (2, 700, 2), (5, 131, 7), (3, 90, 33), (2, 20, 600)] {
            let shapes: [&[usize]; 5] = [&[h, w, m], &[h, m, w], &[h, w, 2 * m], &[h, w], &[m]];
            let args: Vec<Array> = (1..).zip(shapes).map(|(seed, shape)| filled(dtype, shape, seed)).collect();
            let staged = ["b", "c", "d", "e"].map(|name| format!("stage({name}, j, k), ")).concat();
            let asked = format!("reorder(i, j, k) split(i, 1) split(j, 50) fission(j, k, {staged}collapse(j, k))");
            check(|schedule| text(dtype, m, schedule), &args, &asked);
            // Values of points as lanes; and blocks of points.
            let asked = "reorder(i, j, k) split(i, 1) split(j, 37) fission(j, k, split(j, 7)) stage(value.0, k, j)";
            check(|schedule| text(dtype, m, schedule), &args, asked);
        }
    }
}

#[test]
fn other_combinations_do_too() {
    let text = |dtype: DType, m: usize, reduce: &str, result: &str, schedule: &str| {
        format!(
            "func @f(%a: {dtype}[n, {m}], %b: {dtype}[n]) -> {result}[n], {dtype}[n] {{
entry:
  %0, %1 = arrayexpr schedule=\"{schedule}\" [i: n, j: reduce {m}] (a = %a[i, j], b = %b[i]) {{
    t0 = mul a, a
    t1 = sub t0, a
    t2 = mul t1, b
    t3 = add t2, t0
    yield t3, t1
  }} reduce ({reduce} {dtype}) reduce (sum {dtype}) : {result}[n], {dtype}[n]
  ret %0, %1
}}"
        )
    };
    for dtype in [DType::F64, DType::F32, DType::I8, DType::U16, DType::I32, DType::U64] {
        for (reduce, result) in [("max", dtype.name()), ("min", dtype.name()), ("prod", dtype.name())] {
            for (n, m) in [(3_000, 2), (777, 5), (301, 17)] {
                let args = [filled(dtype, &[n, m], 1), filled(dtype, &[n], 2)];
                let is_one = reduce != "prod" || !dtype.is_float();
                if is_one {
                    let asked = "split(i, 100) fission(i, j, stage(b, i, j), collapse(i, j))";
                    check(|schedule| text(dtype, m, reduce, result, schedule), &args, asked);
                }
            }
        }
    }
}

#[test]
fn positions_are_counted_where_points_are_combined() {
    // Positions along rows, and what is read once a row; NaN, and elements that are equal.
    let text = |dtype: DType, m: usize, schedule: &str| {
        format!(
            "func @f(%a: {dtype}[n, {m}], %b: {dtype}[n]) -> i64[n] {{
entry:
  %0 = arrayexpr schedule=\"{schedule}\" [i: n, j: reduce {m}] (a = %a[i, j], b = %b[i]) {{
    t0 = mul a, b
    t1 = sqrt t0
    t2 = add t1, a
    yield t2, j
  }} reduce (argmax {dtype}, i64) init first finish (s0, s1) {{
    yield s1
  }} : i64[n]
  ret %0
}}"
        )
    };
    for dtype in [DType::F64, DType::F32] {
        for (n, m) in [(2_000, 3), (411, 11), (50, 200)] {
            let args = [filled(dtype, &[n, m], 1), filled(dtype, &[n], 2)];
            for asked in ["split(i, 64) fission(i, j, stage(b, i, j), collapse(i, j))", "split(i, 9) fission(i, j)", ""]
            {
                check(|schedule| text(dtype, m, schedule), &args, asked);
            }
        }
    }
    // Positions of the row that are computed with.
    let used = |schedule: &str| {
        text(DType::F64, 3, schedule).replace("t2 = add t1, a", "u = cast j, to=f64\n    t2 = add t1, u")
    };
    let args = [filled(DType::F64, &[2_000, 3], 1), filled(DType::F64, &[2_000], 2)];
    check(used, &args, "");
}

#[test]
fn rows_that_take_longer_by_themselves_are_computed_so() {
    // Whether vectors are of AVX-512, and whether it is done.
    let told = |dtype: DType, function: &str, n: usize, m: usize| {
        let text = format!(
            "func @f(%a: {dtype}[n, m]) -> {dtype}[n] {{
entry:
  %0 = arrayexpr [i: n, j: reduce m] (a = %a[i, j]) {{
    t0 = {function} a
    yield t0
  }} reduce (sum {dtype}) : {dtype}[n]
  ret %0
}}"
        );
        let f = compile(&text, "", Backend::Auto, 1);
        let (_, told) = run(&f, &[filled(dtype, &[n, m], 1)]);
        is_avx512(&f).then_some(told)
    };
    let (f64, f32) = (DType::F64, DType::F32);
    // The longer a point takes, the longer rows may be.
    for (function, most) in [("abs", 0), ("exp", 5), ("sin", 32), ("atan", 64)] {
        for m in [2, 3, 5, 8, 32, 33, 64, 65] {
            let done = told(f64, function, 2_000, m);
            assert!(done.is_none_or(|done| done == (m <= most)), "{function} {m}");
        }
    }
    assert!(told(f32, "exp", 2_000, 8) != Some(false) && told(f32, "exp", 2_000, 12) != Some(true));
    // Few rows.
    assert!(told(f64, "sin", 63, 3) != Some(true) && told(f64, "sin", 64, 3) != Some(false));
}

/// A loop of one point between rows and their points, which is no loop with them; rows of one point; and an array that no point is computed of.
#[test]
fn loops_of_one_point_and_arrays_that_are_not_read() {
    let text = |reduce: &str, schedule: &str| {
        format!(
            "func @f(%a: f64[n, m, k], %b: f64[n], %c: f64[k, n], %d: f64[n, m]) -> f64[n, m] {{
entry:
  %0 = arrayexpr schedule=\"{schedule}\" [i: n, j: m, l: reduce k] (a = %a[i, j, l], b = %b[i], c = %c[l, i], d = %d[i, j]) {{
    t0 = mul a, b
    t1 = sqrt t0
    t2 = mul c, c
    t3 = exp t1
    yield t3
  }} reduce ({reduce} f64) finish (s) {{
    t4 = add s, d
    yield t4
  }} : f64[n, m]
  ret %0
}}"
        )
    };
    for (n, m, k) in [(500, 1, 3), (1, 700, 3), (300, 1, 1), (200, 5, 1), (70, 3, 12), (2, 1, 3)] {
        let shapes: [&[usize]; 4] = [&[n, m, k], &[n], &[k, n], &[n, m]];
        let args: Vec<Array> = (1..).zip(shapes).map(|(seed, shape)| filled(DType::F64, shape, seed)).collect();
        for reduce in ["sum", "max"] {
            for asked in [
                "",
                "reorder(i, j, l) split(i, 1) split(j, 40) fission(j, l, stage(a, j, l), stage(b, j, l), collapse(j, l))",
            ] {
                check(|schedule| text(reduce, schedule), &args, asked);
            }
        }
    }
}
