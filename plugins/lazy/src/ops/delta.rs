//! `delta`: 1 where all positions are equal, else 0.

use crate::input::Input;
use rewright::plugin::*;

/// `delta dims=[n, n, n], dtype=i32`: 1 where all positions are equal, else 0. At rank 2 it is `eye`; at
/// ranks 0 and 1 all elements are 1.
pub static DELTA: OpDef =
    OpDef::new("delta", "1 where all positions are equal, else 0", Arity::Exactly(0), infer, Eval::Array(eval))
        .traits(Traits::CONSTRUCTOR)
        .attrs(&[
            AttrDef::required("dims", AttrKind::Dims, "the result's dims"),
            AttrDef::optional("dtype", AttrKind::DType, "the element type; f64 if absent"),
        ]);
register_op!(DELTA);

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let dims = cx.attrs.dims("dims").unwrap_or(&[]);
    if dims.contains(&Dim::Any) {
        return Err(TypeError::new(format!("`{}` needs dims that are known, got `?`", cx.op)));
    }
    Ok([Type::array(cx.attrs.dtype("dtype").unwrap_or(DType::F64), dims)].into_iter().collect())
}

fn eval(cx: &EvalCx<'_>, _: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let dtype = cx.attrs.dtype("dtype").unwrap_or(DType::F64);
    let shape = cx.shape(cx.attrs.dims("dims").unwrap_or(&[]))?;
    let extents: Vec<u64> = shape.iter().map(|&extent| extent as u64).collect();
    let input = Input::Delta { dtype, shape: extents.clone() };
    let mut at = vec![0; shape.len()];
    let result = cx.build(dtype, &shape, |mut flat| {
        for (at, extent) in at.iter_mut().zip(&shape).rev() {
            *at = (flat % extent) as u64;
            flat /= extent;
        }
        input.element(&at).ok_or_else(|| EvalError::index("a position leaves the array"))
    })?;
    Ok(vec![Datum::Array(result)])
}
