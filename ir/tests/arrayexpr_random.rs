//! Expressions with random changes: the verifier refuses each, or evaluation gives a result or an error.
//! Nothing panics.

use rewright_ir::expr::*;
use rewright_ir::*;
use std::sync::Arc;

const BASES: &[&str] = &[
    "func @f(%a: f64[?, ?], %b: f64[?], %p: i64[?]) -> f64[?, ?] {
entry:
  %0 = arrayexpr [i: 2, j: 3] where i + j <= 3 (x = %a[i, j], y = %b[clamp(i - 1)], z = %b[gather(%p[i])]) {
    t0 = mul x, y
    t1 = add t0, z
    yield t1
  } into ([i, j] fill 0.0) : f64[2, 3]
  ret %0
}
",
    "func @f(%a: f64[?, ?], %b: f64[?], %p: i64[?]) -> f64[?] {
entry:
  %0, %1 = arrayexpr [i: 2, k: reduce 3] where k <= i (x = %a[i, k], y = %b[wrap(k + 2*i)], z = %b[pad(i // 2, 1.5)]) {
    t0 = mul x, y
    yield t0, x, k
  } reduce (sum f64) init 0.5 reduce (argmax f64, i64) finish (s0, s1, s2) {
    u0 = add s0, s1
    yield u0, s2
  } : f64[2], i64[2]
  ret %0
}
",
    "func @f(%a: f64[?, ?], %b: f64[?], %p: i64[?]) -> f64[?] {
entry:
  %0, %1 = arrayexpr [i: 1..3] (x = %b[bcast(i)], q = %p[check(i % 3)]) {
    t0 = arrayexpr [k: reduce 2] (y = %a[k, clamp(i)], c = x) {
      t0 = add y, c
      yield t0
    } reduce (sum f64) : f64
    t1 = mul t0, x
    yield t1, t0
  } into ([gather(%p[i])] fill 0.0 combine max, [2*i - 1] fill 0.0 last) : f64[3], f64[6]
  ret %0
}
",
    "func @f(%a: f64[?, ?], %b: f64[?], %p: i64[?]) -> f64[?, ?], f64[?, ?] {
entry:
  %0, %1 = arrayexpr [k: scan 2, r: reduce 3, j: 3] where r <= k + j (x = %a[k, j], y = %b[clamp(k - r)]) {
    t0 = mul x, y
    yield t0, x
  } reduce (sum f64) init 0.5 reduce (max f64) init first finish (s0, s1) {
    u0 = add s0, k
    yield u0, s1
  } into ([k, j], [j, 1 - k] fill 0.0) : f64[2, 3], f64[3, 2]
  ret %0, %1
}
",
];

struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n.max(1))
    }
    fn of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }
    fn int(&mut self) -> i64 {
        match self.below(8) {
            0 => self.of(&[i64::MIN, i64::MAX, 1 << 40, -(1 << 62)]),
            _ => self.of(&[-2, -1, 0, 1, 2, 3, 4]),
        }
    }
    fn scalar(&mut self) -> Scalar {
        let dtype = if self.below(3) > 0 { DType::F64 } else { self.of(&DType::ALL) };
        Scalar::I64(self.int()).cast(dtype)
    }
    fn symbolic(&mut self) -> SymExpr {
        if self.below(5) == 0 { SymExpr::symbol("n".into()) } else { SymExpr::constant(self.int()) }
    }
    fn affine(&mut self) -> Affine {
        let mut form = Affine::constant(self.int());
        for _ in 0..self.below(3) {
            let (axis, by) = (self.below(3) as u32, self.int());
            form = form.add_axis(axis, by).unwrap_or_default();
        }
        form
    }
    fn position(&mut self, depth: usize) -> IndexExpr {
        match self.below(6) {
            0 => IndexExpr::FloorDiv(self.affine(), self.int()),
            1 => IndexExpr::Mod(self.affine(), self.int()),
            2 if depth > 0 => IndexExpr::Gather {
                arg: self.of(&[2, 2, 2, 1, 7]),
                index: vec![self.position(depth - 1)],
                offset: self.affine(),
                negative: self.of(&[Negative::FromEnd, Negative::BeforeStart]),
            },
            3 => IndexExpr::Affine(self.affine()),
            _ => IndexExpr::Affine(Affine::axis(self.below(3) as u32)),
        }
    }
    fn mode(&mut self) -> Mode {
        let value = self.scalar();
        self.of(&[Mode::Proved, Mode::Broadcast, Mode::Check, Mode::Wrap, Mode::Clamp, Mode::Pad(value)])
    }
    fn body_ref(&mut self) -> BodyRef {
        let n = self.below(4) as u32;
        let value = self.scalar();
        self.of(&[BodyRef::Operand(n), BodyRef::Inst(n, 0), BodyRef::Axis(n), BodyRef::Acc(n), BodyRef::Const(value)])
    }
    fn change_body(&mut self, body: &mut Body) {
        let count = body.insts.len();
        match self.below(4) {
            0 if count > 0 => {
                let at = self.below(count);
                let inst = &mut body.insts[at];
                let arg = self.below(inst.args.len());
                if !inst.args.is_empty() {
                    inst.args[arg] = self.body_ref();
                }
            }
            1 if count > 0 => {
                let at = self.below(count);
                let name =
                    self.of(&["div", "floordiv", "power", "lt", "sqrt", "where", "divmod", "sum", "bitand", "cast"]);
                body.insts[at].op = BodyOp::Op(registry().op(name).unwrap(), Attrs::new());
            }
            2 => body.yields.push(self.body_ref()),
            _ => {
                let at = self.below(body.yields.len());
                let value = self.body_ref();
                body.yields[at] = value;
            }
        }
    }
    fn change(&mut self, expr: &mut ArrayExpr) {
        match self.below(12) {
            0 => {
                let at = self.below(expr.axes.len());
                expr.axes[at].lo = self.symbolic();
            }
            1 => {
                let at = self.below(expr.axes.len());
                expr.axes[at].hi = if self.below(4) == 0 { None } else { Some(self.symbolic()) };
            }
            2 => {
                let at = self.below(expr.axes.len());
                expr.axes[at].kind = self.of(&[
                    AxisKind::Parallel,
                    AxisKind::Reduce,
                    AxisKind::Scan { exclusive: false },
                    AxisKind::Scan { exclusive: true },
                ]);
            }
            3 => {
                let by = self.int();
                let test = self.of(&[Test::NotPositive, Test::Zero, Test::DivisibleBy(by)]);
                expr.guard.push(Condition { form: self.affine(), test });
            }
            4 | 5 => {
                let at = self.below(expr.operands.len());
                let place = self.below(expr.operands[at].index.len());
                if let Some(index) = expr.operands[at].index.get_mut(place) {
                    (index.expr, index.mode) = (self.position(2), self.mode());
                }
            }
            6 => {
                let at = self.below(expr.operands.len());
                let n = self.below(4) as u32;
                expr.operands[at].source = self.of(&[Source::Array(n), Source::Scalar(n), Source::Capture(n)]);
            }
            7 => self.change_body(&mut expr.body),
            8 => {
                let values = vec![self.scalar()];
                if let Some(reduction) = expr.reductions.first_mut() {
                    reduction.combine = Combine::Builtin(self.of(&Monoid::ALL));
                    reduction.init = self.of(&[Init::Identity, Init::Values(values), Init::Existing(vec![1])]);
                    reduction.associative = self.below(2) == 0;
                }
            }
            9 => match &mut expr.finish {
                Some(finish) => self.change_body(finish),
                None => expr.finish = Some(Body { insts: vec![], yields: vec![self.body_ref()] }),
            },
            10 => {
                let at = self.below(expr.outs.len());
                let place = self.below(expr.outs[at].index.len());
                if let Some(index) = expr.outs[at].index.get_mut(place) {
                    *index = self.position(2);
                }
                expr.outs[at].fill = if self.below(2) == 0 { None } else { Some(self.scalar()) };
            }
            _ => {
                let at = self.below(expr.outs.len());
                let monoid = self.of(&Monoid::ALL);
                let out = &mut expr.outs[at];
                out.write = self.of(&[Write::Unique, Write::LastWins, Write::Combine(monoid)]);
                if let Some(dim) = out.dims.first_mut() {
                    *dim = self.of(&[Dim::Const(2), Dim::Const(0), Dim::Const(1 << 40), Dim::Any, Dim::from("n")]);
                }
            }
        }
    }
}

