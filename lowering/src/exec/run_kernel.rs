//! Running the steps that have kernels.

use super::buffers::RawBuffer;
use super::by_reference::Why;
use super::heir::{Heir, inherit};
use super::launch::{Extent, operands, symbol};
use super::loop_program::UNFIT;
use super::machine::{Activation, Machine};
use super::out::OutPlace;
use super::plan::{ArrayEval, Def, Destination, KernelStep, Meaning, Slot, Step};
use super::value::{Held, Lent, Shape, Target, fill_elements, write_over};
use crate::lower::Space;
use rewright_ir::{EvalError, Name};
use smallvec::SmallVec;

impl Machine<'_> {
    /// Runs a kernel; where the operands don't fit it, the op's reference meaning says why.
    pub(super) fn kernel(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        kernel: &KernelStep,
        eval: ArrayEval,
    ) -> Result<(), EvalError> {
        match self.extent(act, step, kernel) {
            Some(extent) => match kernel.meaning {
                Meaning::Array(eval) if kernel.runs_program(extent.space.points) => {
                    self.program(act, step, (&kernel.program, &kernel.exits), (eval, UNFIT))
                }
                _ => self.run_kernel(act, step, kernel, extent),
            },
            None if !self.are_equal(act, step, &kernel.equal) => self.array(act, step, eval, Why::WRONG),
            None => self.with_dense_operands(act, step, kernel, eval),
        }
    }

    /// True if the extents of these dims of operands are equal.
    pub(super) fn are_equal(&self, act: &Activation<'_, '_>, step: &Step, dims: &[[(usize, usize); 2]]) -> bool {
        let extent_of = |(operand, axis): (usize, usize)| self.operand(act, step, operand).shape().get(axis).copied();
        dims.iter().all(|&[one, other]| extent_of(one) == extent_of(other))
    }

    /// What a kernel covers; `None` if something does not fit.
    pub(super) fn extent(&self, act: &mut Activation<'_, '_>, step: &Step, kernel: &KernelStep) -> Option<Extent> {
        if !self.are_equal(act, step, &kernel.equal) {
            return None;
        }
        let extent = kernel.launch.extent(act.plan, act.frame, step);
        extent.filter(|e| fit(act, &step.defs, e))
    }

    pub(super) fn run_kernel(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        kernel: &KernelStep,
        extent: Extent,
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
            let target = match place.filter(direct) {
                Some(place) => {
                    rooms.push(Room::Callers);
                    Target { pointer: place.pointer, strides: place.strides.clone(), used: true }
                }
                None => {
                    if let Some(heir) = inherit(act, step, kernel, &extent) {
                        self.buffers.borrow_mut().stats.reused += u64::from(heir.died);
                        let (held, pointer) = ((heir.array.len() * dtype.size()) as u64, heir.pointer);
                        let strides = heir.strides.clone();
                        self.bytes.set(self.bytes.get().saturating_sub(held));
                        rooms.push(Room::Operand(heir));
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
                // SAFETY: the target is one of the places that are argued for below.
                unsafe { fill_elements(fill, dtype, shape, &target) };
            }
            targets.push(target);
        }
        // SAFETY: the extent is that of these operands. The targets are new buffers of their results' shapes and dtypes, or the caller's
        // for such results, which no argument has elements in, and each is the target of only one value of a block that is
        // then returned; or the one result goes to the place of an operand, or of what it is stored to, which the kernel reads only where it
        // writes then, if at all, and in which no other operand has elements, for nobody else had a share in it.
        let ended = unsafe { kernel.launch.run(act.plan, act.frame, step, &extent, &targets, self.how) };
        if ended.is_err() {
            // An error tells what operands held.
            for room in rooms.drain(..) {
                if let Room::Operand(heir) = room {
                    act.frame.slots[heir.slot.0 as usize] = Held::Array(heir.array);
                }
            }
        }
        // Of an op that is a kernel of its own the operands are told too.
        ended.map_err(|e| if step.op.is_elementwise() { EvalError { op: None, ..e } } else { e })?;
        self.buffers.borrow_mut().stats.kernels += 1;
        for (((def, result), room), target) in step.defs.iter().zip(&extent.results).zip(rooms).zip(targets) {
            let (dtype, shape) = (def.ty.dtype(), Shape::from(&*result.shape));
            let held = match room {
                Room::Operand(heir) => Held::Array(heir.array),
                Room::New(buffer) => {
                    // SAFETY: the kernel, and what filled it before, have written every element with values of the dtype.
                    let array = unsafe { buffer.into_array(dtype, &shape, extent.order.as_deref()) };
                    match array.get(&[]) {
                        // What is applied to scalars only has scalar results.
                        Some(scalar) if def.ty.is_scalar() => {
                            self.buffers.borrow_mut().recycle(array);
                            Held::Scalar(scalar)
                        }
                        _ => Held::Array(array),
                    }
                }
                Room::Callers => {
                    Held::Lent(Lent { dtype, pointer: target.pointer, shape, strides: target.strides, keep: None })
                }
            };
            self.put(act.frame, def.slot, held)?;
        }
        Ok(())
    }

    /// Runs a kernel that goes along rows of several axes with copies of those operands whose elements are not evenly spaced; where that is
    /// not why something does not fit, by the op's reference meaning.
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
            // The copy is no value of the program: an argument may be larger than what that may make.
            self.room_for_bytes(place.shape.iter().product::<usize>(), place.dtype.size())?;
            let copy = held.dense(&mut self.buffers.borrow_mut())?;
            lent.push((slot, std::mem::replace(&mut act.frame.slots[slot.0 as usize], Held::Array(copy))));
        }
        let extent = if lent.is_empty() { None } else { self.extent(act, step, kernel) };
        let done = match extent {
            Some(extent) => match kernel.meaning {
                Meaning::Array(eval) if kernel.runs_program(extent.space.points) => {
                    self.program(act, step, (&kernel.program, &kernel.exits), (eval, UNFIT))
                }
                _ => self.run_kernel(act, step, kernel, extent),
            },
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

    /// Runs a kernel that computes what is stored to the first operand.
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
        // Of a value that is stored to itself the slot is empty while it is written.
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
        // What may fail is not written over what is there: a store is done, or it is not.
        let mut old = if kernel.launch.lowered.fallible { Held::Empty } else { self.take(act.frame, dest) };
        let mut buffers = self.buffers.borrow_mut();
        let run = |target| {
            // SAFETY: the extent is that of these operands, of which the first is not read; the target has the result's dtype and shape,
            // and is new or in no other slot, so that no operand has elements there.
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

    /// Why a kernel does not fit the operands that a frame holds.
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

    /// Counts the points of an index space.
    pub(super) fn points(&self, points: u64) -> Result<(), EvalError> {
        if points > self.limits.steps {
            let limit = self.limits.steps;
            return Err(EvalError::limit(format!("the index space has more than {limit} points")));
        }
        self.spend(points)
    }

    /// Counts copies of the arrays that are lent.
    pub(super) fn room_for_copies(&self, values: &[Held]) -> Result<(), EvalError> {
        let lent = values.iter().filter_map(|held| if let Held::Lent(lent) = held { Some(lent) } else { None });
        { lent }.try_for_each(|lent| {
            self.room(&lent.shape, lent.dtype.size())?;
            let len = lent.shape.iter().product::<usize>() as u64;
            self.spend(len)?;
            self.charge(len * lent.dtype.size() as u64)
        })
    }

    /// An error if there may not be another array of so many elements.
    pub(super) fn room(&self, shape: &[usize], size: usize) -> Result<(), EvalError> {
        self.room_for_bytes(self.limits.len(shape)?, size)
    }

    /// An error if so many elements more would be too many bytes.
    fn room_for_bytes(&self, len: usize, size: usize) -> Result<(), EvalError> {
        if self.bytes.get().saturating_add(len.saturating_mul(size) as u64) > self.limits.bytes {
            return Err(EvalError::limit(format!("live values hold more than {} bytes", self.limits.bytes)));
        }
        Ok(())
    }
}

/// Why a kernel does not run a store whose operands fit it.
const TO_ITSELF: Why = Why::Unfit("a value is stored to itself: leave that out");
const PART: Why = Why::Unfit("it does not write the whole destination: write `update`s of a part");

/// Why a kernel does not fit operands that break no rule.
const EMPTY: Why = Why::Unfit(
    "an axis that is combined along has no elements, so that each result is where its reduction begins: make it with `full`",
);
const UNEVEN: Why = Why::Unfit(
    "an operand's elements are not evenly spaced along the axes that are combined along, so that these are no single row: combine along one axis after the other",
);
const BEYOND: Why = Why::Unfit(
    "its kernel can't show that all positions are inside of operands and results, and each result is written once: keep ranges and index maps inside of them",
);

/// Where a result is written.
enum Room {
    /// To a buffer of the caller's.
    Callers,
    /// Over an operand that dies, or what it is stored to.
    Operand(Heir),
    /// To a buffer.
    New(RawBuffer),
}

/// True if results have the dims that their types promise.
fn fit(act: &mut Activation<'_, '_>, defs: &[Def], extent: &Extent) -> bool {
    let mut results = defs.iter().zip(&extent.results);
    results.all(|(def, result)| act.frame.admits(&def.dims, &result.shape, Some(def.value)))
}
