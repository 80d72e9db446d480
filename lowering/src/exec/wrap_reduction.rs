//! Wraps one reduction, scan or contraction as an array expression, so that it runs on the code generators.

use rewright_ir::ops::contraction::Contraction;
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::ops::scan::Scan;
use rewright_ir::{ArrayExpr, Function, InstData};
use smallvec::SmallVec;

/// A reduction, scan or contraction op as an expression over the instruction's operands, or the reason
/// against it. `None` for other ops.
pub fn wrap_reduction(func: &Function, data: &InstData) -> Option<Result<ArrayExpr, String>> {
    let &[result] = &data.results[..] else { return None };
    let (ty, result) = (func.ty(*data.args.first()?), func.ty(result));
    let expr = if let Some(reduced) = Reduced::of(func, data) {
        reduced.expression(ty, result).map(|expr| ArrayExpr { locs: vec![data.loc], ..expr })
    } else if let Some(scan) = Scan::of(func, data) {
        scan.expression(ty, result, data.loc)
    } else {
        Contraction::of(func, data)?.expression(result)
    };
    Some(expr.map_err(str::to_string))
}

/// Pairs of axes, of operand 0 and operand 1, whose extents must be equal, which only a call can check. It
/// is empty for ops that are no contraction.
pub fn to_be_equal(func: &Function, data: &InstData) -> SmallVec<[[(usize, usize); 2]; 1]> {
    let pairs = Contraction::of(func, data).map(|contraction| contraction.to_be_equal()).unwrap_or_default();
    pairs.into_iter().map(|(a, b)| [(0, a), (1, b)]).collect()
}
