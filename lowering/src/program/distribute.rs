//! Loop distribution: the loads of a parallel loop whose positions are computed, and tests, run in a loop of
//! their own for a block of points. The rest is a nest that a kernel runs ([`outline`](super::outline)).
//!
//! ```text
//! for i in 0..n:                     for block in 0..(n + 255) / 256:
//!   k = load index[i]                  local x[256]
//!   a = load table[k]                  for i in 256 * block..min(n, 256 * block + 256):
//!   b = exp a                            k = load index[i]
//!   w = load weights[i]       ->         a = load table[k]
//!   c = mul b, w                         x[i - 256 * block] = a
//!   store out[i], c                    for i in 256 * block..min(n, 256 * block + 256):
//!                                        a = load x[i - 256 * block]
//!                                        b = exp a
//!                                        w = load weights[i]
//!                                        c = mul b, w
//!                                        store out[i], c
//! ```
//!
//! A value that crosses from the first loop to the second one becomes an element of a local buffer (scalar
//! expansion). The points of a reduction are distributed alike: the first loop is over the points of a part
//! of its tree, and the reduction of the part is a kernel. Loops that turn out to be short run as they are.
//! Both techniques are in Allen and Kennedy, "Optimizing Compilers for Modern Architectures" (2001).

use super::replay::Replay;
use super::walk::{defined, each_access, each_use, locals};
use super::{Condition, For, If, Linear, Program, ProgramBuilder, Reduce, Slots, Stmt, Trip};
use crate::kernel::{Binary, KOp, KValue, Part};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::slice::from_ref;

/// The points of a block. A few blocks stay in the first-level cache.
const BLOCK: i64 = 256;

/// The fewest points of a loop that is distributed.
const FEWEST_POINTS: i64 = 32;

/// The cost of a value that crosses: a store and a load of a vector, in instructions on scalars.
const CROSSING: usize = 4;

/// The cost of another loop, for each point.
const LOOP: usize = 2;

/// The cost of a function, which has about as many instructions.
const FUNCTION: usize = 20;

impl Program {
    /// Distributes loops and reductions, if the rest is worth a kernel.
    pub fn distributed(self) -> Program {
        let mut b = ProgramBuilder::resume(&self);
        let body = distributed(&mut b, &self, &self.body);
        b.finish_with(&self, body)
    }
}

fn distributed(b: &mut ProgramBuilder, program: &Program, stmts: &[Stmt]) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        match stmt {
            Stmt::For(nest) => match distributed_loop(b, program, nest) {
                Some(stmts) => out.extend(stmts),
                None => out.push(Stmt::For(For { body: distributed(b, program, &nest.body), ..nest.clone() })),
            },
            Stmt::If(If { condition, then, otherwise }) => {
                let (then, otherwise) = (distributed(b, program, then), distributed(b, program, otherwise));
                out.push(Stmt::If(If { condition: condition.clone(), then, otherwise }));
            }
            Stmt::Reduce(reduce) => match distributed_reduction(b, program, reduce) {
                Some(stmts) => out.extend(stmts),
                None => out.push(stmt.clone()),
            },
            other => out.push(other.clone()),
        }
    }
    out
}

/// The statements of a distributed loop, if it may be distributed and that is worth it.
fn distributed_loop(b: &mut ProgramBuilder, program: &Program, nest: &For) -> Option<Vec<Stmt>> {
    (nest.trip != Trip::Few && nest.is_parallel(&program.buffers)).then_some(())?;
    let parts = Parts::of(nest.index, &nest.body)?;
    (work(&parts.second) > LOOP + CROSSING * parts.crossing.len()).then_some(())?;
    let points: SmallVec<[Linear; 2]> = nest.hi.iter().map(|hi| hi.clone().minus(&nest.lo)).collect();
    where_long(b, &points, Stmt::For(nest.clone()), |b| {
        let most = points.iter().filter_map(Linear::as_constant).min();
        if most.is_some_and(|most| most <= BLOCK) {
            return parts.both_loops(b, program, nest.trip, &nest.lo, &nest.hi);
        }
        let all = b.extreme(Binary::Min, &points);
        let blocks = b.ceil_div(&all, BLOCK);
        let block = b.open_loop();
        let lo = nest.lo.clone().plus_term(block, BLOCK);
        let hi: Vec<Linear> = nest.hi.iter().cloned().chain([lo.clone().plus(BLOCK)]).collect();
        parts.both_loops(b, program, nest.trip, &lo, &hi);
        b.close_loop(block, nest.trip, Linear::default(), &[blocks]);
    })
}

