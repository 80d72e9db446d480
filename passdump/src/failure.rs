//! Failures of rewriting a program: the property that `bisect` and `reduce` preserve.

use crate::engine::{self, Application, Backend};
use crate::error::Error;
use crate::forms::Forms;
use rewright::rewrites::check::{Check, Checker, Difference, functions};
use rewright::rewrites::{Event, NoObserver, Observer, Options, Verify};
use rewright::{Limits, Module, Name, Pipeline, RewriteError};
use std::fmt;
use std::io::Write;
use std::process::{Command, ExitStatus, Stdio};

/// A failure of rewriting or running a program.
#[derive(Clone, Debug)]
pub enum Failure {
    /// Rewriting ends with an error.
    Rewriting(Box<RewriteError>),
    /// The rewritten function computes different results.
    Differs(Box<Difference>),
    /// A backend disagrees with the reference evaluator. `before` in the difference is the evaluator's
    /// result.
    Backend(Backend, Box<Difference>),
    /// The user's command ends with this exit status.
    Command(ExitStatus),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Rewriting(error) => error.fmt(f),
            Failure::Differs(found) => found.fmt(f),
            Failure::Backend(backend, found) => {
                let name = backend.name();
                write!(f, "by `{name}`, and before that by reference meaning: {found}")
            }
            Failure::Command(status) => write!(f, "the command ends with {status}"),
        }
    }
}

impl Failure {
    /// True if the other is likely to have the same cause: the same kind of error by the same rewrite, a
    /// difference, or the same exit status.
    pub fn is_like(&self, other: &Failure) -> bool {
        use RewriteError as E;
        match (self, other) {
            (Failure::Differs(a), Failure::Differs(b)) => a.after.is_ok() == b.after.is_ok(),
            (Failure::Backend(_, a), Failure::Backend(_, b)) => a.after.is_ok() == b.after.is_ok(),
            (Failure::Command(a), Failure::Command(b)) => a == b,
            (Failure::Rewriting(a), Failure::Rewriting(b)) => match (&**a, &**b) {
                (E::Failed { step: s, cause: c, .. }, E::Failed { step: t, cause: d, .. }) => {
                    s == t && std::mem::discriminant(&**c) == std::mem::discriminant(&**d)
                }
                (a, b) => {
                    guilty(a).is_some_and(|list| guilty(b).is_some_and(|more| list.iter().any(|s| more.contains(s))))
                }
            },
            _ => false,
        }
    }
}

/// The rewrites that an error names, if the error is not of a single application.
fn guilty(error: &RewriteError) -> Option<Vec<&'static str>> {
    match error {
        RewriteError::Fuel { step, .. } => Some(vec![step.rewrite]),
        RewriteError::Cycle { steps, .. }
        | RewriteError::Growth { steps, .. }
        | RewriteError::InvalidAtEnd { steps, .. } => Some(steps.iter().map(|s| s.rewrite).collect()),
        _ => None,
    }
}

/// The test for failures of rewriting a program.
pub struct Test {
    /// The rewrites.
    pub pipeline: Pipeline,
    /// The options of rewriting.
    pub options: Options,
    /// The function whose results must stay the same.
    pub func: Name,
    /// The inputs on which results are compared.
    pub check: Check,
    /// A backend that must agree with the reference evaluator on the rewritten function.
    pub backend: Option<Backend>,
    /// A command that replaces these checks. It gets a file of IR text, and fails by its exit status.
    pub command: Option<String>,
}

impl Test {
    /// The module after `stop_after` applications, or after all.
    pub fn rewrite(&self, module: &Module, stop_after: Option<u64>) -> Result<Module, RewriteError> {
        let mut module = module.clone();
        let options = Options { stop_after, ..self.options.clone() };
        self.pipeline.run(&mut module, &options, &mut NoObserver)?;
        Ok(module)
    }

