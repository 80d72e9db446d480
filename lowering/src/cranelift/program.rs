//! Loop programs to Cranelift IR, one point at a time; nests are calls of kernels.
//!
//! Local buffers of rank 0 are variables, which the frontend makes SSA values of. The address of an element
//! of the caller is a base plus a term for each loop around the access; [`Prefix`] hoists the sum of the
//! terms of outer loops to these loops.

use super::emit::{ArgValues, Emitter, clif, fixed, plain};
use super::memory::part_offset;
use super::nest::NestFrame;
use super::unsupported;
use crate::kernel::{CompiledKernel, KInst, KOp, KValue, Kernel, KernelArgs, KernelError, Part, Status};
use crate::program::{Condition, For, If, Linear, Location, Places, Program, Stmt, Storage, count, each_use};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;
use rewright_ir::DType;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::mem::offset_of;

/// One number for each dim of a buffer.
pub(super) type PerDim = SmallVec<[i64; 3]>;

/// The part of an address that is fixed within a loop: the constant positions, and for each loop around the
/// access whose index is in a position its coefficients, outermost first.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Prefix {
    buffer: u32,
    constant: PerDim,
    loops: SmallVec<[(KValue, PerDim); 3]>,
}

/// A prefix that ends with a loop, its address outside of the loop, and its step.
type Stepped = (Prefix, Value, Value);

/// The most bytes of local buffers on the stack: threads have small stacks, and programs may be called from
/// any depth. More are in scratch memory.
const MOST_ON_STACK: usize = 4 << 10;

/// The most bytes of scratch memory.
const MOST_SCRATCH: usize = 256 << 20;

/// The most addresses that a loop carries: each takes a register, and another one for its step.
const MOST_CARRIED: usize = 4;

/// The most bytes between an element and the address that it shares with others.
const MOST_DISPLACED: i64 = 1 << 20;

/// The iterations of a round of a loop with computed positions, and the most statements of one.
const ITERATIONS: i64 = 4;
const MOST_UNROLLED: usize = 16;

/// The most constants of an innermost loop that stay in registers.
const MOST_KEPT: usize = 4;

/// Where a buffer is.
#[derive(Clone)]
enum Room {
    /// The number among the buffers of the caller, and of the first stride.
    Caller(usize, usize),
    /// The variable of each part.
    Variables([Option<Variable>; 2]),
    /// At this address.
    Local(Value),
}

/// Emits a loop program.
pub struct ProgramEmitter<'a> {
    pub(super) e: Emitter<'a>,
    pub(super) program: &'a Program,
    rooms: Vec<Room>,
    /// The bits of constants.
    constants: FxHashMap<KValue, u64>,
    /// The number of each instruction that calls an op by its reference meaning.
    references: FxHashMap<KValue, usize>,
    /// The loops around the current statement.
    pub(super) loops: Vec<KValue>,
    /// For each loop, the prefixes that end with it, and whether only versions for adjacent elements use
    /// them.
    prefixes: FxHashMap<KValue, Vec<(Prefix, bool)>>,
    addresses: FxHashMap<Prefix, Value>,
    /// Strides times coefficients, by buffer.
    steps: FxHashMap<(u32, PerDim), Value>,
    /// The buffers whose elements along the last dim are adjacent, in this version of a loop.
    pub(super) adjacent: SmallVec<[u32; 2]>,
    /// Whether float constants stay in registers.
    keeps_constants: bool,
    /// The kernels of the program.
    pub(super) kernels: &'a [Box<dyn CompiledKernel>],
    /// Where the arguments of kernels are.
    pub(super) frame: NestFrame,
}

