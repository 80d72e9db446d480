//! Copies of rows whose elements are not adjacent, to the frame and from there.
//!
//! What copies elements of one size is written once, behind the function, and called. With AVX-512 rows that go back one by one, or on by every second element, are
//! copied a vector at a time; others element by element.

use super::allocate::{Writer, vector_register};
use super::asm::{Label, Mem, Operand};
use super::codes;
use super::machine::Width;
use super::pool::Pool;
use super::select::Row;
use iced_x86::{Code, Register};

/// From where on elements are read, and how far apart they are; and where they go.
const FROM: (Register, Register) = (Register::RSI, Register::R8);
const TO: (Register, Register) = (Register::RDI, Register::R9);
/// The number of elements.
const COUNT: Register = Register::RCX;
/// What is left of rounds.
const LEFT: Register = Register::R10;
/// The bytes of a vector.
const VECTOR: usize = 64;

/// Which elements of a vector, or of two, are its elements when a row is copied.
#[derive(Clone, Copy, Default)]
struct Orders {
    reversed: u32,
    every_second: u32,
}

/// What copies rows, by the logarithm of the bytes of elements.
#[derive(Default)]
pub struct Copies {
    /// Where these orders are in the pool.
    orders: [Orders; 5],
    /// To the frame, and from there; what is asked for is written behind the function.
    routines: [[Option<Label>; 2]; 5],
}

impl Copies {
    /// For these rows.
    pub fn new(rows: &[Row], is_evex: bool, pool: &mut Pool) -> Copies {
        let mut copies = Copies::default();
        for row in rows.iter().filter(|row| row.moves && row.loaded && is_evex) {
            let lanes = VECTOR / row.size;
            let mut place = |elements: &mut dyn Iterator<Item = usize>| {
                let bytes: Vec<u8> = elements.flat_map(|n| n.to_le_bytes().into_iter().take(row.size)).collect();
                pool.place(&bytes)
            };
            copies.orders[row.size.ilog2() as usize] = match row.size {
                // Within each 16 bytes.
                1 => Orders { reversed: place(&mut (0..lanes).map(|n| 15 - n % 16)), every_second: 0 },
                2 => Orders { reversed: place(&mut (0..lanes).rev()), every_second: 0 },
                4 | 8 => Orders {
                    reversed: place(&mut (0..lanes).rev()),
                    every_second: place(&mut (0..lanes).map(|n| 2 * n)),
                },
                _ => Orders::default(),
            };
        }
        copies
    }
}

