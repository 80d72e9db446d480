//! Functions of complex numbers from [`complex`], which computes `c64` as `c128` and rounds.

use super::elem::{Elem, Elems, ScalarCx};
use crate::kernel::KValue;
use rewright_ir::DType;
use rewright_ir::math::vector::complex;

/// The parts, as `f64`.
fn wide(cx: &mut ScalarCx<'_>, z: Elem) -> Option<[KValue; 2]> {
    Some([z.re, z.im?].map(|part| cx.k.convert(part, DType::F64)))
}

fn rounded(cx: &mut ScalarCx<'_>, parts: [KValue; 2], dtype: DType) -> Option<Elems> {
    let [re, im] = parts.map(|part| cx.k.convert(part, dtype.real()));
    Elem::complex(dtype, re, im).only()
}

/// The function of this name, if [`complex`] has it.
pub(super) fn call(cx: &mut ScalarCx<'_>, z: Elem, name: &str) -> Option<Elems> {
    let parts = wide(cx, z)?;
    let value = cx.expand_complex([parts], |[z]| Some(complex::unary(name)?(z)))?;
    rounded(cx, value, z.dtype)
}

/// `a` to the power `b`. A constant exponent that is a small whole number is expanded to multiplications.
pub(super) fn power(cx: &mut ScalarCx<'_>, a: Elem, b: Elem) -> Option<Elems> {
    let (base, exponent) = (wide(cx, a)?, wide(cx, b)?);
    let value = match few_factors(cx, b) {
        Some(n) => cx.expand_complex([base], |[a]| Some(complex::constant_power(a, n))),
        None => cx.expand_complex([base, exponent], |[a, b]| Some(complex::power(a, b))),
    }?;
    rounded(cx, value, a.dtype)
}

/// The whole number of a constant exponent, if its magnitude is at most [`complex::MOST_FACTORS`].
fn few_factors(cx: &mut ScalarCx<'_>, b: Elem) -> Option<i32> {
    let [re, im] = [b.re, b.im?].map(|part| cx.k.as_constant(part).map(|c| c.to_f64()));
    let (re, im) = (re?, im?);
    let few = im == 0.0 && re == re.trunc() && re != 0.0 && re.abs() <= f64::from(complex::MOST_FACTORS);
    few.then_some(re as i32)
}
