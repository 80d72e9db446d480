//! Tests of bands.

use super::*;
use crate::exec::replay::testing::{array, call, replay};
use crate::exec::{Arg, Backend, Executable, Options};
use ndarray::s;
use std::num::NonZeroU32;

fn compile(body: &str, options: Options) -> Executable {
    crate::exec::replay::testing::compile(&format!("func @f(%x: f64[m, n], %y: f64[m, n]) -> {body}"), options)
}

/// For calls after the second: each band's number of kernels, iterations and bytes of scratch memory, and
/// the bytes of other temporaries.
fn bands(f: &Executable) -> (Vec<(usize, u64, usize)>, usize) {
    replay(f, |replay| {
        let bands = replay.actions.iter().filter_map(|action| match action {
            Action::Band(band) => Some((band.members.len(), band.bands.each, band.bands.scratch)),
            _ => None,
        });
        (bands.collect(), replay.temporaries.bytes())
    })
    .unwrap()
}

const SOFTMAX: &str = "f64[m, n] {
entry:
  %0 = max %x, axes=[1], keepdims=true
  %1 = sub %x, %0
  %2 = exp %1
  %3 = sum %2, axes=[1], keepdims=true
  %4 = div %2, %3
  %5 = mul %4, %y
  ret %5
}";

#[test]
fn kernels_that_make_rows_of_rows_are_run_band_by_band() {
    let (x, y) = (array(50, 33), array(50, 33).mapv(|x| 1.0 / (x + 0.1)));
    let threads = |n| NonZeroU32::new(n);
    let apart = compile(SOFTMAX, Options { band_bytes: Some(0), ..Options::default() });
    for n in [1, 3] {
        let together = compile(SOFTMAX, Options { band_bytes: Some(4000), threads: threads(n), ..Options::default() });
        for (x, y) in [
            (x.view(), y.view()),
            (x.slice(s![..;-1, ..]), y.view()),
            (x.slice(s![1.., ..;-2]), y.slice(s![1.., ..17])),
            (x.view(), x.view()),
        ] {
            let expected = call(&apart, x, y);
            (0..3).for_each(|_| assert_eq!(call(&apart, x, y)[0], expected[0]));
            (0..4).for_each(|_| assert_eq!(call(&together, x, y)[0], expected[0]));
            let (found, temporaries) = bands(&together);
            let [(kernels, each, scratch)] = found[..] else { panic!("{found:?}") };
            assert!(kernels > 4 && (1..10).contains(&each) && scratch > 0, "{found:?}");
            assert_eq!(temporaries, 0, "nothing is kept for all rows");
            assert!(bands(&apart).0.is_empty() && bands(&apart).1 > 0);
        }
    }
}

#[test]
fn what_a_band_holds_whole_is_not_cut_in_columns() {
    let body = "f64[m, n], f64[m, n] {
entry:
  %0 = mul %x, %y
  %1 = add %x, %y
  ret %0, %1
}";
    // The rows are not adjacent, so the two loops are not merged.
    let x = array(10, 2_001);
    let f = compile(body, Options { band_bytes: Some(660_000), ..Options::default() });
    (0..4).for_each(|_| drop(call(&f, x.slice(s![.., 1..]), x.slice(s![.., 1..]))));
    assert_eq!(bands(&f).0, []);
}

#[test]
fn few_columns_are_no_band() {
    let body = "f64[m, n] {
entry:
  %0 = exp %y
  %1 = mul %x, %0
  ret %1
}";
    let text = format!("func @f(%x: f64[m, n], %y: f64[1, n]) -> {body}");
    let (x, y) = (array(3, 1_000), array(1, 1_000));
    for bytes in [10_000, 20_000, 30_000, 50_000, 60_000] {
        let options = Options { band_bytes: Some(bytes), ..Options::default() };
        let f = crate::exec::replay::testing::compile(&text, options);
        (0..4).for_each(|_| drop(call(&f, x.view(), y.view())));
        assert_eq!(bands(&f).0, [], "{bytes}");
    }
}

#[test]
fn a_row_that_is_longer_than_a_band_is_one() {
    let f = compile(SOFTMAX, Options { band_bytes: Some(10_000), ..Options::default() });
    let each = |columns: usize| {
        let x = array(20, columns);
        (0..4).for_each(|_| drop(call(&f, x.view(), x.view())));
        replay(&f, |replay| {
            let bands = replay.actions.iter().filter_map(|action| match action {
                Action::Band(band) => Some(band.bands.each),
                _ => None,
            });
            bands.collect::<Vec<u64>>()
        })
    };
    assert_eq!(each(100), Some(vec![2]));
    assert_eq!(each(400), Some(vec![1]));
    assert_eq!(each(2_000).unwrap_or_default(), Vec::<u64>::new(), "one takes more than the cache");
}

