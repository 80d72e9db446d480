//! Sums of products: the order of axes, rounding, and results beside plain loops.

#![allow(clippy::cloned_ref_to_slice_refs, reason = "a list of one argument reads as the others do")]

use crate::support::{Named, by2, check, explained, floats, ints, run};
use rewright::{Array, Complex64, DType, Datum, Scalar};
use rewright_index::Statements;

/// The function of a program for symbolic extents.
fn lowered(text: &str) -> String {
    let statements = Statements::parse(text).expect("valid");
    statements.lower(&statements.symbolic_types()).unwrap_or_else(|e| panic!("{text}\n{e}")).module.to_string()
}

/// The function of a program for these arrays.
fn lowered_for(text: &str, args: &[Named]) -> String {
    let statements = Statements::parse(text).expect("valid");
    let values = args.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    statements.lower_for(&values).unwrap_or_else(|e| panic!("{text}\n{e}")).module.to_string()
}

/// The order of axes, as the explanation of a program shows it.
fn axes(text: &str, args: &[Named]) -> String {
    let explained = explained(text, args);
    let line = explained.lines().find_map(|line| line.trim().strip_prefix("axes: "));
    line.unwrap_or_else(|| panic!("{explained}")).to_string()
}

/// A matrix of fractions.
fn matrix(rows: usize, columns: usize) -> Datum {
    by2(rows, columns, |i, j| ((i * 7.0 + j * 3.0) % 11.0) / 7.0 - 0.6)
}

fn pair(a: (usize, usize), b: (usize, usize)) -> [Named; 2] {
    [("A", matrix(a.0, a.1)), ("B", matrix(b.0, b.1))]
}

#[test]
fn products_of_matrices_add_rows_to_rows() {
    let text = lowered("C[i,k] := A[i,j] * B[j,k]");
    assert!(text.contains("[i: n_i, j: reduce n_j, k: n_k]"), "{text}");
    assert!(text.contains("reduce (dot f64, f64)"), "{text}");
    let once = "; a product and its addition are rounded once";
    for (statement, wanted) in [
        ("C[i,k] := A[i,j] * B[j,k]", "i, j (reduced), k"),
        ("C[i,k] := A[i,j] * B[k,j]", "i, j (reduced), k"),
        ("C[i,k] := A[j,i] * B[j,k]", "i, j (reduced), k"),
        ("C[i,k] := 2 * A[i,j] * B[j,k]", "i, j (reduced), k"),
        ("C[i,k] += A[i,j] * B[j,k]", "i, j (reduced), k"),
        ("C[i,k] := A[i,j] * B[j,k] |> sqrt", "i, j (reduced), k"),
    ] {
        let args = [&pair((20, 20), (20, 20))[..], &[("C", matrix(20, 20))]].concat();
        let args = if statement.contains("+=") { &args[..] } else { &args[..2] };
        assert_eq!(axes(statement, args), format!("{wanted}{once}"), "{statement}");
        assert_eq!(axes(&format!("{statement} strict"), args), wanted, "{statement}");
    }
}

#[test]
fn the_last_axis_reads_adjacent_elements() {
    let (x, w) = (("x", matrix(30, 40)), ("w", matrix(5, 5)));
    assert_eq!(axes("y[i] := x[i,j]", &[x.clone()]), "i, j (reduced)");
    assert_eq!(axes("y[j] := x[i,j]", &[x.clone()]), "i (reduced), j");
    assert_eq!(axes("(max) y[j] := x[i,j]", &[x.clone()]), "i (reduced), j");
    let convolution = "y[i,j] := x[i+a,j+b] * w[a,b]";
    for w in [w, ("w", matrix(9, 9))] {
        let shown = axes(convolution, &[x.clone(), w]);
        assert_eq!(shown, "i, a (reduced), b (reduced), j; a product and its addition are rounded once");
    }
    // Totals stay in registers along the longest reduced index, which is the last of them.
    let layer = "o[n,f,y,x] := I[n,c,y+i,x+j] * K[f,c,i,j]";
    let ones = |shape: &[usize]| Datum::from(Array::full(Scalar::F64(1.0), shape).expect("small"));
    let args = [("I", ones(&[2, 16, 10, 10])), ("K", ones(&[8, 16, 3, 3]))];
    assert!(axes(layer, &args).contains("i (reduced), j (reduced), c (reduced), x"), "{}", axes(layer, &args));
    assert!(axes(&format!("{layer} strict"), &args).contains("c (reduced), i (reduced), j (reduced)"));
    let vector = ("v", floats(&[0.5; 40]));
    assert_eq!(axes("y[i] := x[i,j] * v[j]", &[x.clone(), vector.clone()]), "i, j (reduced)");
    // Reduced indices change places, too, unless the order of the sum is stated.
    // Rows that are not one row of all arrays are reduced first.
    let (text, args) = ("s := v[j] * x[k,j] * x[k,0]", [x.clone(), vector]);
    assert!(explained(text, &args).contains("rows along j are reduced first"), "{}", explained(text, &args));
    assert_eq!(axes(text, &args), "k (reduced)");
    assert_eq!(axes(&format!("{text} strict"), &args), "j (reduced), k (reduced)");
    assert_eq!(axes("s := x[i,j]", &[x]), "i (reduced), j (reduced)");
}

