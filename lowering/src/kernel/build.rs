//! Building kernels: levels follow from operands, equal pure instructions are one, constants fold where they trivially can.

use super::meaning::Meaning;
use super::{Binary, Buffer, Compare, Fold, KInst, KOp, KValue, Kernel, Part, Reference, Steps, Unary, ValueInfo};
use hashbrown::HashTable;
use rewright_ir::{DType, Loc, Scalar};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// Pure instructions by what they compute: the numbers of instructions of the kernel, with their hashes. Large kernels have
/// hundreds of thousands, and what a table of whole keys takes is mostly memory.
type Known = HashTable<(u64, u32)>;

/// The hash of what an instruction computes.
fn hash_of(meaning: Meaning, args: &[KValue], dtype: DType) -> u64 {
    let mut hasher = FxHasher::default();
    (meaning, args, dtype).hash(&mut hasher);
    hasher.finish()
}

/// Instructions of a kernel that are by themselves, not yet ended.
pub struct Section {
    begin: usize,
    known: Known,
}

/// Appends instructions to a kernel.
pub struct KernelBuilder {
    /// Without values and instructions, which are the next ones.
    kernel: Kernel,
    values: Vec<ValueInfo>,
    insts: Vec<KInst>,
    loc: Loc,
    known: Known,
    /// The bits of constants.
    constants: FxHashMap<KValue, u64>,
}

