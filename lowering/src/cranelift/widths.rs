//! Widening and narrowing of lanes: one vector becomes two with lanes of twice the width, or the reverse.

use super::emit::Emitter;
use super::lanes::Vector;
use crate::kernel::KernelError;
use cranelift_codegen::ir::{ConstantData, InstBuilder, Type, Value, types};

/// The integer type of half the width.
fn half(elem: Type) -> Type {
    match elem {
        types::I64 => types::I32,
        types::I32 => types::I16,
        _ => types::I8,
    }
}

/// The integer type of twice the width.
fn double(elem: Type) -> Type {
    match elem {
        types::I8 => types::I16,
        types::I16 => types::I32,
        _ => types::I64,
    }
}

/// The treatment of lanes that do not fit.
#[derive(Clone, Copy, PartialEq)]
pub enum Narrowing {
    /// Drops the high bits.
    Wrap,
    /// Saturates signed values to signed ones. From 64 bits, only for masks.
    ToSigned,
    /// Saturates signed values to unsigned ones. Not from 64 bits.
    ToUnsigned,
}

impl Emitter<'_> {
    /// Extends integer lanes, or truncates them, to a width.
    pub fn resize(&mut self, mut v: Vector, elem: Type, signed: bool) -> Result<Vector, KernelError> {
        while v.elem.bits() < elem.bits() {
            v = self.widen(&v, signed)?;
        }
        while v.elem.bits() > elem.bits() {
            v = self.narrow(&v, Narrowing::Wrap)?;
        }
        Ok(v)
    }

    /// Resizes the lanes of a mask.
    pub fn resize_mask(&mut self, mut v: Vector, elem: Type) -> Result<Vector, KernelError> {
        while v.elem.bits() < elem.bits() {
            v = self.widen(&v, true)?;
        }
        while v.elem.bits() > elem.bits() {
            v = self.narrow(&v, Narrowing::ToSigned)?;
        }
        Ok(v)
    }

    fn widen(&mut self, v: &Vector, signed: bool) -> Result<Vector, KernelError> {
        let elem = double(v.elem);
        let count = self.chunk_count(elem)?;
        let chunks = (0..count).map(|n| {
            let (from, ins) = (v.chunks[n / 2], self.b.ins());
            match (n % 2 == 0, signed) {
                (true, true) => ins.swiden_low(from),
                (true, false) => ins.uwiden_low(from),
                (false, true) => ins.swiden_high(from),
                (false, false) => ins.uwiden_high(from),
            }
        });
        Ok(Vector { elem, chunks: chunks.collect() })
    }

    /// Narrows integer lanes to half the width.
    pub fn narrow(&mut self, v: &Vector, how: Narrowing) -> Result<Vector, KernelError> {
        let elem = half(v.elem);
        let low_bits = if how == Narrowing::Wrap && v.elem != types::I64 {
            Some(self.vector_constant(v.elem, (1 << elem.bits()) - 1)?)
        } else {
            None
        };
        let mut chunks = v.chunks.clone();
        if let Some(low_bits) = low_bits {
            chunks.iter_mut().for_each(|c| *c = self.b.ins().band(*c, low_bits));
        }
        let count = self.chunk_count(elem)?;
        let narrowed = (0..count).map(|n| {
            let a = chunks[2 * n];
            let b = chunks.get(2 * n + 1).copied().unwrap_or(a);
            match how {
                _ if v.elem == types::I64 => {
                    let (a, b) = (self.recast(a, elem), self.recast(b, elem));
                    self.shuffle_lanes(elem, a, b, &[0, 2, 4, 6])
                }
                Narrowing::ToSigned => self.b.ins().snarrow(a, b),
                Narrowing::ToUnsigned | Narrowing::Wrap => self.b.ins().unarrow(a, b),
            }
        });
        Ok(Vector { elem, chunks: narrowed.collect() })
    }

    /// Selects lanes from two vectors; those of the second one are numbered after those of the first.
    pub fn shuffle_lanes(&mut self, elem: Type, a: Value, b: Value, lanes: &[u8]) -> Value {
        let bytes = elem.bytes() as u8;
        let mask: Vec<u8> = lanes.iter().flat_map(|&l| (0..bytes).map(move |n| l * bytes + n)).collect();
        let mask = self.b.func.dfg.immediates.push(ConstantData::from(&mask[..]));
        let (a, b) = (self.recast(a, types::I8), self.recast(b, types::I8));
        let shuffled = self.b.ins().shuffle(a, b, mask);
        self.recast(shuffled, elem)
    }

    /// Moves the upper 64 bits down.
    pub fn upper_half(&mut self, chunk: Value, elem: Type) -> Value {
        let upper = self.recast(chunk, types::I64);
        let upper = self.shuffle_lanes(types::I64, upper, upper, &[1, 1]);
        self.recast(upper, elem)
    }

    /// Joins the lower 64 bits of both.
    pub fn lower_halves(&mut self, a: Value, b: Value, elem: Type) -> Value {
        let (a, b) = (self.recast(a, types::I64), self.recast(b, types::I64));
        let both = self.shuffle_lanes(types::I64, a, b, &[0, 2]);
        self.recast(both, elem)
    }
}
