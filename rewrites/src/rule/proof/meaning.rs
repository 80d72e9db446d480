//! Bit-vector semantics of ops on integers and bools: the interface [`BitMeaning`], which any crate may
//! register for its ops.

use super::circuit::{Bit, Circuit};
use super::ring::{Term, Terms};
use super::word::{self, Word};
use rewright_ir::{Attrs, DType, register_interface};
use smallvec::{SmallVec, smallvec};

/// Interface: the results of an elementwise op as terms over its operands. `None` for dtypes without such
/// semantics, such as floats.
pub struct BitMeaning(pub fn(&mut Terms, &BitCx<'_>) -> Option<BitResults>);

/// The results of an op as terms, each as wide as its dtype.
pub type BitResults = SmallVec<[Term; 2]>;

/// An operand: its dtype, an integer or bool, and its term, as wide as the dtype.
pub type BitArg = (DType, Term);

/// The input of a [`BitMeaning`].
pub struct BitCx<'a> {
    /// The operands, cast to the dtypes at which the op computes.
    pub args: &'a [BitArg],
    /// The attributes.
    pub attrs: &'a Attrs,
}

/// The width of an integer or bool dtype in bits.
pub fn width(dtype: DType) -> Option<usize> {
    match dtype {
        DType::Bool => Some(1),
        _ => dtype.is_int().then(|| 8 * dtype.size()),
    }
}

fn is_signed(dtype: DType) -> bool {
    dtype.is_int() && !dtype.is_unsigned()
}

impl Terms {
    /// Disjunction of bools.
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        let (either, both) = (self.add(a, b), self.mul(a, b));
        self.add(either, both)
    }
    /// Negation of a bool.
    pub fn not(&mut self, a: Term) -> Term {
        let one = self.constant(1, 1);
        self.add(a, one)
    }
    /// True where a term is not zero.
    pub fn truth(&mut self, a: Term) -> Term {
        let zero = self.constant(0, self.width(a));
        let is_zero = self.equal(a, zero);
        self.not(is_zero)
    }
    /// True where the first is less, as numbers of the dtypes.
    pub fn less(&mut self, a: BitArg, b: BitArg) -> Term {
        if let (DType::Bool, DType::Bool) = (a.0, b.0) {
            let not = self.not(a.1);
            return self.mul(not, b.1);
        }
        if a.1 == b.1 && a.0 == b.0 {
            return self.constant(0, 1);
        }
        match (is_signed(a.0), is_signed(b.0)) {
            (true, true) => self.atom("less-signed", 1, &[a.1, b.1], |c, w| vec![word::less_signed(c, &w[0], &w[1])]),
            (false, false) => self.atom("less", 1, &[a.1, b.1], |c, w| vec![word::less(c, &w[0], &w[1])]),
            // A negative number is less than any unsigned one.
            (true, false) => self.atom("less-mixed", 1, &[a.1, b.1], |c, w| {
                let less = word::less(c, &w[0], &w[1]);
                vec![c.or(word::sign(&w[0]), less)]
            }),
            (false, true) => self.atom("less-than-signed", 1, &[a.1, b.1], |c, w| {
                let less = word::less(c, &w[0], &w[1]);
                vec![c.and(!word::sign(&w[1]), less)]
            }),
        }
    }
    /// True where two integers, or bools, are equal as numbers.
    pub fn same_number(&mut self, a: BitArg, b: BitArg) -> Term {
        let same = self.equal(a.1, b.1);
        match is_signed(a.0) == is_signed(b.0) {
            true => same,
            false => {
                let signed = if is_signed(a.0) { a.1 } else { b.1 };
                let zero = self.constant(0, self.width(signed));
                let negative = self.less((DType::I64, signed), (DType::I64, zero));
                let not = self.not(negative);
                self.mul(same, not)
            }
        }
    }
    /// The first where a bool is true, else the second.
    pub fn choice(&mut self, condition: Term, a: Term, b: Term) -> Term {
        if a == b {
            return a;
        }
        match self.as_constant(condition) {
            Some(0) => return b,
            Some(_) => return a,
            None => {}
        }
        let width = self.width(a);
        if width == 1 {
            // b + c (a + b) in the ring of bools.
            let both = self.add(a, b);
            let chosen = self.mul(condition, both);
            return self.add(b, chosen);
        }
        self.atom("choice", width, &[condition, a, b], |c, w| word::mux(c, w[0][0], &w[1], &w[2]))
    }
    /// A conversion between integers and bools.
    pub fn converted(&mut self, (from, a): BitArg, to: DType) -> Option<Term> {
        let width = width(to)?;
        Some(match (to, self.width(a) >= width) {
            (DType::Bool, _) => self.truth(a),
            (_, true) => self.truncated(a, width),
            (_, false) => self.extended(a, width, is_signed(from)),
        })
    }
    /// The conjunction of each bit.
    pub fn bitand(&mut self, a: Term, b: Term) -> Term {
        match self.width(a) {
            1 => self.mul(a, b),
            _ => self.bitwise("bitand", [a, b], 0, |c, w| word::bitwise(c, &w[0], &w[1], Circuit::and)),
        }
    }
    /// The disjunction of each bit.
    pub fn bitor(&mut self, a: Term, b: Term) -> Term {
        match self.width(a) {
            1 => self.or(a, b),
            _ => self.bitwise("bitor", [a, b], u64::MAX, |c, w| word::bitwise(c, &w[0], &w[1], Circuit::or)),
        }
    }
    /// A conjunction or disjunction, of which one number is absorbing and its complement is neutral.
    fn bitwise(
        &mut self,
        name: &'static str,
        [a, b]: [Term; 2],
        absorbing: u64,
        bits: fn(&mut Circuit, &[Word]) -> Word,
    ) -> Term {
        let width = self.width(a);
        let [zero, ones] = [absorbing, !absorbing].map(|value| self.constant(value, width));
        match () {
            () if a == zero || b == zero => zero,
            () if a == b || b == ones => a,
            () if a == ones => b,
            () => self.commutative(name, [a, b], bits),
        }
    }
    /// The exclusive disjunction of each bit.
    pub fn bitxor(&mut self, a: Term, b: Term) -> Term {
        let width = self.width(a);
        if width == 1 {
            return self.add(a, b);
        }
        let [zero, ones] = [0, u64::MAX].map(|value| self.constant(value, width));
        for (x, y) in [(a, b), (b, a)] {
            if x == zero {
                return y;
            }
            if x == ones {
                return self.sub(ones, y);
            }
        }
        if a == b {
            return zero;
        }
        self.commutative("bitxor", [a, b], |c, w| word::bitwise(c, &w[0], &w[1], Circuit::xor))
    }
    /// A function of two terms whose order does not matter.
    fn commutative(&mut self, name: &'static str, [a, b]: [Term; 2], bits: fn(&mut Circuit, &[Word]) -> Word) -> Term {
        self.atom(name, self.width(a), &[a.min(b), a.max(b)], bits)
    }
}

