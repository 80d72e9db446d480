//! Register allocation and code emission of a segment in one pass. If all registers are taken, the value
//! with the furthest next use is evicted (Belady 1966). Next uses are known exactly, because segments are
//! straight-line code. Values with a copy in memory are not spilled but reloaded, or used as memory operands
//! where an instruction takes one.

use super::asm::{Asm, Mem, Operand};
use super::binding::{Binding, Spot};
use super::call::Cold;
use super::codes;
use super::copies::Copies;
use super::frame::Frame;
use super::machine::{Class, Inst, Op, Origin, Over, V, Width};
use super::masks::Masks;
use super::nest::Places;
use super::prepared::{NEVER, Prepared};
use super::round_plan::RoundPlan;
use super::rows::TAIL;
use super::select::Row;
use super::unsupported;
use crate::kernel::KernelError;
use iced_x86::Register;

/// How a segment is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Once, with all lanes equal.
    Uniform,
    /// For the n-th group of a round.
    Group(usize),
    /// For the last points of a row, fewer than lanes, under a mask.
    Masked,
    /// For the n-th group of the last points of a row, each group under a mask of its own
    /// ([`tail`](super::rows::tail)).
    Tail(usize),
    /// Once for several rows, one in each lane; stores are masked to the rows that exist.
    Rows,
    /// For the n-th point of several rows, one row in each lane.
    Lanes(usize),
}

const NOWHERE: u8 = u8::MAX;

/// The code writer of a kernel.
pub struct Writer<'a> {
    pub asm: Asm,
    pub frame: Frame,
    pub places: Places,
    pub rows: &'a [Row],
    pub schedule: RoundPlan,
    /// True while the rounds with streaming stores are written.
    pub streaming: bool,
    /// True while steps are written: elements that are equal in all lanes are at the rows' base addresses.
    pub at_bases: bool,
    /// The number of the masked group, where the index is that of the round's first group.
    pub masked_group: usize,
    /// Registers that hold a row's elements: the row and the vector, the group, and the register.
    pub held: Vec<((u32, usize), usize, u8)>,
    /// The masks of the last points.
    pub masks: Masks,
    /// The multiple of the index that is in a register, if any.
    pub multiple: Option<usize>,
    /// The address at which the code of each instruction of the kernel begins.
    pub marks: Vec<(u64, u32)>,
    /// Rarely executed calls, which are written after the function.
    pub cold: Cold,
    /// The routines that copy rows, which are written after the function as well.
    pub copies: Copies,
}

/// The register file while a segment is written.
pub struct File<'p> {
    of: &'p Prepared,
    pub mode: Mode,
    pub binding: &'p Binding,
    pub vectors: [Option<V>; 32],
    pub masks: [Option<V>; 8],
    register: Vec<u8>,
    slot: Vec<Option<u32>>,
    /// The number of uses of each value so far.
    done: Vec<u32>,
    /// Free spill slots for vectors and for masks, and those that become free after the present instruction.
    free: [Vec<u32>; 2],
    freed: [Vec<u32>; 2],
    /// Vector and mask registers that must not change, one bit each.
    pub pinned: [u32; 2],
}