impl<'a> ProgramEmitter<'a> {
    /// `e` is an emitter for the scalar instructions of the program.
    pub fn new(
        e: Emitter<'a>,
        (program, kernels): (&'a Program, &'a [Box<dyn CompiledKernel>]),
        kernel: &Kernel,
    ) -> Self {
        let constant = |inst: &KInst| if let KOp::Const(bits) = inst.op { Some((inst.first, bits)) } else { None };
        let reference = |(n, inst): (usize, &KInst)| matches!(inst.op, KOp::Reference(_)).then_some((inst.first, n));
        ProgramEmitter {
            e,
            program,
            rooms: Vec::new(),
            constants: kernel.insts.iter().filter_map(constant).collect(),
            references: kernel.insts.iter().enumerate().filter_map(reference).collect(),
            loops: Vec::new(),
            prefixes: FxHashMap::default(),
            addresses: FxHashMap::default(),
            steps: FxHashMap::default(),
            adjacent: SmallVec::new(),
            keeps_constants: false,
            kernels,
            frame: NestFrame::default(),
        }
    }

    /// Emits the whole function. Returns how many bytes of scratch memory it needs, too.
    pub fn emit(mut self) -> Result<(Emitter<'a>, usize), KernelError> {
        let e = &mut self.e;
        let entry = e.b.create_block();
        e.b.append_block_params_for_function_params(entry);
        e.b.switch_to_block(entry);
        let &[args, scratch] = e.b.block_params(entry) else { return Err(unsupported("a function without arguments")) };
        let mut field = |offset: usize| e.b.ins().load(types::I64, fixed(), args, offset as i32);
        let pointers = field(offset_of!(KernelArgs, pointers));
        let strides = field(offset_of!(KernelArgs, strides));
        let params = field(offset_of!(KernelArgs, params));
        let status = field(offset_of!(KernelArgs, status));
        e.args = Some(ArgValues { strides, params, status });
        e.exit = Some(e.b.create_block());
        let scratch = self.rooms(pointers, scratch)?;
        let mut loops = Vec::new();
        self.collect(&self.program.body, &mut loops)?;
        self.scope(&self.program.body)?;
        let exit = self.e.exit()?;
        self.e.jump(exit, &[]);
        self.e.b.switch_to_block(exit);
        self.e.b.ins().return_(&[]);
        self.e.b.seal_all_blocks();
        Ok((self.e, scratch))
    }

    /// Finds where each buffer is. Returns how many bytes of scratch memory local buffers need.
    fn rooms(&mut self, pointers: Value, mut scratch: Value) -> Result<usize, KernelError> {
        let mut callers = self.program.caller_buffers().enumerate();
        let Places { offsets, bytes } = self.program.places().unwrap_or(Places { offsets: vec![], bytes: usize::MAX });
        if bytes > MOST_SCRATCH {
            return Err(unsupported(format!("local buffers have more than {MOST_SCRATCH} bytes")));
        }
        let on_stack = bytes <= MOST_ON_STACK;
        if on_stack {
            let slot = self.e.slot(bytes)?;
            scratch = self.e.b.ins().stack_addr(types::I64, slot, 0);
        }
        for (buffer, offset) in self.program.buffers.iter().zip(offsets) {
            let ty = clif(buffer.dtype.real());
            self.rooms.push(match &buffer.storage {
                Storage::Caller { .. } => {
                    let Some((nth, (_, stride))) = callers.next() else {
                        return Err(unsupported("a buffer is missing"));
                    };
                    let pointer = self.e.word(pointers, nth)?;
                    self.e.pointers.push(pointer);
                    Room::Caller(nth, stride)
                }
                Storage::Local { .. } => match offset {
                    Some(offset) => {
                        let offset = self.e.int(types::I64, offset as i64);
                        Room::Local(self.e.offset(scratch, offset))
                    }
                    None => {
                        let re = self.e.b.declare_var(ty);
                        let im = buffer.dtype.is_complex().then(|| self.e.b.declare_var(ty));
                        Room::Variables([Some(re), im])
                    }
                },
            });
        }
        // A variable that no path defines would have no value.
        for (room, buffer) in self.rooms.clone().into_iter().zip(&self.program.buffers) {
            let Room::Variables(variables) = room else { continue };
            for variable in variables.into_iter().flatten() {
                let zero = self.e.constant(buffer.dtype.real(), 0);
                self.e.b.def_var(variable, zero);
            }
        }
        Ok(if on_stack { 0 } else { bytes })
    }

