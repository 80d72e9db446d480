//! Memory for elements: new, or that of arrays which nobody holds any more.

use super::stats::Stats;
use rewright_ir::array::checked_len;
use rewright_ir::{Array, DType, Element, EvalError, with_array, with_dtype};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// Memory for the elements of an array, not yet written: a block that the global allocator gave for so many bytes at such an
/// alignment.
#[derive(Debug)]
pub struct RawBuffer {
    pointer: NonNull<u8>,
    bytes: usize,
    align: usize,
    /// It was written to before, so that its pages are there.
    used: bool,
}

// SAFETY: the block is plain memory that only this owns.
unsafe impl Send for RawBuffer {}

impl RawBuffer {
    /// Memory for so many elements; `None` if there is not so much.
    fn new(layout: Layout) -> Option<RawBuffer> {
        let (bytes, align) = (layout.size(), layout.align());
        if bytes == 0 {
            return Some(RawBuffer {
                pointer: NonNull::without_provenance(align.try_into().ok()?),
                bytes,
                align,
                used: false,
            });
        }
        // SAFETY: the layout's size is not 0.
        let pointer = NonNull::new(unsafe { alloc(layout) })?;
        prefer_huge_pages(pointer, bytes);
        Some(RawBuffer { pointer, bytes, align, used: false })
    }

    /// The memory of an array, if nobody else holds it.
    fn of(array: Array) -> Option<RawBuffer> {
        fn vec_parts<T>(elements: Vec<T>) -> RawBuffer {
            let mut elements = std::mem::ManuallyDrop::new(elements);
            let bytes = elements.capacity() * size_of::<T>();
            // A vector's pointer is never null, and its block is one of the global allocator's for its capacity.
            let pointer = NonNull::from(elements.as_mut_slice()).cast();
            RawBuffer { pointer, bytes, align: align_of::<T>(), used: true }
        }
        with_array!(array, |a| Some(vec_parts(a.try_into_owned_nocopy().ok()?.into_raw_vec_and_offset().0)))
    }

