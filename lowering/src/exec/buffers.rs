//! Memory for the elements of arrays: new blocks, and blocks of arrays that are dropped.

use super::huge;
use super::kept::Kept;
use super::stats::Stats;
use ndarray::{ArcArray, IxDyn, s};
use rewright_ir::value::checked_len;
use rewright_ir::{Array, DType, Element, EvalError, with_array, with_dtype};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;

/// Uninitialized memory for the elements of an array: a block of the global allocator, with its size and
/// alignment. In all but small blocks the elements begin at a cache line.
#[derive(Debug)]
pub struct RawBuffer {
    block: NonNull<u8>,
    bytes: usize,
    align: usize,
    /// The block was written before, so its pages are mapped.
    used: bool,
}

// SAFETY: the block is plain memory, and only this value owns it.
unsafe impl Send for RawBuffer {}

/// The bytes of a cache line.
pub const LINE: usize = 64;
/// The least bytes of a block whose elements are aligned to a cache line.
const ALIGNED: usize = 1 << 10;

impl RawBuffer {
    /// Memory for elements of a layout; `None` if the allocation fails.
    fn new(layout: Layout) -> Option<RawBuffer> {
        let layout = Layout::from_size_align(block_bytes(layout.size()), layout.align()).ok()?;
        let (bytes, align) = (layout.size(), layout.align());
        if bytes == 0 {
            let block = NonNull::without_provenance(align.try_into().ok()?);
            return Some(RawBuffer { block, bytes, align, used: false });
        }
        // SAFETY: the layout's size is not 0.
        let block = NonNull::new(unsafe { alloc(layout) })?;
        huge::prefer(block.as_ptr().addr(), bytes);
        Some(RawBuffer { block, bytes, align, used: false })
    }

    /// The memory of an array, if nothing else shares it.
    pub fn of(array: Array) -> Option<RawBuffer> {
        fn vec_parts<T>(elements: Vec<T>) -> Option<RawBuffer> {
            let mut elements = std::mem::ManuallyDrop::new(elements);
            let bytes = elements.capacity() * size_of::<T>();
            // A vector's pointer is never null, and the global allocator gave its block for its capacity.
            let block = NonNull::new(elements.as_mut_ptr())?.cast();
            Some(RawBuffer { block, bytes, align: align_of::<T>(), used: true })
        }
        with_array!(array, |a| vec_parts(a.try_into_owned_nocopy().ok()?.into_raw_vec_and_offset().0))
    }

    /// Whether the block was written before.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// The bytes before the first element, a multiple of the size of every dtype.
    fn skipped(&self) -> usize {
        let to_line = self.block.addr().get().wrapping_neg() % LINE;
        if self.bytes >= ALIGNED && to_line.is_multiple_of(DType::C128.size()) { to_line } else { 0 }
    }

    /// The first element.
    pub fn pointer(&self) -> *mut u8 {
        self.block.as_ptr().wrapping_add(self.skipped())
    }

    /// The bytes of the block.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether elements of this layout, of `size` bytes each, fit.
    pub fn suits(&self, layout: Layout, size: usize) -> bool {
        suits(self.bytes, self.skipped(), self.align, layout, size)
    }

    /// The array of these elements. They are row-major, or `order` lists the axes by their strides, largest
    /// first.
    ///
    /// # Safety
    /// The buffer was obtained for this dtype and shape, and every element was initialized with a valid
    /// value.
    pub unsafe fn into_array(self, dtype: DType, shape: &[usize], order: Option<&[usize]>) -> Array {
        with_dtype!(dtype, T => {
            let len = checked_len(shape).unwrap_or_default();
            let skipped = self.skipped();
            // SAFETY: the block has these bytes at its beginning, and zeros are valid elements.
            unsafe { self.block.as_ptr().write_bytes(0, skipped) };
            let skipped = skipped / size_of::<T>();
            // SAFETY: the block came from the global allocator (or there is none, for no elements) with the
            // alignment of `T`, and its size is a multiple of that of `T`. It has room for the skipped
            // elements and for `len` more, and all of them are initialized. `self` is forgotten, so the
            // vector is the only owner.
            let elements = unsafe {
                Vec::from_raw_parts(self.block.cast::<T>().as_ptr(), skipped + len, self.bytes / size_of::<T>())
            };
            std::mem::forget(self);
            let Some(order) = order else { return wrap(shape, elements, skipped) };
            let sorted: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
            let mut back = vec![0; order.len()];
            order.iter().enumerate().for_each(|(place, &axis)| back[axis] = place);
            wrap(&sorted, elements, skipped).permuted(&back)
        })
    }
}