#[test]
fn every_form_of_a_product_has_the_results_of_loops() {
    let at = |m: &Datum, i: usize, j: usize| m.to_array().get(&[i, j]).expect("inside").to_f64();
    // Extents around the sizes of vectors, and of the blocks of sums.
    for (n, m, p) in [(1, 1, 1), (3, 5, 9), (17, 130, 33), (40, 7, 3), (2, 300, 2)] {
        let (a, b) = (matrix(n, m), matrix(m, p));
        let (at_a, at_b) = ((&a, false), (&b, false));
        let get = |(m, turned): (&Datum, bool), i: usize, j: usize| if turned { at(m, j, i) } else { at(m, i, j) };
        let product =
            |i: f64, k: f64| (0..m).map(|j| get(at_a, i as usize - 1, j) * get(at_b, j, k as usize - 1)).sum::<f64>();
        let wanted = by2(n, p, product);
        let turned = by2(p, n, |k, i| product(i, k));
        let (at, bt) = (
            by2(m, n, |j, i| at(&a, i as usize - 1, j as usize - 1)),
            by2(p, m, |k, j| at(&b, j as usize - 1, k as usize - 1)),
        );
        let args = |a: &Datum, b: &Datum| [("A", a.clone()), ("B", b.clone())];
        check("C[i,k] := A[i,j] * B[j,k]", &args(&a, &b), "C", wanted.clone());
        check("C[i,k] := A[j,i] * B[j,k]", &args(&at, &b), "C", wanted.clone());
        check("C[i,k] := A[i,j] * B[k,j]", &args(&a, &bt), "C", wanted.clone());
        check("C[i,k] := A[j,i] * B[k,j]", &args(&at, &bt), "C", wanted.clone());
        check("C[k,i] := A[j,i] * B[k,j]", &args(&at, &bt), "C", turned.clone());
        check("C[k,i] := A[i,j] * B[j,k]", &args(&a, &b), "C", turned);
        check("C[i,k] := A[i,j] * B[j,k] init=2", &args(&a, &b), "C", by2(n, p, |i, k| 2.0 + product(i, k)));
        check(
            "C[i,k] := A[i,j] * B[j,k] |> _ * A[i,0] + k",
            &args(&a, &b),
            "C",
            by2(n, p, |i, k| product(i, k) * get(at_a, i as usize - 1, 0) + k - 1.0),
        );
        let old = [&args(&a, &b)[..], &[("C", by2(n, p, |i, k| i - k))]].concat();
        check("C[i,k] += A[i,j] * B[j,k]", &old, "C", by2(n, p, |i, k| i - k + product(i, k)));
        check("C[i,k] -= A[i,j] * B[j,k]", &old, "C", by2(n, p, |i, k| i - k - product(i, k)));
    }
}

