//! Rows: the streams of elements that a kernel reads and writes along its loops.

use super::pairs;
use crate::kernel::{Interleaved, KOp, Kernel, KernelError, Part};
use crate::x64::unsupported;
use rustc_hash::FxHashMap;

/// The elements of a buffer that a kernel reads or writes, or those of interleaved buffers. For complex
/// buffers whose parts are not written together, a row is one part.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub buffer: u32,
    pub part: Part,
    /// Bytes of an element, with all its parts.
    pub size: usize,
    /// The number of parts of an element, which registers hold deinterleaved: two for pairs of floats.
    pub parts: usize,
    /// True if the parts are elements of interleaved buffers.
    pub interleaved: bool,
    /// The number of parts of the last element that may not exist.
    pub missing: usize,
    pub loaded: bool,
    pub stored: bool,
    /// True if there is an element for each point of the innermost loop.
    pub moves: bool,
    /// True if the elements also vary along the loop around the innermost one.
    pub crosses: bool,
}

impl Row {
    /// Bytes of a lane, which holds an element or one part of it.
    pub fn lane(&self) -> usize {
        self.size / self.parts
    }
}

/// The rows of a kernel.
#[derive(Debug, Default)]
pub struct Rows {
    pub list: Vec<Row>,
    /// The row of a part of a buffer, and the number of the part in the row.
    known: FxHashMap<(u32, Part), (u32, usize)>,
}

impl Rows {
    /// The rows of the live instructions. Those of interleaved buffers are joined.
    pub fn new(kernel: &Kernel, live: &[bool], interleaved: &[&Interleaved]) -> Rows {
        let mut rows = Rows::default();
        let paired = pairs::paired(kernel);
        for group in interleaved {
            let numbers: Vec<(usize, u32)> = group.buffers().collect();
            let (parts, buffer) = (group.parts.len(), numbers[0].1);
            let own = &kernel.buffers[buffer as usize];
            let crosses = kernel.axes.checked_sub(2).is_some_and(|level| own.varies[level]);
            let row = rows.list.len() as u32;
            rows.list.push(Row {
                buffer,
                part: Part::Re,
                size: own.dtype.size() * parts,
                parts,
                interleaved: true,
                missing: group.missing(),
                loaded: true,
                stored: false,
                moves: true,
                crosses,
            });
            rows.known.extend(numbers.into_iter().map(|(part, number)| ((number, Part::Re), (row, part))));
        }
        for (number, inst) in kernel.insts.iter().enumerate().filter(|(number, _)| live[*number]) {
            let (KOp::Load(buffer, part) | KOp::Store(buffer, part)) = inst.op else { continue };
            let b = &kernel.buffers[buffer as usize];
            let list = &mut rows.list;
            let pairs = paired[buffer as usize];
            // Both parts of pairs share one row, which is listed under the first part.
            let part = if pairs { Part::Re } else { part };
            let (n, _) = *rows.known.entry((buffer, part)).or_insert_with(|| {
                let moves = kernel.vector_axis().is_some_and(|axis| b.varies[axis]);
                let size = if pairs { b.dtype.size() } else { b.dtype.real().size() };
                let crosses = kernel.axes.checked_sub(2).is_some_and(|level| b.varies[level]);
                let parts = 1 + usize::from(pairs);
                let (interleaved, missing, loaded, stored) = (false, 0, false, false);
                list.push(Row { buffer, part, size, parts, interleaved, missing, loaded, stored, moves, crosses });
                (list.len() as u32 - 1, 0)
            });
            if pairs {
                rows.known.insert((buffer, Part::Im), (n, 1));
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
        Ok(self.place(buffer, part)?.0)
    }
    /// The row of an access, and the number of the part in it.
    pub(super) fn place(&self, buffer: u32, part: Part) -> Result<(u32, usize), KernelError> {
        self.known.get(&(buffer, part)).copied().ok_or_else(|| unsupported("an access without a row"))
    }
}
