//! The loop nest.

use super::emit::{ArgValues, Emitter, fixed};
use super::unsupported;
use crate::kernel::{KInst, KOp, KernelArgs, KernelError};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Type, Value, types};
use std::mem::offset_of;
use std::rc::Rc;

/// A loop whose body is being emitted.
pub struct Open {
    header: Block,
    axis: usize,
    extent: Value,
    /// The buffers whose address changes along the axis.
    moving: Vec<usize>,
    /// The addresses of all buffers in the body, and before the loop.
    inside: Vec<Value>,
    outside: Vec<Value>,
}

impl Emitter<'_> {
    /// Emits the whole function.
    pub fn kernel(&mut self) -> Result<(), KernelError> {
        let entry = self.b.create_block();
        self.b.append_block_params_for_function_params(entry);
        self.b.switch_to_block(entry);
        let args = self.b.block_params(entry)[0];
        let mut field = |offset: usize| self.b.ins().load(types::I64, fixed(), args, offset as i32);
        let extents = field(offset_of!(KernelArgs, extents));
        let pointers = field(offset_of!(KernelArgs, pointers));
        let strides = field(offset_of!(KernelArgs, strides));
        let params = field(offset_of!(KernelArgs, params));
        let status = field(offset_of!(KernelArgs, status));
        self.args = Some(ArgValues { strides, params, status });
        self.exit = Some(self.b.create_block());

        let extents = self.extents(extents)?;
        self.pointers = (0..self.kernel.buffers.len()).map(|n| self.word(pointers, n)).collect::<Result<_, _>>()?;
        if self.plan.lanes > 1 {
            self.adjacent = Some(self.adjacent()?);
        }
        self.nest(&extents)?;

        let exit = self.exit()?;
        self.jump(exit, &[]);
        self.b.switch_to_block(exit);
        self.b.ins().return_(&[]);
        self.b.seal_all_blocks();
        Ok(())
    }

    /// Loads the extents. If one is 0, nothing runs, not even the levels outside of that loop: their
    /// operands need not exist.
    fn extents(&mut self, array: Value) -> Result<Vec<Value>, KernelError> {
        let mut extents = Vec::with_capacity(self.kernel.axes);
        let zero = self.int(types::I64, 0);
        for axis in 0..self.kernel.axes {
            let extent = self.word(array, axis)?;
            let (some, exit) = (self.b.create_block(), self.exit()?);
            let none = self.icmp(IntCC::Equal, extent, zero);
            self.branch(none, (exit, &[]), (some, &[]));
            self.b.switch_to_block(some);
            extents.push(extent);
        }
        Ok(extents)
    }

    /// Emits the loops and their bodies, for at least one point.
    fn nest(&mut self, extents: &[Value]) -> Result<(), KernelError> {
        let mut open: Vec<Open> = Vec::new();
        self.level(0)?;
        if let Some((&innermost, outer)) = extents.split_last() {
            for (axis, &extent) in outer.iter().enumerate() {
                let first = self.int(types::I64, 0);
                open.push(self.open(axis, first, extent));
                self.level(axis + 1)?;
            }
            match &self.kernel.fold {
                Some(fold) => self.fold_row(fold, innermost)?,
                None => self.row(innermost)?,
            }
        }
        while let Some(one) = open.pop() {
            self.close(one)?;
        }
        Ok(())
    }

    /// Emits the innermost loop one point at a time, from index `first` on, which is below the extent. The
    /// addresses are those of the first element.
    pub fn points(&mut self, axis: usize, first: Value, extent: Value) -> Result<(), KernelError> {
        let open = self.open(axis, first, extent);
        self.level(axis + 1)?;
        self.close(open)
    }

    /// The buffers whose address changes along an axis.
    pub fn moving(&self, axis: usize) -> Vec<usize> {
        (0..self.kernel.buffers.len()).filter(|&n| self.kernel.buffers[n].varies[axis]).collect()
    }

    /// Begins a loop at index `first`, which is below the extent.
    pub fn open(&mut self, axis: usize, first: Value, extent: Value) -> Open {
        let moving = self.moving(axis);
        let header = self.block(std::iter::repeat_n::<Type>(types::I64, 1 + moving.len()));
        let mut start = vec![first];
        start.extend(moving.iter().map(|&n| self.pointers[n]));
        self.jump(header, &start);
        self.b.switch_to_block(header);
        let outside = self.pointers.clone();
        let params = self.b.block_params(header).to_vec();
        self.indices.push(params[0]);
        for (&n, &p) in moving.iter().zip(&params[1..]) {
            self.pointers[n] = p;
        }
        Open { header, axis, extent, moving, inside: self.pointers.clone(), outside }
    }

    /// Ends the innermost open loop.
    pub fn close(&mut self, open: Open) -> Result<(), KernelError> {
        let Some(index) = self.indices.pop() else { return Err(unsupported("a loop that was not begun")) };
        let next = self.b.ins().iadd_imm_s(index, 1);
        let mut again = vec![next];
        for &n in &open.moving {
            let stride = self.stride(n, open.axis)?;
            again.push(self.offset(open.inside[n], stride));
        }
        let after = self.b.create_block();
        let more = self.icmp(IntCC::UnsignedLessThan, next, open.extent);
        self.branch(more, (open.header, &again), (after, &[]));
        self.b.switch_to_block(after);
        self.pointers = open.outside;
        Ok(())
    }

    /// Emits the instructions of one level, one point at a time.
    pub fn level(&mut self, level: usize) -> Result<(), KernelError> {
        let kernel = self.kernel;
        let levels = Rc::clone(&self.levels);
        for &number in &levels[level] {
            self.scalar_inst(number, &kernel.insts[number])?;
        }
        Ok(())
    }

    pub fn scalar_inst(&mut self, number: usize, inst: &KInst) -> Result<(), KernelError> {
        let kernel = self.kernel;
        let args = inst.args.iter().map(|&a| self.scalar(a)).collect::<Result<Vec<Value>, _>>()?;
        let first = inst.first.0 as usize;
        let value = match &inst.op {
            KOp::Store(buffer, part) => {
                self.store_scalar(*buffer, *part, args[0]);
                return Ok(());
            }
            KOp::Reference(reference) => return self.reference(number, reference, first, &args),
            KOp::Param(index) => self.param(*index, kernel.values[first].dtype)?,
            KOp::Index(axis) => self.indices[*axis as usize],
            KOp::Load(buffer, part) => self.load_scalar(*buffer, *part),
            op => {
                let to = kernel.values[first].dtype;
                let from = inst.args.last().map_or(to, |&a| kernel.dtype(a));
                self.scalar_op(op, from, to, &args)?
            }
        };
        self.scalars[first] = Some(value);
        Ok(())
    }
}
