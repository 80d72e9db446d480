//! One test for each feature of the notation, by its number in the list of Tullio.jl's features (`f1` to
//! `f46`). Cases with more detail are in the other files.

use super::{int, one, scalar};
use crate::support::*;
use rewright::{DType, Datum, Scalar};

fn x() -> Named {
    ("x", floats(&[1.0, 2.0, 3.0]))
}

fn m() -> Named {
    ("M", by2(2, 3, |i, j| 10.0 * i + j))
}

#[test]
fn f1_new_arrays_reduce_around_the_whole_right_side() {
    check("y[i] := M[i, j] * 2 + 1", &[m()], "y", floats(&[75.0, 135.0]));
}

#[test]
fn f2_assignments_write_the_inferred_points_only() {
    check("E[i] = x[i+1]", &[x(), ("E", floats(&[9.0; 4]))], "E", floats(&[2.0, 3.0, 9.0, 9.0]));
}

#[test]
fn f3_accumulating_assignments_start_from_old_elements() {
    check("C[i] += M[i, j]", &[m(), ("C", floats(&[1.0, 2.0]))], "C", floats(&[37.0, 68.0]));
    check("C[i] *= x[i]", &[x(), ("C", floats(&[1.0, 2.0, 3.0]))], "C", floats(&[1.0, 4.0, 9.0]));
    check("(max) C[i] ^= x[i]", &[x(), ("C", floats(&[2.0; 3]))], "C", floats(&[2.0, 2.0, 3.0]));
}

#[test]
fn f4_scalars() {
    check("s := x[i]", &[x()], "s", scalar(6.0));
    check("s *= x[i]", &[x(), ("s", int(2))], "s", scalar(12.0));
}

#[test]
fn f5_dims_of_extent_one_and_fixed_positions() {
    check("Z[_, i] := x[i]", &[x()], "Z", by2(1, 3, |_, j| j));
    let zeros = ("D", by2(3, 4, |_, _| 0.0));
    check("D[i, end-3] = x[i]", &[x(), zeros.clone()], "D", by2(3, 4, |i, j| if j == 1.0 { i } else { 0.0 }));
    check("D[i, 1] = x[i]", &[x(), zeros], "D", by2(3, 4, |i, j| if j == 2.0 { i } else { 0.0 }));
}

#[test]
fn f6_results_without_a_name() {
    check("_[i] := x[i] + 1", &[x()], "_", floats(&[2.0, 3.0, 4.0]));
}

#[test]
fn f7_diagonals() {
    check("D[i, i] := x[i]", &[x()], "D", by2(3, 3, |i, j| if i == j { i } else { 0.0 }));
    check("D[i, i] := x[i] pad=7", &[x()], "D", by2(3, 3, |i, j| if i == j { i } else { 7.0 }));
}

#[test]
fn f8_moved_indices() {
    check("y[i+_] := x[i-2]", &[x()], "y", x().1);
}

#[test]
fn f9_positions_on_the_left_that_are_not_injective() {
    let args = [x(), ("C", floats(&[0.0; 5])), ("y", floats(&[1.0, 10.0, 100.0]))];
    check("C[i+j] += x[i]*y[j]", &args, "C", floats(&[1.0, 12.0, 123.0, 230.0, 300.0]));
    refused("C[i+j] = x[i]*y[j]", &args, &["write one element"]);
}

