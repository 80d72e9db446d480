//! Elementwise functions by name. If an op refuses its operands, the result carries the error.

use super::apply::carried;
use super::operand::Operand;
use super::operation::{Kind, Operation};
use super::operators::{core_op, plain};
use crate::array::LazyArray;
use rewright::DType;

macro_rules! functions {
    (unary: $($one:ident)*; binary: $($two:ident = $op:literal)*;) => {
        impl LazyArray {
            $(#[doc = concat!("The op `", stringify!($one), "`.")]
            pub fn $one(&self) -> LazyArray {
                plain(core_op!(stringify!($one)), &[&self.into()])
            })*
            $(#[doc = concat!("The op `", $op, "`.")]
            pub fn $two(&self, other: impl Into<Operand>) -> LazyArray {
                plain(core_op!($op), &[&self.into(), &other.into()])
            })*
        }
    };
}
functions! {
    unary: abs acos acosh angle asin asinh atan atanh bit_count cbrt ceil conj cos cosh deg2rad erf erfc exp exp2 expm1
        fabs floor imag isfinite isinf isnan lgamma log log10 log1p log2 logistic rad2deg real reciprocal rint rsqrt
        sign signbit sin sinh spacing sqrt square tan tanh trunc;
    binary: atan2 = "atan2" copysign = "copysign" eq = "eq" float_power = "float_power" floordiv = "floordiv"
        fmax = "fmax" fmin = "fmin" fmod = "fmod" gcd = "gcd" ge = "ge" gt = "gt" heaviside = "heaviside"
        hypot = "hypot" lcm = "lcm" ldexp = "ldexp" le = "le" logaddexp = "logaddexp" logaddexp2 = "logaddexp2"
        logical_and = "and" logical_or = "or" logical_xor = "xor" lt = "lt" maximum = "maximum" minimum = "minimum"
        ne = "ne" nextafter = "nextafter" pow = "power";
}

impl LazyArray {
    /// The op `not`: true where an element is zero. `!x` inverts bits.
    pub fn logical_not(&self) -> LazyArray {
        plain(core_op!("not"), &[&self.into()])
    }

    /// Selects elements of `then` where this array is true, and of `otherwise` elsewhere.
    pub fn where_(&self, then: impl Into<Operand>, otherwise: impl Into<Operand>) -> LazyArray {
        plain(core_op!("where"), &[&self.into(), &then.into(), &otherwise.into()])
    }

    /// The op `clip`: limits elements to the range from `low` to `high`.
    pub fn clip(&self, low: impl Into<Operand>, high: impl Into<Operand>) -> LazyArray {
        plain(core_op!("clip"), &[&self.into(), &low.into(), &high.into()])
    }

    /// The op `fma`: a product and a sum with one rounding.
    pub fn fma(&self, factor: impl Into<Operand>, term: impl Into<Operand>) -> LazyArray {
        plain(core_op!("fma"), &[&self.into(), &factor.into(), &term.into()])
    }

    /// The op `cast`: converts each element to another dtype.
    pub fn cast(&self, to: DType) -> LazyArray {
        if self.dtype() == to && self.error().is_none() {
            return self.clone();
        }
        match &**core_op!("cast") {
            Ok(op) => carried(&Operation { op: *op, kind: Kind::Cast(to) }, &[&self.into()]),
            Err(error) => LazyArray::failed(error.clone()),
        }
    }
}
