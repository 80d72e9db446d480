//! Outlining: nests of loops whose points are independent become calls of kernels, which code generators
//! run on vectors.
//!
//! A nest is a loop that is [`parallel`](super::parallel), or such a loop that contains scalar instructions,
//! loads and one nest. Its bounds are values of the scope around it, and each position in it is affine in its
//! indices. Each point reads and writes one element of each array that it writes.

use super::{Linear, Location, Nest, NestBuffer, Program, Stmt, Storage};
use crate::kernel::{Binary, Buffer, KInst, KOp, KValue, Kernel, KernelBuilder, Part};
use crate::program::For;
use rewright_ir::Scalar;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// The fewest points that are worth a call, which takes about as long as ten of them.
const FEWEST_POINTS: i64 = 12;

impl Program {
    /// The program with calls of kernels in place of nests. `compile` returns the number of a kernel, or
    /// `None` if no code generator compiles it; a kernel that occurs several times is compiled once.
    pub fn outlined(&self, compile: &mut dyn FnMut(&Kernel) -> Option<usize>) -> Program {
        let mut outliner = Outliner { program: self, compile, known: Vec::new() };
        let body = outliner.scope(&self.body);
        Program { body: Arc::new(body), ..self.clone() }
    }
}

struct Outliner<'a> {
    program: &'a Program,
    compile: &'a mut dyn FnMut(&Kernel) -> Option<usize>,
    known: Vec<(Arc<Kernel>, Option<usize>)>,
}

impl Outliner<'_> {
    fn scope(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        stmts.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        match stmt {
            Stmt::For(nest) => match self.nest(nest) {
                Some(outlined) => Stmt::Nest(Box::new(outlined)),
                None => Stmt::For(For { body: self.scope(&nest.body), ..nest.clone() }),
            },
            Stmt::If(branch) => {
                let mut branch = branch.clone();
                (branch.then, branch.otherwise) = (self.scope(&branch.then), self.scope(&branch.otherwise));
                Stmt::If(branch)
            }
            other => other.clone(),
        }
    }

    /// The nest of a loop as a call of a kernel, if it is one.
    fn nest(&mut self, outermost: &For) -> Option<Nest> {
        let mut draft = Draft::new(self.program, outermost)?;
        let points = draft.loops.iter().map(|nest| known_points(nest)).try_fold(1i64, |all, n| all.checked_mul(n?));
        if points.is_some_and(|points| points < FEWEST_POINTS) {
            return None;
        }
        draft.loops.iter().all(|nest| self.program.is_parallel(nest)).then_some(())?;
        draft.body()?;
        let Draft { k, buffers, params, loops, .. } = draft;
        let kernel = k.finish();
        let known = self.known.iter().find(|(known, _)| **known == kernel);
        let (kernel, number) = match known {
            Some((kernel, number)) => (kernel.clone(), *number),
            None => {
                let (number, kernel) = ((self.compile)(&kernel), Arc::new(kernel));
                self.known.push((kernel.clone(), number));
                (kernel, number)
            }
        };
        let bounds = loops.iter().map(|nest| (nest.lo.clone(), nest.hi.clone())).collect();
        Some(Nest { number: number?, kernel, bounds, buffers, params })
    }
}

fn known_points(nest: &For) -> Option<i64> {
    nest.hi.iter().filter_map(|hi| hi.clone().minus(&nest.lo).as_constant()).min()
}

/// A kernel under construction.
struct Draft<'a> {
    program: &'a Program,
    /// The loops, outermost first.
    loops: Vec<&'a For>,
    k: KernelBuilder,
    /// The values of the kernel, by those of the program.
    values: FxHashMap<KValue, KValue>,
    buffers: Vec<NestBuffer>,
    params: Vec<KValue>,
    /// The buffers of the program that were stored to.
    stored: Vec<u32>,
}

