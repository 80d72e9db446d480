//! Long rows that are combined leaf by leaf, of more arrays than there are registers for their addresses: by every backend, from the beginning and
//! from the end, with some arrays copied since their elements are apart.

use crate::support::every::Every;
use ndarray::{Array1, ArrayView1, s};
use num_complex::Complex;
use rewright_ir::Element;
use rewright_ir::text::parse_module;
use rewright_lowering::exec::{Arg, Backend, Executable, Options};
use std::num::NonZeroU32;

/// Extents of no, one and several leaves, with and without a rest.
const EXTENTS: [usize; 8] = [3, 511, 512, 513, 1024, 1700, 2048, 5000];

/// The sum of a product of so many arrays, the first by `of`, and then the same of the first array minus that sum, which is read from the end on.
fn function(arrays: usize, dtype: &str, of: &str) -> String {
    let list = |each: &dyn Fn(usize) -> String| (0..arrays).map(each).collect::<Vec<_>>().join(", ");
    let params = list(&|n| format!("%a{n}: {dtype}[n]"));
    let operands = list(&|n| format!("a{n} = %a{n}[i]"));
    // From the instruction with this number on.
    let product = |first: usize| -> String {
        let factor = |n: usize| format!("    t{} = mul t{}, a{n}\n", first + n - 1, first + n - 2);
        let yields = format!("    yield t{}\n", first + arrays - 2);
        (1..arrays).map(factor).chain([yields]).collect()
    };
    let (once, again) = (product(1), product(2));
    format!(
        "func @f({params}) -> {dtype}, {dtype} {{
entry:
  %0 = arrayexpr [i: reduce n] ({operands}) {{
    t0 = {of} a0
{once}  }} reduce (sum {dtype}) : {dtype}[]
  %1 = item %0
  %2 = arrayexpr [i: reduce n] (x = %1, {operands}) {{
    t0 = sub a0, x
    t1 = {of} t0
{again}  }} reduce (sum {dtype}) : {dtype}[]
  %3 = item %2
  ret %1, %3
}}"
    )
}

/// The first n elements, every second one of twice as many, or those from the n-th one back.
fn view<T>(array: &Array1<T>, n: usize, step: isize) -> ArrayView1<'_, T> {
    match step {
        2 => array.slice(s![..;2]),
        step => array.slice(s![..n;step]),
    }
}

#[test]
fn leaves_follow_one_another_in_all_rows() {
    for (arrays, of) in [(1, "abs"), (2, "neg"), (6, "abs"), (9, "neg"), (14, "abs"), (5, "sin"), (3, "lgamma")] {
        let f = Every::new(&function(arrays, "f64", of)).all_kernels();
        for n in EXTENTS {
            let element = |k: usize, i: usize| 0.5 + ((i * (k + 3) + k) % 17) as f64 / 16.0;
            let long: Vec<_> = (0..arrays).map(|k| Array1::from_shape_fn(2 * n, |i| element(k, i))).collect();
            // All adjacent; elements of one apart, and one from its end.
            for (odd, step) in [(0, 1), (0, 2), (arrays - 1, 2), (arrays / 2, -1)] {
                let step_of = |k: usize| if k == odd { step } else { 1 };
                let args: Vec<Arg<'_>> =
                    long.iter().enumerate().map(|(k, a)| Arg::from(view(a, n, step_of(k)))).collect();
                f.call(&args);
            }
        }
    }
}

#[test]
fn so_do_those_of_pairs_and_of_small_elements() {
    fn all<T: Element>(dtype: &str, of: &str, element: impl Fn(usize) -> T)
    where
        for<'a> Arg<'a>: From<ArrayView1<'a, T>>,
    {
        let f = Every::new(&function(10, dtype, of));
        for n in EXTENTS {
            let long = (0..10).map(|k| Array1::from_shape_fn(2 * n, |i| element(i * (k + 3) % 17)));
            let long: Vec<Array1<T>> = long.collect();
            for step in [1, 2, -1] {
                let step_of = |k: usize| if k == 4 { step } else { 1 };
                let args: Vec<Arg<'_>> =
                    long.iter().enumerate().map(|(k, a)| Arg::from(view(a, n, step_of(k)))).collect();
                f.call(&args);
            }
        }
    }
    let part = |i: usize| 0.5 + i as f64 / 16.0;
    all("c128", "neg", |i| Complex::new(part(i), 0.25 - part(i) / 2.0));
    all("c64", "neg", |i| Complex::new(part(i) as f32, 0.25));
    all("f32", "abs", |i| part(i) as f32);
    all("i16", "abs", |i| i as i16 - 8);
}

