//! Dead code elimination in a body.

use super::args::args_of_position;
use super::{Axis, Body, BodyRef, Index, IndexExpr, Operand, Source};

/// Removes body instructions that no result depends on, operands that no instruction reads, and arguments
/// that neither operands nor positions read. Operands that determine an axis's extent stay.
///
/// `args` stands for the instruction's arguments. Only for expressions without guard and `finish` body whose
/// write positions read no arrays.
pub fn prune<T>(body: &mut Body, axes: &[Axis], operands: &mut Vec<Operand>, args: &mut Vec<T>) {
    let mut insts = vec![false; body.insts.len()];
    let sets_extent = |index: &Index| match &index.expr {
        IndexExpr::Affine(form) => form.as_axis().is_some_and(|axis| axes[axis as usize].hi.is_none()),
        _ => false,
    };
    let mut read: Vec<bool> = operands.iter().map(|operand| operand.index.iter().any(sets_extent)).collect();
    let mut mark = |insts: &mut Vec<bool>, r: &BodyRef| match *r {
        BodyRef::Inst(n, _) => insts[n as usize] = true,
        BodyRef::Operand(n) => read[n as usize] = true,
        _ => {}
    };
    body.yields.iter().for_each(|r| mark(&mut insts, r));
    for at in (0..body.insts.len()).rev() {
        if insts[at] {
            body.insts[at].args.iter().for_each(|r| mark(&mut insts, r));
        }
    }
    let used = |operand: &Operand| match operand.source {
        Source::Array(arg) | Source::Scalar(arg) => Some(arg as usize),
        _ => None,
    };
    let mut given = vec![false; args.len()];
    for (operand, _) in operands.iter_mut().zip(&read).filter(|(_, read)| **read) {
        used(operand).into_iter().for_each(|arg| given[arg] = true);
        operand
            .index
            .iter_mut()
            .for_each(|index| args_of_position(&mut index.expr, &mut |arg| given[*arg as usize] = true));
    }

    let (inst_at, operand_at, arg_at) = (places(&insts), places(&read), places(&given));
    let moved = |r: &mut BodyRef| match r {
        BodyRef::Inst(n, _) => *n = inst_at[*n as usize],
        BodyRef::Operand(n) => *n = operand_at[*n as usize],
        _ => {}
    };
    retain(&mut body.insts, &insts);
    retain(operands, &read);
    retain(args, &given);
    body.insts.iter_mut().flat_map(|inst| inst.args.iter_mut()).for_each(moved);
    body.yields.iter_mut().for_each(moved);
    for operand in operands {
        if let Source::Array(arg) | Source::Scalar(arg) = &mut operand.source {
            *arg = arg_at[*arg as usize];
        }
        operand
            .index
            .iter_mut()
            .for_each(|index| args_of_position(&mut index.expr, &mut |arg| *arg = arg_at[*arg as usize]));
    }
}

/// The new index of each kept item.
fn places(kept: &[bool]) -> Vec<u32> {
    let before = |count: &mut u32, &kept: &bool| {
        let place = *count;
        *count += u32::from(kept);
        Some(place)
    };
    kept.iter().scan(0, before).collect()
}

fn retain<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    list.retain(|_| kept.next().is_some_and(|&k| k));
}
