//! Copies of arrays whose elements lie anywhere.
//!
//! Axes are sorted by the strides of the target, and neighbours that are evenly spaced in both arrays are
//! merged. The remaining axes decide: lines of bytes; squares, where the source is contiguous along another
//! axis than the target; many lines at once, where they are short; or element by element.

mod kernel;
mod stream;
mod transpose;

pub use kernel::CopyKernel;
pub use stream::{LEAST_STREAMED, stream_row};

use smallvec::SmallVec;

/// An axis: its extent, and the distances in bytes along it.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub extent: usize,
    pub source: isize,
    pub target: isize,
}

/// Bytes that the cache next to the processor has room for twice.
const NEAR: usize = 16 << 10;
/// Lines of fewer elements are short.
const SHORT: usize = 16;

/// Copies elements of `size` bytes along axes.
///
/// # Safety
/// Every element of the source is valid to read, every place of the target is valid to write, and the two
/// don't overlap.
pub unsafe fn copy_strided(size: usize, source: *const u8, target: *mut u8, along: impl IntoIterator<Item = Axis>) {
    let (mut source, mut target) = (source, target);
    let mut axes: SmallVec<[Axis; 4]> = SmallVec::new();
    for mut axis in along {
        if axis.extent == 0 {
            return;
        }
        if axis.target < 0 {
            // From its other end.
            let last = axis.extent as isize - 1;
            (source, target) = (source.wrapping_offset(last * axis.source), target.wrapping_offset(last * axis.target));
            (axis.source, axis.target) = (-axis.source, -axis.target);
        }
        if axis.extent > 1 {
            axes.push(axis);
        }
    }
    axes.sort_by_key(|axis| std::cmp::Reverse((axis.target, axis.source.unsigned_abs())));
    merge(&mut axes);
    // SAFETY: the caller's promise; the axes lead to the same pairs of places, from others of them. An
    // element of each size is that many bytes, of any alignment.
    unsafe {
        match size {
            1 => copy::<u8>(source, target, axes),
            2 => copy::<u16>(source, target, axes),
            4 => copy::<u32>(source, target, axes),
            8 => copy::<u64>(source, target, axes),
            _ => copy::<[u64; 2]>(source, target, axes),
        }
    }
}

/// Makes one axis of two that are one line in both arrays.
fn merge(axes: &mut SmallVec<[Axis; 4]>) {
    let mut kept: SmallVec<[Axis; 4]> = SmallVec::new();
    for &axis in axes.iter() {
        let along = |step: isize| step.checked_mul(axis.extent as isize);
        match kept.last_mut() {
            Some(last) if Some(last.source) == along(axis.source) && Some(last.target) == along(axis.target) => {
                *last = Axis { extent: last.extent * axis.extent, ..axis };
            }
            _ => kept.push(axis),
        }
    }
    *axes = kept;
}

/// Copies along axes, the one of the nearest elements in the target last.
///
/// # Safety
/// As [`copy_strided`], for elements as large as `T`.
unsafe fn copy<T: Copy>(source: *const u8, target: *mut u8, mut axes: SmallVec<[Axis; 4]>) {
    let one = Axis { extent: 1, source: 0, target: 0 };
    let along = axes.pop().unwrap_or(one);
    // Beside it the axis along which the source is read best.
    let nearest = (0..axes.len()).filter(|&n| axes[n].source != 0).min_by_key(|&n| axes[n].source.unsigned_abs());
    let turned = nearest.filter(|&n| axes[n].source.unsigned_abs() < along.source.unsigned_abs());
    let down = match turned {
        Some(n) => axes.remove(n),
        None => axes.pop().unwrap_or(one),
    };
    let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, axes.len());
    let (mut source, mut target) = (source, target);
    loop {
        // SAFETY: passed on: these are the places at one index of the other axes.
        unsafe {
            match turned {
                Some(_) => squares::<T>(source, target, down, along),
                None => lines::<T>(source, target, down, along),
            }
        }
        let mut at = axes.len();
        loop {
            let Some(next) = at.checked_sub(1) else { return };
            at = next;
            let axis = axes[at];
            index[at] += 1;
            if index[at] < axis.extent {
                source = source.wrapping_offset(axis.source);
                target = target.wrapping_offset(axis.target);
                break;
            }
            let back = 1 - axis.extent as isize;
            index[at] = 0;
            source = source.wrapping_offset(back * axis.source);
            target = target.wrapping_offset(back * axis.target);
        }
    }
}

