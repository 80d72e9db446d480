//! Comparisons and tests. Their results are masks, or lanes of all ones or zeros.

use crate::cpu::Cpu;
use crate::general::{CARRY, STATUS, ZERO, signed};
use crate::operands::{Vector, is_mask};
use iced_x86::{Instruction, Mnemonic as M};
use std::cmp::Ordering;

/// Compares integers by predicate number.
fn integers(order: Ordering, number: u8) -> bool {
    match number & 7 {
        0 => order.is_eq(),
        1 => order.is_lt(),
        2 => order.is_le(),
        3 => false,
        4 => order.is_ne(),
        5 => order.is_ge(),
        6 => order.is_gt(),
        _ => true,
    }
}

/// Compares floats by predicate number. Predicates that differ by sixteen differ in exceptions only.
fn floats(order: Option<Ordering>, number: u8) -> bool {
    let is = |holds: fn(Ordering) -> bool| order.is_some_and(holds);
    let or = |holds: fn(Ordering) -> bool| order.is_none_or(holds);
    match number & 15 {
        0 => is(Ordering::is_eq),
        1 => is(Ordering::is_lt),
        2 => is(Ordering::is_le),
        3 => order.is_none(),
        4 => or(Ordering::is_ne),
        5 => or(Ordering::is_ge),
        6 => or(Ordering::is_gt),
        7 => order.is_some(),
        8 => or(Ordering::is_eq),
        9 => or(Ordering::is_lt),
        10 => or(Ordering::is_le),
        11 => false,
        12 => is(Ordering::is_ne),
        13 => is(Ordering::is_ge),
        14 => is(Ordering::is_gt),
        _ => true,
    }
}

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

impl Cpu {
    pub(super) fn compare(&mut self, inst: &Instruction) -> bool {
        let number = inst.immediate8();
        let with_sign = |size: usize| move |a, b| integers(signed(a, size).cmp(&signed(b, size)), number);
        let without = |a: u64, b: u64| integers(a.cmp(&b), number);
        let greater = |size: usize| move |a, b| signed(a, size) > signed(b, size);
        let equal = |a, b| a == b;
        let common = |a, b| a & b != 0;
        let nothing_common = |a, b| a & b == 0;
        match inst.mnemonic() {
            M::Vcmpps => self.compared(inst, 4, |a, b| floats(f32_of(a).partial_cmp(&f32_of(b)), number)),
            M::Vcmppd => {
                self.compared(inst, 8, |a, b| floats(f64::from_bits(a).partial_cmp(&f64::from_bits(b)), number))
            }
            M::Vpcmpb => self.compared(inst, 1, with_sign(1)),
            M::Vpcmpw => self.compared(inst, 2, with_sign(2)),
            M::Vpcmpd => self.compared(inst, 4, with_sign(4)),
            M::Vpcmpq => self.compared(inst, 8, with_sign(8)),
            M::Vpcmpub => self.compared(inst, 1, without),
            M::Vpcmpuw => self.compared(inst, 2, without),
            M::Vpcmpud => self.compared(inst, 4, without),
            M::Vpcmpuq => self.compared(inst, 8, without),
            M::Vpcmpeqb => self.compared(inst, 1, equal),
            M::Vpcmpeqw => self.compared(inst, 2, equal),
            M::Vpcmpeqd => self.compared(inst, 4, equal),
            M::Vpcmpeqq => self.compared(inst, 8, equal),
            M::Vpcmpgtb => self.compared(inst, 1, greater(1)),
            M::Vpcmpgtw => self.compared(inst, 2, greater(2)),
            M::Vpcmpgtd => self.compared(inst, 4, greater(4)),
            M::Vpcmpgtq => self.compared(inst, 8, greater(8)),
            M::Vptestmb => self.compared(inst, 1, common),
            M::Vptestmw => self.compared(inst, 2, common),
            M::Vptestmd => self.compared(inst, 4, common),
            M::Vptestmq => self.compared(inst, 8, common),
            M::Vptestnmb => self.compared(inst, 1, nothing_common),
            M::Vptestnmw => self.compared(inst, 2, nothing_common),
            M::Vptestnmd => self.compared(inst, 4, nothing_common),
            M::Vptestnmq => self.compared(inst, 8, nothing_common),
            M::Vptest => self.test(inst),
            _ => return false,
        }
        true
    }

    fn compared(&mut self, inst: &Instruction, size: usize, holds: impl Fn(u64, u64) -> bool) {
        let lanes = self.lanes(inst, size);
        let (a, b) = (self.source(inst, 1, lanes), self.source(inst, 2, lanes));
        let holds = |n| holds(a.lane(size, n), b.lane(size, n));
        if is_mask(inst, 0) {
            let mask = (0..lanes.count).fold(0, |mask, n| mask | u64::from(holds(n)) << n);
            self.set_mask(inst, mask & lanes.on);
        } else {
            self.put(inst, &Vector::of(size, |n| if holds(n) { u64::MAX } else { 0 }), lanes);
        }
    }

    /// Sets ZF if the vectors have no common ones, and CF if the first has all ones of the second.
    fn test(&mut self, inst: &Instruction) {
        let lanes = self.lanes(inst, 8);
        let (a, b) = (self.source(inst, 0, lanes), self.source(inst, 1, lanes));
        let none = |bits: fn(u64, u64) -> u64| (0..lanes.count).all(|n| bits(a.lane(8, n), b.lane(8, n)) == 0);
        let zero = if none(|a, b| a & b) { ZERO } else { 0 };
        let carry = if none(|a, b| !a & b) { CARRY } else { 0 };
        self.set_flags(STATUS, zero | carry);
    }
}
