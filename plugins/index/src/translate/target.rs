//! Results: new arrays, scalars, and arrays that are changed.

use super::axes::{Accesses, AxisOrder, COPIED, DISPERSED, Freedom};
use super::level::{Item, Level};
use super::positions::dim;
use super::products::{Part, Products, Summand, factors};
use super::reductions::{Start, identity};
use super::{Made, Outcome, Refusal, Translation, at, refuse, typed, undecided};
use crate::known::{plus, sub};
use crate::nest::{Along, Boundary, Reducer, Role, Write as Place};
use crate::syntax::Assign;
use crate::write_map::{self, WriteMap};
use rewright::expr::{
    Affine, AxisKind, BodyRef, Index, IndexExpr, Mode, Monoid, Operand, Out, Reduction, Source, SymExpr, Write,
};
use rewright::{Accessed, Attr, Attrs, DType, Diagnostic, Dim, Loc, Scalar, Value};

/// The result of a statement as the expression writes it.
struct Written {
    dims: Vec<Dim>,
    index: Vec<IndexExpr>,
    extents: Vec<SymExpr>,
    first: Vec<i64>,
    /// Every element is written once.
    is_whole: bool,
    /// Two points may write one element.
    is_repeated: bool,
}

/// The dims of a result in the order of their axes, if the last axis is parallel and is not the last dim.
fn in_order_of_axes(level: &Level, index: &[IndexExpr]) -> Option<Vec<usize>> {
    let axis = |expr: &IndexExpr| match expr {
        IndexExpr::Affine(form) => form.axes().first().map(|(axis, _)| *axis as usize),
        _ => None,
    };
    let axes: Vec<usize> = index.iter().map(axis).collect::<Option<_>>()?;
    let last = level.axes.len().checked_sub(1).filter(|last| level.axes[*last].kind == AxisKind::Parallel)?;
    if *axes.last()? == last {
        return None;
    }
    let mut order: Vec<usize> = (0..axes.len()).collect();
    order.sort_by_key(|dim| axes[*dim]);
    Some(order)
}

impl<'a> Translation<'a, '_, '_> {
    pub(super) fn statement(&mut self) -> Made<Outcome> {
        let nest = self.nest;
        let loc = nest.loc;
        let factored = self.factored();
        let mut orders: Vec<String> = factored.iter().map(|factored| self.shown_order(factored, self.text)).collect();
        let of = |role: Role| (0..nest.indices.len()).filter(|index| nest.indices[*index].role == role).collect();
        let (parallel, mut reduced): (Vec<usize>, Vec<usize>) = (of(Role::Parallel), of(Role::Reduced));
        let mut products = match &factored {
            Some(factored) => {
                let (parts, left) = self.contract(factored)?;
                reduced.retain(|index| left.contains(index));
                Products { op: factored.op, parts, reducer: nest.reduction }
            }
            None => factors(nest.reduction, &nest.body, nest.strict),
        };
        let reduces = !reduced.is_empty();
        let (freedom, write) = (self.freedom(), self.steps_of_target());
        let is_new = nest.target.assign == Assign::New && freedom.parallel;
        let dispersed = if is_new { COPIED } else { DISPERSED };
        let order = |this: &Self, parts: &[Part<'_>], reduced: &[usize]| {
            let accesses = Accesses { reads: this.reads_of_parts(parts), write: write.clone(), dispersed };
            this.axis_order(&parallel, reduced, freedom, &accesses)
        };
        let first = order(self, &products.parts, &reduced);
        for part in &products.parts {
            if let Part::Written(node) = part {
                self.hoist(&first, node)?;
            }
        }
        let mut axes = order(self, &products.parts, &reduced);
        let is_tuple = !nest.target.parts.is_empty() || nest.body.parts().len() > 1;
        let mut is_whole = factored.is_none();
        if let (Some(row), true, false) = (self.row_of(&axes, &products.parts), freedom.reduced, is_tuple) {
            reduced.retain(|index| *index != row);
            let kept = parallel.iter().chain(&reduced).copied().collect();
            products.parts = vec![self.intermediate(&products, kept, vec![row], loc)?];
            axes = order(self, &products.parts, &reduced);
            is_whole = false;
            orders.push(format!("rows along {} are reduced first", nest.indices[row].name));
        }
        let level = self.open_level(&axes, loc)?;
        self.levels.push(level);
        let summands = match self.fused_column(&axes, &products.parts) {
            _ if is_tuple => {
                nest.body.parts().iter().map(|(_, part)| self.node(part).map(Summand::One)).collect::<Made<Vec<_>>>()?
            }
            None if is_whole => vec![Summand::One(self.node(&nest.body)?)],
            column => vec![self.summand(&products, column, loc)?],
        };
        orders.extend(self.stored.iter().map(|(node, _, indices)| self.shown_part(node, indices)));
        if reduces {
            orders.push(self.shown_axes(&axes, &summands));
        }
        let outcome = match &nest.target.dims {
            None => self.scalar_target(&summands, reduces),
            Some(dims) if nest.target.assign == Assign::New => self.new_array(dims, &summands, reduces),
            Some(dims) => self.changed_array(dims, &summands, reduces),
        };
        outcome.map(|outcome| Outcome { orders, ..outcome })
    }

