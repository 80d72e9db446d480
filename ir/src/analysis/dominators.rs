//! Dominator trees.
//!
//! The algorithm is that of Lengauer and Tarjan ("A fast algorithm for finding dominators in a flowgraph",
//! 1979) with path compression, O(m log n). The simpler algorithm of Cooper, Harvey and Kennedy (2001) is
//! faster on small graphs. But it is quadratic on a long chain of blocks that all branch to one exit, as
//! checks after every operation produce. Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators and
//! Related Problems", 2005) has the same semidominators, and walks up the tree from each block's parent to
//! find its dominator. It is simpler and usually as fast, but quadratic in the worst case, so it is not used.

use crate::function::{Block, Function, Inst, Value, ValueDef};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

/// The predecessors of each block, in layout order, repeated for several branches from the same block.
pub fn predecessors(func: &Function) -> SecondaryMap<Block, SmallVec<[Block; 2]>> {
    let mut preds: SecondaryMap<Block, SmallVec<[Block; 2]>> = SecondaryMap::new();
    for block in func.blocks() {
        preds.insert(block, SmallVec::new());
    }
    for block in func.blocks() {
        for to in func.successors(block) {
            if let Some(list) = preds.get_mut(to) {
                list.push(block);
            }
        }
    }
    preds
}

/// The dominator tree of the reachable blocks.
///
/// ```
/// use rewright_ir::analysis::Dominators;
///
/// let text = "func @f(%c: bool) -> i64 {
/// entry:
///   br_if %c, left, right
/// left:
///   jump join(1)
/// right:
///   jump join(2)
/// join(%x: i64):
///   ret %x
/// }";
/// let module = rewright_ir::parse_module(text, "diamond.ir").map_err(|e| e.render(false))?;
/// let func = module.functions().next().expect("one function");
/// let [entry, left, _right, join] = func.blocks().collect::<Vec<_>>()[..] else { panic!("four blocks") };
/// let dominators = Dominators::of(func);
/// // The join has two predecessors, and neither dominates it.
/// assert_eq!(dominators.idom(join), Some(entry));
/// assert!(!dominators.dominates(left, join));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dominators {
    /// Reverse postorder.
    order: Vec<Block>,
    /// Positions in `order`.
    index: SecondaryMap<Block, u32>,
    /// Positions of immediate dominators; the entry block is its own.
    idom: Vec<u32>,
    /// For each block, the interval of its subtree in `preorder`. So `a` dominates `b` if the interval of `a`
    /// contains the start of that of `b`.
    interval: Vec<(u32, u32)>,
    /// Positions of the blocks in preorder of the tree.
    preorder: Vec<u32>,
}

impl Dominators {
    /// Computes the tree.
    pub fn of(func: &Function) -> Self {
        let search = Search::from_entry(func);
        let idom_of_number = search.immediate_dominators();
        let count = search.vertex.len();
        let order: Vec<Block> = search.postorder.iter().rev().map(|&n| search.vertex[n as usize]).collect();
        let mut index = SecondaryMap::new();
        for (at, &block) in order.iter().enumerate() {
            index.insert(block, at as u32);
        }
        let position = |number: u32| index[search.vertex[number as usize]];
        let mut idom = vec![0; count];
        for number in 0..count as u32 {
            idom[position(number) as usize] = position(idom_of_number[number as usize]);
        }
        let (interval, preorder) = intervals(&idom);
        Dominators { order, index, idom, interval, preorder }
    }

    /// The reachable blocks in reverse postorder: each before the blocks that it dominates.
    pub fn reverse_postorder(&self) -> &[Block] {
        &self.order
    }
    /// The reachable blocks in preorder of the tree: a block precedes all blocks that it dominates, without
    /// others in between.
    pub fn preorder(&self) -> impl Iterator<Item = Block> + '_ {
        self.preorder.iter().map(|&at| self.order[at as usize])
    }
    /// True if there is a path from the entry.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.index.contains_key(block)
    }
    /// The immediate dominator: of the other blocks that dominate this one, the closest, which all the others
    /// dominate. `None` for the entry and for unreachable blocks.
    pub fn idom(&self, block: Block) -> Option<Block> {
        let &at = self.index.get(block)?;
        let up = self.idom[at as usize];
        (up != at).then(|| self.order[up as usize])
    }
    /// True if every path from the entry to `b` passes `a`; a block dominates itself. All blocks dominate an
    /// unreachable one.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        match (self.index.get(a), self.index.get(b)) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(&a), Some(&b)) => {
                let ((start, end), at) = (self.interval[a as usize], self.interval[b as usize].0);
                start <= at && at < end
            }
        }
    }
    /// True if the definition of the value dominates `inst`: it is usable there. Constants dominate every
    /// linked instruction. In an unreachable block every linked definition dominates, even a later one of the
    /// same block. False if `inst`, or the instruction that defines the value, is not linked.
    pub fn value_dominates(&self, func: &Function, value: Value, inst: Inst) -> bool {
        let Some(at) = func.block_of(inst) else { return false };
        match func.def(value) {
            ValueDef::Const(_) => true,
            ValueDef::Param(block, _) => self.dominates(block, at),
            ValueDef::Result(def, _) => match func.block_of(def) {
                Some(block) if block == at => func.comes_before(def, inst) || !self.is_reachable(at),
                Some(block) => self.dominates(block, at),
                None => false,
            },
        }
    }
}

/// A depth-first search; vertices are numbered in the order of discovery.
struct Search {
    /// The block of each vertex.
    vertex: Vec<Block>,
    /// The parent of each vertex in the search tree; the root is its own.
    parent: Vec<u32>,
    /// The predecessors of each vertex in the graph.
    preds: Vec<SmallVec<[u32; 2]>>,
    /// The vertices in postorder.
    postorder: Vec<u32>,
}

