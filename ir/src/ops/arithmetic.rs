//! Sums, products, quotients and remainders.
//!
//! Integers wrap on overflow. Division of integers by zero gives 0, and so does the remainder. Floats follow
//! IEEE 754. Complex arithmetic is that of NumPy: products by the textbook formula, quotients by Smith's
//! method (R. L. Smith, "Algorithm 116: Complex division", CACM 5, 1962).

use super::integer::Integer;
use super::loops;
use crate::math::{complex, double, single};

elementwise! {
    /// Sum; of bools, logical or.
    ADD = "add"(2), loops::all, is COMMUTATIVE {
        bool(a, b) => a | b;
        int(a, b) => a.wrapping_add(b);
        float(a, b) => a + b;
        complex(a, b) => a + b;
    }
    /// Difference; not of bools, which have `xor`.
    SUB = "sub"(2), loops::numbers_not_bools {
        int(a, b) => a.wrapping_sub(b);
        float(a, b) => a - b;
        complex(a, b) => a - b;
    }
    /// Product; of bools, logical and.
    MUL = "mul"(2), loops::all, is COMMUTATIVE {
        bool(a, b) => a & b;
        int(a, b) => a.wrapping_mul(b);
        float(a, b) => a * b;
        complex(a, b) => a * b;
    }
    /// True quotient; of integers at `f64`.
    DIV = "div"(2), loops::true_division, cycles 8 {
        float(a, b) => a / b;
        c64(a, b) => complex::quotient(a, b);
        c128(a, b) => complex::quotient(a, b);
    }
    /// Quotient rounded down, in Python's sense; integers by zero give 0.
    FLOORDIV = "floordiv"(2), loops::reals, cycles 25 {
        int(a, b) => a.floor_quot(b);
        f32(a, b) => single::floordiv(a, b);
        f64(a, b) => double::floordiv(a, b);
    }
    /// Remainder of `floordiv`, with the divisor's sign; integers by zero give 0.
    MOD = "mod"(2), loops::reals, cycles 25 {
        int(a, b) => a.floor_rem(b);
        f32(a, b) => single::mod_(a, b);
        f64(a, b) => double::mod_(a, b);
    }
    /// `floordiv` and `mod` at once.
    DIVMOD = "divmod"(2), loops::reals_twice, cycles 25 {
        int(a, b) => (a.floor_quot(b), a.floor_rem(b));
        f32(a, b) => single::divmod(a, b);
        f64(a, b) => double::divmod(a, b);
    }
    /// Remainder of division toward zero, with the dividend's sign; integers by zero give 0.
    FMOD = "fmod"(2), loops::reals, cycles 25 {
        int(a, b) => Integer::rem(a, b);
        f32(a, b) => single::fmod(a, b);
        f64(a, b) => double::fmod(a, b);
    }
    /// The opposite number; not of bools, which have `not`.
    NEG = "neg"(1), loops::numbers_not_bools {
        int(a) => a.wrapping_neg();
        float(a) => -a;
        complex(a) => -a;
    }
    /// The number itself; not of bools.
    POS = "pos"(1), loops::numbers_not_bools, is IDEMPOTENT {
        int(a) => a;
        float(a) => a;
        complex(a) => a;
    }
    /// Magnitude; of the least integer that integer itself; of complex numbers a float.
    ABS = "abs"(1), loops::all_to_real, is IDEMPOTENT {
        bool(a) => a;
        int(a) => a.magnitude();
        float(a) => a.abs();
        c64(z) => single::hypot(z.re, z.im);
        c128(z) => double::hypot(z.re, z.im);
    }
    /// Magnitude, as a float.
    FABS = "fabs"(1), loops::floats, is IDEMPOTENT {
        float(a) => a.abs();
    }
    /// -1, 0 or 1; of a complex number its direction, `z / abs(z)`; NaN of NaN.
    SIGN = "sign"(1), loops::numbers_not_bools, cycles 2 {
        int(a) => Integer::sign(a);
        f32(a) => single::sign(a);
        f64(a) => double::sign(a);
        c64(z) => complex::direction(z);
        c128(z) => complex::direction(z);
    }
    /// The number times itself.
    SQUARE = "square"(1), loops::numbers {
        int(a) => a.wrapping_mul(a);
        float(a) => a * a;
        complex(z) => z * z;
    }
    /// 1 divided by the number; integers round toward zero, and 0 gives 0.
    RECIPROCAL = "reciprocal"(1), loops::numbers, cycles 8 {
        int(a) => Integer::quot(1, a);
        float(a) => 1.0 / a;
        c64(z) => complex::reciprocal(z);
        c128(z) => complex::reciprocal(z);
    }
    /// `a * b + c` with one rounding.
    FMA = "fma"(3), loops::floats {
        f32(a, b, c) => libm::fmaf(a, b, c);
        f64(a, b, c) => libm::fma(a, b, c);
    }
}
