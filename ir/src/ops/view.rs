//! Views, whose elements are elements of the operand at other positions: `broadcast_in_dim`, `transpose`,
//! `reshape`, `slice`, `flip`, `expand_dims`, `squeeze`, `diagonal`. Also `item` and `to_array`, which
//! convert between an array of one element and a scalar.

use super::rule::{self, array, axes, axis, dense, one, refuse};
use crate::attr::{AttrDef, AttrKind, SliceSpec};
use crate::error::{EvalError, TypeError};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Traits, Types};
use crate::types::{Dim, Type};
use crate::value::{Array, Datum, map_array};
use crate::{register_op, with_array};
use ndarray::{Axis, Slice};
use smallvec::SmallVec;

const fn view(name: &'static str, doc: &'static str, infer: crate::op::InferFn, eval: crate::op::ArrayFn) -> OpDef {
    OpDef::new(name, doc, Arity::Exactly(1), infer, Eval::Array(eval)).traits(Traits::VIEW)
}

/// `broadcast_in_dim %x, dims=[n, 3], axes=[1]`: axis `k` of the operand becomes axis `axes[k]` of the
/// result, stretched if its extent is 1; the other axes are new. Without `axes`, axes are aligned at the
/// last one. A dim `?` takes the operand's extent.
pub static BROADCAST_IN_DIM: OpDef = view(
    "broadcast_in_dim",
    "stretches axes of extent 1 and puts new axes in, to given dims",
    infer_broadcast,
    eval_broadcast,
)
.attrs(&[
    AttrDef::required("dims", AttrKind::Dims, "the result's dims; `?` is the extent of the operand there"),
    AttrDef::optional(
        "axes",
        AttrKind::Ints,
        "the result's axis of each operand axis, increasing; the last ones if absent",
    ),
]);

/// `transpose %x, perm=[1, 0]`: axis `k` of the result is axis `perm[k]` of the operand.
pub static TRANSPOSE: OpDef =
    view("transpose", "the axes in another order, reversed by default", infer_transpose, eval_transpose).attrs(&[
        AttrDef::optional("perm", AttrKind::Ints, "the operand's axis of each result axis; reversed if absent"),
    ]);

/// `reshape %x, dims=[n, ?]`: the same elements in row-major order. One dim may be `?`.
pub static RESHAPE: OpDef =
    view("reshape", "the same elements, in row-major order, with other dims", infer_reshape, eval_reshape).attrs(&[
        AttrDef::required("dims", AttrKind::Dims, "the result's dims; one may be `?`, and is what the others leave"),
    ]);

/// `slice %x, at=[1:, ::-1]`: a range of positions of each axis, as in Python; axes without an entry are
/// whole.
pub static SLICE: OpDef =
    view("slice", "positions of each axis by start, stop and step, as in Python", infer_slice, eval_slice)
        .attrs(&[AttrDef::required("at", AttrKind::Slices, "for each leading axis, start:stop:step")]);

/// `flip %x, axes=[0]`: the elements in reversed order along these axes.
pub static FLIP: OpDef = view("flip", "reverses the order of elements along axes", infer_flip, eval_flip)
    .attrs(&[AttrDef::optional("axes", AttrKind::Ints, "the axes; all if absent")]);

/// `expand_dims %x, axes=[0]`: inserts axes of extent 1 at these positions of the result.
pub static EXPAND_DIMS: OpDef = view("expand_dims", "puts in axes of extent 1", infer_expand, eval_reshaped_expand)
    .attrs(&[AttrDef::required("axes", AttrKind::Ints, "the positions of the new axes in the result")]);

/// `squeeze %x, axes=[0]`: removes axes of extent 1.
pub static SQUEEZE: OpDef = view("squeeze", "drops axes of extent 1", infer_squeeze, eval_reshaped_squeeze)
    .attrs(&[AttrDef::optional("axes", AttrKind::Ints, "the axes; all that have the constant extent 1 if absent")]);

