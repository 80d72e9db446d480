//! `mod`, `clamp` and `pad`.

use super::{a, b, one, q};
use crate::support::*;
use rewright::{DType, Datum};

#[test]
fn t60_and_t61_wrapped_and_clamped() {
    check(&one("C[i] := B[mod(i)] (i in 1:10)"), &[b()], "C", ints(&[1, 2, 3, 4, 5, 1, 2, 3, 4, 5]));
    check(&one("C[i] := A[mod(2i)] (i in 1:6)"), &[a()], "C", ints(&[4, 16, 36, 64, 100, 4]));
    check(&one("C[i] := min(A[i], B[clamp(i)])"), &[a(), b()], "C", ints(&[1, 2, 3, 4, 5, 5, 5, 5, 5, 5]));
}

#[test]
fn t62_to_t64_padded() {
    let text = one("C[i] := B[pad(i-5,5)]");
    assert_eq!(range(&text, &[b()], "i"), "1:15");
    check(&text, &[b()], "C", ints(&[0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0]));
    let mut wanted = vec![0, 0];
    wanted.extend((1..=10).map(|i| i * i));
    wanted.extend([0, 0, 0]);
    check(&one("D[i+_] := A[pad(i,2,3)]"), &[a()], "D", ints(&wanted));
    let mut wanted: Vec<i64> = (1..=10).map(|i| i * i).collect();
    wanted.extend([0; 10]);
    check(&one("C[i] := A[pad(i)] (i in 1:20)"), &[a()], "C", ints(&wanted));
}

#[test]
fn t65_and_t66_around_a_kernel() {
    let wanted = [29.0, 50.0, 77.0, 110.0, 149.0, 194.0, 245.0, 182.0, 105.0, 14.0];
    check(&one("F[i] := A[mod(i+k)]*ones(3)[k] (i in axes(A,1))"), &[a()], "F", floats(&wanted));
    let wanted = [203.0, 280.0, 371.0, 455.0, 530.0, 594.0, 645.0, 681.0, 700.0, 700.0];
    check(&one("F[i] = A[clamp(i+k)]*ones(7)[k]"), &[a(), ("F", floats(&[0.0; 10]))], "F", floats(&wanted));
}

#[test]
fn t68_and_t69_the_value_of_padding() {
    let m = ("M", by2(3, 4, |i, j| 10.0 * i + j));
    let wanted = by2(7, 10, |i, j| {
        let (i, j) = (i - 2.0, j - 3.0);
        if (1.0..=3.0).contains(&i) && (1.0..=4.0).contains(&j) { 10.0 * i + j } else { 1.0 }
    });
    check(&one("H[i+_,j+_] := M[pad(i,2),pad(j,3)] pad=1"), &[m], "H", wanted);
    let wanted = by2(10, 10, |i, j| if i == j { i } else { -1.0 });
    check(&one("J[i,i] := sqrt(A[i]) pad=-1"), &[a()], "J", wanted);
}

#[test]
fn t70_two_indices_wrapped_and_clamped() {
    let at = |datum: &Datum, i: usize, j: usize| datum.to_array().get(&[i - 1, j - 1]).expect("inside").to_f64();
    let m = run(&one("M[i,j] := Q[mod(i+j)] (i,j in 1:15)"), &[q()]);
    assert_eq!([(1, 1), (10, 12), (15, 15)].map(|(i, j)| at(&m["M"], i, j)), [81.0, 100.0, 4.0]);
    let m = run(&one("M[i,j] := Q[clamp(i+j)] (i,j in 1:15)"), &[q()]);
    assert_eq!(at(&m["M"], 15, 15), 100.0);
}

