//! Storage styles for arrays that are not dense, one file each in [`styles`]. Elementwise functions of such
//! arrays are lazy until they are materialized ([`ops`]). The result keeps the structure that type
//! inference proves ([`structure`]).
//!
//! Linking the crate registers the styles, ops and rewrites; no call is needed:
//!
//! ```
//! use rewright::Name;
//! use rewright_broadcast as _;
//! assert!(rewright::registry().style(Name::new("tridiagonal")).is_some());
//! ```

#![forbid(unsafe_code)]

pub mod absorption;
pub mod bits_on_words;
pub mod element;
pub mod expression;
pub mod flatten;
pub mod lattice;
pub mod lazy;
pub mod materialize_nest;
pub mod merge;
pub mod nest;
pub mod ops;
pub mod pack_bits;
pub mod pattern;
pub mod range_arithmetic;
pub mod reduce_styled;
pub mod scalar_function;
pub mod store_lazy;
pub mod stored_elements;
pub mod structure;
pub mod styles;
pub mod summary;
pub mod terms;
pub mod whole_nest;

#[doc(hidden)]
pub use rewright;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/styles.md")]
mod page {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/write-a-style.md")]
mod page_of_own_styles {}
