//! The cases of a rule: combinations of dtypes, shapes and attributes.

use super::attrs::{attr_choices, has_dims};
use super::dtypes::{alike, combinations};
use super::dynamic::applied;
use super::integers::extents_near;
use super::positions::indexing;
use crate::rule::typing::{Case, Operand, is_elementwise};
use crate::rule::{AttrTerm, Known, Node, Rule, extents};
use crate::value_facts::ValueFacts;
use rewright_ir::{Attr, DType, Dim, Scalar, Type};

/// The size limit of arrays, in elements.
pub(super) const MAX_ELEMENTS: u64 = 1 << 17;

/// The limit on combinations whose types are inferred. Beyond it they are sampled evenly.
const MAX_TYPED: usize = 1 << 17;

/// The same for combinations of different shapes.
const MAX_MIXED: usize = 1 << 12;

/// The combinations of dtypes for each combination of different shapes.
const MIXED_DTYPES: usize = 2;

/// Shapes of each rank, with a square one for matrix products.
const SHAPES: [&[u64]; 7] = [&[], &[3], &[2, 3], &[2, 2], &[2, 3, 2], &[2, 2, 2, 2], &[2, 1, 2, 2, 2]];

/// The greatest rank of [`SHAPES`].
pub(crate) const MAX_RANK: usize = 5;

/// The extents of shapes of one and two axes, where variables have different shapes.
const MIXED_EXTENTS: [u64; 4] = [1, 2, 3, 0];

/// Large shapes: longer than each block of a blocked reduction and than the rows that are reduced together.
/// 256 and 65,536 elements overflow counts of 8 and 16 bits; the longest has an odd number of elements.
const LARGE: [&[u64]; 16] = [
    &[9],
    &[2, 9],
    &[9, 2],
    &[9, 9],
    &[3, 11],
    &[11, 3],
    &[200],
    &[256],
    &[3, 300],
    &[300, 3],
    &[40, 7],
    &[1100],
    &[2, 3, 70],
    &[17_000],
    &[65_536],
    &[70_001],
];

/// The limit on extents of transposed shapes in turn: products of matrices have the square of it.
const MAX_TURNED: u64 = 100;

/// Shapes in which positions reach beyond the ends of narrow dtypes.
const LONG: [&[u64]; 5] = [&[130], &[260], &[130, 2], &[2, 130], &[33_000]];

/// Shorter extents next to the rule's integers are among those of small arrays.
const SHORTEST: u64 = 3;

/// A shape for each variable.
struct Shapes {
    of_vars: Vec<Vec<u64>>,
    attrs: Vec<Vec<Option<Attr>>>,
}

/// The candidates for the cases of a rule.
pub(crate) struct CaseSpace {
    /// The combinations of dtypes.
    pub dtypes: Vec<Vec<DType>>,
    shapes: Vec<Shapes>,
    /// The number of all combinations of dtypes, if `dtypes` is a sample of them.
    pub sampled_from: Option<usize>,
}

impl CaseSpace {
    /// The cases in which all operands have one shape, or one array stands beside scalars.
    pub fn of(rule: &Rule) -> CaseSpace {
        let found = combinations(rule);
        CaseSpace { dtypes: found.list, shapes: shapes(rule), sampled_from: found.sampled_from }
    }

    /// The cases with one dtype for all variables, where an op may cast.
    pub fn alike(rule: &Rule) -> CaseSpace {
        CaseSpace { dtypes: alike(rule), shapes: shapes(rule), sampled_from: None }
    }

    fn per_dtypes(&self) -> usize {
        self.shapes.iter().map(|shapes| attr_count(&shapes.attrs)).fold(0, usize::saturating_add)
    }

    /// The number of all cases.
    pub fn count(&self) -> usize {
        self.dtypes.len().saturating_mul(self.per_dtypes())
    }

    /// The number of cases that [`cases`](CaseSpace::cases) yields.
    pub fn typed(&self) -> usize {
        self.count().min(MAX_TYPED)
    }

