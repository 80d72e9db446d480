//! The primitive mutations of functions. Each one updates use lists and records its inverse in the journal.

use super::storage::{BlockEntry, Def, InstEntry, Node, Undo, ValueEntry};
use super::{Block, Function, Inst, InstData, Target, Targets, Value};
use crate::attr::Attrs;
use crate::loc::Loc;
use crate::name::Name;
use crate::op::{Op, Types};
use crate::scalar::{Literal, Scalar};
use crate::types::Type;
use smallvec::SmallVec;
use std::collections::hash_map::Entry;

impl Function {
    /// The value of a constant; equal constants share a value.
    pub fn constant(&mut self, scalar: Scalar) -> Value {
        if let Some(&v) = self.constants.get(&scalar) {
            return v;
        }
        let v = self.new_const(Type::scalar(scalar.dtype()), scalar);
        self.constants.insert(scalar, v);
        v
    }

    /// The value of a literal without a dtype, before type inference: a constant of unknown type.
    pub(crate) fn weak_constant(&mut self, literal: Literal) -> Option<Value> {
        if let Literal::Typed(scalar) = literal {
            return Some(self.constant(scalar));
        }
        let scalar = literal.at(literal.dtype_beside(None))?;
        if let Some(&v) = self.weak_constants.get(&scalar) {
            return Some(v);
        }
        let v = self.new_const(Type::unknown(), scalar);
        self.weak_constants.insert(scalar, v);
        Some(v)
    }

    /// Appends an empty block.
    pub fn create_block(&mut self, name: Option<Name>) -> Block {
        let block = self.blocks.insert(BlockEntry { name, linked: true, ..BlockEntry::default() });
        self.order.push(block);
        self.record(Undo::BlockCreated(block));
        block
    }

    /// Removes blocks and their instructions from the layout. Values that they define must be unused
    /// elsewhere.
    pub fn remove_blocks(&mut self, blocks: &[Block]) {
        for &block in blocks {
            while let Some(inst) = self.blocks[block].last {
                self.erase(inst);
            }
            self.blocks[block].linked = false;
        }
        let rest = self.order.iter().copied().filter(|&b| self.blocks[b].linked).collect();
        let before = std::mem::replace(&mut self.order, rest);
        if self.journal.is_some() {
            self.record(Undo::BlocksRemoved(blocks.into(), before));
        } else {
            blocks.iter().for_each(|&block| self.drop_block(block));
        }
    }

    /// Appends a block parameter. Branches to the block then need an additional argument.
    pub fn add_block_param(&mut self, block: Block, ty: Type) -> Value {
        let index = self.blocks[block].params.len() as u32;
        let v = self.new_value(ty, Def::Param(block, index));
        self.blocks[block].params.push(v);
        self.record(Undo::ParamAdded(block));
        v
    }

    /// Removes an unused block parameter. Branches to the block must then drop its argument.
    pub fn remove_block_param(&mut self, block: Block, index: usize) {
        let v = self.blocks[block].params.remove(index);
        self.renumber_params(block);
        self.record(Undo::ParamRemoved(block, index, v));
    }

    /// Creates an instruction that is not linked to a block, with results of the given types.
    pub fn create_inst(
        &mut self,
        op: Op,
        args: impl IntoIterator<Item = Value>,
        attrs: Attrs,
        targets: impl IntoIterator<Item = Target>,
        results: Types,
        loc: Loc,
    ) -> Inst {
        // An expression combines many ops, and no single one names it.
        let loc = if op.name == "arrayexpr" { Loc { op: Some(op.name), ..loc } } else { loc.of(op.name) };
        let data = InstData {
            op,
            args: args.into_iter().collect(),
            attrs,
            targets: targets.into_iter().collect(),
            results: SmallVec::new(),
            loc,
        };
        let inst = self.insts.insert(InstEntry { data, node: Node::default() });
        for (i, ty) in results.into_iter().enumerate() {
            let v = self.new_value(ty, Def::Result(inst, i as u32));
            self.insts[inst].data.results.push(v);
        }
        self.record(Undo::Created(inst));
        inst
    }

    /// Appends an unlinked instruction to a block.
    pub fn append(&mut self, block: Block, inst: Inst) {
        debug_assert!(self.has_block(block), "the block is not in the layout");
        debug_assert!(!self.is_linked(inst), "the instruction is in a block already");
        self.link(inst, block, None);
        self.record(Undo::Linked(inst));
    }

    /// Inserts an unlinked instruction before a linked one.
    pub fn insert_before(&mut self, at: Inst, inst: Inst) {
        debug_assert!(self.is_linked(at), "the instruction to insert before is in no block");
        debug_assert!(!self.is_linked(inst), "the instruction is in a block already");
        if let Some(block) = self.block_of(at) {
            self.link(inst, block, Some(at));
            self.record(Undo::Linked(inst));
        }
    }

    /// Moves a linked instruction before another one.
    pub fn move_before(&mut self, at: Inst, inst: Inst) {
        debug_assert!(self.is_linked(at), "the instruction to move before is in no block");
        debug_assert!(self.is_linked(inst), "the instruction is in no block");
        if at != inst {
            self.unlink_recorded(inst);
            self.insert_before(at, inst);
        }
    }

    /// Removes an instruction whose results are unused. The key is dead afterwards.
    pub fn erase(&mut self, inst: Inst) {
        self.unlink_recorded(inst);
        if self.journal.is_some() {
            self.record(Undo::Erased(inst));
        } else {
            self.drop_inst(inst);
        }
    }

