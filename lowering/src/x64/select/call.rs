//! Selection for calls of scalar functions.

use super::{Selector, Val};
use crate::kernel::{KValue, KernelError, MathCall};
use crate::x64::helpers::{self, Helper, MOST};
use crate::x64::machine::{Call, Inst, Unless, V};
use crate::x64::unsupported;
use smallvec::SmallVec;

impl Selector<'_> {
    /// Emits a call for each lane.
    pub(super) fn call(
        &mut self,
        helper: Helper,
        site: usize,
        args: SmallVec<[V; 2]>,
        size: usize,
    ) -> Result<V, KernelError> {
        self.call_unless(None, (helper, site), args, size)
    }

    /// Emits a call for each lane, or only for the lanes of a guard.
    fn call_unless(
        &mut self,
        unless: Option<Unless>,
        (helper, site): (Helper, usize),
        args: SmallVec<[V; 2]>,
        size: usize,
    ) -> Result<V, KernelError> {
        if args.len() > MOST {
            return Err(unsupported("a call with too many operands"));
        }
        let dst = self.fresh(size);
        self.emit(Inst::Call(Call { helper: helper as usize, site, args, unless, dst, size }));
        Ok(dst)
    }

    pub(super) fn math(&mut self, call: &MathCall, args: &[KValue], size: usize) -> Result<Val, KernelError> {
        let operands = args.iter().map(|&a| self.lanes(a)).collect::<Result<_, _>>()?;
        Ok(Val::Lanes(self.call_unless(None, helpers::math(call.ptr), operands, size)?))
    }

    /// Emits a call for the lanes in which the condition holds; the other lanes take the alternative value.
    pub(super) fn math_where(&mut self, call: &MathCall, args: &[KValue], size: usize) -> Result<Val, KernelError> {
        let &[condition, otherwise, ref operands @ ..] = args else {
            return Err(unsupported("a call under a condition without one"));
        };
        match self.val(condition)? {
            Val::Always(true) => return self.math(call, operands, size),
            Val::Always(false) => return self.val(otherwise),
            _ => {}
        }
        let operands = operands.iter().map(|&a| self.lanes(a)).collect::<Result<_, _>>()?;
        let guard = if self.evex() { self.bits(condition)? } else { self.flags(condition, size)? };
        let otherwise = self.lanes(otherwise)?;
        let unless = Some(Unless { guard, otherwise });
        Ok(Val::Lanes(self.call_unless(unless, helpers::math(call.ptr), operands, size)?))
    }
}
