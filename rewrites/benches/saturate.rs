//! Benchmarks of equality saturation: a chain of 24 ops, with the exact rules, of floats and of integers,
//! which also have sums and products of many terms; and a polynomial whose terms may be regrouped. The
//! latter two also run with exact extraction.
//!
//!     cargo bench -p rewright-rewrites --bench saturate [--features exact-extraction]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use rewright_ir::{Module, parse_module};
use rewright_rewrites::rule::Liberties;
use rewright_rewrites::{NoObserver, Options, Pipeline};

/// A chain of 24 ops, a fifth of which rules remove.
fn chain(ty: &str) -> String {
    const OPS: [&str; 6] = ["neg %{}", "neg %{}", "add %{}, %y", "mul %{}, %y", "abs %{}", "sub %y, %{}"];
    let mut body = String::new();
    for n in 0..24 {
        let before = if n == 0 { "x".to_string() } else { format!("v{}", n - 1) };
        body += &format!("  %v{n} = {}\n", OPS[n % OPS.len()].replace("{}", &before));
    }
    format!("func @f(%x: {ty}[n], %y: {ty}[n]) -> {ty}[n] {{\nentry:\n{body}  ret %v23\n}}\n")
}

const POLYNOMIAL: &str = "func @f(%x: f64[n], %a: f64, %b: f64, %c: f64, %d: f64) -> f64[n] {\nentry:\n  %x2 = mul %x, %x\n  \
    %x3 = mul %x2, %x\n  %p3 = mul %a, %x3\n  %p2 = mul %b, %x2\n  %p1 = mul %c, %x\n  %s1 = add %p3, %p2\n  \
    %s2 = add %s1, %p1\n  %s3 = add %s2, %d\n  ret %s3\n}\n";

fn benches(c: &mut Criterion) {
    let regrouped = "reassociate, no_nan, no_inf, no_signed_zeros";
    let cases = [
        ("chain of 24, f64", chain("f64"), "", "saturate"),
        ("chain of 24, i64", chain("i64"), "", "saturate"),
        ("polynomial, f64, regrouped", POLYNOMIAL.to_string(), regrouped, "saturate"),
        ("chain of 24, i64, cheapest", chain("i64"), "", "saturate-exact"),
        ("polynomial, f64, regrouped, cheapest", POLYNOMIAL.to_string(), regrouped, "saturate-exact"),
    ];
    let is_built = |pipeline| pipeline == "saturate" || cfg!(feature = "exact-extraction");
    for (name, text, liberties, pipeline) in cases.into_iter().filter(|case| is_built(case.3)) {
        let module = parse_module(&text, "bench.ir").expect("the text is right");
        let liberties: Liberties = liberties.parse().expect("there are such liberties");
        let pipeline = Pipeline::parse(pipeline).expect("there is such a rewrite");
        let options = Options { liberties, ..Options::default() };
        let run = |mut module: Module| {
            pipeline.run(&mut module, &options, &mut NoObserver).expect("it ends");
            module
        };
        c.bench_function(name, |b| b.iter_batched(|| module.clone(), run, BatchSize::SmallInput));
    }
}

criterion_group!(group, benches);
criterion_main!(group);