    /// Finds the prefixes of all accesses, and computes their steps and the addresses without loops at the
    /// start of the function.
    fn collect(&mut self, stmts: &[Stmt], loops: &mut Vec<KValue>) -> Result<(), KernelError> {
        for stmt in stmts {
            match stmt {
                Stmt::Load(_, location) | Stmt::Store(location, _) => self.access(location, loops)?,
                Stmt::Nest(nest) => self.prepare(nest, loops)?,
                Stmt::For(nest) => {
                    loops.push(nest.index);
                    self.collect(&nest.body, loops)?;
                    loops.pop();
                }
                Stmt::If(branch) => {
                    self.collect(&branch.then, loops)?;
                    self.collect(&branch.otherwise, loops)?;
                }
                Stmt::Inst(_) | Stmt::Local(_) | Stmt::Reduce(_) | Stmt::Combine(_) | Stmt::Fail => {}
            }
        }
        Ok(())
    }

    /// Finds the prefixes of an access.
    pub(super) fn access(&mut self, location: &Location, loops: &[KValue]) -> Result<(), KernelError> {
        let Room::Caller(..) = self.rooms[location.buffer as usize] else { return Ok(()) };
        let (prefix, rest) = split(location, loops);
        for (_, coefficients) in rest.iter().chain(&prefix.loops) {
            self.step(location.buffer, coefficients)?;
            // A version for adjacent elements needs the steps along the other dims.
            self.step(location.buffer, &without_last(coefficients))?;
        }
        self.prefixes_of(prefix.clone(), false)?;
        match self.displacement(&prefix) {
            0 => Ok(()),
            _ => self.prefixes_of(Prefix { constant: without_last(&prefix.constant), ..prefix }, true),
        }
    }

    /// The offset in bytes of an element at a constant position along the last dim, if elements are adjacent.
    /// 0 if the address has that position.
    fn displacement(&self, prefix: &Prefix) -> i32 {
        let size = self.program.buffers[prefix.buffer as usize].dtype.size() as i64;
        let bytes = prefix.constant.last().and_then(|last| last.checked_mul(size));
        bytes.filter(|bytes| bytes.abs() <= MOST_DISPLACED).unwrap_or(0) as i32
    }

    /// Notes a prefix, and its part outside of each loop. One that only versions of its innermost loop
    /// for adjacent elements use is `shared`.
    fn prefixes_of(&mut self, mut prefix: Prefix, mut shared: bool) -> Result<(), KernelError> {
        while let Some(&(innermost, _)) = prefix.loops.last() {
            let known = self.prefixes.entry(innermost).or_default();
            match known.iter_mut().find(|(other, _)| *other == prefix) {
                Some((_, is_shared)) => *is_shared &= shared,
                None => known.push((prefix.clone(), shared)),
            }
            prefix.loops.pop();
            shared = false;
        }
        self.base(prefix)
    }

    /// The address of a buffer's element at constant positions.
    fn base(&mut self, prefix: Prefix) -> Result<(), KernelError> {
        let Room::Caller(nth, _) = self.rooms[prefix.buffer as usize] else { return Ok(()) };
        if !self.addresses.contains_key(&prefix) {
            let mut address = self.e.pointers[nth];
            if prefix.constant.iter().any(|&n| n != 0) {
                let offset = self.step(prefix.buffer, &prefix.constant)?;
                address = self.e.offset(address, offset);
            }
            self.addresses.insert(prefix, address);
        }
        Ok(())
    }

    /// How far a step along a loop moves in a buffer, in bytes.
    pub(super) fn stride(&mut self, buffer: u32, steps: &PerDim) -> Result<Value, KernelError> {
        let decl = &self.program.buffers[buffer as usize];
        let Storage::Local { extents } = &decl.storage else { return self.step(buffer, steps) };
        let flat = steps.iter().zip(extents).fold(0i64, |flat, (&step, &extent)| flat * i64::from(extent) + step);
        Ok(self.e.int(types::I64, flat * decl.dtype.size() as i64))
    }

