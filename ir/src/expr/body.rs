//! The scalar SSA body of an expression: a DAG of instructions in topological order.

use super::ArrayExpr;
use crate::attr::Attrs;
use crate::dtype::DType;
use crate::loc::Loc;
use crate::op::Op;
use crate::scalar::Scalar;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A value inside a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BodyRef {
    /// The n-th operand of the expression.
    Operand(u32),
    /// The index along the n-th axis, as `i64`. The axes of a nested expression follow those of the
    /// enclosing ones.
    Axis(u32),
    /// The n-th accumulator; only in a `finish` body or a combining region.
    Acc(u32),
    /// A result of an earlier instruction of this body.
    Inst(u32, u8),
    /// A constant.
    Const(Scalar),
}

/// The operation of a body instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BodyOp {
    /// An elementwise op, on scalars.
    Op(Op, Attrs),
    /// An expression whose axes are all reduce axes. Its arguments are the captured values, its results
    /// scalars.
    Nested(Box<ArrayExpr>),
}

impl BodyOp {
    /// The source location of an instruction with this operation that was written at `loc`, or that replaces
    /// one written there.
    pub fn place(&self, loc: Loc) -> Loc {
        match self {
            BodyOp::Op(op, _) => loc.of(op.name),
            BodyOp::Nested(_) => loc,
        }
    }
}

/// An instruction of a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyInst {
    /// The operation.
    pub op: BodyOp,
    /// Its operands.
    pub args: SmallVec<[BodyRef; 3]>,
    /// The dtypes of its results.
    pub dtypes: SmallVec<[DType; 1]>,
    /// Source location.
    #[serde(skip)]
    pub loc: Loc,
    /// The source location of the call of a scalar function, such as a `ufunc`, from which this instruction
    /// was inlined. Errors of operands that don't broadcast are reported there.
    #[serde(skip)]
    pub applied: Option<Loc>,
}

/// A body: instructions, each using earlier ones, and the values that it yields.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The instructions in topological order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub insts: Vec<BodyInst>,
    /// The values that the body yields.
    pub yields: Vec<BodyRef>,
}

impl Body {
    /// Appends an instruction; returns its results.
    pub fn push(
        &mut self,
        op: BodyOp,
        args: impl IntoIterator<Item = BodyRef>,
        dtypes: impl IntoIterator<Item = DType>,
        loc: Loc,
    ) -> SmallVec<[BodyRef; 2]> {
        let number = self.insts.len() as u32;
        let (args, dtypes) = (args.into_iter().collect(), dtypes.into_iter().collect());
        let inst = BodyInst { loc: op.place(loc), op, args, dtypes, applied: None };
        let results = (0..inst.dtypes.len()).map(|r| BodyRef::Inst(number, r as u8)).collect();
        self.insts.push(inst);
        results
    }
}
