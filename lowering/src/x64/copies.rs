//! Copies of rows whose elements are not adjacent, to the frame and back.
//!
//! There is one routine for each element size, with an entry for each direction. It is written after the
//! function, and called. With AVX-512, rows with stride -1 or 2, and those of 4 or 8 bytes with stride 3 or
//! 4, are copied to the frame by whole vectors; other rows are copied element by element.

use super::allocate::{Writer, vector_register};
use super::asm::{Label, Mem, Operand};
use super::codes;
use super::machine::Width;
use super::pool::Pool;
use super::select::Row;
use iced_x86::{Code, Register};

/// The address of the first element and the stride in bytes, of the source and of the target.
const FROM: (Register, Register) = (Register::RSI, Register::R8);
const TO: (Register, Register) = (Register::RDI, Register::R9);
/// The number of elements.
const COUNT: Register = Register::RCX;
/// The number of remaining iterations.
const LEFT: Register = Register::R10;
/// The bytes of a vector.
const VECTOR: usize = 64;

/// The offsets in the constant pool of the permutations that copy vectors of rows with stride -1, 2, 3 or 4.
#[derive(Clone, Copy, Default)]
struct Orders {
    reversed: u32,
    every_second: u32,
    /// The elements of the first two vectors, and these and those of the third one.
    every_third: [u32; 2],
    every_fourth: u32,
}

/// The copy routines, by the logarithm of the element size.
#[derive(Default)]
pub struct Copies {
    /// The permutations.
    orders: [Orders; 5],
    /// The labels of the routines from and to the frame; those that are called are written after the
    /// function.
    routines: [[Option<Label>; 2]; 5],
}

impl Copies {
    /// The copy routines for these rows.
    pub fn new(rows: &[Row], is_evex: bool, pool: &mut Pool) -> Copies {
        let mut copies = Copies::default();
        for row in rows.iter().filter(|row| row.moves && row.loaded && !row.interleaved && is_evex) {
            let lanes = VECTOR / row.size;
            let mut place = |elements: &mut dyn Iterator<Item = usize>| {
                let bytes: Vec<u8> = elements.flat_map(|n| n.to_le_bytes().into_iter().take(row.size)).collect();
                pool.place(&bytes)
            };
            copies.orders[row.size.ilog2() as usize] = match row.size {
                // Within each 16 bytes.
                1 => Orders { reversed: place(&mut (0..lanes).map(|n| 15 - n % 16)), ..Orders::default() },
                2 => Orders { reversed: place(&mut (0..lanes).rev()), ..Orders::default() },
                4 | 8 => Orders {
                    reversed: place(&mut (0..lanes).rev()),
                    every_second: place(&mut (0..lanes).map(|n| 2 * n)),
                    every_third: [
                        place(&mut (0..lanes).map(|n| 3 * n % (2 * lanes))),
                        place(&mut (0..lanes).map(|n| if 3 * n < 2 * lanes { n } else { 3 * n - lanes })),
                    ],
                    every_fourth: place(&mut (0..lanes).map(|n| 4 * n % (2 * lanes))),
                },
                _ => Orders::default(),
            };
        }
        copies
    }
}

