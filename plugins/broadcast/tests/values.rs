//! Styled arrays as values: every backend refuses the same ones, and they pass through all kinds of uses.

use rewright::ir::{EvalErrorKind, Style, Styled, parse_module};
use rewright::lowering::exec::{Arg, Backend, Executable, Options};
use rewright::{Array, DType, Datum, Limits, Name, Scalar};
use rewright_broadcast as _;
use std::sync::Arc;

fn array(shape: &[usize], elements: &[f64]) -> Array {
    Array::from_fn(DType::F64, shape, |i| Scalar::F64(elements[i])).unwrap()
}
fn style(name: &str) -> Style {
    Style::named(Name::new(name)).unwrap()
}
fn diagonal(elements: &[f64]) -> Datum {
    let n = elements.len();
    Styled::new(style("diagonal"), DType::F64, &[n, n], vec![array(&[n], elements)]).unwrap().into()
}

/// The result of a function on every backend, which must agree.
fn call(text: &str, args: &[&Datum]) -> Result<Vec<Datum>, String> {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let name = module.functions().next().unwrap().name;
    let args: Vec<Arg<'_>> = args.iter().map(|&datum| datum.into()).collect();
    let each = Backend::available().map(|backend| {
        let f = Executable::compile(&module, name, Options { backend, ..Options::default() }).unwrap();
        // Later calls use the replay cache.
        let found: Vec<_> =
            (0..4).map(|_| f.call(&args).map(|results| results.iter().cloned().collect::<Vec<Datum>>())).collect();
        let found: Vec<_> = found.into_iter().map(|found| found.map_err(|e| e.to_string())).collect();
        assert!(found.iter().all(|again| *again == found[0]), "{backend:?}: {found:?}");
        (backend, found[0].clone())
    });
    let all: Vec<_> = each.collect();
    for (backend, found) in &all {
        assert_eq!(*found, all[0].1, "{backend:?}");
    }
    all[0].1.clone()
}

fn refused(text: &str) -> String {
    let text = format!("func @f(%d: f64[n, n; diagonal], %x: f64[n, n], %v: f64[n]) {{\nentry:\n  {text}\n  ret\n}}");
    parse_module(&text, "test").unwrap_err().render(false)
}

#[test]
fn arguments_are_of_the_style_that_the_type_says() {
    let text = "func @f(%d: f64[n, n; diagonal]) -> f64[n] {\nentry:\n  %0 = component %d, name=\"diag\"\n  ret %0\n}";
    assert_eq!(call(text, &[&diagonal(&[1.0, 2.0])]), Ok(vec![array(&[2], &[1.0, 2.0]).into()]));
    let dense = Datum::from(array(&[2, 2], &[1.0, 0.0, 0.0, 2.0]));
    let error = call(text, &[&dense]).unwrap_err();
    assert!(error.contains("is f64[2, 2], its type is f64[n, n; diagonal]"), "{error}");
    let upper = Styled::keep(style("upper"), &dense.to_array()).unwrap().into();
    let error = call(text, &[&upper]).unwrap_err();
    assert!(error.contains("is f64[2, 2; upper], its type is f64[n, n; diagonal]"), "{error}");
    let text = "func @f(%x: f64[n, n]) -> f64[n, n] {\nentry:\n  %0 = add %x, 1.0\n  ret %0\n}";
    let error = call(text, &[&diagonal(&[1.0, 2.0])]).unwrap_err();
    assert!(error.contains("is f64[2, 2; diagonal], its type is f64[n, n]"), "{error}");
}

