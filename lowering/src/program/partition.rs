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
//! Iterations stay in order, unless the loop is [`parallel`](super::parallel): then the interior is after
//! the border. A condition that names the index of an inner loop of few iterations, which are
//! known, holds in the interior for all of them; one that names the index of a longer loop is left to that
//! loop. The technique is that of Halide's loop partitioning.

use super::parallel::{defined, each_access, locals};
use super::{Condition, For, If, Linear, Program, Reduce, Stmt};
use crate::kernel::{Binary, Compare, KInst, KOp, KValue};
use rewright_ir::{DType, Loc};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// The most statements that partitioning makes of a program, so that compilation stays fast.
const MOST_STATEMENTS: usize = 6_000;

/// The most iterations of an inner loop over which a condition is asked to hold at once.
const MOST_INNER: i64 = 64;

impl Program {
    /// Splits loops at the cuts of the conditions in them.
    pub(super) fn partition(&mut self) {
        let body = std::mem::take(Arc::make_mut(&mut self.body));
        let statements = count(&body);
        let body = Partitioner { program: self, statements }.scope(body);
        self.body = Arc::new(body);
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
struct Facts {
    /// Forms that are at least 0.
    hold: Vec<Linear>,
    /// Forms of which one is negative at each iteration.
    fail: Vec<Linear>,
}

struct Partitioner<'p> {
    program: &'p mut Program,
    /// The number of statements.
    statements: usize,
}

impl Partitioner<'_> {
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
    /// left out leave no trace, so the order of the others is the same. A local scalar that each point sets
    /// to one value is set once.
    fn trim(&mut self, reduce: &mut Reduce, out: &mut Vec<Stmt>) {
        let mut inside = FxHashSet::default();
        defined(&reduce.body, &mut inside);
        let is_outer = |form: &Linear| form.terms().iter().all(|(value, _)| !inside.contains(value));
        let has_no_effect = |stmt: &Stmt| matches!(stmt, Stmt::Inst(_) | Stmt::Load(..) | Stmt::Local(_));
        if let Some((Stmt::If(branch), before)) = reduce.body.split_last_mut()
            && branch.otherwise.is_empty()
            && before.iter().all(has_no_effect)
            && let Condition::NotNegative(forms) = &mut branch.condition
        {
            forms.retain(|form| {
                let (coefficient, rest) = (form.coefficient(reduce.index), form.with(reduce.index, &Linear::default()));
                if coefficient >= 0 || !is_outer(&rest) {
                    return true;
                }
                let end = self.floor_div(&rest, coefficient.saturating_abs(), out).plus(1);
                reduce.points.push(end);
                false
            });
            if forms.is_empty() {
                let then = std::mem::take(&mut branch.then);
                reduce.body.pop();
                reduce.body.extend(then);
            }
        }
        let mut loaded = FxHashSet::default();
        each_access(&reduce.body, &mut |buffer, _, is_store| {
            if !is_store {
                loaded.insert(buffer);
            }
        });
        let own = locals(&reduce.body);
        let (set, body) = std::mem::take(&mut reduce.body).into_iter().partition(|stmt| match stmt {
            Stmt::Store(location, value) => {
                let is_scalar = self.program.is_local(location.buffer) && location.at.is_empty();
                is_scalar && !inside.contains(value) && ![&loaded, &own].iter().any(|s| s.contains(&location.buffer))
            }
            _ => false,
        });
        reduce.body = body;
        let (set, forms): (Vec<Stmt>, _) = (set, reduce.points.iter().map(|points| points.clone().plus(-1)).collect());
        if !set.is_empty() {
            out.push(Stmt::If(If { condition: Condition::NotNegative(forms), then: set, otherwise: Vec::new() }));
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
        let starts = self.ends(&lower, nest.index, out);
        let ends = self.ends(&upper, nest.index, out);

        let as_border = Facts { fail, ..Facts::default() };
        let copied = For { body: resolved(nest.body.clone(), &as_border), ..nest.clone() };
        let is_parallel = self.program.is_parallel(&nest);
        let Some(Stmt::For(mut border)) = self.program.copy(&[Stmt::For(copied)]).pop() else { return };
        nest.body = resolved(nest.body, &Facts { hold, ..Facts::default() });
        nest.body = self.scope(nest.body);
        if !border.body.iter().any(has_nested_loops) {
            border.body = self.scope(border.body);
        }

        // The interior is `a..min(hi, ends)`, and the border after it begins at `b`.
        let (lo, hi) = (nest.lo.clone(), nest.hi.clone());
        let a = if starts.is_empty() {
            lo.clone()
        } else {
            self.extreme(Binary::Max, [lo.clone()].iter().chain(&starts), out)
        };
        nest.lo = a.clone();
        nest.hi.extend(ends.iter().cloned());
        if ends.is_empty() {
            border.hi.push(a);
            return out.extend([border, nest].map(Stmt::For));
        }
        let end = self.extreme(Binary::Min, ends.iter(), out);
        let b = self.extreme(Binary::Max, [a.clone(), end].iter(), out);
        if starts.is_empty() {
            border.lo = b;
            return out.extend([nest, border].map(Stmt::For));
        }
        let (part, mut body) = (self.program.fresh(DType::I64), Vec::new());
        let zero = self.constant(0, &mut body);
        let is_first = self.inst(KOp::Compare(Compare::Eq), &[part, zero], DType::Bool, &mut body);
        let mut choose = |this: &mut Self, first: &Linear, second: &Linear| {
            let [first, second] = [first, second].map(|form| this.value(form, &mut body));
            Linear::from(this.inst(KOp::Select, &[is_first, first, second], DType::I64, &mut body))
        };
        (border.lo, border.hi) = (choose(self, &lo, &b), hi);
        border.hi.push(choose(self, &a, &Linear::constant(i64::MAX)));
        body.push(Stmt::For(border));
        let after = if is_parallel {
            Some(nest)
        } else {
            let condition = Condition::Value(is_first);
            body.push(Stmt::If(If { condition, then: vec![Stmt::For(nest)], otherwise: Vec::new() }));
            None
        };
        out.push(Stmt::For(For { index: part, lo: Linear::constant(0), hi: smallvec![Linear::constant(2)], body }));
        out.extend(after.map(Stmt::For));
    }

    /// For each cut, the first index at which its condition holds, or does not hold any more.
    fn ends(&mut self, cuts: &[Cut], index: KValue, out: &mut Vec<Stmt>) -> Vec<Linear> {
        let mut ends: Vec<Linear> = Vec::new();
        for cut in cuts {
            let coefficient = cut.bound.coefficient(index);
            let rest = cut.bound.with(index, &Linear::default());
            let quotient = self.floor_div(&rest, coefficient.saturating_abs(), out);
            let end = if coefficient > 0 { Linear::default().minus(&quotient) } else { quotient.plus(1) };
            if !ends.contains(&end) {
                ends.push(end);
            }
        }
        ends
    }

    fn floor_div(&mut self, form: &Linear, by: i64, out: &mut Vec<Stmt>) -> Linear {
        if by == 1 {
            return form.clone();
        }
        if let Some(constant) = form.as_constant() {
            return Linear::constant(constant.div_euclid(by));
        }
        let (value, divisor, zero) = (self.value(form, out), self.constant(by, out), self.constant(0, out));
        let quotient = self.inst(KOp::Binary(Binary::Quot), &[value, divisor], DType::I64, out);
        let remainder = self.inst(KOp::Binary(Binary::Rem), &[value, divisor], DType::I64, out);
        let is_negative = self.inst(KOp::Compare(Compare::Lt), &[remainder, zero], DType::Bool, out);
        let below = self.value(&Linear::from(quotient).plus(-1), out);
        self.inst(KOp::Select, &[is_negative, below, quotient], DType::I64, out).into()
    }

    /// The greatest or the least of some forms.
    fn extreme<'l>(&mut self, op: Binary, forms: impl Iterator<Item = &'l Linear>, out: &mut Vec<Stmt>) -> Linear {
        let mut found: Option<Linear> = None;
        for form in forms {
            found = Some(match found {
                None => form.clone(),
                Some(found) => match found.clone().minus(form).as_constant() {
                    // They differ by a constant.
                    Some(more) if (more > 0) == (op == Binary::Max) => found,
                    Some(_) => form.clone(),
                    None => {
                        let (a, b) = (self.value(&found, out), self.value(form, out));
                        self.inst(KOp::Binary(op), &[a, b], DType::I64, out).into()
                    }
                },
            });
        }
        found.unwrap_or_default()
    }

