//! Gathers and scatters.

use super::{a, int, one};
use crate::support::*;
use rewright::{DType, Datum, Scalar};

#[test]
fn t75_gathers() {
    let inds = ("inds", ints(&[1, 2, 3, 1, 2, 3]));
    check(&one("AI[i] := A[inds[i]]"), &[a(), inds], "AI", ints(&[1, 4, 9, 1, 4, 9]));
    let m = ("M", by2(2, 3, |i, j| 10.0 * i + j));
    let j = ("J", ints(&[1, 2, 3, 1, 2, 3]));
    check(&one("G[i,k] := M[i,J[k]]"), &[m, j], "G", by2(2, 6, |i, k| 10.0 * i + (k - 1.0) % 3.0 + 1.0));
    let shifted = [a(), ("J", ints(&[0, 1, 2])), ("j", int(7))];
    check(&one("C[i] := A[J[i]+$j]"), &shifted, "C", ints(&[49, 64, 81]));
    // An element of positions, or a shift, is no whole array of positions.
    check("C[k] := x[J[k]+i]", &[("x", ints(&[1, 2, 3, 4])), ("J", ints(&[2, 0, 1]))], "C", ints(&[7, 3, 5]));
}

#[test]
fn t78_to_t80_scatters() {
    let m = ("M", by2(4, 5, |i, j| 10.0 * i + j));
    let j = ("J", ints(&[3, 1, 2, 3]));
    let row = |i: f64| [2.0, 3.0, 4.0][i as usize - 1];
    check(&one("H[J[i],k] := M[i,k]"), &[m, j], "H", by2(3, 5, |i, k| 10.0 * row(i) + k));
    let j = ("J", ints(&[1, 2, 10]));
    let wanted = by2(10, 10, |i, k| if [1.0, 2.0, 10.0].contains(&i) { k * k } else { 0.0 });
    let wanted = Datum::from(wanted.to_array().cast(DType::I64));
    check(&one("H[J[i'],k] := A[k]"), &[a(), j], "H", wanted);
    let args = [a(), ("inds", ints(&[2, 3, 5, 2])), ("D", by2(6, 10, |_, _| 999.0))];
    let written = |i: f64| [2.0, 3.0, 5.0].contains(&i);
    let wanted = by2(6, 10, |i, j| if written(i) { j * j } else { 999.0 });
    check(&one("D[inds[i],j] = A[j]"), &args, "D", wanted);
    let wanted = by2(6, 10, |i, j| match i as i64 {
        2 => 3.0 * j * j,
        3 | 5 => 2.0 * j * j,
        _ => 999.0,
    });
    check(&one("D[inds[i],j] = A[j]\nD[inds[i],j] += A[j]"), &args, "D", wanted);
}

#[test]
fn t81_and_t82_slices_of_positions() {
    let args = [("a", ints_of(&[2, 3], &[1, 2, 3, 4, 5, 6])), ("b", ints(&[10, 20, 30]))];
    check(&one("s := b[a[1,i]]"), &args, "s", int(60));
    // Row 2 is out of bounds, and not read; with 1 less it would be in bounds in part.
    let args = [("a", ints_of(&[2, 3], &[0, 1, 2, 4, 5, 6])), ("b", ints(&[10, 20, 30]))];
    check(&one("s := b[a[1,j]+1]"), &args, "s", int(60));
    let args = [("h", floats(&[1.0; 3])), ("J", ints(&[1, 3, 1, 1])), ("v", floats(&[1.0, 2.0, 4.0, 8.0]))];
    check(&one("h[J[i]] += v[i]"), &args, "h", floats(&[14.0, 1.0, 3.0]));
    check(&one("h[J[i]] *= v[i]"), &args, "h", floats(&[32.0, 1.0, 2.0]));
    check(&one("(max) h[J[i]] ^= v[i]"), &args, "h", floats(&[8.0, 1.0, 2.0]));
}

#[test]
fn scattered_elements_leave_others_as_they_are() {
    let j = ("J", ints(&[1, 1]));
    let is_zero = |text: &str, sign: f64| {
        let h = run(text, &[("h", floats(&[sign * 0.0, 5.0, f64::NAN])), j.clone()]);
        let h = h["h"].to_array();
        let at = |n: usize| h.get(&[n]).expect("inside").to_f64();
        assert!(at(0).to_bits() == (sign * 0.0).to_bits() && at(2).is_nan(), "{text}: {h}");
        at(1)
    };
    for (assign, wanted) in [("+=", 11.0), ("-=", -1.0), ("*=", 45.0), ("/=", 5.0 / 9.0)] {
        for sign in [1.0, -1.0] {
            for end in ["", " strict"] {
                assert_eq!(is_zero(&format!("h[J[k]] {assign} 3.0{end}"), sign), wanted, "{assign}");
            }
        }
    }
    assert_eq!(is_zero("h[J[k]] += 3", -1.0), 11.0);
    assert_eq!(is_zero("(max) h[J[k]] ^= 7.0", -1.0), 7.0);
    assert_eq!(is_zero("(min) h[J[k]] ^= 7.0", -1.0), 5.0);
    // The identity of a narrow dtype is not that of a wider one.
    check("(min) h[J[k]] ^= (k > 5)", &[("h", ints(&[4, 3])), ("J", ints(&[1]))], "h", ints(&[4, 0]));
    let z = |re: f64| Scalar::C128(rewright::Complex64::new(re, f64::INFINITY));
    let h = rewright::Array::from_fn(DType::C128, &[2], |n| z(n as f64)).expect("memory");
    let found = run("h[J[k]] *= 2.0", &[("h", h.into()), ("J", ints(&[1]))]);
    assert_eq!(found["h"].to_array().get(&[0]), Some(z(0.0)));
}

