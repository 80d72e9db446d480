//! The plan: a function as numbered slots and steps, which is all that runs.
//!
//! A slot holds one value. Values that live within one block share slots; the others have one each. Every step names the slots
//! that hold arrays for the last time, so buffers are given back as early as they can be.

use super::assemble::Assemble;
use super::join::Join;
use super::launch::Launch;
use super::loop_program::{LoopProgram, ProgramStep};
use super::parts::Update;
use super::pick::Pick;
use super::view::ViewOp;
use crate::lower::program::is_worth_a_program;
use rewright_ir::op::ScalarFn;
use rewright_ir::{Array, Attrs, DType, EvalError, Inst, Loc, Name, Op, Scalar, Scalars, Type, Value};
use smallvec::SmallVec;

/// The number of a slot of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// The slots of operands or results.
pub type Slots = SmallVec<[Slot; 3]>;

/// A function and all that it calls; the first is the function itself.
#[derive(Debug)]
pub struct Plan {
    /// In the order in which they were first called.
    pub functions: Vec<FuncPlan>,
}

/// A value that a step defines.
#[derive(Clone, Debug)]
pub struct Def {
    /// Where it goes.
    pub slot: Slot,
    /// The IR's value, for messages.
    pub value: Value,
    /// Its type; symbols are those of the function.
    pub ty: Type,
    /// What the dims must be.
    pub dims: SmallVec<[DimCheck; 4]>,
}

/// What an extent must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DimCheck {
    /// Anything.
    Any,
    /// This.
    Const(u64),
    /// What the n-th symbol of the function is bound to; it is bound if it is not yet.
    Symbol(u32),
}

/// One function.
#[derive(Debug)]
pub struct FuncPlan {
    /// The name.
    pub name: Name,
    /// Where it was written.
    pub loc: Loc,
    /// The parameters.
    pub params: Vec<Def>,
    /// For each parameter, whether the function, or one that it calls, stores to it.
    pub changed: Vec<bool>,
    /// The result types.
    pub results: Vec<Type>,
    /// The symbols of all types, in the order in which they first occur.
    pub symbols: Vec<Name>,
    /// The number of slots.
    pub slots: u32,
    /// Slots that hold constants.
    pub constants: Vec<(Slot, Scalar)>,
    /// In order; the function begins at the first.
    pub steps: Vec<Step>,
}

/// A step: what is done with what, and what dies then.
#[derive(Debug)]
pub struct Step {
    /// What is done.
    pub kind: StepKind,
    /// The op that it comes from.
    pub op: Op,
    /// The instruction that it comes from.
    pub inst: Inst,
    /// The operands.
    pub args: Slots,
    /// What it defines.
    pub defs: SmallVec<[Def; 1]>,
    /// Slots emptied after it.
    pub free: Slots,
}

/// What a step does.
#[derive(Debug)]
pub enum StepKind {
    /// Computes scalars from scalars.
    Scalar(ScalarStep),
    /// Runs a kernel.
    Kernel(Box<KernelStep>),
    /// Reads the operand in another way, or copies it where no strides lead to its elements so.
    View(ViewOp),
    /// Reads an element, or a view of the axes that are left.
    GetItem,
    /// The extent of this axis.
    Dim(usize),
    /// This component of an array of a storage style.
    Component(usize),
    /// The array of a storage style that has these components.
    Assemble(Assemble),
    /// The elements that the op has.
    Constant(Array),
    /// Replaces a part of the first operand, or of a copy of it.
    Update(Update),
    /// Puts operands together.
    Join(Join),
    /// Reads at places that operands name.
    Pick(Pick),
    /// Runs a loop program.
    Program(Box<ProgramStep>),
    /// Computes whole values by the op's reference meaning.
    Array(ArrayEval),
    /// Writes the second operand into the first; holds the parameter that this is, if it is one.
    Store(Option<u32>),
    /// Nothing but the end of lives.
    Free,
    /// Calls a function of the plan.
    Call(Box<CallStep>),
    /// Prints a line that begins with this label.
    Print(Option<String>),
    /// Goes on elsewhere.
    Jump(Box<Edge>),
    /// Goes on at one of two places.
    BrIf(Box<[Edge; 2]>),
    /// Goes on where the case is, else at the last edge.
    Switch(Box<[i64]>, Box<[Edge]>),
    /// Ends the function with results; for each operand, whether it dies.
    Ret(Box<[Return]>),
    /// Ends the program with an error of this kind and message.
    Raise(Box<(String, String)>),
}

