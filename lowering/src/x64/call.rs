//! Calls of functions outside of the code.
//!
//! At a call for all lanes, every live value is spilled to the frame before. A call under a condition that
//! seldom holds is written after the function (cold code). It saves and restores the registers, so that the
//! hot path is a test and a branch that is not taken.

use super::allocate::{File, Mode, Writer, vector_register};
use super::asm::{Label, Mem, Operand};
use super::codes::{self, masked_move};
use super::helpers::STRIDE;
use super::machine::{Call, Class, Unless, Width};
use super::unsupported;
use crate::kernel::KernelError;
use iced_x86::{Code, Register};
use smallvec::SmallVec;

/// The calls that are written after the function.
#[derive(Default)]
pub struct Cold {
    calls: Vec<ColdCall>,
    /// The frame offset of the area for saved registers: 32 vectors and 8 masks.
    saved: Option<u32>,
}

struct ColdCall {
    call: Call,
    mode: Mode,
    /// The instruction of the kernel.
    number: u32,
    enter: Label,
    resume: Label,
    args: SmallVec<[(Class, Register); 2]>,
    guard: (Class, Register),
    /// The register that holds the alternative value, and receives the result in the lanes of the guard.
    to: Register,
    width: Width,
    /// Live vector and mask registers, one bit each.
    saved: [u32; 2],
}

impl Writer<'_> {
    /// Writes a call for all lanes.
    pub(super) fn call(&mut self, file: &mut File<'_>, call: &Call) -> Result<(), KernelError> {
        for (n, &v) in (0..).zip(&call.args) {
            let register = self.source(file, v, &mut 0)?;
            self.keep(self.places.args + n * STRIDE as u32, file.class(v), register);
        }
        self.used(file, &call.args);
        for v in file.vectors.into_iter().flatten() {
            self.spill(file, v);
        }
        for v in file.masks.into_iter().flatten() {
            self.spill(file, v);
        }
        self.call_helper(call, file.mode);
        let Class::Vector(width) = file.class(call.dst) else { return Err(unsupported("a call for a mask")) };
        let to = self.room(file, call.dst, 0)?;
        self.load_result(call, file.mode, width, to);
        self.defined(file, call.dst)
    }

    /// Writes a call for the lanes of a guard. The other lanes of the result are the alternative value,
    /// whose register is reused if it dies here.
    pub(super) fn call_where(
        &mut self,
        file: &mut File<'_>,
        call: &Call,
        Unless { guard, otherwise }: Unless,
    ) -> Result<(), KernelError> {
        let (mut vectors, mut masks) = (0, 0);
        let mut args = SmallVec::new();
        for &v in &call.args {
            args.push((file.class(v), self.source(file, v, &mut vectors)?));
        }
        let class = file.class(guard);
        let busy = if class == Class::Mask { &mut masks } else { &mut vectors };
        let guard = (class, self.source(file, guard, busy)?);
        let Class::Vector(width) = file.class(otherwise) else { return Err(unsupported("a call for a mask")) };
        let other = self.source(file, otherwise, &mut vectors)?;
        let uses = call.uses();
        let times = uses.iter().filter(|&&v| v == otherwise).count() as u32;
        let to = match file.held(otherwise).filter(|_| times == 1 && file.dies(otherwise, 1)) {
            Some(number) => {
                file.take(number, call.dst);
                other
            }
            None => {
                let to = self.room(file, call.dst, vectors)?;
                self.copy_register(width, to, other);
                to
            }
        };
        let held = |of: &[Option<_>]| of.iter().enumerate().fold(0, |bits, (n, v)| bits | u32::from(v.is_some()) << n);
        let saved = [held(&file.vectors) | file.pinned[0], held(&file.masks) | file.pinned[1]];
        let (enter, resume) = (self.asm.label(), self.asm.label());
        let test = match class {
            Class::Mask => Code::VEX_Kortestq_kr_kr,
            Class::Vector(Width::X) => Code::VEX_Vptest_xmm_xmmm128,
            Class::Vector(_) => Code::VEX_Vptest_ymm_ymmm256,
        };
        self.asm.rr(test, guard.1, guard.1);
        self.asm.jump(Code::Jne_rel32_64, enter);
        self.asm.bind(resume);
        self.multiple = None;
        let number = self.marks.last().map_or(u32::MAX, |(_, number)| *number);
        let (call, mode) = (call.clone(), file.mode);
        self.used(file, &uses);
        self.defined(file, call.dst)?;
        self.cold.calls.push(ColdCall { call, mode, number, enter, resume, args, guard, to, width, saved });
        Ok(())
    }

    /// Writes the calls that are placed after the function.
    pub(super) fn cold_calls(&mut self) -> Result<(), KernelError> {
        for cold in std::mem::take(&mut self.cold.calls) {
            self.marks.push((self.asm.here(), cold.number));
            self.asm.bind(cold.enter);
            let registers = self.saved_registers(cold.saved);
            for &(at, class, register) in &registers {
                self.keep(at, class, register);
            }
            for (n, &(class, register)) in (0..).zip(&cold.args) {
                self.keep(self.places.args + n * STRIDE as u32, class, register);
            }
            self.call_helper(&cold.call, cold.mode);
            for &(at, class, register) in &registers {
                self.load_origin(super::machine::Origin::Home(at), class, register)?;
            }
            self.merge_result(&cold);
            self.asm.jump(Code::Jmp_rel32_64, cold.resume);
        }
        Ok(())
    }

    /// The registers of these bits, with a frame offset for each.
    fn saved_registers(&mut self, [vectors, masks]: [u32; 2]) -> Vec<(u32, Class, Register)> {
        let bytes = self.schedule.level.register_bytes() as u32;
        let frame = &mut self.frame;
        let first = *self.cold.saved.get_or_insert_with(|| frame.place(32 * bytes as usize + 8 * 8));
        let whole = if self.evex() { Width::Z } else { Width::Y };
        let of = |bits: u32| (0..32u8).filter(move |n| bits & 1 << n != 0);
        let vector = |n: u8| (first + u32::from(n) * bytes, Class::Vector(whole), vector_register(whole, n));
        let mask = |n: u8| (first + 32 * bytes + u32::from(n) * 8, Class::Mask, Register::K0 + u32::from(n));
        of(vectors).map(vector).chain(of(masks).map(mask)).collect()
    }

    /// Loads the result of a call in all lanes.
    fn load_result(&mut self, call: &Call, mode: Mode, width: Width, to: Register) {
        let form = match (mode, call.size) {
            (Mode::Uniform, size) => super::rows::broadcast_form(size),
            _ => &codes::MOV_PS_LOAD,
        };
        let result = Operand::Mem(Mem::frame(self.places.result));
        self.asm.vector(form.code(self.evex(), width), &[Operand::Reg(to), result], None);
    }

    /// Merges the result of a call into the lanes of the guard.
    fn merge_result(&mut self, cold: &ColdCall) {
        let ColdCall { call, to, guard: (_, guard), .. } = cold;
        let width = cold.width;
        let scratch = self.scratch(width);
        self.load_result(call, cold.mode, width, scratch);
        let (to, from, guard) = (Operand::Reg(*to), Operand::Reg(scratch), *guard);
        if self.evex() {
            self.asm.vector(masked_move(call.size).code(true, width), &[to, from], Some((guard, false)));
        } else {
            let form = if call.size == 4 { &codes::BLENDV_PS } else { &codes::BLENDV_PD };
            self.asm.vector(form.code(false, width), &[to, to, from, Operand::Reg(guard)], None);
        }
    }
}
