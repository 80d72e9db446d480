//! Reductions of columns: their tiles, starts and orders, and which calls run a loop program.

#![allow(unsafe_code, reason = "a program is called with buffers of its own")]

use crate::support::every::Every;
use ndarray::{Array, Array2, Array3, s};
use rewright_ir::text::parse_module;
use rewright_ir::{DType, Datum, EvalErrorKind, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};
use rewright_lowering::internals::kernel::CodeGen;
use rewright_lowering::internals::program::{Lines, LoweredProgram, ProgramParam, Tiling, Variant, lower_program};
use rewright_lowering::internals::{Cranelift, Interp};
use std::num::NonZeroU32;

/// Columns fewer than a vector, a rest of one, several tiles.
const COLUMNS: [usize; 9] = [1, 2, 3, 7, 8, 33, 240, 241, 600];
/// Points of no block, a part of one, one, and several.
const POINTS: [usize; 7] = [0, 1, 2, 127, 128, 129, 700];

#[test]
fn columns_are_combined_on_every_backend() {
    let ops = ["sum", "prod", "min", "max", "any", "all"];
    for (n, op) in ops.into_iter().enumerate() {
        let dtypes = [DType::F64, DType::F32, DType::I64, DType::I8, DType::Bool, DType::C128, DType::U16];
        for dtype in dtypes.into_iter().filter(|dtype| !dtype.is_complex() || n < 2) {
            let of = |dtype: DType| match op {
                "any" | "all" => DType::Bool,
                "sum" | "prod" if dtype.is_bool() || dtype.is_signed() && dtype.is_int() => DType::I64,
                "sum" | "prod" if dtype.is_unsigned() => DType::U64,
                _ => dtype,
            };
            let text = format!(
                "func @f(%x: {dtype}[n, m], %y: {dtype}[l, n, m]) -> {0}[m], {0}[l, m], {0}[m] {{
entry:
  %0 = {op} %x, axes=[0]
  %1 = {op} %y, axes=[1]
  %2 = {op} %y, axes=[0, 1]
  ret %0, %1, %2
}}",
                of(dtype)
            );
            let f = Every::new(&text).all_kernels();
            for (m, n) in COLUMNS.into_iter().flat_map(|m| POINTS.map(|n| (m, n))).filter(|(m, n)| m * n <= 40_000) {
                let element = |at: usize| match op != "prod" && at % 97 == 5 {
                    true => Scalar::F64(f64::INFINITY).cast(dtype),
                    false => Scalar::F64((at * 37 % 101) as f64 / 8.0 - 3.0).cast(dtype),
                };
                let x = rewright_ir::Array::from_fn(dtype, &[n, m], element).unwrap();
                let y = rewright_ir::Array::from_fn(dtype, &[2, n, m], |at| element(at + 11)).unwrap();
                let found = f.outcome(&[(&x).into(), (&y).into()]);
                assert!(found.is_ok() || n == 0, "{op} {dtype} {n} x {m}: {found:?}");
            }
        }
    }
}

/// Views whose elements are adjacent or not along the last axis: the kernel or the program, with the same bits.
#[test]
fn strides_of_a_call_decide_and_change_no_bit() {
    let f = Every::new(
        "func @f(%x: f64[l, n, m]) -> f64[l, m], f64[m], f64[l, m] {
entry:
  %0 = sum %x, axes=[1]
  %1 = max %x, axes=[0, 1]
  %2 = exp %x
  %3 = sum %2, axes=[1]
  ret %0, %1, %3
}",
    )
    .all_kernels();
    let base = Array3::from_shape_fn((30, 300, 40), |(i, j, k)| ((i * 31 + j * 7 + k * 13) % 101) as f64 / 9.0 - 4.0);
    for shape in [[3, 200, 30], [1, 300, 1], [20, 5, 40], [2, 129, 17]] {
        let [l, n, m] = shape;
        let turned = Array3::from_shape_fn((m, l, n), |(k, i, j)| base[[i, j, k]]);
        let views = [
            base.slice(s![..l, ..n, ..m]),
            base.slice(s![..l;-1, ..n;-1, ..m]),
            base.slice(s![..l, ..n, ..m;-1]),
            turned.view().permuted_axes([1, 2, 0]),
        ];
        for view in views {
            let wanted = f.call(&[view.into()]);
            assert_eq!(f.call(&[(&view.to_owned()).into()]), wanted, "{shape:?}");
            // From the third call on, the cache of plans is used.
            for f in &f.0 {
                for _ in 0..4 {
                    assert!(f.call(&[view.into()]).unwrap()[..] == wanted[..], "{shape:?} {:?}", f.codegen());
                }
            }
        }
    }
}

