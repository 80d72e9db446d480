//! The reference evaluator: the semantics of every op, implemented simply rather than fast. Tests
//! compare every rewrite and code generator with it.
//!
//! Values have value semantics: a view behaves like a copy, and only `store`, or a call that stores to its
//! parameter, changes the contents of a value. Every program ends with results or an error within
//! [`Limits`].
//!
//! ```
//! use rewright_ir::{Datum, FuncBuilder, Limits, Scalar, DType, Type, eval::evaluate_function};
//! let mut b = FuncBuilder::new("f", &[("x", Type::scalar(DType::I64))], vec![Type::scalar(DType::I64)]);
//! let x = b.param(0);
//! b.ret([x])?;
//! let outcome = evaluate_function(&b.finish(), vec![Datum::Scalar(Scalar::I64(7))], Limits::default())?;
//! assert_eq!(outcome.results, [Datum::Scalar(Scalar::I64(7))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bind;
mod call;
mod elementwise;
mod machine;
mod memory;
mod message;
mod watched;

use crate::array::{Array, Datum, checked_len};
use crate::attr::Attrs;
use crate::dtype::DType;
use crate::elements::Elements;
use crate::error::EvalError;
use crate::function::Function;
use crate::module::Module;
use crate::name::Name;
use crate::op::{Arity, Eval, Op};
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use rustc_hash::FxHashMap;
use std::cell::Cell;

pub use elementwise::{broadcast_shapes, map_elements};
pub use machine::value_label;
pub use memory::{Memory, reserve};
pub use message::{Bound, mismatch, with_operands};
pub use watched::{Floats, Watch};

/// The resource limits of an evaluation; they make every program terminate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions executed, elements computed, and points of index spaces, over all calls; 2³² by default.
    /// A product of two matrices of 1,000 rows and columns has 10⁹ points.
    pub steps: u64,
    /// Elements of one array; 2²⁸ by default.
    pub elements: u64,
    /// Bytes of all arrays that live values hold, with a shared buffer counted for each; 8 GiB by default.
    pub bytes: u64,
    /// Depth of calls, 128 by default and at most [`MAX_DEPTH`].
    pub depth: u32,
}

/// The maximum depth of calls for any [`Limits::depth`]: calls use the native stack.
pub const MAX_DEPTH: u32 = 256;

impl Limits {
    /// The number of elements of a shape; an error if it is over the limit.
    pub fn len(&self, shape: &[usize]) -> Result<usize, EvalError> {
        let error = match checked_len(shape) {
            Some(len) if len as u64 <= self.elements => return Ok(len),
            Some(_) => format!("an array of shape {shape:?} has more than {} elements", self.elements),
            None => format!("no array has so large extents as {shape:?}"),
        };
        Err(EvalError::limit(error))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { steps: 1 << 32, elements: 1 << 28, bytes: 1 << 33, depth: 128 }
    }
}

/// The outcome of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The function's results.
    pub results: Vec<Datum>,
    /// The arguments, including the effects of stores to them.
    pub args: Vec<Datum>,
    /// One string for each executed `print`.
    pub printed: Vec<String>,
}

/// Evaluates a function of a module.
pub fn evaluate(
    module: &Module,
    name: impl Into<Name>,
    args: Vec<Datum>,
    limits: Limits,
) -> Result<Outcome, EvalError> {
    let name = name.into();
    let func = module
        .get(name)
        .ok_or_else(|| EvalError::unsupported(format!("there is no function `@{name}` in the module")))?;
    machine::Machine::new(Some(module), limits).outcome(func, args)
}

/// Evaluates a function that calls no other.
pub fn evaluate_function(func: &Function, args: Vec<Datum>, limits: Limits) -> Result<Outcome, EvalError> {
    machine::Machine::new(None, limits).outcome(func, args)
}

/// Evaluates a function, and counts its steps, also up to an error. `module` has the callees; it may hold
/// another function of the same name.
pub fn evaluate_counted(
    func: &Function,
    module: Option<&Module>,
    args: Vec<Datum>,
    limits: Limits,
) -> (Result<Outcome, EvalError>, u64) {
    let machine = machine::Machine::new(module, limits);
    (machine.outcome(func, args), machine.taken())
}

/// Like [`evaluate_counted`], and records the floats of the evaluation, also up to an error.
pub fn evaluate_watched(
    func: &Function,
    module: Option<&Module>,
    args: Vec<Datum>,
    limits: Limits,
) -> (Result<Outcome, EvalError>, u64, Floats) {
    let machine = machine::Machine::new(module, limits).watched();
    (machine.outcome(func, args), machine.taken(), machine.floats.get())
}

