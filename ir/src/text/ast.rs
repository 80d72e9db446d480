//! The syntax tree of the text form before type checking: functions, blocks, instructions.

use super::expr_ast::PExpr;
use crate::attr::Attrs;
use crate::loc::Loc;
use crate::name::Name;
use crate::op::Op;
use crate::scalar::Literal;
use crate::types::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PDef {
    /// Nothing yet.
    Undefined,
    /// A construct with an error of its own: no further errors are reported for it.
    Poison,
    /// The n-th parameter of a block.
    Param,
    /// A result of the n-th instruction.
    Result(u32),
}

/// A value with its name.
#[derive(Debug)]
pub(crate) struct PValue<'a> {
    /// The name; `0` for `%0`, which is a number and no name.
    pub name: &'a str,
    pub numbered: bool,
    pub def: PDef,
    /// The location of its definition, or else of its first use.
    pub loc: Loc,
}

/// A parameter; the type is `None` if it has an error.
#[derive(Debug)]
pub(crate) struct PParam {
    pub value: u32,
    pub ty: Option<Type>,
}

/// A block with its name.
#[derive(Debug)]
pub(crate) struct PBlock<'a> {
    pub name: &'a str,
    pub defined: bool,
    /// An instruction of it has a syntax error.
    pub failed: bool,
    pub loc: Loc,
    pub params: Vec<PParam>,
    /// Its instructions, as a range of the function's.
    pub insts: std::ops::Range<usize>,
}

/// An operand. There are very many, so they are small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum POperand {
    /// A value of the function, by number.
    Value(u32),
    /// A literal of the function, by number.
    Literal(u32),
}

/// An operand and its location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PArg {
    pub operand: POperand,
    pub loc: Loc,
}

/// A branch target.
#[derive(Debug)]
pub(crate) struct PTarget {
    pub block: u32,
    pub args: SmallVec<[PArg; 2]>,
    pub loc: Loc,
}

/// An instruction without syntax errors.
#[derive(Debug)]
pub(crate) struct PInst {
    pub op: Op,
    pub results: SmallVec<[u32; 1]>,
    pub args: SmallVec<[PArg; 2]>,
    pub attrs: Attrs,
    pub targets: Vec<PTarget>,
    /// The expression of an `arrayexpr`, which becomes an attribute once the operands have types.
    pub expr: Option<Box<PExpr>>,
    /// The result types, if they are written.
    pub types: Option<Vec<Type>>,
    /// The location of the op's name.
    pub op_loc: Loc,
    /// The location of the instruction, up to the end of its first line.
    pub loc: Loc,
    /// The instruction in words, if there is no text to point at.
    pub place: Option<Box<str>>,
}

/// No value.
const NO_ID: u32 = u32::MAX;

/// A function.
#[derive(Debug)]
pub(crate) struct PFunction<'a> {
    pub name: Name,
    pub loc: Loc,
    pub params: Vec<PParam>,
    /// Marked `untyped`.
    pub untyped: bool,
    /// The result types; `None` if they have an error.
    pub results: Option<Vec<Type>>,
    /// Blocks by number; `order` has the defined ones.
    pub blocks: Vec<PBlock<'a>>,
    pub order: Vec<u32>,
    pub insts: Vec<PInst>,
    pub values: Vec<PValue<'a>>,
    pub literals: Vec<Literal>,
    /// It has errors already.
    pub failed: bool,
    value_ids: FxHashMap<(bool, &'a str), u32>,
    /// The ids of values `%0`, `%1` and so on, which appear roughly in that order.
    numbered_ids: Vec<u32>,
    /// A number far ahead of the others is in `value_ids`.
    has_far: bool,
    block_ids: FxHashMap<&'a str, u32>,
}

impl<'a> PFunction<'a> {
    pub fn new(name: Name, loc: Loc) -> Self {
        PFunction {
            name,
            loc,
            params: Vec::new(),
            untyped: false,
            results: Some(Vec::new()),
            blocks: Vec::new(),
            order: Vec::new(),
            insts: Vec::new(),
            values: Vec::new(),
            literals: Vec::new(),
            failed: false,
            value_ids: FxHashMap::default(),
            numbered_ids: Vec::new(),
            has_far: false,
            block_ids: FxHashMap::default(),
        }
    }

    /// The id of a value, by its name.
    pub fn value(&mut self, name: &'a str, numbered: bool, loc: Loc) -> u32 {
        let next = self.values.len() as u32;
        let near = if numbered { self.near(name) } else { None };
        let id = match near {
            Some(at) if !(self.has_far && self.value_ids.contains_key(&(true, name))) => {
                let slot = &mut self.numbered_ids[at];
                *slot = if *slot == NO_ID { next } else { *slot };
                *slot
            }
            // A number far ahead of the number of values so far. It stays here when there are more values.
            _ => {
                self.has_far |= numbered;
                *self.value_ids.entry((numbered, name)).or_insert(next)
            }
        };
        if id == next {
            self.values.push(PValue { name, numbered, def: PDef::Undefined, loc });
        }
        id
    }

    /// The index in `numbered_ids` of a value named `%0`, `%1` and so on: there are many, so they are not in
    /// a hash table.
    fn near(&mut self, name: &str) -> Option<usize> {
        // With leading zeros it is a different name.
        let plain = name.len() == 1 || !name.starts_with('0');
        let at = name.parse::<usize>().ok().filter(|&at| plain && at < 64 + 2 * self.values.len())?;
        if at >= self.numbered_ids.len() {
            self.numbered_ids.resize(at + 1, NO_ID);
        }
        Some(at)
    }

    /// The id of a literal.
    pub fn literal(&mut self, literal: Literal) -> u32 {
        self.literals.push(literal);
        self.literals.len() as u32 - 1
    }

    /// Defines a value. The location of an earlier definition is returned as an error.
    pub fn define(&mut self, id: u32, def: PDef, loc: Loc) -> Result<(), Loc> {
        let value = &mut self.values[id as usize];
        match value.def {
            PDef::Undefined => {
                (value.def, value.loc) = (def, loc);
                Ok(())
            }
            _ => Err(value.loc),
        }
    }

    /// The id of a block, by its name.
    pub fn block(&mut self, name: &'a str, loc: Loc) -> u32 {
        let next = self.blocks.len() as u32;
        let id = *self.block_ids.entry(name).or_insert(next);
        if id == next {
            self.blocks.push(PBlock { name, defined: false, failed: false, loc, params: Vec::new(), insts: 0..0 });
        }
        id
    }

    /// The parameters of a block; those of the first block are the function's.
    pub fn block_params(&self, id: u32) -> &[PParam] {
        if self.order.first() == Some(&id) { &self.params } else { &self.blocks[id as usize].params }
    }
}
