//! Reductions, initial values and finishers.

use super::{a, int, one, q, scalar};
use crate::support::*;
use rewright::{Array, Complex64, DType, Datum, Scalar};

#[test]
fn t85_every_reduction() {
    let product: f64 = (1..=10).map(|i| f64::from(i * i)).product();
    check(&one("(*) P[_] := float(A[i])"), &[a()], "P", floats(&[product]));
    check(&one("(max) m := A[i]"), &[a()], "m", int(100));
    check(&one("(min) m := A[i]"), &[a()], "m", int(1));
    check(&one("(&) p := A[i]>0"), &[a()], "p", Datum::from(Scalar::Bool(true)));
    check(&one("(|) q := A[i]>50"), &[a()], "q", Datum::from(Scalar::Bool(true)));
    check(&one("(|) q := A[i]>150"), &[a()], "q", Datum::from(Scalar::Bool(false)));
}

#[test]
fn t88_products_of_windows() {
    let p = run(&one("(*) P[i] := Q[i+k] (k in 0:2)"), &[q()]);
    let at = |i: usize| p["P"].to_array().get(&[i - 1]).expect("inside").to_f64();
    assert_eq!((at(1), at(19), at(10)), (518_400.0, 518_400.0, 0.0));
}

#[test]
fn t90_and_t93_initial_values() {
    check(&one("(max) m := A[i] init=200"), &[a()], "m", int(200));
    let wanted = floats(&(1..=10).map(|i| f64::from(i * i).max(33.3)).collect::<Vec<_>>());
    check(&one("(max) C[i] := i^2 (i in 1:10, j in 1:1) init=33.3"), &[], "C", wanted);
    let r = ("A", ints(&(1..=10).map(|i| i * i).collect::<Vec<_>>()));
    check(&one("s2 := A[i]^2 init=2"), &[r.clone()], "s2", int(25_335));
    check(&one("s2 := A[i]^2 init=$k"), &[r.clone(), ("k", int(2))], "s2", int(25_335));
    check(&one("s2 := A[i]^2 init=2 threads=false"), &[r], "s2", int(25_335));
}

#[test]
fn t91_extrema_along_axes() {
    let x = array(&[4, 5, 6], &(0..120).map(|n| f64::from((n * 37) % 101)).collect::<Vec<_>>());
    let at = |i: usize, j: usize, k: usize| ((i * 30 + j * 6 + k) * 37 % 101) as f64;
    let args = [("x", x)];
    let most = |all: &mut dyn Iterator<Item = f64>| all.fold(f64::NEG_INFINITY, f64::max);
    let over = |i: usize| most(&mut (0..30).map(|n| at(i, n / 6, n % 6)));
    check("(max) m[i] := x[i,j,k]", &args, "m", floats(&[0, 1, 2, 3].map(over)));
    let over = |j: usize| most(&mut (0..24).map(|n| at(n / 6, j, n % 6)));
    check("(max) m[j] := x[i,j,k]", &args, "m", floats(&[0, 1, 2, 3, 4].map(over)));
    let least = |i: f64, k: f64| (0..5).map(|j| at(i as usize - 1, j, k as usize - 1)).fold(f64::INFINITY, f64::min);
    check("(min) m[i,k] := x[i,j,k]", &args, "m", by2(4, 6, least));
}

#[test]
fn t94_scalars_widen() {
    check(&one("s3 += B[i]^2"), &[("s3", int(1)), ("B", floats(&[0.5, 1.5]))], "s3", scalar(3.5));
    let wanted = Scalar::C128(Complex64::new(2.5, 4.0));
    let four = Scalar::C128(Complex64::new(0.0, 4.0));
    check(&one("s3 += B[i]^2"), &[("s3", four.into()), ("B", floats(&[0.5, 1.5]))], "s3", Datum::from(wanted));
}

#[test]
fn t96_large_reductions_do_not_depend_on_threads() {
    let n = 51_200;
    let x = floats(&(0..n).map(|i| f64::from((i * 7919) % 10_007) - 5000.0).collect::<Vec<_>>());
    check("(max) m := x[i]", &[("x", x.clone())], "m", scalar(5006.0));
    let norm: f64 = (0..n).map(|i| (f64::from((i * 7919) % 10_007) - 5000.0).powi(2)).sum::<f64>().sqrt();
    check("n := x[i]^2 |> sqrt", &[("x", x)], "n", scalar(norm));
}

