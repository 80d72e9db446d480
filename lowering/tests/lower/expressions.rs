//! Random expressions: any number of axes, any affine maps, several results. Their kernels give the bits of the reference evaluator.

use super::call::{Compiled, assert_same};
use super::values::{Random, special};
use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyInst, BodyOp, BodyRef, Index, IndexExpr, Mode, Operand, Out, Source, SymExpr,
    Write,
};
use rewright_ir::{
    Array, ArrayExpr, Attr, Attrs, DType, Datum, Dim, Eval, Limits, Loc, Name, Op, Scalar, Type, evaluate_op, registry,
};
use smallvec::SmallVec;
use std::sync::Arc;

/// Ops that are defined for all operands, and don't show which NaN they got.
const OPS: &[(&str, usize)] = &[
    ("add", 2),
    ("sub", 2),
    ("mul", 2),
    ("div", 2),
    ("floordiv", 2),
    ("mod", 2),
    ("divmod", 2),
    ("minimum", 2),
    ("fmax", 2),
    ("lt", 2),
    ("eq", 2),
    ("ge", 2),
    ("and", 2),
    ("xor", 2),
    ("not", 1),
    ("neg", 1),
    ("abs", 1),
    ("floor", 1),
    ("rint", 1),
    ("modf", 1),
    ("square", 1),
    ("reciprocal", 1),
    ("real", 1),
    ("conj", 1),
    ("where", 3),
    ("clip", 3),
    ("cast", 1),
    ("bitor", 2),
    ("left_shift", 2),
    ("gcd", 2),
    ("cos", 1),
    ("isnan", 1),
];

struct Made {
    expr: ArrayExpr,
    args: Vec<Datum>,
}

fn below(random: &mut Random, n: usize) -> usize {
    (random.next() % n as u64) as usize
}

fn name(prefix: &str, number: usize) -> Name {
    Name::new(&format!("{prefix}{number}"))
}

/// An expression and operands that fit it.
fn make(random: &mut Random) -> Made {
    let rank = [0, 1, 1, 2, 2, 3, 4, 6][below(random, 8)];
    let most = [1, 70, 12, 6, 4, 3, 3][rank];
    let extents: Vec<usize> = (0..rank)
        .map(|_| [0, 1, 1, 2][below(random, 4)].max(below(random, 8).min(1) * (1 + below(random, most))))
        .collect();
    let starts: Vec<i64> =
        extents.iter().map(|_| if below(random, 4) == 0 { below(random, 7) as i64 - 3 } else { 0 }).collect();
    let axis = |a: usize| Axis {
        name: name("i", a),
        lo: SymExpr::constant(starts[a]),
        hi: Some(SymExpr::constant(starts[a] + extents[a] as i64)),
        kind: AxisKind::Parallel,
    };
    let axes: Vec<Axis> = (0..rank).map(axis).collect();
    let (mut operands, mut args) = (Vec::new(), Vec::new());
    for number in 0..1 + below(random, 4) {
        let dtype = DType::ALL[below(random, 13)];
        let pool = special(dtype);
        let mut operand =
            Operand { name: name("x", number), source: Source::Scalar(number as u32), dtype, index: vec![] };
        if below(random, 5) == 0 {
            args.push(Datum::Scalar(random.pick(&pool)));
        } else {
            let (index, shape) = positions(random, &starts, &extents);
            operand.source = if index.is_empty() { operand.source } else { Source::Array(number as u32) };
            operand.index = index;
            args.push(Datum::Array(array(random, dtype, &shape, &pool)));
        }
        operands.push(operand);
    }
    let (body, dtypes) = body(random, &operands, rank);
    let outs = dtypes.into_iter().map(|dtype| out(random, dtype, &starts, &extents)).collect();
    let expr = ArrayExpr { axes, guard: vec![], operands, body, reductions: vec![], finish: None, outs, locs: vec![] };
    Made { expr, args }
}

/// Positions of up to 4 dims that stay inside of the extents given with them.
fn positions(random: &mut Random, starts: &[i64], extents: &[usize]) -> (Vec<Index>, Vec<usize>) {
    let rank = extents.len();
    let (mut index, mut shape) = (Vec::new(), Vec::new());
    for dim in 0..below(random, 5).min(rank + 1) {
        let mut axis = if below(random, 3) == 0 { below(random, rank.max(1)) } else { dim };
        axis = axis.min(rank.saturating_sub(1));
        let plain = rank > 0 && starts[axis] == 0;
        if plain && below(random, 2) == 0 {
            // Stretched or as it is.
            index.push(Index { expr: IndexExpr::Affine(Affine::axis(axis as u32)), mode: Mode::Broadcast });
            shape.push(if below(random, 3) == 0 { 1 } else { extents[axis] });
            continue;
        }
        let mut form = Affine::default();
        let (mut least, mut most) = (0, 0);
        for _ in 0..if rank == 0 { 0 } else { below(random, 3) } {
            let (axis, factor) = (below(random, rank), [1, 1, -1, 2, -3][below(random, 5)]);
            form = form.add_axis(axis as u32, factor).unwrap();
        }
        for &(axis, factor) in form.axes() {
            let (lo, hi) = (starts[axis as usize], starts[axis as usize] + extents[axis as usize].max(1) as i64 - 1);
            least += (lo * factor).min(hi * factor);
            most += (lo * factor).max(hi * factor);
        }
        let before = below(random, 2) as i64;
        form.offset.constant = before - least;
        let mode = if below(random, 2) == 0 { Mode::Proved } else { Mode::Check };
        index.push(Index { expr: IndexExpr::Affine(form), mode });
        shape.push((most - least + 1 + before) as usize + below(random, 2));
    }
    (index, shape)
}

