use super::*;
use crate::kernel::{Binary, Buffer, Compare, KernelBuilder, Status, Unary};
use rewright_ir::{Attrs, Loc, registry};
use smallvec::smallvec;

fn read_buffer(dtype: DType, varies: &[bool]) -> Buffer {
    Buffer { dtype, written: false, varies: varies.into() }
}
fn written(dtype: DType, varies: &[bool]) -> Buffer {
    Buffer { dtype, written: true, varies: varies.into() }
}

/// Calls a kernel. The strides are in bytes, buffer by buffer.
fn call(kernel: &Kernel, extents: &[u64], pointers: &[*mut u8], strides: &[i64], params: &[u64]) -> Status {
    let code = Interp.compile(kernel).unwrap();
    assert_eq!(pointers.len() * extents.len(), strides.len());
    // SAFETY: the arrays of each test have all elements that its extents and strides reach.
    unsafe { code.run(extents, pointers, strides, params) }
}

fn address<T>(of: &mut [T], at: usize) -> *mut u8 {
    of[at..].as_mut_ptr().cast()
}

#[test]
fn outer_values_are_those_of_the_row() {
    let mut k = KernelBuilder::new(2);
    let row = k.buffer(read_buffer(DType::F64, &[true, false]));
    let all = k.buffer(read_buffer(DType::F64, &[true, true]));
    let out = k.buffer(written(DType::F64, &[true, true]));
    let r = k.load(row, Part::Re);
    let root = k.unary(Unary::Sqrt, r);
    let x = k.load(all, Part::Re);
    let sum = k.binary(Binary::Add, root, x);
    k.store(out, Part::Re, sum);
    let kernel = k.finish();
    let (mut row, mut all, mut out) = ([4.0, 9.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0; 6]);
    // The columns of `all` are read backwards, and the result is written transposed.
    let pointers = [address(&mut row, 0), address(&mut all, 2), address(&mut out, 0)];
    let status = call(&kernel, &[2, 3], &pointers, &[8, 0, 24, -8, 8, 16], &[]);
    assert_eq!(status.failed, 0);
    assert_eq!(out, [5.0, 9.0, 4.0, 8.0, 3.0, 7.0]);
}

#[test]
fn complex_parts_params_and_indices() {
    let mut k = KernelBuilder::new(1);
    let z = k.buffer(read_buffer(DType::C64, &[true]));
    let out = k.buffer(written(DType::C64, &[true]));
    let factor = k.param(DType::F32);
    let i = k.index(0);
    let i = k.convert(i, DType::F32);
    let (re, im) = (k.load(z, Part::Re), k.load(z, Part::Im));
    let scaled = k.binary(Binary::Mul, im, factor);
    let moved = k.binary(Binary::Add, re, i);
    k.store(out, Part::Re, scaled);
    k.store(out, Part::Im, moved);
    let kernel = k.finish();
    let (mut z, mut out) = ([1.0f32, 2.0, 3.0, 4.0], [0.0f32; 4]);
    let pointers = [address(&mut z, 0), address(&mut out, 0)];
    call(&kernel, &[2], &pointers, &[8, 8], &[10f32.to_bits() as u64]);
    assert_eq!(out, [20.0, 1.0, 40.0, 4.0]);
}

#[test]
fn an_extent_of_0_runs_nothing() {
    let mut k = KernelBuilder::new(2);
    let out = k.buffer(written(DType::U8, &[true, true]));
    let one = k.constant(Scalar::U8(1));
    k.store(out, Part::Re, one);
    let kernel = k.finish();
    let mut out = [7u8; 4];
    for extents in [[0, 4], [4, 0]] {
        call(&kernel, &extents, &[address(&mut out, 0)], &[1, 1], &[]);
        assert_eq!(out, [7; 4]);
    }
    call(&kernel, &[2, 2], &[address(&mut out, 0)], &[2, 1], &[]);
    assert_eq!(out, [1; 4]);
}

#[test]
fn a_failing_op_stops_the_kernel_and_says_where() {
    let mut k = KernelBuilder::new(1);
    let (x, n) = (k.buffer(read_buffer(DType::I32, &[true])), k.buffer(read_buffer(DType::I32, &[true])));
    let out = k.buffer(written(DType::I32, &[true]));
    let (a, b) = (k.load(x, Part::Re), k.load(n, Part::Re));
    k.set_loc(Loc { line: 12, ..Loc::default() });
    let reference = Reference {
        op: registry().op("power").unwrap(),
        attrs: Attrs::new(),
        args: smallvec![DType::I32; 2],
        results: smallvec![DType::I32],
    };
    let power = k.push(KOp::Reference(Box::new(reference)), &[a, b], DType::I32);
    k.store(out, Part::Re, power);
    let kernel = k.finish();
    let (mut x, mut n, mut out) = ([2, 3, 5], [10, -1, 2], [0; 3]);
    let pointers = [address(&mut x, 0), address(&mut n, 0), address(&mut out, 0)];
    let status = call(&kernel, &[3], &pointers, &[4; 3], &[]);
    assert_eq!(out, [1024, 0, 0]);
    assert_eq!(kernel.insts[status.failed as usize - 1].first, power);
    let error = status.error.unwrap();
    assert_eq!((error.op, error.loc.line), (Some("power"), 12));
}

