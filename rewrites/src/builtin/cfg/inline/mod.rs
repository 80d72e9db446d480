//! `inline`: replaces a call of a small function by its body.

mod callee;
mod copy;
mod symbols;

use crate::prelude::*;
use callee::Callee;
use rewright_ir::Name;
use symbols::{Symbols, symbols};

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
        .before(&["fold"]);
register_rewrite!(INLINE);

/// The most instructions of a function in which calls are replaced: functions that call each other twice at
/// each level grow exponentially. Instructions in bodies of expressions are not counted, because that would
/// visit the whole function for each call; each inlined body is small.
const LARGE: usize = 4096;

/// A call that may be replaced.
pub struct InlinedCall {
    call: Inst,
    callee: Name,
    symbols: Symbols,
}

impl RootRewrite for Inline {
    type Match = InlinedCall;

    fn matches(&self, cx: &MatchCx<'_>, call: Inst) -> Result<InlinedCall, NoMatch> {
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
            return Err(NoMatch::because("a result of the call is stored to, and may alias an argument"));
        }
        let passed = callee.returned_params();
        if data.args.iter().zip(passed).any(|(&arg, passed)| passed && cx.is_written(arg)) {
            return Err(NoMatch::because("an argument that the call returns is stored to"));
        }
        Ok(InlinedCall { call, callee: name, symbols })
    }

    fn apply(&self, found: InlinedCall, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let loc = rw.func().inst(found.call).loc;
        let done = copy::copy(rw, found.call, found.callee, &found.symbols);
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
