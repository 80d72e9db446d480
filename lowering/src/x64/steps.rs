//! Kernels with steps: rounds of groups of points of the vector axis. Each round runs all steps, with the
//! carried values of its groups in registers.
//!
//! The groups of a round share uniform values, such as elements of the left operand of a matrix product: each
//! is loaded once for all groups (unroll-and-jam). [`Stepping::new`] chooses the most groups that registers
//! have room for; two of the last groups are a round, too. The last points are computed under a mask. If
//! elements of some buffer are not adjacent along the vector axis, all points are computed under a mask, one
//! at a time.

use super::allocate::{Mode, Writer, register_of};
use super::asm::Mem;
use super::binding::{Binding, Spot};
use super::frame::Frame;
use super::machine::{Class, Origin};
use super::nest::stride_offset;
use super::prepared::Prepared;
use super::round_plan::RoundPlan;
use super::row_loop::{LIMIT, REMAINING};
use super::select::Row;
use super::select::fold::Accumulator;
use super::select::steps::StepSegments;
use crate::kernel::{KOp, Kernel, KernelError};
use iced_x86::{Code, Register};
use std::ops::Range;

/// The offset in bytes that rows with equal strides share ([`shifted`]).
pub const OFFSET: Register = Register::RCX;

/// The most groups of a round.
const MOST_GROUPS: usize = 4;

/// The mask registers for carried values; the others are for the masks of a step and of the last points.
const MASKS: usize = 3;

/// The code of steps, and the locations of carried values.
pub struct Stepping {
    before: Prepared,
    step: Prepared,
    /// One step of all groups of a round, for the most groups first, and for fewer ones.
    rounds: Vec<(usize, Prepared)>,
    end: Prepared,
    /// The classes of the carried values.
    classes: Vec<Class>,
    /// The locations of carried values before the steps, during them, and after them.
    locations: [Locations; 3],
    /// The frame offset of the number of remaining points.
    left: u32,
}

impl Stepping {
    /// Chooses the number of groups: the most for which all carried values and the values of a step are in
    /// registers.
    pub fn new(of: StepSegments, (schedule, registers): (RoundPlan, usize), frame: &mut Frame) -> Stepping {
        let StepSegments { carried, before, step, end } = of;
        let [before, mut step, end] = [before, step, end].map(Prepared::new);
        let is_mask = |carried: &&Accumulator| carried.class == Class::Mask;
        let masks = carried.iter().filter(is_mask).count();
        let vectors = carried.len() - masks;
        let most = MOST_GROUPS.min(schedule.most_groups());
        let fits = |round: &Prepared, groups: usize| {
            round.most_live_besides_outputs() + groups * vectors <= registers && groups * masks <= MASKS
        };
        let (mut groups, mut round) = (1, step.of_groups(1));
        for more in 2..=most {
            let larger = step.of_groups(more);
            if step.segment.clobbers() || !fits(&larger, more) {
                break;
            }
            (groups, round) = (more, larger);
        }
        let classes: Vec<Class> = carried.iter().map(|carried| carried.class).collect();
        // Values in the frame are loaded into registers for their uses.
        let loaded = if fits(&round, groups) { 0 } else { 2 };
        let live = if step.segment.clobbers() { registers } else { round.most_live_besides_outputs() + loaded };
        let during = Locations::new(&classes, groups, (registers, live), frame);
        let unpinned = registers - during.reserved[0].count_ones() as usize;
        // Two of the last groups are a round of their own.
        let mut rounds = vec![(groups, round)];
        rounds.extend((groups > 2).then(|| (2, step.of_groups(2))));
        step.pin(unpinned);
        rounds.iter_mut().for_each(|(_, round)| round.pin(unpinned));
        // Fewer values are in registers while a segment runs that needs more of them.
        let [first, last] = [&before, &end].map(|segment| {
            let live = if segment.segment.clobbers() { registers } else { segment.most_live[0] };
            during.with_room(&classes, (registers, live), frame)
        });
        let locations = [first, during, last];
        Stepping { before, step, rounds, end, classes, locations, left: frame.place(8) }
    }

