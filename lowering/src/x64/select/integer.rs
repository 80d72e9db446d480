//! Selection for arithmetic on integers.

use super::{Selector, Val};
use crate::kernel::{Binary, KValue, KernelError, Unary};
use crate::x64::codes::{self, Form};
use crate::x64::machine::V;
use crate::x64::unsupported;
use rewright_ir::DType;

/// The form for lanes of 1, 2, 4 or 8 bytes.
macro_rules! by_lane {
    ($size:expr, $b:ident $w:ident $d:ident $q:ident) => {
        match $size {
            1 => &codes::$b,
            2 => &codes::$w,
            4 => &codes::$d,
            _ => &codes::$q,
        }
    };
}

pub(super) use by_lane;

impl Selector<'_> {
    pub(super) fn int_unary(&mut self, op: Unary, dtype: DType, a: KValue) -> Result<Val, KernelError> {
        if dtype.is_bool() {
            return self.not_bool(a);
        }
        let size = dtype.size();
        let v = self.lanes(a)?;
        Ok(Val::Lanes(match op {
            Unary::Neg => {
                let zero = self.constant(0, size);
                self.op2(by_lane!(size, SUB_B SUB_W SUB_D SUB_Q), size, zero, v)
            }
            Unary::Not => self.not_flags(v, size),
            Unary::Abs if !dtype.is_signed() => v,
            Unary::Abs if size == 8 && !self.evex() => {
                let sign = self.sign_flags(v);
                let turned = self.op2(&codes::XOR_D, size, v, sign);
                self.op2(&codes::SUB_Q, size, turned, sign)
            }
            Unary::Abs => self.op1(by_lane!(size, ABS_B ABS_W ABS_D ABS_Q), size, v),
            Unary::LeadingZeros if self.evex() && size >= 4 => {
                self.op1(if size == 4 { &codes::LZCNT_D } else { &codes::LZCNT_Q }, size, v)
            }
            Unary::PopCount | Unary::LeadingZeros => self.count_bits(op, dtype, v)?,
            _ => return Err(unsupported(format!("{op:?} of integers"))),
        }))
    }

    /// -1 in the 8-byte lanes that are negative. AVX2 only.
    fn sign_flags(&mut self, v: V) -> V {
        let zero = self.constant(0, 8);
        self.op2(&codes::CMPGT_Q, 8, zero, v)
    }

    pub(super) fn int_binary(&mut self, op: Binary, dtype: DType, a: KValue, b: KValue) -> Result<Val, KernelError> {
        let size = dtype.size();
        let form: Option<&Form> = match op {
            Binary::Add => Some(by_lane!(size, ADD_B ADD_W ADD_D ADD_Q)),
            Binary::Sub => Some(by_lane!(size, SUB_B SUB_W SUB_D SUB_Q)),
            Binary::And => Some(by_lane!(size, AND_D AND_D AND_D AND_Q)),
            Binary::Or => Some(by_lane!(size, OR_D OR_D OR_D OR_Q)),
            Binary::Xor => Some(by_lane!(size, XOR_D XOR_D XOR_D XOR_Q)),
            Binary::Mul if size == 2 => Some(&codes::MUL_W),
            Binary::Mul if size == 4 => Some(&codes::MUL_D),
            Binary::Mul if size == 8 && self.evex() => Some(&codes::MUL_Q),
            Binary::Min | Binary::Max if size < 8 || self.evex() => Some(extremum(op, dtype)),
            _ => None,
        };
        if matches!(op, Binary::And | Binary::Or | Binary::Xor)
            && let Some(v) = self.three_bits(op, size, a, b)?
        {
            return Ok(Val::Lanes(v));
        }
        if let Some(form) = form {
            return Ok(Val::Lanes(self.op2_folding(form, size, a, b, op != Binary::Sub)?));
        }
        let (x, y) = (self.lanes(a)?, self.lanes(b)?);
        Ok(Val::Lanes(match op {
            Binary::Mul if size == 1 => self.multiply_bytes(x, y),
            Binary::Mul => self.multiply_long(x, y),
            Binary::Min | Binary::Max => {
                let greater = self.greater(dtype, x, y);
                let (at_greater, elsewhere) = if op == Binary::Max { (x, y) } else { (y, x) };
                self.blend(size, greater, at_greater, elsewhere)
            }
            Binary::Shl | Binary::Shr => self.shift(op, dtype, x, y),
            Binary::Quot | Binary::Rem => self.divide(op, dtype, x, y)?,
            _ => return Err(unsupported(format!("{op:?} of integers"))),
        }))
    }

    /// Multiplies bytes: the even and the odd bytes separately as products of words.
    fn multiply_bytes(&mut self, x: V, y: V) -> V {
        let (low, high) = (self.word_mask(0x00FF), self.word_mask(0xFF00));
        let even = self.op2(&codes::MUL_W, 1, x, y);
        let even = self.op2(&codes::AND_D, 1, even, low);
        let odd = self.op_imm(&codes::SRL_W, 1, &[x], 8);
        let other = self.op2(&codes::AND_D, 1, y, high);
        let odd = self.op2(&codes::MUL_W, 1, odd, other);
        self.op2(&codes::OR_D, 1, even, odd)
    }

    /// A 16-bit pattern, repeated over the vector.
    fn word_mask(&mut self, pattern: u16) -> V {
        let bytes = pattern.to_le_bytes().repeat(self.width(1).bytes() / 2);
        self.whole(&bytes)
    }

    /// Multiplies 64-bit lanes by the products of their 32-bit halves.
    fn multiply_long(&mut self, x: V, y: V) -> V {
        let x_high = self.op_imm(&codes::SRL_Q, 8, &[x], 32);
        let y_high = self.op_imm(&codes::SRL_Q, 8, &[y], 32);
        let one = self.op2(&codes::MUL_UDQ, 8, x_high, y);
        let other = self.op2(&codes::MUL_UDQ, 8, x, y_high);
        let high = self.op2(&codes::ADD_Q, 8, one, other);
        let high = self.op_imm(&codes::SLL_Q, 8, &[high], 32);
        let low = self.op2(&codes::MUL_UDQ, 8, x, y);
        self.op2(&codes::ADD_Q, 8, low, high)
    }

    /// Shifts by unsigned counts. The instructions have the defined results for counts of the lane width and
    /// more.
    fn shift(&mut self, op: Binary, dtype: DType, x: V, count: V) -> V {
        let size = dtype.size();
        let (left, signed) = (op == Binary::Shl, dtype.is_signed());
        let direct = size >= 4 || size == 2 && self.evex();
        if !direct {
            // Narrow lanes are shifted as wider ones; only the low bits of the results matter.
            let wide = if self.evex() { 2 } else { 4 };
            let (x, count) = (self.extend(x, size, wide, signed), self.extend(count, size, wide, false));
            let wide_dtype = match (wide, signed) {
                (2, true) => DType::I16,
                (2, false) => DType::U16,
                (_, true) => DType::I32,
                (_, false) => DType::U32,
            };
            let shifted = self.shift(op, wide_dtype, x, count);
            return self.cut(shifted, wide, size);
        }
        if !left && signed && size == 8 && !self.evex() {
            // Complementing negative lanes before and after a logical shift fills them with sign bits.
            let sign = self.sign_flags(x);
            let turned = self.op2(&codes::XOR_D, 8, x, sign);
            let shifted = self.op2(&codes::SRLV_Q, 8, turned, count);
            return self.op2(&codes::XOR_D, 8, shifted, sign);
        }
        let form: &Form = match (left, signed) {
            (true, _) => by_lane!(size, SLLV_W SLLV_W SLLV_D SLLV_Q),
            (false, false) => by_lane!(size, SRLV_W SRLV_W SRLV_D SRLV_Q),
            (false, true) => by_lane!(size, SRAV_W SRAV_W SRAV_D SRAV_Q),
        };
        self.op2(form, size, x, count)
    }
}

fn extremum(op: Binary, dtype: DType) -> &'static Form {
    let size = dtype.size();
    match (op, dtype.is_signed()) {
        (Binary::Min, true) => by_lane!(size, MINS_B MINS_W MINS_D MINS_Q),
        (Binary::Min, false) => by_lane!(size, MINU_B MINU_W MINU_D MINU_Q),
        (_, true) => by_lane!(size, MAXS_B MAXS_W MAXS_D MAXS_Q),
        (_, false) => by_lane!(size, MAXU_B MAXU_W MAXU_D MAXU_Q),
    }
}
