//! Reads the text of a rule.

use super::condition::{ConditionDef, conditions};
use super::liberties::{Liberties, unknown_liberty};
use super::{AttrTerm, Condition, DTypes, Direction, Node, NodeId, OpTerm, Rule, Var, typing};
use rewright_ir::attr::Presence;
use rewright_ir::op::Arity;
use rewright_ir::{Attr, Name, Registry, parse_attr, registry};
use smallvec::SmallVec;
use std::fmt;
use thiserror::Error;

/// What is wrong at one place of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// What is wrong; one lower-case sentence.
    pub message: String,
    /// The byte of the text at which it is.
    pub at: usize,
}

/// All that is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct RuleErrors {
    /// The rule's name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What is wrong, in the order of the text.
    pub errors: Vec<RuleError>,
}

/// Each error with a caret under its place.
impl fmt::Display for RuleErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.errors.iter().enumerate() {
            let line_start = self.text[..error.at].rfind('\n').map_or(0, |at| at + 1);
            let line = self.text[line_start..].lines().next().unwrap_or("");
            let column = self.text[line_start..error.at].chars().count();
            let gap = if n > 0 { "\n" } else { "" };
            write!(f, "{gap}rule `{}`: {}\n  {line}\n  {:column$}^", self.name, error.message, "")?;
        }
        Ok(())
    }
}

/// Reads a rule and checks it. Every error that can be told from another is reported.
pub fn parse_rule(name: &str, text: &str) -> Result<Rule, RuleErrors> {
    let mut parser = Parser::new(text);
    let rule = parser.rule(name).and_then(|rule| {
        if parser.errors.is_empty()
            && let Err(why) = typing::check(&rule)
        {
            parser.errors.push(RuleError { message: why, at: 0 });
        }
        parser.errors.is_empty().then_some(rule)
    });
    rule.ok_or_else(|| {
        parser.errors.sort_by_key(|e| e.at);
        RuleErrors { name: name.to_string(), text: text.to_string(), errors: parser.errors }
    })
}

/// Which side of the arrow is being read.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Pattern,
    Template,
}

