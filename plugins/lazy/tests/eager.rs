//! Operators and functions of lazy arrays: what they give is what the reference evaluator gives of forced
//! arrays.

use crate::support::{View, input, reference};
use proptest::prelude::*;
use rewright::op::Arity;
use rewright::{Array, Attr, Attrs, DType, Datum, EvalError, Limits, Op, Scalar, evaluate_op, registry};
use rewright_lazy::{Axes, LazyArray, LazyExpr, Operand};

fn numbers(dtype: DType, shape: &[usize]) -> Array {
    let scaled = |i: usize| Scalar::F64((i as f64) * 0.25 - 0.75).cast(dtype);
    let whole = |i: usize| Scalar::I64(i as i64 - 2).cast(dtype);
    let is_float = Scalar::F64(0.5).cast(dtype).to_f64() == 0.5;
    Array::from_fn(dtype, shape, |i| if is_float { scaled(i) } else { whole(i) }).unwrap()
}

fn lazy(dtype: DType, shape: &[usize]) -> LazyArray {
    LazyArray::of(numbers(dtype, shape))
}

/// What the reference evaluator gives.
fn evaluated(op: Op, args: &[Datum], attrs: &Attrs) -> Result<Vec<Datum>, EvalError> {
    evaluate_op(op, attrs, args, &[], Limits::default())
}

fn forced(array: &LazyArray) -> Datum {
    match array.rank() {
        0 => Datum::Scalar(array.get(&[]).unwrap()),
        _ => Datum::Array(array.force().unwrap().clone()),
    }
}

/// Equal elements. Which NaN a NaN is may differ.
fn is_same(a: &Array, b: &Array) -> bool {
    let part = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    let element = |(x, y): (Scalar, Scalar)| {
        let (v, w) = (x.to_c128(), y.to_c128());
        x == y || (part(v.re, w.re) && part(v.im, w.im) && (v.re.is_nan() || v.im.is_nan()))
    };
    a.dtype() == b.dtype() && a.shape() == b.shape() && a.iter().zip(b.iter()).all(element)
}

/// The result of an op on lazy arrays is that on their elements; failures are failures.
fn agrees(op: &str, operands: &[&LazyArray], attrs: &Attrs) {
    let found = registry().op(op).unwrap();
    let elements: Vec<Datum> = operands.iter().map(|x| forced(x)).collect();
    let given = LazyArray::apply_all(op, operands.iter().copied(), attrs);
    match (given, evaluated(found, &elements, attrs)) {
        (Ok(given), Ok(wanted)) => {
            assert_eq!(given.len(), wanted.len(), "{op}");
            for (given, wanted) in given.iter().zip(&wanted) {
                let (given, wanted) = (given.force().unwrap(), wanted.to_array());
                assert!(is_same(given, &wanted), "{op} of {operands:?}: {given:?}, and not {wanted:?}");
            }
        }
        (Err(_), Err(_)) => {}
        (given, wanted) => panic!("{op} of {operands:?}: {given:?} and {wanted:?}"),
    }
}

/// L6: every elementwise op, of an array, a view and a constructor.
#[test]
fn every_elementwise_op_is_computed() {
    for (op, _) in registry().ops().filter(|(op, _)| op.is_elementwise()) {
        let Arity::Exactly(arity) = op.arity else { continue };
        let attrs = match op.name {
            "cast" => Attrs::new().with("to", Attr::DType(DType::F32)),
            "integer_power" => Attrs::new().with("n", Attr::Int(3)),
            _ if op.attrs.is_empty() => Attrs::new(),
            _ => continue,
        };
        for dtype in [DType::F64, DType::I32, DType::Bool, DType::C64] {
            let array = lazy(dtype, &[3, 4]);
            let row = lazy(dtype, &[4]);
            let column = LazyArray::iota(dtype, 3).expand_dims(1);
            let all = [&array, &row, &column];
            agrees(op.name, &all[..arity], &attrs);
            let turned = [array.flip(&[1]), column.broadcast_to(&[3, 4]).flip(&[0]), array.index(0, -1)];
            agrees(op.name, &turned.iter().take(arity).collect::<Vec<_>>(), &attrs);
        }
        let mixed = [lazy(DType::I8, &[2, 1, 3]), lazy(DType::F32, &[5, 1]), LazyArray::scalar(Scalar::U16(3))];
        agrees(op.name, &mixed.iter().take(arity).collect::<Vec<_>>(), &attrs);
        let scalars = [Scalar::F32(0.5), Scalar::F32(0.25), Scalar::F32(2.0)].map(LazyArray::scalar);
        agrees(op.name, &scalars.iter().take(arity).collect::<Vec<_>>(), &attrs);
    }
}

