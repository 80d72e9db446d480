//! Searches for a counterexample of one rule without op variables: proves cases, and tests values of others.
//!
//! The search goes from simple cases to special ones, and ends at the first counterexample: few values of
//! each case; proofs; the rest of the budget; boundary values; different shapes, extents, and large arrays.

use super::Soundness;
use super::attrs;
use super::batch::{self, Sides};
use super::cases::{self, CaseSpace, large_cases, long_cases, mixed_cases};
use super::dtypes::covering;
use super::dynamic::applied;
use super::extent_cases::{self, extent_cases};
use super::extent_pairs::extent_pairs;
use super::long_axes::long_axes;
use super::points::{self, Effort, points, position_points};
use super::sample::thinned;
use super::trial::{Compared, Trial};
use super::tried_extents::TriedExtents;
use super::{boundaries, satisfy};
use crate::rule::proof::{Answer, decide, decide_at, disagreeing, meaning::width, witness};
use crate::rule::typing::{Case, is_elementwise, type_case};
use crate::rule::{DTypes, Liberties, Rule};
use rewright_ir::{DType, Datum, Literal, Scalar};

/// The first round: a few values for each combination of dtypes, shapes and attributes.
const FEW: Effort = Effort { special: 4, telling: false, positions: false, random: 4, extremes: false };
const FEW_ARRAYS: Effort = Effort { special: 2, telling: false, positions: false, random: 2, extremes: false };

/// The second round, where the budget is enough for it.
const ALIKE: Effort = Effort { special: 4096, telling: true, positions: false, random: 64, extremes: true };

/// For cases with different shapes.
const MIXED: Effort = Effort { special: 16, telling: false, positions: false, random: 8, extremes: false };

/// For cases of each extent, and for arrays that are indexed at each of their positions.
const SHORT: Effort = Effort { special: 2, telling: false, positions: false, random: 2, extremes: false };
const LONG: Effort = Effort { special: 0, telling: false, positions: true, random: 4, extremes: false };

/// For large arrays, and for those of more than [`MANY`] elements.
const LARGE: Effort = Effort { special: 0, telling: false, positions: false, random: 4, extremes: true };
const LARGEST: Effort = Effort { special: 0, telling: false, positions: false, random: 2, extremes: true };

/// For pairs of extents, for one long axis, and for an axis that overflows 16 bits.
const PAIRED: Effort = Effort { special: 0, telling: false, positions: false, random: 2, extremes: false };
const LONG_AXIS: Effort = Effort { special: 0, telling: false, positions: true, random: 1, extremes: true };
const LONGEST_AXIS: Effort = Effort { special: 0, telling: false, positions: false, random: 0, extremes: true };

/// Arrays of more elements get the effort [`LARGEST`].
const MANY: usize = 1000;

/// The number of elements of all large arrays of a rule, and the least number of combinations of dtypes and
/// attributes for each large shape.
const MAX_LARGE_ELEMENTS: usize = 300_000;
const LEAST_LARGE: usize = 2;

/// The number of values of the second round over all cases, and of cases with different shapes.
const BUDGET: usize = 100_000;
const BUDGET_OF_ARRAYS: usize = 5_000;

/// The number of cases that are tested.
const MAX_CASES: usize = 12_000;

/// The same for one number of rest operands.
const MAX_REST_CASES: usize = 256;

/// The cases that are tested again in search of a simpler counterexample.
const SIMPLER: usize = 16;

/// The number of cases in which each axis takes each extent, and in which long arrays are indexed.
const MAX_EXTENT_CASES: usize = 3_000;
const MAX_LONG_CASES: usize = 400;

/// The same for arrays of more than [`MANY`] elements.
const MAX_LONGEST_CASES: usize = 4;

/// The combinations of dtypes that are tested with large arrays, and in addition to one for each dtype with
/// other shapes.
const MAX_LARGE: usize = 8;

/// The number of unproved cases that are searched for boundary values.
const MAX_SEARCHED: usize = 8;

