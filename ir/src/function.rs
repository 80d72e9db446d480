//! Functions: entities in `slotmap` arenas, blocks with parameters, an ordered layout, and use counts.
//!
//! Every change of blocks, instructions and values goes through a few primitives, each of which can be
//! recorded and undone; see [`Function::begin`]. The public fields are not recorded. No observable result
//! depends on keys: print, compare and iterate in layout order.

mod edit;
mod entity;
mod inst_data;
mod integrity;
mod journal;
mod labels;
mod layout;
mod storage;
mod targets;

pub use entity::{Block, Inst, Value, ValueDef};
pub use inst_data::InstData;
pub(crate) use labels::ValueLabels;
pub use targets::{Target, Targets};

use crate::loc::Loc;
use crate::name::Name;
use crate::scalar::Scalar;
use crate::types::Signature;
use crate::types::Type;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};
use slotmap::SlotMap;
use smallvec::SmallVec;
use storage::{BlockEntry, Def, InstEntry, Undo, ValueEntry};

/// A function: blocks of instructions in SSA form. The parameters are those of the first block.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name, without the `@`.
    pub name: Name,
    /// The result types.
    pub results: Vec<Type>,
    /// Source location.
    pub loc: Loc,
    /// Type inference has not run: only parameters may have types, those of other values are
    /// [unknown](Type::unknown), and literals have no dtypes.
    pub untyped: bool,
    values: SlotMap<Value, ValueEntry>,
    insts: SlotMap<Inst, InstEntry>,
    blocks: SlotMap<Block, BlockEntry>,
    /// The blocks of the layout, in order.
    order: Vec<Block>,
    /// The scalars of constant values.
    pool: Vec<Scalar>,
    /// The value of each scalar of the pool.
    constants: IndexMap<Scalar, Value, FxBuildHasher>,
    /// The same for literals without a dtype, before type inference.
    weak_constants: IndexMap<Scalar, Value, FxBuildHasher>,
    /// The changes since [`begin`](Function::begin).
    journal: Option<Vec<Undo>>,
    /// The allocation of the last journal, reused by the next one.
    journal_room: Vec<Undo>,
    /// The number of instructions in the layout.
    linked_insts: usize,
    /// How many operand slots of an instruction with many operands hold each value.
    wide_uses: FxHashMap<(Inst, Value), u32>,
    /// The slot in which a value was last found among an instruction's uses: the next value to replace is
    /// often beside it.
    latest_slot: usize,
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
            pool: Vec::new(),
            constants: IndexMap::default(),
            weak_constants: IndexMap::default(),
            untyped: false,
            journal: None,
            journal_room: Vec::new(),
            linked_insts: 0,
            wide_uses: FxHashMap::default(),
            latest_slot: 0,
        }
    }

    /// Reserves space for `values` more values and `insts` more instructions.
    pub(crate) fn reserve(&mut self, values: usize, insts: usize) {
        self.values.reserve(values);
        self.insts.reserve(insts);
    }

    // --- Reading --------------------------------------------------------------------------------

    /// Blocks in order; the first is the entry.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + '_ {
        self.order.iter().copied()
    }
    /// The first block.
    #[inline]
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
    /// True if the layout has this block.
    #[inline]
    pub fn has_block(&self, block: Block) -> bool {
        self.blocks.get(block).is_some_and(|b| b.linked)
    }
    /// A block's parameters.
    #[inline]
    pub fn block_params(&self, block: Block) -> &[Value] {
        &self.blocks[block].params
    }
    /// A block's name, if it was given one.
    pub fn block_name(&self, block: Block) -> Option<Name> {
        self.blocks[block].name
    }
    /// A block's first instruction.
    #[inline]
    pub fn first_inst(&self, block: Block) -> Option<Inst> {
        self.blocks[block].first
    }
    /// A block's last instruction, if it is a terminator.
    #[inline]
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        self.blocks[block].last.filter(|&i| self.inst(i).op.is_terminator())
    }
    /// The successors of a block in order, repeated for several branches to the same block.
    pub fn successors(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        self.terminator(block).into_iter().flat_map(|i| self.inst(i).targets.iter().map(|t| t.block))
    }
    /// The number of instructions in the layout.
    #[inline]
    pub fn inst_count(&self) -> usize {
        self.linked_insts
    }
    /// An instruction.
    ///
    /// # Panics
    /// If the instruction was removed; see [`linked_inst`](Function::linked_inst).
    #[inline]
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst].data
    }
    /// True if the layout has this instruction.
    #[inline]
    pub fn is_linked(&self, inst: Inst) -> bool {
        self.insts.get(inst).is_some_and(|e| e.node.block.is_some())
    }
    /// The block that an instruction is in.
    #[inline]
    pub fn block_of(&self, inst: Inst) -> Option<Block> {
        self.insts.get(inst).and_then(|e| e.node.block)
    }
    /// The instruction after; none for the last one of a block, and for unlinked ones.
    ///
    /// # Panics
    /// If the instruction was removed.
    #[inline]
    pub fn next_inst(&self, inst: Inst) -> Option<Inst> {
        self.insts[inst].node.next
    }
    /// The instruction before; none for the first one of a block, and for unlinked ones.
    ///
    /// # Panics
    /// If the instruction was removed.
    #[inline]
    pub fn prev_inst(&self, inst: Inst) -> Option<Inst> {
        self.insts[inst].node.prev
    }
    /// True if `a` stands before `b` in the same block.
    #[inline]
    pub fn comes_before(&self, a: Inst, b: Inst) -> bool {
        let (a, b) = (&self.insts[a].node, &self.insts[b].node);
        a.block.is_some() && a.block == b.block && a.position < b.position
    }
    /// True if this value exists.
    #[inline]
    pub fn has_value(&self, value: Value) -> bool {
        self.values.contains_key(value)
    }
    /// A value's type.
    ///
    /// # Panics
    /// If the value was removed; see [`has_value`](Function::has_value).
    #[inline]
    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value].ty
    }
    /// The definition of a value.
    #[inline]
    pub fn def(&self, value: Value) -> ValueDef {
        match self.values[value].def {
            Def::Param(block, index) => ValueDef::Param(block, index),
            Def::Result(inst, index) => ValueDef::Result(inst, index),
            Def::Const(at) => ValueDef::Const(self.pool[at as usize]),
        }
    }
    /// The instruction that defines a value.
    #[inline]
    pub fn def_inst(&self, value: Value) -> Option<Inst> {
        if let Def::Result(inst, _) = self.values[value].def { Some(inst) } else { None }
    }
    /// True if a value is a constant.
    #[inline]
    pub fn is_const(&self, value: Value) -> bool {
        matches!(self.values[value].def, Def::Const(_))
    }
    /// The scalar of a constant value.
    #[inline]
    pub fn as_const(&self, value: Value) -> Option<Scalar> {
        if let Def::Const(at) = self.values[value].def { Some(self.pool[at as usize]) } else { None }
    }
    /// A value's name, if it was given one.
    #[inline]
    pub fn value_name(&self, value: Value) -> Option<Name> {
        self.values[value].name
    }
    /// The number of operand slots that hold a value.
    #[inline]
    pub fn use_count(&self, value: Value) -> usize {
        self.values[value].uses as usize
    }
    /// The instructions that use a value, each once, in an order that depends only on the changes so far.
    pub fn users(&self, value: Value) -> SmallVec<[Inst; 4]> {
        const FEW: usize = 8;
        let list = &self.values[value].users;
        let live = self.each_user(value);
        if list.len() > FEW {
            let mut seen = rustc_hash::FxHashSet::with_capacity_and_hasher(list.len(), Default::default());
            return live.filter(|&i| seen.insert(i)).collect();
        }
        let mut users = SmallVec::new();
        for user in live {
            if !users.contains(&user) {
                users.push(user);
            }
        }
        users
    }
    /// The users of a value with at most `most` uses, in time proportional to `most`; `None` if there are
    /// more.
    pub fn few_users(&self, value: Value, most: usize) -> Option<SmallVec<[Inst; 4]>> {
        (self.use_count(value) <= most).then(|| self.users(value))
    }
    /// The instructions that use a value or once did; some may be removed. Faster than `users` if the caller
    /// checks each anyway.
    #[inline]
    pub fn past_users(&self, value: Value) -> &[Inst] {
        &self.values[value].users
    }
    /// The instruction, if the layout has it.
    #[inline]
    pub fn linked_inst(&self, inst: Inst) -> Option<&InstData> {
        self.insts.get(inst).filter(|e| e.node.block.is_some()).map(|e| &e.data)
    }
    /// The users of a value without a list of them: an instruction with several uses may come several times.
    #[inline]
    pub fn each_user(&self, value: Value) -> impl Iterator<Item = Inst> + '_ {
        self.values[value].users.iter().copied().filter(move |&user| self.uses_value(user, value))
    }
    #[inline]
    fn uses_value(&self, inst: Inst, value: Value) -> bool {
        self.insts.get(inst).is_some_and(|e| {
            e.node.block.is_some()
                && match e.data.is_wide() {
                    true => self.wide_uses.contains_key(&(inst, value)),
                    false => e.data.args.contains(&value) || e.data.targets.iter().any(|t| t.args.contains(&value)),
                }
        })
    }
}
