//! Reductions of columns: the reduce axes are outside of the last parallel axis, as in column sums and in
//! products of matrices that are read row by row.
//!
//! The totals of adjacent points of that axis are side by side in a local buffer (scalar expansion), so the
//! loop over these points is the innermost one, and parallel:
//!
//! ```text
//! for each tile of columns:
//!   total[..] = the initial value
//!   for each point of the reduce axes:
//!     for each column:   total[column] += element
//!     after a block of points, for each column: join blocks as their order says
//!   for each column: finish, and write the results
//! ```
//!
//! A contraction has tiles of rows, too, and all rows of a tile are computed block by block. So the elements
//! of a block that the rows share are in the cache, and may be [staged](crate::program).

use super::contraction::shared_axis;
use super::quotients::Divisor;
use super::reduction::{Reducer, Start};
use super::{ProgramLowering, Tiling, axes_of};
use crate::kernel::{Binary, KValue, Unary};
use crate::lower::NotLowered;
use crate::lower::monoid::neutral;
use crate::program::{Accumulator, Condition, ENTRIES, Linear, Lines, Slots, Span, Tile, Trip, Tuple};
use crate::scalar::Elem;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::{AxisKind, Combine, Monoid, Order, Reduction, Source, Write};
use smallvec::SmallVec;
use std::ops::Range;
use std::slice::from_ref;

/// The most columns of a tile, and the most bytes of the totals and the stack of a row of a tile.
const MOST_COLUMNS: usize = 240;
const MOST_BYTES: usize = 128 << 10;

/// The bytes of the totals that registers hold along the points of a block: of four vectors of 64 bytes, the
/// most groups of [steps](crate::kernel::Steps). Longer lines are read in several passes over a block, each
/// of which skips the rest of a line, so hardware prefetching of memory stops.
pub(super) const ROUND_BYTES: u64 = 4 * 64;

/// The most bytes of the totals of a line: half of the first-level cache, and a part of the second-level one.
const NEAR_BYTES: usize = 16 << 10;
const FAR_BYTES: usize = 128 << 10;

/// The rows of a tile, which share a staged copy.
const ROWS: u32 = 512;

/// The most bytes of a staged block, and of the totals that it is used for: both stay in the second-level
/// cache.
const STAGED_BYTES: usize = 384 << 10;

/// Columns of a tile with a staged block are a multiple of this number: that of whole groups of registers.
const GROUP: usize = 48;

/// A loop over a parallel axis.
pub(super) struct AxisLoop {
    /// The axis.
    pub axis: usize,
    /// The first index.
    pub lo: Linear,
    /// One past the last index.
    pub hi: Linear,
    /// The most indices of a tile; none if the axis has no tiles.
    pub tile: Option<u32>,
    /// The divisor of quotients along the axis; none if it is one loop.
    pub divisor: Option<Divisor>,
}

/// A tile under construction.
pub(super) struct Columns<'e> {
    pub expr: &'e ArrayExpr,
    pub reducers: &'e [Reducer<'e>],
    pub totals: Vec<Slots>,
    /// The entry of the totals that is computed, if they are a stack.
    pub entry: Option<Linear>,
    /// The axes of the tile, the last axis last.
    pub axes: Vec<usize>,
    pub tile: Tile,
}

