//! Linear forms over values.

use crate::kernel::KValue;
use smallvec::SmallVec;

/// `sum of coefficient * value + constant`, over `i64` values: indices, parameters, computed values. Terms
/// are sorted by value, and coefficients are not 0. Arithmetic wraps; a call checks that no form of it
/// overflows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Linear {
    terms: SmallVec<[(KValue, i64); 2]>,
    /// The constant.
    pub constant: i64,
}

impl Linear {
    /// A constant.
    pub fn constant(constant: i64) -> Self {
        Linear { terms: SmallVec::new(), constant }
    }

    /// The terms.
    pub fn terms(&self) -> &[(KValue, i64)] {
        &self.terms
    }

    /// The constant, if there are no terms.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The coefficient of a value, 0 if there is no such term.
    pub fn coefficient(&self, value: KValue) -> i64 {
        self.terms.iter().find(|(term, _)| *term == value).map_or(0, |&(_, coefficient)| coefficient)
    }

    /// The form with another one in place of a value.
    pub fn with(&self, value: KValue, other: &Linear) -> Self {
        let coefficient = self.coefficient(value);
        self.clone().plus_term(value, coefficient.wrapping_neg()).plus_scaled(other, coefficient)
    }

    /// `self + coefficient * value`.
    pub fn plus_term(mut self, value: KValue, coefficient: i64) -> Self {
        match self.terms.binary_search_by_key(&value, |&(known, _)| known) {
            Ok(at) => {
                self.terms[at].1 = self.terms[at].1.wrapping_add(coefficient);
                if self.terms[at].1 == 0 {
                    self.terms.remove(at);
                }
            }
            Err(_) if coefficient == 0 => {}
            Err(at) => self.terms.insert(at, (value, coefficient)),
        }
        self
    }

    /// `self + constant`.
    pub fn plus(mut self, constant: i64) -> Self {
        self.constant = self.constant.wrapping_add(constant);
        self
    }

    /// `self + factor * other`.
    pub fn plus_scaled(self, other: &Linear, factor: i64) -> Self {
        let sum = self.plus(other.constant.wrapping_mul(factor));
        other.terms.iter().fold(sum, |sum, &(value, c)| sum.plus_term(value, c.wrapping_mul(factor)))
    }

    /// `self - other`.
    pub fn minus(self, other: &Linear) -> Self {
        self.plus_scaled(other, -1)
    }
}

impl From<KValue> for Linear {
    fn from(value: KValue) -> Self {
        Linear::default().plus_term(value, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_forms_are_equal_data() {
        let (a, b) = (KValue(3), KValue(7));
        let one = Linear::from(b).plus_term(a, 2).plus(5);
        let other = Linear::constant(5).plus_term(a, 1).plus_term(b, 1).plus_term(a, 1);
        assert_eq!(one, other);
        assert_eq!(one.clone().minus(&other).as_constant(), Some(0));
        assert_eq!(one.plus_scaled(&Linear::from(a), -2), Linear::from(b).plus(5));
    }
}
