//! The planner: compiles a function to its plan.

mod edges;
mod together;

use super::assemble::Assemble;
use super::backend::CodeGens;
use super::cache::{Ready, compile_by_any};
use super::direction::Direction;
use super::join::Join;
use super::launch::Launch;
use super::layout;
use super::liveness::Liveness;
use super::loop_program::{LoopProgram, ProgramStep};
use super::parts::Update;
use super::pick::Pick;
use super::plan::*;
use super::view::ViewOp;
use super::wrap::{wrap, wrap_store};
use super::wrap_gather::{gathers_elements, wrap_gather};
use super::wrap_reduction::{to_be_equal, wrap_reduction};
use super::{Instead, LowerError, Remark};
use crate::kernel::{KInst, KOp, Kernel};
use crate::lower::program::{columns_read, has_shared_rows};
use crate::lower::{lower, lower_in_order, lower_rolled};
use crate::schedule::{Schedule, ScheduleError};
use indexmap::IndexSet;
use rewright_ir::ops::arrayexpr::ARRAYEXPR;
use rewright_ir::ops::create::CONSTANT;
use rewright_ir::ops::{control, dim, effects, getitem, styled, update};
use rewright_ir::{
    Array, ArrayExpr, Attr, Block, Dim, Eval, Function, Inst, InstData, Module, Name, Scalar, Style, Traits, Type,
    Value, verify_function,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;
use together::packs_bools;

/// Plans a function and its callees.
pub struct Planner<'m> {
    module: &'m Module,
    /// The code generators. Without any, all steps run by their reference meaning.
    codegens: CodeGens,
    changed: FxHashMap<Name, Vec<bool>>,
    /// The functions, in the order of their numbers.
    numbers: IndexSet<Name>,
    /// Remarks on steps that do not run as requested.
    pub remarks: Vec<Remark>,
}

impl<'m> Planner<'m> {
    /// A planner for the functions of a module.
    pub fn new(module: &'m Module, codegens: CodeGens) -> Self {
        Planner { module, codegens, changed: changed_params(module), numbers: IndexSet::new(), remarks: Vec::new() }
    }

    /// Plans `name` first, and then its callees.
    pub fn plan(&mut self, name: Name) -> Result<Plan, LowerError> {
        self.numbers.insert(name);
        let mut functions = Vec::new();
        while let Some(&name) = self.numbers.get_index(functions.len()) {
            let func = self.module.get(name).ok_or(LowerError::NoFunction { name })?;
            if func.untyped {
                let message = format!("`@{name}` is untyped: it must go through type inference before it is compiled");
                return Err(LowerError::Invalid { message });
            }
            // Memory safety rests on verification: it ensures that values are of their types.
            verify_function(func, Some(self.module)).map_err(|e| LowerError::Invalid { message: e.to_string() })?;
            let changed = self.changed.get(&name).cloned().unwrap_or_default();
            functions.push(FuncPlanner::new(self, func, changed).plan()?);
        }
        Ok(Plan { functions })
    }
}

/// For each function, the parameters that it stores to, itself or through calls.
fn changed_params(module: &Module) -> FxHashMap<Name, Vec<bool>> {
    let mut changed: FxHashMap<Name, Vec<bool>> =
        module.functions().map(|f| (f.name, vec![false; f.params().len()])).collect();
    // Only these functions can write; they are collected once, before the fixed point.
    let writers: Vec<(&Function, Vec<&InstData>)> = module
        .functions()
        .map(|func| {
            let insts = func.blocks().flat_map(|b| func.insts(b)).map(|i| func.inst(i));
            (func, insts.filter(|d| d.op == effects::STORE || d.op == effects::CALL).collect())
        })
        .collect();
    loop {
        let mut grew = false;
        for (func, insts) in &writers {
            let values: Vec<Value> = insts.iter().flat_map(|data| written(data, &changed)).collect();
            for value in values {
                let Some(index) = func.params().iter().position(|&p| p == value) else { continue };
                if let Some(flag) = changed.get_mut(&func.name).and_then(|list| list.get_mut(index)) {
                    grew |= !std::mem::replace(flag, true);
                }
            }
        }
        if !grew {
            return changed;
        }
    }
}

