//! The imports of a rewrite: `use rewright_rewrites::prelude::*;`.

pub use crate::register_rewrite;
pub use crate::{Holds, MatchCx, NoMatch, Point, Rewrite, RewriteDef, RewriteError, Rewriter, RootRewrite, Stage};
pub use rewright_ir::{Arg, Attr, Attrs, Block, DType, Function, Inst, Literal, Op, Scalar, Type, Value};
