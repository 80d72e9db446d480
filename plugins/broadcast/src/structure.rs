//! What is known of the structure of a result before anything is computed: the rule of
//! [`broadcasted`](crate::ops::broadcasted).
//!
//! A matrix that is diagonal is zero off its diagonal, so what a function gives there is what it gives of
//! zeros, whatever the elements are. That number is computed once, by the op's own meaning, and handed on
//! from function to function with the style: where it is zero when all are applied, the result is diagonal.
//! Nothing depends on elements, and on scalars only where they are written in the program.

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
    /// A function of scalars; if somebody says so, what it makes of zeros.
    Callee(Option<Scalar>),
}

/// What is found: the style of the result, and why it is not one that more is known of.
pub struct Structure {
    /// The style of a result that is computed at once.
    pub now: Option<Style>,
    /// The style, and what is computed of zeros.
    pub lazy: Lazy,
    /// Why the result is dense; empty if it is not, or no operand has a style.
    pub because: Vec<String>,
}

/// An operand of a function.
enum Operand {
    /// A scalar; its value where it is written in the program.
    Scalar(Option<Scalar>),
    /// All of whose elements may be anything.
    Dense,
    /// What would become of it alone.
    Styled(Lazy),
}

/// What a function makes of operands whose broadcast has these dims. `finite` says that no operand holds
/// infinities or NaN.
///
/// # Errors
///
/// A style's own rule may refuse the function.
pub fn apply(
    function: Function,
    cx: &InferCx<'_>,
    dims: &[Dim],
    dtype: DType,
    finite: bool,
) -> Result<Structure, String> {
    let mut because = Vec::new();
    // Beside dense arrays, stretched zeros are no structure that is worth its places.
    let stretches = cx.args.iter().all(|ty| ty.is_scalar() || is_kept(ty, dims));
    let operands: Vec<Operand> =
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

/// What the operands' styles say themselves; the first one that says something is right.
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

/// True if the zeros of an array are in a result of these dims where a style says.
fn is_kept(ty: &Type, dims: &[Dim]) -> bool {
    alone(ty).is_ok_and(|lazy| !lazy.style.is_dense() && (ty.dims() == dims || stretched(lazy, ty, dims).is_some()))
}

/// The structure of an array that is stretched to other dims; nothing if its style has no other for it.
fn stretched(lazy: Lazy, ty: &Type, dims: &[Dim]) -> Option<Lazy> {
    let stretches = lazy.style.def().interface::<Stretches>()?;
    let style = Style::named(rewright::Name::new((stretches.0)(ty, dims)?)).ok()?;
    Some(Lazy { style, ..lazy })
}

fn operand(ty: &Type, known: Option<Scalar>, dims: &[Dim], stretches: bool, because: &mut Vec<String>) -> Operand {
    if ty.is_scalar() {
        return Operand::Scalar(known);
    }
    let lazy = match alone(ty) {
        Ok(lazy) => lazy,
        Err(why) => {
            because.extend(why);
            return Operand::Dense;
        }
    };
    if lazy.style.is_dense() {
        return Operand::Dense;
    }
    // Zeros are elsewhere in what is stretched; that bools are packed, and tuples small, stays.
    let zeros = lazy.style.def().interface::<Broadcasting>().is_none_or(|b| b.keeps == Keeps::Zeros);
    if zeros
        && stretches
        && ty.dims() != dims
        && !dims.contains(&Dim::Any)
        && let Some(lazy) = stretched(lazy, ty, dims)
    {
        return Operand::Styled(lazy);
    }
    if (zeros && ty.dims() != dims) || dims.contains(&Dim::Any) {
        because.push(format!("{ty} is stretched, or not known to have the extents of the result"));
        return Operand::Dense;
    }
    Operand::Styled(lazy)
}

/// What an array becomes if functions are applied to it alone. The error says why it becomes dense, and
/// nothing of one that is dense.
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

/// The style of all operands together; nothing if that is dense.
fn joined(operands: &[Operand], because: &mut Vec<String>) -> Option<Style> {
    let mut style: Option<Style> = None;
    for operand in operands {
        match (operand, style) {
            (Operand::Scalar(_), _) => {}
            (Operand::Dense, _) => {
                because.push("an operand is dense".into());
                return None;
            }
            (Operand::Styled(lazy), None) => style = Some(lazy.style),
            (Operand::Styled(lazy), Some(before)) => match lattice().join(before, lazy.style) {
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

/// What a function gives where all arrays are zero by structure, if that is known. The error says why what
/// somebody says of it is of no use.
fn zero_of(function: Function, operands: &[Operand], dtype: DType, attrs: &Attrs) -> Result<Option<Scalar>, String> {
    let zeros: Option<Vec<Scalar>> = operands
        .iter()
        .map(|operand| match operand {
            Operand::Scalar(known) => *known,
            Operand::Dense => None,
            Operand::Styled(lazy) => lazy.zero,
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
        // What is said is what the function makes of zeros, and of no other number.
        Function::Callee(zero) => operands.iter().try_fold(zero, |zero, operand| match operand {
            Operand::Styled(Lazy { zero: Some(number), .. }) if number.truthy() => {
                Err(format!("an operand is {number} where nothing is stored, and `zero` speaks of zeros"))
            }
            Operand::Styled(Lazy { zero: None, .. }) => {
                Err("what an operand is where nothing is stored is not known, and `zero` speaks of zeros".into())
            }
            _ => Ok(zero),
        }),
    }
}

/// What an op that zero absorbs makes of an array that is zero by structure and others of which nothing is
/// known.
fn absorbing(function: Function, cx: &InferCx<'_>, operands: &[Operand], dtype: DType, finite: bool) -> Option<Lazy> {
    let Function::Op(op) = function else { return None };
    let exact = op.name == "and" || cx.args.iter().all(|ty| is_exact(ty.dtype()));
    if !ABSORBING.contains(&op.name) || !(exact || finite) {
        return None;
    }
    let mut zeros = operands.iter().filter_map(|operand| match operand {
        Operand::Styled(lazy) if lazy.zero.is_some_and(|zero| !zero.truthy()) => {
            let zeros = lazy.style.def().interface::<Broadcasting>()?.zeros;
            Style::named(rewright::Name::new(zeros)).ok().filter(|style| !style.is_dense())
        }
        _ => None,
    });
    let first = zeros.next()?;
    // Of two, that of both; of two that nobody says anything of, the first one.
    let style = zeros.try_fold(first, |both, style| lattice().join(both, style)).unwrap_or(first);
    Some(Lazy::kept(style, Some(Scalar::Bool(false).cast(dtype))))
}
