//! The order of axes: chooses the index that varies fastest in the loops of a reduction.
//!
//! A statement says which indices are reduced, and not how loops run. Vectors are adjacent points of the last
//! axis, so it should be an index along which reads are of adjacent elements. It may be parallel: then the
//! reduce axes stand before it, and totals of adjacent points are computed side by side, as in column sums,
//! convolutions and products of matrices. An index of the result's last dim also writes adjacent elements.
//!
//! The choice is by a cost of one point, in loads of a vector. The order of the elements of each sum changes
//! only where that is allowed: if a reduced index comes last, among reduced indices that may be exchanged.

use super::level::Level;
use super::products::Part;
use super::{Made, Translation, at};
use crate::known::sub;
use crate::nest::{Node, Role, Source, Term, Write as Place};
use rewright::Loc;
use rewright::expr::{AxisKind, FEW_POINTS, FEW_STREAMS, is_interleaved};

/// The number of elements of a vector.
const LANES: f64 = 8.0;
/// The cost of reading elements that are apart, one by one.
const SCATTERED: f64 = 8.0;
/// The cost of reading one of a few elements that are adjacent, beside the same of the next points: they are
/// permutations of whole vectors.
const INTERLEAVED: f64 = 3.0;
/// The cost of writing an element apart from the one before, and that of copying it from an array where it is
/// adjacent.
pub(super) const DISPERSED: f64 = 512.0;
pub(super) const COPIED: f64 = 64.0;
/// The cost of reading a copy of elements that are apart, beside that of copying them once for all rows.
const STAGED: f64 = 0.25;
/// The cost of reading elements for a row that are apart along the reduce axis.
const ASIDE: f64 = 0.1;
/// The rows of a contraction that share a load.
const ROWS: f64 = 4.0;
/// The cost of a total that is loaded and stored.
const TOTAL: f64 = 2.0;
/// The cost of combining the lanes of a row.
const HORIZONTAL: f64 = 80.0;
/// The cost of beginning a row of columns.
const START: f64 = 100.0;
/// The extent of an index whose extent is not known.
const UNKNOWN: f64 = 64.0;

/// The distance between the elements that an access names at adjacent points along an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// It is the same element.
    None,
    /// The elements are adjacent.
    One,
    /// Few elements are between them, so that vectors of adjacent elements have those of several points.
    Near,
    /// The elements are apart.
    Far,
}

impl Step {
    /// True if the elements are not adjacent.
    pub(super) fn is_apart(self) -> bool {
        matches!(self, Step::Near | Step::Far)
    }
}

/// The steps of an access along each index.
pub(super) type Steps = Vec<Step>;

/// The accesses of an expression.
pub(super) struct Accesses {
    pub reads: Vec<Steps>,
    pub write: Steps,
    /// The cost of an element that is written apart from the one before.
    pub dispersed: f64,
}

/// The indices of an expression, as axes.
pub(super) struct AxisOrder {
    /// The indices, the outermost axis first.
    pub indices: Vec<usize>,
    /// Those that are reduced.
    reduced: Vec<usize>,
}

impl AxisOrder {
    /// Parallel axes, then reduce axes.
    pub(super) fn as_written(parallel: &[usize], reduced: &[usize]) -> AxisOrder {
        AxisOrder { indices: [parallel, reduced].concat(), reduced: reduced.to_vec() }
    }
    /// The last index, if it is parallel and others are reduced.
    pub(super) fn column(&self) -> Option<usize> {
        let last = self.indices.last().filter(|index| !self.reduced.contains(index))?;
        (!self.reduced.is_empty()).then_some(*last)
    }
    pub(super) fn has_reduced(&self) -> bool {
        !self.reduced.is_empty()
    }
    pub(super) fn is_reduced(&self, index: usize) -> bool {
        self.reduced.contains(&index)
    }
}

/// A last axis along which totals of adjacent points are computed side by side.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) index: usize,
    /// Whether each total is computed without a loop.
    pub(super) is_unrolled: bool,
}

