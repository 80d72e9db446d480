//! The types of a rule's terms.

use super::{AttrTerm, Known, Node, NodeId, OpTerm, Rule, extents};
use crate::facts::Facts;
use rewright_ir::attr::{AttrDef, AttrKind, Presence, SliceSpec};
use rewright_ir::builder::infer_types;
use rewright_ir::op::Eval;
use rewright_ir::{Attr, Attrs, DType, Dim, Op, Scalar, Type};
use smallvec::SmallVec;

/// An operand of a term: its type, and the constant that it is.
pub type Operand = (Type, Option<Scalar>);

/// The result types of an op, if it computes at the dtypes of its operands: nothing is cast in passing.
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

/// What a rule's variables are, in one case of it.
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
    /// The type of each term that is no literal.
    pub nodes: Vec<Option<Type>>,
    /// The types of all results of the pattern.
    pub results: SmallVec<[Type; 1]>,
}

/// Why a case is none of a rule's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misfit {
    /// A variable is not to have this dtype, or an op does not compute at it.
    DTypes(String),
    /// A term has no type for another reason.
    Term(String),
    /// The two sides differ.
    Sides(String),
}

/// The types of a rule's terms, or why the case is none of the rule's.
pub fn type_case(rule: &Rule, case: &Case) -> Result<Typed, Misfit> {
    let mut typed = Typed { nodes: vec![None; rule.nodes.len()], results: SmallVec::new() };
    for (var, (ty, _)) in rule.vars.iter().zip(&case.vars) {
        if !var.dtypes.contains(ty.dtype()) {
            return Err(Misfit::DTypes(format!("`?{}` is not to be {ty}", var.name)));
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
                // A constant fills whatever extents there are.
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
            return Err(Misfit::Sides(format!("the template drops `?{}`", rule.vars[var].name)));
        }
    }
    Ok(typed)
}

/// The operands of a term: literals get their dtypes beside the others.
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

/// Refuses a rule whose two sides have the same type in no case, and says why of the case that comes nearest.
pub fn check(rule: &Rule) -> Result<(), String> {
    let mut nearest: Option<(Misfit, String)> = None;
    for case in cases(rule) {
        let Err(misfit) = type_case(rule, &case) else { return Ok(()) };
        let is_far = |misfit: &Misfit| matches!(misfit, Misfit::DTypes(_));
        if nearest.as_ref().is_none_or(|(before, _)| is_far(before) && !is_far(&misfit)) {
            let vars = rule.vars.iter().zip(&case.vars).map(|(var, (ty, _))| format!("?{}: {ty}", var.name));
            nearest = Some((misfit, vars.collect::<Vec<_>>().join(", ")));
        }
    }
    let why = nearest.map(|(misfit, vars)| match misfit {
        Misfit::DTypes(why) | Misfit::Term(why) | Misfit::Sides(why) => format!(": with {vars}, {why}"),
    });
    Err(format!("no dtypes and shapes were found for which both sides are of one type{}", why.unwrap_or_default()))
}

/// Shapes to try where the rank matters; a square, for there products of matrices are.
const SHAPES: [&[u64]; 5] = [&[], &[3], &[2, 3], &[2, 2], &[2, 3, 2]];

/// Cases to try: first with all variables of one dtype, then with all combinations of dtypes, up to a number of them; where an op is not
/// elementwise also several shapes, and where attributes are bound several of those.
pub fn cases(rule: &Rule) -> impl Iterator<Item = Case> + '_ {
    let all = shapes_of_cases(rule);
    dtypes_of_cases(rule).flat_map(move |dtypes| {
        let cases = all.iter().flat_map(|(shapes, open)| {
            let shapes: Vec<&[u64]> = shapes.iter().map(Vec::as_slice).collect();
            cases_of(rule, &dtypes, &shapes, *open).collect::<Vec<_>>()
        });
        cases.collect::<Vec<_>>()
    })
}

