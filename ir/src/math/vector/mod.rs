//! Real functions as straight-line code without branches, which kernels compute for a whole vector of numbers at once.
//!
//! Each function is written once, over the few operations of [`Real`], and read twice: on `f64` and `f32` it is the
//! function's meaning, and what builds kernels reads the same text to record instructions. Every operation is exact or rounded
//! once, as IEEE 754 says, so both readings give the same bits on every machine.
//!
//! ```
//! use rewright_ir::math::{double, vector};
//! let exp = vector::unary::<f64>("exp").expect("a function of this name");
//! assert_eq!(exp(1.0).to_bits(), double::exp(1.0).to_bits());
//! ```
//!
//! Results are not always the number nearest to the exact one, but within one unit in the last place: `docs/ops.md` states how near
//! each function comes. Special cases are those of C99.

mod exp;
mod hyperbolic;
mod log;
mod polynomials;
mod reading;
mod scalar;
mod sums;
mod trig;

pub use reading::{Bits, Condition, Real, Slow};

use reading::polynomial;

macro_rules! functions {
    (unary: $($module:ident: $($name:ident($double:literal, $single:literal))*;)*) => {
        /// A function of one argument by the name of its op, at the precision of its argument. `None` if it is not written in this way.
        pub fn unary<F: Real>(name: &str) -> Option<fn(F) -> F> {
            match name {
                $($(stringify!($name) => Some($module::$name),)*)*
                _ => None,
            }
        }

        /// How far from the exact value a function's result may be, in units in the last place: its name, at `f64`, at `f32`.
        pub const ERRORS: &[(&str, f64, f64)] = &[$($((stringify!($name), $double, $single)),*),*];

        /// On `f64`.
        pub(super) mod double {
            $($(pub fn $name(x: f64) -> f64 {
                super::$module::$name(x)
            })*)*
        }

        /// On `f32`.
        pub(super) mod single {
            $($(pub fn $name(x: f32) -> f32 {
                super::$module::$name(x)
            })*)*
        }
    };
}

functions! {
    unary:
        exp: exp(0.67, 0.75) exp2(0.67, 0.75) expm1(0.75, 0.75);
        log: log(0.65, 0.6) log2(0.72, 0.7) log10(0.65, 0.62) log1p(0.7, 0.7);
        trig: sin(0.75, 0.72) cos(0.75, 0.72) tan(0.83, 0.8);
        hyperbolic: tanh(0.56, 0.55) logistic(0.68, 0.8);
}

#[cfg(test)]
mod tests;
