//! From the syntax of an `arrayexpr` to the expression: dtypes of operands, of bodies and of numbers.

use super::expr::parallel_index;
use super::expr_ast::{
    PBody, PBodyInst, PBodyOp, PCombine, PExpr, PInit, PMode, PNumber, POut, PRead, PReduction, PRef,
};
use super::resolve::Refused;
use crate::attr::Attrs;
use crate::builder::{infer_types, literal_at};
use crate::diag::Diagnostic;
use crate::dtype::DType;
use crate::error::TypeError;
use crate::expr::{
    ArrayExpr, AxisKind, Body, BodyInst, BodyOp, BodyRef, Combine, Index, Init, Mode, Operand, Out, Reduction, Source,
    Write, verify,
};
use crate::loc::Loc;
use crate::op::{LiteralCx, Op};
use crate::scalar::{Literal, Scalar};
use crate::types::Type;
use smallvec::SmallVec;
use std::sync::Arc;

/// The expression, verified. `args` are the types of the instruction's operands.
pub(super) fn resolve_expr(expr: &PExpr, args: &[Type], loc: Loc) -> Result<Arc<ArrayExpr>, Refused> {
    let made = Resolver { args }.expression(expr, 0, None)?;
    match verify(&made, args).into_iter().next() {
        None => Ok(Arc::new(made)),
        Some(problem) => {
            let at = if problem.loc.is_none() { loc } else { problem.loc };
            Err(Diagnostic::new(problem.message).at(at).into())
        }
    }
}

struct Resolver<'a> {
    args: &'a [Type],
}

/// The dtypes of what a body can name.
struct Scope<'a> {
    operands: &'a [Operand],
    accumulators: Vec<DType>,
    /// The number of axes of this expression and of those around it.
    axes: usize,
}

type Resolved<T> = Result<T, Diagnostic>;

/// What an instruction of a body does, to what, and the dtypes of its results.
type Operation = (BodyOp, SmallVec<[BodyRef; 3]>, SmallVec<[DType; 1]>);

impl Resolver<'_> {
    /// `captures` are the dtypes that a nested expression is given.
    fn expression(&self, expr: &PExpr, outer_axes: usize, captures: Option<&[DType]>) -> Resolved<ArrayExpr> {
        let operands = expr.operands.iter().map(|read| self.operand(read, captures)).collect::<Resolved<Vec<_>>>()?;
        let axes = outer_axes + expr.axes.len();
        let mut scope = Scope { operands: &operands, accumulators: Vec::new(), axes };
        let body = self.body(&expr.body, &scope)?;
        let reductions = expr.reductions.iter().map(|r| self.reduction(r, axes)).collect::<Resolved<Vec<_>>>()?;
        scope.accumulators = reductions.iter().flat_map(|r| r.accumulators.iter().copied()).collect();
        let finish = expr.finish.as_ref().map(|b| self.body(b, &scope)).transpose()?;
        let outs = self.outs(expr, outer_axes, captures.is_some())?;
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
            Source::Array(n) | Source::Scalar(n) | Source::Component(n, _) => {
                self.args.get(*n as usize).map(Type::dtype)
            }
            Source::Capture(k) => captures.and_then(|c| c.get(*k as usize)).copied(),
        };
        let Some(dtype) = read.dtype.or(found) else {
            return Err(Diagnostic::new(format!("operand `{}` has no source", read.name)).at(read.loc));
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

    fn body(&self, body: &PBody, scope: &Scope<'_>) -> Resolved<Body> {
        let mut made = Body::default();
        for inst in &body.insts {
            let inst = self.body_inst(inst, &made.insts, scope)?;
            made.insts.push(inst);
        }
        let yields = body.yields.iter().map(natural).collect::<Resolved<Vec<_>>>()?;
        made.yields = yields;
        Ok(made)
    }

    fn body_inst(&self, inst: &PBodyInst, before: &[BodyInst], scope: &Scope<'_>) -> Resolved<BodyInst> {
        let (op, args, dtypes) = match &inst.op {
            PBodyOp::Op(op, attrs) => self.body_op(*op, attrs, inst, before, scope)?,
            PBodyOp::Nested(nested) => {
                let args = nested.captures.iter().map(natural).collect::<Resolved<SmallVec<[_; 3]>>>()?;
                let captures: Vec<DType> = args.iter().map(|r| scope.dtype(*r, before)).collect();
                let expr = self.expression(nested, scope.axes, Some(&captures))?;
                let dtypes = expr.outs.iter().map(|o| o.dtype).collect();
                (BodyOp::Nested(Box::new(expr)), args, dtypes)
            }
        };
        if inst.results != dtypes.len() {
            let message = format!("there are {} results here, {} named", dtypes.len(), inst.results);
            return Err(Diagnostic::new(message).at(inst.loc));
        }
        Ok(BodyInst { op, args, dtypes, loc: inst.loc })
    }

    fn body_op(
        &self,
        op: Op,
        attrs: &Attrs,
        inst: &PBodyInst,
        before: &[BodyInst],
        scope: &Scope<'_>,
    ) -> Resolved<Operation> {
        if !op.is_elementwise() {
            let error = Diagnostic::new(format!("`{op}` is not elementwise")).at(inst.loc);
            return Err(error.help("a body is made of elementwise ops and nested `arrayexpr`s"));
        }
        let args = op_args(op, inst, before, scope)?;
        let types: SmallVec<[Type; 3]> = args.iter().map(|r| Type::scalar(scope.dtype(*r, before))).collect();
        let constant = |r: &BodyRef| if let BodyRef::Const(s) = r { Some(*s) } else { None };
        let consts: SmallVec<[_; 3]> = args.iter().map(constant).collect();
        let found = infer_types(op, &types, &consts, attrs.clone(), None);
        let (attrs, types) = found.map_err(|e| at_argument(e, inst))?;
        Ok((BodyOp::Op(op, attrs), args, types.iter().map(Type::dtype).collect()))
    }

    fn reduction(&self, reduction: &PReduction, axes: usize) -> Resolved<Reduction> {
        let accumulators = &reduction.accumulators;
        let combine = match &reduction.combine {
            PCombine::Builtin(monoid) => Combine::Builtin(*monoid),
            PCombine::Region(body) => {
                let both = accumulators.iter().chain(accumulators).copied().collect();
                Combine::Region(self.body(body, &Scope { operands: &[], accumulators: both, axes })?)
            }
        };
        let values = |list: &Vec<PNumber>| {
            let dtype = |k: usize| accumulators.get(k).copied();
            list.iter().enumerate().map(|(k, n)| number(n, dtype(k))).collect::<Resolved<Vec<_>>>()
        };
        let init = match &reduction.init {
            PInit::Identity => Init::Identity,
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
        })
    }

    fn outs(&self, expr: &PExpr, outer_axes: usize, nested: bool) -> Resolved<Vec<Out>> {
        let parallel = expr.axes.iter().filter(|a| a.kind == AxisKind::Parallel).count();
        if let Some(outs) = &expr.outs
            && outs.len() != expr.types.len()
        {
            let message = format!("{} results are written, {} types stated", outs.len(), expr.types.len());
            return Err(Diagnostic::new(message).at(expr.loc));
        }
        if expr.types.is_empty() {
            let error = Diagnostic::new("the result types of an `arrayexpr` are missing").at(expr.loc);
            return Err(error.help("write them at the end, as `: f64[n]`"));
        }
        let mut outs = Vec::with_capacity(expr.types.len());
        for (k, ty) in expr.types.iter().enumerate() {
            if ty.is_scalar() != nested || ty.style().is_some() {
                let wanted = if nested { "a scalar" } else { "a dense array, of rank 0 if it has no dims" };
                let message = format!("result {k} of this expression is {wanted}, not {ty}");
                return Err(Diagnostic::new(message).at(expr.loc));
            }
            let dims = ty.dims().to_vec();
            outs.push(match expr.outs.as_ref().and_then(|o| o.get(k)) {
                Some(POut { index, fill, write }) => {
                    let fill = fill.as_ref().map(|f| number(f, Some(ty.dtype()))).transpose()?;
                    Out { dtype: ty.dtype(), dims, index: index.clone(), fill, write: *write }
                }
                None if dims.len() != parallel => {
                    let message = format!("result {k} is {ty}, but there are {parallel} parallel axes");
                    return Err(Diagnostic::new(message).at(expr.loc));
                }
                None => {
                    let index = parallel_index(&expr.axes, outer_axes);
                    Out { dtype: ty.dtype(), dims, index, fill: None, write: Write::Unique }
                }
            });
        }
        Ok(outs)
    }
}

