//! Kernels on adjacent elements: vectors of all widths against one point at a time against the interpreter, and how long compiling takes.

#![allow(unsafe_code, reason = "calling compiled kernels")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rewright_ir::{DType, Scalar};
use rewright_lowering::internals::Cranelift;
use rewright_lowering::internals::Interp;
use rewright_lowering::internals::kernel::{Binary, Buffer, CodeGen, Kernel, KernelArgs, KernelBuilder, Part, Status};
use std::hint::black_box;
use std::time::Duration;

fn buffer(k: &mut KernelBuilder, dtype: DType, written: bool) -> u32 {
    k.buffer(Buffer { dtype, written, varies: [true].into_iter().collect() })
}

/// `2*a + 3*b` on f64.
fn two_a_plus_three_b() -> Kernel {
    let mut k = KernelBuilder::new(1);
    let (a, b, out) =
        (buffer(&mut k, DType::F64, false), buffer(&mut k, DType::F64, false), buffer(&mut k, DType::F64, true));
    let (two, three) = (k.constant(Scalar::F64(2.0)), k.constant(Scalar::F64(3.0)));
    let (x, y) = (k.load(a, Part::Re), k.load(b, Part::Re));
    let (x, y) = (k.binary(Binary::Mul, two, x), k.binary(Binary::Mul, three, y));
    let sum = k.binary(Binary::Add, x, y);
    k.store(out, Part::Re, sum);
    k.finish()
}

/// `a*b + c*(a-b)*0.5 + 1` on f64.
fn chain() -> Kernel {
    let mut k = KernelBuilder::new(1);
    let buffers: Vec<u32> = (0..4).map(|n| buffer(&mut k, DType::F64, n == 3)).collect();
    let (half, one) = (k.constant(Scalar::F64(0.5)), k.constant(Scalar::F64(1.0)));
    let [a, b, c] = [0, 1, 2].map(|n| k.load(buffers[n], Part::Re));
    let product = k.binary(Binary::Mul, a, b);
    let difference = k.binary(Binary::Sub, a, b);
    let scaled = k.binary(Binary::Mul, c, difference);
    let halved = k.binary(Binary::Mul, scaled, half);
    let sum = k.binary(Binary::Add, product, halved);
    let sum = k.binary(Binary::Add, sum, one);
    k.store(buffers[3], Part::Re, sum);
    k.finish()
}

/// `u8(f32(a) * 0.9 + 12)`.
fn brighten() -> Kernel {
    let mut k = KernelBuilder::new(1);
    let (a, out) = (buffer(&mut k, DType::U8, false), buffer(&mut k, DType::U8, true));
    let (gain, lift) = (k.constant(Scalar::F32(0.9)), k.constant(Scalar::F32(12.0)));
    let x = k.load(a, Part::Re);
    let x = k.convert(x, DType::F32);
    let x = k.binary(Binary::Mul, x, gain);
    let x = k.binary(Binary::Add, x, lift);
    let x = k.convert(x, DType::U8);
    k.store(out, Part::Re, x);
    k.finish()
}

/// The code generator `x64` at all levels that this processor has.
fn wide() -> Vec<(&'static str, Box<dyn CodeGen>)> {
    #[cfg(target_arch = "x86_64")]
    {
        use rewright_lowering::internals::x64::{Level, X64};
        let levels = Level::ALL.into_iter().filter_map(|level| X64::at(level).ok());
        levels.map(|x64| -> (_, Box<dyn CodeGen>) { (x64.name(), Box::new(x64)) }).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

fn run(c: &mut Criterion, name: &str, kernel: &Kernel) {
    let mut group = c.benchmark_group(name);
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let vectors = Cranelift::new().unwrap();
    let scalars = vectors.clone().without_vectors();
    let wide = wide();
    for size in [1_000u64, 30_000, 1_000_000] {
        let mut memory: Vec<Vec<u64>> =
            kernel.buffers.iter().map(|_| vec![0x3FF8_0000_0000_0001; size as usize]).collect();
        let pointers: Vec<*mut u8> = memory.iter_mut().map(|m| m.as_mut_ptr().cast()).collect();
        let strides: Vec<i64> = kernel.buffers.iter().map(|b| b.dtype.size() as i64).collect();
        let mut status = Status::default();
        let args = KernelArgs {
            extents: &size,
            pointers: pointers.as_ptr(),
            strides: strides.as_ptr(),
            params: std::ptr::null(),
            status: &mut status,
        };
        group.throughput(Throughput::Elements(size));
        let mut generators: Vec<(&str, &dyn CodeGen)> = vec![("vectors", &vectors), ("scalars", &scalars)];
        generators.extend(wide.iter().map(|(name, generator)| (*name, &**generator)));
        if size == 1_000 {
            generators.push(("interp", &Interp));
        }
        for (what, generator) in generators {
            let code = generator.compile(kernel).unwrap();
            group.bench_function(BenchmarkId::new(what, size), |b| {
                // SAFETY: every buffer has at least `size` elements of 8 bytes, apart from all others.
                b.iter(|| unsafe { code.call(black_box(&args)) });
            });
        }
    }
    group.bench_function("compile", |b| b.iter(|| vectors.compile(black_box(kernel)).is_ok()));
    for (name, generator) in &wide {
        group.bench_function(format!("compile/{name}"), |b| b.iter(|| generator.compile(black_box(kernel)).is_ok()));
    }
    group.finish();
}

fn kernels(c: &mut Criterion) {
    run(c, "2*a+3*b", &two_a_plus_three_b());
    run(c, "a*b+c*(a-b)*0.5+1", &chain());
    run(c, "u8(f32(a)*0.9+12)", &brighten());
}

criterion_group!(benches, kernels);
criterion_main!(benches);
