//! Source locations.

use std::fmt;

/// A location in a source text. The default is "nowhere": created by a builder or a rewrite.
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
    /// The name of the op that was written at an instruction's location. Replacements of the instruction
    /// inherit the location, and with it this name: errors name the written op, independent of the op that
    /// computes the value.
    pub op: Option<&'static str>,
}

impl Loc {
    /// The location as that of an instruction with the op of this name; the op of a location that has one
    /// stays.
    pub fn of(self, op: &'static str) -> Loc {
        Loc { op: self.op.or(Some(op)), ..self }
    }
    /// True without a location.
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
