//! The semantics of `arrayexpr`, part by part, and its verifier.

use rewright_ir::expr::*;
use rewright_ir::*;
use std::sync::Arc;

// --- Building -----------------------------------------------------------------------------------

fn sym(name: &str) -> SymExpr {
    SymExpr::symbol(name.into())
}
fn num(n: i64) -> SymExpr {
    SymExpr::constant(n)
}
fn axis(name: &str, hi: SymExpr, kind: AxisKind) -> Axis {
    Axis { name: name.into(), lo: num(0), hi: Some(hi), kind }
}
fn along(name: &str, hi: SymExpr) -> Axis {
    axis(name, hi, AxisKind::Parallel)
}
fn reduce(name: &str, hi: SymExpr) -> Axis {
    axis(name, hi, AxisKind::Reduce)
}
/// `coefficient * axis + constant`.
fn form(axis: u32, coefficient: i64, constant: i64) -> Affine {
    Affine::constant(constant).add_axis(axis, coefficient).unwrap()
}
fn at(axis: u32) -> IndexExpr {
    IndexExpr::Affine(Affine::axis(axis))
}
fn index(expr: IndexExpr, mode: Mode) -> Index {
    Index { expr, mode }
}
fn operand(name: &str, source: Source, dtype: DType, index: Vec<Index>) -> Operand {
    Operand { name: name.into(), source, dtype, index }
}
/// Reads an f64 array with proved positions.
fn read(name: &str, arg: u32, axes: &[u32]) -> Operand {
    let index = axes.iter().map(|&a| index(at(a), Mode::Proved)).collect();
    operand(name, Source::Array(arg), DType::F64, index)
}
fn inst(op: &str, args: &[BodyRef], dtype: DType) -> BodyInst {
    let op = BodyOp::Op(registry().op(op).unwrap(), Attrs::new());
    BodyInst {
        op,
        args: args.iter().copied().collect(),
        dtypes: [dtype].into_iter().collect(),
        loc: Loc::default(),
        applied: None,
    }
}
fn body(insts: Vec<BodyInst>, yields: Vec<BodyRef>) -> Body {
    Body { insts, yields }
}
fn out(dims: &[Dim], index: Vec<IndexExpr>) -> Out {
    Out { dtype: DType::F64, dims: dims.to_vec(), index, fill: None, write: Write::Unique }
}
fn fold(monoid: Monoid, accumulators: &[DType]) -> Reduction {
    Reduction {
        combine: Combine::Builtin(monoid),
        accumulators: accumulators.to_vec(),
        identity: None,
        init: Init::Identity,
        associative: true,
        commutative: true,
        idempotent: false,
        loc: Loc::default(),
    }
}
const F: DType = DType::F64;
const X: BodyRef = BodyRef::Operand(0);
const Y: BodyRef = BodyRef::Operand(1);
fn c(x: f64) -> BodyRef {
    BodyRef::Const(Scalar::F64(x))
}

/// Copies one operand: `[i: n] (x) { yield x } : f64[n]`.
fn copy(n: i64, x: Operand) -> ArrayExpr {
    ArrayExpr {
        axes: vec![along("i", num(n))],
        guard: vec![],
        operands: vec![x],
        body: body(vec![], vec![X]),
        reductions: vec![],
        finish: None,
        outs: vec![out(&[Dim::Const(n as u64)], vec![at(0)])],
        locs: vec![],
    }
}

/// Sums one operand over a reduce axis: `[k: reduce n] (x) { yield x } reduce (sum) : f64[]`.
fn sum(n: SymExpr, x: Operand) -> ArrayExpr {
    ArrayExpr {
        axes: vec![reduce("k", n)],
        reductions: vec![fold(Monoid::Sum, &[F])],
        outs: vec![out(&[], vec![])],
        ..copy(1, x)
    }
}

// --- Running ------------------------------------------------------------------------------------

