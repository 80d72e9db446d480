//! The code generator `interp`: interprets kernels as they are written, one instruction and one point at a
//! time. It is the oracle for the other code generators, so it is as simple as possible.

mod program;
mod scalar;

use crate::kernel::{
    CodeGen, CompiledKernel, Fold, KInst, KOp, KValue, Kernel, KernelArgs, KernelError, Part, Reference, Steps,
};
use crate::program::Program;
use rewright_ir::expr::{Fold as RowFold, Order};
use rewright_ir::{DType, Eval, EvalError, Scalar};
use smallvec::SmallVec;

/// The code generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interp;

impl CodeGen for Interp {
    fn name(&self) -> &'static str {
        "interp"
    }
    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn CompiledKernel>, KernelError> {
        kernel.verify()?;
        Ok(Box::new(Interpreted { kernel: kernel.clone(), levels: kernel.levels() }))
    }
    fn compile_program(&self, program: &Program) -> Result<Box<dyn CompiledKernel>, KernelError> {
        program.verify()?;
        let program = program.blocked(Some(REGISTERS)).expanded();
        program.verify()?;
        Ok(Box::new(program::InterpretedProgram::new(&program)))
    }
}

/// The registers of an assumed code generator, for which loops of interpreted programs are blocked.
const REGISTERS: usize = 16;

struct Interpreted {
    kernel: Kernel,
    /// The instructions of each level, in order, by number.
    levels: Vec<Vec<usize>>,
}

impl CompiledKernel for Interpreted {
    fn schedule(&self) -> String {
        "interpreted, one point after the other".to_string()
    }

    unsafe fn call(&self, args: &KernelArgs) {
        let kernel = &self.kernel;
        // SAFETY: the caller promises one extent per axis.
        let extents: Vec<u64> = (0..kernel.axes).map(|axis| unsafe { *args.extents.add(axis) }).collect();
        if extents[..kernel.lanes_level() as usize].contains(&0) {
            return;
        }
        let values = kernel.values.iter().map(|v| Scalar::zero(v.dtype)).collect();
        let mut run = Run { code: self, args, values, index: vec![0; kernel.axes], extents };
        // SAFETY: the caller's promise is forwarded, and every index stays below its extent.
        if let Err((number, error)) = unsafe { run.level(0) } {
            // SAFETY: the caller promises a status that is valid for the call, and that nothing else uses
            // meanwhile.
            let status = unsafe { &mut *args.status };
            let inst = &kernel.insts[number];
            let name = if let KOp::Reference(r) = &inst.op { r.op.0.name } else { "kernel" };
            status.failed = number as u64 + 1;
            status.error = Some(Box::new(error.at(name, inst.loc)));
        }
    }
}

/// One call.
struct Run<'a> {
    code: &'a Interpreted,
    args: &'a KernelArgs,
    extents: Vec<u64>,
    values: Vec<Scalar>,
    index: Vec<u64>,
}