/// Empty arrays, arrays of one element, and high ranks.
#[test]
fn extents_of_0_and_1_broadcast() {
    for (a, b) in [
        (vec![0], vec![1]),
        (vec![0, 3], vec![1, 3]),
        (vec![1], vec![1]),
        (vec![3, 1], vec![1, 4]),
        (vec![2, 1, 2, 1, 2, 1, 2], vec![2, 1, 2, 1, 2, 1]),
        (vec![], vec![2, 3]),
    ] {
        agrees("add", &[&lazy(DType::F64, &a), &lazy(DType::I64, &b)], &Attrs::new());
        let zeros = LazyArray::zeros(DType::F32, &b.iter().map(|&n| n as u64).collect::<Vec<_>>());
        agrees("sub", &[&lazy(DType::F64, &a), &zeros], &Attrs::new());
    }
}

#[test]
fn operators_take_numbers_and_arrays_on_either_side() {
    let x = lazy(DType::F32, &[3]);
    let a = numbers(DType::F32, &[3]);
    let wanted =
        |op: &str, args: &[Datum]| evaluated(registry().op(op).unwrap(), args, &Attrs::new()).unwrap()[0].to_array();
    let (s, d) = (Scalar::F32(2.0), Datum::Array(a.clone()));
    // Weak numbers keep `f32`.
    assert_eq!((&x * 2.0).force().unwrap(), &wanted("mul", &[d.clone(), s.into()]));
    assert_eq!((2.0 - &x).force().unwrap(), &wanted("sub", &[s.into(), d.clone()]));
    assert_eq!((2 + x.clone()).dtype(), DType::F32);
    assert_eq!((&x + 2.0_f32).dtype(), DType::F32);
    assert_eq!((&x + Scalar::F64(2.0)).dtype(), DType::F64);
    assert_eq!((&a / &x).force().unwrap(), &wanted("div", &[d.clone(), d.clone()]));
    assert_eq!((&x % &a).force().unwrap(), &wanted("mod", &[d.clone(), d.clone()]));
    assert_eq!((-&x).force().unwrap(), &wanted("neg", std::slice::from_ref(&d)));
    let bits = lazy(DType::U8, &[3]);
    assert_eq!((!&bits & 15 | 64 ^ &bits << 1).dtype(), DType::U8);
    let mut y = x.clone();
    y += 1;
    y *= &x;
    assert_eq!(y.force().unwrap(), ((&x + 1) * &x).force().unwrap());
    assert_eq!(x.lt(0.0).dtype(), DType::Bool);
    assert_eq!(x.lt(0.0).where_(0, &x).force().unwrap(), x.maximum(0).force().unwrap());
    let squares = wanted("power", &[d.clone(), s.into()]);
    for power in [x.pow(2), x.pow(2.0), x.pow(LazyArray::full(s, &[3])), x.pow(s)] {
        assert_eq!(power.force().unwrap(), &squares);
    }
    assert_eq!(x.cast(DType::I16).force().unwrap(), &a.cast(DType::I16));
}

