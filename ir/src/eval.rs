//! The reference evaluator: the plain meaning of every op, slow and obvious.

use crate::attr::Attrs;
use crate::module::Module;
use crate::name::Name;
use crate::types::Type;
use rustc_hash::FxHashMap;

/// What an evaluation may use, so that every program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions executed, over all calls.
    pub steps: u64,
    /// Elements of one array, and points of one index space.
    pub elements: u64,
    /// Depth of calls.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { steps: 1 << 32, elements: 1 << 31, depth: 128 }
    }
}

/// What an op's array evaluation sees besides its operands.
pub struct EvalCx<'a> {
    /// The attributes.
    pub attrs: &'a Attrs,
    /// The types that the results have in the IR.
    pub results: &'a [Type],
    /// The extents that the function's symbols are bound to.
    pub symbols: &'a FxHashMap<Name, u64>,
    /// The module around.
    pub module: Option<&'a Module>,
    /// What may be used.
    pub limits: Limits,
}
