//! Range inference: finds the range of each index from the accesses, then verifies every access.
//!
//! - Indices that are only used plainly (`A[i, j]`) are *strict*: all their ranges must be equal.
//! - An index with any other use (`A[i + 1]`, `A[2i]`, `A[i + 0]`) has the intersection of its ranges.
//!
//! Rounds: an access with one index whose range is still unknown gives this index a range, in which the
//! position is in bounds for all values of the other indices. Ranges of one round are intersected, and rounds
//! go on until nothing is new. So the order of the text does not matter. At the end every access is verified
//! against the ranges: it is proved, is checked once for each call, is checked at each element, or is an
//! error. The method is that of Tensor Comprehensions (Vasilache et al., 2018), with the final check added.

mod extrema;

use crate::known::{Found, Known, Unknown, add, ceil_div, floor_div, le, plus, scale, shown, sub};
use crate::nest::{Access, Along, Boundary, Nest, Role, Source};
use extrema::extrema;
use rewright::expr::SymExpr;
use rewright::{Diagnostic, Loc};

/// The advice on a read and on a write that is out of bounds.
pub(crate) const OUT_OF_BOUNDS: [&str; 2] =
    ["state a smaller range, or read out of bounds by `pad`, `clamp` or `mod`", "state a smaller range"];

/// A range with both ends; empty if `hi` is below `lo`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Interval {
    pub lo: SymExpr,
    pub hi: SymExpr,
}

/// A position with known numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placed {
    /// Indices and coefficients, none of which is 0.
    pub terms: Vec<(usize, i64)>,
    /// Accesses of integer arrays, and coefficients.
    pub gathers: Vec<(usize, i64)>,
    /// Whether a name of a block is added.
    pub is_computed: bool,
    pub offset: SymExpr,
}

/// How an access along a dim is known to be in bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// For all extents, or for those of the call.
    Proved,
    /// Tested once for each call.
    Once,
    /// Tested at each element.
    Each,
}

/// A range that an access or an explicit range gives an index.
#[derive(Clone, Debug)]
pub(crate) struct Constraint {
    pub index: usize,
    pub range: Interval,
    /// Where it is from.
    pub loc: Loc,
    /// The round; 0 for accesses of one index.
    pub round: usize,
    pub is_given: bool,
}

/// The ranges of a statement.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    /// The range of each index.
    pub indices: Vec<Interval>,
    /// The position of each access along each dim.
    pub placed: Vec<Vec<Placed>>,
    /// The allowed positions of each access along each dim, with padding.
    pub allowed: Vec<Vec<Interval>>,
    /// How each access is checked.
    pub checks: Vec<Vec<Check>>,
    /// All constraints, in the order in which they were found.
    pub constraints: Vec<Constraint>,
    /// Explicit ranges that other accesses shrink.
    pub warnings: Vec<String>,
}

/// The reason why there are no ranges.
#[derive(Debug)]
pub(crate) enum NoRanges {
    /// The statement is wrong.
    Wrong(Box<Diagnostic>),
    /// Only the extents of a call, or the value of a scalar, can decide it.
    Undecided(Box<Diagnostic>),
}

type Inferred<T> = Result<T, NoRanges>;

/// Infers the ranges of a statement. `text` is the program, for messages.
pub(crate) fn infer(nest: &Nest, known: &Known, text: &str) -> Inferred<Ranges> {
    Inference::new(nest, known, text)?.run()
}

struct Inference<'a> {
    nest: &'a Nest,
    known: &'a Known,
    text: &'a str,
    placed: Vec<Vec<Placed>>,
    /// The bounds of the array of each access along each dim, without padding.
    bounds: Vec<Vec<Interval>>,
    allowed: Vec<Vec<Interval>>,
    found: Vec<Option<Interval>>,
    is_shifted: Vec<bool>,
    constraints: Vec<Constraint>,
}

