//! Access to the elements of a row, of whole groups or under the mask of the last points, and broadcasts of
//! uniform values.

use super::allocate::{Mode, Writer, at_width, vector_register};
use super::asm::{Mem, Operand};
use super::codes::{self, Form, masked_move, masked_store};
use super::lanes::PITCH;
use super::machine::{Call, Uniform, Width};
use super::steps::OFFSET;
use super::unsupported;
use crate::kernel::{KernelError, Part};
use iced_x86::{Code, Register};

/// The index of the point in the piece of the row.
pub const INDEX: Register = Register::RBX;
/// A multiple of the index: the number in [`Writer::multiple`], if any.
const MULTIPLE: Register = Register::R11;
/// The greatest scale of an index in an address.
pub const MOST_SCALE: usize = 8;
/// The mask of the last points, with AVX-512.
pub const TAIL: Register = Register::K7;

/// The mask of a group of the last points, if they are several groups.
pub fn tail(group: usize) -> Register {
    debug_assert!(group < 6, "K0 is no mask, and values need one");
    TAIL - group as u32
}

/// A row of the kernel or between stages, and the number of a vector of its elements at the points of a
/// group, which are as many as an element has parts.
type RowVector = (u32, usize);

/// The instruction that broadcasts an element of `size` bytes.
pub fn broadcast_form(size: usize) -> &'static Form {
    match size {
        1 => &codes::BROADCAST_B,
        2 => &codes::BROADCAST_W,
        4 => &codes::BROADCAST_D,
        _ => &codes::BROADCAST_Q,
    }
}

