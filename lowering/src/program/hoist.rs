//! Hoisting: scalar instructions move out of the loops and conditions in which nothing that they use is
//! defined, and instructions without effects whose results are not used go.
//!
//! Instructions are total, so it is safe to run them where a condition does not hold, or a loop has no
//! iteration. Calls of functions stay, as they cost more than a branch, and so do divisions that depend on
//! values around a condition. Ops by their reference meaning stay, as they may fail.
//!
//! Tests that end the program, and loads of buffers that the program does not write, move out of loops, but
//! not out of conditions. They stay behind a test that stays, since that may be why a load is in bounds. If
//! the loop may have no iteration, they and the loop become a branch that runs only if it has. A condition
//! around the body of a loop that is the same for all iterations moves out of it (loop unswitching), and so
//! does a store to a local scalar.

use super::walk::{each_access, each_stmt, locals, written};
use super::{Condition, For, If, Linear, Location, Program, Stmt, Storage, Trip};
use crate::kernel::{Binary, KOp, KValue};
use crate::scalar::Elem;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

impl Program {
    /// Removes unused instructions and loads, then hoists instructions.
    pub(super) fn hoist(&mut self) {
        let mut body = std::mem::take(Arc::make_mut(&mut self.body));
        let mut used = vec![false; self.values.len()];
        remove_unused(&mut body, &mut used);
        let written = written(&body);
        let is_scalar = |&buffer: &u32| self.is_local(buffer) && self.rank(buffer) == 0;
        let is_scalar = (0..self.buffers.len() as u32).filter(is_scalar).collect();
        let mut hoister = Hoister { depths: vec![0; self.values.len()], written, is_scalar };
        let mut out = hoister.scope(body, 1, Around::Program);
        out.inner.splice(0..0, out.outer);
        self.body = Arc::new(out.inner);
    }

    /// True if a buffer is local.
    pub fn is_local(&self, buffer: u32) -> bool {
        matches!(self.buffers[buffer as usize].storage, Storage::Local { .. })
    }
}

/// The statements of a scope: those that stay, and those that move out of it, in order.
#[derive(Default)]
struct Hoisted {
    inner: Vec<Stmt>,
    outer: Vec<Stmt>,
    /// A statement that stays may end the program.
    may_fail: bool,
}

/// The statement around a scope.
#[derive(Clone, Copy, PartialEq)]
enum Around {
    Program,
    Loop,
    Condition,
}

struct Hoister {
    /// The depth of the scope that defines each value. The outermost scope has depth 1, and its statements
    /// stay.
    depths: Vec<u32>,
    /// The buffers that the program writes.
    written: FxHashSet<u32>,
    /// The local scalars.
    is_scalar: FxHashSet<u32>,
}

impl Hoister {
    fn scope(&mut self, stmts: Vec<Stmt>, depth: u32, around: Around) -> Hoisted {
        let mut scope = Hoisted { inner: Vec::with_capacity(stmts.len()), ..Hoisted::default() };
        stmts.into_iter().for_each(|stmt| self.place(stmt, depth, around, &mut scope));
        scope
    }

    /// Places a statement in a scope, or among those that move out of it.
    fn place(&mut self, stmt: Stmt, depth: u32, around: Around, scope: &mut Hoisted) {
        let mut needed = 1;
        let mut need = |value: KValue| needed = self.depths[value.0 as usize].max(needed);
        match stmt {
            Stmt::Inst(inst) => {
                inst.args.iter().for_each(|&arg| need(arg));
                let is_reference = matches!(inst.op, KOp::Reference(_));
                // A division costs more than a branch, unless it leaves the loop around the condition, too.
                let is_division = matches!(inst.op, KOp::Binary(Binary::Quot | Binary::Rem));
                let stays_in_branch = is_division && around == Around::Condition && needed + 1 >= depth;
                let is_call = matches!(inst.op, KOp::Math(_) | KOp::MathWhere(_));
                let stays = needed >= depth || is_reference || is_call || stays_in_branch;
                scope.may_fail |= is_reference;
                for result in inst.first.0..inst.first.0 + inst.results {
                    // A statement that moves is placed again in the scope around this one.
                    self.depths[result as usize] = if stays { depth } else { needed };
                }
                scope.list(stays).push(Stmt::Inst(inst));
            }
            Stmt::Load(value, location) => {
                location_uses(&location, &mut need);
                let moves = around == Around::Loop && !scope.may_fail && !self.written.contains(&location.buffer);
                let stays = needed >= depth || !moves;
                self.depths[value.0 as usize] = if stays { depth } else { needed };
                scope.list(stays).push(Stmt::Load(value, location));
            }
            Stmt::If(branch) if branch.is_test() => {
                match &branch.condition {
                    Condition::Value(value) => need(*value),
                    Condition::NotNegative(forms) => forms.iter().for_each(|form| uses_of(form, &mut need)),
                }
                let stays = needed >= depth || around != Around::Loop || scope.may_fail;
                scope.may_fail |= stays;
                scope.list(stays).push(Stmt::If(branch));
            }
            Stmt::For(mut nest) => {
                let ends: Vec<Linear> = nest.hi.iter().map(|hi| hi.clone().plus(-1).minus(&nest.lo)).collect();
                let ends = if nest.trip == Trip::NotEmpty { Vec::new() } else { ends };
                let guarded = self.loop_body(nest.index, &mut nest.body, &ends, (depth, around), scope);
                if guarded.is_empty()
                    && let Some(condition) = self.unswitch(&mut nest, depth)
                {
                    let then = self.branch(vec![Stmt::For(nest)], depth, around, scope);
                    return scope.inner.push(Stmt::If(If { condition, then, otherwise: Vec::new() }));
                }
                scope.inner.push(around_loop(Stmt::For(nest), guarded, ends));
            }
            Stmt::If(If { condition, then, otherwise }) => {
                let then = self.branch(then, depth, around, scope);
                let otherwise = self.branch(otherwise, depth, around, scope);
                scope.inner.push(Stmt::If(If { condition, then, otherwise }));
            }
            Stmt::Fail => {
                scope.may_fail = true;
                scope.inner.push(Stmt::Fail);
            }
            Stmt::Reduce(mut reduce) => {
                let ends: Vec<Linear> = reduce.points.iter().map(|points| points.clone().plus(-1)).collect();
                let guarded = self.loop_body(reduce.index, &mut reduce.body, &ends, (depth, around), scope);
                scope.inner.push(around_loop(Stmt::Reduce(reduce), guarded, ends));
            }
            Stmt::Local(_) | Stmt::Store(..) | Stmt::Combine(_) | Stmt::Nest(_) => scope.inner.push(stmt),
        }
    }

