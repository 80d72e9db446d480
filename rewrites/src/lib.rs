//! Rewrites of functions, and the driver that runs them.
//!
//! A *rewrite* improves a function step by step. It has two halves: `matches` reads one place and returns a
//! match or none; `apply` consumes the match and changes the function through a [`Rewriter`]. The type of
//! the match is the rewrite's own, so code that applies without a match does not compile. There are two
//! forms: a [`RootRewrite`] starts at one instruction, a [`Rewrite`] handles a basic block.
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
//! A crate of rewrites contains [`plugin!`] once, so that programs can check with [`link_plugins!`] that it
//! is linked.
//!
//! A [`Pipeline`] names rewrites, `"fold, cse, array-expr*, dce"`, or is the `default` one. It runs them to
//! a fixed point, where no rewrite matches anywhere. Only places near a change are tried again. Every
//! application is a transaction: one that fails, panics, changes nothing or leaves invalid IR is undone and
//! named ([`RewriteError`]). Rewrites that undo each other or do not terminate are detected and reported. An
//! [`Observer`] receives every [`Event`]; the [`Report`] has statistics and the [`Remark`]s, which say which
//! rewrites were applied and which were not, and why.
//!
//! # Compile time
//!
//! The driver takes time proportional to the changes: an application costs its own changes, the uses that
//! they touch, and the instructions near them, independent of the function's size. Only new branches between
//! blocks cause the whole function to be verified again. So a run stays linear if the `matches` of a rewrite
//! visits few instructions (root form), or if the rewrite does all its work in a block at once (block form).

#![forbid(unsafe_code)]

mod analyses;
mod builtin;
mod change;
pub mod check;
pub mod cost;
mod def;
mod driver;
pub mod egraph;
mod error;
mod key_set;
mod linking;
mod match_cx;
mod observer;
mod op_set;
mod options;
mod pipeline;
pub mod prelude;
mod registry;
mod rewrite;
mod rewriter;
pub mod rule;
mod run_state;
mod target;
mod test_values;
pub mod value_facts;

pub use analyses::Analyses;
pub use builtin::fusion::elementwise::array_expr::AxisView;
pub use change::Change;
pub use def::{Form, Holds, RewriteDef, RewriteEntry, Stage};
pub use driver::{Matcher, Report, RewriteStats};
pub use error::{RewriteError, Step};
pub use linking::{PluginEntry, PluginError, VERSION, check_plugins, plugins};
pub use match_cx::MatchCx;
pub use observer::{Event, Missed, NoObserver, Observer, Remark, RemarkKind};
pub use options::{Options, Verify};
pub use pipeline::{Pipeline, PipelineError};
pub use registry::{RewriteRegistry, RewriteRegistryError, rewrites};
pub use rewrite::{NoMatch, Rewrite, RootRewrite};
pub use rewriter::{Point, Rewriter};
pub use target::Target;

#[doc(hidden)]
pub use rewright_ir;
