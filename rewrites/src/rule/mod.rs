//! Declarative rules: a pattern, a template, and when the one may take the other's place.
//!
//! A rule is one line of text, whether it is compiled in with [`rule!`](crate::rule!) or read from a file while the program runs:
//!
//! ```text
//! (div ?x (sqrt ?x)) => (sqrt ?x)  if [nonneg(?x)] liberties [no_nan]
//! (sum (neg ?x) axes=@a keepdims=@k) => (neg (sum ?x axes=@a keepdims=@k))
//! (power ?x:float 2) => (mul ?x ?x)
//! (add (add ?x:int ?a:const) ?b:const) => (add ?x [add ?a ?b])
//! (divmod ?x ?y) => (floordiv ?x ?y), (mod ?x ?y)
//! ```
//!
//! | written | is |
//! |---|---|
//! | `?x` | a value; the same name twice is the same value |
//! | `?x:float` | a value of some dtypes: those of a name as `f64`, or of a class; `?x:const.int` is an integer constant |
//! | `2`, `1.5`, `true`, `-0.0`, `inf` | a constant; in a pattern one of this value, of whatever dtype it is exact in |
//! | `(op ...)` | the result of an op; `(divmod ?x ?y).1` its second one; operands of commutative ops match either way round |
//! | `axes=@a` | an attribute, bound to a name; `axes=[0]` one of this value. One that is not mentioned must not be given |
//! | `[op ...]` | in a template, what an op makes of constants, computed when the rule is applied |
//! | `=>`, `~>`, `<=>` | what the greedy driver applies; what only equality saturation does; the same in both directions |
//! | `if [...]` | conditions, all of which must hold; see [`condition`] |
//! | `liberties [...]` | the ways in which the result may differ; see [`Liberties`]. None: it is the same, bit for bit |
//!
//! What makes rules safe is that they say nothing of dtypes and shapes unless they want to: a rule applies where each op of its
//! pattern computes at the dtypes of its operands, so that nothing is cast in passing, where the same is true of its template, and
//! where every result keeps its type and its extents, known or not. [`soundness`] tries each rule by itself, at each dtype, on special values,
//! on those near its own constants, and on random ones.

pub mod condition;
pub mod liberties;
pub mod parse;
pub mod proof;
pub mod soundness;
pub mod syntax;
pub mod typing;

mod apply;
mod def;
pub(crate) mod extents;
mod file;
pub(crate) mod template;
pub(crate) mod tree;
mod words;

pub use condition::{ConditionDef, ConditionEntry, Known};
pub use def::{RuleDef, RuleEntry};
pub use file::{FileRule, RuleFileError, parse_rules, read_rules};
pub use liberties::Liberties;
pub use parse::{RuleError, RuleErrors, parse_rule};

use rewright_ir::op::{Op, Traits};
use rewright_ir::{Attr, Attrs, DType, Kind, Literal, Name};
use smallvec::SmallVec;
use std::fmt;

/// A place in [`Rule::nodes`]. Operands come before what uses them.
pub type NodeId = usize;

/// Which way a rule may be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `=>`: the template is better, or a form to be preferred.
    Rewrites,
    /// `~>`: the template is another form, of interest to equality saturation only.
    Explores,
    /// `<=>`: two forms, of interest to equality saturation only.
    Equates,
}

/// A rule, checked: every op is known and has as many operands as it takes, every variable is bound by the pattern, and there are dtypes
/// for which both sides have the same type.
#[derive(Clone)]
pub struct Rule {
    /// The name.
    pub name: Name,
    /// The text that it was read from.
    pub text: String,
    /// Which way it may be applied.
    pub direction: Direction,
    /// The variables, in the order in which the pattern names them.
    pub vars: Vec<Var>,
    /// The attribute variables.
    pub attr_vars: Vec<Name>,
    /// The terms of both sides, each once.
    pub nodes: Vec<Node>,
    /// The pattern: an op.
    pub lhs: NodeId,
    /// The template, one term for each result of the pattern's op.
    pub rhs: SmallVec<[NodeId; 2]>,
    /// What must hold.
    pub conditions: Vec<Condition>,
    /// What the result may differ in.
    pub liberties: Liberties,
    /// Of several rules that match, the one of greatest benefit is applied.
    pub benefit: u16,
    /// It is in the default pipeline, where its liberties are granted.
    pub by_default: bool,
}

