//! Rows whose points may be combined in any order, a lane each: what they come to is the same bits, however they lie, and packed or not.

use crate::support::bits::bits;
use crate::support::scheduled::{compile, is_avx512, stages_rows};
use ndarray::{Array2, ArrayView2, s};
use rewright_ir::{Array, DType, Scalar};
use rewright_lowering::exec::{Arg, Backend, Executable};

/// The dtype of both operands, a function of rows of one and the points of another, and how many points of a row that is read once are worth packing: none where what
/// follows a row can't follow several.
fn programs() -> Vec<(DType, String, usize)> {
    let program = |dtype: DType, results: &str, body: &str, reduce: &str| {
        let dtype = dtype.name();
        let values: Vec<String> = (0..results.split(',').count()).map(|n| format!("%r{n}")).collect();
        let values = values.join(", ");
        format!(
            "func @f(%x: {dtype}[n, m], %y: {dtype}[m]) -> {results} {{\nentry:\n  {values} = arrayexpr SCHEDULE [i: n, k: reduce m] (x = %x[i, k], y = %y[k]) {{\n{body}\n  }} {reduce} : {results}\n  ret {values}\n}}"
        )
    };
    let position = |of: &str, dtype: DType| {
        format!("reduce ({of} {}, i64) init first finish (s, at) {{\n yield at\n }}", dtype.name())
    };
    let add = "t0 = add x, y\n yield t0, k";
    let mut programs = Vec::new();
    for dtype in [DType::F64, DType::F32, DType::I64, DType::I32, DType::U16, DType::U8] {
        programs.push((dtype, program(dtype, "i64[n]", add, &position("argmax", dtype)), 48));
    }
    let both = "reduce (argmin f32, i64) init first finish (s, at) {\n t0 = add at, i\n yield s, t0\n }";
    programs.push((DType::F32, program(DType::F32, "f32[n], i64[n]", "t0 = sub x, y\n yield t0, k", both), 0));
    let two = "reduce (min i32) reduce (argmax i32, i64) init first finish (s, t, at) {\n yield s, at\n }";
    programs.push((DType::I32, program(DType::I32, "i32[n], i64[n]", "t0 = mul x, y\n yield t0, x, k", two), 48));
    programs.push((DType::I64, program(DType::I64, "i64[n]", "t0 = mul x, y\n yield t0", "reduce (sum i64)"), 0));
    programs.push((DType::U32, program(DType::U32, "u32[n]", "t0 = bitxor x, y\n yield t0", "reduce (max u32)"), 0));
    programs.push((DType::U8, program(DType::U8, "u8[n]", "t0 = add x, y\n yield t0", "reduce (max u8)"), 13));
    programs.push((DType::F64, program(DType::F64, "bool[n]", "t0 = lt x, y\n yield t0", "reduce (any bool)"), 13));
    programs.push((DType::Bool, program(DType::Bool, "bool[n]", "t0 = or x, y\n yield t0", "reduce (all bool)"), 13));
    // Functions, of which some arguments are such as are seldom and called for; and what is called for all.
    for body in ["t0 = mul x, y\n t1 = exp t0\n t2 = sin t1\n yield t2, k", "t0 = mod x, y\n yield t0, k"] {
        let position = position("argmin", DType::F64);
        programs.push((DType::F64, program(DType::F64, "i64[n]", body, &position), 48));
    }
    programs
}

/// Few different elements, so that there are several greatest ones; rows one after the other, or beside one another.
fn elements(dtype: DType, [rows, columns]: [usize; 2], beside: bool, random: &mut fastrand::Rng) -> Array {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0];
    let specials = random.bool();
    let one = |_| match random.u32(0..30) {
        0 if specials && dtype.is_float() => Scalar::F64(special[random.usize(0..5)]).cast(dtype),
        _ if dtype.is_bool() => Scalar::Bool(random.u32(0..4) > 0),
        _ => Scalar::I64(random.i64(0..9)).cast(dtype),
    };
    match beside {
        false => Array::from_fn(dtype, &[rows, columns], one).unwrap(),
        true => Array::from_fn(dtype, &[columns, rows], one).unwrap().permuted(&[1, 0]),
    }
}

fn call(f: &Executable, args: &[Array; 2]) -> Vec<Vec<(u64, u64)>> {
    let args = [Arg::View(args[0].view()), Arg::View(args[1].view())];
    let results = f.call(&args).unwrap_or_else(|e| panic!("{e}"));
    results.iter().map(bits).collect()
}