    /// The most groups of a round.
    pub fn groups(&self) -> usize {
        self.rounds[0].0
    }

    /// The locations of some groups for the segment at a place: before the steps, during them, or after
    /// them.
    fn binding(&self, groups: Range<usize>, place: Place) -> Binding {
        let Locations { spots, reserved } = &self.locations[place as usize];
        let spots = |wanted: bool| if wanted { spots[groups.clone()].concat() } else { Vec::new() };
        let (inputs, outputs) = (spots(place != Place::Before), spots(place != Place::After));
        Binding { inputs, outputs, reserved: *reserved, merge: false }
    }

    /// The carried values of some groups whose locations differ before the steps, or after them, from those
    /// during the steps: class, register, and frame offset.
    fn moved(&self, groups: Range<usize>, place: Place) -> impl Iterator<Item = (Class, u8, u32)> {
        let [other, during] = [place, Place::During].map(|place| &self.locations[place as usize].spots);
        let pairs = groups.flat_map(|group| self.classes.iter().zip(other[group].iter().zip(&during[group])));
        pairs.filter_map(|(&class, spots)| match spots {
            (&Spot::Frame(at), &Spot::Register(register)) => Some((class, register, at)),
            _ => None,
        })
    }
}

/// Where carried values are located: before the steps, during them, or after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Before,
    During,
    After,
}

/// The locations of carried values.
#[derive(Clone)]
struct Locations {
    /// By group and value.
    spots: Vec<Vec<Spot>>,
    /// Their vector and mask registers.
    reserved: [u32; 2],
}

impl Locations {
    /// Locations of values of these classes, for each group: in registers, of which the segment needs `live`
    /// vector registers for other values; else in the frame. Registers are taken from the end; K7 is the mask
    /// of the last points.
    fn new(classes: &[Class], groups: usize, (registers, live): (usize, usize), frame: &mut Frame) -> Locations {
        let least = [live.min(registers), if live < registers { 7 - MASKS } else { 7 }];
        let (mut next, mut reserved) = ([registers, 7], [0; 2]);
        let mut spot = |class: &Class| {
            let file = usize::from(*class == Class::Mask);
            if next[file] <= least[file] {
                return Spot::Frame(frame.place(bytes(*class)));
            }
            next[file] -= 1;
            reserved[file] |= 1 << next[file];
            Spot::Register(next[file] as u8)
        };
        let spots = (0..groups).map(|_| classes.iter().map(&mut spot).collect()).collect();
        Locations { spots, reserved }
    }

    /// The same locations, with values of the last groups in the frame, so that a segment has `live` vector
    /// registers for other values.
    fn with_room(&self, classes: &[Class], (registers, live): (usize, usize), frame: &mut Frame) -> Locations {
        let Locations { mut spots, mut reserved } = self.clone();
        for group in spots.iter_mut().rev() {
            for (spot, class) in group.iter_mut().zip(classes).rev() {
                let file = usize::from(*class == Class::Mask);
                // A segment that needs all registers clobbers masks, too.
                let lacks = registers - (reserved[0].count_ones() as usize) < live;
                let is_moved = live >= registers || (lacks && file == 0);
                if let Spot::Register(register) = *spot
                    && is_moved
                {
                    reserved[file] &= !(1 << register);
                    *spot = Spot::Frame(frame.place(bytes(*class)));
                }
            }
        }
        Locations { spots, reserved }
    }
}

fn bytes(class: Class) -> usize {
    match class {
        Class::Vector(width) => width.bytes(),
        Class::Mask => 8,
    }
}

