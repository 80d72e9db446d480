//! Where something was written, and what.

use crate::op::Op;
use std::fmt;

/// A place in a source text. The default is "nowhere": made by a builder or a rewrite.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Loc {
    /// 1-based line; 0 means nowhere.
    pub line: u32,
    /// 1-based column, in characters.
    pub col: u32,
    /// Byte offset of the start in the text.
    pub start: u32,
    /// Length, in bytes.
    pub len: u32,
    /// The op that was written there, of an instruction's place. What a rewrite puts in its stead has the place, and so this op: errors
    /// name it, whatever computes it.
    pub op: Option<Op>,
}

impl Loc {
    /// The place as that of an instruction: `op` was written there, unless the place is that of another instruction.
    pub fn of(self, op: Op) -> Loc {
        Loc { op: self.op.or(Some(op)), ..self }
    }
    /// True where there is no place.
    pub fn is_none(self) -> bool {
        self.line == 0
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() { f.write_str("?") } else { write!(f, "{}:{}", self.line, self.col) }
    }
}
impl fmt::Debug for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
