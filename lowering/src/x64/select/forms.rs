//! The forms that values have in a segment.

use super::Val;
use crate::kernel::KValue;

/// By value, its form in the present segment. A kernel may have thousands of segments, so that none of them may look at all values: an entry
/// that was made in another segment is none.
pub struct Forms {
    entries: Vec<(u32, Val)>,
    segment: u32,
}

impl Forms {
    /// For so many values.
    pub fn new(values: usize) -> Forms {
        Forms { entries: vec![(0, Val::Always(false)); values], segment: 1 }
    }

    /// A segment begins.
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
