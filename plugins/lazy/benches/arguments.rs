//! L12: what a call takes with lazy arguments, beside the same with arrays, and with views of them: nothing
//! decides anew, so it is the view that is made for each call.

use criterion::{Criterion, criterion_group, criterion_main};
use rewright::exec::{Arg, Options};
use rewright::{Array, DType, Executable, Scalar, parse_module};
use rewright_lazy::LazyArray;
use std::hint::black_box;

const MODULE: &str = "func @f(%x: f64[n, m], %y: f64[n, m]) -> f64[n, m] {
entry:
  %0 = add %x, %y
  ret %0
}";

fn arguments(c: &mut Criterion) {
    let module = parse_module(MODULE, "f.ir").expect("the module is right");
    for extent in [4usize, 32, 512] {
        let f = Executable::compile(&module, "f", Options::default()).expect("it compiles");
        let y = Array::full(Scalar::F64(1.5), &[extent, extent]).expect("there is memory");
        let row = LazyArray::of(Array::full(Scalar::F64(0.5), &[extent]).expect("there is memory"));
        let n = extent as u64;
        let constant = |text: String| {
            LazyArray::constant(text.parse().expect("it is an expression")).expect("it is a constructor")
        };
        let forms = [
            ("row", row.view(|e| e.broadcast(&[n, n], &[1])).expect("it broadcasts")),
            ("full", constant(format!("full(0.5:f64)[i: {n}, j: {n}]"))),
            ("eye", constant(format!("eye(f64, {n}, {n})"))),
            ("whole", LazyArray::of(Array::full(Scalar::F64(0.5), &[extent, extent]).expect("there is memory"))),
        ];
        let mut group = c.benchmark_group(format!("{extent}x{extent}"));
        for (name, x) in forms {
            assert_eq!(x.dtype(), DType::F64);
            group.bench_function(format!("{name}, lazy"), |b| {
                b.iter(|| f.call(black_box(&[x.arg().expect("it has strides"), Arg::Array(&y)])).expect("it runs"))
            });
            let forced = x.force().expect("there is memory").clone();
            group.bench_function(format!("{name}, forced, as a view"), |b| {
                b.iter(|| f.call(black_box(&[Arg::View(forced.view()), Arg::Array(&y)])).expect("it runs"))
            });
            group.bench_function(format!("{name}, forced"), |b| {
                b.iter(|| f.call(black_box(&[Arg::Array(&forced), Arg::Array(&y)])).expect("it runs"))
            });
        }
        group.finish();
    }
}

criterion_group!(benches, arguments);
criterion_main!(benches);
