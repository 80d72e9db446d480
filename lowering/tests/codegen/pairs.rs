//! Complex elements: what kernels do with their parts, and wherever these are in memory.

use super::case::{Call, Layout, Random};
use super::same;
use rewright_ir::expr::Order;
use rewright_ir::{DType, Scalar};
use rewright_lowering::internals::kernel::{
    Binary, Buffer, Compare, KOp, KValue, Kernel, KernelBuilder, MathCall, MathPtr, Part,
};

const COMPLEX: [DType; 2] = [DType::C64, DType::C128];
const PARTS: [Part; 2] = [Part::Re, Part::Im];

fn buffer(k: &mut KernelBuilder, dtype: DType, written: bool) -> u32 {
    let varies = (0..k.axes()).map(|_| true).collect();
    k.buffer(Buffer { dtype, written, varies })
}

fn loaded(k: &mut KernelBuilder, dtype: DType) -> [KValue; 2] {
    let a = buffer(k, dtype, false);
    PARTS.map(|part| k.load(a, part))
}

fn product(k: &mut KernelBuilder, [a, b]: [KValue; 2], [c, d]: [KValue; 2]) -> [KValue; 2] {
    let mut times = |x, y| k.binary(Binary::Mul, x, y);
    let (ac, bd, ad, bc) = (times(a, c), times(b, d), times(a, d), times(b, c));
    [k.binary(Binary::Sub, ac, bd), k.binary(Binary::Add, ad, bc)]
}

fn stored(k: &mut KernelBuilder, dtype: DType, parts: [KValue; 2]) {
    let out = buffer(k, dtype, true);
    PARTS.into_iter().zip(parts).for_each(|(part, value)| k.store(out, part, value));
}

/// Calls with rows of all lengths around those of groups and rounds: dense ones at the start and at the end of their memory, and others.
fn calls(kernel: &Kernel, lengths: impl IntoIterator<Item = u64>) -> Vec<Call> {
    let mut random = Random::new(11);
    let mut calls = Vec::new();
    for n in lengths {
        for shape in 0..6 {
            let extents = [vec![3; kernel.axes - 1], vec![n]].concat();
            let mut layouts: Vec<Layout> =
                (0..kernel.buffers.len()).map(|b| Layout::dense(kernel, b, &extents)).collect();
            let chosen = random.below(layouts.len());
            match shape {
                0 => {}
                1 => layouts.iter_mut().for_each(|l| l.at_end = false),
                2 => layouts.iter_mut().enumerate().for_each(|(b, l)| (l.at_end, l.gap) = (false, 4 * b + 4)),
                // Backwards, one element of two, and the same one everywhere.
                3 => layouts[chosen].strides.iter_mut().for_each(|s| *s = -*s),
                4 => layouts[chosen].strides.iter_mut().for_each(|s| *s *= 2),
                _ if kernel.buffers[chosen].written => {}
                _ => layouts[chosen].strides.fill(0),
            }
            calls.push(Call { extents, layouts, params: vec![], seed: random.next() });
        }
    }
    calls
}

fn lengths() -> impl Iterator<Item = u64> {
    (1..19).chain([31, 32, 33, 65, 129, 300, 2100])
}

#[test]
fn products() {
    for dtype in COMPLEX {
        let mut k = KernelBuilder::new(1);
        let (a, b) = (loaded(&mut k, dtype), loaded(&mut k, dtype));
        let c = product(&mut k, a, b);
        stored(&mut k, dtype, c);
        let kernel = k.finish();
        same(&kernel, calls(&kernel, lengths()));
    }
}

#[test]
fn one_part_is_read_or_written() {
    for dtype in COMPLEX {
        for part in PARTS {
            let mut k = KernelBuilder::new(1);
            let (a, out) = (buffer(&mut k, dtype, false), buffer(&mut k, dtype.real(), true));
            let x = k.load(a, part);
            k.store(out, Part::Re, x);
            let kernel = k.finish();
            same(&kernel, calls(&kernel, [1, 2, 3, 5, 8, 13, 17, 31, 33, 66, 1300]));

            // The other part stays what it is; the second result has the parts exchanged, the imaginary one first.
            let mut k = KernelBuilder::new(1);
            let [re, im] = loaded(&mut k, dtype);
            let [out, swapped] = [(); 2].map(|()| buffer(&mut k, dtype, true));
            k.store(out, part, re);
            k.store(swapped, Part::Im, re);
            k.store(swapped, Part::Re, im);
            let kernel = k.finish();
            same(&kernel, calls(&kernel, [1, 2, 3, 5, 8, 13, 17, 31, 33, 66, 1300]));
        }
    }
}

