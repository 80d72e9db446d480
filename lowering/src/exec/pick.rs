//! Gather steps: copy the rows of an array at positions from index arrays, or what a mask selects, to the
//! result. Single elements at positions are [expressions](super::wrap_gather), if there is a code generator.
//!
//! Positions are read and tested block by block, and the rows of a block are copied while its offsets are in
//! the first-level cache.

mod rows;

use super::by_reference::Why;
use super::machine::{Activation, Machine};
use super::parts::stretched;
use super::plan::{ArrayEval, Step};
use super::value::{Held, Lent, Place, Shape, Strides, copy_elements};
use super::view::element;
use crate::copy::{LEAST_STREAMED, stream_row};
use crate::kernel::fence;
use crate::schedule::{bytes_of_gather, exceeds_caches, facts};
use rewright_ir::eval::broadcast_shapes;
use rewright_ir::ops::compress::COMPRESS;
use rewright_ir::ops::gather::{GATHER, TAKE};
use rewright_ir::value::checked_len;
use rewright_ir::{DType, Element, EvalError, InstData, Scalar, with_dtype};
use rows::{Walk, copy_rows};
use smallvec::SmallVec;
use std::cell::Cell;

/// The positions of a block.
const BLOCK: usize = 256;

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
    offsets: Offsets,
    /// The extents of the result's axes that the offsets fill, in row-major order.
    extents: Shape,
    /// The number of the array's axes that an offset replaces.
    axes: usize,
}

/// The offsets in bytes from the first element for an index of the outer axes.
#[expect(clippy::large_enum_variant, reason = "one lives on the stack during a call")]
enum Offsets {
    /// They are these, in row-major order.
    List(Vec<isize>),
    /// The sums of the distances of positions. The first number is that of scalars.
    Sums(isize, SmallVec<[Positions; 2]>),
}

/// The positions along an axis of the array.
struct Positions {
    /// For each offset a position. A negative one counts from the end.
    at: Lent,
    /// The extent of the axis, not 0 if there are positions, and its stride in bytes.
    extent: i64,
    stride: isize,
}

impl Picked {
    /// The extents of the result.
    fn shape(&self, array: &Place<'_>) -> Shape {
        [&array.shape[..self.outer], &self.extents, &array.shape[self.outer + self.axes..]].concat().into()
    }
}

