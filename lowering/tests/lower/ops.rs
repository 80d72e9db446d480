//! Every elementwise op that is registered, at every one of its loops: the kernel gives the bits of the reference evaluator, interpreted
//! and compiled, on vectors and without.

use super::call::{Compiled, assert_same};
use super::single::elementwise;
use super::values::{Layout, Random, matrix, special};
use rewright_ir::expr::BodyRef;
use rewright_ir::op::ResolveLoop;
use rewright_ir::{
    Arity, Array, Attr, AttrKind, Attrs, DType, Datum, Dim, Eval, Limits, Loc, Loop, Op, Scalar, Type, evaluate_op,
    registry,
};
use rewright_lowering::internals::kernel::{Binary, KOp};

type DTypes = fn(DType) -> bool;

/// The ops that are computed by their reference meaning, point by point: at which dtypes, and why.
const BY_REFERENCE: &[(&str, DTypes, &str)] = &[
    ("gcd", DType::is_int, "a loop"),
    ("lcm", DType::is_int, "a loop"),
    ("power", DType::is_int, "negative exponents are errors"),
];

fn by_reference(op: Op, dtype: DType) -> bool {
    BY_REFERENCE.iter().any(|(names, at, _)| names.split(' ').any(|n| n == op.name) && at(dtype))
}

/// Attribute lists to try an op with: every dtype, and several integers.
fn attr_choices(op: Op) -> Vec<Attrs> {
    let mut choices = vec![Attrs::new()];
    for def in op.attrs {
        let values: Vec<Attr> = match def.kind {
            AttrKind::DType => DType::ALL.map(Attr::DType).to_vec(),
            AttrKind::Int => [0, 1, 2, 3, 7, 10, -1, -4].map(Attr::Int).to_vec(),
            other => panic!("`{}` has an attribute of kind {other:?}: say which values to try", op.name),
        };
        let with =
            |attrs: &Attrs| -> Vec<Attrs> { values.iter().map(|v| attrs.clone().with(def.name, v.clone())).collect() };
        choices = choices.iter().flat_map(with).collect();
    }
    choices
}

/// The loops of an op: the dtypes that it computes at.
fn loops(resolve: ResolveLoop, arity: usize, attrs: &Attrs) -> Vec<Loop> {
    let mut found: Vec<Loop> = Vec::new();
    for number in 0..DType::ALL.len().pow(arity as u32) {
        let dtypes: Vec<DType> = (0..arity as u32).map(|k| DType::ALL[number / 13usize.pow(k) % 13]).collect();
        if let Ok(at) = resolve(&dtypes, attrs)
            && at.ins[..] == dtypes[..]
        {
            found.push(at);
        }
    }
    found
}

/// The op on operands, by the reference evaluator and by its kernel.
fn check(op: Op, attrs: &Attrs, compiled: &Compiled, args: &[Datum]) {
    let want = evaluate_op(op, attrs, args, &[], Limits::default());
    for (name, code) in &compiled.codes {
        let got = compiled.run(&**code, args).expect("the call fits");
        match (&want, got) {
            (Ok(want), Ok(got)) => {
                for (want, got) in want.iter().zip(&got) {
                    assert_same(want, got, |at| describe(op, attrs, compiled, args, name, at));
                }
            }
            (Err(want), Err(got)) => assert_eq!((&want.kind, &want.message), (&got.kind, &got.message), "{op} {name}"),
            (want, got) => panic!("{op} {attrs:?} {name}: want {want:?}, got {got:?}"),
        }
    }
}

fn describe(op: Op, attrs: &Attrs, compiled: &Compiled, args: &[Datum], code: &str, at: usize) -> String {
    let shapes: Vec<_> = args.iter().map(Datum::shape).collect();
    let values: Vec<_> = args.iter().map(|a| a.to_array().iter().nth(at.min(a.to_array().len() - 1))).collect();
    format!("{op} {attrs:?}, {code}, shapes {shapes:?}, operands there {values:?}\n{}", compiled.lowered.kernel)
}

fn each_loop(mut each: impl FnMut(Op, &Attrs, &Loop)) -> usize {
    let mut count = 0;
    for (op, _) in registry().ops() {
        let (Eval::Elementwise { resolve, .. }, Arity::Exactly(arity)) = (op.eval, op.arity) else { continue };
        for attrs in attr_choices(op) {
            for at in loops(resolve, arity, &attrs) {
                count += 1;
                each(op, &attrs, &at);
            }
        }
    }
    count
}