type Results = Option<BitResults>;

fn one(term: Term) -> Results {
    Some(smallvec![term])
}

/// Operands of one dtype, and whether it is signed.
fn pair(cx: &BitCx<'_>) -> Option<([Term; 2], DType)> {
    let [(dtype, a), (other, b)] = *cx.args else { return None };
    (dtype == other).then_some(([a, b], dtype))
}

macro_rules! meanings {
    ($($name:literal: |$terms:ident, $cx:ident| $body:expr;)*) => {$(
        register_interface!($name, BitMeaning, &BitMeaning(|$terms, $cx| $body));
    )*};
}

meanings! {
    "add": |t, cx| { let ([a, b], dtype) = pair(cx)?; one(if dtype == DType::Bool { t.or(a, b) } else { t.add(a, b) }) };
    "sub": |t, cx| { let ([a, b], _) = pair(cx)?; one(t.sub(a, b)) };
    "mul": |t, cx| { let ([a, b], _) = pair(cx)?; one(t.mul(a, b)) };
    "neg": |t, cx| one(t.neg(cx.args[0].1));
    "pos": |_t, cx| one(cx.args[0].1);
    "conj": |_t, cx| one(cx.args[0].1);
    "real": |_t, cx| one(cx.args[0].1);
    "floor": |_t, cx| one(cx.args[0].1);
    "ceil": |_t, cx| one(cx.args[0].1);
    "trunc": |_t, cx| one(cx.args[0].1);
    "imag": |t, cx| one(t.constant(0, t.width(cx.args[0].1)));
    "square": |t, cx| one(t.mul(cx.args[0].1, cx.args[0].1));
    "integer_power": |t, cx| integer_power(t, cx);
    "power": |t, cx| power(t, cx);
    "invert": |t, cx| { let a = cx.args[0].1; let ones = t.constant(u64::MAX, t.width(a)); one(t.sub(ones, a)) };
    "bitand": |t, cx| { let ([a, b], _) = pair(cx)?; one(t.bitand(a, b)) };
    "bitor": |t, cx| { let ([a, b], _) = pair(cx)?; one(t.bitor(a, b)) };
    "bitxor": |t, cx| { let ([a, b], _) = pair(cx)?; one(t.bitxor(a, b)) };
    "left_shift": |t, cx| left_shift(t, cx);
    "right_shift": |t, cx| right_shift(t, cx);
    "floordiv": |t, cx| one(quotient(t, cx)?);
    "mod": |t, cx| one(remainder(t, cx)?);
    "divmod": |t, cx| Some(smallvec![quotient(t, cx)?, remainder(t, cx)?]);
    "fmod": |t, cx| fmod(t, cx);
    "reciprocal": |t, cx| reciprocal(t, cx);
    "abs": |t, cx| one(magnitude(t, cx.args[0]));
    "sign": |t, cx| sign(t, cx);
    "bit_count": |t, cx| bit_count(t, cx);
    "eq": |t, cx| one(t.same_number(cx.args[0], cx.args[1]));
    "ne": |t, cx| { let same = t.same_number(cx.args[0], cx.args[1]); one(t.not(same)) };
    "lt": |t, cx| one(t.less(cx.args[0], cx.args[1]));
    "gt": |t, cx| one(t.less(cx.args[1], cx.args[0]));
    "le": |t, cx| { let more = t.less(cx.args[1], cx.args[0]); one(t.not(more)) };
    "ge": |t, cx| { let less = t.less(cx.args[0], cx.args[1]); one(t.not(less)) };
    "minimum": |t, cx| { let (args, dtype) = pair(cx)?; one(least(t, args, dtype)) };
    "fmin": |t, cx| { let (args, dtype) = pair(cx)?; one(least(t, args, dtype)) };
    "maximum": |t, cx| { let (args, dtype) = pair(cx)?; one(greatest(t, args, dtype)) };
    "fmax": |t, cx| { let (args, dtype) = pair(cx)?; one(greatest(t, args, dtype)) };
    "clip": |t, cx| {
        let [(dtype, x), (_, low), (_, high)] = *cx.args else { return None };
        let raised = greatest(t, [x, low], dtype);
        one(least(t, [raised, high], dtype))
    };
    "where": |t, cx| { let condition = t.truth(cx.args[0].1); one(t.choice(condition, cx.args[1].1, cx.args[2].1)) };
    "and": |t, cx| { let [a, b] = [0, 1].map(|at| t.truth(cx.args[at].1)); one(t.mul(a, b)) };
    "or": |t, cx| { let [a, b] = [0, 1].map(|at| t.truth(cx.args[at].1)); one(t.or(a, b)) };
    "xor": |t, cx| { let [a, b] = [0, 1].map(|at| t.truth(cx.args[at].1)); one(t.add(a, b)) };
    "not": |t, cx| { let truth = t.truth(cx.args[0].1); one(t.not(truth)) };
    "cast": |t, cx| one(t.converted(cx.args[0], cx.attrs.dtype("to")?)?);
    "isnan": |t, _cx| one(t.constant(0, 1));
    "isinf": |t, _cx| one(t.constant(0, 1));
    "isfinite": |t, _cx| one(t.constant(1, 1));
}

