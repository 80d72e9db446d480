//! Terminators, blocks and block parameters.

use super::{Point, Rewriter};
use crate::change::Change;
use crate::error::RewriteError;
use rewright_ir::analysis::predecessors;
use rewright_ir::builder::find_op;
use rewright_ir::unbound_symbol;
use rewright_ir::{Arg, Attrs, Block, Inst, Name, Target, Targets, Type, Value, ValueDef};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

impl Rewriter<'_> {
    /// Replaces a block's terminator, or adds one.
    pub fn set_terminator(
        &mut self,
        block: Block,
        name: &str,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        attrs: Attrs,
        targets: impl IntoIterator<Item = Target>,
    ) -> Result<Inst, RewriteError> {
        self.whole(|rw| rw.change_terminator(block, name, args, attrs, targets))
    }

    fn change_terminator(
        &mut self,
        block: Block,
        name: &str,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        attrs: Attrs,
        targets: impl IntoIterator<Item = Target>,
    ) -> Result<Inst, RewriteError> {
        self.has_block(block)?;
        let op = find_op(name)?;
        if !op.is_terminator() {
            return Err(RewriteError::refused(format!("`{op}` does not end a block")));
        }
        let targets: Targets = targets.into_iter().collect();
        for target in &targets {
            self.check_target(target)?;
        }
        let mut old_targets: SmallVec<[Block; 4]> = SmallVec::new();
        if let Some(old) = self.func.terminator(block) {
            old_targets.extend(self.func.successors(block));
            self.loc = self.func.inst(old).loc;
            self.erase_unchecked(old);
        }
        self.edges_change(&old_targets, targets.iter().map(|t| t.block));
        self.point = Some(Point::End(block));
        self.insert_any(op, args, attrs, targets)
    }

    fn edges_change(&mut self, before: &[Block], after: impl Iterator<Item = Block>) {
        self.touched.edges = true;
        self.touched.blocks.extend(before.iter().copied().filter(|&b| self.func.has_block(b)));
        for block in after {
            self.touched.new_edges |= !before.contains(&block);
            self.touched.blocks.insert(block);
        }
    }

    pub(super) fn check_target(&self, target: &Target) -> Result<(), RewriteError> {
        self.has_block(target.block)?;
        if self.func.entry() == Some(target.block) {
            return Err(RewriteError::refused("nothing can branch to the entry block"));
        }
        let params = self.func.block_params(target.block);
        if params.len() != target.args.len() {
            let (want, got) = (params.len(), target.args.len());
            return Err(RewriteError::refused(format!("the block takes {want} arguments, got {got}")));
        }
        for (&arg, &param) in target.args.iter().zip(params) {
            self.alive(arg)?;
            let (given, wanted) = (self.func.ty(arg), self.func.ty(param));
            if !given.fits(wanted) {
                return Err(RewriteError::refused(format!("a block argument is {given}, its parameter {wanted}")));
            }
        }
        Ok(())
    }

    /// Moves the instructions of a block, including the terminator, to the end of another one, where they
    /// replace the terminator. The rewrite has to remove the first block, because it has no terminator any
    /// more.
    pub fn append_block(&mut self, block: Block, from: Block) -> Result<(), RewriteError> {
        self.whole(|rw| rw.move_all(block, from))
    }

    fn move_all(&mut self, block: Block, from: Block) -> Result<(), RewriteError> {
        self.has_block(block)?;
        self.has_block(from)?;
        let (Some(old), Some(_)) = (self.func.terminator(block), self.func.terminator(from)) else {
            return Err(RewriteError::refused(
                "a block without a terminator can't be moved, nor can one be appended to it",
            ));
        };
        if block == from {
            return Err(RewriteError::refused("a block can't be appended to itself"));
        }
        let before: SmallVec<[Block; 4]> = self.func.successors(block).collect();
        let after: SmallVec<[Block; 4]> = self.func.successors(from).collect();
        self.edges_change(&before, after.into_iter());
        self.touched.blocks.extend([block, from]);
        let insts: SmallVec<[Inst; 8]> = self.func.insts(from).collect();
        for inst in insts {
            self.touched.inst(self.func, inst);
            self.func.move_before(old, inst);
            let results = self.func.inst(inst).results.clone();
            for result in results {
                self.touched.insts.extend(self.func.users(result));
            }
            self.log.push(Change::Moved(inst));
        }
        self.erase_unchecked(old);
        Ok(())
    }

    /// Creates an empty block at the end of the function. The rewrite has to give it a terminator.
    pub fn create_block(&mut self, name: Option<Name>) -> Block {
        let block = self.func.create_block(name);
        self.touched.blocks.insert(block);
        self.touched.edges = true;
        self.touched.new_edges = true;
        self.log.push(Change::BlockCreated(block));
        block
    }

    /// Adds a parameter to a block that is not the entry. The rewrite has to add an argument to every branch
    /// to it.
    pub fn add_block_param(&mut self, block: Block, ty: Type) -> Result<Value, RewriteError> {
        self.has_block(block)?;
        if self.func.entry() == Some(block) {
            return Err(RewriteError::refused("the function's own parameters can't change"));
        }
        if let Some(symbol) = unbound_symbol(self.func, &ty) {
            let message = format!("a parameter of type {ty}: `{symbol}` is bound by no parameter of the function");
            return Err(RewriteError::refused(message));
        }
        let value = self.func.add_block_param(block, ty);
        self.touched.blocks.insert(block);
        self.touched.params.insert(block);
        self.log.push(Change::ParamAdded(block));
        Ok(value)
    }

    /// Replaces the targets of a terminator; it keeps its operands.
    pub fn set_targets(
        &mut self,
        terminator: Inst,
        targets: impl IntoIterator<Item = Target>,
    ) -> Result<(), RewriteError> {
        let block = self.linked(terminator)?;
        let targets: Targets = targets.into_iter().collect();
        if targets.len() != self.func.inst(terminator).targets.len() {
            return Err(RewriteError::refused("the terminator has another number of targets"));
        }
        for target in &targets {
            self.check_target(target)?;
        }
        let before: SmallVec<[Block; 4]> = self.func.successors(block).collect();
        self.touched.know_uses(self.func, terminator);
        self.touched.inst(self.func, terminator);
        if !targets.iter().map(|t| t.block).eq(before.iter().copied()) {
            self.edges_change(&before, targets.iter().map(|t| t.block));
        }
        self.func.set_targets(terminator, targets);
        self.func.inst(terminator).uses().for_each(|value| self.touched.use_of(self.func, value));
        self.log.push(Change::Targets(terminator));
        Ok(())
    }

    /// Removes blocks that no other block branches to and whose values are not used outside of them.
    pub fn remove_blocks(&mut self, blocks: &[Block]) -> Result<(), RewriteError> {
        self.whole(|rw| rw.drop_blocks(blocks))
    }

    fn drop_blocks(&mut self, blocks: &[Block]) -> Result<(), RewriteError> {
        let gone: FxHashSet<Block> = blocks.iter().copied().collect();
        if gone.len() != blocks.len() || self.func.entry().is_some_and(|entry| gone.contains(&entry)) {
            return Err(RewriteError::refused("the entry block can't be removed, nor a block twice"));
        }
        for &block in blocks {
            self.has_block(block)?;
        }
        let stays = |block: &Block| !gone.contains(block);
        if self.func.blocks().filter(stays).any(|from| self.func.successors(from).any(|to| gone.contains(&to))) {
            return Err(RewriteError::refused("a block that something branches to can't be removed"));
        }
        self.touched.edges = true;
        for &block in blocks {
            let insts: Vec<Inst> = self.func.insts(block).collect();
            for inst in insts.into_iter().rev() {
                let targets: SmallVec<[Block; 2]> = self.func.inst(inst).targets.iter().map(|t| t.block).collect();
                self.touched.blocks.extend(targets.into_iter().filter(|b| !gone.contains(b)));
                self.erase_unchecked(inst);
            }
        }
        let erased = self.log.iter().filter_map(|c| if let Change::Erased(inst, _) = c { Some(*inst) } else { None });
        let results = erased.flat_map(|i| self.func.inst(i).results.iter().copied());
        let params = blocks.iter().flat_map(|&b| self.func.block_params(b).iter().copied());
        if results.chain(params).any(|v| self.func.use_count(v) > 0) {
            return Err(RewriteError::refused("a block whose values are used elsewhere can't be removed"));
        }
        self.func.remove_blocks(blocks);
        self.log.extend(blocks.iter().map(|&b| Change::BlockRemoved(b)));
        Ok(())
    }

    /// Drops the branch arguments for parameters from all branches. The parameters themselves stay.
    pub(super) fn drop_branch_args(&mut self, params: &[(Block, usize)]) {
        if params.is_empty() {
            return;
        }
        let gone: FxHashSet<(Block, usize)> = params.iter().copied().collect();
        let preds = predecessors(self.func);
        let mut done: FxHashSet<Inst> = FxHashSet::default();
        for &(block, _) in params {
            for &pred in preds.get(block).into_iter().flatten() {
                let Some(terminator) = self.func.terminator(pred).filter(|&t| done.insert(t)) else { continue };
                let mut targets = self.func.inst(terminator).targets.clone();
                for target in &mut targets {
                    let mut index = 0;
                    target.args.retain(|_| {
                        index += 1;
                        !gone.contains(&(target.block, index - 1))
                    });
                }
                self.touched.know_uses(self.func, terminator);
                self.touched.inst(self.func, terminator);
                self.func.set_targets(terminator, targets);
                self.log.push(Change::Targets(terminator));
            }
        }
    }

    /// Removes a parameter without uses and without branch arguments.
    pub(super) fn remove_param_value(&mut self, value: Value) {
        if let ValueDef::Param(block, index) = self.func.def(value) {
            self.func.remove_block_param(block, index as usize);
            self.touched.blocks.insert(block);
            self.log.push(Change::ParamRemoved(block));
        }
    }
}
