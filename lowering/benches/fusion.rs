//! Fused against unfused on the same code generator, and what one call costs.
//!
//! Unfused, every op is a kernel of its own, and temporaries take the memory of dead ones. Fused and unfused calls take turns, so that
//! both see the same machine; printed are the fastest and the median ones. `into` writes to a buffer of the caller's, `new` makes an
//! array for the result.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ndarray::{Array1, Array2, s};
use num_complex::Complex64;
use rewright_ir::text::parse_module;
use rewright_lowering::exec::{Arg, Executable, Options, ViewMut};
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A function of arrays `a`, `b`, `c`: each step is an op and its operands, which are these, earlier steps or literals.
struct Chain {
    name: &'static str,
    arrays: &'static [&'static str],
    steps: &'static [&'static str],
}

const CHAINS: &[Chain] = &[
    Chain { name: "2a+3b", arrays: &["a", "b"], steps: &["mul a, 2.0", "mul b, 3.0", "add t0, t1"] },
    Chain {
        name: "a*b+c*(a-b)*0.5+1",
        arrays: &["a", "b", "c"],
        steps: &["mul a, b", "sub a, b", "mul c, t1", "mul t2, 0.5", "add t0, t3", "add t4, 1.0"],
    },
    Chain {
        name: "8 ops in a row",
        arrays: &["a"],
        steps: &[
            "mul a, 1.5",
            "add t0, 0.25",
            "mul t1, t1",
            "sub t2, 2.0",
            "mul t3, 0.5",
            "add t4, a",
            "neg t5",
            "sub t6, 1.0",
        ],
    },
    Chain {
        name: "Horner, degree 6",
        arrays: &["a"],
        steps: &[
            "mul a, 0.1",
            "add t0, 0.2",
            "mul t1, a",
            "add t2, 0.3",
            "mul t3, a",
            "add t4, 0.4",
            "mul t5, a",
            "add t6, 0.5",
            "mul t7, a",
            "add t8, 0.6",
            "mul t9, a",
            "add t10, 0.7",
        ],
    },
    Chain {
        name: "sqrt(a*a+b*b)/(1+|c|)",
        arrays: &["a", "b", "c"],
        steps: &["mul a, a", "mul b, b", "add t0, t1", "sqrt t2", "abs c", "add t4, 1.0", "div t3, t5"],
    },
    Chain {
        name: "where(a>b, a-b, c*0.5)",
        arrays: &["a", "b", "c"],
        steps: &["gt a, b", "sub a, b", "mul c, 0.5", "where t0, t1, t2"],
    },
];

impl Chain {
    fn text(&self, dtype: &str, fused: bool) -> String {
        let params: Vec<_> = self.arrays.iter().map(|a| format!("%{a}: {dtype}[n]")).collect();
        let mut text = format!("func @f({}) -> {dtype}[n] {{\nentry:\n", params.join(", "));
        let last = self.steps.len() - 1;
        if fused {
            let reads: Vec<_> = self.arrays.iter().map(|a| format!("{a} = %{a}[i]")).collect();
            writeln!(text, "  %r = arrayexpr [i: n] ({}) {{", reads.join(", ")).unwrap();
            self.steps.iter().enumerate().for_each(|(n, step)| writeln!(text, "    t{n} = {step}").unwrap());
            writeln!(text, "    yield t{last}\n  }} : {dtype}[n]\n  ret %r\n}}").unwrap();
        } else {
            for (n, step) in self.steps.iter().enumerate() {
                let named = |word: &str| word.starts_with(char::is_alphabetic);
                let (op, operands) = step.split_once(' ').unwrap();
                let operands: Vec<_> =
                    operands.split(", ").map(|o| if named(o) { format!("%{o}") } else { o.to_string() }).collect();
                writeln!(text, "  %t{n} = {op} {}", operands.join(", ")).unwrap();
            }
            writeln!(text, "  ret %t{last}\n}}").unwrap();
        }
        text
    }

