//! Redundant loads, stores and tests: a load of an element whose value is known becomes that value, a store
//! that another one overwrites goes, and so do stores to local buffers that nothing loads. A test that ends
//! the program goes if the same test comes before it.
//!
//! An element is known from a load or a store before it, in the same scope or in a scope around it, if no
//! store in between may write it. So a scalar that holds a value of one iteration only leaves no trace, and
//! the iterations of the loop are seen to be independent.

use super::walk::{accessed, each_stmt, written};
use super::{Condition, Linear, Location, Program, Stmt};
use crate::kernel::KValue;
use crate::scalar::Elem;
use rustc_hash::FxHashMap;
use std::slice::from_ref;
use std::sync::Arc;

/// The facts at a statement.
#[derive(Clone, Default)]
struct Known {
    /// The values of elements.
    elements: Vec<(Location, KValue)>,
    /// Conditions that hold.
    tests: Vec<Condition>,
}

impl Program {
    /// Removes redundant loads, stores and tests.
    pub(super) fn forward(&mut self) {
        let mut forwarder = Forwarder { alias: FxHashMap::default(), loaded: vec![false; self.buffers.len()] };
        let mut body = std::mem::take(Arc::make_mut(&mut self.body));
        forwarder.scope(&mut body, &mut Known::default());
        remove_dead(&mut body, &|buffer| self.is_local(buffer) && !forwarder.loaded[buffer as usize]);
        self.body = Arc::new(body);
    }
}

struct Forwarder {
    /// Loaded values, as the values that were stored.
    alias: FxHashMap<KValue, KValue>,
    /// Whether each buffer is still loaded.
    loaded: Vec<bool>,
}

impl Forwarder {
    /// `known` are the values at the start of the scope, and then at its end.
    fn scope(&mut self, stmts: &mut Vec<Stmt>, known: &mut Known) {
        stmts.retain_mut(|stmt| self.keeps(stmt, known));
        remove_overwritten(stmts);
    }

    fn keeps(&mut self, stmt: &mut Stmt, known: &mut Known) -> bool {
        match stmt {
            Stmt::Load(value, location) => {
                self.location(location);
                if let Some((_, found)) = known.elements.iter().find(|(known, _)| known == location) {
                    self.alias.insert(*value, *found);
                    return false;
                }
                known.elements.push((location.clone(), *value));
                self.loaded[location.buffer as usize] = true;
            }
            Stmt::Store(location, value) => {
                self.location(location);
                *value = self.real(*value);
                let stays = |known: &Location| known.part != location.part || known.is_apart_from(location, |_| 0);
                known.elements.retain(|(known, _)| stays(known));
                known.elements.push((location.clone(), *value));
            }
            Stmt::Inst(inst) => inst.args.iter_mut().for_each(|arg| *arg = self.real(*arg)),
            Stmt::For(nest) => {
                nest.hi.iter_mut().chain([&mut nest.lo]).for_each(|form| *form = self.form(form));
                // An iteration may follow another one.
                forget_written(&nest.body, known);
                self.scope(&mut nest.body, &mut known.clone());
            }
            Stmt::If(branch) => {
                match &mut branch.condition {
                    Condition::NotNegative(forms) => forms.iter_mut().for_each(|form| *form = self.form(form)),
                    Condition::Value(value) => *value = self.real(*value),
                }
                if branch.then.is_empty() && matches!(branch.otherwise[..], [Stmt::Fail]) {
                    let is_new = !known.tests.contains(&branch.condition);
                    known.tests.extend(is_new.then(|| branch.condition.clone()));
                    return is_new;
                }
                for branch in [&mut branch.then, &mut branch.otherwise] {
                    self.scope(branch, &mut known.clone());
                }
                forget_written(&branch.then, known);
                forget_written(&branch.otherwise, known);
            }
            Stmt::Reduce(reduce) => {
                reduce.points.iter_mut().for_each(|form| *form = self.form(form));
                forget_written(&reduce.body, known);
                self.scope(&mut reduce.body, &mut known.clone());
                for (accumulator, total) in &mut reduce.accumulators {
                    self.scope(&mut accumulator.body, &mut Known::default());
                    accumulator.both.iter_mut().for_each(|elem| *elem = self.elem(*elem));
                    for buffer in total.all() {
                        self.loaded[buffer as usize] = true;
                        known.elements.retain(|(known, _)| known.buffer != buffer);
                    }
                }
            }
            Stmt::Combine(items) => items.iter_mut().for_each(|item| *item = self.elem(*item)),
            Stmt::Nest(nest) => {
                for (lo, hi) in &mut nest.bounds {
                    hi.iter_mut().chain([lo]).for_each(|form| *form = self.form(form));
                }
                for buffer in &mut nest.buffers {
                    self.location(&mut buffer.first);
                    self.loaded[buffer.first.buffer as usize] = true;
                }
                nest.params.iter_mut().for_each(|param| *param = self.real(*param));
                forget_written(from_ref(stmt), known);
            }
            Stmt::Local(_) | Stmt::Fail => {}
        }
        true
    }

