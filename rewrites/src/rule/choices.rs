//! Expands a text that stands for several rules: op variables (`?cmp{lt, le}`) and rest variables
//! (`?xs...`).
//!
//! Each choice of ops, and each number of operands, is a rule of its own, made by parsing the text with that
//! choice. So matching, planning and testing rules need not handle these variables.

use super::parse::{Parser, RuleErrors, parse_choice};
use super::{Node, NodeId, OpTerm, Rule};
use rewright_ir::{Name, Op, Registry, registry};
use smallvec::SmallVec;

/// The most choices of ops of a rule.
pub(super) const MAX_CHOICES: usize = 64;

/// Rest variables are tested with fewer operands than this, and with one fewer if others are tested too.
const LENGTHS: usize = 4;

/// Selects one of the rules of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// For each op variable, in the order of the text, the number of its op.
    pub ops: SmallVec<[usize; 2]>,
    /// For each group of rest variables, the number of operands that it stands for.
    pub lengths: SmallVec<[usize; 2]>,
}

/// An op variable.
pub(super) struct OpVar {
    pub name: Name,
    /// The ops of its first list.
    pub ops: Vec<Op>,
}

/// Parses all rules of a text; the first one holds the others.
pub(super) fn parse_all(name: &str, text: &str) -> Result<Rule, RuleErrors> {
    let rests = Rests::of(text);
    let ones = SmallVec::from_elem(1, rests.groups);
    let first = Choice { ops: SmallVec::new(), lengths: ones };
    let (mut rule, op_vars) = parse_choice(name, text, &rests, first.clone())?;
    let counts: Vec<usize> = op_vars.iter().map(|var| var.ops.len()).collect();
    rule.choice.ops = SmallVec::from_elem(0, counts.len());
    let all: usize = counts.iter().product();
    for number in 0..all {
        let ops = digits(number, &counts);
        if number > 0 {
            let choice = Choice { ops: ops.clone(), ..first.clone() };
            rule.choices.push(parse_choice(name, text, &rests, choice)?.0);
        }
        let lengths: Vec<usize> = vec![if rests.groups > 1 { LENGTHS - 1 } else { LENGTHS }; rests.groups];
        let combinations = lengths.iter().product::<usize>().min(MAX_CHOICES);
        for lengths in (0..combinations).map(|number| digits(number, &lengths)) {
            let is_first = lengths.iter().all(|&length| length == 1);
            let choice = Choice { ops: ops.clone(), lengths };
            // Some ops do not take this number of operands.
            if !is_first && let Ok((rule_of_choice, _)) = parse_choice(name, text, &rests, choice) {
                rule.choices.push(rule_of_choice);
            }
        }
    }
    Ok(rule)
}

/// The digits of a number in a mixed-radix system.
fn digits(mut number: usize, bases: &[usize]) -> SmallVec<[usize; 2]> {
    let digit = |&base: &usize| {
        let digit = number % base;
        number /= base;
        digit
    };
    bases.iter().map(digit).collect()
}

/// The rest variables of a text: names that stand for several operands.
#[derive(Clone, Debug, Default)]
pub(super) struct Rests {
    /// Names with their groups. The names of a group stand for equally many operands.
    names: Vec<(String, usize)>,
    pub groups: usize,
}

/// An occurrence of a variable.
struct Occurrence<'t> {
    name: &'t str,
    at: usize,
    /// `...` follows it.
    is_rest: bool,
}

impl Rests {
    /// The names before `...`, and the names in terms before `...` that occur nowhere else.
    pub fn of(text: &str) -> Rests {
        if !text.contains("...") {
            return Rests::default();
        }
        let follows = |at: usize| text[at..].trim_start().starts_with("...");
        let (mut open, mut repeated, mut occurrences) = (Vec::new(), Vec::new(), Vec::new());
        for (at, c) in text.char_indices() {
            match c {
                '(' => open.push(at),
                ')' => {
                    if let Some(begin) = open.pop()
                        && follows(at + 1)
                    {
                        repeated.push(begin..at);
                    }
                }
                '?' => {
                    let rest = text[at + 1..].trim_start();
                    let name = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
                    let classes = |c: char| is_word(c) || c == ':' || c.is_whitespace();
                    let after = rest.trim_start_matches(classes);
                    occurrences.push(Occurrence { name, at, is_rest: after.starts_with("...") });
                }
                _ => {}
            }
        }
        let inside = |at: usize| repeated.iter().find(|range| range.contains(&at));
        let mut rests = Rests::default();
        for found in &occurrences {
            let plain = |o: &&Occurrence<'_>| o.name == found.name && !o.is_rest && inside(o.at).is_none();
            let is_rest = found.is_rest || inside(found.at).is_some() && !occurrences.iter().any(|o| plain(&o));
            if !is_rest || rests.group(found.name).is_some() {
                continue;
            }
            // Names in one repeated term have one length.
            let together = repeated
                .iter()
                .filter(|range| occurrences.iter().any(|o| o.name == found.name && range.contains(&o.at)));
            let known = together.flat_map(|range| occurrences.iter().filter(|o| range.contains(&o.at)));
            let group = known.filter_map(|o| rests.group(o.name)).next().unwrap_or_else(|| {
                rests.groups += 1;
                rests.groups - 1
            });
            rests.names.push((found.name.to_string(), group));
        }
        rests
    }

