//! Outlining: nests of loops whose points are independent become calls of kernels, which code generators
//! run on vectors.
//!
//! A nest is a loop that is [parallel](super::dependence), or a loop that contains scalar instructions, loads
//! and one nest; a kernel runs its outer loops in order. The parallel loop may have a loop in order in it,
//! whose local scalars are the carried values of a kernel with [`Steps`]. The bounds of a nest are values of
//! the scope around it, and each position in it is affine in its indices. Each point reads and writes one
//! element of each array that it writes.

use super::walk::each_access;
use super::{
    Accumulator, BufferDecl, Linear, Location, Nest, NestBuffer, Program, ProgramBuilder, Reduce, Slots, Stmt, Storage,
};
use crate::kernel::{
    Binary, Buffer, Fold, Interleaved, KInst, KOp, KValue, Kernel, KernelBuilder, Part, PlacedBuffer, Steps,
};
use crate::program::For;
use crate::scalar::Elem;
use rewright_ir::Scalar;
use rewright_ir::expr::Order;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// The fewest points that are worth a call, which takes about as long as ten of them.
pub const FEWEST_POINTS: i64 = 12;

impl Program {
    /// The program with calls of kernels in place of nests. `compile` returns the number of a kernel, or
    /// `None` if no code generator compiles it; a kernel that occurs several times is compiled once.
    pub fn outlined(&self, compile: &mut dyn FnMut(&Kernel) -> Option<usize>) -> Program {
        let b = ProgramBuilder::resume(self);
        let mut outliner = Outliner { program: self, compile, known: Vec::new(), depth: 0, b };
        let body = outliner.scope(&self.body);
        outliner.b.finish_with(self, body)
    }
}

struct Outliner<'a> {
    program: &'a Program,
    compile: &'a mut dyn FnMut(&Kernel) -> Option<usize>,
    known: Vec<(Arc<Kernel>, Option<usize>)>,
    /// The number of loops around the current statement.
    depth: usize,
    /// Has the values and buffers of the result.
    b: ProgramBuilder,
}

/// A loop of a nest: the index and the bounds.
#[derive(Clone)]
struct Loop {
    index: KValue,
    lo: Linear,
    hi: SmallVec<[Linear; 1]>,
}

impl Loop {
    fn of(nest: &For) -> Loop {
        Loop { index: nest.index, lo: nest.lo.clone(), hi: nest.hi.clone() }
    }

    /// The number of iterations at most, if it is known.
    fn known_points(&self) -> Option<i64> {
        self.hi.iter().filter_map(|hi| hi.clone().minus(&self.lo).as_constant()).min()
    }
}

