//! Fused multiply-add.
//!
//! The instruction overwrites one of its operands, and one may be in memory. It has an encoding for each
//! choice. An operand that dies here is overwritten, so that a copy is needed only if there is none.

use super::allocate::{File, Writer, vector_register};
use super::asm::{Mem, Operand};
use super::codes::{self, Form};
use super::machine::{Op, V};
use super::unsupported;
use crate::kernel::KernelError;
use smallvec::SmallVec;

/// `a * b + c` with signs. The three encodings overwrite the first factor, the first factor, and the addend;
/// their memory operand is the second factor, the addend, and a factor.
#[derive(Debug)]
pub struct MultiplyAdd {
    /// `first = first * third + second`.
    by132: Form,
    /// `first = second * first + third`.
    by213: Form,
    /// `first = second * third + first`.
    by231: Form,
}

macro_rules! multiply_adds {
    ($($name:ident $broadcast:literal: $($by132:ident)*, $($by213:ident)*, $($by231:ident)*;)*) => {$(
        pub static $name: MultiplyAdd = MultiplyAdd {
            by132: codes::form!($broadcast: $($by132)*),
            by213: codes::form!($broadcast: $($by213)*),
            by231: codes::form!($broadcast: $($by231)*),
        };
    )*};
}

multiply_adds! {
    MADD_PS 4:
        VEX_Vfmadd132ps_xmm_xmm_xmmm128 VEX_Vfmadd132ps_ymm_ymm_ymmm256 EVEX_Vfmadd132ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfmadd132ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfmadd132ps_zmm_k1z_zmm_zmmm512b32_er,
        VEX_Vfmadd213ps_xmm_xmm_xmmm128 VEX_Vfmadd213ps_ymm_ymm_ymmm256 EVEX_Vfmadd213ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfmadd213ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
        VEX_Vfmadd231ps_xmm_xmm_xmmm128 VEX_Vfmadd231ps_ymm_ymm_ymmm256 EVEX_Vfmadd231ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfmadd231ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er;
    MADD_PD 8:
        VEX_Vfmadd132pd_xmm_xmm_xmmm128 VEX_Vfmadd132pd_ymm_ymm_ymmm256 EVEX_Vfmadd132pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfmadd132pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfmadd132pd_zmm_k1z_zmm_zmmm512b64_er,
        VEX_Vfmadd213pd_xmm_xmm_xmmm128 VEX_Vfmadd213pd_ymm_ymm_ymmm256 EVEX_Vfmadd213pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfmadd213pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
        VEX_Vfmadd231pd_xmm_xmm_xmmm128 VEX_Vfmadd231pd_ymm_ymm_ymmm256 EVEX_Vfmadd231pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfmadd231pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er;
    MSUB_PS 4:
        VEX_Vfmsub132ps_xmm_xmm_xmmm128 VEX_Vfmsub132ps_ymm_ymm_ymmm256 EVEX_Vfmsub132ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfmsub132ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfmsub132ps_zmm_k1z_zmm_zmmm512b32_er,
        VEX_Vfmsub213ps_xmm_xmm_xmmm128 VEX_Vfmsub213ps_ymm_ymm_ymmm256 EVEX_Vfmsub213ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfmsub213ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfmsub213ps_zmm_k1z_zmm_zmmm512b32_er,
        VEX_Vfmsub231ps_xmm_xmm_xmmm128 VEX_Vfmsub231ps_ymm_ymm_ymmm256 EVEX_Vfmsub231ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfmsub231ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfmsub231ps_zmm_k1z_zmm_zmmm512b32_er;
    MSUB_PD 8:
        VEX_Vfmsub132pd_xmm_xmm_xmmm128 VEX_Vfmsub132pd_ymm_ymm_ymmm256 EVEX_Vfmsub132pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfmsub132pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfmsub132pd_zmm_k1z_zmm_zmmm512b64_er,
        VEX_Vfmsub213pd_xmm_xmm_xmmm128 VEX_Vfmsub213pd_ymm_ymm_ymmm256 EVEX_Vfmsub213pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfmsub213pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfmsub213pd_zmm_k1z_zmm_zmmm512b64_er,
        VEX_Vfmsub231pd_xmm_xmm_xmmm128 VEX_Vfmsub231pd_ymm_ymm_ymmm256 EVEX_Vfmsub231pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfmsub231pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er;
    NMADD_PS 4:
        VEX_Vfnmadd132ps_xmm_xmm_xmmm128 VEX_Vfnmadd132ps_ymm_ymm_ymmm256 EVEX_Vfnmadd132ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfnmadd132ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfnmadd132ps_zmm_k1z_zmm_zmmm512b32_er,
        VEX_Vfnmadd213ps_xmm_xmm_xmmm128 VEX_Vfnmadd213ps_ymm_ymm_ymmm256 EVEX_Vfnmadd213ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfnmadd213ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfnmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
        VEX_Vfnmadd231ps_xmm_xmm_xmmm128 VEX_Vfnmadd231ps_ymm_ymm_ymmm256 EVEX_Vfnmadd231ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfnmadd231ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er;
    NMADD_PD 8:
        VEX_Vfnmadd132pd_xmm_xmm_xmmm128 VEX_Vfnmadd132pd_ymm_ymm_ymmm256 EVEX_Vfnmadd132pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfnmadd132pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfnmadd132pd_zmm_k1z_zmm_zmmm512b64_er,
        VEX_Vfnmadd213pd_xmm_xmm_xmmm128 VEX_Vfnmadd213pd_ymm_ymm_ymmm256 EVEX_Vfnmadd213pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfnmadd213pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
        VEX_Vfnmadd231pd_xmm_xmm_xmmm128 VEX_Vfnmadd231pd_ymm_ymm_ymmm256 EVEX_Vfnmadd231pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfnmadd231pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er;
    NMSUB_PS 4:
        VEX_Vfnmsub132ps_xmm_xmm_xmmm128 VEX_Vfnmsub132ps_ymm_ymm_ymmm256 EVEX_Vfnmsub132ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfnmsub132ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfnmsub132ps_zmm_k1z_zmm_zmmm512b32_er,
        VEX_Vfnmsub213ps_xmm_xmm_xmmm128 VEX_Vfnmsub213ps_ymm_ymm_ymmm256 EVEX_Vfnmsub213ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfnmsub213ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfnmsub213ps_zmm_k1z_zmm_zmmm512b32_er,
        VEX_Vfnmsub231ps_xmm_xmm_xmmm128 VEX_Vfnmsub231ps_ymm_ymm_ymmm256 EVEX_Vfnmsub231ps_xmm_k1z_xmm_xmmm128b32 EVEX_Vfnmsub231ps_ymm_k1z_ymm_ymmm256b32 EVEX_Vfnmsub231ps_zmm_k1z_zmm_zmmm512b32_er;
    NMSUB_PD 8:
        VEX_Vfnmsub132pd_xmm_xmm_xmmm128 VEX_Vfnmsub132pd_ymm_ymm_ymmm256 EVEX_Vfnmsub132pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfnmsub132pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfnmsub132pd_zmm_k1z_zmm_zmmm512b64_er,
        VEX_Vfnmsub213pd_xmm_xmm_xmmm128 VEX_Vfnmsub213pd_ymm_ymm_ymmm256 EVEX_Vfnmsub213pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfnmsub213pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfnmsub213pd_zmm_k1z_zmm_zmmm512b64_er,
        VEX_Vfnmsub231pd_xmm_xmm_xmmm128 VEX_Vfnmsub231pd_ymm_ymm_ymmm256 EVEX_Vfnmsub231pd_xmm_k1z_xmm_xmmm128b64 EVEX_Vfnmsub231pd_ymm_k1z_ymm_ymmm256b64 EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er;
}

