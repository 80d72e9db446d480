//! Test values of attribute variables.

use crate::rule::{AttrTerm, Node, OpTerm, Rule};
use rewright_ir::{Attr, DType, Dim, Scalar};
use rewright_ir::{AttrDef, AttrKind, Presence, SliceSpec};

/// Integers: axes, counted from either end, and exponents.
const INTS: [i64; 7] = [0, 1, 2, -1, 3, 9, -2];

/// The definition of the attribute that a variable stands for.
fn def_of(rule: &Rule, var: usize) -> Option<&'static AttrDef> {
    let uses = rule.nodes.iter().filter_map(|node| match node {
        Node::Op(term) | Node::Computed(term) => Some(term),
        _ => None,
    });
    let def = |term: &OpTerm| -> Option<&'static AttrDef> {
        let (name, _) = term.attrs.iter().find(|(_, a)| *a == AttrTerm::Var(var))?;
        term.op.0.attrs.iter().find(|def| *name == def.name)
    };
    uses.map(def).find_map(|def| def)
}

/// The attribute variables that have more values than the test values.
pub(super) fn sampled(rule: &Rule) -> Vec<String> {
    let is_finite = |def: &AttrDef| matches!(def.kind, AttrKind::Bool | AttrKind::DType);
    let names = rule.attr_vars.iter().enumerate();
    let sampled = names.filter(|(var, _)| !def_of(rule, *var).is_some_and(is_finite));
    sampled.map(|(_, name)| format!("@{name}")).collect()
}

/// Whether an attribute variable stands for extents.
pub(super) fn has_dims(rule: &Rule) -> bool {
    (0..rule.attr_vars.len()).any(|var| def_of(rule, var).is_some_and(|def| def.kind == AttrKind::Dims))
}

/// The test values of an attribute variable, for operands of this shape; `None` is an absent attribute.
pub(crate) fn attr_choices(rule: &Rule, var: usize, shape: &[u64]) -> Vec<Option<Attr>> {
    let Some(def) = def_of(rule, var) else { return vec![None] };
    let rank = shape.len();
    let ints = |list: &[i64]| Some(Attr::Ints(list.into()));
    let mut choices = match def.kind {
        AttrKind::Bool if def.presence == Presence::Required => {
            [false, true].map(|flag| Some(Attr::Bool(flag))).to_vec()
        }
        AttrKind::Bool => vec![Some(Attr::Bool(true))],
        AttrKind::Int => INTS.map(|n| Some(Attr::Int(n))).to_vec(),
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
    let mut all: Vec<Option<Attr>> = Vec::with_capacity(choices.len());
    for choice in choices {
        if !all.contains(&choice) {
            all.push(choice);
        }
    }
    all
}

/// Shapes with the same number of elements as this one, and shapes that it broadcasts to.
fn dims_to_try(shape: &[u64]) -> Vec<Option<Attr>> {
    let turned: Vec<u64> = shape.iter().rev().copied().collect();
    let with = |before: &[u64], after: &[u64]| [before, shape, after].concat();
    let all = [shape.to_vec(), turned, vec![shape.iter().product()], with(&[1], &[]), with(&[], &[1]), with(&[2], &[])];
    all.into_iter().map(|dims| Some(Attr::Dims(dims.into_iter().map(Dim::Const).collect()))).collect()
}

/// Slices of the first axis, and of all of them.
fn slices_to_try(rank: usize) -> Vec<Option<Attr>> {
    let slice = |start, stop, step| SliceSpec { start, stop, step };
    let specs = [
        SliceSpec::FULL,
        slice(Some(1), None, 1),
        slice(None, Some(-1), 2),
        slice(None, None, -1),
        slice(None, Some(1), 1),
        slice(Some(-1), None, 1),
        slice(Some(0), Some(0), 1),
        slice(Some(2), None, 3),
    ];
    let list = |specs: Vec<SliceSpec>| Some(Attr::Slices(specs.into()));
    let mut choices: Vec<Option<Attr>> = specs.iter().map(|&spec| list(vec![spec])).collect();
    if rank > 1 {
        choices.extend(specs.iter().map(|&spec| list(vec![spec; rank])));
    }
    choices
}
