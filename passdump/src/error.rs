//! Errors of the tool's input and of its environment.

use crate::diff;
use crate::fixture::Span;
use crate::wrap::paragraphs;
use rewright::ir::VerifyErrors;
use rewright::{Diagnostic, Diagnostics, EvalError, EvalErrorKind, Loc, Registry, RewriteError};
use std::io;
use std::path::Path;
use thiserror::Error;

/// An error in the input, or in reading it or writing results.
#[derive(Debug, Error)]
pub enum Error {
    /// An error without a location.
    #[error("{0}")]
    Message(String),
    /// A file that can't be read or written.
    #[error("{path}: {error}{remedy}")]
    File {
        /// The file.
        path: String,
        /// The system's error.
        error: io::Error,
        /// The advice, after a semicolon; empty if there is none.
        remedy: String,
    },
    /// Clashes between the registrations of crates.
    #[error("{}", .0.join("; "))]
    Start(Vec<String>),
    /// Errors with their locations in a text.
    #[error("{0}")]
    Diagnostics(Box<Diagnostics>),
    /// The output can't be written.
    #[error("{0}")]
    Output(#[from] io::Error),
}

impl Error {
    /// An error without a location.
    pub fn message(message: impl Into<String>) -> Error {
        Error::Message(message.into())
    }

    /// An error about a file.
    pub fn file(path: &Path, error: io::Error) -> Error {
        let remedy = remedy(path, &error).map_or(String::new(), |remedy| format!("; {remedy}"));
        Error::File { path: path.display().to_string(), error, remedy }
    }

    /// An error at a location in a text, with advice if there is some.
    pub fn at(path: &Path, text: &str, span: Span, message: impl Into<String>, help: Option<String>) -> Error {
        let mut all = Diagnostics::new(&path.display().to_string(), text);
        all.push(Diagnostic::new(message).at(locate(text, span)).maybe_help(help));
        Error::from(all)
    }

    /// The error of a call, located in the text of the program.
    pub fn eval(name: &str, text: &str, error: &EvalError) -> Error {
        let message = EvalError { loc: Loc::default(), ..error.clone() }.to_string();
        let mut all = Diagnostics::new(name, text);
        // Only the check of a call's arguments says from which parameter a symbol has its extent.
        let is_symbol = error.kind == EvalErrorKind::Shape && error.message.contains(" from `%");
        let help = is_symbol.then(|| "a symbol stands for one extent in a call: give arrays that agree".to_string());
        all.push(Diagnostic::new(message).at(error.loc).maybe_help(help));
        Error::from(all)
    }

    /// The error of a pipeline, located where the rewrite matched in the text of the program.
    pub fn rewrite(name: &str, text: &str, error: &RewriteError) -> Error {
        let loc = match error {
            RewriteError::Failed { loc, .. } => **loc,
            RewriteError::Inference { function, errors } => {
                return Error::verify(name, text, &format!("the types of `@{function}` can't be inferred: "), errors);
            }
            RewriteError::InvalidInput(errors) => return Error::verify(name, text, "the input is not valid: ", errors),
            _ => Loc::default(),
        };
        let mut message = error.to_string();
        if let RewriteError::Failed { cause, .. } = error
            && let RewriteError::Differs(found) = &**cause
        {
            let [before, after] = &found.forms;
            message.push_str(&format!("\nthe application that was undone:\n{}", diff::lines(before, after).trim_end()));
        }
        let mut all = Diagnostics::new(name, text);
        all.push(Diagnostic::new(message).at(loc));
        Error::from(all)
    }

    /// Verifier errors, each with its location in the text.
    fn verify(name: &str, text: &str, about: &str, errors: &VerifyErrors) -> Error {
        let mut all = Diagnostics::new(name, text);
        for error in &errors.0 {
            let shown = Diagnostic::new(format!("{about}{}", error.message)).at(error.loc);
            all.push(match &error.help {
                Some(help) => shown.help(help.clone()),
                None => shown,
            });
        }
        Error::from(all)
    }

    /// The message only; the first one if there are several.
    pub fn headline(&self) -> String {
        match self {
            Error::Diagnostics(all) => all.errors().first().map_or(String::new(), |e| e.message.clone()),
            other => other.to_string(),
        }
    }

    /// The error as a terminal shows it.
    pub fn render(&self, color: bool) -> String {
        match self {
            Error::Diagnostics(all) => all.render(color),
            Error::Start(clashes) => clashes.iter().map(|clash| plain(clash, color)).collect(),
            other => plain(&other.to_string(), color),
        }
    }
}

impl From<Diagnostics> for Error {
    fn from(all: Diagnostics) -> Self {
        Error::Diagnostics(Box::new(all))
    }
}

/// An error without a source excerpt.
fn plain(message: &str, color: bool) -> String {
    let title = if color { "\x1b[31merror\x1b[0m" } else { "error" };
    paragraphs(&format!("{title}: {message}\n"))
}

/// The advice for a file that can't be read or written.
fn remedy(path: &Path, error: &io::Error) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match error.kind() {
        io::ErrorKind::NotFound if !folder.is_dir() => Some(format!("there is no folder `{}`", folder.display())),
        io::ErrorKind::NotFound => {
            let files = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
            let alike = files.filter(|file| file.extension() == path.extension());
            let stems: Vec<String> = alike.filter_map(|file| Some(file.file_stem()?.to_str()?.to_string())).collect();
            let near = Registry::suggest(path.file_stem()?.to_str()?, stems.iter().map(String::as_str));
            Some(match near {
                Some(near) => {
                    let mut file = path.with_file_name(near);
                    path.extension().map(|extension| file.set_extension(extension));
                    format!("did you mean `{}`?", file.display())
                }
                None if path.to_string_lossy().contains(['[', '>', '=']) => {
                    "a program in place of a file has an assignment, such as `s := x[i]`".to_string()
                }
                None => "paths are relative to the current folder".to_string(),
            })
        }
        io::ErrorKind::IsADirectory => Some("name a file in it".to_string()),
        io::ErrorKind::InvalidData => Some("a program is UTF-8 text".to_string()),
        _ => None,
    }
}

/// The location of a span.
fn locate(text: &str, span: Span) -> Loc {
    let before = &text[..span.start];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    Loc {
        line: before.matches('\n').count() as u32 + 1,
        col: before[line_start..].chars().count() as u32 + 1,
        start: span.start as u32,
        len: (span.end - span.start) as u32,
        op: None,
    }
}
