//! `pack_bits %x`: packs bools into 64-bit words along the last axis. Padding bits at the end of a row are
//! zero.

use super::refuse;
use crate::pattern::reserved;
use crate::styles::bits::BITS_PER_WORD;
use rewright::ir::op::Eval;
use rewright::ir::{Arity, Elements, EvalCx, EvalError, InferCx, OpDef, Traits, TypeError, Types};
use rewright::lowering::{PacksBools, pack_bools};
use rewright::ndarray::{ArcArray, IxDyn};
use rewright::{Array, DType, Datum, Dim, Type, register_interface, register_op};

/// The op.
pub static PACK_BITS: OpDef =
    OpDef::new("pack_bits", "bools as words of 64, along the last axis", Arity::Exactly(1), infer, Eval::Array(eval))
        .traits(Traits::DIRECT);

register_op!(PACK_BITS);
// Lowering packs bools in the kernel that computes them, if nothing else reads them.
register_interface!("pack_bits", PacksBools, &PacksBools);

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = &cx.args[0];
    let Some((last, around)) = ty.dims().split_last().filter(|_| ty.dtype().is_bool() && ty.style().is_none()) else {
        return Err(refuse(cx, format!("packs a dense array of bools, got {ty}")).operand(0));
    };
    let words = if let Dim::Const(n) = last { Dim::Const(n.div_ceil(BITS_PER_WORD)) } else { Dim::Any };
    Ok(Types::from_iter([Type::array(DType::U64, around.iter().copied().chain([words]).collect::<Vec<_>>())]))
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let [Datum::Array(array)] = args else { return Err(EvalError::value("packs an array")) };
    let Elements::Bool(bools) = Elements::of(array) else { return Err(EvalError::value("packs bools")) };
    let mut shape = array.shape().to_vec();
    let Some(row) = shape.last_mut() else { return Err(EvalError::shape("packs along an axis")) };
    let in_row = std::mem::replace(row, row.div_ceil(BITS_PER_WORD as usize));
    let len = cx.len(&shape)?;
    cx.spend(bools.len() as u64)?;
    let mut words = reserved(len).map_err(EvalError::limit)?;
    words.resize(len, 0);
    // Empty rows have no words, and `chunks` needs a positive length.
    if in_row > 0 {
        for (row, words) in bools.chunks(in_row).zip(words.chunks_mut(in_row.div_ceil(BITS_PER_WORD as usize))) {
            pack_bools(row, words);
        }
    }
    let packed = ArcArray::from_shape_vec(IxDyn(&shape), words);
    packed.map(|words| vec![Array::U64(words).into()]).map_err(|error| EvalError::shape(error.to_string()))
}
