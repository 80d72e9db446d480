//! Conditions of rules: `nonneg(?x)`, `power_of_two(?c)`.
//!
//! A condition is a `static` [`ConditionDef`], registered with
//! [`register_condition!`](crate::register_condition) from any crate.

use super::proof::circuit::Circuit;
use super::proof::word::{self, Word};
use super::proof::{BitArg, Term, Terms};
use crate::value_facts::ValueFacts;
use rewright_ir::{DType, Dim, Origin, Scalar, Type};
use std::sync::LazyLock;

/// The number of definitions that conditions follow to find facts about a value.
pub(super) const FACTS_DEPTH: u8 = 4;

/// The facts about a variable's value when a rule is tried.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Its type.
    pub ty: &'a Type,
    /// The constant, if it is one.
    pub constant: Option<Scalar>,
    /// Facts about its elements.
    pub facts: ValueFacts,
}

/// The definition of a condition.
pub struct ConditionDef {
    /// The name in rules.
    pub name: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// The number of variables.
    pub arity: usize,
    /// True if the condition is certain; false in doubt.
    pub holds: fn(&[Known<'_>]) -> bool,
    /// True if the condition is true of these elements; the soundness check draws such elements.
    pub sample: fn(&[Scalar]) -> bool,
    /// The condition as a term of width 1 over integers and bools, which proofs assume. Without it, a proof
    /// ignores the condition.
    pub bits: Option<ConditionBits>,
}

/// A condition on integers and bools as a term; `None` if it does not depend on their values.
pub type ConditionBits = fn(&mut Terms, &[BitArg]) -> Option<Term>;

impl ConditionDef {
    /// Adds a meaning in bits.
    pub const fn in_bits(mut self, bits: ConditionBits) -> Self {
        self.bits = Some(bits);
        self
    }
}

/// A submitted condition.
pub struct ConditionEntry {
    /// The definition.
    pub def: &'static ConditionDef,
    /// Who submitted it.
    pub origin: Origin,
}
rewright_ir::inventory::collect!(ConditionEntry);

/// Registers conditions: `register_condition!(EVEN);`, each a `static ConditionDef`.
#[macro_export]
macro_rules! register_condition {
    ($($def:path),+ $(,)?) => {$(
        $crate::rewright_ir::inventory::submit! {
            $crate::rule::ConditionEntry { def: &$def, origin: $crate::rewright_ir::origin!() }
        }
    )+};
}

static CONDITIONS: LazyLock<Vec<&'static ConditionEntry>> = LazyLock::new(|| {
    let mut all: Vec<_> = rewright_ir::inventory::iter::<ConditionEntry>.into_iter().collect();
    all.sort_by_key(|entry| (entry.def.name, entry.origin));
    all
});

/// The conditions of this process with their origins, sorted by name.
pub fn condition_entries() -> &'static [&'static ConditionEntry] {
    &CONDITIONS
}

/// The conditions of this process, sorted by name.
pub fn conditions() -> impl Iterator<Item = &'static ConditionDef> {
    CONDITIONS.iter().map(|entry| entry.def)
}

