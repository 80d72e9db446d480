//! Programs of eager operations: builds one function whose parameters are the inputs of a call.

use super::key::StepClass;
use super::operation::{Kind, Operation};
use super::reading::{Access, Element, Reading};
use super::space::Space;
use rewright::ir::builder::Arg;
use rewright::rewrites::PipelineError;
use rewright::{Attr, Attrs, DType, Dim, FuncBuilder, Module, Name, Scalar, Type, TypeError, Value};

/// A module with the function of an operation, and its name.
pub fn module(operation: &Operation<'_>, readings: &[Reading<'_>], space: &Space) -> Result<(Module, Name), TypeError> {
    let types: Vec<Type> = readings
        .iter()
        .enumerate()
        .flat_map(|(n, r)| params(&r.access, r.dtype, &given_dims(operation, space.axes(n))))
        .collect();
    let unbound: Vec<Dim> = space.unbound().map(|(number, _)| dim(number)).collect();
    let extents = (!unbound.is_empty()).then(|| Type::array(DType::Bool, unbound));
    let count = matches!(operation.kind, Kind::Mean(..)).then(|| Type::scalar(mean_dtype(operation)));
    let types: Vec<Type> = types.into_iter().chain(extents).chain(count).collect();
    let names: Vec<String> = (0..types.len()).map(|n| format!("a{n}")).collect();
    let params: Vec<(&str, Type)> = names.iter().map(String::as_str).zip(types).collect();
    let mut build = FuncBuilder::new(operation.op.name, &params, Vec::new());
    let mut given = build.func().params().to_vec().into_iter();
    let mut operands: Vec<Arg> = Vec::new();
    for (n, reading) in readings.iter().enumerate() {
        let value = operand(&mut build, reading, space.axes(n), &mut given)?;
        operands.push(match (&reading.access, value) {
            (Access::Memory(_), Arg::Value(value)) => with_all_axes(&mut build, operation, value, space.axes(n))?,
            _ => value,
        });
    }
    let results = match &operation.kind {
        Kind::Mean(_, dtype) => vec![mean(&mut build, operation, operands, *dtype, given.next_back())?],
        _ => {
            let inst = build.inst(operation.op.name, operands, operation.attrs(), [])?;
            build.func().inst(inst).results.to_vec()
        }
    };
    let types = results.iter().map(|&result| build.func().ty(result).clone()).collect();
    build.ret(results)?;
    let mut function = build.finish();
    // The types are known once the body is built.
    function.results = types;
    let (mut module, name) = (Module::new(), function.name);
    module.insert(function);
    Ok((module, name))
}

/// The dtype of the divisor of a mean.
pub fn mean_dtype(operation: &Operation<'_>) -> DType {
    match operation.kind {
        Kind::Mean(_, dtype) => dtype,
        _ => DType::F64,
    }
}

/// The dim of an axis number of a space.
fn dim(number: u16) -> Dim {
    if number == 0 { Dim::Const(1) } else { Dim::Sym(Name::new(&format!("n{}", number - 1))) }
}

fn dims(axes: &[u16]) -> Vec<Dim> {
    axes.iter().map(|&number| dim(number)).collect()
}

/// The dims of an array as it is passed: elementwise ops drop the axes of extent 1.
fn given_dims(operation: &Operation<'_>, axes: &[u16]) -> Vec<Dim> {
    match operation.op.is_elementwise() {
        true => axes.iter().filter(|&&number| number != 0).map(|&number| dim(number)).collect(),
        false => dims(axes),
    }
}

/// Adds the dropped axes of extent 1 to an array.
fn with_all_axes(
    build: &mut FuncBuilder<'_>,
    operation: &Operation<'_>,
    value: Value,
    axes: &[u16],
) -> Result<Arg, TypeError> {
    let ones = axes.iter().enumerate().filter(|(_, number)| **number == 0);
    let ones: Vec<i64> = ones.map(|(axis, _)| axis as i64).collect();
    match ones.is_empty() || !operation.op.is_elementwise() {
        true => Ok(value.into()),
        false => {
            build.op_with("expand_dims", [value], Attrs::new().with("axes", Attr::Ints(ones.into()))).map(Arg::from)
        }
    }
}