impl KernelBuilder {
    /// A kernel with so many loops.
    pub fn new(axes: usize) -> Self {
        KernelBuilder {
            kernel: Kernel { axes, ..Kernel::default() },
            values: Vec::new(),
            insts: Vec::new(),
            loc: Loc::default(),
            known: Known::default(),
            constants: FxHashMap::default(),
        }
    }
    /// Where the instructions that follow were written.
    pub fn set_loc(&mut self, loc: Loc) {
        self.loc = loc;
    }
    /// The number of loops.
    pub fn axes(&self) -> usize {
        self.kernel.axes
    }
    /// Adds a buffer.
    pub fn buffer(&mut self, buffer: Buffer) -> u32 {
        self.kernel.buffers.push(buffer);
        self.kernel.buffers.len() as u32 - 1
    }
    /// Marks a buffer as one that the kernel writes, if it does.
    pub fn mark_written(&mut self, buffer: u32, written: bool) {
        self.kernel.buffers[buffer as usize].written |= written;
    }
    /// Whether a buffer is one that the kernel writes.
    pub fn is_written(&self, buffer: u32) -> bool {
        self.kernel.buffers[buffer as usize].written
    }
    /// Adds a scalar parameter of a real dtype, and reads it.
    pub fn param(&mut self, dtype: DType) -> KValue {
        self.kernel.params.push(dtype);
        let index = self.kernel.params.len() as u32 - 1;
        self.push(KOp::Param(index), &[], dtype)
    }
    /// A real constant.
    pub fn constant(&mut self, scalar: Scalar) -> KValue {
        let value = self.push(KOp::Const(scalar.bits().0), &[], scalar.dtype());
        self.constants.insert(value, scalar.bits().0);
        value
    }
    /// The index along an axis, `i64`.
    pub fn index(&mut self, axis: u32) -> KValue {
        self.push(KOp::Index(axis), &[], DType::I64)
    }
    /// Loads the element at the current point; of a complex buffer one part.
    pub fn load(&mut self, buffer: u32, part: Part) -> KValue {
        let dtype = self.kernel.buffers[buffer as usize].dtype.real();
        self.push(KOp::Load(buffer, part), &[], dtype)
    }
    /// Stores the element at the current point.
    pub fn store(&mut self, buffer: u32, part: Part, value: KValue) {
        self.push_many(KOp::Store(buffer, part), &[value], &[]);
    }
    /// One operand.
    pub fn unary(&mut self, op: Unary, a: KValue) -> KValue {
        let dtype = self.dtype(a);
        self.push(KOp::Unary(op), &[a], dtype)
    }
    /// Two operands of one dtype.
    pub fn binary(&mut self, op: Binary, a: KValue, b: KValue) -> KValue {
        let dtype = self.dtype(a);
        self.push(KOp::Binary(op), &[a, b], dtype)
    }
    /// A comparison, bool.
    pub fn compare(&mut self, op: Compare, a: KValue, b: KValue) -> KValue {
        self.push(KOp::Compare(op), &[a, b], DType::Bool)
    }
    /// `condition ? a : b`.
    pub fn select(&mut self, condition: KValue, a: KValue, b: KValue) -> KValue {
        if a == b {
            return a;
        }
        let dtype = self.dtype(a);
        self.push(KOp::Select, &[condition, a, b], dtype)
    }
    /// A conversion; of the same dtype it is nothing.
    pub fn convert(&mut self, a: KValue, to: DType) -> KValue {
        if self.dtype(a) == to { a } else { self.push(KOp::Convert, &[a], to) }
    }
    /// The same bits as another dtype of the same size.
    pub fn bitcast(&mut self, a: KValue, to: DType) -> KValue {
        match self.constants.get(&a) {
            Some(&bits) => self.constant(Scalar::from_bits(to, (bits, 0))),
            None => self.push(KOp::Bitcast, &[a], to),
        }
    }
    /// Any instruction with one result.
    pub fn push(&mut self, op: KOp, args: &[KValue], dtype: DType) -> KValue {
        let Some(meaning) = op.meaning() else { return self.push_many(op, args, &[dtype]) };
        let hash = hash_of(meaning, args, dtype);
        if let Some(known) = self.find(hash, meaning, args, dtype) {
            return known;
        }
        let number = self.insts.len() as u32;
        let first = self.push_many(op, args, &[dtype]);
        self.known.insert_unique(hash, (hash, number), |&(hash, _)| hash);
        first
    }
    /// The value that is computed so already.
    fn find(&self, hash: u64, meaning: Meaning, args: &[KValue], dtype: DType) -> Option<KValue> {
        let same = |&(known, number): &(u64, u32)| {
            let inst = &self.insts[number as usize];
            known == hash
                && *inst.args == *args
                && self.values[inst.first.0 as usize].dtype == dtype
                && inst.op.meaning() == Some(meaning)
        };
        self.known.find(hash, same).map(|&(_, number)| self.insts[number as usize].first)
    }
    /// What two operands come to, if that is computed already.
    pub fn known_binary(&self, op: Binary, a: KValue, b: KValue) -> Option<KValue> {
        let (meaning, dtype) = (KOp::Binary(op).meaning()?, self.dtype(a));
        self.find(hash_of(meaning, &[a, b], dtype), meaning, &[a, b], dtype)
    }
    /// Any instruction; gives the first of its results.
    pub fn push_many(&mut self, op: KOp, args: &[KValue], results: &[DType]) -> KValue {
        let own = op.own_level(&self.kernel.buffers);
        let level = args.iter().map(|a| self.values[a.0 as usize].level).fold(own, u32::max);
        let first = KValue(self.values.len() as u32);
        self.values.extend(results.iter().map(|&dtype| ValueInfo { dtype, level }));
        let inst = KInst { op, args: SmallVec::from_slice(args), results: results.len() as u32, first, loc: self.loc };
        self.insts.push(inst);
        first
    }
    /// A value that no instruction defines, of the level of so many loops.
    pub fn undefined(&mut self, dtype: DType, level: u32) -> KValue {
        self.values.push(ValueInfo { dtype, level });
        KValue(self.values.len() as u32 - 1)
    }
    /// The instructions from this number on.
    pub(crate) fn insts_from(&self, first: usize) -> &[KInst] {
        &self.insts[first..]
    }
    /// Begins instructions by themselves: nothing is shared with those before them or after.
    pub fn begin_section(&mut self) -> Section {
        Section { begin: self.insts.len(), known: std::mem::take(&mut self.known) }
    }
    /// Ends them, and gives their numbers.
    pub fn end_section(&mut self, section: Section) -> Range<usize> {
        self.known = section.known;
        section.begin..self.insts.len()
    }
    /// The same of instructions of the innermost level: those of outer ones, as constants, are put before them.
    pub fn end_inner_section(&mut self, section: Section) -> Range<usize> {
        let axes = self.kernel.axes;
        self.end_section_of(section, axes)
    }
    /// The same of instructions of at least this level, and stores.
    pub fn end_section_of(&mut self, section: Section, level: usize) -> Range<usize> {
        let own = self.insts.split_off(section.begin);
        let is_inner = |inst: &KInst| inst.results == 0 || self.values[inst.first.0 as usize].level as usize >= level;
        let (inner, outer): (Vec<_>, Vec<_>) = own.into_iter().partition(is_inner);
        self.insts.extend(outer);
        let inner_section = Section { begin: self.insts.len(), ..section };
        self.insts.extend(inner);
        self.end_section(inner_section)
    }
    /// The first of these instructions that computes an op by its reference meaning.
    pub fn reference(&self, insts: Range<usize>) -> Option<&Reference> {
        self.insts[insts].iter().find_map(|inst| match &inst.op {
            KOp::Reference(reference) => Some(&**reference),
            _ => None,
        })
    }
    /// Combines the points of the innermost axis.
    pub fn fold(&mut self, fold: Fold) {
        self.kernel.fold = Some(fold);
    }
    /// Makes the innermost axis a loop in order inside of the vector axis.
    pub fn steps(&mut self, steps: Steps) {
        self.kernel.steps = Some(steps);
    }
    /// The number of values.
    pub fn values(&self) -> u32 {
        self.values.len() as u32
    }
    /// A value's level.
    pub fn level(&self, value: KValue) -> usize {
        self.values[value.0 as usize].level as usize
    }
    /// A value's dtype.
    pub fn dtype(&self, value: KValue) -> DType {
        self.values[value.0 as usize].dtype
    }
    /// The constant that a value is, if it is one.
    pub fn as_constant(&self, value: KValue) -> Option<Scalar> {
        Some(Scalar::from_bits(self.dtype(value), (*self.constants.get(&value)?, 0)))
    }
    /// The kernel.
    pub fn finish(self) -> Kernel {
        Kernel { values: Arc::new(self.values), insts: Arc::new(self.insts), ..self.kernel }
    }
}