/// A row-major array of the elements after the first `skipped` ones.
fn wrap<T: Element>(shape: &[usize], elements: Vec<T>, skipped: usize) -> Array {
    let array = match skipped {
        0 => ArcArray::from_shape_vec(IxDyn(shape), elements),
        skipped => {
            let mut line = ArcArray::from_vec(elements);
            line.slice_collapse(s![skipped..]);
            line.into_shape_with_order(IxDyn(shape))
        }
    };
    match array {
        Ok(array) => T::wrap(array),
        Err(_) => unreachable!("there are as many elements as the shape says"),
    }
}

impl Drop for RawBuffer {
    fn drop(&mut self) {
        if let Ok(layout) = Layout::from_size_align(self.bytes, self.align)
            && self.bytes > 0
        {
            // SAFETY: the global allocator gave the block for this layout, and this value is its only owner.
            unsafe { dealloc(self.block.as_ptr(), layout) };
        }
    }
}

/// The size of a new block for this number of bytes. It is a little larger, so that the elements can begin
/// at a cache line, and so that arrays of nearly the same size can reuse it.
pub fn block_bytes(bytes: usize) -> usize {
    if bytes < ALIGNED {
        return bytes;
    }
    let bytes = bytes.saturating_add(LINE);
    bytes.next_multiple_of(1 << (bytes.ilog2() - 4))
}

/// Whether elements of a layout, of `size` bytes each, fit in a block after the skipped bytes, and waste at
/// most a quarter of it.
pub fn suits(bytes: usize, skipped: usize, align: usize, layout: Layout, size: usize) -> bool {
    align == layout.align()
        && bytes - skipped >= layout.size()
        && bytes - bytes / 4 <= layout.size() + LINE
        && bytes.is_multiple_of(size)
}

/// The memory pool of a call, with statistics.
///
/// Blocks of values that died in a call are spare, as long as the blocks of the call are at most as large
/// together as the blocks that were in use at once. Further blocks, and all blocks at the end of the call,
/// go to the executable.
#[derive(Debug, Default)]
pub struct Buffers {
    spare: Vec<RawBuffer>,
    /// The bytes of the spare blocks.
    spare_bytes: usize,
    /// The bytes of the blocks that are in use, and the peak of their sum with the spare ones.
    out: usize,
    most: usize,
    /// The memory that the executable keeps from call to call, if it keeps any.
    pub kept: Option<Arc<Kept>>,
    /// Statistics of the owner of these buffers.
    pub stats: Stats,
}

impl Buffers {
    /// Memory for an array: a spare or kept block if one fits, otherwise a new one. An error if the
    /// allocation fails.
    pub fn get(&mut self, dtype: DType, shape: &[usize]) -> Result<RawBuffer, EvalError> {
        let none = || EvalError::limit(format!("no memory for {dtype} elements of shape {shape:?}"));
        let len = checked_len(shape).ok_or_else(none)?;
        let layout = with_dtype!(dtype, T => Layout::array::<T>(len).ok()).ok_or_else(none)?;
        let buffer = match self.used(layout, dtype.size()) {
            Some(used) => {
                self.stats.reused += 1;
                used
            }
            None => {
                self.stats.allocations += 1;
                self.stats.bytes += layout.size() as u64;
                self.make_room(layout.size());
                RawBuffer::new(layout).ok_or_else(none)?
            }
        };
        self.out += buffer.bytes;
        self.most = self.most.max(self.out + self.spare_bytes);
        Ok(buffer)
    }

