//! What a call allocates: its results, if none was dropped before, and nothing else that is large.

use ndarray::{Array1, Array2};
use rewright_ir::Datum;
use rewright_ir::text::parse_module;
use rewright_lowering::exec::{Arg, Backend, Executable, Options, Stats};

const LEN: usize = 10_000;
const BYTES: usize = LEN * 8;

/// How many allocations `f` makes, and how many arrays fit into them.
fn counted<R>(f: impl FnOnce() -> R) -> (u64, u64, R) {
    let mut result = None;
    let counts = allocation_counter::measure(|| result = Some(f()));
    (counts.count_total, counts.bytes_total / BYTES as u64, result.expect("it ran"))
}

/// With each kernel run on all of its points before the next one, so that what is between them is all there.
fn compile_apart(text: &str, options: Options) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    Executable::compile(&module, "f", Options { band_bytes: Some(0), ..options }).unwrap()
}

fn compile(text: &str) -> Executable {
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let name = module.functions().next().unwrap().name;
    let f = Executable::compile(&module, name, Options::default()).unwrap();
    assert_eq!(f.remarks(), []);
    f
}

const FOUR: &str = "func @f(%a: f64[n], %b: f64[n]) -> f64[n], f64[n], f64[n], f64[n] {
entry:
  %0, %1, %2, %3 = arrayexpr [i: n] (x = %a[i], y = %b[i]) {
    t0 = add x, y
    t1 = sub x, y
    t2 = mul t0, t1
    t3 = mul t2, 0.5
    yield t0, t1, t2, t3
  } : f64[n], f64[n], f64[n], f64[n]
  ret %0, %1, %2, %3
}";

fn inputs() -> (Array1<f64>, Array1<f64>) {
    (Array1::from_iter((0..LEN).map(|i| i as f64)), Array1::from_elem(LEN, 2.0))
}

#[test]
fn a_fused_program_with_four_results_allocates_these() {
    let f = compile(FOUR);
    let (a, b) = inputs();
    for round in 1..=5 {
        let (all, large, results) = counted(|| f.call(&[(&a).into(), (&b).into()]).unwrap());
        assert_eq!(
            large,
            if round == 1 { 4 } else { 0 },
            "one block for the elements of each result, which are dropped below"
        );
        let want = Stats { kernels: 1, allocations: 4, bytes: 4 * BYTES as u64, ..Stats::default() };
        assert_eq!(f.stats().kernels, round);
        if round > 3 {
            // After two calls that were alike nothing is decided anew, and the results of the third are as these are to be.
            assert_eq!(all, 2, "lists of four are longer than what is on the stack");
        }
        if round == 1 {
            assert_eq!(f.stats(), want);
        }
        assert_eq!(results[3].as_array().unwrap().get(&[3]), Some((0.5 * 5.0 * 1.0).into()));
    }
}

#[test]
fn results_into_given_buffers_allocate_nothing() {
    let f = compile(FOUR);
    let (a, b) = inputs();
    let mut outs: Vec<Array1<f64>> = vec![Array1::zeros(LEN); 4];
    for round in 0..4 {
        let [w, x, y, z] = &mut outs[..] else { unreachable!() };
        let mut into = [w.into(), x.into(), y.into(), z.into()];
        let args: [Arg<'_>; 2] = [(&a).into(), (&b).into()];
        let (all, large, ()) = counted(|| f.call_into(&args, &mut into).unwrap());
        assert_eq!(large, 0);
        assert!(round < 2 || all == 0, "{all} allocations");
    }
    assert_eq!(f.stats().allocations, 0);
    assert_eq!(outs[2], &(&a + &b) * &(&a - &b));
}

const UNFUSED: &str = "func @f(%a: f64[n], %b: f64[n]) -> f64[n] {
entry:
  %0 = mul %a, %b
  %1 = add %0, 1.0
  %2 = mul %1, %a
  %3 = sub %2, %b
  %4 = mul %3, %3
  %5 = add %4, %0
  ret %5
}";

