//! Range inference.

use super::{a, b, b4, int, one, q, scalar};
use crate::support::*;
use rewright::Datum;

#[test]
fn t36_to_t38_scales_and_shifts() {
    check(&one("C[i] := A[2i+1]+A[i]"), &[a()], "C", ints(&[10, 29, 58, 97]));
    let shifted = |text: &str, args: &[Named], wanted: &str, values: &[i64]| {
        assert_eq!(range(&one(text), args, "i"), wanted, "{text}");
        check(&one(text), args, "C", ints(values));
    };
    shifted("C[i] := A[2i+5] origin", &[a()], "-2:2", &[1, 9, 25, 49, 81]);
    shifted("C[i] := A[2i+$j] origin", &[a(), ("j", int(7))], "-3:1", &[1, 9, 25, 49, 81]);
    shifted("C[i] := A[end-2i] origin", &[a()], "0:4", &[100, 64, 36, 16, 4]);
    shifted("C[i] := A[end-2begin-i] origin", &[a()], "-2:7", &[100, 81, 64, 49, 36, 25, 16, 9, 4, 1]);
}

#[test]
fn t39_ranges_of_reduced_indices() {
    let text = one("L[i] := A[i+j+1] (j in -1:1)");
    assert_eq!(range(&text, &[a()], "i"), "1:8");
    check(&text, &[a()], "L", ints(&[14, 29, 50, 77, 110, 149, 194, 245]));
}

#[test]
fn t40_and_t41_reversals() {
    for e in ["-1i", "-i", "-i+0", "0-i"] {
        assert_eq!(range(&one(&format!("C[i+_] := A[{e}]")), &[a()], "i"), "-10:-1", "{e}");
    }
    let text = one("Z[i+_] := A[2i+10]");
    assert_eq!(range(&text, &[a()], "i"), "-4:0");
    check(&text, &[a()], "Z", ints(&[4, 16, 36, 64, 100]));
}

#[test]
fn t42_two_indices_in_a_position() {
    let cases: [(&[&str], &str); 8] = [
        (&["i+j", "j+i+0", "(j+i)*1"], "0:6"),
        (&["2i+j", "1j+2i"], "0:3"),
        (&["i+2j"], "-1:2"),
        (&["2i+2j", "2(i+j)", "2i-1+2j"], "0:1"),
        (&["2i+2j+5"], "-3:-2"),
        (&["2i+2j-5", "2i+2(j-2)-1", "2(0+i)+(2j-4)-1"], "2:3"),
        (&["i-j", "-(-i+j)", "-(j-i)", "-1*(j-i)", "i+(-j)", "-j+i", "-1j+i", "-1j-(-i)"], "5:11"),
        (&["i-2j", "-2j+i"], "9:12"),
    ];
    let mut count = 0;
    for (forms, wanted) in cases {
        for e in forms {
            let text = one(&format!("I[i+_,j] := A[{e}]+0*B4[j]"));
            assert_eq!(range(&text, &[a(), b4()], "i"), wanted, "{e}");
            run(&text, &[a(), b4()]);
            count += 1;
        }
    }
    let text = one("I[i+_,j] := A[2i-2j]+0*B4[j]");
    assert_eq!(range(&text, &[a(), b4()], "i"), "5:6");
    assert_eq!(count + 1, 24);
}

