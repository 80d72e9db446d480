//! Runs steps with kernels.

use super::buffers::RawBuffer;
use super::by_reference::Why;
use super::launch::{Extent, operands, place_of, symbol};
use super::loop_program::UNFIT;
use super::machine::{Activation, Machine};
use super::out::OutPlace;
use super::plan::{ArrayEval, Def, Destination, KernelStep, Meaning, Slot, Step};
use super::reuse::{ReusedBuffer, reuse_buffer};
use super::value::{Held, Lent, Shape, Target, fill_elements, write_over};
use crate::lower::Space;
use rewright_ir::{EvalError, Name};
use smallvec::SmallVec;

impl Machine<'_> {
    /// Runs a kernel. If the operands do not fit it, the loop program or the op's reference meaning runs.
    pub(super) fn kernel(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        kernel: &KernelStep,
        eval: ArrayEval,
    ) -> Result<(), EvalError> {
        match self.extent(act, step, kernel) {
            Some(extent) => match kernel.meaning {
                Meaning::Array(eval)
                    if kernel.runs_program(extent.space.points, |arg| place_of(act.frame, step, arg)) =>
                {
                    self.program(act, step, (&kernel.program, &kernel.exits), (eval, UNFIT))
                }
                _ => self.run_kernel(act, step, kernel, extent, None),
            },
            None if !self.are_equal(act, step, &kernel.equal) => self.array(act, step, eval, Why::WRONG),
            None => self.with_dense_operands(act, step, kernel, eval),
        }
    }

    /// Whether the extents of these pairs of operands' axes are equal.
    pub(super) fn are_equal(&self, act: &Activation<'_, '_>, step: &Step, dims: &[[(usize, usize); 2]]) -> bool {
        let extent_of = |(operand, axis): (usize, usize)| self.operand(act, step, operand).shape().get(axis).copied();
        dims.iter().all(|&[one, other]| extent_of(one) == extent_of(other))
    }

    /// The extent of a kernel call; `None` if operands do not fit.
    pub(super) fn extent(&self, act: &mut Activation<'_, '_>, step: &Step, kernel: &KernelStep) -> Option<Extent> {
        if !self.are_equal(act, step, &kernel.equal) {
            return None;
        }
        let extent = kernel.launch.extent(act.plan, act.frame, step);
        extent.filter(|e| fit(act, &step.defs, e))
    }

    /// Runs a kernel at every point of its extent. `into` is the target of the only result, if that is given.
    pub(super) fn run_kernel(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        kernel: &KernelStep,
        extent: Extent,
        mut into: Option<Target>,
    ) -> Result<(), EvalError> {
        self.points(extent.space.points)?;
        let mut rooms: SmallVec<[Room; 4]> = SmallVec::new();
        let mut targets: SmallVec<[Target; 4]> = SmallVec::new();
        for ((def, result), exit) in step.defs.iter().zip(&extent.results).zip(&kernel.exits) {
            let (dtype, shape) = (def.ty.dtype(), &result.shape);
            let place = exit.and_then(|at| act.frame.into.get(at as usize));
            let direct = |p: &&OutPlace| {
                p.direct && p.dtype == dtype && p.shape == *shape && kernel.launch.may_write(&p.strides)
            };
            let target = |p: &OutPlace| Target { pointer: p.pointer, strides: p.strides.clone(), used: true };
            let target = match into.take().or_else(|| place.filter(direct).map(target)) {
                Some(target) => {
                    rooms.push(Room::Lent);
                    target
                }
                None => {
                    if let Some(reused) = reuse_buffer(act, step, kernel, &extent) {
                        self.buffers.borrow_mut().stats.reused += u64::from(reused.died);
                        let (held, pointer) = ((reused.array.len() * dtype.size()) as u64, reused.pointer);
                        let strides = reused.strides.clone();
                        self.bytes.set(self.bytes.get().saturating_sub(held));
                        rooms.push(Room::Operand(reused));
                        Target { pointer, strides, used: true }
                    } else {
                        self.room(shape, dtype.size())?;
                        let buffer = self.buffers.borrow_mut().get(dtype, shape)?;
                        let strides = extent.strides(shape, dtype.size());
                        let target = Target { pointer: buffer.pointer(), strides, used: buffer.is_used() };
                        rooms.push(Room::New(buffer));
                        target
                    }
                }
            };
            if let Some(fill) = result.fill {
                // SAFETY: the target is one of those for which the comment below argues.
                unsafe { fill_elements(fill, dtype, shape, &target) };
            }
            targets.push(target);
        }
        // SAFETY: the extent is that of these operands. Each target is one of the following:
        // - a new buffer of the result's shape and dtype;
        // - the caller's buffer for such a result, which no argument aliases; it is the target of only one
        //   value of a block, which is then returned;
        // - the part of an array that no operand aliases, for a result of the part's shape and dtype;
        // - the buffer of an operand, or of the destination of the only result. It was not shared, so no
        //   other operand aliases it, and the kernel reads it, if at all, only where it then writes.
        let ended = unsafe { kernel.launch.run(act.plan, act.frame, step, &extent, &targets, self.how) };
        if ended.is_err() {
            // An error message shows the operands, so they return to their slots.
            for room in rooms.drain(..) {
                if let Room::Operand(reused) = room {
                    act.frame.slots[reused.slot.0 as usize] = Held::Array(reused.array);
                }
            }
        }
        // If the op is a kernel by itself, the message shows its operands too.
        ended.map_err(|e| if step.op.is_elementwise() { EvalError { op: None, ..e } } else { e })?;
        self.buffers.borrow_mut().stats.kernels += 1;
        for (((def, result), room), target) in step.defs.iter().zip(&extent.results).zip(rooms).zip(targets) {
            let (dtype, shape) = (def.ty.dtype(), Shape::from(&*result.shape));
            let held = match room {
                Room::Operand(reused) => Held::Array(reused.array),
                Room::New(buffer) => {
                    // SAFETY: the kernel, and the fill before it, have written every element with values of
                    // the dtype.
                    let array = unsafe { buffer.into_array(dtype, &shape, extent.order.as_deref()) };
                    match array.get(&[]) {
                        // An op on scalars has a scalar result.
                        Some(scalar) if def.ty.is_scalar() => {
                            self.buffers.borrow_mut().recycle(array);
                            Held::Scalar(scalar)
                        }
                        _ => Held::Array(array),
                    }
                }
                Room::Lent => {
                    Held::Lent(Lent { dtype, pointer: target.pointer, shape, strides: target.strides, keep: None })
                }
            };
            self.put(act.frame, def.slot, held)?;
        }
        Ok(())
    }

    /// Retries a kernel that collapses axes of a row, with row-major copies of the operands that are not
    /// contiguous. If it does not fit then either, the loop program runs.
    fn with_dense_operands(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        kernel: &KernelStep,
        eval: ArrayEval,
    ) -> Result<(), EvalError> {
        let lowered = &kernel.launch.lowered;
        if lowered.row + 1 >= lowered.kernel.axes {
            let why = self.why_unfit(act, step, kernel);
            return self.program(act, step, (&kernel.program, &kernel.exits), (eval, why));
        }
        let mut lent: SmallVec<[(Slot, Held); 2]> = SmallVec::new();
        for &slot in &step.args {
            let held = &act.frame.slots[slot.0 as usize];
            let Some(place) = held.place().filter(|place| !place.is_dense()) else { continue };
            // The copy is no value of the program: an argument may be larger than the limit on values.
            self.room_for_bytes(place.shape.iter().product::<usize>(), place.dtype.size())?;
            let copy = held.dense(&mut self.buffers.borrow_mut())?;
            lent.push((slot, std::mem::replace(&mut act.frame.slots[slot.0 as usize], Held::Array(copy))));
        }
        let extent = if lent.is_empty() { None } else { self.extent(act, step, kernel) };
        let done = match extent {
            Some(extent) => self.run_kernel(act, step, kernel, extent, None),
            None => {
                let why = self.why_unfit(act, step, kernel);
                self.program(act, step, (&kernel.program, &kernel.exits), (eval, why))
            }
        };
        for (slot, held) in lent {
            let copy = std::mem::replace(&mut act.frame.slots[slot.0 as usize], held);
            copy.recycle(&mut self.buffers.borrow_mut());
        }
        done
    }

    /// Runs a kernel that computes the elements for a store to the first operand.
    pub(super) fn store_kernel(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        kernel: &KernelStep,
        param: Option<u32>,
    ) -> Result<(), EvalError> {
        let extent = kernel.launch.extent(act.plan, act.frame, step);
        let (Some(extent), &[dest, src]) = (extent, &step.args[..]) else {
            let why = self.why_unfit(act, step, kernel);
            return self.store(act, step, param, why);
        };
        let (Some(dtype), [result]) = (act.frame.slots[dest.0 as usize].dtype(), &extent.results[..]) else {
            return self.store(act, step, param, Why::WRONG);
        };
        // If a value is stored to itself, its slot would be empty while it is written.
        let whole = *result.shape == *act.frame.slots[dest.0 as usize].shape() && result.fill.is_none();
        if !whole || dest == src {
            return self.store(act, step, param, if whole { TO_ITSELF } else { PART });
        }
        self.points(extent.space.points)?;
        if act.frame.slots[src.0 as usize].dtype() == Some(dtype)
            && act.frame.slots[src.0 as usize].shape() == &*result.shape
            && self.is_left(act, step, src)
        {
            return self.move_to(act, src, Destination { slot: dest, param });
        }
        // A kernel that may fail does not write to the destination: a store happens wholly or not at all.
        let mut old = if kernel.launch.lowered.fallible { Held::Empty } else { self.take(act.frame, dest) };
        let mut buffers = self.buffers.borrow_mut();
        let run = |target| {
            // SAFETY: the extent is that of these operands, and the kernel does not read the first one. The
            // target has the result's dtype and shape, and is new or in no other slot, so that no operand
            // aliases it.
            unsafe { kernel.launch.run(act.plan, act.frame, step, &extent, &[target], self.how) }
        };
        // SAFETY: the kernel writes every element of the result.
        let new = unsafe { write_over(&mut old, dtype, &result.shape, &mut buffers, run) };
        buffers.stats.kernels += u64::from(new.is_ok());
        drop(buffers);
        match kernel.launch.lowered.fallible {
            true => self.put(act.frame, dest, Held::Array(new?))?,
            false => self.replace(act, dest, old, new)?,
        }
        if let Some(param) = param {
            act.frame.stored[param as usize] = true;
        }
        Ok(())
    }

    /// The reason for which the operands in a frame do not fit a kernel.
    pub(super) fn why_unfit(&self, act: &Activation<'_, '_>, step: &Step, kernel: &KernelStep) -> Why {
        let (lowered, args) = (&kernel.launch.lowered, operands(act.frame, step));
        let symbols = |name: Name| symbol(act.plan, act.frame, name);
        let even = |space: &Space| lowered.has_even_rows(space, &args, &symbols);
        match lowered.space(&args, &symbols) {
            None if lowered.has_empty_rows(&args, &symbols) => EMPTY,
            Some(space) if even(&space) == Some(false) => UNEVEN,
            _ => BEYOND,
        }
    }

    /// Checks and counts the points of an index space.
    pub(super) fn points(&self, points: u64) -> Result<(), EvalError> {
        if points > self.limits.steps {
            let limit = self.limits.steps;
            return Err(EvalError::limit(format!("the index space has more than {limit} points")));
        }
        self.spend(points)
    }

    /// Counts the copies of results that are borrowed views.
    pub(super) fn room_for_copies(&self, values: &[Held]) -> Result<(), EvalError> {
        let lent = values.iter().filter_map(|held| if let Held::Lent(lent) = held { Some(lent) } else { None });
        { lent }.try_for_each(|lent| {
            self.room(&lent.shape, lent.dtype.size())?;
            let len = lent.shape.iter().product::<usize>() as u64;
            self.spend(len)?;
            self.charge(len * lent.dtype.size() as u64)
        })
    }

    /// An error if there may not be another array of this shape.
    pub(super) fn room(&self, shape: &[usize], size: usize) -> Result<(), EvalError> {
        self.room_for_bytes(self.limits.len(shape)?, size)
    }

    /// An error if an array of this number of elements would exceed the limit of bytes.
    fn room_for_bytes(&self, len: usize, size: usize) -> Result<(), EvalError> {
        if self.bytes.get().saturating_add(len.saturating_mul(size) as u64) > self.limits.bytes {
            return Err(EvalError::limit(format!("live values hold more than {} bytes", self.limits.bytes)));
        }
        Ok(())
    }
}

