//! Interleaved buffers: the elements of a few buffers take turns in memory, as those of `a[2 * i]` and
//! `a[2 * i + 1]` do, or the columns of an array of few columns. Loading whole vectors of them and permuting
//! lanes is several times faster than loading each buffer by itself.
//!
//! The list of a kernel is a hint. A code generator that follows it compiles a second version of the kernel
//! and tests at each call whether the addresses are as expected, so that the list changes no result.

use super::{Buffer, Kernel};
use rewright_ir::DType;
use rewright_ir::expr::{MOST_INTERLEAVED, is_interleaved};
use smallvec::SmallVec;

/// The most parts of a point. With more, permutations spill registers.
pub const MOST_PARTS: usize = MOST_INTERLEAVED as usize;
/// Points with more parts than this are only worth whole vectors if at least half of the parts are read.
const FEW_PARTS: usize = 4;

/// Buffers that are interleaved along the innermost axis: a point has one element for each part, and that
/// of the first part is the lowest in memory. Parts that the kernel does not read have no buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Interleaved {
    /// The number of a buffer for each part; the first part has one.
    pub parts: SmallVec<[Option<u32>; 4]>,
}

/// A buffer whose elements are at a known place of an array.
pub struct PlacedBuffer<K> {
    /// The number of the buffer.
    pub number: u32,
    /// Buffers with equal keys have the same strides in the same array.
    pub key: K,
    /// The number of elements from one point to the next along the innermost axis, if it is known.
    pub step: Option<i64>,
    /// The position of the first element, relative to that of other buffers with the same key.
    pub offset: i64,
}

impl Interleaved {
    /// The buffers that the kernel reads, with the numbers of their parts.
    pub fn buffers(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.parts.iter().enumerate().filter_map(|(part, buffer)| Some((part, (*buffer)?)))
    }

    /// The number of parts after the last one that is read.
    pub fn missing(&self) -> usize {
        self.parts.iter().rev().take_while(|part| part.is_none()).count()
    }

    /// Finds buffers that are interleaved. If steps are unknown, a point has only parts that are read and
    /// those between them.
    pub fn find<K: PartialEq>(placed: &[PlacedBuffer<K>]) -> Vec<Interleaved> {
        let mut found = Vec::new();
        let mut taken = vec![false; placed.len()];
        for (at, first) in placed.iter().enumerate() {
            if taken[at] {
                continue;
            }
            let is_alike = |n: &usize| placed[*n].key == first.key && placed[*n].step == first.step;
            let mut alike: Vec<&PlacedBuffer<K>> = Vec::new();
            for n in (at..placed.len()).filter(is_alike) {
                alike.push(&placed[n]);
                taken[n] = true;
            }
            alike.sort_by_key(|buffer| buffer.offset);
            let span = alike.last().map_or(0, |last| last.offset.saturating_sub(first_of(&alike)));
            let step = first.step.unwrap_or(span.saturating_add(1));
            if !(2..=MOST_PARTS as i64).contains(&step) {
                continue;
            }
            let mut rest = &alike[..];
            while !rest.is_empty() {
                let base = first_of(rest);
                let (own, others) =
                    rest.split_at(rest.partition_point(|buffer| buffer.offset.saturating_sub(base) < step));
                let mut group = Interleaved { parts: SmallVec::from_elem(None, step as usize) };
                own.iter().for_each(|own| group.parts[(own.offset - base) as usize] = Some(own.number));
                found.extend(group.is_worth().then_some(group));
                rest = others;
            }
        }
        found
    }

    fn is_worth(&self) -> bool {
        is_interleaved(self.parts.len() as i64)
            && (self.parts.len() <= FEW_PARTS || 2 * self.buffers().count() >= self.parts.len())
    }
}

/// The lowest offset, if these are sorted.
fn first_of<K>(sorted: &[&PlacedBuffer<K>]) -> i64 {
    sorted.first().map_or(0, |buffer| buffer.offset)
}

impl Kernel {
    /// The interleaved buffers for which vectors can be loaded: a kernel without a fold or steps reads each,
    /// and their elements have 4 or 8 bytes.
    pub fn interleaved_reads(&self) -> Vec<&Interleaved> {
        let Some(inner) = self.vector_axis().filter(|_| self.fold.is_none() && self.steps.is_none()) else {
            return Vec::new();
        };
        let is_read = |buffer: &Buffer| {
            let is_wide = matches!(buffer.dtype.size(), 4 | 8) && !matches!(buffer.dtype, DType::C64);
            is_wide && !buffer.written && buffer.varies[inner]
        };
        let mut used = vec![false; self.buffers.len()];
        let mut is_fit = |group: &&Interleaved| {
            let mut numbers = group.buffers().map(|(_, number)| number as usize);
            let Some(first) = group.parts.first().copied().flatten() else { return false };
            let Some(first) = self.buffers.get(first as usize) else { return false };
            (2..=MOST_PARTS).contains(&group.parts.len())
                && numbers.all(|number| {
                    self.buffers.get(number).is_some_and(|buffer| is_read(buffer) && buffer == first)
                        && !std::mem::replace(&mut used[number], true)
                })
        };
        self.interleaved.iter().filter(&mut is_fit).collect()
    }
}