const fn about_one(
    name: &'static str,
    doc: &'static str,
    holds: fn(&[Known<'_>]) -> bool,
    sample: fn(&[Scalar]) -> bool,
) -> ConditionDef {
    ConditionDef { name, doc, arity: 1, holds, sample, bits: None }
}

static NONNEG: ConditionDef = about_one(
    "nonneg",
    "no element is below zero; -0.0 and NaN are not",
    |known| known[0].facts.contains(ValueFacts::NONNEG),
    |x| ValueFacts::of_scalar(x[0]).contains(ValueFacts::NONNEG),
)
.in_bits(|t, x| {
    let zero = t.constant(0, t.width(x[0].1));
    let negative = t.less(x[0], (x[0].0, zero));
    Some(t.not(negative))
});
static NONZERO: ConditionDef = about_one(
    "nonzero",
    "no element is a zero",
    |known| known[0].facts.contains(ValueFacts::NONZERO),
    |x| ValueFacts::of_scalar(x[0]).contains(ValueFacts::NONZERO),
)
.in_bits(|t, x| Some(t.truth(x[0].1)));
static FINITE: ConditionDef = about_one(
    "finite",
    "no element is NaN or an infinity",
    |known| known[0].facts.contains(ValueFacts::FINITE),
    |x| ValueFacts::of_scalar(x[0]).contains(ValueFacts::FINITE),
);
static NOT_NAN: ConditionDef = about_one(
    "not_nan",
    "no element is NaN",
    |known| known[0].facts.contains(ValueFacts::NOT_NAN),
    |x| ValueFacts::of_scalar(x[0]).contains(ValueFacts::NOT_NAN),
);
static NO_NEG_ZERO: ConditionDef = about_one(
    "no_neg_zero",
    "no element is -0.0",
    |known| known[0].facts.contains(ValueFacts::NO_NEG_ZERO),
    |x| ValueFacts::of_scalar(x[0]).contains(ValueFacts::NO_NEG_ZERO),
);
static POWER_OF_TWO: ConditionDef = about_one(
    "power_of_two",
    "a constant that is a power of two, as is its reciprocal",
    |known| known[0].constant.is_some_and(is_power_of_two),
    |x| is_power_of_two(x[0]),
)
.in_bits(|t, x| {
    // Above zero, and zero once its lowest set bit is cleared.
    let width = t.width(x[0].1);
    let ones = t.constant(u64::MAX, width);
    let before = t.add(x[0].1, ones);
    let is_power = |c: &mut Circuit, w: &[Word]| {
        let lower = word::bitwise(c, &w[0], &w[1], Circuit::and);
        let (some, more) = (word::nonzero(c, &w[0]), word::nonzero(c, &lower));
        vec![c.and(some, !more)]
    };
    let zero = t.constant(0, width);
    let positive = t.less((x[0].0, zero), x[0]);
    let power = t.atom("power-of-two", 1, &[x[0].1, before], is_power);
    Some(t.mul(positive, power))
});
static BELOW_WIDTH: ConditionDef = about_one(
    "below_width",
    "a constant number of bits, from 0 to one less than its dtype has",
    |known| known[0].constant.is_some_and(is_below_width),
    |x| is_below_width(x[0]),
)
.in_bits(|t, x| {
    let (dtype, by) = x[0];
    if dtype == DType::Bool {
        return Some(t.constant(1, 1));
    }
    // As an unsigned number a negative one is large.
    let width = t.constant(8 * dtype.size() as u64, t.width(by));
    Some(t.less((DType::U64, by), (DType::U64, width)))
});
static SCALAR: ConditionDef = about_one("scalar", "not an array", |known| !known[0].ty.is_array(), |_| true);
static SAME_SHAPE: ConditionDef = ConditionDef {
    name: "same_shape",
    doc: "two values of the same extents",
    arity: 2,
    holds: |known| {
        let [a, b] = [known[0].ty.dims(), known[1].ty.dims()];
        a == b && !a.contains(&Dim::Any)
    },
    sample: |_| true,
    bits: None,
};
register_condition!(NONNEG, NONZERO, FINITE, NOT_NAN, NO_NEG_ZERO, POWER_OF_TWO, BELOW_WIDTH, SCALAR, SAME_SHAPE);

pub(crate) fn is_power_of_two(scalar: Scalar) -> bool {
    match scalar {
        Scalar::F32(_) | Scalar::F64(_) => scalar.exact_reciprocal().is_some(),
        other => other.to_i128().is_some_and(|i| i > 0 && i & (i - 1) == 0),
    }
}

fn is_below_width(scalar: Scalar) -> bool {
    let bits = 8 * scalar.dtype().size() as i128;
    scalar.to_i128().is_some_and(|i| (0..bits).contains(&i))
}