#[test]
fn loops_of_a_band_are_collapsed() {
    let f = compile(SOFTMAX, Options { band_bytes: Some(20_000), ..Options::default() });
    let apart = compile(SOFTMAX, Options { band_bytes: Some(0), ..Options::default() });
    let (x, y) = (array(1_000, 2), array(1_000, 2).mapv(|x| 1.0 / (x + 0.1)));
    let expected = call(&apart, x.view(), y.view());
    (0..4).for_each(|_| assert_eq!(call(&f, x.view(), y.view())[0], expected[0]));
    let collapsed = |replay: &crate::exec::replay::Replay| {
        let bands = replay.actions.iter().filter_map(|action| match action {
            Action::Band(band) => {
                Some(band.members.iter().filter(|member| !member.decision.sequence.is_empty()).count())
            }
            _ => None,
        });
        bands.collect::<Vec<usize>>()
    };
    assert_eq!(replay(&f, collapsed), Some(vec![2]), "the difference and the quotient");
}

#[test]
fn rows_that_differ_from_band_to_band_are_staged_for_each() {
    // In a band of one iteration, all rows of the result use the same row of `x`. In the whole call they
    // do not.
    let body = "f64[m, m, n], f64[m, n] {
entry:
  %0 = expand_dims %x, axes=[1]
  %1 = add %0, %y
  %2 = mul %x, 2.0
  ret %1, %2
}";
    let (x, y) = (array(17, 2), array(17, 2).mapv(|x| 1.0 / (x + 0.1)));
    for threads in [1, 3].map(NonZeroU32::new) {
        let [apart, together] =
            [0, 400].map(|bytes| compile(body, Options { band_bytes: Some(bytes), threads, ..Options::default() }));
        let expected = call(&apart, x.view(), y.view());
        for _ in 0..4 {
            let found = call(&together, x.view(), y.view());
            assert_eq!((&found[0], &found[1]), (&expected[0], &expected[1]));
        }
        let staged = |replay: &crate::exec::replay::Replay| {
            let bands = replay.actions.iter().filter_map(|action| match action {
                Action::Band(band) => Some((band.bands.each, band.members[0].decision.sequence.len())),
                _ => None,
            });
            bands.collect::<Vec<_>>()
        };
        // The sequence is a split, a stage and a collapse. The loop over
        // the band's single iteration is not split.
        assert_eq!(replay(&together, staged), Some(vec![(1, 3)]));
    }
}

#[test]
fn rows_that_others_need_are_made_before() {
    // The second kernel reads columns of the first kernel's result, and the third kernel reads all of it.
    let body = "f64[n, m], f64 {
entry:
  %0 = exp %x
  %1 = transpose %0, perm=[1, 0]
  %2 = sum %1, axes=[0], keepdims=true
  %3 = div %1, %2
  %4 = sum %0
  ret %3, %4
}";
    let (x, y) = (array(40, 40), array(40, 40));
    let [apart, together] =
        [0, 2000].map(|bytes| compile(body, Options { band_bytes: Some(bytes), ..Options::default() }));
    let expected = call(&apart, x.view(), y.view());
    for _ in 0..4 {
        let found = call(&together, x.view(), y.view());
        assert_eq!((&found[0], &found[1]), (&expected[0], &expected[1]));
    }
    let (found, temporaries) = bands(&together);
    assert!(found.iter().all(|(kernels, ..)| *kernels < 4), "{found:?}");
    assert!(temporaries >= 40 * 40 * 8, "what the sum of all needs is there as a whole");
}

#[test]
fn a_failing_point_is_told_as_without_bands() {
    let body = "f64[m, n] {
entry:
  %0 = exp %x
  %1 = max %0, axes=[1], keepdims=true
  %2 = cast %y, to=i64
  %3 = power %2, %2
  %4 = mul %1, %3
  ret %4
}";
    let (x, mut y) = (array(30, 20), array(30, 20).mapv(f64::abs));
    for backend in [Backend::Interp, Backend::Auto] {
        let [apart, together] =
            [0, 1000].map(|bytes| compile(body, Options { band_bytes: Some(bytes), backend, ..Options::default() }));
        let expected = call(&apart, x.view(), y.view());
        (0..4).for_each(|_| assert_eq!(call(&together, x.view(), y.view())[0], expected[0]));
        assert_eq!(bands(&together).0.len(), 1);
        let whole = y[[17, 3]];
        y[[17, 3]] = -3.0;
        let [wanted, found] = [&apart, &together].map(|f| f.call(&[Arg::from(&x), Arg::from(&y)]).map(|_| ()));
        assert!(wanted.is_err(), "a negative power");
        assert_eq!(wanted, found);
        y[[17, 3]] = whole;
    }
}