    /// The explanation of an order of axes.
    fn shown_axes(&self, axes: &AxisOrder, summands: &[Summand]) -> String {
        let shown = |index: &usize| {
            let name = &self.nest.indices[*index].name;
            if axes.is_reduced(*index) { format!("{name} (reduced)") } else { name.clone() }
        };
        let list: Vec<String> = axes.indices.iter().map(shown).collect();
        let rounding = match summands {
            [Summand::One(_), ..] | [] => "",
            [Summand::Product(..), ..] => "; a product and its addition are rounded once",
        };
        format!("axes: {}{rounding}", list.join(", "))
    }

    /// The axes that may change places. Points that write one element keep their order.
    fn freedom(&self) -> Freedom {
        let nest = self.nest;
        let is_free = |along: &Along| along.form.gathers.is_empty() && along.form.computed.is_none();
        let is_apart = match nest.accesses.iter().position(|access| access.is_write) {
            Some(access) => write_map::analyse(nest, self.ranges, access) == WriteMap::Determined,
            None => nest.target.dims.iter().flatten().all(|place| match place {
                Place::At(along) => is_free(along),
                _ => true,
            }),
        };
        Freedom { parallel: is_apart, reduced: matches!(nest.reduction, Reducer::Builtin(_)) && !nest.strict }
    }

    /// The reductions of the body, if there are any. Returns its values, or their accumulators.
    fn reduced(
        &mut self,
        summands: &[Summand],
        reduces: bool,
        start: Option<Start>,
    ) -> Made<(Vec<Item>, Vec<Reduction>)> {
        let nest = self.nest;
        let mut results = Vec::new();
        if !reduces {
            for summand in summands {
                let (value, dtype) = self.strong(summand.item(), nest.loc)?;
                results.push(Item::Known(value, dtype));
            }
            // All reduced indices may be summed out in intermediate arrays.
            self.level().results = results.clone();
            return Ok((results, Vec::new()));
        }
        let loc = nest.reduction_loc;
        let mut starts = vec![start; summands.len()];
        if let (Some(init), None) = (&nest.init, start) {
            starts = init
                .parts()
                .iter()
                .map(|(_, part)| self.constant(part).map(|n| Some(Start::Number(n))))
                .collect::<Made<_>>()?;
        }
        let (mut reductions, mut values, mut next) = (Vec::new(), Vec::new(), 0);
        match summands {
            [_, _, ..] if self.is_ordered() => {
                let (reduction, dtypes) = self.extremum_of_tuples(summands, &starts, loc)?;
                for (summand, dtype) in summands.iter().zip(dtypes) {
                    values.extend(self.yielded(summand, dtype, loc)?);
                    results.push(Item::Known(BodyRef::Acc(results.len() as u32), dtype));
                }
                reductions.push(reduction);
            }
            _ => {
                for (summand, start) in summands.iter().zip(starts) {
                    let (reduction, dtype) = self.reduction(nest.reduction, summand, start, loc, nest.strict)?;
                    values.extend(self.yielded(summand, dtype, loc)?);
                    results.push(Item::Known(BodyRef::Acc(next), dtype));
                    next += reduction.accumulators.len() as u32;
                    reductions.push(reduction);
                }
            }
        }
        let level = self.level();
        level.body.yields = values;
        level.is_finish = true;
        level.locals.clear();
        level.results = results.clone();
        Ok((results, reductions))
    }

