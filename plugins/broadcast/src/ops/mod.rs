//! The ops, one file each.

pub mod align;
pub mod allocate;
pub mod broadcasted;
pub mod drop_zeros;
pub mod materialize;
pub mod pack_bits;
pub mod places;
pub mod revalued;
pub mod spread;
pub mod stretch;

use rewright::ir::{InferCx, TypeError};

/// A type error whose message begins with the op's name.
fn refuse(cx: &InferCx<'_>, why: impl std::fmt::Display) -> TypeError {
    TypeError::new(format!("`{}`: {why}", cx.op))
}
