//! A rule at a place of a function: whether it may be applied there, and what it makes.

use super::tree::Bindings;
use super::typing::{Operand, call_types, literal_operand};
use super::{AttrTerm, Known, Node, NodeId, OpTerm, Rule};
use crate::error::RewriteError;
use crate::facts::Facts;
use crate::match_cx::MatchCx;
use crate::rewrite::Found;
use crate::rewriter::Rewriter;
use rewright_ir::builder::literal_at;
use rewright_ir::op::Eval;
use rewright_ir::{Attr, Attrs, DType, Dim, Inst, Op, Scalar, Type, Value, eval_scalar};
use smallvec::SmallVec;

/// How many definitions back conditions look for what is certain of a value.
pub(super) const FACTS_DEPTH: u8 = 4;

/// What stands for a term of the template.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// A value that there is.
    Value(Value),
    /// A constant.
    Constant(Scalar),
    /// A result of a step.
    Step(usize, usize),
}

/// The same with its type.
type Planned = (Part, Operand);

/// An instruction to be made.
struct Step {
    op: Op,
    args: SmallVec<[Part; 3]>,
    attrs: Attrs,
}

/// A rule that matches, and what it makes.
pub(crate) struct RuleMatch {
    root: Inst,
    steps: Vec<Step>,
    results: SmallVec<[Part; 2]>,
}

impl Found for RuleMatch {
    fn apply(self: Box<Self>, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let mut made: Vec<Inst> = Vec::with_capacity(self.steps.len());
        let value = |rw: &mut Rewriter<'_>, made: &[Inst], part: Part| match part {
            Part::Value(value) => value,
            Part::Constant(scalar) => rw.constant(scalar),
            Part::Step(step, result) => rw.func().inst(made[step]).results[result],
        };
        for step in self.steps {
            let args: SmallVec<[Value; 3]> = step.args.iter().map(|&part| value(rw, &made, part)).collect();
            made.push(rw.insert(step.op, args, step.attrs)?);
        }
        let values: SmallVec<[Value; 2]> = self.results.iter().map(|&part| value(rw, &made, part)).collect();
        rw.replace(self.root, &values)
    }
}

/// What a rule makes of what its pattern matched, if it may be applied there.
pub(super) fn plan(cx: &MatchCx<'_>, rule: &'static Rule, root: Inst, bindings: &Bindings) -> Option<RuleMatch> {
    let mut planner = Planner { cx, rule, root, bindings, attrs: vec![None; rule.attr_vars.len()], vars: Vec::new() };
    planner.bind_attrs()?;
    planner.bind_vars()?;
    let holds = planner.conditions_hold() && planner.may_be_read_at_root();
    if holds { planner.template() } else { None }
}

struct Planner<'a> {
    cx: &'a MatchCx<'a>,
    rule: &'static Rule,
    root: Inst,
    bindings: &'a Bindings,
    attrs: Vec<Option<Attr>>,
    /// The variables; constants at the dtype that they are used at.
    vars: Vec<(Value, Option<Scalar>)>,
}

/// The template as far as it is planned.
struct Template {
    steps: Vec<Step>,
    /// What stands for each term, with its type.
    parts: Vec<Option<Planned>>,
}

