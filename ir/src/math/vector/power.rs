//! x to the power y: e to the power of y log x. The logarithm has some 65 bits instead of 53, because it is
//! multiplied by up to 745.

use super::Real;
use super::exp::exp_of_sum;
use super::log::long_log;

/// Whether a non-negative number is an integer; infinity counts as one.
pub(super) fn is_integer<F: Real>(size: F) -> F::Condition {
    let unit = size.of(size.at(2f64.powi(52), 2f64.powi(23)));
    ((size + unit) - unit).equal(size) | !size.less(unit)
}

/// x to the power y with C99's special cases; x for y = 1, and correctly rounded for y = 2, 1/2 and -1.
pub fn power<F: Real>(x: F, y: F) -> F {
    let (zero, one, infinity) = (x.of(0.0), x.of(1.0), x.of(f64::INFINITY));
    let (size, exponent) = (x.abs(), y.abs());
    let (log, rest) = long_log(size);
    let product = log * y;
    let value = exp_of_sum(product, log.fma(y, -product) + rest * y);
    // If either is infinite, or the base is 0, the result is 0 or infinity, unless |x| is 1.
    let grows = (one.less(size) & zero.less(y)) | (size.less(one) & y.less(zero));
    let extreme = infinity.or(grows, zero);
    let value = extreme.or(size.equal(zero) | size.equal(infinity) | exponent.equal(infinity), value);
    let whole = is_integer(exponent);
    let negative = one.copysign(x).less(zero);
    let odd = whole & !is_integer(x.of(0.5) * exponent);
    let value = (-value).or(negative & odd, value);
    let value = x.of(f64::NAN).or(x.less(zero) & size.less(infinity) & !whole, value);
    let value = value.or(x.equal(x) & y.equal(y), x + y);
    let value = one.or(x.equal(one) | y.equal(zero) | (size.equal(one) & exponent.equal(infinity)), value);
    // Exponents for which a single operation gives the result.
    let value = x.or(y.equal(one), value);
    let value = (x * x).or(y.equal(x.of(2.0)), value);
    let value = (one / x).or(y.equal(-one), value);
    // The sum with 0 removes the sign of -0; the root of minus infinity is infinity.
    let root = infinity.or(size.equal(infinity), (x + zero).sqrt());
    root.or(y.equal(x.of(0.5)), value)
}

/// Equal to [`power`].
pub fn float_power<F: Real>(x: F, y: F) -> F {
    power(x, y)
}