    /// The value of a form.
    fn value(&mut self, form: &Linear, out: &mut Vec<Stmt>) -> KValue {
        let mut sum = None;
        for &(value, coefficient) in form.terms() {
            let term = match coefficient {
                1 => value,
                _ => {
                    let factor = self.constant(coefficient, out);
                    self.inst(KOp::Binary(Binary::Mul), &[value, factor], DType::I64, out)
                }
            };
            sum = Some(sum.map_or(term, |sum| self.inst(KOp::Binary(Binary::Add), &[sum, term], DType::I64, out)));
        }
        match (sum, form.constant) {
            (Some(sum), 0) => sum,
            (sum, constant) => {
                let constant = self.constant(constant, out);
                sum.map_or(constant, |sum| self.inst(KOp::Binary(Binary::Add), &[sum, constant], DType::I64, out))
            }
        }
    }

    fn constant(&mut self, constant: i64, out: &mut Vec<Stmt>) -> KValue {
        self.inst(KOp::Const(constant as u64), &[], DType::I64, out)
    }

    fn inst(&mut self, op: KOp, args: &[KValue], dtype: DType, out: &mut Vec<Stmt>) -> KValue {
        let first = self.program.fresh(dtype);
        out.push(Stmt::Inst(KInst { op, args: args.into(), results: 1, first, loc: Loc::default() }));
        first
    }
}

