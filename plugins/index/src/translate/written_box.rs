//! Statements that write a box of an array: an `update` of this part, without fill and mask.

use super::{Made, Translation, at, dim_of};
use crate::known::{KnownArray, add, plus, sub};
use crate::nest::Boundary;
use crate::ranges::Interval;
use rewright::expr::{Affine, IndexExpr, SymExpr};
use rewright::plugin::SliceSpec;
use rewright::{Attr, Attrs, Dim};

/// The box of an array's elements that a statement writes.
pub(super) struct WrittenBox {
    slices: Vec<SliceSpec>,
    pub dims: Vec<Dim>,
    /// The positions in the box, from 0.
    pub index: Vec<IndexExpr>,
}

impl WrittenBox {
    /// The attributes that slice the array.
    pub(super) fn at(&self) -> Attrs {
        Attrs::new().with("at", Attr::Slices(self.slices.clone().into()))
    }
}

/// The slice of the positions from `start` up to `end` of a dim, if they are inside of it for all extents.
fn slice_of(start: &SymExpr, end: &SymExpr, extent: &SymExpr) -> Option<SliceSpec> {
    let (start, behind) = (start.as_constant().filter(|start| *start >= 0)?, sub(extent, end).ok()?.as_constant()?);
    let slice = |start: i64, stop| SliceSpec { start: (start != 0).then_some(start), stop, step: 1 };
    match end.as_constant() {
        Some(end) if end <= start => Some(slice(0, Some(0))),
        _ if behind < 0 => None,
        _ if behind == 0 => Some(slice(start, None)),
        Some(end) => Some(slice(start, Some(end))),
        None => Some(slice(start, Some(-behind))),
    }
}

impl Translation<'_, '_, '_> {
    /// The box of elements that are written, if each dim has a number, or an index of its own whose
    /// coefficient is 1.
    pub(super) fn written_box(&mut self, access: usize, array: &KnownArray) -> Made<Option<WrittenBox>> {
        let mut part = WrittenBox { slices: Vec::new(), dims: Vec::new(), index: Vec::new() };
        let mut used = Vec::new();
        for (dim, along) in self.nest.accesses[access].dims.iter().enumerate() {
            let placed = &self.ranges.placed[access][dim];
            let is_affine = placed.gathers.is_empty() && !placed.is_computed;
            if !(is_affine && matches!(along.boundary, Boundary::Inside)) {
                return Ok(None);
            }
            let (index, range) = match placed.terms[..] {
                [] => (None, Interval { lo: SymExpr::default(), hi: SymExpr::default() }),
                [(index, 1)] if !used.contains(&index) => (Some(index), self.ranges.indices[index].clone()),
                _ => return Ok(None),
            };
            used.extend(index);
            let at_loc = |unknown| at(unknown, along.loc);
            let offset = plus(&placed.offset, -array.first[dim]).map_err(at_loc)?;
            let [start, end] = [add(&range.lo, &offset), plus(&range.hi, 1).and_then(|hi| add(&hi, &offset))];
            let (start, end) = (start.map_err(at_loc)?, end.map_err(at_loc)?);
            let Some(slice) = slice_of(&start, &end, &array.extents[dim]) else { return Ok(None) };
            part.slices.push(slice);
            part.dims.push(dim_of(&sub(&end, &start).map_err(at_loc)?));
            part.index.push(IndexExpr::Affine(match index {
                Some(index) => Affine::axis(self.axis_of(index, along.loc)?.0),
                None => Affine::constant(0),
            }));
        }
        Ok(Some(part))
    }
}
