//! The explanation of a statement: its ranges and their sources, its reduction, and how reads are checked.

use crate::known::Known;
use crate::nest::{Boundary, Nest, Reducer, Role, Source};
use crate::ranges::{Check, Ranges, shown_range};
use rewright::Loc;
use std::fmt::Write as _;

pub(crate) fn slice(text: &str, loc: Loc) -> String {
    let part = text.get(loc.start as usize..(loc.start + loc.len) as usize).unwrap_or_default();
    part.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Explains a statement whose ranges are known.
pub(crate) fn explain(nest: &Nest, ranges: &Ranges, known: &Known, text: &str) -> String {
    let mut out = format!("{}\n", slice(text, nest.loc));
    for (index, var) in nest.indices.iter().enumerate() {
        let role = match var.role {
            Role::Parallel => "on the left side".to_string(),
            Role::Reduced => format!("reduced by {}", reducer(nest.reduction)),
            Role::Scoped => "reduced in a part".to_string(),
        };
        let sources: Vec<String> = ranges
            .constraints
            .iter()
            .filter(|constraint| constraint.index == index)
            .map(|constraint| {
                let what = if constraint.is_given { "range" } else { "position" };
                let round = if constraint.round > 0 { format!(", round {}", constraint.round) } else { String::new() };
                let (range, own) = (shown_range(&constraint.range, known.base), slice(text, constraint.loc));
                format!("{range} by the {what} `{own}` at {}{round}", constraint.loc)
            })
            .collect();
        let range = shown_range(&ranges.indices[index], known.base);
        let step = match &var.steps {
            Some((lo, step)) => {
                let lo = known.number(lo).map_or_else(|_| "first".to_string(), |lo| lo.to_string());
                format!("{lo} + {step} * ")
            }
            None => String::new(),
        };
        let _ = writeln!(out, "  {}: {step}{range} {role}; {}", var.name, sources.join(", "));
    }
    for (access, checks) in nest.accesses.iter().zip(&ranges.checks) {
        if !matches!(access.source, Source::Array(_)) {
            continue;
        }
        let how: Vec<&str> = access
            .dims
            .iter()
            .zip(checks)
            .map(|(along, check)| match (&along.boundary, check) {
                (Boundary::Wrap, _) => "wrapped",
                (Boundary::Clamp, _) => "clamped",
                (Boundary::Pad(_), _) => "padded",
                (_, Check::Proved) => "in bounds",
                (_, Check::Once) => "checked at each call",
                (_, Check::Each) => "checked at each element",
            })
            .collect();
        let verb = if access.is_write { "writes" } else { "reads" };
        let own = slice(text, access.loc);
        let how = if how.is_empty() { "whole".to_string() } else { how.join(", ") };
        let _ = writeln!(out, "  {verb} {own}: {how}");
    }
    if nest.strict {
        out.push_str("  strict: sums go from left to right\n");
    }
    for warning in &ranges.warnings {
        let _ = writeln!(out, "  warning: {warning}");
    }
    out
}

fn reducer(reducer: Reducer) -> String {
    match reducer {
        Reducer::Builtin(monoid) => monoid.name().to_string(),
        Reducer::Function(op) => op.name.to_string(),
    }
}
