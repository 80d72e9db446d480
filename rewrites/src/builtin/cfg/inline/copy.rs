//! Copies the body of a function to a call of it.

use super::symbols::{Symbols, bound};
use crate::prelude::*;
use rewright_ir::analysis::Dominators;
use rewright_ir::{Attr, Dim, InstData, Name, Target};
use rustc_hash::FxHashMap;

/// Maps the callee's values and blocks to those of the caller.
struct Copy<'c> {
    callee: &'c Function,
    symbols: &'c Symbols,
    values: FxHashMap<Value, Value>,
    blocks: FxHashMap<Block, Block>,
}

/// Replaces a call by the body of its callee.
pub(super) fn copy(rw: &mut Rewriter<'_>, call: Inst, callee: Name, symbols: &Symbols) -> Result<(), RewriteError> {
    let Some(callee) = rw.module().get(callee) else {
        return Err(RewriteError::new(format!("there is no function `@{callee}`")));
    };
    let args = rw.func().inst(call).args.clone();
    let values = callee.params().iter().copied().zip(args).collect();
    let mut copy = Copy { callee, symbols, values, blocks: FxHashMap::default() };
    let dominators = Dominators::of(callee);
    match dominators.reverse_postorder() {
        [entry] => copy.straight(rw, call, *entry),
        blocks @ [_, ..] => copy.branching(rw, call, blocks),
        [] => Err(RewriteError::new(format!("`@{}` has no blocks", callee.name))),
    }
}

impl Copy<'_> {
    /// Inlines a function of one block: copies its instructions, and replaces the call by the values that it
    /// returns.
    fn straight(&mut self, rw: &mut Rewriter<'_>, call: Inst, entry: Block) -> Result<(), RewriteError> {
        let end = self.insts(rw, entry, Point::Before(call))?;
        let results = self.all(rw, &end.args)?;
        rw.replace(call, &results)
    }

    /// Inlines a function with branches: the instructions after the call move to a block of their own, whose
    /// parameters are the call's results.
    fn branching(&mut self, rw: &mut Rewriter<'_>, call: Inst, blocks: &[Block]) -> Result<(), RewriteError> {
        let home = rw.func().block_of(call).ok_or_else(|| RewriteError::new("the call is gone"))?;
        let after = split_after(rw, call)?;
        for &block in blocks {
            let made = rw.create_block(self.callee.block_name(block));
            self.blocks.insert(block, made);
            let params = if block == blocks[0] { &[] } else { self.callee.block_params(block) };
            for &param in params {
                let value = rw.add_block_param(made, bound(self.callee.ty(param), self.symbols))?;
                self.values.insert(param, value);
            }
        }
        let results = rw.func().block_params(after).to_vec();
        rw.replace(call, &results)?;
        let entry = Target { block: self.blocks[&blocks[0]], args: Default::default() };
        rw.set_terminator(home, "jump", [] as [Value; 0], Attrs::new(), [entry])?;
        for block in blocks {
            let made = self.blocks[block];
            let end = self.insts(rw, *block, Point::End(made))?;
            self.end(rw, made, &end, after)?;
        }
        Ok(())
    }

    /// Copies the instructions of a block except for the terminator, which it returns.
    fn insts(&mut self, rw: &mut Rewriter<'_>, block: Block, point: Point) -> Result<InstData, RewriteError> {
        for inst in self.callee.insts(block) {
            let data = self.callee.inst(inst);
            if data.op.is_terminator() {
                return Ok(data.clone());
            }
            let args = self.all(rw, &data.args)?;
            let attrs = self.attrs(data)?;
            rw.set_point(point);
            rw.set_loc(data.loc);
            let made = rw.insert(data.op, args, attrs)?;
            let made = rw.func().inst(made).results.clone();
            self.values.extend(data.results.iter().copied().zip(made));
        }
        Err(RewriteError::new(format!("a block of `@{}` has no terminator", self.callee.name)))
    }

    /// Ends a block as the callee does; the returned values go to the block after the call.
    fn end(&self, rw: &mut Rewriter<'_>, block: Block, end: &InstData, after: Block) -> Result<(), RewriteError> {
        let args = self.all(rw, &end.args)?;
        rw.set_loc(end.loc);
        if end.op.name == "ret" {
            let target = Target { block: after, args: args.into_iter().collect() };
            rw.set_terminator(block, "jump", [] as [Value; 0], Attrs::new(), [target])?;
            return Ok(());
        }
        let mut targets = Vec::new();
        for target in &end.targets {
            let args = self.all(rw, &target.args)?;
            targets.push(Target { block: self.blocks[&target.block], args: args.into_iter().collect() });
        }
        rw.set_terminator(block, end.op.name, args, self.attrs(end)?, targets)?;
        Ok(())
    }

    /// The caller's values for values of the callee.
    fn all(&self, rw: &mut Rewriter<'_>, values: &[Value]) -> Result<Vec<Value>, RewriteError> {
        let one = |&value: &Value| match self.callee.as_const(value) {
            Some(scalar) => Ok(rw.constant(scalar)),
            None => self
                .values
                .get(&value)
                .copied()
                .ok_or_else(|| RewriteError::new("a value is used before it is defined")),
        };
        values.iter().map(one).collect()
    }

    /// The attributes, with the caller's extents for the callee's symbols.
    fn attrs(&self, data: &InstData) -> Result<Attrs, RewriteError> {
        let dim = |name: Name| self.symbols.get(&name).copied();
        let mut attrs = Attrs::new();
        for (name, attr) in data.attrs.iter() {
            let attr = match attr {
                Attr::Dims(dims) => {
                    let own = |d: &Dim| if let Dim::Sym(name) = d { dim(*name) } else { Some(*d) };
                    dims.iter().map(own).collect::<Option<Vec<Dim>>>().map(|dims| Attr::Dims(dims.into()))
                }
                Attr::Expr(expr) => expr.with_symbols(&dim).map(|expr| Attr::Expr(expr.into())),
                other => Some(other.clone()),
            };
            let attr =
                attr.ok_or_else(|| RewriteError::new("a symbol is bound by no parameter, or an extent too large"))?;
            attrs.set(name, attr);
        }
        Ok(attrs)
    }
}

/// Moves the instructions after the call to a new block with a parameter for each of its results. The call's
/// own block keeps its old terminator until it gets another one.
fn split_after(rw: &mut Rewriter<'_>, call: Inst) -> Result<Block, RewriteError> {
    let func = rw.func();
    let rest: Vec<Inst> = std::iter::successors(func.next_inst(call), |&i| func.next_inst(i)).collect();
    let Some((&end, rest)) = rest.split_last() else { return Err(RewriteError::new("a call ends its block")) };
    let end = func.inst(end).clone();
    let types: Vec<_> = func.inst(call).results.iter().map(|&result| func.ty(result).clone()).collect();
    let name = func.inst(call).attrs.func("callee").map(|callee| Name::new(&format!("{callee}_end")));
    let after = rw.create_block(name);
    for ty in types {
        rw.add_block_param(after, ty)?;
    }
    rw.set_loc(end.loc);
    let end = rw.set_terminator(after, end.op.name, end.args, end.attrs, end.targets)?;
    rest.iter().try_for_each(|&inst| rw.move_before(inst, end))?;
    Ok(after)
}