    fn compile(&self, dtype: &str, fused: bool) -> Executable {
        let module =
            parse_module(&self.text(dtype, fused), self.name).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let f = Executable::compile(&module, "f", Options::default()).unwrap();
        assert!(f.remarks().is_empty(), "{:?}", f.remarks());
        f
    }
}

/// The element types.
trait Number: Copy + 'static {
    const NAME: &'static str;
    fn make(n: usize, k: usize) -> Array1<Self>;
    fn arg(array: &Array1<Self>) -> Arg<'_>;
    fn out(array: &mut Array1<Self>) -> ViewMut<'_>;
}
macro_rules! numbers {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            const NAME: &'static str = stringify!($ty);
            fn make(n: usize, k: usize) -> Array1<$ty> {
                Array1::from_iter((0..n).map(|i| ((i * (k + 3)) % 1000) as $ty / 1000.0))
            }
            fn arg(array: &Array1<$ty>) -> Arg<'_> {
                array.into()
            }
            fn out(array: &mut Array1<$ty>) -> ViewMut<'_> {
                array.into()
            }
        }
    )*};
}
numbers!(f32 f64);

/// The fastest and the median time, in microseconds.
fn summary(mut times: Vec<Duration>) -> [f64; 2] {
    times.sort_unstable();
    [times[0], times[times.len() / 2]].map(|t| t.as_secs_f64() * 1e6)
}

/// Fused and unfused calls take turns.
fn ratio<T: Number>(chain: &Chain, n: usize) {
    let (fused, unfused) = (chain.compile(T::NAME, true), chain.compile(T::NAME, false));
    let arrays: Vec<Array1<T>> = (0..chain.arrays.len()).map(|k| T::make(n, k)).collect();
    let args: Vec<Arg<'_>> = arrays.iter().map(T::arg).collect();
    assert_eq!(fused.call(&args).unwrap(), unfused.call(&args).unwrap());
    let mut out = T::make(n, 0);
    let rounds = (200_000_000 / (n.max(1000) * chain.steps.len())).clamp(11, 2001);
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..rounds {
        for (f, times) in [&unfused, &fused].into_iter().zip(times.chunks_exact_mut(2)) {
            let start = Instant::now();
            f.call_into(black_box(&args), &mut [T::out(&mut out)]).unwrap();
            times[0].push(start.elapsed());
            let start = Instant::now();
            black_box(f.call(black_box(&args)).unwrap());
            times[1].push(start.elapsed());
        }
    }
    let [into, new, fused_into, fused_new] = times.map(summary);
    print!("{:22} {} {n:>8}", chain.name, T::NAME);
    for (what, unfused, fused) in [("into", into, fused_into), ("new", new, fused_new)] {
        let [best, median] = [0, 1].map(|i| format!("{:.1}/{:.1}={:.2}", unfused[i], fused[i], unfused[i] / fused[i]));
        print!("  {what:>4} {best:>22} {median:>22}");
    }
    println!();
}

fn ratios(_: &mut Criterion) {
    println!("unfused / fused = ratio, microseconds: fastest, median");
    for chain in CHAINS {
        for n in [8, 1_000, 30_000, 1_000_000, 10_000_000] {
            ratio::<f64>(chain, n);
        }
        ratio::<f32>(chain, 1_000_000);
    }
}

fn chains(c: &mut Criterion) {
    const N: usize = 1_000_000;
    for chain in CHAINS {
        let mut group = c.benchmark_group(chain.name);
        group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
        group.throughput(Throughput::Elements(N as u64));
        for (what, fused) in [("fused", true), ("unfused", false)] {
            let f = chain.compile("f64", fused);
            let arrays: Vec<Array1<f64>> = (0..chain.arrays.len()).map(|k| f64::make(N, k)).collect();
            let args: Vec<Arg<'_>> = arrays.iter().map(Arg::from).collect();
            let mut out = Array1::<f64>::zeros(N);
            group.bench_function(BenchmarkId::new(what, N), |b| {
                b.iter(|| f.call_into(black_box(&args), &mut [(&mut out).into()]).unwrap());
            });
        }
        group.finish();
    }
}

