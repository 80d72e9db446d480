//! What is computed to be stored is written where it is wanted: one pass, and no array besides.

use ndarray::{ArcArray, Array1, Array2, Ix2};
use rewright_ir::text::parse_module;
use rewright_ir::{Array, Datum, Element, EvalErrorKind, Limits};
use rewright_lowering::exec::{Backend, Executable, Options, Stats};

fn compile_by(text: &str, options: Options) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    Executable::compile(&module, "f", options).unwrap()
}

fn compile(text: &str) -> Executable {
    let f = compile_by(text, Options::default());
    assert_eq!(f.remarks(), []);
    f
}

fn datum<T: Element>(elements: &[T]) -> Datum {
    Datum::Array(T::wrap(Array1::from_vec(elements.to_vec()).into_dyn().into()))
}

fn pointer(datum: &Datum) -> *const f64 {
    let Some(Array::F64(array)) = datum.as_array() else { panic!("{datum:?}") };
    array.as_ptr()
}

/// Calls a function of arguments that it stores to, and gives what it did, and whether the first one's elements are still where they were. All code
/// generators and the reference evaluator leave the same in the arguments.
fn call(text: &str, mut args: Vec<Datum>) -> (Stats, bool, Vec<Datum>) {
    let text = format!("func @f({text}\n  ret\n}}");
    let deep = |args: &[Datum]| -> Vec<Datum> {
        let copy = |datum: &Datum| match datum {
            Datum::Array(Array::F64(a)) => Datum::Array(Array::F64(a.to_owned().into())),
            other => other.clone(),
        };
        args.iter().map(copy).collect()
    };
    let given = deep(&args);
    let f = compile(&text);
    let at = pointer(&args[0]);
    f.call_mut(&mut args).unwrap();
    let stays = pointer(&args[0]) == at;
    for backend in Backend::available() {
        let other = compile_by(&text, Options { backend, ..Options::default() });
        for _ in 0..3 {
            let mut again = deep(&given);
            other.call_mut(&mut again).unwrap();
            assert_eq!(again, args, "{backend:?}");
        }
    }
    (f.stats(), stays, args)
}

/// A kernel, and neither a new array nor one that is used again.
const IN_PLACE: Stats = Stats { kernels: 1, banded: 0, reference: 0, allocations: 0, bytes: 0, reused: 0 };
/// The same with a new array of three numbers.
const BESIDE: Stats = Stats { allocations: 1, bytes: 24, ..IN_PLACE };

const NUMBERS: [f64; 3] = [1.0, 2.0, 4.0];

#[test]
fn elements_are_written_where_they_are_wanted() {
    let fused = "%y: f64[n], %x: f64[n]) {
entry:
  %0 = arrayexpr [i: n] (x = %x[i]) {
    t0 = mul x, 2.0
    t1 = add t0, 1.0
    yield t1
  } : f64[n]
  store %y, %0";
    let (stats, stays, args) = call(fused, vec![datum(&[0.0; 3]), datum(&NUMBERS)]);
    assert_eq!((stats, stays, &args[0]), (IN_PLACE, true, &datum(&[3.0, 5.0, 9.0])));
    // Nobody has fused these; scalars and ends of lives may be in between.
    let alone = "%y: f64[n], %x: f64[n], %k: f64) {
entry:
  %0 = mul %x, %k
  %1 = add %k, 1.0
  del %x
  store %y, %0";
    let (stats, stays, args) = call(alone, vec![datum(&[0.0; 3]), datum(&NUMBERS), Datum::Scalar(2.0.into())]);
    assert_eq!((stats, stays, &args[0]), (IN_PLACE, true, &datum(&[2.0, 4.0, 8.0])));
    // Sums of rows read no destination, so that they are written where it is.
    let sums = "%y: f64[n], %x: f64[n, m]) {
entry:
  %0 = sum %x, axes=[1]
  store %y, %0";
    let rows = Datum::Array(Array::F64(Array2::from_shape_fn((3, 2), |(i, j)| (i + j) as f64).into_dyn().into()));
    let (stats, stays, args) = call(sums, vec![datum(&[0.0; 3]), rows]);
    assert_eq!((stats, stays, &args[0]), (IN_PLACE, true, &datum(&[1.0, 3.0, 5.0])));
}

#[test]
fn what_is_read_where_it_is_written_is_written_over() {
    let doubled = "%y: f64[n]) {
entry:
  %0 = mul %y, 2.0
  store %y, %0";
    let (stats, stays, args) = call(doubled, vec![datum(&NUMBERS)]);
    assert_eq!((stats, stays, &args[0]), (IN_PLACE, true, &datum(&[2.0, 4.0, 8.0])));
    let several = "%y: f64[n], %x: f64[n]) {
entry:
  %0 = arrayexpr [i: n] (x = %x[i], y = %y[i]) {
    t0 = mul x, y
    t1 = add t0, y
    yield t1
  } : f64[n]
  store %y, %0";
    let (stats, stays, args) = call(several, vec![datum(&NUMBERS), datum(&[1.0, 2.0, 3.0])]);
    assert_eq!((stats, stays, &args[0]), (IN_PLACE, true, &datum(&[2.0, 6.0, 16.0])));
}