/// A variable of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Its name, without the `?`.
    pub name: Name,
    /// It must be a constant.
    pub constant: bool,
    /// The dtypes that it may have.
    pub dtypes: DTypes,
}

/// A term.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A variable.
    Var(usize),
    /// A constant.
    Literal(Literal),
    /// A result of an op.
    Op(OpTerm),
    /// What an op makes of constants.
    Computed(OpTerm),
}

/// An op of a term.
#[derive(Clone, Debug, PartialEq)]
pub struct OpTerm {
    /// The op.
    pub op: Op,
    /// The operands.
    pub args: SmallVec<[NodeId; 3]>,
    /// The attributes that are given.
    pub attrs: Vec<(Name, AttrTerm)>,
    /// Which result.
    pub result: usize,
}

/// An attribute of a term.
#[derive(Clone, Debug, PartialEq)]
pub enum AttrTerm {
    /// This value.
    Is(Attr),
    /// What the variable is bound to, which may be the attribute's absence.
    Var(usize),
}

/// A condition, and what it is about.
#[derive(Clone)]
pub struct Condition {
    /// What must hold.
    pub def: &'static ConditionDef,
    /// Of which variables.
    pub vars: SmallVec<[usize; 2]>,
}

/// A set of dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DTypes(u16);

impl DTypes {
    /// All dtypes.
    pub const ALL: DTypes = DTypes((1 << DType::ALL.len()) - 1);
    /// The names of classes, for messages.
    pub const CLASSES: [&'static str; 7] = ["any", "bool", "int", "signed", "unsigned", "float", "complex"];

    /// The dtypes of a name: of one dtype (`f64`), or of a class: `any`, `bool`, `int`, `signed`, `unsigned`, `float`, `complex`, `real`
    /// (not complex), `inexact` (float or complex).
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
    /// Those in both.
    pub fn and(self, other: DTypes) -> DTypes {
        DTypes(self.0 & other.0)
    }
    /// True if the set has a dtype.
    pub fn contains(self, dtype: DType) -> bool {
        self.0 & 1 << dtype as u16 != 0
    }
    /// No dtypes.
    pub fn none() -> DTypes {
        DTypes(0)
    }
    /// The set with one dtype more.
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
            // The parser lets nothing else be a pattern.
            other => unreachable!("the pattern {other:?} is no op"),
        }
    }

    /// The number of steps from the root to the deepest term of the pattern.
    pub fn depth(&self) -> u8 {
        self.depth_of(self.lhs)
    }
    fn depth_of(&self, node: NodeId) -> u8 {
        match &self.nodes[node] {
            Node::Op(term) => term.args.iter().map(|&arg| self.depth_of(arg).saturating_add(1)).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// True if the driver may apply it wherever it matches; if not it is for equality saturation only.
    pub fn is_greedy(&self) -> bool {
        self.direction == Direction::Rewrites
    }

    /// The rule the other way round, for `<=>`.
    pub fn reversed(&self) -> Option<Rule> {
        let [rhs] = self.rhs[..] else { return None };
        let is_op = matches!(self.nodes[rhs], Node::Op(_));
        (self.direction == Direction::Equates && is_op).then(|| Rule {
            name: Name::new(&format!("{}.rev", self.name)),
            lhs: rhs,
            rhs: SmallVec::from_slice(&[self.lhs]),
            ..self.clone()
        })
    }

    /// A term as text.
    pub fn term(&self, node: NodeId) -> String {
        match &self.nodes[node] {
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
        let rhs: Vec<String> = self.rhs.iter().map(|&node| self.term(node)).collect();
        write!(f, "{} {arrow} {}", self.term(self.lhs), rhs.join(", "))
    }
}

impl OpTerm {
    /// True if its two operands may be exchanged.
    pub fn is_commutative(&self) -> bool {
        self.op.traits.contains(Traits::COMMUTATIVE) && self.args.len() == 2 && self.args[0] != self.args[1]
    }
    /// Its attributes, variables bound.
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
