//! Compiles a rule's pattern to a program that walks e-classes (de Moura and Bjørner, "Efficient E-Matching
//! for SMT Solvers", 2007).
//!
//! `(add (mul ?x ?y) 0)` becomes this program, without the steps for attributes:
//!
//! ```text
//! Bind r0 = add(r1, r2)       in both orders
//! Bind r1 = mul(r3, r4)
//! Literal r2 is 0
//! Computes mul(r3, r4), and add(r1, r2), at the dtypes of their operands
//! ```

use super::analysis::Graph;
use super::computes::Computes;
use super::node::{AttrLeaf, Head, Shape};
use crate::rule::{AttrTerm, DTypes, Node as Term, NodeId, Number, Rule};
use egg::Id;
use rewright_ir::Op;
use smallvec::SmallVec;

/// A register that holds a class.
type Reg = usize;

/// A step of the program; each may fail. Registers hold canonical ids, so that equal classes have equal ids.
#[derive(Clone, Debug)]
enum PatternStep {
    /// A node of the class in `at` has this op; its children go to `out` and the registers after it, in both
    /// orders if they may be exchanged. The rest of the program runs for each such node.
    Bind { at: Reg, shape: Shape, out: Reg, swaps: bool },
    /// The class is this attribute, or its absence.
    Attr(Reg, Option<AttrLeaf>),
    /// Both registers hold the same class.
    Compare(Reg, Reg),
    /// The class is this number, at the dtype of the class.
    Literal(Reg, Number),
    /// The class is a constant.
    Constant(Reg),
    /// The class is no constant.
    Varies(Reg),
    /// The class has one of these dtypes.
    DTypes(Reg, DTypes),
    /// The op computes at the dtypes of its operands, which are in `out` and the registers after it.
    Computes { computes: Computes, out: Reg, count: usize },
}

/// An op of the pattern and the registers of its children.
#[derive(Clone, Debug)]
pub(crate) struct OpPlace {
    pub node: NodeId,
    pub op: Op,
    pub out: Reg,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    steps: Vec<PatternStep>,
    regs: usize,
    /// The shape of the root's nodes.
    pub root: Shape,
    /// The depth of the pattern, in steps from users to operands.
    pub depth: u8,
    /// The register of each variable.
    pub vars: Vec<Reg>,
    /// The register of each attribute variable.
    pub attrs: Vec<Reg>,
    /// The ops, users before operands.
    pub ops: Vec<OpPlace>,
}

/// A match: the class of the root and all registers.
pub(crate) type Regs = SmallVec<[Id; 12]>;

/// The matches of an iteration, and the limits.
pub(crate) struct PatternSearch {
    pub found: Vec<Regs>,
    /// The most matches.
    pub max_matches: usize,
    /// The number of nodes that may still be scanned, whether they match or not.
    pub scans: usize,
}

impl PatternSearch {
    fn is_over(&self) -> bool {
        self.scans == 0 || self.found.len() >= self.max_matches
    }
}

impl Pattern {
    /// Compiles the left side of a rule. `None` for patterns with several roots or rest variables, with ops
    /// of variable arity, or that read a result other than the first.
    pub fn compile(rule: &Rule) -> Option<Pattern> {
        if !rule.also.is_empty() || rule.has_rests() {
            return None;
        }
        let mut compiler = Compiler {
            rule,
            steps: Vec::new(),
            last: Vec::new(),
            regs: 1,
            at: vec![None; rule.nodes.len()],
            attrs: vec![None; rule.attr_vars.len()],
            ops: Vec::new(),
        };
        let mut level = vec![(0, rule.lhs)];
        let mut depth = 0u8;
        while !level.is_empty() {
            let mut next = Vec::new();
            for (reg, node) in level {
                compiler.place(reg, node, &mut next)?;
            }
            depth = depth.saturating_add(1);
            level = next;
        }
        let Compiler { mut steps, last, regs, at, attrs, ops, .. } = compiler;
        steps.extend(last);
        let var = |var| rule.nodes.iter().position(|n| *n == Term::Var(var)).and_then(|node| at[node]);
        let vars: Option<Vec<Reg>> = (0..rule.vars.len()).map(var).collect();
        let root = shape(rule.root().op);
        Some(Pattern {
            steps,
            regs,
            root,
            depth: depth.saturating_sub(1),
            vars: vars?,
            attrs: attrs.into_iter().collect::<Option<_>>()?,
            ops,
        })
    }

    /// All matches in a class, given by its canonical id. The graph must be rebuilt. False if a limit was
    /// reached, so that more matches may exist.
    pub fn search(&self, graph: &Graph, class: Id, search: &mut PatternSearch) -> bool {
        debug_assert!(graph.clean && graph.find(class) == class, "the graph is not rebuilt");
        let mut regs = Regs::from_elem(class, self.regs);
        self.run(graph, 0, &mut regs, search);
        !search.is_over()
    }

