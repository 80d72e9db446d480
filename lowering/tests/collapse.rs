//! Short rows whose loops are collapsed: the bits of the plainest loops, for all dtypes and layouts, and only
//! where arrays allow it.

use crate::support::scheduled::{collapses, compile};
use ndarray::Axis;
use rewright_ir::{Array, DType, Datum, Element, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable};

/// `x * gain + offset + x` with a short row, and one that is the same everywhere along it.
fn text(dtype: DType, schedule: &str) -> String {
    format!(
        "func @f(%x: {dtype}[n, m], %gain: {dtype}[m], %offset: {dtype}[one, one]) -> {dtype}[n, m], bool[n, m] {{
entry:
  %0, %1 = arrayexpr schedule=\"{schedule}\" [i: n, j: m] (x = %x[i, j], gain = %gain[j], offset = %offset[0, 0]) {{
    t0 = mul x, gain
    t1 = add t0, offset
    t2 = add t1, x
    t3 = eq t2, x
    yield t2, t3
  }} : {dtype}[n, m], bool[n, m]
  ret %0, %1
}}"
    )
}

fn filled(dtype: DType, shape: &[usize], seed: u64) -> Array {
    let mut random = fastrand::Rng::with_seed(seed);
    Array::from_fn(dtype, shape, |_| Scalar::F64(f64::from(random.u8(0..20)) - 8.0).cast(dtype)).expect("its dtype")
}

