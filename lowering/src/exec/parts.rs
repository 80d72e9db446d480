//! Steps that read or replace parts of arrays at positions: elements and views without copying, updates in place where nobody else can
//! see the array.

use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, Slot, Step};
use super::value::{Held, Lent, Place, Shape, Strides, Target, copy_elements, fill_elements, in_place};
use super::view::{element, lend};
use rewright_ir::{DType, EvalError, Scalar, SliceSpec};

impl Machine<'_> {
    /// An element, or a view of the axes that are left.
    pub(super) fn getitem(&self, act: &mut Activation<'_, '_>, step: &Step) -> Result<(), EvalError> {
        let found = part(act, step, 1, &[]);
        let (Some(found), [def]) = (found, &step.defs[..]) else { return self.array(act, step, ArrayEval::Op) };
        let held = self.operand(act, step, 0);
        let view = lend(held, found.pointer, found.shape, found.strides);
        let held = match view {
            Some(view) if def.ty.is_scalar() => element(&view.place()).map(Held::Scalar),
            view => view.map(Held::Lent),
        };
        let Some(held) = held else { return self.array(act, step, ArrayEval::Op) };
        self.put(act.frame, def.slot, held)?;
        self.admit(act, def, "result")
    }

    /// The extent of an axis.
    pub(super) fn dim(&self, act: &mut Activation<'_, '_>, step: &Step, axis: usize) -> Result<(), EvalError> {
        let extent = self.operand(act, step, 0).shape().get(axis).copied();
        let (Some(extent), [def]) = (extent, &step.defs[..]) else { return self.array(act, step, ArrayEval::Op) };
        self.put(act.frame, def.slot, Held::Scalar(Scalar::I64(extent as i64)))
    }

    /// The first operand, which dies, with a part of it replaced by the second. What does not fit, or would be seen by others, is left
    /// to the op's reference meaning.
    pub(super) fn update(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        slices: &[SliceSpec],
    ) -> Result<(), EvalError> {
        let (Some(to), Some(&dest), [def]) = (part(act, step, 2, slices), step.args.first(), &step.defs[..]) else {
            return self.array(act, step, ArrayEval::Op);
        };
        let Some(new) = self.replacement(act, step, to.dtype, &to.shape)? else {
            return self.array(act, step, ArrayEval::Op);
        };
        let array = match self.take(act.frame, dest) {
            Held::Array(array) => array,
            // The caller's memory, which a view of theirs only lends.
            lent => {
                self.put(act.frame, dest, lent)?;
                return self.array(act, step, ArrayEval::Op);
            }
        };
        let written = in_place(array, |whole| {
            let target =
                Target { pointer: whole.pointer.wrapping_offset(to.offset), strides: to.strides.clone(), used: true };
            // SAFETY: the places of the part are elements of the array, which nobody else holds, so that what is written, which is held
            // by itself, has no elements there; it is of the same dtype and shape.
            unsafe {
                match &new {
                    New::Scalar(scalar) => fill_elements(*scalar, to.dtype, &to.shape, &target),
                    New::Elements(from) => copy_elements(&from.place(), target.pointer, &target.strides),
                }
            }
        });
        match written {
            Ok(array) => self.put(act.frame, def.slot, Held::Array(array)),
            Err(array) => {
                self.put(act.frame, dest, Held::Array(array))?;
                self.array(act, step, ArrayEval::Op)
            }
        }
    }

    /// What replaces a part, as an array of the part's shape and dtype; `None` if it can't be broadcast to it.
    fn replacement(
        &self,
        act: &Activation<'_, '_>,
        step: &Step,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Option<New>, EvalError> {
        let held = self.operand(act, step, 1);
        self.spend(shape.iter().product::<usize>() as u64)?;
        if let Held::Scalar(scalar) = held {
            return Ok(Some(New::Scalar(scalar.cast(dtype))));
        }
        if held.dtype() == Some(dtype) {
            return Ok(stretched(held, shape).map(New::Elements));
        }
        let array = held.to_datum(&mut self.buffers.borrow_mut())?.to_array().cast(dtype);
        Ok(stretched(&Held::Array(array), shape).map(New::Elements))
    }
}

/// What is written to a part.
enum New {
    Scalar(Scalar),
    Elements(Lent),
}

/// A part of an array, as places.
struct Part {
    dtype: DType,
    pointer: *const u8,
    /// The distance in bytes from the array's first element.
    offset: isize,
    shape: Shape,
    strides: Strides,
}

/// The part of the first operand at positions, the operands from `first` on, of the leading axes, and at slices of those that follow.
/// `None` if something is out of bounds.
fn part(act: &Activation<'_, '_>, step: &Step, first: usize, slices: &[SliceSpec]) -> Option<Part> {
    let slot = |slot: &Slot| &act.frame.slots[slot.0 as usize];
    let Place { dtype, pointer, shape, strides, unit } = step.args.first().map(slot)?.place()?;
    let positions = step.args.get(first..)?;
    let (mut offset, rest) = (0, positions.len());
    for (axis, at) in positions.iter().map(slot).enumerate() {
        let extent = *shape.get(axis)? as i128;
        let at = at.scalar().ok()?.to_i128()?;
        let at = if at < 0 { at + extent } else { at };
        if !(0..extent).contains(&at) {
            return None;
        }
        offset += at as isize * strides[axis] * unit;
    }
    let (mut shape, mut strides): (Shape, Strides) =
        (shape[rest..].into(), strides[rest..].iter().map(|s| s * unit).collect());
    for (axis, spec) in slices.iter().enumerate() {
        let (start, count) = spec.resolve(*shape.get(axis)? as u64);
        offset += start as isize * strides[axis];
        shape[axis] = count as usize;
        strides[axis] = if count > 1 { strides[axis].checked_mul(spec.step as isize)? } else { 0 };
    }
    // Without elements there is no place to go to.
    let offset = if shape.contains(&0) { 0 } else { offset };
    Some(Part { dtype, pointer: pointer.wrapping_offset(offset), offset, shape, strides })
}

/// An array read as `shape`: leading axes of extent 1 that it has too many dropped, others stretched. `None` if it can't be.
pub(super) fn stretched(held: &Held, shape: &[usize]) -> Option<Lent> {
    let place = held.place()?;
    let extra = place.shape.len().saturating_sub(shape.len());
    if place.shape[..extra].iter().any(|&n| n != 1) {
        return None;
    }
    let own = &place.shape[extra..];
    let skip = shape.len() - own.len();
    let mut strides = Strides::from_elem(0, shape.len());
    for (axis, (&extent, &stride)) in own.iter().zip(&place.strides[extra..]).enumerate() {
        match extent {
            n if n == shape[skip + axis] => strides[skip + axis] = stride * place.unit,
            1 => {}
            _ => return None,
        }
    }
    lend(held, place.pointer, shape.into(), strides)
}
