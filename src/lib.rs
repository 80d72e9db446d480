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
//! Every op, rewrite, storage style and lowering is registered by the crate that defines it, and the core's
//! own are registered as a stranger's are. A plugin is a crate with, say, a [`RewriteDef`] and
//! [`register_rewrite!`]; a program that links it (`use my_plugin as _;`) has it. `plugins/template` in the
//! repository is one to copy.
//!
//! This crate re-exports three:
//!
//! - [`ir`]: types, ops, functions, text and RON forms, verifier, and the reference evaluator, which
//!   defines what programs mean;
//! - [`rewrites`]: the rewrite traits, registry, pipelines and driver, and the built-in rewrites;
//! - [`lowering`]: kernels, code generators and [`Executable`].
//!
//! Rewrites and lowering know nothing of each other: they meet in the IR.

#![forbid(unsafe_code)]

mod target;

pub use ndarray;
pub use rewright_ir as ir;
pub use rewright_lowering as lowering;
pub use rewright_rewrites as rewrites;

pub use rewright_ir::*;
pub use rewright_lowering::exec::{self, Executable};
pub use rewright_rewrites::{
    MatchCx, NoMatch, NoObserver, Observer, Pipeline, PipelineError, Point, Rewrite, RewriteDef, RewriteError,
    Rewriter, RootRewrite, Stage, link_plugins, plugin, register_rewrite,
};

pub use target::target_of;

/// What programs and plugins need most: `use rewright::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Arg, Array, Attr, Attrs, Block, DType, Datum, Dim, EvalError, Executable, FuncBuilder, Function, Inst, Literal,
        Loop, MatchCx, Module, Name, NoMatch, NoObserver, Op, OpDef, Pipeline, Point, Rewrite, RewriteDef,
        RewriteError, Rewriter, RootRewrite, Scalar, Scalars, Stage, Traits, Type, TypeError, Value, eval_scalar,
        parse_module, register_interface, register_op, register_rewrite, register_style, registry,
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
