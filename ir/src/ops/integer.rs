//! Integer operations that Rust does not define for all operands, and ops on integers only.

use super::loops;

/// The operations of an integer type that elementwise ops need. All are total: division by zero gives 0,
/// overflow wraps.
pub(super) trait Integer: Copy + PartialOrd {
    /// Quotient rounded toward zero; the minimum divided by -1 is the minimum.
    fn quot(self, by: Self) -> Self;
    /// Remainder of [`quot`](Integer::quot), with the dividend's sign.
    fn rem(self, by: Self) -> Self;
    /// Quotient rounded toward negative infinity.
    fn floor_quot(self, by: Self) -> Self;
    /// Remainder of [`floor_quot`](Integer::floor_quot), with the divisor's sign.
    fn floor_rem(self, by: Self) -> Self;
    /// `self` to the power `n`, wrapping; `None` for a negative `n`.
    fn power(self, n: Self) -> Option<Self>;
    /// Shifted left; 0 if the count is negative, or at least the width.
    fn left(self, by: Self) -> Self;
    /// Shifted right arithmetically; 0 or -1 by the sign if the count is negative, or at least the width.
    fn right(self, by: Self) -> Self;
    /// Greatest common divisor of the magnitudes.
    fn gcd(self, other: Self) -> Self;
    /// Least common multiple of the magnitudes, wrapping.
    fn lcm(self, other: Self) -> Self;
    /// Number of set bits of the magnitude.
    fn ones_of_magnitude(self) -> u8;
    /// -1, 0 or 1.
    fn sign(self) -> Self;
    /// Magnitude; that of the minimum is the minimum.
    fn magnitude(self) -> Self;
}

/// Euclid's algorithm.
fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

macro_rules! integer {
    ($($ty:ident $unsigned:ident $abs:ident $signum:expr, $wrapping_abs:expr;)*) => {$(
        impl Integer for $ty {
            fn quot(self, by: Self) -> Self {
                if by == 0 { 0 } else { self.wrapping_div(by) }
            }
            fn rem(self, by: Self) -> Self {
                if by == 0 { 0 } else { self.wrapping_rem(by) }
            }
            #[allow(unused_comparisons, reason = "unsigned types are never below 0")]
            fn floor_quot(self, by: Self) -> Self {
                let adjust = Integer::rem(self, by) != 0 && (self < 0) != (by < 0);
                if adjust { self.quot(by).wrapping_sub(1) } else { self.quot(by) }
            }
            #[allow(unused_comparisons, reason = "unsigned types are never below 0")]
            fn floor_rem(self, by: Self) -> Self {
                let rem = Integer::rem(self, by);
                if rem != 0 && (rem < 0) != (by < 0) { rem + by } else { rem }
            }
            #[allow(unused_comparisons, reason = "unsigned types are never below 0")]
            fn power(self, mut n: Self) -> Option<Self> {
                if n < 0 {
                    return None;
                }
                let (mut base, mut product): (Self, Self) = (self, 1);
                while n > 0 {
                    if n & 1 == 1 {
                        product = product.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    n >>= 1;
                }
                Some(product)
            }
            fn left(self, by: Self) -> Self {
                u32::try_from(by).ok().and_then(|by| self.checked_shl(by)).unwrap_or(0)
            }
            fn right(self, by: Self) -> Self {
                let by = u32::try_from(by).unwrap_or(u32::MAX).min(Self::BITS);
                // Shifts twice, since a shift by the width is undefined; both shifts extend the sign.
                let half = by / 2;
                (self >> half) >> (by - half)
            }
            fn gcd(self, other: Self) -> Self {
                gcd(self.$abs() as u64, other.$abs() as u64) as Self
            }
            fn lcm(self, other: Self) -> Self {
                let (a, b) = (self.$abs() as $unsigned, other.$abs() as $unsigned);
                let divisor = gcd(a as u64, b as u64) as $unsigned;
                if divisor == 0 { 0 } else { (a / divisor).wrapping_mul(b) as Self }
            }
            fn ones_of_magnitude(self) -> u8 {
                self.$abs().count_ones() as u8
            }
            fn sign(self) -> Self {
                let signum: fn(Self) -> Self = $signum;
                signum(self)
            }
            fn magnitude(self) -> Self {
                let abs: fn(Self) -> Self = $wrapping_abs;
                abs(self)
            }
        }
    )*};
}
integer! {
    i8 u8 unsigned_abs i8::signum, i8::wrapping_abs;
    i16 u16 unsigned_abs i16::signum, i16::wrapping_abs;
    i32 u32 unsigned_abs i32::signum, i32::wrapping_abs;
    i64 u64 unsigned_abs i64::signum, i64::wrapping_abs;
    u8 u8 clone |x| x.min(1), |x| x;
    u16 u16 clone |x| x.min(1), |x| x;
    u32 u32 clone |x| x.min(1), |x| x;
    u64 u64 clone |x| x.min(1), |x| x;
}

elementwise! {
    /// Bitwise and.
    BITAND = "bitand"(2), loops::bits, is COMMUTATIVE {
        bool(a, b) => a & b;
        int(a, b) => a & b;
    }
    /// Bitwise or.
    BITOR = "bitor"(2), loops::bits, is COMMUTATIVE {
        bool(a, b) => a | b;
        int(a, b) => a | b;
    }
    /// Bitwise exclusive or.
    BITXOR = "bitxor"(2), loops::bits, is COMMUTATIVE {
        bool(a, b) => a ^ b;
        int(a, b) => a ^ b;
    }
    /// Every bit flipped; of bools, logical not.
    INVERT = "invert"(1), loops::bits {
        bool(a) => !a;
        int(a) => !a;
    }
    /// Bits moved up by the second operand; by a negative count, or the width or more, 0.
    LEFT_SHIFT = "left_shift"(2), loops::ints {
        int(a, n) => a.left(n);
    }
    /// Arithmetic shift right; by a negative count, or by the width or more, 0 or -1 by the sign.
    RIGHT_SHIFT = "right_shift"(2), loops::ints {
        int(a, n) => a.right(n);
    }
    /// Number of set bits of the magnitude, as `u8`.
    BIT_COUNT = "bit_count"(1), loops::ints_to_u8, cycles 2 {
        int(a) => a.ones_of_magnitude();
    }
    /// Greatest common divisor of the magnitudes; of 0 and x, the magnitude of x.
    GCD = "gcd"(2), loops::ints_not_bools, is COMMUTATIVE, cycles 60 {
        int(a, b) => a.gcd(b);
    }
    /// Least common multiple of the magnitudes, wrapping; of 0 and x, 0.
    LCM = "lcm"(2), loops::ints_not_bools, is COMMUTATIVE, cycles 80 {
        int(a, b) => a.lcm(b);
    }
}
