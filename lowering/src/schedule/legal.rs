//! Whether a sequence of transformations is legal for a call: it computes the same points, and combines them
//! in the same order.
//!
//! No point can fail, since the first failure is reported. Besides, each transformation has conditions:
//!
//! - `split`: the loop is no row that is combined in registers. If results are combined in memory along it,
//!   outer loops of that kind run one iteration at a time.
//! - `stage`: the buffer is not staged already. It moves along no other loop of the block. A result moves
//!   along each loop of the copy. The copy has at most [`MOST_BYTES`].
//! - `collapse`: the elements of each buffer are evenly spaced along both loops together, no index of them is
//!   a value, and either both loops combine results, or none does. A buffer that varies along the outer loop
//!   varies along the inner one, as all do in the kernel for rows ([`Kernel::by_point`]).
//! - `fission`: the points of a row can be computed by themselves, rows write to different elements, no other
//!   loop is in the block, and there is no second one.
//! - `unroll_and_jam`: it is the last one. The loop is the one around rows, which write to different
//!   elements, and no index along it is a value. Rows are not searched for a position.
//!
//! [`Kernel::by_point`]: crate::kernel::Kernel::by_point

use super::collapse::Collapse;
use super::decide::is_apart;
use super::fission::Fission;
use super::jam::Jam;
use super::sequence::Transform;
use crate::kernel::Buffer;
use crate::lower::{Bound, Lowered};
use smallvec::SmallVec;

/// The most bytes of a copy, or of the values of points.
const MOST_BYTES: u64 = 1 << 28;

/// Checks a sequence; an error says which transformation is not legal, by its number, and why.
pub fn check(lowered: &Lowered, bound: &Bound, sequence: &[Transform]) -> Result<(), (usize, &'static str)> {
    if sequence.is_empty() {
        return Ok(());
    }
    if lowered.fallible {
        return Err((0, "a point may fail, and the first one is reported"));
    }
    let nest = Nest {
        lowered,
        bound,
        extents: bound.extents.clone(),
        strides: bound.strides.to_vec(),
        staged: SmallVec::new(),
        folds: lowered.kernel.fold.is_some(),
        kernel: Which::Whole,
    };
    nest.check(sequence, 0)
}

/// The loops of a block.
#[derive(Clone)]
struct Nest<'a> {
    lowered: &'a Lowered,
    bound: &'a Bound,
    extents: SmallVec<[u64; 4]>,
    /// For each buffer, one for each loop.
    strides: Vec<i64>,
    /// The buffers that are staged.
    staged: SmallVec<[usize; 4]>,
    /// Whether rows along the innermost loop are combined.
    folds: bool,
    kernel: Which,
}

/// The kernel that runs in the innermost block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Whole,
    /// The first one of a fission, which uses no index, combines nothing, and writes no result.
    Items,
    /// The second one of a fission.
    Fold,
}

