//! What lowering refuses, and what a call of a kernel is bound to.

use super::single::elementwise;
use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyInst, BodyOp, BodyRef, Condition, Index, IndexExpr, Mode, Negative, Operand, Out,
    Source, SymExpr, Test, Write,
};
use rewright_ir::{ArrayExpr, Attrs, DType, Dim, Loc, Name, Scalar, Type, registry};

use rewright_lowering::internals::lower::{Lowered, Strided, lower};

fn matrix(dtype: DType) -> Type {
    Type::array(dtype, [Dim::Any, Dim::Any])
}

/// `[i, j] (x = %0[i, j], y = %1[j])  yield add x, y`.
fn sum_of_rows() -> (ArrayExpr, Vec<Type>) {
    let types = vec![matrix(DType::F64), Type::array(DType::F64, [Dim::Any])];
    (elementwise(registry().op("add").unwrap(), &Attrs::new(), &types, Loc::default()), types)
}

fn refusal(change: impl FnOnce(&mut ArrayExpr)) -> String {
    let (mut expr, types) = sum_of_rows();
    change(&mut expr);
    lower(&expr, &types).unwrap_err().reason
}

fn dense(shape: &[usize]) -> (Vec<usize>, Vec<isize>) {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as isize;
    }
    (shape.to_vec(), strides)
}

fn strided<'a>(array: &'a (Vec<usize>, Vec<isize>), unit: isize) -> Strided<'a> {
    Strided { shape: &array.0, strides: &array.1, unit }
}

/// The extents of a call with row-major operands and results of `f64`.
fn extents(lowered: &Lowered, shapes: &[&[usize]]) -> Option<Vec<u64>> {
    let none = |_| None;
    let arrays: Vec<_> = shapes.iter().map(|s| dense(s)).collect();
    let args: Vec<_> = arrays.iter().map(|a| strided(a, 8)).collect();
    let space = lowered.space(&args, &none)?;
    let shapes: Option<Vec<_>> = (0..lowered.results.len()).map(|r| lowered.result_shape(r, &space, &none)).collect();
    let results: Vec<_> = shapes?.iter().map(|s| dense(&s.shape)).collect();
    let results: Vec<_> = results.iter().map(|a| strided(a, 8)).collect();
    Some(lowered.bind(&space, &args, &results, &none)?.extents.to_vec())
}

#[test]
fn refusals_say_why() {
    let gather = IndexExpr::Gather { arg: 0, index: vec![], offset: Affine::default(), negative: Negative::FromEnd };
    assert!(refusal(|e| e.operands[0].index[0].expr = gather).contains("malformed"), "a position too few");
    assert!(refusal(|e| e.operands[0].index[0].mode = Mode::Clamp).contains("beyond the ends"));
    assert!(refusal(|e| e.guard.push(Condition { form: Affine::axis(0), test: Test::Zero })).contains("guard"));
    let quotient = Index { expr: IndexExpr::FloorDiv(Affine::axis(0), 2), mode: Mode::Check };
    let by_quotient = refusal(|e| {
        e.axes[0].hi = Some(SymExpr::constant(4));
        e.operands[0].index[0] = quotient;
    });
    assert!(by_quotient.contains("quotients"), "{by_quotient}");
    assert!(refusal(|e| e.outs[0].write = Write::Combine(rewright_ir::expr::Monoid::Sum)).contains("combines"));
    let reduces = refusal(|e| e.axes[1].kind = AxisKind::Reduce);
    assert!(reduces.contains("malformed"), "a reduce axis without a reduction: {reduces}");
}

#[test]
fn equal_reads_are_one_buffer() {
    let types = vec![Type::array(DType::F64, [Dim::Any])];
    let mut expr = elementwise(registry().op("square").unwrap(), &Attrs::new(), &types, Loc::default());
    let mut again = expr.operands[0].clone();
    again.name = Name::new("again");
    expr.operands.push(again);
    let mul = registry().op("mul").unwrap();
    expr.body.insts[0].op = BodyOp::Op(mul, Attrs::new());
    expr.body.insts[0].args.push(BodyRef::Operand(1));
    let lowered = lower(&expr, &types).unwrap();
    assert_eq!(lowered.kernel.buffers.len(), 2, "one operand and the result:\n{}", lowered.kernel);
}

