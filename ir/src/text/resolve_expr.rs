//! Resolution of the syntax of an `arrayexpr`: chooses the dtypes of operands, bodies and numbers.

use super::expr::result_index;
use super::expr_ast::{
    PBody, PBodyInst, PBodyOp, PCombine, PExpr, PInit, PMode, PNumber, POut, PRead, PReduction, PRef,
};
use super::refused::Refused;
use crate::attr::Attrs;
use crate::builder::{infer_types, literal_at};
use crate::diag::{Diagnostic, Diagnostics};
use crate::dtype::DType;
use crate::error::TypeError;
use crate::expr::{
    ArrayExpr, Body, BodyInst, BodyOp, BodyRef, Combine, Index, Init, Mode, Operand, Out, Reduction, Source, Write,
    verify,
};
use crate::loc::Loc;
use crate::op::{LiteralCx, Op};
use crate::scalar::{Literal, Scalar};
use crate::types::Type;
use smallvec::SmallVec;
use std::sync::Arc;

/// The verified expression; `None` if errors were reported. `args` are the types of the instruction's
/// operands.
pub(super) fn resolve_expr(expr: &PExpr, args: &[Type], loc: Loc, errors: &mut Diagnostics) -> Option<Arc<ArrayExpr>> {
    let mut resolver = ExprResolver { args, errors };
    let made = resolver.expression(expr, 0, None);
    let made = resolver.report(made)?;
    let problems = verify(&made, args);
    for problem in &problems {
        let at = if problem.loc.is_none() { loc } else { problem.loc };
        errors.push(Diagnostic::new(&problem.message).at(at));
    }
    problems.is_empty().then(|| Arc::new(made))
}

struct ExprResolver<'a, 'e> {
    args: &'a [Type],
    errors: &'e mut Diagnostics,
}

/// The dtypes of the values that a body can name.
struct BodyScope<'a> {
    operands: &'a [Operand],
    accumulators: Vec<DType>,
    /// The number of axes of this expression and of the enclosing ones.
    axes: usize,
}

type Resolved<T> = Result<T, Refused>;

/// The instructions of a body so far. An instruction with an error is only marked as such.
#[derive(Default)]
struct Before {
    insts: Vec<BodyInst>,
    refused: Vec<bool>,
}

/// The operation of a body instruction, its operands, and the dtypes of its results.
type Operation = (BodyOp, SmallVec<[BodyRef; 3]>, SmallVec<[DType; 1]>);

impl ExprResolver<'_, '_> {
    /// Reports an error and continues, so that later errors are found, too.
    fn report<T>(&mut self, found: Resolved<T>) -> Option<T> {
        match found {
            Ok(found) => return Some(found),
            Err(Refused::Now(error)) => self.errors.push(*error),
            Err(Refused::Before) => {}
        }
        None
    }

    /// Resolves all items, or reports the errors of all of them.
    fn all<A, T>(&mut self, items: &[A], mut make: impl FnMut(&mut Self, &A) -> Resolved<T>) -> Resolved<Vec<T>> {
        let mut made = Vec::with_capacity(items.len());
        for item in items {
            let found = make(self, item);
            made.extend(self.report(found));
        }
        if made.len() == items.len() { Ok(made) } else { Err(Refused::Before) }
    }

    /// `captures` are the dtypes of the values that a nested expression captures.
    fn expression(&mut self, expr: &PExpr, outer_axes: usize, captures: Option<&[DType]>) -> Resolved<ArrayExpr> {
        let operands = self.all(&expr.operands, |this, read| this.operand(read, captures))?;
        let axes = outer_axes + expr.axes.len();
        let mut scope = BodyScope { operands: &operands, accumulators: Vec::new(), axes };
        let body = self.body(&expr.body, &scope);
        let body = self.report(body);
        let reductions = self.all(&expr.reductions, |this, r| this.reduction(r, axes))?;
        scope.accumulators = reductions.iter().flat_map(|r| r.accumulators.iter().copied()).collect();
        let finish = expr.finish.as_ref().map(|b| self.body(b, &scope)).transpose()?;
        let outs = self.outs(expr, outer_axes, captures.is_some())?;
        let body = body.ok_or(Refused::Before)?;
        Ok(ArrayExpr {
            axes: expr.axes.clone(),
            guard: expr.guard.clone(),
            operands,
            body,
            reductions,
            finish,
            outs,
            locs: Vec::new(),
        })
    }

    fn operand(&self, read: &PRead, captures: Option<&[DType]>) -> Resolved<Operand> {
        let found = match &read.source {
            Source::Array(n) | Source::Scalar(n) => self.args.get(*n as usize).map(Type::dtype),
            Source::Capture(k) => captures.and_then(|c| c.get(*k as usize)).copied(),
        };
        let Some(dtype) = read.dtype.or(found) else {
            return Err(Diagnostic::new(format!("operand `{}` has no source", read.name)).at(read.loc).into());
        };
        let index = read.index.iter().map(|index| {
            let mode = match &index.mode {
                PMode::Known(mode) => *mode,
                PMode::Pad(value) => Mode::Pad(number(value, Some(dtype))?),
            };
            Ok(Index { expr: index.expr.clone(), mode })
        });
        let index = index.collect::<Resolved<Vec<_>>>()?;
        Ok(Operand { name: read.name, source: read.source.clone(), dtype, index })
    }

