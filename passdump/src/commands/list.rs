//! `passdump list`: lists registered entries and their origins.

use crate::args::Listing;
use crate::engine::{self, Backend};
use crate::output::{Out, Tone};
use clap::ValueEnum;
use rewright::op::{Arity, Eval};
use rewright::rewrites::rule::{ConditionEntry, condition_entries};
use rewright::rewrites::{RewriteEntry, rewrites};
use rewright::{InterfaceEntry, Op, OpDef, Origin, Stage, Subject, Traits, registry};
use std::io::{self, Write};

/// Prints one list, or all of them.
pub fn list(out: &mut Out, what: Option<Listing>) -> io::Result<()> {
    let wanted = |listing| what.is_none_or(|w| w == listing);
    if wanted(Listing::Rewrites) {
        section(out, what, "rewrites", all_rewrites())?;
    }
    if wanted(Listing::Conditions) {
        section(out, what, "conditions of rules", conditions())?;
    }
    if wanted(Listing::Ops) {
        section(out, what, "ops", ops())?;
    }
    if wanted(Listing::Interfaces) {
        section(out, what, "interfaces of ops", interfaces())?;
    }
    if wanted(Listing::Styles) {
        section(out, what, "storage styles", styles())?;
    }
    if wanted(Listing::Backends) {
        section(out, what, "backends", backends())?;
    }
    Ok(())
}

fn section(out: &mut Out, what: Option<Listing>, title: &str, rows: Vec<Vec<String>>) -> io::Result<()> {
    if what.is_none() {
        out.line(Tone::Strong, format!("{title} ({})", rows.len()))?;
    }
    out.table(&rows)?;
    if what.is_none() {
        writeln!(out)?;
    }
    Ok(())
}

fn place(origin: Origin) -> String {
    format!("{} {}:{}", origin.krate, origin.file, origin.line)
}

fn all_rewrites() -> Vec<Vec<String>> {
    let row = |entry: &RewriteEntry| {
        let def = entry.def;
        let stage = match (def.by_default, def.stage) {
            (false, _) => "on request",
            (true, Stage::BeforeInference) => "before inference",
            (true, Stage::AfterInference) => "after inference",
            (true, Stage::BeforeLowering) => "before lowering",
        };
        let roots = match def.roots {
            [] => "any op".into(),
            few if few.len() <= 3 => few.join(", "),
            many => format!("{}, ... ({})", many[..2].join(", "), many.len()),
        };
        vec![def.name.into(), stage.into(), roots, def.doc.into(), place(entry.origin)]
    };
    rewrites().iter().map(|entry| row(&entry)).collect()
}

fn conditions() -> Vec<Vec<String>> {
    let row = |entry: &&ConditionEntry| vec![entry.def.name.into(), entry.def.doc.into(), place(entry.origin)];
    condition_entries().iter().map(row).collect()
}

fn ops() -> Vec<Vec<String>> {
    let row = |(op, origin): (Op, Origin)| vec![op.name.into(), form(&op), op.doc.into(), place(origin)];
    registry().ops().map(row).collect()
}

fn form(op: &OpDef) -> String {
    let arity = match op.arity {
        Arity::Exactly(n) => n.to_string(),
        Arity::AtLeast(n) => format!("{n}+"),
    };
    let kind = match op.eval {
        Eval::Elementwise { .. } => "elementwise",
        _ if op.is_terminator() => "terminator",
        _ if op.traits.contains(Traits::VIEW) => "view",
        _ if op.traits.contains(Traits::CONSTRUCTOR) => "constructor",
        _ if op.traits.contains(Traits::REDUCTION) => "reduction",
        _ if !op.effects.is_empty() => "effect",
        _ => "array",
    };
    format!("{kind}/{arity}")
}

/// Interfaces, sorted by type and then by op or storage style.
fn interfaces() -> Vec<Vec<String>> {
    let all = rewright::inventory::iter::<InterfaceEntry>.into_iter();
    let of = |subject| match subject {
        Subject::Op(name) => name.to_string(),
        style => style.to_string(),
    };
    let mut rows: Vec<_> = all.map(|e| vec![(e.kind_name)().to_string(), of(e.of), place(e.origin)]).collect();
    rows.sort();
    rows
}

/// Each backend, its description, and its code generator on this machine.
fn backends() -> Vec<Vec<String>> {
    let row = |backend: &Backend| {
        let doc = backend.to_possible_value().and_then(|v| v.get_help().map(ToString::to_string)).unwrap_or_default();
        let here = match engine::codegen(*backend) {
            Ok(Some(codegen)) => format!("here: {codegen}"),
            Ok(None) => "here: no code is made".to_string(),
            Err(why) => format!("not here: {why}"),
        };
        vec![backend.name().to_string(), doc, here]
    };
    Backend::value_variants().iter().map(row).collect()
}

fn styles() -> Vec<Vec<String>> {
    registry().styles().map(|(style, origin)| vec![style.name.into(), style.doc.into(), place(origin)]).collect()
}