#[test]
fn later_loops_run_behind_the_rows_that_they_touch() {
    let slab = |written, low, high, stride| Slab { memory: 1, written, size: 8, low, high, stride };
    let (rows, cells) = (slab(true, 0, 80, 80), slab(false, 16, 24, 80));
    let any = Some(i64::MIN);
    assert_eq!([rows.lag(&cells, 10), cells.lag(&rows, 10), rows.lag(&rows, 10)], [Some(0); 3]);
    assert_eq!(slab(false, 0, 80, 8).lag(&rows, 10), None, "of columns");
    assert_eq!(slab(false, 0, 800, 0).lag(&rows, 10), None, "of everything");
    assert_eq!(slab(false, 40, 120, 80).lag(&rows, 10), Some(1), "of the next row too");
    assert_eq!(slab(false, 160, 240, 80).lag(&rows, 10), Some(2), "of a row below");
    assert_eq!(slab(false, -160, -80, 80).lag(&rows, 10), Some(-2), "of a row above");
    assert_eq!(slab(false, 800, 880, 0).lag(&rows, 10), any, "elsewhere");
    assert_eq!(slab(false, 0, 800, 0).lag(&slab(false, 0, 80, 80), 10), any, "both only read");
    let backwards = slab(true, 720, 800, -80);
    assert_eq!(backwards.lag(&backwards, 10), Some(0));
    assert_eq!(slab(false, 640, 720, -80).lag(&backwards, 10), Some(1), "of the next row");
    assert_eq!(rows.lag(&backwards, 10), None);
}

/// Differences of differences of rows, and of columns.
const STENCILS: &str = "
entry:
  %0 = mul %x, %y
  %1 = slice %0, at=[1:]
  %2 = slice %0, at=[:-1]
  %3 = sub %1, %2
  %4 = slice %3, at=[2:, 1:]
  %5 = slice %3, at=[:-2, :-1]
  %6 = slice %x, at=[1:-2, 1:]
  %7 = add %4, %5
  %8 = mul %7, %6
  %9 = slice %8, at=[1:-1]
  %10 = slice %8, at=[2:]
  %11 = slice %8, at=[:-2]
  %12 = add %10, %11
  %13 = sub %12, %9";

#[test]
fn stencils_of_stencils_run_band_by_band() {
    // A result is no memory of one band, so the threads do not share the loop of the second function.
    for (results, parallel) in [("%13", true), ("%8, %13", false)] {
        let types = results.split(", ").map(|_| "f64[?, ?]").collect::<Vec<_>>().join(", ");
        let text = format!("{types} {{{STENCILS}\n  ret {results}\n}}");
        let apart = compile(&text, Options { band_bytes: Some(0), ..Options::default() });
        let bytes = [6_000, 8_000, 12_000];
        for (bytes, threads) in bytes.into_iter().flat_map(|bytes| [1, 2, 3].map(|n| (bytes, NonZeroU32::new(n)))) {
            let together = compile(&text, Options { band_bytes: Some(bytes), threads, ..Options::default() });
            for rows in [5, 6, 9, 40, 41, 57] {
                let (x, y) = (array(rows, 33), array(rows, 33).mapv(|x| 1.0 / (x + 0.1)));
                for (x, y) in [
                    (x.slice(s![..;-1, ..]), y.view()),
                    (x.slice(s![..;-1, ..]), y.slice(s![..;-1, ..])),
                    (x.slice(s![.., ..;-2]), y.slice(s![.., ..17])),
                    (x.view(), y.view()),
                ] {
                    let expected = call(&apart, x, y);
                    (0..4).for_each(|_| assert_eq!(call(&together, x, y), expected, "{rows} {bytes} {threads:?}"));
                }
                if rows < 40 {
                    continue;
                }
                let (found, temporaries) = bands(&together);
                let [(6, each, scratch)] = found[..] else { panic!("{found:?}") };
                assert!((1..20).contains(&each) && scratch > 0 && temporaries == 0, "{found:?} {temporaries}");
                let is_parallel = replay(&together, |replay| match &replay.actions[..] {
                    [Action::Band(band)] => band.bands.parallel,
                    _ => false,
                });
                assert_eq!(is_parallel, Some(parallel));
            }
        }
    }
}

