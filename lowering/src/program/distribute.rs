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
//! expansion). Both techniques are in Allen and Kennedy, "Optimizing Compilers for Modern Architectures"
//! (2001).

use super::replay::Replay;
use super::walk::{defined, each_access, each_use, locals};
use super::{For, If, Linear, Program, ProgramBuilder, Stmt, Trip};
use crate::kernel::{Binary, KOp, KValue, Part};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::slice::from_ref;

/// The points of a block. A few blocks stay in the first-level cache.
const BLOCK: i64 = 256;

/// The fewest points of a loop, if they are known.
const FEWEST_POINTS: i64 = 32;

/// The cost of a value that crosses: a store and a load of a vector, in instructions on scalars.
const CROSSING: usize = 4;

/// The cost of another loop, for each point.
const LOOP: usize = 2;

/// The cost of a function, which has about as many instructions.
const FUNCTION: usize = 20;

impl Program {
    /// Distributes loops, if the rest is worth a kernel.
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
            Stmt::For(nest) => match Distribution::of(program, nest) {
                Some(distribution) => out.extend(distribution.apply(b, program)),
                None => out.push(Stmt::For(For { body: distributed(b, program, &nest.body), ..nest.clone() })),
            },
            Stmt::If(If { condition, then, otherwise }) => {
                let (then, otherwise) = (distributed(b, program, then), distributed(b, program, otherwise));
                out.push(Stmt::If(If { condition: condition.clone(), then, otherwise }));
            }
            other => out.push(other.clone()),
        }
    }
    out
}

/// A loop as two loops.
struct Distribution<'p> {
    nest: &'p For,
    /// The body of the first loop.
    first: Vec<Stmt>,
    /// The body of the second loop.
    second: Vec<Stmt>,
    /// The values of the first loop that the second one uses.
    crossing: Vec<KValue>,
}