#[test]
fn reductions_go_along_axes() {
    for op in ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"] {
        for dtype in [DType::F64, DType::I8, DType::Bool, DType::U32] {
            for axes in [None, Some(vec![0]), Some(vec![-1]), Some(vec![0, 2])] {
                for keep in [false, true] {
                    let array = lazy(dtype, &[3, 2, 4]);
                    let views = [
                        array.clone(),
                        array.flip(&[0, 2]),
                        array.index(1, 0).broadcast_to(&[2, 3, 4]),
                        LazyArray::eye(dtype, [2, 4], 1).broadcast_to(&[3, 2, 4]),
                    ];
                    let mut attrs = Attrs::new();
                    if let Some(axes) = &axes {
                        attrs.set("axes".into(), Attr::Ints(axes[..].into()));
                    }
                    if keep {
                        attrs.set("keepdims".into(), Attr::Bool(true));
                    }
                    for x in &views {
                        agrees(op, &[x], &attrs);
                    }
                }
            }
        }
    }
    let x = lazy(DType::F64, &[3, 4]);
    let attrs = Attrs::new().with("axes", Attr::Ints([1][..].into())).with("keepdims", Attr::Bool(true));
    let wanted = LazyArray::apply_with("max", [&x], &attrs).unwrap();
    assert_eq!(x.max(Axes::from(-1).kept()).force().unwrap(), wanted.force().unwrap());
    assert_eq!(x.sum(..).rank(), 0);
    // A scalar is combined as one element.
    let scalar = LazyArray::scalar(Scalar::I8(-3));
    let combined = [scalar.sum(..), scalar.max(..), scalar.all(Axes::from([]).kept()), scalar.argmin(..)];
    let wanted = [Scalar::I64(-3), Scalar::I8(-3), Scalar::Bool(true), Scalar::I64(0)];
    assert_eq!(combined.map(|x| x.get(&[])), wanted.map(Some));
    let of_rank_0 = LazyArray::of(numbers(DType::F64, &[]));
    assert_eq!(of_rank_0.sum(..).get(&[]), of_rank_0.get(&[]));
    assert!(scalar.sum(0).error().unwrap().to_string().contains("`sum`: a scalar i8 has no axis 0"));
    // The minimum of nothing is an error, the sum is 0.
    let none = lazy(DType::F64, &[0, 4]);
    assert_eq!(none.sum(0).force().unwrap(), &Array::full(Scalar::F64(0.0), &[4]).unwrap());
    assert!(none.min(0).error().unwrap().to_string().contains("min"), "{:?}", none.min(0));
    let error = x.sum(2).checked().unwrap_err().to_string();
    assert!(error.contains("`sum`") && error.contains("f64[3, 4]") && error.contains("axis 2"), "{error}");
}

#[test]
fn scans_are_running_totals() {
    for op in ["cumsum", "cumprod", "cummin", "cummax"] {
        for dtype in [DType::F64, DType::I8, DType::Bool] {
            for axis in [0, -1] {
                let array = lazy(dtype, &[3, 2, 4]);
                let attrs = Attrs::new().with("axis", Attr::Int(axis));
                for x in [array.clone(), array.flip(&[0, 2]), array.index(1, 0).broadcast_to(&[2, 3, 4])] {
                    agrees(op, &[&x], &attrs);
                }
            }
        }
    }
    let x = lazy(DType::F64, &[3, 4]);
    let wanted = LazyArray::apply_with("cummax", [&x], &Attrs::new().with("axis", Attr::Int(-1))).unwrap();
    assert_eq!(x.cummax(-1).force().unwrap(), wanted.force().unwrap());
    let error = x.cumsum(2).checked().unwrap_err().to_string();
    assert!(error.contains("`cumsum`") && error.contains("axis 2"), "{error}");
}

