//! Rewrites of functions, and what runs them.
//!
//! A *rewrite* improves a function a step at a time. It has two halves: `matches` looks at one place, reads only, and says no or
//! gives what it found; `apply` takes what was found and changes the function through a [`Rewriter`]. What was found has a type of the
//! rewrite's own, so applying without a match can't be written down. There are two forms: a [`RootRewrite`] looks at one
//! instruction and what is around it, a [`Rewrite`] at a whole basic block.
//!
//! ```
//! use rewright_rewrites::prelude::*;
//!
//! /// `sqrt(x) * sqrt(x)` is not `x` in floats, but `neg (neg x)` is.
//! struct NegNeg;
//!
//! impl RootRewrite for NegNeg {
//!     type Match = (Inst, Value); // the outer `neg`, and what it comes to
//!     fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
//!         let inner = cx.operand_op(root, 0, "neg").ok_or(NoMatch::quiet())?;
//!         let x = cx.func().inst(inner).args[0];
//!         if cx.can_replace(root, &[x]) { Ok((root, x)) } else { Err(NoMatch::quiet()) }
//!     }
//!     fn apply(&self, (root, x): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
//!         rw.replace(root, &[x])
//!     }
//! }
//!
//! static NEG_NEG: RewriteDef = RewriteDef::root("neg-neg", "neg (neg x) is x", &NegNeg).roots(&["neg"]).opt_in();
//! register_rewrite!(NEG_NEG);
//! ```
//!
//! A [`Pipeline`] names rewrites, `"fold, cse, array-expr*, dce"`, and runs them to a fixed point: until no rewrite matches anywhere.
//! It asks again only where something changed. Every application is a transaction: one that fails, panics, does nothing or leaves
//! invalid IR is undone and named, and rewrites that undo each other are found out and shown.
//!
//! ```
//! # use rewright_rewrites::{Pipeline, Options, NoObserver};
//! # use rewright_ir::{FuncBuilder, Module, Type, DType};
//! let mut b = FuncBuilder::new("f", &[("x", Type::scalar(DType::F64))], vec![Type::scalar(DType::F64)]);
//! let x = b.param(0);
//! b.ret([x])?;
//! let mut module = Module::new();
//! module.insert(b.finish());
//! let report = Pipeline::parse("default")?.run(&mut module, &Options::default(), &mut NoObserver)?;
//! assert_eq!(report.applications(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod analyses;
pub mod builtin;
pub mod change;
pub mod def;
pub mod driver;
pub mod error;
pub mod match_cx;
pub mod observer;
pub mod pipeline;
pub mod plugin;
pub mod prelude;
pub mod registry;
pub mod rewrite;
pub mod rewriter;

pub use analyses::Analyses;
pub use change::Change;
pub use def::{RewriteDef, RewriteEntry, Stage};
pub use driver::{Options, Report, RewriteStats, Verify};
pub use error::{RewriteError, Step};
pub use match_cx::MatchCx;
pub use observer::{Event, NoObserver, Observer, Remark, RemarkKind};
pub use pipeline::{Pipeline, PipelineError};
pub use plugin::{PluginEntry, PluginError};
pub use registry::{RewriteRegistry, RewriteRegistryError, rewrites};
pub use rewrite::{NoMatch, Rewrite, RootRewrite};
pub use rewriter::{Point, Rewriter};

#[doc(hidden)]
pub use rewright_ir;
