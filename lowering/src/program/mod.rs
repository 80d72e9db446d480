//! Loop programs: loops, conditions, loads and stores around scalar instructions.
//!
//! Lowering translates any valid `arrayexpr` to a loop program ([`crate::lower::program`]), and code
//! generators compile it. The level is that of Halide's and TVM's loop IR: loops are structured, their
//! bounds are affine in outer indices, and each access has one position for each dim of a buffer.
//!
//! Values are in SSA form, defined once and used in the scope of their definition. State that changes (an
//! accumulator, a flag) lives in *local buffers*, so transformations need no loop-carried values; code
//! generators keep local buffers of rank 0 in registers, unless a kernel accesses them. Every scalar
//! instruction is total, as in [`crate::kernel`], so instructions may be hoisted out of loops and conditions;
//! only loads, stores and [`Stmt::Fail`] depend on the conditions around them.
//!
//! Each transformation is a file: `hoist`, `partition`, `forward`, `fission`, `stage`, `interchange`, `fuse`,
//! `jam` (which `jam_policy` decides on), `eager`, `stream`, `distribute`, then `outline`, whose nests become
//! kernels, `expand` and `unroll`. `docs/loop-programs.md` has their order, and examples.

mod build;
mod dependence;
mod distribute;
mod eager;
mod expand;
mod fission;
mod forward;
mod fuse;
mod hoist;
mod index;
mod interchange;
mod jam;
mod jam_policy;
mod linear;
mod order;
mod outline;
mod partition;
mod places;
mod print;
mod reduce;
mod replay;
mod row_copy;
mod stage;
mod stream;
mod unroll;
mod verify;
mod walk;

pub use build::ProgramBuilder;
pub use linear::Linear;
pub use order::{ENTRIES, Span, Tile};
pub use places::{ALIGN, Places};
pub use reduce::{Accumulator, Reduce, Slots, Tree, Tuple};
pub(crate) use walk::{count, defined, each_access, each_use};

use crate::kernel::{KInst, KValue, Kernel, Part};
use crate::scalar::Elem;
use rewright_ir::DType;
use smallvec::SmallVec;
use std::sync::Arc;

/// A loop program.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    /// The buffers.
    pub buffers: Vec<BufferDecl>,
    /// The dtypes of the scalar parameters, all real.
    pub params: Vec<DType>,
    /// The dtypes of the values, all real.
    pub values: Arc<Vec<DType>>,
    /// The statements.
    pub body: Arc<Vec<Stmt>>,
    /// How lines of adjacent elements are read in the order of memory, if they are.
    pub lines: Option<Lines>,
}

/// How a reduction of columns reads lines of adjacent elements, which are larger than the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lines {
    /// One after the other, while the first-level cache holds the totals of a line.
    One,
    /// Several at once, since totals are in farther memory: each is loaded and stored once for all of them.
    Several,
}

/// A buffer: an array of elements at positions, one position for each dim.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferDecl {
    /// The dtype of the elements.
    pub dtype: DType,
    /// Where the elements are.
    pub storage: Storage,
}

/// Where the elements of a buffer are.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// In memory of the caller, who gives the address of the first element and a stride in bytes for each of
    /// this many dims. The n-th such buffer has the n-th address.
    Caller {
        /// The number of dims.
        rank: usize,
        /// Whether kernels write the elements past the caches.
        streamed: bool,
    },
    /// In registers or on the stack, with these extents. [`Stmt::Local`] says where it exists.
    Local {
        /// The extents.
        extents: SmallVec<[u32; 2]>,
    },
}

/// The element of a buffer at a position, or one part of a complex element. The position is inside of the
/// buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The number of the buffer.
    pub buffer: u32,
    /// The part.
    pub part: Part,
    /// One position for each dim.
    pub at: SmallVec<[Linear; 3]>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// A scalar instruction; no load, store or index.
    Inst(KInst),
    /// Defines a value as the element at a location.
    Load(KValue, Location),
    /// From here to the end of the scope, a local buffer exists. Its contents are undefined.
    Local(u32),
    /// Writes an element.
    Store(Location, KValue),
    /// A loop.
    For(For),
    /// A condition.
    If(If),
    /// A reduction of a row.
    Reduce(Box<Reduce>),
    /// In the body of a reduction: combines the values of the point, for each accumulator a tuple.
    Combine(Vec<Elem>),
    /// Loops that a kernel runs.
    Nest(Box<Nest>),
    /// Ends the program: the operands of the call break a rule of the expression. The reference evaluator
    /// then finds the error.
    Fail,
}