fn run(f: &Executable, args: &[Arg<'_>]) -> (Vec<Array>, bool) {
    let results = f.call(args).unwrap_or_else(|e| panic!("{e}"));
    (results.iter().map(Datum::to_array).collect(), collapses(f))
}

#[test]
fn long_rows_come_to_the_same_bits() {
    for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::Bool) {
        let plain = compile(&text(dtype, "unblocked"), "", Backend::Interp, 1);
        let ways =
            Backend::available().filter(|b| !matches!(b, Backend::Reference | Backend::Interp)).flat_map(|backend| {
                [("", 1), ("parallel(threads=2)", 2), ("parallel(threads=3, chunk=333)", 3), ("stream", 1)]
                    .map(|(schedule, threads)| compile(&text(dtype, schedule), "", backend, threads))
            });
        let ways: Vec<Executable> = ways.collect();
        for (n, m) in [(2_000, 3), (1_501, 5), (90, 64), (83, 63), (4_100, 2), (700, 9)] {
            let (x, one) = (filled(dtype, &[n, m], 1), filled(dtype, &[1, 1], 2));
            let gains = filled(dtype, &[2 * m], 3);
            // Every second element, from the last one back; the same for all.
            let every_second = rewright_ir::with_dtype!(dtype, T => {
                let pairs = <T as Element>::unwrap(&gains.reshaped(&[m, 2]).unwrap()).unwrap().clone();
                let mut row = pairs.index_axis_move(Axis(1), 1);
                row.invert_axis(Axis(0));
                T::wrap(row)
            });
            assert_eq!(every_second.strides(), [-2]);
            for gain in [filled(dtype, &[m], 4), every_second, filled(dtype, &[1], 5).broadcast(&[m]).unwrap()] {
                let args: [Arg<'_>; 3] = [(&x).into(), (&gain).into(), (&one).into()];
                let (want, told) = run(&plain, &args);
                assert!(!told);
                for f in &ways {
                    let (found, told) = run(f, &args);
                    assert!(want.iter().zip(&found).all(|(a, b)| a.same_bits(b)), "{dtype} {n} x {m}");
                    let repeated = gain.strides() != [0] && n * m >= 4096;
                    assert_eq!(told, repeated, "{dtype} {n} x {m}, {:?}", gain.strides());
                }
            }
        }
    }
}

#[test]
fn rows_are_long_where_those_of_the_result_follow_one_another() {
    let told = |params: &str, expr: &str, result: &str, args: &[&Array]| {
        let text =
            format!("func @f({params}) -> {result} {{\nentry:\n  %0 = arrayexpr {expr} : {result}\n  ret %0\n}}");
        let args: Vec<Arg<'_>> = args.iter().map(|&array| array.into()).collect();
        let (want, _) = run(&compile(&text, "", Backend::Interp, 1), &args);
        let (found, told) = run(&compile(&text, "", Backend::Auto, 1), &args);
        assert!(want[0].same_bits(&found[0]), "{text}");
        told
    };
    let f = DType::F64;
    let (image, gains, tall) = (filled(f, &[50, 80, 3], 1), filled(f, &[3], 2), filled(f, &[50, 1, 3], 3));
    let by_row = "%x: f64[h, w, 3], %g: f64[h, 1, 3]";
    let product = "{\n t0 = mul x, g\n yield t0\n }";
    let plain = "%x: f64[h, w, 3], %g: f64[3]";
    let whole = format!("[i: h, j: w, k: 3] (x = %x[i, j, k], g = %g[k]) {product}");
    assert!(told(plain, &whole, "f64[h, w, 3]", &[&image, &gains]));
    // Several short rows, of different widths.
    let several = "%x: f64[h, w, 3], %b: u8[3], %g: f64[3]";
    let both = "[i: h, j: w, k: 3] (x = %x[i, j, k], b = %b[k], g = %g[k]) {\n t0 = cast b, to=f64\n t1 = mul x, t0\n t2 = add t1, g\n yield t2\n }";
    let bytes = filled(DType::U8, &[3], 7);
    assert!(told(several, both, "f64[h, w, 3]", &[&image, &bytes, &gains]));
    // Rows with gaps between them, and rows that differ from image row to image row, are copied.
    let wide = filled(f, &[50, 80, 4], 4);
    let cut = "%x: f64[h, w, 4], %g: f64[3]";
    assert!(told(cut, &whole, "f64[h, w, 3]", &[&wide, &gains]));
    let rows = format!("[i: h, j: w, k: 3] (x = %x[i, j, k], g = %g[i, 0, k]) {product}");
    assert!(told(by_row, &rows, "f64[h, w, 3]", &[&image, &tall]));
    // What is read once a row, an index.
    let once = format!("[i: h, j: w, k: 3] (x = %x[i, j, k], g = %g[i, j]) {product}");
    let pixels = filled(f, &[50, 80], 8);
    assert!(told("%x: f64[h, w, 3], %g: f64[h, w]", &once, "f64[h, w, 3]", &[&image, &pixels]));
    let index = "[i: h, j: w, k: 3] (x = %x[i, j, k], g = %g[k]) {\n t0 = mul x, g\n t1 = cast k, to=f64\n t2 = add t0, t1\n yield t2\n }";
    assert!(!told(plain, index, "f64[h, w, 3]", &[&image, &gains]));
    // Few rows are not worth it.
    let (long, longer) = (filled(f, &[5, 20, 64], 5), filled(f, &[64], 6));
    let long_params = "%x: f64[h, w, 64], %g: f64[64]";
    let long_whole = format!("[i: h, j: w, k: 64] (x = %x[i, j, k], g = %g[k]) {product}");
    assert!(told(long_params, &long_whole, "f64[h, w, 64]", &[&long, &longer]));
    for (h, w, k) in [(5, 3, 64), (5, 20, 65)] {
        let (long, longer) = (filled(f, &[h, w, k], 5), filled(f, &[k], 6));
        let of = |text: &str| text.replace("64]", &format!("{k}]")).replace("k: 64", &format!("k: {k}"));
        let [params, whole, result] = [long_params, &long_whole, "f64[h, w, 64]"].map(of);
        assert!(!told(&params, &whole, &result, &[&long, &longer]));
    }
}

#[test]
fn what_lies_across_short_rows_is_copied_to_long_ones() {
    // Reversed, every second one, of a wider array, turned, and the same for each row of an image: side by side in one body.
    let text = |dtype: DType, m: usize, schedule: &str| {
        let (last, wide) = (m - 1, 2 * m);
        format!(
            "func @f(%a: {dtype}[h, w, {m}], %b: {dtype}[h, w, {wide}], %c: {dtype}[h, {m}, w], %d: {dtype}[h, {m}], %e: {dtype}[{m}]) -> {dtype}[h, w, {m}] {{
entry:
  %0 = arrayexpr schedule=\"{schedule}\" [i: h, j: w, k: {m}] (a = %a[i, j, {last} - k], b = %b[i, j, k + 1], c = %c[i, k, j], d = %d[i, k], e = %e[k]) {{
    t0 = mul a, b
    t1 = sub t0, c
    t2 = mul d, e
    t3 = add t1, t2
    yield t3
  }} : {dtype}[h, w, {m}]
  ret %0
}}"
        )
    };
    for dtype in [DType::F64, DType::F32, DType::U8, DType::I16, DType::C64, DType::C128] {
        for (h, w, m) in [(2, 1_500, 3), (1, 2_111, 2), (7, 131, 5), (3, 300, 7)] {
            let shapes: [&[usize]; 5] = [&[h, w, m], &[h, w, 2 * m], &[h, m, w], &[h, m], &[m]];
            let arrays: Vec<Array> = (1..).zip(shapes).map(|(seed, shape)| filled(dtype, shape, seed)).collect();
            let args: Vec<Arg<'_>> = arrays.iter().map(Arg::from).collect();
            let (want, _) = run(&compile(&text(dtype, m, ""), "", Backend::Interp, 1), &args);
            for backend in Backend::available().filter(|b| !matches!(b, Backend::Reference | Backend::Interp)) {
                for (schedule, threads) in
                    [("", 1), ("parallel(threads=2)", 2), ("parallel(threads=3, chunk=333)", 3), ("unblocked", 1)]
                {
                    let f = compile(&text(dtype, m, schedule), "", backend, threads);
                    let (found, told) = run(&f, &args);
                    assert!(want[0].same_bits(&found[0]), "{dtype} {h} x {w} x {m} {schedule}");
                    assert_eq!(told, schedule != "unblocked", "{dtype} {h} x {w} x {m} {schedule}");
                }
            }
        }
    }
}

