//! Special values of arithmetic, and random scalars.

use rewright_ir::{Complex32, Complex64, DType, Scalar};

/// Floats of every format: zeros, some ordinary numbers, NaN and infinities.
const FLOATS: [f64; 11] = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30];

/// The limits of a format: the smallest normal number, two subnormal ones, and the largest.
const F64_ENDS: [f64; 5] = [f64::MIN_POSITIVE, 1e-310, -5e-324, f64::MAX, f64::MIN];
const F32_ENDS: [f64; 5] = [f32::MIN_POSITIVE as f64, 1e-40, -1e-45, f32::MAX as f64, f32::MIN as f64];

/// The parts of special complex numbers, beside the ends of the format.
const PARTS: [f64; 8] = [0.0, -0.0, 1.0, -3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30];

/// Of the [`F64_ENDS`] and [`F32_ENDS`]: the smallest normal number, the smallest subnormal one, and both of
/// the largest magnitude.
const ENDS_OF_PARTS: [usize; 4] = [0, 2, 3, 4];

/// Small integers, and integers next to the ends of ranges and widths; each dtype takes those that it
/// represents.
const INTS: [i128; 27] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    5,
    7,
    8,
    16,
    31,
    32,
    63,
    64,
    i8::MIN as i128,
    i8::MAX as i128,
    u8::MAX as i128,
    i16::MIN as i128,
    i16::MAX as i128,
    u16::MAX as i128,
    i32::MIN as i128,
    i32::MAX as i128,
    u32::MAX as i128,
    i64::MIN as i128,
    i64::MIN as i128 + 1,
    i64::MAX as i128,
    u64::MAX as i128,
];

/// The special values of a dtype. Those of complex numbers have special parts.
pub(crate) fn special(dtype: DType) -> Vec<Scalar> {
    let pairs = |ends: [f64; 5]| {
        let parts: Vec<f64> = PARTS.into_iter().chain(ENDS_OF_PARTS.map(|at| ends[at])).collect();
        parts.iter().flat_map(|&re| parts.iter().map(move |&im| (re, im))).collect::<Vec<_>>()
    };
    match dtype {
        DType::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        DType::F32 => FLOATS.iter().chain(&F32_ENDS).map(|&x| Scalar::F32(x as f32)).collect(),
        DType::F64 => FLOATS.iter().chain(&F64_ENDS).map(|&x| Scalar::F64(x)).collect(),
        DType::C64 => {
            pairs(F32_ENDS).into_iter().map(|(re, im)| Scalar::C64(Complex32::new(re as f32, im as f32))).collect()
        }
        DType::C128 => pairs(F64_ENDS).into_iter().map(|(re, im)| Scalar::C128(Complex64::new(re, im))).collect(),
        _ => INTS.iter().filter_map(|&i| rewright_ir::Literal::Int(i).at(dtype)).collect(),
    }
}

/// The distribution of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Small integers, and tenths.
    Small,
    /// Full mantissas with similar exponents, so that sums are rounded; integers of any length.
    Narrow,
    /// Magnitudes so different that the order of a sum matters.
    Wide,
    /// Any bits.
    Bits,
}

/// Some of these cancel, and some are absorbed by others.
const WIDE: [f64; 8] = [1e16, 1.0, -1e16, 0.1, 1e8, -0.7, -1e8, 3.0];

