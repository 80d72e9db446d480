//! Steps that read or replace parts of arrays at positions. Elements and views are read without copying.
//! Updates are in place if no other value shares the array's buffer, and otherwise in a new array, to which
//! the elements outside of the part are copied (`complement.rs`).

use super::by_reference::Why;
use super::complement::{Along, complement};
use super::frame::Frame;
use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, Slot, Step};
use super::value::{Held, Lent, Place, Shape, Strides, Target, copy_elements, fill_elements, in_place};
use super::view::{element, lend};
use rewright_ir::{DType, EvalError, Scalar, SliceSpec};
use smallvec::SmallVec;

/// The part that an `update` replaces.
#[derive(Debug)]
pub struct Update {
    /// The slices.
    pub slices: SmallVec<[SliceSpec; 2]>,
    /// Whether the first operand dies, and no other operand is the same value.
    pub in_place: bool,
    /// The result's position among the function's results, if the block ends by returning it.
    pub exit: Option<u32>,
}

impl Machine<'_> {
    /// Reads an element, or a view of the remaining axes.
    pub(super) fn getitem(&self, act: &mut Activation<'_, '_>, step: &Step) -> Result<(), EvalError> {
        let found = part(act.frame, step, 1, &[]);
        let (Some(found), [def]) = (found, &step.defs[..]) else {
            return self.array(act, step, ArrayEval::Op, Why::WRONG);
        };
        let held = self.operand(act, step, 0);
        let view = lend(held, found.pointer, found.shape, found.strides);
        let held = match view {
            Some(view) if def.ty.is_scalar() => element(&view.place()).map(Held::Scalar),
            view => view.map(Held::Lent),
        };
        let Some(held) = held else { return self.array(act, step, ArrayEval::Op, Why::WRONG) };
        self.put(act.frame, def.slot, held)?;
        self.admit(act, def, "result")
    }

    /// The extent of an axis.
    pub(super) fn dim(&self, act: &mut Activation<'_, '_>, step: &Step, axis: usize) -> Result<(), EvalError> {
        let extent = self.operand(act, step, 0).shape().get(axis).copied();
        let (Some(extent), [def]) = (extent, &step.defs[..]) else {
            return self.array(act, step, ArrayEval::Op, Why::WRONG);
        };
        self.put(act.frame, def.slot, Held::Scalar(Scalar::I64(extent as i64)))
    }

    /// The first operand with a part of it replaced by the second, in place if possible. If operands do not
    /// fit, the reference meaning reports the error.
    pub(super) fn update(&self, act: &mut Activation<'_, '_>, step: &Step, update: &Update) -> Result<(), EvalError> {
        let (Some(to), Some(&dest), [def]) =
            (part(act.frame, step, 2, &update.slices), step.args.first(), &step.defs[..])
        else {
            return self.array(act, step, ArrayEval::Op, Why::WRONG);
        };
        let Some(new) = self.replacement(act, step, to.dtype, &to.shape)? else {
            return self.array(act, step, ArrayEval::Op, Why::WRONG);
        };
        if update.in_place {
            match self.take(act.frame, dest) {
                // SAFETY: the part is inside of this array, which is not shared, so the new elements do not
                // alias it.
                Held::Array(array) => match in_place(array, |whole| unsafe { new.write(&to, &whole) }) {
                    Ok(array) => return self.put(act.frame, def.slot, Held::Array(array)),
                    Err(shared) => self.put(act.frame, dest, Held::Array(shared))?,
                },
                // A borrowed view is of the caller's memory, which must not change.
                lent => self.put(act.frame, dest, lent)?,
            }
        }
        let Some(copy) = self.updated_copy(act, step, update, &new)? else {
            return self.array(act, step, ArrayEval::Op, Why::WRONG);
        };
        self.put(act.frame, def.slot, copy)
    }

    /// A new array: the first operand with a part of it replaced. `None` if there is no such part.
    fn updated_copy(
        &self,
        act: &Activation<'_, '_>,
        step: &Step,
        update: &Update,
        new: &New,
    ) -> Result<Option<Held>, EvalError> {
        let Some(place) = self.operand(act, step, 0).place() else { return Ok(None) };
        let fresh = self.fresh(act, update.exit, place.dtype, place.shape.into())?;
        let Some(to) = part_of(&fresh.place(), act.frame, step, 2, &update.slices) else { return Ok(None) };
        self.spend(place.shape.iter().product::<usize>() as u64)?;
        // SAFETY: the operand is held. The new memory has its shape and dtype and aliases no operand. The
        // part is inside of it, and the boxes are the rest.
        unsafe {
            let kept = complement(place.shape, &to.along, place.dtype.size());
            kept.iter().for_each(|slab| slab.copy(&place, &fresh.target));
            new.write(&to, &fresh.target);
            Ok(Some(fresh.into_held()))
        }
    }

    /// The new elements, as an array of the part's shape and dtype; `None` if they can't be broadcast to it.
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