/// Line by line.
///
/// # Safety
/// As [`copy`].
unsafe fn lines<T: Copy>(source: *const u8, target: *mut u8, down: Axis, along: Axis) {
    let is_short = along.extent < SHORT && down.extent > along.extent;
    let at = |n: usize, axis: Axis| {
        (source.wrapping_offset(n as isize * axis.source), target.wrapping_offset(n as isize * axis.target))
    };
    if !is_short {
        for row in 0..down.extent {
            let (s, t) = at(row, down);
            // SAFETY: passed on, for one line.
            unsafe { line::<T>(s, t, along) };
        }
        return;
    }
    let size = size_of::<T>();
    if down.source == 0 && along.target == size as isize && down.target == (along.extent * size) as isize {
        // The same line again and again: each copy doubles the number of lines.
        // SAFETY: passed on: the first line, and lines that follow it.
        unsafe {
            line::<T>(source, target, along);
            let (mut filled, all) = (along.extent * size, down.extent * along.extent * size);
            while filled < all {
                let more = filled.min(all - filled);
                target.wrapping_add(filled).copy_from_nonoverlapping(target, more);
                filled += more;
            }
        }
        return;
    }
    // Down the short lines, a limited number at once: each column finds the memory of the last one in the
    // cache.
    let bytes = down.source.unsigned_abs().max(down.target.unsigned_abs()).max(1);
    let height = (NEAR / bytes).clamp(SHORT, down.extent.max(SHORT));
    for top in (0..down.extent).step_by(height) {
        let column = Axis { extent: height.min(down.extent - top), ..down };
        let (s, t) = at(top, down);
        for n in 0..along.extent as isize {
            // SAFETY: passed on, for a part of a column.
            unsafe {
                line::<T>(s.wrapping_offset(n * along.source), t.wrapping_offset(n * along.target), column);
            }
        }
    }
}

/// One line.
///
/// # Safety
/// As [`copy`].
unsafe fn line<T: Copy>(source: *const u8, target: *mut u8, along: Axis) {
    let size = size_of::<T>() as isize;
    // SAFETY: the places of the line are valid to read and to write, by the caller's promise.
    unsafe {
        match (along.source, along.target) {
            (s, t) if s == size && t == size => {
                std::ptr::copy_nonoverlapping(source, target, along.extent * size_of::<T>());
            }
            (0, t) if t == size => {
                let value = source.cast::<T>().read_unaligned();
                steps(along.extent, |n| target.cast::<T>().wrapping_add(n).write_unaligned(value));
            }
            (s, t) if s == -size && t == size => steps(along.extent, |n| {
                let value = source.cast::<T>().wrapping_sub(n).read_unaligned();
                target.cast::<T>().wrapping_add(n).write_unaligned(value);
            }),
            (s, t) if t == size => steps(along.extent, |n| {
                let value = source.wrapping_offset(n as isize * s).cast::<T>().read_unaligned();
                target.cast::<T>().wrapping_add(n).write_unaligned(value);
            }),
            (s, t) => steps(along.extent, |n| {
                let value = source.wrapping_offset(n as isize * s).cast::<T>().read_unaligned();
                target.wrapping_offset(n as isize * t).cast::<T>().write_unaligned(value);
            }),
        }
    }
}

#[inline(always)]
fn steps(count: usize, step: impl Fn(usize)) {
    (0..count).for_each(step);
}

