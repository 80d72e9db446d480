//! Declarative rules: a pattern, a template, and conditions under which the template may replace the
//! pattern.
//!
//! A rule is one line of text, compiled in with [`rule!`](crate::rule!) or read from a file at run time.
//! `docs/write-a-rule.md` has the grammar, and an example of each construct:
//!
//! ```text
//! (div ?x (sqrt ?x)) => (sqrt ?x)  if [nonneg(?x)] liberties [no_nan]
//! (floordiv (floordiv ?x:int ?a:const) ?b:const) => (floordiv ?x [mul ?a ?b])
//!     if [(gt ?a 0), (gt ?b 0), (eq (floordiv (mul ?a ?b) ?b) ?a)]
//! (?cmp{lt, le, gt, ge} (neg ?x:float) (neg ?y)) => (?cmp ?y ?x)
//! (floordiv ?x ?y), (mod ?x ?y) => (divmod ?x ?y).0, (divmod ?x ?y).1
//! (concat (neg ?xs:float)... axis=@a) => (neg (concat ?xs... axis=@a))
//! ```
//!
//! A text with op variables or rest variables stands for several rules, which are parsed separately
//! ([`parse_rule`], [`Rule::choices`]). Conditions are formulas with three truth values ([`Condition`]).
//!
//! A rule holds at all dtypes and shapes unless it restricts them. A rule
//! applies only if each op of its pattern computes at the dtypes of its operands, without casts, if the same
//! is true of its template, and if every result keeps its type and its extents, known or not. [`soundness`]
//! tests each rule by itself, at each dtype, on special values, on values near the rule's own constants, and
//! on random ones.

pub(crate) mod condition;
pub(crate) mod liberties;
pub(crate) mod parse;
pub mod proof;
pub mod soundness;
#[doc(hidden)]
pub mod syntax;
pub(crate) mod typing;

mod apply;
mod choices;
mod decided;
mod def;
pub(crate) mod extents;
mod file;
pub(crate) mod formula;
pub(crate) mod number;
mod own_result;
mod parse_attr;
mod parse_condition;
mod parse_var;
mod related;
mod search;
pub(crate) mod template;
mod tokens;
pub(crate) mod tree;

pub use condition::{ConditionBits, ConditionDef, ConditionEntry, Known, condition_entries};
pub use def::{RuleDef, RuleEntry};
pub use file::{FileRule, RuleFileError, parse_rules, read_rules};
pub use formula::Condition;
pub use liberties::Liberties;
pub use number::Number;
pub use parse::{RuleError, RuleErrors, parse_rule};

use rewright_ir::op::{Op, Traits};
use rewright_ir::{Attr, Attrs, DType, Kind, Name};
use smallvec::SmallVec;
use std::fmt;

/// An index into [`Rule::nodes`]. Operands come before their users.
pub type NodeId = usize;

/// The direction in which a rule may be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `=>`: the template is better than the pattern, or the canonical form.
    Rewrites,
    /// `~>`: the template is another form, used by equality saturation only.
    Explores,
    /// `<=>`: two equal forms, used by equality saturation only.
    Equates,
}

/// A checked rule: every op is known and has a valid number of operands, the pattern binds every variable,
/// and there are dtypes for which both sides have the same type.
#[derive(Clone)]
pub struct Rule {
    /// The name.
    pub name: Name,
    /// The text that it was read from.
    pub text: String,
    /// The direction in which it may be applied.
    pub direction: Direction,
    /// The variables, in the order of their first occurrence in the pattern.
    pub vars: Vec<Var>,
    /// The attribute variables.
    pub attr_vars: Vec<Name>,
    /// The terms of both sides, without duplicates.
    pub nodes: Vec<Node>,
    /// The root of the pattern, an op.
    pub lhs: NodeId,
    /// The further roots of the pattern, which are ops.
    pub also: SmallVec<[NodeId; 1]>,
    /// The template, one term for each result of the pattern's roots.
    pub rhs: SmallVec<[NodeId; 2]>,
    /// The conditions, which must all hold.
    pub conditions: Vec<Condition>,
    /// The ways in which the result may differ.
    pub liberties: Liberties,
    /// Of several rules that match, the one of greatest benefit is applied.
    pub benefit: u16,
    /// It is in the default pipeline, and is applied there if its liberties are granted.
    pub by_default: bool,
    /// The ops of its op variables.
    pub chosen: Vec<(Name, Op)>,
    /// The same rule with other choices of its op variables, and with other numbers of operands for its rest
    /// variables. Empty in the choices themselves.
    pub choices: Vec<Rule>,
    /// The choice that this rule is for.
    pub(crate) choice: choices::Choice,
    /// The ops of the pattern whose operands are rest variables.
    pub(crate) rest_terms: Vec<choices::RestTerm>,
}

