//! Interchange: a loop in order around the innermost, parallel loop becomes the innermost one, and elements
//! that its iterations load and store stay in local scalars.
//!
//! ```text
//! for k in a..b:                   for j in 0..m:
//!   x = load a[i, k]                 s = load t[j]
//!   for j in 0..m:           ->      for k in a..b:
//!     y = load b[k, j]                 x = load a[i, k]; y = load b[k, j]
//!     t[j] += x * y                    s += x * y
//!                                    store t[j] = s
//! ```
//!
//! Code generators that run kernels with [`Steps`](crate::kernel::Steps) compute several `j` at once, with
//! the elements in registers over all `k` (outer-loop vectorization with scalar replacement). The legality is
//! that of loop interchange in Allen and Kennedy, "Optimizing Compilers for Modern Architectures" (2001).

use super::replay::Replay;
use super::walk::{defined, each_stmt, written};
use super::{For, If, Linear, Location, Program, ProgramBuilder, Stmt, Trip};
use crate::kernel::{KValue, Part};
use rustc_hash::FxHashSet;

impl Program {
    /// Interchanges loops whose iterations load and store the same elements.
    pub(super) fn interchange(&mut self) {
        let mut b = ProgramBuilder::resume(self);
        let body = interchanged(&mut b, self, &self.body);
        *self = b.finish_with(self, body);
    }
}

fn interchanged(b: &mut ProgramBuilder, program: &Program, stmts: &[Stmt]) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        match stmt {
            Stmt::For(nest) => match Interchange::of(program, nest) {
                Some(interchange) => {
                    b.open();
                    interchange.apply(b, program);
                    out.extend(b.close());
                }
                None => out.push(Stmt::For(For { body: interchanged(b, program, &nest.body), ..nest.clone() })),
            },
            Stmt::If(If { condition, then, otherwise }) => {
                let (then, otherwise) = (interchanged(b, program, then), interchanged(b, program, otherwise));
                out.push(Stmt::If(If { condition: condition.clone(), then, otherwise }));
            }
            other => out.push(other.clone()),
        }
    }
    out
}

/// Two loops to exchange.
struct Interchange<'p> {
    outer: &'p For,
    inner: &'p For,
    /// The elements that the iterations of the outer loop load and store.
    carried: Vec<Location>,
}

impl<'p> Interchange<'p> {
    fn of(program: &Program, outer: &'p For) -> Option<Interchange<'p>> {
        let (Stmt::For(inner), before) = outer.body.split_last()? else { return None };
        let is_scalar = |stmt: &Stmt| matches!(stmt, Stmt::Inst(_) | Stmt::Load(..));
        let is_straight = |stmt: &Stmt| is_scalar(stmt) || matches!(stmt, Stmt::Store(..));
        (outer.trip != Trip::Few && before.iter().all(is_scalar)).then_some(())?;
        inner.body.iter().all(is_straight).then_some(())?;
        let (mut inside, written) = (defined(&outer.body), written(&outer.body));
        inside.insert(outer.index);
        let is_outside = |form: &Linear| form.terms().iter().all(|(value, _)| !inside.contains(value));
        inner.hi.iter().chain([&inner.lo]).all(is_outside).then_some(())?;
        let reads_written = |stmt: &Stmt| matches!(stmt, Stmt::Load(_, from) if written.contains(&from.buffer));
        (!before.iter().any(reads_written) && inner.is_parallel_within(&inside, &program.buffers)).then_some(())?;
        inside.remove(&inner.index);
        let carried = carried(inner, &inside);
        (!carried.is_empty()).then_some(Interchange { outer, inner, carried })
    }

    fn apply(self, b: &mut ProgramBuilder, program: &Program) {
        let Interchange { outer, inner, carried } = self;
        let point = b.open_loop();
        let mut replay = Replay::new([(inner.index, point.into())].into_iter());
        let mut scalars = Vec::new();
        for location in &carried {
            let scalar = b.local(program.buffers[location.buffer as usize].dtype.real(), &[]);
            let location = replay.location(location);
            let first = b.load(location.buffer, location.part, &location.at);
            b.store(scalar, Part::Re, &[], first);
            scalars.push((scalar, location));
        }
        let step = b.open_loop();
        replay.set(outer.index, step.into());
        let (_, before) = outer.body.split_last().unwrap_or((&Stmt::Fail, &[]));
        replay.scope(b, before, &mut |_, _| {});
        let scalar_of = |location: &Location| carried.iter().position(|own| own == location).map(|n| scalars[n].0);
        let promoted = |stmt: &Stmt| -> Stmt {
            let to = |location: &Location| match scalar_of(location) {
                Some(buffer) => Location { buffer, part: Part::Re, at: Default::default() },
                None => location.clone(),
            };
            match stmt {
                Stmt::Load(value, location) => Stmt::Load(*value, to(location)),
                Stmt::Store(location, value) => Stmt::Store(to(location), *value),
                other => other.clone(),
            }
        };
        let body: Vec<Stmt> = inner.body.iter().map(promoted).collect();
        replay.scope(b, &body, &mut |_, _| {});
        b.close_loop(step, outer.trip, replay.form(&outer.lo), &replay.all(&outer.hi));
        for (scalar, location) in &scalars {
            let last = b.load(*scalar, Part::Re, &[]);
            b.store(location.buffer, location.part, &location.at, last);
        }
        b.close_loop(point, inner.trip, inner.lo.clone(), &inner.hi);
    }
}

/// The elements that an iteration of the inner loop loads and stores, if they name none of these values. All
/// accesses to their buffers are to one of them.
fn carried(inner: &For, inside: &FxHashSet<KValue>) -> Vec<Location> {
    let written = written(&inner.body);
    let (mut found, mut loaded): (Vec<Location>, Vec<&Location>) = (Vec::new(), Vec::new());
    each_stmt(&inner.body, &mut |stmt| {
        if let Stmt::Load(_, location) | Stmt::Store(location, _) = stmt
            && written.contains(&location.buffer)
        {
            if !found.contains(location) {
                found.push(location.clone());
            }
            if matches!(stmt, Stmt::Load(..)) {
                loaded.push(location);
            }
        }
    });
    let is_fixed = |location: &Location| {
        location.at.iter().all(|form| form.terms().iter().all(|(value, _)| !inside.contains(value)))
    };
    let is_apart = |location: &Location| {
        found.iter().all(|other| {
            other == location
                || other.part != location.part && other.buffer == location.buffer
                || other.is_apart_from(location, |_| 0)
        })
    };
    let is_carried = |location: &&Location| is_fixed(location) && loaded.contains(location) && is_apart(location);
    found.iter().filter(is_carried).cloned().collect()
}
