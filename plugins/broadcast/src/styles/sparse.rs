//! `f64[n, m; csc]`: the nonzeros of a matrix in compressed-column form. `f64[n; sparse]`: the nonzeros of
//! a vector.
//!
//! `csc` has three components. `starts` says where each column begins in the other two, and where the last
//! one ends; `rows` increases within a column; `values` holds the elements. `sparse` has increasing
//! positions, `at`, and `values`.

use crate::lattice::Broadcasting;
use crate::merge::{Aligned, Lists, align};
use crate::pattern::{Ordered, Pattern, Stretches, United, list, reserved, values};
use crate::register_join;
use crate::terms::Terms;
use rewright::ir::{Component, Elements, EvalCx, StyleDef, Styled, Unread};
use rewright::{Array, DType, Dim, Scalar, Type, register_interface, register_style};
use std::borrow::Cow;

/// A sparse matrix in compressed-column form.
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
        if are_increasing(&starts, &rows, array.shape()[0]) {
            return Ok(());
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
        Ok(vec![list(starts), list(rows), of(array.dtype(), &values)?])
    },
};

/// A sparse vector of positions and values.
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
        Ok(vec![list(at), of(array.dtype(), &values)?])
    },
};

register_style!(CSC);
register_style!(SPARSE);
register_interface!(style "csc", Unread, &Unread(&[2]));
register_interface!(style "sparse", Unread, &Unread(&[1]));

fn integer(array: &Array, at: usize) -> usize {
    array.get(&[at]).and_then(|i| usize::try_from(i.to_i128()?).ok()).unwrap_or(0)
}
fn integers(array: &Array) -> Cow<'_, [i64]> {
    match Elements::of(array) {
        Elements::I64(integers) => integers,
        _ => Cow::Borrowed(&[]),
    }
}
fn of(dtype: DType, elements: &[Scalar]) -> Result<Array, String> {
    Array::from_fn(dtype, &[elements.len()], |n| elements[n]).ok_or_else(|| "it is too large".to_string())
}

/// The number of values, which must equal the number of positions.
fn stored(array: &Styled, positions: usize, count: usize) -> Result<i64, String> {
    let values = array.components()[positions + 1].len();
    match values == count {
        true => Ok(count as i64),
        false => Err(format!("there are {values} `values` for {count} positions")),
    }
}

/// Checks that positions increase and are in bounds; the error names one that is wrong.
fn increasing(positions: &[i64], extent: usize) -> Result<(), String> {
    if let Some(pair) = positions.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(format!("has {} before {}: they increase", pair[0], pair[1]));
    }
    // The others lie between the first and the last one.
    let ends = [positions.first(), positions.last()].into_iter().flatten();
    match { ends }.find(|&&at| is_outside(at, extent)) {
        Some(at) => Err(format!("has {at}, which is not below {extent}")),
        None => Ok(()),
    }
}

fn is_outside(at: i64, extent: usize) -> bool {
    at as u64 >= extent as u64
}

/// True if the rows of each column increase and are in bounds. Columns are short, so one pass tests all of
/// them: rows may fall only where a column begins, so it counts both and compares.
fn are_increasing(starts: &[i64], rows: &[i64], extent: usize) -> bool {
    let falls = |at: usize| rows[at - 1] >= rows[at];
    let begins = starts.windows(2).filter(|ends| ends[0] > 0 && ends[0] < ends[1] && falls(ends[0] as usize)).count();
    let Some(last) = i64::try_from(extent).ok().map(|extent| extent - 1) else { return false };
    // Tests the signs of differences, since not every processor has vector comparisons of 64-bit integers.
    // If a row is out of bounds, `row` or `last - row` is negative. Differences of rows in bounds do not
    // overflow.
    let sign_outside = |row: i64| row | last.wrapping_sub(row);
    let fall = |row: i64, next: i64| (next.wrapping_sub(row).wrapping_sub(1) as u64) >> 63;
    let pairs = rows.iter().zip(rows.iter().skip(1));
    let (signs, falls) =
        pairs.fold((0, 0), |(signs, falls), (&row, &next)| (signs | sign_outside(row), falls + fall(row, next)));
    let is_inside = (signs | rows.last().map_or(0, |&row| sign_outside(row))) >= 0;
    is_inside && falls == begins as u64
}

/// The value at a position, by binary search in a range of increasing positions; zero if it is not stored.
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

