//! Decides which loop-invariant values are worth a live range through the loop.

use crate::prelude::*;
use rewright_ir::Dim;
use rewright_ir::op::Traits;

/// Cycles an element up to which computing a value again is as fast as reading it from memory.
const CHEAP: u32 = 4;

/// True if reading the results in each iteration is better than computing them. Always true for scalars and
/// for nodes with kernels of their own. True for arrays that may be fused only if they are costly, or if
/// they replace several operands of their size.
pub fn is_profitable(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    if data.attrs.expr().is_some() || !data.results.iter().any(|&r| func.ty(r).is_array()) {
        return true;
    }
    if data.op.traits.intersects(Traits::VIEW | Traits::CONSTRUCTOR) {
        return false;
    }
    if !data.op.is_elementwise() || data.op.cycles() > CHEAP {
        return true;
    }
    let result = func.ty(data.results[0]);
    let whole = |v: &&Value| func.ty(**v).is_array() && !is_smaller(func.ty(**v), result);
    let mut arrays = data.args.iter().filter(whole);
    let first = arrays.next();
    { arrays }.any(|other| Some(other) != first)
}

/// True if an operand is broadcast.
fn is_smaller(operand: &Type, result: &Type) -> bool {
    let stretched = |(&have, &want): (&Dim, &Dim)| have == Dim::Const(1) && want != Dim::Const(1);
    operand.rank() < result.rank() || operand.dims().iter().zip(result.dims()).any(stretched)
}
