//! Packs bools into words of 64 bits. The first bool of a word is its lowest bit.

/// The number of bools in a word.
pub const WORD: usize = 64;

/// Interface: the op packs the bools of its operand into words of [`WORD`] along the last axis, each row as
/// [`pack_bools`] does. The operand is dense and has no storage style.
///
/// A kernel whose bools only this op uses becomes one step with it: the bools are packed while the cache
/// holds them, and no array of all bools is allocated.
#[derive(Clone, Copy, Debug)]
pub struct PacksBools;

/// Packs a row of bools. There is one word for every [`WORD`] bools, and one for the remainder, whose bits
/// beyond the end of the row are zero.
pub fn pack_bools(bools: &[bool], words: &mut [u64]) {
    assert_eq!(bools.len().div_ceil(WORD), words.len(), "a word for each 64 bools");
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512bw") {
        // SAFETY: the processor has these instructions.
        return unsafe { avx512(bools, words) };
    } else if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has these instructions.
        return unsafe { avx2(bools, words) };
    }
    words.iter_mut().zip(bools.chunks(WORD)).for_each(|(word, bools)| *word = portable(bools));
}

/// Packs up to 64 bools into a word.
fn portable(bools: &[bool]) -> u64 {
    let mut word = 0;
    let (eights, rest) = bools.as_chunks::<8>();
    for (number, eight) in eights.iter().enumerate() {
        // The highest byte of the product has bool `i` at bit `i`. No other bits of the product reach it.
        let bytes = u64::from_le_bytes(eight.map(u8::from));
        word |= (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * number);
    }
    let past = 8 * eights.len();
    rest.iter().enumerate().fold(word, |word, (number, &bool)| word | u64::from(bool) << (past + number))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn avx512(bools: &[bool], words: &mut [u64]) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_test_epi8_mask};
    let (whole, rest) = bools.as_chunks::<WORD>();
    for (word, bools) in words.iter_mut().zip(whole) {
        // SAFETY: `bools` has 64 bytes.
        let bytes = unsafe { _mm512_loadu_si512(bools.as_ptr().cast()) };
        *word = _mm512_test_epi8_mask(bytes, bytes);
    }
    last(rest, words);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(bools: &[bool], words: &mut [u64]) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_movemask_epi8, _mm256_slli_epi16};
    let (whole, rest) = bools.as_chunks::<WORD>();
    for (word, bools) in words.iter_mut().zip(whole) {
        let half = |from: usize| {
            // SAFETY: `bools` has 64 bytes, and `from` is 0 or 32, so 32 bytes follow.
            let bytes = unsafe { _mm256_loadu_si256(bools.as_ptr().add(from).cast()) };
            // Each byte is 0 or 1. The shift moves its lowest bit to its highest bit.
            u64::from(_mm256_movemask_epi8(_mm256_slli_epi16::<7>(bytes)) as u32)
        };
        *word = half(0) | half(32) << 32;
    }
    last(rest, words);
}

/// Packs the last word, if it has fewer than [`WORD`] bools.
#[cfg(target_arch = "x86_64")]
fn last(rest: &[bool], words: &mut [u64]) {
    if let (Some(word), false) = (words.last_mut(), rest.is_empty()) {
        *word = portable(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_gives_the_same_words() {
        for len in [0usize, 1, 7, 8, 9, 63, 64, 65, 127, 128, 1000] {
            let bools: Vec<bool> = (0..len).map(|n| (n * n + n / 3) % 5 < 2).collect();
            let mut wanted = vec![0u64; len.div_ceil(WORD)];
            bools.iter().enumerate().for_each(|(n, &bool)| wanted[n / WORD] |= u64::from(bool) << (n % WORD));
            let mut words = vec![u64::MAX; wanted.len()];
            pack_bools(&bools, &mut words);
            assert_eq!(words, wanted, "{len}");
            assert!(bools.chunks(WORD).map(portable).eq(wanted.iter().copied()), "{len}");
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                words.fill(u64::MAX);
                // SAFETY: the processor has these instructions.
                unsafe { avx2(&bools, &mut words) };
                assert_eq!(words, wanted, "{len}");
            }
        }
    }
}