/// The operands that an instruction writes to.
fn written(data: &InstData, changed: &FxHashMap<Name, Vec<bool>>) -> Vec<Value> {
    if data.op == effects::STORE {
        return data.args.first().copied().into_iter().collect();
    }
    let flags = data.attrs.func("callee").and_then(|f| changed.get(&f));
    data.args.iter().zip(flags.into_iter().flatten()).filter(|(_, c)| **c).map(|(&v, _)| v).collect()
}

/// The reason for which an instruction has no kernel.
enum NoLaunch {
    /// A kernel is not possible: the reason.
    None(String),
    /// The given schedule does not fit the instruction.
    Wrong(ScheduleError),
}

impl From<String> for NoLaunch {
    fn from(why: String) -> Self {
        NoLaunch::None(why)
    }
}

/// Plans one function.
struct FuncPlanner<'p, 'm> {
    planner: &'p mut Planner<'m>,
    func: &'m Function,
    live: Liveness,
    changed: Vec<bool>,
    symbols: IndexSet<Name>,
    slots: FxHashMap<Value, Slot>,
    count: u32,
    /// The slots of dead values of the current block.
    spare: Vec<Slot>,
    constants: Vec<(Slot, Scalar)>,
    steps: Vec<Step>,
    starts: FxHashMap<Block, usize>,
    /// The number of remaining uses in the current block.
    left: FxHashMap<Value, u32>,
    /// The values that the current block returns, with their positions.
    exits: FxHashMap<Value, u32>,
    direction: Direction,
}

impl<'p, 'm> FuncPlanner<'p, 'm> {
    fn new(planner: &'p mut Planner<'m>, func: &'m Function, changed: Vec<bool>) -> Self {
        // A changed parameter is live at the end, since callers see it.
        let kept: Vec<Value> = func.params().iter().zip(&changed).filter(|(_, c)| **c).map(|(&v, _)| v).collect();
        FuncPlanner {
            planner,
            func,
            live: Liveness::new(func, &kept),
            changed,
            symbols: IndexSet::new(),
            slots: FxHashMap::default(),
            count: 0,
            spare: Vec::new(),
            constants: Vec::new(),
            steps: Vec::new(),
            starts: FxHashMap::default(),
            left: FxHashMap::default(),
            exits: FxHashMap::default(),
            direction: Direction::default(),
        }
    }

    fn plan(mut self) -> Result<FuncPlan, LowerError> {
        let func = self.func;
        let blocks = self.live.blocks.clone();
        // Parameters first: a block parameter has the same slot on all edges to its block.
        for &block in &blocks {
            for &param in func.block_params(block) {
                self.fresh(param);
            }
        }
        let params = func.params().iter().map(|&v| self.def(v)).collect();
        for &block in &blocks {
            self.plan_block(block)?;
        }
        layout::choose(&mut self.steps);
        // Until here, an edge refers to its target by the index of the block in the list.
        for step in &mut self.steps {
            for edge in step.edges_mut() {
                edge.to = self.starts[&blocks[edge.to]];
            }
        }
        Ok(FuncPlan {
            name: func.name,
            loc: func.loc,
            params,
            changed: self.changed,
            results: func.results.clone(),
            symbols: self.symbols.into_iter().collect(),
            slots: self.count,
            constants: self.constants,
            steps: self.steps,
        })
    }

    // --- Slots
    // ------------------------------------------------------------------------------------------------

    /// A new slot for a value.
    fn fresh(&mut self, value: Value) -> Slot {
        let slot = Slot(self.count);
        self.count += 1;
        self.slots.insert(value, slot);
        slot
    }

    /// The slot of a value, or a new slot, for a constant too.
    fn slot(&mut self, value: Value) -> Slot {
        if let Some(&slot) = self.slots.get(&value) {
            return slot;
        }
        let slot = self.fresh(value);
        if let Some(scalar) = self.func.as_const(value) {
            self.constants.push((slot, scalar));
        }
        slot
    }

    /// The definition of a value, in a spare slot if the value does not cross blocks.
    fn define(&mut self, value: Value) -> Def {
        if !self.live.crosses(value)
            && let Some(slot) = self.spare.pop()
        {
            self.slots.insert(value, slot);
        }
        self.def(value)
    }

