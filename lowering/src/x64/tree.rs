//! Reductions in tree order.
//!
//! A row is split into leaves, each of which is combined on as many groups as the order has lanes. Results
//! that wait for their right sibling are on a stack in the frame: parts, and above them the leaves of the
//! present part, each with a few lanes.

use super::ahead::{Ask, NEAR, unasked_beyond};
use super::allocate::{Mode, Writer};
use super::asm::{Label, Mem, Operand};
use super::binding::{Binding, Spot};
use super::codes;
use super::fold::{Folding, SHORT};
use super::machine::Class;
use super::row_loop::{LIMIT, REMAINING};
use super::rows::INDEX;
use super::select::Row;
use super::unsupported;
use crate::kernel::KernelError;
use crate::schedule::facts;
use iced_x86::{Code, Register};

/// The greatest size that is assumed for the last-level cache.
const MOST_OF_LAST_LEVEL: u64 = 1 << 30;
/// The points of a piece that contains any row.
const WHOLE: u64 = 1 << 62;
/// The prefetch distance in bytes.
const AHEAD: i64 = 2048;

/// The bytes from which rows are large; `None` on processors where none are. Processors with large rows
/// fetch from the last-level cache as fast as they add, but only forwards and by hardware prefetching, and
/// their second-level cache holds little of rows twice its size. On other processors it was measured to pay,
/// for rows of any length up to 240 MB, to read the row backwards, so that elements that the latest kernel
/// read last come first, and to prefetch it.
fn large() -> Option<usize> {
    unasked_beyond().map(|level2| 2 * level2)
}

/// How a row along an axis is split: leaves of `points` points, each on `lanes` lanes, which are `groups`
/// groups, and parts of `part` points.
#[derive(Clone, Copy)]
pub struct Leaves {
    pub axis: usize,
    pub groups: usize,
    pub lanes: usize,
    pub points: usize,
    /// The groups that are left of a leaf after its halves are combined; 1 if fewer lanes than a group stay
    /// apart.
    pub apart: usize,
    pub part: usize,
    /// From the last leaf on.
    pub backwards: bool,
}

/// The labels between the fast path of a leaf and [`leaf_aside`](Writer::leaf_aside).
#[derive(Clone, Copy)]
struct Aside {
    /// Entered if a leaf is not whole, or its elements are copied or prefetched.
    cut: Label,
    /// The rounds of the fast path, which other leaves share if rounds do not prefetch.
    rounds: Label,
    /// Entered if points remain, fewer than a round.
    few: Label,
    /// Resumed when all points of the leaf are combined.
    ended: Label,
}

/// The side of a sibling.
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

