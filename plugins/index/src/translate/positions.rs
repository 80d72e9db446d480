//! Positions: index maps, boundary modes, and integer arrays of computed positions.

use super::level::{Item, Level};
use super::{Made, Translation, at, refuse, typed, undecided};
use crate::checked::CheckedPosition;
use crate::known::{plus, sub};
use crate::nest::{Boundary, Source, Term};
use crate::ranges::{Check, Placed};
use rewright::expr::{Affine, AxisKind, Index, IndexExpr, Mode, Negative, Operand, Out, SymExpr, Write};
use rewright::{Accessed, Attr, Attrs, DType, Dim, Literal, Loc, Scalar};
use std::sync::Arc;

/// A dim of a size; `?` if it is neither a number nor a symbol.
pub(super) fn dim(size: &SymExpr) -> Dim {
    match (size.as_constant(), size.terms()) {
        (Some(n), _) => Dim::Const(u64::try_from(n).unwrap_or(0)),
        (None, [(name, 1)]) if size.constant == 0 => Dim::Sym(*name),
        _ => Dim::Any,
    }
}

impl Translation<'_, '_, '_> {
    /// The axis of an index and the number that is added to it.
    pub(super) fn axis_of(&self, index: usize, loc: Loc) -> Made<(u32, SymExpr)> {
        let found = self.levels.iter().rev().find_map(|level| level.indices.get(&index).cloned());
        found
            .map_or_else(|| refuse(format!("index `{}` has no value here", self.nest.indices[index].name), loc, ""), Ok)
    }

    /// The sum of the indices of a position and a number.
    pub(super) fn affine(&self, placed: &Placed, offset: &SymExpr, loc: Loc) -> Made<Affine> {
        let mut form = Affine::default();
        form.offset = offset.clone();
        for &(index, c) in &placed.terms {
            let (axis, added) = self.axis_of(index, loc)?;
            let added = crate::known::scale(&added, c).and_then(|added| crate::known::add(&form.offset, &added));
            form.offset = added.map_err(|e| at(e, loc))?;
            form = match form.add_axis(axis, c) {
                Some(form) => form,
                None => return refuse("a position exceeds 64 bits", loc, ""),
            };
        }
        Ok(form)
    }

    /// The operand that reads an array at an access.
    pub(super) fn read_operand(&mut self, access: usize, name: &str) -> Made<Operand> {
        let own = &self.nest.accesses[access];
        let value = self.value_of(name, own.loc)?;
        let dtype = self.known.array(name).map_err(|e| at(e, own.loc))?.dtype;
        let mut index = Vec::new();
        for (dim, along) in own.dims.iter().enumerate() {
            let expr = self.position(access, dim)?;
            let is_gather = matches!(expr, IndexExpr::Gather { .. });
            let mode = match (&along.boundary, self.ranges.checks[access][dim]) {
                (Boundary::Wrap, _) => Mode::Wrap,
                (Boundary::Clamp, _) => Mode::Clamp,
                (Boundary::Pad(_), _) => Mode::Pad(self.padding(dtype)?),
                _ if is_gather => Mode::Check,
                (_, Check::Each) => Mode::Check,
                _ => Mode::Proved,
            };
            index.push(Index { expr, mode });
        }
        let arg = self.arg(value);
        Ok(Operand { name: rewright::Name::new(name), source: rewright::expr::Source::Array(arg), dtype, index })
    }

    /// The first index of a dim of the array of an access.
    fn first(&self, access: usize, dim: usize) -> Made<i64> {
        let own = &self.nest.accesses[access];
        match &own.source {
            Source::Array(name) => {
                let first = self.known.array(name).map_err(|e| at(e, own.loc))?.first.get(dim).copied();
                Ok(first.unwrap_or(self.known.base))
            }
            _ => Ok(self.known.base),
        }
    }

    /// Records a position, if it is verified at each element.
    pub(super) fn note_checked(&mut self, accessed: Accessed, access: usize, dim: usize) -> Made<()> {
        let (own, placed) = (&self.nest.accesses[access], &self.ranges.placed[access][dim]);
        let is_checked = self.ranges.checks[access][dim] == Check::Each || !placed.gathers.is_empty();
        if let (true, Source::Array(name)) = (is_checked, &own.source) {
            let first = self.first(access, dim)?;
            let (array, loc) = (name.clone(), own.dims[dim].loc);
            self.checked.push(CheckedPosition { accessed, array, axis: dim, first, loc, statement: self.nest.loc });
        }
        Ok(())
    }

    /// The position of an access along a dim, from 0.
    pub(super) fn position(&mut self, access: usize, dim: usize) -> Made<IndexExpr> {
        let (nest, ranges) = (self.nest, self.ranges);
        let along = &nest.accesses[access].dims[dim];
        let placed = &ranges.placed[access][dim];
        let first = self.first(access, dim)?;
        let offset = plus(&placed.offset, -first).map_err(|e| at(e, along.loc))?;
        if placed.gathers.is_empty() && !placed.is_computed {
            return Ok(IndexExpr::Affine(self.affine(placed, &offset, along.loc)?));
        }
        if let ([(inner, 1)], false) = (&placed.gathers[..], placed.is_computed)
            && self.is_read_once(access, dim, *inner)
            && let Some(found) = self.direct(*inner, placed, &offset)?
        {
            return Ok(found);
        }
        self.computed(access, dim, &offset)
    }

    /// True unless a position is read from an array at positions that are read from arrays, too, for several
    /// points: an array of such positions is computed once.
    fn is_read_once(&self, access: usize, dim: usize, inner: usize) -> bool {
        let is_nested = self.ranges.placed[inner].iter().any(|placed| !placed.gathers.is_empty() || placed.is_computed);
        let mut indices = Vec::new();
        self.dependencies(access, dim, &mut indices);
        !is_nested || indices.len() == self.nest.indices.len()
    }

    /// A position that is read from an array of integers, if the reads of that array are in bounds.
    pub(super) fn direct(&mut self, inner: usize, placed: &Placed, offset: &SymExpr) -> Made<Option<IndexExpr>> {
        let own = &self.nest.accesses[inner];
        let Source::Array(name) = &own.source else { return Ok(None) };
        if !own.dims.iter().all(|along| matches!(along.boundary, Boundary::Inside)) {
            return Ok(None);
        }
        let mut index = Vec::new();
        for dim in 0..own.dims.len() {
            index.push(self.position(inner, dim)?);
            self.note_checked(Accessed::Positions, inner, dim)?;
        }
        let value = self.value_of(name, own.loc)?;
        let offset = self.affine(placed, offset, own.loc)?;
        Ok(Some(IndexExpr::Gather { arg: self.arg(value), index, offset, negative: Negative::BeforeStart }))
    }

    /// The indices on which a position depends.
    pub(super) fn dependencies(&self, access: usize, dim: usize, found: &mut Vec<usize>) {
        let placed = &self.ranges.placed[access][dim];
        let mut add = |index: usize| {
            if !found.contains(&index) {
                found.push(index);
            }
        };
        placed.terms.iter().for_each(|(index, _)| add(*index));
        for (inner, _) in &placed.gathers {
            (0..self.nest.accesses[*inner].dims.len()).for_each(|dim| self.dependencies(*inner, dim, found));
        }
        if let Some(node) = &self.nest.accesses[access].dims[dim].form.computed {
            self.dependencies_of(node, found);
        }
    }

    /// The indices on which a value depends.
    pub(super) fn dependencies_of(&self, node: &crate::nest::Node, found: &mut Vec<usize>) {
        let mut bound = Vec::new();
        let mut nodes = Vec::new();
        node.walk(&mut |node| nodes.push(node));
        for node in nodes {
            match &node.term {
                Term::Index(index) if !found.contains(index) => found.push(*index),
                Term::Read(access) => {
                    (0..self.nest.accesses[*access].dims.len()).for_each(|dim| self.dependencies(*access, dim, found));
                }
                Term::Local(local) => {
                    if let Some(definition) = self.definitions.get(local).copied() {
                        self.dependencies_of(definition, found);
                    }
                }
                Term::Reduce(_, indices, _) => bound.extend(indices.iter().copied()),
                _ => {}
            }
        }
        found.retain(|index| !bound.contains(index));
    }

    /// A position that is computed into an integer array first.
    fn computed(&mut self, access: usize, dim: usize, offset: &SymExpr) -> Made<IndexExpr> {
        let nest = self.nest;
        let along = &nest.accesses[access].dims[dim];
        let loc = along.loc;
        let mut indices = Vec::new();
        self.dependencies(access, dim, &mut indices);
        indices.sort_unstable();
        let axes = indices.iter().map(|index| self.axis_of(*index, loc)).collect::<Made<Vec<_>>>()?;
        // The array is an instruction of its own, with axes of its own.
        let (levels, args) = (std::mem::take(&mut self.levels), std::mem::take(&mut self.args));
        let made = self.position_array(access, dim, offset, &indices, loc);
        (self.levels, self.args) = (levels, args);
        let value = made?;
        let at_index = |(index, (axis, added)): (&usize, &(u32, SymExpr))| {
            // The axes of the array begin at 0.
            let lo = &self.ranges.indices[*index].lo;
            let mut form = Affine::axis(*axis);
            form.offset = sub(added, lo).map_err(|e| at(e, loc))?;
            Ok(IndexExpr::Affine(form))
        };
        let index = indices.iter().zip(&axes).map(at_index).collect::<Made<Vec<_>>>()?;
        let negative = Negative::BeforeStart;
        Ok(IndexExpr::Gather { arg: self.arg(value), index, offset: Affine::default(), negative })
    }

    fn position_array(
        &mut self,
        access: usize,
        dim: usize,
        offset: &SymExpr,
        indices: &[usize],
        loc: Loc,
    ) -> Made<rewright::Value> {
        let mut level = Level::default();
        let mut dims = Vec::new();
        for &index in indices {
            let (lo, hi) = self.range_of(index, loc)?;
            let extent = sub(&hi, &lo).map_err(|e| at(e, loc))?;
            let name = self.axis_name(index, &level);
            dims.push(self::dim(&extent));
            level.axis(index, &name, lo, extent, AxisKind::Parallel);
        }
        self.levels.push(level);
        let position = self.position_value(access, dim, offset)?;
        let position = self.cast(position, DType::I64, loc)?;
        let value = self.strong(position, loc)?.0;
        let index = (0..indices.len() as u32).map(|axis| IndexExpr::Affine(Affine::axis(axis))).collect();
        let out = Out { dtype: DType::I64, dims, index, fill: None, write: Write::Unique };
        let Some(mut level) = self.levels.pop() else { return refuse("no expression", loc, "") };
        level.body.yields = vec![value];
        let results = self.instruction(level, Vec::new(), vec![out], loc)?;
        Ok(results[0])
    }

    /// A position as a number in the body.
    fn position_value(&mut self, access: usize, dim: usize, offset: &SymExpr) -> Made<Item> {
        let (nest, ranges) = (self.nest, self.ranges);
        let along = &nest.accesses[access].dims[dim];
        let placed = &ranges.placed[access][dim];
        let loc = along.loc;
        let Some(offset) = offset.as_constant() else { return undecided("this position depends on extents", loc) };
        let integer = |n: i64| Item::Weak(Literal::Int(n.into()));
        let mut sum: Option<Item> = None;
        let mut parts: Vec<(Item, i64)> = Vec::new();
        for &(index, c) in &placed.terms {
            let node = crate::nest::Node { term: Term::Index(index), loc };
            parts.push((self.node(&node)?, c));
        }
        for &(inner, c) in &placed.gathers {
            let node = crate::nest::Node { term: Term::Read(inner), loc };
            let item = self.node(&node)?;
            parts.push((self.as_position(item, loc)?, c));
        }
        if let Some(node) = &along.form.computed {
            let item = self.node(node)?;
            parts.push((self.as_position(item, loc)?, 1));
        }
        for (item, c) in parts {
            let scaled = if c == 1 { item } else { self.core("mul", &[item, integer(c)], loc)? };
            sum = Some(match sum {
                Some(sum) => self.core("add", &[sum, scaled], loc)?,
                None => scaled,
            });
        }
        match sum {
            Some(sum) if offset == 0 => Ok(sum),
            Some(sum) => self.core("add", &[sum, integer(offset)], loc),
            None => Ok(Item::Known(rewright::expr::BodyRef::Const(Scalar::I64(offset)), DType::I64)),
        }
    }

    /// An integer as a position. The greatest numbers of `u64` are the greatest position, which no array has.
    pub(super) fn as_position(&mut self, item: Item, loc: Loc) -> Made<Item> {
        let dtype = self.dtype(item, loc)?;
        if !dtype.is_int() {
            let message = format!("this position is {dtype}, and positions are integers");
            return refuse(message, loc, "round it: `int(x)`");
        }
        let item = match dtype {
            DType::U64 => self.core("minimum", &[item, Item::Weak(Literal::Int(i64::MAX.into()))], loc)?,
            _ => item,
        };
        self.cast(item, DType::I64, loc)
    }

    /// The position in a range or an array of equal elements, and whether it is in bounds.
    pub(super) fn computed_position(&mut self, access: usize, dim: usize) -> Made<(Item, Option<Item>)> {
        let (nest, ranges) = (self.nest, self.ranges);
        let along = &nest.accesses[access].dims[dim];
        let loc = along.loc;
        let first = self.first(access, dim)?;
        let offset = plus(&ranges.placed[access][dim].offset, -first).map_err(|e| at(e, loc))?;
        let position = self.position_value(access, dim, &offset)?;
        let bounds = self.extent_of(access, dim)?;
        let extent = Item::Weak(Literal::Int(bounds.into()));
        let (zero, last) = (Item::Weak(Literal::Int(0)), Item::Weak(Literal::Int(i128::from(bounds) - 1)));
        match along.boundary {
            Boundary::Wrap => Ok((self.core("mod", &[position, extent], loc)?, None)),
            Boundary::Clamp => Ok((self.core("clip", &[position, zero, last], loc)?, None)),
            Boundary::Pad(_) => {
                let above = self.core("ge", &[position, zero], loc)?;
                let below = self.core("lt", &[position, extent], loc)?;
                let inside = self.core("bitand", &[above, below], loc)?;
                Ok((position, Some(inside)))
            }
            Boundary::Inside if ranges.checks[access][dim] == Check::Each => {
                refuse("a range is read at positions that are not known before the loops", loc, "make it an array")
            }
            Boundary::Inside => Ok((position, None)),
        }
    }

    /// The extent of a range or of an array of equal elements.
    fn extent_of(&self, access: usize, dim: usize) -> Made<i64> {
        let own = &self.nest.accesses[access];
        let number = |size| self.known.number(size).map_err(|e| at(e, own.loc));
        match &own.source {
            Source::Range(lo, hi) => Ok(number(hi)?.saturating_sub(number(lo)?).saturating_add(1)),
            Source::Filled(_, extents) => extents.get(dim).map_or(Ok(0), number),
            Source::Array(_) => refuse("the extent of an array is not a number here", own.loc, ""),
        }
    }

    /// Appends the instruction of an expression; returns its results.
    pub(super) fn instruction(
        &mut self,
        level: Level,
        reductions: Vec<rewright::expr::Reduction>,
        outs: Vec<Out>,
        loc: Loc,
    ) -> Made<Vec<rewright::Value>> {
        let expr = rewright::ArrayExpr {
            axes: level.axes,
            guard: Vec::new(),
            operands: level.operands,
            body: level.body,
            reductions,
            finish: level.finish,
            outs,
            locs: Vec::new(),
        };
        let types: Vec<_> = self.args.iter().map(|value| self.build.func().ty(*value).clone()).collect();
        if let Some(problem) = rewright::expr::verify(&expr, &types).into_iter().next() {
            return refuse(problem.message, loc, "");
        }
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
        let inst = self.build.inst("arrayexpr", self.args.iter().copied(), attrs, []).map_err(|e| typed(e, loc))?;
        Ok(self.build.func().inst(inst).results.to_vec())
    }
}