    fn def(&mut self, value: Value) -> Def {
        let ty = self.func.ty(value).clone();
        Def { slot: self.slot(value), value, dims: self.dims(&ty), ty }
    }

    fn dims(&mut self, ty: &Type) -> SmallVec<[DimCheck; 4]> {
        let check = |dim: &Dim| match *dim {
            Dim::Any => DimCheck::Any,
            Dim::Const(n) => DimCheck::Const(n),
            Dim::Sym(name) => DimCheck::Symbol(self.symbols.insert_full(name).0 as u32),
        };
        ty.dims().iter().map(check).collect()
    }

    /// Counts the uses by an instruction, and returns the values that die with it, each once.
    fn dying(&mut self, block: Block, values: impl Iterator<Item = Value>) -> SmallVec<[Value; 4]> {
        let mut dead = SmallVec::new();
        for value in values {
            if self.func.as_const(value).is_some() {
                continue;
            }
            if let Some(left) = self.left.get_mut(&value) {
                *left -= 1;
                if *left == 0 && !self.live.at_end(block, value) {
                    dead.push(value);
                }
            }
        }
        dead
    }

    /// Makes the slots of dead values spare, and returns the slots that hold arrays.
    fn release(&mut self, dead: &[Value]) -> Slots {
        let mut free = Slots::new();
        for &value in dead {
            let slot = self.slots[&value];
            // Block parameters keep their slots, since branches write them early.
            if !self.live.crosses(value) && self.func.def_inst(value).is_some() {
                self.spare.push(slot);
            }
            if self.func.ty(value).is_array() {
                free.push(slot);
            }
        }
        free
    }

    fn param_index(&self, value: Value) -> Option<u32> {
        self.func.params().iter().position(|&p| p == value).map(|i| i as u32)
    }

    // --- Blocks
    // -----------------------------------------------------------------------------------------------

    fn plan_block(&mut self, block: Block) -> Result<(), LowerError> {
        let func = self.func;
        self.starts.insert(block, self.steps.len());
        self.spare.clear();
        self.left.clear();
        self.exits.clear();
        for inst in func.insts(block) {
            if func.inst(inst).op == control::RET {
                let results = func.inst(inst).args.iter().enumerate();
                self.exits.extend(results.map(|(position, &value)| (value, position as u32)));
            }
            for value in func.inst(inst).uses() {
                *self.left.entry(value).or_insert(0) += 1;
            }
        }
        let insts: Vec<Inst> = func.insts(block).collect();
        // A producer that is fused with the store, the packing or the `update` that uses its result.
        let mut late = None;
        for (at, &inst) in insts.iter().enumerate() {
            let data = func.inst(inst);
            if data.op.is_terminator() {
                let args = data.args.iter().map(|&v| self.slot(v)).collect();
                let kind = self.terminator(block, data)?;
                self.steps.push(Step {
                    kind,
                    op: data.op,
                    inst,
                    args,
                    defs: SmallVec::new(),
                    free: Slots::new(),
                    fills_part: false,
                });
            } else if let Some(maker) = late.take_if(|_| packs_bools(data)) {
                self.packed(block, maker, inst)?;
            } else if let Some(maker) = late.take_if(|_| data.op == update::UPDATE) {
                self.fill_part(block, maker, inst)?;
            } else if self.is_fused_with_user(block, &insts[at..]) {
                late = Some(inst);
            } else if let Some(maker) = late.take_if(|_| data.op == effects::STORE) {
                self.assign(block, maker, inst)?;
            } else {
                self.tell_if_apart(data);
                self.alone(block, inst)?;
            }
        }
        Ok(())
    }

    /// Plans an instruction as a step of its own.
    fn alone(&mut self, block: Block, inst: Inst) -> Result<(), LowerError> {
        let data = self.func.inst(inst);
        let dead = self.dying(block, data.args.iter().copied());
        let kind = self.inst(data, &dead)?;
        self.push(block, inst, kind, dead);
        Ok(())
    }

    /// Appends the step of an instruction, after which the values `dead` die.
    fn push(&mut self, block: Block, inst: Inst, kind: StepKind, dead: SmallVec<[Value; 4]>) {
        let results = self.func.inst(inst).results.iter().copied().collect();
        self.push_with(block, inst, results, kind, dead);
    }

