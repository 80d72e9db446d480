//! And-inverter graphs: Boolean functions of input bits, with hash-consed gates.
//!
//! A [`Bit`] is a gate or its complement. Construction folds constants, equal and opposite operands, and
//! operands that another operand already implies, so that equal functions are often the same bit, without a
//! solver. (A. Kuehlmann et al., "Robust Boolean Reasoning for Equivalence Checking and Functional Property
//! Verification", IEEE TCAD 21, 2002.)

use rustc_hash::FxHashMap;

/// A boolean function of a [`Circuit`]'s inputs: a gate, or the complement of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bit(u32);

impl Bit {
    /// The constant false.
    pub const FALSE: Bit = Bit(0);
    /// The constant true.
    pub const TRUE: Bit = Bit(1);

    /// A constant.
    pub fn constant(value: bool) -> Bit {
        if value { Bit::TRUE } else { Bit::FALSE }
    }
    /// The value of a constant bit.
    pub fn as_constant(self) -> Option<bool> {
        (self.gate() == 0).then_some(self == Bit::TRUE)
    }
    /// The number of the gate; gate 0 is the constant.
    pub(super) fn gate(self) -> usize {
        (self.0 >> 1) as usize
    }
    /// True if it is the complement of its gate.
    pub(super) fn is_complement(self) -> bool {
        self.0 & 1 == 1
    }
}

impl std::ops::Not for Bit {
    type Output = Bit;
    fn not(self) -> Bit {
        Bit(self.0 ^ 1)
    }
}

/// A gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// The constant false, or an input.
    Input,
    /// The conjunction of two bits.
    And(Bit, Bit),
}

/// Gates in topological order.
#[derive(Debug)]
pub struct Circuit {
    gates: Vec<Gate>,
    known: FxHashMap<(Bit, Bit), Bit>,
    limit: usize,
}

impl Circuit {
    /// An empty circuit that holds at most `limit` gates.
    pub fn new(limit: usize) -> Circuit {
        Circuit { gates: vec![Gate::Input], known: FxHashMap::default(), limit }
    }

    /// Whether the limit on gates was reached. Later bits are meaningless.
    pub fn is_full(&self) -> bool {
        self.gates.len() >= self.limit
    }

    pub(super) fn gate(&self, number: usize) -> Gate {
        self.gates[number]
    }

    /// The number of gates.
    pub(super) fn len(&self) -> usize {
        self.gates.len()
    }

    /// A new input.
    pub fn input(&mut self) -> Bit {
        self.push(Gate::Input)
    }

    fn push(&mut self, gate: Gate) -> Bit {
        if self.is_full() {
            return Bit::FALSE;
        }
        self.gates.push(gate);
        Bit((self.gates.len() as u32 - 1) << 1)
    }

    /// Conjunction.
    pub fn and(&mut self, a: Bit, b: Bit) -> Bit {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        if a == Bit::FALSE || a == !b {
            return Bit::FALSE;
        }
        if a == Bit::TRUE || a == b {
            return b;
        }
        if let Some(simple) = self.absorbed(a, b).or_else(|| self.absorbed(b, a)) {
            return simple;
        }
        if let Some(&known) = self.known.get(&(a, b)) {
            return known;
        }
        let gate = self.push(Gate::And(a, b));
        self.known.insert((a, b), gate);
        gate
    }

    /// The conjunction where `b` is a conjunction, or the complement of one, with `a` or its complement as
    /// an operand.
    fn absorbed(&mut self, a: Bit, b: Bit) -> Option<Bit> {
        let Gate::And(c, d) = self.gates[b.gate()] else { return None };
        match b.is_complement() {
            // a & (a & d) is a & d; a & (!a & d) is false.
            false if a == c || a == d => Some(b),
            false if a == !c || a == !d => Some(Bit::FALSE),
            // a & !(!a & d) is a; a & !(a & d) is a & !d.
            true if a == !c || a == !d => Some(a),
            true if a == c => Some(self.and(a, !d)),
            true if a == d => Some(self.and(a, !c)),
            _ => None,
        }
    }

    /// Disjunction.
    pub fn or(&mut self, a: Bit, b: Bit) -> Bit {
        !self.and(!a, !b)
    }

    /// Exclusive disjunction.
    pub fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        // The complement of an operand is that of the result: one gate serves all four.
        let flip = a.is_complement() != b.is_complement();
        let (a, b) = (Bit(a.0 & !1), Bit(b.0 & !1));
        let (left, right) = (self.and(a, !b), self.and(!a, b));
        let either = self.or(left, right);
        if flip { !either } else { either }
    }

    /// `a` if `condition` is true, else `b`.
    pub fn mux(&mut self, condition: Bit, a: Bit, b: Bit) -> Bit {
        if a == b {
            return a;
        }
        if a == !b {
            return self.xor(condition, b);
        }
        let (left, right) = (self.and(condition, a), self.and(!condition, b));
        self.or(left, right)
    }

    /// The sum and the carry of three bits.
    pub fn full_adder(&mut self, a: Bit, b: Bit, c: Bit) -> (Bit, Bit) {
        let half = self.xor(a, b);
        let sum = self.xor(half, c);
        let (both, carried) = (self.and(a, b), self.and(half, c));
        (sum, self.or(both, carried))
    }

    /// The conjunction of all bits.
    pub fn all(&mut self, bits: impl IntoIterator<Item = Bit>) -> Bit {
        bits.into_iter().fold(Bit::TRUE, |all, bit| self.and(all, bit))
    }

    /// The disjunction of all bits.
    pub fn any(&mut self, bits: impl IntoIterator<Item = Bit>) -> Bit {
        bits.into_iter().fold(Bit::FALSE, |any, bit| self.or(any, bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_functions_are_one_gate() {
        let mut c = Circuit::new(1000);
        let (a, b) = (c.input(), c.input());
        let both = c.and(a, b);
        assert_eq!(c.and(b, a), both);
        assert_eq!(c.and(a, both), both);
        assert_eq!(c.and(!a, both), Bit::FALSE);
        assert_eq!(c.or(a, both), a);
        let xor = c.xor(a, b);
        assert_eq!(c.xor(!a, b), !xor);
        assert_eq!(c.xor(!b, !a), xor);
        assert_eq!(c.mux(a, b, b), b);
        assert_eq!(c.mux(Bit::TRUE, a, b), a);
        assert_eq!(c.full_adder(a, b, Bit::FALSE), (xor, both));
    }

    #[test]
    fn a_full_circuit_says_so() {
        let mut c = Circuit::new(4);
        let inputs: Vec<Bit> = (0..8).map(|_| c.input()).collect();
        assert!(c.is_full() && inputs[7] == Bit::FALSE);
    }
}
