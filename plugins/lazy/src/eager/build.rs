//! Programs of eager operations: one function, whose parameters are what a call reads.

use super::key::StepClass;
use super::operation::{Kind, Operation};
use super::reading::{Element, Reading, Way};
use super::space::Space;
use rewright::ir::builder::Arg;
use rewright::rewrites::PipelineError;
use rewright::{Attr, Attrs, DType, Dim, FuncBuilder, Module, Name, Scalar, Type, TypeError, Value};

/// A module with the function of an operation, and its name.
pub fn module(
    operation: &Operation<'_>,
    readings: &[Reading<'_>],
    space: &Space,
) -> Result<(Module, Name), TypeError> {
    let types: Vec<Type> =
        readings.iter().enumerate().flat_map(|(n, reading)| params(reading, space.axes(n))).collect();
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
        operands.push(operand(&mut build, reading, space.axes(n), &mut given)?);
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
    // They are known only now.
    function.results = types;
    let (mut module, name) = (Module::new(), function.name);
    module.insert(function);
    Ok((module, name))
}

/// The dtype of the number that a mean is divided by.
pub fn mean_dtype(operation: &Operation<'_>) -> DType {
    match operation.kind {
        Kind::Mean(_, dtype) => dtype,
        _ => DType::F64,
    }
}

/// The dim of a number in a space.
fn dim(number: u16) -> Dim {
    if number == 0 { Dim::Const(1) } else { Dim::Sym(Name::new(&format!("n{}", number - 1))) }
}

fn dims(axes: &[u16]) -> Vec<Dim> {
    axes.iter().map(|&number| dim(number)).collect()
}

/// The types of the parameters of an operand.
fn params(reading: &Reading<'_>, axes: &[u16]) -> Vec<Type> {
    match &reading.way {
        Way::Constant(_) => Vec::new(),
        Way::Scalar(_) | Way::Full(_) => vec![Type::scalar(reading.dtype)],
        Way::Memory(_) => vec![Type::array(reading.dtype, dims(axes))],
        Way::Line { steps, .. } => {
            let others = steps.iter().filter(|step| StepClass::of(**step) == StepClass::Other).count();
            vec![Type::scalar(DType::I64); 1 + others]
        }
    }
}

/// An operand, made of its parameters.
fn operand(
    build: &mut FuncBuilder<'_>,
    reading: &Reading<'_>,
    axes: &[u16],
    given: &mut impl Iterator<Item = Value>,
) -> Result<Arg, TypeError> {
    let mut next = || given.next().ok_or_else(|| TypeError::new("an operand has no parameter"));
    match &reading.way {
        Way::Constant(scalar) => Ok(Arg::from(*scalar)),
        Way::Scalar(_) | Way::Memory(_) => next().map(Arg::from),
        Way::Full(_) => {
            let attrs = Attrs::new().with("dims", Attr::Dims(dims(axes).into()));
            build.op_with("full", [next()?], attrs).map(Arg::from)
        }
        Way::Line { element, steps, .. } => {
            let mut number = next()?;
            for (axis, &step) in steps.iter().enumerate() {
                number = match StepClass::of(step) {
                    StepClass::Still => number,
                    StepClass::Forward => {
                        let position = position(build, axes, axis)?;
                        build.op("add", [number, position])?
                    }
                    StepClass::Backward => {
                        let position = position(build, axes, axis)?;
                        build.op("sub", [number, position])?
                    }
                    StepClass::Other => {
                        let position = position(build, axes, axis)?;
                        let far = build.op("mul", [position, next()?])?;
                        build.op("add", [number, far])?
                    }
                };
            }
            let zero = Arg::from(Scalar::I64(0));
            let value = match element {
                Element::Number => number,
                Element::IsZero => build.op("eq", [Arg::from(number), zero])?,
                Element::IsNotPositive => build.op("le", [Arg::from(number), zero])?,
            };
            cast(build, value, reading.dtype).map(Arg::from)
        }
    }
}

/// The positions along an axis of a constructor.
fn position(build: &mut FuncBuilder<'_>, axes: &[u16], axis: usize) -> Result<Value, TypeError> {
    let attrs = Attrs::new().with("dims", Attr::Dims(dims(axes).into())).with("axis", Attr::Int(axis as i64));
    build.op_with("iota", [] as [Value; 0], attrs)
}

fn cast(build: &mut FuncBuilder<'_>, value: Value, to: DType) -> Result<Value, TypeError> {
    match build.func().ty(value).dtype() == to {
        true => Ok(value),
        false => build.op_with("cast", [value], Attrs::new().with("to", Attr::DType(to))),
    }
}

/// A sum, divided by the number of its terms.
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

/// Why a program can't be made for the default pipeline.
pub fn said(error: PipelineError) -> String {
    format!("the default pipeline can't be made: {error}")
}
