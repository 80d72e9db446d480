//! Storage styles for arrays that are not dense: each is one file in [`styles`].
//!
//! A program that links the crate has them; nothing else needs to be called:
//!
//! ```
//! use rewright::Name;
//! use rewright_broadcast as _;
//! assert!(rewright::registry().style(Name::new("tridiagonal")).is_some());
//! ```

#![forbid(unsafe_code)]

pub mod styles;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/styles.md")]
mod page {}
