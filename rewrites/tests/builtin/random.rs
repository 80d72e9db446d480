//! Random straight-line functions give the same bits before and after each rewrite.

use crate::run;
use proptest::prelude::*;
use proptest::sample::Index;
use rewright_ir::op::Types;
use rewright_ir::*;

/// The extents of the arguments' symbols.
const N: usize = 3;
const M: usize = 2;

/// A planned instruction: its kind, and the sources of its operands.
#[derive(Clone, Debug)]
struct Step {
    kind: u8,
    op: Index,
    operands: [(bool, Index); 3],
    flag: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let operand = (prop::bool::weighted(0.3), any::<Index>());
    let step = (0u8..22, any::<Index>(), [operand.clone(), operand.clone(), operand], any::<bool>());
    let step = step.prop_map(|(kind, op, operands, flag)| Step { kind, op, operands, flag });
    prop::collection::vec(step, 1..24)
}

/// Numbers for which identities fail that only seem right.
fn specials(dtype: DType) -> Vec<Scalar> {
    const FLOATS: [f64; 14] =
        [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 2.0, -0.25, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, 5e-324, 0.1];
    const INTS: [i64; 11] = [0, 1, -1, 2, 64, 3, 7, 100, i64::MIN, i64::MAX, 255];
    match dtype.kind() {
        Kind::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        Kind::Int => INTS.iter().map(|&i| Scalar::I64(i).cast(dtype)).collect(),
        Kind::Float => FLOATS.iter().map(|&x| Scalar::F64(x).cast(dtype)).collect(),
        Kind::Complex => {
            let parts = FLOATS.iter().zip(FLOATS.iter().cycle().skip(5));
            parts.map(|(&re, &im)| Scalar::C128(Complex64::new(re, im)).cast(dtype)).collect()
        }
    }
}

/// The parameters: scalars and arrays of several dtypes.
fn params() -> Vec<(String, Type)> {
    let shapes: [Option<Vec<Dim>>; 6] = [
        None,
        Some(vec![Dim::from("n")]),
        Some(vec![Dim::from("m"), Dim::from("n")]),
        Some(vec![Dim::Any]),
        Some(vec![Dim::Const(1)]),
        Some(vec![]),
    ];
    let dtypes = [DType::F64, DType::I64, DType::Bool, DType::F32, DType::U8, DType::C128, DType::I8, DType::U64];
    (0..14).map(|i| (format!("p{i}"), Type::from_parts(dtypes[i * 3 % 8], shapes[(i + i / 8) % 6].clone()))).collect()
}

fn arguments(which: &[Index], any_extent: usize) -> Vec<Datum> {
    let argument = |(i, (_, ty)): (usize, (String, Type))| {
        let choices = specials(ty.dtype());
        let pick = |at: usize| *which[(i * 7 + at) % which.len()].get(&choices);
        let extent = |dim: &Dim| match *dim {
            Dim::Const(n) => n as usize,
            Dim::Any => any_extent,
            Dim::Sym(name) => {
                if name == "n" {
                    N
                } else {
                    M
                }
            }
        };
        let shape: Vec<usize> = ty.dims().iter().map(extent).collect();
        match ty.is_array() {
            true => Datum::Array(Array::from_fn(ty.dtype(), &shape, pick).unwrap()),
            false => Datum::Scalar(pick(0)),
        }
    };
    params().into_iter().enumerate().map(argument).collect()
}

/// Builds the valid instructions of the steps.
struct Builder {
    b: FuncBuilder<'static>,
    values: Vec<Value>,
}

impl Builder {
    fn value(&self, at: &Index) -> Value {
        // Prefers late values: rewrites match chains.
        let n = self.values.len();
        self.values[at.index(n * n).isqrt()]
    }

    fn arg(&self, (constant, at): &(bool, Index)) -> Arg {
        if !constant {
            return self.value(at).into();
        }
        let all: Vec<Scalar> = DType::ALL.into_iter().flat_map(specials).collect();
        Arg::Literal(Literal::Typed(*at.get(&all)))
    }

    fn push(&mut self, name: &str, args: &[Arg], attrs: Attrs) {
        if let Ok(inst) = self.b.inst(name, args.iter().copied(), attrs, []) {
            self.values.extend(self.b.func().inst(inst).results.iter().copied());
        }
    }