#[test]
fn what_a_style_can_not_have_is_an_error_that_says_where() {
    let keep = |name: &str, elements: &[f64]| Styled::keep(style(name), &array(&[2, 2], elements)).map(|_| ());
    assert_eq!(keep("diagonal", &[1.0, 0.0, -0.0, 2.0]), Ok(()));
    let message = "`diagonal` can't have 3.0 at [1, 0]: the element there is 0.0";
    assert_eq!(keep("diagonal", &[1.0, 0.0, 3.0, 2.0]), Err(message.into()));
    assert_eq!(keep("symmetric", &[f64::NAN, 5.0, 5.0, 2.0]), Ok(()));
    assert!(keep("symmetric", &[1.0, 5.0, 4.0, 2.0]).is_err_and(|why| why.contains("[1, 0]")));
    assert!(keep("unit_lower", &[1.0, 0.0, 4.0, 2.0]).is_err_and(|why| why.contains("[1, 1]")));
    // Real and imaginary parts are checked, too.
    let complex = |elements: &[(f64, f64)]| {
        let element = |i: usize| Scalar::C128(rewright::Complex64::new(elements[i].0, elements[i].1));
        Styled::keep(style("hermitian"), &Array::from_fn(DType::C128, &[2, 2], element).unwrap()).map(|_| ())
    };
    assert_eq!(complex(&[(1.0, -0.0), (2.0, 0.0), (2.0, 0.0), (3.0, 0.0)]), Ok(()));
    assert_eq!(complex(&[(1.0, 0.0), (f64::NAN, 5.0), (f64::NAN, -5.0), (3.0, 0.0)]), Ok(()));
    assert!(complex(&[(1.0, 0.0), (2.0, 5.0), (2.0, 5.0), (3.0, 0.0)]).is_err_and(|why| why.contains("[1, 0]")));
    assert!(complex(&[(1.0, 0.5), (2.0, 5.0), (2.0, -5.0), (3.0, 0.0)]).is_err_and(|why| why.contains("[0, 0]")));
    let text =
        "func @f(%x: f64[n, n]) -> f64[n, n; diagonal] {\nentry:\n  %0 = restyle %x, style=\"diagonal\"\n  ret %0\n}";
    let error = call(text, &[&array(&[2, 2], &[1.0, 0.0, 3.0, 2.0]).into()]).unwrap_err();
    assert!(error.contains("restyle") && error.contains("[1, 0]"), "{error}");
}

#[test]
fn components_have_their_types_and_extents() {
    let new = |name, shape: &[usize], components| Styled::new(style(name), DType::F64, shape, components).map(|_| ());
    let part = |n: usize| array(&[n], &vec![1.0; n]);
    assert_eq!(new("tridiagonal", &[3, 3], vec![part(2), part(3), part(2)]), Ok(()));
    assert_eq!(new("tridiagonal", &[0, 0], vec![part(0), part(0), part(0)]), Ok(()));
    assert_eq!(new("tridiagonal", &[1, 1], vec![part(0), part(1), part(0)]), Ok(()));
    let error = new("tridiagonal", &[3, 3], vec![part(2), part(3)]).unwrap_err();
    assert_eq!(error, "`tridiagonal` has 3 components (below, diag, above), got 2");
    let error = new("tridiagonal", &[3, 3], vec![part(2), part(3), part(3)]).unwrap_err();
    assert_eq!(error, "component `above` of `tridiagonal` is f64[2], got f64[3]");
    assert!(new("diagonal", &[3, 2], vec![part(2)]).is_err_and(|why| why.contains("not 3 by 2")));
    // Constraints that the dims don't express are checked at run time.
    let text = "func @f(%d: f64[n], %a: f64[m]) -> f64[n, n; upper_bidiagonal] {
entry:
  %0 = assemble %d, %a, style=\"upper_bidiagonal\", dims=[n, n]
  ret %0
}";
    assert!(call(text, &[&part(3).into(), &part(2).into()]).is_ok());
    let error = call(text, &[&part(3).into(), &part(3).into()]).unwrap_err();
    assert!(error.contains("assemble") && error.contains("above"), "{error}");
}

