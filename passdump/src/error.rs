//! Errors of the tool's input and of its environment.

use crate::diff;
use crate::fixture::Span;
use rewright::ir::VerifyErrors;
use rewright::{Diagnostic, Diagnostics, EvalError, Loc, RewriteError};
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
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// The system's error.
        error: io::Error,
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
        Error::File { path: path.display().to_string(), error }
    }

    /// An error at a location in a text.
    pub fn at(path: &Path, text: &str, span: Span, message: impl Into<String>) -> Error {
        let mut all = Diagnostics::new(&path.display().to_string(), text);
        all.push(Diagnostic::new(message).at(locate(text, span)));
        Error::from(all)
    }

    /// The error of a call, located in the text of the program.
    pub fn eval(name: &str, text: &str, error: &EvalError) -> Error {
        let message = EvalError { loc: Loc::default(), ..error.clone() }.to_string();
        let mut all = Diagnostics::new(name, text);
        all.push(Diagnostic::new(message).at(error.loc));
        Error::from(all)
    }

    /// The error of a pipeline, located where the rewrite matched in the text of the program.
    pub fn rewrite(name: &str, text: &str, error: &RewriteError) -> Error {
        let loc = match error {
            RewriteError::Failed { loc, .. } => *loc,
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
    format!("{title}: {message}\n")
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
