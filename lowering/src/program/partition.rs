//! Index-set splitting: a loop is split into ranges where affine conditions in it hold, and the rest.
//!
//! A condition `c * i + rest >= 0` of a loop over `i` changes at one index, its *cut*. Between the last cut
//! where a condition begins to hold and the first one where a condition ends to hold is the *interior*, whose
//! loop has none of these conditions. The indices before and after it are the *border*:
//!
//! ```text
//! for i in lo..hi:                     for part in 0..2:
//!   if i - 3 >= 0 and n - i >= 0:        for i in (part = 0 ? lo..a : b..hi):
//!     A                            ->      as before
//!   else:                                if part = 0:
//!     B                                    for i in a..min(hi, n + 1):
//!                                            A
//! ```
//!
//! Iterations stay in order, unless the loop is [parallel](super::dependence): then the interior is after the
//! border. A condition that names the index of an inner loop of few iterations, which are known, holds in the
//! interior for all of them; one that names the index of a longer loop is left to that loop. The technique is
//! that of Halide's loop partitioning.

use super::walk::{count, defined, each_stmt};
use super::{Condition, For, If, Linear, Program, ProgramBuilder, Reduce, Stmt, Trip};
use crate::kernel::{Binary, KValue};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// The most statements that partitioning makes of a program, so that compilation stays fast.
const MOST_STATEMENTS: usize = 6_000;

/// A bound beyond all indices. Its difference with an index does not overflow.
const BEYOND: i64 = 1 << 61;

/// The most iterations of an inner loop over which a condition is asked to hold at once.
const MOST_INNER: i64 = 64;

impl Program {
    /// Splits loops at the cuts of the conditions in them.
    pub(super) fn partition(&mut self) {
        let mut partitioner = Partitioner { b: ProgramBuilder::resume(self), statements: count(&self.body) };
        let body = partitioner.scope(self.body.to_vec());
        *self = partitioner.b.finish_with(self, body);
    }
}

/// A condition of a loop that changes at one index.
struct Cut {
    /// The form that is at least 0 if it holds.
    form: Linear,
    /// A form of the loop's index and of outer values. If it is at least 0, the condition holds.
    bound: Linear,
}

/// The conditions that hold, or fail, in a range of a loop.
#[derive(Default)]
struct Conditions {
    /// Forms that are at least 0.
    hold: Vec<Linear>,
    /// Forms of which one is negative at each iteration.
    fail: Vec<Linear>,
}

struct Partitioner {
    b: ProgramBuilder,
    /// The number of statements.
    statements: usize,
}

