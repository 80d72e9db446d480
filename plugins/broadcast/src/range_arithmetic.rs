//! The rewrite `range-arithmetic`: computes sums of ranges and numbers, and products of ranges with
//! numbers, as ranges. They need no loop, whatever the length.
//!
//! By the rule of the style, the type rule of `broadcasted` gives a range instead of a lazy array. The
//! reference evaluator and the rewrite compute its start and its step.
//!
//! This holds only in a range's own dtype. The integers of a range may wrap and its floats are rounded, so
//! a result of another dtype is an array. Ranges of floats have finite elements: if a constant of the
//! program makes them infinite or NaN, the result is an array. If a value of a call does so, the style
//! reports an error.

use crate::lattice::{Answer, Applying, Broadcasting, Eager, Keeps};
use crate::ops::broadcasted;
use crate::styles::range::is_finite;
use rewright::plugin::*;

register_interface!(style "range", Broadcasting, &Broadcasting { into: "dense", keeps: Keeps::Anything, zeros: "dense", rule });
register_interface!(style "range", Eager, &Eager(eager));

/// How the step of the result is computed. Its start is the op of the operands' starts; a number is its own
/// start, and has no step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Steps {
    /// The op of the steps: `-r`, `r + s`.
    Both,
    /// The step of the range: `r + c`.
    Stays,
    /// The negated step: `c - r`.
    Negated,
    /// The op of the step and the number: `c * r`.
    Scaled,
}

/// How an op computes a range, if it does; `is_range` has a flag for each operand.
fn steps(op: &str, is_range: &[bool]) -> Option<Steps> {
    match (op, is_range) {
        ("neg" | "pos", [true]) | ("add" | "sub", [true, true]) => Some(Steps::Both),
        ("add", [true, false] | [false, true]) | ("sub", [true, false]) => Some(Steps::Stays),
        ("sub", [false, true]) => Some(Steps::Negated),
        ("mul", [true, false] | [false, true]) | ("div", [true, false]) => Some(Steps::Scaled),
        _ => None,
    }
}

fn rule(applying: &Applying<'_>) -> Result<Answer, String> {
    let is_range: Vec<bool> = applying.types.iter().map(is_range).collect();
    let dense = |why: &str| Ok(Answer::Dense(why.into()));
    let Some(op) = applying.op.filter(|op| steps(op.name, &is_range).is_some()) else {
        return dense("only sums, and products with numbers, of ranges are ranges");
    };
    let mut ranges = applying.types.iter().zip(&is_range).filter(|(_, is_range)| **is_range).map(|(ty, _)| ty);
    let numbers = applying.types.iter().zip(&is_range).filter(|(_, is_range)| !**is_range);
    if numbers.into_iter().any(|(ty, _)| !ty.is_scalar()) {
        return dense("a range with an array is an array");
    }
    let dims = applying.types.iter().find(|ty| ty.is_array()).map_or(&[][..], |ty| ty.dims());
    let same = |ty: &Type| ty.dims() == dims && dims != [Dim::Any];
    if !ranges.clone().all(same) {
        return dense("ranges are not known to be of one length");
    }
    if let Some(ty) = ranges.find(|ty| ty.dtype() != applying.dtype) {
        let (own, dtype) = (ty.dtype(), applying.dtype);
        let why = if own.is_int() { "may wrap" } else { "are rounded" };
        return Ok(Answer::Dense(format!("`{op}` of a range of {own}, whose elements {why}, is {dtype}")));
    }
    let mut known =
        applying.consts.iter().zip(&is_range).filter(|(_, is_range)| !**is_range).filter_map(|(number, _)| *number);
    if let Some(number) = known.find(|&number| !is_finite(number) || (op.name == "div" && !number.truthy())) {
        return Ok(Answer::Dense(format!("`{op}` of a range with {number} is not finite")));
    }
    Style::named(Name::new("range")).map(Answer::Now)
}

fn is_range(ty: &Type) -> bool {
    ty.style().is_some_and(|style| style == "range")
}

