//! Random test values of a case, positions of its arrays, and values derived from the rule's constants.

use super::cases::known_in;
use super::ordinal::{ends, stepped};
use super::points::{fits, hold, values};
use super::positions::positions;
use crate::rule::proof::ring::inverse;
use crate::rule::typing::Case;
use crate::rule::{Condition, Node, Rule, related};
use crate::test_values::{Random, Spread, edges, irrational, near};
use rewright_ir::{Array, DType, Datum, Literal, Scalar};

/// Rejection sampling: the number of draws until the elements satisfy the conditions.
const TRIES: usize = 8;
/// The same for conditions that relate constants.
const RELATED_TRIES: usize = 200;

/// Conditions on two variables of different shapes are tested on all pairs of elements up to this number.
/// Larger arrays hold one value alone.
const MAX_MET: usize = 256;

/// In every eighth draw, positions may be out of bounds.
const BEYOND: usize = 8;

/// The distributions, used in turn.
const SPREADS: [Spread; 4] = [Spread::Wide, Spread::Small, Spread::Narrow, Spread::Bits];

/// Draws the values of one case from a fixed seed.
pub(super) struct Drawing<'a> {
    rule: &'a Rule,
    case: &'a Case,
    random: Random,
    /// For each variable, the values derived from the rule's constants and from number formats.
    telling: Vec<Vec<Scalar>>,
    /// For each variable, listed values that satisfy its conditions.
    known: Vec<Vec<Scalar>>,
    /// For each variable that indexes arrays, the positions.
    positions: Vec<Vec<Scalar>>,
    /// Whether conditions relate constants.
    has_relations: bool,
    drawn: usize,
}

impl<'a> Drawing<'a> {
    pub fn new(rule: &'a Rule, case: &'a Case) -> Self {
        let dtypes = || case.vars.iter().map(|(ty, _)| ty.dtype()).enumerate();
        let telling: Vec<Vec<Scalar>> = dtypes().map(|(var, dtype)| telling(rule, case, var, dtype)).collect();
        let listed = |(var, dtype): (usize, DType)| {
            let special = values(dtype).into_iter().filter(|&s| fits(rule, case, var, s));
            special.chain(telling[var].iter().copied()).collect()
        };
        let known = dtypes().map(listed).collect();
        let (random, has_relations) = (Random::new(0x5EED), related::has_relations(rule));
        Drawing { rule, case, random, telling, known, positions: positions(rule, case), has_relations, drawn: 0 }
    }

    /// Each variable that indexes arrays with each of its positions.
    pub fn positions(&self) -> Vec<(usize, Scalar)> {
        self.positions.iter().enumerate().flat_map(|(var, list)| list.iter().map(move |&s| (var, s))).collect()
    }

    /// Each variable with each of its telling values.
    pub fn telling(&self) -> Vec<(usize, Scalar)> {
        let listed = self.telling.iter().enumerate().flat_map(|(var, list)| list.iter().map(move |&s| (var, s)));
        // They are no values of random draws, where they would displace more telling ones.
        let irrational = self.case.vars.iter().enumerate().flat_map(|(var, (ty, _))| {
            let fits = move |&s: &Scalar| fits(self.rule, self.case, var, s);
            irrational(ty.dtype()).into_iter().filter(fits).map(move |s| (var, s))
        });
        listed.chain(irrational).collect()
    }

