//! Copies of operands that a reduction reads many times: a node before the reduction makes the copy, and the
//! reduction reads it.

use crate::prelude::*;
use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyOp, BodyRef, Index, IndexExpr, Operand, Out, Source, SymExpr, Write,
};
use rewright_ir::{ArrayExpr, Attr, Dim, Function, Scalar};
use std::sync::Arc;

/// The points for each element of a copy from which on it is made. A copy is a read and a write more.
pub(super) const MANY_READS: i64 = 8;

/// The assumed value of a symbol.
const USUAL_EXTENT: i64 = 64;

/// A copy of an operand.
pub struct OperandCopy {
    pub(super) operand: usize,
    /// The array that is copied.
    pub(super) array: Value,
    /// The node that makes the copy. Its only argument is that array.
    pub(super) expr: ArrayExpr,
    /// How the reduction reads the copy.
    pub(super) index: Vec<Index>,
}

impl OperandCopy {
    /// The copies that `copy` makes of operands of a reduction. Its arguments are those of the instruction,
    /// the expression, and the number of an operand that the body uses.
    pub(super) fn of_reduction(
        func: &Function,
        root: Inst,
        copy: impl Fn(&Function, &[Value], &ArrayExpr, usize) -> Option<OperandCopy>,
    ) -> Result<Vec<OperandCopy>, NoMatch> {
        let data = func.inst(root);
        let expr = data.attrs.expr().filter(|_| data.attrs.str("schedule").is_none()).ok_or(NoMatch::quiet())?;
        let flat = expr.body.insts.iter().all(|inst| matches!(inst.op, BodyOp::Op(..)));
        let reduces = expr.axes.iter().any(|axis| axis.kind == AxisKind::Reduce);
        if !flat || !reduces || !expr.guard.is_empty() || expr.scan().is_some() {
            return Err(NoMatch::quiet());
        }
        // An operand that the body does not use is not read.
        let is_used = |operand: &usize| {
            let mut used = expr.body.insts.iter().flat_map(|inst| &inst.args).chain(&expr.body.yields);
            used.any(|used| *used == BodyRef::Operand(*operand as u32))
        };
        let used = (0..expr.operands.len()).filter(is_used);
        let copies: Vec<OperandCopy> = used.filter_map(|operand| copy(func, &data.args, expr, operand)).collect();
        if copies.is_empty() { Err(NoMatch::quiet()) } else { Ok(copies) }
    }

    /// Inserts the nodes that make copies before the reduction, which reads them.
    pub(super) fn replace(root: Inst, copies: Vec<OperandCopy>, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let Some(expr) = data.attrs.expr() else { return Err(RewriteError::new("it has no expression")) };
        rw.set_point(Point::Before(root));
        rw.set_loc(data.loc);
        let (mut rest, mut args) = (ArrayExpr::clone(expr), data.args.to_vec());
        let mut made: Vec<(Value, ArrayExpr, u32)> = Vec::new();
        for OperandCopy { operand, array, expr, index } in copies {
            // Names of operands may differ.
            let reads =
                |other: &ArrayExpr| other.axes == expr.axes && other.operands[0].index == expr.operands[0].index;
            let known = made.iter().find(|(of, other, _)| {
                *of == array && reads(other) && (&other.outs, &other.guard) == (&expr.outs, &expr.guard)
            });
            let source = match known {
                Some((.., number)) => *number,
                None => {
                    let number = args.len() as u32;
                    made.push((array, expr.clone(), number));
                    let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
                    args.push(rw.op_with("arrayexpr", vec![array], attrs)?);
                    number
                }
            };
            let source = Source::Array(source);
            rest.operands[operand] = Operand { source, index, ..rest.operands[operand].clone() };
        }
        rest.order_args(&mut args);
        let node = rw.insert(data.op, args, data.attrs.clone().with("expr", Attr::Expr(Arc::new(rest))))?;
        let results = rw.func().inst(node).results.clone();
        rw.replace(root, &results)
    }
}

/// The node of a copy: it reads the operand's array at these positions of its axes.
pub(super) fn copy_of(
    operand: &Operand,
    read: Vec<Index>,
    (axes, extents): (Vec<Axis>, Vec<Dim>),
    fill: Option<Scalar>,
    of: &ArrayExpr,
) -> ArrayExpr {
    let index = (0..axes.len() as u32).map(|axis| IndexExpr::Affine(Affine::axis(axis))).collect();
    ArrayExpr {
        axes,
        guard: Vec::new(),
        operands: vec![Operand { source: Source::Array(0), index: read, ..operand.clone() }],
        body: Body { insts: Vec::new(), yields: vec![BodyRef::Operand(0)] },
        reductions: Vec::new(),
        finish: None,
        outs: vec![Out { dtype: operand.dtype, dims: extents, index, fill, write: Write::Unique }],
        locs: of.locs.clone(),
    }
}

/// The extent of an axis.
pub(super) fn extent(axis: &Axis) -> Option<SymExpr> {
    axis.hi.clone()?.plus_scaled(&axis.lo, -1)
}

/// About how many points an expression has.
pub(super) fn points(expr: &ArrayExpr) -> Option<i64> {
    expr.axes.iter().try_fold(1, |points: i64, axis| Some(points.saturating_mul(about(&extent(axis)?))))
}

/// About how long an extent is.
pub(super) fn about(extent: &SymExpr) -> i64 {
    extent.eval(|_| Some(USUAL_EXTENT)).filter(|extent| *extent > 0).unwrap_or(USUAL_EXTENT)
}
