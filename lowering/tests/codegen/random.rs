//! Random kernels on random layouts.

use super::case::{Call, Layout, REAL, Random, element, special};
use super::same;
use rewright_ir::expr::Order;
use rewright_ir::math::vector::Table;
use rewright_ir::{Attrs, DType, EvalError, Op, OpDef, Scalar, Scalars};
use rewright_lowering::internals::kernel::{
    Binary, Buffer, Compare, KOp, KValue, Kernel, KernelBuilder, MathCall, MathPtr, Part, Reference, Unary,
};
use smallvec::SmallVec;

/// An op that swaps the parts of a complex number, and fails on one with two equal parts.
static SWAP: OpDef = OpDef::elementwise("swap_parts", "For tests.", 1, |_, _| Err("not used".into()), swap);

fn swap(args: &[Scalar], _: &Attrs) -> Result<Scalars, EvalError> {
    match args {
        [Scalar::C128(z)] if z.re == z.im && z.re > 1e100 => Err(EvalError::value(format!("{z} has equal parts"))),
        [Scalar::C128(z)] => Ok(Scalars::from_slice(&[Scalar::C128(num_complex::Complex::new(z.im, z.re))])),
        _ => Err(EvalError::value("not complex")),
    }
}

extern "C" fn cube(x: f64) -> f64 {
    x * x * x
}
extern "C" fn mean(x: f64, y: f64) -> f64 {
    x / 2.0 + y / 2.0
}
extern "C" fn cube_single(x: f32) -> f32 {
    x * x * x
}
extern "C" fn mean_single(x: f32, y: f32) -> f32 {
    x / 2.0 + y / 2.0
}

/// Numbers to choose from, of which no two are the same bits.
pub static NUMBERS: Table = Table {
    name: "numbers",
    double: [
        0.0,
        -0.0,
        1.0,
        -1.5,
        1e-310,
        f64::INFINITY,
        -7.25,
        1e300,
        0.1,
        -0.3,
        2.0,
        1e-3,
        5e-324,
        -1e17,
        8.0,
        0.875,
    ],
    single: [0.0, -0.0, 1.0, -1.5, 1e-40, f32::INFINITY, -7.25, 1e30, 0.1, -0.3, 2.0, 1e-3, 1e-45, -1e17, 8.0, 0.875],
};

struct Maker {
    random: Random,
    k: KernelBuilder,
    values: Vec<KValue>,
    /// Few dtypes make for long chains without conversions.
    dtypes: Vec<DType>,
    /// How many of a hundred buffers are complex.
    complex: usize,
}

impl Maker {
    fn some(&mut self, dtype: DType) -> KValue {
        let of: Vec<KValue> = self.values.iter().copied().filter(|&v| self.k.dtype(v) == dtype).collect();
        if !of.is_empty() && !self.random.chance(10) {
            // Rather a late one.
            let from = if self.random.chance(50) { of.len() / 2 } else { 0 };
            return of[from + self.random.below(of.len() - from)];
        }
        let value = if self.random.chance(30) || self.values.is_empty() {
            let scalar = self.random.pick(special(dtype));
            self.k.constant(scalar)
        } else {
            let from = self.random.pick(&self.values.clone());
            self.k.convert(from, dtype)
        };
        self.values.push(value);
        value
    }

