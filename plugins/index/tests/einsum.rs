//! `einsum` strings.

#![allow(clippy::cloned_ref_to_slice_refs, reason = "a list of one argument reads as the others do")]

use crate::support::{array, by2, floats};
use rewright::Datum;
use rewright::exec::Arg;
use rewright_index::{einsum, einsum_statement};

fn run(text: &str, operands: &[Datum]) -> Result<Datum, String> {
    let lent: Vec<Arg<'_>> = operands.iter().map(Arg::from).collect();
    einsum(text, &lent).map_err(|error| error.to_string())
}

#[track_caller]
fn check(text: &str, operands: &[Datum], wanted: &Datum) {
    let found = run(text, operands).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(found.ty(), wanted.ty(), "{text}");
    assert_eq!(found.to_string(), wanted.to_string(), "{text}");
}

#[test]
fn strings_are_statements() {
    for (text, ranks, statement) in [
        ("ij,jk->ik", &[2, 2][..], "R[i, k] := A0[i, j] * A1[j, k]"),
        ("ij,jk", &[2, 2], "R[i, k] := A0[i, j] * A1[j, k]"),
        ("ba", &[2], "R[a, b] := A0[b, a]"),
        ("ii", &[2], "R[] := A0[i, i]"),
        ("ii->i", &[2], "R[i] := A0[i, i]"),
        ("bij, bjk -> bik", &[3, 3], "R[b, i, k] := A0[b, i, j] * A1[b, j, k]"),
        ("...ij,...jk->...ik", &[3, 2], "R[_0′, i, k] := A0[_0′, i, j] * A1[j, k]"),
        ("i...,j", &[3, 1], "R[_0′, _1′, i, j] := A0[i, _0′, _1′] * A1[j]"),
        (",ij", &[0, 2], "R[i, j] := A0[] * A1[i, j]"),
        ("ij->", &[2], "R[] := A0[i, j]"),
    ] {
        assert_eq!(einsum_statement(text, ranks).expect("valid"), statement, "{text}");
    }
}

#[test]
fn results_are_those_of_numpy() {
    let a = by2(2, 3, |i, j| i * 10.0 + j);
    let b = by2(3, 2, |i, j| i - j);
    check(
        "ij,jk",
        &[a.clone(), b.clone()],
        &by2(2, 2, |i, k| (1..=3).map(|j| (i * 10.0 + j as f64) * (j as f64 - k)).sum()),
    );
    check("ij->ji", &[a.clone()], &by2(3, 2, |j, i| i * 10.0 + j));
    check("ij->i", &[a.clone()], &floats(&[36.0, 66.0]));
    check(
        "ij,ij->",
        &[a.clone(), a.clone()],
        &rewright::Scalar::F64(121.0 + 144.0 + 169.0 + 441.0 + 484.0 + 529.0).into(),
    );
    check(",ij->i", &[rewright::Scalar::F64(2.0).into(), a.clone()], &floats(&[72.0, 132.0]));
    check(",i->i", &[array(&[], &[2.0]), floats(&[1.0, 2.0])], &floats(&[2.0, 4.0]));
    check("ii", &[by2(3, 3, |i, j| i * j)], &rewright::Scalar::F64(14.0).into());
    let batch = array(&[2, 2, 3], &(0..12).map(f64::from).collect::<Vec<_>>());
    let b = array(&[3, 2], &[0.0, 1.0, 0.0, -2.0, 1.0, 0.0]);
    let wanted = array(&[2, 2, 2], &[2.0, -2.0, 5.0, -5.0, 8.0, -8.0, 11.0, -11.0]);
    check("...ij,jk->...ik", &[batch, b], &wanted);
}

#[test]
fn errors_are_at_their_place() {
    let a = by2(2, 3, |i, j| i + j);
    for (text, operands, part) in [
        ("ij,jk", vec![a.clone()], "1:1: the string has 2 operands, and 1 are given"),
        ("ijk", vec![a.clone()], "1:1: this operand has 2 dims and 3 labels"),
        ("i", vec![a.clone()], "write `...` for dims without labels"),
        ("i-j", vec![a.clone()], "1:2: `-` is no label"),
        ("ij->ii", vec![a.clone()], "1:5: label `i` is twice in the result"),
        ("ij->k", vec![a.clone()], "label `k` is in no operand"),
        ("...j->j", vec![a.clone()], "the result has no `...`"),
        ("......j", vec![a.clone()], "`...` is twice in an operand"),
        ("ij,ij", vec![a.clone(), by2(3, 3, |_, _| 0.0)], "ranges of index `i` differ"),
    ] {
        let error = run(text, &operands).expect_err("wrong");
        assert!(error.contains(part), "{text}: {error}");
    }
}