#[test]
fn t97_to_t98_finishers() {
    let m = ("M", by2(3, 2, |i, j| i * j));
    let wanted = floats(&[1.0, 2.0].map(|j: f64| (14.0 * j * j).sqrt()));
    check(&one("N2[j] := sqrt <| M[i,j]^2"), &[m.clone()], "N2", wanted.clone());
    check(&one("N2[j] := M[i,j]^2 |> sqrt"), &[m.clone()], "N2", wanted.clone());
    check(&one("N2[j] := M[i,j]^2 |> sqrt(_)"), &[m], "N2", wanted);
    check(&one("n3[_] := A[i]^3 |> (_)^(1/3)"), &[a()], "n3", floats(&[125.536_996_44]));
    check(&one("n2[] := A[i]^2 |> (_)^0.5"), &[a()], "n2", array(&[], &[159.163_438_01]));
    let m = ("m", array(&[3, 2], &[0.0, 1.0, 1.0, 0.0, 2.0, 3.0]));
    check(&one("lse[j] := log <| exp(m[i,j])"), &[m], "lse", floats(&[2.407_605_964_444_38, 3.169_846_019_556_4]));
}

#[test]
fn f41_finishers_use_the_indices_of_the_left_side() {
    let args = [("x", by2(2, 3, |i, j| i + j)), ("B", by2(2, 4, |i, j| i * j)), ("j", int(1))];
    let wanted = floats(&[1.0, 2.0].map(|i: f64| (3.0 * i + 6.0).atan2(2.0 * i) + i - 1.0));
    check("y[i] := x[i,k] |> atan2(_, B[i,$j]) + i", &args, "y", wanted);
}

#[test]
fn t100_to_t102_accumulators() {
    let x = ("x", floats(&[0.5, 1.0]));
    let wanted = floats(&[0.5f64, 1.0].map(|xi| {
        let z: Complex64 = [0.5f64, 1.0].iter().map(|xj| (Complex64::new(0.0, xi) - xj).exp()).sum();
        z.norm_sqr()
    }));
    check(&one("z[i] := exp(im*x[i]-x[j]) |> abs2"), &[x], "z", wanted);
    let bytes = Array::from_fn(DType::I8, &[3], |_| Scalar::I8(100)).expect("memory");
    check("s := x[i]", &[("x", bytes.into())], "s", int(300));
    let none = ("x", floats(&[]));
    check("s := x[i]", &[none.clone()], "s", scalar(0.0));
    refused("(max) s := x[i]", &[none], &["zero elements"]);
    let with_nan = ("x", floats(&[1.0, f64::NAN, 3.0]));
    check("(max) s := x[i]", &[with_nan], "s", scalar(f64::NAN));
}

#[test]
fn f37_functions_reduce_with_an_initial_value() {
    let x = ("x", floats(&[3.0, 4.0, 12.0]));
    check("(hypot) s := x[i] init=0", &[x.clone()], "s", scalar(13.0));
    refused("(hypot) s := x[i]", &[x], &["`hypot` has no initial value", "init="]);
}

#[test]
fn scoped_reductions_nest() {
    let args = [("x", by2(2, 3, |i, j| i * j)), ("w", floats(&[1.0, 2.0, 3.0]))];
    let wanted = by2(2, 3, |i, j| i * j / (6.0 * i));
    check("p[i,j] := x[i,j] / sum[k](x[i,k])", &args[..1], "p", wanted);
    let soft = by2(2, 3, |i, j| {
        let e = |k: f64| (i * k - 3.0 * i).exp();
        e(j) / (e(1.0) + e(2.0) + e(3.0))
    });
    let text = "p[i,j] := { m = max[k](x[i,k]); exp(x[i,j]-m) / sum[k](exp(x[i,k]-m)) }";
    check(text, &args[..1], "p", soft);
    let wanted = floats(&[1.0, 2.0].map(|i| [1.0, 2.0, 3.0].map(|w| w * 6.0 * i).iter().sum::<f64>()));
    check("y[i] := w[j] * sum[k](x[i,k])", &args, "y", wanted);
}
