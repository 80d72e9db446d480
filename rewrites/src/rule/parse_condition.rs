//! Parses the conditions of a rule.

use super::condition::{ConditionDef, conditions};
use super::parse::Parser;
use super::{Condition, Node, NodeId, OpTerm};
use rewright_ir::{Registry, registry};
use smallvec::SmallVec;

/// The deepest nesting of formulas.
const MAX_DEPTH: usize = 16;

impl Parser<'_> {
    /// Parses a condition; one that `...` follows is parsed once for each operand of its rest variables.
    pub(super) fn conditions(&mut self, depth: usize, found: &mut Vec<Condition>) -> Option<()> {
        let Some(repeated) = self.repeated() else {
            found.extend(self.condition(depth)?);
            return Some(());
        };
        self.each_repeated(&repeated, |p| {
            found.extend(p.condition(depth)?);
            Some(())
        })
    }

    /// Parses a formula. An unknown name is an error, but parsing continues.
    fn condition(&mut self, depth: usize) -> Option<Option<Condition>> {
        let at = self.space();
        if depth == MAX_DEPTH {
            self.error(at, format!("conditions are nested no deeper than {MAX_DEPTH}"));
            return None;
        }
        if !self.eat("(") {
            return if self.rest().starts_with('[') { self.computed_bool() } else { self.registered() };
        }
        let after = self.at;
        let word = self.word();
        if !matches!(word, "and" | "or" | "not") {
            self.at = at;
            return self.computed_bool();
        }
        if self.eat(")") {
            self.error(at, format!("`({word})` has no condition"));
            return None;
        }
        let mut parts = Vec::new();
        while !self.eat(")") {
            if self.space() == self.text.len() {
                self.error(at, "the `)` that belongs to this is missing");
                return None;
            }
            self.conditions(depth + 1, &mut parts)?;
        }
        Some(match word {
            "and" => Some(Condition::All(parts)),
            "or" => Some(Condition::Any(parts)),
            _ if parts.len() == 1 => parts.pop().map(|inner| Condition::Not(Box::new(inner))),
            // An unknown part has been reported already.
            _ if parts.is_empty() && !self.errors.is_empty() => None,
            _ => {
                let message = format!("`not` is about one condition, here it has {}", parts.len());
                self.error(after, message);
                None
            }
        })
    }

    fn computed_bool(&mut self) -> Option<Option<Condition>> {
        self.in_condition = true;
        let node = self.computing(Parser::term);
        self.in_condition = false;
        Some(Some(Condition::Computed(node?)))
    }

    /// Parses `name(?x, ?y)`.
    fn registered(&mut self) -> Option<Option<Condition>> {
        let at = self.space();
        let name = self.word();
        if name.is_empty() {
            let message = format!("expected a condition: `name(?x)`, `(op ...)`, `(and ...)`, found {}", self.found());
            self.error(at, message);
            return None;
        }
        let def: Option<&'static ConditionDef> = conditions().find(|def| def.name == name);
        if def.is_none() {
            let near = Registry::suggest(name, conditions().map(|def| def.name));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            self.error(at, format!("there is no condition `{name}`{hint}"));
        }
        let mut vars = SmallVec::new();
        // Unknown variables have been reported, and count too.
        let mut count = 0;
        self.expect("(")?;
        self.list(")", |p| {
            let at = p.space();
            p.expect("?")?;
            vars.extend(p.known_var(at)?);
            count += 1;
            Some(())
        })?;
        let def = def.filter(|def| {
            if def.arity != count {
                let noun = if def.arity == 1 { "variable" } else { "variables" };
                self.error(at, format!("`{name}` is about {} {noun}, here it has {count}", def.arity));
            }
            def.arity == vars.len()
        });
        Some(def.map(|def| Condition::Registered(def, vars)))
    }

    /// The condition that an operand of a pattern equals a computed constant.
    pub(super) fn equality(&mut self, operand: NodeId, computed: NodeId) -> Option<Condition> {
        let op = registry().op("eq")?;
        let args = SmallVec::from_slice(&[operand, computed]);
        let node = self.node(Node::Computed(OpTerm { op, args, attrs: Vec::new(), result: 0 }));
        Some(Condition::Computed(node))
    }
}