#[test]
fn f10_named_dims() {
    let text = "T[row=i, col=j] := M[i, j]\nU[i] := T[col=1, row=i]";
    check(text, &[m()], "U", floats(&[12.0, 22.0]));
    check("set dims M[row, col]\nS[i, j] := M[col=j, row=i]", &[m()], "S", m().1);
    let zeros = ("D", by2(2, 3, |_, _| 0.0));
    check("set dims D[row, col]\nD[col=j, row=i] = M[i, j]", &[m(), zeros.clone()], "D", m().1);
    check(
        "set dims D[row, col]\nD[col=1, row=i] += x[i+0]",
        &[x(), zeros.clone()],
        "D",
        by2(2, 3, |i, j| if j == 2.0 { i } else { 0.0 }),
    );
    refused("D[col=j, row=i] = M[i, j]", &[m(), zeros], &["the dims of `D` have no names"]);
    refused("S[i, j] := M[col=j, row=i]", &[m()], &["the dims of `M` have no names", "set dims M[row, col]"]);
    refused("set dims M[row, col]\nS[i, j] := M[col=j, line=i]", &[m()], &["`M` has no dim `line`"]);
    refused("set dims M[row, col]\nS[j] := M[col=j]", &[m()], &["dim `row` has no position"]);
}

#[test]
fn f11_primes() {
    check("y[i'] := x[i′]", &[x()], "y", x().1);
}

#[test]
fn f12_plain_ranges_are_equal() {
    refused("y[i] := x[i] + z[i]", &[x(), ("z", floats(&[1.0]))], &["ranges of index `i` differ"]);
    refused("y[i] := x[i, j]", &[x()], &["`x` has 1 dims and is read at 2 positions"]);
}

#[test]
fn f13_any_shift_intersects() {
    check("y[i] := x[i+0] + z[i]", &[x(), ("z", floats(&[1.0]))], "y", floats(&[2.0]));
}

#[test]
fn f14_scales_and_nested_forms() {
    assert_eq!(range("s := x[2i+1]", &[("x", floats(&[0.0; 9]))], "i"), "0..4");
    assert_eq!(range("s := x[(2i+1)*3+4]", &[("x", floats(&[0.0; 40]))], "i"), "-1..6");
    assert_eq!(range("s := x[1-3(i+4)]", &[("x", floats(&[0.0; 9]))], "i"), "-6..-3");
    check("s := x[2i+$j]", &[x(), ("j", int(0))], "s", scalar(4.0));
}

#[test]
fn f15_two_indices_are_safe_for_all_values() {
    assert_eq!(range("y[i+_] := x[i-j] * 0 (j in 0..2)", &[x()], "i"), "1..3");
}

#[test]
fn f16_resolution_does_not_depend_on_the_text() {
    for text in ["s := x[i+j] * w[j]", "s := w[j] * x[i+j]"] {
        assert_eq!(range(text, &[x(), ("w", floats(&[1.0, 1.0]))], "i"), "0..2", "{text}");
    }
}

#[test]
fn f17_explicit_ranges() {
    check("y[i] := i (i in 0..3)", &[], "y", ints(&[0, 1, 2]));
    refused("y[i] := x[i] (i in 0..2)", &[x()], &["ranges of index `i` differ", "by the range `0..2`"]);
    refused("y[i] := i (i in n)", &[("n", int(3))], &["a range is expected here"]);
    // With a step, as NumPy's slices; in one-based programs the step is in the middle.
    check("y[i+_] := i (i in 1:8:3)", &[], "y", ints(&[1, 4, 7]));
    check("y[i+_] := i (i in 7:0:-3)", &[], "y", ints(&[7, 4, 1]));
    check("y[i+_] := i (i in 0:0:2)", &[], "y", ints(&[]));
    check("set one_based\ny[i+_] := i (i in 1:3:7)", &[], "y", ints(&[1, 4, 7]));
    check("y[i+_] := x[i] (i in 0:n:2)", &[x(), ("n", int(3))], "y", floats(&[1.0, 3.0]));
    check("E[i] = x[i] (i in 0:3:2)", &[x(), ("E", floats(&[0.0; 3]))], "E", floats(&[1.0, 0.0, 3.0]));
    check("s := x[i] * sum[k in 0:3:2](x[k])", &[x()], "s", scalar(24.0));
    check("y[i] := x[i+k] (k in 0:2:1)", &[x()], "y", floats(&[3.0, 5.0]));
    refused("y[i] := x[i] (i in 0:3:2)", &[x()], &["this index has a step", "y[i + _]"]);
    refused("s := x[i] (i in 0:3:0)", &[x()], &["the step of a range is 0"]);
    refused("s := x[i] (i in 0:3:n)", &[x(), ("n", int(1))], &["the step of a range is a number"]);
    refused("s := x[i] (i in 0:3:2) (i in 0..2)", &[x()], &["`i` has a range with a step"]);
}

