//! Powers. An integer power may fail unless the exponent is a constant, and then runs by its reference
//! meaning.

use super::arithmetic::product;
use super::division::reciprocal;
use super::elem::{Elem, Elems, ScalarCx};
use super::functions::call;
use super::{complex, lower};
use rewright_ir::Scalar;

lower! {
    "power" => |cx, args| if args[0].dtype.is_int() { constant_power(cx, args) } else { power(cx, args, "power") };
    "float_power" => |cx, args| power(cx, args, "float_power");
    "integer_power" => integer_power;
}

fn power(cx: &mut ScalarCx<'_>, args: &[Elem], name: &str) -> Option<Elems> {
    match args {
        [a, b] if a.im.is_some() => complex::power(cx, *a, *b),
        _ => call(cx, args, name),
    }
}

/// The power of an integer with a constant exponent that is not negative.
fn constant_power(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let n = cx.k.as_constant(args[1].re)?.to_i128()?;
    let n = u64::try_from(n).ok()?;
    by_squaring(cx, args[0], n).only()
}

fn integer_power(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let n = cx.attrs.int("n")?;
    let power = by_squaring(cx, args[0], n.unsigned_abs());
    if n >= 0 {
        return power.only();
    }
    if power.dtype.is_int() { None } else { reciprocal(cx, power).only() }
}

/// Repeated squaring from the lowest bit of the exponent, in the order in which `integer_power` rounds
/// products.
fn by_squaring(cx: &mut ScalarCx<'_>, x: Elem, n: u64) -> Elem {
    let (mut base, mut rest) = (x, n);
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
    power.unwrap_or_else(|| cx.constant(Scalar::one(x.dtype)))
}
