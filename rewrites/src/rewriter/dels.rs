//! Ends of values: what becomes of `del`s where values are replaced, and that nothing is used after one.

use super::Rewriter;
use crate::error::RewriteError;
use rewright_ir::analysis::Liveness;
use rewright_ir::{Block, Inst, Value, ValueDef};
use smallvec::SmallVec;

/// The `del`s of a value and of the one that is to take its place.
pub(super) struct Ends {
    old: SmallVec<[Inst; 2]>,
    new: SmallVec<[Inst; 2]>,
    /// The new one has uses already.
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
    /// Makes one `del` of those of two values of which one took the other's place: the last, where it is certain to stand after all
    /// uses. `users` are those of the old value. The time is theirs, however many the new value has.
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
            // A value of another block may be needed again on the way round a loop.
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

    /// Checks that nothing that was touched stands after the end of what it uses. Only where that depends on the paths between blocks
    /// is more looked at than the uses and ends themselves.
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

    /// A `del` that is new or stands elsewhere: all uses count.
    fn new_end(&self, value: Value, del: Inst) -> Result<bool, RewriteError> {
        // In a loop that the definition is outside of it would come again.
        let mut far = self.func.block_of(del) != self.home(value);
        for user in self.func.users(value).into_iter().filter(|&user| user != del) {
            far |= self.after(value, user, del)?;
        }
        Ok(far)
    }

    /// An error if a use stands after a `del` of the same block; true if only paths can tell.
    fn after(&self, value: Value, user: Inst, del: Inst) -> Result<bool, RewriteError> {
        let (here, there, home) = (self.func.block_of(user), self.func.block_of(del), self.home(value));
        if here == there && self.func.comes_before(del, user) && there.is_some_and(|b| self.is_reachable(b)) {
            let message = format!("`{}` uses a value after its `del`", self.func.inst(user).op);
            return Err(RewriteError::refused(message));
        }
        // Each way back into the block that defines a value defines it anew.
        let old_del = !self.touched.insts.contains(del) && !self.touched.new_edges;
        let known = here.is_some_and(|block| self.touched.known_uses.contains(&(block, value)));
        Ok(here != home && !(old_del && (here == there || known)))
    }
}
