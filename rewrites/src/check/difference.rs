//! A function that computes something else than before.

use rewright_ir::{Datum, EvalError, Name, Outcome};
use std::fmt;

/// What a call ended with.
pub(super) type Ended = Result<Outcome, EvalError>;

/// An input on which a function computes something else.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The function.
    pub function: Name,
    /// The first thing that differs.
    pub what: String,
    /// The arguments, by the names of the parameters.
    pub input: Vec<(String, Datum)>,
    /// What the call ended with before.
    pub before: Result<Outcome, EvalError>,
    /// What it ends with after.
    pub after: Result<Outcome, EvalError>,
    /// The function before and after, as text.
    pub forms: [String; 2],
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`@{}` computes something else: {}", self.function, self.what)?;
        match &self.input[..] {
            [] => write!(f, "\nit has no parameters")?,
            input => {
                write!(f, "\nfor the input")?;
                input.iter().try_for_each(|(name, datum)| shown(f, name, datum))?;
            }
        }
        write!(f, "\nbefore:")?;
        ended(f, &self.before)?;
        write!(f, "\nafter:")?;
        ended(f, &self.after)
    }
}

fn ended(f: &mut fmt::Formatter<'_>, ended: &Ended) -> fmt::Result {
    match ended {
        Err(e) => write!(f, "\n  error: {e}"),
        Ok(outcome) => {
            for (i, result) in outcome.results.iter().enumerate() {
                shown(f, &format!("result {i}"), result)?;
            }
            outcome.printed.iter().try_for_each(|line| write!(f, "\n  prints {line}"))
        }
    }
}

fn shown(f: &mut fmt::Formatter<'_>, name: &str, datum: &Datum) -> fmt::Result {
    let start = format!("  {name}: {} = ", datum.ty());
    let indent = format!("\n{}", " ".repeat(start.chars().count()));
    write!(f, "\n{start}{}", datum.to_string().replace('\n', &indent))
}

/// What differs first; `None` if nothing does.
pub(super) fn differs(before: &Ended, after: &Ended, ulp: u64) -> Option<String> {
    let (before, after) = match (before, after) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(b), Err(a)) if b.kind == a.kind => return None,
        (Err(b), Err(a)) => return Some(format!("it ended with the error \"{b}\", now with \"{a}\"")),
        (Ok(_), Err(a)) => return Some(format!("now it ends with an error: {a}")),
        (Err(b), Ok(_)) => return Some(format!("it ended with an error, and now it does not: {b}")),
    };
    if before.results.len() != after.results.len() {
        return Some(format!("{} results, not {}", after.results.len(), before.results.len()));
    }
    let all = |a: &[Datum], b: &[Datum], what: &str| {
        let mut compared = a.iter().zip(b).map(|(a, b)| super::compare(a, b, ulp)).enumerate();
        compared.find_map(|(i, r)| r.err().map(|m| format!("{what} {i}: {m}")))
    };
    let results = all(&before.results, &after.results, "result");
    let args = || all(&before.args, &after.args, "after the call, argument");
    results.or_else(args).or_else(|| (before.printed != after.printed).then(|| "it prints something else".to_string()))
}
