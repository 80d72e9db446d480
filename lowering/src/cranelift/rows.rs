//! The innermost loop: rows of points, in vectors as far as possible.
//!
//! A row whose elements are adjacent in every buffer is one tile. From other rows, tiles of a fixed number
//! of points are copied to contiguous areas on the stack, computed there, and copied back, so that one
//! vector loop serves all layouts. The last points of a row, fewer than a group, are computed one at a time
//! (epilogue).

use super::emit::Emitter;
use super::lanes::{Group, Held};
use super::unsupported;
use crate::kernel::KernelError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use rustc_hash::FxHashMap;
use std::rc::Rc;

impl Emitter<'_> {
    /// True if all buffers that vary along the innermost axis have adjacent elements; computed once for each
    /// call.
    pub fn adjacent(&mut self) -> Result<Value, KernelError> {
        let axis = self.kernel.axes - 1;
        let mut difference = self.int(types::I64, 0);
        for n in self.moving(axis) {
            let stride = self.stride(n, axis)?;
            let size = self.int(types::I64, self.kernel.buffers[n].dtype.size() as i64);
            let differs = self.b.ins().bxor(stride, size);
            difference = self.b.ins().bor(difference, differs);
        }
        let zero = self.int(types::I64, 0);
        Ok(self.icmp(IntCC::Equal, difference, zero))
    }

    /// Emits the innermost loop, from the row's first point on.
    pub fn row(&mut self, extent: Value) -> Result<(), KernelError> {
        let axis = self.kernel.axes - 1;
        let zero = self.int(types::I64, 0);
        let Some(adjacent) = self.adjacent else { return self.points(axis, zero, extent) };
        let moving = self.moving(axis);
        let lanes = self.plan.lanes as i64;
        let tile = self.block([types::I64; 2].into_iter().chain(moving.iter().map(|_| types::I64)));
        let (enough, rest) = (self.b.create_block(), self.block([types::I64]));
        let copied = if self.staging.points > 0 { self.block([types::I64]) } else { rest };

        let one_group = self.int(types::I64, lanes);
        let short = self.icmp(IntCC::UnsignedLessThan, extent, one_group);
        self.branch(short, (rest, &[zero]), (enough, &[]));
        self.b.switch_to_block(enough);
        let mut whole = vec![zero, extent];
        whole.extend(moving.iter().map(|&n| self.pointers[n]));
        self.branch(adjacent, (tile, &whole), (copied, &[zero]));

        if copied != rest {
            self.b.switch_to_block(copied);
            let start = self.b.block_params(copied)[0];
            let left = self.b.ins().isub(extent, start);
            let groups = self.b.ins().band_imm_s(left, -lanes);
            let most = self.int(types::I64, self.staging.points as i64);
            let count = self.b.ins().umin(groups, most);
            let mut part = vec![start, count];
            part.extend(self.stage_in(&moving, axis, start, count)?);
            self.jump(tile, &part);
        }
        let (start, done) = self.tile(tile, &moving)?;
        let next = self.b.ins().iadd(start, done);
        if copied == rest {
            self.jump(rest, &[next]);
        } else {
            let copy_back = self.b.create_block();
            self.branch(adjacent, (rest, &[next]), (copy_back, &[]));
            self.b.switch_to_block(copy_back);
            self.stage_out(&moving, axis, start, done)?;
            let left = self.b.ins().isub(extent, next);
            let short = self.icmp(IntCC::UnsignedLessThan, left, one_group);
            self.branch(short, (rest, &[next]), (copied, &[next]));
        }
        self.b.switch_to_block(rest);
        let start = self.b.block_params(rest)[0];
        self.rest(axis, start, extent, &moving)
    }

    /// Emits the epilogue: the points from `start` on, possibly none, one at a time.
    fn rest(&mut self, axis: usize, start: Value, extent: Value, moving: &[usize]) -> Result<(), KernelError> {
        let (some, done) = (self.b.create_block(), self.b.create_block());
        let any = self.icmp(IntCC::UnsignedLessThan, start, extent);
        self.branch(any, (some, &[]), (done, &[]));
        self.b.switch_to_block(some);
        let before = self.pointers.clone();
        for &n in moving {
            self.pointers[n] = self.element(n, axis, start)?;
        }
        self.points(axis, start, extent)?;
        self.pointers = before;
        self.jump(done, &[]);
        self.b.switch_to_block(done);
        Ok(())
    }

    /// The address of the element at an index along an axis.
    pub fn element(&mut self, buffer: usize, axis: usize, index: Value) -> Result<Value, KernelError> {
        let stride = self.stride(buffer, axis)?;
        let distance = self.b.ins().imul(index, stride);
        Ok(self.offset(self.pointers[buffer], distance))
    }

    /// Emits the vector loops over a tile: unrolled rounds as long as they fit, then single groups. Returns
    /// the tile's start and the number of points done.
    fn tile(&mut self, tile: Block, moving: &[usize]) -> Result<(Value, Value), KernelError> {
        let (start, count) = self.begin_tile(tile, moving)?;
        let mut done = self.int(types::I64, 0);
        if self.plan.groups > 1 {
            done = self.rounds(done, count, self.plan.groups)?;
        }
        done = self.rounds(done, count, 1)?;
        self.group = None;
        Ok((start, done))
    }

    /// Begins the vector loops over a tile. Returns the tile's start and its number of points.
    pub fn begin_tile(&mut self, tile: Block, moving: &[usize]) -> Result<(Value, Value), KernelError> {
        self.b.switch_to_block(tile);
        let params = self.b.block_params(tile).to_vec();
        let (start, count) = (params[0], params[1]);
        let mut bases = self.pointers.clone();
        for (&n, &base) in moving.iter().zip(&params[2..]) {
            bases[n] = base;
        }
        let lanes = self.plan.lanes;
        let zero = self.int(types::I64, 0);
        let first = self.b.create_block();
        let preheader = self.b.ins().jump(first, &[]);
        self.b.switch_to_block(first);
        self.group = Some(Group {
            lanes,
            held: Vec::new(),
            preheader,
            splats: FxHashMap::default(),
            constants: FxHashMap::default(),
            bases,
            start,
            index: zero,
            ahead: 0,
            addresses: FxHashMap::default(),
            scaled: FxHashMap::default(),
            pending: FxHashMap::default(),
        });
        Ok((start, count))
    }

    /// Emits a loop of rounds with `groups` groups, from point `from` of the tile on. Returns the first
    /// point that is not done.
    fn rounds(&mut self, from: Value, count: Value, groups: usize) -> Result<Value, KernelError> {
        let points = (self.plan.lanes * groups) as i64;
        let (round, done) = (self.block([types::I64]), self.block([types::I64]));
        let ahead = self.b.ins().iadd_imm_s(from, points);
        let fits = self.icmp(IntCC::UnsignedLessThanOrEqual, ahead, count);
        self.branch(fits, (round, &[from]), (done, &[from]));
        self.b.switch_to_block(round);
        let index = self.b.block_params(round)[0];
        self.begin_round(index)?;
        for number in 0..groups {
            self.one_group(number)?;
        }
        let next = self.b.ins().iadd_imm_s(index, points);
        let ahead = self.b.ins().iadd_imm_s(index, 2 * points);
        let fits = self.icmp(IntCC::UnsignedLessThanOrEqual, ahead, count);
        self.branch(fits, (round, &[next]), (done, &[next]));
        self.b.switch_to_block(done);
        Ok(self.b.block_params(done)[0])
    }

    /// Begins a round at a point of the tile.
    pub fn begin_round(&mut self, index: Value) -> Result<(), KernelError> {
        let group = self.group()?;
        group.index = index;
        group.addresses.clear();
        group.scaled.clear();
        Ok(())
    }

    /// Emits the instructions of the innermost level for one group of a round.
    pub fn one_group(&mut self, number: usize) -> Result<(), KernelError> {
        let kernel = self.kernel;
        let (lanes, values) = (self.plan.lanes, kernel.values.len());
        let group = self.group()?;
        group.ahead = number * lanes;
        group.held.clear();
        group.held.resize(values, Held::default());
        let levels = Rc::clone(&self.levels);
        let Some(inner) = levels.last() else { return Err(unsupported("a kernel without levels")) };
        for &number in inner {
            self.group_inst(number, &kernel.insts[number])?;
        }
        self.flush_all()
    }
}
