//! Register blocking: which loops are unrolled and jammed, and how often.
//!
//! The innermost loop is on vectors. A loop around it is worth unrolling if its iterations share loads, or
//! load and store one element: then each of these is done once for several iterations. A body has a limited
//! number of instructions, so that values stay in registers and kernels compile fast.
//!
//! An innermost loop that carries a local float, as that over the points of a scan, is a chain of dependent
//! instructions. Several iterations of the loop around it interleave such chains and hide their latency.
//!
//! A short innermost loop whose arrays begin at positions from other arrays, as in functions of gathered
//! rows, is a kernel of its own for each iteration of the loop around it. A call takes as long as several
//! points, so iterations share calls.
//!
//! In a product of matrices, the rows of the result share the elements of the right operand, and the steps
//! of the sum share the elements of the result. Of several loops whose iterations share, the innermost one is
//! unrolled: the rows of each product of a batch, and not the batch.

use super::outline::FEWEST_POINTS;
use super::walk::{each_access, each_stmt, locals, written};
use super::{BufferDecl, For, If, Linear, Location, Program, ProgramBuilder, Stmt, Trip};
use crate::kernel::KValue;
use rustc_hash::FxHashSet;

/// The most iterations that are computed at once: each has addresses of its own, in general registers.
const MOST_ITERATIONS: usize = 8;

/// The groups of vectors for which iterations have carried values at least, so that a load serves several of
/// them.
const LEAST_GROUPS: usize = 2;

/// The most chains of dependent instructions that are interleaved. They hide the latency of an addition, and
/// the addresses of as many rows fit registers.
const MOST_CHAINS: usize = 4;

/// The most iterations with windows that are computed at once, and the most instructions: most loads are
/// shared by then.
const MOST_ROWS: usize = 4;
const MOST_OVERLAPPING: usize = 256;

/// The most points of a loop for which a call of a kernel takes a good part of the time.
const SHORT: i64 = 64;

/// The most scalar instructions of a body after independent iterations are jammed, and after steps of a sum
/// are, too. Measured on an AMD EPYC (Zen 4).
const MOST_INSTS: [usize; 2] = [16, 128];

impl Program {
    /// Unrolls and jams independent iterations around innermost loops. With the number of registers for the
    /// carried values of [`Steps`](crate::kernel::Steps), these and the elements that they share fit in them.
    pub(super) fn jam_points(&mut self, registers: Option<usize>) {
        let fit = registers.map(|registers| (registers.saturating_sub(LEAST_GROUPS + 1) / LEAST_GROUPS).max(1));
        let most = fit.map_or(MOST_ITERATIONS, |fit| fit.min(MOST_ITERATIONS));
        self.jam(Kind { of_steps: false, has_steps: registers.is_some(), most, insts: MOST_INSTS[0] });
    }

    /// Unrolls and jams the steps of sums around innermost loops.
    pub(super) fn jam_steps(&mut self) {
        self.jam(Kind { of_steps: true, has_steps: false, most: MOST_ITERATIONS, insts: MOST_INSTS[1] });
    }

    fn jam(&mut self, kind: Kind) {
        let mut b = ProgramBuilder::resume(self);
        let body = blocked(&mut b, self, &self.body, kind);
        if body[..] != self.body[..] {
            *self = b.finish_with(self, body);
            self.forward();
        }
    }
}

/// The loops that are jammed: those whose iterations are steps of a sum, or independent ones, with limits for
/// the iterations that are computed at once, and for the scalar instructions of these.
#[derive(Clone, Copy)]
struct Kind {
    of_steps: bool,
    /// Whether kernels have steps.
    has_steps: bool,
    most: usize,
    insts: usize,
}