impl Run<'_> {
    /// Runs the instructions of a level, and then the loop inside of it. An error has the number of its
    /// instruction.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`]; the indices of the outer loops are below their extents.
    unsafe fn level(&mut self, level: usize) -> Result<(), (usize, EvalError)> {
        let code = self.code;
        for &number in &code.levels[level] {
            // SAFETY: forwarded.
            unsafe { self.inst(&code.kernel.insts[number]) }.map_err(|e| (number, e))?;
        }
        if let Some(fold) = code.kernel.fold.as_ref().filter(|_| level + 1 == code.kernel.axes) {
            // SAFETY: forwarded.
            return unsafe { self.row(fold, level) };
        }
        if let Some(steps) = code.kernel.steps.as_ref().filter(|_| level + 1 == code.kernel.axes) {
            // SAFETY: forwarded.
            return unsafe { self.steps(steps, level) };
        }
        if level < code.kernel.axes {
            for i in 0..self.extents[level] {
                self.index[level] = i;
                // SAFETY: forwarded; `i` is below the extent.
                unsafe { self.level(level + 1) }?;
            }
        }
        Ok(())
    }

    /// Runs the steps of a point of the vector axis, and the instructions after them.
    ///
    /// # Safety
    /// As [`Run::level`].
    unsafe fn steps(&mut self, steps: &Steps, axis: usize) -> Result<(), (usize, EvalError)> {
        let mut carried = get(&self.values, &steps.first);
        for i in 0..self.extents[axis] {
            self.index[axis] = i;
            set(&mut self.values, &steps.before, &carried);
            // SAFETY: forwarded; `i` is below the extent.
            unsafe { self.level(axis + 1) }?;
            carried = get(&self.values, &steps.after);
        }
        set(&mut self.values, &steps.last, &carried);
        for number in steps.end.clone() {
            // SAFETY: forwarded.
            unsafe { self.inst(&self.code.kernel.insts[number]) }.map_err(|e| (number, e))?;
        }
        Ok(())
    }

    /// Combines the points of the innermost loop, and runs the epilogue with the total.
    ///
    /// # Safety
    /// As [`Run::level`]; the extent of the loop is not 0.
    unsafe fn row(&mut self, fold: &Fold, axis: usize) -> Result<(), (usize, EvalError)> {
        let (code, extent) = (self.code, self.extents[axis]);
        let insts = &code.kernel.insts;
        // Combinations need the values of this call, as the points do.
        let values = std::cell::RefCell::new(std::mem::take(&mut self.values));
        let combine = |left: Tuple, right: Tuple| -> Result<Tuple, (usize, EvalError)> {
            let mut values = values.borrow_mut();
            set(&mut values, &fold.left, &left);
            set(&mut values, &fold.right, &right);
            for number in fold.combine.clone() {
                let inst = &insts[number];
                let first = inst.first.0 as usize;
                let operands = Operands::new(&values, &inst.args);
                values[first] = computed(inst, operands.all(), values[first].dtype()).map_err(|e| (number, e))?;
            }
            Ok(get(&values, &fold.both))
        };
        // A sequential reduction begins with this value even if it is not neutral.
        let begins = fold.neutral.iter().zip(&fold.items);
        let begins = begins.map(|(&bits, &item)| Scalar::from_bits(code.kernel.dtype(item), (bits, 0)));
        let start: Option<Tuple> = (fold.order == Order::Sequential).then(|| begins.collect());
        let mut total = RowFold::new(fold.order, extent as usize, start, combine);
        for i in 0..extent {
            self.index[axis] = i;
            self.values = values.take();
            let done = code.levels[axis + 1].iter().try_for_each(|&number| {
                // SAFETY: forwarded; `i` is below the extent.
                unsafe { self.inst(&insts[number]) }.map_err(|e| (number, e))
            });
            values.replace(std::mem::take(&mut self.values));
            done?;
            let items = get(&values.borrow(), &fold.items);
            total.push(items)?;
        }
        let total = total.finish()?;
        self.values = values.into_inner();
        set(&mut self.values, &fold.totals, &total.unwrap_or_default());
        fold.after.clone().try_for_each(|number| {
            // SAFETY: forwarded; the addresses of the epilogue vary only along the outer loops.
            unsafe { self.inst(&insts[number]) }.map_err(|e| (number, e))
        })
    }

    /// # Safety
    /// As [`Run::level`].
    unsafe fn inst(&mut self, inst: &KInst) -> Result<(), EvalError> {
        let operands = Operands::new(&self.values, &inst.args);
        let args = operands.all();
        let first = inst.first.0 as usize;
        match &inst.op {
            KOp::Store(buffer, part) => {
                // SAFETY: forwarded; the kernel is verified, so the value is of the buffer's dtype.
                unsafe { write(self.address(*buffer, *part), args[0]) };
            }
            KOp::Reference(reference) => reference_results(reference, args, &mut self.values[first..])?,
            KOp::Load(buffer, part) => {
                let dtype = self.code.kernel.buffers[*buffer as usize].dtype.real();
                // SAFETY: forwarded.
                self.values[first] = unsafe { read(self.address(*buffer, *part), dtype) };
            }
            KOp::Param(n) => {
                let dtype = self.code.kernel.params[*n as usize];
                // SAFETY: the caller promises one word per parameter, and the kernel is verified to use no
                // others.
                self.values[first] = Scalar::from_bits(dtype, (unsafe { *self.args.params.add(*n as usize) }, 0));
            }
            KOp::Index(axis) => self.values[first] = Scalar::I64(self.index[*axis as usize] as i64),
            _ => {
                let dtype = self.code.kernel.values[first].dtype;
                self.values[first] = computed(inst, args, dtype)?;
            }
        }
        Ok(())
    }

    /// The address of a buffer's element, or of one part of it, at the current point.
    ///
    /// # Safety
    /// As [`Run::level`].
    unsafe fn address(&self, buffer: u32, part: Part) -> *mut u8 {
        let (kernel, n) = (&self.code.kernel, buffer as usize);
        let b = &kernel.buffers[n];
        let mut offset = if part == Part::Im { b.dtype.real().size() as i64 } else { 0 };
        for axis in (0..kernel.axes).filter(|&axis| b.varies[axis]) {
            // SAFETY: the caller promises a stride for each buffer and axis.
            let stride = unsafe { *self.args.strides.add(n * kernel.axes + axis) };
            offset = offset.wrapping_add(stride.wrapping_mul(self.index[axis] as i64));
        }
        // SAFETY: the caller promises one pointer per buffer.
        let base = unsafe { *self.args.pointers.add(n) };
        base.wrapping_offset(offset as isize)
    }
}