impl Search {
    fn from_entry(func: &Function) -> Self {
        let mut search = Search { vertex: vec![], parent: vec![], preds: vec![], postorder: vec![] };
        let mut number: SecondaryMap<Block, u32> = SecondaryMap::new();
        let mut stack: Vec<(u32, usize)> = Vec::new();
        let discover = |search: &mut Search, number: &mut SecondaryMap<Block, u32>, block: Block, parent: u32| {
            let n = search.vertex.len() as u32;
            number.insert(block, n);
            search.vertex.push(block);
            search.parent.push(parent);
            search.preds.push(SmallVec::new());
            n
        };
        if let Some(entry) = func.entry() {
            stack.push((discover(&mut search, &mut number, entry, 0), 0));
        }
        while let Some((from, next)) = stack.last_mut() {
            let from = *from;
            let targets = func.terminator(search.vertex[from as usize]).map(|t| &func.inst(t).targets[..]);
            let target = targets.and_then(|list| list.get(*next)).map(|t| t.block);
            *next += 1;
            match target {
                None => {
                    search.postorder.push(from);
                    stack.pop();
                }
                Some(block) if !func.has_block(block) => {}
                Some(block) => {
                    let known = number.get(block).copied();
                    let n = known.unwrap_or_else(|| discover(&mut search, &mut number, block, from));
                    search.preds[n as usize].push(from);
                    if known.is_none() {
                        stack.push((n, 0));
                    }
                }
            }
        }
        search
    }

    /// The immediate dominator of each vertex. The names `w`, `v`, `u`, `semi` and `bucket` are those of the
    /// paper; `semi[w]` is the semidominator of `w` once `w` is processed, and `bucket[s]` has the processed
    /// vertices of semidominator `s` whose dominators are still to be found.
    fn immediate_dominators(&self) -> Vec<u32> {
        let count = self.vertex.len();
        let mut semi: Vec<u32> = (0..count as u32).collect();
        let mut idom = vec![0; count];
        let mut bucket: Vec<SmallVec<[u32; 1]>> = vec![SmallVec::new(); count];
        let mut forest = Forest { ancestor: vec![None; count], label: semi.clone(), path: Vec::new() };
        for w in (1..count as u32).rev() {
            // The semidominator of w: the least vertex with a path to w through vertices greater than w.
            for &v in &self.preds[w as usize] {
                let u = forest.eval(v, &semi);
                semi[w as usize] = semi[w as usize].min(semi[u as usize]);
            }
            bucket[semi[w as usize] as usize].push(w);
            // Link w to its parent in the forest.
            let parent = self.parent[w as usize];
            forest.ancestor[w as usize] = Some(parent);
            // The vertices whose semidominator is the parent: it dominates them, unless a vertex on the path
            // to them has a lesser semidominator. Then both have the same dominator, which is found below.
            for v in std::mem::take(&mut bucket[parent as usize]) {
                let u = forest.eval(v, &semi);
                idom[v as usize] = if semi[u as usize] < semi[v as usize] { u } else { parent };
            }
        }
        // In the order of discovery, the dominators that were put off are known.
        for w in 1..count {
            if idom[w] != semi[w] {
                idom[w] = idom[idom[w] as usize];
            }
        }
        idom
    }
}

/// The forest of Lengauer and Tarjan: the edges of the search tree to the vertices that are processed.
struct Forest {
    /// A vertex closer to the root of its tree in the forest; none for roots.
    ancestor: Vec<Option<u32>>,
    /// The vertex of least semidominator on the path from a vertex to its ancestor, without the latter.
    label: Vec<u32>,
    /// The vertices of the path that is compressed; empty between calls.
    path: Vec<u32>,
}

impl Forest {
    /// The vertex of least semidominator on the path from `v` to the root of its tree, without the root.
    /// Compresses the path: its vertices get the root as their ancestor, and labels for the whole path. So m
    /// calls take O(m log n) steps together.
    fn eval(&mut self, v: u32, semi: &[u32]) -> u32 {
        let mut at = v;
        while let Some(up) = self.ancestor[at as usize] {
            if self.ancestor[up as usize].is_none() {
                break;
            }
            self.path.push(at);
            at = up;
        }
        while let Some(at) = self.path.pop() {
            let Some(up) = self.ancestor[at as usize] else { continue };
            if semi[self.label[up as usize] as usize] < semi[self.label[at as usize] as usize] {
                self.label[at as usize] = self.label[up as usize];
            }
            self.ancestor[at as usize] = self.ancestor[up as usize];
        }
        self.label[v as usize]
    }
}

/// The intervals of subtrees in preorder, and the preorder.
fn intervals(idom: &[u32]) -> (Vec<(u32, u32)>, Vec<u32>) {
    let count = idom.len();
    let mut children: Vec<SmallVec<[u32; 2]>> = vec![SmallVec::new(); count];
    for at in (1..count).rev() {
        children[idom[at] as usize].push(at as u32);
    }
    let mut interval = vec![(0, 0); count];
    let mut preorder = Vec::with_capacity(count);
    let mut stack: Vec<u32> = Vec::new();
    if count > 0 {
        preorder.push(0);
        stack.push(0);
    }
    while let Some(&at) = stack.last() {
        if let Some(child) = children[at as usize].pop() {
            interval[child as usize].0 = preorder.len() as u32;
            preorder.push(child);
            stack.push(child);
        } else {
            interval[at as usize].1 = preorder.len() as u32;
            stack.pop();
        }
    }
    (interval, preorder)
}
