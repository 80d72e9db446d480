//! Selection for arithmetic on floats.

use super::{Selector, Val};
use crate::kernel::{Binary, KValue, KernelError, Unary};
use crate::x64::codes::{self, Form};
use crate::x64::machine::{Inst, Op, Over, V};
use crate::x64::multiply_add::MultiplyAdd;
use crate::x64::unsupported;
use rewright_ir::DType;
use rewright_ir::math::vector::{FRACTION, scale_numbers};
use smallvec::SmallVec;

/// The form for `f32` or for `f64`.
macro_rules! by_size {
    ($size:expr, $single:ident, $double:ident) => {
        if $size == 4 { &codes::$single } else { &codes::$double }
    };
}
pub(super) use by_size;

/// The mask of the sign bit.
pub(super) fn sign_bit(size: usize) -> u64 {
    1 << (8 * size - 1)
}

impl Selector<'_> {
    pub(super) fn float_unary(&mut self, op: Unary, dtype: DType, a: KValue) -> Result<Val, KernelError> {
        let size = dtype.size();
        if op == Unary::Significand {
            return self.significand(size, a);
        }
        // VROUND and VRNDSCALE encode these modes alike; bit 3 suppresses exceptions.
        let round = |mode: u8| Some(8 | mode);
        let mode = match op {
            Unary::Rint => round(0),
            Unary::Floor => round(1),
            Unary::Ceil => round(2),
            Unary::Trunc => round(3),
            _ => None,
        };
        let row = self.fold_row(a, size, mode.is_some() || op == Unary::Sqrt)?;
        if let Some(row) = row {
            let form: &Form =
                if mode.is_some() { by_size!(size, ROUND_PS, ROUND_PD) } else { by_size!(size, SQRT_PS, SQRT_PD) };
            let dst = self.fresh(size);
            let op = Op { row: Some(row), imm: mode, ..Self::plain_op(form, self.width(size), dst, &[]) };
            self.emit(Inst::Op(op));
            return Ok(Val::Lanes(dst));
        }
        let a = self.lanes(a)?;
        if let Some(mode) = mode {
            return Ok(Val::Lanes(self.op_imm(by_size!(size, ROUND_PS, ROUND_PD), size, &[a], mode)));
        }
        Ok(Val::Lanes(match op {
            Unary::Sqrt => self.op1(by_size!(size, SQRT_PS, SQRT_PD), size, a),
            Unary::Neg => {
                let sign = self.constant(sign_bit(size), size);
                self.op2(by_size!(size, XOR_PS, XOR_PD), size, a, sign)
            }
            Unary::Abs => {
                let others = self.constant(sign_bit(size) - 1, size);
                self.op2(by_size!(size, AND_PS, AND_PD), size, a, others)
            }
            _ => return Err(unsupported(format!("{op:?} of floats"))),
        }))
    }

    pub(super) fn float_binary(&mut self, op: Binary, dtype: DType, a: KValue, b: KValue) -> Result<Val, KernelError> {
        let size = dtype.size();
        let form: &Form = match op {
            Binary::Add => by_size!(size, ADD_PS, ADD_PD),
            Binary::Sub => by_size!(size, SUB_PS, SUB_PD),
            Binary::Mul => by_size!(size, MUL_PS, MUL_PD),
            Binary::Div => by_size!(size, DIV_PS, DIV_PD),
            Binary::Min => by_size!(size, MIN_PS, MIN_PD),
            Binary::Max => by_size!(size, MAX_PS, MAX_PD),
            Binary::CopySign => return self.copy_sign(size, a, b),
            Binary::Scale if self.evex() => by_size!(size, SCALEF_PS, SCALEF_PD),
            Binary::Scale => return self.scale(size, a, b),
            Binary::Exponent => return self.exponent(size, a, b),
            _ => return Err(unsupported(format!("{op:?} of floats"))),
        };
        let commutes = matches!(op, Binary::Add | Binary::Mul);
        Ok(Val::Lanes(self.op2_folding(form, size, a, b, commutes)?))
    }

    /// `x 2^floor(k)`, with the operations of [`Real::scale`](rewright_ir::math::vector::Real::scale). AVX2
    /// only.
    fn scale(&mut self, size: usize, x: KValue, k: KValue) -> Result<Val, KernelError> {
        let (x, k) = (self.lanes(x)?, self.lanes(k)?);
        let (first, second) = self.power_of_two(size, k);
        let multiply = by_size!(size, MUL_PS, MUL_PD);
        let product = self.op2(multiply, size, x, first);
        Ok(Val::Lanes(self.op2(multiply, size, product, second)))
    }

    /// 2^floor(k) as a product of two factors. They are memoized, because several values may be scaled by
    /// them.
    fn power_of_two(&mut self, size: usize, k: V) -> (V, V) {
        if let Some(&known) = self.factors.get(&(k, size)) {
            return known;
        }
        let (shifter, mantissa) = scale_numbers(size == 4);
        let shifter = self.number(size, shifter);
        let [fraction, fraction_and_bit, mantissa] =
            [FRACTION, FRACTION + 1, mantissa].map(|places| self.constant(places.into(), size));
        let (shr, shl) = (by_size!(size, SRLV_D, SRLV_Q), by_size!(size, SLLV_D, SLLV_Q));
        let bits = self.op2(by_size!(size, ADD_PS, ADD_PD), size, k, shifter);
        let half = self.op2(shr, size, bits, fraction_and_bit);
        let whole = self.op2(shr, size, bits, fraction);
        let rest = self.op2(by_size!(size, SUB_D, SUB_Q), size, whole, half);
        let factors = (self.op2(shl, size, half, mantissa), self.op2(shl, size, rest, mantissa));
        self.factors.insert((k, size), factors);
        factors
    }

    fn copy_sign(&mut self, size: usize, a: KValue, b: KValue) -> Result<Val, KernelError> {
        let (a, b) = (self.lanes(a)?, self.lanes(b)?);
        let sign = self.constant(sign_bit(size), size);
        if self.evex() {
            // Ternary logic: selects the bit of the second operand where the third one is set, else that of
            // the first.
            let dst = self.fresh(size);
            let form = by_size!(size, TERNLOG_D, TERNLOG_Q);
            let op = Self::plain_op(form, self.width(size), dst, &[a, b, sign]);
            self.emit(Inst::Op(Op { imm: Some(0xD8), over: Over::First, ..op }));
            return Ok(Val::Lanes(dst));
        }
        let magnitude = self.op2(by_size!(size, ANDN_PS, ANDN_PD), size, sign, a);
        let sign = self.op2(by_size!(size, AND_PS, AND_PD), size, b, sign);
        Ok(Val::Lanes(self.op2(by_size!(size, OR_PS, OR_PD), size, magnitude, sign)))
    }

    /// `a * b + c`; folds negations of a factor or of the addend into the instruction.
    pub(super) fn fma(&mut self, dtype: DType, args: &[KValue]) -> Result<Val, KernelError> {
        let size = dtype.size();
        let negated = args.iter().map(|&a| self.without_sign(a)).collect::<SmallVec<[_; 3]>>();
        let [(a, minus_a), (b, minus_b), (c, minus_c)] = negated[..] else {
            return Err(unsupported("a multiplication and addition without three operands"));
        };
        let (a, b, c) = (self.lanes(a)?, self.lanes(b)?, self.lanes(c)?);
        let dst = self.fresh(size);
        let forms = MultiplyAdd::signed(size, minus_a != minus_b, minus_c);
        let op = Self::plain_op(forms.plain(), self.width(size), dst, &[a, b, c]);
        self.emit(Inst::Op(Op { over: Over::Any(forms), ..op }));
        Ok(Val::Lanes(dst))
    }
}