/// The parameter types of an operand with these dims.
pub fn params(access: &Access<'_>, dtype: DType, dims: &[Dim]) -> Vec<Type> {
    match access {
        Access::Constant(_) => Vec::new(),
        Access::Scalar(_) | Access::Full(_) => vec![Type::scalar(dtype)],
        Access::Memory(_) => vec![Type::array(dtype, dims)],
        Access::Line { steps, .. } => {
            let others = steps.iter().filter(|step| StepClass::of(**step) == StepClass::Other).count();
            vec![Type::scalar(DType::I64); 1 + others]
        }
    }
}

/// The value of an operand, from its parameters.
fn operand(
    build: &mut FuncBuilder<'_>,
    reading: &Reading<'_>,
    axes: &[u16],
    given: &mut impl Iterator<Item = Value>,
) -> Result<Arg, TypeError> {
    match &reading.access {
        Access::Constant(scalar) => Ok(Arg::from(*scalar)),
        Access::Scalar(_) | Access::Memory(_) => given.next().map(Arg::from).ok_or_else(missing),
        access => computed(build, access, reading.dtype, &dims(axes), given).map(Arg::from),
    }
}

fn missing() -> TypeError {
    TypeError::new("an operand has no parameter")
}

/// The value of a constructor with these dims, from its parameters.
pub fn computed(
    build: &mut FuncBuilder<'_>,
    access: &Access<'_>,
    dtype: DType,
    dims: &[Dim],
    given: &mut impl Iterator<Item = Value>,
) -> Result<Value, TypeError> {
    let mut number = given.next().ok_or_else(missing)?;
    let Access::Line { element, steps, .. } = access else {
        return build.op_with("full", [number], Attrs::new().with("dims", Attr::Dims(dims.into())));
    };
    for (axis, &step) in steps.iter().enumerate() {
        let class = StepClass::of(step);
        if class == StepClass::Still {
            continue;
        }
        let attrs = Attrs::new().with("dims", Attr::Dims(dims.into())).with("axis", Attr::Int(axis as i64));
        let position = build.op_with("iota", [] as [Value; 0], attrs)?;
        number = match class {
            StepClass::Backward => build.op("sub", [number, position])?,
            StepClass::Other => {
                let far = build.op("mul", [position, given.next().ok_or_else(missing)?])?;
                build.op("add", [number, far])?
            }
            StepClass::Forward | StepClass::Still => build.op("add", [number, position])?,
        };
    }
    let zero = Arg::from(Scalar::I64(0));
    let value = match element {
        Element::Number => number,
        Element::IsZero => build.op("eq", [Arg::from(number), zero])?,
        Element::IsNotPositive => build.op("le", [Arg::from(number), zero])?,
    };
    cast(build, value, dtype)
}

fn cast(build: &mut FuncBuilder<'_>, value: Value, to: DType) -> Result<Value, TypeError> {
    match build.func().ty(value).dtype() == to {
        true => Ok(value),
        false => build.op_with("cast", [value], Attrs::new().with("to", Attr::DType(to))),
    }
}

/// The mean: a sum, divided by the number of its terms.
fn mean(
    build: &mut FuncBuilder<'_>,
    operation: &Operation<'_>,
    operands: Vec<Arg>,
    dtype: DType,
    count: Option<Value>,
) -> Result<Value, TypeError> {
    let (Some(&Arg::Value(terms)), Some(count)) = (operands.first(), count) else {
        return Err(TypeError::new("a mean is of one array"));
    };
    let terms = cast(build, terms, dtype)?;
    let sum = build.op_with(operation.op.name, [terms], operation.attrs())?;
    build.op("div", [sum, count])
}

/// The message of an error in building the default pipeline.
pub fn said(error: PipelineError) -> String {
    format!("the default pipeline can't be made: {error}")
}
