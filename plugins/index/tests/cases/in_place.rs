//! Arrays that are changed.

use super::{a, int, one};
use crate::support::*;
use rewright::{DType, Datum};
use rewright_index::Statements;

fn ten(f: impl Fn(i64) -> i64) -> Datum {
    ints(&(1..=10).map(f).collect::<Vec<_>>())
}

#[test]
fn t24_all_elements() {
    let d = ("D", ints_of(&[10, 10], &[0; 100]));
    let wanted = by2(10, 10, |i, _| i * i + 100.0).to_array().cast(DType::I64);
    check(&one("D[i,j] = A[i]+100"), &[a(), d], "D", wanted);
}

#[test]
fn t25_to_t27_from_old_elements() {
    let threes = ("D", ints_of(&[10, 10], &[3; 100]));
    check(&one("B[i] += D[i,j]"), &[("B", a().1), threes], "B", ten(|i| i * i + 30));
    check(&one("B[i] += B[i]+1000"), &[("B", a().1)], "B", ten(|i| 2 * i * i + 1000));
    check(&one("A[i] = A[i]+100"), &[a()], "A", ten(|i| i * i + 100));
    check(&one("A[i] = 100*i"), &[a()], "A", ten(|i| 100 * i));
}

#[test]
fn t29_repeated_indices() {
    let b = ("B", ints_of(&[3, 3], &[1, 2, 3, 4, 5, 6, 7, 8, 9]));
    let new = run(&one("W[i,j,i,n] := B[n,j] (i in 1:2)"), &[b.clone()]);
    let zeros = ("V", ints_of(&[2, 3, 2, 3], &[0; 36]));
    let changed = run(&one("V[i,j,m,n] = (i==m)*B[n,j]"), &[b, zeros]);
    assert_eq!(new["W"].to_string(), changed["V"].to_string());
    let at = |index: [usize; 4]| new["W"].to_array().get(&index).expect("inside").to_f64();
    assert_eq!((at([0, 1, 0, 2]), at([0, 0, 1, 1])), (8.0, 0.0));
    let diagonal = by2(10, 10, |i, j| if i == j { i * i } else { 7.0 });
    check(&one("D[i,i] = A[i]"), &[a(), ("D", by2(10, 10, |_, _| 7.0))], "D", diagonal);
}