fn eager(op: Op, args: &[Datum]) -> Result<Styled, String> {
    let is_range: Vec<bool> = args.iter().map(|arg| arg.as_styled().is_some()).collect();
    let how = steps(op.name, &is_range).ok_or("the op makes no ranges")?;
    let part = |arg: &Datum, n: usize| match arg {
        Datum::Styled(range) => range.components()[n].get(&[]),
        number => number.as_scalar(),
    };
    let all = |n: usize| args.iter().map(|arg| part(arg, n)).collect::<Option<Vec<_>>>().ok_or("a range has no start");
    let apply = |op: Op, args: &[Scalar]| match eval_scalar(op, args, &Attrs::new()) {
        Ok(results) => Ok(results[0]),
        Err(error) => Err(error.to_string()),
    };
    let start = apply(op, &all(0)?)?;
    let own_step = || {
        let range = args.iter().find_map(|arg| arg.as_styled());
        range.and_then(|range| range.components()[1].get(&[])).ok_or("no step")
    };
    let step = match how {
        Steps::Both | Steps::Scaled => apply(op, &all(1)?)?,
        Steps::Stays => own_step()?,
        Steps::Negated => apply(Op(&rewright::ops::arithmetic::NEG), &[own_step()?])?,
    };
    let shape = args.iter().find_map(|arg| arg.as_styled()).map_or(&[][..], |range| range.shape());
    let component = |number: Scalar| Array::full(number, &[]).ok_or("it is too large");
    let style = Style::named(Name::new("range"))?;
    Styled::new(style, start.dtype(), shape, vec![component(start)?, component(step)?])
}

/// See the [module's page](self).
pub struct RangeArithmetic;

static RANGE_ARITHMETIC: RewriteDef =
    RewriteDef::root("range-arithmetic", "sums and multiples of ranges are ranges, without a loop", &RangeArithmetic)
        .roots(&["broadcasted"])
        .before(&["materialize-nest"])
        .benefit(20);
register_rewrite!(RANGE_ARITHMETIC);

impl RootRewrite for RangeArithmetic {
    type Match = (Inst, Steps);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        if !is_range(func.ty(data.results[0])) {
            return Err(NoMatch::quiet());
        }
        let op = broadcasted::op(&data.attrs).ok().flatten().ok_or(NoMatch::quiet())?;
        let kinds: Vec<bool> = data.args.iter().map(|&arg| is_range(func.ty(arg))).collect();
        steps(op.name, &kinds).map(|how| (root, how)).ok_or(NoMatch::quiet())
    }

    fn apply(&self, (root, how): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let op = broadcasted::op(&data.attrs)?.ok_or_else(|| RewriteError::new("`broadcasted` applies no op"))?;
        let ty = rw.func().ty(data.results[0]).clone();
        let range = data.args.iter().copied().find(|&arg| is_range(rw.func().ty(arg)));
        let range = range.ok_or_else(|| RewriteError::new("an operand is no range any more"))?;
        let start = parts(rw, &data.args, "start")?;
        let start = rw.op(op.name, start)?;
        let step = match how {
            Steps::Both | Steps::Scaled => {
                let steps = parts(rw, &data.args, "step")?;
                rw.op(op.name, steps)?
            }
            Steps::Stays | Steps::Negated => {
                let own = parts(rw, &[range], "step")?[0];
                if how == Steps::Negated { rw.op("neg", [own])? } else { own }
            }
        };
        let attrs = Attrs::new()
            .with("style", Attr::Str("range".into()))
            .with("dims", Attr::Dims(ty.dims().into()))
            .with("dtype", Attr::DType(ty.dtype()));
        let made = rw.op_with("assemble", [start, step], attrs)?;
        rw.replace(root, &[made])
    }
}

/// The component `name` of each range; other operands stay as they are.
fn parts(rw: &mut Rewriter<'_>, args: &[Value], name: &str) -> Result<Vec<Value>, RewriteError> {
    let part = |&arg: &Value| match is_range(rw.func().ty(arg)) {
        true => rw.op_with("component", [arg], Attrs::new().with("name", Attr::Str(name.into()))),
        false => Ok(arg),
    };
    args.iter().map(part).collect()
}
