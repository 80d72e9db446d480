//! Parses the text of a rule.

use super::choices::{self, Choice, OpVar, Repeated, RestTerm, Rests};
use super::liberties::{Liberties, unknown_liberty};
use super::{AttrTerm, Condition, DTypes, Direction, Node, NodeId, OpTerm, Rule, Var, typing};
use rewright_ir::Name;
use rewright_ir::Presence;
use rewright_ir::op::Arity;
use smallvec::SmallVec;
use std::fmt;
use thiserror::Error;

/// An error at one position of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The message, one lower-case sentence.
    pub message: String,
    /// The position, in bytes of the text.
    pub at: usize,
}

/// All errors of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct RuleErrors {
    /// The rule's name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The errors, in the order of the text.
    pub errors: Vec<RuleError>,
}

/// Prints each error with a caret under its position.
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

/// Parses and checks a rule. Reports all independent errors. With op variables or rest variables, the result
/// is the rule of the first choice, and [`Rule::choices`] has the others.
pub fn parse_rule(name: &str, text: &str) -> Result<Rule, RuleErrors> {
    choices::parse_all(name, text)
}

/// Parses one of the rules that a text stands for.
pub(super) fn parse_choice(
    name: &str,
    text: &str,
    rests: &Rests,
    choice: Choice,
) -> Result<(Rule, Vec<OpVar>), RuleErrors> {
    let mut parser = Parser::new(text, rests, choice);
    let rule = parser.rule(name).and_then(|rule| {
        if parser.errors.is_empty()
            && let Err(why) = typing::check(&rule)
        {
            let chosen = rule.chosen.iter().map(|(var, op)| format!("`?{var}` is `{op}`: "));
            parser.errors.push(RuleError { message: chosen.collect::<String>() + &why, at: 0 });
        }
        parser.errors.is_empty().then_some(rule)
    });
    match rule {
        Some(rule) => Ok((rule, parser.op_vars)),
        None => {
            parser.errors.sort_by_key(|e| e.at);
            Err(RuleErrors { name: name.to_string(), text: text.to_string(), errors: parser.errors })
        }
    }
}

/// The side of the arrow that is being parsed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Side {
    Pattern,
    Template,
}

/// The deepest nesting of terms.
const MAX_DEPTH: usize = 16;

/// The most variables of a rule, where each rest variable counts as one, and the most terms.
pub(super) const MAX_VARS: usize = 32;
const MAX_TERMS: usize = 256;

