//! Symmetric contractions: results that do not change if two axes are exchanged, as those of `x.T @ x`.
//!
//! The elements of such a result are computed on one side of its diagonal, and copied to the other one:
//!
//! ```text
//! for each tile of columns:
//!   for each row before the end of the tile:   compute the elements in the tile
//!   for each row before the tile:              copy its elements in the tile to the other side
//! ```
//!
//! So tiles on the diagonal are computed wholly, and each other pair of elements once. A slice of the rows
//! writes elements that no other slice writes: the first loop writes those of its rows, the second one those
//! whose column is one of its rows.

use super::columns::AxisLoop;
use super::{ProgramBuffer, ProgramLowering};
use crate::kernel::Binary;
use crate::lower::NotLowered;
use crate::program::{Linear, Span};
use rewright_ir::expr::{
    Affine, Body, BodyOp, BodyRef, Combine, Index, IndexExpr, Init, Monoid, Operand, Source, Write, extent_sources,
};
use rewright_ir::{ArrayExpr, Traits};
use rustc_hash::FxHashMap;

/// About how long a copy of an element to the other side takes, and a point of a contraction, in nanoseconds.
/// Measured on an AMD EPYC (Zen 4) for `f64`.
const NANOS_OF_COPY: f64 = 1.0;
const NANOS_OF_POINT: f64 = 0.04;

/// The rows that are copied together: their elements fill cache lines of the other side.
const ROWS: i64 = 8;

/// True if it is faster to copy elements of a result, if it is symmetric, than to compute them from this
/// number of points along the reduce axes. The result has more rows than a tile has columns, so there are
/// tiles beside the diagonal.
pub fn is_worth_copies((rows, columns): (u64, u32), points: u64) -> bool {
    rows > columns.into() && points as f64 * NANOS_OF_POINT > NANOS_OF_COPY
}

/// True if the exchange of two parallel axes changes only the places of results: the exchanged expression has
/// the same operands, and computes the same values from them, but for the order of commutative operands.
pub fn is_symmetric(expr: &ArrayExpr, one: usize, other: usize) -> bool {
    let exchange = Exchange { expr, axes: [one as u32, other as u32] };
    exchange.has_equal_bounds() && expr.guard.is_empty() && exchange.moves_results() && exchange.keeps_values()
}

/// The exchange of two axes.
struct Exchange<'e> {
    expr: &'e ArrayExpr,
    axes: [u32; 2],
}

/// Pairs of values of a body, and whether the exchange makes one of the other.
type Known = FxHashMap<(BodyRef, BodyRef), bool>;