    /// As [`push`](FuncPlanner::push), for a step with these results.
    fn push_with(
        &mut self,
        block: Block,
        inst: Inst,
        results: SmallVec<[Value; 2]>,
        kind: StepKind,
        mut dead: SmallVec<[Value; 4]>,
    ) {
        let data = self.func.inst(inst);
        let args = data.args.iter().map(|&v| self.slot(v)).collect();
        let defs = results.iter().map(|&v| self.define(v)).collect();
        dead.extend(results.iter().copied().filter(|v| !self.left.contains_key(v) && !self.live.at_end(block, *v)));
        let free = self.release(&dead);
        if !matches!(kind, StepKind::Free) || !free.is_empty() {
            self.steps.push(Step { kind, op: data.op, inst, args, defs, free, fills_part: false });
        }
    }

    /// Whether an instruction computes a new array, and not a part or a view of another one.
    fn makes_elements(&self, data: &InstData) -> bool {
        let dense = |v: &Value| self.func.ty(*v).style().is_none();
        let &[result] = &data.results[..] else { return false };
        if !(self.func.ty(result).is_array() && data.args.iter().chain([&result]).all(dense)) {
            return false;
        }
        match data.op.eval {
            Eval::Elementwise { .. } => true,
            Eval::Array(_) => {
                let (ty, of) = (self.func.ty(result), data.args.first().map(|&v| self.func.ty(v)));
                let view = of.is_some_and(|of| ViewOp::of(data.op, &data.attrs, of, |_| SmallVec::new(), ty).is_some());
                !view && self.part(data, &data.args).is_none() && self.copied(data).is_none()
            }
            Eval::Control => data.op == effects::UFUNC,
        }
    }

    /// The step kind of an instruction that is no terminator. `dead` are its operands that die.
    fn inst(&mut self, data: &InstData, dead: &[Value]) -> Result<StepKind, LowerError> {
        let types: SmallVec<[_; 4]> = data.args.iter().map(|&v| self.func.ty(v).dtype()).collect();
        Ok(match data.op.eval {
            Eval::Elementwise { resolve, scalar } if data.args.iter().all(|&v| self.func.ty(v).is_scalar()) => {
                let found = resolve(&types, &data.attrs).map_err(|why| self.refuse(data, &why))?;
                StepKind::Scalar(ScalarStep { scalar, attrs: data.attrs.clone(), ins: found.ins })
            }
            Eval::Array(_) if data.op.traits.contains(Traits::DIRECT) => StepKind::Array(ArrayEval::Op),
            Eval::Array(_)
                if data.op == CONSTANT
                    && let Some(Attr::Array(array)) = data.attrs.get("value") =>
            {
                StepKind::Constant(Array::clone(array))
            }
            Eval::Array(_) if let Some(view) = self.view(data) => StepKind::View(view),
            Eval::Array(_) if let Some(part) = self.part(data, dead) => self.told_of_casts(data, part),
            Eval::Array(_) if let Some(copied) = self.copied(data) => self.told_of_casts(data, copied),
            Eval::Elementwise { .. } | Eval::Array(_) => self.kernel(data, Meaning::Array(ArrayEval::Op))?,
            Eval::Control if data.op == effects::CALL => StepKind::Call(Box::new(self.call(data, dead)?)),
            Eval::Control if data.op == effects::UFUNC => {
                let meaning = Meaning::Array(ArrayEval::Ufunc(self.callee(data)?));
                self.kernel(data, meaning)?
            }
            Eval::Control if data.op == effects::STORE => {
                let param = data.args.first().and_then(|&v| self.param_index(v));
                self.kernel(data, Meaning::Store(param))?
            }
            Eval::Control if data.op == effects::DEL => StepKind::Free,
            Eval::Control if data.op == effects::PRINT => StepKind::Print(data.attrs.str("label").map(str::to_string)),
            Eval::Control => return Err(self.refuse(data, "no plan can have this op")),
        })
    }

