//! Steps that compute: elementwise ops, views, reductions, constructors, indexing, and ops that read one
//! value twice.

use super::body::Body;
use super::choices::Choices;
use super::data;
use rewright_ir::{Arg, Arity, Array, Attr, AttrKind, Attrs, DType, Dim, Name, Op, Scalar, SliceSpec, Value, registry};
use std::sync::{Arc, LazyLock};

static ELEMENTWISE: LazyLock<Vec<Op>> =
    LazyLock::new(|| registry().ops().map(|(op, _)| op).filter(|op| op.is_elementwise()).collect());

fn ints(list: &[i64]) -> Attr {
    Attr::Ints(list.into())
}

fn none() -> Attrs {
    Attrs::new()
}

/// Any elementwise op on any values and literals.
pub fn elementwise(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    // Tries several times, because many combinations of dtypes are ill-typed.
    (0..4).find_map(|_| {
        let op = c.pick(&ELEMENTWISE);
        let (Arity::Exactly(arity) | Arity::AtLeast(arity)) = op.arity;
        let mut attrs = none();
        for def in op.attrs {
            match def.kind {
                AttrKind::DType => attrs.set(Name::new(def.name), Attr::DType(c.pick(&DType::ALL))),
                AttrKind::Int => attrs.set(Name::new(def.name), Attr::Int(c.below(9) as i64 - 3)),
                _ => {}
            }
        }
        let args = (0..arity).map(|_| match c.one_in(5) {
            true => Some(data::literal(c).into()),
            false => body.any(c).map(Arg::from),
        });
        let args: Vec<Arg> = args.collect::<Option<_>>()?;
        body.inst(c, op.name, args, attrs).map(drop)
    })
}

/// A view of any array.
pub fn view(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let value = if c.one_in(8) { body.any(c)? } else { body.array(c)? };
    view_of(body, c, value).map(drop)
}

/// A view of a value.
pub fn view_of(body: &mut Body<'_>, c: &mut Choices<'_>, value: Value) -> Option<Value> {
    let rank = body.ty(value).rank();
    if body.ty(value).is_scalar() {
        return body.op(c, "to_array", [value], none());
    }
    let axis = c.below(rank) as i64;
    let (name, attrs) = match c.below(9) {
        0 => {
            let mut perm: Vec<i64> = (0..rank as i64).collect();
            if rank > 1 {
                perm.swap(axis as usize, c.below(rank));
            }
            ("transpose", none().with("perm", ints(&perm)))
        }
        1 => ("expand_dims", none().with("axes", ints(&[c.below(rank + 1) as i64]))),
        2 if c.one_in(2) => ("flip", none().with("axes", ints(&[axis]))),
        2 => ("flip", none()),
        3 => {
            let specs: Vec<SliceSpec> = (0..1 + c.below(2)).map(|_| slice(c)).collect();
            ("slice", none().with("at", Attr::Slices(specs.into())))
        }
        4 => ("squeeze", none()),
        5 => ("diagonal", none().with("offset", Attr::Int(c.pick(&[0, 1, -1, 2])))),
        6 => ("item", none()),
        7 => ("reshape", none().with("dims", reshaped(body, c, value))),
        _ => ("broadcast_in_dim", none().with("dims", stretched(body, c, value))),
    };
    body.op(c, name, [value], attrs)
}

/// Start, stop and step.
fn slice(c: &mut Choices<'_>) -> SliceSpec {
    SliceSpec {
        start: (c.below(2) == 1).then(|| c.below(5) as i64 - 2),
        stop: (c.below(2) == 1).then(|| c.below(7) as i64 - 3),
        step: c.pick(&[1, 2, -1, -3]),
    }
}

