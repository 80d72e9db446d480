//! The macro: statements run with the variables of their names.

use rewright::ndarray::{Array1, array, s};
use rewright_index_macro::index;

#[test]
fn statements_take_variables_by_their_names() -> Result<(), rewright_index::Error> {
    let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0, 0.0], [0.0, 2.0]]);
    let results = index! { c[i, k] := a[i, j] * b[j, k] }?;
    assert_eq!(results["c"].to_string(), "[[1. 4.]\n [3. 8.]]");
    // Views are read in place, scalars are values.
    let (view, scale) = (a.slice(s![..;-1, ..]), 10.0);
    let results = index! { y[i] := scale * view[i, j] }?;
    assert_eq!(results["y"].to_string(), "[70. 30.]");
    Ok(())
}

#[test]
fn each_call_takes_the_arrays_of_its_time() -> Result<(), rewright_index::Error> {
    for n in [3usize, 5, 3] {
        let x = Array1::from_shape_fn(n, |i| i as f64);
        let results = index! { d[i] := x[i+1] - x[i] }?;
        assert_eq!(results["d"].shape(), [n - 1]);
    }
    Ok(())
}

#[test]
fn every_part_of_the_grammar_that_rust_reads_is_read() -> Result<(), rewright_index::Error> {
    let (x, w, n, p) = (array![1.0, 2.0, 4.0, 8.0], array![1.0, 10.0], 2i64, array![3i64, 0, 1]);
    let results = index! {
        set threads=2
        (max) m := x[i]
        c[i] := x[pad(2i + a - 1, 1)] * w[a]
        g[k] := x[p[k]] + $n
        q[i] := { t = x[i]^2; t / m } (i in 0..4)
        l := exp(x[i] - 8) |> log
        e[i + _] := x[end - i] <= 2 ? 1 : 0
    }?;
    let shown: Vec<(&str, String)> = results.iter().map(|(name, value)| (name.as_str(), value.to_string())).collect();
    let named = |name: &str| shown.iter().find(|(own, _)| *own == name).map(|(_, text)| text.as_str());
    // x[-1] is padding, so 0 + 10 x[0], then x[1] + 10 x[2], then x[3].
    assert_eq!(named("c"), Some("[10. 42.  8.]"));
    assert_eq!(named("g"), Some("[10.  3.  4.]"));
    assert_eq!(named("q"), Some("[0.125 0.5   2.    8.   ]"));
    assert_eq!(named("e"), Some("[0 0 1 1]"));
    assert!(named("l").is_some_and(|l| l.starts_with("0.0")), "{shown:?}");
    assert_eq!(named("m"), None);
    Ok(())
}

#[test]
fn errors_of_calls_are_results() {
    let (a, b) = (array![1.0, 2.0], array![1.0, 2.0, 3.0]);
    let error = index! { c[i] := a[i] + b[i] }.expect_err("they differ").to_string();
    assert!(error.contains("the ranges of index `i` differ"), "{error}");
}

#[test]
fn fields_of_elements_are_fields_of_a_variable() {
    struct Points {
        x: rewright::ndarray::Array1<f64>,
        weight: f64,
    }
    let p = Points { x: array![1.0, 2.0], weight: 0.5 };
    let results = index! { y[i] := p[i].x * p.weight }.expect("valid");
    assert_eq!(results["y"].to_string(), "[0.5 1. ]");
}
