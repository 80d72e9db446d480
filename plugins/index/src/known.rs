//! The facts about arrays and scalars that are known before the loops: dtypes, extents, first indices and
//! values. Sizes get their values here.
//!
//! Extents are numbers if the arrays of a call are known, else sums of symbols and numbers. A question that
//! only numbers could answer is [`Unknown::Undecided`].

use crate::nest::Size;
use indexmap::IndexMap;
use rewright::expr::SymExpr;
use rewright::{Array, DType, Loc, Scalar};

/// The facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub arrays: IndexMap<String, KnownArray>,
    pub scalars: IndexMap<String, KnownScalar>,
    /// The first index of arrays without a stated origin.
    pub base: i64,
}

/// The facts about an array.
#[derive(Clone, Debug)]
pub(crate) struct KnownArray {
    pub dtype: DType,
    pub extents: Vec<SymExpr>,
    /// The first index of each dim.
    pub first: Vec<i64>,
    /// The elements, if they are known.
    pub elements: Option<Array>,
}

/// The facts about a scalar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownScalar {
    pub value: Option<Scalar>,
}

/// The reason why a size has no value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unknown {
    /// It depends on extents that are symbols.
    Undecided,
    /// It depends on the value of a scalar.
    Value(String, Loc),
    /// The program is wrong.
    Wrong(String),
}

pub(crate) type Found<T> = Result<T, Unknown>;

pub(crate) fn wrong<T>(message: impl Into<String>) -> Found<T> {
    Err(Unknown::Wrong(message.into()))
}

const TOO_LARGE: &str = "a size exceeds 64 bits";

impl Known {
    /// The value of a size.
    pub(crate) fn size(&self, size: &Size) -> Found<SymExpr> {
        match size {
            Size::Int(n) => Ok(SymExpr::constant(*n)),
            Size::First(array, dim) => {
                let known = self.array(array)?;
                let first = known.first.get(*dim).copied();
                first.map_or_else(|| no_dim(array, *dim), |first| Ok(SymExpr::constant(first)))
            }
            Size::Extent(array, dim) => {
                self.array(array)?.extents.get(*dim).map_or_else(|| no_dim(array, *dim), |extent| Ok(extent.clone()))
            }
            Size::Scalar(name, loc) => match self.scalars.get(name) {
                Some(KnownScalar { value: Some(value), .. }) => match value.to_i128().map(i64::try_from) {
                    Some(Ok(n)) => Ok(SymExpr::constant(n)),
                    _ => wrong(format!("`{name}` is {value} and stands where an integer is expected")),
                },
                _ => Err(Unknown::Value(name.clone(), *loc)),
            },
            Size::Add(parts) => add(&self.size(&parts.0)?, &self.size(&parts.1)?),
            Size::Multiply(parts) => {
                let (a, b) = (self.size(&parts.0)?, self.size(&parts.1)?);
                match (a.as_constant(), b.as_constant()) {
                    (Some(c), _) => scale(&b, c),
                    (_, Some(c)) => scale(&a, c),
                    _ => Err(Unknown::Undecided),
                }
            }
            Size::FloorDivide(parts) => {
                let (a, b) = (self.size(&parts.0)?, self.size(&parts.1)?);
                match b.as_constant() {
                    Some(0) => wrong("a size is divided by 0"),
                    Some(c) => floor_div(&a, c),
                    None => Err(Unknown::Undecided),
                }
            }
        }
    }

    /// The value of a size that is a number.
    pub(crate) fn number(&self, size: &Size) -> Found<i64> {
        self.size(size)?.as_constant().ok_or(Unknown::Undecided)
    }

    pub(crate) fn array(&self, name: &str) -> Found<&KnownArray> {
        match self.arrays.get(name) {
            Some(array) => Ok(array),
            None if self.scalars.contains_key(name) => {
                wrong(format!("`{name}` is a scalar, and stands where an array is expected"))
            }
            None => wrong(format!("there is no array `{name}`")),
        }
    }
}

fn no_dim<T>(array: &str, dim: usize) -> Found<T> {
    wrong(format!("`{array}` has no dim {dim}"))
}

pub(crate) fn add(a: &SymExpr, b: &SymExpr) -> Found<SymExpr> {
    a.clone().plus_scaled(b, 1).ok_or_else(|| Unknown::Wrong(TOO_LARGE.into()))
}

pub(crate) fn plus(a: &SymExpr, n: i64) -> Found<SymExpr> {
    add(a, &SymExpr::constant(n))
}

