//! Reduction ops and `arrayexpr` combine elements in the same order, so fusion of the former into the latter
//! changes no bit.

use rewright_ir::*;

/// Numbers whose sum depends on the order.
fn uneven(shape: &[usize]) -> Datum {
    let mut random = fastrand::Rng::with_seed(7);
    let element = |_| Scalar::F32((random.f32() * 16.0 - 8.0).exp2());
    Datum::Array(Array::from_fn(DType::F32, shape, element).unwrap())
}

/// The elements of a function's two results.
fn run(body: &str, shape: &[usize]) -> Vec<Vec<f32>> {
    let text = format!("func @f(%x: f32[n, m, 4]) -> f32[?], f32[?] {{\nentry:\n{body}}}\n");
    let module = parse_module(&text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let outcome = evaluate(&module, "f", vec![uneven(shape)], Limits::default()).unwrap();
    let elements = |d: &Datum| d.to_array().iter().map(|s| s.to_f64() as f32).collect();
    outcome.results.iter().map(elements).collect()
}

#[test]
fn sums_along_the_last_axes_are_trees() {
    let found = run(
        "  %a = sum %x, axes=[1, 2]
  %b = arrayexpr [i: n, j: reduce m, k: reduce 4] (x = %x[i, j, k]) {
    yield x
  } reduce (sum f32) : f32[n]
  ret %a, %b
",
        &[40, 301, 4],
    );
    assert_eq!(found[0], found[1]);
    let by_rows = run(
        "  %a = sum %x, axes=[1, 2]
  %b = arrayexpr [j: reduce m, k: reduce 4, i: n] (x = %x[i, j, k]) {
    yield x
  } reduce (sum f32) : f32[n]
  ret %a, %b
",
        &[40, 301, 4],
    );
    assert_eq!(by_rows[0], found[0]);
    assert_ne!(by_rows[0], by_rows[1], "the order of the axes says the order of combination");
}

#[test]
fn rows_before_the_last_kept_axis_are_added_one_by_one() {
    let found = run(
        "  %s = slice %x, at=[:1]
  %t = transpose %s, perm=[0, 2, 1]
  %u = sum %t, axes=[0, 1]
  %v = arrayexpr [j: reduce 1, k: reduce 4, i: m] (x = %t[j, k, i]) {
    yield x
  } reduce (sum f32) : f32[m]
  %a = slice %u, at=[:3]
  %b = slice %v, at=[:3]
  ret %a, %b
",
        &[3, 301, 4],
    );
    assert_eq!(found[0], found[1]);
    let Datum::Array(x) = uneven(&[3, 301, 4]) else { panic!("an array") };
    let at = |i: usize, k: usize| x.get(&[0, i, k]).unwrap().to_f64() as f32;
    let one_by_one: Vec<f32> = (0..3).map(|i| ((at(i, 0) + at(i, 1)) + at(i, 2)) + at(i, 3)).collect();
    assert_eq!(found[0], one_by_one);
}

#[test]
fn products_of_matrices_add_rows_to_rows_in_any_layout() {
    let found = run(
        "  %s3 = slice %x, at=[:, :, :1]
  %s = squeeze %s3, axes=[2]
  %y3 = slice %x, at=[:, :, 1:2]
  %y = squeeze %y3, axes=[2]
  %t = transpose %y, perm=[1, 0]
  %c = dot_general %s, %t, lhs_contract=[1], rhs_contract=[0]
  %d = dot_general %s, %y, lhs_contract=[1], rhs_contract=[1]
  %a = reshape %c, dims=[25]
  %b = reshape %d, dims=[25]
  ret %a, %b
",
        &[5, 301, 4],
    );
    assert_eq!(found[0], found[1]);
    // A vector has no rows.
    let found = run(
        "  %s3 = slice %x, at=[:1, :, :1]
  %s = squeeze %s3, axes=[0, 2]
  %y3 = slice %x, at=[:, :, 1:2]
  %y = squeeze %y3, axes=[2]
  %t = transpose %y, perm=[1, 0]
  %a = dot_general %s, %t, lhs_contract=[0], rhs_contract=[0]
  %b = dot_general %s, %y, lhs_contract=[0], rhs_contract=[1]
  ret %a, %b
",
        &[5, 301, 4],
    );
    assert_ne!(found[0], found[1], "the layout of the matrix says the order of combination");
}

#[test]
fn products_are_sequential_and_skipped_points_keep_their_places() {
    let found = run(
        "  %a = prod %x, axes=[1, 2]
  %b = arrayexpr [i: n, j: reduce m, k: reduce 4] (x = %x[i, j, k]) {
    yield x
  } reduce (prod f32) : f32[n]
  ret %a, %b
",
        &[3, 5, 4],
    );
    assert_eq!(found[0], found[1]);
    let Datum::Array(x) = uneven(&[3, 5, 4]) else { panic!("an array") };
    let first = x.iter().take(20).fold(1.0f32, |p, s| p * s.to_f64() as f32);
    assert_eq!(found[0][0], first);
    // Adding -0.0 changes nothing: it is equivalent to skipping a point by a guard.
    let guarded = run(
        "  %at = iota dims=[n, m, 4], axis=1
  %q = mod %at, 3
  %c = eq %q, 0
  %z = where %c, %x, -0.0
  %a = sum %z, axes=[1, 2]
  %b = arrayexpr [i: n, j: reduce m, k: reduce 4] where j % 3 == 0 (x = %x[i, j, k]) {
    yield x
  } reduce (sum f32) : f32[n]
  ret %a, %b
",
        &[3, 301, 4],
    );
    assert_eq!(guarded[0], guarded[1]);
}

#[test]
fn sums_begin_with_positive_zero() {
    let text = "\
func @f(%x: f64[n]) -> f64, f64[], f64[] {
entry:
  %0 = sum %x
  %1 = arrayexpr [i: reduce n] (x = %x[i]) {
    yield x
  } reduce (sum f64) : f64[]
  %2 = arrayexpr [i: reduce n] (x = %x[i]) {
    yield x
  } reduce (sum f64) init -0.0 : f64[]
  ret %0, %1, %2
}
";
    let module = parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)));
    for n in [0, 1, 9] {
        let zeros = Datum::Array(Array::full(Scalar::F64(-0.0), &[n]).unwrap());
        let found = evaluate(&module, "f", vec![zeros], Limits::default()).unwrap().results;
        let signs: Vec<bool> =
            found.iter().map(|d| d.to_array().iter().all(|s| s.to_f64().is_sign_negative())).collect();
        assert_eq!(signs, [false, false, true]);
    }
}