    /// Values of all variables. The first element of one variable may be fixed. `None` if no draw satisfies
    /// the conditions.
    pub fn point(&mut self, fixed: Option<(usize, Scalar)>) -> Option<Vec<Datum>> {
        let (case, number) = (self.case, self.drawn);
        self.drawn += 1;
        let spread = SPREADS[number % SPREADS.len()];
        let count = case.shapes.iter().map(|shape| shape.iter().product()).max().unwrap_or(1);
        let mut held: Vec<Option<Scalar>> = vec![None; case.vars.len()];
        if let Some((var, scalar)) = fixed {
            held[var] = Some(scalar);
        }
        // In a reduction one NaN hides all other elements, so most arrays have no special values.
        let known = count == 1 || number % 5 == 4;
        let first = self.elements(&held, spread, known)?;
        for (var, (ty, _)) in case.vars.iter().enumerate() {
            held[var] = (!ty.is_array()).then_some(first[var]);
        }
        // Elements drawn together satisfy the conditions. Broadcasting pairs other elements too.
        let rule = self.rule;
        let alike = |vars: &[usize]| vars.windows(2).all(|pair| case.shapes[pair[0]] == case.shapes[pair[1]]);
        let mut all = vec![first];
        while all.len() < count {
            // Seven has no factor in common with the number of distributions.
            let more = match number % 7 {
                5 => self.beside(&all[0], &held),
                _ => self.elements(&held, spread, known),
            };
            all.push(more.unwrap_or_else(|| all[0].clone()));
        }
        let arrays =
            |c: &Condition| -> Vec<usize> { c.vars(rule).into_iter().filter(|&v| case.vars[v].0.is_array()).collect() };
        let apart: Vec<(&Condition, Vec<usize>)> =
            rule.conditions.iter().map(|c| (c, arrays(c))).filter(|(_, vars)| vars.len() > 1 && !alike(vars)).collect();
        let meet = |a: &Vec<Scalar>| {
            let crossed = |b: &Vec<Scalar>| {
                apart.iter().all(|(c, vars)| {
                    let of = |var| Some(if vars.first() == Some(&var) { a[var] } else { b[var] });
                    vars.len() == 2 && c.sample(rule, &of, &|var| known_in(case, var))
                })
            };
            all.iter().all(crossed)
        };
        if !apart.is_empty() && (count > MAX_MET || !all.iter().all(meet)) {
            all.truncate(1);
        }
        let value = |var: usize| {
            let (ty, at) = (&case.vars[var].0, |i: usize| all[i % all.len()][var]);
            match ty.is_array() {
                true => Array::from_fn(ty.dtype(), &case.shapes[var], at).map(Datum::Array),
                false => Some(Datum::Scalar(at(0))),
            }
        };
        (0..case.vars.len()).map(value).collect()
    }

    /// One element of each variable; together they satisfy the conditions.
    fn elements(&mut self, held: &[Option<Scalar>], spread: Spread, known: bool) -> Option<Vec<Scalar>> {
        let tries = if self.has_relations { RELATED_TRIES } else { TRIES };
        (0..tries).find_map(|number| {
            let mut elements: Vec<Scalar> =
                (0..held.len()).map(|var| held[var].unwrap_or_else(|| self.element(var, spread, known))).collect();
            self.make_neighbours(held, &mut elements);
            if self.has_relations {
                related::draw_related(self.rule, &mut elements, |var| held[var].is_some(), number, &mut self.random);
            }
            hold(self.rule, self.case, &elements).then_some(elements)
        })
    }

    /// Neighbours of elements, which reveal ties and the order of rounded numbers.
    fn beside(&mut self, first: &[Scalar], held: &[Option<Scalar>]) -> Option<Vec<Scalar>> {
        let near =
            |random: &mut Random, value: Scalar| stepped(value, (random.next() % 7) as i128 - 3).unwrap_or(value);
        let at = |(var, &value): (usize, &Scalar)| held[var].unwrap_or_else(|| near(&mut self.random, value));
        let elements: Vec<Scalar> = first.iter().enumerate().map(at).collect();
        hold(self.rule, self.case, &elements).then_some(elements)
    }

    /// In one of four draws, sets one variable to a neighbour of another or to the same value.
    fn make_neighbours(&mut self, held: &[Option<Scalar>], elements: &mut [Scalar]) {
        let count = elements.len() as u64;
        if count < 2 || !self.random.next().is_multiple_of(4) {
            return;
        }
        let [from, to] = [(); 2].map(|()| (self.random.next() % count) as usize);
        let by = (self.random.next() % 5) as i128 - 2;
        let dtype = elements[to].dtype();
        if held[to].is_none()
            && let Some(near) =
                stepped(elements[from].cast(dtype), by).filter(|&near| fits(self.rule, self.case, to, near))
        {
            elements[to] = near;
        }
    }

