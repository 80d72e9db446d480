//! Tail masks: the masks for the last points of a row, which are at most one group. They are mask bits with
//! AVX-512 and flags in lanes with AVX2.
//!
//! Pairs of floats of a group are two vectors in memory: `n` remaining points are `2 * n` floats, of which
//! those that do not fit into the first vector are in the second one.

use super::allocate::Writer;
use super::asm::{Mem, Operand};
use super::codes;
use super::frame::Frame;
use super::machine::Width;
use super::pool::Pool;
use super::row_loop::REMAINING;
use super::rows::{TAIL, tail};
use super::select::Row;
use iced_x86::{Code, Register};

/// The frame offsets of the tail masks, with AVX-512.
#[derive(Clone, Copy)]
pub struct Masks {
    /// One bit for each point.
    pub points: u32,
    /// One bit for each float of either half of pairs.
    pub halves: [u32; 2],
}

impl Masks {
    /// Allocates the masks.
    pub fn new(frame: &mut Frame) -> Masks {
        Masks { points: frame.place(8), halves: [(); 2].map(|()| frame.place(8)) }
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
            let points = moving().any(|row| !row.pairs) || between.contains(&lane);
            let pairs = moving().any(|row| row.pairs);
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
            self.write_masks(self.places.tail);
            self.asm.rr(Code::VEX_Kmovq_kr_r64, TAIL, Register::RAX);
        } else {
            self.write_flags();
        }
    }

    /// Stores the masks of `REMAINING` points, with AVX-512. Leaves the mask of points in RAX.
    pub(super) fn write_masks(&mut self, masks: Masks) {
        let (rax, rcx) = (Register::RAX, REMAINING);
        let all = |w: &mut Self| {
            w.asm.constant(rax, u64::MAX);
            w.asm.rrr(Code::VEX_Bzhi_r64_rm64_r64, rax, rax, rcx);
        };
        if self.rows.iter().any(|row| row.pairs) {
            self.asm.rr(Code::Add_r64_rm64, rcx, rcx);
            all(self);
            self.asm.store(Mem::frame(masks.halves[0]), rax);
            self.asm.ri(Code::Shr_rm64_imm8, rax, self.schedule.lanes as i32);
            self.asm.store(Mem::frame(masks.halves[1]), rax);
            self.asm.ri(Code::Shr_rm64_imm8, rcx, 1);
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