#[test]
fn every_loop_has_a_lowering_or_a_reason() {
    let mut missing = Vec::new();
    let count = each_loop(|op, attrs, at| {
        let types: Vec<Type> = at.ins.iter().map(|&d| Type::array(d, [Dim::Any])).collect();
        let expr = elementwise(op, attrs, &types, Loc::default());
        let kernel = rewright_lowering::internals::lower::lower(&expr, &types).unwrap().kernel;
        let lowered = !kernel.insts.iter().any(|i| matches!(i.op, KOp::Reference(_)));
        if lowered == by_reference(op, at.ins[0]) {
            missing.push(format!(
                "{op} at {:?}: {}",
                at.ins,
                if lowered { "is listed for nothing" } else { "missing" }
            ));
        }
    });
    assert!(count > 500, "{count} loops");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Elements for the n-th operand of an op; an integer power has no negative exponent here.
fn pool(op: Op, dtype: DType, operand: usize) -> Vec<Scalar> {
    let mut pool = special(dtype);
    if op.name == "power" && operand == 1 && dtype.is_signed() {
        pool.retain(|s| s.to_i128() >= Some(0));
    }
    pool
}

/// Every pair of special elements, and as many triples.
fn special_tuples(op: Op, at: &Loop) -> Vec<Datum> {
    let pools: Vec<Vec<Scalar>> = at.ins.iter().enumerate().map(|(k, &d)| pool(op, d, k)).collect();
    let count: usize = pools.iter().take(2).map(Vec::len).product();
    let mut random = Random::new(7);
    let operand = |(k, pool): (usize, &Vec<Scalar>)| {
        let element = |n: usize| match k {
            0 => pool[n % pool.len()],
            1 => pool[n / pools[0].len() % pool.len()],
            _ => random.pick(pool),
        };
        Datum::Array(Array::from_fn(at.ins[k], &[count], element).unwrap())
    };
    pools.iter().enumerate().map(operand).collect()
}

#[test]
fn special_elements_in_rows() {
    each_loop(|op, attrs, at| {
        let types: Vec<Type> = at.ins.iter().map(|&d| Type::array(d, [Dim::Any])).collect();
        let compiled = Compiled::new(&elementwise(op, attrs, &types, Loc::default()), &types);
        check(op, attrs, &compiled, &special_tuples(op, at));
    });
}

#[test]
fn every_layout() {
    let mut random = Random::new(11);
    each_loop(|op, attrs, at| {
        let types: Vec<Type> = at.ins.iter().map(|&d| Type::array(d, [Dim::Any, Dim::Any])).collect();
        let compiled = Compiled::new(&elementwise(op, attrs, &types, Loc::default()), &types);
        let pools: Vec<Vec<Scalar>> = at.ins.iter().enumerate().map(|(k, &d)| pool(op, d, k)).collect();
        for shape in [[1, 1], [1, 7], [3, 1], [2, 67], [5, 3], [0, 4], [4, 0]] {
            for layout in Layout::ALL {
                // Each operand as it is, and stretched along one axis or both.
                for stretched in 0..4usize.pow(at.ins.len().min(2) as u32) {
                    if layout != Layout::Rows && stretched % 3 != 1 && stretched != 0 {
                        continue;
                    }
                    let operand = |k: usize| {
                        let (rows, columns) = (stretched >> (2 * k) & 1 == 1, stretched >> (2 * k + 1) & 1 == 1);
                        let shape = [if rows { 1 } else { shape[0] }, if columns { 1 } else { shape[1] }];
                        Datum::Array(matrix(at.ins[k], shape, layout, || random.pick(&pools[k])))
                    };
                    let args: Vec<Datum> = (0..at.ins.len()).map(operand).collect();
                    check(op, attrs, &compiled, &args);
                }
            }
        }
    });
}

#[test]
fn scalars_beside_arrays() {
    let mut random = Random::new(13);
    each_loop(|op, attrs, at| {
        if at.ins.len() < 2 {
            return;
        }
        for scalar in 0..at.ins.len() {
            let ty = |(k, &d): (usize, &DType)| {
                if k == scalar { Type::scalar(d) } else { Type::array(d, [Dim::Any]) }
            };
            let types: Vec<Type> = at.ins.iter().enumerate().map(ty).collect();
            let compiled = Compiled::new(&elementwise(op, attrs, &types, Loc::default()), &types);
            for n in [1, 7, 70] {
                let mut operand = |k: usize| {
                    let pool = pool(op, at.ins[k], k);
                    if k == scalar {
                        return Datum::Scalar(random.pick(&pool));
                    }
                    Datum::Array(Array::from_fn(at.ins[k], &[n], |_| random.pick(&pool)).unwrap())
                };
                let args: Vec<Datum> = (0..at.ins.len()).map(&mut operand).collect();
                check(op, attrs, &compiled, &args);
            }
        }
    });
}

#[test]
fn integer_powers_with_a_constant_exponent_are_products() {
    let op = registry().op("power").unwrap();
    let attrs = Attrs::new();
    for dtype in [DType::I8, DType::I32, DType::U16, DType::I64] {
        let types = [Type::array(dtype, [Dim::Any]), Type::scalar(dtype)];
        let bases = special(dtype);
        let array = Datum::Array(Array::from_fn(dtype, &[bases.len()], |n| bases[n]).unwrap());
        for n in [0, 1, 2, 3, 7, 20, 127] {
            let n = Scalar::I64(n).cast(dtype);
            let mut expr = elementwise(op, &attrs, &types, Loc::default());
            expr.body.insts[0].args[1] = BodyRef::Const(n);
            let compiled = Compiled::new(&expr, &types);
            assert!(!compiled.lowered.kernel.insts.iter().any(|i| matches!(i.op, KOp::Reference(_))));
            check(op, &attrs, &compiled, &[array.clone(), Datum::Scalar(n)]);
        }
    }
}

/// Pairs of integers about whose quotient a float could be mistaken: next to multiples of the divisor.
fn close_divisions(dtype: DType, count: usize) -> [Datum; 2] {
    let mut random = Random::new(17);
    let mut pairs = Vec::new();
    for _ in 0..count {
        let (bits, shift) = (random.next(), random.next() % 64);
        let b = Scalar::U64(bits >> shift).cast(dtype);
        let (Some(divisor), many) = (b.to_i128(), i128::from(random.next() >> (random.next() % 64))) else { continue };
        for near in [-1, 0, 1] {
            pairs.push((Scalar::I64((divisor.wrapping_mul(many) + near) as i64).cast(dtype), b));
        }
    }
    let column = |f: &dyn Fn(usize) -> Scalar| Datum::Array(Array::from_fn(dtype, &[pairs.len()], f).unwrap());
    [column(&|n| pairs[n].0), column(&|n| pairs[n].1)]
}

#[test]
fn integer_division_is_exact() {
    for name in ["floordiv", "mod", "fmod", "divmod"] {
        let (op, attrs) = (registry().op(name).unwrap(), Attrs::new());
        for dtype in DType::ALL.into_iter().filter(|d| d.is_int()) {
            let types = [Type::array(dtype, [Dim::Any]), Type::array(dtype, [Dim::Any])];
            let compiled = Compiled::new(&elementwise(op, &attrs, &types, Loc::default()), &types);
            check(op, &attrs, &compiled, &close_divisions(dtype, 6000));
            if dtype.size() == 1 {
                let byte = |n: usize| Scalar::I64(n as i64).cast(dtype);
                let all = |f: &dyn Fn(usize) -> Scalar| Datum::Array(Array::from_fn(dtype, &[1 << 16], f).unwrap());
                check(op, &attrs, &compiled, &[all(&|n| byte(n >> 8)), all(&|n| byte(n & 255))]);
            }
        }
    }
}

#[test]
fn integers_are_divided_by_constants() {
    let (op, attrs) = (registry().op("floordiv").unwrap(), Attrs::new());
    for dtype in DType::ALL.into_iter().filter(|d| d.is_int()) {
        let types = [Type::array(dtype, [Dim::Any]), Type::scalar(dtype)];
        let [dividends, _] = close_divisions(dtype, 300);
        for divisor in special(dtype) {
            let mut expr = elementwise(op, &attrs, &types, Loc::default());
            expr.body.insts[0].args[1] = BodyRef::Const(divisor);
            check(op, &attrs, &Compiled::new(&expr, &types), &[dividends.clone(), Datum::Scalar(divisor)]);
        }
    }
}

#[test]
fn a_quotient_and_its_remainder_are_one_division() {
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_int()) {
        let text = format!(
            "func @f(%a: {dtype}[n], %b: {dtype}[n]) -> {dtype}[n], {dtype}[n] {{
entry:
  %0, %1 = arrayexpr [i: n] (a = %a[i], b = %b[i]) {{
    t0 = floordiv a, b
    t1 = mod a, b
    yield t0, t1
  }} : {dtype}[n], {dtype}[n]
  ret %0, %1
}}"
        );
        let module = rewright_ir::text::parse_module(&text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
        let func = module.functions().next().unwrap();
        let inst = func.insts(func.entry().unwrap()).next().unwrap();
        let Some(Attr::Expr(expr)) = func.inst(inst).attrs.get("expr") else { panic!("an expression") };
        let types: Vec<Type> = func.params().iter().map(|&param| func.ty(param).clone()).collect();
        let kernel = rewright_lowering::internals::lower::lower(expr, &types).unwrap().kernel;
        let divides = |inst: &&rewright_lowering::internals::kernel::KInst| {
            matches!(inst.op, KOp::Binary(Binary::Quot | Binary::Rem))
        };
        assert_eq!(kernel.insts.iter().filter(divides).count(), 1, "{kernel}");
    }
}
