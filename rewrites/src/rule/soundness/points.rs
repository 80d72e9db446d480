//! Test values of a case: special, telling and random ones.

use super::cases::known_in;
use super::ordinal::stepped;
use super::positions::positions;
use super::random_values::Drawing;
use crate::rule::number::extreme;
use crate::rule::related::{has_relations, solve};
use crate::rule::typing::{Case, Operand};
use crate::rule::{Condition, Rule};
use crate::test_values::special;
use rewright_ir::{Array, DType, Datum, Literal, Scalar};

/// The number of test values of a case, by kind.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Upper limit on the combinations of special values.
    pub special: usize,
    /// For each variable: the rule's constants, their neighbours, and integers that floats can't represent.
    pub telling: bool,
    /// For each variable that indexes arrays: its positions.
    pub positions: bool,
    /// The number of random combinations.
    pub random: usize,
    /// Arrays of one value, the greatest and the least of the dtype, and arrays whose last element alone is
    /// the greatest.
    pub extremes: bool,
}

/// The test values of a case, the simplest first.
pub(super) fn points<'a>(rule: &'a Rule, case: &'a Case, effort: Effort) -> impl Iterator<Item = Vec<Datum>> + 'a {
    let mut drawing = Drawing::new(rule, case);
    let positions = if effort.positions { drawing.positions() } else { Vec::new() };
    let telling = if effort.telling { drawing.telling() } else { Vec::new() };
    let drawn = positions.into_iter().chain(telling).map(Some).chain(std::iter::repeat_n(None, effort.random));
    let extremes = if effort.extremes { extremes(rule, case) } else { Vec::new() };
    let special = special_points(rule, case, effort.special);
    extremes.into_iter().chain(special).chain(drawn.filter_map(move |fixed| drawing.point(fixed)))
}

/// All elements of all variables at the greatest number of their dtype, and at the least. Arrays of zeros
/// whose last element is the greatest, and the reverse. Arrays of numbers just below the greatest, whose sums
/// are large and irregular. For floats also zeros of both signs, and ones beside a number that absorbs them.
fn extremes(rule: &Rule, case: &Case) -> Vec<Vec<Datum>> {
    let end = |greatest: bool| {
        // Sums of infinities say little.
        let value = |dtype: DType| match dtype.is_float() || dtype.is_complex() {
            true => Scalar::F64(if greatest { 1.0 } else { -1.0 }).cast(dtype),
            false => extreme(dtype, greatest).unwrap_or(Scalar::zero(dtype)),
        };
        let elements: Vec<Scalar> = case.vars.iter().map(|(ty, _)| value(ty.dtype())).collect();
        if !hold(rule, case, &elements) {
            return None;
        }
        let full = |(at, &scalar): (usize, &Scalar)| match case.vars[at].0.is_array() {
            true => Array::full(scalar, &case.shapes[at]).map(Datum::Array),
            false => Some(Datum::Scalar(scalar)),
        };
        elements.iter().enumerate().map(full).collect()
    };
    let mut all: Vec<Vec<Datum>> = [true, false].into_iter().filter_map(end).collect();
    let is_array = |(ty, _): &Operand| ty.is_array();
    // Conditions on several variables would have to hold for each pair of elements that meet.
    let is_alone = |condition: &Condition| condition.vars(rule).len() < 2;
    let may_vary = case.vars.iter().any(is_array) && rule.conditions.iter().all(is_alone);
    if let Some(greatest) = all.first().filter(|_| may_vary) {
        let shaped = |element: &dyn Fn(usize, Scalar, usize, usize) -> Scalar| {
            let value = |(var, value): (usize, &Datum)| match value {
                Datum::Array(array) => {
                    let greatest = array.iter().next().unwrap_or(Scalar::zero(array.dtype()));
                    let at = |at| {
                        let made = element(var, greatest, at, array.len());
                        if fits(rule, case, var, made) { made } else { greatest }
                    };
                    Array::from_fn(array.dtype(), array.shape(), at).map(Datum::Array)
                }
                other => Some(other.clone()),
            };
            greatest.iter().enumerate().map(value).collect::<Option<Vec<_>>>()
        };
        let last = |_: usize, greatest: Scalar, at: usize, count: usize| match at + 1 == count {
            true => greatest,
            false => Scalar::zero(greatest.dtype()),
        };
        // The last position is that of the least element.
        let last_less = |_: usize, greatest: Scalar, at: usize, count: usize| match at + 1 == count {
            true => Scalar::zero(greatest.dtype()),
            false => greatest,
        };
        let below = |var: usize, greatest: Scalar, at: usize, _: usize| {
            let by = (at.wrapping_mul(at) + var) % 5;
            stepped(greatest, -(by as i128)).unwrap_or(greatest)
        };
        // A sum loses or keeps the ones, depending on its order.
        let absorbs = |greatest: Scalar| match greatest.dtype() {
            DType::F32 | DType::C64 => Scalar::F64((1u64 << 24) as f64).cast(greatest.dtype()),
            dtype if dtype.is_float() || dtype.is_complex() => Scalar::F64((1u64 << 53) as f64).cast(dtype),
            _ => greatest,
        };
        let first_absorbs =
            |_: usize, greatest: Scalar, at: usize, _: usize| if at == 0 { absorbs(greatest) } else { greatest };
        let last_absorbs = |_: usize, greatest: Scalar, at: usize, count: usize| match at + 1 == count {
            true => absorbs(greatest),
            false => greatest,
        };
        // Zeros of both signs, which compare equal.
        let zeros = |var: usize, greatest: Scalar, at: usize, _: usize| {
            let zero = if (at + var).is_multiple_of(2) { 0.0 } else { -0.0 };
            Scalar::F64(zero).cast(greatest.dtype())
        };
        let is_inexact = |(ty, _): &Operand| ty.dtype().is_float() || ty.dtype().is_complex();
        let of_floats: &[&dyn Fn(usize, Scalar, usize, usize) -> Scalar] =
            if case.vars.iter().any(is_inexact) { &[&zeros, &first_absorbs, &last_absorbs] } else { &[] };
        let shapes = [&last as &dyn Fn(usize, Scalar, usize, usize) -> Scalar, &last_less, &below];
        let made = shapes.iter().chain(of_floats).filter_map(|element| shaped(*element));
        let made: Vec<Vec<Datum>> = made.collect();
        all = made.into_iter().chain(all).collect();
    }
    all
}

