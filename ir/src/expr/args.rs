//! The arguments of an instruction that its expression uses.

use super::{ArrayExpr, Body, BodyOp, Combine, IndexExpr, Init, Source};

impl ArrayExpr {
    /// Sorts the arguments in the order in which the expression's text names them, and removes unused ones,
    /// so that the text needs no list of them. `args` stands for the instruction's arguments.
    pub fn order_args<T: Copy>(&mut self, args: &mut Vec<T>) {
        let mut named: Vec<T> = Vec::new();
        let mut places: Vec<Option<u32>> = vec![None; args.len()];
        each_arg(self, &mut |arg| {
            let given = *arg as usize;
            *arg = *places[given].get_or_insert_with(|| {
                named.push(args[given]);
                named.len() as u32 - 1
            });
        });
        *args = named;
    }

    /// Names another argument in place of each: the one with the number that `other` returns.
    pub fn rename_args(&mut self, other: impl Fn(u32) -> u32) {
        each_arg(self, &mut |arg| *arg = other(*arg));
    }
}

/// Calls `f` with the number of each argument in use, in text order.
fn each_arg(expr: &mut ArrayExpr, f: &mut impl FnMut(&mut u32)) {
    for operand in &mut expr.operands {
        if let Source::Array(arg) | Source::Scalar(arg) = &mut operand.source {
            f(arg);
        }
        operand.index.iter_mut().for_each(|index| args_of_position(&mut index.expr, f));
    }
    args_of_body(&mut expr.body, f);
    for reduction in &mut expr.reductions {
        if let Combine::Region(body) = &mut reduction.combine {
            args_of_body(body, f);
        }
        if let Init::Existing(args) = &mut reduction.init {
            args.iter_mut().for_each(&mut *f);
        }
    }
    expr.finish.iter_mut().for_each(|body| args_of_body(body, f));
    expr.outs.iter_mut().flat_map(|out| &mut out.index).for_each(|position| args_of_position(position, f));
}

fn args_of_body(body: &mut Body, f: &mut impl FnMut(&mut u32)) {
    for inst in &mut body.insts {
        if let BodyOp::Nested(nested) = &mut inst.op {
            each_arg(nested, f);
        }
    }
}

/// Calls `f` with the number of each argument from which positions are read.
pub(super) fn args_of_position(position: &mut IndexExpr, f: &mut impl FnMut(&mut u32)) {
    if let IndexExpr::Gather { arg, index, .. } = position {
        f(arg);
        index.iter_mut().for_each(|index| args_of_position(index, f));
    }
}
