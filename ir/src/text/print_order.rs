//! The order in which an expression's text names operands and captures. If it is the order of their numbers,
//! the text needs no list.

use crate::expr::{ArrayExpr, Body, BodyOp, BodyRef, Combine, IndexExpr, Init, Source};
use rustc_hash::{FxHashMap, FxHashSet};

/// The maximum nesting that is printed; no verified expression nests deeper.
pub(super) const MAX_DEPTH: usize = 32;

/// The order in which the instruction's operands, and the captures of one expression, first appear in the
/// text.
#[derive(Default)]
pub(super) struct UseOrder {
    args: Vec<u32>,
    seen: FxHashSet<u32>,
}

impl UseOrder {
    fn arg(&mut self, n: u32) {
        if self.seen.insert(n) {
            self.args.push(n);
        }
    }

    pub fn args_are_counted(&self, len: usize) -> bool {
        self.args.len() == len && self.args.iter().enumerate().all(|(i, &n)| i as u32 == n)
    }

    pub fn expression(&mut self, expr: &ArrayExpr, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for operand in &expr.operands {
            match operand.source {
                Source::Array(n) | Source::Scalar(n) => self.arg(n),
                Source::Capture(_) => {}
            }
            operand.index.iter().for_each(|i| self.position(&i.expr, 0));
        }
        self.body(&expr.body, depth);
        for reduction in &expr.reductions {
            if let Combine::Region(body) = &reduction.combine {
                self.body(body, depth);
            }
            if let Init::Existing(args) = &reduction.init {
                args.iter().for_each(|&n| self.arg(n));
            }
        }
        expr.finish.iter().for_each(|b| self.body(b, depth));
        for out in &expr.outs {
            out.index.iter().for_each(|i| self.position(i, 0));
        }
    }

    fn body(&mut self, body: &Body, depth: usize) {
        for inst in &body.insts {
            if let BodyOp::Nested(nested) = &inst.op {
                self.expression(nested, depth + 1);
            }
        }
    }

    fn position(&mut self, position: &IndexExpr, depth: usize) {
        if let IndexExpr::Gather { arg, index, .. } = position
            && depth <= MAX_DEPTH
        {
            self.arg(*arg);
            index.iter().for_each(|i| self.position(i, depth + 1));
        }
    }
}

/// True if the captures are values of the enclosing body, each once, in the order in which the operands name
/// them.
pub(super) fn captures_are_counted(expr: &ArrayExpr, captures: &[BodyRef]) -> bool {
    let mut first: FxHashMap<BodyRef, u32> = FxHashMap::default();
    let mut next = 0;
    for operand in &expr.operands {
        let Source::Capture(k) = operand.source else { continue };
        if k > next {
            return false;
        }
        next += u32::from(k == next);
    }
    next as usize == captures.len()
        && captures
            .iter()
            .enumerate()
            .all(|(k, r)| !matches!(r, BodyRef::Const(_)) && first.insert(*r, k as u32).is_none())
}
