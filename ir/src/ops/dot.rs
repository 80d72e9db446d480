//! `dot_general`: sums of products along pairs of axes.

use super::rule::{self, axes, dense, equal, one, refuse};
use crate::attr::{AttrDef, AttrKind};
use crate::error::{EvalError, TypeError};
use crate::expr::{Fold, Monoid, Order, dot};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Types};
use crate::register_op;
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use crate::value::Datum;
use crate::value::Elements;
use smallvec::SmallVec;

/// `dot_general %a, %b, lhs_contract=[2], rhs_contract=[1], lhs_batch=[0], rhs_batch=[0]`: multiplies
/// elements at equal positions of the contracted axes, and sums along these. Batch axes of both operands
/// correspond.
///
/// The result has the batch axes, then the other axes of the left operand, then those of the right one;
/// without any axes it is a scalar. NumPy's `dot`, `matmul`, `tensordot`, `inner` and `outer` are special
/// cases.
///
/// It computes at the promoted dtype, which is that of the result: integers wrap, and for bools the sum is
/// "or" and the product "and". Products are summed in the order of the reduction `sum` with the contracted
/// axes last. Products of matrices, in which one axis is contracted and both operands have free axes, add
/// rows to rows: the contracted axis comes before the free axes of the right operand. So do other products if
/// all contracted axes of the right operand come before its free axes. Where rows are added to rows, products
/// of floats are not rounded before they are added, as by the reduction `dot`.
pub static DOT_GENERAL: OpDef =
    OpDef::new("dot_general", "sums of products along pairs of axes", Arity::Exactly(2), infer, Eval::Array(eval))
        .attrs(&[
            AttrDef::required("lhs_contract", AttrKind::Ints, "the left operand's axes that are summed along"),
            AttrDef::required("rhs_contract", AttrKind::Ints, "the right operand's axis for each of these"),
            AttrDef::optional(
                "lhs_batch",
                AttrKind::Ints,
                "the left operand's axes that go side by side; none if absent",
            ),
            AttrDef::optional("rhs_batch", AttrKind::Ints, "the right operand's axis for each of these"),
        ]);

register_op!(DOT_GENERAL);

type Axes = SmallVec<[usize; 4]>;

/// The axes of one operand by their roles.
pub struct Roles {
    /// Axes shared with the batch axes of the other operand.
    pub batch: Axes,
    /// Axes of the result from this operand only.
    pub free: Axes,
    /// Contracted axes.
    pub contract: Axes,
}

impl Roles {
    /// True if the product of this left operand and a right one adds rows to rows.
    pub fn adds_rows(&self, right: &Roles) -> bool {
        let Some(first) = right.free.iter().min() else { return false };
        let is_of_matrices = self.contract.len() == 1 && !self.free.is_empty();
        is_of_matrices || right.contract.iter().max() < Some(first)
    }
}

