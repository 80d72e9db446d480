//! Calls: compiles the function of a program for the arrays of a call, and keeps it for later calls.

use crate::checked::CheckedPositions;
use crate::inputs::{Input, InputKind};
use crate::statements::{InputFacts, Lowered, Statements};
use indexmap::IndexMap;
use rewright::exec::{Arg, Backend, Options};
use rewright::language::Locate;
use rewright::lowering::exec::LowerError;
use rewright::rewrites::PipelineError;
use rewright::{
    Array, Datum, Diagnostic, Diagnostics, EvalError, Executable, NoObserver, Pipeline, RewriteError, Type, rewrites,
    target_of,
};
use std::sync::{Arc, Mutex, PoisonError};

/// The most functions that a program keeps.
const KEPT: usize = 16;

/// The error of a call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the program, or of what it does with the arrays, with its place.
    #[error("{0}")]
    Statement(Diagnostics),
    /// The default pipeline can't be made.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// A rewrite failed.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// There is no kernel.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// An error at run time, such as a position out of bounds.
    #[error("{place}")]
    Call {
        /// The error, as the function has it: positions begin at 0.
        error: Box<EvalError>,
        /// The error with its place in the program, as the program counts.
        place: Diagnostics,
    },
}

impl From<Diagnostics> for Error {
    fn from(errors: Diagnostics) -> Self {
        Error::Statement(errors)
    }
}

/// The compiled functions of a program, the latest ones last.
#[derive(Default)]
pub(crate) struct Cache(Mutex<Vec<(Vec<Key>, Arc<Compiled>)>>);

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).len();
        write!(f, "{kept} functions")
    }
}

/// The facts about an argument on which its function depends.
#[derive(Debug)]
enum Key {
    Type(Type),
    /// The elements of positions, and the values of scalars.
    Value(Datum),
}

impl Key {
    fn of(value: &Datum, input: &Input) -> Key {
        match input.kind {
            InputKind::Positions { .. } => Key::Value(value.clone()),
            InputKind::Scalar if input.is_fixed => Key::Value(value.clone()),
            _ => Key::Type(value.ty()),
        }
    }
    fn fits(&self, value: &Datum) -> bool {
        match self {
            Key::Type(ty) => *ty == value.ty(),
            Key::Value(own) => own.ty() == value.ty() && own.to_array().same_bits(&value.to_array()),
        }
    }
}

/// A compiled function.
struct Compiled {
    executable: Executable,
    results: Vec<String>,
    checked: CheckedPositions,
}

