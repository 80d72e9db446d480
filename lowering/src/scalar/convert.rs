//! Conversion between dtypes, and between complex numbers and their parts.

use super::elem::{Elem, Elems, ScalarCx};
use super::lower;
use rewright_ir::Scalar;

lower! {
    "cast" => |cx, args| {
        let to = cx.attrs.dtype("to")?;
        cx.cast(args[0], to).only()
    };
    "real" => |_, args| Elem::real(args[0].dtype.real(), args[0].re).only();
    "imag" => imag;
    "conj" => |cx, args| Elem { im: args[0].im.map(|im| cx.neg(im)), ..args[0] }.only();
    "angle" => angle;
    "complex" => |_, args| Elem::complex(args[0].dtype.to_complex(), args[0].re, args[1].re).only();
}

fn imag(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let z = args[0];
    match z.im {
        Some(im) => Elem::real(z.dtype.real(), im).only(),
        None => cx.constant(Scalar::zero(z.dtype)).only(),
    }
}

fn angle(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let z = args[0];
    let dtype = z.dtype.real();
    let im = z.im.unwrap_or_else(|| cx.float(dtype, 0.0));
    Elem::real(dtype, cx.math("atan2", &[im, z.re])?).only()
}