/// The axes of operand 0 (left) or 1 (right) by their roles.
pub fn roles(cx: &InferCx<'_>, operand: usize) -> Result<Roles, TypeError> {
    let names = if operand == 0 { ["lhs_contract", "lhs_batch"] } else { ["rhs_contract", "rhs_batch"] };
    let rank = dense(cx, operand)?.rank();
    let list = |name| axes(cx, Some(cx.attrs.ints(name).unwrap_or(&[])), rank).map_err(|e| e.operand(operand));
    let (contract, batch) = (list(names[0])?, list(names[1])?);
    if let Some(axis) = contract.iter().find(|axis| batch.contains(axis)) {
        let [contracted, side_by_side] = names;
        return Err(refuse(cx, format!("names axis {axis} in `{contracted}` and in `{side_by_side}`")).operand(operand));
    }
    let free = (0..rank).filter(|axis| !contract.contains(axis) && !batch.contains(axis)).collect();
    Ok(Roles { batch, free, contract })
}

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let (lhs, rhs) = (dense(cx, 0)?, dense(cx, 1)?);
    let (left, right) = (roles(cx, 0)?, roles(cx, 1)?);
    let paired = |role: &str, a: &Axes, b: &Axes| {
        if a.len() != b.len() {
            return Err(refuse(cx, format!("has {} axes in `lhs_{role}` and {} in `rhs_{role}`", a.len(), b.len())));
        }
        let both = |(&a, &b): (&usize, &usize)| {
            let (x, y) = (lhs.dims()[a], rhs.dims()[b]);
            equal(x, y).ok_or_else(|| {
                refuse(cx, format!("pairs axis {a} of {lhs} with axis {b} of {rhs}: extents {x} and {y}")).operand(1)
            })
        };
        a.iter().zip(b).map(both).collect::<Result<Vec<Dim>, _>>()
    };
    paired("contract", &left.contract, &right.contract)?;
    let mut dims = paired("batch", &left.batch, &right.batch)?;
    dims.extend(left.free.iter().map(|&axis| lhs.dims()[axis]));
    dims.extend(right.free.iter().map(|&axis| rhs.dims()[axis]));
    let dtype = lhs.dtype().promote(rhs.dtype());
    one(if dims.is_empty() { Type::scalar(dtype) } else { Type::array(dtype, dims) })
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, &DOT_GENERAL, args)?;
    let [lhs, rhs] = args else { return Err(EvalError::shape("wants two operands")) };
    let (lhs, rhs) = (lhs.to_array(), rhs.to_array());
    let types = [lhs.ty(), rhs.ty()];
    let left = rule::concrete(cx, &DOT_GENERAL, &types, |cx| roles(cx, 0))?;
    let right = rule::concrete(cx, &DOT_GENERAL, &types, |cx| roles(cx, 1))?;
    // Both operands as [batch, free, contract], with the axes of each role collapsed.
    let order = |roles: &Roles| [&roles.batch[..], &roles.free, &roles.contract].concat();
    let (a, b) = (lhs.permuted(&order(&left)), rhs.permuted(&order(&right)));
    let (a, b) = (Elements::of(&a), Elements::of(&b));
    let extent = |axes: &Axes, shape: &[usize]| axes.iter().map(|&axis| shape[axis]).product::<usize>();
    let (rows, columns) = (extent(&left.free, lhs.shape()), extent(&right.free, rhs.shape()));
    let inner = extent(&left.contract, lhs.shape());
    cx.spend((cx.len(&shape)? as u64).saturating_mul(inner as u64))?;
    let dtype = ty.dtype();
    let together = if left.adds_rows(&right) { 1 } else { inner };
    let element = |flat: usize| {
        let (batch, row, column) = (flat / columns / rows, flat / columns % rows, flat % columns);
        let (a_start, b_start) = ((batch * rows + row) * inner, (batch * columns + column) * inner);
        let factors = (0..inner).map(|k| [a.at(a_start + k).cast(dtype), b.at(b_start + k).cast(dtype)]);
        let zero = Scalar::zero(dtype);
        if left.adds_rows(&right) && (dtype.is_float() || dtype.is_complex()) {
            let add = |x, y| Ok::<_, EvalError>(dot::combine(x, y));
            let mut sum = Fold::new(Order::of_products(dtype), together, Some([zero, Scalar::one(dtype)]), add)
                .with_first(true, dot::total);
            factors.into_iter().try_for_each(|pair| sum.push(pair))?;
            return Ok(sum.finish()?.map_or(zero, |[sum, _]| sum));
        }
        let add = |x, y| Ok::<_, EvalError>(Monoid::Sum.combine(x, y));
        let mut sum = Fold::new(Order::of(Monoid::Sum, dtype), together, Some(zero), add);
        factors.into_iter().try_for_each(|[x, y]| sum.push(Monoid::Prod.combine(x, y)))?;
        Ok(sum.finish()?.unwrap_or(zero))
    };
    if ty.is_scalar() {
        return Ok(vec![Datum::Scalar(element(0)?)]);
    }
    Ok(vec![Datum::Array(cx.build(dtype, &shape, element)?)])
}