#[test]
fn f18_origins() {
    refused("y[i] := x[i-2]", &[x()], &["index `i` has the range 2..5", "i + _"]);
    check("y[i] := x[i-2] origin", &[x()], "y", x().1);
    check("set origin x[-1]\ny[i] := x[i-1]", &[x()], "y", x().1);
}

#[test]
fn f19_positions_in_row_major_order() {
    check("v[i] := flat(M)[i]", &[m()], "v", floats(&[11.0, 12.0, 13.0, 21.0, 22.0, 23.0]));
    check("v[i] := flat(M)[2i+1]", &[m()], "v", floats(&[12.0, 21.0, 23.0]));
    refused("v[i] := M[i]", &[m()], &["`M` has 2 dims and is read at 1 position"]);
}

#[test]
fn f20_wrapped_and_clamped() {
    check("y[i] := x[mod(i+1)] (i in 0..4)", &[x()], "y", floats(&[2.0, 3.0, 1.0, 2.0]));
    check("y[i] := x[clamp(i-1)] (i in 0..5)", &[x()], "y", floats(&[1.0, 1.0, 2.0, 3.0, 3.0]));
}

#[test]
fn f21_padded() {
    check("y[i+_] := x[pad(i, 1, 2)] pad=9", &[x()], "y", floats(&[9.0, 1.0, 2.0, 3.0, 9.0, 9.0]));
    refused("y[i] := x[pad(i, 1)] + x[i]", &[x()], &["ranges of index `i` differ"]);
    // A range that is stated stays in the padding.
    let beyond = "y[i, a] := x[pad(i + a, 0)] (i in 0..3, a in 0..9)";
    refused(beyond, &[x()], &["outside of dim 0 with 0..3", "pad more"]);
    let rows = floats(&[0.0, 1.0, 2.0, 1.0, 2.0, 3.0, 2.0, 3.0, 0.0]);
    let flat = "z[3i + a] = x[pad(i + a - 1, 1)] (i in 0..3, a in 0..3)";
    check(flat, &[x(), ("z", floats(&[9.0; 9]))], "z", rows);
}

#[test]
fn f22_fixed_and_captured_positions() {
    check("y[i] := M[i, $c]", &[m(), ("c", int(2))], "y", floats(&[13.0, 23.0]));
    check("y[i] := M[i, $(c-1)]", &[m(), ("c", int(2))], "y", floats(&[12.0, 22.0]));
    check("y[i] := M[i, 0]", &[m()], "y", floats(&[11.0, 21.0]));
}

#[test]
fn f23_gathers() {
    let j = ("J", ints(&[2, 0]));
    check("y[k] := x[J[k]]", &[x(), j.clone()], "y", floats(&[3.0, 1.0]));
    check("y[k, i+_] := x[J[k]-i] (i in 0..1)", &[x(), j.clone()], "y", array(&[2, 1], &[3.0, 1.0]));
    check("y[k] := x[2J[k]-2J[k]+k]", &[x(), j], "y", floats(&[1.0, 2.0]));
}

#[test]
fn f24_scatters() {
    let j = ("J", ints(&[2, 0, 2]));
    check("h[J[k]] := x[k]", &[x(), j.clone()], "h", floats(&[2.0, 0.0, 3.0]));
    check("h[J[k]] += x[k]", &[x(), j.clone(), ("h", floats(&[1.0; 3]))], "h", floats(&[3.0, 1.0, 5.0]));
    refused("h[J[k]] += x[k]", &[x(), j, ("h", floats(&[1.0; 2]))], &["outside of dim 0 with 0..2"]);
}