    fn run(&self, graph: &Graph, pc: usize, regs: &mut Regs, search: &mut PatternSearch) {
        if search.is_over() {
            return;
        }
        let Some(step) = self.steps.get(pc) else {
            search.found.push(regs.clone());
            return;
        };
        if let PatternStep::Bind { at, shape, out, swaps } = step {
            for node in &graph[regs[*at]].nodes {
                if search.is_over() {
                    return;
                }
                search.scans -= 1;
                if !node.is_like(shape) {
                    continue;
                }
                for (n, &child) in node.children.iter().enumerate() {
                    regs[out + n] = graph.find(child);
                }
                self.run(graph, pc + 1, regs, search);
                if *swaps && node.sorts && node.children[0] != node.children[1] {
                    (regs[*out], regs[out + 1]) = (graph.find(node.children[1]), graph.find(node.children[0]));
                    self.run(graph, pc + 1, regs, search);
                }
            }
        } else if passes(graph, step, regs) {
            self.run(graph, pc + 1, regs, search);
        }
    }
}

/// The op of a node, and the number of its operands and attributes; 0 for ops of variable arity, which no
/// pattern has.
fn shape(op: Op) -> Shape {
    let rewright_ir::op::Arity::Exactly(operands) = op.arity else { return Shape::Op(op, 0) };
    Shape::Op(op, operands + op.0.attrs.len())
}

fn passes(graph: &Graph, step: &PatternStep, regs: &Regs) -> bool {
    let known = |reg: Reg| &graph[regs[reg]].data;
    let dtype = |reg: Reg| known(reg).ty.as_ref().map(|ty| ty.dtype());
    match step {
        PatternStep::Bind { .. } => false,
        PatternStep::Attr(at, wanted) => {
            graph[regs[*at]].nodes.first().is_some_and(|n| matches!(&n.head, Head::Attr(leaf) if leaf == wanted))
        }
        PatternStep::Compare(a, b) => regs[*a] == regs[*b],
        PatternStep::Literal(at, literal) => known(*at).constant.is_some_and(|c| literal.at(c.dtype()) == Some(c)),
        PatternStep::Constant(at) => known(*at).constant.is_some(),
        PatternStep::Varies(at) => known(*at).constant.is_none(),
        PatternStep::DTypes(at, dtypes) => dtype(*at).is_some_and(|d| dtypes.contains(d)),
        PatternStep::Computes { computes, out, count } => computes.casts_nothing(graph, &regs[*out..*out + *count]),
    }
}

struct Compiler<'r> {
    rule: &'r Rule,
    steps: Vec<PatternStep>,
    /// Steps that cost more than others, which run last.
    last: Vec<PatternStep>,
    regs: usize,
    /// The register of each term.
    at: Vec<Option<Reg>>,
    attrs: Vec<Option<Reg>>,
    ops: Vec<OpPlace>,
}

impl Compiler<'_> {
    fn place(&mut self, reg: Reg, node: NodeId, next: &mut Vec<(Reg, NodeId)>) -> Option<()> {
        if let Some(before) = self.at[node] {
            self.steps.push(PatternStep::Compare(before, reg));
            return Some(());
        }
        self.at[node] = Some(reg);
        match &self.rule.nodes[node] {
            Term::Var(var) => {
                let var = &self.rule.vars[*var];
                if var.constant {
                    self.steps.push(PatternStep::Constant(reg));
                }
                if var.varies {
                    self.steps.push(PatternStep::Varies(reg));
                }
                if var.dtypes != DTypes::ALL {
                    self.steps.push(PatternStep::DTypes(reg, var.dtypes));
                }
            }
            Term::Literal(literal) => self.steps.push(PatternStep::Literal(reg, *literal)),
            Term::Op(term) => {
                let shape = shape(term.op);
                let Shape::Op(op, count) = shape else { return None };
                if term.result != 0 || count != term.args.len() + op.0.attrs.len() {
                    return None;
                }
                let out = self.regs;
                self.regs += count;
                self.steps.push(PatternStep::Bind { at: reg, shape, out, swaps: term.is_commutative() });
                self.ops.push(OpPlace { node, op, out });
                next.extend(term.args.iter().enumerate().map(|(n, &arg)| (out + n, arg)));
                for (n, def) in op.0.attrs.iter().enumerate() {
                    let at = out + term.args.len() + n;
                    match term.attrs.iter().find(|(name, _)| *name == def.name) {
                        None => self.steps.push(PatternStep::Attr(at, None)),
                        Some((_, AttrTerm::Is(attr))) => {
                            self.steps.push(PatternStep::Attr(at, Some(AttrLeaf::new(attr.clone()))));
                        }
                        Some((_, AttrTerm::Var(var))) => match self.attrs[*var] {
                            Some(before) => self.steps.push(PatternStep::Compare(before, at)),
                            None => self.attrs[*var] = Some(at),
                        },
                    }
                }
                if op.is_elementwise() {
                    self.last.push(PatternStep::Computes { computes: Computes::of(op), out, count });
                }
            }
            Term::Computed(_) => return None,
        }
        Some(())
    }
}