/// For each row, whether its address is a base plus the offset that rows with equal strides share.
pub fn shifted(kernel: &Kernel, rows: &[Row], calls: bool, evex: bool) -> Vec<bool> {
    let alike = |row: &Row| {
        let steps = kernel.steps.as_ref()?;
        kernel.buffers[row.buffer as usize].varies[kernel.axes - 1].then(|| steps.alike[row.buffer as usize])
    };
    // With AVX2, small elements are copied with a loop counter in this register.
    let has_register = !calls && (evex || rows.iter().all(|row| row.size >= 4));
    let count = |first: u32| rows.iter().filter(|row| alike(row) == Some(first)).count();
    let most = rows.iter().filter_map(alike).max_by_key(|&first| (count(first), std::cmp::Reverse(first)));
    let most = most.filter(|&first| has_register && count(first) > 1);
    rows.iter().map(|row| most.is_some() && alike(row) == most).collect()
}

impl Writer<'_> {
    /// Computes the points of the vector axis.
    pub fn vector_points(&mut self, kernel: &Kernel, of: &Stepping, axis: usize) -> Result<(), KernelError> {
        let (rax, rcx) = (Register::RAX, REMAINING);
        let (left, lanes) = (Mem::frame(of.left), self.schedule.lanes);
        let [again, part, masked, on, done] = std::array::from_fn(|_| self.asm.label());
        self.asm.load(rax, Mem::frame(self.places.extents[axis]));
        self.asm.store(left, rax);
        self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(self.places.start), 0);
        self.asm.bind(again);
        self.asm.load(rcx, left);
        self.asm.rr(Code::Test_rm64_r64, rcx, rcx);
        self.asm.jump(Code::Je_rel32_64, done);
        self.bases_of_points();
        self.asm.mi(Code::Cmp_rm64_imm8, Mem::frame(self.places.at_once), 0);
        self.asm.jump(Code::Jne_rel32_64, part);
        self.asm.constant(rcx, 1);
        self.asm.jump(Code::Jmp_rel32_64, masked);
        self.asm.bind(part);
        for (groups, round) in &of.rounds {
            let (points, few) = (groups * lanes, self.asm.label());
            self.asm.ri(Code::Cmp_rm64_imm32, rcx, points as i32);
            self.asm.jump(Code::Jb_rel32_64, few);
            for group in 0..*groups {
                self.bound_segment(&of.before, Mode::Group(group), &of.binding(group..group + 1, Place::Before))?;
            }
            self.all_steps(kernel, (of, round), (0..*groups, Mode::Group(0)))?;
            for group in 0..*groups {
                self.bound_segment(&of.end, Mode::Group(group), &of.binding(group..group + 1, Place::After))?;
            }
            self.asm.constant(rcx, points as u64);
            self.asm.jump(Code::Jmp_rel32_64, on);
            self.asm.bind(few);
        }
        self.asm.constant(rax, lanes as u64);
        self.asm.rr(Code::Cmp_r64_rm64, rcx, rax);
        self.asm.rr(Code::Cmova_r64_rm64, rcx, rax);
        self.asm.bind(masked);
        self.mask();
        self.bound_segment(&of.before, Mode::Masked, &of.binding(0..1, Place::Before))?;
        self.all_steps(kernel, (of, &of.step), (0..1, Mode::Masked))?;
        self.bound_segment(&of.end, Mode::Masked, &of.binding(0..1, Place::After))?;
        self.asm.load(rcx, Mem::frame(self.places.remaining));
        self.asm.bind(on);
        self.asm.mr(Code::Sub_rm64_r64, left, rcx);
        self.asm.mr(Code::Add_rm64_r64, Mem::frame(self.places.start), rcx);
        self.move_pointers(kernel, axis, Code::Add_rm64_r64);
        self.asm.jump(Code::Jmp_rel32_64, again);
        self.asm.bind(done);
        // Moves the pointers back to the first point.
        self.asm.load(rcx, Mem::frame(self.places.extents[axis]));
        self.move_pointers(kernel, axis, Code::Sub_rm64_r64);
        Ok(())
    }

    /// Loads the addresses of the elements of the first point of a round.
    fn bases_of_points(&mut self) {
        for n in 0..self.rows.len() {
            let base = self.places.bases[n].unwrap_or(Register::RAX);
            self.asm.load(base, Mem::frame(self.places.pointers[n]));
            self.asm.store(Mem::frame(self.places.base_words[n]), base);
        }
    }

    /// Moves the pointers of rows along an axis by RCX points. Changes RAX and RDX.
    fn move_pointers(&mut self, kernel: &Kernel, axis: usize, by: Code) {
        let (rax, rcx, rdx) = (Register::RAX, Register::RCX, Register::RDX);
        self.asm.load(rdx, Mem::frame(self.places.strides));
        for (n, row) in self.rows.iter().enumerate() {
            if kernel.buffers[row.buffer as usize].varies[axis] {
                self.asm.load(rax, Mem::at(rdx, stride_offset(kernel, row.buffer, axis)));
                self.asm.rr(Code::Imul_r64_rm64, rax, rcx);
                self.asm.mr(by, Mem::frame(self.places.pointers[n]), rax);
            }
        }
    }

    /// Runs all steps of some groups, of which this is one step: those of a round, or one group under the
    /// mask of the last points.
    fn all_steps(
        &mut self,
        kernel: &Kernel,
        (of, step): (&Stepping, &Prepared),
        (groups, mode): (Range<usize>, Mode),
    ) -> Result<(), KernelError> {
        for (class, register, at) in of.moved(groups.clone(), Place::Before) {
            self.load_origin(Origin::Home(at), class, register_of(class, register))?;
        }
        let binding = of.binding(groups.clone(), Place::During);
        self.steps_of(kernel, step, mode, &binding)?;
        for (class, register, at) in of.moved(groups, Place::After) {
            self.keep(at, class, register_of(class, register));
        }
        Ok(())
    }

    /// Runs the steps of a round. On entry, `base_words` are those of the first step.
    fn steps_of(&mut self, kernel: &Kernel, step: &Prepared, mode: Mode, binding: &Binding) -> Result<(), KernelError> {
        let rax = Register::RAX;
        let axis = kernel.axes - 1;
        let (again, done) = (self.asm.label(), self.asm.label());
        let counts = kernel.insts.iter().any(|inst| inst.op == KOp::Index(axis as u32));
        let counter = Mem::frame(self.places.counters[axis]);
        self.asm.load(LIMIT, Mem::frame(self.places.extents[axis]));
        self.asm.rr(Code::Test_rm64_r64, LIMIT, LIMIT);
        self.asm.jump(Code::Je_rel32_64, done);
        if counts {
            self.asm.mi(Code::Mov_rm64_imm32, counter, 0);
        }
        self.load_pins(step)?;
        self.asm.rr(Code::Xor_r32_rm32, Register::ECX, Register::ECX);
        self.asm.bind(again);
        self.at_bases = true;
        self.bound_segment(step, mode, binding)?;
        self.at_bases = false;
        let varies = |row: &Row| kernel.buffers[row.buffer as usize].varies[axis];
        self.asm.load(rax, Mem::frame(self.places.strides));
        if let Some(n) = self.places.shifted.iter().position(|&shifted| shifted) {
            self.asm.rm(Code::Add_r64_rm64, OFFSET, Mem::at(rax, stride_offset(kernel, self.rows[n].buffer, axis)));
        }
        for (n, row) in self.rows.iter().enumerate().filter(|(n, row)| varies(row) && !self.places.shifted[*n]) {
            let stride = Mem::at(rax, stride_offset(kernel, row.buffer, axis));
            match self.places.bases[n] {
                Some(base) => self.asm.rm(Code::Add_r64_rm64, base, stride),
                None => {
                    self.asm.load(Register::RDX, stride);
                    self.asm.mr(Code::Add_rm64_r64, Mem::frame(self.places.base_words[n]), Register::RDX);
                }
            }
        }
        if counts {
            self.asm.load(rax, counter);
            self.asm.r(Code::Inc_rm64, rax);
            self.asm.store(counter, rax);
        }
        self.asm.r(Code::Dec_rm64, LIMIT);
        self.asm.jump(Code::Jne_rel32_64, again);
        self.asm.bind(done);
        Ok(())
    }
}
