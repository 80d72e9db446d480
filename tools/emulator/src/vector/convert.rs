//! Conversions between dtypes.

use crate::cpu::Cpu;
use crate::general::signed;
use crate::native;
use crate::operands::Vector;
use iced_x86::{Instruction, Mnemonic as M};

fn f32_of(bits: u64) -> f64 {
    f32::from_bits(bits as u32).into()
}

/// Truncates to an integer. NaN and values out of range give the processor's "integer indefinite" value.
fn to_i64(x: f64) -> u64 {
    let limit = i64::MIN as f64;
    if x >= limit && x < -limit { x as i64 as u64 } else { i64::MIN as u64 }
}
fn to_u64(x: f64) -> u64 {
    if x > -1.0 && x < u64::MAX as f64 { x as u64 } else { u64::MAX }
}
fn to_u32(x: f64) -> u64 {
    if x > -1.0 && x < u32::MAX as f64 + 1.0 { x as u32 } else { u32::MAX }.into()
}

impl Cpu {
    pub(super) fn convert(&mut self, inst: &Instruction) -> bool {
        let mnemonic = inst.mnemonic();
        match mnemonic {
            M::Vpmovsxbw => self.extend(inst, 1, 2, true),
            M::Vpmovsxbd => self.extend(inst, 1, 4, true),
            M::Vpmovsxbq => self.extend(inst, 1, 8, true),
            M::Vpmovsxwd => self.extend(inst, 2, 4, true),
            M::Vpmovsxwq => self.extend(inst, 2, 8, true),
            M::Vpmovsxdq => self.extend(inst, 4, 8, true),
            M::Vpmovzxbw => self.extend(inst, 1, 2, false),
            M::Vpmovzxbd => self.extend(inst, 1, 4, false),
            M::Vpmovzxbq => self.extend(inst, 1, 8, false),
            M::Vpmovzxwd => self.extend(inst, 2, 4, false),
            M::Vpmovzxwq => self.extend(inst, 2, 8, false),
            M::Vpmovzxdq => self.extend(inst, 4, 8, false),
            M::Vpmovwb => self.truncate(inst, 2, 1),
            M::Vpmovdb => self.truncate(inst, 4, 1),
            M::Vpmovqb => self.truncate(inst, 8, 1),
            M::Vpmovdw => self.truncate(inst, 4, 2),
            M::Vpmovqw => self.truncate(inst, 8, 2),
            M::Vpmovqd => self.truncate(inst, 8, 4),
            M::Vcvtudq2ps => self.converted(inst, 4, 4, |a| (a as f32).to_bits().into()),
            M::Vcvttps2udq => self.converted(inst, 4, 4, |a| to_u32(f32_of(a))),
            M::Vcvtqq2pd => self.converted(inst, 8, 8, |a| (a as i64 as f64).to_bits()),
            M::Vcvtuqq2pd => self.converted(inst, 8, 8, |a| (a as f64).to_bits()),
            M::Vcvttpd2qq => self.converted(inst, 8, 8, |a| to_i64(f64::from_bits(a))),
            M::Vcvttpd2uqq => self.converted(inst, 8, 8, |a| to_u64(f64::from_bits(a))),
            M::Vcvtudq2pd => self.converted(inst, 4, 8, |a| (a as f64).to_bits()),
            M::Vcvttps2qq => self.converted(inst, 4, 8, |a| to_i64(f32_of(a))),
            M::Vcvttps2uqq => self.converted(inst, 4, 8, |a| to_u64(f32_of(a))),
            M::Vcvttpd2udq => self.converted(inst, 8, 4, |a| to_u32(f64::from_bits(a))),
            M::Vcvtqq2ps => self.converted(inst, 8, 4, |a| (a as i64 as f32).to_bits().into()),
            M::Vcvtuqq2ps => self.converted(inst, 8, 4, |a| (a as f32).to_bits().into()),
            M::Vcvtps2pd | M::Vcvtdq2pd => self.natively(inst, 4, 8, |a| native::widen(mnemonic, a)),
            M::Vcvtpd2ps | M::Vcvttpd2dq => self.natively(inst, 8, 4, |a| native::narrow(mnemonic, a)),
            _ => false,
        }
    }

    /// Converts lanes of `from` bytes to lanes of `to` bytes; the wider lanes give the count.
    fn natively(&mut self, inst: &Instruction, from: usize, to: usize, f: impl Fn(&Vector) -> Option<Vector>) -> bool {
        let lanes = self.lanes(inst, from.max(to));
        let Some(result) = f(&self.source(inst, 1, lanes.sized(from))) else { return false };
        self.put(inst, &result, lanes.sized(to));
        true
    }

    fn converted(&mut self, inst: &Instruction, from: usize, to: usize, f: impl Fn(u64) -> u64) -> bool {
        let count = 64 / from.max(to);
        self.natively(inst, from, to, |a| Some(Vector::of(to, |n| if n < count { f(a.lane(from, n)) } else { 0 })))
    }

    fn extend(&mut self, inst: &Instruction, from: usize, to: usize, with_sign: bool) -> bool {
        self.converted(inst, from, to, |a| if with_sign { signed(a, from) as u64 } else { a })
    }

    fn truncate(&mut self, inst: &Instruction, from: usize, to: usize) -> bool {
        self.converted(inst, from, to, |a| a)
    }
}