impl Planner<'_> {
    fn term(&self, node: NodeId) -> Option<&'static OpTerm> {
        if let Node::Op(term) = &self.rule.nodes[node] { Some(term) } else { None }
    }

    /// A name stands for one value, or for the attribute's absence.
    fn bind_attrs(&mut self) -> Option<()> {
        let mut bound = vec![false; self.attrs.len()];
        for &(node, inst) in &self.bindings.ops {
            let attrs = &self.cx.func().inst(inst).attrs;
            for (name, attr) in &self.term(node)?.attrs {
                let AttrTerm::Var(var) = attr else { continue };
                let value = attrs.get(name.as_str()).cloned();
                if bound[*var] && self.attrs[*var] != value {
                    return None;
                }
                bound[*var] = true;
                self.attrs[*var] = value;
            }
        }
        Some(())
    }

    /// Each op of the pattern computes at the dtypes of its operands, constants excepted, which are what they are cast to.
    fn bind_vars(&mut self) -> Option<()> {
        let func = self.cx.func();
        self.vars = self.bindings.vars.iter().map(|&value| (value, func.as_const(value))).collect();
        let mut cast: SmallVec<[Option<DType>; 4]> = SmallVec::from_elem(None, self.vars.len());
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
                for (var, cast) in self.vars.iter_mut().zip(&mut cast).filter(|(var, _)| var.0 == arg) {
                    if cast.is_some_and(|before| before != at) {
                        return None;
                    }
                    *cast = Some(at);
                    var.1 = Some(constant.cast(at));
                }
            }
        }
        Some(())
    }

    fn conditions_hold(&self) -> bool {
        self.rule.conditions.iter().all(|condition| {
            let func = self.cx.func();
            let known: SmallVec<[Known<'_>; 2]> = condition
                .vars
                .iter()
                .map(|&var| {
                    let (value, constant) = self.vars[var];
                    let facts = match constant {
                        Some(scalar) => Facts::of_scalar(scalar),
                        None => Facts::of_value(func, value, FACTS_DEPTH),
                    };
                    Known { ty: func.ty(value), constant, facts }
                })
                .collect();
            (condition.def.holds)(&known)
        })
    }

    /// What ops inside of the pattern read and made is still what it was at the root.
    fn may_be_read_at_root(&self) -> bool {
        let func = self.cx.func();
        let inner = || self.bindings.ops.iter().skip(1).map(|&(_, inst)| func.inst(inst));
        inner().flat_map(|data| &data.results).all(|&value| !self.cx.is_written(value))
            && inner().flat_map(|data| &data.args).all(|&arg| {
                let at_root = func.inst(self.root).args.contains(&arg);
                func.as_const(arg).is_some() || !self.cx.is_written(arg) && (at_root || !self.cx.is_ended(arg))
            })
    }

    fn template(&self) -> Option<RuleMatch> {
        let func = self.cx.func();
        let (rule, results) = (self.rule, &func.inst(self.root).results);
        if rule.rhs.len() != results.len() {
            return None;
        }
        let mut template = Template { steps: Vec::new(), parts: vec![None; rule.nodes.len()] };
        let mut parts: SmallVec<[Part; 2]> = SmallVec::new();
        for (&rhs, &result) in rule.rhs.iter().zip(results) {
            let want = func.ty(result);
            let part = match &rule.nodes[rhs] {
                Node::Literal(literal) => self.filled(literal_at(*literal, want.dtype()).ok()?, want, &mut template)?,
                Node::Computed(term) => self.filled(self.computed(term)?, want, &mut template)?,
                _ => {
                    let (part, (ty, constant)) = self.part(rhs, &mut template)?;
                    match constant {
                        Some(scalar) => self.filled(scalar, want, &mut template)?,
                        None => ty.refines(want).then_some(part)?,
                    }
                }
            };
            // Something new is written to where the old one was; what there is already must stay apart from it.
            let fits = match part {
                Part::Value(value) => {
                    self.cx.reaches(value, self.root) && !self.cx.is_written(value) && !self.cx.is_written(result)
                }
                Part::Constant(_) => !self.cx.is_written(result),
                Part::Step(..) => true,
            };
            if !fits {
                return None;
            }
            parts.push(part);
        }
        Some(RuleMatch { root: self.root, steps: template.steps, results: parts })
    }

    /// A constant of a type: an array of it where that is an array whose extents are known.
    fn filled(&self, scalar: Scalar, want: &Type, template: &mut Template) -> Option<Part> {
        if scalar.dtype() != want.dtype() {
            return None;
        }
        if !want.is_array() {
            return Some(Part::Constant(scalar));
        }
        if want.dims().contains(&Dim::Any) {
            return None;
        }
        let op = rewright_ir::registry().op("full")?;
        let attrs = Attrs::new().with("dims", Attr::Dims(want.dims().into()));
        let (attrs, _) = call_types(op, &[(Type::scalar(scalar.dtype()), Some(scalar))], attrs).ok()?;
        Some(template.step(op, SmallVec::from_slice(&[Part::Constant(scalar)]), attrs, 0))
    }

    /// What stands for a term, with its type; instructions are planned for it.
    fn part(&self, node: NodeId, template: &mut Template) -> Option<Planned> {
        if let Some(known) = &template.parts[node] {
            return Some(known.clone());
        }
        let found = match &self.rule.nodes[node] {
            Node::Var(var) => {
                let (value, constant) = self.vars[*var];
                let part = constant.map_or(Part::Value(value), Part::Constant);
                let ty = constant.map_or_else(|| self.cx.func().ty(value).clone(), |c| Type::scalar(c.dtype()));
                (part, (ty, constant))
            }
            // A literal has a dtype only beside others.
            Node::Literal(_) => return None,
            Node::Computed(term) => {
                let scalar = self.computed(term)?;
                (Part::Constant(scalar), (Type::scalar(scalar.dtype()), Some(scalar)))
            }
            Node::Op(term) => {
                let args: Option<SmallVec<[Option<Planned>; 3]>> = term
                    .args
                    .iter()
                    .map(|&arg| match &self.rule.nodes[arg] {
                        Node::Literal(_) => Some(None),
                        _ => self.part(arg, template).map(Some),
                    })
                    .collect();
                let args = self.with_literals(term, args?)?;
                let (parts, operands): (SmallVec<[Part; 3]>, SmallVec<[Operand; 3]>) = args.into_iter().unzip();
                let (attrs, types) = call_types(term.op, &operands, term.attrs(&self.attrs)).ok()?;
                let ty = types.get(term.result)?.clone();
                (template.step(term.op, parts, attrs, term.result), (ty, None))
            }
        };
        template.parts[node] = Some(found.clone());
        Some(found)
    }

    /// Gives the literals among operands their dtypes.
    fn with_literals(&self, term: &OpTerm, args: SmallVec<[Option<Planned>; 3]>) -> Option<SmallVec<[Planned; 3]>> {
        let dtypes: SmallVec<[Option<DType>; 3]> =
            args.iter().map(|arg| arg.as_ref().map(|(_, (ty, _))| ty.dtype())).collect();
        let whole = |(at, arg): (usize, Option<Planned>)| match (arg, &self.rule.nodes[term.args[at]]) {
            (Some(arg), _) => Some(arg),
            (None, Node::Literal(literal)) => {
                let scalar = literal_operand(term.op, at, *literal, &dtypes).ok()?;
                Some((Part::Constant(scalar), (Type::scalar(scalar.dtype()), Some(scalar))))
            }
            (None, _) => None,
        };
        args.into_iter().enumerate().map(whole).collect()
    }

    /// What an op makes of constants.
    fn computed(&self, term: &OpTerm) -> Option<Scalar> {
        let args: Option<SmallVec<[Option<Scalar>; 3]>> = term
            .args
            .iter()
            .map(|&arg| match &self.rule.nodes[arg] {
                Node::Var(var) => self.vars[*var].1.map(Some),
                Node::Computed(inner) => self.computed(inner).map(Some),
                Node::Literal(_) => Some(None),
                Node::Op(_) => None,
            })
            .collect();
        computed(self.rule, term, &args?, &term.attrs(&self.attrs))
    }
}

