//! Copies of statements, which define values and local buffers of their own.

use super::{BufferDecl, For, If, Linear, Location, Nest, NestBuffer, Program, Reduce, Stmt};
use crate::kernel::{KInst, KValue};
use crate::program::Condition;
use crate::scalar::Elem;
use rewright_ir::DType;
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl Program {
    /// A copy of statements, which have values and local buffers of their own.
    pub(super) fn copy(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        let (new, new_buffers) = Default::default();
        let (values, buffers) = (Arc::make_mut(&mut self.values), &mut self.buffers);
        Renamer { values, buffers, new, new_buffers }.scope(stmts)
    }

    /// A new value.
    pub(super) fn fresh(&mut self, dtype: DType) -> KValue {
        let values = Arc::make_mut(&mut self.values);
        values.push(dtype);
        KValue(values.len() as u32 - 1)
    }
}

struct Renamer<'a> {
    values: &'a mut Vec<DType>,
    buffers: &'a mut Vec<BufferDecl>,
    new: FxHashMap<KValue, KValue>,
    /// The new local buffers.
    new_buffers: FxHashMap<u32, u32>,
}

impl Renamer<'_> {
    fn scope(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        stmts.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        match stmt {
            Stmt::Inst(inst) => {
                let args = inst.args.iter().map(|&arg| self.used(arg)).collect();
                let first = KValue(self.values.len() as u32);
                (inst.first.0..inst.first.0 + inst.results).for_each(|result| {
                    self.defined(KValue(result));
                });
                Stmt::Inst(KInst { args, first, ..inst.clone() })
            }
            Stmt::Load(value, location) => {
                let location = self.location(location);
                Stmt::Load(self.defined(*value), location)
            }
            Stmt::Local(local) => {
                let new = self.buffers.len() as u32;
                self.buffers.push(self.buffers[*local as usize].clone());
                self.new_buffers.insert(*local, new);
                Stmt::Local(new)
            }
            Stmt::Store(location, value) => Stmt::Store(self.location(location), self.used(*value)),
            Stmt::For(nest) => {
                let (lo, hi) = (self.form(&nest.lo), nest.hi.iter().map(|hi| self.form(hi)).collect());
                Stmt::For(For { index: self.defined(nest.index), lo, hi, body: self.scope(&nest.body) })
            }
            Stmt::If(branch) => {
                let condition = match &branch.condition {
                    Condition::NotNegative(forms) => {
                        Condition::NotNegative(forms.iter().map(|form| self.form(form)).collect())
                    }
                    Condition::Value(value) => Condition::Value(self.used(*value)),
                };
                Stmt::If(If { condition, then: self.scope(&branch.then), otherwise: self.scope(&branch.otherwise) })
            }
            Stmt::Reduce(reduce) => {
                let points = reduce.points.iter().map(|form| self.form(form)).collect();
                let mut accumulators = reduce.accumulators.clone();
                for (_, total) in &mut accumulators {
                    let buffers = total.buffers.iter_mut().map(|(buffer, _)| buffer).chain(&mut total.flag);
                    buffers.for_each(|buffer| *buffer = self.buffer(*buffer));
                }
                let index = self.defined(reduce.index);
                let body = self.scope(&reduce.body);
                Stmt::Reduce(Box::new(Reduce { index, points, tree: reduce.tree, accumulators, body }))
            }
            Stmt::Combine(items) => {
                let item = |item: &Elem| Elem { re: self.used(item.re), im: item.im.map(|im| self.used(im)), ..*item };
                Stmt::Combine(items.iter().map(item).collect())
            }
            Stmt::Nest(nest) => {
                let bound = |hi: &Linear| self.form(hi);
                let bounds = nest.bounds.iter().map(|(lo, hi)| (self.form(lo), hi.iter().map(bound).collect()));
                let buffer = |buffer: &NestBuffer| NestBuffer {
                    first: self.location(&buffer.first),
                    along: buffer.along.clone(),
                };
                let params = nest.params.iter().map(|&param| self.used(param)).collect();
                let buffers = nest.buffers.iter().map(buffer).collect();
                Stmt::Nest(Box::new(Nest { bounds: bounds.collect(), buffers, params, ..(**nest).clone() }))
            }
            Stmt::Fail => Stmt::Fail,
        }
    }

    fn defined(&mut self, value: KValue) -> KValue {
        let new = KValue(self.values.len() as u32);
        self.values.push(self.values[value.0 as usize]);
        self.new.insert(value, new);
        new
    }

    fn used(&self, value: KValue) -> KValue {
        self.new.get(&value).copied().unwrap_or(value)
    }

    fn buffer(&self, buffer: u32) -> u32 {
        self.new_buffers.get(&buffer).copied().unwrap_or(buffer)
    }

    fn form(&self, form: &Linear) -> Linear {
        let constant = Linear::constant(form.constant);
        form.terms().iter().fold(constant, |sum, &(value, coefficient)| sum.plus_term(self.used(value), coefficient))
    }

    fn location(&self, location: &Location) -> Location {
        let buffer = self.buffer(location.buffer);
        Location { buffer, at: location.at.iter().map(|form| self.form(form)).collect(), ..*location }
    }
}
