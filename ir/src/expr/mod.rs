//! `arrayexpr`: an index space, a scalar SSA body, and operands read through index maps.
//!
//! The one structure that fusion builds and that schedules and code generators consume. It represents
//! broadcasting, lazy views, index notation and differentiation:
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
//! At every point of the index space that the guard admits, operands are read through their maps and the
//! body computes scalars. Without reduce axes these scalars are the results at that point. Otherwise monoids
//! combine them along the reduce axes, and the `finish` body computes the results.
//!
//! One axis may be a scan axis: `[i: n, k: scan m]`. Each of its points has results, those of the *running
//! total*, which combines all points up to this one. The total of an exclusive scan (`k: scan exclusive m`)
//! combines the points before this one.
//!
//! A guard condition that names no reduce axis says at which points of the other axes results exist, and a
//! scan skips the points without results. Other conditions say which points are combined. Points are combined
//! in the order of [`Fold`], whose rows are the reduce axes after the last axis of another kind. Results are
//! arrays, of rank 0 if they have no dims; results of a nested expression are scalars.

mod affine;
mod args;
mod axes;
mod body;
pub(crate) mod dot;
mod eval;
mod monoid;
mod order;
mod prune;
mod symbols;
mod verify;
mod window;

pub use affine::{Affine, SymExpr};
pub use axes::axes_along;
pub use body::{Body, BodyInst, BodyOp, BodyRef};
pub use dot::multiply_add;
pub(crate) use eval::evaluate;
pub use order::{Fold, Order};
pub use prune::prune;
pub use verify::{MAX_NESTING, Problem, extent_sources, verify};
pub use window::{FEW_POINTS, FEW_STREAMS, MOST_INTERLEAVED, is_interleaved};

use crate::dtype::DType;
use crate::loc::Loc;
use crate::name::Name;
use crate::scalar::Scalar;
use crate::types::Dim;
use serde::{Deserialize, Serialize};

/// Whether an axis is parallel, reduced or scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AxisKind {
    /// Points along it are independent.
    Parallel,
    /// Points along it are combined by the reductions.
    Reduce,
    /// Points along it are combined by the reductions, in sequence, and each has results. At most one axis of
    /// an expression.
    Scan {
        /// Whether the results at a point are those of the points before it; else its own value is combined
        /// first.
        exclusive: bool,
    },
}

impl AxisKind {
    /// True unless the axis is reduced: results have a value for each point along it.
    pub fn has_results(self) -> bool {
        self != AxisKind::Reduce
    }
    /// True for a scan axis.
    pub fn is_scan(self) -> bool {
        matches!(self, AxisKind::Scan { .. })
    }
}

/// An axis of the index space: `lo <= index < hi`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Its name in text; unique in the expression.
    pub name: Name,
    /// First index.
    pub lo: SymExpr,
    /// One past the last; `None` (`?` in text) is the NumPy broadcast of the extents of operand dims that
    /// are indexed by just this axis (`lo` is then 0).
    pub hi: Option<SymExpr>,
    /// Parallel, reduce or scan.
    pub kind: AxisKind,
}

impl Axis {
    /// The number of points along the axis, if it is constant.
    pub fn points(&self) -> Option<i64> {
        self.hi.as_ref()?.as_constant()?.checked_sub(self.lo.as_constant()?)
    }
}

/// A condition on a point; the guard is a conjunction of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The affine form that is tested.
    pub form: Affine,
    /// The test of its value.
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
    /// Whether a form with this value passes the test.
    pub fn holds(self, value: i128) -> bool {
        match self {
            Test::NotPositive => value <= 0,
            Test::Zero => value == 0,
            Test::DivisibleBy(n) => value.rem_euclid(i128::from(n)) == 0,
        }
    }
}

/// The source of an operand's elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// The instruction's n-th operand, an array: one index for each dim.
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
    /// The array or scalar that is read.
    pub source: Source,
    /// The dtype of the element.
    pub dtype: DType,
    /// One index for each dim of the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub index: Vec<Index>,
}

/// The index along one dim of a source, and the access mode for positions out of bounds.
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
    /// An integer element of another array, or an integer operand, plus an affine form:
    /// `gather(%idx[i]) + 1`, `gather(%start) + i`.
    Gather {
        /// The instruction's operand that holds the positions: an array, or an integer, which has no index.
        arg: u32,
        /// The index of that element, each position checked as by [`Mode::Check`].
        index: Vec<IndexExpr>,
        /// Added to the element.
        offset: Affine,
        /// The meaning of a negative element.
        #[serde(default, skip_serializing_if = "Negative::is_from_end")]
        negative: Negative,
    },
    /// The floor of a quotient: `(i + 1) // 2`, divisor > 0.
    FloorDiv(Affine, i64),
    /// The remainder, never negative: `k % 3`, divisor > 0.
    Mod(Affine, i64),
}

/// The meaning of a negative element that is a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Negative {
    /// It counts from the end of the dim, as in NumPy: `gather(%idx[i])`.
    #[default]
    FromEnd,
    /// It is a position before the first element: `gather_from_start(%idx[i])`.
    BeforeStart,
}

impl Negative {
    /// True for [`Negative::FromEnd`].
    pub fn is_from_end(&self) -> bool {
        *self == Negative::FromEnd
    }
}

