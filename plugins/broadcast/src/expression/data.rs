//! Serializes expressions by `serde`, as a list of parts, each after its operands. Arrays are parts, too.
//!
//! ```text
//! Expression(
//!     parts: [
//!         Array("[1.0, 2.0]:f64"),
//!         Float("0.5:f64"),
//!         Op("mul", [0, 1]),
//!     ],
//! )
//! ```
//!
//! The last part is the whole expression. Shared parts and shared arrays are written once, so the data is
//! flat, and no larger than the expression. Numbers are written with all their bits, including those of
//! NaNs. Deferred operands are written as arrays of their elements.

use super::function::Function;
use super::program::ValueIdentity;
use super::{Error, Expr, Node, ScalarFunction};
use rewright::ir::{Style, Styled};
use rewright::{Array, Complex64, DType, Datum, Literal, Name, Scalar, Type};
use rustc_hash::FxHashMap;
use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{self, Serialize, Serializer};
use std::sync::Arc;

/// The data form of an expression.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename = "Expression", deny_unknown_fields)]
struct ExpressionData {
    /// The functions of scalars that parts apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    functions: Vec<rewright::Function>,
    parts: Vec<PartData>,
}

/// A part of an expression; operands are the numbers of earlier parts.
#[derive(serde::Serialize, serde::Deserialize)]
enum PartData {
    Scalar(Scalar),
    Array(Array),
    /// An array of a storage style: the text of its type, and its components with their names.
    Styled(String, Vec<(String, Array)>),
    /// Literals; all but the last one are weak.
    Bool(bool),
    Int(String),
    Float(Scalar),
    Complex(Scalar),
    Typed(Scalar),
    /// An elementwise op by its name.
    Op(String, Vec<usize>),
    /// A function of scalars by its number.
    Call(usize, Vec<usize>),
    Cast(DType, usize),
}

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut writer = Writer::default();
        writer.write(self).map_err(ser::Error::custom)?;
        ExpressionData { functions: writer.functions, parts: writer.parts }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Expr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let data = ExpressionData::deserialize(deserializer)?;
        read(data).map_err(de::Error::custom)
    }
}

/// The parts that are written so far.
#[derive(Default)]
struct Writer {
    functions: Vec<rewright::Function>,
    parts: Vec<PartData>,
    /// The numbers of expressions, of arrays by the addresses of their elements, and of functions by their
    /// texts.
    nodes: FxHashMap<*const Node, usize>,
    places: FxHashMap<ValueIdentity, usize>,
    numbers: FxHashMap<String, usize>,
}

impl Writer {
    /// Writes an expression after its operands. The stack is explicit, since an expression may have any
    /// depth.
    fn write(&mut self, root: &Expr) -> Result<(), Error> {
        let mut stack = vec![(root, false)];
        while let Some((expr, ready)) = stack.pop() {
            let at = Arc::as_ptr(&expr.0);
            if self.nodes.contains_key(&at) {
                continue;
            }
            let number = match &*expr.0 {
                Node::Value(value) => self.value(value),
                Node::Literal(literal) => self.push(literal_data(*literal)),
                Node::Deferred(deferred) => {
                    let elements = deferred.elements()?;
                    self.push(PartData::Array(elements))
                }
                Node::Applied { args, .. } if !ready => {
                    stack.push((expr, true));
                    stack.extend(args.iter().rev().map(|arg| (arg, false)));
                    continue;
                }
                Node::Applied { function, args } => {
                    let args: Vec<usize> = args.iter().map(|arg| self.nodes[&Arc::as_ptr(&arg.0)]).collect();
                    let part = self.applied(function, args)?;
                    self.push(part)
                }
            };
            self.nodes.insert(at, number);
        }
        // The root was written last: a root without operands is the only part.
        Ok(())
    }

    fn push(&mut self, part: PartData) -> usize {
        self.parts.push(part);
        self.parts.len() - 1
    }

    fn value(&mut self, value: &Datum) -> usize {
        let place = ValueIdentity::of(value);
        if let Some(&number) = place.as_ref().and_then(|place| self.places.get(place)) {
            return number;
        }
        let number = self.push(match value {
            Datum::Scalar(scalar) => PartData::Scalar(*scalar),
            Datum::Array(array) => PartData::Array(array.clone()),
            Datum::Styled(styled) => {
                let names = styled.names().into_iter().map(str::to_string);
                PartData::Styled(styled.ty().to_string(), names.zip(styled.components().iter().cloned()).collect())
            }
        });
        self.places.extend(place.map(|place| (place, number)));
        number
    }

    fn applied(&mut self, function: &Function, args: Vec<usize>) -> Result<PartData, Error> {
        Ok(match (function, &args[..]) {
            (Function::Op(op), _) => PartData::Op((*op).into(), args),
            (Function::Scalars(function), _) => {
                let function = function.function();
                let next = self.functions.len();
                let number = *self.numbers.entry(function.to_string()).or_insert(next);
                if number == next {
                    self.functions.push(function.clone());
                }
                PartData::Call(number, args)
            }
            (Function::Cast(to), &[arg]) => PartData::Cast(*to, arg),
            (Function::Cast(_) | Function::Made(_), _) => {
                return Err(rewright::EvalError::unsupported("a cast has one operand").into());
            }
        })
    }
}