/// The results of a program of column sums and maxima in a variant.
fn run(lowered: &LoweredProgram, codegen: &dyn CodeGen, x: &Array2<f64>) -> Vec<f64> {
    let compiled = codegen.compile_program(&lowered.program).expect("it compiles");
    let (n, m) = x.dim();
    let mut results = vec![f64::NAN; 2 * m];
    let (sums, greatest) = results.split_at_mut(m);
    let pointers = [x.as_ptr().cast::<u8>().cast_mut(), sums.as_mut_ptr().cast(), greatest.as_mut_ptr().cast()];
    let strides = [8 * m as i64, 8, 8, 8];
    let param = |param: &ProgramParam| match param {
        ProgramParam::SliceStart => 0,
        ProgramParam::Symbol(_) | ProgramParam::ArgExtent(0, 0) => n as u64,
        _ => m as u64,
    };
    let params: Vec<u64> = lowered.params.iter().map(param).collect();
    // SAFETY: the buffers are an operand and two results of these shapes, and the parameters are the extents.
    let status = unsafe { compiled.run(&[], &pointers, &strides, &params) };
    assert_eq!(status.failed, 0);
    results
}

/// Calls of large operands have other tiles. They change no bit.
#[test]
fn all_tiles_give_the_same_bits() {
    let text = "func @f(%x: f64[n, m]) -> f64[m], f64[m] {
entry:
  %0, %1 = arrayexpr [i: reduce n, j: m] (x = %x[i, j]) {
    yield x, x
  } reduce (sum f64) reduce (max f64) : f64[m], f64[m]
  ret %0, %1
}";
    let module = parse_module(text, "given").unwrap();
    let func = module.functions().next().unwrap();
    let inst = func.blocks().flat_map(|block| func.insts(block)).next().unwrap();
    let data = func.inst(inst);
    let types: Vec<_> = data.args.iter().map(|&arg| func.ty(arg).clone()).collect();
    let program = |tiling| {
        lower_program(data.attrs.expr().unwrap(), &types, Variant { tiling, ..Variant::default() }).expect("valid")
    };
    let cranelift = Cranelift::new().unwrap();
    let mut codegens: Vec<Box<dyn CodeGen>> = vec![Box::new(cranelift)];
    #[cfg(target_arch = "x86_64")]
    for level in [rewright_lowering::internals::x64::Level::Avx2, rewright_lowering::internals::x64::Level::Avx512] {
        codegens.extend(
            rewright_lowering::internals::x64::X64::at(level).ok().map(|x64| Box::new(x64) as Box<dyn CodeGen>),
        );
    }
    for (n, m) in [(1, 5), (127, 300), (128, 1), (300, 241), (1000, 17), (40, 5000), (9, 20_000)] {
        let x = Array2::from_shape_fn((n, m), |(i, j)| ((i * 7919 + j * 104_729) % 1009) as f64 / 3.0 - 100.0);
        let wanted = run(&program(Tiling::Columns), &Interp, &x);
        for tiling in [Tiling::Columns, Tiling::Lines(Lines::One), Tiling::Lines(Lines::Several)] {
            let program = program(tiling);
            for codegen in &codegens {
                assert_eq!(run(&program, &**codegen, &x), wanted, "{tiling:?} {} {n} x {m}", codegen.name());
            }
        }
    }
}

#[test]
fn a_maximum_of_no_points_is_an_error() {
    let f = Every::new("func @f(%x: i64[n, m]) -> i64[m] {\nentry:\n  %0 = max %x, axes=[0]\n  ret %0\n}");
    let call = |n: usize, m: usize| f.outcome(&[(&Array::<i64, _>::zeros((n, m))).into()]);
    // The kernel, and from the first result on the program.
    for _ in 0..2 {
        assert_eq!(call(0, 3).unwrap_err().kind, EvalErrorKind::Value);
        let Datum::Array(empty) = &call(0, 0).unwrap().results[0] else { panic!("no array") };
        assert_eq!(empty.len(), 0);
        assert!(call(4, 0).is_ok() && call(1, 3).is_ok());
    }
}

/// Threads share columns, a number of them each, and change no bit.
#[test]
fn threads_share_columns() {
    let text = "func @f(%x: f64[n, m]) -> f64[m] {\nentry:\n  %0 = sum %x, axes=[0]\n  ret %0\n}";
    let module = parse_module(text, "given").unwrap();
    let compiled = |threads| {
        let options = Options { backend: Backend::Auto, threads: NonZeroU32::new(threads), ..Options::default() };
        Executable::compile(&module, "f", options).unwrap()
    };
    let all: Vec<Executable> = (1..=4).map(compiled).collect();
    for (n, m) in [(100_000, 5), (3000, 1000), (40_000, 130), (500, 6000)] {
        let x = Array2::from_shape_fn((n, m), |(i, j)| ((i * 31 + j * 17) % 257) as f64 / 7.0);
        let wanted = all[0].call(&[Arg::from(&x)]).unwrap();
        for f in all.iter().flat_map(|f| [f; 3]) {
            assert!(f.call(&[Arg::from(&x)]).unwrap()[..] == wanted[..], "{n} x {m}");
        }
    }
}