    /// Whether tuples are compared, and not combined part by part.
    fn is_ordered(&self) -> bool {
        use Monoid::{ArgMax, ArgMin, Max, Min};
        matches!(self.nest.reduction, Reducer::Builtin(Min | Max | ArgMin | ArgMax))
    }

    /// Applies the finisher of the statement.
    fn finished(&mut self, results: Vec<Item>) -> Made<Vec<Item>> {
        let Some(finish) = &self.nest.finish else { return Ok(results) };
        let mut values = Vec::new();
        for (_, part) in finish.parts() {
            let item = self.node(part)?;
            let (value, dtype) = self.strong(item, part.loc)?;
            values.push(Item::Known(value, dtype));
        }
        Ok(values)
    }

    /// The values of items and their dtypes.
    fn all_strong(&self, items: &[Item]) -> Made<(Vec<BodyRef>, Vec<DType>)> {
        let values = items.iter().map(|item| self.strong(*item, self.nest.loc)).collect::<Made<Vec<_>>>()?;
        Ok(values.into_iter().unzip())
    }

    /// Ends the expression with these values of its results.
    fn yields(&mut self, values: Vec<BodyRef>, reductions: &[Reduction]) -> Made<Level> {
        let Some(mut level) = self.levels.pop() else { return refuse("no expression", self.nest.loc, "") };
        let accumulators = reductions.iter().map(|reduction| reduction.accumulators.len()).sum::<usize>() as u32;
        let is_plain = level.finish.is_none() && values.iter().copied().eq((0..accumulators).map(BodyRef::Acc));
        match reductions {
            [] => level.body.yields = values,
            _ if is_plain => {}
            _ => level.finish.get_or_insert_default().yields = values,
        }
        Ok(level)
    }

    // --- Scalars ----------------------------------------------------------------------------------

    fn scalar_target(&mut self, summands: &[Summand], reduces: bool) -> Made<Outcome> {
        let nest = self.nest;
        let loc = nest.loc;
        let target = &nest.target;
        let is_new = matches!(target.assign, Assign::New | Assign::Store);
        let old = if is_new { None } else { Some(self.value_of(&target.name, target.loc)?) };
        if let Some(old) = old
            && !self.build.func().ty(old).is_scalar()
        {
            let ty = self.build.func().ty(old);
            return refuse(format!("`{}` is {ty}", target.name), target.loc, "write its positions on the left side");
        }
        let accumulates = matches!(target.assign, Assign::Add | Assign::Multiply | Assign::Combine);
        let start = match old {
            Some(old) if reduces && accumulates => {
                // The accumulator starts from the old value.
                let own = self.build.func().ty(old).dtype();
                let start = Some(Start::Existing(0, own));
                let (_, dtype) = self.reduction(nest.reduction, &summands[0], start, loc, nest.strict)?;
                let wide = self.cast_value(old, dtype, loc)?;
                let array = self.build.op_with("to_array", [wide], Attrs::new()).map_err(|e| typed(e, loc))?;
                Some(Start::Existing(self.arg(array), own))
            }
            _ => None,
        };
        let is_started = start.is_some();
        let (results, reductions) = self.reduced(summands, reduces, start)?;
        let results = match old.filter(|_| !is_started) {
            None => self.finished(results)?,
            Some(old) => {
                let arg = self.arg(old);
                let dtype = self.build.func().ty(old).dtype();
                let name = rewright::Name::new(&target.name);
                let old =
                    self.operand(&target.name, Operand { name, source: Source::Scalar(arg), dtype, index: Vec::new() });
                vec![self.joined_and_finished(old, results, loc)?]
            }
        };
        let (values, dtypes) = self.all_strong(&results)?;
        let level = self.yields(values, &reductions)?;
        let out = |dtype| Out { dtype, dims: Vec::new(), index: Vec::new(), fill: None, write: Write::Unique };
        let results = self.instruction(level, reductions, dtypes.into_iter().map(out).collect(), loc)?;
        let item = |value: Value| self.build.op("item", [value]).map_err(|e| typed(e, loc));
        let values = results.into_iter().map(item).collect::<Made<Vec<_>>>()?;
        Ok(Outcome { values, ..Outcome::default() })
    }