    /// The cases, or a sample of them, with constant extents. Type inference may fail for them.
    pub fn cases<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = Case> + 'a {
        let (count, per) = (self.count(), self.per_dtypes());
        let total = self.typed();
        // The stride makes adjacent cases of a sample differ in dtypes, shapes and attributes.
        let stride = if count > total { (count / total) | 1 } else { 1 };
        (0..total).map(move |number| {
            let number = if count > total { number.wrapping_mul(stride) % count } else { number };
            let (dtypes, mut rest) = (&self.dtypes[number / per], number % per);
            let mut shapes = self.shapes.iter();
            let shapes = shapes.find(|shapes| match attr_count(&shapes.attrs) {
                more if rest >= more => {
                    rest -= more;
                    false
                }
                _ => true,
            });
            // `rest` is less than the number of combinations of shapes and attributes.
            let shapes = shapes.unwrap_or(&self.shapes[0]);
            let attrs = nth_attrs(&shapes.attrs, rest);
            case(rule, dtypes, &shapes.of_vars, attrs)
        })
    }
}

pub(super) fn attr_count(choices: &[Vec<Option<Attr>>]) -> usize {
    choices.iter().map(Vec::len).fold(1, usize::saturating_mul)
}

pub(super) fn nth_attrs(choices: &[Vec<Option<Attr>>], mut number: usize) -> Vec<Option<Attr>> {
    let mut pick = |list: &Vec<Option<Attr>>| {
        let choice = list[number % list.len()].clone();
        number /= list.len();
        choice
    };
    choices.iter().map(&mut pick).collect()
}

/// The attributes beside operands of these shapes; `alone` is the shape where no operand is an array.
pub(super) fn attrs_beside(rule: &Rule, shapes: &[Vec<u64>], alone: &[u64]) -> Vec<Vec<Option<Attr>>> {
    let largest = shapes.iter().filter(|shape| !shape.is_empty()).max_by_key(|shape| shape.len());
    let largest = largest.map_or(alone, |shape| shape);
    (0..rule.attr_vars.len()).map(|var| attr_choices(rule, var, largest)).collect()
}

/// The same for large operands. A reduction without axes combines nothing, however large the array is.
pub(super) fn attrs_beside_large(rule: &Rule, shapes: &[Vec<u64>], alone: &[u64]) -> Vec<Vec<Option<Attr>>> {
    let mut choices = attrs_beside(rule, shapes, alone);
    let is_none = |choice: &Option<Attr>| matches!(choice, Some(Attr::Ints(list)) if list.is_empty());
    choices.iter_mut().filter(|list| list.len() > 1).for_each(|list| list.retain(|choice| !is_none(choice)));
    choices
}

/// The shapes of the variables: one shape for all, or one array beside scalars. Extents next to the numbers
/// in the rule's attributes are among them.
fn shapes(rule: &Rule) -> Vec<Shapes> {
    let count = rule.vars.len();
    let new = |of_vars: Vec<Vec<u64>>, alone: &[u64]| {
        let attrs = attrs_beside(rule, &of_vars, alone);
        Shapes { of_vars, attrs }
    };
    if is_elementwise(rule) {
        return vec![new(vec![Vec::new(); count], &[])];
    }
    let mut shapes: Vec<Vec<u64>> = SHAPES.iter().map(|shape| shape.to_vec()).collect();
    for extent in extents_written(rule) {
        shapes.extend([vec![extent], vec![extent, 3], vec![2, extent]]);
    }
    let mut all = Vec::new();
    let has_dims = has_dims(rule);
    for shape in shapes {
        all.push(new(vec![shape.clone(); count], &shape));
        // Constructors of scalars, whose extents are attributes.
        if has_dims && count > 0 && !shape.is_empty() {
            all.push(new(vec![Vec::new(); count], &shape));
        }
        if shape.is_empty() {
            continue;
        }
        if count > 1 && shape.len() < 3 {
            let beside_scalars = |array: usize| {
                (0..count).map(|var| if var == array { shape.clone() } else { Vec::new() }).collect::<Vec<_>>()
            };
            all.extend((0..count).map(|array| new(beside_scalars(array), &shape)));
        }
    }
    all
}

/// Extents next to the numbers in a rule's attributes.
fn extents_written(rule: &Rule) -> Vec<u64> {
    const MOST: u64 = 64;
    let mut extents = Vec::new();
    let mut add = |n: u64| {
        if n <= MOST && !extents.contains(&n) {
            extents.push(n);
        }
    };
    let terms = rule.nodes.iter().filter_map(|node| match node {
        Node::Op(term) | Node::Computed(term) => Some(term),
        _ => None,
    });
    for (_, attr) in terms.flat_map(|term| &term.attrs) {
        match attr {
            AttrTerm::Is(Attr::Slices(specs)) => {
                let ends = specs.iter().flat_map(|spec| [spec.start, spec.stop, Some(spec.step)]).flatten();
                ends.for_each(|n| add(n.unsigned_abs().saturating_add(2)));
            }
            AttrTerm::Is(Attr::Dims(dims)) => dims.iter().for_each(|dim| {
                if let Dim::Const(n) = dim {
                    add(*n);
                }
            }),
            _ => {}
        }
    }
    extents
}

