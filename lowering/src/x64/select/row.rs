//! Rows: the streams of elements that a kernel reads and writes along its loops.

use super::pairs;
use crate::kernel::{KOp, Kernel, KernelError, Part};
use crate::x64::unsupported;
use rustc_hash::FxHashMap;

/// The elements of a buffer that a kernel reads or writes. For complex buffers whose parts are not written
/// together, a row is one part.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub buffer: u32,
    pub part: Part,
    /// Bytes of an element.
    pub size: usize,
    /// True for pairs of floats, which registers hold deinterleaved.
    pub pairs: bool,
    pub loaded: bool,
    pub stored: bool,
    /// True if there is an element for each point of the innermost loop.
    pub moves: bool,
    /// True if the elements also vary along the loop around the innermost one.
    pub crosses: bool,
}

impl Row {
    /// Bytes of a lane, which holds an element or one part of a pair.
    pub fn lane(&self) -> usize {
        if self.pairs { self.size / 2 } else { self.size }
    }
    /// The number of vectors for the elements of a group.
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
    /// The rows of the live instructions.
    pub fn new(kernel: &Kernel, live: &[bool]) -> Rows {
        let mut rows = Rows::default();
        let paired = pairs::paired(kernel);
        for (number, inst) in kernel.insts.iter().enumerate().filter(|(number, _)| live[*number]) {
            let (KOp::Load(buffer, part) | KOp::Store(buffer, part)) = inst.op else { continue };
            let b = &kernel.buffers[buffer as usize];
            let list = &mut rows.list;
            let pairs = paired[buffer as usize];
            // Both parts of pairs share one row, which is listed under the first part.
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
            // An element that is stored at all points but is only one element is a row with stride 0.
            row.stored |= inst.results == 0;
            row.moves |= row.stored && !kernel.is_of_fold(number);
            row.loaded |= inst.results > 0;
        }
        rows
    }
    /// The row of an access.
    pub(super) fn of(&self, buffer: u32, part: Part) -> Result<u32, KernelError> {
        self.known.get(&(buffer, part)).copied().ok_or_else(|| unsupported("an access without a row"))
    }
}
