//! Expressions built with operators agree with NumPy. Tags such as `T1` and `J15` are rows of a
//! comparison with Julia and JAX, from which the numbers are taken.

use rewright::ir::{Style, Styled, parse_module};
use rewright::{Array, DType, Datum, Name, NoObserver, Pipeline, Scalar};
use rewright_broadcast::expression::{Assign, Broadcast, Error, Expr, ScalarFunction};

fn array(shape: &[usize], elements: &[f64]) -> Array {
    Array::from_fn(DType::F64, shape, |i| Scalar::F64(elements[i])).unwrap()
}

/// 0, 1, 2 and so on.
fn count(shape: &[usize]) -> Array {
    Array::from_fn(DType::F64, shape, |i| Scalar::F64(i as f64)).unwrap()
}

fn numbers(datum: &Datum) -> Vec<f64> {
    datum.to_array().iter().map(Scalar::to_f64).collect()
}

fn computed(expr: impl Into<Expr>) -> Vec<f64> {
    numbers(&expr.into().materialize().unwrap())
}

fn styled(style: &str, array: &Array) -> Styled {
    Styled::of(Style::named(Name::new(style)).unwrap(), array).unwrap()
}

fn style_of(datum: &Datum) -> String {
    datum.as_styled().map_or("dense".into(), |styled| styled.style().to_string())
}

fn pointer(array: &Array) -> usize {
    rewright::with_array!(array, |a| a.as_ptr() as usize)
}

#[test]
fn functions_broadcast() {
    let x = array(&[3], &[1.0, 2.0, 3.0]);
    // T1: every notation of `2 (x + 1)`.
    for y in [2.0 * (x.lazy() + 1.0), 2 * (1 + x.lazy()), (&x + Expr::from(1.0)) * 2.0, (&(x.lazy() + 1) * 2.0).lazy()]
    {
        assert_eq!(computed(y), [4.0, 6.0, 8.0]);
    }
    assert_eq!((2 * x.lazy()).materialize().unwrap(), (2.0 * x.lazy()).materialize().unwrap());
    // T2: a long chain of functions.
    let deep = (0..10).fold(x.lazy(), |y, n| y * 2.0 + f64::from(n));
    assert_eq!(computed(deep)[0], (0..10).fold(1.0, |y, n| y * 2.0 + f64::from(n)));
    // T3, T5, T6, T7: stretched axes, an extent of 0, rank 0, and other lengths.
    let column = array(&[2, 1], &[10.0, 20.0]);
    assert_eq!(computed(column.lazy() + &x), [11.0, 12.0, 13.0, 21.0, 22.0, 23.0]);
    let none = (array(&[0, 3], &[]).lazy() + count(&[1, 3])).materialize().unwrap();
    assert_eq!(none.shape(), [0, 3]);
    assert_eq!(computed(array(&[], &[5.0]).lazy() + count(&[2, 2])), [5.0, 6.0, 7.0, 8.0]);
    for n in [0, 1, 2, 10] {
        assert_eq!(computed(count(&[n]).lazy() * 2.0).len(), n);
    }
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    // T4: the error names both operands.
    let (x, y) = (count(&[3]), count(&[4]));
    let error = (x.lazy() + 2.0 * y.lazy()).materialize().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`add` can't broadcast operand 0, f64[3], with operand 1, a result of `mul` with shape [4]: extents are equal, or one of them is 1"
    );
    let error = x.lazy().eq(2.0).where_(count(&[2, 1]), &y).materialize().unwrap_err().to_string();
    assert!(error.contains("operands 0 to 1, which broadcast to shape [2, 3]") && error.contains("f64[4]"), "{error}");
    let error = Expr::apply("transpose", [&x]).unwrap_err().to_string();
    assert!(error.contains("no elementwise op"), "{error}");
    let error = Expr::apply("addd", [&x]).unwrap_err().to_string();
    assert!(error.contains("did you mean `add`?"), "{error}");
    let error = Expr::apply("add", [&x]).unwrap().materialize().unwrap_err().to_string();
    assert_eq!(error, "`add` takes 2 operands, got 1; write `add %a, %b`: Sum; of bools, logical or");
}

#[test]
fn scalars_alone_give_a_scalar() {
    // T8: operands of rank 0 only.
    let x = (Scalar::F64(2.0).lazy() + 1.0) * 3;
    assert_eq!(x.materialize().unwrap(), Datum::Scalar(Scalar::F64(9.0)));
    assert_eq!((Expr::from(2) + 3).materialize().unwrap(), Datum::Scalar(Scalar::I64(5)));
    assert_eq!(Expr::from(2.5).materialize().unwrap(), Datum::Scalar(Scalar::F64(2.5)));
    assert_eq!(count(&[2]).lazy().materialize().unwrap(), Datum::from(count(&[2])));
}