#[test]
fn what_is_read_once_a_row_is_read_at_each_point_of_long_ones() {
    // One element a row, one of an array with gaps, one an outer row, and what is computed of them.
    let text = |dtype: DType, schedule: &str, computed: bool| {
        let (product, square) = if computed { ("mul y, y", "mul z, t0") } else { ("mul x, y", "mul z, t0") };
        format!(
            "func @f(%x: {dtype}[h, w, m], %y: {dtype}[h, w, one], %z: {dtype}[h, w, two], %u: {dtype}[h, one, one]) -> {dtype}[h, w, m], bool[h, w, m] {{
entry:
  %0, %1 = arrayexpr schedule=\"{schedule}\" [i: h, j: w, k: m] (x = %x[i, j, k], y = %y[i, j, 0], z = %z[i, j, 1], u = %u[i, 0, 0]) {{
    t0 = {product}
    t1 = {square}
    t2 = add t1, u
    t3 = add t2, x
    t4 = eq t3, x
    yield t3, t4
  }} : {dtype}[h, w, m], bool[h, w, m]
  ret %0, %1
}}"
        )
    };
    for dtype in [DType::F64, DType::F32, DType::U8, DType::I16, DType::C64, DType::C128] {
        for (h, w, m) in
            [(2, 1_500, 3), (1, 2_111, 1), (7, 131, 5), (40, 300, 1), (3, 300, 4), (20, 40, 70), (3000, 1, 2)]
        {
            let shapes: [&[usize]; 4] = [&[h, w, m], &[h, w, 1], &[h, w, 2], &[h, 1, 1]];
            let mut arrays: Vec<Array> = (1..).zip(shapes).map(|(seed, shape)| filled(dtype, shape, seed)).collect();
            for (computed, turned) in [(false, false), (true, true)] {
                if turned {
                    // Rows lie the other way round.
                    let x = &arrays[0];
                    arrays[0] = rewright_ir::with_dtype!(dtype, T => {
                        let mut x = <T as Element>::unwrap(x).unwrap().clone();
                        x.invert_axis(Axis(1));
                        T::wrap(x)
                    });
                }
                let args: Vec<Arg<'_>> = arrays.iter().map(Arg::from).collect();
                let (want, _) = run(&compile(&text(dtype, "unblocked", computed), "", Backend::Interp, 1), &args);
                for backend in Backend::available().filter(|b| *b != Backend::Reference) {
                    for (schedule, threads) in
                        [("", 1), ("parallel(threads=2)", 2), ("parallel(threads=3, chunk=333)", 3), ("stream", 1)]
                    {
                        let (found, told) =
                            run(&compile(&text(dtype, schedule, computed), "", backend, threads), &args);
                        let what = || format!("{backend:?} {dtype} {h} x {w} x {m} {schedule}");
                        assert!((0..2).all(|n| want[n].same_bits(&found[n])), "{}", what());
                        let is_short = m * dtype.size() <= 32;
                        assert!(told == is_short || (is_short && threads == 3), "{}", what());
                    }
                }
            }
        }
    }
}

#[test]
fn points_that_may_fail_are_told_where_they_are() {
    let text = "func @f(%x: i64[n, 3], %k: i64[3]) -> i64[n, 3] {
entry:
  %0 = arrayexpr [i: n, j: 3] (x = %x[i, j], k = %k[j]) {
    t0 = power x, k
    yield t0
  } : i64[n, 3]
  ret %0
}";
    let (x, k) =
        (filled(DType::I64, &[2_000, 3], 1), Array::from_fn(DType::I64, &[3], |i| (1 - i as i64).into()).unwrap());
    let args: [Arg<'_>; 2] = [(&x).into(), (&k).into()];
    let error = |backend| compile(text, "", backend, 1).call(&args).unwrap_err().to_string();
    let want = error(Backend::Reference);
    for backend in Backend::available() {
        assert_eq!(error(backend), want, "{backend:?}");
    }
    let fine = Array::from_fn(DType::I64, &[3], |i| (i as i64).into()).unwrap();
    let (_, told) = run(&compile(text, "", Backend::Auto, 1), &[(&x).into(), (&fine).into()]);
    assert!(!told, "a row that fails is one of the array's");
}

