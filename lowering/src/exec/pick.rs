//! Gather steps: copy the rows of an array at positions from index arrays, or what a mask selects, to the
//! result. Single elements at positions are [expressions](super::wrap_gather), if there is a code generator.

use super::by_reference::Why;
use super::machine::{Activation, Machine};
use super::parts::stretched;
use super::plan::{ArrayEval, Step};
use super::value::{Held, Place, Shape, Strides, copy_elements};
use super::view::element;
use crate::copy::stream_row;
use crate::kernel::fence;
use crate::schedule::{bytes_of_gather, exceeds_caches, facts};
use rewright_ir::eval::broadcast_shapes;
use rewright_ir::ops::compress::COMPRESS;
use rewright_ir::ops::gather::{GATHER, TAKE};
use rewright_ir::value::checked_len;
use rewright_ir::{DType, Element, EvalError, InstData, with_dtype};
use smallvec::SmallVec;

/// Shorter rows, in bytes, stay in the caches: a streaming store of less than a cache line takes longer.
const LEAST_STREAMED: usize = 512;

/// A gather step.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    by: By,
    /// The result's position among the function's results, if the block ends by returning it.
    exit: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum By {
    /// Index arrays, one for each of the leading axes.
    Positions,
    /// One index array, for this axis. A negative axis counts from the end.
    Along(i64),
    /// A mask over the leading axes.
    Mask,
}

/// The selected positions of an array. The outer axes come first in the result. For each index of the outer
/// axes, an offset selects one index of the axes after them, and the element or subarray there.
struct Picked {
    /// The number of outer axes.
    outer: usize,
    /// The offsets in bytes, from the first element for an index of the outer axes.
    offsets: Vec<isize>,
    /// The extents of the result's axes that the offsets fill, in row-major order.
    extents: Shape,
    /// The number of the array's axes that an offset replaces.
    axes: usize,
}

impl Picked {
    /// The extents of the result.
    fn shape(&self, array: &Place<'_>) -> Shape {
        [&array.shape[..self.outer], &self.extents, &array.shape[self.outer + self.axes..]].concat().into()
    }
}

impl Pick {
    /// The gather step of an instruction; `None` if its op is not a gather.
    pub fn of(data: &InstData, exit: Option<u32>) -> Option<Pick> {
        let by = match data.op {
            op if op == GATHER => By::Positions,
            op if op == TAKE => By::Along(data.attrs.int("axis")?),
            op if op == COMPRESS => By::Mask,
            _ => return None,
        };
        Some(Pick { by, exit })
    }

    /// The selected positions without their offsets, and the number of offsets. `None` if the shapes do not
    /// fit.
    fn places(self, array: &Place<'_>, others: &[&Held]) -> Option<(Picked, usize)> {
        let picked = |outer, axes, extents| Picked { outer, offsets: Vec::new(), extents, axes };
        let picked = match self.by {
            By::Positions => {
                let extents = broadcast_shapes(others.iter().map(|held| held.shape()))?;
                picked(0, others.len(), extents.into())
            }
            By::Along(axis) => {
                let rank = array.shape.len();
                let axis = usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok()?;
                let &[held] = others else { return None };
                picked(axis, 1, held.shape().into())
            }
            By::Mask => {
                let &[held] = others else { return None };
                let mask = held.place().filter(|mask| array.shape.get(..mask.shape.len()) == Some(mask.shape))?;
                picked(0, mask.shape.len(), [count(&mask)].into_iter().collect())
            }
        };
        let fits = picked.outer + picked.axes <= array.shape.len();
        let count = checked_len(&picked.extents).filter(|_| fits)?;
        Some((picked, count))
    }