impl File<'_> {
    fn next_use(&self, v: V) -> u32 {
        self.of.next_use(v, self.done[v.0 as usize])
    }
    /// The location of a value other than its register.
    pub fn origin(&self, v: V) -> Origin {
        match (self.slot[v.0 as usize], self.of.segment.info(v).origin) {
            (Some(slot), _) => Origin::Home(slot),
            (None, Origin::Input(number)) => match self.binding.inputs.get(number as usize) {
                Some(&Spot::Frame(at)) => Origin::Home(at),
                _ => Origin::Computed,
            },
            (None, origin) => origin,
        }
    }
    /// The memory operand for a value that is in memory and not in a register. `broadcast` is the size of
    /// the element that the instruction can broadcast.
    pub fn memory_operand(&self, v: V, width: Width, broadcast: u8) -> Option<Mem> {
        if self.held(v).is_some() || self.class(v) != Class::Vector(width) {
            return None;
        }
        match self.origin(v) {
            Origin::Home(at) => Some(Mem::frame(at)),
            Origin::Pool { offset, element: 0 } => Some(Mem::at(Register::RIP, i64::from(offset))),
            Origin::Pool { offset, element } if element == broadcast => {
                Some(Mem { repeated: true, ..Mem::at(Register::RIP, i64::from(offset)) })
            }
            _ => None,
        }
    }
    /// The register of the output that the value becomes, if no other value still needs that register.
    pub fn target(&self, v: V) -> Option<u8> {
        let number = self.of.target(v)?;
        let Some(&Spot::Register(register)) = self.binding.outputs.get(number as usize) else { return None };
        let held = if self.is_mask(v) { self.masks[register as usize] } else { self.vectors[register as usize] };
        let free = held.is_none_or(|held| self.next_use(held) == NEVER);
        (free && !self.merges()).then_some(register)
    }
    /// True if outputs are merged under the mask of the last points.
    pub fn merges(&self) -> bool {
        self.mode == Mode::Masked && self.binding.merge
    }
    pub fn class(&self, v: V) -> Class {
        self.of.segment.info(v).class
    }
    fn is_mask(&self, v: V) -> bool {
        self.class(v) == Class::Mask
    }
    /// True if the next `uses` uses of a value in a register are its last ones, and the register is not
    /// pinned.
    pub fn dies(&self, v: V, uses: u32) -> bool {
        let last_use = self.done[v.0 as usize] + uses == self.of.count(v);
        last_use && self.held(v).is_some_and(|register| self.pinned[0] & 1 << register == 0)
    }
    pub fn held(&self, v: V) -> Option<u8> {
        Some(self.register[v.0 as usize]).filter(|&r| r != NOWHERE)
    }
    /// Assigns the register to a value, or frees it.
    fn set(&mut self, mask: bool, register: u8, v: Option<V>) {
        let entry = if mask { &mut self.masks[register as usize] } else { &mut self.vectors[register as usize] };
        *entry = v;
        if let Some(v) = v {
            self.register[v.0 as usize] = register;
        }
    }
    /// Assigns a vector register to this value, and takes it from the value that it held.
    pub fn take(&mut self, register: u8, v: V) {
        if let Some(old) = self.vectors[register as usize] {
            self.register[old.0 as usize] = NOWHERE;
        }
        self.set(false, register, Some(v));
    }
    /// Ends the live range of a value.
    fn release(&mut self, v: V) {
        let mask = self.is_mask(v);
        if let Some(register) = self.held(v) {
            if self.pinned[usize::from(mask)] & 1 << register != 0 {
                return;
            }
            self.set(mask, register, None);
            self.register[v.0 as usize] = NOWHERE;
        }
        if let Some(slot) = self.slot[v.0 as usize].take()
            && self.of.segment.info(v).home.is_none()
        {
            self.freed[usize::from(mask)].push(slot);
        }
    }
    pub fn name(&self, v: V, register: u8) -> Register {
        register_of(self.class(v), register)
    }
}

/// The register of a class by its number.
pub fn register_of(class: Class, number: u8) -> Register {
    match class {
        Class::Mask => Register::K0 + u32::from(number),
        Class::Vector(width) => vector_register(width, number),
    }
}

/// A vector register by its number.
pub fn vector_register(width: Width, number: u8) -> Register {
    let first = match width {
        Width::X => Register::XMM0,
        Width::Y => Register::YMM0,
        Width::Z => Register::ZMM0,
    };
    first + u32::from(number)
}

/// The same vector register at another width.
pub fn at_width(register: Register, width: Width) -> Register {
    vector_register(width, ((register as u32 - Register::XMM0 as u32) % 32) as u8)
}