impl MultiplyAdd {
    /// The form for lanes of 4 or 8 bytes, with the product or its negation, and the addend or its negation.
    pub fn signed(size: usize, minus_product: bool, minus_addend: bool) -> &'static MultiplyAdd {
        match (size, minus_product, minus_addend) {
            (4, false, false) => &MADD_PS,
            (4, false, true) => &MSUB_PS,
            (4, true, false) => &NMADD_PS,
            (4, true, true) => &NMSUB_PS,
            (_, false, false) => &MADD_PD,
            (_, false, true) => &MSUB_PD,
            (_, true, false) => &NMADD_PD,
            (_, true, true) => &NMSUB_PD,
        }
    }

    /// One of the encodings.
    pub fn plain(&'static self) -> &'static Form {
        &self.by213
    }

    /// The bytes of the element that a memory operand can broadcast.
    pub fn broadcast(&self) -> u8 {
        self.by213.broadcast
    }
}

/// The locations of the operands: two factors and an addend.
struct Operands {
    /// The registers, by operand.
    registers: [Option<u8>; 3],
    /// The operand in memory.
    memory: Option<(usize, Mem)>,
    /// Operands in registers that may be overwritten.
    free: SmallVec<[usize; 3]>,
}

impl Writer<'_> {
    /// Writes a multiply-add.
    pub(super) fn multiply_add(
        &mut self,
        file: &mut File<'_>,
        op: &Op,
        forms: &'static MultiplyAdd,
    ) -> Result<(), KernelError> {
        let mut busy = 0;
        let mut at = self.multiply_add_operands(file, op, forms, &mut busy)?;
        // The spill slot of an operand becomes free after this instruction, not before.
        let origins: SmallVec<[_; 3]> = op.srcs.iter().map(|&v| file.origin(v)).collect();
        self.used(file, &op.srcs);
        let target = file.target(op.dst);
        let in_place = target.and_then(|number| (0..3).find(|&n| at.registers[n] == Some(number)));
        let over = in_place.or(at.free.first().copied().filter(|_| target.is_none()));
        let number = match over.and_then(|n| at.registers[n]).or(target) {
            Some(number) => {
                file.take(number, op.dst);
                number
            }
            None => {
                self.room(file, op.dst, busy)?;
                file.held(op.dst).ok_or_else(|| unsupported("a result that is nowhere"))?
            }
        };
        let to = vector_register(op.width, number);
        let over = match (over, at.memory) {
            (Some(over), _) => over,
            // The operand in memory is loaded, to be overwritten.
            (None, Some((n, _))) => {
                self.load_origin(origins[n], file.class(op.srcs[n]), to)?;
                at.memory = None;
                at.registers[n] = Some(number);
                n
            }
            (None, None) => {
                let from = at.registers[0].ok_or_else(|| unsupported("a factor that is nowhere"))?;
                self.copy_register(op.width, to, vector_register(op.width, from));
                at.registers[0] = Some(number);
                0
            }
        };
        self.write_multiply_add(op, forms, &at, over)?;
        self.defined(file, op.dst)
    }

    /// Locates the operands; loads all but one into registers.
    fn multiply_add_operands(
        &mut self,
        file: &mut File<'_>,
        op: &Op,
        forms: &MultiplyAdd,
        busy: &mut u32,
    ) -> Result<Operands, KernelError> {
        let times = |v: V| op.srcs.iter().filter(|&&src| src == v).count() as u32;
        let memory = [2, 1, 0].into_iter().find_map(|n| {
            let mem =
                file.memory_operand(op.srcs[n], op.width, forms.broadcast()).filter(|_| times(op.srcs[n]) == 1)?;
            Some((n, mem))
        });
        let mut operands = Operands { registers: [None; 3], memory, free: SmallVec::new() };
        for n in (0..3).filter(|&n| memory.is_none_or(|(in_memory, _)| in_memory != n)) {
            let v = op.srcs[n];
            let elsewhere = file.held(v).is_none();
            self.source(file, v, busy)?;
            operands.registers[n] = file.held(v);
            if file.dies(v, times(v)) {
                operands.free.insert(0, n);
            } else if elsewhere && times(v) == 1 {
                // An operand that was loaded for this instruction still has its copy in memory.
                operands.free.push(n);
            }
        }
        Ok(operands)
    }

    fn write_multiply_add(
        &mut self,
        op: &Op,
        forms: &'static MultiplyAdd,
        at: &Operands,
        over: usize,
    ) -> Result<(), KernelError> {
        let operand = |n: usize| match (at.registers[n], at.memory) {
            (Some(number), _) => Ok(Operand::Reg(vector_register(op.width, number))),
            (None, Some((_, mem))) => Ok(Operand::Mem(mem)),
            (None, None) => Err(unsupported("an operand that is nowhere")),
        };
        let in_memory = at.memory.map(|(n, _)| n);
        // Finds the form and the order of operands; the last one may be in memory.
        let (form, order) = match over {
            2 if in_memory == Some(0) => (&forms.by231, [2, 1, 0]),
            2 => (&forms.by231, [2, 0, 1]),
            n if in_memory == Some(1 - n) => (&forms.by132, [n, 2, 1 - n]),
            n => (&forms.by213, [n, 1 - n, 2]),
        };
        let operands = [operand(order[0])?, operand(order[1])?, operand(order[2])?];
        self.asm.vector(form.code(self.evex(), op.width), &operands, None);
        Ok(())
    }
}