/// Random elements, the same for the same seed.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(fastrand::Rng::with_seed(seed))
    }
    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Half of the numbers are between -8 and 8, the others are special.
    fn float(&mut self, ends: &[f64; 5]) -> f64 {
        match self.0.usize(..2 * (FLOATS.len() + ends.len())) {
            i if i < FLOATS.len() => FLOATS[i],
            i => ends.get(i - FLOATS.len()).copied().unwrap_or_else(|| self.0.f64() * 16.0 - 8.0),
        }
    }
    fn f64(&mut self) -> f64 {
        self.float(&F64_ENDS)
    }
    fn f32(&mut self) -> f32 {
        self.float(&F32_ENDS) as f32
    }

    /// Half of the numbers are small, the others take all bits.
    fn bits(&mut self) -> u64 {
        let r = self.next();
        if r & 1 == 0 { (r >> 1) % 7 } else { r }
    }

    /// A number of this distribution.
    pub fn spread(&mut self, spread: Spread, dtype: DType) -> Scalar {
        if dtype == DType::Bool || spread == Spread::Bits {
            return Scalar::from_bits(dtype, (self.next(), self.next()));
        }
        if dtype.is_int() {
            let shift = self.next() % 64;
            let bits = match spread {
                Spread::Small if dtype.is_unsigned() => self.next() % 21,
                Spread::Small => (self.next() % 41).wrapping_sub(20),
                _ => self.next() >> shift,
            };
            return Scalar::from_bits(dtype, (bits, 0));
        }
        let mut float = || match spread {
            Spread::Small => (self.next() % 101) as f64 / 10.0 - 5.0,
            Spread::Wide => WIDE[self.0.usize(..WIDE.len())],
            _ => {
                let sign = if self.0.bool() { 1.0 } else { -1.0 };
                sign * (1.0 + self.0.f64()) * 2f64.powi(self.0.i32(-3..=3))
            }
        };
        let (re, im) = (float(), float());
        let number = Scalar::C128(Complex64::new(re, im));
        if dtype.is_complex() { number.cast(dtype) } else { Scalar::F64(re).cast(dtype) }
    }

    pub fn scalar(&mut self, dtype: DType) -> Scalar {
        let bits = self.bits();
        match dtype {
            DType::Bool => Scalar::Bool(self.next() & 1 == 1),
            // The low bits decide, so every width has small and large ones, of either sign.
            DType::I8 => Scalar::I8(bits as i8),
            DType::I16 => Scalar::I16(bits as i16),
            DType::I32 => Scalar::I32(bits as i32),
            DType::I64 => Scalar::I64(bits as i64),
            DType::U8 => Scalar::U8(bits as u8),
            DType::U16 => Scalar::U16(bits as u16),
            DType::U32 => Scalar::U32(bits as u32),
            DType::U64 => Scalar::U64(bits),
            DType::F32 => Scalar::F32(self.f32()),
            DType::F64 => Scalar::F64(self.f64()),
            DType::C64 => Scalar::C64(Complex32::new(self.f32(), self.f32())),
            DType::C128 => Scalar::C128(Complex64::new(self.f64(), self.f64())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dtype_has_the_ends_of_its_range() {
        for (dtype, wanted) in [
            (DType::I8, [Scalar::I8(i8::MIN), Scalar::I8(i8::MAX), Scalar::I8(-1)]),
            (DType::U8, [Scalar::U8(0), Scalar::U8(127), Scalar::U8(8)]),
            (DType::I64, [Scalar::I64(i64::MIN), Scalar::I64(i64::MAX), Scalar::I64(64)]),
            (DType::U64, [Scalar::U64(u64::MAX), Scalar::U64(0), Scalar::U64(63)]),
            (DType::F32, [Scalar::F32(f32::MAX), Scalar::F32(-0.0), Scalar::F32(1e-40)]),
        ] {
            let found = special(dtype);
            assert!(wanted.iter().all(|w| found.contains(w)), "{dtype}: {found:?}");
        }
        let parts: Vec<_> = special(DType::C128).iter().map(|s| s.to_c128()).collect();
        assert!(parts.iter().any(|z| z.re.is_nan() && z.im.is_infinite()));
        assert!(parts.iter().any(|z| z.re == f64::MAX && z.im == f64::MIN));
        assert!(special(DType::C64).iter().map(|s| s.to_c128()).any(|z| z.re == f32::MAX as f64 && z.re == z.im));
        assert!(parts.iter().any(|z| z.re == 0.0 && z.im == 0.0 && z.im.is_sign_negative()));
    }
}