    /// The kernel of an instruction. Without one, a remark, and a step that runs a loop program or the
    /// reference meaning.
    fn kernel(&mut self, data: &InstData, meaning: Meaning) -> Result<StepKind, LowerError> {
        let schedule = match data.attrs.str("schedule").filter(|_| data.op == ARRAYEXPR) {
            Some(text) => Some(text.parse().map_err(|why: ScheduleError| self.refuse(data, &why.to_string()))?),
            None => None,
        };
        let expr = match self.expression(data, meaning) {
            Ok(expr) => expr,
            Err(why) => {
                self.remark(data, Instead::Reference, &why);
                return Ok(by_meaning(meaning));
            }
        };
        let types: Vec<Type> = data.args.iter().map(|&v| self.func.ty(v).clone()).collect();
        let program = LoopProgram::new(Arc::clone(&expr), types.clone(), self.planner.codegens.clone());
        let (is_scheduled, has_codegen) = (schedule.is_some(), !self.planner.codegens.is_empty());
        if let Meaning::Array(meaning) = meaning
            && !is_scheduled
            && has_codegen
            && has_shared_rows(&expr, &types)
        {
            return Ok(self.program(data, program, meaning));
        }
        Ok(match self.launch(data, &expr, &types, schedule) {
            Err(NoLaunch::Wrong(why)) => return Err(self.refuse(data, &why.to_string())),
            Ok(launch) => {
                let (exits, equal) = (self.array_exits(data), to_be_equal(self.func, data));
                let is_free = matches!(meaning, Meaning::Array(_)) && !is_scheduled && !self.is_fed(data);
                let columns = if is_free && has_codegen { columns_read(&expr) } else { SmallVec::new() };
                StepKind::Kernel(Box::new(KernelStep {
                    launch,
                    exits,
                    equal,
                    row_major: false,
                    program,
                    columns,
                    meaning,
                }))
            }
            Err(NoLaunch::None(why)) => match (meaning, program.codegen()) {
                (Meaning::Array(eval), Ok(codegen)) => {
                    let ignored = if is_scheduled { "; its schedule is ignored" } else { "" };
                    self.remark(data, Instead::Loops(codegen), &format!("{why}{ignored}"));
                    self.program(data, program, eval)
                }
                (_, refused) => {
                    let why = refused.err().map_or(why.clone(), |refused| format!("{why}; {refused}"));
                    self.remark(data, Instead::Reference, &why);
                    by_meaning(meaning)
                }
            },
        })
    }

    /// Whether an operand is computed point by point, so that a kernel of rows may share bands with its
    /// kernel.
    fn is_fed(&self, data: &InstData) -> bool {
        let makers = data.args.iter().filter_map(|&value| self.func.def_inst(value)).map(|inst| self.func.inst(inst));
        let is_array = |value: &Value| self.func.ty(*value).is_array();
        { makers }.any(|maker| match maker.attrs.expr() {
            Some(expr) => expr.reductions.is_empty(),
            None => matches!(maker.op.eval, Eval::Elementwise { .. }) && maker.results.iter().any(is_array),
        })
    }

    /// The step that runs the loop program of an instruction.
    fn program(&self, data: &InstData, program: LoopProgram, meaning: ArrayEval) -> StepKind {
        let (exits, equal) = (self.array_exits(data), to_be_equal(self.func, data));
        StepKind::Program(Box::new(ProgramStep { program, exits, equal, meaning }))
    }

    /// For each result, its position among the function's results, if the block ends by returning it. A
    /// scalar has none: it is loaded from its buffer, so it can't be computed in the caller's buffer.
    fn array_exits<E: FromIterator<Option<u32>>>(&self, data: &InstData) -> E {
        let exit = |v: &Value| self.exits.get(v).copied().filter(|_| self.func.ty(*v).is_array());
        data.results.iter().map(exit).collect()
    }

    /// The expression that an instruction computes, or the reason for which there is none. Except for a
    /// store, it names an operand that the instruction has twice by its first number.
    fn expression(&self, data: &InstData, meaning: Meaning) -> Result<Arc<ArrayExpr>, String> {
        let first = |arg: u32| data.args.iter().position(|&v| v == data.args[arg as usize]).map_or(arg, |n| n as u32);
        let mut expr = self.expression_of(data, meaning)?;
        let is_store = matches!(meaning, Meaning::Store(_));
        if !is_store && (0..data.args.len() as u32).any(|arg| first(arg) != arg) {
            Arc::make_mut(&mut expr).rename_args(first);
        }
        Ok(expr)
    }