/// The most operands that all rest variables stand for together.
const MAX_LENGTH: usize = 256;

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) side: Side,
    /// Whether ops compute constants: inside of `[...]` and of conditions.
    pub(super) is_computing: bool,
    pub(super) vars: Vec<Var>,
    /// The position of each variable's first occurrence.
    pub(super) var_places: Vec<usize>,
    /// The variables that are operands of ops of the pattern.
    pub(super) bound: Vec<bool>,
    pub(super) attr_vars: Vec<Name>,
    pub(super) nodes: Vec<Node>,
    /// The computed constants, and their positions.
    pub(super) computed: Vec<(usize, NodeId)>,
    /// Whether a condition is being parsed, which may involve variables that are not constants.
    pub(super) in_condition: bool,
    /// Conditions that operands of the pattern equal computed constants.
    pub(super) equalities: Vec<Condition>,
    pub(super) choice: Choice,
    pub(super) op_vars: Vec<OpVar>,
    pub(super) rests: &'t Rests,
    /// The number of the operand that rest variables stand for, inside of a term before `...`.
    pub(super) operand: Option<usize>,
    pub(super) rest_terms: Vec<RestTerm>,
    pub(super) errors: Vec<RuleError>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, rests: &'t Rests, choice: Choice) -> Self {
        Parser {
            text,
            at: 0,
            depth: 0,
            side: Side::Pattern,
            is_computing: false,
            vars: Vec::new(),
            var_places: Vec::new(),
            bound: Vec::new(),
            attr_vars: Vec::new(),
            nodes: Vec::new(),
            computed: Vec::new(),
            in_condition: false,
            equalities: Vec::new(),
            choice,
            op_vars: Vec::new(),
            rests,
            operand: None,
            rest_terms: Vec::new(),
            errors: Vec::new(),
        }
    }

    // --- The whole rule --------------------------------------------------------------------------------

    /// Parses the rule; stops at an error after which the rest has no meaning.
    fn rule(&mut self, name: &str) -> Option<Rule> {
        let begin = self.space();
        let lhs = self.root()?;
        let mut also = SmallVec::new();
        while self.eat(",") {
            let at = self.space();
            let root = self.root()?;
            if root == lhs || also.contains(&root) {
                self.error(at, "two roots of a pattern are the same term");
            } else if !self.is_connected(root, &[&[lhs], &also[..]].concat()) {
                self.error(
                    at,
                    "a further root has a variable in common with those before it: else nothing leads there",
                );
            }
            also.push(root);
        }
        let direction = self.arrow()?;
        self.check_bound();
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
            also,
            rhs,
            conditions: Vec::new(),
            liberties: Liberties::empty(),
            benefit: 1,
            by_default: true,
            chosen: Vec::new(),
            choices: Vec::new(),
            choice: Choice::default(),
            rest_terms: Vec::new(),
        };
        rule.conditions = std::mem::take(&mut self.equalities);
        self.clauses(&mut rule)?;
        self.check_computed();
        if direction == Direction::Equates && !self.is_reversible(&rule) {
            self.error(
                begin,
                "with `<=>` both sides are patterns: one op each, with the same variables, and nothing computed",
            );
        }
        rule.vars = std::mem::take(&mut self.vars);
        rule.attr_vars = std::mem::take(&mut self.attr_vars);
        rule.nodes = std::mem::take(&mut self.nodes);
        rule.rest_terms = std::mem::take(&mut self.rest_terms);
        let number = |at: usize| self.choice.ops.get(at).copied().unwrap_or(0);
        rule.chosen = self.op_vars.iter().enumerate().map(|(at, var)| (var.name, var.ops[number(at)])).collect();
        rule.choice = self.choice.clone();
        Some(rule)
    }

    fn root(&mut self) -> Option<NodeId> {
        let begin = self.space();
        let root = self.term()?;
        if !matches!(self.nodes[root], Node::Op(_)) {
            self.error(begin, "a pattern begins with an op: it would match everything");
        }
        Some(root)
    }

    /// True if a term shares a variable that is not a constant with one of the others.
    fn is_connected(&self, root: NodeId, others: &[NodeId]) -> bool {
        let mut seen = vec![false; self.vars.len()];
        others.iter().for_each(|&other| self.mark(other, &mut seen));
        let mut own = vec![false; self.vars.len()];
        self.mark(root, &mut own);
        (0..seen.len()).any(|var| seen[var] && own[var] && !self.vars[var].constant)
    }
    fn mark(&self, node: NodeId, seen: &mut [bool]) {
        match &self.nodes[node] {
            Node::Var(var) => seen[*var] = true,
            Node::Literal(_) => {}
            Node::Op(term) | Node::Computed(term) => term.args.iter().for_each(|&arg| self.mark(arg, seen)),
        }
    }

    /// Checks that every variable of the pattern is an operand of one of its ops.
    fn check_bound(&mut self) {
        for var in 0..self.vars.len() {
            if self.vars[var].constant && self.vars[var].varies {
                let message = format!("`?{}` is `const` and `nonconst`, so it matches nothing", self.vars[var].name);
                self.error(self.var_places[var], message);
            }
            if self.vars[var].dtypes == DTypes::none() {
                let message =
                    format!("no dtype is of all classes of `?{}`, so it matches nothing", self.vars[var].name);
                self.error(self.var_places[var], message);
            }
            if !self.bound[var] {
                let message =
                    format!("`?{}` is computed with, and stands nowhere else in the pattern", self.vars[var].name);
                self.error(self.var_places[var], message);
            }
        }
    }

    /// Checks that computed terms depend on constants only.
    fn check_computed(&mut self) {
        for (at, node) in std::mem::take(&mut self.computed) {
            let Node::Computed(term) = &self.nodes[node] else { continue };
            let constant = |&arg: &NodeId| match &self.nodes[arg] {
                Node::Var(var) => self.vars[*var].constant,
                Node::Literal(_) | Node::Computed(_) => true,
                Node::Op(_) => false,
            };
            if !term.op.is_elementwise() || !term.args.iter().all(constant) {
                self.error(at, "a term in brackets is an elementwise op of constants: `?c:const` and numbers");
            }
        }
    }

    /// Parses the clauses after the template, in any order.
    fn clauses(&mut self, rule: &mut Rule) -> Option<()> {
        let mut given: SmallVec<[&str; 4]> = SmallVec::new();
        loop {
            let at = self.space();
            let clause = self.word();
            if !clause.is_empty() && given.contains(&clause) {
                self.error(at, format!("the clause `{clause}` is given twice"));
                return None;
            }
            given.push(clause);
            match clause {
                "if" => {
                    self.expect("[")?;
                    self.list("]", |p| {
                        let mut found = Vec::new();
                        let at = p.space();
                        p.conditions(0, &mut found)?;
                        if rule.conditions.len() > MAX_TERMS {
                            p.error(at, format!("a rule has at most {MAX_TERMS} conditions"));
                            return None;
                        }
                        // A top-level `and` is split into its parts.
                        for condition in found {
                            match condition {
                                Condition::All(parts) => rule.conditions.extend(parts),
                                other => rule.conditions.push(other),
                            }
                        }
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
        if !rule.also.is_empty() {
            return false;
        }
        let mut seen = (vec![false; self.vars.len()], vec![false; self.attr_vars.len()]);
        self.reads(rhs, &mut seen)
            && matches!(self.nodes[rhs], Node::Op(_))
            && seen.0.iter().chain(&seen.1).all(|&seen| seen)
    }
    /// Records the variables of a term; false if it computes a constant.
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

    // --- Terms -----------------------------------------------------------------------------------------

    pub(super) fn term(&mut self) -> Option<NodeId> {
        if self.nodes.len() >= MAX_TERMS + 2 * self.choice.lengths.iter().sum::<usize>() {
            self.error(self.at, format!("a rule has at most {MAX_TERMS} terms"));
            return None;
        }
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
        if self.rest().starts_with('_') {
            return self.wildcard(at);
        }
        if self.eat("(") {
            let mut term = self.call(at, ")")?;
            self.space();
            if !self.rest().starts_with("...") && self.eat(".") {
                let at = self.space();
                match self.word().parse() {
                    Ok(result) => term.result = result,
                    Err(_) => self.error(at, "the number of a result is expected after `.`"),
                }
            }
            return Some(self.op_node(at, term));
        }
        if self.eat("[") {
            let was_computing = self.is_computing;
            let computed = self.computing(|p| {
                let term = p.call(at, "]")?;
                Some(p.op_node(at, term))
            })?;
            if was_computing || self.side == Side::Template {
                return Some(computed);
            }
            // An operand of the pattern that equals a computed constant.
            let name = Name::new(Var::WILDCARD);
            let operand = self.fresh(at, Var { name, constant: true, varies: false, dtypes: DTypes::ALL })?;
            let equality = self.equality(operand, computed)?;
            self.equalities.push(equality);
            return Some(operand);
        }
        let number = self.number()?;
        Some(self.node(Node::Literal(number)))
    }

    /// Parses terms whose ops compute constants.
    pub(super) fn computing<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.is_computing, true);
        let read = read(self);
        self.is_computing = before;
        read
    }

    /// The node of an op: a computed constant inside of `[...]` and of conditions.
    fn op_node(&mut self, at: usize, term: OpTerm) -> NodeId {
        if !self.is_computing {
            return self.node(Node::Op(term));
        }
        if self.in_condition && !term.op.is_elementwise() {
            self.error(at, format!("`{}` is no elementwise op, so no condition is computed by it", term.op));
        }
        let node = self.node(Node::Computed(term));
        if !self.in_condition {
            self.computed.push((at, node));
        }
        node
    }

    /// Parses an op with operands and attributes, up to a bracket.
    fn call(&mut self, begin: usize, end: &str) -> Option<OpTerm> {
        let at = self.space();
        let op = if self.eat("?") {
            self.op_var(at)?
        } else {
            let name = self.word();
            self.op_named(at, name)?
        };
        if !op.is_pure() {
            self.error(at, format!("`{op}` has effects, and rules are about values"));
        }
        let mut term = OpTerm { op, args: SmallVec::new(), attrs: Vec::new(), result: 0 };
        let mut given_attrs: Vec<Name> = Vec::new();
        let mut groups: SmallVec<[Option<usize>; 4]> = SmallVec::new();
        while !self.eat(end) {
            let at = self.space();
            if term.args.len() > MAX_TERMS {
                self.error(at, format!("a term has at most {MAX_TERMS} operands"));
                return None;
            }
            if at == self.text.len() {
                self.error(begin, format!("the `{end}` that belongs to this is missing"));
                return None;
            }
            match self.attr_name() {
                Some(attr) => {
                    if given_attrs.contains(&attr) {
                        self.error(at, format!("the attribute `{attr}` is given twice"));
                        return None;
                    }
                    given_attrs.push(attr);
                    self.attr(&mut term, at, attr)?;
                }
                None => match self.repeated() {
                    None => {
                        term.args.push(self.term()?);
                        groups.push(None);
                    }
                    Some(repeated) => {
                        groups.push(Some(repeated.group));
                        self.each_repeated(&repeated, |p| {
                            term.args.push(p.term()?);
                            Some(())
                        })?;
                    }
                },
            }
        }
        if self.side == Side::Pattern && groups.iter().any(Option::is_some) {
            let node = self.node(Node::Op(term.clone()));
            self.rest_terms.push(RestTerm { node, groups });
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

    /// Parses the text before `...` once for each operand that its rest variables stand for.
    pub(super) fn each_repeated(
        &mut self,
        repeated: &Repeated,
        mut read: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        let begin = self.space();
        let count = self.choice.lengths.get(repeated.group).copied().unwrap_or(1);
        if self.operand.is_some() {
            self.error(begin, "`...` inside of the term that `...` repeats");
            return None;
        }
        if self.choice.lengths.iter().sum::<usize>() > MAX_LENGTH {
            self.error(begin, format!("rest variables stand for at most {MAX_LENGTH} operands"));
            return None;
        }
        for number in 0..count {
            self.at = begin;
            self.operand = Some(number);
            read(self)?;
        }
        self.operand = None;
        if count == 0 {
            self.at = repeated.end;
        }
        self.expect("...")
    }

    /// Adds a node; equal terms are one node.
    pub(super) fn node(&mut self, node: Node) -> NodeId {
        self.nodes.iter().position(|known| *known == node).unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }
}
