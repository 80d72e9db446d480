//! Random functions: ops of every kind on values of every type, names that need quotes, branches and loops.

use super::expression::random_expression;
use rewright_ir::*;
use std::collections::BTreeSet;
use std::sync::Arc;

pub struct Rng(fastrand::Rng);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(fastrand::Rng::with_seed(seed))
    }
    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }
    pub fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n.max(1))
    }
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low) as usize) as i64
    }
    pub fn dtype(&mut self) -> DType {
        *self.pick(&DType::ALL)
    }
    /// Arbitrary bits, or a small number.
    pub fn scalar(&mut self, dtype: DType) -> Scalar {
        match self.below(3) {
            0 => Scalar::from_bits(dtype, (self.next(), self.next())).cast(dtype),
            1 => Scalar::F64(self.range(-20, 20) as f64 / 4.0).cast(dtype),
            _ => {
                *self.pick(&[0.0, -0.0, 1.0, f64::INFINITY, f64::NAN, 1e-310, 0.1].map(|x| Scalar::F64(x).cast(dtype)))
            }
        }
    }
}

/// Records the features that random functions covered.
#[derive(Default)]
pub struct Coverage {
    pub ops: BTreeSet<&'static str>,
    pub nested: usize,
    pub reducing: usize,
    pub scanning: usize,
    pub gathering: usize,
}

const NAMES: [&str; 14] =
    ["x", "y", "acc", "t0", "i", "a b", "7", "true", "inf", "ret", "é", "say \"hi\"", "tab\t", "reduce"];
const SYMBOLS: [&str; 4] = ["n", "m", "two words", "i"];

/// A function, and one that calls it.
pub fn module(rng: &mut Rng, size: usize, coverage: &mut Coverage) -> Module {
    let mut module = Module::new();
    for name in ["callee", "scalar fn"] {
        let scalars = name == "scalar fn";
        let func = Generator::new(rng, name, &module, coverage, scalars).function(size / 4);
        if verify_function(&func, Some(&module)).is_ok() {
            module.insert(func);
        }
    }
    let func = Generator::new(rng, "main", &module, coverage, false).function(size);
    verify_function(&func, Some(&module)).unwrap_or_else(|e| panic!("{e}\n{func}"));
    module.insert(func);
    module
}

pub struct Generator<'r, 'm> {
    pub rng: &'r mut Rng,
    pub coverage: &'r mut Coverage,
    module: &'m Module,
    builder: FuncBuilder<'m>,
    /// The values that are usable at this point.
    pub scope: Vec<Value>,
    scalars_only: bool,
}

impl<'r, 'm> Generator<'r, 'm> {
    fn new(
        rng: &'r mut Rng,
        name: &str,
        module: &'m Module,
        coverage: &'r mut Coverage,
        scalars_only: bool,
    ) -> Generator<'r, 'm> {
        let types: Vec<Type> = (0..rng.below(6) + 2)
            .map(|i| match i {
                0 if !scalars_only => Type::array(DType::I64, [Dim::from("n")]),
                1 if !scalars_only => Type::array(DType::F64, [Dim::from("n"), Dim::from("m")]),
                _ => random_type(rng, scalars_only),
            })
            .collect();
        let params: Vec<(&str, Type)> = types.into_iter().map(|t| (*rng.pick(&NAMES), t)).collect();
        let results = vec![params[0].1.clone()];
        let builder = FuncBuilder::new(name, &params, results).in_module(module);
        let scope = builder.func().params().to_vec();
        Generator { rng, coverage, module, builder, scope, scalars_only }
    }

    pub fn ty(&self, value: Value) -> Type {
        self.builder.func().ty(value).clone()
    }

