//! A `dot_general` as an array expression: products at the points of batch, free and contracted axes, summed along the last.

use rewright_ir::expr::{
    Affine, AxisKind, Body, BodyOp, BodyRef, Combine, Index, IndexExpr, Init, Mode, Monoid, Operand, Out, Reduction,
    Source, Write, axes_along,
};
use rewright_ir::op::InferCx;
use rewright_ir::ops::dot::{DOT_GENERAL, Roles, roles};
use rewright_ir::ops::{arithmetic, logic};
use rewright_ir::{ArrayExpr, Attrs, DType, Dim, Function, InstData, Name, Op, Scalar, Type};
use smallvec::SmallVec;

/// Sums of products as an expression over the instruction's operands; else why not. `None` for other ops.
pub fn wrap_dot(func: &Function, data: &InstData) -> Option<Result<ArrayExpr, String>> {
    (data.op == DOT_GENERAL).then(|| expression(func, data))
}

/// Pairs of axes, of operand 0 and operand 1, whose extents only a call knows to be the same; none for other ops.
pub fn to_be_equal(func: &Function, data: &InstData) -> SmallVec<[[(usize, usize); 2]; 1]> {
    if data.op != DOT_GENERAL {
        return SmallVec::new();
    }
    let types: Vec<Type> = data.args.iter().map(|&v| func.ty(v).clone()).collect();
    let Some((left, right)) = sides(data, &types) else { return SmallVec::new() };
    let batch = left.batch.iter().zip(&right.batch);
    let pairs = batch.chain(left.contract.iter().zip(&right.contract));
    let open = |&(&a, &b): &(&usize, &usize)| {
        let (a, b) = (types[0].dims()[a], types[1].dims()[b]);
        a != b || a == Dim::Any
    };
    pairs.filter(open).map(|(&a, &b)| [(0, a), (1, b)]).collect()
}

/// The axes of both operands by their roles.
fn sides(data: &InstData, types: &[Type]) -> Option<(Roles, Roles)> {
    let consts = [None, None];
    let cx = InferCx { op: data.op, args: types, consts: &consts, attrs: &data.attrs, callee: None };
    Some((roles(&cx, 0).ok()?, roles(&cx, 1).ok()?))
}

