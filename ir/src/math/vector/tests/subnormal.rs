//! Subnormal results, which are rounded to fewer places, most of them a second time. They are compared with
//! the exact value times [`lift`], because double-doubles lose their second parts near subnormal numbers.

use super::{Dd, ERRORS, ROOT_OF_PI, Rng, atan2, budget, double, double_double, erf, log, worst};

const PLACES: i32 = 200;

/// 2 to the power of [`PLACES`].
fn lift() -> f64 {
    2f64.powi(PLACES)
}

/// The exponential of `log`, times [`lift`].
fn lifted_exp(log: Dd) -> Dd {
    (log + double_double::LN_2 * Dd::new(PLACES.into())).exp()
}

fn lifted_erfc(x: f64) -> Dd {
    let fraction = (1..100).rev().fold(Dd::new(x), |rest, n| Dd::new(x) + Dd::new(f64::from(n) / 2.0) / rest);
    lifted_exp(-Dd::product(x, x)) / (fraction * ROOT_OF_PI)
}

/// A function, arguments with subnormal results, and the exact results times [`lift`].
struct Case {
    name: &'static str,
    of: fn(f64, f64) -> f64,
    arguments: fn(&mut Rng) -> (f64, f64),
    lifted: fn(f64, f64) -> Dd,
}

fn between(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least + rng.f64() * (most - least)
}

/// A positive number around the smallest normal one.
fn small(rng: &mut Rng) -> f64 {
    f64::MIN_POSITIVE * 2.0 * 2f64.powf(-rng.f64() * rng.f64() * 52.0)
}

const CASES: &[Case] = &[
    Case {
        name: "exp",
        of: |x, _| double::exp(x),
        arguments: |rng| (between(rng, -712.0, -708.0), 0.0),
        lifted: |x, _| lifted_exp(Dd::new(x)),
    },
    Case {
        name: "exp2",
        of: |x, _| double::exp2(x),
        arguments: |rng| (between(rng, -1028.0, -1021.0), 0.0),
        // The sum is exact.
        lifted: |x, _| (double_double::LN_2 * Dd::new(x + f64::from(PLACES))).exp(),
    },
    Case {
        name: "logistic",
        of: |x, _| double::logistic(x),
        arguments: |rng| (between(rng, -712.0, -708.0), 0.0),
        lifted: |x, _| lifted_exp(Dd::new(x)),
    },
    Case {
        name: "erf",
        of: |x, _| double::erf(x),
        arguments: |rng| (small(rng), 0.0),
        // Linear for such arguments.
        lifted: |x, _| erf(x * lift()),
    },
    Case {
        name: "erfc",
        of: |x, _| double::erfc(x),
        arguments: |rng| (between(rng, 26.53, 26.65), 0.0),
        lifted: |x, _| lifted_erfc(x),
    },
    Case {
        name: "atan2",
        of: double::atan2,
        arguments: |rng| {
            let x = 2f64.powf(between(rng, 0.0, 300.0));
            (small(rng) * x, x)
        },
        lifted: |y, x| atan2(Dd::new(y * lift()), Dd::new(x)),
    },
    Case {
        name: "hypot",
        of: double::hypot,
        arguments: |rng| (small(rng), small(rng)),
        // Scales by more in between, for the squares.
        lifted: |x, y| {
            let [more, less] = [2f64.powi(500), 2f64.powi(-500)];
            Dd::sum_of_squares(x * more * lift(), y * more * lift()).sqrt().scale(less)
        },
    },
    Case {
        name: "power",
        of: double::power,
        arguments: |rng| {
            let x = between(rng, 0.01, 0.9);
            (x, between(rng, -712.0, -708.0) / x.ln())
        },
        lifted: |x, y| lifted_exp(log(x) * Dd::new(y)),
    },
];

#[test]
fn subnormal_results_are_near_as_stated() {
    let mut far = Vec::new();
    for case in CASES {
        let mut rng = Rng::with_seed(17);
        let error = |(x, y): (f64, f64)| {
            let (got, exact) = ((case.of)(x, y) * lift(), (case.lifted)(x, y));
            let ulp = super::ulp((case.of)(x, y)) * lift();
            (((got - exact.hi) - exact.lo) / ulp).abs()
        };
        let arguments = (0..budget().unwrap_or(20_000)).map(|_| (case.arguments)(&mut rng));
        let (at, error) = worst(arguments, error);
        println!("{} f64, subnormal: {error:.4} at {at:?}", case.name);
        let bound = ERRORS.iter().find(|(name, ..)| *name == case.name).expect("a bound of every function").1;
        far.extend((error > bound).then(|| format!("{}({at:?}) is off by {error} ULPs", case.name)));
    }
    assert!(far.is_empty(), "{far:#?}");
}

/// Nearly linear functions return subnormal numbers unchanged.
#[test]
fn subnormal_numbers_stay() {
    let linear = [
        double::sin,
        double::tan,
        double::asin,
        double::atan,
        double::sinh,
        double::tanh,
        double::asinh,
        double::atanh,
        double::expm1,
        double::log1p,
    ];
    let mut rng = Rng::with_seed(18);
    for _ in 0..20_000 {
        let x = small(&mut rng);
        for (number, of) in linear.iter().enumerate() {
            assert_eq!((of(x), of(-x)), (x, -x), "the function with number {number}");
        }
    }
}
