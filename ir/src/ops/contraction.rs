//! The contraction of a `dot_general` as data, and its conversion to an `arrayexpr`.

use super::dot::{DOT_GENERAL, Roles, roles};
use super::{arithmetic, logic};
use crate::attr::Attrs;
use crate::dtype::DType;
use crate::expr::{
    Affine, ArrayExpr, Axis, AxisKind, Body, BodyOp, BodyRef, Combine, Index, IndexExpr, Init, Mode, Monoid, Operand,
    Out, Reduction, Source, Write, axes_along,
};
use crate::function::{Function, InstData};
use crate::loc::Loc;
use crate::name::Name;
use crate::op::{InferCx, Op};
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use smallvec::SmallVec;

/// The axes of both operands of a `dot_general` by their roles.
pub struct Contraction {
    left: Roles,
    right: Roles,
    types: [Type; 2],
    /// Source location.
    loc: Loc,
}

/// An axis of the index space: the axis of the left and of the right operand that it runs along.
type Pair = [Option<usize>; 2];

impl Contraction {
    /// The contraction of an instruction; `None` for other ops, and if its axes are wrong.
    pub fn of(func: &Function, data: &InstData) -> Option<Contraction> {
        let &[a, b] = &data.args[..] else { return None };
        if data.op != DOT_GENERAL {
            return None;
        }
        let types = [func.ty(a).clone(), func.ty(b).clone()];
        let consts = [None, None];
        let cx = InferCx { op: data.op, args: &types, consts: &consts, attrs: &data.attrs, callee: None };
        let (left, right) = (roles(&cx, 0).ok()?, roles(&cx, 1).ok()?);
        Some(Contraction { left, right, types, loc: data.loc })
    }

    /// True if rows are added to rows: the contracted axes come before the free axes of the right operand.
    pub fn adds_rows(&self) -> bool {
        self.left.adds_rows(&self.right)
    }

    /// The pairs of an axis of the left and an axis of the right operand whose extents are only known to be
    /// the same at a call. An expression does not check them.
    pub fn to_be_equal(&self) -> SmallVec<[(usize, usize); 1]> {
        let batch = self.left.batch.iter().zip(&self.right.batch);
        let pairs = batch.chain(self.left.contract.iter().zip(&self.right.contract));
        let is_open = |&(&a, &b): &(&usize, &usize)| {
            let (a, b) = (self.types[0].dims()[a], self.types[1].dims()[b]);
            a != b || a == Dim::Any
        };
        pairs.filter(is_open).map(|(&a, &b)| (a, b)).collect()
    }