/// The statements of a distributed reduction, if it may be distributed.
fn distributed_reduction(b: &mut ProgramBuilder, program: &Program, reduce: &Reduce) -> Option<Vec<Stmt>> {
    // Kernels need a neutral element.
    reduce.accumulators.iter().all(|(own, _)| own.neutral.is_some() && own.fixed.is_empty()).then_some(())?;
    let parts = Parts::of(reduce.index, &reduce.body)?;
    let part = i64::from(reduce.tree.part);
    where_long(b, &reduce.points, Stmt::Reduce(Box::new(reduce.clone())), |b| {
        let most = reduce.points.iter().filter_map(Linear::as_constant).min();
        if let Some(most) = most.filter(|most| *most <= part) {
            let totals = reduce.accumulators.iter().map(|(_, total)| total.clone()).collect();
            return parts.reduction(b, program, reduce, (Linear::default(), most), &reduce.points, totals);
        }
        let points = b.extreme(Binary::Min, &reduce.points);
        let count = b.ceil_div(&points, part);
        b.join_parts(reduce, &count, |b, number, totals| {
            let base = Linear::default().plus_term(number, part);
            let ends = [Linear::constant(part), points.clone().minus(&base)];
            parts.reduction(b, program, reduce, (base, part), &ends, totals);
        });
    })
}

/// Appends a branch: statements for many points, and the original statement for few. None if there are known
/// to be few.
fn where_long(
    b: &mut ProgramBuilder,
    points: &[Linear],
    original: Stmt,
    long: impl FnOnce(&mut ProgramBuilder),
) -> Option<Vec<Stmt>> {
    let more = points.iter().map(|points| points.clone().plus(-FEWEST_POINTS));
    let known = more.clone().filter_map(|more| more.as_constant()).min();
    known.is_none_or(|more| more >= 0).then_some(())?;
    let open: SmallVec<[Linear; 2]> = more.filter(|more| more.as_constant().is_none()).collect();
    b.open();
    if open.is_empty() {
        long(b);
    } else {
        let few = b.copied(from_ref(&original));
        let (many, ()) = b.scope(long);
        b.branch(Condition::NotNegative(open), many, few);
    }
    Some(b.close())
}

/// The statements of a point as those of two loops.
struct Parts {
    index: KValue,
    /// The statements of the first loop.
    first: Vec<Stmt>,
    /// The statements of the second loop.
    second: Vec<Stmt>,
    /// The values of the first loop that the second one uses.
    crossing: Vec<KValue>,
}

impl Parts {
    /// None if all statements may be in a kernel, or if they can't be in two loops.
    fn of(index: KValue, body: &[Stmt]) -> Option<Parts> {
        let is_last = |n: usize| n + 1 == body.len();
        let is_straight = |(n, stmt)| is_straight(stmt) || matches!(stmt, Stmt::Combine(_) if is_last(n));
        body.iter().enumerate().all(is_straight).then_some(())?;
        let is_first = statements_for_scalars(body)?;
        // The second loop has the stores or the combination, and all that they need but values that cross.
        let is_end = |n: usize| matches!(body[n], Stmt::Store(..) | Stmt::Combine(_)) && !is_first[n];
        let (is_second, used) = needed(body, &is_end, &is_first);
        let computed = (0..body.len()).filter(|n| is_first[*n]).flat_map(|n| body[n].defined());
        let crossing: Vec<KValue> = computed.filter(|value| used.contains(value)).collect();
        // The first loop computes the operands of its statements once more.
        let (is_needed, _) = needed(body, &|n| is_first[n], &vec![false; body.len()]);
        let select = |chosen: &[bool]| -> Vec<Stmt> {
            body.iter().zip(chosen).filter(|(_, chosen)| **chosen).map(|(stmt, _)| stmt.clone()).collect()
        };
        Some(Parts { index, first: select(&is_needed), second: select(&is_second), crossing })
    }

    /// A local buffer for the values of this many points, for each value that crosses.
    fn buffers(&self, b: &mut ProgramBuilder, program: &Program, points: i64) -> Vec<u32> {
        let dtype = |value: &KValue| program.values[value.0 as usize];
        self.crossing.iter().map(|value| b.local(dtype(value), &[points as u32])).collect()
    }

    /// Appends the first loop, whose points are `base` and an index.
    fn first_loop(&self, b: &mut ProgramBuilder, trip: Trip, base: &Linear, points: &[Linear], buffers: &[u32]) {
        let index = b.open_loop();
        let point = base.clone().plus_term(index, 1);
        let mut replay = Replay::new(std::iter::once((self.index, point)));
        replay.scope(b, &self.first, &mut |_, _| {});
        for (&value, &buffer) in self.crossing.iter().zip(buffers) {
            let value = replay.value(b, value);
            b.store(buffer, Part::Re, &[index.into()], value);
        }
        b.close_loop(index, trip, Linear::default(), points);
    }

    /// Appends the statements of the second loop at a point.
    fn second_point(&self, b: &mut ProgramBuilder, index: KValue, point: Linear, buffers: &[u32]) {
        let mut replay = Replay::new(std::iter::once((self.index, point)));
        for (&value, &buffer) in self.crossing.iter().zip(buffers) {
            let crossed = b.load(buffer, Part::Re, &[index.into()]);
            replay.set(value, crossed.into());
        }
        replay.scope(b, &self.second, &mut |b, items| b.push(Stmt::Combine(items.to_vec())));
    }