    /// The failure after `stop_after` applications, or after all; `None` if there is none.
    pub fn after(&self, module: &Module, stop_after: Option<u64>) -> Result<Option<Failure>, Error> {
        let rewritten = match self.rewrite(module, stop_after) {
            Ok(rewritten) => rewritten,
            // With a command, only its exit status is a failure.
            Err(error) if self.command.is_some() => return Err(Error::message(error.to_string())),
            Err(error) => return Ok(Some(Failure::Rewriting(Box::new(error)))),
        };
        match &self.command {
            Some(command) => by_command(command, &rewritten),
            None => match functions(module, &rewritten, self.func, &self.check) {
                Err(found) => Ok(Some(Failure::Differs(found))),
                Ok(_) => self.by_backend(&rewritten),
            },
        }
    }

    fn by_backend(&self, module: &Module) -> Result<Option<Failure>, Error> {
        let Some((backend, func)) = self.backend.zip(module.get(self.func)) else { return Ok(None) };
        let callable = engine::compile(module, self.func, backend, Limits::default())?;
        let checker = Checker::new(func, module, &self.check);
        let found = checker.against(func, |args| callable.outcome(args)).err();
        Ok(found.map(|found| Failure::Backend(backend, found)))
    }

    /// The error of a pipeline that does not terminate; no results are compared.
    pub fn endless(&self, module: &Module) -> Option<RewriteError> {
        let options = Options { verify: Verify::default(), ..self.options.clone() };
        let error = self.pipeline.run(&mut module.clone(), &options, &mut NoObserver).err()?;
        let endless =
            matches!(error, RewriteError::Fuel { .. } | RewriteError::Cycle { .. } | RewriteError::Growth { .. });
        endless.then_some(error)
    }

    /// The number of applications, and the error that ends them, if there is one.
    pub fn count(&self, module: &Module) -> (u64, Option<RewriteError>) {
        let mut count = 0;
        let mut observer = |event: &Event<'_>| {
            if let Event::Match { seq, .. } = event {
                count = seq + 1;
            }
        };
        let result = self.pipeline.run(&mut module.clone(), &self.options, &mut observer);
        (count, result.err())
    }

    /// The application of a number, from 1, with the function before and after; `None` if it is rolled
    /// back.
    pub fn application(&self, module: &Module, number: u64) -> Option<Application> {
        struct Last(Option<Application>, u64, Forms);
        impl Observer for Last {
            fn event(&mut self, event: &Event<'_>) {
                match event {
                    Event::Match { seq, rewrite, func, .. } if seq + 1 == self.1 => {
                        let (before, after) = (self.2.text(func), String::new());
                        self.0 = Some(Application { number: self.1, rewrite, func: func.name, before, after });
                    }
                    Event::Applied { seq, func, .. } if seq + 1 == self.1 => {
                        if let Some(found) = &mut self.0 {
                            found.after = self.2.text(func);
                        }
                    }
                    _ => {}
                }
            }
        }
        let mut last = Last(None, number, Forms::default());
        let options = Options { stop_after: Some(number), ..self.options.clone() };
        // An error here is the failure that the caller searches for.
        let _ = self.pipeline.run(&mut module.clone(), &options, &mut last);
        last.0.filter(|found| !found.after.is_empty())
    }
}

/// Runs a command on a module; an exit status other than 0 is a failure. `{}` in the command stands for
/// the path of the file. Without `{}`, the path is appended.
pub fn by_command(command: &str, module: &Module) -> Result<Option<Failure>, Error> {
    let wrong = |e: std::io::Error| Error::message(format!("--command: {e}"));
    let mut file = tempfile::Builder::new().prefix("passdump-").suffix(".ir").tempfile().map_err(wrong)?;
    let text = engine::print(module, engine::Form::Text)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(wrong)?;
    let line = if command.contains("{}") { command.replace("{}", "\"$1\"") } else { format!("{command} \"$1\"") };
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(&line).arg("sh").arg(file.path());
    let status = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().map_err(wrong)?;
    match status.code() {
        Some(126 | 127) => Err(Error::message(format!("--command: `{command}` can't be run ({status})"))),
        _ => Ok((!status.success()).then_some(Failure::Command(status))),
    }
}