fn f64s(shape: &[usize], elements: &[f64]) -> Datum {
    Datum::Array(Array::from_fn(F, shape, |i| Scalar::F64(elements[i])).unwrap())
}
fn vector(elements: &[f64]) -> Datum {
    f64s(&[elements.len()], elements)
}
fn ints(elements: &[i64]) -> Datum {
    Datum::Array(Array::from_fn(DType::I64, &[elements.len()], |i| Scalar::I64(elements[i])).unwrap())
}
fn run_limited(expr: ArrayExpr, args: &[Datum], limits: Limits) -> Result<Vec<Datum>, EvalError> {
    let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
    evaluate_op(registry().op("arrayexpr").unwrap(), &attrs, args, &[], limits)
}
fn run(expr: ArrayExpr, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    run_limited(expr, args, Limits::default())
}
#[track_caller]
fn gives(expr: ArrayExpr, args: &[Datum], expected: &[f64]) {
    let results = run(expr, args).unwrap();
    let found: Vec<f64> = results[0].as_array().unwrap().iter().map(|s| s.to_f64()).collect();
    assert_eq!(found, expected);
}
#[track_caller]
fn fails(expr: ArrayExpr, args: &[Datum], words: &str) {
    let error = run(expr, args).unwrap_err();
    assert!(error.message.contains(words), "{error}");
}

// --- Axes and maps ------------------------------------------------------------------------------

/// `[i: ?, j: ?] (x = %0[i, j], y = %1[j], c = %2) { (x + y) * c } : f64[?, ?]`, all broadcast.
fn broadcasting() -> ArrayExpr {
    let b = |a| index(at(a), Mode::Broadcast);
    let any = |name: &str| Axis { hi: None, ..along(name, num(0)) };
    ArrayExpr {
        axes: vec![any("i"), any("j")],
        operands: vec![
            operand("x", Source::Array(0), F, vec![b(0), b(1)]),
            operand("y", Source::Array(1), F, vec![b(1)]),
            operand("c", Source::Scalar(2), F, vec![]),
        ],
        body: body(
            vec![inst("add", &[X, Y], F), inst("mul", &[BodyRef::Inst(0, 0), BodyRef::Operand(2)], F)],
            vec![BodyRef::Inst(1, 0)],
        ),
        outs: vec![out(&[Dim::Any, Dim::Any], vec![at(0), at(1)])],
        ..copy(1, read("x", 0, &[0]))
    }
}

#[test]
fn extents_are_inferred_by_broadcasting() {
    let two = Datum::Scalar(Scalar::F64(2.0));
    gives(broadcasting(), &[f64s(&[2, 1], &[1., 2.]), vector(&[10., 20.]), two.clone()], &[22., 42., 24., 44.]);
    gives(broadcasting(), &[f64s(&[2, 1], &[1., 2.]), vector(&[10.]), two.clone()], &[22., 24.]);
    gives(broadcasting(), &[f64s(&[0, 1], &[]), vector(&[10., 11.]), two.clone()], &[]);
    let results = run(broadcasting(), &[f64s(&[0, 1], &[]), vector(&[10., 11.]), two.clone()]).unwrap();
    assert_eq!(results[0].shape(), [0, 2]);
    fails(
        broadcasting(),
        &[f64s(&[1, 3], &[0.; 3]), vector(&[10., 11.]), two],
        "along axis 1 `x` has extent 3 and `y` has 2",
    );
}

#[test]
fn proved_and_broadcast_positions_are_checked_once() {
    fails(copy(3, read("x", 0, &[0])), &[vector(&[1., 2.])], "has extent 2 along axis 0, and is read at 0..3");
    gives(copy(2, read("x", 0, &[0])), &[vector(&[1., 2., 3.])], &[1., 2.]);
    let stretched = operand("x", Source::Array(0), F, vec![index(at(0), Mode::Broadcast)]);
    gives(copy(2, stretched.clone()), &[vector(&[1.])], &[1., 1.]);
    fails(copy(2, stretched), &[vector(&[1., 2., 3.])], "has extent 3");
}

