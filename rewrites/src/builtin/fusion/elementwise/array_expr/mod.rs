//! `array-expr`: fuses chains of array operations into one `arrayexpr` node each.
//!
//! The elementwise ops, applied scalar functions and array expressions of a block are planned together
//! (`plan`): which of them are fused, and why others are not. A group's body is built (`build`) by inlining
//! its members one by one; views between them become index maps. Values that are used outside of a group
//! become results of its node. Then the block is put in an order in which the members of a node are adjacent
//! (`order`), and the nodes replace their members.

mod build;
mod candidate;
mod effects;
mod order;
mod plan;
mod space;
mod views;

use crate::{Holds, MatchCx, NoMatch, Point, Rewrite, RewriteDef, RewriteError, Rewriter, Stage, register_rewrite};
use build::build;
use candidate::{Candidate, Role, applied_cycles, is_needed};
use order::{Unit, order};
use plan::{FusionGroup, FusionPlan, Member, plan};
use rewright_ir::builder::find_op;
use rewright_ir::op::Traits;
use rewright_ir::{Attr, Attrs, Block, Inst, Loc, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

pub use build::Built;
pub(crate) use plan::MAX_REPEATED_CYCLES;
pub use views::AxisView;

/// The rewrite.
pub struct ArrayExprs;

/// Its definition.
pub static ARRAY_EXPR: RewriteDef =
    RewriteDef::block("array-expr", "fuses chains of array operations into one `arrayexpr` each", &ArrayExprs)
        .holding(Holds::ARRAYS.union(Holds::CALLEES))
        .stage(Stage::BeforeLowering);
register_rewrite!(ARRAY_EXPR);

/// The changes of a block.
pub struct Fusion {
    nodes: Vec<FusedNode>,
    /// The new order of the remaining instructions, with nodes as units.
    order: Vec<Unit>,
    /// `del`s of values that no longer exist, in this block and in others.
    dropped: Vec<Inst>,
}

/// A node that replaces instructions.
struct FusedNode {
    built: Built,
    /// The members, and the views between them, in block order.
    parts: Vec<Inst>,
    /// The number of members among the parts.
    members: usize,
    loc: Loc,
}

impl Rewrite for ArrayExprs {
    type Match = Fusion;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Fusion, NoMatch> {
        if !cx.func().insts(block).any(|inst| may_join(cx, block, inst)) {
            return Err(left_apart(cx, block));
        }
        let plan = plan(cx, block);
        if plan.groups.is_empty() {
            let missed = plan.missed.into_iter().map(|m| NoMatch::because(m.reason).at(cx.func().inst(m.producer).loc));
            return Err(missed.fold(left_apart(cx, block), NoMatch::and));
        }
        fusion(cx, &plan).map_err(|error| NoMatch::because(error.to_string()))
    }

    fn apply(&self, found: Fusion, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        for &del in &found.dropped {
            rw.erase(del)?;
        }
        put_in_order(&found, rw)?;
        let mut replaced = FxHashMap::default();
        for node in found.nodes {
            replace(node, &mut replaced, rw)?;
        }
        Ok(())
    }
}

/// Whether an instruction may be fused: one that is not in a node yet, or a node that reads another node of
/// the block or has results that nothing needs.
fn may_join(cx: &MatchCx<'_>, block: Block, inst: Inst) -> bool {
    let func = cx.func();
    match Candidate::of(cx, inst) {
        None => false,
        Some(Candidate { role: Role::Expression, .. }) => {
            let data = func.inst(inst);
            let is_node = |inst: Inst| func.block_of(inst) == Some(block) && func.inst(inst).attrs.expr().is_some();
            data.results.iter().any(|&r| !is_needed(func, r))
                || data.args.iter().any(|&arg| func.def_inst(views::look_through(cx, arg).base).is_some_and(is_node))
        }
        Some(_) => true,
    }
}

/// An instruction by itself as an expression, if it can be one.
pub fn node_of(cx: &MatchCx<'_>, inst: Inst) -> Option<Built> {
    let data = cx.func().inst(inst);
    let candidate = Candidate::of(cx, inst)?;
    if let (Role::Expression, Some(expr)) = (candidate.role, data.attrs.expr()) {
        return Some(Built { expr: (**expr).clone(), args: data.args.to_vec(), results: data.results.to_vec() });
    }
    let rank = cx.func().ty(data.results[0]).rank();
    let member = Member { inst, candidate, map: (0..rank).map(Some).collect() };
    build(cx, &FusionGroup { members: vec![member], views: Vec::new() }).ok()
}

/// The length of a chain of views that is followed to explain why the viewed value is not fused.
const MOST_VIEWS: usize = 4;

/// Why a node is not fused with another one of the block: it reads the other's result through a view that is
/// no map of axes, such as a slice.
fn left_behind_view(cx: &MatchCx<'_>, block: Block, inst: Inst) -> Option<NoMatch> {
    let func = cx.func();
    let data = func.inst(inst);
    data.attrs.expr()?;
    data.args.iter().find_map(|&arg| {
        let (mut base, mut apart) = (arg, None);
        for _ in 0..MOST_VIEWS {
            let view = func.def_inst(base).map(|inst| func.inst(inst));
            let Some(view) = view.filter(|view| view.op.traits.contains(Traits::VIEW)) else { break };
            apart = apart.or(view.op.interface::<AxisView>().is_none().then_some(view.op.name));
            base = *view.args.first()?;
        }
        let apart = apart?;
        let producer = func.def_inst(base).filter(|&inst| func.block_of(inst) == Some(block))?;
        func.inst(producer).attrs.expr()?;
        let why = format!("the operand of `{apart}` is computed apart: a node reads through maps of axes only");
        Some(NoMatch::because(why).at(func.inst(producer).loc))
    })
}

/// Remarks on applied functions that can't be inlined into a body, with the reason, and on values that are
/// not read through views.
fn left_apart(cx: &MatchCx<'_>, block: Block) -> NoMatch {
    let func = cx.func();
    let mut reasons = NoMatch::quiet();
    for inst in func.insts(block) {
        let data = func.inst(inst);
        let callee =
            data.attrs.func("callee").filter(|_| data.op.name == "ufunc").and_then(|name| cx.module().get(name));
        if let Some(Err(reason)) = callee.map(|c| applied_cycles(cx.module(), c)) {
            let message = format!("`ufunc @{}` is computed apart: {reason}", callee.map_or("", |c| c.name.as_str()));
            reasons = reasons.and(NoMatch::because(message).at(data.loc));
        }
        if let Some(reason) = left_behind_view(cx, block, inst) {
            reasons = reasons.and(reason);
        }
    }
    reasons
}

fn fusion(cx: &MatchCx<'_>, plan: &FusionPlan) -> Result<Fusion, rewright_ir::TypeError> {
    let func = cx.func();
    let at: FxHashMap<Inst, usize> = plan.insts.iter().enumerate().map(|(at, &inst)| (inst, at)).collect();
    let mut nodes = Vec::with_capacity(plan.groups.len());
    for group in &plan.groups {
        let mut parts: Vec<Inst> = group.members.iter().map(|m| m.inst).chain(group.views.iter().copied()).collect();
        parts.sort_by_key(|inst| at.get(inst));
        let loc = group.members.last().map(|m| func.inst(m.inst).loc).unwrap_or_default();
        nodes.push(FusedNode { built: build(cx, group)?, parts, members: group.members.len(), loc });
    }
    let order = order(func, plan);
    let kept: FxHashSet<Inst> =
        order.iter().filter_map(|u| if let Unit::Inst(i) = u { Some(*i) } else { None }).collect();
    let dels = (0..).zip(&plan.insts).filter(|(at, _)| plan.effects.del(*at).is_some()).map(|(_, &inst)| inst);
    let mut dropped: Vec<Inst> = dels.filter(|inst| !kept.contains(inst)).collect();
    for (group, node) in plan.groups.iter().zip(&nodes) {
        let parts = group.members.iter().map(|m| m.inst).chain(group.views.iter().copied());
        let results = parts.flat_map(|part| &func.inst(part).results);
        let gone = results.filter(|result| !node.built.results.contains(result));
        // Outside of the block only `del`s use these values.
        dropped.extend(gone.flat_map(|&value| func.users(value)).filter(|u| !at.contains_key(u)));
    }
    Ok(Fusion { nodes, order, dropped })
}

/// Moves instructions up one by one until the block has the new order; the parts of a node become adjacent.
fn put_in_order(found: &Fusion, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
    let flat = found.order.iter().flat_map(|unit| match unit {
        Unit::Inst(inst) => std::slice::from_ref(inst),
        Unit::Group(number) => &found.nodes[*number].parts,
    });
    let flat: Vec<Inst> = flat.copied().collect();
    let block = flat.first().and_then(|&inst| rw.func().block_of(inst));
    let mut next = block.and_then(|block| rw.func().first_inst(block));
    for inst in flat {
        match next {
            Some(at) if at == inst => next = rw.func().next_inst(at),
            Some(at) => rw.move_before(inst, at)?,
            None => return Err(RewriteError::refused("the order names an instruction twice")),
        }
    }
    Ok(())
}

/// Replaces a node's parts by the node. It may read results of earlier nodes, which have replaced other
/// values.
fn replace(node: FusedNode, replaced: &mut FxHashMap<Value, Value>, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
    let Some(&first) = node.parts.first() else { return Ok(()) };
    rw.set_point(Point::Before(first));
    rw.set_loc(node.loc);
    let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(node.built.expr)));
    let args: Vec<Value> = node.built.args.iter().map(|arg| *replaced.get(arg).unwrap_or(arg)).collect();
    let inst = rw.insert(find_op("arrayexpr")?, args, attrs)?;
    let results = rw.func().inst(inst).results.clone();
    for (&old, &new) in node.built.results.iter().zip(&results) {
        rw.replace_uses(old, new)?;
        replaced.insert(old, new);
    }
    for &part in node.parts.iter().rev() {
        rw.erase(part)?;
    }
    if node.members > 1 {
        let outs = if results.len() == 1 { String::new() } else { format!(" with {} results", results.len()) };
        rw.remark(node.loc, format!("fused {} operations into one `arrayexpr`{outs}", node.members));
    }
    Ok(())
}
