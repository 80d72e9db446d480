//! Functions whose results are lazy.

use allocation_counter::measure;
use rewright::exec::Options;
use rewright::{Array, DType, Executable, Scalar, evaluate, parse_module};
use rewright_lazy::{LazyArray, LazyFunction, LazyValue};

fn numbers(shape: &[usize]) -> Array {
    Array::from_fn(DType::F64, shape, |i| Scalar::F64(i as f64 + 0.5)).unwrap()
}

fn compile(text: &str) -> LazyFunction {
    let module = parse_module(text, "f.ir").unwrap_or_else(|e| panic!("{e}"));
    LazyFunction::compile(&module, "f", Options::default()).unwrap()
}

fn shown(results: &[LazyValue]) -> Vec<String> {
    results.iter().map(|r| r.as_array().map_or("scalar".into(), |a| a.expr().to_string())).collect()
}

/// All ops that are index maps, and all constructors, against the evaluator.
const EVERY: &str = "func @f(%x: f64[n, m], %k: f64) -> f64[m, 1, n], f64[?], f64[2, n, m], f64[n, m], f64[?, m], f64[n, m], i32[n, m], f64[n, n], f64[m, n], f64[m], i64[n, n, n], f64[n], f64 {
entry:
  %turned = transpose %x
  %a = reshape %turned, dims=[m, 1, n]
  %b = diagonal %x, offset=1
  %c = broadcast_in_dim %x, dims=[2, ?, ?], axes=[1, 2]
  %e0 = expand_dims %x, axes=[0, -1]
  %e = squeeze %e0, axes=[0, 3]
  %s = slice %x, at=[1::2, ::-1]
  %d = flip %x
  %g = iota dims=[n, m], axis=-1, dtype=i32
  %h = eye dims=[n, n], offset=-1
  %i = tri dims=[m, n]
  %j = full %k, dims=[m]
  %l0 = delta dims=[n, n, n], dtype=i64
  %l = moveaxis %l0, from=[0], to=[1]
  %o = sum %x, axes=[1]
  %p = sum %o
  ret %a, %b, %c, %e, %s, %d, %g, %h, %i, %j, %l, %o, %p
}";

/// L5.
#[test]
fn lazy_results_are_those_of_the_evaluator() {
    let f = compile(EVERY);
    let module = parse_module(EVERY, "f.ir").unwrap();
    for shape in [[3, 4], [0, 2], [1, 1], [2, 0], [10, 2]] {
        let x = numbers(&shape);
        let forms =
            [LazyArray::of(x.clone()), LazyArray::of(x.clone()).view(|e| e.flipped(&[1])?.flipped(&[1])).unwrap()];
        let wanted =
            evaluate(&module, "f", vec![x.into(), Scalar::F64(2.5).into()], Default::default()).unwrap().results;
        for x in forms {
            let given = f.call(&[x.into(), Scalar::F64(2.5).into()]).unwrap();
            assert_eq!(given.len(), wanted.len());
            for (given, wanted) in given.iter().zip(&wanted) {
                match given {
                    LazyValue::Array(array) => assert_eq!(array.force().unwrap(), &wanted.to_array(), "{array:?}"),
                    LazyValue::Scalar(scalar) => assert_eq!(Some(*scalar), wanted.as_scalar()),
                    LazyValue::Styled(_) => panic!("nothing has a style"),
                }
            }
        }
    }
    let results = f.call(&[numbers(&[3, 4]).into(), Scalar::F64(2.5).into()]).unwrap();
    assert_eq!(
        shown(&results),
        [
            "var(f64[3, 4])[i: 4, j: 1, k: 3 -> k, i]",
            "var(f64[3, 4])[i: 3 -> i, i + 1]",
            "var(f64[3, 4])[i: 2, j: 3, k: 4 -> j, k]",
            "var(f64[3, 4])",
            "var(f64[3, 4])[i: 1, j: 4 -> 1, 3 - j]",
            "var(f64[3, 4])[i: 3, j: 4 -> 2 - i, 3 - j]",
            "iota(i32, 4)[i: 3, j: 4 -> j]",
            "eye(f64, 3, 3, -1)",
            "tri(f64, 4, 3)",
            "full(2.5:f64)[i: 4]",
            "delta(i64, 3, 3, 3)[i: 3, j: 3, k: 3 -> j, i, k]",
            "var(f64[3])",
            "scalar",
        ]
    );
}

/// L6: of a megabyte that is only shown otherwise nothing is allocated.
#[test]
fn lazy_values_are_not_allocated() {
    let f = compile(
        "func @f(%x: f64[n, m]) -> f64[m, n], f64[n, m, 1000], f64[n, m] {
entry:
  %a = transpose %x
  %b = broadcast_in_dim %x, dims=[n, m, 1000], axes=[0, 1]
  %c = eye dims=[n, m]
  ret %a, %b, %c
}",
    );
    let x = LazyArray::of(numbers(&[400, 400]));
    f.call(&[x.clone().into()]).unwrap();
    let counts = measure(|| assert_eq!(f.call(&[x.clone().into()]).unwrap().len(), 3));
    assert!(counts.bytes_total < 10_000, "{counts:?}");
    assert!(f.executable().plan().functions[0].steps.len() <= 1, "{:?}", f.executable().plan());
    assert_eq!(f.executable().stats().allocations, 0);
    // A result of one call is an argument of the next, and a view of a view is one map.
    let again = f.call(&[f.call(&[x.into()]).unwrap()[0].clone()]).unwrap();
    assert_eq!(shown(&again)[0], "var(f64[400, 400])");
}