    /// A spare or kept block that fits.
    fn used(&mut self, layout: Layout, size: usize) -> Option<RawBuffer> {
        if layout.size() == 0 {
            return None;
        }
        // The latest block first, since it is the likeliest to be in the caches.
        match self.spare.iter().rposition(|b| b.suits(layout, size)) {
            Some(at) => Some(self.remove(at)),
            None => self.kept.as_ref()?.block(layout, size),
        }
    }

    /// Ends the life of an array: its memory becomes spare, unless another value shares it.
    pub fn recycle(&mut self, array: Array) {
        if array.is_empty() {
            return;
        }
        let Some(buffer) = RawBuffer::of(array) else { return };
        self.out = self.out.saturating_sub(buffer.bytes);
        if self.spare.len() < SPARE && self.out + self.spare_bytes + buffer.bytes <= self.most {
            self.spare_bytes += buffer.bytes;
            self.spare.push(buffer);
        } else if let Some(kept) = &self.kept {
            kept.keep_block(buffer);
        }
    }

    /// Passes spare blocks to the executable, the largest first, until a new block of this size fits below
    /// the peak of the bytes that are in use at once.
    fn make_room(&mut self, bytes: usize) {
        let most = self.most.max(self.out + bytes);
        while self.out + self.spare_bytes + bytes > most {
            let largest = (0..self.spare.len()).max_by_key(|&at| self.spare[at].bytes);
            let Some(at) = largest else { return };
            let buffer = self.remove(at);
            if let Some(kept) = &self.kept {
                kept.keep_block(buffer);
            }
        }
    }

    /// Ends a call: its spare memory goes to the executable.
    pub fn end(&mut self) {
        if !self.spare.is_empty() {
            let spare = std::mem::take(&mut self.spare);
            if let Some(kept) = &self.kept {
                spare.into_iter().for_each(|buffer| kept.keep_block(buffer));
            }
        }
        (self.spare_bytes, self.out, self.most) = (0, 0, 0);
    }

    fn remove(&mut self, at: usize) -> RawBuffer {
        let buffer = self.spare.remove(at);
        self.spare_bytes -= buffer.bytes;
        buffer
    }
}

