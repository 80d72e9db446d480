//! Selection for bools: masks in mask registers (AVX-512) or flags in vector lanes (AVX2), and operations on
//! them.

use super::float::by_size;
use super::{Selector, Val};
use crate::kernel::{Binary, Compare, KValue, KernelError};
use crate::x64::codes::{self, Form, masked_move};
use crate::x64::machine::{Class, Inst, Op, V, Width};
use crate::x64::unsupported;
use rewright_ir::DType;

impl Selector<'_> {
    /// The bool in a mask register.
    pub(super) fn bits(&mut self, value: KValue) -> Result<V, KernelError> {
        match self.val(value)? {
            Val::Bits(v) => Ok(v),
            Val::Always(known) => Ok(self.all_bits(known)),
            _ => Err(unsupported("a mask that is in lanes")),
        }
    }

    fn all_bits(&mut self, set: bool) -> V {
        let origin = self.pool.whole(&[if set { 0xFF } else { 0 }; 8]);
        self.pooled(origin, Class::Mask)
    }

    /// The bool as 0 and -1 in lanes of `size` bytes.
    pub(super) fn flags(&mut self, value: KValue, size: usize) -> Result<V, KernelError> {
        match self.val(value)? {
            Val::Flags(v, from) => Ok(self.resize_flags(v, from, size)),
            Val::Always(known) => Ok(self.constant(if known { u64::MAX } else { 0 }, size)),
            _ => Err(unsupported("lanes that are in a mask")),
        }
    }

    /// The lane size of a bool in flags; `None` for a constant, which fits any lane size.
    fn flags_size(&mut self, value: KValue) -> Result<Option<usize>, KernelError> {
        Ok(if let Val::Flags(_, size) = self.val(value)? { Some(size) } else { None })
    }

    /// Emits an operation on mask registers.
    pub(super) fn mask_op(&mut self, form: &'static Form, srcs: &[V]) -> V {
        let dst = self.fresh_mask();
        let op = Op { folds: false, ..Self::plain_op(form, Width::Z, dst, srcs) };
        self.emit(Inst::Op(op));
        dst
    }

    /// Inverts all flags.
    pub(super) fn not_flags(&mut self, v: V, size: usize) -> V {
        let ones = self.constant(u64::MAX, size);
        self.op2(&codes::XOR_D, size, v, ones)
    }

    pub(super) fn not_bool(&mut self, a: KValue) -> Result<Val, KernelError> {
        if let Some(val) = self.negated_comparison(a)? {
            return Ok(val);
        }
        Ok(match self.val(a)? {
            Val::Always(known) => Val::Always(!known),
            Val::Bits(v) => Val::Bits(self.mask_op(&codes::KNOT, &[v])),
            Val::Flags(v, size) => Val::Flags(self.not_flags(v, size), size),
            Val::Lanes(_) => return Err(unsupported("a bool that is in lanes")),
        })
    }

    pub(super) fn bool_binary(&mut self, op: Binary, a: KValue, b: KValue) -> Result<Val, KernelError> {
        let (bits, flags): (&Form, &Form) = match op {
            Binary::And => (&codes::KAND, &codes::AND_D),
            Binary::Or => (&codes::KOR, &codes::OR_D),
            Binary::Xor => (&codes::KXOR, &codes::XOR_D),
            _ => return Err(unsupported(format!("{op:?} of bools"))),
        };
        self.bool_op(bits, flags, a, b)
    }

    fn bool_op(&mut self, bits: &'static Form, flags: &'static Form, a: KValue, b: KValue) -> Result<Val, KernelError> {
        if self.evex() {
            let (a, b) = (self.bits(a)?, self.bits(b)?);
            return Ok(Val::Bits(self.mask_op(bits, &[a, b])));
        }
        let size = self.flags_size(a)?.or(self.flags_size(b)?).unwrap_or(1);
        let (a, b) = (self.flags(a, size)?, self.flags(b, size)?);
        Ok(Val::Flags(self.op2(flags, size, a, b), size))
    }

    /// Compares bools; false is less than true.
    pub(super) fn bool_compare(&mut self, op: Compare, a: KValue, b: KValue) -> Result<Val, KernelError> {
        let negated = |s: &mut Self, val| match val {
            Val::Flags(v, size) => Val::Flags(s.not_flags(v, size), size),
            Val::Bits(v) => Val::Bits(s.mask_op(&codes::KNOT, &[v])),
            other => other,
        };
        Ok(match op {
            Compare::Ne => self.bool_op(&codes::KXOR, &codes::XOR_D, a, b)?,
            Compare::Lt => self.bool_op(&codes::KANDN, &codes::ANDN_D, a, b)?,
            Compare::Eq => {
                let differ = self.bool_op(&codes::KXOR, &codes::XOR_D, a, b)?;
                negated(self, differ)
            }
            Compare::Le => {
                let greater = self.bool_op(&codes::KANDN, &codes::ANDN_D, b, a)?;
                negated(self, greater)
            }
        })
    }

    /// True in the lanes that are not 0.
    pub(super) fn not_zero(&mut self, dtype: DType, a: V) -> Result<Val, KernelError> {
        let size = dtype.size();
        if dtype.is_float() {
            let zero = self.constant(0, size);
            return Ok(self.float_compare_lanes(size, a, zero, super::compare::NOT_EQUAL));
        }
        if self.evex() {
            let form: &Form = match size {
                1 => &codes::TEST_B,
                2 => &codes::TEST_W,
                4 => &codes::TEST_D,
                _ => &codes::TEST_Q,
            };
            let dst = self.fresh_mask();
            self.push(form, self.width(size), dst, &[a, a]);
            return Ok(Val::Bits(dst));
        }
        let zero = self.constant(0, size);
        let is_zero = self.op2(super::compare::equal(size), size, a, zero);
        Ok(Val::Flags(self.not_flags(is_zero, size), size))
    }

    /// Converts a bool to 0 and 1 of a dtype.
    pub(super) fn bool_to(&mut self, to: DType, a: KValue) -> Result<V, KernelError> {
        let size = to.size();
        let one = match to {
            DType::F32 => u64::from(1f32.to_bits()),
            DType::F64 => 1f64.to_bits(),
            _ => 1,
        };
        if let Val::Always(known) = self.val(a)? {
            return Ok(self.constant(if known { one } else { 0 }, size));
        }
        let one = self.constant(one, size);
        if !self.evex() {
            let flags = self.flags(a, size)?;
            return Ok(self.op2(&codes::AND_D, size, flags, one));
        }
        let (mask, dst) = (self.bits(a)?, self.fresh(size));
        let op = Op { mask: Some((mask, true)), ..Self::plain_op(masked_move(size), self.width(size), dst, &[one]) };
        self.emit(Inst::Op(op));
        Ok(dst)
    }

    /// `c ? a : b`.
    pub(super) fn select(&mut self, to: DType, c: KValue, a: KValue, b: KValue) -> Result<Val, KernelError> {
        if let Val::Always(known) = self.val(c)? {
            return self.val(if known { a } else { b });
        }
        if to.is_bool() {
            return self.select_bool(c, a, b);
        }
        let size = to.size();
        if let Some(val) = self.select_computed(size, c, a, b)? {
            return Ok(val);
        }
        if !self.evex() && self.is_zero(b) && size >= 4 {
            let (c, a) = (self.flags(c, size)?, self.lanes(a)?);
            return Ok(Val::Lanes(self.op2(by_size!(size, AND_PS, AND_PD), size, c, a)));
        }
        let b = self.lanes(b)?;
        if !self.evex() {
            let a = self.lanes(a)?;
            let c = self.flags(c, size)?;
            return Ok(Val::Lanes(self.blend(size, c, a, b)));
        }
        let form: &Form = match (size, to.is_float()) {
            (1, _) => &codes::BLENDM_B,
            (2, _) => &codes::BLENDM_W,
            (4, true) => &codes::BLENDM_PS,
            (4, false) => &codes::BLENDM_D,
            (_, true) => &codes::BLENDM_PD,
            (_, false) => &codes::BLENDM_Q,
        };
        let row = self.fold_row(a, size, true)?;
        let mut srcs = vec![b];
        if row.is_none() {
            srcs.push(self.lanes(a)?);
        }
        let (c, dst) = (self.bits(c)?, self.fresh(size));
        let op = Op { row, mask: Some((c, false)), ..Self::plain_op(form, self.width(size), dst, &srcs) };
        self.emit(Inst::Op(op));
        Ok(Val::Lanes(dst))
    }

    /// Takes the lanes of `a` where the flag is set, and of `b` elsewhere. AVX2 only.
    pub(super) fn blend(&mut self, size: usize, flags: V, a: V, b: V) -> V {
        let form: &Form = match size {
            4 => &codes::BLENDV_PS,
            8 => &codes::BLENDV_PD,
            _ => &codes::BLENDV_B,
        };
        let dst = self.fresh(size);
        // The last operand is the mask; the memory operand would be the one before it, so folding is off.
        let op = Op { folds: false, ..Self::plain_op(form, self.width(size), dst, &[b, a, flags]) };
        self.emit(Inst::Op(op));
        dst
    }

    fn select_bool(&mut self, c: KValue, a: KValue, b: KValue) -> Result<Val, KernelError> {
        if self.evex() {
            let (c, a, b) = (self.bits(c)?, self.bits(a)?, self.bits(b)?);
            let a = self.mask_op(&codes::KAND, &[c, a]);
            let b = self.mask_op(&codes::KANDN, &[c, b]);
            return Ok(Val::Bits(self.mask_op(&codes::KOR, &[a, b])));
        }
        let size = self.flags_size(a)?.or(self.flags_size(b)?).unwrap_or(1);
        let (c, a, b) = (self.flags(c, size)?, self.flags(a, size)?, self.flags(b, size)?);
        let v = self.blend(size.min(8), c, a, b);
        Ok(Val::Flags(v, size))
    }
}
