//! `materialize %l`: computes the elements of a lazy array, and stores them in the style that its type
//! proves. Without `style`, other values pass through unchanged.
//!
//! The attribute `style` requests a style. Unless the type proves it, every element is checked at run time;
//! `dense` always succeeds.

use crate::lattice::Broadcasting;
use crate::lazy::Lazy;
use crate::whole_nest;
use rewright::ir::op::Eval;
use rewright::ir::{
    Arity, AttrDef, AttrKind, EvalCx, EvalError, InferCx, OpDef, Style, Styled, Traits, TypeError, Types,
};
use rewright::{Attrs, Datum, Dim, Name, Type, register_op};

/// The op.
pub static MATERIALIZE: OpDef = OpDef::new(
    "materialize",
    "the elements of a lazy array, kept as its type allows",
    Arity::Exactly(1),
    infer,
    Eval::Array(eval),
)
.traits(Traits::PARTIAL)
.attrs(&[AttrDef::optional("style", AttrKind::Str, "the storage style; that which the type proves if absent")]);

register_op!(MATERIALIZE);

/// The style of the result, and why structure is lost, if it is.
pub fn style(ty: &Type, attrs: &Attrs) -> Result<(Style, Option<String>), String> {
    if let Some(name) = attrs.str("style") {
        return Ok((Style::named(Name::new(name))?, None));
    }
    if !Lazy::is_lazy(ty) {
        return Ok((Style::of(ty)?, None));
    }
    let lazy = Lazy::of(ty)?;
    let refuses = lazy.style.def().interface::<Broadcasting>().and_then(|b| b.keeps.refuses(ty.dtype(), lazy.zero));
    Ok(match refuses {
        Some(why) => (Style::dense(), Some(why)),
        None => whole_nest::decide(&lazy, ty)?,
    })
}

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = &cx.args[0];
    if ty.is_scalar() {
        return Ok(Types::from_iter([ty.clone()]));
    }
    let refuse = |why: String| TypeError::new(format!("`materialize` of {ty}: {why}")).operand(0);
    let (style, _) = style(ty, cx.attrs).map_err(refuse)?;
    if style.def().name == "lazy" {
        return Err(refuse("it would be lazy again".into()).help("leave `style` out, or name another one"));
    }
    let kept = ty.clone().with_style(Some(style.name()));
    (style.def().components)(&kept).map_err(|why| refuse(format!("it can't be `{style}`: {why}")))?;
    Ok(Types::from_iter([kept]))
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let arg = args.first().ok_or_else(|| EvalError::shape("wants an operand"))?;
    let Some(ty) = cx.results.first().filter(|ty| ty.is_array()) else { return Ok(vec![arg.clone()]) };
    let style = Style::of(ty).map_err(EvalError::value)?;
    let own = arg.as_styled().map_or(Style::dense(), |styled| styled.style());
    if own == style {
        return Ok(vec![arg.clone()]);
    }
    cx.spend(cx.len(arg.shape())? as u64)?;
    let elements = arg.to_array();
    if style.is_dense() {
        return Ok(vec![elements.into()]);
    }
    // Components may have more elements than the array: a `csc` matrix without rows has a start for each
    // column.
    let dims: Vec<Dim> = elements.shape().iter().map(|&n| Dim::Const(n as u64)).collect();
    let of_shape = Type::array(ty.dtype(), dims).with_style(Some(style.name()));
    for component in (style.def().components)(&of_shape).map_err(EvalError::shape)? {
        let known = component.ty.dims().iter().filter_map(|dim| match dim {
            Dim::Const(n) => usize::try_from(*n).ok(),
            _ => None,
        });
        cx.spend(cx.len(&known.collect::<Vec<_>>())? as u64)?;
    }
    if !whole_nest::finds(style) {
        return Ok(vec![Styled::keep(style, &elements).map_err(EvalError::value)?.into()]);
    }
    let nest = arg.as_styled().and_then(|styled| Lazy::of(&styled.ty()).ok()?.summary()).unwrap_or_default();
    let operands = whole_nest::carried(style, std::slice::from_ref(arg));
    let kept = whole_nest::allocate(style, &of_shape.with_style(None), &nest, &operands)
        .and_then(|found| whole_nest::keep(style, &elements, found));
    Ok(vec![kept.map_err(EvalError::value)?.into()])
}
