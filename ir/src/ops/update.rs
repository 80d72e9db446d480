//! `update`: an array with a part of it replaced.

use super::effects::{can_cast_same_kind, store_literal};
use super::rule::{self, array, dense, one, positions, refuse};
use super::view::{along, sliced_dims};
use crate::attr::{AttrDef, AttrKind, SliceSpec};
use crate::dtype::DType;
use crate::error::{EvalError, TypeError};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, LiteralCx, OpDef, Traits, Types, index_literal};
use crate::types::{Dim, Type};
use crate::value::{Array, Datum, Element};
use crate::{register_op, with_array};
use ndarray::{ArcArray, Axis, IxDyn};

/// `update %x, %v, %i, at=[1:]`: a new value, equal to `x` after `x[i, 1:] = v` in Python. `x` itself does
/// not change.
///
/// The positions `%i`, ... index the leading axes, and the slices `at` the axes after them. `v` is broadcast
/// to that part, without its surplus leading axes of extent 1, and cast like the value of a `store`.
/// Negative positions count from the end; a position out of bounds is an error.
pub static UPDATE: OpDef = OpDef::new(
    "update",
    "the first operand with a part of it, at positions and slices, replaced by the second",
    Arity::AtLeast(2),
    infer,
    Eval::Array(eval),
)
.traits(Traits::PARTIAL)
.literals(literal)
.attrs(&[AttrDef::optional("at", AttrKind::Slices, "for each axis after those with a position, start:stop:step")]);

register_op!(UPDATE);

fn literal(cx: &LiteralCx<'_>) -> DType {
    if cx.operand < 2 { store_literal(cx) } else { index_literal(cx) }
}

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let (ty, new) = (array(cx, 0)?, dense(cx, 1)?);
    let part = sliced_dims(cx, ty, positions(cx, 2)?)?;
    if !can_cast_same_kind(new.dtype(), ty.dtype()) {
        return Err(refuse(cx, format!("can't cast {} to {}", new.dtype(), ty.dtype()))
            .operand(1)
            .help(format!("`cast` it, with `to={}`", ty.dtype())));
    }
    let (extra, dims) = new.dims().split_at(new.rank().saturating_sub(part.len()));
    let aligned = &part[part.len() - dims.len()..];
    let fits = extra.iter().all(|d| d.may_equal(Dim::Const(1)))
        && dims.iter().zip(aligned).all(|(&d, &to)| d == Dim::Const(1) || d.may_equal(to));
    match fits {
        true => one(ty.clone()),
        false => {
            let part = Type::array(ty.dtype(), part);
            Err(refuse(cx, format!("can't broadcast {new} to {part}, the part of {ty} that is replaced")).operand(1))
        }
    }
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    rule::result(cx, &UPDATE, args)?;
    let [Datum::Array(array), new, at @ ..] = args else { return Err(EvalError::shape("changes an array")) };
    cx.spend(array.len() as u64)?;
    let at = rule::leading(at, array.shape())?;
    let new = new.to_array().cast(array.dtype());
    let mut changed = array.clone();
    let slices = cx.attrs.slices("at").unwrap_or(&[]);
    match with_array!(&mut changed, |a| replace(a, &new, &at, slices)) {
        Some(()) => Ok(vec![Datum::Array(changed)]),
        None => Err(EvalError::shape("the value to write doesn't broadcast to the destination")),
    }
}

/// Writes `new` into a part of `array`; `None` if the shapes don't fit.
fn replace<T: Element>(array: &mut ArcArray<T, IxDyn>, new: &Array, at: &[usize], slices: &[SliceSpec]) -> Option<()> {
    let mut part = array.view_mut();
    at.iter().for_each(|&i| part.index_axis_inplace(Axis(0), i));
    for (axis, &spec) in slices.iter().enumerate() {
        let slice = along(spec, part.len_of(Axis(axis)));
        part.slice_axis_inplace(Axis(axis), slice);
    }
    let mut new = T::unwrap(new)?.view();
    while new.ndim() > part.ndim() && new.len_of(Axis(0)) == 1 {
        new.index_axis_inplace(Axis(0), 0);
    }
    let stretched = new.broadcast(part.raw_dim())?;
    part.assign(&stretched);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::rule::testing::{array, eval, infer, int, message, ty};
    use super::*;
    use crate::attr::{Attr, Attrs};
    use crate::scalar::Scalar;

    fn slices(list: &[SliceSpec]) -> Attrs {
        Attrs::new().with("at", Attr::Slices(list.into()))
    }
    const FROM_1: SliceSpec = SliceSpec { start: Some(1), stop: None, step: 1 };

    #[test]
    fn written_values_must_fit() {
        let found = |args: &[&str]| infer("update", args, Attrs::new());
        assert_eq!(found(&["f32[n, m]", "f32[m]", "i64"]), Ok(ty("f32[n, m]")));
        assert_eq!(found(&["f32[n, m]", "i64[1, 1]", "i64", "i64"]), Ok(ty("f32[n, m]")));
        assert_eq!(found(&["f32[n, m]", "bool"]), Ok(ty("f32[n, m]")));
        assert_eq!(infer("update", &["f32[4]", "f32[3]"], slices(&[FROM_1])), Ok(ty("f32[4]")));
        assert!(
            message(infer("update", &["f32[4]", "f32[4]"], slices(&[FROM_1])))
                .contains("broadcast f32[4] to f32[3], the part of f32[4]")
        );
        assert!(message(found(&["f32[n, 3]", "f32[2]", "i64"])).contains("broadcast f32[2] to f32[3]"));
        assert!(message(found(&["f32[3]", "f32[2, 3]"])).contains("broadcast f32[2, 3]"));
        assert!(message(found(&["i64[3]", "f32", "i64"])).contains("can't cast f32 to i64"));
        assert!(message(found(&["i64[3]", "i64", "i64", "i64"])).contains("has 2 positions and 0 slices for i64[3]"));
        assert!(message(found(&["i64[3]", "i64", "f64"])).contains("operand 2 is f64"));
    }

    #[test]
    fn only_the_part_is_replaced() {
        let x = array("f64[2, 3]");
        let run = |args: &[Datum], attrs| {
            let all: Vec<Datum> = [x.clone()].iter().chain(args).cloned().collect();
            eval("update", &all, attrs).map(|d| d.to_array().iter().map(|s| s.to_f64()).collect::<Vec<_>>())
        };
        let minus = Datum::Scalar(Scalar::I8(-1));
        assert_eq!(run(&[minus.clone(), int(1), int(-1)], Attrs::new()), Ok(vec![0., 1., 2., 3., 4., -1.]));
        assert_eq!(run(&[minus.clone(), int(0)], Attrs::new()), Ok(vec![-1., -1., -1., 3., 4., 5.]));
        assert_eq!(run(&[array("f64[1, 1, 2]"), int(1)], slices(&[FROM_1])), Ok(vec![0., 1., 2., 3., 0., 1.]));
        let backwards = SliceSpec { start: None, stop: None, step: -2 };
        assert_eq!(run(&[array("i32[2]")], slices(&[FROM_1, backwards])), Ok(vec![0., 1., 2., 1., 4., 0.]));
        assert!(run(&[minus, int(2)], Attrs::new()).is_err_and(|e| e.contains("position 2 is out of bounds")));
        assert_eq!(x, array("f64[2, 3]"));
    }
}
