//! Unrolling of small reductions: an expression [whose reduce axes have few points](ArrayExpr::is_unrolled)
//! becomes one without reduce axes. Its body computes the reduction tree, so lanes of vectors are points of
//! the last parallel axis (outer-loop vectorization): the form of convolutions and stencils with weights.
//!
//! The tree is that of [`Fold`], which combines values of the body here instead of numbers. The body is in
//! depth first order, so few values are live at once.

use super::monoid::op_of;
use rewright_ir::expr::{
    Affine, AxisKind, Body, BodyInst, BodyOp, BodyRef, Combine, Fold, Index, IndexExpr, Mode, Monoid, Operand,
    Reduction, Source,
};
use rewright_ir::ops::arithmetic::{ADD, FMA, MUL};
use rewright_ir::ops::convert::CAST;
use rewright_ir::{ArrayExpr, Attr, Attrs, DType, Dim, Loc, Name, Op, Scalar, Type};
use smallvec::{SmallVec, smallvec};

/// Accumulators as values of the body.
#[derive(Clone)]
struct Values {
    values: SmallVec<[BodyRef; 2]>,
    /// Whether they are factors of `dot` that the order makes a total of before it combines them.
    is_product: bool,
}

impl Values {
    fn of(values: impl IntoIterator<Item = BodyRef>) -> Self {
        Values { values: values.into_iter().collect(), is_product: false }
    }
}

/// The expression without its reduce axes, if it [is unrolled](ArrayExpr::is_unrolled).
pub fn unrolled(expr: &ArrayExpr, args: &[Type]) -> Option<ArrayExpr> {
    expr.is_unrolled().then_some(())?;
    Unrolling::new(expr, args)?.finish()
}

/// The quotient of a form, rounded down, if it is affine: the divisor divides all coefficients.
fn quotient(form: &Affine, divisor: i64) -> Option<Affine> {
    let divides = |&(_, coefficient): &(u32, i64)| coefficient % divisor == 0;
    if !form.offset.terms().is_empty() || !form.axes().iter().all(divides) {
        return None;
    }
    let start = Affine::constant(form.offset.constant.div_euclid(divisor));
    form.axes().iter().try_fold(start, |sum, &(axis, c)| sum.add_axis(axis, c / divisor))
}

struct Unrolling<'e> {
    expr: &'e ArrayExpr,
    args: &'e [Type],
    /// The new number of each parallel axis.
    axes: Vec<Option<u32>>,
    operands: Vec<Operand>,
    body: Body,
}

impl<'e> Unrolling<'e> {
    fn new(expr: &'e ArrayExpr, args: &'e [Type]) -> Option<Self> {
        let mut next = 0;
        let axes = expr.axes.iter().map(|axis| {
            (axis.kind == AxisKind::Parallel).then(|| {
                next += 1;
                next - 1
            })
        });
        Some(Unrolling { expr, args, axes: axes.collect(), operands: Vec::new(), body: Body::default() })
    }