fn blocked(b: &mut ProgramBuilder, program: &Program, stmts: &[Stmt], kind: Kind) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        match stmt {
            Stmt::For(nest) => match factor(program, nest, kind) {
                Some(factor) if factor.is_better_than(most_shared(program, &nest.body, kind)) => {
                    b.open();
                    b.unroll_and_jam(nest, factor.iterations, !factor.overlaps);
                    out.extend(b.close());
                }
                _ => out.push(Stmt::For(For { body: blocked(b, program, &nest.body, kind), ..nest.clone() })),
            },
            Stmt::If(If { condition, then, otherwise }) => {
                let (then, otherwise) = (blocked(b, program, then, kind), blocked(b, program, otherwise, kind));
                out.push(Stmt::If(If { condition: condition.clone(), then, otherwise }));
            }
            other => out.push(other.clone()),
        }
    }
    out
}

/// How many iterations of a loop are worth computing at once.
struct Factor {
    iterations: i64,
    /// Whether they share loads or elements. If not, only calls or latencies are hidden.
    shares: bool,
    /// Whether they are iterations of windows.
    overlaps: bool,
}

impl Factor {
    /// Whether the loop is a better one than a loop in it of which this many iterations share. As inner loops
    /// share more, it is so only if more of its iterations do: in a batch of products, the rows of each
    /// product.
    fn is_better_than(&self, inner: i64) -> bool {
        if self.shares { self.iterations > inner } else { inner == 0 }
    }
}

/// The most iterations of a loop in these statements that are worth computing at once, as they share.
fn most_shared(program: &Program, stmts: &[Stmt], kind: Kind) -> i64 {
    let most = stmts.iter().map(|stmt| match stmt {
        Stmt::For(nest) => {
            let own = factor(program, nest, kind).filter(|factor| factor.shares);
            own.map_or(0, |factor| factor.iterations).max(most_shared(program, &nest.body, kind))
        }
        Stmt::If(If { then, otherwise, .. }) => {
            most_shared(program, then, kind).max(most_shared(program, otherwise, kind))
        }
        _ => 0,
    });
    most.max().unwrap_or(0)
}

/// The factor of a loop, if it is worth jamming.
fn factor(program: &Program, nest: &For, kind: Kind) -> Option<Factor> {
    let Kind { of_steps, has_steps, most, insts: most_insts } = kind;
    let mut bodies: Vec<&For> = Vec::new();
    innermost(&nest.body, &mut bodies);
    let own = locals(&nest.body);
    let varying = nest.varying();
    let moves = |location: &Location| location.at.iter().any(|form| names(form, &varying));
    let shares = |inner: &&For| {
        let mut shares = false;
        each_access(&inner.body, &mut |buffer, location, is_store| {
            let is_fixed = location.is_some_and(|location| !moves(location));
            shares |= is_fixed && is_store == of_steps && (of_steps || !own.contains(&buffer));
        });
        shares
    };
    // The innermost loop is a kernel of its own: it has positions that are not affine in the index.
    let is_short_call = |inner: &&For| {
        let points = inner.hi.iter().filter_map(|hi| hi.clone().minus(&inner.lo).as_constant()).min();
        let mut jumps = false;
        each_access(&inner.body, &mut |_, location, _| {
            let terms = location.iter().flat_map(|at| &at.at).flat_map(|form| form.terms());
            jumps |= { terms }.any(|(value, _)| *value != nest.index && varying.contains(value));
        });
        let is_copy = inner.copied_row(&program.buffers).is_some();
        jumps && !is_copy && points.is_some_and(|points| (FEWEST_POINTS..=SHORT).contains(&points))
    };
    let insts = bodies.iter().map(|inner| insts(&inner.body)).max()?;
    let overlaps = !of_steps && bodies.iter().any(|inner| nest.overlaps(inner));
    let most_insts = if overlaps { MOST_OVERLAPPING } else { most_insts };
    if nest.trip == Trip::Few || !nest.is_rectangular(&varying) {
        return None;
    }
    let shares = bodies.iter().any(shares);
    let wanted = match () {
        () if overlaps => MOST_ROWS.min(most),
        () if shares => most,
        () if !of_steps && bodies.iter().any(is_short_call) => most,
        () if !of_steps && bodies.iter().any(|inner| inner.is_chain(&own, &program.buffers)) => MOST_CHAINS.min(most),
        () => return None,
    };
    let extents = nest.hi.iter().filter_map(|hi| hi.clone().minus(&nest.lo).as_constant());
    let iterations = extents.fold(wanted as i64, i64::min).min((most_insts / insts.max(1)) as i64);
    // The lanes of vectors are not jammed.
    let is_kind = || !(has_steps && nest.has_steps(&program.buffers)) && of_steps != nest.is_parallel(&program.buffers);
    let shares = shares || overlaps;
    let is_legal = iterations > 1 && is_kind() && nest.may_jam(&program.buffers);
    is_legal.then_some(Factor { iterations, shares, overlaps })
}

