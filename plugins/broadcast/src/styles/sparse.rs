//! `f64[n, m; csc]`: the elements that are not zero, column by column, and `f64[n; sparse]`: those of a vector.
//!
//! `csc` has `starts`, where each column begins in the other two, and where the last one ends; `rows`, which increase within a column; and `values`.
//! `sparse` has `at`, positions that increase, and `values`.

use crate::lattice::Broadcasting;
use crate::register_join;
use rewright::ir::{Component, StyleDef, Styled};
use rewright::{Array, DType, Dim, Scalar, register_interface, register_style};

/// A matrix by its columns.
pub static CSC: StyleDef = StyleDef {
    name: "csc",
    doc: "a matrix of few elements that are not zero, column by column",
    components: |ty| match ty.dims() {
        [_, columns] => {
            let starts =
                if let Dim::Const(n) = columns { n.checked_add(1).map_or(Dim::Any, Dim::Const) } else { Dim::Any };
            let of = Component::new;
            Ok(vec![
                of("starts", DType::I64, [starts]),
                of("rows", DType::I64, [Dim::Any]),
                of("values", ty.dtype(), [Dim::Any]),
            ])
        }
        _ => Err(format!("a matrix is wanted, not rank {}", ty.rank())),
    },
    check: |array| {
        let [starts, rows] = [0, 1].map(|n| integers(&array.components()[n]));
        let stored = stored(array, 1, rows.len())?;
        let rises = starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if starts.first() != Some(&0) || starts.last() != Some(&stored) || !rises {
            return Err(format!("`starts` goes from 0 to {stored}, the number of `values`, and never down"));
        }
        starts.windows(2).enumerate().try_for_each(|(column, ends)| {
            increasing(&rows[ends[0] as usize..ends[1] as usize], array.shape()[0])
                .map_err(|why| format!("`rows` of column {column} {why}"))
        })
    },
    element: |array, index| {
        let starts = &array.components()[0];
        let [from, to] = [0, 1].map(|next| integer(starts, index[1] + next));
        found(array, 1, from..to, index[0])
    },
    take: |_, array| {
        let columns = array.shape().get(1).copied().unwrap_or(0);
        let (mut starts, mut rows, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let room = columns.checked_add(1).and_then(|count| starts.try_reserve(count).ok());
        room.ok_or_else(|| format!("there is no memory for the `starts` of {columns} columns"))?;
        starts.push(0);
        for column in 0..columns {
            for row in 0..array.shape()[0] {
                if let Some(value) = array.get(&[row, column]).filter(|value| value.truthy()) {
                    rows.push(row as i64);
                    values.push(value);
                }
            }
            starts.push(rows.len() as i64);
        }
        [list(&starts), list(&rows), of(array.dtype(), &values)].into_iter().collect()
    },
};

/// A vector by its positions.
pub static SPARSE: StyleDef = StyleDef {
    name: "sparse",
    doc: "a vector of few elements that are not zero",
    components: |ty| match ty.dims() {
        [_] => Ok(vec![Component::new("at", DType::I64, [Dim::Any]), Component::new("values", ty.dtype(), [Dim::Any])]),
        _ => Err(format!("a vector is wanted, not rank {}", ty.rank())),
    },
    check: |array| {
        let at = integers(&array.components()[0]);
        stored(array, 0, at.len())?;
        increasing(&at, array.shape()[0]).map_err(|why| format!("`at` {why}"))
    },
    element: |array, index| found(array, 0, 0..array.components()[0].len(), index[0]),
    take: |_, array| {
        let kept = array.iter().enumerate().filter(|(_, value)| value.truthy());
        let (at, values): (Vec<i64>, Vec<Scalar>) = kept.map(|(at, value)| (at as i64, value)).unzip();
        [list(&at), of(array.dtype(), &values)].into_iter().collect()
    },
};

register_style!(CSC);
register_style!(SPARSE);

fn integer(array: &Array, at: usize) -> usize {
    array.get(&[at]).and_then(|i| usize::try_from(i.to_i128()?).ok()).unwrap_or(0)
}
fn integers(array: &Array) -> Vec<i64> {
    array.iter().map(|i| if let Scalar::I64(i) = i { i } else { 0 }).collect()
}
fn list(integers: &[i64]) -> Result<Array, String> {
    of(DType::I64, &integers.iter().map(|&i| Scalar::I64(i)).collect::<Vec<_>>())
}
fn of(dtype: DType, elements: &[Scalar]) -> Result<Array, String> {
    Array::from_fn(dtype, &[elements.len()], |n| elements[n]).ok_or_else(|| "it is too large".to_string())
}

/// The number of values, of which there is one for each position.
fn stored(array: &Styled, positions: usize, count: usize) -> Result<i64, String> {
    let values = array.components()[positions + 1].len();
    match values == count {
        true => Ok(count as i64),
        false => Err(format!("there are {values} `values` for {count} positions")),
    }
}

/// That positions increase and are inside; else what they do.
fn increasing(positions: &[i64], extent: usize) -> Result<(), String> {
    if let Some(pair) = positions.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(format!("has {} before {}: they increase", pair[0], pair[1]));
    }
    match positions.iter().find(|&&at| usize::try_from(at).map_or(true, |at| at >= extent)) {
        Some(at) => Err(format!("has {at}, which is not below {extent}")),
        None => Ok(()),
    }
}

/// The value at a position among some that increase; zero where it is not stored.
fn found(array: &Styled, positions: usize, among: std::ops::Range<usize>, at: usize) -> Scalar {
    let (places, values) = (&array.components()[positions], &array.components()[positions + 1]);
    let (mut low, mut high) = (among.start, among.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if integer(places, middle) < at { low = middle + 1 } else { high = middle }
    }
    let is_there = low < among.end && integer(places, low) == at;
    let value = if is_there { values.get(&[low]) } else { None };
    value.unwrap_or(Scalar::Bool(false).cast(array.dtype()))
}

register_interface!(style "csc", Broadcasting, &Broadcasting::zeros("csc"));
register_interface!(style "sparse", Broadcasting, &Broadcasting::zeros("sparse"));

// What is zero beside stored elements has few of them itself.
register_join!("csc", "diagonal" => "csc");
register_join!("csc", "upper_bidiagonal" => "csc");
register_join!("csc", "lower_bidiagonal" => "csc");
register_join!("csc", "tridiagonal" => "csc");
register_join!("csc", "sym_tridiagonal" => "csc");
