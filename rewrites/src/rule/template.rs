//! Plans a rule's template for a match, with types, before anything is changed.
//!
//! The greedy driver and equality saturation share the planner. They differ in the representation of values,
//! `V`, and in the types that may replace another.

use super::typing::{Operand, call_types};
use super::{Known, Node, NodeId, OpTerm, Rule, extents};
use crate::value_facts::ValueFacts;
use rewright_ir::{Attr, Attrs, DType, Dim, Op, Scalar, Type, eval_scalar};
use smallvec::SmallVec;

/// The value of a term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part<V> {
    /// An existing value.
    Value(V),
    /// A constant.
    Constant(Scalar),
    /// A result of a step.
    Step(usize, usize),
}

/// A part with its type.
pub(crate) type Typed<V> = (Part<V>, Operand);

/// A planned instruction.
#[derive(Clone, Debug)]
pub(crate) struct TemplateStep<V> {
    pub op: Op,
    pub args: SmallVec<[Part<V>; 3]>,
    pub attrs: Attrs,
    /// The number of its results.
    pub results: usize,
}

/// Planned instructions, operands first, and the results of the template.
#[derive(Clone, Debug)]
pub(crate) struct Template<V> {
    pub steps: Vec<TemplateStep<V>>,
    pub results: SmallVec<[Part<V>; 2]>,
}

/// A constant with its type.
pub(crate) fn constant<V>(scalar: Scalar) -> Typed<V> {
    (Part::Constant(scalar), (Type::scalar(scalar.dtype()), Some(scalar)))
}

/// The steps so far, each typed when it is planned.
pub(crate) struct TemplateBuilder<V> {
    steps: Vec<TemplateStep<V>>,
}

impl<V> Default for TemplateBuilder<V> {
    fn default() -> Self {
        TemplateBuilder { steps: Vec::new() }
    }
}

impl<V: Copy + PartialEq> TemplateBuilder<V> {
    /// A result of an op, if the op casts nothing. Equal steps are planned once.
    pub fn call(&mut self, op: Op, args: &[Typed<V>], attrs: Attrs, result: usize) -> Option<Typed<V>> {
        let (args, operands): (SmallVec<[Part<V>; 3]>, SmallVec<[Operand; 3]>) = args.iter().cloned().unzip();
        let (attrs, types) = call_types(op, &operands, attrs).ok()?;
        let ty = types.get(result)?.clone();
        let same = |step: &TemplateStep<V>| step.op == op && step.args == args && step.attrs == attrs;
        let at = self.steps.iter().position(same).unwrap_or_else(|| {
            self.steps.push(TemplateStep { op, args, attrs, results: types.len() });
            self.steps.len() - 1
        });
        Some((Part::Step(at, result), (ty, None)))
    }

    /// A constant of a type: a filled array if the type is an array of known extents.
    pub fn filled(&mut self, scalar: Scalar, want: &Type) -> Option<Part<V>> {
        if scalar.dtype() != want.dtype() || want.dims().contains(&Dim::Any) {
            return None;
        }
        if !want.is_array() {
            return Some(Part::Constant(scalar));
        }
        let attrs = Attrs::new().with("dims", Attr::Dims(want.dims().into()));
        self.call(rewright_ir::registry().op("full")?, &[constant(scalar)], attrs, 0).map(|(part, _)| part)
    }

    /// The template with these results.
    pub fn finish(self, results: SmallVec<[Part<V>; 2]>) -> Template<V> {
        Template { steps: self.steps, results }
    }
}

/// Why there is no template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Its types differ from those of the pattern.
    Types,
    /// It drops a variable whose extents the pattern's result may have.
    Extents(usize),
}

impl Refused {
    /// The reason as text; `None` for types, which are a common reason.
    pub fn reason(self, rule: &Rule) -> Option<String> {
        let Refused::Extents(var) = self else { return None };
        let name = rule.vars[var].name;
        Some(format!("not applied: the result may have the extents of `?{name}`, which the template drops"))
    }
}

/// Plans the template of a rule for a match.
pub(crate) struct TemplatePlanner<'a, V> {
    rule: &'a Rule,
    /// The bound variables.
    vars: SmallVec<[Typed<V>; 4]>,
    /// The bound attribute variables.
    attrs: Vec<Option<Attr>>,
    /// The part of each term that is planned already.
    parts: Vec<Option<Typed<V>>>,
    steps: TemplateBuilder<V>,
}

impl<'a, V: Copy + PartialEq> TemplatePlanner<'a, V> {
    /// A planner with these bindings.
    pub fn new(rule: &'a Rule, vars: SmallVec<[Typed<V>; 4]>, attrs: Vec<Option<Attr>>) -> Self {
        TemplatePlanner { rule, vars, attrs, parts: vec![None; rule.nodes.len()], steps: TemplateBuilder::default() }
    }

    /// True if the rule's conditions hold. `facts` gives the facts about a variable.
    pub fn conditions_hold(&self, facts: impl Fn(usize) -> ValueFacts) -> bool {
        let known = |var: usize| {
            let (ty, constant) = &self.vars[var].1;
            Known { ty, constant: *constant, facts: facts(var) }
        };
        let same = |a: usize, b: usize| self.vars[a].0 == self.vars[b].0;
        self.rule.conditions.iter().all(|condition| condition.holds(self.rule, &known, &same))
    }

