//! Loops over an axis of which operands are read at quotients or remainders, as in `x[i // 64]` and
//! `x[i % 1000]`.
//!
//! Such a loop is strip-mined by the divisor: the outer loop goes over quotients, the inner one over
//! remainders. Both positions are then affine, so the inner loop may be a kernel.
//!
//! ```text
//! for i in lo..hi:                  for q in lo / 64..(hi + 63) / 64:
//!   ... x[i / 64], y[i % 64]  ->      for r in max(0, lo - 64 * q)..min(64, hi - 64 * q):
//!                                       ... x[q], y[r]
//! ```

use super::ProgramLowering;
use crate::kernel::Binary;
use crate::lower::NotLowered;
use crate::program::{Linear, Trip};
use rewright_ir::ArrayExpr;
use rewright_ir::expr::{Affine, IndexExpr};
use std::ops::Range;

/// The least divisor, and one more than the greatest. A loop over fewer remainders is no kernel, and takes
/// longer than the divisions; sums with greater ones may overflow.
const DIVISORS: Range<i64> = 32..1 << 32;

/// A divisor of an index plus a constant, which is less than the divisor.
#[derive(Clone, Copy)]
pub(super) struct Divisor {
    by: i64,
    offset: i64,
}

/// The greatest divisor of positions that move with an axis, and otherwise by multiples of the divisor.
pub(super) fn divisor(expr: &ArrayExpr, axis: u32) -> Option<Divisor> {
    let of = |position: &IndexExpr| {
        let (IndexExpr::FloorDiv(form, by) | IndexExpr::Mod(form, by)) = position else { return None };
        divides(form, axis, *by).then(|| Divisor { by: *by, offset: form.offset.constant.rem_euclid(*by) })
    };
    let positions = expr.operands.iter().flat_map(|operand| &operand.index);
    positions.filter_map(|index| of(&index.expr)).max_by_key(|divisor| divisor.by)
}

/// True if a form is the index along an axis plus multiples of a divisor and a constant.
fn divides(form: &Affine, axis: u32, by: i64) -> bool {
    let is_multiple = |coefficient: i64| coefficient % by == 0;
    DIVISORS.contains(&by)
        && form.axes().contains(&(axis, 1))
        && form.axes().iter().all(|&(other, coefficient)| other == axis || is_multiple(coefficient))
        && form.offset.terms().iter().all(|&(_, coefficient)| is_multiple(coefficient))
}

impl ProgramLowering<'_> {
    /// A loop over quotients around a loop over remainders. The body gets the index.
    pub(super) fn for_each_quotient(
        &mut self,
        (lo, hi): (&Linear, &Linear),
        Divisor { by, offset }: Divisor,
        body: impl FnOnce(&mut Self, Linear) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        let first = self.b.floor_div(&lo.clone().plus(offset), by);
        let end = self.b.floor_div(&hi.clone().plus(offset + by - 1), by);
        self.for_each(first, &[end], |this, quotient| {
            let start = Linear::constant(-offset).plus_scaled(&quotient, by);
            let begins_with_quotient = lo.as_constant().is_some_and(|lo| lo.wrapping_add(offset).rem_euclid(by) == 0);
            let low = match begins_with_quotient {
                true => Linear::default(),
                false => this.b.extreme(Binary::Max, [&Linear::default(), &lo.clone().minus(&start)]),
            };
            let high = [Linear::constant(by), hi.clone().minus(&start)];
            let remainder = this.b.open_loop();
            this.b.set_below(remainder, by);
            let ended = body(this, start.plus_term(remainder, 1));
            this.b.close_loop(remainder, Trip::Unknown, low, &high);
            ended
        })
    }
}