#[test]
fn t72_four_reduced_indices() {
    let (diff, p) = (by2(3, 3, |i, j| i - 2.0 * j), array(&[2, 2, 3], &(0..12).map(f64::from).collect::<Vec<_>>()));
    let text = one("dP[x,y,z] := Diff[a+2,b+2]*Diff[c+2,d+2]*P[mod(x+a+c),mod(y+b+d),z]*P[mod(x+a),mod(y+b),z] \
         (a,b,c,d in -1:1, z in 1:3, x,y in 1:4)");
    let get = |m: &Datum, at: &[i64]| {
        m.to_array().get(&at.iter().map(|n| *n as usize).collect::<Vec<_>>()).expect("inside").to_f64()
    };
    let mut wanted = Vec::new();
    for (x, y, z) in (1..=4).flat_map(|x| (1..=4).flat_map(move |y| (0..3).map(move |z| (x, y, z)))) {
        let mut sum = 0.0;
        for (a, b, c, d) in (0..81).map(|n| (n / 27 - 1, n / 9 % 3 - 1, n / 3 % 3 - 1, n % 3 - 1)) {
            let wrap = |n: i64| (n - 1).rem_euclid(2);
            sum += get(&diff, &[a + 1, b + 1])
                * get(&diff, &[c + 1, d + 1])
                * get(&p, &[wrap(x + a + c), wrap(y + b + d), z])
                * get(&p, &[wrap(x + a), wrap(y + b), z]);
        }
        wanted.push(sum);
    }
    check(&text, &[("Diff", diff), ("P", p)], "dP", array(&[4, 4, 3], &wanted));
}

#[test]
fn t73_three_indices_in_a_position() {
    let diff = by2(3, 3, |i, j| i + 10.0 * j);
    let text = one("out[x,y] := Diff[mod(x+(y+2z)),x]*Diff[y,clamp(x+1+2x+y)] (z in 1:3)");
    let wanted = by2(3, 3, |x, y| {
        let clamped = (x + 1.0 + 2.0 * x + y).min(3.0);
        (1..=3).map(|z| ((x + y + 2.0 * z as f64 - 1.0).rem_euclid(3.0) + 1.0 + 10.0 * x) * (y + 10.0 * clamped)).sum()
    });
    check(&text, &[("Diff", diff)], "out", wanted);
}

#[test]
fn t74_computed_positions() {
    let mat = by2(3, 3, |i, j| 10.0 * i + j);
    let text = one("out[x,y] := { i = clip(x+a, 1, 3); mat[i, clamp(y+b)]*10 } (a, b in -1:1) (x, y in 1:3)");
    let wanted = by2(3, 3, |x, y| {
        let near = |n: f64| [-1.0, 0.0, 1.0].map(|d| (n + d).clamp(1.0, 3.0));
        near(x).iter().flat_map(|i| near(y).map(|j| (10.0 * i + j) * 10.0)).sum()
    });
    check(&text, &[("mat", mat.clone())], "out", wanted);
    let off = [("off.1", ints(&[-1, 0, 1])), ("off.2", ints(&[0, 2, -1])), ("mat", mat)];
    let text = one("out[x,y] := { a, b = off[k]; mat[mod(x+a), mod(y+b)] } (x, y in 1:3)");
    let wrap = |n: f64| (n - 1.0).rem_euclid(3.0) + 1.0;
    let wanted = by2(3, 3, |x, y| {
        [(-1.0, 0.0), (0.0, 2.0), (1.0, -1.0)].iter().map(|(a, b)| 10.0 * wrap(x + a) + wrap(y + b)).sum()
    });
    check(&text, &off, "out", wanted);
}

#[test]
fn zero_based_programs_pad_and_wrap() {
    let x = ("x", floats(&[1.0, 2.0, 3.0]));
    check("y[i] := x[pad(i-1, 1)]", &[x.clone()], "y", floats(&[0.0, 1.0, 2.0, 3.0, 0.0]));
    check("y[i] := x[mod(i+1)] (i in 0..3)", &[x.clone()], "y", floats(&[2.0, 3.0, 1.0]));
    check("y[i] := x[clamp(i-1)] (i in 0:3)", &[x], "y", floats(&[1.0, 1.0, 2.0]));
    let _ = DType::F64;
}
