//! `inline`: replaces a call of a small function by its body.

mod callee;
mod copy;

use crate::prelude::*;
use callee::Callee;
use rewright_ir::{Dim, Name, Type, Value};
use std::collections::BTreeMap;

/// Replaces a call of a small function by its body, including branches and loops. Rewrites of one function
/// then see through the call: chains of array operations on both sides of it become one node.
///
/// It is exact because the same instructions run in the same order. The checks of the call itself must be
/// certain to pass: the arguments fit the parameters' types, extents with the same symbol are equal, and the
/// returned values have the declared types. Otherwise the call stays, with a remark. It also stays in these
/// cases:
///
/// - The function stores to a parameter or ends its life.
/// - Something stores to a value that the call takes and returns: a call returns values of its own.
/// - The function is large or recursive.
pub struct Inline;

static INLINE: RewriteDef =
    RewriteDef::root("inline", "puts the body of a small function in the place of a call", &Inline)
        .roots(&["call"])
        .stage(Stage::AfterInference)
        .before(&["fold", "canonicalize", "jump-threading"]);
register_rewrite!(INLINE);

/// The most instructions of a small function.
const SMALL: usize = 64;

/// The most instructions of a function in which calls are replaced: functions that call each other twice at
/// each level grow exponentially. Instructions in bodies of expressions are not counted, because that would
/// visit the whole function for each call; each inlined body has at most [`SMALL`].
const LARGE: usize = 4096;

/// A call that may be replaced.
pub struct Found {
    call: Inst,
    callee: Name,
    symbols: Symbols,
}

/// The caller's extents for the callee's symbols.
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
        // Types that are more precise than the callee's may reveal an error of a run, as may a symbol that
        // nothing binds.
        done.map_err(|error| match error {
            RewriteError::Type(_) | RewriteError::Refused(_) | RewriteError::Other(_) => {
                RewriteError::Declined { op: "call", loc, why: format!("can't be inlined: {error}") }
            }
            error => error,
        })
    }
}

/// The extents for the callee's symbols, if the arguments are certain to fit its parameters.
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

/// A type of the callee, with the caller's extents.
fn bound(ty: &Type, symbols: &Symbols) -> Type {
    let dim = |dim: &Dim| match dim {
        Dim::Sym(name) => symbols.get(name).copied().unwrap_or(Dim::Any),
        other => *other,
    };
    let dims = ty.is_array().then(|| ty.dims().iter().map(dim).collect());
    Type::from_parts(ty.dtype(), dims).with_style(ty.style())
}
