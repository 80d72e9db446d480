//! Functions with the names that proofs use for their values.

use rewright_ir::text::{Names, Numbering};
use rewright_ir::{Function, Value};

/// A function, and the names of its values in text. `(&func).into()` takes the names by which the function
/// is printed.
pub struct Named<'a> {
    pub(super) func: &'a Function,
    names: Names,
}

impl<'a> Named<'a> {
    /// A function whose anonymous values have these numbers; unnumbered ones get one.
    pub fn numbered(func: &'a Function, numbering: &mut Numbering) -> Self {
        Named { func, names: Names::numbered(func, numbering) }
    }

    /// A value in text: a constant's literal, or the name and a mark.
    pub(super) fn text(&self, value: Value, mark: &str) -> String {
        if let Some(scalar) = self.func.as_const(value) {
            return scalar.to_string();
        }
        let mut text = String::new();
        self.names.value(value, &mut text);
        text + mark
    }
}

impl<'a> From<&'a Function> for Named<'a> {
    fn from(func: &'a Function) -> Self {
        Named { func, names: Names::new(func) }
    }
}