fn literal_data(literal: Literal) -> PartData {
    match literal {
        Literal::Bool(x) => PartData::Bool(x),
        Literal::Int(x) => PartData::Int(x.to_string()),
        Literal::Float(x) => PartData::Float(Scalar::F64(x)),
        Literal::Complex(re, im) => PartData::Complex(Scalar::C128(Complex64::new(re, im))),
        Literal::Typed(scalar) => PartData::Typed(scalar),
    }
}

/// Reads an expression; the error names the part that is wrong.
fn read(data: ExpressionData) -> Result<Expr, String> {
    let function = |(n, function): (usize, rewright::Function)| {
        ScalarFunction::new(function).map_err(|error| format!("function {n} of the expression: {error}"))
    };
    let functions = data.functions.into_iter().enumerate().map(function).collect::<Result<Vec<_>, _>>()?;
    let mut parts: Vec<Expr> = Vec::with_capacity(data.parts.len());
    for (n, part) in data.parts.into_iter().enumerate() {
        let expr = read_part(part, &functions, &parts).map_err(|why| format!("part {n} of the expression: {why}"))?;
        parts.push(expr);
    }
    parts.pop().ok_or_else(|| "an expression has at least one part, and this one has none".into())
}

fn read_part(part: PartData, functions: &[ScalarFunction], before: &[Expr]) -> Result<Expr, String> {
    let operand = |&n: &usize| {
        let known = before.len();
        before.get(n).cloned().ok_or_else(|| format!("operand {n} is none of the {known} parts before it"))
    };
    let operands = |numbers: &[usize]| numbers.iter().map(operand).collect::<Result<Vec<Expr>, String>>();
    let literal = |literal| Ok(Expr(Arc::new(Node::Literal(literal))));
    match part {
        PartData::Scalar(scalar) => Ok(scalar.into()),
        PartData::Array(array) => Ok(array.into()),
        PartData::Styled(ty, components) => styled(&read_type(&ty)?, components).map(Expr::from),
        PartData::Bool(x) => literal(Literal::Bool(x)),
        PartData::Int(text) => match text.parse() {
            Ok(x) => literal(Literal::Int(x)),
            Err(_) => Err(format!("`{text}` is no integer of 128 bits")),
        },
        PartData::Float(Scalar::F64(x)) => literal(Literal::Float(x)),
        PartData::Float(other) => Err(format!("a weak float is written as an f64, not as {}", other.dtype())),
        PartData::Complex(Scalar::C128(z)) => literal(Literal::Complex(z.re, z.im)),
        PartData::Complex(other) => {
            Err(format!("a weak complex number is written as a c128, not as {}", other.dtype()))
        }
        PartData::Typed(scalar) => literal(Literal::Typed(scalar)),
        PartData::Op(name, args) if args.is_empty() => Err(format!("`{name}` is applied to nothing")),
        PartData::Op(name, args) => Expr::apply(&name, operands(&args)?).map_err(|error| error.to_string()),
        PartData::Call(n, args) => {
            let known = functions.len();
            let function = functions.get(n).ok_or_else(|| format!("function {n} is none of the {known} functions"))?;
            let wanted = function.function().params().len();
            if args.len() != wanted {
                let name = function.function().name;
                return Err(format!("`@{name}` takes {wanted} arguments, got {}", args.len()));
            }
            Ok(Expr::call(function, operands(&args)?))
        }
        PartData::Cast(to, arg) => Ok(operand(&arg)?.cast(to)),
    }
}

/// Parses a type; the error suggests a style if none has the name in the text.
fn read_type(text: &str) -> Result<Type, String> {
    let named = text.split_once(';').and_then(|(_, style)| style.trim().strip_suffix(']'));
    if let Some(style) = named {
        Style::named(Name::new(style.trim()))?;
    }
    Type::deserialize(de::value::StrDeserializer::<de::value::Error>::new(text)).map_err(|error| error.to_string())
}

/// Assembles the array of a style from its components, in any order.
fn styled(ty: &Type, mut components: Vec<(String, Array)>) -> Result<Styled, String> {
    let style = Style::of(ty)?;
    if style.is_dense() {
        return Err(format!("{ty} is of no storage style: such an array is written as `Array`"));
    }
    let extent = |dim: &rewright::Dim| match dim {
        rewright::Dim::Const(n) => usize::try_from(*n).map_err(|_| format!("no array has so large extents as {ty}")),
        _ => Err(format!("the extents of an array are numbers, and {ty} has `{dim}`")),
    };
    let shape = ty.dims().iter().map(extent).collect::<Result<Vec<usize>, String>>()?;
    let known = (style.def().components)(ty).map_err(|why| format!("{ty}: {why}"))?;
    let mut own = Vec::with_capacity(known.len());
    for component in &known {
        let at = components.iter().position(|(name, _)| name == component.name);
        let at = at.ok_or_else(|| format!("{ty} has a component `{}`, which is missing", component.name))?;
        own.push(components.swap_remove(at).1);
    }
    match components.first() {
        Some((name, _)) if known.iter().any(|component| component.name == name) => {
            Err(format!("{ty} has one component `{name}`, which is given twice"))
        }
        Some((name, _)) => {
            let names: Vec<&str> = known.iter().map(|component| component.name).collect();
            Err(format!("{ty} has no component `{name}`, but {}", names.join(", ")))
        }
        None => Styled::new(style, ty.dtype(), &shape, own),
    }
}