    fn body(&mut self, body: &PBody, scope: &BodyScope<'_>) -> Resolved<Body> {
        let mut before = Before::default();
        for inst in &body.insts {
            let made = self.body_inst(inst, &before, scope);
            let made = self.report(made);
            before.refused.push(made.is_none());
            before.insts.push(made.unwrap_or_else(|| BodyInst {
                op: BodyOp::Op(Op(&crate::ops::arrayexpr::ARRAYEXPR), Attrs::new()),
                args: SmallVec::new(),
                dtypes: SmallVec::new(),
                loc: inst.loc,
                applied: None,
            }));
        }
        let yields = self.all(&body.yields, |_, r| natural(r))?;
        if before.refused.contains(&true) { Err(Refused::Before) } else { Ok(Body { insts: before.insts, yields }) }
    }

    fn body_inst(&mut self, inst: &PBodyInst, before: &Before, scope: &BodyScope<'_>) -> Resolved<BodyInst> {
        let (op, args, dtypes) = match &inst.op {
            PBodyOp::Op(op, attrs) => body_op(*op, attrs, inst, before, scope)?,
            PBodyOp::Nested(nested) => {
                let args = nested.captures.iter().map(natural).collect::<Resolved<SmallVec<[_; 3]>>>()?;
                let captures = args.iter().map(|r| scope.dtype(*r, before)).collect::<Resolved<Vec<DType>>>()?;
                let expr = self.expression(nested, scope.axes, Some(&captures))?;
                let dtypes = expr.outs.iter().map(|o| o.dtype).collect();
                (BodyOp::Nested(Box::new(expr)), args, dtypes)
            }
        };
        if inst.results != dtypes.len() {
            let message = format!("there are {} results here, {} named", dtypes.len(), inst.results);
            return Err(Diagnostic::new(message).at(inst.loc).into());
        }
        Ok(BodyInst { loc: op.place(inst.loc), op, args, dtypes, applied: None })
    }

    fn reduction(&mut self, reduction: &PReduction, axes: usize) -> Resolved<Reduction> {
        let accumulators = &reduction.accumulators;
        let combine = match &reduction.combine {
            PCombine::Builtin(monoid) => Combine::Builtin(*monoid),
            PCombine::Region(body) => {
                let both = accumulators.iter().chain(accumulators).copied().collect();
                Combine::Region(self.body(body, &BodyScope { operands: &[], accumulators: both, axes })?)
            }
        };
        let values = |list: &Vec<PNumber>| {
            let dtype = |k: usize| accumulators.get(k).copied();
            list.iter().enumerate().map(|(k, n)| number(n, dtype(k))).collect::<Resolved<Vec<_>>>()
        };
        let init = match &reduction.init {
            PInit::Identity => Init::Identity,
            PInit::First => Init::First,
            PInit::Values(list) => Init::Values(values(list)?),
            PInit::Existing(args) => Init::Existing(args.clone()),
        };
        Ok(Reduction {
            combine,
            accumulators: accumulators.clone(),
            identity: reduction.identity.as_ref().map(values).transpose()?,
            init,
            associative: reduction.associative,
            commutative: reduction.commutative,
            idempotent: reduction.idempotent,
            loc: Loc::default(),
        })
    }

    fn outs(&self, expr: &PExpr, outer_axes: usize, nested: bool) -> Resolved<Vec<Out>> {
        let along = expr.axes.iter().filter(|a| a.kind.has_results()).count();
        if let Some(outs) = &expr.outs
            && outs.len() != expr.types.len()
        {
            let message = format!("{} results are written, {} types stated", outs.len(), expr.types.len());
            return Err(Diagnostic::new(message).at(expr.loc).into());
        }
        if expr.types.is_empty() {
            let error = Diagnostic::new("the result types of an `arrayexpr` are missing").at(expr.loc);
            return Err(error.help("write them at the end, as `: f64[n]`").into());
        }
        let mut outs = Vec::with_capacity(expr.types.len());
        for (k, ty) in expr.types.iter().enumerate() {
            if ty.is_scalar() != nested || ty.style().is_some() {
                let wanted = if nested { "a scalar" } else { "a dense array, of rank 0 if it has no dims" };
                let message = format!("result {k} of this expression is {wanted}, not {ty}");
                return Err(Diagnostic::new(message).at(expr.loc).into());
            }
            let dims = ty.dims().to_vec();
            outs.push(match expr.outs.as_ref().and_then(|o| o.get(k)) {
                Some(POut { index, fill, write }) => {
                    let fill = fill.as_ref().map(|f| number(f, Some(ty.dtype()))).transpose()?;
                    Out { dtype: ty.dtype(), dims, index: index.clone(), fill, write: *write }
                }
                // The verifier refuses axes of nested expressions that have results.
                None if dims.len() != along && !nested => {
                    let kinds =
                        if expr.axes.iter().any(|a| a.kind.is_scan()) { "parallel and scan" } else { "parallel" };
                    let message = format!("result {k} is {ty}, but there are {along} {kinds} axes");
                    return Err(Diagnostic::new(message).at(expr.loc).into());
                }
                None => {
                    let index = if nested { Vec::new() } else { result_index(&expr.axes, outer_axes) };
                    Out { dtype: ty.dtype(), dims, index, fill: None, write: Write::Unique }
                }
            });
        }
        Ok(outs)
    }
}

