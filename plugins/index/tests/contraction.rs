//! Contraction order: results are those of one loop nest, and the explanation shows the order.

use crate::support::{Named, array, explained, run};
use rewright::{DType, Datum};

/// An array of whole numbers, so that sums have one value in every order.
fn whole(shape: &[usize], seed: i64) -> Datum {
    let count: usize = shape.iter().product();
    let at = |n: usize| ((n as i64 * 7 + seed * 13) % 11 - 5) as f64;
    array(shape, &(0..count).map(at).collect::<Vec<_>>())
}

/// The results with and without a contraction order, which is taken.
#[track_caller]
fn check(text: &str, args: &[Named], order: &str) {
    assert!(explained(text, args).contains(&format!("order: {order}, at a cost of")), "{}", explained(text, args));
    let ordered = run(text, args);
    let plain = format!("{text} tensor=false");
    assert!(!explained(&plain, args).contains("order:"));
    for (name, wanted) in run(&plain, args) {
        let found = &ordered[&name];
        assert_eq!(found.ty(), wanted.ty(), "{text}");
        // Zeros may have the other sign.
        let same = found.to_array().iter().zip(wanted.to_array().iter()).all(|(a, b)| a.to_c128() == b.to_c128());
        assert!(same, "{text}\n{found}\n{wanted}");
    }
}

fn chain(n: usize) -> [Named; 3] {
    [("X", whole(&[n, n], 1)), ("Y", whole(&[n, n], 2)), ("Z", whole(&[n, n], 3))]
}

#[test]
fn chains_of_matrices_are_products_of_pairs() {
    check("W[a,d] := X[a,b]*Y[b,c]*Z[c,d]", &chain(20), "((X[a,b] * Y[b,c]) * Z[c,d])");
    let uneven = [("X", whole(&[20, 21], 1)), ("Y", whole(&[21, 22], 2)), ("Z", whole(&[22, 2], 3))];
    check("W[a,d] := X[a,b]*Y[b,c]*Z[c,d]", &uneven, "(X[a,b] * (Y[b,c] * Z[c,d]))");
}

#[test]
fn factors_may_be_any_expression() {
    check("W[a,d] := (X[a,b]+a)*max(Y[c,b],0)*Z[c,d]", &chain(16), "(((X[a,b]+a) * max(Y[c,b],0)) * Z[c,d])");
    check(
        "W[a+_,d] := X[a+b,b]*Y[b,c]*Z[pad(c-1,1),d] (b in 0..4)",
        &chain(16),
        "(X[a+b,b] * (Y[b,c] * Z[pad(c-1,1),d]))",
    );
    let args = [&chain(16)[..], &[("J", crate::support::ints(&[3, 1, 3, 0, 2, 2, 1, 5, 8, 9, 4]))]].concat();
    check("W[a,k] := X[a,b]*Y[b,c]*Z[c,J[k]]", &args, "(X[a,b] * (Y[b,c] * Z[c,J[k]]))");
}

#[test]
fn every_assignment_and_finisher_keeps_its_meaning() {
    let args = [&chain(20)[..], &[("W", whole(&[20, 20], 4))]].concat();
    for assign in ["+=", "-=", "="] {
        check(&format!("W[a,d] {assign} X[a,b]*Y[b,c]*Z[c,d]"), &args, "((X[a,b] * Y[b,c]) * Z[c,d])");
    }
    check("W[a,d] := X[a,b]*Y[b,c]*Z[c,d] |> abs(_) + a", &chain(20), "((X[a,b] * Y[b,c]) * Z[c,d])");
    check("s := X[a,b]*Y[b,c]*Z[c,d]", &chain(20), "((X[a,b] * Y[b,c]) * Z[c,d])");
}

#[test]
fn sums_of_one_factor_come_first() {
    let args = [("x", whole(&[300], 1)), ("y", whole(&[300], 2))];
    check("s := x[i]*y[j]", &args, "(x[i] * y[j])");
    check("s := x[i]*y[j] |> _ / 2", &args, "(x[i] * y[j])");
    check("p[i] := x[i]*y[j]", &args, "(x[i] * y[j])");
}

