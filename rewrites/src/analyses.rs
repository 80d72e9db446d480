//! Analyses of a function, computed on demand and cached until a change invalidates them.

use crate::change::Touched;
use crate::match_cx::MatchCx;
use crate::run_state::RunState;
use rewright_ir::analysis::{CallGraph, Dominators, Liveness, Loops, ModuleEffects, predecessors, written_values};
use rewright_ir::op::Effects;
use rewright_ir::{Block, Function, Inst, Module, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use slotmap::SecondaryMap;
use smallvec::SmallVec;
use std::any::{Any, TypeId};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// The `del`s of each value; some may have been removed, or end another value by now.
type Dels = FxHashMap<Value, SmallVec<[Inst; 1]>>;

fn dels(func: &Function) -> Dels {
    let mut found = Dels::default();
    for inst in func.blocks().flat_map(|b| func.insts(b)) {
        let data = func.inst(inst);
        if data.op.effects.contains(Effects::FREES) {
            data.args.iter().for_each(|&value| found.entry(value).or_default().push(inst));
        }
    }
    found
}

/// Analyses of the module: rewritten functions in their new form, the others in their original form.
#[derive(Default)]
pub(crate) struct ModuleAnalyses {
    effects: OnceCell<ModuleEffects>,
    calls: OnceCell<CallGraph>,
}

impl ModuleAnalyses {
    fn effects(&self, module: &Module) -> &ModuleEffects {
        self.effects.get_or_init(|| ModuleEffects::of(module))
    }
    pub fn calls(&self, module: &Module) -> &CallGraph {
        self.calls.get_or_init(|| CallGraph::of(module))
    }
    /// Updates the analyses after a function was rewritten.
    pub fn refresh(&mut self, func: &Function, module: &Module) {
        if let Some(effects) = self.effects.get_mut() {
            effects.refresh(func, module);
        }
        if let Some(calls) = self.calls.get_mut() {
            calls.refresh(func);
        }
    }
}

/// The analyses of one function. The driver makes them; other code may make them to call a rewrite's
/// `matches`.
#[derive(Default)]
pub struct Analyses {
    dominators: OnceCell<Dominators>,
    loops: OnceCell<Loops>,
    predecessors: OnceCell<SecondaryMap<Block, SmallVec<[Block; 2]>>>,
    liveness: OnceCell<Liveness>,
    written: OnceCell<FxHashSet<Value>>,
    module: Rc<ModuleAnalyses>,
    ended: OnceCell<RefCell<Dels>>,
    own: RefCell<FxHashMap<TypeId, Rc<dyn Any>>>,
    /// The state that the functions of the run share.
    pub(crate) run: Rc<RunState>,
}

impl Analyses {
    /// Analyses that share the state of the module and of the run with those of other functions.
    pub(crate) fn sharing(module: Rc<ModuleAnalyses>, run: Rc<RunState>) -> Self {
        Analyses { module, run, ..Analyses::default() }
    }
    pub(crate) fn dominators(&self, func: &Function) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::of(func))
    }
    pub(crate) fn loops(&self, func: &Function) -> &Loops {
        self.loops.get_or_init(|| Loops::of(func, self.dominators(func)))
    }
    pub(crate) fn predecessors(&self, func: &Function, block: Block) -> &[Block] {
        self.predecessors.get_or_init(|| predecessors(func)).get(block).map_or(&[], SmallVec::as_slice)
    }
    pub(crate) fn liveness(&self, func: &Function) -> &Liveness {
        self.liveness.get_or_init(|| Liveness::of(func))
    }
    pub(crate) fn module_effects(&self, module: &Module) -> &ModuleEffects {
        self.module.effects(module)
    }
    pub(crate) fn call_graph(&self, module: &Module) -> &CallGraph {
        self.module.calls(module)
    }
    pub(crate) fn written(&self, func: &Function, module: &Module) -> &FxHashSet<Value> {
        self.written.get_or_init(|| written_values(func, self.module_effects(module)))
    }
    /// The `del`s of a value.
    pub(crate) fn dels(&self, func: &Function, value: Value) -> SmallVec<[Inst; 2]> {
        let ended = self.ended.get_or_init(|| RefCell::new(dels(func))).borrow();
        let there = |&del: &Inst| func.is_linked(del) && func.inst(del).args.contains(&value);
        ended.get(&value).into_iter().flatten().copied().filter(there).collect()
    }
    /// Records an instruction that may be a `del`, with its current operands.
    pub(crate) fn ends(&self, func: &Function, inst: Inst) {
        let data = func.inst(inst);
        if data.op.effects.contains(Effects::FREES)
            && let Some(ended) = self.ended.get()
        {
            let mut ended = ended.borrow_mut();
            for &value in &data.args {
                let list = ended.entry(value).or_default();
                if !list.contains(&inst) {
                    list.push(inst);
                }
            }
        }
    }
    pub(crate) fn own<T: 'static>(&self, cx: &MatchCx<'_>, compute: impl FnOnce(&MatchCx<'_>) -> T) -> Rc<T> {
        let key = TypeId::of::<T>();
        let kept = self.own.borrow().get(&key).cloned().and_then(|kept| kept.downcast::<T>().ok());
        kept.unwrap_or_else(|| {
            let made = Rc::new(compute(cx));
            self.own.borrow_mut().insert(key, made.clone());
            made
        })
    }

    /// Drops the analyses that a change invalidates.
    pub(crate) fn forget(&mut self, func: &Function, module: &Module, touched: &Touched) {
        self.own.borrow_mut().clear();
        self.liveness.take();
        if touched.edges {
            self.dominators.take();
            self.loops.take();
            self.predecessors.take();
        }
        // Removed instructions, such as calls, need not have stored to anything.
        let is_written = |value: &Value| self.written.get().is_some_and(|written| written.contains(value));
        if touched.writers_gone && touched.freed.iter().any(is_written) {
            self.written.take();
        } else if let Some(written) = self.written.get_mut() {
            // A replaced operand may stay in the set, because it has no use left.
            let effects = self.module.effects(module);
            let writes = Effects::WRITES | Effects::CALLS;
            let writers =
                touched.insts.iter().filter(|&&i| func.is_linked(i) && func.inst(i).op.effects.intersects(writes));
            writers.for_each(|&i| written.extend(effects.inst(func, i).writes));
        }
    }
}