/// For each variable that indexes arrays each of its positions, beside arrays that are drawn once: for arrays
/// too large to be drawn for each position.
pub(super) fn position_points(rule: &Rule, case: &Case) -> Vec<Vec<Datum>> {
    let of_vars = positions(rule, case);
    if of_vars.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let Some(drawn) = Drawing::new(rule, case).point(None) else { return Vec::new() };
    let scalars = (0..of_vars.len()).filter(|&var| !case.vars[var].0.is_array());
    let at_each = |var: usize| {
        let with = |&scalar: &Scalar| {
            let mut point = drawn.clone();
            point[var] = Datum::Scalar(scalar);
            let elements: Vec<Scalar> = point.iter().map(first_element).collect();
            hold(rule, case, &elements).then_some(point)
        };
        of_vars[var].iter().filter_map(with).collect::<Vec<_>>()
    };
    scalars.flat_map(at_each).collect()
}

fn first_element(value: &Datum) -> Scalar {
    match value {
        Datum::Array(array) => array.iter().next().unwrap_or(Scalar::zero(array.dtype())),
        other => other.as_scalar().unwrap_or(Scalar::zero(other.dtype())),
    }
}

/// Whether the elements satisfy all conditions.
pub(super) fn hold(rule: &Rule, case: &Case, elements: &[Scalar]) -> bool {
    let known = |var| known_in(case, var);
    rule.conditions.iter().all(|condition| condition.sample(rule, &|var| Some(elements[var]), &known))
}

/// Whether an element satisfies the conditions that involve this variable alone.
pub(super) fn fits(rule: &Rule, case: &Case, var: usize, element: Scalar) -> bool {
    let about = |c: &&Condition| c.vars(rule)[..] == [var];
    let known = |var| known_in(case, var);
    rule.conditions.iter().filter(about).all(|c| c.sample(rule, &|_| Some(element), &known))
}

/// Combinations of special values.
fn special_points<'a>(rule: &'a Rule, case: &'a Case, most: usize) -> impl Iterator<Item = Vec<Datum>> + 'a {
    let of_var = |((ty, _), positions): (&Operand, Vec<Scalar>)| match positions.is_empty() {
        true => values(ty.dtype()),
        false => positions,
    };
    let lists: Vec<Vec<Scalar>> = case.vars.iter().zip(positions(rule, case)).map(of_var).collect();
    let all = lists.iter().map(Vec::len).fold(1usize, usize::saturating_mul);
    let total = all.min(most);
    // Beyond the limit, one half are the combinations of the first values, the most special ones. The other
    // half samples all combinations by a stride that is coprime to their number.
    let first = (2..).take_while(|k: &usize| all > total && k.saturating_pow(lists.len() as u32) <= total / 2).last();
    let dense = first.map_or(0, |k| k.pow(lists.len() as u32));
    let stride = if all > total { (all / total.max(1)) | 1 } else { 1 };
    (0..total).filter_map(move |number| {
        let (mut rest, most) = match first {
            Some(k) if number < dense => (number, k),
            _ => (number.wrapping_mul(stride) % all, usize::MAX),
        };
        let mut point: Vec<Scalar> = Vec::with_capacity(lists.len());
        for list in &lists {
            let count = list.len().min(most);
            point.push(list[rest % count]);
            rest /= count;
        }
        solve(rule, &mut point, |_| false);
        hold(rule, case, &point)
            .then(|| point.iter().enumerate().map(|(at, &s)| filled(s, case, at, number, &lists[at], rule)).collect())
    })
}

/// The value of a variable. An array holds `first` alone, or also later values of the list that satisfy the
/// conditions.
fn filled(first: Scalar, case: &Case, var: usize, number: usize, list: &[Scalar], rule: &Rule) -> Datum {
    let (ty, shape) = (&case.vars[var].0, &case.shapes[var]);
    if !ty.is_array() {
        return Datum::Scalar(first);
    }
    let fitting: Vec<Scalar> = list.iter().copied().filter(|&s| fits(rule, case, var, s)).collect();
    let alone = number % 3 == 1 || has_relations(rule);
    let at = |i: usize| if i == 0 || alone { first } else { fitting[(number * 7 + i * 5) % fitting.len()] };
    Array::from_fn(ty.dtype(), shape, at).map_or(Datum::Scalar(first), Datum::Array)
}

/// Ordinary numbers.
const ORDINARY: [f64; 11] = [3.7, -0.1, 10.0, 7.25, 1e-30, -1e30, 0.333, 1e5, -123.456, 23.7, 41.3];

/// Ordinary integers.
const ORDINARY_INTS: [i128; 4] = [-7, 100, -100, 12345];

/// Special values of a dtype, followed by ordinary ones.
pub(super) fn values(dtype: DType) -> Vec<Scalar> {
    let mut all = special(dtype);
    if dtype.is_float() {
        all.extend(ORDINARY.iter().map(|&x| Scalar::F64(x).cast(dtype)));
    } else if dtype.is_int() {
        all.extend(ORDINARY_INTS.iter().filter_map(|&i| Literal::Int(i).at(dtype)));
    }
    all
}
