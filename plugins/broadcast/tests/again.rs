//! Replay cache with styled arguments: repeated calls give the same results, and plan and allocate almost
//! nothing.

use rewright::ir::{Style, Styled, parse_module};
use rewright::lowering::exec::{Arg, Backend, Executable, Options};
use rewright::{Array, DType, Datum, Name, NoObserver, Pipeline, Scalar};
use rewright_broadcast as _;

fn compile(text: &str) -> Executable {
    let mut module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    Pipeline::by_default().unwrap().run(&mut module, &Default::default(), &mut NoObserver).unwrap();
    Executable::compile(&module, "f", Options::default()).unwrap()
}

/// The results of a call, and those of the reference evaluator.
fn both(f: &Executable, text: &str, args: &[Datum]) -> [Result<Vec<Datum>, String>; 2] {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let options = Options { backend: Backend::Reference, ..Options::default() };
    let reference = Executable::compile(&module, "f", options).unwrap();
    let args: Vec<Arg<'_>> = args.iter().map(Arg::from).collect();
    [f, &reference].map(|f| f.call(&args).map(|results| results.to_vec()).map_err(|e| e.message))
}

fn keep(style: &str, dtype: DType, shape: &[usize], element: impl FnMut(usize) -> Scalar) -> Datum {
    let style = Style::named(Name::new(style)).unwrap();
    Styled::of(style, &Array::from_fn(dtype, shape, element).unwrap()).unwrap().into()
}

fn bits(n: usize, seed: usize) -> Datum {
    keep("bits", DType::Bool, &[n], |i| Scalar::Bool((i * i + seed).is_multiple_of(3)))
}

fn range(n: usize, start: f64, step: f64) -> Datum {
    keep("range", DType::F64, &[n], |i| Scalar::F64(start + i as f64 * step))
}

const LOGIC: &str = "func @f(%a: bool[n; bits], %b: bool[n; bits], %c: bool[n; bits]) -> bool[n; bits] {
entry:
  %0 = broadcasted %a, %b, op=\"bitand\"
  %1 = broadcasted %c, op=\"invert\"
  %2 = broadcasted %0, %1, op=\"bitor\"
  %r = materialize %2
  ret %r
}";

const SHIFTED: &str = "func @f(%r: f64[n; range], %c: f64) -> f64[n; range] {
entry:
  %0 = broadcasted %r, %c, op=\"add\"
  %m = materialize %0
  ret %m
}";

#[test]
fn components_and_extents_may_change() {
    let (logic, shifted) = (compile(LOGIC), compile(SHIFTED));
    for n in [70, 70, 70, 70, 71, 71, 71, 71, 64, 64, 64, 70, 1, 1, 1] {
        for seed in 0..2 {
            let [found, wanted] = both(&logic, LOGIC, &[bits(n, seed), bits(n, 1), bits(n, 2 + seed)]);
            assert_eq!(found, wanted, "{n}");
            let args = [range(n, seed as f64, 0.5), Datum::Scalar(Scalar::F64(n as f64))];
            let [found, wanted] = both(&shifted, SHIFTED, &args);
            assert_eq!(found, wanted, "{n}");
        }
    }
}

#[test]
fn components_may_be_those_of_arguments() {
    let text =
        "func @f(%t: f64[n, n; tridiagonal], %x: f64[n]) -> f64[n, n; upper_bidiagonal], f64[n, n; diagonal], f64[n] {
entry:
  %diag = component %t, name=\"diag\"
  %above = component %t, name=\"above\"
  %twice = mul %diag, 2.0
  %u = assemble %diag, %above, style=\"upper_bidiagonal\", dims=[n, n]
  %d = assemble %x, style=\"diagonal\", dims=[n, n]
  ret %u, %d, %twice
}";
    let f = compile(text);
    for round in 0..6 {
        let t = keep("tridiagonal", DType::F64, &[4, 4], |i| Scalar::F64((i * round) as f64));
        let x = Array::from_fn(DType::F64, &[4], |i| Scalar::F64((i + round) as f64)).unwrap();
        let [found, wanted] = both(&f, text, &[t.clone(), x.into()]);
        let found = found.unwrap();
        assert_eq!(Ok(&found), wanted.as_ref());
        // Shared buffers are not written to.
        assert_eq!(found[0].as_styled().unwrap().components()[0], t.as_styled().unwrap().components()[1]);
    }
}

#[test]
fn components_are_checked_in_every_call() {
    let text = "func @f(%at: i64[k], %x: f64[k]) -> f64[9; sparse] {
entry:
  %0 = mul %x, 2.0
  %r = assemble %at, %0, style=\"sparse\", dims=[9], dtype=f64
  ret %r
}";
    let f = compile(text);
    let x = Array::from_fn(DType::F64, &[2], |i| Scalar::F64(i as f64)).unwrap();
    for (first, second) in [(1, 2), (0, 8), (3, 5), (4, 5), (5, 4), (1, 9), (2, 2), (0, 1)] {
        let at = Array::from_fn(DType::I64, &[2], |i| Scalar::I64([first, second][i])).unwrap();
        let [found, wanted] = both(&f, text, &[at.into(), x.clone().into()]);
        assert_eq!(found, wanted, "{first} {second}");
        assert_eq!(found.is_ok(), (0..second).contains(&first) && second < 9);
    }
}

#[test]
fn such_calls_allocate_their_results_only() {
    for (text, args) in [
        (LOGIC, vec![bits(1000, 0), bits(1000, 1), bits(1000, 2)]),
        (SHIFTED, vec![range(1000, 1.0, 0.5), Datum::Scalar(Scalar::F64(2.0))]),
    ] {
        let f = compile(text);
        let args: Vec<Arg<'_>> = args.iter().map(Arg::from).collect();
        (0..4).for_each(|_| drop(f.call(&args).unwrap()));
        let made = allocation_counter::measure(|| drop(f.call(&args).unwrap()));
        assert!(made.count_total <= 2, "{} allocations\n{text}", made.count_total);
    }
}

#[test]
fn only_results_that_were_dropped_are_written_over() {
    let f = compile(LOGIC);
    let inputs: Vec<[Datum; 3]> = (0..6).map(|seed| [bits(1000, seed), bits(1000, 1), bits(1000, 2 + seed)]).collect();
    let wanted: Vec<_> = inputs.iter().map(|args| both(&f, LOGIC, args)[1].clone().unwrap()).collect();
    let call = |args: &[Datum; 3]| f.call(&args.each_ref().map(Arg::from)).unwrap();
    let words = |results: &[Datum]| match &results[0] {
        Datum::Styled(whole) => whole.components()[0].clone(),
        other => panic!("{other} is of no style"),
    };
    let place = |words: &Array| match words {
        Array::U64(words) => words.as_ptr(),
        other => panic!("{other} are no words"),
    };
    // The caller holds styled results, or components of them only, or nothing.
    let (mut wholes, mut components, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..6 {
        for (args, wanted) in inputs.iter().zip(&wanted) {
            let results = call(args);
            assert_eq!(*results, **wanted);
            match round % 3 {
                0 => wholes.push((results.to_vec(), wanted)),
                1 => components.push((words(&results), wanted)),
                _ => places.push(place(&words(&results))),
            }
        }
    }
    for (whole, wanted) in wholes {
        assert_eq!(whole, **wanted);
    }
    for (held, wanted) in components {
        assert_eq!(held, words(wanted));
    }
    // From the second call of a round on, a call reuses the buffer of the dropped result before it.
    assert!(places[1..6].iter().all(|at| *at == places[1]), "{places:?}");
}
