//! Loop fission: a parallel loop around several loops becomes a loop around each of them.
//!
//! So the interior of an inner loop that was split ([`partition`](super::partition)) is in a perfect nest,
//! which is one kernel. The scalar instructions and loads of the loop are copied, as each of the loops may
//! need them.

use super::outline::nest_of;
use super::walk::{each_access, locals, written};
use super::{For, If, Program, ProgramBuilder, Stmt, Storage};
use std::slice::from_ref;

/// The most scalar instructions and loads that are copied.
const MOST_COPIED: usize = 64;

impl Program {
    /// Distributes parallel loops over the loops in them, if one of these is part of a perfect nest.
    pub(super) fn fission(&mut self) {
        let mut b = ProgramBuilder::resume(self);
        let body = distributed(&mut b, self.body.to_vec());
        *self = b.finish_with(self, body);
    }
}

fn distributed(b: &mut ProgramBuilder, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        match stmt {
            Stmt::For(mut nest) => {
                nest.body = distributed(b, nest.body);
                match parts(b, &nest) {
                    Some(parts) => out.extend(parts),
                    None => out.push(Stmt::For(nest)),
                }
            }
            Stmt::If(If { condition, then, otherwise }) => {
                let (then, otherwise) = (distributed(b, then), distributed(b, otherwise));
                out.push(Stmt::If(If { condition, then, otherwise }));
            }
            other => out.push(other),
        }
    }
    out
}

/// A loop for each loop in a loop, if that is possible and worth it.
fn parts(b: &mut ProgramBuilder, nest: &For) -> Option<Vec<Stmt>> {
    let is_loop = |stmt: &&Stmt| matches!(stmt, Stmt::For(_));
    let (loops, scalars): (Vec<&Stmt>, Vec<&Stmt>) = nest.body.iter().partition(is_loop);
    let is_nest = |stmt: &&Stmt| if let Stmt::For(inner) = stmt { nest_of(inner).is_some() } else { false };
    if loops.len() < 2 || scalars.len() > MOST_COPIED || !loops.iter().any(is_nest) {
        return None;
    }
    // Elements that are loaded before the loops must not change in them.
    let written = written(&nest.body);
    let is_fixed = |stmt: &&Stmt| match stmt {
        Stmt::Inst(_) => true,
        Stmt::Load(_, from) => !written.contains(&from.buffer),
        _ => false,
    };
    // Nor can a local buffer take values from a loop to the next one.
    let is_local = |buffer: u32| matches!(b.buffers()[buffer as usize].storage, Storage::Local { .. });
    let crosses = |inner: &&Stmt| {
        let (own, mut crosses) = (locals(from_ref(*inner)), false);
        each_access(from_ref(*inner), &mut |buffer, _, _| crosses |= is_local(buffer) && !own.contains(&buffer));
        crosses
    };
    if !scalars.iter().all(is_fixed) || loops.iter().any(crosses) || !nest.is_parallel(b.buffers()) {
        return None;
    }
    let part = |inner: &&Stmt| {
        let body = scalars.iter().chain([inner]).map(|stmt| (*stmt).clone()).collect();
        b.copied(&[Stmt::For(For { body, ..nest.clone() })])
    };
    Some(loops.iter().flat_map(part).collect())
}
