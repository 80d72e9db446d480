//! Errors: the fault, its place, and the way out.

use super::{a, b, b4, int, one};
use crate::support::*;

#[test]
fn x1_to_x5_ranges() {
    refused(
        &one("D[i,$j] := A[i]"),
        &[a(), ("j", int(1))],
        &["2:5", "a new array has no element at just this position"],
    );
    refused(&one("A2[i] := i^2 (i in 11)"), &[], &["2:20", "a range is expected here", "0..n"]);
    let j = ("J", ints(&(-5..=5).collect::<Vec<_>>()));
    refused(&one("C[j] := A[J[j]]"), &[a(), j], &["`J[j]` is at -5:5, outside of dim 0 with 1:10"]);
    let j = ("J", floats(&[1.0, 2.0]));
    refused(&one("C[j] := A[J[j]]"), &[a(), j], &["`J` has elements of f64, and positions are integers"]);
    let parts = ["ranges of index `i` differ", "1:10 by the position `i` at 2:11", "1:4 by the position `i` at 2:17"];
    refused(&one("C[i] := A[i]+B4[i]"), &[a(), b4()], &parts);
}

#[test]
fn x7_and_x8_positions() {
    let parts =
        ["the range of index `i` is not known", "`i+j` at 2:13 gives none, as it depends on j too", "(i in 0..n)"];
    refused(&one("C[i,j] := A[i+j]"), &[a()], &parts);
    refused(&one("C[i,j] := A[i*j]"), &[a()], &["a position is no product of two indices", "compute another one"]);
    refused(&one("C[i,j] := A[i⊗j]"), &[a()], &["2:14", "found `⊗`"]);
    refused(&one("C[i,j] := A[(i,j)]"), &[a()], &["a tuple is no position"]);
    refused(&one("C[i] := A[i÷2]"), &[a()], &["a position has no `//`"]);
    refused(&one("C[i] := A[0i]"), &[a()], &["does not depend on `i`"]);
    refused(&one("C[i] := A[1.5i]"), &[a()], &["a position is an integer"]);
}

#[test]
fn x10_moved_indices() {
    refused(&one("Z[_+i] := A[i]"), &[a()], &["`_` stands behind the index", "i + _"]);
    refused(&one("Z[J[i]+_] := A[i]"), &[a()], &["`+ _` moves an index alone"]);
    refused(&one("Z[i+_] = A[i]"), &[a(), ("Z", a().1)], &["moves the first index of a new array"]);
}

#[test]
fn x11_and_x12_boundary_modes() {
    refused(
        &one("F[i] := A[mod(i+1)]"),
        &[a()],
        &["the range of index `i` is not known", "every position is allowed there"],
    );
    refused(&one("F[i] := A[pad(2i)]"), &[a()], &["the range of index `i` is not known"]);
    refused(&one("G[mod(i)] := A[i]"), &[a()], &["the left side has no boundary mode"]);
    refused(&one("F[i] := A[clamp(i)+1]"), &[a()], &["`clamp` is the outermost part of a position"]);
    refused(&one("F[i+_] := A[pad(i,1)] pad=im"), &[a()], &["is no value of i64"]);
    refused(&one("F[i+_] := A[pad(i,1)] pad=0.5"), &[a()], &["is no value of i64"]);
}

#[test]
fn x13_nothing_to_reduce() {
    refused(&one("(max) A2[i] := A[i]^2"), &[a()], &["there is nothing to reduce by `max`"]);
    refused(&one("A2[i] := A[i]^2 init=0"), &[a()], &["`init` is the start of a reduction, and nothing is reduced"]);
    refused(&one("A2[i] := A[i]^2 |> sqrt"), &[a()], &["there is no reduction that this finisher could finish"]);
}

#[test]
fn x14_assignments_that_do_not_go_with_a_reduction() {
    refused(&one("A[i] ^= A[i]"), &[a()], &["`^=` combines by a reduction, and none is stated"]);
    refused(&one("(*) A[i] ^= A[i]"), &[a()], &["`^=` is for other reductions than `*`", "`*=`"]);
    refused(
        &one("(*) s += A[i]"),
        &[a(), ("s", int(1))],
        &["`+=` does not go with the reduction `*`", "write `*=` with it"],
    );
    refused(
        &one("(max) s *= A[i]"),
        &[a(), ("s", int(1))],
        &["`*=` does not go with the reduction `max`", "write `^=` with it"],
    );
    refused(&one("y[i] := sum(A[j]) * A[i]"), &[a()], &["there is no function `sum`", "`sum[j](...)`"]);
}

