//! Literals, scalars, parameter types and arguments.

use super::choices::Choices;
use rewright_ir::{Array, Complex64, DType, Datum, Dim, Kind, Literal, Name, Scalar, Type};

/// The extents and dtypes that most values of a program have.
pub struct Stock {
    /// The extents of arrays, aligned at the last axis, so that most arrays broadcast.
    extents: [u64; 4],
    /// The dtypes of most parameters, so that values of one function fit others.
    dtypes: [DType; 2],
}

impl Stock {
    /// Chooses extents and dtypes.
    pub fn choose(c: &mut Choices<'_>) -> Self {
        // Tiling starts at last axes that are longer than a tile.
        let small = [0; 4].map(|_| c.pick(&[2, 3, 1, 5, 0, 17, 4, 33]));
        let large = [1, c.pick(&[1, 2]), c.pick(&[70, 130]), c.pick(&[67, 129])];
        Stock { extents: if c.one_in(30) { large } else { small }, dtypes: [(); 2].map(|()| c.pick(&DType::ALL)) }
    }

    /// The dtype of a parameter.
    pub fn dtype(&self, c: &mut Choices<'_>) -> DType {
        if c.one_in(3) { c.pick(&DType::ALL) } else { c.pick(&self.dtypes) }
    }

    /// A shape of some last extents, with some of them replaced by 1.
    fn shape(&self, c: &mut Choices<'_>) -> Vec<u64> {
        let rank = c.pick(&[1, 2, 3, 0, 4, 1, 2]);
        // Higher ranks have more extents of 1, so arrays stay small.
        self.extents[4 - rank..].iter().map(|&extent| if c.one_in(4 - rank / 2) { 1 } else { extent }).collect()
    }
}

/// A dim of a parameter: a symbol, `?`, or the constant. The name of a symbol ends with its extent. An
/// extent has several symbols, so not all equal extents are known to be equal.
fn dim(c: &mut Choices<'_>, extent: u64) -> Dim {
    match c.below(3) {
        0 if extent != 1 => Dim::Sym(Name::new(&format!("{}{extent}", c.pick(&["n", "n", "n", "m"])))),
        1 => Dim::Any,
        _ => Dim::Const(extent),
    }
}

/// The type of a parameter, and the shape of its argument; `None` for a scalar.
pub fn param(c: &mut Choices<'_>, stock: &Stock) -> (Type, Option<Vec<u64>>) {
    let dtype = stock.dtype(c);
    if c.one_in(5) {
        return (Type::scalar(dtype), None);
    }
    let shape = stock.shape(c);
    let dims: Vec<Dim> = shape.iter().map(|&extent| dim(c, extent)).collect();
    (Type::array(dtype, dims), Some(shape))
}

/// The argument for a parameter.
pub fn argument(c: &mut Choices<'_>, dtype: DType, shape: Option<&[u64]>) -> Datum {
    match shape {
        None => Datum::Scalar(scalar(c, dtype)),
        Some(shape) => {
            let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
            Datum::Array(strided(c, dtype, &shape))
        }
    }
}

/// A literal: weak ones of each kind, and ones with a dtype.
pub fn literal(c: &mut Choices<'_>) -> Literal {
    match c.below(5) {
        0 => Literal::Int(c.pick(&[1, 0, 2, -1, 3, 7, 127, 300])),
        1 => Literal::Float(c.pick(&[1.0, 0.5, -0.0, 0.0, 2.0, -1.5, f64::INFINITY, f64::NAN, 1e-300])),
        2 => Literal::Bool(c.below(2) == 1),
        3 => Literal::Complex(c.pick(&[0.0, 1.0]), c.pick(&[1.0, -2.5])),
        _ => {
            let dtype = c.pick(&DType::ALL);
            Literal::Typed(scalar(c, dtype))
        }
    }
}

/// A scalar, often a special value.
pub fn scalar(c: &mut Choices<'_>, dtype: DType) -> Scalar {
    let float = |c: &mut Choices<'_>| match c.below(4) {
        0 => c.below(16) as f64 - 4.0,
        1 => {
            let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-310, f64::MAX, -1e-45, 0.1, 1e30];
            c.pick(&special)
        }
        _ => (c.below(65536) as f64 - 32768.0) / 1024.0,
    };
    match dtype.kind() {
        Kind::Bool => Scalar::Bool(c.below(2) == 1),
        Kind::Int => match c.below(3) {
            0 => Scalar::I64(c.below(9) as i64 - 2).cast(dtype),
            1 => Scalar::U64(c.pick(&[u64::MAX, 1 << 63, (1 << 63) - 1, 0x8000_0000, 0x7fff_ffff, 0x80, 0x7f]))
                .cast(dtype),
            _ => Scalar::U64((c.below(65536) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).cast(dtype),
        },
        Kind::Float => Scalar::F64(float(c)).cast(dtype),
        Kind::Complex => {
            let (re, im) = (float(c), float(c));
            Scalar::C128(Complex64::new(re, im)).cast(dtype)
        }
    }
}

/// An array of a shape: contiguous, transposed in memory, every second element of a larger one, or reversed.
fn strided(c: &mut Choices<'_>, dtype: DType, shape: &[usize]) -> Array {
    let layout = c.below(4);
    let pool: Vec<Scalar> = (0..1 + c.below(12)).map(|_| scalar(c, dtype)).collect();
    let fill =
        |shape: &[usize]| Array::from_fn(dtype, shape, |i| pool[(i * 7 + i / 5) % pool.len()]).expect("a small array");
    match layout {
        1 => {
            let reversed: Vec<usize> = shape.iter().rev().copied().collect();
            let axes: Vec<usize> = (0..shape.len()).rev().collect();
            fill(&reversed).permuted(&axes)
        }
        2 => {
            let wide: Vec<usize> = shape.iter().map(|&n| 2 * n).collect();
            sliced(fill(&wide), 2)
        }
        3 => sliced(fill(shape), -1),
        _ => fill(shape),
    }
}

/// Slices every axis by one step; the buffer stays shared.
fn sliced(array: Array, step: isize) -> Array {
    rewright_ir::with_array!(array, |a| {
        let mut a = a;
        for axis in 0..a.ndim() {
            a.slice_axis_inplace(ndarray::Axis(axis), ndarray::Slice::new(0, None, step));
        }
        rewright_ir::Element::wrap(a)
    })
}
