//! The first of the greatest elements of long rows, sought block by block: the same as by the plain kernel, wherever it is and whatever else there is.

use crate::support::bits::bits;
use crate::support::scheduled::compile;
use ndarray::{Array1, Array2, s};
use rewright_ir::{Array, DType, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable};

/// The position of the least or greatest in each row, with what is computed of it.
fn program(of: &str, dtype: DType, body: &str, finish: &str, results: &str) -> String {
    let (dtype, values) = (dtype.name(), if results.contains(',') { "%0, %1" } else { "%0" });
    format!(
        "func @f(%x: {dtype}[n, m]) -> {results} {{\nentry:\n  {values} = arrayexpr SCHEDULE [i: n, k: reduce m] (x = %x[i, k]) {{\n{body}\n  }} reduce ({of} {dtype}, i64) init first finish (s, at) {{\n{finish}\n  }} : {results}\n  ret {values}\n}}"
    )
}

fn call(f: &Executable, arg: Arg<'_>) -> Vec<Vec<(u64, u64)>> {
    f.call(&[arg]).unwrap_or_else(|e| panic!("{e}")).iter().map(bits).collect()
}

#[test]
fn positions_are_those_of_the_plain_kernel() {
    let mut random = fastrand::Rng::with_seed(3);
    for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_complex()) {
        for of in ["argmax", "argmin"] {
            let text = program(of, dtype, "yield x, k", "yield at", "i64[n]");
            let plain = compile(&text, "", Backend::Interp, 1);
            let ways = [
                ("", 1),
                ("rfactor(64)", 1),
                ("rfactor(77)", 1),
                ("rfactor(2048)", 3),
                ("parallel(threads=2, chunk=1) rfactor(100)", 2),
            ];
            let ways = ways.map(|(schedule, threads)| (schedule, compile(&text, schedule, Backend::Auto, threads)));
            for (rows, columns) in [(1, 1), (1, 7), (3, 700), (1, 40_000), (2, 33_000)] {
                // Few different values, so that there are several that are equal.
                let mut one = |_| match random.u32(0..5_000) {
                    0 if dtype.is_float() => Scalar::F64(f64::NAN).cast(dtype),
                    1 if dtype.is_float() => Scalar::F64(f64::INFINITY).cast(dtype),
                    2 if dtype.is_float() => Scalar::F64(-0.0).cast(dtype),
                    _ if dtype.is_bool() => Scalar::Bool(random.bool()),
                    _ => Scalar::I64(random.i64(0..50)).cast(dtype),
                };
                let x = Array::from_fn(dtype, &[rows, columns], &mut one).unwrap();
                let want = call(&plain, Arg::View(x.view()));
                for (schedule, f) in &ways {
                    assert_eq!(call(f, Arg::View(x.view())), want, "`{schedule}`, {rows} rows of {columns}\n{text}");
                }
            }
        }
    }
}

/// One that is beyond all others, at every place where a block begins or ends, and what is not beyond anything.
#[test]
fn it_may_be_anywhere() {
    let text =
        program("argmax", DType::F32, "yield x, k", "t0 = mul at, 10\n t1 = add t0, 3\n yield t1, s", "i64[n], f32[n]");
    let ways = ["rfactor(100)", "rfactor(64) parallel(threads=3)", "rfactor(1000000)", "rfactor(off)"]
        .map(|s| compile(&text, s, Backend::Auto, 3));
    let points = 1003;
    for lowest in [f32::NEG_INFINITY, -1.0, f32::NAN] {
        let mut rows = vec![Array1::from_elem(points, lowest)];
        for at in [0, 1, 63, 64, 99, 100, 101, 500, 999, 1000, 1001, 1002] {
            for high in [7.0, f32::INFINITY, f32::NAN, 0.0, -0.0] {
                let mut row = Array1::from_elem(points, lowest);
                row[at] = high;
                // Another one that is equal comes later.
                row[points - 1 - at / 2] = high;
                rows.push(row);
            }
        }
        for row in rows {
            let want = (0..points).fold(0, |best, at| match row[best] {
                best_one if best_one.is_nan() => best,
                best_one if row[at].is_nan() || row[at] > best_one => at,
                _ => best,
            });
            let value = if row[want].is_nan() { f64::NAN } else { f64::from(row[want]) };
            for f in &ways {
                let found = call(f, Arg::from(row.view().insert_axis(ndarray::Axis(0))));
                assert_eq!(found[0], [(want as u64 * 10 + 3, 0)], "{row}");
                assert_eq!(f64::from_bits(found[1][0].0).to_bits(), value.to_bits(), "{row}");
            }
        }
    }
}

/// Any strides, and what is computed of each element.
#[test]
fn rows_may_lie_anyhow() {
    let text = program("argmin", DType::F64, "t0 = sin x\n yield t0, k", "yield at", "i64[n]");
    let values = Array2::from_shape_simple_fn((3, 200_000), || fastrand::f64() * 9.0);
    let plain = compile(&text, "", Backend::Interp, 1);
    let ways = [("", 1), ("", 2), ("rfactor(3000)", 2)]
        .map(|(schedule, threads)| compile(&text, schedule, Backend::Auto, threads));
    for view in [
        values.slice(s![.., ..;2]),
        values.slice(s![..;-1, ..;-3]),
        values.slice(s![1..2, ..]),
        values.slice(s![.., 7..40_000]),
    ] {
        let want = call(&plain, Arg::from(view));
        ways.iter().for_each(|f| assert_eq!(call(f, Arg::from(view)), want, "{:?} {:?}", view.shape(), view.strides()));
    }
}

#[test]
fn the_schedule_says_whether_rows_are_searched() {
    let told = |text: &str, schedule: &str, columns: usize| {
        let f = compile(text, schedule, Backend::Auto, 1);
        let x = Array2::from_shape_simple_fn((1, columns), fastrand::f64);
        f.call(&[Arg::from(&x)]).unwrap();
        f.schedules()[0].schedule.rfactor
    };
    let text = program("argmax", DType::F64, "yield x, k", "yield at", "i64[n]");
    assert_eq!(told(&text, "", 1_000_000), Some(Some(16_384)));
    assert_eq!(told(&text, "", 32_768), Some(Some(2048)));
    assert_eq!(told(&text, "", 32_767), Some(None));
    assert_eq!(told(&text, "rfactor(off)", 1_000_000), Some(None));
    assert_eq!(told(&text, "rfactor(500)", 1000), Some(Some(500)));
    // A printed schedule is taken as it is.
    let f = compile(&text, "", Backend::Auto, 1);
    let x = Array2::from_shape_simple_fn((1, 40_000), fastrand::f64);
    f.call(&[Arg::from(&x)]).unwrap();
    let printed = f.schedules()[0].schedule.to_string();
    assert_eq!(told(&text, &printed, 40_000), f.schedules()[0].schedule.rfactor, "{printed}");
    // Where an element depends on its place, blocks are no rows of their own.
    let placed =
        program("argmax", DType::F64, "t0 = cast k, to=f64\n t1 = mul x, t0\n yield t1, k", "yield at", "i64[n]");
    assert_eq!(told(&placed, "", 1_000_000), Some(None));
    let sum = text
        .replace("yield x, k", "yield x")
        .replace("(argmax f64, i64) init first finish (s, at)", "(sum f64) finish (s)");
    assert_eq!(told(&sum.replace("yield at", "yield s").replace("i64", "f64"), "", 1_000_000), None);
}
