//! Reductions as nodes, once `reduce-fusion` has fused them with their producers.

use super::reduce_fusion::takes_in;
use super::scan_fusion::ScanFusion;
use crate::builtin::fusion::cost::is_large;
use crate::builtin::fusion::legality::is_scheduled;
use crate::builtin::fusion::node::FusedExpr;
use crate::prelude::*;
use rewright_ir::expr::{AxisKind, Init, SymExpr, Write};
use rewright_ir::ops::contraction::Contraction;
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::ops::scan::Scan;
use rewright_ir::{ArrayExpr, InstData};
use std::borrow::Cow;

/// True for a reduction, as an op or as a node.
pub(crate) fn reduces(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    data.attrs.expr().is_some_and(|expr| !expr.reductions.is_empty())
        || Reduced::of(func, data).is_some()
        || Contraction::of(func, data).is_some()
}

/// The instruction as a node, if it is a reduction along any axes that covers all points, with axes that
/// start at 0 and no scan axis.
pub(crate) fn along_any(cx: &MatchCx<'_>, inst: Inst) -> Option<FusedExpr> {
    let func = cx.func();
    let data = func.inst(inst);
    let expr: Cow<'_, ArrayExpr> = match data.attrs.expr() {
        Some(expr) => Cow::Borrowed(expr),
        None => {
            let reduced = Reduced::of(func, data)?;
            let (ty, result) = (func.ty(data.args[0]), func.ty(data.results[0]));
            if waits_for_fusion(cx, data.args[0]) || ty.style().is_some() || result.style().is_some() {
                return None;
            }
            Cow::Owned(ArrayExpr { locs: vec![data.loc], ..reduced.expression(ty, result).ok()? })
        }
    };
    let reduces = expr.axes.iter().any(|axis| axis.kind == AxisKind::Reduce);
    let plain = expr.outs.iter().all(|out| out.fill.is_none() && out.write == Write::Unique);
    let zero = SymExpr::default();
    let from_zero = expr.axes.iter().all(|axis| axis.lo == zero);
    let simple = plain && from_zero && reduces && expr.scan().is_none() && expr.guard.is_empty();
    (simple && !is_scheduled(data) && !starts_from_operand(data)).then(|| FusedExpr {
        of: [inst].into_iter().collect(),
        args: data.args.to_vec(),
        results: data.results.to_vec(),
        expr: expr.into_owned(),
    })
}

/// The instruction as a node, if it is a scan that covers all points, with axes that start at 0 and no reduce
/// axis.
pub(crate) fn scans(cx: &MatchCx<'_>, inst: Inst) -> Option<FusedExpr> {
    let func = cx.func();
    let data = func.inst(inst);
    let zero = SymExpr::default();
    let is_simple = |expr: &ArrayExpr| {
        expr.scan().is_some()
            && expr.guard.is_empty()
            && expr.axes.iter().all(|axis| axis.kind.has_results() && axis.lo == zero)
            && expr.outs.iter().all(|out| out.fill.is_none() && out.write == Write::Unique)
    };
    let expr: Cow<'_, ArrayExpr> = match data.attrs.expr() {
        Some(expr) => Cow::Borrowed(expr),
        None => {
            let scan = Scan::of(func, data)?;
            if ScanFusion.matches(cx, inst).is_ok() {
                return None;
            }
            Cow::Owned(scan.expression(func.ty(data.args[0]), func.ty(data.results[0]), data.loc).ok()?)
        }
    };
    (is_simple(&expr) && !is_scheduled(data)).then(|| FusedExpr {
        of: [inst].into_iter().collect(),
        args: data.args.to_vec(),
        results: data.results.to_vec(),
        expr: expr.into_owned(),
    })
}

/// The instruction as a node, if it is a contraction whose extents are known to be equal before a call.
pub(crate) fn contracts(cx: &MatchCx<'_>, inst: Inst) -> Option<FusedExpr> {
    let func = cx.func();
    let data = func.inst(inst);
    let contraction = Contraction::of(func, data)?;
    let result = func.ty(data.results[0]);
    if is_scheduled(data) || !contraction.to_be_equal().is_empty() || !result.is_array() {
        return None;
    }
    let expr = contraction.expression(result).ok()?;
    let has_extents = expr.axes.iter().all(|axis| axis.hi.is_some());
    (has_extents && !expr.reductions.is_empty()).then(|| FusedExpr {
        of: [inst].into_iter().collect(),
        args: data.args.to_vec(),
        results: data.results.to_vec(),
        expr,
    })
}

/// The node of a reduction along rows, or along all axes as one row.
pub(crate) fn along_rows(cx: &MatchCx<'_>, inst: Inst) -> Option<FusedExpr> {
    along_any(cx, inst).filter(FusedExpr::is_rows)
}

/// True if `reduce-fusion` fuses the reduced value's producer with its reductions, which has to happen
/// first. Also true for large producers: looking at them for each of their results would take too long.
fn waits_for_fusion(cx: &MatchCx<'_>, reduced: Value) -> bool {
    cx.func().def_inst(reduced).is_some_and(|inst| is_large(cx.func(), inst) || takes_in(cx, inst))
}

/// True if a reduction starts from an operand's elements. Such an operand is read where the result is
/// written, and fusion changes the results.
fn starts_from_operand(data: &InstData) -> bool {
    let starts = |expr: &ArrayExpr| expr.reductions.iter().any(|reduction| matches!(reduction.init, Init::Existing(_)));
    data.attrs.expr().is_some_and(|expr| starts(expr))
}
