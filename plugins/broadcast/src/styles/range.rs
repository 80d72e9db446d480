//! `f64[n; range]`: evenly spaced numbers, given by `start` and `step`. The element at `i` is `start + i *
//! step`. Integers wrap as in arrays; floats are rounded once (`f32` from an `f64`).
//!
//! A range of two or more floats has finite elements, because infinities are not evenly spaced. If start or
//! step overflowed, the elements would differ from those of an array, so that is an error.

use crate::element::{Cell, Element, Leaf};
use rewright::ir::expr::{Affine, BodyRef, Test};
use rewright::ir::{Component, StyleDef, Styled};
use rewright::{Array, Complex64, DType, Loc, Scalar, Type, register_interface, register_style};

/// Evenly spaced numbers.
pub static RANGE: StyleDef = StyleDef {
    name: "range",
    doc: "a vector of evenly spaced numbers",
    components,
    check,
    element: |array, index| {
        let [start, step] = [0, 1].map(|n| number(array, n));
        at(start, step, index[0])
    },
    take,
};

register_style!(RANGE);

fn components(ty: &Type) -> Result<Vec<Component>, String> {
    let dtype = ty.dtype();
    match ty.dims() {
        _ if dtype == DType::Bool => Err("numbers are wanted, not bools".into()),
        [_] => Ok(["start", "step"].map(|name| Component::new(name, dtype, [])).to_vec()),
        _ => Err(format!("a vector is wanted, not rank {}", ty.rank())),
    }
}

/// The element of a component, which has rank 0.
fn number(array: &Styled, component: usize) -> Scalar {
    array.components()[component].get(&[]).unwrap_or(Scalar::Bool(false).cast(array.dtype()))
}

/// Checks that all elements are finite, if there are two or more. All of them lie between the first and the
/// last one.
fn check(array: &Styled) -> Result<(), String> {
    let [start, step] = [0, 1].map(|n| number(array, n));
    match are_finite(start, step, array.shape()[0]) {
        true => Ok(()),
        false => Err(format!(
            "a range has finite elements, and of those from {start} in steps of {step} not all are; an array may have others, which `restyle` makes of a range"
        )),
    }
}

fn are_finite(start: Scalar, step: Scalar, n: usize) -> bool {
    n < 2 || [start, at(start, step, n - 1)].into_iter().all(is_finite)
}

/// True of integers, and of floats and complex numbers that are finite.
pub fn is_finite(number: Scalar) -> bool {
    let parts = number.to_c128();
    parts.re.is_finite() && parts.im.is_finite()
}

/// The element at a position.
fn at(start: Scalar, step: Scalar, index: usize) -> Scalar {
    if index == 0 {
        // Does not use the step, which may be infinite in a range of one element.
        return start;
    }
    let dtype = start.dtype();
    let spaced = |start: f64, step: f64| step.mul_add(index as f64, start);
    match (start.to_i128(), step.to_i128()) {
        // Truncation of a sum that wraps at 64 bits gives the sum that wraps at fewer bits.
        (Some(start), Some(step)) => {
            let exact = (start as u64).wrapping_add((index as u64).wrapping_mul(step as u64));
            if dtype.is_signed() { Scalar::I64(exact as i64).cast(dtype) } else { Scalar::U64(exact).cast(dtype) }
        }
        _ if dtype.is_complex() => {
            let (start, step) = (start.to_c128(), step.to_c128());
            Scalar::C128(Complex64::new(spaced(start.re, step.re), spaced(start.im, step.im))).cast(dtype)
        }
        _ => Scalar::F64(spaced(start.to_f64(), step.to_f64())).cast(dtype),
    }
}

/// The first element, and its difference to the second one. They are zero where the array has none, or
/// where a range can't have them.
fn take(_: &Type, array: &Array) -> Result<Vec<Array>, String> {
    let zero = Scalar::Bool(false).cast(array.dtype());
    let start = array.get(&[0]).unwrap_or(zero);
    let step = array.get(&[1]).map_or(zero, |second| difference(second, start));
    let n = array.len();
    let start = if n < 2 || is_finite(start) { start } else { zero };
    let step = if are_finite(start, step, n) { step } else { zero };
    let component = |number| Array::full(number, &[]).ok_or_else(|| "it is too large".to_string());
    [start, step].into_iter().map(component).collect()
}

fn difference(second: Scalar, first: Scalar) -> Scalar {
    let dtype = first.dtype();
    match (second.to_i128(), first.to_i128()) {
        (Some(second), Some(first)) => {
            let exact = (second as u64).wrapping_sub(first as u64);
            if dtype.is_signed() { Scalar::I64(exact as i64).cast(dtype) } else { Scalar::U64(exact).cast(dtype) }
        }
        _ if dtype.is_complex() => Scalar::C128(second.to_c128() - first.to_c128()).cast(dtype),
        _ => Scalar::F64(second.to_f64() - first.to_f64()).cast(dtype),
    }
}

register_interface!(style "range", Element, &Element(cell));

/// An element as an expression: the same numbers as [`at`].
fn cell(cell: &mut Cell<'_>, leaf: &Leaf, place: &[Affine]) -> Result<BodyRef, String> {
    let dtype = leaf.ty.dtype();
    let [start, step] = [0, 1].map(|n| cell.read_by(leaf.components[n], Vec::new()));
    cell.when(
        &place[0],
        Test::Zero,
        dtype,
        |_| Ok(start),
        |cell| {
            let index = cell.index(&place[0])?;
            if dtype.is_int() {
                let index = cell.body.cast(index, DType::I64, dtype, Loc::default());
                let along = cell.core("mul", &[index, step], dtype)?;
                return cell.core("add", &[start, along], dtype);
            }
            let index = cell.body.cast(index, DType::I64, DType::F64, Loc::default());
            let spaced = |cell: &mut Cell<'_>, start, step, part| {
                let [start, step] = [start, step].map(|x| cell.body.cast(x, part, DType::F64, Loc::default()));
                cell.core("fma", &[step, index, start], DType::F64)
            };
            if !dtype.is_complex() {
                let element = spaced(cell, start, step, dtype)?;
                return Ok(cell.body.cast(element, DType::F64, dtype, Loc::default()));
            }
            let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
            let mut parts = Vec::new();
            for name in ["real", "imag"] {
                let [start, step] = [cell.core(name, &[start], part)?, cell.core(name, &[step], part)?];
                parts.push(spaced(cell, start, step, part)?);
            }
            let element = cell.core("complex", &parts, DType::C128)?;
            Ok(cell.body.cast(element, DType::C128, dtype, Loc::default()))
        },
    )
}
