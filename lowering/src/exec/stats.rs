//! Counts of what calls did.

use std::ops::AddAssign;

/// What the calls of an executable did, for tests and tuning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Calls of compiled kernels.
    pub kernels: u64,
    /// Those of them that were run band by band, or part by part, together with others: see [`Options::band_bytes`](super::Options::band_bytes).
    pub banded: u64,
    /// Steps that ran by the reference meaning of their ops; the arrays that these make are not counted below.
    pub reference: u64,
    /// Buffers for elements got from the allocator, for results and temporaries.
    pub allocations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Buffers of dead values that were used again instead.
    pub reused: u64,
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Stats) {
        self.kernels += other.kernels;
        self.banded += other.banded;
        self.reference += other.reference;
        self.allocations += other.allocations;
        self.bytes += other.bytes;
        self.reused += other.reused;
    }
}
