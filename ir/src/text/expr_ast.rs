//! The syntax tree of an `arrayexpr` before its operands have types.

use crate::attr::Attrs;
use crate::dtype::DType;
use crate::expr::{Axis, BodyRef, Condition, IndexExpr, Mode, Monoid, Source, Write};
use crate::loc::Loc;
use crate::name::Name;
use crate::op::Op;
use crate::scalar::Literal;
use crate::types::Type;

/// A number without a dtype, and its location.
pub(crate) type PNumber = (Literal, Loc);

#[derive(Debug)]
pub(crate) struct PExpr {
    pub axes: Vec<Axis>,
    pub guard: Vec<Condition>,
    pub operands: Vec<PRead>,
    pub body: PBody,
    pub reductions: Vec<PReduction>,
    pub finish: Option<PBody>,
    /// `None` if every result is written at all parallel axes.
    pub outs: Option<Vec<POut>>,
    pub types: Vec<Type>,
    pub loc: Loc,
    /// The values of the enclosing body that a nested expression captures.
    pub captures: Vec<PRef>,
}

/// An operand.
#[derive(Debug)]
pub(crate) struct PRead {
    pub name: Name,
    pub loc: Loc,
    pub source: Source,
    pub dtype: Option<DType>,
    pub index: Vec<PIndex>,
}

#[derive(Debug)]
pub(crate) struct PIndex {
    pub expr: IndexExpr,
    pub mode: PMode,
}

#[derive(Debug)]
pub(crate) enum PMode {
    Known(Mode),
    Pad(PNumber),
}

#[derive(Debug, Default)]
pub(crate) struct PBody {
    pub insts: Vec<PBodyInst>,
    pub yields: Vec<PRef>,
}

#[derive(Debug)]
pub(crate) struct PBodyInst {
    pub op: PBodyOp,
    pub args: Vec<PRef>,
    pub results: usize,
    pub loc: Loc,
}

#[derive(Debug)]
pub(crate) enum PBodyOp {
    Op(Op, Attrs),
    /// Its arguments are the captures.
    Nested(Box<PExpr>),
}

/// A value of a body, and the location of its use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PRef {
    Known(BodyRef, Loc),
    Number(Literal, Loc),
}

#[derive(Debug)]
pub(crate) struct PReduction {
    pub combine: PCombine,
    pub accumulators: Vec<DType>,
    pub identity: Option<Vec<PNumber>>,
    pub init: PInit,
    pub associative: bool,
    pub commutative: bool,
    pub idempotent: bool,
}

#[derive(Debug)]
pub(crate) enum PCombine {
    Builtin(Monoid),
    Region(PBody),
}

#[derive(Debug)]
pub(crate) enum PInit {
    Identity,
    First,
    Values(Vec<PNumber>),
    Existing(Vec<u32>),
}

#[derive(Debug)]
pub(crate) struct POut {
    pub index: Vec<IndexExpr>,
    pub fill: Option<PNumber>,
    pub write: Write,
}
