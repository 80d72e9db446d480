//! Functions: entities in `slotmap` arenas, blocks with parameters, an ordered layout, and use counts.
//!
//! Every change goes through a few primitives, each of which can be recorded and undone; see [`Function::begin`].
//! Nothing observable depends on keys: print, compare and iterate in layout order.

use crate::attr::Attrs;
use crate::loc::Loc;
use crate::module::Signature;
use crate::name::Name;
use crate::op::Op;
use crate::op::Types;
use crate::scalar::Scalar;
use crate::types::Type;
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use slotmap::{SlotMap, new_key_type};
use smallvec::SmallVec;
use std::collections::hash_map::Entry;

new_key_type! {
    /// A value: a block parameter, a result of an instruction, or a constant.
    pub struct Value;
    /// An instruction.
    pub struct Inst;
    /// A basic block.
    pub struct Block;
}

/// What defines a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// The n-th parameter of a block.
    Param(Block, u32),
    /// The n-th result of an instruction.
    Result(Inst, u32),
    /// A constant of the function's pool: defined nowhere, usable everywhere.
    Const(Scalar),
}

#[derive(Clone, Debug)]
struct ValueData {
    ty: Type,
    def: ValueDef,
    name: Option<Name>,
    /// The number of operand slots of linked instructions that hold the value.
    uses: u32,
    /// Instructions that hold it or once did; see `Function::users`.
    users: SmallVec<[Inst; 2]>,
}

/// A branch to a block with arguments for its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where to.
    pub block: Block,
    /// One for each parameter.
    pub args: SmallVec<[Value; 2]>,
}

/// An instruction: an op, operands, attributes, branch targets and results.
#[derive(Clone, Debug)]
pub struct InstData {
    /// The op.
    pub op: Op,
    /// The operands.
    pub args: SmallVec<[Value; 3]>,
    /// The attributes.
    pub attrs: Attrs,
    /// Branch targets of a terminator.
    pub targets: SmallVec<[Target; 0]>,
    /// The results.
    pub results: SmallVec<[Value; 1]>,
    /// Where it was written.
    pub loc: Loc,
}

impl InstData {
    /// Every value that the instruction uses: operands, then branch arguments.
    pub fn uses(&self) -> impl Iterator<Item = Value> + '_ {
        self.args.iter().copied().chain(self.targets.iter().flat_map(|t| t.args.iter().copied()))
    }
    /// It has so many operands that looking through them for every one of them takes too long.
    fn is_wide(&self) -> bool {
        self.args.len() > 16
    }
    fn uses_mut(&mut self) -> impl Iterator<Item = &mut Value> + '_ {
        self.args.iter_mut().chain(self.targets.iter_mut().flat_map(|t| t.args.iter_mut()))
    }
}

#[derive(Clone, Debug, Default)]
struct Node {
    block: Option<Block>,
    prev: Option<Inst>,
    next: Option<Inst>,
    /// Grows along a block, with gaps.
    position: u64,
}

#[derive(Clone, Debug)]
struct InstEntry {
    data: InstData,
    node: Node,
}

#[derive(Clone, Debug, Default)]
struct BlockData {
    name: Option<Name>,
    params: Vec<Value>,
    first: Option<Inst>,
    last: Option<Inst>,
    linked: bool,
}

/// The inverse of one primitive change.
#[derive(Clone, Debug)]
enum Undo {
    Created(Inst),
    Linked(Inst),
    Unlinked(Inst, Block, Option<Inst>),
    Erased(Inst),
    Operand(Inst, usize, Value),
    Attrs(Inst, Attrs),
    Targets(Inst, SmallVec<[Target; 0]>),
    Type(Value, Type),
    Name(Value, Option<Name>),
    BlockCreated(Block),
    /// The blocks, and the order before.
    BlocksRemoved(Vec<Block>, Vec<Block>),
    ParamAdded(Block),
    ParamRemoved(Block, usize, Value),
}

/// The distance between neighbours' positions when a block is numbered.
const GAP: u64 = 1 << 20;

