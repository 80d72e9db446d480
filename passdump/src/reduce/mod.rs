//! Reducing a module to the smallest that still shows a failure: hierarchical delta debugging, from
//! functions over blocks and instructions to operands, extents, attributes and bodies of expressions. Every
//! candidate that is tried is valid.

mod bodies;
mod copy;
mod ddmin;
mod passes;

pub use ddmin::ddmin;

use crate::error::Error;
use copy::{Edit, copy};
use rewright::{Function, Module, Name, verify_module};

/// Rounds of all passes; hardly anything needs more than four.
const MAX_ROUNDS: usize = 12;

/// A module that is being reduced.
pub struct Reducer<'t> {
    /// The smallest so far.
    module: Module,
    /// The function that stays.
    main: Name,
    fails: &'t mut dyn FnMut(&Module) -> Result<bool, Error>,
    /// Blocks are merged.
    merge: bool,
}

/// The instructions of a module.
pub fn size(module: &Module) -> usize {
    module.functions().map(Function::inst_count).sum()
}

impl<'t> Reducer<'t> {
    /// Begins with a module that fails.
    pub fn new(module: Module, main: Name, fails: &'t mut dyn FnMut(&Module) -> Result<bool, Error>) -> Self {
        Reducer { module, main, fails, merge: false }
    }

    /// Reduces until no pass makes it any smaller.
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

    /// Takes a module instead of the one so far, if it is valid, another one and fails.
    fn attempt(&mut self, candidate: Option<Module>) -> Result<bool, Error> {
        let Some(candidate) = candidate.filter(|c| verify_module(c).is_ok()) else { return Ok(false) };
        let fails = (self.fails)(&candidate)?;
        if fails {
            self.module = candidate;
        }
        Ok(fails)
    }

    /// The module with one function edited.
    fn edited(&self, name: Name, edit: Edit) -> Option<Module> {
        self.edit_of(self.module.get(name)?, edit)
    }
    fn edit_of(&self, func: &Function, edit: Edit) -> Option<Module> {
        let edit = Edit { merge: self.merge, called: func.name != self.main, ..edit };
        let mut module = self.module.clone();
        module.insert(copy(func, &self.module, &edit)?);
        Some(module)
    }
    /// Tries an edit of a function as it is now.
    fn try_edit(&mut self, name: Name, edit: Edit) -> Result<bool, Error> {
        let candidate = self.edited(name, edit);
        self.attempt(candidate)
    }

    fn names(&self) -> Vec<Name> {
        self.module.names().collect()
    }
}
