//! Reductions: rows whose points are combined.
//!
//! The loop keeps accumulators in registers, one set for each group of a round, and interleaves the groups
//! ([`together`](super::together)). The last points are combined under a mask. This is all for reductions in
//! any order. `tree.rs` splits rows into leaves, for the tree orders of [`Order`].

use super::allocate::{Mode, Writer, at_width};
use super::asm::{Mem, Operand};
use super::batch::Batch;
use super::binding::{Binding, Spot};
use super::frame::Frame;
use super::lanes::{packing, packing_of_any};
use super::machine::{Class, Origin, Width};
use super::prepared::Prepared;
use super::round_plan::RoundPlan;
use super::row_loop::{LIMIT, REMAINING};
use super::rows::{INDEX, broadcast_form};
use super::select::Row;
use super::select::fold::{Accumulator, FoldSegments};
use super::tree::Leaves;
use crate::kernel::{Fold, Kernel, KernelError};
use iced_x86::{Code, Register};
use rewright_ir::expr::Order;
use std::ops::Range;

/// The greatest depth of a tree of parts.
const DEPTH: usize = 64;
/// The most registers for accumulators that are masks.
const MOST_MASKS: usize = 3;
/// Groups of up to this many instructions need only a third of the registers for themselves.
pub const SHORT: usize = 12;

/// The code of a reduction, and the locations of its accumulators.
pub struct Folding {
    pub accumulators: Vec<Accumulator>,
    pub points: Prepared,
    pub items: Prepared,
    pub combine: Prepared,
    pub narrow: Option<Prepared>,
    pub join: Prepared,
    pub after: Prepared,
    order: RowOrder,
    /// Whether trees are combined from the end.
    pub backwards: bool,
    /// How several rows are computed at once, if that is possible.
    pub batch: Option<Batch>,
    /// Whether all accumulators are in registers.
    pub in_registers: bool,
    /// The sets of accumulators: one for each group, and a last one for right operands.
    pub spots: Vec<Vec<Spot>>,
    /// Vector and mask registers of accumulators and pinned values, one bit each.
    reserved: [u32; 2],
    /// The frame offsets of the items of a group.
    pub last: Vec<u32>,
    pub stack: u32,
    /// The used bytes of the stack of waiting results, and the number of the next item or group.
    pub depth: u32,
    pub turn: u32,
    /// The used bytes of the stack at the beginning of the part, and of the piece.
    pub base: u32,
    pub bottom: u32,
    /// The points of a piece, its beginning and end, and the end of the present part.
    pub piece: u32,
    pub begin: u32,
    pub end: u32,
    pub stop: u32,
    /// Nonzero if elements of a row are copied.
    pub copies: u32,
    /// The last index at which a round may begin, for rows that are neither copied nor prefetched. For other
    /// rows it is -1, so that no leaf takes the fast path.
    pub whole: u32,
}

/// The order in which a row is combined.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RowOrder {
    /// Any order, with this many groups of lanes.
    Any(usize),
    /// A tree, with `groups` groups of lanes.
    Tree { groups: usize, lanes: usize, leaf: usize, apart: usize, part: usize },
    /// One point after the other.
    Sequence,
}

