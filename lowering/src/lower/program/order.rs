//! The order of a reduction: rows are [`Reduce`] statements, and the rows of a reduction are combined in
//! blocks ([`Order`]).

use super::ProgramLowering;
use super::reduction::Reducer;
use crate::kernel::{Binary, Part};
use crate::lower::NotLowered;
use crate::program::{Accumulator, Linear, Reduce, Slots, Stmt, Tile, Tree};
use crate::scalar::Elem;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::Order;
use smallvec::smallvec;

/// The reductions of one order: the reducer, its total, and the flag that says whether there was a point.
pub(super) type Group<'g> = [(&'g Reducer<'g>, &'g Slots, Option<u32>)];

impl ProgramLowering<'_> {
    /// Combines all points of the reduce axes onto the totals of a group.
    pub(super) fn fold(
        &mut self,
        expr: &ArrayExpr,
        captures: &[Elem],
        order: Order,
        group: &Group<'_>,
    ) -> Result<(), NotLowered> {
        let first = self.axes.len() - expr.axes.len();
        let (outer, row) = self.outer_and_row(expr);
        let onto_total = |this: &mut Self| {
            this.point(expr, captures, group, |this, tuples| {
                for ((reducer, total, _), tuple) in group.iter().zip(tuples) {
                    this.b.join(&reducer.accumulator, (total, &[]), tuple);
                }
            })
        };
        let Order::Tree { lanes, leaf, apart, part, block: rows_of_block } = order else {
            let all: Vec<usize> = outer.into_iter().chain(row).collect();
            return self.nest(expr, &all, first, onto_total);
        };
        let [lanes, leaf, apart, part] = [lanes, leaf, apart, part].map(|n| n as u32);
        let tree = Tree { lanes, leaf, apart, part };
        if outer.is_empty() {
            return self.row(expr, captures, tree, &row, group);
        }
        let totals: Vec<(&Accumulator, &Slots)> = group.iter().map(|(r, total, _)| (&r.accumulator, *total)).collect();
        let accumulators: Vec<&Accumulator> = totals.iter().map(|(a, _)| *a).collect();
        let blocks = self.b.block_stack(&accumulators, &Tile::default());
        let rows = self.b.counter();
        self.nest(expr, &outer, first, |this| {
            if row.is_empty() {
                onto_total(this)?;
            } else {
                this.row(expr, captures, tree, &row, group)?;
            }
            let count = this.b.count(rows);
            let block = this.b.int(rows_of_block as i64);
            let into_block = this.b.k.binary(Binary::Rem, count, block);
            let is_full = this.b.is_zero(into_block);
            this.b.when(
                is_full,
                |b| {
                    let number = b.k.binary(Binary::Quot, count, block);
                    b.push_totals(&totals, &blocks, number);
                },
                |_| {},
            );
            Ok(())
        })?;
        let (rows, block) = (self.b.load(rows, Part::Re, &[]), self.b.int(rows_of_block as i64));
        let whole = self.b.k.binary(Binary::Quot, rows, block);
        self.b.join_all(&totals, &blocks, whole);
        Ok(())
    }

    /// Combines a row, and then the totals with it.
    fn row(
        &mut self,
        expr: &ArrayExpr,
        captures: &[Elem],
        tree: Tree,
        row: &[usize],
        group: &Group<'_>,
    ) -> Result<(), NotLowered> {
        let (extents, points) = self.row_points(expr, row);
        self.b.open();
        let index = self.b.k.undefined(rewright_ir::DType::I64, 0);
        self.at_row_point(row, &extents, index.into());
        let combined = self.point(expr, captures, group, |this, tuples| {
            this.b.push(Stmt::Combine(tuples.iter().flat_map(|tuple| tuple.values.iter().copied()).collect()));
        });
        let body = self.b.close();
        let accumulators = group.iter().map(|(r, total, _)| (r.accumulator.clone(), (*total).clone())).collect();
        self.b.push(Stmt::Reduce(Box::new(Reduce { index, points: smallvec![points], tree, accumulators, body })));
        combined
    }

    /// The extents along the axes of a row, and the number of its points.
    pub(super) fn row_points(&mut self, expr: &ArrayExpr, row: &[usize]) -> (Vec<(Linear, Linear)>, Linear) {
        let first = self.axes.len() - expr.axes.len();
        let mut extents = Vec::new();
        for &axis in row {
            let (lo, hi) = self.bounds(expr, axis, first);
            extents.push((lo.clone(), hi.minus(&lo)));
        }
        if let [(_, only)] = &extents[..] {
            let points = only.clone();
            return (extents, points);
        }
        let mut product = Linear::constant(1);
        for (_, extent) in &extents {
            product = match (product.as_constant(), extent.as_constant()) {
                (Some(a), Some(b)) => Linear::constant(a.saturating_mul(b.max(0))),
                _ => {
                    let (a, b) = (self.b.value(&product), self.b.value(extent));
                    let zero = self.b.int(0);
                    let b = self.b.k.binary(Binary::Max, b, zero);
                    self.cx().mul(a, b).into()
                }
            };
        }
        (extents, product)
    }

    /// Sets the indices along the axes of a row to those of its n-th point.
    pub(super) fn at_row_point(&mut self, row: &[usize], extents: &[(Linear, Linear)], point: Linear) {
        let mut rest = point;
        for (n, (&axis, (lo, extent))) in row.iter().zip(extents).enumerate().rev() {
            if n == 0 {
                self.axes[axis] = rest.clone().plus_scaled(lo, 1);
                break;
            }
            let (value, extent) = (self.b.value(&rest), self.b.value(extent));
            let index = self.b.k.binary(Binary::Rem, value, extent);
            self.axes[axis] = lo.clone().plus_term(index, 1);
            rest = self.b.k.binary(Binary::Quot, value, extent).into();
        }
    }
}
