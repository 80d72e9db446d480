//! Deferred selection: a value is not computed at its definition but at its use, because the instruction
//! that uses it may compute it as well. These are multiply-add with negated operands, tests of bits, ternary
//! logic, arithmetic under a mask, and negated comparisons.

use super::compare::not_predicate;
use super::float::by_size;
use super::{Selector, Val};
use crate::kernel::{Binary, Compare, KInst, KOp, KValue, Kernel, KernelError, Unary};
use crate::x64::codes;
use crate::x64::machine::{Inst, Op, Over, V};

/// Whether to defer each value to its use. Only values that all users read at the value's own level are
/// deferred.
pub(super) fn deferred(kernel: &Kernel, made_by: &[u32], uses: &[u32], leaves: &[bool]) -> Vec<bool> {
    let made_by = |v: KValue| kernel.insts.get(made_by[v.0 as usize] as usize);
    let only = |v: KValue| uses[v.0 as usize] == 1 && !leaves[v.0 as usize];
    let mut deferred = vec![false; kernel.values.len()];
    for inst in kernel.insts.iter() {
        let deferrable =
            |v: &KValue| only(*v) && made_by(*v).is_some_and(|inner| has_place_for(kernel, inst, *v, inner));
        for v in inst.args.iter().filter(|v| deferrable(v)) {
            deferred[v.0 as usize] = true;
        }
        if is_negation(kernel, inst) {
            deferred[inst.first.0 as usize] = !leaves[inst.first.0 as usize];
        }
    }
    deferred
}

fn is_negation(kernel: &Kernel, inst: &KInst) -> bool {
    inst.op == KOp::Unary(Unary::Neg) && kernel.dtype(inst.first).is_float()
}

/// True for bitwise operations on integers.
fn is_bitwise(kernel: &Kernel, inst: &KInst) -> bool {
    let bitwise = matches!(inst.op, KOp::Binary(Binary::And | Binary::Or | Binary::Xor));
    bitwise && kernel.dtype(inst.first).is_int()
}

/// True for arithmetic that can run under a mask.
fn is_maskable(kernel: &Kernel, inst: &KInst) -> bool {
    use Binary::{Add, Max, Min, Mul, Scale, Sub};
    let arithmetic = matches!(inst.op, KOp::Binary(Add | Sub | Mul | Min | Max | Scale));
    arithmetic && kernel.dtype(inst.first).is_float()
}

fn is_float_comparison(kernel: &Kernel, inst: &KInst) -> bool {
    matches!(inst.op, KOp::Compare(_)) && kernel.dtype(inst.args[0]).is_float()
}

/// True if one instruction can compute `inst` and `inner`, the definition of its operand.
fn has_place_for(kernel: &Kernel, inst: &KInst, operand: KValue, inner: &KInst) -> bool {
    match (&inst.op, &inst.args[..]) {
        (KOp::Compare(Compare::Eq), &[a, _]) => {
            a == operand && inner.op == KOp::Binary(Binary::And) && is_bitwise(kernel, inner)
        }
        (KOp::Select, &[_, a, b]) => a == operand && b != operand && is_maskable(kernel, inner),
        (KOp::Unary(Unary::Not), _) => is_float_comparison(kernel, inner),
        (KOp::Binary(_), &[a, b]) => a != b && is_bitwise(kernel, inst) && is_bitwise(kernel, inner),
        _ => false,
    }
}

/// The truth table of an operation, given those of its operands.
fn truth(op: &KOp, a: u8, b: u8) -> u8 {
    match op {
        KOp::Binary(Binary::And) => a & b,
        KOp::Binary(Binary::Or) => a | b,
        _ => a ^ b,
    }
}

