//! Wraps reads at arrays of positions as an array expression: elements by the code generators, and rows as
//! [copies](crate::lower::program) of blocks of memory.

use super::wrap::Wrapper;
use rewright_ir::expr::{Affine, Index, IndexExpr, Mode, Negative, Source};
use rewright_ir::ops::gather::{GATHER, TAKE};
use rewright_ir::{ArrayExpr, Dim, Function, InstData, Op, Type};
use smallvec::smallvec;

/// True if an op reads at arrays of positions.
pub fn is_gather(op: Op) -> bool {
    op == TAKE || op == GATHER
}

/// A `gather` or `take` as an expression over the instruction's operands, or the reason against it.
pub fn wrap_gather(func: &Function, data: &InstData) -> Result<ArrayExpr, String> {
    let (&[array, ..], &[result]) = (&data.args[..], &data.results[..]) else { return Err("it has no array".into()) };
    let types: Vec<Type> = data.args.iter().map(|&arg| func.ty(arg).clone()).collect();
    let (result, rank) = (func.ty(result), types[0].rank());
    if let Some(style) = types.iter().find_map(Type::style) {
        return Err(format!("elements of `{style}` are looked at one by one"));
    }
    // The axes of the array from `first` on are replaced by the `places` axes of the positions.
    let count = types.len() - 1;
    let first = match data.attrs.int("axis") {
        Some(axis) if axis < 0 => usize::try_from(axis + rank as i64).map_err(|_| "it has no such axis")?,
        Some(axis) => usize::try_from(axis).map_err(|_| "it has no such axis")?,
        None => 0,
    };
    let places = (result.rank() + count).checked_sub(rank).ok_or("its result has too few axes")?;
    let axis = |axis: usize| IndexExpr::Affine(Affine::axis(axis as u32));
    let gathered = |(arg, ty): (u32, &Type)| {
        // Positions of fewer axes are the same along the first ones.
        let skip = first + places - ty.rank();
        let position = |(dim, at): (&Dim, usize)| match *dim == Dim::Const(1) && result.dims()[at] != *dim {
            true => IndexExpr::Affine(Affine::constant(0)),
            false => axis(at),
        };
        let index = ty.dims().iter().zip(skip..).map(position).collect();
        Index {
            expr: IndexExpr::Gather { arg, index, offset: Affine::default(), negative: Negative::FromEnd },
            mode: Mode::Check,
        }
    };
    let plain = |at: usize| Index { expr: axis(at), mode: Mode::Proved };
    let index = (0..first)
        .map(plain)
        .chain((1..).zip(&types[1..]).map(gathered))
        .chain((first + places..result.rank()).map(plain))
        .collect();
    let mut wrapper = Wrapper::new(result.dims(), &types)?;
    let element = wrapper.operand(func, array, Source::Array(0), index);
    Ok(wrapper.finish(smallvec![element], vec![(result.dtype(), result.dims().to_vec())], data.loc))
}
