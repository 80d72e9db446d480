//! Error functions.
//!
//! Near 0 erf is an odd polynomial. Beyond, erfc is `e^(-x^2) H / (1 + 2 x)`, where H varies slowly and is a
//! polynomial of `(x - 3) / (x + 3)`. Source: M. Shepherd, J. Laframboise, "Chebyshev approximation of (1 +
//! 2x) exp(x^2) erfc x in 0 <= x < infinity", Mathematics of Computation 36, 1981.

use super::exp::exp_parts;
use super::polynomials::{ERF_DOUBLE, ERF_SINGLE, ERFC_DOUBLE, ERFC_SINGLE};
use super::sums::{quick_sum, quotient_parts, series};
use super::{Real, polynomial};

/// 2 over the root of pi, as a sum of two numbers.
const SLOPE: [[f64; 2]; 2] =
    [[std::f64::consts::FRAC_2_SQRT_PI, 1.533545961316588e-17], [1.128379225730896, -5.863537320420437e-08]];

/// The bound below which the polynomial of erf is used.
const NEAR: f64 = 0.65;

/// erf near 0, as a sum of two numbers.
fn near<F: Real>(x: F) -> (F, F) {
    let [slope, slope_rest] = x.at(SLOPE[0], SLOPE[1]).map(|c| x.of(c));
    let square = x * x;
    let head = x * slope;
    let rest = x.fma(slope_rest, x.fma(slope, -head));
    let (cube, more) = series(x, square, x.at(&ERF_DOUBLE[..], &ERF_SINGLE[..]));
    let (near, lost) = quick_sum(head, cube);
    (near, lost + (more + rest))
}

/// erfc beyond `NEAR`, as a sum of two numbers and the power of 2 to scale each by.
fn tail<F: Real>(size: F) -> ((F, F), F) {
    let one = size.of(1.0);
    let series = size.at(&ERFC_DOUBLE[..], &ERFC_SINGLE[..]);
    let t = (size - size.of(3.0)) / (size + size.of(3.0));
    // The constant coefficient is in two parts.
    let (head, lost) = quick_sum(size.of(series[1]), t * polynomial(t, &series[2..]));
    let rest = lost + size.of(series[0]);
    let square = size * size;
    let (power, k) = exp_parts(-square, -size.fma(size, -square));
    let power = quick_sum(power.0, power.1);
    let product = power.0 * head;
    let lack = power.0.fma(head, -product) + power.0.fma(rest, power.1 * head);
    (quotient_parts((product, lack), quick_sum(size + size, one)), k)
}

/// The least number for which erf is 1.
fn near_to_one<F: Real>(x: F) -> F {
    x.of(x.at(6.0, 4.0))
}

/// Error function: 1 minus its complement beyond `NEAR`.
pub fn erf<F: Real>(x: F) -> F {
    let size = x.abs();
    // Scales tiny numbers so that the rounding error of the product with the slope does not underflow.
    let [least, lift] = x.at([-960, 200], [-100, 64]);
    let tiny = size.less(x.of(2f64.powi(least)));
    let (low, low_rest) = near((x * x.of(2f64.powi(lift))).or(tiny, x));
    let low = low + low_rest;
    let low = (low * x.of(2f64.powi(-lift))).or(tiny, low);
    let (high, k) = tail(near_to_one(x).min(size));
    let (value, lost) = quick_sum(x.of(1.0), -high.0.scale(k));
    let value = value + (lost - high.1.scale(k));
    low.or(size.less(x.of(NEAR)), value).copysign(x)
}

/// 1 minus the error function.
pub fn erfc<F: Real>(x: F) -> F {
    let size = x.abs();
    let (low, low_rest) = near(x);
    let (middle, lost) = quick_sum(x.of(1.0), -low);
    let middle = middle + (lost - low_rest);
    // Beyond the end the result is 0 or 2. It is selected, because a product that underflows is slow on some
    // processors.
    let most = x.of(x.at(27.3, 10.1));
    let (high, k) = tail(near_to_one(x).or(most.less(size), size));
    let (mirrored, lost) = quick_sum(x.of(2.0), -high.0.scale(k));
    let mirrored = mirrored + (lost - high.1.scale(k));
    let value = (high.0 + high.1).scale(k).or(!most.less(x), x.of(0.0));
    let value = mirrored.or(x.less(x.of(0.0)), value);
    middle.or(size.less(x.of(NEAR)), value)
}
