//! The code generator `cranelift` against the interpreter of kernel IR: same bits, on every operation, dtype and layout.

#![allow(unsafe_code, reason = "calling compiled kernels")]

mod arena;
mod case;

use case::{Call, Layout};
use rewright_ir::{DType, Scalar};
use rewright_lowering::cranelift::Cranelift;
use rewright_lowering::kernel::{Binary, Buffer, CodeGen, KernelBuilder, Part};

#[test]
fn two_a_plus_three_b() {
    let mut k = KernelBuilder::new(2);
    let read = |varies: [bool; 2]| Buffer { dtype: DType::F64, written: false, varies: varies.into_iter().collect() };
    let (a, b) = (k.buffer(read([true, true])), k.buffer(read([false, true])));
    let out = k.buffer(Buffer { dtype: DType::F64, written: true, varies: [true, true].into_iter().collect() });
    let (two, three) = (k.constant(Scalar::F64(2.0)), k.constant(Scalar::F64(3.0)));
    let (x, y) = (k.load(a, Part::Re), k.load(b, Part::Re));
    let (x, y) = (k.binary(Binary::Mul, two, x), k.binary(Binary::Mul, three, y));
    let sum = k.binary(Binary::Add, x, y);
    k.store(out, Part::Re, sum);
    let kernel = k.finish();
    let code = Cranelift::new().unwrap().compile(&kernel).unwrap();
    let extents = vec![3, 5];
    let layouts = (0..3).map(|n| Layout::dense(&kernel, n, &extents)).collect();
    let call = Call { extents, layouts, params: vec![], seed: 1 };
    let outcome = case::run(&kernel, &*code, &call);
    println!("{}", code.disassembly().unwrap());
    let get = |n: usize, i: usize| {
        let m = &outcome.memory[n];
        let at = m.len() - [120, 40, 120][n] + i * 8;
        f64::from_le_bytes(m[at..at + 8].try_into().unwrap())
    };
    for i in 0..15 {
        let want = 2.0 * get(0, i) + 3.0 * get(1, i % 5);
        assert!(get(2, i) == want || want.is_nan() && get(2, i).is_nan());
    }
}
