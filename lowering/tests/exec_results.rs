//! The memory of results: it is the caller's while anybody has a share in it, and used again when nobody has.

use ndarray::{Array1, ArrayD};
use rewright_ir::text::parse_module;
use rewright_ir::{Array, Datum, Element};
use rewright_lowering::exec::{Backend, Executable, Options, Results};

const SUM: &str = "func @f(%a: f64[n], %k: f64) -> f64[n] {
entry:
  %0 = add %a, %k
  ret %0
}";

fn compile_with(text: &str, options: Options) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    Executable::compile(&module, "f", options).unwrap()
}

fn compile(text: &str) -> Executable {
    compile_with(text, Options::default())
}

/// 0, 1, 2 and so on.
fn ramp(len: usize) -> Array1<f64> {
    (0..len).map(|i| i as f64).collect()
}

fn add(f: &Executable, a: &Array1<f64>, k: f64) -> Results {
    f.call(&[a.into(), k.into()]).unwrap()
}

#[track_caller]
fn is_sum(result: &Datum, a: &Array1<f64>, k: f64) {
    assert_eq!(result.to_array(), wrapped((a + k).into_dyn()));
}

fn wrapped<T: Element>(array: ArrayD<T>) -> Array {
    T::wrap(array.into_shared())
}

fn address(results: &Results) -> usize {
    match &results[0] {
        Datum::Array(Array::F64(a)) => a.as_ptr().addr(),
        other => panic!("no f64 array: {other}"),
    }
}

/// From one vector register to more than the system keeps itself: small ones, which threads keep, and others, which executables keep.
const LENGTHS: [usize; 6] = [1, 8, 1000, 5000, 100_000, 1_000_000];

#[test]
fn dropped_results_are_written_over_by_later_calls() {
    for len in LENGTHS {
        let (f, a) = (compile(SUM), ramp(len));
        let first = address(&add(&f, &a, 0.0));
        for k in 1..6 {
            let results = add(&f, &a, f64::from(k));
            is_sum(&results[0], &a, f64::from(k));
            assert!(address(&results) == first || len * 8 <= 16 << 10, "{len}: the same block");
        }
        let allocations = f.stats().allocations;
        assert!(allocations <= 3, "{len}: {allocations}");
        add(&f, &a, 1.0);
        assert_eq!(f.stats().allocations, allocations, "{len}");
    }
}

#[test]
fn results_that_live_are_never_written_to() {
    for len in LENGTHS {
        let (f, a) = (compile(SUM), ramp(len));
        let mut held: Vec<(f64, Vec<Datum>)> = Vec::new();
        for k in (0..24).map(f64::from) {
            let results = add(&f, &a, k);
            // Held as they are, as a share, as values of their own, or dropped.
            match k as usize % 4 {
                0 => held.push((k, results.to_vec())),
                1 => held.push((k, results.into_vec())),
                2 => held.push((k, results.clone().into_iter().collect())),
                _ => drop(results),
            }
        }
        held.iter().for_each(|(k, values)| is_sum(&values[0], &a, *k));
    }
}

#[test]
fn parts_of_results_keep_them() {
    for len in LENGTHS {
        let (f, a) = (compile(SUM), ramp(len));
        let parts: Vec<Array> = (0..5).map(|k| add(&f, &a, f64::from(k))[0].to_array().permuted(&[0])).collect();
        for (k, part) in parts.iter().enumerate() {
            assert_eq!(part.get(&[len - 1]), Some((len as f64 - 1.0 + k as f64).into()), "{len}");
        }
    }
}

#[test]
fn results_outlive_their_executable() {
    for len in LENGTHS {
        let (f, a) = (compile(SUM), ramp(len));
        let all: Vec<Results> = (0..4).map(|k| add(&f, &a, f64::from(k))).collect();
        drop(f);
        for (k, results) in all.into_iter().enumerate() {
            is_sum(&results[0], &a, k as f64);
        }
    }
}

