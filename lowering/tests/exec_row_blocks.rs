//! Rows that are combined in memory, in blocks, against the reference evaluator, bit for bit: numbers of rows around those at which blocks and
//! groups of them begin, results from narrower than a vector to wider than a piece, and all that a kernel of them may do besides.

use crate::support::agree::{check, compile};
use crate::support::bits::bits;
use ndarray::{Array2, Array3, ShapeBuilder, s};
use rewright_ir::{Array, DType, Datum, Scalar};
use rewright_lowering::exec::{Backend, ViewMut};

/// Rows: parts of a block, a few blocks, whole and not, more than a group of narrow ones.
const ROWS: [usize; 12] = [1, 15, 16, 17, 31, 32, 33, 48, 100, 129, 1000, 9001];
/// Columns: narrower than a vector, about a vector, and more than a piece has.
const COLUMNS: [usize; 9] = [1, 2, 3, 7, 8, 16, 33, 300, 5000];

fn number(random: &mut fastrand::Rng) -> f64 {
    match random.u8(..40) {
        0 => -0.0,
        1 => 0.0,
        _ => (random.f64() - 0.5) * 10f64.powi(random.i32(-3..6)),
    }
}

fn array(dtype: DType, shape: &[usize], seed: u64) -> Array {
    let mut random = fastrand::Rng::with_seed(seed);
    let one = |_| {
        let z = num_complex::Complex::new(number(&mut random), number(&mut random));
        if dtype.is_complex() { Scalar::C128(z).cast(dtype) } else { Scalar::F64(z.re).cast(dtype) }
    };
    Array::from_fn(dtype, shape, one).unwrap()
}

/// Sums of columns of a dtype.
fn sums(dtype: DType) -> String {
    let name = dtype.name();
    format!("func @f(%x: {name}[n, m]) -> {name}[m] {{\nentry:\n  %0 = sum %x, axes=[0]\n  ret %0\n}}")
}

#[test]
fn columns_of_any_number_and_length() {
    for (n, m) in ROWS.into_iter().flat_map(|n| COLUMNS.map(|m| (n, m))).filter(|(n, m)| n * m <= 600_000) {
        check(&sums(DType::F64), &[array(DType::F64, &[n, m], (n * m) as u64)]);
    }
    for dtype in [DType::F32, DType::C64, DType::C128] {
        for (n, m) in [(17, 1), (100, 3), (333, 4), (1000, 5), (1000, 8), (300, 12), (129, 16), (50, 2500), (333, 40)] {
            check(&sums(dtype), &[array(dtype, &[n, m], 7)]);
        }
    }
}

#[test]
fn narrow_columns_in_any_order() {
    let cases = [
        ("max", DType::F64, "f64"),
        ("min", DType::F32, "f32"),
        ("max", DType::I32, "i32"),
        ("sum", DType::U8, "u64"),
        ("sum", DType::I64, "i64"),
        ("prod", DType::I16, "i64"),
        ("any", DType::F64, "bool"),
        ("all", DType::U8, "bool"),
        ("max", DType::Bool, "bool"),
    ];
    for (op, dtype, result) in cases {
        let name = dtype.name();
        let text =
            format!("func @f(%x: {name}[n, m]) -> {result}[m] {{\nentry:\n  %0 = {op} %x, axes=[0]\n  ret %0\n}}");
        for (n, m) in [
            (256, 3),
            (257, 3),
            (300, 1),
            (1000, 2),
            (999, 4),
            (1001, 7),
            (1000, 8),
            (1000, 12),
            (777, 16),
            (20_011, 1),
        ] {
            check(&text, &[array(dtype, &[n, m], (n * m) as u64)]);
        }
        let pixels = text.replace("[n, m]", "[n, m, k]").replace("[m] {", "[k] {").replace("[0]", "[0, 1]");
        check(&pixels, &[array(dtype, &[30, 40, 3], 5)]);
    }
}