fn integer_power(t: &mut Terms, cx: &BitCx<'_>) -> Results {
    let n = cx.attrs.int("n")?.unsigned_abs();
    let a = cx.args[0].1;
    let (mut base, mut product) = (a, t.constant(1, t.width(a)));
    for bit in 0..64 - n.leading_zeros() {
        if n >> bit & 1 == 1 {
            product = t.mul(product, base);
        }
        base = t.mul(base, base);
    }
    one(product)
}

/// A power of unsigned integers, by repeated squaring. A negative exponent is an error, so signed powers have
/// no meaning in bits.
fn power(t: &mut Terms, cx: &BitCx<'_>) -> Results {
    let ([base, exponent], dtype) = pair(cx)?;
    if !dtype.is_unsigned() {
        return None;
    }
    let width = t.width(base);
    let (mut base, mut product) = (base, t.constant(1, width));
    for at in 0..width {
        let count = t.constant(at as u64, width);
        let shift = |c: &mut Circuit, w: &[Word]| word::shift(c, &w[0], &w[1], false, Bit::FALSE);
        let above = t.atom("right_shift", width, &[exponent, count], shift);
        let bit = t.truncated(above, 1);
        let more = t.mul(product, base);
        product = t.choice(bit, more, product);
        base = t.mul(base, base);
    }
    one(product)
}
/// `x << n` is `x * (1 << n)`, also where that is 0.
fn left_shift(t: &mut Terms, cx: &BitCx<'_>) -> Results {
    let ([a, by], _) = pair(cx)?;
    let unit = t.constant(1, t.width(a));
    let power = t.atom("left_shift", t.width(a), &[unit, by], |c, w| word::shift(c, &w[0], &w[1], true, Bit::FALSE));
    one(t.mul(a, power))
}