/// `diagonal %x, offset=1`: the elements at `[.., i, i + offset]`, along a new last axis.
pub static DIAGONAL: OpDef =
    view("diagonal", "the elements on a diagonal of two axes, along a last axis", infer_diagonal, eval_diagonal).attrs(
        &[
            AttrDef::int("offset", 0, "above the main diagonal if positive"),
            AttrDef::int("axis1", 0, "the axis of rows"),
            AttrDef::int("axis2", 1, "the axis of columns"),
        ],
    );

/// `item %x`: the only element of an array with exactly one.
pub static ITEM: OpDef =
    view("item", "the element of an array that has exactly one", infer_item, eval_item).traits(Traits::PARTIAL);

/// `to_array %x`: converts a scalar to an array of rank 0; an array stays unchanged.
pub static TO_ARRAY: OpDef = view("to_array", "a scalar as an array of rank 0", infer_to_array, eval_to_array);

register_op!(BROADCAST_IN_DIM, TRANSPOSE, RESHAPE, SLICE, FLIP, EXPAND_DIMS, SQUEEZE, DIAGONAL, ITEM, TO_ARRAY);

fn operand(args: &[Datum]) -> Result<Array, EvalError> {
    args.first().map(Datum::to_array).ok_or_else(|| EvalError::shape("wants an operand"))
}

fn done(array: Option<Array>) -> Result<Vec<Datum>, EvalError> {
    array.map(|a| vec![Datum::Array(a)]).ok_or_else(|| EvalError::shape("can't give the operand that shape"))
}

// --- broadcast_in_dim ---------------------------------------------------------------------------

/// The result's axis of each operand axis.
pub fn broadcast_axes(cx: &InferCx<'_>) -> Result<SmallVec<[usize; 4]>, TypeError> {
    let (rank, into) = (dense(cx, 0)?.rank(), cx.attrs.dims("dims").unwrap_or(&[]).len());
    let Some(list) = cx.attrs.ints("axes") else {
        let skip =
            into.checked_sub(rank).ok_or_else(|| refuse(cx, format!("can't bring rank {rank} to rank {into}")))?;
        return Ok((skip..into).collect());
    };
    let found = axes(cx, Some(list), into)?;
    if found.len() != rank {
        return Err(refuse(cx, format!("has {} `axes` for an operand of rank {rank}", found.len())));
    }
    if found.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(refuse(cx, "has `axes` that don't increase").help("`transpose` changes the order of axes"));
    }
    Ok(found)
}

fn infer_broadcast(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = dense(cx, 0)?;
    let mut dims = cx.attrs.dims("dims").unwrap_or(&[]).to_vec();
    let mut known = vec![false; dims.len()];
    for (from, &to) in broadcast_axes(cx)?.iter().enumerate() {
        let dim = ty.dims()[from];
        known[to] = true;
        if dims[to] == Dim::Any {
            dims[to] = dim;
        } else if dim != Dim::Const(1) && !dim.may_equal(dims[to]) {
            return Err(refuse(cx, format!("can't stretch axis {from} of {ty} to {}", dims[to])).operand(0));
        }
    }
    match (0..dims.len()).find(|&axis| cx.attrs.dims("dims").is_some_and(|d| d[axis] == Dim::Any) && !known[axis]) {
        Some(axis) => Err(refuse(cx, format!("needs a dim for axis {axis}: the operand has no axis there"))),
        None => one(Type::array(ty.dtype(), dims)),
    }
}

fn eval_broadcast(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (_, shape) = rule::result(cx, &BROADCAST_IN_DIM, args)?;
    let array = operand(args)?;
    let to = rule::concrete(cx, &BROADCAST_IN_DIM, &[array.ty()], broadcast_axes)?;
    cx.spend(cx.len(&shape)? as u64)?;
    let mut aligned = vec![1; shape.len()];
    to.iter().zip(array.shape()).for_each(|(&axis, &n)| aligned[axis] = n);
    done(array.reshaped(&aligned).and_then(|a| a.broadcast(&shape)))
}

// --- transpose ----------------------------------------------------------------------------------

