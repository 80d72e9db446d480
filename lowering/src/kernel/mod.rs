//! Kernel IR: a loop nest around straight-line code on real scalars, which code generators vectorize.
//!
//! A kernel has `axes` loops (the outermost first), `buffers` that it accesses at one element per point, and
//! scalar `params`. Instructions are in SSA order. Each value has a *level*, the number of loops around it:
//! values that are invariant along inner loops are hoisted out of them. At the innermost level, a code
//! generator may compute any number of points at once. Points are independent, or a [`Fold`] combines them
//! in a fixed order. A kernel with [`Steps`] computes several points at once at the level around the
//! innermost one.
//!
//! Values are real: a complex number is a pair of floats, split by loads and joined by stores. Every
//! instruction is total and has one meaning, stated at its variant. The interpreter implements it plainly,
//! and all code generators reproduce it bit for bit (except for NaN payloads).
//!
//! Extents, base pointers and strides are arguments of each call: see [`KernelArgs`].

mod build;
mod by_point;
mod dtypes;
mod fold;
mod interleaved;
mod items;
mod jam;
mod levels;
mod meaning;
mod one_more;
mod print;
mod search;
mod signs;
mod split;
mod steps;
mod unroll;
mod unused;
mod verify;

pub use build::KernelBuilder;
pub use build::Section;
pub use fold::{Combination, Fold};
pub use interleaved::{Interleaved, MOST_PARTS, PlacedBuffer};
pub use items::ItemWork;
pub use print::inst_text;
pub use steps::Steps;
pub use verify::KernelError;

use crate::program::Program;
use rewright_ir::math::vector::Table;
use rewright_ir::{Attrs, DType, EvalError, Loc, Op};
use smallvec::SmallVec;
use std::sync::Arc;

/// A value of a kernel: an index into [`Kernel::values`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KValue(pub u32);

/// A value's type and level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// A real dtype.
    pub dtype: DType,
    /// The number of loops around it.
    pub level: u32,
}

/// A buffer that the kernel reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// The dtype in memory; a complex element is two adjacent floats.
    pub dtype: DType,
    /// Whether the kernel writes it. A written buffer aliases no other one, or an aliased buffer is read
    /// only at the points where the element is written.
    pub written: bool,
    /// For each axis, whether the address varies along it. The stride along other axes is 0.
    pub varies: SmallVec<[bool; 4]>,
}

impl Buffer {
    /// The level of a loaded value: one more than the last axis along which the address varies.
    pub fn level(&self) -> u32 {
        self.varies.iter().rposition(|&v| v).map_or(0, |axis| axis as u32 + 1)
    }
}

/// A part of a complex element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The element itself, or the real part.
    Re,
    /// The imaginary part.
    Im,
}

/// Operations with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// Floats: flips the sign bit, of NaN too. Integers: wraps.
    Neg,
    /// Floats: clears the sign bit. Signed integers: wraps at the minimum. Unsigned: itself.
    Abs,
    /// Bool: logical not. Integers: bitwise.
    Not,
    /// IEEE square root.
    Sqrt,
    /// IEEE roundToIntegral toward negative.
    Floor,
    /// IEEE roundToIntegral toward positive.
    Ceil,
    /// IEEE roundToIntegral toward zero.
    Trunc,
    /// IEEE roundToIntegral to nearest, ties to even.
    Rint,
    /// Floats: as [`Real::significand`](rewright_ir::math::vector::Real::significand) says.
    Significand,
    /// Number of set bits of an integer, in its own dtype.
    PopCount,
    /// Number of leading zero bits of an integer, in its own dtype.
    LeadingZeros,
}

