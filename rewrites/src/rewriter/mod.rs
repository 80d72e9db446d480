//! The rewriter, the only way to change a function.
//!
//! Each call checks its arguments and rejects a change that would leave invalid IR, so that the error comes
//! from the responsible line of the rewrite. Some conditions can only be checked when the rewrite is done: a
//! definition that no longer dominates a use, a block without a terminator. If they fail, everything is
//! undone, and the error names the rewrite.

mod blocks;
mod check;
mod dels;
mod insts;
mod values;

use crate::analyses::Analyses;
use crate::change::{Change, Touched};
use crate::error::RewriteError;
use crate::observer::RemarkKind;
use rewright_ir::{Block, Function, Inst, Loc, Module, Name, Signature, Value, ValueDef};
use rustc_hash::FxHashSet;

/// The insertion point of new instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before an instruction.
    Before(Inst),
    /// After an instruction that is no terminator.
    After(Inst),
    /// At the end of a block that has no terminator yet.
    End(Block),
}

/// A remark without the rewrite's name.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub kind: RemarkKind,
    pub loc: Loc,
    pub message: String,
}

/// Changes a function, one application of a rewrite at a time.
///
/// [`op`](Rewriter::op) inserts new instructions at the *point*: before the root in a root rewrite; a block
/// rewrite has to set it. Consecutive new instructions stand in the order in which they were made.
pub struct Rewriter<'a> {
    func: &'a mut Function,
    module: &'a Module,
    analyses: &'a Analyses,
    point: Option<Point>,
    loc: Loc,
    log: Vec<Change>,
    touched: Touched,
    fresh: FxHashSet<Inst>,
    said: Vec<Said>,
    /// A change that was rejected after it had begun.
    broken: Option<RewriteError>,
}

/// The result of an application.
pub(crate) struct Outcome {
    pub log: Vec<Change>,
    pub touched: Touched,
    pub said: Vec<Said>,
}

impl<'a> Rewriter<'a> {
    /// `root` gives the insertion point and the source location of new instructions. `touched` is empty.
    pub(crate) fn new(
        func: &'a mut Function,
        module: &'a Module,
        analyses: &'a Analyses,
        root: Option<Inst>,
        touched: Touched,
    ) -> Self {
        let loc = root.map(|i| func.inst(i).loc).unwrap_or_default();
        Rewriter {
            func,
            module,
            analyses,
            point: root.map(Point::Before),
            loc,
            log: Vec::new(),
            touched,
            fresh: FxHashSet::default(),
            said: Vec::new(),
            broken: None,
        }
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        Outcome { log: self.log, touched: self.touched, said: self.said }
    }

    /// The current form of the function.
    pub fn func(&self) -> &Function {
        self.func
    }
    /// The module around the function.
    pub fn module(&self) -> &'a Module {
        self.module
    }
    /// The changes so far.
    pub fn changes(&self) -> &[Change] {
        &self.log
    }
    /// Sets the insertion point.
    pub fn set_point(&mut self, point: Point) {
        self.point = Some(point);
        self.loc = match point {
            Point::Before(inst) | Point::After(inst) if self.func.is_linked(inst) => self.func.inst(inst).loc,
            _ => self.loc,
        };
    }
    /// Sets the source location of new instructions; [`set_point`](Rewriter::set_point) sets it to that of
    /// the instruction.
    pub fn set_loc(&mut self, loc: Loc) {
        self.loc = loc;
    }
    /// Remarks that something was done.
    pub fn remark(&mut self, loc: Loc, message: impl Into<String>) {
        self.say(RemarkKind::Done, loc, message);
    }
    /// Remarks that something was not done, and why.
    pub fn missed(&mut self, loc: Loc, message: impl Into<String>) {
        self.say(RemarkKind::Missed, loc, message);
    }
    /// Remarks other information.
    pub fn note(&mut self, loc: Loc, message: impl Into<String>) {
        self.say(RemarkKind::Note, loc, message);
    }

    fn say(&mut self, kind: RemarkKind, loc: Loc, message: impl Into<String>) {
        self.said.push(Said { kind, loc, message: message.into() });
    }

    /// Makes a change of several steps. If a step is rejected, the whole application fails, even if the
    /// rewrite continues.
    fn whole<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T, RewriteError>) -> Result<T, RewriteError> {
        let before = self.func.pending_changes();
        let result = change(self);
        if let Err(error) = &result
            && self.func.pending_changes() != before
        {
            self.broken.get_or_insert_with(|| error.clone());
        }
        result
    }

    /// The signature of a callee.
    fn signature(&self, name: Name) -> Option<Signature> {
        if name == self.func.name { Some(self.func.signature()) } else { self.module.signature(name) }
    }

    // --- Checks ------------------------------------------------------------------------------------

    fn linked(&self, inst: Inst) -> Result<Block, RewriteError> {
        self.func.block_of(inst).ok_or_else(|| RewriteError::refused("the instruction is not in the function any more"))
    }

    fn has_block(&self, block: Block) -> Result<(), RewriteError> {
        match self.func.has_block(block) {
            true => Ok(()),
            false => Err(RewriteError::refused("the block is not in the function any more")),
        }
    }

    /// Checks that a value still exists.
    fn alive(&self, value: Value) -> Result<(), RewriteError> {
        let there = self.func.has_value(value)
            && match self.func.def(value) {
                ValueDef::Const(_) => true,
                ValueDef::Result(inst, _) => self.func.is_linked(inst),
                ValueDef::Param(block, index) => {
                    self.func.has_block(block) && self.func.block_params(block).get(index as usize) == Some(&value)
                }
            };
        if there { Ok(()) } else { Err(RewriteError::refused("a value is used that is not in the function any more")) }
    }
}