/// T11, J15: expressions of many operands.
#[test]
fn there_may_be_any_number_of_operands() {
    for n in [12, 50, 200] {
        let all: Vec<Array> =
            (0..n).map(|k| count(&[5]).lazy() + k as i64).map(|e| e.materialize().unwrap().to_array()).collect();
        let sum = all.iter().fold(Expr::from(0.0), |sum, x| sum + x);
        let n = n as f64;
        let wanted: Vec<f64> = (0..5).map(|i| n * f64::from(i) + n * (n - 1.0) / 2.0).collect();
        // One fused loop reads all operands.
        let mut module = sum.to_module().unwrap();
        Pipeline::by_default().unwrap().run(&mut module, &Default::default(), &mut NoObserver).unwrap();
        let text = module.to_string();
        assert_eq!((text.matches(" arrayexpr ").count(), text.matches("broadcasted").count()), (1, 0), "{text}");
        assert_eq!(computed(sum), wanted);
    }
}

#[test]
fn an_expression_that_is_used_twice_is_computed_once() {
    // T10: without sharing this would be 2^40 functions.
    let twice = (0..40).fold(array(&[2], &[1.0, 3.0]).lazy(), |x, _| &x + &x);
    assert_eq!(computed(twice), [1.0, 3.0].map(|x| x * 2f64.powi(40)));
}

#[test]
fn literals_are_weak() {
    let single = Array::full(Scalar::F32(0.5), &[2]).unwrap();
    let dtype = |expr: Expr| expr.materialize().unwrap().dtype();
    assert_eq!(dtype(2.0 * (single.lazy() + 1)), DType::F32);
    assert_eq!(dtype(single.lazy() * Scalar::F64(2.0)), DType::F64);
    let ints = Array::full(Scalar::I32(5), &[2]).unwrap();
    assert_eq!(dtype(ints.lazy() * 2), DType::I32);
    assert_eq!(dtype(ints.lazy() * 2.5), DType::F64);
    assert_eq!(dtype(ints.lazy() * 2.0_f32), DType::F64);
    assert_eq!(dtype(single.lazy().gt(0.0).where_(1.0_f32, 0)), DType::F32);
    // T15: complex literals.
    let i = rewright::Complex64::new(0.0, 1.0);
    assert_eq!(dtype(single.lazy() * i), DType::C64);
    assert_eq!(computed((single.lazy() * i * i).real()), [-0.5, -0.5]);
    // T12, T17: a literal as an operand of `where`.
    let chosen = single.lazy().gt(0.0).where_(&ints, 0);
    assert_eq!(dtype(chosen), DType::I32);
    // T13: literal exponents.
    let x = array(&[2], &[2.0, 3.0]);
    for (power, wanted) in [(2.0, [4.0, 9.0]), (3.0, [8.0, 27.0]), (0.0, [1.0, 1.0]), (-1.0, [0.5, 1.0 / 3.0])] {
        assert_eq!(computed(x.lazy().pow(power)), wanted);
    }
    assert_eq!(computed(x.lazy().pow(0.5)), [2f64.sqrt(), 3f64.sqrt()]);
    // T14: comparisons and logical operators.
    let between = (x.lazy().gt(1.0)) & x.lazy().le(2.0);
    assert_eq!(between.materialize().unwrap().to_array().to_string(), "[ True False]");
    // T18: a literal beside an empty array.
    assert_eq!(dtype(Array::full(Scalar::F32(0.0), &[0]).unwrap().lazy() + 1.0), DType::F32);
    // A literal outside the range of the dtype.
    let bytes = Array::full(Scalar::U8(1), &[2]).unwrap();
    assert!((bytes.lazy() + 300).materialize().unwrap_err().to_string().contains("300"));
}

