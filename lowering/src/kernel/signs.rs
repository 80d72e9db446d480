//! Removes operations on signs that have no effect.
//!
//! The square and the magnitude of a number do not depend on its sign. An odd function computes the
//! magnitude of its result first, and then its sign; in `sin(x) * sin(x)` the sign has no effect. Such a
//! value is replaced by the value before its sign was set.
//!
//! A backward pass finds the signs that have an effect. For integers it considers the highest bit, which is
//! the sign of the float of the same bits.

use super::{Binary, KInst, KOp, KValue, Kernel, Unary};
use rewright_ir::DType;
use std::sync::Arc;

impl Kernel {
    /// Removes operations on signs that have no effect. The results are bitwise the same, except for the
    /// signs of NaN.
    pub fn drop_unseen_signs(&mut self) {
        let seen = self.seen_signs();
        let mut makers = vec![None; self.values.len()];
        // Integers and floats whose bits other than the sign are 0.
        let mut signs = vec![false; self.values.len()];
        let mut same: Vec<KValue> = (0..self.values.len() as u32).map(KValue).collect();
        for (n, inst) in self.insts.iter().enumerate().filter(|(_, inst)| inst.results == 1) {
            let value = inst.first.0 as usize;
            makers[value] = Some(inst);
            signs[value] = self.is_sign(inst, &signs, &makers);
            let arg = |at: usize| inst.args.get(at).map(|a| same[a.0 as usize]);
            let before = match inst.op {
                _ if self.is_of_fold(n) => None,
                // A bitcast to another dtype and back.
                KOp::Bitcast => {
                    let twice = arg(0).and_then(|a| makers[a.0 as usize]).filter(|maker| maker.op == KOp::Bitcast);
                    twice
                        .map(|maker| same[maker.args[0].0 as usize])
                        .filter(|&v| self.dtype(v) == self.dtype(inst.first))
                }
                KOp::Select if arg(1) == arg(2) => arg(1),
                _ if seen[value] => None,
                KOp::Unary(Unary::Neg | Unary::Abs) if self.dtype(inst.first).is_float() => arg(0),
                KOp::Binary(Binary::CopySign) => arg(0),
                KOp::Binary(Binary::Xor | Binary::Or) if signs[inst.args[1].0 as usize] => arg(0),
                KOp::Binary(Binary::Xor | Binary::Or) if signs[inst.args[0].0 as usize] => arg(1),
                _ => None,
            };
            same[value] = before.unwrap_or(inst.first);
        }
        if same.iter().zip(0..).all(|(&same, value)| same == KValue(value)) {
            return;
        }
        drop(makers);
        let of_fold: Vec<bool> = (0..self.insts.len()).map(|n| self.is_of_fold(n)).collect();
        for (inst, of_fold) in Arc::make_mut(&mut self.insts).iter_mut().zip(of_fold) {
            if !of_fold {
                inst.args.iter_mut().for_each(|arg| *arg = same[arg.0 as usize]);
            }
        }
        self.drop_unused();
        self.find_levels();
    }

    /// For each value, whether the sign of a float, or the highest bit of an integer, has an effect. It has
    /// none if nothing depends on the value.
    fn seen_signs(&self) -> Vec<bool> {
        let given = || self.fold.iter().flat_map(|fold| fold.given());
        let live = self.live(given());
        let mut seen = vec![false; self.values.len()];
        given().for_each(|value| seen[value.0 as usize] = true);
        for (n, inst) in self.insts.iter().enumerate().rev().filter(|(n, _)| live[*n]) {
            let of_fold = self.is_of_fold(n);
            let results = inst.first.0 as usize..(inst.first.0 + inst.results) as usize;
            let result = seen[results].contains(&true);
            for (at, arg) in inst.args.iter().enumerate() {
                seen[arg.0 as usize] |= of_fold || self.sees(inst, at, result);
            }
        }
        seen
    }

    /// Whether the result of an instruction depends on the sign of its operand `at`. `result` tells whether
    /// the sign of the result has an effect.
    fn sees(&self, inst: &KInst, at: usize, result: bool) -> bool {
        let is_square = || inst.args[0] == inst.args[1];
        let is_float = || self.dtype(inst.first).is_float();
        match inst.op {
            KOp::Unary(Unary::Abs) if is_float() => false,
            KOp::Unary(Unary::Neg | Unary::Trunc | Unary::Rint) if is_float() => result,
            KOp::Binary(Binary::Mul | Binary::Div) if is_float() => result && !is_square(),
            KOp::Binary(Binary::CopySign) => at == 1 && result,
            KOp::Binary(Binary::Xor | Binary::Or | Binary::And) | KOp::Bitcast => result,
            KOp::Fma => at == 2 || !is_square(),
            KOp::Select => at == 0 || result,
            KOp::MathWhere(_) => at != 1 || result,
            _ => true,
        }
    }

