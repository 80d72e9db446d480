//! All names that the author of a plug-in needs: `use rewright::plugin::*;`.
//!
//! A plug-in is a crate that registers ops, rewrites, rules, styles or interfaces. Programs that link it
//! have them. `plugins/template` in the repository is a plug-in to copy; the pages `docs/write-*.md` teach
//! each part.
//!
//! | you write | you define and register | with |
//! |---|---|---|
//! | an op | [`OpDef`], [`register_op!`] | [`Loop`], [`Scalar`], [`eval_scalar`] per element; [`Arity`], [`AttrDef`], [`InferCx`], [`Eval`], [`EvalCx`] on arrays; [`ops`] has the built-in ops |
//! | a rewrite | [`RewriteDef`], [`register_rewrite!`] | [`RootRewrite`] or [`Rewrite`]; [`MatchCx`] and [`NoMatch`] to match, [`Rewriter`] to apply |
//! | a rule | [`rule!`](macro@rule) | [`parse_rule`] and [`rule::soundness`](mod@rule::soundness) check it; [`ConditionDef`], [`register_condition!`] add conditions |
//! | a style | [`StyleDef`], [`register_style!`] | [`Component`], [`Styled`]; interfaces [`Arguments`], [`Destination`], [`Unread`], and those of the crate `rewright-broadcast` |
//! | an interface of an op or a style | [`register_interface!`] | [`LowerScalar`], [`Cost`], [`CostRule`], [`FactsRule`], [`AxisView`], [`rule::proof::BitMeaning`] |
//!
//! Every plug-in says [`plugin!`] once, so that programs can check by [`link_plugins!`] that it is linked.
//! To try a plug-in: [`parse_module`], [`Pipeline`], [`Options`], [`evaluate`], [`Executable`].

// --- Functions, types and values

pub use rewright_ir::{
    Arg, Array, Block, Complex32, Complex64, DType, Datum, Dim, EvalError, EvalErrorKind, FuncBuilder, Function, Inst,
    InstData, Kind, Literal, Loc, Module, Name, Scalar, Scalars, Signature, Type, TypeError, Value, ValueDef,
};

// --- Ops

pub use rewright_ir::op::{index_literal, infer_elementwise, promote_literal};
pub use rewright_ir::{
    Arity, Attr, AttrDef, AttrKind, Attrs, Effects, Eval, EvalCx, InferCx, LiteralCx, Loop, Op, OpDef, Presence,
    SliceSpec, Traits, Types, broadcast_dims, eval_scalar, ops, register_op, registry,
};

// --- Rewrites

pub use rewright_rewrites::{
    Holds, MatchCx, NoMatch, Point, Rewrite, RewriteDef, RewriteError, Rewriter, RootRewrite, Stage, register_rewrite,
};

// --- Rules

pub use rewright_rewrites::rule::{ConditionDef, Known, Liberties, parse_rule};
pub use rewright_rewrites::{register_condition, rule};

// --- Styles, and affine forms for their elements

pub use rewright_ir::expr::{self, Affine, BodyRef, Condition, Index, IndexExpr, Mode, SymExpr, Test};
pub use rewright_ir::style::{Arguments, Destination};
pub use rewright_ir::{Component, Style, StyleDef, Styled, Unread, register_style};

// --- Interfaces

pub use rewright_ir::{Cost, register_interface};
pub use rewright_lowering::scalar::{Elem, Elems, LowerScalar, ScalarCx};
pub use rewright_lowering::{Binary, Compare, KValue, KernelBuilder, Unary};
pub use rewright_rewrites::AxisView;
pub use rewright_rewrites::cost::{CostCx, CostRule};
pub use rewright_rewrites::value_facts::{FactsCx, FactsRule, ValueFacts};

// --- Linking and trying it

pub use rewright_ir::{evaluate, parse_module, verify_module};
pub use rewright_lowering::Executable;
pub use rewright_rewrites::{NoObserver, Options, Pipeline, link_plugins, plugin};