    /// Places the statements that move out of the body of a loop, and returns those that may only run if the
    /// loop has an iteration: if these forms are at least 0.
    fn loop_body(
        &mut self,
        index: KValue,
        body: &mut Vec<Stmt>,
        ends: &[Linear],
        (depth, around): (u32, Around),
        scope: &mut Hoisted,
    ) -> Vec<Stmt> {
        self.depths[index.0 as usize] = depth + 1;
        let Hoisted { inner, outer, may_fail } = self.scope(std::mem::take(body), depth + 1, Around::Loop);
        let has_iterations = ends.iter().all(|end| end.as_constant().is_some_and(|end| end >= 0));
        // Only scalar instructions may run for a loop without iterations.
        let (mut guarded, mut defined): (Vec<Stmt>, Vec<KValue>) = (Vec::new(), Vec::new());
        for stmt in outer {
            match &stmt {
                _ if has_iterations => self.place(stmt, depth, around, scope),
                Stmt::Inst(inst) if !inst.args.iter().any(|arg| defined.contains(arg)) => {
                    self.place(stmt, depth, around, scope);
                }
                _ => {
                    match &stmt {
                        Stmt::Inst(inst) => defined.push(inst.first),
                        Stmt::Load(value, _) => defined.push(*value),
                        _ => scope.may_fail = true,
                    }
                    guarded.push(stmt);
                }
            }
        }
        scope.may_fail |= may_fail;
        let set;
        (set, *body) = self.set_once(inner, depth);
        if has_iterations {
            scope.inner.extend(set);
        } else {
            guarded.extend(set);
        }
        guarded
    }

    /// Separates the stores to local scalars that are the same in each iteration of a loop, whose body does
    /// not access the scalar otherwise.
    fn set_once(&self, body: Vec<Stmt>, depth: u32) -> (Vec<Stmt>, Vec<Stmt>) {
        let mut accesses: FxHashMap<u32, usize> = FxHashMap::default();
        each_access(&body, &mut |buffer, _, _| *accesses.entry(buffer).or_default() += 1);
        let own = locals(&body);
        body.into_iter().partition(|stmt| match stmt {
            Stmt::Store(location, value) => {
                let is_scalar = self.is_scalar.contains(&location.buffer) && !own.contains(&location.buffer);
                is_scalar && accesses[&location.buffer] == 1 && self.depths[value.0 as usize] <= depth
            }
            _ => false,
        })
    }

    /// The condition of a loop's body that holds for all iterations or for none: it moves out of the loop.
    fn unswitch(&self, nest: &mut For, depth: u32) -> Option<Condition> {
        let (last, before) = nest.body.split_last()?;
        let is_total = |stmt: &Stmt| match stmt {
            Stmt::Inst(inst) => !matches!(inst.op, KOp::Reference(_)),
            Stmt::Load(..) => true,
            _ => false,
        };
        let Stmt::If(If { condition, otherwise, .. }) = last else { return None };
        let is_outer = |value: &KValue| self.depths[value.0 as usize] <= depth;
        let is_fixed = match condition {
            Condition::Value(value) => is_outer(value),
            Condition::NotNegative(forms) => {
                forms.iter().all(|form| form.terms().iter().all(|(value, _)| is_outer(value)))
            }
        };
        if !(is_fixed && otherwise.is_empty() && before.iter().all(is_total)) {
            return None;
        }
        let Some(Stmt::If(If { condition, then, .. })) = nest.body.pop() else { return None };
        nest.body.extend(then);
        Some(condition)
    }