    fn finish(mut self) -> Option<ArrayExpr> {
        let expr = self.expr;
        let reduced: Vec<usize> =
            (0..expr.axes.len()).filter(|&axis| expr.axes[axis].kind == AxisKind::Reduce).collect();
        let last = expr.axes.iter().rposition(|axis| axis.kind == AxisKind::Parallel);
        let bounds = |axis: usize| -> Option<(i64, i64)> {
            let axis = &expr.axes[axis];
            Some((axis.lo.as_constant()?, axis.hi.as_ref()?.as_constant()?))
        };
        let row: i64 = reduced
            .iter()
            .filter(|&&axis| Some(axis) > last)
            .map(|&axis| bounds(axis).map(|(lo, hi)| hi - lo))
            .product::<Option<i64>>()?;
        // The values of all points, for each accumulator.
        let mut point: Vec<i64> = (0..expr.axes.len()).map(|axis| bounds(axis).map_or(0, |(lo, _)| lo)).collect();
        let mut values: Vec<Vec<BodyRef>> = Vec::new();
        loop {
            values.push(self.point(&point)?);
            let Some(&axis) =
                reduced.iter().rev().find(|&&axis| bounds(axis).is_some_and(|(_, hi)| point[axis] + 1 < hi))
            else {
                break;
            };
            point[axis] += 1;
            for &inner in reduced.iter().filter(|&&inner| inner > axis) {
                point[inner] = bounds(inner)?.0;
            }
        }
        let (mut accumulators, mut first) = (Vec::new(), 0);
        let rows_are_points = expr.rows_are_points();
        for reduction in &expr.reductions {
            let count = reduction.accumulators.len();
            let start = reduction.initial_values();
            let start = start.map(|values| Values::of(values.into_iter().map(BodyRef::Const)));
            let body = &mut self.body;
            let join = |a: Values, b: Values| combined(body, reduction, &a, &b).ok_or(());
            let mut fold = Fold::new(reduction.order(rows_are_points), usize::try_from(row).ok()?, start, join);
            if adds_products(reduction) {
                fold = fold.with_first(rows_are_points, |pair| Values { is_product: true, ..pair });
            }
            for value in &values {
                fold.push(Values::of(value[first..first + count].iter().copied())).ok()?;
            }
            let total = fold.finish().ok()??;
            let total = if adds_products(reduction) { total_of(&mut self.body, reduction, total)? } else { total };
            accumulators.extend(total.values);
            first += count;
        }
        let yields = match &expr.finish {
            Some(finish) => self.inlined(finish, &point, &accumulators)?,
            None => accumulators,
        };
        self.body.yields = yields;
        let mut outs = expr.outs.clone();
        for position in outs.iter_mut().flat_map(|out| &mut out.index) {
            *position = self.position(position, &point)?;
        }
        let mut guard = expr.guard.clone();
        for condition in &mut guard {
            condition.form = self.form(&condition.form, &point)?;
        }
        let axes = expr.axes.iter().filter(|axis| axis.kind == AxisKind::Parallel).cloned().collect();
        let body = depth_first(self.body);
        // An operand is read, and its positions are tested, even if its value is not used.
        let used = body.insts.iter().flat_map(|inst| &inst.args).chain(&body.yields);
        let mut is_used = vec![false; self.operands.len()];
        used.for_each(|value| {
            if let BodyRef::Operand(n) = value {
                is_used[*n as usize] = true;
            }
        });
        is_used.iter().all(|used| *used).then_some(())?;
        let locs = expr.locs.clone();
        Some(ArrayExpr { axes, guard, operands: self.operands, body, reductions: Vec::new(), finish: None, outs, locs })
    }

    /// The accumulator values at a point of the reduce axes.
    fn point(&mut self, point: &[i64]) -> Option<Vec<BodyRef>> {
        let yields = self.inlined(&self.expr.body, point, &[])?;
        let dtypes = self.expr.reductions.iter().flat_map(|reduction| &reduction.accumulators);
        let yields: Vec<(BodyRef, DType)> = yields.into_iter().zip(dtypes.copied()).collect();
        yields.into_iter().map(|(value, dtype)| self.cast(value, dtype)).collect()
    }

    /// Appends a body at a point of the reduce axes, and returns its yields.
    fn inlined(&mut self, body: &Body, point: &[i64], accumulators: &[BodyRef]) -> Option<Vec<BodyRef>> {
        let mut numbers: Vec<u32> = Vec::with_capacity(body.insts.len());
        for inst in &body.insts {
            let args: Option<SmallVec<[BodyRef; 3]>> =
                inst.args.iter().map(|arg| self.value(arg, point, accumulators, &numbers)).collect();
            numbers.push(self.body.insts.len() as u32);
            self.body.insts.push(BodyInst { args: args?, ..inst.clone() });
        }
        body.yields.iter().map(|value| self.value(value, point, accumulators, &numbers)).collect()
    }

    fn value(&mut self, value: &BodyRef, point: &[i64], accumulators: &[BodyRef], numbers: &[u32]) -> Option<BodyRef> {
        Some(match *value {
            BodyRef::Operand(n) => BodyRef::Operand(self.operand(n, point)?),
            BodyRef::Axis(axis) => match self.axes[axis as usize] {
                Some(axis) => BodyRef::Axis(axis),
                None => BodyRef::Const(Scalar::I64(point[axis as usize])),
            },
            BodyRef::Acc(n) => *accumulators.get(n as usize)?,
            BodyRef::Inst(n, result) => BodyRef::Inst(*numbers.get(n as usize)?, result),
            BodyRef::Const(scalar) => BodyRef::Const(scalar),
        })
    }

