//! Wraps one read of elements at arrays of positions as an array expression, so that it runs on the code
//! generators.

use super::wrap::Wrapper;
use rewright_ir::expr::{Affine, Index, IndexExpr, Mode, Negative, Source};
use rewright_ir::ops::gather::{GATHER, TAKE};
use rewright_ir::{ArrayExpr, Dim, Function, InstData, Type};
use smallvec::smallvec;

/// True if an instruction reads single elements at arrays of positions, one of each axis. Others read rows,
/// which are [copied](super::pick).
pub fn gathers_elements(func: &Function, data: &InstData) -> bool {
    let is_gather = data.op == TAKE || data.op == GATHER;
    is_gather && data.args.first().is_some_and(|&array| func.ty(array).rank() + 1 == data.args.len())
}

/// A `gather` or `take` of elements as an expression over the instruction's operands, or the reason against
/// it.
pub fn wrap_gather(func: &Function, data: &InstData) -> Result<ArrayExpr, String> {
    let (&[array, ..], &[result]) = (&data.args[..], &data.results[..]) else { return Err("it has no array".into()) };
    let types: Vec<Type> = data.args.iter().map(|&arg| func.ty(arg).clone()).collect();
    let result = func.ty(result);
    if let Some(style) = types.iter().find_map(Type::style) {
        return Err(format!("elements of `{style}` are looked at one by one"));
    }
    let gathered = |(arg, ty): (u32, &Type)| {
        // Positions of fewer axes are the same along the first ones.
        let first = result.rank().saturating_sub(ty.rank());
        let position = |(dim, axis): (&Dim, usize)| match *dim == Dim::Const(1) && result.dims()[axis] != *dim {
            true => IndexExpr::Affine(Affine::constant(0)),
            false => IndexExpr::Affine(Affine::axis(axis as u32)),
        };
        let index = ty.dims().iter().zip(first..).map(position).collect();
        Index {
            expr: IndexExpr::Gather { arg, index, offset: Affine::default(), negative: Negative::FromEnd },
            mode: Mode::Check,
        }
    };
    let index = (0..).zip(&types).skip(1).map(gathered).collect();
    let mut wrapper = Wrapper::new(result.dims(), &types)?;
    let element = wrapper.operand(func, array, Source::Array(0), index);
    Ok(wrapper.finish(smallvec![element], vec![(result.dtype(), result.dims().to_vec())], data.loc))
}