    /// The old and the new value, combined as the assignment says.
    fn joined(&mut self, old: Item, new: Item, loc: Loc) -> Made<Item> {
        let op = match (self.nest.target.assign, self.nest.reduction) {
            (Assign::Subtract, _) => "sub",
            (Assign::Divide, _) => "div",
            (_, Reducer::Function(op)) => return self.op(op, &[old, new], loc),
            (_, Reducer::Builtin(monoid)) => match monoid {
                Monoid::Sum | Monoid::Dot => "add",
                Monoid::Prod => "mul",
                Monoid::Min | Monoid::ArgMin => "minimum",
                Monoid::Max | Monoid::ArgMax => "maximum",
                Monoid::Any => "bitor",
                Monoid::All => "bitand",
            },
        };
        self.core(op, &[old, new], loc)
    }

    /// The finisher of the old value that the total is accumulated to. The total that is subtracted, or that
    /// divides, is finished before, and so is a tuple.
    fn joined_and_finished(&mut self, old: Item, results: Vec<Item>, loc: Loc) -> Made<Item> {
        let accumulates = !matches!(self.nest.target.assign, Assign::Subtract | Assign::Divide);
        if let (true, [total]) = (accumulates, &results[..]) {
            let total = *total;
            let joined = self.joined(old, total, loc)?;
            self.level().results = vec![joined];
            return Ok(self.finished(vec![joined])?[0]);
        }
        let total = self.finished(results)?[0];
        self.joined(old, total, loc)
    }

    fn cast_value(&mut self, value: Value, to: DType, loc: Loc) -> Made<Value> {
        if self.build.func().ty(value).dtype() == to {
            return Ok(value);
        }
        let attrs = Attrs::new().with("to", Attr::DType(to));
        self.build.op_with("cast", [value], attrs).map_err(|e| typed(e, loc))
    }

    // --- New arrays -------------------------------------------------------------------------------

    fn new_array(&mut self, dims: &[Place], summands: &[Summand], reduces: bool) -> Made<Outcome> {
        let nest = self.nest;
        let loc = nest.loc;
        let written = self.new_places(dims)?;
        let (results, reductions) = self.reduced(summands, reduces, None)?;
        let results = self.finished(results)?;
        let (values, dtypes) = self.all_strong(&results)?;
        let write = if written.is_repeated { Write::LastWins } else { Write::Unique };
        let mut outs = Vec::new();
        for dtype in dtypes {
            let fill = if written.is_whole { None } else { Some(self.padding(dtype)?) };
            outs.push(Out { dtype, dims: written.dims.clone(), index: written.index.clone(), fill, write });
        }
        let level = self.yields(values, &reductions)?;
        let order =
            if written.is_whole && !reductions.is_empty() { in_order_of_axes(&level, &written.index) } else { None };
        if let Some(order) = &order {
            for out in &mut outs {
                out.dims = order.iter().map(|dim| written.dims[*dim]).collect();
                out.index = order.iter().map(|dim| written.index[*dim].clone()).collect();
            }
        }
        let mut values = self.instruction(level, reductions, outs, loc)?;
        if let Some(order) = &order {
            for value in &mut values {
                *value = self.permuted(*value, order, &written, loc)?;
            }
        }
        Ok(Outcome { values, extents: Some(written.extents), first: written.first, ..Outcome::default() })
    }