#[test]
fn axes_that_go_on_evenly_are_one_loop() {
    let (expr, types) = sum_of_rows();
    let lowered = lower(&expr, &types).unwrap();
    assert_eq!(extents(&lowered, &[&[4, 5], &[5]]), Some(vec![4, 5]), "the row is read again for each");
    assert_eq!(extents(&lowered, &[&[4, 5], &[1]]), Some(vec![1, 20]), "one element is read again for all");
    assert_eq!(extents(&lowered, &[&[4, 1], &[1]]), Some(vec![1, 4]), "a column is as good as a row");
    let both = [matrix(DType::F64), matrix(DType::F64)];
    let add = elementwise(registry().op("add").unwrap(), &Attrs::new(), &both, Loc::default());
    let add = lower(&add, &both).unwrap();
    assert_eq!(extents(&add, &[&[4, 5], &[4, 5]]), Some(vec![1, 20]));
    assert_eq!(extents(&add, &[&[4, 5], &[4, 1]]), Some(vec![4, 5]));
    assert_eq!(extents(&add, &[&[0, 5], &[1, 5]]), Some(vec![0, 5]));
}

#[test]
fn what_does_not_fit_is_not_bound() {
    let (expr, types) = sum_of_rows();
    let lowered = lower(&expr, &types).unwrap();
    assert_eq!(extents(&lowered, &[&[4, 5], &[4]]), None, "shapes that don't broadcast");
    assert_eq!(extents(&lowered, &[&[4, 5]]), None, "an operand too few");
    assert_eq!(extents(&lowered, &[&[4], &[4]]), None, "another rank");
}

/// `[i: 0:hi] (x = %0[factor * i + offset])`, the result of `dims`.
fn affine(hi: i64, factor: i64, offset: i64, dims: Vec<Dim>, fill: Option<Scalar>) -> (ArrayExpr, Vec<Type>) {
    let mut form = Affine::default().add_axis(0, factor).unwrap();
    form.offset.constant = offset;
    let axis = Axis {
        name: Name::new("i"),
        lo: SymExpr::default(),
        hi: Some(SymExpr::constant(hi)),
        kind: AxisKind::Parallel,
    };
    let read = Index { expr: IndexExpr::Affine(form), mode: Mode::Proved };
    let operand = Operand { name: Name::new("x"), source: Source::Array(0), dtype: DType::F64, index: vec![read] };
    let neg = BodyInst {
        op: BodyOp::Op(registry().op("neg").unwrap(), Attrs::new()),
        args: [BodyRef::Operand(0)].into_iter().collect(),
        dtypes: [DType::F64].into_iter().collect(),
        loc: Loc::default(),
        applied: None,
    };
    let out =
        Out { dtype: DType::F64, dims, index: vec![IndexExpr::Affine(Affine::axis(0))], fill, write: Write::Unique };
    let expr = ArrayExpr {
        axes: vec![axis],
        guard: vec![],
        operands: vec![operand],
        body: Body { insts: vec![neg], yields: vec![BodyRef::Inst(0, 0)] },
        reductions: vec![],
        finish: None,
        outs: vec![out],
        locs: vec![],
    };
    (expr, vec![Type::array(DType::F64, [Dim::Any])])
}

#[test]
fn positions_are_checked_once_a_call() {
    let bind = |hi, factor, offset, n| {
        let (expr, types) = affine(hi, factor, offset, vec![Dim::Any], None);
        extents(&lower(&expr, &types).unwrap(), &[&[n]])
    };
    assert_eq!(bind(4, 2, 1, 8), Some(vec![4]));
    assert_eq!(bind(4, 2, 1, 7), None, "the last position is 7");
    assert_eq!(bind(4, -1, 3, 4), Some(vec![4]));
    assert_eq!(bind(4, -1, 2, 4), None, "the last position is -1");
    assert_eq!(bind(0, 1, 100, 4), Some(vec![0]), "no point reads anything");
    assert_eq!(bind(3, i64::MAX, 0, 4), None, "an overflow");
}

#[test]
fn results_that_are_written_in_part_are_filled() {
    let zero = Scalar::F64(0.0);
    let fill = |hi, dim, fill| {
        let (expr, types) = affine(hi, 1, 0, vec![Dim::Const(dim)], fill);
        let lowered = lower(&expr, &types).unwrap();
        let array = dense(&[10]);
        let space = lowered.space(&[strided(&array, 8)], &|_| None).unwrap();
        lowered.result_shape(0, &space, &|_| None).map(|s| s.fill)
    };
    assert_eq!(fill(4, 4, None), Some(None));
    assert_eq!(fill(4, 6, Some(zero)), Some(Some(zero)));
    assert_eq!(fill(4, 6, None), None, "two elements have no value");
    assert_eq!(fill(4, 3, Some(zero)), None, "a point is outside");
    assert_eq!(fill(0, 0, None), Some(None));
}