impl Writer<'_> {
    /// Calls the routine that copies the elements of a piece, of `size` bytes each. RSI is the source
    /// address, R8 its stride in bytes, RDI the target address, and R9 its stride. The side in the frame is
    /// contiguous. Changes these registers, RAX, RCX, R10 and the scratch register.
    pub(super) fn copy(&mut self, size: usize, to_frame: bool) {
        self.asm.load(COUNT, Mem::frame(self.places.count));
        let known = self.copies.routines[size.ilog2() as usize][usize::from(to_frame)];
        let routine = known.unwrap_or_else(|| self.asm.label());
        self.copies.routines[size.ilog2() as usize][usize::from(to_frame)] = Some(routine);
        self.asm.jump(Code::Call_rel32_64, routine);
    }

    /// Writes the routines that are called.
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

    /// Copies whole vectors of a row with stride -1, 2, 3 or 4, and jumps to `rest` for the other elements.
    fn copy_vectors(&mut self, size: usize, rest: Label) {
        let lanes = (VECTOR / size) as i32;
        let strides = 2..if matches!(size, 4 | 8) { 5 } else { 3 };
        let strided: Vec<(usize, Label)> = strides.map(|stride| (stride, self.asm.label())).collect();
        for &(stride, there) in &strided {
            self.asm.ri(Code::Cmp_rm64_imm8, FROM.1, (stride * size) as i32);
            self.asm.jump(Code::Je_rel32_64, there);
        }
        self.asm.ri(Code::Cmp_rm64_imm8, FROM.1, -(size as i32));
        self.asm.jump(Code::Jne_rel32_64, rest);

        self.asm.rr(Code::Mov_r64_rm64, LEFT, COUNT);
        self.asm.ri(Code::Shr_rm64_imm8, LEFT, lanes.ilog2() as i32);
        self.asm.jump(Code::Je_rel32_64, rest);
        self.asm.ri(Code::And_rm64_imm32, COUNT, lanes - 1);
        // Source addresses are those of the last, and lowest, element of each vector.
        let back = (lanes - 1) * size as i32;
        self.asm.ri(Code::Sub_rm64_imm32, FROM.0, back);
        let again = self.asm.bound();
        self.reversed(size);
        self.asm.ri(Code::Sub_rm64_imm32, FROM.0, VECTOR as i32);
        self.next_vector(again);
        self.asm.ri(Code::Add_rm64_imm32, FROM.0, back);
        self.asm.jump(Code::Jmp_rel32_64, rest);

        for (stride, there) in strided {
            self.asm.bind(there);
            // A vector load must not read past the last element.
            self.asm.rm(Code::Lea_r64_m, LEFT, Mem::at(COUNT, -1));
            let lanes = if size <= 2 { lanes / 2 } else { lanes };
            self.asm.ri(Code::Shr_rm64_imm8, LEFT, lanes.ilog2() as i32);
            self.asm.jump(Code::Je_rel32_64, rest);
            self.asm.r(Code::Dec_rm64, COUNT);
            self.asm.ri(Code::And_rm64_imm32, COUNT, lanes - 1);
            self.asm.r(Code::Inc_rm64, COUNT);
            self.strided(size, stride);
            self.asm.jump(Code::Jmp_rel32_64, rest);
        }
    }

    /// Advances to the next vector in the frame; jumps to `again` if there is one.
    fn next_vector(&mut self, again: Label) {
        self.asm.ri(Code::Add_rm64_imm32, TO.0, VECTOR as i32);
        self.asm.r(Code::Dec_rm64, LEFT);
        self.asm.jump(Code::Jne_rel32_64, again);
    }

    /// Copies one vector in reverse.
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

    /// Copies one or more vectors of elements with stride 2, or, if they have 4 or 8 bytes, 3 or 4.
    fn strided(&mut self, size: usize, stride: usize) {
        let scratch = self.scratch(Width::Z);
        let (register, orders) = (Operand::Reg(scratch), self.copies.orders[size.ilog2() as usize]);
        let at = |register, offset: usize| Operand::Mem(Mem::at(register, offset as i64));
        let load = codes::MOV_PS_LOAD.code(true, Width::Z);
        let store = codes::MOV_PS_STORE.code(true, Width::Z);
        // Other vector registers are needed; they are saved and restored.
        let others = [0, 1].map(|n| Operand::Reg(vector_register(Width::Z, n)));
        let borrowed = if matches!(size, 4 | 8) { &others[..stride.min(3) - 1] } else { &[] };
        if !borrowed.is_empty() {
            self.asm.ri(Code::Sub_rm64_imm32, Register::RSP, (borrowed.len() * VECTOR) as i32);
        }
        let order = |order: u32| at(Register::RIP, order as usize);
        let kept = match stride {
            2 => [order(orders.every_second); 2],
            3 => orders.every_third.map(order),
            _ => [order(orders.every_fourth); 2],
        };
        for (n, &other) in borrowed.iter().enumerate() {
            self.asm.vector(store, &[at(Register::RSP, n * VECTOR), other], None);
            self.asm.vector(load, &[other, kept[n]], None);
        }
        let again = self.asm.bound();
        self.asm.vector(load, &[register, at(FROM.0, 0)], None);
        let pick = if size == 4 { &codes::PICK_PS } else { &codes::PICK_PD }.code(true, Width::Z);
        let (mut written, mut stored, mut read) = (store, register, stride * VECTOR);
        match (size, stride) {
            (1 | 2, _) => {
                // Every second element is the lower half of an element twice as wide.
                let half = vector_register(Width::Y, self.schedule.level.values() as u8);
                let narrow = match size {
                    1 => Code::EVEX_Vpmovwb_ymmm256_k1z_zmm,
                    _ => Code::EVEX_Vpmovdw_ymmm256_k1z_zmm,
                };
                self.asm.vector(narrow, &[Operand::Reg(half), register], None);
                let store = codes::MOV_PS_STORE.code(true, Width::Y);
                (written, stored, read) = (store, Operand::Reg(half), VECTOR);
            }
            (4 | 8, _) => {
                self.asm.vector(pick, &[register, others[0], at(FROM.0, VECTOR)], None);
                match stride {
                    2 => {}
                    3 => self.asm.vector(pick, &[register, others[1], at(FROM.0, 2 * VECTOR)], None),
                    _ => {
                        self.asm.vector(load, &[others[1], at(FROM.0, 2 * VECTOR)], None);
                        self.asm.vector(pick, &[others[1], others[0], at(FROM.0, 3 * VECTOR)], None);
                        // The lower halves.
                        let both = [register, register, others[1], Operand::Imm(0b01_00_01_00)];
                        self.asm.vector(codes::SHUFFLE_X.code(true, Width::Z), &both, None);
                    }
                }
            }
            _ => {
                let picked = [register, register, at(FROM.0, VECTOR), Operand::Imm(0b10_00_10_00)];
                self.asm.vector(codes::SHUFFLE_X.code(true, Width::Z), &picked, None);
            }
        }
        self.asm.vector(written, &[at(TO.0, 0), stored], None);
        self.asm.ri(Code::Add_rm64_imm32, FROM.0, read as i32);
        self.asm.ri(Code::Add_rm64_imm32, TO.0, (read / stride) as i32);
        self.asm.r(Code::Dec_rm64, LEFT);
        self.asm.jump(Code::Jne_rel32_64, again);
        for (n, &other) in borrowed.iter().enumerate() {
            self.asm.vector(load, &[other, at(Register::RSP, n * VECTOR)], None);
        }
        if !borrowed.is_empty() {
            self.asm.ri(Code::Add_rm64_imm32, Register::RSP, (borrowed.len() * VECTOR) as i32);
        }
    }

    /// Copies elements, four in an iteration and then one, and returns to the caller.
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
