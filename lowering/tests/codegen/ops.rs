//! Every operation at every dtype, on special values.

use super::case::{Call, Layout, REAL, Random};
use super::random::NUMBERS;
use super::same;
use rewright_ir::{DType, Scalar};
use rewright_lowering::internals::kernel::{Binary, Buffer, Compare, KOp, KernelBuilder, Part, Unary};

/// `out = op(a, b, c)` along one axis, long enough for all kinds of rounds, against other elements; the last operand also the same everywhere.
fn one_op(op: KOp, operands: &[DType], result: DType) {
    for uniform in [false, true] {
        let mut k = KernelBuilder::new(1);
        let mut args = Vec::new();
        for (n, &dtype) in operands.iter().enumerate() {
            let varies = !(uniform && n + 1 == operands.len());
            let buffer = k.buffer(Buffer { dtype, written: false, varies: [varies].into_iter().collect() });
            args.push(k.load(buffer, Part::Re));
        }
        let out = k.buffer(Buffer { dtype: result, written: true, varies: [true].into_iter().collect() });
        let value = k.push(op.clone(), &args, result);
        k.store(out, Part::Re, value);
        let kernel = k.finish();
        let mut random = Random::new(1);
        let calls = (0..if uniform { 40 } else { 4 }).map(|_| {
            let extents = vec![if uniform { 150 } else { 400 }];
            let layouts = (0..=operands.len()).map(|n| Layout::dense(&kernel, n, &extents)).collect();
            Call { extents, layouts, params: vec![], seed: random.next() }
        });
        same(&kernel, calls);
    }
}

#[test]
fn unary() {
    for dtype in REAL {
        let ops: &[Unary] = match dtype {
            DType::Bool => &[Unary::Not],
            DType::F32 | DType::F64 => {
                &[Unary::Neg, Unary::Abs, Unary::Sqrt, Unary::Floor, Unary::Ceil, Unary::Trunc, Unary::Rint]
            }
            _ => &[Unary::Neg, Unary::Abs, Unary::Not, Unary::PopCount, Unary::LeadingZeros],
        };
        ops.iter().for_each(|&op| one_op(KOp::Unary(op), &[dtype], dtype));
    }
}

#[test]
fn binary() {
    use Binary::*;
    for dtype in REAL {
        let ops: &[Binary] = match dtype {
            DType::Bool => &[And, Or, Xor],
            DType::F32 | DType::F64 => &[Add, Sub, Mul, Div, CopySign, Min, Max],
            _ => &[Add, Sub, Mul, Quot, Rem, And, Or, Xor, Shl, Shr, Min, Max],
        };
        ops.iter().for_each(|&op| one_op(KOp::Binary(op), &[dtype, dtype], dtype));
    }
}

#[test]
fn comparisons() {
    for dtype in REAL {
        for op in [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le] {
            one_op(KOp::Compare(op), &[dtype, dtype], DType::Bool);
        }
    }
}

#[test]
fn select() {
    REAL.into_iter().for_each(|dtype| one_op(KOp::Select, &[DType::Bool, dtype, dtype], dtype));
}

#[test]
fn fused_multiply_add() {
    [DType::F32, DType::F64].into_iter().for_each(|dtype| one_op(KOp::Fma, &[dtype; 3], dtype));
}

#[test]
fn significands() {
    [DType::F32, DType::F64].into_iter().for_each(|dtype| one_op(KOp::Unary(Unary::Significand), &[dtype], dtype));
}

/// Of numbers that are not negative, which have one.
#[test]
fn exponents() {
    for dtype in [DType::F32, DType::F64] {
        let mut k = KernelBuilder::new(1);
        let [a, out] =
            [false, true].map(|written| k.buffer(Buffer { dtype, written, varies: [true].into_iter().collect() }));
        let a = k.load(a, Part::Re);
        let x = k.unary(Unary::Abs, a);
        let m = k.unary(Unary::Significand, x);
        let value = k.binary(Binary::Exponent, x, m);
        k.store(out, Part::Re, value);
        let kernel = k.finish();
        let extents = vec![1000];
        let layouts = (0..2).map(|n| Layout::dense(&kernel, n, &extents)).collect();
        same(&kernel, [Call { extents, layouts, params: vec![], seed: 5 }]);
    }
}

/// The index is what the low four bits are, whatever the others.
#[test]
fn choices() {
    one_op(KOp::Choose(&NUMBERS), &[DType::U64], DType::F64);
    one_op(KOp::Choose(&NUMBERS), &[DType::U32], DType::F32);
}

/// Powers up to twice the bias of exponents, of numbers of moderate size.
#[test]
fn products_with_powers_of_two() {
    for (dtype, most, moderate) in [(DType::F64, 2046.0, 500), (DType::F32, 254.0, 60)] {
        let mut k = KernelBuilder::new(1);
        let buffer = |written| Buffer { dtype, written, varies: [true].into_iter().collect() };
        let [a, b, out] = [false, false, true].map(|written| k.buffer(buffer(written)));
        let (a, b) = (k.load(a, Part::Re), k.load(b, Part::Re));
        let mut constant = |c: f64| k.constant(Scalar::F64(c).cast(dtype));
        let (least, most) = (constant(-most), constant(most));
        let (small, large) = (constant(2f64.powi(-moderate)), constant(2f64.powi(moderate)));
        let (eight, eighth) = (constant(8.0), constant(1.0 / 8.0));
        let within = |k: &mut KernelBuilder, v, least, most| {
            let v = k.binary(Binary::Max, v, least);
            k.binary(Binary::Min, v, most)
        };
        let size = k.unary(Unary::Abs, a);
        let size = within(&mut k, size, small, large);
        let x = k.binary(Binary::CopySign, size, a);
        let power = within(&mut k, b, least, most);
        // In eighths, which are rounded down.
        let eighths = k.binary(Binary::Mul, power, eight);
        let whole = k.unary(Unary::Rint, eighths);
        let power = k.binary(Binary::Mul, whole, eighth);
        let value = k.binary(Binary::Scale, x, power);
        k.store(out, Part::Re, value);
        let kernel = k.finish();
        let extents = vec![400];
        let layouts = (0..3).map(|n| Layout::dense(&kernel, n, &extents)).collect();
        same(&kernel, [Call { extents, layouts, params: vec![], seed: 5 }]);
    }
}

#[test]
fn conversions() {
    for from in REAL {
        for to in REAL.into_iter().filter(|&to| to != from) {
            one_op(KOp::Convert, &[from], to);
        }
    }
}

#[test]
fn bitcasts() {
    for from in REAL {
        for to in REAL.into_iter().filter(|&to| to.size() == from.size()) {
            one_op(KOp::Bitcast, &[from], to);
        }
    }
}