impl Writer<'_> {
    /// Reduces a row as a tree, from its end if the kernel asks for that: leaf by leaf, or piece by piece on
    /// processors that read slower backwards.
    pub fn row_as_tree(&mut self, fold: &Folding, leaves: Leaves) -> Result<(), KernelError> {
        if !leaves.backwards {
            return self.tree(fold, leaves);
        }
        let bytes = self.bytes_a_point();
        let large = large().filter(|_| bytes > 0 && fold.points.segment.insts.len() <= SHORT);
        let Some(large) = large else { return self.tree_backwards(fold, leaves) };
        let (long, done) = (self.asm.label(), self.asm.label());
        self.asm.load(Register::RAX, Mem::frame(self.places.extents[leaves.axis]));
        self.asm.ri(Code::Cmp_rm64_imm32, Register::RAX, (large / bytes) as i32);
        self.asm.jump(Code::Jae_rel32_64, long);
        self.tree_backwards(fold, leaves)?;
        self.asm.jump(Code::Jmp_rel32_64, done);
        self.asm.bind(long);
        self.tree_in_pieces(fold, Leaves { backwards: false, ..leaves }, (large, bytes))?;
        self.asm.bind(done);
        Ok(())
    }

    /// The bytes that are read and written for one point.
    fn bytes_a_point(&self) -> usize {
        self.rows.iter().filter(|row| row.moves).map(|row| row.size).sum()
    }

    /// Reduces the tree with its leaves in order.
    fn tree(&mut self, fold: &Folding, leaves: Leaves) -> Result<(), KernelError> {
        self.begin_tree(fold, leaves);
        self.asm.rr(Code::Xor_r32_rm32, Register::EBX, Register::EBX);
        self.asm.rr(Code::Xor_r32_rm32, Register::ECX, Register::ECX);
        let done = self.asm.label();
        let aside = self.piece(fold, leaves, None)?;
        self.asm.jump(Code::Jmp_rel32_64, done);
        self.leaf_aside(fold, leaves, aside)?;
        self.asm.bind(done);
        Ok(())
    }

    /// Reduces the same tree by pieces, the last piece first, and the leaves of each piece in order. The
    /// elements that the preceding kernel read last are still in a cache, and are read in the fast
    /// direction. A piece is a subtree; its complete parts wait for the piece on their left.
    ///
    /// A piece is half of a second-level cache. A row that exceeds the last-level cache by up to a half is
    /// one piece: with 32 MB of that cache, pieces took 3 to 13 % longer for rows of 35 to 46 MB, and a
    /// tenth less for 20, 56 and 80 MB.
    fn tree_in_pieces(
        &mut self,
        fold: &Folding,
        leaves: Leaves,
        (large, bytes): (usize, usize),
    ) -> Result<(), KernelError> {
        let (rax, rcx, rdx) = (Register::RAX, Register::RCX, Register::RDX);
        let (extent, piece) = (Mem::frame(self.places.extents[leaves.axis]), Mem::frame(fold.piece));
        let shared = facts().shared.min(MOST_OF_LAST_LEVEL) as usize;
        let (push, done) = (self.asm.label(), self.asm.label());
        self.begin_tree(fold, leaves);
        self.asm.load(INDEX, extent);
        self.asm.constant(rdx, 1 << (large / 4 / bytes).max(leaves.part).ilog2());
        self.asm.constant(rcx, WHOLE);
        self.asm.rm(Code::Lea_r64_m, rax, Mem::at(INDEX, -((shared / bytes) as i64)));
        self.asm.ri(Code::Cmp_rm64_imm32, rax, (shared / 2 / bytes) as i32);
        self.asm.rr(Code::Cmovb_r64_rm64, rdx, rcx);
        self.asm.store(piece, rdx);
        self.asm.r(Code::Dec_rm64, INDEX);
        self.asm.r(Code::Neg_rm64, rdx);
        self.asm.rr(Code::And_r64_rm64, INDEX, rdx);
        self.asm.rr(Code::Xor_r32_rm32, Register::ECX, Register::ECX);
        let again = self.asm.bound();
        self.asm.store(Mem::frame(fold.bottom), rcx);
        self.asm.store(Mem::frame(fold.begin), INDEX);
        self.asm.rr(Code::Mov_r64_rm64, rax, INDEX);
        self.asm.rm(Code::Add_r64_rm64, rax, piece);
        self.asm.rm(Code::Cmp_r64_rm64, rax, extent);
        self.asm.rm(Code::Cmovg_r64_rm64, rax, extent);
        self.asm.store(Mem::frame(fold.end), rax);
        let aside = self.piece(fold, leaves, Some(Mem::frame(fold.bottom)))?;
        self.asm.load(INDEX, Mem::frame(fold.begin));
        self.asm.load(rdx, piece);
        self.onto_right(fold, leaves, [push, done])?;
        self.asm.bind(push);
        self.wait(fold, 1);
        self.asm.rm(Code::Sub_r64_rm64, INDEX, piece);
        self.asm.jump(Code::Jmp_rel32_64, again);
        self.leaf_aside(fold, leaves, aside)?;
        self.asm.bind(done);
        Ok(())
    }

    /// Combines the leaves from the index to the end of the piece, in order, each with the results that wait
    /// for it: leaves of a part lane by lane, and then parts. RCX is the top of the stack, before and after.
    /// Entries below `bottom` wait for other pieces; `None` if the piece is the row.
    fn piece(&mut self, fold: &Folding, leaves: Leaves, bottom: Option<Mem>) -> Result<Aside, KernelError> {
        let (rax, rcx, rdx) = (Register::RAX, Register::RCX, Register::RDX);
        let end = Mem::frame(if bottom.is_some() { fold.end } else { self.places.extents[leaves.axis] });
        let (ends, whole, done) = (self.asm.label(), self.asm.label(), self.asm.label());
        let has_parts = leaves.points < leaves.part;
        let part = self.asm.bound();
        if has_parts {
            self.asm.store(Mem::frame(fold.base), rcx);
            self.asm.rm(Code::Lea_r64_m, rax, Mem::at(INDEX, leaves.part as i64));
            self.asm.rm(Code::Cmp_r64_rm64, rax, end);
            self.asm.rm(Code::Cmovg_r64_rm64, rax, end);
            self.asm.store(Mem::frame(fold.stop), rax);
        }
        let again = self.asm.bound();
        let aside = self.leaf(fold, leaves)?;
        self.asm.load(rcx, Mem::frame(fold.depth));
        if has_parts {
            self.asm.rm(Code::Cmp_r64_rm64, INDEX, Mem::frame(fold.stop));
            self.asm.jump(Code::Jge_rel32_64, ends);
            self.ending_here(fold, leaves.points, leaves.apart);
            self.onto_waiting(fold, leaves.apart)?;
            self.wait(fold, leaves.apart);
            self.asm.jump(Code::Jmp_rel32_64, again);
            self.asm.bind(ends);
            self.asm.load(rdx, Mem::frame(fold.base));
            self.onto_waiting(fold, leaves.apart)?;
        }
        self.join_lanes(fold, leaves.apart)?;
        match bottom {
            Some(bottom) => self.asm.load(rdx, bottom),
            None => self.asm.rr(Code::Xor_r32_rm32, Register::EDX, Register::EDX),
        }
        self.asm.rm(Code::Cmp_r64_rm64, INDEX, end);
        self.asm.jump(Code::Jge_rel32_64, whole);
        self.ending_here(fold, leaves.part, 1);
        self.asm.bind(whole);
        self.onto_waiting(fold, 1)?;
        self.asm.rm(Code::Cmp_r64_rm64, INDEX, end);
        self.asm.jump(Code::Jge_rel32_64, done);
        self.wait(fold, 1);
        self.asm.jump(Code::Jmp_rel32_64, part);
        self.asm.bind(done);
        Ok(aside)
    }

    /// Loads RDX with the position in the stack of the first entry that merges with the subtree that ends at
    /// the index. RCX is the top of the stack. The number of merging entries is the number of trailing zeros
    /// of the index in units of `points`.
    pub(super) fn ending_here(&mut self, fold: &Folding, points: usize, groups: usize) {
        let (rdx, entry) = (Register::RDX, fold.entry(groups));
        self.asm.rr(Code::Tzcnt_r64_rm64, rdx, INDEX);
        self.asm.rri(Code::Imul_r64_rm64_imm32, rdx, rdx, -(entry as i32));
        let zeros = i64::from(points.trailing_zeros());
        self.asm.rm(
            Code::Lea_r64_m,
            rdx,
            Mem { index: Some((rdx, 1)), ..Mem::at(Register::RCX, zeros * entry as i64) },
        );
    }

    /// Combines the entries of the stack from RDX to its top, RCX, with the present result, which is on
    /// their right.
    pub(super) fn onto_waiting(&mut self, fold: &Folding, groups: usize) -> Result<(), KernelError> {
        let (rcx, rdx, done) = (Register::RCX, Register::RDX, self.asm.label());
        self.asm.rr(Code::Cmp_r64_rm64, rcx, rdx);
        self.asm.jump(Code::Je_rel32_64, done);
        let next = self.asm.bound();
        self.with_waiting(fold, Side::Left, groups)?;
        self.asm.rr(Code::Cmp_r64_rm64, rcx, rdx);
        self.asm.jump(Code::Jne_rel32_64, next);
        self.asm.bind(done);
        Ok(())
    }

    /// Reduces the same tree from its last leaf on: results wait for their left siblings. A kernel that read
    /// the row before read the last leaves last, so that they are in the cache.
    fn tree_backwards(&mut self, fold: &Folding, leaves: Leaves) -> Result<(), KernelError> {
        let (rcx, rdx) = (Register::RCX, Register::RDX);
        let extent = Mem::frame(self.places.extents[leaves.axis]);
        let (points, part) = (leaves.points as i32, leaves.part as i32);
        let (apart, push, joined, done) = (self.asm.label(), self.asm.label(), self.asm.label(), self.asm.label());
        self.begin_tree(fold, leaves);
        self.asm.load(INDEX, extent);
        self.asm.r(Code::Dec_rm64, INDEX);
        self.asm.ri(Code::And_rm64_imm32, INDEX, -points);
        let again = self.asm.bound();
        let aside = self.leaf(fold, leaves)?;
        // Back to the beginning of the leaf; the last leaf may have ended early.
        self.asm.r(Code::Dec_rm64, INDEX);
        self.asm.ri(Code::And_rm64_imm32, INDEX, -points);
        self.asm.load(rcx, Mem::frame(fold.depth));
        // The points of the present result, if it is whole.
        self.asm.constant(rdx, leaves.points as u64);
        if points < part {
            let next = self.asm.bound();
            self.with_right(fold, leaves, apart, leaves.apart)?;
            self.asm.ri(Code::Cmp_rm64_imm32, rdx, part);
            self.asm.jump(Code::Je_rel32_64, joined);
            self.asm.rm(Code::Cmp_r64_rm64, rdx, extent);
            self.asm.jump(Code::Jb_rel32_64, next);
            self.asm.bind(joined);
        }
        self.join_lanes(fold, leaves.apart)?;
        self.onto_right(fold, leaves, [push, done])?;
        for (label, groups) in [(push, 1), (apart, leaves.apart)].into_iter().take(1 + usize::from(points < part)) {
            self.asm.bind(label);
            self.wait(fold, groups);
            self.asm.ri(Code::Sub_rm64_imm32, INDEX, points);
            self.asm.jump(Code::Jmp_rel32_64, again);
        }
        self.leaf_aside(fold, leaves, aside)?;
        self.asm.bind(done);
        Ok(())
    }

    /// Combines the result of RDX points that begins at the index with all its right siblings. Jumps to the
    /// first label when it has to wait for its left sibling, and to the second one when it is the whole row.
    fn onto_right(&mut self, fold: &Folding, leaves: Leaves, [waits, whole]: [Label; 2]) -> Result<(), KernelError> {
        let next = self.asm.bound();
        // Only the subtree at the beginning of the row has no left sibling.
        self.asm.rm(Code::Cmp_r64_rm64, Register::RDX, Mem::frame(self.places.extents[leaves.axis]));
        self.asm.jump(Code::Jae_rel32_64, whole);
        self.with_right(fold, leaves, waits, 1)?;
        self.asm.jump(Code::Jmp_rel32_64, next);
        Ok(())
    }

    /// Combines the result of RDX points that begins at the index with its right sibling, if there is one,
    /// and doubles RDX. Jumps to `waits` if it is a right sibling itself: the index has that bit set.
    fn with_right(&mut self, fold: &Folding, leaves: Leaves, waits: Label, groups: usize) -> Result<(), KernelError> {
        let (rax, rdx, alone) = (Register::RAX, Register::RDX, self.asm.label());
        self.asm.rr(Code::Test_rm64_r64, INDEX, rdx);
        self.asm.jump(Code::Jne_rel32_64, waits);
        self.asm.rm(Code::Lea_r64_m, rax, Mem { index: Some((rdx, 1)), ..Mem::at(INDEX, 0) });
        self.asm.rm(Code::Cmp_r64_rm64, rax, Mem::frame(self.places.extents[leaves.axis]));
        self.asm.jump(Code::Jae_rel32_64, alone);
        self.with_waiting(fold, Side::Right, groups)?;
        self.asm.bind(alone);
        self.asm.rr(Code::Add_r64_rm64, rdx, rdx);
        Ok(())
    }

    /// Initializes the state of a row's tree: an empty stack, the addresses of elements, and whether they
    /// are copied or prefetched.
    fn begin_tree(&mut self, fold: &Folding, leaves: Leaves) {
        let (rax, rcx, rdx) = (Register::RAX, Register::RCX, Register::RDX);
        self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(fold.depth), 0);
        for n in self.moving() {
            self.asm.load(rax, Mem::frame(self.places.pointers[n]));
            self.asm.store(Mem::frame(self.places.base_words[n]), rax);
        }
        self.load_bases();
        self.asm.rr(Code::Xor_r32_rm32, Register::EAX, Register::EAX);
        for n in self.moving() {
            self.asm.rm(Code::Or_r64_rm64, rax, Mem::frame(self.places.copied[n]));
        }
        self.asm.store(Mem::frame(fold.copies), rax);
        self.asm.load(rdx, Mem::frame(self.places.extents[leaves.axis]));
        if let Some(near) = self.asked(fold) {
            self.asm.rm(Code::Lea_r64_m, rcx, Mem::at(rdx, -i64::from(near)));
            self.asm.ri(Code::Cmp_rm64_imm32, rcx, i32::MAX - near);
            self.asm.rr(Code::Sbb_r64_rm64, rcx, rcx);
            self.asm.rr(Code::Or_r64_rm64, rax, rcx);
        }
        // No leaf counts as whole if elements are copied or prefetched.
        self.asm.ri(Code::Sub_rm64_imm32, rdx, leaves.lanes as i32);
        self.asm.r(Code::Neg_rm64, rax);
        self.asm.rr(Code::Sbb_r64_rm64, rax, rax);
        self.asm.rr(Code::Or_r64_rm64, rdx, rax);
        self.asm.store(Mem::frame(fold.whole), rdx);
    }

    /// The points of a row from which on its elements are prefetched; `None` if never. If there is a number,
    /// partial leaves and copied leaves are prefetched in rows of any length: they have no loop without
    /// prefetches. On Zen 4, no row gained: rows of 500 to 1,000 points in the last-level cache took up to a
    /// fifth longer, and those in memory up to twice as long.
    fn asked(&self, fold: &Folding) -> Option<i32> {
        let bytes = self.bytes_a_point() as i32;
        let asks = self.evex() && bytes > 0 && fold.points.segment.insts.len() <= SHORT;
        (asks && unasked_beyond().is_none()).then(|| NEAR / bytes)
    }

    /// Pushes the result of the first groups onto the stack, whose top is RCX.
    pub(super) fn wait(&mut self, fold: &Folding, groups: usize) {
        for group in 0..groups {
            self.each_waiting(fold, |w, spot, class, mem| w.get(spot, class, mem), (group, group));
        }
        self.asm.ri(Code::Add_rm64_imm32, Register::RCX, fold.entry(groups) as i32);
        self.asm.store(Mem::frame(fold.depth), Register::RCX);
    }

    /// Pops the entry at the top of the stack, RCX, and combines it, as the sibling on this side, with the
    /// result of the first groups. Combining preserves RCX and RDX.
    fn with_waiting(&mut self, fold: &Folding, side: Side, groups: usize) -> Result<(), KernelError> {
        self.asm.ri(Code::Sub_rm64_imm32, Register::RCX, fold.entry(groups) as i32);
        let waiting = fold.right();
        for group in 0..groups {
            self.each_waiting(fold, |w, spot, class, mem| w.put(spot, class, mem), (waiting, group));
            let both = match side {
                Side::Left => [waiting, group],
                Side::Right => [group, waiting],
            };
            self.bound_segment(&fold.combine, Mode::Uniform, &fold.binding(&both, group))?;
        }
        Ok(())
    }

    /// Moves the accumulators of a set to or from those of a group in the stack entry at RCX.
    fn each_waiting(
        &mut self,
        fold: &Folding,
        mut to: impl FnMut(&mut Self, Spot, Class, Mem),
        (set, group): (usize, usize),
    ) {
        let entry = fold.stack + fold.entry(group) as u32;
        for (n, accumulator) in fold.accumulators.iter().enumerate() {
            let at = Mem { index: Some((Register::RCX, 1)), ..Mem::frame(entry + 64 * n as u32) };
            to(self, fold.spots[set][n], accumulator.class, at);
        }
    }

    /// Copies the elements of a leaf, of rows that are not adjacent, and adjusts the bases to the index.
    /// Changes RAX, RCX and RDX, and the registers that copying changes.
    fn copy_leaf(&mut self, lanes: i32) {
        let (rax, [start, count]) = (Register::RAX, [self.places.start, self.places.count].map(Mem::frame));
        self.asm.store(start, INDEX);
        self.asm.rm(Code::Lea_r64_m, rax, Mem::at(LIMIT, i64::from(lanes)));
        self.asm.rr(Code::Sub_r64_rm64, rax, INDEX);
        self.asm.store(count, rax);
        self.bases();
        for n in self.moving() {
            self.asm.rr(Code::Mov_r64_rm64, rax, INDEX);
            self.asm.ri(Code::Shl_rm64_imm8, rax, self.rows[n].size.trailing_zeros() as i32);
            self.asm.mr(Code::Sub_rm64_r64, Mem::frame(self.places.base_words[n]), rax);
        }
        self.load_bases();
        self.asm.mi(Code::Mov_rm64_imm32, start, 0);
    }

    /// The rows whose elements differ from point to point, and from one reduced row to the next.
    fn read_once(&self) -> Vec<u32> {
        let is_single = !self.rows.iter().any(|row| row.crosses);
        let once = |(number, row): (u32, &Row)| (row.moves && (row.crosses || is_single)).then_some(number);
        (0..).zip(self.rows).filter_map(once).collect()
    }

    /// The rows whose elements differ from point to point.
    fn moving(&self) -> Vec<usize> {
        (0..self.rows.len()).filter(|&n| self.rows[n].moves).collect()
    }

    /// Combines the leaf from the index on, on its lanes. The index is that of the row; afterwards it is at
    /// the leaf's end, or for the last leaf less than a group beyond it.
    ///
    /// This is the fast path of whole leaves with adjacent elements, as straight-line code: the code between
    /// the rounds of two leaves is most of their overhead over a loop without leaves. The other cases are in
    /// [`leaf_aside`](Writer::leaf_aside).
    fn leaf(&mut self, fold: &Folding, leaves: Leaves) -> Result<Aside, KernelError> {
        let Leaves { groups, lanes, points, .. } = leaves;
        let [cut, rounds, few, ended] = std::array::from_fn(|_| self.asm.label());
        let aside = Aside { cut, rounds, few, ended };
        debug_assert!(
            ![&fold.combine, &fold.join].into_iter().chain(&fold.narrow).any(|of| of.segment.calls()),
            "combining calls nothing, see `select/fold.rs`: it would change addresses"
        );
        // The last index at which a round can begin.
        self.asm.rm(Code::Lea_r64_m, LIMIT, Mem::at(INDEX, points as i64 - lanes as i64));
        self.asm.rm(Code::Cmp_r64_rm64, LIMIT, Mem::frame(fold.whole));
        self.asm.jump(Code::Jg_rel32_64, cut);
        self.neutral(fold, 0..groups)?;
        self.asm.bind(rounds);
        self.leaf_rounds(fold, leaves, false)?;
        if self.asked(fold).is_none() {
            self.asm.rm(Code::Lea_r64_m, REMAINING, Mem::at(LIMIT, lanes as i64));
            self.asm.rr(Code::Cmp_r64_rm64, REMAINING, INDEX);
            self.asm.jump(Code::Jg_rel32_64, few);
        }
        self.asm.bind(ended);
        self.halves(fold, groups, leaves.apart)?;
        if let Some(narrow) = &fold.narrow {
            self.bound_segment(narrow, Mode::Uniform, &fold.binding(&[0], 0))?;
        }
        Ok(aside)
    }

    /// The slow path of a [leaf](Writer::leaf) that is not whole, or whose elements are copied or
    /// prefetched. It is entered by its labels only.
    fn leaf_aside(&mut self, fold: &Folding, leaves: Leaves, aside: Aside) -> Result<(), KernelError> {
        let (rax, lanes) = (Register::RAX, leaves.lanes as i32);
        let adjacent = self.asm.label();
        self.asm.bind(aside.cut);
        self.asm.load(rax, Mem::frame(self.places.extents[leaves.axis]));
        self.asm.ri(Code::Sub_rm64_imm32, rax, lanes);
        self.asm.rr(Code::Cmp_r64_rm64, LIMIT, rax);
        self.asm.rr(Code::Cmovg_r64_rm64, LIMIT, rax);
        self.asm.mi(Code::Cmp_rm64_imm8, Mem::frame(fold.copies), 0);
        self.asm.jump(Code::Je_rel32_64, adjacent);
        self.copy_leaf(lanes);
        self.asm.bind(adjacent);
        self.neutral(fold, 0..leaves.groups)?;
        self.asm.rr(Code::Cmp_r64_rm64, INDEX, LIMIT);
        match self.asked(fold) {
            Some(_) => {
                self.asm.jump(Code::Jg_rel32_64, aside.few);
                self.leaf_rounds(fold, leaves, true)?;
            }
            None => self.asm.jump(Code::Jle_rel32_64, aside.rounds),
        }
        self.asm.bind(aside.few);
        self.asm.ri(Code::Add_rm64_imm32, LIMIT, lanes);
        match self.evex() {
            true => self.last_masked(fold, leaves.groups, aside.ended)?,
            false => self.last_filled(fold, leaves.groups, aside.ended)?,
        }
        self.asm.jump(Code::Jmp_rel32_64, aside.ended);
        Ok(())
    }

    /// Combines the upper half of the groups with the lower half, until `left` groups are left.
    pub(super) fn halves(&mut self, fold: &Folding, mut groups: usize, left: usize) -> Result<(), KernelError> {
        while groups > left {
            groups /= 2;
            (0..groups).try_for_each(|set| self.combine(fold, set, set + groups))?;
        }
        Ok(())
    }

    /// Joins all lanes of the groups.
    fn join_lanes(&mut self, fold: &Folding, groups: usize) -> Result<(), KernelError> {
        self.halves(fold, groups, 1)?;
        self.bound_segment(&fold.join, Mode::Uniform, &fold.binding(&[0], 0))
    }

    /// Rounds of all lanes, while the index is not above the limit.
    fn leaf_rounds(&mut self, fold: &Folding, leaves: Leaves, prefetches: bool) -> Result<(), KernelError> {
        let round = self.asm.bound();
        self.multiple = None;
        self.round(fold, leaves.groups, |w, group| {
            for row in if prefetches { w.read_once() } else { Vec::new() } {
                // Backwards, it prefetches the same elements of the preceding leaf.
                let bytes =
                    if leaves.backwards { -((leaves.points * w.rows[row as usize].size) as i64) } else { AHEAD };
                w.ask(Ask { row, bytes, written: false }, group);
            }
        })?;
        self.asm.ri(Code::Add_rm64_imm32, INDEX, leaves.lanes as i32);
        self.asm.rr(Code::Cmp_r64_rm64, INDEX, LIMIT);
        self.asm.jump(Code::Jle_rel32_64, round);
        Ok(())
    }

    /// The number of remaining points of a leaf; jumps to `ended` if there are none.
    fn left_over(&mut self, ended: Label) {
        self.asm.rr(Code::Mov_r64_rm64, REMAINING, LIMIT);
        self.asm.rr(Code::Sub_r64_rm64, REMAINING, INDEX);
        self.asm.jump(Code::Jle_rel32_64, ended);
    }

    /// Combines the last points of a leaf, fewer than a round, each group under a mask.
    fn last_masked(&mut self, fold: &Folding, groups: usize, ended: Label) -> Result<(), KernelError> {
        for group in 0..groups {
            self.left_over(ended);
            self.one_group();
            let binding = Binding { merge: true, ..fold.binding(&[group], group) };
            self.bound_segment(&fold.points, Mode::Masked, &binding)?;
            self.asm.ri(Code::Add_rm64_imm32, INDEX, self.schedule.lanes as i32);
        }
        Ok(())
    }

    /// The same without masks: whole groups, and a last group that is filled with neutral elements.
    fn last_filled(&mut self, fold: &Folding, groups: usize, ended: Label) -> Result<(), KernelError> {
        let (lanes, rcx) = (self.schedule.lanes as i32, Register::RCX);
        let (turn, part) = (Mem::frame(fold.turn), self.asm.label());
        for group in 0..groups {
            self.left_over(ended);
            self.asm.mi(Code::Mov_rm64_imm32, turn, group as i32);
            self.asm.ri(Code::Cmp_rm64_imm32, REMAINING, lanes);
            self.asm.jump(Code::Jb_rel32_64, part);
            self.bound_segment(&fold.points, Mode::Group(0), &fold.binding(&[group], group))?;
            self.asm.ri(Code::Add_rm64_imm32, INDEX, lanes);
        }
        self.asm.jump(Code::Jmp_rel32_64, ended);
        self.asm.bind(part);
        self.one_group();
        self.bound_segment(&fold.items, Mode::Masked, &fold.items_in_frame())?;
        self.asm.load(rcx, Mem::frame(self.places.remaining));
        self.asm.rr(Code::Add_r64_rm64, INDEX, rcx);
        for (n, accumulator) in fold.accumulators.iter().enumerate() {
            let Class::Vector(width) = accumulator.class else { return Err(unsupported("a mask without masks")) };
            let (at, neutral) = (Mem::frame(fold.last[n]), self.scratch(width));
            self.load_origin(accumulator.neutral, accumulator.class, neutral)?;
            let beyond = Mem { index: Some((rcx, accumulator.size as u32)), ..at };
            let code = codes::MOV_PS_STORE.code(false, width);
            self.asm.vector(code, &[Operand::Mem(beyond), Operand::Reg(neutral)], None);
            self.put(fold.spots[fold.right()][n], accumulator.class, at);
        }
        for group in 0..groups {
            let other = self.asm.label();
            self.asm.mi(Code::Cmp_rm64_imm8, turn, group as i32);
            self.asm.jump(Code::Jne_rel32_64, other);
            self.combine(fold, group, fold.right())?;
            self.asm.jump(Code::Jmp_rel32_64, ended);
            self.asm.bind(other);
        }
        Ok(())
    }
}
