//! Elements at computed positions: loops have versions for arrays with adjacent elements and for strided ones.

use crate::support::every::Every;
use ndarray::{Array1, Array2, Axis, Slice, s};
use rewright_ir::{Array, DType, Datum, Scalar, with_array};
use rewright_lowering::exec::Arg;

fn numbers(datum: &Datum) -> Vec<f64> {
    let Datum::Array(rewright_ir::Array::F64(array)) = datum else { panic!("{datum:?}") };
    array.iter().copied().collect()
}

/// The results of all code generators for arrays with these elements, adjacent and in several strided
/// layouts. They agree with one another.
fn in_layouts(text: &str, table: &Array2<f64>, positions: &[i64], weights: &[f64]) -> Vec<f64> {
    let every = Every::new(text);
    let (rows, columns) = table.dim();
    let wide =
        Array2::from_shape_fn((rows * 2, columns * 3), |(i, j)| if j % 3 == 1 { table[[i / 2, j / 3]] } else { -1.0 });
    let turned = table.t().as_standard_layout().into_owned();
    let tables = [table.view(), wide.slice(s![..;2, 1..;3]), turned.t()];
    let spread = Array1::from_shape_fn(positions.len() * 2, |n| positions[n / 2]);
    let plain = Array1::from_vec(positions.to_vec());
    let backward: Array1<i64> = positions.iter().rev().copied().collect();
    let lists = [plain.view(), spread.slice(s![..;2]), backward.slice(s![..;-1])];
    let weights = Array1::from_vec(weights.to_vec());
    let mut found: Vec<Vec<f64>> = Vec::new();
    for table in &tables {
        for list in &lists {
            let results = every.call(&[Arg::from(*table), Arg::from(*list), Arg::from(&weights)]);
            found.extend(results.iter().map(numbers));
        }
    }
    assert!(found.iter().all(|result| *result == found[0]), "{found:?}");
    found.swap_remove(0)
}

#[test]
fn gathers_and_scatters_agree_in_all_layouts() {
    let table = Array2::from_shape_fn((7, 5), |(i, j)| (10 * i + j) as f64);
    let positions: Vec<i64> = (0..103).map(|n| (n * 3) % 5).collect();
    let weights: Vec<f64> = (0..103).map(|n| n as f64 / 4.0).collect();
    let gather = "func @f(%x: f64[n, m], %p: i64[k], %w: f64[k]) -> f64[n, k] {
entry:
  %0 = arrayexpr [i: n, l: k] (x = %x[i, gather_from_start(%p[l])], w = %w[l]) {
    t0 = mul w, 2.5
    t1 = add x, t0
    yield t1
  } : f64[n, k]
  ret %0
}";
    let expected: Vec<f64> = (0..7)
        .flat_map(|i| (0..103).map(move |l| (i, l)))
        .map(|(i, l)| table[[i, positions[l] as usize]] + 2.5 * weights[l])
        .collect();
    assert_eq!(in_layouts(gather, &table, &positions, &weights), expected);
    let scatter = "func @f(%x: f64[n, m], %p: i64[k], %w: f64[k]) -> f64[m] {
entry:
  %0 = arrayexpr [l: k] (w = %w[l], x = %x[gather(%p[l]), gather(%p[l])]) {
    t0 = add w, x
    yield t0
  } into ([gather(%p[l])] fill 0.0 combine max) : f64[m]
  ret %0
}";
    let expected: Vec<f64> = (0..5)
        .map(|at| {
            let own = (0..103).filter(|&l| positions[l] == at);
            own.map(|l| weights[l] + table[[at as usize, at as usize]]).fold(0.0, f64::max)
        })
        .collect();
    assert_eq!(in_layouts(scatter, &table, &positions, &weights), expected);
}

/// An array of a dtype whose elements along the last dim are this many apart in memory; backward if negative.
fn rows(dtype: DType, [n, m]: [usize; 2], apart: isize) -> Array {
    let wide = m * apart.unsigned_abs();
    let element = |at: usize| Scalar::F64((at * 37 % 251) as f64).cast(dtype);
    let mut array = Array::from_fn(dtype, &[n, wide], element).unwrap();
    with_array!(&mut array, |a| a.slice_axis_inplace(Axis(1), Slice::new(0, None, apart)));
    array
}

/// Rows that are copied as blocks, element by element where elements are apart, and not at all without any.
#[test]
fn rows_of_any_length_are_gathered_and_scattered() {
    let positions = Array::from_fn(DType::I64, &[23], |at| Scalar::I64((at * 5 % 9) as i64)).unwrap();
    let dtypes = [DType::Bool, DType::U8, DType::I16, DType::F32, DType::F64, DType::C64, DType::C128];
    let lengths = (0..=9).chain([11, 12, 15, 16, 17, 31, 32, 33, 64, 130]);
    for (dtype, m) in dtypes.into_iter().flat_map(|dtype| lengths.clone().map(move |m| (dtype, m))) {
        let fill = match dtype {
            DType::Bool => "false",
            DType::U8 | DType::I16 => "0",
            DType::C64 | DType::C128 => "(0.0, 0.0)",
            _ => "0.0",
        };
        for extent in ["m".to_string(), m.to_string()] {
            let gather = format!(
                "func @f(%x: {dtype}[n, {extent}], %p: i64[k]) -> {dtype}[k, {extent}] {{
entry:
  %0 = arrayexpr [l: k, j: {extent}] (x = %x[gather_from_start(%p[l]), j]) {{
    yield x
  }} : {dtype}[k, {extent}]
  ret %0
}}"
            );
            let scatter = format!(
                "func @f(%x: {dtype}[k, {extent}], %p: i64[k]) -> {dtype}[9, {extent}] {{
entry:
  %0 = arrayexpr [l: k, j: {extent}] (x = %x[l, j]) {{
    yield x
  }} into ([gather(%p[l]), j] fill {fill} last) : {dtype}[9, {extent}]
  ret %0
}}"
            );
            for (text, n) in [(gather, 9), (scatter, 23)] {
                let every = Every::new(&text);
                for apart in [1, 2, -1] {
                    every.call(&[Arg::View(rows(dtype, [n, m], apart).view()), Arg::View(positions.view())]);
                }
            }
        }
    }
}