#[test]
fn modes_define_reads_out_of_bounds() {
    let shifted =
        |mode| copy(5, operand("x", Source::Array(0), F, vec![index(IndexExpr::Affine(form(0, 1, -1)), mode)]));
    let x = [vector(&[1., 2., 3.])];
    gives(shifted(Mode::Clamp), &x, &[1., 1., 2., 3., 3.]);
    gives(shifted(Mode::Wrap), &x, &[3., 1., 2., 3., 1.]);
    gives(shifted(Mode::Pad(Scalar::F64(9.0))), &x, &[9., 1., 2., 3., 9.]);
    fails(shifted(Mode::Check), &x, "operand `x` is read at position -1 along axis 0, which has extent 3");
    fails(shifted(Mode::Proved), &x, "position -1");
    fails(shifted(Mode::Wrap), &[vector(&[])], "extent 0");
    fails(shifted(Mode::Clamp), &[vector(&[])], "extent 0");
    gives(shifted(Mode::Pad(Scalar::F64(9.0))), &[vector(&[])], &[9.; 5]);
}

#[test]
fn quotients_and_remainders_round_down() {
    let read = |expr| operand("x", Source::Array(0), F, vec![index(expr, Mode::Check)]);
    gives(copy(5, read(IndexExpr::FloorDiv(form(0, 1, 1), 2))), &[vector(&[1., 2., 3., 4.])], &[1., 2., 2., 3., 3.]);
    gives(copy(5, read(IndexExpr::Mod(form(0, 1, -2), 3))), &[vector(&[1., 2., 3.])], &[2., 3., 1., 2., 3.]);
}

#[test]
fn gathers_count_from_the_end_and_are_checked() {
    let gather = |mode, offset| {
        let expr = IndexExpr::Gather {
            arg: 1,
            index: vec![at(0)],
            offset: Affine::constant(offset),
            negative: Negative::FromEnd,
        };
        copy(3, operand("x", Source::Array(0), F, vec![index(expr, mode)]))
    };
    let x = vector(&[1., 2., 3., 4.]);
    gives(gather(Mode::Check, 0), &[x.clone(), ints(&[3, -4, 1])], &[4., 1., 2.]);
    gives(gather(Mode::Clamp, 1), &[x.clone(), ints(&[3, -4, 1])], &[4., 2., 3.]);
    fails(gather(Mode::Check, 0), &[x.clone(), ints(&[3, -5, 1])], "position -1 along axis 0");
    fails(gather(Mode::Check, 0), &[x.clone(), ints(&[3, 4, 1])], "position 4");
    fails(gather(Mode::Check, 0), &[x, ints(&[3, 0])], "an array of positions is read at position 2 along axis 0");
}

#[test]
fn axes_start_anywhere_and_are_values_in_the_body() {
    let mut expr = copy(3, read("x", 0, &[0]));
    expr.axes[0] = Axis { lo: num(-1), hi: Some(num(2)), ..along("i", num(0)) };
    expr.operands.clear();
    expr.body = body(vec![], vec![BodyRef::Axis(0)]);
    expr.outs = vec![out(&[Dim::Const(3)], vec![IndexExpr::Affine(form(0, 1, 1))])];
    gives(expr, &[], &[-1., 0., 1.]);
}

// --- Guards and writes --------------------------------------------------------------------------

#[test]
fn guards_skip_points() {
    let even = Condition { form: form(0, 1, 0), test: Test::DivisibleBy(2) };
    let upto2 = Condition { form: form(0, 1, -2), test: Test::NotPositive };
    let mut expr = copy(4, read("x", 0, &[0]));
    expr.guard = vec![even.clone(), upto2];
    fails(expr.clone(), &[vector(&[1., 2., 3., 4.])], "no point writes element 1 of result 0");
    expr.outs[0].fill = Some(Scalar::F64(-1.0));
    gives(expr.clone(), &[vector(&[1., 2., 3., 4.])], &[1., -1., 3., -1.]);
    expr.guard = vec![Condition { form: form(0, 1, -3), test: Test::Zero }];
    gives(expr, &[vector(&[1., 2., 3., 4.])], &[-1., -1., -1., 4.]);
    // On reduce axes, a guard selects the points that are combined.
    let mut total = sum(num(4), read("x", 0, &[0]));
    total.guard = vec![even];
    gives(total, &[vector(&[1., 2., 3., 4.])], &[4.]);
}

