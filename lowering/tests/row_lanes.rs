//! Rows as lanes: the same bits, staged or not, whatever the shapes and strides.

use crate::support::scheduled::{compile, is_avx512, stages_rows};
use ndarray::{Array2, ArrayView2, s};
use rewright_ir::{Array, DType, Datum};
use rewright_lowering::exec::{Arg, Backend, Executable, ViewMut};

/// When a code generator with lanes packs rows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Packs {
    Never,
    /// Where they are read again and again.
    Again,
    /// Where they are read once, too.
    Once,
}

/// Of each point of `%x` and each of `%y`: dtypes of both, of the results, what is computed, and when it is packed.
fn programs() -> Vec<(DType, DType, String, Packs)> {
    let one = |x: &str, y: &str, result: &str, body: &str, reduce: &str| {
        format!(
            "func @f(%x: {x}[m, d], %y: {y}[n, d]) -> {result}[m, n] {{\nentry:\n  %0 = arrayexpr SCHEDULE [i: m, j: n, k: reduce d] (x = %x[i, k], y = %y[j, k]) {{\n{body}\n  }} reduce ({reduce}) : {result}[m, n]\n  ret %0\n}}"
        )
    };
    let (f32, f64) = (DType::F32, DType::F64);
    let distance = "t0 = sub x, y\n t1 = mul t0, t0\n yield t1";
    let root = " finish (t) {\n t0 = sqrt t\n yield t0\n }";
    let both = "func @f(%x: f64[m, d], %y: f64[n, d]) -> f64[m, n], f64[m, n] {
entry:
  %0, %1 = arrayexpr SCHEDULE [i: m, j: n, k: reduce d] (x = %x[i, k], y = %y[j, k]) {
    t0 = mul x, y
    t1 = sub y, x
    yield t0, t1
  } reduce (sum f64) reduce (max f64) finish (s, most) {
    t0 = add s, most
    yield t0, most
  } : f64[m, n], f64[m, n]
  ret %0, %1
}";
    vec![
        (f64, f64, one("f64", "f64", "f64", distance, "sum f64"), Packs::Again),
        (
            f64,
            f64,
            one("f64", "f64", "f64", distance, "sum f64").replace("(sum f64)", &format!("(sum f64){root}")),
            Packs::Again,
        ),
        (f32, f32, one("f32", "f32", "f32", distance, "sum f32"), Packs::Again),
        (
            f32,
            f64,
            one("f32", "f64", "f64", "t0 = cast x, to=f64\n t1 = mul t0, y\n yield t1", "sum f64"),
            Packs::Again,
        ),
        (f64, f64, one("f64", "f64", "f64", "t0 = sub y, x\n yield t0", "max f64"), Packs::Again),
        (f32, f32, one("f32", "f32", "f32", "t0 = add x, y\n yield t0", "prod f32"), Packs::Never),
        (f64, f64, both.to_string(), Packs::Again),
        (
            f64,
            f64,
            one("f64", "f64", "f64", "t0 = cast k, to=f64\n t1 = mul t0, y\n t2 = add t1, x\n yield t2", "sum f64"),
            Packs::Never,
        ),
        (f64, f64, one("f64", "f64", "bool", "t0 = lt x, y\n yield t0", "all bool"), Packs::Once),
    ]
}

fn points(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-310];
    Array2::from_shape_simple_fn((rows, columns), || match random.u32(0..40) {
        0 => special[random.usize(0..special.len())],
        _ => random.f64() * 8.0 - 4.0,
    })
}

