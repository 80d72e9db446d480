//! `one-pass-variance`: fuses a sum and the sum of squared differences from the mean into one pass over the
//! array.

use crate::prelude::*;
use crate::rule::Liberties;
use rewright_ir::expr::Monoid;
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::{Dim, SliceSpec};
use smallvec::SmallVec;

/// Computes the sum of an array and the sum of squared differences from its mean in one pass. The source
/// takes two passes, because the first difference needs the mean. The rewrite takes differences from another
/// number K instead, the mean of a sample. With D the sum of these differences and Q the sum of their
/// squares, the sum of n elements is `n * K + D`, and the sum of squared differences from the mean is
/// `Q - D * D / n`. This is the method of shifted data in Chan, Golub and LeVeque, "Algorithms for computing
/// the sample variance: analysis and recommendations" (The American Statistician 37, 1983).
///
/// K is the mean of the first elements along all axes, some thousand of them. If the sample is like the
/// rest, results are as exact as those of two passes, and more exact where the mean is large beside the
/// differences. If it is not, rounding errors are relative to Q and to `n * K`. For a sample of s elements
/// they are at most a small multiple of n / s times the errors of two passes, whatever the elements are. The
/// proof: `s * n / (n - s) * (K - mean)²` is at most the sum of squared differences, so Q is at most n / s
/// times that sum, and `n * |K|` is at most n / s times the sum of magnitudes. Q may also overflow where the
/// squared differences from the mean do not, and then the result is NaN.
///
/// For arrays of less than 128 KiB two passes take less time than the sample and the other work that one
/// pass adds to each call. Arrays that are known to be so small keep two passes. Where only a call knows the
/// size, small arrays take about 0.2 microseconds more. So only pipelines that name the rewrite contain it.
/// It runs before `array-expr`, which would fuse the ops that it matches, and after the clean-up rewrites:
/// `"canonicalize, one-pass-variance, default"`.
pub struct OnePassVariance;

static ONE_PASS_VARIANCE: RewriteDef = RewriteDef::root(
    "one-pass-variance",
    "a sum, and that of squared differences from the mean, in one pass",
    &OnePassVariance,
)
.roots(&["sum"])
.stage(Stage::AfterInference)
.before(&["array-expr"])
.reach(5)
.liberties(Liberties::REASSOCIATE.union(Liberties::NO_INF))
.opt_in();
register_rewrite!(ONE_PASS_VARIANCE);

/// The most elements of the sample: as many as the first-level cache holds, and few beside those of arrays
/// that exceed this cache.
const SAMPLE: u64 = 4096;
/// Bytes from which on one pass was measured to be faster.
const FEW: u64 = 1 << 17;
/// The most users of an array that the rewrite looks at.
const MOST_USERS: usize = 16;

/// The instructions that become one pass.
pub struct Variance {
    array: Value,
    /// The sum, and the sum of squared differences, which comes later in the same block.
    total: Inst,
    spread: Inst,
}

impl RootRewrite for OnePassVariance {
    type Match = Variance;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Variance, NoMatch> {
        let func = cx.func();
        let square = summed(func, root).ok_or(NoMatch::quiet())?;
        let difference = squared(func, square).ok_or(NoMatch::quiet())?;
        let (array, mean) = difference_of(func, difference).ok_or(NoMatch::quiet())?;
        let (total, count) = quotient(func, mean).ok_or(NoMatch::quiet())?;
        if summed(func, total) != Some(array) {
            return Err(NoMatch::quiet());
        }
        if let Some(why) = obstacle(cx, &Variance { array, total, spread: root }, [difference, square], count) {
            return Err(NoMatch::because(format!("two passes: {why}")).at(func.inst(root).loc));
        }
        Ok(Variance { array, total, spread: root })
    }

    fn apply(&self, Variance { array, total, spread }: Variance, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let dtype = rw.func().ty(array).dtype();
        let loc = rw.func().inst(spread).loc;
        rw.set_point(Point::Before(total));
        rw.set_loc(loc);
        let at = sampled(rw.func().ty(array).dims());
        let sample = rw.op_with("slice", [array], Attrs::new().with("at", Attr::Slices(at.into())))?;
        let sum = rw.op("sum", [sample])?;
        let count = count_of(rw, sample, dtype)?;
        let shift = rw.op("div", [sum, count])?;
        let difference = rw.op("sub", [array, shift])?;
        let square = rw.op("mul", [difference, difference])?;
        let differences = rw.op("sum", [difference])?;
        let squares = rw.op("sum", [square])?;
        let count = count_of(rw, array, dtype)?;
        let shifted = rw.op("mul", [shift, count])?;
        let new_total = rw.op("add", [shifted, differences])?;
        // The division comes first: the square of a sum overflows before the sum of squares does.
        let mean = rw.op("div", [differences, count])?;
        let beyond = rw.op("mul", [mean, differences])?;
        let left = rw.op("sub", [squares, beyond])?;
        // If all elements are nearly equal, rounding may make the result negative.
        let new_spread = rw.op("maximum", [Arg::from(left), Arg::from(Scalar::zero(dtype))])?;
        rw.replace(total, &[new_total])?;
        rw.replace(spread, &[new_spread])?;
        rw.remark(loc, "a sum, and that of squared differences from the mean, in one pass".to_string());
        Ok(())
    }
}

