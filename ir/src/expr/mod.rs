//! `arrayexpr`: an index space, a scalar SSA body, and operands read through index maps.
//!
//! This is the one structure that fusion builds and that schedules and code generators consume. It has the places that
//! broadcasting, lazy views, index notation and differentiation need:
//!
//! ```text
//! %r = arrayexpr [i: n, k: reduce m] where k <= i (x = %a[i, k], y = %b[clamp(k - 1)], c = 2.0) {
//!   t0 = mul x, y
//!   t1 = add t0, c
//!   yield t1
//! } reduce (sum f64) init 0.0 finish (s) {
//!   u0 = tanh s
//!   yield u0
//! } into ([i]) : f64[n]
//! ```
//!
//! For every point of the index space that the guard admits, operands are read through their maps, the body computes
//! scalars, and these are either the results at that point (no reduce axis), or combined along the reduce axes by
//! monoids, finished, and then are the results.
//!
//! Conditions of the guard that name no reduce axis say for which points of the parallel axes there are results at all; the
//! others say which points are combined. Points are combined in the order of [`Fold`], whose rows are the reduce axes after the
//! last parallel one. Results are arrays, of rank 0 where
//! they have no dims; those of a nested expression are scalars.

mod affine;
mod args;
mod axes;
mod body;
mod eval;
mod inline;
mod monoid;
mod order;
mod prune;
mod symbols;
mod verify;

pub use affine::{Affine, SymExpr};
pub use axes::axes_along;
pub use body::{Body, BodyInst, BodyOp, BodyRef};
pub(crate) use eval::evaluate;
pub use inline::inline_function;
pub use order::{Fold, Order};
pub use prune::prune;
pub use verify::{MAX_NESTING, Problem, extent_sources, verify};

use crate::dtype::DType;
use crate::loc::Loc;
use crate::name::Name;
use crate::scalar::Scalar;
use crate::types::Dim;
use serde::{Deserialize, Serialize};

/// Whether an axis is of the result or summed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AxisKind {
    /// Points along it are independent.
    Parallel,
    /// Points along it are combined by the reductions.
    Reduce,
}

/// An axis of the index space: `lo <= index < hi`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Its name in text; unique in the expression.
    pub name: Name,
    /// First index.
    pub lo: SymExpr,
    /// One past the last; `None` (`?` in text) is the NumPy broadcast of the extents that operands have where they are indexed by
    /// just this axis (`lo` is then 0).
    pub hi: Option<SymExpr>,
    /// Parallel or reduce.
    pub kind: AxisKind,
}

/// A condition on a point; the guard is a conjunction of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The affine form that is tested.
    pub form: Affine,
    /// Against what.
    pub test: Test,
}

/// The tests of a [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Test {
    /// `form <= 0`.
    NotPositive,
    /// `form == 0`.
    Zero,
    /// `form % n == 0`, with n > 0.
    DivisibleBy(i64),
}

impl Test {
    /// Whether a form of this value passes it.
    pub fn holds(self, value: i128) -> bool {
        match self {
            Test::NotPositive => value <= 0,
            Test::Zero => value == 0,
            Test::DivisibleBy(n) => value.rem_euclid(i128::from(n)) == 0,
        }
    }
}

/// Where an operand's elements come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// The instruction's n-th operand, an array: one index a dim.
    Array(u32),
    /// The instruction's n-th operand, a scalar or an array of rank 0: no indices.
    Scalar(u32),
    /// A value that a nested expression captures from the body around it.
    Capture(u32),
}

/// An operand: the name of the element in the body, and how it is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// Its name in text; unique in the expression.
    pub name: Name,
    /// Where the elements are.
    pub source: Source,
    /// The dtype of the element.
    pub dtype: DType,
    /// One index for each dim of the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub index: Vec<Index>,
}

/// The index along one dim of a source, and what happens outside of its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// The position.
    pub expr: IndexExpr,
    /// The access mode.
    pub mode: Mode,
}

/// A position along one dim.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IndexExpr {
    /// An affine form of axes and symbols.
    Affine(Affine),
    /// The integer found in another array, plus an affine form: `gather(%idx[i]) + 1`. An element below 0 counts from the end.
    Gather {
        /// The instruction's operand that holds the positions.
        arg: u32,
        /// Where to read it; each in bounds as [`Mode::Check`].
        index: Vec<IndexExpr>,
        /// Added to what was read.
        offset: Affine,
    },
    /// The floor of a quotient: `(i + 1) // 2`, divisor > 0.
    FloorDiv(Affine, i64),
    /// The remainder, never negative: `k % 3`, divisor > 0.
    Mod(Affine, i64),
}

impl IndexExpr {
    /// The form that it is made of; none if it is found in an array.
    pub fn form(&self) -> Option<&Affine> {
        match self {
            IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _) => Some(form),
            IndexExpr::Gather { .. } => None,
        }
    }
    /// The same, to change it.
    pub fn form_mut(&mut self) -> Option<&mut Affine> {
        match self {
            IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _) => Some(form),
            IndexExpr::Gather { .. } => None,
        }
    }
}

/// What a position outside of a dim means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Equal extents say that it can't happen; checked once a call against the extents.
    Proved,
    /// NumPy broadcasting: if the dim has extent 1, every position reads index 0; else as `Proved`. Only with a plain axis.
    Broadcast,
    /// Checked at each element: an error.
    Check,
    /// Position modulo the extent.
    Wrap,
    /// Nearest position inside.
    Clamp,
    /// This value instead of an element.
    Pad(Scalar),
}