    /// The sums of products, of this type, as an expression of the two operands. The error says why there is
    /// none.
    pub fn expression(&self, result: &Type) -> Result<ArrayExpr, &'static str> {
        let (pairs, contracted) = self.pairs();
        if pairs.is_empty() {
            return Err("it has no axis to go along");
        }
        let axes = self.axes(&pairs, &contracted)?;
        let (dtype, loc) = (result.dtype(), self.loc);
        let is_inexact = dtype.is_float() || dtype.is_complex();
        let mut body = Body::default();
        let mut factors: SmallVec<[BodyRef; 2]> =
            (0..2).map(|n| body.cast(BodyRef::Operand(n), self.types[n as usize].dtype(), dtype, loc)).collect();
        let fuses = self.adds_rows() && is_inexact && !contracted.is_empty();
        if !fuses {
            let product = if dtype == DType::Bool { &logic::AND } else { &arithmetic::MUL };
            factors = body.push(BodyOp::Op(Op(product), Attrs::new()), factors.to_vec(), [dtype], loc);
        }
        let mut reductions = Vec::new();
        if !contracted.is_empty() {
            let monoid = match dtype {
                _ if fuses => Monoid::Dot,
                DType::Bool => Monoid::Any,
                _ => Monoid::Sum,
            };
            reductions.push(Reduction {
                combine: Combine::Builtin(monoid),
                accumulators: vec![dtype; factors.len()],
                identity: None,
                init: Init::Identity,
                associative: true,
                commutative: true,
                idempotent: false,
                loc,
            });
        } else if is_inexact {
            // A sum of one product: of -0 it is 0.
            let args = vec![BodyRef::Const(Scalar::zero(dtype)), factors[0]];
            factors = body.push(BodyOp::Op(Op(&arithmetic::ADD), Attrs::new()), args, [dtype], loc);
        }
        body.yields = factors.to_vec();
        let kept = (0..pairs.len()).filter(|axis| !contracted.contains(axis));
        Ok(ArrayExpr {
            axes,
            guard: Vec::new(),
            operands: (0..2).map(|n| self.operand(n, &pairs)).collect(),
            body,
            reductions,
            finish: fuses.then(|| Body { yields: vec![BodyRef::Acc(0)], ..Body::default() }),
            outs: vec![Out {
                dtype,
                dims: result.dims().to_vec(),
                index: kept.map(|axis| IndexExpr::Affine(Affine::axis(axis as u32))).collect(),
                fill: None,
                write: Write::Unique,
            }],
            locs: vec![loc],
        })
    }

    /// The axes of the index space, and which of them are contracted: batch axes, the left operand's free
    /// axes, those of the right one, and the contracted axes, before the right operand's if rows are added
    /// to rows.
    fn pairs(&self) -> (Vec<Pair>, std::ops::Range<usize>) {
        let both =
            |a: &[usize], b: &[usize]| -> Vec<Pair> { a.iter().zip(b).map(|(&a, &b)| [Some(a), Some(b)]).collect() };
        let mut pairs = both(&self.left.batch, &self.right.batch);
        pairs.extend(self.left.free.iter().map(|&axis| [Some(axis), None]));
        let before = pairs.len();
        pairs.extend(self.right.free.iter().map(|&axis| [None, Some(axis)]));
        let first = if self.adds_rows() { before } else { pairs.len() };
        let contracted = first..first + self.left.contract.len();
        pairs.splice(first..first, both(&self.left.contract, &self.right.contract));
        (pairs, contracted)
    }

    fn axes(&self, pairs: &[Pair], contracted: &std::ops::Range<usize>) -> Result<Vec<Axis>, &'static str> {
        let dim = |&[a, b]: &Pair| {
            let (a, b) = (a.map(|a| self.types[0].dims()[a]), b.map(|b| self.types[1].dims()[b]));
            match (a, b) {
                (Some(Dim::Any), Some(b)) => b,
                (Some(Dim::Sym(_)), Some(b @ Dim::Const(_))) => b,
                (Some(a), _) => a,
                (None, b) => b.unwrap_or(Dim::Any),
            }
        };
        let dims: Vec<Dim> = pairs.iter().map(dim).collect();
        let taken = |name| self.types.iter().flat_map(Type::dims).any(|dim| *dim == Dim::Sym(name));
        let mut axes = axes_along(&dims, taken);
        if axes.iter().zip(&dims).any(|(axis, dim)| axis.hi.is_none() && *dim != Dim::Any) {
            return Err("an extent is too great");
        }
        axes[contracted.clone()].iter_mut().for_each(|axis| axis.kind = AxisKind::Reduce);
        Ok(axes)
    }

    fn operand(&self, number: u32, pairs: &[Pair]) -> Operand {
        let n = number as usize;
        let ty = &self.types[n];
        let index = |own: usize| {
            let axis = pairs.iter().position(|pair| pair[n] == Some(own)).unwrap_or_default();
            Index { expr: IndexExpr::Affine(Affine::axis(axis as u32)), mode: Mode::Proved }
        };
        Operand {
            name: Name::from(["a", "b"][n]),
            source: if ty.is_scalar() { Source::Scalar(number) } else { Source::Array(number) },
            dtype: ty.dtype(),
            index: (0..ty.rank()).map(index).collect(),
        }
    }
}
