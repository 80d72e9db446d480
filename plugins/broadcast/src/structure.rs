//! Infers the structure of a function's result from the types of its operands: the type rule of
//! [`broadcasted`](crate::ops::broadcasted).
//!
//! A diagonal matrix is zero off its diagonal, so a function's result there is the function of zeros,
//! whatever the stored elements are. That number is computed once, by evaluation of the op. It is carried
//! with the style from function to function; if it is zero after the last one, the result is diagonal. The
//! inference never depends on elements, and depends on scalars only if they are constants of the program.

use crate::absorption::{self, ABSORBING, is_exact};
use crate::lattice::{Answer, Applying, Broadcasting, Keeps, lattice};
use crate::lazy::Lazy;
use crate::ops::broadcasted::attrs_of_op;
use crate::pattern::Stretches;
use rewright::ir::{InferCx, Style};
use rewright::{Attrs, DType, Dim, Op, Scalar, Type};

/// The function that is applied.
#[derive(Clone, Copy)]
pub enum Function {
    /// An elementwise op.
    Op(Op),
    /// A function of scalars, with its declared result for zeros, if any.
    Callee(Option<Scalar>),
}

/// The inferred structure of a result, and why it is dense.
pub struct Structure {
    /// The style of a result that is computed eagerly instead of lazily.
    pub now: Option<Style>,
    /// The style, and the result for structural zeros.
    pub lazy: Lazy,
    /// Why the result is dense; empty if it is not dense, or if no operand has a style.
    pub because: Vec<String>,
}

/// An operand of a function.
enum OperandStructure {
    /// A scalar; its value if it is a constant of the program.
    Scalar(Option<Scalar>),
    /// An array without known structure.
    Dense,
    /// An array with structure: that of an elementwise function of it alone.
    Styled(Lazy),
}

/// Infers the structure of a function's result. `dims` are the broadcast dims of the operands; `finite`
/// says that no operand holds infinities or NaN.
///
/// # Errors
///
/// A style's own rule may reject the function.
pub fn apply(
    function: Function,
    cx: &InferCx<'_>,
    dims: &[Dim],
    dtype: DType,
    finite: bool,
) -> Result<Structure, String> {
    let mut because = Vec::new();
    // Sparse operands are broadcast only if every array operand has structure. Beside a dense array, the
    // repeated pattern does not pay.
    let stretches = cx.args.iter().all(|ty| ty.is_scalar() || is_kept(ty, dims));
    let operands: Vec<OperandStructure> =
        cx.args.iter().zip(cx.consts).map(|(ty, known)| operand(ty, *known, dims, stretches, &mut because)).collect();
    let style = match ruled(function, cx, dtype)? {
        Answer::Join => joined(&operands, &mut because),
        Answer::Style(style) => Some(style),
        Answer::Dense(why) => {
            return Ok(Structure { now: None, lazy: Lazy::dense(), because: vec![why] });
        }
        Answer::Now(style) => {
            return Ok(Structure { now: Some(style), lazy: Lazy::dense(), because: Vec::new() });
        }
    };
    let lazy = match style {
        Some(style) => {
            let asks = style.def().interface::<Broadcasting>().is_none_or(|b| b.keeps == Keeps::Zeros);
            match asks.then(|| zero_of(function, &operands, dtype, cx.attrs)).transpose() {
                Ok(zero) => Lazy::kept(style, zero.flatten()),
                Err(why) => {
                    because.push(why);
                    Lazy::dense()
                }
            }
        }
        None => Lazy::dense(),
    };
    Ok(match absorbing(function, cx, &operands, dtype, finite) {
        Some(absorbed) if lazy.zero.is_none() => Structure { now: None, lazy: absorbed, because: Vec::new() },
        _ => Structure { now: None, lazy, because },
    })
}

/// Asks the rules of the operands' styles; the first answer other than `Join` wins.
fn ruled(function: Function, cx: &InferCx<'_>, dtype: DType) -> Result<Answer, String> {
    let style_of = |ty: &Type| if Lazy::is_lazy(ty) { Lazy::of(ty).map(|lazy| lazy.style) } else { Style::of(ty) };
    let styles: Vec<Style> = cx.args.iter().map(style_of).collect::<Result<_, _>>()?;
    let op = if let Function::Op(op) = function { Some(op) } else { None };
    let applying = Applying { op, styles: &styles, types: cx.args, consts: cx.consts, dtype };
    for style in &styles {
        let Some(broadcasting) = style.def().interface::<Broadcasting>() else { continue };
        match (broadcasting.rule)(&applying)? {
            Answer::Join => {}
            other => return Ok(other),
        }
    }
    Ok(Answer::Join)
}

/// True if an array's structure survives in a result of these dims: the dims are the same, or a style
/// describes the broadcast array.
fn is_kept(ty: &Type, dims: &[Dim]) -> bool {
    alone(ty).is_ok_and(|lazy| !lazy.style.is_dense() && (ty.dims() == dims || stretched(lazy, ty, dims).is_some()))
}

/// The structure of an array that is broadcast to other dims; none if its style declares none.
fn stretched(lazy: Lazy, ty: &Type, dims: &[Dim]) -> Option<Lazy> {
    let stretches = lazy.style.def().interface::<Stretches>()?;
    let style = Style::named(rewright::Name::new((stretches.0)(ty, dims)?)).ok()?;
    Some(Lazy { style, ..lazy })
}

