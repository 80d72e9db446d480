//! A rule's template at a place where its pattern matched: first planned with types, and only then added.

use super::analysis::{Graph, add};
use super::node::{Children, Head, Node, attr_heads};
use super::pattern::{Pattern, Regs};
use crate::rule::typing::{Operand, call_types, literal_operand};
use crate::rule::{Known, Node as Term, NodeId, OpTerm, Rule, computed};
use egg::Id;
use rewright_ir::builder::literal_at;
use rewright_ir::{Attr, Attrs, DType, Dim, Op, Scalar, Type};
use smallvec::SmallVec;

/// What stands for a term.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Class(Id),
    Constant(Scalar),
    Op(usize),
}

/// An op of the template.
struct Planned {
    op: Op,
    args: SmallVec<[Part; 3]>,
    attrs: Attrs,
}

/// A template, planned.
pub(crate) struct Template {
    ops: Builder,
    root: Part,
}

/// The ops of a template in the making, each typed when it is added.
#[derive(Default)]
pub(crate) struct Builder(Vec<Planned>);

/// What stands for a term, with its type.
pub(crate) type Typed = (Part, Operand);

impl Builder {
    /// Plans an op, if nothing is cast in passing.
    pub fn call(&mut self, op: Op, args: &[Typed], attrs: Attrs) -> Option<Typed> {
        let (parts, operands): (SmallVec<[Part; 3]>, SmallVec<[Operand; 3]>) = args.iter().cloned().unzip();
        let (attrs, types) = call_types(op, &operands, attrs).ok()?;
        let [ty] = &types[..] else { return None };
        self.0.push(Planned { op, args: parts, attrs });
        Some((Part::Op(self.0.len() - 1), (ty.clone(), None)))
    }

    /// A constant of a type: an array of it where that is an array whose extents are known.
    pub fn filled(&mut self, scalar: Scalar, want: &Type) -> Option<Part> {
        if scalar.dtype() != want.dtype() || want.dims().contains(&Dim::Any) {
            return None;
        }
        if !want.is_array() {
            return Some(Part::Constant(scalar));
        }
        let attrs = Attrs::new().with("dims", Attr::Dims(want.dims().into()));
        self.call(rewright_ir::registry().op("full")?, &[constant(scalar)], attrs).map(|(part, _)| part)
    }

    /// The template whose root this is.
    pub fn finish(self, root: Part) -> Template {
        Template { ops: self, root }
    }
}

/// A constant with its type.
pub(crate) fn constant(scalar: Scalar) -> Typed {
    (Part::Constant(scalar), (Type::scalar(scalar.dtype()), Some(scalar)))
}

/// A class with its type.
pub(crate) fn class(graph: &Graph, id: Id) -> Option<Typed> {
    let data = &graph[id].data;
    Some((Part::Class(id), (data.ty.clone()?, data.constant)))
}

/// Plans the template of a rule, if it may be applied to what its pattern matched.
pub(crate) fn plan(graph: &Graph, rule: &Rule, pattern: &Pattern, regs: &Regs) -> Option<Template> {
    let vars: SmallVec<[Id; 4]> = pattern.vars.iter().map(|&reg| regs[reg]).collect();
    let mut planner = Planner {
        graph,
        rule,
        vars,
        attrs: pattern.attrs.iter().map(|&reg| attr(graph, regs[reg])).collect(),
        parts: vec![None; rule.nodes.len()],
        ops: Builder::default(),
    };
    if !planner.conditions_hold() {
        return None;
    }
    let want = graph[regs[0]].data.ty.clone()?;
    let &[rhs] = &rule.rhs[..] else { return None };
    let root = planner.root(rhs, &want)?;
    Some(planner.ops.finish(root))
}

fn attr(graph: &Graph, class: Id) -> Option<Attr> {
    match &graph[class].nodes.first()?.head {
        Head::Attr(leaf) => leaf.as_ref().map(|leaf| leaf.attr().clone()),
        _ => None,
    }
}

struct Planner<'a> {
    graph: &'a Graph,
    rule: &'a Rule,
    vars: SmallVec<[Id; 4]>,
    attrs: Vec<Option<Attr>>,
    parts: Vec<Option<Typed>>,
    ops: Builder,
}

