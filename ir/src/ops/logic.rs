//! Logic: operands of any dtype count as "not zero", and results are bools. NaN is true.

use super::loops;

elementwise! {
    /// True where both operands are not zero.
    AND = "and"(2), loops::all_to_bool, is COMMUTATIVE {
        any([a, b]) => a.truthy() & b.truthy();
    }
    /// True where an operand is not zero.
    OR = "or"(2), loops::all_to_bool, is COMMUTATIVE {
        any([a, b]) => a.truthy() | b.truthy();
    }
    /// True where exactly one operand is not zero.
    XOR = "xor"(2), loops::all_to_bool, is COMMUTATIVE {
        any([a, b]) => a.truthy() ^ b.truthy();
    }
    /// True where the operand is zero.
    NOT = "not"(1), loops::all_to_bool {
        any([a]) => !a.truthy();
    }
}