/// An array, its axes in memory in any order.
fn array(random: &mut Random, dtype: DType, shape: &[usize], pool: &[Scalar]) -> Array {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if below(random, 3) == 0 {
        order.reverse();
    }
    let stored: Vec<usize> = order.iter().map(|&a| shape[a]).collect();
    Array::from_fn(dtype, &stored, |_| random.pick(pool)).unwrap().permuted(&order)
}

/// A few instructions, of which some results are yielded.
fn body(random: &mut Random, operands: &[Operand], rank: usize) -> (Body, Vec<DType>) {
    let mut values: Vec<(BodyRef, DType)> =
        operands.iter().enumerate().map(|(k, o)| (BodyRef::Operand(k as u32), o.dtype)).collect();
    values.extend((0..rank as u32).map(|a| (BodyRef::Axis(a), DType::I64)));
    let mut body = Body::default();
    for _ in 0..1 + below(random, 8) {
        let (op, arity) = OPS[below(random, OPS.len())];
        let op = registry().op(op).unwrap();
        let attrs = if op.attrs.is_empty() {
            Attrs::new()
        } else {
            Attrs::new().with("to", Attr::DType(DType::ALL[below(random, 13)]))
        };
        let Eval::Elementwise { resolve, .. } = op.eval else { panic!("{op}") };
        // The newest values more often.
        let args: Vec<(BodyRef, DType)> = (0..arity)
            .map(|_| match below(random, 6) {
                0 => {
                    let dtype = DType::ALL[below(random, 13)];
                    (BodyRef::Const(random.pick(&special(dtype))), dtype)
                }
                1 | 2 => values[values.len() - 1 - below(random, values.len().min(3))],
                _ => values[below(random, values.len())],
            })
            .collect();
        let dtypes: Vec<DType> = args.iter().map(|(_, d)| *d).collect();
        let Ok(found) = resolve(&dtypes, &attrs) else { continue };
        let number = body.insts.len() as u32;
        values.extend(found.outs.iter().enumerate().map(|(r, &d)| (BodyRef::Inst(number, r as u8), d)));
        body.insts.push(inst(op, attrs, &args, found.outs.into_iter().collect()));
    }
    let mut dtypes = Vec::new();
    for _ in 0..1 + below(random, 3) {
        let (value, dtype) = values[values.len() - 1 - below(random, values.len().min(4))];
        body.yields.push(value);
        // What is yielded is cast to the result's dtype.
        dtypes.push(if below(random, 5) == 0 { DType::ALL[below(random, 13)] } else { dtype });
    }
    (body, dtypes)
}

fn inst(op: Op, attrs: Attrs, args: &[(BodyRef, DType)], dtypes: SmallVec<[DType; 1]>) -> BodyInst {
    BodyInst {
        op: BodyOp::Op(op, attrs),
        args: args.iter().map(|(v, _)| *v).collect(),
        dtypes,
        loc: Loc::default(),
        applied: None,
    }
}

/// A result that all points write, or some of them the same element.
fn out(random: &mut Random, dtype: DType, starts: &[i64], extents: &[usize]) -> Out {
    let mut axes: Vec<usize> = (0..extents.len()).collect();
    if below(random, 3) == 0 {
        axes.reverse();
    }
    let mut write = Write::Unique;
    if below(random, 4) == 0 && axes.pop().is_some() {
        write = Write::LastWins;
    }
    let beyond = below(random, 5) == 0;
    let whole = !beyond && axes.iter().all(|&a| starts[a] == 0) && !extents.contains(&0);
    let dim = |&a: &usize| match whole {
        true if a % 2 == 0 => Dim::Any,
        _ => Dim::Const((starts[a] + extents[a] as i64).max(0) as u64 + u64::from(beyond)),
    };
    let fill = (!whole).then(|| random.pick(&special(dtype)));
    let index = axes.iter().map(|&a| IndexExpr::Affine(Affine::axis(a as u32))).collect();
    Out { dtype, dims: axes.iter().map(dim).collect(), index, fill, write }
}

#[test]
fn random_expressions() {
    try_expressions(800);
}

#[test]
#[ignore = "a sweep: 4000 random expressions"]
fn many_random_expressions() {
    try_expressions(4000);
}

fn try_expressions(count: u64) {
    let op = registry().op("arrayexpr").unwrap();
    let (mut compared, mut vectors) = (0, 0);
    for seed in 0..count {
        let Made { expr, args } = make(&mut Random::new(seed));
        let types: Vec<Type> = args.iter().map(Datum::ty).collect();
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr.clone())));
        let want = evaluate_op(op, &attrs, &args, &[], Limits::default());
        // Starts below 0 make positions of results that are not there.
        if rewright_ir::expr::verify(&expr, &types).is_empty() && want.is_ok() {
            let compiled = Compiled::new(&expr, &types);
            for (code_name, code) in &compiled.codes {
                let got = compiled.run(&**code, &args).unwrap_or_else(|| panic!("seed {seed} does not fit: {expr:?}"));
                for (want, got) in want.iter().flatten().zip(&got.unwrap()) {
                    assert_same(want, got, |_| {
                        format!("seed {seed}, {code_name}\n{expr:?}\n{}", compiled.lowered.kernel)
                    });
                }
            }
            compared += 1;
            vectors += usize::from(compiled.lowered.bounds.len() > 1);
        }
    }
    assert!(compared * 2 > count && vectors as u64 * 4 > count, "{compared} compared, {vectors} with several axes");
}
