//! Interface of constructors: computes an element in the body of an array expression.

use rewright::expr::{Body, BodyOp, BodyRef};
use rewright::ops::{arithmetic, compare, logic};
use rewright::{Attrs, DType, InstData, Loc, Op, OpDef, Scalar, register_interface};

/// Interface: an op whose elements are functions of their positions, so that a user can compute them.
pub struct Elements {
    /// Appends the computation of the element to the body, and returns its value, of the dtype of the
    /// result. `None` if this instruction has no such computation.
    pub element: fn(&mut At<'_>) -> Option<BodyRef>,
}

/// The context of the computation of one element.
pub struct At<'a> {
    /// The body to append to.
    pub body: &'a mut Body,
    /// The constructor.
    pub inst: &'a InstData,
    /// Its first operand, a scalar, if it has one.
    pub operand: Option<BodyRef>,
    /// The position of the element, an `i64` for each axis. `None` if the body can't compute it, which
    /// matters only to constructors that depend on it.
    pub positions: Option<&'a [BodyRef]>,
    /// The dtype of the element.
    pub dtype: DType,
    /// The location in the source.
    pub loc: Loc,
}

impl At<'_> {
    /// The result of an op on two values.
    pub fn apply(&mut self, op: &'static OpDef, args: [BodyRef; 2], dtype: DType) -> BodyRef {
        self.body.push(BodyOp::Op(Op(op), Attrs::new()), args, [dtype], self.loc)[0]
    }

    /// 1 where a bool is true, else 0.
    pub fn one_if(&mut self, holds: BodyRef) -> BodyRef {
        self.body.cast(holds, DType::Bool, self.dtype, self.loc)
    }

    /// Compares the distance of a matrix position above the main diagonal with the offset: 1 if the test
    /// holds, else 0.
    fn above(&mut self, test: &'static OpDef) -> Option<BodyRef> {
        let &[row, column] = self.positions? else { return None };
        let offset = BodyRef::Const(Scalar::I64(self.inst.attrs.int("offset").unwrap_or(0)));
        let above = self.apply(&arithmetic::SUB, [column, row], DType::I64);
        let holds = self.apply(test, [above, offset], DType::Bool);
        Some(self.one_if(holds))
    }
}

register_interface!("full", Elements, &Elements { element: |at| at.operand });
register_interface!("iota", Elements, &Elements { element: iota });
register_interface!("eye", Elements, &Elements { element: |at| at.above(&compare::EQ) });
register_interface!("tri", Elements, &Elements { element: |at| at.above(&compare::LE) });
register_interface!("delta", Elements, &Elements { element: delta });

fn iota(at: &mut At<'_>) -> Option<BodyRef> {
    let positions = at.positions?;
    let axis = at.inst.attrs.int("axis").unwrap_or(0);
    let axis = if axis < 0 { axis + positions.len() as i64 } else { axis };
    let position = *positions.get(usize::try_from(axis).ok()?)?;
    Some(at.body.cast(position, DType::I64, at.dtype, at.loc))
}

fn delta(at: &mut At<'_>) -> Option<BodyRef> {
    let positions = at.positions?;
    let mut equal = BodyRef::Const(Scalar::Bool(true));
    for (n, pair) in positions.windows(2).enumerate() {
        let next = at.apply(&compare::EQ, [pair[0], pair[1]], DType::Bool);
        equal = if n == 0 { next } else { at.apply(&logic::AND, [equal, next], DType::Bool) };
    }
    Some(at.one_if(equal))
}