#[test]
fn cumulative_sums_are_guarded_reductions() {
    let mut expr = sum(num(0), read("x", 0, &[1]));
    expr.axes = vec![along("i", num(4)), reduce("k", num(4))];
    expr.guard = vec![Condition { form: form(1, 1, 0).add_axis(0, -1).unwrap(), test: Test::NotPositive }];
    expr.outs = vec![out(&[Dim::Const(4)], vec![at(0)])];
    gives(expr, &[vector(&[1., 2., 3., 4.])], &[1., 3., 6., 10.]);
}

#[test]
fn several_points_write_one_element_only_where_that_means_something() {
    let scatter = |write, fill: Option<f64>| {
        let mut expr = copy(4, read("x", 0, &[0]));
        let index =
            IndexExpr::Gather { arg: 1, index: vec![at(0)], offset: Affine::default(), negative: Negative::FromEnd };
        expr.outs = vec![Out { fill: fill.map(Scalar::F64), write, ..out(&[Dim::Const(3)], vec![index]) }];
        expr
    };
    let x = vector(&[1., 2., 3., 4.]);
    let twice = [x.clone(), ints(&[0, 2, 0, -2])];
    fails(scatter(Write::Unique, Some(0.)), &twice, "several points write element 0 of result 0");
    gives(scatter(Write::LastWins, Some(0.)), &twice, &[3., 4., 2.]);
    gives(scatter(Write::Combine(Monoid::Sum), Some(10.)), &twice, &[14., 14., 12.]);
    gives(scatter(Write::Combine(Monoid::Sum), None), &twice, &[4., 4., 2.]);
    gives(scatter(Write::Combine(Monoid::Max), Some(3.5)), &twice, &[3.5, 4., 3.5]);
    fails(scatter(Write::LastWins, None), &[x.clone(), ints(&[0, 0, 0, 1])], "no point writes element 2");
    fails(scatter(Write::LastWins, None), &[x, ints(&[0, 1, 2, 3])], "result 0 is written at position 3 along axis 0");
}

// --- Reductions ---------------------------------------------------------------------------------

fn matmul() -> ArrayExpr {
    ArrayExpr {
        axes: vec![along("i", num(2)), along("j", num(2)), reduce("k", num(3))],
        operands: vec![read("x", 0, &[0, 2]), read("y", 1, &[2, 1])],
        body: body(vec![inst("mul", &[X, Y], F)], vec![BodyRef::Inst(0, 0)]),
        outs: vec![out(&[Dim::Const(2), Dim::Const(2)], vec![at(0), at(1)])],
        ..sum(num(3), read("x", 0, &[0]))
    }
}

#[test]
fn reductions_start_from_what_they_are_told() {
    let args = [f64s(&[2, 3], &[1., 2., 3., 4., 5., 6.]), f64s(&[3, 2], &[1., 0., 0., 1., 1., 1.])];
    gives(matmul(), &args, &[4., 5., 10., 11.]);
    let mut from_values = matmul();
    from_values.reductions[0].init = Init::Values(vec![Scalar::F64(100.0)]);
    gives(from_values, &args, &[104., 105., 110., 111.]);
    let mut into_existing = matmul();
    into_existing.reductions[0].init = Init::Existing(vec![2]);
    let with = |c: Datum| [args[0].clone(), args[1].clone(), c];
    gives(into_existing.clone(), &with(f64s(&[2, 2], &[1., 2., 3., 4.])), &[5., 7., 13., 15.]);
    fails(into_existing, &with(f64s(&[2, 3], &[0.; 6])), "starts from an array of shape [2, 3]");
}

/// The product of matrices by the reduction `dot`, whose total is a sum and 1.
fn dot_product() -> ArrayExpr {
    ArrayExpr {
        body: body(vec![], vec![X, Y]),
        reductions: vec![fold(Monoid::Dot, &[F, F])],
        finish: Some(body(vec![], vec![BodyRef::Acc(0)])),
        ..matmul()
    }
}