/// Square by square, each of as many lines as a line of memory has elements, so that those of both arrays
/// stay in the cache while it is copied; and these in blocks, whose pages the processor keeps in mind.
///
/// # Safety
/// As [`copy`].
unsafe fn squares<T: Copy>(source: *const u8, target: *mut u8, down: Axis, along: Axis) {
    const LINE: usize = 64;
    const BLOCK: usize = 64;
    let side = (LINE / size_of::<T>()).clamp(4, 32);
    let size = size_of::<T>() as isize;
    let is_transposed = down.source == size && along.target == size && transpose::is_fast(size_of::<T>());
    // A few more are no squares of their own.
    let wide = if along.extent < 2 * side { along.extent } else { side };
    let part = |axis: Axis, from: usize, most: usize| Axis { extent: most.min(axis.extent - from), ..axis };
    let at = |(source, target): (*const u8, *mut u8), n: usize, axis: Axis| {
        (source.wrapping_offset(n as isize * axis.source), target.wrapping_offset(n as isize * axis.target))
    };
    for top in (0..down.extent).step_by(BLOCK) {
        let height = part(down, top, BLOCK);
        // Few lines are few pages, however long they are.
        let wide_block = if height.extent <= side { along.extent } else { BLOCK };
        for left in (0..along.extent).step_by(wide_block) {
            let width = part(along, left, wide_block);
            let block = at(at((source, target), top, down), left, along);
            if is_transposed {
                let (from, to) = ((block.0, along.source), (block.1, down.target));
                // SAFETY: passed on, for a block.
                unsafe { transpose::transpose(from, to, (width.extent, height.extent), size_of::<T>()) };
                continue;
            }
            for row in (0..height.extent).step_by(side) {
                for column in (0..width.extent).step_by(wide) {
                    let (height, width) = (part(height, row, side), part(width, column, wide));
                    let (mut s, mut t) = at(at(block, row, down), column, along);
                    for _ in 0..height.extent {
                        // SAFETY: passed on, for a part of a line.
                        unsafe { line::<T>(s, t, width) };
                        (s, t) = at((s, t), 1, down);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of numbers below a bound.
    fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
        move |below| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        }
    }

    /// Copies an array of random extents, order of axes, steps, directions and stretched axes on both
    /// sides, and compares every byte of the target, those between its elements too.
    fn check(size: usize, below: &mut impl FnMut(usize) -> usize) {
        let rank = below(5);
        let longest = [200, 130, 40, 12, 7][rank];
        let shape: Vec<usize> =
            (0..rank).map(|_| if below(4) == 0 { 1 + below(4) } else { 1 + below(longest) }).collect();
        let mut side = |stretch: bool| {
            let mut order: Vec<usize> = (0..rank).collect();
            (0..rank).for_each(|n| order.swap(n, below(n + 1)));
            let (mut strides, mut step, mut offset) = (vec![0isize; rank], size as isize, 0);
            for &axis in &order {
                if stretch && below(6) == 0 {
                    continue;
                }
                step *= [1, 1, 1, 2, 3][below(5)];
                strides[axis] = step;
                step *= shape[axis] as isize;
                if below(4) == 0 {
                    offset += strides[axis] * (shape[axis] as isize - 1);
                    strides[axis] = -strides[axis];
                }
            }
            (strides, offset, step as usize)
        };
        let ((source_strides, source_at, source_bytes), (strides, at, bytes)) = (side(true), side(false));
        let source: Vec<u8> = (0..source_bytes).map(|n| (n * 7 + n / 251) as u8).collect();
        let mut got = vec![0xEE_u8; bytes];
        let mut want = got.clone();
        let mut index = vec![0usize; rank];
        'all: loop {
            let place = |strides: &[isize], from: isize| {
                (from + index.iter().zip(strides).map(|(&n, s)| n as isize * s).sum::<isize>()) as usize
            };
            let (s, t) = (place(&source_strides, source_at), place(&strides, at));
            want[t..t + size].copy_from_slice(&source[s..s + size]);
            for axis in (0..rank).rev() {
                index[axis] += 1;
                if index[axis] < shape[axis] {
                    continue 'all;
                }
                index[axis] = 0;
            }
            break;
        }
        let pointer = source.as_ptr().wrapping_offset(source_at);
        let axes = shape.iter().zip(&source_strides).zip(&strides);
        let axes = axes.map(|((&extent, &source), &target)| Axis { extent, source, target });
        // SAFETY: the strides lead to elements of the two vectors, which were made as long as that takes.
        unsafe { copy_strided(size, pointer, got.as_mut_ptr().wrapping_offset(at), axes) };
        assert!(got == want, "{size} bytes, {shape:?}, from {source_strides:?} to {strides:?}");
    }

    #[test]
    fn every_element_goes_to_its_place_and_nothing_else_is_written() {
        let mut below = numbers(17);
        for _ in 0..3_000 {
            for size in [1, 2, 4, 8, 16] {
                check(size, &mut below);
            }
        }
    }

    #[test]
    fn nothing_is_copied_of_no_elements() {
        let axes = [3, 0].map(|extent| Axis { extent, source: 8, target: 8 });
        // SAFETY: there is no element.
        unsafe { copy_strided(8, std::ptr::null(), std::ptr::null_mut(), axes) };
    }
}