#[test]
fn f25_slices_are_refused() {
    refused("y[i] := M[i, :]", &[m()], &["`:` is no position here"]);
}

#[test]
fn f30_all_elementwise_ops_are_functions() {
    check("y[i] := hypot(x[i], cbrt(8)) + erf(0)", &[x()], "y", floats(&[1.0f64, 2.0, 3.0].map(|x| x.hypot(2.0))));
    refused("y[i] := hypott(x[i], 2)", &[x()], &["there is no function `hypott`", "did you mean `hypot`?"]);
}

#[test]
fn f31_indices_are_numbers_and_truth_values_too() {
    check("y[i, j] := x[j] * (j <= i) (i in 0..2)", &[x()], "y", array(&[2, 3], &[1.0, 0.0, 0.0, 1.0, 2.0, 0.0]));
    check("n := (x[i] > 1) + (x[i] > 2)", &[x()], "n", int(3));
}

#[test]
fn f32_scalars_from_outside() {
    check("y[i] := $α * x[i] + k", &[x(), ("α", scalar(2.0)), ("k", int(1))], "y", floats(&[3.0, 5.0, 7.0]));
}

#[test]
fn f33_tuples_are_an_array_for_each_part() {
    let text = "M[i,j] := (r=i, c=x[j])";
    check(&format!("{text} (i in 0..2)"), &[x()], "M.r", ints_of(&[2, 3], &[0, 0, 0, 1, 1, 1]));
    check(&format!("{text} (i in 0..2)"), &[x()], "M.c", array(&[2, 3], &[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]));
    check("P[i] := (x[i], (i, 2i))\ny[i] := P[i].0 + P[i].2", &[x()], "y", floats(&[1.0, 4.0, 7.0]));
    check("p[i] := (a=i, b=x[i])\ny[i] := { a, b = p[i]; a + b }", &[x()], "y", floats(&[1.0, 3.0, 5.0]));
    check("y[i] := { a, b = (x[i], 2); a^b }", &[x()], "y", floats(&[1.0, 4.0, 9.0]));
    refused("p[i] := (i, x[i])\ny[i] := p[i] + 1", &[x()], &["the elements of `p` are tuples", "`p[...].1`"]);
    refused("y[i] = (x[i], i)", &[x(), ("y", x().1)], &["the parts of a tuple are new arrays"]);
    refused("y[i] := 2 * (x[i], i)", &[x()], &["a tuple is no number"]);
    refused("y[i] := { a, b = p[i]; a }", &[("p.0", x().1)], &["`p.1` is not given"]);
    refused("y[i] := { a, b = (i, i, x[i]); a }", &[x()], &["the tuple has 3 parts, and there are 2 names"]);
}