/// The cuts of a loop.
fn cuts(nest: &For) -> Vec<Cut> {
    let mut finder = Finder { index: nest.index, defined: FxHashSet::default(), inner: Vec::new(), cuts: Vec::new() };
    defined(&nest.body, &mut finder.defined);
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
fn resolved(stmts: Vec<Stmt>, facts: &Facts) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        match stmt {
            Stmt::For(nest) => out.push(Stmt::For(For { body: resolved(nest.body, facts), ..nest })),
            Stmt::Reduce(mut reduce) => {
                reduce.body = resolved(reduce.body, facts);
                out.push(Stmt::Reduce(reduce));
            }
            Stmt::If(If { condition, then, otherwise }) => {
                let decided = match &condition {
                    Condition::NotNegative(forms) => {
                        let fails = !facts.fail.is_empty() && facts.fail.iter().all(|form| forms.contains(form));
                        let open: SmallVec<[Linear; 2]> =
                            forms.iter().filter(|form| !facts.hold.contains(form)).cloned().collect();
                        if fails {
                            Err(false)
                        } else if open.is_empty() {
                            Err(true)
                        } else {
                            Ok(Condition::NotNegative(open))
                        }
                    }
                    Condition::Value(_) => Ok(condition),
                };
                match decided {
                    Err(true) => out.extend(resolved(then, facts)),
                    Err(false) => out.extend(resolved(otherwise, facts)),
                    Ok(condition) => {
                        let (then, otherwise) = (resolved(then, facts), resolved(otherwise, facts));
                        out.push(Stmt::If(If { condition, then, otherwise }));
                    }
                }
            }
            other => out.push(other),
        }
    }
    out
}

fn count(stmts: &[Stmt]) -> usize {
    let inner = |stmt: &Stmt| match stmt {
        Stmt::For(nest) => count(&nest.body),
        Stmt::If(branch) => count(&branch.then) + count(&branch.otherwise),
        Stmt::Reduce(reduce) => count(&reduce.body),
        _ => 0,
    };
    stmts.iter().map(|stmt| 1 + inner(stmt)).sum()
}

/// True for a loop that contains a loop.
fn has_nested_loops(stmt: &Stmt) -> bool {
    let has_loop = |stmts: &[Stmt]| stmts.iter().any(contains_loop);
    match stmt {
        Stmt::For(nest) => has_loop(&nest.body),
        Stmt::If(branch) => branch.then.iter().chain(&branch.otherwise).any(has_nested_loops),
        _ => false,
    }
}

fn contains_loop(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::For(_) | Stmt::Reduce(_) => true,
        Stmt::If(branch) => branch.then.iter().chain(&branch.otherwise).any(contains_loop),
        _ => false,
    }
}
