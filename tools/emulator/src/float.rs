//! VSCALEF, VGETEXP and VGETMANT on the bits of floats, by the tables of Intel's manual.

/// A format of floats.
pub struct Format {
    /// The number of bits of the fraction, and of the exponent.
    fraction: u32,
    exponent: u32,
}
pub const F64: Format = Format { fraction: 52, exponent: 11 };
pub const F32: Format = Format { fraction: 23, exponent: 8 };

impl Format {
    fn sign(&self) -> u64 {
        1 << (self.fraction + self.exponent)
    }
    fn infinity(&self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }
    fn quiet(&self) -> u64 {
        1 << (self.fraction - 1)
    }
    fn indefinite(&self) -> u64 {
        self.sign() | self.infinity() | self.quiet()
    }
    fn bias(&self) -> i64 {
        (1 << (self.exponent - 1)) - 1
    }
    fn is_nan(&self, x: u64) -> bool {
        x & !self.sign() > self.infinity()
    }
    /// Decomposes a finite nonzero number into `m * 2^e`, without its sign. `m` is normalized: its
    /// highest bit is at the place of the implicit bit.
    fn parts(&self, x: u64) -> (u64, i64) {
        let field = (x & self.infinity()) >> self.fraction;
        let fraction = x & ((1 << self.fraction) - 1);
        if field == 0 {
            let up = fraction.leading_zeros() - (63 - self.fraction);
            (fraction << up, 1 - self.bias() - i64::from(up) - i64::from(self.fraction))
        } else {
            (fraction | 1 << self.fraction, field as i64 - self.bias() - i64::from(self.fraction))
        }
    }
    fn value(&self, x: u64) -> f64 {
        if self.fraction == 52 { f64::from_bits(x) } else { f32::from_bits(x as u32).into() }
    }
    fn bits(&self, x: f64) -> u64 {
        if self.fraction == 52 { x.to_bits() } else { (x as f32).to_bits().into() }
    }

    /// `a * 2^floor(b)`, rounded once.
    pub fn scale(&self, a: u64, b: u64) -> u64 {
        let (sign, magnitude) = (a & self.sign(), a & !self.sign());
        let infinity = self.infinity();
        if self.is_nan(a) {
            let quiet = a & self.quiet() != 0;
            return match b {
                _ if !quiet => a | self.quiet(),
                _ if b == infinity => infinity,
                _ if b == infinity | self.sign() => 0,
                _ => a,
            };
        }
        if self.is_nan(b) {
            return b | self.quiet();
        }
        if b & !self.sign() == infinity {
            let up = b & self.sign() == 0;
            return match (magnitude, up) {
                (0, true) => self.indefinite(),
                (m, false) if m == infinity => self.indefinite(),
                (0, false) => a,
                (m, true) if m == infinity => a,
                (_, true) => sign | infinity,
                (_, false) => sign,
            };
        }
        if magnitude == 0 || magnitude == infinity {
            return a;
        }
        // Larger exponents give infinity or zero, too.
        let by = self.value(b).floor().clamp(-1e5, 1e5) as i64;
        let (m, e) = self.parts(a);
        let e = e + by;
        // The exponent field of a normal result.
        let field = e + i64::from(self.fraction) + self.bias();
        if field >= (1 << self.exponent) - 1 {
            return sign | infinity;
        }
        if field >= 1 {
            return sign | (field as u64) << self.fraction | (m & ((1 << self.fraction) - 1));
        }
        let down = 1 - field;
        if down > i64::from(self.fraction) + 2 {
            return sign;
        }
        // Subnormal: to nearest, ties to even.
        let (kept, lost) = (m >> down, m & ((1 << down) - 1));
        let half = 1u64 << (down - 1);
        let up = lost > half || lost == half && kept & 1 == 1;
        sign | (kept + u64::from(up))
    }

    /// The exponent, as a float.
    pub fn exponent_of(&self, a: u64) -> u64 {
        let magnitude = a & !self.sign();
        if self.is_nan(a) {
            a | self.quiet()
        } else if magnitude == self.infinity() {
            self.infinity()
        } else if magnitude == 0 {
            self.infinity() | self.sign()
        } else {
            self.bits((self.parts(a).1 + i64::from(self.fraction)) as f64)
        }
    }

    /// The significand, in the interval and with the sign that `imm` selects.
    pub fn mantissa_of(&self, a: u64, imm: u8) -> u64 {
        let magnitude = a & !self.sign();
        let negative = a & self.sign() != 0;
        let (positive, refuse) = (imm & 4 != 0, imm & 8 != 0);
        let sign = if positive { 0 } else { a & self.sign() };
        let one = (self.bias() as u64) << self.fraction;
        if self.is_nan(a) {
            return a | self.quiet();
        }
        if magnitude == 0 {
            return sign | one;
        }
        if refuse && negative {
            return self.indefinite();
        }
        if magnitude == self.infinity() {
            return sign | one;
        }
        let (m, e) = self.parts(a);
        let fraction = m & ((1 << self.fraction) - 1);
        let unbiased = e + i64::from(self.fraction);
        let half = match imm & 3 {
            0 => false,
            1 => unbiased & 1 != 0,
            2 => true,
            _ => fraction & self.quiet() != 0,
        };
        let field = (self.bias() - i64::from(half)) as u64;
        sign | field << self.fraction | fraction
    }
}
