//! Maintains `del`s when values are replaced, and checks that no value is used after its `del`.

use super::Rewriter;
use crate::error::RewriteError;
use rewright_ir::analysis::Liveness;
use rewright_ir::{Block, Inst, Value, ValueDef};
use smallvec::SmallVec;

/// The `del`s of a value and of its replacement.
pub(super) struct Ends {
    old: SmallVec<[Inst; 2]>,
    new: SmallVec<[Inst; 2]>,
    /// The replacement has uses already.
    used: bool,
}

impl Ends {
    pub fn of(rw: &Rewriter<'_>, old: Value, new: Value) -> Self {
        Ends {
            old: rw.analyses.dels(rw.func, old),
            new: rw.analyses.dels(rw.func, new),
            used: rw.func.use_count(new) > 0,
        }
    }
}

impl Rewriter<'_> {
    /// Merges the `del`s of two values after one replaced the other. Keeps the last `del`, if it is certain
    /// to come after all uses. `users` are those of the old value. Takes time proportional to these, however
    /// many users the new value has.
    pub(super) fn settle(&mut self, ends: Ends, new: Value, users: &[Inst]) -> Result<(), RewriteError> {
        let Ends { old: mut dels, new: others, used } = ends;
        let home = self.home(new);
        let others_here = others.iter().all(|&del| self.func.block_of(del) == home);
        let certain = others_here && !(used && others.is_empty());
        dels.extend(others);
        if dels.is_empty() {
            return Ok(());
        }
        dels.iter().for_each(|&del| self.analyses.ends(self.func, del));
        let last = dels.iter().copied().reduce(|a, b| if self.func.comes_before(a, b) { b } else { a });
        let keep = last.filter(|&last| {
            // A value of another block may be needed again in the next iteration of a loop.
            let before = |&user: &Inst| user == last || self.func.comes_before(user, last);
            certain && self.func.block_of(last) == home && users.iter().all(before)
        });
        for del in dels.into_iter().filter(|&d| Some(d) != keep) {
            self.erase(del)?;
        }
        Ok(())
    }

    /// The block that defines a value.
    fn home(&self, value: Value) -> Option<Block> {
        match self.func.def(value) {
            ValueDef::Const(_) => None,
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Result(inst, _) => self.func.block_of(inst),
        }
    }

    /// Checks that no touched instruction uses a value after its end. Visits more than the uses and `del`s
    /// themselves only where the answer depends on the paths between blocks.
    pub(super) fn check_dels(&self) -> Result<(), RewriteError> {
        let mut far: Vec<Value> = Vec::new();
        let insts = self.touched.insts.iter().filter(|&&inst| self.func.is_linked(inst));
        let uses = insts.flat_map(|&inst| self.func.inst(inst).uses().map(move |value| (inst, value)));
        let reconnected = self.touched.reconnected.iter().copied().filter(|(inst, _)| self.func.is_linked(*inst));
        for (inst, value) in uses.chain(reconnected) {
            for del in self.analyses.dels(self.func, value) {
                if del != inst && self.after(value, inst, del)? {
                    far.push(value);
                }
                if del == inst && self.new_end(value, del)? {
                    far.push(value);
                }
            }
        }
        if far.is_empty() {
            return Ok(());
        }
        let liveness = Liveness::of_values(self.func, far.iter().copied());
        for value in far {
            let dels = self.analyses.dels(self.func, value).into_iter();
            let mut reached = dels.filter(|&del| self.func.block_of(del).is_some_and(|b| self.is_reachable(b)));
            if reached.any(|del| liveness.live_after(self.func, value, del)) {
                return Err(RewriteError::refused("a value is used after its `del`, on some path"));
            }
        }
        Ok(())
    }

    /// Checks all uses of a value against a new or moved `del`.
    fn new_end(&self, value: Value, del: Inst) -> Result<bool, RewriteError> {
        // In a loop that does not contain the definition, the `del` would run again.
        let mut far = self.func.block_of(del) != self.home(value);
        for user in self.func.users(value).into_iter().filter(|&user| user != del) {
            far |= self.after(value, user, del)?;
        }
        Ok(far)
    }

    /// An error if a use comes after a `del` of the same block; true if the answer depends on paths.
    fn after(&self, value: Value, user: Inst, del: Inst) -> Result<bool, RewriteError> {
        let (here, there, home) = (self.func.block_of(user), self.func.block_of(del), self.home(value));
        if here == there && self.func.comes_before(del, user) && there.is_some_and(|b| self.is_reachable(b)) {
            let message = format!("`{}` uses a value after its `del`", self.func.inst(user).op);
            return Err(RewriteError::refused(message));
        }
        // Every path back into the block that defines a value defines it again.
        let old_del = !self.touched.insts.contains(del) && !self.touched.new_edges;
        let known = here.is_some_and(|block| self.touched.known_uses.contains(&(block, value)));
        Ok(here != home && !(old_del && (here == there || known)))
    }
}