#[test]
fn batches_and_several_reduced_indices() {
    let array = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        crate::support::array(shape, &(0..count).map(|n| ((n * 5) % 13) as f64 / 8.0 - 0.7).collect::<Vec<_>>())
    };
    let at = |m: &Datum, index: &[usize]| m.to_array().get(index).expect("inside").to_f64();
    let (a, b) = (array(&[3, 4, 5]), array(&[5, 6, 3]));
    let element = |n: usize| {
        let (batch, i, k) = (n / 24, n / 6 % 4, n % 6);
        (0..5).map(|j| at(&a, &[batch, i, j]) * at(&b, &[j, k, batch])).sum::<f64>()
    };
    let wanted = crate::support::array(&[3, 4, 6], &(0..72).map(element).collect::<Vec<_>>());
    let args = [("A", a.clone()), ("B", b.clone())];
    check("C[b,i,k] := A[b,i,j] * B[j,k,b]", &args, "C", wanted);
    let all = (0..72).map(element).sum::<f64>();
    check("s := A[b,i,j] * B[j,k,b]", &args, "s", Datum::from(Scalar::F64(all)));
    let element = |n: usize| {
        let (i, k) = (n / 6, n % 6);
        let terms = (0..3).flat_map(|b| (0..5).map(move |j| (b, j)));
        terms.map(|(batch, j)| at(&a, &[batch, i, j]) * at(&b, &[j, k, batch])).sum::<f64>()
    };
    let wanted = crate::support::array(&[4, 6], &(0..24).map(element).collect::<Vec<_>>());
    check("C[i,k] := A[b,i,j] * B[j,k,b]", &args, "C", wanted);
}

#[test]
fn dtypes_of_factors() {
    let of = |dtype: DType| {
        let number = |n: usize| match dtype.is_complex() {
            true => Scalar::C128(Complex64::new(n as f64 % 3.0, n as f64 % 5.0)).cast(dtype),
            false => Scalar::I64(n as i64 % 4).cast(dtype),
        };
        Datum::from(Array::from_fn(dtype, &[9, 9], number).expect("memory"))
    };
    let text = "C[i,k] := A[i,j] * B[j,k]";
    for (a, b, result, is_fused) in [
        (DType::F32, DType::F32, DType::F32, true),
        (DType::F32, DType::F64, DType::F64, true),
        (DType::C64, DType::C64, DType::C64, true),
        (DType::F64, DType::C64, DType::C128, true),
        (DType::I32, DType::F64, DType::F64, true),
        (DType::Bool, DType::F32, DType::F32, true),
        (DType::I64, DType::I64, DType::I64, false),
        (DType::I32, DType::I32, DType::I64, false),
        (DType::Bool, DType::Bool, DType::I64, false),
    ] {
        let args = [("A", of(a)), ("B", of(b))];
        assert_eq!(axes(text, &args).contains("rounded once"), is_fused, "{a} {b}");
        let wanted = (0..81).map(|n| {
            let at = |m: &Datum, i: usize, j: usize| m.to_array().get(&[i, j]).expect("inside").to_c128();
            (0..9).map(|j| at(&args[0].1, n / 9, j) * at(&args[1].1, j, n % 9)).sum::<Complex64>()
        });
        let wanted: Vec<Complex64> = wanted.collect();
        let wanted = Array::from_fn(result, &[9, 9], |n| Scalar::C128(wanted[n]).cast(result)).expect("memory");
        check(text, &args, "C", wanted);
    }
    // Integers wrap in their own dtype before they are multiplied by a float.
    let wide = Array::from_fn(DType::I8, &[2, 2], |_| Scalar::I8(100)).expect("memory");
    let args = [("A", wide.clone().into()), ("B", wide.into()), ("X", by2(2, 2, |_, _| 0.5))];
    check("C[i,k] := A[i,j] * B[i,j] * X[j,k]", &args, "C", by2(2, 2, |_, _| f64::from(100i8.wrapping_mul(100))));
}

#[test]
fn products_are_rounded_once_unless_strict() {
    // (1 + e)^2 - (1 + 2e) = e^2, which a rounded product loses.
    let e = f64::EPSILON;
    let a = crate::support::array(&[2, 2], &[-1.0 - 2.0 * e, 1.0 + e, 0.0, 0.0]);
    let b = crate::support::array(&[2, 2], &[1.0, 0.0, 1.0 + e, 0.0]);
    let args = [("A", a), ("B", b)];
    let first = |text: &str| run(text, &args)["C"].to_array().get(&[0, 0]).expect("inside").to_f64();
    assert_eq!(first("C[i,k] := A[i,j] * B[j,k]"), e * e);
    assert_eq!(first("C[i,k] := A[i,j] * B[j,k] strict"), 0.0);
}