impl Partitioner {
    fn scope(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            match stmt {
                Stmt::For(nest) => self.split(nest, &mut out),
                Stmt::If(If { condition, then, otherwise }) => {
                    let (then, otherwise) = (self.scope(then), self.scope(otherwise));
                    out.push(Stmt::If(If { condition, then, otherwise }));
                }
                Stmt::Reduce(mut reduce) => {
                    reduce.body = self.scope(reduce.body);
                    self.trim(&mut reduce, &mut out);
                    out.push(Stmt::Reduce(reduce));
                }
                other => out.push(other),
            }
        }
        out
    }

    /// Leaves out the last points of a row where a condition around the whole point fails. Points that are
    /// left out leave no trace, so the order of the others is the same.
    fn trim(&mut self, reduce: &mut Reduce, out: &mut Vec<Stmt>) {
        let inside = defined(&reduce.body);
        let is_outer = |form: &Linear| form.terms().iter().all(|(value, _)| !inside.contains(value));
        let has_no_effect = |stmt: &Stmt| matches!(stmt, Stmt::Inst(_) | Stmt::Load(..) | Stmt::Local(_));
        let Some((Stmt::If(branch), before)) = reduce.body.split_last_mut() else { return };
        let Condition::NotNegative(forms) = &mut branch.condition else { return };
        if !branch.otherwise.is_empty() || !before.iter().all(has_no_effect) {
            return;
        }
        let (index, points) = (reduce.index, &mut reduce.points);
        let (divisions, ()) = self.b.scope(|b| {
            forms.retain(|form| {
                let (coefficient, rest) = (form.coefficient(index), form.with(index, &Linear::default()));
                let stays = coefficient >= 0 || !is_outer(&rest);
                if !stays {
                    points.push(b.floor_div(&rest, coefficient.saturating_abs()).plus(1));
                }
                stays
            });
        });
        out.extend(divisions);
        if forms.is_empty() {
            let then = std::mem::take(&mut branch.then);
            reduce.body.pop();
            reduce.body.extend(then);
        }
    }

    /// Appends the ranges of a loop.
    fn split(&mut self, mut nest: For, out: &mut Vec<Stmt>) {
        let size = count(&nest.body);
        let mut cuts = cuts(&nest);
        if self.statements + size > MOST_STATEMENTS {
            cuts.clear();
        }
        let (lower, upper): (Vec<Cut>, Vec<Cut>) =
            cuts.into_iter().partition(|cut| cut.bound.coefficient(nest.index) > 0);
        if lower.is_empty() && upper.is_empty() {
            nest.body = self.scope(nest.body);
            return out.push(Stmt::For(nest));
        }
        self.statements += size;
        let only = |cuts: &[Cut]| match cuts {
            [cut] if cut.form == cut.bound => Some(cut.form.clone()),
            _ => None,
        };
        let sides = [&lower, &upper].into_iter().filter(|cuts| !cuts.is_empty());
        let fail = sides.map(|cuts| only(cuts)).collect::<Option<Vec<Linear>>>().unwrap_or_default();
        let hold = lower.iter().chain(&upper).map(|cut| cut.form.clone()).collect();
        let as_border = Conditions { fail, ..Conditions::default() };
        let copied = For { body: resolved(nest.body.clone(), &as_border), ..nest.clone() };
        let is_parallel = nest.is_parallel(self.b.buffers());
        let Some(Stmt::For(mut border)) = self.b.copied(&[Stmt::For(copied)]).pop() else { return };
        nest.body = resolved(nest.body, &Conditions { hold, ..Conditions::default() });
        nest.body = self.scope(nest.body);
        if !border.body.iter().any(has_nested_loops) {
            border.body = self.scope(border.body);
        }

        // The interior is `a..min(hi, ends)`, and the border after it begins at `b`.
        let (lo, index) = (nest.lo.clone(), nest.index);
        let (bounds, (a, b, ends)) = self.b.scope(|builder| {
            let (starts, ends) = (ends(builder, &lower, index), ends(builder, &upper, index));
            let a = builder.extreme(Binary::Max, [&lo].into_iter().chain(&starts));
            let end = builder.extreme(Binary::Min, &ends);
            let b = builder.extreme(Binary::Max, [&a, &end]);
            (a, b, ends)
        });
        out.extend(bounds);
        (nest.trip, border.trip) = (Trip::Unknown, Trip::Unknown);
        nest.lo = a.clone();
        nest.hi.extend(ends);
        let (before, after) = (!lower.is_empty(), !upper.is_empty());
        if before && after {
            let (border, interior) = self.both_ends(border, nest, [&a, &b], is_parallel);
            out.push(border);
            out.extend(interior);
        } else if before {
            border.hi.push(a);
            out.extend([border, nest].map(Stmt::For));
        } else {
            border.lo = b;
            out.extend([nest, border].map(Stmt::For));
        }
    }

    /// The border on both sides of an interior `a..b`, and the interior; in one loop if iterations stay in
    /// order.
    fn both_ends(
        &mut self,
        mut border: For,
        interior: For,
        ends: [&Linear; 2],
        any_order: bool,
    ) -> (Stmt, Option<Stmt>) {
        let [a, b] = ends;
        self.b.open();
        let part = self.b.open_loop();
        let zero = self.b.int(0);
        let is_first = self.b.cx().eq(part, zero);
        let mut choose = |first: &Linear, second: &Linear| {
            let [first, second] = [first, second].map(|form| self.b.value(form));
            Linear::from(self.b.k.select(is_first, first, second))
        };
        border.lo = choose(&border.lo, b);
        border.hi.push(choose(a, &Linear::constant(BEYOND)));
        self.b.push(Stmt::For(border));
        let after = if any_order {
            Some(Stmt::For(interior))
        } else {
            self.b.branch(Condition::Value(is_first), vec![Stmt::For(interior)], Vec::new());
            None
        };
        self.b.close_loop(part, Trip::Unknown, Linear::default(), &[Linear::constant(2)]);
        let mut border = self.b.close();
        (border.remove(0), after)
    }
}

/// For each cut, the first index at which its condition holds, or does not hold any more.
fn ends(b: &mut ProgramBuilder, cuts: &[Cut], index: KValue) -> Vec<Linear> {
    let mut ends: Vec<Linear> = Vec::new();
    for cut in cuts {
        let coefficient = cut.bound.coefficient(index);
        let rest = cut.bound.with(index, &Linear::default());
        let quotient = b.floor_div(&rest, coefficient.saturating_abs());
        let end = if coefficient > 0 { Linear::default().minus(&quotient) } else { quotient.plus(1) };
        if !ends.contains(&end) {
            ends.push(end);
        }
    }
    ends
}

