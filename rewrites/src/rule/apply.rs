//! Decides whether a rule may be applied at a place of a function, and applies it.

use super::condition::FACTS_DEPTH;
use super::template::{Part, Refused, Template, TemplatePlanner, Typed, constant};
use super::tree::Bindings;
use super::{AttrTerm, Node, NodeId, OpTerm, Rule};
use crate::error::RewriteError;
use crate::match_cx::MatchCx;
use crate::rewrite::ErasedMatch;
use crate::rewriter::{Point, Rewriter};
use crate::value_facts::ValueFacts;
use rewright_ir::op::Eval;
use rewright_ir::{Attr, DType, Inst, Scalar, Value};
use smallvec::SmallVec;

/// A match of a rule, with its planned template.
pub(crate) struct RuleMatch {
    roots: SmallVec<[Inst; 2]>,
    /// The first root, before which the template's instructions go.
    first: Inst,
    template: Template<Value>,
}

impl ErasedMatch for RuleMatch {
    fn apply(self: Box<Self>, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let mut made: Vec<Inst> = Vec::with_capacity(self.template.steps.len());
        let value = |rw: &mut Rewriter<'_>, made: &[Inst], part: Part<Value>| match part {
            Part::Value(value) => value,
            Part::Constant(scalar) => rw.constant(scalar),
            Part::Step(step, result) => rw.func().inst(made[step]).results[result],
        };
        if self.roots.len() > 1 {
            rw.set_point(Point::Before(self.first));
        }
        for step in self.template.steps {
            let args: SmallVec<[Value; 3]> = step.args.iter().map(|&part| value(rw, &made, part)).collect();
            made.push(rw.insert(step.op, args, step.attrs)?);
        }
        let values: SmallVec<[Value; 2]> = self.template.results.iter().map(|&part| value(rw, &made, part)).collect();
        let mut values = &values[..];
        for &root in &self.roots {
            let (own, others) = values.split_at(rw.func().inst(root).results.len().min(values.len()));
            rw.replace(root, own)?;
            values = others;
        }
        Ok(())
    }
}

/// Plans the template of a rule for a match, if the rule may be applied there.
pub(super) fn plan(cx: &MatchCx<'_>, rule: &'static Rule, bindings: &Bindings) -> Result<RuleMatch, Refused> {
    let first = first_root(cx, &bindings.roots).ok_or(Refused::Types)?;
    let place = MatchSite { cx, rule, first, bindings };
    let attrs = place.attrs().ok_or(Refused::Types)?;
    let vars = place.vars().ok_or(Refused::Types)?;
    let facts = |var: usize| match vars[var] {
        (_, Some(scalar)) => ValueFacts::of_scalar(scalar),
        (value, None) => ValueFacts::of_value(cx, value, FACTS_DEPTH),
    };
    let typed = |&(value, scalar): &(Value, Option<Scalar>)| -> Typed<Value> {
        scalar.map_or_else(|| (Part::Value(value), (cx.func().ty(value).clone(), None)), constant)
    };
    let planner = TemplatePlanner::new(rule, vars.iter().map(typed).collect(), attrs);
    if planner.conditions_hold(facts) && place.may_be_read_at_first() {
        place.template(planner)
    } else {
        Err(Refused::Types)
    }
}

/// The bound variables; constants at the dtype that they are used at.
type Vars = SmallVec<[(Value, Option<Scalar>); 4]>;

struct MatchSite<'a> {
    cx: &'a MatchCx<'a>,
    rule: &'static Rule,
    /// The first root.
    first: Inst,
    bindings: &'a Bindings,
}

/// The root that comes before all others, which must be in one block.
fn first_root(cx: &MatchCx<'_>, roots: &[Inst]) -> Option<Inst> {
    let func = cx.func();
    let &first = roots.iter().find(|&&a| roots.iter().all(|&b| a == b || func.comes_before(a, b)))?;
    Some(first)
}