/// Numbers of a dtype, with some equal ones and some NaNs.
fn mixed(dtype: DType, shape: &[usize]) -> Datum {
    let element = |i: usize| {
        let x = ((i * 37 + 11) % 23) as f64 * 0.75 - 4.0;
        let x = if i % 29 == 7 { f64::NAN } else { x };
        match dtype.kind() {
            Kind::Complex => Scalar::C128(Complex64::new(x, (i % 5) as f64)).cast(dtype),
            Kind::Bool => Scalar::Bool(!i.is_multiple_of(3)),
            _ => Scalar::F64(x).cast(dtype),
        }
    };
    Datum::Array(Array::from_fn(dtype, shape, element).unwrap())
}

fn both(text: &str, x: Datum) -> (Datum, Datum) {
    let module = parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let results = evaluate(&module, "f", vec![x], Limits::default()).unwrap().results;
    (results[0].clone(), results[1].clone())
}

#[test]
fn every_monoid_at_every_dtype() {
    for monoid in ["sum", "prod", "min", "max", "any", "all"] {
        for dtype in DType::ALL {
            let at = match (monoid, dtype.kind()) {
                ("any" | "all", _) => DType::Bool,
                ("sum" | "prod", Kind::Int) if dtype.is_unsigned() => DType::U64,
                ("sum" | "prod", Kind::Int | Kind::Bool) => DType::I64,
                _ => dtype,
            };
            for (axes, space) in [("1", "i: n, k: reduce m"), ("0", "k: reduce n, i: m")] {
                let index = if axes == "1" { "i, k" } else { "k, i" };
                let text = format!(
                    "func @f(%x: {dtype}[n, m]) -> {at}[?], {at}[?] {{\nentry:\n  %a = {monoid} %x, axes=[{axes}]\n  \
                     %b = arrayexpr [{space}] (x = %x[{index}]) {{\n    yield x\n  }} reduce ({monoid} {at}) : {at}[?]\n  \
                     ret %a, %b\n}}\n"
                );
                for shape in [[3, 301], [301, 3], [1, 1], [0, 3], [3, 0]] {
                    // For an empty minimum the op gives an error, and the expression its identity.
                    if matches!(monoid, "min" | "max") && shape[if axes == "1" { 1 } else { 0 }] == 0 {
                        continue;
                    }
                    let (a, b) = both(&text, mixed(dtype, &shape));
                    assert_eq!(a, b, "{monoid} {dtype}{shape:?} along {axes}");
                }
            }
        }
    }
}