    /// Appends both loops for a block of points.
    fn both_loops(&self, b: &mut ProgramBuilder, program: &Program, trip: Trip, lo: &Linear, hi: &[Linear]) {
        let buffers = self.buffers(b, program, BLOCK);
        let points: Vec<Linear> = hi.iter().map(|hi| hi.clone().minus(lo)).collect();
        self.first_loop(b, trip, lo, &points, &buffers);
        let index = b.open_loop();
        self.second_point(b, index, lo.clone().plus_term(index, 1), &buffers);
        b.close_loop(index, trip, Linear::default(), &points);
    }

    /// Appends the loop over some points of a reduction, at most `most`, and the reduction of them.
    fn reduction(
        &self,
        b: &mut ProgramBuilder,
        program: &Program,
        reduce: &Reduce,
        (base, most): (Linear, i64),
        points: &[Linear],
        totals: Vec<Slots>,
    ) {
        let buffers = self.buffers(b, program, most);
        self.first_loop(b, Trip::Unknown, &base, points, &buffers);
        let index = b.open_loop();
        self.second_point(b, index, base.plus_term(index, 1), &buffers);
        let body = b.close();
        let accumulators = reduce.accumulators.iter().map(|(own, _)| own.clone()).zip(totals).collect();
        b.push(Stmt::Reduce(Box::new(Reduce { index, points: points.into(), tree: reduce.tree, accumulators, body })));
    }
}

/// The statements that others need, these included, and the values that they use. Those of `without` are not
/// followed.
fn needed(body: &[Stmt], is_end: &dyn Fn(usize) -> bool, without: &[bool]) -> (Vec<bool>, FxHashSet<KValue>) {
    let (mut found, mut used) = (vec![false; body.len()], FxHashSet::default());
    for (n, stmt) in body.iter().enumerate().rev().filter(|(n, _)| !without[*n]) {
        found[n] = is_end(n) || stmt.defined().any(|value| used.contains(&value));
        if found[n] {
            each_use(from_ref(stmt), &mut |value| {
                used.insert(value);
            });
        }
    }
    (found, used)
}

/// True for a statement of a point without loops, and for conditions around such statements.
fn is_straight(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Inst(_) | Stmt::Load(..) | Stmt::Store(..) | Stmt::Local(_) | Stmt::Fail => true,
        Stmt::If(branch) => branch.then.iter().chain(&branch.otherwise).all(is_straight),
        Stmt::For(_) | Stmt::Reduce(_) | Stmt::Combine(_) | Stmt::Nest(_) => false,
    }
}

/// For each statement of a point, whether a kernel can't have it: loads whose positions are computed, tests,
/// instructions by their reference meaning, and accesses of local buffers that these access. None if there is
/// no such statement, if a store to another buffer is among them, or if other statements access a local
/// buffer, which would have to exist in both loops.
fn statements_for_scalars(body: &[Stmt]) -> Option<Vec<bool>> {
    let (inside, own) = (defined(body), locals(body));
    let is_computed = |form: &Linear| form.terms().iter().any(|(value, _)| inside.contains(value));
    let mut found: Vec<bool> = Vec::with_capacity(body.len());
    for stmt in body {
        found.push(match stmt {
            Stmt::Inst(inst) => inst.results != 1 || matches!(inst.op, KOp::Reference(_)),
            Stmt::Load(_, location) => location.at.iter().any(is_computed),
            Stmt::Store(location, _) if location.at.iter().any(is_computed) => return None,
            Stmt::Store(..) | Stmt::Local(_) | Stmt::Combine(_) => false,
            _ => true,
        });
    }
    // A few steps: each one adds a buffer.
    let mut shared: FxHashSet<u32> = FxHashSet::default();
    loop {
        let before = shared.len();
        for (n, stmt) in body.iter().enumerate() {
            let mut buffers: SmallVec<[u32; 4]> = SmallVec::new();
            each_access(from_ref(stmt), &mut |buffer, _, is_store| {
                if own.contains(&buffer) || is_store {
                    buffers.push(buffer);
                }
            });
            if let Stmt::Local(buffer) = stmt {
                buffers.push(*buffer);
            }
            found[n] |= buffers.iter().any(|buffer| shared.contains(buffer));
            if found[n] {
                shared.extend(buffers);
            }
        }
        if shared.len() == before {
            break;
        }
    }
    let stores = shared.iter().any(|buffer| !own.contains(buffer));
    let is_apart = own.iter().all(|buffer| shared.contains(buffer));
    (found.contains(&true) && !stores && is_apart).then_some(found)
}

/// The number of instructions on scalars that a kernel does on vectors.
fn work(stmts: &[Stmt]) -> usize {
    let of = |stmt: &Stmt| match stmt {
        Stmt::Inst(inst) => match inst.op {
            KOp::Const(_) => 0,
            KOp::Math(_) | KOp::MathWhere(_) => FUNCTION,
            _ => 1,
        },
        _ => 0,
    };
    stmts.iter().map(of).sum()
}
