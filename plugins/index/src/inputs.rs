//! The inputs of a program: names that it reads before it assigns them.

use crate::nest::{Nest, Node, Size, Source, Term};
use crate::resolve::flattened;
use crate::syntax::Assign;
use indexmap::IndexMap;
use rewright::Loc;

/// The kind of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// An array of integers, whose elements are positions.
    Positions {
        /// The number of dims.
        rank: usize,
    },
    /// Another array.
    Array {
        /// The number of dims.
        rank: usize,
    },
    /// A scalar.
    Scalar,
}

/// An input of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its kind.
    pub kind: InputKind,
    /// The place of its first use.
    pub loc: Loc,
    /// Ranges, an initial value or padding depend on its value. So each value has a function of its own.
    pub is_fixed: bool,
}

/// The inputs of statements, in the order of their first use.
pub(crate) fn inputs(nests: &[Nest]) -> IndexMap<String, Input> {
    let mut found: IndexMap<String, Input> = IndexMap::new();
    let mut assigned: Vec<String> = Vec::new();
    for nest in nests {
        let mut own = IndexMap::new();
        of_nest(nest, &mut own);
        for (name, input) in own {
            if assigned.contains(&name) {
                continue;
            }
            let entry = found.entry(name).or_insert(input);
            entry.is_fixed |= input.is_fixed;
            // Positions are arrays, too.
            if matches!(input.kind, InputKind::Positions { .. }) {
                entry.kind = input.kind;
            }
        }
        assigned.extend(nest.target.names());
    }
    found
}

fn of_nest(nest: &Nest, found: &mut IndexMap<String, Input>) {
    let positions: Vec<usize> = nest
        .accesses
        .iter()
        .flat_map(|access| access.dims.iter().flat_map(|along| along.form.gathers.iter().map(|(inner, _)| *inner)))
        .chain(nest.target.dims.iter().flatten().flat_map(|write| match write {
            crate::nest::Write::At(along) => along.form.gathers.iter().map(|(inner, _)| *inner).collect(),
            _ => Vec::new(),
        }))
        .collect();
    let mut sizes: Vec<(&Size, Loc)> = Vec::new();
    let mut add = |name: &str, kind: InputKind, loc: Loc| {
        let (name, kind) = match flattened(name) {
            // Its rank is 1 at least.
            Some(inner) => (inner, InputKind::Array { rank: 1 }),
            None => (name, kind),
        };
        if name.is_empty() {
            return;
        }
        let entry = found.entry(name.to_string()).or_insert(Input { kind, loc, is_fixed: false });
        if matches!(kind, InputKind::Positions { .. }) || entry.kind == InputKind::Scalar {
            entry.kind = kind;
        }
    };
    for (number, access) in nest.accesses.iter().enumerate() {
        let rank = access.dims.len();
        match &access.source {
            Source::Array(name) if positions.contains(&number) => add(name, InputKind::Positions { rank }, access.loc),
            Source::Array(name) => add(name, InputKind::Array { rank }, access.loc),
            Source::Range(lo, hi) => sizes.extend([(lo, access.loc), (hi, access.loc)]),
            Source::Filled(_, extents) => sizes.extend(extents.iter().map(|size| (size, access.loc))),
        }
        for along in &access.dims {
            sizes.push((&along.form.offset, along.loc));
            sizes.extend(along.form.terms.iter().chain(&along.form.gathers).map(|(_, size)| (size, along.loc)));
            if let crate::nest::Boundary::Pad(Some((lo, hi))) = &along.boundary {
                sizes.extend([(lo, along.loc), (hi, along.loc)]);
            }
        }
    }
    sizes.extend(nest.given.iter().flat_map(|given| [(&given.lo, given.loc), (&given.hi, given.loc)]));
    let mut nodes: Vec<&Node> = Vec::new();
    let forms = nest.accesses.iter().flat_map(|access| access.dims.iter().map(|along| &along.form));
    let computed = forms.filter_map(|form| form.computed.as_deref());
    let values = [Some(&nest.body), nest.finish.as_ref(), nest.init.as_ref(), nest.pad.as_ref()];
    for node in values.into_iter().flatten().chain(computed) {
        node.walk(&mut |node| nodes.push(node));
    }
    for node in nodes {
        match &node.term {
            Term::Scalar(name) => add(name, InputKind::Scalar, node.loc),
            Term::Size(size) => sizes.push((size, node.loc)),
            _ => {}
        }
    }
    let mut fixed: Vec<String> = Vec::new();
    while let Some((size, loc)) = sizes.pop() {
        match size {
            Size::Scalar(name, loc) => {
                add(name, InputKind::Scalar, *loc);
                fixed.push(name.clone());
            }
            // Its rank is this at least.
            Size::First(name, dim) | Size::Extent(name, dim) => add(name, InputKind::Array { rank: dim + 1 }, loc),
            Size::Add(parts) | Size::Multiply(parts) | Size::FloorDivide(parts) => {
                sizes.extend([(&parts.0, loc), (&parts.1, loc)]);
            }
            Size::Int(_) => {}
        }
    }
    if nest.target.dims.is_none() && !matches!(nest.target.assign, Assign::New | Assign::Store) {
        add(&nest.target.name, InputKind::Scalar, nest.target.loc);
    }
    for node in nest.init.iter().chain(&nest.pad) {
        node.walk(&mut |node| {
            if let Term::Scalar(name) = &node.term {
                fixed.push(name.clone());
            }
        });
    }
    for name in fixed {
        if let Some(input) = found.get_mut(&name) {
            input.is_fixed = true;
        }
    }
}
