//! A nest of `broadcasted` in topological order: the computation behind `materialize`.

use crate::absorption;
use crate::element::{Cell, zero};
use crate::lazy::Lazy;
use crate::ops::broadcasted::{self, BROADCASTED};
use rewright::ir::Effects;
use rewright::ir::expr::{Body, BodyRef};
use rewright::ir::inline_function;
use rewright::{DType, Function, Inst, Loc, MatchCx, Module, Name, Op, Scalar, Type, Value};
use std::collections::HashMap;

/// A part of a nest. Its operands are numbers of earlier parts.
#[derive(Clone, Debug)]
pub enum Part {
    /// A constant of the program.
    Constant(Scalar),
    /// A scalar, or an array of any style.
    Leaf(Value),
    /// A function of other parts.
    Applied {
        /// The instruction.
        inst: Inst,
        /// The op or the function.
        function: Applied,
        /// Its operands.
        args: Vec<usize>,
    },
}

impl Part {
    /// The dtype of the element.
    pub fn dtype(&self, func: &Function) -> DType {
        match self {
            Part::Constant(scalar) => scalar.dtype(),
            Part::Leaf(value) => func.ty(*value).dtype(),
            Part::Applied { inst, .. } => func.ty(func.inst(*inst).results[0]).dtype(),
        }
    }
}

/// The applied function.
#[derive(Clone, Copy, Debug)]
pub enum Applied {
    /// An elementwise op.
    Op(Op),
    /// A function of scalars.
    Callee(Name),
}

/// A nest; its last part is the result.
#[derive(Clone, Debug)]
pub struct Nest {
    /// The parts, each after its operands.
    pub parts: Vec<Part>,
}

/// The most parts of one nest.
const MOST: usize = 1 << 14;

impl Nest {
    /// The nest of a value; the error says why it can't be computed at `root`.
    pub fn of(cx: &MatchCx<'_>, root: Inst, value: Value) -> Result<Nest, String> {
        let nest = Nest::parts_of(cx.func(), value)?;
        nest.unwritten(cx, root)?;
        Ok(nest)
    }

    /// The nest of a value, without a check for later writes to its operands.
    ///
    /// # Errors
    ///
    /// It is too large, or a function of it is not known.
    pub fn parts_of(func: &Function, value: Value) -> Result<Nest, String> {
        let mut nest = Nest { parts: Vec::new() };
        let mut number: HashMap<Value, usize> = HashMap::new();
        // Post-order traversal with an explicit stack; the flag says that the operands are done.
        let mut stack = vec![(value, false)];
        while let Some((value, ready)) = stack.pop() {
            if number.contains_key(&value) {
                continue;
            }
            let inst = broadcasted(func, value);
            if let Some(inst) = inst.filter(|_| !ready) {
                stack.push((value, true));
                stack.extend(func.inst(inst).args.iter().rev().map(|&arg| (arg, false)));
                continue;
            }
            let part = match (inst, func.as_const(value)) {
                (_, Some(constant)) => Part::Constant(constant),
                (None, None) => Part::Leaf(value),
                (Some(inst), None) => {
                    let data = func.inst(inst);
                    let op = broadcasted::op(&data.attrs).map_err(|error| error.message)?;
                    let function = match (op, data.attrs.func("callee")) {
                        (Some(op), _) => Applied::Op(op),
                        (None, Some(callee)) => Applied::Callee(callee),
                        (None, None) => return Err("it applies no function".into()),
                    };
                    Part::Applied { inst, function, args: data.args.iter().map(|arg| number[arg]).collect() }
                }
            };
            number.insert(value, nest.parts.len());
            nest.parts.push(part);
            if nest.parts.len() > MOST {
                return Err(format!("it has more than {MOST} parts"));
            }
        }
        Ok(nest)
    }

