//! One reduction as an array expression, so that it runs on the code generators too.

use super::wrap::axes;
use rewright_ir::expr::{Affine, AxisKind, Body, BodyRef, Index, IndexExpr, Mode, Operand, Out, Source, Write};
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::{ArrayExpr, Function, InstData, Name};

/// A reduction op as an expression over the instruction's operand; else why not. `None` for other ops.
pub fn wrap_reduction(func: &Function, data: &InstData) -> Option<Result<ArrayExpr, String>> {
    Reduced::of(func, data).map(|reduced| expression(func, data, &reduced))
}

fn expression(func: &Function, data: &InstData, reduced: &Reduced) -> Result<ArrayExpr, String> {
    let (&[arg], &[result]) = (&data.args[..], &data.results[..]) else {
        return Err("it has not one operand and one result".to_string());
    };
    let (ty, result) = (func.ty(arg), func.ty(result));
    if reduced.axes.is_empty() {
        return Err("it has no axis to go along".to_string());
    }
    let yields = reduced.yields(BodyRef::Operand(0)).ok_or("it finds a position along several axes")?;
    let mut axes = axes(ty.dims(), ty.dims().iter())?;
    reduced.axes.iter().for_each(|&axis| axes[axis].kind = AxisKind::Reduce);
    let index = |axis: usize| Index { expr: IndexExpr::Affine(Affine::axis(axis as u32)), mode: Mode::Proved };
    let operand = Operand {
        name: Name::from("x"),
        source: Source::Array(0),
        dtype: ty.dtype(),
        index: (0..ty.rank()).map(index).collect(),
    };
    let last = BodyRef::Acc(yields.len() as u32 - 1);
    let finish = (yields.len() > 1).then(|| Body { yields: vec![last], ..Body::default() });
    Ok(ArrayExpr {
        axes,
        guard: Vec::new(),
        operands: vec![operand],
        body: Body { yields: yields.to_vec(), ..Body::default() },
        reductions: vec![reduced.reduction(ty.dtype())],
        finish,
        outs: vec![Out {
            dtype: result.dtype(),
            dims: result.dims().to_vec(),
            index: reduced.index(),
            fill: None,
            write: Write::Unique,
        }],
        locs: vec![data.loc],
    })
}
