//! Array ops with random operands and attributes, most of them invalid: type rule and evaluator accept the
//! same ones, and nothing panics.

use rewright_ir::builder::infer_types;
use rewright_ir::*;

struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n)
    }
    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
    fn int(&mut self) -> i64 {
        match self.below(30) {
            0 => self.of(&[i64::MIN, i64::MAX, i64::MIN + 1, 1 << 40, -100]),
            _ => self.of(&[0, 0, 0, 1, 1, 1, 2, -1, -1, -2]),
        }
    }
    fn list<T>(&mut self, mut f: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| f(self)).collect()
    }
    fn shape(&mut self) -> Vec<usize> {
        self.list(|r| r.of(&[0, 1, 2, 2, 3]))
    }
    /// A random value, often with the shape of the array before, or of its leading axes.
    fn datum(&mut self, before: Option<&Datum>) -> Datum {
        let dtype = match self.below(4) {
            0 | 1 => DType::I64,
            2 => DType::Bool,
            _ => self.of(&DType::ALL),
        };
        let element = |i: i64| Scalar::I64(i).cast(dtype);
        if self.below(4) == 0 {
            return Datum::Scalar(element(self.int()));
        }
        let shape = match before {
            Some(Datum::Array(a)) if self.below(2) == 0 => a.shape()[..a.rank() - self.below(2).min(a.rank())].to_vec(),
            _ => self.shape(),
        };
        Datum::Array(Array::from_fn(dtype, &shape, |_| element(self.below(3) as i64 - 1)).unwrap())
    }
    fn slice(&mut self) -> SliceSpec {
        let mut bound = || if self.below(2) == 0 { None } else { Some(self.int()) };
        SliceSpec { start: bound(), stop: bound(), step: self.int() }
    }
    fn dim(&mut self) -> Dim {
        match self.below(20) {
            0 => self.of(&[Dim::Const(u64::MAX), Dim::Const(1 << 62), Dim::Const(1 << 33)]),
            1..4 => Dim::Any,
            _ => Dim::Const(self.of(&[0, 1, 2, 3])),
        }
    }
    fn attr(&mut self, kind: AttrKind) -> Attr {
        match kind {
            AttrKind::Bool => Attr::Bool(self.below(2) == 0),
            AttrKind::Int => Attr::Int(self.int()),
            AttrKind::Str => Attr::Str(self.of(&["x", "dense", "elements", "sum", "max"]).into()),
            AttrKind::Ints => Attr::Ints(self.list(Self::int).into()),
            AttrKind::Dims => Attr::Dims(self.list(Self::dim).into()),
            AttrKind::Slices => Attr::Slices(self.list(Self::slice).into()),
            AttrKind::DType => Attr::DType(self.of(&DType::ALL)),
            AttrKind::Scalar => Attr::Scalar(Scalar::F64(self.int() as f64)),
            AttrKind::Func => Attr::Func("f".into()),
            AttrKind::Array => Attr::Array(std::sync::Arc::new(self.datum(None).to_array())),
            AttrKind::Expr => panic!("only `arrayexpr` has an expression"),
        }
    }
    fn attrs(&mut self, op: Op) -> Attrs {
        let mut attrs = Attrs::new();
        for def in op.attrs {
            if def.presence == Presence::Required || self.below(2) == 0 {
                attrs.set(def.name.into(), self.attr(def.kind));
            }
        }
        attrs
    }
}

/// A less precise type of the same value: some dims are unknown.
fn vaguer(random: &mut Random, ty: &Type) -> Type {
    if ty.is_scalar() {
        return ty.clone();
    }
    let dims = ty.dims().iter().map(|&d| match random.below(3) {
        0 => Dim::Any,
        // One symbol for each extent.
        1 => Dim::from(format!("n{d}").as_str()),
        _ => d,
    });
    Type::array(ty.dtype(), dims.collect::<Vec<_>>())
}

#[test]
fn type_rules_and_meanings_agree() {
    let ops: Vec<Op> = registry().ops().map(|(op, _)| op).collect();
    let ops: Vec<Op> =
        ops.into_iter().filter(|op| matches!(op.eval, Eval::Array(_)) && op.name != "arrayexpr").collect();
    let mut random = Random(fastrand::Rng::with_seed(3));
    let limits = Limits { elements: 1 << 12, ..Limits::default() };
    for op in ops {
        let (mut right, mut wrong) = (0, 0);
        for _ in 0..3000 {
            let count = match op.arity {
                Arity::Exactly(n) => n,
                Arity::AtLeast(n) => n + random.below(2),
            };
            let mut args: Vec<Datum> = Vec::new();
            for _ in 0..count {
                args.push(random.datum(args.first()));
            }
            let mut attrs = random.attrs(op);
            // Makes valid components likely enough.
            if op.name == "assemble" && random.below(2) == 0 {
                let dims: Vec<Dim> = args[0].shape().iter().map(|&n| Dim::Const(n as u64)).collect();
                attrs = Attrs::new().with("style", Attr::Str("dense".into())).with("dims", Attr::Dims(dims.into()));
            }
            let exact: Vec<Type> = args.iter().map(Datum::ty).collect();
            let vague: Vec<Type> = exact.iter().map(|ty| vaguer(&mut random, ty)).collect();
            let infer = |types: &[Type]| infer_types(op, types, &vec![None; count], attrs.clone(), None);
            let case = || format!("{op} {attrs:?} of {exact:?} as {vague:?}");
            let found = evaluate_op(op, &attrs, &args, &[], limits);
            match (infer(&exact), &found) {
                (Ok((_, types)), Ok(results)) => {
                    right += 1;
                    assert!(results.iter().map(Datum::ty).zip(&types).all(|(a, b)| a.fits(b)), "{}", case());
                    // The inferred type is true even if operand types are imprecise.
                    if let Ok((_, types)) = infer(&vague) {
                        assert!(results.iter().map(Datum::ty).zip(&types).all(|(a, b)| holds(&a, b)), "{}", case());
                    } else {
                        assert_eq!(op.name, "squeeze", "{}", case());
                    }
                }
                (Err(why), Ok(_)) => panic!("{} is right but for {why}", case()),
                (Ok(_), Err(e)) => {
                    wrong += 1;
                    let values = matches!(e.kind, EvalErrorKind::Index | EvalErrorKind::Limit | EvalErrorKind::Value);
                    assert!(values, "{}: {e}", case());
                }
                (Err(_), Err(e)) => {
                    wrong += 1;
                    assert!(e.to_string().contains(op.name), "{}: {e}", case());
                }
            }
        }
        assert!(right > 30, "{op}: {right} right, {wrong} wrong");
    }
}

/// Whether a value of type `ty` may have type `said`, with symbols of extents as [`vaguer`] names them.
fn holds(ty: &Type, said: &Type) -> bool {
    let dim = |(a, b): (&Dim, &Dim)| match b {
        Dim::Sym(name) => name.as_str() == format!("n{a}"),
        other => a.may_equal(*other),
    };
    ty.fits(said) && ty.dims().iter().zip(said.dims()).all(dim)
}