    /// The statements of a branch; instructions that move out of it are placed in this scope.
    fn branch(&mut self, stmts: Vec<Stmt>, depth: u32, around: Around, scope: &mut Hoisted) -> Vec<Stmt> {
        let inner = self.scope(stmts, depth + 1, Around::Condition);
        inner.outer.into_iter().for_each(|stmt| self.place(stmt, depth, around, scope));
        scope.may_fail |= inner.may_fail;
        inner.inner
    }
}

impl Hoisted {
    fn list(&mut self, stays: bool) -> &mut Vec<Stmt> {
        if stays { &mut self.inner } else { &mut self.outer }
    }
}

/// A loop, after statements that run if the loop has an iteration: if these forms are at least 0.
fn around_loop(stmt: Stmt, mut guarded: Vec<Stmt>, ends: Vec<Linear>) -> Stmt {
    if guarded.is_empty() {
        return stmt;
    }
    guarded.push(stmt);
    let is_open = |end: &Linear| end.as_constant().is_none_or(|end| end < 0);
    let ends = ends.into_iter().filter(is_open).collect();
    Stmt::If(If { condition: Condition::NotNegative(ends), then: guarded, otherwise: Vec::new() })
}

impl If {
    /// True if it only ends the program where its condition does not hold.
    pub(super) fn is_test(&self) -> bool {
        self.then.is_empty() && matches!(self.otherwise[..], [Stmt::Fail])
    }
}

/// Removes instructions and loads whose results are not used, from the last statement to the first.
fn remove_unused(stmts: &mut Vec<Stmt>, used: &mut [bool]) {
    let mut kept: Vec<Stmt> = Vec::with_capacity(stmts.len());
    for mut stmt in std::mem::take(stmts).into_iter().rev() {
        let mut uses = |value: KValue| used[value.0 as usize] = true;
        let keep = match &mut stmt {
            Stmt::Inst(inst) => {
                let results = inst.first.0 as usize..(inst.first.0 + inst.results) as usize;
                let keep = matches!(inst.op, KOp::Reference(_)) || used[results].contains(&true);
                if keep {
                    inst.args.iter().for_each(|arg| used[arg.0 as usize] = true);
                }
                keep
            }
            Stmt::Load(value, location) => {
                let keep = used[value.0 as usize];
                if keep {
                    location_uses(location, &mut |value| used[value.0 as usize] = true);
                }
                keep
            }
            Stmt::Store(location, value) => {
                uses(*value);
                location_uses(location, &mut uses);
                true
            }
            Stmt::For(nest) => {
                remove_unused(&mut nest.body, used);
                nest.hi.iter().chain([&nest.lo]).for_each(|form| uses_of(form, &mut |v| used[v.0 as usize] = true));
                !nest.body.is_empty()
            }
            Stmt::If(branch) => {
                remove_unused(&mut branch.then, used);
                remove_unused(&mut branch.otherwise, used);
                let keep = !(branch.then.is_empty() && branch.otherwise.is_empty());
                match &branch.condition {
                    _ if !keep => {}
                    Condition::Value(value) => used[value.0 as usize] = true,
                    Condition::NotNegative(forms) => {
                        forms.iter().for_each(|form| uses_of(form, &mut |v| used[v.0 as usize] = true));
                    }
                }
                keep
            }
            Stmt::Nest(nest) => {
                nest.each_form(&mut |form| uses_of(form, &mut |v| used[v.0 as usize] = true));
                nest.params.iter().for_each(|param| used[param.0 as usize] = true);
                true
            }
            Stmt::Reduce(reduce) => {
                remove_unused(&mut reduce.body, used);
                // A combination may share a constant with the statements around it.
                for (accumulator, _) in &reduce.accumulators {
                    accumulator.both.iter().flat_map(Elem::parts).for_each(|part| used[part.0 as usize] = true);
                    each_stmt(&accumulator.body, &mut |stmt| {
                        if let Stmt::Inst(inst) = stmt {
                            inst.args.iter().for_each(|arg| used[arg.0 as usize] = true);
                        }
                    });
                }
                reduce.points.iter().for_each(|form| uses_of(form, &mut |v| used[v.0 as usize] = true));
                !reduce.body.is_empty()
            }
            Stmt::Combine(items) => {
                items.iter().flat_map(Elem::parts).for_each(uses);
                true
            }
            Stmt::Local(_) | Stmt::Fail => true,
        };
        if keep {
            kept.push(stmt);
        }
    }
    kept.reverse();
    *stmts = kept;
}

fn location_uses(location: &Location, f: &mut dyn FnMut(KValue)) {
    location.at.iter().for_each(|form| uses_of(form, f));
}

fn uses_of(form: &Linear, f: &mut dyn FnMut(KValue)) {
    form.terms().iter().for_each(|&(value, _)| f(value));
}