impl Writer<'_> {
    pub fn evex(&self) -> bool {
        self.schedule.level.is_evex()
    }
    /// The scratch vector register, which is free between instructions.
    pub fn scratch(&self, width: Width) -> Register {
        vector_register(width, self.schedule.level.values() as u8)
    }

    /// Loads the values that stay in registers during the loop.
    pub fn load_pins(&mut self, prepared: &Prepared) -> Result<(), KernelError> {
        for (register, &v) in (0..).zip(&prepared.pins) {
            let info = prepared.segment.info(v);
            let Class::Vector(width) = info.class else { continue };
            self.load_origin(info.origin, info.class, vector_register(width, register))?;
        }
        Ok(())
    }

    /// Writes the code of a segment without inputs and outputs.
    pub fn segment(&mut self, prepared: &Prepared, mode: Mode) -> Result<(), KernelError> {
        self.bound_segment(prepared, mode, &Binding::default())
    }

    /// Writes the code of a segment with a binding of its inputs and outputs.
    pub fn bound_segment(&mut self, prepared: &Prepared, mode: Mode, binding: &Binding) -> Result<(), KernelError> {
        let count = prepared.segment.infos.len();
        let mut file = File {
            of: prepared,
            mode,
            binding,
            vectors: [None; 32],
            masks: [None; 8],
            register: vec![NOWHERE; count],
            slot: vec![None; count],
            done: vec![0; count],
            free: [Vec::new(), Vec::new()],
            freed: [Vec::new(), Vec::new()],
            pinned: binding.reserved,
        };
        self.multiple = None;
        for (v, spot) in prepared.inputs.iter().zip(&binding.inputs) {
            if let (Some(v), Spot::Register(register)) = (*v, *spot) {
                file.set(file.is_mask(v), register, Some(v));
                file.pinned[usize::from(file.is_mask(v))] |= 1 << register;
            }
        }
        if matches!(mode, Mode::Group(_) | Mode::Masked | Mode::Tail(_) | Mode::Lanes(_)) {
            for (register, &v) in (0..).zip(&prepared.pins) {
                file.set(false, register, Some(v));
                file.pinned[0] |= 1 << register;
            }
        }
        for (n, (inst, number)) in prepared.segment.insts.iter().enumerate() {
            let turn = prepared.turns.get(n).map_or(0, |&turn| turn as usize);
            match mode {
                Mode::Group(first) => file.mode = Mode::Group(first + turn),
                Mode::Tail(first) => file.mode = Mode::Tail(first + turn),
                _ => {}
            }
            if self.marks.last().is_none_or(|(_, last)| last != number) {
                self.marks.push((self.asm.here(), *number));
            }
            self.inst(&mut file, inst)?;
            for (free, freed) in file.free.iter_mut().zip(&mut file.freed) {
                free.append(freed);
            }
        }
        Ok(())
    }

    fn inst(&mut self, file: &mut File<'_>, inst: &Inst) -> Result<(), KernelError> {
        match inst {
            Inst::Op(op) => self.op(file, op),
            Inst::Call(call) => match call.unless {
                Some(unless) => self.call_where(file, call, unless),
                None => self.call(file, call),
            },
            Inst::Output { number, src, size } => {
                let source = self.source(file, *src, &mut 0)?;
                self.output(file, *number, (*src, source), *size)?;
                self.used(file, &[*src]);
                Ok(())
            }
            Inst::Store { row, nth, src } => {
                let source = self.source(file, *src, &mut 0)?;
                self.store_row((*row, *nth), source, file.mode)?;
                self.used(file, &[*src]);
                Ok(())
            }
            Inst::Load { row, nth, dst } => {
                let register = self.room(file, *dst, 0)?;
                self.load_row((*row, *nth), register, file.mode)?;
                self.defined(file, *dst)
            }
            Inst::SumBytes { src, zero, dst } => {
                let mut busy = 0;
                let (mut source, zero_at) = (self.source(file, *src, &mut busy)?, self.source(file, *zero, &mut busy)?);
                let Class::Vector(width) = file.class(*dst) else { return Err(unsupported("a sum as a mask")) };
                if file.mode == Mode::Masked {
                    let there = self.scratch(width);
                    let operands = [Operand::Reg(there), Operand::Reg(source)];
                    self.asm.vector(codes::masked_move(1).code(self.evex(), width), &operands, Some((TAIL, true)));
                    source = there;
                }
                self.used(file, &[*src, *zero]);
                let to = self.room(file, *dst, 0)?;
                let operands = [to, source, zero_at].map(Operand::Reg);
                self.asm.vector(codes::SUM_BYTES.code(self.evex(), width), &operands, None);
                self.defined(file, *dst)
            }
            Inst::Broadcast { from, size, dst } => {
                let register = self.room(file, *dst, 0)?;
                let Class::Vector(width) = file.class(*dst) else {
                    return Err(unsupported("a mask of equal elements"));
                };
                self.broadcast(*from, *size, register, width);
                self.defined(file, *dst)
            }
            Inst::First { dst } => {
                let register = self.room(file, *dst, 0)?;
                let Class::Vector(width) = file.class(*dst) else { return Err(unsupported("a mask of indices")) };
                self.first(register, width, file.mode);
                self.defined(file, *dst)
            }
        }
    }

    fn op(&mut self, file: &mut File<'_>, op: &Op) -> Result<(), KernelError> {
        if let Over::Any(forms) = op.over {
            return self.multiply_add(file, op, forms);
        }
        let mut busy = [0u32; 2];
        let folded = self.fold(file, op);
        let in_registers = op.srcs.len() - usize::from(folded.is_some());
        let mut operands: smallvec::SmallVec<[Operand; 5]> = smallvec::SmallVec::new();
        for &v in &op.srcs[..in_registers] {
            let mask = usize::from(file.is_mask(v));
            operands.push(Operand::Reg(self.source(file, v, &mut busy[mask])?));
        }
        if let Some(mem) = folded {
            operands.push(Operand::Mem(mem));
        }
        let mask = match op.mask {
            Some((v, zeroing)) => Some((self.source(file, v, &mut busy[1])?, zeroing)),
            None => None,
        };
        if let Some(row) = op.row {
            operands.push(self.row_operand(row, op.width, file.mode)?);
        }
        operands.extend(op.imm.map(Operand::Imm));
        let uses: smallvec::SmallVec<[V; 4]> = op.srcs.iter().copied().chain(op.mask.map(|m| m.0)).collect();
        if matches!(op.over, Over::First) {
            self.tie(file, op, busy, &mut operands)?;
            self.used(file, &uses);
        } else {
            self.used(file, &uses);
            let to = match file.target(op.dst) {
                Some(register) => {
                    file.set(file.is_mask(op.dst), register, Some(op.dst));
                    file.name(op.dst, register)
                }
                None => self.room(file, op.dst, 0)?,
            };
            operands.insert(0, Operand::Reg(to));
        }
        if op.same_width {
            for operand in &mut operands {
                if let Operand::Reg(register) = operand {
                    *register = at_width(*register, op.width);
                }
            }
        }
        self.asm.vector(op.form.code(self.evex(), op.width), &operands, mask);
        self.defined(file, op.dst)
    }

    /// Ties the destination to the first source: reuses its register if it dies here, else copies it.
    fn tie(
        &mut self,
        file: &mut File<'_>,
        op: &Op,
        busy: [u32; 2],
        operands: &mut [Operand],
    ) -> Result<(), KernelError> {
        let first = op.srcs[0];
        if let Some(register) = file.held(first).filter(|_| file.dies(first, 1)) {
            file.take(register, op.dst);
            return Ok(());
        }
        let (Operand::Reg(from), to) = (operands[0], self.room(file, op.dst, busy[0])?) else {
            return Err(unsupported("a tied operand in memory"));
        };
        let wide = |register| if op.same_width { at_width(register, op.width) } else { register };
        self.copy_register(op.width, wide(to), wide(from));
        operands[0] = Operand::Reg(to);
        Ok(())
    }

    /// Copies a vector register.
    pub fn copy_register(&mut self, width: Width, to: Register, from: Register) {
        let code = codes::MOV_PS_LOAD.code(self.evex(), width);
        self.asm.vector(code, &[Operand::Reg(to), Operand::Reg(from)], None);
    }

    /// The last source as a memory operand, if it is only in memory and the instruction takes one.
    fn fold(&self, file: &File<'_>, op: &Op) -> Option<Mem> {
        let (&last, others) = op.srcs.split_last()?;
        let again = others.contains(&last) || op.mask.is_some_and(|(mask, _)| mask == last);
        let only = matches!(op.over, Over::First) && others.is_empty();
        if !op.folds || op.row.is_some() || again || only {
            return None;
        }
        file.memory_operand(last, op.width, op.form.broadcast)
    }

    /// The register of a source; reloads it if it is in none.
    pub fn source(&mut self, file: &mut File<'_>, v: V, busy: &mut u32) -> Result<Register, KernelError> {
        if let Some(register) = file.held(v) {
            *busy |= 1 << register;
            return Ok(file.name(v, register));
        }
        let to = self.room(file, v, *busy)?;
        let info = *file.of.segment.info(v);
        self.load_origin(file.origin(v), info.class, to)?;
        *busy |= 1 << file.register[v.0 as usize];
        Ok(to)
    }

    pub fn load_origin(&mut self, origin: Origin, class: Class, to: Register) -> Result<(), KernelError> {
        let (mem, element) = match origin {
            Origin::Home(at) => (Mem::frame(at), 0),
            Origin::Pool { offset, element } => (Mem::at(Register::RIP, i64::from(offset)), element),
            Origin::Computed | Origin::Input(_) => return Err(unsupported("a value that is nowhere")),
        };
        let form = match (class, element) {
            (Class::Mask, _) => {
                self.asm.vector(iced_x86::Code::VEX_Kmovq_kr_km64, &[Operand::Reg(to), Operand::Mem(mem)], None);
                return Ok(());
            }
            (_, 0) => &codes::MOV_PS_LOAD,
            (_, 4) => &codes::BROADCAST_D,
            _ => &codes::BROADCAST_Q,
        };
        let Class::Vector(width) = class else { return Ok(()) };
        self.asm.vector(form.code(self.evex(), width), &[Operand::Reg(to), Operand::Mem(mem)], None);
        Ok(())
    }

    /// Allocates a register for a value. Registers in `busy` are not evicted.
    pub fn room(&mut self, file: &mut File<'_>, v: V, busy: u32) -> Result<Register, KernelError> {
        let mask = file.is_mask(v);
        // K0 can't be a write mask, and K7 is the mask of a row's last points.
        let numbers = if mask { 1..7u8 } else { 0..self.schedule.level.values() as u8 };
        let holder = |file: &File<'_>, r: u8| if mask { file.masks[r as usize] } else { file.vectors[r as usize] };
        let taken = busy | file.pinned[usize::from(mask)];
        let candidates = || numbers.clone().filter(|r| taken & 1 << r == 0);
        let register = match candidates().find(|&r| holder(file, r).is_none()) {
            Some(free) => free,
            None => {
                let latest = candidates().max_by_key(|&r| holder(file, r).map_or(NEVER, |v| file.next_use(v)));
                let register = latest.ok_or_else(|| unsupported("more operands than registers"))?;
                if let Some(old) = holder(file, register) {
                    self.spill(file, old);
                }
                register
            }
        };
        file.set(mask, register, Some(v));
        Ok(file.name(v, register))
    }

    /// Evicts a value from its register; stores it to a spill slot if it has no copy in memory.
    pub fn spill(&mut self, file: &mut File<'_>, v: V) {
        let Some(register) = file.held(v) else { return };
        let (n, info) = (v.0 as usize, *file.of.segment.info(v));
        let mask = file.is_mask(v);
        if info.origin == Origin::Computed && file.slot[n].is_none() {
            let bytes = if mask { 8 } else { self.schedule.level.register_bytes() };
            let slot = match file.free[usize::from(mask)].pop() {
                Some(slot) => slot,
                None => self.frame.place(bytes),
            };
            self.keep(slot, info.class, file.name(v, register));
            file.slot[n] = Some(slot);
        }
        file.set(mask, register, None);
        file.register[n] = NOWHERE;
    }

    /// Stores a register to the frame.
    pub fn keep(&mut self, at: u32, class: Class, register: Register) {
        let code = match class {
            Class::Mask => iced_x86::Code::VEX_Kmovq_m64_kr,
            Class::Vector(width) => codes::MOV_PS_STORE.code(self.evex(), width),
        };
        self.asm.vector(code, &[Operand::Mem(Mem::frame(at)), Operand::Reg(register)], None);
    }

    /// Counts one use of each value, and ends the live ranges that end here.
    pub fn used(&mut self, file: &mut File<'_>, values: &[V]) {
        values.iter().for_each(|v| file.done[v.0 as usize] += 1);
        for &v in values {
            if file.next_use(v) == NEVER {
                file.release(v);
            }
        }
    }

    /// Completes the definition of a value: stores it to its home, and ends its live range if it has no
    /// uses.
    pub fn defined(&mut self, file: &mut File<'_>, v: V) -> Result<(), KernelError> {
        if let (Some(at), Some(register)) = (file.of.segment.info(v).home, file.held(v)) {
            self.keep(at, file.class(v), file.name(v, register));
            file.slot[v.0 as usize] = Some(at);
        }
        if file.next_use(v) == NEVER {
            file.release(v);
        }
        Ok(())
    }
}
