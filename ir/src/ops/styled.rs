//! Arrays of storage styles: `component` and `assemble` convert to and from components, `restyle` converts
//! between styles.

use super::rule::{self, one, refuse};
use crate::attr::{AttrDef, AttrKind};
use crate::error::{EvalError, TypeError};
use crate::name::Name;
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Traits, Types};
use crate::register_op;
use crate::types::{Dim, Type};
use crate::value::Datum;
use crate::value::{Component, Style, Styled};

/// `component %d, name="diag"`: a component of an array of a storage style.
pub static COMPONENT: OpDef = OpDef::new(
    "component",
    "a component of an array of a storage style",
    Arity::Exactly(1),
    infer_component,
    Eval::Array(eval_component),
)
.attrs(&[AttrDef::required("name", AttrKind::Str, "the component's name in the style")]);

/// `assemble %c, style="diagonal", dims=[n, n]`: the array of a storage style with these components, in the
/// style's order.
pub static ASSEMBLE: OpDef = OpDef::new(
    "assemble",
    "the array of a storage style that has these components",
    Arity::AtLeast(1),
    infer_assemble,
    Eval::Array(eval_assemble),
)
.traits(Traits::PARTIAL)
.attrs(&[
    AttrDef::required("style", AttrKind::Str, "the storage style"),
    AttrDef::required("dims", AttrKind::Dims, "the result's dims"),
    AttrDef::optional("dtype", AttrKind::DType, "the element type; the first component's if absent"),
]);

/// `restyle %x, style="dense"`: the same elements in another storage style; an error if the style can't
/// represent them.
pub static RESTYLE: OpDef = OpDef::new(
    "restyle",
    "the same elements in another storage style",
    Arity::Exactly(1),
    infer_restyle,
    Eval::Array(eval_restyle),
)
.traits(Traits::PARTIAL)
.attrs(&[AttrDef::required("style", AttrKind::Str, "the storage style; `dense` is none")]);

register_op!(COMPONENT, ASSEMBLE, RESTYLE);

/// The style that an attribute names.
fn style(cx: &InferCx<'_>) -> Result<Style, TypeError> {
    let name = Name::new(cx.attrs.str("style").unwrap_or("dense"));
    Style::named(name).map_err(|why| refuse(cx, format!("wants a storage style: {why}")))
}

/// The components of an array of `style` with the dtype and dims of `ty`.
fn components(cx: &InferCx<'_>, style: Style, ty: &Type) -> Result<Vec<Component>, TypeError> {
    (style.def().components)(&ty.clone().with_style(Some(style.name())))
        .map_err(|why| refuse(cx, format!("can't have {ty} as `{style}`: {why}")))
}

fn infer_component(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = &cx.args[0];
    if ty.is_scalar() {
        return Err(refuse(cx, format!("reads an array, got the scalar {ty}")).operand(0));
    }
    let style = Style::of(ty).map_err(|why| refuse(cx, why))?;
    let (all, name) = (components(cx, style, ty)?, cx.attrs.str("name").unwrap_or_default());
    match all.iter().find(|component| component.name == name) {
        Some(component) => one(component.ty.clone()),
        None => {
            let names: Vec<_> = all.iter().map(|component| component.name).collect();
            Err(refuse(cx, format!("finds no `{name}` in {ty}"))
                .operand(0)
                .help(format!("`{style}` has {}", names.join(", "))))
        }
    }
}

fn eval_component(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    rule::result_types(cx, &COMPONENT, args)?;
    let found = match args {
        [Datum::Styled(styled)] => {
            styled.component(cx.attrs.str("name").unwrap_or_default()).cloned().map(Datum::Array)
        }
        // The dense elements.
        [array] => Some(array.clone()),
        _ => None,
    };
    found.map(|component| vec![component]).ok_or_else(|| EvalError::shape("has no such component"))
}

fn infer_assemble(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let style = style(cx)?;
    let (dtype, dims) = (cx.attrs.dtype("dtype").unwrap_or(cx.args[0].dtype()), cx.attrs.dims("dims").unwrap_or(&[]));
    if dims.contains(&Dim::Any) {
        return Err(refuse(cx, "needs dims that are known, got `?`"));
    }
    let ty = Type::array(dtype, dims).with_style(Some(style.name()));
    let wanted = components(cx, style, &ty)?;
    if wanted.len() != cx.args.len() {
        let names: Vec<_> = wanted.iter().map(|component| component.name).collect();
        let message = format!("makes {ty} of {} components, got {}", wanted.len(), cx.args.len());
        return Err(refuse(cx, message).help(format!("they are {}", names.join(", "))));
    }
    for (operand, (component, given)) in wanted.iter().zip(cx.args).enumerate() {
        if !given.fits(&component.ty) {
            let Component { name, ty: needed } = component;
            let error = refuse(cx, format!("makes {ty} with `{name}`, {needed}, got {given}")).operand(operand);
            let is_rank_0 = given.is_scalar() && needed.rank() == 0;
            return Err(if is_rank_0 { error.help("`to_array` makes an array of rank 0 of it") } else { error });
        }
    }
    one(ty)
}

fn eval_assemble(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, &ASSEMBLE, args)?;
    let arrays: Option<Vec<_>> = args.iter().map(|arg| arg.as_array().cloned()).collect();
    let arrays = arrays.ok_or_else(|| EvalError::shape("wants arrays"))?;
    let Some(name) = ty.style() else {
        return Ok(arrays.into_iter().map(Datum::Array).collect());
    };
    let style = Style::named(name).map_err(EvalError::unsupported)?;
    // Checking the components costs steps.
    arrays.iter().try_for_each(|array| cx.spend(array.len() as u64))?;
    Ok(vec![Styled::new(style, ty.dtype(), &shape, arrays).map_err(EvalError::value)?.into()])
}

/// The extent of a constant dim.
fn extent(dim: &Dim) -> Option<usize> {
    if let Dim::Const(n) = dim { Some(usize::try_from(*n).unwrap_or(usize::MAX)) } else { None }
}

fn infer_restyle(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let (style, ty) = (style(cx)?, &cx.args[0]);
    if ty.is_scalar() {
        return Err(refuse(cx, format!("keeps an array, got the scalar {ty}")).operand(0));
    }
    components(cx, style, ty)?;
    one(ty.clone().with_style(Some(style.name())))
}

fn eval_restyle(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, &RESTYLE, args)?;
    let arg = args.first().ok_or_else(|| EvalError::shape("wants an operand"))?;
    if arg.as_styled().map(|styled| styled.style().name()) == ty.style() {
        return Ok(vec![arg.clone()]);
    }
    cx.spend(cx.room(ty.dtype(), &shape)? as u64)?;
    let dense = match arg.as_styled() {
        Some(styled) => styled.try_dense().map_err(EvalError::limit)?,
        None => arg.to_array(),
    };
    let Some(name) = ty.style() else { return Ok(vec![dense.into()]) };
    let style = Style::named(name).map_err(EvalError::unsupported)?;
    // Components may have more elements than the array: without rows, a component may still have columns.
    for component in style.components(ty.dtype(), &shape).map_err(EvalError::shape)? {
        let known: Vec<usize> = component.ty.dims().iter().filter_map(extent).collect();
        cx.spend(cx.room(component.ty.dtype(), &known)? as u64)?;
    }
    Ok(vec![Styled::keep(style, &dense).map_err(EvalError::value)?.into()])
}
