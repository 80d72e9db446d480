//! The two forms of a rewrite, and how the driver holds them.

use crate::error::RewriteError;
use crate::match_cx::MatchCx;
use crate::observer::Missed;
use crate::rewriter::Rewriter;
use rewright_ir::{Block, Function, Inst, Loc, Value};
use smallvec::{SmallVec, smallvec};

/// Why a rewrite does not match. Most often there is nothing to say: [`NoMatch::quiet`] allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoMatch {
    /// Nothing most often, in which case this fits into a register.
    reasons: Option<Box<SmallVec<[Missed; 1]>>>,
}

impl NoMatch {
    /// Not what the rewrite looks for.
    pub const fn quiet() -> Self {
        NoMatch { reasons: None }
    }
    /// What the rewrite looks for, except for this; the reason becomes a remark.
    pub fn because(message: impl Into<String>) -> Self {
        let reason = Missed { message: message.into(), loc: Loc::default() };
        NoMatch { reasons: Some(Box::new(smallvec![reason])) }
    }
    /// The same, at a place in the source.
    pub fn at(mut self, loc: Loc) -> Self {
        if let Some(last) = self.reasons.as_mut().and_then(|list| list.last_mut()) {
            last.loc = loc;
        }
        self
    }
    /// The same, at the instruction that defines a value.
    pub fn at_value(self, func: &Function, value: Value) -> Self {
        match func.def_inst(value) {
            Some(inst) => self.at(func.inst(inst).loc),
            None => self,
        }
    }
    /// The same with one more reason.
    pub fn and(mut self, other: NoMatch) -> Self {
        match (&mut self.reasons, other.reasons) {
            (Some(list), Some(more)) => list.extend(*more),
            (none @ None, more) => *none = more,
            _ => {}
        }
        self
    }
    /// The reasons; none if quiet.
    pub fn reasons(&self) -> &[Missed] {
        self.reasons.as_deref().map_or(&[], SmallVec::as_slice)
    }
}

/// A rewrite of basic blocks.
pub trait Rewrite: Sync + 'static {
    /// What was found, private to the rewrite.
    type Match;
    /// Looks at a block. It is asked again when the block, its parameters, uses of its values or branches to it have changed. It must
    /// say no, quickly and without allocating, where there is nothing to do.
    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch>;
    /// Does what was found, at once after it was found. It may change more than the block.
    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError>;
}

/// A rewrite that starts at one instruction.
pub trait RootRewrite: Sync + 'static {
    /// What was found, private to the rewrite.
    type Match;
    /// Looks at an instruction of one of the ops that the rewrite's definition names as roots. It is asked again when the
    /// instruction, its operands' definitions or the users of its results have changed; see [`RewriteDef::reach`](crate::RewriteDef).
    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch>;
    /// Does what was found, at once after it was found. New instructions go before the root, unless it says otherwise.
    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError>;
}

/// What was found, ready to be applied.
pub(crate) trait Found {
    fn apply(self: Box<Self>, rw: &mut Rewriter<'_>) -> Result<(), RewriteError>;
}

/// A match of any rewrite.
pub struct AnyMatch<'r>(pub(crate) Box<dyn Found + 'r>);

/// Any [`Rewrite`]: the typed match is inside the box.
pub trait AnyRewrite: Sync {
    /// Looks at a block.
    fn find(&self, cx: &MatchCx<'_>, block: Block) -> Result<AnyMatch<'_>, NoMatch>;
}

/// Any [`RootRewrite`].
pub trait AnyRootRewrite: Sync {
    /// Looks at an instruction.
    fn find(&self, cx: &MatchCx<'_>, root: Inst) -> Result<AnyMatch<'_>, NoMatch>;
}

struct FoundIn<'r, R: Rewrite> {
    rewrite: &'r R,
    found: R::Match,
}

impl<R: Rewrite> Found for FoundIn<'_, R> {
    fn apply(self: Box<Self>, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        self.rewrite.apply(self.found, rw)
    }
}

impl<R: Rewrite> AnyRewrite for R {
    fn find(&self, cx: &MatchCx<'_>, block: Block) -> Result<AnyMatch<'_>, NoMatch> {
        let found = self.matches(cx, block)?;
        Ok(AnyMatch(Box::new(FoundIn { rewrite: self, found })))
    }
}

struct FoundAt<'r, R: RootRewrite> {
    rewrite: &'r R,
    found: R::Match,
}

impl<R: RootRewrite> Found for FoundAt<'_, R> {
    fn apply(self: Box<Self>, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        self.rewrite.apply(self.found, rw)
    }
}

impl<R: RootRewrite> AnyRootRewrite for R {
    fn find(&self, cx: &MatchCx<'_>, root: Inst) -> Result<AnyMatch<'_>, NoMatch> {
        let found = self.matches(cx, root)?;
        Ok(AnyMatch(Box::new(FoundAt { rewrite: self, found })))
    }
}