    /// The sum of a buffer's strides times coefficients.
    pub(super) fn step(&mut self, buffer: u32, coefficients: &PerDim) -> Result<Value, KernelError> {
        if let (true, Some(&last)) = (self.adjacent.contains(&buffer), coefficients.last()) {
            let size = self.program.buffers[buffer as usize].dtype.size() as i64;
            let along = self.e.int(types::I64, size.wrapping_mul(last));
            let others = without_last(coefficients);
            if is_zero(&others) {
                return Ok(along);
            }
            let others = self.steps.get(&(buffer, others)).copied();
            let others = others.ok_or_else(|| unsupported("a step used before it is computed"))?;
            return Ok(self.e.offset(others, along));
        }
        let key = (buffer, coefficients.clone());
        if let Some(&known) = self.steps.get(&key) {
            return Ok(known);
        }
        let mut sum = None;
        for (dim, &coefficient) in coefficients.iter().enumerate().filter(|(_, c)| **c != 0) {
            let stride = self.stride_along(buffer, dim)?;
            let term = self.times(stride, coefficient);
            sum = Some(sum.map_or(term, |sum| self.e.offset(sum, term)));
        }
        let step = sum.unwrap_or_else(|| self.e.int(types::I64, 0));
        self.steps.insert(key, step);
        Ok(step)
    }

    /// The stride of a buffer of the caller along a dim, in bytes.
    pub(super) fn stride_along(&mut self, buffer: u32, dim: usize) -> Result<Value, KernelError> {
        let Room::Caller(_, first) = self.rooms[buffer as usize] else { return Err(unsupported("a local stride")) };
        let strides = self.e.args()?.strides;
        self.e.word(strides, first + dim)
    }

    fn times(&mut self, value: Value, factor: i64) -> Value {
        if factor == 1 {
            return value;
        }
        let factor = self.e.int(types::I64, factor);
        self.e.b.ins().imul(value, factor)
    }

    fn scope(&mut self, stmts: &[Stmt]) -> Result<(), KernelError> {
        stmts.iter().try_for_each(|stmt| match stmt {
            Stmt::Inst(inst) => self.inst(inst),
            Stmt::Load(value, location) => {
                let loaded = self.load(location)?;
                self.e.scalars[value.0 as usize] = Some(loaded);
                Ok(())
            }
            Stmt::Local(_) => Ok(()),
            Stmt::Reduce(_) | Stmt::Combine(_) => Err(unsupported("a reduction that is not expanded")),
            Stmt::Store(location, value) => {
                let value = self.value(*value)?;
                self.store(location, value)
            }
            Stmt::For(nest) => match self.row_copy(nest)? {
                true => Ok(()),
                false => self.versioned_loop(nest),
            },
            Stmt::Nest(nest) => self.kernel_call(nest),
            Stmt::If(branch) => self.conditional(branch),
            Stmt::Fail => {
                let (status, one) = (self.e.args()?.status, self.e.int(types::I64, 1));
                self.e.b.ins().store(plain(), one, status, offset_of!(Status, failed) as i32);
                let exit = self.e.exit()?;
                self.e.jump(exit, &[]);
                // Statements after it are not reached, and need a block.
                let unreached = self.e.b.create_block();
                self.e.b.switch_to_block(unreached);
                Ok(())
            }
        })
    }

