//! Conditions on a function that is inlined.

use crate::prelude::*;
use rewright_ir::ArrayExpr;
use rewright_ir::analysis::{CallGraph, Dominators, ModuleEffects};
use rewright_ir::expr::{BodyInst, BodyOp};

/// The most instructions of a small function.
const SMALL: usize = 64;

/// The number of a function's instructions, including those in bodies of expressions.
fn weight(func: &Function) -> usize {
    fn inside(expr: &ArrayExpr) -> usize {
        let bodies = expr.finish.iter().chain([&expr.body]);
        let of = |inst: &BodyInst| if let BodyOp::Nested(nested) = &inst.op { 1 + inside(nested) } else { 1 };
        bodies.flat_map(|body| &body.insts).map(of).sum()
    }
    let insts = func.blocks().flat_map(|block| func.insts(block));
    insts.map(|inst| 1 + func.inst(inst).attrs.expr().map_or(0, |expr| inside(expr))).sum()
}

pub(super) struct Callee<'a> {
    pub func: &'a Function,
    pub effects: &'a ModuleEffects,
    pub calls: &'a CallGraph,
}

impl Callee<'_> {
    /// Whether the function can be inlined, or why not.
    pub fn is_fit(&self) -> Result<(), NoMatch> {
        let (func, name) = (self.func, self.func.name);
        if func.inst_count() > SMALL || weight(func) > SMALL {
            return Err(NoMatch::because(format!("`@{name}` has more than {SMALL} instructions")));
        }
        if self.effects.function(name).is_none_or(|effects| effects.stores.contains(&true)) {
            return Err(NoMatch::because(format!("`@{name}` stores to an argument")));
        }
        let insts = || func.blocks().flat_map(|block| func.insts(block));
        let is_param = |value: &Value| func.params().contains(value);
        if insts().any(|i| func.inst(i).op.name == "del" && func.inst(i).args.iter().any(is_param)) {
            return Err(NoMatch::because(format!("`@{name}` deletes an argument")));
        }
        let returns = self.returns();
        if returns.is_empty() {
            return Err(NoMatch::quiet());
        }
        let certain = |ret: &Inst| {
            let values = func.inst(*ret).args.iter();
            values.zip(&func.results).all(|(&value, wanted)| func.ty(value).refines(wanted))
        };
        if !returns.iter().all(certain) {
            return Err(NoMatch::because(format!("`@{name}` checks the shapes of its results")));
        }
        match self.calls.is_recursive(name) {
            true => Err(NoMatch::because(format!("`@{name}` calls itself, directly or through others"))),
            false => Ok(()),
        }
    }

    /// The reachable instructions that return.
    fn returns(&self) -> Vec<Inst> {
        let func = self.func;
        let dominators = Dominators::of(func);
        let ends = dominators.reverse_postorder().iter().filter_map(|&block| func.terminator(block));
        ends.filter(|&end| func.inst(end).op.name == "ret").collect()
    }

    /// For each parameter, whether the function may return it unchanged.
    pub fn returned_params(&self) -> Vec<bool> {
        let func = self.func;
        let params = func.params().iter();
        let returned = |param: &Value| {
            let mut users = func.users(*param).into_iter().map(|user| func.inst(user));
            // A terminator may pass it to a block parameter.
            users.any(|user| user.op.name == "ret" || user.op.is_terminator())
        };
        params.map(returned).collect()
    }
}