impl Folding {
    /// Chooses the locations of accumulators. `registers` is the number of vector registers for values.
    pub fn new(
        (kernel, fold): (&Kernel, &Fold),
        of: FoldSegments,
        (rows, schedule, registers): (&[Row], RoundPlan, usize),
        frame: &mut Frame,
    ) -> Folding {
        let order = match fold.order {
            _ if fold.any_order => RowOrder::Any(schedule.groups),
            Order::Tree { lanes, leaf, apart, part, .. } => RowOrder::Tree {
                groups: lanes / schedule.lanes,
                lanes,
                leaf,
                apart: (apart / schedule.lanes).max(1),
                part,
            },
            Order::Sequential => RowOrder::Sequence,
        };
        let sets = 1 + match order {
            // Without masks, the last points have a separate set of accumulators.
            RowOrder::Any(groups) => groups + usize::from(!schedule.level.is_evex()),
            RowOrder::Tree { groups, .. } => groups,
            RowOrder::Sequence => 1,
        };
        let FoldSegments { accumulators, points, items, combine, narrow, join, after, several } = of;
        let masks = accumulators.iter().filter(|accumulator| accumulator.class == Class::Mask).count();
        let vectors = accumulators.len() - masks;
        let fits = |count: usize, most: usize| !points.clobbers() && sets * count <= most;
        // The computation of points needs registers as well.
        let most = if points.insts.len() <= SHORT { registers * 2 / 3 } else { registers * 2 / 5 };
        let in_registers = [fits(vectors, most), fits(masks, MOST_MASKS)];
        // Registers are taken from the end; K7 is the mask of a row's last points.
        let mut next = [registers as u8, 7];
        let mut reserved = [0; 2];
        let mut spot = |accumulator: &Accumulator| {
            let (file, bytes) = match accumulator.class {
                Class::Vector(width) => (0, width.bytes()),
                Class::Mask => (1, 8),
            };
            if !in_registers[file] {
                return Spot::Frame(frame.place(bytes));
            }
            next[file] -= 1;
            reserved[file] |= 1 << next[file];
            Spot::Register(next[file])
        };
        let spots = (0..sets).map(|_| accumulators.iter().map(&mut spot).collect()).collect();
        let batch = several.map(|several| {
            let mut batch = Batch::new((several, rows), &items, next[0] as usize, reserved, frame);
            batch.packing = match batch.beside {
                // Rows that can be joined across are faster without packing.
                Some(_) if batch.is_joined() => None,
                Some(_) => Some(packing_of_any(accumulators.len(), schedule.lanes)),
                None => packing(kernel, rows, &items, (schedule.lanes, sets)),
            };
            batch
        });
        let [mut points, mut items, combine, join, after] = [points, items, combine, join, after].map(Prepared::new);
        let looped = match order {
            RowOrder::Sequence => {
                items.pin(next[0] as usize);
                &items
            }
            RowOrder::Any(groups) | RowOrder::Tree { groups, .. } => {
                // K0 can't be a write mask.
                points.pin_for(groups, [next[0] as usize, next[1] as usize - 1]);
                &points
            }
        };
        reserved[0] |= looped.pinned();
        // Entries of the stack: parts, and leaves of the present part.
        let waiting = match order {
            RowOrder::Tree { leaf, apart, part, .. } => DEPTH + apart * (part / leaf).ilog2() as usize,
            RowOrder::Any(_) | RowOrder::Sequence => 0,
        };
        Folding {
            last: accumulators.iter().map(|_| frame.place(64)).collect(),
            stack: frame.place(64 * accumulators.len() * waiting),
            depth: frame.place(8),
            turn: frame.place(8),
            base: frame.place(8),
            bottom: frame.place(8),
            piece: frame.place(8),
            begin: frame.place(8),
            end: frame.place(8),
            stop: frame.place(8),
            copies: frame.place(8),
            whole: frame.place(8),
            reserved,
            accumulators,
            points,
            items,
            combine,
            narrow: narrow.map(Prepared::new),
            join,
            after,
            order,
            backwards: kernel.wishes.backwards,
            batch,
            in_registers: in_registers == [true, true],
            spots,
        }
    }

    /// The most points of a leaf; 0 without leaves.
    pub fn leaf_points(fold: &Fold) -> usize {
        match fold.order {
            Order::Tree { leaf, .. } if !fold.any_order => leaf,
            _ => 0,
        }
    }

    /// The bytes of a stack entry of `groups` groups.
    pub fn entry(&self, groups: usize) -> usize {
        64 * self.accumulators.len() * groups
    }

