//! Lists the linked crates in errors about unknown names.

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

/// Adds to errors about unknown names the list of linked crates, and how to link another one.
pub fn explained(errors: Diagnostics, name: &str, text: &str) -> Diagnostics {
    let is_unknown = |error: &Diagnostic| error.help.as_ref().is_some_and(|help| help.starts_with(UNKNOWN));
    if !errors.errors().iter().any(is_unknown) {
        return errors;
    }
    let help = format!(
        "no crate that this passdump links registers it; linked are {}. A passdump of your own links another one by `use my_plugin as _;` \
         in its `main.rs`, as `plugins/template` does",
        crates()
    );
    let mut all = Diagnostics::new(name, text);
    for error in errors.errors() {
        all.push(if is_unknown(error) { error.clone().help(help.clone()) } else { error.clone() });
    }
    all
}
