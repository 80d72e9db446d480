//! Powers. An integer power that the kernel does not know may fail, and one of complex numbers is no function of the table: both are
//! left to their reference meaning.

use super::arithmetic::product;
use super::division::reciprocal;
use super::elem::{Elem, Elems, ScalarCx};
use super::functions::call;
use super::lower;
use rewright_ir::Scalar;

lower! {
    "power" => |cx, args| if args[0].dtype.is_float() { call(cx, args, "power") } else { None };
    "float_power" => |cx, args| call(cx, args, "float_power");
    "integer_power" => integer_power;
}

/// By repeated squaring from the lowest bit of the exponent, in the order in which the op says that products are rounded.
fn integer_power(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let n = cx.attrs.int("n")?;
    let x = args[0];
    let (mut base, mut rest) = (x, n.unsigned_abs());
    let mut power: Option<Elem> = None;
    while rest > 0 {
        if rest & 1 == 1 {
            power = Some(match power {
                Some(so_far) => product(cx, so_far, base),
                None => base,
            });
        }
        rest >>= 1;
        if rest > 0 {
            base = product(cx, base, base);
        }
    }
    let power = power.unwrap_or_else(|| cx.constant(Scalar::one(x.dtype)));
    if n >= 0 {
        return power.only();
    }
    if x.dtype.is_int() { None } else { reciprocal(cx, power).only() }
}
