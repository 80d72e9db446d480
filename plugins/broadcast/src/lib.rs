//! Storage styles for arrays that are not dense. Elementwise functions of such arrays are lazy until they are
//! materialized. The result keeps the structure that type inference proves.
//!
//! - [`expression`]: lazy expressions of arrays in Rust;
//! - [`flatten`]: a lazy expression of a program as one function of scalars;
//! - [`interfaces`]: the interfaces of storage styles, for crates with styles of their own.
//!
//! Linking the crate registers the styles, ops and rewrites; no call is needed:
//!
//! ```
//! use rewright::Name;
//! use rewright_broadcast as _;
//! assert!(rewright::registry().style(Name::new("tridiagonal")).is_some());
//! ```

#![forbid(unsafe_code)]

mod absorption;
mod bits_on_words;
mod element;
pub mod expression;
pub mod flatten;
pub mod interfaces;
mod lattice;
mod lazy;
mod materialize_nest;
mod merge;
mod nest;
mod ops;
mod pack_bits;
mod pattern;
mod range_arithmetic;
mod reduce_styled;
mod scalar_function;
mod store_lazy;
mod stored_elements;
mod structure;
mod styles;
mod summary;
mod terms;
mod whole_nest;

#[doc(hidden)]
pub use rewright;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/styles.md")]
mod page {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/write-a-style.md")]
mod page_of_own_styles {}
