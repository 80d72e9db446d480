//! New arrays and scalars.

use super::{a, int, one, scalar};
use crate::support::*;
use rewright::{Array, Complex64, DType, Datum, Scalar};

#[test]
fn t1_ranges_are_arrays() {
    check(&one("y[i] := (1:10)[i]^2"), &[], "y", a().1);
    check(&one("y[i] := (1:10)[i]*i"), &[], "y", a().1);
}

#[test]
fn t2_diagonals_of_new_arrays() {
    let wanted = by2(10, 10, |i, j| if i == j { i } else { 0.0 });
    check(&one("D[i,i] := trunc(sqrt(A[i]))"), &[a()], "D", wanted);
}

#[test]
fn t3_to_t6_arrays_of_arrays_and_of_tuples() {
    let c = ("C", by2(5, 3, |i, _| i));
    check(&one("M[i,j] := C[i][j]"), &[c.clone()], "M", c.1);
    let e = [a(), ("E.b", a().1), ("E.c", by2(10, 3, |i, j| i * j))];
    check(&one("O[i] := A[i]/E[i].b"), &e[..2], "O", floats(&[1.0; 10]));
    check(&one("F[i,j] := E[i].c[j]"), &e[2..], "F", by2(10, 3, |i, j| i * j));
    let y = ("Y", by2(10, 3, f64::powf));
    let w = run(&one("W[i,j] := Y[i][j]"), &[y.clone()]);
    assert_eq!(w["W"].to_array().get(&[8, 2]).map(|x| x.to_f64()), Some(729.0));
    let v = run(&one("W[i,j] := Y[i][j]\nV[i] := flat(W)[i]^2"), &[y]);
    assert_eq!((v["V"].shape(), v["V"].to_array().get(&[29]).map(|x| x.to_f64())), (&[30][..], Some(1e6)));
}

#[test]
fn t15_tuples() {
    let m = run(&one("M[i,j] := (r=i, c=j) (i in 1:3, j in 1:3)"), &[]);
    let last = |part: &str| m[part].to_array().get(&[2, 2]);
    assert_eq!((last("M.r"), last("M.c")), (Some(Scalar::I64(3)), Some(Scalar::I64(3))));
}

#[test]
fn t7_sums_to_scalars() {
    check(&one("S := A[i]/2"), &[a()], "S", scalar(192.5));
    check(&one("S = A[i]/2"), &[a()], "S", scalar(192.5));
    check(&one("S = A[i]/2\nS += A[i]/2"), &[a()], "S", scalar(385.0));
    check(&one("S += A[i]/2"), &[a(), ("S", int(3))], "S", scalar(195.5));
}

#[test]
fn t8_dims_of_extent_one() {
    let wanted = |shape: &[usize]| ints_of(shape, &[7700]);
    check(&one("Z[] := A[i]+A[j]"), &[a()], "Z", wanted(&[]));
    check(&one("Z[1,1] := A[i]+A[j]"), &[a()], "Z", wanted(&[1, 1]));
    check(&one("Z[_] := A[i]+A[j]"), &[a()], "Z", wanted(&[1]));
    check("Z[0, _] := A[i]+A[j]", &[a()], "Z", wanted(&[1, 1]));
}

#[test]
fn t9_fixed_positions() {
    let d = ("D", by2(10, 10, |i, j| if i == j { i } else { 0.0 }));
    let unit = |n: usize| floats(&(1..=10).map(|i| if i == n { n as f64 } else { 0.0 }).collect::<Vec<_>>());
    check(&one("F[i] := D[i,5]"), &[d.clone()], "F", unit(5));
    check(&one("G[i] := D[i,$j]"), &[d.clone(), ("j", int(6))], "G", unit(6));
    check(&one("G[i] := D[i,end]"), &[d], "G", unit(10));
}

#[test]
fn t10_extra_dims() {
    let squares: Vec<i64> = (1..=10).map(|i| i * i).collect();
    check(&one("J[1,1,i] := A[i]"), &[a()], "J", ints_of(&[1, 1, 10], &squares));
    check(&one("J[_,i] := A[i]"), &[a()], "J", ints_of(&[1, 10], &squares));
}

#[test]
fn t11_to_t13_scalars_and_repeats() {
    check(&one("y[i] := A[i]+A[i]"), &[a()], "y", ints(&(1..=10).map(|i| 2 * i * i).collect::<Vec<_>>()));
    let x = ("x", floats(&[1.0; 3]));
    check(&one("y[i] := x[i]+i+$k"), &[x.clone(), ("k", int(6))], "y", floats(&[8.0, 9.0, 10.0]));
    check(&one("y[i] := x[i]+i+k"), &[x, ("k", int(6))], "y", floats(&[8.0, 9.0, 10.0]));
    check(&one("y := sqrt(x[i])"), &[("x", floats(&[4.0; 5]))], "y", scalar(10.0));
}