/// Cases in which variables have different shapes. There are none where
/// shapes make no difference: all ops are elementwise, and the template uses all variables.
pub(super) struct Mixed {
    /// The cases that have types.
    pub cases: Vec<Case>,
    /// The number of all combinations of shapes, if `cases` is a sample of them.
    pub sampled_from: Option<usize>,
}

/// The cases of different shapes, for these combinations of dtypes in turn.
pub(super) fn mixed_cases(rule: &Rule, dtypes: &[Vec<DType>]) -> Mixed {
    let arrays = rule.vars.iter().filter(|var| !var.constant).count();
    let keeps_all = || rule.rhs.iter().all(|&rhs| extents::keeps(rule, rhs).into_iter().all(|kept| kept));
    if arrays < 2 || is_elementwise(rule) && keeps_all() {
        return Mixed { cases: Vec::new(), sampled_from: None };
    }
    let mut shapes: Vec<Vec<u64>> = vec![Vec::new()];
    shapes.extend(MIXED_EXTENTS.map(|n| vec![n]));
    shapes.extend(MIXED_EXTENTS.iter().flat_map(|&n| MIXED_EXTENTS.map(|m| vec![n, m])));
    let all = shapes.len().saturating_pow(arrays as u32);
    let total = all.min(MAX_MIXED);
    let stride = if all > total { (all / total) | 1 } else { 1 };
    let nth = |number: usize| {
        let mut rest = number.wrapping_mul(stride) % all;
        let mut pick = |constant: bool| match constant {
            true => Vec::new(),
            false => {
                let shape = shapes[rest % shapes.len()].clone();
                rest /= shapes.len();
                shape
            }
        };
        rule.vars.iter().map(|var| pick(var.constant)).collect::<Vec<_>>()
    };
    let mut cases = Vec::new();
    for (number, of_vars) in (0..total).map(nth).enumerate() {
        if of_vars.windows(2).all(|pair| pair[0] == pair[1]) {
            continue;
        }
        let choices = attrs_beside(rule, &of_vars, &[]);
        let each = MIXED_DTYPES.min(dtypes.len());
        for dtypes in (0..each).map(|n| &dtypes[(each * number + n) % dtypes.len()]) {
            let attrs = (0..attr_count(&choices)).map(|number| nth_attrs(&choices, number));
            let made = attrs.map(|attrs| case(rule, dtypes, &of_vars, attrs));
            cases.extend(made.filter_map(|case| applied(rule, case)));
        }
    }
    Mixed { cases, sampled_from: (all > total).then_some(all) }
}

/// Cases of large arrays of these dtypes: one shape for all variables, transposed shapes in turn, and one
/// array beside scalars. There are none for elementwise rules.
pub(super) fn large_cases<'a>(rule: &'a Rule, dtypes: &'a [DType]) -> impl Iterator<Item = Case> + 'a {
    let count = rule.vars.len();
    // The shapes of the variables, and the shape of attributes where there are no operands.
    let mut all: Vec<(Vec<Vec<u64>>, Vec<u64>)> = Vec::new();
    if !is_elementwise(rule) {
        let shape = |shape: &[u64]| shape.to_vec();
        all.extend(LARGE.iter().map(|large| (vec![shape(large); count], shape(large))));
        let near = extents_near(rule).into_iter().filter(|&extent| extent > SHORTEST);
        all.extend(near.map(|extent| (vec![vec![extent]; count], vec![extent])));
        if count > 0 && has_dims(rule) {
            all.extend(LARGE.iter().map(|large| (vec![Vec::new(); count], shape(large))));
        }
        if count > 1 {
            let is_turned =
                |large: &&&[u64]| large.len() == 2 && large[0] != large[1] && large.iter().all(|&n| n <= MAX_TURNED);
            for pair in LARGE.iter().filter(is_turned) {
                let turned: Vec<u64> = pair.iter().rev().copied().collect();
                let by_turns = |first: usize| {
                    let of_var =
                        |var: usize| if (first + var).is_multiple_of(2) { shape(pair) } else { turned.clone() };
                    ((0..count).map(of_var).collect(), shape(pair))
                };
                all.extend((0..2).map(by_turns));
            }
            let one = |array: usize| {
                let of_var = |var: usize| if var == array { shape(LARGE[4]) } else { Vec::new() };
                ((0..count).map(of_var).collect(), shape(LARGE[4]))
            };
            all.extend((0..count).map(one));
        }
    }
    let cases = all.into_iter().flat_map(move |(shapes, alone)| {
        let choices = attrs_beside_large(rule, &shapes, &alone);
        let attrs = (0..attr_count(&choices)).map(|number| nth_attrs(&choices, number)).collect::<Vec<_>>();
        attrs.into_iter().map(move |attrs| case(rule, dtypes, &shapes, attrs)).collect::<Vec<_>>()
    });
    cases.filter_map(|case| applied(rule, case))
}

