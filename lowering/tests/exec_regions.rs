//! Reductions that combine by a region, against the reference evaluator, bit for bit: in all orders, from all that they may start from, of rows
//! of all lengths around those at which lanes and leaves begin.

use crate::support::agree::{check, compile};
use rewright_ir::{Array, DType, Scalar};
use rewright_lowering::exec::Backend;

/// Numbers of which no two sums are the same, and zeros of both signs.
fn array(dtype: DType, shape: &[usize]) -> Array {
    let mut random = fastrand::Rng::with_seed(shape.iter().product::<usize>() as u64);
    let mut number = || match random.u8(..20) {
        0 => -0.0,
        1 => 0.0,
        _ => (random.f64() - 0.4) * 10f64.powi(random.i32(-2..3)),
    };
    let one = |_| {
        let z = num_complex::Complex::new(number(), number());
        if dtype.is_complex() { Scalar::C128(z).cast(dtype) } else { Scalar::F64(z.re).cast(dtype) }
    };
    Array::from_fn(dtype, shape, one).unwrap()
}

/// Rows of `dtype` that are combined by a region of `a0` and `a1`.
fn rows(dtype: DType, region: &str, how: &str) -> String {
    let name = dtype.name();
    format!(
        "func @f(%x: {name}[n, m]) -> {name}[n] {{\nentry:\n  %0 = arrayexpr [i: n, j: reduce m] (x = %x[i, j]) {{\n    yield x\n  }} \
         reduce ({name}) region (a0, a1) {{\n{region}\n  }} {how} : {name}[n]\n  ret %0\n}}"
    )
}

const LENGTHS: [usize; 14] = [1, 2, 3, 7, 8, 15, 17, 31, 33, 64, 129, 513, 1025, 9000];

#[test]
fn all_orders_and_starts() {
    // The root of the sum of squares, and a difference, of which every order gives something else.
    let hypot = "    t0 = mul a0, a0\n    t1 = mul a1, a1\n    t2 = add t0, t1\n    t3 = sqrt t2\n    yield t3";
    let apart = "    t0 = mul a1, 0.5\n    t1 = sub a0, t0\n    yield t1";
    for region in [hypot, apart] {
        for flags in ["assoc comm", "assoc nocomm", "noassoc nocomm", "noassoc comm"] {
            for start in ["init first", "init 0.75", "identity 0.0", "identity -0.0 init 3.0"] {
                let text = rows(DType::F64, region, &format!("{flags} {start}"));
                for m in LENGTHS {
                    check(&text, &[array(DType::F64, &[3, m])]);
                }
            }
        }
    }
}

#[test]
fn all_dtypes() {
    for dtype in DType::ALL {
        let both =
            if dtype == DType::Bool { "    t0 = ne a0, a1\n    yield t0" } else { "    t0 = add a0, a1\n    yield t0" };
        for flags in ["assoc comm init first", "assoc nocomm init first", "noassoc nocomm init first"] {
            for shape in [[1, 1], [5, 13], [2, 700]] {
                check(&rows(dtype, both, flags), &[array(dtype, &shape)]);
            }
        }
    }
}

/// A mean and the sum of squares of what is apart from it, of so many: T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise
/// algorithm for computing sample variances" (1979).
const MOMENTS: &str = "func @f(%x: f64[n, m]) -> f64[n], f64[n] {
entry:
  %0, %1 = arrayexpr [i: n, j: reduce m] (x = %x[i, j]) {
    yield 1.0, x, 0.0, x
  } reduce (f64, f64, f64) region (a0, a1, a2, a3, a4, a5) {
    t0 = add a0, a3
    t1 = sub a4, a1
    t2 = div a3, t0
    t3 = mul t1, t2
    t4 = add a1, t3
    t5 = mul t1, t1
    t6 = mul t5, a0
    t7 = mul t6, t2
    t8 = add a2, a5
    t9 = add t8, t7
    yield t0, t4, t9
  } assoc comm init first reduce (max f64) init first finish (s0, s1, s2, s3) {
    t0 = div s2, s0
    t1 = sub s3, s1
    yield t0, t1
  } : f64[n], f64[n]
  ret %0, %1
}";

#[test]
fn several_accumulators_beside_others() {
    for m in LENGTHS {
        check(MOMENTS, &[array(DType::F64, &[4, m])]);
    }
    check(MOMENTS, &[array(DType::F64, &[1, 100_000])]);
    check(MOMENTS, &[array(DType::F64, &[0, 5])]);
    check(MOMENTS, &[array(DType::F64, &[3, 0])]);
}

#[test]
fn what_has_no_kernel_says_why() {
    let why = |text: &str| -> Vec<String> {
        compile(text, Backend::Interp, 1).remarks().iter().map(|remark| remark.to_string()).collect()
    };
    let columns = rows(DType::F64, "    t0 = add a0, a1\n    yield t0", "assoc comm init first")
        .replace("[i: n, j: reduce m] (x = %x[i, j])", "[i: reduce n, j: m] (x = %x[i, j])")
        .replace(": f64[n]\n", ": f64[m]\n")
        .replace("-> f64[n]", "-> f64[m]");
    assert!(why(&columns)[0].contains("it combines several rows by a region"), "{:?}", why(&columns));
    let fails = rows(DType::I64, "    t0 = power a0, a1\n    yield t0", "assoc comm init first");
    assert!(why(&fails)[0].contains("its region has `power`"), "{:?}", why(&fails));
}