#[test]
fn what_is_read_elsewhere_is_computed_beside() {
    let turned = "%y: f64[n]) {
entry:
  %0 = flip %y, axes=[0]
  %1 = add %y, %0
  store %y, %1";
    let (stats, stays, args) = call(turned, vec![datum(&NUMBERS)]);
    assert_eq!((stats, stays, &args[0]), (BESIDE, false, &datum(&[5.0, 4.0, 5.0])));
    let fused = "%y: f64[n]) {
entry:
  %0 = arrayexpr [i: n] (x = %y[i], y = %y[-i + n - 1]) {
    t0 = add x, y
    yield t0
  } : f64[n]
  store %y, %0";
    let (stats, stays, args) = call(fused, vec![datum(&NUMBERS)]);
    assert_eq!((stats, stays, &args[0]), (BESIDE, false, &datum(&[5.0, 4.0, 5.0])));
    // Totals in memory would be read again.
    let centred = "%y: f64[n, n]) {
entry:
  %0 = transpose %y
  %1 = mul %y, %0
  store %y, %1";
    let square = Datum::Array(Array::F64(Array2::from_shape_fn((2, 2), |(i, j)| (2 * i + j) as f64).into_dyn().into()));
    let (stats, stays, _) = call(centred, vec![square]);
    assert_eq!((stats.kernels, stats.allocations, stays), (1, 1, false));
}

#[test]
fn others_who_hold_the_buffer_keep_their_elements() {
    let f = compile("func @f(%y: f64[n], %x: f64[n]) {\nentry:\n  %0 = add %x, %y\n  store %y, %0\n  ret\n}");
    let (y, x) = (datum(&NUMBERS), datum(&[1.0; 3]));
    for round in 1..=4 {
        let mut args = [y.clone(), x.clone()];
        f.call_mut(&mut args).unwrap();
        assert_eq!((&args[0], &y), (&datum(&[2.0, 3.0, 5.0]), &datum(&NUMBERS)));
        assert_eq!(f.stats().kernels, round);
    }
    // The same array twice, and a view of it that was taken before.
    let mut args = [y.clone(), y.clone()];
    f.call_mut(&mut args).unwrap();
    assert_eq!((&args[0], &args[1], &y), (&datum(&[2.0, 4.0, 8.0]), &y, &datum(&NUMBERS)));
    let seen = "func @f(%y: f64[n]) -> f64[n] {
entry:
  %0 = flip %y, axes=[0]
  %1 = mul %y, 2.0
  store %y, %1
  %2 = add %0, 0.0
  ret %2
}";
    for backend in Backend::available() {
        let f = compile_by(seen, Options { backend, ..Options::default() });
        let mut args = [datum(&NUMBERS)];
        let results = f.call_mut(&mut args).unwrap();
        assert_eq!((&args[0], &results[0]), (&datum(&[2.0, 4.0, 8.0]), &datum(&[4.0, 2.0, 1.0])), "{backend:?}");
    }
    // Arguments of other calls keep what they hold.
    let results = compile(seen).outcome(&[(&y).into()]).unwrap();
    assert_eq!((&results.args[0], &y), (&datum(&[2.0, 4.0, 8.0]), &datum(&NUMBERS)));
}

#[test]
fn a_destination_keeps_how_it_lies_in_memory() {
    let f = compile("func @f(%y: f64[n, m], %x: f64[n, m]) {\nentry:\n  %0 = mul %x, 2.0\n  store %y, %0\n  ret\n}");
    let x = Array2::from_shape_fn((3, 2), |(i, j)| (i * 2 + j) as f64);
    let turned: ArcArray<f64, Ix2> = Array2::zeros((2, 3)).reversed_axes().into();
    let mut args = [Datum::Array(Array::F64(turned.into_dyn())), Datum::Array(Array::F64(x.clone().into_dyn().into()))];
    let at = pointer(&args[0]);
    f.call_mut(&mut args).unwrap();
    assert_eq!((pointer(&args[0]), f.stats()), (at, IN_PLACE));
    let array = args[0].as_array().unwrap();
    assert_eq!(array.strides(), [1, 3]);
    assert_eq!(*array, Array::F64((x * 2.0).into_dyn().into()));
}