/// The value of one instruction on constants.
fn one(op: KOp, args: &[Scalar], dtype: DType) -> Scalar {
    let mut k = KernelBuilder::new(0);
    let out = k.buffer(written(dtype, &[]));
    let values: Vec<_> = args.iter().map(|&a| k.constant(a)).collect();
    let result = k.push(op, &values, dtype);
    k.store(out, Part::Re, result);
    let mut word = [0u64; 1];
    call(&k.finish(), &[], &[address(&mut word, 0)], &[], &[]);
    Scalar::from_bits(dtype, (word[0], 0))
}

#[test]
fn integers_are_total() {
    let i8s = |op, a, b| one(KOp::Binary(op), &[Scalar::I8(a), Scalar::I8(b)], DType::I8);
    assert_eq!(i8s(Binary::Quot, -128, -1), Scalar::I8(-128));
    assert_eq!(i8s(Binary::Quot, -7, 2), Scalar::I8(-3));
    assert_eq!(i8s(Binary::Quot, 5, 0), Scalar::I8(0));
    assert_eq!(i8s(Binary::Rem, -7, 2), Scalar::I8(-1));
    assert_eq!(i8s(Binary::Rem, -128, -1), Scalar::I8(0));
    assert_eq!(i8s(Binary::Rem, 5, 0), Scalar::I8(0));
    assert_eq!(i8s(Binary::Shl, 1, 7), Scalar::I8(-128));
    assert_eq!(i8s(Binary::Shl, 1, 8), Scalar::I8(0));
    assert_eq!(i8s(Binary::Shl, 1, -1), Scalar::I8(0));
    assert_eq!(i8s(Binary::Shr, -128, 7), Scalar::I8(-1));
    assert_eq!(i8s(Binary::Shr, -5, 100), Scalar::I8(-1));
    assert_eq!(i8s(Binary::Shr, 5, -1), Scalar::I8(0));
    assert_eq!(i8s(Binary::Add, 127, 1), Scalar::I8(-128));
    let u64s = |op, a, b| one(KOp::Binary(op), &[Scalar::U64(a), Scalar::U64(b)], DType::U64);
    assert_eq!(u64s(Binary::Shr, u64::MAX, 63), Scalar::U64(1));
    assert_eq!(u64s(Binary::Shr, u64::MAX, 1 << 32), Scalar::U64(0));
    assert_eq!(u64s(Binary::Max, u64::MAX, 1), Scalar::U64(u64::MAX));
    assert_eq!(one(KOp::Unary(Unary::Abs), &[Scalar::I8(-128)], DType::I8), Scalar::I8(-128));
    assert_eq!(one(KOp::Unary(Unary::LeadingZeros), &[Scalar::I16(0)], DType::I16), Scalar::I16(16));
    assert_eq!(one(KOp::Unary(Unary::PopCount), &[Scalar::I8(-1)], DType::I8), Scalar::I8(8));
}

#[test]
fn floats_are_ieee() {
    let unary = |op, x: f64| one(KOp::Unary(op), &[x.into()], DType::F64);
    assert_eq!(unary(Unary::Rint, 2.5), Scalar::F64(2.0));
    assert_eq!(unary(Unary::Rint, -0.5), Scalar::F64(-0.0));
    assert_eq!(unary(Unary::Ceil, -0.5), Scalar::F64(-0.0));
    assert_eq!(unary(Unary::Neg, 0.0), Scalar::F64(-0.0));
    let nan = Scalar::F64(f64::NAN);
    for (op, answer) in [(Compare::Eq, false), (Compare::Ne, true), (Compare::Lt, false), (Compare::Le, false)] {
        assert_eq!(one(KOp::Compare(op), &[nan, nan], DType::Bool), Scalar::Bool(answer), "{op:?}");
    }
    assert_eq!(one(KOp::Convert, &[nan], DType::I64), Scalar::I64(0));
    assert_eq!(one(KOp::Convert, &[300.7.into()], DType::U8), Scalar::U8(255));
    assert_eq!(one(KOp::Convert, &[Scalar::I32(-1)], DType::U64), Scalar::U64(u64::MAX));
    assert_eq!(one(KOp::Bitcast, &[Scalar::F32(1.0)], DType::U32), Scalar::U32(0x3f80_0000));
    let third = Scalar::F64(1.0 / 3.0);
    let rest = one(KOp::Fma, &[third, Scalar::F64(3.0), Scalar::F64(-1.0)], DType::F64);
    assert_eq!(rest, Scalar::F64(-f64::EPSILON / 4.0), "the product is not rounded");
}