    fn step(&mut self, references: bool) {
        let dtype = self.random.pick(&self.dtypes.clone());
        let (float, bool) = (dtype.is_float(), dtype.is_bool());
        let a = self.some(dtype);
        let b = self.some(dtype);
        let value = match self.random.below(10) {
            0 => {
                let op = match (float, bool) {
                    (true, _) => self.random.pick(&[
                        Unary::Neg,
                        Unary::Abs,
                        Unary::Sqrt,
                        Unary::Floor,
                        Unary::Ceil,
                        Unary::Trunc,
                        Unary::Rint,
                        Unary::Significand,
                    ]),
                    (_, true) => Unary::Not,
                    _ => self.random.pick(&[Unary::Neg, Unary::Abs, Unary::Not, Unary::PopCount, Unary::LeadingZeros]),
                };
                self.k.unary(op, a)
            }
            1..=3 => {
                use Binary::*;
                let op = match (float, bool) {
                    (true, _) => self.random.pick(&[Add, Sub, Mul, Div, CopySign, Min, Max]),
                    (_, true) => self.random.pick(&[And, Or, Xor]),
                    _ => self.random.pick(&[Add, Sub, Mul, Quot, Rem, And, Or, Xor, Shl, Shr, Min, Max]),
                };
                self.k.binary(op, a, b)
            }
            4 => {
                let op = self.random.pick(&[Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le]);
                self.k.compare(op, a, b)
            }
            5 => {
                let c = self.some(DType::Bool);
                self.k.select(c, a, b)
            }
            6 => {
                let to = self.random.pick(&self.dtypes.clone());
                self.k.convert(a, to)
            }
            7 if float => {
                let (c, single) = (self.some(dtype), dtype == DType::F32);
                match self.random.below(6) {
                    5 => {
                        let x = self.k.unary(Unary::Abs, a);
                        let m = self.k.unary(Unary::Significand, x);
                        self.k.binary(Binary::Exponent, x, m)
                    }
                    4 => {
                        let n = self.k.bitcast(a, if single { DType::U32 } else { DType::U64 });
                        self.k.push(KOp::Choose(&NUMBERS), &[n], dtype)
                    }
                    3 => {
                        let ptr = if single { MathPtr::F32x1(cube_single) } else { MathPtr::F64x1(cube) };
                        let condition = self.some(DType::Bool);
                        self.k.push(KOp::MathWhere(MathCall { name: "cube", ptr }), &[condition, a, b], dtype)
                    }
                    0 => self.k.push(KOp::Fma, &[a, b, c], dtype),
                    1 => {
                        let ptr = if single { MathPtr::F32x1(cube_single) } else { MathPtr::F64x1(cube) };
                        self.k.push(KOp::Math(MathCall { name: "cube", ptr }), &[a], dtype)
                    }
                    _ => {
                        let ptr = if single { MathPtr::F32x2(mean_single) } else { MathPtr::F64x2(mean) };
                        self.k.push(KOp::Math(MathCall { name: "mean", ptr }), &[a, b], dtype)
                    }
                }
            }
            8 if references => {
                let (re, im) = (self.some(DType::F64), self.some(DType::F64));
                let first = self.k.push_many(KOp::Reference(Box::new(swapped())), &[re, im], &[DType::F64; 2]);
                self.values.push(KValue(first.0 + 1));
                first
            }
            _ => {
                let same: Vec<DType> = REAL.into_iter().filter(|d| d.size() == dtype.size()).collect();
                let to = self.random.pick(&same);
                self.k.push(KOp::Bitcast, &[a], to)
            }
        };
        self.values.push(value);
    }
}

impl Maker {
    /// Combines one value or two along the innermost axis, and stores what a row came to.
    fn fold(&mut self) {
        let axes = self.k.axes();
        let dtypes: Vec<DType> =
            (0..1 + self.random.below(2)).map(|_| self.random.pick(&self.dtypes.clone())).collect();
        let items: Vec<KValue> = dtypes.iter().map(|&dtype| self.some(dtype)).collect();
        let chosen: Vec<(Binary, Scalar)> = dtypes.iter().map(|&dtype| self.monoid(dtype)).collect();
        let undefined = |k: &mut KernelBuilder, level| -> Vec<KValue> {
            dtypes.iter().map(|&dtype| k.undefined(dtype, level as u32)).collect()
        };
        let (left, right) = (undefined(&mut self.k, axes), undefined(&mut self.k, axes));
        let totals = undefined(&mut self.k, axes - 1);
        let section = self.k.begin_section();
        let both = (0..items.len()).map(|n| self.k.binary(chosen[n].0, left[n], right[n])).collect();
        let combine = self.k.end_section(section);
        let varies: SmallVec<[bool; 4]> = (0..axes).map(|axis| axis + 1 < axes).collect();
        let section = self.k.begin_section();
        let pair = match dtypes[..] {
            [DType::F32, DType::F32] => Some(DType::C64),
            [DType::F64, DType::F64] => Some(DType::C128),
            _ => None,
        };
        match pair.filter(|_| self.random.chance(self.complex)) {
            Some(dtype) => {
                let buffer = self.k.buffer(Buffer { dtype, written: true, varies });
                self.k.store(buffer, Part::Re, totals[0]);
                self.k.store(buffer, Part::Im, totals[1]);
            }
            None => {
                for (&total, &dtype) in totals.iter().zip(&dtypes) {
                    let buffer = self.k.buffer(Buffer { dtype, written: true, varies: varies.clone() });
                    self.k.store(buffer, Part::Re, total);
                }
            }
        }
        let after = self.k.end_section(section);
        let few = |lanes, apart: usize, parts| Order::Tree {
            lanes,
            leaf: 8 * lanes,
            apart: apart.min(lanes),
            part: 8 * lanes * parts,
            block: 128,
        };
        let order = match self.random.below(8) {
            0..4 => Order::PAIRWISE,
            4 => Order::PAIRWISE_COMPLEX,
            5 | 6 => Order::Sequential,
            _ => few(self.random.pick(&[1, 2, 4]), self.random.pick(&[1, 2, 4]), self.random.pick(&[1, 2, 4])),
        };
        let neutral = chosen.iter().map(|(_, neutral)| neutral.bits().0).collect();
        let any_order = !dtypes.iter().any(|dtype| dtype.is_float()) && self.random.chance(70);
        self.k.fold(super::fold((order, any_order), [items, left, right, both, totals], neutral, [combine, after]));
    }

