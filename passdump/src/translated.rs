//! Programs of source languages that linked crates register: FILE is one by its extension, or is the text
//! itself.

use crate::args::ArgBinding;
use crate::engine;
use crate::error::Error;
use crate::value::{FitError, ValueSpec};
use rewright::language::{LanguageDef, Translation, languages};
use rewright::{Datum, Type};
use std::path::Path;

/// The language of FILE, and whether FILE is the text.
pub fn language_of(file: &Path) -> Option<(&'static LanguageDef, bool)> {
    let extension = file.extension().and_then(|extension| extension.to_str());
    let mut all = languages().into_iter().map(|entry| entry.def);
    if file.exists() {
        return all.find(|def| extension == Some(def.extension)).map(|def| (def, false));
    }
    let text = file.to_str()?;
    all.find(|def| (def.is_program)(text)).map(|def| (def, true))
}

/// Translates a program, for the values of all of its inputs if there are any.
pub fn translate(def: &LanguageDef, name: &str, text: &str, args: &[ArgBinding]) -> Result<Translation, Error> {
    let program = (def.read)(name, text)?;
    let inputs = program.inputs();
    let mut values = Vec::new();
    for binding in args {
        let wanted = inputs.iter().find(|(name, _)| *name == binding.name).map(|(_, ty)| ty);
        values.push((binding.name.clone(), value(binding, wanted)?));
    }
    let translation = program.translate(&values)?;
    for warning in &translation.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(translation)
}

/// The value of an argument, at its own dtype; a number for an input of floats is a float.
fn value(binding: &ArgBinding, wanted: Option<&Type>) -> Result<Datum, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::message(format!("--arg {}: {error}", binding.name));
    let mut loaded = None;
    if let ValueSpec::File(path) = &binding.value {
        loaded = Some(engine::read_npy(path).map_err(|error| failed(&error))?);
    }
    let ty = match (&binding.value, &loaded) {
        (_, Some(array)) => array.ty(),
        (ValueSpec::Random(random), _) => random.array().map_err(|error| failed(&error))?.ty(),
        (ValueSpec::Literals { shape, elements, dtype }, _) => {
            let own = elements.iter().map(|literal| literal.dtype_beside(None)).reduce(|a, b| a.promote(b));
            let dtype = dtype.or(own).or(wanted.map(Type::dtype)).unwrap_or(rewright::DType::F64);
            Type::from_parts(dtype, shape.as_ref().map(|shape| shape.iter().map(|&n| (n as u64).into()).collect()))
        }
        (ValueSpec::File(_), None) => return Err(failed(&"the file is not read")),
    };
    let load = |_: &Path| loaded.clone().ok_or_else(|| FitError("the file is not read".to_string()));
    binding.value.for_param(&ty, load).map_err(|error| failed(&error))
}