impl Planner<'_> {
    fn conditions_hold(&self) -> bool {
        self.rule.conditions.iter().all(|condition| {
            let known: Option<SmallVec<[Known<'_>; 2]>> = condition
                .vars
                .iter()
                .map(|&var| {
                    let data = &self.graph[self.vars[var]].data;
                    Some(Known { ty: data.ty.as_ref()?, constant: data.constant, facts: data.facts })
                })
                .collect();
            known.is_some_and(|known| (condition.def.holds)(&known))
        })
    }

    /// What takes the pattern's place: of the same type.
    fn root(&mut self, node: NodeId, want: &Type) -> Option<Part> {
        let rule = self.rule;
        if let Term::Literal(literal) = &rule.nodes[node] {
            return self.ops.filled(literal_at(*literal, want.dtype()).ok()?, want);
        }
        let (part, (ty, constant)) = self.part(node)?;
        if let Some(scalar) = constant {
            return self.ops.filled(scalar, want);
        }
        // What an extent that is not known comes to may depend on every operand.
        let certain = !want.dims().contains(&Dim::Any) || self.keeps_operands();
        (ty == *want && certain).then_some(part)
    }

    /// Every array of the pattern is in the template.
    fn keeps_operands(&self) -> bool {
        (0..self.vars.len()).all(|var| {
            let shaped = self.graph[self.vars[var]].data.ty.as_ref().is_some_and(|ty| ty.rank() > 0);
            !shaped
                || self.rule.nodes.iter().position(|n| *n == Term::Var(var)).is_some_and(|n| self.parts[n].is_some())
        })
    }

    fn part(&mut self, node: NodeId) -> Option<Typed> {
        if let Some(known) = &self.parts[node] {
            return Some(known.clone());
        }
        let rule = self.rule;
        let found = match &rule.nodes[node] {
            Term::Var(var) => class(self.graph, self.vars[*var])?,
            // A literal has a dtype only beside others.
            Term::Literal(_) => return None,
            Term::Computed(term) => constant(self.computed(term)?),
            Term::Op(term) => {
                let args = self.operands(term)?;
                self.ops.call(term.op, &args, term.attrs(&self.attrs))?
            }
        };
        self.parts[node] = Some(found.clone());
        Some(found)
    }

    /// The operands of a term; literals get their dtypes beside the others.
    fn operands(&mut self, term: &OpTerm) -> Option<SmallVec<[Typed; 3]>> {
        let rule = self.rule;
        let mut args: SmallVec<[Option<Typed>; 3]> = SmallVec::new();
        for &arg in &term.args {
            let literal = matches!(rule.nodes[arg], Term::Literal(_));
            args.push(if literal { None } else { Some(self.part(arg)?) });
        }
        let dtypes: SmallVec<[Option<DType>; 3]> =
            args.iter().map(|arg| arg.as_ref().map(|(_, (ty, _))| ty.dtype())).collect();
        let whole = |(at, arg): (usize, Option<Typed>)| match (arg, &rule.nodes[term.args[at]]) {
            (None, Term::Literal(literal)) => literal_operand(term.op, at, *literal, &dtypes).ok().map(constant),
            (arg, _) => arg,
        };
        args.into_iter().enumerate().map(whole).collect()
    }

    /// What an op makes of constants.
    fn computed(&self, term: &OpTerm) -> Option<Scalar> {
        let args: Option<SmallVec<[Option<Scalar>; 3]>> = term
            .args
            .iter()
            .map(|&arg| match &self.rule.nodes[arg] {
                Term::Var(var) => self.graph[self.vars[*var]].data.constant.map(Some),
                Term::Computed(inner) => self.computed(inner).map(Some),
                Term::Literal(_) => Some(None),
                Term::Op(_) => None,
            })
            .collect();
        computed(self.rule, term, &args?, &term.attrs(&self.attrs))
    }
}

impl Template {
    /// Adds the template to the graph.
    pub fn add(&self, graph: &mut Graph) -> Id {
        let mut made: Vec<Id> = Vec::with_capacity(self.ops.0.len());
        for planned in &self.ops.0 {
            let children = planned.args.iter().map(|part| id(graph, &made, part)).collect();
            made.push(add_op(graph, planned.op, children, &planned.attrs));
        }
        id(graph, &made, &self.root)
    }
}

fn id(graph: &mut Graph, made: &[Id], part: &Part) -> Id {
    match part {
        Part::Class(class) => graph.find(*class),
        Part::Constant(scalar) => graph.add_uncanonical(Node::constant(*scalar)),
        Part::Op(at) => made[*at],
    }
}

/// Adds an op with its attributes.
pub(crate) fn add_op(graph: &mut Graph, op: Op, operands: Children, attrs: &Attrs) -> Id {
    let mut children = operands;
    for head in attr_heads(op, attrs) {
        let leaf = graph.add_uncanonical(Node::leaf(head));
        children.push(leaf);
    }
    add(graph, Node { head: Head::Op(op), sorts: false, children })
}

/// The pattern as it matched, as a term that proofs can speak of; else the class.
pub(crate) fn instance(graph: &mut Graph, rule: &Rule, pattern: &Pattern, regs: &Regs) -> Id {
    if !graph.are_explanations_enabled() {
        return regs[0];
    }
    let mut terms: Vec<Option<Id>> = vec![None; rule.nodes.len()];
    for place in pattern.ops.iter().rev() {
        let Term::Op(term) = &rule.nodes[place.node] else { continue };
        let mut children: Children = Children::new();
        for (n, &arg) in term.args.iter().enumerate() {
            let class = graph.find(regs[place.out + n]);
            let child = match &rule.nodes[arg] {
                Term::Literal(_) => graph[class].data.constant.map(|c| graph.add_uncanonical(Node::constant(c))),
                _ => terms[arg],
            };
            children.push(child.unwrap_or(class));
        }
        for n in term.args.len()..term.args.len() + place.op.0.attrs.len() {
            children.push(graph.find(regs[place.out + n]));
        }
        terms[place.node] = Some(add(graph, Node { head: Head::Op(place.op), sorts: false, children }));
    }
    terms[rule.lhs].unwrap_or(regs[0])
}
