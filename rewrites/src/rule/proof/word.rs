//! Integer arithmetic as circuits. A word is a list of bits, the lowest first. Arithmetic wraps around.

use super::circuit::{Bit, Circuit};

/// An integer, or a bool in one bit: the lowest bit first.
pub type Word = Vec<Bit>;

/// A constant of `width` bits.
pub fn constant(value: u64, width: usize) -> Word {
    (0..width).map(|bit| Bit::constant(bit < 64 && value >> bit & 1 == 1)).collect()
}

/// The value of a constant word.
pub fn as_constant(word: &[Bit]) -> Option<u64> {
    let bit = |(at, bit): (usize, &Bit)| bit.as_constant().map(|one| u64::from(one) << at);
    word.iter().enumerate().map(bit).try_fold(0, |all, bit| bit.map(|bit| all | bit))
}

/// The complement of every bit.
pub fn invert(a: &[Bit]) -> Word {
    a.iter().map(|&bit| !bit).collect()
}

/// A bit operation, bit by bit.
pub fn bitwise(c: &mut Circuit, a: &[Bit], b: &[Bit], op: fn(&mut Circuit, Bit, Bit) -> Bit) -> Word {
    a.iter().zip(b).map(|(&a, &b)| op(c, a, b)).collect()
}

/// `a + b + carry`, and the carry out.
pub fn add_with_carry(c: &mut Circuit, a: &[Bit], b: &[Bit], carry: Bit) -> (Word, Bit) {
    let mut carry = carry;
    let sum = a.iter().zip(b).map(|(&a, &b)| {
        let (sum, next) = c.full_adder(a, b, carry);
        carry = next;
        sum
    });
    let sum = sum.collect();
    (sum, carry)
}

/// The sum.
pub fn add(c: &mut Circuit, a: &[Bit], b: &[Bit]) -> Word {
    add_with_carry(c, a, b, Bit::FALSE).0
}

/// The difference.
pub fn sub(c: &mut Circuit, a: &[Bit], b: &[Bit]) -> Word {
    add_with_carry(c, a, &invert(b), Bit::TRUE).0
}

/// The negation.
pub fn neg(c: &mut Circuit, a: &[Bit]) -> Word {
    sub(c, &constant(0, a.len()), a)
}

/// The product.
pub fn mul(c: &mut Circuit, a: &[Bit], b: &[Bit]) -> Word {
    let width = a.len();
    let mut product = constant(0, width);
    for (at, &bit) in b.iter().enumerate() {
        if bit == Bit::FALSE {
            continue;
        }
        let partial: Word = a[..width - at].iter().map(|&a| c.and(a, bit)).collect();
        let upper = add(c, &product[at..], &partial);
        product.splice(at.., upper);
    }
    product
}

/// True where the words are equal.
pub fn equal(c: &mut Circuit, a: &[Bit], b: &[Bit]) -> Bit {
    let same: Vec<Bit> = a.iter().zip(b).map(|(&a, &b)| !c.xor(a, b)).collect();
    c.all(same)
}

/// True where a bit is set.
pub fn nonzero(c: &mut Circuit, a: &[Bit]) -> Bit {
    c.any(a.iter().copied())
}

/// True where `a` is less than `b`, as unsigned numbers.
pub fn less(c: &mut Circuit, a: &[Bit], b: &[Bit]) -> Bit {
    // The borrow of a - b.
    !add_with_carry(c, a, &invert(b), Bit::TRUE).1
}

/// True where `a` is less than `b`, as signed numbers.
pub fn less_signed(c: &mut Circuit, a: &[Bit], b: &[Bit]) -> Bit {
    let flipped = |word: &[Bit]| {
        let mut word = word.to_vec();
        if let Some(sign) = word.last_mut() {
            *sign = !*sign;
        }
        word
    };
    less(c, &flipped(a), &flipped(b))
}

/// `a` where the condition is true, else `b`.
pub fn mux(c: &mut Circuit, condition: Bit, a: &[Bit], b: &[Bit]) -> Word {
    a.iter().zip(b).map(|(&a, &b)| c.mux(condition, a, b)).collect()
}

/// The word at another width: truncated, or extended by `fill`.
pub fn resized(a: &[Bit], width: usize, fill: Bit) -> Word {
    (0..width).map(|at| a.get(at).copied().unwrap_or(fill)).collect()
}

/// The sign bit of a signed number.
pub fn sign(a: &[Bit]) -> Bit {
    a.last().copied().unwrap_or(Bit::FALSE)
}

/// The absolute value of a signed number; the least number stays.
pub fn magnitude(c: &mut Circuit, a: &[Bit]) -> Word {
    let opposite = neg(c, a);
    mux(c, sign(a), &opposite, a)
}

/// Shift of `a` by `by`, an unsigned number, up or down (barrel shifter). `fill` shifts in; shifts by the
/// width or more yield `fill` alone.
pub fn shift(c: &mut Circuit, a: &[Bit], by: &[Bit], up: bool, fill: Bit) -> Word {
    let width = a.len();
    let mut word = a.to_vec();
    for (stage, &bit) in by.iter().enumerate() {
        let moved: Word = match 1usize.checked_shl(stage as u32).filter(|&step| step < width) {
            None => vec![fill; width],
            Some(step) if up => (0..width).map(|at| if at < step { fill } else { word[at - step] }).collect(),
            Some(step) => (0..width).map(|at| word.get(at + step).copied().unwrap_or(fill)).collect(),
        };
        word = mux(c, bit, &moved, &word);
    }
    word
}

/// Quotient and remainder of unsigned numbers, by restoring division. By zero they are all ones, and `a`.
pub fn divide(c: &mut Circuit, a: &[Bit], b: &[Bit]) -> (Word, Word) {
    let width = a.len();
    let mut rest: Word = constant(0, width);
    let mut quotient = constant(0, width);
    for at in (0..width).rev() {
        // Before the subtraction the remainder has one more bit.
        let mut shifted = vec![a[at]];
        shifted.extend_from_slice(&rest);
        let divisor = resized(b, width + 1, Bit::FALSE);
        let (less, carry) = add_with_carry(c, &shifted, &invert(&divisor), Bit::TRUE);
        rest = mux(c, carry, &less[..width], &shifted[..width]);
        quotient[at] = carry;
    }
    (quotient, rest)
}

/// The number of bits that are set, at `width` bits.
pub fn ones(c: &mut Circuit, a: &[Bit], width: usize) -> Word {
    let mut sum = constant(0, width);
    for &bit in a {
        let one = resized(&[bit], width, Bit::FALSE);
        sum = add(c, &sum, &one);
    }
    sum
}
