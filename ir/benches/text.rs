//! Text form: time of parsing, verifying and printing per instruction.
//!
//! `cargo bench -p rewright-ir --bench text`; with `-- --test` everything runs once, on small functions.

#[path = "../../benches/support/processor.rs"]
mod processor;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use processor::Processor;
use rewright_ir::{parse_module, print_module, verify_module};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

/// One block of `n` instructions on values of a type, with numbers or names.
fn straight(n: usize, ty: &str, prefix: &str) -> String {
    let mut text = format!("func @f(%x: {ty}, %y: {ty}) -> {ty} {{\nentry:\n");
    let name = |i: usize| match i {
        0 => "%x".to_string(),
        1 => "%y".to_string(),
        _ => format!("%{prefix}{}", i - 2),
    };
    for i in 0..n {
        let op = ["add", "mul", "sub"][i % 3];
        let right = if i % 5 == 0 { format!("{}.5", i % 7) } else { name(i) };
        // Writing to a string can't fail.
        let _ = writeln!(text, "  {} = {op} {}, {right}", name(i + 2), name(i + 1));
    }
    let _ = writeln!(text, "  ret {}\n}}", name(n + 1));
    text
}

/// Blocks of four instructions and a parameter each.
fn blocks(n: usize) -> String {
    let mut text = String::from("func @f(%x: f64, %c: bool) -> f64 {\nentry:\n  jump b0(%x)\n");
    let last = n / 4;
    for i in 0..last {
        let (next, after) = (i + 1, (i + 2).min(last));
        let _ = writeln!(text, "b{i}(%p{i}: f64):\n  %a{i} = add %p{i}, 1.5\n  %b{i} = mul %a{i}, %x");
        let _ = writeln!(text, "  %c{i} = sub %b{i}, %a{i}\n  br_if %c, b{next}(%c{i}), b{after}(%b{i})");
    }
    let _ = writeln!(text, "b{last}(%r: f64):\n  ret %r\n}}");
    text
}

fn text(c: &mut Criterion<Processor>) {
    let sizes: &[usize] = if std::env::args().any(|a| a == "--test") { &[1_000] } else { &[1_000, 100_000, 1_000_000] };
    for &n in sizes {
        let programs = [
            ("scalars", straight(n, "f64", "")),
            ("names", straight(n, "f64", "v")),
            ("arrays", straight(n, "f64[n]", "")),
            ("blocks", blocks(n)),
        ];
        for (name, text) in programs {
            let mut group = c.benchmark_group(name);
            group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
            group.throughput(Throughput::Elements(n as u64));
            let module = parse_module(&text, "bench").expect("a program");
            group.bench_function(BenchmarkId::new("parse and verify", n), |b| {
                b.iter(|| parse_module(black_box(&text), "bench").is_ok());
            });
            group.bench_function(BenchmarkId::new("verify", n), |b| {
                b.iter(|| verify_module(black_box(&module)).is_ok())
            });
            group.bench_function(BenchmarkId::new("print", n), |b| b.iter(|| print_module(black_box(&module)).len()));
            group.finish();
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Processor);
    targets = text
}
criterion_main!(benches);
