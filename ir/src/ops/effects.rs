//! Ops with side effects, and calls: `call`, `ufunc`, `store`, `del`, `print`.

use super::control::no_results;
use crate::attr::{AttrDef, AttrKind};
use crate::dtype::DType;
use crate::error::TypeError;
use crate::name::Name;
use crate::op::{Arity, Effects, Eval, InferCx, LiteralCx, OpDef, Traits, Types, broadcast_types};
use crate::register_op;
use crate::types::Signature;
use crate::types::{Dim, Type};
use indexmap::IndexMap;

/// `call @g(%x, %y)`: calls a function of the module.
pub static CALL: OpDef =
    OpDef::new("call", "calls a function of the module", Arity::AtLeast(0), infer_call, Eval::Control)
        .effects(Effects::CALLS)
        .attrs(&[AttrDef::required("callee", AttrKind::Func, "the function")]);

/// `ufunc @g(%x, %y)`: applies a scalar function to each element, with broadcasting. The function may raise,
/// but not print.
pub static UFUNC: OpDef = OpDef::new(
    "ufunc",
    "applies a function of scalars to each element, with broadcasting",
    Arity::AtLeast(1),
    infer_ufunc,
    Eval::Control,
)
.traits(Traits::PARTIAL)
.attrs(&[AttrDef::required("callee", AttrKind::Func, "a function whose parameters and results are scalars")]);

/// `store %dest, %src`: writes `src`, broadcast and cast to a dtype of the same kind or a later one, into
/// `dest`. Both may have storage styles. Elements that the style of `dest` can't represent are an error,
/// which leaves `dest` unchanged.
pub static STORE: OpDef =
    OpDef::new("store", "writes the second operand into the first", Arity::Exactly(2), infer_store, Eval::Control)
        .effects(Effects::WRITES)
        .literals(store_literal);

/// `del %x`: frees a value; no later use is allowed.
pub static DEL: OpDef =
    OpDef::new("del", "ends the life of a value", Arity::Exactly(1), no_results, Eval::Control).effects(Effects::FREES);

/// `print %x, %y, label="x and y"`: prints a line with the label and the values, separated by blanks.
pub static PRINT: OpDef =
    OpDef::new("print", "prints a label and values on a line", Arity::AtLeast(0), no_results, Eval::Control)
        .effects(Effects::IO)
        .attrs(&[AttrDef::optional("label", AttrKind::Str, "the text printed before the value")]);

register_op!(CALL, UFUNC, STORE, DEL, PRINT);

/// True if NumPy's "same kind" casting allows `from` to `to`: within a kind, or to a later one in the order
/// bool, unsigned, signed, float, complex.
pub fn can_cast_same_kind(from: DType, to: DType) -> bool {
    from.kind() < to.kind() || (from.kind() == to.kind() && !(from.is_signed() && to.is_unsigned()))
}

fn callee<'a>(cx: &'a InferCx<'_>) -> Result<&'a Signature, TypeError> {
    let found = cx.callee.ok_or_else(|| {
        let name = cx.attrs.func("callee").map_or("?", Name::as_str);
        TypeError::new(format!("`{}`: there is no function `@{name}` in the module", cx.op))
    })?;
    if found.params.len() == cx.args.len() {
        return Ok(found);
    }
    let name = cx.attrs.func("callee").map_or("?", Name::as_str);
    Err(TypeError::new(format!("`@{name}` takes {} arguments, got {}", found.params.len(), cx.args.len())))
}

fn infer_call(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let signature = callee(cx)?;
    let mut bound: IndexMap<Name, Dim> = IndexMap::new();
    for (i, (arg, param)) in cx.args.iter().zip(&signature.params).enumerate() {
        if !arg.fits(param) {
            return Err(TypeError::new(format!("argument {i} is {arg}, `call` needs {param}")).operand(i));
        }
        for (&given, &declared) in arg.dims().iter().zip(param.dims()) {
            let Dim::Sym(symbol) = declared else { continue };
            let known = bound.entry(symbol).or_insert(given);
            if !known.may_equal(given) {
                let message = format!("argument {i} is {arg}, but `{symbol}` of {param} is already {known}");
                return Err(TypeError::new(message).operand(i));
            }
            // A constant is more precise than a symbol, and a symbol more than `?`.
            if matches!((*known, given), (Dim::Any, _) | (Dim::Sym(_), Dim::Const(_))) {
                *known = given;
            }
        }
    }
    let here = |dim: &Dim| match dim {
        Dim::Sym(symbol) => bound.get(symbol).copied().unwrap_or(Dim::Any),
        other => *other,
    };
    let translate = |ty: &Type| match ty.is_array() {
        true => Type::array(ty.dtype(), ty.dims().iter().map(here).collect::<Vec<_>>()).with_style(ty.style()),
        false => ty.clone(),
    };
    Ok(signature.results.iter().map(translate).collect())
}

