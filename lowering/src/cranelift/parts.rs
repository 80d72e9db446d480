//! Significands and exponents of floats, and lookups in tables of 16 numbers, for scalars and vectors.

use super::emit::Emitter;
use super::lanes::{int_lane, lane_order, vector_of};
use crate::kernel::KernelError;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use rewright_ir::math::vector::{Layout, Table};
use rewright_ir::{DType, Scalar};

/// The integer type with as many lanes, and the flags of bitcasts to it.
pub fn bits_of(float: Type) -> (Type, MemFlagsData) {
    let lane = int_lane(float.lane_type());
    if float.is_vector() { (vector_of(lane), lane_order()) } else { (lane, MemFlagsData::new()) }
}

impl Emitter<'_> {
    /// The significand, with the operations of
    /// [`Real::significand`](rewright_ir::math::vector::Real::significand).
    pub fn significand(&mut self, x: Value) -> Result<Value, KernelError> {
        let float = self.b.func.dfg.value_type(x);
        let n = Layout::of(float.lane_type() == types::F32);
        let (int, flags) = bits_of(float);
        let (bits, _) = self.lifted(x, n)?;
        let (from, mask) = (self.all(int, n.three_quarters)?, self.all(int, (1 << n.mantissa) - 1)?);
        let turned = self.b.ins().isub(bits, from);
        let low = self.b.ins().band(turned, mask);
        let m = self.b.ins().iadd(low, from);
        let m = self.b.ins().bitcast(float, flags, m);
        let (zero, nan) = (self.number(float, 0.0)?, self.number(float, f64::NAN)?);
        let positive = self.b.ins().fcmp(FloatCC::GreaterThanOrEqual, x, zero);
        Ok(self.either(positive, m, nan))
    }

    /// The exponent, with the operations of [`Real::exponent`](rewright_ir::math::vector::Real::exponent).
    pub fn exponent(&mut self, x: Value, significand: Value) -> Result<Value, KernelError> {
        let float = self.b.func.dfg.value_type(x);
        let n = Layout::of(float.lane_type() == types::F32);
        let (int, flags) = bits_of(float);
        let (bits, subnormal) = self.lifted(x, n)?;
        let (bias, places) = (self.all(int, n.bias << n.mantissa)?, self.int(int.lane_type(), n.mantissa.into()));
        let m = self.b.ins().bitcast(int, flags, significand);
        let difference = self.b.ins().isub(bits, m);
        let raised = self.b.ins().iadd(difference, bias);
        let k = self.b.ins().ushr(raised, places);
        let (unit, over) = (self.number(float, n.unit())?, self.number(float, n.unit() + n.bias as f64)?);
        let unit = self.b.ins().bitcast(int, flags, unit);
        let k = self.b.ins().bor(k, unit);
        let k = self.b.ins().bitcast(float, flags, k);
        let k = self.b.ins().fsub(k, over);
        let (lift, zero) = (self.number(float, n.lift.into())?, self.number(float, 0.0)?);
        let lift = self.either(subnormal, lift, zero);
        let k = self.b.ins().fsub(k, lift);
        let (infinity, below) = (self.number(float, f64::INFINITY)?, self.number(float, f64::NEG_INFINITY)?);
        let finite = self.b.ins().fcmp(FloatCC::LessThan, x, infinity);
        let k = self.either(finite, k, x);
        let at_zero = self.b.ins().fcmp(FloatCC::Equal, x, zero);
        Ok(self.either(at_zero, below, k))
    }

    /// The bits of a number scaled to a normal one, and whether it was below the least normal number.
    fn lifted(&mut self, x: Value, n: &Layout) -> Result<(Value, Value), KernelError> {
        let float = self.b.func.dfg.value_type(x);
        let (int, flags) = bits_of(float);
        let (least, lift) = (self.number(float, n.least)?, self.number(float, 2f64.powi(n.lift))?);
        let subnormal = self.b.ins().fcmp(FloatCC::LessThan, x, least);
        let product = self.b.ins().fmul(x, lift);
        let lifted = self.either(subnormal, product, x);
        Ok((self.b.ins().bitcast(int, flags, lifted), subnormal))
    }

    /// `condition ? a : b`, of scalars or of vectors.
    pub fn either(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let float = self.b.func.dfg.value_type(a);
        if !float.is_vector() {
            return self.b.ins().select(condition, a, b);
        }
        let condition = self.recast(condition, float.lane_type());
        self.b.ins().bitselect(condition, a, b)
    }

    /// A constant, rounded to the nearest float, in all lanes.
    pub fn number(&mut self, float: Type, number: f64) -> Result<Value, KernelError> {
        let dtype = if float.lane_type() == types::F32 { DType::F32 } else { DType::F64 };
        let bits = Scalar::F64(number).cast(dtype).bits().0;
        if float.is_vector() { self.vector_constant(float.lane_type(), bits) } else { Ok(self.constant(dtype, bits)) }
    }

    /// An integer in all lanes.
    fn all(&mut self, int: Type, bits: u64) -> Result<Value, KernelError> {
        if int.is_vector() { self.vector_constant(int.lane_type(), bits) } else { Ok(self.int(int, bits as i64)) }
    }

    /// Looks up a number of a table by the low four bits of an integer, or of each lane of a vector.
    pub fn choose(&mut self, table: &'static Table, n: Value) -> Result<Value, KernelError> {
        let int = self.b.func.dfg.value_type(n);
        let period = table.period(true);
        if int == types::I32X4 && period < 16 {
            return self.choose_four(&table.single[..period], n);
        }
        if int.is_vector() {
            let float = if int.lane_type() == types::I32 { types::F32 } else { types::F64 };
            let mut chosen = Vec::new();
            for lane in 0..int.lane_count() as u8 {
                let n = self.b.ins().extractlane(n, lane);
                chosen.push(self.choose(table, n)?);
            }
            let first = self.b.ins().splat(vector_of(float), chosen[0]);
            let others = (1..).zip(&chosen[1..]);
            return Ok(others.fold(first, |all, (lane, &x)| self.b.ins().insertlane(all, x, lane)));
        }
        let (address, float, size) = match int {
            types::I32 => (table.single.as_ptr() as i64, types::F32, 4),
            _ => (table.double.as_ptr() as i64, types::F64, 8),
        };
        let pointer = self.isa.pointer_type();
        let low = self.b.ins().band_imm_u(n, 15);
        let low = if int.bytes() < pointer.bytes() { self.b.ins().uextend(pointer, low) } else { low };
        let offset = self.b.ins().imul_imm_s(low, size);
        let base = self.b.ins().iconst(pointer, address);
        let at = self.b.ins().iadd(base, offset);
        Ok(self.b.ins().load(float, MemFlagsData::trusted(), at, 0))
    }

    /// Looks up four numbers at once, by byte permutations of each four numbers of the table. A permutation
    /// gives 0 for indices of other numbers. With a table of sixteen numbers this takes longer than one
    /// lookup at a time.
    fn choose_four(&mut self, table: &[f32], n: Value) -> Result<Value, KernelError> {
        let bytes = lane_order();
        let [within, four, others] = [table.len() as u64 - 1, 0x0404_0404, 0x0302_0100];
        let within = self.vector_constant(types::I32, within)?;
        let (four, others) = (self.vector_constant(types::I32, four)?, self.vector_constant(types::I32, others)?);
        // The first byte of a number has four times its index; the others follow.
        let number = self.b.ins().band(n, within);
        let first = self.b.ins().imul(number, four);
        let places = self.b.ins().iadd(first, others);
        let mut places = self.b.ins().bitcast(types::I8X16, bytes, places);
        let (mut chosen, part) = (self.vector_constant(types::I8, 0)?, self.vector_constant(types::I8, 16)?);
        for four in table.chunks(4) {
            let all = four.iter().rev().fold(0, |all, x| all << 32 | u128::from(x.to_bits()));
            let four = self.vector_bits(types::I8, all)?;
            let of_these = self.b.ins().swizzle(four, places);
            chosen = self.b.ins().bor(chosen, of_these);
            places = self.b.ins().isub(places, part);
        }
        Ok(self.b.ins().bitcast(types::F32X4, bytes, chosen))
    }
}
