//! Results in buffers of the caller's: any strides, checked against the result types, right where they overlap arguments.

#![allow(unsafe_code, reason = "buffers that overlap arguments are made from raw parts")]

use ndarray::{Array0, Array1, Array2, s};
use rewright_ir::text::parse_module;
use rewright_ir::{DType, Scalar};
use rewright_lowering::exec::{Backend, Executable, Options, ViewMut};

fn compile(text: &str, backend: Backend) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{e}"));
    let name = module.functions().next().unwrap().name;
    Executable::compile(&module, name, Options { backend, ..Options::default() }).unwrap()
}

/// Runs a check by every backend.
fn each(text: &str, check: impl Fn(&Executable)) {
    for backend in Backend::available() {
        check(&compile(text, backend));
    }
}

const PAIR: &str = "func @f(%x: f64[n, m], %k: f64) -> f64[n, m], f64 {
  entry:
    %y = add %x, %k
    %z = mul %k, 2.0
    ret %y, %z
  }";

#[test]
fn results_go_to_any_strides() {
    each(PAIR, |f| {
        let x = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f64);
        let want = &x + 0.5;
        let mut z = Array0::from_elem((), 0.0);
        let mut rows = Array2::from_elem((3, 4), -1.0);
        f.call_into(&[(&x).into(), 0.5.into()], &mut [(&mut rows).into(), (&mut z).into()]).unwrap();
        assert_eq!((&rows, z[()]), (&want, 1.0));

        let mut columns = Array2::from_elem((4, 3), -1.0);
        f.call_into(&[(&x).into(), 0.5.into()], &mut [columns.view_mut().reversed_axes().into(), (&mut z).into()])
            .unwrap();
        assert_eq!(columns.t(), want);

        let mut wide = Array2::from_elem((6, 9), -1.0);
        let part = wide.slice_mut(s![..;-2, 1..;2]);
        f.call_into(&[(&x).into(), 0.5.into()], &mut [part.into(), (&mut z).into()]).unwrap();
        assert_eq!(wide.slice(s![..;-2, 1..;2]), want);
        assert!(wide.slice(s![..;2, ..]).iter().all(|&v| v == -1.0), "what is between the rows is left alone");
        assert!(wide.slice(s![.., ..;2]).iter().all(|&v| v == -1.0), "what is between the columns is left alone");

        let none = Array2::<f64>::zeros((0, 4));
        let mut empty = Array2::<f64>::zeros((0, 4));
        f.call_into(&[(&none).into(), 0.5.into()], &mut [(&mut empty).into(), (&mut z).into()]).unwrap();
    });
}

