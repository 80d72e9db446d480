//! `strength-reduction`: cheaper ops for constant operands.

use crate::prelude::*;
use crate::rule::condition::is_power_of_two;
use rewright_ir::op::{Eval, Loop};
use smallvec::SmallVec;

/// Replaces an op with a constant operand by cheaper equivalent ops.
///
/// - `power x, 2` of integers and floats becomes `mul x, x`, and `power x, -1` of floats `div 1, x`. `power
///   x, 0.5` becomes the square root, corrected for -0 and minus infinity, for which the power is positive.
///   Other powers stay: they are rounded once, and products of three or more factors several times.
/// - `div x, c` of floats becomes `mul x, 1 / c` if c is a power of two, so that both round alike.
/// - `floordiv`, `mod` and `divmod` of integers by a power of two become shifts and masks. A right shift
///   keeps the sign, and so rounds down, as `floordiv` does. Products stay: processors multiply as fast as
///   they shift.
///
/// Each is exact: the result has the same bits for all operands.
pub struct StrengthReduction;

static STRENGTH_REDUCTION: RewriteDef =
    RewriteDef::root("strength-reduction", "cheaper ops for constant operands", &StrengthReduction)
        .roots(&["power", "div", "floordiv", "mod", "divmod"])
        .stage(Stage::AfterInference)
        .after(&["canonicalize"]);
register_rewrite!(STRENGTH_REDUCTION);

/// An op for each result, and its operands.
type CheaperOps = SmallVec<[(&'static str, [Arg; 2]); 2]>;

/// The replacement of an instruction.
pub enum Cheaper {
    /// An op for each result.
    Ops(Inst, CheaperOps),
    /// The square root for the power 1/2.
    Root(Inst),
}

impl RootRewrite for StrengthReduction {
    type Match = Cheaper;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Cheaper, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        let constant = cx.operand_const(root, 1).ok_or(NoMatch::quiet())?;
        let x = data.args[0];
        let (ty, found) = (func.ty(x), computed_at(data.op, &[func.ty(x).dtype(), constant.dtype()]));
        let found = found.ok_or(NoMatch::quiet())?;
        let constant = constant.cast(found.ins[1]);
        let is = |number: f64| constant == Scalar::from(number).cast(constant.dtype());
        if data.op.name == "power" && found.ins[0].is_float() && is(0.5) {
            let sqrt = rewright_ir::registry().op("sqrt").and_then(|op| computed_at(op, &[ty.dtype()]));
            let same = sqrt.is_some_and(|sqrt| sqrt.ins[0] == found.ins[0]);
            // The correction for a float that is cast would have to compare the cast value.
            let simple = ty.dtype().is_int() || ty.dtype() == found.ins[0];
            return if same && simple { Ok(Cheaper::Root(root)) } else { Err(NoMatch::quiet()) };
        }
        let ops = cheaper(data.op.name, x, constant).ok_or(NoMatch::quiet())?;
        // If an operand is cast, a shift may compute at other dtypes than the quotient.
        let same = ops.iter().zip(&found.outs).all(|((name, args), &out)| {
            let dtypes = [&args[0], &args[1]].map(|arg| match arg {
                Arg::Literal(Literal::Typed(scalar)) => scalar.dtype(),
                _ => ty.dtype(),
            });
            let cheap = rewright_ir::registry().op(name).and_then(|op| computed_at(op, &dtypes));
            cheap.is_some_and(|cheap| cheap.ins[0] == found.ins[0] && cheap.outs[..] == [out])
        });
        if same { Ok(Cheaper::Ops(root, ops)) } else { Err(NoMatch::quiet()) }
    }

    fn apply(&self, found: Cheaper, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        match found {
            Cheaper::Ops(root, ops) => {
                let results: Result<SmallVec<[Value; 2]>, RewriteError> =
                    ops.into_iter().map(|(op, args)| rw.op(op, args)).collect();
                rw.replace(root, &results?)
            }
            Cheaper::Root(root) => {
                let power = root_of(rw, rw.func().inst(root).args[0])?;
                rw.replace(root, &[power])
            }
        }
    }
}

/// x to the power 1/2. The root of the float -0 is -0, and that of minus infinity NaN; integers have
/// neither.
fn root_of(rw: &mut Rewriter<'_>, x: Value) -> Result<Value, RewriteError> {
    let dtype = rw.func().ty(x).dtype();
    let root = rw.op("sqrt", [Arg::from(x)])?;
    if dtype.is_int() {
        return Ok(root);
    }
    let number = |number: f64| Arg::from(Scalar::from(number).cast(dtype));
    let positive = rw.op("add", [Arg::from(root), number(0.0)])?;
    let is_least = rw.op("eq", [Arg::from(x), number(f64::NEG_INFINITY)])?;
    rw.op("where", [Arg::from(is_least), number(f64::INFINITY), Arg::from(positive)])
}

/// The cheaper ops for an op on x and this constant.
fn cheaper(op: &str, x: Value, constant: Scalar) -> Option<CheaperOps> {
    let dtype = constant.dtype();
    let one = |name, right| Some(CheaperOps::from_iter([(name, [Arg::from(x), right])]));
    let is = |number: f64| constant == Scalar::from(number).cast(dtype);
    if op == "power" {
        return match dtype {
            _ if (dtype.is_int() || dtype.is_float()) && is(2.0) => one("mul", Arg::from(x)),
            DType::F32 | DType::F64 if is(-1.0) => {
                let unit = Arg::from(Scalar::one(dtype));
                Some(CheaperOps::from_iter([("div", [unit, Arg::from(x)])]))
            }
            _ => None,
        };
    }
    if !is_power_of_two(constant) {
        return None;
    }
    if dtype.is_float() {
        let reciprocal = constant.exact_reciprocal()?;
        return if op == "div" { one("mul", reciprocal.into()) } else { None };
    }
    // Other rewrites handle the constant 1.
    let power = constant.to_i128().filter(|&power| dtype.is_int() && power > 1)?;
    let typed = |i: i128| Some(Arg::from(Scalar::from(i64::try_from(i).ok()?).cast(dtype)));
    let (count, mask) = (typed(power.ilog2().into())?, typed(power - 1)?);
    match op {
        "floordiv" => one("right_shift", count),
        "mod" => one("bitand", mask),
        "divmod" => {
            let x = Arg::from(x);
            Some(CheaperOps::from_iter([("right_shift", [x, count]), ("bitand", [x, mask])]))
        }
        _ => None,
    }
}

/// The dtypes that an op computes at.
fn computed_at(op: Op, dtypes: &[DType]) -> Option<Loop> {
    let Eval::Elementwise { resolve, .. } = op.eval else { return None };
    resolve(dtypes, &Attrs::new()).ok()
}
