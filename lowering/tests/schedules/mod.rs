//! Schedules do not change results: with any transformations, they are bitwise equal to those of one thread
//! and the simplest loops.

mod errors;
mod page;
mod random;

use ndarray::{Array, Array1, Array2, IxDyn, ShapeBuilder, s};
use rewright_ir::text::parse_module;
use rewright_ir::{Complex64, Datum, Module};
use rewright_lowering::exec::{Arg, Backend, Executable, Options, ViewMut};
use rewright_lowering::internals::schedule::Schedule;
use std::num::NonZeroU32;

fn module(text: &str) -> Module {
    parse_module(text, "test.ir").unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

/// A function with one array expression. Tests replace `SCHEDULE` in its text by a schedule.
fn function(params: &str, expr: &str, result: &str) -> String {
    format!("func @f({params}) -> {result} {{\nentry:\n  %0 = arrayexpr SCHEDULE {expr} : {result}\n  ret %0\n}}")
}

fn compile(text: &str, schedule: &str, backend: Backend) -> Executable {
    let schedule = if schedule.is_empty() { String::new() } else { format!("schedule=\"{schedule}\"") };
    let options = Options { backend, times: true, ..Options::default() };
    Executable::compile(&module(&text.replace("SCHEDULE", &schedule)), "f", options).unwrap()
}

fn matrix(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut random = fastrand::Rng::with_seed(seed);
    Array2::from_shape_simple_fn((rows, columns), || random.f64() * 8.0 - 4.0)
}

/// The test programs: the name, the text, and whether the loops may be interchanged.
fn programs() -> Vec<(&'static str, String, bool)> {
    let plain = "%a: f64[n, m], %b: f64[n, m]";
    vec![
        (
            "elementwise",
            function(
                plain,
                "[i: n, j: m] (x = %a[i, j], y = %b[i, j]) {\n t0 = sin x\n t1 = mul t0, y\n yield t1\n }",
                "f64[n, m]",
            ),
            true,
        ),
        (
            "narrow results",
            function(plain, "[i: n, j: m] (x = %a[i, j], y = %b[i, j]) {\n t0 = lt x, y\n yield t0\n }", "bool[n, m]"),
            true,
        ),
        (
            "indices",
            function(
                plain,
                "[i: n, j: m] (x = %a[i, j], y = %b[i, j]) {\n t0 = mul i, 1000\n t1 = add t0, j\n t2 = cast t1, to=f64\n t3 = add t2, x\n t4 = mul t3, y\n yield t4\n }",
                "f64[n, m]",
            ),
            true,
        ),
        (
            "transposed",
            function(
                "%a: f64[n, m], %b: f64[m, n]",
                "[i: n, j: m] (x = %a[i, j], y = %b[j, i]) {\n t0 = sub x, y\n yield t0\n }",
                "f64[n, m]",
            ),
            true,
        ),
        (
            "rows combined",
            function(
                plain,
                "[i: n, j: reduce m] (x = %a[i, j], y = %b[i, j]) {\n t0 = mul x, y\n yield t0\n } reduce (sum f64)",
                "f64[n]",
            ),
            false,
        ),
        (
            "columns combined",
            function(
                plain,
                "[j: reduce n, i: m] (x = %a[j, i], y = %b[j, i]) {\n t0 = mul x, y\n yield t0\n } reduce (sum f64)",
                "f64[m]",
            ),
            false,
        ),
        (
            "one row",
            function(
                plain,
                "[i: reduce n, j: reduce m] (x = %a[i, j], y = %b[i, j]) {\n t0 = mul x, y\n yield t0\n } reduce (sum f64)",
                "f64[]",
            ),
            false,
        ),
        (
            "rows of a transposed array combined",
            function(
                "%a: f64[n, m], %b: f64[m, n]",
                "[i: n, j: reduce m] (x = %a[i, j], y = %b[j, i]) {\n t0 = mul x, y\n yield t0\n } reduce (sum f64)",
                "f64[n]",
            ),
            false,
        ),
        (
            "broadcast",
            function(
                "%a: f64[n, m], %b: f64[l, m]",
                "[i: n, j: m] (x = %a[i, j], y = %b[0, j]) {\n t0 = exp y\n t1 = mul t0, x\n yield t1\n }",
                "f64[n, m]",
            ),
            true,
        ),
    ]
}

fn bits(results: &[Datum]) -> Vec<String> {
    results.iter().map(|result| format!("{:?}", result.to_array())).collect()
}

fn same_bits(a: &[Datum], b: &[Datum]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_array().same_bits(&b.to_array()))
}

