//! Tests the declared traits of elementwise ops on every dtype.

use rewright_ir::op::{eval_scalar, promote_literal};
use rewright_ir::{Arity, Attr, Attrs, DType, Literal, LiteralCx, Op, Scalar, Traits, registry};

fn op(name: &str) -> Op {
    registry().op(name).unwrap_or_else(|| panic!("no op `{name}`"))
}

fn one(name: &str, args: &[Scalar]) -> Scalar {
    eval_scalar(op(name), args, &Attrs::new()).unwrap_or_else(|e| panic!("{e}"))[0]
}

/// Values of a dtype that cover the corner cases.
fn samples(dtype: DType) -> Vec<Scalar> {
    let floats = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-310, -7e30, f64::INFINITY, -f64::INFINITY, f64::NAN];
    let ints = [0i64, 1, -1, 2, 3, 7, -8, 100, -128, 1 << 31, i64::MAX, i64::MIN];
    let mut all: Vec<_> = if dtype.is_complex() {
        floats
            .iter()
            .flat_map(|&re| [0.0, -2.0, f64::NAN].map(|im| num_complex::Complex64::new(re, im).into()))
            .collect()
    } else if dtype.is_float() {
        floats.map(Scalar::F64).to_vec()
    } else {
        ints.map(Scalar::I64).to_vec()
    };
    all.iter_mut().for_each(|s: &mut Scalar| *s = s.cast(dtype));
    all
}

/// Equal bits; all NaNs are equal.
fn same(a: Scalar, b: Scalar) -> bool {
    let parts = |s: Scalar| (s.to_c128().re, s.to_c128().im);
    let close = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    a.dtype() == b.dtype()
        && (a == b || (close(parts(a).0, parts(b).0) && close(parts(a).1, parts(b).1) && a.to_i128().is_none()))
}

fn elementwise() -> impl Iterator<Item = Op> {
    registry().ops().map(|(op, _)| op).filter(|op| op.is_elementwise())
}

#[test]
fn nothing_clashes() {
    assert_eq!(registry().errors(), &[]);
    assert!(elementwise().count() > 80);
}

#[test]
fn commutative_ops_commute_to_the_bit() {
    for op in elementwise().filter(|op| op.traits.contains(Traits::COMMUTATIVE)) {
        assert_eq!(op.arity, Arity::Exactly(2));
        for dtype in DType::ALL {
            for a in samples(dtype) {
                for b in samples(dtype) {
                    let Ok(ab) = eval_scalar(op, &[a, b], &Attrs::new()) else { continue };
                    let ba = eval_scalar(op, &[b, a], &Attrs::new()).unwrap();
                    assert!(same(ab[0], ba[0]), "{op}({a}, {b}) is {ab:?}, swapped {ba:?}");
                }
            }
        }
    }
}

#[test]
fn idempotent_ops_change_nothing_the_second_time() {
    for op in elementwise().filter(|op| op.traits.contains(Traits::IDEMPOTENT)) {
        for x in DType::ALL.into_iter().flat_map(samples) {
            let Ok(once) = eval_scalar(op, &[x], &Attrs::new()) else { continue };
            let twice = eval_scalar(op, &once, &Attrs::new()).unwrap();
            assert!(same(once[0], twice[0]), "{op}({x}) is {once:?}, again {twice:?}");
        }
    }
}

#[test]
fn every_loop_computes_what_it_promises() {
    let attrs = Attrs::new().with("to", Attr::DType(DType::I16)).with("n", Attr::Int(3));
    for op in elementwise() {
        let Arity::Exactly(arity) = op.arity else { panic!("{op} has no fixed arity") };
        let rewright_ir::Eval::Elementwise { resolve, scalar } = op.eval else { panic!("{op}") };
        for a in DType::ALL {
            for b in DType::ALL {
                let dtypes: Vec<_> = [a, b, b].into_iter().take(arity).collect();
                let Ok(found) = resolve(&dtypes, &attrs) else { continue };
                let args: Vec<_> = found.ins.iter().map(|&d| Scalar::one(d)).collect();
                let results = scalar(&args, &attrs).unwrap_or_else(|e| panic!("{op} at {dtypes:?}: {e}"));
                let outs: Vec<_> = results.iter().map(|r| r.dtype()).collect();
                assert_eq!(outs.as_slice(), found.outs.as_slice(), "{op} at {dtypes:?}");
            }
        }
    }
}

#[test]
fn integers_never_trap() {
    for name in ["floordiv", "mod", "fmod", "left_shift", "right_shift", "gcd", "lcm"] {
        for dtype in DType::ALL.into_iter().filter(|d| d.is_int()) {
            for a in samples(dtype) {
                for b in samples(dtype) {
                    assert_eq!(one(name, &[a, b]).dtype(), dtype, "{name}({a}, {b})");
                }
            }
        }
    }
    assert_eq!(one("floordiv", &[Scalar::I8(-128), Scalar::I8(-1)]), Scalar::I8(-128));
    assert_eq!(one("mod", &[Scalar::I64(5), Scalar::I64(0)]), Scalar::I64(0));
    assert_eq!(one("right_shift", &[Scalar::I32(-5), Scalar::I32(-1)]), Scalar::I32(-1));
    assert_eq!(one("left_shift", &[Scalar::U8(1), Scalar::U8(8)]), Scalar::U8(0));
}

#[test]
fn negative_integer_exponents_are_errors() {
    let why = eval_scalar(op("power"), &[Scalar::I32(2), Scalar::I32(-1)], &Attrs::new()).unwrap_err();
    assert!(why.to_string().contains("negative"), "{why}");
    let n = |n| Attrs::new().with("n", Attr::Int(n));
    assert!(eval_scalar(op("integer_power"), &[Scalar::I32(2)], &n(-1)).is_err());
    let half = eval_scalar(op("integer_power"), &[Scalar::F32(2.0)], &n(-1)).unwrap();
    assert_eq!(half.as_slice(), &[Scalar::F32(0.5)]);
    let cube = eval_scalar(op("integer_power"), &[Scalar::I8(-7)], &n(3)).unwrap();
    assert_eq!(cube.as_slice(), &[Scalar::I8((-343i32) as i8)]);
}

#[test]
fn compared_literals_take_a_dtype_that_holds_them() {
    let at = |name: &str, literal, beside| {
        (op(name).literal)(&LiteralCx { literal, operand: 1, dtypes: &[Some(beside), None], attrs: &Attrs::new() })
    };
    assert_eq!(at("lt", Literal::Int(300), DType::U8), DType::I64);
    assert_eq!(at("lt", Literal::Int(-1), DType::U64), DType::I64);
    assert_eq!(at("eq", Literal::Int(u64::MAX as i128), DType::I8), DType::U64);
    assert_eq!(at("eq", Literal::Int(5), DType::U8), DType::U8);
    assert_eq!(at("ldexp", Literal::Int(5), DType::F32), DType::I64);
    let cx = LiteralCx {
        literal: Literal::Int(1),
        operand: 1,
        dtypes: &[Some(DType::Bool), None, Some(DType::F32)],
        attrs: &Attrs::new(),
    };
    assert_eq!((op("where").literal)(&cx), DType::F32);
    let cx = LiteralCx {
        literal: Literal::Int(1),
        operand: 1,
        dtypes: &[Some(DType::F64), None, None],
        attrs: &Attrs::new(),
    };
    assert_eq!((op("where").literal)(&cx), DType::I64, "the condition has no part in it");
    assert_eq!(promote_literal(&cx), DType::F64);
}