#[test]
fn f33_reductions_of_tuples() {
    let m = ("M", array(&[3, 3], &[4.0, 1.0, 7.0, 2.0, 1.0, 9.0, 2.0, 8.0, 9.0]));
    let least = "(min) m[j] := (M[i,j], i)";
    check(least, &[m.clone()], "m.0", floats(&[2.0, 1.0, 7.0]));
    check(least, &[m.clone()], "m.1", ints(&[1, 0, 0]));
    check(&format!("{least} |> _.1"), &[m.clone()], "m", ints(&[1, 0, 0]));
    check("(max) m[j] := (M[i,j], i) |> _.1", &[m.clone()], "m", ints(&[0, 2, 2]));
    check("(argmax) m[j] := (M[i,j], i) |> _.1", &[m.clone()], "m", ints(&[0, 2, 1]));
    check("(argmin) m := (M[i,j], 3i + j) |> _.1", &[m.clone()], "m", int(1));
    let place = "(min) m := (M[i,j], (i, j)) |> (i=_.1, j=_.2) init=(100, 0, 0)";
    check(place, &[m.clone()], "m.i", int(0));
    check(place, &[m.clone()], "m.j", int(1));
    // Not a number is beyond all numbers.
    let nan = ("x", floats(&[2.0, f64::NAN, 1.0]));
    check("(min) m := (x[i], 0.5, i) |> _.2", &[nan.clone()], "m", int(1));
    check("(min) m := (0.5, x[i], i) |> _.2", &[nan], "m", int(1));
    // Other reductions are part by part.
    let moments = "m[i] := (M[i,j], M[i,j]^2)";
    check(moments, &[m.clone()], "m.0", floats(&[12.0, 12.0, 19.0]));
    check(moments, &[m.clone()], "m.1", floats(&[66.0, 86.0, 149.0]));
    check(
        "v[i] := (M[i,j], M[i,j]^2) |> _.1 / 3 - (_.0 / 3)^2",
        &[m.clone()],
        "v",
        floats(&[6.0, 12.666_666_666_666_66, 9.555_555_555_555_56]),
    );
    refused("(hypot) m[i] := (M[i,j], j) init=(0, 0)", &[m.clone()], &["`hypot` is a function of numbers"]);
    refused("(argmax) m[i] := M[i,j]", &[m.clone()], &["reduce a value and its position"]);
    refused("(argmax) m[i] := (M[i,j], M[i,j])", &[m.clone()], &["the position is f64"]);
    refused("(min) m[i] := (M[i,j], j) init=0", &[m.clone()], &["the initial value has 1 parts"]);
    refused("(min) m[i] := (M[i,j], j) |> _", &[m.clone()], &["the result of the reduction is a tuple", "`_.1`"]);
    refused("(min) m[i] := (M[i,j], j) |> _.2", &[m], &["there is no part `2`"]);
}

#[test]
fn f34_elements_with_positions_and_fields() {
    let c = ("C", by2(2, 3, |i, j| 10.0 * i + j));
    check("y[i,j] := C[i][j]", &[c.clone()], "y", c.1.clone());
    check("y[i][j] := C[i][j]", &[c.clone()], "y", c.1.clone());
    let fields = [("E.b", floats(&[1.0, 2.0])), ("E.c", c.1)];
    check("y[i,j] := E[i].b * E[i].c[j]", &fields, "y", by2(2, 3, |i, j| i * (10.0 * i + j)));
    check("s := p.x + p.y", &[("p.x", int(1)), ("p.y", int(2))], "s", int(3));
    refused("y[i,j] := C[i][j]", &[("C", x().1)], &["`C` has 1 dims and is read at 2 positions"]);
    let xs = ("xs", by2(2, 2, |r, c| r + c));
    check(
        "y[r,c] := (sqrt, abs)[r](xs[r,c])",
        &[xs.clone()],
        "y",
        array(&[2, 2], &[2f64.sqrt(), 3f64.sqrt(), 3.0, 4.0]),
    );
    refused("y[r,c] := (sqrt, abs, exp)[r](xs[r,c])", &[xs.clone()], &["ranges of index `r` differ"]);
    refused("y[r,c] := (sqrt, hypot)[r](xs[r,c])", &[xs], &["`hypot` has 2 arguments"]);
}

#[test]
fn f35_arrays_that_an_expression_makes() {
    check("y[i] := (1..4)[i] * x[i]", &[x()], "y", floats(&[1.0, 4.0, 9.0]));
    check("y[i+_] := sqrt.(x)[i+1]", &[x()], "y", floats(&[1.0, 2f64.sqrt(), 3f64.sqrt()]));
    check("y[i] := ones(3)[k] * x[i]", &[x()], "y", floats(&[3.0, 6.0, 9.0]));
}

#[test]
fn f36_blocks() {
    check("y[i] := { u = x[i] + 1; v = u * u; v - u }", &[x()], "y", floats(&[2.0, 6.0, 12.0]));
    refused("y[i] := { u = x[i] }", &[x()], &["a block ends with its value"]);
    let text = "y[i] := { p = i * i; x[p] } (i in 0..3)";
    refused(text, &[x()], &["`p` is at 4, outside of dim 0 of `x`"]);
}

