//! Printer of lazy expressions.

use crate::expr::LazyExpr;
use std::fmt;

/// The name of the n-th axis.
fn name(axis: usize) -> String {
    ["i", "j", "k", "l"].get(axis).map_or_else(|| format!("i{axis}"), |name| name.to_string())
}

impl fmt::Display for LazyExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.input())?;
        if self.is_trivial() {
            return Ok(());
        }
        let axes: Vec<String> =
            self.axes().iter().enumerate().map(|(n, axis)| format!("{}: {}", name(n), axis.extent)).collect();
        let positions: Vec<String> = (0..self.start().len()).map(|along| self.form(along)).collect();
        let arrow = match (axes.is_empty(), positions.is_empty()) {
            (_, true) => "",
            (true, false) => "-> ",
            (false, false) => " -> ",
        };
        write!(f, "[{}{arrow}{}]", axes.join(", "), positions.join(", "))
    }
}

impl LazyExpr {
    /// The position along an axis of the input: `2*i - j + 1`, or `2 - j`.
    fn form(&self, along: usize) -> String {
        let constant = (self.start()[along], None);
        let steps = self.axes().iter().enumerate().map(|(n, axis)| (axis.steps[along], Some(n)));
        let mut terms: Vec<(i128, Option<usize>)> = steps.filter(|(step, _)| *step != 0).collect();
        if terms.is_empty() || constant.0 != 0 {
            // The constant comes first if the form would begin with a minus otherwise.
            let first = terms.first().is_none_or(|(step, _)| *step < 0);
            terms.insert(if first { 0 } else { terms.len() }, constant);
        }
        let mut text = String::new();
        for (n, (number, axis)) in terms.into_iter().enumerate() {
            text += match (n, number < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            text += &match (number.unsigned_abs(), axis) {
                (1, Some(axis)) => name(axis),
                (size, Some(axis)) => format!("{size}*{}", name(axis)),
                (size, None) => size.to_string(),
            };
        }
        text
    }
}
