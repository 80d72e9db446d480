//! Reducer pass: removes instructions from the bodies of expressions.

use super::copy::CopyEdits;
use super::{Reducer, ddmin};
use crate::error::Error;
use rewright::expr::{BodyOp, BodyRef, IndexExpr, prune};
use rewright::{ArrayExpr, Attr, Attrs, DType, Function, Inst, Scalar};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Reducer<'_> {
    /// Removes body instructions: uses of a result become uses of an operand, or of a constant.
    pub(super) fn bodies(&mut self) -> Result<(), Error> {
        for name in self.names() {
            let mut at = 0;
            while let Some((func, inst)) = self.module.get(name).and_then(|func| Some((func, nth(func, at)?))) {
                at += 1;
                let func = func.clone();
                let Some(expr) = func.inst(inst).attrs.expr().filter(|expr| is_plain(expr)) else { continue };
                ddmin((0..expr.body.insts.len()).collect(), |kept: &[usize]| {
                    let candidate = self.edit_of(&func, without(&func, inst, expr, kept));
                    self.attempt(candidate)
                })?;
            }
        }
        Ok(())
    }
}

/// The n-th instruction with an expression.
fn nth(func: &Function, n: usize) -> Option<Inst> {
    let mut insts = func.blocks().flat_map(|block| func.insts(block));
    { insts.by_ref() }.filter(|&inst| func.inst(inst).attrs.expr().is_some()).nth(n)
}

/// True if only the body reads operands.
fn is_plain(expr: &ArrayExpr) -> bool {
    let mut indices = expr.operands.iter().flat_map(|operand| &operand.index);
    let nested = |op: &BodyOp| matches!(op, BodyOp::Nested(_));
    indices.all(|index| !matches!(index.expr, IndexExpr::Gather { .. }))
        && !expr.body.insts.iter().any(|inst| nested(&inst.op))
        && expr.guard.is_empty()
        && expr.finish.is_none()
}

/// The edit that keeps only some instructions of a body.
fn without(func: &Function, inst: Inst, expr: &ArrayExpr, kept: &[usize]) -> CopyEdits {
    let mut less = expr.clone();
    // The replacement of each result. A removed result maps to an operand of its instruction, which is
    // defined earlier.
    let mut now: HashMap<BodyRef, BodyRef> = HashMap::new();
    for (at, body_inst) in less.body.insts.iter_mut().enumerate() {
        for arg in &mut body_inst.args {
            *arg = now.get(arg).copied().unwrap_or(*arg);
        }
        if kept.contains(&at) {
            continue;
        }
        for (result, &dtype) in body_inst.dtypes.iter().enumerate() {
            let same = body_inst.args.iter().copied().find(|&arg| dtype_of(expr, arg) == Some(dtype));
            let with = same.unwrap_or(BodyRef::Const(Scalar::one(dtype)));
            now.insert(BodyRef::Inst(at as u32, result as u8), with);
        }
    }
    for yielded in &mut less.body.yields {
        *yielded = now.get(yielded).copied().unwrap_or(*yielded);
    }
    let mut slots: Vec<usize> = (0..func.inst(inst).args.len()).collect();
    prune(&mut less.body, &less.axes, &mut less.operands, &mut slots);
    let unread: HashSet<(Inst, usize)> =
        (0..func.inst(inst).args.len()).filter(|slot| !slots.contains(slot)).map(|slot| (inst, slot)).collect();
    let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(less)));
    CopyEdits { attrs: HashMap::from([(inst, attrs)]), unread, ..CopyEdits::default() }
}

fn dtype_of(expr: &ArrayExpr, value: BodyRef) -> Option<DType> {
    match value {
        BodyRef::Operand(n) => expr.operands.get(n as usize).map(|operand| operand.dtype),
        BodyRef::Axis(_) => Some(DType::I64),
        BodyRef::Inst(n, result) => expr.body.insts.get(n as usize)?.dtypes.get(result as usize).copied(),
        BodyRef::Const(scalar) => Some(scalar.dtype()),
        BodyRef::Acc(_) => None,
    }
}