/// The operands of an instruction. Up to three of them are in an array, without an allocation: this is the
/// interpreter's innermost loop.
struct Operands {
    few: [Scalar; 3],
    count: usize,
    many: Vec<Scalar>,
}

impl Operands {
    fn new(values: &[Scalar], which: &[KValue]) -> Operands {
        let mut operands = Operands { few: [Scalar::Bool(false); 3], count: which.len(), many: Vec::new() };
        match operands.few.get_mut(..which.len()) {
            Some(few) => few.iter_mut().zip(which).for_each(|(to, v)| *to = values[v.0 as usize]),
            None => operands.many.extend(which.iter().map(|v| values[v.0 as usize])),
        }
        operands
    }

    fn all(&self) -> &[Scalar] {
        self.few.get(..self.count).unwrap_or(&self.many)
    }
}

/// A tuple of values.
type Tuple = SmallVec<[Scalar; 3]>;

fn get(values: &[Scalar], which: &[KValue]) -> Tuple {
    which.iter().map(|v| values[v.0 as usize]).collect()
}

fn set(values: &mut [Scalar], which: &[KValue], to: &[Scalar]) {
    which.iter().zip(to).for_each(|(v, &scalar)| values[v.0 as usize] = scalar);
}

/// The result of an instruction that depends only on its operands.
fn computed(inst: &KInst, args: &[Scalar], dtype: DType) -> Result<Scalar, EvalError> {
    let undefined = || EvalError::unsupported(format!("{:?} is not defined for {args:?}", inst.op));
    scalar::compute(&inst.op, args, dtype).ok_or_else(undefined)
}

/// # Safety
/// The address holds a float, integer or bool of this dtype, at any alignment.
unsafe fn read(from: *const u8, dtype: DType) -> Scalar {
    let mut word = [0; 8];
    // SAFETY: real dtypes have up to 8 bytes, and the caller promises that all of them are readable.
    unsafe { std::ptr::copy_nonoverlapping(from, word.as_mut_ptr(), dtype.size()) };
    Scalar::from_bits(dtype, (shift_to_low(u64::from_ne_bytes(word), dtype), 0))
}

/// # Safety
/// The address has room for a scalar of its dtype, at any alignment, and nothing else accesses it meanwhile.
unsafe fn write(to: *mut u8, value: Scalar) {
    let word = shift_to_low(value.bits().0, value.dtype()).to_ne_bytes();
    // SAFETY: real dtypes have up to 8 bytes, and the caller promises that all of them are writable.
    unsafe { std::ptr::copy_nonoverlapping(word.as_ptr(), to, value.dtype().size()) };
}

/// Moves the bytes that are first in memory to the low end of a word, or back. On big-endian machines they
/// are at the high end.
fn shift_to_low(word: u64, dtype: DType) -> u64 {
    if cfg!(target_endian = "big") { word.rotate_left(8 * dtype.size() as u32) } else { word }
}

/// Evaluates an op by its reference meaning, on the parts of its scalars.
fn reference_results(reference: &Reference, args: &[Scalar], results: &mut [Scalar]) -> Result<(), EvalError> {
    let Eval::Elementwise { scalar, .. } = reference.op.eval else {
        return Err(EvalError::unsupported("not elementwise"));
    };
    let mut words = args.iter().map(|s| s.bits().0);
    let mut next = || words.next().unwrap_or_default();
    let operands: SmallVec<[Scalar; 3]> = reference
        .args
        .iter()
        .map(|&dtype| {
            let re = next();
            Scalar::from_bits(dtype, (re, if dtype.is_complex() { next() } else { 0 }))
        })
        .collect();
    let given = scalar(&operands, &reference.attrs)?;
    if !given.iter().map(|s| s.dtype()).eq(reference.results.iter().copied()) {
        return Err(EvalError::unsupported(format!("gave {given:?} where {:?} was promised", reference.results)));
    }
    let parts = given.iter().flat_map(|s| {
        let ((re, im), real) = (s.bits(), s.dtype().real());
        let imaginary = s.dtype().is_complex().then(|| Scalar::from_bits(real, (im, 0)));
        std::iter::once(Scalar::from_bits(real, (re, 0))).chain(imaginary)
    });
    results.iter_mut().zip(parts).for_each(|(to, part)| *to = part);
    Ok(())
}

#[cfg(test)]
mod tests;