impl Outliner<'_> {
    fn scope(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            match stmt {
                Stmt::For(nest) => out.push(match self.nest(nest) {
                    Some(outlined) => Stmt::Nest(Box::new(outlined)),
                    None => {
                        self.depth += 1;
                        let body = self.scope(&nest.body);
                        self.depth -= 1;
                        Stmt::For(For { body, ..nest.clone() })
                    }
                }),
                Stmt::If(branch) => {
                    let mut branch = branch.clone();
                    (branch.then, branch.otherwise) = (self.scope(&branch.then), self.scope(&branch.otherwise));
                    out.push(Stmt::If(branch));
                }
                Stmt::Reduce(reduce) => match self.row(reduce) {
                    Some(outlined) => out.extend(outlined),
                    None => out.push(stmt.clone()),
                },
                other => out.push(other.clone()),
            }
        }
        out
    }

    /// The nest of a loop as a call of a kernel, if it is one.
    fn nest(&mut self, outermost: &For) -> Option<Nest> {
        // A call takes longer than the copy of a row.
        if self.depth > 0 && outermost.copied_row(&self.program.buffers).is_some() {
            return None;
        }
        let perfect = nest_of(outermost);
        let is_perfect = perfect.is_some();
        let nests = perfect.or_else(|| stepped_nest_of(outermost))?;
        let loops: Vec<Loop> = nests.iter().map(|nest| Loop::of(nest)).collect();
        let points = loops.iter().map(Loop::known_points).try_fold(1i64, |all, n| all.checked_mul(n?));
        if points.is_some_and(|points| points < FEWEST_POINTS) {
            return None;
        }
        // A kernel runs its outer loops in order.
        let (innermost, around) = nests.split_last()?;
        let is_parallel = |nest: &For| nest.is_parallel(&self.program.buffers);
        let mut draft = Draft::new(self.program, loops);
        if is_perfect && is_parallel(innermost) {
            draft.nest(&nests)?;
        } else {
            is_parallel(around.last()?).then_some(())?;
            draft.stepped_nest(around, innermost)?;
        }
        self.finish(draft)
    }

    /// The reduction of a row as a call of a kernel, if it is one.
    fn row(&mut self, reduce: &Reduce) -> Option<Vec<Stmt>> {
        let points = Loop { index: reduce.index, lo: Linear::default(), hi: reduce.points.clone() };
        if reduce.accumulators.iter().any(|(own, _)| own.neutral.is_none() || !own.fixed.is_empty()) {
            return None;
        }
        self.b.open();
        // The total of the row, which is neutral if there are no points.
        let rows: Vec<Slots> = reduce.accumulators.iter().map(|(own, _)| self.b.slots(own, &[])).collect();
        for ((accumulator, _), row) in reduce.accumulators.iter().zip(&rows) {
            self.b.clear(accumulator, row, &[]);
        }
        let mut draft = Draft::new(self.program, vec![points]);
        let outlined = draft.row(reduce, &rows).and_then(|()| self.finish(draft));
        if let Some(outlined) = &outlined {
            self.b.push(Stmt::Nest(Box::new(outlined.clone())));
            for ((accumulator, total), row) in reduce.accumulators.iter().zip(&rows) {
                let row = self.b.get(row, &[]);
                self.b.join(accumulator, (total, &[]), &row);
            }
        }
        let stmts = self.b.close();
        outlined.map(|_| stmts)
    }

    /// The call of a kernel.
    fn finish(&mut self, draft: Draft<'_>) -> Option<Nest> {
        let Draft { k, buffers, params, loops, .. } = draft;
        let mut kernel = k.finish();
        let placed: Vec<_> = (0..).zip(&buffers).filter_map(|(number, buffer)| buffer.placed(number)).collect();
        kernel.interleaved = Interleaved::find(&placed);
        let written = kernel.buffers.iter().zip(&buffers).filter(|(own, _)| own.written);
        let storages = written.map(|(_, buffer)| &self.b.buffers()[buffer.first.buffer as usize].storage);
        let mut storages = storages.peekable();
        kernel.wishes.streaming = storages.peek().is_some()
            && storages.all(|storage| matches!(storage, Storage::Caller { streamed: true, .. }));
        let known = self.known.iter().find(|(known, _)| **known == kernel);
        let (kernel, number) = match known {
            Some((kernel, number)) => (kernel.clone(), *number),
            None => {
                let (number, kernel) = ((self.compile)(&kernel), Arc::new(kernel));
                self.known.push((kernel.clone(), number));
                (kernel, number)
            }
        };
        let bounds = loops.into_iter().map(|nest| (nest.lo, nest.hi)).collect();
        Some(Nest { number: number?, kernel, bounds, buffers, params })
    }
}

/// A kernel under construction.
struct Draft<'a> {
    program: &'a Program,
    /// The loops, outermost first.
    loops: Vec<Loop>,
    /// The values that the nest defines.
    inside: FxHashSet<KValue>,
    k: KernelBuilder,
    /// The values of the kernel, by those of the program.
    values: FxHashMap<KValue, KValue>,
    buffers: Vec<NestBuffer>,
    params: Vec<KValue>,
    /// The buffers of the kernel that were stored to.
    stored: Vec<u32>,
    /// The local scalars of a point, and their values.
    inner_scalars: FxHashSet<u32>,
    scalars: FxHashMap<(u32, Part), KValue>,
    /// The part of a stepped nest that is translated.
    phase: Phase,
    /// The carried values of steps.
    steps: Steps,
    /// By value of a point, the number of the carried value that passes it to steps and beyond.
    passed: FxHashMap<KValue, usize>,
}

/// Parts of a nest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Statements without steps, or before them.
    Before,
    /// A step.
    Step,
    /// Statements after the steps, whose values are from this one of the kernel on.
    After(u32),
}

impl<'a> Draft<'a> {
    fn new(program: &'a Program, loops: Vec<Loop>) -> Self {
        let k = KernelBuilder::new(loops.len());
        let (values, buffers, params, inside) = Default::default();
        Draft {
            program,
            loops,
            k,
            values,
            inside,
            buffers,
            params,
            stored: Vec::new(),
            inner_scalars: FxHashSet::default(),
            scalars: FxHashMap::default(),
            phase: Phase::Before,
            steps: Steps::default(),
            passed: FxHashMap::default(),
        }
    }