    /// Instructions, followed by a loop, a branch and a switch with some probability.
    fn function(mut self, size: usize) -> Function {
        let first = self.scope[0];
        self.instructions(size / 2);
        if self.rng.one_in(2) {
            self.looping(size / 4);
        }
        if self.rng.one_in(2) {
            self.branching(size / 4);
        }
        self.instructions(size / 4);
        if self.rng.one_in(3) && !self.scalars_only {
            self.raising();
        }
        self.coverage.ops.insert("ret");
        self.builder.ret([first]).unwrap();
        let mut func = self.builder.finish();
        let insts: Vec<Inst> = func.blocks().flat_map(|b| func.insts(b)).collect();
        // Branches pass constants, too.
        for &inst in &insts {
            let first = func.inst(inst).args.len();
            for (k, value) in func.inst(inst).uses().enumerate().collect::<Vec<_>>().into_iter().skip(first) {
                if func.ty(value).is_scalar() && self.rng.one_in(2) {
                    let given = self.rng.scalar(func.ty(value).dtype());
                    let given = func.constant(given);
                    func.set_use(inst, k, given);
                }
            }
        }
        let values: Vec<Value> = insts.iter().flat_map(|&i| func.inst(i).results.clone()).collect();
        for value in values {
            if self.rng.one_in(3) {
                let name = *self.rng.pick(&NAMES);
                func.set_value_name(value, Some(name.into()));
            }
        }
        func
    }

    fn instructions(&mut self, count: usize) {
        for _ in 0..count {
            self.instruction();
        }
    }

    fn instruction(&mut self) {
        if self.rng.one_in(4) && !self.scalars_only {
            if let Some((expr, args)) = random_expression(self) {
                let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
                self.push("arrayexpr", args.into_iter().map(Arg::Value).collect(), attrs);
            }
            return;
        }
        let ops: Vec<Op> = registry()
            .ops()
            .map(|(op, _)| op)
            .filter(|op| !op.is_terminator() && op.name != "del" && op.name != "arrayexpr")
            .collect();
        // Ops that did not appear yet come first; otherwise ops with constrained attributes would never
        // appear.
        let new: Vec<Op> = ops.iter().copied().filter(|op| !self.coverage.ops.contains(op.name)).collect();
        let op = if new.is_empty() || self.rng.one_in(2) { *self.rng.pick(&ops) } else { *self.rng.pick(&new) };
        for _ in 0..30 {
            let count = match op.arity {
                Arity::Exactly(n) => n,
                Arity::AtLeast(n) => n + self.rng.below(3),
            };
            let mut args: Vec<Arg> = (0..count).map(|_| self.arg()).collect();
            if op.name == "store" {
                args[0] = Arg::Value(self.scope[self.rng.below(2)]);
            }
            let rank = args.first().map_or(2, |a| if let Arg::Value(v) = a { self.ty(*v).rank() } else { 0 });
            let Some(attrs) = self.attrs(op, rank, &mut args) else { return };
            if self.push(op.name, args, attrs) {
                return;
            }
        }
    }

    /// Appends an instruction if it is valid. True if it was appended.
    fn push(&mut self, op: &str, args: Vec<Arg>, attrs: Attrs) -> bool {
        let Ok(inst) = self.builder.inst(op, args, attrs, []) else { return false };
        let data = self.builder.func().inst(inst);
        self.coverage.ops.insert(data.op.name);
        self.scope.extend(data.results.iter().copied());
        true
    }

    fn arg(&mut self) -> Arg {
        if self.rng.one_in(4) {
            let dtype = self.rng.dtype();
            return Arg::Literal(match self.rng.below(5) {
                0 => Literal::Typed(self.rng.scalar(dtype)),
                1 => Literal::Bool(self.rng.one_in(2)),
                2 => Literal::Float(self.rng.scalar(DType::F64).to_f64()),
                3 => Literal::Complex(1.5, -0.0),
                _ => Literal::Int(self.rng.range(-3, 9).into()),
            });
        }
        Arg::Value(*self.rng.pick(&self.scope))
    }

