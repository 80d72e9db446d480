//! Loop fusion: two parallel loops, one after the other and over the same indices, become one.
//!
//! ```text
//! for j in 0..m:                   for j in 0..m:
//!   t[j] = 0                         s = 0
//! for j in 0..m:                     for k in 0..n:
//!   s = load t[j]           ->         s += a[k] * b[k, j]
//!   for k in 0..n:                   t[j] = s
//!     s += a[k] * b[k, j]
//!   store t[j] = s
//! ```
//!
//! An element that the first loop stores and the second one loads stays in a register
//! ([`forward`](super::forward)). Loops are fused if the second one loads elements that the first one stores,
//! and each iteration accesses the same elements in both, of all buffers that one of the loops writes.

use super::replay::Replay;
use super::walk::{accessed, each_access, each_stmt, locals, written};
use super::{BufferDecl, For, If, Location, Program, ProgramBuilder, Stmt, Trip};
use rustc_hash::FxHashSet;
use std::slice::from_ref;

impl Program {
    /// Fuses loops that follow one another.
    pub(super) fn fuse(&mut self) {
        let mut b = ProgramBuilder::resume(self);
        let body = fused(&mut b, self.body.to_vec());
        if body[..] != self.body[..] {
            *self = b.finish_with(self, body);
            self.forward();
        }
    }
}

fn fused(b: &mut ProgramBuilder, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut out: Vec<Stmt> = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        let stmt = match stmt {
            Stmt::For(nest) => nest,
            Stmt::If(If { condition, then, otherwise }) => {
                let (then, otherwise) = (fused(b, then), fused(b, otherwise));
                out.push(Stmt::If(If { condition, then, otherwise }));
                continue;
            }
            other => {
                out.push(other);
                continue;
            }
        };
        let at = out.iter().rposition(|first| matches!(first, Stmt::For(first) if may_fuse(b.buffers(), first, &stmt)));
        let at = at.filter(|&at| may_move_down(&out[at], &out[at + 1..]));
        match at.map(|at| out.remove(at)) {
            Some(Stmt::For(first)) => {
                let (body, trip) = (both(b, &first, &stmt), most(first.trip, stmt.trip));
                out.push(Stmt::For(For { trip, body, ..first }));
            }
            _ => out.push(Stmt::For(stmt)),
        }
    }
    for stmt in &mut out {
        if let Stmt::For(nest) = stmt {
            nest.body = fused(b, std::mem::take(&mut nest.body));
        }
    }
    out
}

/// True if a loop may run after statements that follow it.
fn may_move_down(first: &Stmt, past: &[Stmt]) -> bool {
    let (own, own_written) = (accessed(from_ref(first)), written(from_ref(first)));
    let (others, others_written) = (accessed(past), written(past));
    own.is_disjoint(&others_written) && own_written.is_disjoint(&others)
}

fn most(a: Trip, b: Trip) -> Trip {
    if a == Trip::Unknown { b } else { a }
}

/// The bodies of two loops as one.
fn both(b: &mut ProgramBuilder, first: &For, second: &For) -> Vec<Stmt> {
    b.open();
    let mut replay = Replay::new([(second.index, first.index.into())].into_iter());
    replay.scope(b, &second.body, &mut |_, _| {});
    let second = b.close();
    first.body.iter().cloned().chain(second).collect()
}

/// True if the loops are parallel, the second one loads elements that the first one stores, and one loop in
/// order at most is in both.
fn may_fuse(buffers: &[BufferDecl], first: &For, second: &For) -> bool {
    (&first.lo, &first.hi) == (&second.lo, &second.hi)
        && loops_in_order(buffers, first) + loops_in_order(buffers, second) <= 1
        && has_plain_statements(first)
        && has_plain_statements(second)
        && shares_elements(buffers, first, second)
}

fn has_plain_statements(nest: &For) -> bool {
    let mut is_plain = true;
    each_stmt(&nest.body, &mut |stmt| {
        is_plain &= matches!(stmt, Stmt::Inst(_) | Stmt::Load(..) | Stmt::Store(..) | Stmt::Local(_) | Stmt::For(_));
    });
    is_plain
}

/// The number of loops, this one among them, that are not parallel.
fn loops_in_order(buffers: &[BufferDecl], nest: &For) -> usize {
    let in_order = |nest: &For| usize::from(!nest.is_parallel(buffers));
    let mut count = in_order(nest);
    each_stmt(&nest.body, &mut |stmt| {
        if let Stmt::For(inner) = stmt {
            count += in_order(inner);
        }
    });
    count
}

/// True if the second loop loads from a buffer that the first one stores to, and each buffer that both access
/// and one writes has a dim in which all accesses have one position, which moves with the index.
fn shares_elements(buffers: &[BufferDecl], first: &For, second: &For) -> bool {
    let accesses = |nest: &For| {
        let own = locals(&nest.body);
        let mut found: Vec<Location> = Vec::new();
        each_access(&nest.body, &mut |buffer, location, _| {
            found.extend(location.filter(|_| !own.contains(&buffer)).map(|location| Location {
                at: location.at.iter().map(|form| form.with(nest.index, &first.index.into())).collect(),
                ..location.clone()
            }));
        });
        found
    };
    let (before, after) = (accesses(first), accesses(second));
    let written = [written(&first.body), written(&second.body)];
    let is_shared = |buffer: u32| {
        let in_both = [&before, &after].iter().all(|list| list.iter().any(|location| location.buffer == buffer));
        in_both && written.iter().any(|written| written.contains(&buffer))
    };
    let moves_alike = |buffer: u32| {
        let mut all = before.iter().chain(&after).filter(|location| location.buffer == buffer);
        let Some(one) = all.next() else { return true };
        let all: Vec<&Location> = all.collect();
        (0..buffers[buffer as usize].rank()).any(|dim| {
            one.at[dim].coefficient(first.index) != 0 && all.iter().all(|other| other.at[dim] == one.at[dim])
        })
    };
    let shared: FxHashSet<u32> = before.iter().map(|at| at.buffer).filter(|&buffer| is_shared(buffer)).collect();
    let mut passes = false;
    each_access(&second.body, &mut |buffer, _, is_store| {
        passes |= !is_store && written[0].contains(&buffer) && shared.contains(&buffer);
    });
    passes && shared.iter().all(|&buffer| moves_alike(buffer))
}
