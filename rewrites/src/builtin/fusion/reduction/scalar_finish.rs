//! `scalar-finish`: fuses a reduction to a scalar with the scalar op that consumes it.

use super::reduction_node::{along_rows, reduces};
use crate::builtin::fusion::legality::{is_there, may_move};
use crate::prelude::*;
use rewright_ir::expr::{Body, BodyOp, BodyRef, Operand, Out, Source, Write};
use rewright_ir::op::Traits;
use rewright_ir::{ArrayExpr, Attr, Name, ValueDef};
use smallvec::SmallVec;
use std::sync::Arc;

/// Fuses a reduction along all axes with a scalar operation on its result into one `arrayexpr`: the root of
/// a norm, the logarithm of a sum of exponentials. A chain of operations is fused one by one.
///
/// The operation is the only user of the scalar, is an operation on floats, and can't fail. It is not fused
/// where that would prevent `reduce-siblings` from fusing the reduction with another one, because the
/// operation takes only nanoseconds. That is the case in two situations:
///
/// - The operation, or a few scalar operations before it, also reads the result of a reduction that comes
///   later or reads one of the same arrays.
/// - Another reduction of the array comes before a scalar that the operation reads.
///
/// It is exact: the finisher computes the same operation on the same total.
pub struct ScalarFinish;

static SCALAR_FINISH: RewriteDef = RewriteDef::root(
    "scalar-finish",
    "fuses the computation of a full reduction's result into the reduction",
    &ScalarFinish,
)
.roots(&["item", "sum", "prod", "max", "min"])
.stage(Stage::BeforeLowering)
.after(&["reduce-finish"])
.reach(1);
register_rewrite!(SCALAR_FINISH);

/// The most operands of one instruction that may be the scalar.
const MOST_USES: usize = 4;
/// The most operations that are fused into one reduction, because chains may be very long.
const MOST_TAKEN: usize = 16;

/// The fused node.
pub struct FusedScalar {
    /// The operation that reads the scalar.
    reader: Inst,
    /// The reduction, and the `item` that reads its array; only the reduction if it gives a scalar.
    gone: SmallVec<[Inst; 2]>,
    expr: ArrayExpr,
    args: Vec<Value>,
}

impl RootRewrite for ScalarFinish {
    type Match = Box<FusedScalar>;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        finished(cx, root).map(Box::new).ok_or(NoMatch::quiet())
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let FusedScalar { reader, gone, expr, args } = *found;
        let loc = rw.func().inst(reader).loc;
        rw.set_point(Point::Before(reader));
        rw.set_loc(loc);
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
        let node = rw.insert(rewright_ir::builder::find_op("arrayexpr")?, args, attrs)?;
        let array = rw.func().inst(node).results[0];
        let item = rw.insert(rewright_ir::builder::find_op("item")?, [array], Attrs::new())?;
        let results = rw.func().inst(item).results.clone();
        rw.replace(reader, &results)?;
        gone.into_iter().try_for_each(|inst| rw.erase(inst))?;
        rw.remark(loc, "computed where all is combined".to_string());
        Ok(())
    }
}

/// The fused node for a scalar that is the result of a reduction.
fn finished(cx: &MatchCx<'_>, root: Inst) -> Option<FusedScalar> {
    let func = cx.func();
    let &[value] = &func.inst(root).results[..] else { return None };
    let reader = only_user(cx, value).filter(|&reader| may_finish(func, reader))?;
    let here = |inst: &Inst| func.block_of(*inst) == func.block_of(reader);
    let (array, reduction) = match func.inst(root).op.name {
        "item" => {
            let array = func.inst(root).args[0];
            (array, func.def_inst(array).filter(|_| only_user(cx, array) == Some(root))?)
        }
        _ => (value, root),
    };
    let still = |&arg: &Value| !cx.is_written(arg) && !cx.is_ended(arg);
    let single = func.inst(reduction).results.len() == 1 && func.inst(reduction).args.iter().all(still);
    // The `item` and then the reduction move past the instructions between.
    let movable = match reduction == root {
        true => may_move(cx, root, &[reader]),
        false => here(&reduction) && may_move(cx, reduction, &[root]) && may_move(cx, root, &[reader]),
    };
    if !single || !here(&root) || !movable || waits_for_sibling(func, reader, value, reduction) {
        return None;
    }
    let node = along_rows(cx, reduction).filter(|node| node.is_total() && node.finishes() < MOST_TAKEN)?;
    let args = func.inst(reader).args.iter().map(|&arg| if arg == value { array } else { arg });
    let args: Vec<Value> = args.collect();
    let (expr, args) = node.finished(func, &pointwise(func, reader, array, &args), &args)?;
    let gone = if reduction == root { SmallVec::from_slice(&[root]) } else { SmallVec::from_slice(&[root, reduction]) };
    Some(FusedScalar { reader, gone, expr, args })
}

