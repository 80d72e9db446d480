//! A plug-in to copy: the op [`cube`](mod@cube), a rewrite that finds it in programs ([`form_cube`]), a rule
//! ([`rules`]), a storage style ([`one_hot`]), their fixtures, and a passdump that knows them all.
//!
//! A program that links the crate has them; nothing else needs to be called:
//!
//! ```
//! use rewright_template as _;
//! assert!(rewright::registry().op("cube").is_some());
//! ```

#![forbid(unsafe_code)]

pub mod cube;
pub mod form_cube;
pub mod one_hot;
pub mod rules;
