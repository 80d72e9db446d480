//! Software prefetching.
//!
//! Hardware prefetchers recognize the streams that a loop reads. They are late in three cases: where a leaf
//! of a reduction tree, and with it its loop, ends; for the rows that a stage reads in the next piece, while
//! other stages compute this piece (`pieces.rs` decides where prefetching these pays); and for the cache
//! lines that a loop writes.
//!
//! Rows whose elements are not adjacent are copied to the frame by the call. Their prefetches then address
//! the frame, which neither helps nor harms; the copied rows are not known when the code is written.

use super::allocate::{Mode, Writer};
use super::machine::Inst;
use super::pieces::Pieces;
use super::prepared::Prepared;
use super::select::Row;
use crate::schedule::facts;
use iced_x86::Code;
use std::arch::x86_64::__cpuid;
use std::sync::LazyLock;

/// Loops of more instructions compute for longer than they wait for the lines that they write.
const SHORT: usize = 24;
/// Rows of fewer bytes stay in the first-level cache.
pub const NEAR: i32 = 48 << 10;
/// The prefetch distance for written lines, in bytes.
const NEXT_WRITTEN: i64 = 512;
/// The greatest size that is assumed for the second-level cache.
const MOST_OF_LEVEL2: u64 = 4 << 20;

/// The size of the second-level cache, for processors whose hardware prefetchers do better beyond it than
/// software prefetching: AMD's.
pub fn unasked_beyond() -> Option<usize> {
    static BYTES: LazyLock<Option<usize>> = LazyLock::new(|| {
        let vendor = __cpuid(0);
        let is_amd = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == b"AuthenticAMD";
        is_amd.then(|| facts().level2.min(MOST_OF_LEVEL2) as usize)
    });
    *BYTES
}

/// The numbers of points, of `bytes` bytes each, from and to which a loop prefetches the lines that it
/// writes. On Zen 4, prefetching saves 2 to 4 % of the time where the second-level cache holds the rows.
/// Beyond it, prefetching adds 5 to 10 %, and up to a fifth with one operand. The points are those of the
/// innermost loop; the extents of the loops around it are not known here.
pub fn asks_for_written(bytes: usize) -> (i32, i32) {
    let to = unasked_beyond().map_or(i32::MAX, |level2| level2 as i32);
    (NEAR / bytes as i32, to.max(NEAR) / bytes as i32)
}

/// A prefetch of a row's elements, `bytes` bytes ahead.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub row: u32,
    pub bytes: i64,
    pub written: bool,
}

/// The prefetches of each stage of a loop: the rows that no earlier stage prefetches.
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
            // A row between stages.
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
    /// Prefetches the cache lines of a row's elements at the points of a group. Changes RAX.
    pub fn ask(&mut self, ask: Ask, group: usize) {
        for nth in 0..self.rows[ask.row as usize].parts {
            let there = self.row_at((ask.row, nth), Mode::Group(group)).plus(ask.bytes);
            self.asm.m(if ask.written { Code::Prefetchw_m8 } else { Code::Prefetcht0_m8 }, there);
        }
    }
}