/// The most spare blocks.
const SPARE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use rewright_ir::Scalar;

    fn filled(buffers: &mut Buffers, dtype: DType, shape: &[usize]) -> Array {
        let buffer = buffers.get(dtype, shape).unwrap();
        let bytes = shape.iter().product::<usize>() * dtype.size();
        // SAFETY: the buffer has room for these bytes, and zeros are valid elements of every dtype.
        unsafe {
            buffer.pointer().write_bytes(0, bytes);
            buffer.into_array(dtype, shape, None)
        }
    }

    #[test]
    fn free_memory_is_used_again_for_blocks_that_fit() {
        let mut buffers = Buffers::default();
        let first = filled(&mut buffers, DType::F64, &[10, 10]);
        let share = first.clone();
        buffers.recycle(first);
        let second = filled(&mut buffers, DType::F64, &[100]);
        assert_eq!((buffers.stats.allocations, buffers.stats.reused), (2, 0), "somebody holds the first");
        assert_eq!(share.get(&[9, 9]), Some(Scalar::F64(0.0)));
        buffers.recycle(second);
        // Complex elements have twice the size at the same alignment; singles have another alignment.
        let pairs = filled(&mut buffers, DType::C128, &[49]);
        assert_eq!((buffers.stats.allocations, buffers.stats.reused), (2, 1));
        buffers.recycle(pairs);
        drop(filled(&mut buffers, DType::F32, &[200]));
        drop(filled(&mut buffers, DType::F64, &[101]));
        drop(filled(&mut buffers, DType::F64, &[74]));
        assert_eq!(
            (buffers.stats.allocations, buffers.stats.reused),
            (5, 1),
            "too small, too large, or of another alignment"
        );
        drop(filled(&mut buffers, DType::I64, &[2, 0, 3]));
        assert_eq!(buffers.stats.bytes, (100 + 100 + 101 + 74) * 8 + 200 * 4);
        buffers.end();
        drop(filled(&mut buffers, DType::F64, &[100]));
        assert_eq!(buffers.stats.reused, 1);
    }

    #[test]
    fn no_more_is_held_than_was_alive_at_once() {
        let mut buffers = Buffers::default();
        let large = filled(&mut buffers, DType::F64, &[1000]);
        buffers.recycle(large);
        assert_eq!(buffers.spare_bytes, block_bytes(8000), "no more than there was");
        let small = filled(&mut buffers, DType::F64, &[100]);
        assert_eq!(buffers.spare_bytes, 0, "it goes before another one comes");
        let large = filled(&mut buffers, DType::F64, &[1000]);
        buffers.recycle(small);
        assert_eq!((buffers.spare_bytes, buffers.out), (800, block_bytes(8000)), "both were alive");
        buffers.recycle(large);
        assert_eq!(buffers.most, 800 + block_bytes(8000));
        assert_eq!(buffers.stats.allocations, 3);
    }

    #[test]
    fn the_executable_keeps_what_a_call_has_left() {
        let kept = Arc::new(Kept::new(10_000));
        let mut buffers = Buffers { kept: Some(kept.clone()), ..Buffers::default() };
        let arrays = [1000, 20, 30].map(|n| filled(&mut buffers, DType::I64, &[n]));
        arrays.into_iter().for_each(|array| buffers.recycle(array));
        buffers.end();
        assert_eq!(kept.bytes(), block_bytes(8000) as u64 + 160 + 240);
        drop(filled(&mut buffers, DType::F64, &[30]));
        assert_eq!((kept.bytes(), buffers.stats.reused), (block_bytes(8000) as u64 + 160, 1));
        // The oldest block is evicted to make room.
        let another = filled(&mut buffers, DType::I64, &[500]);
        buffers.end();
        buffers.recycle(another);
        buffers.end();
        assert_eq!(kept.bytes(), 160 + block_bytes(4000) as u64);
        kept.clear();
        assert_eq!(kept.bytes(), 0);
    }

    #[test]
    fn blocks_are_little_larger_than_needed() {
        assert_eq!([0, 24, 1023, 1024, 1025].map(block_bytes), [0, 24, 1023, 1088, 1152]);
        for bytes in (1..1 << 20).step_by(999) {
            let block = block_bytes(bytes);
            assert!(block >= bytes && block - bytes <= LINE + (bytes + LINE) / 16, "{bytes} in {block}");
            assert!(block < 1024 || block.is_multiple_of(64));
        }
    }

    #[test]
    fn all_but_small_arrays_begin_at_cache_lines() {
        for (dtype, size) in [(DType::U8, 1), (DType::F32, 4), (DType::C64, 8), (DType::C128, 16)] {
            let mut buffers = Buffers::default();
            for len in [1024 / size, 5000, 100_000] {
                for _ in 0..3 {
                    let array = filled(&mut buffers, dtype, &[len]);
                    let (pointer, elements) = (crate::exec::value::array_place(&array).pointer, array.iter().count());
                    assert_eq!((pointer.addr() % LINE, elements), (0, len), "{dtype}");
                    buffers.recycle(array);
                }
            }
            assert_eq!((buffers.stats.allocations, buffers.stats.reused), (3, 6), "{dtype}");
        }
    }

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(Buffers::default().get(DType::F64, &[usize::MAX, 3]).is_err());
        assert!(Buffers::default().get(DType::C128, &[1 << 58]).is_err());
    }
}
