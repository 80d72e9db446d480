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

use super::{For, If, Location, Program, Stmt};
use crate::kernel::KValue;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

impl Program {
    /// Puts the bodies of innermost loops in eager order, where that pays.
    pub(super) fn eager(&mut self) {
        scope(std::sync::Arc::make_mut(&mut self.body));
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
///
/// Elements are loaded in the order in which their last uses can be computed: by the length of the chain of
/// instructions up to there. An instruction follows the last load that it needs, directly or not.
fn ordered(body: &[Stmt]) -> Option<Vec<Stmt>> {
    let loaded: FxHashSet<u32> = body.iter().filter_map(|stmt| read(stmt).map(|from| from.buffer)).collect();
    let is_plain = |stmt: &Stmt| match stmt {
        Stmt::Inst(_) | Stmt::Load(..) => true,
        Stmt::Store(to, _) => !loaded.contains(&to.buffer),
        _ => false,
    };
    body.iter().all(is_plain).then_some(())?;
    // The longest chain of instructions up to each value, and up to the last use of each element.
    let (mut depths, mut last_uses): (FxHashMap<KValue, usize>, FxHashMap<KValue, usize>) = Default::default();
    for stmt in body {
        let Stmt::Inst(inst) = stmt else { continue };
        let depth = inst.args.iter().filter_map(|arg| depths.get(arg)).max().map_or(1, |depth| depth + 1);
        depths.extend(stmt.defined().map(|value| (value, depth)));
        for arg in &inst.args {
            let last = last_uses.entry(*arg).or_default();
            *last = depth.max(*last);
        }
    }
    let mut loads: Vec<&Stmt> = body.iter().filter(|stmt| read(stmt).is_some()).collect();
    // A position that the body computes or loads is not known before.
    let defined: FxHashSet<KValue> = body.iter().flat_map(Stmt::defined).collect();
    let is_computed = |from: &Location| from.at.iter().flat_map(|form| form.terms()).any(|(v, _)| defined.contains(v));
    if loads.iter().filter_map(|stmt| read(stmt)).any(is_computed) {
        return None;
    }
    loads.sort_by_key(|stmt| stmt.defined().filter_map(|value| last_uses.get(&value).copied()).max());
    // By value, the number of loads up to the last one that it needs.
    let mut ready: FxHashMap<KValue, usize> = FxHashMap::default();
    (1..).zip(&loads).for_each(|(number, stmt)| ready.extend(stmt.defined().map(|value| (value, number))));
    let mut stored = 0;
    let mut keys = Vec::with_capacity(body.len());
    for stmt in body {
        let key = |values: &[KValue]| values.iter().filter_map(|value| ready.get(value).copied()).max().unwrap_or(0);
        keys.push(match stmt {
            Stmt::Inst(inst) => (key(&inst.args), true),
            // Stores stay in order.
            Stmt::Store(to, value) => {
                let positions = to.at.iter().flat_map(|form| form.terms()).map(|(value, _)| *value);
                let values: SmallVec<[KValue; 4]> = positions.chain([*value]).collect();
                stored = key(&values).max(stored);
                (stored, true)
            }
            _ => (stmt.defined().filter_map(|value| ready.get(&value).copied()).max().unwrap_or(0), false),
        });
        if let (Stmt::Inst(_), Some(&(key, _))) = (stmt, keys.last()) {
            ready.extend(stmt.defined().map(|value| (value, key)));
        }
    }
    let mut order: Vec<usize> = (0..body.len()).collect();
    order.sort_by_key(|&at| keys[at]);
    let is_good = most_live(body, order.iter().copied()) <= most_live(body, 0..body.len());
    is_good.then(|| order.into_iter().map(|at| body[at].clone()).collect())
}

fn read(stmt: &Stmt) -> Option<&Location> {
    if let Stmt::Load(_, from) = stmt { Some(from) } else { None }
}

/// The most values that are live at once, in an order of the statements. A loaded value with one use is an
/// operand in memory.
fn most_live(body: &[Stmt], order: impl Iterator<Item = usize>) -> usize {
    let uses = |stmt: &Stmt| match stmt {
        Stmt::Inst(inst) => inst.args.to_vec(),
        Stmt::Store(_, value) => vec![*value],
        _ => Vec::new(),
    };
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
