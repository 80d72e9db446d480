//! Parallel loops: whose iterations may run in any order, or at the same time.
//!
//! A loop is parallel if each iteration has elements of its own in every array that the loop writes: there is
//! a dim in which all accesses of the loop to the array have one position, which moves with the loop's index
//! and is otherwise the same for all iterations. The local buffers that it accesses exist in one iteration
//! only.

use super::{For, Linear, Location, Program, Stmt, Storage};
use crate::kernel::KValue;
use rustc_hash::{FxHashMap, FxHashSet};

impl Program {
    /// True if iterations of a loop may run in any order.
    pub(super) fn is_parallel(&self, nest: &For) -> bool {
        let mut inside = FxHashSet::default();
        defined(&nest.body, &mut inside);
        let own = locals(&nest.body);
        // For each array that is written, the accesses.
        let mut written: FxHashMap<u32, bool> = FxHashMap::default();
        let mut locations: FxHashMap<u32, Vec<&Location>> = FxHashMap::default();
        each_access(&nest.body, &mut |buffer, location, is_store| {
            *written.entry(buffer).or_default() |= is_store;
            locations.entry(buffer).or_default().extend(location);
        });
        let moves_alone = |form: &Linear| {
            let is_fixed = |&(value, _): &(KValue, i64)| value == nest.index || !inside.contains(&value);
            form.coefficient(nest.index) != 0 && form.terms().iter().all(is_fixed)
        };
        locations.iter().all(|(buffer, locations)| match self.buffers[*buffer as usize].storage {
            Storage::Local { .. } => own.contains(buffer),
            Storage::Caller { .. } if !written[buffer] => true,
            Storage::Caller { rank } => (0..rank).any(|dim| {
                moves_alone(&locations[0].at[dim])
                    && locations.iter().all(|other| other.at[dim] == locations[0].at[dim])
            }),
        })
    }
}

/// Calls `f` for each access with the buffer, the location, and whether it is a store. The totals of a
/// reduction have no location.
pub fn each_access<'a>(stmts: &'a [Stmt], f: &mut dyn FnMut(u32, Option<&'a Location>, bool)) {
    for stmt in stmts {
        match stmt {
            Stmt::Load(_, location) => f(location.buffer, Some(location), false),
            Stmt::Store(location, _) => f(location.buffer, Some(location), true),
            Stmt::For(nest) => each_access(&nest.body, f),
            Stmt::If(branch) => {
                each_access(&branch.then, f);
                each_access(&branch.otherwise, f);
            }
            Stmt::Nest(nest) => {
                for (buffer, own) in nest.buffers.iter().zip(&nest.kernel.buffers) {
                    f(buffer.first.buffer, Some(&buffer.first), own.written);
                }
            }
            Stmt::Reduce(reduce) => {
                each_access(&reduce.body, f);
                reduce.accumulators.iter().flat_map(|(_, total)| total.all()).for_each(|buffer| f(buffer, None, true));
            }
            Stmt::Inst(_) | Stmt::Local(_) | Stmt::Combine(_) | Stmt::Fail => {}
        }
    }
}

/// Adds the values that statements define.
pub fn defined(stmts: &[Stmt], values: &mut FxHashSet<KValue>) {
    for stmt in stmts {
        match stmt {
            Stmt::Inst(inst) => values.extend((inst.first.0..inst.first.0 + inst.results).map(KValue)),
            Stmt::Load(value, _) => {
                values.insert(*value);
            }
            Stmt::For(nest) => {
                values.insert(nest.index);
                defined(&nest.body, values);
            }
            Stmt::If(branch) => {
                defined(&branch.then, values);
                defined(&branch.otherwise, values);
            }
            Stmt::Reduce(reduce) => {
                values.insert(reduce.index);
                defined(&reduce.body, values);
            }
            Stmt::Local(_) | Stmt::Store(..) | Stmt::Combine(_) | Stmt::Nest(_) | Stmt::Fail => {}
        }
    }
}

/// The local buffers that exist inside of statements only.
pub fn locals(stmts: &[Stmt]) -> FxHashSet<u32> {
    let mut found = FxHashSet::default();
    add_locals(stmts, &mut found);
    found
}

fn add_locals(stmts: &[Stmt], found: &mut FxHashSet<u32>) {
    for stmt in stmts {
        match stmt {
            Stmt::Local(buffer) => {
                found.insert(*buffer);
            }
            Stmt::For(nest) => add_locals(&nest.body, found),
            Stmt::If(branch) => {
                add_locals(&branch.then, found);
                add_locals(&branch.otherwise, found);
            }
            Stmt::Reduce(reduce) => add_locals(&reduce.body, found),
            Stmt::Inst(_) | Stmt::Load(..) | Stmt::Store(..) | Stmt::Combine(_) | Stmt::Nest(_) | Stmt::Fail => {}
        }
    }
}