#[test]
fn dead_temporaries_make_room_for_later_ones() {
    let f = compile_apart(UNFUSED, Options::default());
    let (a, b) = inputs();
    let mut before = Stats::default();
    for round in 0..4 {
        let (_, large, _) = counted(|| f.call(&[(&a).into(), (&b).into()]).unwrap());
        let stats = f.stats();
        assert_eq!(stats.kernels - before.kernels, 6);
        assert_eq!(stats.allocations - before.allocations, large);
        assert_eq!(stats.allocations + stats.reused, 6 * (round + 1));
        // Two are alive at once, as each step but the first two has an operand that dies; and the result is dropped.
        assert_eq!(large, if round == 0 { 2 } else { 0 });
        before = stats;
    }
    f.trim();
    assert_eq!(counted(|| f.call(&[(&a).into(), (&b).into()]).unwrap()).1, 2);

    let mut out = Array1::<f64>::zeros(LEN);
    let mut into = [(&mut out).into()];
    let args: [Arg<'_>; 2] = [(&a).into(), (&b).into()];
    f.call_into(&args, &mut into).unwrap();
    assert_eq!(
        counted(|| f.call_into(&args, &mut into).unwrap()).1,
        0,
        "all temporaries are there from the call before"
    );
}

#[test]
fn loops_run_in_the_memory_of_the_first_round() {
    let f = compile(
        "func @f(%x: f64[n], %acc: f64[n], %limit: i64) -> f64[n] {
entry:
  %start = mul %x, 1.0
  jump head(0, %start)
head(%i: i64, %y: f64[n]):
  %more = lt %i, %limit
  br_if %more, body, done
body:
  %0 = mul %y, %x
  %1 = add %0, 0.5
  %2 = add %acc, %1
  store %acc, %2
  %j = add %i, 1
  jump head(%j, %1)
done:
  ret %y
}",
    );
    let run = |limit: i64| {
        let x = Datum::Array(Array1::from_elem(LEN, 0.5).into_dyn().into());
        let acc = Datum::Array(Array1::<f64>::zeros(LEN).into_dyn().into());
        let mut args = [x, acc, Datum::Scalar(limit.into())];
        let (_, large, results) = counted(|| f.call_mut(&mut args).unwrap());
        (large, results, args)
    };
    let (few, ..) = run(2);
    let (many, results, args) = run(50);
    assert!(few <= 4 && many <= 2, "{few}, {many}");
    assert_eq!(results[0].as_array().unwrap().get(&[7]), Some((1.0 - 0.5f64.powi(51)).into()));
    // y = 0.5 y + 0.5 from 0.5 on: 1 - 2^-(k+1) after k rounds.
    let want: f64 = (1..=50).map(|k| 1.0 - 0.5f64.powi(k + 1)).sum();
    assert_eq!(args[1].as_array().unwrap().get(&[LEN - 1]), Some(want.into()));
}

#[test]
fn temporaries_of_callees_are_shared_too() {
    let f = compile(
        "func @f(%x: f64[n, m]) -> f64[n, m] {
entry:
  %0 = call @g(%x)
  %1 = call @g(%0)
  %2 = call @g(%1)
  ret %2
}
func @g(%x: f64[n, m]) -> f64[n, m] {
entry:
  %0 = mul %x, 0.5
  %1 = add %0, 1.0
  ret %1
}",
    );
    let x = Array2::from_elem((LEN / 10, 10), 2.0);
    f.call(&[(&x).into()]).unwrap();
    let (_, large, results) = counted(|| f.call(&[(&x).into()]).unwrap());
    assert_eq!(large, 0);
    assert_eq!(results[0].as_array().unwrap().get(&[0, 0]), Some(2.0.into()));
}

