//! Assigns the adjacent results of reductions that accumulate in memory to the vector lanes of the kernel
//! that computes blocks of rows (`row_blocks.rs`).
//!
//! * Up to three results: adjacent lanes are adjacent blocks, and elements are gathered one by one.
//! * A power of two that fits a register: vectors have exactly that number of lanes. A masked load that
//!   follows a masked store to the same address can't be forwarded; it waits until the store leaves the
//!   store buffer.
//! * Others: adjacent lanes are adjacent results, with a mask at the end.

use crate::lower::{Bound, Lowered};

/// From this number of adjacent results on, one masked vector of them costs less than gathering from several
/// blocks.
const WIDE: u64 = 4;
/// The bytes of the narrowest and of the widest vector register.
const REGISTERS: [u64; 2] = [16, 64];

/// The assignment of adjacent results to vector lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultLanes {
    /// Adjacent lanes are adjacent blocks.
    Narrow,
    /// Adjacent lanes are adjacent results.
    Wide,
    /// As `Wide`, and a vector has exactly as many lanes as there are adjacent results: 2 to this power.
    Exact(u32),
}

impl ResultLanes {
    /// The number of variants, where the largest `Exact` has one byte per result.
    pub const COUNT: usize = 3 + REGISTERS[1].ilog2() as usize;

    /// The index of the variant, less than `COUNT`.
    pub fn number(self) -> usize {
        match self {
            ResultLanes::Narrow => 0,
            ResultLanes::Wide => 1,
            ResultLanes::Exact(log) => 2 + log as usize,
        }
    }

    /// The variant for a call with these loops.
    pub fn of(lowered: &Lowered, bound: &Bound) -> ResultLanes {
        let buffers = || lowered.kernel.buffers.iter();
        let inner = bound.extents.last().copied().unwrap_or(1);
        if lowered.kernel.fold.is_some() || !buffers().any(|buffer| buffer.written) {
            return ResultLanes::Wide;
        }
        let bytes = inner.saturating_mul(buffers().map(|buffer| buffer.dtype.size() as u64).max().unwrap_or(1));
        let [least, most] = REGISTERS;
        match inner {
            ..WIDE => ResultLanes::Narrow,
            _ if inner.is_power_of_two() && (least..=most).contains(&bytes) => ResultLanes::Exact(inner.ilog2()),
            _ => ResultLanes::Wide,
        }
    }
}
