//! Symbolic extents: one symbol for all dims that a plain index makes equal.
//!
//! `C[i, k] := A[i, j] * B[j, k]` has the types `A: f64[n_i, n_j]` and `B: f64[n_j, n_k]`. Dims that no such
//! index relates have symbols of their own.

use crate::inputs::{Input, InputKind};
use crate::nest::{Boundary, Nest, Size, Source, Write};
use crate::resolve::flattened;
use crate::syntax::Assign;
use indexmap::IndexMap;
use rewright::Name;
use rewright::expr::SymExpr;

/// The extents of the inputs of a program.
pub(crate) fn extents(nests: &[Nest], inputs: &IndexMap<String, Input>, base: i64) -> IndexMap<String, Vec<SymExpr>> {
    let mut classes = Classes::default();
    // The version of each name: an assignment makes a new array.
    let mut versions: IndexMap<String, usize> = IndexMap::new();
    for (number, nest) in nests.iter().enumerate() {
        let mut is_shifted = vec![false; nest.indices.len()];
        for along in nest.accesses.iter().flat_map(|access| &access.dims).filter(|along| !along.is_plain) {
            along.form.indices().into_iter().for_each(|index| is_shifted[index] = true);
        }
        for access in &nest.accesses {
            let Source::Array(name) = &access.source else { continue };
            if flattened(name).is_some() {
                continue;
            }
            let version = versions.get(name.as_str()).copied().unwrap_or(0);
            for (dim, along) in access.dims.iter().enumerate() {
                let ([(index, _)], true) = (&along.form.terms[..], along.is_plain) else { continue };
                if matches!(along.boundary, Boundary::Inside) && is_shifted[*index] {
                    // Only the name is taken.
                    classes.node(Key::Dim(name.clone(), version, dim), &nest.indices[*index].name);
                } else if matches!(along.boundary, Boundary::Inside) {
                    let index = classes.node(Key::Index(number, *index), &nest.indices[*index].name);
                    let dim = classes.node(Key::Dim(name.clone(), version, dim), "");
                    classes.join(index, dim);
                }
            }
        }
        for given in &nest.given {
            if let (Size::Int(lo), Size::Int(hi)) = (&given.lo, &given.hi)
                && *lo == base
                && !is_shifted[given.index]
            {
                let node = classes.node(Key::Index(number, given.index), &nest.indices[given.index].name);
                let root = classes.root(node);
                classes.known[root] = Some(hi.saturating_sub(*lo).saturating_add(1).max(0));
            }
        }
        for name in nest.target.names().iter().filter(|_| nest.target.assign == Assign::New) {
            let version = versions.entry(name.clone()).or_insert(0);
            *version += 1;
            let version = *version;
            for (dim, write) in nest.target.dims.iter().flatten().enumerate() {
                let Write::At(along) = write else { continue };
                let ([(index, _)], []) = (&along.form.terms[..], &along.form.gathers[..]) else { continue };
                if !is_shifted[*index] {
                    let index = classes.node(Key::Index(number, *index), &nest.indices[*index].name);
                    let dim = classes.node(Key::Dim(name.clone(), version, dim), "");
                    classes.join(index, dim);
                }
            }
        }
    }
    let mut names: IndexMap<usize, String> = IndexMap::new();
    let mut found = IndexMap::new();
    for (name, input) in inputs {
        let (InputKind::Array { rank } | InputKind::Positions { rank }) = input.kind else { continue };
        let dims = (0..rank).map(|dim| {
            let node = classes.node(Key::Dim(name.clone(), 0, dim), "");
            let root = classes.root(node);
            if let Some(known) = classes.known[root] {
                return SymExpr::constant(known);
            }
            let symbol = names.get(&root).cloned().unwrap_or_else(|| {
                let own =
                    if classes.names[root].is_empty() { format!("{name}_{dim}") } else { classes.names[root].clone() };
                let mut symbol = format!("n_{own}");
                while names.values().any(|other| *other == symbol) {
                    symbol.push('_');
                }
                names.insert(root, symbol.clone());
                symbol
            });
            SymExpr::symbol(Name::new(&symbol))
        });
        let dims: Vec<SymExpr> = dims.collect();
        found.insert(name.clone(), dims);
    }
    found
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    /// An index of a statement.
    Index(usize, usize),
    /// A dim of a version of a name.
    Dim(String, usize, usize),
}

/// Sets of equal extents, as a forest.
#[derive(Default)]
struct Classes {
    nodes: IndexMap<Key, usize>,
    parents: Vec<usize>,
    names: Vec<String>,
    known: Vec<Option<i64>>,
}

impl Classes {
    fn node(&mut self, key: Key, name: &str) -> usize {
        if let Some(node) = self.nodes.get(&key) {
            return *node;
        }
        let node = self.parents.len();
        self.nodes.insert(key, node);
        self.parents.push(node);
        self.names.push(name.to_string());
        self.known.push(None);
        node
    }
    fn root(&self, mut node: usize) -> usize {
        while self.parents[node] != node {
            node = self.parents[node];
        }
        node
    }
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        let (first, last) = (a.min(b), a.max(b));
        self.parents[last] = first;
        if self.names[first].is_empty() {
            self.names[first] = std::mem::take(&mut self.names[last]);
        }
        self.known[first] = self.known[first].or(self.known[last]);
    }
}
