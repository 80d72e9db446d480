//! Steps that copy the elements, or the subarrays, of an array where a mask is true.

use super::by_reference::Why;
use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, Step};
use super::value::{Held, Place, Shape, Strides, copy_elements};
use crate::copy::stream_row;
use crate::kernel::fence;
use crate::schedule::{bytes_of_gather, exceeds_caches, facts};
use rewright_ir::ops::compress::COMPRESS;
use rewright_ir::value::checked_len;
use rewright_ir::{EvalError, InstData};

/// Shorter rows, in bytes, stay in the caches: a streaming store of less than a cache line takes longer.
const LEAST_STREAMED: usize = 512;

/// A step of the op `compress`.
#[derive(Clone, Copy, Debug)]
pub struct Compress {
    /// The result's position among the function's results, if the block ends by returning it.
    exit: Option<u32>,
}

impl Compress {
    /// The step of an instruction; `None` if its op is another one.
    pub fn of(data: &InstData, exit: Option<u32>) -> Option<Compress> {
        (data.op == COMPRESS).then_some(Compress { exit })
    }
}

/// The selected elements of an array, or subarrays along the axes that the mask does not have.
struct Selected {
    /// The number of the array's axes that the mask has.
    axes: usize,
    /// The offset in bytes of each selected place.
    offsets: Vec<isize>,
}

impl Selected {
    /// Computes the offsets, which are zeros before, one for each element of the mask that is true.
    fn find(&mut self, array: &Place<'_>, mask: &Place<'_>) {
        let along: Strides = (0..self.axes).map(|axis| array.strides[axis] * array.unit).collect();
        let mut next = self.offsets.iter_mut();
        // SAFETY: each address is that of an element of the mask, a byte that is 0 or 1. The mask stays alive
        // while it is held.
        walk(mask, &along, |at, offset| {
            if unsafe { at.read() } != 0
                && let Some(place) = next.next()
            {
                *place = offset;
            }
        });
    }
}

/// Counts the elements of a mask that are true.
fn count(mask: &Place<'_>) -> usize {
    let mut count = 0;
    let nowhere: Strides = Strides::from_elem(0, mask.shape.len());
    // SAFETY: each address is that of an element of the mask, a byte that is 0 or 1. The mask stays alive
    // while it is held.
    walk(mask, &nowhere, |at, _| count += usize::from(unsafe { at.read() } != 0));
    count
}

/// Calls `each` for every element in row-major order, with the address of the element, and with the offset
/// that the strides `along` give for the same index.
fn walk(place: &Place<'_>, along: &[isize], mut each: impl FnMut(*const u8, isize)) {
    lines(place, along, |line| {
        let (mut at, mut offset) = (line.at, line.offset);
        for _ in 0..line.count {
            each(at, offset);
            at = at.wrapping_offset(line.step);
            offset += line.along;
        }
    });
}

/// The elements along the last axis at an index of the other axes.
struct Line {
    /// The address of the first element, and the distance to the next one in bytes.
    at: *const u8,
    step: isize,
    /// The offset of the first element by other strides, and the distance to the next one.
    offset: isize,
    along: isize,
    count: usize,
}

