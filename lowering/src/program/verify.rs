//! Well-formedness of loop programs.

use super::{Condition, Linear, Location, Nest, Program, Reduce, Stmt, Storage};
use crate::kernel::{KInst, KOp, KValue, Kernel, KernelError, Part, ValueInfo};
use crate::scalar::Elem;
use rewright_ir::DType;
use std::sync::Arc;

impl Program {
    /// Checks the rules that code generators rely on: each value is defined once, in a scope around its uses,
    /// dtypes agree, and each location has a position for each dim of its buffer.
    pub fn verify(&self) -> Result<(), KernelError> {
        self.scalar_kernel().verify()?;
        self.scalar_kernel().check_dtypes()?;
        let (defined, locals) = (vec![false; self.values.len()], vec![false; self.buffers.len()]);
        let mut verifier = ProgramVerifier { program: self, defined, locals, items: None, inst: 0 };
        verifier.scope(&self.body)
    }

    /// The scalar instructions as a kernel without loops, for the rules that hold for each instruction.
    pub fn scalar_kernel(&self) -> Kernel {
        let mut insts = Vec::new();
        self.each_inst(&mut |inst| insts.push(inst.clone()));
        let values = self.values.iter().map(|&dtype| ValueInfo { dtype, level: 0 }).collect();
        Kernel { params: self.params.clone(), values: Arc::new(values), insts: Arc::new(insts), ..Kernel::default() }
    }
}

struct ProgramVerifier<'a> {
    program: &'a Program,
    /// The values that are defined in the open scopes.
    defined: Vec<bool>,
    /// The local buffers that exist.
    locals: Vec<bool>,
    /// The dtypes that a point of the reduction around combines.
    items: Option<Vec<DType>>,
    /// The number of statements so far.
    inst: usize,
}

