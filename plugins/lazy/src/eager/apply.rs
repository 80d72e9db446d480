//! Eager operations: from operands to results.

use super::kernels::{Kernel, refused};
use super::operand::Operand;
use super::operation::{Kind, Operation};
use super::reading::{Access, Reading};
use super::space::Space;
use crate::apply::{CONSTRUCTORS, constructed, view};
use crate::array::LazyArray;
use rewright::exec::{Arg, Results};
use rewright::ir::builder::{find_op, infer_types, literal_at};
use rewright::ndarray::{ArrayViewD, IxDyn, ShapeBuilder};
use rewright::op::Traits;
use rewright::{
    Attrs, DType, Datum, Dim, EvalError, Limits, Literal, LiteralCx, Op, Scalar, Type, TypeError, View, eval_scalar,
    evaluate_op,
};
use smallvec::SmallVec;

impl LazyArray {
    /// Applies an op, by name, to arrays and numbers. Views and constructors stay lazy; any other op is
    /// computed at once.
    ///
    /// ```
    /// use rewright_lazy::{LazyArray, LazyExpr, Operand};
    /// let x = LazyArray::constant(LazyExpr::iota(rewright::DType::F32, 3))?;
    /// let y = LazyArray::apply("hypot", [Operand::from(&x), 1.5.into()])?;
    /// assert_eq!(y.dtype(), rewright::DType::F32);
    /// let error = LazyArray::apply("add", [&x, &x.expand_dims(1).broadcast_to(&[3, 2])]).unwrap_err();
    /// assert!(error.to_string().contains("`add` can't broadcast f32[3], f32[3, 2]"), "{error}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such op, it refuses the operands, it fails for some element, it has several results, or
    /// an operand carries an error.
    pub fn apply(op: &str, operands: impl IntoIterator<Item = impl Into<Operand>>) -> Result<LazyArray, EvalError> {
        LazyArray::apply_with(op, operands, &Attrs::new())
    }

    /// Applies an op with attributes.
    ///
    /// # Errors
    ///
    /// Those of [`apply`](LazyArray::apply), or the op does not have the attributes.
    pub fn apply_with(
        op: &str,
        operands: impl IntoIterator<Item = impl Into<Operand>>,
        attrs: &Attrs,
    ) -> Result<LazyArray, EvalError> {
        let mut results = LazyArray::apply_all(op, operands, attrs)?.into_iter();
        match (results.next(), results.next()) {
            (Some(one), None) => Ok(one),
            _ => Err(EvalError::unsupported(format!("`{op}` has not one result: `apply_all` gives all of them"))),
        }
    }

    /// All results of an op, such as `divmod`.
    ///
    /// # Errors
    ///
    /// Those of [`apply_with`](LazyArray::apply_with), except the number of results.
    pub fn apply_all(
        op: &str,
        operands: impl IntoIterator<Item = impl Into<Operand>>,
        attrs: &Attrs,
    ) -> Result<Vec<LazyArray>, EvalError> {
        let op = find_op(op).map_err(|error| EvalError::unsupported(said(&error)))?;
        let operands: SmallVec<[Operand; 3]> = operands.into_iter().map(Into::into).collect();
        if !op.is_pure() {
            let message = "it has effects, or ends a block: apply ops that only compute results";
            return Err(EvalError { op: Some(op.name), ..EvalError::unsupported(message) });
        }
        if let Some(lazy) = stays_lazy(op, attrs, &operands) {
            return Ok(vec![lazy?]);
        }
        let operation = Operation { op, kind: Kind::Given(attrs) };
        all(&operation, &operands.iter().collect::<SmallVec<[&Operand; 3]>>())
    }
}

/// The message of a type error, with its help.
fn said(error: &TypeError) -> String {
    let help = error.help.as_ref().map(|help| format!(": {help}")).unwrap_or_default();
    format!("{}{help}", error.message)
}

