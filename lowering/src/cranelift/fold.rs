//! Rows whose points are combined: a leaf of the row at a time, on as many lanes as the order has, and leaves as a tree.
//!
//! The tree is walked as [`Fold`](rewright_ir::expr::Fold) does, with a stack of what waits: how many points follow on the right, or what
//! the left part came to. Accumulators lie in the frame between the loops, and in registers within the vector loop. Where nothing has
//! been combined yet they hold the fold's neutral values.

use super::emit::{Emitter, clif, plain};
use super::lanes::{Vector, vector_of};
use super::unsupported;
use crate::kernel::{Fold, KValue, KernelError};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, StackSlot, Type, Value, types};
use rewright_ir::expr::Order;
use smallvec::SmallVec;

/// Places in the frame.
#[derive(Clone, Copy)]
struct Places {
    /// What waits to be combined: a word that says how many points follow, and the accumulators.
    stack: StackSlot,
    /// The accumulators of the part that was combined last.
    part: StackSlot,
    /// The accumulators of each lane, where lanes are not on vectors.
    lanes: StackSlot,
}

/// A row can be cut in two so often.
const DEPTH: usize = 64;

impl Emitter<'_> {
    /// The innermost loop, whose points are combined, and what follows it.
    pub fn fold_row(&mut self, fold: &Fold, extent: Value) -> Result<(), KernelError> {
        let count = fold.items.len();
        let (lanes, leaf) = match fold.order {
            Order::Sequential => (1, None),
            Order::Tree { lanes, leaf } => (lanes, Some(leaf)),
        };
        let places = Places {
            stack: self.slot(DEPTH * 8 * (1 + count))?,
            part: self.slot(8 * count)?,
            lanes: self.slot(8 * count * lanes)?,
        };
        let zero = self.int(types::I64, 0);
        let done = match leaf {
            None => {
                self.leaf(fold, places, 1, zero, extent)?;
                None
            }
            Some(leaf) => Some(self.tree(fold, places, (lanes, leaf), extent)?),
        };
        if let Some(done) = done {
            self.b.switch_to_block(done);
        }
        let totals = self.load_tuple(fold, places.part, 0)?;
        self.set(&fold.totals, &totals);
        for number in fold.after.clone() {
            self.scalar_inst(number, &self.kernel.insts[number])?;
        }
        Ok(())
    }

    /// The walk over the leaves of a row. Gives the block that it ends in.
    fn tree(
        &mut self,
        fold: &Fold,
        places: Places,
        (lanes, leaf): (usize, usize),
        extent: Value,
    ) -> Result<Block, KernelError> {
        let zero = self.int(types::I64, 0);
        let (count, entry) = (fold.items.len(), 8 * (1 + fold.items.len() as i64));
        // With the number of points, how much waits, and how many points are done.
        let descend = self.block([types::I64; 3]);
        let (cut, small) = (self.b.create_block(), self.b.create_block());
        let rise = self.block([types::I64; 2]);
        let (pop, done) = (self.b.create_block(), self.b.create_block());
        let (join, go_right) = (self.b.create_block(), self.b.create_block());

        self.jump(descend, &[extent, zero, zero]);
        self.b.switch_to_block(descend);
        let [points, waiting, at] = self.params_of(descend)?;
        let most = self.int(types::I64, leaf as i64);
        let large = self.icmp(IntCC::UnsignedGreaterThan, points, most);
        self.branch(large, (cut, &[]), (small, &[]));

        self.b.switch_to_block(cut);
        let half = self.b.ins().ushr_imm_u(points, 1);
        let left = self.b.ins().band_imm_s(half, -(lanes as i64));
        let right = self.b.ins().isub(points, left);
        let place = self.waiting(places.stack, waiting, entry);
        self.b.ins().store(plain(), right, place, 0);
        let more = self.b.ins().iadd_imm_s(waiting, 1);
        self.jump(descend, &[left, more, at]);

        self.b.switch_to_block(small);
        self.leaf(fold, places, lanes, at, points)?;
        let next = self.b.ins().iadd(at, points);
        self.jump(rise, &[waiting, next]);

        self.b.switch_to_block(rise);
        let [waiting, at] = self.params_of(rise)?;
        let nothing = self.icmp(IntCC::Equal, waiting, zero);
        self.branch(nothing, (done, &[]), (pop, &[]));

        self.b.switch_to_block(pop);
        let fewer = self.b.ins().iadd_imm_s(waiting, -1);
        let place = self.waiting(places.stack, fewer, entry);
        let points = self.b.ins().load(types::I64, plain(), place, 0);
        let was_left = self.icmp(IntCC::Equal, points, zero);
        self.branch(was_left, (join, &[]), (go_right, &[]));

        self.b.switch_to_block(go_right);
        self.b.ins().store(plain(), zero, place, 0);
        for n in 0..count as i32 {
            let part = self.b.ins().stack_addr(types::I64, places.part, 8 * n);
            let from = self.b.ins().load(types::I64, plain(), part, 0);
            self.b.ins().store(plain(), from, place, 8 * (n + 1));
        }
        self.jump(descend, &[points, waiting, at]);

        self.b.switch_to_block(join);
        let mut left = SmallVec::<[Value; 2]>::new();
        for (n, &item) in fold.items.iter().enumerate() {
            let word = self.b.ins().load(types::I64, plain(), place, 8 * (n as i32 + 1));
            left.push(self.word_to_value(self.dtype(item), word));
        }
        let right = self.load_tuple(fold, places.part, 0)?;
        let both = self.combine(fold, &left, &right)?;
        self.store_tuple(fold, places.part, 0, &both);
        self.jump(rise, &[fewer, at]);
        Ok(done)
    }

    fn params_of<const N: usize>(&mut self, block: Block) -> Result<[Value; N], KernelError> {
        self.b.block_params(block).try_into().map_err(|_| unsupported("a block with other parameters"))
    }

    fn waiting(&mut self, stack: StackSlot, number: Value, entry: i64) -> Value {
        let base = self.b.ins().stack_addr(types::I64, stack, 0);
        let distance = self.b.ins().imul_imm_s(number, entry);
        self.offset(base, distance)
    }

    /// Combines `points` points from `at` on, no more than a leaf, and leaves what they come to in the frame.
    fn leaf(&mut self, fold: &Fold, places: Places, lanes: usize, at: Value, points: Value) -> Result<(), KernelError> {
        let neutral = self.neutral(fold);
        self.store_tuple(fold, places.part, 0, &neutral);
        if lanes == 1 {
            return self.one_by_one(fold, places.part, 1, at, points);
        }
        let whole = self.b.ins().band_imm_s(points, -(lanes as i64));
        let (some, rest) = (self.b.create_block(), self.b.create_block());
        let zero = self.int(types::I64, 0);
        let few = self.icmp(IntCC::Equal, whole, zero);
        self.branch(few, (rest, &[]), (some, &[]));
        self.b.switch_to_block(some);
        let joined = if self.plan.lanes == lanes {
            self.on_vectors(fold, at, whole)?
        } else {
            for lane in 0..lanes {
                self.store_tuple(fold, places.lanes, lane, &neutral);
            }
            self.one_by_one(fold, places.lanes, lanes, at, whole)?;
            (0..lanes).map(|lane| self.load_tuple(fold, places.lanes, lane)).collect::<Result<Vec<_>, _>>()?
        };
        let joined = self.join(fold, joined)?;
        self.store_tuple(fold, places.part, 0, &joined);
        self.jump(rest, &[]);
        self.b.switch_to_block(rest);
        let (next, left) = (self.b.ins().iadd(at, whole), self.b.ins().isub(points, whole));
        self.one_by_one(fold, places.part, 1, next, left)
    }

    /// Combines neighbours until one is left.
    fn join(&mut self, fold: &Fold, mut lanes: Vec<SmallVec<[Value; 2]>>) -> Result<SmallVec<[Value; 2]>, KernelError> {
        while lanes.len() > 1 {
            lanes = lanes.chunks(2).map(|pair| self.combine(fold, &pair[0], &pair[1])).collect::<Result<_, _>>()?;
        }
        lanes.pop().ok_or_else(|| unsupported("a fold without lanes"))
    }

    /// Combines points onto the accumulators of one lane after the other.
    fn one_by_one(
        &mut self,
        fold: &Fold,
        place: StackSlot,
        lanes: usize,
        at: Value,
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
        let done_here = self.b.ins().isub(index, at);
        let lane = self.b.ins().band_imm_s(done_here, lanes as i64 - 1);
        let distance = self.b.ins().imul_imm_s(lane, 8 * fold.items.len() as i64);
        let base = self.b.ins().stack_addr(types::I64, place, 0);
        let address = self.offset(base, distance);
        let mut left = SmallVec::<[Value; 2]>::new();
        for (n, &item) in fold.items.iter().enumerate() {
            let word = self.b.ins().load(types::I64, plain(), address, 8 * n as i32);
            left.push(self.word_to_value(self.dtype(item), word));
        }
        let both = self.combine(fold, &left, &right)?;
        for (n, (&item, &value)) in fold.items.iter().zip(&both).enumerate() {
            let word = self.value_to_word(self.dtype(item), value);
            self.b.ins().store(plain(), word, address, 8 * n as i32);
        }
        self.close(open)?;
        self.pointers = before;
        self.jump(done, &[]);
        self.b.switch_to_block(done);
        Ok(())
    }

    /// Combines `points` points, whole rounds of lanes, in a vector loop. Gives what each lane came to.
    fn on_vectors(&mut self, fold: &Fold, at: Value, points: Value) -> Result<Vec<SmallVec<[Value; 2]>>, KernelError> {
        let axis = self.kernel.axes - 1;
        let Some(adjacent) = self.adjacent else { return Err(unsupported("a vector loop over rows in any order")) };
        let moving = self.moving(axis);
        let tile = self.block([types::I64; 2].into_iter().chain(moving.iter().map(|_| types::I64)));
        let (in_place, copied) = (self.b.create_block(), self.b.create_block());
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
        let lanes = self.plan.lanes;
        let elems: SmallVec<[Type; 2]> = fold.items.iter().map(|&item| clif(self.dtype(item))).collect();
        let mut start = vec![self.int(types::I64, 0)];
        for (n, &elem) in elems.iter().enumerate() {
            // A bool's accumulator is a mask of bytes.
            let bits = fold.neutral[n];
            let lane = if self.dtype(fold.items[n]).is_bool() { bits.wrapping_neg() } else { bits };
            let chunk = self.vector_constant(elem, lane)?;
            start.extend(std::iter::repeat_n(chunk, self.chunk_count(elem)?));
        }
        let kinds: Vec<Type> = start.iter().map(|&value| self.b.func.dfg.value_type(value)).collect();
        let (round, done) = (self.block(kinds.iter().copied()), self.block(kinds[1..].iter().copied()));
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
        let mut chunks = self.b.block_params(done).to_vec().into_iter();
        let mut joined: Vec<SmallVec<[Value; 2]>> = vec![SmallVec::new(); lanes];
        for (n, &elem) in elems.iter().enumerate() {
            let own = (0..self.chunk_count(elem)?).filter_map(|_| chunks.next()).collect();
            let (vector, bool) = (Vector { elem, chunks: own }, self.dtype(fold.items[n]).is_bool());
            for (lane, values) in joined.iter_mut().enumerate() {
                values.push(self.extract(&vector, lane, bool));
            }
        }
        self.group = None;
        Ok(joined)
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

    /// Combines two tuples, one scalar each.
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

    /// The n-th tuple of accumulators in the frame.
    fn load_tuple(&mut self, fold: &Fold, from: StackSlot, n: usize) -> Result<SmallVec<[Value; 2]>, KernelError> {
        let count = fold.items.len();
        let value = |(at, &item): (usize, &KValue)| {
            let place = self.b.ins().stack_addr(types::I64, from, 8 * (n * count + at) as i32);
            let word = self.b.ins().load(types::I64, plain(), place, 0);
            Ok(self.word_to_value(self.dtype(item), word))
        };
        fold.items.iter().enumerate().map(value).collect()
    }

    fn store_tuple(&mut self, fold: &Fold, to: StackSlot, n: usize, values: &[Value]) {
        let count = fold.items.len();
        for (at, (&item, &value)) in fold.items.iter().zip(values).enumerate() {
            let word = self.value_to_word(self.dtype(item), value);
            let place = self.b.ins().stack_addr(types::I64, to, 8 * (n * count + at) as i32);
            self.b.ins().store(plain(), word, place, 0);
        }
    }
}
