//! An expression under construction: its axes, operands and body.

use indexmap::IndexMap;
use rewright::expr::{Axis, Body, BodyOp, BodyRef, Operand, Reduction, Source};
use rewright::expr::{AxisKind, SymExpr};
use rewright::{Attrs, DType, Literal, Loc, Name, Op};

/// A value of a body. Literals take the dtype of the operands beside them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Weak(Literal),
    Known(BodyRef, DType),
}

/// An expression under construction.
#[derive(Default)]
pub(super) struct Level {
    pub axes: Vec<Axis>,
    /// The number of axes of the enclosing expressions.
    pub outer_axes: usize,
    /// The axis of each index that has one here, and the number that is added to it.
    pub indices: IndexMap<usize, (u32, SymExpr)>,
    pub operands: Vec<Operand>,
    pub body: Body,
    pub finish: Option<Body>,
    /// The body under construction is the finisher.
    pub is_finish: bool,
    /// The values of names of blocks.
    pub locals: IndexMap<usize, Item>,
    /// The values that a nested expression captures, as references in the enclosing one.
    pub captures: Vec<BodyRef>,
    /// The parts of the result of the reduction, in the finisher.
    pub results: Vec<Item>,
}

impl Level {
    /// Adds an axis of an index: a parallel one from 0 up to `hi` without it, where `lo` is the first value
    /// of the index, a reduce axis from `lo`. If `lo` is known, this axis begins at 0, too.
    pub fn axis(&mut self, index: usize, name: &str, lo: SymExpr, hi: SymExpr, kind: AxisKind) {
        let number = (self.outer_axes + self.axes.len()) as u32;
        let moved = lo.as_constant().and_then(|first| hi.constant.checked_sub(first));
        let (lo, hi, added) = match (kind, moved) {
            (AxisKind::Parallel, _) => (SymExpr::default(), hi, lo),
            (_, Some(constant)) => {
                let mut end = hi;
                end.constant = constant;
                (SymExpr::default(), end, lo)
            }
            _ => (lo, hi, SymExpr::default()),
        };
        self.axes.push(Axis { name: Name::new(name), lo, hi: Some(hi), kind });
        self.indices.insert(index, (number, added));
    }

    /// Adds an operand, or finds an equal one.
    pub fn operand(&mut self, name: &str, operand: Operand, taken: &dyn Fn(&str) -> bool) -> Item {
        let dtype = operand.dtype;
        let is_same = |own: &Operand| own.source == operand.source && own.index == operand.index && own.dtype == dtype;
        if let Some(found) = self.operands.iter().position(is_same) {
            return Item::Known(BodyRef::Operand(found as u32), dtype);
        }
        let is_taken = |text: &str, level: &Level| {
            taken(text)
                || level.operands.iter().any(|own| own.name == Name::new(text))
                || level.axes.iter().any(|axis| axis.name == Name::new(text))
        };
        let mut text = name.to_string();
        let mut n = 0;
        while is_taken(&text, self) {
            n += 1;
            text = format!("{name}{n}");
        }
        self.operands.push(Operand { name: Name::new(&text), ..operand });
        Item::Known(BodyRef::Operand(self.operands.len() as u32 - 1), dtype)
    }

    /// The sum of a reduction with two accumulators is its result.
    pub fn finish_sum(&mut self, reductions: &[Reduction]) {
        if reductions.iter().any(|reduction| reduction.accumulators.len() > 1) {
            self.finish.get_or_insert_default().yields = vec![BodyRef::Acc(0)];
        }
    }

    /// Appends an instruction with one result to the body under construction.
    pub fn push(&mut self, op: Op, attrs: Attrs, args: &[BodyRef], dtype: DType, loc: Loc) -> Item {
        let body = if self.is_finish { self.finish.get_or_insert_default() } else { &mut self.body };
        let results = body.push(BodyOp::Op(op, attrs), args.iter().copied(), [dtype], loc);
        Item::Known(results[0], dtype)
    }

    /// The operand that captures a value of the enclosing expression.
    pub fn capture(&mut self, value: BodyRef, dtype: DType, taken: &dyn Fn(&str) -> bool) -> Item {
        let number = self.captures.iter().position(|own| *own == value).unwrap_or_else(|| {
            self.captures.push(value);
            self.captures.len() - 1
        });
        let operand =
            Operand { name: Name::new("c"), source: Source::Capture(number as u32), dtype, index: Vec::new() };
        self.operand("c", operand, taken)
    }
}