#[test]
fn costly_parts_are_computed_once() {
    // `exp` of a vector is computed for each of its elements, not for each point.
    let args = [("x", floats(&[0.5; 40])), ("y", floats(&[0.25; 30]))];
    let function = lowered_for("C[i,j] := x[j] * exp(y[i]) + exp(x[j])", &args);
    assert_eq!(function.matches("arrayexpr").count(), 2, "{function}");
    let wanted = by2(30, 40, |_, _| 0.5 * 0.25f64.exp() + 0.5f64.exp());
    check("C[i,j] := x[j] * exp(y[i]) + exp(x[j])", &args, "C", wanted.clone());
    check("C[i,j] := { e = exp(x[j]); x[j] * exp(y[i]) + e } strict", &args, "C", wanted);
    let explained = explained("C[i,j] := x[j] * exp(y[i]) + exp(x[j])", &args);
    assert!(explained.contains("`exp(x[j])` is computed once for each j\n"), "{explained}");
    // A short loop, and a cheap part, stay as they are.
    assert_eq!(
        lowered_for("C[i,j] := exp(x[j]) * y[i]", &[("x", floats(&[0.5; 40])), ("y", floats(&[1.0; 4]))])
            .matches("arrayexpr")
            .count(),
        1
    );
    assert_eq!(lowered_for("C[i,j] := (x[j] + 1) * y[i]", &args).matches("arrayexpr").count(), 1);
    // An empty loop computes nothing, so a part that fails does not fail.
    let none = [("n", ints(&[1; 30])), ("d", ints(&[0; 30])), ("e", ints(&[]))];
    check("C[i,j] := n[j] // d[j] * e[i]", &none, "C", crate::support::ints_of(&[0, 30], &[]));
}

#[test]
fn scoped_reductions_are_computed_once() {
    let (x, w) = (matrix(12, 15), matrix(15, 9));
    let args = [("x", x.clone()), ("w", w.clone())];
    let at = |m: &Datum, i: f64, j: usize| m.to_array().get(&[i as usize - 1, j]).expect("inside").to_f64();
    let row = |i: f64| (0..15).map(|k| at(&x, i, k)).sum::<f64>();
    let text = "p[i,j] := x[i,j] / sum[k](x[i,k])";
    assert!(lowered_for(text, &args[..1]).contains("[i: 12, k: reduce 15]"), "{}", lowered_for(text, &args[..1]));
    let wanted = by2(12, 15, |i, j| at(&x, i, j as usize - 1) / row(i));
    check(text, &args[..1], "p", wanted.clone());
    check(&format!("{text} strict"), &args[..1], "p", wanted);
    // It is a product of matrices, with an order of axes of its own.
    let text = "p[i,j] := sum[k](x[i,k] * w[k,j]) + x[i,j+0]";
    assert!(lowered_for(text, &args).contains("[i: 12, k: reduce 15, j: 9]"), "{}", lowered_for(text, &args));
    let product = |i: f64, j: f64| (0..15).map(|k| at(&x, i, k) * at(&w, k as f64 + 1.0, j as usize - 1)).sum::<f64>();
    check(text, &args, "p", by2(12, 9, |i, j| product(i, j) + at(&x, i, j as usize - 1)));
    // Scoped in one another, and over all indices.
    let total = (1..=12).map(|i| row(f64::from(i))).sum::<f64>();
    check("y[i] := x[i,0] * sum[k](x[i,k] - sum[l,m](x[l,m])) ", &args[..1], "y", {
        floats(&(1..=12).map(f64::from).map(|i| at(&x, i, 0) * (row(i) - 15.0 * total)).collect::<Vec<_>>())
    });
    check("s := x[i,j] * max[k](x[i,k])", &args[..1], "s", {
        let most = |i: f64| (0..15).map(|k| at(&x, i, k)).fold(f64::NEG_INFINITY, f64::max);
        Datum::from(Scalar::F64((1..=12).map(f64::from).map(|i| row(i) * most(i)).sum()))
    });
}

#[test]
fn extrema_of_elements_that_are_there_start_from_the_identity() {
    let args = pair((20, 20), (20, 20));
    let text = "(max) C[i,k] := A[i,j] + B[j,k]";
    assert!(!lowered_for(text, &args).contains("init first"));
    assert!(lowered(text).contains("init first"));
    let at = |m: &Datum, i: usize, j: usize| m.to_array().get(&[i, j]).expect("inside").to_f64();
    let wanted = by2(20, 20, |i, k| {
        let sums = (0..20).map(|j| at(&args[0].1, i as usize - 1, j) + at(&args[1].1, j, k as usize - 1));
        sums.fold(f64::NEG_INFINITY, f64::max)
    });
    check(text, &args, "C", wanted);
    check("(max) y[i] := x[i,j]", &[("x", by2(2, 2, |_, _| f64::NEG_INFINITY))], "y", floats(&[f64::NEG_INFINITY; 2]));
}

