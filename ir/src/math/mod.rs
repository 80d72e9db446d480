//! Real functions at `f64` and at `f32`. The reference evaluator computes elements with them and kernels
//! call them, so both give the same bits on every machine.
//!
//! Code for a fixed dtype calls [`double`] or [`single`]; code that has an op's name calls [`math_fn`].
//! Every function is total, raises nothing and keeps no state.
//!
//! Functions of [`vector`] consist of operations that kernels have, and are close to the exact value. The
//! others are called, and are correctly rounded, which makes them the same on every machine. The module
//! `rounded` explains how, and lists the exceptions.

pub mod complex;
mod double_double;
mod extended;
mod real;
mod rounded;
pub mod vector;

pub use real::{double, single};

/// A real function of floats.
#[derive(Clone, Copy)]
pub enum RealFn {
    /// Of one argument.
    Unary {
        /// At `f64`.
        f64: extern "C" fn(f64) -> f64,
        /// At `f32`.
        f32: extern "C" fn(f32) -> f32,
    },
    /// Of two arguments.
    Binary {
        /// At `f64`.
        f64: extern "C" fn(f64, f64) -> f64,
        /// At `f32`.
        f32: extern "C" fn(f32, f32) -> f32,
    },
}

/// A real function, and the name of the op that it implements on floats.
#[derive(Clone, Copy)]
pub struct MathFn {
    /// The op's name: `exp`, `atan2`.
    pub name: &'static str,
    /// The implementation.
    pub function: RealFn,
}

macro_rules! table {
    (unary: $($unary:ident)* ; binary: $($binary:ident)* ; otherwise_named: $($function:ident $name:literal)*) => {
        /// Every function, unary ones first. It implements the elementwise op of its name for loops whose
        /// operands and single result have the same float dtype.
        pub static MATH_FNS: &[MathFn] = &[
            $(MathFn {
                name: stringify!($unary),
                function: RealFn::Unary { f64: double::$unary, f32: single::$unary },
            },)*
            $(MathFn {
                name: stringify!($binary),
                function: RealFn::Binary { f64: double::$binary, f32: single::$binary },
            },)*
            $(MathFn {
                name: $name,
                function: RealFn::Binary { f64: double::$function, f32: single::$function },
            },)*
        ];
    };
}

table! {
    unary:
        exp exp2 expm1 log log2 log10 log1p sqrt cbrt rsqrt
        sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
        erf erfc lgamma logistic deg2rad rad2deg spacing sign reciprocal square;
    binary:
        power float_power atan2 hypot logaddexp logaddexp2 nextafter fmod floordiv heaviside;
    // `mod` is a keyword of Rust.
    otherwise_named: mod_ "mod"
}

/// The function that implements an op.
pub fn math_fn(op: &str) -> Option<&'static MathFn> {
    MATH_FNS.iter().find(|f| f.name == op)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_unique() {
        for f in MATH_FNS {
            assert_eq!(MATH_FNS.iter().filter(|g| g.name == f.name).count(), 1, "{}", f.name);
        }
        assert!(math_fn("no_such").is_none());
        let Some(MathFn { function: RealFn::Binary { f64, f32 }, .. }) = math_fn("mod") else {
            unreachable!("`mod` has two arguments")
        };
        assert_eq!((f64(-7.0, 3.0), f32(7.0, -3.0)), (2.0, -2.0));
    }

    #[test]
    fn division_is_pythons() {
        for (a, b, q, r) in [
            (7.0, 2.0, 3.0, 1.0),
            (-7.0, 2.0, -4.0, 1.0),
            (7.0, -2.0, -4.0, -1.0),
            (-7.0, -2.0, 3.0, -1.0),
            (1.0, 0.1, 9.0, 0.09999999999999995),
            (5.0, f64::INFINITY, 0.0, 5.0),
            (-5.0, f64::INFINITY, -1.0, f64::INFINITY),
        ] {
            assert_eq!(double::floordiv(a, b), q, "{a} // {b}");
            assert_eq!(double::mod_(a, b), r, "{a} % {b}");
        }
        assert_eq!(double::floordiv(1.0, 0.0), f64::INFINITY);
        assert!(double::mod_(1.0, 0.0).is_nan());
        assert_eq!(double::mod_(-0.0, 3.0).to_bits(), 0.0f64.to_bits(), "a zero remainder has the divisor's sign");
        assert_eq!(double::mod_(6.0, -3.0).to_bits(), (-0.0f64).to_bits());
    }

    #[test]
    fn logistic_keeps_its_tail() {
        assert_eq!(double::logistic(0.0), 0.5);
        assert_eq!(double::logistic(f64::INFINITY), 1.0);
        assert!(double::logistic(-740.0) > 0.0, "1 / (1 + exp(740)) would have given 0");
    }

    #[test]
    fn spacing_is_the_gap_away_from_zero() {
        assert_eq!(double::spacing(1.0), f64::EPSILON);
        assert_eq!(double::spacing(-1.0), -f64::EPSILON);
        assert_eq!(single::spacing(0.0), f32::from_bits(1));
        assert!(double::spacing(f64::INFINITY).is_nan());
    }
}