/// Dims for a reshape: flat, rotated, or with one more axis.
fn reshaped(body: &Body<'_>, c: &mut Choices<'_>, value: Value) -> Attr {
    let mut shape = body.shape(value).unwrap_or_default();
    match c.below(3) {
        0 => shape = vec![shape.iter().product()],
        1 if shape.len() > 1 => shape.rotate_left(1),
        1 => {}
        _ => shape.insert(c.below(shape.len() + 1), 1),
    }
    let mut dims: Vec<Dim> = shape.iter().map(|&extent| body.known(c, extent)).collect();
    // One dim may be `?`, to be inferred.
    if let Some(dim) = dims.get_mut(c.below(8)) {
        *dim = Dim::Any;
    }
    Attr::Dims(dims.into())
}

/// Dims for a broadcast: stretched axes of extent 1, and new leading axes.
fn stretched(body: &Body<'_>, c: &mut Choices<'_>, value: Value) -> Attr {
    let mut dims = Vec::new();
    if c.one_in(3) {
        dims.push(bound(body, c));
    }
    for &dim in body.actual(value).dims() {
        dims.push(match dim {
            Dim::Const(1) if c.one_in(2) => bound(body, c),
            Dim::Const(extent) => body.known(c, extent),
            _ => Dim::Any,
        });
    }
    Attr::Dims(dims.into())
}

/// A bound symbol, or a constant.
fn bound(body: &Body<'_>, c: &mut Choices<'_>) -> Dim {
    c.late(&body.symbols).unwrap_or(Dim::Const(c.pick(&[3, 1, 2])))
}

/// A reduction over one axis or all.
pub fn reduction(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let value = body.array(c)?;
    let rank = body.ty(value).rank();
    let name = c.pick(&["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"]);
    let mut attrs = none();
    if rank > 0 && c.below(2) == 1 {
        attrs.set(Name::new("axes"), ints(&[c.below(rank) as i64]));
    }
    if c.below(2) == 1 {
        attrs.set(Name::new("keepdims"), Attr::Bool(true));
    }
    // `min`, `max` and the like fail without elements.
    let empty = body.shape(value).is_none_or(|shape| shape.contains(&0));
    if empty && !["sum", "prod", "any", "all"].contains(&name) && !c.one_in(20) {
        return None;
    }
    body.inst(c, name, [value], attrs).map(drop)
}

/// A constructor, or the extent of an axis.
pub fn constructor(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let like = body.array(c);
    let shape = like.and_then(|v| body.shape(v)).unwrap_or_default();
    let dims: Vec<Dim> = shape.iter().map(|&extent| body.known(c, extent)).collect();
    let attrs = none().with("dims", Attr::Dims(dims.clone().into()));
    let dtype = Attr::DType(c.pick(&DType::ALL));
    let last_two = |c: &mut Choices<'_>| [bound(body, c), bound(body, c)];
    let nothing: Vec<Arg> = Vec::new();
    match c.below(6) {
        0 => {
            let literal = data::literal(c);
            body.inst(c, "full", [literal], attrs)
        }
        1 => {
            let scalar = body.some(c, |b, v| b.ty(v).is_scalar())?;
            body.inst(c, "full", [scalar], attrs)
        }
        2 if !dims.is_empty() => {
            let axis = Attr::Int(c.below(dims.len()) as i64);
            body.inst(c, "iota", nothing, attrs.with("axis", axis).with("dtype", dtype))
        }
        3 => {
            let attrs = none().with("dims", Attr::Dims(last_two(c).into())).with("dtype", dtype);
            let offset = Attr::Int(c.pick(&[0, 1, -1]));
            let name = c.pick(&["eye", "tri"]);
            body.inst(c, name, nothing, attrs.with("offset", offset))
        }
        4 => {
            let dtype = c.pick(&DType::ALL);
            let value = data::argument(c, dtype, Some(&shape)).to_array();
            (value.len() <= 40).then_some(())?;
            body.inst(c, "constant", nothing, none().with("value", Attr::Array(Arc::new(value))))
        }
        _ => {
            let axis = Attr::Int(c.below(shape.len()) as i64);
            body.inst(c, "dim", [like?], none().with("axis", axis))
        }
    }
    .map(drop)
}

