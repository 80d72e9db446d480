//! Calls of kernels: the nests of a loop program.
//!
//! The strides of a kernel's buffers do not change during a call of the program, so they are stored at its
//! start. Extents, addresses and parameters are stored for each call of the kernel.

use super::program::ProgramEmitter;
use super::unsupported;
use crate::kernel::{CompiledKernel, KValue, KernelArgs, KernelError};
use crate::program::Nest;
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, StackSlot, Value, types};
use cranelift_codegen::isa::CallConv;
use std::mem::offset_of;

/// The stack slots for the arguments of kernels.
#[derive(Default)]
pub struct NestFrame {
    /// The strides of each nest, in the order of the program.
    strides: Vec<StackSlot>,
    /// The number of nests that are emitted.
    emitted: usize,
    /// The most words of extents, addresses and parameters of a nest.
    words: usize,
    /// These words, and after them the arguments.
    slot: Option<StackSlot>,
}

/// Calls a kernel; called by the code.
///
/// # Safety
/// `kernel` is alive, and `args` is as [`CompiledKernel::call`] says.
unsafe extern "C" fn call_kernel(kernel: *const Box<dyn CompiledKernel>, args: *const KernelArgs) {
    // SAFETY: the code passes a kernel that is alive, and arguments for it.
    unsafe { (**kernel).call(&*args) }
}

impl ProgramEmitter<'_> {
    /// Prepares the call of a nest, at the start of the program.
    pub(super) fn prepare(&mut self, nest: &Nest, loops: &[KValue]) -> Result<(), KernelError> {
        let slot = self.e.slot(nest.buffers.len() * nest.bounds.len() * 8)?;
        self.frame.strides.push(slot);
        self.frame.words = self.frame.words.max(nest.bounds.len() + nest.buffers.len() + nest.params.len());
        let mut offset = 0;
        for buffer in &nest.buffers {
            self.access(&buffer.first, loops)?;
            for steps in &buffer.along {
                let stride = self.stride(buffer.first.buffer, steps)?;
                self.e.b.ins().stack_store(types::I64, stride, slot, offset);
                offset += 8;
            }
        }
        Ok(())
    }

    /// Calls the kernel of a nest.
    pub(super) fn kernel_call(&mut self, nest: &Nest) -> Result<(), KernelError> {
        let strides = self.frame.strides[self.frame.emitted];
        self.frame.emitted += 1;
        let slot = match self.frame.slot {
            Some(slot) => slot,
            None => {
                let slot = self.e.slot(self.frame.words * 8 + size_of::<KernelArgs>())?;
                *self.frame.slot.insert(slot)
            }
        };
        let mut words: Vec<Value> = Vec::new();
        for (lo, hi) in &nest.bounds {
            let (lo, hi) = (self.form(lo)?, self.least(hi)?);
            let (extent, zero) = (self.e.b.ins().isub(hi, lo), self.e.int(types::I64, 0));
            words.push(self.e.b.ins().smax(extent, zero));
        }
        for buffer in &nest.buffers {
            let (address, offset) = self.address(&buffer.first)?;
            let offset = self.e.int(types::I64, offset.into());
            words.push(self.e.offset(address, offset));
        }
        for (&param, &dtype) in nest.params.iter().zip(&nest.kernel.params) {
            let value = self.value(param)?;
            words.push(self.e.value_to_word(dtype, value));
        }
        for (n, &word) in words.iter().enumerate() {
            self.e.b.ins().stack_store(types::I64, word, slot, n as i32 * 8);
        }
        let args = self.frame.words as i32 * 8;
        let (buffers, params) = (nest.bounds.len(), nest.bounds.len() + nest.buffers.len());
        let status = self.e.args()?.status;
        for (field, word) in [
            (offset_of!(KernelArgs, extents), self.e.b.ins().stack_addr(types::I64, slot, 0)),
            (offset_of!(KernelArgs, pointers), self.e.b.ins().stack_addr(types::I64, slot, buffers as i32 * 8)),
            (offset_of!(KernelArgs, strides), self.e.b.ins().stack_addr(types::I64, strides, 0)),
            (offset_of!(KernelArgs, params), self.e.b.ins().stack_addr(types::I64, slot, params as i32 * 8)),
            (offset_of!(KernelArgs, status), status),
        ] {
            self.e.b.ins().stack_store(types::I64, word, slot, args + field as i32);
        }
        let kernel = self.kernels.get(nest.number).ok_or_else(|| unsupported("a nest without a kernel"))?;
        let args = self.e.b.ins().stack_addr(types::I64, slot, args);
        // The fence after streaming stores is that of the program.
        if let Some(entry) = kernel.entry() {
            let mut signature = Signature::new(CallConv::SystemV);
            signature.params.push(AbiParam::new(types::I64));
            let signature = self.e.b.import_signature(signature);
            let callee = self.e.int(types::I64, entry as i64);
            self.e.b.ins().call_indirect(signature, callee, &[args]);
            return Ok(());
        }
        let kernel = self.e.int(types::I64, std::ptr::from_ref(kernel) as i64);
        let signature = self.e.signature("kernel", &[types::I64; 2], None);
        let callee = self.e.int(types::I64, call_kernel as *const () as i64);
        self.e.b.ins().call_indirect(signature, callee, &[kernel, args]);
        Ok(())
    }
}
