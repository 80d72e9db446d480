//! The IR of Rewright: types, ops and functions, their text form, the verifier, analyses, run-time values,
//! and the reference evaluator. Rewrites and lowering are crates on top of it.

#![forbid(unsafe_code)]

pub mod analysis;
pub mod array_like;
pub mod attr;
pub mod builder;
pub mod diag;
pub mod dtype;
pub mod error;
pub mod eval;
pub mod expr;
pub mod function;
pub mod inference;
pub mod inline;
pub mod loc;
pub mod math;
pub mod module;
pub mod name;
pub mod npy;
pub mod op;
mod operand_names;
pub mod ops;
pub mod registry;
pub mod ron;
pub mod scalar;
pub mod show;
pub mod style;
pub mod text;
pub mod types;
pub mod value;
pub mod verify;

pub use array_like::{AnyArray, ArrayLike, Deferred, Passed};
pub use attr::{Attr, AttrDef, AttrKind, Attrs, Presence, SliceSpec};
pub use builder::{Arg, FuncBuilder};
pub use diag::{Diagnostic, Diagnostics};
pub use dtype::{DType, Kind};
pub use error::{EvalError, EvalErrorKind, TypeError};
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
pub use types::{Dim, Signature, Type, broadcast_dims};
pub use value::{Array, Component, Components, Datum, Element, Elements, Style, StyleDef, Styled, StyledLayout, View};
pub use verify::{VerifyError, VerifyErrors, verify_function, verify_module};

#[doc(hidden)]
pub use inventory;