    /// Replaces one use. Slots count operands first, then branch arguments; `index` must be one of them.
    pub fn set_use(&mut self, inst: Inst, index: usize, value: Value) {
        let Some(slot) = self.insts[inst].data.uses_mut().nth(index) else {
            debug_assert!(false, "the instruction has no slot {index}");
            return;
        };
        let old = std::mem::replace(slot, value);
        if old == value {
            return;
        }
        if self.is_linked(inst) {
            self.remove_use(old, inst);
            self.add_use(value, inst);
        }
        self.record(Undo::Operand(inst, index, old));
    }

    /// Replaces all uses of `old` by `new`.
    pub fn replace_all_uses(&mut self, old: Value, new: Value) {
        if old == new {
            return;
        }
        for inst in self.users(old) {
            for slot in self.slots_of(inst, old) {
                self.set_use(inst, slot, new);
            }
        }
        self.values[old].users.clear();
    }

    /// The slots of a value among an instruction's uses. For wide instructions the search starts at the last
    /// slot found, and stops when all uses are found.
    fn slots_of(&mut self, inst: Inst, value: Value) -> SmallVec<[usize; 4]> {
        let data = &self.insts[inst].data;
        let all = self.wide_uses.get(&(inst, value)).map_or(usize::MAX, |&count| count as usize);
        let args = data.args.len();
        let begin = if all == usize::MAX { 0 } else { self.latest_slot.min(args) };
        let of_args = (begin..args).chain(0..begin).map(|slot| (slot, &data.args[slot]));
        let of_targets = (args..).zip(data.targets.iter().flat_map(|target| &target.args));
        let found = of_args.chain(of_targets).filter(|(_, used)| **used == value);
        let slots: SmallVec<[usize; 4]> = found.map(|(slot, _)| slot).take(all).collect();
        self.latest_slot = slots.last().copied().unwrap_or(begin);
        slots
    }

    /// Replaces the attributes.
    pub fn set_attrs(&mut self, inst: Inst, attrs: Attrs) {
        let old = std::mem::replace(&mut self.insts[inst].data.attrs, attrs);
        self.record(Undo::Attrs(inst, old));
    }

    /// Replaces the branch targets of a terminator.
    pub fn set_targets(&mut self, inst: Inst, targets: impl IntoIterator<Item = Target>) {
        let old = self.swap_targets(inst, targets.into_iter().collect());
        self.record(Undo::Targets(inst, old));
    }

    /// Changes a value's type.
    pub fn set_type(&mut self, value: Value, ty: Type) {
        let old = std::mem::replace(&mut self.values[value].ty, ty);
        self.record(Undo::Type(value, old));
    }

    /// Sets a value's name; `None` makes it anonymous.
    pub fn set_value_name(&mut self, value: Value, name: Option<Name>) {
        let old = std::mem::replace(&mut self.values[value].name, name);
        self.record(Undo::Name(value, old));
    }

    // --- Uses and removal -----------------------------------------------------------------------

    fn new_const(&mut self, ty: Type, scalar: Scalar) -> Value {
        self.pool.push(scalar);
        self.new_value(ty, Def::Const((self.pool.len() - 1) as u32))
    }

    pub(super) fn new_value(&mut self, ty: Type, def: Def) -> Value {
        self.values.insert(ValueEntry { ty, def, name: None, uses: 0, users: SmallVec::new() })
    }

    pub(super) fn add_use(&mut self, value: Value, inst: Inst) {
        let data = &mut self.values[value];
        data.uses += 1;
        data.users.push(inst);
        if self.insts[inst].data.is_wide() {
            *self.wide_uses.entry((inst, value)).or_default() += 1;
        }
        self.forget_past_users(value);
    }

    /// Removes former users of a value from its list once they outnumber the current ones.
    fn forget_past_users(&mut self, value: Value) {
        let data = &self.values[value];
        if data.users.len() > 8 && data.users.len() > 2 * data.uses as usize {
            let live = self.users(value);
            self.values[value].users = live.into_iter().collect();
        }
    }

    pub(super) fn remove_use(&mut self, value: Value, inst: Inst) {
        if self.insts[inst].data.is_wide()
            && let Entry::Occupied(mut count) = self.wide_uses.entry((inst, value))
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        // Blocks that are removed together may use each other's values, which may be gone already.
        if let Some(data) = self.values.get_mut(value) {
            data.uses -= 1;
            self.forget_past_users(value);
        }
    }

    pub(super) fn swap_targets(&mut self, inst: Inst, targets: Targets) -> Targets {
        let linked = self.is_linked(inst);
        let branch_args = |f: &Self| -> SmallVec<[Value; 8]> {
            f.inst(inst).targets.iter().flat_map(|t| t.args.iter().copied()).collect()
        };
        let before = branch_args(self);
        let old = std::mem::replace(&mut self.insts[inst].data.targets, targets);
        if linked {
            for v in before {
                self.remove_use(v, inst);
            }
            for v in branch_args(self) {
                self.add_use(v, inst);
            }
        }
        old
    }

    pub(super) fn renumber_params(&mut self, block: Block) {
        for i in 0..self.blocks[block].params.len() {
            let v = self.blocks[block].params[i];
            self.values[v].def = Def::Param(block, i as u32);
        }
    }

    pub(super) fn drop_block(&mut self, block: Block) {
        for param in self.blocks.remove(block).map(|b| b.params).unwrap_or_default() {
            self.values.remove(param);
        }
    }

    pub(super) fn drop_inst(&mut self, inst: Inst) {
        if let Some(entry) = self.insts.remove(inst) {
            for v in entry.data.results {
                self.values.remove(v);
            }
        }
    }
}