#[test]
fn rows_come_to_the_same_bits_however_they_lie() {
    let mut random = fastrand::Rng::with_seed(7);
    for (dtype, text, _) in programs() {
        let plain = compile(&text, "", Backend::Interp, 1);
        let ways =
            [("", 1), ("unblocked", 1), ("", 3), ("parallel(threads=3, chunk=5)", 3), ("vectorize(unroll=3)", 1)];
        let ways = ways.map(|(schedule, threads)| (schedule, compile(&text, schedule, Backend::Auto, threads)));
        for n in [1, 7, 8, 9, 31, 64, 65, 127, 128, 129, 300, 1000] {
            for m in [1, 2, 3, 4, 7, 16, 17, 33, 64, 65] {
                for beside in [false, true] {
                    let y = elements(dtype, [1, m], false, &mut random);
                    let y = Array::from_fn(dtype, &[m], |at| y.get(&[0, at]).unwrap()).unwrap();
                    let args = [elements(dtype, [n, m], beside, &mut random), y];
                    let want = call(&plain, &args);
                    for (schedule, f) in &ways {
                        assert_eq!(call(f, &args), want, "`{schedule}`, {n} rows of {m}, beside: {beside}\n{text}");
                    }
                }
            }
        }
    }
}

/// Whether rows are turned is told by the schedule: those that do not lie beside one another already, if they are short.
#[test]
fn rows_that_are_read_once_are_packed_if_they_are_short() {
    let mut random = fastrand::Rng::with_seed(8);
    for (dtype, text, most) in programs() {
        let f = compile(&text, "", Backend::Auto, 1);
        let mut told = |n: usize, m: usize, beside: bool| {
            let args = [elements(dtype, [n, m], beside, &mut random), Array::full(Scalar::zero(dtype), &[m]).unwrap()];
            call(&f, &args);
            stages_rows(&f)
        };
        let longest = most.max(2);
        let found = [
            (500, longest, false),
            (500, 2, false),
            (500, longest + 1, false),
            (500, longest, true),
            (4, longest, false),
        ]
        .map(|(n, m, beside)| told(n, m, beside));
        let lanes = most > 0 && is_avx512(&f);
        let packed = [true, true, false, false, false].map(|packed| packed && lanes);
        assert_eq!(found, packed, "{text}");
    }
}

/// Steps of any size, along and across.
#[test]
fn rows_may_be_apart() {
    let text = "func @f(%x: f64[n, m]) -> i64[n], i64[n] {
entry:
  %0 = argmax %x, axes=[1]
  %1 = argmin %x, axes=[1]
  ret %0, %1
}";
    let mut random = fastrand::Rng::with_seed(9);
    let [plain, f] = [Backend::Interp, Backend::Auto].map(|backend| compile(text, "", backend, 1));
    let values: Array2<f64> = Array2::from_shape_simple_fn((600, 80), || f64::from(random.i32(0..9)));
    let column = values.slice(s![..50, ..1]);
    let views: [ArrayView2<'_, f64>; 6] = [
        values.slice(s![..;2, ..;3]),
        values.slice(s![..;-1, ..9]),
        values.slice(s![.., ..9;-1]),
        values.slice(s![..9, ..]).reversed_axes(),
        values.slice(s![..9;-2, ..;-1]).reversed_axes(),
        column.broadcast((50, 70)).unwrap(),
    ];
    for view in views {
        let [want, found] =
            [&plain, &f].map(|f| f.call(&[Arg::from(view)]).unwrap().iter().map(bits).collect::<Vec<_>>());
        assert_eq!(want, found, "{:?} {:?}", view.shape(), view.strides());
    }
}

/// Each iteration of the loops around has rows of its own, or the same ones.
#[test]
fn loops_around_rows_may_go_on_in_any_way() {
    let text = "func @f(%x: f32[l, n, m], %y: f32[n, m]) -> i64[l, n], i64[l, n] {
entry:
  %0 = arrayexpr [h: l, i: n, k: reduce m] (x = %x[h, i, k]) {
    yield x, k
  } reduce (argmax f32, i64) init first finish (s, at) {
    yield at
  } : i64[l, n]
  %1 = arrayexpr [h: l, i: n, k: reduce m] (x = %x[h, i, k], y = %y[i, k]) {
    t0 = sub x, y
    yield t0, k
  } reduce (argmin f32, i64) init first finish (s, at) {
    yield at
  } : i64[l, n]
  ret %0, %1
}";
    let mut random = fastrand::Rng::with_seed(10);
    let [plain, f, shared] = [(Backend::Interp, 1), (Backend::Auto, 1), (Backend::Auto, 3)]
        .map(|(backend, threads)| compile(text, "", backend, threads));
    for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1], [1, 2, 0], [0, 2, 1], [2, 1, 0]] {
        for extents in [[5, 20, 6], [30, 9, 3], [3, 150, 40], [40, 7, 4], [1, 300, 4]] {
            let memory: Vec<usize> = order.iter().map(|&axis| extents[axis]).collect();
            let mut back = [0; 3];
            order.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
            let x =
                Array::from_fn(DType::F32, &memory, |_| Scalar::F32(random.i32(0..7) as f32)).unwrap().permuted(&back);
            let y = elements(DType::F32, [extents[1], extents[2]], random.bool(), &mut random);
            let want = call(&plain, &[x.clone(), y.clone()]);
            let args = [x, y];
            assert_eq!(call(&f, &args), want, "{extents:?}, {order:?} in memory");
            assert_eq!(call(&shared, &args), want, "{extents:?}, {order:?} in memory, shared");
        }
    }
}
