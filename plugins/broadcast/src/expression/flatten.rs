//! Flattens an expression to one function of scalars and the list of its arguments.

use super::function::Function;
use super::module::{callees, unused};
use super::program::{Goal, Operand, Program, Step};
use super::typed::typed;
use super::{Error, Expr};
use rewright::ir::builder::Arg;
use rewright::{Attr, Attrs, DType, Datum, FuncBuilder, Module, Name, Type, TypeError, Value};

/// The flat form of an expression: the function and the arguments of one `broadcasted @function(args...)`.
pub struct Flat {
    /// The function, and those that it applies.
    pub module: Module,
    /// The name of the function.
    pub name: Name,
    /// Values and numbers in the order in which they are read, once for each read.
    pub args: Vec<Datum>,
}

impl Flat {
    /// The function, with one scalar parameter for each argument.
    pub fn function(&self) -> Option<&rewright::Function> {
        self.module.get(self.name)
    }
}

impl Expr {
    /// The whole expression as one function of scalars. A shared part is still computed once, and its
    /// arguments are read once.
    ///
    /// # Errors
    ///
    /// Shapes or dtypes don't fit.
    pub fn flatten(&self) -> Result<Flat, Error> {
        let (program, values) = Program::of_values(self, Goal::Value(None))?;
        let dtypes = typed(&program)?;
        let mut args: Vec<Datum> = Vec::new();
        for (step, dtypes) in program.steps.iter().zip(&dtypes) {
            for (operand, number) in step.args.iter().zip(&dtypes.numbers) {
                match (operand, number) {
                    (Operand::Param(n), _) => args.push(values[*n].clone()),
                    (_, Some(number)) => args.push((*number).into()),
                    _ => {}
                }
            }
        }
        match program.result {
            Operand::Param(n) => args.push(values[n].clone()),
            Operand::Number(number) => {
                let dtype = number.0.dtype_beside(None);
                args.extend(number.0.at(dtype).map(Datum::from));
            }
            Operand::Step(_) => {}
        }
        let module = callees(&program)?;
        let name = unused(&module, "flat");
        let dtype = |arg: &Datum| arg.dtype();
        let result = dtypes.last().map(|last| last.result).or(args.first().map(dtype)).unwrap_or(DType::F64);
        let names: Vec<String> = (0..args.len()).map(|n| format!("a{n}")).collect();
        let scalars = args.iter().map(|arg| Type::scalar(arg.dtype()));
        let params: Vec<(&str, Type)> = names.iter().map(String::as_str).zip(scalars).collect();
        let build = FuncBuilder::new(name.as_str(), &params, vec![Type::scalar(result)]).in_module(&module);
        let function = body(build, &program).map_err(|error| Error::of_type("flatten", error))?;
        let mut module = module;
        module.insert(function);
        Ok(Flat { module, name, args })
    }
}

/// Builds the function, with a parameter for each operand that is not computed.
fn body(mut build: FuncBuilder<'_>, program: &Program) -> Result<rewright::Function, TypeError> {
    let mut params = build.func().params().to_vec().into_iter();
    let mut made: Vec<Value> = Vec::new();
    for Step { function, args } in &program.steps {
        let arg = |operand: &Operand| match operand {
            Operand::Step(n) => Some(made[*n]),
            _ => params.next(),
        };
        let args: Vec<Arg> = args.iter().filter_map(arg).map(Arg::from).collect();
        let value = match function {
            Function::Op(op) => build.op(op, args)?,
            Function::Scalars(f) => {
                build.op_with("ufunc", args, Attrs::new().with("callee", Attr::Func(f.function().name)))?
            }
            Function::Cast(to) => build.op_with("cast", args, Attrs::new().with("to", Attr::DType(*to)))?,
            Function::Made(_) => return Err(TypeError::new("a deferred operand is a value here")),
        };
        made.push(value);
    }
    build.ret(made.last().copied().or(params.next()))?;
    Ok(build.finish())
}
