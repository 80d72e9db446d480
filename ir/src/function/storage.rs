//! The records of a function's arenas, and of its journal.

use super::entity::{Block, Inst, Value};
use super::inst_data::InstData;
use super::targets::Targets;
use crate::attr::Attrs;
use crate::name::Name;
use crate::types::Type;
use smallvec::SmallVec;

/// A [`ValueDef`](super::ValueDef) as it is stored: constants stay in the pool, since they need twice the
/// space of the others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Def {
    Param(Block, u32),
    Result(Inst, u32),
    Const(u32),
}

#[derive(Clone, Debug)]
pub(super) struct ValueEntry {
    pub(super) ty: Type,
    pub(super) def: Def,
    pub(super) name: Option<Name>,
    /// The number of operand slots of linked instructions that hold the value.
    pub(super) uses: u32,
    /// Instructions that hold the value or once did; see `Function::users`.
    pub(super) users: SmallVec<[Inst; 2]>,
}

/// The place of an instruction in its block: a link of a list.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) block: Option<Block>,
    pub(super) prev: Option<Inst>,
    pub(super) next: Option<Inst>,
    /// Increases along a block, with gaps.
    pub(super) position: u64,
}

#[derive(Clone, Debug)]
pub(super) struct InstEntry {
    pub(super) data: InstData,
    pub(super) node: Node,
}

#[derive(Clone, Debug, Default)]
pub(super) struct BlockEntry {
    pub(super) name: Option<Name>,
    pub(super) params: Vec<Value>,
    pub(super) first: Option<Inst>,
    pub(super) last: Option<Inst>,
    pub(super) linked: bool,
}

/// The inverse of one primitive mutation.
#[derive(Clone, Debug)]
pub(super) enum Undo {
    Created(Inst),
    Linked(Inst),
    Unlinked(Inst, Block, Option<Inst>),
    Erased(Inst),
    Operand(Inst, usize, Value),
    Attrs(Inst, Attrs),
    Targets(Inst, Targets),
    Type(Value, Type),
    Name(Value, Option<Name>),
    BlockCreated(Block),
    /// The blocks, and the previous order.
    BlocksRemoved(Vec<Block>, Vec<Block>),
    ParamAdded(Block),
    ParamRemoved(Block, usize, Value),
}
