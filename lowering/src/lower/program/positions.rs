//! Positions of reads and writes, and the handling of positions out of bounds.

use super::{ProgramBuffer, ProgramLowering, ProgramParam};
use crate::kernel::{Binary, KValue, Part};
use crate::lower::NotLowered;
use crate::program::{Condition, Linear};
use crate::scalar::Elem;
use rewright_ir::expr::{IndexExpr, Mode, Operand};
use rewright_ir::{DType, Scalar};
use smallvec::SmallVec;

/// Positions that are read from arrays saturate here, so that adding an offset does not overflow.
const FARTHEST: i64 = 1 << 62;

impl ProgramLowering<'_> {
    /// The element of an array that an operand reads.
    pub(super) fn read_array(&mut self, arg: u32, operand: &Operand) -> Result<Elem, NotLowered> {
        let dtype = operand.dtype;
        let buffer = self.buffer(ProgramBuffer::Arg(arg), dtype, operand.index.len());
        let mut at: SmallVec<[Linear; 3]> = SmallVec::new();
        let mut padded: Vec<(Condition, Scalar)> = Vec::new();
        // Dims whose positions move where they are out of bounds, which are affine.
        let mut moved: SmallVec<[(usize, KValue, Mode); 2]> = SmallVec::new();
        for (dim, index) in operand.index.iter().enumerate() {
            let extent = self.param(ProgramParam::ArgExtent(arg, dim));
            let position = self.position(&index.expr, extent, index.mode)?;
            let is_affine = matches!(index.expr, IndexExpr::Affine(_));
            at.push(match index.mode {
                // Checked once for each call; the others by its ranges, or here.
                Mode::Broadcast => position,
                Mode::Proved if is_plain(&index.expr) => position,
                Mode::Proved | Mode::Check => self.in_bounds(position, extent, is_read_from_array(&index.expr))?,
                Mode::Clamp | Mode::Wrap => {
                    self.not_empty(extent)?;
                    if is_affine {
                        moved.push((dim, extent, index.mode));
                        position
                    } else {
                        self.moved(&position, extent, index.mode)
                    }
                }
                Mode::Pad(value) => {
                    padded.push((inside(&position, extent), value));
                    position
                }
            });
        }
        if padded.is_empty() && moved.is_empty() {
            return Ok(self.b.load_elem(buffer, dtype, &at));
        }
        let slot = self.b.local(dtype, &[]);
        self.read_padded(&padded, slot, &mut |this| {
            let read = |this: &mut Self, at: &[Linear]| {
                let element = this.b.load_elem(buffer, dtype, at);
                this.b.store_elem(slot, &[], element);
                Ok(())
            };
            if moved.is_empty() {
                return read(this, &at);
            }
            let forms = moved.iter().flat_map(|&(dim, extent, _)| inside_forms(&at[dim], extent));
            this.when(
                Condition::NotNegative(forms.collect()),
                |this| read(this, &at),
                |this| {
                    let mut at = at.clone();
                    for &(dim, extent, mode) in &moved {
                        at[dim] = this.moved(&at[dim], extent, mode);
                    }
                    read(this, &at)
                },
            )
        })?;
        Ok(self.b.load_elem(slot, dtype, &[]))
    }

    /// A position that `clamp` or `wrap` moves into a dim that is not empty.
    fn moved(&mut self, position: &Linear, extent: KValue, mode: Mode) -> Linear {
        let position = self.b.value(position);
        if mode == Mode::Wrap {
            return self.b.euclidean_remainder(position, extent).into();
        }
        let [zero, one] = [0, 1].map(|n| self.cx().int(DType::I64, n));
        let last = self.cx().sub(extent, one);
        let low = self.b.k.binary(Binary::Max, position, zero);
        self.b.k.binary(Binary::Min, low, last).into()
    }

    /// Stores the padding of the first dim whose position is out of bounds, or else runs `element`.
    fn read_padded(
        &mut self,
        padded: &[(Condition, Scalar)],
        slot: u32,
        element: &mut dyn FnMut(&mut Self) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        let Some(((condition, value), rest)) = padded.split_first() else { return element(self) };
        self.when(
            condition.clone(),
            |this| this.read_padded(rest, slot, element),
            |this| {
                let value = this.cx().constant(*value);
                this.b.store_elem(slot, &[], value);
                Ok(())
            },
        )
    }

    /// A position along a dim of an extent: for [`Mode::Wrap`] any that is equal modulo the extent, for
    /// [`Mode::Clamp`] any on the same side of it.
    pub(super) fn position(&mut self, position: &IndexExpr, extent: KValue, mode: Mode) -> Result<Linear, NotLowered> {
        let wraps = mode == Mode::Wrap;
        Ok(match position {
            IndexExpr::Affine(form) => self.affine(form),
            IndexExpr::FloorDiv(form, divisor) => {
                let form = self.affine(form);
                self.b.floor_div(&form, *divisor)
            }
            IndexExpr::Mod(form, divisor) => {
                let form = self.affine(form);
                self.remainder(&form, *divisor).into()
            }
            IndexExpr::Gather { arg, index, offset, negative } => {
                let dtype = self.args[*arg as usize].dtype();
                let mut found = self.gathered(*arg, index)?;
                if dtype == DType::U64 && wraps {
                    let found = self.unsigned_remainder(found, extent);
                    return Ok(self.affine(offset).plus_term(found, 1));
                }
                if dtype == DType::U64 {
                    let most = self.b.k.constant(Scalar::U64(i64::MAX as u64));
                    found = self.b.k.binary(Binary::Min, found, most);
                }
                found = self.b.k.convert(found, DType::I64);
                if negative.is_from_end() {
                    let zero = self.cx().int(DType::I64, 0);
                    let is_negative = self.cx().lt(found, zero);
                    let from_end = self.cx().add(found, extent);
                    found = self.b.k.select(is_negative, from_end, found);
                }
                // Loops are split where a sum that moves with them leaves the bounds.
                let may_overflow =
                    offset.as_constant() != Some(0) && (mode == Mode::Clamp || !offset.axes().is_empty());
                found = if wraps {
                    self.b.euclidean_remainder(found, extent)
                } else if !may_overflow {
                    // A sum that overflows is out of bounds, as the offset is less than half of all numbers.
                    found
                } else {
                    // The sum can't overflow.
                    let [least, most] = [-FARTHEST, FARTHEST].map(|n| self.cx().int(DType::I64, n));
                    let low = self.b.k.binary(Binary::Max, found, least);
                    self.b.k.binary(Binary::Min, low, most)
                };
                self.affine(offset).plus_term(found, 1)
            }
        })
    }

    /// An integer operand, or the element of an operand at positions.
    fn gathered(&mut self, arg: u32, index: &[IndexExpr]) -> Result<KValue, NotLowered> {
        let ty = &self.args[arg as usize];
        if ty.is_scalar() {
            return Ok(self.param(ProgramParam::Scalar(arg, Part::Re)));
        }
        let dtype = ty.dtype();
        let buffer = self.buffer(ProgramBuffer::Arg(arg), dtype, index.len());
        let mut at: SmallVec<[Linear; 3]> = SmallVec::new();
        for (dim, inner) in index.iter().enumerate() {
            let extent = self.param(ProgramParam::ArgExtent(arg, dim));
            let position = self.position(inner, extent, Mode::Check)?;
            at.push(self.in_bounds(position, extent, is_read_from_array(inner))?);
        }
        Ok(self.b.load_elem(buffer, dtype, &at).re)
    }

    /// A number that is equal to a `u64` modulo an extent, as an `i64` of less than twice the extent.
    fn unsigned_remainder(&mut self, value: KValue, extent: KValue) -> KValue {
        let most = self.b.k.constant(Scalar::U64(i64::MAX as u64));
        let is_large = self.cx().lt(most, value);
        let low = self.b.k.binary(Binary::And, value, most);
        let low = self.b.k.convert(low, DType::I64);
        let low = self.b.euclidean_remainder(low, extent);
        // The highest bit is `i64::MAX + 1`.
        let [most, one] = [i64::MAX, 1].map(|n| self.cx().int(DType::I64, n));
        let high = self.b.euclidean_remainder(most, extent);
        let high = self.cx().add(high, one);
        let both = self.cx().add(low, high);
        self.b.k.select(is_large, both, low)
    }

    /// The remainder of a form by a positive divisor, never negative.
    pub(super) fn remainder(&mut self, form: &Linear, divisor: i64) -> KValue {
        if let Some((_, remainder)) = self.b.divided(form, divisor) {
            return remainder;
        }
        let (value, divisor) = (self.b.value(form), self.b.int(divisor));
        self.b.euclidean_remainder(value, divisor)
    }

    /// The position; ends the program where it is out of bounds, unless each call proves that it is not.
    pub(super) fn in_bounds(
        &mut self,
        position: Linear,
        extent: KValue,
        unprovable: bool,
    ) -> Result<Linear, NotLowered> {
        if self.checks.positions || unprovable {
            self.fail_unless(&[inside(&position, extent)])?;
        }
        Ok(position)
    }

    /// Ends the program if an extent is 0, unless each call proves that it is not.
    fn not_empty(&mut self, extent: KValue) -> Result<(), NotLowered> {
        if self.checks.positions {
            let form = Linear::from(extent).plus(-1);
            self.fail_unless(&[Condition::NotNegative(SmallVec::from_iter([form]))])?;
        }
        Ok(())
    }
}

/// `0 <= position < extent`.
fn inside(position: &Linear, extent: KValue) -> Condition {
    Condition::NotNegative(inside_forms(position, extent).into_iter().collect())
}

/// Forms that are at least 0 if `0 <= position < extent`.
fn inside_forms(position: &Linear, extent: KValue) -> [Linear; 2] {
    [position.clone(), Linear::from(extent).plus(-1).minus(position)]
}

/// True for a position that is just an axis.
fn is_plain(position: &IndexExpr) -> bool {
    matches!(position, IndexExpr::Affine(form) if form.as_axis().is_some())
}

/// True for a position that is read from an array.
pub(super) fn is_read_from_array(position: &IndexExpr) -> bool {
    matches!(position, IndexExpr::Gather { .. })
}
