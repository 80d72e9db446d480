//! Calls that are like the ones before: the same results, whatever changes from one to the next.

use ndarray::{Array1, Array2, ArrayD, Ix1, array, s};
use rewright_ir::text::parse_module;
use rewright_ir::{Datum, Element, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable, Options, Results, ViewMut};

fn compile(text: &str) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    Executable::compile(&module, "f", Options::default()).unwrap()
}

fn datum<T: Element>(array: Array1<T>) -> Datum {
    Datum::Array(T::wrap(array.into_dyn().into_shared()))
}

/// The results as the reference evaluator has them.
fn reference(text: &str, args: &[Arg<'_>]) -> Results {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let options = Options { backend: Backend::Reference, ..Options::default() };
    Executable::compile(&module, "f", options).unwrap().call(args).unwrap()
}

const SUM: &str = "func @f(%a: f64[n], %k: f64) -> f64[n], f64[n] {
entry:
  %0 = mul %a, %k
  %1 = add %0, 1.0
  ret %1, %0
}";

#[test]
fn what_arrays_and_scalars_hold_may_change() {
    let f = compile(SUM);
    for round in 0..10 {
        let (a, k) = (Array1::from_iter((0..9).map(|i| f64::from(i * round))), 0.5 * f64::from(round));
        let args = [(&a).into(), k.into()];
        assert_eq!(f.call(&args).unwrap(), reference(SUM, &args), "round {round}");
    }
    assert_eq!(f.stats().kernels, 20, "every call counts its kernels");
}

#[test]
fn extents_strides_and_dtypes_may_change_in_between() {
    const ANY: &str = "func @f(%a: f64[n, m]) -> f64[m, n], f64 {
entry:
  %0 = transpose %a
  %1 = mul %0, 2.0
  %2 = sum %a
  %3 = dim %a, axis=0
  %4 = mul %2, %3
  ret %1, %4
}";
    let f = compile(ANY);
    let a = Array2::from_shape_fn((12, 10), |(i, j)| (i * 10 + j) as f64);
    let slices = [s![.., ..], s![..;2, ..], s![..;-1, 3..], s![4..5, ..], s![.., 2..2], s![.., ..;-3]];
    for slice in slices.into_iter().flat_map(|slice| [slice; 4]).chain(slices) {
        let args = [a.slice(slice).into()];
        assert_eq!(f.call(&args).unwrap(), reference(ANY, &args), "{slice:?}");
        let turned = a.slice(slice).reversed_axes();
        let args = [turned.view().into()];
        assert_eq!(f.call(&args).unwrap(), reference(ANY, &args), "{slice:?}, reversed");
    }
    let wrong = Array2::<f32>::zeros((12, 10));
    assert!(f.call(&[(&wrong).into()]).is_err());
    assert!(f.call(&[(&Array1::<f64>::zeros(3)).into()]).is_err());
    assert!(f.call(&[]).is_err());
}

#[test]
fn steps_after_one_another_with_temporaries_views_and_scalars() {
    const LONG: &str = "func @f(%a: f64[n, m], %b: f64[m]) -> f64[n, m], f64, f64[n], bool {
entry:
  %0 = max %a, axes=[1], keepdims=true
  %1 = sub %a, %0
  %2 = exp %1
  %3 = sum %2, axes=[1], keepdims=true
  %4 = div %2, %3
  %5 = sum %4
  %6 = dim %a, axis=1
  %7 = div %5, %6
  %8 = squeeze %3, axes=[1]
  %9 = flip %8, axes=[0]
  %10 = mul %9, 0.5
  %11 = gt %7, 0.5
  ret %4, %7, %10, %11
}";
    let f = compile(LONG);
    for round in 0..6 {
        let a = Array2::from_shape_fn((5, 7), |(i, j)| ((i * 7 + j * round) % 11) as f64 * 0.25);
        let b = Array1::<f64>::ones(7);
        let args = [(&a).into(), (&b).into()];
        let (found, wanted) = (f.call(&args).unwrap(), reference(LONG, &args));
        assert_eq!(found, wanted, "round {round}");
    }
}

#[test]
fn results_go_to_buffers_that_move_and_may_be_arguments() {
    const TWO: &str = "func @f(%a: f64[n], %b: f64[n]) -> f64[n], f64 {
entry:
  %0 = flip %b, axes=[0]
  %1 = sub %a, %0
  %2 = sum %1
  ret %1, %2
}";
    let f = compile(TWO);
    let mut places: Vec<Array1<f64>> = vec![Array1::zeros(6); 3];
    let (a, b) = (array![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], array![0.5, 0.25, 0.0, -1.0, 2.0, 8.0]);
    let wanted = &a - &b.slice(s![..;-1]);
    for round in 0..9 {
        let mut total = ndarray::Array0::<f64>::zeros(());
        let place = &mut places[round % 3];
        place.fill(7.0);
        f.call_into(&[(&a).into(), (&b).into()], &mut [place.into(), (&mut total).into()]).unwrap();
        assert_eq!((places[round % 3].clone(), total.into_scalar()), (wanted.clone(), wanted.sum()));
    }
    // The buffer is that of an argument, which is read in another order than it is written.
    for _ in 0..4 {
        let (mut own, mut total) = (b.clone(), ndarray::Array0::<f64>::zeros(()));
        let pointer = own.as_mut_ptr();
        // SAFETY: the elements of `own` live on, and nobody else reads or writes them during the call but through this.
        #[allow(unsafe_code, reason = "a buffer that is an argument too")]
        let out = unsafe { ViewMut::from_raw(rewright_ir::DType::F64, pointer.cast(), &[6], &[8]) };
        let theirs = own.view().into_dimensionality::<Ix1>().unwrap();
        f.call_into(&[(&a).into(), theirs.into()], &mut [out, (&mut total).into()]).unwrap();
        assert_eq!(own, wanted);
    }
}

