//! Programs: expressions without their values. A program is the unit of compilation and the key of the cache;
//! expressions that differ only in values and extents have the same program.

use super::function::{Function, Recipe};
use super::{Error, Expr, Node};
use rewright::broadcast_dims;
use rewright::ir::Style;
use rewright::{DType, Datum, Deferred, Dim, EvalError, Literal, Name, Scalar, Type, with_array};
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The functions of an expression in topological order.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Program {
    /// The types of the values, with a symbol for each extent that is not 1.
    pub params: Vec<Type>,
    pub steps: Vec<Step>,
    pub result: Operand,
    pub goal: Goal<()>,
}

/// A function and its operands.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Step {
    pub function: Function,
    pub args: Vec<Operand>,
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    Param(usize),
    Number(Number),
    Step(usize),
}

/// The use of the elements: returned, reduced or stored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Goal<D> {
    /// They are the result, in a style if one is requested.
    Value(Option<Name>),
    /// They are reduced by `op` along these axes, or along all.
    Reduce { op: &'static str, axes: Option<Vec<i64>> },
    /// They are stored in an array, which is the first parameter. `D` is the array, or nothing in a program.
    Destination(D),
}

/// A literal, compared by its bits.
#[derive(Clone, Copy, PartialEq)]
pub struct Number(pub Literal);

impl Eq for Number {}
impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Literal::Bool(x) => Scalar::Bool(x).hash(state),
            Literal::Int(x) => x.hash(state),
            Literal::Float(x) => x.to_bits().hash(state),
            Literal::Complex(re, im) => [re.to_bits(), im.to_bits()].hash(state),
            Literal::Typed(scalar) => scalar.hash(state),
        }
    }
}

/// The argument of a parameter.
#[derive(Clone)]
pub enum Argument {
    /// A value.
    Value(Datum),
    /// A parameter of a deferred operand: its number, and its type.
    DeferredParam(Arc<dyn Deferred>, usize, Type),
}

impl Argument {
    /// The type, with constant dims.
    pub fn ty(&self) -> Type {
        match self {
            Argument::Value(datum) => datum.ty(),
            Argument::DeferredParam(_, _, ty) => ty.clone(),
        }
    }
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.ty().dtype()
    }
    /// The value.
    pub fn into_value(self) -> Result<Datum, Error> {
        match self {
            Argument::Value(datum) => Ok(datum),
            Argument::DeferredParam(..) => {
                Err(EvalError::unsupported("a deferred operand was not evaluated before it was passed as a value")
                    .into())
            }
        }
    }
}

impl Program {
    /// The program of an expression, and its values without that of a destination. The program computes
    /// deferred operands.
    pub fn of(expr: &Expr, goal: Goal<&Datum>) -> Result<(Program, Vec<Argument>), Error> {
        Program::build(expr, goal, ProgramBuilder::default())
    }

    /// The same, but the elements of deferred operands are passed as values.
    pub fn of_values(expr: &Expr, goal: Goal<&Datum>) -> Result<(Program, Vec<Datum>), Error> {
        let (program, given) =
            Program::build(expr, goal, ProgramBuilder { evaluate_deferred: true, ..ProgramBuilder::default() })?;
        Ok((program, given.into_iter().map(Argument::into_value).collect::<Result<_, _>>()?))
    }

    /// The program without its deferred operands, as the cache keeps it.
    pub fn without_operands(mut self) -> Program {
        for step in &mut self.steps {
            if let Function::Made(recipe) = &mut step.function {
                recipe.deferred = None;
            }
        }
        self
    }

    /// The program that a builder makes of an expression.
    fn build(expr: &Expr, goal: Goal<&Datum>, mut builder: ProgramBuilder) -> Result<(Program, Vec<Argument>), Error> {
        if let Goal::Destination(to) = goal {
            builder.value(to);
        }
        let result = builder.visit(expr)?;
        let shape = builder.shape(result);
        let ProgramBuilder { steps, mut values, .. } = builder;
        let params = types(&values);
        let goal = match goal {
            Goal::Value(style) => Goal::Value(style),
            Goal::Reduce { op, axes } => Goal::Reduce { op, axes },
            Goal::Destination(to) => {
                values.remove(0);
                fits(shape.as_deref().unwrap_or(&[]), &to.ty())?;
                Goal::Destination(())
            }
        };
        Ok((Program { params, steps, result, goal }, values))
    }
}