    /// The operand that reads at a point of the reduce axes; equal ones are one.
    fn operand(&mut self, number: u32, point: &[i64]) -> Option<u32> {
        let given = &self.expr.operands[number as usize];
        let mut index = given.index.clone();
        let dims = match given.source {
            Source::Array(arg) => self.args.get(arg as usize)?.dims(),
            _ => &[],
        };
        for (at, dim) in index.iter_mut().zip(dims) {
            let is_reduced = at
                .expr
                .form()
                .is_some_and(|form| form.axes().iter().any(|&(axis, _)| self.axes[axis as usize].is_none()));
            if at.mode == Mode::Broadcast && is_reduced {
                // Broadcasting is along an axis, which is gone.
                (*dim == Dim::Const(1)).then_some(())?;
                *at = Index { expr: IndexExpr::Affine(Affine::constant(0)), mode: Mode::Proved };
            } else {
                at.expr = self.position(&at.expr, point)?;
            }
        }
        let same = |operand: &Operand| operand.source == given.source && operand.index == index;
        if let Some(known) = self.operands.iter().position(same) {
            return Some(known as u32);
        }
        let name = Name::new(&format!("{}.{}", given.name, self.operands.len()));
        self.operands.push(Operand { name, index, ..given.clone() });
        Some(self.operands.len() as u32 - 1)
    }

    fn position(&self, position: &IndexExpr, point: &[i64]) -> Option<IndexExpr> {
        Some(match position {
            IndexExpr::Affine(form) => IndexExpr::Affine(self.form(form, point)?),
            IndexExpr::FloorDiv(form, n) => {
                let form = self.form(form, point)?;
                quotient(&form, *n).map_or(IndexExpr::FloorDiv(form, *n), IndexExpr::Affine)
            }
            IndexExpr::Mod(form, n) => {
                let form = self.form(form, point)?;
                let rest = form.offset.constant.rem_euclid(*n);
                match quotient(&form, *n) {
                    Some(_) => IndexExpr::Affine(Affine::constant(rest)),
                    None => IndexExpr::Mod(form, *n),
                }
            }
            IndexExpr::Gather { arg, index, offset, negative } => {
                let index = index.iter().map(|inner| self.position(inner, point)).collect::<Option<_>>()?;
                IndexExpr::Gather { arg: *arg, index, offset: self.form(offset, point)?, negative: *negative }
            }
        })
    }

    fn form(&self, form: &Affine, point: &[i64]) -> Option<Affine> {
        let mut moved = Affine::constant(0);
        moved.offset = form.offset.clone();
        for &(axis, factor) in form.axes() {
            match self.axes[axis as usize] {
                Some(axis) => moved = moved.add_axis(axis, factor)?,
                None => {
                    let more = point[axis as usize].checked_mul(factor)?;
                    moved.offset.constant = moved.offset.constant.checked_add(more)?;
                }
            }
        }
        Some(moved)
    }

    fn cast(&mut self, value: BodyRef, to: DType) -> Option<BodyRef> {
        let from = match value {
            BodyRef::Operand(n) => self.operands[n as usize].dtype,
            BodyRef::Inst(n, result) => *self.body.insts[n as usize].dtypes.get(result as usize)?,
            BodyRef::Const(scalar) => return Some(BodyRef::Const(scalar.cast(to))),
            BodyRef::Axis(_) => DType::I64,
            BodyRef::Acc(_) => return None,
        };
        if from == to {
            return Some(value);
        }
        let attrs = Attrs::new().with("to", Attr::DType(to));
        Some(push(&mut self.body, Op(&CAST), attrs, &[value], to))
    }
}

