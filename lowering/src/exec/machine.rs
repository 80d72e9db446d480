//! The machine: runs a plan.

use super::Inner;
use super::buffers::Buffers;
use super::by_reference::Why;
use super::frame::{Boxed, Frame};
use super::launch::How;
use super::plan::*;
use super::value::{Held, Shape, Strides, array_place, overwrite};
use rewright_ir::eval::{MAX_DEPTH, broadcast_shapes, mismatch, with_operands};
use rewright_ir::style::Destination;
use rewright_ir::{Array, Datum, Dim, EvalError, EvalErrorKind, Function, Limits, Scalar, Styled, Type};
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// One run: its remaining limits, its memory, and the lines that it printed.
pub struct Machine<'e> {
    pub(super) exec: &'e Inner,
    pub(super) limits: Limits,
    /// Options for running kernels.
    pub(super) how: How,
    pub(super) steps: Cell<u64>,
    pub(super) bytes: Cell<u64>,
    depth: Cell<u32>,
    /// Whether printing is an error: the order in which a ufunc visits elements is not observable.
    pub(super) silent: Cell<bool>,
    /// The printed lines.
    pub printed: RefCell<Vec<String>>,
    /// Memory for the elements of arrays.
    pub buffers: RefCell<Buffers>,
}

/// One activation: a function, its plan, and its frame.
pub struct Activation<'e, 'f> {
    /// The function's number in the plan.
    pub number: usize,
    pub func: &'e Function,
    pub plan: &'e FuncPlan,
    pub frame: &'f mut Frame,
}