impl Positions {
    /// The distances of `count` positions of dtype `i64`: those from an address on, `step` bytes apart.
    /// Clears
    /// `fits` if one of them is out of bounds.
    ///
    /// # Safety
    /// There are as many elements, valid to read as long as the iterator lives.
    unsafe fn of_i64<'p>(
        &'p self,
        (at, step): (*const u8, isize),
        count: usize,
        fits: &'p Cell<bool>,
    ) -> impl Iterator<Item = isize> + Clone + 'p {
        let Positions { extent, stride, .. } = *self;
        (0..count as isize).map(move |n| {
            // SAFETY: by the caller's promise.
            let position = unsafe { at.wrapping_offset(n * step).cast::<i64>().read_unaligned() };
            let (distance, is_inside) = distance(position, extent, stride);
            if !is_inside {
                fits.set(false);
            }
            distance
        })
    }

    /// Adds the distances of positions to offsets: those from an address on, `step` bytes apart. False if one
    /// of them is out of bounds.
    ///
    /// # Safety
    /// There are as many elements of the dtype of the positions, valid to read.
    unsafe fn add(&self, (at, step): (*const u8, isize), offsets: &mut [isize]) -> bool {
        let mut fits = true;
        with_dtype!(self.at.dtype, T => offsets.iter_mut().zip(0..).for_each(|(own, n)| {
            // SAFETY: by the caller's promise.
            let element = unsafe { at.wrapping_offset(n * step).cast::<T>().read_unaligned() };
            let (distance, is_inside) = distance(position(element.to_scalar()), self.extent, self.stride);
            *own = own.wrapping_add(distance);
            fits &= is_inside;
        }));
        fits
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

    /// The selected positions, those of a mask without their offsets, and the number of offsets. `None` if
    /// the shapes do not fit.
    fn places(self, array: &Place<'_>, others: &[&Held]) -> Option<(Picked, usize)> {
        let (outer, axes, extents): (usize, usize, Shape) = match self.by {
            By::Positions => (0, others.len(), broadcast_shapes(others.iter().map(|held| held.shape()))?.into()),
            By::Along(axis) => {
                let axis = if axis < 0 { axis + array.shape.len() as i64 } else { axis };
                let &[held] = others else { return None };
                (usize::try_from(axis).ok()?, 1, held.shape().into())
            }
            By::Mask => {
                let &[held] = others else { return None };
                let mask = held.place().filter(|mask| array.shape.get(..mask.shape.len()) == Some(mask.shape))?;
                (0, mask.shape.len(), [count(&mask)].into_iter().collect())
            }
        };
        if outer + axes > array.shape.len() {
            return None;
        }
        let count = checked_len(&extents)?;
        let mut offsets = Offsets::List(Vec::new());
        if !matches!(self.by, By::Mask) {
            let (mut sum, mut arrays) = (0, SmallVec::new());
            for (held, axis) in others.iter().zip(outer..) {
                let stride = array.strides[axis] * array.unit;
                let extent = i64::try_from(array.shape[axis]).ok().filter(|&extent| extent > 0 || count == 0)?;
                match held {
                    Held::Scalar(scalar) => match distance(position(*scalar), extent, stride) {
                        (distance, true) => sum += distance,
                        (_, false) => return None,
                    },
                    held => arrays.push(Positions { at: stretched(held, &extents)?, extent, stride }),
                }
            }
            offsets = Offsets::Sums(sum, arrays);
        }
        Some((Picked { outer, offsets, extents, axes }, count))
    }
}

/// The distance of a position in bytes, and whether it is in bounds. That of one out of bounds is 0. A
/// negative position counts from the end.
fn distance(at: i64, extent: i64, stride: isize) -> (isize, bool) {
    let at = if at < 0 { at.wrapping_add(extent) } else { at };
    let fits = (at as u64) < extent as u64;
    (if fits { (at as isize).wrapping_mul(stride) } else { 0 }, fits)
}

/// An element as a position. No array has the greatest one.
fn position(element: Scalar) -> i64 {
    element.to_i128().and_then(|at| i64::try_from(at).ok()).unwrap_or(i64::MAX)
}

/// Counts the elements of a mask that are true.
fn count(mask: &Place<'_>) -> usize {
    let mut count = 0;
    let nowhere = Strides::from_elem(0, mask.shape.len());
    // SAFETY: each address is that of an element of the mask, a byte that is 0 or 1. The mask stays alive
    // while it is held.
    each(mask, &nowhere, |at, _| count += usize::from(unsafe { at.read() } != 0));
    count
}

/// Appends the offsets by the strides `along` of the indices at which a mask is true.
fn list_true(mask: &Place<'_>, along: &[isize], list: &mut Vec<isize>) {
    // SAFETY: as above.
    each(mask, along, |at, offset| {
        if unsafe { at.read() } != 0 {
            list.push(offset);
        }
    });
}

