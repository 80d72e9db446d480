//! The values of one group of points, on vectors or as scalars for each lane, or both. They are converted
//! only when needed.

use super::emit::{Emitter, clif};
use super::unsupported;
use crate::kernel::{KValue, KernelError};
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{ConstantData, Endianness, Inst, InstBuilder, MemFlagsData, Type, Value, types};
use rewright_ir::DType;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The lanes of a group in 128-bit vectors; the last vector may be filled in part.
#[derive(Clone, Debug)]
pub struct Vector {
    /// The type of one lane.
    pub elem: Type,
    /// The vectors, in order.
    pub chunks: SmallVec<[Value; 4]>,
}

/// A value of a group of points.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// The value on vectors. A bool is a mask, with all bits of a lane set or none, and may be present at
    /// several widths.
    pub vectors: SmallVec<[Vector; 1]>,
    /// The value lane by lane.
    pub scalars: SmallVec<[Value; 16]>,
}

/// The group that is being emitted, and memoized values of its loop.
pub struct Group {
    /// The number of lanes.
    pub lanes: usize,
    /// The values so far.
    pub held: Vec<Held>,
    /// The jump into the vector loops; loop invariants are inserted before it.
    pub preheader: Inst,
    /// Uniform values, splatted to vectors.
    pub splats: FxHashMap<(KValue, Type), Value>,
    /// Vector constants.
    pub constants: FxHashMap<(Type, u128), Value>,
    /// The address of the tile's first element, for buffers that vary along the axis.
    pub bases: Vec<Value>,
    /// The tile's first index along the axis.
    pub start: Value,
    /// The index of the round's first point in the tile.
    pub index: Value,
    /// The number of points of this round before the group.
    pub ahead: usize,
    /// The address of each buffer's element at `index`.
    pub addresses: FxHashMap<u32, Value>,
    /// The index times a power of two.
    pub scaled: FxHashMap<u32, Value>,
    /// Parts of complex elements that wait to be stored together.
    pub pending: FxHashMap<u32, [Option<Vector>; 2]>,
}

/// The vector type of a lane type.
pub fn vector_of(elem: Type) -> Type {
    match elem {
        types::I8 => types::I8X16,
        types::I16 => types::I16X8,
        types::I32 => types::I32X4,
        types::F32 => types::F32X4,
        types::F64 => types::F64X2,
        _ => types::I64X2,
    }
}

/// The integer lane type of the same width.
pub fn int_lane(elem: Type) -> Type {
    match elem {
        types::F32 => types::I32,
        types::F64 => types::I64,
        int => int,
    }
}

/// The first lane of a vector is the lowest, on all processors with vectors.
pub fn lane_order() -> MemFlagsData {
    MemFlagsData::new().with_endianness(Endianness::Little)
}