/// The new elements of a part.
enum New {
    Scalar(Scalar),
    Elements(Lent),
}

impl New {
    /// Writes the new elements to a part of an array, of which `whole` is the memory.
    ///
    /// # Safety
    /// The part was found in an array with these strides, and all of its elements are valid to write. The
    /// new elements do not alias it, and have the part's dtype and shape.
    unsafe fn write(&self, to: &ArrayPart, whole: &Target) {
        let target = to.target(whole);
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                New::Scalar(scalar) => fill_elements(*scalar, to.dtype, &to.shape, &target),
                New::Elements(from) => copy_elements(&from.place(), target.pointer, &target.strides),
            }
        }
    }
}

/// A part of an array.
pub(super) struct ArrayPart {
    pub dtype: DType,
    pub pointer: *const u8,
    /// The distance in bytes from the array's first element.
    pub offset: isize,
    pub shape: Shape,
    pub strides: Strides,
    /// The positions along the array's leading axes. The part has all positions along the others.
    pub along: SmallVec<[Along; 4]>,
}

impl ArrayPart {
    /// The part of an array with these elements.
    pub fn target(&self, whole: &Target) -> Target {
        Target { pointer: whole.pointer.wrapping_offset(self.offset), strides: self.strides.clone(), used: whole.used }
    }
}

/// The part of the first operand at positions of the leading axes (the operands from `first` on), and at
/// slices of the following axes. `None` if a position is out of bounds.
pub(super) fn part(frame: &Frame, step: &Step, first: usize, slices: &[SliceSpec]) -> Option<ArrayPart> {
    let whole = frame.slots[step.args.first()?.0 as usize].place()?;
    part_of(&whole, frame, step, first, slices)
}

/// The same part of an array of the first operand's shape.
pub(super) fn part_of(
    whole: &Place<'_>,
    frame: &Frame,
    step: &Step,
    first: usize,
    slices: &[SliceSpec],
) -> Option<ArrayPart> {
    let slot = |slot: &Slot| &frame.slots[slot.0 as usize];
    let Place { dtype, pointer, shape, strides, unit } = *whole;
    let positions = step.args.get(first..)?;
    let (mut offset, rest) = (0, positions.len());
    let mut along: SmallVec<[Along; 4]> = SmallVec::new();
    for (axis, at) in positions.iter().map(slot).enumerate() {
        let extent = *shape.get(axis)? as i128;
        let at = at.scalar().ok()?.to_i128()?;
        let at = if at < 0 { at + extent } else { at };
        if !(0..extent).contains(&at) {
            return None;
        }
        offset += at as isize * strides[axis] * unit;
        along.push(Along { start: at as usize, count: 1, step: 1 });
    }
    let (mut shape, mut strides): (Shape, Strides) =
        (shape[rest..].into(), strides[rest..].iter().map(|s| s * unit).collect());
    for (axis, spec) in slices.iter().enumerate() {
        let (start, count) = spec.resolve(*shape.get(axis)? as u64);
        offset += start as isize * strides[axis];
        along.push(Along { start: start as usize, count: count as usize, step: spec.step as isize });
        shape[axis] = count as usize;
        strides[axis] = if count > 1 { strides[axis].checked_mul(spec.step as isize)? } else { 0 };
    }
    // Without elements the offset may be out of bounds.
    let offset = if shape.contains(&0) { 0 } else { offset };
    Some(ArrayPart { dtype, pointer: pointer.wrapping_offset(offset), offset, shape, strides, along })
}

/// Broadcasts an array to `shape`: drops surplus leading axes of extent 1, and repeats others. `None` if it
/// does not fit.
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
