//! The interpreter of functions: frames, blocks, and the ops that need the evaluator's state.

use super::bind::Symbols;
use super::message::with_operands;
use super::{MAX_DEPTH, apply};
use crate::error::{EvalError, EvalErrorKind};
use crate::function::{Block, Function, Inst, InstData, Target, Value};
use crate::module::Module;
use crate::op::{Callees, Eval, EvalCx, Floats, Limits, Outcome, Watch, note};
use crate::ops::{control, effects};
use crate::scalar::Scalar;
use crate::show::shown_len;
use crate::types::Type;
use crate::value::Datum;
use rustc_hash::FxHashSet;
use slotmap::SecondaryMap;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};

/// An evaluation: its remaining resources, and its printed lines.
pub(super) struct Machine<'m> {
    pub(super) module: Option<&'m Module>,
    limits: Limits,
    steps: Cell<u64>,
    bytes: Cell<u64>,
    depth: Cell<u32>,
    /// Whether printing is an error: the order of a ufunc's elements is not observable.
    pub(super) silent: Cell<bool>,
    printed: RefCell<Vec<String>>,
    /// The floats of all values, if they are recorded.
    pub(super) floats: Cell<Floats>,
    is_watched: bool,
}

/// One activation of a function.
pub(super) struct Frame<'f> {
    pub(super) func: &'f Function,
    values: SecondaryMap<Value, Datum>,
    deleted: FxHashSet<Value>,
    symbols: Symbols,
    /// Parameters to which the function stored.
    stored: FxHashSet<Value>,
    /// The original arguments.
    args: Vec<Datum>,
    bytes: u64,
}

/// The outcome of a call.
pub(super) struct Returned {
    pub(super) results: Vec<Datum>,
    /// The arguments after stores, and whether each was stored to.
    pub(super) args: Vec<(Datum, bool)>,
}

/// The target of control after an instruction.
enum Flow {
    Next,
    To(Block),
    Return(Vec<Datum>),
}

impl<'m> Machine<'m> {
    pub(super) fn new(module: Option<&'m Module>, limits: Limits) -> Self {
        Machine {
            module,
            limits,
            steps: Cell::new(limits.steps),
            bytes: Cell::new(0),
            depth: Cell::new(0),
            silent: Cell::new(false),
            printed: RefCell::default(),
            floats: Cell::default(),
            is_watched: false,
        }
    }

    /// A machine that records the floats of all values.
    pub(super) fn watched(self) -> Self {
        Machine { is_watched: true, ..self }
    }

