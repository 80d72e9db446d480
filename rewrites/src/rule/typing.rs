//! The types of a rule's terms.

use super::soundness::attrs::attr_choices;
use super::soundness::cases::{CaseSpace, MAX_RANK};
use super::soundness::dynamic::applied;
use super::soundness::extent_cases::{MAX_TYPED, extent_cases};
use super::{AttrTerm, Direction, Node, NodeId, OpTerm, Rule, extents};
use rewright_ir::builder::infer_types;
use rewright_ir::op::NoLoop;
use rewright_ir::{Attr, Attrs, DType, Dim, Name, Op, Scalar, Type};
use smallvec::SmallVec;

/// An operand of a term: its type, and its value if it is a constant.
pub type Operand = (Type, Option<Scalar>);

/// The result types of an op, if it computes at the dtypes of its operands, without casts.
pub fn call_types(op: Op, args: &[Operand], attrs: Attrs) -> Result<(Attrs, SmallVec<[Type; 1]>), String> {
    let (types, consts): (SmallVec<[Type; 3]>, SmallVec<[Option<Scalar>; 3]>) = args.iter().cloned().unzip();
    let (attrs, results) = infer_types(op, &types, &consts, attrs, None).map_err(|e| e.message)?;
    if op.is_elementwise() {
        let dtypes: SmallVec<[DType; 3]> = types.iter().map(Type::dtype).collect();
        let ins = op.loop_at(&dtypes, &attrs).map_err(|(NoLoop::Undefined(why) | NoLoop::Broken(why))| why)?.ins;
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
    type_terms(rule, case, &mut typed).map(|()| typed)
}

/// Whether all terms of the pattern have types in a case.
pub fn has_pattern_types(rule: &Rule, case: &Case) -> bool {
    let mut types: Vec<Option<Type>> = vec![None; rule.nodes.len()];
    rule.pattern_roots().all(|root| add_types(rule, case, root, &mut types).is_some())
}

/// Adds the types of a term and of its operands; `None` if it has none.
fn add_types(rule: &Rule, case: &Case, node: NodeId, types: &mut [Option<Type>]) -> Option<()> {
    if types[node].is_some() {
        return Some(());
    }
    match &rule.nodes[node] {
        Node::Var(var) => types[node] = Some(case.vars[*var].0.clone()),
        Node::Literal(_) => {}
        Node::Op(term) | Node::Computed(term) => {
            term.args.iter().try_for_each(|&arg| add_types(rule, case, arg, types))?;
            let args = operands(rule, term, case, types).ok()?;
            let (_, results) = call_types(term.op, &args, term.attrs(&case.attrs)).ok()?;
            types[node] = Some(results.get(term.result)?.clone());
        }
    }
    Some(())
}

/// Adds the types of a rule's terms, up to the first that has none.
fn type_terms(rule: &Rule, case: &Case, typed: &mut Typed) -> Result<(), Misfit> {
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
        // Equality saturation replaces terms of one type only.
        let fits = match rule.direction {
            Direction::Rewrites => right.refines(result),
            _ => right == *result,
        };
        if !fits {
            return Err(Misfit::Sides(format!("the pattern is of type {result}, and the template of type {right}")));
        }
        if let Some(var) = extents::lost(rule, rhs, result, |var| &case.vars[var].0, |_, _| false) {
            return Err(Misfit::Sides(format!("the template drops `{}`", rule.var(var))));
        }
    }
    Ok(())
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

/// Rejects a rule whose sides have the same type in no case, with the reason for the case that came farthest.
pub fn check(rule: &Rule) -> Result<(), String> {
    let space = CaseSpace::of(rule);
    let mut nearest: Option<(Progress, Misfit, Case)> = None;
    for case in space.cases(rule).chain(CaseSpace::alike(rule).cases(rule)) {
        let mut typed = Typed { nodes: vec![None; rule.nodes.len()], results: SmallVec::new() };
        let Err(misfit) = type_terms(rule, &case, &mut typed) else { return Ok(()) };
        if applied(rule, case.clone()).is_some() {
            return Ok(());
        }
        let progress = Progress::of(rule, &case, &typed, &misfit);
        if nearest.as_ref().is_none_or(|(before, ..)| *before < progress) {
            nearest = Some((progress, misfit, case));
        }
    }
    // Some rules have types only beside axes of extent 1.
    if !is_elementwise(rule) && !extent_cases(rule, &space.dtypes, MAX_TYPED).cases.is_empty() {
        return Ok(());
    }
    let why = nearest.map(|(_, Misfit::DTypes(why) | Misfit::Term(why) | Misfit::Sides(why), case)| {
        let vars = case.vars.iter().enumerate().map(|(var, (ty, _))| format!("{}: {ty}, ", rule.var(var)));
        let vars: String = vars.collect();
        format!(": {}{why}", if vars.is_empty() { vars } else { format!("with {vars}") })
    });
    let why = why.unwrap_or_else(|| match untried_attr(rule) {
        Some(attr) => format!(": no values of `@{attr}` are known to try; write a value"),
        None => {
            let of_var = |var| format!("`{}` is {}", rule.var(var), rule.vars[var].dtypes);
            let vars: Vec<String> = (0..rule.vars.len()).map(of_var).collect();
            format!(": an op of a rule computes at the dtypes of its operands, without casts, and {}", vars.join(", "))
        }
    });
    let limit = if is_elementwise(rule) { String::new() } else { format!(", on arrays of up to {MAX_RANK} axes,") };
    Err(format!("no dtypes and shapes{limit} were found for which both sides are of one type{why}"))
}

/// How far type inference came in a case. Of cases that fail at one term, those of arrays tell more than
/// those of scalars, and those of the rank of a list of axes more than others.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Progress {
    is_about_sides: bool,
    terms: usize,
    arrays: usize,
    has_rank_of_lists: bool,
    rank: usize,
}

impl Progress {
    fn of(rule: &Rule, case: &Case, typed: &Typed, misfit: &Misfit) -> Progress {
        let lists = rule.nodes.iter().flat_map(|node| match node {
            Node::Op(term) | Node::Computed(term) => &term.attrs[..],
            _ => &[],
        });
        let mut lens = lists.filter_map(|(_, attr)| match attr {
            AttrTerm::Is(Attr::Ints(list)) => Some(list.len()),
            _ => None,
        });
        let rank = case.shapes.iter().map(Vec::len).max().unwrap_or(0);
        Progress {
            is_about_sides: !matches!(misfit, Misfit::DTypes(_)),
            terms: typed.nodes.iter().flatten().count(),
            arrays: case.shapes.iter().filter(|shape| !shape.is_empty()).count(),
            has_rank_of_lists: lens.any(|len| len == rank),
            rank,
        }
    }
}

/// The attribute variable for which no values are known.
fn untried_attr(rule: &Rule) -> Option<Name> {
    (0..rule.attr_vars.len()).find(|&var| attr_choices(rule, var, &[2, 3]).is_empty()).map(|var| rule.attr_vars[var])
}

/// True if all ops are elementwise.
pub fn is_elementwise(rule: &Rule) -> bool {
    rule.nodes.iter().all(|node| !matches!(node, Node::Op(term) if !term.op.is_elementwise()))
}
