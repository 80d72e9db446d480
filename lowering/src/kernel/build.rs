//! Builds kernels. Levels follow from operands, equal pure instructions are shared (value numbering), and
//! trivial constants are folded.

use super::meaning::Meaning;
use super::{Binary, Buffer, Compare, Fold, KInst, KOp, KValue, Kernel, Part, Reference, Steps, Unary, ValueInfo};
use hashbrown::HashTable;
use rewright_ir::{DType, Loc, Scalar};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// The pure instructions of the kernel by their meaning: hashes and instruction numbers. Large kernels have
/// hundreds of thousands of instructions, and whole keys would take too much memory.
type Known = HashTable<(u64, u32)>;

/// The hash of an instruction's meaning and operands.
fn hash_of(meaning: Meaning, args: &[KValue], dtype: DType) -> u64 {
    let mut hasher = FxHasher::default();
    (meaning, args, dtype).hash(&mut hasher);
    hasher.finish()
}

/// An open section: instructions that share no values with those outside.
pub struct Section {
    begin: usize,
    known: Known,
}

/// Appends instructions to a kernel.
pub struct KernelBuilder {
    /// The kernel without its values and instructions, which the next fields hold.
    kernel: Kernel,
    values: Vec<ValueInfo>,
    insts: Vec<KInst>,
    loc: Loc,
    known: Known,
    /// The bits of constants.
    constants: FxHashMap<KValue, u64>,
}

impl KernelBuilder {
    /// A kernel with this number of loops.
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
    /// Sets the source location of the following instructions.
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
    /// Adds to the flag that the kernel writes a buffer.
    pub fn mark_written(&mut self, buffer: u32, written: bool) {
        self.kernel.buffers[buffer as usize].written |= written;
    }
    /// Whether the kernel writes a buffer.
    pub fn is_written(&self, buffer: u32) -> bool {
        self.kernel.buffers[buffer as usize].written
    }
    /// Adds a scalar parameter of a real dtype, and returns its value.
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
    /// Loads the element at the current point, or one part of a complex element.
    pub fn load(&mut self, buffer: u32, part: Part) -> KValue {
        let dtype = self.kernel.buffers[buffer as usize].dtype.real();
        self.push(KOp::Load(buffer, part), &[], dtype)
    }
    /// Stores the element at the current point.
    pub fn store(&mut self, buffer: u32, part: Part, value: KValue) {
        self.push_many(KOp::Store(buffer, part), &[value], &[]);
    }
    /// An operation with one operand.
    pub fn unary(&mut self, op: Unary, a: KValue) -> KValue {
        let dtype = self.dtype(a);
        self.push(KOp::Unary(op), &[a], dtype)
    }
    /// An operation on two operands of one dtype.
    pub fn binary(&mut self, op: Binary, a: KValue, b: KValue) -> KValue {
        let dtype = self.dtype(a);
        self.push(KOp::Binary(op), &[a, b], dtype)
    }
    /// A comparison; the result is a bool.
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
    /// A conversion; the value itself if it has the dtype.
    pub fn convert(&mut self, a: KValue, to: DType) -> KValue {
        if self.dtype(a) == to { a } else { self.push(KOp::Convert, &[a], to) }
    }
    /// The same bits as a value of another dtype of the same size.
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
    /// The value of an equal instruction, if there is one.
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
    /// The value of a binary operation, if it is computed already.
    pub fn known_binary(&self, op: Binary, a: KValue, b: KValue) -> Option<KValue> {
        let (meaning, dtype) = (KOp::Binary(op).meaning()?, self.dtype(a));
        self.find(hash_of(meaning, &[a, b], dtype), meaning, &[a, b], dtype)
    }
    /// Any instruction; returns the first of its results.
    pub fn push_many(&mut self, op: KOp, args: &[KValue], results: &[DType]) -> KValue {
        let own = op.own_level(&self.kernel.buffers);
        let level = args.iter().map(|a| self.values[a.0 as usize].level).fold(own, u32::max);
        let first = KValue(self.values.len() as u32);
        self.values.extend(results.iter().map(|&dtype| ValueInfo { dtype, level }));
        let inst = KInst { op, args: SmallVec::from_slice(args), results: results.len() as u32, first, loc: self.loc };
        self.insts.push(inst);
        first
    }
    /// A value that no instruction defines, with this level.
    pub fn undefined(&mut self, dtype: DType, level: u32) -> KValue {
        self.values.push(ValueInfo { dtype, level });
        KValue(self.values.len() as u32 - 1)
    }
    /// The instructions from this number on.
    pub(crate) fn insts_from(&self, first: usize) -> &[KInst] {
        &self.insts[first..]
    }
    /// Begins a section: its instructions share no values with those before or after it.
    pub fn begin_section(&mut self) -> Section {
        Section { begin: self.insts.len(), known: std::mem::take(&mut self.known) }
    }
    /// Ends a section, and returns its instructions' numbers.
    pub fn end_section(&mut self, section: Section) -> Range<usize> {
        self.known = section.known;
        section.begin..self.insts.len()
    }
    /// As [`end_section`](KernelBuilder::end_section), for instructions of the innermost level. Instructions
    /// of outer levels, such as constants, move before the section.
    pub fn end_inner_section(&mut self, section: Section) -> Range<usize> {
        let axes = self.kernel.axes;
        self.end_section_of(section, axes)
    }
    /// As [`end_section`](KernelBuilder::end_section), for stores and instructions of at least this level.
    pub fn end_section_of(&mut self, section: Section, level: usize) -> Range<usize> {
        let own = self.insts.split_off(section.begin);
        let is_inner = |inst: &KInst| inst.results == 0 || self.values[inst.first.0 as usize].level as usize >= level;
        let (inner, outer): (Vec<_>, Vec<_>) = own.into_iter().partition(is_inner);
        self.insts.extend(outer);
        let inner_section = Section { begin: self.insts.len(), ..section };
        self.insts.extend(inner);
        self.end_section(inner_section)
    }
    /// The first of these instructions that evaluates an op by its reference meaning.
    pub fn reference(&self, insts: Range<usize>) -> Option<&Reference> {
        self.insts[insts].iter().find_map(|inst| match &inst.op {
            KOp::Reference(reference) => Some(&**reference),
            _ => None,
        })
    }
    /// Makes the kernel a reduction along the innermost axis.
    pub fn fold(&mut self, fold: Fold) {
        self.kernel.fold = Some(fold);
    }
    /// Makes the innermost axis a sequential loop inside of the vector axis.
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
    /// The constant of a value, if it is one.
    pub fn as_constant(&self, value: KValue) -> Option<Scalar> {
        Some(Scalar::from_bits(self.dtype(value), (*self.constants.get(&value)?, 0)))
    }
    /// The kernel.
    pub fn finish(self) -> Kernel {
        Kernel { values: Arc::new(self.values), insts: Arc::new(self.insts), ..self.kernel }
    }
}