/// Concretization: the number of cases beyond the solver's limit that are solved again with one variable
/// fixed, the variables that are fixed in turn, and the values: a power of two, and an even number that is
/// none.
const MAX_FIXED: usize = 1;
const MAX_FIXED_VARS: usize = 3;
const FIXED: [i128; 2] = [2, 6];

/// The cases for which the solver searches values that satisfy the conditions.
const MAX_WITNESSES: usize = 16;

/// A case is tested exhaustively if its variables have no more bits than this together.
const EXHAUSTIBLE: u32 = 16;

/// Checks a rule without op variables, or one choice of them.
pub(super) fn check_one(rule: &Rule) -> (Soundness, TriedExtents) {
    let (open, done) = (Vec::new(), Vec::new());
    let mut search =
        CounterexampleSearch { rule, found: Soundness::default(), open, tried: TriedExtents::default(), done };
    // The search ends at the first counterexample.
    let _ = search.run();
    let done = search.done.iter().filter(|&&done| done).count();
    search.found.cases += done;
    search.found.valueless += search.done.len() - done;
    (search.found, search.tried)
}

/// A counterexample was found.
struct CounterexampleFound;

struct CounterexampleSearch<'a> {
    rule: &'a Rule,
    found: Soundness,
    /// The cases that are not proved, by number.
    open: Vec<usize>,
    /// The extents of the cases in which values were compared.
    tried: TriedExtents,
    /// For each case with operands of one shape, whether it is proved or has values.
    done: Vec<bool>,
}

