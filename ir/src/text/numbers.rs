//! Printing of numbers, which the parser reads back bit for bit.

use crate::scalar::{Literal, Scalar};
use crate::value::Array;
use std::fmt::Write;

/// The bits of the NaN written `NaN`.
const QUIET_NAN_64: u64 = 0x7ff8_0000_0000_0000;
const QUIET_NAN_32: u32 = 0x7fc0_0000;

/// The literal that the parser reads from a scalar's text without a dtype. `None` if the text needs the
/// dtype.
pub(super) fn weak_literal(scalar: Scalar) -> Option<Literal> {
    // The shortest text of an f32 is another number as an f64.
    let widen = |x: f32| if x.is_nan() { plain(x as f64, plain32(x)) } else { x.to_string().parse().ok() };
    match scalar {
        Scalar::Bool(b) => Some(Literal::Bool(b)),
        Scalar::F32(x) => widen(x).map(Literal::Float),
        Scalar::F64(x) => plain(x, plain64(x)).map(Literal::Float),
        Scalar::C64(z) => Some(Literal::Complex(widen(z.re)?, widen(z.im)?)),
        Scalar::C128(z) => Some(Literal::Complex(plain(z.re, plain64(z.re))?, plain(z.im, plain64(z.im))?)),
        int => int.to_i128().map(Literal::Int),
    }
}

fn plain(x: f64, is_plain: bool) -> Option<f64> {
    is_plain.then_some(if x.is_nan() { f64::NAN } else { x })
}
fn plain64(x: f64) -> bool {
    !x.is_nan() || x.to_bits() == QUIET_NAN_64
}
fn plain32(x: f32) -> bool {
    !x.is_nan() || x.to_bits() == QUIET_NAN_32
}

fn write_f64(x: f64, out: &mut String) {
    let _ = if plain64(x) { write!(out, "{x:?}") } else { write!(out, "NaN(0x{:x})", x.to_bits()) };
}
fn write_f32(x: f32, out: &mut String) {
    let _ = if plain32(x) { write!(out, "{x:?}") } else { write!(out, "NaN(0x{:x})", x.to_bits()) };
}

/// Writes a scalar without its dtype.
pub(super) fn write_weak(scalar: Scalar, out: &mut String) {
    match scalar {
        Scalar::F32(x) => write_f32(x, out),
        Scalar::F64(x) => write_f64(x, out),
        Scalar::C64(z) => pair(out, |out| write_f32(z.re, out), |out| write_f32(z.im, out)),
        Scalar::C128(z) => pair(out, |out| write_f64(z.re, out), |out| write_f64(z.im, out)),
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

fn pair(out: &mut String, re: impl FnOnce(&mut String), im: impl FnOnce(&mut String)) {
    out.push('(');
    re(out);
    out.push_str(", ");
    im(out);
    out.push(')');
}

/// Writes a scalar, with its dtype unless it is a bool or `suffix` is false.
pub(crate) fn write_scalar(scalar: Scalar, suffix: bool, out: &mut String) {
    write_weak(scalar, out);
    if suffix && !matches!(scalar, Scalar::Bool(_)) {
        let _ = write!(out, ":{}", scalar.dtype());
    }
}

/// Writes constant data with its dtype, and with its shape if it is empty.
pub(crate) fn write_array(array: &Array, out: &mut String) {
    let shape = array.shape();
    if array.is_empty() {
        let _ = write!(out, "[]:{}", array.dtype());
        if shape.len() > 1 {
            let _ = write!(out, "{shape:?}");
        }
        return;
    }
    let mut elements = array.iter();
    write_level(shape, &mut elements, out);
    let _ = write!(out, ":{}", array.dtype());
}

fn write_level(shape: &[usize], elements: &mut dyn Iterator<Item = Scalar>, out: &mut String) {
    let Some((&extent, inner)) = shape.split_first() else {
        if let Some(scalar) = elements.next() {
            write_weak(scalar, out);
        }
        return;
    };
    out.push('[');
    for i in 0..extent {
        out.push_str(if i > 0 { ", " } else { "" });
        write_level(inner, elements, out);
    }
    out.push(']');
}