/// The exchanges of axes that leave the meaning as it is.
#[derive(Clone, Copy)]
pub(super) struct Freedom {
    /// Parallel axes: no two points write one element.
    pub parallel: bool,
    /// Reduce axes: the order of elements is free.
    pub reduced: bool,
}

/// True if each read moves along all of these reduced indices.
fn all_move(reduced: &[usize], reads: &[Steps]) -> bool {
    reads.iter().all(|steps| reduced.iter().all(|index| steps[*index] != Step::None))
}

impl Translation<'_, '_, '_> {
    /// The steps of the reads of a node. Alike reads of one array count once.
    pub(super) fn reads_of(&self, node: &Node) -> Vec<Steps> {
        let mut found = Vec::new();
        self.named_reads_of(node, &mut found);
        found.into_iter().map(|(_, steps)| steps).collect()
    }

    fn named_reads_of<'s>(&'s self, node: &Node, found: &mut Vec<(&'s str, Steps)>) {
        let mut add = |name: &'s str, steps: Steps| {
            if !found.contains(&(name, steps.clone())) {
                found.push((name, steps));
            }
        };
        if let Some((_, _, indices)) = self.stored_node(node) {
            return add("", self.steps_of_array(indices));
        }
        match &node.term {
            Term::Read(access) => {
                if let Source::Array(name) = &self.nest.accesses[*access].source {
                    add(name, self.steps(*access));
                }
            }
            Term::Local(local) => {
                if let Some(definition) = self.definitions.get(local) {
                    self.named_reads_of(definition, found);
                }
            }
            Term::Apply(_, args) => args.iter().for_each(|arg| self.named_reads_of(arg, found)),
            Term::Tuple(parts) => parts.iter().for_each(|(_, part)| self.named_reads_of(part, found)),
            Term::Block(_, body) | Term::Reduce(_, _, body) => self.named_reads_of(body, found),
            _ => {}
        }
    }

    /// The steps of an array with one dim for each of these indices.
    pub(super) fn steps_of_array(&self, indices: &[usize]) -> Steps {
        let mut steps = vec![Step::None; self.nest.indices.len()];
        let last = indices.iter().rposition(|index| self.extent(*index) != Some(1.0));
        for (dim, index) in indices.iter().enumerate() {
            steps[*index] = if Some(dim) == last { Step::One } else { Step::Far };
        }
        steps
    }

    /// The steps of an access.
    fn steps(&self, access: usize) -> Steps {
        let own = &self.nest.accesses[access];
        let Source::Array(name) = &own.source else { return vec![Step::None; self.nest.indices.len()] };
        let is_long = |dim: &usize| {
            let array = self.known.array(name).ok();
            let extent = array.and_then(|array| array.extents.get(*dim)?.as_constant());
            extent != Some(1)
        };
        let last = (0..own.dims.len()).rfind(is_long);
        let mut steps = vec![Step::None; self.nest.indices.len()];
        let near = self.few_apart(access, name, last);
        for dim in 0..own.dims.len() {
            let mut indices = Vec::new();
            self.dependencies(access, dim, &mut indices);
            for index in indices {
                // Kernels read reversed rows as they are, but copy those that they combine.
                let is_reduced = self.nest.indices[index].role != Role::Parallel;
                let is_unit =
                    |&(own, factor): &(usize, i64)| own == index && (factor == 1 || factor == -1 && !is_reduced);
                let is_unit = self.ranges.placed[access][dim].terms.iter().any(is_unit);
                let is_first = steps[index] == Step::None;
                steps[index] = match Some(dim) == last && is_unit && is_first {
                    true => Step::One,
                    false if is_first && near == Some(index) => Step::Near,
                    false => Step::Far,
                };
            }
        }
        steps
    }

    /// The index along which few elements are between adjacent points, so that they are loaded by whole
    /// vectors: the one of rows of few elements, or one that is scaled in the last dim.
    fn few_apart(&self, access: usize, name: &str, last: Option<usize>) -> Option<usize> {
        let (array, last) = (self.known.array(name).ok()?, last?);
        let is_scalar = matches!(array.dtype.size(), 4 | 8) && !array.dtype.is_complex();
        let placed = &self.ranges.placed[access];
        let is_few = |count: i64| is_scalar && is_interleaved(count);
        let mut scaled = placed[last].terms.iter().filter(|(_, factor)| is_few(*factor));
        if let (Some((index, _)), None) = (scaled.next(), scaled.next()) {
            return Some(*index);
        }
        let columns = array.extents.get(last)?.as_constant().filter(|count| is_few(*count));
        match &placed.get(last.checked_sub(1)?)?.terms[..] {
            [(index, 1)] if columns.is_some() => Some(*index),
            _ => None,
        }
    }

    /// The steps of the write of the statement.
    pub(super) fn steps_of_target(&self) -> Steps {
        if let Some(access) = self.nest.accesses.iter().position(|access| access.is_write) {
            return self.steps(access);
        }
        let mut steps = vec![Step::None; self.nest.indices.len()];
        let mut is_last = true;
        for place in self.nest.target.dims.iter().flatten().rev() {
            let (index, is_gathered) = match place {
                Place::One => continue,
                Place::Moved(index) => (*index, false),
                Place::At(along) => match (&along.form.terms[..], &along.form.gathers[..]) {
                    ([(index, _)], []) => (*index, false),
                    (_, [(access, _)]) => {
                        let mut indices = Vec::new();
                        (0..self.nest.accesses[*access].dims.len())
                            .for_each(|dim| self.dependencies(*access, dim, &mut indices));
                        indices.into_iter().for_each(|index| steps[index] = Step::Far);
                        is_last = false;
                        continue;
                    }
                    _ => continue,
                },
            };
            if self.extent(index) == Some(1.0) {
                continue;
            }
            let is_next = is_last && !is_gathered && steps[index] == Step::None;
            steps[index] = if is_next { Step::One } else { Step::Far };
            is_last = false;
        }
        steps
    }

    /// The extent of an index, if it is known.
    pub(super) fn extent(&self, index: usize) -> Option<f64> {
        let range = &self.ranges.indices[index];
        let extent = sub(&range.hi, &range.lo).ok()?.as_constant()?.saturating_add(1);
        Some(extent.max(0) as f64)
    }

    /// The cheapest order of axes.
    pub(super) fn axis_order(
        &self,
        parallel: &[usize],
        reduced: &[usize],
        freedom: Freedom,
        accesses: &Accesses,
    ) -> AxisOrder {
        let written = AxisOrder::as_written(parallel, reduced);
        let Some(last_reduced) = reduced.last() else { return written };
        let mut candidates = vec![*last_reduced];
        candidates.extend(parallel.last());
        if freedom.reduced {
            candidates.extend(reduced.iter().rev().skip(1));
        }
        if freedom.parallel {
            candidates.extend(parallel.iter().rev().skip(1));
        }
        // The reduced indices in the order of their axes, with this index innermost.
        let ordered = |index: usize| {
            let mut ordered = reduced.to_vec();
            if let (true, Some(last)) = (freedom.reduced, self.last_reduced(index, parallel, reduced, &accesses.reads))
            {
                ordered.retain(|index| *index != last);
                ordered.push(last);
            }
            ordered
        };
        let cost = |index: &usize| self.cost(*index, parallel, &ordered(*index), accesses);
        // The first of equal ones.
        let best = candidates.iter().map(|index| (*index, cost(index))).reduce(|a, b| if b.1 < a.1 { b } else { a });
        let Some((best, _)) = best else { return written };
        let inner = ordered(best);
        let is_apart = freedom.reduced && reduced.contains(&best) && !all_move(reduced, &accesses.reads);
        let (first, second) = if is_apart { (&inner[..], parallel) } else { (parallel, &inner[..]) };
        let others = first.iter().chain(second).filter(|index| **index != best).copied();
        AxisOrder { indices: others.chain([best]).collect(), reduced: reduced.to_vec() }
    }

    /// The best innermost reduced index of a contraction whose last axis is parallel: totals stay in
    /// registers along it.
    fn last_reduced(&self, last: usize, parallel: &[usize], reduced: &[usize], reads: &[Steps]) -> Option<usize> {
        let row = self.row_axis(last, parallel, reduced, reads).filter(|_| parallel.contains(&last))?;
        let cost = |index: usize| {
            let is_apart = |steps: &&Steps| steps[row] != Step::None && steps[index].is_apart();
            let aside = reads.iter().filter(is_apart).count() as f64 * ASIDE;
            TOTAL / self.extent(index).unwrap_or(UNKNOWN).max(1.0) + aside
        };
        let costs = reduced.iter().rev().map(|&index| (index, cost(index)));
        costs.reduce(|a, b| if b.1 < a.1 { b } else { a }).map(|(index, _)| index)
    }

    /// The cost of a point, with the loops along an index innermost.
    fn cost(&self, innermost: usize, parallel: &[usize], reduced: &[usize], accesses: &Accesses) -> f64 {
        let extent = |index: &usize| self.extent(*index).unwrap_or(UNKNOWN).max(1.0);
        let own = extent(&innermost);
        let unused = (own / LANES).ceil() * LANES / own;
        let is_column = parallel.contains(&innermost);
        let moves = |steps: &Steps| reduced.iter().any(|index| steps[*index] != Step::None);
        let row = self.row_axis(innermost, parallel, reduced, &accesses.reads).filter(|_| is_column);
        let points: f64 = reduced.iter().map(extent).product();
        let streams = |steps: &Steps| -> f64 {
            reduced.iter().filter(|index| steps[**index] != Step::None).map(extent).product()
        };
        let moving = accesses.reads.iter().filter(|steps| steps[innermost] != Step::None);
        let is_interleaved =
            |steps: &Steps| steps[innermost] == Step::Near && reduced.iter().any(|index| steps[*index] == Step::One);
        let copied_streams: f64 = moving.clone().filter(|steps| !is_interleaved(steps)).map(streams).sum();
        let all_streams: f64 = moving.map(streams).sum();
        let few = FEW_STREAMS as f64;
        let is_unrolled = row.is_none() && points <= FEW_POINTS as f64 && (all_streams + copied_streams) / 2.0 <= few;
        let mut loads = 0.0;
        for steps in &accesses.reads {
            let shared = row.filter(|row| steps[*row] == Step::None && moves(steps)).map(|row| extent(&row));
            loads += match (steps[innermost], shared) {
                (Step::None, _) if is_column && reduced.last().is_some_and(|index| steps[*index].is_apart()) => ASIDE,
                (Step::None, _) => 0.0,
                (Step::One, None) => 1.0,
                (Step::One, Some(rows)) => 1.0 / ROWS.min(rows),
                (Step::Near | Step::Far, Some(rows)) => 1.0 / ROWS.min(rows) + STAGED + SCATTERED / rows,
                // Elements of rows that are read several times are packed.
                (Step::Near | Step::Far, None) if !is_column => {
                    let times: f64 = parallel.iter().filter(|index| steps[**index] == Step::None).map(extent).product();
                    (1.0 + SCATTERED / times).min(SCATTERED)
                }
                // Points without a loop read each stream once.
                (Step::Near | Step::Far, None) if !is_unrolled => SCATTERED,
                (Step::Near | Step::Far, None) => {
                    let each = if is_interleaved(steps) { INTERLEAVED } else { SCATTERED };
                    each * streams(steps) / points
                }
            };
        }
        let steps = reduced.last().map_or(1.0, extent);
        // All points along the last reduced index are one kernel, with totals in registers.
        let is_stepped = row.is_some() || is_column && accesses.reads.iter().all(|steps| !steps[innermost].is_apart());
        let start = match row {
            Some(row) => START / ROWS.min(extent(&row)) / steps,
            None if is_stepped => START / steps,
            // Each stream is copied.
            None if is_column && is_unrolled => START * (1.0 + copied_streams) / points,
            None if is_column || !self.is_one_row(reduced, &accesses.reads) => START,
            None => HORIZONTAL,
        };
        let store = match accesses.write[innermost] {
            _ if !is_column => 0.0,
            Step::Near | Step::Far => accesses.dispersed / points,
            _ => 1.0 / points,
        };
        let totals = match is_column && points > FEW_POINTS as f64 {
            true if is_stepped => TOTAL / steps,
            true => 1.0,
            false => 0.0,
        };
        (1.0 + loads + totals) * unused + store + start / own
    }

    /// True if the points along reduced indices are one row: each read moves along all of them, in adjacent
    /// dims of its array.
    fn is_one_row(&self, reduced: &[usize], reads: &[Steps]) -> bool {
        let dims_are_adjacent = |(access, placed): (usize, &Vec<_>)| {
            let names =
                |dim: &usize| self.ranges.placed[access][*dim].terms.iter().any(|(index, _)| reduced.contains(index));
            let dims: Vec<usize> = (0..placed.len()).filter(names).collect();
            self.nest.accesses[access].is_write || dims.windows(2).all(|pair| pair[0] + 1 == pair[1])
        };
        all_move(reduced, reads) && (reduced.len() == 1 || self.ranges.placed.iter().enumerate().all(dims_are_adjacent))
    }

    /// The axis of rows of the result that use the same elements, which differ along the last axis: that of a
    /// contraction.
    fn row_axis(&self, last: usize, parallel: &[usize], reduced: &[usize], reads: &[Steps]) -> Option<usize> {
        let moves = |steps: &Steps| reduced.iter().any(|index| steps[*index] != Step::None);
        let is_row = |index: &usize| {
            let shares = |steps: &Steps| steps[last] != Step::None && steps[*index] == Step::None && moves(steps);
            *index != last && self.extent(*index) != Some(1.0) && reads.iter().any(shares)
        };
        parallel.iter().copied().rev().find(is_row)
    }

    /// The last axis, if totals of adjacent points along it are computed side by side. Sums of a few points
    /// of a window are unrolled, unless rows share elements; others are loops over the reduce axes. Windows
    /// of elements that are not adjacent are reduced point by point.
    pub(super) fn fused_column(&self, axes: &AxisOrder, parts: &[Part<'_>]) -> Option<Column> {
        let last = axes.column()?;
        let (reduced, parallel): (Vec<usize>, Vec<usize>) =
            axes.indices.iter().copied().partition(|index| axes.is_reduced(*index));
        let points: Option<f64> = reduced.iter().map(|index| self.extent(*index)).product();
        let is_few = points.is_some_and(|points| points <= FEW_POINTS as f64);
        let contracts = || self.row_axis(last, &parallel, &reduced, &self.reads_of_parts(parts)).is_some();
        let is_window = |part: &Part<'_>| matches!(part, Part::Written(node) if self.has_window(node, &reduced));
        let is_unrolled = is_few && parts.iter().any(is_window) && !contracts();
        let is_adjacent = || self.reads_of_parts(parts).iter().all(|steps| !steps[last].is_apart());
        (!is_unrolled || is_adjacent()).then_some(Column { index: last, is_unrolled })
    }

    /// Whether a node reads windows: a position has a reduced index and another one.
    fn has_window(&self, node: &Node, reduced: &[usize]) -> bool {
        let mut found = false;
        node.walk(&mut |node| {
            let Term::Read(access) = &node.term else { return };
            found |= self.ranges.placed[*access].iter().any(|placed| {
                let is_reduced = |(index, _): &(usize, i64)| reduced.contains(index);
                placed.terms.iter().any(is_reduced) && !placed.terms.iter().all(is_reduced)
            });
        });
        found
    }

    /// An expression with these axes.
    pub(super) fn open_level(&self, order: &AxisOrder, loc: Loc) -> Made<Level> {
        let mut level = Level::default();
        for &index in &order.indices {
            let (lo, end) = self.range_of(index, loc)?;
            let kind = if order.is_reduced(index) { AxisKind::Reduce } else { AxisKind::Parallel };
            let hi = if kind == AxisKind::Parallel { sub(&end, &lo).map_err(|e| at(e, loc))? } else { end };
            let name = self.axis_name(index, &level);
            level.axis(index, &name, lo, hi, kind);
        }
        Ok(level)
    }
}
