//! Index notation: statements such as `C[i, k] := A[i, j] * B[j, k]` become fused array expressions.
//!
//! ```text
//!  text ──token──> tokens ──parse──> syntax tree ──resolve──> nest ──ranges──> ranges
//!                                         │                     │                 │
//!                                       print                   └─── translate ───┘
//!                                                                       │
//!                                       call <── Executable <── arrayexpr in a Function
//! ```
//!
//! | module | makes | of |
//! |---|---|---|
//! | `rewright_index_grammar` | the syntax tree ([`syntax`]), as it is written, with places | a text |
//! | `resolve` | a `nest`: index variables, accesses, a tree of scalar operations | a statement |
//! | `known` | values of sizes | extents, first indices and scalars |
//! | `ranges` | the range of each index, and how each access is checked | a nest and the known facts |
//! | `write_map` | whether two points write one element | the ranges |
//! | `contraction` | the order of pairwise products | index sets and extents |
//! | `translate` | instructions, one `arrayexpr` for the loops | all of these |
//! | `statements` | a function | a program, and types or arrays |
//! | `call` | results | a program and arrays |
//!
//! Nothing is implicit behind the nest: positions are sums with their boundary modes, every reduction has its
//! indices, and each place of an error is that of the text.
//!
//! - [`Statements`]: a program, to be called often; [`eval`] runs one once.
//! - [`einsum`]: strings of NumPy.
//! - [`Statements::lower`]: the function of a program, for inputs with symbolic or known extents.
//! - [`Statements::append`]: its instructions in a function under construction.
//!
//! `docs/index-notation.md` in the repository teaches the notation.

#![forbid(unsafe_code)]

mod call;
mod checked;
mod contraction;
mod einsum;
mod explain;
mod functions;
mod inputs;
mod known;
mod language;
mod nest;
mod ranges;
mod resolve;
mod settings;
mod statements;
mod symbols;
mod translate;
mod write_map;

use rewright_index_grammar::parse;

#[doc(hidden)]
pub use call::call_lazy;
pub use call::{Error, eval};
pub use checked::CheckedPositions;
pub use einsum::{einsum, einsum_statement};
pub use inputs::{Input, InputKind};
pub use rewright_index_grammar::parse::parse;
pub use rewright_index_grammar::syntax;
pub use statements::{Lowered, Statements};

rewright::plugin!();

#[cfg(doctest)]
#[doc = include_str!("../../../docs/index-notation.md")]
mod page {}

#[cfg(doctest)]
#[doc = include_str!("../../index-macro/src/index.md")]
mod macro_page {}
