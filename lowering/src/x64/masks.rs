//! Tail masks: the masks for the last points of a row, which are at most one group. They are mask bits with
//! AVX-512 and flags in lanes with AVX2.
//!
//! Elements of several parts are as many vectors in memory: `n` remaining points that are pairs of floats are
//! `2 * n` floats, of which those that do not fit into the first vector are in the second one.

use super::allocate::Writer;
use super::asm::{Mem, Operand};
use super::codes;
use super::frame::Frame;
use super::machine::Width;
use super::pool::Pool;
use super::row_loop::REMAINING;
use super::rows::{TAIL, tail};
use super::select::Row;
use crate::kernel::MOST_PARTS;
use iced_x86::{Code, Register};
use smallvec::SmallVec;

/// The frame offsets of the tail masks, with AVX-512.
#[derive(Clone)]
pub struct Masks {
    /// One bit for each point.
    pub points: u32,
    /// The masks of rows whose elements have several parts.
    parts: SmallVec<[PartMasks; 1]>,
}

/// The masks of the vectors of a row in memory: one bit for each part of an element.
#[derive(Clone, Copy)]
struct PartMasks {
    parts: usize,
    /// The parts of the last element that are masked, too, as they may not exist.
    missing: usize,
    /// The frame offsets of the masks, one for each vector.
    vectors: [u32; MOST_PARTS],
}

impl Masks {
    /// Allocates the masks for these rows.
    pub fn new(rows: &[Row], frame: &mut Frame) -> Masks {
        let (points, mut parts) = (frame.place(8), SmallVec::<[PartMasks; 1]>::new());
        for row in rows.iter().filter(|row| row.parts > 1) {
            let (count, missing) = (row.parts, row.missing);
            if !parts.iter().any(|known| (known.parts, known.missing) == (count, missing)) {
                let mut vectors = [0; MOST_PARTS];
                vectors[..count].iter_mut().for_each(|at| *at = frame.place(8));
                parts.push(PartMasks { parts: count, missing, vectors });
            }
        }
        Masks { points, parts }
    }

    /// The mask of a vector of a row; none if elements have one part.
    pub fn of_vector(&self, row: &Row, vector: usize) -> Option<u32> {
        let own = self.parts.iter().find(|own| (own.parts, own.missing) == (row.parts, row.missing))?;
        own.vectors.get(vector).copied()
    }
}

/// Flags that are -1 in the lanes of the last points, with AVX2.
#[derive(Clone, Copy)]
pub struct Flags {
    /// Bytes of a lane.
    pub lane: usize,
    /// The half of pairs, or `None` for points.
    pub half: Option<usize>,
    /// The frame offset of the flags.
    pub at: u32,
    /// The offset of the lane numbers in the constant pool.
    numbers: u32,
}

impl Flags {
    /// The flags that the rows, and the rows between stages with these element sizes, need.
    pub fn new((rows, between): (&[Row], &[usize]), frame: &mut Frame, pool: &mut Pool) -> Vec<Flags> {
        let mut all = Vec::new();
        for lane in [4, 8] {
            let moving = || rows.iter().filter(|row| row.moves && row.lane() == lane);
            let points = moving().any(|row| row.parts == 1) || between.contains(&lane);
            let pairs = moving().any(|row| row.parts > 1);
            let wanted = [(None, points), (Some(0), pairs), (Some(1), pairs)];
            for (half, _) in wanted.into_iter().filter(|(_, wanted)| *wanted) {
                let numbers =
                    (0..Width::Y.bytes() as u64 / lane as u64).flat_map(|n| n.to_le_bytes().into_iter().take(lane));
                let numbers: Vec<u8> = numbers.collect();
                all.push(Flags { lane, half, at: frame.place(Width::Y.bytes()), numbers: pool.place(&numbers) });
            }
        }
        all
    }
}