    fn conditional(&mut self, branch: &If) -> Result<(), KernelError> {
        let condition = self.condition(&branch.condition)?;
        let after = self.e.b.create_block();
        let sides = [&branch.then, &branch.otherwise];
        let blocks = sides.map(|stmts| if stmts.is_empty() { after } else { self.e.b.create_block() });
        let [then, otherwise] = blocks.map(|block| (block, &[][..]));
        if is_failure(&branch.otherwise) {
            // The optimizer visits the second target first, and hoists nothing from a loop once it has seen a
            // block outside of it.
            let zero = self.e.int(types::I8, 0);
            let fails = self.e.icmp(IntCC::Equal, condition, zero);
            self.e.branch(fails, otherwise, then);
        } else {
            self.e.branch(condition, then, otherwise);
        }
        for (block, stmts) in blocks.into_iter().zip(sides).filter(|(_, stmts)| !stmts.is_empty()) {
            if is_failure(stmts) {
                self.e.b.set_cold_block(block);
            }
            self.e.b.switch_to_block(block);
            self.scope(stmts)?;
            self.e.jump(after, &[]);
        }
        self.e.b.switch_to_block(after);
        Ok(())
    }

    pub(super) fn for_loop(&mut self, nest: &For) -> Result<(), KernelError> {
        let (lo, hi) = (self.form(&nest.lo)?, self.least(&nest.hi)?);
        let [mut prefixes, scaled] = self.own_prefixes(nest)?;
        // Strength reduction: addresses of the innermost loop are values that the loop carries.
        // With many addresses, those of one step share the product of the index and the step instead.
        let is_carried = prefixes.len() <= MOST_CARRIED && !has_loop(&nest.body);
        let carried = if is_carried { prefixes.len() } else { 0 };
        prefixes.extend(scaled);
        let mut rest = lo;
        if !self.adjacent.is_empty() && count(&nest.body) <= MOST_UNROLLED {
            rest = self.rounds(nest, (lo, hi), ITERATIONS, (&prefixes, carried))?;
        }
        self.rounds(nest, (rest, hi), 1, (&prefixes, carried))?;
        Ok(())
    }

    /// The prefixes that end with a loop: those whose steps are values, and those with a constant scale times
    /// the index.
    fn own_prefixes(&mut self, nest: &For) -> Result<[Vec<Stepped>; 2], KernelError> {
        // Whether elements are at a constant scale times the index.
        let is_scaled =
            |this: &Self, buffer: u32, steps: &PerDim| this.adjacent.contains(&buffer) && is_zero(&without_last(steps));
        let (mut prefixes, mut scaled) = (Vec::new(), Vec::new());
        for (prefix, shared) in self.prefixes.get(&nest.index).cloned().unwrap_or_default() {
            let is_adjacent = self.adjacent.contains(&prefix.buffer);
            let is_unused = if is_adjacent { self.displacement(&prefix) != 0 } else { shared };
            if is_unused && !has_loop(&nest.body) {
                continue;
            }
            let mut outer = prefix.clone();
            let Some((_, coefficients)) = outer.loops.pop() else { continue };
            let around = self.addresses.get(&outer).copied();
            let around = around.ok_or_else(|| unsupported("an address used before it is computed"))?;
            let step = self.step(prefix.buffer, &coefficients)?;
            let list = if is_scaled(self, prefix.buffer, &coefficients) { &mut scaled } else { &mut prefixes };
            list.push((prefix, around, step));
        }
        Ok([prefixes, scaled])
    }

    /// Computes the addresses that end with a loop for its first iteration.
    pub(super) fn at_first_iteration(&mut self, nest: &For, lo: Value) -> Result<(), KernelError> {
        self.e.scalars[nest.index.0 as usize] = Some(lo);
        for (prefix, around, step) in self.own_prefixes(nest)?.concat() {
            let along = self.e.b.ins().imul(lo, step);
            let address = self.e.offset(around, along);
            self.addresses.insert(prefix, address);
        }
        Ok(())
    }

