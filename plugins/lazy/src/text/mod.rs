//! The text form of lazy expressions: `iota(i64, 3)[i: 3, j: 4 -> 2 - i]`.
//!
//! The input comes first. The brackets hold the axes of the result, and the position along each axis of
//! the input. Without brackets the map is the identity. The inputs are `var(f64[3, 4])`, `full(0.5:f32)`,
//! `iota(i64, 3)`, `eye(f64, 3, 4)`, `tri(bool, 3, 4, -1)` and `delta(f64, 3, 3, 3)`. The last argument
//! of `eye` and `tri` is the diagonal, if it isn't the main one.

mod parse;
mod print;

pub use parse::ParseError;

use crate::expr::LazyExpr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

impl Serialize for LazyExpr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LazyExpr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