    /// An operation, and what it does nothing with.
    fn monoid(&mut self, dtype: DType) -> (Binary, Scalar) {
        let least = Scalar::U64(if dtype.is_signed() { 1 << (8 * dtype.size() - 1) } else { 0 }).cast(dtype);
        match (dtype.is_float(), dtype.is_bool()) {
            (true, _) => {
                // No least one: what is neutral to it but after NaN may be after NaN, where lanes have no points.
                self.random.pick(&[(Binary::Add, Scalar::F64(-0.0).cast(dtype)), (Binary::Mul, Scalar::one(dtype))])
            }
            (_, true) => self.random.pick(&[(Binary::Or, Scalar::Bool(false)), (Binary::And, Scalar::Bool(true))]),
            _ => self.random.pick(&[
                (Binary::Add, Scalar::zero(dtype)),
                (Binary::Mul, Scalar::one(dtype)),
                (Binary::Xor, Scalar::zero(dtype)),
                (Binary::Max, least),
            ]),
        }
    }
}

/// A kernel with an op that is computed by its reference meaning.
pub fn reference_kernel() -> Kernel {
    let mut k = KernelBuilder::new(1);
    let [a, out] = [false, true]
        .map(|written| k.buffer(Buffer { dtype: DType::C128, written, varies: [true].into_iter().collect() }));
    let parts = [k.load(a, Part::Re), k.load(a, Part::Im)];
    let first = k.push_many(KOp::Reference(Box::new(swapped())), &parts, &[DType::F64; 2]);
    k.store(out, Part::Re, first);
    k.finish()
}

fn swapped() -> Reference {
    let dtypes = SmallVec::from_slice(&[DType::C128]);
    let results = SmallVec::from_slice(&[DType::C128]);
    Reference { op: Op(&SWAP), attrs: Attrs::default(), args: dtypes, results }
}

