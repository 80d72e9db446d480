//! `%char = allocate %a, %b, style="named", dims=[n], dtype=f64, nest="op add"`: computes the components
//! that a style finds in a whole nest, from the nest's operands of that style.

use super::refuse;
use crate::pattern;
use crate::summary::Summary;
use crate::whole_nest;
use rewright::ir::op::Eval;
use rewright::ir::{Arity, AttrDef, AttrKind, EvalCx, EvalError, InferCx, OpDef, Style, Traits, TypeError, Types};
use rewright::{Attrs, DType, Datum, Type, register_op};

/// The op. `nest` describes the functions, operands and constants of the nest.
pub static ALLOCATE: OpDef =
    OpDef::new("allocate", "the components that a style finds in a nest", Arity::AtLeast(0), infer, Eval::Array(eval))
        .traits(Traits::PARTIAL.union(Traits::DIRECT))
        .attrs(&[
            AttrDef::required("style", AttrKind::Str, "a storage style that looks at whole nests"),
            AttrDef::required("dims", AttrKind::Dims, "the dims of the nest"),
            AttrDef::required("dtype", AttrKind::DType, "the dtype of the nest's elements"),
            AttrDef::optional("nest", AttrKind::Str, "the functions, operands and constants of the nest"),
        ]);

register_op!(ALLOCATE);

/// The dense type of the nest.
fn ty(attrs: &Attrs) -> Type {
    Type::array(attrs.dtype("dtype").unwrap_or(DType::F64), attrs.dims("dims").unwrap_or_default())
}

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let style = pattern::style(cx.attrs).map_err(|why| refuse(cx, why))?;
    if !whole_nest::finds(style) {
        return Err(refuse(cx, format!("`{style}` finds no components in nests")));
    }
    let is_own = |ty: &Type| Style::of(ty).is_ok_and(|own| whole_nest::is_same_style(own, style));
    if let Some(operand) = cx.args.iter().position(|ty| !is_own(ty)) {
        return Err(refuse(cx, format!("wants arrays of `{style}`, got {}", cx.args[operand])).operand(operand));
    }
    Summary::read(cx.attrs.str("nest").unwrap_or("")).map_err(|why| refuse(cx, why))?;
    let found = whole_nest::found_components(style, &ty(cx.attrs)).map_err(|why| refuse(cx, why))?;
    Ok(found.into_iter().map(|component| component.ty).collect())
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let style = pattern::style(cx.attrs).map_err(EvalError::value)?;
    let nest = Summary::read(cx.attrs.str("nest").unwrap_or("")).map_err(EvalError::value)?;
    cx.spend(args.len() as u64)?;
    let operands = whole_nest::carried(style, args);
    let made = whole_nest::allocate(style, &ty(cx.attrs), &nest, &operands).map_err(EvalError::value)?;
    Ok(made.into_iter().map(Datum::from).collect())
}
