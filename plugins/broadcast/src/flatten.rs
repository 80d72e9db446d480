//! Flattens a nest of `broadcasted`, or an `arrayexpr`, to one function of scalars with a flat list of
//! arguments.
//!
//! `broadcasted @flat(args...)` computes the same as the nest. Arguments are listed in the order in which
//! functions read them, once for each read. A shared function is applied once, so its arguments are listed
//! once. The flat function applies the nest's ops, calls its functions of scalars, and has no control flow
//! of its own.
//!
//! The body of an `arrayexpr` becomes the function, and its index maps say where it reads each argument.

use crate::absorption;
use crate::element::zero;
use crate::nest::{Applied, Nest, Part};
use crate::ops::broadcasted;
use rewright::ir::builder::{Arg, FuncBuilder};
use rewright::ir::expr::{BodyOp, BodyRef, Index, Source};
use rewright::{Attr, Attrs, DType, Function, Inst, Module, Name, Scalar, Type, TypeError, Value};

/// A nest as one function and the list of its arguments.
#[derive(Clone, Debug)]
pub struct FlatNest {
    /// The function: one parameter for each argument, and the nest's element as the result. It may call
    /// functions of the nest's module.
    pub function: Function,
    /// The arguments, in order.
    pub args: Vec<FlatArg>,
}

/// An argument of a flat nest.
#[derive(Clone, Debug)]
pub enum FlatArg {
    /// An array or a scalar, which is broadcast.
    Value(Value),
    /// A constant of the program.
    Constant(Scalar),
    /// An element of an array at an index map over the axes of an `arrayexpr`.
    Element(Value, Vec<Index>),
    /// The position along the n-th axis of an `arrayexpr`.
    Position(u32),
}

impl FlatArg {
    /// The dtype of the argument in a function.
    fn dtype(&self, func: &Function) -> DType {
        match self {
            FlatArg::Value(value) | FlatArg::Element(value, _) => func.ty(*value).dtype(),
            FlatArg::Constant(scalar) => scalar.dtype(),
            FlatArg::Position(_) => DType::I64,
        }
    }
}

impl FlatNest {
    /// The flat form of a value: a lazy array, the result of a `materialize` of one, or the result of an
    /// `arrayexpr`. The function is named `name`.
    ///
    /// # Errors
    ///
    /// The value is no nest; the module has a function of that name; or an `arrayexpr` has reductions,
    /// several results, or a guard, so that it is no function of one element of each argument.
    pub fn of(module: &Module, func: &Function, value: Value, name: Name) -> Result<FlatNest, String> {
        if module.get(name).is_some() {
            return Err(format!("the module has a function `@{name}`: choose another name for the flat one"));
        }
        let inst = func.def_inst(value).ok_or("a parameter is no nest: flatten the value of a function")?;
        let data = func.inst(inst);
        match data.op.name {
            "materialize" => FlatNest::of(module, func, data.args[0], name),
            "broadcasted" => {
                let nest = Nest::parts_of(func, value)?;
                nest.flatten(module, func, name)
            }
            "arrayexpr" => of_expression(module, func, inst, value, name),
            other => Err(format!("`{other}` makes no nest: `broadcasted`, `materialize` and `arrayexpr` do")),
        }
    }
}

impl Nest {
    /// The nest as one function of scalars, named `name`, and its arguments.
    ///
    /// # Errors
    ///
    /// The nest has no function, or one of its functions takes an array as one element.
    pub fn flatten(&self, module: &Module, func: &Function, name: Name) -> Result<FlatNest, String> {
        let is_array = |callee: &Function| callee.params().iter().any(|&param| callee.ty(param).is_array());
        let mut args = Vec::new();
        for part in &self.parts {
            let Part::Applied { function, args: taken, .. } = part else { continue };
            if let Applied::Callee(callee) = function {
                let known = module.get(*callee).ok_or_else(|| format!("there is no function `@{callee}`"))?;
                if is_array(known) {
                    return Err(format!(
                        "`@{callee}` takes an array as one element, and a flat function takes scalars"
                    ));
                }
            }
            args.extend(taken.iter().filter_map(|&n| match self.parts[n] {
                Part::Leaf(value) => Some(FlatArg::Value(value)),
                Part::Constant(scalar) => Some(FlatArg::Constant(scalar)),
                Part::Applied { .. } => None,
            }));
        }
        let Some(Part::Applied { inst: root, .. }) = self.parts.last() else {
            return Err("no function is applied: there is nothing to flatten".into());
        };
        let mut build = started(module, func, name, &args, dtype_of(func, *root));
        self.body(&mut build, func).map_err(|error| error.message)?;
        Ok(FlatNest { function: build.finish(), args })
    }

