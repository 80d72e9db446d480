//! `dim`: the extent of an axis, as a number.

use super::rule::{self, array, axis, one};
use crate::attr::{AttrDef, AttrKind};
use crate::dtype::DType;
use crate::error::{EvalError, TypeError};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Types};
use crate::register_op;
use crate::scalar::Scalar;
use crate::types::Type;
use crate::value::Datum;

/// `dim %x, axis=0`: the extent of an axis, as an `i64`. Reads no element.
pub static DIM: OpDef =
    OpDef::new("dim", "the extent of an axis, as an i64", Arity::Exactly(1), infer, Eval::Array(eval))
        .attrs(&[AttrDef::required("axis", AttrKind::Int, "the axis, counting from the last one if negative")]);

register_op!(DIM);

/// The axis of a `dim`.
pub fn dim_axis(cx: &InferCx<'_>) -> Result<usize, TypeError> {
    match cx.args {
        // Elements and their storage style don't matter.
        [ty] if ty.style().is_some() => axis(cx, cx.attrs.int("axis").unwrap_or(0), ty.rank()),
        _ => axis(cx, cx.attrs.int("axis").unwrap_or(0), array(cx, 0)?.rank()),
    }
}

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    dim_axis(cx)?;
    one(Type::scalar(DType::I64))
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let types: Vec<Type> = args.iter().map(Datum::ty).collect();
    let axis = rule::concrete(cx, &DIM, &types, dim_axis)?;
    Ok(vec![Datum::Scalar(Scalar::I64(args[0].shape()[axis] as i64))])
}

#[cfg(test)]
mod tests {
    use super::super::rule::testing::{array, eval, infer, message, ty};
    use super::*;
    use crate::attr::{Attr, Attrs};

    #[test]
    fn extents_are_numbers() {
        let at = |i| Attrs::new().with("axis", Attr::Int(i));
        assert_eq!(infer("dim", &["f32[n, ?]"], at(-1)), Ok(ty("i64")));
        assert!(message(infer("dim", &["f32[n]"], at(1))).contains("has no axis 1 at rank 1"));
        assert!(message(infer("dim", &["f32"], at(0))).contains("is the scalar f32"));
        for (axis, extent) in [(0, 2), (1, 0), (-1, 0), (-2, 2)] {
            assert_eq!(eval("dim", &[array("f64[2, 0]")], at(axis)), Ok(Datum::Scalar(Scalar::I64(extent))));
        }
        assert!(eval("dim", &[array("f64[2]")], at(-2)).is_err_and(|e| e.contains("has no axis -2")));
    }
}
