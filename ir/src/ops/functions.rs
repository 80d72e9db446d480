//! Functions of floats: exponentials, logarithms, trigonometry, and their kin.
//!
//! At `f32` and `f64` each op is the function of its name in [`math`](crate::math), as in kernels.

use super::loops;
use crate::math::{complex, double, single};

/// Defines ops of floats by the functions of their names.
macro_rules! real_functions {
    ($(#[doc = $doc:literal] $NAME:ident = $name:literal($arity:literal), $function:ident $x:tt $(, is $trait:ident)*, cycles $cycles:literal;)*) => {
        elementwise! {$(
            #[doc = $doc]
            $NAME = $name($arity), loops::floats $(, is $trait)*, cycles $cycles {
                f32 $x => single::$function $x;
                f64 $x => double::$function $x;
            }
        )*}
    };
}

/// Defines ops of one float or complex number by the functions of their names.
macro_rules! functions {
    ($(#[doc = $doc:literal] $NAME:ident = $name:literal, $function:ident, cycles $cycles:literal;)*) => {
        elementwise! {$(
            #[doc = $doc]
            $NAME = $name(1), loops::inexact, cycles $cycles {
                f32(x) => single::$function(x);
                f64(x) => double::$function(x);
                c64(z) => complex::single(complex::$function, z);
                c128(z) => complex::$function(z);
            }
        )*}
    };
}

functions! {
    /// Square root; NaN of negative floats, in the right half plane for complex numbers.
    SQRT = "sqrt", sqrt, cycles 8;
    /// e to the power of the operand.
    EXP = "exp", exp, cycles 13;
    /// 2 to the power of the operand.
    EXP2 = "exp2", exp2, cycles 13;
    /// e to the power of the operand, minus 1, accurate near 0.
    EXPM1 = "expm1", expm1, cycles 17;
    /// Natural logarithm.
    LOG = "log", log, cycles 10;
    /// Logarithm to base 2.
    LOG2 = "log2", log2, cycles 18;
    /// Logarithm to base 10.
    LOG10 = "log10", log10, cycles 19;
    /// Logarithm of 1 plus the operand, accurate near 0.
    LOG1P = "log1p", log1p, cycles 18;
    /// Sine.
    SIN = "sin", sin, cycles 20;
    /// Cosine.
    COS = "cos", cos, cycles 20;
    /// Tangent.
    TAN = "tan", tan, cycles 26;
    /// Inverse sine.
    ASIN = "asin", asin, cycles 20;
    /// Inverse cosine.
    ACOS = "acos", acos, cycles 24;
    /// Inverse tangent.
    ATAN = "atan", atan, cycles 25;
    /// Hyperbolic sine.
    SINH = "sinh", sinh, cycles 30;
    /// Hyperbolic cosine.
    COSH = "cosh", cosh, cycles 25;
    /// Hyperbolic tangent.
    TANH = "tanh", tanh, cycles 30;
    /// Inverse hyperbolic sine.
    ASINH = "asinh", asinh, cycles 41;
    /// Inverse hyperbolic cosine.
    ACOSH = "acosh", acosh, cycles 33;
    /// Inverse hyperbolic tangent.
    ATANH = "atanh", atanh, cycles 29;
}

real_functions! {
    /// Cube root.
    CBRT = "cbrt"(1), cbrt(x), cycles 32;
    /// 1 divided by the square root, each rounded.
    RSQRT = "rsqrt"(1), rsqrt(x), cycles 16;
    /// Degrees to radians.
    DEG2RAD = "deg2rad"(1), deg2rad(x), cycles 1;
    /// Radians to degrees.
    RAD2DEG = "rad2deg"(1), rad2deg(x), cycles 1;
    /// Error function.
    ERF = "erf"(1), erf(x), cycles 50;
    /// 1 minus the error function, accurate in the tail.
    ERFC = "erfc"(1), erfc(x), cycles 50;
    /// Logarithm of the magnitude of the gamma function.
    LGAMMA = "lgamma"(1), lgamma(x), cycles 150;
    /// `1 / (1 + exp(-x))`, accurate in the tail.
    LOGISTIC = "logistic"(1), logistic(x), cycles 25;
    /// The angle of the point (x, y), where y is the first operand.
    ATAN2 = "atan2"(2), atan2(x, y), cycles 40;
    /// Square root of the sum of the squares, without undue overflow.
    HYPOT = "hypot"(2), hypot(x, y), is COMMUTATIVE, cycles 25;
    /// `log(exp(x) + exp(y))`, without overflow.
    LOGADDEXP = "logaddexp"(2), logaddexp(x, y), is COMMUTATIVE, cycles 45;
    /// `log2(exp2(x) + exp2(y))`, without overflow.
    LOGADDEXP2 = "logaddexp2"(2), logaddexp2(x, y), is COMMUTATIVE, cycles 45;
}
