//! Conversions of scalars to another dtype.

use super::emit::{Emitter, clif};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use rewright_ir::DType;

impl Emitter<'_> {
    /// Converts with the semantics of `Scalar::cast`.
    pub fn convert(&mut self, from: DType, to: DType, a: Value) -> Value {
        match (from.is_float(), to.is_float()) {
            _ if from == to => a,
            _ if to.is_bool() => self.not_zero(from, a),
            (false, false) => self.int_to_int(from, to, a),
            (false, true) => self.int_to_float(from, to, a),
            (true, false) => self.float_to_int(to, a),
            (true, true) if to == DType::F64 => self.b.ins().fpromote(types::F64, a),
            (true, true) => self.b.ins().fdemote(types::F32, a),
        }
    }

    /// Extends an integer or bool to a type of its size or wider.
    pub fn extend(&mut self, from: DType, to: Type, a: Value) -> Value {
        match (clif(from) == to, from.is_signed()) {
            (true, _) => a,
            (false, true) => self.b.ins().sextend(to, a),
            (false, false) => self.b.ins().uextend(to, a),
        }
    }

    fn not_zero(&mut self, from: DType, a: Value) -> Value {
        let zero = self.constant(from, 0);
        if from.is_float() {
            self.b.ins().fcmp(FloatCC::NotEqual, a, zero)
        } else {
            self.icmp(IntCC::NotEqual, a, zero)
        }
    }

    fn int_to_int(&mut self, from: DType, to: DType, a: Value) -> Value {
        if to.size() < from.size() { self.b.ins().ireduce(clif(to), a) } else { self.extend(from, clif(to), a) }
    }

    fn int_to_float(&mut self, from: DType, to: DType, a: Value) -> Value {
        let wide = match from {
            DType::U64 => return self.b.ins().fcvt_from_uint(clif(to), a),
            DType::U32 | DType::I64 => types::I64,
            _ => types::I32,
        };
        let a = self.extend(from, wide, a);
        self.b.ins().fcvt_from_sint(clif(to), a)
    }

    fn float_to_int(&mut self, to: DType, a: Value) -> Value {
        match to {
            DType::I32 | DType::I64 => return self.b.ins().fcvt_to_sint_sat(clif(to), a),
            DType::U32 | DType::U64 => return self.b.ins().fcvt_to_uint_sat(clif(to), a),
            _ => {}
        }
        let bits = clif(to).bits();
        let (least, most) =
            if to.is_signed() { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        let (least, most) = (self.int(types::I32, least), self.int(types::I32, most));
        let wide = self.b.ins().fcvt_to_sint_sat(types::I32, a);
        let wide = self.b.ins().smax(wide, least);
        let wide = self.b.ins().smin(wide, most);
        self.b.ins().ireduce(clif(to), wide)
    }
}