impl<'a> Selector<'a> {
    /// The instruction that defines a deferred value.
    pub(super) fn deferred_inst(&self, value: KValue) -> Option<&'a KInst> {
        let n = self.real(value).0 as usize;
        self.kernel.insts.get(self.made_by[n] as usize).filter(|_| self.deferred[n])
    }

    /// The operand of a deferred negation and true, or the value itself and false.
    pub(super) fn without_sign(&self, value: KValue) -> (KValue, bool) {
        match self.deferred_inst(value).filter(|inst| is_negation(self.kernel, inst)) {
            Some(inst) => (inst.args[0], true),
            None => (value, false),
        }
    }

    /// The two values whose bitwise "and" is compared with 0.
    pub(super) fn bits_compared_with_zero(&self, a: KValue, b: KValue) -> Option<[KValue; 2]> {
        let inner = self.deferred_inst(a).filter(|inner| inner.op == KOp::Binary(Binary::And))?;
        (self.evex() && self.is_zero(b)).then(|| [inner.args[0], inner.args[1]])
    }

    /// Combines two bitwise operations, one an operand of the other, to one ternary-logic instruction
    /// (AVX-512).
    pub(super) fn three_bits(
        &mut self,
        op: Binary,
        size: usize,
        a: KValue,
        b: KValue,
    ) -> Result<Option<V>, KernelError> {
        let bitwise = |s: &Self, v| s.deferred_inst(v).filter(|inner| is_bitwise(s.kernel, inner));
        let (inner, other) = match (bitwise(self, b), bitwise(self, a)) {
            (Some(inner), _) => (inner, a),
            (None, Some(inner)) => (inner, b),
            _ => return Ok(None),
        };
        if !self.evex() {
            return Ok(None);
        }
        let (x, y) = (inner.args[0], inner.args[1]);
        let mut order = [other, x, y];
        // The instruction overwrites its first source, so a value without other uses is preferred there. The
        // last source may be in memory, so a constant goes there.
        order.sort_by_key(|&v| (self.is_constant(v), self.uses[self.real(v).0 as usize] > 1));
        let table = |v| [0xF0, 0xCC, 0xAA][order.iter().position(|&at| at == v).unwrap_or(0)];
        let imm = truth(&KOp::Binary(op), table(other), truth(&inner.op, table(x), table(y)));
        let srcs = [self.lanes(order[0])?, self.lanes(order[1])?, self.lanes(order[2])?];
        let dst = self.fresh(size);
        let form = by_size!(size, TERNLOG_D, TERNLOG_Q);
        let plain = Self::plain_op(form, self.width(size), dst, &srcs);
        self.emit(Inst::Op(Op { imm: Some(imm), over: Over::First, ..plain }));
        Ok(Some(dst))
    }

    /// The negation of a deferred comparison of floats, as one comparison with the inverted predicate.
    pub(super) fn negated_comparison(&mut self, a: KValue) -> Result<Option<Val>, KernelError> {
        let Some(inner) = self.deferred_inst(a).filter(|inner| is_float_comparison(self.kernel, inner)) else {
            return Ok(None);
        };
        let KOp::Compare(op) = inner.op else { return Ok(None) };
        let (x, y) = (inner.args[0], inner.args[1]);
        let size = self.kernel.dtype(x).size();
        let (x, y) = (self.lanes(x)?, self.lanes(y)?);
        Ok(Some(self.float_compare_lanes(size, x, y, not_predicate(op))))
    }

    /// `c ? x op y : b` as the operation under a mask: merging into `b`, or zeroing if `b` is 0.
    pub(super) fn select_computed(
        &mut self,
        size: usize,
        c: KValue,
        a: KValue,
        b: KValue,
    ) -> Result<Option<Val>, KernelError> {
        let Some(inner) = self.deferred_inst(a).filter(|inner| self.evex() && is_maskable(self.kernel, inner)) else {
            return Ok(None);
        };
        let form = match inner.op {
            KOp::Binary(Binary::Add) => by_size!(size, ADD_PS, ADD_PD),
            KOp::Binary(Binary::Sub) => by_size!(size, SUB_PS, SUB_PD),
            KOp::Binary(Binary::Min) => by_size!(size, MIN_PS, MIN_PD),
            KOp::Binary(Binary::Max) => by_size!(size, MAX_PS, MAX_PD),
            KOp::Binary(Binary::Scale) => by_size!(size, SCALEF_PS, SCALEF_PD),
            _ => by_size!(size, MUL_PS, MUL_PD),
        };
        let (x, y) = (inner.args[0], inner.args[1]);
        let zeroing = self.is_zero(b);
        let plain = if zeroing {
            let srcs = [self.lanes(x)?, self.lanes(y)?];
            Self::plain_op(form, self.width(size), self.fresh(size), &srcs)
        } else {
            let srcs = [self.lanes(b)?, self.lanes(x)?, self.lanes(y)?];
            let plain = Self::plain_op(form, self.width(size), self.fresh(size), &srcs);
            Op { over: Over::First, ..plain }
        };
        let dst = plain.dst;
        let c = self.bits(c)?;
        self.emit(Inst::Op(Op { mask: Some((c, zeroing)), ..plain }));
        Ok(Some(Val::Lanes(dst)))
    }
}