/// A loop over `lo..hi`.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The index, an `i64`.
    pub index: KValue,
    /// The first index.
    pub lo: Linear,
    /// One past the last index: the least of these.
    pub hi: SmallVec<[Linear; 1]>,
    /// Facts about the number of iterations.
    pub trip: Trip,
    /// The body.
    pub body: Vec<Stmt>,
}

/// Facts about the number of iterations of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Trip {
    /// None.
    #[default]
    Unknown,
    /// At least one.
    NotEmpty,
    /// About one, on average.
    Few,
}

/// Statements that run if a condition holds, and others that run if it does not.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// The condition.
    pub condition: Condition,
    /// Statements that run if it holds.
    pub then: Vec<Stmt>,
    /// Statements that run otherwise.
    pub otherwise: Vec<Stmt>,
}

/// A nest of loops that a kernel runs. It runs the outer loops in order; the points of the innermost one are
/// independent.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// The number of the kernel among those of the program.
    pub number: usize,
    /// The kernel, which has an axis for each loop. It can't fail.
    pub kernel: Arc<Kernel>,
    /// The bounds of the loops, outermost first: the first index, and one past the last, the least of these.
    pub bounds: SmallVec<[(Linear, SmallVec<[Linear; 1]>); 3]>,
    /// The buffers of the kernel.
    pub buffers: Vec<NestBuffer>,
    /// The parameters of the kernel.
    pub params: Vec<KValue>,
}

/// A buffer of a [`Nest`]'s kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct NestBuffer {
    /// The element at the first point.
    pub first: Location,
    /// For each loop, how far a step moves along each dim.
    pub along: SmallVec<[SmallVec<[i64; 3]>; 3]>,
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All forms are at least 0.
    NotNegative(SmallVec<[Linear; 2]>),
    /// A bool.
    Value(KValue),
}

impl Program {
    /// The program after all transformations but those for a code generator: [`Program::blocked`],
    /// [`Program::distributed`], [`Program::outlined`], [`Program::expanded`] and [`Program::unrolled`].
    pub fn optimized(mut self) -> Program {
        self.without_single_iterations();
        self.hoist();
        self.partition();
        self.forward();
        self.hoist();
        self.fission();
        self.hoist();
        self.stage();
        self.hoist();
        self
    }

    /// The program with register blocks: for a code generator that runs kernels with
    /// [`Steps`](crate::kernel::Steps), and has this many registers for them, or one that does not.
    pub fn blocked(&self, registers: Option<usize>) -> Program {
        let registers = registers.filter(|_| self.lines.is_none());
        let mut program = self.clone();
        if registers.is_some() {
            program.interchange();
            program.fuse();
        }
        program.jam_points(registers);
        if registers.is_none() && self.lines != Some(Lines::One) {
            program.jam_steps();
        }
        program.hoist();
        program.eager();
        program
    }

    /// The rank of a buffer.
    pub fn rank(&self, buffer: u32) -> usize {
        self.buffers[buffer as usize].rank()
    }

    /// The buffers of the caller: for each its number, and the number of its first stride.
    pub fn caller_buffers(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut strides = 0;
        self.buffers.iter().enumerate().filter_map(move |(number, buffer)| {
            let Storage::Caller { rank, .. } = buffer.storage else { return None };
            let first = strides;
            strides += rank;
            Some((number, first))
        })
    }
}

impl BufferDecl {
    /// The number of dims.
    pub fn rank(&self) -> usize {
        match &self.storage {
            Storage::Caller { rank, .. } => *rank,
            Storage::Local { extents } => extents.len(),
        }
    }
}

impl Nest {
    /// Calls `f` with every form.
    pub fn each_form(&self, f: &mut dyn FnMut(&Linear)) {
        for (lo, hi) in &self.bounds {
            f(lo);
            hi.iter().for_each(&mut *f);
        }
        self.buffers.iter().flat_map(|buffer| &buffer.first.at).for_each(f);
    }
}