impl<'p> Distribution<'p> {
    fn of(program: &Program, nest: &'p For) -> Option<Distribution<'p>> {
        let points = nest.hi.iter().filter_map(|hi| hi.clone().minus(&nest.lo).as_constant()).min();
        let is_long = nest.trip != Trip::Few && points.is_none_or(|points| points >= FEWEST_POINTS);
        (is_long && nest.body.iter().all(is_straight) && nest.is_parallel(&program.buffers)).then_some(())?;
        let is_first = statements_for_scalars(nest)?;

        // The second loop has the stores, and what they need but for values that cross.
        let mut is_second = vec![false; nest.body.len()];
        let mut used: FxHashSet<KValue> = FxHashSet::default();
        for (n, stmt) in nest.body.iter().enumerate().rev().filter(|(n, _)| !is_first[*n]) {
            is_second[n] = matches!(stmt, Stmt::Store(..)) || stmt.defined().any(|value| used.contains(&value));
            if is_second[n] {
                each_use(from_ref(stmt), &mut |value| {
                    used.insert(value);
                });
            }
        }
        let select = |chosen: &dyn Fn(usize) -> bool| -> Vec<Stmt> {
            (0..nest.body.len()).filter(|n| chosen(*n)).map(|n| nest.body[n].clone()).collect()
        };
        let second = select(&|n| is_second[n]);
        let computed = (0..nest.body.len()).filter(|n| is_first[*n]).flat_map(|n| nest.body[n].defined());
        let crossing: Vec<KValue> = computed.filter(|value| used.contains(value)).collect();
        (work(&second) > LOOP + CROSSING * crossing.len()).then_some(())?;

        // The first loop computes the operands of its statements once more.
        let mut is_needed = is_first;
        let mut used: FxHashSet<KValue> = FxHashSet::default();
        for (n, stmt) in nest.body.iter().enumerate().rev() {
            is_needed[n] |= stmt.defined().any(|value| used.contains(&value));
            if is_needed[n] {
                each_use(from_ref(stmt), &mut |value| {
                    used.insert(value);
                });
            }
        }
        Some(Distribution { nest, first: select(&|n| is_needed[n]), second, crossing })
    }

    fn apply(self, b: &mut ProgramBuilder, program: &Program) -> Vec<Stmt> {
        let Distribution { nest, first, second, crossing } = self;
        b.open();
        let points = nest.hi.iter().filter_map(|hi| hi.clone().minus(&nest.lo).as_constant()).min();
        if points.is_some_and(|points| points <= BLOCK) {
            let (lo, hi) = (nest.lo.clone(), nest.hi.to_vec());
            both(b, program, nest, [&first, &second], &crossing, (lo, hi));
        } else {
            let hi = b.extreme(Binary::Min, &nest.hi);
            let blocks = b.floor_div(&hi.minus(&nest.lo).plus(BLOCK - 1), BLOCK);
            let block = b.open_loop();
            let lo = nest.lo.clone().plus_term(block, BLOCK);
            let hi = nest.hi.iter().cloned().chain([lo.clone().plus(BLOCK)]).collect();
            both(b, program, nest, [&first, &second], &crossing, (lo, hi));
            b.close_loop(block, nest.trip, Linear::default(), &[blocks]);
        }
        b.close()
    }
}

/// Appends both loops for a block of points.
fn both(
    b: &mut ProgramBuilder,
    program: &Program,
    nest: &For,
    [first, second]: [&[Stmt]; 2],
    crossing: &[KValue],
    (lo, hi): (Linear, Vec<Linear>),
) {
    let dtype = |value: &KValue| program.values[value.0 as usize];
    let buffers: Vec<u32> = crossing.iter().map(|value| b.local(dtype(value), &[BLOCK as u32])).collect();
    let place = |index: KValue| [Linear::from(index).minus(&lo)];

    let index = b.open_loop();
    let mut replay = Replay::new(std::iter::once((nest.index, index.into())));
    replay.scope(b, first, &mut |_, _| {});
    for (&value, &buffer) in crossing.iter().zip(&buffers) {
        let value = replay.value(b, value);
        b.store(buffer, Part::Re, &place(index), value);
    }
    b.close_loop(index, nest.trip, lo.clone(), &hi);

    let index = b.open_loop();
    let mut replay = Replay::new(std::iter::once((nest.index, index.into())));
    for (&value, &buffer) in crossing.iter().zip(&buffers) {
        let value_of_point = b.load(buffer, Part::Re, &place(index));
        replay.set(value, value_of_point.into());
    }
    replay.scope(b, second, &mut |_, _| {});
    b.close_loop(index, nest.trip, lo, &hi);
}

/// True for a statement of a point without loops, and for conditions around such statements.
fn is_straight(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Inst(_) | Stmt::Load(..) | Stmt::Store(..) | Stmt::Local(_) | Stmt::Fail => true,
        Stmt::If(branch) => branch.then.iter().chain(&branch.otherwise).all(is_straight),
        Stmt::For(_) | Stmt::Reduce(_) | Stmt::Combine(_) | Stmt::Nest(_) => false,
    }
}

/// For each statement of a loop, whether a kernel can't have it: loads whose positions are computed, tests,
/// instructions by their reference meaning, and accesses of local buffers that these access. None if there is
/// no such statement, or a store is among them.
fn statements_for_scalars(nest: &For) -> Option<Vec<bool>> {
    let (inside, own) = (defined(&nest.body), locals(&nest.body));
    let is_computed = |form: &Linear| form.terms().iter().any(|(value, _)| inside.contains(value));
    let mut found: Vec<bool> = Vec::with_capacity(nest.body.len());
    for stmt in &nest.body {
        found.push(match stmt {
            Stmt::Inst(inst) => inst.results != 1 || matches!(inst.op, KOp::Reference(_)),
            Stmt::Load(_, location) => location.at.iter().any(is_computed),
            Stmt::Store(location, _) if location.at.iter().any(is_computed) => return None,
            Stmt::Store(..) | Stmt::Local(_) => false,
            _ => true,
        });
    }
    // A few steps: each one adds a buffer.
    let mut shared: FxHashSet<u32> = FxHashSet::default();
    loop {
        let before = shared.len();
        for (n, stmt) in nest.body.iter().enumerate() {
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
    (found.contains(&true) && !stores).then_some(found)
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