/// Rows of which only so many follow one another, in an image with a margin: long rows are made of those, if they are enough.
#[test]
fn rows_that_few_others_follow() {
    // What is read beside `x`; how it and `x` are read; and the fewest rows that are run as one.
    let operands: [(&str, &str, &str, usize); 4] = [
        ("%y: T[m]", "y = %y[k]", "x = %x[i, j, k]", 2),
        ("%y: T[h, u]", "y = %y[i, 2*j]", "x = %x[i, j, k]", 64),
        ("%y: T[]", "y = %y[]", "x = %x[i, j, k]", 64),
        ("%y: T[m]", "y = %y[k]", "x = %x[i, j, -1*k + M]", 16),
    ];
    for dtype in [DType::U8, DType::F32, DType::F64] {
        for (number, (params, y, x, least)) in operands.into_iter().enumerate() {
            for (w, m) in [(2, 3), (7, 2), (15, 3), (16, 3), (40, 4), (63, 3), (64, 3), (100, 2), (1_500, 2)] {
                // A margin of rows; or of points, too, so that rows have gaps between them.
                let (h, gap) = (20_000usize.div_ceil(w * m), usize::from(number == 2));
                let text = format!(
                    "func @f(%x: T[h, W, G], {params}) -> T[h, {w}, {m}] {{\nentry:\n  %0 = arrayexpr SCHEDULE [i: h, j: {w}, k: {m}] ({x}, {y}) {{\n    t0 = mul x, y\n    yield t0\n  }} : T[h, {w}, {m}]\n  ret %0\n}}"
                );
                let text = text.replace("W", &(w + 3).to_string()).replace("G", &(m + gap).to_string());
                let text = text.replace("M]", &format!("{}]", m - 1)).replace("[m]", &format!("[{m}]"));
                let text = text.replace('T', dtype.name()).replace("u]", &format!("{}]", 2 * w));
                let shape: &[usize] = match number {
                    1 => &[h, 2 * w],
                    2 => &[],
                    _ => &[m],
                };
                let (x, y) = (filled(dtype, &[h, w + 3, m + gap], 1), filled(dtype, shape, 2));
                let args: [Arg<'_>; 2] = [(&x).into(), (&y).into()];
                let (want, _) = run(&compile(&text, "", Backend::Interp, 1), &args);
                for backend in Backend::available().filter(|b| !matches!(b, Backend::Reference | Backend::Interp)) {
                    for (schedule, threads) in [("", 1), ("parallel(threads=3, chunk=7)", 3), ("unblocked", 1)] {
                        let (found, told) = run(&compile(&text, schedule, backend, threads), &args);
                        let what = || format!("{backend:?} {number} {dtype} {h} x {w} x {m} {schedule}");
                        assert!(want[0].same_bits(&found[0]), "{}", what());
                        if threads == 1 {
                            let is_long = schedule.is_empty() && w >= least;
                            assert_eq!(told, is_long, "{}", what());
                        }
                    }
                }
            }
        }
    }
}

/// Rows of one point that are combined in memory stay rows: one long row would write all of them at once.
#[test]
fn what_is_combined_in_memory_is_no_long_row() {
    for (dtype, of) in
        [(DType::F64, "sum"), (DType::I64, "sum"), (DType::F32, "max"), (DType::F64, "prod"), (DType::I32, "min")]
    {
        let text = format!(
            "func @f(%x: {dtype}[l, m, n], %y: {dtype}[m]) -> {dtype}[l, n] {{\nentry:\n  %0 = arrayexpr SCHEDULE [i: l, k: reduce m, j: n] (x = %x[i, k, j], y = %y[k]) {{\n    t0 = add x, y\n    yield t0\n  }} reduce ({of} {dtype}) : {dtype}[l, n]\n  ret %0\n}}"
        );
        let plain = compile(&text, "", Backend::Interp, 1);
        let ways =
            [("", 1), ("", 2), ("serial", 1), ("unblocked", 1), ("reorder(j, k, i)", 1)].map(|(schedule, threads)| {
                let schedule = if schedule.is_empty() { String::new() } else { format!("schedule=\"{schedule}\"") };
                compile(&text.replace("SCHEDULE", &schedule), "", Backend::Auto, threads)
            });
        for shape in [[1, 5000, 1], [300, 17, 1], [1, 40, 3], [20, 400, 1], [2, 3000, 2]] {
            let args = [filled(dtype, &shape, 1), filled(dtype, &shape[1..2], 2)];
            let args: [Arg<'_>; 2] = [(&args[0]).into(), (&args[1]).into()];
            let result = |f: &Executable| f.call(&args).unwrap()[0].to_array();
            let want = result(&plain);
            ways.iter().for_each(|f| assert!(want.same_bits(&result(f)), "{of} {dtype} {shape:?}"));
        }
    }
}
