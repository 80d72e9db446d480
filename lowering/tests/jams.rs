//! Rows that are unrolled and jammed: the bits of single rows, for all dtypes, layouts and numbers of rows.

use crate::support::every::Every;
use crate::support::scheduled::{blocks, compile, is_avx512};
use ndarray::{Array1, Array2, Array3, Axis, s};
use rewright_ir::text::parse_module;
use rewright_ir::{Array, DType, Datum, Element, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};
use rewright_lowering::internals::schedule::Block;
use std::num::NonZeroU32;

/// The schedules by hand: in blocks, with copies of the shared elements, and with another number of rows.
const GIVEN: [&str; 4] = [
    "reorder(i, k) unroll_and_jam(i, 2)",
    "reorder(i, k) unroll_and_jam(i, 16)",
    "reorder(i, k) split(i, 7) stage(y, k) unroll_and_jam(i, 3)",
    "reorder(i, k) split(i, 5) stage(x, i, k) unroll_and_jam(i, 5) parallel(threads=2, chunk=3)",
];

fn filled(dtype: DType, shape: &[usize], seed: u64) -> Array {
    let mut random = fastrand::Rng::with_seed(seed);
    Array::from_fn(dtype, shape, |_| Scalar::F64(f64::from(random.u8(0..20)) / 4.0 - 2.0).cast(dtype)).unwrap()
}

fn jammed_rows(f: &Executable) -> Option<u64> {
    blocks(f).iter().find_map(|block| if let Block::Jam { by, .. } = block { Some(*by) } else { None })
}

/// Two reductions of rows that share `y`, with an operand and an index in the epilogue.
fn text(dtype: DType, reductions: [&str; 2]) -> String {
    let [first, second] = reductions;
    format!(
        "func @f(%x: {dtype}[n, m], %y: {dtype}[m], %z: {dtype}[n]) -> {dtype}[n], {dtype}[n] {{
entry:
  %0, %1 = arrayexpr SCHEDULE [i: n, k: reduce m] (x = %x[i, k], y = %y[k], z = %z[i]) {{
    t0 = add x, y
    t1 = add t0, z
    t2 = mul x, y
    yield t1, t2
  }} reduce ({first} {dtype}) reduce ({second} {dtype}) finish (a, b) {{
    t0 = add a, z
    yield t0, b
  }} : {dtype}[n], {dtype}[n]
  ret %0, %1
}}"
    )
}

#[test]
fn jammed_rows_have_the_bits_of_single_rows() {
    for (dtype, reductions) in DType::ALL.into_iter().flat_map(|dtype| match dtype {
        DType::Bool => vec![(dtype, ["any", "all"])],
        dtype if dtype.is_complex() => vec![(dtype, ["sum", "sum"]), (dtype, ["prod", "prod"])],
        dtype => vec![(dtype, ["sum", "max"]), (dtype, ["prod", "prod"]), (dtype, ["min", "max"])],
    }) {
        let text = text(dtype, reductions);
        let text = if dtype.is_bool() { text.replace("add ", "xor ").replace("mul ", "and ") } else { text };
        let plain = compile(&text, "unblocked", Backend::Interp, 1);
        let given: Vec<Executable> = Backend::available()
            .filter(|backend| *backend != Backend::Reference)
            .flat_map(|backend| GIVEN.map(|schedule| compile(&text, schedule, backend, 2)))
            .collect();
        for (n, m) in [(1, 5), (2, 33), (16, 600), (19, 1), (37, 70), (6, 4_200)] {
            let (x, y, z) = (filled(dtype, &[n, m], 1), filled(dtype, &[m], 2), filled(dtype, &[n], 3));
            let reversed = rewright_ir::with_dtype!(dtype, T => {
                let mut rows = <T as Element>::unwrap(&x).unwrap().clone();
                rows.invert_axis(Axis(0));
                rows.invert_axis(Axis(1));
                T::wrap(rows)
            });
            for x in [&x, &reversed] {
                let args: [Arg<'_>; 3] = [x.into(), (&y).into(), (&z).into()];
                let want = plain.call(&args).unwrap();
                for (number, f) in given.iter().enumerate() {
                    let found = f.call(&args).unwrap_or_else(|e| panic!("{e}"));
                    let same = |(a, b): (&Datum, &Datum)| a.to_array().same_bits(&b.to_array());
                    assert!(want.iter().zip(&found).all(same), "{dtype} {reductions:?} {n} x {m}, {number}");
                    assert!(n == 1 || m == 1 || jammed_rows(f).is_some(), "{dtype} {n} x {m}: {:?}", blocks(f));
                }
            }
        }
    }
}

/// By default where a row shares more than 16 KiB, in batches and in parts of threads, too.
#[test]
fn long_shared_rows_are_jammed() {
    let product = "func @f(%x: f64[n, m], %y: f64[m]) -> f64[n] {
entry:
  %0 = arrayexpr SCHEDULE [i: n, k: reduce m] (x = %x[i, k], y = %y[k]) {
    t0 = mul x, y
    yield t0
  } reduce (sum f64) : f64[n]
  ret %0
}";
    let f = compile(product, "", Backend::Auto, 1);
    let every = Every::new(&product.replace("SCHEDULE", ""));
    for (n, m) in [(3, 2_100), (4, 2_049), (5, 8_192), (6, 8_193), (7, 16_384), (90, 2_048), (9, 20_000)] {
        let x = Array2::from_shape_fn((n, m), |(i, k)| ((i * 31 + k * 7) % 113) as f64 / 3.0 - 17.0);
        let y = Array1::from_shape_fn(m, |k| ((k * 11) % 97) as f64 / 7.0 - 5.0);
        for x in [x.view(), x.slice(s![..;-1, ..]), x.slice(s![.., ..;-1])] {
            let args = [Arg::from(x), Arg::from(&y)];
            assert_eq!(f.call(&args).unwrap(), every.call(&args), "{n} x {m}");
            let rows = jammed_rows(&f);
            assert_eq!(rows.is_some(), is_avx512(&f) && m > 2_048 && n > 2, "{n} x {m}: {rows:?}");
        }
    }
    let batches = "func @f(%x: f64[l, n, m], %y: f64[l, m]) -> f64[l, n] {
entry:
  %0 = arrayexpr [h: l, i: n, k: reduce m] (x = %x[h, i, k], y = %y[h, k]) {
    t0 = sub x, y
    t1 = abs t0
    yield t1
  } reduce (max f64) : f64[l, n]
  ret %0
}";
    let every = Every::new(batches);
    let module = parse_module(batches, "test").unwrap();
    let options = |threads| Options { threads: NonZeroU32::new(threads), ..Options::default() };
    let threads = [1, 2, 3].map(|threads| Executable::compile(&module, "f", options(threads)).unwrap());
    for (l, n, m) in [(3, 11, 3_000), (1, 130, 2_500), (60, 4, 2_100)] {
        let x = Array3::from_shape_fn((l, n, m), |(h, i, k)| ((h * 5 + i * 31 + k * 7) % 113) as f64 - 50.0);
        let y = Array2::from_shape_fn((l, m), |(h, k)| ((h + k * 11) % 97) as f64 / 7.0);
        let args = [Arg::from(&x), Arg::from(&y)];
        let want = every.call(&args);
        // The third call is replayed.
        threads.iter().for_each(|f| (0..4).for_each(|_| assert_eq!(f.call(&args).unwrap(), want, "{l} {n} {m}")));
    }
}
