//! Arrays of storage styles as values: what is refused, by every way of running a function alike, and where they go.

use rewright::ir::{StyleDef, Styled, parse_module};
use rewright::lowering::exec::{Arg, Backend, Executable, Options};
use rewright::{Array, DType, Datum, Name, Scalar};
use rewright_broadcast as _;
use std::sync::Arc;

fn array(shape: &[usize], elements: &[f64]) -> Array {
    Array::from_fn(DType::F64, shape, |i| Scalar::F64(elements[i])).unwrap()
}
fn style(name: &str) -> &'static StyleDef {
    StyleDef::named(Name::new(name)).unwrap()
}
fn diagonal(elements: &[f64]) -> Datum {
    let n = elements.len();
    Styled::new(style("diagonal"), DType::F64, &[n, n], vec![array(&[n], elements)]).unwrap().into()
}

/// What a function gives by every backend, which must be the same.
fn call(text: &str, args: &[&Datum]) -> Result<Vec<Datum>, String> {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let name = module.functions().next().unwrap().name;
    let args: Vec<Arg<'_>> = args.iter().map(|&datum| datum.into()).collect();
    let each = Backend::available().map(|backend| {
        let f = Executable::compile(&module, name, Options { backend, ..Options::default() }).unwrap();
        // Later calls find what the first ones left.
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
    // What dims don't say is looked at when it runs.
    let text = "func @f(%d: f64[n], %a: f64[m]) -> f64[n, n; upper_bidiagonal] {
entry:
  %0 = assemble %d, %a, style=\"upper_bidiagonal\", dims=[n, n]
  ret %0
}";
    assert!(call(text, &[&part(3).into(), &part(2).into()]).is_ok());
    let error = call(text, &[&part(3).into(), &part(3).into()]).unwrap_err();
    assert!(error.contains("assemble") && error.contains("above"), "{error}");
}

#[test]
fn what_is_wrong_with_types_is_said_when_they_are_checked() {
    for (text, part) in [
        ("%0 = mul %d, 2.0", "reads dense arrays"),
        ("%0 = transpose %d", "reads dense arrays"),
        ("%0 = component %d, name=\"dia\"", "`diagonal` has diag"),
        ("%0 = restyle %x, style=\"diagnal\"", "did you mean `diagonal`?"),
        ("%0 = restyle %v, style=\"diagonal\"", "a square matrix is wanted, not rank 1"),
        ("%0 = assemble %v, %v, style=\"diagonal\", dims=[n, n]", "of 1 components, got 2"),
        ("%0 = assemble %x, style=\"diagonal\", dims=[n, n]", "got f64[n, n]"),
        ("store %d, %d", "copies between dense arrays"),
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
