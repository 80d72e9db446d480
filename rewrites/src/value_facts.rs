//! Facts about every element of a value: not NaN, not negative, and so on.
//!
//! A [`FactsRule`] derives facts about an op's results from facts about its operands. It is an interface of
//! ops, so a crate that registers an op can make the conditions of rules work for it.

use rewright_ir::op::Traits;
use rewright_ir::{DType, Kind, Op, Scalar, register_interface};

bitflags::bitflags! {
    /// Facts about every element of a value; for complex numbers, about both parts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct ValueFacts: u8 {
        /// Not NaN.
        const NOT_NAN = 1;
        /// Not an infinity.
        const NOT_INF = 2;
        /// Not below zero; it may be -0.0 or NaN.
        const NONNEG = 4;
        /// Not a zero of either sign.
        const NONZERO = 8;
        /// Not -0.0.
        const NO_NEG_ZERO = 16;
        /// A number: neither NaN nor an infinity.
        const FINITE = Self::NOT_NAN.bits() | Self::NOT_INF.bits();
    }
}

/// Derives facts about an op's results.
pub struct FactsRule(pub fn(&FactsCx<'_>) -> ValueFacts);

/// The input of a [`FactsRule`]. All operands and the result have the same dtype, which is a float.
pub struct FactsCx<'a> {
    /// The facts about each operand.
    pub args: &'a [ValueFacts],
    /// Whether all operands are one value.
    pub same: bool,
}

impl ValueFacts {
    /// The facts about all values of a dtype.
    pub fn of_dtype(dtype: DType) -> ValueFacts {
        match dtype.kind() {
            Kind::Int if !dtype.is_unsigned() => ValueFacts::FINITE | ValueFacts::NO_NEG_ZERO,
            Kind::Bool | Kind::Int => ValueFacts::FINITE | ValueFacts::NO_NEG_ZERO | ValueFacts::NONNEG,
            Kind::Float | Kind::Complex => ValueFacts::empty(),
        }
    }

    /// The facts about a constant.
    pub fn of_scalar(scalar: Scalar) -> ValueFacts {
        let z = scalar.to_c128();
        let parts: &[f64] = if scalar.dtype().is_complex() { &[z.re, z.im] } else { &[z.re] };
        let all = |fact: ValueFacts, test: fn(f64) -> bool| match parts.iter().all(|&x| test(x)) {
            true => fact,
            false => ValueFacts::empty(),
        };
        ValueFacts::of_dtype(scalar.dtype())
            | all(ValueFacts::NOT_NAN, |x| !x.is_nan())
            | all(ValueFacts::NOT_INF, |x| !x.is_infinite())
            // NaN counts as not negative.
            | all(ValueFacts::NONNEG, |x| x.is_nan() || x >= 0.0)
            | all(ValueFacts::NONZERO, |x| x != 0.0)
            | all(ValueFacts::NO_NEG_ZERO, |x| x != 0.0 || x.is_sign_positive())
    }

    /// The facts about an op's results.
    pub(crate) fn of_op(op: Op, dtypes: &[DType], result: DType, args: &[ValueFacts], same: bool) -> ValueFacts {
        let known = ValueFacts::of_dtype(result);
        if op.traits.contains(Traits::VIEW) {
            return known | args.first().copied().unwrap_or_default();
        }
        let floats = result.is_float() && dtypes.iter().all(|&d| d == result);
        match op.interface::<FactsRule>() {
            Some(rule) if floats => known | rule.0(&FactsCx { args, same }),
            _ => known,
        }
    }
}

impl FactsCx<'_> {
    fn all(&self) -> ValueFacts {
        self.args.iter().fold(ValueFacts::all(), |all, &facts| all & facts)
    }
    fn any(&self) -> ValueFacts {
        self.args.iter().fold(ValueFacts::empty(), |any, &facts| any | facts)
    }
}

fn keep(condition: bool, facts: ValueFacts) -> ValueFacts {
    if condition { facts } else { ValueFacts::empty() }
}

const ABS: FactsRule = FactsRule(|cx| {
    let kept = cx.all() & (ValueFacts::FINITE | ValueFacts::NONZERO);
    kept | ValueFacts::NONNEG | ValueFacts::NO_NEG_ZERO
});
const SQRT: FactsRule = FactsRule(|cx| {
    let x = cx.all();
    // The root of -0.0 is -0.0; that of other negative numbers is NaN.
    let kept = x & (ValueFacts::NOT_INF | ValueFacts::NONZERO | ValueFacts::NO_NEG_ZERO);
    kept | ValueFacts::NONNEG | keep(x.contains(ValueFacts::NONNEG), x & ValueFacts::NOT_NAN)
});
const EXP: FactsRule = FactsRule(|cx| cx.all() & ValueFacts::NOT_NAN | ValueFacts::NONNEG | ValueFacts::NO_NEG_ZERO);
const ADD: FactsRule = FactsRule(|cx| {
    let both = cx.all();
    // A sum is -0.0 only if both terms are.
    let signs = both & ValueFacts::NONNEG | cx.any() & ValueFacts::NO_NEG_ZERO;
    let one_sign = both.contains(ValueFacts::NONNEG | ValueFacts::NOT_NAN);
    signs
        | keep(both.contains(ValueFacts::FINITE) || one_sign, ValueFacts::NOT_NAN)
        | keep(both.contains(ValueFacts::NONNEG) && cx.any().contains(ValueFacts::NONZERO), ValueFacts::NONZERO)
});
const MUL: FactsRule = FactsRule(|cx| {
    let both = cx.all();
    let square = keep(cx.same, ValueFacts::NONNEG | ValueFacts::NO_NEG_ZERO | both & ValueFacts::NOT_NAN);
    let kept = both & ValueFacts::NONNEG
        | keep(both.contains(ValueFacts::NONNEG | ValueFacts::NO_NEG_ZERO), ValueFacts::NO_NEG_ZERO);
    square | kept | keep(both.contains(ValueFacts::FINITE), ValueFacts::NOT_NAN)
});
const EXTREMUM: FactsRule = FactsRule(|cx| cx.all() & !ValueFacts::NO_NEG_ZERO);
const KEPT: FactsRule = FactsRule(|cx| cx.all() & (ValueFacts::FINITE | ValueFacts::NONZERO));
const ROUNDED: FactsRule = FactsRule(|cx| cx.all() & (ValueFacts::FINITE | ValueFacts::NONNEG));

register_interface!("abs", FactsRule, &ABS);
register_interface!("sqrt", FactsRule, &SQRT);
register_interface!("exp", FactsRule, &EXP);
register_interface!("exp2", FactsRule, &EXP);
register_interface!("add", FactsRule, &ADD);
register_interface!("mul", FactsRule, &MUL);
register_interface!("minimum", FactsRule, &EXTREMUM);
register_interface!("maximum", FactsRule, &EXTREMUM);
register_interface!("neg", FactsRule, &KEPT);
register_interface!("floor", FactsRule, &ROUNDED);
register_interface!("ceil", FactsRule, &ROUNDED);
register_interface!("trunc", FactsRule, &ROUNDED);
register_interface!("rint", FactsRule, &ROUNDED);
