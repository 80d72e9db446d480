//! Values for which the two sides of a rule differ.

use rewright_ir::{Attr, Datum};
use std::fmt;

/// Values for which the two sides of a rule differ.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The op variables and their ops.
    pub ops: Vec<(String, String)>,
    /// The variables as text (`?x`, `_`), and their values.
    pub vars: Vec<(String, Datum)>,
    /// The attribute variables and their values.
    pub attrs: Vec<(String, Option<Attr>)>,
    /// The result of the pattern.
    pub pattern: Datum,
    /// The result of the template, or its error.
    pub template: Result<Datum, String>,
}

/// One line: `?x = -0.0 of f64: the pattern gives -0.0, the template 0.0`.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, op) in &self.ops {
            write!(f, "?{name} = {op}, ")?;
        }
        for (n, (name, value)) in self.vars.iter().enumerate() {
            let comma = if n > 0 { ", " } else { "" };
            write!(f, "{comma}{name} = {} of {}", show(value), value.ty())?;
        }
        for (n, (name, attr)) in self.attrs.iter().enumerate() {
            let comma = if n > 0 || !self.vars.is_empty() { ", " } else { "" };
            let value = attr.as_ref().map_or("not given".to_string(), Attr::to_string);
            write!(f, "{comma}@{name} = {value}")?;
        }
        write!(f, ": the pattern gives {}, the template ", show(&self.pattern))?;
        match &self.template {
            Ok(value) => f.write_str(&show(value)),
            Err(why) => write!(f, "fails: {why}"),
        }
    }
}

/// The number of elements of an array that are shown.
const MAX_SHOWN: usize = 12;

fn show(value: &Datum) -> String {
    match value {
        Datum::Scalar(scalar) => scalar.to_string(),
        Datum::Array(array) => {
            let elements: Vec<String> = array.iter().take(MAX_SHOWN).map(|s| s.to_string()).collect();
            format!("[{}{}]", elements.join(", "), if array.len() > MAX_SHOWN { ", ..." } else { "" })
        }
        Datum::Styled(styled) => styled.to_string(),
    }
}
