//! Summands of reductions: one value, or the two factors of a product that is added with one rounding.
//!
//! A sum of products is the reduction `dot` where the liberties allow it: where totals of adjacent points are
//! computed side by side, each product is added by a fused multiply-add. Several factors become two: the
//! product of factors that differ along the last axis, and that of the others, computed once for a row.

use super::axes::{Accesses, AxisOrder, Column, DISPERSED, Freedom, Steps};
use super::level::Item;
use super::positions::dim;
use super::{Made, Translation, at, refuse};
use crate::known::sub;
use crate::nest::{Function, Node, Reducer, Term};
use rewright::expr::{Affine, BodyRef, Index, IndexExpr, Mode, Monoid, Operand, Out, Source, SymExpr, Write};
use rewright::{DType, Literal, Loc, Value};

/// A factor: as it is written, or in an intermediate array over some indices.
#[derive(Clone)]
pub(super) enum Part<'a> {
    Written(&'a Node),
    Stored(Value, Vec<usize>),
}

/// Factors, and the reduction of their products.
pub(super) struct Products<'a> {
    /// The op that multiplies.
    pub op: &'static str,
    pub parts: Vec<Part<'a>>,
    pub reducer: Reducer,
}

/// The value that a reduction combines at each point.
pub(super) enum Summand {
    One(Item),
    /// The factors of a product, and their common dtype.
    Product([Item; 2], DType),
}

impl Summand {
    /// The value of a summand that is no product.
    pub(super) fn item(&self) -> Item {
        match self {
            Summand::One(item) | Summand::Product([item, _], _) => *item,
        }
    }
}

impl<'a> Translation<'a, '_, '_> {
    /// The indices of a factor.
    pub(super) fn indices_of(&self, part: &Part<'_>) -> Vec<usize> {
        match part {
            Part::Written(node) => {
                let mut found = Vec::new();
                self.dependencies_of(node, &mut found);
                found
            }
            Part::Stored(_, indices) => indices.clone(),
        }
    }

