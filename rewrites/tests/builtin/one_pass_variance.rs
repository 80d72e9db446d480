//! Sums and sums of squared differences in one pass: their distance from the exact ones, for integers,
//! whatever the first elements are.

use crate::parse;
use proptest::prelude::*;
use proptest::sample::select;
use rewright_ir::{Array, DType, Datum, Limits, Module, Scalar, evaluate_function, verify_module};
use rewright_rewrites::rule::Liberties;
use rewright_rewrites::{NoObserver, Options, Pipeline};

/// The distribution of the elements.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Near one number.
    Around,
    /// The sample is far away from the rest.
    FarAway,
    /// The first element is far away from the rest.
    Outlier,
    /// Increasing.
    Growing,
    /// All equal.
    Same,
}

/// An array of integers that the dtype represents exactly, although it does not represent their sums.
#[derive(Clone, Debug)]
struct Elements {
    kind: Kind,
    center: i64,
    /// The number of bits by which elements differ at most.
    bits: u32,
    seed: u64,
}

impl Elements {
    fn at(&self, n: usize, is_sampled: bool) -> i64 {
        // Weyl's sequence, mixed.
        let mixed = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(self.seed);
        let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let noise = (mixed >> (64 - self.bits)) as i64 - (1 << (self.bits - 1));
        match self.kind {
            Kind::Around => self.center + noise,
            Kind::FarAway if is_sampled => (64 << self.bits) + noise,
            Kind::Outlier if n == 0 => 64 << self.bits,
            Kind::FarAway | Kind::Outlier => noise,
            Kind::Growing => n as i64 + noise,
            Kind::Same => self.center,
        }
    }
}

fn elements(dtype: DType) -> impl Strategy<Value = Elements> {
    let (bits, center) = if dtype == DType::F64 { (2..40u32, 44) } else { (2..16u32, 22) };
    let kind = select(vec![Kind::Around, Kind::FarAway, Kind::Outlier, Kind::Growing, Kind::Same]);
    let parts = (kind, -(1i64 << center)..1 << center, bits, any::<u64>());
    parts.prop_map(|(kind, center, bits, seed)| Elements { kind, center, bits, seed })
}

/// Whether a variance of an array of some extent, divided by `count`, becomes one pass; `before` computes
/// the count.
fn is_one_pass(extent: &str, before: &str, count: &str) -> bool {
    let text = format!(
        "func @f(%x: f64[{extent}]) -> f64 {{\nentry:\n{before}  %t = sum %x\n  %m = div %t, {count}\n  %c = sub %x, %m\n  \
         %s = mul %c, %c\n  %v = sum %s\n  ret %v\n}}"
    );
    rewritten("one-pass-variance", &text).1 == 1
}

/// The module after a pipeline, and the number of the rewrite's applications.
fn rewritten(pipeline: &str, text: &str) -> (Module, u64) {
    let mut module = parse(text);
    let options = Options { liberties: Liberties::REASSOCIATE | Liberties::NO_INF, ..Options::default() };
    let report = Pipeline::parse(pipeline).unwrap().run(&mut module, &options, &mut NoObserver).unwrap();
    assert_eq!(verify_module(&module), Ok(()));
    (module, report.applied("one-pass-variance"))
}

#[test]
fn it_looks_at_no_count_for_long() {
    // Each product is the square of the previous one: 2^60 factors.
    let twice: String = (1..60).map(|n| format!("  %{n} = mul %{}, %{}\n", n - 1, n - 1)).collect();
    assert!(!is_one_pass("n", &format!("  %0 = mul 1, 1\n{twice}  %n = cast %59, to=f64\n"), "%n"));
    // More bytes than 64 bits can count.
    assert!(is_one_pass("4611686018427387904", "", "4611686018427387904.0"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_is_as_near_as_it_says(
        (dtype, elements) in select(vec![DType::F64, DType::F32]).prop_flat_map(|dtype| (Just(dtype), elements(dtype))),
        (rows, width) in prop_oneof![(Just(0), 0..30_000usize), (0..200usize, 0..200usize)],
    ) {
        let (shape, dims) = if rows == 0 { (vec![width], "n") } else { (vec![rows, width], "n, m") };
        let count: usize = shape.iter().product();
        let (of, counted) = (dtype.name(), if rows == 0 { "%0" } else { "%2" });
        let text = format!(
            "func @f(%x: {of}[{dims}]) -> {of}, {of} {{\nentry:\n  %0 = dim %x, axis=0\n  %1 = dim %x, axis=-1\n  %2 = mul %0, %1\n  \
             %3 = cast {counted}, to={of}\n  %4 = sum %x\n  %5 = div %4, %3\n  %6 = sub %x, %5\n  %7 = mul %6, %6\n  %8 = sum %7\n  \
             ret %4, %8\n}}"
        );
        let (module, applied) = rewritten("one-pass-variance, default", &text);
        prop_assert_eq!(applied, 1);

        let (is_sampled, sample): (Box<dyn Fn(usize) -> bool>, usize) = match rows {
            0 => (Box::new(|n| n < 4096), width.min(4096)),
            _ => (Box::new(|n| n / width < 64 && n % width < 64), rows.min(64) * width.min(64)),
        };
        let numbers: Vec<i64> = (0..count).map(|n| elements.at(n, is_sampled(n))).collect();
        let array = Array::from_fn(dtype, &shape, |n| Scalar::F64(numbers[n] as f64).cast(dtype)).unwrap();
        let func = module.functions().next().unwrap();
        let outcome = evaluate_function(func, vec![Datum::Array(array)], Limits::default()).unwrap();
        let found = |n: usize| outcome.results[n].to_array().iter().next().unwrap().to_f64();

        if count == 0 {
            prop_assert_eq!([found(0), found(1)], [0.0, 0.0]);
            return Ok(());
        }
        // Exact: sums of products of integers, with one rounding at the end.
        let (n, total): (i128, i128) = (count as i128, numbers.iter().map(|&x| i128::from(x)).sum());
        let squares: i128 = numbers.iter().map(|&x| i128::from(x) * i128::from(x)).sum();
        let magnitudes: i128 = numbers.iter().map(|&x| i128::from(x.abs())).sum();
        let spread = (n * squares - total * total) as f64 / n as f64;

        let unit = if dtype == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let greatest = numbers.iter().map(|x| x.abs()).max().unwrap_or(0) as f64;
        let (times, n) = (n as f64 / sample as f64, n as f64);
        // The expected number is itself rounded.
        let rounded = n * (8.0 * unit * greatest).powi(2);
        let most = 8.0 * unit * (times * spread + rounded);
        prop_assert!((found(1) - spread).abs() <= most, "{} for {}, within {}", found(1), spread, most);
        prop_assert!(found(1) >= 0.0);
        let most = 8.0 * unit * times * magnitudes as f64;
        prop_assert!((found(0) - total as f64).abs() <= most, "{} for {}, within {}", found(0), total, most);
    }
}
