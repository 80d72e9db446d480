//! Steps that read at arrays of positions, or where a mask is true: each place's elements are copied to theirs in the result.

use super::machine::{Activation, Machine};
use super::parts::stretched;
use super::plan::{ArrayEval, Step};
use super::value::{Held, Place, Shape, Strides, copy_elements};
use rewright_ir::ops::compress::COMPRESS;
use rewright_ir::ops::gather::{GATHER, TAKE};
use rewright_ir::{Element, EvalError, InstData, with_dtype};
use smallvec::SmallVec;

/// What is read, where, and where to.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    by: By,
    /// The result's position among the function's results, if the block ends by returning it.
    exit: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum By {
    /// Positions of the leading axes.
    Positions,
    /// Positions of one axis, counting from the last one if negative.
    Along(i64),
    /// A mask over the leading axes.
    Mask,
}

/// Places in an array: of each index of the outer axes, which come first in the result, those at offsets.
struct Picked {
    outer: usize,
    /// Bytes, from the first element there.
    offsets: Vec<isize>,
    /// The extents of the result that the offsets are.
    extents: Shape,
    /// The number of axes that the offsets stand for.
    axes: usize,
}

impl Pick {
    /// What an instruction reads, if it does that.
    pub fn of(data: &InstData, exit: Option<u32>) -> Option<Pick> {
        let by = match data.op {
            op if op == GATHER => By::Positions,
            op if op == TAKE => By::Along(data.attrs.int("axis")?),
            op if op == COMPRESS => By::Mask,
            _ => return None,
        };
        Some(Pick { by, exit })
    }

    /// Where it reads; `None` if something is out of bounds or does not fit.
    fn places(self, array: &Place<'_>, others: &[&Held]) -> Option<Picked> {
        let stride = |axis: usize| array.strides[axis] * array.unit;
        match self.by {
            By::Positions => {
                let mut extents = Shape::new();
                for shape in others.iter().map(|held| held.shape()) {
                    let longer = shape.len().saturating_sub(extents.len());
                    (0..longer).for_each(|_| extents.insert(0, 1));
                    let skip = extents.len() - shape.len();
                    for (so_far, &extent) in extents[skip..].iter_mut().zip(shape) {
                        match (*so_far, extent) {
                            (a, b) if a == b => {}
                            (1, b) => *so_far = b,
                            (_, 1) => {}
                            _ => return None,
                        }
                    }
                }
                let mut offsets = vec![0; rewright_ir::array::checked_len(&extents)?];
                for (axis, held) in others.iter().enumerate() {
                    add_positions(held, &extents, *array.shape.get(axis)?, stride(axis), &mut offsets)?;
                }
                Some(Picked { outer: 0, offsets, extents, axes: others.len() })
            }
            By::Along(axis) => {
                let rank = array.shape.len();
                let axis = usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok()?;
                let &[held] = others else { return None };
                let extents: Shape = held.shape().into();
                let mut offsets = vec![0; rewright_ir::array::checked_len(&extents)?];
                add_positions(held, &extents, *array.shape.get(axis)?, stride(axis), &mut offsets)?;
                Some(Picked { outer: axis, offsets, extents, axes: 1 })
            }
            By::Mask => {
                let &[held] = others else { return None };
                let mask = held.place()?;
                let axes = mask.shape.len();
                if array.shape.get(..axes)? != mask.shape {
                    return None;
                }
                let mut offsets = Vec::new();
                let along: Strides = (0..axes).map(stride).collect();
                // SAFETY: each address is that of an element of the mask, which is held: a byte that is 0 or 1.
                walk(&mask, &along, |at, offset| {
                    if unsafe { at.read() } != 0 {
                        offsets.push(offset);
                    }
                });
                let extents = [offsets.len()].into_iter().collect();
                Some(Picked { outer: 0, offsets, extents, axes })
            }
        }
    }
}