    /// True if it was written to before.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// The first element.
    pub fn pointer(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// True if elements of this layout fit without wasting more than half.
    fn suits(&self, layout: Layout, size: usize) -> bool {
        self.align == layout.align()
            && self.bytes >= layout.size()
            && self.bytes / 2 <= layout.size()
            && self.bytes.is_multiple_of(size)
    }

    /// The array of these elements, which lie row by row, or with axes in another order: the outermost in memory first.
    ///
    /// # Safety
    /// The buffer was got for this dtype and shape, and every element was written with a valid value.
    pub unsafe fn into_array(self, dtype: DType, shape: &[usize], order: Option<&[usize]>) -> Array {
        with_dtype!(dtype, T => {
            let len = checked_len(shape).unwrap_or_default();
            // SAFETY: the block came from the global allocator (or there is none, for no elements) with the alignment of `T` and a
            // multiple of its size, which is room for `len` of them, all of which are initialized; `self` is forgotten, so the
            // vector is the only owner.
            let elements = unsafe {
                Vec::from_raw_parts(self.pointer.cast::<T>().as_ptr(), len, self.bytes / size_of::<T>())
            };
            std::mem::forget(self);
            let Some(order) = order else { return wrap(shape, elements) };
            let sorted: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
            let mut back = vec![0; order.len()];
            order.iter().enumerate().for_each(|(place, &axis)| back[axis] = place);
            wrap(&sorted, elements).permuted(&back)
        })
    }
}

/// An array of elements row by row.
fn wrap<T: Element>(shape: &[usize], elements: Vec<T>) -> Array {
    match ndarray::ArcArray::from_shape_vec(ndarray::IxDyn(shape), elements) {
        Ok(array) => T::wrap(array),
        Err(_) => unreachable!("there are as many elements as the shape says"),
    }
}

impl Drop for RawBuffer {
    fn drop(&mut self) {
        if let Ok(layout) = Layout::from_size_align(self.bytes, self.align)
            && self.bytes > 0
        {
            // SAFETY: the global allocator gave the block for this layout, and nobody else has it.
            unsafe { dealloc(self.pointer.as_ptr(), layout) };
        }
    }
}

/// Asks for huge pages behind large blocks: taking a fault for every small page costs more than computing what is written to it.
#[cfg(target_os = "linux")]
fn prefer_huge_pages(pointer: NonNull<u8>, bytes: usize) {
    const LARGE: usize = 4 << 20;
    const PAGE: usize = 64 << 10;
    let skipped = pointer.addr().get().next_multiple_of(PAGE) - pointer.addr().get();
    if bytes >= LARGE {
        let len = (bytes - skipped) / PAGE * PAGE;
        // SAFETY: the range lies inside of the block, which nobody else uses; advice does not change what it holds. Where it is refused
        // nothing happens.
        unsafe { libc::madvise(pointer.as_ptr().add(skipped).cast(), len, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages(_: NonNull<u8>, _: usize) {}

/// Memory that is used again, and counts of what was new.
#[derive(Debug, Default)]
pub struct Buffers {
    spare: Vec<RawBuffer>,
    /// What was done by those who own these buffers.
    pub stats: Stats,
}

/// No more blocks than this are kept.
const KEPT: usize = 16;

impl Buffers {
    /// Memory for an array: used again if some fits, else new. An error if there is not so much.
    pub fn get(&mut self, dtype: DType, shape: &[usize]) -> Result<RawBuffer, EvalError> {
        let none = || EvalError::limit(format!("no memory for {dtype} elements of shape {shape:?}"));
        let len = checked_len(shape).ok_or_else(none)?;
        let layout = with_dtype!(dtype, T => Layout::array::<T>(len).ok()).ok_or_else(none)?;
        // The latest first, since its memory is the likeliest to be in the processor's caches.
        if let Some(at) = self.spare.iter().rposition(|b| b.suits(layout, dtype.size())) {
            self.stats.reused += 1;
            return Ok(self.spare.remove(at));
        }
        self.stats.allocations += 1;
        self.stats.bytes += layout.size() as u64;
        RawBuffer::new(layout).ok_or_else(none)
    }

    /// Keeps the memory of an array, if nobody else holds it.
    pub fn recycle(&mut self, array: Array) {
        if array.is_empty() {
            return;
        }
        let Some(buffer) = RawBuffer::of(array) else { return };
        if self.spare.len() >= KEPT {
            self.spare.remove(0);
        }
        self.spare.push(buffer);
    }

    /// Gives the memory that is kept back to the allocator.
    pub fn trim(&mut self) {
        self.spare = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rewright_ir::Scalar;

    fn filled(buffers: &mut Buffers, dtype: DType, shape: &[usize]) -> Array {
        let buffer = buffers.get(dtype, shape).unwrap();
        let bytes = shape.iter().product::<usize>() * dtype.size();
        // SAFETY: the buffer has room for so many bytes, and zeros are valid elements of every dtype.
        unsafe {
            buffer.pointer().write_bytes(0, bytes);
            buffer.into_array(dtype, shape, None)
        }
    }

    #[test]
    fn memory_that_nobody_holds_is_used_again_by_what_fits() {
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
        drop(filled(&mut buffers, DType::F64, &[10]));
        assert_eq!(
            (buffers.stats.allocations, buffers.stats.reused),
            (5, 1),
            "too small, too large, or of another alignment"
        );
        drop(filled(&mut buffers, DType::I64, &[2, 0, 3]));
        assert_eq!(buffers.stats.bytes, (100 + 100 + 101 + 10) * 8 + 200 * 4);
        buffers.trim();
        drop(filled(&mut buffers, DType::F64, &[100]));
        assert_eq!(buffers.stats.reused, 1);
    }

    #[test]
    fn no_more_is_kept_than_a_few_blocks() {
        let mut buffers = Buffers::default();
        let arrays: Vec<Array> = (0..KEPT + 5).map(|n| filled(&mut buffers, DType::I32, &[n + 1])).collect();
        for array in arrays {
            buffers.recycle(array);
        }
        assert_eq!(buffers.spare.len(), KEPT);
    }

    #[test]
    fn absurd_sizes_are_errors() {
        assert!(Buffers::default().get(DType::F64, &[usize::MAX, 3]).is_err());
        assert!(Buffers::default().get(DType::C128, &[1 << 58]).is_err());
    }
}