    fn body(&self, build: &mut FuncBuilder<'_>, func: &Function) -> Result<(), TypeError> {
        let mut params = build.func().params().to_vec().into_iter();
        let mut made: Vec<Option<Value>> = vec![None; self.parts.len()];
        for (n, part) in self.parts.iter().enumerate() {
            let Part::Applied { inst, function, args } = part else { continue };
            let args: Vec<Value> = args.iter().filter_map(|&n| made[n].or_else(|| params.next())).collect();
            let attrs = &func.inst(*inst).attrs;
            let dtype = dtype_of(func, *inst);
            let value = match function {
                Applied::Op(op) => {
                    let value = build.op_with(op.name, args.iter().copied(), broadcasted::attrs_of_op(attrs))?;
                    // The attribute `finite` has no effect on scalars.
                    let is_array = func.ty(func.inst(*inst).results[0]).is_array();
                    match is_array && absorption::is_asked(*op, attrs, dtype) {
                        true => absorbed(build, &args, value, dtype)?,
                        false => value,
                    }
                }
                Applied::Callee(callee) => {
                    build.op_with("ufunc", args, Attrs::new().with("callee", Attr::Func(*callee)))?
                }
            };
            made[n] = Some(value);
        }
        build.ret(made.last().copied().flatten())
    }
}

/// Selects zero where a factor is zero, else the product.
fn absorbed(build: &mut FuncBuilder<'_>, factors: &[Value], product: Value, dtype: DType) -> Result<Value, TypeError> {
    let mut is_zero: Option<Value> = None;
    for &factor in factors {
        let own = Arg::from(zero(build.func().ty(factor).dtype()));
        let this = build.op("eq", [Arg::from(factor), own])?;
        is_zero = Some(match is_zero {
            Some(other) => build.op("or", [other, this])?,
            None => this,
        });
    }
    match is_zero {
        Some(is_zero) => build.op("where", [Arg::from(is_zero), Arg::from(zero(dtype)), Arg::from(product)]),
        None => Ok(product),
    }
}

/// Starts a function with one scalar parameter for each argument.
fn started<'m>(module: &'m Module, func: &Function, name: Name, args: &[FlatArg], result: DType) -> FuncBuilder<'m> {
    let scalars: Vec<Type> = args.iter().map(|arg| Type::scalar(arg.dtype(func))).collect();
    let names: Vec<String> = (0..scalars.len()).map(|n| format!("a{n}")).collect();
    let params: Vec<(&str, Type)> = names.iter().map(String::as_str).zip(scalars).collect();
    FuncBuilder::new(name.as_str(), &params, vec![Type::scalar(result)]).in_module(module)
}

fn dtype_of(func: &Function, inst: Inst) -> DType {
    func.ty(func.inst(inst).results[0]).dtype()
}

