//! Copies of rows whose addresses are given, and walks over the indices of several strided arrays.

use crate::exec::value::{Shape, Strides};
use smallvec::SmallVec;

/// A walk over indices in row-major order.
pub struct Walk {
    extents: Shape,
    index: Shape,
    is_done: bool,
}

/// Adjacent indices along the last axis.
pub struct Line {
    index: Shape,
    /// The number of indices.
    pub count: usize,
}

impl Line {
    /// The offset of the first index, by strides.
    pub fn offset(&self, strides: &[isize]) -> isize {
        self.index.iter().zip(strides).map(|(&n, &stride)| n as isize * stride).sum()
    }
}

impl Walk {
    /// A walk over the indices of these extents, and the strides of arrays for its axes. Axes along which all
    /// arrays are evenly spaced are one.
    pub fn new(extents: &[usize], arrays: &[&[isize]]) -> (Walk, SmallVec<[Strides; 4]>) {
        let mut strides: SmallVec<[Strides; 4]> = SmallVec::from_elem(Strides::new(), arrays.len());
        let mut merged = Shape::new();
        for (axis, &extent) in extents.iter().enumerate().filter(|(_, extent)| **extent != 1) {
            let spans =
                |(array, own): (&&[isize], &Strides)| own.last().copied() == array[axis].checked_mul(extent as isize);
            let is_even = arrays.iter().zip(&strides).all(spans);
            match merged.last_mut().filter(|_| is_even) {
                Some(last) => *last *= extent,
                None => {
                    merged.push(extent);
                    strides.iter_mut().for_each(|own| own.push(0));
                }
            }
            let own = strides.iter_mut().filter_map(|own| own.last_mut());
            own.zip(arrays).for_each(|(own, array)| *own = array[axis]);
        }
        if merged.is_empty() {
            merged.push(1);
            strides.iter_mut().for_each(|own| own.push(0));
        }
        (Walk { index: Shape::from_elem(0, merged.len()), is_done: extents.contains(&0), extents: merged }, strides)
    }

    /// The next indices, `most` of them at most.
    pub fn next(&mut self, most: usize) -> Option<Line> {
        if self.is_done {
            return None;
        }
        let last = self.extents.len() - 1;
        let count = most.min(self.extents[last] - self.index[last]);
        let line = Line { index: self.index.clone(), count };
        self.index[last] += count;
        for axis in (0..=last).rev() {
            if self.index[axis] < self.extents[axis] {
                return Some(line);
            }
            self.index[axis] = 0;
            match axis.checked_sub(1) {
                Some(outer) => self.index[outer] += 1,
                None => self.is_done = true,
            }
        }
        Some(line)
    }
}

/// Copies rows of `bytes` bytes from addresses to others. A short row is copied in pieces of one size, of
/// which the last one may overlap the one before it, so that none is a call.
///
/// # Safety
/// At each pair of addresses, `bytes` bytes are valid to read and to write. No row that is read overlaps one
/// that is written.
#[inline(always)]
pub unsafe fn copy_rows(pairs: impl Iterator<Item = (*const u8, *mut u8)>, bytes: usize) {
    // SAFETY: passed on.
    unsafe {
        match bytes {
            0 => pairs.for_each(drop),
            1 => whole::<1>(pairs),
            2 => whole::<2>(pairs),
            3 => in_pieces::<2>(pairs, bytes),
            4 => whole::<4>(pairs),
            5..8 => in_pieces::<4>(pairs, bytes),
            8 => whole::<8>(pairs),
            9..16 => in_pieces::<8>(pairs, bytes),
            16 => whole::<16>(pairs),
            17..32 => in_pieces::<16>(pairs, bytes),
            32 => whole::<32>(pairs),
            33..64 => in_pieces::<32>(pairs, bytes),
            64 => whole::<64>(pairs),
            _ => pairs.for_each(|(from, to)| std::ptr::copy_nonoverlapping(from, to, bytes)),
        }
    }
}

/// Copies rows of `N` bytes. It is a function of its own, so that its values stay in registers.
///
/// # Safety
/// As [`copy_rows`].
#[inline(never)]
unsafe fn whole<const N: usize>(pairs: impl Iterator<Item = (*const u8, *mut u8)>) {
    // SAFETY: passed on.
    pairs.for_each(|(from, to)| unsafe { copy::<N>(from, to) });
}

/// Copies rows in pieces of `N` bytes.
///
/// # Safety
/// As [`copy_rows`], for rows of at least `N` bytes.
#[inline(never)]
unsafe fn in_pieces<const N: usize>(pairs: impl Iterator<Item = (*const u8, *mut u8)>, bytes: usize) {
    for (from, to) in pairs {
        let mut at = 0;
        // SAFETY: the pieces are inside of the row.
        unsafe {
            while at + N < bytes {
                copy::<N>(from.add(at), to.add(at));
                at += N;
            }
            copy::<N>(from.add(bytes - N), to.add(bytes - N));
        }
    }
}

/// Copies bytes by loads and stores instead of a call.
///
/// # Safety
/// `N` bytes at `from` are valid to read, and `N` bytes at `to` to write.
#[inline(always)]
unsafe fn copy<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: by the caller's promise; arrays of bytes have no alignment.
    unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
}
