//! Primitives of instruction selection: fresh virtual registers, constants, and instructions.

use super::Selector;
use crate::kernel::{KValue, KernelError};
use crate::x64::codes::Form;
use crate::x64::machine::{Class, Inst, Op, Origin, Over, V, Width};
use smallvec::SmallVec;

impl Selector<'_> {
    pub(super) fn emit(&mut self, inst: Inst) {
        self.seg.insts.push((inst, self.number));
    }
    /// A fresh vector register with lanes of `size` bytes.
    pub(super) fn fresh(&mut self, size: usize) -> V {
        let width = self.width(size);
        self.seg.fresh(Class::Vector(width), Origin::Computed)
    }
    pub(super) fn fresh_mask(&mut self) -> V {
        self.seg.fresh(Class::Mask, Origin::Computed)
    }
    /// A constant element, broadcast to all lanes.
    pub(super) fn constant(&mut self, bits: u64, size: usize) -> V {
        let width = self.width(size);
        let origin = self.pool.repeated(bits, size, width, self.evex());
        self.pooled(origin, Class::Vector(width))
    }
    /// A constant vector by its bytes, padded with zeros to the width of a register.
    pub(super) fn whole(&mut self, bytes: &[u8]) -> V {
        let width = Width::of(bytes.len());
        let mut bytes = bytes.to_vec();
        bytes.resize(width.bytes(), 0);
        let origin = self.pool.whole(&bytes);
        self.pooled(origin, Class::Vector(width))
    }
    pub(super) fn pooled(&mut self, origin: Origin, class: Class) -> V {
        let Origin::Pool { offset, element } = origin else { return self.seg.fresh(class, origin) };
        let width = if let Class::Vector(width) = class { width as u8 } else { 3 };
        let key = (offset, element * 4 + width, class == Class::Mask);
        if let Some(&known) = self.constants.get(&key) {
            return known;
        }
        let v = self.seg.fresh(class, origin);
        self.constants.insert(key, v);
        v
    }
    pub(super) fn plain_op(form: &'static Form, width: Width, dst: V, srcs: &[V]) -> Op {
        let srcs = SmallVec::from_slice(srcs);
        Op {
            form,
            width,
            dst,
            srcs,
            row: None,
            imm: None,
            over: Over::Nothing,
            folds: true,
            same_width: false,
            mask: None,
        }
    }
    pub(super) fn push(&mut self, form: &'static Form, width: Width, dst: V, srcs: &[V]) {
        self.emit(Inst::Op(Self::plain_op(form, width, dst, srcs)));
    }
    /// Emits an operation with one operand, with lanes of the result's size.
    pub(super) fn op1(&mut self, form: &'static Form, size: usize, a: V) -> V {
        let dst = self.fresh(size);
        self.push(form, self.width(size), dst, &[a]);
        dst
    }
    /// Emits an operation with two operands, with lanes of the result's size.
    pub(super) fn op2(&mut self, form: &'static Form, size: usize, a: V, b: V) -> V {
        let dst = self.fresh(size);
        self.push(form, self.width(size), dst, &[a, b]);
        dst
    }
    /// Emits an operation with an immediate.
    pub(super) fn op_imm(&mut self, form: &'static Form, size: usize, srcs: &[V], imm: u8) -> V {
        let dst = self.fresh(size);
        // VEX shifts by an immediate take no memory operand.
        let op = Op { imm: Some(imm), folds: self.evex(), ..Self::plain_op(form, self.width(size), dst, srcs) };
        self.emit(Inst::Op(op));
        dst
    }
    /// Emits an operation with two operands; folds the load of the second one into it if possible.
    pub(super) fn op2_folding(
        &mut self,
        form: &'static Form,
        size: usize,
        a: KValue,
        b: KValue,
        commutes: bool,
    ) -> Result<V, KernelError> {
        let in_memory = |s: &Self, v| s.foldable(v, size).map(|row| row.is_some());
        let better = !in_memory(self, b)? && (in_memory(self, a)? || self.is_constant(a));
        let (a, b) = if commutes && better { (b, a) } else { (a, b) };
        if let Some(row) = self.fold_row(b, size, a != b)? {
            let a = self.lanes(a)?;
            let dst = self.fresh(size);
            self.emit(Inst::Op(Op { row: Some(row), ..Self::plain_op(form, self.width(size), dst, &[a]) }));
            return Ok(dst);
        }
        let (a, b) = (self.lanes(a)?, self.lanes(b)?);
        Ok(self.op2(form, size, a, b))
    }
}
