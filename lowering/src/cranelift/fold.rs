//! Reductions: rows whose points are combined, in sequence or as a tree of leaves. Each leaf is combined on
//! as many lanes as the order has.
//!
//! The tree is walked as in [`Fold`](rewright_ir::expr::Fold), with a stack of the results that wait for
//! their right siblings. Accumulators are in the frame between loops, and in registers within the vector
//! loop, which covers some of the lanes at a time. They are initialized with the neutral elements of the
//! fold.

use super::emit::{Emitter, clif, plain};
use super::lanes::{Vector, vector_of};
use super::unsupported;
use crate::kernel::{Fold, KValue, KernelError};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, StackSlot, Type, Value, types};
use rewright_ir::expr::Order;
use smallvec::SmallVec;

/// Stack slots.
#[derive(Clone, Copy)]
struct Places {
    /// The accumulators of waiting parts.
    stack: StackSlot,
    /// The accumulators of the part that was combined last.
    part: StackSlot,
    /// The accumulators of each lane.
    lanes: StackSlot,
    /// The accumulators of waiting leaves of the present part, on the lanes that stay apart.
    leaves: StackSlot,
}

/// The split of a row, from its [`Order`].
#[derive(Clone, Copy)]
struct Cut {
    lanes: usize,
    leaf: usize,
    apart: usize,
    part: usize,
}

/// The greatest depth of a tree of parts.
const DEPTH: usize = 64;
/// The lanes of the vector loop.
pub const LANES: usize = 8;

