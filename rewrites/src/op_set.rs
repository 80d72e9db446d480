//! Sets of ops.

use rewright_ir::Op;

const WORDS: usize = 4;

/// A bit set of the registry's ops. If there are more than 256, some of them share a bit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpSet([u64; WORDS]);

impl OpSet {
    /// False if the op is not in the set.
    #[inline]
    pub fn may_contain(&self, op: Op) -> bool {
        let number = op.number();
        self.0[number / 64 % WORDS] >> (number % 64) & 1 == 1
    }
    /// False if no op is in both.
    #[inline]
    pub fn may_meet(&self, other: &OpSet) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
    #[inline]
    pub fn insert(&mut self, op: Op) {
        let number = op.number();
        self.0[number / 64 % WORDS] |= 1 << (number % 64);
    }
}

impl FromIterator<Op> for OpSet {
    fn from_iter<I: IntoIterator<Item = Op>>(ops: I) -> Self {
        let mut set = OpSet::default();
        ops.into_iter().for_each(|op| set.insert(op));
        set
    }
}