/// The reasons for which a kernel does not run a store although its operands fit.
const TO_ITSELF: Why = Why::Unfit("a value is stored to itself: leave that out");
const PART: Why = Why::Unfit("it does not write the whole destination: write `update`s of a part");

/// The reasons for which valid operands do not fit a kernel.
const EMPTY: Why = Why::Unfit(
    "an axis that is combined along has no elements, so that each result is where its reduction begins: make it with `full`",
);
const UNEVEN: Why = Why::Unfit(
    "an operand's elements are not evenly spaced along the axes that are combined along, so that these are no single row: combine along one axis after the other",
);
const BEYOND: Why = Why::Unfit(
    "its kernel can't show that all positions are inside of operands and results, and each result is written once: keep ranges and index maps inside of them",
);

/// The memory of a result.
enum Room {
    /// The caller's buffer, or a part of another array.
    Lent,
    /// The buffer of an operand that dies, or of the destination of the store.
    Operand(ReusedBuffer),
    /// A buffer of the pool.
    New(RawBuffer),
}

/// Whether results have the dims of their types.
fn fit(act: &mut Activation<'_, '_>, defs: &[Def], extent: &Extent) -> bool {
    let mut results = defs.iter().zip(&extent.results);
    results.all(|(def, result)| act.frame.admits(&def.dims, &result.shape, Some(def.value)))
}
