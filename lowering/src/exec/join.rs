//! Concatenation and stacking: each operand is copied to its part of the result.

use super::by_reference::Why;
use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, Step};
use super::value::{Held, Place, Shape, Strides, Target, copy_elements, fill_elements};
use rewright_ir::ops::concat::{CONCAT, STACK};
use rewright_ir::{EvalError, InstData};

/// A concatenation or a stack of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// The axis, counting from the last one if negative.
    axis: i64,
    /// Whether the axis is a new one, with one index per operand (a stack).
    is_new: bool,
    /// The result's position among the function's results, if the block ends by returning it.
    exit: Option<u32>,
}

impl Join {
    /// The concatenation or stack of an instruction.
    pub fn of(data: &InstData, exit: Option<u32>) -> Option<Join> {
        let is_new = data.op == STACK;
        let axis = data.attrs.int("axis").unwrap_or(0);
        (is_new || data.op == CONCAT).then_some(Join { axis, is_new, exit })
    }

    /// The axis of the result, and its extents; `None` if the extents of the operands do not fit.
    fn shape(self, operands: &[&Held]) -> Option<(usize, Shape)> {
        let first = operands.first()?;
        let mut shape: Shape = first.shape().into();
        let rank = shape.len() + usize::from(self.is_new);
        let axis = usize::try_from(if self.axis < 0 { self.axis + rank as i64 } else { self.axis }).ok()?;
        if axis >= rank {
            return None;
        }
        if self.is_new {
            let alike = operands.iter().all(|o| o.shape() == first.shape() && o.is_array() == first.is_array());
            shape.insert(axis, operands.len());
            return alike.then_some((axis, shape));
        }
        shape[axis] = 0;
        for operand in operands {
            let own = operand.shape();
            let alike = own.len() == rank && (0..rank).all(|at| at == axis || own[at] == shape[at]);
            shape[axis] = shape[axis].checked_add(*own.get(axis)?).filter(|_| alike)?;
        }
        Some((axis, shape))
    }
}

impl Machine<'_> {
    /// Concatenates operands. If they do not fit, the op's reference meaning reports the error.
    pub(super) fn join(&self, act: &mut Activation<'_, '_>, step: &Step, join: Join) -> Result<(), EvalError> {
        let [def] = &step.defs[..] else { return self.array(act, step, ArrayEval::Op, Why::WRONG) };
        let operands: Vec<&Held> = (0..step.args.len()).map(|n| self.operand(act, step, n)).collect();
        let Some((axis, shape)) = join.shape(&operands) else {
            return self.array(act, step, ArrayEval::Op, Why::WRONG);
        };
        let dtype = def.ty.dtype();
        let fresh = self.fresh(act, join.exit, dtype, shape.clone())?;
        self.spend(shape.iter().product::<usize>() as u64)?;
        let target = &fresh.target;
        let mut at = 0;
        for operand in operands {
            let pointer = target.pointer.wrapping_offset(at as isize * target.strides[axis]);
            let part = Target { pointer, strides: target.strides.clone(), used: target.used };
            let cast;
            let own = match operand {
                Held::Scalar(scalar) => {
                    let mut one = shape.clone();
                    one[axis] = 1;
                    // SAFETY: as below.
                    unsafe { fill_elements(scalar.cast(dtype), dtype, &one, &part) };
                    at += 1;
                    continue;
                }
                held if held.dtype() == Some(dtype) => held.place(),
                held => {
                    cast = Held::Array(held.to_datum(&mut self.buffers.borrow_mut())?.to_array().cast(dtype));
                    cast.place()
                }
            };
            let Some(own) = own else { return Err(EvalError::value("holds no value")) };
            let (mut extents, mut strides): (Shape, Strides) = (own.shape.into(), own.strides.into());
            if join.is_new {
                extents.insert(axis, 1);
                strides.insert(axis, 0);
            }
            let from = Place { shape: &extents, strides: &strides, ..own };
            // SAFETY: the elements of operands are valid to read. The target is a new buffer of the result's
            // shape and dtype, or the caller's buffer for it, which no argument aliases. The part begins at
            // the sum of the extents before it, and the shape has the sum of all extents.
            unsafe { copy_elements(&from, part.pointer, &part.strides) };
            at += extents[axis];
        }
        // SAFETY: the parts cover the whole result.
        let held = unsafe { fresh.into_held() };
        self.put(act.frame, def.slot, held)?;
        self.admit(act, def, "result")
    }
}