fn arguments(random: &mut Random) -> Vec<Datum> {
    let shape = random.of(&[[2, 3], [2, 3], [3, 4], [0, 3], [1, 1]]);
    let f64s = |shape: &[usize]| Datum::Array(Array::from_fn(DType::F64, shape, |i| Scalar::F64(i as f64)).unwrap());
    let positions: Vec<i64> = (0..3).map(|_| random.int()).collect();
    let positions = Array::from_fn(DType::I64, &[3], |i| Scalar::I64(positions[i])).unwrap();
    vec![f64s(&shape), f64s(&[random.below(5)]), Datum::Array(positions)]
}

#[test]
fn changed_expressions_are_refused_or_mean_something() {
    let op = registry().op("arrayexpr").unwrap();
    let mut random = Random(fastrand::Rng::with_seed(11));
    let limits = Limits { elements: 1 << 12, ..Limits::default() };
    let (mut refused, mut erring, mut right) = (0, 0, 0);
    for base in BASES {
        let module = parse_module(base, "base").unwrap_or_else(|e| panic!("{}", e.render(false)));
        let func = module.functions().next().unwrap();
        let first = func.first_inst(func.entry().unwrap()).unwrap();
        let base = func.inst(first).attrs.expr().unwrap();
        for _ in 0..4000 {
            let mut expr = ArrayExpr::clone(base);
            for _ in 0..random.below(4) {
                random.change(&mut expr);
            }
            let args = arguments(&mut random);
            let types: Vec<Type> = args.iter().map(Datum::ty).collect();
            let problems = verify(&expr, &types);
            let outs: Vec<Type> = expr.outs.iter().map(|o| Type::array(o.dtype, o.dims.as_slice())).collect();
            let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
            match evaluate_op(op, &attrs, &args, &[], limits) {
                Ok(_) if !problems.is_empty() => panic!("{problems:?} of {attrs:?}"),
                Ok(results) => {
                    right += 1;
                    assert!(results.iter().map(Datum::ty).zip(&outs).all(|(a, b)| a.fits(b)), "{attrs:?}");
                }
                Err(_) if !problems.is_empty() => refused += 1,
                Err(e) => {
                    erring += 1;
                    let broadcast = e.message.starts_with("the operands' shapes don't broadcast: ");
                    // The error of an empty reduction names the reduction itself.
                    let nothing = e.op.is_some_and(|op| e.message == format!("there is no {op} of zero elements"));
                    let known = e.op == Some("arrayexpr") || nothing || broadcast && e.kind == EvalErrorKind::Shape;
                    assert!(known, "{e}");
                }
            }
        }
    }
    assert!(refused > 1000 && erring > 1000 && right > 1000, "{refused} refused, {erring} erring, {right} right");
}