/// The operand's axis of each result axis.
pub fn permutation(cx: &InferCx<'_>) -> Result<SmallVec<[usize; 4]>, TypeError> {
    let rank = array(cx, 0)?.rank();
    let Some(list) = cx.attrs.ints("perm") else { return Ok((0..rank).rev().collect()) };
    let found = axes(cx, Some(list), rank)?;
    if found.len() != rank {
        return Err(refuse(cx, format!("has {} axes in `perm` for an operand of rank {rank}", found.len())));
    }
    Ok(found)
}

fn infer_transpose(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = array(cx, 0)?;
    one(Type::array(ty.dtype(), permutation(cx)?.iter().map(|&a| ty.dims()[a]).collect::<Vec<_>>()))
}

fn eval_transpose(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    rule::result(cx, &TRANSPOSE, args)?;
    let array = operand(args)?;
    let order = rule::concrete(cx, &TRANSPOSE, &[array.ty()], permutation)?;
    done(Some(array.permuted(&order)))
}

// --- reshape ------------------------------------------------------------------------------------

/// The symbols, sorted, and the saturating product of the constants; `None` if a dim is `?`.
fn factors(dims: &[Dim]) -> Option<(Vec<Dim>, u64)> {
    let (mut symbols, mut product) = (Vec::new(), if dims.contains(&Dim::Const(0)) { 0 } else { 1u64 });
    for &dim in dims {
        match dim {
            Dim::Const(n) => product = product.saturating_mul(n),
            Dim::Sym(_) => symbols.push(dim),
            Dim::Any => return None,
        }
    }
    symbols.sort_unstable();
    Some((symbols, product))
}

/// `whole / part`, if it is certain.
fn quotient(whole: &[Dim], part: &[Dim]) -> Option<Dim> {
    let ((mut symbols, product), (divisors, divisor)) = (factors(whole)?, factors(part)?);
    for d in divisors {
        symbols.remove(symbols.iter().position(|s| *s == d)?);
    }
    match (symbols.as_slice(), product.checked_div(divisor)?) {
        ([], n) if n * divisor == product => Some(Dim::Const(n)),
        ([one], 1) if product == divisor => Some(*one),
        _ => None,
    }
}

fn infer_reshape(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = dense(cx, 0)?;
    let mut dims = cx.attrs.dims("dims").unwrap_or(&[]).to_vec();
    let unknown: Vec<usize> = (0..dims.len()).filter(|&a| dims[a] == Dim::Any).collect();
    let clash =
        || refuse(cx, format!("can't give {ty} the dims [{}]", list(cx.attrs.dims("dims").unwrap_or(&[])))).operand(0);
    match unknown[..] {
        [] => {
            if let (Some((a, from)), Some((b, to))) = (factors(ty.dims()), factors(&dims))
                && a == b
                && from != to
                // A symbol may be 0, and then all constants are possible.
                && a.is_empty()
            {
                return Err(clash());
            }
        }
        [axis] => {
            let rest: Vec<Dim> = dims.iter().copied().filter(|d| *d != Dim::Any).collect();
            if let (Some((a, whole)), Some((b, part))) = (factors(ty.dims()), factors(&rest))
                && a.is_empty()
                && b.is_empty()
                && whole.checked_rem(part) != Some(0)
            {
                return Err(clash());
            }
            dims[axis] = quotient(ty.dims(), &rest).unwrap_or(Dim::Any);
        }
        _ => return Err(refuse(cx, "can find out one `?` only")),
    }
    one(Type::array(ty.dtype(), dims))
}

fn list(dims: &[Dim]) -> String {
    dims.iter().map(Dim::to_string).collect::<Vec<_>>().join(", ")
}

fn eval_reshape(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (_, shape) = rule::result(cx, &RESHAPE, args)?;
    cx.len(&shape)?;
    done(operand(args)?.reshaped(&shape))
}

// --- slice and flip -----------------------------------------------------------------------------

