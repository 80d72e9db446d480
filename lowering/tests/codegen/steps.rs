//! Kernels with steps: carried values of all dtypes, in registers and beyond, rounds of any length, and
//! elements that are not adjacent.

use super::case::{Call, Layout, REAL, Random};
use super::same;
use rewright_ir::DType;
use rewright_lowering::internals::kernel::{Binary, Buffer, Compare, KOp, KValue, Kernel, KernelBuilder, Part, Steps};

/// Rows, points of the vector axis, and steps.
const AXES: usize = 3;

fn buffer(k: &mut KernelBuilder, dtype: DType, varies: [bool; AXES], written: bool) -> u32 {
    k.buffer(Buffer { dtype, written, varies: varies.into_iter().collect() })
}

/// A total after a step: `before + x * y`, with one rounding for floats, and exclusive or for bools.
fn next(k: &mut KernelBuilder, dtype: DType, before: KValue, x: KValue, y: KValue) -> KValue {
    match dtype {
        DType::Bool => {
            let both = k.binary(Binary::And, x, y);
            k.binary(Binary::Xor, before, both)
        }
        _ if dtype.is_float() => k.push(KOp::Fma, &[x, y, before], dtype),
        _ => {
            let product = k.binary(Binary::Mul, x, y);
            k.binary(Binary::Add, before, product)
        }
    }
}

/// `count` totals for each point. A total starts with an element of the point, or with a parameter. A step
/// combines it with a uniform element and one of the point, and stores a number. One value of the point is
/// carried unchanged.
fn kernel(dtype: DType, count: usize) -> Kernel {
    let (mut k, real) = (KernelBuilder::new(AXES), dtype.real());
    let parts = if dtype.is_complex() { vec![Part::Re, Part::Im] } else { vec![Part::Re] };
    let start = k.param(real);
    let wide = buffer(&mut k, dtype, [true, true, false], false);
    let right = buffer(&mut k, dtype, [false, true, true], false);
    let each = buffer(&mut k, DType::I64, [true, true, true], true);
    let lefts: Vec<u32> = (0..count).map(|_| buffer(&mut k, dtype, [true, false, true], false)).collect();
    let outs: Vec<u32> = (0..count).map(|_| buffer(&mut k, dtype, [true, true, false], true)).collect();
    let firsts: Vec<KValue> = parts.iter().map(|&part| k.load(wide, part)).collect();
    let mut steps = Steps { alike: vec![0, 1, 2], ..Steps::default() };
    steps.alike.extend(lefts.iter().map(|_| lefts[0]).chain(outs.iter().map(|_| outs[0])));
    let carry = |k: &mut KernelBuilder, steps: &mut Steps, first: KValue| {
        let dtype = k.dtype(first);
        let (before, last) = (k.undefined(dtype, AXES as u32), k.undefined(dtype, AXES as u32 - 1));
        steps.first.push(first);
        steps.before.push(before);
        steps.after.push(before);
        steps.last.push(last);
        before
    };
    carry(&mut k, &mut steps, firsts[0]);
    let at = k.index(AXES as u32 - 2);
    let at = carry(&mut k, &mut steps, at);
    let ys: Vec<KValue> = parts.iter().map(|&part| k.load(right, part)).collect();
    for &left in &lefts {
        for (n, &part) in parts.iter().enumerate() {
            let first = if n == 0 { start } else { firsts[n] };
            let before = carry(&mut k, &mut steps, first);
            let x = k.load(left, part);
            let after = next(&mut k, real, before, x, ys[n]);
            *steps.after.last_mut().expect("a value") = after;
        }
    }
    let step = k.index(AXES as u32 - 1);
    let sum = k.binary(Binary::Add, step, at);
    k.store(each, Part::Re, sum);
    let section = k.begin_section();
    let (passed, mut last) = (steps.last[0], steps.last[2..].iter().copied());
    let is_large = k.compare(Compare::Ne, passed, start);
    for &out in &outs {
        for &part in &parts {
            let value = last.next().expect("a value for each part");
            let stored = k.select(is_large, value, passed);
            k.store(out, part, stored);
        }
    }
    steps.end = k.end_section_of(section, AXES - 1);
    k.steps(steps);
    k.finish()
}

fn calls(kernel: &Kernel, random: &mut Random) -> Vec<Call> {
    let mut calls = Vec::new();
    for points in [1, 2, 7, 8, 9, 23, 24, 25, 50, 131] {
        let extents = vec![1 + random.below(2) as u64, points, random.pick(&[0, 1, 2, 5])];
        // Adjacent or not, in one direction or the other.
        let along = random.pick(&[1, 1, 1, 2, -1]);
        let layout = |b: usize| {
            let mut layout = Layout::dense(kernel, b, &extents);
            if !kernel.buffers[b].varies[AXES - 2] || random.chance(50) {
                layout.strides.iter_mut().for_each(|stride| *stride *= along);
            }
            if kernel.buffers[b].varies[..] == [false, true, true] {
                // The point is the last dim.
                layout.strides.swap(1, 2);
                layout.strides[1] = kernel.buffers[b].dtype.size() as i64 * along;
                layout.strides[2] = layout.strides[1] * points as i64;
            }
            Layout { at_end: b.is_multiple_of(2), ..layout }
        };
        let layouts = (0..kernel.buffers.len()).map(layout).collect();
        calls.push(Call { extents, layouts, params: vec![1; kernel.params.len()], seed: points });
    }
    calls
}

#[test]
fn points_of_the_vector_axis_run_their_steps_in_order() {
    let mut random = Random::new(7);
    for dtype in REAL.into_iter().chain([DType::C64, DType::C128]) {
        for count in [1, 3, 8, 40] {
            let kernel = kernel(dtype, count);
            let calls = calls(&kernel, &mut random);
            same(&kernel, calls);
        }
    }
}

#[test]
fn values_of_a_point_pass_steps_as_carried_values_only() {
    let mut k = KernelBuilder::new(2);
    let x = k.buffer(Buffer { dtype: DType::F64, written: false, varies: [true, false].into_iter().collect() });
    let out = k.buffer(Buffer { dtype: DType::F64, written: true, varies: [true, false].into_iter().collect() });
    let value = k.load(x, Part::Re);
    let section = k.begin_section();
    k.store(out, Part::Re, value);
    let end = k.end_section_of(section, 1);
    k.steps(Steps { end, alike: vec![0, 1], ..Steps::default() });
    let problem = k.finish().verify().expect_err("not carried").to_string();
    assert!(problem.contains("not carried"), "{problem}");
}
