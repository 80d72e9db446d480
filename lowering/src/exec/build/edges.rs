//! Terminators and edges: return values and block arguments move without a copy if no other value shares
//! their buffers.

use super::FuncPlanner;
use crate::exec::LowerError;
use crate::exec::plan::*;
use rewright_ir::ops::control;
use rewright_ir::{Block, Dim, InstData, Type, Value};

impl FuncPlanner<'_, '_> {
    pub(super) fn terminator(&mut self, block: Block, data: &InstData) -> Result<StepKind, LowerError> {
        // The values that are live here: those that cross blocks, and those whose last use is the
        // terminator.
        let mut alive = self.live.all_at_end(block);
        let kept = alive.clone();
        alive.extend(self.dying(block, data.uses()));
        let mut edges = Vec::new();
        for n in 0..data.targets.len() {
            edges.push(self.edge(data, n, &alive)?);
        }
        let op = data.op;
        let mut edges = edges.into_iter();
        let mut edge =
            || edges.next().ok_or_else(|| LowerError::Invalid { message: format!("`{op}` has too few targets") });
        Ok(if op == control::JUMP {
            StepKind::Jump(Box::new(edge()?))
        } else if op == control::BR_IF {
            StepKind::BrIf(Box::new([edge()?, edge()?]))
        } else if op == control::SWITCH {
            let cases: Box<[i64]> = data.attrs.ints("cases").unwrap_or(&[]).into();
            let edges = (0..=cases.len()).map(|_| edge()).collect::<Result<_, _>>()?;
            StepKind::Switch(cases, edges)
        } else if op == control::RET {
            let mut results = Vec::new();
            for (i, &value) in data.args.iter().enumerate() {
                let last = !data.args[i + 1..].contains(&value);
                let take = last && !kept.contains(&value) && self.func.as_const(value).is_none();
                let ty =
                    self.func.results.get(i).cloned().ok_or_else(|| self.refuse(data, "returns too many values"))?;
                results.push(Return { take, dims: self.dims(&ty) });
            }
            StepKind::Ret(results.into())
        } else if op == control::RAISE {
            let text = |name| data.attrs.str(name).unwrap_or_default().to_string();
            StepKind::Raise(Box::new((text("kind"), text("message"))))
        } else {
            return Err(self.refuse(data, "no plan can have this terminator"));
        })
    }

    /// The edge to the n-th target. `alive` are the values that are live at the end of the block.
    fn edge(&mut self, data: &InstData, n: usize, alive: &[Value]) -> Result<Edge, LowerError> {
        let func = self.func;
        let target = &data.targets[n];
        let to = self.live.numbers.get(&target.block).copied();
        let to = to.ok_or_else(|| self.refuse(data, "branches out of the function"))?;
        let params = func.block_params(target.block);
        if params.len() != target.args.len() {
            return Err(self.refuse(data, "gives another number of arguments than the block has parameters"));
        }
        let mut moves = Vec::new();
        let mut checks = Vec::new();
        let mut taken = Vec::new();
        for (i, (&arg, &param)) in target.args.iter().zip(params).enumerate() {
            let ends = alive.contains(&arg) && !self.live.at_begin(target.block, arg);
            // If a block branches to itself and passes a parameter to the same parameter, the value stays in
            // its slot.
            let stays = target.args.iter().zip(params).any(|(&a, &p)| a == arg && p == arg);
            let take = ends && !stays && func.ty(arg).is_array() && !target.args[i + 1..].contains(&arg);
            if take {
                taken.push(arg);
            }
            moves.push(Move { from: self.slot(arg), to: self.slot(param), take });
            if !implies(func.ty(arg), func.ty(param)) {
                checks.push(self.def(param));
            }
        }
        let ends = |v: &&Value| !self.live.at_begin(target.block, **v) && !taken.contains(*v);
        // If a block branches to itself, it may pass a new value to a dead parameter. That slot must not be
        // emptied.
        let free: Slots = alive
            .iter()
            .filter(ends)
            .filter(|&&v| func.ty(v).is_array())
            .map(|v| self.slots[v])
            .filter(|slot| moves.iter().all(|m| m.to != *slot))
            .collect();
        Ok(Edge { to, moves: self.in_sequence(moves), checks, free })
    }

    /// Turns parallel moves into sequential moves.
    fn in_sequence(&mut self, moves: Vec<Move>) -> Vec<Move> {
        let moves: Vec<Move> = moves.into_iter().filter(|m| m.from != m.to).collect();
        let clash = moves.iter().enumerate().any(|(i, m)| moves[i + 1..].iter().any(|later| later.from == m.to));
        if !clash {
            return moves;
        }
        let mut first = Vec::new();
        let mut second = Vec::new();
        for m in moves {
            let between = Slot(self.count);
            self.count += 1;
            first.push(Move { to: between, ..m });
            second.push(Move { from: between, to: m.to, take: true });
        }
        first.extend(second);
        first
    }
}

/// Whether every value of a type is one of another type, with the symbols of the same function.
fn implies(given: &Type, wanted: &Type) -> bool {
    given.dims().iter().zip(wanted.dims()).all(|(g, w)| *w == Dim::Any || g == w)
}