    /// The group of a name, if it is a rest variable.
    pub fn group(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, group)| *group)
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// An operand before `...`.
pub(super) struct Repeated {
    pub group: usize,
    /// The end of the operand.
    pub end: usize,
}

impl<'t> Parser<'t> {
    /// The next variable, term or condition, if `...` follows it.
    pub(super) fn repeated(&mut self) -> Option<Repeated> {
        if self.rests.groups == 0 {
            return None;
        }
        self.space();
        let rest = self.rest();
        let begin = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let body = &rest[begin..];
        let end = begin
            + if body.starts_with('(') {
                let mut depth = 0usize;
                let closes = |c: char| {
                    depth = if c == '(' { depth + 1 } else { depth.saturating_sub(usize::from(c == ')')) };
                    depth == 0
                };
                body.find(closes)? + 1
            } else if let Some(name) = body.strip_prefix('?') {
                body.len() - name.trim_start_matches(|c| is_word(c) || c == ':' || c == ' ').len()
            } else {
                return None;
            };
        if !rest[end..].trim_start().starts_with("...") {
            return None;
        }
        let sigils = rest[..end].match_indices('?');
        let mut groups = sigils.filter_map(|(at, _)| {
            let name = rest[at + 1..].trim_start();
            self.rests.group(&name[..name.find(|c| !is_word(c)).unwrap_or(name.len())])
        });
        groups.next().map(|group| Repeated { group, end: self.at + end })
    }

    /// The op of an op variable whose `?` is read already. If the occurrence has its own list, the op is the
    /// one at the same position there.
    pub(super) fn op_var(&mut self, at: usize) -> Option<Op> {
        let name = self.name(at)?;
        let list = if self.eat("{") { Some(self.op_list()?) } else { None };
        let known = self.op_vars.iter().position(|var| var.name == name);
        let (number, ops) = match (known, list) {
            (Some(number), None) => (number, self.op_vars[number].ops.clone()),
            (Some(number), Some(ops)) if ops.len() == self.op_vars[number].ops.len() => (number, ops),
            (Some(number), Some(ops)) => {
                let (first, here) = (self.op_vars[number].ops.len(), ops.len());
                self.error(at, format!("`?{name}` has {first} ops where it is first named, here it has {here}"));
                return None;
            }
            (None, None) => {
                self.error(at, format!("the op variable `?{name}` has no ops: `(?{name}{{lt, le}} ...)` lists them"));
                return None;
            }
            (None, Some(ops)) => {
                self.op_vars.push(OpVar { name, ops: ops.clone() });
                let all = self.op_vars.iter().map(|var| var.ops.len()).fold(1, usize::saturating_mul);
                if all > MAX_CHOICES {
                    self.error(at, format!("a rule has at most {MAX_CHOICES} choices of ops, here it has {all}"));
                    return None;
                }
                (self.op_vars.len() - 1, ops)
            }
        };
        let chosen = self.choice.ops.get(number).copied().unwrap_or(0);
        ops.get(chosen).copied()
    }

    fn op_list(&mut self) -> Option<Vec<Op>> {
        let begin = self.at;
        let mut ops = Vec::new();
        self.list("}", |p| {
            let at = p.space();
            let name = p.word();
            ops.push(p.op_named(at, name)?);
            Some(())
        })?;
        if ops.is_empty() {
            self.error(begin, "an op variable has at least one op: `{lt, le}`");
            return None;
        }
        Some(ops)
    }

    /// An op of the registry.
    pub(super) fn op_named(&mut self, at: usize, name: &str) -> Option<Op> {
        if name.is_empty() {
            let found = self.found();
            self.error(at, format!("expected an op, found {found}"));
            return None;
        }
        let op = registry().op(name);
        if op.is_none() {
            let near = Registry::suggest(name, registry().ops().map(|(op, _)| op.0.name));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            self.error(at, format!("there is no op `{name}`{hint}"));
        }
        op
    }
}

/// The operands of a pattern term that are rest variables, by their groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RestTerm {
    pub node: NodeId,
    /// For each operand the group, with one operand for each group.
    pub groups: SmallVec<[Option<usize>; 4]>,
}

impl Rule {
    /// True if it has rest variables: the driver makes a rule for each number of operands that occurs.
    pub(crate) fn has_rests(&self) -> bool {
        !self.rest_terms.is_empty()
    }

    /// The same rule with these numbers of operands.
    pub(crate) fn with_lengths(&self, lengths: SmallVec<[usize; 2]>) -> Option<Rule> {
        let choice = Choice { ops: self.choice.ops.clone(), lengths };
        let rule = parse_choice(self.name.as_str(), &self.text, &Rests::of(&self.text), choice).ok()?.0;
        Some(Rule { name: self.name, liberties: self.liberties, ..rule })
    }

    /// The op term of a node.
    pub(crate) fn op_term(&self, node: NodeId) -> Option<&OpTerm> {
        if let Node::Op(term) = &self.nodes[node] { Some(term) } else { None }
    }
}
