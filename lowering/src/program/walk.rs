//! Visits to the statements of a program.

use super::{Condition, Linear, Location, Nest, Program, Stmt};
use crate::kernel::{KInst, KValue, Kernel};
use crate::scalar::Elem;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Calls `f` with each statement, before the statements in it.
pub fn each_stmt<'a>(stmts: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt)) {
    for stmt in stmts {
        f(stmt);
        match stmt {
            Stmt::For(nest) => each_stmt(&nest.body, f),
            Stmt::If(branch) => {
                each_stmt(&branch.then, f);
                each_stmt(&branch.otherwise, f);
            }
            Stmt::Reduce(reduce) => each_stmt(&reduce.body, f),
            _ => {}
        }
    }
}

/// Calls `f` for each access with the buffer, the location, and whether it is a store. The totals of a
/// reduction have no location.
pub fn each_access<'a>(stmts: &'a [Stmt], f: &mut dyn FnMut(u32, Option<&'a Location>, bool)) {
    each_stmt(stmts, &mut |stmt| match stmt {
        Stmt::Load(_, location) => f(location.buffer, Some(location), false),
        Stmt::Store(location, _) => f(location.buffer, Some(location), true),
        Stmt::Nest(nest) => {
            for (buffer, own) in nest.buffers.iter().zip(&nest.kernel.buffers) {
                f(buffer.first.buffer, Some(&buffer.first), own.written);
            }
        }
        Stmt::Reduce(reduce) => {
            reduce.accumulators.iter().flat_map(|(_, total)| total.all()).for_each(|buffer| f(buffer, None, true));
        }
        _ => {}
    });
}

/// Calls `f` with each value that statements use, their own values among them.
pub fn each_use(stmts: &[Stmt], f: &mut dyn FnMut(KValue)) {
    fn form(form: &Linear, f: &mut dyn FnMut(KValue)) {
        form.terms().iter().for_each(|&(value, _)| f(value));
    }
    each_stmt(stmts, &mut |stmt| match stmt {
        Stmt::Inst(inst) => inst.args.iter().for_each(|&arg| f(arg)),
        Stmt::Load(_, location) => location.at.iter().for_each(|at| form(at, f)),
        Stmt::Store(location, value) => {
            f(*value);
            location.at.iter().for_each(|at| form(at, f));
        }
        Stmt::For(nest) => nest.hi.iter().chain([&nest.lo]).for_each(|bound| form(bound, f)),
        Stmt::If(branch) => match &branch.condition {
            Condition::Value(value) => f(*value),
            Condition::NotNegative(forms) => forms.iter().for_each(|condition| form(condition, f)),
        },
        Stmt::Nest(nest) => {
            nest.each_form(&mut |own| form(own, f));
            nest.params.iter().for_each(|&param| f(param));
        }
        Stmt::Combine(items) => items.iter().flat_map(Elem::parts).for_each(&mut *f),
        Stmt::Reduce(reduce) => {
            reduce.points.iter().for_each(|bound| form(bound, f));
            for (accumulator, _) in &reduce.accumulators {
                accumulator.both.iter().flat_map(Elem::parts).for_each(&mut *f);
                each_use(&accumulator.body, f);
            }
        }
        Stmt::Local(_) | Stmt::Fail => {}
    });
}

/// The buffers that statements write.
pub fn written(stmts: &[Stmt]) -> FxHashSet<u32> {
    let mut found = FxHashSet::default();
    each_access(stmts, &mut |buffer, _, is_store| {
        if is_store {
            found.insert(buffer);
        }
    });
    found
}

/// The buffers that statements access.
pub fn accessed(stmts: &[Stmt]) -> FxHashSet<u32> {
    let mut found = FxHashSet::default();
    each_access(stmts, &mut |buffer, _, _| {
        found.insert(buffer);
    });
    found
}

/// The values that statements define.
pub fn defined(stmts: &[Stmt]) -> FxHashSet<KValue> {
    let mut found = FxHashSet::default();
    each_stmt(stmts, &mut |stmt| found.extend(stmt.defined()));
    found
}

/// The local buffers that exist inside of statements only.
pub fn locals(stmts: &[Stmt]) -> FxHashSet<u32> {
    let mut found = FxHashSet::default();
    each_stmt(stmts, &mut |stmt| found.extend(if let Stmt::Local(buffer) = stmt { Some(*buffer) } else { None }));
    found
}

/// The number of statements.
pub fn count(stmts: &[Stmt]) -> usize {
    let mut count = 0;
    each_stmt(stmts, &mut |_| count += 1);
    count
}

impl Stmt {
    /// The values that the statement itself defines.
    pub fn defined(&self) -> impl Iterator<Item = KValue> {
        let (first, count) = match self {
            Stmt::Inst(inst) => (inst.first, inst.results),
            Stmt::Load(value, _) => (*value, 1),
            Stmt::For(nest) => (nest.index, 1),
            Stmt::Reduce(reduce) => (reduce.index, 1),
            _ => (KValue(0), 0),
        };
        (first.0..first.0 + count).map(KValue)
    }
}

impl Program {
    /// Calls `f` with every scalar instruction, in order.
    pub fn each_inst<'a>(&'a self, f: &mut dyn FnMut(&'a KInst)) {
        each_inst(&self.body, f);
    }

    /// The kernels that the program calls, by number.
    pub fn kernels(&self) -> Vec<Arc<Kernel>> {
        let mut found = BTreeMap::new();
        self.each_nest(&mut |nest| {
            found.entry(nest.number).or_insert_with(|| nest.kernel.clone());
        });
        found.into_values().collect()
    }

    /// The buffers that kernels access.
    pub fn nest_buffers(&self) -> FxHashSet<u32> {
        let mut found = FxHashSet::default();
        self.each_nest(&mut |nest| found.extend(nest.buffers.iter().map(|buffer| buffer.first.buffer)));
        found
    }

    fn each_nest<'a>(&'a self, f: &mut dyn FnMut(&'a Nest)) {
        each_stmt(&self.body, &mut |stmt| {
            if let Stmt::Nest(nest) = stmt {
                f(nest);
            }
        });
    }
}

fn each_inst<'a>(stmts: &'a [Stmt], f: &mut dyn FnMut(&'a KInst)) {
    each_stmt(stmts, &mut |stmt| match stmt {
        Stmt::Inst(inst) => f(inst),
        Stmt::Reduce(reduce) => {
            reduce.accumulators.iter().for_each(|(accumulator, _)| each_inst(&accumulator.body, f));
        }
        _ => {}
    });
}
