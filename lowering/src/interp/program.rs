//! Interprets loop programs, one statement after the other.

use super::{Interpreted, Operands, computed, read, reference_results, write};
use crate::kernel::{CompiledKernel, KInst, KOp, KValue, KernelArgs, Part};
use crate::program::{Condition, Linear, Location, Nest, Program, Stmt, Storage};
use rewright_ir::{EvalError, Scalar};
use smallvec::SmallVec;

/// A loop program that is interpreted.
pub(super) struct InterpretedProgram {
    pub(super) program: Program,
    /// For each buffer: the number among those of the caller, and of its first stride.
    pub(super) callers: Vec<Option<(usize, usize)>>,
}

impl InterpretedProgram {
    pub(super) fn new(program: &Program) -> InterpretedProgram {
        let mut callers = vec![None; program.buffers.len()];
        for (nth, (buffer, stride)) in program.caller_buffers().enumerate() {
            callers[buffer] = Some((nth, stride));
        }
        InterpretedProgram { program: program.clone(), callers }
    }
}

impl CompiledKernel for InterpretedProgram {
    fn schedule(&self) -> String {
        "interpreted, one point after the other".to_string()
    }

    unsafe fn call(&self, args: &KernelArgs) {
        let program = &self.program;
        let locals = program.buffers.iter().map(|buffer| match &buffer.storage {
            Storage::Caller { .. } => Vec::new(),
            Storage::Local { extents } => {
                let zero = Scalar::zero(buffer.dtype.real());
                vec![[zero; 2]; extents.iter().map(|&n| n as usize).product()]
            }
        });
        let values = program.values.iter().map(|&dtype| Scalar::zero(dtype)).collect();
        let mut run = ProgramRun { code: self, args, values, locals: locals.collect() };
        // SAFETY: the caller's promise is passed on.
        if let Err(Stopped(error)) = unsafe { run.scope(&program.body) } {
            // SAFETY: the caller gives a status that is valid for the call and not shared.
            let status = unsafe { &mut *args.status };
            status.failed = 1;
            status.error = error;
        }
    }
}

/// The program ended early: with the error of an instruction, or by [`Stmt::Fail`].
struct Stopped(Option<Box<EvalError>>);

/// One call.
struct ProgramRun<'a> {
    code: &'a InterpretedProgram,
    args: &'a KernelArgs,
    values: Vec<Scalar>,
    /// The elements of local buffers, as their two parts.
    locals: Vec<Vec<[Scalar; 2]>>,
}

