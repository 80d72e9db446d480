//! Parallel loops: whose iterations may run in any order, or at the same time.
//!
//! A loop is parallel if each iteration has elements of its own in every array that the loop writes: there is
//! a dim in which all accesses of the loop to the array have one position, which moves with the loop's index
//! and is otherwise the same for all iterations. The local buffers that it accesses exist in one iteration
//! only.

use super::walk::{defined, each_access, locals};
use super::{BufferDecl, For, Linear, Location, Storage};
use crate::kernel::KValue;
use rustc_hash::{FxHashMap, FxHashSet};

impl Location {
    /// True if it is another element, whatever the values are, and even if the position along each dim
    /// changes by multiples of a step; 0 if it does not change.
    pub(super) fn is_apart_from(&self, other: &Location, step: impl Fn(usize) -> u64) -> bool {
        let differs = |(dim, (a, b)): (usize, (&Linear, &Linear))| {
            a.clone().minus(b).as_constant().is_some_and(|distance| match step(dim) {
                0 => distance != 0,
                step => distance.unsigned_abs() % step != 0,
            })
        };
        self.buffer != other.buffer || self.at.iter().zip(&other.at).enumerate().any(differs)
    }
}

impl For {
    /// True if the iterations may run in any order, in a program with these buffers.
    pub(super) fn is_parallel(&self, buffers: &[BufferDecl]) -> bool {
        self.is_parallel_within(&defined(&self.body), buffers)
    }

    /// The same whatever these values are in each iteration: those of a loop around it, for instance.
    pub(super) fn is_parallel_within(&self, inside: &FxHashSet<KValue>, buffers: &[BufferDecl]) -> bool {
        let own = locals(&self.body);
        // For each array that is written, the accesses.
        let mut written: FxHashMap<u32, bool> = FxHashMap::default();
        let mut locations: FxHashMap<u32, Vec<&Location>> = FxHashMap::default();
        each_access(&self.body, &mut |buffer, location, is_store| {
            *written.entry(buffer).or_default() |= is_store;
            locations.entry(buffer).or_default().extend(location);
        });
        let moves_alone = |form: &Linear| {
            let is_fixed = |&(value, _): &(KValue, i64)| value == self.index || !inside.contains(&value);
            form.coefficient(self.index) != 0 && form.terms().iter().all(is_fixed)
        };
        locations.iter().all(|(buffer, locations)| match &buffers[*buffer as usize].storage {
            Storage::Local { .. } if own.contains(buffer) => true,
            _ if !written[buffer] => true,
            _ => (0..buffers[*buffer as usize].rank()).any(|dim| {
                let Some(first) = locations.first().map(|location| &location.at[dim]) else { return false };
                moves_alone(first) && locations.iter().all(|other| other.at[dim] == *first)
            }),
        })
    }
}
