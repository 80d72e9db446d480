//! The code generator `cranelift` against the interpreter of kernel IR: same bits, on every operation, dtype and layout.

#![allow(unsafe_code, reason = "calling compiled kernels")]

mod arena;
mod case;
mod ops;
mod random;

use case::{Call, run};
use rewright_lowering::Interp;
use rewright_lowering::cranelift::Cranelift;
use rewright_lowering::kernel::{CodeGen, CompiledKernel, Kernel};

/// Asserts that a kernel does the same interpreted, compiled for vectors, and compiled without.
pub fn same(kernel: &Kernel, calls: impl IntoIterator<Item = Call>) {
    let vectors = Cranelift::new().unwrap();
    let compile = |generator: &dyn CodeGen| -> Box<dyn CompiledKernel> {
        generator.compile(kernel).unwrap_or_else(|why| panic!("{}: {why}\n{kernel}", generator.name()))
    };
    let oracle = compile(&Interp);
    let compiled = [compile(&vectors), compile(&vectors.without_vectors())];
    for call in calls {
        let want = run(kernel, &*oracle, &call);
        for (code, what) in compiled.iter().zip(["with vectors", "without vectors"]) {
            let got = run(kernel, &**code, &call);
            if got != want {
                panic!(
                    "{what}\n{kernel}\n{call:?}\n{}\n{}",
                    difference(kernel, &call, &want, &got),
                    code.disassembly().unwrap_or("")
                );
            }
        }
    }
}

fn difference(kernel: &Kernel, call: &Call, want: &case::Outcome, got: &case::Outcome) -> String {
    for (n, (a, b)) in want.memory.iter().zip(&got.memory).enumerate() {
        if let Some(at) = (0..a.len()).find(|&i| a[i] != b[i]) {
            let from_end = a.len() - at;
            let size = kernel.buffers[n].dtype.size();
            return format!(
                "buffer {n}, {from_end} bytes from its end (element size {size}, gap {}): want {:02x?}, got {:02x?}",
                call.layouts[n].gap,
                &a[at..(at + 8).min(a.len())],
                &b[at..(at + 8).min(b.len())]
            );
        }
    }
    format!("want {} {:?}, got {} {:?}", want.failed, want.error, got.failed, got.error)
}