#[test]
fn t84_gathered_layers() {
    let w = array(&[2, 3, 4], &(0..24).map(f64::from).collect::<Vec<_>>());
    let args = [("W", w), ("a", ints(&[1, 0])), ("x", by2(4, 2, |i, j| i - j))];
    let wanted = by2(3, 2, |i, k| {
        let layer = [1.0, 0.0][k as usize - 1];
        (1..=4).map(|j| (layer * 12.0 + (i - 1.0) * 4.0 + j as f64 - 1.0) * (j as f64 - k)).sum()
    });
    check("out[i,k] := W[a[k],i,j]*x[j,k]", &args, "out", wanted);
}

#[test]
fn negative_positions_are_out_of_bounds() {
    let args = [("x", ints(&[1, 2, 3])), ("J", ints(&[0, -1]))];
    refused("y[k] := x[J[k]]", &args, &["`J[k]` is at -1..1, outside of dim 0 with 0..3"]);
    check("y[k] := x[clamp(J[k])]", &args, "y", ints(&[1, 1]));
    check("y[k] := x[mod(J[k])]", &args, "y", ints(&[1, 3]));
    check("y[k] := x[pad(J[k])]", &args, "y", ints(&[1, 0]));
    check("y[k] := x[J[k]+1]", &args, "y", ints(&[2, 1]));
    check("y[k] := x[-2J[k]]", &args, "y", ints(&[1, 3]));
}

#[test]
fn positions_of_every_dtype_are_computed_alike() {
    use rewright::{Array, DType, Scalar};
    let x = ("x", ints(&(0..1000).collect::<Vec<_>>()));
    let programs = [
        ("y[i] := { t = J[i]; x[2t] }", 2, 0),
        ("y[i] := { t = J[i]; x[3t + 300] }", 3, 300),
        ("y[i] := { t = J[i]; x[clamp(t - 201)] }", 1, -201),
        ("y[i] := { t = J[i]; x[mod(-t)] }", -1, 0),
        ("y[i] := { t = J[i]; x[mod(t - 1 + i, 0..1000)] }", 1, -1),
        ("k := max[i](J[i])\ny[i] := x[4 * $k + i] (i in 0..1)", 4, 0),
        ("k := max[i](J[i])\ny[i] := x[$(k + 200) + i] (i in 0..1)", 1, 200),
        ("T[i] := J[i]\ny[i] := x[2T[i] + 1]", 2, 1),
        ("y[i] := x[2J[i] + 1]", 2, 1),
    ];
    let dtypes = DType::ALL.into_iter().filter(|dtype| dtype.is_int());
    for (dtype, (text, times, plus)) in dtypes.flat_map(|dtype| programs.map(|program| (dtype, program))) {
        for n in [0i64, 100, 127, 200] {
            let position = Scalar::I64(n).cast(dtype);
            if position.to_i128() != Some(n.into()) {
                continue;
            }
            let j = Array::from_fn(dtype, &[1], |_| position).expect("memory");
            let wanted = times * n + plus;
            let wanted = if text.contains("mod") { wanted.rem_euclid(1000) } else { wanted.max(0) };
            check(text, &[x.clone(), ("J", j.into())], "y", ints(&[wanted]));
        }
    }
    let bytes =
        |numbers: &[u8]| Array::from_fn(DType::U8, &[numbers.len()], |n| Scalar::U8(numbers[n])).expect("memory");
    for (position, numbers, wanted) in [
        ("max(2 - $k, 0)", [3, 0], 0),
        ("abs($k - $l)", [3, 5], 2),
        ("min($k - $l + 9, 8, 9)", [3, 5], 7),
        ("$k^2 - 10000", [100, 0], 0),
        ("clamp($k - $l, 1, 3) + 1", [3, 5], 2),
        ("$k < $l ? $l - $k - 1 : $k - $l", [3, 5], 1),
    ] {
        let text = format!("k := max[i](J[i] * (i < 1))\nl := max[i](J[i] * (i > 0))\ny := x[{position}]");
        check(&text, &[x.clone(), ("J", bytes(&numbers).into())], "y", int(wanted));
    }
    let big = Array::from_fn(DType::U64, &[1], |_| Scalar::U64(u64::MAX)).expect("memory");
    check("y[i] := { t = J[i]; x[clamp(t)] }", &[x.clone(), ("J", big.clone().into())], "y", ints(&[999]));
    refused("y[i] := { t = J[i]; x[t] }", &[x, ("J", big.into())], &["`t` is at 9223372036854775807"]);
}