impl BodyScope<'_> {
    /// The dtype of a value, unless its instruction has an error.
    fn dtype(&self, r: BodyRef, before: &Before) -> Resolved<DType> {
        let found = match r {
            BodyRef::Const(s) => Some(s.dtype()),
            BodyRef::Operand(k) => self.operands.get(k as usize).map(|o| o.dtype),
            BodyRef::Axis(_) => Some(DType::I64),
            BodyRef::Acc(k) => self.accumulators.get(k as usize).copied(),
            BodyRef::Inst(i, _) if before.refused.get(i as usize) == Some(&true) => return Err(Refused::Before),
            BodyRef::Inst(i, k) => before.insts.get(i as usize).and_then(|inst| inst.dtypes.get(k as usize)).copied(),
        };
        // The verifier reports missing values.
        Ok(found.unwrap_or(DType::F64))
    }
}

fn body_op(op: Op, attrs: &Attrs, inst: &PBodyInst, before: &Before, scope: &BodyScope<'_>) -> Resolved<Operation> {
    if !op.is_elementwise() {
        let error = Diagnostic::new(format!("`{op}` is not elementwise")).at(inst.loc);
        return Err(error.help("a body is made of elementwise ops and nested `arrayexpr`s").into());
    }
    let args = op_args(op, attrs, inst, before, scope)?;
    let ty = |r: &BodyRef| scope.dtype(*r, before).map(Type::scalar);
    let types = args.iter().map(ty).collect::<Resolved<SmallVec<[Type; 3]>>>()?;
    let constant = |r: &BodyRef| if let BodyRef::Const(s) = r { Some(*s) } else { None };
    let consts: SmallVec<[_; 3]> = args.iter().map(constant).collect();
    let found = infer_types(op, &types, &consts, attrs.clone(), None);
    let (attrs, types) = found.map_err(|e| at_argument(e, inst))?;
    Ok((BodyOp::Op(op, attrs), args, types.iter().map(Type::dtype).collect()))
}

/// The arguments of an op; literals become constants of the dtype that the op's literal rule chooses.
fn op_args(
    op: Op,
    attrs: &Attrs,
    inst: &PBodyInst,
    before: &Before,
    scope: &BodyScope<'_>,
) -> Resolved<SmallVec<[BodyRef; 3]>> {
    let dtype = |arg: &PRef| match arg {
        PRef::Known(r, _) => scope.dtype(*r, before).map(Some),
        PRef::Number(Literal::Typed(s), _) => Ok(Some(s.dtype())),
        PRef::Number(..) => Ok(None),
    };
    let dtypes = inst.args.iter().map(dtype).collect::<Resolved<SmallVec<[Option<DType>; 4]>>>()?;
    let make = |(operand, arg): (usize, &PRef)| match *arg {
        PRef::Known(r, _) => Ok(r),
        PRef::Number(Literal::Typed(scalar), _) => Ok(BodyRef::Const(scalar)),
        PRef::Number(literal, loc) => {
            let dtype = (op.literal)(&LiteralCx { literal, operand, dtypes: &dtypes, attrs });
            Ok(BodyRef::Const(literal_at(literal, dtype).map_err(|e| Diagnostic::from(e).at(loc))?))
        }
    };
    inst.args.iter().enumerate().map(make).collect()
}

fn at_argument(e: TypeError, inst: &PBodyInst) -> Diagnostic {
    let loc = match e.operand.and_then(|i| inst.args.get(i)) {
        Some(PRef::Known(_, loc) | PRef::Number(_, loc)) => *loc,
        None => inst.loc,
    };
    Diagnostic::from(e).at(loc)
}

/// A value; a number gets its default dtype.
fn natural(r: &PRef) -> Resolved<BodyRef> {
    match r {
        PRef::Known(known, _) => Ok(*known),
        PRef::Number(literal, loc) => Ok(BodyRef::Const(number(&(*literal, *loc), None)?)),
    }
}

/// A number at the dtype that promotion beside another dtype gives it.
fn number((literal, loc): &PNumber, beside: Option<DType>) -> Resolved<Scalar> {
    let dtype = literal.dtype_beside(beside);
    Ok(literal_at(*literal, dtype).map_err(|e| Diagnostic::from(e).at(*loc))?)
}
