//! The entities of a function: keys of values, instructions and blocks.

use crate::scalar::Scalar;
use slotmap::new_key_type;

new_key_type! {
    /// A value: a block parameter, a result of an instruction, or a constant.
    pub struct Value;
    /// An instruction.
    pub struct Inst;
    /// A basic block.
    pub struct Block;
}

/// The definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// The n-th parameter of a block.
    Param(Block, u32),
    /// The n-th result of an instruction.
    Result(Inst, u32),
    /// A constant of the function's pool: no instruction defines it, and it is usable everywhere.
    Const(Scalar),
}
