//! Instantiates a rule's template where its pattern matched: plans it, and then adds it to the graph.

use super::analysis::{Graph, add};
use super::node::{Children, ENode, Head, attr_heads};
use super::pattern::{Pattern, Regs};
use crate::rule::template::{self, Part, TemplatePlanner, constant};
use crate::rule::{Node as Term, Rule};
use egg::Id;
use rewright_ir::{Attr, Attrs, Op};
use smallvec::{SmallVec, smallvec};

/// A template over classes.
pub(crate) type Template = template::Template<Id>;

/// The value of a term, with its type.
pub(crate) type Typed = template::Typed<Id>;

/// A class with its type, or its constant.
pub(crate) fn class(graph: &Graph, id: Id) -> Option<Typed> {
    let data = &graph[id].data;
    match data.constant {
        Some(scalar) => Some(constant(scalar)),
        None => Some((Part::Value(id), (data.ty.clone()?, None))),
    }
}

/// Plans the template of a rule, if its conditions hold for the match.
pub(crate) fn plan(graph: &Graph, rule: &Rule, pattern: &Pattern, regs: &Regs) -> Option<Template> {
    let vars: Option<SmallVec<[Typed; 4]>> = pattern.vars.iter().map(|&reg| class(graph, regs[reg])).collect();
    let attrs = pattern.attrs.iter().map(|&reg| attr(graph, regs[reg])).collect();
    let mut planner = TemplatePlanner::new(rule, vars?, attrs);
    if !planner.conditions_hold(|var| graph[regs[pattern.vars[var]]].data.facts) {
        return None;
    }
    let want = graph[regs[0]].data.ty.as_ref()?;
    let &[rhs] = &rule.rhs[..] else { return None };
    // A class has one type.
    let root = planner.result(rhs, want, |ty| ty == want).ok()?;
    let template = planner.finish(smallvec![root]);
    // So a node has one result.
    template.steps.iter().all(|step| step.results == 1).then_some(template)
}

fn attr(graph: &Graph, class: Id) -> Option<Attr> {
    match &graph[class].nodes.first()?.head {
        Head::Attr(leaf) => leaf.as_ref().map(|leaf| leaf.attr().clone()),
        _ => None,
    }
}

/// Adds a template to the graph, and returns the class that replaces the match.
pub(crate) fn add_template(graph: &mut Graph, template: &Template) -> Option<Id> {
    let mut made: SmallVec<[Id; 8]> = SmallVec::new();
    for step in &template.steps {
        let children = step.args.iter().map(|part| id(graph, &made, part)).collect();
        made.push(add_op(graph, step.op, children, &step.attrs));
    }
    template.results.first().map(|root| id(graph, &made, root))
}

fn id(graph: &mut Graph, made: &[Id], part: &Part<Id>) -> Id {
    match part {
        // Not canonical: each id has its own term, which proofs name.
        Part::Value(class) => *class,
        Part::Constant(scalar) => graph.add_uncanonical(ENode::constant(*scalar)),
        Part::Step(at, _) => made[*at],
    }
}

/// Adds an op with its attributes.
pub(crate) fn add_op(graph: &mut Graph, op: Op, operands: Children, attrs: &Attrs) -> Id {
    let mut children = operands;
    for head in attr_heads(op, attrs) {
        let leaf = graph.add_uncanonical(ENode::leaf(head));
        children.push(leaf);
    }
    add(graph, ENode { head: Head::Op(op), sorts: false, children })
}

/// The matched instance of the pattern as a term for proofs; the class if no proofs are recorded.
pub(crate) fn instance(graph: &mut Graph, rule: &Rule, pattern: &Pattern, regs: &Regs) -> Id {
    if !graph.are_explanations_enabled() {
        return regs[0];
    }
    let mut terms: Vec<Option<Id>> = vec![None; rule.nodes.len()];
    for place in pattern.ops.iter().rev() {
        let Term::Op(term) = &rule.nodes[place.node] else { continue };
        let mut children: Children = Children::new();
        for (n, &arg) in term.args.iter().enumerate() {
            let class = regs[place.out + n];
            let scalar = graph[class].data.constant;
            let child = terms[arg].or_else(|| scalar.map(|c| graph.add_uncanonical(ENode::constant(c))));
            children.push(child.unwrap_or(class));
        }
        for n in term.args.len()..term.args.len() + place.op.0.attrs.len() {
            children.push(regs[place.out + n]);
        }
        terms[place.node] = Some(add(graph, ENode { head: Head::Op(place.op), sorts: false, children }));
    }
    terms[rule.lhs].unwrap_or(regs[0])
}
