//! The branch targets of an instruction.

use super::entity::{Block, Value};
use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};

/// A branch to a block with arguments for its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The block.
    pub block: Block,
    /// One argument for each parameter of the block.
    pub args: SmallVec<[Value; 2]>,
}

/// The branch targets of a terminator: a list of [`Target`]s. Other instructions have none, so this is a
/// single pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets(Option<Box<SmallVec<[Target; 2]>>>);

impl Deref for Targets {
    type Target = [Target];
    #[inline]
    fn deref(&self) -> &[Target] {
        self.0.as_deref().map_or(&[], SmallVec::as_slice)
    }
}
impl DerefMut for Targets {
    fn deref_mut(&mut self) -> &mut [Target] {
        self.0.as_deref_mut().map_or(&mut [], SmallVec::as_mut_slice)
    }
}
impl FromIterator<Target> for Targets {
    fn from_iter<I: IntoIterator<Item = Target>>(targets: I) -> Self {
        let mut targets = targets.into_iter().peekable();
        Targets(targets.peek().is_some().then(|| Box::new(targets.collect())))
    }
}
impl<'a> IntoIterator for &'a Targets {
    type Item = &'a Target;
    type IntoIter = std::slice::Iter<'a, Target>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
impl<'a> IntoIterator for &'a mut Targets {
    type Item = &'a mut Target;
    type IntoIter = std::slice::IterMut<'a, Target>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
impl IntoIterator for Targets {
    type Item = Target;
    type IntoIter = smallvec::IntoIter<[Target; 2]>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.map_or_else(SmallVec::new, |list| *list).into_iter()
    }
}