/// T79: the positions of sparse patterns.
#[test]
fn sparse_positions_increase_and_are_inside() {
    let ints = |list: &[i64]| Array::from_fn(DType::I64, &[list.len()], |i| Scalar::I64(list[i])).unwrap();
    let csc = |starts: &[i64], rows: &[i64]| {
        let values = array(&[rows.len()], &vec![1.5; rows.len()]);
        Styled::new(style("csc"), DType::F64, &[3, 2], vec![ints(starts), ints(rows), values]).map(|_| ())
    };
    assert_eq!(csc(&[0, 2, 3], &[0, 2, 1]), Ok(()));
    assert_eq!(csc(&[0, 0, 0], &[]), Ok(()));
    for (starts, rows, part) in [
        (&[0, 2, 3][..], &[2, 0, 1][..], "`rows` of column 0 has 2 before 0"),
        (&[0, 2, 3], &[0, 0, 1], "has 0 before 0"),
        (&[0, 2, 3], &[0, 3, 1], "has 3, which is not below 3"),
        (&[0, 2, 3], &[0, 2, -1], "column 1 has -1"),
        (&[0, 2, 2], &[0, 2, 1], "from 0 to 3"),
        (&[1, 2, 3], &[0, 2, 1], "from 0 to 3"),
        (&[0, 4, 3], &[0, 2, 1], "never down"),
        (&[0, 3], &[0, 2, 1], "`starts` of `csc` is i64[3]"),
    ] {
        let error = csc(starts, rows).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    let sparse = |at: &[i64], count: usize| {
        Styled::new(style("sparse"), DType::F64, &[5], vec![ints(at), array(&[count], &vec![1.5; count])]).map(|_| ())
    };
    assert_eq!(sparse(&[1, 4], 2), Ok(()));
    assert!(sparse(&[4, 1], 2).is_err_and(|why| why.contains("4 before 1")));
    assert!(sparse(&[1, 5], 2).is_err_and(|why| why.contains("not below 5")));
    assert!(sparse(&[1, 4], 3).is_err_and(|why| why.contains("3 `values` for 2 positions")));
    // Positions outside of the pattern are zero, whatever values are stored.
    let text = "func @f(%s: f64[n, m; csc]) -> f64[n, m] {\nentry:\n  %0 = restyle %s, style=\"dense\"\n  ret %0\n}";
    let columns = vec![ints(&[0, 2, 3]), ints(&[0, 2, 1]), array(&[3], &[f64::NAN, 0.0, 7.0])];
    let found = call(text, &[&Styled::new(style("csc"), DType::F64, &[3, 2], columns).unwrap().into()]).unwrap();
    assert_eq!(found, [array(&[3, 2], &[f64::NAN, 0.0, 0.0, 7.0, 0.0, 0.0]).into()]);
}

#[test]
fn bits_beyond_the_end_of_a_row_are_zero() {
    let words = |list: &[u64], shape: &[usize]| Array::from_fn(DType::U64, shape, |i| Scalar::U64(list[i])).unwrap();
    let bits = |shape: &[usize], words| Styled::new(style("bits"), DType::Bool, shape, vec![words]);
    assert!(bits(&[2, 64], words(&[u64::MAX, u64::MAX], &[2, 1])).is_ok());
    assert!(bits(&[2, 3], words(&[7, 5], &[2, 1])).is_ok());
    let error = bits(&[2, 3], words(&[7, 8], &[2, 1])).unwrap_err();
    assert_eq!(error, "word 1 of `words` has nonzero padding bits; rows have 3 elements");
    assert!(bits(&[65], words(&[0, 2], &[2])).is_err() && bits(&[65], words(&[0, 1], &[2])).is_ok());
    for n in [0, 1, 63, 64, 65, 1000] {
        let bools = Array::from_fn(DType::Bool, &[2, n], |i| Scalar::Bool(i * i % 7 < 3)).unwrap();
        let kept = Styled::keep(style("bits"), &bools).unwrap();
        assert_eq!((kept.dense(), kept.bytes()), (bools, 2 * 8 * n.div_ceil(64) as u64));
    }
    let error = Styled::keep(style("bits"), &array(&[1], &[1.0])).unwrap_err();
    assert_eq!(error, "f64[1] can't be `bits`: style `bits` requires dtype bool, got f64");
}

#[test]
fn ranges_are_rounded_once_and_wrap() {
    let range = |dtype: DType, n: usize, start: Scalar, step: Scalar| {
        let components = [start, step].map(|number| Array::full(number.cast(dtype), &[]).unwrap());
        Styled::new(style("range"), dtype, &[n], components.to_vec()).unwrap()
    };
    let tenths = range(DType::F64, 11, Scalar::F64(0.1), Scalar::F64(0.1));
    // As an f64, 0.1 is a little more than a tenth. `0.1 + 10 * 0.1`, rounded once, is 1.1; repeated
    // addition gives 1.0999999999999999.
    assert_eq!(tenths.get(&[10]), Some(Scalar::F64(1.1)));
    assert_eq!(tenths.get(&[11]), None);
    let bytes = range(DType::I8, 4, Scalar::I64(100), Scalar::I64(20));
    assert_eq!(bytes.dense().iter().map(|s| s.to_f64()).collect::<Vec<_>>(), [100.0, 120.0, -116.0, -96.0]);
    let down = range(DType::U64, 3, Scalar::U64(1), Scalar::U64(u64::MAX));
    assert_eq!(down.dense().iter().last(), Some(Scalar::U64(u64::MAX)));
    assert!(Styled::keep(style("range"), &down.dense()).is_ok_and(|kept| kept == down));
    assert!(Styled::keep(style("range"), &array(&[3], &[1.0, 2.0, 4.0])).is_err_and(|why| why.contains("4.0 at [2]")));
    assert!(Styled::keep(style("range"), &array(&[0], &[])).is_ok());
    // Ranges of two or more floats are finite. A range of one has no step.
    let one = range(DType::F64, 1, Scalar::F64(1.0), Scalar::F64(f64::INFINITY));
    assert_eq!(one.dense(), array(&[1], &[1.0]));
    let components = || [1.0, f64::INFINITY].map(|number| Array::full(Scalar::F64(number), &[]).unwrap()).to_vec();
    let why = Styled::new(style("range"), DType::F64, &[3], components()).unwrap_err();
    assert!(why.contains("of those from 1.0 in steps of inf not all are"), "{why}");
    for (elements, wrong) in [
        ([1.0, f64::INFINITY, f64::INFINITY], "can't have inf at [1]"),
        ([1.0, 2.0, f64::NAN], "can't have NaN at [2]"),
        ([f64::NEG_INFINITY, 0.0, 1.0], "can't have -inf at [0]"),
        ([0.0, 1e308, f64::INFINITY], "can't have 1e308 at [1]"),
    ] {
        let why = Styled::keep(style("range"), &array(&[3], &elements)).unwrap_err();
        assert!(why.contains(wrong), "{why}");
    }
}

#[test]
fn type_errors_are_reported_by_the_verifier() {
    for (text, part) in [
        ("%0 = mul %d, 2.0", "reads dense arrays"),
        ("%0 = transpose %d", "reads dense arrays"),
        ("%0 = broadcasted %x, op=\"sin\"\n  %1 = materialize %0, style=\"lazy\"", "it would be lazy again"),
        ("%0 = component %d, name=\"dia\"", "`diagonal` has diag"),
        ("%0 = restyle %x, style=\"diagnal\"", "did you mean `diagonal`?"),
        ("%0 = restyle %v, style=\"diagonal\"", "a square matrix is wanted, not rank 1"),
        ("%0 = assemble %v, %v, style=\"diagonal\", dims=[n, n]", "of 1 components, got 2"),
        ("%0 = assemble %x, style=\"diagonal\", dims=[n, n]", "got f64[n, n]"),
        ("%s = sum %v\n  %0 = assemble %s, %s, style=\"range\", dims=[n]", "`to_array` makes an array of rank 0"),
    ] {
        let message = refused(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn values_go_through_branches_loops_and_calls() {
    let text = "func @f(%d: f64[n, n; diagonal], %k: i64) -> f64[n, n; diagonal], f64[n, n] {
entry:
  jump head(%d, 0)
head(%x: f64[n, n; diagonal], %i: i64):
  %more = lt %i, %k
  br_if %more, again, done
again:
  %y = call @twice(%x)
  %j = add %i, 1
  jump head(%y, %j)
done:
  %all = restyle %x, style=\"dense\"
  ret %x, %all
}

func @twice(%d: f64[n, n; diagonal]) -> f64[n, n; diagonal] {
entry:
  %0 = component %d, name=\"diag\"
  %1 = add %0, %0
  %2 = assemble %1, style=\"diagonal\", dims=[n, n]
  ret %2
}";
    let found = call(text, &[&diagonal(&[1.0, 3.0]), &Scalar::I64(3).into()]).unwrap();
    assert_eq!(found, [diagonal(&[8.0, 24.0]), array(&[2, 2], &[8.0, 0.0, 0.0, 24.0]).into()]);
    assert_eq!(found[0].to_string(), "f64[2, 2; diagonal] { diag: [ 8. 24.] }");
}

#[test]
fn types_that_no_array_has_are_refused() {
    for (ty, why) in [
        ("f64[n; diagonal]", "a square matrix is wanted, not rank 1"),
        ("f64[2, 3; diagonal]", "a square matrix is wanted, not 2 by 3"),
        ("f64[n, m; upper]", "a square matrix is wanted, not n by m"),
        ("bool[n; range]", "numbers are wanted, not bools"),
        ("f64[n; bits]", "style `bits` requires dtype bool, got f64"),
    ] {
        let text = format!("func @f(%d: {ty}) {{\nentry:\n  ret\n}}");
        let message = parse_module(&text, "test").unwrap_err().render(false);
        assert!(message.contains(ty) && message.contains(why), "{message}");
    }
    // The actual extent of a `?` is checked at run time, and `dim` reads it.
    let text = "func @f(%d: f64[?, ?; diagonal]) -> f64[?], i64 {
entry:
  %0 = component %d, name=\"diag\"
  %1 = dim %d, axis=1
  ret %0, %1
}";
    assert_eq!(call(text, &[&diagonal(&[1.0, 2.0])]), Ok(vec![array(&[2], &[1.0, 2.0]).into(), Scalar::I64(2).into()]));
}

#[test]
fn limits_hold_for_elements_of_components() {
    let text = "func @f(%a: f64[n]) -> f64[n] {
entry:
  %x = add %a, 1.0
  %s = assemble %x, style=\"diagonal\", dims=[n, n]
  %c = component %s, name=\"diag\"
  %y = add %a, 2.0
  %t = assemble %y, style=\"diagonal\", dims=[n, n]
  %d = component %t, name=\"diag\"
  %z = add %c, %d
  ret %z
}";
    let module = parse_module(text, "test").unwrap();
    let a = array(&[1000], &[1.0; 1000]);
    for backend in Backend::available() {
        let call = |bytes: u64| {
            let limits = Limits { bytes, ..Limits::default() };
            let options = Options { backend, limits, ..Options::default() };
            Executable::compile(&module, "f", options).unwrap().call(&[(&a).into()]).map(|_| ())
        };
        assert_eq!(call(100_000), Ok(()), "{backend:?}");
        // The limit leaves no room for the argument, the array computed from it and its matrix together.
        let error = call(20_000).unwrap_err();
        assert_eq!(error.kind, EvalErrorKind::Limit, "{backend:?}: {error}");
    }
    // A matrix without rows stores only the starts of its columns.
    let text = "func @f() -> f64[0, 100000000000000; csc] {
entry:
  %0 = full 0.0, dims=[0, 100000000000000]
  %1 = restyle %0, style=\"csc\"
  ret %1
}";
    let error = call(text, &[]).unwrap_err();
    assert!(error.contains("restyle") && error.contains("elements"), "{error}");
}