    fn watch(&self) -> Watch<'_> {
        self.is_watched.then_some(&self.floats)
    }

    pub(super) fn outcome(&self, func: &Function, args: Vec<Datum>) -> Result<Outcome, EvalError> {
        let Returned { results, args } = self.call(func, args).map_err(|e| {
            // An error outside instructions belongs to the call of the function itself.
            if e.op.is_none() {
                EvalError { message: format!("`@{}`: {}", func.name, e.message), loc: func.loc, ..e }
            } else {
                e
            }
        })?;
        Ok(Outcome { results, args: args.into_iter().map(|(a, _)| a).collect(), printed: self.printed.take() })
    }

    /// The number of steps so far.
    pub(super) fn taken(&self) -> u64 {
        self.limits.steps - self.steps.get()
    }

    /// Runs a function to its end.
    pub(super) fn call(&self, func: &Function, args: Vec<Datum>) -> Result<Returned, EvalError> {
        let depth = self.depth.get();
        if depth >= self.limits.depth.min(MAX_DEPTH) {
            return Err(EvalError::limit(format!("calls nest deeper than {depth}")));
        }
        self.depth.set(depth + 1);
        let result = self.run(func, args);
        self.depth.set(depth);
        result
    }

    fn run(&self, func: &Function, args: Vec<Datum>) -> Result<Returned, EvalError> {
        if func.untyped {
            let message = format!("`@{}` is untyped: it must go through type inference before it is run", func.name);
            return Err(EvalError::unsupported(message));
        }
        let Some(mut block) = func.entry() else {
            return Err(EvalError::unsupported(format!("`@{}` has no blocks", func.name)));
        };
        let mut frame = Frame {
            func,
            values: SecondaryMap::new(),
            deleted: FxHashSet::default(),
            symbols: Symbols::default(),
            stored: FxHashSet::default(),
            args: args.clone(),
            bytes: 0,
        };
        self.enter(&mut frame, block, args, "argument")?;
        let results = loop {
            match self.run_block(&mut frame, block)? {
                Flow::Return(results) => break results,
                Flow::To(next) => block = next,
                Flow::Next => {
                    return Err(EvalError::unsupported(format!("a block of `@{}` has no terminator", func.name)));
                }
            }
        };
        self.bytes.set(self.bytes.get() - frame.bytes);
        Ok(Returned { results, args: frame.final_args() })
    }

    fn run_block(&self, frame: &mut Frame<'_>, block: Block) -> Result<Flow, EvalError> {
        let func = frame.func;
        for inst in func.insts(block) {
            let data = func.inst(inst);
            match self.step(frame, inst).map_err(|e| frame.explain(e, data))? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    /// Binds a block's parameters to their arguments.
    fn enter(&self, frame: &mut Frame<'_>, block: Block, args: Vec<Datum>, what: &str) -> Result<(), EvalError> {
        let func = frame.func;
        let params = func.block_params(block);
        if params.len() != args.len() {
            return Err(EvalError::shape(format!("takes {} {what}s, got {}", params.len(), args.len())));
        }
        for (&param, arg) in params.iter().zip(args) {
            self.define(frame, param, arg, what)?;
        }
        Ok(())
    }

    /// Sets the contents of a value, checked against its type.
    fn define(&self, frame: &mut Frame<'_>, value: Value, datum: Datum, what: &str) -> Result<(), EvalError> {
        let func = frame.func;
        let label = || format!("{what} `{}`", func.value_label(value));
        frame.symbols.admit(func, label, &datum, func.ty(value), Some(value))?;
        note(self.watch(), [&datum]);
        frame.deleted.remove(&value);
        self.hold(frame, value, datum)
    }

    /// Sets the contents of a value.
    pub(super) fn hold(&self, frame: &mut Frame<'_>, value: Value, datum: Datum) -> Result<(), EvalError> {
        let size = byte_size(&datum);
        self.release(frame, value);
        let bytes = self.bytes.get().saturating_add(size);
        if bytes > self.limits.bytes {
            return Err(EvalError::limit(format!("live values hold more than {} bytes", self.limits.bytes)));
        }
        self.bytes.set(bytes);
        frame.bytes += size;
        frame.values.insert(value, datum);
        Ok(())
    }

    fn release(&self, frame: &mut Frame<'_>, value: Value) {
        if let Some(old) = frame.values.remove(value) {
            let size = byte_size(&old);
            frame.bytes -= size;
            self.bytes.set(self.bytes.get() - size);
        }
    }

    pub(super) fn cx<'a>(&'a self, frame: &'a Frame<'_>, data: &'a InstData, results: &'a [Type]) -> EvalCx<'a> {
        EvalCx {
            attrs: &data.attrs,
            results,
            symbols: &frame.symbols.extents,
            callees: self.module.map(|module| module as &dyn Callees),
            limits: self.limits,
            steps: &self.steps,
            watch: self.watch(),
            memory: None,
        }
    }

    fn step(&self, frame: &mut Frame<'_>, inst: Inst) -> Result<Flow, EvalError> {
        let func = frame.func;
        let data = func.inst(inst);
        self.cx(frame, data, &[]).spend(1)?;
        if matches!(data.op.eval, Eval::Control) {
            return self.control(frame, data);
        }
        let args = frame.read_all(&data.args)?;
        let types: SmallVec<[Type; 1]> = data.results.iter().map(|&v| func.ty(v).clone()).collect();
        let results = apply(data.op, &self.cx(frame, data, &types), &args)?;
        self.define_results(frame, data, results)
    }

    fn define_results(&self, frame: &mut Frame<'_>, data: &InstData, results: Vec<Datum>) -> Result<Flow, EvalError> {
        if results.len() != data.results.len() {
            return Err(EvalError::shape(format!("gave {} results for {}", results.len(), data.results.len())));
        }
        for (&value, datum) in data.results.iter().zip(results) {
            self.define(frame, value, datum, "result")?;
        }
        Ok(Flow::Next)
    }

    fn control(&self, frame: &mut Frame<'_>, data: &InstData) -> Result<Flow, EvalError> {
        let op = data.op;
        if op == control::JUMP {
            self.branch(frame, data, 0)
        } else if op == control::BR_IF {
            match frame.scalar(data, 0)? {
                Scalar::Bool(yes) => self.branch(frame, data, usize::from(!yes)),
                other => Err(EvalError::value(format!("the condition is {other}, not a bool"))),
            }
        } else if op == control::SWITCH {
            let at = frame.scalar(data, 0)?;
            let at = at.to_i128().ok_or_else(|| EvalError::value(format!("switches on {at}, not an integer")))?;
            let cases = data.attrs.ints("cases").unwrap_or(&[]);
            let case = cases.iter().position(|&c| i128::from(c) == at).unwrap_or(cases.len());
            self.branch(frame, data, case)
        } else if op == control::RET {
            self.ret(frame, data)
        } else if op == control::RAISE {
            let text = |name| data.attrs.str(name).unwrap_or_default().to_string();
            Err(EvalError::new(EvalErrorKind::Raised(text("kind")), text("message")))
        } else if op == effects::CALL {
            let results = self.call_op(frame, data)?;
            self.define_results(frame, data, results)
        } else if op == effects::UFUNC {
            let results = self.ufunc_op(frame, data)?;
            self.define_results(frame, data, results)
        } else if op == effects::STORE {
            self.store(frame, data)
        } else if op == effects::DEL {
            self.del(frame, data)
        } else if op == effects::PRINT {
            self.print(frame, data)
        } else {
            Err(EvalError::unsupported("the evaluator doesn't know this op"))
        }
    }

    fn branch(&self, frame: &mut Frame<'_>, data: &InstData, target: usize) -> Result<Flow, EvalError> {
        let Some(Target { block, args }) = data.targets.get(target) else {
            return Err(EvalError::unsupported(format!("has no target {target}")));
        };
        if !frame.func.has_block(*block) || frame.func.entry() == Some(*block) {
            return Err(EvalError::unsupported("branches to the entry block or out of the function"));
        }
        let args = frame.read_all(args)?;
        self.enter(frame, *block, args, "block argument")?;
        Ok(Flow::To(*block))
    }

    fn ret(&self, frame: &mut Frame<'_>, data: &InstData) -> Result<Flow, EvalError> {
        let func = frame.func;
        let results = frame.read_all(&data.args)?;
        if results.len() != func.results.len() {
            let message =
                format!("returns {} values, `@{}` has {} results", results.len(), func.name, func.results.len());
            return Err(EvalError::shape(message));
        }
        for ((datum, ty), &value) in results.iter().zip(&func.results).zip(&data.args) {
            let label = || format!("returned `{}`", func.value_label(value));
            frame.symbols.admit(func, label, datum, ty, None)?;
        }
        Ok(Flow::Return(results))
    }

    fn store(&self, frame: &mut Frame<'_>, data: &InstData) -> Result<Flow, EvalError> {
        let [dest, src] = data.args[..] else { return Err(EvalError::shape("wants two operands")) };
        let (old, new) = (frame.read(dest)?, frame.read(src)?);
        if old.as_scalar().is_some() {
            return Err(EvalError::shape("writes into an array only"));
        }
        if !effects::can_cast_same_kind(new.dtype(), old.dtype()) {
            return Err(EvalError::value(format!("can't cast {} to {}", new.dtype(), old.dtype())));
        }
        let cx = self.cx(frame, data, &[]);
        cx.spend(cx.len(old.shape())? as u64)?;
        let new = new.to_array().cast(old.dtype());
        let new = if new.shape() == old.shape() { Some(new) } else { new.broadcast(old.shape()) };
        let new = new.ok_or_else(|| EvalError::shape("the value to write doesn't broadcast to the destination"))?;
        let new = match &old {
            Datum::Styled(old) => old.stored(&new).map_err(EvalError::value)?.into(),
            _ => Datum::Array(new),
        };
        frame.stored.insert(dest);
        self.hold(frame, dest, new)?;
        Ok(Flow::Next)
    }

    fn del(&self, frame: &mut Frame<'_>, data: &InstData) -> Result<Flow, EvalError> {
        for &value in &data.args {
            let datum = frame.read(value)?;
            if frame.func.as_const(value).is_some() {
                continue;
            }
            if let Some(i) = frame.func.params().iter().position(|&p| p == value) {
                frame.args[i] = datum;
            }
            self.release(frame, value);
            frame.deleted.insert(value);
        }
        Ok(Flow::Next)
    }

    fn print(&self, frame: &mut Frame<'_>, data: &InstData) -> Result<Flow, EvalError> {
        if self.silent.get() {
            return Err(EvalError::unsupported("a function that `ufunc` applies can't print"));
        }
        let args = frame.read_all(&data.args)?;
        // Formatting takes some hundred bytes per element.
        let shown = args.iter().fold(0u64, |n, arg| n.saturating_add(shown_len(arg.shape()) as u64));
        self.cx(frame, data, &[]).spend(shown)?;
        if self.bytes.get().saturating_add(shown.saturating_mul(128)) > self.limits.bytes {
            return Err(EvalError::limit("prints too much"));
        }
        let label = data.attrs.str("label").map(str::to_string);
        let line: Vec<String> = label.into_iter().chain(args.iter().map(Datum::to_string)).collect();
        let line = line.join(" ");
        let bytes = self.bytes.get() + line.len() as u64;
        if bytes > self.limits.bytes {
            return Err(EvalError::limit("prints too much"));
        }
        self.bytes.set(bytes);
        self.printed.borrow_mut().push(line);
        Ok(Flow::Next)
    }
}