#[test]
fn t14_explicit_ranges() {
    check(&one("K[i] := i^2 (i in 1:3)"), &[], "K", ints(&[1, 4, 9]));
    check("K[i] := i^2 (i in 0..3)", &[], "K", ints(&[0, 1, 4]));
    check("K[i] := i^2 (i in 0..=n)", &[("n", int(3))], "K", ints(&[0, 1, 4, 9]));
}

#[test]
fn t14_axes_of_other_arrays() {
    let wanted = by2(10, 3, |i, j| i * i / j);
    let args = [a(), ("K", floats(&[0.0; 3]))];
    check(&one("N[i,j] := A[i]/j (j in axes(K,1)) (i in axes(A,1))"), &args, "N", wanted.clone());
    check(&one("N[i,j] := A[i]/j (j in axes(K,1), i ∈ axes(A,1))"), &args, "N", wanted);
}

#[test]
fn t16_masks_are_numbers() {
    let wanted = by2(10, 10, |i, j| if i <= j { i * i * j * j } else { 0.0 });
    let wanted = Datum::from(wanted.to_array().cast(DType::I64));
    check(&one("M[i,j] := A[i]*A[j]*(i<=j)"), &[a()], "M", wanted);
}

#[test]
fn t17_primes_in_names() {
    check(&one("P[i′] := A[i']"), &[a()], "P", a().1);
    check(&one("Q[i'] := (i′)^2 (i' in 1:3)"), &[], "Q", ints(&[1, 4, 9]));
}

#[test]
fn t18_results_without_names() {
    check(&one("_[i] := A[i]+1"), &[("A", ints(&[1, 2]))], "_", ints(&[2, 3]));
    check(&one("_ := A[i]+1"), &[("A", ints(&[1, 2]))], "_", int(5));
}

#[test]
fn t19_blocks() {
    let wanted = by2(10, 3, |i, j| (i + 3.0) / j);
    check(&one("B[i,j] := begin x=(1:10)[i]+3; y=(1:3)[j]; x/y end"), &[], "B", wanted.clone());
    check(&one("B[i,j] := begin\n  x=(1:10)[i]+3\n  y=(1:3)[j]\n  x/y\nend"), &[], "B", wanted.clone());
    check(&one("B[i,j] := { x=(1:10)[i]+3; y=(1:3)[j]; x/y }"), &[], "B", wanted);
}

#[test]
fn t20_sums_go_around_the_whole_right_side() {
    let args = [("a", floats(&[3.0, 4.0]))];
    check(&one("b := a[i]*a[i]+1"), &args, "b", scalar(27.0));
    check(&one("b := sum[i](a[i]*a[i]) + 1"), &args, "b", scalar(26.0));
}

#[test]
fn t21_complex_numbers() {
    let r = ints_of(&[5, 3, 4], &(0..60).collect::<Vec<_>>());
    let wanted = Array::from_fn(DType::C128, &[4, 3, 5], |n| {
        let (j, i, d) = (n / 15, n / 5 % 3, n % 5);
        Scalar::C128(Complex64::new((d * 12 + i * 4 + j) as f64, 10.0))
    });
    check(&one("T[j,i,d] := R[d,i,j]+10im"), &[("R", r)], "T", wanted.expect("memory"));
}

#[test]
fn t22_sums_and_broadcasts() {
    let m = ("M", by2(3, 7, |i, j| i * j));
    check(&one("S[1,c] := M[r,c]"), &[m.clone()], "S", by2(1, 7, |_, j| 6.0 * j));
    let wanted = by2(3, 7, |i, j| i * j + (6.0 * j).sqrt());
    check(&one("S[1,c] := M[r,c]\nP[r,c] := M[r,c]+sqrt(S[1,c])"), &[m], "P", wanted);
}

#[test]
fn t23_indices_as_numbers() {
    let s = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let wanted = Array::from_fn(DType::C128, &[8], |k| {
        Scalar::C128(Complex64::from_polar(1.0, -std::f64::consts::PI / 4.0 * k as f64))
    });
    let text = one("F[k] := S[x]*exp(-im*pi/8*(k-1)*x) (k in axes(S,1))");
    check(&text, &[("S", floats(&s))], "F", wanted.expect("memory"));
}