fn operand(
    ty: &Type,
    known: Option<Scalar>,
    dims: &[Dim],
    stretches: bool,
    because: &mut Vec<String>,
) -> OperandStructure {
    if ty.is_scalar() {
        return OperandStructure::Scalar(known);
    }
    let lazy = match alone(ty) {
        Ok(lazy) => lazy,
        Err(why) => {
            because.extend(why);
            return OperandStructure::Dense;
        }
    };
    if lazy.style.is_dense() {
        return OperandStructure::Dense;
    }
    // Broadcasting moves structural zeros. Other properties survive it: bools stay packed (`bits`), tuples
    // stay small.
    let zeros = lazy.style.def().interface::<Broadcasting>().is_none_or(|b| b.keeps == Keeps::Zeros);
    if zeros
        && stretches
        && ty.dims() != dims
        && !dims.contains(&Dim::Any)
        && let Some(lazy) = stretched(lazy, ty, dims)
    {
        return OperandStructure::Styled(lazy);
    }
    if (zeros && ty.dims() != dims) || dims.contains(&Dim::Any) {
        because.push(format!("{ty} is stretched, or not known to have the extents of the result"));
        return OperandStructure::Dense;
    }
    OperandStructure::Styled(lazy)
}

/// The structure of an elementwise function of this array alone. The error says why it is dense; it is
/// `None` if the array itself is dense.
fn alone(ty: &Type) -> Result<Lazy, Option<String>> {
    if Lazy::is_lazy(ty) {
        return Lazy::of(ty).map_err(Some);
    }
    let style = Style::of(ty).map_err(Some)?;
    if style.is_dense() {
        return Err(None);
    }
    let Some(broadcasting) = style.def().interface::<Broadcasting>() else {
        return Err(Some(format!("functions of `{style}` give dense arrays")));
    };
    let into = match broadcasting.into == style.def().name {
        true => style,
        false => Style::named(rewright::Name::new(broadcasting.into)).map_err(Some)?,
    };
    let zero = (broadcasting.keeps == Keeps::Zeros).then(|| Scalar::Bool(false).cast(ty.dtype()));
    Ok(Lazy::kept(into, zero))
}

/// Joins the styles of all operands; none if the result is dense.
fn joined(operands: &[OperandStructure], because: &mut Vec<String>) -> Option<Style> {
    let mut style: Option<Style> = None;
    for operand in operands {
        match (operand, style) {
            (OperandStructure::Scalar(_), _) => {}
            (OperandStructure::Dense, _) => {
                because.push("an operand is dense".into());
                return None;
            }
            (OperandStructure::Styled(lazy), None) => style = Some(lazy.style),
            (OperandStructure::Styled(lazy), Some(before)) => match lattice().join(before, lazy.style) {
                Ok(both) if !both.is_dense() => style = Some(both),
                Ok(_) => return None,
                Err(why) => {
                    because.push(why);
                    return None;
                }
            },
        }
    }
    style
}

/// The function's result where all array operands are structural zeros, if it is known. The error says why
/// a declared result does not apply.
fn zero_of(
    function: Function,
    operands: &[OperandStructure],
    dtype: DType,
    attrs: &Attrs,
) -> Result<Option<Scalar>, String> {
    let zeros: Option<Vec<Scalar>> = operands
        .iter()
        .map(|operand| match operand {
            OperandStructure::Scalar(known) => *known,
            OperandStructure::Dense => None,
            OperandStructure::Styled(lazy) => lazy.zero,
        })
        .collect();
    match function {
        Function::Op(op) => {
            let absorbs = absorption::is_asked(op, attrs, dtype);
            let made =
                zeros.and_then(|zeros| absorption::element(op, &attrs_of_op(attrs), &zeros, dtype, absorbs).ok());
            Ok(made.and_then(|made| Some(made.first()?.cast(dtype))))
        }
        Function::Callee(None) => Ok(None),
        // The declaration covers zeros and no other number.
        Function::Callee(zero) => operands.iter().try_fold(zero, |zero, operand| match operand {
            OperandStructure::Styled(Lazy { zero: Some(number), .. }) if number.truthy() => {
                Err(format!("an operand is {number} where nothing is stored, and `zero` speaks of zeros"))
            }
            OperandStructure::Styled(Lazy { zero: None, .. }) => {
                Err("the elements of an operand where nothing is stored are not known, and `zero` is for zeros".into())
            }
            _ => Ok(zero),
        }),
    }
}

/// The structure of a product of an operand with structural zeros and operands without known structure, if
/// zero is absorbing.
fn absorbing(
    function: Function,
    cx: &InferCx<'_>,
    operands: &[OperandStructure],
    dtype: DType,
    finite: bool,
) -> Option<Lazy> {
    let Function::Op(op) = function else { return None };
    let exact = op.name == "and" || cx.args.iter().all(|ty| is_exact(ty.dtype()));
    if !ABSORBING.contains(&op.name) || !(exact || finite) {
        return None;
    }
    let mut zeros = operands.iter().filter_map(|operand| match operand {
        OperandStructure::Styled(lazy) if lazy.zero.is_some_and(|zero| !zero.truthy()) => {
            let zeros = lazy.style.def().interface::<Broadcasting>()?.zeros;
            Style::named(rewright::Name::new(zeros)).ok().filter(|style| !style.is_dense())
        }
        _ => None,
    });
    let first = zeros.next()?;
    // Several such operands have the join of their styles, or the first style if there is no join.
    let style = zeros.try_fold(first, |both, style| lattice().join(both, style)).unwrap_or(first);
    Some(Lazy::kept(style, Some(Scalar::Bool(false).cast(dtype))))
}