/// An error at a place.
pub(crate) fn located(unknown: Unknown, loc: Loc) -> NoRanges {
    match unknown {
        Unknown::Wrong(message) => NoRanges::Wrong(Box::new(Diagnostic::new(message).at(loc))),
        Unknown::Undecided => NoRanges::Undecided(Box::new(
            Diagnostic::new("only the extents of a call decide the ranges here").at(loc).help("give the arrays"),
        )),
        Unknown::Value(name, loc) => NoRanges::Undecided(Box::new(
            Diagnostic::new(format!("the ranges depend on the value of `{name}`"))
                .at(loc)
                .help(format!("give it as an input, `{name}=3`, which no statement computes")),
        )),
    }
}

impl<'a> Inference<'a> {
    fn new(nest: &'a Nest, known: &'a Known, text: &'a str) -> Inferred<Self> {
        let mut new = Inference {
            nest,
            known,
            text,
            placed: Vec::new(),
            bounds: Vec::new(),
            allowed: Vec::new(),
            found: vec![None; nest.indices.len()],
            is_shifted: vec![false; nest.indices.len()],
            constraints: Vec::new(),
        };
        for access in &nest.accesses {
            let bounds = new.bounds_of(access)?;
            let (mut placed, mut allowed) = (Vec::new(), Vec::new());
            for (along, bounds) in access.dims.iter().zip(&bounds) {
                placed.push(new.place(along)?);
                allowed.push(new.padded(along, bounds).map_err(|e| located(e, along.loc))?);
            }
            new.placed.push(placed);
            new.allowed.push(allowed);
            new.bounds.push(bounds);
        }
        for (access, placed) in nest.accesses.iter().zip(&new.placed) {
            for (along, placed) in access.dims.iter().zip(placed).filter(|(along, _)| !along.is_plain) {
                let named = placed.terms.iter().map(|(index, _)| *index).chain(along.form.indices());
                named.for_each(|index| new.is_shifted[index] = true);
            }
        }
        Ok(new)
    }

    /// The bounds of an array along each dim.
    fn bounds_of(&self, access: &Access) -> Inferred<Vec<Interval>> {
        let at = |unknown| located(unknown, access.loc);
        let (firsts, extents) = match &access.source {
            Source::Array(name) => {
                let array = self.known.array(name).map_err(at)?;
                let (wanted, given) = (array.extents.len(), access.dims.len());
                if wanted != given {
                    let verb = if access.is_write { "written" } else { "read" };
                    let plural = if given == 1 { "" } else { "s" };
                    let message = format!("`{name}` has {wanted} dims and is {verb} at {given} position{plural}");
                    let help = if given == 1 && wanted > 1 {
                        "for one position in row-major order write `flat(A)[i]`"
                    } else {
                        ""
                    };
                    let error = Diagnostic::new(message).at(access.loc);
                    let error = if help.is_empty() { error } else { error.help(help) };
                    return Err(NoRanges::Wrong(Box::new(error)));
                }
                (array.first.clone(), array.extents.clone())
            }
            Source::Range(lo, hi) => {
                let extent =
                    self.known.size(hi).and_then(|hi| plus(&sub(&hi, &self.known.size(lo)?)?, 1)).map_err(at)?;
                (vec![self.known.base], vec![extent])
            }
            Source::Filled(_, extents) => {
                let extents: Vec<SymExpr> =
                    extents.iter().map(|extent| self.known.size(extent)).collect::<Found<_>>().map_err(at)?;
                (vec![self.known.base; extents.len()], extents)
            }
        };
        let interval = |(first, extent): (i64, SymExpr)| {
            Ok(Interval { lo: SymExpr::constant(first), hi: plus(&extent, first - 1)? })
        };
        firsts.into_iter().zip(extents).map(interval).collect::<Found<_>>().map_err(at)
    }

