//! Attribution of shape errors: finds the body operation whose operands' shapes don't broadcast.

use super::super::verify::plain_axis;
use super::super::{ArrayExpr, BodyOp, BodyRef, Mode, Source};
use super::env::Env;
use crate::error::{EvalError, EvalErrorKind};
use crate::name::Name;
use smallvec::SmallVec;

/// An extent other than 1, and the operand that has it.
type Extent = Option<(usize, Name)>;

/// The extents of a body value along the axes.
type Extents = SmallVec<[Extent; 4]>;

/// Names the first operation whose operands' extents don't broadcast, so that a fused operation fails like
/// an unfused one. For an inlined function the error names its call. Without such an operation the error
/// stays that of the node.
pub(super) fn blamed(error: EvalError, expr: &ArrayExpr, env: &Env<'_>) -> EvalError {
    if error.kind != EvalErrorKind::Shape || error.op.is_some() {
        return error;
    }
    let operands: Vec<Extents> = (0..expr.operands.len()).map(|at| of_operand(expr, at, env)).collect();
    let mut insts: Vec<Extents> = Vec::with_capacity(expr.body.insts.len());
    for inst in &expr.body.insts {
        let mut all = Extents::from_elem(None, expr.axes.len());
        for arg in &inst.args {
            let extents = match *arg {
                BodyRef::Operand(n) => operands.get(n as usize),
                BodyRef::Inst(n, _) => insts.get(n as usize),
                _ => None,
            };
            for (axis, extent) in extents.into_iter().flatten().enumerate() {
                match (all[axis], *extent) {
                    (Some((a, x)), Some((b, y))) if a != b => {
                        let BodyOp::Op(op, _) = &inst.op else { return error };
                        let message = format!(
                            "the operands' shapes don't broadcast: along axis {axis} `{x}` has extent {a} and `{y}` has {b}"
                        );
                        return EvalError { message, ..error }.at(op.name, inst.applied.unwrap_or(inst.loc));
                    }
                    (None, Some(_)) => all[axis] = *extent,
                    _ => {}
                }
            }
        }
        insts.push(all);
    }
    error
}

fn of_operand(expr: &ArrayExpr, at: usize, env: &Env<'_>) -> Extents {
    let mut extents = Extents::from_elem(None, expr.axes.len());
    let operand = &expr.operands[at];
    if let Source::Array(arg) = operand.source {
        for (index, &extent) in operand.index.iter().zip(env.shape(arg as usize)).filter(|(_, extent)| **extent != 1) {
            let checked = matches!(index.mode, Mode::Broadcast | Mode::Proved);
            let axis = plain_axis(&index.expr).filter(|_| checked);
            if let Some(slot) = axis.and_then(|axis| extents.get_mut(axis as usize)) {
                *slot = Some((extent, operand.name));
            }
        }
    }
    extents
}