#[test]
fn results_are_dropped_on_any_thread() {
    for len in LENGTHS {
        let (f, a) = (compile(SUM), ramp(len));
        std::thread::scope(|scope| {
            let (to, from) = std::sync::mpsc::channel::<(f64, Results)>();
            let a = &a;
            scope.spawn(move || from.into_iter().for_each(|(k, results)| is_sum(&results[0], a, k)));
            for k in (0..50).map(f64::from) {
                to.send((k, add(&f, a, k))).unwrap();
            }
        });
        // Others call at the same time.
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (f, a) = (&f, &a);
                scope.spawn(move || {
                    let mut last = None;
                    for k in (0..50).map(|k| f64::from(thread * 100 + k)) {
                        let results = add(f, a, k);
                        if let Some((k, last)) = last.replace((k, results)) {
                            is_sum(&Results::into_vec(last)[0], a, k);
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn what_is_kept_is_bounded() {
    const BLOCK: u64 = 100_000 * 8;
    let a = ramp(100_000);
    let kept = |kept_bytes: u64, count: usize| {
        let f = compile_with(SUM, Options { kept_bytes, ..Options::default() });
        let all: Vec<Results> = (0..count).map(|k| add(&f, &a, k as f64)).collect();
        assert_eq!(f.kept_bytes(), 0);
        drop(all);
        let kept = f.kept_bytes();
        f.trim();
        assert_eq!(f.kept_bytes(), 0);
        kept
    };
    // A block is up to a sixteenth larger than what is in it.
    let within = |bytes: u64, blocks: u64| (blocks * BLOCK..=blocks * BLOCK * 17 / 16).contains(&bytes);
    assert_eq!(kept(0, 5), 0);
    assert_eq!(kept(BLOCK - 1, 5), 0);
    assert!(within(kept(3 * BLOCK * 17 / 16, 5), 3));
    assert!(within(kept(u64::MAX, 5), 5));
    // However large the bound is, no more than 64 blocks.
    assert!(within(kept(u64::MAX, 70), 64));
}

#[test]
fn temporaries_are_kept_within_the_same_bound() {
    let text = "func @f(%a: f64[n]) -> f64 {
entry:
  %0 = mul %a, 2.0
  %1 = flip %0, axes=[0]
  %2 = sum %1
  ret %2
}";
    let a = ramp(100_000);
    for kept_bytes in [0, 64 << 20] {
        let f = compile_with(text, Options { kept_bytes, ..Options::default() });
        for _ in 0..3 {
            f.call(&[(&a).into()]).unwrap();
            assert!(f.kept_bytes() <= kept_bytes);
        }
    }
}

#[test]
fn arrays_that_were_taken_out_can_be_given_back() {
    let (f, a) = (compile(SUM), ramp(10_000));
    let taken = add(&f, &a, 1.0).into_vec().remove(0).to_array();
    assert_eq!(f.kept_bytes(), 0);
    let share = taken.clone();
    f.recycle(taken);
    assert_eq!(f.kept_bytes(), 0, "somebody has a share");
    f.recycle(share);
    assert!(f.kept_bytes() >= 80_000);
    let (allocations, results) = (f.stats().allocations, add(&f, &a, 2.0));
    is_sum(&results[0], &a, 2.0);
    assert_eq!((f.stats().allocations, f.kept_bytes()), (allocations, 0));
    f.recycle(wrapped(ArrayD::<f64>::zeros(vec![0])));
    assert_eq!(f.kept_bytes(), 0);
}

#[test]
fn results_without_elements_and_of_rank_0() {
    let empty = compile(SUM);
    let a = Array1::<f64>::zeros(0);
    for k in 0..12 {
        let results = add(&empty, &a, f64::from(k));
        assert_eq!(results[0].to_array().shape(), [0]);
    }
    assert_eq!(empty.kept_bytes(), 0);
    let point =
        compile("func @f(%a: f64[]) -> f64[], f64 {\nentry:\n  %0 = mul %a, 2.0\n  %1 = item %0\n  ret %0, %1\n}");
    for k in (0..12).map(f64::from) {
        let results = point.call(&[(&ndarray::arr0(k)).into()]).unwrap();
        assert_eq!(
            results,
            [Datum::Array(wrapped(ndarray::arr0(2.0 * k).into_dyn())), Datum::Scalar((2.0 * k).into())]
        );
    }
}

#[test]
fn blocks_serve_other_dtypes_and_shapes_and_sizes() {
    let text = "func @f(%a: i64[n, m], %b: u8[k]) -> f64[n, m], i64[m, n], bool[k], u8[k] {
entry:
  %0 = mul %a, 0.5
  %1 = transpose %a, perm=[1, 0]
  %2 = add %1, 1
  %3 = gt %b, 2
  %4 = add %b, 200
  ret %0, %2, %3, %4
}";
    let (f, reference) = (compile(text), {
        let module = parse_module(text, "test").unwrap();
        Executable::compile(&module, "f", Options { backend: Backend::Reference, ..Options::default() }).unwrap()
    });
    for (n, m) in [(3, 4), (100, 80), (80, 100), (81, 100), (100, 81), (40, 200), (100, 80), (1, 1), (0, 5)] {
        let a = ndarray::Array2::from_shape_fn((n, m), |(i, j)| (i * 1000 + j) as i64);
        let b = Array1::from_shape_fn(n * m, |i| (i % 7) as u8);
        for _ in 0..4 {
            let args = [(&a).into(), (&b).into()];
            assert_eq!(f.call(&args).unwrap(), reference.call(&args).unwrap(), "{n}, {m}");
        }
    }
}

#[test]
fn arrays_of_nearly_the_same_size_share_blocks() {
    let f = compile(SUM);
    for len in (100_000..104_000).step_by(100) {
        let a = ramp(len);
        is_sum(&add(&f, &a, 1.0)[0], &a, 1.0);
    }
    assert!(f.stats().allocations <= 2, "{:?}", f.stats());
}

#[test]
fn results_in_another_order_of_axes_are_used_again_too() {
    let f = compile("func @f(%a: f64[n, m]) -> f64[n, m] {\nentry:\n  %0 = add %a, 1.0\n  ret %0\n}");
    let a = ndarray::Array2::from_shape_fn((60, 70), |(i, j)| (100 * i + j) as f64);
    for _ in 0..4 {
        for view in [a.view(), a.view().reversed_axes()] {
            let results = f.call(&[view.into()]).unwrap();
            assert_eq!(results[0].to_array(), wrapped((&view + 1.0).into_dyn()));
        }
    }
}