#[test]
fn x15_results_and_dims() {
    refused(&one("_[i,j] = A[i]+A[j]"), &[a()], &["a result without a name is new"]);
    refused(&one("A[i] := A[i]+1"), &[a()], &["`A` is new on the left side, and read on the right side"]);
    refused(&one("C[i,j] := A[i,j]"), &[a()], &["`A` has 1 dims and is read at 2 positions"]);
    refused(
        &one("D[i] = A[i]"),
        &[a(), ("D", by2(2, 2, |_, _| 0.0))],
        &["`D` has 2 dims and is written at 1 position"],
    );
}

#[test]
fn x16_finishers() {
    let args = [("x", by2(2, 3, |i, j| i + j)), ("y", floats(&[1.0, 2.0, 3.0]))];
    refused("s[i] := x[i,j] |> _ * y[j]", &args, &["`j` is reduced, so a finisher can't use it"]);
    refused("s[i] := x[i,j] |> _ * y[i]", &args, &["ranges of index `i` differ"]);
}

#[test]
fn x17_arrays_of_arrays() {
    refused("y[i,j] := x[i][j]", &[("x", b().1)], &["`x` has 1 dims and is read at 2 positions"]);
    refused("y[i,j] := xt[i].b[j]", &[("xt.b", b().1)], &["`xt.b` has 1 dims and is read at 2 positions"]);
    refused("y[i,j] := xt[i].b[j]", &[("xt", b().1)], &["the program has no input `xt`", "`xt.b`"]);
}

#[test]
fn x18_options() {
    refused("y[i] := x[i] threads=maybe", &[b()], &["`threads` is true, false or a number from 1"]);
    refused("y[i] := x[i] verbose=4", &[b()], &["`verbose` is true or false"]);
    refused("y[i] := x[i] grad=true", &[b()], &["no gradients"]);
    refused("y[i] := x[i] key=1", &[b()], &["there is no option `key`"]);
    refused("y[i] := x[i] cuda=256", &[b()], &["there is no device back end"]);
    refused("y[i] := x[i] device=gpu", &[b()], &["there is no device back end"]);
    refused("y[i] := x[i] avx=x", &[b()], &["`avx` is true or false"]);
}

#[test]
fn x19_scatters_out_of_bounds() {
    let args = [a(), ("J", ints(&[2, 3, 13, 2])), ("D", by2(10, 10, |_, _| 999.0))];
    refused(&one("D[J[i],j] = A[j]"), &args, &["`J[i]` is at 2:13, outside of dim 0 with 1:10"]);
}

#[test]
fn two_points_that_write_one_element_are_shown() {
    let args = [("C", floats(&[0.0; 4])), ("x", floats(&[1.0, 2.0, 3.0])), ("y", floats(&[1.0, 2.0]))];
    refused("C[i+j] = x[i]*y[j]", &args, &["the points (i=0, j=1) and (i=1, j=0) write one element", "+="]);
}

#[test]
fn names_that_are_not_there() {
    refused("y[i] := x[i] + z[i]", &[("x", b().1)], &["`z` is not given", "1:16"]);
    refused("y[i] := sqr_t(x[i])", &[("x", b().1)], &["there is no function `sqr_t`", "did you mean `sqrt`"]);
    refused("y[i] := x[i]", &[("x", b().1), ("i", int(2))], &["has no input `i`", "write `$i` for a scalar"]);
    refused("y[i] = x[i]", &[("x", b().1)], &["`y` is not given"]);
}

#[test]
fn floats_do_not_go_into_integers() {
    refused("x[i] = 0.5", &[("x", b().1)], &["`x` has elements of i64, and the new ones are f64", "i64(...)"]);
    refused("x[i] /= 2", &[("x", b().1)], &["the new ones are f64"]);
}

#[test]
fn texts_that_are_no_statements() {
    for (text, part) in [
        ("", "there is no statement"),
        ("C[i", "`,` or `]` is expected here, found the end"),
        ("C[i] := ", "an expression is expected here, found the end"),
        ("C[i] := A[i] B[i]", "an option or the end of the line is expected here, found `[`"),
        ("C[i] := A[i] B", "there is no option `B` here"),
        ("C[i] A[i]", "an assignment"),
        ("C[i] := A[i] @", "begins no part of a statement"),
        ("C[i] := A[i] < B[i] < 2", "comparisons do not chain"),
        ("C[i] := 99999999999999999999999", "too large"),
    ] {
        refused(text, &[], &[part]);
    }
    let deep = format!("s := {}1{}", "(".repeat(5000), ")".repeat(5000));
    refused(&deep, &[], &["nests deeper than"]);
    let long = format!("s := {}1", "1 + ".repeat(5000));
    refused(&long, &[], &["operations in a row"]);
    let signs = format!("s := {}1", "-".repeat(5000));
    refused(&signs, &[], &["nests deeper than"]);
}

