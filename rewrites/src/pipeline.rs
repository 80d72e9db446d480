//! Pipelines: an ordered list of rewrites.

use crate::def::{Form, RewriteEntry};
use crate::registry::{RewriteRegistry, RewriteRegistryError, rewrites};
use rewright_ir::Registry;
use std::fmt;
use thiserror::Error;

/// The name of the rewrite that extracts exactly; builds without its feature know the name only.
pub(crate) const EXACT: &str = "saturate-exact";

/// Why a pipeline string is rejected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PipelineError {
    /// A name that no linked crate registers.
    #[error("there is no rewrite `{name}`{}", match .near { Some(n) => format!("; did you mean `{n}`?"), None => "; is the crate that registers it linked (`use my_plugin as _;`)?".to_string() })]
    Unknown {
        /// The name.
        name: String,
        /// The byte in the pipeline string at which it begins.
        at: usize,
        /// A similar name.
        near: Option<&'static str>,
    },
    /// A rewrite that this build does not include.
    #[error("`{name}` is not in this build: build it with the cargo feature `{feature}`")]
    NotBuilt {
        /// The name.
        name: String,
        /// The byte in the pipeline string at which it begins.
        at: usize,
        /// The feature of `rewright`, `rewright-rewrites` and `rewright-passdump` that adds it.
        feature: &'static str,
    },
    /// Two commas with nothing between.
    #[error("the pipeline has an empty place at byte {at}")]
    Empty {
        /// The byte at which a name is missing.
        at: usize,
    },
    /// `-name` for a rewrite that is not in the pipeline so far.
    #[error("`-{name}` takes out a rewrite that is not in the pipeline before it")]
    NotThere {
        /// The name.
        name: String,
        /// The byte in the pipeline string at which it begins.
        at: usize,
    },
    /// Registrations clash.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Registry(Vec<RewriteRegistryError>),
}

impl PipelineError {
    /// The position of the error, in bytes of the pipeline string.
    pub fn at(&self) -> Option<usize> {
        match self {
            PipelineError::Unknown { at, .. }
            | PipelineError::NotBuilt { at, .. }
            | PipelineError::Empty { at }
            | PipelineError::NotThere { at, .. } => Some(*at),
            PipelineError::Registry(_) => None,
        }
    }
}

/// A rewrite of a pipeline.
#[derive(Clone, Copy)]
pub struct Stop {
    /// The rewrite.
    pub entry: RewriteEntry,
    /// Written with a star: runs to a fixed point of its own before the next rewrite.
    pub star: bool,
    /// Written by its name, rather than part of `default`.
    pub named: bool,
}

/// An ordered list of rewrites, which runs to a common fixed point.
///
/// The text form is a list of names: `"fold, cse, array-expr*, dce"`. `default` stands for the default
/// pipeline. `-name` removes a rewrite from the list before it, and a rule also from equality saturation. A
/// star after a name runs that rewrite to a fixed point of its own in each of its turns. The empty text is a
/// pipeline that does nothing.
///
/// The pipeline repeats the list until no rewrite matches anywhere. Adjacent root rewrites without a star
/// share one worklist, and run until none of them matches; a block rewrite without a star visits each
/// changed block once in a turn.
#[derive(Clone)]
pub struct Pipeline {
    stops: Vec<Stop>,
    /// The rules for equality saturation.
    rules: Vec<RewriteEntry>,
}

impl Pipeline {
    /// Reads a pipeline string.
    pub fn parse(text: &str) -> Result<Self, PipelineError> {
        Self::parse_in(rewrites(), text)
    }

    /// The same, with the rewrites of another registry.
    pub fn parse_in(registry: &RewriteRegistry, text: &str) -> Result<Self, PipelineError> {
        check(registry)?;
        let mut stops: Vec<Stop> = Vec::new();
        let mut rules = rules_of(registry);
        if text.trim().is_empty() {
            return Ok(Pipeline { stops, rules });
        }
        let mut begin = 0;
        for part in text.split(',') {
            let at = begin + (part.len() - part.trim_start().len());
            begin += part.len() + 1;
            parse_part(registry, part.trim(), at, &mut stops, &mut rules)?;
        }
        Ok(Pipeline { stops, rules })
    }