impl Emitter<'_> {
    /// The group that is being emitted.
    pub fn group(&mut self) -> Result<&mut Group, KernelError> {
        self.group.as_mut().ok_or_else(|| unsupported("a vector outside of a vector loop"))
    }

    /// The number of vectors for a value with lanes of a type.
    pub fn chunk_count(&mut self, elem: Type) -> Result<usize, KernelError> {
        Ok((self.group()?.lanes * elem.bytes() as usize / 16).max(1))
    }

    /// A cursor in the preheader, for loop invariants.
    fn before_loops(&mut self) -> Result<FuncCursor<'_>, KernelError> {
        let at = self.group()?.preheader;
        Ok(FuncCursor::new(self.b.func).at_inst(at))
    }

    /// A vector constant by the bits of a lane.
    pub fn vector_constant(&mut self, elem: Type, lane: u64) -> Result<Value, KernelError> {
        let bits = elem.bits();
        let lane = if bits < 64 { lane & ((1 << bits) - 1) } else { lane } as u128;
        let all = (0..128 / bits).fold(0u128, |all, n| all | lane << (n * bits));
        self.vector_bits(elem, all)
    }

    /// A vector constant by all of its bits.
    pub fn vector_bits(&mut self, elem: Type, all: u128) -> Result<Value, KernelError> {
        if let Some(&known) = self.group()?.constants.get(&(elem, all)) {
            return Ok(known);
        }
        let data = self.b.func.dfg.constants.insert(ConstantData::from(&all.to_le_bytes()[..]));
        let value = self.before_loops()?.ins().vconst(vector_of(elem), data);
        self.group()?.constants.insert((elem, all), value);
        Ok(value)
    }

    /// True if a value is the same at all points of the innermost loop.
    pub fn is_uniform(&self, value: KValue) -> bool {
        self.kernel.values[value.0 as usize].level < self.kernel.axes as u32
    }

    /// A vector whose chunks are equal.
    fn repeat(&mut self, elem: Type, chunk: Value) -> Result<Vector, KernelError> {
        Ok(Vector { elem, chunks: SmallVec::from_elem(chunk, self.chunk_count(elem)?) })
    }

    fn splat(&mut self, value: KValue, elem: Type) -> Result<Vector, KernelError> {
        if let Some(&known) = self.group()?.splats.get(&(value, elem)) {
            return self.repeat(elem, known);
        }
        let dtype = self.kernel.dtype(value);
        let scalar = self.scalar(value)?;
        let mut at = self.before_loops()?;
        let scalar = if dtype.is_bool() {
            let wide = if elem == types::I8 { scalar } else { at.ins().uextend(elem, scalar) };
            at.ins().ineg(wide)
        } else {
            scalar
        };
        let chunk = at.ins().splat(vector_of(elem), scalar);
        self.group()?.splats.insert((value, elem), chunk);
        self.repeat(elem, chunk)
    }

    /// A value on vectors, not a bool.
    pub fn vector(&mut self, value: KValue) -> Result<Vector, KernelError> {
        let elem = clif(self.kernel.dtype(value));
        if self.is_uniform(value) {
            return self.splat(value, elem);
        }
        if let Some(known) = self.group()?.held[value.0 as usize].vectors.first() {
            return Ok(known.clone());
        }
        let packed = self.pack(value, elem)?;
        self.group()?.held[value.0 as usize].vectors.push(packed.clone());
        Ok(packed)
    }

    /// The lane type of the mask of a bool as it was first made, if it is on vectors.
    pub fn mask_elem(&mut self, value: KValue) -> Result<Option<Type>, KernelError> {
        Ok(self.group()?.held[value.0 as usize].vectors.first().map(|m| m.elem))
    }

    /// A bool as a mask with lanes of an integer type.
    pub fn mask(&mut self, value: KValue, elem: Type) -> Result<Vector, KernelError> {
        if self.is_uniform(value) {
            return self.splat(value, elem);
        }
        let held = &self.group()?.held[value.0 as usize];
        if let Some(known) = held.vectors.iter().find(|m| m.elem == elem) {
            return Ok(known.clone());
        }
        let mask = match held.vectors.first().cloned() {
            Some(other) => self.resize_mask(other, elem)?,
            None => {
                let bytes = self.pack(value, types::I8)?;
                let zero = self.vector_constant(types::I8, 0)?;
                let set = self.each(&bytes, types::I8, |e, chunk| e.icmp(IntCC::NotEqual, chunk, zero));
                let narrow = self.group()?;
                narrow.held[value.0 as usize].vectors.push(set.clone());
                self.resize_mask(set, elem)?
            }
        };
        self.group()?.held[value.0 as usize].vectors.push(mask.clone());
        Ok(mask)
    }

    /// Packs lanes into vectors.
    fn pack(&mut self, value: KValue, elem: Type) -> Result<Vector, KernelError> {
        let lanes = self.group()?.held[value.0 as usize].scalars.clone();
        if lanes.is_empty() {
            return Err(unsupported(format!("{value:?} is used before it is computed")));
        }
        let ty = vector_of(elem);
        let chunks = lanes.chunks(ty.lane_count() as usize).map(|lanes| {
            if lanes.iter().all(|&l| l == lanes[0]) {
                return self.b.ins().splat(ty, lanes[0]);
            }
            let first = self.first_lane(elem, lanes[0]);
            (1u8..).zip(&lanes[1..]).fold(first, |chunk, (n, &lane)| self.b.ins().insertlane(chunk, lane, n))
        });
        Ok(Vector { elem, chunks: chunks.collect() })
    }

    /// A vector with a scalar in its first lane.
    fn first_lane(&mut self, elem: Type, scalar: Value) -> Value {
        if elem.bits() >= 32 {
            return self.b.ins().scalar_to_vector(vector_of(elem), scalar);
        }
        let word = self.b.ins().uextend(types::I32, scalar);
        let chunk = self.b.ins().scalar_to_vector(types::I32X4, word);
        self.recast(chunk, elem)
    }

    /// A value lane by lane.
    pub fn lane_list(&mut self, value: KValue) -> Result<SmallVec<[Value; 16]>, KernelError> {
        let lanes = self.group()?.lanes;
        if self.is_uniform(value) {
            return Ok(SmallVec::from_elem(self.scalar(value)?, lanes));
        }
        let held = &self.group()?.held[value.0 as usize];
        if !held.scalars.is_empty() {
            return Ok(held.scalars.clone());
        }
        let Some(vector) = held.vectors.first().cloned() else {
            return Err(unsupported(format!("{value:?} is used before it is computed")));
        };
        let bool = self.kernel.dtype(value).is_bool();
        let list: SmallVec<[Value; 16]> = (0..lanes).map(|lane| self.extract(&vector, lane, bool)).collect();
        self.group()?.held[value.0 as usize].scalars = list.clone();
        Ok(list)
    }

    /// One lane; 0 or 1 for a mask.
    pub fn extract(&mut self, vector: &Vector, lane: usize, bool: bool) -> Value {
        let per = vector_of(vector.elem).lane_count() as usize;
        let value = self.b.ins().extractlane(vector.chunks[lane / per], (lane % per) as u8);
        if !bool {
            return value;
        }
        let byte = if vector.elem == types::I8 { value } else { self.b.ins().ireduce(types::I8, value) };
        let one = self.int(types::I8, 1);
        self.b.ins().band(byte, one)
    }

    /// Applies `f` to each chunk; the result's lanes have the type `elem`, of the same width.
    pub fn each(&mut self, a: &Vector, elem: Type, mut f: impl FnMut(&mut Self, Value) -> Value) -> Vector {
        Vector { elem, chunks: a.chunks.iter().map(|&c| f(self, c)).collect() }
    }

    /// Applies `f` to each pair of chunks.
    pub fn pairwise(
        &mut self,
        a: &Vector,
        b: &Vector,
        elem: Type,
        mut f: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> Vector {
        Vector { elem, chunks: a.chunks.iter().zip(&b.chunks).map(|(&a, &b)| f(self, a, b)).collect() }
    }

    /// The same bits as lanes of another type.
    pub fn recast(&mut self, chunk: Value, elem: Type) -> Value {
        let ty = vector_of(elem);
        if self.b.func.dfg.value_type(chunk) == ty { chunk } else { self.b.ins().bitcast(ty, lane_order(), chunk) }
    }

    /// Records a computed value of the group on vectors.
    pub fn hold(&mut self, value: KValue, vector: Vector) -> Result<(), KernelError> {
        self.group()?.held[value.0 as usize].vectors.push(vector);
        Ok(())
    }

    /// Records a computed value of the group lane by lane.
    pub fn hold_lanes(&mut self, value: KValue, lanes: SmallVec<[Value; 16]>) -> Result<(), KernelError> {
        self.group()?.held[value.0 as usize].scalars = lanes;
        Ok(())
    }

    /// The dtype of an operand.
    pub fn dtype(&self, value: KValue) -> DType {
        self.kernel.dtype(value)
    }
}
