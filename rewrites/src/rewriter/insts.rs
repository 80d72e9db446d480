//! New instructions, and changes of instructions.

use super::{Point, Rewriter};
use crate::change::Change;
use crate::error::RewriteError;
use rewright_ir::builder::{find_op, infer, resolve_literals};
use rewright_ir::op::Effects;
use rewright_ir::{Arg, Attrs, Block, Inst, Op, Targets, Type, TypeError, Value, ValueDef};
use smallvec::SmallVec;

impl Rewriter<'_> {
    /// Inserts an instruction and returns its only result.
    pub fn op(&mut self, name: &str, args: impl IntoIterator<Item = impl Into<Arg>>) -> Result<Value, RewriteError> {
        self.op_with(name, args, Attrs::new())
    }

    /// The same, with attributes.
    pub fn op_with(
        &mut self,
        name: &str,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        attrs: Attrs,
    ) -> Result<Value, RewriteError> {
        let inst = self.insert(find_op(name)?, args, attrs)?;
        match self.func.inst(inst).results.as_slice() {
            [one] => Ok(*one),
            many => Err(RewriteError::refused(format!("`{name}` has {} results here, not one", many.len()))),
        }
    }

    /// Inserts an instruction: resolves the dtypes of literals, checks attributes, and infers result types.
    pub fn insert(
        &mut self,
        op: Op,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        attrs: Attrs,
    ) -> Result<Inst, RewriteError> {
        if op.is_terminator() {
            return Err(RewriteError::refused(format!("`{op}` ends a block: use `set_terminator`")));
        }
        self.insert_any(op, args, attrs, Targets::default())
    }

    pub(super) fn insert_any(
        &mut self,
        op: Op,
        args: impl IntoIterator<Item = impl Into<Arg>>,
        attrs: Attrs,
        targets: Targets,
    ) -> Result<Inst, RewriteError> {
        let args: SmallVec<[Arg; 4]> = args.into_iter().map(Into::into).collect();
        for arg in &args {
            if let Arg::Value(value) = arg {
                self.alive(*value)?;
            }
        }
        let callee = attrs.func("callee").and_then(|name| self.signature(name));
        let returns: &[Type] = if op.name == "ret" { &self.func.results.clone() } else { &[] };
        let values = resolve_literals(self.func, op, &args, &attrs, |i| {
            callee.as_ref().and_then(|s| s.params.get(i).cloned()).or_else(|| returns.get(i).cloned())
        })?;
        let (attrs, types) = infer(self.func, op, &values, attrs, callee.as_ref())?;
        let inst = self.func.create_inst(op, values, attrs, targets, types, self.loc);
        self.place(inst)?;
        self.fresh.insert(inst);
        self.touched.inst(self.func, inst);
        self.analyses.ends(self.func, inst);
        self.log.push(Change::Inserted(inst));
        self.operands_reach(inst)?;
        Ok(inst)
    }

    /// Links a new instruction at the insertion point.
    fn place(&mut self, inst: Inst) -> Result<(), RewriteError> {
        let ends = self.func.inst(inst).op.is_terminator();
        match self.point {
            None => return Err(RewriteError::refused("set a point before making instructions")),
            Some(Point::Before(at)) => {
                self.linked(at)?;
                self.func.insert_before(at, inst);
            }
            Some(Point::After(at)) => {
                let block = self.linked(at)?;
                match self.func.next_inst(at) {
                    Some(next) => self.func.insert_before(next, inst),
                    None if self.func.inst(at).op.is_terminator() => {
                        return Err(RewriteError::refused("nothing can stand after a terminator"));
                    }
                    None => self.func.append(block, inst),
                }
                self.point = Some(Point::After(inst));
            }
            Some(Point::End(block)) => {
                self.has_block(block)?;
                if self.func.terminator(block).is_some() {
                    return Err(RewriteError::refused("nothing can stand after a terminator"));
                }
                self.func.append(block, inst);
            }
        }
        match ends && self.func.next_inst(inst).is_some() {
            true => Err(RewriteError::refused("a terminator can only stand at the end of a block")),
            false => Ok(()),
        }
    }

    /// Checks that the operands of a new instruction are defined at its position, as far as possible before
    /// the rewrite ends.
    fn operands_reach(&self, inst: Inst) -> Result<(), RewriteError> {
        let home = self.linked(inst)?;
        for value in self.func.inst(inst).uses() {
            let reached = match self.func.def(value) {
                ValueDef::Const(_) => true,
                ValueDef::Result(def, _) if self.func.block_of(def) == Some(home) => {
                    self.func.comes_before(def, inst) || !self.is_reachable(home)
                }
                _ => true,
            };
            if !reached {
                let message = format!("`{}` uses a value that is defined after it", self.func.inst(inst).op);
                return Err(RewriteError::refused(message));
            }
        }
        Ok(())
    }

    /// Replaces the attributes of an instruction. Its result types must stay the same or become more
    /// precise.
    pub fn set_attrs(&mut self, inst: Inst, attrs: Attrs) -> Result<(), RewriteError> {
        self.whole(|rw| rw.change_attrs(inst, attrs))
    }

    fn change_attrs(&mut self, inst: Inst, attrs: Attrs) -> Result<(), RewriteError> {
        self.linked(inst)?;
        let data = self.func.inst(inst);
        let callee = attrs.func("callee").and_then(|name| self.signature(name));
        let (attrs, types) = infer(self.func, data.op, &data.args, attrs, callee.as_ref())?;
        if attrs == data.attrs {
            return Ok(());
        }
        self.touched.inst(self.func, inst);
        self.func.set_attrs(inst, attrs);
        self.log.push(Change::Attrs(inst));
        self.retype(inst, &types)
    }

    /// Replaces one use. Slot `index` counts operands first, then branch arguments.
    pub fn set_use(&mut self, inst: Inst, index: usize, value: Value) -> Result<(), RewriteError> {
        self.whole(|rw| rw.change_use(inst, index, value))
    }

    fn change_use(&mut self, inst: Inst, index: usize, value: Value) -> Result<(), RewriteError> {
        self.linked(inst)?;
        self.alive(value)?;
        let Some(old) = self.func.inst(inst).uses().nth(index) else {
            return Err(RewriteError::refused(format!("there is no use {index}")));
        };
        if old == value {
            return Ok(());
        }
        self.touched.know_uses(self.func, inst);
        self.touched.inst(self.func, inst);
        self.func.set_use(inst, index, value);
        self.analyses.ends(self.func, inst);
        self.touched.use_of(self.func, value);
        self.log.push(Change::Operand(inst, index));
        if index < self.func.inst(inst).args.len() { self.reinfer(inst) } else { Ok(()) }
    }

    /// Moves an instruction before another one of any block.
    pub fn move_before(&mut self, inst: Inst, at: Inst) -> Result<(), RewriteError> {
        let (from, to) = (self.linked(inst)?, self.linked(at)?);
        if self.func.inst(inst).op.is_terminator() {
            return Err(RewriteError::refused("a terminator can't be moved"));
        }
        if inst == at || self.func.next_inst(inst) == Some(at) {
            return Ok(());
        }
        self.touched.inst(self.func, inst);
        self.touched.blocks.extend([from, to]);
        self.func.move_before(at, inst);
        let results = self.func.inst(inst).results.clone();
        for result in results {
            self.touched.insts.extend(self.func.users(result));
        }
        self.log.push(Change::Moved(inst));
        Ok(())
    }

    /// Erases an instruction. Its results must be unused.
    pub fn erase(&mut self, inst: Inst) -> Result<(), RewriteError> {
        self.linked(inst)?;
        let data = self.func.inst(inst);
        if data.op.is_terminator() {
            return Err(RewriteError::refused("a terminator can't be erased: use `set_terminator`"));
        }
        if let Some(&used) = data.results.iter().find(|&&r| self.func.use_count(r) > 0) {
            let count = self.func.use_count(used);
            return Err(RewriteError::refused(format!("`{}` can't be erased: it has {count} uses left", data.op)));
        }
        self.erase_unchecked(inst);
        Ok(())
    }

    pub(super) fn erase_unchecked(&mut self, inst: Inst) {
        self.touched.know_uses(self.func, inst);
        self.touched.inst(self.func, inst);
        self.touched.erased(self.func, inst);
        let op = self.func.inst(inst).op;
        self.func.erase(inst);
        self.log.push(Change::Erased(inst, op));
    }

    /// Erases instructions, and block parameters with their branch arguments, that nothing else uses. They
    /// may use each other.
    pub fn erase_all(&mut self, insts: &[Inst], params: &[(Block, usize)]) -> Result<(), RewriteError> {
        self.whole(|rw| rw.erase_together(insts, params))
    }

    fn erase_together(&mut self, insts: &[Inst], params: &[(Block, usize)]) -> Result<(), RewriteError> {
        for &(block, index) in params {
            self.has_block(block)?;
            if self.func.block_params(block).len() <= index || self.func.entry() == Some(block) {
                return Err(RewriteError::refused("only a parameter of a block that is not the entry can be erased"));
            }
        }
        let values: Vec<Value> = params.iter().map(|&(block, index)| self.func.block_params(block)[index]).collect();
        self.drop_branch_args(params);
        for &inst in insts.iter().rev() {
            self.linked(inst)?;
            if self.func.inst(inst).op.is_terminator() {
                return Err(RewriteError::refused("a terminator can't be erased: use `set_terminator`"));
            }
            self.erase_unchecked(inst);
        }
        let results = insts.iter().flat_map(|&i| self.func.inst(i).results.iter().copied());
        if results.chain(values.iter().copied()).any(|v| self.func.use_count(v) > 0) {
            return Err(RewriteError::refused("the erased instructions or parameters are used elsewhere"));
        }
        for value in values {
            self.remove_param_value(value);
        }
        Ok(())
    }

    /// Infers the result types of an instruction again, and those of its users if they change.
    pub(super) fn reinfer(&mut self, inst: Inst) -> Result<(), RewriteError> {
        let data = self.func.inst(inst);
        let callee = data.attrs.func("callee").and_then(|name| self.signature(name));
        let (_, types) = infer(self.func, data.op, &data.args, data.attrs.clone(), callee.as_ref())?;
        self.retype(inst, &types)
    }

    /// Refines the types of results, and then those of their users.
    fn retype(&mut self, inst: Inst, types: &[Type]) -> Result<(), RewriteError> {
        let mut users: Vec<Inst> = Vec::new();
        let set = self.set_types(inst, types, &mut users);
        set.map_err(|why| RewriteError::refused(format!("`{}` {why}", self.func.inst(inst).op)))?;
        self.propagate(users)
    }

    /// Updates the types of instructions whose operands became more precise, and then those of their users.
    pub(super) fn propagate(&mut self, mut users: Vec<Inst>) -> Result<(), RewriteError> {
        while let Some(user) = users.pop() {
            // Computed only now, because other operands may have become more precise since.
            let fits = match self.types_now(user) {
                Ok(None) => self.admits(user),
                Ok(Some(types)) => self.set_types(user, &types, &mut users),
                Err(why) => Err(format!("fails whenever it runs: {}", why.message)),
            };
            fits.map_err(|why| self.declined(user, why))?;
        }
        Ok(())
    }

    /// The error for an instruction that contradicts more precise types: an old instruction declines the
    /// application.
    fn declined(&self, inst: Inst, why: String) -> RewriteError {
        let data = self.func.inst(inst);
        match self.fresh.contains(&inst) {
            true => RewriteError::refused(format!("`{}` {why}", data.op)),
            false => RewriteError::Declined { op: data.op.name, loc: data.loc, why },
        }
    }

    /// Checks that the values that a terminator passes, with more precise types, still have the required
    /// types.
    fn admits(&self, inst: Inst) -> Result<(), String> {
        let data = self.func.inst(inst);
        let results = data.args.iter().zip(&self.func.results).filter(|_| data.op.name == "ret");
        let edges = data.targets.iter().flat_map(|t| t.args.iter().zip(self.func.block_params(t.block)));
        let edges = edges.map(|(arg, &param)| (arg, self.func.ty(param)));
        let mut all = results.chain(edges).map(|(&value, wanted)| (self.func.ty(value), wanted));
        match all.find(|(given, wanted)| !given.fits(wanted)) {
            None => Ok(()),
            Some((given, wanted)) => {
                Err(format!("fails whenever it runs: it hands on {given} where {wanted} is wanted"))
            }
        }
    }

    /// Refines the result types of one instruction, and adds the users of changed results.
    fn set_types(&mut self, inst: Inst, types: &[Type], users: &mut Vec<Inst>) -> Result<(), String> {
        let results = self.func.inst(inst).results.clone();
        if results.len() != types.len() {
            return Err(format!("would have {} results", types.len()));
        }
        for (result, ty) in results.into_iter().zip(types) {
            if self.func.ty(result) == ty {
                continue;
            }
            if !ty.refines(self.func.ty(result)) {
                return Err(format!("would give {ty} instead of {}", self.func.ty(result)));
            }
            self.set_type(result, ty.clone());
            users.extend(self.func.users(result));
        }
        Ok(())
    }

    fn set_type(&mut self, value: Value, ty: Type) {
        self.func.set_type(value, ty);
        self.touched.use_of(self.func, value);
        self.touched.insts.extend(self.func.def_inst(value));
        self.touched.insts.extend(self.func.users(value));
        self.log.push(Change::Type(value));
    }

    /// The types that the type rule gives now; `None` for terminators and ops without results.
    fn types_now(&self, inst: Inst) -> Result<Option<SmallVec<[Type; 1]>>, TypeError> {
        let data = self.func.inst(inst);
        if data.results.is_empty() && !data.op.effects.intersects(Effects::WRITES | Effects::CALLS) {
            return Ok(None);
        }
        let callee = data.attrs.func("callee").and_then(|name| self.signature(name));
        infer(self.func, data.op, &data.args, data.attrs.clone(), callee.as_ref()).map(|(_, types)| Some(types))
    }
}
