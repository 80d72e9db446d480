//! `inline`: puts the body of a small function in the place of a call.

mod callee;
mod copy;

use crate::prelude::*;
use callee::Callee;
use rewright_ir::{Dim, Name, Type, Value};
use std::collections::BTreeMap;

/// Puts the body of a small function in the place of a call, with its branches and loops, so that whatever works on one function at a time
/// sees through the call: chains of array operations on both sides of it become one node.
///
/// It is exact because the same instructions run in the same order. What the call itself checks must be certain: that the arguments fit the
/// parameters' types, extents that have the same symbol being equal, and that what is returned has the declared type. It stops, with
/// a remark, where that is not so; where the function stores to a parameter or ends its life, or somebody stores to what goes in and comes
/// out again, for a call makes values of its own; and where the function is large, or leads back to itself.
pub struct Inline;

static INLINE: RewriteDef =
    RewriteDef::root("inline", "puts the body of a small function in the place of a call", &Inline)
        .roots(&["call"])
        .stage(Stage::AfterInference)
        .before(&["fold", "canonicalize", "jump-threading"]);
register_rewrite!(INLINE);

/// Instructions of a function that is taken for small.
const SMALL: usize = 64;

/// Instructions of a function that calls are no longer replaced in: functions that call each other twice at each level grow exponentially. Those in bodies of
/// expressions are not counted here, for that would take a look at the whole function for each call; each body that is put there is [`SMALL`].
const LARGE: usize = 4096;

/// A call that may be replaced.
pub struct Found {
    call: Inst,
    callee: Name,
    symbols: Symbols,
}

/// What the symbols of the callee are at the call.
type Symbols = BTreeMap<Name, Dim>;

impl RootRewrite for Inline {
    type Match = Found;

    fn matches(&self, cx: &MatchCx<'_>, call: Inst) -> Result<Found, NoMatch> {
        let func = cx.func();
        let data = func.inst(call);
        let name = data.attrs.func("callee").ok_or(NoMatch::quiet())?;
        let callee = cx.module().get(name).filter(|callee| !callee.untyped && name != func.name);
        let callee =
            Callee { func: callee.ok_or(NoMatch::quiet())?, effects: cx.module_effects(), calls: cx.call_graph() };
        callee.is_fit()?;
        if func.inst_count() > LARGE {
            return Err(NoMatch::because(format!("`@{}` has more than {LARGE} instructions already", func.name)));
        }
        let symbols = symbols(func, &data.args, callee.func)?;
        if data.results.iter().any(|&result| cx.is_written(result)) {
            return Err(NoMatch::because("what the call gives is stored to, and may be something that it got"));
        }
        let passed = callee.returned_params();
        if data.args.iter().zip(passed).any(|(&arg, passed)| passed && cx.is_written(arg)) {
            return Err(NoMatch::because("what the call gives back as it got it is stored to"));
        }
        Ok(Found { call, callee: name, symbols })
    }

    fn apply(&self, found: Found, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let loc = rw.func().inst(found.call).loc;
        let done = copy::copy(rw, &found);
        rw.remark(loc, format!("`@{}` is inlined", found.callee));
        // Types that are more precise than the callee's may show what only running would, as does a symbol that nothing binds.
        done.map_err(|error| match error {
            RewriteError::Type(_) | RewriteError::Refused(_) | RewriteError::Other(_) => {
                RewriteError::Declined { op: "call", loc, why: format!("can't be inlined: {error}") }
            }
            error => error,
        })
    }
}

/// What the callee's symbols are, if it is certain that the arguments fit its parameters.
fn symbols(func: &Function, args: &[Value], callee: &Function) -> Result<Symbols, NoMatch> {
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

/// A type of the callee as one of the caller.
fn bound(ty: &Type, symbols: &Symbols) -> Type {
    let dim = |dim: &Dim| match dim {
        Dim::Sym(name) => symbols.get(name).copied().unwrap_or(Dim::Any),
        other => *other,
    };
    let dims = ty.is_array().then(|| ty.dims().iter().map(dim).collect());
    Type::from_parts(ty.dtype(), dims).with_style(ty.style())
}
