//! `passdump list`: lists registered entries and their origins.

use crate::args::{ListArgs, Listing};
use crate::engine::{self, Backend};
use crate::machine;
use crate::output::{Out, Tone};
use clap::ValueEnum;
use rewright::op::{Arity, Eval};
use rewright::rewrites::rule::{ConditionEntry, condition_entries};
use rewright::rewrites::{RewriteEntry, rewrites};
use rewright::{InterfaceEntry, Op, OpDef, Origin, Stage, Subject, Traits, registry};
use std::io::{self, Write};

/// A registered entry.
struct Entry {
    name: String,
    /// Its kind, in one or two words.
    kind: String,
    /// Further properties, which only the long form shows.
    detail: String,
    doc: String,
    origin: Origin,
}

/// A list: its title, and the function that collects its entries.
type List = (Listing, &'static str, fn() -> Vec<Entry>);

/// Prints one list, or all of them.
pub fn list(out: &mut Out, args: &ListArgs) -> io::Result<()> {
    let lists: [List; 5] = [
        (Listing::Rewrites, "rewrites", all_rewrites),
        (Listing::Conditions, "conditions of rules", conditions),
        (Listing::Ops, "ops", ops),
        (Listing::Interfaces, "interfaces of ops", interfaces),
        (Listing::Styles, "storage styles", styles),
    ];
    let title = |out: &mut Out, title: &str, count: usize| match args.what {
        None => out.line(Tone::Strong, format!("{title} ({count})")),
        Some(_) => Ok(()),
    };
    for (listing, name, entries) in lists {
        if args.what.is_none_or(|wanted| wanted == listing) {
            let entries = entries();
            title(out, name, entries.len())?;
            if args.long {
                long(out, &entries)?
            } else {
                short(out, &entries)?
            }
            if args.what.is_none() {
                writeln!(out)?;
            }
        }
    }
    if args.what.is_none_or(|wanted| wanted == Listing::Backends) {
        let rows = backends();
        title(out, "backends", rows.len())?;
        out.table(&rows)?;
        writeln!(out)?;
        machine::describe(out)?;
    }
    Ok(())
}

/// One row for each entry: name, kind and documentation.
fn short(out: &mut Out, entries: &[Entry]) -> io::Result<()> {
    let row = |entry: &Entry| {
        let cells = [&entry.name, &entry.kind, &entry.doc];
        cells.into_iter().filter(|cell| !cell.is_empty()).cloned().collect()
    };
    out.table(&entries.iter().map(row).collect::<Vec<Vec<String>>>())
}

/// For each entry its name with the crate and the line that registered it, and all properties below.
fn long(out: &mut Out, entries: &[Entry]) -> io::Result<()> {
    for Entry { name, kind, detail, doc, origin } in entries {
        let place = format!("{} {}:{}", origin.krate, origin.file, origin.line);
        out.table(&[vec![name.clone(), place]])?;
        for line in [kind, detail, doc].into_iter().filter(|line| !line.is_empty()) {
            out.wrapped(&format!("{}{line}", " ".repeat(INDENT)), INDENT + 2)?;
        }
    }
    Ok(())
}

/// The indentation of the properties in the long form.
const INDENT: usize = 4;

fn all_rewrites() -> Vec<Entry> {
    let entry = |entry: RewriteEntry| {
        let def = entry.def;
        let kind = match (def.by_default, def.stage) {
            (false, _) => "on request",
            (true, Stage::BeforeInference) => "before inference",
            (true, Stage::AfterInference) => "after inference",
            (true, Stage::BeforeLowering) => "before lowering",
        };
        let detail = match def.roots {
            [] => "starts at any op".into(),
            roots => format!("starts at {}", roots.join(", ")),
        };
        Entry { name: def.name.into(), kind: kind.into(), detail, doc: def.doc.into(), origin: entry.origin }
    };
    rewrites().iter().map(entry).collect()
}

fn conditions() -> Vec<Entry> {
    let entry = |entry: &&ConditionEntry| plain(entry.def.name, entry.def.doc, entry.origin);
    condition_entries().iter().map(entry).collect()
}

/// An entry of which only the documentation is known.
fn plain(name: &str, doc: &str, origin: Origin) -> Entry {
    Entry { name: name.into(), kind: String::new(), detail: String::new(), doc: doc.into(), origin }
}

fn ops() -> Vec<Entry> {
    let entry =
        |(op, origin): (Op, Origin)| Entry { kind: form(&op), detail: op.usage(), ..plain(op.name, op.doc, origin) };
    registry().ops().map(entry).collect()
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
fn interfaces() -> Vec<Entry> {
    let all = rewright::inventory::iter::<InterfaceEntry>.into_iter();
    let of = |subject| match subject {
        Subject::Op(name) => name.to_string(),
        style => style.to_string(),
    };
    let entry = |e: &InterfaceEntry| plain((e.kind_name)(), &of(e.of), e.origin);
    let mut entries: Vec<Entry> = all.map(entry).collect();
    entries.sort_by(|a, b| (&a.name, &a.doc).cmp(&(&b.name, &b.doc)));
    entries
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

fn styles() -> Vec<Entry> {
    registry().styles().map(|(style, origin)| plain(style.name, style.doc, origin)).collect()
}
