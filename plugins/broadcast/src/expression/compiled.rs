//! Programs as machine code, and those that are kept.

use super::Error;
use super::module::module;
use super::program::{Given, Program};
use rewright::exec::{Arg, Options};
use rewright::{Datum, EvalError, Executable, NoObserver, Passed, Pipeline, rewrites, target_of};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The most programs that are kept; the one that was not asked for the longest goes.
const MOST: usize = 256;
/// The memory that each keeps for its next call.
const KEPT_BYTES: u64 = 1 << 24;

static KEPT: LazyLock<Mutex<FxHashMap<Program, Kept>>> = LazyLock::new(Mutex::default);
static COMPILED: AtomicU64 = AtomicU64::new(0);
/// Counts calls, so that the oldest is known.
static CLOCK: AtomicU64 = AtomicU64::new(0);

struct Kept {
    compiled: Arc<Compiled>,
    asked: u64,
}

/// How many programs expressions were compiled to in this process. Expressions that differ in the values
/// and their extents alone are one program.
pub fn compiled_programs() -> u64 {
    COMPILED.load(Ordering::Relaxed)
}

/// A program that can be called.
pub struct Compiled(Executable);

impl Compiled {
    /// The program, compiled unless that was done before.
    pub fn of(program: Program) -> Result<Arc<Compiled>, Error> {
        let now = CLOCK.fetch_add(1, Ordering::Relaxed);
        if let Some(kept) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&program) {
            kept.asked = now;
            return Ok(kept.compiled.clone());
        }
        // Others need not wait until it is compiled.
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

    /// The result.
    pub fn value(&self, values: &[Given]) -> Result<Datum, Error> {
        let mut args: Vec<Arg<'_>> = Vec::with_capacity(values.len());
        for given in values {
            match given {
                Given::Value(datum) => args.push(Arg::from(datum)),
                // All parameters of an operand come one after the other.
                Given::Part(deferred, 0, _) => args.extend(deferred.values()?.into_iter().map(|passed| match passed {
                    Passed::Scalar(scalar) => Arg::Scalar(scalar),
                    Passed::Array(array) => Arg::Array(array),
                    Passed::View(view) => Arg::View(view),
                })),
                Given::Part(..) => {}
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
