//! `fold`: constant folding.

use crate::prelude::*;
use rewright_ir::{Target, ValueDef, eval_scalar};
use rustc_hash::FxHashSet;
use slotmap::SecondaryMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// Computes elementwise ops of constants, and replaces block parameters for which every branch passes the
/// same constant. Replaces branches on constants by `jump`s, and removes unreachable blocks.
///
/// The algorithm is sparse conditional constant propagation (Wegman and Zadeck, "Constant propagation with
/// conditional branches", 1991). It is optimistic: at first only the entry is reached and every value is
/// undefined. So it also finds constants that depend on a branch never being taken, and constants that are
/// carried around a loop. One application folds all constants of the function, in linear time.
///
/// It is exact because the reference evaluator's scalar function of the op computes the constants, at the
/// op's own dtypes. An op that would fail, such as a negative power of an integer, stays and fails at run
/// time.
pub struct Fold;

static FOLD: RewriteDef = RewriteDef::block("fold", "computes ops of constants", &Fold)
    .stage(Stage::AfterInference)
    .holding(Holds::CONSTANTS)
    .benefit(10);
register_rewrite!(FOLD);

/// The constants of a function.
#[derive(Default)]
pub struct Constants {
    /// Constant results and block parameters.
    values: Vec<(Value, Scalar)>,
    /// The instructions of these results.
    insts: Vec<Inst>,
    /// These parameters.
    params: Vec<(Block, usize)>,
    /// Branches that always go the same way, with the number of the target.
    branches: Vec<(Inst, usize)>,
    /// Unreachable blocks.
    unreached: Vec<Block>,
}

impl Rewrite for Fold {
    type Match = Rc<Constants>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        if !func.insts(block).any(|inst| takes_constants(func, inst)) {
            return Err(NoMatch::quiet());
        }
        let found = cx.cached(Constants::of);
        if found.values.is_empty() && found.branches.is_empty() { Err(NoMatch::quiet()) } else { Ok(found) }
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        for &(branch, taken) in &found.branches {
            let data = rw.func().inst(branch);
            let (op, loc, target) = (data.op, data.loc, data.targets[taken].clone());
            let Some(block) = rw.func().block_of(branch) else { continue };
            rw.set_terminator(block, "jump", Vec::<Value>::new(), Attrs::new(), [target])?;
            rw.remark(loc, format!("`{op}` always goes the same way"));
        }
        if !found.unreached.is_empty() {
            rw.remove_blocks(&found.unreached)?;
        }
        for &(value, scalar) in &found.values {
            if rw.func().use_count(value) > 0 {
                let constant = rw.constant(scalar);
                rw.replace_uses(value, constant)?;
            }
        }
        rw.erase_all(&found.insts, &found.params)
    }
}

/// A quick test of one instruction: constants enter a function through ops, branches and branch arguments.
fn takes_constants(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let constant = |v: &Value| func.as_const(*v).is_some();
    if data.op.is_terminator() {
        let decided = data.targets.len() > 1 && data.args.iter().any(constant);
        return decided || data.targets.iter().any(|t| t.args.iter().any(constant));
    }
    data.op.is_elementwise() && data.args.iter().all(constant)
}

/// The lattice of values. No entry: the value is not computed on any path found so far.
#[derive(Clone, Copy, PartialEq)]
enum LatticeValue {
    /// Always this constant.
    Constant(Scalar),
    /// Different constants on different paths, or unknown until run time.
    Varies,
}

impl Constants {
    fn of(cx: &MatchCx<'_>) -> Constants {
        let func = cx.func();
        let mut solver = Solver {
            func,
            known: SecondaryMap::new(),
            reached: FxHashSet::default(),
            blocks: Vec::new(),
            insts: Vec::new(),
        };
        solver.solve();
        let mut found = Constants::default();
        for block in func.blocks() {
            if solver.reached.contains(&block) {
                found.collect(func, &solver, block);
            } else {
                found.unreached.push(block);
            }
        }
        found
    }

    fn collect(&mut self, func: &Function, solver: &Solver<'_>, block: Block) {
        for (index, &param) in func.block_params(block).iter().enumerate() {
            if let Some(LatticeValue::Constant(scalar)) = solver.known.get(param) {
                self.values.push((param, *scalar));
                self.params.push((block, index));
            }
        }
        for inst in func.insts(block) {
            let data = func.inst(inst);
            let scalars: SmallVec<[(Value, Scalar); 2]> = data
                .results
                .iter()
                .filter_map(|r| {
                    if let Some(LatticeValue::Constant(s)) = solver.known.get(*r) { Some((*r, *s)) } else { None }
                })
                .collect();
            if !scalars.is_empty() && scalars.len() == data.results.len() {
                self.values.extend(scalars);
                self.insts.push(inst);
            }
            if data.targets.len() > 1
                && let Some(taken) = solver.taken(inst)
            {
                self.branches.push((inst, taken));
            }
        }
    }
}