    pub fn binding(&self, inputs: &[usize], output: usize) -> Binding {
        Binding {
            inputs: inputs.iter().flat_map(|&set| &self.spots[set]).copied().collect(),
            outputs: self.spots[output].clone(),
            reserved: self.reserved,
            merge: false,
        }
    }

    /// The binding for interleaved groups, each with its own accumulators.
    fn binding_of(&self, groups: Range<usize>) -> Binding {
        let own = self.spots[groups].concat();
        Binding { inputs: own.clone(), outputs: own, reserved: self.reserved, merge: false }
    }

    /// The binding for items that are stored to the frame.
    pub fn items_in_frame(&self) -> Binding {
        Binding {
            outputs: self.last.iter().map(|&at| Spot::Frame(at)).collect(),
            reserved: self.reserved,
            ..Binding::default()
        }
    }

    /// The number of groups, if they can be combined in pairs.
    pub fn paired_groups(&self) -> Option<usize> {
        match self.order {
            RowOrder::Any(groups) | RowOrder::Tree { groups, .. } => {
                Some(groups).filter(|groups| groups.is_power_of_two())
            }
            RowOrder::Sequence => None,
        }
    }
    /// The points of a leaf, if rows have leaves.
    pub fn leaf(&self) -> Option<usize> {
        match self.order {
            RowOrder::Tree { leaf, .. } => Some(leaf),
            RowOrder::Any(_) | RowOrder::Sequence => None,
        }
    }
    /// The most points of a row that are combined lane by lane, onto one vector; `None` for rows of any
    /// length.
    pub fn most_of_vector(&self) -> Option<usize> {
        match self.order {
            RowOrder::Tree { apart: 1, part, .. } if self.narrow.is_none() => Some(part),
            RowOrder::Tree { leaf, .. } => Some(leaf),
            RowOrder::Any(_) | RowOrder::Sequence => None,
        }
    }
    /// The locations of a group's accumulators.
    pub fn spots_of(&self, group: usize) -> &[Spot] {
        &self.spots[group]
    }

    /// The last set of accumulators, for right operands.
    pub fn right(&self) -> usize {
        self.spots.len() - 1
    }
}