/// The lazy result of a view or a constructor; `None` for other ops.
fn stays_lazy(op: Op, attrs: &Attrs, operands: &[Operand]) -> Option<Result<LazyArray, EvalError>> {
    let known = |dim: Dim| if let Dim::Const(extent) = dim { Some(extent) } else { None };
    if op.traits.contains(Traits::CONSTRUCTOR) && CONSTRUCTORS.contains(&op.name) {
        let value = operands.first().map(|operand| match operand {
            Operand::Array(array) => array.get(&[]).filter(|_| array.rank() == 0),
            Operand::Number(literal) => literal.at(literal.dtype_beside(None)),
        });
        let default = if op.name == "iota" || op.name == "delta" { DType::I64 } else { DType::F64 };
        let dtype = match value {
            Some(Some(value)) => value.dtype(),
            _ => attrs.dtype("dtype").unwrap_or(default),
        };
        let made = attrs.clone().normalize(op.attrs).map_err(|all| EvalError::value(all.join("; ")));
        let made = made.and_then(|attrs| constructed(op.name, &attrs, dtype, value.flatten(), &known));
        return Some(made.and_then(LazyArray::constant).map_err(|e| EvalError { op: Some(op.name), ..e }));
    }
    let [Operand::Array(array)] = operands else { return None };
    if array.error().is_some() || !op.traits.contains(Traits::VIEW) {
        return None;
    }
    if array.rank() == 0 && (op.name == "item" || op.name == "to_array") {
        return Some(Ok(array.clone()));
    }
    let attrs = match attrs.clone().normalize(op.attrs) {
        Ok(attrs) => attrs,
        Err(all) => return Some(Err(EvalError { op: Some(op.name), ..EvalError::value(all.join("; ")) })),
    };
    let is_map = array.view(|expr| view(expr, op.name, &attrs, &known));
    if op.name != "reshape" || is_map.is_ok() {
        // A view op that is no index map here is computed.
        return (op.name != "item" && op.name != "to_array").then_some(is_map);
    }
    let reshaped = array.force().and_then(|elements| {
        let args = [Datum::Array(elements.clone())];
        evaluate_op(op, &attrs, &args, &[], Limits::default())
    });
    Some(reshaped.map(|results| match results.first() {
        Some(Datum::Array(array)) => LazyArray::of(array.clone()),
        Some(Datum::Scalar(scalar)) => LazyArray::scalar(*scalar),
        _ => LazyArray::failed(EvalError::value("`reshape` gives a dense array")),
    }))
}

/// The only result of an operation. A failed operation gives an array that carries the error.
pub fn carried(operation: &Operation<'_>, operands: &[&Operand]) -> LazyArray {
    one(operation, operands).unwrap_or_else(LazyArray::failed)
}

/// The only result of an operation.
pub fn one(operation: &Operation<'_>, operands: &[&Operand]) -> Result<LazyArray, EvalError> {
    match results(operation, operands)? {
        Outcome::Scalars(scalars) => match scalars[..] {
            [scalar] => Ok(LazyArray::scalar(scalar)),
            _ => Err(EvalError::unsupported(format!("`{}` has several results", operation.op))),
        },
        Outcome::Arrays(results) if results.len() == 1 => LazyArray::computed(results).checked(),
        Outcome::Arrays(_) => Err(EvalError::unsupported(format!("`{}` has several results", operation.op))),
    }
}

fn all(operation: &Operation<'_>, operands: &[&Operand]) -> Result<Vec<LazyArray>, EvalError> {
    match results(operation, operands)? {
        Outcome::Scalars(scalars) => Ok(scalars.iter().map(|&scalar| LazyArray::scalar(scalar)).collect()),
        Outcome::Arrays(results) if results.len() == 1 => Ok(vec![LazyArray::computed(results).checked()?]),
        Outcome::Arrays(results) => results
            .into_iter()
            .map(|datum| match datum {
                Datum::Scalar(scalar) => Ok(LazyArray::scalar(scalar)),
                Datum::Array(array) => Ok(LazyArray::of(array)),
                Datum::Styled(_) => Err(EvalError::unsupported("a result has a storage style")),
            })
            .collect(),
    }
}

/// The results of an operation.
enum Outcome {
    Scalars(SmallVec<[Scalar; 2]>),
    Arrays(Results),
}

fn results(operation: &Operation<'_>, operands: &[&Operand]) -> Result<Outcome, EvalError> {
    let readings = readings(operation, operands)?;
    if operation.op.is_elementwise() && readings.iter().all(|reading| reading.shape.is_empty()) {
        let scalar = |reading: &Reading<'_>| match reading.access {
            Access::Scalar(scalar) | Access::Constant(scalar) => Some(scalar),
            _ => None,
        };
        let scalars: SmallVec<[Scalar; 3]> = readings.iter().filter_map(scalar).collect();
        let attrs = operation.attrs();
        // `eval_scalar` assumes operands that the type rule accepts.
        refusal(operation, &readings).map_or(Ok(()), Err)?;
        return eval_scalar(operation.op, &scalars, &attrs).map(|all| Outcome::Scalars(all.into_iter().collect()));
    }
    let Some(space) = Space::of(operation, &readings) else {
        return Err(
            refusal(operation, &readings).unwrap_or_else(|| EvalError::shape("the operands have too many axes"))
        );
    };
    let kernel = Kernel::of(operation, &readings, &space);
    // Prefers the error with actual extents to the one with symbols.
    let explained = |error: EvalError| refusal(operation, &readings).unwrap_or(error);
    let executable = kernel.executable(operation, &readings, &space).map_err(explained)?;
    let extents =
        space.unbound().map(|(_, extent)| usize::try_from(extent)).collect::<Result<SmallVec<[usize; 4]>, _>>();
    let extents = extents.map_err(|_| EvalError::limit("no array has so large extents"))?;
    let mut args: SmallVec<[Arg<'_>; 4]> = SmallVec::new();
    for reading in &readings {
        match &reading.access {
            Access::Memory(array) if drops_axes(operation, reading) => args.push(array.long_arg()?),
            Access::Memory(array) => args.push(array.arg()?),
            access => access.scalars(|scalar| args.push(Arg::Scalar(scalar))),
        }
    }
    if !extents.is_empty() {
        args.push(Arg::View(extents_only(&extents)?));
    }
    if let Kind::Mean(axes, dtype) = &operation.kind {
        let shape = readings.first().map_or(&[][..], |reading| &reading.shape);
        let along = (0..shape.len()).filter(|&axis| axes.contains(axis, shape.len()));
        let count: f64 = along.map(|axis| shape[axis] as f64).product();
        args.push(Arg::Scalar(Scalar::F64(count).cast(*dtype)));
    }
    executable.call(&args).map(Outcome::Arrays).map_err(explained)
}