#[test]
fn products_of_several_rows_are_in_sequence() {
    for dtype in [DType::F64, DType::F32, DType::C128, DType::C64] {
        for (shape, axes, kept) in [
            (&[5, 7, 6][..], "[0, 2]", "n1"),
            (&[3, 1, 40], "[0, 2]", "n1"),
            (&[2, 3, 4, 5], "[0, 1, 3]", "n2"),
            (&[3, 20, 2, 5], "[1, 3]", "n0, n2"),
            (&[0, 4, 3], "[0, 2]", "n1"),
        ] {
            let (dims, name): (Vec<String>, _) =
                ((0..shape.len()).map(|axis| format!("n{axis}")).collect(), dtype.name());
            let text = format!(
                "func @f(%x: {name}[{}]) -> {name}[{kept}] {{\nentry:\n  %0 = prod %x, axes={axes}\n  ret %0\n}}",
                dims.join(", ")
            );
            check(&text, &[array(dtype, shape, 11)]);
        }
    }
    // Two reductions of what is computed, one of them in any order.
    let text = "func @f(%x: f64[n, m, k]) -> f64[m], bool[m] {
entry:
  %0, %1 = arrayexpr [i: reduce n, j: m, l: reduce k] (x = %x[i, j, l]) {
    t0 = cast j, to=f64
    t1 = mul x, t0
    t2 = lt t1, 0.5
    yield t1, t2
  } reduce (prod f64) reduce (any bool) : f64[m], bool[m]
  ret %0, %1
}";
    check(text, &[array(DType::F64, &[9, 4, 7], 3)]);
}

#[test]
fn of_equal_extrema_of_blocks_the_first_one_is_kept() {
    let x = Array2::from_shape_fn((1000, 3), |(i, j)| if (i / 3 + j).is_multiple_of(2) { -0.0 } else { 0.0 });
    for op in ["min", "max"] {
        let text = format!("func @f(%x: f64[n, m]) -> f64[m] {{\nentry:\n  %0 = {op} %x, axes=[0]\n  ret %0\n}}");
        check(&text, &[Array::F64(x.to_shared().into_dyn())]);
    }
}

#[test]
fn elements_that_lie_otherwise() {
    let x = Array2::from_shape_fn((300, 40).f(), |(i, j)| (i * 37 % 101) as f64 + j as f64 * 0.1);
    let wide = Array2::from_shape_fn((300, 80), |(i, j)| (i * 37 % 101) as f64 + j as f64 * 0.1);
    for x in [
        x.clone().into_shared().into_dyn(),
        x.slice(s![..;-1, ..;-1]).to_shared().into_dyn(),
        wide.slice(s![..;2, ..;-2]).to_shared().into_dyn(),
        wide.slice(s![.., ..1]).broadcast((300, 40)).unwrap().to_shared().into_dyn(),
        wide.slice(s![..100, ..3]).reversed_axes().to_shared().into_dyn(),
    ] {
        check(&sums(DType::F64), &[Array::F64(x)]);
    }
}

#[test]
fn several_axes_and_rows() {
    for (shape, axes) in [
        (&[40, 5, 7][..], "[0]"),
        (&[5, 40, 7], "[1]"),
        (&[40, 5, 7], "[0, 2]"),
        (&[40, 3, 600], "[0, 2]"),
        (&[7, 3, 11, 4], "[0, 2]"),
        (&[3, 50, 2, 4], "[0, 1]"),
        (&[30, 2, 30, 3], "[0, 2]"),
        (&[2, 3, 700, 2], "[0, 2]"),
        (&[100, 3, 1], "[0]"),
        (&[1, 100, 1, 3000], "[1]"),
    ] {
        let dims: Vec<String> = (0..shape.len()).map(|axis| format!("n{axis}")).collect();
        let kept = (0..shape.len()).map(|axis| if axes.contains(&axis.to_string()) { "1" } else { &dims[axis] });
        let kept: Vec<&str> = kept.collect();
        let text = format!(
            "func @f(%x: f64[{}]) -> f64[{}] {{\nentry:\n  %0 = sum %x, axes={axes}, keepdims=true\n  ret %0\n}}",
            dims.join(", "),
            kept.join(", ")
        );
        let x = array(DType::F64, shape, 3);
        check(&text, std::slice::from_ref(&x));
        let Array::F64(x) = x else { panic!() };
        let turned = x.reversed_axes().as_standard_layout().into_owned().reversed_axes();
        check(&text, &[Array::F64(turned.into_shared())]);
    }
}