#[test]
fn t44_the_range_is_the_largest() {
    let forms: [(&str, i64, i64); 23] = [
        ("i+1", 1, 1),
        ("i+2", 1, 2),
        ("3+i", 1, 3),
        ("-i", -1, 0),
        ("i-1", 1, -1),
        ("1-i", -1, 1),
        ("2-i", -1, 2),
        ("1+(-i)", -1, 1),
        ("-i+1", -1, 1),
        ("-i-1", -1, -1),
        ("1-(2-i)", 1, -1),
        ("1-(-i+2)", 1, -1),
        ("2i", 2, 0),
        ("2i+1", 2, 1),
        ("-1+2i", 2, -1),
        ("1-3i", -3, 1),
        ("1-3(i+4)", -3, -11),
        ("i+1+2", 1, 3),
        ("1+2+i", 1, 3),
        ("2i+3+4", 2, 7),
        ("1+2+3i+4", 3, 7),
        ("1+2+3+4(-i)", -4, 6),
        ("(2i+1)*3+4", 6, 7),
    ];
    let mut count = 0;
    for (lo, hi) in [(1i64, 10i64), (0, 10), (0, 11), (0, 12), (-1, 13)] {
        let r = ("r", ints(&(lo..=hi).collect::<Vec<_>>()));
        for (form, c, d) in forms {
            let text = format!("set one_based, origin r[{lo}]\nC[i+_] := r[{form}]");
            let inside = |i: i64| (lo..=hi).contains(&(c * i + d));
            let all: Vec<i64> = (-100..=100).filter(|i| inside(*i)).collect();
            let wanted = format!("{}:{}", all[0], all[all.len() - 1]);
            assert_eq!(range(&text, &[r.clone()], "i"), wanted, "{form} in {lo}:{hi}");
            check(&text, &[r.clone()], "C", ints(&all.iter().map(|i| c * i + d).collect::<Vec<_>>()));
            count += 1;
        }
        let padded = |form: &str, by: (i64, i64)| {
            let text = format!("set one_based, origin r[{lo}]\nC[i+_] := r[{form}]");
            assert_eq!(range(&text, &[r.clone()], "i"), format!("{}:{}", lo - by.0, hi + by.1), "{form}");
        };
        padded("pad(i,2)", (2, 2));
        padded("pad(i+1,2,5)", (3, 4));
    }
    assert_eq!(count, 115);
}

#[test]
fn t46_any_shifted_use_intersects() {
    let text = one("C[i] := A[i]+B4[i+0]");
    assert_eq!(range(&text, &[a(), b4()], "i"), "1:4");
    check(&text, &[a(), b4()], "C", ints(&[2, 6, 12, 20]));
}

#[test]
fn t47_to_t49_stencils_and_convolutions() {
    let half = [72.5, 42.5, 20.5, 6.5, 0.5, 2.5, 12.5, 30.5, 56.5, 90.5];
    check(&one("B[i] := (Q[2i]+Q[2i+1])/2"), &[q()], "B", floats(&half));
    let text = one("M[i,j] := Q[i+j-1] (j in 1:15)");
    assert_eq!(range(&text, &[q()], "i"), "1:7");
    let (one_way, other) = (run(&text, &[q()]), run(&one("M[i+_,j] := Q[i+j] (j in 1:15)"), &[q()]));
    assert_eq!(one_way["M"].to_string(), other["M"].to_string());
    assert_eq!(range(&one("M[i+_,j] := Q[i+j] (j in 1:15)"), &[q()], "i"), "0:6");
    let k = ("K", ints(&[1, -1, 2, -1, 1]));
    let text = "set one_based, origin K[-2]\nC[i] := Q[i+j]*K[j] origin";
    assert_eq!(range(text, &[q(), k.clone()], "i"), "3:19");
    let wanted = [134, 104, 78, 56, 38, 24, 14, 8, 6, 8, 14, 24, 38, 56, 78, 104, 134];
    check(text, &[q(), k.clone()], "C", ints(&wanted));
    let text = "set one_based, origin K[-2]\nD[i+_,j+_] := Q[2K[j]+i] ÷ K[j]";
    assert_eq!(range(text, &[q(), k.clone()], "i"), "3:17");
    let d = run(text, &[q(), k]);
    let row =
        |i: usize| (0..5).map(|j| d["D"].to_array().get(&[i - 3, j]).expect("inside").to_f64()).collect::<Vec<_>>();
    assert_eq!(row(3), [36.0, -100.0, 8.0, -100.0, 36.0]);
    assert_eq!(row(17), [64.0, -16.0, 50.0, -16.0, 64.0]);
}