    fn step(&mut self, step: &Step) {
        let (x, y) = (self.arg(&step.operands[0]), self.arg(&step.operands[1]));
        match step.kind {
            // Repeats an op, and applies it to its own result.
            0..4 => {
                let value = self.value(&step.operands[0].1);
                let Some(def) = self.b.func().def_inst(value) else { return };
                let data = self.b.func().inst(def).clone();
                let args: Vec<Arg> = match step.flag && data.args.len() == 1 {
                    true => vec![value.into()],
                    false if step.operands[1].0 => data.args.iter().rev().map(|&v| v.into()).collect(),
                    false => data.args.iter().map(|&v| v.into()).collect(),
                };
                self.push(data.op.name, &args, data.attrs);
            }
            // Repeats a read after a store.
            4 => {
                let value = self.value(&step.operands[0].1);
                let data = self.b.func().def_inst(value).map(|def| self.b.func().inst(def).clone());
                let written = data.as_ref().filter(|_| step.flag).map_or(value, |data| data.args[0]);
                self.push("store", &[written.into(), y], Attrs::new());
                if let Some(data) = data {
                    let args: Vec<Arg> = data.args.iter().map(|&v| v.into()).collect();
                    self.push(data.op.name, &args, data.attrs);
                }
            }
            5 => self.push("print", &[self.value(&step.operands[0].1).into()], Attrs::new()),
            6 | 7 => self.view(step),
            8 => self.push("cast", &[x], Attrs::new().with("to", Attr::DType(*step.op.get(&DType::ALL)))),
            20 | 21 => self.reduction(step),
            // Casts have to be frequent, so that two or more meet.
            9 | 10 => {
                let last = *self.values.last().unwrap();
                self.push("cast", &[last.into()], Attrs::new().with("to", Attr::DType(*step.op.get(&DType::ALL))));
            }
            11 | 12 => {
                let ops = ["neg", "not", "invert", "conj", "abs", "floor", "pos", "real", "rint", "fabs"];
                self.push(ops[step.op.index(ops.len())], &[self.values.last().copied().unwrap().into()], Attrs::new());
            }
            13 | 14 => {
                let ops = [
                    "add", "sub", "mul", "bitand", "bitor", "bitxor", "and", "or", "eq", "minimum", "div", "floordiv",
                    "mod", "divmod", "power",
                ];
                let value = self.value(&step.operands[0].1);
                let other = if step.flag { y } else { value.into() };
                self.push(ops[step.op.index(ops.len())], &[value.into(), other], Attrs::new());
            }
            _ => {
                let ops: Vec<Op> = registry()
                    .ops()
                    .map(|(op, _)| op)
                    .filter(|op| op.is_elementwise() && op.attrs.is_empty())
                    .collect();
                let op = step.op.get(&ops);
                let Arity::Exactly(n) = op.arity else { return };
                let args: Vec<Arg> = step.operands.iter().take(n).map(|o| self.arg(o)).collect();
                self.push(op.name, &args, Attrs::new());
            }
        }
    }

    /// A reduction or a scan, usually of a view.
    fn reduction(&mut self, step: &Step) {
        let mut value = self.value(&step.operands[0].1);
        if step.flag {
            self.view(step);
            value = *self.values.last().unwrap();
        }
        let rank = self.b.func().ty(value).rank();
        let axis = step.operands[2].1.index(rank.max(1)) as i64;
        let axes = Some([axis]).filter(|_| !step.operands[1].0);
        let attrs = axes.map_or(Attrs::new(), |axes| Attrs::new().with("axes", Attr::Ints(axes.into())));
        let keeps = step.operands[2].0;
        let ops =
            ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "cumsum", "cumprod", "cummin", "cummax"];
        let op = ops[step.operands[1].1.index(ops.len())];
        if op.starts_with("cum") {
            let attrs = Attrs::new().with("axis", Attr::Int(axis)).with("exclusive", Attr::Bool(keeps));
            let attrs = attrs.with("reverse", Attr::Bool(step.operands[1].0 && step.flag));
            return self.push(op, &[value.into()], attrs);
        }
        let attrs = if keeps { attrs.with("keepdims", Attr::Bool(true)) } else { attrs };
        self.push(op, &[value.into()], attrs);
    }

    fn view(&mut self, step: &Step) {
        let value = self.value(&step.operands[0].1);
        let ty = self.b.func().ty(value).clone();
        let axis = step.operands[1].1.index(ty.rank().max(1)) as i64;
        let ints = |name: &str, list: Vec<i64>| Attrs::new().with(name, Attr::Ints(list.into()));
        let rotated: Vec<i64> = (0..ty.rank() as i64).map(|a| (a + 1) % ty.rank() as i64).collect();
        let dims = |dims: Vec<Dim>| Attrs::new().with("dims", Attr::Dims(dims.into()));
        let slices = |start| Attrs::new().with("at", Attr::Slices([SliceSpec { start, ..SliceSpec::FULL }].into()));
        let (name, attrs) = match step.op.index(14) {
            0 => ("transpose", Attrs::new()),
            1 => ("transpose", ints("perm", rotated)),
            2 => ("flip", Attrs::new()),
            3 => ("flip", ints("axes", vec![axis - ty.rank() as i64])),
            4 => ("reshape", dims(ty.dims().to_vec())),
            5 => ("reshape", dims(vec![Dim::Any])),
            6 => ("expand_dims", ints("axes", vec![axis])),
            7 => ("squeeze", ints("axes", vec![axis])),
            8 => ("to_array", Attrs::new()),
            9 => ("item", Attrs::new()),
            10 => ("slice", slices(None)),
            11 => ("slice", slices(Some(1))),
            12 => ("broadcast_in_dim", dims(ty.dims().to_vec())),
            _ => ("broadcast_in_dim", dims([&[Dim::Const(2)], ty.dims()].concat())),
        };
        self.push(name, &[value.into()], attrs);
    }
}

