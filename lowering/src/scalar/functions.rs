//! Functions of floats: calls of the shared table, or one or two instructions. Functions of complex numbers
//! are in `complex.rs`.

use super::elem::{Elem, Elems, ScalarCx};
use super::{complex, lower};
use crate::kernel::Unary;

/// Registers ops whose meaning on floats is the function of the same name.
macro_rules! calls {
    ($($name:literal)*) => {
        lower! { $($name => |cx, args| call(cx, args, $name);)* }
    };
}

calls! {
    "exp" "exp2" "expm1" "log" "log2" "log10" "log1p"
    "sin" "cos" "tan" "asin" "acos" "atan" "sinh" "cosh" "tanh" "asinh" "acosh" "atanh"
    "cbrt" "erf" "erfc" "lgamma" "logistic" "atan2" "hypot" "logaddexp" "logaddexp2"
}

lower! {
    "sqrt" => |cx, args| {
        if args[0].im.is_some() {
            return complex::call(cx, args[0], "sqrt");
        }
        Elem::real(args[0].dtype, cx.k.unary(Unary::Sqrt, args[0].re)).only()
    };
    "rsqrt" => |cx, args| {
        let (root, one) = (cx.k.unary(Unary::Sqrt, args[0].re), cx.float(args[0].dtype, 1.0));
        Elem::real(args[0].dtype, cx.div(one, root)).only()
    };
    "deg2rad" => |cx, args| scaled(cx, args[0], std::f64::consts::PI / 180.0, std::f32::consts::PI / 180.0);
    "rad2deg" => |cx, args| scaled(cx, args[0], 180.0 / std::f64::consts::PI, 180.0 / std::f32::consts::PI);
}

pub(super) fn call(cx: &mut ScalarCx<'_>, args: &[Elem], name: &str) -> Option<Elems> {
    match args {
        [z] if z.im.is_some() => return complex::call(cx, *z, name),
        _ if args.iter().any(|a| a.im.is_some()) => return None,
        _ => {}
    }
    let values: smallvec::SmallVec<[_; 2]> = args.iter().map(|a| a.re).collect();
    Elem::real(args[0].dtype, cx.math(name, &values)?).only()
}

/// The product with a constant that is rounded for each precision.
fn scaled(cx: &mut ScalarCx<'_>, x: Elem, double: f64, single: f32) -> Option<Elems> {
    let factor = cx.float(x.dtype, if x.dtype == rewright_ir::DType::F32 { single.into() } else { double });
    Elem::real(x.dtype, cx.mul(x.re, factor)).only()
}
