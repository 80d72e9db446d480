//! Proofs that two terms are equal, as chains of rule applications.
//!
//! egg keeps, for each union, why it was made, and finds a chain of reasons between two terms (Flatt et al., "Small Proofs from
//! Congruence Closure", FMCAD 2022). Terms share their parts, and so does what is made of them here: a change of a part is told once, however often
//! the part occurs. Written out in full, proofs would grow exponentially.

use super::analysis::{COMMUTE, FOLD};
use super::nary;
use super::node::{Const, Head, Node};
use egg::TreeTerm;
use rewright_ir::Name;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;
use std::rc::Rc;

/// One application of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofStep {
    /// The rule; `fold` computes with constants, `commute` exchanges operands, and sums and products of many terms have names of their own.
    pub rule: Name,
    /// The rule goes from the second term to the first.
    pub backward: bool,
    /// The part that changes, as it was; parts of it that have a name in the program are written by that.
    pub before: String,
    /// The same, as it is then.
    pub after: String,
}

impl ProofStep {
    /// True for a rule of the registry.
    pub fn is_rule(&self) -> bool {
        ![FOLD, COMMUTE].contains(&self.rule.as_str()) && !nary::REASONS.contains(&self.rule.as_str())
    }
}

/// Why two terms are equal: each step changes one part of the term, and what was changed before stays so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// The steps, in order. None: the two are the same term.
    pub steps: Vec<ProofStep>,
}

/// A step a line.
impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("both are the same term");
        }
        for (n, step) in self.steps.iter().enumerate() {
            let arrow = if step.backward { "<=" } else { "=>" };
            write!(f, "{}{}  {arrow}  {}    {}", if n > 0 { "\n" } else { "" }, step.before, step.after, step.rule)?;
        }
        Ok(())
    }
}

/// A term, each one once.
type Term = usize;

/// Terms and how they are written.
#[derive(Default)]
pub(crate) struct Writer {
    terms: Vec<(Head, Vec<Term>)>,
    known: FxHashMap<(Head, Vec<Term>), Term>,
    /// Terms that have a name in the program.
    names: FxHashMap<Term, String>,
    /// How leaves are written.
    leaves: Vec<String>,
}

/// Parts of terms are written out to this depth.
const DEPTH: usize = 3;

impl Writer {
    /// Writes leaves like this, by number.
    pub fn new(leaves: Vec<String>) -> Self {
        Writer { leaves, ..Writer::default() }
    }

    /// The term of a node.
    pub fn term(&mut self, node: &Node, children: Vec<Term>) -> Term {
        let key = (node.head.clone(), children);
        if let Some(&term) = self.known.get(&key) {
            return term;
        }
        self.terms.push(key.clone());
        self.known.insert(key, self.terms.len() - 1);
        self.terms.len() - 1
    }

    /// Says by what name the program knows a term. The first name stays.
    pub fn name(&mut self, term: Term, name: String) {
        self.names.entry(term).or_insert(name);
    }

    fn text(&self, term: Term, depth: usize) -> String {
        if let Some(name) = self.names.get(&term).filter(|_| depth > 0) {
            return name.clone();
        }
        let (head, children) = &self.terms[term];
        match head {
            Head::Leaf(number) => self.leaves.get(*number as usize).cloned().unwrap_or_default(),
            Head::Const(Const(scalar)) => scalar.to_string(),
            Head::Attr(leaf) => leaf.as_ref().map_or(String::new(), |leaf| leaf.attr().to_string()),
            Head::Op(_) if depth > DEPTH => "...".to_string(),
            Head::Op(op) => {
                let count = children.len() - op.0.attrs.len();
                let args = children[..count].iter().map(|&child| self.text(child, depth + 1));
                let given = op.0.attrs.iter().zip(&children[count..]).filter_map(|(def, &child)| {
                    let value = self.text(child, depth + 1);
                    (!value.is_empty()).then(|| format!("{}={value}", def.name))
                });
                let all: Vec<String> = args.chain(given).collect();
                let whole = format!("{op} {}", all.join(", "));
                if depth > 0 { format!("({whole})") } else { whole }
            }
        }
    }
}

/// Walks egg's proof.
struct Walk<'a> {
    writer: &'a mut Writer,
    firsts: FxHashMap<*const TreeTerm<Node>, Term>,
    lasts: FxHashMap<*const TreeTerm<Node>, Term>,
    told: FxHashSet<(Term, Term)>,
    proof: Proof,
}

/// A proof of egg in our words.
pub(crate) fn told(writer: &mut Writer, trees: &[Rc<TreeTerm<Node>>]) -> Proof {
    let mut walk = Walk {
        writer,
        firsts: FxHashMap::default(),
        lasts: FxHashMap::default(),
        told: FxHashSet::default(),
        proof: Proof::default(),
    };
    walk.chain(trees);
    walk.proof
}

impl Walk<'_> {
    fn chain(&mut self, trees: &[Rc<TreeTerm<Node>>]) {
        for (n, tree) in trees.iter().enumerate() {
            if n > 0 {
                let (before, after) = (self.last(&trees[n - 1]), self.first(tree));
                self.step(before, after, tree);
            }
            for child in &tree.child_proofs {
                self.children(child);
            }
        }
    }

    /// A change of a part is told once.
    fn children(&mut self, child: &[Rc<TreeTerm<Node>>]) {
        let (Some(begin), Some(end)) = (child.first(), child.last()) else { return };
        let ends = (self.first(begin), self.last(end));
        if ends.0 != ends.1 && self.told.insert(ends) {
            self.chain(child);
        }
    }

    fn step(&mut self, before: Term, after: Term, tree: &TreeTerm<Node>) {
        let (rule, backward) = match (tree.forward_rule, tree.backward_rule) {
            (Some(rule), _) => (rule, false),
            (None, Some(rule)) => (rule, true),
            (None, None) => return,
        };
        if before == after {
            return;
        }
        self.proof.steps.push(ProofStep {
            rule: Name::new(rule.as_str()),
            backward,
            before: self.writer.text(before, 0),
            after: self.writer.text(after, 0),
        });
    }

    fn first(&mut self, tree: &Rc<TreeTerm<Node>>) -> Term {
        self.end(tree, false)
    }
    fn last(&mut self, tree: &Rc<TreeTerm<Node>>) -> Term {
        self.end(tree, true)
    }

    /// The term before, or after, the changes of a tree's parts.
    fn end(&mut self, tree: &Rc<TreeTerm<Node>>, last: bool) -> Term {
        let key = Rc::as_ptr(tree);
        let memo = if last { &self.lasts } else { &self.firsts };
        if let Some(&term) = memo.get(&key) {
            return term;
        }
        let ends: Vec<Rc<TreeTerm<Node>>> = tree
            .child_proofs
            .iter()
            .filter_map(|child| if last { child.last() } else { child.first() })
            .cloned()
            .collect();
        let children = ends.iter().map(|child| self.end(child, last)).collect();
        let term = self.writer.term(&tree.node, children);
        let memo = if last { &mut self.lasts } else { &mut self.firsts };
        memo.insert(key, term);
        term
    }
}