#[test]
fn results_of_a_style_have_no_place_of_the_callers() {
    let text = "func @f(%d: f64[n, n; diagonal]) -> f64[n, n; diagonal] {\nentry:\n  ret %d\n}";
    let module = parse_module(text, "test").unwrap();
    for backend in Backend::available() {
        let f = Executable::compile(&module, "f", Options { backend, ..Options::default() }).unwrap();
        let mut out = ndarray::Array2::<f64>::ones((2, 2));
        let error = f.call_into(&[(&diagonal(&[1.0, 2.0])).into()], &mut [(&mut out).into()]).unwrap_err();
        assert!(error.to_string().contains("diagonal"), "{backend:?}: {error}");
        assert_eq!(out, ndarray::Array2::<f64>::ones((2, 2)));
    }
    let Datum::Styled(styled) = diagonal(&[1.0]) else { panic!() };
    assert_eq!(Arc::strong_count(&styled), 1);
}

#[test]
fn styles_that_take_no_arguments_get_none() {
    let error = parse_module("func @f(%x: f64[n, n; diagonal(x)]) {\nentry:\n  ret\n}", "f").unwrap_err().render(false);
    assert!(error.contains("`diagonal` takes no arguments"), "{error}");
}

/// Ops on sparse patterns report faulty operands.
#[test]
fn ops_of_patterns_reject_operands_without_patterns() {
    let refused = |params: &str, line: &str, why: &str| {
        let error = parse_module(&format!("func @f({params}) {{\nentry:\n  {line}\n  ret\n}}"), "f").unwrap_err();
        let error = error.render(false);
        assert!(error.contains(why), "{line}: {error}");
    };
    let sparse = "%s: f64[n; sparse], %t: f64[m; sparse], %x: f64[n], %d: f64[n, n; diagonal], %c: f64";
    refused(sparse, "%0, %1, %2 = align %s, %t, style=\"sparse\"", "same extents");
    refused(sparse, "%0, %1 = align %s, style=\"diagonal\"", "`diagonal` has no pattern");
    refused(sparse, "%0, %1 = align %c, style=\"sparse\"", "wants arrays, got f64");
    refused(sparse, "%0 = drop_zeros %x", "`dense` has no pattern");
    refused(sparse, "%0, %1 = places %d", "`diagonal` has no pattern");
    refused(sparse, "%0 = spread %s, %x", "one f64, got f64[n]");
    refused(sparse, "%0 = pack_bits %x", "packs a dense array of bools");
}