#[test]
fn means_are_sums_divided_by_counts() {
    for (dtype, result) in
        [(DType::F32, DType::F32), (DType::I8, DType::F64), (DType::Bool, DType::F64), (DType::C64, DType::C64)]
    {
        let x = lazy(dtype, &[3, 4]);
        for (axes, count) in [(Axes::from(..), 12.0), (Axes::from(0), 3.0), (Axes::from([-1]).kept(), 4.0)] {
            let wanted = x.cast(result).sum(axes.clone()) / LazyArray::scalar(Scalar::F64(count).cast(result));
            let mean = x.mean(axes);
            assert_eq!((mean.dtype(), mean.force().unwrap()), (result, wanted.force().unwrap()));
        }
    }
    assert!(lazy(DType::F64, &[0]).mean(..).get(&[]).unwrap().to_f64().is_nan());
    assert_eq!(LazyArray::scalar(Scalar::I8(3)).mean(..).get(&[]), Some(Scalar::F64(3.0)));
    assert!(lazy(DType::F64, &[2]).mean(3).error().is_some());
}

#[test]
fn products_are_those_of_numpy() {
    let element = |x: &LazyArray, at: &[u64]| x.get(at).unwrap().to_f64();
    // Shapes, that of the result, and which element of the operands are multiplied at index `at`, by
    // position `k`.
    let cases: [(&[usize], &[usize], &[u64]); 9] = [
        (&[3, 4], &[4, 5], &[3, 5]),
        (&[4, 4], &[4, 4], &[4, 4]),
        (&[4], &[4, 5], &[5]),
        (&[3, 4], &[4], &[3]),
        (&[4], &[4], &[]),
        (&[2, 3, 4], &[4, 5], &[2, 3, 5]),
        (&[2, 3, 4], &[2, 4, 5], &[2, 3, 5]),
        (&[6, 1, 3, 4], &[2, 4, 5], &[6, 2, 3, 5]),
        (&[4], &[2, 4, 5], &[2, 5]),
    ];
    for (a, b, shape) in cases {
        let (x, y) = (lazy(DType::F64, a), lazy(DType::F32, b));
        let product = x.matmul(&y).checked().unwrap_or_else(|e| panic!("{a:?} {b:?}: {e}"));
        assert_eq!((product.dtype(), &product.shape()[..]), (DType::F64, shape));
        // One element after the other, from two matrices.
        let left = if a.len() == 1 { x.expand_dims(0) } else { x.clone() };
        let right = if b.len() == 1 { y.expand_dims(1) } else { y.clone() };
        let (k, columns) = (*a.last().unwrap() as u64, *right.shape().last().unwrap());
        let batch: Vec<u64> = shape[..shape.len() + usize::from(a.len() == 1) + usize::from(b.len() == 1) - 2].to_vec();
        let rows = left.shape()[left.rank() - 2];
        let with = |tail: [u64; 2]| batch.iter().copied().chain(tail).collect::<Vec<u64>>();
        let (left, right) = (left.broadcast_to(&with([rows, k])), right.broadcast_to(&with([k, columns])));
        let result = product.reshape(&with([rows, columns]));
        let count: u64 = batch.iter().product();
        for flat in 0..count {
            let mut rest = flat;
            let mut index: Vec<u64> = batch
                .iter()
                .rev()
                .map(|n| {
                    let at = rest % n;
                    rest /= n;
                    at
                })
                .collect();
            index.reverse();
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                let at = |tail: [u64; 2]| index.iter().copied().chain(tail).collect::<Vec<u64>>();
                let sum: f64 = (0..k).map(|n| element(&left, &at([row, n])) * element(&right, &at([n, column]))).sum();
                assert_eq!(element(&result, &at([row, column])), sum, "{a:?} {b:?} {index:?}");
            }
        }
    }
    let (x, y) = (lazy(DType::F64, &[2, 3, 4]), lazy(DType::F64, &[5, 4, 6]));
    assert_eq!(x.dot(&y).shape(), [2, 3, 5, 6]);
    assert_eq!(x.dot(2).force().unwrap(), (&x * 2).force().unwrap());
    let eye = LazyArray::eye(DType::F64, [4, 4], 0);
    assert_eq!(x.matmul(&eye).force().unwrap(), x.force().unwrap());
    for (error, words) in [
        (x.matmul(2), "`*` multiplies by a scalar"),
        (x.matmul(&y), "[2, 3, 4] and [5, 4, 6]"),
        (
            lazy(DType::F64, &[3, 4]).dot(lazy(DType::F64, &[5, 6])),
            "axis 1 of f64[3, 4] with axis 0 of f64[5, 6]: extents 4 and 5",
        ),
    ] {
        let error = error.checked().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// An operation that fails gives an array that carries the first error, through whatever is done with it.
#[test]
fn errors_are_carried_until_someone_asks() {
    let (x, y) = (lazy(DType::F64, &[3, 2]), lazy(DType::I32, &[4]));
    let failed = (&x + &y).exp().expand_dims(0).sum(..) * 2.0;
    let wanted = "`add` can't broadcast f64[3, 2], i32[4] along axis 1 of the result; dims must be equal, or one of them 1, \
                  aligned at the last axis: instead of i32[4], i32[2] or i32[1] does";
    for error in [
        failed.force().err().map(|e| e.to_string()),
        failed.arg().err().map(|e| e.to_string()),
        failed.clone().checked().err().map(|e| e.to_string()),
        failed.error().map(|e| e.to_string()),
        (1 - &failed).matmul(&x).error().map(|e| e.to_string()),
        failed.reshape(&[1]).error().map(|e| e.to_string()),
        failed.mean(..).error().map(|e| e.to_string()),
        LazyArray::apply("add", [&x, &y]).err().map(|e| e.to_string()),
    ] {
        assert_eq!(error.as_deref(), Some(wanted));
    }
    assert_eq!(failed.get(&[]), None);
    assert!(format!("{failed:?}").starts_with("failed: `add`"));
    assert!(ron::to_string(&failed).unwrap_err().to_string().contains("`add`"));
    let said = |x: LazyArray| x.checked().unwrap_err().to_string();
    assert!(said(x.cast(DType::C64).floor()).contains("`floor` is not defined for c64"));
    assert!(said(y.pow(-1)).contains("negative"), "{:?}", y.pow(-1));
    assert!(said(&y << 0.5).contains("`left_shift` is not defined for i32, f64"), "{:?}", &y << 0.5);
    assert!(said(lazy(DType::U8, &[2]) + 300).contains("300"));
    assert!(said(x.expand_dims(4)).contains("no axis 4"));
    assert!(said(x.index(1, 2)).contains("no position 2"));
    let error = |op: &str| LazyArray::apply(op, [&x]).unwrap_err().to_string();
    assert!(error("expp").contains("did you mean `exp`?"), "{}", error("expp"));
    assert!(error("store").contains("it has effects"), "{}", error("store"));
    assert!(error("divmod").contains("takes 2 operands"), "{}", error("divmod"));
    let two = LazyArray::apply("divmod", [&x, &x]).unwrap_err().to_string();
    assert!(two.contains("`apply_all`"), "{two}");
    let huge = LazyArray::zeros(DType::F64, &[u64::MAX, u64::MAX]);
    assert!(said(&huge + 1).contains("extents"), "{}", said(&huge + 1));
    let many = LazyArray::zeros(DType::F64, &[1 << 20, 1 << 20]);
    assert!(said(&many + 1).contains("more than"), "{}", said(&many + 1));
}

/// L9, L10: views and constructors of any name are index maps; other ops are computed.
#[test]
fn ops_by_name_stay_lazy_where_they_can() {
    let x = lazy(DType::F64, &[3, 1, 4]);
    let ints = |name: &'static str, list: &[i64]| Attrs::new().with(name, Attr::Ints(list.into()));
    for (op, attrs) in [
        ("transpose", ints("perm", &[2, 0, 1])),
        ("flip", ints("axes", &[0])),
        ("squeeze", ints("axes", &[1])),
        ("expand_dims", ints("axes", &[0])),
        ("diagonal", Attrs::new().with("axis2", Attr::Int(2))),
        ("reshape", Attrs::new().with("dims", Attr::Dims([3.into(), 4.into()][..].into()))),
        ("reshape", Attrs::new().with("dims", Attr::Dims([2.into(), 6.into()][..].into()))),
    ] {
        agrees(op, &[&x], &attrs);
        agrees(op, &[&x.flip(&[2])], &attrs);
    }
    assert_eq!(format!("{:?}", x.t().squeeze(&[])), "var(f64[3, 1, 4])[i: 4, j: 3 -> j, 0, i]");
    let eye = LazyArray::apply_with(
        "eye",
        [] as [Operand; 0],
        &Attrs::new().with("dims", Attr::Dims([2.into(), 3.into()][..].into())),
    );
    assert_eq!(format!("{:?}", eye.unwrap()), "eye(f64, 2, 3)");
    let concat = Attrs::new().with("axis", Attr::Int(0));
    agrees("concat", &[&x, &x.flip(&[0])], &concat);
}

#[test]
fn results_are_arrays_like_others() {
    let x = lazy(DType::F64, &[3]);
    let y = &x + 1;
    assert!(y.is_forced());
    assert_eq!(format!("{y:?}"), "var(f64[3]) (forced)");
    let text = ron::to_string(&y).unwrap();
    let again: LazyArray = ron::from_str(&text).unwrap();
    assert_eq!(again.force().unwrap(), y.force().unwrap());
    assert_eq!(y.expr(), &LazyExpr::var(DType::F64, &[3]));
    // A view keeps what it shows alive.
    let view = (&x * 2).flip(&[0]);
    assert_eq!(view.get(&[0]), Some(Scalar::F64(-0.5)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("REWRIGHT_VIEWS").ok().and_then(|n| n.parse().ok()).unwrap_or(400), ..Default::default() })]

    /// T86 for operations: three random views of any input, then an op with another such operand.
    #[test]
    fn views_then_an_op_are_that_of_the_elements(
        inputs in [input(), input()],
        views in prop::collection::vec((any::<u8>(), any::<[u8; 4]>()), 6),
        op in prop::sample::select(vec!["add", "mul", "lt", "where", "sum", "max", "concat"]),
    ) {
        let mut operands = Vec::new();
        for (input, views) in inputs.iter().zip(views.chunks(3)) {
            let (mut expr, mut elements) = (LazyExpr::of(input.clone()), reference(input));
            let whole = elements.clone();
            for &(op, seed) in views {
                let Some(view) = View::drawn(&expr, op, seed) else { continue };
                (elements, expr) = (view.of(&elements), view.expr);
            }
            let x = if input.is_constant() { LazyArray::constant(expr) } else { LazyArray::new(expr, whole) };
            operands.push((x.unwrap(), elements));
        }
        let [(x, a), (y, b)] = &operands[..] else { unreachable!() };
        let (x, y): (&LazyArray, &LazyArray) = (x, y);
        let (operands, elements, attrs): (Vec<&LazyArray>, Vec<&Array>, Attrs) = match op {
            "where" => (vec![x, y, x], vec![a, b, a], Attrs::new()),
            "sum" | "max" => (vec![x], vec![a], Attrs::new()),
            "concat" => (vec![x, x], vec![a, a], Attrs::new().with("axis", Attr::Int(0))),
            _ => (vec![x, y], vec![a, b], Attrs::new()),
        };
        // Arrays of rank 0 are scalars here.
        let elements: Vec<Datum> = elements.into_iter().map(|a| match a.rank() {
            0 => Datum::Scalar(a.get(&[]).unwrap()),
            _ => Datum::Array(a.clone()),
        }).collect();
        let wanted = evaluated(registry().op(op).unwrap(), &elements, &attrs);
        let given = LazyArray::apply_with(op, operands.iter().copied(), &attrs);
        match (given, wanted) {
            (Ok(given), Ok(wanted)) => prop_assert!(is_same(given.force().unwrap(), &wanted[0].to_array()), "{} of {:?}: {:?}", op, operands, given.force()),
            (Err(_), Err(_)) => {}
            (given, wanted) => prop_assert!(false, "{} of {:?}: {:?} and {:?}", op, operands, given, wanted),
        }
    }
}