impl ProgramRun<'_> {
    /// # Safety
    /// As [`CompiledKernel::call`].
    unsafe fn scope(&mut self, stmts: &[Stmt]) -> Result<(), Stopped> {
        for stmt in stmts {
            match stmt {
                Stmt::Inst(inst) => {
                    // SAFETY: passed on.
                    unsafe { self.inst(inst) }.map_err(|error| Stopped(Some(Box::new(error))))?;
                }
                Stmt::Load(value, location) => {
                    // SAFETY: passed on.
                    self.values[value.0 as usize] = unsafe { self.load(location) };
                }
                Stmt::Local(buffer) => self.clear(*buffer),
                Stmt::Store(location, value) => {
                    // SAFETY: passed on.
                    unsafe { self.store(location, self.values[value.0 as usize]) };
                }
                Stmt::For(nest) => {
                    let lo = self.form(&nest.lo);
                    let hi = nest.hi.iter().map(|form| self.form(form)).min().unwrap_or(lo);
                    for index in lo..hi {
                        self.values[nest.index.0 as usize] = Scalar::I64(index);
                        // SAFETY: passed on.
                        unsafe { self.scope(&nest.body) }?;
                    }
                }
                Stmt::If(branch) => {
                    let holds = match &branch.condition {
                        Condition::Value(value) => self.values[value.0 as usize].truthy(),
                        Condition::NotNegative(forms) => forms.iter().all(|form| self.form(form) >= 0),
                    };
                    // SAFETY: passed on.
                    unsafe { self.scope(if holds { &branch.then } else { &branch.otherwise }) }?;
                }
                // SAFETY: passed on.
                Stmt::Nest(nest) => unsafe { self.nest(nest) },
                // Reductions are expanded before.
                Stmt::Reduce(_) | Stmt::Combine(_) | Stmt::Fail => return Err(Stopped(None)),
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`CompiledKernel::call`].
    unsafe fn inst(&mut self, inst: &KInst) -> Result<(), EvalError> {
        let operands = Operands::new(&self.values, &inst.args);
        let args = operands.all();
        let first = inst.first.0 as usize;
        match &inst.op {
            KOp::Reference(reference) => reference_results(reference, args, &mut self.values[first..])?,
            KOp::Param(n) => {
                let dtype = self.code.program.params[*n as usize];
                // SAFETY: the caller promises a word for each parameter, and the program is verified.
                self.values[first] = Scalar::from_bits(dtype, (unsafe { *self.args.params.add(*n as usize) }, 0));
            }
            _ => self.values[first] = computed(inst, args, self.code.program.values[first])?,
        }
        Ok(())
    }

    /// Interprets the kernel of a nest, which can't fail.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`].
    unsafe fn nest(&self, nest: &Nest) {
        let extent = |(lo, hi): &(Linear, SmallVec<[Linear; 1]>)| {
            let lo = self.form(lo);
            hi.iter().map(|hi| self.form(hi)).min().map_or(0, |hi| hi.saturating_sub(lo).max(0)) as u64
        };
        let extents: Vec<u64> = nest.bounds.iter().map(extent).collect();
        if extents.contains(&0) {
            return;
        }
        let (mut pointers, mut strides) = (Vec::new(), Vec::new());
        for buffer in &nest.buffers {
            // SAFETY: passed on.
            pointers.push(unsafe { self.address(&buffer.first) });
            let (_, first) = self.code.callers[buffer.first.buffer as usize].unwrap_or_default();
            strides.extend(buffer.along.iter().map(|steps| {
                // SAFETY: the caller promises a stride for each dim of each of its buffers.
                let along =
                    |(dim, step): (usize, &i64)| step.wrapping_mul(unsafe { *self.args.strides.add(first + dim) });
                steps.iter().enumerate().map(along).fold(0, i64::wrapping_add)
            }));
        }
        let params: Vec<u64> = nest.params.iter().map(|param| self.values[param.0 as usize].bits().0).collect();
        let kernel = Interpreted { kernel: (*nest.kernel).clone(), levels: nest.kernel.levels() };
        let kernel: &dyn CompiledKernel = &kernel;
        // SAFETY: the kernel has these loops, buffers and parameters, as the program is verified; its points
        // are elements that the loops of the program access.
        unsafe { kernel.run(&extents, &pointers, &strides, &params) };
    }

    /// Makes the contents of a local buffer what no program expects.
    fn clear(&mut self, buffer: u32) {
        let odd = Scalar::from_bits(self.code.program.buffers[buffer as usize].dtype.real(), (0x5a, 0));
        self.locals[buffer as usize].fill([odd; 2]);
    }

    fn form(&self, form: &Linear) -> i64 {
        form.terms().iter().fold(form.constant, |sum, &(KValue(value), coefficient)| {
            let Scalar::I64(x) = self.values[value as usize] else { return sum };
            sum.wrapping_add(x.wrapping_mul(coefficient))
        })
    }

    /// # Safety
    /// As [`CompiledKernel::call`].
    unsafe fn load(&self, location: &Location) -> Scalar {
        let buffer = &self.code.program.buffers[location.buffer as usize];
        match &buffer.storage {
            Storage::Local { extents } => {
                self.locals[location.buffer as usize][self.local_index(extents, location)][location.part as usize]
            }
            // SAFETY: the caller promises that elements at positions inside of its buffers are valid to read.
            Storage::Caller { .. } => unsafe { read(self.address(location), buffer.dtype.real()) },
        }
    }

    /// # Safety
    /// As [`CompiledKernel::call`].
    unsafe fn store(&mut self, location: &Location, value: Scalar) {
        match &self.code.program.buffers[location.buffer as usize].storage {
            Storage::Local { extents } => {
                let index = self.local_index(extents, location);
                self.locals[location.buffer as usize][index][location.part as usize] = value;
            }
            // SAFETY: the caller promises that elements at positions inside of its buffers are valid to
            // write.
            Storage::Caller { .. } => unsafe { write(self.address(location), value) },
        }
    }

    fn local_index(&self, extents: &[u32], location: &Location) -> usize {
        let positions = location.at.iter().map(|form| self.form(form));
        extents.iter().zip(positions).fold(0, |index, (&extent, position)| index * extent as usize + position as usize)
    }

    /// The address of an element of a buffer of the caller.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`].
    unsafe fn address(&self, location: &Location) -> *mut u8 {
        let (nth, first) = self.code.callers[location.buffer as usize].unwrap_or_default();
        let real = self.code.program.buffers[location.buffer as usize].dtype.real();
        let mut offset = if location.part == Part::Im { real.size() as i64 } else { 0 };
        for (dim, form) in location.at.iter().enumerate() {
            // SAFETY: the caller promises a stride for each dim of each of its buffers.
            let stride = unsafe { *self.args.strides.add(first + dim) };
            offset = offset.wrapping_add(stride.wrapping_mul(self.form(form)));
        }
        // SAFETY: the caller promises an address for each of its buffers.
        let base = unsafe { *self.args.pointers.add(nth) };
        base.wrapping_offset(offset as isize)
    }
}