    /// Appends the nest's computation of one element to `cell`; `leaf` gives the elements of leaves.
    pub fn element(
        &self,
        cell: &mut Cell<'_>,
        module: &Module,
        mut leaf: impl FnMut(&mut Cell<'_>, Value) -> Result<(BodyRef, DType), String>,
    ) -> Result<BodyRef, String> {
        let mut elements: Vec<(BodyRef, DType)> = Vec::new();
        for part in &self.parts {
            elements.push(match part {
                Part::Constant(scalar) => (BodyRef::Const(*scalar), scalar.dtype()),
                Part::Leaf(value) => leaf(cell, *value)?,
                Part::Applied { inst, function, args } => {
                    let given: Vec<(BodyRef, DType)> = args.iter().map(|&n| elements[n]).collect();
                    let (dtype, loc) = cell.result_of(*inst);
                    let element = match function {
                        Applied::Op(op) => {
                            let refs: Vec<BodyRef> = given.iter().map(|(element, _)| *element).collect();
                            let element = cell.op_with(*op, cell.attrs_of(*inst), &refs, dtype, loc);
                            match cell.absorbs(*inst, *op) {
                                true => absorption::select(cell, &given, element, dtype)?,
                                false => element,
                            }
                        }
                        Applied::Callee(name) => {
                            let callee = module.get(*name).ok_or_else(|| format!("there is no function `@{name}`"))?;
                            inline_function(&mut cell.body, module, callee, &given, loc)?[0]
                        }
                    };
                    (element, dtype)
                }
            });
        }
        elements.last().map(|(element, _)| *element).ok_or_else(|| "an empty nest".into())
    }

    /// Checks that all functions of scalars can be inlined in an expression; the error says why not.
    pub fn inlines(&self, module: &Module) -> Result<(), String> {
        for part in &self.parts {
            let Part::Applied { function: Applied::Callee(name), args, .. } = part else { continue };
            let callee = module.get(*name).ok_or_else(|| format!("there is no function `@{name}`"))?;
            if callee.params().iter().any(|&param| callee.ty(param).is_array()) {
                return Err(format!("`@{name}` takes an array as one element"));
            }
            let given: Vec<_> = callee.params().iter().map(|&p| callee.ty(p).dtype()).collect();
            let given: Vec<_> = given.into_iter().map(|dtype| (BodyRef::Const(zero(dtype)), dtype)).collect();
            if given.len() == args.len() {
                inline_function(&mut Body::default(), module, callee, &given, Loc::default())
                    .map_err(|why| format!("`@{name}`: {why}"))?;
            }
        }
        Ok(())
    }

    /// The values that are read.
    pub fn leaves(&self) -> impl Iterator<Item = Value> + '_ {
        self.parts.iter().filter_map(|part| if let Part::Leaf(value) = part { Some(*value) } else { None })
    }

    /// Checks that no leaf is written between the functions that read it and `root`.
    fn unwritten(&self, cx: &MatchCx<'_>, root: Inst) -> Result<(), String> {
        let func = cx.func();
        let written: Vec<Value> = self.leaves().filter(|&leaf| cx.is_written(leaf)).collect();
        if written.is_empty() {
            return Ok(());
        }
        let insts = self.parts.iter().filter_map(|part| match part {
            Part::Applied { inst, args, .. } => {
                let reads = |&n: &usize| matches!(self.parts[n], Part::Leaf(leaf) if written.contains(&leaf));
                args.iter().any(reads).then_some(*inst)
            }
            _ => None,
        });
        for inst in insts {
            if func.block_of(inst) != func.block_of(root) {
                return Err("an operand that is written to is read in another block".into());
            }
            let mut next = func.next_inst(inst);
            while let Some(at) = next.filter(|&at| at != root) {
                let data = func.inst(at);
                if data.op.effects.intersects(Effects::WRITES | Effects::CALLS) {
                    return Err(format!("`{}` comes between the functions and where they are applied", data.op));
                }
                next = func.next_inst(at);
            }
        }
        Ok(())
    }
}

/// The `broadcasted` that defines a value; none for leaves.
fn broadcasted(func: &Function, value: Value) -> Option<Inst> {
    // Results that are computed at once are leaves, like other arrays.
    let is_lazy = |ty: &Type| ty.is_scalar() || Lazy::is_lazy(ty);
    func.def_inst(value).filter(|&inst| func.inst(inst).op == BROADCASTED && is_lazy(func.ty(value)))
}

/// The arguments of a lazy type; other types have no known structure.
pub fn lazy_of(ty: &Type) -> Result<Lazy, String> {
    if Lazy::is_lazy(ty) { Lazy::of(ty) } else { Ok(Lazy::dense()) }
}