impl Exchange<'_> {
    fn axis(&self, axis: u32) -> u32 {
        match self.axes {
            [one, other] if axis == one => other,
            [one, other] if axis == other => one,
            _ => axis,
        }
    }

    fn has_equal_bounds(&self) -> bool {
        let [one, other] = self.axes.map(|axis| &self.expr.axes[axis as usize]);
        let sources = |axis: u32| {
            let mut sources: Vec<_> = extent_sources(self.expr, axis).collect();
            sources.sort_unstable();
            sources.dedup();
            sources
        };
        let [first, second] = self.axes;
        one.lo == other.lo && one.hi == other.hi && (one.hi.is_some() || sources(first) == sources(second))
    }

    /// Whether each result has a dim of its own for both axes.
    fn moves_results(&self) -> bool {
        self.expr.outs.iter().all(|out| {
            let along = |axis: u32| out.index.iter().filter(move |position| position.depends_on(axis));
            let is_dim = |axis: u32| along(axis).eq([&IndexExpr::Affine(Affine::axis(axis))]);
            out.write == Write::Unique && self.axes.into_iter().all(is_dim)
        })
    }

    fn keeps_values(&self) -> bool {
        let expr = self.expr;
        let (body, mut known) = (&expr.body, Known::default());
        let mut first = 0;
        let combined = expr.reductions.iter().all(|reduction| {
            let yields = &body.yields[first..first + reduction.accumulators.len()];
            first += yields.len();
            let mut is = |one: BodyRef, other: BodyRef| self.makes(body, (one, other), &mut known);
            let is_same = match (&reduction.combine, yields) {
                // The parts of complex factors are multiplied in an order of their own.
                (Combine::Builtin(Monoid::Dot), &[a, b]) if !reduction.accumulators[0].is_complex() => {
                    is(a, a) && is(b, b) || is(a, b) && is(b, a)
                }
                _ => yields.iter().all(|&value| is(value, value)),
            };
            is_same && !matches!(reduction.init, Init::Existing(_))
        });
        let mut known = Known::default();
        let is_same = |body: &Body| body.yields.iter().all(|&value| self.makes(body, (value, value), &mut known));
        combined && !expr.reductions.is_empty() && expr.finish.as_ref().is_none_or(is_same)
    }

    /// Whether the exchange makes the second value of a body of the first one.
    fn makes(&self, body: &Body, pair: (BodyRef, BodyRef), known: &mut Known) -> bool {
        if let Some(&known) = known.get(&pair) {
            return known;
        }
        let made = match pair {
            (BodyRef::Operand(one), BodyRef::Operand(other)) => {
                let operands = &self.expr.operands;
                self.makes_operand(&operands[one as usize], &operands[other as usize])
            }
            (BodyRef::Axis(one), BodyRef::Axis(other)) => self.axis(one) == other,
            (BodyRef::Inst(one, part), BodyRef::Inst(other, same)) if part == same => {
                let (one, other) = (&body.insts[one as usize], &body.insts[other as usize]);
                match (&one.op, &other.op) {
                    (BodyOp::Op(op, attrs), BodyOp::Op(like, also)) if op == like && attrs == also => {
                        let (args, others) = (&one.args, &other.args);
                        let mut all = |others: &mut dyn Iterator<Item = &BodyRef>| {
                            args.iter().zip(others).all(|(&arg, &other)| self.makes(body, (arg, other), known))
                        };
                        all(&mut others.iter())
                            || op.traits.contains(Traits::COMMUTATIVE) && all(&mut others.iter().rev())
                    }
                    _ => false,
                }
            }
            (BodyRef::Const(_) | BodyRef::Acc(_), _) => pair.0 == pair.1,
            _ => false,
        };
        known.insert(pair, made);
        made
    }

    fn makes_operand(&self, one: &Operand, other: &Operand) -> bool {
        let index = |(one, other): (&Index, &Index)| {
            let is = match (&one.expr, &other.expr) {
                (IndexExpr::Affine(one), IndexExpr::Affine(other)) => self.makes_form(one, other),
                (IndexExpr::FloorDiv(one, n), IndexExpr::FloorDiv(other, m))
                | (IndexExpr::Mod(one, n), IndexExpr::Mod(other, m)) => n == m && self.makes_form(one, other),
                _ => false,
            };
            is && one.mode == other.mode
        };
        one.source == other.source
            && !matches!(one.source, Source::Capture(_))
            && one.index.len() == other.index.len()
            && one.index.iter().zip(&other.index).all(index)
    }

    fn makes_form(&self, one: &Affine, other: &Affine) -> bool {
        one.offset == other.offset
            && one.axes().len() == other.axes().len()
            && one.axes().iter().all(|&(axis, c)| other.coefficient(self.axis(axis)) == c)
    }
}

impl ProgramLowering<'_> {
    /// The rows of a symmetric result that are computed in a tile of columns.
    pub(super) fn rows_before_end(&mut self, rows: &AxisLoop, columns: &Span) -> AxisLoop {
        let end = columns.first.clone().plus(columns.each.into());
        let hi = self.b.extreme(Binary::Min, [&rows.hi, &end]);
        AxisLoop { axis: rows.axis, lo: rows.lo.clone(), hi, tile: rows.tile, divisor: None }
    }

    /// Copies the elements of a tile of columns, in rows before it, to the other side of the diagonal.
    pub(super) fn copy_across(
        &mut self,
        expr: &ArrayExpr,
        rows: &AxisLoop,
        (axis, columns): (usize, &Span),
    ) -> Result<(), NotLowered> {
        let hi = self.b.extreme(Binary::Min, [&rows.hi, &columns.first]);
        let count = self.b.ceil_div(&hi.clone().minus(&rows.lo), ROWS);
        self.for_each(Linear::default(), &[count], |this, number| {
            let first = rows.lo.clone().plus_scaled(&number, ROWS);
            let end = [hi, first.clone().plus(ROWS)];
            this.for_each(columns.first.clone(), &columns.end, |this, column| {
                this.for_each(first, &end, |this, row| {
                    (0..).zip(&expr.outs).try_for_each(|(number, out)| {
                        let buffer = this.buffer(ProgramBuffer::Result(number), out.dtype, out.index.len());
                        (this.axes[rows.axis], this.axes[axis]) = (row.clone(), column.clone());
                        let from = this.write_position(number, out)?;
                        (this.axes[rows.axis], this.axes[axis]) = (column.clone(), row.clone());
                        let to = this.write_position(number, out)?;
                        let element = this.b.load_elem(buffer, out.dtype, &from);
                        this.b.store_elem(buffer, &to, element);
                        Ok(())
                    })
                })
            })
        })
    }
}