#[test]
fn strict_products_keep_their_order() {
    // (a * (b * c)) has other bits than ((a * b) * c).
    let args = [("a", floats(&[1e-300])), ("b", floats(&[1e-300])), ("c", floats(&[1e300; 9]))];
    let found = run("y[k] := a[i] * (b[i] * c[k]) strict", &args);
    assert_eq!(found["y"].to_array().get(&[0]).map(|x| x.to_f64()), Some(1e-300));
}

#[test]
fn factors_are_packed_for_rows() {
    let at = |m: &Datum, index: &[usize]| m.to_array().get(index).expect("inside").to_f64();
    let a = crate::support::array(&[9, 12, 20], &(0..2160).map(|n| f64::from(n % 17) - 7.5).collect::<Vec<_>>());
    let b = matrix(20, 9);
    let args = [("a", a.clone()), ("b", b.clone())];
    let text = "D[k,n] := a[k,n,c] * b[c,k]";
    let function = lowered_for(text, &args);
    assert!(function.contains("[k: 9, c: 20] (b = %b[c, k])"), "{function}");
    let wanted = by2(9, 12, |k, n| {
        let (k, n) = (k as usize - 1, n as usize - 1);
        (0..20).map(|c| at(&a, &[k, n, c]) * at(&b, &[c, k])).sum()
    });
    check(text, &args, "D", wanted.clone());
    check(&format!("{text} strict"), &args, "D", wanted);
}

#[test]
fn rows_that_are_apart_are_reduced_first() {
    let (x, y) = (matrix(40, 30), matrix(30, 40));
    let at = |m: &Datum, i: usize, j: usize| m.to_array().get(&[i, j]).expect("inside").to_f64();
    let terms: Vec<f64> = (0..1200).map(|n| at(&x, n / 30, n % 30) * at(&y, n % 30, n / 30)).collect();
    let args = [("X", x), ("Y", y)];
    let text = "s := X[i,j] * Y[j,i]";
    assert!(explained(text, &args).contains("rows along i are reduced first"));
    check(text, &args, "s", Datum::from(Scalar::F64(terms.iter().sum())));
    check(&format!("{text} init=2"), &args, "s", Datum::from(Scalar::F64(2.0 + terms.iter().sum::<f64>())));
    check("s := X[i,j] * Y[j,i] |> sqrt", &args, "s", Datum::from(Scalar::F64(terms.iter().sum::<f64>().sqrt())));
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    check("(max) s := X[i,j] * Y[j,i]", &args, "s", Datum::from(Scalar::F64(most)));
    check("(|) s := X[i,j] > Y[j,i] + 5", &args, "s", Datum::from(Scalar::Bool(false)));
    let wanted = terms.iter().fold(0.0, |sum, x| sum + x);
    let strict = run("s := X[i,j] * Y[j,i] strict", &args);
    assert_eq!(strict["s"].as_scalar(), Some(Scalar::F64(wanted)));
}

#[test]
fn results_are_permuted_behind_the_loops() {
    let text = "C[i,k,b] := A[i,j,b] * B[b,k,j]";
    let array = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        crate::support::array(shape, &(0..count).map(|n| ((n * 5) % 13) as f64 - 6.0).collect::<Vec<_>>())
    };
    let (a, b) = (array(&[12, 30, 20]), array(&[20, 24, 30]));
    let at = |m: &Datum, index: &[usize]| m.to_array().get(index).expect("inside").to_f64();
    let element = |n: usize| {
        let (i, k, batch) = (n / 480, n / 20 % 24, n % 20);
        (0..30).map(|j| at(&a, &[i, j, batch]) * at(&b, &[batch, k, j])).sum::<f64>()
    };
    let wanted = crate::support::array(&[12, 24, 20], &(0..5760).map(element).collect::<Vec<_>>());
    let args = [("A", a.clone()), ("B", b.clone())];
    assert!(axes(text, &args).starts_with("i, b, j (reduced), k;"), "{}", axes(text, &args));
    check(text, &args, "C", wanted.clone());
    check(&format!("{text} strict"), &args, "C", wanted);
}

