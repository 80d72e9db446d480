//! `strength-reduction`: cheaper ops for constant operands.

use crate::prelude::*;
use crate::rule::condition::is_power_of_two;
use rewright_ir::op::{Eval, Loop};
use smallvec::SmallVec;

/// Replaces an op with a constant operand by cheaper ones that give the same.
///
/// - `power x, 2` of integers and floats is `mul x, x`, `power x, -1` of floats `div 1, x`, and `power x, 0.5` the square root, with what
///   makes it positive of -0 and minus infinity, as the power is. Other powers stay: they are rounded once, products of three and more
///   factors several times.
/// - `div x, c` of floats is `mul x, 1 / c` where c is a power of two, so that both are exact, or rounded alike.
/// - `floordiv`, `mod` and `divmod` of integers by a power of two are shifts and masks. A shift to the right keeps the sign, and so rounds
///   down, as `floordiv` does. Products stay: machines multiply as fast as they shift.
///
/// Each is exact: the result has the same bits, whatever the operands hold.
pub struct StrengthReduction;

static STRENGTH_REDUCTION: RewriteDef =
    RewriteDef::root("strength-reduction", "cheaper ops for constant operands", &StrengthReduction)
        .roots(&["power", "div", "floordiv", "mod", "divmod"])
        .stage(Stage::AfterInference)
        .after(&["fold", "canonicalize"]);
register_rewrite!(STRENGTH_REDUCTION);

/// An op for each result, and its operands.
type Ops = SmallVec<[(&'static str, [Arg; 2]); 2]>;

/// What takes an instruction's place.
pub enum Cheaper {
    /// An op for each result.
    Ops(Inst, Ops),
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
            // A float that is cast would have to be compared as what it is cast to.
            let simple = ty.dtype().is_int() || ty.dtype() == found.ins[0];
            return if same && simple { Ok(Cheaper::Root(root)) } else { Err(NoMatch::quiet()) };
        }
        let ops = cheaper(data.op.name, x, constant).ok_or(NoMatch::quiet())?;
        // A shift computes at other dtypes than a quotient, where an operand is cast.
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

/// x to the power 1/2. Of floats the root of -0 is -0, and that of minus infinity NaN; integers are neither.
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

/// The ops for an op that computes with x and this constant.
fn cheaper(op: &str, x: Value, constant: Scalar) -> Option<Ops> {
    let dtype = constant.dtype();
    let one = |name, right| Some(Ops::from_iter([(name, [Arg::from(x), right])]));
    let is = |number: f64| constant == Scalar::from(number).cast(dtype);
    if op == "power" {
        return match dtype {
            _ if (dtype.is_int() || dtype.is_float()) && is(2.0) => one("mul", Arg::from(x)),
            DType::F32 | DType::F64 if is(-1.0) => {
                let unit = Arg::from(Scalar::one(dtype));
                Some(Ops::from_iter([("div", [unit, Arg::from(x)])]))
            }
            _ => None,
        };
    }
    if !is_power_of_two(constant) {
        return None;
    }
    if dtype.is_float() {
        let reciprocal: Arg = match constant {
            Scalar::F32(c) => Scalar::F32(c.recip()).into(),
            Scalar::F64(c) => Scalar::F64(c.recip()).into(),
            _ => return None,
        };
        return if op == "div" { one("mul", reciprocal) } else { None };
    }
    // By 1 other rewrites do better.
    let power = constant.to_i128().filter(|&power| dtype.is_int() && power > 1)?;
    let typed = |i: i128| Some(Arg::from(Scalar::from(i64::try_from(i).ok()?).cast(dtype)));
    let (count, mask) = (typed(power.ilog2().into())?, typed(power - 1)?);
    match op {
        "floordiv" => one("right_shift", count),
        "mod" => one("bitand", mask),
        "divmod" => {
            let x = Arg::from(x);
            Some(Ops::from_iter([("right_shift", [x, count]), ("bitand", [x, mask])]))
        }
        _ => None,
    }
}

/// The dtypes that an op computes at.
fn computed_at(op: Op, dtypes: &[DType]) -> Option<Loop> {
    let Eval::Elementwise { resolve, .. } = op.eval else { return None };
    resolve(dtypes, &Attrs::new()).ok()
}
