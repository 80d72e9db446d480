//! One reduction or scan as an array expression, so that it runs on the code generators too.

use rewright_ir::ops::reduced::Reduced;
use rewright_ir::ops::scan::Scan;
use rewright_ir::{ArrayExpr, Function, InstData};

/// A reduction op or scan op as an expression over the instruction's operand; else why not. `None` for other
/// ops.
pub fn wrap_reduction(func: &Function, data: &InstData) -> Option<Result<ArrayExpr, String>> {
    let (&[arg], &[result]) = (&data.args[..], &data.results[..]) else { return None };
    let (ty, result) = (func.ty(arg), func.ty(result));
    let expr = match (Reduced::of(func, data), Scan::of(func, data)) {
        (Some(reduced), _) => reduced.expression(ty, result).map(|expr| ArrayExpr { locs: vec![data.loc], ..expr }),
        (None, Some(scan)) => scan.expression(ty, result, data.loc),
        (None, None) => return None,
    };
    Some(expr.map_err(str::to_string))
}