impl Writer<'_> {
    /// Reduces a row, and runs its epilogue.
    pub fn fold_row(&mut self, fold: &Folding, axis: usize) -> Result<(), KernelError> {
        let looped = if fold.order == RowOrder::Sequence { &fold.items } else { &fold.points };
        self.load_pins(looped)?;
        match fold.order {
            RowOrder::Any(groups) => {
                self.neutral(fold, 0..fold.right())?;
                self.pieces(Some(axis), |w| w.points_of_any(fold, groups))?;
                let mut apart = 1;
                while apart < groups {
                    for set in (0..groups - apart).step_by(2 * apart) {
                        self.combine(fold, set, set + apart)?;
                    }
                    apart *= 2;
                }
                self.bound_segment(&fold.join, Mode::Uniform, &fold.binding(&[0], 0))?;
                if groups < fold.right() {
                    self.combine(fold, 0, groups)?;
                }
            }
            RowOrder::Tree { groups, lanes, leaf, apart, part } => {
                let leaves = Leaves { axis, groups, lanes, points: leaf, apart, part, backwards: fold.backwards };
                self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(self.places.start), 0);
                self.row_as_tree(fold, leaves)?;
            }
            RowOrder::Sequence => {
                self.neutral(fold, 0..1)?;
                self.pieces(Some(axis), |w| {
                    w.begin_points();
                    w.one_by_one(fold, 0)
                })?;
            }
        }
        for (n, accumulator) in fold.accumulators.iter().enumerate() {
            self.total(fold.spots[0][n], accumulator);
        }
        self.segment(&fold.after, Mode::Uniform)
    }

    /// Broadcasts the total of a row to all lanes.
    fn total(&mut self, spot: Spot, accumulator: &Accumulator) {
        let (rax, home) = (Register::RAX, Mem::frame(accumulator.total));
        match (accumulator.class, spot) {
            (Class::Vector(width), spot) => {
                let from = match spot {
                    Spot::Register(_) => Operand::Reg(at_width(self.in_register(spot, width), Width::X)),
                    Spot::Frame(at) => Operand::Mem(Mem::frame(at)),
                };
                let all = self.scratch(width);
                let code = broadcast_form(accumulator.size).code(self.evex(), width);
                self.asm.vector(code, &[Operand::Reg(all), from], None);
                self.keep(accumulator.total, accumulator.class, all);
            }
            (Class::Mask, spot) => {
                self.get(spot, accumulator.class, home);
                self.asm.load(rax, home);
                self.asm.ri(Code::And_rm64_imm8, rax, 1);
                self.asm.r(Code::Neg_rm64, rax);
                self.asm.store(home, rax);
            }
        }
    }

    /// Initializes these sets of accumulators with neutral elements.
    pub(super) fn neutral(&mut self, fold: &Folding, sets: Range<usize>) -> Result<(), KernelError> {
        for (n, accumulator) in fold.accumulators.iter().enumerate() {
            let mut known = None;
            for spot in sets.clone().map(|set| fold.spots[set][n]) {
                match (accumulator.class, accumulator.neutral) {
                    (Class::Vector(width), neutral) => {
                        let to = self.in_register(spot, width);
                        match known {
                            Some(from) if from == to => {}
                            Some(from) => self.copy_register(width, to, from),
                            None => {
                                self.load_origin(neutral, accumulator.class, to)?;
                                known = Some(to);
                            }
                        }
                        self.leave(spot, accumulator.class, to);
                    }
                    (Class::Mask, Origin::Pool { offset, .. }) => {
                        self.put(spot, accumulator.class, Mem::at(Register::RIP, i64::from(offset)));
                    }
                    (Class::Mask, _) => {}
                }
            }
        }
        Ok(())
    }

    /// Combines set `left` of accumulators with set `right`, onto `left`.
    pub(super) fn combine(&mut self, fold: &Folding, left: usize, right: usize) -> Result<(), KernelError> {
        self.bound_segment(&fold.combine, Mode::Uniform, &fold.binding(&[left, right], left))
    }

    /// Begins the points of a piece: index 0, and LIMIT points.
    pub(super) fn begin_points(&mut self) {
        self.asm.rr(Code::Xor_r32_rm32, Register::EBX, Register::EBX);
        self.asm.load(LIMIT, Mem::frame(self.places.count));
    }

    /// Writes the groups of a round, each with its own accumulators, some of them interleaved. `before` runs
    /// before each group.
    pub(super) fn round(
        &mut self,
        fold: &Folding,
        groups: usize,
        before: impl Fn(&mut Self, usize),
    ) -> Result<(), KernelError> {
        let points = fold.points.together.as_deref().unwrap_or(&fold.points);
        for first in (0..groups).step_by(points.groups) {
            let together = first..first + points.groups;
            together.clone().for_each(|group| before(self, group));
            self.bound_segment(points, Mode::Group(first), &fold.binding_of(together))?;
        }
        Ok(())
    }

    /// Rounds of whole groups, each with its own accumulators, and then masked groups onto the first set.
    fn points_of_any(&mut self, fold: &Folding, groups: usize) -> Result<(), KernelError> {
        let points = self.schedule.points() as i32;
        let (rest, done) = (self.asm.label(), self.asm.label());
        self.begin_points();
        self.asm.jump(Code::Jmp_rel32_64, rest);
        let rounds = self.asm.bound();
        self.asm.ri(Code::Sub_rm64_imm32, LIMIT, points);
        let round = self.asm.bound();
        self.round(fold, groups, |_, _| {})?;
        self.asm.ri(Code::Add_rm64_imm32, INDEX, points);
        self.asm.rr(Code::Cmp_r64_rm64, INDEX, LIMIT);
        self.asm.jump(Code::Jbe_rel32_64, round);
        self.asm.ri(Code::Add_rm64_imm32, LIMIT, points);
        self.asm.bind(rest);
        self.remaining(done, rounds);
        if !self.evex() {
            self.one_by_one(fold, groups)?;
            self.asm.jump(Code::Jmp_rel32_64, done);
        } else {
            self.one_group();
            let binding = Binding { merge: true, ..fold.binding(&[0], 0) };
            self.bound_segment(&fold.points, Mode::Masked, &binding)?;
            self.asm.rm(Code::Add_r64_rm64, INDEX, Mem::frame(self.places.remaining));
            self.asm.jump(Code::Jmp_rel32_64, rest);
        }
        self.asm.bind(done);
        Ok(())
    }

    /// Combines the points from INDEX to LIMIT one after the other, a group at a time, onto a set of
    /// accumulators.
    fn one_by_one(&mut self, fold: &Folding, onto: usize) -> Result<(), KernelError> {
        let (rax, rcx) = (Register::RAX, Register::RCX);
        let (rest, masked, next, done) = (self.asm.label(), self.asm.label(), self.asm.label(), self.asm.label());
        let binding = fold.items_in_frame();
        let lanes = self.schedule.lanes as i32;
        self.asm.bind(rest);
        self.asm.rr(Code::Mov_r64_rm64, REMAINING, LIMIT);
        self.asm.rr(Code::Sub_r64_rm64, REMAINING, INDEX);
        self.asm.jump(Code::Je_rel32_64, done);
        if fold.order == RowOrder::Sequence {
            self.asm.ri(Code::Cmp_rm64_imm32, REMAINING, lanes);
            self.asm.jump(Code::Jb_rel32_64, masked);
            self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(self.places.remaining), lanes);
            self.bound_segment(&fold.items, Mode::Group(0), &binding)?;
            self.asm.jump(Code::Jmp_rel32_64, next);
            self.asm.bind(masked);
        }
        self.one_group();
        self.bound_segment(&fold.items, Mode::Masked, &binding)?;
        self.asm.bind(next);
        self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(fold.turn), 0);
        let again = self.asm.bound();
        self.asm.load(rcx, Mem::frame(fold.turn));
        for (n, accumulator) in fold.accumulators.iter().enumerate() {
            let (spot, items) = (fold.spots[fold.right()][n], Mem::frame(fold.last[n]));
            match (accumulator.class, spot) {
                (Class::Vector(width), spot) => {
                    let to = self.in_register(spot, width);
                    let element = Mem { index: Some((rcx, accumulator.size as u32)), ..items };
                    let code = broadcast_form(accumulator.size).code(self.evex(), width);
                    self.asm.vector(code, &[Operand::Reg(to), Operand::Mem(element)], None);
                    self.leave(spot, accumulator.class, to);
                }
                (Class::Mask, spot) => {
                    let shifted = Mem::frame(self.places.small);
                    self.asm.load(rax, items);
                    self.asm.rr(Code::Shr_rm64_CL, rax, Register::CL);
                    self.asm.store(shifted, rax);
                    self.put(spot, accumulator.class, shifted);
                }
            }
        }
        self.combine(fold, onto, fold.right())?;
        self.asm.load(rax, Mem::frame(fold.turn));
        self.asm.r(Code::Inc_rm64, rax);
        self.asm.store(Mem::frame(fold.turn), rax);
        self.asm.rm(Code::Cmp_r64_rm64, rax, Mem::frame(self.places.remaining));
        self.asm.jump(Code::Jb_rel32_64, again);
        self.asm.rm(Code::Add_r64_rm64, INDEX, Mem::frame(self.places.remaining));
        self.asm.jump(Code::Jmp_rel32_64, rest);
        self.asm.bind(done);
        Ok(())
    }
}