#[test]
fn errors_leave_what_was_there() {
    let text = "func @f(%y: i64[n], %k: i64[n]) {
entry:
  %0 = power %y, %k
  store %y, %0
  ret
}";
    for backend in Backend::available() {
        let f = compile_by(text, Options { backend, ..Options::default() });
        let mut args = [datum(&[2i64, 3, 4]), datum(&[1i64, 2, -1])];
        let error = f.call_mut(&mut args).unwrap_err();
        assert_eq!((&error.kind, &args[0]), (&EvalErrorKind::Value, &datum(&[2i64, 3, 4])), "{backend:?} {error}");
        args[1] = datum(&[1i64, 2, 0]);
        f.call_mut(&mut args).unwrap();
        assert_eq!(args[0], datum(&[2i64, 9, 1]), "{backend:?}");
    }
    // Operands that don't fit, and limits.
    let open = "func @f(%y: f64[n], %x: f64[?]) {
entry:
  %0 = arrayexpr [i: n] (y = %y[i], x = %x[bcast(i)]) {
    t0 = add x, y
    yield t0
  } : f64[n]
  store %y, %0
  ret
}";
    let f = compile_by(open, Options::default());
    let mut args = [datum(&NUMBERS), datum(&[1.0, 2.0])];
    f.call_mut(&mut args).unwrap_err();
    assert_eq!(args[0], datum(&NUMBERS));
    args[1] = datum(&[1.0]);
    f.call_mut(&mut args).unwrap();
    assert_eq!(args[0], datum(&[2.0, 3.0, 5.0]));
    let limits = Limits { steps: 3, ..Limits::default() };
    let f = compile_by(open, Options { limits, ..Options::default() });
    let mut args = [datum(&NUMBERS), datum(&[1.0])];
    assert_eq!(f.call_mut(&mut args).unwrap_err().kind, EvalErrorKind::Limit);
    assert_eq!(args[0], datum(&NUMBERS));
}

#[test]
fn what_dies_where_it_is_stored_is_not_copied() {
    // Two results of one kernel, each of which takes the place of an argument.
    let both = "%y: f64[n], %x: f64[n]) {
entry:
  %0, %1 = arrayexpr [i: n] (x = %x[i], y = %y[i]) {
    t0 = add x, y
    t1 = sub x, y
    yield t0, t1
  } : f64[n], f64[n]
  store %y, %0
  store %x, %1";
    let (stats, _, args) = call(both, vec![datum(&NUMBERS), datum(&[1.0; 3])]);
    assert_eq!((stats.kernels, stats.reference), (1, 0));
    assert_eq!(args, [datum(&[2.0, 3.0, 5.0]), datum(&[0.0, -1.0, -3.0])]);
    // What is read later stays where it is.
    let f = compile(
        "func @f(%y: f64[n], %x: f64[n]) -> f64[n] {
entry:
  %0 = add %x, %y
  store %y, %0
  ret %0
}",
    );
    let mut args = [datum(&NUMBERS), datum(&[1.0; 3])];
    let results = f.call_mut(&mut args).unwrap();
    assert_eq!((&args[0], &results[0], f.stats().kernels), (&datum(&[2.0, 3.0, 5.0]), &datum(&[2.0, 3.0, 5.0]), 2));
}

#[test]
fn loops_store_without_new_arrays() {
    let text = "%y: f64[n], %x: f64[n]) {
entry:
  jump body(0)
body(%i: i64):
  %0 = add %y, %x
  store %y, %0
  %1 = mul %x, 0.5
  store %x, %1
  %j = add %i, 1
  %more = lt %j, 10
  br_if %more, body(%j), done
done:";
    let (stats, stays, args) = call(text, vec![datum(&[0.0; 3]), datum(&NUMBERS)]);
    assert_eq!((stats, stays), (Stats { kernels: 20, ..IN_PLACE }, true));
    let sum: f64 = (0..10).map(|k| 0.5f64.powi(k)).sum();
    assert_eq!(args[0], datum(&NUMBERS.map(|x| x * sum)));
}

#[test]
fn stores_are_done_or_not() {
    let text = "func @f(%x: i64[n], %k: i64[n]) {
entry:
  store %x, 7
  %0 = power 2, %k
  store %x, %0
  ret
}";
    let ints = |list: &[i64]| Datum::Array(Array1::from_vec(list.to_vec()).into_dyn().into());
    for backend in Backend::available() {
        let f = compile_by(text, Options { backend, ..Options::default() });
        let mut args = [ints(&[1, 2, 3, 4]), ints(&[1, 2, 3, -4])];
        let error = f.call_mut(&mut args).unwrap_err();
        assert_eq!(error.kind, EvalErrorKind::Value, "{backend:?} {error}");
        let left = if backend == Backend::Reference { ints(&[1, 2, 3, 4]) } else { ints(&[7, 7, 7, 7]) };
        assert_eq!(args, [left, ints(&[1, 2, 3, -4])], "{backend:?}");
        args[1] = ints(&[1, 2, 3, 4]);
        f.call_mut(&mut args).unwrap();
        assert_eq!(args[0], ints(&[2, 4, 8, 16]), "{backend:?}");
    }
}
