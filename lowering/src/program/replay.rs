//! Appending copies of statements to a program under construction.

use super::{Condition, For, If, Linear, Location, Nest, ProgramBuilder, Reduce, Stmt, Storage};
use crate::kernel::{KInst, KOp, KValue};
use crate::scalar::Elem;
use rewright_ir::{DType, Scalar};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Keeps a [`Stmt::Combine`].
pub fn keep(b: &mut ProgramBuilder, items: &[Elem]) {
    b.push(Stmt::Combine(items.to_vec()));
}

impl ProgramBuilder {
    /// A copy of statements, which have values and local buffers of their own.
    pub fn copied(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        self.scope(|b| Replay::new(std::iter::empty()).scope(b, stmts, &mut keep)).0
    }
}

/// Appends copies of statements, with forms in place of some values.
pub struct Replay {
    /// The new form of each value.
    forms: FxHashMap<KValue, Linear>,
    /// The new number of each local buffer.
    locals: FxHashMap<u32, u32>,
}

impl Replay {
    /// With these forms in place of values.
    pub fn new(forms: impl Iterator<Item = (KValue, Linear)>) -> Replay {
        Replay { forms: forms.collect(), locals: FxHashMap::default() }
    }

    /// Appends statements. `combine` is called for each [`Stmt::Combine`] with its values.
    pub fn scope(
        &mut self,
        b: &mut ProgramBuilder,
        stmts: &[Stmt],
        combine: &mut dyn FnMut(&mut ProgramBuilder, &[Elem]),
    ) {
        for stmt in stmts {
            match stmt {
                Stmt::Inst(inst) => self.inst(b, inst),
                Stmt::Load(value, location) => {
                    let Location { buffer, part, at } = self.location(location);
                    let loaded = b.load(buffer, part, &at);
                    self.forms.insert(*value, loaded.into());
                }
                Stmt::Local(local) => {
                    let own = b.buffers()[*local as usize].clone();
                    let Storage::Local { extents } = own.storage else { continue };
                    let new = b.local(own.dtype, &extents);
                    self.locals.insert(*local, new);
                }
                Stmt::Store(location, value) => {
                    let (Location { buffer, part, at }, value) = (self.location(location), self.value(b, *value));
                    b.store(buffer, part, &at, value);
                }
                Stmt::For(For { index, lo, hi, trip, body }) => {
                    let (lo, hi) = (self.form(lo), self.all(hi));
                    let new = b.open_loop();
                    self.forms.insert(*index, new.into());
                    self.scope(b, body, combine);
                    b.close_loop(new, *trip, lo, &hi);
                }
                Stmt::If(If { condition, then, otherwise }) => {
                    let condition = match condition {
                        Condition::NotNegative(forms) => {
                            Condition::NotNegative(forms.iter().map(|form| self.form(form)).collect())
                        }
                        Condition::Value(value) => Condition::Value(self.value(b, *value)),
                    };
                    let (then, ()) = b.scope(|b| self.scope(b, then, combine));
                    let (otherwise, ()) = b.scope(|b| self.scope(b, otherwise, combine));
                    b.branch(condition, then, otherwise);
                }
                Stmt::Nest(nest) => {
                    let mut nest: Nest = (**nest).clone();
                    for (lo, hi) in &mut nest.bounds {
                        (*lo, *hi) = (self.form(lo), self.all(hi).into());
                    }
                    nest.buffers.iter_mut().for_each(|buffer| buffer.first = self.location(&buffer.first));
                    nest.params.iter_mut().for_each(|param| *param = self.value(b, *param));
                    b.push(Stmt::Nest(Box::new(nest)));
                }
                Stmt::Combine(items) => {
                    let items: Vec<Elem> = items.iter().map(|&item| self.elem(b, item)).collect();
                    combine(b, &items);
                }
                Stmt::Reduce(reduce) => {
                    let mut reduce: Reduce = (**reduce).clone();
                    reduce.points = self.all(&reduce.points).into();
                    for (_, total) in &mut reduce.accumulators {
                        let buffers = total.buffers.iter_mut().map(|(buffer, _)| buffer).chain(&mut total.flag);
                        buffers.for_each(|buffer| *buffer = self.locals.get(buffer).copied().unwrap_or(*buffer));
                    }
                    let index = b.k.undefined(DType::I64, 0);
                    self.forms.insert(std::mem::replace(&mut reduce.index, index), index.into());
                    (reduce.body, ()) = b.scope(|b| self.scope(b, &reduce.body, &mut keep));
                    b.push(Stmt::Reduce(Box::new(reduce)));
                }
                Stmt::Fail => b.fail(),
            }
        }
    }

    fn inst(&mut self, b: &mut ProgramBuilder, inst: &KInst) {
        let args: SmallVec<[KValue; 3]> = inst.args.iter().map(|&arg| self.value(b, arg)).collect();
        b.k.set_loc(inst.loc);
        let dtypes: SmallVec<[DType; 2]> =
            (0..inst.results).map(|result| b.k.dtype(KValue(inst.first.0 + result))).collect();
        let first = match (&inst.op, &dtypes[..]) {
            (KOp::Const(bits), &[dtype]) => b.k.constant(Scalar::from_bits(dtype, (*bits, 0))),
            (op, &[dtype]) => b.k.push(op.clone(), &args, dtype),
            (op, dtypes) => b.k.push_many(op.clone(), &args, dtypes),
        };
        for result in 0..inst.results {
            self.forms.insert(KValue(inst.first.0 + result), KValue(first.0 + result).into());
        }
    }

    /// The new value of a value.
    pub fn value(&self, b: &mut ProgramBuilder, value: KValue) -> KValue {
        match self.forms.get(&value) {
            Some(form) => b.value(&form.clone()),
            None => value,
        }
    }

    /// The new element of an element.
    pub fn elem(&self, b: &mut ProgramBuilder, elem: Elem) -> Elem {
        let Elem { dtype, re, im } = elem;
        Elem { dtype, re: self.value(b, re), im: im.map(|im| self.value(b, im)) }
    }

    /// Puts a form in place of a value.
    pub fn set(&mut self, value: KValue, form: Linear) {
        self.forms.insert(value, form);
    }

    /// The new form of a form.
    pub fn form(&self, form: &Linear) -> Linear {
        let constant = Linear::constant(form.constant);
        form.terms().iter().fold(constant, |sum, &(value, coefficient)| match self.forms.get(&value) {
            Some(new) => sum.plus_scaled(new, coefficient),
            None => sum.plus_term(value, coefficient),
        })
    }

    /// The new forms of some forms.
    pub fn all(&self, forms: &[Linear]) -> Vec<Linear> {
        forms.iter().map(|form| self.form(form)).collect()
    }

    /// The new location of a location.
    pub fn location(&self, location: &Location) -> Location {
        let buffer = self.locals.get(&location.buffer).copied().unwrap_or(location.buffer);
        Location { buffer, part: location.part, at: location.at.iter().map(|form| self.form(form)).collect() }
    }
}
