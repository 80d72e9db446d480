//! The caller's extents for the symbols in a callee's types.

use crate::prelude::*;
use rewright_ir::{Dim, Name};
use std::collections::BTreeMap;

/// The caller's extents for the callee's symbols.
pub(super) type Symbols = BTreeMap<Name, Dim>;

/// The extents for the callee's symbols, if the arguments are certain to fit its parameters.
pub(super) fn symbols(func: &Function, args: &[Value], callee: &Function) -> Result<Symbols, NoMatch> {
    let mut symbols = Symbols::new();
    for (&arg, &param) in args.iter().zip(callee.params()) {
        let (given, wanted) = (func.ty(arg), callee.ty(param));
        let forms = |ty: &Type| (ty.dtype(), ty.is_array(), ty.rank(), ty.style());
        if forms(given) != forms(wanted) {
            return Err(NoMatch::quiet());
        }
        for (&given, &wanted) in given.dims().iter().zip(wanted.dims()) {
            let certain = match wanted {
                Dim::Any => true,
                Dim::Const(_) => given == wanted,
                Dim::Sym(name) => given != Dim::Any && *symbols.entry(name).or_insert(given) == given,
            };
            if !certain {
                let message = format!("an extent is {given}, `@{}` wants {wanted}: the call checks that", callee.name);
                return Err(NoMatch::because(message));
            }
        }
    }
    Ok(symbols)
}

/// A type of the callee, with the caller's extents.
pub(super) fn bound(ty: &Type, symbols: &Symbols) -> Type {
    let dim = |dim: &Dim| match dim {
        Dim::Sym(name) => symbols.get(name).copied().unwrap_or(Dim::Any),
        other => *other,
    };
    let dims = ty.is_array().then(|| ty.dims().iter().map(dim).collect());
    Type::from_parts(ty.dtype(), dims).with_style(ty.style())
}
