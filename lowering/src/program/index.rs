//! Arithmetic of indices.

use super::{Condition, Linear, ProgramBuilder};
use crate::kernel::{Binary, KValue, KernelBuilder};
use rewright_ir::Scalar;

impl Linear {
    /// The value of a form.
    pub fn value(&self, k: &mut KernelBuilder) -> KValue {
        let mut sum: Option<KValue> = None;
        for &(value, coefficient) in self.terms() {
            let term = match coefficient {
                1 => value,
                _ => {
                    let factor = k.constant(Scalar::I64(coefficient));
                    k.binary(Binary::Mul, value, factor)
                }
            };
            sum = Some(sum.map_or(term, |sum| k.binary(Binary::Add, sum, term)));
        }
        match (sum, self.constant) {
            (Some(sum), 0) => sum,
            (sum, constant) => {
                let constant = k.constant(Scalar::I64(constant));
                sum.map_or(constant, |sum| k.binary(Binary::Add, sum, constant))
            }
        }
    }

    /// The form with other values.
    pub fn map(&self, mut value: impl FnMut(KValue) -> KValue) -> Linear {
        let constant = Linear::constant(self.constant);
        self.terms().iter().fold(constant, |sum, &(term, coefficient)| sum.plus_term(value(term), coefficient))
    }
}

impl ProgramBuilder {
    /// An `i64` constant.
    pub fn int(&mut self, constant: i64) -> KValue {
        self.k.constant(Scalar::I64(constant))
    }

    /// The value of a form.
    pub fn value(&mut self, form: &Linear) -> KValue {
        form.value(&mut self.k)
    }

    /// The least (`Min`) or the greatest (`Max`) of some forms; 0 if there are none.
    pub fn extreme<'l>(&mut self, op: Binary, forms: impl IntoIterator<Item = &'l Linear>) -> Linear {
        let mut forms = forms.into_iter();
        let Some(first) = forms.next() else { return Linear::default() };
        forms.fold(first.clone(), |found, form| match found.clone().minus(form).as_constant() {
            // They differ by a constant.
            Some(more) if (more > 0) == (op == Binary::Max) => found,
            Some(_) => form.clone(),
            None => {
                let (a, b) = (self.value(&found), self.value(form));
                self.k.binary(op, a, b).into()
            }
        })
    }

    /// The remainder of a value by a positive divisor, never negative.
    pub fn euclidean_remainder(&mut self, value: KValue, divisor: KValue) -> KValue {
        let (remainder, zero) = (self.k.binary(Binary::Rem, value, divisor), self.int(0));
        let is_negative = self.cx().lt(remainder, zero);
        let shifted = self.k.binary(Binary::Add, remainder, divisor);
        self.k.select(is_negative, shifted, remainder)
    }

    /// The quotient of a form by a positive number, rounded down.
    pub fn floor_div(&mut self, form: &Linear, by: i64) -> Linear {
        match form.as_constant() {
            Some(constant) => Linear::constant(constant.div_euclid(by)),
            None if by == 1 => form.clone(),
            None if let Some((quotient, _)) = self.divided(form, by) => quotient,
            None => {
                let (value, by) = (self.value(form), self.int(by));
                let remainder = self.euclidean_remainder(value, by);
                let multiple = self.k.binary(Binary::Sub, value, remainder);
                self.k.binary(Binary::Quot, multiple, by).into()
            }
        }
    }

    /// The quotient of a form by a positive number, rounded up; at most 0 if the form is not positive.
    pub fn ceil_div(&mut self, form: &Linear, by: i64) -> Linear {
        let sum = form.clone().plus(by - 1);
        match sum.as_constant() {
            Some(sum) => Linear::constant(sum.div_euclid(by)),
            None if by == 1 => sum,
            None => {
                let (sum, by) = (self.value(&sum), self.int(by));
                self.k.binary(Binary::Quot, sum, by).into()
            }
        }
    }

    /// Whether a value is 0.
    pub fn is_zero(&mut self, value: KValue) -> Condition {
        let zero = self.int(0);
        Condition::Value(self.cx().eq(value, zero))
    }

    /// Whether a value is not 0.
    pub fn is_not_zero(&mut self, value: KValue) -> Condition {
        let zero = self.int(0);
        Condition::Value(self.cx().ne(value, zero))
    }
}
