//! Emission of operations on scalars.

use super::emit::{Emitter, clif};
use super::unsupported;
use crate::kernel::{Binary, Compare, KOp, KernelError, Unary};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use rewright_ir::DType;

impl Emitter<'_> {
    /// Emits an operation that depends on its operands only. `from` is the dtype of the last operand, `to`
    /// that of the result.
    pub fn scalar_op(&mut self, op: &KOp, from: DType, to: DType, args: &[Value]) -> Result<Value, KernelError> {
        Ok(match (op, args) {
            (KOp::Const(bits), []) => self.constant(to, *bits),
            (KOp::Unary(op), &[a]) => self.unary(*op, to, a)?,
            (KOp::Binary(op), &[a, b]) => self.binary(*op, to, a, b)?,
            (KOp::Compare(op), &[a, b]) => self.compare(*op, from, a, b),
            (KOp::Select, &[c, a, b]) => self.b.ins().select(c, a, b),
            (KOp::Convert, &[a]) => self.convert(from, to, a),
            (KOp::Bitcast, &[a]) => self.bitcast(to, a),
            (KOp::Fma, &[a, b, c]) => self.b.ins().fma(a, b, c),
            (KOp::Choose(table), &[n]) => self.choose(table, n)?,
            (KOp::Math(call), args) => self.math(call, args)?,
            (KOp::MathWhere(call), &[c, otherwise, ref args @ ..]) => self.math_where(call, c, otherwise, args)?,
            _ => return Err(unsupported(format!("{op:?} with {} operands", args.len()))),
        })
    }

    /// A constant by its bits.
    pub fn constant(&mut self, dtype: DType, bits: u64) -> Value {
        match dtype {
            DType::F32 => self.b.ins().f32const(Ieee32::with_bits(bits as u32)),
            DType::F64 => self.b.ins().f64const(Ieee64::with_bits(bits)),
            DType::Bool => self.int(types::I8, (bits & 1) as i64),
            _ => self.int(clif(dtype), bits as i64),
        }
    }

    /// A float constant that stays in a register over a loop: the lane of a constant vector, as an integer.
    /// The optimizer makes a plain constant anew at each use. `None` if that is as fast, or if there are no
    /// vectors.
    pub fn kept_constant(&mut self, dtype: DType, bits: u64) -> Option<Value> {
        let lanes = match dtype {
            DType::F32 => types::I32X4,
            DType::F64 => types::I64X2,
            _ => return None,
        };
        if bits == 0 || !self.features.vectors {
            return None;
        }
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&bits.to_le_bytes());
        let constant = self.b.func.dfg.constants.insert(bytes[..].into());
        let vector = self.b.ins().vconst(lanes, constant);
        let lane = self.b.ins().extractlane(vector, 0);
        Some(self.bitcast(dtype, lane))
    }

    fn unary(&mut self, op: Unary, dtype: DType, a: Value) -> Result<Value, KernelError> {
        let ins = self.b.ins();
        Ok(match op {
            Unary::Neg if dtype.is_float() => ins.fneg(a),
            Unary::Neg => ins.ineg(a),
            Unary::Abs if dtype.is_float() => ins.fabs(a),
            Unary::Abs if dtype.is_unsigned() => a,
            Unary::Abs => {
                let negative = self.b.ins().ineg(a);
                self.b.ins().smax(a, negative)
            }
            Unary::Not if dtype.is_bool() => {
                let one = self.int(types::I8, 1);
                self.b.ins().bxor(a, one)
            }
            Unary::Not => ins.bnot(a),
            Unary::Sqrt => ins.sqrt(a),
            Unary::Floor => ins.floor(a),
            Unary::Ceil => ins.ceil(a),
            Unary::Trunc => ins.trunc(a),
            Unary::Rint => ins.nearest(a),
            Unary::Significand => self.significand(a)?,
            Unary::PopCount => ins.popcnt(a),
            Unary::LeadingZeros => ins.clz(a),
        })
    }

    fn binary(&mut self, op: Binary, dtype: DType, a: Value, b: Value) -> Result<Value, KernelError> {
        let (float, signed) = (dtype.is_float(), dtype.is_signed());
        let ins = self.b.ins();
        Ok(match op {
            Binary::Add if float => ins.fadd(a, b),
            Binary::Sub if float => ins.fsub(a, b),
            Binary::Mul if float => ins.fmul(a, b),
            Binary::Add => ins.iadd(a, b),
            Binary::Sub => ins.isub(a, b),
            Binary::Mul => ins.imul(a, b),
            Binary::Div => ins.fdiv(a, b),
            Binary::CopySign => ins.fcopysign(a, b),
            Binary::Scale => self.scale(a, b)?,
            Binary::Exponent => self.exponent(a, b)?,
            Binary::And => ins.band(a, b),
            Binary::Or => ins.bor(a, b),
            Binary::Xor => ins.bxor(a, b),
            Binary::Min | Binary::Max if float => {
                // Processors have an instruction for a selection by this comparison.
                let (less, greater) = if op == Binary::Min { (a, b) } else { (b, a) };
                let first = ins.fcmp(FloatCC::LessThan, less, greater);
                self.b.ins().select(first, a, b)
            }
            Binary::Min if signed => ins.smin(a, b),
            Binary::Min => ins.umin(a, b),
            Binary::Max if signed => ins.smax(a, b),
            Binary::Max => ins.umax(a, b),
            Binary::Quot | Binary::Rem => self.divide(op, dtype, a, b),
            Binary::Shl | Binary::Shr => self.shift(op, dtype, a, b),
        })
    }

    /// Division that never traps. Dtypes below 32 bits are divided with 32 bits, where the minimum by -1
    /// does not overflow.
    fn divide(&mut self, op: Binary, dtype: DType, a: Value, b: Value) -> Value {
        let (narrow, wide) = (clif(dtype), if dtype.size() < 4 { types::I32 } else { clif(dtype) });
        let (a, b) = (self.extend(dtype, wide, a), self.extend(dtype, wide, b));
        let (zero, one) = (self.int(wide, 0), self.int(wide, 1));
        let by_zero = self.icmp(IntCC::Equal, b, zero);
        let mut safe = self.b.ins().select(by_zero, one, b);
        let quot = matches!(op, Binary::Quot);
        let result = if dtype.is_signed() && dtype.size() >= 4 {
            let minus_one = self.int(wide, -1);
            let by_minus_one = self.icmp(IntCC::Equal, b, minus_one);
            safe = self.b.ins().select(by_minus_one, one, safe);
            let divided = if quot { self.b.ins().sdiv(a, safe) } else { self.b.ins().srem(a, safe) };
            // The remainder by 1 equals that by -1: 0.
            let special = if quot { self.b.ins().ineg(a) } else { divided };
            self.b.ins().select(by_minus_one, special, divided)
        } else {
            match (dtype.is_signed(), quot) {
                (true, true) => self.b.ins().sdiv(a, safe),
                (true, false) => self.b.ins().srem(a, safe),
                (false, true) => self.b.ins().udiv(a, safe),
                (false, false) => self.b.ins().urem(a, safe),
            }
        };
        let result = self.b.ins().select(by_zero, zero, result);
        if narrow == wide { result } else { self.b.ins().ireduce(narrow, result) }
    }

    fn shift(&mut self, op: Binary, dtype: DType, a: Value, count: Value) -> Value {
        let ty = clif(dtype);
        let bits = ty.bits() as i64;
        if matches!(op, Binary::Shr) && dtype.is_signed() {
            let most = self.int(ty, bits - 1);
            let count = self.b.ins().umin(count, most);
            return self.b.ins().sshr(a, count);
        }
        let (width, zero) = (self.int(ty, bits), self.int(ty, 0));
        let shifted = if matches!(op, Binary::Shl) { self.b.ins().ishl(a, count) } else { self.b.ins().ushr(a, count) };
        let in_range = self.icmp(IntCC::UnsignedLessThan, count, width);
        self.b.ins().select(in_range, shifted, zero)
    }

    fn compare(&mut self, op: Compare, dtype: DType, a: Value, b: Value) -> Value {
        if dtype.is_float() {
            // A test for NaN is one jump, and other tests for equality are two.
            let condition = match op {
                Compare::Ne if a == b => FloatCC::Unordered,
                Compare::Eq if a == b => FloatCC::Ordered,
                _ => float_condition(op),
            };
            return self.b.ins().fcmp(condition, a, b);
        }
        self.icmp(int_condition(op, dtype.is_signed()), a, b)
    }

    fn bitcast(&mut self, to: DType, a: Value) -> Value {
        let ty = clif(to);
        let from = self.b.func.dfg.value_type(a);
        let same = if from == ty { a } else { self.b.ins().bitcast(ty, MemFlagsData::new(), a) };
        if to.is_bool() {
            let one = self.int(types::I8, 1);
            return self.b.ins().band(same, one);
        }
        same
    }
}

/// The condition of a float comparison.
pub fn float_condition(op: Compare) -> FloatCC {
    match op {
        Compare::Eq => FloatCC::Equal,
        Compare::Ne => FloatCC::NotEqual,
        Compare::Lt => FloatCC::LessThan,
        Compare::Le => FloatCC::LessThanOrEqual,
    }
}

/// The condition of an integer comparison.
pub fn int_condition(op: Compare, signed: bool) -> IntCC {
    match op {
        Compare::Eq => IntCC::Equal,
        Compare::Ne => IntCC::NotEqual,
        Compare::Lt if signed => IntCC::SignedLessThan,
        Compare::Lt => IntCC::UnsignedLessThan,
        Compare::Le if signed => IntCC::SignedLessThanOrEqual,
        Compare::Le => IntCC::UnsignedLessThanOrEqual,
    }
}
