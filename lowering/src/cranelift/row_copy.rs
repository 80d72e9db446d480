//! Row copies: a loop that copies the elements of a row copies blocks of memory, if the elements of both
//! arrays are adjacent.

use super::emit::plain;
use super::program::ProgramEmitter;
use crate::copy::{LEAST_STREAMED, stream_row};
use crate::kernel::{KernelError, Part};
use crate::program::{For, Location, Storage};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use smallvec::SmallVec;

/// The most bytes that are copied by instructions, and not by a call.
const MOST_INLINE: i64 = 128;

/// Copies memory; called by the code.
///
/// # Safety
/// As [`std::ptr::copy`].
unsafe extern "C" fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the code passes the addresses of rows of this size.
    unsafe { std::ptr::copy(from, to, bytes) }
}

/// Copies a row to a result that is larger than the caches; called by the code.
///
/// # Safety
/// As [`stream_row`].
unsafe extern "C" fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the code passes the addresses of rows of this size, of an operand and of a result.
    unsafe {
        match bytes {
            LEAST_STREAMED.. => stream_row(from, to, bytes),
            _ => std::ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

impl ProgramEmitter<'_> {
    /// Emits a loop that copies a row; false if it is another loop.
    pub(super) fn row_copy(&mut self, nest: &For) -> Result<bool, KernelError> {
        let Some((from, to)) = nest.copied_row(&self.program.buffers) else { return Ok(false) };
        let size = self.program.buffers[from.buffer as usize].dtype.size() as i64;
        let unit = self.e.int(types::I64, size);
        let is_adjacent = |this: &mut Self, location: &Location| {
            let stride = this.stride_along(location.buffer, location.at.len() - 1)?;
            Ok::<_, KernelError>(this.e.icmp(IntCC::Equal, stride, unit))
        };
        let streams =
            matches!(self.program.buffers[to.buffer as usize].storage, Storage::Caller { streamed: true, .. });
        let (source, target) = (is_adjacent(self, from)?, is_adjacent(self, to)?);
        let are_adjacent = self.e.b.ins().band(source, target);
        let [adjacent, strided, after] = [(); 3].map(|()| self.e.b.create_block());
        self.e.branch(are_adjacent, (adjacent, &[]), (strided, &[]));
        self.e.b.switch_to_block(adjacent);
        let (lo, hi) = (self.form(&nest.lo)?, self.least(&nest.hi)?);
        self.at_first_iteration(nest, lo)?;
        self.loops.push(nest.index);
        let addresses = [from, to].map(|location| {
            let (address, offset) = self.address(&Location { part: Part::Re, ..location.clone() })?;
            let offset = self.e.int(types::I64, offset.into());
            Ok::<_, KernelError>(self.e.offset(address, offset))
        });
        self.loops.pop();
        let [from, to] = addresses;
        let (from, to) = (from?, to?);
        let known = match &nest.hi[..] {
            [hi] => hi.clone().minus(&nest.lo).as_constant().map(|count| count.max(0)),
            _ => None,
        };
        match known.and_then(|count| count.checked_mul(size)).filter(|&bytes| bytes <= MOST_INLINE) {
            Some(bytes) => self.copy_inline(from, to, bytes as i32),
            None => {
                let (count, zero) = (self.e.b.ins().isub(hi, lo), self.e.int(types::I64, 0));
                let count = self.e.b.ins().smax(count, zero);
                let bytes = self.e.b.ins().imul(count, unit);
                let signature = self.e.signature("copy", &[types::I64; 3], None);
                let callee = if streams { stream as *const () } else { copy as *const () };
                let callee = self.e.int(types::I64, callee as i64);
                self.e.b.ins().call_indirect(signature, callee, &[from, to, bytes]);
            }
        }
        self.e.jump(after, &[]);
        self.e.b.switch_to_block(strided);
        self.for_loop(nest)?;
        self.e.jump(after, &[]);
        self.e.b.switch_to_block(after);
        Ok(true)
    }

    /// Copies a known number of bytes: pieces of the largest type that fits, the last of which overlaps
    /// another one.
    fn copy_inline(&mut self, from: Value, to: Value, bytes: i32) {
        let types = [(types::I8X16, 16), (types::I64, 8), (types::I32, 4), (types::I16, 2), (types::I8, 1)];
        let fits = |&(_, size): &(_, i32)| size <= bytes && (size <= 8 || self.e.features.vectors);
        let Some((ty, size)) = types.into_iter().find(fits) else { return };
        let last = bytes - size;
        let places = (0..bytes / size).map(|n| n * size).chain((last % size != 0).then_some(last));
        let load = |at: i32| (at, self.e.b.ins().load(ty, plain(), from, at));
        let loaded: SmallVec<[(i32, Value); 8]> = places.map(load).collect();
        for (at, piece) in loaded {
            self.e.b.ins().store(plain(), piece, to, at);
        }
    }
}