/// Operations with two operands of one dtype, which is also that of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// Integers wrap.
    Add,
    /// Integers wrap.
    Sub,
    /// Integers wrap.
    Mul,
    /// Floats only.
    Div,
    /// Integers: rounds toward zero. Division by zero gives 0; the minimum divided by -1 wraps to the
    /// minimum.
    Quot,
    /// Integers: the remainder of `Quot`, with the sign of the dividend. By zero it is 0, and by -1 it is 0.
    Rem,
    /// Bool and integers.
    And,
    /// Bool and integers.
    Or,
    /// Bool and integers.
    Xor,
    /// Integers. The count is unsigned; a count of the width or more gives 0.
    Shl,
    /// Integers; arithmetic for signed ones. The count is unsigned; a count of the width or more gives 0, or
    /// -1 for a negative value.
    Shr,
    /// Integers and floats: `a < b ? a : b`. If a float is NaN, the result is the second operand.
    Min,
    /// Integers and floats: `a > b ? a : b`.
    Max,
    /// Floats: the magnitude of the first with the sign bit of the second.
    CopySign,
    /// Floats: the first times 2 to the power of the second, as
    /// [`Real::scale`](rewright_ir::math::vector::Real::scale) specifies. Where that is unspecified, any
    /// float.
    Scale,
    /// Floats: for a number and its significand, as
    /// [`Real::exponent`](rewright_ir::math::vector::Real::exponent) specifies. Where that is unspecified,
    /// or the second is not the significand of the first, any float.
    Exponent,
}

/// Comparisons. With NaN all are false except `Ne`. Bools compare as 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
}

/// A scalar function that kernels call.
#[derive(Clone, Copy)]
pub enum MathPtr {
    /// f64 to f64.
    F64x1(extern "C" fn(f64) -> f64),
    /// Two f64 to f64.
    F64x2(extern "C" fn(f64, f64) -> f64),
    /// f32 to f32.
    F32x1(extern "C" fn(f32) -> f32),
    /// Two f32 to f32.
    F32x2(extern "C" fn(f32, f32) -> f32),
}

/// A named scalar function; the name with its dtype identifies it.
#[derive(Clone, Copy)]
pub struct MathCall {
    /// `exp`, `atan2`, ...
    pub name: &'static str,
    /// The function.
    pub ptr: MathPtr,
}

/// The operation of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum KOp {
    /// A constant, by its bits (zero-extended).
    Const(u64),
    /// The n-th scalar parameter.
    Param(u32),
    /// The index along an axis, as `i64`, counted from 0.
    Index(u32),
    /// The element of a buffer at the current point.
    Load(u32, Part),
    /// Stores to the element of a buffer at the current point: at the innermost level, or after a row.
    Store(u32, Part),
    /// An operation with one operand.
    Unary(Unary),
    /// An operation with two operands.
    Binary(Binary),
    /// A comparison; the result is a bool.
    Compare(Compare),
    /// `condition ? a : b`.
    Select,
    /// A conversion between real dtypes, as [`Scalar::cast`](rewright_ir::Scalar::cast): integers wrap or
    /// extend, float to integer saturates with NaN to 0, and to bool is "not zero".
    Convert,
    /// The same bits as another dtype of the same size.
    Bitcast,
    /// `a * b + c` with one rounding.
    Fma,
    /// The entry of a table. The low four bits of an unsigned integer of the same size are its index.
    Choose(&'static Table),
    /// Calls a scalar function.
    Math(MathCall),
    /// `condition ? f(x) : otherwise`. The operands are the condition, `otherwise` and the operands of f.
    /// The condition rarely holds: code generators test whether it holds at any of the points that they
    /// compute at once, and only then call f.
    MathWhere(MathCall),
    /// An elementwise op by its reference meaning, one point at a time, for ops without a lowering. Operands
    /// and results are the parts of its scalars in order (two values for a complex one). If the op fails,
    /// the kernel fails.
    Reference(Box<Reference>),
}

/// An op that is evaluated by its reference meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The op.
    pub op: Op,
    /// Its attributes.
    pub attrs: Attrs,
    /// The dtypes of its operands; complex ones are not split.
    pub args: SmallVec<[DType; 3]>,
    /// The dtypes of its results; complex ones are not split.
    pub results: SmallVec<[DType; 1]>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct KInst {
    /// The operation.
    pub op: KOp,
    /// The operands, which are defined earlier.
    pub args: SmallVec<[KValue; 3]>,
    /// The number of results, which are the values from `first` on.
    pub results: u32,
    /// The first result.
    pub first: KValue,
    /// The source location of the op.
    pub loc: Loc,
}