/// A kernel, and for each buffer whether it is written.
fn kernel(random: Random) -> (Kernel, Random) {
    let mut random = random;
    let axes = random.pick(&[0, 1, 1, 1, 2, 2, 3, 4]);
    let mut dtypes: Vec<DType> = (0..1 + random.below(3)).map(|_| random.pick(&REAL)).collect();
    dtypes.dedup();
    let complex = random.pick(&[5, 5, 80]);
    let mut m = Maker { k: KernelBuilder::new(axes), values: Vec::new(), dtypes, complex, random };
    let memory = |m: &mut Maker| {
        if m.random.chance(m.complex) {
            m.random.pick(&[DType::C64, DType::C128])
        } else {
            let d = m.dtypes.clone();
            m.random.pick(&d)
        }
    };
    for _ in 0..m.random.below(5) {
        let dtype = memory(&mut m);
        let varies = (0..axes).map(|_| m.random.chance(75)).collect();
        let buffer = m.k.buffer(Buffer { dtype, written: false, varies });
        for part in [Part::Re, Part::Im].into_iter().take(1 + dtype.is_complex() as usize) {
            if part == Part::Re || m.random.chance(80) {
                let value = m.k.load(buffer, part);
                m.values.push(value);
            }
        }
    }
    for _ in 0..m.random.below(2) {
        let dtype = m.random.pick(&m.dtypes.clone());
        let value = m.k.param(dtype);
        m.values.push(value);
    }
    if axes > 0 && m.random.chance(20) {
        let axis = m.random.below(axes) as u32;
        let value = m.k.index(axis);
        m.values.push(value);
    }
    let references = m.random.chance(10);
    for _ in 0..m.random.below(14) {
        m.step(references);
    }
    if axes > 0 && m.random.chance(25) {
        m.fold();
        return (m.k.finish(), m.random);
    }
    for _ in 0..1 + m.random.below(2) {
        let dtype = memory(&mut m);
        let buffer = m.k.buffer(Buffer { dtype, written: true, varies: (0..axes).map(|_| true).collect() });
        let parts = [Part::Re, Part::Im];
        for part in parts.into_iter().take(1 + dtype.is_complex() as usize) {
            if m.random.chance(90) {
                let value = m.some(dtype.real());
                m.k.store(buffer, part, value);
            }
        }
        if m.random.chance(15) {
            // Read where it is written, afterwards.
            let value = m.k.load(buffer, Part::Re);
            m.values.push(value);
        }
    }
    (m.k.finish(), m.random)
}

fn call(kernel: &Kernel, random: &mut Random) -> Call {
    let sizes: &[u64] =
        if kernel.axes > 2 { &[0, 1, 2, 3, 5, 8] } else { &[0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 70] };
    let mut extents: Vec<u64> =
        (0..kernel.axes).map(|_| if random.chance(3) { 0 } else { random.pick(&sizes[1..]) }).collect();
    if let Some(last) = extents.last_mut().filter(|_| random.chance(20)) {
        *last = if random.chance(20) { 600 + random.below(5000) } else { 100 + random.below(500) } as u64;
        let others = extents.len() - 1;
        extents[..others].iter_mut().for_each(|e| *e = (*e).min(3));
    }
    let plain = random.chance(40);
    let layouts = (0..kernel.buffers.len()).map(|n| layout(kernel, n, &extents, plain, random)).collect();
    let params = kernel.params.iter().map(|&d| element(d, random).bits().0).collect();
    Call { extents, layouts, params, seed: random.next() }
}

/// Dense, or with the axes in another order, gaps, and backwards; what is only read may also stay in place along an axis.
fn layout(kernel: &Kernel, buffer: usize, extents: &[u64], plain: bool, random: &mut Random) -> Layout {
    let b = &kernel.buffers[buffer];
    let mut layout = Layout::dense(kernel, buffer, extents);
    layout.at_end = random.chance(60);
    layout.gap = if random.chance(30) { random.below(16) } else { 0 };
    if plain || random.chance(30) {
        return layout;
    }
    let mut order: Vec<usize> = (0..kernel.axes).filter(|&a| b.varies[a]).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    let size = b.dtype.size() as i64;
    let mut next = size;
    for axis in order {
        if !b.written && random.chance(15) {
            layout.strides[axis] = 0;
            continue;
        }
        // Also strides that are no multiple of the size.
        next += if random.chance(20) { random.below(9) as i64 } else { 0 };
        next *= if random.chance(30) { random.pick(&[2, 3, 4]) } else { 1 };
        layout.strides[axis] = if random.chance(20) { -next } else { next };
        next *= extents[axis].max(1) as i64;
    }
    layout
}

#[test]
fn random_kernels() {
    let count = std::env::var("CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let first = std::env::var("FIRST").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + count {
        let (kernel, mut random) = kernel(Random::new(seed));
        let calls: Vec<Call> = (0..3).map(|_| call(&kernel, &mut random)).collect();
        let done = std::panic::catch_unwind(|| same(&kernel, calls));
        assert!(done.is_ok(), "seed {seed}");
    }
}