/// Combines two tuples of accumulators. `None` if no op does.
fn combined(body: &mut Body, reduction: &Reduction, a: &Values, b: &Values) -> Option<Values> {
    let region = match &reduction.combine {
        Combine::Region(region) => region,
        Combine::Builtin(Monoid::Dot) => {
            let dtype = float_of(reduction)?;
            let total = total_of(body, reduction, a.clone())?;
            let sum = total.values[0];
            let b = if b.is_product { total_of(body, reduction, b.clone())? } else { b.clone() };
            let sum = match is_total(&b, dtype) {
                true => push(body, Op(&ADD), Attrs::new(), &[sum, b.values[0]], dtype),
                false => push(body, Op(&FMA), Attrs::new(), &[b.values[0], b.values[1], sum], dtype),
            };
            return Some(Values::of([sum, BodyRef::Const(Scalar::one(dtype))]));
        }
        Combine::Builtin(monoid) => {
            let &[dtype] = &reduction.accumulators[..] else { return None };
            let op = op_of(*monoid, dtype)?;
            return Some(Values::of([push(body, op, Attrs::new(), &[a.values[0], b.values[0]], dtype)]));
        }
    };
    let first = body.insts.len() as u32;
    let value = |value: &BodyRef| match *value {
        BodyRef::Acc(n) => a.values.iter().chain(&b.values).nth(n as usize).copied(),
        BodyRef::Inst(n, result) => Some(BodyRef::Inst(first + n, result)),
        BodyRef::Const(scalar) => Some(BodyRef::Const(scalar)),
        BodyRef::Operand(_) | BodyRef::Axis(_) => None,
    };
    for inst in &region.insts {
        let args = inst.args.iter().map(value).collect::<Option<_>>()?;
        body.insts.push(BodyInst { args, ..inst.clone() });
    }
    let dtype = |value: &BodyRef| match value {
        BodyRef::Inst(n, result) => body.insts[*n as usize].dtypes.get(*result as usize).copied(),
        BodyRef::Const(scalar) => Some(scalar.dtype()),
        _ => None,
    };
    let yields: Vec<BodyRef> = region.yields.iter().map(value).collect::<Option<_>>()?;
    // A region that yields an accumulator has that accumulator's dtype.
    let fits = yields
        .iter()
        .zip(&reduction.accumulators)
        .zip(&region.yields)
        .all(|((value, wanted), given)| matches!(given, BodyRef::Acc(_)) || dtype(value) == Some(*wanted));
    fits.then(|| Values::of(yields))
}

fn adds_products(reduction: &Reduction) -> bool {
    matches!(reduction.combine, Combine::Builtin(Monoid::Dot))
}

/// The dtype of the factors, if a body has a multiply-add of it.
fn float_of(reduction: &Reduction) -> Option<DType> {
    let &[dtype, second] = &reduction.accumulators[..] else { return None };
    (dtype.is_float() && dtype == second).then_some(dtype)
}

/// True if a pair of `dot` is a sum of products, and 1.
fn is_total(pair: &Values, dtype: DType) -> bool {
    !pair.is_product && pair.values[1] == BodyRef::Const(Scalar::one(dtype))
}

/// A pair of `dot` as a total: factors become their rounded product, and 1.
fn total_of(body: &mut Body, reduction: &Reduction, pair: Values) -> Option<Values> {
    let dtype = float_of(reduction)?;
    if is_total(&pair, dtype) {
        return Some(pair);
    }
    let product = push(body, Op(&MUL), Attrs::new(), &pair.values, dtype);
    Some(Values::of([product, BodyRef::Const(Scalar::one(dtype))]))
}

fn push(body: &mut Body, op: Op, attrs: Attrs, args: &[BodyRef], dtype: DType) -> BodyRef {
    let inst = BodyInst {
        op: BodyOp::Op(op, attrs),
        args: SmallVec::from_slice(args),
        dtypes: smallvec![dtype],
        loc: Loc::default(),
        applied: None,
    };
    body.insts.push(inst);
    BodyRef::Inst(body.insts.len() as u32 - 1, 0)
}

/// The body with the instructions that its yields need, each after its operands and as late as possible.
fn depth_first(body: Body) -> Body {
    let Body { insts, yields } = body;
    let mut numbers: Vec<Option<u32>> = vec![None; insts.len()];
    let mut ordered: Vec<BodyInst> = Vec::with_capacity(insts.len());
    let mut work: Vec<(u32, bool)> = Vec::new();
    let needed = |value: &BodyRef| if let BodyRef::Inst(n, _) = value { Some(*n) } else { None };
    for root in yields.iter().filter_map(needed) {
        work.push((root, false));
        while let Some((number, is_ready)) = work.pop() {
            if numbers[number as usize].is_some() {
                continue;
            }
            let inst = &insts[number as usize];
            if !is_ready {
                work.push((number, true));
                work.extend(inst.args.iter().rev().filter_map(needed).map(|n| (n, false)));
                continue;
            }
            let renumbered = inst.args.iter().map(|arg| renamed(arg, &numbers)).collect();
            numbers[number as usize] = Some(ordered.len() as u32);
            ordered.push(BodyInst { args: renumbered, ..inst.clone() });
        }
    }
    let yields = yields.iter().map(|value| renamed(value, &numbers)).collect();
    Body { insts: ordered, yields }
}

fn renamed(value: &BodyRef, numbers: &[Option<u32>]) -> BodyRef {
    match *value {
        BodyRef::Inst(n, result) => BodyRef::Inst(numbers[n as usize].unwrap_or(n), result),
        other => other,
    }
}
