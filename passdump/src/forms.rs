//! The forms of functions as text, from step to step.

use rewright::ir::text::{Numbering, Printer};
use rewright::{Function, Name};
use std::collections::HashMap;

/// Prints functions so that anonymous values keep their numbers, and a step changes no more lines than it
/// has to.
#[derive(Default)]
pub struct Forms(HashMap<Name, Numbering>);

impl Forms {
    /// The text of a function as it is now.
    pub fn text(&mut self, func: &Function) -> String {
        Printer::numbered(func, self.0.entry(func.name).or_default()).function()
    }
}
