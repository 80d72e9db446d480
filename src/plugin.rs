//! All names that the author of a plug-in needs: `use rewright::plugin::*;`.
//!
//! A plug-in is a crate that registers ops, rewrites, rules, styles or interfaces. Programs that link it
//! have them. `plugins/template` in the repository is a plug-in to copy, and the pages `docs/write-*.md`
//! teach each part.
//!
//! - **Ops**: an [`OpDef`] and [`register_op!`].
//!   Elementwise ops have a [`Loop`] and a meaning on [`Scalar`]s, which [`eval_scalar`] of other ops may
//!   express. Ops on arrays have an [`Arity`], a type rule on [`InferCx`], and an [`Eval`] on [`EvalCx`] and
//!   [`Datum`]s; their attributes are [`AttrDef`]s. The module [`ops`] has the built-in ops.
//! - **Rewrites**: a [`RewriteDef`] and [`register_rewrite!`].
//!   A [`RootRewrite`] starts at an instruction, a [`Rewrite`] at a block. Both match by [`MatchCx`], answer
//!   [`NoMatch`] with a reason, and change the function by a [`Rewriter`].
//! - **Rules**: [`rule!`](macro@rule), or [`parse_rule`] at run time; [`Liberties`] that they take.
//!   [`rule::soundness`](mod@rule::soundness) checks a rule, and [`assert_rules_hold`] all rules of a crate
//!   in its tests. [`ConditionDef`] and [`register_condition!`] add
//!   a condition.
//! - **Styles**: a [`StyleDef`] of [`Component`]s, and [`register_style!`]; a value of a style is a
//!   [`Styled`]. [`Arguments`], [`Destination`] and [`Unread`] are interfaces of styles. The crate
//!   `rewright-broadcast` has the others; they describe elements by [`Affine`] forms.
//! - **Interfaces**: [`register_interface!`], for ops and styles of any crate.
//!   [`LowerScalar`] emits kernel instructions, by a [`KernelBuilder`]. [`Cost`] and [`CostRule`], in units
//!   of [`cost::CYCLE`], guide equality saturation, [`FactsRule`] answers conditions of rules,
//!   [`BitMeaning`] in [`Terms`] proves rules, and [`AxisView`] lets fused loops read through a view.
//! - **Source languages**: a [`LanguageDef`] and [`register_language!`]. Tools read its programs in place of
//!   IR text.
//! - **Linking**: [`plugin!`] once in the crate, so that programs can check by [`link_plugins!`] that it is
//!   linked.
//! - **To try it**: [`parse_module`], [`verify_module`], [`Pipeline`] with [`Options`], [`evaluate`],
//!   [`Executable`].

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

pub use rewright_rewrites::rule::proof::{BitArg, BitCx, BitMeaning, BitResults, Term, Terms};
pub use rewright_rewrites::rule::soundness::assert_rules_hold;
pub use rewright_rewrites::rule::{ConditionDef, Known, Liberties, parse_rule};
pub use rewright_rewrites::{register_condition, rule};

// --- Styles, and affine forms for their elements

pub use rewright_ir::expr::{self, Affine, BodyRef, Condition, Index, IndexExpr, Mode, Negative, SymExpr, Test};
pub use rewright_ir::style::{Arguments, Destination};
pub use rewright_ir::{Component, Style, StyleDef, Styled, Unread, register_style};

// --- Interfaces

pub use rewright_ir::{Cost, register_interface};
pub use rewright_lowering::scalar::{Elem, Elems, LowerScalar, ScalarCx};
pub use rewright_lowering::{Binary, Compare, KValue, KernelBuilder, Unary};
pub use rewright_rewrites::AxisView;
pub use rewright_rewrites::cost::{self, CostCx, CostRule};
pub use rewright_rewrites::value_facts::{FactsCx, FactsRule, ValueFacts};

// --- Source languages

pub use crate::language::{LanguageDef, SourceProgram, Translation};
pub use crate::register_language;

// --- Linking and trying it

pub use rewright_ir::{evaluate, parse_module, verify_module};
pub use rewright_lowering::Executable;
pub use rewright_rewrites::{NoObserver, Options, Pipeline, link_plugins, plugin};