#[test]
fn f37_every_reduction_has_its_identity() {
    let none = ("x", floats(&[]));
    check("(*) p := x[i]", &[none.clone()], "p", scalar(1.0));
    check("(&) p := x[i] > 0", &[none.clone()], "p", Datum::from(Scalar::Bool(true)));
    refused("(hypot) p := x[i]", &[none], &["has no initial value of its own"]);
}

#[test]
fn f38_initial_values_count_once() {
    let big = ("x", floats(&vec![1.0; 100_000]));
    check("s := x[i] init=2", &[big], "s", scalar(100_002.0));
}

#[test]
fn f39_empty_ranges() {
    let none = ("x", floats(&[]));
    check("s := x[i]", &[none.clone()], "s", scalar(0.0));
    check("y[i] := x[i]", &[none.clone()], "y", floats(&[]));
    check("s := i (i in 5..3)", &[], "s", int(0));
    refused("(min) s := x[i]", &[none], &["zero elements"]);
}

#[test]
fn f40_something_is_reduced() {
    refused("(max) y[i] := x[i]", &[x()], &["there is nothing to reduce by `max`"]);
    refused("y[i] := x[i] |> sqrt", &[x()], &["there is no reduction that this finisher could finish"]);
}

#[test]
fn f41_finishers_once_for_each_element() {
    check("n := x[i]^2 |> sqrt", &[x()], "n", scalar(14f64.sqrt()));
    check("n[i] := sqrt <| M[i, j]", &[m()], "n", floats(&[36f64.sqrt(), 66f64.sqrt()]));
    refused("n[i] := M[i, j] |> _ * j", &[m()], &["`j` is reduced, so a finisher can't use it"]);
    // The old element is a part of the total, however the sum is computed.
    let (y, w) = (|| ("y", floats(&[10.0, 20.0])), || ("w", floats(&[1.0, 1.0, 2.0])));
    for square in ["M[i, j]^2", "M[i, j] * M[i, j]", "abs2(M[i, j])", "M[i, j]^2 + 0"] {
        for strict in ["", " strict"] {
            let wanted = floats(&[444f64.sqrt(), 1474f64.sqrt()]);
            check(&format!("y[i] += {square} |> sqrt{strict}"), &[m(), y()], "y", wanted);
            let sum = ("s", scalar(100.0));
            check(&format!("s += {square} |> sqrt{strict}"), &[m(), sum], "s", scalar(1988f64.sqrt()));
        }
    }
    for strict in ["", " strict"] {
        let text = format!("y[i] += M[i, j] * w[j] |> _ * 10{strict}");
        check(&text, &[m(), y(), w()], "y", floats(&[590.0, 1090.0]));
    }
    // A total that is subtracted is finished first.
    check("y[i] -= M[i, j] * w[j] |> _ * 10", &[m(), y(), w()], "y", floats(&[-480.0, -870.0]));
    let positions = rewright::Array::from_fn(DType::I64, &[2], |_| Scalar::I64(0)).expect("memory");
    let scattered = [m(), y(), ("J", positions.into())];
    refused("y[J[i]] += M[i, j] |> sqrt", &scattered, &["no point has its total", "in a statement of its own"]);
}

#[test]
fn f42_accumulators_are_wide() {
    let narrow = rewright::Array::from_fn(DType::U8, &[3], |_| Scalar::U8(200)).expect("memory");
    check("s := x[i]", &[("x", narrow.into())], "s", Datum::from(Scalar::U64(600)));
}

#[test]
fn f43_threads_do_not_change_results() {
    let big = ("x", floats(&(0..5000).map(f64::from).collect::<Vec<_>>()));
    let wanted = run("y[i] := sin(x[i+k]) (k in 0..9)", &[big.clone()]);
    let threads = ["threads=false", "threads=true", "threads=1", "threads=3"];
    for option in threads.into_iter().chain(["avx=false", "avx=4", "device=cpu", "fastmath=true", "verbose=true"]) {
        let found = run(&format!("y[i] := sin(x[i+k]) (k in 0..9) {option}"), &[big.clone()]);
        assert!(found["y"].to_array().same_bits(&wanted["y"].to_array()), "{option}");
    }
}