register_interface!(style "csc", Pattern, &Pattern {
    united: |cx, arrays, terms| {
        let [starts, rows] = [0, 1].map(|n| arrays.iter().map(|a| integers(&a.components()[n])).collect::<Vec<_>>());
        united(cx, arrays, starts, rows, terms, 0)
    },
    places: |array| {
        let [starts, rows] = [0, 1].map(|n| integers(&array.components()[n]));
        let mut columns = reserved(rows.len())?;
        for (column, ends) in starts.windows(2).enumerate() {
            columns.extend(std::iter::repeat_n(column as i64, (ends[1] - ends[0]) as usize));
        }
        Ok(vec![rows.into_owned(), columns])
    },
    at: |shape, places| {
        let [rows, columns] = places else { return Err("a matrix has two axes".into()) };
        let order = in_order(rows.len(), |n| (columns[n], rows[n]));
        let mut starts = reserved(shape[1].saturating_add(1))?;
        starts.resize(shape[1] + 1, 0_i64);
        for &column in columns {
            starts[column as usize + 1] += 1;
        }
        let mut before = 0;
        for start in &mut starts {
            before += *start;
            *start = before;
        }
        Ok(Ordered { components: vec![list(starts), list(reordered(rows, order.as_deref()))], order })
    },
});

register_interface!(style "sparse", Pattern, &Pattern {
    united: |cx, arrays, terms| {
        let at: Vec<_> = arrays.iter().map(|array| integers(&array.components()[0])).collect();
        let starts = at.iter().map(|at| vec![0, at.len() as i64].into()).collect();
        united(cx, arrays, starts, at, terms, 1)
    },
    places: |array| Ok(vec![integers(&array.components()[0]).into_owned()]),
    at: |_, places| {
        let [at] = places else { return Err("a vector has one axis".into()) };
        let order = in_order(at.len(), |n| at[n]);
        Ok(Ordered { components: vec![list(reordered(at, order.as_deref()))], order })
    },
});

/// The merged places of arrays, as components. `skipped` is 1 for vectors, which have no component
/// `starts`.
fn united<'a>(
    cx: &EvalCx<'_>,
    arrays: &[&Styled],
    starts: Vec<Cow<'a, [i64]>>,
    rows: Vec<Cow<'a, [i64]>>,
    terms: &Terms,
    skipped: usize,
) -> Result<United, String> {
    let lists: Vec<_> = starts.into_iter().zip(rows).map(|(starts, rows)| Lists { starts, rows }).collect();
    let stored = arrays.iter().map(|array| values(array)).collect::<Result<Vec<_>, _>>()?;
    let aligned = align(&lists, &stored, terms, cx.memory)?;
    let Aligned { lists, values } = aligned.ok_or("no arrays are named")?;
    let component = |(n, places): (usize, Cow<'_, [i64]>)| match places {
        Cow::Owned(places) => list(places),
        // Shares the component of an array that has all places.
        Cow::Borrowed(places) => {
            let mut same = arrays.iter().map(|array| &array.components()[n]);
            let is_there = |known: &&Array| std::ptr::eq(&*integers(known), places);
            same.find(is_there).cloned().unwrap_or_else(|| list(places.to_vec()))
        }
    };
    let components = [lists.starts, lists.rows].into_iter().skip(skipped).enumerate().map(component).collect();
    Ok(United { components, values })
}

/// The permutation that sorts by a key; none if the order is right already.
fn in_order<K: Ord>(count: usize, key: impl Fn(usize) -> K) -> Option<Vec<usize>> {
    if (1..count).all(|n| key(n - 1) <= key(n)) {
        return None;
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by_key(|&n| key(n));
    Some(order)
}

fn reordered(list: &[i64], order: Option<&[usize]>) -> Vec<i64> {
    order.map_or_else(|| list.to_vec(), |order| order.iter().map(|&n| list[n]).collect())
}

// A vector is broadcast to each row of a matrix.
register_interface!(style "sparse", Stretches, &Stretches(as_matrix));
register_interface!(style "csc", Stretches, &Stretches(as_matrix));

fn as_matrix(ty: &Type, dims: &[Dim]) -> Option<&'static str> {
    let [rows, columns] = dims else { return None };
    let fits = |own: &Dim, to: &Dim| own == to || *own == Dim::Const(1);
    match ty.dims() {
        [own] if fits(own, columns) => Some("csc"),
        [own_rows, own_columns] if fits(own_rows, rows) && fits(own_columns, columns) => Some("csc"),
        _ => None,
    }
}

register_interface!(style "csc", Broadcasting, &Broadcasting::zeros("csc"));
register_interface!(style "sparse", Broadcasting, &Broadcasting::zeros("sparse"));

// A banded matrix has few nonzeros, so the join with one stays sparse.
register_join!("csc", "diagonal" => "csc");
register_join!("csc", "upper_bidiagonal" => "csc");
register_join!("csc", "lower_bidiagonal" => "csc");
register_join!("csc", "tridiagonal" => "csc");
register_join!("csc", "sym_tridiagonal" => "csc");
