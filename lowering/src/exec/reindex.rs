//! Steps of expressions that compute nothing: each element is one of an operand, read where no kernel can, beyond the ends of the array or at quotients
//! and remainders of indices. Rows are copied, as far as elements follow one another evenly.

use super::by_reference::Why;
use super::launch::symbol;
use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, Step};
use super::value::{Held, Place, Shape, Target, fill_elements};
use rewright_ir::expr::{Condition, IndexExpr, Mode, Source, SymExpr};
use rewright_ir::value::checked_len;
use rewright_ir::{ArrayExpr, EvalError, Name, Scalar};
use smallvec::SmallVec;

/// Why the evaluator reads elements instead.
const UNFIT: Why = Why::Unfit(
    "positions are too large, or no copy of rows: keep the factors and offsets of index maps small, and stretch a dim by an axis of its own",
);

/// Where each element is read.
#[derive(Debug)]
pub struct Reindex {
    /// The extents.
    extents: Vec<SymExpr>,
    /// Without axes; where one does not hold, nothing is read.
    guard: Vec<Condition>,
    /// Of each dim of what is read.
    positions: Vec<(IndexExpr, Mode)>,
    /// What is there where positions are beyond the ends.
    pad: Option<Scalar>,
    /// What is there if the guard does not hold.
    fill: Option<Scalar>,
    /// The result's position among the function's results, if the block ends by returning it.
    exit: Option<u32>,
}

impl Reindex {
    /// What an expression reads, if it does that and nothing else.
    pub fn of(expr: &ArrayExpr, exit: Option<u32>) -> Option<Reindex> {
        let operand = expr.only_reads()?;
        let Source::Array(0) = operand.source else { return None };
        let fill = expr.outs.first()?.fill;
        let same_everywhere = expr.guard.iter().all(|condition| condition.form.axes().is_empty());
        (!expr.axes.is_empty() && same_everywhere && (fill.is_some() || expr.guard.is_empty())).then_some(())?;
        let mut pad = None;
        for index in &operand.index {
            match (&index.expr, index.mode) {
                (IndexExpr::Gather { .. }, _) => return None,
                (_, Mode::Pad(value)) if pad.is_some_and(|known| known != value) => return None,
                (_, Mode::Pad(value)) => pad = Some(value),
                _ => {}
            }
        }
        let extents = expr.axes.iter().map(|axis| axis.hi.clone()).collect::<Option<_>>()?;
        let positions = operand.index.iter().map(|index| (index.expr.clone(), index.mode)).collect();
        Some(Reindex { extents, guard: expr.guard.clone(), positions, pad, fill, exit })
    }

    /// The extents of the result; `None` if there is no such array.
    fn shape(&self, symbols: &dyn Fn(Name) -> Option<i64>) -> Option<Shape> {
        let extent = |extent: &SymExpr| usize::try_from(extent.eval(symbols)?.max(0)).ok();
        let shape: Shape = self.extents.iter().map(extent).collect::<Option<_>>()?;
        checked_len(&shape).map(|_| shape)
    }

    /// Whether anything is read; `None` if it can't be known.
    fn holds(&self, symbols: &dyn Fn(Name) -> Option<i64>) -> Option<bool> {
        self.guard.iter().try_fold(true, |all, condition| {
            let value = condition.form.eval(&[], symbols)?;
            Some(all && condition.test.holds(value.into()))
        })
    }

