//! `strength-reduction`: cheaper ops for constant operands.

use crate::prelude::*;
use crate::rule::condition::is_power_of_two;
use rewright_ir::op::{Eval, Loop};
use smallvec::SmallVec;

/// Replaces an op with a constant operand by cheaper ones that give the same.
///
/// - `power x, 2` of integers and floats is `mul x, x`. Other powers stay: `power` is not rounded as a quotient or a root is where the
///   exact result is next to the middle of two floats.
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

/// An op for each result, and its right operand; the left one is that of the instruction.
type Ops = SmallVec<[(&'static str, Arg); 2]>;

/// What takes an instruction's place.
pub struct Cheaper {
    root: Inst,
    ops: Ops,
}

impl RootRewrite for StrengthReduction {
    type Match = Cheaper;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Cheaper, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        let constant = cx.operand_const(root, 1).ok_or(NoMatch::quiet())?;
        let x = data.args[0];
        let (ty, found) = (func.ty(x), computed_at(data.op, [func.ty(x).dtype(), constant.dtype()]));
        let found = found.ok_or(NoMatch::quiet())?;
        let ops = cheaper(data.op.name, x, constant.cast(found.ins[1])).ok_or(NoMatch::quiet())?;
        // A shift computes at other dtypes than a quotient, where an operand is cast.
        let same = ops.iter().zip(&found.outs).all(|((name, right), &out)| {
            let right = match right {
                Arg::Literal(Literal::Typed(scalar)) => scalar.dtype(),
                _ => ty.dtype(),
            };
            let cheap = rewright_ir::registry().op(name).and_then(|op| computed_at(op, [ty.dtype(), right]));
            cheap.is_some_and(|cheap| cheap.ins[0] == found.ins[0] && cheap.outs[..] == [out])
        });
        if same { Ok(Cheaper { root, ops }) } else { Err(NoMatch::quiet()) }
    }

    fn apply(&self, found: Cheaper, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let x = rw.func().inst(found.root).args[0];
        let results: Result<SmallVec<[Value; 2]>, RewriteError> =
            found.ops.into_iter().map(|(op, right)| rw.op(op, [Arg::from(x), right])).collect();
        rw.replace(found.root, &results?)
    }
}

/// The ops for an op that computes with x and this constant.
fn cheaper(op: &str, x: Value, constant: Scalar) -> Option<Ops> {
    let dtype = constant.dtype();
    let one = |name, right| Some(Ops::from_iter([(name, right)]));
    let is = |number: f64| constant == Scalar::from(number).cast(dtype);
    if op == "power" {
        return if (dtype.is_int() || dtype.is_float()) && is(2.0) { one("mul", Arg::from(x)) } else { None };
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
        "divmod" => Some([("right_shift", count), ("bitand", mask)].into_iter().collect()),
        _ => None,
    }
}

/// The dtypes that an op computes at.
fn computed_at(op: Op, dtypes: [DType; 2]) -> Option<Loop> {
    let Eval::Elementwise { resolve, .. } = op.eval else { return None };
    resolve(&dtypes, &Attrs::new()).ok()
}