    fn real(&self, value: KValue) -> KValue {
        self.alias.get(&value).copied().unwrap_or(value)
    }

    fn elem(&self, Elem { dtype, re, im }: Elem) -> Elem {
        Elem { dtype, re: self.real(re), im: im.map(|im| self.real(im)) }
    }

    fn form(&self, form: &Linear) -> Linear {
        form.map(|value| self.real(value))
    }

    fn location(&self, location: &mut Location) {
        location.at.iter_mut().for_each(|form| *form = self.form(form));
    }
}

/// Removes stores that other ones overwrite before anything may load the element.
fn remove_overwritten(stmts: &mut Vec<Stmt>) {
    let mut overwritten: Vec<Location> = Vec::new();
    let mut kept: Vec<Stmt> = Vec::with_capacity(stmts.len());
    for stmt in std::mem::take(stmts).into_iter().rev() {
        match &stmt {
            Stmt::Store(location, _) if overwritten.contains(location) => continue,
            Stmt::Store(location, _) => overwritten.push(location.clone()),
            Stmt::Load(_, location) => overwritten.retain(|other| other.is_apart_from(location, |_| 0)),
            Stmt::Inst(_) | Stmt::Local(_) => {}
            other => {
                let accessed = accessed(from_ref(other));
                overwritten.retain(|location| !accessed.contains(&location.buffer) && !fails(other));
            }
        }
        kept.push(stmt);
    }
    kept.reverse();
    *stmts = kept;
}

/// True if a statement may end the program.
fn fails(stmt: &Stmt) -> bool {
    let mut fails = false;
    each_stmt(from_ref(stmt), &mut |stmt| fails |= matches!(stmt, Stmt::Fail));
    fails
}

/// Forgets the values of elements that statements write.
fn forget_written(stmts: &[Stmt], known: &mut Known) {
    let written = written(stmts);
    known.elements.retain(|(location, _)| !written.contains(&location.buffer));
}

/// Removes stores to dead buffers.
fn remove_dead(stmts: &mut Vec<Stmt>, is_dead: &dyn Fn(u32) -> bool) {
    stmts.retain_mut(|stmt| {
        match stmt {
            Stmt::Store(location, _) => return !is_dead(location.buffer),
            Stmt::Local(buffer) => return !is_dead(*buffer),
            Stmt::For(nest) => remove_dead(&mut nest.body, is_dead),
            Stmt::If(branch) => {
                remove_dead(&mut branch.then, is_dead);
                remove_dead(&mut branch.otherwise, is_dead);
            }
            Stmt::Reduce(reduce) => {
                remove_dead(&mut reduce.body, is_dead);
                reduce.accumulators.iter_mut().for_each(|(own, _)| remove_dead(&mut own.body, is_dead));
            }
            Stmt::Inst(_) | Stmt::Load(..) | Stmt::Combine(_) | Stmt::Nest(_) | Stmt::Fail => {}
        }
        true
    });
}
