//! Kernel IR: a loop nest around straight-line code on real scalars, which a code generator runs on whole vectors.
//!
//! A kernel has `axes` loops, the outermost first, `buffers` that it reads or writes at one element a point, and scalar
//! `params`. Instructions are in SSA order; each value has a *level*, the number of loops it is inside of: values that do
//! not change along inner loops are computed once outside of them. At the innermost level a code generator may compute
//! any number of points at once, since points are independent, or combined by a [`Fold`], whose order is
//! fixed. A kernel with [`Steps`] does so at the level around the innermost one.
//!
//! Values are real: complex numbers are pairs of floats, split when they are loaded and joined when they are stored. Every
//! instruction is total and has one meaning, stated at its variant, which the interpreter implements plainly and
//! all code generators reproduce bit for bit (NaN payloads excepted).
//!
//! Extents, base pointers and strides are given with each call: see [`KernelArgs`].

mod build;
mod by_point;
mod dtypes;
mod fold;
mod items;
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
    /// The number of loops it is inside of.
    pub level: u32,
}

/// A buffer that the kernel reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// The dtype in memory; a complex one is two adjacent floats.
    pub dtype: DType,
    /// True if the kernel writes it. Such a buffer overlaps no other, or is read at exactly the points where it is written.
    pub written: bool,
    /// For each axis, whether the address may change along it. Along the others the stride is 0.
    pub varies: SmallVec<[bool; 4]>,
}

impl Buffer {
    /// The level of what is loaded: one more than the last axis along which the address changes.
    pub fn level(&self) -> u32 {
        self.varies.iter().rposition(|&v| v).map_or(0, |axis| axis as u32 + 1)
    }
}

/// Which float of a complex element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The element itself, or the real part.
    Re,
    /// The imaginary part.
    Im,
}

/// One operand.
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

/// Two operands of one dtype, which is the result's.
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
    /// Integers, toward zero; by zero is 0; minimum by -1 wraps to the minimum.
    Quot,
    /// Integers, the remainder of `Quot`, with the sign of the dividend; by zero is 0; by -1 is 0.
    Rem,
    /// Bool and integers.
    And,
    /// Bool and integers.
    Or,
    /// Bool and integers.
    Xor,
    /// Integers. The count is taken as unsigned; by the width or more gives 0.
    Shl,
    /// Integers, arithmetic for signed ones. The count is taken as unsigned; by the width or more gives 0, or -1 for a negative value.
    Shr,
    /// Integers and floats: `a < b ? a : b`, so that of floats without an order it is the second one.
    Min,
    /// Integers and floats: `a > b ? a : b`.
    Max,
    /// Floats: magnitude of the first with the sign bit of the second.
    CopySign,
    /// Floats: the first times 2 to the power of the second, as [`Real::scale`](rewright_ir::math::vector::Real::scale) says; where that does
    /// not say it, any float.
    Scale,
    /// Floats: of a number and its significand, as [`Real::exponent`](rewright_ir::math::vector::Real::exponent) says; where that does not say
    /// it, or the second one is not the significand of the first, any float.
    Exponent,
}

/// Comparisons; on floats any with NaN is false but `Ne`. Bool compares as 0 and 1.
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

/// A scalar function that kernels call out to.
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
    /// What is called.
    pub ptr: MathPtr,
}

/// What an instruction does.
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
    /// Writes the element of a buffer at the current point: at the innermost level, or after a row.
    Store(u32, Part),
    /// One operand.
    Unary(Unary),
    /// Two operands.
    Binary(Binary),
    /// A bool.
    Compare(Compare),
    /// `condition ? a : b`.
    Select,
    /// Conversion as [`Scalar::cast`](rewright_ir::Scalar::cast) between real dtypes: integers wrap or extend, float to integer
    /// saturates with NaN to 0, to bool is "not zero".
    Convert,
    /// The same bits as another dtype of the same size.
    Bitcast,
    /// `a * b + c` with one rounding.
    Fma,
    /// The number of a table that the low four bits of an unsigned integer of the same size say.
    Choose(&'static Table),
    /// Calls a scalar function.
    Math(MathCall),
    /// `condition ? f(x) : otherwise` of a condition, `otherwise` and the operands of f. The condition seldom holds: code generators ask
    /// whether it does at any of the points that they compute at once, and call only then.
    MathWhere(MathCall),
    /// An elementwise op by its reference meaning, one point at a time: the way for ops that have no lowering. Operands and
    /// results are the parts of its scalars in order (a complex one is two values). A failure makes the kernel fail.
    Reference(Box<Reference>),
}

/// An op computed by its reference meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The op.
    pub op: Op,
    /// Its attributes.
    pub attrs: Attrs,
    /// The dtypes of its operands, complex ones unsplit.
    pub args: SmallVec<[DType; 3]>,
    /// The dtypes of its results, complex ones unsplit.
    pub results: SmallVec<[DType; 1]>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct KInst {
    /// What it does.
    pub op: KOp,
    /// Operands, earlier values.
    pub args: SmallVec<[KValue; 3]>,
    /// The number of results: values numbered on from `first`.
    pub results: u32,
    /// The first result.
    pub first: KValue,
    /// Where the op was written.
    pub loc: Loc,
}

