//! Staging: values that all iterations of a loop compute are computed once before it, for a block of points,
//! and kept in a local buffer, side by side.
//!
//! ```text
//! for i in 0..64:                    local p[128, 256]
//!   for k in a..a + 128:             for k in a..a + 128:
//!     for j in c..c + 256:      ->     for j in c..c + 256:
//!       x = load b[k, j]                 p[k - a, j - c] = load b[k, j]
//!       t[i, j] += f(i, k) * x       for i in 0..64:
//!                                      for k in a..a + 128:
//!                                        for j in c..c + 256:
//!                                          t[i, j] += f(i, k) * p[k - a, j - c]
//! ```
//!
//! The block stays in the cache, whatever the strides of the array are, and its layout is that of the loops.
//! In a product of matrices this is the packing of Goto and van de Geijn, "Anatomy of high-performance matrix
//! multiplication" (2008). Halide calls it `compute_at`, and TVM `cache_read`.

use super::replay::Replay;
use super::walk::{defined, written};
use super::{For, If, Linear, Location, Program, ProgramBuilder, Stmt, Trip};
use crate::kernel::{KOp, KValue, Part};
use rustc_hash::FxHashSet;
use smallvec::smallvec;

/// The least iterations that share a block.
const LEAST_ITERATIONS: i64 = 16;

/// The most elements of a block.
const MOST_ELEMENTS: i64 = 1 << 16;

impl Program {
    /// Stages the values that iterations of loops share.
    pub(super) fn stage(&mut self) {
        let mut b = ProgramBuilder::resume(self);
        let body = staged(&mut b, self, self.body.to_vec());
        *self = b.finish_with(self, body);
    }
}

fn staged(b: &mut ProgramBuilder, program: &Program, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        match stmt {
            Stmt::For(mut nest) => {
                if let Some(staging) = Staging::of(&nest) {
                    out.extend(staging.apply(b, program));
                } else {
                    nest.body = staged(b, program, nest.body);
                    out.push(Stmt::For(nest));
                }
            }
            Stmt::If(If { condition, then, otherwise }) => {
                let (then, otherwise) = (staged(b, program, then), staged(b, program, otherwise));
                out.push(Stmt::If(If { condition, then, otherwise }));
            }
            other => out.push(other),
        }
    }
    out
}

/// Values that a loop's iterations share.
struct Staging<'p> {
    outer: &'p For,
    middle: &'p For,
    inner: &'p For,
    /// The most iterations of the middle and the inner loop.
    extents: [i64; 2],
    /// The statements of the innermost body that compute the same in all iterations of the outer loop.
    shared: Vec<Stmt>,
    /// Those of their values that other statements use.
    kept: Vec<KValue>,
}