impl CounterexampleSearch<'_> {
    fn run(&mut self) -> Result<(), CounterexampleFound> {
        let rule = self.rule;
        let space = CaseSpace::of(rule);
        let typed = |case: Case| match is_elementwise(rule) {
            true => type_case(rule, &case).is_ok().then_some(case),
            false => applied(rule, case),
        };
        let all: Vec<Case> = space.cases(rule).filter_map(typed).collect();
        let typed = all.len();
        self.narrow(&all);
        if let Some(count) = space.sampled_from {
            self.not_tried(format!("most of {count} combinations of dtypes: each pair of variables takes each pair"));
        } else if space.typed() < space.count() {
            let (typed, count) = (space.typed(), space.count());
            self.not_tried(format!("{} of {count} combinations of dtypes, shapes and attributes", count - typed));
        }
        let all = thinned(all, if rule.has_rests() { MAX_REST_CASES } else { MAX_CASES });
        if all.len() < typed {
            self.not_tried(format!("{} of {typed} cases", typed - all.len()));
        }
        self.done = vec![false; all.len()];
        let sampled = attrs::sampled(rule);
        if !sampled.is_empty() {
            self.not_tried(format!("all values of {}, which are sampled", sampled.join(", ")));
        }
        let few = if is_elementwise(rule) { FEW } else { FEW_ARRAYS };
        for (at, case) in all.iter().enumerate() {
            if self.try_numbered(at, case, few).is_err() {
                self.simplify(&all[..at.min(SIMPLER)]);
                return Err(CounterexampleFound);
            }
        }
        self.decide_all(&all)?;
        self.second_round(&all)?;
        self.search(&all)?;
        self.try_witness(&all)?;
        self.shapes(&all, space.dtypes)
    }

    /// Replaces a counterexample by one of an earlier case, whose values are simpler, if there is one.
    fn simplify(&mut self, before: &[Case]) {
        let effort = if is_elementwise(self.rule) { ALIKE } else { MIXED };
        let _ = before.iter().try_for_each(|case| self.try_case(case, effort));
    }

    fn not_tried(&mut self, what: String) {
        if !self.found.not_tried.contains(&what) {
            self.found.not_tried.push(what);
        }
    }

    /// Proves the cases over integers and bools, and notes the open ones.
    fn decide_all(&mut self, all: &[Case]) -> Result<(), CounterexampleFound> {
        let rule = self.rule;
        if !is_elementwise(rule) {
            self.not_tried("all elements of arrays, which are sampled".to_string());
            return Ok(());
        }
        let mut undecided: Vec<(String, String)> = Vec::new();
        let mut fixed = 0;
        for (number, case) in all.iter().enumerate() {
            if self.exhausted(case)? {
                self.found.proved += 1;
                self.done[number] = true;
                continue;
            }
            if !case.vars.iter().all(|(ty, _)| width(ty.dtype()).is_some()) {
                self.open.push(number);
                continue;
            }
            let mut answer = decide(rule, case);
            let solved = if let Answer::Refuted(values) = &answer { Some(values) } else { None };
            let wrong = self.wrong_meaning(case, solved);
            if let Some(wrong) = wrong {
                answer = Answer::Undecided(wrong);
            }
            match answer {
                Answer::Proved => self.done[number] = true,
                _ => self.open.push(number),
            }
            match answer {
                Answer::Proved => self.found.proved += 1,
                Answer::Refuted(values) => {
                    // A condition without a meaning in bits is unknown to the solver.
                    let holds = points::hold(rule, case, &values);
                    if holds {
                        let point: Vec<Datum> = values.into_iter().map(Datum::Scalar).collect();
                        self.try_point(case, &point)?;
                    }
                    // The evaluator decides: a difference that it does not see is none.
                    let why = match holds {
                        true => "the solver's values make no difference",
                        false => "a condition has no meaning in bits",
                    };
                    undecided.push((dtypes_of(case), why.to_string()));
                }
                Answer::Undecided(why) => {
                    undecided.push((dtypes_of(case), why));
                    if fixed < MAX_FIXED {
                        fixed += 1;
                        self.try_fixed(case)?;
                    }
                }
            }
        }
        let is_inexact = |number: &&usize| all[**number].vars.iter().any(|(ty, _)| width(ty.dtype()).is_none());
        if self.open.iter().any(|number| is_inexact(&number)) {
            self.not_tried("all values of floats, which are sampled".to_string());
        }
        // One reason may stand for many dtypes.
        let mut reasons: Vec<&String> = undecided.iter().map(|(_, why)| why).collect();
        reasons.sort();
        reasons.dedup();
        for reason in reasons {
            let at: Vec<&str> = undecided.iter().filter(|(_, why)| why == reason).map(|(at, _)| at.as_str()).collect();
            self.not_tried(format!("all values at {}, as {reason}", at.join(", ")));
        }
        Ok(())
    }

    /// The error of an op whose meaning in bits differs from its meaning on values: those that the solver
    /// found, or a few others.
    fn wrong_meaning(&self, case: &Case, solved: Option<&Vec<Scalar>>) -> Option<String> {
        let scalars = |point: &Vec<Datum>| point.iter().map(Datum::as_scalar).collect::<Option<Vec<Scalar>>>();
        let points: Vec<Vec<Scalar>> = match solved {
            Some(values) => vec![values.clone()],
            None => points(self.rule, case, FEW).collect::<Vec<_>>().iter().filter_map(scalars).collect(),
        };
        let op = points.iter().find_map(|values| disagreeing(self.rule, case, values))?;
        Some(format!("the `BitMeaning` of `{op}` disagrees with its meaning"))
    }

    /// Asks the solver about a case with one variable after the other fixed at small values, constants first.
    fn try_fixed(&mut self, case: &Case) -> Result<(), CounterexampleFound> {
        let rule = self.rule;
        let mut vars: Vec<usize> = (0..case.vars.len()).collect();
        vars.sort_by_key(|&var| !rule.vars[var].constant);
        vars.truncate(MAX_FIXED_VARS);
        for (value, var) in FIXED.into_iter().flat_map(|value| vars.iter().map(move |&var| (value, var))) {
            let Some(value) = Literal::Int(value).at(case.vars[var].0.dtype()) else { continue };
            let Answer::Refuted(values) = decide_at(rule, case, var, value) else { continue };
            if points::hold(rule, case, &values) {
                let point: Vec<Datum> = values.into_iter().map(Datum::Scalar).collect();
                self.try_point(case, &point)?;
            }
        }
        Ok(())
    }

    /// Searches cases that are not proved for boundaries, and for comparisons with another value.
    fn search(&mut self, all: &[Case]) -> Result<(), CounterexampleFound> {
        if !is_elementwise(self.rule) {
            return Ok(());
        }
        for number in thinned(self.open.clone(), MAX_SEARCHED) {
            let case = &all[number];
            let mut points = boundaries::bases(self.rule, case);
            points.extend(boundaries::boundaries(self.rule, case, &points));
            let satisfying = satisfy::satisfying(self.rule, case, &points);
            points.extend(satisfying.into_iter().filter(|point| points::hold(self.rule, case, point)));
            self.counting(number, |search| search.try_scalars(case, points))?;
        }
        Ok(())
    }

    /// Tests values that the solver finds for the conditions, if no others were found.
    fn try_witness(&mut self, all: &[Case]) -> Result<(), CounterexampleFound> {
        if self.found.points > 0 || self.found.proved == 0 {
            return Ok(());
        }
        for case in thinned(all.iter().collect(), MAX_WITNESSES) {
            let Some(values) = witness(self.rule, case).filter(|values| points::hold(self.rule, case, values)) else {
                continue;
            };
            let point: Vec<Datum> = values.into_iter().map(Datum::Scalar).collect();
            self.try_point(case, &point)?;
        }
        Ok(())
    }

    /// Tests all values of a case; false if there are too many.
    fn exhausted(&mut self, case: &Case) -> Result<bool, CounterexampleFound> {
        let bits = |dtype: DType| width(dtype).map(|bits| bits as u32);
        let widths: Option<Vec<u32>> = case.vars.iter().map(|(ty, _)| bits(ty.dtype())).collect();
        let Some(widths) = widths.filter(|widths| widths.iter().sum::<u32>() <= EXHAUSTIBLE) else { return Ok(false) };
        let all = 1u64 << widths.iter().sum::<u32>();
        let point = |number: u64| -> Vec<Scalar> {
            let mut rest = number;
            let mut next = |(at, &width): (usize, &u32)| {
                let bits = rest & ((1 << width) - 1);
                rest >>= width;
                Scalar::from_bits(case.vars[at].0.dtype(), (bits, 0))
            };
            widths.iter().enumerate().map(&mut next).collect()
        };
        let points: Vec<Vec<Scalar>> =
            (0..all).map(point).filter(|point| points::hold(self.rule, case, point)).collect();
        self.try_scalars(case, points)?;
        Ok(true)
    }

    /// Spends the rest of the budget on all cases, also on proved ones: a prover may have bugs.
    fn second_round(&mut self, all: &[Case]) -> Result<(), CounterexampleFound> {
        let (budget, few) = if is_elementwise(self.rule) { (BUDGET, FEW) } else { (BUDGET_OF_ARRAYS, FEW_ARRAYS) };
        let share = budget / all.len().max(1);
        let effort = match share {
            0..16 => None,
            _ => Some(Effort {
                special: ALIKE.special.min(share),
                telling: share >= ALIKE.random,
                positions: share >= ALIKE.random,
                random: ALIKE.random.min(share / 2),
                ..ALIKE
            }),
        };
        let Some(effort) = effort else {
            self.not_tried(format!("more than {} values of each case", few.special + few.random));
            return Ok(());
        };
        for (number, case) in all.iter().enumerate() {
            self.try_numbered(number, case, effort)?;
        }
        Ok(())
    }

    /// Tests operands of different shapes, and large arrays.
    fn shapes(&mut self, all: &[Case], candidates: Vec<Vec<DType>>) -> Result<(), CounterexampleFound> {
        let rule = self.rule;
        let mut fitting: Vec<Vec<DType>> = Vec::new();
        for case in all {
            let dtypes: Vec<DType> = case.vars.iter().map(|(ty, _)| ty.dtype()).collect();
            if !fitting.contains(&dtypes) {
                fitting.push(dtypes);
            }
        }
        // A rule may have types beside axes of extent 1 alone.
        let fitting = if fitting.is_empty() { candidates } else { fitting };
        let mixtures = thinned(fitting.clone(), MAX_LARGE);
        let mut fitting = covering(&fitting);
        fitting.extend(mixtures.iter().filter(|dtypes| !fitting.contains(dtypes)).cloned().collect::<Vec<_>>());
        if !is_elementwise(rule) {
            self.extents(&fitting)?;
        }
        let mixed = mixed_cases(rule, &fitting);
        if let Some(count) = mixed.sampled_from {
            self.not_tried(format!("most of {count} combinations of shapes"));
        }
        let share = BUDGET_OF_ARRAYS / mixed.cases.len().max(1);
        let effort = Effort { special: MIXED.special.min(share), random: MIXED.random.min(share).max(1), ..MIXED };
        for case in &mixed.cases {
            self.try_further(case, effort)?;
        }
        if is_elementwise(rule) {
            return Ok(());
        }
        let cases: Vec<Case> = mixtures.iter().flat_map(|dtypes| large_cases(rule, dtypes)).collect();
        let long: Vec<Case> = fitting.iter().flat_map(|dtypes| long_cases(rule, dtypes)).collect();
        let (longer, long): (Vec<Case>, Vec<Case>) = long.into_iter().partition(|case| cases::elements(case) > MANY);
        let long = thinned(long, MAX_LONG_CASES).into_iter().chain(thinned(longer, MAX_LONGEST_CASES));
        long.into_iter().try_for_each(|case| self.try_further(&case, LONG))?;
        self.large(&cases)?;
        extent_pairs(rule, &fitting).iter().try_for_each(|case| self.try_further(case, PAIRED))?;
        let (long, longest) = long_axes(rule, &fitting);
        long.iter().try_for_each(|case| self.try_further(case, LONG_AXIS))?;
        longest.iter().try_for_each(|case| self.try_further(case, LONGEST_AXIS))?;
        let mut at_positions =
            longest.iter().flat_map(|case| position_points(rule, case).into_iter().map(move |point| (case, point)));
        at_positions.try_for_each(|(case, point)| self.try_point(case, &point))
    }

    /// Tests arrays whose axes take each extent in turn.
    fn extents(&mut self, dtypes: &[Vec<DType>]) -> Result<(), CounterexampleFound> {
        let (tried, most) = match self.rule.has_rests() {
            true => (extent_cases::MAX_TYPED, MAX_REST_CASES),
            false => (extent_cases::MAX_TRIED, MAX_EXTENT_CASES),
        };
        let found = extent_cases(self.rule, dtypes, tried);
        let count = found.cases.len();
        let cases = thinned(found.cases, most);
        let left_out = found.left_out + (count - cases.len());
        if left_out > 0 {
            self.not_tried(format!("{left_out} combinations of short extents"));
        }
        cases.iter().try_for_each(|case| self.try_further(case, SHORT))
    }

    /// Tests large arrays in the order of their size, each shape with a sample of dtypes and attributes.
    fn large(&mut self, cases: &[Case]) -> Result<(), CounterexampleFound> {
        let mut by_size: Vec<(usize, &Case)> = cases.iter().map(|case| (cases::elements(case), case)).collect();
        by_size.sort_by_key(|(size, _)| *size);
        let sizes = by_size.chunk_by(|a, b| a.0 == b.0).count();
        let share = MAX_LARGE_ELEMENTS / sizes.max(1);
        for alike in by_size.chunk_by(|a, b| a.0 == b.0) {
            let size = alike[0].0;
            let effort = if size > MANY { LARGEST } else { LARGE };
            let most = (share / (size * (effort.random + 4)).max(1)).max(LEAST_LARGE);
            for (_, case) in thinned(alike.to_vec(), most) {
                self.try_further(case, effort)?;
            }
        }
        Ok(())
    }

    /// Tests one of the cases with operands of one shape.
    fn try_numbered(&mut self, number: usize, case: &Case, effort: Effort) -> Result<(), CounterexampleFound> {
        self.counting(number, |search| search.try_case(case, effort))
    }

    /// Notes whether a case has values.
    fn counting(
        &mut self,
        number: usize,
        test: impl FnOnce(&mut Self) -> Result<(), CounterexampleFound>,
    ) -> Result<(), CounterexampleFound> {
        let before = self.found.points;
        test(self)?;
        self.done[number] |= self.found.points > before;
        Ok(())
    }

    /// Tests a case with operands of other shapes. It does not count if the rule is proved for all elements.
    fn try_further(&mut self, case: &Case, effort: Effort) -> Result<(), CounterexampleFound> {
        let before = self.found.points;
        self.try_case(case, effort)?;
        if self.found.proved < self.done.len() || self.done.is_empty() {
            match self.found.points > before {
                true => self.found.cases += 1,
                false => self.found.valueless += 1,
            }
        }
        Ok(())
    }

    /// Notes the variables whose dtypes are narrower than the rule says, and the dtypes of all of them.
    fn narrow(&mut self, all: &[Case]) {
        for (at, var) in self.rule.vars.iter().enumerate() {
            let remain: DTypes = all.iter().fold(DTypes::none(), |set, case| set.with(case.vars[at].0.dtype()));
            if var.dtypes != DTypes::ALL && var.dtypes != remain && !all.is_empty() {
                self.found.narrowed.push((var.name.to_string(), remain));
            }
        }
        // A class of one variable may restrict others.
        let written = self.rule.vars.iter().fold(DTypes::ALL, |set, var| set.and(var.dtypes));
        let remain = all.iter().flat_map(|case| &case.vars).fold(DTypes::none(), |set, (ty, _)| set.with(ty.dtype()));
        if remain != written {
            self.found.only = remain;
        }
    }

    fn try_case(&mut self, case: &Case, effort: Effort) -> Result<(), CounterexampleFound> {
        let all: Vec<Vec<Datum>> = points(self.rule, case, effort).collect();
        let scalars = |point: &Vec<Datum>| point.iter().map(Datum::as_scalar).collect::<Option<Vec<Scalar>>>();
        if is_elementwise(self.rule)
            && let Some(scalars) = all.iter().map(scalars).collect::<Option<Vec<_>>>()
        {
            return self.try_scalars(case, scalars);
        }
        let before = self.found.points;
        all.iter().try_for_each(|point| self.try_point(case, point))?;
        if self.found.points > before {
            self.tried.add(case);
        }
        Ok(())
    }

    /// Tests an elementwise rule on all values in one batch, and again one by one where the bits differ.
    fn try_scalars(&mut self, case: &Case, all: Vec<Vec<Scalar>>) -> Result<(), CounterexampleFound> {
        if all.is_empty() {
            return Ok(());
        }
        // A liberty may exclude special values; only a trial of one point knows.
        let is_alone = |sides: &Sides| match sides {
            Sides::Finite => false,
            Sides::Special => self.rule.liberties.intersects(Liberties::NO_NAN | Liberties::NO_INF),
            Sides::Differ => true,
        };
        let alone: Vec<usize> = match batch::compared(self.rule, case, &all) {
            Some(sides) => (0..all.len()).filter(|&at| is_alone(&sides[at])).collect(),
            None => (0..all.len()).collect(),
        };
        self.found.points += all.len() - alone.len();
        for at in alone {
            let point: Vec<Datum> = all[at].iter().map(|&scalar| Datum::Scalar(scalar)).collect();
            self.try_point(case, &point)?;
        }
        Ok(())
    }

    fn try_point(&mut self, case: &Case, point: &[Datum]) -> Result<(), CounterexampleFound> {
        match Trial::new(self.rule, &case.attrs, point).compared() {
            Compared::Fails => Ok(()),
            Compared::Special => {
                self.found.special += 1;
                Ok(())
            }
            Compared::Lossy => {
                self.found.lossy += 1;
                Ok(())
            }
            Compared::Same => {
                self.found.points += 1;
                Ok(())
            }
            Compared::Differ(example) => {
                self.found.counterexample = Some(*example);
                Err(CounterexampleFound)
            }
        }
    }
}

fn dtypes_of(case: &Case) -> String {
    let mut names: Vec<&str> = case.vars.iter().map(|(ty, _)| ty.dtype().name()).collect();
    names.dedup();
    names.join("/")
}
