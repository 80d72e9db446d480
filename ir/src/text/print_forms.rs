//! Printing of affine forms and of axes.

use super::lexer::escape;
use super::names::write_name;
use crate::expr::{Axis, AxisKind, SymExpr};
use crate::name::Name;
use std::fmt::Write;

/// The words before the bounds of an axis.
const AXIS_WORDS: [&str; 3] = ["reduce", "scan", "exclusive"];

/// Writes an axis: `k: reduce 1..m`, `k: scan exclusive m`.
pub(super) fn write_axis(axis: &Axis, name: Name, out: &mut String) {
    write_name(name, out);
    out.push_str(": ");
    out.push_str(match axis.kind {
        AxisKind::Parallel => "",
        AxisKind::Reduce => "reduce ",
        AxisKind::Scan { exclusive: false } => "scan ",
        AxisKind::Scan { exclusive: true } => "scan exclusive ",
    });
    if axis.lo != SymExpr::default() {
        bound(&axis.lo).write(out);
        out.push_str("..");
    }
    match &axis.hi {
        Some(hi) => bound(hi).write(out),
        None => out.push('?'),
    }
}

fn bound(form: &SymExpr) -> Terms {
    let mut terms = Terms::default();
    terms.symbols(form, &[]);
    terms
}

/// The printed terms of an affine form: names with coefficients, and a constant.
#[derive(Default)]
pub(super) struct Terms {
    terms: Vec<(String, i64)>,
    constant: i64,
}

impl Terms {
    pub fn push(&mut self, name: String, coefficient: i64) {
        self.terms.push((name, coefficient));
    }

    /// Adds symbols; quotes one that would be read as an axis.
    pub fn symbols(&mut self, form: &SymExpr, axes: &[Name]) {
        self.constant = form.constant;
        for &(symbol, c) in form.terms() {
            let mut text = String::new();
            if axes.contains(&symbol) || AXIS_WORDS.contains(&&*symbol) {
                escape(&symbol, &mut text);
            } else {
                write_name(symbol, &mut text);
            }
            self.push(text, c);
        }
    }

    /// Every term with its sign, positive ones first.
    fn signed(&self) -> impl Iterator<Item = (bool, String)> + '_ {
        let term = |(name, c): &(String, i64)| match c.unsigned_abs() {
            1 => (*c < 0, name.clone()),
            n => (*c < 0, format!("{n}*{name}")),
        };
        let constant = (self.constant != 0).then(|| (self.constant < 0, self.constant.unsigned_abs().to_string()));
        let all: Vec<_> = self.terms.iter().map(term).chain(constant).collect();
        let (negative, positive): (Vec<_>, Vec<_>) = all.into_iter().partition(|(negative, _)| *negative);
        positive.into_iter().chain(negative)
    }

    pub fn write(&self, out: &mut String) {
        let mut first = true;
        for (negative, text) in self.signed() {
            out.push_str(match (first, negative) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            });
            out.push_str(&text);
            first = false;
        }
        if first {
            out.push('0');
        }
    }

    /// Writes the form as a summand after other text.
    pub fn write_signed(&self, out: &mut String) {
        for (negative, text) in self.signed() {
            out.push_str(if negative { " - " } else { " + " });
            out.push_str(&text);
        }
    }

    /// Writes the form, in parentheses unless it is one term.
    pub fn write_closed(&self, out: &mut String) {
        let mut terms = self.signed();
        match (terms.next(), terms.next()) {
            (None, _) => out.push('0'),
            (Some((false, text)), None) => out.push_str(&text),
            _ => {
                out.push('(');
                self.write(out);
                out.push(')');
            }
        }
    }

    /// Writes a comparison with 0, each term on the side where it is positive.
    pub fn write_compared(&self, relation: &str, out: &mut String) {
        let side = |wanted: bool| {
            let terms: Vec<_> = self.signed().filter(|(n, _)| *n == wanted).map(|(_, text)| text).collect();
            if terms.is_empty() { "0".to_string() } else { terms.join(" + ") }
        };
        let _ = write!(out, "{} {relation} {}", side(false), side(true));
    }
}
