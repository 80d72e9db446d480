//! `one-pass-variance`: a sum, and the sum of squared differences from the mean that it comes to, in one pass over the array.

use crate::prelude::*;
use crate::rule::Liberties;
use rewright_ir::expr::Monoid;
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::{Dim, SliceSpec};
use smallvec::SmallVec;

/// Computes the sum of an array and that of the squared differences from its mean in one pass. As they are written they are two: the mean has to be known
/// before the first difference is. Here the differences are those from another number K that is known before, the mean of some elements. With D the
/// sum of these differences and Q that of their squares, the sum of n elements is `n * K + D`, and the sum of the squared differences from the mean is
/// `Q - D * D / n`: shifted data, in Chan, Golub and LeVeque, "Algorithms for computing the sample variance: analysis and recommendations" (The American Statistician 37,
/// 1983).
///
/// K is the mean of the first elements, some thousand, along all axes. Where they are like the rest, results are as exact as those of two passes, and more exact where the mean is large beside
/// the differences. Where they are not, rounding errors are parts of Q and of `n * K`, and so a small multiple of n / s times those of two passes, of s elements
/// that K is the mean of, whatever the elements are: `s * n / (n - s) * (K - mean)²` is no more than the sum of the squared differences, so Q is at most n / s times that, and
/// `n * |K|` at most n / s times the sum of magnitudes. Q may also be infinite where squared differences from the mean add up to less, and then the result is no
/// number.
///
/// Of arrays of less than 128 KiB two passes take less than the guess and what else one pass computes once a call. Those that are known to be so small stay as they are, but where
/// only a call knows, it takes some 0.2 microseconds more. So the rewrite is in no pipeline that does not name it. It comes before `array-expr`, which
/// makes nodes of what it looks for, and after what cleans up: `"canonicalize, one-pass-variance, default"`.
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

/// K is the mean of so many elements at most: few beside those of arrays that are too large for the first cache, and as many as that holds.
const SAMPLE: u64 = 4096;
/// One pass was measured to be faster from so many bytes on.
const FEW: u64 = 1 << 17;
/// So many users of an array are looked at.
const MOST_USERS: usize = 16;

/// What becomes one pass.
pub struct Found {
    array: Value,
    /// The sum, and that of the squared differences, which comes later in the same block.
    total: Inst,
    spread: Inst,
}

impl RootRewrite for OnePassVariance {
    type Match = Found;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Found, NoMatch> {
        let func = cx.func();
        let square = summed(func, root).ok_or(NoMatch::quiet())?;
        let difference = squared(func, square).ok_or(NoMatch::quiet())?;
        let (array, mean) = difference_of(func, difference).ok_or(NoMatch::quiet())?;
        let (total, count) = quotient(func, mean).ok_or(NoMatch::quiet())?;
        if summed(func, total) != Some(array) {
            return Err(NoMatch::quiet());
        }
        if let Some(why) = obstacle(cx, &Found { array, total, spread: root }, [difference, square], count) {
            return Err(NoMatch::because(format!("two passes: {why}")).at(func.inst(root).loc));
        }
        Ok(Found { array, total, spread: root })
    }

    fn apply(&self, Found { array, total, spread }: Found, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
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
        // Divided first: the square of a sum overflows before the sum of squares does.
        let mean = rw.op("div", [differences, count])?;
        let beyond = rw.op("mul", [mean, differences])?;
        let left = rw.op("sub", [squares, beyond])?;
        // Where all elements are nearly the same, rounding alone may leave less than nothing.
        let new_spread = rw.op("maximum", [Arg::from(left), Arg::from(Scalar::zero(dtype))])?;
        rw.replace(total, &[new_total])?;
        rw.replace(spread, &[new_spread])?;
        rw.remark(loc, "a sum, and that of squared differences from the mean, in one pass".to_string());
        Ok(())
    }
}

/// Why it is not one pass, although it is a sum of squared differences from what the sum is divided by.
fn obstacle(cx: &MatchCx<'_>, found: &Found, [difference, square]: [Value; 2], count: Count) -> Option<&'static str> {
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
            "several axes, one of which is or may be stretched, are not reduced in one pass with what is computed",
        );
    }
    // What else these are reduced to is a pass of its own.
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

/// The first elements along each axis, not more than [`SAMPLE`] together: as many as there are along those that are known, from the last one on, and what
/// these leave shared by the others.
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

/// The array of floats all of whose elements an instruction adds up to a scalar of their dtype.
fn summed(func: &Function, inst: Inst) -> Option<Value> {
    let data = func.inst(inst);
    let reduced = Reduced::of(func, data)?;
    let array = data.args[0];
    let whole = reduced.monoid == Monoid::Sum && reduced.rank > 0 && reduced.axes.len() == reduced.rank;
    let dtype = func.ty(array).dtype();
    let result = func.ty(data.results[0]);
    (whole && dtype.is_float() && result.is_scalar() && result.dtype() == dtype).then_some(array)
}

/// What a value is the square of.
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

/// The array and the scalar that a value is the difference of, either way.
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

/// What a scalar is divided by.
enum Count {
    Value(Value),
    /// It is multiplied by the reciprocal of that.
    Reciprocal(Scalar),
}

/// What instruction gives what a value is the quotient of, and by what.
fn quotient(func: &Function, value: Value) -> Option<(Inst, Count)> {
    let data = func.inst(func.def_inst(value)?);
    let count = match data.op.name {
        "div" => Count::Value(data.args[1]),
        "mul" => Count::Reciprocal(func.as_const(data.args[1])?),
        _ => return None,
    };
    Some((func.def_inst(data.args[0])?, count))
}

/// True if that is certain to be the number of elements of the array, as far as its dtype can tell.
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

/// The same of a value that is no constant: a cast of the product of all extents.
fn is_counted(func: &Function, value: Value, array: Value) -> bool {
    let Some(cast) = func.def_inst(value).filter(|&inst| func.inst(inst).op.name == "cast") else { return false };
    let dims = func.ty(array).dims();
    // The axes that are to come yet, and the product of constants that is.
    let mut left: SmallVec<[bool; 4]> = SmallVec::from_elem(true, dims.len());
    let mut number = 1.0;
    let mut factors: SmallVec<[Value; 4]> = SmallVec::from_elem(func.inst(cast).args[0], 1);
    // A product of more has something else in it, or the same again.
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

/// The number of elements, if the type tells.
fn elements(ty: &Type) -> Option<u64> {
    ty.dims().iter().try_fold(1, |count: u64, dim| if let Dim::Const(n) = dim { count.checked_mul(*n) } else { None })
}

/// The number of elements of an array, as a float; 1 if there are none.
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