    /// Translates a nest of loops.
    fn nest(&mut self, nests: &[&For]) -> Option<()> {
        for nest in nests {
            let is_outer = |form: &Linear| !form.terms().iter().any(|(value, _)| self.inside.contains(value));
            nest.hi.iter().chain([&nest.lo]).all(is_outer).then_some(())?;
            self.define(nest.index, &nest.body);
        }
        nests.iter().try_for_each(|nest| nest.body.iter().try_for_each(|stmt| self.stmt(stmt)))?;
        self.is_apart().then_some(())
    }

    /// Translates a nest of loops, the last of which contains a loop in order.
    fn stepped_nest(&mut self, nests: &[&For], steps: &For) -> Option<()> {
        for nest in nests.iter().copied().chain([steps]) {
            let is_outer = |form: &Linear| !form.terms().iter().any(|(value, _)| self.inside.contains(value));
            nest.hi.iter().chain([&nest.lo]).all(is_outer).then_some(())?;
            self.define(nest.index, &nest.body);
        }
        let (point, around) = nests.split_last()?;
        around.iter().try_for_each(|nest| nest.body.iter().try_for_each(|stmt| self.stmt(stmt)))?;
        let at = point.body.iter().position(|stmt| matches!(stmt, Stmt::For(_)))?;
        point.body[..at].iter().try_for_each(|stmt| self.stmt(stmt))?;
        // Kernels store in steps, or after them.
        self.stored.is_empty().then_some(())?;

        // The local scalars that steps change or read.
        let mut carried: Vec<((u32, Part), usize)> = Vec::new();
        each_access(&steps.body, &mut |buffer, location, _| {
            let Some(part) = location.map(|location| location.part) else { return };
            if let Some(&first) = self.scalars.get(&(buffer, part))
                && !carried.iter().any(|(known, _)| *known == (buffer, part))
            {
                carried.push(((buffer, part), self.carry(first)));
            }
        });
        for &(scalar, number) in &carried {
            self.scalars.insert(scalar, self.steps.before[number]);
        }
        self.phase = Phase::Step;
        steps.body.iter().try_for_each(|stmt| self.stmt(stmt))?;
        for &(scalar, number) in &carried {
            self.steps.after[number] = self.scalars[&scalar];
            self.scalars.insert(scalar, self.steps.last[number]);
        }
        self.phase = Phase::After(self.k.values());
        let section = self.k.begin_section();
        point.body[at + 1..].iter().try_for_each(|stmt| self.stmt(stmt))?;
        self.steps.end = self.k.end_section_of(section, nests.len());
        let is_alike = |a: &NestBuffer, b: &NestBuffer| (a.first.buffer, &a.along) == (b.first.buffer, &b.along);
        // Vectors of elements that are not adjacent are slower than steps of single points.
        self.buffers.iter().all(|buffer| moves_to_next(&buffer.along[nests.len() - 1])).then_some(())?;
        let first_alike = |buffer: &NestBuffer| self.buffers.iter().position(|other| is_alike(other, buffer));
        self.steps.alike = self.buffers.iter().filter_map(first_alike).map(|first| first as u32).collect();
        self.k.steps(std::mem::take(&mut self.steps));
        self.is_apart().then_some(())
    }

    /// Adds a carried value, which does not change yet.
    fn carry(&mut self, first: KValue) -> usize {
        let (dtype, axes) = (self.k.dtype(first), self.loops.len() as u32);
        let before = self.k.undefined(dtype, axes);
        self.steps.first.push(first);
        self.steps.before.push(before);
        self.steps.after.push(before);
        self.steps.last.push(self.k.undefined(dtype, axes - 1));
        self.steps.first.len() - 1
    }

    /// The value of the kernel in the part of a nest that is translated: one of a point passes the steps as a
    /// carried value.
    fn operand(&mut self, value: KValue) -> KValue {
        let value = self.value(value);
        let is_passed = match self.phase {
            Phase::Before => false,
            Phase::Step => true,
            Phase::After(first) => value.0 < first && !self.steps.last.contains(&value),
        };
        if !is_passed || self.k.level(value) + 1 != self.loops.len() {
            return value;
        }
        let number = match self.passed.get(&value) {
            Some(&known) => known,
            None => {
                let number = self.carry(value);
                self.passed.insert(value, number);
                number
            }
        };
        if self.phase == Phase::Step { self.steps.before[number] } else { self.steps.last[number] }
    }