#[test]
fn no_schedule_changes_a_bit() {
    let schedules = [
        "parallel(threads=2)",
        "parallel(threads=3, chunk=7)",
        "parallel(threads=8) stream",
        "stream",
        "reorder(i, j) split(i, 16) split(j, 32)",
        "reorder(i, j) parallel(threads=3) split(j, 7) split(i, 5) stage(y, i, j)",
        "reorder(i, j) split(i, 1) stage(y, i, j) stage(x, i, j) stream vectorize(unroll=2)",
        "reorder(i, j) split(i, 6) stage(out.0, j, i) stage(x, j, i)",
        "vectorize(unroll=8)",
        "vectorize(stages=1)",
        "vectorize(stages=3) stream",
        "unblocked parallel(threads=8, chunk=1)",
    ];
    for (name, text, _) in programs() {
        for (rows, columns) in [(1, 1), (3, 50), (131, 67), (64, 300)] {
            let (a, b) = (matrix(rows, columns, 1), matrix(rows, columns, 2));
            let turned = text.contains("f64[m, n]");
            let b = if turned { b.reversed_axes().as_standard_layout().to_owned() } else { b };
            let args: [Arg<'_>; 2] = [(&a).into(), (&b).into()];
            for backend in [Backend::Auto, Backend::Cranelift] {
                let want = compile(&text, "serial unblocked stream(off)", backend).call(&args).unwrap();
                let reference = compile(&text, "", Backend::Reference).call(&args).unwrap();
                assert!(same_bits(&want, &reference), "{name} {rows}x{columns}: {:?}", bits(&want));
                for schedule in schedules {
                    let own = if name == "columns combined" { "reorder(j, i)" } else { "reorder(i, j)" };
                    let schedule = &schedule.replace("reorder(i, j)", own);
                    let got = match compile(&text, schedule, backend).call(&args) {
                        Ok(got) => got,
                        Err(error) => {
                            assert!(!name.starts_with("elementwise"), "{error}");
                            let (told, why) =
                                (error.to_string(), ["is not legal for this call: ", "names another loop"]);
                            assert!(why.iter().any(|why| told.contains(why)), "{error}");
                            continue;
                        }
                    };
                    assert!(same_bits(&want, &got), "{name} {rows}x{columns}, {schedule}, {backend:?}");
                }
            }
        }
    }
}

#[test]
fn loops_in_another_order_give_the_same() {
    for (name, text, free) in programs() {
        let (a, b) = (matrix(40, 40, 3), matrix(40, 40, 4));
        let args: [Arg<'_>; 2] = [(&a).into(), (&b).into()];
        let want = compile(&text, "", Backend::Auto).call(&args).unwrap();
        if free {
            for order in ["i, j", "j, i", "i*j", "j*i"] {
                let turned = compile(&text, &format!("reorder({order}) parallel(threads=2)"), Backend::Auto);
                assert!(same_bits(&want, &turned.call(&args).unwrap()), "{name} {order}");
            }
        }
    }
}

#[test]
fn the_schedule_of_a_call_is_told_and_can_be_given_again() {
    let text = &programs()[0].1;
    let (a, b) = (matrix(300, 200, 1), matrix(300, 200, 2));
    let args: [Arg<'_>; 2] = [(&a).into(), (&b).into()];
    let told = |f: &Executable| f.schedules()[0].schedule.clone();
    let first = compile(text, "reorder(i*j) parallel(threads=3) split(i*j, 999) stream(off)", Backend::Auto);
    let want = first.call(&args).unwrap();
    let schedule = told(&first);
    assert_eq!(schedule.threads, Some(3));
    assert_eq!(schedule.to_string().parse::<Schedule>(), Ok(schedule.clone()));
    let again = compile(text, &schedule.to_string(), Backend::Auto);
    assert!(same_bits(&want, &again.call(&args).unwrap()));
    assert_eq!(told(&again), schedule);
    assert_eq!(schedule.to_string(), first.schedules()[0].schedule.to_string());
    assert!(schedule.to_string().contains("split(i*j, 999)"), "{schedule}");
    let order = |f: &Executable| told(f).order.unwrap().iter().map(|axes| axes.len()).collect::<Vec<_>>();
    let plain = compile(text, "", Backend::Auto);
    plain.call(&args).unwrap();
    assert_eq!(order(&plain), [2], "the loops of dense arrays are one");
    let apart = compile(text, "reorder(i, j)", Backend::Auto);
    apart.call(&args).unwrap();
    assert_eq!(order(&apart), [1, 1], "unless somebody says otherwise");
    // One operand is read transposed: the columns of its array are rows of the result.
    let turned = compile(&programs()[3].1, "", Backend::Auto);
    turned.call(&[(&a).into(), (&b.t()).into()]).unwrap();
    assert_eq!(told(&turned).blocks, Some(Vec::new()), "a view of the transpose lies as the other operand does");
    turned.call(&[(&a).into(), (&b.t().as_standard_layout().to_owned()).into()]).unwrap();
    let schedule = told(&turned).to_string();
    assert!(schedule.contains("split(j, 64) split(i, 128) stage(x, j, i, pitch=136)"), "{schedule}");
}

#[test]
fn an_axis_of_one_point_is_no_loop_of_its_own() {
    let text = function(
        "%a: f64[n, m, 3]",
        "[i: n, j: m, k: 1] (x = %a[i, j, 0], y = %a[i, j, 2]) {\n t0 = add x, y\n yield t0\n }",
        "f64[n, m, 1]",
    );
    let a = Array::from_shape_fn(IxDyn(&[6, 5, 3]), |at| (at[0] * 100 + at[1] * 10 + at[2]) as f64);
    for backend in Backend::available() {
        let f = compile(&text, "", backend);
        let found = f.call(&[(&a).into()]).unwrap();
        let wanted = Array::from_shape_fn(IxDyn(&[6, 5, 1]), |at| (at[0] * 200 + at[1] * 20 + 2) as f64);
        assert!(same_bits(&found, &[Datum::Array(wanted.into())]), "{backend:?}: {found:?}");
        let told = f.schedules();
        assert!(told.iter().all(|step| step.schedule.order.as_ref().is_some_and(|order| order.len() == 1)), "{told:?}");
        assert_eq!(told.len(), usize::from(backend != Backend::Reference), "{backend:?}");
    }
}

#[test]
fn totals_in_memory_are_not_streamed() {
    let text =
        function("%a: f64[n, m]", "[i: reduce n, j: m] (x = %a[i, j]) {\n yield x\n } reduce (sum f64)", "f64[m]");
    let f = compile(&text, "stream", Backend::Auto);
    f.call(&[(&matrix(60, 50, 3)).into()]).unwrap();
    assert_eq!(f.schedules()[0].schedule.stream, Some(false), "the next row reads the totals again");
}

#[test]
fn results_that_are_turned_are_not_streamed() {
    let text = function("%a: f64[n, m]", "[i: m, j: n] (x = %a[j, i]) {\n t0 = neg x\n yield t0\n }", "f64[m, n]");
    let a = matrix(10, 2_000, 5);
    let mut out = Array2::<f64>::zeros((2_000, 10));
    for (order, blocks, streams) in [
        ("reorder(j, i)", "split(j, 10) split(i, 64) stage(out.0, j, i)", false),
        ("reorder(i, j)", "split(j, 64)", true),
    ] {
        let f = compile(&text, &format!("{order} {blocks} stream"), Backend::Auto);
        f.call_into(&[(&a).into()], &mut [ViewMut::from(out.view_mut())]).unwrap();
        // Cranelift has no streaming stores.
        let streams = streams && Backend::available().any(|backend| backend == Backend::X64);
        assert_eq!(f.schedules()[0].schedule.stream, Some(streams), "{order}: the staged result is read again at once");
        assert_eq!(out, -a.t().to_owned());
    }
}

#[test]
fn schedules_are_part_of_the_text() {
    let text = programs()[0].1.replace("SCHEDULE", "schedule=\"reorder(j, i) parallel(threads=2)\"");
    let printed = module(&text).to_string();
    assert!(
        printed.contains("%0 = arrayexpr schedule=\"reorder(j, i) parallel(threads=2)\" [i: n, j: m]"),
        "{printed}"
    );
    assert_eq!(module(&printed).to_string(), printed);
}

#[test]
fn threads_are_woken_only_where_there_is_enough_to_do() {
    let text = &programs()[0].1;
    let threads = |rows: usize, most: u32| {
        let options = Options { times: true, threads: NonZeroU32::new(most), ..Options::default() };
        let f = Executable::compile(&module(&text.replace("SCHEDULE", "")), "f", options).unwrap();
        let (a, b) = (matrix(rows, 100, 1), matrix(rows, 100, 2));
        f.call(&[(&a).into(), (&b).into()]).unwrap();
        f.schedules()[0].schedule.threads
    };
    assert_eq!(threads(10, 8), Some(1));
    assert_eq!(threads(10_000, 1), Some(1));
    assert_eq!(threads(10_000, 2), Some(2));
}

/// The chunks of threads begin at cache lines or pages of the result, at any alignment of the result.
#[test]
fn short_calls_have_one_chunk_for_each_thread() {
    let text = "func @f(%a: f64[n]) -> f64[n] {
entry:
  %0 = arrayexpr SCHEDULE [i: n] (x = %a[i]) {
    t0 = mul x, x
    yield t0
  } : f64[n]
  ret %0
}";
    for (n, threads, many) in [(5_000, 2, 1), (10_001, 3, 1), (2_000_000, 2, 4), (2_000_000, 3, 4)] {
        let options = Options { times: true, ..Options::default() };
        let module = module(&text.replace("SCHEDULE", &format!("schedule=\"parallel(threads={threads})\"")));
        let f = Executable::compile(&module, "f", options).unwrap();
        let a = Array1::from_shape_fn(n, |i| i as f64);
        for begin in [0, 1, 7, 300] {
            let mut wide = Array1::from_elem(n + 300, -1.0);
            f.call_into(&[(&a).into()], &mut [wide.slice_mut(s![begin..begin + n]).into()]).unwrap();
            let is_right = |(i, &x): (usize, &f64)| {
                x == if (begin..begin + n).contains(&i) { a[i - begin] * a[i - begin] } else { -1.0 }
            };
            assert!(wide.iter().enumerate().all(is_right), "{n} from {begin}");
            let each = n as u64 / (threads * many);
            let chunk = f.schedules()[0].schedule.chunk.unwrap();
            assert!((each..each + 512 + threads).contains(&chunk), "{chunk} of {n}, of which {each} are enough");
        }
    }
}

/// If the outer loop is a reduction to several totals, threads divide the loop over adjacent totals. They do
/// so only if each thread has enough totals, and cache lines of its own. A kernel reduces the result of
/// another one.
#[test]
fn threads_share_long_rows_of_totals_only() {
    let text = "func @f(%x: i32[n, m]) -> i32[m] {\nentry:\n  %0 = neg %x\n  %1 = max %0, axes=[0]\n  ret %1\n}";
    let schedule = |n: usize, m: usize| {
        let options = Options { times: true, threads: NonZeroU32::new(4), ..Options::default() };
        let f = Executable::compile(&module(text), "f", options).unwrap();
        let x = Array2::from_shape_fn((n, m), |(i, j)| (i * 7 + j) as i32);
        let found = f.call(&[(&x).into()]).unwrap();
        let wanted = Array1::from_shape_fn(m, |j| -(j as i32));
        assert_eq!(found[0].to_array(), rewright_ir::Array::I32(wanted.into_dyn().into_shared()));
        let schedule = f.schedules()[1].schedule.clone();
        (schedule.threads, schedule.chunk)
    };
    assert_eq!(schedule(100_000, 16), (Some(1), None));
    assert_eq!(schedule(10_000, 500), (Some(1), None));
    assert_eq!(schedule(10_000, 1_000), (Some(3), Some(256)));
}

/// The loop order follows the strides of most arrays, at any extents. With the other order, most arrays would
/// have to be transposed.
#[test]
fn loops_are_in_the_order_of_most_arrays() {
    let expr = |index: &str| {
        let body = "{\n t0 = sub x, y\n yield t0\n }";
        format!("[i: n, j: m] (x = %a[{index}], y = %b[j, i]) {body}")
    };
    let straight = function("%a: f64[n, m], %b: f64[m, n]", &expr("i, j"), "f64[n, m]");
    let turned = function("%a: f64[m, n], %b: f64[m, n]", &expr("j, i"), "f64[n, m]");
    for (n, m) in [(1000, 300), (300, 1000), (500, 500)] {
        for (text, a, order) in
            [(&straight, matrix(n, m, 1), "reorder(i, j)"), (&turned, matrix(m, n, 1), "reorder(j, i)")]
        {
            let f = compile(text, "", Backend::Auto);
            let mut out = Array2::<f64>::zeros((n, m));
            let b = matrix(m, n, 2);
            f.call_into(&[(&a).into(), (&b).into()], &mut [ViewMut::from(out.view_mut())]).unwrap();
            let schedule = f.schedules()[0].schedule.to_string();
            assert!(schedule.starts_with(order), "{n} x {m}: {schedule}");
        }
    }
}

/// If the contiguous axis of an operand is not the innermost loop, it is the loop directly around that one,
/// at any position of the axis in the result. Transposed tiles are staged for these two loops.
#[test]
fn loops_that_are_turned_are_next_to_each_other() {
    let expr = "[i: n, j: m, l: k] (x = %a[l, j, i]) {\n t0 = neg x\n yield t0\n }";
    let f = compile(&function("%a: f64[k, m, n]", expr, "f64[n, m, k]"), "", Backend::Auto);
    for (n, m, k) in [(20, 30, 40), (40, 3, 20), (9, 100, 9)] {
        let a = Array::from_shape_fn((k, m, n), |(l, j, i)| (l * 10_000 + j * 100 + i) as f64);
        let mut out = Array::<f64, _>::zeros((n, m, k));
        f.call_into(&[(&a).into()], &mut [ViewMut::from(out.view_mut())]).unwrap();
        assert_eq!(out, -a.clone().reversed_axes());
        let schedule = f.schedules()[0].schedule.clone();
        assert!(schedule.to_string().starts_with("reorder(j, "), "{n} x {m} x {k}: {schedule}");
        assert!(schedule.to_string().contains("stage("), "{n} x {m} x {k}: {schedule}");
    }
}

/// A reduction to few results is faster in blocks of rows than in staged tiles, which would have few columns.
#[test]
fn few_totals_have_no_tiles() {
    let expr = "[j: reduce m, i: n] (x = %a[i, j]) {\n yield x\n } reduce (sum f64)";
    let f = compile(&function("%a: f64[n, m]", expr, "f64[n]"), "", Backend::Auto);
    for (n, is_staged) in [(10, false), (64, true)] {
        f.call(&[(&matrix(n, 1000, 1)).into()]).unwrap();
        assert_eq!(f.schedules()[0].schedule.to_string().contains("stage(x, "), is_staged, "{n}");
    }
}

/// Outer loops along which no staged array moves are not split: one copy of a block serves all of them.
#[test]
fn copies_serve_outer_loops() {
    let expr = "[h: n, i: n, j: reduce m] (x = %a[h, j], y = %b[j, i]) {
 t0 = sub x, y
 t1 = abs t0
 yield t1
 } reduce (sum f64)";
    let text = function("%a: f64[n, m], %b: f64[m, n]", expr, "f64[n, n]");
    let (f, reference) = (compile(&text, "", Backend::Auto), compile(&text, "", Backend::Reference));
    // The last blocks have 8 rows, in the second-level cache and beyond it.
    for (n, m) in [(70, 90), (9, 300), (65, 129), (11, 9_000), (9, 70_000), (8, 9_000)] {
        let (a, b) = (matrix(n, m, 1), matrix(m, n, 2));
        let args = [(&a).into(), (&b).into()];
        assert!(same_bits(&reference.call(&args).unwrap(), &f.call(&args).unwrap()), "{n} {m}");
        let schedule = f.schedules()[0].schedule.to_string();
        assert!(schedule.contains("stage(y, i, j, pitch=") && !schedule.contains("split(h, "), "{n} {m}: {schedule}");
    }
}

/// A row that is divided among threads has the same reduction tree with any number of threads.
#[test]
fn threads_share_a_row() {
    let body = |op: &str, dtype: &str, result: &str| {
        format!("func @f(%a: {dtype}[n]) -> {result} {{\nentry:\n  %0 = {op} %a\n  ret %0\n}}")
    };
    let mut random = fastrand::Rng::with_seed(8);
    for n in [1_000_003usize, 1 << 20, 700_000] {
        let a = Array1::from_shape_simple_fn(n, || random.f64() * 8.0 - 4.0);
        let wide = Array1::from_shape_simple_fn(2 * n, || random.f64());
        let single = a.mapv(|x| x as f32);
        let integers = a.mapv(|x| (x * 1e8) as i32);
        let complex = a.mapv(|x| Complex64::new(x, 1.0 / x));
        // One-byte elements are read faster, so more of them are needed before threads share them.
        let yes = Array1::from_shape_fn(8 * n, |i| i + 3 < 8 * n);
        let cases: Vec<(&str, &str, &str, Arg<'_>)> = vec![
            ("sum", "f64", "f64", (&a).into()),
            ("sum", "f64", "f64", wide.slice(s![..;-2]).into()),
            ("sum", "f32", "f32", (&single).into()),
            ("sum", "i32", "i64", (&integers).into()),
            ("prod", "i32", "i64", (&integers).into()),
            ("prod", "f64", "f64", (&a).into()),
            ("sum", "c128", "c128", (&complex).into()),
            ("max", "f64", "f64", (&a).into()),
            ("min", "f32", "f32", (&single).into()),
            ("argmax", "f64", "i64", (&a).into()),
            ("argmin", "i32", "i64", (&integers).into()),
            ("any", "bool", "bool", (&yes).into()),
            ("all", "bool", "bool", (&yes).into()),
        ];
        for (op, dtype, result, arg) in cases {
            let run = |threads: u32, backend| {
                let options = Options { times: true, threads: NonZeroU32::new(threads), backend, ..Options::default() };
                let f = Executable::compile(&module(&body(op, dtype, result)), "f", options).unwrap();
                let results = f.call(std::slice::from_ref(&arg)).unwrap();
                (results[0].clone(), f.schedules()[0].schedule.clone())
            };
            let (want, alone) = run(1, Backend::Auto);
            assert_eq!(alone.threads, Some(1));
            for backend in [Backend::Auto, Backend::Cranelift] {
                for threads in [2, 3, 8] {
                    let (got, schedule) = run(threads, backend);
                    assert!(same_bits(std::slice::from_ref(&want), &[got]), "{op} {dtype}, {n}: {threads} threads");
                    // Products of floats are computed one after the other, by one thread.
                    let shared = (op, dtype) != ("prod", "f64");
                    assert_eq!(schedule.threads > Some(1), shared, "{op} {dtype}, {n}: {schedule}");
                }
            }
        }
    }
}

#[test]
fn results_go_to_places_of_any_strides() {
    let text = &programs()[3].1;
    let (a, b) = (matrix(90, 70, 5), matrix(70, 90, 6));
    let args: [Arg<'_>; 2] = [(&a).into(), (&b).into()];
    let want = compile(text, "serial unblocked stream(off)", Backend::Auto).call(&args).unwrap();
    for schedule in
        ["", "parallel(threads=2)", "split(i, 16) split(j, 16) stage(y, i, j) parallel(threads=3)", "stream unblocked"]
    {
        let f = compile(text, schedule, Backend::Auto);
        let mut columns = Array2::<f64>::zeros((90, 70).f());
        f.call_into(&args, &mut [(&mut columns).into()]).unwrap();
        let mut wide = Array2::<f64>::zeros((90, 200));
        let part: ViewMut<'_> = wide.slice_mut(s![.., 3..143;2]).into();
        f.call_into(&args, &mut [part]).unwrap();
        for got in [columns.view(), wide.slice(s![.., 3..143;2])] {
            let got: Array<f64, IxDyn> = got.as_standard_layout().to_owned().into_dyn();
            assert!(same_bits(&want, &[Datum::Array(got.into())]), "{schedule}");
        }
        assert!(wide.slice(s![.., 4..;2]).iter().all(|&x| x == 0.0), "elements in between keep their values");
    }
}

#[test]
fn the_first_point_that_fails_is_told_whatever_the_threads() {
    let text = "func @f(%a: i64[n], %b: i64[n], %c: i64[n]) -> i64[n] {
entry:
  %0 = arrayexpr SCHEDULE [i: n] (x = %a[i], y = %b[i], z = %c[i]) {
    t0 = power x, y
    t1 = power t0, z
    yield t1
  } : i64[n]
  ret %0
}";
    let n = 1000;
    let base = Array1::from_elem(n, 2i64);
    let (mut first, mut second) = (Array1::from_elem(n, 1i64), Array1::from_elem(n, 1i64));
    // The earlier instruction fails at later points than the other one.
    first[700] = -3;
    first[999] = -3;
    second[333] = -1;
    let line = |schedule: &str| {
        let f = compile(text, schedule, Backend::Auto);
        let error = f.call(&[(&base).into(), (&first).into(), (&second).into()]).unwrap_err();
        (error.op, error.loc.line)
    };
    for schedule in
        ["serial", "parallel(threads=2)", "parallel(threads=3, chunk=100)", "parallel(threads=8, chunk=1)", "unblocked"]
    {
        assert_eq!(line(schedule), (Some("power"), 5), "{schedule}");
    }
}

#[test]
fn loops_in_stages_write_past_the_caches() {
    // The innermost loop is distributed: `tanh` and `log10` have a loop each. The results begin at a cache
    // line or elsewhere, and are contiguous or have gaps.
    let text = "func @f(%x: f64[n]) -> f64[n], f64[n] {
entry:
  %0, %1 = arrayexpr SCHEDULE [i: n] (x = %x[i]) {
    t0 = tanh x
    t1 = log10 x
    t2 = mul t0, t1
    yield t2, t1
  } : f64[n], f64[n]
  ret %0, %1
}";
    let n = 100_000usize;
    let x = Array1::from_iter((0..n).map(|i| i as f64 * 1e-4 + 0.5));
    let [streamed, plain] = ["vectorize(stages=3) stream", "vectorize(stages=3) stream(off)"]
        .map(|schedule| compile(text, schedule, Backend::Auto));
    let want = plain.call(&[(&x).into()]).unwrap();
    let got = streamed.call(&[(&x).into()]).unwrap();
    assert!(same_bits(&want, &got));
    if Backend::available().any(|backend| backend == Backend::X64) {
        let schedule = &streamed.schedules()[0].schedule;
        assert!(schedule.stream == Some(true) && schedule.stages > Some(1), "{schedule}");
    }
    for start in 0..9 {
        let mut memory = vec![-1.0; 2 * n + 40];
        let (whole, gaps) = memory.split_at_mut(n / 2 + 20);
        let part = &x.slice(s![..n / 2]);
        let mut whole = ndarray::ArrayViewMut1::from(&mut whole[start..start + n / 2]);
        let mut gaps = ndarray::ArrayViewMut1::from(&mut gaps[..n]).slice_move(s![..;2]);
        streamed.call_into(&[part.into()], &mut [whole.view_mut().into(), gaps.view_mut().into()]).unwrap();
        let half = |datum: &Datum| {
            <f64 as rewright_ir::Element>::unwrap(&datum.to_array()).unwrap().slice(s![..n / 2]).to_owned()
        };
        assert_eq!((whole.to_owned(), gaps.to_owned()), (half(&want[0]), half(&want[1])), "from {start}");
    }
}