    /// A copy of an array whose dims are those of a result in another order.
    fn permuted(&mut self, value: Value, order: &[usize], written: &Written, loc: Loc) -> Made<Value> {
        let (levels, args) = (std::mem::take(&mut self.levels), std::mem::take(&mut self.args));
        let dtype = self.build.func().ty(value).dtype();
        let mut level = Level::default();
        for (dim, extent) in written.extents.iter().enumerate() {
            level.axis(dim, &format!("d{dim}"), SymExpr::default(), extent.clone(), AxisKind::Parallel);
        }
        let axis = |dim: &usize| IndexExpr::Affine(Affine::axis(*dim as u32));
        let index = order.iter().map(|dim| Index { expr: axis(dim), mode: Mode::Proved }).collect();
        self.levels.push(level);
        let source = Source::Array(self.arg(value));
        let item = self.operand("t", Operand { name: rewright::Name::new("t"), source, dtype, index });
        let value = self.strong(item, loc)?.0;
        let level = self.yields(vec![value], &[])?;
        let index = (0..order.len()).map(|dim| axis(&dim)).collect();
        let out = Out { dtype, dims: written.dims.clone(), index, fill: None, write: Write::Unique };
        let results = self.instruction(level, Vec::new(), vec![out], loc)?;
        (self.levels, self.args) = (levels, args);
        Ok(results[0])
    }

    fn new_places(&mut self, dims: &[Place]) -> Made<Written> {
        let (nest, base) = (self.nest, self.known.base);
        let mut written = Written {
            dims: Vec::new(),
            index: Vec::new(),
            extents: Vec::new(),
            first: Vec::new(),
            is_whole: true,
            is_repeated: false,
        };
        let mut used: Vec<usize> = Vec::new();
        for place in dims {
            let (index, is_moved, loc) = match place {
                Place::One => {
                    written.dims.push(Dim::Const(1));
                    written.index.push(IndexExpr::Affine(Affine::constant(0)));
                    written.extents.push(SymExpr::constant(1));
                    written.first.push(base);
                    continue;
                }
                Place::Moved(index) => (*index, true, nest.target.loc),
                Place::At(along) => match (&along.form.terms[..], &along.form.gathers[..]) {
                    ([(index, _)], []) => (*index, false, along.loc),
                    (_, [(access, _)]) => {
                        let found = self.gathered_place(*access, along.loc)?;
                        written.index.push(found.0);
                        written.dims.push(Dim::Const(found.1));
                        written.extents.push(SymExpr::constant(found.1 as i64));
                        written.first.push(base);
                        (written.is_whole, written.is_repeated) = (false, true);
                        continue;
                    }
                    _ => return refuse("the extent of a new array does not follow from this position", along.loc, ""),
                },
            };
            let range = &self.ranges.indices[index];
            let extent = plus(&range.hi, 1).and_then(|end| sub(&end, &range.lo)).map_err(|e| at(e, loc))?;
            let first = match range.lo.as_constant() {
                _ if is_moved => base,
                Some(lo) if lo == base => base,
                Some(lo) if nest.origin => lo,
                Some(_) => {
                    let name = &nest.indices[index].name;
                    let range = crate::ranges::shown_range(range, base);
                    let help =
                        format!("write `{name} + _` to begin at {base}, or the option `origin` to keep the range");
                    return refuse(
                        format!("index `{name}` has the range {range}, and a new array begins at {base}"),
                        loc,
                        &help,
                    );
                }
                None => return undecided("the first index of the result depends on extents", loc),
            };
            // Only the first dim of a repeated index follows its axis; the others are as long.
            written.is_whole &= !used.contains(&index);
            used.push(index);
            let axis = self.axis_of(index, loc)?.0;
            written.dims.push(dim(&extent));
            written.index.push(IndexExpr::Affine(Affine::axis(axis)));
            written.extents.push(extent);
            written.first.push(first);
        }
        Ok(written)
    }