/// A variable of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Its name, without the `?`.
    pub name: Name,
    /// It must be a constant.
    pub constant: bool,
    /// It must not be a constant.
    pub varies: bool,
    /// The dtypes that it may have.
    pub dtypes: DTypes,
}

/// A term.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A variable.
    Var(usize),
    /// A constant.
    Literal(Number),
    /// A result of an op.
    Op(OpTerm),
    /// A constant that an op computes from constants.
    Computed(OpTerm),
}

/// An op of a term.
#[derive(Clone, Debug, PartialEq)]
pub struct OpTerm {
    /// The op.
    pub op: Op,
    /// The operands.
    pub args: SmallVec<[NodeId; 3]>,
    /// The attributes that the text gives.
    pub attrs: Vec<(Name, AttrTerm)>,
    /// The number of the result.
    pub result: usize,
}

/// An attribute of a term.
#[derive(Clone, Debug, PartialEq)]
pub enum AttrTerm {
    /// A fixed value.
    Is(Attr),
    /// The value of the variable, which may be the attribute's absence.
    Var(usize),
}

/// A set of dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DTypes(u16);

impl DTypes {
    /// All dtypes.
    pub const ALL: DTypes = DTypes((1 << DType::ALL.len()) - 1);
    /// The names of classes, for messages.
    pub(crate) const CLASSES: [&'static str; 9] =
        ["any", "bool", "int", "signed", "unsigned", "float", "complex", "real", "inexact"];

    /// The dtypes with a name: a dtype (`f64`), or a class: `any`, `bool`, `int`, `signed`, `unsigned`,
    /// `float`, `complex`, `real` (not complex), `inexact` (float or complex).
    pub fn named(name: &str) -> Option<DTypes> {
        let is_member = |d: &DType| match name {
            "any" => true,
            "int" => d.is_int(),
            "signed" => d.is_int() && !d.is_unsigned(),
            "unsigned" => d.is_unsigned(),
            "float" => d.is_float(),
            "complex" => d.is_complex(),
            "real" => !d.is_complex(),
            "inexact" => d.kind() >= Kind::Float,
            _ => d.name() == name,
        };
        let set = DType::ALL.iter().filter(|d| is_member(d)).fold(0, |set, &d| set | 1 << d as u16);
        (set != 0).then_some(DTypes(set))
    }
    /// The intersection of two sets.
    pub fn and(self, other: DTypes) -> DTypes {
        DTypes(self.0 & other.0)
    }
    /// True if the set has a dtype.
    pub fn contains(self, dtype: DType) -> bool {
        self.0 & 1 << dtype as u16 != 0
    }
    /// The empty set.
    pub fn none() -> DTypes {
        DTypes(0)
    }
    /// The set with another dtype added.
    pub fn with(self, dtype: DType) -> DTypes {
        DTypes(self.0 | 1 << dtype as u16)
    }
    /// The members.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |&d| self.contains(d))
    }
}

/// The names of the members: `i8, u8`.
impl fmt::Display for DTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(|dtype| dtype.name()).collect();
        f.write_str(&names.join(", "))
    }
}

impl Rule {
    /// The op at the pattern's root.
    pub fn root(&self) -> &OpTerm {
        match &self.nodes[self.lhs] {
            Node::Op(term) => term,
            // The parser rejects all other patterns.
            other => unreachable!("the pattern {other:?} is no op"),
        }
    }

