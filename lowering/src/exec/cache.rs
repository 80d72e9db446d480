//! The cache of compiled kernels, shared by all executables of the process: a code generator compiles equal
//! kernels once.

use crate::kernel::{CodeGen, CompiledKernel, KInst, Kernel, KernelError};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, Weak};

/// Entries by the hash of kernel and code generator. Entries that no executable uses are dropped as the
/// cache grows.
#[derive(Default)]
struct Cache {
    entries: FxHashMap<u64, Vec<Entry>>,
    len: usize,
    sweep_at: usize,
}

struct Entry {
    codegen: &'static str,
    kernel: Kernel,
    compiled: Weak<dyn CompiledKernel>,
}

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Default::default);

/// A compiled kernel, and the code generator that accepted it.
pub struct Ready {
    /// The code generator.
    pub codegen: &'static dyn CodeGen,
    /// The kernel.
    pub compiled: Arc<dyn CompiledKernel>,
    /// The messages of the code generators that refused it.
    pub refused: Option<String>,
}

/// Compiles the kernel with the first code generator that accepts it. An error joins the messages of all.
pub fn compile_by_any(codegens: &[&'static dyn CodeGen], kernel: &Kernel) -> Result<Ready, String> {
    let mut refused: Option<String> = None;
    for codegen in codegens {
        match compile(*codegen, kernel) {
            Ok(compiled) => return Ok(Ready { codegen: *codegen, compiled, refused }),
            Err(why) => refused = Some(refused.map_or_else(|| why.to_string(), |others| format!("{others}; {why}"))),
        }
    }
    Err(refused.unwrap_or_else(|| "there is no code generator".into()))
}

/// The compiled kernel; from the cache, if an equal one (with any source locations) is still in use.
pub fn compile(codegen: &dyn CodeGen, kernel: &Kernel) -> Result<Arc<dyn CompiledKernel>, KernelError> {
    let hash = hash(codegen.name(), kernel);
    if let Some(found) = lock().find(hash, codegen.name(), kernel) {
        return Ok(found);
    }
    // Compile outside of the lock. If two threads compile equal kernels, the cache stores both.
    let compiled: Arc<dyn CompiledKernel> = codegen.compile(kernel)?.into();
    lock().insert(hash, Entry { codegen: codegen.name(), kernel: kernel.clone(), compiled: Arc::downgrade(&compiled) });
    Ok(compiled)
}

fn lock() -> std::sync::MutexGuard<'static, Cache> {
    CACHE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Whether two kernels are equal but for source locations.
fn are_alike(a: &Kernel, b: &Kernel) -> bool {
    let Kernel { axes, buffers, params, values, insts, fold, steps, interleaved, wishes } = a;
    let is_same = |(a, b): (&KInst, &KInst)| {
        let KInst { op, args, results, first, loc: _ } = a;
        (first, results, args, op) == (&b.first, &b.results, &b.args, &b.op)
    };
    insts.len() == b.insts.len()
        && insts.iter().zip(b.insts.iter()).all(is_same)
        && (axes, buffers, params, values, fold, steps, interleaved, wishes)
            == (&b.axes, &b.buffers, &b.params, &b.values, &b.fold, &b.steps, &b.interleaved, &b.wishes)
}

/// A hash of the operations and their operands. It omits some fields of kernels; equality decides.
fn hash(codegen: &str, kernel: &Kernel) -> u64 {
    let mut hasher = FxHasher::default();
    (codegen, kernel.axes, kernel.wishes, kernel.buffers.len()).hash(&mut hasher);
    for inst in kernel.insts.iter() {
        (inst.op.meaning(), inst.first.0).hash(&mut hasher);
        inst.args.iter().for_each(|arg| arg.0.hash(&mut hasher));
    }
    hasher.finish()
}

impl Cache {
    fn find(&self, hash: u64, codegen: &str, kernel: &Kernel) -> Option<Arc<dyn CompiledKernel>> {
        let entries = self.entries.get(&hash)?.iter();
        // Only live entries are compared.
        let mut living = entries.filter(|e| e.codegen == codegen).filter_map(|e| Some((e, e.compiled.upgrade()?)));
        living.find(|(e, _)| are_alike(&e.kernel, kernel)).map(|(_, compiled)| compiled)
    }

    fn insert(&mut self, hash: u64, entry: Entry) {
        if self.len >= self.sweep_at {
            self.entries.retain(|_, list| {
                list.retain(|e| e.compiled.strong_count() > 0);
                !list.is_empty()
            });
            self.len = self.entries.values().map(Vec::len).sum();
            self.sweep_at = 2 * self.len + 64;
        }
        let alike = self.entries.entry(hash).or_default();
        self.len -= alike.len();
        alike.retain(|e| e.compiled.strong_count() > 0);
        alike.push(entry);
        self.len += alike.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::Interp;
    use crate::kernel::{Binary, Buffer, KernelBuilder, Part};
    use rewright_ir::{DType, Loc};

    /// `x + c`, with a source line.
    fn plus(c: f64, line: u32) -> Kernel {
        let mut k = KernelBuilder::new(1);
        let [x, out] = [false, true]
            .map(|written| k.buffer(Buffer { dtype: DType::F64, written, varies: [true].into_iter().collect() }));
        k.set_loc(Loc { line, ..Loc::default() });
        let (value, c) = (k.load(x, Part::Re), k.constant(c.into()));
        let sum = k.binary(Binary::Add, value, c);
        k.store(out, Part::Re, sum);
        k.finish()
    }

    #[test]
    fn equal_kernels_are_compiled_once_while_somebody_uses_them() {
        let first = compile(&Interp, &plus(41.5, 1)).unwrap();
        let again = compile(&Interp, &plus(41.5, 2)).unwrap();
        let other = compile(&Interp, &plus(41.25, 1)).unwrap();
        assert!(Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&first, &other));
        let weak = Arc::downgrade(&first);
        drop((first, again));
        assert!(weak.upgrade().is_none(), "the cache keeps no kernel alive");
        assert!(compile(&Interp, &plus(41.5, 1)).is_ok());
    }

    #[test]
    fn unused_kernels_are_dropped() {
        for n in 0..1000 {
            compile(&Interp, &plus(1000.0 + f64::from(n), 1)).unwrap();
        }
        assert!(lock().len < 500, "{}", lock().len);
    }
}