    fn expression_of(&self, data: &InstData, meaning: Meaning) -> Result<Arc<ArrayExpr>, String> {
        Ok(match (meaning, data.attrs.expr()) {
            (Meaning::Store(_), _) => Arc::new(wrap_store(self.func, data)?),
            (_, Some(expr)) if data.op == ARRAYEXPR => Arc::clone(expr),
            _ if gathers_elements(self.func, data) => Arc::new(wrap_gather(self.func, data)?),
            _ => Arc::new(match wrap_reduction(self.func, data) {
                Some(reduction) => reduction?,
                None => wrap(self.planner.module, self.func, data)?,
            }),
        })
    }

    /// The position of an instruction's first result among the function's results, if the block ends by
    /// returning it.
    fn exit(&self, data: &InstData) -> Option<u32> {
        data.results.first().and_then(|result| self.exits.get(result)).copied()
    }

    /// The compiled kernel of an instruction, or the reason for which there is none.
    fn launch(
        &mut self,
        data: &InstData,
        expr: &ArrayExpr,
        types: &[Type],
        schedule: Option<Schedule>,
    ) -> Result<Launch, NoLaunch> {
        let lowered = match schedule.as_ref().and_then(|schedule| schedule.order.as_ref()) {
            Some(order) => lower_in_order(expr, types, order),
            None if schedule.is_some() => lower_rolled(expr, types),
            None => lower(expr, types),
        };
        let mut lowered = lowered.map_err(|e| e.reason)?;
        if let Some(schedule) = schedule {
            lowered = lowered.with_schedule(schedule).map_err(NoLaunch::Wrong)?;
        }
        let arrays = data.args.iter().copied().filter(|&v| self.func.ty(v).is_array());
        lowered.kernel.wishes.backwards = self.direction.is_back(&lowered.kernel, arrays);
        let Ready { codegen, compiled, refused } = compile_by_any(&self.planner.codegens, &lowered.kernel)?;
        if let Some(why) = refused {
            self.remark(data, Instead::CodeGen(codegen.name()), &why);
        }
        let calls = called(&lowered.kernel);
        if !calls.is_empty() && lowered.kernel.axes > 0 {
            self.remark(data, Instead::Calls, &format!("there are no vector instructions for {}", calls.join(", ")));
        }
        Ok(Launch::new(lowered, codegen, compiled))
    }

    fn view(&mut self, data: &InstData) -> Option<ViewOp> {
        let (&[arg], &[result]) = (&data.args[..], &data.results[..]) else { return None };
        let (ty, result) = (self.func.ty(arg), self.func.ty(result));
        let mut view = ViewOp::of(data.op, &data.attrs, ty, |ty| self.dims(ty), result)?;
        if let ViewOp::Reshape(reshape) = &mut view {
            reshape.exit = self.exit(data);
        }
        Some(view)
    }

    /// The steps that read or update arrays at positions.
    fn part(&self, data: &InstData, dead: &[Value]) -> Option<StepKind> {
        let (&first, rest) = data.args.split_first()?;
        let ty = self.func.ty(first);
        if data.op == styled::COMPONENT || data.op == styled::ASSEMBLE {
            return self.styled(data, ty);
        }
        if ty.style().is_some() && data.op != dim::DIM {
            None
        } else if data.op == getitem::GETITEM {
            Some(StepKind::GetItem)
        } else if data.op == dim::DIM {
            let axis = data.attrs.int("axis")?;
            let axis = if axis < 0 { axis + ty.rank() as i64 } else { axis };
            usize::try_from(axis).ok().map(StepKind::Dim)
        } else if data.op == update::UPDATE {
            let slices = data.attrs.slices("at").unwrap_or_default().into();
            let in_place = dead.contains(&first) && !rest.contains(&first);
            Some(StepKind::Update(Update { slices, in_place, exit: self.exit(data) }))
        } else {
            None
        }
    }