    /// The ops of the pattern whose results the template replaces: one, or several.
    pub(crate) fn pattern_roots(&self) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::once(self.lhs).chain(self.also.iter().copied())
    }

    /// The rule with each choice of its op variables.
    pub fn all(&self) -> impl Iterator<Item = &Rule> {
        std::iter::once(self).chain(&self.choices)
    }

    /// The ops at the roots of the pattern, for all choices of op variables.
    pub fn roots(&self) -> Vec<&'static str> {
        let mut roots: Vec<&'static str> = Vec::new();
        for rule in self.all() {
            for &node in std::iter::once(&rule.lhs).chain(&rule.also) {
                if let Node::Op(term) = &rule.nodes[node]
                    && !roots.contains(&term.op.0.name)
                {
                    roots.push(term.op.0.name);
                }
            }
        }
        roots
    }

    /// The number of steps from a root to the deepest term of the pattern.
    pub fn depth(&self) -> u8 {
        let roots = self.all().flat_map(|rule| std::iter::once(&rule.lhs).chain(&rule.also).map(move |&at| (rule, at)));
        roots.map(|(rule, root)| rule.depth_of(root)).max().unwrap_or(0)
    }
    fn depth_of(&self, node: NodeId) -> u8 {
        match &self.nodes[node] {
            Node::Op(term) => term.args.iter().map(|&arg| self.depth_of(arg).saturating_add(1)).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// True if the driver may apply it wherever it matches; otherwise it is for equality saturation only.
    pub(crate) fn is_greedy(&self) -> bool {
        self.direction == Direction::Rewrites
    }

    /// The reversed rule, for `<=>`.
    pub fn reversed(&self) -> Option<Rule> {
        let [rhs] = self.rhs[..] else { return None };
        let is_op = matches!(self.nodes[rhs], Node::Op(_));
        (self.direction == Direction::Equates && is_op).then(|| Rule {
            name: Name::new(&format!("{}.rev", self.name)),
            lhs: rhs,
            rhs: SmallVec::from_slice(&[self.lhs]),
            choices: self.choices.iter().filter_map(Rule::reversed).collect(),
            ..self.clone()
        })
    }

    /// Adds the variables of a term, without duplicates.
    pub(crate) fn add_vars(&self, node: NodeId, vars: &mut SmallVec<[usize; 2]>) {
        match &self.nodes[node] {
            Node::Var(var) if vars.contains(var) => {}
            Node::Var(var) => vars.push(*var),
            Node::Literal(_) => {}
            Node::Op(term) | Node::Computed(term) => term.args.iter().for_each(|&arg| self.add_vars(arg, vars)),
        }
    }

    /// A variable as text: `?x`, or `_`; of several `_` the n-th is `_#n`.
    pub fn var(&self, var: usize) -> String {
        if !self.vars[var].is_wildcard() {
            return format!("?{}", self.vars[var].name);
        }
        let count = |vars: &[Var]| vars.iter().filter(|var| var.is_wildcard()).count();
        match count(&self.vars) {
            1 => Var::WILDCARD.to_string(),
            _ => format!("{}#{}", Var::WILDCARD, count(&self.vars[..=var])),
        }
    }

    /// A term as text.
    pub fn term(&self, node: NodeId) -> String {
        match &self.nodes[node] {
            Node::Var(var) if self.vars[*var].is_wildcard() => "_".to_string(),
            Node::Var(var) => format!("?{}", self.vars[*var].name),
            Node::Literal(literal) => literal.to_string(),
            Node::Op(term) => format!("({}){}", self.call(term), self.result(term)),
            Node::Computed(term) => format!("[{}]", self.call(term)),
        }
    }
    fn result(&self, term: &OpTerm) -> String {
        if term.result == 0 { String::new() } else { format!(".{}", term.result) }
    }
    fn call(&self, term: &OpTerm) -> String {
        let args = term.args.iter().map(|&arg| format!(" {}", self.term(arg)));
        let attrs = term.attrs.iter().map(|(name, attr)| match attr {
            AttrTerm::Is(value) => format!(" {name}={value}"),
            AttrTerm::Var(var) => format!(" {name}=@{}", self.attr_vars[*var]),
        });
        std::iter::once(term.op.to_string()).chain(args).chain(attrs).collect()
    }
}

/// Both sides, as in the text form.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = match self.direction {
            Direction::Rewrites => "=>",
            Direction::Explores => "~>",
            Direction::Equates => "<=>",
        };
        let terms =
            |list: &mut dyn Iterator<Item = &NodeId>| list.map(|&node| self.term(node)).collect::<Vec<_>>().join(", ");
        let lhs = terms(&mut std::iter::once(&self.lhs).chain(&self.also));
        write!(f, "{lhs} {arrow} {}", terms(&mut self.rhs.iter()))
    }
}

impl Var {
    /// The name of every `_`.
    pub(crate) const WILDCARD: &'static str = "_";

    /// True for `_`, and for a computed operand of a pattern: no other term can refer to it.
    pub(crate) fn is_wildcard(&self) -> bool {
        self.name == Var::WILDCARD
    }
}

impl OpTerm {
    /// True if its two operands may be exchanged.
    pub(crate) fn is_commutative(&self) -> bool {
        self.op.traits.contains(Traits::COMMUTATIVE) && self.args.len() == 2 && self.args[0] != self.args[1]
    }
    /// Its attributes, with variables bound.
    pub fn attrs(&self, bound: &[Option<Attr>]) -> Attrs {
        let mut attrs = Attrs::new();
        for (name, term) in &self.attrs {
            let value = match term {
                AttrTerm::Is(value) => Some(value.clone()),
                AttrTerm::Var(var) => bound[*var].clone(),
            };
            if let Some(value) = value {
                attrs.set(*name, value);
            }
        }
        attrs
    }
}