fn right_shift(t: &mut Terms, cx: &BitCx<'_>) -> Results {
    let ([a, by], dtype) = pair(cx)?;
    let width = t.width(a);
    // As an unsigned number a negative count is more than the width.
    one(match is_signed(dtype) {
        true => {
            t.atom("right_shift-signed", width, &[a, by], |c, w| word::shift(c, &w[0], &w[1], false, word::sign(&w[0])))
        }
        false => t.atom("right_shift", width, &[a, by], |c, w| word::shift(c, &w[0], &w[1], false, Bit::FALSE)),
    })
}

/// The quotient, rounded toward negative infinity.
fn quotient(t: &mut Terms, cx: &BitCx<'_>) -> Option<Term> {
    let ([a, b], dtype) = pair(cx)?;
    let width = t.width(a);
    if t.as_constant(b) == Some(1) {
        return Some(a);
    }
    Some(match is_signed(dtype) {
        true => t.atom("floordiv-signed", width, &[a, b], |c, w| signed_division(c, &w[0], &w[1]).0),
        false => t.atom("floordiv", width, &[a, b], |c, w| unsigned_division(c, &w[0], &w[1]).0),
    })
}

/// The remainder of [`quotient`].
fn remainder(t: &mut Terms, cx: &BitCx<'_>) -> Option<Term> {
    let ([a, b], dtype) = pair(cx)?;
    let width = t.width(a);
    Some(match is_signed(dtype) {
        true => t.atom("mod-signed", width, &[a, b], |c, w| signed_division(c, &w[0], &w[1]).1),
        false => t.atom("mod", width, &[a, b], |c, w| unsigned_division(c, &w[0], &w[1]).1),
    })
}

/// Quotient and remainder; both are 0 for a division by zero.
fn unsigned_division(c: &mut Circuit, a: &[Bit], b: &[Bit]) -> (Word, Word) {
    let (quotient, rest) = word::divide(c, a, b);
    let (some, zero) = (word::nonzero(c, b), word::constant(0, a.len()));
    (word::mux(c, some, &quotient, &zero), word::mux(c, some, &rest, &zero))
}