/// Calls `f` for every element in row-major order, with the address of the element, and with the offset that
/// the strides `along` give for the same index.
fn each(place: &Place<'_>, along: &[isize], mut f: impl FnMut(*const u8, isize)) {
    let strides: Strides = place.strides.iter().map(|stride| stride * place.unit).collect();
    let (mut walk, merged) = Walk::new(place.shape, &[&strides, along]);
    let [step, other] = [0, 1].map(|n: usize| merged[n][merged[n].len() - 1]);
    while let Some(line) = walk.next(usize::MAX) {
        let (mut at, mut offset) = (place.pointer.wrapping_offset(line.offset(&merged[0])), line.offset(&merged[1]));
        for _ in 0..line.count {
            f(at, offset);
            at = at.wrapping_offset(step);
            offset += other;
        }
    }
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
        let mut bytes = 0;
        if let (Offsets::List(list), Some(mask)) = (&mut picked.offsets, others.first().and_then(|mask| mask.place())) {
            bytes = self.list(count, list)?;
            let along: Strides = array.strides.iter().map(|stride| stride * array.unit).collect();
            list_true(&mask, &along[..picked.axes], list);
        }
        let fresh = self.fresh(act, pick.exit, array.dtype, shape)?;
        // SAFETY: the places are those of the array, which stays alive while it is held. The target is new
        // memory with the shape of the result.
        let fits = unsafe { copy_picked(&array, &picked, fresh.target.pointer, &fresh.target.strides) };
        self.forget(bytes);
        if !fits {
            return Ok(self.undone(steps));
        }
        // SAFETY: `copy_picked` wrote every element.
        let held = unsafe { fresh.into_held() };
        match held.place().filter(|_| is_scalar) {
            Some(place) => Ok(element(&place).map(Held::Scalar)),
            None => Ok(Some(held)),
        }
    }

    /// Makes room for `count` offsets in an empty list. Returns their bytes, which count as live until they
    /// are [uncounted](Machine::forget).
    fn list(&self, count: usize, list: &mut Vec<isize>) -> Result<u64, EvalError> {
        let bytes = (count as u64).saturating_mul(size_of::<isize>() as u64);
        self.charge(bytes)?;
        let no_memory = |_| EvalError::limit(format!("no memory for {count} positions"));
        list.try_reserve_exact(count).map_err(no_memory)?;
        Ok(bytes)
    }
}

/// Copies the elements or subarrays at the selected positions to the target, with these strides in bytes.
/// False if a position is out of bounds.
///
/// # Safety
/// `picked` is that of the array and of the index arrays or the mask, whose elements are valid to read. The
/// target has memory for each element of the result, valid to write, which does not alias the array.
unsafe fn copy_picked(array: &Place<'_>, picked: &Picked, target: *mut u8, strides: &[isize]) -> bool {
    let Picked { outer, offsets, extents, axes } = picked;
    let source_strides: Strides = array.strides.iter().map(|stride| stride * array.unit).collect();
    let (rest_shape, rest_strides) = (&array.shape[outer + axes..], &source_strides[outer + axes..]);
    let (target_outer, target_rest) = strides.split_at(*outer);
    let (along, target_rest) = target_rest.split_at(extents.len());
    let size = array.dtype.size();
    let rest = Place { shape: rest_shape, strides: rest_strides, unit: 1, ..*array };
    let is_line = rest.is_dense() && {
        let dense = super::value::row_major(rest_shape, size);
        rest_shape.iter().zip(target_rest.iter().zip(&dense)).all(|(&extent, (a, b))| extent < 2 || a == b)
    };
    let elements = |shape: &[usize]| shape.iter().product::<usize>();
    let bytes = elements(rest_shape) * size;
    let written = elements(&array.shape[..*outer]) * elements(extents) * bytes;
    let all = bytes_of_gather(written as u64, std::iter::once((elements(array.shape) * size) as u64));
    let outside = Place { shape: &array.shape[..*outer], strides: &source_strides[..*outer], unit: 1, ..*array };
    let rows = match is_line {
        true if bytes >= LEAST_STREAMED && exceeds_caches(facts(), all) => Rows::Streamed(bytes),
        true => Rows::Lines(bytes),
        false => Rows::Strided(rest, target_rest),
    };
    let copies = Copies { outside, target, outer: target_outer, rows };
    // SAFETY: by the caller's promise, the elements of the subarray at each offset are valid to read, those
    // of the target are valid to write, and the two do not alias.
    let fits = unsafe {
        match offsets {
            Offsets::List(list) => {
                copies.run(list.iter().copied(), (0, along[0]));
                true
            }
            Offsets::Sums(first, arrays) => copies.at_sums(extents, along, (*first, arrays)),
        }
    };
    if let Rows::Streamed(_) = copies.rows {
        fence();
    }
    fits
}