/// The shapes of the variables, and whether types leave them open: all alike, and one array beside scalars. Where the rule writes numbers in
/// attributes, extents near to them too.
fn shapes_of_cases(rule: &Rule) -> Vec<(Vec<Vec<u64>>, bool)> {
    let count = rule.vars.len();
    if is_elementwise(rule) {
        return vec![(vec![Vec::new(); count], false)];
    }
    let mut shapes: Vec<Vec<u64>> = SHAPES.iter().map(|shape| shape.to_vec()).collect();
    for extent in extents_written(rule) {
        shapes.extend([vec![extent], vec![extent, 3], vec![2, extent]]);
    }
    let mut all: Vec<(Vec<Vec<u64>>, bool)> = Vec::new();
    for shape in shapes {
        all.push((vec![shape.clone(); count], false));
        if shape.is_empty() {
            continue;
        }
        // Types that don't tell extents admit rules that those which do refuse.
        all.push((vec![shape.clone(); count], true));
        if count > 1 && shape.len() < 3 {
            let beside_scalars = |array: usize| {
                (0..count).map(|var| if var == array { shape.clone() } else { Vec::new() }).collect::<Vec<_>>()
            };
            all.extend((0..count).map(|array| (beside_scalars(array), false)));
        }
    }
    all
}

/// Extents at which the numbers in a rule's attributes make a difference.
fn extents_written(rule: &Rule) -> Vec<u64> {
    const MOST: u64 = 64;
    let mut extents = Vec::new();
    let mut add = |n: u64| {
        if n <= MOST && !extents.contains(&n) {
            extents.push(n);
        }
    };
    let terms = rule.nodes.iter().filter_map(|node| match node {
        Node::Op(term) | Node::Computed(term) => Some(term),
        _ => None,
    });
    for (_, attr) in terms.flat_map(|term| &term.attrs) {
        match attr {
            AttrTerm::Is(Attr::Slices(specs)) => {
                let ends = specs.iter().flat_map(|spec| [spec.start, spec.stop, Some(spec.step)]).flatten();
                ends.for_each(|n| add(n.unsigned_abs().saturating_add(2)));
            }
            AttrTerm::Is(Attr::Dims(dims)) => dims.iter().for_each(|dim| {
                if let Dim::Const(n) = dim {
                    add(*n);
                }
            }),
            _ => {}
        }
    }
    extents
}

/// Shapes that broadcast to one another.
const MIXED: [&[u64]; 6] = [&[2, 3], &[1, 3], &[2, 1], &[3], &[1], &[]];

/// So many combinations of these are tried.
const MAX_MIXED: usize = 64;

/// Cases to try in which variables of these dtypes have different shapes: once with types that tell their extents, and once with types
/// that don't. There are none where shapes can make no difference: all ops are elementwise, and the template has all variables.
pub fn mixed_cases<'a>(rule: &'a Rule, dtypes: &'a [DType]) -> impl Iterator<Item = Case> + 'a {
    let arrays = rule.vars.iter().filter(|var| !var.constant).count();
    let keeps_all = || rule.rhs.iter().all(|&rhs| extents::keeps(rule, rhs).into_iter().all(|kept| kept));
    let matters = arrays > 1 && !(is_elementwise(rule) && keeps_all());
    let all = MIXED.len().saturating_pow(rule.vars.len() as u32);
    let total = if matters { all.min(MAX_MIXED) } else { 0 };
    // A stride that has no factor in common with their number visits combinations evenly.
    let stride = if all > total { (all / total.max(1)) / 6 * 6 + 1 } else { 1 };
    let shapes = (0..total).map(move |number| {
        let mut rest = number.wrapping_mul(stride) % all;
        let mut pick = || {
            let shape = MIXED[rest % MIXED.len()];
            rest /= MIXED.len();
            shape
        };
        (0..rule.vars.len()).map(|_| pick()).collect::<Vec<_>>()
    });
    let mixed = shapes.filter(|shapes| shapes.windows(2).any(|pair| pair[0] != pair[1]));
    let cases = mixed.flat_map(move |shapes| {
        [false, true].into_iter().flat_map(move |open| cases_of(rule, dtypes, &shapes, open).collect::<Vec<_>>())
    });
    cases.filter(|case| may_hold(rule, case))
}

