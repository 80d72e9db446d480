//! Random well-typed programs: any dtype, ranks 0 to 4, extents 0 and 1, strided operands, special values, shared values.
//!
//! A program is decoded from a list of bytes, each a choice; when they run out every choice is the first. So a shorter list, or
//! smaller bytes, is a simpler program, and proptest shrinks programs by shrinking bytes.

use rewright_ir::{
    Array, Attr, Attrs, DType, Datum, Dim, FuncBuilder, Literal, Module, Name, Op, Scalar, SliceSpec, Type, Value,
    registry,
};

/// A list of choices.
pub struct Choices<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Choices<'a> {
    /// Choices from bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Choices { bytes, at: 0 }
    }
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes.get(self.at - 1).copied().unwrap_or(0)
    }
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        let wide = if n > 256 { self.byte() as usize * 256 + self.byte() as usize } else { self.byte() as usize };
        wide % n.max(1)
    }
    fn one_in(&mut self, n: usize) -> bool {
        n > 0 && self.below(n) == n - 1
    }
    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
    fn left(&self) -> bool {
        self.at < self.bytes.len()
    }
}

/// A program with arguments for one call.
pub struct Program {
    /// The module; the program is its function `f`.
    pub module: Module,
    /// One for each parameter.
    pub args: Vec<Datum>,
}

/// Decodes a program.
pub fn program(bytes: &[u8]) -> Program {
    let mut c = Choices::new(bytes);
    // The extents that everything broadcasts against, aligned at the last axis.
    let extents: Vec<usize> = (0..4).map(|_| c.pick(&[3, 2, 1, 5, 0, 17, 4, 33])).collect();
    let mut params: Vec<(String, Type)> = Vec::new();
    let mut args = Vec::new();
    for number in 0..1 + c.below(4) {
        let dtype = c.pick(&DType::ALL);
        let (ty, datum) = if c.one_in(6) {
            (Type::scalar(dtype), Datum::Scalar(scalar(&mut c, dtype)))
        } else {
            let (ty, array) = array(&mut c, dtype, &extents);
            (ty, Datum::Array(array))
        };
        params.push((format!("p{number}"), ty));
        args.push(datum);
    }
    let named: Vec<(&str, Type)> = params.iter().map(|(n, t)| (n.as_str(), t.clone())).collect();
    let mut builder = FuncBuilder::new("f", &named, Vec::new());
    let mut values: Vec<Value> = (0..params.len()).map(|i| builder.param(i)).collect();
    let ops: Vec<Op> = registry().ops().map(|(op, _)| op).filter(|op| op.is_elementwise()).collect();
    let mut tries = 0;
    while c.left() && tries < 40 {
        tries += 1;
        step(&mut c, &mut builder, &mut values, &ops);
    }
    let mut results: Vec<Value> = Vec::new();
    for _ in 0..1 + c.below(3) {
        // Mostly the latest values.
        let back = c.below(values.len().min(4));
        results.push(values[values.len() - 1 - back]);
    }
    let types: Vec<Type> = results.iter().map(|&v| builder.func().ty(v).clone()).collect();
    builder.ret(results).expect("values can be returned");
    let mut function = builder.finish();
    function.results = types;
    let mut module = Module::new();
    module.insert(function);
    Program { module, args }
}

/// Appends one instruction, if the choice is well-typed.
fn step(c: &mut Choices<'_>, builder: &mut FuncBuilder<'_>, values: &mut Vec<Value>, ops: &[Op]) {
    let kind = c.below(16);
    if kind >= 13 {
        return other(c, builder, values);
    }
    let op = c.pick(ops);
    let arity = match op.arity {
        rewright_ir::Arity::Exactly(n) | rewright_ir::Arity::AtLeast(n) => n,
    };
    let mut attrs = Attrs::new();
    for def in op.attrs {
        match def.kind {
            rewright_ir::AttrKind::DType => attrs.set(Name::new(def.name), Attr::DType(c.pick(&DType::ALL))),
            rewright_ir::AttrKind::Int => attrs.set(Name::new(def.name), Attr::Int(c.below(9) as i64 - 3)),
            _ => {}
        }
    }
    let args: Vec<rewright_ir::Arg> =
        (0..arity).map(|_| if c.one_in(5) { literal(c).into() } else { pick_value(c, values).into() }).collect();
    if let Ok(inst) = builder.inst(op.name, args, attrs, []) {
        let results = builder.func().inst(inst).results.clone();
        values.extend(results);
    }
}

/// Values made late are picked more often, so that chains form.
fn pick_value(c: &mut Choices<'_>, values: &[Value]) -> Value {
    let n = values.len();
    if c.one_in(3) { values[c.below(n)] } else { values[n - 1 - c.below(n.min(3))] }
}