/// Terms are nested no deeper than this.
const MAX_DEPTH: usize = 16;

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    depth: usize,
    side: Side,
    vars: Vec<Var>,
    attr_vars: Vec<Name>,
    nodes: Vec<Node>,
    pub(super) errors: Vec<RuleError>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        let (vars, attr_vars, nodes, errors) = Default::default();
        Parser { text, at: 0, depth: 0, side: Side::Pattern, vars, attr_vars, nodes, errors }
    }

    // --- The whole -------------------------------------------------------------------------------------------------

    /// Nothing after an error that leaves no sense in what follows.
    fn rule(&mut self, name: &str) -> Option<Rule> {
        let begin = self.space();
        let lhs = self.term()?;
        match &self.nodes[lhs] {
            Node::Op(_) => {}
            _ => self.error(begin, "a pattern begins with an op: it would match everything"),
        }
        let direction = self.arrow()?;
        self.side = Side::Template;
        let mut rhs = SmallVec::new();
        rhs.push(self.term()?);
        while self.eat(",") {
            rhs.push(self.term()?);
        }
        let mut rule = Rule {
            name: Name::new(name),
            text: self.text.to_string(),
            direction,
            vars: Vec::new(),
            attr_vars: Vec::new(),
            nodes: Vec::new(),
            lhs,
            rhs,
            conditions: Vec::new(),
            liberties: Liberties::empty(),
            benefit: 1,
            by_default: true,
        };
        self.clauses(&mut rule)?;
        if direction == Direction::Equates && !self.is_reversible(&rule) {
            self.error(
                begin,
                "with `<=>` both sides are patterns: one op each, with the same variables, and nothing computed",
            );
        }
        rule.vars = std::mem::take(&mut self.vars);
        rule.attr_vars = std::mem::take(&mut self.attr_vars);
        rule.nodes = std::mem::take(&mut self.nodes);
        Some(rule)
    }

    /// What follows the template, in any order.
    fn clauses(&mut self, rule: &mut Rule) -> Option<()> {
        loop {
            let at = self.space();
            match self.word() {
                "if" => {
                    self.expect("[")?;
                    self.list("]", |p| {
                        let condition = p.condition()?;
                        rule.conditions.extend(condition);
                        Some(())
                    })?;
                }
                "liberties" => {
                    self.expect("[")?;
                    self.list("]", |p| {
                        let at = p.space();
                        let name = p.word();
                        match Liberties::named(name) {
                            Some(liberty) => rule.liberties |= liberty,
                            None => p.error(at, unknown_liberty(name)),
                        }
                        Some(())
                    })?;
                }
                "benefit" => {
                    let at = self.space();
                    match self.word().parse() {
                        Ok(benefit) => rule.benefit = benefit,
                        Err(_) => self.error(at, "a benefit is a number from 0 to 65535"),
                    }
                }
                "opt_in" => rule.by_default = false,
                "" if at == self.text.len() => return Some(()),
                other => {
                    let found = if other.is_empty() { self.next_char() } else { other.to_string() };
                    self.error(
                        at,
                        format!("expected `if`, `liberties`, `benefit`, `opt_in` or the end, found `{found}`"),
                    );
                    return None;
                }
            }
        }
    }

    fn is_reversible(&self, rule: &Rule) -> bool {
        let [rhs] = rule.rhs[..] else { return false };
        let mut seen = (vec![false; self.vars.len()], vec![false; self.attr_vars.len()]);
        self.reads(rhs, &mut seen)
            && matches!(self.nodes[rhs], Node::Op(_))
            && seen.0.iter().chain(&seen.1).all(|&seen| seen)
    }
    /// Notes the variables of a term; false if it computes something.
    fn reads(&self, node: NodeId, seen: &mut (Vec<bool>, Vec<bool>)) -> bool {
        match &self.nodes[node] {
            Node::Var(var) => {
                seen.0[*var] = true;
                true
            }
            Node::Literal(_) => true,
            Node::Computed(_) => false,
            Node::Op(term) => {
                let vars =
                    term.attrs.iter().filter_map(|(_, a)| if let AttrTerm::Var(v) = a { Some(*v) } else { None });
                vars.for_each(|var| seen.1[var] = true);
                term.args.iter().all(|&arg| self.reads(arg, seen))
            }
        }
    }

    // --- Terms -----------------------------------------------------------------------------------------------------

    fn term(&mut self) -> Option<NodeId> {
        if self.depth == MAX_DEPTH {
            self.error(self.at, format!("terms are nested no deeper than {MAX_DEPTH}"));
            return None;
        }
        self.depth += 1;
        let term = self.one_term();
        self.depth -= 1;
        term
    }

    fn one_term(&mut self) -> Option<NodeId> {
        let at = self.space();
        if self.eat("?") {
            return self.var(at);
        }
        if self.eat("(") {
            let mut term = self.call(at, ")")?;
            if self.eat(".") {
                let at = self.space();
                match self.word().parse() {
                    Ok(result) => term.result = result,
                    Err(_) => self.error(at, "the number of a result is expected after `.`"),
                }
            }
            return Some(self.node(Node::Op(term)));
        }
        if self.eat("[") {
            if self.side == Side::Pattern {
                self.error(at, "`[...]` is computed when a rule is applied, so it belongs into the template");
            }
            let term = self.call(at, "]")?;
            let constant = |&arg: &NodeId| match &self.nodes[arg] {
                Node::Var(var) => self.vars[*var].constant,
                Node::Literal(_) | Node::Computed(_) => true,
                Node::Op(_) => false,
            };
            if !term.op.is_elementwise() || !term.args.iter().all(constant) {
                self.error(at, "what is computed is an elementwise op of constants, of `?c:const` and numbers");
            }
            return Some(self.node(Node::Computed(term)));
        }
        let literal = self.literal();
        if literal.is_none() {
            let message = format!("expected `?x`, `(op ...)` or a number, found {}", self.found());
            self.error(at, message);
        }
        Some(self.node(Node::Literal(literal?)))
    }

    fn var(&mut self, at: usize) -> Option<NodeId> {
        let name = self.name(at)?;
        let (mut constant, mut dtypes) = (false, DTypes::ALL);
        while self.eat(":") || self.eat(".") {
            let at = self.space();
            match self.word() {
                "const" => constant = true,
                class => match DTypes::named(class) {
                    Some(set) => dtypes = dtypes.and(set),
                    None => {
                        let known = DTypes::CLASSES.join("`, `");
                        let message = format!("there is no dtype or class `{class}`; classes are `const`, `{known}`");
                        self.error(at, message);
                    }
                },
            }
        }
        let known = self.vars.iter().position(|var| var.name == name);
        let var = match (known, self.side) {
            (Some(var), Side::Pattern) => {
                self.vars[var].constant |= constant;
                self.vars[var].dtypes = self.vars[var].dtypes.and(dtypes);
                var
            }
            (Some(var), Side::Template) => {
                if constant || dtypes != DTypes::ALL {
                    self.error(at, "what a variable may be is said in the pattern");
                }
                var
            }
            (None, Side::Pattern) => {
                self.vars.push(Var { name, constant, dtypes });
                self.vars.len() - 1
            }
            (None, Side::Template) => {
                self.error(at, format!("`?{name}` is not in the pattern"));
                return None;
            }
        };
        Some(self.node(Node::Var(var)))
    }

    /// An op with operands and attributes, up to a bracket.
    fn call(&mut self, begin: usize, end: &str) -> Option<OpTerm> {
        let at = self.space();
        let name = self.word();
        let Some(op) = registry().op(name) else {
            let near = Registry::suggest(name, registry().ops().map(|(op, _)| op.0.name));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            self.error(at, format!("there is no op `{name}`{hint}"));
            return None;
        };
        if !op.is_pure() {
            self.error(at, format!("`{op}` has effects, and rules are about values"));
        }
        let mut term = OpTerm { op, args: SmallVec::new(), attrs: Vec::new(), result: 0 };
        let mut given_attrs: Vec<Name> = Vec::new();
        while !self.eat(end) {
            let at = self.space();
            if at == self.text.len() {
                self.error(begin, format!("the `{end}` that belongs to this is missing"));
                return None;
            }
            match self.attr_name() {
                Some(attr) => {
                    given_attrs.push(attr);
                    self.attr(&mut term, at, attr)?;
                }
                None => term.args.push(self.term()?),
            }
        }
        let (given, right) = match op.arity {
            Arity::Exactly(n) => (n.to_string(), term.args.len() == n),
            Arity::AtLeast(n) => (format!("at least {n}"), term.args.len() >= n),
        };
        if !right {
            self.error(at, format!("`{op}` takes {given} operands, here it has {}", term.args.len()));
        }
        for def in op.attrs.iter().filter(|def| def.presence == Presence::Required) {
            if !given_attrs.iter().any(|name| *name == def.name) {
                let message =
                    format!("`{op}` has an attribute `{0}`, which must be given: `{0}=@a` binds it", def.name);
                self.error(at, message);
            }
        }
        Some(term)
    }

    /// `name=`, if that is what comes.
    fn attr_name(&mut self) -> Option<Name> {
        let begin = self.at;
        self.space();
        let name = self.word();
        if !name.is_empty() && self.eat("=") {
            return Some(Name::new(name));
        }
        self.at = begin;
        None
    }

    fn attr(&mut self, term: &mut OpTerm, at: usize, name: Name) -> Option<()> {
        let value_at = self.space();
        let bound = if self.eat("@") { Some(self.attr_var(value_at)?) } else { None };
        let written = if bound.is_none() { self.attr_value() } else { "" };
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

    /// A value as IR text has it, up to white space or the bracket that ends the term.
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

    /// `name(?x, ?y)`. An unknown one is an error, but does not keep what follows from being read.
    fn condition(&mut self) -> Option<Option<Condition>> {
        let at = self.space();
        let name = self.word();
        let def: Option<&'static ConditionDef> = conditions().find(|def| def.name == name);
        if def.is_none() {
            let near = Registry::suggest(name, conditions().map(|def| def.name));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            self.error(at, format!("there is no condition `{name}`{hint}"));
        }
        let mut vars = SmallVec::new();
        self.expect("(")?;
        self.list(")", |p| {
            let at = p.space();
            p.expect("?")?;
            let name = p.name(at)?;
            match p.vars.iter().position(|var| var.name == name) {
                Some(var) => vars.push(var),
                None => p.error(at, format!("`?{name}` is not in the pattern")),
            }
            Some(())
        })?;
        let def = def.filter(|def| {
            let right = def.arity == vars.len();
            if !right {
                let message = format!("`{name}` is about {} variables, here it has {}", def.arity, vars.len());
                self.error(at, message);
            }
            right
        });
        Some(def.map(|def| Condition { def, vars }))
    }

    /// The same term is the same node.
    fn node(&mut self, node: Node) -> NodeId {
        self.nodes.iter().position(|known| *known == node).unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }
}