impl Emitter<'_> {
    /// Emits the innermost loop of a reduction, and its epilogue.
    pub fn fold_row(&mut self, fold: &Fold, extent: Value) -> Result<(), KernelError> {
        let count = fold.items.len();
        let (lanes, cut) = match fold.order {
            Order::Sequential => (1, None),
            Order::Tree { lanes, leaf, apart, part, .. } => (lanes, Some(Cut { lanes, leaf, apart, part })),
        };
        let waiting = cut.map_or(0, |cut| cut.apart * (cut.part / cut.leaf).ilog2() as usize);
        let places = Places {
            stack: self.slot(DEPTH * 8 * count)?,
            part: self.slot(8 * count)?,
            lanes: self.slot(8 * count * lanes)?,
            leaves: self.slot(8 * count * waiting)?,
        };
        match cut {
            None => {
                let (neutral, zero) = (self.neutral(fold), self.int(types::I64, 0));
                self.store_tuple(fold, places.part, 0, &neutral);
                self.one_by_one(fold, (places.part, 1), (zero, zero), extent)?;
            }
            Some(cut) => self.tree(fold, places, cut, extent)?,
        }
        let totals = self.load_tuple(fold, places.part, 0)?;
        self.set(&fold.totals, &totals);
        for number in fold.after.clone() {
            self.scalar_inst(number, &self.kernel.insts[number])?;
        }
        Ok(())
    }

    /// Walks over the leaves of a row.
    fn tree(&mut self, fold: &Fold, places: Places, cut: Cut, extent: Value) -> Result<(), KernelError> {
        let zero = self.int(types::I64, 0);
        // Parameters: the number of points done, of waiting parts, and of waiting leaves of the present
        // part.
        let next = self.block([types::I64; 3]);
        let (push, joined) = (self.b.create_block(), self.b.create_block());
        let (push_part, done) = (self.b.create_block(), self.b.create_block());

        self.jump(next, &[zero, zero, zero]);
        self.b.switch_to_block(next);
        let [at, parts, leaves] = self.params_of(next)?;
        let (left, most) = (self.b.ins().isub(extent, at), self.int(types::I64, cut.leaf as i64));
        let points = self.b.ins().umin(left, most);
        let width = self.leaf(fold, places, cut, at, points)?;
        let at = self.b.ins().iadd(at, points);
        let more = self.icmp(IntCC::UnsignedLessThan, at, extent);
        let begun = self.b.ins().band_imm_s(at, cut.part as i64 - 1);
        let begun = self.icmp(IntCC::NotEqual, begun, zero);
        let inside = self.b.ins().band(more, begun);

        // The number of leaves, or parts, to merge with is the number of trailing zeros of the number of
        // them that are done.
        let waiting = self.before(leaves, at, cut.leaf);
        let waiting = self.b.ins().select(inside, waiting, zero);
        self.down(leaves, waiting, |e, leaf| e.with_waiting_leaf(fold, places, cut.apart, leaf))?;
        self.branch(inside, (push, &[]), (joined, &[]));
        self.b.switch_to_block(push);
        let first = self.b.ins().imul_imm_s(waiting, cut.apart as i64);
        let place = self.waiting(fold, places.leaves, first);
        let lanes = self.b.ins().stack_addr(types::I64, places.lanes, 0);
        self.copy_words(lanes, place, cut.apart * fold.items.len())?;
        let waiting = self.b.ins().iadd_imm_s(waiting, 1);
        self.jump(next, &[at, parts, waiting]);

        self.b.switch_to_block(joined);
        self.halve(fold, places, width, 1)?;
        let total = self.load_tuple(fold, places.lanes, 0)?;
        self.store_tuple(fold, places.part, 0, &total);
        let waiting = self.before(parts, at, cut.part);
        let waiting = self.b.ins().select(more, waiting, zero);
        self.down(parts, waiting, |e, part| e.with_waiting(fold, places, part))?;
        self.branch(more, (push_part, &[]), (done, &[]));
        self.b.switch_to_block(push_part);
        let place = self.waiting(fold, places.stack, waiting);
        let part = self.b.ins().stack_addr(types::I64, places.part, 0);
        self.copy_words(part, place, fold.items.len())?;
        let waiting = self.b.ins().iadd_imm_s(waiting, 1);
        self.jump(next, &[at, waiting, zero]);
        self.b.switch_to_block(done);
        Ok(())
    }

    /// The number of waiting results that are left after merging with the subtree that ends at point `at`,
    /// for pieces of `piece` points.
    fn before(&mut self, waiting: Value, at: Value, piece: usize) -> Value {
        let zeros = self.b.ins().ctz(at);
        let ending = self.b.ins().iadd_imm_s(zeros, -i64::from(piece.ilog2()));
        self.b.ins().isub(waiting, ending)
    }

    /// Emits a loop over the numbers below `from`, down to `to`.
    fn down(
        &mut self,
        from: Value,
        to: Value,
        each: impl FnOnce(&mut Self, Value) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        let (next, some, done) = (self.block([types::I64]), self.b.create_block(), self.b.create_block());
        self.jump(next, &[from]);
        self.b.switch_to_block(next);
        let [number] = self.params_of(next)?;
        let ends = self.icmp(IntCC::Equal, number, to);
        self.branch(ends, (done, &[]), (some, &[]));
        self.b.switch_to_block(some);
        let fewer = self.b.ins().iadd_imm_s(number, -1);
        each(self, fewer)?;
        self.jump(next, &[fewer]);
        self.b.switch_to_block(done);
        Ok(())
    }

    /// Combines a waiting part with the part on its right.
    fn with_waiting(&mut self, fold: &Fold, places: Places, part: Value) -> Result<(), KernelError> {
        let place = self.waiting(fold, places.stack, part);
        let left = self.tuple_at(fold, place);
        let right = self.load_tuple(fold, places.part, 0)?;
        let both = self.combine(fold, &left, &right)?;
        self.store_tuple(fold, places.part, 0, &both);
        Ok(())
    }

    /// Combines a waiting leaf with the result on its right, lane by lane.
    fn with_waiting_leaf(&mut self, fold: &Fold, places: Places, apart: usize, leaf: Value) -> Result<(), KernelError> {
        let (zero, all) = (self.int(types::I64, 0), self.int(types::I64, apart as i64));
        let first = self.b.ins().imul_imm_s(leaf, apart as i64);
        let lane = self.begin_count(zero, all)?;
        let before = self.b.ins().iadd(first, lane.index);
        let (before, after) = (self.waiting(fold, places.leaves, before), self.waiting(fold, places.lanes, lane.index));
        let (left, right) = (self.tuple_at(fold, before), self.tuple_at(fold, after));
        let both = self.combine(fold, &left, &right)?;
        self.store_tuple_at(fold, after, &both);
        self.end_count(lane)
    }

    /// Copies `words` words, at least one.
    fn copy_words(&mut self, from: Value, to: Value, words: usize) -> Result<(), KernelError> {
        let (zero, all) = (self.int(types::I64, 0), self.int(types::I64, words as i64));
        let word = self.begin_count(zero, all)?;
        let distance = self.b.ins().ishl_imm_u(word.index, 3);
        let (from, to) = (self.offset(from, distance), self.offset(to, distance));
        let copied = self.b.ins().load(types::I64, plain(), from, 0);
        self.b.ins().store(plain(), copied, to, 0);
        self.end_count(word)
    }

    fn params_of<const N: usize>(&mut self, block: Block) -> Result<[Value; N], KernelError> {
        self.b.block_params(block).try_into().map_err(|_| unsupported("a block with other parameters"))
    }

    /// The address of the n-th tuple of accumulators in a stack slot.
    fn waiting(&mut self, fold: &Fold, stack: StackSlot, n: Value) -> Value {
        let base = self.b.ins().stack_addr(types::I64, stack, 0);
        let distance = self.b.ins().imul_imm_s(n, 8 * fold.items.len() as i64);
        self.offset(base, distance)
    }

    /// Combines `points` points from `at` on, at least one and at most a leaf, on lanes. Returns the number
    /// of lanes that points of the part have used, rounded up to a power of two, and at most the lanes that
    /// stay apart.
    fn leaf(&mut self, fold: &Fold, places: Places, cut: Cut, at: Value, points: Value) -> Result<Value, KernelError> {
        let (zero, one, lanes) = (self.int(types::I64, 0), self.int(types::I64, 1), cut.lanes);
        let most = self.int(types::I64, lanes as i64);
        let begun = self.b.ins().band_imm_s(at, cut.part as i64 - 1);
        let all = self.b.ins().iadd(begun, points);
        let used = self.b.ins().umin(all, most);
        let below = self.b.ins().iadd_imm_s(used, -1);
        let zeros = self.b.ins().clz(below);
        let word = self.int(types::I64, 64);
        let digits = self.b.ins().isub(word, zeros);
        let width = self.b.ins().ishl(one, digits);
        let clear = self.begin_count(zero, width)?;
        let neutral = self.neutral(fold);
        let place = self.waiting(fold, places.lanes, clear.index);
        self.store_tuple_at(fold, place, &neutral);
        self.end_count(clear)?;

        let rest = if self.plan.lanes == LANES { self.b.ins().band_imm_s(points, -(LANES as i64)) } else { zero };
        if self.plan.lanes == LANES {
            self.on_vectors(fold, places, lanes, (at, rest))?;
        }
        let (next, left) = (self.b.ins().iadd(at, rest), self.b.ins().isub(points, rest));
        self.one_by_one(fold, (places.lanes, lanes), (at, next), left)?;
        self.halve(fold, places, width, cut.apart)?;
        let apart = self.int(types::I64, cut.apart as i64);
        Ok(self.b.ins().umin(width, apart))
    }

    /// Combines the upper half of `width` lanes, a power of two, with the lower half, until at most `left`
    /// lanes are left.
    fn halve(&mut self, fold: &Fold, places: Places, width: Value, left: usize) -> Result<(), KernelError> {
        let zero = self.int(types::I64, 0);
        let halves = self.block([types::I64]);
        let (half, done) = (self.b.create_block(), self.b.create_block());
        self.jump(halves, &[width]);
        self.b.switch_to_block(halves);
        let [width] = self.params_of(halves)?;
        let lower = self.b.ins().ushr_imm_u(width, 1);
        let left = self.int(types::I64, left as i64);
        let ends = self.icmp(IntCC::UnsignedLessThanOrEqual, width, left);
        self.branch(ends, (done, &[]), (half, &[]));
        self.b.switch_to_block(half);
        let lane = self.begin_count(zero, lower)?;
        let upper = self.b.ins().iadd(lane.index, lower);
        let [low, high] = [lane.index, upper].map(|n| self.waiting(fold, places.lanes, n));
        let (left, right) = (self.tuple_at(fold, low), self.tuple_at(fold, high));
        let both = self.combine(fold, &left, &right)?;
        self.store_tuple_at(fold, low, &both);
        self.end_count(lane)?;
        self.jump(halves, &[lower]);
        self.b.switch_to_block(done);
        Ok(())
    }

    /// Begins a loop over the numbers from `from` up to `to`, which is greater.
    fn begin_count(&mut self, from: Value, to: Value) -> Result<Count, KernelError> {
        let again = self.block([types::I64]);
        self.jump(again, &[from]);
        self.b.switch_to_block(again);
        let [index] = self.params_of(again)?;
        Ok(Count { again, index, to })
    }

    fn end_count(&mut self, count: Count) -> Result<(), KernelError> {
        let next = self.b.ins().iadd_imm_s(count.index, 1);
        let more = self.icmp(IntCC::UnsignedLessThan, next, count.to);
        let done = self.b.create_block();
        self.branch(more, (count.again, &[next]), (done, &[]));
        self.b.switch_to_block(done);
        Ok(())
    }

    /// Combines points from `at` on, of a leaf that begins at `first`, with the accumulators of one lane
    /// after the other.
    fn one_by_one(
        &mut self,
        fold: &Fold,
        (place, lanes): (StackSlot, usize),
        (first, at): (Value, Value),
        points: Value,
    ) -> Result<(), KernelError> {
        let axis = self.kernel.axes - 1;
        let (some, done) = (self.b.create_block(), self.b.create_block());
        let zero = self.int(types::I64, 0);
        let none = self.icmp(IntCC::Equal, points, zero);
        self.branch(none, (done, &[]), (some, &[]));
        self.b.switch_to_block(some);
        let before = self.pointers.clone();
        for n in self.moving(axis) {
            self.pointers[n] = self.element(n, axis, at)?;
        }
        let end = self.b.ins().iadd(at, points);
        let open = self.open(axis, at, end);
        self.level(axis + 1)?;
        let right = fold.items.iter().map(|&item| self.scalar(item)).collect::<Result<SmallVec<[Value; 2]>, _>>()?;
        let index = self.indices[axis];
        let done_here = self.b.ins().isub(index, first);
        let lane = self.b.ins().band_imm_s(done_here, lanes as i64 - 1);
        let address = self.waiting(fold, place, lane);
        let left = self.tuple_at(fold, address);
        let both = self.combine(fold, &left, &right)?;
        self.store_tuple_at(fold, address, &both);
        self.close(open)?;
        self.pointers = before;
        self.jump(done, &[]);
        self.b.switch_to_block(done);
        Ok(())
    }

    /// Combines points of a leaf in vector loops of [`LANES`] lanes each. The number of points is a multiple
    /// of [`LANES`], and may be 0.
    fn on_vectors(
        &mut self,
        fold: &Fold,
        places: Places,
        lanes: usize,
        (at, points): (Value, Value),
    ) -> Result<(), KernelError> {
        let axis = self.kernel.axes - 1;
        let Some(adjacent) = self.adjacent else { return Err(unsupported("a vector loop over rows in any order")) };
        let moving = self.moving(axis);
        let zero = self.int(types::I64, 0);
        let tile = self.block([types::I64; 2].into_iter().chain(moving.iter().map(|_| types::I64)));
        let (some, end) = (self.b.create_block(), self.b.create_block());
        let (in_place, copied) = (self.b.create_block(), self.b.create_block());
        let none = self.icmp(IntCC::Equal, points, zero);
        self.branch(none, (end, &[]), (some, &[]));
        self.b.switch_to_block(some);
        self.branch(adjacent, (in_place, &[]), (copied, &[]));
        self.b.switch_to_block(in_place);
        let mut whole = vec![at, points];
        for &n in &moving {
            whole.push(self.element(n, axis, at)?);
        }
        self.jump(tile, &whole);
        self.b.switch_to_block(copied);
        let mut part = vec![at, points];
        part.extend(self.stage_in(&moving, axis, at, points)?);
        self.jump(tile, &part);

        let (_, count) = self.begin_tile(tile, &moving)?;
        let elems: SmallVec<[Type; 2]> = fold.items.iter().map(|&item| clif(self.dtype(item))).collect();
        let mut start = Vec::new();
        for (n, &elem) in elems.iter().enumerate() {
            // A bool's accumulator is a mask of bytes.
            let bits = fold.neutral[n];
            let lane = if self.dtype(fold.items[n]).is_bool() { bits.wrapping_neg() } else { bits };
            let chunk = self.vector_constant(elem, lane)?;
            start.extend(std::iter::repeat_n(chunk, self.chunk_count(elem)?));
        }
        let kinds: Vec<Type> = start.iter().map(|&value| self.b.func.dfg.value_type(value)).collect();
        // The parameter is the first lane.
        let along = self.block([types::I64]);
        let round = self.block([types::I64].into_iter().chain(kinds.iter().copied()));
        let done = self.block(kinds.iter().copied());
        self.jump(along, &[zero]);
        self.b.switch_to_block(along);
        let [first] = self.params_of(along)?;
        start.insert(0, first);
        self.jump(round, &start);
        self.b.switch_to_block(round);
        let params = self.b.block_params(round).to_vec();
        self.begin_round(params[0])?;
        self.one_group(0)?;
        let mut chunks = params[1..].iter().copied();
        for (n, &elem) in elems.iter().enumerate() {
            let own = (0..self.chunk_count(elem)?).filter_map(|_| chunks.next()).collect();
            self.hold(fold.left[n], Vector { elem, chunks: own })?;
            let item = self.accumulated(fold.items[n], elem)?;
            self.hold(fold.right[n], item)?;
        }
        for number in fold.combine.clone() {
            self.group_inst(number, &self.kernel.insts[number])?;
        }
        let next = self.b.ins().iadd_imm_s(params[0], lanes as i64);
        let mut again = vec![next];
        for (n, &elem) in elems.iter().enumerate() {
            again.extend(self.accumulated(fold.both[n], elem)?.chunks);
        }
        let more = self.icmp(IntCC::UnsignedLessThan, next, count);
        self.branch(more, (round, &again), (done, &again[1..]));
        self.b.switch_to_block(done);
        let place = self.waiting(fold, places.lanes, first);
        let mut chunks = self.b.block_params(done).to_vec().into_iter();
        for (n, &elem) in elems.iter().enumerate() {
            let own = (0..self.chunk_count(elem)?).filter_map(|_| chunks.next()).collect();
            let (vector, dtype) = (Vector { elem, chunks: own }, self.dtype(fold.items[n]));
            for lane in 0..LANES {
                let value = self.extract(&vector, lane, dtype.is_bool());
                let word = self.value_to_word(dtype, value);
                self.b.ins().store(plain(), word, place, 8 * (lane * elems.len() + n) as i32);
            }
        }
        self.group = None;
        let next = self.b.ins().iadd_imm_s(first, LANES as i64);
        let most = self.int(types::I64, lanes as i64);
        let used = self.b.ins().umin(count, most);
        let more = self.icmp(IntCC::UnsignedLessThan, next, used);
        self.branch(more, (along, &[next]), (end, &[]));
        self.b.switch_to_block(end);
        Ok(())
    }

    /// A value on vectors; a bool as a mask of bytes.
    fn accumulated(&mut self, value: KValue, elem: Type) -> Result<Vector, KernelError> {
        let vector = if self.dtype(value).is_bool() { self.mask(value, elem)? } else { self.vector(value)? };
        let ty = vector_of(elem);
        Ok(self.each(
            &vector,
            elem,
            |e, chunk| {
                if e.b.func.dfg.value_type(chunk) == ty { chunk } else { e.recast(chunk, elem) }
            },
        ))
    }

    /// Combines two tuples of scalars.
    fn combine(&mut self, fold: &Fold, left: &[Value], right: &[Value]) -> Result<SmallVec<[Value; 2]>, KernelError> {
        self.set(&fold.left, left);
        self.set(&fold.right, right);
        for number in fold.combine.clone() {
            self.scalar_inst(number, &self.kernel.insts[number])?;
        }
        fold.both.iter().map(|&value| self.scalar(value)).collect()
    }

    fn set(&mut self, values: &[KValue], to: &[Value]) {
        values.iter().zip(to).for_each(|(value, &to)| self.scalars[value.0 as usize] = Some(to));
    }

    fn neutral(&mut self, fold: &Fold) -> SmallVec<[Value; 2]> {
        let value = |(&bits, &item): (&u64, &KValue)| {
            let word = self.int(types::I64, bits as i64);
            self.word_to_value(self.dtype(item), word)
        };
        fold.neutral.iter().zip(&fold.items).map(value).collect()
    }

    /// Loads the n-th tuple of accumulators from a stack slot.
    fn load_tuple(&mut self, fold: &Fold, from: StackSlot, n: usize) -> Result<SmallVec<[Value; 2]>, KernelError> {
        let place = self.b.ins().stack_addr(types::I64, from, (8 * n * fold.items.len()) as i32);
        Ok(self.tuple_at(fold, place))
    }

    fn tuple_at(&mut self, fold: &Fold, place: Value) -> SmallVec<[Value; 2]> {
        let value = |(n, &item): (i32, &KValue)| {
            let word = self.b.ins().load(types::I64, plain(), place, 8 * n);
            self.word_to_value(self.dtype(item), word)
        };
        (0..).zip(&fold.items).map(value).collect()
    }

    fn store_tuple(&mut self, fold: &Fold, to: StackSlot, n: usize, values: &[Value]) {
        let place = self.b.ins().stack_addr(types::I64, to, (8 * n * fold.items.len()) as i32);
        self.store_tuple_at(fold, place, values);
    }

    fn store_tuple_at(&mut self, fold: &Fold, place: Value, values: &[Value]) {
        for (n, (&item, &value)) in (0..).zip(fold.items.iter().zip(values)) {
            let word = self.value_to_word(self.dtype(item), value);
            self.b.ins().store(plain(), word, place, 8 * n);
        }
    }
}

/// A counted loop: its block, its counter, and the end of the count, exclusive.
struct Count {
    again: Block,
    index: Value,
    to: Value,
}
