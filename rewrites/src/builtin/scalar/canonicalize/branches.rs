//! Branches with equal targets, and branches on negated conditions.

use super::{Replacement, Root};
use crate::prelude::*;
use smallvec::smallvec;

impl Root<'_> {
    pub(super) fn branch(&self) -> Option<Replacement> {
        let data = self.data;
        if !matches!(data.op.name, "br_if" | "switch") {
            return None;
        }
        let (first, rest) = data.targets.split_first()?;
        if rest.iter().all(|target| target == first) {
            return Some(Replacement::Terminator("jump", smallvec![], smallvec![first.clone()]));
        }
        let [yes, no] = &data.targets[..] else { return None };
        if data.op.name != "br_if" {
            return None;
        }
        let x = self.later(self.inner(0, "not")?.args[0])?;
        let condition = *self.cx.func().ty(x) == Type::scalar(DType::Bool);
        condition.then(|| Replacement::Terminator("br_if", smallvec![x], smallvec![no.clone(), yes.clone()]))
    }
}
