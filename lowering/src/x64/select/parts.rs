//! Selection for significands and exponents of floats, and for lookups in tables of 16 numbers.

use super::compare::{not_predicate, predicate};
use super::float::by_size;
use super::{Selector, Val};
use crate::kernel::{Compare, KValue, KernelError};
use crate::x64::codes;
use crate::x64::machine::{Inst, Op, Over, V, Width};
use rewright_ir::math::vector::{Layout, Table};
use rewright_ir::{DType, Scalar};
use smallvec::SmallVec;

/// Immediate of VGETMANT: the interval [3/4, 3/2), NaN for negative numbers, zeros without a sign.
const FROM_THREE_QUARTERS: u8 = 0b1111;

impl Selector<'_> {
    /// The significand, with the operations of
    /// [`Real::significand`](rewright_ir::math::vector::Real::significand).
    pub(super) fn significand(&mut self, size: usize, x: KValue) -> Result<Val, KernelError> {
        let x = self.lanes(x)?;
        if self.evex() {
            return Ok(Val::Lanes(self.op_imm(
                by_size!(size, GETMANT_PS, GETMANT_PD),
                size,
                &[x],
                FROM_THREE_QUARTERS,
            )));
        }
        let n = Layout::of(size == 4);
        let (bits, _) = self.lifted(size, x);
        let [from, mask] = [n.three_quarters, (1 << n.mantissa) - 1].map(|bits| self.constant(bits, size));
        let turned = self.op2(by_size!(size, SUB_D, SUB_Q), size, bits, from);
        let low = self.op2(by_size!(size, AND_PS, AND_PD), size, turned, mask);
        let m = self.op2(by_size!(size, ADD_D, ADD_Q), size, low, from);
        // Setting all bits yields NaN.
        let zero = self.constant(0, size);
        let other = self.compared(size, zero, x, not_predicate(Compare::Le));
        Ok(Val::Lanes(self.op2(by_size!(size, OR_PS, OR_PD), size, m, other)))
    }

    /// The exponent, with the operations of [`Real::exponent`](rewright_ir::math::vector::Real::exponent).
    pub(super) fn exponent(&mut self, size: usize, x: KValue, significand: KValue) -> Result<Val, KernelError> {
        let (x, m) = (self.lanes(x)?, self.lanes(significand)?);
        let subtract = by_size!(size, SUB_PS, SUB_PD);
        if self.evex() {
            let form = by_size!(size, GETEXP_PS, GETEXP_PD);
            let (of_x, of_m) = (self.op1(form, size, x), self.op1(form, size, m));
            return Ok(Val::Lanes(self.op2(subtract, size, of_x, of_m)));
        }
        let n = Layout::of(size == 4);
        let (bits, subnormal) = self.lifted(size, x);
        let difference = self.op2(by_size!(size, SUB_D, SUB_Q), size, bits, m);
        let [bias, places] = [n.bias << n.mantissa, n.mantissa.into()].map(|bits| self.constant(bits, size));
        let raised = self.op2(by_size!(size, ADD_D, ADD_Q), size, difference, bias);
        let k = self.op2(by_size!(size, SRLV_D, SRLV_Q), size, raised, places);
        let [unit, lift, infinity, below] =
            [n.unit(), n.lift.into(), f64::INFINITY, f64::NEG_INFINITY].map(|c| self.number(size, c));
        let over = self.number(size, n.unit() + n.bias as f64);
        let sum = self.op2(by_size!(size, OR_PS, OR_PD), size, k, unit);
        let k = self.op2(subtract, size, sum, over);
        let lifted = self.op2(by_size!(size, AND_PS, AND_PD), size, subnormal, lift);
        let k = self.op2(subtract, size, k, lifted);
        let not_finite = self.compared(size, x, infinity, not_predicate(Compare::Lt));
        let k = self.blend(size, not_finite, x, k);
        let zero = self.constant(0, size);
        let at_zero = self.compared(size, x, zero, predicate(Compare::Eq));
        Ok(Val::Lanes(self.blend(size, at_zero, below, k)))
    }

    /// The bits of a number scaled to a normal one, and the flags of the lanes that were below the least
    /// normal number. AVX2 only.
    fn lifted(&mut self, size: usize, x: V) -> (V, V) {
        if let Some(&known) = self.lifted.get(&(x, size)) {
            return known;
        }
        let n = Layout::of(size == 4);
        let (least, lift) = (self.number(size, n.least), self.number(size, 2f64.powi(n.lift)));
        let subnormal = self.compared(size, x, least, predicate(Compare::Lt));
        let product = self.op2(by_size!(size, MUL_PS, MUL_PD), size, x, lift);
        let bits = self.blend(size, subnormal, product, x);
        self.lifted.insert((x, size), (bits, subnormal));
        (bits, subnormal)
    }

    /// Compares into lanes. AVX2 only.
    fn compared(&mut self, size: usize, a: V, b: V, predicate: u8) -> V {
        self.op_imm(by_size!(size, CMP_PS, CMP_PD), size, &[a, b], predicate)
    }

    /// A constant, rounded to the nearest float.
    pub(super) fn number(&mut self, size: usize, number: f64) -> V {
        let dtype = if size == 4 { DType::F32 } else { DType::F64 };
        self.constant(Scalar::F64(number).cast(dtype).bits().0, size)
    }

    /// Looks up a number of a table by the low four bits of the index.
    pub(super) fn choose(&mut self, table: &'static Table, size: usize, n: KValue) -> Result<Val, KernelError> {
        let n = self.lanes(n)?;
        if let Some(halves) = table.upper_halves().filter(|_| size == 8) {
            return Ok(Val::Lanes(self.choose_half(&halves, n)));
        }
        let bytes: SmallVec<[u8; 128]> = match size {
            4 => table.single.iter().flat_map(|x| x.to_le_bytes()).collect(),
            _ => table.double.iter().flat_map(|x| x.to_le_bytes()).collect(),
        };
        let register = if self.evex() { Width::Z } else { Width::Y };
        let parts: SmallVec<[V; 4]> = bytes.chunks(register.bytes()).map(|part| self.whole(part)).collect();
        if self.evex() {
            let dst = self.fresh(size);
            let op = match parts[..] {
                // A table whose halves are equal needs one register.
                [low, high] if low == high => Self::plain_op(&codes::PERM_PD, Width::Z, dst, &[n, low]),
                [low, high] => {
                    Op { over: Over::First, ..Self::plain_op(&codes::PICK_PD, Width::Z, dst, &[low, n, high]) }
                }
                _ => Self::plain_op(&codes::PERM_PS, Width::Z, dst, &[n, parts[0]]),
            };
            self.emit(Inst::Op(Op { same_width: true, ..op }));
            return Ok(Val::Lanes(dst));
        }
        let within = self.within(size, n);
        let mut chosen: SmallVec<[V; 4]> = SmallVec::new();
        for (at, &part) in parts.iter().enumerate() {
            // Equal parts of a table are permuted once.
            let known = parts[..at].iter().position(|&other| other == part).map(|first| chosen[first]);
            let v = known.unwrap_or_else(|| self.permuted(size, within, part));
            chosen.push(v);
        }
        // Selects among four parts by bits 2 and 3 of the index, among two parts by bit 3.
        for bit in if chosen.len() == 4 { 2..4 } else { 3..4 } {
            let mut pairs = SmallVec::new();
            for pair in chosen.chunks(2) {
                pairs.push(if pair[0] == pair[1] {
                    pair[0]
                } else {
                    let second = self.sign_by(size, n, bit);
                    self.blend(size, second, pair[1], pair[0])
                });
            }
            chosen = pairs;
        }
        Ok(Val::Lanes(chosen[0]))
    }

    /// Looks up an `f64` by the low four bits of the index, in a table whose numbers have zeros in their
    /// lower halves. The upper half of the index lane holds the index, and the lower half is 0, which
    /// selects the first number, whose upper half is 0. The table takes half the registers. With AVX-512
    /// this uses one instruction that leaves the multiplication ports free.
    fn choose_half(&mut self, halves: &[u32; 16], n: V) -> V {
        let bytes: SmallVec<[u8; 64]> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
        let index = self.index_at(8, n, 32);
        if self.evex() {
            let (dst, part) = (self.fresh(8), self.whole(&bytes));
            let op = Self::plain_op(&codes::PERM_PS, Width::Z, dst, &[index, part]);
            self.emit(Inst::Op(Op { same_width: true, ..op }));
            return dst;
        }
        let [low, high] = [&bytes[..32], &bytes[32..]].map(|part| self.whole(part));
        let again = low == high;
        let low = self.permuted(8, index, low);
        if again {
            return low;
        }
        let high = self.permuted(8, index, high);
        let second = self.sign_by(8, n, 3);
        let both = self.blend(8, second, high, low);
        // The lower half of each lane looked up the first number of the second part, which is not 0.
        let upper = self.constant(!0 << 32, 8);
        self.op2(&codes::AND_PD, 8, both, upper)
    }

    fn permuted(&mut self, size: usize, within: V, part: V) -> V {
        let dst = self.fresh(size);
        let op = Self::plain_op(&codes::PERM_PS, Width::Y, dst, &[within, part]);
        self.emit(Inst::Op(Op { same_width: true, ..op }));
        dst
    }

    /// The permutation control for a table index: for each four bytes of a lane, the number of the 4-byte
    /// element in a 32-byte part of the table. AVX2 only.
    fn within(&mut self, size: usize, n: V) -> V {
        if size == 4 {
            return n;
        }
        self.of_index((n, size, None), |s| {
            let (one, odd) = (s.constant(1, 8), s.constant(1 << 32, 8));
            let twice = s.op2(&codes::SLLV_Q, 8, n, one);
            let both = s.op1(&codes::EVEN_PS, 8, twice);
            s.op2(&codes::OR_PD, 8, both, odd)
        })
    }

    /// Lanes whose sign bits are this bit of the index. AVX2 only.
    fn sign_by(&mut self, size: usize, n: V, bit: u8) -> V {
        self.index_at(size, n, 8 * size as u8 - 1 - bit)
    }

    /// The index shifted left by `places` bits.
    fn index_at(&mut self, size: usize, n: V, places: u8) -> V {
        self.of_index((n, size, Some(places)), |s| {
            let places = s.constant(places.into(), size);
            s.op2(by_size!(size, SLLV_D, SLLV_Q), size, n, places)
        })
    }

    /// Memoizes a value that depends only on the index and serves all tables.
    fn of_index(&mut self, key: (V, usize, Option<u8>), compute: impl FnOnce(&mut Self) -> V) -> V {
        if let Some(&known) = self.of_indices.get(&key) {
            return known;
        }
        let v = compute(self);
        self.of_indices.insert(key, v);
        v
    }
}