impl Writer<'_> {
    /// Makes the masks of the next `REMAINING` points. Changes RAX.
    pub(super) fn mask(&mut self) {
        self.asm.store(Mem::frame(self.places.remaining), REMAINING);
        if self.evex() {
            self.write_masks(&self.places.tail.clone());
            self.asm.rr(Code::VEX_Kmovq_kr_r64, TAIL, Register::RAX);
        } else {
            self.write_flags();
        }
    }

    /// Stores the masks of `REMAINING` points, with AVX-512. Leaves the mask of points in RAX.
    pub(super) fn write_masks(&mut self, masks: &Masks) {
        let (rax, rcx) = (Register::RAX, REMAINING);
        let all = |w: &mut Self| {
            w.asm.constant(rax, u64::MAX);
            w.asm.rrr(Code::VEX_Bzhi_r64_rm64_r64, rax, rax, rcx);
        };
        for PartMasks { parts, missing, vectors } in &masks.parts {
            self.asm.store(Mem::frame(masks.points), rcx);
            self.asm.rri(Code::Imul_r64_rm64_imm8, rcx, rcx, *parts as i32);
            self.asm.ri(Code::Sub_rm64_imm8, rcx, *missing as i32);
            for &vector in &vectors[..*parts] {
                all(self);
                self.asm.store(Mem::frame(vector), rax);
                let some = self.asm.label();
                self.asm.ri(Code::Sub_rm64_imm8, rcx, self.schedule.lanes as i32);
                self.asm.jump(Code::Jae_rel32_64, some);
                self.asm.rr(Code::Xor_r32_rm32, Register::ECX, Register::ECX);
                self.asm.bind(some);
            }
            self.asm.load(rcx, Mem::frame(masks.points));
        }
        all(self);
        self.asm.store(Mem::frame(masks.points), rax);
    }

    /// Loads the masks of the next `REMAINING` points, those of each group. Changes RAX and RDX.
    pub(super) fn tails(&mut self, groups: usize) {
        let (rax, rdx) = (Register::RAX, Register::RDX);
        self.asm.constant(rax, u64::MAX);
        self.asm.rrr(Code::VEX_Bzhi_r64_rm64_r64, rax, rax, REMAINING);
        for group in 0..groups {
            self.asm.constant(rdx, self.schedule.lanes as u64);
            self.asm.rrr(Code::VEX_Bzhi_r64_rm64_r64, rdx, rax, rdx);
            self.asm.rr(Code::VEX_Kmovq_kr_r64, tail(group), rdx);
            self.asm.ri(Code::Shr_rm64_imm8, rax, self.schedule.lanes as i32);
        }
    }

    /// Loads `TAIL` with the mask at a frame offset.
    pub(super) fn load_mask(&mut self, at: u32) {
        let operands = [Operand::Reg(TAIL), Operand::Mem(Mem::frame(at))];
        self.asm.vector(Code::VEX_Kmovq_kr_km64, &operands, None);
    }

    /// Stores the masks of `REMAINING` points, with AVX2. Changes RAX.
    fn write_flags(&mut self) {
        let rax = Register::RAX;
        let (low, flags) = (self.scratch(Width::X), self.scratch(Width::Y));
        for Flags { lane, half, at, numbers } in self.places.flags.clone() {
            let count = match half {
                None => REMAINING,
                Some(half) => {
                    let floats = Mem { index: Some((REMAINING, 1)), ..Mem::at(REMAINING, 0) };
                    self.asm.rm(Code::Lea_r64_m, rax, floats.plus(-((half * self.schedule.lanes) as i64)));
                    rax
                }
            };
            let (repeat, greater) = match lane {
                4 => (&codes::BROADCAST_D, &codes::CMPGT_D),
                _ => (&codes::BROADCAST_Q, &codes::CMPGT_Q),
            };
            self.asm.rr(Code::VEX_Vmovq_xmm_rm64, low, count);
            self.asm.vector(repeat.code(false, Width::Y), &[Operand::Reg(flags), Operand::Reg(low)], None);
            let numbers = Operand::Mem(Mem::at(Register::RIP, i64::from(numbers)));
            self.asm.vector(greater.code(false, Width::Y), &[Operand::Reg(flags), Operand::Reg(flags), numbers], None);
            let to = Operand::Mem(Mem::frame(at));
            self.asm.vector(codes::MOV_PS_STORE.code(false, Width::Y), &[to, Operand::Reg(flags)], None);
        }
    }
}