/// Pseudorandom numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A function of `steps` sums of slices of earlier values, which returns the last one and sometimes others.
fn random_stencils(numbers: &mut Numbers, steps: usize) -> String {
    let mut text = String::from("\nentry:\n  %v0 = add %x, %y");
    // The rows that each value lacks, in comparison to `%x`.
    let mut lacks = vec![0];
    for step in 1..=steps {
        let pick = |numbers: &mut Numbers| step - 1 - numbers.below(step.min(3));
        let (a, b) = (pick(numbers), pick(numbers));
        let lack = lacks[a].max(lacks[b]) + numbers.below(4);
        for (name, of) in [("a", a), ("b", b)] {
            let spare = lack - lacks[of];
            let from = numbers.below(spare + 1);
            let to = spare - from;
            let end = if to == 0 { String::new() } else { format!("-{to}") };
            text += &format!("\n  %{name}{step} = slice %v{of}, at=[{from}:{end}]");
        }
        let op = ["add", "sub", "mul"][numbers.below(3)];
        text += &format!("\n  %v{step} = {op} %a{step}, %b{step}");
        lacks.push(lack);
    }
    let mut results = vec![format!("%v{steps}")];
    if numbers.below(3) == 0 {
        results.push(format!("%v{}", numbers.below(steps)));
    }
    let types = vec!["f64[?, n]"; results.len()].join(", ");
    format!("{types} {{{text}\n  ret {}\n}}", results.join(", "))
}

#[test]
fn random_stencils_run_as_without_bands() {
    let mut numbers = Numbers(1);
    let (mut banded, mut parallel) = (0, 0);
    for _ in 0..40 {
        let steps = 2 + numbers.below(6);
        let text = random_stencils(&mut numbers, steps);
        let apart = compile(&text, Options { band_bytes: Some(0), ..Options::default() });
        let rows = 20 + numbers.below(60);
        // With this many columns, several threads are worth it.
        let columns = 1_500;
        let (x, y) = (array(rows, columns), array(rows, columns).mapv(|x| 1.0 / (x + 0.1)));
        // Calls alternate, so that results of the call before are wrong.
        let (z, w) = (x.mapv(|x| x * x + 1.0), y.mapv(|y| y - 3.0));
        let calls = [(&x, &y), (&z, &w)].map(|(x, y)| (x, y, call(&apart, x.view(), y.view())));
        for threads in [1, 2, 3].map(NonZeroU32::new) {
            let bytes = Some(((100 + 50 * numbers.below(8)) * columns) as u64);
            let together = compile(&text, Options { band_bytes: bytes, threads, ..Options::default() });
            for (x, y, expected) in calls.iter().cycle().take(6) {
                assert_eq!(call(&together, x.view(), y.view()), *expected, "{text}");
            }
            let found = replay(&together, |replay| {
                let bands = replay.actions.iter().filter_map(|action| match action {
                    Action::Band(band) => Some((!band.bands.kept.is_empty(), band.bands.parallel)),
                    _ => None,
                });
                bands.fold((false, false), |all, (kept, parallel)| (all.0 | kept, all.1 | (kept && parallel)))
            });
            let (kept, together) = found.unwrap_or_default();
            banded += usize::from(kept);
            parallel += usize::from(together);
        }
    }
    assert!(banded > 60 && parallel > 30, "{banded} {parallel}");
}

#[test]
fn rows_that_threads_compute_again_do_not_come_from_results() {
    // The second kernel computes rows before a piece's own, from rows of a result that another piece writes.
    let body = "f64[m, 1], f64[?, n] {
entry:
  %0 = max %x, axes=[1], keepdims=true
  %1 = div %x, %0
  %2 = slice %1, at=[1:]
  %3 = slice %1, at=[:-1]
  %4 = sub %2, %3
  ret %0, %4
}";
    let (x, y) = (array(40, 50), array(40, 50));
    for body in [body.to_string(), body.replace("f64[m, 1], ", "").replace("ret %0, ", "ret ")] {
        let [apart, together] =
            [0, 8_000].map(|bytes| compile(&body, Options { band_bytes: Some(bytes), ..Options::default() }));
        (0..4).for_each(|_| assert_eq!(call(&together, x.view(), y.view()), call(&apart, x.view(), y.view())));
        let found = replay(&together, |replay| {
            let bands = replay.actions.iter().filter_map(|action| match action {
                Action::Band(band) => Some((band.bands.kept.is_empty(), band.bands.parallel)),
                _ => None,
            });
            bands.collect::<Vec<_>>()
        });
        let is_result = body.contains("ret %0");
        assert_eq!(found, Some(vec![(false, !is_result)]), "{body}");
    }
}