/// The most bytes that `f` has allocated at once, in arrays.
fn peak<R>(f: impl FnOnce() -> R) -> (f64, R) {
    let mut result = None;
    let counts = allocation_counter::measure(|| result = Some(f()));
    (counts.bytes_max as f64 / BYTES as f64, result.expect("it ran"))
}

#[test]
fn a_call_holds_what_is_alive_and_no_more() {
    // Calls that are alike have places of their own for temporaries, if these are few: here they are not.
    const TIMES: usize = 5;
    let a = Array1::from_iter((0..TIMES * LEN).map(|i| i as f64));
    let b = Array1::from_elem(TIMES * LEN, 2.0);
    let keep_none = |text: &str| compile_apart(text, Options { kept_bytes: 0, ..Options::default() });
    // A few percent are for blocks that are a little larger than what is in them, and for what is small.
    let near = |peak: f64, arrays: f64| (arrays..arrays * 1.1).contains(&(peak / TIMES as f64));

    // `%0` lives on beside what is made of it; every later result takes the place of an operand that dies.
    let f = keep_none(UNFUSED);
    for _ in 0..3 {
        let (peak, results) = peak(|| f.call(&[(&a).into(), (&b).into()]).unwrap());
        assert!(near(peak, 2.0), "{peak}");
        let wanted = (&a * &b + 1.0) * &a - &b;
        let wanted = &wanted * &wanted + &a * &b;
        assert_eq!(results, [Datum::Array(wanted.into_dyn().into())]);
    }

    // Band by band what is between the kernels needs no arrays.
    let together = Executable::compile(&parse_module(UNFUSED, "test").unwrap(), "f", Options::default()).unwrap();
    let calls = (0..5).map(|_| peak(|| together.call(&[(&a).into(), (&b).into()]).unwrap()).0 / TIMES as f64);
    let peaks: Vec<f64> = calls.collect();
    assert!(peaks.iter().all(|&peak| peak < 2.2), "{peaks:?}");
    assert!(peaks[3..].iter().all(|&peak| peak < 1.1), "{peaks:?}");

    // A dead array of another size does not stay beside those that come after it.
    let sizes = "func @f(%a: f64[n], %b: f64[n]) -> f64 {
entry:
  %0 = mul %a, %b
  %1 = sum %0
  %2 = slice %a, at=[::2]
  %3 = mul %2, %1
  %4 = slice %b, at=[::2]
  %5 = add %3, %4
  %6 = sum %5
  ret %6
}";
    let f = keep_none(sizes);
    for _ in 0..3 {
        let (peak, _) = peak(|| f.call(&[(&a).into(), (&b).into()]).unwrap());
        assert!(near(peak, 1.0), "{peak}");
    }
}

#[test]
fn a_result_takes_the_place_of_an_operand_only_where_it_is_read_at_the_same_point() {
    // Operands that die in each step, but are read elsewhere, twice, narrower or wider, or are somebody's.
    let text = "func @f(%a: f64[n, n]) -> f64[n, n], f64[n, n] {
entry:
  %0 = mul %a, 3.0
  %1 = transpose %0
  %2 = add %1, 1.0
  %3 = add %2, %2
  %4 = flip %3, axes=[0]
  %5 = sub %3, %4
  %6 = slice %5, at=[0:1]
  %7 = mul %5, %6
  %8 = lt %7, 0.5
  %9 = where %8, %7, %5
  %10 = neg %9
  ret %10, %9
}";
    let module = parse_module(text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let a = Array2::from_shape_fn((130, 130), |(i, j)| (i * 131 + j * 7 % 64) as f64 / 64.0 - 40.0);
    let all: Vec<_> = Backend::available()
        .map(|backend| Executable::compile(&module, "f", Options { backend, ..Options::default() }).unwrap())
        .collect();
    for _ in 0..3 {
        let results: Vec<_> = all.iter().map(|f| f.call(&[(&a).into()]).unwrap()).collect();
        assert!(results.iter().all(|r| *r == results[0]));
    }
}