impl Statements {
    /// Calls the program with these arrays and scalars. Returns the values of all names that no later
    /// statement reads.
    ///
    /// # Errors
    ///
    /// Errors in the program and its arguments, with their places, and errors at run time.
    pub fn call(&self, args: &[(&str, Arg<'_>)]) -> Result<IndexMap<String, Datum>, Error> {
        self.call_on(Backend::Auto, args)
    }

    /// As [`call`](Statements::call), on a backend.
    ///
    /// # Errors
    ///
    /// As `call`.
    pub fn call_on(&self, backend: Backend, args: &[(&str, Arg<'_>)]) -> Result<IndexMap<String, Datum>, Error> {
        let mut given: IndexMap<String, InputFacts> = IndexMap::new();
        for (name, arg) in args {
            let name = name.replace('\'', "′");
            let keeps = match self.inputs().get(&name).map(|input| input.kind) {
                Some(InputKind::Positions { .. } | InputKind::Scalar) | None => true,
                Some(InputKind::Array { .. }) => false,
            };
            let facts = match arg {
                Arg::Scalar(scalar) => InputFacts::Value(Datum::Scalar(*scalar)),
                Arg::Array(array) => InputFacts::Value(Datum::Array((*array).clone())),
                Arg::View(view) if keeps => InputFacts::Value(Datum::Array(view.to_array())),
                Arg::View(view) => {
                    let dims: Vec<_> = view.shape().iter().map(|&n| rewright::Dim::Const(n as u64)).collect();
                    InputFacts::Type(Type::array(view.dtype(), dims))
                }
                Arg::Styled(styled) => InputFacts::Value(Datum::Styled(Arc::clone(styled))),
            };
            given.insert(name, facts);
        }
        let compiled = self.compiled(backend, &given)?;
        let mut lent = Vec::new();
        for name in self.inputs().keys() {
            let found = args.iter().find(|(own, _)| own.replace('\'', "′") == *name);
            lent.extend(found.map(|(_, arg)| arg.clone()));
        }
        let located = |error| Error::Call { place: compiled.checked.locate(&error), error: Box::new(error) };
        let results = compiled.executable.call(&lent).map_err(located)?;
        Ok(compiled.results.iter().cloned().zip(results).collect())
    }

    fn compiled(&self, backend: Backend, given: &IndexMap<String, InputFacts>) -> Result<Arc<Compiled>, Error> {
        let lookup = |facts: &InputFacts| match facts {
            InputFacts::Value(value) => value.clone(),
            InputFacts::Type(ty) => empty_of(ty),
        };
        let values: Vec<Datum> = self.inputs().keys().filter_map(|name| given.get(name)).map(lookup).collect();
        let is_whole = values.len() == self.inputs().len() && given.len() == values.len();
        if is_whole && backend == Backend::Auto {
            let mut kept = self.compiled.0.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = |keys: &Vec<Key>| keys.iter().zip(&values).all(|(key, value)| key.fits(value));
            if let Some(found) = kept.iter().position(|(keys, _)| fits(keys)) {
                let entry = kept.remove(found);
                let compiled = Arc::clone(&entry.1);
                kept.push(entry);
                return Ok(compiled);
            }
        }
        let lowered = self.lowered(given).map_err(|error| Error::Statement(error.into_errors()))?;
        let (results, checked) = (lowered.results.clone(), lowered.checked.clone());
        let compiled = Arc::new(Compiled { executable: compile(lowered, backend)?, results, checked });
        if backend == Backend::Auto {
            let keys = values.iter().zip(self.inputs().values()).map(|(value, input)| Key::of(value, input)).collect();
            let mut kept = self.compiled.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= KEPT {
                kept.remove(0);
            }
            kept.push((keys, Arc::clone(&compiled)));
        }
        Ok(compiled)
    }
}

/// An array of a type, of which only the type counts.
fn empty_of(ty: &Type) -> Datum {
    let shape: Vec<usize> = ty
        .dims()
        .iter()
        .map(|dim| if let rewright::Dim::Const(n) = dim { usize::try_from(*n).unwrap_or(0) } else { 0 })
        .collect();
    let zero = rewright::Scalar::zero(ty.dtype());
    let one = Array::full(zero, &vec![1; shape.len()]).and_then(|one| one.broadcast(&shape));
    Datum::from(
        one.unwrap_or_else(|| Array::from_fn(ty.dtype(), &[0], |_| zero).unwrap_or(Array::Bool(Default::default()))),
    )
}

/// Optimizes and compiles the function of a program.
pub(crate) fn compile(mut lowered: Lowered, backend: Backend) -> Result<Executable, Error> {
    let options =
        rewrites::Options { target: target_of(backend), liberties: lowered.liberties, ..rewrites::Options::default() };
    Pipeline::by_default()?.run(&mut lowered.module, &options, &mut NoObserver)?;
    let options = Options { backend, threads: lowered.threads, ..Options::default() };
    Ok(Executable::compile(&lowered.module, lowered.func, options)?)
}

/// Calls a program that is read at its first call. The macro `index!` expands to it.
#[doc(hidden)]
pub fn call_lazy(
    statements: &Result<Statements, Error>,
    args: &[(&str, Arg<'_>)],
) -> Result<IndexMap<String, Datum>, Error> {
    match statements {
        Ok(statements) => statements.call(args),
        Err(Error::Statement(errors)) => Err(Error::Statement(errors.clone())),
        Err(other) => {
            let mut place = Diagnostics::new("statement", "");
            place.push(Diagnostic::new(other.to_string()));
            Err(Error::Statement(place))
        }
    }
}

/// Runs a program once.
///
/// ```
/// use rewright::ndarray::array;
/// let x = array![1.0, 2.0, 4.0];
/// let results = rewright_index::eval("y[i] := x[i+1] - x[i]", &[("x", (&x).into())])?;
/// assert_eq!(results["y"].to_string(), "[1. 2.]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Errors in the program and its arguments, with their places, and errors at run time.
pub fn eval(text: &str, args: &[(&str, Arg<'_>)]) -> Result<IndexMap<String, Datum>, Error> {
    Statements::parse(text)?.call(args)
}