/// The quotient, rounded toward negative infinity, and the remainder, which has the divisor's sign. Both are
/// 0 for a division by zero.
fn signed_division(c: &mut Circuit, a: &[Bit], b: &[Bit]) -> (Word, Word) {
    let (size_a, size_b) = (word::magnitude(c, a), word::magnitude(c, b));
    let (quotient, rest) = unsigned_division(c, &size_a, &size_b);
    let opposite = c.xor(word::sign(a), word::sign(b));
    let inexact = word::nonzero(c, &rest);
    let down = c.and(opposite, inexact);
    // -q, or -q - 1, which is !q.
    let negative = word::neg(c, &quotient);
    let floored = word::mux(c, down, &word::invert(&quotient), &negative);
    let quotient = word::mux(c, opposite, &floored, &quotient);
    let negated = word::neg(c, &rest);
    let toward_zero = word::mux(c, word::sign(a), &negated, &rest);
    let moved = word::add(c, &toward_zero, b);
    let rest = word::mux(c, down, &moved, &toward_zero);
    // For a division by zero the unsigned quotient is 0, and so is the signed one.
    (quotient, rest)
}

/// The remainder of the quotient that is rounded toward zero.
fn fmod(t: &mut Terms, cx: &BitCx<'_>) -> Results {
    let ([a, b], dtype) = pair(cx)?;
    if !is_signed(dtype) {
        return one(remainder(t, cx)?);
    }
    one(t.atom("fmod", t.width(a), &[a, b], |c, w| {
        let (size_a, size_b) = (word::magnitude(c, &w[0]), word::magnitude(c, &w[1]));
        let (_, rest) = unsigned_division(c, &size_a, &size_b);
        let negated = word::neg(c, &rest);
        word::mux(c, word::sign(&w[0]), &negated, &rest)
    }))
}

/// The reciprocal: 1 and -1 are their own, and all other integers give 0.
fn reciprocal(t: &mut Terms, cx: &BitCx<'_>) -> Results {
    let (dtype, a) = cx.args[0];
    let width = t.width(a);
    let [zero, plus, minus] = [0, 1, u64::MAX].map(|value| t.constant(value, width));
    let is_one = t.equal(a, plus);
    let mut result = t.choice(is_one, plus, zero);
    if is_signed(dtype) {
        let is_minus = t.equal(a, minus);
        result = t.choice(is_minus, minus, result);
    }
    one(result)
}

fn magnitude(t: &mut Terms, (dtype, a): BitArg) -> Term {
    match is_signed(dtype) {
        true => t.atom("abs", t.width(a), &[a], |c, w| word::magnitude(c, &w[0])),
        false => a,
    }
}

fn sign(t: &mut Terms, cx: &BitCx<'_>) -> Results {
    let (dtype, a) = cx.args[0];
    let width = t.width(a);
    let [zero, plus, minus] = [0, 1, u64::MAX].map(|value| t.constant(value, width));
    let some = t.truth(a);
    let mut result = t.choice(some, plus, zero);
    if is_signed(dtype) {
        let negative = t.less((dtype, a), (dtype, zero));
        result = t.choice(negative, minus, result);
    }
    one(result)
}

fn bit_count(t: &mut Terms, cx: &BitCx<'_>) -> Results {
    let size = magnitude(t, cx.args[0]);
    one(t.atom("bit_count", 8, &[size], |c, w| word::ones(c, &w[0], 8)))
}

fn least(t: &mut Terms, [a, b]: [Term; 2], dtype: DType) -> Term {
    if a == b {
        return a;
    }
    match (dtype, is_signed(dtype)) {
        (DType::Bool, _) => t.mul(a, b),
        (_, true) => t.commutative("minimum-signed", [a, b], |c, w| {
            let less = word::less_signed(c, &w[0], &w[1]);
            word::mux(c, less, &w[0], &w[1])
        }),
        (_, false) => t.commutative("minimum", [a, b], |c, w| {
            let less = word::less(c, &w[0], &w[1]);
            word::mux(c, less, &w[0], &w[1])
        }),
    }
}

fn greatest(t: &mut Terms, [a, b]: [Term; 2], dtype: DType) -> Term {
    if a == b {
        return a;
    }
    match (dtype, is_signed(dtype)) {
        (DType::Bool, _) => t.or(a, b),
        (_, true) => t.commutative("maximum-signed", [a, b], |c, w| {
            let less = word::less_signed(c, &w[0], &w[1]);
            word::mux(c, less, &w[1], &w[0])
        }),
        (_, false) => t.commutative("maximum", [a, b], |c, w| {
            let less = word::less(c, &w[0], &w[1]);
            word::mux(c, less, &w[1], &w[0])
        }),
    }
}
