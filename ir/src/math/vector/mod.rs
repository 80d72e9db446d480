//! Real functions as straight-line code without branches, so that kernels can vectorize them.
//!
//! Each function is written once, over the few operations of [`Real`], and instantiated twice. On `f64` and
//! `f32` it is the reference implementation; on kernel values it records instructions. Every operation is
//! exact or rounded once, as IEEE 754 specifies, so both give the same bits on every machine.
//!
//! ```
//! use rewright_ir::math::{double, vector};
//! let exp = vector::unary::<f64>("exp").expect("a function of this name");
//! assert_eq!(exp(1.0).to_bits(), double::exp(1.0).to_bits());
//! ```
//!
//! Results are within one unit in the last place of the exact value, but not always correctly rounded (for
//! `lgamma` see [`ERRORS`]). `docs/ops.md` states the accuracy of each function. Special cases follow C99.

pub mod complex;
mod erf;
mod exp;
mod gamma;
mod hyperbolic;
mod inverse;
mod log;
mod operations;
mod pair;
mod polynomials;
mod power;
mod roots;
mod scalar;
mod sums;
mod trig;

pub use operations::{Bits, Condition, FRACTION, Layout, Real, Slow, Table, scale_numbers};

use operations::polynomial;

macro_rules! functions {
    (
        unary { $($module:ident: $($name:ident($double:literal, $single:literal))*;)* }
        binary { $($module2:ident: $($name2:ident($double2:literal, $single2:literal))*;)* }
    ) => {
        /// The function of one argument with the name of an op, at the precision of its argument. `None` if
        /// it is not defined in this way.
        pub fn unary<F: Real>(name: &str) -> Option<fn(F) -> F> {
            match name {
                $($(stringify!($name) => Some($module::$name),)*)*
                _ => None,
            }
        }

        /// The function of two arguments of one precision with the name of an op. `None` if it is not
        /// defined in this way.
        pub fn binary<F: Real>(name: &str) -> Option<fn(F, F) -> F> {
            match name {
                $($(stringify!($name2) => Some($module2::$name2),)*)*
                _ => None,
            }
        }

        /// The maximum error of each function, in units in the last place: its name, at `f64`, at `f32`.
        /// Where `lgamma` of a negative number is less than 1/4, the unit is that of 1/4.
        pub const ERRORS: &[(&str, f64, f64)] = &[
            $($((stringify!($name), $double, $single),)*)*
            $($((stringify!($name2), $double2, $single2),)*)*
        ];

        functions! { double f64: $($($module $name)*)*; $($($module2 $name2)*)* }
        functions! { single f32: $($($module $name)*)*; $($($module2 $name2)*)* }
    };
    ($precision:ident $float:ident: $($module:ident $name:ident)*; $($module2:ident $name2:ident)*) => {
        #[doc = concat!("On `", stringify!($float), "`.")]
        pub(super) mod $precision {
            $(pub fn $name(x: $float) -> $float {
                super::$module::$name(x)
            })*
            $(pub fn $name2(x: $float, y: $float) -> $float {
                super::$module2::$name2(x, y)
            })*
        }
    };
}

functions! {
    unary {
        exp: exp(0.82, 0.92) exp2(0.81, 0.91) expm1(0.95, 0.89);
        log: log(0.79, 0.81) log2(0.77, 0.74) log10(0.7, 0.68) log1p(0.69, 0.69);
        trig: sin(0.81, 0.85) cos(0.81, 0.85) tan(0.58, 0.6);
        inverse: asin(0.7, 0.63) acos(0.69, 0.61) atan(0.97, 0.92);
        hyperbolic: sinh(0.82, 0.78) cosh(0.9, 0.9) tanh(0.7, 0.77) asinh(0.69, 0.67) acosh(0.69, 0.66) atanh(0.68, 0.66) logistic(0.81, 0.81);
        roots: cbrt(0.7, 0.54);
        erf: erf(0.76, 0.77) erfc(0.97, 0.84);
        gamma: lgamma(0.82, 0.83);
    }
    binary {
        inverse: atan2(0.97, 0.95);
        roots: hypot(0.93, 0.86);
        power: power(0.9, 0.82) float_power(0.9, 0.82);
    }
}

#[cfg(test)]
mod tests;