    /// The positions of a scatter into a new array, and the extent that holds them all.
    fn gathered_place(&mut self, access: usize, loc: Loc) -> Made<(IndexExpr, u64)> {
        let base = self.known.base;
        let extrema = crate::ranges::extrema_of(self.nest, self.known, self.ranges, access);
        let extent = match extrema {
            Ok(Some((least, _))) if least < base => {
                let message = format!("the least position is {least}, and a new array begins at {base}");
                return refuse(message, loc, "assign by `=` to an array that is there");
            }
            Ok(Some((_, most))) => most.saturating_sub(base).saturating_add(1),
            Ok(None) => 0,
            Err(_) => {
                let help = "give the arrays; for positions from an earlier statement, assign by `=` to an array that \
                            is there";
                let error = Diagnostic::new("the extent of the result depends on positions in an array");
                return Err(Refusal::Undecided(Box::new(error.at(loc).help(help))));
            }
        };
        let placed = crate::ranges::Placed { gathers: vec![(access, 1)], ..Default::default() };
        let offset = SymExpr::constant(-base);
        match self.direct(access, &placed, &offset)? {
            Some(expr) => Ok((expr, u64::try_from(extent).unwrap_or(0))),
            None => refuse("positions of a new array are read in bounds", loc, "compute them into an array first"),
        }
    }

    // --- Arrays that are changed ------------------------------------------------------------------

