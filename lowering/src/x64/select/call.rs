//! Calls.

use super::{Selector, Val};
use crate::kernel::{KValue, KernelError, MathCall};
use crate::x64::codes::{self, Form};
use crate::x64::helpers::{self, Helper, MOST};
use crate::x64::machine::{Call, Inst, Op, V};
use crate::x64::unsupported;
use smallvec::SmallVec;

impl Selector<'_> {
    /// A call for each lane.
    pub(super) fn call(
        &mut self,
        helper: Helper,
        site: usize,
        args: SmallVec<[V; 2]>,
        size: usize,
    ) -> Result<V, KernelError> {
        self.call_if(None, (helper, site), args, size)
    }

    /// A call for each lane, or none if the guard has no lane set.
    fn call_if(
        &mut self,
        guard: Option<V>,
        (helper, site): (Helper, usize),
        args: SmallVec<[V; 2]>,
        size: usize,
    ) -> Result<V, KernelError> {
        if args.len() > MOST {
            return Err(unsupported("a call with too many operands"));
        }
        let dst = self.fresh(size);
        self.emit(Inst::Call(Call { helper: helper as usize, site, args, guard, dst, size }));
        Ok(dst)
    }

    pub(super) fn math(&mut self, call: &MathCall, args: &[KValue], size: usize) -> Result<Val, KernelError> {
        let operands = args.iter().map(|&a| self.lanes(a)).collect::<Result<_, _>>()?;
        Ok(Val::Lanes(self.call_if(None, helpers::math(call.ptr), operands, size)?))
    }

    /// What is called is chosen where the condition holds.
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
        let called = self.call_if(Some(guard), helpers::math(call.ptr), operands, size)?;
        let otherwise = self.lanes(otherwise)?;
        if !self.evex() {
            return Ok(Val::Lanes(self.blend(size, guard, called, otherwise)));
        }
        let form: &Form = if size == 4 { &codes::BLENDM_PS } else { &codes::BLENDM_PD };
        let dst = self.fresh(size);
        let plain = Self::plain_op(form, self.width(size), dst, &[otherwise, called]);
        self.emit(Inst::Op(Op { mask: Some((guard, false)), ..plain }));
        Ok(Val::Lanes(dst))
    }
}