/// Why a sum of squared differences from a quotient does not become one pass.
fn obstacle(
    cx: &MatchCx<'_>,
    found: &Variance,
    [difference, square]: [Value; 2],
    count: Count,
) -> Option<&'static str> {
    let (func, ty) = (cx.func(), cx.func().ty(found.array));
    let dims = ty.dims();
    let is_stretched = func.def_inst(found.array).is_some_and(|inst| func.inst(inst).op.name == "broadcast_in_dim");
    if !is_count(func, count, found.array) {
        return Some("nothing tells that the sum is divided by the number of elements");
    }
    if elements(ty).is_some_and(|count| count < FEW / ty.dtype().size() as u64) {
        return Some("for so few elements they are faster");
    }
    if func.block_of(found.total) != func.block_of(found.spread) {
        return Some("the sum is in another block");
    }
    if cx.is_written(found.array) || cx.is_ended(found.array) {
        return Some("the array is stored to or ended");
    }
    if dims.len() > 1 && (is_stretched || dims.contains(&Dim::Any)) {
        return Some(
            "several axes, one of which is or may be stretched, are not reduced in one pass with the computation",
        );
    }
    // Another reduction of the differences or squares would be a pass of its own.
    let users = |value: Value| func.few_users(value, MOST_USERS);
    let reduces = |inst: Inst| Reduced::of(func, func.inst(inst)).is_some();
    let is_reduced = |inst: Inst| {
        let results = &func.inst(inst).results;
        reduces(inst) || results.iter().any(|&value| users(value).is_none_or(|users| users.into_iter().any(reduces)))
    };
    let is_square = |user: Inst| func.def_inst(square) == Some(user);
    let alone = users(square).is_some_and(|users| users.into_iter().all(|user| user == found.spread))
        && users(difference).is_some_and(|users| users.into_iter().all(|user| is_square(user) || !is_reduced(user)));
    (!alone).then_some("the differences or their squares are needed for something else, too")
}

/// The first elements along each axis, at most [`SAMPLE`] in total. Axes of known extent get as many
/// elements as they have, from the last axis on. The other axes share the rest.
fn sampled(dims: &[Dim]) -> Vec<SliceSpec> {
    let (mut left, mut stops) = (SAMPLE, vec![1; dims.len()]);
    for (stop, dim) in stops.iter_mut().zip(dims).rev() {
        if let Dim::Const(extent) = dim {
            *stop = (*extent).clamp(1, left);
            left /= *stop;
        }
    }
    let mut others: Vec<&mut u64> =
        stops.iter_mut().zip(dims).filter(|(_, dim)| !matches!(dim, Dim::Const(_))).map(|(stop, _)| stop).collect();
    while let Some(stop) = others.pop() {
        *stop = 1 << (left.ilog2() / (others.len() as u32 + 1));
        left /= *stop;
    }
    stops.into_iter().map(|stop| SliceSpec { stop: Some(stop as i64), ..SliceSpec::FULL }).collect()
}

/// The array of floats whose elements an instruction sums to a scalar of the same dtype.
fn summed(func: &Function, inst: Inst) -> Option<Value> {
    let data = func.inst(inst);
    let reduced = Reduced::of(func, data)?;
    let array = data.args[0];
    let whole = reduced.monoid == Monoid::Sum && reduced.rank > 0 && reduced.axes.len() == reduced.rank;
    let dtype = func.ty(array).dtype();
    let result = func.ty(data.results[0]);
    (whole && dtype.is_float() && result.is_scalar() && result.dtype() == dtype).then_some(array)
}

/// The value whose square this value is.
fn squared(func: &Function, value: Value) -> Option<Value> {
    let data = func.inst(func.def_inst(value)?);
    let same = match data.op.name {
        "square" => true,
        "mul" => data.args[0] == data.args[1],
        "power" => func.as_const(data.args[1]).is_some_and(|power| power.to_f64() == 2.0),
        _ => false,
    };
    let found = data.args[0];
    (same && func.ty(found).dtype() == func.ty(value).dtype()).then_some(found)
}

