//! Rows whose elements are not adjacent, which are copied to be computed: of all sizes, back and forth, from the first byte of their memory or up to the last.

use super::case::{Call, Layout};
use super::{fold, same};
use rewright_ir::expr::Order;
use rewright_ir::{DType, Scalar};
use rewright_lowering::internals::kernel::{Binary, Buffer, Kernel, KernelBuilder, Part};

const DTYPES: [DType; 6] = [DType::U8, DType::I16, DType::F32, DType::F64, DType::C64, DType::C128];

fn buffer(k: &mut KernelBuilder, dtype: DType, varies: [bool; 2], written: bool) -> u32 {
    k.buffer(Buffer { dtype, written, varies: varies.into_iter().collect() })
}

fn parts(dtype: DType) -> Vec<Part> {
    if dtype.is_complex() { vec![Part::Re, Part::Im] } else { vec![Part::Re] }
}

/// Two arrays into a third one, with as many constants as stay in registers.
fn pointwise(dtype: DType) -> Kernel {
    let mut k = KernelBuilder::new(2);
    let [a, b] = [(); 2].map(|()| buffer(&mut k, dtype, [true; 2], false));
    let out = buffer(&mut k, dtype, [true; 2], true);
    for part in parts(dtype) {
        let (x, y) = (k.load(a, part), k.load(b, part));
        let mut z = k.binary(Binary::Sub, x, y);
        for n in 1..6 {
            let constant = k.constant(Scalar::I64(n).cast(dtype.real()));
            let times = k.binary(Binary::Mul, y, constant);
            z = k.binary(Binary::Add, z, times);
        }
        k.store(out, part, z);
    }
    k.finish()
}

/// Sums of an array, and of it and another one, in registers from piece to piece.
fn sums(dtype: DType) -> Kernel {
    let mut k = KernelBuilder::new(2);
    let [a, b] = [(); 2].map(|()| buffer(&mut k, dtype, [true; 2], false));
    let (x, y) = (k.load(a, Part::Re), k.load(b, Part::Re));
    let items = vec![x, k.binary(Binary::Sub, x, y)];
    let [left, right] = [(); 2].map(|()| [(); 2].map(|()| k.undefined(dtype.real(), 2)).to_vec());
    let totals = [(); 2].map(|()| k.undefined(dtype.real(), 1)).to_vec();
    let section = k.begin_section();
    let both = [0, 1].map(|n| k.binary(Binary::Add, left[n], right[n])).to_vec();
    let combine = k.end_section(section);
    let section = k.begin_section();
    for &total in &totals {
        let out = buffer(&mut k, dtype.real(), [true, false], true);
        k.store(out, Part::Re, total);
    }
    let after = k.end_section(section);
    let order = match dtype.size() {
        _ if dtype.is_complex() => Order::PAIRWISE_COMPLEX,
        4 => Order::PAIRWISE_NARROW,
        _ => Order::PAIRWISE,
    };
    let neutral = [if dtype.is_float() { Scalar::F64(-0.0) } else { Scalar::I64(0) }; 2];
    let neutral = neutral.map(|zero| zero.cast(dtype.real()).bits().0).to_vec();
    let whole = !dtype.is_float() && !dtype.is_complex();
    k.fold(fold((order, whole), [items, left, right, both, totals], neutral, [combine, after]));
    k.finish()
}

/// Rows of so many elements, each array by steps of its own.
fn calls(kernel: &Kernel, lengths: &[u64]) -> Vec<Call> {
    let steps = [1, 2, -1, 3, -2, 4];
    let mut calls = Vec::new();
    for &n in lengths {
        for (number, first) in steps.into_iter().enumerate() {
            let extents = vec![2, n];
            let layout = |b: usize| {
                let mut layout = Layout::dense(kernel, b, &extents);
                let along = if b == 0 { first } else { steps[(number + b) % steps.len()] };
                layout.strides.iter_mut().for_each(|stride| *stride *= along);
                Layout { at_end: (number + b + n as usize).is_multiple_of(2), ..layout }
            };
            let layouts = (0..kernel.buffers.len()).map(layout).collect();
            calls.push(Call { extents, layouts, params: vec![], seed: n });
        }
    }
    calls
}

#[test]
fn copied_rows_are_all_there_and_nothing_else_is_touched() {
    let lengths: Vec<u64> =
        (1..=9).chain([15, 16, 17, 18, 31, 32, 33, 34, 65, 66, 129, 130, 1025, 1026, 2049]).collect();
    for dtype in DTYPES {
        for kernel in [pointwise(dtype), sums(dtype)] {
            same(&kernel, calls(&kernel, &lengths));
        }
    }
}
