//! Generated arguments of a function.
//!
//! They are the same in every run: the generator of pseudo-random numbers is seeded for each set.

use crate::test_values::{Random, Spread, near, special};
use indexmap::IndexMap;
use rewright_ir::value::checked_len;
use rewright_ir::{Array, DType, Datum, Dim, Function, Literal, Name, Scalar, Style, Styled, Type};

/// The number of sets of arguments of moderate size: see [`arguments`].
pub const ROUNDS: usize = 4;

/// The rounds of long arrays, which are tried in addition.
const LONG: usize = ROUNDS;
const LONGEST: usize = ROUNDS + 1;

/// Larger arrays take the reference evaluator too long.
const MAX_ELEMENTS: usize = 1 << 12;
/// The same for the longest arrays.
const MAX_LONGEST: usize = 1 << 17;

/// The extents of a round: the first symbol's, the others' in turn, and that of `?`. In the last two rounds,
/// sums are computed in parts, and counts do not fit into 8 and 16 bits.
const EXTENTS: [(u64, &[u64], u64); LONGEST + 1] =
    [(5, &[3, 4, 2], 3), (1, &[1], 1), (19, &[2, 3], 2), (0, &[2], 2), (1100, &[2, 1, 1, 1], 2), (70_001, &[1], 1)];

/// Small shapes have extents below this.
const SMALL: u64 = 4;

/// The most small shapes that are tried.
const MAX_SHAPES: usize = 64;

/// The most sets of special values if no extent is free, so that each set holds few.
const MAX_GRIDS: u64 = 64;

/// The most sets of special scalars beside arrays of special values.
const MAX_SCALARS: u64 = 32;

/// The most constants of a function whose neighbours are tried, and the most sets of these.
const MAX_CONSTANTS: usize = 16;
const MAX_NEAR: usize = 64;

/// The length of the first axis along which special values are arranged.
const GRID: u64 = 256;

/// Arguments for a function, partly special values, with dims of 0, 1 and odd sizes. Every second array has
/// reversed memory order. `None` if the parameters need arrays that are too large, or if `round` is not
/// below [`ROUNDS`].
pub fn arguments(func: &Function, round: usize) -> Option<Vec<Datum>> {
    if round < ROUNDS { FreeExtents::of(func).make(&ArgumentSet::of_round(round)) } else { None }
}

/// A description of a set of arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArgumentSet {
    extents: ExtentChoice,
    fill: Fill,
}

