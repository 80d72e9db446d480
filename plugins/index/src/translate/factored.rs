//! Products of factors in contraction order: intermediate arrays of pairs, and the last pair in the body.

use super::axes::AxisOrder;
use super::products::{Part, Products, flatten, product_of};
use super::{Made, Translation};
use crate::contraction::{ContractionOrder, Factors, Indices, Tree};
use crate::known::sub;
use crate::nest::{Node, Reducer, Role};
use crate::syntax::Assign;
use rewright::DType;
use rewright::expr::Monoid;

/// The body of a statement in contraction order.
pub(super) struct Factored<'a> {
    pub op: &'static str,
    nodes: Vec<&'a Node>,
    sets: Vec<Indices>,
    result: Indices,
    extents: Vec<f64>,
    pub order: ContractionOrder,
}

fn members(set: Indices) -> impl Iterator<Item = usize> {
    (0..64).filter(move |n| set & (1 << n) != 0)
}

impl<'a> Translation<'a, '_, '_> {
    /// The contraction order of the body, if it has one that is allowed and worth it.
    pub(super) fn factored(&mut self) -> Option<Factored<'a>> {
        let nest = self.nest;
        let op = product_of(nest.reduction)?;
        if !nest.tensor
            || nest.init.is_some()
            || nest.indices.len() > 64
            || nest.indices.iter().all(|index| index.role != Role::Reduced)
        {
            return None;
        }
        let mut nodes = Vec::new();
        flatten(op, &nest.body, &mut nodes);
        let extents = self.ranges.indices.iter().map(|range| {
            let extent = sub(&range.hi, &range.lo).ok()?.as_constant()?.saturating_add(1);
            Some(extent.max(0) as f64)
        });
        let extents = extents.collect::<Option<Vec<f64>>>()?;
        let mut sets = Vec::new();
        for node in &nodes {
            let mut found = Vec::new();
            self.dependencies_of(node, &mut found);
            sets.push(found.iter().fold(0, |set, index| set | (1 << index)));
        }
        let result = (0..nest.indices.len())
            .filter(|index| nest.indices[*index].role == Role::Parallel)
            .fold(0, |set, index| set | (1 << index));
        let order = Factors { factors: &sets, result, extents: &extents }.order()?;
        let dtype = self.common_dtype(&nodes)?;
        // A strict sum that begins with an old element adds each product to it, and the element may be a
        // float.
        let begins_anew = !nest.strict || matches!(nest.target.assign, Assign::New | Assign::Store);
        let is_exact = match nest.reduction {
            _ if !begins_anew => false,
            Reducer::Builtin(Monoid::Sum) => matches!(dtype, DType::I64 | DType::U64),
            Reducer::Builtin(Monoid::Any) => dtype.is_bool(),
            _ => false,
        };
        let is_free = !nest.strict && (dtype.is_float() || dtype.is_complex());
        (is_exact || is_free).then_some(Factored { op, nodes, sets, result, extents, order })
    }

    /// The dtype of all factors, if it is one.
    fn common_dtype(&mut self, nodes: &[&Node]) -> Option<DType> {
        let (levels, args) = (std::mem::take(&mut self.levels), self.args.clone());
        let indices = (0..self.nest.indices.len()).filter(|index| self.nest.indices[*index].role != Role::Scoped);
        let axes = AxisOrder::as_written(&indices.collect::<Vec<_>>(), &[]);
        let found = self.open_level(&axes, self.nest.loc).and_then(|level| {
            self.levels.push(level);
            nodes
                .iter()
                .map(|node| self.node(node).and_then(|item| self.dtype(item, node.loc)))
                .collect::<Made<Vec<_>>>()
        });
        (self.levels, self.args) = (levels, args);
        let found = found.ok()?;
        let first = *found.first()?;
        found.iter().all(|dtype| *dtype == first).then_some(first)
    }

    /// Makes the intermediate arrays. Returns the last pair, and the reduced indices that are left to it.
    pub(super) fn contract(&mut self, factored: &Factored<'a>) -> Made<(Vec<Part<'a>>, Vec<usize>)> {
        let factors = Factors { factors: &factored.sets, result: factored.result, extents: &factored.extents };
        let parts = match &factored.order.tree {
            Tree::Pair(parts) => [&parts.0, &parts.1]
                .map(|tree| self.part(tree, factored, &factors))
                .into_iter()
                .collect::<Made<Vec<_>>>()?,
            Tree::Factor(n) => vec![Part::Written(factored.nodes[*n])],
        };
        let left = parts.iter().fold(0, |set, part| set | self.set_of(part));
        let reduced = members(left & !factored.result).collect();
        Ok((parts, reduced))
    }

    /// The indices of a part.
    fn set_of(&self, part: &Part<'_>) -> Indices {
        self.indices_of(part).iter().fold(0, |set, index| set | (1 << index))
    }

    /// A part of the tree, in an intermediate array if it is a product or has indices of its own.
    fn part(&mut self, tree: &Tree, factored: &Factored<'a>, factors: &Factors<'_>) -> Made<Part<'a>> {
        let kept = factors.kept(tree.set());
        let parts = match tree {
            Tree::Factor(n) if factored.sets[*n] == kept => return Ok(Part::Written(factored.nodes[*n])),
            Tree::Factor(n) => vec![Part::Written(factored.nodes[*n])],
            Tree::Pair(parts) => vec![self.part(&parts.0, factored, factors)?, self.part(&parts.1, factored, factors)?],
        };
        let all = parts.iter().fold(0, |set, part| set | self.set_of(part));
        let (parallel, reduced): (Vec<usize>, Vec<usize>) = (members(kept).collect(), members(all & !kept).collect());
        let products = Products { op: factored.op, parts, reducer: self.nest.reduction };
        self.intermediate(&products, parallel, reduced, self.nest.loc)
    }

    /// The explanation of a contraction order.
    pub(super) fn shown_order(&self, factored: &Factored<'a>, text: &str) -> String {
        let factor = |n: usize| {
            let loc = factored.nodes[n].loc;
            text.get(loc.start as usize..(loc.start + loc.len) as usize).unwrap_or_default().to_string()
        };
        let order = &factored.order;
        let sign = match factored.op {
            "add" => '+',
            "bitand" => '&',
            _ => '*',
        };
        format!(
            "order: {}, at a cost of {:.3e} points in place of {:.3e}",
            order.tree.shown(sign, &factor),
            order.cost,
            order.nest_cost
        )
    }
}
