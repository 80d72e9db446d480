//! Rewrites of functions, and what runs them.
//!
//! A *rewrite* improves a function a step at a time. It has two halves: `matches` looks at one place, reads only, and says no or
//! gives what it found; `apply` takes what was found and changes the function through a [`Rewriter`]. What was found has a type of the
//! rewrite's own, so applying without a match can't be written down. There are two forms: a [`RootRewrite`] looks at one
//! instruction and what is around it, a [`Rewrite`] at a whole basic block.
//!
//! This is a complete plugin, and a run of it:
//!
//! ```
//! use rewright_rewrites::prelude::*;
//! use rewright_rewrites::{NoObserver, Options, Pipeline};
//! use rewright_ir::{parse_module, print_module};
//!
//! struct NegNeg;
//!
//! impl RootRewrite for NegNeg {
//!     type Match = (Inst, Value); // the outer `neg`, and what it comes to
//!     fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
//!         let inner = cx.operand_op(root, 0, "neg").ok_or(NoMatch::quiet())?;
//!         let x = cx.func().inst(inner).args[0];
//!         if cx.can_replace(root, &[x]) { Ok((root, x)) } else { Err(NoMatch::because("the operand is written to")) }
//!     }
//!     fn apply(&self, (root, x): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
//!         rw.replace(root, &[x])
//!     }
//! }
//!
//! static NEG_NEG: RewriteDef = RewriteDef::root("neg-neg", "neg (neg x) is x", &NegNeg).roots(&["neg"]).opt_in();
//! register_rewrite!(NEG_NEG);
//!
//! let text = "func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %a = neg %x\n  %b = neg %a\n  ret %b\n}\n";
//! let mut module = parse_module(text, "f.ir")?;
//! let report = Pipeline::parse("neg-neg")?.run(&mut module, &Options::default(), &mut NoObserver)?;
//! assert_eq!(report.applied("neg-neg"), 1);
//! assert!(print_module(&module).contains("ret %x"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A crate of rewrites says [`plugin!`] once, so that programs can make sure with [`link_plugins!`] that it is there.
//!
//! A [`Pipeline`] names rewrites, `"fold, cse, array-expr*, dce"`, or is the `default` one, and runs them to a fixed point: until no
//! rewrite matches anywhere. It asks again only where something changed. Every application is a transaction: one that fails, panics,
//! does nothing or leaves invalid IR is undone and named ([`RewriteError`]), and rewrites that undo each other, or never end, are
//! found out and shown. An [`Observer`] sees every [`Event`]; the [`Report`] has the numbers and the [`Remark`]s: what was
//! done and what was not, and why.
//!
//! # How much time it takes
//!
//! The driver takes time in proportion to what changes: an application costs its own changes, the uses that they touch and what is
//! near enough to see them, whatever the size of the function. Only new branches between blocks have the whole function verified
//! again. So a rewrite keeps a run linear if its `matches` looks at few instructions (root form), or if it does all that there is to
//! do in a block at once (block form).

#![forbid(unsafe_code)]

pub mod analyses;
pub mod builtin;
pub mod change;
pub mod check;
pub mod cost;
pub mod def;
pub mod driver;
pub mod egraph;
pub mod error;
pub mod facts;
mod key_set;
pub mod match_cx;
pub mod observer;
mod op_set;
pub mod pipeline;
pub mod plugin;
pub mod prelude;
pub mod registry;
pub mod rewrite;
pub mod rewriter;
pub mod rule;
mod run_state;
pub mod target;

pub use analyses::Analyses;
pub use change::Change;
pub use def::{Holds, RewriteDef, RewriteEntry, Stage};
pub use driver::{Matcher, Options, Report, RewriteStats, Verify};
pub use error::{RewriteError, Step};
pub use match_cx::MatchCx;
pub use observer::{Event, NoObserver, Observer, Remark, RemarkKind};
pub use pipeline::{Pipeline, PipelineError};
pub use plugin::{PluginEntry, PluginError};
pub use registry::{RewriteRegistry, RewriteRegistryError, rewrites};
pub use rewrite::{NoMatch, Rewrite, RootRewrite};
pub use rewriter::{Point, Rewriter};
pub use target::Target;

#[doc(hidden)]
pub use rewright_ir;
