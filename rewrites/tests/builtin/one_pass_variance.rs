//! Sums and sums of squared differences in one pass: how far they are from the exact ones, of integers, whatever the first elements are.

use crate::parse;
use proptest::prelude::*;
use proptest::sample::select;
use rewright_ir::{Array, DType, Datum, Limits, Scalar, evaluate_function, verify_module};
use rewright_rewrites::rule::Liberties;
use rewright_rewrites::{NoObserver, Options, Pipeline};

/// The elements of a row that the mean is guessed from.
const SAMPLE: usize = 4096;

/// What the elements are like.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Some about one.
    Around,
    /// The first ones are all the same, and far away from the rest.
    FarAway,
    /// They grow.
    Growing,
    /// They are all the same.
    Same,
}

/// Integers that the dtype holds: of 20 bits, and where they differ little, of all that it has.
fn elements(kind: Kind, dtype: DType, count: usize, center: i64, noise: &[i64]) -> Vec<i64> {
    let center = if dtype == DType::F64 { center << 28 } else { center };
    let noise = |n: usize| noise[n % noise.len()] * (1 + (n / noise.len()) as i64 % 7);
    let at = |n: usize| match kind {
        Kind::Around => center + noise(n),
        Kind::FarAway if n < SAMPLE => 1 << 20,
        Kind::FarAway => noise(n),
        Kind::Growing => n as i64 * 16 + noise(n),
        Kind::Same => center + 1,
    };
    (0..count).map(at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_is_as_near_as_it_says(
        dtype in select(vec![DType::F64, DType::F32]),
        kind in select(vec![Kind::Around, Kind::FarAway, Kind::Growing, Kind::Same]),
        (rows, width) in prop_oneof![(Just(0), 1..30_000usize), (1..9usize, 1..3_000usize)],
        center in -(1i64 << 20)..1 << 20,
        noise in prop::collection::vec(-9i64..10, 1..40),
    ) {
        let (shape, dims) = if rows == 0 { (vec![width], "n") } else { (vec![rows, width], "n, m") };
        let count: usize = shape.iter().product();
        let (of, counted) = (dtype.name(), if rows == 0 { "%0" } else { "%2" });
        let text = format!(
            "func @f(%x: {of}[{dims}]) -> {of}, {of} {{\nentry:\n  %0 = dim %x, axis=0\n  %1 = dim %x, axis=-1\n  %2 = mul %0, %1\n  \
             %3 = cast {counted}, to={of}\n  %4 = sum %x\n  %5 = div %4, %3\n  %6 = sub %x, %5\n  %7 = mul %6, %6\n  %8 = sum %7\n  \
             ret %4, %8\n}}"
        );
        let mut module = parse(&text);
        let options = Options { liberties: Liberties::all(), ..Options::default() };
        let report = Pipeline::parse("one-pass-variance, default").unwrap().run(&mut module, &options, &mut NoObserver).unwrap();
        prop_assert_eq!(report.applied("one-pass-variance"), 1);
        prop_assert_eq!(verify_module(&module), Ok(()));

        let numbers = elements(kind, dtype, count, center, &noise);
        let array = Array::from_fn(dtype, &shape, |n| Scalar::F64(numbers[n] as f64).cast(dtype)).unwrap();
        let func = module.functions().next().unwrap();
        let outcome = evaluate_function(func, vec![Datum::Array(array)], Limits::default()).unwrap();
        let found = |n: usize| outcome.results[n].to_array().iter().next().unwrap().to_f64();

        // Exact: sums of products of integers, one rounding at the end.
        let (n, total): (i128, i128) = (count as i128, numbers.iter().map(|&x| i128::from(x)).sum());
        let squares: i128 = numbers.iter().map(|&x| i128::from(x) * i128::from(x)).sum();
        let spread = (n * squares - total * total) as f64 / n as f64;

        let unit = if dtype == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let greatest = numbers.iter().map(|x| x.abs()).max().unwrap_or(0) as f64;
        let (sample, n) = (width.min(SAMPLE) as f64, n as f64);
        // The number that elements are compared with is itself rounded.
        let rounded = n * (8.0 * unit * greatest).powi(2);
        let most = 16.0 * unit * (n / sample * spread + rounded);
        prop_assert!((found(1) - spread).abs() <= most, "{} for {}, within {}", found(1), spread, most);
        prop_assert!(found(1) >= 0.0);
        let most = 16.0 * unit * n * greatest;
        prop_assert!((found(0) - total as f64).abs() <= most, "{} for {}", found(0), total);
    }
}
