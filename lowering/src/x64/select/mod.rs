//! Instruction selection: translates each instruction of a kernel to machine instructions on virtual
//! registers.
//!
//! A value is one virtual register with the lanes of all points of a group, each as wide as its dtype. A
//! bool is one bit for each lane in a mask register with AVX-512. With AVX2 it is a vector of 0 and -1, with
//! lanes as wide as the operands that it was computed from, and is resized for users with other lanes.

mod across;
mod bits;
mod call;
mod compare;
mod convert;
mod count;
mod defer;
pub mod divide;
mod emit;
mod float;
pub mod fold;
mod forms;
mod integer;
mod pairs;
mod parts;
mod row;
pub mod steps;
mod widths;

use super::bytes::ByteSums;
use super::codes::{self, Form};
use super::frame::Frame;
use super::machine::{Class, Inst, Origin, Segment, Uniform, V, Width};
use super::pool::Pool;
use super::round_plan::RoundPlan;
use super::stages::Stages;
use super::unsupported;
use crate::kernel::{KInst, KOp, KValue, Kernel, KernelError, Part};
use forms::Forms;
use pairs::Loaded;
use rewright_ir::DType;
pub use row::{Row, Rows};
use rustc_hash::FxHashMap;

/// The form of a value in a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Val {
    /// Lanes as wide as the dtype.
    Lanes(V),
    /// A bool in a mask register.
    Bits(V),
    /// A bool as 0 and -1 in lanes of this number of bytes.
    Flags(V, usize),
    /// A constant bool.
    Always(bool),
}

/// The frame offset and form of a value of an outer level.
#[derive(Clone, Copy)]
struct Kept {
    at: u32,
    val: Val,
}

/// The selector: kernel-wide state, and the state of the present segment.
pub struct Selector<'a> {
    pub kernel: &'a Kernel,
    pub rows: &'a Rows,
    pub schedule: RoundPlan,
    pub pool: Pool,
    pub frame: &'a mut Frame,
    live: &'a [bool],
    sums: &'a ByteSums,
    stages: &'a Stages,
    /// The instruction that defines each value.
    made_by: Vec<u32>,
    /// The number of uses of each value.
    uses: Vec<u32>,
    /// Whether a level inside of the value's own one uses it, so that it is kept in the frame.
    leaves: Vec<bool>,
    /// Values that are computed at their uses, or as part of the using instruction.
    deferred: Vec<bool>,
    kept: Vec<Option<Kept>>,
    /// The instructions of the reduction loop's body.
    inner: Vec<usize>,
    /// Values that stand for others.
    stands_for: FxHashMap<KValue, KValue>,
    /// Lanes are rows, all at the same point of their rows.
    beside: bool,
    // State of the present segment:
    seg: Segment,
    level: usize,
    number: u32,
    vals: Forms,
    /// Constants by offset in the pool, element size with width, and whether it is a mask.
    constants: FxHashMap<(u32, u8, bool), V>,
    // With AVX2, memoized by register and lane size, since one pool constant may have registers of several
    // lane sizes:
    /// The two factors of 2^k, by k.
    factors: FxHashMap<(V, usize), (V, V)>,
    /// The bits of a number scaled to a normal one, and the flags of the lanes that were subnormal, by
    /// number.
    lifted: FxHashMap<(V, usize), (V, V)>,
    /// Values derived from a table index.
    of_indices: FxHashMap<(V, usize, Option<u8>), V>,
    /// Loads whose values are not used yet.
    waiting: Vec<KValue>,
    /// The loaded elements of several parts, by row.
    loads: FxHashMap<u32, Loaded>,
    /// A part of a complex element, by row and value, that waits to be stored with the other part.
    unpaired: Option<(u32, Part, KValue)>,
}

