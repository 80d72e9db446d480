//! Wraps one read of elements at arrays of positions as an array expression, so that it runs on the code
//! generators.

use rewright_ir::expr::{Affine, Body, BodyRef, Index, IndexExpr, Mode, Operand, Out, Source, Write, axes_along};
use rewright_ir::ops::gather::{GATHER, TAKE};
use rewright_ir::{ArrayExpr, Dim, Function, InstData, OperandNames, Type};

/// True if an instruction reads single elements at arrays of positions, one of each axis. Others read rows,
/// which are [copied](super::pick).
pub fn gathers_elements(func: &Function, data: &InstData) -> bool {
    let is_gather = data.op == TAKE || data.op == GATHER;
    is_gather && data.args.first().is_some_and(|&array| func.ty(array).rank() + 1 == data.args.len())
}

/// A `gather` or `take` of elements as an expression over the instruction's operands, or the reason against
/// it. `None` for other instructions.
pub fn wrap_gather(func: &Function, data: &InstData) -> Option<Result<ArrayExpr, String>> {
    let &result = data.results.first().filter(|_| gathers_elements(func, data))?;
    let types: Vec<&Type> = data.args.iter().map(|&arg| func.ty(arg)).collect();
    let ((array, positions), result) = (types.split_first()?, func.ty(result));
    if let Some(style) = types.iter().find_map(|ty| ty.style()) {
        return Some(Err(format!("elements of `{style}` are looked at one by one")));
    }
    let gathered = |(arg, ty): (u32, &&Type)| {
        // Positions of fewer axes are the same along the first ones.
        let first = result.rank().checked_sub(ty.rank())?;
        let position = |(dim, axis): (&Dim, usize)| match *dim == Dim::Const(1) && result.dims()[axis] != *dim {
            true => IndexExpr::Affine(Affine::constant(0)),
            false => IndexExpr::Affine(Affine::axis(axis as u32)),
        };
        let index = ty.dims().iter().zip(first..).map(position).collect();
        Some(Index { expr: IndexExpr::Gather { arg, index, offset: Affine::default() }, mode: Mode::Check })
    };
    let index = (1..).zip(positions).map(gathered).collect::<Option<_>>()?;

    let taken = |name| types.iter().flat_map(|ty| ty.dims()).chain(result.dims()).any(|dim| *dim == Dim::Sym(name));
    let axes = axes_along(result.dims(), taken);
    if axes.iter().zip(result.dims()).any(|(axis, dim)| axis.hi.is_none() && *dim != Dim::Any) {
        return Some(Err("an extent is too great".to_string()));
    }
    let mut names = OperandNames::of(&axes, &[]);
    types.iter().for_each(|ty| names.reserve_symbols(ty.dims()));
    let name = names.for_value(func, data.args[0], "x");
    let operand = Operand { name, source: Source::Array(0), dtype: array.dtype(), index };
    let index = (0..axes.len()).map(|axis| IndexExpr::Affine(Affine::axis(axis as u32))).collect();
    let out = Out { dtype: result.dtype(), dims: result.dims().to_vec(), index, fill: None, write: Write::Unique };
    let mut body = Body::default();
    body.yields.push(BodyRef::Operand(0));
    Some(Ok(ArrayExpr {
        axes,
        guard: Vec::new(),
        operands: vec![operand],
        body,
        reductions: Vec::new(),
        finish: None,
        outs: vec![out],
        locs: vec![data.loc],
    }))
}