#[test]
fn products_of_dot_are_added_with_one_rounding() {
    let small = 2f64.powi(-30);
    // (1 + s)(1 - s) - 1 is -s^2, which a rounded product loses.
    let args = [f64s(&[2, 3], &[-1., 1. + small, 0., 1., 2., 3.]), f64s(&[3, 2], &[1., 1., 1. - small, 2., 5., 3.])];
    let lost = |expr: ArrayExpr| match &run(expr, &args).unwrap()[0] {
        Datum::Array(array) => array.get(&[0, 0]).unwrap(),
        other => panic!("{other}"),
    };
    assert_eq!(lost(matmul()), Scalar::F64(0.0));
    // The row has one point a lane, whose products are rounded by themselves.
    assert_eq!(lost(dot_product()), Scalar::F64(0.0));
    let by_columns = |axes: [usize; 3]| {
        let mut expr = dot_product();
        expr.axes = axes.map(|axis| expr.axes[axis].clone()).to_vec();
        expr.operands = vec![read("x", 0, &[0, 1]), read("y", 1, &[1, 2])];
        expr.outs[0].index = vec![at(0), at(2)];
        expr
    };
    assert_eq!(lost(by_columns([0, 2, 1])), Scalar::F64(-small * small));
    // It starts from a sum.
    let mut from_values = by_columns([0, 2, 1]);
    from_values.reductions[0].init = Init::Values(vec![Scalar::F64(100.0), Scalar::F64(1.0)]);
    gives(from_values, &args[..], &[100., 100. + 1. + 2. * small, 100. + 1. + 2. - 2. * small + 15., 114.]);
}

#[test]
fn finishers_see_accumulators_axes_and_operands() {
    let mut expr = matmul();
    expr.operands.push(operand("b", Source::Array(2), F, vec![index(at(1), Mode::Proved)]));
    expr.finish = Some(body(
        vec![
            inst("add", &[BodyRef::Acc(0), BodyRef::Operand(2)], F),
            inst("mul", &[BodyRef::Inst(0, 0), BodyRef::Axis(0)], F),
        ],
        vec![BodyRef::Inst(1, 0)],
    ));
    let args =
        [f64s(&[2, 3], &[1., 2., 3., 4., 5., 6.]), f64s(&[3, 2], &[1., 0., 0., 1., 1., 1.]), vector(&[10., 20.])];
    gives(expr, &args, &[0., 0., 20., 31.]);
}

#[test]
fn empty_reductions_are_identities_or_errors() {
    let over_nothing = |monoid| {
        let mut expr = sum(num(0), read("x", 0, &[0]));
        expr.reductions = vec![fold(monoid, &[F])];
        expr
    };
    gives(over_nothing(Monoid::Sum), &[vector(&[])], &[0.]);
    gives(over_nothing(Monoid::Prod), &[vector(&[])], &[1.]);
    gives(over_nothing(Monoid::Min), &[vector(&[])], &[f64::INFINITY]);
    let mut position = sum(num(0), read("x", 0, &[0]));
    position.reductions = vec![fold(Monoid::ArgMin, &[F, DType::I64])];
    position.body.yields = vec![X, BodyRef::Axis(0)];
    position.outs = vec![out(&[], vec![]), out(&[], vec![])];
    fails(position, &[vector(&[])], "there is no argmin of zero elements");
}

#[test]
fn positions_of_minima_are_the_first() {
    let argmin = |n| {
        let mut expr = sum(num(n), read("x", 0, &[0]));
        expr.reductions = vec![fold(Monoid::ArgMin, &[F, DType::I64])];
        expr.body.yields = vec![X, BodyRef::Axis(0)];
        expr.outs = vec![Out { dtype: DType::I64, ..out(&[], vec![]) }, out(&[], vec![])];
        expr.finish = Some(body(vec![], vec![BodyRef::Acc(1), BodyRef::Acc(0)]));
        expr
    };
    // Element 20 is combined before element 1, since it is in the lane of element 4.
    let mut many: Vec<f64> = (0..40).map(f64::from).collect();
    (many[20], many[9], many[1], many[0]) = (-5., -5., -5., 3.);
    gives(argmin(40), &[vector(&many)], &[1.]);
    (many[30], many[13]) = (f64::NAN, f64::NAN);
    gives(argmin(40), &[vector(&many)], &[13.]);
}

