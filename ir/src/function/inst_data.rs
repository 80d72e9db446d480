//! The data of an instruction.

use super::entity::Value;
use super::targets::Targets;
use crate::attr::Attrs;
use crate::loc::Loc;
use crate::op::Op;
use smallvec::SmallVec;

/// An instruction: an op, operands, attributes, branch targets and results.
#[derive(Clone, Debug)]
pub struct InstData {
    /// The op.
    pub op: Op,
    /// The operands.
    pub args: SmallVec<[Value; 3]>,
    /// The attributes.
    pub attrs: Attrs,
    /// Branch targets of a terminator.
    pub targets: Targets,
    /// The results.
    pub results: SmallVec<[Value; 1]>,
    /// Source location.
    pub loc: Loc,
}

impl InstData {
    /// Every value that the instruction uses: operands, then branch arguments.
    #[inline]
    pub fn uses(&self) -> impl Iterator<Item = Value> + '_ {
        self.args.iter().copied().chain(self.targets.iter().flat_map(|t| t.args.iter().copied()))
    }
    /// Whether it has too many operands for a scan of all of them at each one.
    #[inline]
    pub(super) fn is_wide(&self) -> bool {
        self.args.len() > 16
    }
    pub(super) fn uses_mut(&mut self) -> impl Iterator<Item = &mut Value> + '_ {
        self.args.iter_mut().chain(self.targets.iter_mut().flat_map(|t| t.args.iter_mut()))
    }
}
