//! Transposition in registers.

/// The bytes of a cache line.
const LINE: usize = 64;

/// True if [`transpose`] moves elements of this size in registers.
pub fn is_fast(size: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    return (size == 4 || size == 8) && std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Copies a matrix to its transpose: the element at `from + r * from_step + c * size` goes to
/// `to + c * to_step + r * size`.
///
/// # Safety
/// All these elements, of `size` bytes each, are valid to read and to write, and the two sides don't overlap.
pub unsafe fn transpose(
    (from, from_step): (*const u8, isize),
    (to, to_step): (*mut u8, isize),
    (rows, columns): (usize, usize),
    size: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if is_fast(size) {
        // SAFETY: the processor has AVX2; the rest is the caller's promise.
        return unsafe { wide::transpose((from, from_step), (to, to_step), (rows, columns), size) };
    }
    // SAFETY: the caller's promise.
    unsafe { plain((from, from_step), (to, to_step), (0..rows, 0..columns), size) };
}

/// One element after the other.
///
/// # Safety
/// As [`transpose`], of these rows and columns.
unsafe fn plain(
    (from, from_step): (*const u8, isize),
    (to, to_step): (*mut u8, isize),
    (rows, columns): (std::ops::Range<usize>, std::ops::Range<usize>),
    size: usize,
) {
    for column in columns {
        for row in rows.clone() {
            let source = from.wrapping_offset(row as isize * from_step + (column * size) as isize);
            let target = to.wrapping_offset(column as isize * to_step + (row * size) as isize);
            // SAFETY: one element of each side, by the caller's promise.
            unsafe {
                match size {
                    1 => target.write(source.read()),
                    2 => target.cast::<[u8; 2]>().write(source.cast::<[u8; 2]>().read()),
                    4 => target.cast::<[u8; 4]>().write(source.cast::<[u8; 4]>().read()),
                    8 => target.cast::<[u8; 8]>().write(source.cast::<[u8; 8]>().read()),
                    _ => std::ptr::copy_nonoverlapping(source, target, size),
                }
            }
        }
    }
}

/// Squares in registers, of as many rows as a cache line has elements.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::LINE;
    use std::arch::x86_64::*;
    use std::ops::Range;

    /// # Safety
    /// As [`super::transpose`], for elements of 4 or 8 bytes.
    #[target_feature(enable = "avx2")]
    pub unsafe fn transpose(
        (from, from_step): (*const u8, isize),
        (to, to_step): (*mut u8, isize),
        (rows, columns): (usize, usize),
        size: usize,
    ) {
        // Elements that fill a register.
        let side = 32 / size;
        // Cache lines are read and written as wholes.
        let line = LINE / size;
        let (whole_rows, whole_columns) = (rows / line * line, columns / line * line);
        for row in (0..whole_rows).step_by(line) {
            for column in (0..whole_columns).step_by(line) {
                // The next rows, which are so far apart that the processor does not foresee them.
                for next in row + line..row + 2 * line {
                    let there = from.wrapping_offset(next as isize * from_step + (column * size) as isize);
                    _mm_prefetch::<_MM_HINT_T0>(there.cast());
                }
                for (r, c) in [(0, 0), (0, side), (side, 0), (side, side)] {
                    let (row, column) = ((row + r) as isize, (column + c) as isize);
                    let source = from.wrapping_offset(row * from_step + column * size as isize);
                    let target = to.wrapping_offset(column * to_step + row * size as isize);
                    // SAFETY: a square of `side` rows and columns, all of which are inside.
                    unsafe {
                        match size {
                            8 => square8(source, from_step, target, to_step),
                            _ => square4(source, from_step, target, to_step),
                        }
                    }
                }
            }
        }
        for (rows, columns) in [(0..whole_rows, whole_columns..columns), (whole_rows..rows, 0..columns)] {
            // SAFETY: the caller's promise, for a part.
            unsafe { small_squares((from, from_step), (to, to_step), (rows, columns), size) };
        }
    }

    /// Squares as large as a register, the last of which overlap others.
    ///
    /// # Safety
    /// As [`transpose`], of all rows and columns up to the ends of these.
    #[target_feature(enable = "avx2")]
    unsafe fn small_squares(
        (from, from_step): (*const u8, isize),
        (to, to_step): (*mut u8, isize),
        (rows, columns): (Range<usize>, Range<usize>),
        size: usize,
    ) {
        let side = 32 / size;
        let last = |range: &Range<usize>| range.end.checked_sub(side);
        let (Some(last_row), Some(last_column)) = (last(&rows), last(&columns)) else {
            // SAFETY: the caller's promise.
            return unsafe { super::plain((from, from_step), (to, to_step), (rows, columns), size) };
        };
        for row in rows.step_by(side).map(|row| row.min(last_row)) {
            for column in columns.clone().step_by(side).map(|column| column.min(last_column)) {
                let source = from.wrapping_offset(row as isize * from_step + (column * size) as isize);
                let target = to.wrapping_offset(column as isize * to_step + (row * size) as isize);
                // SAFETY: a square of `side` rows and columns, all of which are before the ends.
                unsafe {
                    match size {
                        8 => square8(source, from_step, target, to_step),
                        _ => square4(source, from_step, target, to_step),
                    }
                }
            }
        }
    }

    /// # Safety
    /// Four rows of four elements of 8 bytes are valid to read there, and to write.
    #[target_feature(enable = "avx2")]
    unsafe fn square8(from: *const u8, from_step: isize, to: *mut u8, to_step: isize) {
        // SAFETY: the caller's promise.
        let [a, b, c, d] = [0, 1, 2, 3].map(|n| unsafe { _mm256_loadu_pd(from.wrapping_offset(n * from_step).cast()) });
        let (ab_even, ab_odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        let (cd_even, cd_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
        let transposed = [
            _mm256_permute2f128_pd::<0x20>(ab_even, cd_even),
            _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd),
            _mm256_permute2f128_pd::<0x31>(ab_even, cd_even),
            _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd),
        ];
        for (n, row) in (0..).zip(transposed) {
            // SAFETY: the caller's promise.
            unsafe { _mm256_storeu_pd(to.wrapping_offset(n * to_step).cast(), row) };
        }
    }

    /// # Safety
    /// Eight rows of eight elements of 4 bytes are valid to read there, and to write.
    #[target_feature(enable = "avx2")]
    unsafe fn square4(from: *const u8, from_step: isize, to: *mut u8, to_step: isize) {
        // SAFETY: the caller's promise.
        let rows: [__m256; 8] =
            std::array::from_fn(|n| unsafe { _mm256_loadu_ps(from.wrapping_offset(n as isize * from_step).cast()) });
        // Pairs of rows, then fours, then halves: each step doubles the length of runs.
        let pairs: [__m256; 8] = std::array::from_fn(|n| {
            let (a, b) = (rows[n / 2 * 2], rows[n / 2 * 2 + 1]);
            if n % 2 == 0 { _mm256_unpacklo_ps(a, b) } else { _mm256_unpackhi_ps(a, b) }
        });
        let fours: [__m256; 8] = std::array::from_fn(|n| {
            let (a, b) = (pairs[n / 4 * 4 + n % 4 / 2], pairs[n / 4 * 4 + n % 4 / 2 + 2]);
            if n % 2 == 0 { _mm256_shuffle_ps::<0x44>(a, b) } else { _mm256_shuffle_ps::<0xEE>(a, b) }
        });
        for n in 0..4 {
            let (low, high) = (
                _mm256_permute2f128_ps::<0x20>(fours[n], fours[n + 4]),
                _mm256_permute2f128_ps::<0x31>(fours[n], fours[n + 4]),
            );
            // SAFETY: the caller's promise.
            unsafe {
                _mm256_storeu_ps(to.wrapping_offset(n as isize * to_step).cast(), low);
                _mm256_storeu_ps(to.wrapping_offset((n as isize + 4) * to_step).cast(), high);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_goes_to_its_place_and_nowhere_else() {
        for size in [1, 2, 4, 8, 16] {
            for (rows, columns) in [(1, 1), (3, 17), (16, 16), (33, 41), (8, 64), (40, 7)] {
                let (from_step, to_step) = (columns * size + 24, rows * size + 8);
                let from: Vec<u8> = (0..rows * from_step).map(|n| (n * 7 % 251) as u8).collect();
                let mut to = vec![0xA5u8; columns * to_step];
                let sides = ((from.as_ptr(), from_step as isize), (to.as_mut_ptr(), to_step as isize));
                // SAFETY: both vectors have as many rows of as many bytes.
                unsafe { transpose(sides.0, sides.1, (rows, columns), size) };
                let mut wanted = vec![0xA5u8; columns * to_step];
                for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                    let source = row * from_step + column * size;
                    wanted[column * to_step + row * size..][..size].copy_from_slice(&from[source..source + size]);
                }
                assert!(to == wanted, "{size} {rows} {columns}");
            }
        }
    }
}