impl<'p> Staging<'p> {
    fn of(outer: &'p For) -> Option<Staging<'p>> {
        let [Stmt::For(middle)] = &outer.body[..] else { return None };
        let (Stmt::For(inner), before) = middle.body.split_last()? else { return None };
        let is_scalar = |stmt: &Stmt| matches!(stmt, Stmt::Inst(_) | Stmt::Load(..));
        let is_straight = |stmt: &Stmt| is_scalar(stmt) || matches!(stmt, Stmt::Store(..));
        (before.iter().all(is_scalar) && inner.body.iter().all(is_straight)).then_some(())?;
        let most = |nest: &For| nest.hi.iter().filter_map(|hi| hi.clone().minus(&nest.lo).as_constant()).min();
        let [iterations, steps, points] = [most(outer)?, most(middle)?, most(inner)?];
        let is_block = iterations >= LEAST_ITERATIONS && steps > 0 && points > 0 && steps * points <= MOST_ELEMENTS;
        (is_block && outer.trip == Trip::NotEmpty).then_some(())?;

        let (inside, written) = (defined(&outer.body), written(&outer.body));
        let is_block_index = |value: KValue| value == middle.index || value == inner.index;
        let is_fixed = |value: KValue| value != outer.index && (is_block_index(value) || !inside.contains(&value));
        let bounds = [middle, inner].into_iter().flat_map(|nest| nest.hi.iter().chain([&nest.lo]));
        let is_outside = |form: &Linear| form.terms().iter().all(|&(v, _)| is_fixed(v) && !is_block_index(v));
        bounds.into_iter().all(is_outside).then_some(())?;

        let (mut shared, mut values) = (Vec::new(), FxHashSet::default());
        let goes_along = |at: &Location, nest: &For| at.at.iter().any(|form| form.coefficient(nest.index) != 0);
        for stmt in &inner.body {
            let is_shared = match stmt {
                Stmt::Load(_, location) => {
                    !written.contains(&location.buffer)
                        && location.at.iter().all(|form| form.terms().iter().all(|&(value, _)| is_fixed(value)))
                        && goes_along(location, middle)
                        && goes_along(location, inner)
                }
                Stmt::Inst(inst) => {
                    let has_shared = inst.args.iter().any(|arg| values.contains(arg));
                    let is_known = |arg: &KValue| values.contains(arg) || (is_fixed(*arg) && !is_block_index(*arg));
                    inst.results == 1
                        && !matches!(inst.op, KOp::Reference(_))
                        && has_shared
                        && inst.args.iter().all(is_known)
                }
                _ => false,
            };
            if is_shared {
                values.extend(stmt.defined());
                shared.push(stmt.clone());
            }
        }
        let mut kept: Vec<KValue> = Vec::new();
        let mut keep = |value: KValue| {
            if values.contains(&value) && !kept.contains(&value) {
                kept.push(value);
            }
        };
        for stmt in inner.body.iter().filter(|stmt| !shared.contains(stmt)) {
            match stmt {
                Stmt::Inst(inst) => inst.args.iter().for_each(|&arg| keep(arg)),
                Stmt::Store(_, value) => keep(*value),
                _ => {}
            }
        }
        (!kept.is_empty()).then_some(Staging { outer, middle, inner, extents: [steps, points], shared, kept })
    }

    /// The loops that compute the block, and the loop that uses it.
    fn apply(self, b: &mut ProgramBuilder, program: &Program) -> Vec<Stmt> {
        let Staging { outer, middle, inner, extents, shared, kept } = self;
        b.open();
        let dtype = |value: &KValue| program.values[value.0 as usize];
        let buffers: Vec<u32> = kept.iter().map(|value| b.local(dtype(value), &extents.map(|n| n as u32))).collect();
        let place = |step: Linear, point: Linear| smallvec![step.minus(&middle.lo), point.minus(&inner.lo)];
        let step = b.open_loop();
        let point = b.open_loop();
        let mut replay = Replay::new([(middle.index, step.into()), (inner.index, point.into())].into_iter());
        replay.scope(b, &shared, &mut |_, _| {});
        for (&value, &buffer) in kept.iter().zip(&buffers) {
            let (value, at): (_, smallvec::SmallVec<[Linear; 3]>) =
                (replay.value(b, value), place(step.into(), point.into()));
            b.store(buffer, Part::Re, &at, value);
        }
        b.close_loop(point, inner.trip, inner.lo.clone(), &inner.hi);
        b.close_loop(step, middle.trip, middle.lo.clone(), &middle.hi);
        let mut out = b.close();

        let from_block = |stmt: &Stmt| {
            let value = kept.iter().position(|value| stmt.defined().any(|own| own == *value));
            match value {
                Some(n) => {
                    let at = place(middle.index.into(), inner.index.into());
                    Stmt::Load(kept[n], Location { buffer: buffers[n], part: Part::Re, at })
                }
                None => stmt.clone(),
            }
        };
        let is_used = |stmt: &&Stmt| !shared.contains(stmt) || stmt.defined().any(|value| kept.contains(&value));
        let body = inner.body.iter().filter(is_used).map(from_block).collect();
        let mut steps = middle.body.clone();
        steps.pop();
        steps.push(Stmt::For(For { body, ..inner.clone() }));
        let body = vec![Stmt::For(For { body: steps, ..middle.clone() })];
        out.push(Stmt::For(For { body, ..outer.clone() }));
        out
    }
}
