//! What a call allocates: its results, if none was dropped before, and nothing else that is large.

use ndarray::{Array1, Array2};
use rewright_ir::Datum;
use rewright_ir::text::parse_module;
use rewright_lowering::exec::{Arg, Executable, Options, Stats};

const LEN: usize = 10_000;
const BYTES: usize = LEN * 8;

/// How many allocations `f` makes, and how many arrays fit into them.
fn counted<R>(f: impl FnOnce() -> R) -> (u64, u64, R) {
    let mut result = None;
    let counts = allocation_counter::measure(|| result = Some(f()));
    (counts.count_total, counts.bytes_total / BYTES as u64, result.expect("it ran"))
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
    let f = compile(UNFUSED);
    let (a, b) = inputs();
    let mut before = Stats::default();
    for round in 0..4 {
        let (_, large, _) = counted(|| f.call(&[(&a).into(), (&b).into()]).unwrap());
        let stats = f.stats();
        assert_eq!(stats.kernels - before.kernels, 6);
        assert_eq!(stats.allocations - before.allocations, large);
        assert_eq!(stats.allocations + stats.reused, 6 * (round + 1));
        // Three are alive at once, and the result is dropped.
        assert_eq!(large, if round == 0 { 3 } else { 0 });
        before = stats;
    }
    f.trim();
    assert_eq!(counted(|| f.call(&[(&a).into(), (&b).into()]).unwrap()).1, 3);

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