/// Cases in which an array that is indexed, beside scalars, is longer than the ranges of narrow dtypes, or
/// has an extent next to the rule's integers. There are none without such variables and numbers.
pub(super) fn long_cases<'a>(rule: &'a Rule, dtypes: &'a [DType]) -> impl Iterator<Item = Case> + 'a {
    let count = rule.vars.len();
    let is_indexed = !is_elementwise(rule) && count > 0;
    let long = LONG.iter().filter(|_| is_indexed && !indexing(rule).is_empty()).map(|shape| shape.to_vec());
    let near = extents_near(rule).into_iter().filter(|&extent| is_indexed && extent > SHORTEST);
    let shapes: Vec<Vec<u64>> = long.chain(near.map(|extent| vec![extent])).collect();
    shapes.into_iter().flat_map(move |shape| {
        let alone = |array: usize| {
            let of_var = |var: usize| if var == array { shape.clone() } else { Vec::new() };
            (0..count).map(of_var).collect::<Vec<_>>()
        };
        let of_vars: Vec<_> = (0..count).filter(|&var| !rule.vars[var].constant).map(alone).collect();
        let cases = of_vars.into_iter().flat_map(|of_vars| {
            let choices = attrs_beside(rule, &of_vars, &[]);
            let attrs = (0..attr_count(&choices)).map(|number| nth_attrs(&choices, number));
            attrs.map(|attrs| case(rule, dtypes, &of_vars, attrs)).collect::<Vec<_>>()
        });
        cases.filter_map(|case| applied(rule, case)).collect::<Vec<_>>()
    })
}

/// The number of elements of the largest operand of a case, or of the largest shape among its attributes.
pub(super) fn elements(case: &Case) -> usize {
    let operands = case.shapes.iter().map(|shape| shape.iter().product::<usize>());
    let attrs = case.attrs.iter().flatten().filter_map(|attr| match attr {
        Attr::Dims(dims) => {
            dims.iter().map(|dim| if let Dim::Const(n) = dim { *n as usize } else { 1 }).reduce(usize::saturating_mul)
        }
        _ => None,
    });
    operands.chain(attrs).max().unwrap_or(0)
}

/// Whether the types of a case may satisfy the conditions, for some elements.
pub(super) fn may_hold(rule: &Rule, case: &Case) -> bool {
    rule.conditions.iter().all(|condition| condition.may_hold(&|var| known_in(case, var)))
}

/// A variable of a case: its type, with all facts certain.
pub(super) fn known_in(case: &Case, var: usize) -> Known<'_> {
    let (ty, constant) = &case.vars[var];
    Known { ty, constant: *constant, facts: ValueFacts::all() }
}

/// The case of these dtypes and shapes, with constant extents. Constants are scalars.
pub(super) fn case(rule: &Rule, dtypes: &[DType], shapes: &[Vec<u64>], attrs: Vec<Option<Attr>>) -> Case {
    let shape = |at: usize| if rule.vars[at].constant { &[][..] } else { &shapes[at] };
    let var = |at: usize| -> Operand {
        let (dtype, shape) = (dtypes[at], shape(at));
        let dims: Vec<Dim> = shape.iter().map(|&n| Dim::Const(n)).collect();
        let ty = if dims.is_empty() { Type::scalar(dtype) } else { Type::array(dtype, dims) };
        (ty, rule.vars[at].constant.then(|| Scalar::one(dtype)))
    };
    let count = rule.vars.len();
    let vars: Vec<Operand> = (0..count).map(var).collect();
    let sizes: Vec<Vec<usize>> = (0..count).map(|at| shape(at).iter().map(|&n| n as usize).collect()).collect();
    Case { vars, shapes: sizes, attrs }
}
