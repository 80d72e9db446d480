//! Scalar loads and stores of buffers and parameters.

use super::emit::{Emitter, clif, int_of, plain};
use crate::kernel::Part;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use rewright_ir::DType;

/// The offset of a part in an element, in bytes.
pub fn part_offset(dtype: DType, part: Part) -> i32 {
    match part {
        Part::Re => 0,
        Part::Im => dtype.real().size() as i32,
    }
}

impl Emitter<'_> {
    /// Loads the element at the current point.
    pub fn load_scalar(&mut self, buffer: u32, part: Part) -> Value {
        let dtype = self.kernel.buffers[buffer as usize].dtype;
        let value =
            self.b.ins().load(clif(dtype.real()), plain(), self.pointers[buffer as usize], part_offset(dtype, part));
        if !dtype.is_bool() {
            return value;
        }
        let zero = self.int(types::I8, 0);
        self.icmp(IntCC::NotEqual, value, zero)
    }

    /// Stores the element at the current point.
    pub fn store_scalar(&mut self, buffer: u32, part: Part, value: Value) {
        let dtype = self.kernel.buffers[buffer as usize].dtype;
        self.b.ins().store(plain(), value, self.pointers[buffer as usize], part_offset(dtype, part));
    }

    /// The value of a scalar parameter.
    pub fn param(&mut self, index: u32, dtype: DType) -> Result<Value, crate::KernelError> {
        let word = self.word(self.args()?.params, index as usize)?;
        Ok(self.word_to_value(dtype, word))
    }

    /// A value by its bits, zero-extended to a word.
    pub fn word_to_value(&mut self, dtype: DType, word: Value) -> Value {
        let int = int_of(dtype.size());
        let bits = if int == types::I64 { word } else { self.b.ins().ireduce(int, word) };
        match dtype {
            DType::F32 | DType::F64 => {
                self.b.ins().bitcast(clif(dtype), cranelift_codegen::ir::MemFlagsData::new(), bits)
            }
            DType::Bool => {
                let one = self.int(types::I8, 1);
                self.b.ins().band(bits, one)
            }
            _ => bits,
        }
    }

    /// The bits of a value, zero-extended to a word.
    pub fn value_to_word(&mut self, dtype: DType, value: Value) -> Value {
        let int = int_of(dtype.size());
        let bits = match dtype {
            DType::F32 | DType::F64 => self.b.ins().bitcast(int, cranelift_codegen::ir::MemFlagsData::new(), value),
            _ => value,
        };
        if int == types::I64 { bits } else { self.b.ins().uextend(types::I64, bits) }
    }
}