    fn changed_array(&mut self, dims: &[Place], summands: &[Summand], reduces: bool) -> Made<Outcome> {
        let nest = self.nest;
        let summand = &summands[0];
        let (loc, target) = (nest.loc, &nest.target);
        let old = self.value_of(&target.name, target.loc)?;
        let array = self.known.array(&target.name).map_err(|e| at(e, target.loc))?.clone();
        let Some(access) = nest.accesses.iter().position(|access| access.is_write) else {
            return refuse("the left side has no positions", target.loc, "");
        };
        let map = write_map::analyse(nest, self.ranges, access);
        let is_store = target.assign == Assign::Store;
        if let (true, WriteMap::Open(Some((a, b)))) = (is_store, &map) {
            let help = "combine the values: `+=`, `*=` or `(max) ... ^=`";
            return refuse(format!("the points {a} and {b} write one element"), target.loc, help);
        }
        // Where points may meet, they combine first, and then with the old element.
        let is_repeated = match map {
            WriteMap::Gathered => true,
            WriteMap::Open(_) => !is_store,
            WriteMap::Determined => false,
        };
        let is_whole = !is_repeated && self.is_whole(access, dims);
        let mut index = Vec::new();
        for dim in 0..dims.len() {
            index.push(self.position(access, dim)?);
            self.note_checked(Accessed::Result(0), access, dim)?;
        }
        let accumulates = matches!(target.assign, Assign::Add | Assign::Multiply | Assign::Combine);
        let part = if is_whole || is_repeated { None } else { self.written_box(access, &array)? };
        let start = match () {
            _ if !(reduces && accumulates) => None,
            _ if is_repeated => Some(Start::Identity),
            // The old element is added to the total.
            _ if matches!(summand, Summand::Product(..)) => None,
            _ => {
                let start = Start::Existing(0, array.dtype);
                let (_, dtype) = self.reduction(nest.reduction, summand, Some(start), loc, nest.strict)?;
                let own = match &part {
                    Some(part) => self.build.op_with("slice", [old], part.at()).map_err(|e| typed(e, loc))?,
                    None => old,
                };
                let wide = self.cast_value(own, dtype, loc)?;
                Some(Start::Existing(self.arg(wide), array.dtype))
            }
        };
        let is_started = matches!(start, Some(Start::Existing(..)));
        if let (true, false, Some(finish)) = (is_repeated, is_store, &nest.finish) {
            let help = "apply the function to the array in a statement of its own";
            return refuse("several points write one element, so no point has its total", finish.loc, help);
        }
        let (results, reductions) = self.reduced(summands, reduces, start)?;
        let mut result = match is_store || is_started || is_repeated {
            true => self.finished(results)?[0],
            false => {
                let operand = self.old_element(access, old, &index, array.dtype)?;
                self.joined_and_finished(operand, results, loc)?
            }
        };
        if let (true, false, Reducer::Builtin(monoid)) = (is_repeated, is_store, nest.reduction) {
            let wide = monoid.accumulator(self.dtype(result, loc)?);
            result = self.cast(result, wide, loc)?;
        }
        let (value, dtype) = self.strong(result, loc)?;
        if (is_store || !is_repeated) && dtype.kind() > array.dtype.kind() {
            let help = format!("convert them: `{}(...)`", array.dtype);
            let message = format!("`{}` has elements of {}, and the new ones are {dtype}", target.name, array.dtype);
            return refuse(message, target.loc, &help);
        }
        let known_dims: Vec<Dim> = self.build.func().ty(old).dims().to_vec();
        let named = known_dims.iter().all(|dim| *dim != Dim::Any);
        if !named && !is_whole {
            return undecided("the extents of an array that is changed are not known", target.loc);
        }
        if is_whole {
            let level = self.yields(vec![value], &reductions)?;
            let out = Out { dtype: array.dtype, dims: known_dims, index, fill: None, write: Write::Unique };
            let results = self.instruction(level, reductions, vec![out], loc)?;
            return Ok(Outcome {
                values: results,
                extents: Some(array.extents),
                first: array.first,
                ..Outcome::default()
            });
        }
        if let Some(part) = part {
            let level = self.yields(vec![value], &reductions)?;
            let at = part.at();
            let out = Out { dtype: array.dtype, dims: part.dims, index: part.index, fill: None, write: Write::Unique };
            let new = self.instruction(level, reductions, vec![out], loc)?[0];
            let value = self.build.op_with("update", [old, new], at).map_err(|e| typed(e, loc))?;
            let (extents, first) = (Some(array.extents), array.first);
            return Ok(Outcome { values: vec![value], extents, first, ..Outcome::default() });
        }
        // The new elements, and where they are.
        let (own, fill, write) = match (is_store || !is_repeated, is_repeated) {
            (true, repeated) => {
                let write = if repeated { Write::LastWins } else { Write::Unique };
                (array.dtype, Scalar::zero(array.dtype), write)
            }
            (false, _) => {
                let (Reducer::Builtin(monoid), Some(identity)) = (nest.reduction, identity(nest.reduction, dtype))
                else {
                    let help = "use `+`, `*`, `max`, `min`, `&` or `|`";
                    return refuse(
                        "several points write one element, and this reduction has no identity",
                        target.loc,
                        help,
                    );
                };
                (dtype, identity, Write::Combine(monoid))
            }
        };
        // Where no point writes, the neutral element leaves the old one as it is; else a mask says where.
        let neutral = if is_store || !is_repeated { None } else { self.neutral(fill, array.dtype) };
        let mut values = vec![value];
        let fill = Some(neutral.unwrap_or(fill));
        let mut outs = vec![Out { dtype: own, dims: known_dims.clone(), index: index.clone(), fill, write }];
        if neutral.is_none() {
            values.push(BodyRef::Const(Scalar::Bool(true)));
            let write = if is_repeated { Write::LastWins } else { Write::Unique };
            outs.push(Out { dtype: DType::Bool, dims: known_dims, index, fill: Some(Scalar::Bool(false)), write });
        }
        let level = self.yields(values, &reductions)?;
        let results = self.instruction(level, reductions, outs, loc)?;
        let mut new = results[0];
        if is_repeated && !is_store {
            let op = match (target.assign, nest.reduction) {
                (Assign::Subtract, _) => "sub",
                (Assign::Divide, _) => "div",
                (_, Reducer::Builtin(Monoid::Sum)) => "add",
                (_, Reducer::Builtin(Monoid::Prod)) => "mul",
                (_, Reducer::Builtin(Monoid::Max)) => "maximum",
                (_, Reducer::Builtin(Monoid::Min)) => "minimum",
                (_, Reducer::Builtin(Monoid::All)) => "bitand",
                _ => "bitor",
            };
            new = self.build.op(op, [old, new]).map_err(|e| typed(e, loc))?;
            let found = self.build.func().ty(new).dtype();
            if found.kind() > array.dtype.kind() {
                let message =
                    format!("`{}` has elements of {}, and the new ones are {found}", target.name, array.dtype);
                return refuse(message, target.loc, &format!("convert them: `{}(...)`", array.dtype));
            }
            new = self.cast_value(new, array.dtype, loc)?;
        }
        let value = match results.get(1) {
            Some(mask) => self.build.op("where", [*mask, new, old]).map_err(|e| typed(e, loc))?,
            None => new,
        };
        Ok(Outcome { values: vec![value], extents: Some(array.extents), first: array.first, ..Outcome::default() })
    }