/// An expression over `[i: reduce n, j: m]` with a body and reductions, and what it gives.
fn expression(body: &str, reductions: &str, outs: &str) -> String {
    let (types, results): (Vec<_>, Vec<_>) =
        outs.split(' ').enumerate().map(|(n, dtype)| (format!("{dtype}[m]"), format!("%{n}"))).unzip();
    let (types, results) = (types.join(", "), results.join(", "));
    format!(
        "func @f(%x: f64[n, m]) -> {types} {{\nentry:\n  {results} = arrayexpr [i: reduce n, j: m] (x = %x[i, j]) {{\n{body}  }} \
         {reductions} : {types}\n  ret {results}\n}}"
    )
}

#[test]
fn several_totals_indices_and_starts() {
    let two = expression("    t0 = mul x, x\n    yield x, t0\n", "reduce (sum f64) reduce (sum f64)", "f64 f64");
    let mixed = expression("    t0 = lt x, 0.0\n    yield x, t0\n", "reduce (sum f64) reduce (any bool)", "f64 bool");
    // Of columns extrema are bound to no order, and sums of any dtype to one.
    let narrow = expression(
        "    t0 = cast x, to=f32\n    yield x, t0, t0\n",
        "reduce (sum f64) reduce (max f32) reduce (sum f32)",
        "f64 f32 f32",
    );
    let sequence = expression("    yield x, x\n", "reduce (prod f64) reduce (min f64)", "f64 f64");
    let start = expression("    yield x\n", "reduce (sum f64) init 3.5", "f64");
    let index = expression("    t0 = mul x, i\n    yield t0\n", "reduce (sum f64)", "f64");
    let across = expression("    t0 = mul x, j\n    yield t0\n", "reduce (sum f64)", "f64");
    let product = expression("    yield x\n", "reduce (prod f64)", "f64");
    let greatest = expression("    yield x\n", "reduce (max f64)", "f64");
    for text in [two, mixed, narrow, sequence, start, index, across, product, greatest] {
        for (n, m) in [(5, 3), (16, 3), (40, 3), (1000, 2), (40, 100), (100, 3000)] {
            check(&text, &[array(DType::F64, &[n, m], 11)]);
        }
    }
}

#[test]
fn orders_that_do_not_commute() {
    let plain = expression("    yield x\n", "reduce (sum f64) nocomm", "f64");
    let two = expression("    t0 = mul x, x\n    yield x, t0\n", "reduce (sum f64) nocomm reduce (max f64)", "f64 f64");
    for text in [plain, two] {
        for (n, m) in [(16, 3), (40, 3), (1000, 2), (40, 100), (100, 3000)] {
            check(&text, &[array(DType::F64, &[n, m], 13)]);
        }
    }
}

#[test]
fn nothing_to_add_up() {
    for (n, m) in [(0, 3), (0, 0), (100, 0), (0, 3000)] {
        check(&sums(DType::F64), &[array(DType::F64, &[n, m], 1)]);
    }
    let start = expression("    yield x\n", "reduce (sum f64) init 3.5", "f64");
    check(&start, &[array(DType::F64, &[0, 5], 1)]);
}

#[test]
fn schedules_by_hand_change_no_bit() {
    let body = expression("    t0 = mul x, 3.0\n    yield t0\n", "reduce (sum f64)", "f64");
    for schedule in [
        "reorder(i, j)",
        "parallel(threads=2, chunk=1)",
        "parallel(threads=3, chunk=7)",
        "reorder(i, j) split(j, 32)",
        "unblocked",
        "vectorize(unroll=1)",
        "vectorize(unroll=8, stages=2)",
        "stream",
    ] {
        let text = body.replace("arrayexpr [", &format!("arrayexpr schedule=\"{schedule}\" ["));
        for (n, m) in [(15, 40), (40, 3), (1000, 7), (100, 3000)] {
            check(&text, &[array(DType::F64, &[n, m], 17)]);
        }
        let turned = Array2::from_shape_fn((500, 9).f(), |(i, j)| (i * 37 % 101) as f64 + j as f64 * 0.1);
        check(&text, &[Array::F64(turned.into_shared().into_dyn())]);
    }
}

#[test]
fn products_of_matrices() {
    let text = "func @f(%x: f64[n, k], %y: f64[k, m]) -> f64[n, m] {
entry:
  %0 = dot_general %x, %y, lhs_contract=[1], rhs_contract=[0]
  ret %0
}";
    for [n, k, m] in [[3, 40, 5], [40, 17, 3], [100, 100, 100], [1, 300, 40], [33, 64, 300], [7, 100, 1], [4, 0, 5]] {
        check(text, &[array(DType::F64, &[n, k], 1), array(DType::F64, &[k, m], 2)]);
    }
    let batches = "func @f(%x: f64[b, n, k], %y: f64[b, k, m]) -> f64[b, n, m] {