impl<'a> Draft<'a> {
    /// The loops of a nest.
    fn new(program: &'a Program, outermost: &'a For) -> Option<Self> {
        let mut loops = vec![outermost];
        let mut innermost = outermost;
        while let Some(inner) = only_loop(&innermost.body)? {
            loops.push(inner);
            innermost = inner;
        }
        let k = KernelBuilder::new(loops.len());
        let (values, buffers, params) = Default::default();
        Some(Draft { program, loops, k, values, buffers, params, stored: Vec::new() })
    }

    /// Translates the statements of the nest.
    fn body(&mut self) -> Option<()> {
        let mut inside = Vec::new();
        for nest in self.loops.clone() {
            let is_outer = |form: &Linear| !form.terms().iter().any(|(value, _)| inside.contains(value));
            nest.hi.iter().chain([&nest.lo]).all(is_outer).then_some(())?;
            inside.push(nest.index);
            for stmt in &nest.body {
                match stmt {
                    Stmt::Inst(inst) => inside.extend((inst.first.0..inst.first.0 + inst.results).map(KValue)),
                    Stmt::Load(value, _) => inside.push(*value),
                    _ => {}
                }
            }
        }
        for nest in self.loops.clone() {
            for stmt in &nest.body {
                match stmt {
                    Stmt::Inst(inst) => self.inst(inst)?,
                    Stmt::Load(value, location) => {
                        // The kernel loads an element once, before it is stored.
                        (!self.stored.contains(&location.buffer)).then_some(())?;
                        let buffer = self.buffer(location, false, &inside)?;
                        let loaded = self.k.load(buffer, location.part);
                        self.values.insert(*value, loaded);
                    }
                    Stmt::Store(location, value) => {
                        let value = self.value(*value);
                        let buffer = self.buffer(location, true, &inside)?;
                        self.k.store(buffer, location.part, value);
                        self.stored.push(location.buffer);
                    }
                    Stmt::For(_) | Stmt::Local(_) => {}
                    Stmt::If(_) | Stmt::Reduce(_) | Stmt::Combine(_) | Stmt::Nest(_) | Stmt::Fail => return None,
                }
            }
        }
        self.is_apart().then_some(())
    }

    fn inst(&mut self, inst: &KInst) -> Option<()> {
        if inst.results != 1 || matches!(inst.op, KOp::Reference(_) | KOp::Param(_)) {
            return None;
        }
        let args: SmallVec<[KValue; 3]> = inst.args.iter().map(|&arg| self.value(arg)).collect();
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
        let mut sum = None;
        for &(value, coefficient) in form.terms() {
            let (value, factor) = (self.value(value), self.k.constant(Scalar::I64(coefficient)));
            let term = if coefficient == 1 { value } else { self.k.binary(Binary::Mul, value, factor) };
            sum = Some(sum.map_or(term, |sum| self.k.binary(Binary::Add, sum, term)));
        }
        let constant = self.k.constant(Scalar::I64(form.constant));
        match sum {
            Some(sum) if form.constant == 0 => sum,
            Some(sum) => self.k.binary(Binary::Add, sum, constant),
            None => constant,
        }
    }

    /// The buffer of the kernel for an access.
    fn buffer(&mut self, location: &Location, written: bool, inside: &[KValue]) -> Option<u32> {
        let Storage::Caller { .. } = self.program.buffers[location.buffer as usize].storage else { return None };
        let mut first = location.clone();
        let mut along: SmallVec<[SmallVec<[i64; 3]>; 3]> = SmallVec::new();
        for nest in &self.loops {
            along.push(location.at.iter().map(|form| form.coefficient(nest.index)).collect());
            first.at.iter_mut().for_each(|form| *form = form.with(nest.index, &nest.lo));
        }
        let is_outer = |form: &Linear| !form.terms().iter().any(|(value, _)| inside.contains(value));
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

    /// Whether each array that is written is accessed at one element for each point.
    fn is_apart(&self) -> bool {
        let is_same = |(n, buffer): (usize, &NestBuffer)| {
            let others = self.buffers.iter().enumerate().filter(|(m, _)| *m != n);
            !self.k.is_written(n as u32)
                || others.into_iter().all(|(_, other)| other.first.buffer != buffer.first.buffer)
        };
        self.buffers.iter().enumerate().all(is_same)
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
