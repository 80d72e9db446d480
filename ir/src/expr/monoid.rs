//! Builtin monoids: identities and combination.

use super::{Combine, Init, Monoid, Reduction};
use crate::dtype::DType;
use crate::error::EvalError;
use crate::scalar::Scalar;
use num_complex::Complex;
use std::cmp::Ordering;

impl Monoid {
    /// The identity element of the monoid at a dtype; `None` if there is none. That of `dot` is a sum.
    pub fn identity(self, dtype: DType) -> Option<Scalar> {
        Some(match self {
            Monoid::Sum | Monoid::Dot => Scalar::zero(dtype),
            Monoid::Prod => Scalar::one(dtype),
            Monoid::Any => Scalar::Bool(false).cast(dtype),
            Monoid::All => Scalar::Bool(true).cast(dtype),
            Monoid::Min => greatest(dtype)?,
            Monoid::Max => least(dtype)?,
            Monoid::ArgMin | Monoid::ArgMax => return None,
        })
    }

    /// The dtype at which NumPy accumulates elements of a dtype: sums and products of bools and integers are
    /// 64 bits wide.
    pub fn accumulator(self, element: DType) -> DType {
        match self {
            Monoid::Sum | Monoid::Prod | Monoid::Dot if element.is_unsigned() => DType::U64,
            Monoid::Sum | Monoid::Prod | Monoid::Dot if element.is_int() || element.is_bool() => DType::I64,
            Monoid::Any | Monoid::All => DType::Bool,
            _ => element,
        }
    }

    /// The error of an empty reduction without an identity.
    pub fn of_nothing(self) -> EvalError {
        EvalError::value(format!("there is no {} of zero elements", self.name()))
    }

    /// Combines two scalars of one dtype; sums, for `dot`. Integers wrap. Minimum and maximum are the ops
    /// `minimum` and `maximum`: the first NaN if there is one, and the first of equal operands. Complex
    /// numbers are ordered by real part, then imaginary part.
    pub fn combine(self, a: Scalar, b: Scalar) -> Scalar {
        match self {
            Monoid::Sum | Monoid::Dot => add(a, b),
            Monoid::Prod => mul(a, b),
            Monoid::Any => Scalar::Bool(a.truthy() || b.truthy()).cast(a.dtype()),
            Monoid::All => Scalar::Bool(a.truthy() && b.truthy()).cast(a.dtype()),
            Monoid::Min | Monoid::Max | Monoid::ArgMin | Monoid::ArgMax => {
                if self.takes_right(a, b) {
                    b
                } else {
                    a
                }
            }
        }
    }

    /// True if the minimum or maximum of two scalars is the right one, because it is strictly beyond the
    /// left one, or the first NaN.
    pub fn takes_right(self, a: Scalar, b: Scalar) -> bool {
        if is_nan(a) || is_nan(b) {
            return !is_nan(a);
        }
        let beyond = if matches!(self, Monoid::Min | Monoid::ArgMin) { Ordering::Less } else { Ordering::Greater };
        compare(b, a) == beyond
    }
}

impl Reduction {
    /// The initial values that are known before any read: those in the expression, or the identity. `None` if
    /// the first element or existing elements initialize the accumulators.
    pub fn initial_values(&self) -> Option<Vec<Scalar>> {
        match (&self.init, &self.combine, &self.identity) {
            (Init::First | Init::Existing(_), ..) => None,
            (Init::Values(values), ..) | (Init::Identity, _, Some(values)) => Some(values.clone()),
            (Init::Identity, Combine::Builtin(Monoid::Dot), None) => {
                let of = |(at, &dtype)| if at == 0 { Scalar::zero(dtype) } else { Scalar::one(dtype) };
                Some(self.accumulators.iter().enumerate().map(of).collect())
            }
            (Init::Identity, Combine::Builtin(monoid), None) => {
                self.accumulators.iter().map(|&dtype| monoid.identity(dtype)).collect()
            }
            (Init::Identity, Combine::Region(_), None) => None,
        }
    }
}

fn least(dtype: DType) -> Option<Scalar> {
    Some(match dtype {
        DType::Bool => Scalar::Bool(false),
        DType::I8 => Scalar::I8(i8::MIN),
        DType::I16 => Scalar::I16(i16::MIN),
        DType::I32 => Scalar::I32(i32::MIN),
        DType::I64 => Scalar::I64(i64::MIN),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => Scalar::zero(dtype),
        DType::F32 => Scalar::F32(f32::NEG_INFINITY),
        DType::F64 => Scalar::F64(f64::NEG_INFINITY),
        DType::C64 | DType::C128 => return None,
    })
}

fn greatest(dtype: DType) -> Option<Scalar> {
    Some(match dtype {
        DType::Bool => Scalar::Bool(true),
        DType::I8 => Scalar::I8(i8::MAX),
        DType::I16 => Scalar::I16(i16::MAX),
        DType::I32 => Scalar::I32(i32::MAX),
        DType::I64 => Scalar::I64(i64::MAX),
        DType::U8 => Scalar::U8(u8::MAX),
        DType::U16 => Scalar::U16(u16::MAX),
        DType::U32 => Scalar::U32(u32::MAX),
        DType::U64 => Scalar::U64(u64::MAX),
        DType::F32 => Scalar::F32(f32::INFINITY),
        DType::F64 => Scalar::F64(f64::INFINITY),
        DType::C64 | DType::C128 => return None,
    })
}

fn is_nan(x: Scalar) -> bool {
    match x {
        Scalar::F32(x) => x.is_nan(),
        Scalar::F64(x) => x.is_nan(),
        Scalar::C64(z) => z.re.is_nan() || z.im.is_nan(),
        Scalar::C128(z) => z.re.is_nan() || z.im.is_nan(),
        _ => false,
    }
}

