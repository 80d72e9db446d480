//! Memory that is asked for before it is needed.
//!
//! A processor asks early for what it sees that a loop reads on and on. It asks late where leaves of a tree end, and with them a loop; for what the
//! stages of the next piece read, while others of this piece compute (`pieces.rs` says where that is worth it); and for the lines that a loop writes.
//!
//! Rows that a call copies to the frame, since their elements are not adjacent, are asked for in the frame, which does neither good nor harm: which rows
//! these are is not known when the code is written.

use super::allocate::{Mode, Writer};
use super::machine::Inst;
use super::pieces::Pieces;
use super::prepared::Prepared;
use super::select::Row;
use crate::schedule::facts;
use iced_x86::Code;
use std::arch::x86_64::__cpuid;
use std::sync::LazyLock;

/// Loops of more instructions compute for longer than they wait for what they write.
const SHORT: usize = 24;
/// Rows of fewer bytes stay in the first-level cache.
pub const NEAR: i32 = 48 << 10;
/// The bytes from what is written to what will be.
const NEXT_WRITTEN: i64 = 512;
/// No second-level cache is taken for larger than this.
const MOST_OF_LEVEL2: u64 = 4 << 20;

/// The bytes of the second-level cache of processors that fetch what lies beyond it best unasked: AMD's.
pub fn unasked_beyond() -> Option<usize> {
    static BYTES: LazyLock<Option<usize>> = LazyLock::new(|| {
        let vendor = __cpuid(0);
        let is_amd = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == b"AuthenticAMD";
        is_amd.then(|| facts().level2.min(MOST_OF_LEVEL2) as usize)
    });
    *BYTES
}

/// From and to how many points, of so many bytes, a loop asks for the lines that it writes: on a Zen 4 that takes 2 to 4 % off where the second-level cache has them, and
/// adds 5 to 10 % beyond, for one operand up to a fifth. The points are those of the innermost loop; what loops around it come to is not known here.
pub fn asks_for_written(bytes: usize) -> (i32, i32) {
    let to = unasked_beyond().map_or(i32::MAX, |level2| level2 as i32);
    (NEAR / bytes as i32, to.max(NEAR) / bytes as i32)
}

/// A row whose elements are asked for, so many bytes further on.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub row: u32,
    pub bytes: i64,
    pub written: bool,
}

/// What each stage of a loop asks for: the rows that are not known from an earlier one.
pub fn asks(rows: &[Row], stages: &[Prepared], pieces: Pieces) -> Vec<Vec<Ask>> {
    let mut known = vec![false; rows.len()];
    let mut of_stage = |stage: &Prepared| {
        let used = stage.segment.insts.iter().filter_map(|(inst, _)| match inst {
            Inst::Load { row, .. } => Some((*row, false)),
            Inst::Store { row, .. } => Some((*row, true)),
            Inst::Op(op) => op.row.map(|row| (row, false)),
            _ => None,
        });
        let used = used.filter(|(row, written)| match rows.get(*row as usize) {
            Some(row) => row.moves && (*written || stages.len() > 1),
            // It goes between stages.
            None => false,
        });
        let new = used.filter(|(row, _)| !std::mem::replace(&mut known[*row as usize], true));
        let ask = |(row, written): (u32, bool)| {
            let size = rows[row as usize].size;
            Ask { row, bytes: if stages.len() > 1 { (pieces.points * size) as i64 } else { NEXT_WRITTEN }, written }
        };
        new.map(ask).collect()
    };
    let asked =
        if stages.len() > 1 { pieces.ahead } else { stages.iter().all(|stage| stage.segment.insts.len() <= SHORT) };
    stages.iter().map(|stage| if asked { of_stage(stage) } else { Vec::new() }).collect()
}

impl Writer<'_> {
    /// Asks for the lines of a row's elements, from those of a group on. Changes RAX.
    pub fn ask(&mut self, ask: Ask, group: usize) {
        for half in 0..self.rows[ask.row as usize].vectors() {
            let there = self.row_at((ask.row, half), Mode::Group(group)).plus(ask.bytes);
            self.asm.m(if ask.written { Code::Prefetchw_m8 } else { Code::Prefetcht0_m8 }, there);
        }
    }
}
