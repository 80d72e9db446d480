//! The order of instructions in blocks: a linked list with positions, which compare in constant time.
//!
//! Positions rise strictly along a block, so `comes_before` compares two numbers. An appended instruction
//! gets the last position plus [`GAP`], an inserted one the middle between its neighbours. If there is no
//! number between them, the positions around it are redistributed. Positions of different blocks are
//! unrelated.

use super::storage::{Node, Undo};
use super::{Block, Function, Inst, Value};
use smallvec::SmallVec;

/// The distance between adjacent positions when a block is numbered.
const GAP: u64 = 1 << 20;

impl Function {
    /// A block's instructions, in order.
    #[inline]
    pub fn insts(&self, block: Block) -> Insts<'_> {
        Insts { func: self, next: self.blocks[block].first, back: self.blocks[block].last }
    }

    /// Puts an unlinked instruction before `next`, or at the end of the block, and counts its uses. Records
    /// nothing.
    pub(super) fn link(&mut self, inst: Inst, block: Block, next: Option<Inst>) {
        let prev = match next {
            Some(n) => self.insts[n].node.prev,
            None => self.blocks[block].last,
        };
        let low = prev.map_or(0, |p| self.insts[p].node.position);
        let position = match next {
            None => low.saturating_add(GAP),
            Some(n) => low.midpoint(self.insts[n].node.position),
        };
        self.insts[inst].node = Node { block: Some(block), prev, next, position };
        match prev {
            Some(p) => self.insts[p].node.next = Some(inst),
            None => self.blocks[block].first = Some(inst),
        }
        match next {
            Some(n) => self.insts[n].node.prev = Some(inst),
            None => self.blocks[block].last = Some(inst),
        }
        if position == low {
            self.make_room(inst);
        }
        self.linked_insts += 1;
        let uses: SmallVec<[Value; 8]> = self.inst(inst).uses().collect();
        for v in uses {
            self.add_use(v, inst);
        }
    }

    /// Redistributes the positions around an instruction that has the same position as its neighbour.
    /// Chooses the smallest aligned range of positions that is sparse enough; larger ranges must be sparser.
    /// An insertion takes logarithmic time, amortized, for any sequence of insertions.
    ///
    /// Source: Bender, Cole, Demaine, Farach-Colton, Zito: "Two simplified algorithms for maintaining order
    /// in a list", ESA 2002.
    fn make_room(&mut self, inst: Inst) {
        const SPARSER: f64 = 4.0 / 3.0;
        let position = |f: &Self, inst: Inst| f.insts[inst].node.position;
        let at = position(self, inst);
        let (mut first, mut last, mut count) = (inst, inst, 1u64);
        let mut room = 1.0;
        for bits in 1..u64::BITS {
            room *= SPARSER;
            let width = 1u64 << bits;
            let base = at & !(width - 1);
            while let Some(prev) = self.insts[first].node.prev.filter(|&p| position(self, p) >= base) {
                (first, count) = (prev, count + 1);
            }
            while let Some(next) = self.insts[last].node.next.filter(|&n| position(self, n) - base < width) {
                (last, count) = (next, count + 1);
            }
            if count as f64 <= room {
                return self.distribute(first, count, base, width / count);
            }
        }
        self.renumber(inst);
    }

    /// Numbers the whole block of an instruction anew, with gaps between all positions.
    fn renumber(&mut self, inst: Inst) {
        let Some(block) = self.block_of(inst) else { return };
        let Some(first) = self.blocks[block].first else { return };
        let count = self.insts(block).count() as u64;
        self.distribute(first, count, GAP, GAP);
    }

    /// Gives `count` instructions from `first` on the positions `base`, `base + step`, and so on.
    fn distribute(&mut self, first: Inst, count: u64, base: u64, step: u64) {
        let mut next = Some(first);
        for n in 0..count {
            let Some(inst) = next else { return };
            let node = &mut self.insts[inst].node;
            node.position = base + n * step;
            next = node.next;
        }
    }

    /// Takes an instruction out of its block, and no longer counts its uses. Returns the block and the
    /// instruction after it; `None` if it was not linked. Records nothing.
    pub(super) fn unlink(&mut self, inst: Inst) -> Option<(Block, Option<Inst>)> {
        let node = std::mem::take(&mut self.insts[inst].node);
        let block = node.block?;
        match node.prev {
            Some(p) => self.insts[p].node.next = node.next,
            None => self.blocks[block].first = node.next,
        }
        match node.next {
            Some(n) => self.insts[n].node.prev = node.prev,
            None => self.blocks[block].last = node.prev,
        }
        self.linked_insts -= 1;
        let uses: SmallVec<[Value; 8]> = self.inst(inst).uses().collect();
        for v in uses {
            self.remove_use(v, inst);
        }
        Some((block, node.next))
    }

    /// Takes an instruction out of its block, and records in the journal how to put it back.
    pub(super) fn unlink_recorded(&mut self, inst: Inst) {
        if let Some((block, next)) = self.unlink(inst) {
            self.record(Undo::Unlinked(inst, block, next));
        }
    }
}

/// The instructions of a block, in order.
#[derive(Clone)]
pub struct Insts<'a> {
    func: &'a Function,
    next: Option<Inst>,
    back: Option<Inst>,
}

impl Iterator for Insts<'_> {
    type Item = Inst;
    #[inline]
    fn next(&mut self) -> Option<Inst> {
        let inst = self.next?;
        if self.back == Some(inst) {
            (self.next, self.back) = (None, None);
        } else {
            self.next = self.func.next_inst(inst);
        }
        Some(inst)
    }
}
impl DoubleEndedIterator for Insts<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Inst> {
        let inst = self.back?;
        if self.next == Some(inst) {
            (self.next, self.back) = (None, None);
        } else {
            self.back = self.func.prev_inst(inst);
        }
        Some(inst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FuncBuilder, Type};

    /// Positions at the end of the range of numbers, which no practical number of insertions reaches.
    #[test]
    fn the_largest_positions_are_redistributed() {
        let mut b = FuncBuilder::new("f", &[("x", Type::scalar(crate::DType::F64))], vec![]);
        let mut last = b.param(0);
        for _ in 0..5 {
            last = b.op("neg", [last]).expect("a number");
        }
        let mut func = b.finish();
        let block = func.entry().expect("a block");
        let insts: Vec<Inst> = func.insts(block).collect();
        for (n, &inst) in insts.iter().rev().enumerate() {
            func.insts[inst].node.position = u64::MAX - n as u64;
        }
        let data = func.inst(insts[0]).clone();
        for at in [None, Some(insts[4]), Some(insts[0])] {
            let types = [func.ty(last).clone()].into();
            let inst = func.create_inst(data.op, data.args.iter().copied(), data.attrs.clone(), [], types, data.loc);
            func.link(inst, block, at);
            assert_eq!(func.check_integrity(), Ok(()));
        }
        func.renumber(insts[0]);
        assert_eq!(func.check_integrity(), Ok(()));
        assert_eq!(func.insts(block).count(), 8);
    }
}
