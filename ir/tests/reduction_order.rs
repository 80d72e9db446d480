//! Reductions by op and by `arrayexpr` combine elements in one order, so fusing the first into the second changes no bit.

use rewright_ir::*;

/// Numbers of which sums depend on the order.
fn uneven(shape: &[usize]) -> Datum {
    let mut state = 7u64;
    let element = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        Scalar::F32((((state >> 40) as f32) / 1e6 - 8.0).exp2())
    };
    Datum::Array(Array::from_fn(DType::F32, shape, element).unwrap())
}

/// The elements of the two results of a function.
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
        &[3, 301, 4],
    );
    assert_eq!(found[0], found[1]);
    let sequential = run(
        "  %a = sum %x, axes=[1, 2]
  %b = arrayexpr [j: reduce m, k: reduce 4, i: n] (x = %x[i, j, k]) {
    yield x
  } reduce (sum f32) : f32[n]
  ret %a, %b
",
        &[3, 301, 4],
    );
    assert_eq!(sequential[0], found[0]);
    assert_ne!(sequential[0], sequential[1], "the order of the axes says the order of combination");
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
    // Adding -0.0 changes nothing: what a guard leaves out is as if it were that.
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