/// One fused kernel on operands that lie in memory in different ways.
fn layouts(_: &mut Criterion) {
    const N: usize = 1000;
    let text = "func @f(%a: f64[n, m], %b: f64[n, m]) -> f64[n, m] {
    entry:
      %r = arrayexpr [i: n, j: m] (x = %a[i, j], y = %b[i, j]) {
        t0 = mul x, 2.0
        t1 = add t0, y
        yield t1
      } : f64[n, m]
      ret %r
    }";
    let module = parse_module(text, "layouts").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let f = Executable::compile(&module, "f", Options::default()).unwrap();
    println!("1000 x 1000 f64, microseconds: fastest, median");
    let (a, b) = (Array2::from_elem((N, N), 1.5), Array2::from_elem((N, N), 2.5));
    let (row, wide) = (Array1::from_elem(N, 0.5), Array2::from_elem((N, 2 * N), 1.5));
    let mut out = Array2::<f64>::zeros((N, N));
    for (what, a, b) in [
        ("in a row", a.view(), b.view()),
        ("every other column", wide.slice(s![.., ..;2]), b.view()),
        ("one backwards", a.slice(s![.., ..;-1]), b.view()),
        ("one stretched row", row.broadcast((N, N)).unwrap(), b.view()),
        ("one transposed", a.t(), b.view()),
        ("both transposed", a.t(), b.t()),
    ] {
        let args = [a.into(), b.into()];
        let mut times: [Vec<Duration>; 2] = Default::default();
        for _ in 0..201 {
            let start = Instant::now();
            f.call_into(black_box(&args), &mut [(&mut out).into()]).unwrap();
            times[0].push(start.elapsed());
            let start = Instant::now();
            black_box(f.call(black_box(&args)).unwrap());
            times[1].push(start.elapsed());
        }
        let [into, new] = times.map(summary);
        println!("{what:20}  into {:8.1} {:8.1}  new {:8.1} {:8.1}", into[0], into[1], new[0], new[1]);
    }
}

/// What a call costs where the arrays are small, and what a scalar loop costs a step.
fn calls(c: &mut Criterion) {
    let mut group = c.benchmark_group("call");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let chain = &CHAINS[1];
    let (fused, unfused) = (chain.compile("f64", true), chain.compile("f64", false));
    let arrays: Vec<Array1<f64>> = (0..3).map(|k| f64::make(8, k)).collect();
    let args: Vec<Arg<'_>> = arrays.iter().map(Arg::from).collect();
    let mut out = Array1::<f64>::zeros(8);
    group.bench_function("one kernel, n=8, into", |b| {
        b.iter(|| fused.call_into(black_box(&args), &mut [(&mut out).into()]).unwrap());
    });
    group.bench_function("one kernel, n=8, new", |b| b.iter(|| fused.call(black_box(&args)).unwrap()));
    group.bench_function("six kernels, n=8, new", |b| b.iter(|| unfused.call(black_box(&args)).unwrap()));
    let text = "func @f(%z: c128, %n: i64) -> i64 {
    entry:
      %0 = mul %z, 0.0
      jump head(0, %0)
    head(%i: i64, %w: c128):
      %more = lt %i, %n
      br_if %more, body, done
    body:
      %1 = mul %w, %w
      %2 = add %1, %z
      %j = add %i, 1
      jump head(%j, %2)
    done:
      ret %i
    }";
    let module = parse_module(text, "loop").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let f = Executable::compile(&module, "f", Options::default()).unwrap();
    let args = [Complex64::new(-0.5, 0.25).into(), 1000i64.into()];
    group.bench_function("scalar loop, 1000 rounds of 6 steps", |b| b.iter(|| f.call(black_box(&args)).unwrap()));
    group.bench_function("compile six kernels", |b| b.iter(|| chain.compile("f64", false)));
    group.finish();
}

criterion_group!(benches, calls, layouts, chains, ratios);
criterion_main!(benches);