#[test]
fn positions_at_every_dtype() {
    for monoid in ["argmin", "argmax"] {
        for dtype in DType::ALL {
            let text = format!(
                "func @f(%x: {dtype}[n, m]) -> i64[n], i64[n] {{\nentry:\n  %a = {monoid} %x, axes=[1]\n  \
                 %v, %b = arrayexpr [i: n, k: reduce m] (x = %x[i, k]) {{\n    yield x, k\n  }} \
                 reduce ({monoid} {dtype}, i64) : {dtype}[n], i64[n]\n  ret %a, %b\n}}\n"
            );
            for shape in [[3, 301], [5, 3], [1, 1], [0, 3]] {
                let (a, b) = both(&text, mixed(dtype, &shape));
                assert_eq!(a, b, "{monoid} {dtype}{shape:?}");
            }
        }
    }
}

#[test]
fn several_reductions_and_a_finish_in_one_walk() {
    let text = "\
func @f(%x: i32[n, m], %w: f64[n]) -> f64[n], i32[n], i64[n], bool[n] {
entry:
  %0, %1, %2, %3 = arrayexpr [i: n, k: reduce m] (x = %x[i, k], w = %w[i]) {
    t0 = mul x, 2
    t1 = gt x, 4
    yield x, t0, x, k, t1
  } reduce (sum i64) init 100 reduce (min i32) reduce (argmax i32, i64) reduce (any bool) finish (s, low, high, at, some) {
    u0 = mul s, w
    u1 = sub high, low
    yield u0, u1, at, some
  } : f64[n], i32[n], i64[n], bool[n]
  ret %0, %1, %2, %3
}
";
    let module = parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let x = [3, 1, 4, 2, 7, 7];
    let args = vec![
        Datum::Array(Array::from_fn(DType::I32, &[2, 3], |i| Scalar::I32(x[i])).unwrap()),
        Datum::Array(Array::from_fn(DType::F64, &[2], |i| Scalar::F64([0.5, -1.0][i])).unwrap()),
    ];
    let found = evaluate(&module, "f", args, Limits::default()).unwrap().results;
    let elements = |i: usize| found[i].to_array().iter().map(|s| s.to_f64()).collect::<Vec<_>>();
    assert_eq!(elements(0), [54.0, -116.0]);
    assert_eq!(elements(1), [4.0 - 2.0, 7.0 - 4.0]);
    assert_eq!(elements(2), [2.0, 1.0]);
    assert_eq!(elements(3), [0.0, 1.0]);
}
