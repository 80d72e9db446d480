//! Loads and stores of groups of points, whose elements are contiguous in memory.

use super::emit::{Emitter, clif, int_of, plain};
use super::lanes::{Vector, vector_of};
use super::memory::part_offset;
use crate::kernel::{KValue, KernelError, Part};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use rewright_ir::DType;
use smallvec::SmallVec;

impl Emitter<'_> {
    fn varies_inside(&self, buffer: u32) -> bool {
        self.kernel.buffers[buffer as usize].varies.last().copied().unwrap_or(false)
    }

    /// The address of a buffer's element at the round's first point.
    fn address(&mut self, buffer: u32) -> Result<Value, KernelError> {
        if let Some(&known) = self.group()?.addresses.get(&buffer) {
            return Ok(known);
        }
        let size = self.kernel.buffers[buffer as usize].dtype.size() as u32;
        let group = self.group()?;
        let (index, base, scaled) = (group.index, group.bases[buffer as usize], group.scaled.get(&size).copied());
        let scaled = match scaled {
            Some(scaled) => scaled,
            None => {
                let scaled =
                    if size == 1 { index } else { self.b.ins().ishl_imm_u(index, size.trailing_zeros() as i64) };
                self.group()?.scaled.insert(size, scaled);
                scaled
            }
        };
        let address = self.offset(base, scaled);
        self.group()?.addresses.insert(buffer, address);
        Ok(address)
    }

    /// The address of a lane of the group: a base, and the offset from it.
    fn lane_place(&mut self, buffer: u32, lane: usize, part: Part) -> Result<(Value, i32), KernelError> {
        let dtype = self.kernel.buffers[buffer as usize].dtype;
        let address = self.address(buffer)?;
        let points = self.group()?.ahead + lane;
        Ok((address, (points * dtype.size()) as i32 + part_offset(dtype, part)))
    }

    /// Loads the elements at the points of the group.
    pub fn load_group(&mut self, buffer: u32, part: Part, to: KValue, vector: bool) -> Result<(), KernelError> {
        let dtype = self.kernel.buffers[buffer as usize].dtype;
        let elem = clif(dtype.real());
        if !self.varies_inside(buffer) {
            let value = self.load_scalar(buffer, part);
            return self.hold_same(to, value);
        }
        self.flush(buffer)?;
        if !vector {
            let mut lanes = SmallVec::new();
            for lane in 0..self.group()?.lanes {
                let (address, offset) = self.lane_place(buffer, lane, part)?;
                lanes.push(self.load_at(dtype.real(), address, offset));
            }
            return self.hold_lanes(to, lanes);
        }
        let loaded =
            if dtype.is_complex() { self.load_part(buffer, part, elem)? } else { self.load_chunks(buffer, elem, 1)? };
        let loaded = if dtype.is_bool() {
            let zero = self.vector_constant(types::I8, 0)?;
            self.each(&loaded, types::I8, |e, x| e.b.ins().icmp(IntCC::NotEqual, x, zero))
        } else {
            loaded
        };
        self.hold(to, loaded)
    }

    /// Loads contiguous lanes, `times` as many as the group has points.
    fn load_chunks(&mut self, buffer: u32, elem: Type, times: usize) -> Result<Vector, KernelError> {
        let bytes = self.group()?.lanes * times * elem.bytes() as usize;
        let (address, offset) = self.lane_place(buffer, 0, Part::Re)?;
        let chunks = (0..bytes.div_ceil(16)).map(|n| {
            let offset = offset + n as i32 * 16;
            if bytes >= 16 {
                return self.b.ins().load(vector_of(elem), plain(), address, offset);
            }
            let word = self.b.ins().load(int_of(bytes), plain(), address, offset);
            let (word, ty) = match bytes {
                8 => (word, types::I64X2),
                4 => (word, types::I32X4),
                _ => (self.b.ins().uextend(types::I32, word), types::I32X4),
            };
            let chunk = self.b.ins().scalar_to_vector(ty, word);
            self.recast(chunk, elem)
        });
        Ok(Vector { elem, chunks: chunks.collect() })
    }

    /// Loads one part of complex elements.
    fn load_part(&mut self, buffer: u32, part: Part, elem: Type) -> Result<Vector, KernelError> {
        let whole = self.load_chunks(buffer, elem, 2)?;
        let odd = matches!(part, Part::Im) as u8;
        let lanes: &[u8] = if elem == types::F64 { &[odd, 2 + odd] } else { &[odd, 2 + odd, 4 + odd, 6 + odd] };
        let count = self.chunk_count(elem)?;
        let chunks = (0..count).map(|n| {
            let a = whole.chunks[2 * n];
            let b = whole.chunks.get(2 * n + 1).copied().unwrap_or(a);
            self.shuffle_lanes(elem, a, b, lanes)
        });
        Ok(Vector { elem, chunks: chunks.collect() })
    }

    /// Stores the elements at the points of the group.
    pub fn store_group(&mut self, buffer: u32, part: Part, value: KValue) -> Result<(), KernelError> {
        let dtype = self.kernel.buffers[buffer as usize].dtype;
        if !self.varies_inside(buffer) {
            // All points store to one element: the last one's value remains.
            if let Some(&last) = self.lane_list(value)?.last() {
                self.store_scalar(buffer, part, last);
            }
            return Ok(());
        }
        let on_vectors = self.is_uniform(value) || !self.group()?.held[value.0 as usize].vectors.is_empty();
        if !on_vectors {
            let lanes = self.lane_list(value)?;
            return self.store_lanes(buffer, part, &lanes);
        }
        if dtype.is_bool() {
            let mask = self.mask(value, types::I8)?;
            let one = self.vector_constant(types::I8, 1)?;
            let bytes = self.each(&mask, types::I8, |e, x| e.b.ins().band(x, one));
            return self.store_chunks(buffer, &bytes, 1);
        }
        let vector = self.vector(value)?;
        if !dtype.is_complex() {
            return self.store_chunks(buffer, &vector, 1);
        }
        self.store_part(buffer, part, vector)
    }

    fn store_lanes(&mut self, buffer: u32, part: Part, lanes: &[Value]) -> Result<(), KernelError> {
        for (lane, &value) in lanes.iter().enumerate() {
            let (address, offset) = self.lane_place(buffer, lane, part)?;
            self.b.ins().store(plain(), value, address, offset);
        }
        Ok(())
    }

    fn store_chunks(&mut self, buffer: u32, vector: &Vector, times: usize) -> Result<(), KernelError> {
        let bytes = self.group()?.lanes * times * vector.elem.bytes() as usize;
        let (address, offset) = self.lane_place(buffer, 0, Part::Re)?;
        for (n, &chunk) in vector.chunks.iter().enumerate() {
            let value = match bytes {
                8 => self.first_word(chunk, types::I64),
                4 => self.first_word(chunk, types::I32),
                2 => self.first_word(chunk, types::I16),
                _ => chunk,
            };
            self.b.ins().store(plain(), value, address, offset + n as i32 * 16);
        }
        Ok(())
    }

    fn first_word(&mut self, chunk: Value, ty: Type) -> Value {
        let chunk = self.recast(chunk, ty);
        self.b.ins().extractlane(chunk, 0)
    }

    /// Keeps one part until the other one is stored, and then stores whole elements.
    fn store_part(&mut self, buffer: u32, part: Part, vector: Vector) -> Result<(), KernelError> {
        let slot = self.group()?.pending.entry(buffer).or_default();
        slot[matches!(part, Part::Im) as usize] = Some(vector);
        let [Some(re), Some(im)] = slot.clone() else { return Ok(()) };
        self.group()?.pending.remove(&buffer);
        let elem = re.elem;
        let (low, high): (&[u8], &[u8]) =
            if elem == types::F64 { (&[0, 2], &[1, 3]) } else { (&[0, 4, 1, 5], &[2, 6, 3, 7]) };
        let wanted = self.group()?.lanes * elem.bytes() as usize * 2 / 16;
        let mut chunks = SmallVec::new();
        for (&re, &im) in re.chunks.iter().zip(&im.chunks) {
            chunks.push(self.shuffle_lanes(elem, re, im, low));
            chunks.push(self.shuffle_lanes(elem, re, im, high));
        }
        chunks.truncate(wanted.max(1));
        self.store_chunks(buffer, &Vector { elem, chunks }, 2)
    }

    /// Stores a part of a buffer's elements that waits for the other one.
    fn flush(&mut self, buffer: u32) -> Result<(), KernelError> {
        let Some(parts) = self.group()?.pending.remove(&buffer) else { return Ok(()) };
        for (vector, part) in parts.into_iter().zip([Part::Re, Part::Im]) {
            let Some(vector) = vector else { continue };
            let lanes: SmallVec<[Value; 16]> =
                (0..self.group()?.lanes).map(|lane| self.extract(&vector, lane, false)).collect();
            self.store_lanes(buffer, part, &lanes)?;
        }
        Ok(())
    }

    /// Stores all waiting parts.
    pub fn flush_all(&mut self) -> Result<(), KernelError> {
        let mut waiting: Vec<u32> = self.group()?.pending.keys().copied().collect();
        waiting.sort_unstable();
        waiting.into_iter().try_for_each(|buffer| self.flush(buffer))
    }

    /// The index along an axis at the points of the group.
    pub fn index_group(&mut self, axis: u32, to: KValue, vector: bool) -> Result<(), KernelError> {
        if axis as usize + 1 < self.kernel.axes {
            return self.hold_same(to, self.indices[axis as usize]);
        }
        let group = self.group()?;
        let (start, index, ahead, lanes) = (group.start, group.index, group.ahead as i64, group.lanes);
        let first = self.b.ins().iadd(start, index);
        if !vector {
            let list = (0..lanes as i64).map(|lane| self.b.ins().iadd_imm_s(first, ahead + lane)).collect();
            return self.hold_lanes(to, list);
        }
        let first = self.b.ins().splat(types::I64X2, first);
        let mut chunks = SmallVec::new();
        for n in (0..lanes as u128).step_by(2) {
            let n = n + ahead as u128;
            let steps = self.vector_bits(types::I64, n | (n + 1) << 64)?;
            chunks.push(self.b.ins().iadd(first, steps));
        }
        self.hold(to, Vector { elem: types::I64, chunks })
    }

    /// Loads a real element at an address.
    fn load_at(&mut self, dtype: DType, address: Value, offset: i32) -> Value {
        let value = self.b.ins().load(clif(dtype), plain(), address, offset);
        if !dtype.is_bool() {
            return value;
        }
        let zero = self.int(types::I8, 0);
        self.icmp(IntCC::NotEqual, value, zero)
    }
}