/// The cuts of a loop.
fn cuts(nest: &For) -> Vec<Cut> {
    let defined = defined(&nest.body);
    let mut finder = Finder { index: nest.index, defined, inner: Vec::new(), cuts: Vec::new() };
    finder.scope(&nest.body);
    finder.cuts
}

struct Finder<'n> {
    index: KValue,
    /// The values that the loop defines.
    defined: FxHashSet<KValue>,
    /// The indices and bounds of the loops around the current statement, inside of the loop.
    inner: Vec<(KValue, Linear, &'n [Linear])>,
    cuts: Vec<Cut>,
}

impl<'n> Finder<'n> {
    fn scope(&mut self, stmts: &'n [Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::For(nest) => {
                    self.inner.push((nest.index, nest.lo.clone(), &nest.hi));
                    self.scope(&nest.body);
                    self.inner.pop();
                }
                Stmt::If(branch) => {
                    if let Condition::NotNegative(forms) = &branch.condition {
                        forms.iter().for_each(|form| self.cut(form));
                    }
                    self.scope(&branch.then);
                    self.scope(&branch.otherwise);
                }
                Stmt::Reduce(reduce) => {
                    self.inner.push((reduce.index, Linear::default(), &reduce.points));
                    self.scope(&reduce.body);
                    self.inner.pop();
                }
                _ => {}
            }
        }
    }

    fn cut(&mut self, form: &Linear) {
        if form.coefficient(self.index) == 0 || self.cuts.iter().any(|known| known.form == *form) {
            return;
        }
        let mut bound = form.clone();
        for (index, lo, hi) in self.inner.iter().rev() {
            let coefficient = bound.coefficient(*index);
            if coefficient == 0 {
                continue;
            }
            let is_short = |hi: &&Linear| (*hi).clone().minus(lo).as_constant().is_some_and(|n| n <= MOST_INNER);
            let Some(hi) = hi.iter().find(is_short) else { return };
            bound = bound.with(*index, &if coefficient > 0 { lo.clone() } else { hi.clone().plus(-1) });
        }
        let is_separable = bound.terms().iter().all(|(value, _)| *value == self.index || !self.defined.contains(value));
        if bound.coefficient(self.index) != 0 && is_separable {
            self.cuts.push(Cut { form: form.clone(), bound });
        }
    }
}

/// Statements with the conditions that facts decide replaced by their branches.
fn resolved(stmts: Vec<Stmt>, facts: &Conditions) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        match stmt {
            Stmt::For(nest) => out.push(Stmt::For(For { body: resolved(nest.body, facts), ..nest })),
            Stmt::Reduce(mut reduce) => {
                reduce.body = resolved(reduce.body, facts);
                out.push(Stmt::Reduce(reduce));
            }
            Stmt::If(If { condition, then, otherwise }) => {
                let Condition::NotNegative(forms) = &condition else {
                    let (then, otherwise) = (resolved(then, facts), resolved(otherwise, facts));
                    out.push(Stmt::If(If { condition, then, otherwise }));
                    continue;
                };
                let is_open = |form: &&Linear| !facts.hold.contains(form);
                let open: SmallVec<[Linear; 2]> = forms.iter().filter(is_open).cloned().collect();
                if !facts.fail.is_empty() && facts.fail.iter().all(|form| forms.contains(form)) {
                    out.extend(resolved(otherwise, facts));
                } else if open.is_empty() {
                    out.extend(resolved(then, facts));
                } else {
                    let (then, otherwise) = (resolved(then, facts), resolved(otherwise, facts));
                    out.push(Stmt::If(If { condition: Condition::NotNegative(open), then, otherwise }));
                }
            }
            other => out.push(other),
        }
    }
    out
}

/// True for a loop that contains a loop, or a condition around one.
fn has_nested_loops(stmt: &Stmt) -> bool {
    let mut loops: Vec<&For> = Vec::new();
    each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
        if let Stmt::For(nest) = stmt {
            loops.push(nest);
        }
    });
    loops.iter().any(|nest| contains_loop(&nest.body))
}

fn contains_loop(stmts: &[Stmt]) -> bool {
    let mut found = false;
    each_stmt(stmts, &mut |stmt| found |= matches!(stmt, Stmt::For(_) | Stmt::Reduce(_)));
    found
}
