//! Adjacent results of rows that are combined in memory, and the vectors of the kernel that computes blocks
//! of them (`row_blocks.rs`).
//!
//! Of up to three results adjacent lanes are blocks, whose elements are gathered one by one. Of a power of
//! two that fits a register, vectors have exactly as many lanes: a masked load waits for a masked store to
//! the same place until that has left the store buffer. Of all others adjacent lanes are adjacent results,
//! under a mask at the end.

use crate::lower::{Bound, Lowered};

/// From so many adjacent results on, one masked vector of them costs less than gathering each from several
/// blocks.
const WIDE: u64 = 4;
/// The bytes of the narrowest and of the widest register.
const REGISTERS: [u64; 2] = [16, 64];

/// How the adjacent results of a call lie in the vectors of its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultLanes {
    /// Adjacent lanes are adjacent blocks.
    Narrow,
    /// Adjacent lanes are adjacent results.
    Wide,
    /// The same, and a vector has exactly the results that there are: 2 to the power of this.
    Exact(u32),
}

impl ResultLanes {
    /// How many of them there are; the results of the last have a byte each.
    pub const COUNT: usize = 3 + REGISTERS[1].ilog2() as usize;

    /// Which of them it is.
    pub fn number(self) -> usize {
        match self {
            ResultLanes::Narrow => 0,
            ResultLanes::Wide => 1,
            ResultLanes::Exact(log) => 2 + log as usize,
        }
    }

    /// Those of a call with these loops.
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