/// A kernel. Clones share their instructions, of which there may be hundreds of thousands.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Kernel {
    /// The number of loops.
    pub axes: usize,
    /// The accessed buffers.
    pub buffers: Vec<Buffer>,
    /// The dtypes of scalar parameters, which are real.
    pub params: Vec<DType>,
    /// All values.
    pub values: Arc<Vec<ValueInfo>>,
    /// The instructions in order. The level of an instruction is that of its results; that of a store is
    /// `axes`.
    pub insts: Arc<Vec<KInst>>,
    /// The reduction of the points along the innermost axis; without it points are independent.
    pub fold: Option<Fold>,
    /// The sequential innermost loop, if the points of the loop around it are vector lanes.
    pub steps: Option<Steps>,
    /// Buffers whose elements take turns in memory. This is a hint.
    pub interleaved: Vec<Interleaved>,
    /// Hints for code generators.
    pub wishes: Wishes,
}

/// Hints for the code of a kernel. A code generator ignores those that it does not support. Hints do not
/// change results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wishes {
    /// Whether to use streaming stores where elements are contiguous: for results that are larger than the
    /// caches.
    pub streaming: bool,
    /// The vectors of an iteration of the innermost loop (unroll factor).
    pub unroll: Option<u32>,
    /// The upper bound of points per vector.
    pub lanes: Option<u32>,
    /// The upper bound of loops into which the innermost loop is split.
    pub stages: Option<u32>,
    /// Whether to traverse long rows from the end in tree reductions, since the elements that were read last
    /// are still in the cache.
    pub backwards: bool,
}

impl Kernel {
    /// The level at which an instruction runs.
    pub fn level(&self, inst: &KInst) -> u32 {
        if inst.results == 0 { self.axes as u32 } else { self.values[inst.first.0 as usize].level }
    }
    /// A value's dtype.
    pub fn dtype(&self, value: KValue) -> DType {
        self.values[value.0 as usize].dtype
    }
}

/// Makes earlier streaming stores of this thread visible to other threads before its later stores are.
/// Streaming stores are weakly ordered.
pub fn fence() {
    // SAFETY: all processors of this architecture have the instruction.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// The arguments of a kernel call. All pointers are valid for the call. `extents` has one entry per axis,
/// `pointers` one per buffer, `strides` (in bytes) one for each buffer and axis, buffer by buffer, and
/// `params` one per scalar parameter (its bits, zero-extended).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelArgs {
    /// The number of points along each axis. If any is 0 nothing runs; the axis of [`Steps`] is an
    /// exception.
    pub extents: *const u64,
    /// The address of the element at the first point.
    pub pointers: *const *mut u8,
    /// The distance in bytes between elements along an axis.
    pub strides: *const i64,
    /// Scalar parameters.
    pub params: *const u64,
    /// The status of the call.
    pub status: *mut Status,
}

/// The status of a call.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Status {
    /// 0, or 1 plus the number of the instruction that failed first.
    pub failed: u64,
    /// The error of the first failed [`KOp::Reference`].
    pub error: Option<Box<EvalError>>,
}

/// A compiled kernel.
pub trait CompiledKernel: Send + Sync {
    /// Runs the kernel once.
    ///
    /// # Safety
    /// `args` is valid for the kernel of this code as [`KernelArgs`] specifies. For the duration of the
    /// call, every element at `pointer + sum(index * stride)`, for indices below the extents, is valid to
    /// read, and to write if the buffer is written. Written buffers obey [`Buffer::written`].
    unsafe fn call(&self, args: &KernelArgs);

    /// The address of the function that runs the kernel, if [`call`](CompiledKernel::call) does no more than
    /// call it, and fence its [streaming](CompiledKernel::streams) stores. It takes the address of the
    /// arguments, by the System V convention of x86-64.
    fn entry(&self) -> Option<*const u8> {
        None
    }

    /// A description of how the code runs the loops.
    fn schedule(&self) -> String;