/// The copies of rows to a target.
struct Copies<'p> {
    /// The array's outer axes, and the strides of the target along these.
    outside: Place<'p>,
    outer: &'p [isize],
    target: *mut u8,
    rows: Rows<'p>,
}

/// The rows of a gather.
enum Rows<'p> {
    /// This many bytes, adjacent in both arrays.
    Lines(usize),
    /// The same, past the caches.
    Streamed(usize),
    /// Elements of this shape, and the strides of the target.
    Strided(Place<'p>, &'p [isize]),
}

impl Copies<'_> {
    /// Copies the rows at offsets, for each index of the outer axes, to places at even distances: the first
    /// one and the distance.
    ///
    /// # Safety
    /// As [`copy_picked`], for these offsets and places.
    unsafe fn run(&self, offsets: impl Iterator<Item = isize> + Clone, (first, step): (isize, isize)) {
        if self.outside.shape.contains(&0) {
            // Positions are tested all the same.
            return offsets.for_each(drop);
        }
        each(&self.outside, self.outer, |source, into| {
            let target = self.target.wrapping_offset(into + first);
            let targets = (0..).map(move |n: isize| target.wrapping_offset(n * step));
            let pairs = offsets.clone().map(move |offset| source.wrapping_offset(offset)).zip(targets);
            // SAFETY: passed on.
            unsafe {
                match self.rows {
                    Rows::Lines(bytes) => copy_rows(pairs, bytes),
                    Rows::Streamed(bytes) => pairs.for_each(|(from, to)| stream_row(from, to, bytes)),
                    Rows::Strided(rest, strides) => {
                        pairs.for_each(|(from, to)| copy_elements(&Place { pointer: from, ..rest }, to, strides));
                    }
                }
            }
        });
    }

    /// Copies the rows at sums of distances of positions, block by block. False if a position is out of
    /// bounds.
    ///
    /// # Safety
    /// As [`copy_picked`].
    unsafe fn at_sums(&self, extents: &[usize], along: &[isize], (first, arrays): (isize, &[Positions])) -> bool {
        let strides = std::iter::once(along).chain(arrays.iter().map(|positions| &positions.at.strides[..]));
        let strides: SmallVec<[&[isize]; 4]> = strides.collect();
        let (mut walk, strides) = Walk::new(extents, &strides);
        let last = |strides: &Strides| strides[strides.len() - 1];
        // Positions of the most common dtype along one axis need no offsets in between.
        let only = if let [only] = arrays { Some(only).filter(|only| only.at.dtype == DType::I64) } else { None };
        let most = if only.is_some() { usize::MAX } else { BLOCK };
        let mut offsets = SmallVec::<[isize; BLOCK]>::new();
        while let Some(line) = walk.next(most) {
            let places = (line.offset(&strides[0]), last(&strides[0]));
            let at =
                |n: usize| (arrays[n].at.pointer.wrapping_offset(line.offset(&strides[n + 1])), last(&strides[n + 1]));
            // SAFETY: passed on. These are the elements of positions at the indices of the line.
            unsafe {
                if let Some(only) = only {
                    let fits = Cell::new(true);
                    self.run(only.of_i64(at(0), line.count, &fits).map(move |offset| first + offset), places);
                    if !fits.get() {
                        return false;
                    }
                    continue;
                }
                offsets.clear();
                offsets.resize(line.count, first);
                if !(0..arrays.len()).all(|n| arrays[n].add(at(n), &mut offsets)) {
                    return false;
                }
                self.run(offsets.iter().copied(), places);
            }
        }
        true
    }
}
