//! Arrays whose elements take turns in memory: calls of one function with several layouts, in any order, agree
//! with the reference evaluator. Rows of few elements are computed without a loop over them.

use crate::support::every::Every;
use ndarray::{Array1, Array2, ArrayView1, Axis, Slice, s};
use rewright_ir::expr::is_interleaved;
use rewright_ir::{Array, DType, Scalar, with_array};
use rewright_lowering::exec::Arg;

/// `x[0::2] * x[1::2] + y[0::3] - y[1::3] * y[2::3]`, with slices made by the function.
const SLICES: &str = "func @f(%x: f64[n], %y: f64[m]) -> f64[?] {
entry:
  %x0 = slice %x, at=[0::2]
  %x1 = slice %x, at=[1::2]
  %y0 = slice %y, at=[0::3]
  %y1 = slice %y, at=[1::3]
  %y2 = slice %y, at=[2::3]
  %0 = mul %x0, %x1
  %1 = add %0, %y0
  %2 = mul %y1, %y2
  %3 = sub %1, %2
  ret %3
}";

#[test]
fn several_groups_in_any_layout() {
    let all = Array1::from_shape_fn(1200, |i| f64::from(i as u32 * 37 % 101) - 50.0);
    let every = Every::new(SLICES);
    for n in [0, 1, 3, 4, 7, 8, 9, 31, 64, 65, 130] {
        let layouts = |count: usize| -> [ArrayView1<'_, f64>; 4] {
            [
                all.slice(s![..count]),
                all.slice(s![..2 * count;2]),
                all.slice(s![100..100 + count;-1]),
                all.slice(s![..3 * count;3]),
            ]
        };
        for (x, y) in (0..4).flat_map(|x| (0..4).map(move |y| (x, y))).chain([(0, 0), (0, 0), (3, 0), (0, 0)]) {
            every.call(&[Arg::from(layouts(2 * n)[x]), Arg::from(layouts(3 * n)[y])]);
        }
    }
}

/// Columns that are arguments of their own, of arrays of several widths.
#[test]
fn columns_of_several_widths() {
    let text = "func @f(%a: f32[n], %b: f32[n], %c: f32[n]) -> f32[n] {
entry:
  %0 = mul %a, %b
  %1 = add %0, %c
  ret %1
}";
    let every = Every::new(text);
    for width in [3, 4, 3, 7, 12, 13, 3] {
        let table = Array2::from_shape_fn((77, width), |(i, j)| (i * width + j) as f32 / 8.0);
        let last = width - 1;
        for [a, b, c] in [[0, 1, 2], [2, 0, 1], [0, 1, last], [0, 0, last], [last, last, last]] {
            for _ in 0..3 {
                let column = |j: usize| Arg::from(table.column(j));
                every.call(&[column(a), column(b), column(c)]);
            }
        }
    }
}

/// Sums of products of rows, and of functions of them.
#[test]
fn rows_of_few_elements() {
    assert_eq!((1..20).filter(|&n| is_interleaved(n)).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8, 10, 12]);
    for dtype in ["f64", "f32", "i32", "u64", "i16", "u8", "c64", "c128"] {
        for m in (1..=14).chain([17]) {
            let reduced = |name: &str, value: &str| {
                format!(
                    "arrayexpr [i: n, k: reduce {m}] (x = %x[i, k], y = %y[i, k]) {{
    t0 = mul x, y
    yield {value}
  }} reduce ({name} {dtype}) : {dtype}[n]"
                )
            };
            let text = format!(
                "func @f(%x: {dtype}[n, {m}], %y: {dtype}[n, {m}]) -> {dtype}[n], {dtype}[n] {{
entry:
  %0 = {}
  %1 = {}
  ret %0, %1
}}",
                reduced("sum", "t0"),
                reduced("prod", "y"),
            );
            let every = Every::new(&text);
            let dtype: DType = dtype.parse().unwrap();
            for apart in [1, 2] {
                let element = |at: usize| Scalar::F64((at * 7 % 5 + 1) as f64).cast(dtype);
                let mut array = Array::from_fn(dtype, &[23, m * apart], element).unwrap();
                with_array!(&mut array, |a| a.slice_axis_inplace(Axis(1), Slice::new(0, None, apart as isize)));
                every.call(&[Arg::View(array.view()), Arg::View(array.view())]);
            }
        }
    }
}