    /// The vectors of an iteration of the innermost loop (unroll factor), if it is vectorized.
    fn unroll(&self) -> Option<u32> {
        None
    }

    /// The number of points per vector, if it is known.
    fn lanes(&self) -> Option<u32> {
        None
    }

    /// The number of loops into which the innermost loop is split, if there are several.
    fn stages(&self) -> Option<u32> {
        None
    }

    /// Whether it has streaming stores.
    fn streams(&self) -> bool {
        false
    }

    /// The preferred layout of the elements of short rows, if it is not along the rows.
    fn packing(&self) -> Option<Packing> {
        None
    }

    /// The least number of interleaved rows that the code computes at once, one row per lane. A point of
    /// adjacent rows must be contiguous, with any stride from point to point. `None` if the code does not do
    /// so.
    fn rows_beside(&self) -> Option<u64> {
        None
    }

    /// Whether the accumulators of a row stay in registers.
    fn holds_totals(&self) -> bool {
        false
    }

    /// Whether a call may have an operand that aliases its result, if it reads the operand only at the point
    /// where it writes the result.
    fn overwrites(&self) -> bool {
        false
    }

    /// The loop program that this code runs, with the kernels that it calls for loop nests.
    fn program(&self) -> Option<&Program> {
        None
    }

    /// The disassembly, if there is machine code.
    fn disassembly(&self) -> Option<&str> {
        None
    }
}

impl dyn CompiledKernel + '_ {
    /// Runs the kernel once, with an entry for each loop, buffer, stride and parameter, as in
    /// [`KernelArgs`]. Returns the status.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`].
    #[inline]
    pub unsafe fn run(&self, extents: &[u64], pointers: &[*mut u8], strides: &[i64], params: &[u64]) -> Status {
        let mut status = Status::default();
        let args = KernelArgs {
            extents: extents.as_ptr(),
            pointers: pointers.as_ptr(),
            strides: strides.as_ptr(),
            params: params.as_ptr(),
            status: &mut status,
        };
        // SAFETY: forwarded.
        unsafe { self.call(&args) };
        status
    }
}

/// The packed layout that a reduction of short rows prefers for operands that vary along both the rows and
/// the loop around them: a point of adjacent rows is contiguous, and the next point is `pitch` elements
/// further. Operands that vary only along the rows are contiguous along them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packing {
    /// The elements from a point to the next one, which is also the upper bound of rows.
    pub pitch: u64,
    /// The upper bound of points per row.
    pub points: u64,
    /// The least number of rows.
    pub rows: u64,
    /// The time of an unpacked row besides its points, in nanoseconds, if packing may pay even for rows that
    /// are read once.
    pub row_nanos: Option<f64>,
}

/// A code generator.
pub trait CodeGen: Send + Sync {
    /// Its name: `interp`, `cranelift`, `x64-avx512`.
    fn name(&self) -> &'static str;
    /// Compiles a kernel.
    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn CompiledKernel>, KernelError>;
    /// The number of vector registers for the values of [`Steps`]; none if the code generator does not
    /// support steps.
    fn step_registers(&self) -> Option<usize> {
        None
    }
    /// Compiles a loop program. A call passes no extents, an address for each buffer of the caller, and a
    /// stride for each dim of each such buffer. A failed call leaves results undefined.
    fn compile_program(&self, _program: &Program) -> Result<Box<dyn CompiledKernel>, KernelError> {
        Err(KernelError::Unsupported { codegen: self.name(), message: "it compiles no loop programs yet".into() })
    }
}

impl MathCall {
    /// The number of its operands.
    pub fn arity(&self) -> usize {
        match self.ptr {
            MathPtr::F64x1(_) | MathPtr::F32x1(_) => 1,
            MathPtr::F64x2(_) | MathPtr::F32x2(_) => 2,
        }
    }
}
impl PartialEq for MathCall {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && std::mem::discriminant(&self.ptr) == std::mem::discriminant(&other.ptr)
    }
}
impl std::fmt::Debug for MathCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
impl std::fmt::Debug for KValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "v{}", self.0)
    }
}
