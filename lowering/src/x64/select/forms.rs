//! The forms of values in a segment.

use super::Val;
use crate::kernel::KValue;

/// The form of each value in the present segment. A kernel may have thousands of segments, so clearing must
/// not visit all values: an entry is valid only if its segment number is the present one.
pub struct Forms {
    entries: Vec<(u32, Val)>,
    segment: u32,
}

impl Forms {
    /// Forms of this number of values.
    pub fn new(values: usize) -> Forms {
        Forms { entries: vec![(0, Val::Always(false)); values], segment: 1 }
    }

    /// Begins a segment.
    pub fn clear(&mut self) {
        self.segment += 1;
    }

    pub fn set(&mut self, value: KValue, form: Val) {
        self.entries[value.0 as usize] = (self.segment, form);
    }

    pub fn get(&self, value: KValue) -> Option<Val> {
        let (segment, form) = self.entries[value.0 as usize];
        (segment == self.segment).then_some(form)
    }
}