#[test]
fn positions_that_a_call_computes_have_places() {
    let x = ("x", ints(&[5, 6, 7]));
    let run = |text: &str, parts: &[&str]| {
        let j = ("J", ints(&[1, 5]));
        let args = if text.contains('J') { vec![x.clone(), j] } else { vec![x.clone()] };
        refused(text, &args, parts);
    };
    run("y[i] := { p = 2i; x[p] } (i in 0..4)", &["1:21", "`p` is at 4, outside of dim 0 of `x` with 0..3", "smaller"]);
    run(&one("y[i] := { p = 2i; x[p] } (i in 1:4)"), &["2:21", "`p` is at 4, outside of dim 0 of `x` with 1:3"]);
    let moved = "set one_based, origin x[-3]\ny[i] := { p = 2i - 4; x[p] } (i in 1:4)";
    run(moved, &["2:25", "`p` is at 0, outside of dim 0 of `x` with -3:-1"]);
    run("y[i] := x[mod(i, 2..5)] (i in 0..2)\n", &["1:11", "`mod(i, 2..5)` is at 3, outside of dim 0"]);
    // Positions from an earlier statement, in an expression that later ones are fused with.
    let computed = "p[k] := 2J[k]\ny[k] := x[p[k]]\nz[k] := y[k] + 1";
    run(computed, &["2:11", "`p[k]` is at 10, outside of dim 0 of `x` with 0..3", "`pad`"]);
    run("p[k] := J[k] - 1\ny[k] := x[J[p[k]]]", &["2:13", "`p[k]` is at 4, outside of dim 0 of `J` with 0..2"]);
    run("p[k] := 2J[k]\nx[p[k]] += 1", &["2:3", "`p[k]` is at 10, outside of dim 0 of `x` with 0..3"]);
    run("p[k] := 2J[k]\ny[k] := x[p[k] - 2] + x[p[k] - 9]", &["2:25", "`p[k] - 9` is at -7"]);
    let parts = ["2:11", "`p[k] - 1` is at 4, outside of dim 0 of `x`"];
    run("p[k] := J[k]\ny[k] := x[p[k] - 1]\nz[k] := x[p[k] - 2] + y[k]", &parts);
    run("k := J[1]\ny := x[$k]", &["2:8", "`$k` is at 5, outside of dim 0 of `x` with 0..3"]);
    refused("(max) m := x[i]", &[("x", ints(&[]))], &["1:1", "no max of zero elements"]);
}

#[test]
fn calls_after_brackets_and_positions_lead_on() {
    let x = ("x", ints_of(&[2, 3], &[5, 6, 7, 1, 2, 3]));
    refused("y[i] := max[k](0, x[i,k])", &[x.clone()], &["1:17", "`max[...]` reduces one expression"]);
    refused("y[i] := mean[j](x[i,j])", &[x.clone()], &["this is no reduction of a part", "`sum`, `prod`"]);
    refused("m[i] := max(x[i,j])", &[x.clone()], &["`max` has 2 arguments, not 1", "max[i](x[i])"]);
    refused("(argmax) p := (x[i,j], (i,j))", &[x.clone()], &["`(max)` compares longer tuples"]);
    refused("y := x[0]", &[x.clone()], &["2 dims and is read at 1 position", "flat(A)[i]"]);
    refused("y[i] := x[i,-1]", &[x.clone()], &["the last one is `end`"]);
    refused("y[i] := mod(i, 5..5) (i in 0..2)", &[], &["this range is empty"]);
    // A computed scalar is one position for all points.
    let (b, k) = (("B", ints(&[1, 2])), ("K", ints(&[2])));
    let meet = "k := K[0]\nx[i + j, $k] = B[i] (j in 0..1)\ny[i + j, $k] = B[i] (j in 0..2)";
    let y = ("y", ints_of(&[3, 3], &[0; 9]));
    let parts = ["the points (i=0, j=1) and (i=1, j=0) write one element"];
    refused(meet, &[x.clone(), y.clone(), b.clone(), k.clone()], &parts);
    check("k := K[0]\ny[i + 0, $k] += B[i] * 10", &[y, b, k], "y", ints_of(&[3, 3], &[0, 0, 10, 0, 0, 20, 0, 0, 0]));
    let d = ("D", ints(&[0; 6]));
    let parts = ["2:3", "depends on an index and on a computed scalar", "`p[i]`"];
    refused("k := x[1,0]\nD[i+$k*j] = i (i,j in 0..2)", &[x, d], &parts);
}