    /// A position with known numbers.
    fn place(&self, along: &Along) -> Inferred<Placed> {
        let at = |unknown| located(unknown, along.loc);
        let mut terms = Vec::new();
        for (index, size) in &along.form.terms {
            let c = self.known.number(size).map_err(at)?;
            if c == 0 {
                let name = &self.nest.indices[*index].name;
                let error = Diagnostic::new(format!("this position does not depend on `{name}`: its coefficient is 0"));
                return Err(NoRanges::Wrong(Box::new(error.at(along.loc).help("leave it out"))));
            }
            terms.push((*index, c));
        }
        let gathers = along.form.gathers.iter().map(|(access, size)| Ok((*access, self.known.number(size)?)));
        let gathers = gathers.collect::<Found<Vec<_>>>().map_err(at)?;
        for (access, _) in &gathers {
            let access = &self.nest.accesses[*access];
            let Source::Array(name) = &access.source else { continue };
            let dtype = self.known.array(name).map_err(at)?.dtype;
            if !dtype.is_int() {
                let error = Diagnostic::new(format!("`{name}` has elements of {dtype}, and positions are integers"));
                return Err(NoRanges::Wrong(Box::new(error.at(access.loc).help("pass integers"))));
            }
        }
        let offset = self.known.size(&along.form.offset).map_err(at)?;
        Ok(Placed { terms, gathers, is_computed: along.form.computed.is_some(), offset })
    }

    /// The bounds of a dim with its padding.
    fn padded(&self, along: &Along, bounds: &Interval) -> Found<Interval> {
        match &along.boundary {
            Boundary::Pad(Some((lo, hi))) => Ok(Interval {
                lo: sub(&bounds.lo, &self.known.size(lo)?)?,
                hi: add(&bounds.hi, &self.known.size(hi)?)?,
            }),
            _ => Ok(bounds.clone()),
        }
    }

    fn run(mut self) -> Inferred<Ranges> {
        self.start()?;
        for round in 1.. {
            if !self.round(round)? {
                break;
            }
        }
        self.all_found()?;
        let mut warnings = Vec::new();
        for given in self.constraints.iter().filter(|constraint| constraint.is_given) {
            let Some(found) = &self.found[given.index] else { continue };
            if *found != given.range {
                let name = &self.nest.indices[given.index].name;
                let (what, verb) =
                    if self.is_counted(given.index) { ("values", "shrink") } else { ("range", "shrinks") };
                let (found, given) = (self.range(found), self.range(&given.range));
                warnings.push(format!(
                    "the {what} {given} of index `{name}` {verb} to {found}, so that all positions are in bounds"
                ));
            }
        }
        let indices: Vec<Interval> = self.found.iter().flatten().map(normal).collect();
        let checks = self.verify(&indices)?;
        let Inference { placed, allowed, constraints, .. } = self;
        Ok(Ranges { indices, placed, allowed, checks, constraints, warnings })
    }

    /// The accesses along dims that constrain indices.
    fn constraining(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let mut found = Vec::new();
        for (a, access) in self.nest.accesses.iter().enumerate() {
            for (d, along) in access.dims.iter().enumerate() {
                let constrains = matches!(along.boundary, Boundary::Inside | Boundary::Pad(Some(_)));
                if constrains && !self.placed[a][d].is_computed && !self.placed[a][d].terms.is_empty() {
                    found.push((a, d));
                }
            }
        }
        found.into_iter()
    }

    /// Round 0: explicit ranges, and accesses of one index.
    fn start(&mut self) -> Inferred<()> {
        let mut new: Vec<Constraint> = Vec::new();
        for given in &self.nest.given {
            let at = |unknown| located(unknown, given.loc);
            let range =
                Interval { lo: self.known.size(&given.lo).map_err(at)?, hi: self.known.size(&given.hi).map_err(at)? };
            new.push(Constraint { index: given.index, range, loc: given.loc, round: 0, is_given: true });
        }
        for (a, d) in self.constraining() {
            if let ([(index, _)], []) = (&self.placed[a][d].terms[..], &self.placed[a][d].gathers[..]) {
                new.push(self.constraint(a, d, *index, 0)?);
            }
        }
        self.intersect(new)
    }

