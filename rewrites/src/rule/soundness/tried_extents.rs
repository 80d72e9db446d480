//! The extents that were tried: a record for the verdict.

use super::cases::elements;
use crate::rule::typing::Case;
use rewright_ir::{Attr, Dim};
use std::collections::{BTreeMap, BTreeSet};

/// The shapes of the arrays on which the sides of a rule were compared.
#[derive(Clone, Debug, Default)]
pub(super) struct TriedExtents {
    extents: BTreeSet<usize>,
    /// The greatest number of elements.
    largest: usize,
    /// For each rank the greatest extent of each axis.
    longest: BTreeMap<usize, Vec<usize>>,
}

impl TriedExtents {
    /// Adds the arrays of a case: its operands, and the shapes among its attributes.
    pub fn add(&mut self, case: &Case) {
        self.largest = self.largest.max(elements(case));
        case.shapes.iter().for_each(|shape| self.add_shape(shape));
        for attr in case.attrs.iter().flatten() {
            if let Attr::Dims(dims) = attr {
                let extent = |dim: &Dim| if let Dim::Const(n) = dim { Some(*n as usize) } else { None };
                self.add_shape(&dims.iter().filter_map(extent).collect::<Vec<_>>());
            }
        }
    }

    fn add_shape(&mut self, shape: &[usize]) {
        if shape.is_empty() {
            return;
        }
        self.extents.extend(shape);
        let longest = self.longest.entry(shape.len()).or_insert_with(|| vec![0; shape.len()]);
        longest.iter_mut().zip(shape).for_each(|(most, &extent)| *most = (*most).max(extent));
    }

    /// Keeps only the extents that another choice of ops, or of a number of operands, has tried, too.
    pub fn restrict(&mut self, other: TriedExtents) {
        // A choice without operands has no arrays.
        if self.extents.is_empty() || other.extents.is_empty() {
            if self.extents.is_empty() {
                *self = other;
            }
            return;
        }
        self.largest = self.largest.min(other.largest);
        self.extents.retain(|extent| other.extents.contains(extent));
        self.longest.retain(|rank, _| other.longest.contains_key(rank));
        for (rank, longest) in &mut self.longest {
            longest.iter_mut().zip(&other.longest[rank]).for_each(|(least, &extent)| *least = (*least).min(extent));
        }
    }

    /// The shapes that were not tried, one clause each.
    pub fn not_tried(&self) -> Vec<String> {
        let noun = if self.largest == 1 { "element" } else { "elements" };
        let Some((rank, _)) = self.longest.last_key_value() else { return vec!["arrays".to_string()] };
        let axes = if *rank == 1 { "axis" } else { "axes" };
        let all: Vec<usize> = self.extents.iter().copied().collect();
        vec![
            format!("arrays of more than {} {noun} or {rank} {axes}", self.largest),
            self.not_tried_axes(),
            format!("extents other than {}, and most combinations of these", ranges(&all)),
        ]
    }

    /// The lengths that an axis of some rank never had.
    fn not_tried_axes(&self) -> String {
        let shortest = |(&rank, longest): (&usize, &Vec<usize>)| (rank, longest.iter().copied().min().unwrap_or(0));
        let of_rank: Vec<(usize, usize)> = self.longest.iter().map(shortest).collect();
        let group = |ranks: &[(usize, usize)]| match ranks {
            [(rank, most)] => format!("{most} at rank {rank}"),
            [(_, most), ..] => {
                format!("{most} at ranks {}", ranges(&ranks.iter().map(|(rank, _)| *rank).collect::<Vec<_>>()))
            }
            [] => String::new(),
        };
        let groups: Vec<String> = of_rank.chunk_by(|a, b| a.1 == b.1).map(group).collect();
        format!("axes longer than {}", groups.join(", "))
    }
}

/// Ascending numbers as text: `0 to 5, 9, 11 to 13`.
fn ranges(numbers: &[usize]) -> String {
    let text = |run: &[usize]| match run {
        [one] => one.to_string(),
        [first, .., last] if last - first > 1 => format!("{first} to {last}"),
        run => run.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    };
    let runs: Vec<String> = numbers.chunk_by(|a, b| a + 1 == *b).map(text).collect();
    runs.join(", ")
}