    /// The steps of the reads of all factors.
    pub(super) fn reads_of_parts(&self, parts: &[Part<'_>]) -> Vec<Steps> {
        let mut found = Vec::new();
        for part in parts {
            match part {
                Part::Written(node) => found.extend(self.reads_of(node)),
                Part::Stored(_, indices) => found.push(self.steps_of_array(indices)),
            }
        }
        found
    }

    /// The product of factors in the innermost expression: two factors if totals of adjacent points along
    /// `column` are computed side by side, and products of numbers with this dtype may be rounded once.
    pub(super) fn summand(&mut self, products: &Products<'a>, column: Option<Column>, loc: Loc) -> Made<Summand> {
        let (op, parts) = (products.op, &products.parts[..]);
        let is_sum = products.reducer == Reducer::Builtin(Monoid::Sum) && op == "mul" && !self.nest.strict;
        if let (true, Some(_), [Part::Written(node)]) = (is_sum, column, parts)
            && let Some(square) = self.square(node)?
        {
            return Ok(square);
        }
        let mut items = Vec::new();
        for part in parts {
            items.push(match part {
                Part::Written(node) => self.node(node)?,
                Part::Stored(value, indices) => self.stored_element(*value, indices, loc)?,
            });
        }
        if let (true, Some(column)) = (is_sum, column)
            && let Some(factors) = self.two_factors(parts, &items, column, loc)?
        {
            return Ok(factors);
        }
        let product = items.into_iter().map(Ok).reduce(|left, right| self.core(op, &[left?, right?], loc));
        product.map_or_else(|| refuse("no factors", loc, ""), |item| item.map(Summand::One))
    }

    /// The two factors of a square of floats.
    fn square(&mut self, node: &'a Node) -> Made<Option<Summand>> {
        let Term::Apply(Function::Op(op), args) = &node.term else { return Ok(None) };
        let is_square = matches!(args.last().map(|arg| &arg.term), Some(Term::Literal(Literal::Int(2))));
        if op.name != "power" || !is_square || self.stored_node(node).is_some() {
            return Ok(None);
        }
        let item = self.node(&args[0])?;
        let dtype = self.dtype(item, node.loc)?;
        Ok(dtype.is_float().then_some(Summand::Product([item, item], dtype)))
    }

    /// Two factors with the product of all, if it is one of floats or complex numbers.
    fn two_factors(&mut self, parts: &[Part<'a>], items: &[Item], column: Column, loc: Loc) -> Made<Option<Summand>> {
        let mut common: Option<DType> = None;
        // Factors that are the same along the last axis, and the others.
        let (mut rows, mut columns): (Vec<Item>, Vec<Item>) = (Vec::new(), Vec::new());
        let mut weak = Vec::new();
        for (part, item) in parts.iter().zip(items) {
            let Item::Known(_, dtype) = item else {
                weak.push(*item);
                continue;
            };
            // Products of integers wrap at their own dtype.
            if items.len() > 2 && dtype.is_int() {
                return Ok(None);
            }
            common = Some(common.map_or(*dtype, |common| common.promote(*dtype)));
            if self.indices_of(part).contains(&column.index) { columns.push(*item) } else { rows.push(*item) }
        }
        // An unrolled sum has no multiply-add of complex numbers.
        let fuses = |dtype: &DType| dtype.is_float() || dtype.is_complex() && !column.is_unrolled;
        let Some(dtype) = common.filter(fuses) else { return Ok(None) };
        if rows.is_empty() && columns.len() > 1 {
            rows.push(columns.remove(0));
        }
        if columns.is_empty() && rows.len() > 1 {
            columns.extend(rows.pop());
        }
        if rows.is_empty() || columns.is_empty() {
            return Ok(None);
        }
        rows.extend(weak);
        let mut factors = Vec::new();
        for items in [rows, columns] {
            let product = items.into_iter().map(Ok).reduce(|left, right| self.core("mul", &[left?, right?], loc));
            let Some(product) = product.transpose()? else { return Ok(None) };
            factors.push(product);
        }
        match factors[..] {
            [left @ Item::Known(..), right @ Item::Known(..)] => {
                let dtype = dtype.promote(self.dtype(left, loc)?).promote(self.dtype(right, loc)?);
                Ok(Some(Summand::Product([left, right], dtype)))
            }
            _ => Ok(None),
        }
    }

    /// The product of factors over some indices, summed over others, in an array of its own.
    pub(super) fn intermediate(
        &mut self,
        products: &Products<'a>,
        parallel: Vec<usize>,
        reduced: Vec<usize>,
        loc: Loc,
    ) -> Made<Part<'a>> {
        let parts = &products.parts[..];
        let write = self.steps_of_array(&parallel);
        let order = |this: &Self| {
            let accesses = Accesses { reads: this.reads_of_parts(parts), write: write.clone(), dispersed: DISPERSED };
            this.axis_order(&parallel, &reduced, Freedom { parallel: true, reduced: !this.nest.strict }, &accesses)
        };
        let axes = order(self);
        for part in parts {
            if let Part::Written(node) = part {
                self.hoist(&axes, node)?;
            }
        }
        let axes = order(self);
        let (levels, args) = (std::mem::take(&mut self.levels), std::mem::take(&mut self.args));
        let made = self.product_array(products, &axes, &parallel, loc);
        (self.levels, self.args) = (levels, args);
        Ok(Part::Stored(made?, parallel))
    }

    /// The instruction of an intermediate array.
    fn product_array(
        &mut self,
        products: &Products<'a>,
        axes: &AxisOrder,
        parallel: &[usize],
        loc: Loc,
    ) -> Made<Value> {
        let level = self.open_level(axes, loc)?;
        let place = |index: &usize| level.indices.get(index).map_or(0, |(axis, _)| *axis as usize);
        let places: Vec<usize> = parallel.iter().map(place).collect();
        let dims = places.iter().map(|axis| dim(&level.axes[*axis].hi.clone().unwrap_or_default())).collect();
        self.levels.push(level);
        let column = self.fused_column(axes, &products.parts);
        let summand = self.summand(products, column, loc)?;
        let (values, dtype, reductions) = match axes.has_reduced() {
            false => {
                let (value, dtype) = self.strong(summand.item(), loc)?;
                (vec![value], dtype, Vec::new())
            }
            true => {
                let (reduction, dtype) = self.reduction(products.reducer, &summand, None, loc, self.nest.strict)?;
                (self.yielded(&summand, dtype, loc)?, dtype, vec![reduction])
            }
        };
        let index = places.iter().map(|axis| IndexExpr::Affine(Affine::axis(*axis as u32))).collect();
        let out = Out { dtype, dims, index, fill: None, write: Write::Unique };
        let Some(mut level) = self.levels.pop() else { return refuse("no expression", loc, "") };
        level.body.yields = values;
        level.finish_sum(&reductions);
        Ok(self.instruction(level, reductions, vec![out], loc)?[0])
    }

    /// The dtype of a summand.
    pub(super) fn dtype_of(&self, summand: &Summand, loc: Loc) -> Made<DType> {
        match summand {
            Summand::One(item) => self.dtype(*item, loc),
            Summand::Product(_, dtype) => Ok(*dtype),
        }
    }

    /// The values that the body yields for a summand, at the dtype of the accumulator.
    pub(super) fn yielded(&mut self, summand: &Summand, dtype: DType, loc: Loc) -> Made<Vec<BodyRef>> {
        let items = match summand {
            Summand::One(item) => &[*item][..],
            Summand::Product(factors, _) => factors,
        };
        let values = items.iter().map(|item| {
            let item = self.cast(*item, dtype, loc)?;
            Ok(self.strong(item, loc)?.0)
        });
        values.collect()
    }

    /// An element of an intermediate array, whose axes begin at 0.
    pub(super) fn stored_element(&mut self, value: Value, indices: &[usize], loc: Loc) -> Made<Item> {
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
}

/// The semiring of a reduction: the op that it distributes over.
pub(super) fn product_of(reducer: Reducer) -> Option<&'static str> {
    match reducer {
        Reducer::Builtin(Monoid::Sum) => Some("mul"),
        Reducer::Builtin(Monoid::Max | Monoid::Min) => Some("add"),
        Reducer::Builtin(Monoid::Any) => Some("bitand"),
        _ => None,
    }
}

/// The factors of a sum of products; `strict` products are not regrouped, so they are one factor.
pub(super) fn factors(reducer: Reducer, node: &Node, strict: bool) -> Products<'_> {
    let mut nodes = Vec::new();
    match (reducer, strict) {
        (Reducer::Builtin(Monoid::Sum), false) => flatten("mul", node, &mut nodes),
        _ => nodes.push(node),
    }
    Products { op: "mul", parts: nodes.into_iter().map(Part::Written).collect(), reducer }
}

/// The factors of a product.
pub(super) fn flatten<'a>(op: &str, node: &'a Node, found: &mut Vec<&'a Node>) {
    match &node.term {
        Term::Apply(Function::Op(own), args) if own.name == op => args.iter().for_each(|arg| flatten(op, arg, found)),
        // Names of blocks are computed where they are used.
        Term::Block(_, value) => flatten(op, value, found),
        _ => found.push(node),
    }
}