impl Writer<'_> {
    /// Copies as many elements of so many bytes as a piece has points: from RSI on, R8 bytes apart, to RDI on, to the frame, where they are adjacent, or from there; R9 has
    /// the bytes between them there. Changes these, RAX, RCX, R10 and the scratch register.
    pub(super) fn copy(&mut self, size: usize, to_frame: bool) {
        self.asm.load(COUNT, Mem::frame(self.places.count));
        let known = self.copies.routines[size.ilog2() as usize][usize::from(to_frame)];
        let routine = known.unwrap_or_else(|| self.asm.label());
        self.copies.routines[size.ilog2() as usize][usize::from(to_frame)] = Some(routine);
        self.asm.jump(Code::Call_rel32_64, routine);
    }

    /// Writes what copies, as far as it is called.
    pub(super) fn copy_routines(&mut self) {
        for (bits, [from_frame, to_frame]) in (0..).zip(self.copies.routines) {
            let size = 1usize << bits;
            if to_frame.or(from_frame).is_some() {
                self.marks.push((self.asm.here(), u32::MAX));
            }
            let one_by_one = from_frame.unwrap_or_else(|| self.asm.label());
            if let Some(to_frame) = to_frame {
                self.asm.bind(to_frame);
                if self.evex() {
                    self.copy_vectors(size, one_by_one);
                }
            }
            if to_frame.or(from_frame).is_some() {
                self.asm.bind(one_by_one);
                self.copy_elements_of(size);
            }
        }
    }

    /// Vectors of elements that are in reverse, or every second one, as many as there are whole ones; goes on to what copies the rest.
    fn copy_vectors(&mut self, size: usize, rest: Label) {
        let (every_second, lanes) = (self.asm.label(), (VECTOR / size) as i32);
        self.asm.ri(Code::Cmp_rm64_imm8, FROM.1, 2 * size as i32);
        self.asm.jump(Code::Je_rel32_64, every_second);
        self.asm.ri(Code::Cmp_rm64_imm8, FROM.1, -(size as i32));
        self.asm.jump(Code::Jne_rel32_64, rest);

        self.asm.rr(Code::Mov_r64_rm64, LEFT, COUNT);
        self.asm.ri(Code::Shr_rm64_imm8, LEFT, lanes.ilog2() as i32);
        self.asm.jump(Code::Je_rel32_64, rest);
        self.asm.ri(Code::And_rm64_imm32, COUNT, lanes - 1);
        // From the last element of a vector on.
        let back = (lanes - 1) * size as i32;
        self.asm.ri(Code::Sub_rm64_imm32, FROM.0, back);
        let again = self.asm.bound();
        self.reversed(size);
        self.asm.ri(Code::Sub_rm64_imm32, FROM.0, VECTOR as i32);
        self.next_vector(again);
        self.asm.ri(Code::Add_rm64_imm32, FROM.0, back);
        self.asm.jump(Code::Jmp_rel32_64, rest);

        self.asm.bind(every_second);
        // What is behind the last element may not be read.
        self.asm.rm(Code::Lea_r64_m, LEFT, Mem::at(COUNT, -1));
        let lanes = if size <= 2 { lanes / 2 } else { lanes };
        self.asm.ri(Code::Shr_rm64_imm8, LEFT, lanes.ilog2() as i32);
        self.asm.jump(Code::Je_rel32_64, rest);
        self.asm.r(Code::Dec_rm64, COUNT);
        self.asm.ri(Code::And_rm64_imm32, COUNT, lanes - 1);
        self.asm.r(Code::Inc_rm64, COUNT);
        self.every_second(size);
        self.asm.jump(Code::Jmp_rel32_64, rest);
    }

    /// Goes on to the next vector in the frame, if there is one, and else behind.
    fn next_vector(&mut self, again: Label) {
        self.asm.ri(Code::Add_rm64_imm32, TO.0, VECTOR as i32);
        self.asm.r(Code::Dec_rm64, LEFT);
        self.asm.jump(Code::Jne_rel32_64, again);
    }

    /// A vector whose elements are in reverse.
    fn reversed(&mut self, size: usize) {
        let (scratch, order) = (self.scratch(Width::Z), self.copies.orders[size.ilog2() as usize].reversed);
        let (register, order) = (Operand::Reg(scratch), Operand::Mem(Mem::at(Register::RIP, order.into())));
        let (there, here) = (Operand::Mem(Mem::at(FROM.0, 0)), Operand::Mem(Mem::at(TO.0, 0)));
        let load = codes::MOV_PS_LOAD.code(true, Width::Z);
        match size {
            1 => {
                self.asm.vector(load, &[register, there], None);
                self.asm.vector(codes::SHUFFLE_B.code(true, Width::Z), &[register, register, order], None);
                let turned = [register, register, register, Operand::Imm(0b00_01_10_11)];
                self.asm.vector(codes::SHUFFLE_X.code(true, Width::Z), &turned, None);
            }
            16 => {
                self.asm.vector(load, &[register, there], None);
                let turned = [register, register, register, Operand::Imm(0b00_01_10_11)];
                self.asm.vector(codes::SHUFFLE_X.code(true, Width::Z), &turned, None);
            }
            _ => {
                let permute = match size {
                    2 => Code::EVEX_Vpermw_zmm_k1z_zmm_zmmm512,
                    4 => codes::PERM_PS.code(true, Width::Z),
                    _ => codes::PERM_PD.code(true, Width::Z),
                };
                self.asm.vector(load, &[register, order], None);
                self.asm.vector(permute, &[register, register, there], None);
            }
        }
        self.asm.vector(codes::MOV_PS_STORE.code(true, Width::Z), &[here, register], None);
    }

    /// Vectors of every second element, one or more.
    fn every_second(&mut self, size: usize) {
        let scratch = self.scratch(Width::Z);
        let (register, order) = (Operand::Reg(scratch), self.copies.orders[size.ilog2() as usize].every_second);
        let at = |register, offset: usize| Operand::Mem(Mem::at(register, offset as i64));
        let load = codes::MOV_PS_LOAD.code(true, Width::Z);
        let store = codes::MOV_PS_STORE.code(true, Width::Z);
        // A register besides, which is what it was afterwards.
        let (other, saved) = (vector_register(Width::Z, 0), at(Register::RSP, 0));
        let borrows = matches!(size, 4 | 8);
        if borrows {
            self.asm.ri(Code::Sub_rm64_imm32, Register::RSP, VECTOR as i32);
            self.asm.vector(store, &[saved, Operand::Reg(other)], None);
            self.asm.vector(load, &[Operand::Reg(other), at(Register::RIP, order as usize)], None);
        }
        let again = self.asm.bound();
        self.asm.vector(load, &[register, at(FROM.0, 0)], None);
        let (mut written, mut stored, mut read) = (store, register, 2 * VECTOR);
        match size {
            1 | 2 => {
                // The lower halves of elements twice as wide.
                let half = vector_register(Width::Y, self.schedule.level.values() as u8);
                let narrow = match size {
                    1 => Code::EVEX_Vpmovwb_ymmm256_k1z_zmm,
                    _ => Code::EVEX_Vpmovdw_ymmm256_k1z_zmm,
                };
                self.asm.vector(narrow, &[Operand::Reg(half), register], None);
                let store = codes::MOV_PS_STORE.code(true, Width::Y);
                (written, stored, read) = (store, Operand::Reg(half), VECTOR);
            }
            4 | 8 => {
                let pick = if size == 4 { &codes::PICK_PS } else { &codes::PICK_PD };
                let picked = [register, Operand::Reg(other), at(FROM.0, VECTOR)];
                self.asm.vector(pick.code(true, Width::Z), &picked, None);
            }
            _ => {
                let picked = [register, register, at(FROM.0, VECTOR), Operand::Imm(0b10_00_10_00)];
                self.asm.vector(codes::SHUFFLE_X.code(true, Width::Z), &picked, None);
            }
        }
        self.asm.vector(written, &[at(TO.0, 0), stored], None);
        self.asm.ri(Code::Add_rm64_imm32, FROM.0, read as i32);
        self.asm.ri(Code::Add_rm64_imm32, TO.0, read as i32 / 2);
        self.asm.r(Code::Dec_rm64, LEFT);
        self.asm.jump(Code::Jne_rel32_64, again);
        if borrows {
            self.asm.vector(load, &[Operand::Reg(other), saved], None);
            self.asm.ri(Code::Add_rm64_imm32, Register::RSP, VECTOR as i32);
        }
    }

    /// Element by element, four at a time and then one, and back to where it was called.
    fn copy_elements_of(&mut self, size: usize) {
        let next = |(at, step)| Mem { index: Some((step, 1)), ..Mem::at(at, 0) };
        let (singles, done) = (self.asm.label(), self.asm.label());
        self.asm.rr(Code::Mov_r64_rm64, LEFT, COUNT);
        self.asm.ri(Code::And_rm64_imm8, LEFT, 3);
        self.asm.ri(Code::Shr_rm64_imm8, COUNT, 2);
        self.asm.jump(Code::Je_rel32_64, singles);
        let four = self.asm.bound();
        for _ in 0..2 {
            self.move_element(size, Mem::at(FROM.0, 0), Mem::at(TO.0, 0));
            self.move_element(size, next(FROM), next(TO));
            for (at, step) in [FROM, TO] {
                self.asm.rm(Code::Lea_r64_m, at, Mem { index: Some((step, 2)), ..Mem::at(at, 0) });
            }
        }
        self.asm.r(Code::Dec_rm64, COUNT);
        self.asm.jump(Code::Jne_rel32_64, four);
        self.asm.bind(singles);
        self.asm.rr(Code::Test_rm64_r64, LEFT, LEFT);
        self.asm.jump(Code::Je_rel32_64, done);
        let single = self.asm.bound();
        self.move_element(size, Mem::at(FROM.0, 0), Mem::at(TO.0, 0));
        self.asm.rr(Code::Add_r64_rm64, FROM.0, FROM.1);
        self.asm.rr(Code::Add_r64_rm64, TO.0, TO.1);
        self.asm.r(Code::Dec_rm64, LEFT);
        self.asm.jump(Code::Jne_rel32_64, single);
        self.asm.bind(done);
        self.asm.plain(Code::Retnq);
    }
}