    /// The step that extracts a component of an array of a storage style, or that assembles such an array.
    fn styled(&self, data: &InstData, first: &Type) -> Option<StepKind> {
        if data.op == styled::ASSEMBLE {
            let ty = self.func.ty(*data.results.first()?);
            return ty
                .style()
                .and_then(|name| Style::named(name).ok())
                .map(|style| StepKind::Assemble(Assemble::new(style)));
        }
        let style = Style::named(first.style()?).ok()?;
        let all = (style.def().components)(first).ok()?;
        let name = data.attrs.str("name")?;
        all.iter().position(|component| component.name == name).map(StepKind::Component)
    }

    /// The steps that concatenate arrays, or that gather elements at positions.
    fn copied(&self, data: &InstData) -> Option<StepKind> {
        if data.args.iter().chain(&data.results).any(|&v| self.func.ty(v).style().is_some()) {
            return None;
        }
        // Code generators have their own loops for elements.
        if !self.planner.codegens.is_empty() && gathers_elements(self.func, data) {
            return None;
        }
        let exit = self.exit(data);
        Join::of(data, exit).map(StepKind::Join).or_else(|| Pick::of(data, exit).map(StepKind::Pick))
    }

    /// Returns a step. Adds a remark if it casts arrays, which no kernel does.
    fn told_of_casts(&mut self, data: &InstData, step: StepKind) -> StepKind {
        let parts = match &step {
            StepKind::Update(_) => data.args.get(..2).unwrap_or_default(),
            StepKind::Join(_) => &data.args[..],
            _ => &[],
        };
        let dtype = data.results.first().map(|&result| self.func.ty(result).dtype());
        let casts = |&part: &Value| self.func.ty(part).is_array() && Some(self.func.ty(part).dtype()) != dtype;
        if parts.iter().any(casts) {
            self.remark(
                data,
                Instead::Reference,
                "operands of other dtypes are cast first: `operand-casts` makes that `cast`s",
            );
        }
        step
    }

    /// The number of the function that an instruction calls.
    fn callee(&mut self, data: &InstData) -> Result<usize, LowerError> {
        let name = data.attrs.func("callee").ok_or_else(|| self.refuse(data, "names no function"))?;
        if self.planner.module.get(name).is_none() {
            return Err(LowerError::NoFunction { name });
        }
        Ok(self.planner.numbers.insert_full(name).0)
    }

    fn call(&mut self, data: &InstData, dead: &[Value]) -> Result<CallStep, LowerError> {
        let callee = self.callee(data)?;
        let name = self.planner.numbers[callee];
        let changed = self.planner.changed.get(&name).cloned().unwrap_or_default();
        let arg = |(i, &value): (usize, &Value)| {
            let shared = data.args.iter().filter(|&&v| v == value).count() > 1;
            let back = changed.get(i).copied().unwrap_or(false);
            let owned = self.func.as_const(value).is_none();
            let take = owned && !shared && (back || dead.contains(&value));
            CallArg { take, back, param: self.param_index(value), shared }
        };
        Ok(CallStep { callee, args: data.args.iter().enumerate().map(arg).collect() })
    }

    fn remark(&mut self, data: &InstData, instead: Instead, why: &str) {
        let why = why.to_string();
        self.planner.remarks.push(Remark { func: self.func.name, op: data.op, loc: data.loc, instead, why });
    }

    fn refuse(&self, data: &InstData, why: &str) -> LowerError {
        LowerError::Invalid { message: format!("`@{}`, `{}` at {}: {why}", self.func.name, data.op, data.loc) }
    }
}

/// The step that computes by the reference meaning.
fn by_meaning(meaning: Meaning) -> StepKind {
    match meaning {
        Meaning::Store(param) => StepKind::Store(param),
        Meaning::Array(eval) | Meaning::Assign(eval, _) | Meaning::Packed(eval, _) => StepKind::Array(eval),
    }
}

/// The functions that a kernel calls for each element.
fn called(kernel: &Kernel) -> Vec<String> {
    let name = |inst: &KInst| match &inst.op {
        KOp::Math(call) => Some(call.name),
        KOp::Reference(call) => Some(call.op.name),
        _ => None,
    };
    let names: IndexSet<&str> = kernel.insts.iter().filter_map(name).collect();
    names.iter().map(|name| format!("`{name}`")).collect()
}
