//! Expansion of reductions: each [`Reduce`] becomes the loops that its order says.

use super::{For, If, Program, ProgramBuilder, Stmt};

impl Program {
    /// The program with loops in place of reductions.
    pub fn expanded(&self) -> Program {
        let mut b = ProgramBuilder::resume(self);
        let body = scope(&mut b, &self.body);
        let mut program = b.finish_with(self, body);
        program.hoist();
        program
    }
}

fn scope(b: &mut ProgramBuilder, stmts: &[Stmt]) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        match stmt {
            Stmt::For(nest) => out.push(Stmt::For(For { body: scope(b, &nest.body), ..nest.clone() })),
            Stmt::If(If { condition, then, otherwise }) => {
                let (condition, then, otherwise) = (condition.clone(), scope(b, then), scope(b, otherwise));
                out.push(Stmt::If(If { condition, then, otherwise }));
            }
            Stmt::Reduce(reduce) => {
                let mut reduce = (**reduce).clone();
                reduce.body = scope(b, &reduce.body);
                reduce.accumulators.iter_mut().for_each(|(own, _)| own.body = scope(b, &own.body));
                out.extend(b.scope(|b| b.row(&reduce)).0);
            }
            other => out.push(other.clone()),
        }
    }
    out
}