    /// Gives ranges to indices that are the only unknown ones of an access. False if there are none.
    fn round(&mut self, round: usize) -> Inferred<bool> {
        let mut new = Vec::new();
        for (a, d) in self.constraining() {
            let placed = &self.placed[a][d];
            let mut unknown = placed.terms.iter().map(|(index, _)| *index).filter(|index| self.found[*index].is_none());
            let (Some(index), None) = (unknown.next(), unknown.next()) else { continue };
            let gathered = placed.gathers.iter().all(|(access, _)| self.is_found(*access));
            if gathered {
                new.push(self.constraint(a, d, index, round)?);
            }
        }
        let is_new = !new.is_empty();
        self.intersect(new)?;
        Ok(is_new)
    }

    /// Whether all indices of an access have ranges.
    fn is_found(&self, access: usize) -> bool {
        self.placed[access].iter().all(|placed| {
            placed.terms.iter().all(|(index, _)| self.found[*index].is_some())
                && placed.gathers.iter().all(|(inner, _)| self.is_found(*inner))
        })
    }

    /// The range of an index in which the position along a dim is allowed, for all values of the others.
    fn constraint(&self, a: usize, d: usize, index: usize, round: usize) -> Inferred<Constraint> {
        let (along, placed) = (&self.nest.accesses[a].dims[d], &self.placed[a][d]);
        let range = self.solved(placed, &self.allowed[a][d], index).map_err(|unknown| match unknown {
            Unknown::Undecided => {
                let name = &self.nest.indices[index].name;
                let error = Diagnostic::new(format!("the range of index `{name}` is no sum of extents"));
                NoRanges::Undecided(Box::new(error.at(along.loc).help("give the arrays, whose extents decide it")))
            }
            other => located(other, along.loc),
        })?;
        Ok(Constraint { index, range, loc: along.loc, round, is_given: false })
    }

    fn solved(&self, placed: &Placed, allowed: &Interval, index: usize) -> Found<Interval> {
        let c = placed.terms.iter().find(|(own, _)| *own == index).map_or(1, |(_, c)| *c);
        let found: Vec<Option<Interval>> = self.found.clone();
        let rest = self.corners(placed, &found, Some(index))?;
        let (lo, hi) = (sub(&allowed.lo, &rest.lo)?, sub(&allowed.hi, &rest.hi)?);
        match c > 0 {
            true => Ok(Interval { lo: ceil_div(&lo, c)?, hi: floor_div(&hi, c)? }),
            false => Ok(Interval { lo: ceil_div(&hi, c)?, hi: floor_div(&lo, c)? }),
        }
    }

    /// The least and the greatest value of a position, without one index.
    fn corners(&self, placed: &Placed, ranges: &[Option<Interval>], without: Option<usize>) -> Found<Interval> {
        let mut corners = Interval { lo: placed.offset.clone(), hi: placed.offset.clone() };
        let mut widen = |range: &Interval, c: i64| -> Found<()> {
            let (least, most) = if c > 0 { (&range.lo, &range.hi) } else { (&range.hi, &range.lo) };
            corners.lo = add(&corners.lo, &scale(least, c)?)?;
            corners.hi = add(&corners.hi, &scale(most, c)?)?;
            Ok(())
        };
        for (index, c) in placed.terms.iter().filter(|(index, _)| Some(*index) != without) {
            match &ranges[*index] {
                Some(range) => widen(range, *c)?,
                None => return Err(Unknown::Undecided),
            }
        }
        for (access, c) in &placed.gathers {
            let Some(found) = extrema(self.nest, self.known, &self.placed, ranges, *access)? else { continue };
            widen(&Interval { lo: SymExpr::constant(found.0), hi: SymExpr::constant(found.1) }, *c)?;
        }
        Ok(corners)
    }