impl IndexExpr {
    /// The affine form of the position; `None` for a gather.
    pub fn form(&self) -> Option<&Affine> {
        match self {
            IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _) => Some(form),
            IndexExpr::Gather { .. } => None,
        }
    }
    /// True if the position depends on an axis.
    pub fn depends_on(&self, axis: u32) -> bool {
        match self {
            IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _) => {
                form.coefficient(axis) != 0
            }
            IndexExpr::Gather { index, offset, .. } => {
                offset.coefficient(axis) != 0 || index.iter().any(|inner| inner.depends_on(axis))
            }
        }
    }
    /// The affine form, mutable.
    pub fn form_mut(&mut self) -> Option<&mut Affine> {
        match self {
            IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _) => Some(form),
            IndexExpr::Gather { .. } => None,
        }
    }
}

/// The access mode: the meaning of a position out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Equal extents rule it out; checked once per call against the extents.
    Proved,
    /// NumPy broadcasting: if the dim has extent 1, every position reads index 0; else as `Proved`. Only for
    /// a plain axis.
    Broadcast,
    /// Checked at each element: out of bounds is an error.
    Check,
    /// The position modulo the extent.
    Wrap,
    /// The nearest position in bounds.
    Clamp,
    /// This value in place of an element.
    Pad(Scalar),
}

/// How a monoid combines two accumulator tuples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Combine {
    /// A builtin monoid.
    Builtin(Monoid),
    /// A body over `2k` accumulators: [`BodyRef::Acc`] `0..k` is the left tuple, `k..2k` the right one. It
    /// yields `k` values.
    Region(Body),
}

/// The builtin monoids.
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
    /// The sum of products of two factors, with one rounding for each product and its addition: `(sum, 1)`.
    /// See [`multiply_add`].
    Dot,
}

impl Monoid {
    /// All builtin monoids.
    pub const ALL: [Monoid; 9] = [
        Monoid::Sum,
        Monoid::Prod,
        Monoid::Min,
        Monoid::Max,
        Monoid::Any,
        Monoid::All,
        Monoid::ArgMin,
        Monoid::ArgMax,
        Monoid::Dot,
    ];
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
            Monoid::Dot => "dot",
        }
    }
    /// The number of accumulators.
    pub const fn accumulators(self) -> usize {
        match self {
            Monoid::ArgMin | Monoid::ArgMax | Monoid::Dot => 2,
            _ => 1,
        }
    }
}

/// The initial value of the accumulators. It is applied once, never once per thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Init {
    /// The monoid's identity. An error if there is none at this dtype (`min` of floats has infinity; a
    /// region declares its own).
    Identity,
    /// None: the first element initializes the accumulators, so there must be one.
    First,
    /// These values, one for each accumulator.
    Values(Vec<Scalar>),
    /// The elements of these operands of the instruction, one for each accumulator. They have the shape of
    /// the result of the same number (the last one if there are fewer), and are read where that result is
    /// written. Not along a scan axis.
    Existing(Vec<u32>),
}

/// One reduction over all reduce axes and the scan axis. It consumes as many consecutive yields of the body
/// as it has accumulators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduction {
    /// How two accumulator tuples combine.
    pub combine: Combine,
    /// The accumulators' dtypes; yields are cast to them.
    pub accumulators: Vec<DType>,
    /// The identity of a region, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Vec<Scalar>>,
    /// The initial value.
    pub init: Init,
    /// The combination may be regrouped.
    pub associative: bool,
    /// The order of elements may change.
    pub commutative: bool,
    /// Combining an element twice equals combining it once.
    pub idempotent: bool,
    /// Source location; none if it is that of the node.
    #[serde(skip)]
    pub loc: Loc,
}

/// The semantics of several points that write one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Write {
    /// The map is injective; checked before anything runs.
    Unique,
    /// The last point wins: in row-major order of the parallel axes, then along the scan axis.
    LastWins,
    /// Combined by this monoid, onto the fill.
    Combine(Monoid),
}

/// A result: its type, and the element that each point writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Out {
    /// Element dtype; yielded values are cast to it.
    pub dtype: DType,
    /// Dims of the result.
    pub dims: Vec<Dim>,
    /// One position for each dim, over the parallel axes and the scan axis; a point outside is an error.
    pub index: Vec<IndexExpr>,
    /// The value of elements that no point writes; required unless every element is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Scalar>,
    /// The rule for several points that write one element.
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
    /// The operands that are read at each point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<Operand>,
    /// The scalar computation at each point.
    pub body: Body,
    /// How yields combine along reduce axes and the scan axis; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reductions: Vec<Reduction>,
    /// The computation on the accumulators ([`BodyRef::Acc`], those of all reductions in order), all axes
    /// but reduce axes, and the operands whose positions depend on no reduce axis. `None` yields the
    /// accumulators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Body>,
    /// The results, one for each value that the last body yields.
    pub outs: Vec<Out>,
    /// The source locations of the fused instructions.
    #[serde(skip)]
    pub locs: Vec<Loc>,
}

impl ArrayExpr {
    /// The number of the scan axis, and whether the scan is exclusive.
    pub fn scan(&self) -> Option<(usize, bool)> {
        self.axes.iter().enumerate().find_map(|(number, axis)| match axis.kind {
            AxisKind::Scan { exclusive } => Some((number, exclusive)),
            _ => None,
        })
    }

    /// The operand, if the expression only copies elements: each element of the one result, whose extents
    /// are those of the axes, is an element of the operand. A guard may leave out elements.
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
