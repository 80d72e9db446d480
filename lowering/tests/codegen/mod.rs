//! Code generators against the interpreter of kernel IR: same bits, on every operation, dtype and layout. What the processor that this runs on
//! does not have is left out, which is said.

#![allow(unsafe_code, reason = "calling compiled kernels")]

mod arena;
mod case;
mod copies;
mod interleaved;
mod ops;
mod pairs;
mod random;
mod signs;
mod steps;
#[cfg(target_arch = "x86_64")]
mod x64;

use case::{Call, Prepared};
use rewright_ir::expr::Order;
use rewright_lowering::internals::Cranelift;
use rewright_lowering::internals::Interp;
use rewright_lowering::internals::kernel::{CodeGen, CompiledKernel, Fold, KOp, KValue, Kernel, Wishes};
use std::ops::Range;
use std::sync::LazyLock;

/// A fold of these items, what is combined, what that comes to, and the totals.
fn fold(
    (order, any_order): (Order, bool),
    [items, left, right, both, totals]: [Vec<KValue>; 5],
    neutral: Vec<u64>,
    [combine, after]: [Range<usize>; 2],
) -> Fold {
    let (onward, alone) = (None, None);
    Fold { order, any_order, items, neutral, left, right, both, combine, onward, alone, totals, after }
}

/// A code generator under test.
struct Tested {
    what: &'static str,
    generator: Box<dyn CodeGen>,
    /// Whether it compiles kernels with ops by their reference meaning.
    references: bool,
    /// Whether it compiles kernels that combine the points of a row.
    folds: bool,
    /// What it is asked for besides.
    wishes: Wishes,
}

static TESTED: LazyLock<Vec<Tested>> = LazyLock::new(|| {
    let vectors = Cranelift::new().unwrap();
    let scalars = vectors.clone().without_vectors();
    let cranelift = |what, generator: Cranelift| Tested {
        what,
        generator: Box::new(generator),
        references: true,
        folds: true,
        wishes: Wishes::default(),
    };
    let mut all = vec![cranelift("cranelift with vectors", vectors), cranelift("cranelift without vectors", scalars)];
    #[cfg(target_arch = "x86_64")]
    for level in rewright_lowering::internals::x64::Level::ALL {
        match rewright_lowering::internals::x64::X64::at(level) {
            Ok(x64) => {
                // Streaming stores, rounds of another length, vectors of fewer points, and trees from their ends.
                let streaming = Wishes { streaming: true, unroll: Some(3), lanes: None, stages: None, backwards: true };
                let staged = Wishes { stages: Some(3), ..streaming };
                let short = Wishes { lanes: Some(4), unroll: Some(1), ..Wishes::default() };
                for (what, wishes) in [
                    ("as it likes", Wishes::default()),
                    ("streaming", streaming),
                    ("streaming stages", staged),
                    ("short", short),
                ] {
                    let what = format!("{}, {what}", x64.name()).leak();
                    all.push(Tested { what, generator: Box::new(x64), references: false, folds: true, wishes });
                }
            }
            Err(why) => eprintln!("not tested: {why}"),
        }
    }
    all
});

/// Asserts that a kernel does the same interpreted and compiled in all ways.
pub fn same(kernel: &Kernel, calls: impl IntoIterator<Item = Call>) {
    let compile = |generator: &dyn CodeGen, wishes| -> Box<dyn CompiledKernel> {
        let kernel = Kernel { wishes, ..kernel.clone() };
        generator.compile(&kernel).unwrap_or_else(|why| panic!("{}: {why}\n{kernel}", generator.name()))
    };
    let oracle = compile(&Interp, Wishes::default());
    let refers = kernel.insts.iter().any(|inst| matches!(inst.op, KOp::Reference(_)));
    let compiled: Vec<_> = TESTED
        .iter()
        .filter(|tested| (tested.references || !refers) && (tested.folds || kernel.fold.is_none()))
        .filter(|tested| kernel.steps.is_none() || tested.generator.step_registers().is_some())
        .map(|tested| (tested.what, compile(&*tested.generator, tested.wishes)))
        .collect();
    for call in calls {
        let mut prepared = Prepared::new(kernel, &call);
        let want = prepared.run(&*oracle);
        for (what, code) in &compiled {
            let got = prepared.run(&**code);
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
