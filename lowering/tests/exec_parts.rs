//! Elements, rows and updates at positions inside of loops: as the reference evaluator has them, without copying whole arrays.

use ndarray::{Array1, Array2, s};
use rewright_ir::text::parse_module;
use rewright_ir::{Datum, EvalErrorKind, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable, Options, Results};

fn compile(text: &str, backend: Backend) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let name = module.functions().next().unwrap().name;
    Executable::compile(&module, name, Options { backend, ..Options::default() }).unwrap()
}

/// What the reference evaluator and machine code both give.
#[track_caller]
fn both(text: &str, args: &[Arg<'_>]) -> Result<Results, rewright_ir::EvalError> {
    let [reference, planned] = [Backend::Reference, Backend::Auto].map(|b| compile(text, b).call(args));
    match (&reference, &planned) {
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
        _ => assert_eq!(reference, planned),
    }
    planned
}

/// Sums of leading elements, one element at a time.
const RUNNING: &str = "func @f(%x: f64[n]) -> f64[n] {
entry:
  %n = dim %x, axis=-1
  %zero = full 0.0, dims=[n]
  jump head(0, 0.0, %zero)
head(%i: i64, %sum: f64, %y: f64[n]):
  %more = lt %i, %n
  br_if %more, body, done
body:
  %e = getitem %x, %i
  %s = add %sum, %e
  %z = update %y, %s, %i
  %j = add %i, 1
  jump head(%j, %s, %z)
done:
  ret %y
}";

#[test]
fn a_loop_over_elements_updates_one_array_in_place() {
    let x = Array1::from_iter((0..50).map(f64::from));
    let found = both(RUNNING, &[x.slice(s![..;-2]).into()]).unwrap();
    assert_eq!(found[0].as_array().unwrap().get(&[3]), Some((49.0 + 47.0 + 45.0 + 43.0).into()));
    let f = compile(RUNNING, Backend::Auto);
    assert_eq!(f.remarks(), []);
    f.call(&[(&x).into()]).unwrap();
    assert_eq!((f.stats().allocations, f.stats().reference), (1, 0), "the array that was made at first is the result");
}

#[test]
fn parts_are_read_and_replaced() {
    let text = "func @f(%x: f64[n, m], %i: i64, %v: f32[m]) -> f64[m], f64[n, m], f64[n, m], f64[n, m] {
entry:
  %row = getitem %x, %i
  %copy = mul %x, 1.0
  %a = update %copy, %row, -1
  %b = mul %x, 2.0
  %c = update %b, %v, at=[::2]
  %d = mul %x, 3.0
  %part = slice %v, at=[::-1]
  %e = update %d, %part, 0, at=[:]
  %last = getitem %e, -1
  %f = update %e, %last, at=[1:2]
  ret %row, %a, %c, %f
}";
    let x = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f64);
    let v = Array1::from_vec(vec![0.5f32, 1.5, 2.5, 3.5]);
    for (i, row) in [(1i64, 1), (-3, 0), (2, 2)] {
        let found = both(text, &[(&x).into(), i.into(), (&v).into()]).unwrap();
        assert_eq!(found[0], Datum::Array(x.row(row).to_owned().into_dyn().into()));
    }
    for i in [3i64, -4, i64::MIN] {
        let error = both(text, &[(&x).into(), i.into(), (&v).into()]).unwrap_err();
        assert_eq!(
            (error.kind.clone(), error.op, error.loc.line),
            (EvalErrorKind::Index, Some("getitem"), 3),
            "{error}"
        );
    }
}

#[test]
fn updates_are_not_seen_by_who_read_before() {
    let text = "func @f(%x: i64[n, m]) -> i64[n, m], i64[m], i64[n, m] {
entry:
  %y = add %x, 0
  %row = getitem %y, 0
  %z = update %y, 7, 0, 0
  %w = add %x, 1
  %u = update %w, %row, 1
  %t = update %u, 9, at=[0:0]
  ret %z, %row, %t
}";
    let x = Array2::from_shape_fn((2, 3), |(i, j)| (3 * i + j) as i64);
    let found = both(text, &[(&x).into()]).unwrap();
    assert_eq!(found[1].as_array().unwrap().get(&[0]), Some(Scalar::I64(0)));
    assert_eq!(found[0].as_array().unwrap().get(&[0, 0]), Some(Scalar::I64(7)));
    assert_eq!(found[2].as_array().unwrap().get(&[1, 2]), Some(Scalar::I64(2)));
}

#[test]
fn an_update_that_does_not_fit_says_so() {
    let text = "func @f(%x: f64[n, m], %v: f64[k], %i: i64) -> f64[n, m] {
entry:
  %y = mul %x, 1.0
  %z = update %y, %v, %i
  ret %z
}";
    let x = Array2::<f64>::zeros((2, 3));
    let args = |v: usize| Array1::<f64>::ones(v);
    assert!(both(text, &[(&x).into(), (&args(3)).into(), 1i64.into()]).is_ok());
    assert!(both(text, &[(&x).into(), (&args(1)).into(), 1i64.into()]).is_ok());
    let error = both(text, &[(&x).into(), (&args(2)).into(), 1i64.into()]).unwrap_err();
    assert_eq!((error.op, error.loc.line), (Some("update"), 4), "{error}");
    let error = both(text, &[(&x).into(), (&args(3)).into(), 2i64.into()]).unwrap_err();
    assert!(error.message.contains("out of bounds"), "{error}");
}
