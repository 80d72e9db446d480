//! Bools as words of 64, the first one in the lowest bit.

/// The bools of a word.
pub const WORD: usize = 64;

/// Interface: the op's result has the bools of its operand, dense and without a style, as words of [`WORD`] along the last axis: what [`pack_bools`] makes of each row.
///
/// A kernel that makes such bools for this op only is then one step with it: bools are packed while the cache holds them, and no array has them all.
#[derive(Clone, Copy, Debug)]
pub struct PacksBools;

/// Packs a row of bools, whose bits beyond the end are zero. There is a word for every [`WORD`] bools, and for what remains.
pub fn pack_bools(bools: &[bool], words: &mut [u64]) {
    assert_eq!(bools.len().div_ceil(WORD), words.len(), "a word for each 64 bools");
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512bw") {
        // SAFETY: the processor has these instructions.
        return unsafe { avx512(bools, words) };
    } else if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: as above.
        return unsafe { avx2(bools, words) };
    }
    words.iter_mut().zip(bools.chunks(WORD)).for_each(|(word, bools)| *word = portable(bools));
}

/// A word of up to 64 bools.
fn portable(bools: &[bool]) -> u64 {
    let mut word = 0;
    let (eights, rest) = bools.as_chunks::<8>();
    for (number, eight) in eights.iter().enumerate() {
        // The product has each of the eight at its place in the highest byte, and nothing else there.
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
        // SAFETY: there are 64 bytes.
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
            // SAFETY: there are 32 bytes from the first one and from the 32nd on.
            let bytes = unsafe { _mm256_loadu_si256(bools.as_ptr().add(from).cast()) };
            // A byte is 0 or 1: its lowest bit becomes the highest one.
            u64::from(_mm256_movemask_epi8(_mm256_slli_epi16::<7>(bytes)) as u32)
        };
        *word = half(0) | half(32) << 32;
    }
    last(rest, words);
}

/// The last word, if it is not a whole one.
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
