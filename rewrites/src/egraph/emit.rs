//! Converts a choice of nodes back to instructions: first plans on the unchanged function, then applies the
//! plan.
//!
//! An instruction whose node was chosen keeps its name and position. New instructions stand directly before
//! their first use. Instructions outside of the graph keep their order, and every value is defined before it
//! is used.

use super::extract::{Class, Problem, Solution};
use super::node::{Const, Head};
use super::region::Region;
use crate::error::RewriteError;
use crate::rewriter::{Point, Rewriter};
use rewright_ir::{Attrs, Function, Inst, Loc, Op, Scalar, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The value that represents a class.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Value(Value),
    Constant(Scalar),
    /// The result of a new instruction, by its number.
    New(usize),
}

#[derive(Debug)]
enum EmitStep {
    New { before: Inst, op: Op, args: SmallVec<[Source; 3]>, attrs: Attrs, loc: Loc },
    Move { inst: Inst, before: Inst },
}

/// The changes of a block.
#[derive(Debug, Default)]
pub(crate) struct EmitPlan {
    steps: Vec<EmitStep>,
    /// Values and their replacements.
    replaced: Vec<(Value, Source)>,
    erased: Vec<Inst>,
}

/// A value is needed before its operands are defined.
pub(crate) struct OutOfOrder;

/// Plans a block that computes the chosen nodes.
pub(crate) fn plan(
    func: &Function,
    part: &[Inst],
    region: &Region,
    problem: &Problem,
    solution: &Solution,
) -> Result<EmitPlan, OutOfOrder> {
    let mut planner = EmitPlanner {
        func,
        region,
        problem,
        solution,
        keepers: FxHashMap::default(),
        locs: FxHashMap::default(),
        passed: FxHashSet::default(),
        done: vec![None; problem.classes.len()],
        plan: EmitPlan::default(),
        made: 0,
        part,
    };
    planner.find_keepers();
    planner.walk()?;
    planner.finish();
    Ok(planner.plan)
}

struct EmitPlanner<'a> {
    func: &'a Function,
    /// The walk begins at the first and ends at the last of these.
    part: &'a [Inst],
    region: &'a Region,
    problem: &'a Problem,
    solution: &'a Solution,
    /// The instruction that computes a class's chosen node.
    keepers: FxHashMap<Class, Inst>,
    /// The location of the original instruction of a class.
    locs: FxHashMap<Class, Loc>,
    /// Instructions that the walk has passed: their results are available.
    passed: FxHashSet<Inst>,
    done: Vec<Option<Source>>,
    plan: EmitPlan,
    made: usize,
}

