//! Named monoids as kernel instructions on tuples of accumulators: a value, or a value and its position.

use super::NotLowered;
use crate::kernel::{Compare, KOp, KValue, Unary};
use crate::scalar::{Elem, ScalarCx, any_nan, compare};
use rewright_ir::expr::Monoid;
use rewright_ir::{Attrs, DType, Op, Scalar};

/// The left identity of a monoid, bit for bit. Complex products have none, because of signed zeros and
/// infinities.
pub fn neutral(monoid: Monoid, dtypes: &[DType]) -> Result<Vec<Scalar>, NotLowered> {
    let value = dtypes[0];
    let found = match monoid {
        Monoid::Sum | Monoid::Dot => {
            Some(if value.is_int() || value.is_bool() { Scalar::zero(value) } else { both_parts(value, -0.0) })
        }
        Monoid::Prod if value.is_complex() => None,
        // Combining turns any number other than 0 into 1.
        Monoid::Any | Monoid::All if !value.is_bool() => None,
        Monoid::Min | Monoid::ArgMin if value.is_complex() => Some(both_parts(value, f64::INFINITY)),
        Monoid::Max | Monoid::ArgMax if value.is_complex() => Some(both_parts(value, f64::NEG_INFINITY)),
        Monoid::ArgMin => Monoid::Min.identity(value),
        Monoid::ArgMax => Monoid::Max.identity(value),
        other => other.identity(value),
    };
    let Some(first) = found else {
        return NotLowered::because(format!("`{}` of {value} has no neutral element", monoid.name()));
    };
    let others = dtypes[1..].iter().filter_map(|&dtype| match monoid {
        Monoid::Dot => Some(Scalar::one(dtype)),
        // The neutral position is greater than any other one.
        _ => Monoid::Min.identity(dtype),
    });
    Ok(std::iter::once(first).chain(others).collect())
}

/// The elementwise op that combines two numbers of a dtype; `None` if there is none.
pub fn op_of(monoid: Monoid, dtype: DType) -> Option<Op> {
    let name = match monoid {
        Monoid::Sum => "add",
        Monoid::Prod => "mul",
        Monoid::Min => "minimum",
        Monoid::Max => "maximum",
        Monoid::Any if dtype.is_bool() => "or",
        Monoid::All if dtype.is_bool() => "and",
        Monoid::Any | Monoid::All | Monoid::ArgMin | Monoid::ArgMax | Monoid::Dot => return None,
    };
    rewright_ir::registry().op(name)
}

/// Combines two tuples of a monoid's accumulators.
pub fn combined(monoid: Monoid, cx: &mut ScalarCx<'_>, a: &[Elem], b: &[Elem]) -> Result<Vec<Elem>, NotLowered> {
    let dtype = a[0].dtype;
    match (monoid, op_of(monoid, dtype)) {
        (_, Some(op)) => {
            let both = cx.apply(op, &Attrs::new(), &[a[0], b[0]]).map_err(|reason| NotLowered { reason })?;
            Ok(both.to_vec())
        }
        (Monoid::Any | Monoid::All, None) => {
            let (x, y) = (cx.truthy(a[0]), cx.truthy(b[0]));
            let both = if monoid == Monoid::Any { cx.or(x, y) } else { cx.and(x, y) };
            Ok(vec![cx.cast(Elem::real(DType::Bool, both), dtype)])
        }
        (Monoid::ArgMin | Monoid::ArgMax, None) => Ok(position(monoid, cx, a, b)),
        (Monoid::Dot, None) => {
            let nothing = neutral(monoid, &[dtype])?[0];
            let nothing = cx.constant(nothing);
            let sum = multiply_add(cx, a[0], a[1], nothing)?;
            Ok(vec![multiply_add(cx, b[0], b[1], sum)?, cx.constant(Scalar::one(dtype))])
        }
        _ => NotLowered::because(format!("there is no op for `{}`", monoid.name())),
    }
}