impl Frame<'_> {
    /// The contents of a value.
    pub(super) fn read(&self, value: Value) -> Result<Datum, EvalError> {
        if let Some(datum) = self.values.get(value) {
            return Ok(datum.clone());
        }
        if !self.func.has_value(value) {
            return Err(EvalError::unsupported("an operand is no value of this function"));
        }
        if let Some(scalar) = self.func.as_const(value) {
            return Ok(Datum::Scalar(scalar));
        }
        let label = self.func.value_label(value);
        let why = if self.deleted.contains(&value) { "was ended by `del`" } else { "is not defined yet" };
        Err(EvalError::value(format!("`{label}` {why}")))
    }

    pub(super) fn read_all(&self, values: &[Value]) -> Result<Vec<Datum>, EvalError> {
        values.iter().map(|&v| self.read(v)).collect()
    }

    fn scalar(&self, data: &InstData, operand: usize) -> Result<Scalar, EvalError> {
        let value = data.args.get(operand).ok_or_else(|| EvalError::shape("wants an operand"))?;
        self.read(*value)?.as_scalar().ok_or_else(|| EvalError::shape("wants a scalar"))
    }

    pub(super) fn mark_stored(&mut self, value: Value) {
        self.stored.insert(value);
    }

    fn final_args(mut self) -> Vec<(Datum, bool)> {
        let params = self.func.params();
        let originals = std::mem::take(&mut self.args);
        let last = |(&param, original)| {
            let stored = self.stored.contains(&param);
            // A deleted parameter left its last contents among the arguments.
            let datum = if stored { self.values.remove(param).unwrap_or(original) } else { original };
            (datum, stored)
        };
        params.iter().zip(originals).map(last).collect()
    }

    /// Adds op, location and operands to an error without an op.
    fn explain(&self, error: EvalError, data: &InstData) -> EvalError {
        with_operands(error, self.func, data, |operand| {
            let datum = self.read(*data.args.get(operand)?).ok()?;
            Some((datum.ty(), datum.as_scalar()))
        })
    }
}

fn byte_size(datum: &Datum) -> u64 {
    match datum {
        Datum::Scalar(_) => 0,
        Datum::Array(a) => a.len() as u64 * a.dtype().size() as u64,
        Datum::Styled(s) => s.bytes(),
    }
}