    /// The replacement of a result of type `want`, if its type `fits`.
    pub fn result(&mut self, rhs: NodeId, want: &Type, fits: impl Fn(&Type) -> bool) -> Result<Part<V>, Refused> {
        let rule = self.rule;
        let scalar = match &rule.nodes[rhs] {
            Node::Literal(number) => number.at(want.dtype()),
            _ => {
                let (part, (ty, constant)) = self.part(rhs).ok_or(Refused::Types)?;
                if constant.is_none() {
                    return if fits(&ty) { self.certain(rhs, want).map(|()| part) } else { Err(Refused::Types) };
                }
                constant
            }
        };
        scalar.and_then(|scalar| self.steps.filled(scalar, want)).ok_or(Refused::Types)
    }

    /// Checks that the template has the extents of the result that it replaces.
    fn certain(&self, rhs: NodeId, want: &Type) -> Result<(), Refused> {
        let value = |var: usize| if let Part::Value(value) = self.vars[var].0 { Some(value) } else { None };
        let same = |a, b| value(a).is_some() && value(a) == value(b);
        let lost = extents::lost(self.rule, rhs, want, |var| &self.vars[var].1.0, same);
        lost.map_or(Ok(()), |var| Err(Refused::Extents(var)))
    }

    /// The template with these results.
    pub fn finish(self, results: SmallVec<[Part<V>; 2]>) -> Template<V> {
        self.steps.finish(results)
    }

    /// The part of a term, with its type.
    fn part(&mut self, node: NodeId) -> Option<Typed<V>> {
        if let Some(known) = &self.parts[node] {
            return Some(known.clone());
        }
        let rule = self.rule;
        let found = match &rule.nodes[node] {
            Node::Var(var) => self.vars[*var].clone(),
            // A literal gets its dtype from other operands only.
            Node::Literal(_) => return None,
            Node::Computed(_) => constant(scalar_of(rule, node, &|var| self.vars[var].1.1, &self.attrs)?),
            Node::Op(term) => {
                let args = self.operands(term)?;
                self.steps.call(term.op, &args, term.attrs(&self.attrs), term.result)?
            }
        };
        self.parts[node] = Some(found.clone());
        Some(found)
    }

    /// The operands of a term; literals get their dtypes from the others.
    fn operands(&mut self, term: &OpTerm) -> Option<SmallVec<[Typed<V>; 3]>> {
        let rule = self.rule;
        let mut args: SmallVec<[Option<Typed<V>>; 3]> = SmallVec::new();
        for &arg in &term.args {
            let literal = matches!(rule.nodes[arg], Node::Literal(_));
            args.push(if literal { None } else { Some(self.part(arg)?) });
        }
        let dtypes: SmallVec<[Option<DType>; 3]> =
            args.iter().map(|arg| arg.as_ref().map(|(_, (ty, _))| ty.dtype())).collect();
        let whole = |(at, arg): (usize, Option<Typed<V>>)| match (arg, &rule.nodes[term.args[at]]) {
            (None, Node::Literal(number)) => {
                number.operand(term.op, &term.attrs(&self.attrs), at, &dtypes).ok().map(constant)
            }
            (arg, _) => arg,
        };
        args.into_iter().enumerate().map(whole).collect()
    }
}

/// The value of a computed term, or of a variable in one, for constant variables.
pub(crate) fn scalar_of(
    rule: &Rule,
    node: NodeId,
    vars: &dyn Fn(usize) -> Option<Scalar>,
    attrs: &[Option<Attr>],
) -> Option<Scalar> {
    match &rule.nodes[node] {
        Node::Var(var) => vars(*var),
        Node::Computed(term) => {
            let args = term.args.iter().map(|&arg| match &rule.nodes[arg] {
                Node::Literal(_) => Some(None),
                _ => scalar_of(rule, arg, vars, attrs).map(Some),
            });
            let args: SmallVec<[Option<Scalar>; 3]> = args.collect::<Option<_>>()?;
            computed(rule, term, &args, &term.attrs(attrs))
        }
        // A literal gets its dtype from other operands only.
        Node::Literal(_) | Node::Op(_) => None,
    }
}

/// The result of an op on constants; literals get their dtypes from the others, and the op must not cast.
pub(crate) fn computed(rule: &Rule, term: &OpTerm, args: &[Option<Scalar>], attrs: &Attrs) -> Option<Scalar> {
    let dtypes: SmallVec<[Option<DType>; 3]> = args.iter().map(|arg| arg.map(Scalar::dtype)).collect();
    let whole = |(at, arg): (usize, &Option<Scalar>)| match (arg, &rule.nodes[term.args[at]]) {
        (Some(scalar), _) => Some(*scalar),
        (None, Node::Literal(number)) => number.operand(term.op, attrs, at, &dtypes).ok(),
        (None, _) => None,
    };
    let args: Option<SmallVec<[Scalar; 3]>> = args.iter().enumerate().map(whole).collect();
    let args = args?;
    let operands: SmallVec<[Operand; 3]> = args.iter().map(|&s| (Type::scalar(s.dtype()), Some(s))).collect();
    call_types(term.op, &operands, attrs.clone()).ok()?;
    eval_scalar(term.op, &args, attrs).ok()?.get(term.result).copied()
}