    /// Where rows are read of an array; `None` if something does not fit.
    fn dims(
        &self,
        array: &Place<'_>,
        shape: &[usize],
        symbols: &dyn Fn(Name) -> Option<i64>,
    ) -> Option<SmallVec<[Dim; 4]>> {
        let dim = |(axis, (expr, mode)): (usize, &(IndexExpr, Mode))| {
            let (form, divisor, part) = match expr {
                IndexExpr::Affine(form) => (form, 1, Part::Quotient),
                IndexExpr::FloorDiv(form, n) => (form, *n, Part::Quotient),
                IndexExpr::Mod(form, n) => (form, *n, Part::Remainder),
                IndexExpr::Gather { .. } => return None,
            };
            let extent = i64::try_from(*array.shape.get(axis)?).ok()?;
            let mut steps = Steps::from_elem(0, shape.len());
            form.axes().iter().for_each(|&(axis, coefficient)| steps[axis as usize] = coefficient);
            let stretched = *mode == Mode::Broadcast && extent == 1;
            if stretched {
                steps.fill(0);
            }
            // What is looked at once a call, whether there are points or not.
            let along = form
                .as_axis()
                .filter(|_| part == Part::Quotient && divisor == 1)
                .map(|axis| shape[axis as usize] as i64);
            let fits = match (*mode, along) {
                (Mode::Broadcast, Some(along)) => stretched || along == extent,
                (Mode::Broadcast, None) => false,
                (Mode::Proved, Some(along)) => along <= extent,
                _ => true,
            };
            fits.then_some(())?;
            let start = if stretched { 0 } else { form.offset.eval(symbols)? };
            // No position overflows, nor one past the last.
            let farthest = steps.iter().zip(shape).try_fold(start.checked_abs()?, |sum, (step, &extent)| {
                sum.checked_add(step.checked_abs()?.checked_mul(i64::try_from(extent).ok()?)?)
            })?;
            farthest.checked_add(divisor)?.checked_add(extent)?;
            let stride = array.strides[axis] * array.unit;
            Some(Dim { start, steps, divisor, part, mode: *mode, extent, stride })
        };
        (self.positions.len() == array.shape.len()).then_some(())?;
        self.positions.iter().enumerate().map(dim).collect()
    }
}

/// The distances of positions along each axis.
type Steps = SmallVec<[i64; 4]>;

/// Which part of a division a position is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Quotient,
    Remainder,
}

/// Where along a dim of an array.
struct Dim {
    start: i64,
    steps: Steps,
    divisor: i64,
    part: Part,
    mode: Mode,
    extent: i64,
    /// Bytes.
    stride: isize,
}

impl Dim {
    /// The distance of what is at a position, in bytes. An error where there is nothing, and nothing is wanted.
    #[inline]
    fn distance(&self, position: i64) -> Result<Option<isize>, Outside> {
        let inside = match self.mode {
            _ if (0..self.extent).contains(&position) => position,
            Mode::Wrap if self.extent > 0 => position.rem_euclid(self.extent),
            Mode::Clamp if self.extent > 0 => position.clamp(0, self.extent - 1),
            Mode::Pad(_) => return Ok(None),
            _ => return Err(Outside),
        };
        Ok(Some(inside as isize * self.stride))
    }

    /// The point of a row from which on positions are inside, and the first that is not again, if they go on evenly and all others are padded.
    fn inside(&self, first: i64, step: i64, count: i64) -> Option<(i64, i64)> {
        let last = first + step * (count - 1).max(0);
        let all = (0..self.extent).contains(&first) && (0..self.extent).contains(&last);
        if self.divisor != 1 || self.part == Part::Remainder {
            return None;
        }
        match self.mode {
            _ if all => Some((0, count)),
            Mode::Pad(_) if step == 0 => Some((0, 0)),
            Mode::Pad(_) => {
                // Those of `first + step * n` that are at least 0 and less than the extent.
                let (low, high) =
                    if step > 0 { (-first, self.extent - first) } else { (first - self.extent + 1, first + 1) };
                let ceil = |x: i64| x.div_euclid(step.abs()) + i64::from(x.rem_euclid(step.abs()) != 0);
                let begin = ceil(low).clamp(0, count);
                Some((begin, ceil(high).clamp(begin, count)))
            }
            _ => None,
        }
    }
}

/// A position that is not in the array.
struct Outside;

/// A position along a row, point by point.
struct Walk<'d> {
    dim: &'d Dim,
    quotient: i64,
    remainder: i64,
    more: [i64; 2],
}

