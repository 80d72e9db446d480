//! Random expressions that the verifier accepts, with every part of an `arrayexpr`.

use super::random::{Generator, Rng};
use rewright_ir::builder::infer_types;
use rewright_ir::expr::*;
use rewright_ir::*;

/// An expression over values in scope, and its operands.
pub fn random_expression(g: &mut Generator<'_, '_>) -> Option<(ArrayExpr, Vec<Value>)> {
    let mut args: Vec<Value> = (0..1 + g.rng.below(4)).map(|_| *g.rng.pick(&g.scope)).collect();
    if g.rng.one_in(8) {
        args.push(args[0]);
    }
    let types: Vec<Type> = args.iter().map(|&v| g.ty(v)).collect();
    for _ in 0..20 {
        let mut maker = Maker { rng: g.rng, types: &types, axes: 0, nested: 0, gathers: 0 };
        let expr = maker.expression(None);
        let (nested, gathers) = (maker.nested, maker.gathers);
        if verify(&expr, &types).is_empty() {
            g.coverage.nested += nested;
            g.coverage.gathering += gathers;
            g.coverage.reducing += usize::from(!expr.reductions.is_empty());
            g.coverage.scanning += usize::from(expr.scan().is_some());
            return Some((expr, args));
        }
    }
    None
}

struct Maker<'r> {
    rng: &'r mut Rng,
    types: &'r [Type],
    /// Axes of this expression and the enclosing ones.
    axes: usize,
    nested: usize,
    gathers: usize,
}

