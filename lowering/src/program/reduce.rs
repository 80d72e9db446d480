//! Reductions of a row: points that are combined onto accumulators in an order that is part of the meaning.
//!
//! An accumulator is a tuple of values in local buffers. Where the order of a reduction leaves a place empty
//! (a lane beyond the end of a row, a point that the guard skips), the tuple holds the neutral element of the
//! monoid, which changes no bit of a tuple that it is combined with. Monoids without one have a flag: whether
//! the tuple holds anything.

use super::{Condition, Linear, ProgramBuilder, Stmt};
use crate::kernel::{KValue, Part};
use crate::scalar::{Elem, ScalarCx};
use rewright_ir::{Attrs, DType, Scalar};
use smallvec::SmallVec;

/// A statement that combines the points of a row, in the order of a tree, and then the totals with the
/// result. Without points it does nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// The number of the point, an `i64` from 0 on.
    pub index: KValue,
    /// The number of points: the least of these.
    pub points: SmallVec<[Linear; 1]>,
    /// The order.
    pub tree: Tree,
    /// The reductions: for each how tuples are combined, and the total.
    pub accumulators: Vec<(Accumulator, Slots)>,
    /// The statements of a point. They combine at most once.
    pub body: Vec<Stmt>,
}

/// [`Order::Tree`](rewright_ir::expr::Order::Tree), whose fields these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The number of interleaved accumulators.
    pub lanes: u32,
    /// The number of points of a leaf.
    pub leaf: u32,
    /// The number of lanes on which leaves are combined.
    pub apart: u32,
    /// The number of points of a part.
    pub part: u32,
}

/// How tuples of a reduction are combined.
#[derive(Clone, Debug, PartialEq)]
pub struct Accumulator {
    /// The dtypes of a tuple.
    pub dtypes: SmallVec<[DType; 2]>,
    /// The last values, which are the same in all totals.
    pub fixed: SmallVec<[Scalar; 1]>,
    /// The neutral element; none if tuples have a flag.
    pub neutral: Option<Vec<Scalar>>,
    /// True if every order of combination gives the same bits.
    pub any_order: bool,
    /// The earlier tuple, a total, which no statement defines.
    pub left: Vec<Elem>,
    /// The later tuple.
    pub right: Vec<Elem>,
    /// The statements that combine them. They use no other values but constants.
    pub body: Vec<Stmt>,
    /// The result.
    pub both: Vec<Elem>,
}

impl Accumulator {
    /// The dtypes of the values that totals keep.
    pub fn kept(&self) -> &[DType] {
        &self.dtypes[..self.dtypes.len() - self.fixed.len()]
    }
}

/// Tuples in local buffers, at positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots {
    /// For each value of a tuple the buffer and the dtype.
    pub buffers: SmallVec<[(u32, DType); 2]>,
    /// Values after these, which are the same in all tuples: a total of `dot` is a sum and 1.
    pub fixed: SmallVec<[Scalar; 1]>,
    /// The flag.
    pub flag: Option<u32>,
}

/// A tuple of values, and whether it holds anything. No flag: it does.
pub struct Tuple {
    /// The values.
    pub values: Vec<Elem>,
    /// The flag.
    pub flag: Option<KValue>,
}

impl Slots {
    /// The buffers.
    pub fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.buffers.iter().map(|(buffer, _)| *buffer).chain(self.flag)
    }
}