    /// Adds the constraints of a round.
    fn intersect(&mut self, new: Vec<Constraint>) -> Inferred<()> {
        self.constraints.extend(new.iter().cloned());
        for index in 0..self.found.len() {
            let own: Vec<&Constraint> = new.iter().filter(|constraint| constraint.index == index).collect();
            let Some((first, others)) = own.split_first() else { continue };
            let mut range = first.range.clone();
            for other in others {
                if self.is_shifted[index] {
                    let both = |a: &SymExpr, b: &SymExpr, least: bool| -> Found<SymExpr> {
                        Ok(if le(a, b)? == least { a.clone() } else { b.clone() })
                    };
                    let joined = both(&range.lo, &other.range.lo, false)
                        .and_then(|lo| Ok(Interval { lo, hi: both(&range.hi, &other.range.hi, true)? }));
                    range = joined.map_err(|unknown| self.differ(unknown, index, &own))?;
                } else if range != other.range {
                    let gap = |a, b| sub(a, b).ok().and_then(|gap| gap.as_constant());
                    let gaps = [gap(&range.lo, &other.range.lo), gap(&range.hi, &other.range.hi)];
                    let is_certain = gaps.iter().any(|gap| gap.is_some_and(|gap| gap != 0));
                    let unknown = if is_certain { Unknown::Wrong(String::new()) } else { Unknown::Undecided };
                    return Err(self.differ(unknown, index, &own));
                }
            }
            self.found[index] = Some(range);
        }
        Ok(())
    }

    /// The error that the ranges of an index differ, or that only extents tell.
    fn differ(&self, unknown: Unknown, index: usize, constraints: &[&Constraint]) -> NoRanges {
        let name = &self.nest.indices[index].name;
        let list: Vec<String> = constraints.iter().map(|constraint| self.describe(constraint)).collect();
        let loc = constraints.last().map_or(self.nest.loc, |constraint| constraint.loc);
        match unknown {
            Unknown::Undecided => NoRanges::Undecided(Box::new(
                Diagnostic::new(format!(
                    "only the extents of a call decide the range of index `{name}`: {}",
                    list.join(", ")
                ))
                .at(loc)
                .help("give the arrays"),
            )),
            Unknown::Wrong(message) if !message.is_empty() => located(Unknown::Wrong(message), loc),
            _ => NoRanges::Wrong(Box::new(
                Diagnostic::new(format!("the ranges of index `{name}` differ: {}", list.join(", ")))
                    .at(loc)
                    .help(format!("`{name} + 0` in one of the positions takes the intersection")),
            )),
        }
    }

    fn describe(&self, constraint: &Constraint) -> String {
        let what = if constraint.is_given { "the range" } else { "the position" };
        let (loc, text) = (constraint.loc, self.slice(constraint.loc));
        let counted = if self.is_counted(constraint.index) { "its values " } else { "" };
        format!("{counted}{} by {what} `{text}` at {loc}", self.range(&constraint.range))
    }

    /// Whether the values of an index are counted, since its range has a step.
    fn is_counted(&self, index: usize) -> bool {
        self.nest.indices[index].steps.is_some()
    }

