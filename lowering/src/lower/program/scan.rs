//! Scans: a loop in sequence over the scan axis, whose points write the results of the running total.
//!
//! ```text
//! for each point of the parallel axes:
//!   total = the initial value
//!   for each point of the scan axis that the guard admits:
//!     part = the values of the point, or the total of its reduce axes
//!     total = total combined with part
//!     finish, and write the results          -- before the combination if the scan is exclusive
//! ```
//!
//! The total lives in a local buffer of rank 0, which code generators keep in registers. A row is a chain of
//! dependent instructions, so [register blocking](crate::program) interleaves rows.
//!
//! If the scan axis is outside of the last parallel axis, as in the running sums of columns, the totals of a
//! tile of columns are side by side, and the loop over columns is innermost and parallel.

use super::columns::{AxisLoop, Columns, most_columns};
use super::reduction::{Reducer, Start};
use super::{ProgramLowering, axes_of};
use crate::lower::NotLowered;
use crate::program::{Linear, Slots, Tile};
use rewright_ir::ArrayExpr;
use rewright_ir::expr::{AxisKind, Write};

/// A scan under construction.
struct Scan<'e> {
    expr: &'e ArrayExpr,
    reducers: &'e [Reducer<'e>],
    axis: usize,
    exclusive: bool,
    /// Whether points of the scan axis have reduce axes.
    reduces: bool,
}

impl ProgramLowering<'_> {
    /// The loops over the parallel axes of an expression with a scan axis.
    pub(super) fn scanned(&mut self, expr: &ArrayExpr, mut loops: Vec<AxisLoop>) -> Result<(), NotLowered> {
        let Some((axis, exclusive)) = expr.scan() else { return NotLowered::because("it has no scan axis") };
        let reducers = &self.reducers(expr)?;
        let reduces = !axes_of(expr, AxisKind::Reduce, 0).is_empty();
        let scan = Scan { expr, reducers, axis, exclusive, reduces };
        if scan.has_columns()
            && let Some(column) = loops.last_mut()
        {
            column.tile = Some(most_columns(reducers));
            return self.tiles(&loops, Vec::new(), |this, tile| {
                let (axes, spans) = tile.into_iter().unzip();
                this.scanned_columns(&scan, axes, Tile { spans })
            });
        }
        self.tiles(&loops, Vec::new(), |this, _| this.scanned_row(&scan))
    }

    /// The results along the scan axis, at a point of the parallel axes.
    fn scanned_row(&mut self, scan: &Scan<'_>) -> Result<(), NotLowered> {
        let reducers = scan.reducers;
        let totals: Vec<Slots> = reducers.iter().map(|reducer| self.running_total(reducer, &[])).collect();
        // Each point has a value, unless it is that of reduce axes.
        let any = if scan.reduces { self.points_seen(reducers) } else { vec![None; reducers.len()] };
        reducers.iter().zip(&totals).try_for_each(|(reducer, total)| self.start(scan.expr, reducer, total, &[]))?;
        let (lo, hi) = self.bounds(scan.expr, scan.axis, 0);
        self.for_each(lo, &[hi], |this, index| {
            this.axes[scan.axis] = index;
            let guard = this.guard(scan.expr, false);
            this.when_all(guard, |this| this.scanned_point(scan, (&totals, &[]), &any))
        })
    }

    /// The results along the scan axis, at a tile of the last axis.
    fn scanned_columns(&mut self, scan: &Scan<'_>, axes: Vec<usize>, tile: Tile) -> Result<(), NotLowered> {
        let (expr, reducers) = (scan.expr, scan.reducers);
        let totals = reducers.iter().map(|reducer| self.running_total(reducer, &tile.extents())).collect();
        let columns = Columns { expr, reducers, totals, entry: None, axes, tile };
        self.each_column(&columns, |this, at| {
            let mut each = reducers.iter().zip(&columns.totals);
            each.try_for_each(|(reducer, total)| this.start(expr, reducer, total, at))
        })?;
        let (lo, hi) = self.bounds(expr, scan.axis, 0);
        self.for_each(lo, &[hi], |this, index| {
            this.axes[scan.axis] = index;
            this.each_column(&columns, |this, at| {
                let guard = this.guard(expr, false);
                let any = vec![None; reducers.len()];
                this.when_all(guard, |this| this.scanned_point(scan, (&columns.totals, at), &any))
            })
        })
    }

    /// Combines the current point with the totals at a place, and writes the results.
    fn scanned_point(
        &mut self,
        scan: &Scan<'_>,
        (totals, at): (&[Slots], &[Linear]),
        any: &[Option<u32>],
    ) -> Result<(), NotLowered> {
        let before = if scan.exclusive { Some(self.values((totals, at), any)?) } else { None };
        match scan.reduces {
            true => self.join_parts(scan, (totals, at), any)?,
            false => self.join_point(scan, (totals, at))?,
        }
        let values = match before {
            Some(before) => before,
            None => self.values((totals, at), any)?,
        };
        let results = self.finished(scan.expr, &[], values)?;
        self.write_all(scan.expr, results)
    }

    /// Room for running totals at these extents. A total that starts from values always holds something.
    fn running_total(&mut self, reducer: &Reducer<'_>, extents: &[u32]) -> Slots {
        let slots = self.b.slots(&reducer.accumulator, extents);
        if reducer.starts_full() { Slots { flag: None, ..slots } } else { slots }
    }

    /// Joins the values of the current point.
    fn join_point(&mut self, scan: &Scan<'_>, (totals, at): (&[Slots], &[Linear])) -> Result<(), NotLowered> {
        let group: Vec<_> = scan.reducers.iter().zip(totals).map(|(reducer, total)| (reducer, total, None)).collect();
        self.point(scan.expr, &[], &group, |this, tuples| {
            for ((reducer, total, _), tuple) in group.iter().zip(tuples) {
                this.b.join(&reducer.accumulator, (total, at), tuple);
            }
        })
    }

    /// Joins the totals of the reduce axes at the current point.
    fn join_parts(
        &mut self,
        scan: &Scan<'_>,
        (totals, at): (&[Slots], &[Linear]),
        any: &[Option<u32>],
    ) -> Result<(), NotLowered> {
        let parts: Vec<Slots> = scan.reducers.iter().map(|reducer| self.b.slots(&reducer.accumulator, &[])).collect();
        for (reducer, part) in scan.reducers.iter().zip(&parts) {
            self.b.clear(&reducer.accumulator, part, &[]);
        }
        self.fold_all(scan.expr, &[], (scan.reducers, &parts, any))?;
        for ((reducer, total), part) in scan.reducers.iter().zip(totals).zip(&parts) {
            let part = self.b.get(part, &[]);
            self.b.join(&reducer.accumulator, (total, at), &part);
        }
        Ok(())
    }
}

impl Scan<'_> {
    /// True if totals of adjacent columns may be side by side, without flags. Other writes than `unique` keep
    /// the order of points.
    fn has_columns(&self) -> bool {
        let has_flag = |reducer: &Reducer<'_>| reducer.accumulator.neutral.is_none() && !reducer.starts_full();
        !self.reduces
            && self.expr.axes.last().is_some_and(|axis| axis.kind == AxisKind::Parallel)
            && self.expr.outs.iter().all(|out| out.write == Write::Unique)
            && !self.reducers.iter().any(has_flag)
    }
}

impl Reducer<'_> {
    /// True if the total holds values from the start on.
    fn starts_full(&self) -> bool {
        matches!(self.start, Start::Values(_))
    }
}