/// Small elements, read a second time for a total of floats, which is not combined in any order.
const SMALL: &str = "func @f(%a: i8[n]) -> i64, f64 {
entry:
  %0 = sum %a
  %1 = arrayexpr [i: reduce n] (a = %a[i]) {
    t0 = cast a, to=f64
    t1 = div t0, 7.0
    yield t1
  } reduce (sum f64) : f64[]
  %2 = item %1
  ret %0, %2
}";

/// Pairs, with few instructions for each.
const PAIRS: &str = "func @f(%a: c128[n]) -> c128, c128 {
entry:
  %0 = sum %a
  %1 = arrayexpr [i: reduce n] (x = %0, a = %a[i]) {
    t0 = sub a, x
    yield t0
  } reduce (sum c128) : c128[]
  %2 = item %1
  ret %0, %2
}";

/// Reads a row twice, the second time from its end on, for two totals.
const TWO_TOTALS: &str = "func @f(%a: f64[n]) -> f64, f64, f64 {
entry:
  %0 = sum %a
  %1, %2 = arrayexpr [i: reduce n] (x = %0, a = %a[i]) {
    t0 = sub a, x
    t1 = mul t0, a
    yield t0, t1
  } reduce (sum f64) reduce (sum f64) : f64[], f64[]
  %3 = item %1
  %4 = item %2
  ret %0, %3, %4
}";

/// Rows of 2 MB, of 5 and 6 pieces of 512 KB, and with a rest.
#[test]
fn rows_beyond_the_caches_come_to_the_same_bits() {
    long_rows(&[262_143, 327_680, 401_234]);
}

#[test]
#[ignore = "a sweep: also rows that are longer than last-level caches"]
fn rows_of_all_lengths_beyond_the_caches_come_to_the_same_bits() {
    long_rows(&[262_143, 262_144, 262_145, 327_680, 327_681, 393_215, 401_234, 2_300_000, 4_300_000, 6_291_457]);
}

/// Sums rows of these lengths, and of others in further functions.
fn long_rows(extents: &[usize]) {
    fn all<T: Element + Copy>(text: &str, arrays: usize, extents: &[usize], element: impl Fn(usize) -> T)
    where
        for<'a> Arg<'a>: From<ArrayView1<'a, T>>,
    {
        let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
        let alone = |backend| {
            let options = Options { backend, threads: NonZeroU32::new(1), ..Options::default() };
            Executable::compile(&module, "f", options).unwrap()
        };
        let plain = alone(Backend::Interp);
        let by_kernels = |backend: &Backend| !matches!(backend, Backend::Reference | Backend::Interp);
        let ways: Vec<_> = Backend::available().filter(by_kernels).map(|backend| (backend, alone(backend))).collect();
        for &n in extents {
            let long = (0..arrays).map(|k| Array1::from_shape_fn(2 * n, |i| element(i * (2 * k + 3) % 1021)));
            let long: Vec<Array1<T>> = long.collect();
            for step in [1, 2, -1].into_iter().filter(|&step| step == 1 || n < 1 << 20) {
                let args: Vec<Arg<'_>> = long.iter().map(|a| Arg::from(view(a, n, step))).collect();
                let wanted = plain.call(&args).unwrap();
                for (backend, f) in &ways {
                    assert_eq!(f.call(&args).unwrap(), wanted, "{n} by {backend:?}, {step} apart:\n{text}");
                }
            }
        }
    }
    all(&function(1, "f64", "neg"), 1, extents, |i| 0.1 + i as f64 / 16.0);
    all(&function(3, "f64", "neg"), 3, &[87_382, 98_304, 100_001], |i| 0.1 + i as f64 / 64.0);
    all(&function(1, "f32", "neg"), 1, &[524_288, 655_361, 800_000], |i| 0.1 + i as f32 / 16.0);
    // A piece that is one part.
    all(&function(6, "f64", "neg"), 6, &[43_690, 49_152, 50_001], |i| 0.1 + i as f64 / 64.0);
    all(SMALL, 1, &[2_097_152, 2_621_443], |i| i as i8);
    all(TWO_TOTALS, 1, &[262_144, 333_333], |i| 0.1 + i as f64 / 64.0);
    all(PAIRS, 1, &[131_072, 163_841], |i| Complex::new(i as f64 / 7.0, 0.25));
}
