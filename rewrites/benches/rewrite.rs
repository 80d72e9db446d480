//! Benchmarks of rewriting: the time of pipelines for each instruction, to their fixed point, and the time
//! of a function without matches.
//!
//! `cargo bench -p rewright-rewrites --bench rewrite`; with `-- --test` everything runs once, on small
//! functions.

#[path = "../../benches/support/processor.rs"]
mod processor;
#[path = "../tests/support/straight.rs"]
mod straight;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use processor::Processor;
use rewright_ir::Module;
use rewright_rewrites::rule::Liberties;
use rewright_rewrites::{Analyses, MatchCx, Matcher, NoObserver, Options, Pipeline};
use std::hint::black_box;
use std::time::Duration;

fn sizes(largest: usize) -> Vec<usize> {
    let test = std::env::args().any(|a| a == "--test");
    let all = [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|&n| n <= largest);
    if test { vec![1_000] } else { all.collect() }
}

fn run(pipeline: &Pipeline, mut module: Module) -> Module {
    pipeline.run(&mut module, &Options::default(), &mut NoObserver).expect("it ends");
    module
}

/// Programs with many matches, to the fixed point.
fn rewrite(c: &mut Criterion<Processor>) {
    for (name, ty) in [("scalars", "f64"), ("arrays", "f64[n]")] {
        let mut group = c.benchmark_group(format!("rewrite {name}"));
        group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(2));
        for n in sizes(1_000_000) {
            group.throughput(Throughput::Elements(n as u64));
            let module = straight::module(&straight::redundant(n, ty));
            for pipeline in ["canonicalize, cse, dce", "default"] {
                let parsed = Pipeline::parse(pipeline).expect("a pipeline");
                group.bench_function(BenchmarkId::new(pipeline, n), |b| {
                    b.iter_batched(|| module.clone(), |module| run(&parsed, module), BatchSize::PerIteration);
                });
            }
        }
        group.finish();
    }
}

/// Programs without matches: a whole run, with verification and a copy of the function, and the tests for
/// matches alone.
fn refuse(c: &mut Criterion<Processor>) {
    let mut group = c.benchmark_group("nothing to do");
    group.sample_size(20).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    let pipeline = Pipeline::parse("default").expect("a pipeline");
    let matcher = Matcher::new(&pipeline, Liberties::empty());
    for n in sizes(100_000) {
        group.throughput(Throughput::Elements(n as u64));
        let module = straight::module(&straight::minimal(n));
        let func = module.functions().next().expect("a function");
        group.bench_function(BenchmarkId::new("ask all", n), |b| {
            b.iter_batched(
                || straight::known(func, &module),
                |fresh| matcher.first_match(&MatchCx::new(black_box(func), &module, &fresh)),
                BatchSize::PerIteration,
            );
        });
        for entry in pipeline.stops().iter().map(|stop| stop.entry) {
            let Ok(alone) = Pipeline::parse(entry.def.name) else { continue };
            if matches!(entry.def.form, rewright_rewrites::Form::Rule(_)) {
                continue;
            }
            let matcher = Matcher::new(&alone, Liberties::empty());
            group.bench_function(BenchmarkId::new(format!("ask {}", entry.def.name), n), |b| {
                b.iter_batched(
                    || straight::known(func, &module),
                    |fresh: Analyses| matcher.first_match(&MatchCx::new(black_box(func), &module, &fresh)),
                    BatchSize::PerIteration,
                );
            });
        }
        group.bench_function(BenchmarkId::new("run", n), |b| {
            b.iter_batched(|| module.clone(), |module| run(&pipeline, module), BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Processor);
    targets = rewrite, refuse
}
criterion_main!(benches);