/// How a monoid combines two accumulator tuples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Combine {
    /// A known one.
    Builtin(Monoid),
    /// A body over `2k` accumulators: [`BodyRef::Acc`] `0..k` is the left tuple, `k..2k` the right one; yields `k` values.
    Region(Body),
}

/// The monoids with a name in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Monoid {
    /// Addition.
    Sum,
    /// Multiplication.
    Prod,
    /// Minimum; NaN if any element is.
    Min,
    /// Maximum; NaN if any element is.
    Max,
    /// Logical or.
    Any,
    /// Logical and.
    All,
    /// (value, index) of the first minimum, the first NaN if there is one.
    ArgMin,
    /// (value, index) of the first maximum, the first NaN if there is one.
    ArgMax,
}

impl Monoid {
    /// All.
    pub const ALL: [Monoid; 8] =
        [Monoid::Sum, Monoid::Prod, Monoid::Min, Monoid::Max, Monoid::Any, Monoid::All, Monoid::ArgMin, Monoid::ArgMax];
    /// The name in text.
    pub const fn name(self) -> &'static str {
        match self {
            Monoid::Sum => "sum",
            Monoid::Prod => "prod",
            Monoid::Min => "min",
            Monoid::Max => "max",
            Monoid::Any => "any",
            Monoid::All => "all",
            Monoid::ArgMin => "argmin",
            Monoid::ArgMax => "argmax",
        }
    }
    /// The number of accumulators.
    pub const fn accumulators(self) -> usize {
        match self {
            Monoid::ArgMin | Monoid::ArgMax => 2,
            _ => 1,
        }
    }
}

/// What accumulators hold before the first element; applied once, never once a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Init {
    /// The monoid's identity. An error if it has none at this dtype (`min` of floats has infinity, a region has what it declares).
    Identity,
    /// Nothing: the first element is where it begins, so that there must be one.
    First,
    /// These values, one an accumulator.
    Values(Vec<Scalar>),
    /// The elements of the instruction's n-th operands, one an accumulator: arrays of the shape of the result of that number
    /// (the last one if there are fewer), read where that result is written.
    Existing(Vec<u32>),
}

/// One reduction over all reduce axes. It consumes as many consecutive yields of the body as it has accumulators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduction {
    /// How two tuples combine.
    pub combine: Combine,
    /// The accumulators' dtypes; yields are cast to them.
    pub accumulators: Vec<DType>,
    /// The identity of a region, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Vec<Scalar>>,
    /// The starting value.
    pub init: Init,
    /// The order of combination may be regrouped.
    pub associative: bool,
    /// The order of elements may change.
    pub commutative: bool,
    /// Combining an element twice is as once.
    pub idempotent: bool,
    /// Where it was written; nowhere if that is where the node was.
    #[serde(skip)]
    pub loc: Loc,
}

/// What happens where several points write one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Write {
    /// The map is injective; checked before anything runs.
    Unique,
    /// The last point, in row-major order of the axes, wins.
    LastWins,
    /// Combined by this monoid, over the fill.
    Combine(Monoid),
}

/// A result: its type, and where each point writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Out {
    /// Element dtype; what is yielded is cast to it.
    pub dtype: DType,
    /// Dims of the result.
    pub dims: Vec<Dim>,
    /// One position for each dim, over the parallel axes; a point outside is an error.
    pub index: Vec<IndexExpr>,
    /// What elements hold that no point writes; needed unless every element is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Scalar>,
    /// Several points on one element.
    pub write: Write,
}

/// The node. See the [module's page](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayExpr {
    /// The index space, outermost axis first.
    pub axes: Vec<Axis>,
    /// Points at which a condition fails are skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guard: Vec<Condition>,
    /// What is read at each point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<Operand>,
    /// What is computed at each point.
    pub body: Body,
    /// How yields combine along reduce axes; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reductions: Vec<Reduction>,
    /// What is computed from the accumulators ([`BodyRef::Acc`], all reductions' in order), parallel axes, and operands whose
    /// positions depend on no reduce axis; `None` yields the accumulators themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Body>,
    /// The results, one for each value that the last body yields.
    pub outs: Vec<Out>,
    /// Where the fused instructions were written.
    #[serde(skip)]
    pub locs: Vec<Loc>,
}

impl ArrayExpr {
    /// What it reads, if it does that and nothing else: each element of the one result, which has the extents of the axes, is an element of the operand. There may be a
    /// guard, and elements that it leaves out.
    pub fn only_reads(&self) -> Option<&Operand> {
        let ([operand], [out]) = (&self.operands[..], &self.outs[..]) else { return None };
        let nothing_else = self.body.insts.is_empty() && self.body.yields == [BodyRef::Operand(0)];
        let each = self.reductions.is_empty() && self.finish.is_none() && out.write == Write::Unique;
        let from_zero = |axis: &Axis| axis.kind == AxisKind::Parallel && axis.lo == SymExpr::default();
        let along = |(number, (axis, dim)): (usize, (&Axis, &Dim))| {
            let in_order = out.index[number] == IndexExpr::Affine(Affine::axis(number as u32));
            in_order && from_zero(axis) && (*dim == Dim::Any || SymExpr::of_dim(*dim) == axis.hi)
        };
        let whole = out.index.len() == self.axes.len() && out.dims.len() == self.axes.len();
        let whole = whole && self.axes.iter().zip(&out.dims).enumerate().all(along);
        (nothing_else && each && whole && out.dtype == operand.dtype).then_some(operand)
    }
}
