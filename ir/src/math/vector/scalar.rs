//! Evaluation of the functions on scalars.

use super::operations::{Bits, Condition, Real, Slow, Table};
use std::num::Wrapping;

impl Condition for bool {}

macro_rules! scalar {
    ($float:ident, $bits:ident, $precision:ident, $single:literal) => {
        impl Real for $float {
            type Bits = Wrapping<$bits>;
            type Condition = bool;

            fn is_single(self) -> bool {
                $single
            }
            fn of(self, c: f64) -> Self {
                c as $float
            }
            fn fma(self, b: Self, c: Self) -> Self {
                $float::mul_add(self, b, c)
            }
            fn sqrt(self) -> Self {
                $float::sqrt(self)
            }
            fn abs(self) -> Self {
                $float::abs(self)
            }
            fn copysign(self, sign: Self) -> Self {
                $float::copysign(self, sign)
            }
            fn less(self, b: Self) -> bool {
                self < b
            }
            fn equal(self, b: Self) -> bool {
                self == b
            }
            fn or(self, condition: bool, b: Self) -> Self {
                if condition { self } else { b }
            }
            fn unless(self, condition: bool, f: &Slow, x: Self) -> Self {
                if condition { (f.$precision)(x) } else { self }
            }
            fn bits(self) -> Self::Bits {
                Wrapping($float::to_bits(self))
            }
        }

        impl Bits for Wrapping<$bits> {
            type Real = $float;
            type Condition = bool;

            fn of(self, c: u64) -> Self {
                Wrapping(c as $bits)
            }
            fn shl(self, by: u32) -> Self {
                self << by as usize
            }
            fn shr(self, by: u32) -> Self {
                self >> by as usize
            }
            fn choose(self, table: &'static Table) -> $float {
                table.$precision[(self.0 & 15) as usize]
            }
            fn is_zero(self) -> bool {
                self.0 == 0
            }
            fn real(self) -> $float {
                $float::from_bits(self.0)
            }
        }
    };
}

scalar!(f64, u64, double, false);
scalar!(f32, u32, single, true);
