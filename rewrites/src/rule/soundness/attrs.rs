//! Test values of attribute variables.

use crate::rule::{AttrTerm, Node, OpTerm, Rule};
use rewright_ir::attr::{AttrDef, AttrKind, Presence, SliceSpec};
use rewright_ir::{Attr, DType, Dim, Scalar};

/// The test values of an attribute variable, for operands of this shape; `None` is an absent attribute.
pub(super) fn attr_choices(rule: &Rule, var: usize, shape: &[u64]) -> Vec<Option<Attr>> {
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
    let specs = [SliceSpec::FULL, slice(Some(1), None, 1), slice(None, Some(-1), 2), slice(None, None, -1)];
    let list = |specs: Vec<SliceSpec>| Some(Attr::Slices(specs.into()));
    let mut choices: Vec<Option<Attr>> = specs.iter().map(|&spec| list(vec![spec])).collect();
    if rank > 1 {
        choices.extend(specs.iter().map(|&spec| list(vec![spec; rank])));
    }
    choices
}