fn infer_ufunc(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let signature = callee(cx)?;
    let name = cx.attrs.func("callee").map_or("?", Name::as_str);
    if let Some(ty) = signature.params.iter().chain(&signature.results).find(|ty| ty.is_array()) {
        return Err(TypeError::new(format!("`ufunc` applies functions of scalars, `@{name}` has {ty}"))
            .help("call it: `call` passes whole arrays"));
    }
    for (i, (arg, param)) in cx.args.iter().zip(&signature.params).enumerate() {
        if !arg.dtype().can_cast_safely(param.dtype()) {
            let message = format!("operand {i} is {arg}, `@{name}` wants {}", param.dtype());
            return Err(TypeError::new(message).operand(i).help(format!("`cast` it, with `to={}`", param.dtype())));
        }
    }
    let dims = broadcast_types(cx.op, cx.args)?;
    Ok(signature.results.iter().map(|ty| Type::from_parts(ty.dtype(), dims.clone())).collect())
}

pub(super) fn store_literal(cx: &LiteralCx<'_>) -> DType {
    cx.literal.dtype_beside(cx.dtypes.first().copied().flatten())
}

fn infer_store(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let (dest, src) = (&cx.args[0], &cx.args[1]);
    if !dest.is_array() {
        return Err(TypeError::new(format!("`store` writes into an array, got {dest}")).operand(0));
    }
    if !can_cast_same_kind(src.dtype(), dest.dtype()) {
        return Err(TypeError::new(format!("`store` can't cast {} to {}", src.dtype(), dest.dtype()))
            .operand(1)
            .help(format!("`cast` it, with `to={}`", dest.dtype())));
    }
    let missing = dest.rank().checked_sub(src.rank());
    let fits = missing.is_some_and(|skip| {
        src.dims().iter().zip(&dest.dims()[skip..]).all(|(&s, &d)| s == Dim::Const(1) || s.may_equal(d))
    });
    match fits {
        true => Ok(Types::new()),
        false => Err(TypeError::new(format!("`store` can't broadcast {src} to {dest}")).operand(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::{Attr, Attrs};
    use crate::builder::infer_types;
    use crate::op::Op;

    fn infer(op: &'static OpDef, args: &[Type], signature: Option<&Signature>) -> Result<Types, String> {
        let attrs =
            if signature.is_some() { Attrs::new().with("callee", Attr::Func("g".into())) } else { Attrs::new() };
        infer_types(Op(op), args, &vec![None; args.len()], attrs, signature).map(|(_, t)| t).map_err(|e| e.message)
    }
    fn f64s(dims: &[&str]) -> Type {
        let dims: Vec<Dim> = dims.iter().map(|s| s.parse().map_or_else(|_| Dim::from(*s), Dim::Const)).collect();
        Type::array(DType::F64, dims)
    }

    #[test]
    fn calls_translate_symbols() {
        let g = Signature { params: vec![f64s(&["n"]), f64s(&["n", "m"])], results: vec![f64s(&["m", "n", "k", "4"])] };
        let found = infer(&CALL, &[f64s(&["a"]), f64s(&["3", "b"])], Some(&g));
        assert_eq!(found.as_deref(), Ok(&[f64s(&["b", "3", "?", "4"])][..]));
        let clash = infer(&CALL, &[f64s(&["2"]), f64s(&["3", "b"])], Some(&g));
        assert!(clash.is_err_and(|m| m.contains("`n`") && m.contains("already 2")));
        assert!(infer(&CALL, &[f64s(&["2"])], Some(&g)).is_err_and(|m| m.contains("takes 2 arguments")));
    }

    #[test]
    fn ufuncs_broadcast_scalars_functions() {
        let scalar = Type::scalar(DType::F64);
        let g = Signature { params: vec![scalar.clone(); 2], results: vec![scalar.clone(), Type::scalar(DType::Bool)] };
        let found = infer(&UFUNC, &[f64s(&["n", "1"]), Type::array(DType::I32, [Dim::Const(4)])], Some(&g));
        let dims = [Dim::from("n"), Dim::Const(4)];
        assert_eq!(found.as_deref(), Ok(&[Type::array(DType::F64, dims), Type::array(DType::Bool, dims)][..]));
        assert!(infer(&UFUNC, &[Type::scalar(DType::C64), scalar.clone()], Some(&g)).is_err());
        let arrays = Signature { params: vec![f64s(&["n"])], results: vec![] };
        assert!(infer(&UFUNC, &[f64s(&["n"])], Some(&arrays)).is_err_and(|m| m.contains("functions of scalars")));
    }

    #[test]
    fn stores_broadcast_and_cast_same_kind() {
        assert!(infer(&STORE, &[f64s(&["n", "m"]), f64s(&["1"])], None).is_ok());
        assert!(infer(&STORE, &[f64s(&["n", "m"]), Type::scalar(DType::Bool)], None).is_ok());
        assert!(infer(&STORE, &[f64s(&["3"]), f64s(&["2"])], None).is_err());
        assert!(infer(&STORE, &[f64s(&["3"]), f64s(&["1", "3"])], None).is_err());
        assert!(
            infer(&STORE, &[f64s(&["3"]), Type::scalar(DType::C64)], None).is_err_and(|m| m.contains("c64 to f64"))
        );
        assert!(infer(&STORE, &[Type::scalar(DType::F64), Type::scalar(DType::F64)], None).is_err());
        assert!(!can_cast_same_kind(DType::I64, DType::U8) && can_cast_same_kind(DType::U64, DType::I8));
        assert!(can_cast_same_kind(DType::F64, DType::F32) && !can_cast_same_kind(DType::F32, DType::I64));
    }
}
