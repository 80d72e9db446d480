//! Reads and updates of array parts at positions, in whole functions.

use rewright_ir::*;

fn run(text: &str, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let module = parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert_eq!(module.to_string(), text, "the text is in printed form");
    verify_module(&module).unwrap();
    evaluate(&module, "f", args.to_vec(), Limits::default()).map(|outcome| outcome.results)
}

fn f64s(shape: &[usize], f: impl Fn(usize) -> f64) -> Datum {
    Datum::Array(Array::from_fn(DType::F64, shape, |i| Scalar::F64(f(i))).unwrap())
}

/// The squared distance of each pair of rows.
const DISTANCES: &str = "\
func @f(%v: f64[n, m], %out: f64[n, n]) -> f64[n, n] {
entry:
  %count = dim %v, axis=0
  jump rows(0, %out)
rows(%i: i64, %r0: f64[n, n]):
  %more_rows = lt %i, %count
  br_if %more_rows, cols(0, %r0), done(%r0)
cols(%j: i64, %r1: f64[n, n]):
  %more = lt %j, %count
  br_if %more, body, next
body:
  %vi = getitem %v, %i
  %vj = getitem %v, %j
  %d = sub %vi, %vj
  %d2 = mul %d, %d
  %s = sum %d2
  %r2 = update %r1, %s, %i, %j
  %j2 = add %j, 1
  jump cols(%j2, %r2)
next:
  %i2 = add %i, 1
  jump rows(%i2, %r1)
done(%r: f64[n, n]):
  ret %r
}
";

#[test]
fn rows_are_read_and_elements_replaced_in_loops() {
    let results = run(DISTANCES, &[f64s(&[3, 2], |i| (i * i) as f64), f64s(&[3, 3], |_| -1.0)]).unwrap();
    let rows = [[0.0, 1.0], [4.0, 9.0], [16.0, 25.0]];
    let distance = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
    assert_eq!(results, [f64s(&[3, 3], |i| distance(rows[i / 3], rows[i % 3]))]);
}

#[test]
fn positions_out_of_bounds_name_value_axis_extent_and_line() {
    let text = "\
func @f(%x: f64[n, m], %i: i64, %j: i64) -> f64 {
entry:
  %0 = getitem %x, %i, %j
  ret %0
}
";
    let at = |i, j| [f64s(&[2, 3], |i| i as f64), Datum::Scalar(Scalar::I64(i)), Datum::Scalar(Scalar::I64(j))];
    assert_eq!(run(text, &at(-1, 0)).unwrap(), [Datum::Scalar(Scalar::F64(3.0))]);
    let error = run(text, &at(1, 3)).unwrap_err();
    assert_eq!(error.kind, EvalErrorKind::Index);
    assert_eq!(
        error.to_string(),
        "`getitem`: position 3 is out of bounds along axis 1, which has extent 3 (operands %x: f64[2, 3], %i = 1, %j = 3) (line 3)"
    );
}

#[test]
fn updates_make_new_values() {
    let text = "\
func @f(%x: f64[n, 4]) -> f64[n, 4], f64[n, 4] {
entry:
  %0 = update %x, 9.0, -1, at=[1:]
  ret %x, %0
}
";
    let x = f64s(&[2, 4], |i| i as f64);
    let changed = f64s(&[2, 4], |i| if i > 4 { 9.0 } else { i as f64 });
    assert_eq!(run(text, std::slice::from_ref(&x)).unwrap(), [x, changed]);
}