/// One result of an `arrayexpr` as a function of the elements that it reads.
fn of_expression(module: &Module, func: &Function, inst: Inst, value: Value, name: Name) -> Result<FlatNest, String> {
    let data = func.inst(inst);
    let expr = data.attrs.expr().ok_or("an `arrayexpr` without an expression")?;
    if !expr.reductions.is_empty() || expr.finish.is_some() {
        return Err("the `arrayexpr` combines elements: only one that maps each element is a nest of functions".into());
    }
    if !expr.guard.is_empty() {
        return Err("the `arrayexpr` has a guard: the function would be applied at points that it leaves out".into());
    }
    let absent = "the body of the `arrayexpr` takes a value that it has not";
    let result = data.results.iter().position(|&result| result == value).ok_or(absent)?;
    let (out, element) = (expr.outs.get(result).ok_or(absent)?, *expr.body.yields.get(result).ok_or(absent)?);
    // Leaves out instructions that only other results need.
    let mut is_needed = vec![false; expr.body.insts.len()];
    let need = |is_needed: &mut Vec<bool>, element: BodyRef| {
        if let BodyRef::Inst(n, _) = element
            && let Some(needed) = is_needed.get_mut(n as usize)
        {
            *needed = true;
        }
    };
    need(&mut is_needed, element);
    for (n, inst) in expr.body.insts.iter().enumerate().rev() {
        if is_needed[n] {
            inst.args.iter().for_each(|&arg| need(&mut is_needed, arg));
        }
    }
    let insts = || expr.body.insts.iter().zip(&is_needed);
    let mut args = Vec::new();
    let mut operands = vec![None; expr.operands.len()];
    let mut positions = vec![None; expr.axes.len()];
    let mut read = |element: BodyRef| {
        let slot = match element {
            BodyRef::Operand(n) => operands.get_mut(n as usize),
            BodyRef::Axis(n) => positions.get_mut(n as usize),
            _ => return Ok(()),
        };
        let slot = slot.ok_or("an operand of the body that the `arrayexpr` has not")?;
        if slot.is_some() {
            return Ok(());
        }
        *slot = Some(args.len());
        args.push(match element {
            BodyRef::Operand(n) => {
                let operand = &expr.operands[n as usize];
                match operand.source {
                    Source::Array(arg) => FlatArg::Element(data.args[arg as usize], operand.index.clone()),
                    Source::Scalar(arg) => FlatArg::Value(data.args[arg as usize]),
                    Source::Capture(_) => return Err("the `arrayexpr` captures a value of another one"),
                }
            }
            BodyRef::Axis(n) => FlatArg::Position(n),
            _ => return Ok(()),
        });
        Ok(())
    };
    let taken = insts().filter(|(_, is_needed)| **is_needed).flat_map(|(inst, _)| &inst.args);
    for taken in taken.chain([&element]) {
        read(*taken)?;
    }
    let mut build = started(module, func, name, &args, out.dtype);
    let params = build.func().params().to_vec();
    let mut made: Vec<Vec<Value>> = Vec::new();
    let made_of = |made: &[Vec<Value>], element: BodyRef| match element {
        BodyRef::Operand(n) => operands[n as usize].map(|n| Arg::from(params[n])),
        BodyRef::Axis(n) => positions[n as usize].map(|n| Arg::from(params[n])),
        BodyRef::Inst(n, result) => {
            made.get(n as usize).and_then(|values| values.get(usize::from(result))).map(|&value| Arg::from(value))
        }
        BodyRef::Const(scalar) => Some(Arg::from(scalar)),
        BodyRef::Acc(_) => None,
    };
    let refused = |error: TypeError| error.message;
    for (inst, is_needed) in insts() {
        if !is_needed {
            made.push(Vec::new());
            continue;
        }
        let BodyOp::Op(op, attrs) = &inst.op else {
            return Err("the body of the `arrayexpr` has a nested expression, which is no function of scalars".into());
        };
        let args = inst.args.iter().map(|&arg| made_of(&made, arg)).collect::<Option<Vec<Arg>>>().ok_or(absent)?;
        let applied = build.inst(op.name, args, attrs.clone(), []).map_err(refused)?;
        made.push(build.func().inst(applied).results.to_vec());
    }
    let element = made_of(&made, element).ok_or(absent)?;
    let cast = Attrs::new().with("to", Attr::DType(out.dtype));
    let element = build.op_with("cast", [element], cast).map_err(refused)?;
    build.ret([element]).map_err(refused)?;
    Ok(FlatNest { function: build.finish(), args })
}
