//! One reduction as an array expression, so that it runs on the code generators too.

use rewright_ir::ops::reduced::Reduced;
use rewright_ir::{ArrayExpr, Function, InstData};

/// A reduction op as an expression over the instruction's operand; else why not. `None` for other ops.
pub fn wrap_reduction(func: &Function, data: &InstData) -> Option<Result<ArrayExpr, String>> {
    let reduced = Reduced::of(func, data)?;
    let (&[arg], &[result]) = (&data.args[..], &data.results[..]) else { return None };
    let expr = reduced.expression(func.ty(arg), func.ty(result));
    Some(expr.map(|expr| ArrayExpr { locs: vec![data.loc], ..expr }).map_err(str::to_string))
}