    /// Translates a reduction, whose total is stored to local scalars.
    fn row(&mut self, reduce: &Reduce, rows: &[Slots]) -> Option<()> {
        self.define(reduce.index, &reduce.body);
        let Some((Stmt::Combine(items), body)) = reduce.body.split_last() else { return None };
        (!body.iter().any(|stmt| matches!(stmt, Stmt::For(_)))).then_some(())?;
        body.iter().try_for_each(|stmt| self.stmt(stmt))?;
        self.stored.is_empty().then_some(())?;
        let items: Vec<KValue> = items.iter().flat_map(Elem::parts).map(|part| self.value(part)).collect();
        let accumulators = || reduce.accumulators.iter().map(|(accumulator, _)| accumulator);
        let mut undefined = |list: &dyn Fn(&Accumulator) -> Vec<Elem>, level: u32| -> Vec<KValue> {
            let parts = accumulators().flat_map(list).flat_map(|elem| elem.parts().collect::<Vec<_>>());
            let own = |part: KValue| {
                let value = self.k.undefined(self.program.values[part.0 as usize], level);
                self.values.insert(part, value);
                value
            };
            parts.map(own).collect()
        };
        let left = undefined(&|own| own.left.clone(), 1);
        let right = undefined(&|own| own.right.clone(), 1);
        let section = self.k.begin_section();
        for accumulator in accumulators() {
            accumulator.body.iter().try_for_each(|stmt| match stmt {
                Stmt::Inst(inst) => self.inst(inst),
                _ => None,
            })?;
        }
        let combine = self.k.end_inner_section(section);
        let both = accumulators().flat_map(|own| &own.both).flat_map(Elem::parts);
        let both: Vec<KValue> = both.collect::<Vec<_>>().into_iter().map(|part| self.value(part)).collect();
        let section = self.k.begin_section();
        let mut totals = Vec::new();
        for &(buffer, dtype) in rows.iter().flat_map(|row| &row.buffers) {
            let first = Location { buffer, part: Part::Re, at: SmallVec::new() };
            self.buffers.push(NestBuffer { first, along: smallvec![SmallVec::new()] });
            let own = self.k.buffer(Buffer { dtype, written: true, varies: smallvec![false] });
            for part in [Part::Re, Part::Im].into_iter().take(1 + usize::from(dtype.is_complex())) {
                let total = self.k.undefined(dtype.real(), 0);
                self.k.store(own, part, total);
                totals.push(total);
            }
        }
        let after = self.k.end_section(section);
        let bits = |scalar: &Scalar| {
            let (re, im) = scalar.bits();
            std::iter::once(re).chain(scalar.dtype().is_complex().then_some(im))
        };
        let neutral = accumulators().flat_map(|own| own.neutral.iter().flatten()).flat_map(bits).collect();
        let [lanes, leaf, apart, part] =
            [reduce.tree.lanes, reduce.tree.leaf, reduce.tree.apart, reduce.tree.part].map(|n| n as usize);
        let order = Order::Tree { lanes, leaf, apart, part, block: Order::PAIRWISE.block() };
        let any_order = accumulators().all(|own| own.any_order);
        let (onward, alone) = (None, None);
        self.k.fold(Fold {
            order,
            any_order,
            items,
            neutral,
            left,
            right,
            both,
            combine,
            onward,
            alone,
            totals,
            after,
        });
        Some(())
    }

