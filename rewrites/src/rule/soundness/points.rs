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
        let is_inexact = |(ty, _): &Operand| ty.dtype().is_float() || ty.dtype().is_complex();
        let of_floats: &[Pattern] =
            if case.vars.iter().any(is_inexact) { &[ZEROS, FIRST_ABSORBS, LAST_ABSORBS] } else { &[] };
        let patterns = [LAST, LAST_LESS, BELOW].iter().chain(of_floats);
        let made: Vec<Vec<Datum>> = patterns.filter_map(|pattern| pattern.point(rule, case, greatest)).collect();
        all = made.into_iter().chain(all).collect();
    }
    all
}

/// Arrays of a few values that alternate.
struct Pattern {
    /// The values, from the greatest one of the dtype.
    values: fn(Scalar) -> Vec<Scalar>,
    /// Which value an element has, from its position, the number of elements, and the variable.
    pick: fn(usize, usize, usize) -> usize,
    /// The numbers of variables matter modulo this number only.
    period: usize,
}

/// Zeros, and the greatest value at the end.
const LAST: Pattern = Pattern {
    values: |greatest| vec![Scalar::zero(greatest.dtype()), greatest],
    pick: |at, count, _| usize::from(at + 1 == count),
    period: 1,
};

/// The last position is that of the least element.
const LAST_LESS: Pattern = Pattern {
    values: |greatest| vec![greatest, Scalar::zero(greatest.dtype())],
    pick: |at, count, _| usize::from(at + 1 == count),
    period: 1,
};

/// Numbers just below the greatest.
const BELOW: Pattern = Pattern {
    values: |greatest| (0..5).map(|by| stepped(greatest, -by).unwrap_or(greatest)).collect(),
    pick: |at, _, var| (at.wrapping_mul(at) + var) % 5,
    period: 5,
};

/// Zeros of both signs, which compare equal.
const ZEROS: Pattern = Pattern {
    values: |greatest| [0.0, -0.0].map(|zero| Scalar::F64(zero).cast(greatest.dtype())).to_vec(),
    pick: |at, _, var| (at + var) % 2,
    period: 2,
};

const FIRST_ABSORBS: Pattern = Pattern { values: with_absorbing, pick: |at, _, _| usize::from(at == 0), period: 1 };

const LAST_ABSORBS: Pattern =
    Pattern { values: with_absorbing, pick: |at, count, _| usize::from(at + 1 == count), period: 1 };

/// A value, and one that absorbs it: a sum loses or keeps the ones, depending on its order.
fn with_absorbing(greatest: Scalar) -> Vec<Scalar> {
    let absorbing = match greatest.dtype() {
        DType::F32 | DType::C64 => Scalar::F64((1u64 << 24) as f64).cast(greatest.dtype()),
        dtype if dtype.is_float() || dtype.is_complex() => Scalar::F64((1u64 << 53) as f64).cast(dtype),
        _ => greatest,
    };
    vec![greatest, absorbing]
}

impl Pattern {
    /// The value of each variable, given arrays of the greatest values. Variables share equal arrays.
    fn point(&self, rule: &Rule, case: &Case, greatest: &[Datum]) -> Option<Vec<Datum>> {
        let mut made: Vec<Datum> = Vec::with_capacity(greatest.len());
        let mut values: Vec<Vec<Scalar>> = Vec::with_capacity(greatest.len());
        for (var, value) in greatest.iter().enumerate() {
            let Datum::Array(array) = value else {
                made.push(value.clone());
                values.push(Vec::new());
                continue;
            };
            let greatest = first_element(value);
            let fitting = |made| if fits(rule, case, var, made) { made } else { greatest };
            let of_var: Vec<Scalar> = (self.values)(greatest).into_iter().map(fitting).collect();
            let is_alike = |other: &usize| {
                let (other, is_equal) = (*other, values[*other] == of_var);
                is_equal && other % self.period == var % self.period && made[other].shape() == array.shape()
            };
            let found = match (0..var).find(is_alike) {
                Some(other) => made[other].clone(),
                None => {
                    let (pick, count) = (self.pick, array.len());
                    let element = |at| of_var[pick(at, count, var)];
                    Datum::Array(Array::from_fn(array.dtype(), array.shape(), element)?)
                }
            };
            made.push(found);
            values.push(of_var);
        }
        Some(made)
    }
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
