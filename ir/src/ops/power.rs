//! Powers.

use super::integer::Integer;
use super::loops;
use crate::attr::{AttrDef, AttrKind};
use crate::error::EvalError;
use crate::math::{complex, double, single};
use num_complex::Complex;

fn negative_exponent() -> EvalError {
    EvalError::value("integers have no negative integer powers")
}

/// `x` to the power `n` by repeated squaring, from the lowest bit of `n`.
fn by_squaring<T: Copy>(x: T, n: u64, one: T, product: fn(T, T) -> T) -> T {
    let (mut base, mut rest) = (x, n);
    let mut power = None;
    while rest > 0 {
        if rest & 1 == 1 {
            power = Some(power.map_or(base, |so_far| product(so_far, base)));
        }
        rest >>= 1;
        if rest > 0 {
            base = product(base, base);
        }
    }
    power.unwrap_or(one)
}

fn exponent(attrs: &crate::attr::Attrs) -> Result<i64, EvalError> {
    attrs.int("n").ok_or_else(|| EvalError::value("attribute `n` is the exponent"))
}

elementwise! {
    /// The first operand to the power of the second; integers wrap, a negative integer exponent is an error.
    POWER = "power"(2), loops::numbers, is PARTIAL, cycles 60 {
        int(x, n) => x.power(n).ok_or_else(negative_exponent)?;
        f32(x, y) => single::power(x, y);
        f64(x, y) => double::power(x, y);
        c64(x, y) => complex::single2(complex::power, x, y);
        c128(x, y) => complex::power(x, y);
    }
    /// The first operand to the power of the second, at `f64` or `c128`.
    FLOAT_POWER = "float_power"(2), loops::widest, cycles 60 {
        f64(x, y) => double::power(x, y);
        c128(x, y) => complex::power(x, y);
    }
    /// The power `n`, an attribute, by repeated squaring.
    ///
    /// The product of the powers of x with the powers of two in |n|, the lowest first; each is the square of
    /// the previous one. The reciprocal of that for a negative n. Each product is rounded, so the bits may
    /// differ from those of `power`.
    INTEGER_POWER = "integer_power"(1), loops::integer_power, attrs [AttrDef::required("n", AttrKind::Int, "the exponent")], cycles 6 {
        |attrs| int(x) => by_squaring(x, exponent(attrs)?.unsigned_abs(), 1, |a, b| a.wrapping_mul(b));
        |attrs| float(x) => {
            let n = exponent(attrs)?;
            let power = by_squaring(x, n.unsigned_abs(), 1.0, |a, b| a * b);
            if n < 0 { 1.0 / power } else { power }
        };
        |attrs| complex(z) => {
            let n = exponent(attrs)?;
            let power = by_squaring(z, n.unsigned_abs(), Complex::new(1.0, 0.0), |a, b| a * b);
            if n < 0 { complex::reciprocal(power) } else { power }
        };
    }
}