    /// The values of a loop and of its own statements are inside of the nest.
    fn define(&mut self, index: KValue, body: &[Stmt]) {
        self.inside.insert(index);
        self.inside.extend(body.iter().flat_map(Stmt::defined));
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<()> {
        match stmt {
            Stmt::Inst(inst) => self.inst(inst),
            Stmt::Load(value, location) if self.scalars.contains_key(&(location.buffer, location.part)) => {
                self.values.insert(*value, self.scalars[&(location.buffer, location.part)]);
                Some(())
            }
            Stmt::Store(location, value) if self.inner_scalars.contains(&location.buffer) => {
                let value = self.operand(*value);
                self.scalars.insert((location.buffer, location.part), value);
                Some(())
            }
            Stmt::Load(value, location) => {
                // The kernel loads an element once, before it is stored.
                let buffer = self.buffer(location, false)?;
                (!self.stored.contains(&buffer)).then_some(())?;
                let loaded = self.k.load(buffer, location.part);
                self.values.insert(*value, loaded);
                Some(())
            }
            Stmt::Store(location, value) => {
                let value = self.operand(*value);
                let buffer = self.buffer(location, true)?;
                // Steps that store one element after the other are not carried values.
                let is_fixed = |steps: &SmallVec<[i64; 3]>| steps.iter().all(|&step| step == 0);
                let is_refused =
                    self.phase == Phase::Step && self.buffers[buffer as usize].along.last().is_some_and(is_fixed);
                (!is_refused).then_some(())?;
                self.k.store(buffer, location.part, value);
                self.stored.push(buffer);
                Some(())
            }
            Stmt::Local(buffer) => {
                if self.program.rank(*buffer) == 0 {
                    self.inner_scalars.insert(*buffer);
                }
                Some(())
            }
            // The next loop of a nest.
            Stmt::For(_) => Some(()),
            Stmt::If(_) | Stmt::Reduce(_) | Stmt::Combine(_) | Stmt::Nest(_) | Stmt::Fail => None,
        }
    }

    fn inst(&mut self, inst: &KInst) -> Option<()> {
        if inst.results != 1 || matches!(inst.op, KOp::Reference(_) | KOp::Param(_)) {
            return None;
        }
        let args: SmallVec<[KValue; 3]> = inst.args.iter().map(|&arg| self.operand(arg)).collect();
        self.k.set_loc(inst.loc);
        let dtype = self.program.values[inst.first.0 as usize];
        let value = match inst.op {
            KOp::Const(bits) => self.k.constant(Scalar::from_bits(dtype, (bits, 0))),
            _ => self.k.push(inst.op.clone(), &args, dtype),
        };
        self.values.insert(inst.first, value);
        Some(())
    }

    /// The value of the kernel for one of the program: a parameter if it is from outside.
    fn value(&mut self, value: KValue) -> KValue {
        if let Some(&known) = self.values.get(&value) {
            return known;
        }
        let own = match self.loops.iter().position(|nest| nest.index == value) {
            Some(axis) => {
                let index = self.k.index(axis as u32);
                match self.loops[axis].lo.clone() {
                    lo if lo == Linear::default() => index,
                    lo => {
                        let lo = self.form(&lo);
                        self.k.binary(Binary::Add, index, lo)
                    }
                }
            }
            None => {
                self.params.push(value);
                self.k.param(self.program.values[value.0 as usize])
            }
        };
        self.values.insert(value, own);
        own
    }

    /// The value of a form of values from outside.
    fn form(&mut self, form: &Linear) -> KValue {
        let mapped = form.map(|value| self.value(value));
        mapped.value(&mut self.k)
    }

    /// The buffer of the kernel for an access.
    fn buffer(&mut self, location: &Location, written: bool) -> Option<u32> {
        // A local scalar may be a register.
        (self.program.rank(location.buffer) > 0 || !self.program.is_local(location.buffer)).then_some(())?;
        let mut first = location.clone();
        let mut along: SmallVec<[SmallVec<[i64; 3]>; 3]> = SmallVec::new();
        for nest in &self.loops {
            along.push(location.at.iter().map(|form| form.coefficient(nest.index)).collect());
            first.at.iter_mut().for_each(|form| *form = form.with(nest.index, &nest.lo));
        }
        let is_outer = |form: &Linear| !form.terms().iter().any(|(value, _)| self.inside.contains(value));
        first.at.iter().all(is_outer).then_some(())?;
        first.part = Part::Re;
        let buffer = NestBuffer { first, along };
        // The element of a written buffer is read and written through one buffer of the kernel.
        if let Some(known) = self.buffers.iter().position(|known| *known == buffer) {
            self.k.mark_written(known as u32, written);
            return Some(known as u32);
        }
        let dtype = self.program.buffers[location.buffer as usize].dtype;
        let varies = buffer.along.iter().map(|steps| steps.iter().any(|&step| step != 0)).collect();
        self.buffers.push(buffer);
        Some(self.k.buffer(Buffer { dtype, written, varies }))
    }

    /// Whether buffers of the kernel share no element that it writes.
    fn is_apart(&self) -> bool {
        let is_same = |(n, buffer): (usize, &NestBuffer)| {
            let others = self.buffers.iter().enumerate().filter(|(m, _)| *m != n);
            !self.k.is_written(n as u32) || others.into_iter().all(|(_, other)| other.is_apart_from(buffer))
        };
        self.buffers.iter().enumerate().all(is_same)
    }
}

impl NestBuffer {
    /// Its place in the array along the last dim, if it moves along the innermost loop.
    fn placed(&self, number: u32) -> Option<PlacedBuffer<NestBuffer>> {
        let (last, others) = self.along.last()?.split_last()?;
        let step = match (others.iter().any(|step| *step != 0), *last) {
            (false, 0) => return None,
            (false, step) => Some(step),
            (true, 0) => None,
            (true, _) => return None,
        };
        let mut key = self.clone();
        let position = key.first.at.last_mut()?;
        let offset = position.constant;
        position.constant = 0;
        Some(PlacedBuffer { number, key, step, offset })
    }