#[test]
fn functions_are_values() {
    // T16: a function of scalars, called in an expression.
    let text =
        "func @square_plus(%x: f64, %y: f64) -> f64 {\nentry:\n  %0 = mul %x, %x\n  %1 = add %0, %y\n  ret %1\n}";
    let function = |text: &str| {
        let module = parse_module(text, "f").map_err(|e| e.render(false)).unwrap();
        ScalarFunction::new(module.into_functions().next().unwrap())
    };
    let f = function(text).unwrap();
    let x = array(&[3], &[1.0, 2.0, 3.0]);
    assert_eq!(computed(1.0 + Expr::call(&f, [x.lazy(), 1.into()])), [3.0, 6.0, 11.0]);
    // Two functions of one name.
    let g = function(&text.replace("add", "sub")).unwrap();
    let error = (Expr::call(&f, [&x, &x]) + Expr::call(&g, [&x, &x])).materialize().unwrap_err();
    assert!(matches!(error, Error::SameName { .. }), "{error}");
    assert_eq!(computed(Expr::call(&g, [&x, &x])), [0.0, 2.0, 6.0]);
    assert!(function("func @f(%x: f64[n]) -> f64[n] {\nentry:\n  ret %x\n}").is_err());
}

#[test]
fn structure_is_kept() {
    let d = styled("diagonal", &count(&[3, 3]));
    let style = |expr: Expr| style_of(&expr.materialize().unwrap());
    assert_eq!(style(d.lazy() * 3), "diagonal");
    assert_eq!(style(d.lazy().cast(DType::F32).sin()), "diagonal");
    assert_eq!(style(d.lazy().cos()), "dense");
    assert_eq!(style(d.lazy().cos() - 1.0), "diagonal");
    let t = styled("tridiagonal", &count(&[3, 3]));
    assert_eq!(style(&d + t.lazy()), "tridiagonal");
    assert_eq!(computed(&d + t.lazy()), [0.0, 1.0, 0.0, 3.0, 8.0, 5.0, 0.0, 7.0, 16.0]);
    assert_eq!(style_of(&(d.lazy() * 3).materialize_as("dense").unwrap()), "dense");
    assert_eq!(style_of(&(count(&[1, 1]).lazy() * 3).materialize_as("diagonal").unwrap()), "diagonal");
    let error = (count(&[2, 2]).lazy() * 3).materialize_as("diagonal").unwrap_err().to_string();
    assert!(error.contains("`diagonal` can't have"), "{error}");
    assert!((count(&[2, 2]).lazy() * 3).materialize_as("diagnal").unwrap_err().to_string().contains("did you mean"));
    // T19, T21, T22: the extent of a tuple is part of its type.
    let three = styled("tuple", &count(&[3]));
    assert_eq!(style(three.lazy() + 1), "tuple");
    assert_eq!(style(three.lazy() + count(&[3])), "dense");
    assert!((three.lazy() + &styled("tuple", &count(&[2]))).materialize().is_err());
    // T35, T36: ranges stay ranges under affine functions.
    let r = Styled::of(Style::named(Name::new("range")).unwrap(), &count(&[5])).unwrap();
    assert_eq!(style(2 * (r.lazy() + 1) - &r), "range");
    assert_eq!(computed(2 * (r.lazy() + 1) - &r), [2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(style((r.lazy() + 1).sin()), "dense");
}

#[test]
fn elements_are_written_in_place() {
    // T39: assignment keeps the buffer of the destination.
    let x = count(&[4]);
    let mut y = count(&[4]);
    let at = pointer(&y);
    y.assign(2.0 * (x.lazy() + 1.0)).unwrap();
    assert_eq!((numbers(&y.clone().into()), pointer(&y)), (vec![2.0, 4.0, 6.0, 8.0], at));
    // T42: the destination is an operand.
    y.assign(y.lazy() * 2.0).unwrap();
    assert_eq!((numbers(&y.clone().into()), pointer(&y)), (vec![4.0, 8.0, 12.0, 16.0], at));
    // T40: elements at other positions than the written one are read before they are overwritten.
    let Array::F64(elements) = &y else { panic!() };
    let reversed = Array::F64(elements.clone().slice_move(rewright::ndarray::s![..;-1]).into_dyn());
    y.assign(y.lazy() + &reversed).unwrap();
    assert_eq!(numbers(&y.clone().into()), [20.0; 4]);
    // From the second call on, assignment to a large array allocates no temporary array.
    let mut large = count(&[1 << 17]);
    let again = |y: &mut Array| y.assign(2.0 * (y.lazy() - 1.0)).unwrap();
    again(&mut large);
    let (at, made) = (pointer(&large), allocation_counter::measure(|| again(&mut large)).bytes_total);
    assert!(pointer(&large) == at && made < 1 << 14, "{made} bytes");
    // Copy on write: another owner of the buffer keeps the old elements.
    let old = y.clone();
    y.assign(1.0).unwrap();
    assert_eq!((numbers(&y.into()), numbers(&old.into())), (vec![1.0; 4], vec![20.0; 4]));
    // T43: the transposed destination is an operand.
    let mut square = count(&[2, 2]);
    square.assign(square.permuted(&[1, 0])).unwrap();
    assert_eq!(numbers(&square.into()), [0.0, 2.0, 1.0, 3.0]);
}

#[test]
fn destinations_win() {
    // T44, T48: expressions broadcast to the destination.
    let mut y = count(&[3, 4]);
    y.assign(count(&[4]).lazy() + 1).unwrap();
    assert_eq!(numbers(&y.clone().into())[4..8], [1.0, 2.0, 3.0, 4.0]);
    y.assign(count(&[3, 1]).lazy()).unwrap();
    assert_eq!(numbers(&y.clone().into())[4..8], [1.0; 4]);
    y.assign(Scalar::F32(0.5)).unwrap();
    assert_eq!(numbers(&y.clone().into()), [0.5; 12]);
    y.assign(2).unwrap();
    assert_eq!(numbers(&y.clone().into()), [2.0; 12]);
    // T45, T46: an expression that does not fit leaves the destination unchanged.
    let at = pointer(&y);
    for wrong in [count(&[2, 3, 4]), count(&[5]), count(&[1, 3, 4]), count(&[4, 4])] {
        let error = y.assign(wrong.lazy() * 2.0).unwrap_err().to_string();
        assert!(error.contains("f64[3, 4]") && error.contains("an expression of shape"), "{error}");
        assert_eq!((numbers(&y.clone().into()), pointer(&y)), (vec![2.0; 12], at));
    }
    // An extent of 1 is not stretched.
    assert!(array(&[1], &[1.0]).assign(count(&[3])).is_err());
    // T47: the destination decides the dtype, but only `cast` converts floats to integers.
    let mut single = Array::full(Scalar::F32(0.0), &[2]).unwrap();
    single.assign(array(&[2], &[0.1, 0.2]).lazy() * 2.0).unwrap();
    assert_eq!(single.get(&[0]), Some(Scalar::F32(0.2)));
    let mut ints = Array::full(Scalar::I64(7), &[2]).unwrap();
    for float in [count(&[2]).lazy() * 1.5, 2.5.into()] {
        let error = ints.assign(&float).unwrap_err().to_string();
        assert_eq!(error, "f64 can't be assigned to i64, which is of an earlier kind: `cast` says that it may");
        assert_eq!(numbers(&ints.clone().into()), [7.0, 7.0]);
    }
    ints.assign((count(&[2]).lazy() * 1.5).cast(DType::I64)).unwrap();
    assert_eq!(numbers(&ints.clone().into()), [0.0, 1.0]);
    // A run-time error leaves the destination unchanged.
    let error = ints.assign(ints.lazy().pow(Array::full(Scalar::I64(-1), &[2]).unwrap())).unwrap_err();
    assert!(matches!(error, Error::Eval(_)), "{error}");
    assert_eq!(numbers(&ints.into()), [0.0, 1.0]);
}

#[test]
fn operands_may_be_parts_of_the_destination() {
    // T41, T49, T50: operands that alias the destination are read before it is written, whoever owns the
    // buffer.
    let part = |y: &Array, from: usize, to: usize| {
        let Array::F64(elements) = y else { panic!() };
        Array::F64(elements.clone().slice_move(rewright::ndarray::s![from..to]).into_dyn())
    };
    let whole = count(&[5]);
    let mut shifted = part(&whole, 1, 5);
    shifted.assign(part(&whole, 0, 4).lazy() + &part(&whole, 1, 5)).unwrap();
    assert_eq!(numbers(&shifted.into()), [1.0, 3.0, 5.0, 7.0]);
    assert_eq!(numbers(&whole.into()), [0.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn expressions_may_be_very_deep() {
    let deep = (0..100_000).fold(count(&[2]).lazy(), |x, _| -x);
    drop(deep.clone());
    // Expressions are `Send`.
    let deep = std::thread::spawn(move || deep).join().unwrap();
    // Validation walks the whole expression without recursion, and finds the mistake at its root.
    let error = (deep + count(&[3])).materialize().unwrap_err().to_string();
    assert!(error.contains("a result of `neg` with shape [2]"), "{error}");
}

/// J16: `flatten`.
#[test]
fn a_nest_is_one_function_and_its_arguments() {
    let (x, y) = (array(&[3], &[1.0, 2.0, 3.0]), array(&[2, 1], &[0.5, 0.25]));
    let expr = (x.lazy() * 2.0 + y.lazy().sin()) / (x.lazy() - 1).cast(DType::F32);
    let flat = expr.flatten().unwrap();
    let args: Vec<String> = flat.args.iter().map(|arg| arg.ty().to_string()).collect();
    assert_eq!(args, ["f64[3]", "f64", "f64[2, 1]", "f64[3]", "f64"]);
    let function = ScalarFunction::new(flat.function().unwrap().clone()).unwrap();
    assert_eq!(computed(Expr::call(&function, flat.args)), computed(expr));
    // A shared operand is one argument. An expression without functions flattens to the identity.
    let shared = x.lazy() + 1.0;
    assert_eq!((&shared * &shared).flatten().unwrap().args.len(), 2);
    let flat = Expr::from(2.5).flatten().unwrap();
    assert_eq!((flat.args.len(), flat.function().unwrap().results.len()), (1, 1));
}

#[test]
fn destinations_keep_their_style() {
    // T66: a styled operand with a dense destination, and a styled destination.
    let d = styled("diagonal", &count(&[3, 3]));
    let mut y = count(&[3, 3]);
    y.assign(d.lazy() * 2.0).unwrap();
    assert_eq!(numbers(&y.clone().into()), [0.0, 0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 16.0]);
    let mut kept = Datum::from(d.clone());
    kept.assign(kept.lazy() * 3.0).unwrap();
    assert_eq!((style_of(&kept).as_str(), numbers(&kept)[4]), ("diagonal", 12.0));
    // Dense elements that fit the style, and dense elements that do not.
    kept.assign(&y).unwrap();
    assert_eq!((style_of(&kept).as_str(), numbers(&kept)[4]), ("diagonal", 8.0));
    let before = kept.clone();
    let error = kept.assign(y.lazy() + 1.0).unwrap_err().to_string();
    assert!(error.contains("`diagonal` can't have"), "{error}");
    assert_eq!(kept, before);
    assert!(Datum::Scalar(Scalar::F64(1.0)).assign(2.0).unwrap_err().to_string().contains("writes into an array"));
}

#[test]
fn expressions_are_reduced_where_they_are_computed() {
    let x = Array::from_fn(DType::F64, &[3, 1], |i| Scalar::F64(i as f64)).unwrap();
    let y = Array::from_fn(DType::F64, &[4], |i| Scalar::F64(i as f64)).unwrap();
    let e = x.lazy() * &y + 1.0;
    assert_eq!((e.shape().unwrap(), e.dtype().unwrap()), (vec![3, 4], DType::F64));
    assert_eq!(e.get(&[2, 3]).unwrap(), Scalar::F64(7.0));
    assert_eq!(e.reduce("sum").unwrap().to_string(), "30.0");
    assert_eq!(e.reduce_along("max", &[0]).unwrap().to_string(), "[1. 3. 5. 7.]");
    assert_eq!(e.lt(3.0).reduce("sum").unwrap().to_string(), "7");
    assert!(e.get(&[3, 0]).unwrap_err().to_string().contains("no element at [3, 0] of an expression of shape [3, 4]"));
    assert!(e.reduce("exp").unwrap_err().to_string().contains("`exp` is no reduction"));
    assert!(e.reduce_along("sum", &[2]).unwrap_err().to_string().contains("no axis 2"));
    // J28: reductions of packed bools work on whole words.
    let bits = (x.lazy().gt(0.5)).materialize_as("bits").unwrap();
    assert_eq!((!bits.lazy()).reduce("sum").unwrap().to_string(), "1");
}

/// T51: no array has two elements at one address. `broadcast` copies, and ndarray refuses overlapping
/// strides.
#[test]
fn copies_have_places_of_their_own() {
    let row = Array::from_fn(DType::F64, &[3], |i| Scalar::F64(i as f64)).unwrap();
    let mut rows = row.broadcast(&[2, 3]).unwrap();
    assert!(!rows.strides().contains(&0));
    rows.assign(row.lazy() + rows.lazy() * 2.0).unwrap();
    assert_eq!((row.to_string(), rows.get(&[1, 2])), ("[0. 1. 2.]".into(), Some(Scalar::F64(6.0))));
    let overlapping = ndarray::ArcArray::from_shape_vec(ndarray::ShapeBuilder::strides((2, 3), (0, 1)), vec![0.0; 3]);
    assert!(overlapping.is_err());
}
