//! Parses the variables of a rule.

use super::parse::{MAX_VARS, Parser, Side};
use super::{DTypes, Node, NodeId, Var};
use rewright_ir::Name;

impl Parser<'_> {
    /// `_`, a variable that no other term refers to.
    pub(super) fn wildcard(&mut self, at: usize) -> Option<NodeId> {
        let word = self.word();
        if word != Var::WILDCARD {
            self.error(at, format!("expected `?x`, `_`, `(op ...)` or a number, found `{word}`"));
            return None;
        }
        if self.side == Side::Template || self.is_computing {
            self.error(at, "`_` matches anything, so it belongs into a pattern: a template names its variables");
            return None;
        }
        let var = self.classes();
        self.fresh(at, var)
    }

    /// A new variable of the pattern that no other term refers to.
    pub(super) fn fresh(&mut self, at: usize, var: Var) -> Option<NodeId> {
        let var = self.new_var(at, var)?;
        self.bound[var] = true;
        Some(self.node(Node::Var(var)))
    }

    pub(super) fn new_var(&mut self, at: usize, var: Var) -> Option<usize> {
        if self.vars.len() >= MAX_VARS + self.choice.lengths.iter().sum::<usize>() {
            self.error(at, format!("a rule has at most {MAX_VARS} variables"));
            return None;
        }
        self.vars.push(var);
        self.var_places.push(at);
        self.bound.push(false);
        Some(self.vars.len() - 1)
    }

    /// The name of a variable whose `?` is read already; the name of a rest variable includes the operand's
    /// number.
    fn var_name(&mut self, at: usize) -> Option<Name> {
        let name = self.name(at)?;
        if name == Var::WILDCARD {
            self.error(at, "`_` is no name: it is written without `?`, and matches anything");
            return None;
        }
        match (self.rests.group(name.as_str()), self.operand) {
            (None, _) => Some(name),
            (Some(_), Some(number)) => Some(Name::new(&format!("{name}.{number}"))),
            (Some(_), None) => {
                self.error(at, format!("`?{name}` stands for several operands: `?{name}...`, or `(neg ?{name})...`"));
                None
            }
        }
    }

    /// A variable of the pattern whose `?` is read already. An unknown one is an error.
    pub(super) fn known_var(&mut self, at: usize) -> Option<Option<usize>> {
        let name = self.var_name(at)?;
        let known = self.vars.iter().position(|var| var.name == name);
        if known.is_none() {
            self.error(at, format!("`?{name}` is not in the pattern"));
        }
        Some(known)
    }

    /// Parses `:const`, `:float`, `:const.int`.
    fn classes(&mut self) -> Var {
        let (mut constant, mut varies, mut dtypes) = (false, false, DTypes::ALL);
        loop {
            self.space();
            if self.rest().starts_with("...") || !(self.eat(":") || self.eat(".")) {
                return Var { name: Name::new(Var::WILDCARD), constant, varies, dtypes };
            }
            let at = self.space();
            match self.word() {
                "const" => constant = true,
                "nonconst" => varies = true,
                class => match DTypes::named(class) {
                    Some(set) => dtypes = dtypes.and(set),
                    None => {
                        let known = DTypes::CLASSES.join("`, `");
                        let message =
                            format!("there is no dtype or class `{class}`; classes are `const`, `nonconst`, `{known}`");
                        self.error(at, message);
                    }
                },
            }
        }
    }

    pub(super) fn var(&mut self, at: usize) -> Option<NodeId> {
        let name = self.var_name(at)?;
        let Var { constant, varies, dtypes, .. } = self.classes();
        let known = self.vars.iter().position(|var| var.name == name);
        let var = match (known, self.side) {
            (Some(var), Side::Pattern) => {
                self.vars[var].constant |= constant;
                self.vars[var].varies |= varies;
                self.vars[var].dtypes = self.vars[var].dtypes.and(dtypes);
                var
            }
            (Some(var), Side::Template) => {
                if constant || varies || dtypes != DTypes::ALL {
                    self.error(at, "classes of a variable belong into the pattern");
                }
                var
            }
            (None, Side::Pattern) => self.new_var(at, Var { name, constant, varies, dtypes })?,
            (None, Side::Template) => {
                self.error(at, format!("`?{name}` is not in the pattern"));
                return None;
            }
        };
        self.bound[var] |= self.side == Side::Pattern && !self.is_computing;
        Some(self.node(Node::Var(var)))
    }
}
