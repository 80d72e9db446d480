//! Loop fission: a parallel loop around several loops becomes a loop around each of them.
//!
//! So the interior of an inner loop that was split ([`partition`](super::partition)) is in a perfect nest,
//! which is one kernel. The scalar instructions and loads of the loop are copied, as each of the loops may
//! need them.

use super::parallel::{each_access, locals};
use super::{For, If, Program, Stmt};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The most scalar instructions and loads that are copied.
const MOST_COPIED: usize = 64;

impl Program {
    /// Distributes parallel loops over the loops in them, if one of these is part of a perfect nest.
    pub(super) fn fission(&mut self) {
        let body = std::mem::take(Arc::make_mut(&mut self.body));
        let body = self.distributed(body);
        self.body = Arc::new(body);
    }

    fn distributed(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            match stmt {
                Stmt::For(mut nest) => {
                    nest.body = self.distributed(nest.body);
                    match self.parts(&nest) {
                        Some(parts) => out.extend(parts.into_iter().map(Stmt::For)),
                        None => out.push(Stmt::For(nest)),
                    }
                }
                Stmt::If(If { condition, then, otherwise }) => {
                    let (then, otherwise) = (self.distributed(then), self.distributed(otherwise));
                    out.push(Stmt::If(If { condition, then, otherwise }));
                }
                other => out.push(other),
            }
        }
        out
    }

    /// A loop for each loop in a loop, if that is possible and worth it.
    fn parts(&mut self, nest: &For) -> Option<Vec<For>> {
        let is_loop = |stmt: &&Stmt| matches!(stmt, Stmt::For(_));
        let is_scalar = |stmt: &&Stmt| matches!(stmt, Stmt::Inst(_) | Stmt::Load(..));
        let (loops, scalars): (Vec<&Stmt>, Vec<&Stmt>) = nest.body.iter().partition(is_loop);
        let is_straight = |stmt: &&Stmt| if let Stmt::For(inner) = stmt { inner.is_straight() } else { false };
        if loops.len() < 2 || scalars.len() > MOST_COPIED || !loops.iter().any(is_straight) {
            return None;
        }
        // Elements that are loaded before the loops must not change in them.
        let mut written = FxHashSet::default();
        each_access(&nest.body, &mut |buffer, _, is_store| {
            if is_store {
                written.insert(buffer);
            }
        });
        let is_fixed =
            |stmt: &&Stmt| if let Stmt::Load(_, from) = stmt { !written.contains(&from.buffer) } else { true };
        // Nor can a local buffer take values from a loop to the next one.
        let crosses = |inner: &&Stmt| {
            let (own, mut crosses) = (locals(std::slice::from_ref(*inner)), false);
            each_access(std::slice::from_ref(*inner), &mut |buffer, _, _| {
                crosses |= self.is_local(buffer) && !own.contains(&buffer);
            });
            crosses
        };
        let fits = scalars.iter().all(|stmt| is_scalar(stmt) && is_fixed(stmt)) && !loops.iter().any(crosses);
        if !fits || !self.is_parallel(nest) {
            return None;
        }
        let parts: Vec<Stmt> = loops
            .iter()
            .map(|inner| {
                let body = scalars.iter().copied().chain([*inner]).cloned().collect();
                Stmt::For(For { body, ..nest.clone() })
            })
            .collect();
        let parts = parts.into_iter().flat_map(|part| self.copy(&[part]));
        Some(parts.filter_map(|part| if let Stmt::For(nest) = part { Some(nest) } else { None }).collect())
    }
}

impl For {
    /// True for a loop around scalar instructions, loads, stores and at most one such loop.
    fn is_straight(&self) -> bool {
        let mut loops = 0;
        self.body.iter().all(|stmt| match stmt {
            Stmt::Inst(_) | Stmt::Load(..) | Stmt::Local(_) | Stmt::Store(..) => true,
            Stmt::For(inner) => {
                loops += 1;
                loops == 1 && inner.is_straight()
            }
            Stmt::If(_) | Stmt::Reduce(_) | Stmt::Combine(_) | Stmt::Nest(_) | Stmt::Fail => false,
        })
    }
}
