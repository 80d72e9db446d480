//! The only caller of the reference evaluator.
//!
//! Two kinds of steps are evaluated: steps without a kernel, which [`Executable::remarks`] names, and steps
//! whose operands do not fit the kernel or break a rule, which only the call knows. Each evaluation is
//! counted for its step, and the second kind records its reason, so that no step runs by reference
//! unnoticed: [`Executable::reference_steps`].

use super::buffers::Buffers;
use super::frame::Frame;
use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, Plan, Step};
use super::value::Held;
use super::{Arg, Executable, Instead, Remark};
use rewright_ir::eval::{Memory, apply, map_elements};
use rewright_ir::{Array, DType, Datum, EvalCx, EvalError, Inst, Loc, Loop, Name, Op, Outcome, Traits, Type, evaluate};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The reason for which a step runs by the reference meaning of its op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It has no kernel; a remark of the executable gives the reason.
    Planned,
    /// Its operands do not fit the kernel in this call: the reason, and the remedy.
    Unfit(&'static str),
}

impl Why {
    /// The operands break a rule of the op. The evaluator names the rule in its error.
    pub(super) const WRONG: Why = Why::Unfit("its operands do not fit it: compare their extents with its attributes");
}

/// A step that ran by the reference meaning of its op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceStep {
    /// The function.
    pub func: Name,
    /// The number of the step in the function's plan.
    pub step: usize,
    /// The op.
    pub op: Op,
    /// The source location.
    pub loc: Loc,
    /// The number of its evaluations.
    pub runs: u64,
    /// The reason, and the remedy; none if no remark names the step, which is a fault of the compiler.
    pub why: Option<String>,
}

/// The evaluations of one step.
#[derive(Clone, Copy, Default)]
struct Evaluated {
    runs: u64,
    /// The reason of the first call whose operands did not fit.
    unfit: Option<&'static str>,
}

/// The steps that ran their loop program because operands did not fit their kernel, by function and
/// instruction: the reason, and the code generator.
type Programs = FxHashMap<(usize, Inst), (&'static str, &'static str)>;

/// The steps that were evaluated, by function and instruction.
#[derive(Default)]
pub(super) struct ByReference {
    evaluated: Mutex<FxHashMap<(usize, Inst), Evaluated>>,
    programs: Mutex<Programs>,
}

impl ByReference {
    fn steps(&self) -> MutexGuard<'_, FxHashMap<(usize, Inst), Evaluated>> {
        self.evaluated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn programs(&self) -> MutexGuard<'_, Programs> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a step ran its loop program, compiled by `codegen`, because operands did not fit its
    /// kernel.
    pub(super) fn add_program(&self, function: usize, inst: Inst, why: Why, codegen: &'static str) {
        if let Why::Unfit(reason) = why {
            self.programs().entry((function, inst)).or_insert((reason, codegen));
        }
    }

    fn add(&self, function: usize, inst: Inst, why: Why) {
        let mut steps = self.steps();
        let step = steps.entry((function, inst)).or_default();
        step.runs += 1;
        if let Why::Unfit(reason) = why {
            step.unfit.get_or_insert(reason);
        }
    }

    /// The evaluated steps of a plan, in its order: the function's number, the step's number, the step.
    fn of<'p>(&self, plan: &'p Plan) -> Vec<(usize, usize, &'p Step, Evaluated)> {
        let evaluated = self.steps();
        let functions = plan.functions.iter().enumerate();
        let steps = functions.flat_map(|(f, func)| func.steps.iter().enumerate().map(move |(n, step)| (f, n, step)));
        steps.filter_map(|(f, n, step)| Some((f, n, step, *evaluated.get(&(f, step.inst))?))).collect()
    }
}

impl Executable {
    /// The steps that calls evaluated by the reference meanings of their ops, each once, in the plan's
    /// order: those of [`remarks`](Executable::remarks), and those of
    /// [`call_remarks`](Executable::call_remarks). It is empty for
    /// [`Backend::Reference`](super::Backend::Reference), which has no steps.
    pub fn reference_steps(&self) -> Vec<ReferenceStep> {
        let step = |(f, number, step, evaluated): (usize, usize, &Step, Evaluated)| {
            let (func, loc) = self.place(f, step);
            let names = |r: &&Remark| r.instead == Instead::Reference && (r.func, r.op, r.loc) == (func, step.op, loc);
            let planned = self.remarks().iter().find(names).map(|remark| remark.why.clone());
            let why = evaluated.unfit.map(str::to_string).or(planned);
            ReferenceStep { func, step: number, op: step.op, loc, runs: evaluated.runs, why }
        };
        self.inner.by_reference.of(&self.inner.plan).into_iter().map(step).collect()
    }

    /// The steps that have a kernel, or a copy of their own, but that calls ran in another way because
    /// operands did not fit: each once, with the reason.
    pub fn call_remarks(&self) -> Vec<Remark> {
        let by_reference = &self.inner.by_reference;
        let remark = |f: usize, step: &Step, instead: Instead, reason: &str| {
            let (func, loc) = self.place(f, step);
            Remark { func, op: step.op, loc, instead, why: format!("{reason} (found when it was called)") }
        };
        let evaluated = by_reference.of(&self.inner.plan).into_iter();
        let evaluated = evaluated
            .filter_map(|(f, number, step, run)| Some((f, number, remark(f, step, Instead::Reference, run.unfit?))));
        let programs = by_reference.programs();
        let functions = self.inner.plan.functions.iter().enumerate();
        let steps = functions.flat_map(|(f, func)| func.steps.iter().enumerate().map(move |(n, step)| (f, n, step)));
        let points = steps.filter_map(|(f, number, step)| {
            let (reason, codegen) = programs.get(&(f, step.inst))?;
            Some((f, number, remark(f, step, Instead::Loops(codegen), reason)))
        });
        let mut all: Vec<_> = evaluated.chain(points).collect();
        all.sort_by_key(|(f, number, _)| (*f, *number));
        all.into_iter().map(|(.., remark)| remark).collect()
    }

