//! Rewright: a rewrite-pass optimizer plugin framework over an SSA basic-block array IR.
//!
//! A program is a [`Module`] of functions over arrays. [`Pipeline`]s of rewrites improve it; one of them,
//! `array-expr`, collapses chains of elementwise operations into single `arrayexpr` nodes. An
//! [`Executable`] makes one fused kernel of machine code of each such node, and is called with arrays.
//!
//! ```
//! use rewright::ndarray::array;
//! use rewright::prelude::*;
//!
//! let text = "
//! func @twice_the_successor(%x: f64[n]) -> f64[n] {
//! entry:
//!   %0 = add %x, 1.0
//!   %1 = mul %0, 2.0
//!   ret %1
//! }";
//! let mut module = parse_module(text, "example")?;
//! Pipeline::parse("default")?.run(&mut module, &Default::default(), &mut NoObserver)?;
//!
//! let f = Executable::compile(&module, "twice_the_successor", Default::default())?;
//! let x = array![1.0, 2.0, 3.0];
//! let results = f.call(&[(&x).into()])?;
//! assert_eq!(results, [Array::from(array![4.0, 6.0, 8.0].into_dyn()).into()]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | you write | take | page of the book |
//! |---|---|---|
//! | a program that builds, optimizes or calls functions | [`prelude`] | `docs/embed.md` |
//! | a plug-in: ops, rewrites, rules, styles, interfaces | [`plugin`](mod@plugin) | `docs/write-*.md` |
//!
//! Every op, rewrite, storage style and lowering is registered by the crate that defines it; the core
//! registers its own by the same macros. A plug-in is a crate with, say, a [`RewriteDef`] and
//! [`register_rewrite!`]; a program that links it (`use my_plugin as _;`) has the rewrite. `plugins/template`
//! in the repository is a plug-in to copy.
//!
//! Tools that need more find it in three crates. Rewrites and lowering do not depend on each other: they
//! meet in the IR.
//!
//! - [`ir`]: types, ops, functions, text and RON forms, verifier, and the reference evaluator, which
//!   defines the meaning of programs;
//! - [`rewrites`]: the rewrite traits, registry, pipelines and driver, rules and their checks;
//! - [`lowering`]: code generators and [`Executable`]. Kernels are in [`lowering::internals`], which is
//!   unstable.

#![forbid(unsafe_code)]

pub mod language;
pub mod plugin;
mod target;

pub use ndarray;
pub use rewright_ir as ir;
pub use rewright_lowering as lowering;
pub use rewright_rewrites as rewrites;

pub use rewright_ir::*;
pub use rewright_lowering::exec::{self, Executable};
pub use rewright_rewrites::rule::Liberties;
pub use rewright_rewrites::{
    MatchCx, NoMatch, NoObserver, Observer, Pipeline, PipelineError, Point, Rewrite, RewriteDef, RewriteError,
    Rewriter, RootRewrite, Stage, link_plugins, plugin, register_rewrite,
};

pub use target::target_of;

/// The names that programs need most: `use rewright::prelude::*;`. Authors of plug-ins use
/// [`plugin`](mod@crate::plugin) in its place.
pub mod prelude {
    pub use crate::{
        Arg, Array, Attr, Attrs, Block, DType, Datum, Dim, EvalError, Executable, FuncBuilder, Function, Inst, Module,
        Name, NoObserver, Op, Pipeline, Scalar, Type, TypeError, Value, parse_module, registry,
    };
}

/// The README's plug-in compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

/// The page's rewrite compiles and does what the page says.
#[cfg(doctest)]
#[doc = include_str!("../docs/write-a-rewrite.md")]
pub struct WriteARewrite;

/// The page's rules are registered, applied and judged as the page says.
#[cfg(doctest)]
#[doc = include_str!("../docs/write-a-rule.md")]
pub struct WriteARule;

/// The page's ops compile and do what the page says.
#[cfg(doctest)]
#[doc = include_str!("../docs/write-an-op.md")]
pub struct WriteAnOp;

/// The page's programs compile and do what the page says.
#[cfg(doctest)]
#[doc = include_str!("../docs/embed.md")]
pub struct Embed;