impl ProgramVerifier<'_> {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, KernelError> {
        Err(KernelError::Malformed { inst: self.inst, message: message.into() })
    }

    fn scope(&mut self, stmts: &[Stmt]) -> Result<(), KernelError> {
        let (mut own, mut own_locals) = (Vec::new(), Vec::new());
        for stmt in stmts {
            self.inst += 1;
            match stmt {
                Stmt::Inst(inst) => {
                    self.inst_is_scalar(inst)?;
                    inst.args.iter().try_for_each(|&arg| self.is_defined(arg))?;
                    for result in inst.first.0..inst.first.0 + inst.results {
                        self.define(KValue(result), &mut own)?;
                    }
                }
                Stmt::Load(value, location) => {
                    self.location(location, *value)?;
                    self.define(*value, &mut own)?;
                }
                Stmt::Local(buffer) => {
                    match self.program.buffers.get(*buffer as usize).map(|buffer| &buffer.storage) {
                        Some(Storage::Local { .. }) if !self.locals[*buffer as usize] => {}
                        _ => return self.fail(format!("buffer {buffer} is not local, or exists already")),
                    }
                    self.locals[*buffer as usize] = true;
                    own_locals.push(*buffer);
                }
                Stmt::Store(location, value) => {
                    self.location(location, *value)?;
                    self.is_defined(*value)?;
                }
                Stmt::For(nest) => {
                    nest.hi.iter().chain([&nest.lo]).try_for_each(|form| self.form(form))?;
                    if nest.hi.is_empty() {
                        return self.fail("a loop has no upper bound");
                    }
                    self.has_dtype(nest.index, DType::I64)?;
                    let mut index = Vec::new();
                    self.define(nest.index, &mut index)?;
                    self.scope(&nest.body)?;
                    self.close(index);
                }
                Stmt::If(branch) => {
                    match &branch.condition {
                        Condition::NotNegative(forms) => forms.iter().try_for_each(|form| self.form(form))?,
                        Condition::Value(value) => {
                            self.is_defined(*value)?;
                            self.has_dtype(*value, DType::Bool)?;
                        }
                    }
                    self.scope(&branch.then)?;
                    self.scope(&branch.otherwise)?;
                }
                Stmt::Reduce(reduce) => self.reduce(reduce)?,
                Stmt::Combine(items) => {
                    let dtypes = self.items.iter().flatten().copied();
                    if !items.iter().map(|item| item.dtype).eq(dtypes) {
                        return self.fail("the values that a point combines are not those of the accumulators");
                    }
                    items.iter().try_for_each(|item| self.elem(item))?;
                }
                Stmt::Nest(nest) => self.nest(nest)?,
                Stmt::Fail => {}
            }
        }
        self.close(own);
        own_locals.into_iter().for_each(|buffer| self.locals[buffer as usize] = false);
        Ok(())
    }

    fn reduce(&mut self, reduce: &Reduce) -> Result<(), KernelError> {
        reduce.points.iter().try_for_each(|form| self.form(form))?;
        if reduce.points.is_empty() || reduce.accumulators.is_empty() {
            return self.fail("a reduction has no number of points, or no accumulator");
        }
        self.has_dtype(reduce.index, DType::I64)?;
        let mut index = Vec::new();
        self.define(reduce.index, &mut index)?;
        let dtypes = reduce.accumulators.iter().flat_map(|(own, _)| own.dtypes.iter().copied()).collect();
        let outer = self.items.replace(dtypes);
        self.scope(&reduce.body)?;
        self.items = outer;
        self.close(index);
        for (accumulator, total) in &reduce.accumulators {
            if let Some(buffer) = total.all().find(|&buffer| !self.locals[buffer as usize]) {
                return self.fail(format!("the total {buffer} is used outside of its scope"));
            }
            let mut own = Vec::new();
            let mut operands = accumulator.left.iter().chain(&accumulator.right).flat_map(Elem::parts);
            operands.try_for_each(|part| self.define(part, &mut own))?;
            // The result is a value of the scope that combines.
            let mut body = accumulator.body.clone();
            body.push(Stmt::Combine(accumulator.both.clone()));
            let outer = self.items.replace(accumulator.dtypes.to_vec());
            self.scope(&body)?;
            self.items = outer;
            self.close(own);
        }
        Ok(())
    }

    fn elem(&self, elem: &Elem) -> Result<(), KernelError> {
        elem.parts().try_for_each(|part| {
            self.is_defined(part)?;
            self.has_dtype(part, elem.dtype.real())
        })
    }

    fn nest(&self, nest: &Nest) -> Result<(), KernelError> {
        let kernel = &nest.kernel;
        if [nest.bounds.len(), nest.buffers.len(), nest.params.len()]
            != [kernel.axes, kernel.buffers.len(), kernel.params.len()]
        {
            return self.fail("a nest does not have the loops, buffers and parameters of its kernel");
        }
        for (lo, hi) in &nest.bounds {
            hi.iter().chain([lo]).try_for_each(|form| self.form(form))?;
        }
        for buffer in &nest.buffers {
            let rank = self.program.rank(buffer.first.buffer);
            if buffer.first.at.len() != rank || buffer.along.iter().any(|steps| steps.len() != rank) {
                return self.fail(format!("a nest has other positions than {rank} for buffer {}", buffer.first.buffer));
            }
            buffer.first.at.iter().try_for_each(|form| self.form(form))?;
        }
        nest.params.iter().zip(&kernel.params).try_for_each(|(&param, &dtype)| {
            self.is_defined(param)?;
            self.has_dtype(param, dtype)
        })
    }

    fn close(&mut self, own: Vec<KValue>) {
        own.into_iter().for_each(|value| self.defined[value.0 as usize] = false);
    }

    fn define(&mut self, value: KValue, own: &mut Vec<KValue>) -> Result<(), KernelError> {
        match self.defined.get_mut(value.0 as usize) {
            Some(defined) if !*defined => *defined = true,
            Some(_) => return self.fail(format!("{value:?} is defined twice")),
            None => return self.fail(format!("{value:?} has no dtype")),
        }
        own.push(value);
        Ok(())
    }

    fn is_defined(&self, value: KValue) -> Result<(), KernelError> {
        match self.defined.get(value.0 as usize) {
            Some(true) => Ok(()),
            _ => self.fail(format!("{value:?} is used outside of its scope")),
        }
    }

    fn has_dtype(&self, value: KValue, dtype: DType) -> Result<(), KernelError> {
        match self.program.values.get(value.0 as usize) {
            Some(&found) if found == dtype => Ok(()),
            found => self.fail(format!("{value:?} has dtype {found:?}, expected {dtype}")),
        }
    }

    fn inst_is_scalar(&self, inst: &KInst) -> Result<(), KernelError> {
        match inst.op {
            KOp::Load(..) | KOp::Store(..) | KOp::Index(_) => self.fail(format!("{:?} is no scalar op", inst.op)),
            _ => Ok(()),
        }
    }

    fn form(&self, form: &Linear) -> Result<(), KernelError> {
        for &(value, _) in form.terms() {
            self.is_defined(value)?;
            self.has_dtype(value, DType::I64)?;
        }
        Ok(())
    }

    fn location(&self, location: &Location, value: KValue) -> Result<(), KernelError> {
        let Some(buffer) = self.program.buffers.get(location.buffer as usize) else {
            return self.fail(format!("there is no buffer {}", location.buffer));
        };
        if self.program.is_local(location.buffer) && !self.locals[location.buffer as usize] {
            return self.fail(format!("local buffer {} is used outside of its scope", location.buffer));
        }
        let rank = self.program.rank(location.buffer);
        if location.at.len() != rank {
            return self.fail(format!("{} positions for {rank} dims of buffer {}", location.at.len(), location.buffer));
        }
        if location.part == Part::Im && !buffer.dtype.is_complex() {
            return self.fail(format!("buffer {} has no imaginary parts", location.buffer));
        }
        self.has_dtype(value, buffer.dtype.real())?;
        location.at.iter().try_for_each(|form| self.form(form))
    }
}
