//! Functions of complex numbers: those of [`complex`], which computes `c64` at `c128` and rounds.

use super::elem::{Elem, Elems, ScalarCx};
use crate::kernel::KValue;
use rewright_ir::DType;
use rewright_ir::math::vector::complex;

/// The parts, at `f64`.
fn wide(cx: &mut ScalarCx<'_>, z: Elem) -> Option<[KValue; 2]> {
    Some([z.re, z.im?].map(|part| cx.k.convert(part, DType::F64)))
}

fn rounded(cx: &mut ScalarCx<'_>, parts: [KValue; 2], dtype: DType) -> Option<Elems> {
    let [re, im] = parts.map(|part| cx.k.convert(part, dtype.real()));
    Elem::complex(dtype, re, im).only()
}

/// The function of this name, if it is one of these.
pub(super) fn call(cx: &mut ScalarCx<'_>, z: Elem, name: &str) -> Option<Elems> {
    let parts = wide(cx, z)?;
    let value = cx.expand_complex([parts], |[z]| Some(complex::unary(name)?(z)))?;
    rounded(cx, value, z.dtype)
}

/// `a` to the power `b`: where that is a constant of a few factors, only what it asks for.
pub(super) fn power(cx: &mut ScalarCx<'_>, a: Elem, b: Elem) -> Option<Elems> {
    let (base, exponent) = (wide(cx, a)?, wide(cx, b)?);
    let value = match few_factors(cx, b) {
        Some(n) => cx.expand_complex([base], |[a]| Some(complex::constant_power(a, n))),
        None => cx.expand_complex([base, exponent], |[a, b]| Some(complex::power(a, b))),
    }?;
    rounded(cx, value, a.dtype)
}

/// The constant whole number that an exponent is, if it is one of so many factors.
fn few_factors(cx: &mut ScalarCx<'_>, b: Elem) -> Option<i32> {
    let [re, im] = [b.re, b.im?].map(|part| cx.k.as_constant(part).map(|c| c.to_f64()));
    let (re, im) = (re?, im?);
    let few = im == 0.0 && re == re.trunc() && re != 0.0 && re.abs() <= f64::from(complex::MOST_FACTORS);
    few.then_some(re as i32)
}
