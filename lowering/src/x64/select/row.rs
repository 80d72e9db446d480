//! Rows: what a kernel reads and writes, as loops go through it.

use super::pairs;
use crate::kernel::{KOp, Kernel, KernelError, Part};
use crate::x64::unsupported;
use rustc_hash::FxHashMap;

/// Elements that a kernel reads or writes: a buffer, or one part of a complex one of which only that is written.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub buffer: u32,
    pub part: Part,
    /// Bytes of an element.
    pub size: usize,
    /// True of pairs of floats, which are split into their parts in registers.
    pub pairs: bool,
    pub loaded: bool,
    pub stored: bool,
    /// True if there is an element for each point of the innermost loop.
    pub moves: bool,
    /// True if it also goes along the loop around that one.
    pub crosses: bool,
}

impl Row {
    /// Bytes of a lane that has an element, or one part of a pair.
    pub fn lane(&self) -> usize {
        if self.pairs { self.size / 2 } else { self.size }
    }
    /// The vectors that have the elements of a group.
    pub fn vectors(&self) -> usize {
        1 + usize::from(self.pairs)
    }
}

/// The rows of a kernel.
#[derive(Debug, Default)]
pub struct Rows {
    pub list: Vec<Row>,
    known: FxHashMap<(u32, Part), u32>,
}

impl Rows {
    /// Those of the instructions that anything depends on.
    pub fn new(kernel: &Kernel, live: &[bool]) -> Rows {
        let mut rows = Rows::default();
        let paired = pairs::paired(kernel);
        for (number, inst) in kernel.insts.iter().enumerate().filter(|(number, _)| live[*number]) {
            let (KOp::Load(buffer, part) | KOp::Store(buffer, part)) = inst.op else { continue };
            let b = &kernel.buffers[buffer as usize];
            let list = &mut rows.list;
            let pairs = paired[buffer as usize];
            // Both parts of pairs are the row of the first one.
            let part = if pairs { Part::Re } else { part };
            let n = *rows.known.entry((buffer, part)).or_insert_with(|| {
                let moves = kernel.vector_axis().is_some_and(|axis| b.varies[axis]);
                let size = if pairs { b.dtype.size() } else { b.dtype.real().size() };
                let crosses = kernel.axes.checked_sub(2).is_some_and(|level| b.varies[level]);
                list.push(Row { buffer, part, size, pairs, loaded: false, stored: false, moves, crosses });
                list.len() as u32 - 1
            });
            if pairs {
                rows.known.insert((buffer, Part::Im), n);
            }
            let row = &mut rows.list[n as usize];
            // What is written at all points and is only one element is a row whose elements are in the same place.
            row.stored |= inst.results == 0;
            row.moves |= row.stored && !kernel.is_of_fold(number);
            row.loaded |= inst.results > 0;
        }
        rows
    }
    /// That of an access.
    pub(super) fn of(&self, buffer: u32, part: Part) -> Result<u32, KernelError> {
        self.known.get(&(buffer, part)).copied().ok_or_else(|| unsupported("an access without a row"))
    }
}