    /// Attribute values for an op's schema, and the arguments that a call needs.
    fn attrs(&mut self, op: Op, rank: usize, args: &mut Vec<Arg>) -> Option<Attrs> {
        let mut attrs = Attrs::new();
        for def in op.attrs {
            let needed = def.presence == Presence::Required;
            if !needed && self.rng.one_in(2) {
                continue;
            }
            let value = match def.kind {
                AttrKind::Bool => Attr::Bool(self.rng.one_in(2)),
                AttrKind::Int => Attr::Int(self.rng.range(-1, 4)),
                AttrKind::Str if matches!(def.name, "style" | "name") => {
                    Attr::Str((*self.rng.pick(&["dense", "elements"])).into())
                }
                AttrKind::Str if def.name == "monoid" => Attr::Str((*self.rng.pick(&["sum", "max", "all"])).into()),
                AttrKind::Str => {
                    Attr::Str((*self.rng.pick(&["", "plain", "\"q\" \\ \n\t\u{1}", "日本", "ValueError"])).into())
                }
                AttrKind::Ints => Attr::Ints(self.ints(rank).into()),
                AttrKind::Dims => Attr::Dims((0..self.rng.below(4)).map(|_| random_dim(self.rng)).collect()),
                AttrKind::Slices => Attr::Slices((0..rank).map(|_| self.slice()).collect()),
                AttrKind::DType => Attr::DType(self.rng.dtype()),
                AttrKind::Scalar => {
                    let dtype = self.rng.dtype();
                    Attr::Scalar(self.rng.scalar(dtype))
                }
                AttrKind::Func => Attr::Func(self.callee(op, args)?),
                AttrKind::Array => Attr::Array(Arc::new(self.array())),
                AttrKind::Expr => return None,
            };
            attrs.set(def.name.into(), value);
        }
        Some(attrs)
    }

    /// Distinct small numbers in random order.
    fn ints(&mut self, rank: usize) -> Vec<i64> {
        let mut all: Vec<i64> = (0..rank as i64).collect();
        for i in (1..all.len()).rev() {
            all.swap(i, self.rng.below(i + 1));
        }
        if self.rng.one_in(2) {
            all.truncate(self.rng.below(rank + 1));
        }
        all
    }

    fn slice(&mut self) -> SliceSpec {
        let mut part = || self.rng.one_in(2).then(|| self.rng.range(-3, 4));
        let (start, stop) = (part(), part());
        SliceSpec { start, stop, step: *self.rng.pick(&[1, 1, 2, -1, -3]) }
    }

    fn array(&mut self) -> Array {
        let dtype = self.rng.dtype();
        let shape: Vec<usize> = (0..self.rng.below(4)).map(|_| self.rng.below(4)).collect();
        let count: usize = shape.iter().product();
        let elements: Vec<Scalar> = (0..count).map(|_| self.rng.scalar(dtype)).collect();
        Array::from_fn(dtype, &shape, |i| elements[i]).unwrap()
    }

    fn callee(&mut self, op: Op, args: &mut Vec<Arg>) -> Option<Name> {
        let names: Vec<Name> = self.module.names().collect();
        let scalar = op.name == "ufunc";
        let name = *names.iter().find(|n| (***n == *"scalar fn") == scalar)?;
        let signature = self.module.signature(name)?;
        args.clear();
        for ty in &signature.params {
            let fitting: Vec<Value> = self.scope.iter().copied().filter(|&v| self.ty(v) == *ty).collect();
            args.push(match fitting.is_empty() {
                false => Arg::Value(*self.rng.pick(&fitting)),
                true if ty.is_scalar() => Arg::Literal(Literal::Typed(self.rng.scalar(ty.dtype()))),
                true => return None,
            });
        }
        Some(name)
    }

    // --- Control flow ---------------------------------------------------------------------------

    /// A loop that carries two values.
    fn looping(&mut self, size: usize) {
        let carried = *self.rng.pick(&self.scope);
        let ty = self.bound(self.ty(carried));
        let header = self.builder.block("loop", &[("i", Type::scalar(DType::I64)), ("carried", ty)]);
        let body = self.builder.block("a body", &[]);
        let done = self.builder.block("true", &[]);
        let zero = self.constant(Scalar::I64(0));
        self.end("jump", vec![], Attrs::new(), &[(header, &[zero, carried])]);
        self.builder.switch_to(header);
        let i = self.builder.block_param(header, 0);
        let more = self.builder.op("lt", [Arg::Value(i), 3.into()]).unwrap();
        self.end("br_if", vec![more], Attrs::new(), &[(body, &[]), (done, &[])]);
        self.builder.switch_to(body);
        let outside = self.scope.len();
        self.scope.extend([i, self.builder.block_param(header, 1)]);
        self.instructions(size);
        let next = self.builder.op("add", [Arg::Value(i), 1.into()]).unwrap();
        self.end("jump", vec![], Attrs::new(), &[(header, &[next, carried])]);
        self.scope.truncate(outside);
        self.builder.switch_to(done);
    }

