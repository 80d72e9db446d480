//! One reduction as an array expression, so that it runs on the code generators too.

use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyRef, Combine, Index, IndexExpr, Init, Mode, Operand, Out, Reduction, Source,
    SymExpr, Write,
};
use rewright_ir::ops::reduce::monoid;
use rewright_ir::{ArrayExpr, DType, Dim, Function, InstData, Name, Type};

/// A reduction op as an expression over the instruction's operand; else why not. `None` for other ops.
pub fn wrap_reduction(func: &Function, data: &InstData) -> Option<Result<ArrayExpr, String>> {
    let monoid = monoid(data.op.0)?;
    let (&[arg], &[result]) = (&data.args[..], &data.results[..]) else { return None };
    let (ty, result) = (func.ty(arg), func.ty(result));
    let rank = ty.rank() as i64;
    let normal = |axis: i64| if axis < 0 { axis + rank } else { axis };
    let reduced: Vec<i64> = match data.attrs.ints("axes") {
        Some(axes) => axes.iter().map(|&axis| normal(axis)).collect(),
        None => (0..rank).collect(),
    };
    let is_reduced = |axis: usize| reduced.contains(&(axis as i64));
    if reduced.is_empty() {
        return Some(Err("it has no axis to go along".to_string()));
    }
    let positions = monoid.accumulators() == 2;
    if positions && reduced.len() > 1 {
        return Some(Err("it finds a position along several axes".to_string()));
    }
    let axes = match axes(ty, is_reduced) {
        Ok(axes) => axes,
        Err(why) => return Some(Err(why)),
    };
    let index = |axis: usize| Index { expr: IndexExpr::Affine(Affine::axis(axis as u32)), mode: Mode::Proved };
    let operand = Operand {
        name: Name::from("x"),
        source: Source::Array(0),
        dtype: ty.dtype(),
        index: (0..ty.rank()).map(index).collect(),
    };
    let value = monoid.accumulator(ty.dtype());
    let mut body = Body { yields: vec![BodyRef::Operand(0)], ..Body::default() };
    let mut accumulators = vec![value];
    let mut finish = None;
    if positions {
        body.yields.push(BodyRef::Axis(reduced[0] as u32));
        accumulators.push(DType::I64);
        finish = Some(Body { yields: vec![BodyRef::Acc(1)], ..Body::default() });
    }
    let kept = (0..ty.rank()).filter(|&axis| !is_reduced(axis)).map(|axis| Affine::axis(axis as u32));
    let index: Vec<IndexExpr> = match data.attrs.flag("keepdims") {
        true => {
            let place = |axis| if is_reduced(axis) { Affine::constant(0) } else { Affine::axis(axis as u32) };
            (0..ty.rank()).map(|axis| IndexExpr::Affine(place(axis))).collect()
        }
        false => kept.map(IndexExpr::Affine).collect(),
    };
    let out = Out { dtype: result.dtype(), dims: result.dims().to_vec(), index, fill: None, write: Write::Unique };
    let reduction = Reduction {
        combine: Combine::Builtin(monoid),
        accumulators,
        identity: None,
        init: Init::Identity,
        associative: true,
        commutative: true,
        idempotent: false,
    };
    Some(Ok(ArrayExpr {
        axes,
        guard: Vec::new(),
        operands: vec![operand],
        body,
        reductions: vec![reduction],
        finish,
        outs: vec![out],
        locs: vec![data.loc],
    }))
}

/// An axis for each dim.
fn axes(ty: &Type, is_reduced: impl Fn(usize) -> bool) -> Result<Vec<Axis>, String> {
    let taken = |name: &Name| ty.dims().contains(&Dim::Sym(*name));
    let names = (0..).map(|n| Name::from(format!("i{n}"))).filter(|n| !taken(n));
    let axis = |((number, dim), name): ((usize, &Dim), Name)| {
        let hi = match *dim {
            Dim::Const(c) => Some(SymExpr::constant(i64::try_from(c).map_err(|_| "an extent is too great")?)),
            Dim::Sym(s) => Some(SymExpr::symbol(s)),
            Dim::Any => None,
        };
        let kind = if is_reduced(number) { AxisKind::Reduce } else { AxisKind::Parallel };
        Ok(Axis { name, lo: SymExpr::default(), hi, kind })
    };
    ty.dims().iter().enumerate().zip(names).map(axis).collect()
}
