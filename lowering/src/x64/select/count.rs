//! Selection for bit counts of integers.

use super::Selector;
use crate::kernel::{KernelError, Unary};
use crate::x64::codes::{self, Form};
use crate::x64::machine::V;
use crate::x64::{helpers, unsupported};
use rewright_ir::DType;
use smallvec::SmallVec;

impl Selector<'_> {
    pub(super) fn count_bits(&mut self, op: Unary, dtype: DType, x: V) -> Result<V, KernelError> {
        if op == Unary::PopCount {
            return Ok(self.population(dtype.size(), x));
        }
        let helper = helpers::unary(op, dtype).ok_or_else(|| unsupported(format!("{op:?} of {dtype}")))?;
        self.call(helper, 0, SmallVec::from_slice(&[x]), dtype.size())
    }

    /// Population count of each lane: adds the counts of pairs of bits, of groups of four, of bytes and so
    /// on, in parallel.
    ///
    /// Warren: Hacker's Delight, 2nd edition, section 5-1.
    fn population(&mut self, size: usize, x: V) -> V {
        // Bytes are shifted as words and 4-byte lanes as 8-byte ones. Bits that enter from the neighboring
        // lane are masked off, or are above the bits that are counted.
        let [add, sub, shift]: [&Form; 3] = match size {
            1 => [&codes::ADD_B, &codes::SUB_B, &codes::SRL_W],
            2 => [&codes::ADD_W, &codes::SUB_W, &codes::SRL_W],
            4 => [&codes::ADD_D, &codes::SUB_D, &codes::SRL_Q],
            _ => [&codes::ADD_Q, &codes::SUB_Q, &codes::SRL_Q],
        };
        let [pairs, fours, bytes] = [0x55, 0x33, 0x0F].map(|mask| self.constant(u64::from_ne_bytes([mask; 8]), size));
        let odd = self.op_imm(shift, size, &[x], 1);
        let odd = self.op2(&codes::AND_D, size, odd, pairs);
        let count = self.op2(sub, size, x, odd);
        let upper = self.op_imm(shift, size, &[count], 2);
        let upper = self.op2(&codes::AND_D, size, upper, fours);
        let lower = self.op2(&codes::AND_D, size, count, fours);
        let count = self.op2(add, size, lower, upper);
        let upper = self.op_imm(shift, size, &[count], 4);
        let both = self.op2(add, size, count, upper);
        let mut count = self.op2(&codes::AND_D, size, both, bytes);
        if size == 1 {
            return count;
        }
        for bits in (3..6).map(|log| 1 << log).take_while(|&bits| usize::from(bits) < 8 * size) {
            let upper = self.op_imm(shift, size, &[count], bits);
            count = self.op2(add, size, count, upper);
        }
        let all = self.constant(0x7F, size);
        self.op2(&codes::AND_D, size, count, all)
    }
}
