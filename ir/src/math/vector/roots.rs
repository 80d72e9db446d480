//! Cube root, and the length of a vector of two components.

use super::polynomials::{CBRT_DOUBLE, CBRT_SINGLE};
use super::{Bits, Real, polynomial};

/// Constants that depend on the precision.
struct RootConstants {
    mantissa: u32,
    bias: u64,
    /// Added to a number, it leaves the number, rounded to an integer, in the low bits of the sum.
    shifter: f64,
    normal: f64,
    /// The exponent of the power of 2 that scales subnormal numbers, a multiple of 3.
    lift: i32,
    series: &'static [f64],
    steps: u32,
}

const DOUBLE: RootConstants = RootConstants {
    mantissa: 52,
    bias: 1023,
    shifter: 6755399441055744.0,
    normal: f64::MIN_POSITIVE,
    lift: 54,
    series: &CBRT_DOUBLE,
    steps: 2,
};

const SINGLE: RootConstants = RootConstants {
    mantissa: 23,
    bias: 127,
    shifter: 12582912.0,
    normal: f32::MIN_POSITIVE as f64,
    lift: 27,
    series: &CBRT_SINGLE,
    steps: 1,
};

/// Cube root of x = m 8^q, with m between 1/2 and 4. Newton's method computes m^(-1/3) without a division,
/// and a last step the root.
pub fn cbrt<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let size = x.abs();
    let subnormal = size.less(x.of(n.normal));
    let lifted = (size * x.of(2f64.powi(n.lift))).or(subnormal, size);
    let bits = lifted.bits();
    let unit = 2f64.powi(n.mantissa as i32);
    let exponent = bits.shr(n.mantissa);
    // The exponent, and a third of it, rounded.
    let k = (exponent | x.of(unit).bits()).real() - x.of(unit + n.bias as f64);
    let shifter = x.of(n.shifter + n.bias as f64);
    let third = k.fma(x.of(1.0 / 3.0), shifter);
    let q = third - shifter;
    // 1, 2 or 1/2 times the mantissa.
    let left = k - (q + q + q);
    let part = (bits & bits.of((1 << n.mantissa) - 1)) | x.of(1.0).bits();
    let factor = x.of(2.0).or(x.of(0.5).less(left), x.of(0.5).or(left.less(x.of(-0.5)), x.of(1.0)));
    let m = part.real() * factor;
    let mut inverse = polynomial(m, n.series);
    for _ in 0..n.steps {
        let cube = inverse * inverse * inverse;
        let lack = (-cube).fma(m, x.of(1.0));
        inverse = (inverse * lack).fma(lack.fma(x.of(2.0 / 9.0), x.of(1.0 / 3.0)), inverse);
    }
    // root^3 - m, with the cube to more precision than one number holds.
    let square_of_inverse = inverse * inverse;
    let root = m * square_of_inverse;
    let square = root * root;
    let square_rest = root.fma(root, -square);
    let excess = square.fma(root, -m) + square_rest * root;
    let value = (excess * square_of_inverse).fma(x.of(-1.0 / 3.0), root);
    let scale: F = third.bits().shl(n.mantissa).real();
    let value = value * scale;
    let value = (value * x.of(2f64.powi(-n.lift / 3))).or(subnormal, value);
    // Zero, infinity and NaN stay.
    let usual = x.of(0.0).less(size) & size.less(x.of(f64::INFINITY));
    value.copysign(x).or(usual, x)
}

/// Square root of the sum of squares; for numbers near 1 it is rounded once.
pub fn hypot<F: Real>(x: F, y: F) -> F {
    let (a, b) = (x.abs(), y.abs());
    let swap = a.less(b);
    let (large, small) = (b.or(swap, a), a.or(swap, b));
    // The bounds beyond which numbers are scaled before they are squared, and the exponents of the scale.
    let [most, down, least, up] = x.at([500, -600, -500, 700], [60, -80, -60, 100]);
    let power = |k: i32| x.of(2f64.powi(k));
    let one = x.of(1.0);
    let (too_large, too_small) = (power(most).less(large), large.less(power(least)));
    let scale = power(down).or(too_large, power(up).or(too_small, one));
    let back = power(-down).or(too_large, power(-up).or(too_small, one));
    let (large, small) = (large * scale, small * scale);
    let (p, q) = (large * large, small * small);
    let (rest_p, rest_q) = (large.fma(large, -p), small.fma(small, -q));
    let sum = p + q;
    let lost = ((p - sum) + q) + (rest_p + rest_q);
    let value = (sum + lost).sqrt() * back;
    let infinity = x.of(f64::INFINITY);
    infinity.or(a.equal(infinity) | b.equal(infinity), value)
}
