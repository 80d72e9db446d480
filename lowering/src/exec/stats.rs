//! Statistics of calls.

use std::ops::AddAssign;

/// Statistics of an executable's calls, for tests and tuning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Calls of compiled kernels.
    pub kernels: u64,
    /// The calls of kernels that ran in bands, or in parts, together with others: see
    /// [`Options::band_bytes`](super::Options::band_bytes).
    pub banded: u64,
    /// Steps that ran by the reference meaning of their ops. The arrays that they make are not counted
    /// below.
    pub reference: u64,
    /// Buffers that were allocated for results and temporaries.
    pub allocations: u64,
    /// The bytes of these buffers.
    pub bytes: u64,
    /// Buffers of dead values that were reused instead.
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
