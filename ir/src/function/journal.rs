//! Transactions: a journal that records the inverse of every primitive mutation, and the rollback.
//!
//! The journal does not record the public fields of a function: its name, result types, location, and
//! whether it is untyped. A constant that is created in a transaction stays in the pool after a rollback;
//! without uses it has no effect.

use super::Function;
use super::storage::Undo;

impl Function {
    /// Starts recording changes, until [`commit`](Function::commit) or [`rollback`](Function::rollback).
    /// Transactions are not nested.
    ///
    /// # Panics
    /// If a transaction has begun already.
    pub fn begin(&mut self) {
        assert!(self.journal.is_none(), "transactions are not nested");
        self.journal = Some(std::mem::take(&mut self.journal_room));
    }
    /// The number of changes recorded since [`begin`](Function::begin).
    pub fn pending_changes(&self) -> usize {
        self.journal.as_ref().map_or(0, Vec::len)
    }
    /// Keeps the recorded changes.
    pub fn commit(&mut self) {
        let Some(mut journal) = self.journal.take() else { return };
        for undo in journal.drain(..) {
            match undo {
                // Only erased instructions and removed blocks are dropped.
                Undo::Erased(inst) => self.drop_inst(inst),
                Undo::BlocksRemoved(blocks, _) => blocks.into_iter().for_each(|block| self.drop_block(block)),
                _ => {}
            }
        }
        self.journal_room = journal;
    }
    /// Undoes the recorded changes, latest first. Restores the blocks, instructions and values at
    /// [`begin`](Function::begin), but not the public fields. Constants that are new stay in the pool, and
    /// the order of the users of a value may differ.
    pub fn rollback(&mut self) {
        for undo in self.journal.take().unwrap_or_default().into_iter().rev() {
            match undo {
                Undo::Created(inst) => self.drop_inst(inst),
                Undo::Linked(inst) => {
                    self.unlink(inst);
                }
                Undo::Unlinked(inst, block, next) => self.link(inst, block, next),
                Undo::Erased(_) => {}
                Undo::Operand(inst, index, old) => self.set_use(inst, index, old),
                Undo::Attrs(inst, old) => self.insts[inst].data.attrs = old,
                Undo::Targets(inst, old) => {
                    self.swap_targets(inst, old);
                }
                Undo::Type(value, old) => self.values[value].ty = old,
                Undo::Name(value, old) => self.values[value].name = old,
                Undo::BlockCreated(block) => {
                    self.order.retain(|&b| b != block);
                    self.blocks.remove(block);
                }
                Undo::BlocksRemoved(blocks, before) => {
                    self.order = before;
                    blocks.into_iter().for_each(|block| self.blocks[block].linked = true);
                }
                Undo::ParamAdded(block) => {
                    if let Some(v) = self.blocks[block].params.pop() {
                        self.values.remove(v);
                    }
                }
                Undo::ParamRemoved(block, index, v) => {
                    self.blocks[block].params.insert(index, v);
                    self.renumber_params(block);
                }
            }
        }
    }

    pub(super) fn record(&mut self, undo: Undo) {
        if let Some(journal) = &mut self.journal {
            journal.push(undo);
        }
    }
}