impl<'a> Selector<'a> {
    /// A selector for a kernel.
    pub fn new(
        kernel: &'a Kernel,
        (live, sums): (&'a [bool], &'a ByteSums),
        (rows, stages): (&'a Rows, &'a Stages),
        schedule: RoundPlan,
        frame: &'a mut Frame,
    ) -> Selector<'a> {
        let count = kernel.values.len();
        let (mut made_by, mut uses, mut leaves) = (vec![u32::MAX; count], vec![0; count], vec![false; count]);
        for (n, inst) in kernel.insts.iter().enumerate().filter(|(n, _)| live[*n]) {
            (0..inst.results).for_each(|r| made_by[(inst.first.0 + r) as usize] = n as u32);
            let after = kernel.fold.as_ref().is_some_and(|fold| fold.after.contains(&n));
            let level = if kernel.is_after_steps(n) { kernel.lanes_level() } else { kernel.level(inst) };
            for a in &inst.args {
                uses[a.0 as usize] += 1;
                // The epilogue of a row runs one loop further out, but is a segment of its own.
                leaves[a.0 as usize] |= after || kernel.values[a.0 as usize].level < level;
            }
        }
        for (item, right) in kernel.fold.iter().flat_map(|fold| fold.items.iter().zip(&fold.right)) {
            uses[item.0 as usize] += uses[right.0 as usize].max(1);
            leaves[item.0 as usize] |= (kernel.values[item.0 as usize].level as usize) < kernel.axes;
        }
        for value in kernel.steps.iter().flat_map(|steps| steps.first.iter().chain(&steps.after)) {
            uses[value.0 as usize] += 1;
            leaves[value.0 as usize] |= kernel.values[value.0 as usize].level < kernel.lanes_level();
        }
        let mut deferred = defer::deferred(kernel, &made_by, &uses, &leaves);
        // A value that other stages use is computed in its own stage.
        deferred.iter_mut().zip(&stages.places).for_each(|(deferred, place)| *deferred &= place.is_none());
        Selector {
            kernel,
            rows,
            schedule,
            pool: Pool::default(),
            frame,
            live,
            sums,
            stages,
            made_by,
            uses,
            leaves,
            deferred,
            kept: vec![None; count],
            inner: Vec::new(),
            stands_for: FxHashMap::default(),
            beside: false,
            seg: Segment::default(),
            level: 0,
            number: 0,
            vals: Forms::new(count),
            constants: FxHashMap::default(),
            factors: FxHashMap::default(),
            lifted: FxHashMap::default(),
            of_indices: FxHashMap::default(),
            waiting: Vec::new(),
            loads: FxHashMap::default(),
            unpaired: None,
        }
    }

    /// Selects the segments of all levels, the outermost first. The innermost level has one segment for each
    /// stage, except in reductions, which [`fold`](Self::fold) selects.
    pub fn segments(&mut self) -> Result<Vec<Segment>, KernelError> {
        let axes = self.kernel.axes;
        let mut levels = vec![Vec::new(); self.kernel.lanes_level() as usize];
        for (n, inst) in self.kernel.insts.iter().enumerate().filter(|(n, _)| self.live[*n]) {
            if let Some(list) = levels.get_mut(self.kernel.level(inst) as usize)
                && !self.kernel.is_of_fold(n)
            {
                list.push(n);
            }
        }
        let mut segments = Vec::with_capacity(axes + self.stages.list.len());
        for (level, insts) in levels.into_iter().enumerate() {
            self.begin(level);
            self.insts(insts)?;
            segments.push(self.end());
        }
        for stage in &self.stages.list {
            if self.kernel.steps.is_some() {
                break;
            }
            if self.kernel.fold.is_some() {
                self.inner.clone_from(stage);
                continue;
            }
            self.begin(axes);
            self.insts(stage.iter().copied())?;
            segments.push(self.end());
        }
        Ok(segments)
    }

    /// Begins the segment of a level.
    fn begin(&mut self, level: usize) {
        self.level = level;
        self.vals.clear();
        self.constants.clear();
        self.factors.clear();
        self.lifted.clear();
        self.of_indices.clear();
        self.waiting.clear();
        self.loads.clear();
    }

    fn insts(&mut self, numbers: impl IntoIterator<Item = usize>) -> Result<(), KernelError> {
        for n in numbers {
            if self.live[n] {
                self.number = n as u32;
                self.inst(&self.kernel.insts[n])?;
            }
        }
        Ok(())
    }

    /// Ends a segment.
    fn end(&mut self) -> Segment {
        std::mem::take(&mut self.seg)
    }

    fn is_inner(&self) -> bool {
        self.level >= self.kernel.lanes_level() as usize
    }
    fn evex(&self) -> bool {
        self.schedule.level.is_evex()
    }
    /// The width of a register with lanes of `size` bytes.
    fn width(&self, size: usize) -> Width {
        Width::of(self.schedule.lanes * size)
    }

    fn inst(&mut self, inst: &KInst) -> Result<(), KernelError> {
        if let KOp::Store(buffer, part) = inst.op {
            return self.store(buffer, part, inst.args[0]);
        }
        if inst.results > 0 && self.deferred[inst.first.0 as usize] {
            return Ok(());
        }
        let val = self.computed(inst)?;
        if let Some(val) = val {
            self.define(inst.first, val);
        }
        Ok(())
    }

    /// Emits the computation of an instruction's result; returns `None` for results that are materialized at
    /// their first use.
    fn computed(&mut self, inst: &KInst) -> Result<Option<Val>, KernelError> {
        let to = self.kernel.dtype(inst.first);
        let args = &inst.args;
        let val = match &inst.op {
            KOp::Const(_) | KOp::Store(..) => return Ok(None),
            KOp::Param(n) => self.uniform(Uniform::Param(*n), to)?,
            KOp::Index(axis) => self.index(*axis)?,
            KOp::Load(buffer, part) => {
                let (row, number) = self.rows.place(*buffer, *part)?;
                if self.row_between(inst.first).is_some() {
                    return Ok(Some(Val::Lanes(self.part(row, number))));
                }
                if self.is_inner() {
                    self.waiting.push(inst.first);
                    return Ok(None);
                }
                self.uniform(Uniform::Element(row, *part), to)?
            }
            KOp::Unary(op) if to.is_float() => self.float_unary(*op, to, args[0])?,
            KOp::Unary(op) => self.int_unary(*op, to, args[0])?,
            KOp::Binary(op) if to.is_float() => self.float_binary(*op, to, args[0], args[1])?,
            KOp::Binary(op) if to.is_bool() => self.bool_binary(*op, args[0], args[1])?,
            KOp::Binary(op) => self.int_binary(*op, to, args[0], args[1])?,
            KOp::Compare(op) => self.compare(*op, self.kernel.dtype(args[0]), args[0], args[1])?,
            KOp::Select => self.select(to, args[0], args[1], args[2])?,
            KOp::Convert if self.sums.items.contains(&(self.number as usize)) => self.sum_bytes(args[0])?,
            KOp::Convert => self.convert(self.kernel.dtype(args[0]), to, args[0])?,
            KOp::Bitcast => self.bitcast(self.kernel.dtype(args[0]), to, args[0])?,
            KOp::Fma => self.fma(to, args)?,
            KOp::Choose(table) => self.choose(table, to.size(), args[0])?,
            KOp::Math(call) => self.math(call, args, to.size())?,
            KOp::MathWhere(call) => self.math_where(call, args, to.size())?,
            KOp::Reference(r) => {
                return Err(unsupported(format!("`{}` is computed by its reference meaning", r.op.0.name)));
            }
        };
        Ok(Some(val))
    }

    /// Defines the value. If inner levels use it, it gets a place in the frame.
    fn define(&mut self, value: KValue, val: Val) {
        let n = value.0 as usize;
        self.vals.set(value, val);
        if let (Some(row), Val::Lanes(src)) = (self.row_between(value), val) {
            self.emit(Inst::Store { row, nth: 0, src });
        }
        if !self.leaves[n] {
            return;
        }
        let at = match val {
            Val::Always(_) => 0,
            Val::Lanes(v) | Val::Bits(v) | Val::Flags(v, _) => match self.seg.info(v).home {
                Some(at) => at,
                None => self.keep(v),
            },
        };
        self.kept[n] = Some(Kept { at, val });
    }

    /// The row that carries a value from its stage to later stages. These rows are numbered after those of
    /// the kernel.
    fn row_between(&self, value: KValue) -> Option<u32> {
        self.stages.places[value.0 as usize].map(|place| self.rows.list.len() as u32 + place)
    }

    /// The frame offset of a value; allocates one if needed.
    fn keep(&mut self, v: V) -> u32 {
        let info = *self.seg.info(v);
        if let Origin::Home(at) = info.origin {
            return at;
        }
        let at = self.frame.place(match info.class {
            Class::Vector(width) => width.bytes(),
            Class::Mask => 8,
        });
        match info.origin {
            Origin::Computed => self.seg.infos[v.0 as usize].home = Some(at),
            _ => self.copy_home(v, at),
        }
        at
    }

    /// Materializes a constant so that it has a home in the frame.
    fn copy_home(&mut self, v: V, at: u32) {
        let copy = self.copied(v);
        self.seg.infos[copy.0 as usize].home = Some(at);
    }

    /// Copies a register by `x & x`.
    fn copied(&mut self, v: V) -> V {
        let class = self.seg.info(v).class;
        let copy = self.seg.fresh(class, Origin::Computed);
        let (form, width): (&'static Form, Width) = match class {
            Class::Mask => (&codes::KAND, Width::Z),
            Class::Vector(width) => (&codes::AND_D, width),
        };
        self.push(form, width, copy, &[v, v]);
        copy
    }

    /// The form of a value in this segment.
    fn val(&mut self, value: KValue) -> Result<Val, KernelError> {
        let value = self.real(value);
        let n = value.0 as usize;
        if let Some(val) = self.vals.get(value) {
            return Ok(val);
        }
        let dtype = self.kernel.dtype(value);
        let val = match (self.made_by(value), self.kept[n]) {
            (Some(KOp::Const(bits)), _) if dtype.is_bool() => Val::Always(*bits != 0),
            (Some(KOp::Const(bits)), _) => Val::Lanes(self.constant(*bits, dtype.size())),
            (_, Some(kept)) => {
                let home = |s: &mut Self, class| s.seg.fresh(class, Origin::Home(kept.at));
                match kept.val {
                    Val::Lanes(_) => Val::Lanes(home(self, Class::Vector(self.width(dtype.size())))),
                    Val::Bits(_) => Val::Bits(home(self, Class::Mask)),
                    Val::Flags(_, size) => Val::Flags(home(self, Class::Vector(self.width(size))), size),
                    Val::Always(known) => Val::Always(known),
                }
            }
            (Some(KOp::Load(buffer, part)), None) if self.is_inner() && self.row_between(value).is_none() => {
                let (row, number) = self.rows.place(*buffer, *part)?;
                if !self.varies(*buffer) {
                    self.uniform(Uniform::Element(row, *part), dtype)?
                } else if self.rows.list[row as usize].parts > 1 {
                    Val::Lanes(self.part(row, number))
                } else {
                    let dst = self.fresh(dtype.size());
                    self.emit(Inst::Load { row, nth: 0, dst });
                    self.loaded(dtype, dst)?
                }
            }
            _ if self.row_between(value).is_some() => {
                let dst = self.fresh(dtype.size());
                let row = self.row_between(value).unwrap_or_default();
                self.emit(Inst::Load { row, nth: 0, dst });
                Val::Lanes(dst)
            }
            _ => {
                let inst = self.deferred_inst(value);
                let val = inst.map(|inst| self.computed(inst)).transpose()?.flatten();
                val.ok_or_else(|| unsupported("a value that is not computed before it is used"))?
            }
        };
        self.vals.set(value, val);
        Ok(val)
    }

    /// The lanes of a value that is not a bool.
    fn lanes(&mut self, value: KValue) -> Result<V, KernelError> {
        match self.val(value)? {
            Val::Lanes(v) => Ok(v),
            _ => Err(unsupported("a bool where lanes are wanted")),
        }
    }

    /// The row of a load with a single use, which the using instruction can read as a memory operand.
    fn foldable(&self, value: KValue, folds_size: usize) -> Result<Option<u32>, KernelError> {
        let value = self.real(value);
        let n = value.0 as usize;
        let size = self.kernel.dtype(value).size();
        let whole = self.schedule.lanes * size == self.width(size).bytes() && folds_size == size;
        if !whole || self.vals.get(value).is_some() || self.uses[n] != 1 || !self.is_inner() || self.kept[n].is_some() {
            return Ok(None);
        }
        match self.made_by(value) {
            Some(KOp::Load(buffer, part)) if !self.kernel.dtype(value).is_bool() && self.varies(*buffer) => {
                let row = self.rows.of(*buffer, *part)?;
                Ok(Some(row).filter(|&row| self.rows.list[row as usize].parts == 1))
            }
            _ => Ok(None),
        }
    }

    /// As [`foldable`](Self::foldable), if it is wanted: the load becomes part of the next instruction and
    /// no longer waits.
    fn fold_row(&mut self, value: KValue, folds_size: usize, wanted: bool) -> Result<Option<u32>, KernelError> {
        let row = if wanted { self.foldable(value, folds_size)? } else { None };
        if row.is_some() {
            let own = self.real(value);
            self.waiting.retain(|waiting| *waiting != own);
        }
        Ok(row)
    }

    /// True if a buffer varies along the vector axis.
    fn varies(&self, buffer: u32) -> bool {
        self.kernel.vector_axis().is_some_and(|axis| self.kernel.buffers[buffer as usize].varies[axis])
    }

    /// The value that this one stands for, or itself.
    fn real(&self, value: KValue) -> KValue {
        self.stands_for.get(&value).copied().unwrap_or(value)
    }

    /// The operation that defines a value; `None` for the inputs of a reduction's combination.
    fn made_by(&self, value: KValue) -> Option<&'a KOp> {
        self.kernel.insts.get(self.made_by[value.0 as usize] as usize).map(|inst| &inst.op)
    }

    fn is_constant(&self, value: KValue) -> bool {
        let value = self.real(value);
        matches!(self.made_by(value), Some(KOp::Const(_)))
    }

    fn is_zero(&self, value: KValue) -> bool {
        matches!(self.made_by(self.real(value)), Some(KOp::Const(0)))
    }

    /// Converts loaded bytes to bools; other dtypes are kept.
    fn loaded(&mut self, dtype: DType, v: V) -> Result<Val, KernelError> {
        if dtype.is_bool() { self.not_zero(DType::U8, v) } else { Ok(Val::Lanes(v)) }
    }

    fn uniform(&mut self, from: Uniform, dtype: DType) -> Result<Val, KernelError> {
        let dst = self.fresh(dtype.size());
        self.emit(Inst::Broadcast { from, size: dtype.size(), dst });
        self.loaded(dtype, dst)
    }

    fn index(&mut self, axis: u32) -> Result<Val, KernelError> {
        if Some(axis as usize) != self.kernel.vector_axis() || !self.is_inner() {
            return self.uniform(Uniform::Counter(axis), DType::I64);
        }
        let first = self.fresh(8);
        self.emit(Inst::First { dst: first });
        if self.beside {
            return Ok(Val::Lanes(first));
        }
        let steps: Vec<u8> = (0..self.schedule.lanes as u64).flat_map(u64::to_le_bytes).collect();
        let steps = self.whole(&steps);
        Ok(Val::Lanes(self.op2(&codes::ADD_Q, 8, first, steps)))
    }

    fn store(&mut self, buffer: u32, part: Part, value: KValue) -> Result<(), KernelError> {
        // Loads precede the store in program order and may read the same element.
        for waiting in std::mem::take(&mut self.waiting) {
            self.val(waiting)?;
        }
        let row = self.rows.of(buffer, part)?;
        if self.rows.list[row as usize].parts > 1 {
            return self.store_part(row, part, value);
        }
        let src = match self.val(value)? {
            Val::Lanes(v) => v,
            _ => self.bool_to(DType::U8, value)?,
        };
        self.loads.clear();
        self.emit(Inst::Store { row, nth: 0, src });
        Ok(())
    }
}