#[test]
fn extrema_distribute_over_sums() {
    check("(max) W[a,d] := X[a,b]+Y[b,c]+Z[c,d]", &chain(20), "((X[a,b] + Y[b,c]) + Z[c,d])");
    check("(min) W[a,d] := X[a,b]+Y[b,c]+Z[c,d]", &chain(20), "((X[a,b] + Y[b,c]) + Z[c,d])");
}

#[test]
fn no_order_where_it_is_not_allowed() {
    let text = "W[a,d] := X[a,b]*Y[b,c]*Z[c,d]";
    let has_order = |text: &str, args: &[Named]| explained(text, args).contains("order:");
    assert!(has_order(text, &chain(20)));
    assert!(!has_order(&format!("{text} strict"), &chain(20)));
    // Integers are exact, so `strict` allows it; narrow ones would overflow earlier.
    let cast = |to: DType| chain(20).map(|(name, datum)| (name, Datum::from(datum.to_array().cast(to))));
    assert!(has_order(&format!("{text} strict"), &cast(DType::I64)));
    assert!(!has_order(text, &cast(DType::I32)));
    assert!(!has_order("W[a,d] := X[a,b]*Y[b,c]*Z[c,d] init=1", &chain(20)));
    assert!(!has_order("(*) W[a,d] := X[a,b]*Y[b,c]*Z[c,d]", &chain(20)));
    assert!(!has_order(text, &chain(3)));
}

#[test]
fn random_products_agree() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut ordered = 0;
    for _ in 0..60 {
        let names = ["a", "b", "c", "d", "e", "f"];
        let extents: Vec<usize> = names.iter().map(|_| random.usize(1..9)).collect();
        let (mut factors, mut args, mut used) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..random.usize(2..6) {
            let mut own: Vec<usize> = (0..6).collect();
            random.shuffle(&mut own);
            own.truncate(random.usize(1..4));
            let array = ["U", "V", "W", "X", "Y", "Z"][n];
            let shape: Vec<usize> = own.iter().map(|index| extents[*index]).collect();
            let list: Vec<&str> = own.iter().map(|index| names[*index]).collect();
            factors.push(format!("{array}[{}]", list.join(", ")));
            args.push((array, whole(&shape, n as i64)));
            used.extend(own);
        }
        used.sort_unstable();
        used.dedup();
        let left: Vec<&str> = used.iter().filter(|_| random.u8(0..3) == 0).map(|index| names[*index]).collect();
        let text = format!("R[{}] := {}", left.join(", "), factors.join(" * "));
        let wanted = run(&format!("{text} tensor=false"), &args);
        let found = run(&text, &args);
        let same = |a: &Datum, b: &Datum| {
            a.ty() == b.ty() && a.to_array().iter().zip(b.to_array().iter()).all(|(a, b)| a.to_c128() == b.to_c128())
        };
        assert!(same(&found["R"], &wanted["R"]), "{text}\n{}\n{}", found["R"], wanted["R"]);
        ordered += u32::from(explained(&text, &args).contains("order:"));
    }
    assert!(ordered > 10, "{ordered} products have an order");
}

#[test]
fn a_strict_sum_of_integers_that_begins_with_a_float_is_no_contraction() {
    let ints = |seed: i64| crate::support::ints(&(0..80).map(|n| (n * 7 + seed) % 1000 - 300).collect::<Vec<_>>());
    let args = [("x", ints(1)), ("y", ints(5)), ("f", array(&[1], &[0.1]))];
    assert!(explained("s := x[k] * y[l] strict", &args[..2]).contains("order:"), "the arithmetic is exact");
    let text = "f[i] += x[k] * y[l] strict";
    assert!(!explained(text, &args).contains("order:"));
    // Each product is added to the element.
    let (x, y) = (args[0].1.to_array(), args[1].1.to_array());
    let mut wanted = 0.1;
    for x in x.iter() {
        y.iter().for_each(|y| wanted += x.to_f64() * y.to_f64());
    }
    let found = run(text, &args)["f"].to_array().iter().next().map(|found| found.to_f64());
    assert_eq!(found.map(f64::to_bits), Some(wanted.to_bits()), "{found:?} {wanted}");
}
