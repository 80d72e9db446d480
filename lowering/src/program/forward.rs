//! Store-to-load forwarding: a load of a local scalar right after a store to it becomes the stored value,
//! and stores to local scalars that nothing loads go.
//!
//! "Right after" means in the same scope, or in a scope inside of it that does not write the scalar before.
//! So a scalar that holds a value of one iteration only leaves no trace, and the iterations of the loop are
//! seen to be independent.

use super::walk::written;
use super::{Condition, Linear, Location, Program, Stmt, Storage};
use crate::kernel::{KValue, Part};
use crate::scalar::Elem;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A part of a local scalar.
type Slot = (u32, Part);

impl Program {
    /// Forwards stores of local scalars to loads.
    pub(super) fn forward(&mut self) {
        let is_scalar = |buffer: &super::BufferDecl| match &buffer.storage {
            Storage::Local { extents } => extents.is_empty(),
            Storage::Caller { .. } => false,
        };
        let mut forwarder = Forwarder {
            is_scalar: self.buffers.iter().map(is_scalar).collect(),
            alias: FxHashMap::default(),
            loaded: vec![false; self.buffers.len()],
        };
        let mut body = std::mem::take(Arc::make_mut(&mut self.body));
        forwarder.scope(&mut body, &mut FxHashMap::default());
        remove_dead(&mut body, &|buffer| forwarder.is_scalar[buffer as usize] && !forwarder.loaded[buffer as usize]);
        self.body = Arc::new(body);
    }
}

struct Forwarder {
    /// Whether each buffer is a local scalar.
    is_scalar: Vec<bool>,
    /// Loaded values, as the values that were stored.
    alias: FxHashMap<KValue, KValue>,
    /// Whether each buffer is still loaded.
    loaded: Vec<bool>,
}

impl Forwarder {
    /// `known` are the values of scalars at the start of the scope, and then at its end.
    fn scope(&mut self, stmts: &mut Vec<Stmt>, known: &mut FxHashMap<Slot, KValue>) {
        stmts.retain_mut(|stmt| self.keeps(stmt, known));
    }

    fn keeps(&mut self, stmt: &mut Stmt, known: &mut FxHashMap<Slot, KValue>) -> bool {
        match stmt {
            Stmt::Load(value, location) => {
                if let Some(&stored) = known.get(&(location.buffer, location.part)) {
                    self.alias.insert(*value, stored);
                    return false;
                }
                self.location(location);
                self.loaded[location.buffer as usize] = true;
            }
            Stmt::Store(location, value) => {
                self.location(location);
                *value = self.real(*value);
                if self.is_scalar[location.buffer as usize] {
                    known.insert((location.buffer, location.part), *value);
                }
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
                    self.scope(&mut accumulator.body, &mut FxHashMap::default());
                    accumulator.both.iter_mut().for_each(|elem| *elem = self.elem(*elem));
                    for buffer in total.all() {
                        self.loaded[buffer as usize] = true;
                        known.retain(|(known, _), _| *known != buffer);
                    }
                }
            }
            Stmt::Combine(items) => items.iter_mut().for_each(|item| *item = self.elem(*item)),
            Stmt::Nest(nest) => {
                for (lo, hi) in &mut nest.bounds {
                    hi.iter_mut().chain([lo]).for_each(|form| *form = self.form(form));
                }
                nest.buffers.iter_mut().for_each(|buffer| self.location(&mut buffer.first));
                nest.params.iter_mut().for_each(|param| *param = self.real(*param));
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

/// Forgets the values of scalars that statements write.
fn forget_written(stmts: &[Stmt], known: &mut FxHashMap<Slot, KValue>) {
    let written = written(stmts);
    known.retain(|(buffer, _), _| !written.contains(buffer));
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
