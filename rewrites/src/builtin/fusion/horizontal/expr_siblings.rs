//! `expr-siblings`: fuses elementwise expressions that read the same array into one pass over it.

use super::siblings::{Together, put_together, together};
use crate::builtin::cannot_fail::cannot_fail;
use crate::builtin::fusion::cost::{LARGE, cycles_in_common, width};
use crate::builtin::fusion::node::FusedExpr;
use crate::builtin::fusion::reduction::reduce_fusion::takes_in;
use crate::prelude::*;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::{Affine, Index, IndexExpr};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

/// Fuses expressions with the same axes that read the same array at the same positions into one `arrayexpr`
/// with several results: the sine and the cosine of an array become one pass, with one argument reduction.
///
/// The node stands where the first expression stood. So the operands of the others have to be defined there,
/// the others cannot fail, nothing stores to their operands or ends them, and few instructions are between.
/// These expressions are not fused:
///
/// - expressions whose widest values differ in width: a register holds fewer of the wider ones;
/// - expressions that read an array along its axes in another order, which are computed tile by tile;
/// - expressions that only share operands which are constant along an axis, such as a row of numbers:
///   reading it twice costs nothing;
/// - expressions that `reduce-fusion` fuses with reductions: `reduce-siblings` may fuse these into one pass;
/// - expressions one of which is fused with reductions and so needs no memory for its results, unless the
///   common reads and operations cost more.
///
/// It is exact: each expression computes the same as before.
pub struct ExprSiblings;

static EXPR_SIBLINGS: RewriteDef =
    RewriteDef::root("expr-siblings", "fuses elementwise computations of one array into one pass", &ExprSiblings)
        .roots(&["arrayexpr"])
        .stage(Stage::BeforeLowering)
        .after(&["reduce-siblings"])
        .reach(1);
register_rewrite!(EXPR_SIBLINGS);

/// The most results of one pass: each one is another stream of stores.
const MOST: usize = 4;

/// The bytes of an element that are read from the last-level cache in the time of an addition.
const BYTES_A_CYCLE: usize = 4;

impl RootRewrite for ExprSiblings {
    type Match = Box<Together>;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let fits = |expr: &Arc<ArrayExpr>| expr.body.insts.len() <= LARGE && !expr.axes.is_empty();
        let fits = |inst: Inst| cx.func().inst(inst).attrs.expr().is_some_and(fits);
        if !fits(root) {
            return Err(NoMatch::quiet());
        }
        let node = |inst| if fits(inst) { FusedExpr::pointwise(cx, inst) } else { None };
        let may_fail = |node: &FusedExpr| !node.of.iter().all(|&inst| cannot_fail(cx.func(), inst));
        // Memoizes the answer for each instruction.
        let known: RefCell<SmallVec<[(Inst, bool); 8]>> = RefCell::default();
        let is_reduced = |inst: Inst| {
            let before = known.borrow().iter().find(|(of, _)| *of == inst).map(|(_, is)| *is);
            before.unwrap_or_else(|| {
                let is = takes_in(cx, inst);
                known.borrow_mut().push((inst, is));
                is
            })
        };
        let joins = |node: &FusedExpr, other: &FusedExpr| match may_fail(other) {
            true => Err(NoMatch::because(
                "it may fail, because extents may differ or by its computation: it does not move to another reader of the array",
            )),
            false => join(node, other).and_then(|()| leave_to_reductions(cx, node, other, &is_reduced)),
        };
        together(cx, root, node, joins)
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        put_together(*found, "results", rw)
    }
}

/// Whether two nodes can be fused: they share an array read element by element, all reads index the axes in
/// order, and a register holds equally many values of both.
fn join(node: &FusedExpr, other: &FusedExpr) -> Result<(), NoMatch> {
    let rank = node.expr.axes.len();
    let mut whole = node.arrays().filter(|(_, index)| index.len() == rank);
    let reason = match () {
        () if !whole.any(|place| other.arrays().any(|known| known == place)) => {
            return Err(NoMatch::quiet());
        }
        () if width(&node.expr) != width(&other.expr) => {
            "it and the other computation of the array have values of different widths, and a register holds fewer of the wider: each is a pass by itself"
        }
        () if !node.arrays().chain(other.arrays()).all(|(_, index)| is_in_order(index)) => {
            "an array is read across its rows, tile by tile: the other readers are passes of their own"
        }
        () if node.expr.outs.len() + other.expr.outs.len() > MOST => {
            "one pass gives as many results of the array as it can"
        }
        () => return Ok(()),
    };
    Err(NoMatch::because(reason))
}

/// Whether no reduction is fused with either node, or with only one of them and the fusion of the nodes
/// saves more.
fn leave_to_reductions(
    cx: &MatchCx<'_>,
    node: &FusedExpr,
    other: &FusedExpr,
    is_reduced: &dyn Fn(Inst) -> bool,
) -> Result<(), NoMatch> {
    let is_taken_in = |node: &FusedExpr| node.of.iter().all(|&inst| is_reduced(inst));
    let taken = match (is_taken_in(node), is_taken_in(other)) {
        (false, false) => return Ok(()),
        (true, true) => return Err(NoMatch::because("it and the other computation of the array are both reduced")),
        (true, false) => node,
        (false, true) => other,
    };
    // The results have to be written, which first reads their cache lines, and read again.
    let written: usize = taken.expr.outs.iter().map(|out| 3 * out.dtype.size()).sum();
    let both_read = node.arrays().filter(|place| other.arrays().any(|known| known == *place));
    let read: usize = both_read.map(|(array, _)| cx.func().ty(array).dtype().size()).sum();
    match written > read + BYTES_A_CYCLE * cycles_in_common(node, other) as usize {
        true => Err(NoMatch::because("it, or the other computation of the array, is reduced, and need not be written")),
        false => Ok(()),
    }
}

/// True if all positions are constants, or axes in increasing order.
fn is_in_order(index: &[Index]) -> bool {
    let forms =
        || index.iter().filter_map(|index| if let IndexExpr::Affine(form) = &index.expr { Some(form) } else { None });
    let is_plain = |form: &Affine| form.as_axis().is_some() || form.as_constant().is_some();
    forms().filter(|form| is_plain(form)).count() == index.len() && forms().filter_map(Affine::as_axis).is_sorted()
}