#[test]
fn f44_strict_sums_go_from_left_to_right() {
    let values: Vec<f64> = (0..3000).map(|i| 1.0 / f64::from(i + 1)).collect();
    let wanted = values.iter().fold(0.0, |sum, x| sum + x);
    let found = run("s := x[i] strict", &[("x", floats(&values))]);
    assert_eq!(found["s"].as_scalar(), Some(Scalar::F64(wanted)));
    let nan = ("x", floats(&[f64::NAN, 1.0]));
    check("s := x[i]", &[nan], "s", scalar(f64::NAN));
}

#[test]
fn f45_options_have_names_and_values() {
    refused("y[i] := x[i] nograd=x", &[x()], &["no gradients"]);
    assert!(explained("y[i+_] := x[i+1]", &[x()]).contains("reads x[i+1]: in bounds"));
}

#[test]
fn f46_einsum_strings_are_statements() {
    assert_eq!(rewright_index::einsum_statement("ij->ji", &[2]).expect("valid"), "R[j, i] := A0[i, j]");
}

#[test]
fn scalars_of_earlier_statements_are_positions() {
    let args = [("x", ints_of(&[2, 3], &[5, 6, 7, 1, 2, 3])), ("a", ints(&[1, 5]))];
    let found = run("k := a[0]\ny[i] := x[i, $k]\nz[i] := x[i, 2 * $k - i]\nw[i] := x[$(k - 1), i]", &args);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["y", "z", "w"]);
    for (name, wanted) in [("y", ints(&[6, 2])), ("z", ints(&[7, 2])), ("w", ints(&[5, 6, 7]))] {
        assert_eq!(found[name].to_string(), wanted.to_string(), "{name}");
    }
    check(&one("k := a[1]\nx[i, $k] += 10"), &args, "x", ints_of(&[2, 3], &[15, 6, 7, 11, 2, 3]));
    check("k := a[0]\ny[i] := x[0, mod(i + $k)] (i in 0..3)", &args, "y", ints(&[6, 7, 5]));
    // The index has a use beside that of its own.
    check("k := a[0]\ny[j] := x[0, j] + x[0, j + $k] (j in 0..2)", &args, "y", ints(&[11, 13]));
    // A scalar that only a computed position has.
    check("y[i] := { p = i; x[0, p + $q] } (i in 0..2)", &[args[0].clone(), ("q", int(1))], "y", ints(&[6, 7]));
    let parts = ["the ranges depend on the value of `k`", "give it as an input"];
    refused("k := a[0]\ny[i] := x[0, i] (i in 0..$k)", &args, &parts);
    refused("k := 1.5 * a[0]\ny[i] := x[i, $k]", &args, &["this position is f64", "int(x)"]);
}

#[test]
fn numbers_in_ranges() {
    check("y[i] := mod(i - 5, 2..5) (i in 0..6)", &[], "y", ints(&[4, 2, 3, 4, 2, 3]));
    check("y[i] := clamp(i - 1, 0..=2) (i in 0..5)", &[], "y", ints(&[0, 0, 1, 2, 2]));
    check(&one("y[i] := mod(i, 1:3) (i in 1:4)"), &[], "y", ints(&[1, 2, 3, 1]));
    check("y[i] := x[mod(i, 1..size(x, 0))] (i in 0..4)", &[x()], "y", floats(&[3.0, 2.0, 3.0, 2.0]));
    refused("y[i] := x[mod(i, 2)] (i in 0..4)", &[x()], &["`mod` of a position with 2 arguments", "0..n"]);
    refused("y[i] := mod(i) (i in 0..4)", &[], &["`mod` has 2 arguments, not 1", "mod(x, 0..n)"]);
}
