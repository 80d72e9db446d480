//! Scalars near a constant, near the powers of two beyond which floats do not represent every integer, and
//! near multiples of pi, powers of e, and the like.

use rewright_ir::{DType, Literal, Scalar};
use std::f64::consts;

/// The powers of two where the exact integers of `f32` and `f64` end, and those of 32 and 64 bits.
const EDGES: [u32; 6] = [24, 31, 32, 53, 63, 64];

/// The constant at a dtype, its neighbours, its half, its double, and its negative, if the dtype represents
/// them.
pub(crate) fn near(constant: Literal, dtype: DType) -> Vec<Scalar> {
    let (x, whole) = match constant {
        Literal::Bool(_) => return Vec::new(),
        Literal::Int(i) => (i as f64, Some(i)),
        Literal::Float(x) | Literal::Complex(x, _) => (x, None),
        Literal::Typed(scalar) => match scalar.dtype() {
            DType::Bool => return Vec::new(),
            of => (scalar.to_c128().re, if of.is_int() { scalar.to_i128() } else { None }),
        },
    };
    if dtype.is_int() {
        let limit = 1i128 << 80;
        let around = whole.map_or([x.floor() as i128, x.ceil() as i128], |i| [i, i]).map(|i| i.clamp(-limit, limit));
        let around: &[i128] = if around[0] == around[1] { &around[..1] } else { &around };
        let all = around.iter().flat_map(|&i| [i, i - 1, i + 1, i / 2, 2 * i, -i]);
        return all.filter_map(|i| Literal::Int(i).at(dtype)).collect();
    }
    let floats: Vec<Scalar> = match dtype {
        DType::Bool => Vec::new(),
        DType::F32 | DType::C64 => {
            let c = x as f32;
            [c, c.next_down(), c.next_up(), c - 1.0, c + 1.0, c / 2.0, 2.0 * c, -c].map(Scalar::F32).to_vec()
        }
        _ => [x, x.next_down(), x.next_up(), x - 1.0, x + 1.0, x / 2.0, 2.0 * x, -x].map(Scalar::F64).to_vec(),
    };
    floats.into_iter().map(|scalar| scalar.cast(dtype)).collect()
}

/// Integers next to the powers of two at which formats lose integers, of either sign.
pub(crate) fn edges(dtype: DType) -> Vec<Scalar> {
    let around = EDGES.iter().flat_map(|&bits| [-1, 0, 1].map(|by| (1i128 << bits) + by));
    // Rounded to `f64` first, these are midway between two `f32`, which the integers are not.
    let twice = [54, 62].map(|bits| (1i128 << bits) + (1i128 << (bits - 24)) + 1);
    around.chain(twice).flat_map(|i| [i, -i]).filter_map(|i| Literal::Int(i).at(dtype)).collect()
}

/// The constants at which functions have extreme, exact or special values.
const IRRATIONAL: [f64; 16] = [
    consts::PI,
    consts::FRAC_PI_2,
    consts::FRAC_PI_3,
    consts::FRAC_PI_4,
    consts::FRAC_PI_6,
    consts::TAU,
    3.0 * consts::FRAC_PI_2,
    3.0 * consts::FRAC_PI_4,
    consts::E,
    1.0 / consts::E,
    consts::LN_2,
    consts::LN_10,
    consts::LOG2_E,
    consts::LOG10_E,
    consts::SQRT_2,
    consts::FRAC_1_SQRT_2,
];

/// Multiples of pi, powers of e, logarithms and roots of 2: the nearest floats and their neighbours, of
/// either sign.
pub(crate) fn irrational(dtype: DType) -> Vec<Scalar> {
    let of_f32 = |x: f64| [x as f32, (x as f32).next_down(), (x as f32).next_up()].map(Scalar::F32).to_vec();
    let of_f64 = |x: f64| [x, x.next_down(), x.next_up()].map(Scalar::F64).to_vec();
    let of: &dyn Fn(f64) -> Vec<Scalar> = match dtype {
        DType::F32 | DType::C64 => &of_f32,
        DType::F64 | DType::C128 => &of_f64,
        _ => return Vec::new(),
    };
    IRRATIONAL.iter().flat_map(|&x| [x, -x]).flat_map(of).map(|scalar| scalar.cast(dtype)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_has_neighbours_at_each_dtype() {
        let ints = near(Literal::Int(1000), DType::I32);
        assert_eq!(ints, [1000, 999, 1001, 500, 2000, -1000].map(Scalar::I32));
        // Values that do not fit are left out.
        assert_eq!(near(Literal::Int(255), DType::U8), [255, 254, 127].map(Scalar::U8));
        assert!(near(Literal::Float(0.7), DType::F32).contains(&Scalar::F32(0.7f32.next_up())));
        assert!(near(Literal::Typed(Scalar::F32(0.7)), DType::F64).contains(&Scalar::F64(0.7f32 as f64)));
        let between = near(Literal::Float(2.5), DType::I8);
        assert!([2, 3].iter().all(|&i| between.contains(&Scalar::I8(i))), "{between:?}");
        assert!(near(Literal::Float(f64::INFINITY), DType::I64).is_empty());
        assert!(near(Literal::Bool(true), DType::I64).is_empty());
    }

    #[test]
    fn multiples_of_pi_have_neighbours() {
        assert!(irrational(DType::F64).contains(&Scalar::F64(consts::FRAC_PI_2)));
        assert!(irrational(DType::F32).contains(&Scalar::F32(-std::f32::consts::PI.next_up())));
        assert!(irrational(DType::I64).is_empty());
    }

    #[test]
    fn integers_that_floats_lose_are_among_the_edges() {
        assert!(edges(DType::I32).contains(&Scalar::I32((1 << 24) + 1)));
        assert!(edges(DType::I64).contains(&Scalar::I64(-(1 << 53) - 1)));
        assert!(edges(DType::I8).is_empty());
    }
}