    /// Computes the offsets. They are zeros before, one for each selected position. `None` if an index is out
    /// of bounds.
    fn find(self, array: &Place<'_>, others: &[&Held], picked: &mut Picked) -> Option<()> {
        let stride = |axis: usize| array.strides[axis] * array.unit;
        let Picked { outer, offsets, extents, axes } = picked;
        if let (By::Mask, &[held]) = (self.by, others) {
            let along: Strides = (0..*axes).map(stride).collect();
            let mut next = offsets.iter_mut();
            // SAFETY: each address is that of an element of the mask, a byte that is 0 or 1. The mask stays
            // alive while it is held.
            walk(&held.place()?, &along, |at, offset| {
                if unsafe { at.read() } != 0
                    && let Some(place) = next.next()
                {
                    *place = offset;
                }
            });
            return Some(());
        }
        let positions = others.iter().zip(*outer..);
        { positions }
            .try_for_each(|(held, axis)| add_positions(held, extents, array.shape[axis], stride(axis), offsets))
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

/// Adds to each offset the index of its position in `held` times the stride of an axis. Negative indices
/// count from the end. `None` if an index is out of bounds.
fn add_positions(held: &Held, extents: &[usize], extent: usize, stride: isize, offsets: &mut [isize]) -> Option<()> {
    let extent = i64::try_from(extent).ok()?;
    // The distance in bytes, and whether the index is in bounds.
    let distance = |at: i64| {
        let at = if at < 0 { at.wrapping_add(extent) } else { at };
        ((at as isize).wrapping_mul(stride), (0..extent).contains(&at))
    };
    // No array has the greatest index.
    let position = |at: Option<i128>| at.and_then(|at| i64::try_from(at).ok()).unwrap_or(i64::MAX);
    if let Held::Scalar(scalar) = held {
        let (distance, is_inside) = distance(position(scalar.to_i128()));
        offsets.iter_mut().for_each(|offset| *offset = offset.wrapping_add(distance));
        return is_inside.then_some(());
    }
    let spread = stretched(held, extents)?;
    let place = spread.place();
    let (mut rest, mut fits) = (offsets, true);
    let nowhere: Strides = Strides::from_elem(0, extents.len());
    lines(&place, &nowhere, |line| {
        let count = line.count.min(rest.len());
        let (own, others) = std::mem::take(&mut rest).split_at_mut(count);
        fits &= count == line.count;
        let addresses = (0..).map(|n: isize| line.at.wrapping_offset(n * line.step));
        let mut add = |own: &mut isize, at: i64| {
            let (distance, is_inside) = distance(at);
            *own = own.wrapping_add(distance);
            fits &= is_inside;
        };
        match place.dtype {
            DType::I64 => own.iter_mut().zip(addresses).for_each(|(own, at)| {
                // SAFETY: each address is that of an element of this dtype. The array stays alive while it
                // is held.
                add(own, unsafe { at.cast::<i64>().read_unaligned() });
            }),
            dtype => with_dtype!(dtype, T => own.iter_mut().zip(addresses).for_each(|(own, at)| {
                // SAFETY: as above.
                let element = unsafe { at.cast::<T>().read_unaligned() };
                add(own, position(element.to_scalar().to_i128()));
            })),
        }
        rest = others;
    });
    fits.then_some(())
}

impl Machine<'_> {
    /// Runs a gather step. If an index is out of bounds, or shapes do not fit, the op's reference meaning
    /// runs instead, and its error says why.
    pub(super) fn pick(&self, act: &mut Activation<'_, '_>, step: &Step, pick: Pick) -> Result<(), EvalError> {
        let ([def], Some(held)) = (&step.defs[..], self.picked(act, step, pick)?) else {
            return self.array(act, step, ArrayEval::Op, Why::WRONG);
        };
        self.put(act.frame, def.slot, held)?;
        self.admit(act, def, "result")
    }

    /// The result of a gather; `None` if an index is out of bounds, or shapes do not fit. The limits are
    /// checked before each loop over elements and each allocation.
    fn picked(&self, act: &Activation<'_, '_>, step: &Step, pick: Pick) -> Result<Option<Held>, EvalError> {
        let others: SmallVec<[&Held; 4]> = (1..step.args.len()).map(|n| self.operand(act, step, n)).collect();
        let is_scalar = step.defs.iter().any(|def| def.ty.is_scalar());
        let Some(array) = self.operand(act, step, 0).place() else { return Ok(None) };
        let steps = self.steps_left();
        if let By::Mask = pick.by {
            let len = |mask: &&Held| checked_len(mask.shape()).map_or(u64::MAX, |len| len as u64);
            self.spend(others.iter().map(len).max().unwrap_or(0))?;
        }
        let Some((mut picked, count)) = pick.places(&array, &others) else { return Ok(self.undone(steps)) };
        let shape = picked.shape(&array);
        self.room(&shape, array.dtype.size())?;
        self.spend(shape.iter().product::<usize>() as u64)?;
        let bytes = self.list(count, &mut picked.offsets)?;
        if pick.find(&array, &others, &mut picked).is_none() {
            self.forget(bytes);
            return Ok(self.undone(steps));
        }
        let fresh = self.fresh(act, pick.exit, array.dtype, shape.clone())?;
        if !shape.contains(&0) {
            // SAFETY: the offsets lead to elements of the array, which stays alive while it is held. The
            // target is new memory with the shape of the result.
            unsafe { copy_picked(&array, &picked, fresh.target.pointer, &fresh.target.strides) };
        }
        self.forget(bytes);
        // SAFETY: `copy_picked` wrote every element.
        let held = unsafe { fresh.into_held() };
        match held.place().filter(|_| is_scalar) {
            Some(place) => Ok(element(&place).map(Held::Scalar)),
            None => Ok(Some(held)),
        }
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

/// Copies the elements or subarrays at the selected positions to the target, with these strides in bytes.
///
/// # Safety
/// The offsets lead to elements of the array that are valid to read. The target has memory for each element
/// of the result, valid to write, which does not alias the array. The result has at least one element.
unsafe fn copy_picked(array: &Place<'_>, picked: &Picked, target: *mut u8, strides: &[isize]) {
    let Picked { outer, offsets, extents, axes } = picked;
    let bytes = |axis: &isize| axis * array.unit;
    let source_strides: Strides = array.strides.iter().map(bytes).collect();
    let (rest_shape, rest_strides) = (&array.shape[outer + axes..], &source_strides[outer + axes..]);
    let (target_outer, target_rest) = strides.split_at(*outer);
    let (target_here, target_rest) = target_rest.split_at(extents.len());
    let size = array.dtype.size();
    let rest = Place { shape: rest_shape, strides: rest_strides, unit: 1, ..*array };
    let is_line = rest.is_dense() && {
        let dense = super::value::row_major(rest_shape, size);
        rest_shape.iter().zip(target_rest.iter().zip(&dense)).all(|(&extent, (a, b))| extent < 2 || a == b)
    };
    let line = if is_line { rest_shape.iter().product::<usize>() * size } else { 0 };
    let elements = |shape: &[usize]| shape.iter().product::<usize>();
    let written = elements(&array.shape[..*outer]) * offsets.len() * elements(rest_shape) * size;
    let all = bytes_of_gather(written as u64, std::iter::once((elements(array.shape) * size) as u64));
    let streams = line >= LEAST_STREAMED && exceeds_caches(facts(), all, false);
    let outside = Place { shape: &array.shape[..*outer], strides: &source_strides[..*outer], unit: 1, ..*array };
    walk(&outside, target_outer, |source, into| {
        let into = target.wrapping_offset(into);
        let mut rest_offsets = &offsets[..];
        let places = Place { pointer: into, shape: extents, strides: target_here, unit: 1, dtype: array.dtype };
        let nowhere: Strides = Strides::from_elem(0, extents.len());
        lines(&places, &nowhere, |to| {
            let (own, others) = rest_offsets.split_at(to.count.min(rest_offsets.len()));
            rest_offsets = others;
            let targets = (0..).map(|n: isize| to.at.cast_mut().wrapping_offset(n * to.step));
            let pairs = own.iter().map(|&offset| source.wrapping_offset(offset)).zip(targets);
            // SAFETY: by the caller's promise, the elements of the subarray at each offset are valid to read,
            // those of the target are valid to write, and the two do not alias.
            unsafe {
                match (line, streams) {
                    (0, _) => pairs.for_each(|(from, to)| {
                        copy_elements(&Place { pointer: from, ..rest }, to, target_rest);
                    }),
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
        });
    });
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