/// Where control goes after a step.
enum Flow<'e> {
    Next,
    /// To the step after the next one: this step has done the next one, too.
    Skip(&'e Step),
    Along(&'e Edge),
    Return,
}

impl<'e> Machine<'e> {
    /// A run within limits, with memory to reuse.
    pub fn new(exec: &'e Inner, limits: Limits, how: How, buffers: Buffers) -> Self {
        Machine {
            exec,
            limits,
            how,
            steps: Cell::new(limits.steps),
            bytes: Cell::new(0),
            depth: Cell::new(0),
            silent: Cell::new(false),
            printed: RefCell::default(),
            buffers: RefCell::new(buffers),
        }
    }

    /// An activation of a function of the plan on a frame.
    pub fn activation<'f>(&self, number: usize, frame: &'f mut Frame) -> Result<Activation<'e, 'f>, EvalError> {
        let plan = &self.exec.plan.functions[number];
        let func = self.exec.module.get(plan.name);
        let func = func.ok_or_else(|| EvalError::unsupported(format!("there is no function `@{}`", plan.name)))?;
        Ok(Activation { number, func, plan, frame })
    }

    /// Runs a function whose arguments are in their slots. The results are then in the frame.
    pub fn run(&self, act: &mut Activation<'e, '_>) -> Result<(), EvalError> {
        let depth = self.depth.get();
        if depth >= self.limits.depth.min(MAX_DEPTH) {
            return Err(EvalError::limit(format!("calls nest deeper than {depth}")));
        }
        self.depth.set(depth + 1);
        let result = self.enter(act).and_then(|()| self.check_places(act)).and_then(|()| self.steps(act));
        self.depth.set(depth);
        result
    }

    /// Checks the arguments against the parameters' types.
    fn enter(&self, act: &mut Activation<'e, '_>) -> Result<(), EvalError> {
        for def in &act.plan.params {
            self.admit(act, def, "argument")?;
            self.charge(act.frame.slots[def.slot.0 as usize].bytes())?;
        }
        Ok(())
    }

    /// Checks the caller's places for results against the result types, as far as the extents are known.
    fn check_places(&self, act: &Activation<'e, '_>) -> Result<(), EvalError> {
        for (i, (place, ty)) in act.frame.into.iter().zip(&act.plan.results).enumerate() {
            let fits = |(&dim, &extent): (&Dim, &usize)| match dim {
                Dim::Any => true,
                Dim::Const(n) => n == extent as u64,
                Dim::Sym(name) => {
                    let bound = act.plan.symbol(name).and_then(|s| act.frame.symbols[s]);
                    bound.is_none_or(|(n, _)| n == extent as u64)
                }
            };
            let right = ty.style().is_none()
                && place.dtype == ty.dtype()
                && place.shape.len() == ty.rank()
                && ty.dims().iter().zip(&place.shape).all(fits);
            if !right {
                return Err(misfit(act, &format!("the buffer for result {i}"), Some(place.ty()), ty));
            }
        }
        Ok(())
    }

    fn steps(&self, act: &mut Activation<'e, '_>) -> Result<(), EvalError> {
        let plan = act.plan;
        let mut at = 0;
        while let Some(step) = plan.steps.get(at) {
            let begun = self.exec.times.as_ref().map(|times| (times, Instant::now()));
            let flow = self.step(act, step, plan.steps.get(at + 1)).map_err(|e| explain(act, step, e))?;
            if let Some((times, begun)) = begun {
                times.add(act.number, at, begun.elapsed());
            }
            match flow {
                Flow::Next => {
                    for &slot in &step.free {
                        self.put(act.frame, slot, Held::Empty)?;
                    }
                    at += 1;
                }
                Flow::Skip(next) => {
                    for &slot in &next.free {
                        self.put(act.frame, slot, Held::Empty)?;
                    }
                    at += 2;
                }
                Flow::Along(edge) => {
                    self.follow(act, edge).map_err(|e| explain(act, step, e))?;
                    at = edge.to;
                }
                Flow::Return => return Ok(()),
            }
        }
        Err(EvalError::unsupported(format!("a block of `@{}` has no terminator", plan.name)))
    }

    fn step(
        &self,
        act: &mut Activation<'e, '_>,
        step: &'e Step,
        next: Option<&'e Step>,
    ) -> Result<Flow<'e>, EvalError> {
        self.spend(1)?;
        if let Some(next) = next.filter(|_| step.fills_part)
            && self.fill_part(act, step, next)?
        {
            return Ok(Flow::Skip(next));
        }
        match &step.kind {
            StepKind::Scalar(scalar) => self.scalar(act, step, scalar)?,
            StepKind::Kernel(kernel) => match kernel.meaning {
                Meaning::Array(eval) => self.kernel(act, step, kernel, eval)?,
                Meaning::Store(param) => self.store_kernel(act, step, kernel, param)?,
                Meaning::Assign(eval, to) => self.assign(act, step, kernel, eval, to)?,
                Meaning::Packed(eval, pack) => self.packed(act, step, kernel, eval, pack)?,
            },
            StepKind::View(view) => self.view(act, step, view)?,
            StepKind::GetItem => self.getitem(act, step)?,
            StepKind::Dim(axis) => self.dim(act, step, *axis)?,
            StepKind::Component(number) => self.component(act, step, *number)?,
            StepKind::Assemble(assemble) => self.assemble(act, step, assemble)?,
            StepKind::Constant(array) => self.constant(act, step, array)?,
            StepKind::Update(update) => self.update(act, step, update)?,
            StepKind::Join(join) => self.join(act, step, *join)?,
            StepKind::Pick(pick) => self.pick(act, step, *pick)?,
            StepKind::Program(program) => self.program_step(act, step, program)?,
            StepKind::Array(eval) => self.array(act, step, *eval, Why::Planned)?,
            StepKind::Store(param) => self.store(act, step, *param, Why::Planned)?,
            StepKind::Free => {}
            StepKind::Call(call) => self.call(act, step, call)?,
            StepKind::Print(label) => self.print(act, step, label.as_deref())?,
            StepKind::Jump(edge) => return Ok(Flow::Along(edge)),
            StepKind::BrIf(edges) => match self.operand(act, step, 0).scalar()? {
                Scalar::Bool(yes) => return Ok(Flow::Along(&edges[usize::from(!yes)])),
                other => return Err(EvalError::value(format!("the condition is {other}, not a bool"))),
            },
            StepKind::Switch(cases, edges) => {
                let at = self.operand(act, step, 0).scalar()?;
                let at = at.to_i128().ok_or_else(|| EvalError::value(format!("switches on {at}, not an integer")))?;
                let case = cases.iter().position(|&c| i128::from(c) == at).unwrap_or(cases.len());
                return Ok(Flow::Along(&edges[case]));
            }
            StepKind::Ret(results) => {
                self.ret(act, step, results)?;
                return Ok(Flow::Return);
            }
            StepKind::Raise(error) => {
                return Err(EvalError::new(EvalErrorKind::Raised(error.0.clone()), error.1.clone()));
            }
        }
        Ok(Flow::Next)
    }

    // --- Bookkeeping
    // ------------------------------------------------------------------------------------------

    /// Consumes steps of the limit.
    pub(super) fn spend(&self, steps: u64) -> Result<(), EvalError> {
        match self.steps.get().checked_sub(steps) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => Err(EvalError::limit(format!("more than {} steps", self.limits.steps))),
        }
    }

    /// Counts bytes that are about to become live.
    pub(super) fn charge(&self, bytes: u64) -> Result<(), EvalError> {
        let sum = self.bytes.get().saturating_add(bytes);
        if sum > self.limits.bytes {
            return Err(EvalError::limit(format!("live values hold more than {} bytes", self.limits.bytes)));
        }
        self.bytes.set(sum);
        Ok(())
    }

    /// Uncounts charged bytes that are dead.
    pub(super) fn forget(&self, bytes: u64) {
        self.bytes.set(self.bytes.get().saturating_sub(bytes));
    }

    /// The remaining steps, for [`undone`](Machine::undone).
    pub(super) fn steps_left(&self) -> u64 {
        self.steps.get()
    }

    /// Restores the steps before a step is left to its reference meaning, which consumes its own.
    pub(super) fn undone<T>(&self, steps: u64) -> Option<T> {
        self.steps.set(steps);
        None
    }

    /// Puts a value in a slot.
    #[inline]
    pub(super) fn put(&self, frame: &mut Frame, slot: Slot, held: Held) -> Result<(), EvalError> {
        let slot = &mut frame.slots[slot.0 as usize];
        if slot.is_array() {
            self.bytes.set(self.bytes.get().saturating_sub(slot.bytes()));
            std::mem::take(slot).recycle(&mut self.buffers.borrow_mut());
        }
        if let Held::Array(_) | Held::Styled(_) = held {
            self.charge(held.bytes())?;
        }
        *slot = held;
        Ok(())
    }

    /// Takes a value out of a slot.
    pub(super) fn take(&self, frame: &mut Frame, slot: Slot) -> Held {
        let held = std::mem::take(&mut frame.slots[slot.0 as usize]);
        self.bytes.set(self.bytes.get().saturating_sub(held.bytes()));
        held
    }

    #[inline]
    pub(super) fn operand<'a>(&self, act: &'a Activation<'_, '_>, step: &Step, operand: usize) -> &'a Held {
        step.args.get(operand).map_or(&Held::Empty, |slot| &act.frame.slots[slot.0 as usize])
    }

    /// Checks the content of a slot against its type, and binds symbols.
    pub(super) fn admit(&self, act: &mut Activation<'_, '_>, def: &Def, what: &str) -> Result<(), EvalError> {
        let held = std::mem::take(&mut act.frame.slots[def.slot.0 as usize]);
        let fits = held.dtype() == Some(def.ty.dtype())
            && held.is_array() == def.ty.is_array()
            && held.is_of_style(&def.ty)
            && act.frame.admits(&def.dims, held.shape(), Some(def.value));
        let given = if fits { None } else { held.ty() };
        act.frame.slots[def.slot.0 as usize] = held;
        if fits {
            return Ok(());
        }
        Err(misfit(act, &format!("{what} `{}`", act.func.value_label(def.value)), given, &def.ty))
    }

    pub(super) fn give_back(&self, number: usize, mut frame: Boxed) {
        frame.clear(&mut self.buffers.borrow_mut());
        self.exec.pools[number].give_back(frame);
    }

    pub(super) fn data(&self, act: &Activation<'_, '_>, step: &Step) -> Result<Vec<Datum>, EvalError> {
        let buffers = &mut self.buffers.borrow_mut();
        step.args.iter().map(|slot| act.frame.slots[slot.0 as usize].to_datum(buffers)).collect()
    }

    pub(super) fn define(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        results: Vec<Held>,
    ) -> Result<(), EvalError> {
        if results.len() != step.defs.len() {
            return Err(EvalError::shape(format!("gave {} results for {}", results.len(), step.defs.len())));
        }
        for (def, held) in step.defs.iter().zip(results) {
            self.put(act.frame, def.slot, held)?;
            self.admit(act, def, "result")?;
        }
        Ok(())
    }

    // --- Steps
    // ------------------------------------------------------------------------------------------------

    #[inline]
    fn scalar(&self, act: &mut Activation<'_, '_>, step: &Step, scalar: &ScalarStep) -> Result<(), EvalError> {
        let results = scalar.compute(step, |slot| act.frame.slots[slot.0 as usize].scalar())?;
        for (def, result) in step.defs.iter().zip(results) {
            act.frame.slots[def.slot.0 as usize] = Held::Scalar(result);
        }
        Ok(())
    }

    /// Defines an array constant, as a reference to the op's buffer.
    fn constant(&self, act: &mut Activation<'_, '_>, step: &Step, array: &Array) -> Result<(), EvalError> {
        let [def] = &step.defs[..] else { return Err(EvalError::shape("has one result")) };
        self.put(act.frame, def.slot, Held::Array(array.clone()))?;
        self.admit(act, def, "result")
    }

    /// Stores the second operand to the first. If another value shares the first one's buffer, a new buffer
    /// replaces it.
    pub(super) fn store(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        param: Option<u32>,
        why: Why,
    ) -> Result<(), EvalError> {
        let (dest, src) = match step.args[..] {
            [dest, _] => (dest, self.operand(act, step, 1).to_datum(&mut self.buffers.borrow_mut())?),
            _ => return Err(EvalError::shape("wants two operands")),
        };
        if let Held::Styled(old) = &act.frame.slots[dest.0 as usize] {
            let old = old.clone();
            self.store_styled(act, dest, &old, &src, param)?;
            self.ran_by_reference(act, step, why);
            return Ok(());
        }
        let old = &act.frame.slots[dest.0 as usize];
        let Some(place) = old.place() else { return Err(EvalError::shape("writes into an array only")) };
        let src = src.to_array().cast(place.dtype);
        if broadcast_shapes([src.shape(), place.shape]).as_deref() != Some(place.shape) {
            return Err(EvalError::shape("the value to write doesn't broadcast to the destination"));
        }
        self.spend(place.shape.iter().product::<usize>() as u64)?;
        let shape = Shape::from(place.shape);
        let mut strides = Strides::from_elem(0, shape.len());
        let mut from = array_place(&src);
        let skip = shape.len() - src.rank();
        for (axis, (&extent, &stride)) in from.shape.iter().zip(from.strides).enumerate() {
            strides[skip + axis] = if extent == 1 { 0 } else { stride };
        }
        (from.shape, from.strides) = (&shape, &strides);
        let mut old = self.take(act.frame, dest);
        // SAFETY: with broadcast strides, every index of `shape` is that of an element of `src`. If the
        // buffer of `dest` is unshared, `src` does not alias it.
        let new = unsafe { overwrite(&mut old, &from, &mut self.buffers.borrow_mut()) };
        self.replace(act, dest, old, new)?;
        if let Some(param) = param {
            act.frame.stored[param as usize] = true;
        }
        self.ran_by_reference(act, step, why);
        Ok(())
    }

    /// As [`store`](Machine::store), for a destination of a storage style, which checks every element.
    fn store_styled(
        &self,
        act: &mut Activation<'_, '_>,
        dest: Slot,
        old: &Styled,
        src: &Datum,
        param: Option<u32>,
    ) -> Result<(), EvalError> {
        let same = |new: &&Styled| (new.style(), new.shape(), new.dtype()) == (old.style(), old.shape(), old.dtype());
        let decides = old.style().def().interface::<Destination>().is_some();
        let kept = match src.as_styled().filter(same).filter(|_| !decides) {
            Some(_) => src.clone(),
            None => {
                self.spend(self.limits.len(old.shape())? as u64)?;
                let new = src.to_array().cast(old.dtype());
                let new = if new.shape() == old.shape() { Some(new) } else { new.broadcast(old.shape()) };
                let new =
                    new.ok_or_else(|| EvalError::shape("the value to write doesn't broadcast to the destination"))?;
                old.stored(&new).map_err(EvalError::value)?.into()
            }
        };
        self.put(act.frame, dest, Held::from(kept))?;
        if let Some(param) = param {
            act.frame.stored[param as usize] = true;
        }
        Ok(())
    }

    /// Puts the stored array in the slot, or the old array if the store failed.
    pub(super) fn replace(
        &self,
        act: &mut Activation<'_, '_>,
        slot: Slot,
        old: Held,
        new: Result<Array, EvalError>,
    ) -> Result<(), EvalError> {
        let (held, ended) = match new {
            Ok(new) => (Held::Array(new), Ok(())),
            Err(error) => (old, Err(error)),
        };
        self.put(act.frame, slot, held)?;
        ended
    }

    fn call(&self, act: &mut Activation<'_, '_>, step: &Step, call: &CallStep) -> Result<(), EvalError> {
        let plan = &self.exec.plan.functions[call.callee];
        let mut frame = self.exec.pools[call.callee].take(plan);
        for ((&from, arg), param) in step.args.iter().zip(&call.args).zip(&plan.params) {
            let held = match arg.take {
                true => self.take(act.frame, from),
                false => act.frame.slots[from.0 as usize].clone(),
            };
            frame.slots[param.slot.0 as usize] = held;
        }
        let ended = self.activation(call.callee, &mut frame).and_then(|mut callee| self.run(&mut callee));
        for (i, (&from, arg)) in step.args.iter().zip(&call.args).enumerate().filter(|(_, (_, arg))| arg.back) {
            if frame.stored[i] && arg.shared && ended.is_ok() {
                let message =
                    format!("`@{}` stores to parameter {i}, which is given the same value as another", plan.name);
                return Err(EvalError::value(message));
            }
            if arg.take || (frame.stored[i] && !arg.shared) {
                let held = self.take(&mut frame, plan.params[i].slot);
                self.put(act.frame, from, held)?;
            }
            if let (true, Some(param)) = (frame.stored[i], arg.param) {
                act.frame.stored[param as usize] = true;
            }
        }
        ended?;
        for (def, held) in step.defs.iter().zip(frame.results.drain(..)) {
            self.put(act.frame, def.slot, held)?;
        }
        self.give_back(call.callee, frame);
        step.defs.iter().try_for_each(|def| self.admit(act, def, "result"))
    }

    fn print(&self, act: &Activation<'_, '_>, step: &Step, label: Option<&str>) -> Result<(), EvalError> {
        if self.silent.get() {
            return Err(EvalError::unsupported("a function that `ufunc` applies can't print"));
        }
        let values = self.data(act, step)?;
        let line: Vec<String> =
            label.map(str::to_string).into_iter().chain(values.iter().map(Datum::to_string)).collect();
        let line = line.join(" ");
        self.charge(line.len() as u64).map_err(|_| EvalError::limit("printed too much"))?;
        self.printed.borrow_mut().push(line);
        Ok(())
    }

    fn follow(&self, act: &mut Activation<'_, '_>, edge: &Edge) -> Result<(), EvalError> {
        for m in &edge.moves {
            let held = match m.take {
                true => self.take(act.frame, m.from),
                false => act.frame.slots[m.from.0 as usize].clone(),
            };
            self.put(act.frame, m.to, held)?;
        }
        for &slot in &edge.free {
            self.put(act.frame, slot, Held::Empty)?;
        }
        edge.checks.iter().try_for_each(|def| self.admit(act, def, "block argument"))
    }

    fn ret(&self, act: &mut Activation<'_, '_>, step: &Step, results: &[Return]) -> Result<(), EvalError> {
        // Check all results before any is taken, so that an error can show their values.
        for (i, (&from, result)) in step.args.iter().zip(results).enumerate() {
            let (ty, frame) = (&act.plan.results[i], &mut *act.frame);
            let held = &frame.slots[from.0 as usize];
            let fits = held.dtype() == Some(ty.dtype()) && held.is_array() == ty.is_array() && held.is_of_style(ty);
            let shape = Shape::from(held.shape());
            if !(fits && frame.admits(&result.dims, &shape, None)) {
                let value = act.func.inst(step.inst).args[i];
                let given = act.frame.slots[from.0 as usize].ty();
                return Err(misfit(act, &format!("returned `{}`", act.func.value_label(value)), given, ty));
            }
        }
        for (&from, result) in step.args.iter().zip(results) {
            let held = match result.take {
                true => self.take(act.frame, from),
                false => act.frame.slots[from.0 as usize].clone(),
            };
            act.frame.results.push(held);
        }
        Ok(())
    }
}

#[cold]
fn misfit(act: &Activation<'_, '_>, what: &str, given: Option<Type>, ty: &Type) -> EvalError {
    let Some(given) = given else { return EvalError::value(format!("{what} holds no value")) };
    mismatch(act.func, what, &given, ty, |name| act.frame.symbols[act.plan.symbol(name)?])
}

/// Adds the op, the source location and the operands to an error.
#[cold]
fn explain(act: &Activation<'_, '_>, step: &Step, error: EvalError) -> EvalError {
    with_operands(error, act.func, act.func.inst(step.inst), |operand| {
        let held = &act.frame.slots[step.args.get(operand)?.0 as usize];
        Some((held.ty()?, held.scalar().ok()))
    })
}
