//! Rows that are combined several at once, on the lanes of one vector each: of a rest, of a round and of
//! several leaves, on every backend.

use crate::support::every::Every;
use ndarray::{Array1, Array2, Ix2, SliceInfo, SliceInfoElem, s};
use num_complex::Complex;
use rewright_ir::Element;
use rewright_lowering::exec::Arg;

/// The points of rows: of up to a round, with every rest; of one leaf and of several; of a part and more.
const POINTS: [usize; 21] =
    [7, 31, 33, 40, 63, 64, 65, 79, 100, 128, 250, 511, 512, 513, 545, 1000, 1025, 1600, 2049, 8192, 8200];
/// Rows fewer than lanes, as many, and more.
const ROWS: [usize; 6] = [2, 7, 8, 9, 17, 35];

/// The reductions of a row, and the number of results of each.
fn reductions(dtype: &str) -> Vec<(String, usize)> {
    let mut all = vec![
        (format!("    t0 = mul x, y\n    yield t0\n  }} reduce (sum {dtype})"), 1),
        (format!("    yield x, y\n  }} reduce (dot {dtype}, {dtype}) finish (a, b) {{\n    yield a\n  }}"), 1),
        (
            format!(
                "    t0 = mul x, x\n    yield x, t0\n  }} reduce (sum {dtype}) reduce (sum {dtype}) finish (a, b) {{\n    t0 = mul a, w\n    t1 = sub b, t0\n    yield a, t1\n  }}"
            ),
            2,
        ),
    ];
    if !dtype.starts_with('c') {
        all.push((format!("    t0 = add x, y\n    yield t0\n  }} reduce (max {dtype})"), 1));
        all.push((format!("    yield x, y\n  }} reduce (min {dtype}) reduce (prod {dtype})"), 2));
    }
    all
}

fn check<T: Element>(dtype: &str, of: impl Fn(usize) -> T)
where
    for<'a> Arg<'a>: From<&'a Array1<T>> + From<ndarray::ArrayView2<'a, T>>,
{
    type Slices = SliceInfo<[SliceInfoElem; 2], Ix2, Ix2>;
    let slices: [fn(usize, usize) -> Slices; 3] =
        [|n, m| s![..n, 1..=m], |n, m| s![..n;-1, ..m], |n, m| s![..n, ..2 * m;2]];
    for (reduction, results) in reductions(dtype) {
        let types = vec![format!("{dtype}[n]"); results].join(", ");
        let names = (0..results).map(|n| format!("%r{n}")).collect::<Vec<_>>().join(", ");
        let f = Every::new(&format!(
            "func @f(%x: {dtype}[n, m], %y: {dtype}[m], %w: {dtype}[n]) -> {types} {{
entry:
  {names} = arrayexpr [i: n, k: reduce m] (x = %x[i, k], y = %y[k], w = %w[i]) {{
{reduction} : {types}
  ret {names}
}}"
        ))
        .all_kernels();
        for m in POINTS {
            for n in ROWS.into_iter().filter(|n| n * m <= 20_000) {
                let x = Array2::from_shape_fn([n, 2 * m + 1], |(i, k)| of(i * 31 + k * 7));
                let (y, w) = (Array1::from_shape_fn(m, |k| of(k * 5)), Array1::from_shape_fn(n, &of));
                for slice in slices {
                    let view = x.slice(slice(n, m));
                    f.call(&[Arg::from(view), Arg::from(&y), Arg::from(&w)]);
                }
            }
        }
    }
}

#[test]
fn floats() {
    let number = |n: usize| ((n * 37) % 101) as f64 / 16.0 - 3.0;
    check("f64", |n| if n % 997 == 996 { f64::NAN } else { number(n) });
    check("f32", |n| number(n) as f32 * 1.1);
}

#[test]
fn integers_and_pairs() {
    check("i64", |n| (n * 37 % 101) as i64 - 50);
    check("i32", |n| (n * 37 % 101) as i32 - 50);
    check("c128", |n| Complex::new((n * 37 % 101) as f64 / 16.0 - 3.0, (n * 11 % 29) as f64));
    check("c64", |n| Complex::new((n * 37 % 101) as f32 / 16.0 - 3.0, (n * 11 % 29) as f32));
}
