//! Lazy arrays in the expressions of another crate: both know [`ArrayLike`] alone.

use allocation_counter::measure;
use rewright::{Array, ArrayLike, DType, Datum, NoObserver, Pipeline, Scalar, print_module};
use rewright_broadcast::expression::{Assign, Broadcast, Expr, compiled_programs};
use rewright_lazy::LazyArray;
use std::sync::{Mutex, PoisonError};

/// Counts are those of the process, so that tests take turns.
static TURN: Mutex<()> = Mutex::new(());

fn array(shape: &[usize]) -> Array {
    Array::from_fn(DType::F64, shape, |i| Scalar::F64(i as f64 + 0.5)).unwrap()
}

/// All forms that an operand of 3 by 4 elements may have.
fn forms() -> Vec<LazyArray> {
    let row = LazyArray::of(array(&[4]));
    let mut all = vec![
        LazyArray::of(array(&[3, 4])),
        LazyArray::of(array(&[4, 3])).t(),
        LazyArray::of(array(&[3, 4])).flip(&[0, 1]),
        row.clone(),
        row.broadcast_to(&[3, 4]),
        LazyArray::of(array(&[3])).expand_dims(1),
        LazyArray::of(array(&[])),
        LazyArray::iota(DType::I32, 4),
        LazyArray::iota(DType::F32, 3).flip(&[0]).expand_dims(1),
        LazyArray::full(Scalar::F32(2.5), &[3, 4]),
        LazyArray::scalar(Scalar::I8(3)),
        LazyArray::eye(DType::F64, [3, 4], 1),
        LazyArray::tri(DType::Bool, [4, 3], -1).t(),
        LazyArray::constant("delta(i64, 3, 3, 4)[i: 3, j: 4 -> i, 1, j]".parse().unwrap()).unwrap(),
        LazyArray::constant("iota(i64, 100)[i: 3, j: 4 -> 10*i + 7*j + 2]".parse().unwrap()).unwrap(),
    ];
    all.push(&all[0] * 2);
    all
}

fn dense(expr: Expr) -> Array {
    expr.materialize().unwrap_or_else(|e| panic!("{e}")).to_array()
}

#[test]
fn expressions_take_lazy_arrays() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let x = array(&[3, 4]);
    for y in forms() {
        let wanted = (y.to_owned() + 1) * &x;
        let wanted = wanted.force().unwrap();
        assert_eq!(&dense((y.lazy() + 1) * &x), wanted, "{y:?}");
        assert_eq!(&dense(&x * (1.lazy() + &y)), wanted, "{y:?}");
        let e = (y.lazy() + 1) * &x;
        assert_eq!((e.shape().unwrap(), e.dtype().unwrap()), (vec![3, 4], DType::F64));
        assert_eq!(e.get(&[2, 1]).unwrap(), wanted.get(&[2, 1]).unwrap(), "{y:?}");
        let sum = LazyArray::of(wanted.clone()).sum(0);
        assert_eq!(&e.reduce_along("sum", &[0]).unwrap().to_array(), sum.force().unwrap(), "{y:?}");
        let mut z = array(&[3, 4]);
        z.assign(e).unwrap();
        assert_eq!(&z, wanted);
        for other in forms() {
            let wanted = &y * &other;
            match wanted.rank() {
                // Arrays of rank 0 are scalars to lazy arrays.
                0 => continue,
                _ => assert_eq!(&dense(y.lazy() * &other), wanted.force().unwrap(), "{y:?} and {other:?}"),
            }
        }
    }
}

/// Mixed use is one kernel, without a buffer for a view or a constructor.
#[test]
fn mixed_operands_are_one_kernel() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let x = array(&[300]);
    let expr = || {
        let row = LazyArray::of(x.clone());
        let mask = LazyArray::tri(DType::Bool, [300, 300], 0);
        let positions = LazyArray::iota(DType::F64, 300);
        mask.lazy().where_(x.lazy() * &row.expand_dims(1) + &positions, 0.0)
    };
    let mut module = expr().to_module().unwrap();
    Pipeline::by_default().unwrap().run(&mut module, &Default::default(), &mut NoObserver).unwrap();
    let text = print_module(&module);
    assert_eq!(text.matches("arrayexpr").count(), 1, "{text}");
    assert!(!text.contains("= iota") && !text.contains("= full"), "{text}");
    for _ in 0..3 {
        expr().materialize().unwrap();
    }
    let counts = measure(|| assert!(expr().materialize().is_ok()));
    let elements = 300 * 300 * 8;
    assert!(counts.bytes_max < elements + elements / 20, "{counts:?}");
}

/// An expression is compiled for the structure of its operands, and keeps none of them.
#[test]
fn other_lazy_operands_are_no_compilation() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |n: usize, offset: i64, turned: bool| {
        let x = LazyArray::of(array(&[n, n]));
        let x = if turned { x.t() } else { x.flip(&[0]) };
        let eye = LazyArray::eye(DType::F32, [n as u64, n as u64], offset);
        let given = dense(x.lazy() * 3 - &eye);
        assert_eq!(&given, (&x * 3 - &eye).force().unwrap());
    };
    run(3, 0, true);
    let before = compiled_programs();
    for (n, offset) in [(2, 1), (10, 0), (7, -2)] {
        run(n, offset, false);
    }
    assert_eq!(compiled_programs(), before);
    // Another constructor, and another way along it, are other programs.
    let iota = LazyArray::iota(DType::F32, 3);
    dense(iota.lazy() + 1);
    assert_eq!(compiled_programs(), before + 1);
    dense(iota.flip(&[0]).lazy() + 1);
    assert_eq!(compiled_programs(), before + 2);
    dense(LazyArray::iota(DType::F32, 30).lazy() + 1);
    assert_eq!(compiled_programs(), before + 2);
}

#[test]
fn operands_that_failed_are_errors_of_the_expression() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let failed = LazyArray::of(array(&[2])) + array(&[3]);
    let expr = failed.lazy() + 1;
    let wanted = "`add` can't broadcast f64[2], f64[3]";
    assert!(expr.materialize().unwrap_err().to_string().contains(wanted));
    assert!(expr.shape().unwrap_err().to_string().contains(wanted));
    let mut y = array(&[2]);
    assert!(y.assign(expr).unwrap_err().to_string().contains(wanted));
    assert_eq!(y, array(&[2]));
    let view = LazyArray::of(array(&[4])).flip(&[0]);
    let clash = (view.lazy() + array(&[3])).materialize().unwrap_err().to_string();
    assert!(clash.contains("[4]") && clash.contains("f64[3]"), "{clash}");
    let huge = LazyArray::zeros(DType::F64, &[1 << 40, 1 << 40]);
    let error = (huge.lazy() + 1).materialize().unwrap_err().to_string();
    assert!(error.contains("extents") || error.contains("elements"), "{error}");
    assert!(matches!(view.to_any(), rewright::AnyArray::Deferred(_)));
    assert!(matches!(array(&[4]).to_any(), rewright::AnyArray::Value(Datum::Array(_))));
}