#[test]
fn squares_are_products() {
    let args = [("x", matrix(30, 20))];
    let text = lowered_for("y[j] := x[i,j]^2", &args);
    assert!(text.contains("yield x, x") && text.contains("dot"), "{text}");
    assert!(lowered_for("y[i,j] := x[i,j]^2", &args).contains("mul x, x"));
    assert!(lowered_for("y[i,j] := x[i,j]^3", &args).contains("power"));
    let z = Array::from_fn(DType::C128, &[2], |_| Scalar::C128(Complex64::new(1.0, 2.0))).expect("memory");
    assert!(lowered_for("y[i] := z[i]^2", &[("z", z.into())]).contains("power"));
}

#[test]
fn points_that_write_one_element_keep_their_order() {
    // The last point wins: of those along `i`, although `k` would read adjacent elements.
    let args = [("J", ints(&[1, 0, 1])), ("A", matrix(3, 4)), ("B", matrix(4, 5))];
    let found = run("H[k, J[i]] := A[i,j] * B[j,k]", &args);
    let plain = run("H[k, i] := A[i,j] * B[j,k]", &args[1..]);
    let at = |m: &Datum, i: usize, j: usize| m.to_array().get(&[i, j]).expect("inside").to_f64();
    for k in 0..5 {
        assert!((at(&found["H"], k, 0) - at(&plain["H"], k, 1)).abs() < 1e-12);
        assert!((at(&found["H"], k, 1) - at(&plain["H"], k, 2)).abs() < 1e-12);
    }
}

#[test]
fn t103_every_dtype_extent_and_adjoint() {
    for dtype in [DType::I64, DType::F32, DType::F64, DType::C64] {
        for n in [2usize, 20, 200] {
            let matrix = |seed: usize| {
                let number = |at: usize| {
                    let (re, im) = ((at * 7 + seed) % 99 + 1, (at * 5 + seed) % 11);
                    Scalar::C128(Complex64::new(re as f64, im as f64)).cast(dtype)
                };
                Datum::from(Array::from_fn(dtype, &[n, n], number).expect("memory"))
            };
            let (a, b) = (matrix(1), matrix(2));
            let elements = |m: &Datum| m.to_array().iter().map(Scalar::to_c128).collect::<Vec<_>>();
            let (x, y) = (elements(&a), elements(&b));
            for (text, is_adjoint) in
                [("C[i,k] := A[i,j] * B[j,k]", false), ("C[i,k] := conj(A[j,i]) * conj(B[k,j])", true)]
            {
                let term = |i: usize, j: usize, k: usize| match is_adjoint {
                    false => x[i * n + j] * y[j * n + k],
                    true => x[j * n + i].conj() * y[k * n + j].conj(),
                };
                let statements = Statements::parse(text).expect("valid");
                let found = statements.call(&[("A", (&a).into()), ("B", (&b).into())]).expect("a result");
                let found = found["C"].to_array();
                assert_eq!(found.dtype(), dtype, "{text}");
                for (at, element) in found.iter().enumerate() {
                    let wanted: Complex64 = (0..n).map(|j| term(at / n, j, at % n)).sum();
                    let error = (element.to_c128() - wanted).norm();
                    assert!(error <= 1e-5 * wanted.norm(), "{text}, {dtype}, {n}: {element} and not {wanted}");
                }
            }
        }
    }
}

#[test]
fn t104_chains_with_other_extents() {
    for n in [2usize, 20] {
        let args = [("X", matrix(n, n + 1)), ("Y", matrix(n + 1, n + 2)), ("Z", matrix(n + 2, n + 1))];
        let at = |m: &Datum, i: usize, j: usize| m.to_array().get(&[i, j]).expect("inside").to_f64();
        let wanted = by2(n, n + 1, |a, d| {
            let terms = (0..=n).flat_map(|b| (0..n + 2).map(move |c| (b, c)));
            let (a, d) = (a as usize - 1, d as usize - 1);
            terms.map(|(b, c)| at(&args[0].1, a, b) * at(&args[1].1, b, c) * at(&args[2].1, c, d)).sum()
        });
        check("W[a,d] := X[a,b] * Y[b,c] * Z[c,d]", &args, "W", wanted);
    }
}