#[test]
fn results_are_filled_where_there_is_no_point() {
    const LAST: &str = "func @f(%x: f64[n, m]) -> f64[m] {
entry:
  %0 = arrayexpr [i: n, j: m] (x = %x[i, j]) {
    yield x
  } into ([j] fill 7.0 last) : f64[m]
  ret %0
}";
    let f = compile(LAST);
    let x = Array2::from_shape_fn((2, 3), |(i, j)| (3 * i + j) as f64);
    for rows in [0, 2, 0] {
        let args = [x.slice(s![..rows, ..]).into()];
        let wanted = array![7.0, 7.0, 7.0];
        let wanted = if rows == 0 { wanted } else { array![3.0, 4.0, 5.0] };
        for _ in 0..5 {
            // Memory that was something else before.
            let mut place = Array1::from_elem(3, f64::NAN);
            f.call_into(&args, &mut [(&mut place).into()]).unwrap();
            assert_eq!(place, wanted);
        }
        for _ in 0..5 {
            assert_eq!(f.call(&args).unwrap(), [datum(wanted.clone())]);
        }
    }
}

#[test]
fn a_point_that_fails_is_told_as_before() {
    const POWER: &str = "func @f(%a: i64[n], %b: i64[n]) -> i64[n] {
entry:
  %0 = power %a, %b
  ret %0
}";
    let f = compile(POWER);
    let a = array![2i64, 3, 4];
    let good = array![1i64, 2, 3];
    let bad = array![1i64, -2, 3];
    let wanted = f.call(&[(&a).into(), (&bad).into()]).unwrap_err().to_string();
    for _ in 0..4 {
        let results = f.call(&[(&a).into(), (&good).into()]).unwrap();
        assert_eq!(results, vec![datum(array![2i64, 9, 64])]);
    }
    for _ in 0..3 {
        assert_eq!(f.call(&[(&a).into(), (&bad).into()]).unwrap_err().to_string(), wanted);
        assert!(f.call(&[(&a).into(), (&good).into()]).is_ok());
    }
}

#[test]
fn results_are_apart_from_one_call_to_the_next() {
    let f = compile(SUM);
    let a = array![1.0, 2.0];
    let kept: Vec<Results> =
        (0..6).map(|k| f.call(&[(&a).into(), Scalar::F64(f64::from(k)).into()]).unwrap()).collect();
    for (k, results) in kept.iter().enumerate() {
        let product = a.mapv(|x| x * k as f64);
        assert_eq!(results[1], datum(product.clone()));
        assert_eq!(results[0], datum(product + 1.0));
    }
    let mut several: Vec<ArrayD<f64>> = vec![ndarray::ArrayD::zeros(ndarray::IxDyn(&[2])); 2];
    let [one, other] = &mut several[..] else { unreachable!() };
    f.call_into(&[(&a).into(), 3.0.into()], &mut [one.into(), other.into()]).unwrap();
    assert_eq!(several[0].sum(), 11.0);
}

#[test]
fn threads_call_at_once() {
    let f = compile(SUM);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let f = &f;
            scope.spawn(move || {
                for round in 0..200 {
                    let a = Array1::from_elem(3 + thread % 2, f64::from(round));
                    let results = f.call(&[(&a).into(), 2.0.into()]).unwrap();
                    assert_eq!(results[0], datum(a.mapv(|x| x * 2.0 + 1.0)));
                }
            });
        }
    });
}

#[test]
fn long_arguments_may_lie_where_results_go() {
    // Written forwards over an argument that is read backwards, the second half would be read after it was written.
    const BACK: &str = "func @f(%a: f64[n], %b: f64[n]) -> f64[n] {
entry:
  %0 = flip %b, axes=[0]
  %1 = sub %a, %0
  ret %1
}";
    let f = compile(BACK);
    let n = 5000;
    let a = Array1::from_iter((0..n).map(|i| f64::from(i) * 0.5));
    let b = Array1::from_iter((0..n).map(|i| f64::from(i * i)));
    let wanted = &a - &b.slice(s![..;-1]);
    for _ in 0..5 {
        let mut place = Array1::<f64>::zeros(n as usize);
        f.call_into(&[(&a).into(), (&b).into()], &mut [(&mut place).into()]).unwrap();
        assert_eq!(place, wanted);
    }
    for _ in 0..4 {
        let mut own = b.clone();
        let pointer = own.as_mut_ptr();
        // SAFETY: the elements of `own` live on, and nobody else reads or writes them during the call but through this.
        #[allow(unsafe_code, reason = "a buffer that is an argument too")]
        let out = unsafe { ViewMut::from_raw(rewright_ir::DType::F64, pointer.cast(), &[n as usize], &[8]) };
        f.call_into(&[(&a).into(), own.view().into()], &mut [out]).unwrap();
        assert_eq!(own, wanted);
    }
}