/// A position of an axis, occasionally out of bounds.
fn position(c: &mut Choices<'_>, extent: u64) -> i64 {
    let inside = c.below(2 * extent as usize) as i64 - extent as i64;
    if c.one_in(60) { extent as i64 } else { inside }
}

/// Positions of an axis as a constant array.
fn positions(body: &mut Body<'_>, c: &mut Choices<'_>, extent: u64) -> Option<Value> {
    let list: Vec<i64> = (0..1 + c.below(4)).map(|_| position(c, extent)).collect();
    let dtype = c.pick(&[DType::I64, DType::I8, DType::I32]);
    let data = Array::from_fn(dtype, &[list.len()], |i| Scalar::I64(list[i]).cast(dtype))?;
    body.op(c, "constant", Vec::<Arg>::new(), none().with("value", Attr::Array(Arc::new(data))))
}

/// An indexing op: a read at positions or by a mask, or an update.
pub fn indexing(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let value = body.array(c)?;
    let shape = body.shape(value)?;
    let axis = c.below(shape.len());
    let extent = *shape.get(axis)?;
    let int = |c: &mut Choices<'_>, extent| Arg::from(position(c, extent));
    match c.below(6) {
        0 => {
            let at = int(c, shape[0]);
            body.inst(c, "getitem", [value.into(), at], none())
        }
        1 => {
            let at = shape.iter().map(|&extent| int(c, extent));
            let args: Vec<Arg> = std::iter::once(value.into()).chain(at).collect();
            body.inst(c, "getitem", args, none())
        }
        2 => {
            let at = positions(body, c, extent)?;
            body.inst(c, "take", [value, at], none().with("axis", Attr::Int(axis as i64)))
        }
        3 => {
            let at = positions(body, c, shape[0])?;
            body.inst(c, "gather", [value, at], none())
        }
        4 => {
            let mask = body.op(c, "ne", [value.into(), Arg::from(0)], none())?;
            body.inst(c, "compress", [value, mask], none())
        }
        _ => {
            let new: Arg = if c.one_in(2) { body.any(c)?.into() } else { data::literal(c).into() };
            let mut args = vec![value.into(), new];
            if c.below(2) == 0 {
                args.push(int(c, shape[0]));
                return body.inst(c, "update", args, none()).map(drop);
            }
            let at = Attr::Slices([slice(c)].into());
            body.inst(c, "update", args, none().with("at", at))
        }
    }
    .map(drop)
}

/// Concatenates, stacks or multiplies two arrays.
pub fn binary_structural(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let (x, y) = (body.array(c)?, body.array(c)?);
    let rank = body.ty(x).rank();
    let axis = Attr::Int(c.below(rank) as i64);
    match c.below(3) {
        0 => body.inst(c, "concat", [x, y], none().with("axis", axis)),
        1 => body.inst(c, "stack", [x, y], none().with("axis", axis)),
        _ => {
            let (left, right) = (body.shape(x)?, body.shape(y)?);
            let pairs: Vec<(usize, usize)> = (0..left.len() * right.len())
                .map(|i| (i / right.len(), i % right.len()))
                .filter(|&(i, j)| left[i] == right[j])
                .collect();
            let (i, j) = c.late(&pairs)?;
            let attrs = none().with("lhs_contract", ints(&[i as i64])).with("rhs_contract", ints(&[j as i64]));
            body.inst(c, "dot_general", [x, y], attrs)
        }
    }
    .map(drop)
}

/// Combines two results of one op, or a value with itself; the first is read through a view.
pub fn reads_value_twice(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let value = body.any(c)?;
    let (first, second) = match c.below(4) {
        0 => (value, value),
        kind => {
            let args: Vec<Arg> = if kind == 1 { vec![value.into(), body.any(c)?.into()] } else { vec![value.into()] };
            let results = body.inst(c, ["", "divmod", "modf", "frexp"][kind], args, none())?;
            (results[0], results[1])
        }
    };
    let viewed = view_of(body, c, first)?;
    let name = c.pick(&["add", "mul", "maximum"]);
    body.inst(c, name, [viewed, second], none()).map(drop)
}