/// A function: blocks of instructions in SSA form. The parameters are those of the first block.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name, without the `@`.
    pub name: Name,
    /// The result types.
    pub results: Vec<Type>,
    /// Where it was written.
    pub loc: Loc,
    values: SlotMap<Value, ValueData>,
    insts: SlotMap<Inst, InstEntry>,
    blocks: SlotMap<Block, BlockData>,
    order: Vec<Block>,
    constants: IndexMap<Scalar, Value>,
    journal: Option<Vec<Undo>>,
    linked: usize,
    /// How often instructions with many operands use each value.
    wide_uses: FxHashMap<(Inst, Value), u32>,
}

impl Function {
    /// A function without blocks.
    pub fn new(name: impl Into<Name>, results: Vec<Type>) -> Self {
        Function {
            name: name.into(),
            results,
            loc: Loc::default(),
            values: SlotMap::with_key(),
            insts: SlotMap::with_key(),
            blocks: SlotMap::with_key(),
            order: Vec::new(),
            constants: IndexMap::new(),
            journal: None,
            linked: 0,
            wide_uses: FxHashMap::default(),
        }
    }

    // --- Reading ---------------------------------------------------------------------------------------------------

    /// Blocks in order; the first is the entry.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + '_ {
        self.order.iter().copied()
    }
    /// The first block.
    pub fn entry(&self) -> Option<Block> {
        self.order.first().copied()
    }
    /// The parameters: those of the first block.
    pub fn params(&self) -> &[Value] {
        self.entry().map_or(&[], |b| self.block_params(b))
    }
    /// Parameter and result types.
    pub fn signature(&self) -> Signature {
        Signature { params: self.params().iter().map(|&v| self.ty(v).clone()).collect(), results: self.results.clone() }
    }
    /// True if the key names a block of the layout.
    pub fn has_block(&self, block: Block) -> bool {
        self.blocks.get(block).is_some_and(|b| b.linked)
    }
    /// A block's parameters.
    pub fn block_params(&self, block: Block) -> &[Value] {
        &self.blocks[block].params
    }
    /// A block's name, if it was given one.
    pub fn block_name(&self, block: Block) -> Option<Name> {
        self.blocks[block].name
    }
    /// A block's instructions, in order.
    pub fn insts(&self, block: Block) -> Insts<'_> {
        Insts { func: self, next: self.blocks[block].first, back: self.blocks[block].last }
    }
    /// A block's first instruction.
    pub fn first_inst(&self, block: Block) -> Option<Inst> {
        self.blocks[block].first
    }
    /// A block's last instruction, if it is a terminator.
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        self.blocks[block].last.filter(|&i| self.inst(i).op.is_terminator())
    }
    /// The blocks that a block may branch to, in order, repeated where it branches there twice.
    pub fn successors(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        self.terminator(block).into_iter().flat_map(|i| self.inst(i).targets.iter().map(|t| t.block))
    }
    /// The number of instructions in the layout.
    pub fn inst_count(&self) -> usize {
        self.linked
    }
    /// An instruction.
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst].data
    }
    /// True if the key names an instruction of the layout.
    pub fn is_linked(&self, inst: Inst) -> bool {
        self.insts.get(inst).is_some_and(|e| e.node.block.is_some())
    }
    /// The block that an instruction is in.
    pub fn block_of(&self, inst: Inst) -> Option<Block> {
        self.insts.get(inst).and_then(|e| e.node.block)
    }
    /// The instruction after.
    pub fn next_inst(&self, inst: Inst) -> Option<Inst> {
        self.insts[inst].node.next
    }
    /// The instruction before.
    pub fn prev_inst(&self, inst: Inst) -> Option<Inst> {
        self.insts[inst].node.prev
    }
    /// True if `a` stands before `b` in the same block.
    pub fn comes_before(&self, a: Inst, b: Inst) -> bool {
        let (a, b) = (&self.insts[a].node, &self.insts[b].node);
        a.block.is_some() && a.block == b.block && a.position < b.position
    }
    /// True if the key names a value.
    pub fn has_value(&self, value: Value) -> bool {
        self.values.contains_key(value)
    }
    /// A value's type.
    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value].ty
    }
    /// What defines a value.
    pub fn def(&self, value: Value) -> ValueDef {
        self.values[value].def
    }
    /// The instruction that defines a value.
    pub fn def_inst(&self, value: Value) -> Option<Inst> {
        if let ValueDef::Result(inst, _) = self.def(value) { Some(inst) } else { None }
    }
    /// The constant that a value is.
    pub fn as_const(&self, value: Value) -> Option<Scalar> {
        if let ValueDef::Const(s) = self.def(value) { Some(s) } else { None }
    }
    /// A value's name, if it was given one.
    pub fn value_name(&self, value: Value) -> Option<Name> {
        self.values[value].name
    }
    /// The number of operand slots that hold a value.
    pub fn use_count(&self, value: Value) -> usize {
        self.values[value].uses as usize
    }
    /// The instructions that use a value, each once, in the order in which they began to.
    pub fn users(&self, value: Value) -> SmallVec<[Inst; 4]> {
        let mut seen = rustc_hash::FxHashSet::default();
        let list = &self.values[value].users;
        let live = list.iter().copied().filter(|&i| self.uses_value(i, value));
        if list.len() <= 1 { live.collect() } else { live.filter(|&i| seen.insert(i)).collect() }
    }
    fn uses_value(&self, inst: Inst, value: Value) -> bool {
        self.insts.get(inst).is_some_and(|e| {
            e.node.block.is_some()
                && match e.data.is_wide() {
                    true => self.wide_uses.contains_key(&(inst, value)),
                    false => e.data.uses().any(|v| v == value),
                }
        })
    }

    // --- Changing --------------------------------------------------------------------------------------------------

    /// The value of a constant; the same constant is the same value.
    pub fn constant(&mut self, scalar: Scalar) -> Value {
        if let Some(&v) = self.constants.get(&scalar) {
            return v;
        }
        let v = self.new_value(Type::scalar(scalar.dtype()), ValueDef::Const(scalar));
        self.constants.insert(scalar, v);
        v
    }

    /// Appends an empty block.
    pub fn create_block(&mut self, name: Option<Name>) -> Block {
        let block = self.blocks.insert(BlockData { name, linked: true, ..BlockData::default() });
        self.order.push(block);
        self.record(Undo::BlockCreated(block));
        block
    }

    /// Takes blocks out of the layout, with their instructions; the values that they define must be unused elsewhere.
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

    /// Adds a parameter at the end of a block's list. Branches to the block must then give one argument more.
    pub fn add_block_param(&mut self, block: Block, ty: Type) -> Value {
        let index = self.blocks[block].params.len() as u32;
        let v = self.new_value(ty, ValueDef::Param(block, index));
        self.blocks[block].params.push(v);
        self.record(Undo::ParamAdded(block));
        v
    }

    /// Removes a parameter; it must be unused. Branches to the block must then give one argument less.
    pub fn remove_block_param(&mut self, block: Block, index: usize) {
        let v = self.blocks[block].params.remove(index);
        self.renumber_params(block);
        self.record(Undo::ParamRemoved(block, index, v));
    }

    /// Makes an instruction, not yet in any block, with results of the given types.
    pub fn create_inst(
        &mut self,
        op: Op,
        args: impl IntoIterator<Item = Value>,
        attrs: Attrs,
        targets: impl IntoIterator<Item = Target>,
        results: Types,
        loc: Loc,
    ) -> Inst {
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
            let v = self.new_value(ty, ValueDef::Result(inst, i as u32));
            self.insts[inst].data.results.push(v);
        }
        self.record(Undo::Created(inst));
        inst
    }

    /// Puts an instruction at the end of a block.
    pub fn append(&mut self, block: Block, inst: Inst) {
        self.link(inst, block, None);
        self.record(Undo::Linked(inst));
    }

    /// Puts an instruction before another one.
    pub fn insert_before(&mut self, at: Inst, inst: Inst) {
        if let Some(block) = self.block_of(at) {
            self.link(inst, block, Some(at));
            self.record(Undo::Linked(inst));
        }
    }

    /// Moves a linked instruction before another one.
    pub fn move_before(&mut self, at: Inst, inst: Inst) {
        if at != inst {
            self.unlink_recorded(inst);
            self.insert_before(at, inst);
        }
    }

    /// Takes an instruction out; its results must be unused. The key is dead afterwards.
    pub fn erase(&mut self, inst: Inst) {
        self.unlink_recorded(inst);
        if self.journal.is_some() {
            self.record(Undo::Erased(inst));
        } else {
            self.drop_inst(inst);
        }
    }

    /// Replaces one use: slot `index` counts operands first, then branch arguments.
    pub fn set_use(&mut self, inst: Inst, index: usize, value: Value) {
        let Some(slot) = self.insts[inst].data.uses_mut().nth(index) else { return };
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

    /// Makes every user of `old` use `new` instead.
    pub fn replace_all_uses(&mut self, old: Value, new: Value) {
        if old == new {
            return;
        }
        for inst in self.users(old) {
            let slots: SmallVec<[usize; 4]> =
                self.inst(inst).uses().enumerate().filter(|(_, v)| *v == old).map(|(i, _)| i).collect();
            for slot in slots {
                self.set_use(inst, slot, new);
            }
        }
        self.values[old].users.clear();
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

    /// Names a value, or makes it anonymous.
    pub fn set_value_name(&mut self, value: Value, name: Option<Name>) {
        let old = std::mem::replace(&mut self.values[value].name, name);
        self.record(Undo::Name(value, old));
    }

    // --- Transactions ----------------------------------------------------------------------------------------------

    /// Begins to record changes. Ends with [`commit`](Function::commit) or [`rollback`](Function::rollback).
    pub fn begin(&mut self) {
        self.journal.get_or_insert_with(Vec::new);
    }
    /// The number of changes recorded since [`begin`](Function::begin).
    pub fn pending_changes(&self) -> usize {
        self.journal.as_ref().map_or(0, Vec::len)
    }
    /// Keeps the recorded changes.
    pub fn commit(&mut self) {
        for undo in self.journal.take().unwrap_or_default() {
            match undo {
                // Unless it was erased and undone, or never linked at all, the instruction stays.
                Undo::Erased(inst) => self.drop_inst(inst),
                Undo::BlocksRemoved(blocks, _) => blocks.into_iter().for_each(|block| self.drop_block(block)),
                _ => {}
            }
        }
    }
    /// Undoes the recorded changes, latest first: the function is as it was at [`begin`](Function::begin).
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

    // --- Primitives ------------------------------------------------------------------------------------------------

    fn record(&mut self, undo: Undo) {
        if let Some(journal) = &mut self.journal {
            journal.push(undo);
        }
    }

    fn new_value(&mut self, ty: Type, def: ValueDef) -> Value {
        self.values.insert(ValueData { ty, def, name: None, uses: 0, users: SmallVec::new() })
    }

    fn add_use(&mut self, value: Value, inst: Inst) {
        let data = &mut self.values[value];
        data.uses += 1;
        data.users.push(inst);
        if self.insts[inst].data.is_wide() {
            *self.wide_uses.entry((inst, value)).or_default() += 1;
        }
        if data.users.len() > 8 && data.users.len() > 2 * data.uses as usize {
            let live = self.users(value);
            self.values[value].users = live.into_iter().collect();
        }
    }

    fn remove_use(&mut self, value: Value, inst: Inst) {
        if self.insts[inst].data.is_wide()
            && let Entry::Occupied(mut count) = self.wide_uses.entry((inst, value))
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        // Blocks that are removed together may use each other's values, which are gone by then.
        if let Some(data) = self.values.get_mut(value) {
            data.uses -= 1;
        }
    }

    fn swap_targets(&mut self, inst: Inst, targets: SmallVec<[Target; 0]>) -> SmallVec<[Target; 0]> {
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

    fn renumber_params(&mut self, block: Block) {
        for i in 0..self.blocks[block].params.len() {
            let v = self.blocks[block].params[i];
            self.values[v].def = ValueDef::Param(block, i as u32);
        }
    }

    fn link(&mut self, inst: Inst, block: Block, next: Option<Inst>) {
        let prev = match next {
            Some(n) => self.insts[n].node.prev,
            None => self.blocks[block].last,
        };
        let low = prev.map_or(0, |p| self.insts[p].node.position);
        let position = match next {
            None => low + GAP,
            Some(n) => low.midpoint(self.insts[n].node.position),
        };
        self.insts[inst].node = Node { block: Some(block), prev, next, position };
        match prev {
            Some(p) => self.insts[p].node.next = Some(inst),
            None => self.blocks[block].first = Some(inst),
        }
        match next {
            Some(n) => self.insts[n].node.prev = Some(inst),
            None => self.blocks[block].last = Some(inst),
        }
        if position == low {
            self.make_room(inst);
        }
        self.linked += 1;
        let uses: SmallVec<[Value; 8]> = self.inst(inst).uses().collect();
        for v in uses {
            self.add_use(v, inst);
        }
    }

    /// Spreads the positions around an instruction that was given its neighbour's: over the smallest aligned range of positions that is
    /// sparse enough, where larger ranges must be sparser. An insertion takes logarithmic time, amortized, wherever insertions fall.
    ///
    /// Bender, Cole, Demaine, Farach-Colton, Zito: Two simplified algorithms for maintaining order in a list. ESA 2002.
    fn make_room(&mut self, inst: Inst) {
        const SPARSER: f64 = 4.0 / 3.0;
        let position = |f: &Self, inst: Inst| f.insts[inst].node.position;
        let at = position(self, inst);
        let (mut first, mut last, mut count) = (inst, inst, 1u64);
        let mut room = 1.0;
        for bits in 1..u64::BITS {
            room *= SPARSER;
            let width = 1u64 << bits;
            let base = at & !(width - 1);
            while let Some(prev) = self.insts[first].node.prev.filter(|&p| position(self, p) >= base) {
                (first, count) = (prev, count + 1);
            }
            while let Some(next) = self.insts[last].node.next.filter(|&n| position(self, n) - base < width) {
                (last, count) = (next, count + 1);
            }
            if count as f64 <= room {
                let step = width / count;
                let mut next = Some(first);
                for n in 0..count {
                    let Some(inst) = next else { return };
                    self.insts[inst].node.position = base + n * step;
                    next = self.insts[inst].node.next;
                }
                return;
            }
        }
    }

    fn unlink(&mut self, inst: Inst) -> Option<(Block, Option<Inst>)> {
        let node = std::mem::take(&mut self.insts[inst].node);
        let block = node.block?;
        match node.prev {
            Some(p) => self.insts[p].node.next = node.next,
            None => self.blocks[block].first = node.next,
        }
        match node.next {
            Some(n) => self.insts[n].node.prev = node.prev,
            None => self.blocks[block].last = node.prev,
        }
        self.linked -= 1;
        let uses: SmallVec<[Value; 8]> = self.inst(inst).uses().collect();
        for v in uses {
            self.remove_use(v, inst);
        }
        Some((block, node.next))
    }

    fn unlink_recorded(&mut self, inst: Inst) {
        if let Some((block, next)) = self.unlink(inst) {
            self.record(Undo::Unlinked(inst, block, next));
        }
    }

    fn drop_block(&mut self, block: Block) {
        for param in self.blocks.remove(block).map(|b| b.params).unwrap_or_default() {
            self.values.remove(param);
        }
    }

    fn drop_inst(&mut self, inst: Inst) {
        if let Some(entry) = self.insts.remove(inst) {
            for v in entry.data.results {
                self.values.remove(v);
            }
        }
    }
}

/// The instructions of a block, in order.
#[derive(Clone)]
pub struct Insts<'a> {
    func: &'a Function,
    next: Option<Inst>,
    back: Option<Inst>,
}

impl Iterator for Insts<'_> {
    type Item = Inst;
    fn next(&mut self) -> Option<Inst> {
        let inst = self.next?;
        if self.back == Some(inst) {
            (self.next, self.back) = (None, None);
        } else {
            self.next = self.func.next_inst(inst);
        }
        Some(inst)
    }
}
impl DoubleEndedIterator for Insts<'_> {
    fn next_back(&mut self) -> Option<Inst> {
        let inst = self.back?;
        if self.next == Some(inst) {
            (self.next, self.back) = (None, None);
        } else {
            self.back = self.func.prev_inst(inst);
        }
        Some(inst)
    }
}