/// What an op makes of constants; literals get their dtypes beside the others, and nothing is cast in passing.
pub(crate) fn computed(rule: &Rule, term: &OpTerm, args: &[Option<Scalar>], attrs: &Attrs) -> Option<Scalar> {
    let dtypes: SmallVec<[Option<DType>; 3]> = args.iter().map(|arg| arg.map(Scalar::dtype)).collect();
    let whole = |(at, arg): (usize, &Option<Scalar>)| match (arg, &rule.nodes[term.args[at]]) {
        (Some(scalar), _) => Some(*scalar),
        (None, Node::Literal(literal)) => literal_operand(term.op, at, *literal, &dtypes).ok(),
        (None, _) => None,
    };
    let args: Option<SmallVec<[Scalar; 3]>> = args.iter().enumerate().map(whole).collect();
    let args = args?;
    let operands: SmallVec<[Operand; 3]> = args.iter().map(|&s| (Type::scalar(s.dtype()), Some(s))).collect();
    call_types(term.op, &operands, attrs.clone()).ok()?;
    eval_scalar(term.op, &args, attrs).ok()?.get(term.result).copied()
}

impl Template {
    /// Plans an instruction, or finds it planned.
    fn step(&mut self, op: Op, args: SmallVec<[Part; 3]>, attrs: Attrs, result: usize) -> Part {
        let same = |step: &Step| step.op == op && step.attrs == attrs && same_parts(&step.args, &args);
        if let Some(step) = self.steps.iter().position(same) {
            return Part::Step(step, result);
        }
        self.steps.push(Step { op, args, attrs });
        Part::Step(self.steps.len() - 1, result)
    }
}

fn same_parts(a: &[Part], b: &[Part]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|pair| match pair {
            (Part::Value(a), Part::Value(b)) => a == b,
            (Part::Constant(a), Part::Constant(b)) => a == b,
            (Part::Step(a, n), Part::Step(b, m)) => (a, n) == (b, m),
            _ => false,
        })
}
