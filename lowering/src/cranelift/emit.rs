//! The emitter: the function that is being built, and primitives for the other modules.

use super::unsupported;
use crate::kernel::{KValue, Kernel, KernelError};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, BlockArg, InstBuilder, MemFlagsData, SigRef, StackSlot, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::FunctionBuilder;
use rewright_ir::DType;
use rustc_hash::FxHashMap;
use std::rc::Rc;

use super::Features;
use super::lanes::Group;
use super::runtime::{Site, parts};
use super::staging::Staging;
use super::vector_plan::VectorPlan;

/// Builds the function of one kernel.
pub struct Emitter<'a> {
    /// The builder, which appends instructions.
    pub b: FunctionBuilder<'a>,
    /// The kernel that is compiled.
    pub kernel: &'a Kernel,
    /// The target processor.
    pub isa: &'a dyn TargetIsa,
    /// The sites that call an op by its reference meaning; the code contains their addresses.
    pub sites: &'a [Site],
    /// The features of the processor.
    pub features: Features,
    /// The scalar value of each kernel value that is computed one point at a time.
    pub scalars: Vec<Option<Value>>,
    /// The address of each buffer's element at the current point.
    pub pointers: Vec<Value>,
    /// The index along the axis of each open loop.
    pub indices: Vec<Value>,
    /// The fields of the arguments.
    pub args: Option<ArgValues>,
    /// The block that returns.
    pub exit: Option<Block>,
    /// The numbers of the instructions of each level.
    pub levels: Rc<Vec<Vec<usize>>>,
    /// Signatures of called functions, by name.
    pub signatures: FxHashMap<&'static str, SigRef>,
    /// The stack slots of the operands and results of reference calls.
    pub slots: Option<(StackSlot, StackSlot)>,
    /// The plan of the innermost loop.
    pub plan: VectorPlan,
    /// The copies of rows whose elements are not adjacent.
    pub staging: Staging,
    /// Whether no row has to be copied; `None` if there is no vector loop.
    pub adjacent: Option<Value>,
    /// The state of the vector loop.
    pub group: Option<Group>,
}

/// The fields of the kernel's arguments.
#[derive(Clone, Copy)]
pub struct ArgValues {
    /// The array of strides.
    pub strides: Value,
    /// The array of parameters.
    pub params: Value,
    /// The address of the status, which records failures.
    pub status: Value,
}

/// The Cranelift type of a real dtype's values. Bools are 0 or 1 in a byte.
pub fn clif(dtype: DType) -> Type {
    match dtype {
        DType::F32 => types::F32,
        DType::F64 => types::F64,
        other => int_of(other.size()),
    }
}

/// The integer type of a size in bytes.
pub fn int_of(size: usize) -> Type {
    match size {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

/// Flags of accesses to buffers: valid, at any alignment.
pub fn plain() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// Flags of loads of words that are aligned and do not change during the call.
pub fn fixed() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_aligned().with_readonly()
}

impl<'a> Emitter<'a> {
    /// An emitter for an empty function.
    pub fn new(
        b: FunctionBuilder<'a>,
        kernel: &'a Kernel,
        isa: &'a dyn TargetIsa,
        sites: &'a [Site],
        features: Features,
    ) -> Result<Self, KernelError> {
        let plan = VectorPlan::new(kernel, features);
        let mut emitter = Emitter {
            b,
            kernel,
            isa,
            sites,
            features,
            scalars: vec![None; kernel.values.len()],
            pointers: Vec::new(),
            indices: Vec::new(),
            args: None,
            exit: None,
            levels: Rc::new(kernel.levels()),
            signatures: FxHashMap::default(),
            slots: None,
            staging: Staging::new(kernel, &plan),
            plan,
            adjacent: None,
            group: None,
        };
        let most = |of: fn(&Site) -> usize| sites.iter().map(of).max();
        if let (Some(ins), Some(outs)) = (most(|s| parts(&s.reference.args)), most(|s| parts(&s.reference.results))) {
            emitter.slots = Some((emitter.slot(ins.max(1) * 8)?, emitter.slot(outs * 8)?));
        }
        Ok(emitter)
    }

    /// The fields of the arguments, which the entry has loaded.
    pub fn args(&self) -> Result<ArgValues, KernelError> {
        self.args.ok_or_else(|| unsupported("arguments used before they are read"))
    }

    /// The block that returns.
    pub fn exit(&self) -> Result<Block, KernelError> {
        self.exit.ok_or_else(|| unsupported("no exit yet"))
    }

    /// The scalar value of a kernel value.
    pub fn scalar(&self, value: KValue) -> Result<Value, KernelError> {
        self.scalars[value.0 as usize].ok_or_else(|| unsupported(format!("{value:?} is used before it is computed")))
    }

    /// An integer constant of a type, by its low bits.
    pub fn int(&mut self, ty: Type, value: i64) -> Value {
        let value = if ty.bits() < 64 { value & ((1 << ty.bits()) - 1) } else { value };
        self.b.ins().iconst(ty, value)
    }

    /// The address `base + offset`, both in bytes.
    pub fn offset(&mut self, base: Value, offset: Value) -> Value {
        self.b.ins().iadd(base, offset)
    }

    /// A word of one of the arrays in the arguments.
    pub fn word(&mut self, array: Value, index: usize) -> Result<Value, KernelError> {
        let offset = i32::try_from(index * 8).map_err(|_| unsupported("too many buffers or parameters"))?;
        Ok(self.b.ins().load(types::I64, fixed(), array, offset))
    }

    /// The stride of a buffer along an axis, in bytes.
    pub fn stride(&mut self, buffer: usize, axis: usize) -> Result<Value, KernelError> {
        self.word(self.args()?.strides, buffer * self.kernel.axes + axis)
    }

    /// Compares two integers of one type.
    pub fn icmp(&mut self, cond: IntCC, a: Value, b: Value) -> Value {
        self.b.ins().icmp(cond, a, b)
    }

    /// Branches to `then` if the condition holds, else to `otherwise`.
    pub fn branch(&mut self, condition: Value, then: (Block, &[Value]), otherwise: (Block, &[Value])) {
        let (a, b) = (block_args(then.1), block_args(otherwise.1));
        self.b.ins().brif(condition, then.0, &a, otherwise.0, &b);
    }

    /// Jumps to a block.
    pub fn jump(&mut self, to: Block, args: &[Value]) {
        self.b.ins().jump(to, &block_args(args));
    }

    /// A new block with parameters of these types.
    pub fn block(&mut self, params: impl IntoIterator<Item = Type>) -> Block {
        let block = self.b.create_block();
        for ty in params {
            self.b.append_block_param(block, ty);
        }
        block
    }

    /// A stack slot.
    pub fn slot(&mut self, bytes: usize) -> Result<StackSlot, KernelError> {
        let bytes = u32::try_from(bytes).map_err(|_| unsupported("too many operands"))?;
        Ok(self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4)))
    }
}

fn block_args(values: &[Value]) -> Vec<BlockArg> {
    values.iter().map(|&v| BlockArg::Value(v)).collect()
}