    /// The value whose combination with any old element is this element, given the identity of the reduction.
    fn neutral(&self, identity: Scalar, old: DType) -> Option<Scalar> {
        let dtype = identity.dtype();
        let (is_sum, is_inexact) = (self.nest.reduction == Reducer::Builtin(Monoid::Sum), dtype.is_float());
        // The greatest number of a dtype is no minimum of numbers of a wider one.
        let is_number = is_sum || self.nest.reduction == Reducer::Builtin(Monoid::Prod);
        if !is_number && dtype.promote(old) != dtype {
            return None;
        }
        match self.nest.target.assign {
            // A product with 1 is not the same number, if a part is infinite.
            _ if dtype.is_complex() || old.is_complex() => None,
            // Sums begin at 0, which loses the sign of a zero, as do those of integers.
            Assign::Add if is_sum && old.is_float() && (self.nest.strict || !is_inexact) => None,
            Assign::Add if is_sum && dtype.is_float() => Some(Scalar::F64(-0.0).cast(dtype)),
            _ => Some(identity),
        }
    }

    /// The old element at the position that is written.
    fn old_element(&mut self, access: usize, old: Value, index: &[IndexExpr], dtype: DType) -> Made<Item> {
        let name = &self.nest.target.name;
        let arg = self.arg(old);
        let read = |expr: &IndexExpr| rewright::expr::Index {
            expr: expr.clone(),
            mode: match expr {
                IndexExpr::Affine(_) => rewright::expr::Mode::Proved,
                _ => rewright::expr::Mode::Check,
            },
        };
        let index = index.iter().map(read).collect();
        self.element(access, Operand { name: rewright::Name::new(name), source: Source::Array(arg), dtype, index })
    }

    /// Whether every element of the array is written: each dim by an index of its own, along all of it.
    fn is_whole(&self, access: usize, dims: &[Place]) -> bool {
        let mut used = Vec::new();
        dims.iter().enumerate().all(|(dim, place)| {
            let Place::At(along) = place else { return false };
            let placed = &self.ranges.placed[access][dim];
            let ([(index, 1)], true) = (&placed.terms[..], placed.gathers.is_empty() && !placed.is_computed) else {
                return false;
            };
            let is_new = !used.contains(index);
            used.push(*index);
            let range = &self.ranges.indices[*index];
            let allowed = &self.ranges.allowed[access][dim];
            let is_inside = matches!(along.boundary, Boundary::Inside);
            is_new && is_inside && placed.offset == SymExpr::default() && range == allowed
        })
    }
}
