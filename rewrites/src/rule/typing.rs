//! The types of a rule's terms.

use super::soundness::cases::CaseSpace;
use super::{Node, NodeId, OpTerm, Rule, extents};
use rewright_ir::builder::infer_types;
use rewright_ir::op::Eval;
use rewright_ir::{Attr, Attrs, DType, Dim, Op, Scalar, Type};
use smallvec::SmallVec;

/// An operand of a term: its type, and its value if it is a constant.
pub type Operand = (Type, Option<Scalar>);

/// The result types of an op, if it computes at the dtypes of its operands, without casts.
pub fn call_types(op: Op, args: &[Operand], attrs: Attrs) -> Result<(Attrs, SmallVec<[Type; 1]>), String> {
    let (types, consts): (SmallVec<[Type; 3]>, SmallVec<[Option<Scalar>; 3]>) = args.iter().cloned().unzip();
    let (attrs, results) = infer_types(op, &types, &consts, attrs, None).map_err(|e| e.message)?;
    if let Eval::Elementwise { resolve, .. } = op.eval {
        let dtypes: SmallVec<[DType; 3]> = types.iter().map(Type::dtype).collect();
        let ins = resolve(&dtypes, &attrs)?.ins;
        if let Some(at) = (0..dtypes.len()).find(|&at| dtypes[at] != ins[at]) {
            return Err(format!("`{op}` casts its operand {at} from {} to {}", dtypes[at], ins[at]));
        }
    }
    Ok((attrs, results))
}

/// One case of a rule: the types of its variables.
#[derive(Clone, Debug)]
pub struct Case {
    /// The variables.
    pub vars: Vec<Operand>,
    /// The shapes of their values, which their types may leave open.
    pub shapes: Vec<Vec<usize>>,
    /// The attribute variables.
    pub attrs: Vec<Option<Attr>>,
}

/// The types of a rule's terms in one case.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The type of each term except literals.
    pub nodes: Vec<Option<Type>>,
    /// The types of the pattern's results.
    pub results: SmallVec<[Type; 1]>,
}

/// Why a rule does not cover a case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misfit {
    /// A variable excludes this dtype, or an op does not compute at it.
    DTypes(String),
    /// A term has no type for another reason.
    Term(String),
    /// The types of the two sides differ.
    Sides(String),
}

/// The types of a rule's terms, or why the rule does not cover the case.
pub fn type_case(rule: &Rule, case: &Case) -> Result<Typed, Misfit> {
    let mut typed = Typed { nodes: vec![None; rule.nodes.len()], results: SmallVec::new() };
    for (var, (ty, _)) in case.vars.iter().enumerate() {
        if !rule.vars[var].dtypes.contains(ty.dtype()) {
            return Err(Misfit::DTypes(format!("`{}` is not to be {ty}", rule.var(var))));
        }
    }
    let mut of_roots: SmallVec<[(NodeId, SmallVec<[Type; 1]>); 1]> = SmallVec::new();
    for (id, node) in rule.nodes.iter().enumerate() {
        match node {
            Node::Var(var) => typed.nodes[id] = Some(case.vars[*var].0.clone()),
            Node::Literal(_) => {}
            Node::Op(term) | Node::Computed(term) => {
                let args = operands(rule, term, case, &typed.nodes).map_err(Misfit::DTypes)?;
                let (_, results) = call_types(term.op, &args, term.attrs(&case.attrs)).map_err(Misfit::DTypes)?;
                let none = || format!("`{}` has {} results, so none is number {}", term.op, results.len(), term.result);
                typed.nodes[id] = Some(results.get(term.result).cloned().ok_or_else(|| Misfit::Term(none()))?);
                if id == rule.lhs || rule.also.contains(&id) {
                    of_roots.push((id, results));
                }
            }
        }
    }
    for root in std::iter::once(&rule.lhs).chain(&rule.also) {
        let results = of_roots.iter().find(|(id, _)| id == root).map(|(_, results)| results.clone());
        typed.results.extend(results.unwrap_or_default());
    }
    let no_bool = |&node: &NodeId| typed.nodes[node].as_ref().is_none_or(|ty| ty.dtype() != DType::Bool);
    if let Some(node) = rule.conditions.iter().flat_map(super::Condition::computed).find(no_bool) {
        return Err(Misfit::Term(format!("the condition `{}` is no bool", rule.term(node))));
    }
    let results = &typed.results;
    if rule.rhs.len() != results.len() {
        let (left, right) = (results.len(), rule.rhs.len());
        return Err(Misfit::Sides(format!("the pattern has {left} results, and the template {right}")));
    }
    for (&rhs, result) in rule.rhs.iter().zip(results) {
        let open = result.dims().contains(&Dim::Any);
        if open && matches!(rule.nodes[rhs], Node::Literal(_) | Node::Computed(_)) {
            return Err(Misfit::Sides(format!("a constant can't fill {result}")));
        }
        let right = match (&rule.nodes[rhs], &typed.nodes[rhs]) {
            (Node::Literal(literal), _) => {
                literal.checked_at(result.dtype()).map_err(Misfit::Sides)?;
                // A constant may fill any extents.
                continue;
            }
            (Node::Computed(_), Some(ty)) => {
                Type::from_parts(ty.dtype(), result.is_array().then(|| result.dims().to_vec()))
            }
            (_, Some(ty)) => ty.clone(),
            (_, None) => continue,
        };
        if right != *result {
            return Err(Misfit::Sides(format!("the pattern is of type {result}, and the template of type {right}")));
        }
        if let Some(var) = extents::lost(rule, rhs, result, |var| &case.vars[var].0, |_, _| false) {
            return Err(Misfit::Sides(format!("the template drops `{}`", rule.var(var))));
        }
    }
    Ok(typed)
}