    fn element(&mut self, var: usize, spread: Spread, known: bool) -> Scalar {
        let positions = &self.positions[var];
        if !positions.is_empty() && !self.drawn.is_multiple_of(BEYOND) {
            return positions[(self.random.next() % positions.len() as u64) as usize];
        }
        let any = self.random.spread(spread, self.case.vars[var].0.dtype());
        let listed = &self.known[var];
        if !listed.is_empty()
            && (!fits(self.rule, self.case, var, any) || known && self.random.next().is_multiple_of(8))
        {
            return listed[(self.random.next() % listed.len() as u64) as usize];
        }
        any
    }
}

/// Values derived from the rule's constants, and integers that floats can't represent, at a dtype.
fn telling(rule: &Rule, case: &Case, var: usize, dtype: DType) -> Vec<Scalar> {
    let constants: Vec<Literal> = rule
        .nodes
        .iter()
        .filter_map(|node| match node {
            Node::Literal(number) => number.literal(),
            _ => None,
        })
        .collect();
    let mut all: Vec<Scalar> = Vec::new();
    let close = constants.iter().flat_map(|&literal| near(literal, dtype));
    let multiples = constants.iter().flat_map(|&literal| last_multiples(literal, dtype));
    let candidates = close.chain(multiples).chain(combined(&constants, dtype)).chain(edges(dtype));
    for scalar in candidates.filter(|&s| fits(rule, case, var, s)) {
        if !all.contains(&scalar) {
            all.push(scalar);
        }
    }
    all
}

/// The greatest and the least multiple of an integer in the range of a dtype, and their neighbours: there
/// division by multiplication goes wrong first.
fn last_multiples(literal: Literal, dtype: DType) -> Vec<Scalar> {
    let Some((least, greatest)) = ends(dtype).filter(|_| dtype.is_int()) else { return Vec::new() };
    let Some(factor) = literal.at(dtype).and_then(Scalar::to_i128).filter(|factor| factor.abs() > 1) else {
        return Vec::new();
    };
    let multiples = [greatest, least].map(|end| end - end % factor);
    let around = multiples.into_iter().flat_map(|multiple| [-1, 0, 1].map(|by| multiple + by));
    around.filter_map(|near| Literal::Int(near).at(dtype)).collect()
}

/// The limit on values derived from pairs of constants.
const MAX_COMBINED: usize = 64;

/// Values derived from pairs of constants: sums, differences, products, quotients, exclusive disjunctions,
/// and quotients modulo a power of two.
fn combined(constants: &[Literal], dtype: DType) -> Vec<Scalar> {
    let at: Vec<Scalar> = constants.iter().filter_map(|literal| literal.at(dtype)).collect();
    let pairs = at.iter().enumerate().flat_map(|(i, &a)| at.iter().enumerate().map(move |(j, &b)| (i, a, j, b)));
    let pairs = pairs.filter(|(i, _, j, _)| i != j).map(|(_, a, _, b)| (a, b));
    let mut all: Vec<Scalar> = Vec::new();
    if dtype.is_int() {
        let ints = pairs.filter_map(|(a, b)| Some((a.bits().0, b.bits().0, a.to_i128()?, b.to_i128()?)));
        for (a, b, x, y) in ints {
            let ratio = if y == 0 { 0 } else { x.div_euclid(y) as u64 };
            let unit = if b % 2 == 1 { a.wrapping_mul(inverse(b)) } else { 0 };
            let made =
                [a.wrapping_add(b), a.wrapping_sub(b), a.wrapping_mul(b), a ^ b, ratio, unit, unit.wrapping_neg()];
            all.extend(made.map(|bits| Scalar::from_bits(dtype, (bits, 0))));
        }
    } else if dtype.is_float() {
        for (x, y) in pairs.map(|(a, b)| (a.to_f64(), b.to_f64())) {
            let made = [x + y, x - y, x * y, x / y].into_iter().filter(|x| x.is_finite());
            all.extend(made.map(|x| Scalar::F64(x).cast(dtype)));
        }
    }
    all.truncate(MAX_COMBINED);
    all
}
