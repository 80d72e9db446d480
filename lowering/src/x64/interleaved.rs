//! The version of a kernel for interleaved buffers: whether a call fits it.

use super::allocate::Writer;
use super::asm::Mem;
use super::nest::stride_offset;
use super::round_plan::RoundPlan;
use crate::kernel::{Interleaved, Kernel, KernelArgs};
use iced_x86::{Code, Register};
use std::mem::offset_of;

/// What the version for interleaved buffers expects, and the address of the one for all calls.
pub struct Guard<'k> {
    pub groups: &'k [&'k Interleaved],
    pub otherwise: u64,
}

/// The most elements of a group, whose number the instruction for masks takes as a byte.
const MOST_COUNT: usize = 255;

/// Whether there are vectors of interleaved elements: with AVX2 those of pairs.
pub fn has_vectors(schedule: &RoundPlan, group: &Interleaved) -> bool {
    let parts = group.parts.len();
    match schedule.level.is_evex() {
        true => parts * schedule.lanes <= MOST_COUNT,
        false => parts == 2 && group.missing() == 0,
    }
}

impl Writer<'_> {
    /// Jumps to the version for all calls unless buffers are interleaved: the stride of each along the
    /// innermost axis is the size of all parts, those along other axes are equal, and the first elements are
    /// adjacent. `RDI` is the address of the arguments. Changes RAX, RCX and RDX.
    pub(super) fn guard(&mut self, kernel: &Kernel, guard: &Guard<'_>) {
        let (rax, rcx, rdx) = (Register::RAX, Register::RCX, Register::RDX);
        let (other, fits) = (self.asm.label(), self.asm.label());
        self.asm.load(rcx, Mem::at(Register::RDI, offset_of!(KernelArgs, pointers) as i64));
        self.asm.load(rdx, Mem::at(Register::RDI, offset_of!(KernelArgs, strides) as i64));
        for group in guard.groups {
            let mut buffers = group.buffers();
            let Some((_, first)) = buffers.next() else { continue };
            let size = kernel.buffers[first as usize].dtype.size();
            let stride = |buffer: u32, axis: usize| Mem::at(rdx, stride_offset(kernel, buffer, axis));
            self.asm.mi(Code::Cmp_rm64_imm32, stride(first, kernel.axes - 1), (size * group.parts.len()) as i32);
            self.asm.jump(Code::Jne_rel32_64, other);
            for (part, buffer) in buffers {
                self.asm.load(rax, Mem::at(rcx, 8 * i64::from(buffer)));
                self.asm.rm(Code::Sub_r64_rm64, rax, Mem::at(rcx, 8 * i64::from(first)));
                self.asm.ri(Code::Cmp_rm64_imm32, rax, (size * part) as i32);
                self.asm.jump(Code::Jne_rel32_64, other);
                for axis in (0..kernel.axes).filter(|&axis| kernel.buffers[first as usize].varies[axis]) {
                    self.asm.load(rax, stride(buffer, axis));
                    self.asm.rm(Code::Cmp_r64_rm64, rax, stride(first, axis));
                    self.asm.jump(Code::Jne_rel32_64, other);
                }
            }
        }
        self.asm.jump(Code::Jmp_rel32_64, fits);
        self.asm.bind(other);
        self.asm.constant(rax, guard.otherwise);
        self.asm.r(Code::Jmp_rm64, rax);
        self.asm.bind(fits);
    }
}
