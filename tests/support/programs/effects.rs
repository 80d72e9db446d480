//! Steps with effects: calls, stores, dels and prints.

use super::body::{Body, concrete};
use super::choices::Choices;
use super::{data, flow, ops};
use rewright_ir::{Arg, Attr, Attrs, DType, Dim, Literal, Name, Type, Value};

fn callee(name: Name) -> Attrs {
    Attrs::new().with("callee", Attr::Func(name))
}

/// The functions of scalars, or the other ones.
fn functions(body: &Body<'_>, scalars: bool) -> Vec<Name> {
    body.module.names().filter(|name| name.as_str().starts_with('u') == scalars).collect()
}

/// Applies a function of scalars elementwise.
pub fn ufunc(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let name = c.late(&functions(body, true))?;
    let params = body.module.signature(name)?.params;
    let mut args: Vec<Arg> = Vec::new();
    for param in &params {
        let wanted = param.dtype();
        let given = body.some(c, |b, v| b.ty(v).dtype().can_cast_safely(wanted));
        args.push(match given {
            Some(value) if !c.one_in(6) => value.into(),
            _ => Literal::Typed(data::scalar(c, wanted)).into(),
        });
    }
    body.inst(c, "ufunc", args, callee(name)).map(drop)
}

/// A call, with values in scope that fit or with new ones.
pub fn call(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let scalars = c.one_in(4);
    let name = c.late(&functions(body, scalars))?;
    let params = body.module.signature(name)?.params;
    let mut args: Vec<Arg> = Vec::new();
    for param in &params {
        args.push(argument(body, c, param)?);
    }
    body.inst(c, "call", args, callee(name)).map(drop)
}

/// A value in scope of a type, or a new one.
pub fn argument(body: &mut Body<'_>, c: &mut Choices<'_>, param: &Type) -> Option<Arg> {
    let wanted = concrete(param);
    let found = body.some(c, |b, v| b.ty(v).fits(param) && b.actual(v).fits(&wanted));
    if let Some(value) = found {
        return Some(value.into());
    }
    let literal = Literal::Typed(data::scalar(c, param.dtype()));
    if param.is_scalar() {
        return Some(literal.into());
    }
    // With several dims of `?`, only small or empty arrays may be within the limit.
    for choices in [&[2, 1, 3][..], &[1], &[0]] {
        let known = |dim: &Dim| if *dim == Dim::Any { Dim::Const(c.pick(choices)) } else { *dim };
        let dims: Vec<Dim> = wanted.dims().iter().map(known).collect();
        if let Some(made) = body.op(c, "full", [literal], Attrs::new().with("dims", Attr::Dims(dims.into()))) {
            return Some(made.into());
        }
    }
    None
}

/// A store to a value that is read before and after, directly or through a view.
pub fn store(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let dest = body.array(c)?;
    let before = match c.below(4) {
        0 => Some(dest),
        1 => ops::view_of(body, c, dest),
        2 => read(body, c, dest),
        _ => None,
    };
    let src: Arg = match c.below(3) {
        0 => fitting(body, c, dest)?.into(),
        1 => Literal::Typed(data::scalar(c, body.ty(dest).dtype())).into(),
        _ => data::literal(c).into(),
    };
    body.inst(c, "store", [dest.into(), src], Attrs::new())?;
    if let Some(before) = before {
        read(body, c, before)?;
    }
    if c.one_in(2) {
        read(body, c, dest)?;
    }
    Some(())
}

/// A value that can be stored to another.
fn fitting(body: &Body<'_>, c: &mut Choices<'_>, dest: Value) -> Option<Value> {
    let rank = body.ty(dest).rank();
    body.some(c, |b, v| {
        let same = b.actual(v).dims().iter().rev().zip(b.actual(dest).dims().iter().rev());
        b.ty(v).rank() <= rank && same.into_iter().all(|(&a, &b)| a == Dim::Const(1) || a == b) && v != dest
    })
}

fn read(body: &mut Body<'_>, c: &mut Choices<'_>, value: Value) -> Option<Value> {
    match body.ty(value).dtype() {
        DType::Bool => body.op(c, "xor", [value.into(), Arg::from(true)], Attrs::new()),
        _ => body.op(c, "add", [value.into(), Arg::from(1)], Attrs::new()),
    }
}

/// Ends a value that no later instruction needs.
pub fn del(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let value = body.some(c, |b, v| b.regions.iter().all(|region| !region.needs(v)))?;
    body.inst(c, "del", [value], Attrs::new())?;
    flow::forget(body, value);
    Some(())
}

/// Prints small values.
pub fn print(body: &mut Body<'_>, c: &mut Choices<'_>) -> Option<()> {
    let small = |b: &Body<'_>, v| b.shape(v).is_some_and(|shape| shape.iter().product::<u64>() <= 20);
    let args: Vec<Value> = (0..1 + c.below(2)).filter_map(|_| body.some(c, small)).collect();
    let label = if c.one_in(2) { Attrs::new().with("label", Attr::Str("here".into())) } else { Attrs::new() };
    body.inst(c, "print", args, label).map(drop)
}