#[test]
fn t31_shifted_reads_write_a_part() {
    let zeros = ("E", floats(&[0.0; 10]));
    let wanted = floats(&[136.0, 149.0, 164.0, 181.0, 200.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    check(&one("E[i] = A[i+5]+100"), &[a(), zeros], "E", wanted);
}

#[test]
fn t32_shifted_diagonals() {
    let half = std::f64::consts::FRAC_PI_2;
    let wanted = by2(10, 10, |i, j| if i == j && i > 2.0 { (i - 2.0) * (i - 2.0) } else { half });
    check(&one("M[i,i] = A[i-2]"), &[a(), ("M", by2(10, 10, |_, _| half))], "M", wanted);
}

#[test]
fn t34_reads_see_the_old_elements() {
    check(&one("A[i] = A[i+1]"), &[a()], "A", ten(|i| if i < 10 { (i + 1) * (i + 1) } else { 100 }));
    let wanted = ten(|i| {
        let j = (i * i * i * i - 1).rem_euclid(10) + 1;
        j * j
    });
    for position in ["mod(i^4, 1:10)", "mod(i^4 - 1, 10) + 1"] {
        let text = one(&format!("B[i] = begin j = {position}; A[j] end"));
        check(&text, &[a(), ("B", ten(|_| 0))], "B", wanted.clone());
    }
}

#[test]
fn t35_and_t43_the_left_side_gives_ranges() {
    let x = ("X", ten(|i| i));
    let y = ("Y", ten(|i| i));
    let wanted = ten(|j| if j <= 7 { j * (j + 3) } else { 0 });
    check(&one("A[j] = X[j]*Y[j+3]"), &[("A", ten(|_| 0)), x, y], "A", wanted);
    let zeros = ("I", ints_of(&[6, 4], &[0; 24]));
    let wanted = by2(6, 4, |i, j| (i + j) * (i + j)).to_array().cast(DType::I64);
    check(&one("I[i,j] = A[i+j]"), &[a(), zeros.clone()], "I", wanted);
    let wanted = by2(6, 4, |i, j| (i + j) * (i + j) + j).to_array().cast(DType::I64);
    check(&one("I[i,j] = A[i+j]+B4[j]"), &[a(), super::b4(), zeros], "I", wanted);
}

#[test]
fn t86_products_into_an_array() {
    let wanted = floats(&[1.0, 4.0, 36.0, 576.0, 14400.0]);
    let c = ("C", floats(&[2.0; 5]));
    let five = ("A", ints(&[1, 4, 9, 16, 25]));
    check(&one("(*) C[k] = ifelse(i<=k,A[i],1)"), &[five.clone(), c.clone()], "C", wanted);
    let wanted = floats(&[1.0, 16.0, 1296.0, 331776.0, 207360000.0]);
    check(&one("(*) C[k] = ifelse(i<=k,A[i],1)\nC[k] *= ifelse(i<=k,A[i],1)"), &[five, c], "C", wanted);
}

#[test]
fn t89_other_reductions_from_old_elements() {
    let wanted = ints(&[5, 10, 15, 20, 25, 36, 49, 64, 81, 100]);
    check(&one("(max) C[i] ^= 5i"), &[("C", a().1)], "C", wanted);
}

#[test]
fn t92_products_into_a_scalar() {
    let args = [("s", super::scalar(1.0)), ("A", ints(&[1, 2, 3]))];
    check(&one("s *= float(A[i])\ns *= float(A[i])"), &args, "s", super::scalar(36.0));
}

#[test]
fn f9_scaled_positions_on_the_left() {
    let e = ("E", floats(&[-1.0; 7]));
    let x = ("x", floats(&[1.0, 2.0, 3.0]));
    check("E[2i+1] = x[i]", &[e.clone(), x.clone()], "E", floats(&[-1.0, 1.0, -1.0, 2.0, -1.0, 3.0, -1.0]));
    let y = ("y", floats(&[10.0, 20.0]));
    // Several points add to one element.
    check(
        "C[i+j] += x[i]*y[j]",
        &[("C", floats(&[1.0; 4])), x.clone(), y.clone()],
        "C",
        floats(&[11.0, 41.0, 71.0, 61.0]),
    );
    check(
        "D[i,end] = x[i]",
        &[("D", by2(3, 2, |_, _| 0.0)), x.clone()],
        "D",
        by2(3, 2, |i, j| if j == 2.0 { i } else { 0.0 }),
    );
    check(
        "D[$k,i] = x[i]",
        &[("D", by2(2, 3, |_, _| 0.0)), x, ("k", int(1))],
        "D",
        by2(2, 3, |i, j| if i == 2.0 { j } else { 0.0 }),
    );
}

#[test]
fn boxes_are_updates_without_a_mask() {
    let symbolic = |text: &str| {
        let statements = Statements::parse(text).unwrap_or_else(|e| panic!("{text}\n{e}"));
        let lowered = statements.lower(&statements.symbolic_types()).unwrap_or_else(|e| panic!("{text}\n{e}"));
        lowered.module.to_string()
    };
    let boxes = [
        ("x[i,j] = 0.2 * (x[i,j] + x[i,j-1] + x[i,j+1] + x[i+1,j] + x[i-1,j])", "at=[1:-1, 1:-1]"),
        ("x[i,j] = x[i+2,j]", "at=[:-2, :]"),
        ("x[i+1,j] = 2 * x[i,j]", "at=[1:, :]"),
        ("x[i,j] += x[i-1,j]", "at=[1:, :]"),
        ("x[j,i+1] += x[j,i]*z[k]", "at=[:, 1:]"),
        ("(max) x[j,i+1] ^= x[j,i] - z[k]", "at=[:, 1:]"),
    ];
    for (text, slices) in boxes {
        let own = symbolic(text);
        assert!(own.contains(" = update %x, ") && own.contains(slices), "{text}\n{own}");
        assert!(!own.contains(" where ") && !own.contains("fill"), "{text}\n{own}");
    }
    assert!(!symbolic("x[i,i] = y[i]").contains("update"), "a diagonal is no box");
    // Only the extents of a call tell that there is such a column.
    assert!(!symbolic("x[i,end] = y[i]").contains("update"));
    // All elements are written.
    assert!(!symbolic("x[i,j] = y[i]").contains("update"));
    let x = by2(4, 3, |i, j| 10.0 * i + j);
    let y = floats(&[1.0, 2.0, 3.0, 4.0]);
    for (text, slices) in [
        ("x[i,end] = y[i]", Some("at=[:, 2:]")),
        ("x[i,0] = y[i]", Some("at=[:, :1]")),
        ("x[1,2] = y[0]", Some("at=[1:2, 2:]")),
        ("x[i,j] = y[i+2]", Some("at=[:2, :]")),
        ("x[2*i,j] = y[j+1]", None),
    ] {
        let args = [("x".to_string(), x.clone()), ("y".to_string(), y.clone())].into_iter().collect();
        let statements = Statements::parse(text).unwrap_or_else(|e| panic!("{text}\n{e}"));
        let own = statements.lower_for(&args).unwrap_or_else(|e| panic!("{text}\n{e}")).module.to_string();
        match slices {
            Some(slices) => assert!(own.contains(slices) && !own.contains("fill"), "{text}\n{own}"),
            None => assert!(!own.contains("update"), "{text}\n{own}"),
        }
    }
}

#[test]
fn boxes_of_arrays_of_all_extents() {
    for (rows, columns) in [(0, 0), (0, 3), (1, 1), (1, 4), (2, 2), (3, 1), (2, 5), (6, 7)] {
        let x = by2(rows, columns, |i, j| 3.0 * i - j * j);
        let at = |i: f64, j: f64| 3.0 * i - j * j;
        let (last, end) = (rows as f64, columns as f64);
        let inner = |i: f64, j: f64| i > 1.0 && i < last && j > 1.0 && j < end;
        let wanted = by2(rows, columns, |i, j| if inner(i, j) { at(i - 1.0, j) + at(i, j + 1.0) } else { at(i, j) });
        // The reads that add nothing make the ranges smaller.
        let text = "x[i,j] = x[i-1,j] + x[i,j+1] + 0*x[i+1,j] + 0*x[i,j-1]";
        check(text, &[("x", x.clone())], "x", wanted);
        let wanted = by2(rows, columns, |i, j| if i > 1.0 { at(i, j) + 2.0 * at(i - 1.0, j) } else { at(i, j) });
        let w = ("w", floats(&[1.0; 2]));
        check("x[i,j] += x[i-1,j] * w[k]", &[("x", x.clone()), w.clone()], "x", wanted);
        let most = |i: f64, j: f64| at(i, j).max(at(i - 1.0, j) + 1.0);
        let wanted = by2(rows, columns, |i, j| if i > 1.0 { most(i, j) } else { at(i, j) });
        check("(max) x[i,j] ^= x[i-1,j] + w[k]", &[("x", x), w], "x", wanted);
    }
}

#[test]
fn elements_at_a_computed_scalar() {
    let [a, d, x] = [("a", ints(&[1])), ("D", ints(&[1, 2, 3])), ("x", ints(&[4, 5, 6]))];
    let one = [a.clone(), d, x];
    for (text, wanted) in [
        ("D[$k] = x[i]", 15),
        ("D[$k] += x[i]", 17),
        ("D[$k] -= x[i]", -13),
        ("D[$k] += x[i] |> _ * 2", 34),
        ("(max) D[$k] ^= x[i] strict", 6),
    ] {
        check(&format!("k := a[0]\n{text}"), &one, "D", ints(&[1, wanted, 3]));
    }
    refused("k := a[0]\nD[$k + 7] += x[i]", &one, &["2:3", "`$k + 7` is at 8, outside of dim 0 of `D` with 0..3"]);
    let two = [a, ("E", ints_of(&[2, 2], &[1, 2, 3, 4])), ("y", ints_of(&[2, 2], &[1, 2, 3, 5]))];
    check("k := a[0]\nE[i, $k] += y[i, j]", &two, "E", ints_of(&[2, 2], &[1, 5, 3, 12]));
    check("k := a[0]\nE[i, $k] *= y[i, j] |> _ + 1", &two, "E", ints_of(&[2, 2], &[1, 5, 3, 61]));
}