    /// Emits rounds of several iterations of a loop, as long as there are as many. The first addresses of
    /// these, with their steps, are carried. Returns the index of the next iteration.
    fn rounds(
        &mut self,
        nest: &For,
        (lo, hi): (Value, Value),
        iterations: i64,
        (prefixes, carried): (&[Stepped], usize),
    ) -> Result<Value, KernelError> {
        let last = if iterations == 1 { hi } else { self.e.b.ins().iadd_imm_s(hi, 1 - iterations) };
        let mut first: SmallVec<[Value; 8]> = SmallVec::from_slice(&[lo]);
        for (_, around, step) in &prefixes[..carried] {
            let along = self.e.b.ins().imul(lo, *step);
            first.push(self.e.offset(*around, along));
        }
        let [body, after] = [1 + carried, 1].map(|params| self.e.block(std::iter::repeat_n(types::I64, params)));
        let some = self.e.icmp(IntCC::SignedLessThan, lo, last);
        self.e.branch(some, (body, &first), (after, &[lo]));
        self.e.b.switch_to_block(body);
        let params: SmallVec<[Value; 8]> = SmallVec::from_slice(self.e.b.block_params(body));
        let index = params[0];
        let mut addresses: SmallVec<[Value; 8]> = SmallVec::new();
        for (number, (_, around, step)) in prefixes.iter().enumerate() {
            addresses.push(match params.get(1 + number) {
                Some(&carried) => carried,
                None => {
                    let along = self.e.b.ins().imul(index, *step);
                    self.e.offset(*around, along)
                }
            });
        }
        self.loops.push(nest.index);
        self.keeps_constants = self.has_few_constants(&nest.body);
        for iteration in 0..iterations {
            let own = if iteration == 0 { index } else { self.e.b.ins().iadd_imm_s(index, iteration) };
            self.e.scalars[nest.index.0 as usize] = Some(own);
            for ((prefix, _, step), address) in prefixes.iter().zip(&mut addresses) {
                self.addresses.insert(prefix.clone(), *address);
                *address = self.e.offset(*address, *step);
            }
            self.scope(&nest.body)?;
        }
        self.keeps_constants = false;
        self.loops.pop();
        let next = self.e.b.ins().iadd_imm_s(index, iterations);
        let again: SmallVec<[Value; 8]> = std::iter::once(next).chain(addresses).take(1 + carried).collect();
        let more = self.e.icmp(IntCC::SignedLessThan, next, last);
        self.e.branch(more, (body, &again), (after, &[next]));
        self.e.b.switch_to_block(after);
        Ok(self.e.b.block_params(after)[0])
    }

    /// The least of some forms.
    pub(super) fn least(&mut self, forms: &[Linear]) -> Result<Value, KernelError> {
        let mut least = None;
        for form in forms {
            let form = self.form(form)?;
            least = Some(least.map_or(form, |least| self.e.b.ins().smin(least, form)));
        }
        least.ok_or_else(|| unsupported("a loop without a bound"))
    }

    fn condition(&mut self, condition: &Condition) -> Result<Value, KernelError> {
        match condition {
            Condition::Value(value) => self.value(*value),
            Condition::NotNegative(forms) => {
                let mut all = None;
                let mut rest = &forms[..];
                while let [form, others @ ..] = rest {
                    rest = others;
                    let (value, zero) = (self.form(form)?, self.e.int(types::I64, 0));
                    let sum = others.first().map(|other| other.clone().plus_scaled(form, 1));
                    let holds = match sum.filter(|sum| sum.terms().len() < others[0].terms().len()) {
                        // `0 <= x` and `0 <= s - x` are one comparison of unsigned numbers. One of them is
                        // often invariant.
                        Some(sum) => {
                            rest = &others[1..];
                            let limit = self.form(&sum.plus(1))?;
                            let limit = self.e.b.ins().smax(limit, zero);
                            self.e.icmp(IntCC::UnsignedLessThan, value, limit)
                        }
                        None => self.e.icmp(IntCC::SignedGreaterThanOrEqual, value, zero),
                    };
                    all = Some(all.map_or(holds, |all| self.e.b.ins().band(all, holds)));
                }
                Ok(all.unwrap_or_else(|| self.e.int(types::I8, 1)))
            }
        }
    }

