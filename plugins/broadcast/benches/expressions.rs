//! Overhead of an expression on small inputs, from operators to result: the lookup of its compiled
//! program, and the call.

use criterion::{Criterion, criterion_group, criterion_main};
use rewright::ir::Styled;
use rewright::{Array, DType, Scalar};
use rewright_broadcast::expression::{Assign, Broadcast};
use std::hint::black_box;

fn range(len: usize) -> Styled {
    let of = |n| Array::full(Scalar::I64(n), &[]).expect("there is memory");
    let style = rewright::ir::Style::named("range".into()).expect("it is registered");
    Styled::new(style, DType::I64, &[len], vec![of(5), of(3)]).expect("it is a range")
}

fn expressions(c: &mut Criterion) {
    for len in [10, 1_000_000_000] {
        let r = range(len);
        c.bench_function(&format!("3 * (r + 1) - 2, range of {len}"), |b| {
            b.iter(|| (3 * (black_box(&r).lazy() + 1) - 2).materialize().expect("it is a range"))
        });
    }
    let x = Array::from_fn(DType::F64, &[16], |i| Scalar::F64(i as f64)).expect("there is memory");
    let mut y = x.cast(DType::F64);
    c.bench_function("y = 2 (x + 1), 16 elements", |b| {
        b.iter(|| y.assign(2.0 * (black_box(&x).lazy() + 1.0)).expect("it fits"))
    });
    let (mut sum, mut parts) = (x.lazy(), Vec::new());
    for n in 0..50 {
        parts.push(Array::full(Scalar::F64(f64::from(n)), &[16]).expect("there is memory"));
    }
    for part in &parts {
        sum = sum + part;
    }
    c.bench_function("51 operands of 16 elements", |b| {
        b.iter(|| black_box(&sum).materialize().expect("it is computed"))
    });
}

criterion_group!(benches, expressions);
criterion_main!(benches);