/// The order of two numbers other than NaN.
fn compare(a: Scalar, b: Scalar) -> Ordering {
    let floats = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or(Ordering::Equal);
    match (a.to_i128(), b.to_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let (a, b) = (a.to_c128(), b.to_c128());
            floats(a.re, b.re).then_with(|| floats(a.im, b.im))
        }
    }
}

/// Applies wrapping integer, float and complex arithmetic to two scalars of one dtype; `$bools` handles the
/// others.
macro_rules! arithmetic {
    ($a:expr, $b:expr, $wrapping:ident, $op:tt, $bools:expr) => {
        match ($a, $b) {
            (Scalar::I8(a), Scalar::I8(b)) => Scalar::I8(a.$wrapping(b)),
            (Scalar::I16(a), Scalar::I16(b)) => Scalar::I16(a.$wrapping(b)),
            (Scalar::I32(a), Scalar::I32(b)) => Scalar::I32(a.$wrapping(b)),
            (Scalar::I64(a), Scalar::I64(b)) => Scalar::I64(a.$wrapping(b)),
            (Scalar::U8(a), Scalar::U8(b)) => Scalar::U8(a.$wrapping(b)),
            (Scalar::U16(a), Scalar::U16(b)) => Scalar::U16(a.$wrapping(b)),
            (Scalar::U32(a), Scalar::U32(b)) => Scalar::U32(a.$wrapping(b)),
            (Scalar::U64(a), Scalar::U64(b)) => Scalar::U64(a.$wrapping(b)),
            (Scalar::F32(a), Scalar::F32(b)) => Scalar::F32(a $op b),
            (Scalar::F64(a), Scalar::F64(b)) => Scalar::F64(a $op b),
            (a, b) => $bools(a, b),
        }
    };
}

/// The sum of two scalars of one dtype; "or" for bools.
pub(crate) fn add(a: Scalar, b: Scalar) -> Scalar {
    arithmetic!(a, b, wrapping_add, +, |a: Scalar, b: Scalar| match (a, b) {
        (Scalar::C64(a), Scalar::C64(b)) => Scalar::C64(a + b),
        (Scalar::C128(a), Scalar::C128(b)) => Scalar::C128(a + b),
        _ => Scalar::Bool(a.truthy() || b.truthy()),
    })
}

/// The product of two scalars of one dtype; "and" for bools. Complex numbers use the textbook formula, as in
/// NumPy.
pub(crate) fn mul(a: Scalar, b: Scalar) -> Scalar {
    arithmetic!(a, b, wrapping_mul, *, |a: Scalar, b: Scalar| match (a, b) {
        (Scalar::C64(a), Scalar::C64(b)) =>
            Scalar::C64(Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)),
        (Scalar::C128(a), Scalar::C128(b)) =>
            Scalar::C128(Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)),
        _ => Scalar::Bool(a.truthy() && b.truthy()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_change_nothing() {
        for monoid in Monoid::ALL {
            for dtype in DType::ALL {
                let Some(e) = monoid.identity(dtype) else { continue };
                let nan = if dtype.is_complex() { 1.0 } else { f64::NAN };
                for x in [Scalar::I8(3), Scalar::I8(-4), Scalar::F64(nan), Scalar::F64(0.5)] {
                    let x = if matches!(monoid, Monoid::Any | Monoid::All) {
                        Scalar::Bool(x.truthy()).cast(dtype)
                    } else {
                        x.cast(dtype)
                    };
                    assert_eq!(monoid.combine(e, x), x, "{monoid:?} {x:?}");
                    assert_eq!(monoid.combine(x, e), x, "{monoid:?} {x:?}");
                }
            }
        }
    }

    #[test]
    fn minima_propagate_nan_and_keep_the_first_of_equal_ones() {
        let (nan, zero, minus) = (Scalar::F64(f64::NAN), Scalar::F64(0.0), Scalar::F64(-0.0));
        assert_eq!(Monoid::Min.combine(zero, nan), nan);
        assert_eq!(Monoid::Max.combine(nan, zero), nan);
        for monoid in [Monoid::Min, Monoid::Max] {
            assert_eq!((monoid.combine(zero, minus), monoid.combine(minus, zero)), (zero, minus));
        }
        assert!(!Monoid::ArgMin.takes_right(zero, minus) && Monoid::ArgMin.takes_right(zero, nan));
    }

    #[test]
    fn minima_are_those_of_the_elementwise_ops() {
        let samples = [f64::NAN, 1.0, -1.0, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 3.5, 200.0, -7.0];
        let attrs = crate::Attrs::new();
        for (monoid, op) in
            [(Monoid::Min, "minimum"), (Monoid::Max, "maximum"), (Monoid::Sum, "add"), (Monoid::Prod, "mul")]
        {
            let op = crate::registry().op(op).unwrap();
            for dtype in DType::ALL {
                for (a, b) in samples.iter().flat_map(|a| samples.iter().map(move |b| (a, b))) {
                    let (a, b) = (Scalar::F64(*a).cast(dtype), Scalar::F64(*b).cast(dtype));
                    let elementwise = crate::op::eval_scalar(op, &[a, b], &attrs).unwrap()[0];
                    let found = monoid.combine(a, b);
                    // The payload of a NaN depends on the compiled code.
                    let parts = [found, elementwise].map(|x| x.to_c128());
                    let same_nan = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
                    let same = found == elementwise
                        || (same_nan(parts[0].re, parts[1].re) && same_nan(parts[0].im, parts[1].im));
                    assert!(same, "{monoid:?} {a:?} {b:?}: {found:?}, {elementwise:?}");
                }
            }
        }
    }
}
