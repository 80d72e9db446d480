//! Unroll-and-jam: several iterations of a loop are computed at once, and the loops in them become one loop.
//!
//! ```text
//! for i in 0..n:                 for q in 0..n/2:
//!   for j in 0..m:          ->     for j in 0..m:
//!     A(i, j)                        A(2q, j); A(2q + 1, j)
//!                                for i in n/2*2..n:
//!                                  for j in 0..m:
//!                                    A(i, j)
//! ```
//!
//! Values that iterations share are loaded once, and an element that one iteration stores and the next one
//! loads stays in a register (see [`forward`](super::forward)). The technique is that of Callahan, Carr and
//! Kennedy, "Improving register allocation for subscripted variables" (1990).

use super::replay::Replay;
use super::walk::{defined, each_access, locals, written};
use super::{BufferDecl, For, Linear, ProgramBuilder, Stmt, Trip};
use crate::kernel::{Binary, KValue};

impl For {
    /// True if `unroll_and_jam` changes no result: iterations of the loop are independent, or else those of
    /// each loop in it, at any depth, are, whatever the iterations of the loops around them.
    pub(super) fn may_jam(&self, buffers: &[BufferDecl]) -> bool {
        if self.is_parallel(buffers) {
            return true;
        }
        let (mut inside, written) = (defined(&self.body), written(&self.body));
        inside.insert(self.index);
        let are_parallel = |inner: &For| inner.is_parallel_within(&inside, buffers) && locals(&inner.body).is_empty();
        may_fuse(&self.body, &|buffer| written.contains(&buffer), &are_parallel)
    }

    /// True if it makes no difference how often an iteration runs: it reads nothing that the loop writes but
    /// local buffers of its own.
    fn is_repeatable(&self, buffers: &[BufferDecl]) -> bool {
        let (own, written) = (locals(&self.body), written(&self.body));
        let mut repeatable = self.is_parallel(buffers);
        each_access(&self.body, &mut |buffer, _, is_store| {
            repeatable &= is_store || own.contains(&buffer) || !written.contains(&buffer);
        });
        repeatable
    }
}

impl ProgramBuilder {
    /// Appends rounds of `factor` iterations of a loop, whose inner loops are fused, and rounds of half as
    /// many for the rest, and so on. If it makes no difference how often an iteration runs, a rest of more
    /// than half a round is a round, too: it is moved back to end with the loop.
    pub(super) fn unroll_and_jam(&mut self, nest: &For, factor: i64, may_move_back: bool) {
        self.rounds(nest, &nest.lo, factor, may_move_back);
    }

    /// Appends the rounds of a loop, or of its end. `lo` is its first iteration.
    fn rounds(&mut self, nest: &For, lo: &Linear, factor: i64, may_move_back: bool) {
        let hi = self.extreme(Binary::Min, &nest.hi);
        let extent = hi.clone().minus(&nest.lo);
        let is_whole = extent.as_constant().is_some_and(|extent| extent > 0 && extent % factor == 0);
        let moves_back = may_move_back && !is_whole && nest.is_repeatable(self.buffers());
        let extent = self.extreme(Binary::Max, [&extent, &Linear::default()]);
        let (rounds, rest) = if moves_back {
            // Iterations of the whole loop count, as a round that is moved back may repeat finished ones.
            let most_of_round = extent.plus(factor - factor / 2 - 1);
            let rounds = self.floor_div(&most_of_round, factor);
            let (rounds, all, least) = (self.value(&rounds), self.value(&hi.clone().minus(lo)), self.int(factor));
            let (is_short, zero) = (self.cx().lt(all, least), self.int(0));
            let rounds = self.k.select(is_short, zero, rounds).into();
            let rest = nest.lo.clone().plus_scaled(&rounds, factor);
            (rounds, self.extreme(Binary::Min, [&rest, &hi]))
        } else {
            let rounds = self.floor_div(&extent, factor);
            (rounds.clone(), nest.lo.clone().plus_scaled(&rounds, factor))
        };
        self.for_each(Linear::default(), &[rounds], |this, round| {
            let first = nest.lo.clone().plus_scaled(&round, factor);
            let first = match moves_back {
                true => this.extreme(Binary::Min, [&first, &hi.clone().plus(-factor)]),
                false => first,
            };
            let iteration = |n| Replay::new([(nest.index, first.clone().plus(n))].into_iter());
            let mut iterations: Vec<Replay> = (0..factor).map(iteration).collect();
            this.jam(&nest.body, &mut iterations);
        });
        if !is_whole {
            let rest = For { lo: rest, trip: Trip::Unknown, ..nest.clone() };
            match factor / 2 {
                0 | 1 => self.push(Stmt::For(rest)),
                half => self.rounds(&rest, lo, half, may_move_back),
            }
        }
    }

    /// Appends statements for several iterations. Loops with equal bounds are fused.
    fn jam(&mut self, stmts: &[Stmt], iterations: &mut [Replay]) {
        let is_loop = |stmt: &Stmt| matches!(stmt, Stmt::For(_));
        for run in stmts.chunk_by(|a, b| !is_loop(a) && !is_loop(b)) {
            if let [Stmt::For(nest)] = run
                && let Some((lo, hi)) = equal_bounds(nest, iterations)
            {
                let index: KValue = self.open_loop();
                iterations.iter_mut().for_each(|iteration| iteration.set(nest.index, index.into()));
                self.jam(&nest.body, iterations);
                self.close_loop(index, nest.trip, lo, &hi);
                continue;
            }
            iterations.iter_mut().for_each(|iteration| iteration.scope(self, run, &mut |_, _| {}));
        }
    }
}

/// Whether the loops in these statements, at any depth, may be fused for several iterations of a loop that is
/// not parallel: they are parallel, and no statement beside them touches arrays that the loop writes.
fn may_fuse(stmts: &[Stmt], is_written: &dyn Fn(u32) -> bool, are_parallel: &dyn Fn(&For) -> bool) -> bool {
    // Of two loops, the second one would begin after the first one has ended for all iterations.
    let loops = stmts.iter().filter(|stmt| matches!(stmt, Stmt::For(_))).count();
    loops == 0
        || loops == 1
            && stmts.iter().all(|stmt| match stmt {
                Stmt::Inst(_) => true,
                Stmt::Load(_, location) => !is_written(location.buffer),
                Stmt::For(inner) => are_parallel(inner) && may_fuse(&inner.body, is_written, are_parallel),
                _ => false,
            })
}

/// The bounds of a loop, if they are the same in all iterations.
fn equal_bounds(nest: &For, iterations: &[Replay]) -> Option<(Linear, Vec<Linear>)> {
    let mut bounds = iterations.iter().map(|iteration| (iteration.form(&nest.lo), iteration.all(&nest.hi)));
    let first = bounds.next()?;
    bounds.all(|other| other == first).then_some(first)
}
