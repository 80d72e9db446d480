//! Builds the module of a program: its function, and the functions of scalars that it applies.

use super::Error;
use super::function::Function;
use super::program::{Goal, Operand, Program, Step};
use super::typed::{Typed, typed};
use rewright::ir::builder::Arg;
use rewright::ir::ops::effects::can_cast_same_kind;
use rewright::{Attr, Attrs, FuncBuilder, Module, Name, Scalar, Type, TypeError, Value};

/// The module, and the name of its function.
pub fn module(program: &Program) -> Result<(Module, Name), Error> {
    let dtypes = typed(program)?;
    let mut module = callees(program)?;
    let name = unused(&module, "expression");
    let function = entry(program, &dtypes, name, &module)?;
    module.insert(function);
    Ok((module, name))
}

/// The functions of scalars that a program applies.
pub fn callees(program: &Program) -> Result<Module, Error> {
    let mut module = Module::new();
    for step in &program.steps {
        if let Function::Scalars(function) = &step.function {
            insert(&mut module, function.function().clone())?;
        }
    }
    Ok(module)
}

/// A name that no function of a module has.
pub fn unused(module: &Module, name: &str) -> Name {
    let mut free = Name::new(name);
    while module.get(free).is_some() {
        free = Name::from(format!("{free}_"));
    }
    free
}

fn insert(module: &mut Module, function: rewright::Function) -> Result<(), Error> {
    let (name, text) = (function.name, function.to_string());
    match module.insert(function) {
        Some(other) if other.to_string() != text => Err(Error::SameName { name }),
        _ => Ok(()),
    }
}

/// The program's own function.
fn entry(program: &Program, dtypes: &[Typed], name: Name, module: &Module) -> Result<rewright::Function, Error> {
    let names: Vec<String> = (0..program.params.len()).map(|n| format!("a{n}")).collect();
    let params: Vec<(&str, Type)> = names.iter().map(String::as_str).zip(program.params.iter().cloned()).collect();
    let mut build = FuncBuilder::new(name.as_str(), &params, Vec::new()).in_module(module);
    let mut made: Vec<Value> = Vec::new();
    for (step, dtypes) in program.steps.iter().zip(dtypes) {
        let value = apply(&mut build, step, dtypes, &made).map_err(|error| Error::of_type(&step.function, error))?;
        made.push(value);
    }
    let result = match program.result {
        Operand::Param(n) => build.param(n).into(),
        Operand::Step(n) => made[n].into(),
        Operand::Number(number) => Arg::Literal(number.0),
    };
    match &program.goal {
        Goal::Value(style) => {
            let attrs =
                style.map_or(Attrs::new(), |style| Attrs::new().with("style", Attr::Str(style.as_str().into())));
            returned(build, "materialize", result, attrs).map_err(|error| Error::of_type("materialize", error))
        }
        Goal::Reduce { op, axes } => {
            let along = axes.as_ref().map(|axes| Attrs::new().with("axes", Attr::Ints(axes.as_slice().into())));
            returned(build, op, result, along.unwrap_or_default()).map_err(|error| Error::of_type(op, error))
        }
        Goal::Destination(()) => {
            let to = program.params[0].dtype();
            let from = match result {
                Arg::Value(value) => build.func().ty(value).dtype(),
                Arg::Literal(literal) => literal.dtype_beside(Some(to)),
            };
            match can_cast_same_kind(from, to) {
                true => stored(build, result).map_err(|error| Error::of_type("assign", error)),
                false => Err(Error::Kind { from, to }),
            }
        }
    }
}

/// Appends the application of a function.
fn apply(build: &mut FuncBuilder<'_>, step: &Step, dtypes: &Typed, made: &[Value]) -> Result<Value, TypeError> {
    let attrs = match &step.function {
        Function::Op(op) => Attrs::new().with("op", Attr::Str((*op).into())),
        Function::Scalars(function) => Attrs::new().with("callee", Attr::Func(function.function().name)),
        Function::Cast(to) => Attrs::new().with("op", Attr::Str("cast".into())).with("to", Attr::DType(*to)),
        Function::Made(recipe) => {
            let param = |operand: &Operand| if let Operand::Param(n) = operand { Some(build.param(*n)) } else { None };
            let params: Vec<Value> = step.args.iter().filter_map(param).collect();
            let deferred = recipe.deferred.as_ref();
            return deferred.ok_or_else(|| TypeError::new("the operand is compiled already"))?.build(build, &params);
        }
    };
    let arg = |(operand, number): (&Operand, &Option<Scalar>)| match (operand, number) {
        (_, Some(number)) => Arg::from(*number),
        (Operand::Param(n), None) => Arg::from(build.param(*n)),
        (Operand::Step(n), None) => Arg::from(made[*n]),
        (Operand::Number(number), None) => Arg::Literal(number.0),
    };
    let args: Vec<Arg> = step.args.iter().zip(&dtypes.numbers).map(arg).collect();
    build.op_with("broadcasted", args, attrs)
}

/// Finishes the function with an op on the elements as its result.
fn returned(
    mut build: FuncBuilder<'_>,
    op: &str,
    elements: Arg,
    attrs: Attrs,
) -> Result<rewright::Function, TypeError> {
    let value = build.op_with(op, [elements], attrs)?;
    build.ret([value])?;
    let ty = build.func().ty(value).clone();
    let mut function = build.finish();
    // The type of the result is known only now.
    function.results = vec![ty];
    Ok(function)
}

fn stored(mut build: FuncBuilder<'_>, result: Arg) -> Result<rewright::Function, TypeError> {
    let destination = build.param(0).into();
    build.inst("store", [destination, result], Attrs::new(), [])?;
    build.ret([] as [Value; 0])?;
    Ok(build.finish())
}