impl<'d> Walk<'d> {
    fn new(dim: &'d Dim, first: i64) -> Walk<'d> {
        let (n, step) = (dim.divisor, dim.steps.last().copied().unwrap_or(0));
        let split = |x: i64| [x.div_euclid(n), x.rem_euclid(n)];
        let [quotient, remainder] = split(first);
        Walk { dim, quotient, remainder, more: split(step) }
    }
    #[inline]
    fn position(&self) -> i64 {
        if self.dim.part == Part::Quotient { self.quotient } else { self.remainder }
    }
    /// Where it is so many points further on.
    #[inline]
    fn skip(&mut self, points: i64) {
        if points == 1 {
            self.quotient += self.more[0];
            self.remainder += self.more[1];
            if self.remainder >= self.dim.divisor {
                self.remainder -= self.dim.divisor;
                self.quotient += 1;
            }
        } else {
            let far = self.remainder + self.more[1] * points;
            self.quotient += self.more[0] * points + far.div_euclid(self.dim.divisor);
            self.remainder = far.rem_euclid(self.dim.divisor);
        }
    }
    /// The points from here on that have the same position, as far as is known.
    #[inline]
    fn same(&self) -> i64 {
        match self.more {
            [0, 0] => i64::MAX,
            [0, 1] if self.dim.part == Part::Quotient => self.dim.divisor - self.remainder,
            _ => 1,
        }
    }
}

impl Machine<'_> {
    /// Reads elements elsewhere. What is out of bounds or does not fit is left to the reference meaning, which says why.
    pub(super) fn reindex(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        reindex: &Reindex,
    ) -> Result<(), EvalError> {
        let ([def], Some(held)) = (&step.defs[..], self.reindexed(act, step, reindex)?) else {
            return self.array(act, step, ArrayEval::Op, UNFIT);
        };
        self.put(act.frame, def.slot, held)?;
        self.admit(act, def, "result")
    }

    /// What is read; `None` if something does not fit.
    fn reindexed(&self, act: &Activation<'_, '_>, step: &Step, reindex: &Reindex) -> Result<Option<Held>, EvalError> {
        let symbols = |name: Name| symbol(act.plan, act.frame, name);
        let (Some(array), Some(shape)) = (self.operand(act, step, 0).place(), reindex.shape(&symbols)) else {
            return Ok(None);
        };
        let Some(dims) = reindex.dims(&array, &shape, &symbols) else { return Ok(None) };
        let Some(holds) = reindex.holds(&symbols) else { return Ok(None) };
        let steps = self.steps_left();
        self.points(shape.iter().product::<usize>() as u64)?;
        let fresh = self.fresh(act, reindex.exit, array.dtype, shape.clone())?;
        if let Some(all) = if holds { reindex.pad } else { reindex.fill } {
            // SAFETY: the room is that of an array of this shape and dtype.
            unsafe { fill_elements(all, array.dtype, &shape, &fresh.target) };
        }
        if !holds {
            // SAFETY: all elements were written.
            return Ok(Some(unsafe { fresh.into_held() }));
        }
        // SAFETY: the array is held; the room is that of an array of this shape and dtype, apart from it.
        match unsafe { copy_rows(&array, &dims, &shape, &fresh.target) } {
            // SAFETY: all elements were written.
            Ok(()) => Ok(Some(unsafe { fresh.into_held() })),
            Err(Outside) => Ok(self.undone(steps)),
        }
    }
}