    /// Whether only the highest bit of an instruction's value may be set.
    fn is_sign(&self, inst: &KInst, signs: &[bool], makers: &[Option<&KInst>]) -> bool {
        let dtype = self.dtype(inst.first);
        let highest = |dtype: DType| 8 * dtype.size() as u64 - 1;
        let arg = |at: usize| signs[inst.args[at].0 as usize];
        match inst.op {
            KOp::Const(bits) => !dtype.is_bool() && bits == 1 << highest(dtype),
            KOp::Bitcast => arg(0),
            KOp::Binary(Binary::And) => arg(0) || arg(1),
            KOp::Binary(Binary::Xor | Binary::Or) => arg(0) && arg(1),
            KOp::Binary(Binary::Shl) => {
                let count = makers[inst.args[1].0 as usize].map(|maker| &maker.op);
                matches!(count, Some(KOp::Const(bits)) if *bits == highest(dtype))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Buffer, KernelBuilder, Part};
    use rewright_ir::Scalar;

    /// The number of computing instructions before and after signs are dropped. `body` computes an `f64` at
    /// each point from a loaded `f64` and the sign of another one.
    fn computing(body: impl Fn(&mut KernelBuilder, KValue, KValue) -> KValue) -> (usize, usize) {
        let mut k = KernelBuilder::new(1);
        let [a, b, out] = [false, false, true].map(|written| {
            let varies = [true].into_iter().collect();
            k.buffer(Buffer { dtype: DType::F64, written, varies })
        });
        let [a, b] = [a, b].map(|buffer| k.load(buffer, Part::Re));
        let highest = k.constant(Scalar::U64(1 << 63));
        let bits = k.bitcast(b, DType::U64);
        let sign = k.binary(Binary::And, bits, highest);
        let result = body(&mut k, a, sign);
        k.store(out, Part::Re, result);
        let mut kernel = k.finish();
        let count = |kernel: &Kernel| {
            let computes = |inst: &&KInst| !matches!(inst.op, KOp::Const(_) | KOp::Load(..) | KOp::Store(..));
            kernel.insts.iter().filter(computes).count()
        };
        let before = count(&kernel);
        kernel.drop_unseen_signs();
        kernel.verify().unwrap();
        (before, count(&kernel))
    }

    /// `a` with its sign changed by `sign`.
    fn turned(k: &mut KernelBuilder, a: KValue, sign: KValue) -> KValue {
        let bits = k.bitcast(a, DType::U64);
        let turned = k.binary(Binary::Xor, bits, sign);
        k.bitcast(turned, DType::F64)
    }

    #[test]
    fn squares_and_magnitudes_need_no_sign() {
        let square = |k: &mut KernelBuilder, a, sign| {
            let turned = turned(k, a, sign);
            let minus = k.unary(Unary::Neg, turned);
            k.binary(Binary::Mul, minus, minus)
        };
        assert_eq!(computing(square), (7, 1));
        let magnitude = |k: &mut KernelBuilder, a, sign| {
            let turned = turned(k, a, sign);
            let whole = k.unary(Unary::Trunc, turned);
            k.unary(Unary::Abs, whole)
        };
        assert_eq!(computing(magnitude), (7, 2));
        let chosen = |k: &mut KernelBuilder, a, sign| {
            let turned = turned(k, a, sign);
            let less = k.compare(crate::kernel::Compare::Lt, a, turned);
            let minus = k.unary(Unary::Neg, a);
            let either = k.select(less, minus, a);
            k.push(KOp::Fma, &[either, either, turned], DType::F64)
        };
        // The selected values differ only in their sign, which the square drops; the addend keeps its sign.
        assert_eq!(computing(chosen), (9, 6));
    }

    #[test]
    fn signs_that_are_seen_stay() {
        let product = |k: &mut KernelBuilder, a, sign| {
            let turned = turned(k, a, sign);
            k.binary(Binary::Mul, turned, a)
        };
        assert_eq!(computing(product), (6, 6));
        let both = |k: &mut KernelBuilder, a, sign| {
            let turned = turned(k, a, sign);
            let square = k.binary(Binary::Mul, turned, turned);
            k.binary(Binary::Add, square, turned)
        };
        assert_eq!(computing(both), (7, 7));
        // Other bits than the sign may be set.
        let bits = |k: &mut KernelBuilder, a, sign| {
            let bits = k.bitcast(a, DType::U64);
            let other = k.binary(Binary::Xor, bits, bits);
            let mixed = k.binary(Binary::Or, other, sign);
            let moved = k.binary(Binary::Add, mixed, sign);
            let turned = turned(k, a, moved);
            k.binary(Binary::Mul, turned, turned)
        };
        assert_eq!(computing(bits).0, computing(bits).1);
    }
}
