//! The text of functions between steps of a pipeline.

use rewright::ir::text::{Numbering, Printer};
use rewright::{Function, Name};
use std::collections::HashMap;

/// Prints functions with stable numbers for anonymous values, so that a step changes as few lines as
/// possible.
#[derive(Default)]
pub struct Forms(HashMap<Name, Numbering>);

impl Forms {
    /// The current text of a function.
    pub fn text(&mut self, func: &Function) -> String {
        Printer::numbered(func, self.0.entry(func.name).or_default()).function()
    }
}
