//! Elements where operations change their ways, and arrays of them in all sorts of layouts.

use rewright_ir::{Array, Attr, Attrs, Complex64, DType, Datum, Limits, Scalar, SliceSpec, evaluate_op, registry};

/// Random numbers, the same for the same seed.
pub struct Random(fastrand::Rng);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(fastrand::Rng::with_seed(seed))
    }
    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.usize(..from.len())]
    }
}

/// Zeros, ones, limits, neighbours of limits, subnormals, infinities, NaN, and a few of no importance.
pub fn special(dtype: DType) -> Vec<Scalar> {
    let mut random = Random::new(dtype as u64);
    let mut all: Vec<Scalar> = match dtype {
        DType::Bool => return vec![false.into(), true.into()],
        DType::F32 | DType::F64 => floats(dtype, &mut random),
        DType::C64 | DType::C128 => {
            let parts =
                [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.25, 1e-300, 1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            let number = |re: &f64, im: &f64| Scalar::C128(Complex64::new(*re, *im)).cast(dtype);
            parts.iter().flat_map(|re| parts.iter().map(move |im| number(re, im))).collect()
        }
        _ => {
            let bits = 8 * dtype.size() as u32;
            let ends = [0, 1, 2, 3, 5, 7, 10, 31, 32, 63, 64, 100].map(|i: i64| i as u64);
            let mut all: Vec<u64> = ends.into_iter().flat_map(|i| [i, i.wrapping_neg()]).collect();
            all.extend([1 << (bits - 1), (1 << (bits - 1)) - 1, (1 << (bits - 1)) + 1, 1 << (bits / 2)]);
            all.extend((0..8).map(|_| random.next()));
            let mask = u64::MAX >> (64 - bits);
            all.into_iter().map(|i| Scalar::from_bits(dtype, (i & mask, 0))).collect()
        }
    };
    all.sort_by_key(|s| s.bits());
    all.dedup();
    all
}

fn floats(dtype: DType, random: &mut Random) -> Vec<Scalar> {
    let plain = [
        0.0,
        1.0,
        0.1,
        0.5,
        0.75,
        1.5,
        2.0,
        2.5,
        3.0,
        7.25,
        10.0,
        19.0,
        100.0,
        127.5,
        255.5,
        700.0,
        32767.5,
        65535.5,
        1e-45,
        1e-40,
        1e-310,
        5e-324,
        1e-20,
        1e10,
        1e20,
        2147483647.5,
        4294967295.5,
        9223372036854775807.0,
        18446744073709551615.0,
        8388607.5,
        4503599627370495.5,
        1e38,
        3.4e38,
        1e300,
        f64::MAX,
        f64::MIN_POSITIVE,
        f32::MIN_POSITIVE as f64,
        f64::INFINITY,
        f64::NAN,
    ];
    let mut all: Vec<f64> = plain.into_iter().flat_map(|x| [x, -x]).collect();
    all.extend((0..12).map(|_| random.next() as i64 as f64 / 2f64.powi((random.next() % 70) as i32)));
    all.into_iter().map(|x| Scalar::F64(x).cast(dtype)).collect()
}

/// How the elements of an array lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layout {
    Rows,
    Columns,
    EverySecond,
    Backwards,
}

impl Layout {
    pub const ALL: [Layout; 4] = [Layout::Rows, Layout::Columns, Layout::EverySecond, Layout::Backwards];
}

/// A matrix with these elements, row by row, in a layout.
pub fn matrix(dtype: DType, shape: [usize; 2], layout: Layout, mut element: impl FnMut() -> Scalar) -> Array {
    let rows: Vec<Scalar> = (0..shape[0] * shape[1]).map(|_| element()).collect();
    let at = |i: usize, j: usize| rows[i * shape[1] + j];
    let full = |[n, m]: [usize; 2], f: &dyn Fn(usize, usize) -> Scalar| {
        Array::from_fn(dtype, &[n, m], |k| f(k / m, k % m)).unwrap()
    };
    match layout {
        Layout::Rows => full(shape, &at),
        Layout::Columns => full([shape[1], shape[0]], &|j, i| at(i, j)).permuted(&[1, 0]),
        Layout::EverySecond => {
            let wide = full([shape[0], 2 * shape[1]], &|i, j| at(i, j / 2));
            sliced(wide, SliceSpec { start: None, stop: None, step: 2 })
        }
        Layout::Backwards => {
            let turned = full(shape, &|i, j| at(i, shape[1] - 1 - j));
            sliced(turned, SliceSpec { start: None, stop: None, step: -1 })
        }
    }
}

/// A slice of the second axis.
fn sliced(array: Array, spec: SliceSpec) -> Array {
    let attrs = Attrs::new().with("at", Attr::Slices([SliceSpec::FULL, spec].into()));
    let slice = registry().op("slice").unwrap();
    match &evaluate_op(slice, &attrs, &[Datum::Array(array)], &[], Limits::default()).unwrap()[..] {
        [Datum::Array(array)] => array.clone(),
        other => panic!("{other:?}"),
    }
}
