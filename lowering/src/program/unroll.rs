//! Unrolling: a loop of one iteration becomes its body, and a short innermost loop becomes its iterations.
//!
//! ```text
//! for i in 0..n:                 for i in 0..n:
//!   k = load p[i]                  k = load p[i]
//!   for c in 0..3:         ->      store y[i, 0], load x[k, 0]
//!     store y[i, c], load x[k, c]  store y[i, 1], load x[k, 1]
//!                                  store y[i, 2], load x[k, 2]
//! ```
//!
//! Loops of one iteration go first, as they hide the extents of the loops in them. Short loops go last, when
//! no kernel takes them.

use super::replay::{Replay, keep};
use super::{For, If, Program, ProgramBuilder, Stmt, count};

/// The most iterations of a short loop, and the most statements of all its iterations.
const SHORT: i64 = 8;
const MOST_STATEMENTS: usize = 64;
/// The most elements of a row that are copied one by one. Longer rows are copies of blocks.
const MOST_COPIED: i64 = 3;

impl Program {
    /// Puts the bodies of loops of one iteration in place of these, and removes loops of none.
    pub(super) fn without_single_iterations(&mut self) {
        self.unroll(1);
    }

    /// The program without short innermost loops.
    pub fn unrolled(mut self) -> Program {
        self.unroll(SHORT);
        self.hoist();
        self
    }

    fn unroll(&mut self, most: i64) {
        let mut b = ProgramBuilder::resume(self);
        let body = scope(&mut b, &self.body, most);
        if body[..] != self.body[..] {
            *self = b.finish_with(self, body);
            self.forward();
        }
    }
}

fn scope(b: &mut ProgramBuilder, stmts: &[Stmt], most: i64) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    let is_copy = |b: &ProgramBuilder, nest: &For| nest.copied_row(b.buffers()).is_some();
    for stmt in stmts {
        match stmt {
            Stmt::For(nest) => {
                let nest = For { body: scope(b, &nest.body, most), ..nest.clone() };
                let is_unrolled =
                    |n: &i64| *n <= 1 || *n <= most && is_short(&nest, *n) && (*n <= MOST_COPIED || !is_copy(b, &nest));
                match iterations(&nest).filter(is_unrolled) {
                    Some(all) => {
                        for n in 0..all {
                            let mut replay = Replay::new([(nest.index, nest.lo.clone().plus(n))].into_iter());
                            out.extend(b.scope(|b| replay.scope(b, &nest.body, &mut keep)).0);
                        }
                    }
                    None => out.push(Stmt::For(nest)),
                }
            }
            Stmt::If(If { condition, then, otherwise }) => {
                let (then, otherwise) = (scope(b, then, most), scope(b, otherwise, most));
                out.push(Stmt::If(If { condition: condition.clone(), then, otherwise }));
            }
            other => out.push(other.clone()),
        }
    }
    out
}

/// The number of iterations of a loop, if it is known.
fn iterations(nest: &For) -> Option<i64> {
    let extents = nest.hi.iter().map(|hi| hi.clone().minus(&nest.lo).as_constant());
    extents.collect::<Option<Vec<i64>>>()?.into_iter().min()
}

/// True if a loop has few statements, all straight-line code.
fn is_short(nest: &For, iterations: i64) -> bool {
    let is_straight = |stmt: &Stmt| match stmt {
        Stmt::Inst(_) | Stmt::Load(..) | Stmt::Store(..) => true,
        Stmt::If(branch) => branch.is_test(),
        _ => false,
    };
    nest.body.iter().all(is_straight) && count(&nest.body) * iterations as usize <= MOST_STATEMENTS
}