impl Maker<'_> {
    /// `captures` are the dtypes of the values that a nested expression captures.
    fn expression(&mut self, captures: Option<&[DType]>) -> ArrayExpr {
        let outer = self.axes;
        let parallel = if captures.is_some() { 0 } else { self.rng.below(3) };
        let reduced = if captures.is_some() { 1 } else { self.rng.below(3).saturating_sub(1) };
        let scan = if parallel > 0 && self.rng.one_in(3) { Some(self.rng.below(parallel)) } else { None };
        let mut axes = Vec::new();
        for k in 0..parallel + reduced {
            let kind = match k < parallel {
                true if scan == Some(k) => AxisKind::Scan { exclusive: self.rng.one_in(2) },
                true => AxisKind::Parallel,
                false => AxisKind::Reduce,
            };
            let name = Name::new(&format!("{}{}", self.rng.pick(&["i", "k", "n", "reduce", "scan"]), outer + k));
            let lo = if self.rng.one_in(4) { self.sym() } else { SymExpr::default() };
            axes.push(Axis { name, lo, hi: Some(self.sym()), kind });
        }
        self.axes += axes.len();
        let operands = self.operands(captures, outer);
        let guard = (0..self.rng.below(3) / 2).map(|_| self.condition()).collect();
        let dtypes: Vec<DType> = operands.iter().map(|o| o.dtype).collect();
        let mut body = self.body(&dtypes, &[], captures.is_none());
        let mut reductions = Vec::new();
        let mut finish = None;
        let mut found: Vec<DType> = body.yields.iter().map(|r| dtype_of(*r, &body, &dtypes, &[])).collect();
        if reduced > 0 || scan.is_some() {
            self.reductions(&mut body, &mut reductions);
            found = reductions.iter().flat_map(|r: &Reduction| r.accumulators.clone()).collect();
            if self.rng.one_in(2) {
                let last = self.body(&[], &found, false);
                found = last.yields.iter().map(|r| dtype_of(*r, &last, &[], &found)).collect();
                finish = Some(last);
            }
        }
        self.axes = outer;
        let outs = found.into_iter().map(|d| self.out(d, outer, parallel)).collect();
        if captures.is_some() {
            self.nested += 1;
        }
        ArrayExpr { axes, guard, operands, body, reductions, finish, outs, locs: vec![] }
    }

    fn sym(&mut self) -> SymExpr {
        let constant = SymExpr::constant(self.rng.range(-2, 5));
        let symbol = *self.rng.pick(&["n", "m", "two words", "i0", "reduce", "scan", "exclusive"]);
        let coefficient = self.rng.range(-2, 3);
        constant.add_term(symbol.into(), coefficient).unwrap()
    }

    fn affine(&mut self) -> Affine {
        let mut form = match self.rng.below(4) {
            0 => with_offset(self.sym()),
            _ => Affine::constant(self.rng.range(-1, 2)),
        };
        for _ in 0..self.rng.below(3) {
            if self.axes > 0 {
                let axis = self.rng.below(self.axes) as u32;
                form = form.add_axis(axis, self.rng.range(-2, 3)).unwrap();
            }
        }
        form
    }

    fn condition(&mut self) -> Condition {
        let test = match self.rng.below(3) {
            0 => Test::Zero,
            1 => Test::NotPositive,
            _ => Test::DivisibleBy(self.rng.range(1, 5)),
        };
        Condition { form: self.affine(), test }
    }

    fn position(&mut self, depth: usize) -> IndexExpr {
        match self.rng.below(6) {
            0 => IndexExpr::FloorDiv(self.affine(), self.rng.range(1, 4)),
            1 => IndexExpr::Mod(self.affine(), self.rng.range(1, 4)),
            2 if depth < 2 => {
                let positions: Vec<usize> = (0..self.types.len())
                    .filter(|&n| self.types[n].is_array() && self.types[n].dtype().is_int())
                    .collect();
                if positions.is_empty() {
                    return IndexExpr::Affine(self.affine());
                }
                self.gathers += 1;
                let arg = *self.rng.pick(&positions);
                let index = (0..self.types[arg].rank()).map(|_| self.position(depth + 1)).collect();
                let negative = *self.rng.pick(&[Negative::FromEnd, Negative::BeforeStart]);
                IndexExpr::Gather { arg: arg as u32, index, offset: self.affine(), negative }
            }
            3 if self.axes > 0 => IndexExpr::Affine(Affine::axis(self.rng.below(self.axes) as u32)),
            _ => IndexExpr::Affine(self.affine()),
        }
    }

    fn operands(&mut self, captures: Option<&[DType]>, outer: usize) -> Vec<Operand> {
        let mut operands = Vec::new();
        for k in 0..captures.map_or(0, <[DType]>::len) {
            let name = Name::new(&format!("c{outer}_{k}"));
            let dtype = captures.map_or(DType::F64, |c| c[k]);
            operands.push(Operand { name, source: Source::Capture(k as u32), dtype, index: vec![] });
        }
        let mut order: Vec<usize> = (0..self.types.len()).collect();
        if self.rng.one_in(3) {
            order.reverse();
        }
        for n in order {
            let ty = &self.types[n];
            let source = if ty.is_array() { Source::Array(n as u32) } else { Source::Scalar(n as u32) };
            let dtype = ty.dtype();
            let index = (0..ty.rank()).map(|_| self.index(dtype)).collect();
            let name = Name::new(&format!("{}{n}", self.rng.pick(&["x", "t", "s", "yield"])));
            operands.push(Operand { name, source, dtype, index });
        }
        operands
    }

    fn index(&mut self, dtype: DType) -> Index {
        let expr = self.position(0);
        let mode = match self.rng.below(6) {
            0 if matches!(&expr, IndexExpr::Affine(f) if f.as_axis().is_some()) => Mode::Broadcast,
            1 => Mode::Wrap,
            2 => Mode::Clamp,
            3 => Mode::Pad(self.rng.scalar(dtype)),
            4 if !matches!(expr, IndexExpr::Gather { .. }) => Mode::Proved,
            _ => Mode::Check,
        };
        Index { expr, mode }
    }

    /// Elementwise ops on the available values, and a nested expression.
    fn body(&mut self, operands: &[DType], accs: &[DType], nest: bool) -> Body {
        let mut body = Body::default();
        let ops: Vec<Op> = registry().ops().map(|(op, _)| op).filter(|op| op.is_elementwise()).collect();
        for _ in 0..self.rng.below(6) {
            let op = *self.rng.pick(&ops);
            let Arity::Exactly(arity) = op.arity else { continue };
            let args: Vec<BodyRef> = (0..arity).map(|_| self.reference(&body, operands, accs)).collect();
            let types: Vec<Type> = args.iter().map(|r| Type::scalar(dtype_of(*r, &body, operands, accs))).collect();
            let consts = vec![None; arity];
            let needs_dtype = op.attrs.iter().any(|d| d.kind == AttrKind::DType);
            let attrs = if needs_dtype { Attrs::new().with("to", Attr::DType(self.rng.dtype())) } else { Attrs::new() };
            let Ok((attrs, types)) = infer_types(op, &types, &consts, attrs, None) else { continue };
            let dtypes = types.iter().map(Type::dtype).collect();
            let op = BodyOp::Op(op, attrs);
            body.insts.push(BodyInst { op, args: args.into(), dtypes, loc: Loc::default(), applied: None });
        }
        if nest && self.rng.one_in(3) {
            let args: Vec<BodyRef> = (0..self.rng.below(3)).map(|_| self.reference(&body, operands, accs)).collect();
            let dtypes: Vec<DType> = args.iter().map(|r| dtype_of(*r, &body, operands, accs)).collect();
            let nested = self.expression(Some(&dtypes));
            let dtypes = nested.outs.iter().map(|o| o.dtype).collect();
            let op = BodyOp::Nested(Box::new(nested));
            body.insts.push(BodyInst { op, args: args.into(), dtypes, loc: Loc::default(), applied: None });
        }
        body.yields = (0..1 + self.rng.below(3)).map(|_| self.reference(&body, operands, accs)).collect();
        body
    }

    fn reference(&mut self, body: &Body, operands: &[DType], accs: &[DType]) -> BodyRef {
        for _ in 0..10 {
            match self.rng.below(6) {
                0 => {
                    let dtype = self.rng.dtype();
                    return BodyRef::Const(self.rng.scalar(dtype));
                }
                1 if !accs.is_empty() => return BodyRef::Acc(self.rng.below(accs.len()) as u32),
                2 if self.axes > 0 && accs.is_empty() => return BodyRef::Axis(self.rng.below(self.axes) as u32),
                3 if !operands.is_empty() => return BodyRef::Operand(self.rng.below(operands.len()) as u32),
                _ if !body.insts.is_empty() => {
                    let i = self.rng.below(body.insts.len());
                    let k = self.rng.below(body.insts[i].dtypes.len());
                    return BodyRef::Inst(i as u32, k as u8);
                }
                _ => {}
            }
        }
        BodyRef::Const(Scalar::F64(1.0))
    }

    /// A reduction for each yield, or for two if it has two accumulators.
    fn reductions(&mut self, body: &mut Body, reductions: &mut Vec<Reduction>) {
        let mut left = body.yields.len();
        while left > 0 {
            let monoid = *self.rng.pick(&Monoid::ALL);
            let count = monoid.accumulators().min(left);
            let dtype = self.rng.dtype();
            let (combine, accumulators) = if self.rng.one_in(3) || count < monoid.accumulators() {
                let accs = [dtype, dtype];
                let mut region = Body::default();
                let op = registry().op("maximum").unwrap();
                region.insts.push(BodyInst {
                    op: BodyOp::Op(op, Attrs::new()),
                    args: [BodyRef::Acc(0), BodyRef::Acc(1)].into_iter().collect(),
                    dtypes: [dtype].into_iter().collect(),
                    loc: Loc::default(),
                    applied: None,
                });
                region.yields = vec![BodyRef::Inst(0, 0)];
                (Combine::Region(region), accs[..1].to_vec())
            } else if count == 2 {
                let second = if monoid == Monoid::Dot { dtype } else { DType::I64 };
                (Combine::Builtin(monoid), vec![dtype, second])
            } else {
                (Combine::Builtin(monoid), vec![dtype])
            };
            left -= accumulators.len();
            let values = |rng: &mut Rng| accumulators.iter().map(|&d| rng.scalar(d)).collect::<Vec<_>>();
            let region = matches!(combine, Combine::Region(_));
            let identity = (region && self.rng.one_in(2)).then(|| values(self.rng));
            let init = if self.rng.one_in(2) { Init::Values(values(self.rng)) } else { Init::Identity };
            let mut flag = || self.rng.one_in(2);
            let (associative, commutative, idempotent) = (flag(), flag(), flag());
            let loc = Loc::default();
            reductions.push(Reduction {
                combine,
                accumulators,
                identity,
                init,
                associative,
                commutative,
                idempotent,
                loc,
            });
        }
    }

    fn out(&mut self, dtype: DType, first: usize, parallel: usize) -> Out {
        let plain = |k: usize| IndexExpr::Affine(Affine::axis((first + k) as u32));
        let mut index: Vec<IndexExpr> = (0..parallel).map(plain).collect();
        let mut dims: Vec<Dim> = (0..parallel).map(|_| Dim::from(*self.rng.pick(&["n", "m", "two words"]))).collect();
        let (mut fill, mut write) = (None, Write::Unique);
        if self.rng.one_in(4) && parallel > 0 {
            fill = Some(self.rng.scalar(dtype));
            write = *self.rng.pick(&[
                Write::LastWins,
                Write::Unique,
                Write::Combine(Monoid::Sum),
                Write::Combine(Monoid::Min),
            ]);
            if self.rng.one_in(2) {
                index.reverse();
                dims.reverse();
            }
        }
        Out { dtype, dims, index, fill, write }
    }
}

fn with_offset(offset: SymExpr) -> Affine {
    let mut form = Affine::default();
    form.offset = offset;
    form
}

fn dtype_of(r: BodyRef, body: &Body, operands: &[DType], accs: &[DType]) -> DType {
    match r {
        BodyRef::Operand(k) => operands[k as usize],
        BodyRef::Axis(_) => DType::I64,
        BodyRef::Acc(k) => accs[k as usize],
        BodyRef::Inst(i, k) => body.insts[i as usize].dtypes[k as usize],
        BodyRef::Const(s) => s.dtype(),
    }
}
