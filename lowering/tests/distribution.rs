//! Loops with loads at computed positions, of few and many points: elementwise, and as reductions in several
//! parts.

use crate::support::agree::compile;
use crate::support::bits::bits;
use rewright_ir::{Array, DType, Scalar};
use rewright_lowering::exec::{Arg, Backend};

/// The lengths of loops: below and above the least one that is distributed, of blocks, and of parts of trees.
const LENGTHS: [usize; 10] = [0, 1, 31, 32, 33, 256, 257, 1000, 8193, 20_000];

/// Elements whose sums and order matter.
fn array(dtype: DType, shape: &[usize], seed: usize) -> Array {
    let element = |n: usize| Scalar::F64(((n * 37 + seed * 11) % 101) as f64 / 8.0 - 6.0).cast(dtype);
    Array::from_fn(dtype, shape, element).expect("elements of the dtype")
}

/// Positions from `-n` to `n - 1`.
fn positions(shape: &[usize], n: usize) -> Array {
    let position = |i: usize| Scalar::I64((i * 7919 % (2 * n)) as i64 - n as i64);
    Array::from_fn(DType::I64, shape, position).expect("integers")
}

#[track_caller]
fn agree(text: &str, args: &[Array]) {
    let lent: Vec<Arg<'_>> = args.iter().map(Arg::Array).collect();
    let wanted = compile(text, Backend::Reference, 1).call(&lent);
    for backend in Backend::available().filter(|backend| *backend != Backend::Reference) {
        for threads in [1, 3] {
            match (&compile(text, backend, threads).call(&lent), &wanted) {
                (Ok(found), Ok(wanted)) => {
                    for (found, wanted) in found.iter().zip(wanted.iter()) {
                        assert!(bits(found) == bits(wanted), "{backend:?}\n{text}\n{found:.300?}\n{wanted:.300?}");
                    }
                }
                (Err(found), Err(wanted)) => assert_eq!(found.message, wanted.message, "{backend:?}\n{text}"),
                (found, wanted) => panic!("{backend:?}\n{text}\n{found:.100?}\n{wanted:.100?}"),
            }
        }
    }
}

#[test]
fn elements_at_gathered_positions_agree() {
    for n in LENGTHS {
        for dtype in [DType::F64, DType::F32, DType::I8, DType::C64] {
            let text = format!(
                "func @f(%x: {dtype}[50], %k: i64[n], %w: {dtype}[n]) -> {dtype}[n] {{
entry:
  %0 = arrayexpr [i: n] (x = %x[gather(%k[i])], w = %w[i], y = %x[clamp(gather(%k[i]) + 3)]) {{
    t0 = mul x, w
    t1 = add t0, x
    t2 = sub t1, y
    t3 = mul t2, t1
    t4 = add t3, w
    t5 = mul t4, x
    t6 = sub t5, t3
    t7 = add t6, t4
    t8 = mul t7, t6
    t9 = sub t8, y
    t10 = add t9, t5
    yield t10
  }} : {dtype}[n]
  ret %0
}}"
            );
            let (x, k, w) = (array(dtype, &[50], 1), positions(&[n], 50), array(dtype, &[n], 2));
            agree(&text, &[x, k, w]);
        }
    }
}

#[test]
fn an_error_at_any_point_is_found() {
    let text = "func @f(%x: f64[50], %k: i64[n]) -> f64[n], f64[] {
entry:
  %0 = arrayexpr [i: n] (x = %x[gather(%k[i])]) {
    t0 = exp x
    yield t0
  } : f64[n]
  %1 = arrayexpr [i: reduce n] (x = %x[gather(%k[i])]) {
    yield x
  } reduce (sum f64) : f64[]
  ret %0, %1
}";
    for (n, at) in [(40, 39), (700, 0), (700, 511), (20_000, 8192), (20_000, 19_999)] {
        let wrong = |i: usize| Scalar::I64(if i == at { 50 } else { i as i64 % 50 });
        let k = Array::from_fn(DType::I64, &[n], wrong).expect("integers");
        agree(text, &[array(DType::F64, &[50], 1), k]);
    }
}

