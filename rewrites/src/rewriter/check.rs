//! The check of the touched part of a function after an application.

use super::Rewriter;
use crate::error::RewriteError;
use rewright_ir::analysis::{Dominators, predecessors};
use rewright_ir::verify_function;
use rewright_ir::{Block, Inst, Value, ValueDef};
use std::cell::OnceCell;

impl Rewriter<'_> {
    /// Checks that the function is valid, visiting only changed places. Visits the whole function if `all` is
    /// set, or if there may be new branches, which can change dominance anywhere.
    pub(crate) fn check(&self, all: bool) -> Result<(), RewriteError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        if all || self.touched.new_edges {
            return verify_function(self.func, Some(self.module)).map_err(RewriteError::Invalid);
        }
        for &block in self.touched.blocks.iter().filter(|&&b| self.func.has_block(b)) {
            if self.func.terminator(block).is_none() {
                return Err(RewriteError::refused("a block was left without a terminator"));
            }
        }
        self.check_branches()?;
        let dominators = OnceCell::new();
        for &inst in self.touched.insts.iter().filter(|&&i| self.func.is_linked(i)) {
            self.check_inst(inst, &dominators)?;
        }
        for &(inst, value) in self.touched.reconnected.iter().filter(|(i, _)| self.func.is_linked(*i)) {
            self.check_use(value, inst, self.linked(inst)?, &dominators)?;
        }
        self.check_dels()
    }

    /// Checks the branches to blocks whose parameters have changed.
    fn check_branches(&self) -> Result<(), RewriteError> {
        if self.touched.params.is_empty() {
            return Ok(());
        }
        let preds = predecessors(self.func);
        let branches = self.touched.params.iter().flat_map(|&block| preds.get(block).into_iter().flatten());
        for terminator in branches.filter_map(|&pred| self.func.terminator(pred)) {
            for target in &self.func.inst(terminator).targets {
                self.check_target(target)?;
            }
        }
        Ok(())
    }

    fn check_inst(&self, inst: Inst, dominators: &OnceCell<Dominators>) -> Result<(), RewriteError> {
        let data = self.func.inst(inst);
        let block = self.linked(inst)?;
        for value in data.uses() {
            self.check_use(value, inst, block, dominators)?;
        }
        for target in &data.targets {
            self.check_target(target)?;
        }
        if data.op.name == "ret" {
            let fits = data.args.len() == self.func.results.len()
                && data.args.iter().zip(&self.func.results).all(|(&v, want)| self.func.ty(v).fits(want));
            if !fits {
                return Err(RewriteError::refused("`ret` does not give the function's results"));
            }
        }
        Ok(())
    }

    fn check_use(
        &self,
        value: Value,
        inst: Inst,
        block: Block,
        dominators: &OnceCell<Dominators>,
    ) -> Result<(), RewriteError> {
        self.alive(value)?;
        if self.use_is_reached(value, inst, block, dominators) {
            return Ok(());
        }
        let op = self.func.inst(inst).op;
        Err(RewriteError::refused(format!("`{op}` uses a value whose definition does not come before it")))
    }

    fn use_is_reached(&self, value: Value, inst: Inst, block: Block, dominators: &OnceCell<Dominators>) -> bool {
        match self.func.def(value) {
            ValueDef::Const(_) => true,
            ValueDef::Param(home, _) if home == block => true,
            ValueDef::Result(def, _) if self.func.block_of(def) == Some(block) => {
                self.func.comes_before(def, inst) || !self.is_reachable(block)
            }
            _ if self.touched.known_uses.contains(&(block, value)) => true,
            // If branches were only removed, earlier dominance still holds.
            _ if !self.touched.edges => self.analyses.dominators(self.func).value_dominates(self.func, value, inst),
            _ => dominators.get_or_init(|| Dominators::of(self.func)).value_dominates(self.func, value, inst),
        }
    }

    /// True if there is a path from the entry to the block in the current form.
    pub(super) fn is_reachable(&self, block: Block) -> bool {
        match self.touched.edges {
            true => Dominators::of(self.func).is_reachable(block),
            false => self.analyses.dominators(self.func).is_reachable(block),
        }
    }
}
