//! The IR of Rewright: types, ops and functions, their text form, the verifier, analyses, run-time values,
//! and the reference evaluator. Rewrites and lowering are crates on top of it.

//!
//! The crate's root has the types that programs and plugins need. Plugins take them from `rewright::plugin`.
//! The modules are for tools, and for rewrites that do more than replace instructions:
//!
//! - [`expr`], [`ops`], [`op`], [`style`]: `arrayexpr` nodes, the built-in ops, definitions of ops and
//!   styles;
//! - [`builder`], [`text`], [`mod@ron`], [`npy`]: construct, read and write functions and arrays;
//! - [`analysis`], [`eval`], [`math`]: analyses, the reference evaluator, and its elementary functions.

#![forbid(unsafe_code)]

pub mod analysis;
mod array_like;
mod attr;
pub mod builder;
mod diag;
mod dtype;
mod error;
pub mod eval;
pub mod expr;
mod function;
mod inference;
mod inline;
mod loc;
pub mod math;
mod module;
mod name;
pub mod npy;
pub mod op;
mod operand_names;
pub mod ops;
mod registry;
pub mod ron;
mod scalar;
mod show;
pub mod style;
pub mod text;
mod types;
pub mod value;
mod verify;

pub use array_like::{AnyArray, ArrayLike, Deferred, Passed};
pub use attr::{Attr, AttrDef, AttrKind, Attrs, Presence, SliceSpec};
pub use builder::{Arg, FuncBuilder};
pub use diag::{Diagnostic, Diagnostics};
pub use dtype::{DType, Kind};
pub use error::{Accessed, EvalError, EvalErrorKind, OutOfBounds, TypeError};
pub use eval::{EvalCx, Limits, Outcome, evaluate, evaluate_function, evaluate_op};
pub use expr::ArrayExpr;
pub use function::{Block, Function, Inst, InstData, Target, Targets, Value, ValueDef};
pub use inference::infer_function;
pub use inline::inline_function;
pub use loc::Loc;
pub use module::Module;
pub use name::Name;
pub use num_complex::{Complex32, Complex64};
pub use op::{Arity, Effects, Eval, InferCx, LiteralCx, Loop, Op, OpDef, Traits, Types, eval_scalar};
pub use operand_names::OperandNames;
pub use registry::{Cost, InterfaceEntry, OpEntry, Origin, Registry, RegistryError, StyleEntry, Subject, registry};
pub use scalar::{Literal, Scalar, Scalars};
pub use style::Unread;
pub use text::{
    parse_attr, parse_function, parse_module, parse_type, parse_unverified, print_function, print_inst, print_module,
};
pub use types::{Dim, MAX_RANK, Signature, Type, broadcast_dims};
pub use value::{Array, Component, Components, Datum, Element, Elements, Style, StyleDef, Styled, StyledLayout, View};
pub use verify::{VerifyError, VerifyErrors, unbound_symbol, verify_function, verify_module};

#[doc(hidden)]
pub use inventory;
