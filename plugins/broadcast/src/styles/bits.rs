//! `bool[n, m; bits]`: bools packed into 64-bit words along the last axis. `words` has a row of words for
//! each row of bools; padding bits at the end of a row are zero.

use crate::element::{Cell, Element, Leaf};
use crate::lattice::{Answer, Broadcasting, Keeps};
use rewright::ir::expr::{Affine, BodyRef, Index, IndexExpr, Mode};
use rewright::ir::{Component, StyleDef, Styled};
use rewright::{Array, DType, Dim, Loc, Scalar, Type, register_interface, register_style};

/// The number of bools in a word.
pub const BITS_PER_WORD: u64 = 64;

/// The message for a scalar.
pub const RANK: &str = "style `bits` requires rank >= 1";

/// Packed bools, 64 in a word.
pub static BITS: StyleDef = StyleDef {
    name: "bits",
    doc: "bools, 64 in a word",
    components,
    check,
    element: |array, index| {
        let (mut at, last) = (index.to_vec(), index.len() - 1);
        at[last] /= BITS_PER_WORD as usize;
        let word = word(&array.components()[0], &at);
        Scalar::Bool(word >> (index[last] as u64 % BITS_PER_WORD) & 1 == 1)
    },
    take: from_dense,
};

register_style!(BITS);
register_interface!(style "bits", Broadcasting, &Broadcasting {
    into: "bits", keeps: Keeps::Bools, zeros: "dense", rule: |_| Ok(Answer::Join),
});
register_interface!(style "bits", Element, &Element(cell));

/// A bool as an expression: a word, shifted down.
fn cell(cell: &mut Cell<'_>, leaf: &Leaf, at: &[Affine]) -> Result<BodyRef, String> {
    let (last, leading) = at.split_last().ok_or(RANK)?;
    let plain = |expr| Index { expr, mode: Mode::Proved };
    let words = leading.iter().map(|form| plain(IndexExpr::Affine(form.clone())));
    let words = words.chain([plain(IndexExpr::FloorDiv(last.clone(), BITS_PER_WORD as i64))]).collect();
    let word = cell.read_by(leaf.components[0], words);
    let index = cell.index(last)?;
    let index = cell.body.cast(index, DType::I64, DType::U64, Loc::default());
    let number = |n: u64| BodyRef::Const(Scalar::U64(n));
    let bit = cell.core("bitand", &[index, number(BITS_PER_WORD - 1)], DType::U64)?;
    let shifted = cell.core("right_shift", &[word, bit], DType::U64)?;
    let lowest = cell.core("bitand", &[shifted, number(1)], DType::U64)?;
    cell.core("ne", &[lowest, number(0)], DType::Bool)
}

fn components(ty: &Type) -> Result<Vec<Component>, String> {
    if ty.dtype() != DType::Bool {
        return Err(format!("style `bits` requires dtype bool, got {}", ty.dtype()));
    }
    let Some((last, leading)) = ty.dims().split_last() else {
        return Err(RANK.into());
    };
    let words = match last {
        Dim::Const(n) => Dim::Const(n.div_ceil(BITS_PER_WORD)),
        _ => Dim::Any,
    };
    let dims: Vec<Dim> = leading.iter().copied().chain([words]).collect();
    Ok(vec![Component::new("words", DType::U64, dims)])
}

fn word(words: &Array, at: &[usize]) -> u64 {
    match words.get(at) {
        Some(Scalar::U64(word)) => word,
        _ => 0,
    }
}

/// Checks that the padding bits of each row are zero.
fn check(array: &Styled) -> Result<(), String> {
    let (words, row) = (&array.components()[0], array.shape().last().map_or(0, |&n| n as u64));
    if row.is_multiple_of(BITS_PER_WORD) {
        return Ok(());
    }
    let beyond = u64::MAX << (row % BITS_PER_WORD);
    let Array::U64(words) = words else {
        return Err(format!("component `words` requires dtype u64, got {}", words.dtype()));
    };
    let in_row = row.div_ceil(BITS_PER_WORD) as usize;
    let is_beyond = |last: Option<&u64>| last.is_some_and(|word| word & beyond != 0);
    let wrong = match words.as_slice() {
        Some(words) => words.chunks_exact(in_row).position(|row| is_beyond(row.last())),
        None => words.rows().into_iter().position(|row| is_beyond(row.iter().next_back())),
    };
    match wrong {
        Some(number) => Err(format!(
            "word {} of `words` has nonzero padding bits; rows have {row} elements",
            number * in_row + in_row - 1
        )),
        None => Ok(()),
    }
}

fn from_dense(_: &Type, array: &Array) -> Result<Vec<Array>, String> {
    let (Some(&row), mut shape) = (array.shape().last(), array.shape().to_vec()) else {
        return Err(RANK.into());
    };
    let in_row = row.div_ceil(BITS_PER_WORD as usize);
    if let Some(last) = shape.last_mut() {
        *last = in_row;
    }
    let mut words = vec![0; shape.iter().product()];
    for (n, _) in array.iter().enumerate().filter(|(_, element)| element.truthy()) {
        words[n / row * in_row + n % row / BITS_PER_WORD as usize] |= 1 << (n % row % BITS_PER_WORD as usize);
    }
    let packed = Array::from_fn(DType::U64, &shape, |n| Scalar::U64(words[n]));
    packed
        .map(|words| vec![words])
        .ok_or_else(|| format!("{row} packed elements a row are too large an array: its shape is {shape:?} in words"))
}