entry:
  %0 = dot_general %x, %y, lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]
  ret %0
}";
    for [b, n, k, m] in [[5, 3, 40, 5], [2, 40, 17, 3], [3, 10, 100, 100], [40, 1, 33, 1], [0, 3, 40, 5], [3, 5, 0, 2]]
    {
        check(batches, &[array(DType::F64, &[b, n, k], 1), array(DType::F64, &[b, k, m], 2)]);
    }
}

#[test]
fn the_first_point_that_fails_is_told() {
    let text = "func @f(%x: f64[n, m], %y: i64[n, m]) -> f64[m] {
entry:
  %0 = div %y, %y
  %1 = mul %x, %0
  %2 = sum %1, axes=[0]
  ret %2
}";
    let x = array(DType::F64, &[60, 3000], 5);
    let mut y = Array2::<i64>::ones((60, 3000));
    check(text, &[x.clone(), Array::I64(y.clone().into_shared().into_dyn())]);
    y[[40, 2]] = 0;
    y[[20, 2900]] = 0;
    check(text, &[x, Array::I64(y.into_shared().into_dyn())]);
}

#[test]
fn results_lie_where_the_caller_wants_them() {
    let text = "func @f(%x: f64[n, k, m]) -> f64[n, m] {\nentry:\n  %0 = sum %x, axes=[1]\n  ret %0\n}";
    let x = Array3::from_shape_fn((6, 50, 9), |(i, j, k)| (i * 31 + j * 17 + k * 5) as f64 * 0.1);
    let wanted = compile(text, Backend::Reference, 1).call(&[(&x).into()]).unwrap();
    for backend in Backend::available() {
        let f = compile(text, backend, 1);
        let mut whole = Array2::from_elem((18, 24), 7.0);
        {
            let mut part = whole.slice_mut(s![..12;2, ..18;-2]);
            f.call_into(&[(&x).into()], &mut [ViewMut::from(&mut part)]).unwrap();
        }
        let found = whole.slice(s![..12;2, ..18;-2]).to_shared().into_dyn();
        assert_eq!(bits(&Datum::Array(Array::F64(found))), bits(&wanted[0]), "{backend:?}");
        whole.slice_mut(s![..12;2, ..18;-2]).fill(7.0);
        assert!(whole.iter().all(|&x| x == 7.0), "{backend:?}: nothing else is written");
    }
}

#[test]
fn sums_of_columns_are_as_exact_as_those_of_rows() {
    for shape in [[1_000_000, 1], [200_000, 3]] {
        let x = Array2::from_elem(shape, 0.1f32);
        for backend in Backend::available().filter(|b| *b != Backend::Reference) {
            let [sum] = &compile(&sums(DType::F32), backend, 1).call(&[(&x).into()]).unwrap()[..] else { panic!() };
            let exact = shape[0] as f64 * f64::from(0.1f32);
            let off = sum.to_array().iter().map(|x| (x.to_c128().re / exact - 1.0).abs()).fold(0.0, f64::max);
            assert!(off < 1e-6, "{backend:?}: {off}");
        }
    }
}

#[test]
fn positions_that_are_the_same_keep_the_order() {
    let zeros: Vec<f64> = (0..600).map(|n| if n % 3 == 1 { 0.0 } else { -0.0 }).collect();
    for position in ["0", "i", "j"] {
        for (n, m) in [(1, 5), (1, 40), (2, 300), (3, 200)] {
            let text = format!(
                "func @f(%x: f64[n, m]) -> f64[n], i64[n] {{\nentry:\n  %0, %1 = arrayexpr [i: n, j: reduce m] (x = %x[i, j]) {{\n    yield x, \
                 {position}\n  }} reduce (argmax f64, i64) : f64[n], i64[n]\n  ret %0, %1\n}}"
            );
            let x = ndarray::ArrayD::from_shape_vec(vec![n, m], zeros[..n * m].to_vec()).unwrap();
            check(&text, &[Array::F64(x.into_shared())]);
        }
    }
}