/// True if other operands of the operation may prevent the reduction's fusion with a sibling. Operands that
/// the reduction reads itself do not.
fn waits_for_sibling(func: &Function, reader: Inst, total: Value, reduction: Inst) -> bool {
    let own = &func.inst(reduction).args;
    let is_other = |&arg: &Value| func.ty(arg).is_scalar() && arg != total && !own.contains(&arg);
    let others = |inst: Inst| func.inst(inst).args.iter().copied().filter(is_other);
    let here = |inst: &Inst| func.block_of(*inst) == func.block_of(reduction);
    let reads_same =
        |other: Inst| func.inst(other).args.iter().any(|&arg| func.ty(arg).is_array() && own.contains(&arg));
    let mut waiting: SmallVec<[Value; 8]> = others(reader).collect();
    if keeps_from_sibling(func, reader, &waiting, reduction) {
        return true;
    }
    let mut next = 0;
    while let Some(&value) = waiting.get(next).filter(|_| next < MOST_TAKEN) {
        next += 1;
        let Some(inst) = func.def_inst(value).filter(here) else { continue };
        match reduction_of(func, inst).filter(here) {
            Some(other) if func.comes_before(reduction, other) || reads_same(other) => return true,
            Some(_) => {}
            None => waiting.extend(others(inst)),
        }
    }
    false
}

/// True if another reduction of the same array may be fused with this one where the first of both stands,
/// but not if this one needed the operation's other operands.
fn keeps_from_sibling(func: &Function, reader: Inst, others: &[Value], reduction: Inst) -> bool {
    let own = &func.inst(reduction).args;
    let is_kept_apart = |user: Inst| {
        let first = if func.comes_before(user, reduction) { user } else { reduction };
        let all_there = |values: &[Value]| values.iter().all(|&value| is_there(func, value, first));
        let is_sibling = user != reduction && reduces(func, user) && func.comes_before(user, reader);
        is_sibling && all_there(own) && !all_there(others)
    };
    let arrays = own.iter().filter(|&&arg| func.ty(arg).is_array());
    { arrays }.any(|&array| func.few_users(array, MOST_TAKEN).is_some_and(|users| users.into_iter().any(is_kept_apart)))
}

/// The reduction, as an op or as a node, whose result a scalar is.
fn reduction_of(func: &Function, inst: Inst) -> Option<Inst> {
    let inst = if func.inst(inst).op.name == "item" { func.def_inst(func.inst(inst).args[0])? } else { inst };
    reduces(func, inst).then_some(inst)
}

/// The only user of a value that is not stored to or ended.
fn only_user(cx: &MatchCx<'_>, value: Value) -> Option<Inst> {
    let func = cx.func();
    let users = func.few_users(value, MOST_USES).filter(|_| !cx.is_written(value) && !cx.is_ended(value))?;
    if let [user] = users[..] { Some(user) } else { None }
}

/// True for operations on floats that can't fail.
fn may_finish(func: &Function, reader: Inst) -> bool {
    let data = func.inst(reader);
    let real = |&v: &Value| func.ty(v).is_scalar() && func.ty(v).dtype().is_float();
    data.op.is_elementwise()
        && data.op.is_pure()
        && !data.op.traits.contains(Traits::PARTIAL)
        && data.results.len() == 1
        && data.args.iter().chain(&data.results).all(real)
}

/// A scalar instruction as an expression without axes, one of whose operands is an array of rank 0.
fn pointwise(func: &Function, inst: Inst, array: Value, args: &[Value]) -> ArrayExpr {
    let data = func.inst(inst);
    let mut operands: Vec<Operand> = Vec::new();
    let mut refs: SmallVec<[BodyRef; 3]> = SmallVec::new();
    for (n, &value) in (0..).zip(args) {
        refs.push(match func.def(value) {
            ValueDef::Const(scalar) => BodyRef::Const(scalar),
            _ => {
                let source = if value == array { Source::Array(n) } else { Source::Scalar(n) };
                let name = Name::from("x");
                operands.push(Operand { name, source, dtype: func.ty(value).dtype(), index: Vec::new() });
                BodyRef::Operand(operands.len() as u32 - 1)
            }
        });
    }
    let dtype = func.ty(data.results[0]).dtype();
    let mut body = Body::default();
    let yields = body.push(BodyOp::Op(data.op, data.attrs.clone()), refs, [dtype], data.loc);
    body.yields.extend(yields);
    ArrayExpr {
        axes: Vec::new(),
        guard: Vec::new(),
        operands,
        body,
        reductions: Vec::new(),
        finish: None,
        outs: vec![Out { dtype, dims: Vec::new(), index: Vec::new(), fill: None, write: Write::Unique }],
        locs: vec![data.loc],
    }
}