/// A function of the steps, which returns some of its values and ends some others after their last use.
fn build(steps: &[Step]) -> Function {
    let params = params();
    let list: Vec<(&str, Type)> = params.iter().map(|(name, ty)| (name.as_str(), ty.clone())).collect();
    let b = FuncBuilder::new("f", &list, vec![]);
    let mut builder = Builder { values: b.func().params().to_vec(), b };
    steps.iter().for_each(|step| builder.step(step));
    let mut func = builder.b.finish();
    let returned: Vec<Value> = builder.values[list.len()..].iter().copied().step_by(2).collect();
    func.results = returned.iter().map(|&v| func.ty(v).clone()).collect();
    let op = |name| registry().op(name).unwrap();
    let entry = func.entry().unwrap();
    let ret = func.create_inst(op("ret"), returned.clone(), Attrs::new(), [], Types::new(), Loc::default());
    func.append(entry, ret);
    for value in builder.values.into_iter().skip(1).step_by(3).filter(|v| !returned.contains(v)) {
        let last = func
            .users(value)
            .into_iter()
            .chain(func.def_inst(value))
            .reduce(|a, b| if func.comes_before(a, b) { b } else { a });
        let Some(next) = last.and_then(|last| func.next_inst(last)) else { continue };
        let del = func.create_inst(op("del"), [value], Attrs::new(), [], Types::new(), Loc::default());
        func.insert_before(next, del);
    }
    func
}

type Bits = (Type, Vec<(u64, u64)>);

/// The observable content of a value: dtype, shape, and the bits of each element. All NaNs are equal,
/// because IEEE 754 does not say which NaN an operation gives.
fn bits(datum: &Datum) -> Bits {
    let part = |x: f64, bits: u64| if x.is_nan() { u64::MAX } else { bits };
    let of = |s: Scalar| {
        let (z, (a, b)) = (s.to_c128(), s.bits());
        if s.dtype().kind() < Kind::Float { (a, b) } else { (part(z.re, a), part(z.im, b)) }
    };
    (datum.ty(), datum.to_array().iter().map(of).collect())
}

fn told(outcome: &Outcome) -> (Vec<Bits>, &[String]) {
    (outcome.results.iter().chain(&outcome.args).map(bits).collect(), &outcome.printed)
}

fn same_after(pipeline: &str, steps: &[Step], which: &[Index], any_extent: usize) -> Result<(), TestCaseError> {
    let func = build(steps);
    prop_assert_eq!(verify_function(&func, None).map_err(|e| e.to_string()), Ok(()));
    let mut module = Module::new();
    module.insert(func.clone());
    run(pipeline, &mut module);
    let optimized = module.functions().next().unwrap();
    let args = arguments(which, any_extent);
    // An op that fails may be removed if its result is not needed.
    if let Ok(before) = evaluate_function(&func, args.clone(), Limits::default()) {
        let after = evaluate_function(optimized, args, Limits::default());
        let after = after
            .map_err(|e| TestCaseError::fail(format!("{e}\n{}{}", print_function(&func), print_function(optimized))))?;
        prop_assert_eq!(told(&before), told(&after), "{}{}", print_function(&func), print_function(optimized));
    }
    Ok(())
}

exact! {
    (steps in steps(), which in prop::collection::vec(any::<Index>(), 64), extent in 1usize..4)
        => |pipeline| same_after(pipeline, &steps, &which, extent);
    folding_is_exact: "fold";
    canonicalizing_is_exact: "canonicalize";
    sharing_is_exact: "cse";
    removing_is_exact: "dce";
    cheaper_ops_are_exact: "strength-reduction";
    reducing_what_views_show_is_exact: "reduce-views";
    reducing_what_is_computed_is_exact: "array-expr, reduce-fusion, dce";
    scanning_what_is_computed_is_exact: "array-expr, scan-fusion, dce";
    finishing_where_rows_are_combined_is_exact: "array-expr, reduce-fusion, scan-fusion, reduce-finish, dce";
    all_together_are_exact: "fold, canonicalize, strength-reduction, reduce-views, cse, dce";
}