/// A view, a reduction, a store or a constructor.
fn other(c: &mut Choices<'_>, builder: &mut FuncBuilder<'_>, values: &mut Vec<Value>) {
    let value = pick_value(c, values);
    let rank = builder.func().ty(value).rank();
    let ints = |list: Vec<i64>| Attr::Ints(list.into());
    let (name, args, attrs): (&str, Vec<rewright_ir::Arg>, Attrs) = match c.below(9) {
        0 => {
            let mut perm: Vec<i64> = (0..rank as i64).collect();
            if rank > 1 {
                let (a, b) = (c.below(rank), c.below(rank));
                perm.swap(a, b);
            }
            ("transpose", vec![value.into()], Attrs::new().with("perm", ints(perm)))
        }
        1 => ("expand_dims", vec![value.into()], Attrs::new().with("axes", ints(vec![c.below(rank + 1) as i64]))),
        2 => ("flip", vec![value.into()], Attrs::new()),
        3 => {
            let spec = SliceSpec {
                start: (c.below(2) == 1).then(|| c.below(5) as i64 - 2),
                stop: (c.below(2) == 1).then(|| c.below(7) as i64 - 3),
                step: c.pick(&[1, 2, -1, -3]),
            };
            ("slice", vec![value.into()], Attrs::new().with("at", Attr::Slices([spec].into())))
        }
        4 => {
            let name = c.pick(&["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"]);
            let mut attrs = Attrs::new();
            if rank > 0 && c.below(2) == 1 {
                attrs.set(Name::new("axes"), ints(vec![c.below(rank) as i64]));
            }
            if c.below(2) == 1 {
                attrs.set(Name::new("keepdims"), Attr::Bool(true));
            }
            (name, vec![value.into()], attrs)
        }
        5 => ("store", vec![value.into(), pick_value(c, values).into()], Attrs::new()),
        6 => {
            let mut dims = builder.func().ty(value).dims().to_vec();
            dims.insert(0, Dim::Const(c.pick(&[2, 1, 3])));
            ("broadcast_in_dim", vec![value.into()], Attrs::new().with("dims", Attr::Dims(dims.into())))
        }
        7 => {
            let dims: Vec<Dim> = (0..c.below(3)).map(|_| Dim::Const(c.pick(&[3, 1, 2]))).collect();
            ("full", vec![literal(c).into()], Attrs::new().with("dims", Attr::Dims(dims.into())))
        }
        _ => ("squeeze", vec![value.into()], Attrs::new()),
    };
    if let Ok(inst) = builder.inst(name, args, attrs, []) {
        let results = builder.func().inst(inst).results.clone();
        values.extend(results);
    }
}

fn literal(c: &mut Choices<'_>) -> Literal {
    match c.below(5) {
        0 => Literal::Int(c.pick(&[1, 0, 2, -1, 3, 7, 127, 300])),
        1 => Literal::Float(c.pick(&[1.0, 0.5, -0.0, 0.0, 2.0, -1.5, f64::INFINITY, f64::NAN, 1e-300])),
        2 => Literal::Bool(c.below(2) == 1),
        3 => Literal::Complex(c.pick(&[0.0, 1.0]), c.pick(&[1.0, -2.5])),
        _ => {
            let dtype = c.pick(&DType::ALL);
            Literal::Typed(scalar(c, dtype))
        }
    }
}

/// A scalar: often a special one.
fn scalar(c: &mut Choices<'_>, dtype: DType) -> Scalar {
    let float = |c: &mut Choices<'_>| match c.below(4) {
        0 => c.below(16) as f64 - 4.0,
        1 => {
            let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-310, f64::MAX, -1e-45, 0.1, 1e30];
            c.pick(&special)
        }
        _ => (c.below(65536) as f64 - 32768.0) / 1024.0,
    };
    match dtype.kind() {
        rewright_ir::Kind::Bool => Scalar::Bool(c.below(2) == 1),
        rewright_ir::Kind::Int => match c.below(3) {
            0 => Scalar::I64(c.below(9) as i64 - 2).cast(dtype),
            1 => Scalar::U64(c.pick(&[u64::MAX, 1 << 63, (1 << 63) - 1, 0x8000_0000, 0x7fff_ffff, 0x80, 0x7f]))
                .cast(dtype),
            _ => Scalar::U64((c.below(65536) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).cast(dtype),
        },
        rewright_ir::Kind::Float => Scalar::F64(float(c)).cast(dtype),
        rewright_ir::Kind::Complex => {
            let (re, im) = (float(c), float(c));
            Scalar::C128(rewright_ir::Complex64::new(re, im)).cast(dtype)
        }
    }
}

/// A parameter type and an argument for it: some last axes of the common extents, some of them 1, in any memory order.
fn array(c: &mut Choices<'_>, dtype: DType, extents: &[usize]) -> (Type, Array) {
    let rank = c.pick(&[1, 2, 3, 0, 4, 1, 2]);
    let mut dims = Vec::new();
    let mut shape = Vec::new();
    for (axis, &extent) in extents.iter().enumerate().skip(4 - rank) {
        let one = c.one_in(4);
        let size = if one { 1 } else { extent };
        shape.push(size);
        dims.push(match c.below(3) {
            0 if !one => Dim::Sym(Name::from(format!("n{axis}"))),
            1 => Dim::Any,
            _ => Dim::Const(size as u64),
        });
    }
    (Type::array(dtype, dims), strided(c, dtype, &shape))
}

/// An array of a shape: contiguous, transposed in memory, every second element of a larger one, or reversed.
fn strided(c: &mut Choices<'_>, dtype: DType, shape: &[usize]) -> Array {
    let layout = c.below(4);
    let pool: Vec<Scalar> = (0..1 + c.below(12)).map(|_| scalar(c, dtype)).collect();
    let fill =
        |shape: &[usize]| Array::from_fn(dtype, shape, |i| pool[(i * 7 + i / 5) % pool.len()]).expect("a small array");
    match layout {
        1 => {
            let reversed: Vec<usize> = shape.iter().rev().copied().collect();
            let axes: Vec<usize> = (0..shape.len()).rev().collect();
            fill(&reversed).permuted(&axes)
        }
        2 => {
            let wide: Vec<usize> = shape.iter().map(|&n| 2 * n).collect();
            sliced(fill(&wide), 2)
        }
        3 => sliced(fill(shape), -1),
        _ => fill(shape),
    }
}

/// Every axis sliced by one step; the buffer stays shared.
fn sliced(array: Array, step: isize) -> Array {
    rewright_ir::with_array!(array, |a| {
        let mut a = a;
        for axis in 0..a.ndim() {
            a.slice_axis_inplace(ndarray::Axis(axis), ndarray::Slice::new(0, None, step));
        }
        rewright_ir::Element::wrap(a)
    })
}
