//! Compiles programs to machine code, and caches them.

use super::Error;
use super::module::module;
use super::program::{Argument, Program};
use rewright::exec::{Arg, Options};
use rewright::{Datum, EvalError, Executable, NoObserver, Passed, Pipeline, rewrites, target_of};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The most programs in the cache, which evicts the least recently used one.
const MOST: usize = 256;
/// The memory in bytes that each program keeps for its next call.
const KEPT_BYTES: u64 = 1 << 24;

static KEPT: LazyLock<Mutex<FxHashMap<Program, Kept>>> = LazyLock::new(Mutex::default);
static COMPILED: AtomicU64 = AtomicU64::new(0);
/// Counts look-ups, to find the least recently used program.
static CLOCK: AtomicU64 = AtomicU64::new(0);

struct Kept {
    compiled: Arc<Compiled>,
    asked: u64,
}

/// The number of programs that were compiled for expressions in this process. Expressions that differ only
/// in the values and their extents share a program.
pub fn compiled_programs() -> u64 {
    COMPILED.load(Ordering::Relaxed)
}

/// A program that can be called.
pub struct Compiled(Executable);

impl Compiled {
    /// The compiled program, from the cache if it has it.
    pub fn of(program: Program) -> Result<Arc<Compiled>, Error> {
        let now = CLOCK.fetch_add(1, Ordering::Relaxed);
        if let Some(kept) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&program) {
            kept.asked = now;
            return Ok(kept.compiled.clone());
        }
        // Compiles without the lock, so that other threads need not wait.
        let compiled = Arc::new(Compiled::new(&program)?);
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, kept)| kept.asked).map(|(program, _)| program.clone())
        {
            all.remove(&oldest);
        }
        all.insert(program.without_operands(), Kept { compiled: compiled.clone(), asked: now });
        Ok(compiled)
    }

    fn new(program: &Program) -> Result<Compiled, Error> {
        let (mut module, name) = module(program)?;
        let options = Options { kept_bytes: KEPT_BYTES, ..Options::default() };
        let rewriting = rewrites::Options { target: target_of(options.backend), ..Default::default() };
        Pipeline::by_default()?.run(&mut module, &rewriting, &mut NoObserver)?;
        let executable = Executable::compile(&module, name, options)?;
        COMPILED.fetch_add(1, Ordering::Relaxed);
        Ok(Compiled(executable))
    }

    /// Computes the result.
    pub fn value(&self, values: &[Argument]) -> Result<Datum, Error> {
        let mut args: Vec<Arg<'_>> = Vec::with_capacity(values.len());
        for given in values {
            match given {
                Argument::Value(datum) => args.push(Arg::from(datum)),
                // The parameters of a deferred operand are consecutive; the first one stands for all.
                Argument::DeferredParam(deferred, 0, _) => {
                    args.extend(deferred.values()?.into_iter().map(|passed| match passed {
                        Passed::Scalar(scalar) => Arg::Scalar(scalar),
                        Passed::Array(array) => Arg::Array(array),
                        Passed::View(view) => Arg::View(view),
                    }))
                }
                Argument::DeferredParam(..) => {}
            }
        }
        let mut results = self.0.call(&args)?.into_vec();
        Ok(results.pop().ok_or_else(|| EvalError::value("an expression has a result"))?)
    }

    /// Stores to the first of the values, in place if its buffer is not shared.
    pub fn store(&self, values: &mut [Datum]) -> Result<(), Error> {
        Ok(self.0.call_mut(values).map(drop)?)
    }
}