impl ProgramBuilder {
    /// For ops without attributes.
    pub fn cx(&mut self) -> ScalarCx<'_> {
        static NONE: std::sync::LazyLock<Attrs> = std::sync::LazyLock::new(Attrs::new);
        ScalarCx { k: &mut self.k, attrs: &NONE }
    }

    /// Loads an element.
    pub fn load_elem(&mut self, buffer: u32, dtype: DType, at: &[Linear]) -> Elem {
        let re = self.load(buffer, Part::Re, at);
        let im = dtype.is_complex().then(|| self.load(buffer, Part::Im, at));
        Elem { dtype, re, im }
    }

    /// Stores an element.
    pub fn store_elem(&mut self, buffer: u32, at: &[Linear], value: Elem) {
        self.store(buffer, Part::Re, at, value.re);
        if let Some(im) = value.im {
            self.store(buffer, Part::Im, at, im);
        }
    }

    /// Room for tuples of a reduction at these extents.
    pub fn slots(&mut self, accumulator: &Accumulator, extents: &[u32]) -> Slots {
        let buffers = accumulator.kept().iter().map(|&dtype| (self.local(dtype, extents), dtype)).collect();
        let flag = accumulator.neutral.is_none().then(|| self.local(DType::Bool, extents));
        Slots { buffers, fixed: accumulator.fixed.clone(), flag }
    }

    /// Empties a tuple.
    pub fn clear(&mut self, accumulator: &Accumulator, slots: &Slots, at: &[Linear]) {
        let zeros = || accumulator.dtypes.iter().map(|&dtype| Scalar::zero(dtype)).collect();
        let values: Vec<Scalar> = accumulator.neutral.clone().unwrap_or_else(zeros);
        let values = values.into_iter().map(|scalar| self.cx().constant(scalar)).collect();
        let flag = slots.flag.map(|_| self.cx().bool(false));
        self.set(slots, at, &Tuple { values, flag });
    }

    /// Stores a tuple.
    pub fn set(&mut self, slots: &Slots, at: &[Linear], tuple: &Tuple) {
        for (&(buffer, _), &value) in slots.buffers.iter().zip(&tuple.values) {
            self.store_elem(buffer, at, value);
        }
        if let Some(buffer) = slots.flag {
            let flag = tuple.flag.unwrap_or_else(|| self.cx().bool(true));
            self.store(buffer, Part::Re, at, flag);
        }
    }

    /// Loads a tuple.
    pub fn get(&mut self, slots: &Slots, at: &[Linear]) -> Tuple {
        let mut values: Vec<Elem> =
            slots.buffers.iter().map(|&(buffer, dtype)| self.load_elem(buffer, dtype, at)).collect();
        values.extend(slots.fixed.iter().map(|&scalar| self.cx().constant(scalar)));
        let flag = slots.flag.map(|buffer| self.load(buffer, Part::Re, at));
        Tuple { values, flag }
    }

    /// Combines the tuple at a position with a later one.
    pub fn join(&mut self, accumulator: &Accumulator, (slots, at): (&Slots, &[Linear]), right: &Tuple) {
        let onto_left = |this: &mut Self| {
            let left = this.get(slots, at);
            let values = this.both(accumulator, &left.values, &right.values);
            this.set(slots, at, &Tuple { values, flag: None });
        };
        let present = right.flag.map(Condition::Value);
        self.when_all(present.into_iter().collect(), |this| {
            let Some(flag) = slots.flag else { return onto_left(this) };
            let left_flag = this.load(flag, Part::Re, at);
            this.when(Condition::Value(left_flag), onto_left, |this| {
                this.set(slots, at, &Tuple { values: right.values.clone(), flag: None })
            });
        });
    }

    /// Combines the tuple at a position with an earlier one. The earlier one is not used any more.
    pub fn join_before(
        &mut self,
        accumulator: &Accumulator,
        (earlier, place): (&Slots, &[Linear]),
        (slots, at): (&Slots, &[Linear]),
    ) {
        let later = self.get(slots, at);
        let joined = if slots.flag.is_some() {
            self.join(accumulator, (earlier, place), &later);
            self.get(earlier, place)
        } else {
            let left = self.get(earlier, place);
            Tuple { values: self.both(accumulator, &left.values, &later.values), flag: None }
        };
        self.set(slots, at, &joined);
    }

    /// Combines two tuples that hold something.
    pub fn both(&mut self, accumulator: &Accumulator, left: &[Elem], right: &[Elem]) -> Vec<Elem> {
        let operands = accumulator.left.iter().zip(left).chain(accumulator.right.iter().zip(right));
        let operands = operands.flat_map(|(own, given)| own.parts().zip(given.parts()));
        let mut replay = super::replay::Replay::new(operands.map(|(own, given)| (own, given.into())));
        replay.scope(self, &accumulator.body, &mut |_, _| {});
        accumulator.both.iter().map(|&elem| replay.elem(self, elem)).collect()
    }
}
