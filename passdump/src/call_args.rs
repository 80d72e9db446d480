//! The arguments of a call: from the command line, from the first run of a fixture, or example values.

use crate::args::ArgBinding;
use crate::engine;
use crate::error::Error;
use crate::example_args::ExampleArgs;
use crate::fixture::param_name;
use crate::program::Program;
use crate::value::{FitError, ValueSpec};
use crate::wrap::{WIDTH, wrapped};
use rewright::{Array, Datum, Function, Type, Value};
use std::io::{self, Write};
use std::path::Path;

/// The arguments, in the order of the parameters: from the command line, else from the first run of the
/// fixture.
pub fn bind(args: &[ArgBinding], program: &Program, func: &Function) -> Result<Vec<Datum>, Error> {
    let names = names(func);
    check_names(args, func, &names)?;
    let fallback = program.case.as_ref().and_then(|c| Some((c, c.fixture.runs.first()?)));
    let mut examples = ExampleArgs::small();
    let mut missing = Vec::new();
    let mut values = Vec::new();
    for (i, (name, &param)) in names.iter().zip(func.params()).enumerate() {
        let ty = func.ty(param);
        let value = match args.iter().find(|binding| binding.name == *name) {
            Some(binding) => {
                let array = loaded(name, &binding.value)?;
                let load = |_: &Path| array.ok_or_else(|| FitError("the file is not read".to_string()));
                let remedy = || match binding.value {
                    // The error names the element that the style can't have.
                    _ if ty.style().is_some() => String::new(),
                    ValueSpec::File(_) => "; NumPy's `astype` and `reshape` convert an array".to_string(),
                    _ => format!("; {}", such_as(name, &examples, i, ty)),
                };
                let value = binding.value.for_param(ty, load);
                value.map_err(|e| Error::message(format!("--arg {name}: {e}{}", remedy())))?
            }
            None => match fallback.and_then(|(case, run)| Some((case, run.args.get(name)?))) {
                Some((case, spec)) => case.value(spec)?,
                None => {
                    missing.push((i, name, param));
                    continue;
                }
            },
        };
        examples.bind(ty, &shape(&value));
        values.push(value);
    }
    if missing.is_empty() {
        return Ok(values);
    }
    let line = |&(i, name, param): &(usize, &String, Value)| {
        let ty = func.ty(param);
        format!("parameter `{name}: {ty}` of `@{}` has no value; {}", func.name, such_as(name, &examples, i, ty))
    };
    Err(Error::message(missing.iter().map(line).collect::<Vec<_>>().join("\n")))
}

/// Like [`bind`], but without any argument the call gets example values, which a note on the standard error
/// shows.
pub fn bind_or_examples(
    args: &[ArgBinding],
    program: &Program,
    func: &Function,
    examples: &ExampleArgs,
) -> Result<Vec<Datum>, Error> {
    let has_runs = program.case.as_ref().is_some_and(|case| !case.fixture.runs.is_empty());
    if !args.is_empty() || has_runs || func.params().is_empty() {
        return bind(args, program, func);
    }
    let names = names(func);
    let mut note = format!("note: no arguments are given, so `@{}` is called with example values:\n", func.name);
    let mut values = Vec::new();
    for (i, (name, &param)) in names.iter().zip(func.params()).enumerate() {
        let ty = func.ty(param);
        let text = examples.text(i, ty);
        let value = examples.value(i, ty).ok_or_else(|| no_example(name, ty, "no value is known"))?;
        values.push(value.for_param(ty, engine::read_npy).map_err(|e| no_example(name, ty, &e.to_string()))?);
        note.push_str(&wrapped(&format!("  --arg '{name}={text}'"), WIDTH, 6).join("\n"));
        note.push('\n');
    }
    // If printing the note fails, the call goes on without it.
    let _ = io::stderr().write_all(note.as_bytes());
    Ok(values)
}

/// The array of a file, if the value is in one.
fn loaded(name: &str, value: &ValueSpec) -> Result<Option<Array>, Error> {
    match value {
        ValueSpec::File(path) => match engine::read_npy(path) {
            Ok(array) => Ok(Some(array)),
            Err(e) => Err(Error::message(format!("--arg {name}: {e}"))),
        },
        _ => Ok(None),
    }
}

/// The error of a parameter for which there is no example value.
fn no_example(name: &str, ty: &Type, why: &str) -> Error {
    Error::message(format!("parameter `{name}: {ty}` has no example value ({why}); give it with --arg '{name}=...'"))
}

/// The advice to give an argument, with an example value.
fn such_as(name: &str, examples: &ExampleArgs, index: usize, ty: &Type) -> String {
    format!("give it with --arg '{name}={}', for example", examples.text(index, ty))
}

/// The names of the parameters.
fn names(func: &Function) -> Vec<String> {
    func.params().iter().enumerate().map(|(i, &param)| param_name(func, i, param)).collect()
}

/// Refuses arguments that are not of a parameter, or given twice.
fn check_names(args: &[ArgBinding], func: &Function, names: &[String]) -> Result<(), Error> {
    for (i, binding) in args.iter().enumerate() {
        if !names.contains(&binding.name) {
            let list = names.join(", ");
            let message = format!("--arg: `@{}` has no parameter `{}`; it has {list}", func.name, binding.name);
            return Err(Error::message(message));
        }
        if args[..i].iter().any(|earlier| earlier.name == binding.name) {
            return Err(Error::message(format!("--arg: `{}` is given twice; give it once", binding.name)));
        }
    }
    Ok(())
}

/// The extents of a value.
fn shape(value: &Datum) -> Vec<usize> {
    match value {
        Datum::Scalar(_) => Vec::new(),
        Datum::Array(array) => array.shape().to_vec(),
        Datum::Styled(styled) => styled.shape().to_vec(),
    }
}
