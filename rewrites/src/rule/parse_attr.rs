//! Parses the attributes of a rule's terms.

use super::parse::{Parser, Side};
use super::{AttrTerm, OpTerm};
use rewright_ir::Presence;
use rewright_ir::{Attr, Name, parse_attr};

impl<'t> Parser<'t> {
    /// `name=`, if that comes next.
    pub(super) fn attr_name(&mut self) -> Option<Name> {
        let begin = self.at;
        self.space();
        let name = self.word();
        if !name.is_empty() && self.eat("=") {
            return Some(Name::new(name));
        }
        self.at = begin;
        None
    }

    pub(super) fn attr(&mut self, term: &mut OpTerm, at: usize, name: Name) -> Option<()> {
        let value_at = self.space();
        let bound = if self.eat("@") { Some(self.attr_var(value_at)?) } else { None };
        let written = if bound.is_none() { self.attr_value() } else { "" };
        if written.ends_with(',') || bound.is_some() && self.rest().starts_with(',') {
            self.error(self.at - written.len().min(1), "white space separates attributes, and no comma");
            return None;
        }
        if bound.is_some() && self.is_computing && (self.in_condition || self.side == Side::Pattern) {
            self.error(
                value_at,
                "an op that a condition computes has attributes of known values, and none that is bound",
            );
            return Some(());
        }
        let Some(def) = term.op.attrs.iter().find(|def| name == def.name) else {
            self.error(at, format!("`{}` has no attribute `{name}`", term.op));
            return Some(());
        };
        let value = match (bound, parse_attr(def, written)) {
            (Some(var), _) => AttrTerm::Var(var),
            (None, Ok(value)) => AttrTerm::Is(value),
            (None, Err(why)) => {
                self.error(value_at, format!("{why}; or bind the attribute: `{name}=@a`"));
                return Some(());
            }
        };
        let is_default = match (&value, def.presence) {
            (AttrTerm::Is(Attr::Bool(false)), Presence::False) => true,
            (AttrTerm::Is(Attr::Int(i)), Presence::Int(default)) => *i == default,
            _ => false,
        };
        if !is_default {
            term.attrs.push((name, value));
        }
        Some(())
    }

    /// The number of an attribute variable.
    fn attr_var(&mut self, at: usize) -> Option<usize> {
        let var = self.name(at)?;
        let known = self.attr_vars.iter().position(|known| *known == var);
        if known.is_none() && self.side == Side::Template {
            self.error(at, format!("`@{var}` is not in the pattern"));
            return None;
        }
        Some(known.unwrap_or_else(|| {
            self.attr_vars.push(var);
            self.attr_vars.len() - 1
        }))
    }

    /// The text of an attribute's value, up to white space or the bracket that ends the term.
    fn attr_value(&mut self) -> &'t str {
        self.space();
        let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
        let end = self.rest().find(|c: char| {
            let was_escaped = std::mem::take(&mut escaped);
            match c {
                '"' if !was_escaped => quoted = !quoted,
                '\\' => escaped = !was_escaped,
                _ if quoted => {}
                '[' => depth += 1,
                ']' if depth > 0 => depth -= 1,
                _ => return depth == 0 && (c.is_whitespace() || matches!(c, ')' | ']')),
            }
            false
        });
        let value = &self.text[self.at..][..end.unwrap_or(self.rest().len())];
        self.at += value.len();
        value
    }
}
