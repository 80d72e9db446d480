//! What a reduction op says of its operand, and the same as parts of an `arrayexpr`.

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

/// Which axes of its operand a reduction combines, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// What it combines by.
    pub monoid: Monoid,
    /// The axes that are combined, in order.
    pub axes: SmallVec<[usize; 4]>,
    /// Whether these stay, with extent 1.
    pub keepdims: bool,
    /// The rank of the operand.
    pub rank: usize,
    /// Where it was written.
    pub loc: Loc,
}

impl Reduced {
    /// What an instruction reduces; `None` if it is no reduction of a dense array.
    pub fn of(func: &Function, data: &InstData) -> Option<Reduced> {
        let ty = func.ty(*data.args.first()?);
        if ty.style().is_some() { None } else { Reduced::of_any_style(func, data) }
    }

    /// The same of an array of any storage style.
    pub fn of_any_style(func: &Function, data: &InstData) -> Option<Reduced> {
        let monoid = monoid(data.op.0)?;
        let rank = func.ty(*data.args.first()?).rank();
        let axes = listed_axes(data.attrs.ints("axes"), rank);
        Some(Reduced { monoid, axes, keepdims: data.attrs.flag("keepdims"), rank, loc: data.loc })
    }

    /// The reduction of an array of one type to an array, or scalar, of another as an expression of one operand; else why there is none.
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

    /// What one point yields, where the element is `value`: positions are yielded too. `None` of a position along several axes, which no
    /// axis is.
    pub fn yields(&self, value: BodyRef) -> Option<SmallVec<[BodyRef; 2]>> {
        match (self.monoid.accumulators(), &self.axes[..]) {
            (1, _) => Some(smallvec![value]),
            (_, &[axis]) => Some(smallvec![value, BodyRef::Axis(axis as u32)]),
            _ => None,
        }
    }

    /// How these yields are combined, of elements of this dtype; the last of the accumulators is the result.
    pub fn reduction(&self, element: DType) -> Reduction {
        let mut accumulators = vec![self.monoid.accumulator(element)];
        accumulators.resize(self.monoid.accumulators(), DType::I64);
        // The identity of a minimum would hide that there is nothing.
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

    /// Where a point's result is written: along the axes that are kept, and at 0 along those that stay with extent 1.
    pub fn index(&self) -> Vec<IndexExpr> {
        let place = |axis: usize| match self.axes.contains(&axis) {
            true => self.keepdims.then(|| Affine::constant(0)),
            false => Some(Affine::axis(axis as u32)),
        };
        (0..self.rank).filter_map(place).map(IndexExpr::Affine).collect()
    }
}

/// The axes that an attribute lists, from the first on and in order; all where it is absent.
pub fn listed_axes(axes: Option<&[i64]>, rank: usize) -> SmallVec<[usize; 4]> {
    let Some(axes) = axes else { return (0..rank).collect() };
    let from_end = |axis: &i64| if *axis < 0 { axis + rank as i64 } else { *axis };
    let mut found: SmallVec<[usize; 4]> = axes.iter().filter_map(|axis| usize::try_from(from_end(axis)).ok()).collect();
    found.sort_unstable();
    found
}
