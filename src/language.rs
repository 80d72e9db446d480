//! Source languages: notations that a crate translates to functions, and that tools read in place of IR text.
//!
//! A crate submits a [`LanguageDef`] by [`register_language!`](crate::register_language). A tool that links
//! it finds the language of a file by its extension, or of a text by asking each language.

use crate::{Datum, Diagnostics, EvalError, Liberties, Module, Name, Type};
use std::num::NonZeroU32;

/// A source language.
pub struct LanguageDef {
    /// Its name in messages.
    pub name: &'static str,
    /// The extension of its files, without a dot.
    pub extension: &'static str,
    /// Whether a text that names no file may be a program of the language.
    pub is_program: fn(&str) -> bool,
    /// Reads a program. The first argument is the name of the text in errors.
    pub read: Reader,
}

/// Reads a program: the name of the text in errors, and the text.
pub type Reader = fn(&str, &str) -> Result<Box<dyn SourceProgram>, Diagnostics>;

/// A program of a source language.
pub trait SourceProgram {
    /// The inputs with their types if nothing is given. Their dims may be symbols.
    fn inputs(&self) -> Vec<(String, Type)>;
    /// The function of the program: for these values of all inputs, or, if there are none, for symbolic
    /// extents.
    ///
    /// # Errors
    ///
    /// Errors in the program with their places, and questions that only values can answer.
    fn translate(&self, values: &[(String, Datum)]) -> Result<Translation, Diagnostics>;
}

/// The function of a program.
#[derive(Debug)]
pub struct Translation {
    /// A module with the function.
    pub module: Module,
    /// The name of the function.
    pub func: Name,
    /// The liberties that the program grants.
    pub liberties: Liberties,
    /// The most threads; `None` for all.
    pub threads: Option<NonZeroU32>,
    /// The facts that the translation found, as text for the user.
    pub explanation: String,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Locates the errors of calls.
    pub locate: Box<dyn Locate>,
}

/// Locates the errors of calls in the text of a program.
pub trait Locate: std::fmt::Debug {
    /// The error of a call, with its place in the text and in the words of the language.
    fn locate(&self, error: &EvalError) -> Diagnostics;
}

/// A registered language.
pub struct LanguageEntry {
    /// The language.
    pub def: &'static LanguageDef,
    /// The crate and the line that registered it.
    pub origin: crate::Origin,
}
crate::ir::inventory::collect!(LanguageEntry);

/// All languages, sorted by name.
pub fn languages() -> Vec<&'static LanguageEntry> {
    let mut found: Vec<_> = crate::ir::inventory::iter::<LanguageEntry>.into_iter().collect();
    found.sort_by_key(|entry| (entry.def.name, entry.origin));
    found
}

/// Registers a source language, a `static`: `register_language!(NOTATION);`.
#[macro_export]
macro_rules! register_language {
    ($def:path) => {
        $crate::ir::inventory::submit! {
            $crate::language::LanguageEntry { def: &$def, origin: $crate::ir::origin!() }
        }
    };
}