    fn inst(&mut self, inst: &KInst) -> Result<(), KernelError> {
        let first = inst.first.0 as usize;
        let to = self.program.values.get(first).copied().unwrap_or(DType::Bool);
        let value = match &inst.op {
            // Each use has its own, so that constants occupy no register in between.
            KOp::Const(_) => return Ok(()),
            KOp::Param(index) => self.e.param(*index, to)?,
            op => {
                let args = inst.args.iter().map(|&arg| self.value(arg)).collect::<Result<Vec<Value>, _>>()?;
                if let KOp::Reference(reference) = op {
                    let number = self.references.get(&inst.first).copied();
                    let number = number.ok_or_else(|| unsupported("a reference call without a number"))?;
                    return self.e.reference(number, reference, first, &args);
                }
                let from = inst.args.last().map_or(to, |&arg| self.program.values[arg.0 as usize]);
                self.e.scalar_op(op, from, to, &args)?
            }
        };
        self.e.scalars[first] = Some(value);
        Ok(())
    }

    pub(super) fn value(&mut self, value: KValue) -> Result<Value, KernelError> {
        match self.constants.get(&value) {
            Some(&bits) => {
                let dtype = self.program.values[value.0 as usize];
                let kept = if self.keeps_constants { self.e.kept_constant(dtype, bits) } else { None };
                Ok(kept.unwrap_or_else(|| self.e.constant(dtype, bits)))
            }
            None => self.e.scalar(value),
        }
    }

    /// Whether an innermost loop has so few float constants that they stay in registers.
    fn has_few_constants(&self, body: &[Stmt]) -> bool {
        let mut found: SmallVec<[KValue; 8]> = SmallVec::new();
        each_use(body, &mut |value| {
            let is_float = self.program.values[value.0 as usize].is_float();
            if is_float && self.constants.contains_key(&value) && !found.contains(&value) {
                found.push(value);
            }
        });
        found.len() <= MOST_KEPT && !has_loop(body)
    }

    /// The value of a form.
    pub(super) fn form(&mut self, form: &Linear) -> Result<Value, KernelError> {
        let mut sum = None;
        for &(value, coefficient) in form.terms() {
            let value = self.value(value)?;
            let term = self.times(value, coefficient);
            sum = Some(sum.map_or(term, |sum| self.e.b.ins().iadd(sum, term)));
        }
        Ok(match (sum, form.constant) {
            (Some(sum), 0) => sum,
            (Some(sum), constant) => {
                let constant = self.e.int(types::I64, constant);
                self.e.b.ins().iadd(sum, constant)
            }
            (None, constant) => self.e.int(types::I64, constant),
        })
    }

    fn load(&mut self, location: &Location) -> Result<Value, KernelError> {
        let dtype = self.program.buffers[location.buffer as usize].dtype;
        if let Room::Variables(variables) = &self.rooms[location.buffer as usize] {
            let variable = variables[location.part as usize].ok_or_else(|| unsupported("a part is missing"))?;
            return Ok(self.e.b.use_var(variable));
        }
        let is_local = self.program.is_local(location.buffer);
        let (address, offset) = self.address(location)?;
        let value = self.e.b.ins().load(clif(dtype.real()), plain(), address, offset);
        if !dtype.is_bool() || is_local {
            return Ok(value);
        }
        let zero = self.e.int(types::I8, 0);
        Ok(self.e.icmp(IntCC::NotEqual, value, zero))
    }

    fn store(&mut self, location: &Location, value: Value) -> Result<(), KernelError> {
        if let Room::Variables(variables) = &self.rooms[location.buffer as usize] {
            let variable = variables[location.part as usize].ok_or_else(|| unsupported("a part is missing"))?;
            self.e.b.def_var(variable, value);
            return Ok(());
        }
        let (address, offset) = self.address(location)?;
        self.e.b.ins().store(plain(), value, address, offset);
        Ok(())
    }

