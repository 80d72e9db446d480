//! Reduces a module to a small one that shows the same failure, by hierarchical delta debugging: from
//! functions over blocks and instructions to operands, extents, attributes and bodies of expressions.
//! Every candidate is verified before it is tried.

mod bodies;
mod copy;
mod ddmin;
mod passes;

pub use ddmin::ddmin;

use crate::error::Error;
use copy::{CopyEdits, copy};
use rewright::{Function, Module, Name, verify_module};

/// The limit on rounds of all passes. Few programs need more than four.
const MAX_ROUNDS: usize = 12;

/// A module that is being reduced.
pub struct Reducer<'t> {
    /// The smallest module so far.
    module: Module,
    /// The function that is kept.
    main: Name,
    fails: &'t mut dyn FnMut(&Module) -> Result<bool, Error>,
    /// Whether copies merge blocks.
    merge: bool,
}

/// The number of instructions of a module.
pub fn size(module: &Module) -> usize {
    module.functions().map(Function::inst_count).sum()
}

impl<'t> Reducer<'t> {
    /// Starts from a module that fails.
    pub fn new(module: Module, main: Name, fails: &'t mut dyn FnMut(&Module) -> Result<bool, Error>) -> Self {
        Reducer { module, main, fails, merge: false }
    }

    /// Reduces until a fixed point of all passes.
    pub fn run(mut self) -> Result<Module, Error> {
        self.functions()?;
        for _ in 0..MAX_ROUNDS {
            let before = self.module.to_string();
            self.blocks()?;
            self.results()?;
            self.instructions()?;
            self.functions()?;
            self.parameters()?;
            self.operands()?;
            self.extents()?;
            self.attributes()?;
            self.bodies()?;
            if self.module.to_string() == before {
                break;
            }
        }
        Ok(self.module)
    }

    /// Replaces the current module by a candidate, if the candidate is valid and fails.
    fn attempt(&mut self, candidate: Option<Module>) -> Result<bool, Error> {
        let Some(candidate) = candidate.filter(|c| verify_module(c).is_ok()) else { return Ok(false) };
        let fails = (self.fails)(&candidate)?;
        if fails {
            self.module = candidate;
        }
        Ok(fails)
    }

    /// The module with one function edited.
    fn edited(&self, name: Name, edit: CopyEdits) -> Option<Module> {
        self.edit_of(self.module.get(name)?, edit)
    }
    fn edit_of(&self, func: &Function, edit: CopyEdits) -> Option<Module> {
        let edit = CopyEdits { merge: self.merge, called: func.name != self.main, ..edit };
        let mut module = self.module.clone();
        module.insert(copy(func, &self.module, &edit)?);
        Some(module)
    }
    /// Tries an edit of the current function.
    fn try_edit(&mut self, name: Name, edit: CopyEdits) -> Result<bool, Error> {
        let candidate = self.edited(name, edit);
        self.attempt(candidate)
    }

    fn names(&self) -> Vec<Name> {
        self.module.names().collect()
    }
}
