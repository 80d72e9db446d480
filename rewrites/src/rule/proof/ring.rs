//! Integers modulo powers of two as polynomials, in one normal form.
//!
//! A [`Term`] is a polynomial over *atoms*: variables, and results of ops other than sums and products. Its
//! coefficients are integers modulo 2^width. Terms of width 1 are bools: a Boolean ring, where `x * x = x`.
//! Products are expanded, so terms that are equal in the ring are the same term at any width. A SAT solver
//! would take hours for a product of 64 bits. All other questions are decided on the circuit of a term
//! ([`Terms::bits`]).
//!
//! Sources: T. Sasao and M. Fujita, "Representations of Discrete Functions", 1996, for bools; N. Shekhar et
//! al., "Equivalence Verification of Polynomial Datapaths Using Ideal Membership Testing", IEEE TCAD 26,
//! 2007, for rings of integers.

use super::circuit::{Bit, Circuit};
use super::word::{self, Word};
use indexmap::IndexSet;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A polynomial of a [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(u32);

/// Builds the bits of an atom from the bits of its operands.
pub type AtomBits = fn(&mut Circuit, &[Word]) -> Word;

/// A product of atoms, sorted, with repetition for exponents.
type Monomial = SmallVec<[u32; 4]>;

/// A sum of monomials with nonzero coefficients.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Polynomial {
    width: usize,
    sum: BTreeMap<Monomial, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Atom {
    name: &'static str,
    /// The number of a variable.
    number: usize,
    width: usize,
    args: Vec<Term>,
}

/// A product of more monomials than this is an atom.
const MAX_MONOMIALS: usize = 64;

/// A monomial of more factors becomes an atom.
const MAX_DEGREE: usize = 16;

/// Terms and their circuits.
#[derive(Debug)]
pub struct Terms {
    polynomials: IndexSet<Polynomial>,
    atoms: IndexSet<Atom>,
    /// For each atom its bits, once they are built.
    meanings: Vec<Option<AtomBits>>,
    atom_bits: Vec<Option<Word>>,
    term_bits: Vec<Option<Word>>,
    circuit: Circuit,
}

fn mask(width: usize) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

impl Polynomial {
    fn zero(width: usize) -> Polynomial {
        Polynomial { width, sum: BTreeMap::new() }
    }
    fn push(&mut self, monomial: Monomial, coefficient: u64) {
        let all = self.sum.get(&monomial).copied().unwrap_or(0).wrapping_add(coefficient) & mask(self.width);
        if all == 0 {
            self.sum.remove(&monomial);
        } else {
            self.sum.insert(monomial, all);
        }
    }
    fn constant(&self) -> u64 {
        self.sum.get(&Monomial::new()).copied().unwrap_or(0)
    }
    fn as_constant(&self) -> Option<u64> {
        self.sum.keys().all(|monomial| monomial.is_empty()).then(|| self.constant())
    }
    /// The only atom, if the polynomial is one.
    fn as_atom(&self) -> Option<u32> {
        let mut sum = self.sum.iter();
        match (sum.next(), sum.next()) {
            (Some((monomial, 1)), None) if monomial.len() == 1 => Some(monomial[0]),
            _ => None,
        }
    }
}

impl Terms {
    /// No terms yet, over circuits of at most `gates` gates.
    pub fn new(gates: usize) -> Terms {
        Terms {
            polynomials: IndexSet::new(),
            atoms: IndexSet::new(),
            meanings: Vec::new(),
            atom_bits: Vec::new(),
            term_bits: Vec::new(),
            circuit: Circuit::new(gates),
        }
    }

    /// The circuit of all bits.
    pub(crate) fn circuit(&mut self) -> &mut Circuit {
        &mut self.circuit
    }

    fn term(&mut self, polynomial: Polynomial) -> Term {
        let (at, new) = self.polynomials.insert_full(polynomial);
        if new {
            self.term_bits.push(None);
        }
        Term(at as u32)
    }
    fn get(&self, term: Term) -> &Polynomial {
        &self.polynomials[term.0 as usize]
    }

    /// The number of bits.
    pub fn width(&self, term: Term) -> usize {
        self.get(term).width
    }
    /// The constant that a term is.
    pub fn as_constant(&self, term: Term) -> Option<u64> {
        self.get(term).as_constant()
    }

    /// A constant.
    pub fn constant(&mut self, value: u64, width: usize) -> Term {
        let mut polynomial = Polynomial::zero(width);
        polynomial.push(Monomial::new(), value);
        self.term(polynomial)
    }

    /// A variable.
    pub fn variable(&mut self, number: usize, width: usize) -> Term {
        let atom = Atom { name: "variable", number, width, args: Vec::new() };
        self.of_atom(atom, None)
    }

    /// A function of terms, of `width` bits. `name` identifies the function. Constants are folded.
    pub(crate) fn atom(&mut self, name: &'static str, width: usize, args: &[Term], bits: AtomBits) -> Term {
        let constants: Option<Vec<Word>> =
            args.iter().map(|&arg| self.as_constant(arg).map(|value| word::constant(value, self.width(arg)))).collect();
        if let Some(words) = constants {
            let word = bits(&mut self.circuit, &words);
            if let Some(value) = word::as_constant(&word) {
                return self.constant(value, width);
            }
        }
        self.of_atom(Atom { name, number: 0, width, args: args.to_vec() }, Some(bits))
    }

    fn of_atom(&mut self, atom: Atom, bits: Option<AtomBits>) -> Term {
        let width = atom.width;
        let (at, new) = self.atoms.insert_full(atom);
        if new {
            self.meanings.push(bits);
            self.atom_bits.push(None);
        }
        let mut polynomial = Polynomial::zero(width);
        polynomial.push(SmallVec::from_slice(&[at as u32]), 1);
        self.term(polynomial)
    }

    /// The sum; for bools exclusive disjunction.
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        let mut sum = self.get(a).clone();
        for (monomial, &coefficient) in &self.get(b).sum {
            sum.push(monomial.clone(), coefficient);
        }
        self.term(sum)
    }

    /// The term times a constant.
    pub fn scaled(&mut self, a: Term, by: u64) -> Term {
        let a = self.get(a);
        let mut scaled = Polynomial::zero(a.width);
        for (monomial, coefficient) in &a.sum {
            scaled.push(monomial.clone(), coefficient.wrapping_mul(by));
        }
        self.term(scaled)
    }

    /// The negation.
    pub fn neg(&mut self, a: Term) -> Term {
        self.scaled(a, u64::MAX)
    }

    /// The difference.
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        let b = self.neg(b);
        self.add(a, b)
    }

    /// The product; for bools conjunction.
    pub fn mul(&mut self, a: Term, b: Term) -> Term {
        let (left, right) = (self.get(a), self.get(b));
        let width = left.width;
        let mut product = Polynomial::zero(width);
        let mut small = left.sum.len() * right.sum.len() <= MAX_MONOMIALS * MAX_MONOMIALS;
        if small {
            for (m, c) in &left.sum {
                for (n, d) in &right.sum {
                    let mut both: Monomial = m.iter().chain(n).copied().collect();
                    both.sort_unstable();
                    if width == 1 {
                        both.dedup();
                    }
                    small &= both.len() <= MAX_DEGREE;
                    product.push(both, c.wrapping_mul(*d));
                }
            }
        }
        if small && product.sum.len() <= MAX_MONOMIALS {
            return self.term(product);
        }
        let (a, b) = (a.min(b), a.max(b));
        self.atom("product", width, &[a, b], |c, words| word::mul(c, &words[0], &words[1]))
    }

    /// The low bits.
    pub fn truncated(&mut self, a: Term, width: usize) -> Term {
        let polynomial = self.get(a).clone();
        if polynomial.width <= width {
            return a;
        }
        let mut sum = self.constant(0, width);
        for (monomial, coefficient) in polynomial.sum {
            let mut product = self.constant(coefficient, width);
            for atom in monomial {
                let factor = self.truncated_atom(atom, width);
                product = self.mul(product, factor);
            }
            sum = self.add(sum, product);
        }
        sum
    }

    fn truncated_atom(&mut self, atom: u32, width: usize) -> Term {
        let Atom { name, args, width: from, .. } = self.atoms[atom as usize].clone();
        if let ("sign-extended" | "zero-extended", [inner]) = (name, &args[..]) {
            return match self.width(*inner) < width {
                true => self.extended(*inner, width, name == "sign-extended"),
                false => self.truncated(*inner, width),
            };
        }
        let mut whole = Polynomial::zero(from);
        whole.push(SmallVec::from_slice(&[atom]), 1);
        let whole = self.term(whole);
        let low: AtomBits = match width {
            1 => |_, words| words[0][..1].to_vec(),
            8 => |_, words| words[0][..8].to_vec(),
            16 => |_, words| words[0][..16].to_vec(),
            _ => |_, words| words[0][..32].to_vec(),
        };
        self.atom("truncated", width, &[whole], low)
    }

    /// The same number with more bits.
    pub fn extended(&mut self, a: Term, width: usize, signed: bool) -> Term {
        if self.width(a) >= width {
            return a;
        }
        let inner = self.get(a).as_atom().map(|atom| self.atoms[atom as usize].clone());
        let name = if signed { "sign-extended" } else { "zero-extended" };
        if let Some(Atom { name: known @ ("sign-extended" | "zero-extended"), args, .. }) = inner
            && (known == name || known == "zero-extended")
        {
            return self.extended(args[0], width, known == "sign-extended");
        }
        let bits: AtomBits = match (width, signed) {
            (8, false) => |_, words| word::resized(&words[0], 8, Bit::FALSE),
            (16, false) => |_, words| word::resized(&words[0], 16, Bit::FALSE),
            (32, false) => |_, words| word::resized(&words[0], 32, Bit::FALSE),
            (_, false) => |_, words| word::resized(&words[0], 64, Bit::FALSE),
            (16, true) => |_, words| word::resized(&words[0], 16, word::sign(&words[0])),
            (32, true) => |_, words| word::resized(&words[0], 32, word::sign(&words[0])),
            (_, true) => |_, words| word::resized(&words[0], 64, word::sign(&words[0])),
        };
        self.atom(name, width, &[a], bits)
    }

    /// True where two terms of one width are equal.
    pub fn equal(&mut self, a: Term, b: Term) -> Term {
        let difference = self.sub(a, b);
        let polynomial = self.get(difference);
        let width = polynomial.width;
        if width == 1 {
            let one = self.constant(1, 1);
            return self.add(difference, one);
        }
        if let Some(constant) = polynomial.as_constant() {
            return self.constant(u64::from(constant == 0), 1);
        }
        // An odd leading coefficient has an inverse, so it can be one.
        let leading = polynomial.sum.iter().find(|(monomial, _)| !monomial.is_empty()).map_or(1, |(_, &c)| c);
        let unit = if leading % 2 == 1 { inverse(leading) } else { 1 };
        let normal = self.scaled(difference, unit);
        // Negative monomials move to the other side.
        let (mut left, mut right) = (Polynomial::zero(width), Polynomial::zero(width));
        for (monomial, &coefficient) in &self.get(normal).sum {
            match coefficient > mask(width) / 2 {
                true => right.push(monomial.clone(), coefficient.wrapping_neg()),
                false => left.push(monomial.clone(), coefficient),
            }
        }
        let (left, right) = (self.term(left), self.term(right));
        self.atom("equal", 1, &[left, right], |c, words| vec![word::equal(c, &words[0], &words[1])])
    }

    /// The circuit of a term, the lowest bit first.
    pub fn bits(&mut self, term: Term) -> Word {
        if let Some(known) = &self.term_bits[term.0 as usize] {
            return known.clone();
        }
        let polynomial = self.get(term).clone();
        let width = polynomial.width;
        let mut constant = polynomial.constant();
        let mut summands: Vec<Word> = Vec::new();
        for (monomial, &coefficient) in polynomial.sum.iter().filter(|(monomial, _)| !monomial.is_empty()) {
            let mut product: Option<Word> = None;
            for &atom in monomial {
                let factor = self.bits_of_atom(atom);
                product = Some(match product {
                    None => factor,
                    Some(product) => word::mul(&mut self.circuit, &product, &factor),
                });
            }
            let Some(product) = product else { continue };
            let negated = coefficient.wrapping_neg() & mask(width);
            // A difference costs no more than a sum: -x is !x + 1.
            let (factor, complement) = match coefficient.count_ones() > negated.count_ones() {
                true => (negated, true),
                false => (coefficient, false),
            };
            let by = word::constant(factor, width);
            let scaled = if factor == 1 { product } else { word::mul(&mut self.circuit, &product, &by) };
            if complement {
                constant = constant.wrapping_add(1) & mask(width);
                summands.push(word::invert(&scaled));
            } else {
                summands.push(scaled);
            }
        }
        let carry = Bit::constant(constant == 1 && summands.len() > 1);
        if constant != 0 && carry == Bit::FALSE {
            summands.push(word::constant(constant, width));
        }
        let last = summands.pop().unwrap_or_else(|| word::constant(0, width));
        let word = match summands.split_first() {
            None => last,
            Some((first, more)) => {
                let mut sum = first.clone();
                for summand in more {
                    sum = word::add(&mut self.circuit, &sum, summand);
                }
                word::add_with_carry(&mut self.circuit, &sum, &last, carry).0
            }
        };
        self.term_bits[term.0 as usize] = Some(word.clone());
        word
    }

    fn bits_of_atom(&mut self, atom: u32) -> Word {
        if let Some(known) = &self.atom_bits[atom as usize] {
            return known.clone();
        }
        let Atom { width, args, .. } = self.atoms[atom as usize].clone();
        let word = match self.meanings[atom as usize] {
            None => (0..width).map(|_| self.circuit.input()).collect(),
            Some(meaning) => {
                let words: Vec<Word> = args.iter().map(|&arg| self.bits(arg)).collect();
                meaning(&mut self.circuit, &words)
            }
        };
        self.atom_bits[atom as usize] = Some(word.clone());
        word
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the number of correct
/// bits.
pub(in crate::rule) fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd.wrapping_mul(3) ^ 2, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_in_the_ring_is_the_same_term() {
        let mut t = Terms::new(100);
        let [x, y, z] = [0, 1, 2].map(|number| t.variable(number, 64));
        let sum = t.add(y, z);
        let (xy, xz) = (t.mul(x, y), t.mul(z, x));
        assert_eq!(t.mul(sum, x), t.add(xz, xy));
        let same = t.sub(sum, z);
        assert_eq!(same, y);
        let nothing = t.sub(x, x);
        assert_eq!(t.as_constant(nothing), Some(0));
    }

    #[test]
    fn bools_are_a_ring_of_squares() {
        let mut t = Terms::new(100);
        let [x, y] = [0, 1].map(|number| t.variable(number, 1));
        assert_eq!(t.mul(x, x), x);
        let (twice, both) = (t.add(x, x), t.mul(x, y));
        assert_eq!(t.as_constant(twice), Some(0));
        assert_eq!(t.mul(both, x), both);
    }

    #[test]
    fn odd_factors_of_equations_are_divided_out() {
        let mut t = Terms::new(1000);
        let x = t.variable(0, 32);
        let (three, nine, thrice) = (t.constant(3, 32), t.constant(9, 32), t.scaled(x, 3));
        assert_eq!(t.equal(thrice, nine), t.equal(x, three));
        assert!((1..200u64).step_by(2).all(|odd| odd.wrapping_mul(inverse(odd)) == 1));
    }
}