/// The array and the scalar whose difference a value is, in either order.
fn difference_of(func: &Function, value: Value) -> Option<(Value, Value)> {
    let data = func.inst(func.def_inst(value)?);
    let &[a, b] = (data.op.name == "sub").then_some(&data.args[..])? else { return None };
    let of = |a: Value, b: Value| func.ty(a).is_array() && func.ty(b).is_scalar();
    let same = func.ty(a).dtype() == func.ty(b).dtype();
    match (of(a, b), of(b, a)) {
        (true, _) if same => Some((a, b)),
        (_, true) if same => Some((b, a)),
        _ => None,
    }
}

/// The divisor of a scalar.
enum Count {
    Value(Value),
    /// The scalar is multiplied by this reciprocal.
    Reciprocal(Scalar),
}

/// The instruction that gives the dividend of a quotient, and the divisor.
fn quotient(func: &Function, value: Value) -> Option<(Inst, Count)> {
    let data = func.inst(func.def_inst(value)?);
    let count = match data.op.name {
        "div" => Count::Value(data.args[1]),
        "mul" => Count::Reciprocal(func.as_const(data.args[1])?),
        _ => return None,
    };
    Some((func.def_inst(data.args[0])?, count))
}

/// True if the divisor is certain to be the number of the array's elements, to the precision of its dtype.
fn is_count(func: &Function, count: Count, array: Value) -> bool {
    let dtype = func.ty(array).dtype();
    let number = match count {
        Count::Value(value) => match func.as_const(value) {
            None => return func.ty(value).dtype() == dtype && is_counted(func, value, array),
            Some(number) => number.to_f64(),
        },
        Count::Reciprocal(number) => 1.0 / number.to_f64(),
    };
    elements(func.ty(array)).is_some_and(|count| Scalar::U64(count).cast(dtype).to_f64() == number)
}

/// The same for a value that is no constant: a cast of the product of all extents.
fn is_counted(func: &Function, value: Value, array: Value) -> bool {
    let Some(cast) = func.def_inst(value).filter(|&inst| func.inst(inst).op.name == "cast") else { return false };
    let dims = func.ty(array).dims();
    // The axes whose extents have not been found yet, and the product of the constants that have.
    let mut left: SmallVec<[bool; 4]> = SmallVec::from_elem(true, dims.len());
    let mut number = 1.0;
    let mut factors: SmallVec<[Value; 4]> = SmallVec::from_elem(func.inst(cast).args[0], 1);
    // A longer product has other factors, or the same ones again.
    let mut most = 4 * dims.len();
    while let Some(factor) = factors.pop() {
        if let Some(constant) = func.as_const(factor) {
            number *= constant.to_f64();
            continue;
        }
        let Some(inst) = func.def_inst(factor) else { return false };
        let data = func.inst(inst);
        match data.op.name {
            "mul" if func.ty(factor).dtype() == DType::I64 && most > 0 => {
                most -= 1;
                factors.extend_from_slice(&data.args);
            }
            "dim" if data.args[0] == array => {
                let axis = data.attrs.int("axis").unwrap_or_default();
                let axis = if axis < 0 { axis + dims.len() as i64 } else { axis } as usize;
                if !std::mem::take(&mut left[axis]) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    let rest = dims.iter().zip(&left).filter(|(_, left)| **left);
    let rest = rest.map(|(&dim, _)| if let Dim::Const(n) = dim { Some(n as f64) } else { None });
    rest.product::<Option<f64>>() == Some(number)
}

/// The number of elements, if the type states it.
fn elements(ty: &Type) -> Option<u64> {
    ty.dims().iter().try_fold(1, |count: u64, dim| if let Dim::Const(n) = dim { count.checked_mul(*n) } else { None })
}

/// The number of elements of an array, as a float; 1 for an empty array.
fn count_of(rw: &mut Rewriter<'_>, array: Value, dtype: DType) -> Result<Value, RewriteError> {
    let rank = rw.func().ty(array).rank();
    let mut count = None;
    for axis in 0..rank as i64 {
        let extent = rw.op_with("dim", [array], Attrs::new().with("axis", Attr::Int(axis)))?;
        count = Some(match count {
            Some(count) => rw.op("mul", [count, extent])?,
            None => extent,
        });
    }
    let count = count.ok_or_else(|| RewriteError::new("a scalar has no extents"))?;
    let count = rw.op("maximum", [Arg::from(count), Arg::from(Scalar::I64(1))])?;
    rw.op_with("cast", [count], Attrs::new().with("to", Attr::DType(dtype)))
}