/// True if an operand is passed without its axes of extent 1.
fn drops_axes(operation: &Operation<'_>, reading: &Reading<'_>) -> bool {
    operation.op.is_elementwise() && reading.shape.contains(&1)
}

/// The operands as a kernel reads them. Weak literals take their dtypes from the other operands.
fn readings<'a>(operation: &Operation<'_>, operands: &[&'a Operand]) -> Result<SmallVec<[Reading<'a>; 3]>, EvalError> {
    let weak =
        |operand: &&&Operand| matches!(operand, Operand::Number(literal) if !matches!(literal, Literal::Typed(_)));
    let dtypes: SmallVec<[Option<DType>; 3]> = match operands.iter().any(|operand| weak(&operand)) {
        false => SmallVec::new(),
        true => operands
            .iter()
            .map(|operand| match operand {
                Operand::Array(array) => Some(array.dtype()),
                Operand::Number(Literal::Typed(scalar)) => Some(scalar.dtype()),
                Operand::Number(_) => None,
            })
            .collect(),
    };
    let reading = |(n, operand): (usize, &&'a Operand)| match *operand {
        Operand::Array(array) => Reading::of(array, |shape| operation.computes(shape)),
        Operand::Number(literal) => number(operation, n, *literal, &dtypes),
    };
    operands.iter().enumerate().map(reading).collect()
}

/// The reading of a literal beside operands of these dtypes.
fn number<'a>(
    operation: &Operation<'_>,
    operand: usize,
    literal: Literal,
    dtypes: &[Option<DType>],
) -> Result<Reading<'a>, EvalError> {
    let no_attrs = Attrs::new();
    let attrs = if let Kind::Given(attrs) = operation.kind { attrs } else { &no_attrs };
    let dtype = match literal {
        Literal::Typed(scalar) => scalar.dtype(),
        _ => (operation.op.literal)(&LiteralCx { literal, operand, dtypes, attrs }),
    };
    let scalar = literal_at(literal, dtype).map_err(|error| refused(operation, &error))?;
    let reading = Reading::scalar(scalar);
    match operation.op.name == "power" && operand == 1 && is_small_exponent(literal) {
        true => Ok(Reading { access: Access::Constant(scalar), ..reading }),
        false => Ok(reading),
    }
}

/// True of exponents that kernels expand to a root or a few multiplications. They are constants of the
/// kernel.
fn is_small_exponent(literal: Literal) -> bool {
    match literal {
        Literal::Int(n) => (0..=8).contains(&n),
        Literal::Float(x) => [-1.0, 0.5, 1.0, 2.0, 3.0, 4.0].contains(&x),
        _ => false,
    }
}

/// A view of one repeated element, which only carries extents.
pub fn extents_only<'a>(extents: &[usize]) -> Result<View<'a>, EvalError> {
    static ELEMENT: [bool; 1] = [false];
    let still: SmallVec<[usize; 4]> = SmallVec::from_elem(0, extents.len());
    let view = ArrayViewD::from_shape(IxDyn(extents).strides(IxDyn(&still)), &ELEMENT);
    let view = view.map_err(|_| EvalError::limit(format!("no array has so large extents as {extents:?}")))?;
    Ok(View::from(view))
}

/// The type error of the op for these operands, with their extents; `None` if it accepts them.
fn refusal(operation: &Operation<'_>, readings: &[Reading<'_>]) -> Option<EvalError> {
    let ty = |reading: &Reading<'_>| match reading.access {
        Access::Scalar(_) | Access::Constant(_) => Type::scalar(reading.dtype),
        _ => Type::array(reading.dtype, reading.shape.iter().map(|&extent| Dim::Const(extent)).collect::<Vec<_>>()),
    };
    let types: Vec<Type> = readings.iter().map(ty).collect();
    let constants = vec![None; types.len()];
    let error = infer_types(operation.op, &types, &constants, operation.attrs(), None).err()?;
    let mut error = refused(operation, &error);
    let types: Vec<String> = types.iter().map(Type::to_string).collect();
    if !types.iter().all(|ty| error.message.contains(ty)) {
        error.message = format!("{}; operands: {}", error.message, types.join(", "));
    }
    Some(error)
}