/// Axes are interchanged before the kernel is built, so that values that do not depend on an axis are still
/// hoisted out of its loop.
#[test]
fn axes_around_reduced_ones_change_places() {
    let of = |expr: &str| {
        format!(
            "func @f(%a: f64[n, m, l], %b: f64[n]) -> f64[n, l] {{\nentry:\n  %0 = arrayexpr SCHEDULE [i: n, k: reduce m, j: l] (x = %a[i, k, j], y = %b[i]) {expr} : f64[n, l]\n  ret %0\n}}"
        )
    };
    let sum = of("{\n t0 = exp y\n t1 = add x, t0\n t2 = add t1, i\n yield t2\n } reduce (sum f64)");
    let (a, b) = (Array::from_shape_simple_fn((9, 40, 11), fastrand::f64), Array1::from_iter((0..9).map(f64::from)));
    let args: [Arg<'_>; 2] = [(&a).into(), (&b).into()];
    let want = compile(&sum, "", Backend::Reference).call(&args).unwrap();
    for backend in [Backend::Interp, Backend::Cranelift, Backend::Auto] {
        for order in ["reorder(i, k, j)", "reorder(j, k, i)", "reorder(j, k, i) parallel(threads=3, chunk=2)"] {
            assert!(same_bits(&want, &compile(&sum, order, backend).call(&args).unwrap()), "{order}, {backend:?}");
        }
    }
    let f = compile(&sum, "reorder(j, k, i)", Backend::Auto);
    f.call(&args).unwrap();
    assert!(f.schedules()[0].schedule.to_string().starts_with("reorder(j, k, i)"));
    let refused = sum.replace("SCHEDULE", "schedule=\"reorder(k, i, j)\"");
    let error = Executable::compile(&module(&refused), "f", Options::default()).err().unwrap().to_string();
    assert!(error.contains("reduce axes keep their order"), "{error}");
}

/// In a reduction, an axis of one point gets no loop, unless the schedule names the axis.
#[test]
fn axes_of_one_point_are_left_out() {
    let text = "func @f(%a: f64[n, m, 1]) -> f64[n, 1] {
entry:
  %0 = arrayexpr SCHEDULE [i: n, k: reduce m, j: 1] (x = %a[i, k, j]) {
    yield x
  } reduce (sum f64) : f64[n, 1]
  ret %0
}";
    let a = Array::from_shape_simple_fn((100, 70, 1), fastrand::f64);
    let want = compile(text, "", Backend::Reference).call(&[(&a).into()]).unwrap();
    for (order, printed) in
        [("", "reorder(k, i)"), ("reorder(i, k, j)", "reorder(i, k, j)"), ("reorder(j, k, i)", "reorder(j, k, i)")]
    {
        let f = compile(text, order, Backend::Auto);
        assert!(same_bits(&want, &f.call(&[(&a).into()]).unwrap()), "{order}");
        assert!(f.schedules()[0].schedule.to_string().starts_with(printed), "{}", f.schedules()[0].schedule);
    }
}
