//! Limits on steps, elements and bytes hold for kernels and copies as they do for evaluation by reference.

use ndarray::{Array1, Array2, Array3, s};
use rewright_ir::text::parse_module;
use rewright_ir::{Datum, EvalErrorKind, Limits};
use rewright_lowering::exec::{Arg, Backend, Executable, Options};

fn compile_with(text: &str, options: Options) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let name = module.functions().next().unwrap().name;
    Executable::compile(&module, name, options).unwrap()
}

#[test]
fn limits_hold_for_kernels() {
    let text = "func @f(%x: f64[n], %y: f64[m, 1]) -> f64[m, n] {
entry:
  %0 = add %x, %y
  ret %0
}";
    let (x, y) = (Array1::<f64>::zeros(1000), Array2::<f64>::zeros((1000, 1)));
    for limits in [
        Limits { elements: 999_999, ..Limits::default() },
        Limits { bytes: 7_999_999, ..Limits::default() },
        Limits { steps: 999_999, ..Limits::default() },
    ] {
        for backend in [Backend::Reference, Backend::Cranelift] {
            let f = compile_with(text, Options { backend, limits, ..Options::default() });
            let error = f.call(&[(&x).into(), (&y).into()]).unwrap_err();
            assert_eq!(error.kind, EvalErrorKind::Limit, "{backend:?} {limits:?}");
        }
    }
}

#[test]
fn limits_hold_for_what_is_read_at_positions() {
    // A few bytes say where to read very many times; the lists of places count as held.
    let reads = [
        ("%0 = gather %x, %i, %j", "i64[a, 1]", "i64[1, b]", "f64[a, b]", [300_000, 300_000]),
        (
            "%k = broadcast_in_dim %i, dims=[1000000000000], axes=[0]\n  %0 = take %x, %k, axis=0",
            "i64[1]",
            "i64[1]",
            "f64[?, n]",
            [1, 1],
        ),
        (
            "%m = broadcast_in_dim %i, dims=[1000000000000], axes=[0]\n  %c = eq %j, 0\n  %b = broadcast_in_dim %c, dims=[1000000000000], axes=[0]\n  %0 = compress %m, %b",
            "i64[1]",
            "i64[1]",
            "i64[?]",
            [1, 1],
        ),
    ];
    for (body, i, j, result, [a, b]) in reads {
        let text = format!("func @f(%x: f64[n, n], %i: {i}, %j: {j}) -> {result} {{\nentry:\n  {body}\n  ret %0\n}}");
        let x = Array2::<f64>::zeros((3, 3));
        let shape = |ty: &str, n: usize| {
            if ty == "i64[1]" {
                vec![1]
            } else if ty == "i64[a, 1]" {
                vec![n, 1]
            } else {
                vec![1, n]
            }
        };
        let zeros = |ty: &str, n: usize| ndarray::ArrayD::<i64>::zeros(shape(ty, n));
        let (i, j) = (zeros(i, a), zeros(j, b));
        for backend in Backend::available() {
            let f = compile_with(&text, Options { backend, ..Options::default() });
            let error = f.call(&[(&x).into(), (&i).into(), (&j).into()]).unwrap_err();
            assert_eq!(error.kind, EvalErrorKind::Limit, "{backend:?} {body}");
        }
    }
    // 1,000 bytes. A mask needs as many places of 8 bytes.
    let take = "func @f(%x: u8[n, k], %i: i64[m]) -> u8[m, k] {\nentry:\n  %0 = take %x, %i, axis=0\n  ret %0\n}";
    let compress = "func @f(%x: u8[n, k], %i: bool[n]) -> u8[?, k] {\nentry:\n  %0 = compress %x, %i\n  ret %0\n}";
    let (x, i, mask) = (Array2::<u8>::zeros((1000, 1)), Array1::<i64>::zeros(1000), Array1::from_elem(1000, true));
    for (text, at, bytes, ends) in [
        (take, Arg::from(&i), 900, false),
        (take, Arg::from(&i), 1_100, true),
        (compress, Arg::from(&mask), 8_500, false),
        (compress, Arg::from(&mask), 20_000, true),
    ] {
        let limits = Limits { bytes, ..Limits::default() };
        let f = compile_with(text, Options { limits, ..Options::default() });
        assert_eq!(f.call(&[(&x).into(), at]).is_ok(), ends, "{bytes}");
    }
}

#[test]
fn limits_hold_for_views_that_are_results() {
    // One element, stretched, is a view of as many as one likes until it is a result.
    let text = "func @f(%x: f64[1]) -> f64[300000] {
entry:
  %0 = broadcast_in_dim %x, dims=[300000], axes=[0]
  %1 = flip %0, axes=[0]
  ret %1
}";
    let x = Array1::<f64>::zeros(1);
    for backend in Backend::available() {
        let call = |limits| compile_with(text, Options { backend, limits, ..Options::default() }).call(&[(&x).into()]);
        for limits in [
            Limits { elements: 299_999, ..Limits::default() },
            Limits { bytes: 2_399_999, ..Limits::default() },
            Limits { steps: 299_999, ..Limits::default() },
        ] {
            assert_eq!(call(limits).unwrap_err().kind, EvalErrorKind::Limit, "{backend:?} {limits:?}");
        }
        assert!(call(Limits::default()).is_ok());
    }
}

#[test]
fn points_are_steps_and_no_elements() {
    // A thousand elements, and a million points.
    let text = "func @f(%x: f64[n], %y: f64[n]) -> f64[n] {
entry:
  %0 = arrayexpr [i: n, j: reduce n] (x = %x[i], y = %y[j]) {
    t0 = mul x, y
    yield t0
  } reduce (sum f64) : f64[n]
  ret %0
}";
    let x = Array1::<f64>::ones(1000);
    for backend in Backend::available() {
        let call = |steps| {
            let limits = Limits { elements: 1000, steps, ..Limits::default() };
            compile_with(text, Options { backend, limits, ..Options::default() }).call(&[(&x).into(), (&x).into()])
        };
        let sum: f64 = call(10_000_000).unwrap()[0].to_array().iter().map(|x| x.to_f64()).sum();
        assert_eq!(sum, 1e6, "{backend:?}");
        let error = call(999_999).unwrap_err();
        assert!(error.message.contains("more than 999999 points"), "{backend:?} {error}");
    }
}

#[test]
fn arguments_may_be_larger_than_what_a_program_makes() {
    // A row that is not evenly spaced is copied first.
    let text = "func @f(%x: i64[a, b, c]) -> bool, i64 {\nentry:\n  %0 = any %x\n  %1 = sum %x\n  ret %0, %1\n}";
    let x = Array3::<i64>::ones((8, 10, 12));
    let x = x.slice(s![..;2, ..;3, ..;-5]);
    for backend in Backend::available() {
        let limits = Limits { elements: 10, ..Limits::default() };
        let f = compile_with(text, Options { backend, limits, ..Options::default() });
        let found = f.call(&[x.into()]).unwrap_or_else(|e| panic!("{backend:?}: {e}"));
        assert_eq!(found[..], [Datum::Scalar(true.into()), Datum::Scalar(48i64.into())], "{backend:?}");
    }
}