impl Nest<'_> {
    fn check(mut self, sequence: &[Transform], number: usize) -> Result<(), (usize, &'static str)> {
        let Some((first, rest)) = sequence.split_first() else { return Ok(()) };
        let loops = self.extents.len();
        let wrong = |why| Err((number, why));
        match first {
            Transform::Split(split) => {
                if split.along >= loops || split.by == 0 {
                    return wrong("there is no such loop");
                }
                if self.folds && split.along + 1 == loops {
                    return wrong("rows that are combined are whole");
                }
                if self.is_reduced(split.along) && (0..split.along).any(|l| self.is_reduced(l) && self.extents[l] > 1) {
                    return wrong("it changes the order in which results are combined");
                }
                self.extents[split.along] = self.extents[split.along].min(split.by);
            }
            Transform::Stage(stage) => {
                let (own, count) = (stage.buffer * loops, self.strides.len() / loops.max(1));
                if self.staged.contains(&stage.buffer) {
                    return wrong("the operand is staged already");
                }
                if stage.buffer >= count || stage.loops.iter().any(|&l| l >= loops) {
                    return wrong("there is no such operand or loop");
                }
                if (1..stage.loops.len()).any(|n| stage.loops[..n].contains(&stage.loops[n])) {
                    return wrong("it names a loop twice");
                }
                let moves = |l: usize| self.extents[l] > 1 && self.strides[own + l] != 0;
                if (0..loops).any(|l| moves(l) && !stage.loops.contains(&l)) {
                    return wrong("the operand moves along another loop of the block; split that by 1, or name it");
                }
                let is_written = stage.writes || stage.buffer >= self.lowered.kernel.buffers.len();
                if is_written && self.kernel == Which::Items {
                    return wrong("results and values of points are staged for the second kernel of a fission");
                }
                if stage.writes && stage.loops.iter().any(|&l| self.extents[l] > 1 && self.strides[own + l] == 0) {
                    return wrong("the result does not move along a loop that is named");
                }
                let inner = stage.loops.last().map_or(1, |&l| self.extents[l]);
                if stage.pitch.is_some_and(|pitch| pitch < inner) {
                    return wrong("its pitch is less than the points of the last loop");
                }
                if stage.most_bytes(&self.extents) > MOST_BYTES {
                    return wrong("its copy has more than 256 MiB; split a loop of it");
                }
                self.strides[own..own + loops].fill(0);
                for (&l, &stride) in stage.loops.iter().zip(&stage.strides(&self.extents)) {
                    self.strides[own + l] = stride;
                }
                self.staged.push(stage.buffer);
            }
            Transform::Collapse(Collapse { outer, inner }) => {
                let (outer, inner) = (*outer, *inner);
                if outer >= inner || inner >= loops {
                    return wrong("the first loop is not outside of the second one");
                }
                if (outer + 1..inner).any(|l| self.extents[l] > 1) {
                    return wrong("a loop is between them");
                }
                if self.folds && inner + 1 == loops {
                    return wrong("rows that are combined are whole");
                }
                if self.is_reduced(outer) != self.is_reduced(inner) {
                    return wrong("results are combined along one of the loops");
                }
                let is_value = |&l: &usize| self.bound.axes(l).any(|axis| self.lowered.indexed[axis as usize]);
                if self.kernel != Which::Items && [outer, inner].iter().any(is_value) {
                    return wrong("the index of one of the loops is a value");
                }
                let kernel = &self.lowered.kernel;
                // The kernel for rows moves all buffers along its innermost loop; others keep theirs.
                let is_fixed = |buffer: &Buffer| buffer.varies[outer] && !buffer.varies[inner];
                if inner + 1 < loops && kernel.buffers.iter().any(is_fixed) {
                    return wrong("an operand that moves along the outer loop does not move along the inner one");
                }
                for own in self.strides.chunks_exact(loops) {
                    if !(Collapse { outer, inner }).is_even(&self.extents, own) {
                        return wrong("elements of an operand or result are not evenly spaced along both loops");
                    }
                }
                self.collapse(&Collapse { outer, inner });
            }
            Transform::Jam(Jam { along, by }) => {
                if along + 2 != loops || !self.folds {
                    return wrong("its loop is not the one around rows that are combined");
                }
                if *by < 2 || !rest.is_empty() {
                    return wrong("it must be the last transformation");
                }
                if self.kernel != Which::Whole {
                    return wrong("the points of rows are computed before");
                }
                if !is_apart(self.lowered, self.bound, *along) {
                    return wrong("rows do not write to different elements");
                }
                if self.lowered.kernel.fold.as_ref().is_some_and(|fold| fold.alone.is_some()) {
                    return wrong("rows that are searched for a position are not computed side by side");
                }
                if self.lowered.kernel.jammed(*along, 2).is_none() {
                    return wrong("the index of the loop is a value");
                }
            }
            Transform::Fission(fission) => {
                let is_row = fission.inner + 1 == loops && fission.outer < fission.inner;
                if !is_row || !self.folds || self.lowered.item_work.is_none() || self.lowered.block_join.is_some() {
                    return wrong("its loops are not those of rows whose points can be computed first");
                }
                if !is_apart(self.lowered, self.bound, fission.outer) || fission.first > rest.len() {
                    return wrong("rows do not write to different elements");
                }
                if self.kernel != Which::Whole {
                    return wrong("there is one already");
                }
                if (0..loops).any(|l| l != fission.outer && l != fission.inner && self.extents[l] > 1) {
                    return wrong("another loop is in the block; split it by 1");
                }
                return self.check_both(fission, rest, number + 1);
            }
        }
        self.check(rest, number + 1)
    }

    /// Checks the sequences of both kernels of a fission.
    fn check_both(mut self, fission: &Fission, rest: &[Transform], number: usize) -> Result<(), (usize, &'static str)> {
        let Some(split) = self.lowered.kernel.split_items() else {
            return Err((number - 1, "its loops are not those of rows whose points can be computed first"));
        };
        let loops = self.extents.len();
        let Fission { outer, inner, first } = *fission;
        // The values of points, one row after the other.
        let points = self.extents[outer].saturating_mul(self.extents[inner]);
        for dtype in &split.dtypes {
            let mut own: SmallVec<[i64; 4]> = SmallVec::from_elem(0, loops);
            let size = dtype.size() as i64;
            (own[outer], own[inner]) = (self.extents[inner] as i64 * size, size);
            self.strides.extend(own);
            if points.saturating_mul(size as u64) > MOST_BYTES {
                return Err((number - 1, "the values of its points have more than 256 MiB; split the loop over rows"));
            }
        }
        let (first, second) = rest.split_at(first);
        let mut items = Nest { folds: false, kernel: Which::Items, ..self.clone() };
        // The first kernel does not use all buffers.
        for (own, used) in items.strides.chunks_exact_mut(loops).zip(split.items.used_buffers()) {
            if !used {
                own.fill(0);
            }
        }
        items.check(first, number)?;
        Nest { kernel: Which::Fold, ..self }.check(second, number + first.len())
    }

    /// True of a loop along which the kernel combines points.
    fn is_reduced(&self, number: usize) -> bool {
        self.kernel != Which::Items && self.bound.axes(number).any(|axis| self.lowered.reduced[axis as usize])
    }

    fn collapse(&mut self, collapse: &Collapse) {
        let loops = self.extents.len();
        if self.extents[collapse.inner] == 1 {
            self.strides.chunks_exact_mut(loops).for_each(|own| own[collapse.inner] = own[collapse.outer]);
        }
        collapse.extents(&mut self.extents);
    }
}
