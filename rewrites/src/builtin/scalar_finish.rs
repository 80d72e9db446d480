//! `scalar-finish`: what is computed of the one number that a reduction comes to becomes part of its node.

use super::reduce_finish::Node;
use super::reduce_fusion::may_move;
use crate::prelude::*;
use rewright_ir::expr::{Body, BodyOp, BodyRef, Operand, Out, Source, Write};
use rewright_ir::op::Traits;
use rewright_ir::{ArrayExpr, Attr, Name, ValueDef};
use smallvec::SmallVec;
use std::sync::Arc;

/// Makes one `arrayexpr` of a reduction along all axes and an operation of scalars on what it comes to: the root of a norm, the logarithm of a sum of
/// exponentials. What is computed one after the other is taken in one by one.
///
/// The operation is all that reads the number, is one of floats, and can't fail.
///
/// It is exact: the finisher computes the same of the same total.
pub struct ScalarFinish;

static SCALAR_FINISH: RewriteDef =
    RewriteDef::root("scalar-finish", "reductions to one number take in what is computed of it", &ScalarFinish)
        .stage(Stage::BeforeLowering)
        .after(&["array-expr", "reduce-fusion", "reduce-finish"])
        .reach(2);
register_rewrite!(SCALAR_FINISH);

/// What becomes one node.
pub struct Finished {
    /// The reduction, and what takes its number out of an array.
    gone: SmallVec<[Inst; 2]>,
    expr: ArrayExpr,
    args: Vec<Value>,
}

impl RootRewrite for ScalarFinish {
    type Match = (Inst, Box<Finished>);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        let real = |&v: &Value| func.ty(v).is_scalar() && func.ty(v).dtype().is_float();
        let fits = data.op.is_elementwise() && data.op.is_pure() && !data.op.traits.contains(Traits::PARTIAL);
        if !fits || data.results.len() != 1 || !data.args.iter().chain(&data.results).all(real) {
            return Err(NoMatch::quiet());
        }
        let found = data.args.iter().find_map(|&arg| Total::of(cx, root, arg)).ok_or(NoMatch::quiet())?;
        let Total { node, value, array, gone } = found;
        let args: Vec<Value> = data.args.iter().map(|&arg| if arg == value { array } else { arg }).collect();
        let (expr, args) = node.finished(func, &pointwise(func, root, array, &args), &args).ok_or(NoMatch::quiet())?;
        Ok((root, Box::new(Finished { gone, expr, args })))
    }

    fn apply(&self, (root, found): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let Finished { gone, expr, args } = *found;
        let loc = rw.func().inst(root).loc;
        rw.set_point(Point::Before(root));
        rw.set_loc(loc);
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
        let node = rw.insert(rewright_ir::builder::find_op("arrayexpr")?, args, attrs)?;
        let array = rw.func().inst(node).results[0];
        let item = rw.insert(rewright_ir::builder::find_op("item")?, [array], Attrs::new())?;
        let results = rw.func().inst(item).results.clone();
        rw.replace(root, &results)?;
        gone.into_iter().try_for_each(|inst| rw.erase(inst))?;
        rw.remark(loc, "computed where all is combined".to_string());
        Ok(())
    }
}

/// What a reduction along all axes comes to.
struct Total {
    node: Node,
    /// The number, and the array that it is in, which is the same where the reduction gives a scalar.
    value: Value,
    array: Value,
    gone: SmallVec<[Inst; 2]>,
}

impl Total {
    /// If that is an operand of an instruction, and nothing else reads it.
    fn of(cx: &MatchCx<'_>, root: Inst, value: Value) -> Option<Total> {
        let func = cx.func();
        let here = |inst: &Inst| func.block_of(*inst) == func.block_of(root);
        let only = |value: Value, user: Inst| {
            func.users(value).into_iter().all(|u| u == user) && !cx.is_written(value) && !cx.is_ended(value)
        };
        let def = func.def_inst(value).filter(here)?;
        let (array, reduction, gone): (Value, Inst, SmallVec<[Inst; 2]>) = match func.inst(def).op.name {
            "item" => {
                let array = func.inst(def).args[0];
                let reduction = func.def_inst(array).filter(here)?;
                let apart = only(array, def) && may_move(cx, def, &[root]);
                (array, reduction, [def, reduction].into_iter().filter(|_| apart).collect())
            }
            _ => (value, def, [def].into_iter().collect()),
        };
        let reads = func.inst(reduction);
        let still = reads.args.iter().all(|&arg| !cx.is_written(arg) && !cx.is_ended(arg));
        let movable =
            still && only(value, root) && may_move(cx, reduction, &[if def == reduction { root } else { def }]);
        let single = reads.results.len() == 1 && !gone.is_empty();
        let node = Node::of(cx, reduction).filter(|node| movable && single && node.is_total())?;
        Some(Total { node, value, array, gone })
    }
}

/// An instruction of scalars as an expression without axes, one of whose operands is in an array without dims.
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