impl ArgumentSet {
    /// The set of a round; long arrays have no special values.
    fn of_round(round: usize) -> ArgumentSet {
        let seed = round as u64 + 1;
        let fill = match round {
            LONG => Fill::Ordinary(seed),
            LONGEST => Fill::Counted(seed),
            _ => Fill::Random(seed),
        };
        ArgumentSet { extents: ExtentChoice::Round(round), fill }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ExtentChoice {
    /// The extents of a round.
    Round(usize),
    /// One extent for each free one.
    Each(Vec<u64>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fill {
    /// Half of the values are special.
    Random(u64),
    /// No special values, and similar magnitudes: one NaN would hide the sum of the others.
    Ordinary(u64),
    /// The same floats, but integers are 1 and bools are true, so that their sums count elements.
    Counted(u64),
    /// All values are special: each element takes the next combination over the parameters, starting at the
    /// first number. If there are both scalars and arrays, the scalars have the combination of the second
    /// number.
    Grid(u64, u64),
    /// Values near the function's constants: one parameter takes each of them, starting at the one with this
    /// number; the others take arbitrary values.
    Near(usize),
}

/// The free choices for a function's parameters: the extents of symbols, and of each `?` separately.
pub(super) struct FreeExtents<'f> {
    types: Vec<&'f Type>,
    symbols: IndexMap<Name, usize>,
    /// Free extents: true for a symbol's.
    free: Vec<bool>,
    /// For each parameter the values near the function's constants.
    near: Vec<Vec<Scalar>>,
}

impl<'f> FreeExtents<'f> {
    pub fn of(func: &'f Function) -> Self {
        let types: Vec<&Type> = func.params().iter().map(|&p| func.ty(p)).collect();
        let near = near_constants(func, &types);
        let mut axes = FreeExtents { types, symbols: IndexMap::new(), free: Vec::new(), near };
        for dim in axes.types.iter().flat_map(|ty| ty.dims()) {
            match *dim {
                Dim::Const(_) => {}
                Dim::Any => axes.free.push(false),
                Dim::Sym(name) => {
                    if !axes.symbols.contains_key(&name) {
                        axes.symbols.insert(name, axes.free.len());
                        axes.free.push(true);
                    }
                }
            }
        }
        axes
    }

    /// For each free extent, its axes, as pairs of parameter and axis.
    pub fn tied(&self) -> Vec<Vec<(usize, usize)>> {
        let mut tied = vec![Vec::new(); self.free.len()];
        let mut anys = (0..self.free.len()).filter(|&at| !self.free[at]);
        for (param, ty) in self.types.iter().enumerate() {
            for (axis, dim) in ty.dims().iter().enumerate() {
                let free = match *dim {
                    Dim::Const(_) => None,
                    Dim::Sym(name) => self.symbols.get(&name).copied(),
                    Dim::Any => anys.next(),
                };
                if let Some(free) = free {
                    tied[free].push((param, axis));
                }
            }
        }
        tied
    }

    /// The sets to try, the most informative first, and notes on those left out.
    pub fn sets(&self) -> (Vec<ArgumentSet>, Vec<String>) {
        let mut notes = Vec::new();
        let (shapes, all) = self.small_shapes();
        if (shapes.len() as u128) < all {
            notes.push(format!("{} of {all} small shapes were tried", shapes.len()));
        }
        let seed = |i: usize| Fill::Random(0x5EED + i as u64);
        let small =
            shapes.into_iter().enumerate().map(|(i, e)| ArgumentSet { extents: ExtentChoice::Each(e), fill: seed(i) });
        // The first sets have equal extents.
        let mut sets: Vec<ArgumentSet> = small.collect();
        let others = sets.split_off(sets.len().min(SMALL as usize));
        if !self.types.is_empty() {
            sets.extend(self.grids(&mut notes));
            sets.extend(self.near_sets(&mut notes));
            sets.extend(others);
            sets.extend((0..=LONGEST).map(ArgumentSet::of_round));
        }
        (sets, notes)
    }

    /// Extents of 0 to 3 for all free ones: first the equal ones, then by their sum. Also returns the number
    /// of all combinations.
    fn small_shapes(&self) -> (Vec<Vec<u64>>, u128) {
        let free = self.free.len() as u32;
        let all = u128::from(SMALL).saturating_pow(free);
        let digits = |mut n: u128| {
            let mut extents = vec![0; free as usize];
            for e in &mut extents {
                *e = (n % u128::from(SMALL)) as u64;
                n /= u128::from(SMALL);
            }
            extents
        };
        let mut shapes: Vec<Vec<u64>> = if all <= MAX_SHAPES as u128 {
            (0..all).map(digits).collect()
        } else {
            let mut random = Random::new(1);
            let mut any = || (0..free).map(|_| random.next() % SMALL).collect();
            let equal = (0..SMALL).map(|e| vec![e; free as usize]);
            equal.chain(std::iter::repeat_with(&mut any).take(MAX_SHAPES - SMALL as usize)).collect()
        };
        let equal = |e: &[u64]| e.windows(2).all(|w| w[0] == w[1]);
        // An extent of 1 tells most for its size; an extent of 0 tells least.
        let rank = |e: &Vec<u64>| (!equal(e), e.first() == Some(&0) && equal(e), e.iter().sum::<u64>(), e.clone());
        shapes.sort_by_key(rank);
        shapes.dedup();
        (shapes, all)
    }

    /// The number of combinations of special values of parameters.
    fn combinations<'a>(types: impl Iterator<Item = &'a &'f Type>) -> u64
    where
        'f: 'a,
    {
        types.map(|ty| special(ty.dtype()).len() as u64).fold(1, u64::saturating_mul)
    }

    /// Sets of special values only.
    fn grids(&self, notes: &mut Vec<String>) -> Vec<ArgumentSet> {
        let (elements, most) = if self.free.is_empty() { (1, MAX_GRIDS) } else { (GRID, 4) };
        let scalars = |yes: bool| Self::combinations(self.types.iter().filter(move |ty| ty.is_scalar() == yes));
        let mixed = self.is_mixed();
        let all = if mixed { scalars(false) } else { Self::combinations(self.types.iter()) };
        let beside = if mixed { scalars(true) } else { 1 };
        let sets = all.div_ceil(elements).min(most).max(beside.min(MAX_SCALARS));
        if self.types.iter().all(|ty| ty.is_scalar()) && sets < all {
            notes.push(format!("{sets} of {all} combinations of special values were tried"));
        }
        if beside > MAX_SCALARS {
            notes.push(format!("{MAX_SCALARS} of {beside} combinations of special scalars were tried"));
        }
        let extents = self.grid_extents();
        // If not all combinations can be tried, the tried ones are spread evenly, with an odd stride.
        let step = |all: u64, each: u64| if sets.saturating_mul(each) >= all { each } else { (all / sets) | 1 };
        let (from, scalar) = (step(all, elements), step(beside, 1));
        let set = |i: u64| ArgumentSet {
            extents: ExtentChoice::Each(extents.clone()),
            fill: Fill::Grid(i.wrapping_mul(from), i.wrapping_mul(scalar)),
        };
        (0..sets).map(set).collect()
    }

    /// Extents so long that many values are adjacent.
    fn grid_extents(&self) -> Vec<u64> {
        let mut extents = vec![2; self.free.len()];
        if let Some(first) = extents.first_mut() {
            *first = GRID;
        }
        extents
    }

    /// Sets of values near the function's constants.
    fn near_sets(&self, notes: &mut Vec<String>) -> Vec<ArgumentSet> {
        // Scalars take one value in each set, long arrays all of them.
        let long = !self.free.is_empty() && self.types.iter().all(|ty| ty.is_array());
        let most = self.near.iter().map(Vec::len).max().unwrap_or(0);
        let all = self.types.len() * if long { most.min(1) } else { most };
        if all > MAX_NEAR {
            notes.push(format!("{MAX_NEAR} of {all} sets of values near constants were tried"));
        }
        let set = |i| ArgumentSet { extents: ExtentChoice::Each(self.grid_extents()), fill: Fill::Near(i) };
        (0..all.min(MAX_NEAR)).map(set).collect()
    }

    /// True if there are both scalars and arrays.
    fn is_mixed(&self) -> bool {
        self.types.iter().any(|ty| ty.is_scalar()) && self.types.iter().any(|ty| ty.is_array())
    }

    /// Creates a set; `None` if an array would be too large.
    pub fn make(&self, set: &ArgumentSet) -> Option<Vec<Datum>> {
        let free: Vec<u64> = match &set.extents {
            ExtentChoice::Each(extents) => extents.clone(),
            ExtentChoice::Round(round) => {
                let (first, others, unknown) = *EXTENTS.get(*round)?;
                let mut symbols = 0;
                let extent = |&symbol: &bool| {
                    symbols += usize::from(symbol);
                    match (symbol, symbols) {
                        (false, _) => unknown,
                        (true, 1) => first,
                        (true, n) => others[(n - 2) % others.len()],
                    }
                };
                self.free.iter().map(extent).collect()
            }
        };
        let mut anys = self.free.iter().zip(&free).filter(|(symbol, _)| !**symbol).map(|(_, &extent)| extent);
        let mut random = Random::new(match set.fill {
            Fill::Random(seed) | Fill::Ordinary(seed) | Fill::Counted(seed) => seed,
            Fill::Near(number) => number as u64,
            Fill::Grid(..) => 0,
        });
        let (mut period, mut scalar_period, mixed) = (1u64, 1u64, self.is_mixed());
        let most = if matches!(set.fill, Fill::Counted(_)) { MAX_LONGEST } else { MAX_ELEMENTS };
        let mut made = Vec::new();
        for (i, ty) in self.types.iter().enumerate() {
            let extent = |dim: &Dim| match *dim {
                Dim::Const(n) => Some(n),
                Dim::Sym(name) => self.symbols.get(&name).map(|&at| free[at]),
                Dim::Any => anys.next(),
            };
            let shape: Vec<u64> = ty.dims().iter().map(extent).collect::<Option<_>>()?;
            made.push(match set.fill {
                Fill::Random(_) => argument(ty, &shape, most, i % 2 == 1, |_, dtype| random.scalar(dtype))?,
                Fill::Ordinary(_) => {
                    argument(ty, &shape, most, i % 2 == 1, |_, dtype| random.spread(Spread::Narrow, dtype))?
                }
                Fill::Counted(_) => {
                    argument(ty, &shape, most, false, |_, dtype| match dtype.is_float() || dtype.is_complex() {
                        true => random.spread(Spread::Narrow, dtype),
                        false => Scalar::one(dtype),
                    })?
                }
                Fill::Near(number) => {
                    let (near, count) = (&self.near[i], self.types.len());
                    let turn = number % count == i;
                    let at = |e: usize, dtype| {
                        let chosen = if turn { number / count + e } else { random.next() as u32 as usize };
                        match near.is_empty() || !turn && random.next() & 1 == 0 {
                            true => random.scalar(dtype),
                            false => near[chosen % near.len()],
                        }
                    };
                    argument(ty, &shape, most, false, at)?
                }
                Fill::Grid(from, scalars) => {
                    let values = special(ty.dtype());
                    let beside = mixed && ty.is_scalar();
                    let (from, period) = if beside { (scalars, &mut scalar_period) } else { (from, &mut period) };
                    let at =
                        |e: usize, _| values[(from.wrapping_add(e as u64) / *period % values.len() as u64) as usize];
                    let arg = argument(ty, &shape, most, false, at)?;
                    *period = period.saturating_mul(values.len() as u64);
                    arg
                }
            });
        }
        Some(made)
    }
}

/// For each type the values of its dtype near the function's constants.
fn near_constants(func: &Function, types: &[&Type]) -> Vec<Vec<Scalar>> {
    let used = func.blocks().flat_map(|block| func.insts(block)).flat_map(|inst| func.inst(inst).uses());
    let mut constants: Vec<Scalar> = Vec::new();
    for constant in used.filter_map(|value| func.as_const(value)) {
        if constants.len() < MAX_CONSTANTS && !constants.contains(&constant) {
            constants.push(constant);
        }
    }
    let of = |ty: &&Type| {
        let mut all: Vec<Scalar> = Vec::new();
        let same = constants.iter().filter(|constant| constant.dtype() == ty.dtype());
        for scalar in same.flat_map(|&constant| near(Literal::Typed(constant), ty.dtype())) {
            if !all.contains(&scalar) {
                all.push(scalar);
            }
        }
        all
    };
    types.iter().map(of).collect()
}

/// One argument with at most `most` elements; `turned` reverses an array's memory order, so that strides
/// matter.
fn argument(
    ty: &Type,
    shape: &[u64],
    most: usize,
    turned: bool,
    mut value: impl FnMut(usize, DType) -> Scalar,
) -> Option<Datum> {
    let dtype = ty.dtype();
    if ty.is_scalar() {
        return Some(Datum::Scalar(value(0, dtype)));
    }
    let shape: Vec<usize> = shape.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<_>>()?;
    checked_len(&shape).filter(|&n| n <= most)?;
    if let Some(style) = ty.style() {
        let dense = Array::from_fn(dtype, &shape, |i| value(i, dtype))?;
        return Some(Styled::of(Style::named(style).ok()?, &dense).ok()?.into());
    }
    if !turned {
        return Array::from_fn(dtype, &shape, |i| value(i, dtype)).map(Datum::Array);
    }
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    let axes: Vec<usize> = (0..shape.len()).rev().collect();
    Array::from_fn(dtype, &reversed, |i| value(i, dtype)).map(|a| Datum::Array(a.permuted(&axes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rewright_ir::parse_function;

    fn function(text: &str) -> Function {
        parse_function(text).unwrap_or_else(|e| panic!("{e}"))
    }
    fn all(func: &Function) -> Vec<Vec<Datum>> {
        let axes = FreeExtents::of(func);
        axes.sets().0.iter().filter_map(|set| axes.make(set)).collect()
    }
    fn shapes(func: &Function) -> Vec<Vec<usize>> {
        all(func).iter().map(|args| args.iter().flat_map(|a| a.shape().to_vec()).collect()).collect()
    }

    #[test]
    fn symbols_have_one_extent_each() {
        let f = function("func @f(%x: f64[n, m], %y: i8[m, n], %k: f32, %z: c64[2, ?]) -> f32 {\nentry:\n  ret %k\n}");
        for round in 0..ROUNDS {
            let args = arguments(&f, round).unwrap_or_default();
            let [x, y, k, z] = &args[..] else { panic!("{args:?}") };
            assert_eq!([x.shape()[0], x.shape()[1]], [y.shape()[1], y.shape()[0]]);
            assert_eq!((x.dtype(), y.dtype(), k.dtype(), z.dtype()), (DType::F64, DType::I8, DType::F32, DType::C64));
            assert!(k.as_scalar().is_some() && z.shape()[0] == 2);
            let fits = args.iter().zip(f.params()).all(|(arg, &p)| arg.ty().rank() == f.ty(p).rank());
            assert!(fits, "{args:?}");
        }
        assert_eq!(arguments(&f, ROUNDS), None);
        let huge = function("func @f(%x: f64[1000000, n]) -> f64[1000000, n] {\nentry:\n  ret %x\n}");
        assert_eq!(arguments(&huge, 0), None);
    }

    #[test]
    fn values_are_the_same_every_time_and_of_every_kind() {
        let f = function("func @f(%x: f64[40, 30]) -> f64[40, 30] {\nentry:\n  ret %x\n}");
        let (once, again) = (arguments(&f, 0), arguments(&f, 0));
        let array = |args: &Option<Vec<Datum>>| args.as_ref().map(|a| a[0].to_array());
        let (Some(a), Some(b)) = (array(&once), array(&again)) else { panic!("arrays") };
        assert!(a.same_bits(&b));
        let floats: Vec<f64> = a.iter().map(|s| s.to_c128().re).collect();
        for kind in [f64::is_nan as fn(f64) -> bool, f64::is_infinite, f64::is_normal, f64::is_subnormal] {
            assert!(floats.iter().any(|&x| kind(x)));
        }
        assert!(floats.iter().any(|x| *x == 0.0 && x.is_sign_negative()));
    }

    #[test]
    fn all_small_shapes_are_tried() {
        let f = function("func @f(%x: f64[n, ?]) -> f64[n, ?] {\nentry:\n  ret %x\n}");
        let found = shapes(&f);
        for shape in (0..4).flat_map(|n| (0..4).map(move |m| vec![n, m])) {
            assert!(found.contains(&shape), "{shape:?} in {found:?}");
        }
        assert_eq!(found[0], [1, 1]);
        assert!(found.contains(&vec![5, 3]), "{found:?}");
        let many = function("func @f(%x: f64[a, b, c, d]) -> f64[a, b, c, d] {\nentry:\n  ret %x\n}");
        let notes = FreeExtents::of(&many).sets().1;
        assert!(notes.len() == 1 && notes[0].contains(" of 256 small shapes"), "{notes:?}");
    }

    #[test]
    fn constants_of_the_function_are_tried() {
        let scalar = function("func @f(%x: i32, %y: f64) -> bool {\nentry:\n  %c = lt %x, 1000\n  ret %c\n}");
        let xs: Vec<Scalar> = all(&scalar).iter().filter_map(|args| args[0].as_scalar()).collect();
        assert!([999, 1000, 1001].iter().all(|&i| xs.contains(&Scalar::I32(i))), "{xs:?}");
        let array = function("func @f(%x: f64[n]) -> bool[n] {\nentry:\n  %c = eq %x, 0.7\n  ret %c\n}");
        let sets = all(&array);
        let xs: Vec<Scalar> = sets.iter().flat_map(|args| args[0].to_array().iter().collect::<Vec<_>>()).collect();
        assert!([0.7, 0.7f64.next_up()].iter().all(|&x| xs.contains(&Scalar::F64(x))));
    }

    #[test]
    fn all_pairs_of_special_values_meet() {
        let pairs = |text: &str| -> std::collections::HashSet<[Scalar; 2]> {
            let elements = |args: &[Datum]| -> Vec<[Scalar; 2]> {
                let (x, y) = (args[0].to_array(), args[1].to_array());
                let y = if y.rank() == 0 { y.broadcast(x.shape()).unwrap_or(y) } else { y };
                x.iter().zip(y.iter()).map(|(a, b)| [a, b]).collect()
            };
            all(&function(text)).iter().flat_map(|args| elements(args)).collect()
        };
        let beside = pairs("func @f(%x: i8[n], %y: f64) -> i8[n] {\nentry:\n  ret %x\n}");
        assert!(special(DType::F64).iter().all(|&y| beside.contains(&[Scalar::I8(-128), y])));
        let f64s = special(DType::F64);
        let i8s = special(DType::I8);
        let scalars = pairs("func @f(%x: i8, %y: bool) -> i8 {\nentry:\n  ret %x\n}");
        assert!(i8s.iter().all(|&a| [true, false].iter().all(|&b| scalars.contains(&[a, Scalar::Bool(b)]))));
        let arrays = pairs("func @f(%x: f64[n], %y: f64[n]) -> f64[n] {\nentry:\n  ret %x\n}");
        assert!(f64s.iter().all(|&a| f64s.iter().all(|&b| arrays.contains(&[a, b]))));
    }
}
