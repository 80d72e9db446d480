//! Products of factors in contraction order: intermediate arrays of pairs, and the last pair in the body.

use super::level::{Item, Level};
use super::positions::dim;
use super::{Made, Translation, at, refuse};
use crate::contraction::{ContractionOrder, Factors, Indices, Tree};
use crate::known::sub;
use crate::nest::{Function, Node, Reducer, Role, Term};
use rewright::expr::{Affine, AxisKind, Index, IndexExpr, Mode, Monoid, Operand, Out, Source, SymExpr, Write};
use rewright::{DType, Value};

/// The semiring of a reduction: the op that it distributes over.
fn product_of(reducer: Reducer) -> Option<&'static str> {
    match reducer {
        Reducer::Builtin(Monoid::Sum) => Some("mul"),
        Reducer::Builtin(Monoid::Max | Monoid::Min) => Some("add"),
        Reducer::Builtin(Monoid::Any) => Some("bitand"),
        _ => None,
    }
}

/// The body of a statement in contraction order.
pub(super) struct Factored<'a> {
    op: &'static str,
    nodes: Vec<&'a Node>,
    sets: Vec<Indices>,
    result: Indices,
    extents: Vec<f64>,
    dtype: DType,
    pub order: ContractionOrder,
}

/// A factor: as it is written, or in an intermediate array over some indices.
#[derive(Clone)]
enum Part {
    Written(usize),
    Stored(Value, Vec<usize>),
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
        let is_exact = match nest.reduction {
            Reducer::Builtin(Monoid::Sum) => matches!(dtype, DType::I64 | DType::U64),
            Reducer::Builtin(Monoid::Any) => dtype.is_bool(),
            _ => false,
        };
        let is_free = !nest.strict && (dtype.is_float() || dtype.is_complex());
        (is_exact || is_free).then_some(Factored { op, nodes, sets, result, extents, dtype, order })
    }

    /// The dtype of all factors, if it is one.
    fn common_dtype(&mut self, nodes: &[&Node]) -> Option<DType> {
        let (levels, args) = (std::mem::take(&mut self.levels), self.args.clone());
        let indices = (0..self.nest.indices.len()).filter(|index| self.nest.indices[*index].role != Role::Scoped);
        let found = self.open_level(&indices.collect::<Vec<_>>(), &[]).and_then(|level| {
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

    /// A level with parallel and reduced axes for some indices.
    fn open_level(&self, parallel: &[usize], reduced: &[usize]) -> Made<Level> {
        let loc = self.nest.loc;
        let mut level = Level::default();
        for (indices, kind) in [(parallel, AxisKind::Parallel), (reduced, AxisKind::Reduce)] {
            for &index in indices {
                let (lo, end) = self.range_of(index, loc)?;
                let hi = if kind == AxisKind::Parallel { sub(&end, &lo).map_err(|e| at(e, loc))? } else { end };
                let name = self.axis_name(index, &level);
                level.axis(index, &name, lo, hi, kind);
            }
        }
        Ok(level)
    }

    /// Makes the intermediate arrays. Returns the last pair, and the reduced indices that are left to it.
    pub(super) fn contract(&mut self, factored: &Factored<'a>) -> Made<(Vec<PartOf>, Vec<usize>)> {
        let factors = Factors { factors: &factored.sets, result: factored.result, extents: &factored.extents };
        let (levels, args) = (std::mem::take(&mut self.levels), std::mem::take(&mut self.args));
        let made = match &factored.order.tree {
            Tree::Pair(parts) => [&parts.0, &parts.1]
                .map(|tree| self.part(tree, factored, &factors))
                .into_iter()
                .collect::<Made<Vec<_>>>(),
            Tree::Factor(n) => Ok(vec![Part::Written(*n)]),
        };
        (self.levels, self.args) = (levels, args);
        let parts = made?;
        let left = parts.iter().fold(0, |set, part| set | indices_of(part, factored));
        let reduced = members(left & !factored.result).collect();
        Ok((parts.into_iter().map(PartOf).collect(), reduced))
    }

    /// A part of the tree, in an intermediate array if it is a product or has indices of its own.
    fn part(&mut self, tree: &Tree, factored: &Factored<'a>, factors: &Factors<'_>) -> Made<Part> {
        let kept = factors.kept(tree.set());
        let parts = match tree {
            Tree::Factor(n) if factored.sets[*n] == kept => return Ok(Part::Written(*n)),
            Tree::Factor(n) => vec![Part::Written(*n)],
            Tree::Pair(parts) => vec![self.part(&parts.0, factored, factors)?, self.part(&parts.1, factored, factors)?],
        };
        let all = parts.iter().fold(0, |set, part| set | indices_of(part, factored));
        let (parallel, reduced): (Vec<usize>, Vec<usize>) = (members(kept).collect(), members(all & !kept).collect());
        let loc = self.nest.loc;
        let level = self.open_level(&parallel, &reduced)?;
        let dims = level.axes[..parallel.len()].iter().map(|axis| dim(&axis.hi.clone().unwrap_or_default())).collect();
        self.levels = vec![level];
        self.args.clear();
        let item = self.product(&parts, factored)?;
        let (dtype, reductions) = match reduced.is_empty() {
            true => (factored.dtype, Vec::new()),
            false => {
                let (reduction, dtype) = self.reduction(self.nest.reduction, item, None, loc, self.nest.strict)?;
                (dtype, vec![reduction])
            }
        };
        let item = self.cast(item, dtype, loc)?;
        let value = self.strong(item, loc)?.0;
        let index = (0..parallel.len() as u32).map(|axis| IndexExpr::Affine(Affine::axis(axis))).collect();
        let out = Out { dtype, dims, index, fill: None, write: Write::Unique };
        let Some(mut level) = self.levels.pop() else { return refuse("no expression", loc, "") };
        level.body.yields = vec![value];
        let results = self.instruction(level, reductions, vec![out], loc)?;
        Ok(Part::Stored(results[0], parallel))
    }

    /// The product of parts in the innermost expression.
    fn product(&mut self, parts: &[Part], factored: &Factored<'a>) -> Made<Item> {
        let loc = self.nest.loc;
        let mut product: Option<Item> = None;
        for part in parts {
            let item = match part {
                Part::Written(n) => self.node(factored.nodes[*n])?,
                Part::Stored(value, indices) => self.stored(*value, indices)?,
            };
            product = Some(match product {
                Some(left) => self.core(factored.op, &[left, item], loc)?,
                None => item,
            });
        }
        product.map_or_else(|| refuse("no factors", loc, ""), Ok)
    }

    /// The last product.
    pub(super) fn last_product(&mut self, parts: &[PartOf], factored: &Factored<'a>) -> Made<Item> {
        let parts: Vec<Part> = parts.iter().map(|part| part.0.clone()).collect();
        self.product(&parts, factored)
    }

    /// An element of an intermediate array, whose axes begin at 0.
    fn stored(&mut self, value: Value, indices: &[usize]) -> Made<Item> {
        let loc = self.nest.loc;
        let mut index = Vec::new();
        for &own in indices {
            let (axis, added): (u32, SymExpr) = self.axis_of(own, loc)?;
            let mut form = Affine::axis(axis);
            form.offset = sub(&added, &self.ranges.indices[own].lo).map_err(|e| at(e, loc))?;
            index.push(Index { expr: IndexExpr::Affine(form), mode: Mode::Proved });
        }
        let dtype = self.build.func().ty(value).dtype();
        let source = Source::Array(self.arg(value));
        Ok(self.operand("t", Operand { name: rewright::Name::new("t"), source, dtype, index }))
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

/// A factor of the last product.
pub(super) struct PartOf(Part);

fn indices_of(part: &Part, factored: &Factored<'_>) -> Indices {
    match part {
        Part::Written(n) => factored.sets[*n],
        Part::Stored(_, indices) => indices.iter().fold(0, |set, index| set | (1 << index)),
    }
}

/// The factors of a product.
fn flatten<'a>(op: &str, node: &'a Node, found: &mut Vec<&'a Node>) {
    match &node.term {
        Term::Apply(Function::Op(own), args) if own.name == op => args.iter().for_each(|arg| flatten(op, arg, found)),
        _ => found.push(node),
    }
}
