//! The least and the greatest element of an integer array among those that an access reads.

use super::{Interval, Placed};
use crate::known::{Found, Known, Unknown};
use crate::nest::{Boundary, Nest, Source};
use rewright::Array;

/// The most points that are looked at; of larger accesses the whole array counts.
const MAX_POINTS: i64 = 1 << 22;

/// The extrema of an access of an integer array. `None` if nothing is read.
///
/// # Errors
///
/// If the elements are not known.
pub(super) fn extrema(
    nest: &Nest,
    known: &Known,
    placed: &[Vec<Placed>],
    ranges: &[Option<Interval>],
    access: usize,
) -> Found<Option<(i64, i64)>> {
    let reader = Reader { nest, known, placed };
    let mut indices = Vec::new();
    reader.indices(access, &mut indices);
    let mut spans = Vec::new();
    for &index in &indices {
        let range = ranges[index].as_ref().ok_or(Unknown::Undecided)?;
        let (lo, hi) = (range.lo.as_constant(), range.hi.as_constant());
        spans.push((lo.ok_or(Unknown::Undecided)?, hi.ok_or(Unknown::Undecided)?));
    }
    let points = spans.iter().try_fold(1i64, |n, (lo, hi)| n.checked_mul(hi.checked_sub(*lo)?.checked_add(1)?.max(0)));
    let mut found: Option<(i64, i64)> = None;
    let mut add = |value: i64| {
        let (least, most) = found.unwrap_or((value, value));
        found = Some((least.min(value), most.max(value)));
    };
    match points {
        Some(0) => {}
        Some(n) if n <= MAX_POINTS => {
            let mut point = vec![0; nest.indices.len()];
            indices.iter().zip(&spans).for_each(|(index, (lo, _))| point[*index] = *lo);
            loop {
                // A position out of bounds is an error of its own.
                if let Some(value) = reader.element(access, &point)? {
                    add(value);
                }
                let next = (0..indices.len()).rev().find(|n| {
                    let (index, (lo, hi)) = (indices[*n], spans[*n]);
                    let more = point[index] < hi;
                    point[index] = if more { point[index] + 1 } else { lo };
                    more
                });
                if next.is_none() {
                    break;
                }
            }
        }
        _ => {
            if let Source::Array(_) = &nest.accesses[access].source {
                let elements = reader.elements(access)?;
                elements.iter().filter_map(|scalar| scalar.to_i128().and_then(|n| i64::try_from(n).ok())).for_each(add);
            }
        }
    }
    Ok(found)
}

struct Reader<'a> {
    nest: &'a Nest,
    known: &'a Known,
    placed: &'a [Vec<Placed>],
}

impl Reader<'_> {
    fn indices(&self, access: usize, found: &mut Vec<usize>) {
        for placed in &self.placed[access] {
            for (index, _) in &placed.terms {
                if !found.contains(index) {
                    found.push(*index);
                }
            }
            placed.gathers.iter().for_each(|(inner, _)| self.indices(*inner, found));
        }
    }

    fn elements(&self, access: usize) -> Found<&Array> {
        match &self.nest.accesses[access].source {
            Source::Array(name) => self.known.array(name)?.elements.as_ref().ok_or(Unknown::Undecided),
            _ => Err(Unknown::Undecided),
        }
    }

    /// The element at a point; `None` out of bounds.
    fn element(&self, access: usize, point: &[i64]) -> Found<Option<i64>> {
        let Source::Array(name) = &self.nest.accesses[access].source else { return Err(Unknown::Undecided) };
        let (array, elements) = (self.known.array(name)?, self.elements(access)?);
        let mut at = Vec::new();
        for ((placed, along), (first, &extent)) in self.placed[access]
            .iter()
            .zip(&self.nest.accesses[access].dims)
            .zip(array.first.iter().zip(elements.shape()))
        {
            if placed.is_computed {
                return Err(Unknown::Undecided);
            }
            let mut position = i128::from(placed.offset.as_constant().ok_or(Unknown::Undecided)?);
            for (index, c) in &placed.terms {
                position += i128::from(*c) * i128::from(point[*index]);
            }
            for (inner, c) in &placed.gathers {
                match self.element(*inner, point)? {
                    Some(value) => position += i128::from(*c) * i128::from(value),
                    None => return Ok(None),
                }
            }
            let (position, extent) = (position - i128::from(*first), extent as i128);
            let moved = match along.boundary {
                Boundary::Wrap if extent > 0 => position.rem_euclid(extent),
                Boundary::Clamp if extent > 0 => position.clamp(0, extent - 1),
                Boundary::Pad(_) if !(0..extent).contains(&position) => return Ok(Some(0)),
                _ => position,
            };
            match usize::try_from(moved) {
                Ok(moved) if (moved as i128) < extent => at.push(moved),
                _ => return Ok(None),
            }
        }
        Ok(elements.get(&at).and_then(|scalar| scalar.to_i128()).and_then(|n| i64::try_from(n).ok()))
    }
}
