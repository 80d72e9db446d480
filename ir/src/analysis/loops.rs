//! Natural loops and their nesting.
//!
//! A back edge targets a dominator of its source. Loops are found from the innermost out. A search that
//! reaches a loop found before continues at that loop's header. So each block is visited at most once for
//! every loop of which it is the header.

use super::dominators::{Dominators, predecessors};
use crate::function::{Block, Function};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

/// A loop of a [`Loops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoopId(u32);

/// A natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NaturalLoop {
    /// The entry block of the loop.
    pub header: Block,
    /// The sources of back edges to the header.
    pub latches: Vec<Block>,
    /// The enclosing loop.
    pub parent: Option<LoopId>,
    /// The number of loops that contain it, including itself.
    pub depth: u32,
}

/// The loops of a function.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    loops: Vec<NaturalLoop>,
    innermost: SecondaryMap<Block, LoopId>,
}

impl Loops {
    /// Finds all loops.
    pub fn of(func: &Function, dominators: &Dominators) -> Self {
        let mut this = Loops::default();
        let mut tops = Vec::new();
        let preds = predecessors(func);
        for &header in dominators.reverse_postorder().iter().rev() {
            let back = |&p: &Block| dominators.is_reachable(p) && dominators.dominates(header, p);
            let mut latches: Vec<Block> = preds[header].iter().copied().filter(back).collect();
            latches.dedup();
            if !latches.is_empty() {
                tops.push(this.loops.len() as u32);
                this.grow(header, latches, dominators, &preds, &mut tops);
            }
        }
        // Outer loops were found after inner ones.
        for at in (0..this.loops.len()).rev() {
            this.loops[at].depth = this.loops[at].parent.map_or(1, |p| this.loops[p.0 as usize].depth + 1);
        }
        this
    }

    fn grow(
        &mut self,
        header: Block,
        latches: Vec<Block>,
        dominators: &Dominators,
        preds: &SecondaryMap<Block, SmallVec<[Block; 2]>>,
        tops: &mut [u32],
    ) {
        let id = LoopId(self.loops.len() as u32);
        let mut stack = latches.clone();
        self.loops.push(NaturalLoop { header, latches, parent: None, depth: 0 });
        if !self.innermost.contains_key(header) {
            self.innermost.insert(header, id);
        }
        while let Some(block) = stack.pop() {
            if block == header || !dominators.is_reachable(block) {
                continue;
            }
            match self.innermost.get(block).copied() {
                None => {
                    self.innermost.insert(block, id);
                    stack.extend(preds[block].iter().copied());
                }
                Some(inner) => {
                    let outer = outermost(tops, inner.0);
                    if outer != id.0 {
                        tops[outer as usize] = id.0;
                        self.loops[outer as usize].parent = Some(id);
                        let inner_header = self.loops[outer as usize].header;
                        stack.extend(preds[inner_header].iter().copied());
                    }
                }
            }
        }
    }

    /// All loops, inner ones before the enclosing ones.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (LoopId, &NaturalLoop)> {
        self.loops.iter().enumerate().map(|(i, l)| (LoopId(i as u32), l))
    }
    /// A loop.
    pub fn get(&self, id: LoopId) -> &NaturalLoop {
        &self.loops[id.0 as usize]
    }
    /// The innermost loop that contains a block.
    pub fn innermost(&self, block: Block) -> Option<LoopId> {
        self.innermost.get(block).copied()
    }
    /// The number of loops that contain a block.
    pub fn depth(&self, block: Block) -> u32 {
        self.innermost(block).map_or(0, |id| self.get(id).depth)
    }
    /// True if a loop, or a loop nested in it, contains a block.
    pub fn contains(&self, id: LoopId, block: Block) -> bool {
        let mut at = self.innermost(block);
        while let Some(found) = at {
            if found == id {
                return true;
            }
            at = self.get(found).parent;
        }
        false
    }
}

/// The outermost loop found so far that contains a loop; uses path halving.
fn outermost(tops: &mut [u32], mut at: u32) -> u32 {
    while tops[at as usize] != at {
        tops[at as usize] = tops[tops[at as usize] as usize];
        at = tops[at as usize];
    }
    at
}