    /// The function of a step, and its source location.
    fn place(&self, function: usize, step: &Step) -> (Name, Loc) {
        let name = self.inner.plan.functions[function].name;
        (name, self.inner.module.get(name).map_or_else(Loc::default, |func| func.inst(step.inst).loc))
    }

    /// Evaluates the whole function by the reference evaluator, for
    /// [`Backend::Reference`](super::Backend::Reference).
    pub(super) fn evaluate(&self, args: &[Arg<'_>]) -> Result<Outcome, EvalError> {
        self.evaluate_data(args.iter().map(Arg::to_datum).collect::<Result<_, _>>()?)
    }

    /// As [`evaluate`](Executable::evaluate), of values.
    pub(super) fn evaluate_data(&self, args: Vec<Datum>) -> Result<Outcome, EvalError> {
        evaluate(&self.inner.module, self.name(), args, self.options.limits)
    }
}

/// The memory of a call, for results of ops that have no kernel.
struct ReusedMemory<'b>(&'b RefCell<Buffers>);

impl Memory for ReusedMemory<'_> {
    fn vector(&self, dtype: DType, len: usize) -> Result<Array, EvalError> {
        let buffer = self.0.borrow_mut().get(dtype, &[len])?;
        // SAFETY: the buffer was obtained for this dtype, and needs no initialized element for an array of
        // none.
        Ok(unsafe { buffer.into_array(dtype, &[0], None) })
    }
}

impl Machine<'_> {
    /// Runs a step by the reference meaning of its op.
    pub(super) fn array(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        eval: ArrayEval,
        why: Why,
    ) -> Result<(), EvalError> {
        self.arrays(act, step, &[(step.inst, eval)], why)
    }

    /// Runs a step by the reference meanings of several instructions. Each takes the results of the previous
    /// one as its operands.
    pub(super) fn arrays(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        insts: &[(Inst, ArrayEval)],
        why: Why,
    ) -> Result<(), EvalError> {
        let mut data = self.data(act, step)?;
        for &(inst, eval) in insts {
            data = self.meaning(act, inst, eval, &data)?;
        }
        self.define(act, step, data.into_iter().map(Held::from).collect())?;
        self.ran_by_reference(act, step, why);
        Ok(())
    }

    /// Records that a step ran by the reference meaning of its op, unless the op has no other
    /// implementation.
    pub(super) fn ran_by_reference(&self, act: &Activation<'_, '_>, step: &Step, why: Why) {
        if !step.op.traits.contains(Traits::DIRECT) {
            self.exec.by_reference.add(act.number, step.inst, why);
        }
    }

    /// The results of an instruction for these operands.
    fn meaning(
        &self,
        act: &Activation<'_, '_>,
        inst: Inst,
        eval: ArrayEval,
        args: &[Datum],
    ) -> Result<Vec<Datum>, EvalError> {
        let data = act.func.inst(inst);
        self.buffers.borrow_mut().stats.reference += u64::from(!data.op.traits.contains(Traits::DIRECT));
        let symbols = act.frame.symbols_by_name(act.plan);
        let types: SmallVec<[Type; 1]> = data.results.iter().map(|&v| act.func.ty(v).clone()).collect();
        let cx = EvalCx {
            attrs: &data.attrs,
            results: &types,
            symbols: &symbols,
            callees: Some(&self.exec.module),
            limits: self.limits,
            steps: &self.steps,
            watch: None,
            memory: Some(&ReusedMemory(&self.buffers)),
        };
        match eval {
            ArrayEval::Op => apply(data.op, &cx, args),
            ArrayEval::Ufunc(callee) => self.ufunc(&cx, callee, args),
        }
    }

    /// Applies a scalar function of the plan element by element.
    fn ufunc(&self, cx: &EvalCx<'_>, callee: usize, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
        let plan = &self.exec.plan.functions[callee];
        let dtypes = Loop {
            ins: plan.params.iter().map(|p| p.ty.dtype()).collect(),
            outs: plan.results.iter().map(Type::dtype).collect(),
        };
        let silent = self.silent.replace(true);
        let mut frame = self.exec.pools[callee].take(plan);
        let results = map_elements(cx, &dtypes, args, |element| self.element(callee, &mut frame, element));
        self.silent.set(silent);
        self.give_back(callee, frame);
        results
    }

    fn element(
        &self,
        callee: usize,
        frame: &mut Frame,
        element: &[rewright_ir::Scalar],
    ) -> Result<rewright_ir::Scalars, EvalError> {
        let plan = &self.exec.plan.functions[callee];
        for (param, &scalar) in plan.params.iter().zip(element) {
            frame.slots[param.slot.0 as usize] = Held::Scalar(scalar);
        }
        self.run(&mut self.activation(callee, frame)?)?;
        frame.results.drain(..).map(|held| held.scalar()).collect()
    }
}