/// The operands of a term; literals get their dtypes from the others.
pub fn operands(
    rule: &Rule,
    term: &OpTerm,
    case: &Case,
    types: &[Option<Type>],
) -> Result<SmallVec<[Operand; 3]>, String> {
    let dtypes: SmallVec<[Option<DType>; 3]> =
        term.args.iter().map(|&arg| types[arg].as_ref().map(Type::dtype)).collect();
    let operand = |(at, &arg): (usize, &NodeId)| match &rule.nodes[arg] {
        Node::Literal(literal) => {
            let scalar = literal.operand(term.op, &term.attrs(&case.attrs), at, &dtypes)?;
            Ok((Type::scalar(scalar.dtype()), Some(scalar)))
        }
        Node::Var(var) => Ok(case.vars[*var].clone()),
        _ => Ok((types[arg].clone().unwrap_or_else(|| Type::scalar(DType::Bool)), None)),
    };
    term.args.iter().enumerate().map(operand).collect()
}

/// Rejects a rule whose sides have the same type in no case, with the reason for the nearest case.
pub fn check(rule: &Rule) -> Result<(), String> {
    let space = CaseSpace::of(rule);
    let mut nearest: Option<(Misfit, String)> = None;
    for case in space.cases(rule).chain(CaseSpace::alike(rule).cases(rule)) {
        let Err(misfit) = type_case(rule, &case) else { return Ok(()) };
        let is_far = |misfit: &Misfit| matches!(misfit, Misfit::DTypes(_));
        if nearest.as_ref().is_none_or(|(before, _)| is_far(before) && !is_far(&misfit)) {
            let vars = case.vars.iter().enumerate().map(|(var, (ty, _))| format!("{}: {ty}, ", rule.var(var)));
            nearest = Some((misfit, vars.collect()));
        }
    }
    let why = nearest.map(|(misfit, vars)| match misfit {
        Misfit::DTypes(why) | Misfit::Term(why) | Misfit::Sides(why) => {
            format!(": {}{why}", if vars.is_empty() { vars } else { format!("with {vars}") })
        }
    });
    let why = why.unwrap_or_else(|| {
        let of_var = |var| format!("`{}` is {}", rule.var(var), rule.vars[var].dtypes);
        let vars: Vec<String> = (0..rule.vars.len()).map(of_var).collect();
        format!(": an op of a rule computes at the dtypes of its operands, without casts, and {}", vars.join(", "))
    });
    Err(format!("no dtypes and shapes were found for which both sides are of one type{why}"))
}

/// True if all ops are elementwise.
pub fn is_elementwise(rule: &Rule) -> bool {
    rule.nodes.iter().all(|node| !matches!(node, Node::Op(term) if !term.op.is_elementwise()))
}