impl Scope<'_> {
    /// The dtype of a value. The parser makes references to what exists only; a capture of a region may be none.
    fn dtype(&self, r: BodyRef, before: &[BodyInst]) -> DType {
        let found = match r {
            BodyRef::Const(s) => Some(s.dtype()),
            BodyRef::Operand(k) => self.operands.get(k as usize).map(|o| o.dtype),
            BodyRef::Axis(_) => Some(DType::I64),
            BodyRef::Acc(k) => self.accumulators.get(k as usize).copied(),
            BodyRef::Inst(i, k) => before.get(i as usize).and_then(|inst| inst.dtypes.get(k as usize)).copied(),
        };
        // The verifier reports what is not there.
        found.unwrap_or(DType::F64)
    }
}

/// The arguments of an op, its literals being constants of the dtype that its rule says.
fn op_args(op: Op, inst: &PBodyInst, before: &[BodyInst], scope: &Scope<'_>) -> Resolved<SmallVec<[BodyRef; 3]>> {
    let dtypes: SmallVec<[Option<DType>; 4]> = inst
        .args
        .iter()
        .map(|arg| match arg {
            PRef::Known(r, _) => Some(scope.dtype(*r, before)),
            PRef::Number(Literal::Typed(s), _) => Some(s.dtype()),
            PRef::Number(..) => None,
        })
        .collect();
    let make = |(operand, arg): (usize, &PRef)| match *arg {
        PRef::Known(r, _) => Ok(r),
        PRef::Number(literal, loc) => {
            let dtype = (op.literal)(&LiteralCx { literal, operand, dtypes: &dtypes });
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

/// A value; a number has the dtype that it has alone.
fn natural(r: &PRef) -> Resolved<BodyRef> {
    match r {
        PRef::Known(known, _) => Ok(*known),
        PRef::Number(literal, loc) => Ok(BodyRef::Const(number(&(*literal, *loc), None)?)),
    }
}

/// A number at the dtype that it takes beside another.
fn number((literal, loc): &PNumber, beside: Option<DType>) -> Resolved<Scalar> {
    let dtype = literal.dtype_beside(beside);
    literal_at(*literal, dtype).map_err(|e| Diagnostic::from(e).at(*loc))
}