/// The dims that result from applying the slices `at` to the axes of `ty` after the first `skip`.
pub(super) fn sliced_dims(cx: &InferCx<'_>, ty: &Type, skip: usize) -> Result<Vec<Dim>, TypeError> {
    let at = cx.attrs.slices("at").unwrap_or(&[]);
    let dims = ty.dims().get(skip..).filter(|dims| at.len() <= dims.len());
    let Some(dims) = dims else {
        let positions = if skip > 0 { format!("{skip} positions and ") } else { String::new() };
        return Err(refuse(cx, format!("has {positions}{} slices for {ty}", at.len())).operand(0));
    };
    if at.iter().any(|s| s.step == 0) {
        return Err(refuse(cx, "has a step of 0"));
    }
    let left = |(axis, &dim): (usize, &Dim)| match (at.get(axis), dim) {
        (None, _) => dim,
        (Some(SliceSpec { start: None, stop: None, step: 1 | -1 }), _) => dim,
        (Some(spec), Dim::Const(n)) => Dim::Const(spec.resolve(n).1),
        _ => Dim::Any,
    };
    Ok(dims.iter().enumerate().map(left).collect())
}

fn infer_slice(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = array(cx, 0)?;
    one(Type::array(ty.dtype(), sliced_dims(cx, ty, 0)?))
}

fn eval_slice(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    rule::result(cx, &SLICE, args)?;
    done(Some(sliced(operand(args)?, cx.attrs.slices("at").unwrap_or(&[]))))
}

/// Applies slices to the leading axes.
pub(super) fn sliced(mut array: Array, at: &[SliceSpec]) -> Array {
    for (axis, &spec) in at.iter().enumerate() {
        let slice = along(spec, array.shape()[axis]);
        array = map_array!(array, |a| a.slice_axis_move(Axis(axis), slice));
    }
    array
}

/// The positions that one slice selects on an axis of `extent` elements.
pub(super) fn along(spec: SliceSpec, extent: usize) -> Slice {
    let (start, count) = spec.resolve(extent as u64);
    let (start, count, step) = (start as isize, count as isize, spec.step as isize);
    if count <= 1 {
        return Slice::new(start, Some(start + count), 1);
    }
    // With a negative step, `Slice` starts at the end of its range.
    let span = (count - 1) * step.abs() + 1;
    let low = if step > 0 { start } else { start + (count - 1) * step };
    Slice::new(low, Some(low + span), step)
}

fn infer_flip(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = array(cx, 0)?;
    axes(cx, cx.attrs.ints("axes"), ty.rank())?;
    one(ty.clone())
}

fn eval_flip(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    rule::result(cx, &FLIP, args)?;
    let mut array = operand(args)?;
    for axis in rule::concrete(cx, &FLIP, &[array.ty()], |cx| axes(cx, cx.attrs.ints("axes"), array.rank()))? {
        with_array!(&mut array, |a| a.invert_axis(Axis(axis)));
    }
    done(Some(array))
}

// --- expand_dims and squeeze --------------------------------------------------------------------

fn infer_expand(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = dense(cx, 0)?;
    let list = cx.attrs.ints("axes").unwrap_or(&[]);
    let rank = ty.rank() + list.len();
    let new = axes(cx, Some(list), rank)?;
    let mut old = ty.dims().iter().copied();
    let dims = (0..rank).map(|axis| if new.contains(&axis) { Some(Dim::Const(1)) } else { old.next() });
    one(Type::array(ty.dtype(), dims.flatten().collect::<Vec<_>>()))
}

fn infer_squeeze(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = array(cx, 0)?;
    let dropped = match cx.attrs.ints("axes") {
        Some(list) => axes(cx, Some(list), ty.rank())?,
        None if ty.dims().iter().all(|d| matches!(d, Dim::Const(_))) => {
            (0..ty.rank()).filter(|&a| ty.dims()[a] == Dim::Const(1)).collect()
        }
        None => return Err(refuse(cx, format!("can't know which axes of {ty} have extent 1")).help("name the `axes`")),
    };
    if let Some(&axis) = dropped.iter().find(|&&a| !ty.dims()[a].may_equal(Dim::Const(1))) {
        return Err(refuse(cx, format!("can't drop axis {axis} of {ty}: its extent isn't 1")).operand(0));
    }
    let kept = (0..ty.rank()).filter(|a| !dropped.contains(a)).map(|a| ty.dims()[a]);
    one(Type::array(ty.dtype(), kept.collect::<Vec<_>>()))
}