/// Arrays long enough that sums of them may be computed in parts, and of different extents.
const LARGE: [&[u64]; 5] = [&[9], &[2, 9], &[9, 2], &[3, 11], &[11, 3]];

/// Cases to try of larger arrays of these dtypes: all alike, turned from one variable to the next, and one array beside scalars. There are
/// none where all ops are elementwise.
pub fn large_cases<'a>(rule: &'a Rule, dtypes: &'a [DType]) -> impl Iterator<Item = Case> + 'a {
    let count = rule.vars.len();
    let mut all: Vec<Vec<&[u64]>> = Vec::new();
    if !is_elementwise(rule) {
        all.extend(LARGE.iter().map(|&shape| vec![shape; count]));
        if count > 1 {
            all.extend((0..2).map(|first| (0..count).map(|var| LARGE[3 + (first + var) % 2]).collect()));
            let one = |array: usize| (0..count).map(|var| if var == array { LARGE[3] } else { &[][..] }).collect();
            all.extend((0..count).map(one));
        }
    }
    let cases = all.into_iter().flat_map(move |shapes| cases_of(rule, dtypes, &shapes, false));
    cases.filter(|case| may_hold(rule, case))
}

/// False if a condition says no whatever the elements are.
fn may_hold(rule: &Rule, case: &Case) -> bool {
    let known = |var: usize| {
        let (ty, constant) = &case.vars[var];
        Known { ty, constant: *constant, facts: Facts::all() }
    };
    rule.conditions.iter().all(|condition| condition.may_hold(&known))
}

/// True if no op is one on whole arrays.
pub fn is_elementwise(rule: &Rule) -> bool {
    rule.nodes.iter().all(|node| !matches!(node, Node::Op(term) if !term.op.is_elementwise()))
}

/// The cases of some dtypes and shapes; with `open`, types don't tell the extents. Constants are scalars.
fn cases_of<'a>(
    rule: &'a Rule,
    dtypes: &[DType],
    shapes: &[&[u64]],
    open: bool,
) -> impl Iterator<Item = Case> + use<'a> {
    let shape = |at: usize| if rule.vars[at].constant { &[][..] } else { shapes[at] };
    let var = |at: usize| -> Operand {
        let (dtype, shape) = (dtypes[at], shape(at));
        let dims: Vec<Dim> = shape.iter().map(|&n| if open { Dim::Any } else { Dim::Const(n) }).collect();
        let ty = if dims.is_empty() { Type::scalar(dtype) } else { Type::array(dtype, dims) };
        (ty, rule.vars[at].constant.then(|| Scalar::one(dtype)))
    };
    let count = rule.vars.len();
    let vars: Vec<Operand> = (0..count).map(var).collect();
    let sizes: Vec<Vec<usize>> = (0..count).map(|at| shape(at).iter().map(|&n| n as usize).collect()).collect();
    let largest = shapes.iter().copied().max_by_key(|shape| shape.len()).unwrap_or(&[]);
    attrs_of_cases(rule, largest).map(move |attrs| Case { vars: vars.clone(), shapes: sizes.clone(), attrs })
}

/// The dtypes of the variables: all alike, then all combinations.
fn dtypes_of_cases(rule: &Rule) -> impl Iterator<Item = Vec<DType>> + '_ {
    let count = rule.vars.len();
    let fits = |dtypes: &Vec<DType>| rule.vars.iter().zip(dtypes).all(|(var, &d)| var.dtypes.contains(d));
    let alike = DType::ALL.into_iter().map(move |d| vec![d; count]);
    let choices: Vec<Vec<DType>> = rule.vars.iter().map(|var| var.dtypes.iter().collect()).collect();
    let all = choices.iter().map(Vec::len).fold(1, usize::saturating_mul).min(MAX_CASES);
    let mixed = (0..all).map(move |mut number| {
        let pick = |list: &Vec<DType>| {
            let dtype = list[number % list.len()];
            number /= list.len();
            dtype
        };
        choices.iter().map(pick).collect::<Vec<_>>()
    });
    let mixed = mixed.filter(|dtypes| dtypes.windows(2).any(|pair| pair[0] != pair[1]));
    alike.chain(mixed).filter(fits)
}