/// Calls with the address of each element, in row-major order, and the sum of other distances along the same axes.
fn walk(place: &Place<'_>, along: &[isize], mut each: impl FnMut(*const u8, isize)) {
    if place.shape.contains(&0) {
        return;
    }
    let rank = place.shape.len();
    let (count, step, other) = match rank {
        0 => (1, 0, 0),
        _ => (place.shape[rank - 1], place.strides[rank - 1] * place.unit, along[rank - 1]),
    };
    let mut index: Shape = Shape::from_elem(0, rank.saturating_sub(1));
    loop {
        let dot = |strides: &[isize]| index.iter().zip(strides).map(|(&n, &s)| n as isize * s).sum::<isize>();
        let (mut at, mut offset) = (place.pointer.wrapping_offset(dot(place.strides) * place.unit), dot(along));
        for _ in 0..count {
            each(at, offset);
            at = at.wrapping_offset(step);
            offset += other;
        }
        let mut axis = index.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            index[axis] += 1;
            if index[axis] < place.shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// Adds the distances of positions along an axis; `None` if one is out of bounds.
fn add_positions(held: &Held, extents: &[usize], extent: usize, stride: isize, offsets: &mut [isize]) -> Option<()> {
    let inside = |at: i128| {
        let at = if at < 0 { at + extent as i128 } else { at };
        (0..extent as i128).contains(&at).then_some(at as isize * stride)
    };
    if let Held::Scalar(scalar) = held {
        let distance = inside(scalar.to_i128()?)?;
        offsets.iter_mut().for_each(|offset| *offset += distance);
        return Some(());
    }
    let spread = stretched(held, extents)?;
    let place = spread.place();
    let mut offsets = offsets.iter_mut();
    let mut fits = true;
    let nowhere: Strides = Strides::from_elem(0, extents.len());
    with_dtype!(place.dtype, T => walk(&place, &nowhere, |at, _| {
        // SAFETY: the address is that of an element of this dtype, which is held.
        let position = unsafe { at.cast::<T>().read_unaligned() }.to_scalar().to_i128();
        match (position.and_then(inside), offsets.next()) {
            (Some(distance), Some(offset)) => *offset += distance,
            _ => fits = false,
        }
    }));
    fits.then_some(())
}

impl Machine<'_> {
    /// Reads at places. What is out of bounds or does not fit is left to the op's reference meaning, which says why.
    pub(super) fn pick(&self, act: &mut Activation<'_, '_>, step: &Step, pick: Pick) -> Result<(), EvalError> {
        let ([def], Some(held)) = (&step.defs[..], self.picked(act, step, pick)?) else {
            return self.array(act, step, ArrayEval::Op);
        };
        self.put(act.frame, def.slot, held)?;
        self.admit(act, def, "result")
    }

    /// What is read; `None` if it is no array, or something does not fit.
    fn picked(&self, act: &Activation<'_, '_>, step: &Step, pick: Pick) -> Result<Option<Held>, EvalError> {
        let others: SmallVec<[&Held; 4]> = (1..step.args.len()).map(|n| self.operand(act, step, n)).collect();
        let array = self.operand(act, step, 0).place();
        let found = array.and_then(|array| Some((array, pick.places(&array, &others)?)));
        let is_array = step.defs.iter().all(|def| def.ty.is_array());
        let Some((array, picked)) = found.filter(|_| is_array) else { return Ok(None) };
        let rest = picked.outer + picked.axes;
        let shape: Shape = [&array.shape[..picked.outer], &picked.extents, &array.shape[rest..]].concat().into();
        let fresh = self.fresh(act, pick.exit, array.dtype, shape.clone())?;
        self.spend(shape.iter().product::<usize>() as u64)?;
        if !shape.contains(&0) {
            // SAFETY: the offsets lead to elements of the array, which is held; the target has the shape of the places and what is read at each.
            unsafe { copy_picked(&array, &picked, fresh.target.pointer, &fresh.target.strides) };
        }
        // SAFETY: all elements were copied.
        Ok(Some(unsafe { fresh.into_held() }))
    }
}

/// Copies what is at the places.
///
/// # Safety
/// The offsets lead to elements of the array, valid to read; the target has a place, valid to write and apart from these, for each element of the result, of which
/// there is one at least.
unsafe fn copy_picked(array: &Place<'_>, picked: &Picked, target: *mut u8, strides: &[isize]) {
    let Picked { outer, offsets, extents, axes } = picked;
    let bytes = |axis: &isize| axis * array.unit;
    let source_strides: Strides = array.strides.iter().map(bytes).collect();
    let (rest_shape, rest_strides) = (&array.shape[outer + axes..], &source_strides[outer + axes..]);
    let (target_outer, target_rest) = strides.split_at(*outer);
    let (target_here, target_rest) = target_rest.split_at(extents.len());
    let size = array.dtype.size();
    let rest = Place { shape: rest_shape, strides: rest_strides, unit: 1, ..*array };
    let is_line = rest.is_dense() && {
        let dense = super::value::row_major(rest_shape, size);
        rest_shape.iter().zip(target_rest.iter().zip(&dense)).all(|(&extent, (a, b))| extent < 2 || a == b)
    };
    let line = rest_shape.iter().product::<usize>() * size;
    let outside = Place { shape: &array.shape[..*outer], strides: &source_strides[..*outer], unit: 1, ..*array };
    walk(&outside, target_outer, |source, into| {
        let into = target.wrapping_offset(into);
        let mut next = offsets.iter();
        let places = Place { pointer: into, shape: extents, strides: target_here, unit: 1, dtype: array.dtype };
        let nowhere: Strides = Strides::from_elem(0, extents.len());
        walk(&places, &nowhere, |to, _| {
            let Some(&offset) = next.next() else { return };
            let (from, to) = (source.wrapping_offset(offset), to.cast_mut());
            // SAFETY: these are places of as many elements as are read at each, by the caller's promise.
            unsafe {
                match line {
                    1 if is_line => to.write(from.read()),
                    4 if is_line => to.cast::<[u8; 4]>().write(from.cast::<[u8; 4]>().read()),
                    8 if is_line => to.cast::<[u8; 8]>().write(from.cast::<[u8; 8]>().read()),
                    16 if is_line => to.cast::<[u8; 16]>().write(from.cast::<[u8; 16]>().read()),
                    _ if is_line => std::ptr::copy_nonoverlapping(from, to, line),
                    _ => copy_elements(&Place { pointer: from, ..rest }, to, target_rest),
                }
            }
        });
    });
}
