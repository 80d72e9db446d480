//! Edits of array expressions.

use rewright::ArrayExpr;
use rewright::expr::{Body, BodyInst, BodyOp, BodyRef, IndexExpr, Init, Source};

/// False if an expression refers to arguments or operands in places that these edits do not renumber.
pub fn is_plain(expr: &ArrayExpr) -> bool {
    let gathers = |index: &IndexExpr| matches!(index, IndexExpr::Gather { .. });
    let reads = expr.operands.iter().flat_map(|o| &o.index).map(|index| &index.expr);
    let writes = expr.outs.iter().flat_map(|out| &out.index);
    let nested = expr.body.insts.iter().any(|inst| matches!(inst.op, BodyOp::Nested(_)));
    let existing = expr.reductions.iter().any(|r| matches!(r.init, Init::Existing(_)));
    !nested && !existing && !reads.chain(writes).any(gathers)
}

/// True if the finisher reads an operand.
pub fn in_finisher(expr: &ArrayExpr, operand: usize) -> bool {
    let is_it = |r: &BodyRef| *r == BodyRef::Operand(operand as u32);
    expr.finish.as_ref().is_some_and(|f| f.yields.iter().any(is_it) || f.insts.iter().any(|i| i.args.iter().any(is_it)))
}

/// Prepends a computation to the body, and replaces an operand by its value. Body instructions that equal
/// an instruction of the computation are merged with it.
pub fn put(expr: &mut ArrayExpr, first: Body, operand: usize, element: BodyRef) {
    let mut insts = first.insts;
    let count = insts.len();
    // The new number of each old instruction.
    let mut places: Vec<u32> = Vec::with_capacity(expr.body.insts.len());
    let moved = |places: &[u32], r: &mut BodyRef| match r {
        BodyRef::Inst(n, _) => *n = places[*n as usize],
        BodyRef::Operand(n) if *n as usize == operand => *r = element,
        _ => {}
    };
    for mut inst in std::mem::take(&mut expr.body.insts) {
        inst.args.iter_mut().for_each(|r| moved(&places, r));
        let same = |known: &BodyInst| (&known.op, &known.args, &known.dtypes) == (&inst.op, &inst.args, &inst.dtypes);
        places.push(match insts[..count].iter().position(same) {
            Some(known) => known as u32,
            None => {
                insts.push(inst);
                insts.len() as u32 - 1
            }
        });
    }
    expr.body.yields.iter_mut().for_each(|r| moved(&places, r));
    expr.body.insts = insts;
}

/// Removes an unused operand, and its argument if nothing else reads that.
pub fn drop_operand<T>(expr: &mut ArrayExpr, args: &mut Vec<T>, operand: usize) {
    let gone = expr.operands.remove(operand);
    let moved = |r: &mut BodyRef| match r {
        BodyRef::Operand(n) if *n as usize > operand => *n -= 1,
        _ => {}
    };
    for body in [Some(&mut expr.body), expr.finish.as_mut()].into_iter().flatten() {
        body.insts.iter_mut().flat_map(|inst| inst.args.iter_mut()).for_each(moved);
        body.yields.iter_mut().for_each(moved);
    }
    let arg_of = |source: &Source| match source {
        Source::Array(arg) | Source::Scalar(arg) => Some(*arg),
        Source::Capture(_) => None,
    };
    let Some(arg) = arg_of(&gone.source).filter(|arg| expr.operands.iter().all(|o| arg_of(&o.source) != Some(*arg)))
    else {
        return;
    };
    args.remove(arg as usize);
    for operand in &mut expr.operands {
        if let Source::Array(n) | Source::Scalar(n) = &mut operand.source
            && *n > arg
        {
            *n -= 1;
        }
    }
}
