//! Sets of values, instructions or blocks that are cleared and refilled very often.

use slotmap::{Key, SecondaryMap};

/// Keys without duplicates, in insertion order. Clearing takes constant time, and a reused set does not
/// allocate.
#[derive(Debug)]
pub(crate) struct KeySet<K: Key> {
    list: Vec<K>,
    /// For each key the last round in which it was inserted.
    seen: SecondaryMap<K, u32>,
    round: u32,
}

impl<K: Key> Default for KeySet<K> {
    fn default() -> Self {
        KeySet { list: Vec::new(), seen: SecondaryMap::new(), round: 0 }
    }
}

impl<K: Key> KeySet<K> {
    /// Inserts a key; false if it was present.
    pub fn insert(&mut self, key: K) -> bool {
        let new = self.seen.insert(key, self.round) != Some(self.round);
        if new {
            self.list.push(key);
        }
        new
    }
    pub fn extend(&mut self, keys: impl IntoIterator<Item = K>) {
        for key in keys {
            self.insert(key);
        }
    }
    pub fn contains(&self, key: K) -> bool {
        self.seen.get(key) == Some(&self.round)
    }
    pub fn iter(&self) -> std::slice::Iter<'_, K> {
        self.list.iter()
    }
    /// The keys, in order.
    pub fn as_slice(&self) -> &[K] {
        &self.list
    }
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    pub fn clear(&mut self) {
        self.list.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.seen.clear();
        }
    }
}