#[test]
fn buffers_that_do_not_fit_are_refused_before_anything_runs() {
    each(PAIR, |f| {
        let x = Array2::<f64>::zeros((3, 4));
        let mut z = Array0::from_elem((), 7.0);
        let (mut low, mut long) = (Array1::<f64>::zeros(12), Array2::<f64>::zeros((3, 5)));
        let mut single = Array2::<f32>::zeros((3, 4));
        let buffers: [ViewMut<'_>; 3] = [(&mut low).into(), (&mut long).into(), (&mut single).into()];
        for (buffer, said) in buffers.into_iter().zip(["f64[12]", "f64[3, 5]", "f32[3, 4]"]) {
            let error = f.call_into(&[(&x).into(), 0.5.into()], &mut [buffer, (&mut z).into()]).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
        assert_eq!(z[()], 7.0, "nothing was written");
        let error = f.call_into(&[(&x).into(), 0.5.into()], &mut [(&mut z).into()]).unwrap_err();
        assert!(error.message.contains("gives 2 results, got 1"), "{error}");
    });
}

#[test]
fn a_buffer_may_be_an_arguments() {
    let text = "func @f(%x: f64[n], %y: f64[n]) -> f64[n] {
    entry:
      %r = add %x, %y
      ret %r
    }";
    each(text, |f| {
        let mut memory: Vec<f64> = (0..10).map(f64::from).collect();
        let start = memory.as_mut_ptr();
        // x = memory[0..9], y = memory[9..0:-1], out = memory[1..10]
        let (x, y) = (memory.as_slice()[..9].to_vec(), memory[1..].iter().rev().copied().collect::<Vec<f64>>());
        // SAFETY: the views lie inside of `memory`, which nothing else touches until the call has ended; elements are distinct.
        let (from, back, mut into) = unsafe {
            (
                ndarray::ArrayView1::from_shape_ptr(9, start),
                ndarray::ArrayView1::from_shape_ptr(9, start.add(1)),
                [ViewMut::from_raw(DType::F64, start.add(1).cast(), &[9], &[8])],
            )
        };
        f.call_into(&[from.into(), back.slice(s![..;-1]).into()], &mut into).unwrap();
        let want: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
        assert_eq!(memory[1..], want);
    });
}

#[test]
fn results_that_are_lent_from_buffers_come_out_right() {
    // Swaps: each result is the other buffer's argument.
    let text = "func @swap(%x: f64[n], %y: f64[n]) -> f64[n], f64[n] {
    entry:
      ret %y, %x
    }";
    each(text, |f| {
        let mut memory = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
        let start: *mut f64 = memory.as_mut_ptr().cast();
        // SAFETY: the views lie inside of `memory`, which nothing else touches until the call has ended; elements are distinct.
        let (x, y, mut into) = unsafe {
            (
                ndarray::ArrayView1::from_shape_ptr(3, start),
                ndarray::ArrayView1::from_shape_ptr(3, start.add(3)),
                [0, 3].map(|at| ViewMut::from_raw(DType::F64, start.add(at).cast(), &[3], &[8])),
            )
        };
        f.call_into(&[x.into(), y.into()], &mut into).unwrap();
        assert_eq!(memory, [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]);
    });
}

#[test]
fn every_dtype_has_buffers() {
    macro_rules! check {
        ($($name:literal $ty:ty: $one:expr),*) => {$(
            let text = format!("func @f(%x: {0}, %y: {0}[2]) -> {0}, {0}[2] {{\n entry:\n ret %x, %y\n }}", $name);
            each(&text, |f| {
                let (x, one): (Array1<$ty>, $ty) = (Array1::from_elem(2, $one), $one);
                let (mut scalar, mut array) = (Array0::from_elem((), <$ty>::default()), Array1::from_elem(2, <$ty>::default()));
                let one_arg = Scalar::from(one);
                f.call_into(&[one_arg.into(), (&x).into()], &mut [(&mut scalar).into(), (&mut array).into()]).unwrap();
                assert_eq!((scalar[()], array), (one, x));
            });
        )*};
    }
    use num_complex::{Complex32, Complex64};
    check!("bool" bool: true, "i8" i8: -1, "i16" i16: -2, "i32" i32: -3, "i64" i64: -4, "u8" u8: 1, "u16" u16: 2, "u32" u32: 3,
        "u64" u64: 4, "f32" f32: 0.5, "f64" f64: 0.25, "c64" Complex32: Complex32::new(1.0, 2.0),
        "c128" Complex64: Complex64::new(3.0, 4.0));
}

#[test]
fn buffers_may_have_the_same_memory() {
    // The second result is computed from the first, which is no longer all there once the second is written.
    let text = "func @f(%x: f64[n]) -> f64[n], f64[n] {
    entry:
      %y = add %x, 1.0
      %z = mul %y, 2.0
      ret %y, %z
    }";
    each(text, |f| {
        let x = Array1::from_iter((0..1000).map(f64::from));
        for _ in 0..4 {
            let mut memory = vec![0.0f64; 1001];
            let start = memory.as_mut_ptr();
            // SAFETY: the views lie inside of `memory`, which nothing else touches until the call has ended; the elements of each are distinct.
            let mut into =
                unsafe { [0, 1].map(|at| ViewMut::from_raw(DType::F64, start.add(at).cast(), &[1000], &[8])) };
            f.call_into(&[(&x).into()], &mut into).unwrap();
            let want: Vec<f64> = std::iter::once(1.0).chain(x.iter().map(|x| 2.0 * (x + 1.0))).collect();
            assert_eq!(memory, want, "the later result stays");
        }
    });
}