/// A call with views of those dtypes, whose strides are those of the arrays.
fn call(
    f: &Executable,
    (x, of_x): (ArrayView2<'_, f64>, DType),
    (y, of_y): (ArrayView2<'_, f64>, DType),
) -> Vec<Array> {
    let narrow = |view: ArrayView2<'_, f64>| view.mapv(|x| x as f32);
    let (x32, y32) = (narrow(x), narrow(y));
    let x = if of_x == DType::F32 { Arg::from(&x32) } else { Arg::from(x) };
    let y = if of_y == DType::F32 { Arg::from(&y32) } else { Arg::from(y) };
    let results = f.call(&[x, y]).unwrap_or_else(|e| panic!("{e}"));
    results.iter().map(Datum::to_array).collect()
}

#[test]
fn packed_rows_come_to_the_same_bits() {
    for (number, (of_x, of_y, text, _)) in programs().into_iter().enumerate() {
        let plain = compile(&text, "", Backend::Interp, 1);
        let ways =
            [("unblocked", 1), ("", 1), ("parallel(threads=3)", 3), ("", 2), ("parallel(threads=2, chunk=5)", 2)];
        let ways = ways.map(|(schedule, threads)| (schedule, compile(&text, schedule, Backend::Auto, threads)));
        for (m, n, d) in [
            (8, 8, 2),
            (9, 16, 16),
            (30, 17, 3),
            (8, 127, 5),
            (11, 128, 16),
            (12, 129, 9),
            (10, 193, 7),
            (9, 300, 15),
            (16, 8, 17),
            (7, 40, 4),
            (20, 7, 4),
            (9, 64, 1),
        ] {
            let seed = (m * 1000 + n * 10 + d) as u64;
            let (x, y) = (points(m, 2 * d, seed), points(2 * n, d, seed + 1));
            let (left, right) = (points(d, n, seed + 2), points(d, m, seed + 3));
            for (x, y) in [
                (x.slice(s![.., ..d]), y.slice(s![..n, ..])),
                (x.slice(s![..;-1, d..]), y.slice(s![..;2, ..])),
                (x.slice(s![.., ..;2]), y.slice(s![..n;-1, ..])),
                (right.t(), y.slice(s![n.., ..;-1])),
                (x.slice(s![..1, ..d]).broadcast((m, d)).unwrap(), left.t()),
            ] {
                let want = call(&plain, (x, of_x), (y, of_y));
                for (schedule, f) in &ways {
                    let found = call(f, (x, of_x), (y, of_y));
                    let same = want.iter().zip(&found).all(|(a, b)| a.same_bits(b));
                    assert!(
                        same,
                        "program {number}, `{schedule}`, {m} {n} {d}, {:?} {:?}\n{text}",
                        x.strides(),
                        y.strides()
                    );
                }
            }
        }
    }
}

#[test]
fn rows_are_packed_where_vectors_can_be_of_rows() {
    for (number, (of_x, of_y, text, packs)) in programs().into_iter().enumerate() {
        let f = compile(&text, "", Backend::Auto, 1);
        let told = |m: usize, n: usize, d: usize| {
            let (x, y) = (points(m, d, 1), points(n, d, 2));
            call(&f, (x.view(), of_x), (y.view(), of_y));
            stages_rows(&f)
        };
        let packed =
            [(100, 100, 8), (100, 100, 16), (8, 1000, 3), (2, 100, 8), (100, 4, 8), (100, 100, 17), (100, 100, 1)]
                .map(|(m, n, d)| told(m, n, d));
        let (lanes, once) = (packs != Packs::Never && is_avx512(&f), packs == Packs::Once);
        let want = [true, true, true, once, false, once, false].map(|packed| packed && lanes);
        assert_eq!(packed, want, "program {number}");
    }
}

/// Of adjacent rows, each of whose points are apart, what is packed is copied line by line: that pays for what is read once.
#[test]
fn rows_that_lie_across_are_packed_for_one_time() {
    for (dtype, reduce) in [("f64", "sum f64"), ("f32", "sum f32"), ("f64", "max f64"), ("f32", "min f32")] {
        let text = format!(
            "func @f(%x: {dtype}[l, m, n]) -> {dtype}[l, n] {{\nentry:\n  %0 = arrayexpr SCHEDULE [h: l, i: n, j: reduce m] (x = %x[h, j, i]) {{\n    t0 = add x, x\n    yield t0\n  }} reduce ({reduce}) : {dtype}[l, n]\n  ret %0\n}}"
        );
        let [plain, off, f, shared] = [
            ("", Backend::Interp, 1),
            ("unblocked", Backend::Auto, 1),
            ("", Backend::Auto, 1),
            ("parallel(threads=3)", Backend::Auto, 3),
        ]
        .map(|(schedule, backend, threads)| compile(&text, schedule, backend, threads));
        for (l, m, n, packs) in
            [(1, 3, 500, true), (2, 16, 129, true), (3, 2, 300, true), (1, 17, 300, false), (1, 3, 7, false)]
        {
            let x = points(l * m, n, (m * n) as u64);
            let x = x.into_shape_with_order((l, m, n)).unwrap();
            let call = |f: &Executable| match dtype {
                "f64" => f.call(&[Arg::from(&x)]).unwrap()[0].to_array(),
                _ => f.call(&[Arg::from(&x.mapv(|x| x as f32))]).unwrap()[0].to_array(),
            };
            let want = call(&plain);
            for f in [&off, &f, &shared] {
                (0..4).for_each(|_| assert!(call(f).same_bits(&want), "{l} {m} {n}\n{text}"));
            }
            assert!(!is_avx512(&f) || stages_rows(&f) == packs, "{l} {m} {n}\n{text}");
        }
    }
}

/// Another operand that goes along the rows and across them, by its type, but in this call not, or backwards, or with gaps.
#[test]
fn what_lies_in_any_way_is_packed() {
    let text = "func @f(%x: f64[m, d], %y: f64[n, d], %w: f64[n, d]) -> f64[m, n] {
entry:
  %0 = arrayexpr [i: m, j: n, k: reduce d] (x = %x[i, k], y = %y[j, k], w = %w[j, k]) {
    t0 = sub x, y
    t1 = mul t0, w
    yield t1
  } reduce (sum f64) : f64[m, n]
  ret %0
}";
    let (x, y, w) = (points(50, 8, 1), points(60, 8, 2), points(120, 16, 3));
    let [plain, f] = [Backend::Interp, Backend::Auto].map(|backend| compile(text, "", backend, 1));
    let deep = points(16, 130, 4);
    for w in [
        w.slice(s![..60, ..8]),
        w.slice(s![..1, ..8]).broadcast((60, 8)).unwrap(),
        w.slice(s![..60, ..1]).broadcast((60, 8)).unwrap(),
        w.slice(s![..;2, ..;2]),
        w.slice(s![..60;-1, 8..;-1]),
        deep.slice(s![..;2, ..120;-2]).reversed_axes(),
    ] {
        let args = [Arg::from(&x), Arg::from(&y), Arg::from(w)];
        let call = |f: &Executable| f.call(&args).unwrap().iter().map(Datum::to_array).collect::<Vec<Array>>();
        assert!(call(&plain)[0].same_bits(&call(&f)[0]));
        assert_eq!(stages_rows(&f), is_avx512(&f));
    }
}

/// Results whose elements are apart, of operands that lie as packed ones do by themselves.
#[test]
fn results_may_have_any_strides() {
    let (_, _, text, _) = programs().swap_remove(1);
    let (x, y) = (points(20, 16, 1), points(16, 128, 2));
    let [plain, f] = [Backend::Interp, Backend::Auto].map(|backend| compile(&text, "unblocked", backend, 1));
    let args = [Arg::from(&x), Arg::from(y.t())];
    let want = plain.call(&args).unwrap()[0].to_array();
    let mut wide = Array2::<f64>::zeros((128, 40));
    for _ in 0..3 {
        let out = wide.slice_mut(s![.., ..;2]);
        f.call_into(&args, &mut [ViewMut::from(out.reversed_axes())]).unwrap();
        let found = wide.slice(s![.., ..;2]).reversed_axes().to_owned();
        assert!(Array::from(found.into_dyn()).same_bits(&want));
        wide.fill(0.0);
    }
}