impl For {
    /// True if most elements that an iteration loads in an inner loop are loaded by the next iteration, too,
    /// by another statement: those of a window.
    fn overlaps(&self, inner: &For) -> bool {
        let mut loads: FxHashSet<&Location> = FxHashSet::default();
        for stmt in &inner.body {
            if let Stmt::Load(_, from) = stmt
                && from.at.iter().any(|form| form.coefficient(self.index) != 0)
            {
                loads.insert(from);
            }
        }
        let next = |from: &Location| {
            let at = from.at.iter().map(|form| form.clone().plus(form.coefficient(self.index)));
            Location { at: at.collect(), ..from.clone() }
        };
        let again = loads.iter().filter(|from| loads.contains(&next(from))).count();
        again * 2 > loads.len()
    }

    /// The values that may differ between iterations, at the same indices of the loops in it.
    fn varying(&self) -> FxHashSet<KValue> {
        let (mut varying, written) = (FxHashSet::from_iter([self.index]), written(&self.body));
        each_stmt(&self.body, &mut |stmt| {
            let varies = match stmt {
                Stmt::For(_) => false,
                Stmt::Inst(inst) => inst.args.iter().any(|arg| varying.contains(arg)),
                Stmt::Load(_, from) => {
                    written.contains(&from.buffer) || from.at.iter().any(|form| names(form, &varying))
                }
                _ => true,
            };
            if varies {
                varying.extend(stmt.defined());
            }
        });
        varying
    }

    /// True if it stores a float that it loads, one of these local buffers. Integers have short latencies,
    /// and take registers from addresses.
    fn is_chain(&self, own: &FxHashSet<u32>, buffers: &[BufferDecl]) -> bool {
        let (mut loaded, mut stored) = (FxHashSet::default(), FxHashSet::default());
        each_access(&self.body, &mut |buffer, location, is_store| {
            let is_scalar = own.contains(&buffer) && location.is_some_and(|location| location.at.is_empty());
            if is_scalar && buffers[buffer as usize].dtype.real().is_float() {
                if is_store { &mut stored } else { &mut loaded }.insert(buffer);
            }
        });
        !loaded.is_disjoint(&stored)
    }

    /// True if the loops in it have the same bounds in all iterations, so they can be jammed.
    fn is_rectangular(&self, varying: &FxHashSet<KValue>) -> bool {
        let mut is_rectangular = true;
        each_stmt(&self.body, &mut |stmt| {
            if let Stmt::For(inner) = stmt {
                is_rectangular &= !inner.hi.iter().chain([&inner.lo]).any(|form| names(form, varying));
            }
        });
        is_rectangular
    }
}

/// True if a form has one of these values.
fn names(form: &Linear, values: &FxHashSet<KValue>) -> bool {
    form.terms().iter().any(|(value, _)| values.contains(value))
}

/// The innermost loops, if their bodies have no conditions.
fn innermost<'s>(stmts: &'s [Stmt], found: &mut Vec<&'s For>) {
    for stmt in stmts {
        if let Stmt::For(nest) = stmt {
            let is_straight = |stmt: &Stmt| matches!(stmt, Stmt::Inst(_) | Stmt::Load(..) | Stmt::Store(..));
            if nest.body.iter().all(is_straight) {
                found.push(nest);
            } else {
                innermost(&nest.body, found);
            }
        }
    }
}

fn insts(stmts: &[Stmt]) -> usize {
    stmts.iter().filter(|stmt| matches!(stmt, Stmt::Inst(_))).count()
}