    fn slice(&self, loc: Loc) -> String {
        let text = self.text.get(loc.start as usize..(loc.start + loc.len) as usize).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn range(&self, range: &Interval) -> String {
        shown_range(range, self.known.base)
    }

    /// Reports indices without a range.
    fn all_found(&self) -> Inferred<()> {
        let Some(index) = self.found.iter().position(Option::is_none) else { return Ok(()) };
        let var = &self.nest.indices[index];
        let mut uses = Vec::new();
        for (a, access) in self.nest.accesses.iter().enumerate() {
            for (d, along) in access.dims.iter().enumerate() {
                let placed = &self.placed[a][d];
                if !placed.terms.iter().any(|(own, _)| *own == index) {
                    continue;
                }
                let others = placed.terms.iter().map(|(own, _)| *own).filter(|own| *own != index);
                let unknown: Vec<&str> = others
                    .filter(|own| self.found[*own].is_none())
                    .map(|own| self.nest.indices[own].name.as_str())
                    .collect();
                let why = match &along.boundary {
                    Boundary::Wrap | Boundary::Clamp | Boundary::Pad(None) => {
                        "every position is allowed there".to_string()
                    }
                    _ => format!("it depends on {} too", unknown.join(", ")),
                };
                uses.push(format!("`{}` at {} gives none, as {why}", self.slice(along.loc), along.loc));
            }
        }
        let message = match uses.is_empty() {
            true => format!("the range of index `{}` is not known: no position has it", var.name),
            false => format!("the range of index `{}` is not known: {}", var.name, uses.join("; ")),
        };
        let error = Diagnostic::new(message).at(var.loc);
        Err(NoRanges::Wrong(Box::new(error.help(format!("state it: `({} in 0..n)`", var.name)))))
    }

    // --- The final check --------------------------------------------------------------------------

    fn verify(&self, ranges: &[Interval]) -> Inferred<Vec<Vec<Check>>> {
        let known: Vec<Option<Interval>> = ranges.iter().cloned().map(Some).collect();
        let mut checks = Vec::new();
        for (a, access) in self.nest.accesses.iter().enumerate() {
            let mut own = Vec::new();
            for (d, along) in access.dims.iter().enumerate() {
                own.push(self.check(a, d, along, access, &known)?);
            }
            checks.push(own);
        }
        Ok(checks)
    }

    fn check(
        &self,
        a: usize,
        d: usize,
        along: &Along,
        access: &Access,
        ranges: &[Option<Interval>],
    ) -> Inferred<Check> {
        let (placed, allowed) = (&self.placed[a][d], &self.allowed[a][d]);
        if matches!(along.boundary, Boundary::Wrap | Boundary::Clamp) {
            // An empty dim has no position to move to.
            let bounds = &self.bounds[a][d];
            if le(&bounds.lo, &bounds.hi) == Ok(false) && !self.never_runs(placed, access, ranges) {
                let error = Diagnostic::new("this dim is empty, so no position of it can be read").at(along.loc);
                return Err(NoRanges::Wrong(Box::new(error)));
            }
            return Ok(Check::Proved);
        }
        if matches!(along.boundary, Boundary::Pad(None)) || self.never_runs(placed, access, ranges) {
            return Ok(Check::Proved);
        }
        // A padded read is tested at each point, so it is wrong only if it is known to leave the padding.
        let is_padded = matches!(along.boundary, Boundary::Pad(Some(_)));
        if is_padded && (placed.is_computed || !placed.gathers.is_empty()) {
            return Ok(Check::Proved);
        }
        if placed.is_computed {
            return Ok(Check::Each);
        }
        let corners = match self.corners(placed, ranges, None) {
            Ok(corners) => corners,
            Err(Unknown::Undecided) if is_padded => return Ok(Check::Proved),
            Err(Unknown::Undecided) if !placed.gathers.is_empty() => return Ok(Check::Each),
            Err(unknown) => return Err(located(unknown, along.loc)),
        };
        match (le(&allowed.lo, &corners.lo), le(&corners.hi, &allowed.hi)) {
            (Ok(true), Ok(true)) => Ok(Check::Proved),
            (Ok(_), Ok(_)) if !placed.gathers.is_empty() && self.shares_indices(placed) => Ok(Check::Each),
            (Ok(_), Ok(_)) => {
                let (position, bounds) = (self.range(&corners), self.range(allowed));
                let mut indices: Vec<usize> = placed.terms.iter().map(|(index, _)| *index).collect();
                indices.dedup();
                let list: Vec<String> = indices
                    .iter()
                    .filter_map(|index| {
                        let range = self.range(ranges[*index].as_ref()?);
                        let from: Vec<String> = self
                            .constraints
                            .iter()
                            .filter(|constraint| constraint.index == *index)
                            .map(|constraint| self.describe(constraint))
                            .collect();
                        let verb = if self.is_counted(*index) { "counted by" } else { "in" };
                        Some(format!("`{}` {verb} {range} ({})", self.nest.indices[*index].name, from.join(", ")))
                    })
                    .collect();
                let from = if list.is_empty() { String::new() } else { format!(", for {}", list.join(" and ")) };
                let message =
                    format!("`{}` is at {position}, outside of dim {d} with {bounds}{from}", self.slice(along.loc));
                let is_number = placed.terms.is_empty() && placed.gathers.is_empty();
                let help = if is_padded {
                    "state a smaller range, or pad more"
                } else if is_number {
                    "positions do not count from the end; the last one is `end`"
                } else {
                    OUT_OF_BOUNDS[usize::from(access.is_write)]
                };
                Err(NoRanges::Wrong(Box::new(Diagnostic::new(message).at(along.loc).help(help))))
            }
            _ if is_padded => Ok(Check::Proved),
            _ if !placed.gathers.is_empty() => Ok(Check::Each),
            _ => Ok(Check::Once),
        }
    }

    /// Whether an index of an access has no values.
    fn never_runs(&self, placed: &Placed, access: &Access, ranges: &[Option<Interval>]) -> bool {
        let is_empty = |index: &usize| ranges[*index].as_ref().is_some_and(|r| le(&r.lo, &r.hi) == Ok(false));
        let gathers = placed.gathers.iter().flat_map(|(inner, _)| self.indices_of(*inner));
        let own = access.dims.iter().flat_map(|along| along.form.terms.iter().map(|(index, _)| *index));
        let is_around = |role| role == Role::Parallel || (role == Role::Reduced && !access.is_after);
        let outer = self.nest.indices.iter().enumerate().filter(|(_, var)| is_around(var.role));
        placed
            .terms
            .iter()
            .map(|(index, _)| *index)
            .chain(gathers)
            .chain(own)
            .chain(outer.map(|(n, _)| n))
            .any(|i| is_empty(&i))
    }

    /// The indices of an access and of the accesses in its positions.
    fn indices_of(&self, access: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for placed in &self.placed[access] {
            found.extend(placed.terms.iter().map(|(index, _)| *index));
            found.extend(placed.gathers.iter().flat_map(|(inner, _)| self.indices_of(*inner)));
        }
        found
    }

    /// Whether the parts of a position depend on one another, so that not all corners occur.
    fn shares_indices(&self, placed: &Placed) -> bool {
        let mut all: Vec<usize> = placed.terms.iter().map(|(index, _)| *index).collect();
        for (access, _) in &placed.gathers {
            let mut own = self.indices_of(*access);
            own.sort_unstable();
            own.dedup();
            all.extend(own);
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        all.len() < count
    }
}

/// An empty range ends just before its beginning.
fn normal(range: &Interval) -> Interval {
    match le(&range.lo, &range.hi) {
        Ok(false) => Interval { hi: plus(&range.lo, -1).unwrap_or_else(|_| range.hi.clone()), lo: range.lo.clone() },
        _ => range.clone(),
    }
}

/// A range as the program would write it.
pub(crate) fn shown_range(range: &Interval, base: i64) -> String {
    match (base, plus(&range.hi, 1)) {
        (0, Ok(end)) => format!("{}..{}", shown(&range.lo), shown(&end)),
        _ => format!("{}:{}", shown(&range.lo), shown(&range.hi)),
    }
}

/// The range from `lo` through `hi`.
pub(crate) fn shown_range_of(lo: i64, hi: i64, base: i64) -> String {
    shown_range(&Interval { lo: SymExpr::constant(lo), hi: SymExpr::constant(hi) }, base)
}

/// The extrema of an access of an integer array, when all ranges are known. `None` if nothing is read.
pub(crate) fn extrema_of(nest: &Nest, known: &Known, ranges: &Ranges, access: usize) -> Found<Option<(i64, i64)>> {
    let indices: Vec<Option<Interval>> = ranges.indices.iter().cloned().map(Some).collect();
    extrema(nest, known, &ranges.placed, &indices, access)
}