pub(crate) fn scale(a: &SymExpr, by: i64) -> Found<SymExpr> {
    SymExpr::default().plus_scaled(a, by).ok_or_else(|| Unknown::Wrong(TOO_LARGE.into()))
}

pub(crate) fn sub(a: &SymExpr, b: &SymExpr) -> Found<SymExpr> {
    add(a, &scale(b, -1)?)
}

/// The quotient, rounded down. Known if the divisor divides all coefficients.
pub(crate) fn floor_div(a: &SymExpr, by: i64) -> Found<SymExpr> {
    if a.terms().iter().any(|(_, c)| c % by != 0) {
        return Err(Unknown::Undecided);
    }
    let (n, d) = (i128::from(a.constant), i128::from(by));
    let quotient = n.div_euclid(d) - i128::from(d < 0 && n.rem_euclid(d) != 0);
    let Ok(constant) = i64::try_from(quotient) else { return wrong(TOO_LARGE) };
    let divided = |form: SymExpr, &(name, c): &(rewright::Name, i64)| form.add_term(name, c.checked_div(by)?);
    let divided = a.terms().iter().try_fold(SymExpr::constant(constant), divided);
    divided.ok_or_else(|| Unknown::Wrong(TOO_LARGE.into()))
}

/// The quotient, rounded up.
pub(crate) fn ceil_div(a: &SymExpr, by: i64) -> Found<SymExpr> {
    scale(&floor_div(&scale(a, -1)?, by)?, -1)
}

/// Whether `a <= b` for all extents.
pub(crate) fn le(a: &SymExpr, b: &SymExpr) -> Found<bool> {
    let gap = sub(b, a)?;
    let signs = |sign: i64| gap.terms().iter().all(|(_, c)| c.signum() == sign);
    match () {
        // Symbols are extents, so not negative.
        _ if gap.constant >= 0 && signs(1) => Ok(true),
        _ if gap.constant < 0 && signs(-1) => Ok(false),
        _ => Err(Unknown::Undecided),
    }
}

/// A sum of symbols and numbers as text.
pub(crate) fn shown(form: &SymExpr) -> String {
    let mut text = String::new();
    // Positive terms come first.
    let (first, last): (Vec<&(rewright::Name, i64)>, Vec<_>) = form.terms().iter().partition(|(_, c)| *c > 0);
    for (name, c) in first.into_iter().chain(last) {
        let sign = if *c < 0 { "-" } else { "+" };
        if !text.is_empty() || *c < 0 {
            text.push_str(&if text.is_empty() { sign.to_string() } else { format!(" {sign} ") });
        }
        if c.unsigned_abs() != 1 {
            text.push_str(&format!("{}*", c.unsigned_abs()));
        }
        text.push_str(&name.to_string());
    }
    match form.constant {
        0 if !text.is_empty() => text,
        n if text.is_empty() => n.to_string(),
        n if n < 0 => format!("{text} - {}", n.unsigned_abs()),
        n => format!("{text} + {n}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rewright::Name;

    #[test]
    fn quotients_round_down_and_up() {
        for a in -20..20i64 {
            for by in [-7, -3, -2, -1, 1, 2, 3, 7i64] {
                let exact = |f: f64| f as i64;
                let form = SymExpr::constant(a);
                let quotient = a as f64 / by as f64;
                assert_eq!(floor_div(&form, by).unwrap().as_constant(), Some(exact(quotient.floor())), "{a} {by}");
                assert_eq!(ceil_div(&form, by).unwrap().as_constant(), Some(exact(quotient.ceil())), "{a} {by}");
            }
        }
    }

    #[test]
    fn symbols_are_compared_if_all_extents_agree() {
        let n = SymExpr::symbol(Name::new("n"));
        let m = SymExpr::symbol(Name::new("m"));
        assert_eq!(le(&SymExpr::constant(0), &n), Ok(true));
        assert_eq!(le(&plus(&n, 1).unwrap(), &n), Ok(false));
        assert_eq!(le(&n, &m), Err(Unknown::Undecided));
        assert_eq!(le(&SymExpr::constant(1), &n), Err(Unknown::Undecided));
        assert_eq!(shown(&sub(&plus(&scale(&n, 2).unwrap(), 3).unwrap(), &m).unwrap()), "2*n - m + 3");
        assert_eq!(floor_div(&plus(&scale(&n, 2).unwrap(), 3).unwrap(), 2).map(|f| shown(&f)), Ok("n + 1".into()));
        assert_eq!(floor_div(&n, 2), Err(Unknown::Undecided));
    }
}