/// Calls `each` for every line in row-major order.
fn lines(place: &Place<'_>, along: &[isize], mut each: impl FnMut(Line)) {
    if place.shape.contains(&0) {
        return;
    }
    let rank = place.shape.len();
    let (count, step, other) = match rank {
        0 => (1, 0, 0),
        _ => (place.shape[rank - 1], place.strides[rank - 1] * place.unit, along[rank - 1]),
    };
    let mut index: Shape = Shape::from_elem(0, rank.saturating_sub(1));
    loop {
        let dot = |strides: &[isize]| index.iter().zip(strides).map(|(&n, &s)| n as isize * s).sum::<isize>();
        let at = place.pointer.wrapping_offset(dot(place.strides) * place.unit);
        each(Line { at, step, offset: dot(along), along: other, count });
        let mut axis = index.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            index[axis] += 1;
            if index[axis] < place.shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

impl Machine<'_> {
    /// Runs a step. If shapes do not fit, the op's reference meaning runs instead, and its error says why.
    pub(super) fn compress(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        compress: Compress,
    ) -> Result<(), EvalError> {
        let ([def], Some(held)) = (&step.defs[..], self.compressed(act, step, compress)?) else {
            return self.array(act, step, ArrayEval::Op, Why::WRONG);
        };
        self.put(act.frame, def.slot, held)?;
        self.admit(act, def, "result")
    }

    /// The result of a step; `None` if shapes do not fit. The limits are checked before each loop over
    /// elements and each allocation.
    fn compressed(&self, act: &Activation<'_, '_>, step: &Step, compress: Compress) -> Result<Option<Held>, EvalError> {
        let (array, mask) = (self.operand(act, step, 0).place(), self.operand(act, step, 1).place());
        let (Some(array), Some(mask)) = (array, mask) else { return Ok(None) };
        let axes = mask.shape.len();
        let (steps, len) = (self.steps_left(), checked_len(mask.shape).map_or(u64::MAX, |len| len as u64));
        self.spend(len)?;
        if array.shape.get(..axes) != Some(mask.shape) {
            return Ok(self.undone(steps));
        }
        let count = count(&mask);
        let shape: Shape = std::iter::once(count).chain(array.shape[axes..].iter().copied()).collect();
        self.room(&shape, array.dtype.size())?;
        self.spend(shape.iter().product::<usize>() as u64)?;
        let mut selected = Selected { axes, offsets: Vec::new() };
        let bytes = self.list(count, &mut selected.offsets)?;
        selected.find(&array, &mask);
        let fresh = self.fresh(act, compress.exit, array.dtype, shape.clone())?;
        if !shape.contains(&0) {
            // SAFETY: the offsets lead to elements of the array, which stays alive while it is held. The
            // target is new memory with the shape of the result.
            unsafe { copy_selected(&array, &selected, fresh.target.pointer, &fresh.target.strides) };
        }
        self.forget(bytes);
        // SAFETY: `copy_selected` wrote every element.
        Ok(Some(unsafe { fresh.into_held() }))
    }

    /// Fills `list` with `count` zeros. Returns their bytes, which count as live until they are
    /// [uncounted](Machine::forget).
    fn list(&self, count: usize, list: &mut Vec<isize>) -> Result<u64, EvalError> {
        let bytes = (count as u64).saturating_mul(size_of::<isize>() as u64);
        self.charge(bytes)?;
        let no_memory = |_| EvalError::limit(format!("no memory for {count} positions"));
        list.try_reserve_exact(count).map_err(no_memory)?;
        list.resize(count, 0);
        Ok(bytes)
    }
}

/// Copies the selected elements or subarrays to the target, with these strides in bytes.
///
/// # Safety
/// The offsets lead to elements of the array that are valid to read. The target has memory for each element
/// of the result, valid to write, which does not alias the array. The result has at least one element.
unsafe fn copy_selected(array: &Place<'_>, selected: &Selected, target: *mut u8, strides: &[isize]) {
    let Selected { axes, offsets } = selected;
    let rest_strides: Strides = array.strides[*axes..].iter().map(|stride| stride * array.unit).collect();
    let (rest_shape, size) = (&array.shape[*axes..], array.dtype.size());
    let rest = Place { shape: rest_shape, strides: &rest_strides, unit: 1, ..*array };
    let (step, target_rest) = (strides[0], &strides[1..]);
    let is_line = rest.is_dense() && {
        let dense = super::value::row_major(rest_shape, size);
        rest_shape.iter().zip(target_rest.iter().zip(&dense)).all(|(&extent, (a, b))| extent < 2 || a == b)
    };
    let elements = |shape: &[usize]| shape.iter().product::<usize>();
    let line = if is_line { elements(rest_shape) * size } else { 0 };
    let written = offsets.len() * elements(rest_shape) * size;
    let all = bytes_of_gather(written as u64, std::iter::once((elements(array.shape) * size) as u64));
    let streams = line >= LEAST_STREAMED && exceeds_caches(facts(), all, false);
    let targets = (0..).map(|n: isize| target.wrapping_offset(n * step));
    let pairs = offsets.iter().map(|&offset| array.pointer.wrapping_offset(offset)).zip(targets);
    // SAFETY: by the caller's promise, the elements of the subarray at each offset are valid to read, those
    // of the target are valid to write, and the two do not alias.
    unsafe {
        match (line, streams) {
            (0, _) => pairs.for_each(|(from, to)| copy_elements(&Place { pointer: from, ..rest }, to, target_rest)),
            (_, true) => pairs.for_each(|(from, to)| stream_row(from, to, line)),
            (1, _) => pairs.for_each(|(from, to)| copy_bytes::<1>(from, to)),
            (2, _) => pairs.for_each(|(from, to)| copy_bytes::<2>(from, to)),
            (4, _) => pairs.for_each(|(from, to)| copy_bytes::<4>(from, to)),
            (8, _) => pairs.for_each(|(from, to)| copy_bytes::<8>(from, to)),
            (16, _) => pairs.for_each(|(from, to)| copy_bytes::<16>(from, to)),
            (32, _) => pairs.for_each(|(from, to)| copy_bytes::<32>(from, to)),
            (64, _) => pairs.for_each(|(from, to)| copy_bytes::<64>(from, to)),
            _ => pairs.for_each(|(from, to)| std::ptr::copy_nonoverlapping(from, to, line)),
        }
    }
    if streams {
        fence();
    }
}

/// Copies a row of a size for which the compiler makes loads and stores instead of a call.
///
/// # Safety
/// `N` bytes at `from` are valid to read, and `N` bytes at `to` to write.
unsafe fn copy_bytes<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: by the caller's promise; arrays of bytes have no alignment.
    unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
}