/// An elementwise op on scalars.
#[derive(Debug)]
pub struct ScalarStep {
    /// Computes it.
    pub scalar: ScalarFn,
    /// The op's attributes.
    pub attrs: Attrs,
    /// The dtypes that operands are cast to.
    pub ins: SmallVec<[DType; 3]>,
}

/// A kernel, and what is done where its operands don't fit it.
#[derive(Debug)]
pub struct KernelStep {
    /// The kernel.
    pub launch: Launch,
    /// For each result, its position among the function's results if the block ends by returning it.
    pub exits: SmallVec<[Option<u32>; 1]>,
    /// Operands and axes of them whose extents have to be equal, though nothing says that they are.
    pub equal: SmallVec<[[(usize, usize); 2]; 1]>,
    /// Results are laid out row by row.
    pub row_major: bool,
    /// The loop program for calls whose operands do not fit the kernel, and for large contractions.
    pub program: LoopProgram,
    /// True for a contraction: calls with many points run the loop program.
    pub contracts: bool,
    /// The meaning of the step, which finds the error of operands that break a rule.
    pub meaning: Meaning,
}

impl KernelStep {
    /// True if a call with this many points runs the loop program.
    pub fn runs_program(&self, points: u64) -> bool {
        self.contracts && is_worth_a_program(points)
    }
}

/// What a step with a kernel means.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// It computes whole values.
    Array(ArrayEval),
    /// It writes the second operand into the first; holds the parameter that this is, if it is one.
    Store(Option<u32>),
    /// It computes a whole value, which is stored, and which nobody else reads.
    Assign(ArrayEval, Destination),
    /// It computes bools, which this instruction packs, and which nobody else reads.
    Packed(ArrayEval, Inst),
}

/// Where a value is stored.
#[derive(Clone, Copy, Debug)]
pub struct Destination {
    /// The array's slot.
    pub slot: Slot,
    /// The parameter that it is, if it is one.
    pub param: Option<u32>,
}

/// How a step computes whole values.
#[derive(Clone, Copy, Debug)]
pub enum ArrayEval {
    /// By the op's own meaning.
    Op,
    /// By a function of scalars of the plan, element by element.
    Ufunc(usize),
}

/// A call.
#[derive(Debug)]
pub struct CallStep {
    /// The number of the function in the plan.
    pub callee: usize,
    /// For each argument, what happens with it.
    pub args: Vec<CallArg>,
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallArg {
    /// The value is not needed any more by the caller, or comes back.
    pub take: bool,
    /// The callee may store to it, so it comes back.
    pub back: bool,
    /// It is a parameter of the caller.
    pub param: Option<u32>,
    /// Another argument is the same value.
    pub shared: bool,
}

/// A result on its way out.
#[derive(Debug)]
pub struct Return {
    /// The value is not needed any more where it was.
    pub take: bool,
    /// The result's dims.
    pub dims: SmallVec<[DimCheck; 4]>,
}

/// A way from a block to another.
#[derive(Debug)]
pub struct Edge {
    /// The number of the step to go on with.
    pub to: usize,
    /// Values for the parameters there, done in this order.
    pub moves: Vec<Move>,
    /// Checks of parameters whose dims the moved values may not have.
    pub checks: Vec<Def>,
    /// Slots emptied on this way.
    pub free: Slots,
}

/// Brings a value from a slot to another.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// From here.
    pub from: Slot,
    /// To there.
    pub to: Slot,
    /// True if the value is not needed any more where it was.
    pub take: bool,
}

impl ScalarStep {
    /// What the step defines, of the dtypes that it should be; `read` gives what slots hold.
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
    /// The ways that a branch may take.
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