fn eval_reshaped_expand(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (_, shape) = rule::result(cx, &EXPAND_DIMS, args)?;
    done(operand(args)?.reshaped(&shape))
}

fn eval_reshaped_squeeze(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (_, shape) = rule::result(cx, &SQUEEZE, args)?;
    done(operand(args)?.reshaped(&shape))
}

// --- diagonal -----------------------------------------------------------------------------------

/// The two axes of the diagonal.
fn diagonal_axes(cx: &InferCx<'_>) -> Result<(usize, usize), TypeError> {
    let rank = array(cx, 0)?.rank();
    let rows = axis(cx, cx.attrs.int("axis1").unwrap_or(0), rank)?;
    let columns = axis(cx, cx.attrs.int("axis2").unwrap_or(1), rank)?;
    if rows == columns { Err(refuse(cx, "wants two different axes")) } else { Ok((rows, columns)) }
}

/// First row, first column, and number of elements.
fn diagonal_span(offset: i64, rows: u64, columns: u64) -> (u64, u64, u64) {
    let (row, column) = (offset.min(0).unsigned_abs(), offset.max(0) as u64);
    (row, column, rows.saturating_sub(row).min(columns.saturating_sub(column)))
}

fn infer_diagonal(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = array(cx, 0)?;
    let (a, b) = diagonal_axes(cx)?;
    let offset = cx.attrs.int("offset").unwrap_or(0);
    let length = match (ty.dims()[a], ty.dims()[b]) {
        (Dim::Const(rows), Dim::Const(columns)) => Dim::Const(diagonal_span(offset, rows, columns).2),
        (rows, columns) if rows == columns && offset == 0 => rows,
        _ => Dim::Any,
    };
    let rest = (0..ty.rank()).filter(|&axis| axis != a && axis != b).map(|axis| ty.dims()[axis]);
    one(Type::array(ty.dtype(), rest.chain([length]).collect::<Vec<_>>()))
}

fn eval_diagonal(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (_, shape) = rule::result(cx, &DIAGONAL, args)?;
    let array = operand(args)?;
    let (a, b) = rule::concrete(cx, &DIAGONAL, &[array.ty()], diagonal_axes)?;
    let offset = cx.attrs.int("offset").unwrap_or(0);
    let (row, column, count) = diagonal_span(offset, array.shape()[a] as u64, array.shape()[b] as u64);
    let order: Vec<usize> = (0..array.rank()).filter(|&axis| axis != a && axis != b).chain([a, b]).collect();
    let matrices = array.permuted(&order);
    let last = array.rank() - 2;
    let mut index = vec![0; array.rank()];
    let result = cx.build(array.dtype(), &shape, |flat| {
        let (mut outer, along) = (flat / count as usize, flat % count as usize);
        for axis in (0..last).rev() {
            index[axis] = outer % matrices.shape()[axis];
            outer /= matrices.shape()[axis];
        }
        index[last] = row as usize + along;
        index[last + 1] = column as usize + along;
        matrices.get(&index).ok_or_else(|| EvalError::index("the diagonal leaves the array"))
    })?;
    done(Some(result))
}

// --- item and to_array --------------------------------------------------------------------------

fn infer_item(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = dense(cx, 0)?;
    match ty.dims().iter().all(|d| d.may_equal(Dim::Const(1))) {
        true => one(Type::scalar(ty.dtype())),
        false => Err(refuse(cx, format!("wants an array of one element, got {ty}")).operand(0)),
    }
}

fn eval_item(_: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let array = operand(args)?;
    match (array.len(), array.iter().next()) {
        (1, Some(s)) => Ok(vec![Datum::Scalar(s)]),
        (n, _) => Err(EvalError::shape(format!("wants an array of one element, got {n}"))),
    }
}

fn infer_to_array(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = dense(cx, 0)?;
    one(if ty.is_scalar() { Type::array(ty.dtype(), []) } else { ty.clone() })
}

fn eval_to_array(_: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    done(Some(operand(args)?))
}