    /// The address of an element in memory: a base, and an offset in bytes.
    pub(super) fn address(&mut self, location: &Location) -> Result<(Value, i32), KernelError> {
        let buffer = &self.program.buffers[location.buffer as usize];
        let part = part_offset(buffer.dtype, location.part);
        match self.rooms[location.buffer as usize].clone() {
            Room::Variables(_) => Err(unsupported("a variable has no address")),
            Room::Caller(..) => {
                let (mut prefix, mut rest) = split(location, &self.loops);
                let mut offset = part;
                if self.adjacent.contains(&location.buffer) && self.displacement(&prefix) != 0 {
                    offset += self.displacement(&prefix);
                    prefix.constant = without_last(&prefix.constant);
                }
                // The innermost index is added last: the optimizer hoists a sum of values from outside of its
                // loop.
                if !rest.is_empty() {
                    rest.extend(prefix.loops.pop());
                }
                let found = self.addresses.get(&prefix).copied();
                let mut address = found.ok_or_else(|| unsupported("an address used before it is computed"))?;
                for (value, coefficients) in rest {
                    let (value, step) = (self.value(value)?, self.step(location.buffer, &coefficients)?);
                    let along = self.e.b.ins().imul(value, step);
                    address = self.e.offset(address, along);
                }
                Ok((address, offset))
            }
            Room::Local(base) => {
                let Storage::Local { extents } = &buffer.storage else { return Err(unsupported("a local buffer")) };
                let mut flat = Linear::default();
                for (form, &extent) in location.at.iter().zip(extents) {
                    flat = Linear::default().plus_scaled(&flat, extent.into()).plus_scaled(form, 1);
                }
                let size = buffer.dtype.size() as i64;
                let bytes = Linear::default().plus_scaled(&flat, size);
                if let Some(offset) = bytes.as_constant().and_then(|n| i32::try_from(n).ok()) {
                    return Ok((base, offset + part));
                }
                let bytes = self.form(&bytes)?;
                Ok((self.e.offset(base, bytes), part))
            }
        }
    }
}

/// Steps without the one along the last dim.
fn without_last(steps: &PerDim) -> PerDim {
    let mut others = steps.clone();
    others.last_mut().into_iter().for_each(|last| *last = 0);
    others
}

fn is_zero(steps: &PerDim) -> bool {
    steps.iter().all(|&step| step == 0)
}

/// True for statements that only end the program.
fn is_failure(stmts: &[Stmt]) -> bool {
    matches!(stmts, [Stmt::Fail])
}

/// True if there is a loop among statements.
pub(super) fn has_loop(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::For(_) | Stmt::Nest(_) => true,
        Stmt::If(branch) => has_loop(&branch.then) || has_loop(&branch.otherwise),
        _ => false,
    })
}

/// The terms of a location: those of the loops around it, outermost first, and the others.
fn split(location: &Location, loops: &[KValue]) -> (Prefix, SmallVec<[(KValue, PerDim); 2]>) {
    let coefficients = |value: KValue| -> PerDim {
        let of = |form: &Linear| form.terms().iter().find(|(term, _)| *term == value).map_or(0, |&(_, c)| c);
        location.at.iter().map(of).collect()
    };
    let constant = location.at.iter().map(|form| form.constant).collect();
    let is_used = |value: &KValue| location.at.iter().any(|form| form.terms().iter().any(|(term, _)| term == value));
    let own = loops.iter().copied().filter(is_used).map(|index| (index, coefficients(index))).collect();
    let mut rest: SmallVec<[(KValue, PerDim); 2]> = SmallVec::new();
    for &(value, _) in location.at.iter().flat_map(Linear::terms) {
        if !loops.contains(&value) && !rest.iter().any(|(known, _)| *known == value) {
            rest.push((value, coefficients(value)));
        }
    }
    (Prefix { buffer: location.buffer, constant, loops: own }, rest)
}

/// Rooms and variables are indexed by part.
const _: () = assert!(Part::Re as usize == 0 && Part::Im as usize == 1);