fn expression(func: &Function, data: &InstData) -> Result<ArrayExpr, String> {
    let (&[_, _], &[result]) = (&data.args[..], &data.results[..]) else {
        return Err("it has not two operands".into());
    };
    let types: Vec<Type> = data.args.iter().map(|&v| func.ty(v).clone()).collect();
    let (left, right) = sides(data, &types).ok_or("its axes are wrong")?;
    // Batch axes, the left operand's own, the right one's own, contracted ones: for each the axis of either operand that it is.
    let both =
        |a: &[usize], b: &[usize]| a.iter().map(|&a| Some(a)).zip(b.iter().map(|&b| Some(b))).collect::<Vec<_>>();
    let own = |a: &[usize]| a.iter().map(|&a| Some(a)).collect::<Vec<_>>();
    let contracted = both(&left.contract, &right.contract);
    let mut axes_of = both(&left.batch, &right.batch);
    axes_of.extend(own(&left.free).into_iter().map(|axis| (axis, None)));
    let first = if left.adds_rows(&right) { axes_of.len() } else { axes_of.len() + right.free.len() };
    axes_of.extend(own(&right.free).into_iter().map(|axis| (None, axis)));
    axes_of.splice(first..first, contracted.iter().copied());
    let is_contracted = |axis: usize| (first..first + contracted.len()).contains(&axis);

    let dim = |(a, b): &(Option<usize>, Option<usize>)| {
        let [a, b] = [a.map(|a| types[0].dims()[a]), b.map(|b| types[1].dims()[b])];
        match (a, b) {
            (Some(Dim::Any), Some(b)) => b,
            (Some(Dim::Sym(_)), Some(b @ Dim::Const(_))) => b,
            (Some(a), _) => a,
            (None, b) => b.unwrap_or(Dim::Any),
        }
    };
    let dims: Vec<Dim> = axes_of.iter().map(dim).collect();
    let taken = |name| types.iter().flat_map(Type::dims).any(|dim| *dim == Dim::Sym(name));
    let mut axes = axes_along(&dims, taken);
    if axes.iter().zip(&dims).any(|(axis, dim)| axis.hi.is_none() && *dim != Dim::Any) {
        return Err("an extent is too great".to_string());
    }
    if axes_of.is_empty() {
        return Err("it has no axis to go along".to_string());
    }
    (0..axes.len()).filter(|&axis| is_contracted(axis)).for_each(|axis| axes[axis].kind = AxisKind::Reduce);

    let operand = |n: usize| {
        let at = |axis: usize| {
            let place = |(a, b): &(Option<usize>, Option<usize>)| [*a, *b][n] == Some(axis);
            let axis = axes_of.iter().position(place).unwrap_or_default() as u32;
            Index { expr: IndexExpr::Affine(Affine::axis(axis)), mode: Mode::Proved }
        };
        let source = if types[n].is_scalar() { Source::Scalar(n as u32) } else { Source::Array(n as u32) };
        let name = Name::from(["a", "b"][n]);
        Operand { name, source, dtype: types[n].dtype(), index: (0..types[n].rank()).map(at).collect() }
    };
    let operands: Vec<Operand> = (0..2).map(operand).collect();

    let (dtype, loc) = (func.ty(result).dtype(), data.loc);
    let (product, monoid) = match dtype {
        DType::Bool => (&logic::AND, Monoid::Any),
        _ => (&arithmetic::MUL, Monoid::Sum),
    };
    let mut body = Body::default();
    let factors: Vec<BodyRef> =
        (0..2).map(|n| body.cast(BodyRef::Operand(n), types[n as usize].dtype(), dtype, loc)).collect();
    let apply =
        |body: &mut Body, op, args: Vec<BodyRef>| body.push(BodyOp::Op(Op(op), Attrs::new()), args, [dtype], loc);
    let is_fused = left.adds_rows(&right) && (dtype.is_float() || dtype.is_complex()) && !contracted.is_empty();
    let (mut yields, mut finish) = (SmallVec::from_slice(&factors), None);
    let (mut combine, mut accumulators) = (Monoid::Dot, vec![dtype; 2]);
    if is_fused {
        finish = Some(Body { yields: vec![BodyRef::Acc(0)], ..Body::default() });
    } else {
        // Integers wrap at once.
        (combine, accumulators) = (monoid, vec![dtype]);
        yields = SmallVec::from_slice(&apply(&mut body, product, factors));
    }
    let mut reductions = Vec::new();
    if !contracted.is_empty() {
        reductions.push(Reduction {
            combine: Combine::Builtin(combine),
            accumulators,
            identity: None,
            init: Init::Identity,
            associative: true,
            commutative: true,
            idempotent: false,
            loc,
        });
    } else if dtype.is_float() || dtype.is_complex() {
        // A sum of one product: of -0 it is 0.
        yields = apply(&mut body, &arithmetic::ADD, vec![BodyRef::Const(Scalar::zero(dtype)), yields[0]]);
    }
    body.yields = yields.to_vec();
    Ok(ArrayExpr {
        axes,
        guard: Vec::new(),
        operands,
        body,
        reductions,
        finish,
        outs: vec![Out {
            dtype,
            dims: func.ty(result).dims().to_vec(),
            index: {
                let along = (0..axes_of.len()).filter(|&axis| !is_contracted(axis));
                along.map(|axis| IndexExpr::Affine(Affine::axis(axis as u32))).collect()
            },
            fill: None,
            write: Write::Unique,
        }],
        locs: vec![loc],
    })
}
