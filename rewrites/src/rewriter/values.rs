//! Replacement of values.

use super::Rewriter;
use super::dels::Ends;
use crate::change::Change;
use crate::error::RewriteError;
use rewright_ir::{Arg, Attrs, Inst, Literal, Scalar, Value};
use smallvec::SmallVec;

impl Rewriter<'_> {
    /// The value of a constant.
    pub fn constant(&mut self, scalar: impl Into<Scalar>) -> Value {
        self.func.constant(scalar.into())
    }

    /// Replaces all uses of an instruction's results by these values, and erases the instruction.
    ///
    /// Each value has the type of the result, or a type with constants or symbols in place of some `?`. If a
    /// `store` or a call may write to either value, the replacement must be new in this application and must
    /// not have other uses, because the content of a value depends on when it is read.
    ///
    /// The `del`s of old and new values become one, after the last use, or none.
    pub fn replace(&mut self, inst: Inst, values: &[Value]) -> Result<(), RewriteError> {
        self.whole(|rw| rw.replace_results(inst, values))
    }

    fn replace_results(&mut self, inst: Inst, values: &[Value]) -> Result<(), RewriteError> {
        self.linked(inst)?;
        let results = self.func.inst(inst).results.clone();
        if results.len() != values.len() {
            let (op, want, got) = (self.func.inst(inst).op, results.len(), values.len());
            return Err(RewriteError::refused(format!("`{op}` has {want} results, got {got} values for them")));
        }
        for (old, &new) in results.into_iter().zip(values) {
            self.replace_uses(old, new)?;
        }
        self.erase(inst)
    }

    /// Replaces an instruction by a new one.
    pub fn replace_with(
        &mut self,
        inst: Inst,
        name: &str,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        attrs: Attrs,
    ) -> Result<Inst, RewriteError> {
        self.linked(inst)?;
        self.set_point(super::Point::Before(inst));
        let new = self.insert(rewright_ir::builder::find_op(name)?, args, attrs)?;
        let values = self.func.inst(new).results.clone();
        self.replace(inst, &values)?;
        Ok(new)
    }

    /// Replaces the results of an instruction by constants.
    pub fn replace_with_constants(&mut self, inst: Inst, scalars: &[Scalar]) -> Result<(), RewriteError> {
        let values: SmallVec<[Value; 2]> = scalars.iter().map(|&s| self.constant(s)).collect();
        self.replace(inst, &values)
    }

    /// Replaces all uses of one value by another, under the conditions of [`replace`](Rewriter::replace).
    pub fn replace_uses(&mut self, old: Value, new: Value) -> Result<(), RewriteError> {
        self.whole(|rw| rw.change_uses(old, new))
    }

    fn change_uses(&mut self, old: Value, new: Value) -> Result<(), RewriteError> {
        self.alive(old)?;
        self.alive(new)?;
        if old == new {
            return Err(RewriteError::refused("a value can't replace itself"));
        }
        self.may_replace(old, new)?;
        let ends = Ends::of(self, old, new);
        let refined = self.func.ty(old) != self.func.ty(new);
        if self.is_fresh(new) && self.func.value_name(new).is_none() {
            self.func.set_value_name(new, self.func.value_name(old));
        }
        let users = self.func.users(old);
        for &user in &users {
            self.touched.operand(self.func, user, new);
        }
        self.func.replace_all_uses(old, new);
        self.touched.use_of(self.func, new);
        self.touched.use_of(self.func, old);
        self.log.push(Change::Replaced { old, new });
        let constant = self.func.as_const(new).is_some();
        for &user in &users {
            // A type rule may depend on constants.
            let data = self.func.inst(user);
            if refined || (constant && !data.op.is_elementwise() && !data.results.is_empty()) {
                self.propagate(vec![user])?;
            }
        }
        self.settle(ends, new, &users)
    }

    fn may_replace(&self, old: Value, new: Value) -> Result<(), RewriteError> {
        let (have, want) = (self.func.ty(new), self.func.ty(old));
        if !have.refines(want) {
            return Err(RewriteError::refused(format!("a value of type {have} can't replace one of type {want}")));
        }
        let written = self.analyses.written(self.func, self.module);
        let moves_along = self.is_fresh(new) && self.func.use_count(new) == 0;
        if !moves_along && (written.contains(&old) || written.contains(&new)) {
            let message = "a value that something writes to can't be replaced by, or replace, another one";
            return Err(RewriteError::refused(message));
        }
        Ok(())
    }

    /// True if the value was created in this application.
    fn is_fresh(&self, value: Value) -> bool {
        self.func.def_inst(value).is_some_and(|inst| self.fresh.contains(&inst))
    }

    /// A literal at a dtype, as a value; an error if the dtype can't represent it.
    pub fn literal(&mut self, literal: impl Into<Literal>, dtype: rewright_ir::DType) -> Result<Value, RewriteError> {
        let scalar = rewright_ir::builder::literal_at(literal.into(), dtype)?;
        Ok(self.constant(scalar))
    }
}
