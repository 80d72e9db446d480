//! Whether columns may have places in common.

/// The most places of columns that are looked at together; with more it would be thought of too many that
/// they meet.
pub const LOOKED_AT: i64 = 64;

/// The rows of some columns by their last bits: matrices of few elements have little in common, and that
/// there is nothing shows sooner in this way than if they are gone through side by side.
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
