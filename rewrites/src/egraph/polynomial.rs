//! Decides whether two sums and products of many terms are the same polynomial: checks steps that regroup
//! them.

use super::nary::FLOATS;
use super::terms::{TermId, TermTable};
use crate::rule::Liberties;
use rewright_ir::{Attrs, DType, Dim, Op, Scalar, Type, eval_scalar, registry};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// The most terms of a polynomial, and its greatest degree.
const MOST: usize = 512;

/// The most factors of monomials that are stored while a polynomial is expanded.
const WORK: usize = MOST * MOST;

/// The tolerance of coefficients, in rounding units of the largest one.
const TOLERANCE: f64 = 64.0;

/// Factors with their exponents, in order; none is a sum or a product itself.
type TermMonomial = Vec<(TermId, u32)>;
/// Monomials and their coefficients.
type TermPolynomial = BTreeMap<TermMonomial, Scalar>;

/// Rejects two terms, with their types, that are not the same polynomial. `ty` gives the types of their
/// parts.
pub(crate) fn same(
    terms: &TermTable,
    a: (TermId, &Type),
    b: (TermId, &Type),
    granted: Liberties,
    ty: impl FnMut(TermId) -> Option<Type>,
) -> Result<(), String> {
    let (want, dtype) = (a.1, a.1.dtype());
    if want != b.1 || want.dims().contains(&Dim::Any) {
        return Err("the types are not the same".to_string());
    }
    let may = dtype.is_int() || dtype.is_float() && granted.contains(FLOATS);
    if !may {
        return Err(format!("sums of {dtype} may not be regrouped"));
    }
    let op = |name| registry().op(name).ok_or_else(|| format!("there is no op `{name}`"));
    let ops = RingOps { add: op("add")?, sub: op("sub")?, neg: op("neg")?, mul: op("mul")?, full: op("full")? };
    let mut reader = PolynomialReader { terms, ops, dtype, ty, memo: FxHashMap::default(), work: 0 };
    let large = "the polynomials are too large to be compared".to_string();
    let (Some(first), Some(second)) = (reader.read(a.0), reader.read(b.0)) else { return Err(large) };
    let size = |s: &Scalar| s.to_c128().re.abs();
    let largest = first.values().chain(second.values()).map(size).fold(0.0, f64::max);
    let unit = if dtype == DType::F32 { f32::EPSILON as f64 } else { f64::EPSILON };
    let zero = Scalar::zero(dtype);
    let close = |key: &TermMonomial| {
        let of = |p: &TermPolynomial| p.get(key).copied().unwrap_or(zero);
        let (x, y) = (of(&first), of(&second));
        let difference = (x.to_c128().re - y.to_c128().re).abs();
        x == y || dtype.is_float() && difference <= TOLERANCE * unit * largest
    };
    let equal = first.keys().chain(second.keys()).all(close);
    if equal { Ok(()) } else { Err("the two are not the same polynomial".to_string()) }
}

struct RingOps {
    add: Op,
    sub: Op,
    neg: Op,
    mul: Op,
    full: Op,
}

struct PolynomialReader<'a, F> {
    terms: &'a TermTable,
    ops: RingOps,
    dtype: DType,
    ty: F,
    memo: FxHashMap<TermId, TermPolynomial>,
    work: usize,
}

fn compute(op: Op, args: &[Scalar]) -> Option<Scalar> {
    eval_scalar(op, args, &Attrs::new()).ok()?.first().copied()
}

impl<F: FnMut(TermId) -> Option<Type>> PolynomialReader<'_, F> {
    /// The polynomial of a term; `None` if it is too large.
    fn read(&mut self, term: TermId) -> Option<TermPolynomial> {
        // Parts have smaller numbers than the term that contains them.
        let mut parts = BTreeSet::from([term]);
        let mut inner = Vec::new();
        while let Some(part) = parts.pop_last() {
            inner.push(part);
            parts.extend(self.ring(part).into_iter().flat_map(|(_, operands)| operands));
        }
        for &part in inner.iter().rev() {
            if !self.memo.contains_key(&part) {
                let found = self.expanded(part)?;
                self.work += found.keys().map(|monomial| monomial.len() + 1).sum::<usize>();
                if found.len() > MOST || self.work > WORK {
                    return None;
                }
                self.memo.insert(part, found);
            }
        }
        self.memo.get(&term).cloned()
    }

    /// The polynomial of a term whose parts are expanded already.
    fn expanded(&mut self, term: TermId) -> Option<TermPolynomial> {
        let constant = |scalar| Some(TermPolynomial::from([(TermMonomial::new(), scalar)]));
        if let Some(scalar) = self.terms.as_const(term) {
            return constant(scalar);
        }
        let Some((op, operands)) = self.ring(term) else {
            return Some(TermPolynomial::from([(vec![(term, 1)], Scalar::one(self.dtype))]));
        };
        let first = self.memo.get(operands.first()?)?.clone();
        if op == self.ops.full {
            return Some(first);
        }
        let Some(other) = operands.get(1) else { return self.negated(first) };
        let second = self.memo.get(other)?;
        if op == self.ops.mul {
            self.product(&first, second)
        } else if op == self.ops.sub {
            self.sum(first, self.negated(second.clone())?)
        } else {
            self.sum(first, second.clone())
        }
    }

    /// The op and the operands of a sum, difference, product or constant array without casts.
    fn ring(&mut self, term: TermId) -> Option<(Op, SmallVec<[TermId; 2]>)> {
        let (op, operands, _) = self.terms.op(term)?;
        let RingOps { add, sub, neg, mul, full } = self.ops;
        let of_ring = [add, sub, neg, mul].contains(&op) || op == full && self.terms.as_const(operands[0]).is_some();
        let uncast = |&operand: &TermId| (self.ty)(operand).is_some_and(|ty| ty.dtype() == self.dtype);
        (of_ring && operands.iter().all(uncast)).then(|| (op, SmallVec::from_slice(operands)))
    }

    fn negated(&self, mut polynomial: TermPolynomial) -> Option<TermPolynomial> {
        for coefficient in polynomial.values_mut() {
            *coefficient = compute(self.ops.neg, &[*coefficient])?;
        }
        Some(polynomial)
    }

    fn sum(&self, mut a: TermPolynomial, b: TermPolynomial) -> Option<TermPolynomial> {
        for (monomial, coefficient) in b {
            self.add(&mut a, monomial, coefficient)?;
        }
        Some(a)
    }

    fn add(&self, to: &mut TermPolynomial, monomial: TermMonomial, coefficient: Scalar) -> Option<()> {
        let before = to.get(&monomial).copied().unwrap_or(Scalar::zero(self.dtype));
        to.insert(monomial, compute(self.ops.add, &[before, coefficient])?);
        Some(())
    }

    fn product(&self, a: &TermPolynomial, b: &TermPolynomial) -> Option<TermPolynomial> {
        let mut product = TermPolynomial::new();
        if a.len().saturating_mul(b.len()) > MOST * MOST / 16 {
            return None;
        }
        for (x, c) in a {
            for (y, d) in b {
                let mut monomial = x.clone();
                for &(factor, exponent) in y {
                    match monomial.iter_mut().find(|(f, _)| *f == factor) {
                        Some((_, n)) => *n = n.checked_add(exponent)?,
                        None => monomial.push((factor, exponent)),
                    }
                }
                monomial.sort_unstable();
                self.add(&mut product, monomial, compute(self.ops.mul, &[*c, *d])?)?;
            }
        }
        (product.len() <= MOST).then_some(product)
    }
}