    /// The type with `?` for symbols that the function's parameters don't bind, as block parameters require.
    fn bound(&self, ty: Type) -> Type {
        if !ty.is_array() {
            return ty;
        }
        let func = self.builder.func();
        let is_bound = |dim: &Dim| func.params().iter().any(|&p| func.ty(p).dims().contains(dim));
        let known = |&dim: &Dim| if matches!(dim, Dim::Sym(_)) && !is_bound(&dim) { Dim::Any } else { dim };
        let dims: Vec<Dim> = ty.dims().iter().map(known).collect();
        Type::array(ty.dtype(), dims).with_style(ty.style())
    }

    fn branching(&mut self, size: usize) {
        let join = self.builder.block("b1", &[("x", Type::scalar(DType::F32))]);
        let cases: Vec<Block> = (0..3).map(|_| self.builder.block("case", &[])).collect();
        let which = self.constant(Scalar::I64(2));
        let nan = self.constant(Scalar::F32(f32::from_bits(0xffc0_0001)));
        let attrs = Attrs::new().with("cases", Attr::Ints([-7, 2, i64::MAX].into()));
        let targets: [(Block, &[Value]); 4] = [(cases[0], &[]), (cases[1], &[]), (cases[2], &[]), (join, &[nan])];
        self.end("switch", vec![which], attrs, &targets);
        for case in cases {
            self.builder.switch_to(case);
            let outside = self.scope.len();
            self.instructions(size / 3);
            let given = self.constant(Scalar::F32(0.1));
            self.end("jump", vec![], Attrs::new(), &[(join, &[given])]);
            self.scope.truncate(outside);
        }
        self.builder.switch_to(join);
        self.scope.push(self.builder.block_param(join, 0));
    }

    /// A block that raises, and a `del` on the other path.
    fn raising(&mut self) {
        let (bad, good) = (self.builder.block("bad", &[]), self.builder.block("good", &[]));
        let flag = self.constant(Scalar::Bool(true));
        self.end("br_if", vec![flag], Attrs::new(), &[(bad, &[]), (good, &[])]);
        self.builder.switch_to(bad);
        let attrs =
            Attrs::new().with("kind", Attr::Str("ValueError".into())).with("message", Attr::Str("not \"good\"".into()));
        self.end("raise", vec![], attrs, &[]);
        self.builder.switch_to(good);
        let last = self.scope[self.scope.len() - 1];
        if last != self.scope[0] && self.push("del", vec![Arg::Value(last)], Attrs::new()) {
            self.scope.pop();
        }
    }

    fn constant(&mut self, scalar: Scalar) -> Value {
        let to = Attrs::new().with("to", Attr::DType(scalar.dtype()));
        self.builder.op_with("cast", [Arg::Literal(Literal::Typed(scalar))], to).unwrap()
    }

    fn end(&mut self, op: &str, args: Vec<Value>, attrs: Attrs, targets: &[(Block, &[Value])]) {
        let targets =
            targets.iter().map(|(block, args)| Target { block: *block, args: args.iter().copied().collect() });
        let inst = self.builder.inst(op, args, attrs, targets.collect::<Vec<_>>()).unwrap();
        self.coverage.ops.insert(self.builder.func().inst(inst).op.name);
    }
}

pub fn random_dim(rng: &mut Rng) -> Dim {
    match rng.below(5) {
        0 => Dim::Any,
        1 => Dim::Const(rng.below(4) as u64),
        _ => Dim::from(*rng.pick(&SYMBOLS)),
    }
}

fn random_type(rng: &mut Rng, scalars_only: bool) -> Type {
    let dtype = rng.dtype();
    if scalars_only || rng.one_in(4) {
        return Type::scalar(dtype);
    }
    Type::array(dtype, (0..rng.below(4)).map(|_| random_dim(rng)).collect::<Vec<_>>())
}