/// Combines two scalars of one dtype, as [`Monoid::combine`] does.
pub fn combined_scalars(monoid: Monoid, cx: &mut ScalarCx<'_>, a: Elem, b: Elem) -> Result<Elem, NotLowered> {
    let monoid = match monoid {
        Monoid::ArgMin => Monoid::Min,
        Monoid::ArgMax => Monoid::Max,
        Monoid::Dot => Monoid::Sum,
        other => other,
    };
    Ok(combined(monoid, cx, &[a], &[b])?[0])
}

/// `x * y + z`, as the monoid `dot` adds a product.
pub fn multiply_add(cx: &mut ScalarCx<'_>, x: Elem, y: Elem, z: Elem) -> Result<Elem, NotLowered> {
    if !has_nan(x.dtype) {
        let product = combined(Monoid::Prod, cx, &[x], &[y])?;
        return Ok(combined(Monoid::Sum, cx, &product, &[z])?[0]);
    }
    let real = x.dtype.real();
    let mut fma = |x: KValue, y: KValue, z: KValue| cx.k.push(KOp::Fma, &[x, y, z], real);
    let (Some(x_im), Some(y_im), Some(z_im)) = (x.im, y.im, z.im) else {
        return Ok(Elem::real(real, fma(x.re, y.re, z.re)));
    };
    let (re, im) = (fma(x.re, y.re, z.re), fma(x.re, y_im, z_im));
    let im = fma(x_im, y.re, im);
    let minus = cx.k.unary(Unary::Neg, x_im);
    let re = cx.k.push(KOp::Fma, &[minus, y_im, re], real);
    Ok(Elem { dtype: x.dtype, re, im: Some(im) })
}

/// The later position only if its value is beyond the value of the earlier one.
pub fn later(monoid: Monoid, cx: &mut ScalarCx<'_>, a: &[Elem], b: &[Elem]) -> Vec<Elem> {
    let (x, y) = (a[0], b[0]);
    let (low, high) = if monoid == Monoid::ArgMin { (x, y) } else { (y, x) };
    let mut stays = compare(cx, Compare::Le, low, high);
    if has_nan(x.dtype) {
        let nan = any_nan(cx, x);
        stays = cx.or(stays, nan);
    }
    a.iter().zip(b).map(|(&a, &b)| cx.select(stays, a, b)).collect()
}

/// The position of the lesser value for `ArgMin`, and of the greater one for `ArgMax`. Of equal values it is
/// the earlier position. NaN counts as beyond all numbers.
fn position(monoid: Monoid, cx: &mut ScalarCx<'_>, a: &[Elem], b: &[Elem]) -> Vec<Elem> {
    let (x, y) = (a[0], b[0]);
    let beyond = |cx: &mut ScalarCx<'_>, x: Elem, y: Elem| {
        let (low, high) = if monoid == Monoid::ArgMin { (y, x) } else { (x, y) };
        let beyond = compare(cx, Compare::Lt, low, high);
        if !has_nan(x.dtype) {
            return beyond;
        }
        let (x_nan, y_nan) = (any_nan(cx, x), any_nan(cx, y));
        let x_number = cx.not(x_nan);
        let first_nan = cx.and(x_number, y_nan);
        cx.or(beyond, first_nan)
    };
    let (right, left) = (beyond(cx, x, y), beyond(cx, y, x));
    let earlier = cx.lt(b[1].re, a[1].re);
    let (not_left, maybe) = (cx.not(left), cx.or(right, earlier));
    let right = cx.and(not_left, maybe);
    a.iter().zip(b).map(|(&a, &b)| cx.select(right, b, a)).collect()
}

fn has_nan(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// A float, or a complex number with this value in both parts.
fn both_parts(dtype: DType, part: f64) -> Scalar {
    let bits = Scalar::F64(part).cast(dtype.real()).bits().0;
    Scalar::from_bits(dtype, (bits, if dtype.is_complex() { bits } else { 0 }))
}
