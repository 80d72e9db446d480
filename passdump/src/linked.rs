//! Lists the linked crates in errors about unknown names.

use crate::numpy_names::op_for;
use rewright::rewrites::rewrites;
use rewright::{Diagnostic, Diagnostics, registry};
use std::collections::BTreeSet;

/// The start of the parser's help for an unknown name that is similar to no known name.
const UNKNOWN: &str = "is the crate that registers it linked";

/// The crates that register ops, rewrites or storage styles.
fn crates() -> String {
    let ops = registry().ops().map(|(_, origin)| origin.krate);
    let styles = registry().styles().map(|(_, origin)| origin.krate);
    let all: BTreeSet<&str> = ops.chain(styles).chain(rewrites().iter().map(|entry| entry.origin.krate)).collect();
    all.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The advice for a name that no linked crate registers: the linked crates, and how to link another one.
pub fn remedy() -> String {
    format!(
        "no crate that this passdump links registers it; linked are {}. A passdump of your own links another one \
         by `use my_plugin as _;` in its `main.rs`, as `plugins/template` does",
        crates()
    )
}

/// Replaces the advice in errors about unknown names: by the op for a NumPy function, or by the linked
/// crates and the command that lists all names.
pub fn explained(errors: Diagnostics, name: &str, text: &str) -> Diagnostics {
    let helps: Vec<Option<String>> = errors.errors().iter().map(better_help).collect();
    if helps.iter().all(Option::is_none) {
        return errors;
    }
    let mut all = Diagnostics::new(name, text);
    for (error, help) in errors.errors().iter().zip(helps) {
        all.push(error.clone().maybe_help(help));
    }
    all
}

/// The advice for an unknown name, if this tool has better advice than the parser.
fn better_help(error: &Diagnostic) -> Option<String> {
    let op = error.message.split_once("unknown op `").and_then(|(_, rest)| rest.split('`').next());
    if let Some((name, op)) = op.and_then(|name| Some((name, op_for(name)?))) {
        return Some(format!("the op for NumPy's `{name}` is `{op}`: write `{}`", op.usage()));
    }
    let is_unknown = error.help.as_ref().is_some_and(|help| help.starts_with(UNKNOWN));
    let listing = if op.is_some() { "ops" } else { "styles" };
    is_unknown.then(|| format!("`passdump list {listing}` lists all names; {}", remedy()))
}