#[test]
fn t51_to_t53_the_order_of_the_text_does_not_matter() {
    let x = ("x", ints(&(1..=10).collect::<Vec<_>>()));
    let text = one("res[i] := x[i+Δ]+x[i+Δ+1] (i in 1:9)");
    assert_eq!(range(&text, &[x.clone()], "Δ"), "0:0");
    check(&text, &[x.clone()], "res", ints(&(1..=9).map(|i| 2 * i + 1).collect::<Vec<_>>()));
    let args = [x.clone(), ("z", x.1.clone()), ("w", ints(&[1, 1, 1]))];
    for text in ["y[i+_,k+_] := x[i+a]*z[k+a]*w[a]", "y[i+_,k+_] := w[a]*z[k+a]*x[i+a]"] {
        assert_eq!(range(&one(text), &args, "i"), "0:7", "{text}");
        assert_eq!(range(&one(text), &args, "k"), "0:7", "{text}");
    }
    let args = [x.clone(), ("y", x.1), ("w", ints(&[1, 1, 1]))];
    for text in ["s := x[i+j]*y[j+k]*w[k]", "s := y[j+k]*x[i+j]*w[k]"] {
        assert_eq!(["k", "j", "i"].map(|i| range(&one(text), &args, i)), ["1:3", "0:7", "1:3"], "{text}");
        run(&one(text), &args);
    }
}

#[test]
fn t54_every_access_is_verified() {
    let of = |n: i64| ints(&(1..=n).collect::<Vec<_>>());
    let args = [("u", of(8)), ("w", of(3)), ("x", of(10))];
    let parts = ["`i+j` is at 2:11, outside of dim 0 with 1:10", "`i` in 1:8", "`j` in 1:3"];
    refused(&one("s := u[i]*w[j]*x[i+j]"), &args, &parts);
}

#[test]
fn t55_explicit_ranges_that_shrink_are_told() {
    let text = one("a[i] := (1:3)[i+1] (i in 1:5)");
    assert_eq!(range(&text, &[], "i"), "1:2");
    assert!(explained(&text, &[]).contains("warning: the range 1:5 of index `i` shrinks to 1:2"));
    check(&text, &[], "a", ints(&[2, 3]));
}

#[test]
fn t56_and_t58_differences_and_traces() {
    let arr = ("arr", ints_of(&[2, 2], &[1, 2, 3, 4]));
    check(&one("r := arr[i,k]-arr[i-1,k]"), &[arr.clone()], "r", int(4));
    check(&one("r := arr[i,k]-arr[i,k+1]"), &[arr], "r", int(-2));
    check(&one("s := A[a,b,a,b]"), &[("A", array(&[2, 2, 2, 2], &[1.0; 16]))], "s", scalar(4.0));
}

#[test]
fn symbolic_extents_have_one_symbol_for_equal_dims() {
    let module = |text: &str| {
        let statements = rewright_index::Statements::parse(text).expect("valid");
        let lowered = statements.lower(&statements.symbolic_types()).unwrap_or_else(|e| panic!("{e}"));
        lowered.module.to_string()
    };
    let product = module("C[i, k] := A[i, j] * B[j, k]");
    assert!(product.contains("%A: f64[n_i, n_j], %B: f64[n_j, n_k]) -> f64[n_i, n_k]"), "{product}");
    let convolution = module("C[i] := x[i+a] * w[a]");
    assert!(convolution.contains("[a: reduce n_a, i: n_x_0 + 1 - n_a]"), "{convolution}");
}

#[test]
fn undecided_ranges_ask_for_arrays() {
    let statements = rewright_index::Statements::parse("C[i] := A[i] + B[i+0]").expect("valid");
    let error = statements.lower(&statements.symbolic_types()).expect_err("undecided").to_string();
    assert!(error.contains("only the extents of a call decide the range of index `i`"), "{error}");
    let args: [(&str, Datum); 2] = [("A", b().1), ("B", b4().1)];
    check(
        "C[i] := A[i] + B[i+0]",
        &args.map(|(name, datum)| if name == "A" { ("A", datum) } else { ("B", datum) }),
        "C",
        ints(&[2, 4, 6, 8]),
    );
}
