//! A filter that tells whether columns may have places in common.

/// The most places of columns that are tested together; with more, false positives become frequent.
pub const LOOKED_AT: i64 = 64;

/// A bit set of rows by their low bits, as a Bloom filter with one hash function. Sparse matrices have few
/// places in common, and the filter finds that out faster than a merge.
pub struct Seen(Vec<u64>);

impl Default for Seen {
    fn default() -> Seen {
        Seen(vec![0; Seen::WORDS])
    }
}

impl Seen {
    const WORDS: usize = 1 << 10;

    fn bit(row: i64) -> (usize, u64) {
        ((row >> 6) as usize % Seen::WORDS, 1 << (row & 63))
    }

    /// False if no row is in both.
    pub fn may_meet(&mut self, a: &[i64], b: &[i64]) -> bool {
        for &row in a {
            let (word, bit) = Seen::bit(row);
            self.0[word] |= bit;
        }
        let common = b.iter().fold(0, |common, &row| {
            let (word, bit) = Seen::bit(row);
            common | self.0[word] & bit
        });
        for &row in a {
            self.0[Seen::bit(row).0] = 0;
        }
        common != 0
    }
}