/// L8: a small part keeps no large array alive; its remark is given once.
#[test]
fn small_escaping_views_of_large_arrays_are_copied() {
    let f = compile(
        "func @f(%x: f64[n, m]) -> f64[?], f64[m, n] {
entry:
  %a = diagonal %x
  %b = transpose %x
  ret %a, %b
}",
    );
    let small = f.call(&[numbers(&[5, 5]).into()]).unwrap();
    assert_eq!(shown(&small), ["var(f64[5, 5])[i: 5 -> i, i]", "var(f64[5, 5])[i: 5, j: 5 -> j, i]"]);
    assert!(f.remarks().is_empty());
    for _ in 0..2 {
        let large = f.call(&[numbers(&[300, 300]).into()]).unwrap();
        assert_eq!(shown(&large), ["var(f64[300])", "var(f64[300, 300])[i: 300, j: 300 -> j, i]"]);
        assert_eq!(large[0].as_array().unwrap().get(&[2]), Some(Scalar::F64(602.5)));
    }
    let remarks = f.remarks();
    assert_eq!(
        remarks,
        ["result 0 is made in memory, 2400 bytes: `var(f64[300, 300])[i: 300 -> i, i]` would keep 720000 bytes"]
    );
}

/// A returned value observes a store to the argument, so it is no view of the argument's old value.
#[test]
fn values_that_are_stored_to_are_not_lazy() {
    let f = compile("func @f(%x: f64[n]) -> f64[n] {\nentry:\n  %y = flip %x\n  store %x, 1.0\n  ret %y\n}");
    let given = f.call(&[numbers(&[3]).into()]).unwrap();
    assert_eq!(shown(&given), ["var(f64[3])"]);
    assert_eq!(given[0].as_array().unwrap().get(&[0]), Some(Scalar::F64(2.5)));
    let branches = compile(
        "func @f(%x: f64[n], %c: bool) -> f64[n] {
entry:
  %y = flip %x
  br_if %c, yes, no
yes:
  ret %y
no:
  ret %x
}",
    );
    let given = branches.call(&[numbers(&[3]).into(), Scalar::Bool(true).into()]).unwrap();
    assert_eq!(given[0].as_array().unwrap().get(&[0]), Some(Scalar::F64(2.5)));
}

#[test]
fn arguments_are_checked_though_nothing_is_computed() {
    let f = compile("func @f(%x: f64[n, n]) -> f64[n, n] {\nentry:\n  %y = transpose %x\n  ret %y\n}");
    let message = |args: &[LazyValue]| f.call(args).unwrap_err().to_string();
    assert!(message(&[numbers(&[2, 3]).into()]).contains("`%x` is f64[2, 3], its type is f64[n, n] with n = 2"));
    assert!(message(&[]).contains("takes 1 arguments, got 0"));
    assert!(message(&[Scalar::F64(1.0).into()]).contains("@f"));
    let huge = LazyArray::constant("full(0.0:f64)[i: 18446744073709551615, j: 18446744073709551615]".parse().unwrap())
        .unwrap();
    assert!(message(&[huge.into()]).contains("extents"));
    let module = parse_module("func @g() -> i64 {\nentry:\n  ret 1\n}", "g.ir").unwrap();
    let missing = LazyFunction::compile(&module, "f", Options::default()).err().map(|e| e.to_string());
    assert_eq!(missing.as_deref(), Some("there is no function `@f` in the module"));
}

/// T87, T88, L6: one kernel, and one buffer, that of the result.
#[test]
fn one_kernel_and_one_buffer() {
    let texts = [
        "func @f(%x: f64[n]) -> f64[n, n] {\nentry:\n  %c = expand_dims %x, axes=[1]\n  %r = expand_dims %x, axes=[0]\n  %p = mul %c, %r\n  ret %p\n}",
        "func @f(%x: f64[n]) -> f64[n, n] {\nentry:\n  %a = iota dims=[n]\n  %c = expand_dims %a, axes=[1]\n  %p = add %x, %c\n  ret %p\n}",
        "func @f(%x: f64[n]) -> f64[n, n] {\nentry:\n  %e = eye dims=[n, n]\n  %d = tri dims=[n, n]\n  %a = mul %x, %e\n  %b = add %a, %d\n  ret %b\n}",
    ];
    for text in texts {
        let mut module = parse_module(text, "f.ir").unwrap();
        let x = numbers(&[50]);
        let run = |module: &rewright::Module| {
            let f = Executable::compile(module, "f", Options::default()).unwrap();
            f.call(&[(&x).into()]).unwrap();
            let stats = f.stats();
            (stats.kernels, stats.allocations + stats.reused, stats.reference)
        };
        rewright::Pipeline::by_default()
            .unwrap()
            .run(&mut module, &Default::default(), &mut rewright::NoObserver)
            .unwrap();
        assert_eq!(run(&module), (1, 1, 0), "{text}");
    }
}