impl EmitPlanner<'_> {
    fn class(&self, value: Value) -> Option<Class> {
        self.problem.of(&self.region.graph, *self.region.ids.get(&value)?)
    }

    fn find_keepers(&mut self) {
        for &inst in &self.region.insts {
            let data = self.func.inst(inst);
            let Some(class) = self.class(data.results[0]) else { continue };
            self.locs.entry(class).or_insert(data.loc);
            let Some(chosen) = self.solution.node[class] else { continue };
            if self.problem.classes[class][chosen].node == self.region.node(self.func, inst) {
                self.keepers.entry(class).or_insert(inst);
            }
        }
    }

    fn walk(&mut self) -> Result<(), OutOfOrder> {
        let needed: FxHashSet<Class> =
            self.problem.needed(&self.solution.node).ok_or(OutOfOrder)?.into_iter().collect();
        let inside: FxHashSet<Inst> = self.region.insts.iter().copied().collect();
        let roots: FxHashSet<Value> = self.region.roots.iter().copied().collect();
        let (func, last) = (self.func, self.part.last().copied());
        let mut next = self.part.first().copied();
        while let Some(inst) = next {
            next = func.next_inst(inst);
            let uses = func.inst(inst).uses().filter(|value| roots.contains(value));
            match inside.contains(&inst) {
                true => self.keep(inst, &needed)?,
                false => self.emit_all(uses, inst)?,
            }
            if Some(inst) == last {
                break;
            }
            self.passed.insert(inst);
        }
        // All roots have to be available after the part.
        match next {
            Some(after) => self.emit_all(self.region.roots.iter().copied(), after),
            None => Ok(()),
        }
    }

    /// Keeps an instruction if its node was chosen and its operands are available.
    fn keep(&mut self, inst: Inst, needed: &FxHashSet<Class>) -> Result<(), OutOfOrder> {
        let result = self.func.inst(inst).results[0];
        let Some(class) = self.class(result).filter(|class| needed.contains(class)) else { return Ok(()) };
        if self.keepers.get(&class) == Some(&inst) && self.done[class].is_none() && self.is_ready(class) {
            self.operands(class, inst)?;
            self.done[class] = Some(Source::Value(result));
        }
        Ok(())
    }

    fn emit_all(&mut self, values: impl Iterator<Item = Value>, before: Inst) -> Result<(), OutOfOrder> {
        for value in values {
            if let Some(class) = self.class(value) {
                self.emit(class, before)?;
            }
        }
        Ok(())
    }

    /// True if all operands of a class are available.
    fn is_ready(&self, class: Class) -> bool {
        let mut work = vec![class];
        let mut seen: FxHashSet<Class> = FxHashSet::default();
        while let Some(class) = work.pop() {
            if self.done[class].is_some() || !seen.insert(class) {
                continue;
            }
            let Some(chosen) = self.solution.node[class] else { return false };
            let choice = &self.problem.classes[class][chosen];
            if let Head::Leaf(number) = choice.node.head
                && !self.is_there(self.region.leaves[number as usize])
            {
                return false;
            }
            work.extend(choice.children.iter().copied());
        }
        true
    }

    fn is_there(&self, leaf: Value) -> bool {
        let (func, Some(&first)) = (self.func, self.part.first()) else { return false };
        match func.def_inst(leaf) {
            Some(def) if func.block_of(def) == func.block_of(first) => {
                func.comes_before(def, first) || self.passed.contains(&def)
            }
            _ => true,
        }
    }

    fn operands(&mut self, class: Class, before: Inst) -> Result<SmallVec<[Source; 3]>, OutOfOrder> {
        let chosen = self.solution.node[class].ok_or(OutOfOrder)?;
        let problem = self.problem;
        let choice = &problem.classes[class][chosen];
        let count = choice.node.operands().len();
        choice.children[..count].iter().map(|&child| self.emit(child, before)).collect()
    }

    /// Emits a class before an instruction, unless it is emitted already.
    fn emit(&mut self, class: Class, before: Inst) -> Result<Source, OutOfOrder> {
        if let Some(done) = self.done[class] {
            return Ok(done);
        }
        let chosen = self.solution.node[class].ok_or(OutOfOrder)?;
        let problem = self.problem;
        let node = &problem.classes[class][chosen].node;
        let source = match &node.head {
            Head::Const(Const(scalar)) => Source::Constant(*scalar),
            Head::Leaf(number) => {
                let value = self.region.leaves[*number as usize];
                if !self.is_there(value) {
                    return Err(OutOfOrder);
                }
                Source::Value(value)
            }
            Head::Attr(_) => return Err(OutOfOrder),
            Head::Op(op) => {
                let args = self.operands(class, before)?;
                match self.keepers.get(&class) {
                    Some(&inst) => {
                        self.plan.steps.push(EmitStep::Move { inst, before });
                        Source::Value(self.func.inst(inst).results[0])
                    }
                    None => {
                        let loc = self.locs.get(&class).copied().unwrap_or(self.func.inst(before).loc);
                        let attrs = self.region.attrs(node);
                        self.plan.steps.push(EmitStep::New { before, op: *op, args, attrs, loc });
                        self.made += 1;
                        Source::New(self.made - 1)
                    }
                }
            }
        };
        self.done[class] = Some(source);
        Ok(source)
    }

    fn finish(&mut self) {
        for &inst in &self.region.insts {
            let value = self.func.inst(inst).results[0];
            let done = self.class(value).and_then(|class| self.done[class]);
            match done {
                Some(source) if source == Source::Value(value) => {}
                _ => {
                    self.plan.erased.push(inst);
                    self.plan.replaced.extend(done.map(|source| (value, source)));
                }
            }
        }
    }
}

impl EmitPlan {
    /// True if the plan changes nothing.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.replaced.is_empty()
    }

    /// Applies the plan. `replaced` are the replacements that plans for earlier parts of the block made.
    pub fn apply(self, rw: &mut Rewriter<'_>, replaced: &mut FxHashMap<Value, Value>) -> Result<(), RewriteError> {
        let mut made: Vec<Value> = Vec::new();
        let value =
            |rw: &mut Rewriter<'_>, made: &[Value], replaced: &FxHashMap<Value, Value>, source: Source| match source {
                Source::Value(value) => replaced.get(&value).copied().unwrap_or(value),
                Source::Constant(scalar) => rw.constant(scalar),
                Source::New(at) => made[at],
            };
        for step in self.steps {
            match step {
                EmitStep::Move { inst, before } => rw.move_before(inst, before)?,
                EmitStep::New { before, op, args, attrs, loc } => {
                    let args: SmallVec<[Value; 3]> = args.iter().map(|&arg| value(rw, &made, replaced, arg)).collect();
                    rw.set_point(Point::Before(before));
                    rw.set_loc(loc);
                    let inst = rw.insert(op, args, attrs)?;
                    made.push(rw.func().inst(inst).results[0]);
                }
            }
        }
        for (old, source) in self.replaced {
            if rw.func().use_count(old) > 0 {
                let new = value(rw, &made, replaced, source);
                rw.replace_uses(old, new)?;
                replaced.insert(old, new);
            }
        }
        rw.erase_all(&self.erased, &[])
    }
}
