//! Elements at computed positions: loops have versions for arrays with adjacent elements and for strided ones.

use crate::support::every::Every;
use ndarray::{Array1, Array2, s};
use rewright_ir::Datum;
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
