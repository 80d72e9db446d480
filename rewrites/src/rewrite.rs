//! The two forms of a rewrite, and their type-erased forms for the driver.

use crate::error::RewriteError;
use crate::match_cx::MatchCx;
use crate::observer::Missed;
use crate::rewriter::Rewriter;
use rewright_ir::{Block, Function, Inst, Loc, Value};
use smallvec::{SmallVec, smallvec};

/// Why a rewrite does not match. Usually there is no reason to report: [`NoMatch::quiet`] allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoMatch {
    /// `None` in the common case, which fits into a register.
    reasons: Option<Box<SmallVec<[Missed; 1]>>>,
}

impl NoMatch {
    /// The pattern does not match.
    pub const fn quiet() -> Self {
        NoMatch { reasons: None }
    }
    /// The pattern matches, but this reason prevents the rewrite; it becomes a remark.
    pub fn because(message: impl Into<String>) -> Self {
        let reason = Missed { message: message.into(), loc: Loc::default() };
        NoMatch { reasons: Some(Box::new(smallvec![reason])) }
    }
    /// Sets the location of the last reason.
    pub fn at(mut self, loc: Loc) -> Self {
        if let Some(last) = self.reasons.as_mut().and_then(|list| list.last_mut()) {
            last.loc = loc;
        }
        self
    }
    /// Sets the location of the last reason to the instruction that defines a value.
    pub fn at_value(self, func: &Function, value: Value) -> Self {
        match func.def_inst(value) {
            Some(inst) => self.at(func.inst(inst).loc),
            None => self,
        }
    }
    /// Adds the reasons of another result.
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
    /// The match, private to the rewrite.
    type Match;
    /// Tries a block. The block is tried again when its instructions, its parameters, uses of its values or
    /// branches to it have changed. If there is no match, this must return quickly and without allocating.
    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch>;
    /// Applies a match, directly after it was found. May change more than the block.
    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError>;
}

/// A rewrite that starts at one instruction.
pub trait RootRewrite: Sync + 'static {
    /// The match, private to the rewrite.
    type Match;
    /// Tries an instruction whose op is a root of the rewrite's definition. The instruction is tried again
    /// when it, its operands' definitions or the users of its results have changed; see
    /// [`RewriteDef::reach`](crate::RewriteDef).
    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch>;
    /// Applies a match, directly after it was found. New instructions go before the root, unless the rewrite
    /// sets another point.
    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError>;
}

/// A type-erased match, ready to be applied.
pub(crate) trait ErasedMatch {
    fn apply(self: Box<Self>, rw: &mut Rewriter<'_>) -> Result<(), RewriteError>;
}

/// A match of any rewrite.
pub struct AnyMatch<'r>(pub(crate) Box<dyn ErasedMatch + 'r>);

/// A type-erased [`Rewrite`]: the typed match is inside the box.
pub trait AnyRewrite: Sync {
    /// Tries a block.
    fn find(&self, cx: &MatchCx<'_>, block: Block) -> Result<AnyMatch<'_>, NoMatch>;
}

/// A type-erased [`RootRewrite`].
pub trait AnyRootRewrite: Sync {
    /// Tries an instruction.
    fn find(&self, cx: &MatchCx<'_>, root: Inst) -> Result<AnyMatch<'_>, NoMatch>;
}

struct FoundIn<'r, R: Rewrite> {
    rewrite: &'r R,
    found: R::Match,
}

impl<R: Rewrite> ErasedMatch for FoundIn<'_, R> {
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

impl<R: RootRewrite> ErasedMatch for FoundAt<'_, R> {
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