/// The shape of an expression, with known extents; none for a scalar.
pub fn shape(expr: &Expr) -> Result<Option<Vec<usize>>, Error> {
    let mut builder = ProgramBuilder::default();
    let result = builder.visit(expr)?;
    let extents = |dims: Vec<Dim>| dims.iter().filter_map(constant).filter_map(|n| usize::try_from(n).ok()).collect();
    Ok(builder.shape(result).map(extents))
}

/// Checks that elements of a shape can be written to an array.
fn fits(shape: &[Dim], ty: &Type) -> Result<(), Error> {
    let missing = ty.rank().checked_sub(shape.len());
    let fits = |skip: usize| shape.iter().zip(&ty.dims()[skip..]).all(|(dim, to)| dim == to || *dim == Dim::Const(1));
    match missing.is_some_and(fits) {
        true => Ok(()),
        false => {
            let given = format!("an expression of shape {}", listed(shape));
            Err(Error::Destination { destination: ty.to_string(), given })
        }
    }
}

/// Numbers the parts of an expression in topological order, each once.
#[derive(Default)]
struct ProgramBuilder {
    steps: Vec<Step>,
    /// The shapes of the steps' results; none for scalars.
    shapes: Vec<Option<Vec<Dim>>>,
    values: Vec<Argument>,
    /// Whether deferred operands are passed as values.
    evaluate_deferred: bool,
    seen: FxHashMap<*const Node, Operand>,
    identities: FxHashMap<ValueIdentity, usize>,
}

/// The identity of a value.
#[derive(PartialEq, Eq, Hash)]
pub enum ValueIdentity {
    Array { elements: usize, strides: Vec<isize>, ty: Type },
    Styled(usize),
}

impl ValueIdentity {
    /// The identity of an array; none for scalars, each of which is a value of its own.
    pub fn of(value: &Datum) -> Option<ValueIdentity> {
        Some(match value {
            Datum::Scalar(_) => return None,
            Datum::Array(array) => {
                let elements = with_array!(array, |a| a.as_ptr() as usize);
                ValueIdentity::Array { elements, strides: array.strides().to_vec(), ty: array.ty() }
            }
            Datum::Styled(styled) => ValueIdentity::Styled(Arc::as_ptr(styled) as usize),
        })
    }
}

impl ProgramBuilder {
    /// Numbers an expression after its operands.
    fn visit(&mut self, root: &Expr) -> Result<Operand, Error> {
        // Post-order traversal with an explicit stack; the flag says that the operands are done.
        let mut stack = vec![(root, false)];
        while let Some((expr, ready)) = stack.pop() {
            let at = Arc::as_ptr(&expr.0);
            if self.seen.contains_key(&at) {
                continue;
            }
            let operand = match &*expr.0 {
                Node::Value(value) => Operand::Param(self.value(value)),
                Node::Literal(literal) => Operand::Number(Number(*literal)),
                Node::Deferred(deferred) => self.deferred(deferred)?,
                Node::Applied { args, .. } if !ready => {
                    stack.push((expr, true));
                    stack.extend(args.iter().rev().map(|arg| (arg, false)));
                    continue;
                }
                Node::Applied { function, args } => {
                    let args: Vec<Operand> = args.iter().map(|arg| self.seen[&Arc::as_ptr(&arg.0)]).collect();
                    let shape = self.broadcast(function, &args)?;
                    self.shapes.push(shape);
                    self.steps.push(Step { function: function.clone(), args });
                    Operand::Step(self.steps.len() - 1)
                }
            };
            self.seen.insert(at, operand);
        }
        Ok(self.seen[&Arc::as_ptr(&root.0)])
    }

    fn value(&mut self, value: &Datum) -> usize {
        let next = self.values.len();
        let number = ValueIdentity::of(value).map_or(next, |identity| *self.identities.entry(identity).or_insert(next));
        if number == next {
            self.values.push(Argument::Value(value.clone()));
        }
        number
    }