impl MatchSite<'_> {
    fn term(&self, node: NodeId) -> Option<&'static OpTerm> {
        if let Node::Op(term) = &self.rule.nodes[node] { Some(term) } else { None }
    }

    /// Binds the attribute variables: each stands for one value, or for the absence of an attribute.
    fn attrs(&self) -> Option<Vec<Option<Attr>>> {
        let mut found: Vec<Option<Attr>> = vec![None; self.rule.attr_vars.len()];
        let mut bound = vec![false; found.len()];
        for &(node, inst) in &self.bindings.ops {
            let attrs = &self.cx.func().inst(inst).attrs;
            for (name, attr) in &self.term(node)?.attrs {
                let AttrTerm::Var(var) = attr else { continue };
                let value = attrs.get(name.as_str()).cloned();
                if bound[*var] && found[*var] != value {
                    return None;
                }
                bound[*var] = true;
                found[*var] = value;
            }
        }
        Some(found)
    }

    /// Binds the variables. Each op of the pattern must compute at the dtypes of its operands. Constants are
    /// an exception: they are bound at the dtype that they are cast to.
    fn vars(&self) -> Option<Vars> {
        let func = self.cx.func();
        let mut vars: Vars = self.bindings.vars.iter().map(|&value| (value, func.as_const(value))).collect();
        let mut cast: SmallVec<[Option<DType>; 4]> = SmallVec::from_elem(None, vars.len());
        for &(_, inst) in &self.bindings.ops {
            let data = func.inst(inst);
            let Eval::Elementwise { resolve, .. } = data.op.eval else { continue };
            let dtypes: SmallVec<[DType; 3]> = data.args.iter().map(|&arg| func.ty(arg).dtype()).collect();
            let ins = resolve(&dtypes, &data.attrs).ok()?.ins;
            for ((&arg, &dtype), &at) in data.args.iter().zip(&dtypes).zip(&ins) {
                let Some(constant) = func.as_const(arg) else {
                    if dtype != at {
                        return None;
                    }
                    continue;
                };
                for (var, cast) in vars.iter_mut().zip(&mut cast).filter(|(var, _)| var.0 == arg) {
                    if cast.is_some_and(|before| before != at) {
                        return None;
                    }
                    *cast = Some(at);
                    var.1 = Some(constant.cast(at));
                }
            }
        }
        Some(vars)
    }

    /// True if the operands and results of the pattern's ops are available and unchanged at the first root.
    fn may_be_read_at_first(&self) -> bool {
        let (func, cx) = (self.cx.func(), self.cx);
        let others = || self.bindings.ops.iter().map(|&(_, inst)| inst).filter(|&inst| inst != self.first);
        let results = others().flat_map(|inst| &func.inst(inst).results);
        { results }.all(|&value| !cx.is_written(value))
            && others().flat_map(|inst| &func.inst(inst).args).all(|&arg| {
                let at_first = func.inst(self.first).args.contains(&arg);
                func.as_const(arg).is_some() || !cx.is_written(arg) && (at_first || !cx.is_ended(arg))
            })
            // With one root, all values of the pattern are defined before it.
            && (self.bindings.roots.len() == 1
                || self.bindings.vars.iter().all(|&var| cx.reaches(var, self.first))
                    && func.inst(self.first).results.iter().all(|&result| !cx.is_written(result)))
    }

    fn template(&self, mut planner: TemplatePlanner<'_, Value>) -> Result<RuleMatch, Refused> {
        let func = self.cx.func();
        let roots = &self.bindings.roots;
        let results: SmallVec<[Value; 2]> =
            roots.iter().flat_map(|&root| func.inst(root).results.iter().copied()).collect();
        let rule = self.rule;
        if rule.rhs.len() != results.len() {
            return Err(Refused::Types);
        }
        let mut parts: SmallVec<[Part<Value>; 2]> = SmallVec::new();
        for (&rhs, &result) in rule.rhs.iter().zip(&results) {
            let want = func.ty(result);
            let part = planner.result(rhs, want, |ty| ty.refines(want))?;
            // A store to the old value will store to the new one, so existing values must not take its
            // place.
            let fits = match part {
                Part::Value(value) => {
                    self.cx.reaches(value, self.first) && !self.cx.is_written(value) && !self.cx.is_written(result)
                }
                Part::Constant(_) => !self.cx.is_written(result),
                Part::Step(..) => true,
            };
            if !fits {
                return Err(Refused::Types);
            }
            parts.push(part);
        }
        Ok(RuleMatch { roots: roots.clone(), first: self.first, template: planner.finish(parts) })
    }
}
