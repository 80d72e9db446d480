//! What there are no vector instructions for: functions called for each lane.

use super::Selector;
use crate::kernel::{Binary, KernelError, Unary};
use crate::x64::machine::V;
use crate::x64::{helpers, unsupported};
use rewright_ir::DType;
use smallvec::SmallVec;

impl Selector<'_> {
    pub(super) fn divide(&mut self, op: Binary, dtype: DType, x: V, y: V) -> Result<V, KernelError> {
        let helper = helpers::binary(op, dtype).ok_or_else(|| unsupported(format!("{op:?} of {dtype}")))?;
        self.call(helper, 0, SmallVec::from_slice(&[x, y]), dtype.size())
    }

    pub(super) fn count_bits(&mut self, op: Unary, dtype: DType, x: V) -> Result<V, KernelError> {
        let helper = helpers::unary(op, dtype).ok_or_else(|| unsupported(format!("{op:?} of {dtype}")))?;
        self.call(helper, 0, SmallVec::from_slice(&[x]), dtype.size())
    }

    pub(super) fn convert_by_call(&mut self, from: DType, to: DType, x: V) -> Result<V, KernelError> {
        let helper = helpers::convert(from, to).ok_or_else(|| unsupported(format!("{from} to {to}")))?;
        self.call(helper, 0, SmallVec::from_slice(&[x]), to.size())
    }
}
