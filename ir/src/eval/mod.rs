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
mod callees;
mod elementwise;
mod machine;
mod message;

use crate::attr::Attrs;
use crate::error::EvalError;
use crate::function::Function;
use crate::module::Module;
use crate::name::Name;
use crate::op::{Arity, Eval, Op};
use crate::types::Type;
use crate::value::Datum;
use rustc_hash::FxHashMap;
use std::cell::Cell;

pub use crate::op::{Callees, EvalCx, Floats, Limits, Memory, Outcome, Watch, reserve};
pub use elementwise::{broadcast_shapes, map_elements};
pub use message::{Bound, mismatch, with_operands};

/// The maximum depth of calls for any [`Limits::depth`]: calls use the native stack.
pub const MAX_DEPTH: u32 = 256;

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
pub(crate) fn evaluate_counted(
    func: &Function,
    module: Option<&Module>,
    args: Vec<Datum>,
    limits: Limits,
) -> (Result<Outcome, EvalError>, u64) {
    let machine = machine::Machine::new(module, limits);
    (machine.outcome(func, args), machine.taken())
}

/// Evaluates a function, counts its steps, and records the floats of the evaluation, also up to an error.
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
        EvalCx { attrs, results, symbols: &symbols, callees: None, limits, steps: &steps, watch: None, memory: None };
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
