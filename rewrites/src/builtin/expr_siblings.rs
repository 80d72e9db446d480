//! `expr-siblings`: what is computed of one array, element by element, becomes one pass over it.

use super::cannot_fail::cannot_fail;
use super::node::{LARGE, Node};
use super::reduce_fusion::takes_in;
use super::reduce_siblings::width;
use super::siblings::{Together, put_together, together};
use super::work::cycles_in_common;
use crate::prelude::*;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::{Affine, Index, IndexExpr};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

/// Makes one `arrayexpr` with several results of expressions that go along the same axes and read the same array at the same places: the sine and
/// the cosine of an array are one pass over it, in which the argument is reduced once.
///
/// The node stands where the first of them stood. What the others read is there, they can't fail, nothing stores to what they read or ends it, and
/// not very much is between. These stay by themselves:
///
/// - expressions whose widest values have other widths: a register has room for fewer of the wider ones;
/// - expressions that read an array along its axes in another order, which are computed tile by tile;
/// - expressions that share only what is the same along an axis, as a row of numbers: reading it twice costs nothing;
/// - expressions all of which reductions take in (`reduce-fusion`): `reduce-siblings` may make one pass of these;
/// - expressions of which reductions take in one, whose results need no memory then: unless what both read and compute alike is more.
///
/// It is exact: each computes what it did.
pub struct ExprSiblings;

static EXPR_SIBLINGS: RewriteDef =
    RewriteDef::root("expr-siblings", "what is computed of one array is one pass over it", &ExprSiblings)
        .roots(&["arrayexpr"])
        .stage(Stage::BeforeLowering)
        .after(&["array-expr", "reduce-fusion", "reduce-finish", "scalar-finish", "reduce-siblings"])
        .reach(1);
register_rewrite!(EXPR_SIBLINGS);

/// The most results of one pass: each is one more place in memory to write to.
const MOST: usize = 4;

/// The bytes of an element that are read in the time of an addition, where arrays lie in the last-level cache.
const BYTES_A_CYCLE: usize = 4;

impl RootRewrite for ExprSiblings {
    type Match = Box<Together>;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let fits = |expr: &Arc<ArrayExpr>| expr.body.insts.len() <= LARGE && !expr.axes.is_empty();
        let fits = |inst: Inst| cx.func().inst(inst).attrs.expr().is_some_and(fits);
        if !fits(root) {
            return Err(NoMatch::quiet());
        }
        let node = |inst| if fits(inst) { Node::pointwise(cx, inst) } else { None };
        let may_fail = |node: &Node| !node.of.iter().all(|&inst| cannot_fail(cx.func(), inst));
        // What is asked of each pair is found out once.
        let known: RefCell<SmallVec<[(Inst, bool); 8]>> = RefCell::default();
        let is_reduced = |inst: Inst| {
            let before = known.borrow().iter().find(|(of, _)| *of == inst).map(|(_, is)| *is);
            before.unwrap_or_else(|| {
                let is = takes_in(cx, inst);
                known.borrow_mut().push((inst, is));
                is
            })
        };
        let joins = |node: &Node, other: &Node| match may_fail(other) {
            true => Err(NoMatch::because(
                "it may fail, as extents may differ or by what is computed: it does not move to what reads the same array",
            )),
            false => join(node, other).and_then(|()| leave_to_reductions(cx, node, other, &is_reduced)),
        };
        together(cx, root, node, joins)
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        put_together(*found, "results", rw)
    }
}

/// Whether both read an array element by element, all that they read goes along the axes in order, and a register has room for as many values of both.
fn join(node: &Node, other: &Node) -> Result<(), NoMatch> {
    let rank = node.expr.axes.len();
    let mut whole = node.arrays().filter(|(_, index)| index.len() == rank);
    let reason = match () {
        () if !whole.any(|place| other.arrays().any(|known| known == place)) => {
            return Err(NoMatch::quiet());
        }
        () if width(&node.expr) != width(&other.expr) => {
            "it and what else is computed of the array have values of different widths, and a register holds fewer of the wider: each is a pass by itself"
        }
        () if !node.arrays().chain(other.arrays()).all(|(_, index)| is_in_order(index)) => {
            "an array is read across its rows, tile by tile: what else reads the others is a pass by itself"
        }
        () if node.expr.outs.len() + other.expr.outs.len() > MOST => {
            "one pass gives as many results of the array as it can"
        }
        () => return Ok(()),
    };
    Err(NoMatch::because(reason))
}

/// Whether reductions take in neither, or only one of both and what these have in common saves more than that.
fn leave_to_reductions(
    cx: &MatchCx<'_>,
    node: &Node,
    other: &Node,
    is_reduced: &dyn Fn(Inst) -> bool,
) -> Result<(), NoMatch> {
    let is_taken_in = |node: &Node| node.of.iter().all(|&inst| is_reduced(inst));
    let taken = match (is_taken_in(node), is_taken_in(other)) {
        (false, false) => return Ok(()),
        (true, true) => return Err(NoMatch::because("it and what else is computed of the array are what is reduced")),
        (true, false) => node,
        (false, true) => other,
    };
    // Its results are written, for which their lines are read first, and read again.
    let written: usize = taken.expr.outs.iter().map(|out| 3 * out.dtype.size()).sum();
    let both_read = node.arrays().filter(|place| other.arrays().any(|known| known == *place));
    let read: usize = both_read.map(|(array, _)| cx.func().ty(array).dtype().size()).sum();
    match written > read + BYTES_A_CYCLE * cycles_in_common(node, other) as usize {
        true => Err(NoMatch::because("it, or what else is computed of the array, is reduced, and need not be written")),
        false => Ok(()),
    }
}

/// True if positions are axes, in order, and constants.
fn is_in_order(index: &[Index]) -> bool {
    let forms =
        || index.iter().filter_map(|index| if let IndexExpr::Affine(form) = &index.expr { Some(form) } else { None });
    let is_plain = |form: &Affine| form.as_axis().is_some() || form.as_constant().is_some();
    forms().filter(|form| is_plain(form)).count() == index.len() && forms().filter_map(Affine::as_axis).is_sorted()
}
