//! L12: what an eager operation takes that is known, beside a call of its kernel with the same arrays.

use criterion::{Criterion, criterion_group, criterion_main};
use rewright::exec::{Arg, Options};
use rewright::{Array, DType, Executable, Scalar, parse_module};
use rewright_lazy::LazyArray;
use std::hint::black_box;

const MODULE: &str = "func @f(%x: f64[n], %y: f64[n]) -> f64[n] {
entry:
  %0 = add %x, %y
  ret %0
}";

fn array(extent: usize) -> LazyArray {
    LazyArray::of(Array::full(Scalar::F64(1.5), &[extent]).expect("there is memory"))
}

fn eager(c: &mut Criterion) {
    let module = parse_module(MODULE, "f.ir").expect("the module is right");
    let f = Executable::compile(&module, "f", Options::default()).expect("it compiles");
    for extent in [1usize, 8, 1000] {
        let (x, y) = (array(extent), array(extent));
        let (a, b) = (x.data().expect("an array"), y.data().expect("an array"));
        let iota = LazyArray::iota(DType::F64, extent as u64);
        let mut group = c.benchmark_group(format!("{extent}"));
        group.bench_function("call of x + y", |bench| {
            bench.iter(|| f.call(black_box(&[Arg::Array(a), Arg::Array(b)])).expect("it runs"))
        });
        group.bench_function("x + y", |bench| bench.iter(|| black_box(&x) + black_box(&y)));
        group.bench_function("x * 2", |bench| bench.iter(|| black_box(&x) * 2.0));
        group.bench_function("x + iota", |bench| bench.iter(|| black_box(&x) + &iota));
        group.bench_function("sum", |bench| bench.iter(|| black_box(&x).sum(0)));
        group.bench_function("expand_dims", |bench| bench.iter(|| black_box(&x).expand_dims(1)));
        let (column, row) = (x.expand_dims(1), x.expand_dims(0));
        group.bench_function("column * row", |bench| bench.iter(|| black_box(&column) * &row));
        group.bench_function("outer product", |bench| {
            bench.iter(|| &black_box(&x).expand_dims(1) * &black_box(&x).expand_dims(0))
        });
        group.finish();
    }
}

criterion_group!(benches, eager);
criterion_main!(benches);
