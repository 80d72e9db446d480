//! Formulas of the kind that people write: convolutions, divergences, tensor products, gathers with weights.

use super::{int, q, scalar};
use crate::support::*;
use rewright::Datum;

fn at(m: &Datum, index: &[usize]) -> f64 {
    m.to_array().get(index).expect("inside").to_f64()
}

#[test]
fn convolutions_of_layers() {
    let n = array(&[4, 4, 2], &(0..32).map(|n| f64::from(n % 7)).collect::<Vec<_>>());
    let k = by2(2, 3, |i, j| i - j);
    let mut wanted = Vec::new();
    for (x, y, c) in (0..3).flat_map(|x| (0..2).flat_map(move |y| (0..2).map(move |c| (x, y, c)))) {
        let terms = (0..2).flat_map(|i| (0..3).map(move |j| (i, j)));
        wanted.push(terms.map(|(i, j)| at(&n, &[x + i, y + j, c]) * at(&k, &[i, j])).sum());
    }
    check("M[x,y,c] := N[x+i,y+j,c] * K[i,j]", &[("N", n), ("K", k)], "M", array(&[3, 2, 2], &wanted));
}

#[test]
fn divergences_into_an_array() {
    let (p, q) = (by2(2, 3, |i, j| i + j), by2(2, 3, |i, j| i * j));
    let r = [1.0, 2.0, 4.0];
    let wanted = [0, 1].map(|x| (0..3).map(|y| at(&p, &[x, y]) * (at(&q, &[x, y]) / r[y]).ln()).sum::<f64>());
    let args = [("P", p), ("Q", q), ("R", floats(&r)), ("S", floats(&[0.0; 2]))];
    check("S[x] = P[x,y] * log(Q[x,y] / R[y])", &args, "S", floats(&wanted));
}

#[test]
fn sparse_tensor_products() {
    let b = array(&[2, 3, 4], &(0..24).map(f64::from).collect::<Vec<_>>());
    let (c, d) = (by2(4, 2, |l, j| l - j), by2(3, 2, |k, j| k * j));
    let wanted = by2(2, 2, |i, j| {
        let (i, j) = (i as usize - 1, j as usize - 1);
        let terms = (0..3).flat_map(|k| (0..4).map(move |l| (k, l)));
        1.0 + terms.map(|(k, l)| at(&b, &[i, k, l]) * at(&c, &[l, j]) * at(&d, &[k, j])).sum::<f64>()
    });
    let args = [("A", by2(2, 2, |_, _| 1.0)), ("B", b), ("C", c), ("D", d)];
    check("A[i,j] += B[i,k,l] * C[l,j] * D[k,j]", &args, "A", wanted);
}

#[test]
fn products_of_gathered_rows() {
    let (x, y, ind) = (by2(3, 2, |i, j| i + j), [0.5, 1.0], [2usize, 0]);
    let wanted = [0, 1].map(|j| (0..2).map(|k| at(&x, &[ind[k], j]) * f64::exp(-y[k])).product::<f64>());
    let args = [("X", x), ("Y", floats(&y)), ("ind", ints(&[2, 0]))];
    check("(*) Z[j] := X[ind[k],j] * exp(-Y[k])", &args, "Z", floats(&wanted));
}

#[test]
fn padded_windows() {
    let text = "M[i+_,j] := Q[pad(i+j,3)] (j in 0..15)";
    assert_eq!(range(text, &[q()], "i"), "-3..10");
    let m = run(text, &[q()]);
    let found: Vec<f64> = (0..5).map(|j| at(&m["M"], &[0, j])).collect();
    assert_eq!(found, [0.0, 0.0, 0.0, 100.0, 81.0]);
}

#[test]
fn cyclic_convolutions_with_an_origin() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    let k = [1.0, 0.0, 2.0, 0.0, 0.0, 1.0, 3.0];
    let wanted: Vec<f64> =
        (0..5i64).map(|i| (-3..4i64).map(|a| x[(i + a).rem_euclid(5) as usize] * k[(a + 3) as usize]).sum()).collect();
    let text = "set origin K[-3]\ny[i] := x[mod(i+a)] * K[a] (i in 0..5)";
    check(text, &[("x", floats(&x)), ("K", floats(&k))], "y", floats(&wanted));
}

#[test]
fn scalars_of_many_kinds() {
    let x = ("x", floats(&[1.0, 2.0]));
    check("y[i] := a * x[i] + $b", &[x.clone(), ("a", scalar(0.5)), ("b", int(3))], "y", floats(&[3.5, 4.0]));
    check("s := x[i]\ny[i] := x[i] / s", &[x], "y", floats(&[1.0 / 3.0, 2.0 / 3.0]));
}

#[test]
fn scalars_in_the_body_are_no_part_of_the_function() {
    let statements = rewright_index::Statements::parse("y[i] := a * x[i] + x[i+$k]").expect("valid");
    let fixed: Vec<&str> =
        statements.inputs().iter().filter(|(_, input)| input.is_fixed).map(|(name, _)| name.as_str()).collect();
    assert_eq!(fixed, ["k"]);
    let x = floats(&[1.0, 2.0, 4.0]);
    for (a, k, wanted) in [(1.0, 1, "[3. 6.]"), (2.0, 1, "[4. 8.]"), (2.0, 2, "[6.]"), (3.0, 1, "[ 5. 10.]")] {
        let results = statements.call(&[("a", a.into()), ("x", (&x).into()), ("k", i64::from(k).into())]);
        assert_eq!(results.expect("inside")["y"].to_string(), wanted);
    }
}

#[test]
fn a_function_is_kept_for_calls_of_the_same_types() {
    use rewright_index::Statements;
    let statements = Statements::parse("y[k] := x[J[k]] + n").expect("valid");
    let call = |x: &[f64], j: &[i64], n: i64| {
        let (x, j, n) = (floats(x), ints(j), int(n));
        statements.call(&[("x", (&x).into()), ("J", (&j).into()), ("n", (&n).into())]).map(|all| all["y"].to_string())
    };
    // Positions and scalars are values of the function, so other ones are not taken for them.
    assert_eq!(call(&[1.0, 2.0], &[1, 0], 0).expect("inside"), "[2. 1.]");
    assert_eq!(call(&[1.0, 2.0], &[0, 0], 0).expect("inside"), "[1. 1.]");
    assert_eq!(call(&[3.0, 4.0], &[0, 0], 1).expect("inside"), "[4. 4.]");
    assert_eq!(call(&[3.0, 4.0, 5.0], &[0, 2], 1).expect("inside"), "[4. 6.]");
    assert!(call(&[1.0, 2.0], &[0, 2], 0).is_err());
    assert_eq!(call(&[1.0, 2.0], &[1, 0], 0).expect("inside"), "[2. 1.]");
}
