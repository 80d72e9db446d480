//! Eager order: in the body of an innermost loop, each value is computed as soon as the elements that it
//! needs are loaded.
//!
//! ```text
//! for j in 0..m:                            for j in 0..m:
//!   a = load x[i, j]; b = load x[i+1, j]      a = load x[i, j]; b = load x[i+1, j]
//!   s = a + b                        ->       s = a + b
//!   c = load x[i+2, j]                        t = b * 2
//!   u = s * c                                 c = load x[i+2, j]
//!   t = b * 2                                 u = s * c; v = t * c
//!   v = t * c
//! ```
//!
//! After unroll-and-jam, the iterations stand one after the other, and elements that several of them use are
//! live until the last one. In eager order these uses stand together. The order stays as it is where more
//! values would be live at once.

use super::walk::each_use;
use super::{For, If, Program, Stmt};
use crate::kernel::KValue;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

impl Program {
    /// Puts the bodies of innermost loops in eager order.
    pub(super) fn eager(&mut self) {
        scope(Arc::make_mut(&mut self.body));
    }
}

fn scope(stmts: &mut Vec<Stmt>) {
    for stmt in stmts {
        match stmt {
            Stmt::For(For { body, .. }) => match ordered(body) {
                Some(eager) => *body = eager,
                None => scope(body),
            },
            Stmt::If(If { then, otherwise, .. }) => {
                scope(then);
                scope(otherwise);
            }
            _ => {}
        }
    }
}

/// A straight-line body in eager order, if not more values are live in it.
fn ordered(body: &[Stmt]) -> Option<Vec<Stmt>> {
    let loads = loads_in_order(body)?;
    // By value, the number of loads up to the last one that it needs, directly or not.
    let mut ready: FxHashMap<KValue, usize> = FxHashMap::default();
    (1..).zip(loads).for_each(|(number, value)| {
        ready.insert(value, number);
    });
    let mut stored = 0;
    // An instruction or a store follows the last load that it needs. Stores stay in order.
    let mut keys = Vec::with_capacity(body.len());
    for stmt in body {
        let last = uses(stmt).iter().filter_map(|value| ready.get(value).copied()).max().unwrap_or(0);
        keys.push(match stmt {
            Stmt::Load(value, _) => (ready[value], false),
            Stmt::Store(..) => {
                stored = last.max(stored);
                (stored, true)
            }
            _ => {
                ready.extend(stmt.defined().map(|value| (value, last)));
                (last, true)
            }
        });
    }
    let mut order: Vec<usize> = (0..body.len()).collect();
    order.sort_by_key(|&at| keys[at]);
    let is_good = most_live(body, order.iter().copied()) <= most_live(body, 0..body.len());
    is_good.then(|| order.into_iter().map(|at| body[at].clone()).collect())
}

/// The loaded values in the order in which their last uses can be computed: by the length of the chain of
/// instructions up to there. `None` if other statements may have to come before a load.
fn loads_in_order(body: &[Stmt]) -> Option<Vec<KValue>> {
    let (mut loads, mut stored) = (Vec::new(), FxHashSet::default());
    // The longest chain of instructions up to each value of the body, and up to the last use of each element.
    let (mut depths, mut last_uses): (FxHashMap<KValue, usize>, FxHashMap<KValue, usize>) = Default::default();
    for stmt in body {
        match stmt {
            // A position that the body computes or loads is not known before.
            Stmt::Load(..) if uses(stmt).iter().any(|value| depths.contains_key(value)) => return None,
            Stmt::Load(value, from) => {
                loads.push((*value, from.buffer));
                depths.insert(*value, 0);
            }
            Stmt::Inst(_) => {
                let depth = 1 + uses(stmt).iter().filter_map(|value| depths.get(value).copied()).max().unwrap_or(0);
                depths.extend(stmt.defined().map(|value| (value, depth)));
                for value in uses(stmt) {
                    let last = last_uses.entry(value).or_default();
                    *last = depth.max(*last);
                }
            }
            Stmt::Store(to, _) => {
                stored.insert(to.buffer);
            }
            _ => return None,
        }
    }
    if loads.iter().any(|(_, buffer)| stored.contains(buffer)) {
        return None;
    }
    let mut loads: Vec<KValue> = loads.into_iter().map(|(value, _)| value).collect();
    loads.sort_by_key(|value| last_uses.get(value).copied());
    Some(loads)
}

/// The values that a statement uses, in positions, too.
fn uses(stmt: &Stmt) -> SmallVec<[KValue; 4]> {
    let mut found = SmallVec::new();
    each_use(std::slice::from_ref(stmt), &mut |value| found.push(value));
    found
}

/// The most values that are live at once, in an order of the statements. A loaded value with one use is an
/// operand in memory.
fn most_live(body: &[Stmt], order: impl Iterator<Item = usize>) -> usize {
    let mut left: FxHashMap<KValue, usize> = FxHashMap::default();
    body.iter().flat_map(uses).for_each(|value| *left.entry(value).or_default() += 1);
    let (mut live, mut most) = (FxHashSet::default(), 0);
    for stmt in order.map(|at| &body[at]) {
        let once = |value: &KValue| matches!(stmt, Stmt::Load(..)) && left.get(value).is_none_or(|&uses| uses <= 1);
        live.extend(stmt.defined().filter(|value| !once(value)));
        most = most.max(live.len());
        for value in uses(stmt) {
            let uses = left.entry(value).or_default();
            *uses -= 1;
            if *uses == 0 {
                live.remove(&value);
            }
        }
    }
    most
}