/// Evaluates one pure op, as constant folding does. `results` are its result types, if they are known.
pub fn evaluate_op(
    op: Op,
    attrs: &Attrs,
    args: &[Datum],
    results: &[Type],
    limits: Limits,
) -> Result<Vec<Datum>, EvalError> {
    let (symbols, steps) = (FxHashMap::default(), Cell::new(limits.steps));
    let cx =
        EvalCx { attrs, results, symbols: &symbols, module: None, limits, steps: &steps, watch: None, memory: None };
    apply(op, &cx, args).map_err(|e| e.at(op.name, Default::default()))
}

/// Applies an elementwise or array op.
pub fn apply(op: Op, cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let right = match op.arity {
        Arity::Exactly(n) => args.len() == n,
        Arity::AtLeast(n) => args.len() >= n,
    };
    if !right {
        return Err(EvalError::shape(format!("got {} operands", args.len())));
    }
    match op.eval {
        Eval::Elementwise { resolve, scalar } => elementwise::apply(cx, resolve, scalar, args),
        Eval::Array(f) => f(cx, args),
        Eval::Control => Err(EvalError::unsupported("can only be evaluated in a function")),
    }
}

/// The context of an op's array evaluation, besides its operands.
pub struct EvalCx<'a> {
    /// The attributes.
    pub attrs: &'a Attrs,
    /// The types that the results have in the IR.
    pub results: &'a [Type],
    /// The extents that the function's symbols are bound to.
    pub symbols: &'a FxHashMap<Name, u64>,
    /// The module around.
    pub module: Option<&'a Module>,
    /// The resource limits.
    pub limits: Limits,
    /// The remaining steps.
    pub steps: &'a Cell<u64>,
    /// The recorder of the expressions' floats.
    pub watch: Watch<'a>,
    /// The source of memory for results; the global allocator if there is none.
    pub memory: Option<&'a dyn Memory>,
}

impl EvalCx<'_> {
    /// Consumes steps; an error if none are left.
    pub fn spend(&self, steps: u64) -> Result<(), EvalError> {
        match self.steps.get().checked_sub(steps) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => Err(EvalError::limit(format!("more than {} steps", self.limits.steps))),
        }
    }

    /// The number of elements of a shape; an error if it exceeds the limit. Call it before any allocation.
    pub fn len(&self, shape: &[usize]) -> Result<usize, EvalError> {
        self.limits.len(shape)
    }

    /// The number of elements of an array to allocate; an error if it exceeds the limits on elements or
    /// bytes.
    pub fn room(&self, dtype: DType, shape: &[usize]) -> Result<usize, EvalError> {
        let len = self.len(shape)?;
        match (len as u64).saturating_mul(dtype.size() as u64) <= self.limits.bytes {
            true => Ok(len),
            false => {
                let limit = self.limits.bytes;
                Err(EvalError::limit(format!("an array of {dtype} of shape {shape:?} has more than {limit} bytes")))
            }
        }
    }

    /// An array of `shape`, in row-major order, with the elements that `f` gives for each flat index.
    pub fn build(
        &self,
        dtype: DType,
        shape: &[usize],
        mut f: impl FnMut(usize) -> Result<Scalar, EvalError>,
    ) -> Result<Array, EvalError> {
        let len = self.len(shape)?;
        self.spend(len as u64)?;
        let mut elements = Elements::with_capacity(dtype, len)?;
        for i in 0..len {
            elements.push(f(i)?)?;
        }
        elements.into_array(shape)
    }

    /// The extent of a dim.
    pub fn extent(&self, dim: Dim) -> Result<u64, EvalError> {
        match dim {
            Dim::Const(n) => Ok(n),
            Dim::Sym(name) => self.symbols.get(&name).copied().ok_or_else(|| {
                EvalError::shape(format!("symbol `{name}` is bound by no parameter, so its extent is not known"))
            }),
            Dim::Any => Err(EvalError::shape("the extent of `?` is not known here")),
        }
    }

    /// The extents of dims.
    pub fn shape(&self, dims: &[Dim]) -> Result<Vec<usize>, EvalError> {
        let extent = |&dim: &Dim| {
            let n = self.extent(dim)?;
            usize::try_from(n).map_err(|_| EvalError::limit(format!("extent {n} is more than memory can hold")))
        };
        dims.iter().map(extent).collect()
    }
}