#[test]
fn regions_combine_tuples_in_order() {
    // Composition of the maps x -> a x + b, which is associative but not commutative.
    let acc = BodyRef::Acc;
    let compose = body(
        vec![
            inst("mul", &[acc(0), acc(2)], F),
            inst("mul", &[acc(1), acc(2)], F),
            inst("add", &[BodyRef::Inst(1, 0), acc(3)], F),
        ],
        vec![BodyRef::Inst(0, 0), BodyRef::Inst(2, 0)],
    );
    let mut expr = sum(num(300), read("x", 0, &[0]));
    expr.operands.push(read("y", 1, &[0]));
    expr.body.yields = vec![X, Y];
    expr.reductions =
        vec![Reduction { combine: Combine::Region(compose), commutative: false, ..fold(Monoid::Sum, &[F, F]) }];
    expr.outs = vec![out(&[], vec![]), out(&[], vec![])];
    let a: Vec<f64> = (0..300).map(|i| if i % 2 == 0 { 2.0 } else { 0.5 }).collect();
    let b: Vec<f64> = (0..300).map(|i| f64::from(i % 7)).collect();
    let (mut ea, mut eb) = (1.0, 0.0);
    for (a, b) in a.iter().zip(&b) {
        (ea, eb) = (ea * a, eb * a + b);
    }
    let args = [vector(&a), vector(&b)];
    for associative in [true, false] {
        expr.reductions[0].associative = associative;
        let found = run(expr.clone(), &args).unwrap();
        assert_eq!((&found[0], &found[1]), (&f64s(&[], &[ea]), &f64s(&[], &[eb])));
    }
    expr.axes[0] = reduce("k", num(0));
    fails(expr.clone(), &args, "no identity");
    expr.reductions[0].identity = Some(vec![Scalar::F64(1.0), Scalar::F64(0.0)]);
    gives(expr, &args, &[1.]);
}

#[test]
fn nested_expressions_reduce_inside_of_a_body() {
    // x[i] / sum over k of (x[k] + x[i])
    let nested = ArrayExpr {
        axes: vec![reduce("k", num(3))],
        operands: vec![read("u", 0, &[1]), operand("v", Source::Capture(0), F, vec![])],
        body: body(vec![inst("add", &[X, Y], F)], vec![BodyRef::Inst(0, 0)]),
        ..sum(num(3), read("u", 0, &[0]))
    };
    let call = BodyInst {
        op: BodyOp::Nested(Box::new(nested)),
        args: [X].into_iter().collect(),
        dtypes: [F].into_iter().collect(),
        loc: Loc::default(),
        applied: None,
    };
    let mut expr = copy(3, read("x", 0, &[0]));
    expr.body = body(vec![call, inst("div", &[X, BodyRef::Inst(0, 0)], F)], vec![BodyRef::Inst(1, 0)]);
    gives(expr.clone(), &[vector(&[1., 2., 3.])], &[1. / 9., 2. / 12., 3. / 15.]);
    let small = Limits { steps: 20, ..Limits::default() };
    assert_eq!(run_limited(expr, &[vector(&[1., 2., 3.])], small).unwrap_err().kind, EvalErrorKind::Limit);
}

#[test]
fn spaces_are_limited_before_they_are_walked() {
    let huge = sum(num(i64::MAX), operand("x", Source::Array(0), F, vec![index(at(0), Mode::Clamp)]));
    let error = run(huge, &[vector(&[1.])]).unwrap_err();
    assert_eq!((error.kind, error.op), (EvalErrorKind::Limit, Some("arrayexpr")));
    let mut wide = copy(1, operand("x", Source::Array(0), F, vec![index(at(0), Mode::Clamp)]));
    wide.axes[0].hi = Some(num(1 << 40));
    wide.outs[0].dims = vec![Dim::Const(1 << 40)];
    assert_eq!(run(wide, &[vector(&[1.])]).unwrap_err().kind, EvalErrorKind::Limit);
}

// --- The verifier -------------------------------------------------------------------------------

fn problems(expr: &ArrayExpr, args: &[Type]) -> Vec<String> {
    verify(expr, args).into_iter().map(|p| p.message).collect()
}
fn array_of(dtype: DType, rank: usize) -> Type {
    Type::array(dtype, vec![Dim::Any; rank])
}