/// A kernel. Copies share their instructions, of which there may be hundreds of thousands.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Kernel {
    /// The number of loops.
    pub axes: usize,
    /// What is read and written.
    pub buffers: Vec<Buffer>,
    /// The dtypes of scalar parameters, all real.
    pub params: Vec<DType>,
    /// All values.
    pub values: Arc<Vec<ValueInfo>>,
    /// In order; an instruction's level is that of its results, a store's is `axes`.
    pub insts: Arc<Vec<KInst>>,
    /// How the points along the innermost axis are combined; without it they are independent.
    pub fold: Option<Fold>,
    /// The innermost loop, if the points of the one around it are the lanes of vectors.
    pub steps: Option<Steps>,
    /// What code generators are asked for besides.
    pub wishes: Wishes,
}

/// How the code of a kernel had better be. A code generator that can't do something leaves it: no result depends on any of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wishes {
    /// Stores that go past the caches, where elements are adjacent: for results that are larger than these.
    pub streaming: bool,
    /// How many vectors of points a round of the innermost loop computes.
    pub unroll: Option<u32>,
    /// The most points of one vector.
    pub lanes: Option<u32>,
    /// The loops, at most, that the innermost one is cut into.
    pub stages: Option<u32>,
    /// Long rows, of which the points are combined as trees, from their ends: what was read last is still in the cache.
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

/// What a call of a kernel gives it. All pointers are valid for the call; `extents` has one entry an axis, `pointers` one a buffer,
/// `strides` (in bytes) one for each buffer and axis, buffer by buffer, `params` one a scalar parameter (its bits, zero-extended).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelArgs {
    /// Number of points along each axis; 0 anywhere means that nothing runs, but for the axis of [`Steps`].
    pub extents: *const u64,
    /// Address of the element at the first point.
    pub pointers: *const *mut u8,
    /// Distance in bytes between elements along an axis.
    pub strides: *const i64,
    /// Scalar parameters.
    pub params: *const u64,
    /// Where failures go.
    pub status: *mut Status,
}

/// How a call ended.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Status {
    /// 0, or 1 plus the number of the instruction that failed first.
    pub failed: u64,
    /// The error of the first failed [`KOp::Reference`].
    pub error: Option<Box<EvalError>>,
}

/// A kernel made ready to run by a code generator.
pub trait CompiledKernel: Send + Sync {
    /// Runs the kernel once.
    ///
    /// # Safety
    /// `args` is as [`KernelArgs`] says for the kernel this was made from; every element at `pointer + sum(index * stride)` for indices
    /// below the extents is valid to read, and to write if the buffer is written, for the duration of the call; and written
    /// buffers obey [`Buffer::written`].
    unsafe fn call(&self, args: &KernelArgs);

    /// How its loops are run, in words.
    fn schedule(&self) -> String;

    /// How many vectors of points a round of the innermost loop computes, if it is one of vectors.
    fn unroll(&self) -> Option<u32> {
        None
    }

    /// How many points a vector has, where that is known.
    fn lanes(&self) -> Option<u32> {
        None
    }

    /// The loops that the innermost one is cut into, if it is more than one.
    fn stages(&self) -> Option<u32> {
        None
    }

    /// True if it has stores that go past the caches.
    fn streams(&self) -> bool {
        false
    }

    /// How the elements of short rows had better lie, if not along these.
    fn packing(&self) -> Option<Packing> {
        None
    }

    /// The least rows that it computes at once, a lane each, where a point of adjacent rows lies in adjacent elements and the next one anywhere; `None` if it does not.
    fn rows_beside(&self) -> Option<u64> {
        None
    }

    /// True if it may be called with an operand where its result is, as long as it is read at each point only where that is written.
    fn overwrites(&self) -> bool {
        false
    }

    /// The loop program that this runs, with the kernels that it calls in place of nests.
    fn program(&self) -> Option<&Program> {
        None
    }

    /// The machine code in readable form, if there is any.
    fn disassembly(&self) -> Option<&str> {
        None
    }
}

impl dyn CompiledKernel + '_ {
    /// Runs the kernel once, with an entry for each loop, buffer, stride and parameter, as [`KernelArgs`] has them; how it ended.
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
        // SAFETY: passed on.
        unsafe { self.call(&args) };
        status
    }
}

/// Where a kernel that combines the points of short rows likes to find what goes along both the rows and the loop around them: a point of adjacent rows in
/// adjacent elements, the next point so many elements further on. What goes along the rows only is adjacent along them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packing {
    /// The elements from a point to the next, and so the most rows that lie so.
    pub pitch: u64,
    /// The most points of a row.
    pub points: u64,
    /// The least rows.
    pub rows: u64,
    /// How long a row takes otherwise besides its points, in nanoseconds, where it is worth it for rows that are read once, too.
    pub row_nanos: Option<f64>,
}

/// A code generator.
pub trait CodeGen: Send + Sync {
    /// Its name: `interp`, `cranelift`, `x64-avx512`.
    fn name(&self) -> &'static str;
    /// Makes a kernel ready to run.
    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn CompiledKernel>, KernelError>;
    /// The number of vector registers for the values of [`Steps`]; none if it does not compile kernels with
    /// steps.
    fn step_registers(&self) -> Option<usize> {
        None
    }
    /// Makes a loop program ready to run. A call gives it no extents, an address for each buffer of the
    /// caller, and a stride for each dim of each such buffer. A failed call leaves results undefined.
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