    /// The default pipeline: every rewrite that is not opt-in, by stage and constraints, then greatest
    /// benefit, then name.
    pub fn by_default() -> Result<Self, PipelineError> {
        Self::by_default_of(rewrites())
    }
    /// The same, with the rewrites of another registry.
    pub fn by_default_of(registry: &RewriteRegistry) -> Result<Self, PipelineError> {
        check(registry)?;
        let stops = registry.by_default().map(|entry| Stop { entry, star: false, named: false }).collect();
        Ok(Pipeline { stops, rules: rules_of(registry) })
    }
    /// The rules that a rewrite may apply itself, as equality saturation does: those of the registry,
    /// without opt-in rules that the pipeline does not name and without rules that it removes.
    pub fn rules(&self) -> &[RewriteEntry] {
        &self.rules
    }
    /// The rewrites, in order.
    pub fn stops(&self) -> &[Stop] {
        &self.stops
    }
}

fn check(registry: &RewriteRegistry) -> Result<(), PipelineError> {
    match registry.errors() {
        [] => Ok(()),
        clashes => Err(PipelineError::Registry(clashes.to_vec())),
    }
}

fn rules_of(registry: &RewriteRegistry) -> Vec<RewriteEntry> {
    registry.iter().filter(|entry| matches!(entry.def.form, Form::Rule(rule) if rule.by_default)).collect()
}

fn parse_part(
    registry: &RewriteRegistry,
    part: &str,
    at: usize,
    stops: &mut Vec<Stop>,
    rules: &mut Vec<RewriteEntry>,
) -> Result<(), PipelineError> {
    let (name, star) = match part.strip_suffix('*') {
        Some(name) => (name.trim_end(), true),
        None => (part, false),
    };
    if name.is_empty() {
        return Err(PipelineError::Empty { at });
    }
    if name == "default" {
        stops.extend(registry.by_default().map(|entry| Stop { entry, star, named: false }));
        return Ok(());
    }
    if let Some(name) = name.strip_prefix('-') {
        let name = name.trim_start();
        let entry = find(registry, name, at)?;
        let before = stops.len() + rules.len();
        stops.retain(|s| s.entry.def.name != entry.def.name);
        rules.retain(|rule| rule.def.name != entry.def.name);
        let gone = stops.len() + rules.len() < before;
        return if gone { Ok(()) } else { Err(PipelineError::NotThere { name: name.to_string(), at }) };
    }
    let entry = find(registry, name, at)?;
    let known = rules.iter().any(|rule| rule.def.name == entry.def.name);
    if matches!(entry.def.form, Form::Rule(_)) && !known {
        rules.push(entry);
    }
    stops.push(Stop { entry, star, named: true });
    Ok(())
}

fn find(registry: &RewriteRegistry, name: &str, at: usize) -> Result<RewriteEntry, PipelineError> {
    registry.get(name).ok_or_else(|| {
        if name == EXACT && !cfg!(feature = "exact-extraction") {
            return PipelineError::NotBuilt { name: name.to_string(), at, feature: "exact-extraction" };
        }
        let all: Vec<&'static str> = registry.iter().map(|e| e.def.name).collect();
        let near = Registry::suggest(name, all.iter().copied()).and_then(|n| all.iter().find(|a| **a == n).copied());
        PipelineError::Unknown { name: name.to_string(), at, near }
    })
}

/// The text form; reading it gives the same pipeline.
impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, stop) in self.stops.iter().enumerate() {
            let (comma, star) = (if i > 0 { ", " } else { "" }, if stop.star { "*" } else { "" });
            write!(f, "{comma}{}{star}", stop.entry.def.name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pipeline({:?})", self.to_string())
    }
}