/// So many combinations of dtypes are tried: those of three variables, and more.
const MAX_CASES: usize = 1 << 12;

/// The values to try of each attribute variable, beside values of this shape.
fn attrs_of_cases(rule: &Rule, shape: &[u64]) -> impl Iterator<Item = Vec<Option<Attr>>> + use<> {
    let choices: Vec<Vec<Option<Attr>>> = (0..rule.attr_vars.len()).map(|var| attr_choices(rule, var, shape)).collect();
    let all: usize = choices.iter().map(Vec::len).product();
    (0..all).map(move |mut number| {
        let pick = |list: &Vec<Option<Attr>>| {
            let choice = list[number % list.len()].clone();
            number /= list.len();
            choice
        };
        choices.iter().map(pick).collect()
    })
}

fn attr_choices(rule: &Rule, var: usize, shape: &[u64]) -> Vec<Option<Attr>> {
    let uses = rule.nodes.iter().filter_map(|node| match node {
        Node::Op(term) | Node::Computed(term) => Some(term),
        _ => None,
    });
    let def = |term: &OpTerm| -> Option<&'static AttrDef> {
        let (name, _) = term.attrs.iter().find(|(_, a)| *a == AttrTerm::Var(var))?;
        term.op.0.attrs.iter().find(|def| *name == def.name)
    };
    let Some(def) = uses.map(def).find_map(|def| def) else { return vec![None] };
    let rank = shape.len();
    let ints = |list: &[i64]| Some(Attr::Ints(list.into()));
    let mut choices = match def.kind {
        AttrKind::Bool => vec![Some(Attr::Bool(true))],
        AttrKind::Int => vec![Some(Attr::Int(0)), Some(Attr::Int(1))],
        AttrKind::DType => DType::ALL.into_iter().map(|d| Some(Attr::DType(d))).collect(),
        AttrKind::Ints => {
            let all: Vec<i64> = (0..rank as i64).collect();
            let back: Vec<i64> = all.iter().rev().copied().collect();
            let turned: Vec<i64> = all.iter().cycle().skip(1).take(rank).copied().collect();
            vec![ints(&all), ints(&back), ints(&turned), ints(&[0]), ints(&[1]), ints(&[])]
        }
        AttrKind::Dims => dims_to_try(shape),
        AttrKind::Slices => slices_to_try(rank),
        AttrKind::Scalar => DType::ALL.into_iter().map(|d| Some(Attr::Scalar(Scalar::one(d)))).collect(),
        AttrKind::Str | AttrKind::Func | AttrKind::Array | AttrKind::Expr => Vec::new(),
    };
    if def.presence != Presence::Required {
        choices.insert(0, None);
    }
    choices
}

/// Dims that hold as many elements as a shape, or that it broadcasts to.
fn dims_to_try(shape: &[u64]) -> Vec<Option<Attr>> {
    let turned: Vec<u64> = shape.iter().rev().copied().collect();
    let with = |before: &[u64], after: &[u64]| [before, shape, after].concat();
    let all = [shape.to_vec(), turned, vec![shape.iter().product()], with(&[1], &[]), with(&[], &[1]), with(&[2], &[])];
    let mut choices: Vec<Option<Attr>> = Vec::new();
    for dims in all {
        let choice = Some(Attr::Dims(dims.into_iter().map(Dim::Const).collect()));
        if !choices.contains(&choice) {
            choices.push(choice);
        }
    }
    choices
}

/// Slices of the first axis, and of all of them.
fn slices_to_try(rank: usize) -> Vec<Option<Attr>> {
    let slice = |start, stop, step| SliceSpec { start, stop, step };
    let specs = [SliceSpec::FULL, slice(Some(1), None, 1), slice(None, Some(-1), 2), slice(None, None, -1)];
    let list = |specs: Vec<SliceSpec>| Some(Attr::Slices(specs.into()));
    let mut choices: Vec<Option<Attr>> = specs.iter().map(|&spec| list(vec![spec])).collect();
    if rank > 1 {
        choices.extend(specs.iter().map(|&spec| list(vec![spec; rank])));
    }
    choices
}