#[test]
fn other_dtypes_beside() {
    for dtype in COMPLEX {
        for other in [DType::Bool, DType::U8, DType::I16, DType::F32, DType::F64] {
            let mut k = KernelBuilder::new(1);
            let a = loaded(&mut k, dtype);
            let b = buffer(&mut k, other, false);
            let b = k.load(b, Part::Re);
            let wide = k.convert(b, DType::F64);
            let factor = k.convert(wide, dtype.real());
            let index = k.index(0);
            let place = k.convert(index, dtype.real());
            let c = product(&mut k, a, [factor, place]);
            stored(&mut k, dtype, c);
            let less = k.compare(Compare::Lt, c[0], c[1]);
            let out = buffer(&mut k, other, true);
            let [zero, one] = [Scalar::zero(other), Scalar::one(other)].map(|s| k.constant(s));
            let chosen = k.select(less, one, zero);
            k.store(out, Part::Re, chosen);
            let kernel = k.finish();
            same(&kernel, calls(&kernel, [1, 2, 3, 5, 8, 13, 17, 31, 33, 66, 1300]));
        }
    }
}

#[test]
fn around_calls() {
    extern "C" fn half(x: f64) -> f64 {
        x / 2.0
    }
    let half = MathCall { name: "half", ptr: MathPtr::F64x1(half) };
    for dtype in COMPLEX {
        let mut k = KernelBuilder::new(2);
        let a = loaded(&mut k, dtype);
        let b = loaded(&mut k, dtype);
        let c = product(&mut k, a, b);
        let wide = c.map(|part| k.convert(part, DType::F64));
        let called = k.push(KOp::Math(half), &[wide[0]], DType::F64);
        let seldom = k.compare(Compare::Lt, called, wide[1]);
        let called = k.push(KOp::MathWhere(half), &[seldom, wide[1], called], DType::F64);
        stored(&mut k, DType::C128, [called, wide[0]]);
        stored(&mut k, dtype, b);
        let kernel = k.finish();
        same(&kernel, calls(&kernel, (1..20).chain([70])));
    }
}

#[test]
fn rows_combined() {
    for (dtype, order) in COMPLEX.into_iter().flat_map(|dtype| {
        let few =
            |lanes| Order::Tree { lanes, leaf: 8 * lanes, apart: (lanes / 2).max(1), part: 16 * lanes, block: 128 };
        [Order::PAIRWISE_COMPLEX, Order::PAIRWISE, Order::Sequential, few(1), few(2), few(4)]
            .map(|order| (dtype, order))
    }) {
        for multiplies in [false, true].into_iter().take(1 + usize::from(order == Order::PAIRWISE_COMPLEX)) {
            let mut k = KernelBuilder::new(2);
            let real = dtype.real();
            let items = loaded(&mut k, dtype);
            let [left, right] = [(); 2].map(|()| [(); 2].map(|()| k.undefined(real, 2)));
            let totals = [(); 2].map(|()| k.undefined(real, 1));
            let section = k.begin_section();
            let ops = [if multiplies { Binary::Mul } else { Binary::Add }, Binary::Add];
            let both = [0, 1].map(|n| k.binary(ops[n], left[n], right[n]));
            let combine = k.end_section(section);
            let section = k.begin_section();
            let varies = [true, false].into_iter().collect();
            let out = k.buffer(Buffer { dtype, written: true, varies });
            PARTS.into_iter().zip(totals).for_each(|(part, total)| k.store(out, part, total));
            let after = k.end_section(section);
            let neutral = [if multiplies { 1.0 } else { -0.0 }, -0.0];
            let neutral = neutral.map(|x| Scalar::F64(x).cast(real).bits().0).to_vec();
            let [items, left, right, both, totals] = [items, left, right, both, totals].map(Vec::from);
            k.fold(super::fold((order, false), [items, left, right, both, totals], neutral, [combine, after]));
            let kernel = k.finish();
            let mut calls = calls(&kernel, [1, 2, 3, 5, 8, 13, 17, 33, 66, 300]);
            // As many rows as several at once are computed of, and more.
            for (rows, n) in [(2, 5), (7, 16), (8, 3), (9, 8), (19, 15), (40, 1)] {
                let extents = vec![rows, n];
                let layouts = (0..2).map(|b| Layout::dense(&kernel, b, &extents)).collect();
                calls.push(Call { extents, layouts, params: vec![], seed: rows });
            }
            same(&kernel, calls);
        }
    }
}