#[test]
fn t103_to_t109_contractions() {
    for n in [2usize, 20, 200] {
        let of = |s: f64| by2(n, n, move |i, j| ((i * 7.0 + j * s) % 11.0) - 5.0);
        let (x, y) = (of(3.0), of(5.0));
        let at = |m: &Datum, i: usize, j: usize| m.to_array().get(&[i, j]).expect("inside").to_f64();
        let wanted = by2(n, n, |i, k| (0..n).map(|j| at(&x, i as usize - 1, j) * at(&y, j, k as usize - 1)).sum());
        if n < 200 {
            check("C[i,k] := A[i,j]*B[j,k]", &[("A", x.clone()), ("B", y.clone())], "C", wanted.clone());
        }
        let (xi, yi) = (x.to_array().cast(DType::I32), y.to_array().cast(DType::I32));
        if n < 200 {
            let wanted = wanted.to_array().cast(DType::I64);
            check("C[i,k] := A[i,j]*B[j,k]", &[("A", xi.into()), ("B", yi.into())], "C", wanted);
        }
    }
    let (x, y, z) = (by2(2, 3, |i, j| i + j), by2(3, 4, |i, j| i * j), by2(4, 3, |i, j| i - j));
    let at = |m: &Datum, i: f64, j: usize| m.to_array().get(&[i as usize - 1, j - 1]).expect("inside").to_f64();
    let wanted = by2(2, 3, |a, d| {
        let terms = (1..=3).flat_map(|b| (1..=4).map(move |c| (b, c)));
        terms.map(|(b, c)| at(&x, a, b) * at(&y, b as f64, c) * at(&z, c as f64, d as usize)).sum()
    });
    check("W[a,d] := X[a,b]*Y[b,c]*Z[c,d]", &[("X", x), ("Y", y), ("Z", z)], "W", wanted);
}

#[test]
fn t106_three_factors_by_every_assignment() {
    let of = |rows: usize| by2(rows, 2, move |i, r| i + 10.0 * r + rows as f64);
    let args = [("X", of(5)), ("Y", of(6)), ("Z", of(7))];
    let element = |n: usize| {
        let (i, j, k) = ((n / 42 + 1) as f64, (n / 7 % 6 + 1) as f64, (n % 7 + 1) as f64);
        let term = |r: f64| (i + 10.0 * r + 5.0) * (j + 10.0 * r + 6.0) * (k + 10.0 * r + 7.0);
        (term(1.0), term(2.0))
    };
    let made = |f: &dyn Fn(f64, f64) -> f64| {
        array(&[5, 6, 7], &(0..210).map(|n| f(element(n).0, element(n).1)).collect::<Vec<_>>())
    };
    let right = "X[i,r]*Y[j,r]*Z[k,r]";
    let old = ("A", array(&[5, 6, 7], &[3.0; 210]));
    check(&format!("A[i,j,k] := {right}"), &args, "A", made(&|a, b| a + b));
    let with_old = [&args[..], &[old]].concat();
    check(&format!("A[i,j,k] = {right}"), &with_old, "A", made(&|a, b| a + b));
    check(&format!("A[i,j,k] += {right}"), &with_old, "A", made(&|a, b| 3.0 + a + b));
    check(&format!("A[i,j,k] -= {right}"), &with_old, "A", made(&|a, b| 3.0 - (a + b)));
    check(&format!("A[i,j,k] *= {right}"), &with_old, "A", made(&|a, b| 3.0 * a * b));
    check(&format!("A[i,j,k] /= {right}"), &with_old, "A", made(&|a, b| 3.0 / (a * b)));
}

#[test]
fn t107_scalars_and_traces() {
    let args = [("x", floats(&[1.0, 2.0])), ("y", floats(&[3.0, 4.0]))];
    check("k := x[i]*y[i]", &args, "k", scalar(11.0));
    let with = [&args[..], &[("k", scalar(2.0))]].concat();
    check("k += x[i]*y[i]", &with, "k", scalar(13.0));
    check("k *= x[i]*y[i]", &with, "k", scalar(48.0));
    let square = ("a", ints_of(&[5, 5], &(1..=25).collect::<Vec<_>>()));
    check("B[i] := a[i,i]", &[square.clone()], "B", ints(&[1, 7, 13, 19, 25]));
    check("b := a[i,i]", &[square], "b", int(65));
}

#[test]
fn t108_blocks_of_matrices() {
    let z = array(&[2, 3, 2, 2], &(0..24).map(f64::from).collect::<Vec<_>>());
    let element = |n: usize| {
        let (i, j, a, b) = (n / 8, n / 4 % 2, n / 2 % 2, n % 2);
        (j * 12 + i * 4 + b * 2 + a) as f64
    };
    let wanted = array(&[3, 2, 2, 2], &(0..24).map(element).collect::<Vec<_>>());
    check("t[i,j][a,b] := z[j,i][b,a]", &[("z", z)], "t", wanted);
}

#[test]
fn t109_dtypes_are_promoted() {
    let ints = ("x", ints(&[1, 2]));
    check("y[i] := x[i] * z[i]", &[ints, ("z", floats(&[0.5, 0.5]))], "y", floats(&[0.5, 1.0]));
    let narrow = Array::from_fn(DType::F32, &[2], |_| Scalar::F32(0.5)).expect("memory");
    check("y[i] := x[i] * z[i]", &[("x", narrow.into()), ("z", floats(&[0.5, 0.5]))], "y", floats(&[0.25, 0.25]));
}