/// The algorithm's state.
struct Solver<'a> {
    func: &'a Function,
    /// The state of values that are not constants of the pool.
    known: SecondaryMap<Value, LatticeValue>,
    reached: FxHashSet<Block>,
    /// Blocks just reached, whose instructions are not visited yet.
    blocks: Vec<Block>,
    /// Instructions of reached blocks to visit again.
    insts: Vec<Inst>,
}

impl Solver<'_> {
    fn solve(&mut self) {
        let func = self.func;
        if let Some(entry) = func.entry() {
            func.params().iter().for_each(|&p| self.learn(p, LatticeValue::Varies));
            self.reach(entry);
        }
        loop {
            if let Some(inst) = self.insts.pop() {
                self.look(inst);
            } else if let Some(block) = self.blocks.pop() {
                func.insts(block).for_each(|inst| self.look(inst));
            } else {
                break;
            }
        }
    }

    fn reach(&mut self, block: Block) {
        if self.reached.insert(block) {
            self.blocks.push(block);
        }
    }

    fn known(&self, value: Value) -> Option<LatticeValue> {
        match self.func.def(value) {
            ValueDef::Const(scalar) => Some(LatticeValue::Constant(scalar)),
            _ => self.known.get(value).copied(),
        }
    }

    /// Joins a new state into that of a value. Queues its users if the state changes.
    fn learn(&mut self, value: Value, new: LatticeValue) {
        let old = self.known.get(value).copied();
        let joined = match old {
            None => new,
            Some(old) if old == new => old,
            Some(_) => LatticeValue::Varies,
        };
        if old != Some(joined) {
            self.known.insert(value, joined);
            let func = self.func;
            let reached = |inst: &Inst| func.block_of(*inst).is_some_and(|b| self.reached.contains(&b));
            self.insts.extend(func.each_user(value).filter(reached));
        }
    }

    fn look(&mut self, inst: Inst) {
        let func = self.func;
        let data = func.inst(inst);
        if data.op.is_terminator() {
            return self.branch(inst);
        }
        let operands: SmallVec<[Option<LatticeValue>; 3]> = data.args.iter().map(|&v| self.known(v)).collect();
        let known = |k: &Option<LatticeValue>| if let Some(LatticeValue::Constant(s)) = k { Some(*s) } else { None };
        if !data.op.is_elementwise() || operands.contains(&Some(LatticeValue::Varies)) {
            return data.results.iter().for_each(|&r| self.learn(r, LatticeValue::Varies));
        }
        let scalars: SmallVec<[Scalar; 3]> = operands.iter().filter_map(known).collect();
        if scalars.len() < operands.len() {
            // Some operand is undefined so far: a later visit will decide.
            return;
        }
        let computed = eval_scalar(data.op, &scalars, &data.attrs).ok();
        for (index, &result) in data.results.iter().enumerate() {
            let scalar = computed.as_ref().and_then(|c| c.get(index)).copied();
            let fits = scalar.filter(|s| *func.ty(result) == Type::scalar(s.dtype()));
            self.learn(result, fits.map_or(LatticeValue::Varies, LatticeValue::Constant));
        }
    }

    fn branch(&mut self, inst: Inst) {
        let func = self.func;
        let data = func.inst(inst);
        let undecided = data.targets.len() > 1 && data.args.iter().any(|&v| self.known(v).is_none());
        if undecided {
            return;
        }
        match self.taken(inst) {
            Some(taken) => self.go(&data.targets[taken]),
            None => data.targets.iter().for_each(|target| self.go(target)),
        }
    }

    fn go(&mut self, target: &Target) {
        let func = self.func;
        for (&param, &arg) in func.block_params(target.block).iter().zip(&target.args) {
            if let Some(known) = self.known(arg) {
                self.learn(param, known);
            }
        }
        self.reach(target.block);
    }

    /// The target that a branch always takes, if its operand decides it.
    fn taken(&self, inst: Inst) -> Option<usize> {
        let data = self.func.inst(inst);
        let [operand] = data.args[..] else { return None };
        let Some(LatticeValue::Constant(scalar)) = self.known(operand) else { return None };
        let taken = match data.op.name {
            "br_if" => usize::from(scalar == Scalar::Bool(false)),
            "switch" => {
                let (at, cases) = (scalar.to_i128()?, data.attrs.ints("cases")?);
                cases.iter().position(|&case| i128::from(case) == at).unwrap_or(cases.len())
            }
            _ => return None,
        };
        Some(taken).filter(|&t| t < data.targets.len())
    }
}
