//! Detects rewrites that undo each other.
//!
//! Brent's cycle detection ("An improved Monte Carlo factorization algorithm", 1980) over the forms of a
//! function: after 64 applications the form is kept, and replaced by the current one at 128, 256, 512, ...
//! applications; a form that equals the kept one closes a cycle. Comparing whole functions after each
//! application would take quadratic time. So a sketch, the sum of a hash of each instruction, is updated at
//! the cost of the touched instructions. Only when the sketch equals the kept one is the whole function
//! hashed; when the sketch comes back again, the hashes are compared. This happens only as often as the
//! applications so far pay for.

use super::plan::Id;
use crate::change::Touched;
use indexmap::IndexSet;
use rewright_ir::analysis::{hash_attrs, structural_hash};
use rewright_ir::expr::BodyOp;
use rewright_ir::{ArrayExpr, Function, Inst, ValueDef, print_function};
use rustc_hash::{FxBuildHasher, FxHasher};
use slotmap::SecondaryMap;
use std::hash::{Hash, Hasher};

/// The number of applications before the first form is kept: most functions never get there.
const START: u64 = 64;

/// The most operands of an instruction, such as a `ret` of many results, that are part of the sketch.
const MOST_HASHED: usize = 32;

struct Kept {
    at: u64,
    sketch: u64,
    /// The hash of the form, once its sketch has come back.
    hash: Option<u64>,
}

/// Detects that a form of a function returns.
#[derive(Default)]
pub(super) struct Cycles {
    applications: u64,
    sketch: u64,
    parts: SecondaryMap<Inst, u64>,
    kept: Option<Kept>,
    /// The number of hashed instructions, which is the cost of full hashes.
    spent: u64,
    since: IndexSet<Id, FxBuildHasher>,
    closed: Option<(Vec<Id>, String)>,
}

impl Cycles {
    /// Records an application. Returns the rewrites of a cycle and two of its forms, one application after
    /// the cycle was closed.
    pub fn applied(&mut self, func: &Function, id: Id, touched: &Touched) -> Option<(Vec<Id>, [String; 2])> {
        if let Some((ids, form)) = self.closed.take() {
            let (a, b) = differing(&form, &print_function(func));
            return Some((ids, [a, b]));
        }
        self.applications += 1;
        if self.applications < START {
            return None;
        }
        if self.kept.is_none() {
            let all = func.blocks().flat_map(|b| func.insts(b));
            self.parts = all.map(|inst| (inst, part(func, inst))).collect();
            self.sketch = self.parts.values().fold(0, |sum, part| sum.wrapping_add(*part));
            self.keep();
            return None;
        }
        touched.insts_and_reconnected().for_each(|inst| self.update(func, inst));
        self.since.insert(id);
        if self.closes(func) {
            let ids = self.since.iter().copied().collect();
            self.closed = Some((ids, print_function(func)));
        } else if self.kept.as_ref().is_some_and(|k| self.applications >= 2 * k.at) {
            self.keep();
        }
        None
    }

    fn keep(&mut self) {
        self.kept = Some(Kept { at: self.applications, sketch: self.sketch, hash: None });
        self.since.clear();
    }

    fn update(&mut self, func: &Function, inst: Inst) {
        let new = func.is_linked(inst).then(|| part(func, inst));
        let old = match new {
            Some(new) => self.parts.insert(inst, new),
            None => self.parts.remove(inst),
        };
        self.sketch = self.sketch.wrapping_add(new.unwrap_or(0)).wrapping_sub(old.unwrap_or(0));
    }

    fn closes(&mut self, func: &Function) -> bool {
        let Some(kept) = self.kept.as_mut().filter(|k| k.sketch == self.sketch) else { return false };
        let cost = func.inst_count() as u64;
        if self.spent > 16 * self.applications + 8 * cost {
            return false;
        }
        self.spent += cost;
        let hash = structural_hash(func);
        // Different forms may have one sketch: the first of them is the one that is compared.
        match kept.hash {
            Some(first) => first == hash,
            None => {
                kept.hash = Some(hash);
                false
            }
        }
    }
}

/// A hash of one instruction: op, attributes (a sketch of an expression), result types, and for each of the
/// first operands the constant, the parameter's index or the defining op, but not that op's operands.
fn part(func: &Function, inst: Inst) -> u64 {
    let mut h = FxHasher::default();
    let data = func.inst(inst);
    data.op.hash(&mut h);
    match data.attrs.expr() {
        Some(expr) => sketch(expr, &mut h),
        None => hash_attrs(&data.attrs, &mut h),
    }
    data.results.iter().for_each(|&r| func.ty(r).hash(&mut h));
    for value in data.uses().take(MOST_HASHED) {
        match func.def(value) {
            ValueDef::Const(scalar) => (0u8, scalar).hash(&mut h),
            ValueDef::Param(_, index) => (1u8, index).hash(&mut h),
            ValueDef::Result(def, index) => (2u8, func.inst(def).op, index).hash(&mut h),
        }
    }
    // Sums of unmixed `FxHasher` values collide too often.
    let x = h.finish() ^ (h.finish() >> 32);
    x.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Hashes the sizes and first ops of an expression, which may be very large.
fn sketch(expr: &ArrayExpr, h: &mut FxHasher) {
    let sizes = [expr.axes.len(), expr.operands.len(), expr.body.insts.len(), expr.reductions.len(), expr.outs.len()];
    (sizes, expr.finish.as_ref().map(|finish| finish.insts.len())).hash(h);
    for inst in expr.body.insts.iter().take(MOST_HASHED) {
        if let BodyOp::Op(op, attrs) = &inst.op {
            op.hash(h);
            hash_attrs(attrs, h);
        }
        inst.args.hash(h);
    }
}

/// The lines in which two texts differ, with some context; at most 40 of each.
fn differing(a: &str, b: &str) -> (String, String) {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
    let prefix = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let suffix = a[prefix..].iter().rev().zip(b[prefix..].iter().rev()).take_while(|(x, y)| x == y).count();
    let cut = |lines: &[&str]| {
        let (from, to) = (prefix.saturating_sub(3), (lines.len() - suffix + 3).min(lines.len()));
        let shown = &lines[from..to.min(from + 40)];
        let mut text: Vec<&str> = Vec::new();
        text.extend((from > 0).then_some("..."));
        text.extend(shown);
        text.extend((from + shown.len() < lines.len()).then_some("..."));
        text.join("\n")
    };
    (cut(&a), cut(&b))
}