    /// A deferred operand is a function of its parameters.
    fn deferred(&mut self, deferred: &Arc<dyn Deferred>) -> Result<Operand, Error> {
        let ty = deferred.ty()?;
        if self.evaluate_deferred {
            return Ok(Operand::Param(self.value(&Datum::Array(deferred.elements()?))));
        }
        let part = |(number, ty)| Argument::DeferredParam(deferred.clone(), number, ty);
        let first = self.values.len();
        self.values.extend(deferred.params().into_iter().enumerate().map(part));
        let args = (first..self.values.len()).map(Operand::Param).collect();
        self.shapes.push(ty.is_array().then(|| ty.dims().to_vec()));
        self.steps.push(Step { function: Function::Made(Recipe::of(deferred, ty.dtype())), args });
        Ok(Operand::Step(self.steps.len() - 1))
    }

    fn shape(&self, operand: Operand) -> Option<Vec<Dim>> {
        match operand {
            Operand::Param(n) => {
                let ty = self.values[n].ty();
                ty.is_array().then(|| ty.dims().to_vec())
            }
            Operand::Number(_) => None,
            Operand::Step(n) => self.shapes[n].clone(),
        }
    }

    /// The shape of a function's result.
    fn broadcast(&self, function: &Function, args: &[Operand]) -> Result<Option<Vec<Dim>>, Error> {
        // The shape so far, and the operand that it comes from.
        let mut all: Option<(Vec<Dim>, usize)> = None;
        for (number, &arg) in args.iter().enumerate() {
            let Some(shape) = self.shape(arg) else { continue };
            all = Some(match all {
                None => (shape, number),
                Some((before, from)) => match broadcast_dims(&before, &shape) {
                    Ok(both) if both == before => (both, from),
                    Ok(both) => (both, number),
                    Err(_) => {
                        let left = self.described(from, args[from]);
                        let left = match self.shape(args[from]).is_some_and(|own| own == before) {
                            true => left,
                            false => format!("operands 0 to {from}, which broadcast to shape {}", listed(&before)),
                        };
                        let right = self.described(number, arg);
                        return Err(Error::Shape { function: function.to_string(), left, right });
                    }
                },
            });
        }
        Ok(all.map(|(shape, _)| shape))
    }

    /// Describes an operand in a message: its number and its type, its literal, or its function and shape.
    fn described(&self, number: usize, operand: Operand) -> String {
        match operand {
            Operand::Param(n) => format!("operand {number}, {}", self.values[n].ty()),
            Operand::Number(literal) => format!("operand {number}, {}", literal.0),
            Operand::Step(n) => {
                let shape = self.shapes[n].as_deref().unwrap_or(&[]);
                format!("operand {number}, a result of `{}` with shape {}", self.steps[n].function, listed(shape))
            }
        }
    }
}

fn listed(shape: &[Dim]) -> String {
    format!("[{}]", shape.iter().map(Dim::to_string).collect::<Vec<_>>().join(", "))
}

/// The types of a program's parameters for these values. Extents are symbols, so that the program serves
/// other extents, too.
fn types(values: &[Argument]) -> Vec<Type> {
    let known: Vec<Type> = values.iter().map(Argument::ty).collect();
    let extents = |ty: &Type| ty.dims().iter().filter_map(constant).collect::<Vec<_>>();
    // Some styles need constant extents at compile time.
    let wants_constants = |ty: &&Type| {
        let general = general(ty, &FxHashSet::default(), &mut FxHashMap::default());
        ty.style().is_some() && Style::of(ty).is_ok_and(|style| (style.def().components)(&general).is_err())
    };
    let mut fixed: FxHashSet<u64> = known.iter().filter(wants_constants).flat_map(extents).collect();
    fixed.insert(1);
    let mut symbols = FxHashMap::default();
    known.iter().map(|ty| general(ty, &fixed, &mut symbols)).collect()
}

fn constant(dim: &Dim) -> Option<u64> {
    if let Dim::Const(extent) = dim { Some(*extent) } else { None }
}

/// A type with symbols for all extents but the fixed ones.
fn general(ty: &Type, fixed: &FxHashSet<u64>, symbols: &mut FxHashMap<u64, Dim>) -> Type {
    if ty.is_scalar() {
        return ty.clone();
    }
    let mut symbol = |dim: &Dim| match constant(dim).filter(|extent| !fixed.contains(extent)) {
        Some(extent) => {
            let next = symbols.len();
            *symbols.entry(extent).or_insert_with(|| Dim::Sym(Name::new(&format!("n{next}"))))
        }
        None => *dim,
    };
    let dims: Vec<Dim> = ty.dims().iter().map(&mut symbol).collect();
    Type::array(ty.dtype(), dims).with_style(ty.style())
}
