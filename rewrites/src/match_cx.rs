//! The context that `matches` reads.

use crate::analyses::Analyses;
use crate::def::RewriteEntry;
use crate::options::Options;
use crate::rule::Liberties;
use crate::target::Target;
use crate::value_facts::ValueFacts;
use rewright_ir::analysis::{CallGraph, Dominators, InstEffects, Liveness, Loops, ModuleEffects};
use rewright_ir::op::Effects;
use rewright_ir::{Block, DType, Function, Inst, Module, Scalar, Signature, Value, ValueDef};
use smallvec::SmallVec;
use std::rc::Rc;

/// The function, the module around it, and analyses, which are computed on demand and cached until the
/// function changes.
#[derive(Clone, Copy)]
pub struct MatchCx<'a> {
    func: &'a Function,
    module: &'a Module,
    analyses: &'a Analyses,
}

impl<'a> MatchCx<'a> {
    /// A context for a function of a module. `module` holds the function's callees; of the function's own
    /// entry there, only the signature is used.
    pub fn new(func: &'a Function, module: &'a Module, analyses: &'a Analyses) -> Self {
        MatchCx { func, module, analyses }
    }
    /// The function.
    pub fn func(&self) -> &'a Function {
        self.func
    }
    /// The module, for callees.
    pub fn module(&self) -> &'a Module {
        self.module
    }
    /// The signature of the function that an instruction calls or applies.
    pub fn callee(&self, inst: Inst) -> Option<Signature> {
        self.func.inst(inst).attrs.func("callee").and_then(|name| self.module.signature(name))
    }

    /// The dominator tree. Cached until branches change.
    pub fn dominators(&self) -> &'a Dominators {
        self.analyses.dominators(self.func)
    }
    /// The loops. Cached until branches change.
    pub fn loops(&self) -> &'a Loops {
        self.analyses.loops(self.func)
    }
    /// The predecessors of a block, with duplicates. Cached until branches change.
    pub fn predecessors(&self, block: Block) -> &'a [Block] {
        self.analyses.predecessors(self.func, block)
    }
    /// The liveness of values. Cached until anything changes: a rewrite that uses it at every instruction
    /// takes quadratic time.
    pub fn liveness(&self) -> &'a Liveness {
        self.analyses.liveness(self.func)
    }
    /// The effects of every function of the module.
    pub fn module_effects(&self) -> &'a ModuleEffects {
        self.analyses.module_effects(self.module)
    }
    /// The call graph of the module.
    pub fn call_graph(&self) -> &'a CallGraph {
        self.analyses.call_graph(self.module)
    }
    /// A rewrite's own analysis, by its type. Cached until anything changes.
    ///
    /// A block rewrite that plans for the whole function computes the plan here. The first block that it is
    /// tried at pays for the plan. If the rewrite applies the whole plan at once, so does the first block
    /// after that.
    pub fn cached<T: 'static>(&self, compute: impl FnOnce(&MatchCx<'_>) -> T) -> Rc<T> {
        self.analyses.own(self, compute)
    }

    /// The options of the run.
    pub fn options(&self) -> &'a Options {
        &self.analyses.run.options
    }
    /// The ways in which results may differ.
    pub fn liberties(&self) -> Liberties {
        self.options().liberties
    }
    /// The code generator and the instruction set that the function is compiled for, as far as the caller
    /// states them.
    pub fn target(&self) -> &'a Target {
        &self.options().target
    }
    /// The rules that a rewrite may apply itself in this run, as equality saturation does: those of the
    /// pipeline's registry, without opt-in rules that the pipeline does not name and without rules that it
    /// removes. Some may take liberties that are not granted.
    pub fn rules(&self) -> &'a [RewriteEntry] {
        &self.analyses.run.rules
    }
    /// A rewrite's own state, by its type, that lasts from one function of the run to the next: statistics,
    /// or tables derived from the rules. It must not decide which rewrites match.
    pub fn kept_in_run<T: Default + 'static>(&self) -> Rc<T> {
        self.analyses.run.kept()
    }

    /// The effects of an instruction, including those of calls.
    pub fn effects(&self, inst: Inst) -> InstEffects {
        if self.func.inst(inst).op.effects.is_empty() {
            return InstEffects::default();
        }
        self.module_effects().inst(self.func, inst)
    }
    /// True if the instruction only computes results; also for calls of functions without effects.
    #[inline]
    pub fn is_pure(&self, inst: Inst) -> bool {
        self.func.inst(inst).op.is_pure() || self.is_pure_call(inst)
    }
    fn is_pure_call(&self, inst: Inst) -> bool {
        let op = self.func.inst(inst).op;
        op.effects == Effects::CALLS && !op.is_terminator() && self.effects(inst).is_pure()
    }
    /// True if some instruction may store to the value, so that its content depends on when it is read.
    /// Cached until an instruction with effects changes.
    pub fn is_written(&self, value: Value) -> bool {
        self.analyses.written(self.func, self.module).contains(&value)
    }

    /// True if some `del` ends the value, so that it can't be read everywhere its definition reaches. Kept
    /// up to date.
    pub fn is_ended(&self, value: Value) -> bool {
        !self.analyses.dels(self.func, value).is_empty()
    }

    /// The constant, if an operand is one.
    pub fn operand_const(&self, inst: Inst, operand: usize) -> Option<Scalar> {
        self.func.inst(inst).args.get(operand).and_then(|&v| self.func.as_const(v))
    }
    /// The instruction that defines an operand, if its op has this name.
    pub fn operand_op(&self, inst: Inst, operand: usize, op: &str) -> Option<Inst> {
        let def = self.func.inst(inst).args.get(operand).and_then(|&v| self.func.def_inst(v))?;
        (self.func.inst(def).op.name == op).then_some(def)
    }
    /// True if the value's definition dominates the instruction.
    pub fn reaches(&self, value: Value, inst: Inst) -> bool {
        let (func, home) = (self.func, self.func.block_of(inst));
        match func.def(value) {
            ValueDef::Const(_) => true,
            ValueDef::Param(block, _) if Some(block) == home => true,
            ValueDef::Result(def, _) if func.block_of(def) == home => func.comes_before(def, inst),
            _ => self.dominators().value_dominates(func, value, inst),
        }
    }
    /// True if [`Rewriter::replace`](crate::Rewriter::replace) would accept these values for the
    /// instruction's results. Their number has to agree, each has the same or a more precise type and
    /// dominates the instruction, and nothing stores to old or new values.
    pub fn can_replace(&self, inst: Inst, values: &[Value]) -> bool {
        let results = &self.func.inst(inst).results;
        results.len() == values.len()
            && results.iter().zip(values).all(|(&old, &new)| {
                self.func.ty(new).refines(self.func.ty(old))
                    && self.reaches(new, inst)
                    && !self.is_written(old)
                    && !self.is_written(new)
            })
    }
    /// True if a block is reachable.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.dominators().is_reachable(block)
    }
}

impl ValueFacts {
    /// The facts about a value, from at most `depth` definitions. The definition of a value that is stored
    /// to gives no facts.
    pub fn of_value(cx: &MatchCx<'_>, value: Value, depth: u8) -> ValueFacts {
        let func = cx.func();
        let dtype = func.ty(value).dtype();
        if let Some(scalar) = func.as_const(value) {
            return ValueFacts::of_scalar(scalar);
        }
        let Some(inst) = func.def_inst(value).filter(|_| depth > 0 && !cx.is_written(value)) else {
            return ValueFacts::of_dtype(dtype);
        };
        let data = func.inst(inst);
        let dtypes: SmallVec<[DType; 3]> = data.args.iter().map(|&arg| func.ty(arg).dtype()).collect();
        let args: SmallVec<[ValueFacts; 3]> =
            data.args.iter().map(|&arg| ValueFacts::of_value(cx, arg, depth - 1)).collect();
        let same = data.args.iter().all(|arg| *arg == data.args[0]);
        ValueFacts::of_op(data.op, &dtypes, dtype, &args, same)
    }
}