#[cfg(test)]
mod tests {
    use super::super::rule::testing::{array, eval, infer, message, ty};
    use crate::attr::{Attr, Attrs};

    fn pairs(contract: [&[i64]; 2], batch: [&[i64]; 2]) -> Attrs {
        let names = ["lhs_contract", "rhs_contract", "lhs_batch", "rhs_batch"];
        let lists = contract.into_iter().chain(batch);
        names.into_iter().zip(lists).fold(Attrs::new(), |attrs, (n, l)| attrs.with(n, Attr::Ints(l.into())))
    }

    #[test]
    fn dims_are_batch_left_right() {
        let matmul = || pairs([&[1], &[0]], [&[], &[]]);
        let found = |args: &[&str], attrs| infer("dot_general", args, attrs);
        assert_eq!(found(&["f32[n, k]", "i16[k, m]"], matmul()), Ok(ty("f32[n, m]")));
        assert_eq!(
            found(&["f32[b, n, k]", "f64[?, k, 4]"], pairs([&[-1], &[1]], [&[0], &[0]])),
            Ok(ty("f64[b, n, 4]"))
        );
        assert_eq!(found(&["f32[n]", "f32[n]"], pairs([&[0], &[0]], [&[], &[]])), Ok(ty("f32")));
        assert_eq!(found(&["f32[n]", "f32[m]"], pairs([&[], &[]], [&[], &[]])), Ok(ty("f32[n, m]")));
        let clash = message(found(&["f32[n, 3]", "f32[4, m]"], matmul()));
        assert!(clash.contains("pairs axis 1 of f32[n, 3] with axis 0 of f32[4, m]: extents 3 and 4"), "{clash}");
        let count = message(found(&["f32[n, k]", "f32[k]"], pairs([&[0, 1], &[0]], [&[], &[]])));
        assert!(count.contains("2 axes in `lhs_contract` and 1 in `rhs_contract`"), "{count}");
        let twice = message(found(&["f32[n, k]", "f32[k]"], pairs([&[0], &[0]], [&[0], &[0]])));
        assert!(twice.contains("axis 0 in `lhs_contract` and in `lhs_batch`"), "{twice}");
        assert!(message(found(&["f32[n]", "f32[k]"], pairs([&[1], &[0]], [&[], &[]]))).contains("has no axis 1"));
    }

    #[test]
    fn products_are_summed_at_the_promoted_dtype() {
        let run = |a: &str, b: &str, attrs| {
            let found = eval("dot_general", &[array(a), array(b)], attrs);
            found.map(|d| (d.dtype().name(), d.to_array().iter().map(|s| s.to_f64()).collect::<Vec<_>>()))
        };
        let matmul = || pairs([&[1], &[0]], [&[], &[]]);
        assert_eq!(run("i8[2, 2]", "f32[2, 2]", matmul()), Ok(("f32", vec![2., 3., 6., 11.])));
        assert_eq!(run("bool[2, 2]", "bool[2, 2]", matmul()), Ok(("bool", vec![1., 1., 1., 1.])));
        // 0 + 1 + 4 + ... + 64 = 204, which wraps to -52.
        assert_eq!(run("i8[9]", "i8[9]", pairs([&[0], &[0]], [&[], &[]])), Ok(("i8", vec![-52.])));
        assert_eq!(run("i64[2, 3]", "i64[2, 3]", pairs([&[1], &[1]], [&[0], &[0]])), Ok(("i64", vec![5., 50.])));
        assert_eq!(run("i64[2, 0]", "i64[0, 1]", matmul()), Ok(("i64", vec![0., 0.])));
        assert!(run("i64[2, 3]", "i64[2, 3]", matmul()).is_err_and(|e| e.contains("extents 3 and 2")));
    }
}
