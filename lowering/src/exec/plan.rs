//! The plan: the steps of a function on numbered slots, which the machine runs.
//!
//! A slot holds one value. Values that live within one block share slots; the others have one each. Every
//! step lists the slots whose arrays die with it, so that buffers are reused as early as possible.

use super::assemble::Assemble;
use super::join::Join;
use super::launch::Launch;
use super::loop_program::{LoopProgram, ProgramStep};
use super::parts::Update;
use super::pick::Pick;
use super::value::Place;
use super::view::ViewOp;
use rewright_ir::op::ScalarFn;
use rewright_ir::{Array, Attrs, DType, EvalError, Inst, Loc, Name, Op, Scalar, Scalars, Type, Value};
use smallvec::SmallVec;

/// The number of a slot of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// The slots of operands or results.
pub type Slots = SmallVec<[Slot; 3]>;

/// A function and its callees; the first is the function itself.
#[derive(Debug)]
pub struct Plan {
    /// The functions, in the order in which they were first called.
    pub functions: Vec<FuncPlan>,
}

/// A value that a step defines.
#[derive(Clone, Debug)]
pub struct Def {
    /// The slot of the value.
    pub slot: Slot,
    /// The IR's value, for messages.
    pub value: Value,
    /// Its type; symbols are those of the function.
    pub ty: Type,
    /// The checks of the dims.
    pub dims: SmallVec<[DimCheck; 4]>,
}

/// A check of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DimCheck {
    /// No check.
    Any,
    /// The extent is this number.
    Const(u64),
    /// The extent is that of the n-th symbol of the function. An unbound symbol is bound to it.
    Symbol(u32),
}

/// One function.
#[derive(Debug)]
pub struct FuncPlan {
    /// The name.
    pub name: Name,
    /// The source location.
    pub loc: Loc,
    /// The parameters.
    pub params: Vec<Def>,
    /// For each parameter, whether the function or one of its callees stores to it.
    pub changed: Vec<bool>,
    /// The result types.
    pub results: Vec<Type>,
    /// The symbols of all types, in the order in which they first occur.
    pub symbols: Vec<Name>,
    /// The number of slots.
    pub slots: u32,
    /// The slots of constants.
    pub constants: Vec<(Slot, Scalar)>,
    /// The steps. The function begins at the first one.
    pub steps: Vec<Step>,
}

/// A step: an operation, its operands and results, and the slots that die with it.
#[derive(Debug)]
pub struct Step {
    /// The operation.
    pub kind: StepKind,
    /// The op of the instruction.
    pub op: Op,
    /// The instruction.
    pub inst: Inst,
    /// The operands.
    pub args: Slots,
    /// The values that it defines.
    pub defs: SmallVec<[Def; 1]>,
    /// The slots to empty after it.
    pub free: Slots,
    /// Whether the next step is an `update` that replaces a part by the only result of this step, and the
    /// result has no other use. Then one run may do both steps.
    pub fills_part: bool,
}

/// The operation of a step.
#[derive(Debug)]
pub enum StepKind {
    /// Computes scalars from scalars.
    Scalar(ScalarStep),
    /// Runs a kernel.
    Kernel(Box<KernelStep>),
    /// A view of the operand, or a copy if no strides describe it.
    View(ViewOp),
    /// Reads an element, or a view of the remaining axes.
    GetItem,
    /// The extent of this axis.
    Dim(usize),
    /// This component of an array of a storage style.
    Component(usize),
    /// Assembles an array of a storage style from components.
    Assemble(Assemble),
    /// Defines an array constant.
    Constant(Array),
    /// Replaces a part of the first operand, in place or in a copy.
    Update(Update),
    /// Concatenates or stacks operands.
    Join(Join),
    /// Gathers elements at positions that operands give.
    Pick(Pick),
    /// Runs a loop program.
    Program(Box<ProgramStep>),
    /// Evaluates the op's reference meaning.
    Array(ArrayEval),
    /// Stores the second operand to the first, with the number of the parameter that the first is, if it is
    /// one.
    Store(Option<u32>),
    /// Only empties slots.
    Free,
    /// Calls a function of the plan.
    Call(Box<CallStep>),
    /// Prints a line that begins with this label.
    Print(Option<String>),
    /// Branches unconditionally.
    Jump(Box<Edge>),
    /// Branches by a condition.
    BrIf(Box<[Edge; 2]>),
    /// Branches to the edge of a case, or to the last edge.
    Switch(Box<[i64]>, Box<[Edge]>),
    /// Returns from the function with results.
    Ret(Box<[Return]>),
    /// Raises an error of this kind and message.
    Raise(Box<(String, String)>),
}

/// An elementwise op on scalars.
#[derive(Debug)]
pub struct ScalarStep {
    /// The function of the op.
    pub scalar: ScalarFn,
    /// The op's attributes.
    pub attrs: Attrs,
    /// The dtypes that operands are cast to.
    pub ins: SmallVec<[DType; 3]>,
}

/// A kernel, and the alternatives for operands that do not fit it.
#[derive(Debug)]
pub struct KernelStep {
    /// The kernel.
    pub launch: Launch,
    /// For each result, its position among the function's results if the block ends by returning it.
    pub exits: SmallVec<[Option<u32>; 1]>,
    /// Pairs of operands' axes whose extents have to be equal, which the types do not ensure.
    pub equal: SmallVec<[[(usize, usize); 2]; 1]>,
    /// Whether new results are row-major.
    pub row_major: bool,
    /// The loop program for calls whose operands do not fit the kernel, and for reductions of columns.
    pub program: LoopProgram,
    /// The operands that a reduction of columns reads along the last axis, each once. Calls in which their
    /// elements are adjacent along it run the loop program, unless operands are copied to fit the kernel.
    /// None for other expressions.
    pub columns: SmallVec<[u32; 1]>,
    /// The reference meaning of the step, which reports the error of invalid operands.
    pub meaning: Meaning,
}