#[test]
fn well_formed_expressions_have_no_problems() {
    assert_eq!(problems(&broadcasting(), &[array_of(F, 2), array_of(F, 1), Type::scalar(F)]), [""; 0]);
    assert_eq!(problems(&matmul(), &[array_of(F, 2), array_of(F, 2)]), [""; 0]);
    let ty = infer_type(matmul(), &[array_of(F, 2), array_of(F, 2)]).unwrap();
    assert_eq!(ty, Type::array(F, [Dim::Const(2), Dim::Const(2)]));
}

fn infer_type(expr: ArrayExpr, args: &[Type]) -> Result<Type, TypeError> {
    let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
    let op = registry().op("arrayexpr").unwrap();
    builder::infer_types(op, args, &vec![None; args.len()], attrs, None).map(|(_, types)| types[0].clone())
}

#[test]
fn every_problem_is_reported() {
    let mut expr = matmul();
    expr.axes[1].name = "i".into();
    expr.operands[0].index.pop();
    expr.body.insts[0].dtypes = [DType::F32].into_iter().collect();
    expr.outs[0].index[0] = at(2);
    expr.outs.push(out(&[], vec![]));
    let found = problems(&expr, &[array_of(F, 2), array_of(DType::I8, 2)]);
    let wanted = [
        "axis `i` has a name that is taken",
        "operand `x` has 1 positions for 2 dims",
        "operand `y` has dtype f64, its source i8",
        "`mul` computes [f64] here, not [f32]",
        "1 values are computed for 2 results",
        "result 0 can't depend on the reduce axis `k`",
    ];
    for words in wanted {
        assert!(found.iter().any(|p| p.contains(words)), "{words}: {found:?}");
    }
    let error = infer_type(expr, &[array_of(F, 2), array_of(DType::I8, 2)]).unwrap_err();
    assert!(wanted.iter().all(|words| error.message.contains(words)), "{error}");
}

