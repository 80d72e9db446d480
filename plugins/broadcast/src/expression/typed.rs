//! Infers the dtypes of a program. They are the same for scalars and arrays, so they are inferred before
//! the function is built.

use super::Error;
use super::function::Function;
use super::program::{Number, Operand, Program, Step};
use rewright::ir::LiteralCx;
use rewright::ir::builder::{find_op, infer_types, literal_at};
use rewright::{Attrs, DType, Literal, Scalar, Type, TypeError};

/// The dtypes of a step.
pub struct Typed {
    /// The value of each operand that is a number.
    pub numbers: Vec<Option<Scalar>>,
    /// The dtype of the result.
    pub result: DType,
}

/// The dtypes of all steps.
pub fn typed(program: &Program) -> Result<Vec<Typed>, Error> {
    let mut all: Vec<Typed> = Vec::new();
    for step in &program.steps {
        let one = step_of(program, step, &all).map_err(|error| Error::of_type(&step.function, error))?;
        all.push(one);
    }
    Ok(all)
}

fn step_of(program: &Program, step: &Step, before: &[Typed]) -> Result<Typed, TypeError> {
    let known = |arg: &Operand| match arg {
        Operand::Param(n) => Some(program.params[*n].dtype()),
        Operand::Step(n) => Some(before[*n].result),
        Operand::Number(Number(Literal::Typed(scalar))) => Some(scalar.dtype()),
        Operand::Number(_) => None,
    };
    let dtypes: Vec<Option<DType>> = step.args.iter().map(known).collect();
    let number = |(operand, arg): (usize, &Operand)| match *arg {
        Operand::Number(number) => of_number(&step.function, number.0, operand, &dtypes).map(Some),
        _ => Ok(None),
    };
    let numbers = step.args.iter().enumerate().map(number).collect::<Result<Vec<_>, _>>()?;
    let args: Vec<DType> =
        dtypes.iter().zip(&numbers).filter_map(|(dtype, number)| dtype.or(number.map(Scalar::dtype))).collect();
    let result = match &step.function {
        Function::Op(op) => {
            let types: Vec<Type> = args.iter().map(|&dtype| Type::scalar(dtype)).collect();
            let (_, results) = infer_types(find_op(op)?, &types, &numbers, Attrs::new(), None)?;
            match &results[..] {
                [one] => one.dtype(),
                more => return Err(TypeError::new(format!("`{op}` has {} results, not one", more.len()))),
            }
        }
        Function::Scalars(function) => {
            let signature = function.function().signature();
            if args.len() != signature.params.len() {
                let message = format!("it takes {} arguments, got {}", signature.params.len(), args.len());
                return Err(TypeError::new(message));
            }
            signature.results.first().map_or(DType::F64, Type::dtype)
        }
        Function::Cast(to) => *to,
        Function::Made(recipe) => recipe.dtype,
    };
    Ok(Typed { numbers, result })
}

/// The value of a literal as an operand of a function, in the dtype to which it is promoted.
fn of_number(
    function: &Function,
    literal: Literal,
    operand: usize,
    dtypes: &[Option<DType>],
) -> Result<Scalar, TypeError> {
    let dtype = match function {
        Function::Op(op) => (find_op(op)?.literal)(&LiteralCx { literal, operand, dtypes, attrs: &Attrs::new() }),
        Function::Scalars(function) => {
            let param = function.function().signature().params.get(operand).map(Type::dtype);
            literal.dtype_beside(param)
        }
        Function::Cast(_) | Function::Made(_) => literal.dtype_beside(None),
    };
    literal_at(literal, dtype)
}
