//! `scan-fusion`: fuses scans with the producers of their operands.

use crate::builtin::fusion::elementwise::array_expr::node_of;
use crate::builtin::fusion::legality::{is_pointwise, may_move};
use crate::builtin::fusion::node::dtype_of;
use crate::builtin::fusion::reduction::reduce_finish::is_long;
use crate::prelude::*;
use rewright_ir::expr::BodyOp;
use rewright_ir::ops::scan::Scan;
use rewright_ir::{ArrayExpr, Attr};
use std::sync::Arc;

/// Fuses elementwise work with the scan of its result into one `arrayexpr`, so that the array between them is
/// never written: a running sum of squares is one pass.
///
/// The producer is an elementwise op, an applied function or an `arrayexpr`, and only the scan uses its
/// result. The node stands where the scan stood, so the producer can move there. These producers stay passes
/// of their own, and a remark says so:
///
/// - Functions, such as an exponential, if the scan is along the last axis: its points run one after the
///   other, and a pass of vectors computes several at once.
/// - Producers of reversed scans.
///
/// It is exact: the node combines the same elements in the same order.
pub struct ScanFusion;

static SCAN_FUSION: RewriteDef =
    RewriteDef::root("scan-fusion", "fuses the producer of an operand into the scan", &ScanFusion)
        .roots(&["cumsum", "cumprod", "cummin", "cummax", "scan"])
        .stage(Stage::BeforeLowering)
        .after(&["reduce-fusion"])
        .reach(1);
register_rewrite!(SCAN_FUSION);

/// The producer, the scan, and the fused node.
pub struct FusedScan {
    producer: Inst,
    scan: Inst,
    expr: ArrayExpr,
    args: Vec<Value>,
}

impl RootRewrite for ScanFusion {
    type Match = Box<FusedScan>;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let (quiet, data) = (NoMatch::quiet, func.inst(root));
        let (&[operand], &[result]) = (&data.args[..], &data.results[..]) else { return Err(quiet()) };
        let scan = Scan::of(func, data).ok_or_else(quiet)?;
        let producer = func.def_inst(operand).filter(|&producer| func.block_of(producer) == func.block_of(root));
        let producer = producer.ok_or_else(quiet)?;
        let node = node_of(cx, producer).filter(|node| is_pointwise(&node.expr)).ok_or_else(quiet)?;
        if func.inst(producer).results.len() > 1 || func.each_user(operand).any(|user| user != root) {
            return Err(NoMatch::because("its operand has other uses, and so is computed by itself"));
        }
        let is_fixed = |&value: &Value| cx.is_written(value) || cx.is_ended(value);
        if is_fixed(&operand) || node.args.iter().any(is_fixed) {
            return Err(NoMatch::because("its operand or an operand of the producer is written to, or ends"));
        }
        if !may_move(cx, producer, &[root]) {
            return Err(NoMatch::because("the producer of its operand can't be moved to the scan"));
        }
        if scan.reverse {
            return Err(NoMatch::because("it is reversed, and its operand is computed by itself"));
        }
        let is_row = scan.axis + 1 == node.expr.axes.len();
        if let Some(inst) = node.expr.body.insts.iter().find(|inst| is_row && is_long(inst)) {
            let BodyOp::Op(op, _) = &inst.op else { return Err(quiet()) };
            let why = format!("`{}` of elements stays a pass of its own, which computes several at once", op.name);
            return Err(NoMatch::because(why).at(inst.loc));
        }
        let (ty, result) = (func.ty(operand), func.ty(result));
        let scanned = scan.expression(ty, result, data.loc).map_err(|_| quiet())?;
        let expr = fused(node.expr, scanned, &scan, ty.dtype()).ok_or_else(quiet)?;
        Ok(Box::new(FusedScan { producer, scan: root, expr, args: node.args }))
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let FusedScan { producer, scan, expr, args } = *found;
        let loc = rw.func().inst(scan).loc;
        rw.set_point(Point::Before(scan));
        rw.set_loc(loc);
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
        let node = rw.insert(rewright_ir::builder::find_op("arrayexpr")?, args, attrs)?;
        let results = rw.func().inst(node).results.clone();
        rw.replace(scan, &results)?;
        rw.remark(loc, "in one pass with the producer of the operand".to_string());
        rw.erase(producer)
    }
}

/// The scan of an elementwise expression's result, which has this dtype.
fn fused(mut expr: ArrayExpr, scanned: ArrayExpr, scan: &Scan, element: DType) -> Option<ArrayExpr> {
    let (&[value], [_]) = (&expr.body.yields[..], &expr.outs[..]) else { return None };
    expr.axes.get_mut(scan.axis)?.kind = scanned.axes.get(scan.axis)?.kind;
    let from = dtype_of(&expr, value)?;
    let loc = expr.locs.first().copied().unwrap_or_default();
    expr.body.yields = vec![expr.body.cast(value, from, element, loc)];
    expr.reductions = scanned.reductions;
    expr.outs = scanned.outs;
    expr.locs.extend(scanned.locs);
    Some(expr)
}
