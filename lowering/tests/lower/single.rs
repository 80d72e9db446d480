//! One elementwise op as an expression.

use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyInst, BodyOp, BodyRef, Index, IndexExpr, Mode, Operand, Out, Source, SymExpr,
    Write,
};
use rewright_ir::{ArrayExpr, Attrs, DType, Dim, Eval, Loc, Name, Op, Type};
use smallvec::SmallVec;

/// The expression of an elementwise op on operands of these types, at least one an array, which broadcast.
pub fn elementwise(op: Op, attrs: &Attrs, args: &[Type], loc: Loc) -> ArrayExpr {
    let Eval::Elementwise { resolve, .. } = op.eval else { panic!("`{op}` is not elementwise") };
    let dtypes: SmallVec<[DType; 3]> = args.iter().map(Type::dtype).collect();
    let found = resolve(&dtypes, attrs).unwrap();
    let rank = args.iter().map(Type::rank).max().unwrap_or(0);
    let operand = |(number, ty): (usize, &Type)| {
        let at = |dim: usize| IndexExpr::Affine(Affine::axis((rank - ty.rank() + dim) as u32));
        let index = (0..ty.rank()).map(|dim| Index { expr: at(dim), mode: Mode::Broadcast });
        let source = if ty.rank() > 0 { Source::Array(number as u32) } else { Source::Scalar(number as u32) };
        Operand { name: Name::new(&format!("x{number}")), source, dtype: ty.dtype(), index: index.collect() }
    };
    let axis = |number| Axis {
        name: Name::new(&format!("i{number}")),
        lo: SymExpr::default(),
        hi: None,
        kind: AxisKind::Parallel,
    };
    let out = |&dtype: &DType| Out {
        dtype,
        dims: vec![Dim::Any; rank],
        index: (0..rank as u32).map(|a| IndexExpr::Affine(Affine::axis(a))).collect(),
        fill: None,
        write: Write::Unique,
    };
    let inst = BodyInst {
        op: BodyOp::Op(op, attrs.clone()),
        args: (0..args.len() as u32).map(BodyRef::Operand).collect(),
        dtypes: found.outs.iter().copied().collect(),
        loc,
        applied: None,
    };
    ArrayExpr {
        axes: (0..rank).map(axis).collect(),
        guard: Vec::new(),
        operands: args.iter().enumerate().map(operand).collect(),
        body: Body { insts: vec![inst], yields: (0..found.outs.len()).map(|r| BodyRef::Inst(0, r as u8)).collect() },
        reductions: Vec::new(),
        finish: None,
        outs: found.outs.iter().map(out).collect(),
        locs: vec![loc],
    }
}