/// About how long it takes to compile the loop program of a reduction of columns, and how much less time it
/// takes for a point than the kernel, in nanoseconds. Measured on an AMD EPYC (Zen 4) for sums of `f64`.
const NANOS_OF_COMPILING: f64 = 1.5e6;
const LESS_FOR_POINT: f64 = 0.5;

impl KernelStep {
    /// Whether a call with these operands and this number of points runs the loop program. `place` gives that
    /// of an operand. The kernel is compiled already, so it runs the first call, unless that is long.
    pub fn runs_program<'p>(&self, points: u64, place: impl Fn(u32) -> Option<Place<'p>>) -> bool {
        let is_worth_compiling = self.launch.has_run() || points as f64 * LESS_FOR_POINT > NANOS_OF_COMPILING;
        let is_adjacent = |&arg: &u32| {
            place(arg).is_some_and(|place| match (place.shape, place.strides) {
                ([.., extent], [.., stride]) => *extent < 2 || stride * place.unit == place.dtype.size() as isize,
                _ => false,
            })
        };
        !self.columns.is_empty() && is_worth_compiling && self.columns.iter().all(is_adjacent)
    }
}

/// The reference meaning of a step with a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// Computes whole values.
    Array(ArrayEval),
    /// Stores the second operand to the first, with the number of the parameter that the first is, if it is
    /// one.
    Store(Option<u32>),
    /// Computes a value whose only use is a store.
    Assign(ArrayEval, Destination),
    /// Computes bools whose only use is this instruction, which packs them.
    Packed(ArrayEval, Inst),
}

/// The destination of a store.
#[derive(Clone, Copy, Debug)]
pub struct Destination {
    /// The array's slot.
    pub slot: Slot,
    /// The number of the parameter that it is, if it is one.
    pub param: Option<u32>,
}

/// The way to evaluate whole values.
#[derive(Clone, Copy, Debug)]
pub enum ArrayEval {
    /// By the op's reference meaning.
    Op,
    /// By a scalar function of the plan, element by element.
    Ufunc(usize),
}

/// A call.
#[derive(Debug)]
pub struct CallStep {
    /// The number of the function in the plan.
    pub callee: usize,
    /// The arguments.
    pub args: Vec<CallArg>,
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallArg {
    /// The callee takes the value: the caller does not need it any more, or gets it back.
    pub take: bool,
    /// The callee may store to it, so the caller gets it back.
    pub back: bool,
    /// The number of the caller's parameter that it is, if it is one.
    pub param: Option<u32>,
    /// Another argument is the same value.
    pub shared: bool,
}

/// A returned value.
#[derive(Debug)]
pub struct Return {
    /// Whether the value is moved out of its slot.
    pub take: bool,
    /// The result's dims.
    pub dims: SmallVec<[DimCheck; 4]>,
}

/// An edge from a block to another one.
#[derive(Debug)]
pub struct Edge {
    /// The number of the step at which the target block begins.
    pub to: usize,
    /// The moves of block arguments, in this order.
    pub moves: Vec<Move>,
    /// Checks of block parameters whose dims the arguments' types do not ensure.
    pub checks: Vec<Def>,
    /// The slots to empty on this edge.
    pub free: Slots,
}

/// A move of a value from a slot to another one.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// The source.
    pub from: Slot,
    /// The destination.
    pub to: Slot,
    /// Whether the value is moved, and not copied.
    pub take: bool,
}

impl ScalarStep {
    /// Computes the results, and checks their dtypes. `read` returns the content of a slot.
    #[inline]
    pub(super) fn compute(
        &self,
        step: &Step,
        read: impl Fn(Slot) -> Result<Scalar, EvalError>,
    ) -> Result<Scalars, EvalError> {
        let mut args: SmallVec<[Scalar; 3]> = SmallVec::new();
        for (&slot, &to) in step.args.iter().zip(&self.ins) {
            args.push(read(slot)?.cast(to));
        }
        let results = (self.scalar)(&args, &self.attrs)?;
        if results.len() != step.defs.len() {
            return Err(EvalError::value(format!("computed {} results", results.len())));
        }
        match results.iter().zip(&step.defs).find(|(result, def)| result.dtype() != def.ty.dtype()) {
            Some((result, _)) => Err(EvalError::value(format!("computed {result} of dtype {}", result.dtype()))),
            None => Ok(results),
        }
    }
}

impl FuncPlan {
    /// The number of a symbol.
    pub fn symbol(&self, name: Name) -> Option<usize> {
        self.symbols.iter().position(|&s| s == name)
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl Step {
    /// The edges of a branch.
    pub fn edges(&self) -> &[Edge] {
        match &self.kind {
            StepKind::Jump(edge) => std::slice::from_ref(&**edge),
            StepKind::BrIf(edges) => &edges[..],
            StepKind::Switch(_, edges) => edges,
            _ => &[],
        }
    }
    pub(super) fn edges_mut(&mut self) -> &mut [Edge] {
        match &mut self.kind {
            StepKind::Jump(edge) => std::slice::from_mut(&mut **edge),
            StepKind::BrIf(edges) => &mut edges[..],
            StepKind::Switch(_, edges) => edges,
            _ => &mut [],
        }
    }
}
