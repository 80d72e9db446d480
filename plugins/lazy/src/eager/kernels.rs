//! The kernel cache of eager operations: a bounded table, keyed by the structure of the operation.

use super::build::{module, said};
use super::key::Key;
use super::operation::Operation;
use super::reading::Reading;
use super::space::Space;
use rewright::exec::{Options, Stats};
use rewright::{EvalError, Executable, NoObserver, Pipeline, TypeError};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, RwLock};

/// The capacity of the table. It evicts the least recently used kernel.
pub const MOST_KERNELS: usize = 512;
/// The memory that each kernel may keep for its next call.
const KEPT_BYTES: u64 = 1 << 24;

static KERNELS: LazyLock<RwLock<FxHashMap<Key, Arc<Kernel>>>> = LazyLock::new(RwLock::default);
/// The statistics of evicted kernels.
static LEFT: LazyLock<Mutex<Stats>> = LazyLock::new(Mutex::default);
static HITS: AtomicU64 = AtomicU64::new(0);
static COMPILED: AtomicU64 = AtomicU64::new(0);
/// A logical clock that orders uses for eviction.
static CLOCK: AtomicU64 = AtomicU64::new(0);

/// Counters of the kernels of eager operations in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelCounts {
    /// Operations that found their kernel in the table.
    pub hits: u64,
    /// Kernels that were compiled.
    pub compiled: u64,
    /// Kernels in the table, at most [`MOST_KERNELS`].
    pub kept: usize,
    /// Calls of machine code.
    pub launches: u64,
    /// Steps that the reference evaluator ran instead.
    pub reference: u64,
}

/// The counters of eager operations. An operation on scalars only uses no kernel.
pub fn kernel_counts() -> KernelCounts {
    let all = KERNELS.read().unwrap_or_else(PoisonError::into_inner);
    let mut sum = *LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    all.values().filter_map(|kernel| kernel.made.get()?.as_ref().ok()).for_each(|made| sum += made.stats());
    let (hits, compiled) = (HITS.load(Relaxed), COMPILED.load(Relaxed));
    KernelCounts { hits, compiled, kept: all.len(), launches: sum.kernels, reference: sum.reference }
}

/// A kernel of the table.
pub struct Kernel {
    used: AtomicU64,
    /// Compiled by the first thread that needs it. Other threads wait for this entry only.
    made: OnceLock<Result<Executable, EvalError>>,
}

impl Kernel {
    /// The table's entry for an operation. `executable` compiles it.
    pub fn of(operation: &Operation<'_>, readings: &[Reading<'_>], space: &Space) -> Arc<Kernel> {
        let key = Key::of(operation, readings, space);
        let now = CLOCK.fetch_add(1, Relaxed);
        if let Some(kernel) = KERNELS.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            kernel.used.store(now, Relaxed);
            HITS.fetch_add(1, Relaxed);
            return Arc::clone(kernel);
        }
        let kernel = Kernel::entry(key, now);
        kernel.made.get_or_init(|| compile(operation, readings, space));
        kernel
    }

    /// The entry of a key, inserted if it is absent.
    fn entry(key: Key, now: u64) -> Arc<Kernel> {
        let mut all = KERNELS.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = all.get(&key) {
            HITS.fetch_add(1, Relaxed);
            return Arc::clone(kernel);
        }
        if all.len() >= MOST_KERNELS
            && let Some(oldest) =
                all.iter().min_by_key(|(_, kernel)| kernel.used.load(Relaxed)).map(|(key, _)| key.clone())
        {
            let left = all.remove(&oldest).and_then(|kernel| Some(kernel.made.get()?.as_ref().ok()?.stats()));
            *LEFT.lock().unwrap_or_else(PoisonError::into_inner) += left.unwrap_or_default();
        }
        let kernel = Arc::new(Kernel { used: AtomicU64::new(now), made: OnceLock::new() });
        all.insert(key, Arc::clone(&kernel));
        kernel
    }

    /// The executable, or its compilation error. Waits while another thread compiles it.
    pub fn executable(
        &self,
        operation: &Operation<'_>,
        readings: &[Reading<'_>],
        space: &Space,
    ) -> Result<&Executable, EvalError> {
        let made = self.made.get_or_init(|| compile(operation, readings, space));
        made.as_ref().map_err(EvalError::clone)
    }
}

fn compile(operation: &Operation<'_>, readings: &[Reading<'_>], space: &Space) -> Result<Executable, EvalError> {
    COMPILED.fetch_add(1, Relaxed);
    let failed = |why: String| EvalError { op: Some(operation.op.name), ..EvalError::unsupported(why) };
    let (mut module, name) = module(operation, readings, space).map_err(|error| refused(operation, &error))?;
    let pipeline = Pipeline::by_default().map_err(|error| failed(said(error)))?;
    pipeline.run(&mut module, &Default::default(), &mut NoObserver).map_err(|error| failed(error.to_string()))?;
    let options = Options { kept_bytes: KEPT_BYTES, ..Options::default() };
    Executable::compile(&module, name, options).map_err(|error| failed(error.to_string()))
}

/// A type error as the error of an operation.
pub fn refused(operation: &Operation<'_>, error: &TypeError) -> EvalError {
    let help = error.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    let message = format!("{}{help}", error.message);
    // Most type rules name their op.
    let is_named = message.contains(&format!("`{}`", operation.op.name));
    EvalError { op: (!is_named).then_some(operation.op.name), ..EvalError::shape(message) }
}
