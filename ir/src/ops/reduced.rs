//! The reduction of a reduction op as data, and its conversion to the parts of an `arrayexpr`.

use super::reduce::monoid;
use crate::dtype::DType;
use crate::expr::{
    Affine, ArrayExpr, AxisKind, Body, BodyRef, Combine, Index, IndexExpr, Init, Mode, Monoid, Operand, Out, Reduction,
    Source, Write, axes_along,
};
use crate::function::{Function, InstData};
use crate::loc::Loc;
use crate::name::Name;
use crate::types::{Dim, Type};
use smallvec::{SmallVec, smallvec};

/// The axes of its operand that a reduction combines, and its monoid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The monoid.
    pub monoid: Monoid,
    /// The reduced axes, in increasing order.
    pub axes: SmallVec<[usize; 4]>,
    /// Whether the reduced axes stay, with extent 1.
    pub keepdims: bool,
    /// The rank of the operand.
    pub rank: usize,
    /// Source location.
    pub loc: Loc,
}

impl Reduced {
    /// The reduction of an instruction; `None` if it is no reduction of a dense array.
    pub fn of(func: &Function, data: &InstData) -> Option<Reduced> {
        let ty = func.ty(*data.args.first()?);
        if ty.style().is_some() { None } else { Reduced::of_any_style(func, data) }
    }

    /// The reduction of an instruction on an array of any storage style; `None` if it is no reduction.
    pub fn of_any_style(func: &Function, data: &InstData) -> Option<Reduced> {
        let monoid = monoid(data.op.0)?;
        let rank = func.ty(*data.args.first()?).rank();
        let axes = listed_axes(data.attrs.ints("axes"), rank);
        Some(Reduced { monoid, axes, keepdims: data.attrs.flag("keepdims"), rank, loc: data.loc })
    }

    /// The reduction, with these operand and result types, as an expression of one operand. The error says
    /// why there is none.
    pub fn expression(&self, ty: &Type, result: &Type) -> Result<ArrayExpr, &'static str> {
        if self.axes.is_empty() {
            return Err("it has no axis to go along");
        }
        let yields = self.yields(BodyRef::Operand(0)).ok_or("it finds a position along several axes")?;
        let taken = |name| ty.dims().contains(&Dim::Sym(name));
        let mut axes = axes_along(ty.dims(), taken);
        if axes.iter().zip(ty.dims()).any(|(axis, dim)| axis.hi.is_none() && *dim != Dim::Any) {
            return Err("an extent is too great");
        }
        self.axes.iter().for_each(|&axis| axes[axis].kind = AxisKind::Reduce);
        let index = |axis| Index { expr: IndexExpr::Affine(Affine::axis(axis)), mode: Mode::Proved };
        let operand = Operand {
            name: Name::from("x"),
            source: Source::Array(0),
            dtype: ty.dtype(),
            index: (0..ty.rank() as u32).map(index).collect(),
        };
        let last = BodyRef::Acc(yields.len() as u32 - 1);
        Ok(ArrayExpr {
            axes,
            guard: Vec::new(),
            operands: vec![operand],
            finish: (yields.len() > 1).then(|| Body { yields: vec![last], ..Body::default() }),
            body: Body { yields: yields.to_vec(), ..Body::default() },
            reductions: vec![self.reduction(ty.dtype())],
            outs: vec![Out {
                dtype: result.dtype(),
                dims: result.dims().to_vec(),
                index: self.index(),
                fill: None,
                write: Write::Unique,
            }],
            locs: Vec::new(),
        })
    }

    /// The yields of one point with the element `value`; `argmin` and `argmax` also yield the position.
    /// `None` for a position along several axes, which is no axis index.
    pub fn yields(&self, value: BodyRef) -> Option<SmallVec<[BodyRef; 2]>> {
        match (self.monoid.accumulators(), &self.axes[..]) {
            (1, _) => Some(smallvec![value]),
            (_, &[axis]) => Some(smallvec![value, BodyRef::Axis(axis as u32)]),
            _ => None,
        }
    }

    /// The reduction of these yields for elements of this dtype; the last accumulator is the result.
    pub fn reduction(&self, element: DType) -> Reduction {
        let mut accumulators = vec![self.monoid.accumulator(element)];
        accumulators.resize(self.monoid.accumulators(), DType::I64);
        // The identity of a minimum would hide an empty reduction.
        let least = matches!(self.monoid, Monoid::Min | Monoid::Max | Monoid::ArgMin | Monoid::ArgMax);
        Reduction {
            combine: Combine::Builtin(self.monoid),
            accumulators,
            identity: None,
            init: if least { Init::First } else { Init::Identity },
            associative: true,
            commutative: true,
            idempotent: false,
            loc: self.loc,
        }
    }

    /// The position of a point's result: the kept axes, and 0 along reduced axes that stay with extent 1.
    pub fn index(&self) -> Vec<IndexExpr> {
        let place = |axis: usize| match self.axes.contains(&axis) {
            true => self.keepdims.then(|| Affine::constant(0)),
            false => Some(Affine::axis(axis as u32)),
        };
        (0..self.rank).filter_map(place).map(IndexExpr::Affine).collect()
    }
}

/// The axes that an attribute lists, sorted and counted from the start; all axes if it is absent.
pub fn listed_axes(axes: Option<&[i64]>, rank: usize) -> SmallVec<[usize; 4]> {
    let Some(axes) = axes else { return (0..rank).collect() };
    let from_end = |axis: &i64| if *axis < 0 { axis + rank as i64 } else { *axis };
    let mut found: SmallVec<[usize; 4]> = axes.iter().filter_map(|axis| usize::try_from(from_end(axis)).ok()).collect();
    found.sort_unstable();
    found
}