impl Writer<'_> {
    /// The address of a vector of a row's elements at a group's points. Changes RAX.
    pub fn row_at(&mut self, (row, nth): RowVector, mode: Mode) -> Mem {
        let (size, (lane, _)) = (self.row_size(row), self.row_lane(row));
        let (base, first) = match (self.between(row), self.places.bases.get(row as usize)) {
            (Some((at, _)), _) => (Register::RSP, i64::from(at)),
            (None, Some(&Some(register))) => (register, 0),
            _ => {
                self.asm.load(Register::RAX, Mem::frame(self.places.base_words[row as usize]));
                (Register::RAX, 0)
            }
        };
        if let Mode::Lanes(point) = mode {
            let apart = if self.rows[row as usize].crosses { PITCH } else { 1 };
            return Mem::at(base, (point * apart * size) as i64);
        }
        let offset = first + (self.group(mode) * self.schedule.lanes * size + nth * self.schedule.lanes * lane) as i64;
        let index = match size {
            _ if self.at_bases && self.places.shifted.get(row as usize) == Some(&true) => Some((OFFSET, 1)),
            _ if !self.places.indexed => None,
            1 | 2 | 4 | 8 => Some((INDEX, size as u32)),
            _ => {
                let scale = (1 << size.trailing_zeros()).min(MOST_SCALE);
                Some((self.multiple_of_index(size / scale), scale as u32))
            }
        };
        Mem { base, index, offset, repeated: false }
    }

    /// The register with this many times the index.
    fn multiple_of_index(&mut self, times: usize) -> Register {
        if self.multiple.replace(times) != Some(times) {
            match times {
                2 => {
                    let twice = Mem { index: Some((INDEX, 1)), ..Mem::at(INDEX, 0) };
                    self.asm.rm(Code::Lea_r64_m, MULTIPLE, twice);
                }
                _ => self.asm.rri(Code::Imul_r64_rm64_imm8, MULTIPLE, INDEX, times as i32),
            }
        }
        MULTIPLE
    }

    /// The register that holds a row's elements at a group's points, if any.
    fn held_at(&self, row: RowVector, mode: Mode) -> Option<u8> {
        let group = self.group(mode);
        let held = self.held.iter().find(|(of, at, _)| (*of, *at) == (row, group));
        held.map(|(_, _, register)| *register)
    }

    fn group(&self, mode: Mode) -> usize {
        match mode {
            Mode::Group(n) | Mode::Tail(n) => n,
            Mode::Masked => self.masked_group,
            Mode::Uniform | Mode::Rows | Mode::Lanes(_) => 0,
        }
    }

    /// The frame offset of the elements of a row between stages, and the bytes of one.
    fn between(&self, row: u32) -> Option<(u32, usize)> {
        self.places.between.get((row as usize).checked_sub(self.rows.len())?).copied()
    }

    fn row_size(&self, row: u32) -> usize {
        self.between(row).map_or_else(|| self.rows[row as usize].size, |(_, size)| size)
    }

    /// The bytes of a lane that holds a row's element, or a part of it, and the width of all lanes.
    fn row_lane(&self, row: u32) -> (usize, Width) {
        let lane = self.between(row).map_or_else(|| self.rows[row as usize].lane(), |(_, size)| size);
        (lane, Width::of(lane * self.schedule.lanes))
    }

    fn has_parts(&self, row: u32) -> bool {
        self.rows.get(row as usize).is_some_and(|row| row.parts > 1)
    }

    /// A row's elements as the operand of an instruction.
    pub fn row_operand(&mut self, row: u32, width: Width, mode: Mode) -> Result<Operand, KernelError> {
        if let Some(held) = self.held_at((row, 0), mode) {
            return Ok(Operand::Reg(vector_register(width, held)));
        }
        if matches!(mode, Mode::Group(_)) || (matches!(mode, Mode::Lanes(_)) && self.rows[row as usize].crosses) {
            return Ok(Operand::Mem(self.row_at((row, 0), mode)));
        }
        let scratch = self.scratch(width);
        self.load_row((row, 0), scratch, mode)?;
        Ok(Operand::Reg(scratch))
    }

    /// Loads a vector of a row's elements.
    pub fn load_row(&mut self, of: RowVector, to: Register, mode: Mode) -> Result<(), KernelError> {
        let (size, width) = self.row_lane(of.0);
        if let Some(held) = self.held_at(of, mode) {
            self.copy_register(width, at_width(to, width), vector_register(width, held));
            return Ok(());
        }
        let (to, mem) = (at_width(to, width), self.row_at(of, mode));
        let evex = self.evex();
        if matches!(mode, Mode::Lanes(_)) && !self.rows[of.0 as usize].crosses {
            // One element for all rows.
            let code = broadcast_form(size).code(evex, width);
            self.asm.vector(code, &[Operand::Reg(to), Operand::Mem(mem)], None);
            return Ok(());
        }
        if let Mode::Tail(group) = mode {
            let code = masked_move(size).code(true, width);
            self.asm.vector(code, &[Operand::Reg(to), Operand::Mem(mem)], Some((tail(group), true)));
            return Ok(());
        }
        if mode != Mode::Masked {
            // With few lanes, the load must not read beyond them.
            let form = match size * self.schedule.lanes {
                1 => &codes::BROADCAST_B,
                2 => &codes::BROADCAST_W,
                4 => &codes::MOVE4_LOAD,
                8 => &codes::MOVE8_LOAD,
                _ => &codes::MOV_PS_LOAD,
            };
            self.asm.vector(form.code(evex, width), &[Operand::Reg(to), Operand::Mem(mem)], None);
            return Ok(());
        }
        if evex {
            let operands = [Operand::Reg(to), Operand::Mem(mem)];
            let code = masked_move(size).code(true, width);
            self.under_mask(of, |w| w.asm.vector(code, &operands, Some((TAIL, true))));
            return Ok(());
        }
        match size {
            4 | 8 => {
                let form = if size == 4 { &codes::MASKMOV_PS_LOAD } else { &codes::MASKMOV_PD_LOAD };
                let mask = self.tail_flags(of, width)?;
                let operands = [Operand::Reg(to), Operand::Reg(mask), Operand::Mem(mem)];
                self.asm.vector(form.code(false, width), &operands, None);
            }
            _ => {
                self.copy_elements(size, mem, Mem::frame(self.places.small));
                let operands = [Operand::Reg(to), Operand::Mem(Mem::frame(self.places.small))];
                self.asm.vector(codes::MOV_PS_LOAD.code(false, width), &operands, None);
            }
        }
        Ok(())
    }

    /// Stores a vector of a row's elements.
    pub fn store_row(&mut self, of: RowVector, from: Register, mode: Mode) -> Result<(), KernelError> {
        let (row, nth) = of;
        let (size, width) = self.row_lane(row);
        if mode == Mode::Uniform {
            match nth {
                0 => self.store_element(row, (0, self.rows[row as usize].size), from),
                // With one lane, the halves are the parts; with more, the single pair is in the first half.
                _ if self.schedule.lanes == 1 => self.store_element(row, (size, size), from),
                _ => {}
            }
            return Ok(());
        }
        let (from, mem) = match mode {
            Mode::Rows => {
                self.asm.load(Register::RAX, Mem::frame(self.places.pointers[row as usize]));
                (at_width(from, width), Mem::at(Register::RAX, (nth * self.schedule.lanes * size) as i64))
            }
            _ => (at_width(from, width), self.row_at(of, mode)),
        };
        let evex = self.evex();
        if let Mode::Tail(group) = mode {
            let code = masked_store(size).code(true, width);
            self.asm.vector(code, &[Operand::Mem(mem), Operand::Reg(from)], Some((tail(group), false)));
            return Ok(());
        }
        if !matches!(mode, Mode::Masked | Mode::Rows) {
            let bytes = size * self.schedule.lanes;
            if bytes < 4 {
                let form = if bytes == 1 { &codes::EXTRACT_B } else { &codes::EXTRACT_W };
                let operands = [Operand::Mem(mem), Operand::Reg(from), Operand::Imm(0)];
                self.asm.vector(form.code(evex, width), &operands, None);
                return Ok(());
            }
            let form = match bytes {
                4 => &codes::MOVE4_STORE,
                8 => &codes::MOVE8_STORE,
                _ if self.streaming && self.rows.get(row as usize).is_some_and(|row| row.moves) => &codes::STREAM_STORE,
                _ => &codes::MOV_PS_STORE,
            };
            self.asm.vector(form.code(evex, width), &[Operand::Mem(mem), Operand::Reg(from)], None);
            return Ok(());
        }
        if evex {
            let operands = [Operand::Mem(mem), Operand::Reg(from)];
            let code = masked_store(size).code(true, width);
            self.under_mask(of, |w| w.asm.vector(code, &operands, Some((TAIL, false))));
            return Ok(());
        }
        match size {
            4 | 8 => {
                let form = if size == 4 { &codes::MASKMOV_PS_STORE } else { &codes::MASKMOV_PD_STORE };
                let mask = self.tail_flags(of, width)?;
                let operands = [Operand::Mem(mem), Operand::Reg(mask), Operand::Reg(from)];
                self.asm.vector(form.code(false, width), &operands, None);
            }
            _ => {
                let operands = [Operand::Mem(Mem::frame(self.places.small)), Operand::Reg(from)];
                self.asm.vector(codes::MOV_PS_STORE.code(false, width), &operands, None);
                self.copy_elements(size, Mem::frame(self.places.small), mem);
            }
        }
        Ok(())
    }

    /// Stores the first `bytes` bytes of a register to a row's element at the current point of the outer
    /// loops, from byte `at` on. Changes RAX and RDX.
    fn store_element(&mut self, row: u32, (at, bytes): (usize, usize), from: Register) {
        let low = at_width(from, Width::X);
        self.asm.load(Register::RAX, Mem::frame(self.places.pointers[row as usize]));
        let to = Mem::at(Register::RAX, at as i64);
        if bytes > 8 {
            let code = codes::MOV_PS_STORE.code(self.evex(), Width::X);
            self.asm.vector(code, &[Operand::Mem(to), Operand::Reg(low)], None);
            return;
        }
        let move_out = if self.evex() { Code::EVEX_Vmovq_rm64_xmm } else { Code::VEX_Vmovq_rm64_xmm };
        self.asm.rr(move_out, Register::RDX, low);
        match bytes {
            1 => self.asm.mr(Code::Mov_rm8_r8, to, Register::DL),
            2 => self.asm.mr(Code::Mov_rm16_r16, to, Register::DX),
            4 => self.asm.mr(Code::Mov_rm32_r32, to, Register::EDX),
            _ => self.asm.store(to, Register::RDX),
        }
    }

    /// Runs an access under the mask of the last points, or of a vector of their parts, with AVX-512.
    fn under_mask(&mut self, (row, nth): RowVector, access: impl FnOnce(&mut Self)) {
        let mask = self.rows.get(row as usize).and_then(|row| self.masks.of_vector(row, nth));
        let Some(mask) = mask else { return access(self) };
        self.load_mask(mask);
        access(self);
        self.load_mask(self.masks.points);
    }

    /// Loads the flags of the last points, or of one half of their pairs, into the scratch register, with
    /// AVX2.
    fn tail_flags(&mut self, (row, nth): RowVector, width: Width) -> Result<Register, KernelError> {
        let (lane, _) = self.row_lane(row);
        let half = self.has_parts(row).then_some(nth);
        let flags = self.places.flags.iter().find(|flags| flags.lane == lane && flags.half == half);
        let at = flags.ok_or_else(|| unsupported("a mask that was not made"))?.at;
        let mask = self.scratch(width);
        let operands = [Operand::Reg(mask), Operand::Mem(Mem::frame(at))];
        self.asm.vector(codes::MOV_PS_LOAD.code(false, width), &operands, None);
        Ok(mask)
    }

    /// Copies the last points' elements of 1 or 2 bytes. Changes RAX, RCX, RDX and R11.
    fn copy_elements(&mut self, size: usize, from: Mem, to: Mem) {
        let (source, target, count) = (Register::RDX, Register::R11, Register::RCX);
        self.asm.rm(Code::Lea_r64_m, source, from);
        self.asm.rm(Code::Lea_r64_m, target, to);
        self.asm.load(count, Mem::frame(self.places.remaining));
        let again = self.asm.bound();
        let element = |base| Mem { base, index: Some((count, size as u32)), offset: -(size as i64), repeated: false };
        self.move_element(size, element(source), element(target));
        self.asm.r(Code::Dec_rm64, count);
        self.asm.jump(Code::Jne_rel32_64, again);
        self.multiple = None;
    }

    /// Copies one element. Changes RAX and the scratch register.
    pub fn move_element(&mut self, size: usize, from: Mem, to: Mem) {
        if size > 8 {
            let scratch = self.scratch(Width::X);
            let (load, store) = (&codes::MOV_PS_LOAD, &codes::MOV_PS_STORE);
            self.asm.vector(load.code(self.evex(), Width::X), &[Operand::Reg(scratch), Operand::Mem(from)], None);
            self.asm.vector(store.code(self.evex(), Width::X), &[Operand::Mem(to), Operand::Reg(scratch)], None);
            return;
        }
        let (load, store, register) = match size {
            1 => (Code::Movzx_r32_rm8, Code::Mov_rm8_r8, Register::AL),
            2 => (Code::Movzx_r32_rm16, Code::Mov_rm16_r16, Register::AX),
            4 => (Code::Mov_r32_rm32, Code::Mov_rm32_r32, Register::EAX),
            _ => (Code::Mov_r64_rm64, Code::Mov_rm64_r64, Register::RAX),
        };
        let wide = if size == 8 { Register::RAX } else { Register::EAX };
        self.asm.rm(load, wide, from);
        self.asm.mr(store, to, register);
    }

    /// Broadcasts one element to all lanes. Changes RAX.
    pub fn broadcast(&mut self, from: Uniform, size: usize, to: Register, width: Width) {
        let mem = match from {
            Uniform::Counter(axis) => Mem::frame(self.places.counters[axis as usize]),
            Uniform::Param(n) => {
                self.asm.load(Register::RAX, Mem::frame(self.places.params));
                Mem::at(Register::RAX, 8 * i64::from(n))
            }
            Uniform::Element(row, part) => {
                let is_second = self.has_parts(row) && part == Part::Im;
                let offset = if is_second { size as i64 } else { 0 };
                let base = match self.places.bases[row as usize] {
                    Some(base) if self.at_bases => base,
                    _ => {
                        let words = if self.at_bases { &self.places.base_words } else { &self.places.pointers };
                        self.asm.load(Register::RAX, Mem::frame(words[row as usize]));
                        Register::RAX
                    }
                };
                let is_shifted = self.at_bases && self.places.shifted[row as usize];
                Mem { index: is_shifted.then_some((OFFSET, 1)), ..Mem::at(base, offset) }
            }
        };
        let code = broadcast_form(size).code(self.evex(), width);
        self.asm.vector(code, &[Operand::Reg(to), Operand::Mem(mem)], None);
    }

    /// Broadcasts the index of a group's first point to all lanes. Changes RAX.
    pub fn first(&mut self, to: Register, width: Width, mode: Mode) {
        let group = self.group(mode);
        let ahead = (group * self.schedule.lanes) as i64;
        match self.places.indexed {
            true => self.asm.rm(Code::Lea_r64_m, Register::RAX, Mem::at(INDEX, ahead)),
            false => self.asm.constant(Register::RAX, ahead as u64),
        }
        self.asm.rm(Code::Add_r64_rm64, Register::RAX, Mem::frame(self.places.start));
        if self.evex() {
            let code = match width {
                Width::X => Code::EVEX_Vpbroadcastq_xmm_k1z_r64,
                Width::Y => Code::EVEX_Vpbroadcastq_ymm_k1z_r64,
                Width::Z => Code::EVEX_Vpbroadcastq_zmm_k1z_r64,
            };
            self.asm.rr(code, to, Register::RAX);
            return;
        }
        let low = at_width(to, Width::X);
        self.asm.rr(Code::VEX_Vmovq_xmm_rm64, low, Register::RAX);
        let code = codes::BROADCAST_Q.code(false, width);
        self.asm.vector(code, &[Operand::Reg(to), Operand::Reg(low)], None);
    }

    /// Calls a function for the lanes, whose operands are in the frame. Changes all caller-saved registers.
    pub fn call_helper(&mut self, call: &Call, mode: Mode) {
        self.asm.plain(Code::VEX_Vzeroupper);
        self.asm.constant(Register::RDI, call.site as u64);
        self.asm.rm(Code::Lea_r64_m, Register::RSI, Mem::frame(self.places.args));
        self.asm.rm(Code::Lea_r64_m, Register::RDX, Mem::frame(self.places.result));
        match mode {
            Mode::Uniform => self.asm.constant(Register::RCX, 1),
            Mode::Group(_) | Mode::Tail(_) | Mode::Rows | Mode::Lanes(_) => {
                self.asm.constant(Register::RCX, self.schedule.lanes as u64)
            }
            Mode::Masked => self.asm.load(Register::RCX, Mem::frame(self.places.remaining)),
        }
        self.asm.constant(Register::RAX, call.helper as u64);
        self.asm.r(Code::Call_rm64, Register::RAX);
        self.multiple = None;
        if mode == Mode::Masked && self.evex() {
            self.load_mask(self.masks.points);
        }
    }
}
