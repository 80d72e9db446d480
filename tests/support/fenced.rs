//! Arrays between inaccessible guard pages.

#[path = "../../lowering/tests/codegen/arena.rs"]
mod arena;

use arena::Arena;
use fastrand::Rng;
use ndarray::{ArrayView, Axis, IxDyn, ShapeBuilder};
use rewright::lowering::exec::ViewMut;
use rewright_ir::{Array, DType, Element, View, with_dtype};

/// The byte that fills gaps between elements.
const FILLER: u8 = 0xa5;

/// An array in its own memory, which begins after an inaccessible page or ends before one.
pub struct Fenced {
    // Owns the memory of the pointers below.
    _arena: Arena,
    begin: *mut u8,
    bytes: usize,
    dtype: DType,
    shape: Vec<usize>,
    /// In elements.
    strides: Vec<isize>,
    /// The element at index 0 of all axes.
    first: *mut u8,
}

impl Fenced {
    /// An array of undefined elements at either end of the memory, with axes in any order, strides of
    /// either sign, and gaps or none.
    pub fn new(dtype: DType, shape: &[usize], random: &mut Rng) -> Fenced {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        if random.bool() {
            random.shuffle(&mut axes);
        }
        let mut strides = vec![0isize; shape.len()];
        let mut stride = [1, 1, 1, 2, 3][random.usize(0..5)];
        for &axis in axes.iter().rev() {
            strides[axis] = stride;
            stride *= shape[axis].max(1) as isize;
            // A gap between rows.
            stride += isize::from(random.u8(0..4) == 0);
        }
        let is_empty = shape.contains(&0);
        let reach: isize = shape.iter().zip(&strides).map(|(&n, s)| (n.max(1) as isize - 1) * s).sum();
        let used = if is_empty { 0 } else { (reach as usize + 1) * dtype.size() };
        let mut arena = Arena::new(used.max(1));
        arena.bytes().fill(FILLER);
        let (begin, bytes) = (arena.bytes().as_mut_ptr(), arena.bytes().len());
        let mut first = begin.wrapping_add(if random.bool() { 0 } else { bytes - used });
        for axis in (0..shape.len()).filter(|_| !is_empty) {
            if random.u8(0..4) == 0 {
                first = first.wrapping_offset((shape[axis] as isize - 1) * strides[axis] * dtype.size() as isize);
                strides[axis] = -strides[axis];
            }
        }
        Fenced { _arena: arena, begin, bytes, dtype, shape: shape.into(), strides, first }
    }

    /// A copy of an array.
    pub fn of(array: &Array, random: &mut Rng) -> Fenced {
        let fenced = Fenced::new(array.dtype(), array.shape(), random);
        with_dtype!(array.dtype(), T => {
            for (at, x) in fenced.offsets().into_iter().zip(array.iter()) {
                let x = T::from_scalar(x).expect("its own dtype");
                // SAFETY: the address of an element, which is aligned because strides and page boundaries
                // are.
                unsafe { fenced.first.cast::<T>().offset(at).write(x) };
            }
        });
        fenced
    }

    /// Copies the elements to an ordinary array.
    pub fn array(&self) -> Array {
        with_dtype!(self.dtype, T => {
            let offsets = self.offsets();
            // SAFETY: the address of an initialized element.
            let element = |at: usize| unsafe { self.first.cast::<T>().offset(offsets[at]).read() }.to_scalar();
            Array::from_fn(self.dtype, &self.shape, element).expect("its own dtype")
        })
    }

    /// A view for reading.
    pub fn view(&self) -> View<'_> {
        fn view<T: Element>(of: &Fenced) -> View<'_> {
            let backwards = |axis: usize| of.strides[axis] < 0 && of.shape[axis] > 0;
            let back = (0..of.shape.len()).filter(|&axis| backwards(axis));
            let lowest: isize = back.map(|axis| (of.shape[axis] as isize - 1) * of.strides[axis]).sum();
            let strides: Vec<usize> = of.strides.iter().map(|s| s.unsigned_abs()).collect();
            let shape = IxDyn(&of.shape).strides(IxDyn(&strides));
            // SAFETY: all elements are allocated and initialized, and none is written while borrowed.
            let mut view =
                unsafe { ArrayView::from_shape_ptr(shape, of.first.cast::<T>().offset(lowest).cast_const()) };
            (0..of.shape.len()).filter(|&axis| backwards(axis)).for_each(|axis| view.invert_axis(Axis(axis)));
            T::wrap_view(view)
        }
        with_dtype!(self.dtype, T => view::<T>(self))
    }

    /// A view for writing.
    pub fn view_mut(&mut self) -> ViewMut<'_> {
        let strides: Vec<isize> = self.strides.iter().map(|s| s * self.dtype.size() as isize).collect();
        // SAFETY: all elements are allocated, disjoint, aligned, and borrowed from `self`.
        unsafe { ViewMut::from_raw(self.dtype, self.first, &self.shape, &strides) }
    }

    /// The bytes between the guard pages.
    pub fn memory(&self) -> &[u8] {
        // SAFETY: all bytes of the arena, which are initialized.
        unsafe { std::slice::from_raw_parts(self.begin, self.bytes) }
    }

    /// True if only elements were written.
    pub fn gaps_are_kept(&self) -> bool {
        let mut is_gap = vec![true; self.bytes];
        let size = self.dtype.size();
        for offset in self.offsets() {
            let at = (self.first.addr() - self.begin.addr()).wrapping_add_signed(offset * size as isize);
            is_gap[at..at + size].fill(false);
        }
        self.memory().iter().zip(is_gap).all(|(&byte, is_gap)| !is_gap || byte == FILLER)
    }

    /// The offsets of the elements from the first one, in row-major order.
    fn offsets(&self) -> Vec<isize> {
        let grow = |offsets: Vec<isize>, (&n, &stride): (&usize, &isize)| -> Vec<isize> {
            offsets.iter().flat_map(|&from| (0..n as isize).map(move |i| from + i * stride)).collect()
        };
        self.shape.iter().zip(&self.strides).fold(vec![0], grow)
    }
}
