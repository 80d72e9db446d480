//! The program that a command works on: FILE with the function and the pipeline chosen.

use crate::args::InputArgs;
use crate::engine;
use crate::error::Error;
use crate::fixture::{Case, choose};
use rewright::{Function, Module, Name};
use std::io::Read;
use std::path::Path;

/// A program.
pub struct Program {
    /// The name of the text, for diagnostics.
    pub name: String,
    /// The text that places in the module are of.
    pub text: String,
    /// The functions.
    pub module: Module,
    /// The function that is meant.
    pub func: Name,
    /// The pipeline.
    pub pipeline: String,
    /// The fixture, if the file is one.
    pub case: Option<Case>,
}

impl Program {
    /// Reads FILE, or the standard input for `-`.
    pub fn load(input: &InputArgs) -> Result<Program, Error> {
        let text = read(&input.file)?;
        let extension = input.file.extension().and_then(|e| e.to_str());
        let is_fixture = match extension {
            Some("ron") => true,
            Some("ir") => false,
            _ => text.trim_start().starts_with("Fixture") || text.trim_start().starts_with("#!["),
        };
        let case = if is_fixture { Some(Case::read(&input.file, text.clone())?) } else { None };
        let (name, text, module) = match &case {
            Some(case) => {
                let (name, text) = case.ir();
                let module = case.module()?;
                (name, text, module)
            }
            None => {
                let name = if input.file == Path::new("-") { "stdin".into() } else { input.file.display().to_string() };
                let module = engine::parse(&name, &text)?;
                (name, text, module)
            }
        };
        let fixture = case.as_ref().map(|c| &c.fixture);
        let wanted = input.func.as_deref().or(fixture.and_then(|f| f.func.as_deref()));
        let func = choose(&module, wanted)?.name;
        let pipeline = input.pipeline.clone().or_else(|| fixture.map(|f| f.pipeline.clone()));
        let pipeline = pipeline.unwrap_or_else(|| engine::DEFAULT_PIPELINE.to_string());
        Ok(Program { name, text, module, func, pipeline, case })
    }

    /// The function that is meant.
    pub fn function(&self) -> Result<&Function, Error> {
        choose(&self.module, Some(&self.func))
    }

    /// The text and its name, to show errors in.
    pub fn source(&self) -> (&str, &str) {
        (&self.name, &self.text)
    }
}

fn read(file: &Path) -> Result<String, Error> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file).map_err(|e| Error::file(file, e));
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map(|_| text).map_err(|e| Error::file(Path::new("standard input"), e))
}