#[test]
fn reductions_of_computed_positions_agree() {
    for n in LENGTHS {
        for (dtype, monoid) in [
            (DType::F64, "sum"),
            (DType::F32, "sum"),
            (DType::C128, "sum"),
            (DType::I16, "sum"),
            (DType::F64, "prod"),
            (DType::F32, "max"),
        ] {
            let init = if monoid == "max" { "init first" } else { "" };
            let text = format!(
                "func @f(%x: {dtype}[50], %k: i64[n], %w: {dtype}[n]) -> {dtype}[], {dtype}[] {{
entry:
  %0 = arrayexpr [i: reduce n] (x = %x[gather(%k[i])], w = %w[i]) {{
    t0 = add x, w
    yield t0
  }} reduce ({monoid} {dtype}) {init} : {dtype}[]
  %1 = arrayexpr [i: reduce n] (x = %x[i % 50], y = %w[wrap(i - 3)], z = %w[clamp(i + 2)]) {{
    t0 = add x, y
    t1 = sub t0, z
    yield t1
  }} reduce ({monoid} {dtype}) {init} : {dtype}[]
  ret %0, %1
}}"
            );
            agree(&text, &[array(dtype, &[50], 1), positions(&[n], 50), array(dtype, &[n], 2)]);
        }
    }
}

#[test]
fn rows_of_computed_positions_agree() {
    let text = "func @f(%x: f64[n, m], %k: i64[n, m]) -> f64[n], f64[n, m] {
entry:
  %0 = arrayexpr [i: n, j: reduce m] (x = %x[i, wrap(j - 1)], y = %x[i, gather(%k[i, j])]) {
    t0 = sub x, y
    yield t0
  } reduce (sum f64) : f64[n]
  %1 = arrayexpr [i: n, j: m] (x = %x[i, wrap(gather(%k[i, j]) - 1)], t = %0[i]) {
    t0 = cos x
    t1 = mul t0, t
    yield t1
  } : f64[n, m]
  ret %0, %1
}";
    for (n, m) in [(0, 40), (3, 0), (4, 7), (5, 40), (2, 300), (2, 9000)] {
        agree(text, &[array(DType::F64, &[n, m], 1), positions(&[n, m], m.max(1))]);
    }
}

#[test]
fn positions_at_quotients_and_remainders_agree() {
    for by in [3, 32, 64, 100] {
        for offset in ["- 130", "- 5", "+ 0", "+ 7", "+ 64"] {
            let text = format!(
                "func @f(%x: f64[n], %y: f64[{by}], %z: f64[m, n]) -> f64[n], f64[m, n] {{
entry:
  %0 = arrayexpr [i: n] (x = %x[clamp((i {offset}) // {by})], y = %y[(i {offset}) % {by}], z = %y[i % {by}]) {{
    t0 = mul x, y
    t1 = add t0, z
    yield t1
  }} : f64[n]
  %1 = arrayexpr [i: m, j: n] (x = %x[clamp(({by} * i + j {offset}) // {by})], y = %y[({by} * i + j) % {by}], z = %z[i, j]) {{
    t0 = mul x, y
    t1 = add t0, z
    yield t1
  }} : f64[m, n]
  ret %0, %1
}}"
            );
            for n in [1, 31, 64, 65, 200, 1000] {
                let args = [array(DType::F64, &[n], 1), array(DType::F64, &[by], 2), array(DType::F64, &[3, n], 3)];
                agree(&text, &args);
            }
        }
    }
}

#[test]
fn the_last_of_several_writes_stays_the_last() {
    let text = "func @f(%x: f64[m, n]) -> f64[400], f64[400] {
entry:
  %0 = arrayexpr [k: n, j: m] (x = %x[j, k]) {
    yield x
  } into ([j + 2*k] fill 0.0 last) : f64[400]
  %1 = arrayexpr [k: n, j: m] (x = %x[j, k]) {
    yield x
  } into ([j] fill 0.0 last) : f64[400]
  ret %0, %1
}";
    for (m, n) in [(5, 4), (130, 100), (100, 130)] {
        agree(text, &[array(DType::F64, &[m, n], 1)]);
    }
}

#[test]
fn bounds_at_the_ends_of_integers_do_not_overflow() {
    let text = "func @f(%x: f64[q], %y: f64[m, n]) -> f64[m, n] {
entry:
  %0 = arrayexpr [k: m, i: 9223372036854775807..n] (x = %x[clamp((i + 31) // 64)]) {
    yield x
  } into ([k, i] fill 0.0) : f64[m, n]
  ret %0
}";
    agree(text, &[array(DType::F64, &[3], 1), array(DType::F64, &[2, 3], 2)]);
}