/// A change that breaks an expression, and a word of the message that reports it.
type Break = (fn(&mut ArrayExpr), &'static str);

#[test]
fn each_mistake_is_a_problem() {
    let breaks: &[Break] = &[
        (|e| e.operands[0].source = Source::Array(7), "operand 7 of the instruction"),
        (|e| e.operands[0].source = Source::Capture(0), "is not nested"),
        (|e| e.operands[0].source = Source::Scalar(0), "read as a scalar"),
        (|e| e.operands[0].index[0].expr = at(9), "names axis 9"),
        (|e| e.operands[0].index[0].expr = IndexExpr::Mod(Affine::axis(0), 0), "not positive"),
        (|e| e.operands[0].index[0].mode = Mode::Pad(Scalar::I8(0)), "padded with i8"),
        (|e| e.operands[0].index[0] = index(IndexExpr::Affine(form(0, 2, 0)), Mode::Broadcast), "not an axis"),
        (|e| e.operands[0].index[0].expr = gather_from(1), "no integer or dense array"),
        (|e| e.operands[1].name = "x".into(), "is taken"),
        (|e| e.axes[0].hi = None, ""),
        (|e| e.axes[0] = Axis { lo: num(1), hi: None, ..e.axes[0].clone() }, "lower bound must be 0"),
        (|e| e.guard = vec![Condition { form: form(8, 1, 0), test: Test::Zero }], "the guard names axis 8"),
        (|e| e.guard = vec![Condition { form: form(0, 1, 0), test: Test::DivisibleBy(0) }], "not positive"),
        (|e| e.body.insts[0].args[0] = BodyRef::Inst(0, 0), "before it is computed"),
        (|e| e.body.insts[0].args[0] = BodyRef::Operand(5), "operand 5 of 2"),
        (|e| e.body.insts[0].args[0] = BodyRef::Acc(0), "accumulator 0 of 0"),
        (|e| e.body.yields[0] = BodyRef::Inst(0, 3), "result 3 of instruction 0"),
        (|e| e.body.insts[0].op = BodyOp::Op(registry().op("sum").unwrap(), Attrs::new()), "not elementwise"),
        (|e| e.body.yields.push(X), "2 values for 1 accumulators"),
        (|e| e.reductions.clear(), "nothing says how"),
        (|e| e.axes[2].kind = AxisKind::Parallel, "no reduce axis"),
        (|e| e.reductions[0].accumulators.push(F), "has 1 accumulators"),
        (|e| e.reductions[0].identity = Some(vec![Scalar::F64(0.)]), "can't be given"),
        (|e| e.reductions[0].init = Init::Values(vec![Scalar::I8(0)]), "don't fit the accumulators"),
        (|e| e.reductions[0].init = Init::Existing(vec![9]), "operand 9, which is not there"),
        (|e| e.finish = Some(body(vec![], vec![BodyRef::Axis(2)])), "`k` is used after the reduction"),
        (|e| e.finish = Some(body(vec![], vec![X])), "can't depend on the reduce axis `k`"),
        (|e| e.finish = Some(body(vec![], vec![BodyRef::Acc(1)])), "accumulator 1 of 1"),
        (|e| e.outs[0].fill = Some(Scalar::I8(0)), "filled with another"),
        (|e| e.outs[0].write = Write::Combine(Monoid::ArgMin), "positions of minima"),
        (
            |e| e.outs[0].index[0] = IndexExpr::Affine(Affine::constant(0)),
            "written at one place by all points along axis `i`",
        ),
        (
            |e| e.outs[0] = out(&[Dim::Any], vec![IndexExpr::Affine(form(0, 1, 0).add_axis(1, 2).unwrap())]),
            "needs a dim",
        ),
        (|e| e.outs[0].dims.push(Dim::Any), "2 positions for 3 dims"),
    ];
    let of_dot: &[Break] = &[
        (|_| {}, ""),
        (|e| e.reductions[0].accumulators = vec![F, DType::I64], "have one dtype"),
        (|e| e.reductions[0].init = Init::First, "starts from a sum"),
        (|e| e.reductions[0].init = Init::Values(vec![Scalar::F64(0.); 2]), "starts from a sum and 1"),
        (|e| e.reductions[0].init = Init::Existing(vec![0, 1]), "can't start from existing elements"),
        (|e| e.outs[0].write = Write::Combine(Monoid::Dot), "`sum` adds products"),
    ];
    let all = breaks.iter().map(|b| (matmul(), b)).chain(of_dot.iter().map(|b| (dot_product(), b)));
    for (i, (mut expr, (change, words))) in all.enumerate() {
        change(&mut expr);
        let found = problems(&expr, &[array_of(F, 2), array_of(F, 2)]);
        match words.is_empty() {
            true => assert_eq!(found, [""; 0], "{i}"),
            false => assert!(found.iter().any(|p| p.contains(words)), "{i}: {words}: {found:?}"),
        }
    }
}

fn gather_from(arg: u32) -> IndexExpr {
    IndexExpr::Gather { arg, index: vec![at(0), at(1)], offset: Affine::default(), negative: Negative::FromEnd }
}

#[test]
fn an_axis_that_nothing_measures_has_no_extent() {
    let mut expr = copy(1, read("x", 0, &[]));
    expr.axes[0].hi = None;
    expr.operands[0].index = vec![index(IndexExpr::Affine(form(0, 2, 0)), Mode::Clamp)];
    assert!(problems(&expr, &[array_of(F, 1)]).iter().any(|p| p.contains("can't be inferred")));
}

#[test]
fn constants_and_axes_are_operands_of_bodies() {
    let mut expr = copy(3, read("x", 0, &[0]));
    expr.body = body(vec![inst("add", &[X, c(0.5)], F)], vec![BodyRef::Inst(0, 0)]);
    expr.axes[0].hi = Some(sym("n"));
    // Symbols are bound by the function.
    let mut b =
        FuncBuilder::new("f", &[("x", Type::array(F, [Dim::from("n")]))], vec![Type::array(F, [Dim::Const(3)])]);
    let r =
        b.op_with("arrayexpr", [b.param(0)], Attrs::new().with("expr", Attr::Expr(Arc::new(expr.clone())))).unwrap();
    b.ret([r]).unwrap();
    let found = evaluate_function(&b.finish(), vec![vector(&[1., 2., 3.])], Limits::default()).unwrap();
    assert_eq!(found.results, [vector(&[1.5, 2.5, 3.5])]);
    fails(expr, &[vector(&[1., 2., 3.])], "symbol `n` is bound by no parameter");
}