/// The bytes of the totals of a point.
fn bytes_of_totals(reducers: &[Reducer<'_>]) -> usize {
    reducers.iter().flat_map(|r| r.accumulator.kept()).map(|dtype| dtype.size()).sum()
}

/// The most columns of a tile, by the size of their totals.
pub(super) fn most_columns(reducers: &[Reducer<'_>]) -> u32 {
    (MOST_BYTES / (bytes_of_totals(reducers) * ENTRIES)).clamp(1, MOST_COLUMNS) as u32
}

/// The most columns of a tile of lines, given the bytes of the totals of a point.
pub(super) fn most_of_line(bytes: usize, lines: Lines) -> u32 {
    let most = match lines {
        Lines::One => NEAR_BYTES,
        Lines::Several => FAR_BYTES,
    };
    (most / bytes.max(1)).max(1) as u32
}

/// The most columns of a tile of several rows, which has a staged block of elements of about the size of a
/// total, given the bytes of the totals of a point.
pub(super) fn most_staged_columns(bytes: usize, order: Order) -> u32 {
    let columns = STAGED_BYTES / (bytes.max(1) * order.block());
    (columns / GROUP * GROUP).clamp(GROUP, MOST_COLUMNS) as u32
}

/// True if a guard leaves out points along reduce axes.
fn trims_rows(expr: &ArrayExpr) -> bool {
    let is_reduced = |&(axis, _): &(u32, i64)| expr.axes[axis as usize].kind == AxisKind::Reduce;
    expr.guard.iter().any(|condition| condition.form.axes().iter().any(is_reduced))
}

/// True if an expression is a reduction of columns whose totals are combined block by block. Positions of
/// extrema are not, since kernels are faster for these.
pub fn reduces_columns(expr: &ArrayExpr) -> bool {
    let has_neutral = |reduction: &Reduction| match &reduction.combine {
        Combine::Builtin(Monoid::ArgMin | Monoid::ArgMax) => false,
        Combine::Builtin(monoid) => neutral(*monoid, &reduction.accumulators).is_ok(),
        Combine::Region(_) => false,
    };
    let order = Order::common(expr.reductions.iter().map(|reduction| reduction.order(expr.rows_are_points())));
    expr.axes.last().is_some_and(|axis| axis.kind == AxisKind::Parallel && axis.points() != Some(1))
        && !expr.reductions.is_empty()
        && expr.scan().is_none()
        && expr.outs.iter().all(|out| out.write == Write::Unique)
        && order.is_some_and(|order| order != Order::Sequential)
        && !trims_rows(expr)
        && expr.reductions.iter().all(has_neutral)
}

/// The arrays that a reduction of columns reads along the last axis, each once; none for other expressions,
/// and where the last axis is not the last dim of each of them.
pub fn columns_read(expr: &ArrayExpr) -> SmallVec<[u32; 1]> {
    let last = expr.axes.len().saturating_sub(1) as u32;
    let mut read = SmallVec::new();
    for operand in &expr.operands {
        let Source::Array(arg) = operand.source else { continue };
        let Some(dim) = operand.index.iter().rposition(|index| index.expr.depends_on(last)) else { continue };
        if dim + 1 < operand.index.len() {
            return SmallVec::new();
        }
        if !read.contains(&arg) {
            read.push(arg);
        }
    }
    if reduces_columns(expr) { read } else { SmallVec::new() }
}

/// True if calls of an expression with at most one block of points run a variant for these.
pub(super) fn has_one_block(expr: &ArrayExpr) -> bool {
    shared_axis(expr).is_some() || reduces_columns(expr)
}

impl Columns<'_> {
    /// The number of points of a block.
    fn block(&self) -> i64 {
        self.reducers.first().map_or(1, |reducer| reducer.order.block() as i64)
    }

    /// How tuples are combined.
    fn accumulators(&self) -> Vec<&Accumulator> {
        self.reducers.iter().map(|reducer| &reducer.accumulator).collect()
    }

    /// The position of a total, given its place in the tile.
    fn place(&self, at: &[Linear]) -> SmallVec<[Linear; 3]> {
        self.entry.iter().chain(at).cloned().collect()
    }

    /// How tuples are combined, and the totals.
    fn group(&self) -> Vec<(&Accumulator, &Slots)> {
        self.reducers.iter().map(|reducer| &reducer.accumulator).zip(&self.totals).collect()
    }
}

impl ProgramLowering<'_> {
    /// The reductions of an expression, if they are of columns.
    pub(super) fn column_reducers<'e>(&mut self, expr: &'e ArrayExpr) -> Result<Option<Vec<Reducer<'e>>>, NotLowered> {
        let is_column = expr.axes.last().is_some_and(|axis| axis.kind == AxisKind::Parallel);
        if !is_column || expr.reductions.is_empty() || expr.scan().is_some() {
            return Ok(None);
        }
        let reducers = self.reducers(expr)?;
        let has_points = |reducer: &Reducer<'_>| !matches!(reducer.start, Start::Nothing) || !trims_rows(expr);
        let fits = reducers.iter().all(|r| r.accumulator.neutral.is_some() && has_points(r))
            && Order::common(reducers.iter().map(|r| r.order)).is_some();
        Ok(fits.then_some(reducers))
    }

    /// The loops over the parallel axes, of which the last one is the last axis.
    pub(super) fn all_columns(
        &mut self,
        expr: &ArrayExpr,
        reducers: &[Reducer<'_>],
        mut loops: Vec<AxisLoop>,
    ) -> Result<(), NotLowered> {
        let Some(last) = loops.len().checked_sub(1) else { return Ok(()) };
        let tiling = self.variant.tiling;
        loops[last].tile = Some(match tiling {
            Tiling::Lines(lines) => most_of_line(bytes_of_totals(reducers), lines),
            _ => most_columns(reducers),
        });
        // Other writes keep the order of points.
        if expr.outs.iter().any(|out| out.write != Write::Unique) {
            return self.tiles(&loops, Vec::new(), |this, tile| this.columns(expr, reducers, tile));
        }
        let has_blocks = reducers[0].order != Order::Sequential;
        let shared = shared_axis(expr);
        // Columns outermost, rows that share elements innermost.
        loops.rotate_right(1);
        if let Some(at) = loops.iter().position(|nest| Some(nest.axis) == shared) {
            if matches!(tiling, Tiling::Rows | Tiling::HalfOfRows) && has_blocks {
                loops[at].tile = Some(ROWS);
                loops[0].tile = Some(most_staged_columns(bytes_of_totals(reducers), reducers[0].order));
            }
            loops[at..].rotate_left(1);
        }
        let compute = |this: &mut Self, mut tile: Vec<(usize, Span)>| {
            tile.rotate_left(1);
            this.columns(expr, reducers, tile)
        };
        match loops.split_last() {
            Some((rows, outer)) if tiling == Tiling::HalfOfRows => self.tiles(outer, Vec::new(), |this, tile| {
                let (axis, columns) = tile[0].clone();
                let before_end = this.rows_before_end(rows, &columns);
                this.tiles(&[before_end], tile, compute)?;
                this.copy_across(expr, rows, (axis, &columns))
            }),
            _ => self.tiles(&loops, Vec::new(), compute),
        }
    }

    /// Loops over axes, or over tiles of them. The body gets the tile.
    pub(super) fn tiles(
        &mut self,
        loops: &[AxisLoop],
        mut tile: Vec<(usize, Span)>,
        body: impl FnOnce(&mut Self, Vec<(usize, Span)>) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        let Some((AxisLoop { axis, lo, hi, tile: each, divisor }, rest)) = loops.split_first() else {
            return body(self, tile);
        };
        if let Some(divisor) = divisor {
            return self.for_each_quotient((lo, hi), *divisor, |this, index| {
                this.axes[*axis] = index;
                this.tiles(rest, tile, body)
            });
        }
        let Some(each) = *each else {
            return self.for_each(lo.clone(), from_ref(hi), |this, index| {
                this.axes[*axis] = index;
                this.tiles(rest, tile, body)
            });
        };
        let count = self.b.ceil_div(&hi.clone().minus(lo), each.into());
        self.for_each(Linear::default(), &[count], |this, number| {
            let first = lo.clone().plus_scaled(&number, each.into());
            let end = vec![hi.clone(), first.clone().plus(each.into())];
            tile.push((*axis, Span { first, end, each }));
            this.tiles(rest, tile, body)
        })
    }

    /// The results of a tile of these axes, of which the last one is the last axis, at a point of the others.
    fn columns(
        &mut self,
        expr: &ArrayExpr,
        reducers: &[Reducer<'_>],
        spans: Vec<(usize, Span)>,
    ) -> Result<(), NotLowered> {
        let (axes, spans): (Vec<usize>, SmallVec<[Span; 2]>) = spans.into_iter().unzip();
        let tile = Tile { spans };
        let mut columns = Columns { expr, reducers, totals: Vec::new(), entry: None, axes, tile };
        let reduced = axes_of(expr, AxisKind::Reduce, 0);
        if reducers.iter().any(|reducer| matches!(reducer.start, Start::Nothing)) {
            let (_, points) = self.row_points(expr, &reduced);
            self.fail_unless(&[Condition::NotNegative(SmallVec::from_iter([points.plus(-1)]))])?;
        }
        match (reducers.iter().all(|r| r.order == Order::Sequential), &reduced[..]) {
            (false, [outer @ .., along]) => self.blocks_along(&mut columns, outer, *along)?,
            _ => {
                columns.totals = self.totals(&columns);
                self.begin_block(&columns, None)?;
                self.nest(expr, &reduced, 0, |this| this.step(&columns))?;
            }
        }
        self.each_point(&columns, |this, at| {
            let at = &columns.place(at)[..];
            let values = columns.totals.iter().flat_map(|total| this.b.get(total, at).values).collect();
            let values = this.finished(expr, &[], values)?;
            this.write_all(expr, values)
        })
    }

    /// The points along the reduce axes, block by block. The total of a block is computed in the entry of the
    /// stack where it stays, and joined with the entries before it in place. The first entry has the result.
    fn blocks_along(&mut self, columns: &mut Columns<'_>, outer: &[usize], along: usize) -> Result<(), NotLowered> {
        let expr = columns.expr;
        let (lo, hi) = self.bounds(expr, along, 0);
        let (_, points) = self.row_points(expr, &[outer, &[along]].concat());
        let block = columns.block();
        let count = self.b.ceil_div(&points, block);
        if self.variant.one_block || count.as_constant().is_some_and(|count| count <= 1) {
            columns.totals = self.totals(columns);
            self.begin_block(columns, None)?;
            let known = lo.clone().plus(block);
            let end = if count.as_constant().is_some() { vec![hi] } else { vec![hi, known] };
            let columns = &*columns;
            return self.nest(expr, outer, 0, |this| this.segment(columns, (along, Trip::Unknown), lo, &end));
        }
        columns.totals = self.b.block_stack(&columns.accumulators(), &columns.tile);
        columns.entry = Some(Linear::default());
        if count.as_constant().is_none() && (!has_one_block(expr) || trims_rows(expr)) {
            let is_empty = Condition::NotNegative(SmallVec::from_iter([Linear::default().minus(&count)]));
            self.when_all(vec![is_empty], |this| this.begin_block(columns, None))?;
        }
        self.for_each(Linear::default(), from_ref(&count), |this, number| {
            let number = this.b.value(&number);
            let height = this.b.k.unary(Unary::PopCount, number);
            columns.entry = Some(height.into());
            this.begin_block(columns, Some(number))?;
            match outer {
                [] => {
                    let first = lo.clone().plus_term(number, block);
                    this.segment(columns, (along, Trip::NotEmpty), first.clone(), &[hi, first.plus(block)])?;
                }
                _ => this.segments(columns, outer, along, number)?,
            }
            let (next, count) = (this.b.value(&Linear::from(number).plus(1)), this.b.value(&count));
            let is_last = this.b.cx().eq(next, count);
            let full = this.b.trailing_zeros(next);
            let joins = this.b.k.select(is_last, height, full);
            this.b.join_entries((&columns.accumulators(), &columns.totals), (height, joins), &columns.tile);
            Ok(())
        })?;
        columns.entry = Some(Linear::default());
        Ok(())
    }

    /// The points of the n-th block along several reduce axes: for each row of points, those along the last
    /// axis, that are in the block.
    fn segments(
        &mut self,
        columns: &Columns<'_>,
        outer: &[usize],
        along: usize,
        number: KValue,
    ) -> Result<(), NotLowered> {
        let (lo, hi) = self.bounds(columns.expr, along, 0);
        let (extents, rows) = self.row_points(columns.expr, outer);
        let (block, extent) = (columns.block(), hi.clone().minus(&lo));
        let start = Linear::default().plus_term(number, block);
        let most = extent.as_constant().map_or(block, |extent| extent.clamp(1, block));
        let [extent, from, to] = [&extent, &start, &start.clone().plus(block - 1)].map(|form| self.b.value(form));
        let first = self.b.k.binary(Binary::Quot, from, extent);
        let last = self.b.k.binary(Binary::Quot, to, extent);
        self.for_each(first.into(), &[rows, Linear::from(last).plus(1)], |this, row| {
            let row_value = this.b.value(&row);
            this.at_row_point(outer, &extents, row);
            let before = this.cx().mul(row_value, extent);
            // The positions of the block's start and end in the row.
            let start = start.clone().plus_term(before, -1);
            let first = this.b.extreme(Binary::Max, [&start, &Linear::default()]);
            let end = lo.clone().plus_scaled(&start, 1).plus(block);
            let first = lo.clone().plus_scaled(&first, 1);
            this.segment(columns, (along, Trip::NotEmpty), first.clone(), &[hi, end, first.plus(most)])
        })
    }

    /// The totals of a tile.
    fn totals(&mut self, columns: &Columns<'_>) -> Vec<Slots> {
        let extents = columns.tile.extents();
        columns.reducers.iter().map(|r| self.b.slots(&r.accumulator, &extents)).collect()
    }

    /// Sets the totals of a tile to the start of the reduction, or, at a block with another number than 0, to
    /// the neutral element.
    fn begin_block(&mut self, columns: &Columns<'_>, number: Option<KValue>) -> Result<(), NotLowered> {
        let start = |this: &mut Self| {
            this.each_point(columns, |this, at| {
                let at = columns.place(at);
                let each = columns.reducers.iter().zip(&columns.totals);
                each.into_iter().try_for_each(|(reducer, total)| this.start(columns.expr, reducer, total, &at))
            })
        };
        let Some(number) = number else { return start(self) };
        let is_first = self.b.is_zero(number);
        if columns.reducers.iter().any(|r| !matches!(r.start, Start::Values(_))) {
            return self.when(is_first, start, |this| {
                this.each_point(columns, |this, at| {
                    let at = columns.place(at);
                    let each = columns.reducers.iter().zip(&columns.totals);
                    each.for_each(|(reducer, total)| this.b.clear(&reducer.accumulator, total, &at));
                    Ok(())
                })
            });
        }
        let Condition::Value(is_first) = is_first else { return Ok(()) };
        let mut starts: Vec<Vec<Elem>> = Vec::new();
        for reducer in columns.reducers {
            let Start::Values(values) = &reducer.start else { continue };
            let neutral = reducer.accumulator.neutral.iter().flatten();
            let pairs = values.iter().zip(neutral).map(|(&value, &neutral)| {
                let (value, neutral) = (self.cx().constant(value), self.cx().constant(neutral));
                self.cx().select(is_first, value, neutral)
            });
            starts.push(pairs.collect());
        }
        self.each_point(columns, |this, at| {
            let at = columns.place(at);
            for (total, values) in columns.totals.iter().zip(&starts) {
                this.b.set(total, &at, &Tuple { values: values.clone(), flag: None });
            }
            Ok(())
        })
    }

    /// Adjacent points along a reduce axis, row by row of the tile.
    fn segment(
        &mut self,
        columns: &Columns<'_>,
        (along, trip): (usize, Trip),
        first: Linear,
        end: &[Linear],
    ) -> Result<(), NotLowered> {
        let rows = 0..columns.axes.len() - 1;
        let indices = self.open(columns, rows.clone());
        let index = self.b.open_loop();
        self.axes[along] = index.into();
        let ended = self.step(columns);
        self.b.close_loop(index, trip, first, end);
        self.close(columns, rows, indices);
        ended
    }

    /// Combines the element of each column at the current point of the other axes.
    fn step(&mut self, columns: &Columns<'_>) -> Result<(), NotLowered> {
        self.each_column(columns, |this, at| {
            let at = &columns.place(at)[..];
            let guard = this.guard(columns.expr, false);
            this.when_all(guard, |this| {
                let group: Vec<_> =
                    columns.reducers.iter().zip(&columns.totals).map(|(r, total)| (r, total, None)).collect();
                this.point(columns.expr, &[], &group, |this, tuples| {
                    for ((accumulator, total), tuple) in columns.group().into_iter().zip(tuples) {
                        this.b.join(accumulator, (total, at), tuple);
                    }
                })
            })
        })
    }

    /// Statements for each column at the current point of the other axes, given the place of its totals.
    pub(super) fn each_column(
        &mut self,
        columns: &Columns<'_>,
        body: impl FnOnce(&mut Self, &[Linear]) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        let last = columns.axes.len() - 1..columns.axes.len();
        let indices = self.open(columns, last.clone());
        let at = self.place(columns);
        let ended = body(self, &at);
        self.close(columns, last, indices);
        ended
    }

    /// Statements for each point of the tile that the guard admits, given its place.
    fn each_point(
        &mut self,
        columns: &Columns<'_>,
        body: impl FnOnce(&mut Self, &[Linear]) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        let all = 0..columns.axes.len();
        let indices = self.open(columns, all.clone());
        let (at, guard) = (self.place(columns), self.guard(columns.expr, false));
        let ended = self.when_all(guard, |this| body(this, &at));
        self.close(columns, all, indices);
        ended
    }

    /// The place of the totals at the current point of the tile.
    fn place(&self, columns: &Columns<'_>) -> SmallVec<[Linear; 2]> {
        let place = |(&axis, span): (&usize, &Span)| self.axes[axis].clone().minus(&span.first);
        columns.axes.iter().zip(&columns.tile.spans).map(place).collect()
    }

    /// Opens the loops over some axes of the tile.
    fn open(&mut self, columns: &Columns<'_>, which: Range<usize>) -> Vec<KValue> {
        let open = |&axis: &usize| {
            let index = self.b.open_loop();
            self.axes[axis] = index.into();
            index
        };
        columns.axes[which].iter().map(open).collect()
    }

    /// Closes these loops.
    fn close(&mut self, columns: &Columns<'_>, which: Range<usize>, indices: Vec<KValue>) {
        for (index, span) in indices.into_iter().zip(&columns.tile.spans[which]).rev() {
            self.b.close_loop(index, Trip::NotEmpty, span.first.clone(), &span.end);
        }
    }
}