    /// True if it has no element in common with another one: it is in another array, or there is a dim in
    /// which the distance of their first elements is no sum of steps.
    fn is_apart_from(&self, other: &NestBuffer) -> bool {
        let steps = |dim: usize| self.along.iter().chain(&other.along).map(move |steps| steps[dim].unsigned_abs());
        self.first.is_apart_from(&other.first, |dim| steps(dim).fold(0, gcd))
    }
}

/// The greatest common divisor; that of 0 and a number is the number.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The loops of a nest, if statements are those of one.
pub(super) fn nest_of(outermost: &For) -> Option<Vec<&For>> {
    let mut nests = vec![outermost];
    while let Some(inner) = only_loop(&nests.last()?.body)? {
        nests.push(inner);
    }
    Some(nests)
}

impl For {
    /// True if points of this parallel loop are lanes of a kernel with steps: it has a loop in order in it,
    /// and accesses adjacent elements.
    pub(super) fn has_steps(&self, buffers: &[BufferDecl]) -> bool {
        let Some(nests) = stepped_nest_of(self).filter(|nests| nests.len() == 2) else { return false };
        let mut is_adjacent = !nests[1].is_parallel(buffers);
        each_access(&self.body, &mut |_, location, _| {
            let steps = location.map(|at| at.at.iter().map(|form| form.coefficient(self.index)).collect());
            is_adjacent &= steps.is_some_and(|steps: SmallVec<[i64; 3]>| moves_to_next(&steps));
        });
        is_adjacent
    }
}

/// True if a step moves to the next element of the last dim, or nowhere.
fn moves_to_next(steps: &[i64]) -> bool {
    match steps.split_last() {
        Some((&last, others)) => others.iter().all(|&step| step == 0) && (last == 0 || last == 1),
        None => true,
    }
}

/// The loops of a nest whose last loop is a loop in order with other statements of a point around it.
fn stepped_nest_of(outermost: &For) -> Option<Vec<&For>> {
    let mut nests = vec![outermost];
    loop {
        let nest = nests.last()?;
        let mut loops = nest.body.iter().filter_map(|stmt| if let Stmt::For(nest) = stmt { Some(nest) } else { None });
        let (inner, None) = (loops.next()?, loops.next()) else { return None };
        let others = || nest.body.iter().filter(|stmt| !matches!(stmt, Stmt::For(_)));
        let is_straight = |stmt: &Stmt| matches!(stmt, Stmt::Inst(_) | Stmt::Load(..) | Stmt::Store(..));
        others().all(|stmt| is_straight(stmt) || matches!(stmt, Stmt::Local(_))).then_some(())?;
        nests.push(inner);
        if inner.body.iter().all(is_straight) {
            return Some(nests);
        }
        (!others().any(|stmt| matches!(stmt, Stmt::Store(..)))).then_some(())?;
    }
}

/// The only loop among statements that are otherwise instructions and loads; `Some(None)` if there is none,
/// and `None` if the statements are not those of a nest.
fn only_loop(stmts: &[Stmt]) -> Option<Option<&For>> {
    let (mut found, mut stores) = (None, false);
    for stmt in stmts {
        match stmt {
            Stmt::For(_) if found.is_some() => return None,
            Stmt::For(nest) => found = Some(nest),
            Stmt::Store(..) => stores = true,
            Stmt::Inst(_) | Stmt::Load(..) | Stmt::Local(_) => {}
            Stmt::If(_) | Stmt::Reduce(_) | Stmt::Combine(_) | Stmt::Nest(_) | Stmt::Fail => return None,
        }
    }
    (!(stores && found.is_some())).then_some(found)
}