/// Copies all rows of a result; padding is there already.
///
/// # Safety
/// The array's elements are valid to read; the target has a place, valid to write and apart from these, for each element of an array of this shape and dtype.
unsafe fn copy_rows(array: &Place<'_>, dims: &[Dim], shape: &[usize], to: &Target) -> Result<(), Outside> {
    if shape.contains(&0) {
        return Ok(());
    }
    let last = shape.len() - 1;
    let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, last);
    let mut firsts: Steps = dims.iter().map(|dim| dim.start).collect();
    loop {
        for (first, dim) in firsts.iter_mut().zip(dims) {
            *first = dim.start + index.iter().zip(&dim.steps).map(|(&n, &step)| n as i64 * step).sum::<i64>();
        }
        let moved: isize = index.iter().zip(&to.strides).map(|(&n, &stride)| n as isize * stride).sum();
        let row = Row {
            from: array.pointer,
            to: to.pointer.wrapping_offset(moved),
            step: to.strides[last],
            count: shape[last] as i64,
        };
        // SAFETY: a row of the target.
        unsafe {
            match array.dtype.size() {
                1 => row.copy::<[u8; 1]>(dims, &firsts)?,
                2 => row.copy::<[u8; 2]>(dims, &firsts)?,
                4 => row.copy::<[u8; 4]>(dims, &firsts)?,
                8 => row.copy::<[u8; 8]>(dims, &firsts)?,
                _ => row.copy::<[u8; 16]>(dims, &firsts)?,
            }
        }
        let Some(next) = (0..last).rev().find(|&axis| index[axis] + 1 < shape[axis]) else { return Ok(()) };
        index[next] += 1;
        index[next + 1..].fill(0);
    }
}

/// A row of a result, and the array that it is read from.
struct Row {
    from: *const u8,
    to: *mut u8,
    step: isize,
    count: i64,
}

impl Row {
    /// # Safety
    /// As [`copy_rows`], for this row, of elements as large as `T`.
    unsafe fn copy<T: Copy>(&self, dims: &[Dim], firsts: &[i64]) -> Result<(), Outside> {
        let step_of = |dim: &Dim| dim.steps.last().copied().unwrap_or(0);
        let part = dims.iter().zip(firsts).try_fold((0, self.count), |(begin, end), (dim, &first)| {
            let (low, high) = dim.inside(first, step_of(dim), self.count)?;
            Some((begin.max(low), end.min(high)))
        });
        let Some((begin, end)) = part else {
            // SAFETY: the caller's promise.
            return unsafe { self.copy_unevenly::<T>(dims, firsts) };
        };
        if begin >= end {
            return Ok(());
        }
        let (mut distance, mut along) = (0, 0);
        for (dim, &first) in dims.iter().zip(firsts) {
            distance += (first + step_of(dim) * begin) as isize * dim.stride;
            along += step_of(dim) as isize * dim.stride;
        }
        let (from, to) = (self.from.wrapping_offset(distance), self.to.wrapping_offset(begin as isize * self.step));
        let (count, size) = ((end - begin) as usize, size_of::<T>() as isize);
        // SAFETY: all positions of these points are inside the array, and the row has a place for each.
        unsafe {
            if along == size && self.step == size {
                std::ptr::copy_nonoverlapping(from, to, count * size_of::<T>());
            } else {
                for n in 0..count as isize {
                    let element = from.wrapping_offset(n * along).cast::<T>().read_unaligned();
                    to.wrapping_offset(n * self.step).cast::<T>().write_unaligned(element);
                }
            }
        }
        Ok(())
    }

    /// One after the other, or those that are the same at once.
    ///
    /// # Safety
    /// As [`copy`](Row::copy).
    unsafe fn copy_unevenly<T: Copy>(&self, dims: &[Dim], firsts: &[i64]) -> Result<(), Outside> {
        let mut walks: SmallVec<[Walk<'_>; 4]> =
            dims.iter().zip(firsts).map(|(dim, &first)| Walk::new(dim, first)).collect();
        let mut at = 0;
        while at < self.count {
            let same = walks.iter().map(Walk::same).fold(self.count - at, i64::min);
            let mut distance = Some(0);
            for walk in &walks {
                let along = walk.dim.distance(walk.position())?;
                distance = distance.zip(along).map(|(sum, along)| sum + along);
            }
            if let Some(distance) = distance {
                // SAFETY: every position is inside the array, and the row has a place for each point.
                unsafe {
                    let element = self.from.wrapping_offset(distance).cast::<T>().read_unaligned();
                    for n in at..at + same {
                        self.to.wrapping_offset(n as isize * self.step).cast::<T>().write_unaligned(element);
                    }
                }
            }
            walks.iter_mut().for_each(|walk| walk.skip(same));
            at += same;
        }
        Ok(())
    }
}
